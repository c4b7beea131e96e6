/* The kernels of space_private.h for any machine. */
#define WIDTH 16
#define NAME "base"
#define KERNELS cs_space_base
#define UNROLL _Pragma("GCC unroll 16")
#define FUSED(a, b, c) ((a) * (b) + (c))
#include "linalg/space_kernels_private.h"
