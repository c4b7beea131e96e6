/* The vector kernels of the CPU backend for any machine, in vectors of four floats
 * (cpu_simd_private.h). */
#include "tensor/cpu_private.h"

#include <math.h>
#include <string.h>

#define SIMD_BASE
#include "tensor/cpu_simd_private.h"
