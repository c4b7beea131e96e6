/* Cases in addition to the shared ones: shapes that reach the tensor-core attention, several tiles
 * of it, long scatters and packed rows. For the emulation and for a GPU. */
#pragma once

#include "../tensor_support.h"

extern const cs_tensor_case cs_cuda_cases[]; /* ends with a NULL name */
