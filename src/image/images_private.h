/* What the readers of image corpora share. All take resolved options and leave name and path of
 * *out to the caller, and *out to be freed by it, whatever happens. */
#pragma once

#include "image/images.h"

/* Memory for `count` pictures of these sizes with labels (-1) and splits (0), after checking that
 * there is room: CS_ERR_INPUT for sizes that are none or above those of a picture, CS_ERR_MEMORY. */
cs_status cs_images_allocate(const char *path, int64_t count, int64_t height, int64_t width,
                             int64_t channels, cs_images *out) CS_MUST_CHECK;

/* Splits by the number of the picture. */
void cs_images_hold_out(const cs_images_options *options, cs_images *images);

/* Classes named by their numbers from labels already set. CS_ERR_INPUT: a number above 2^20. */
cs_status cs_images_number_classes(const char *path, cs_images *images) CS_MUST_CHECK;

bool cs_idx_is(const uint8_t *bytes, int64_t size);

/* `bytes` are those of the file, unpacked. */
cs_status cs_idx_read(const char *path, const uint8_t *bytes, int64_t size,
                      cs_images *out) CS_MUST_CHECK;
cs_status cs_cifar_read(const char *path, cs_images *out) CS_MUST_CHECK;
cs_status cs_cifar_read_directory(const char *path, cs_images *out) CS_MUST_CHECK;
cs_status cs_images_read_npy(const char *path, cs_images *out) CS_MUST_CHECK;
cs_status cs_images_read_npz(const char *path, const cs_images_options *options,
                             cs_images *out) CS_MUST_CHECK;
cs_status cs_images_read_directory(const char *path, const cs_images_options *options,
                                   cs_images *out) CS_MUST_CHECK;

/* Whether the first file of a directory (of its first directory) is a picture: by its name, or as it
 * begins. */
cs_status cs_images_directory_is(const char *path, bool *is) CS_MUST_CHECK;
