/* Shared by the readers of image corpora. All take resolved options and leave name and path of *out
 * to the caller, who frees *out in every case. */
#pragma once

#include "image/images.h"

/* Allocates `count` images of these sizes with labels (-1) and splits (0), after checking free
 * memory: CS_ERR_INPUT for invalid sizes or sizes above those of an image, CS_ERR_MEMORY. */
cs_status cs_images_allocate(const char *path, int64_t count, int64_t height, int64_t width,
                             int64_t channels, cs_images *out) CS_MUST_CHECK;

/* Splits by the number of the image. */
void cs_images_hold_out(const cs_images_options *options, cs_images *images);

/* Names classes by their numbers from labels that are set. CS_ERR_INPUT: a number above 2^20. */
cs_status cs_images_number_classes(const char *path, cs_images *images) CS_MUST_CHECK;

bool cs_idx_is(const uint8_t *bytes, int64_t size);

/* `bytes` is the content of the file, decompressed. */
cs_status cs_idx_read(const char *path, const uint8_t *bytes, int64_t size,
                      cs_images *out) CS_MUST_CHECK;
cs_status cs_cifar_read(const char *path, cs_images *out) CS_MUST_CHECK;
cs_status cs_cifar_read_directory(const char *path, cs_images *out) CS_MUST_CHECK;
cs_status cs_images_read_npy(const char *path, cs_images *out) CS_MUST_CHECK;
cs_status cs_images_read_npz(const char *path, const cs_images_options *options,
                             cs_images *out) CS_MUST_CHECK;
cs_status cs_images_read_directory(const char *path, const cs_images_options *options,
                                   cs_images *out) CS_MUST_CHECK;

/* Whether the first file of a directory (of its first directory) is an image, by its name or its
 * first bytes. */
cs_status cs_images_directory_is(const char *path, bool *is) CS_MUST_CHECK;
