/* Shared by test_gpu.c and gpt.c. */
#pragma once

#include <stdint.h>

#include "tensor/device.h"

/* By its name; leaves the program where there is none. */
const cs_device_options *gpu_mode(const char *name);
/* Leaves the program where it fails: CASE_SKIPPED without a GPU, 1 where there is one and a library
 * is missing. */
cs_backend *gpu_open_or_leave(const cs_device_options *options);

enum { GPT_SHAPE = 6 }; /* words: LAYERS WIDTH HEADS VOCABULARY BATCH LENGTH */
/* The subcommands agree, step and kernels: exit codes. other NULL: nothing to compare with. */
int gpt_agree(const char *mode, char **shape, const char *path, const char *other);
int gpt_time(const char *mode, char **shape, int64_t count);
int gpt_kernels(const char *mode, char **shape, int64_t count);
