/* Cases beside the shared ones: shapes that reach the tensor-core attention, several tiles of it,
 * long scatters and packed rows. For the emulation and for a GPU. */
#ifndef CS_TESTS_CUDA_CASES_H
#define CS_TESTS_CUDA_CASES_H

#include "../tensor_support.h"

extern const cs_tensor_case cs_cuda_cases[]; /* ends with a NULL name */

#endif
