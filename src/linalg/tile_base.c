/* The kernels of tile_private.h for any machine, in vectors of 16 bytes. */
enum { GRIP = 4 };
#define WIDTH 16
#define NAME "base"
#define KERNELS cs_tile_base
#define UNROLL _Pragma("GCC unroll 16")
#define fused_single(a, b, c) ((a) * (b) + (c))
#define fused_double(a, b, c) ((a) * (b) + (c))
#include "linalg/tile_kernels_private.h"
