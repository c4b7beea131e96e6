/* Shared by the tests of the emulated backend (test_cuda_emulation.c). */
#pragma once

#include "cuda_cases.h"
#include "tensor/device.h"

/* Linear, 24 to 16 columns with bias and GELU, of 2 x 30 rows. */
extern const cs_tensor_case small_case;

/* The order of threads changes from launch to launch. */
cs_backend *open_with(cs_device_options options);
/* Every case whose name holds the word, against the reference in double; frees the backend. */
void compare_on(cs_backend *backend, const cs_tensor_case *list, const char *word);
/* How many products were refused; each has a name. */
int refused(cs_backend *backend);
/* A step whose gradients are its own. */
void step_from_zero(cs_tensor_world *world, cs_tensor_result *out);
/* Bit for bit. */
bool equal(const cs_tensor_result *a, const cs_tensor_result *b);
