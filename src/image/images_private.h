/* Shared by the readers and the drawers of image corpora. All take resolved options and leave name
 * and path of *out to the caller, who frees *out in every case. */
#pragma once

#include "image/images.h"

/* Allocates `count` images of these sizes with labels (-1) and splits (0), after checking free
 * memory: CS_ERR_INPUT for invalid sizes or sizes above those of an image, CS_ERR_MEMORY. */
cs_status cs_images_allocate(const char *path, int64_t count, int64_t height, int64_t width,
                             int64_t channels, cs_images *out) CS_MUST_CHECK;

/* Labels (-1) and splits (0) alone, without pixels. Errors as above. */
cs_status cs_images_allocate_labels(const char *path, int64_t count, int64_t height, int64_t width,
                                    int64_t channels, cs_images *out) CS_MUST_CHECK;

/* Splits by the number of the image. */
void cs_images_hold_out(const cs_images_options *options, cs_images *images);

/* Names classes by their numbers from labels that are set. CS_ERR_INPUT: a number above 2^20. */
cs_status cs_images_number_classes(const char *path, cs_images *images) CS_MUST_CHECK;

/* Appends a copy of a name to a list. */
cs_status cs_name_add(const char *name, char ***list, int64_t *count) CS_MUST_CHECK;

/* Whether the first four bytes of a file are those of IDX. */
bool cs_idx_is(const uint8_t first[4]);

/* The readers, which also split what their source does not split. */
typedef cs_status cs_images_reader(const char *path, const cs_images_options *options,
                                   cs_images *out);
cs_images_reader cs_idx_read, cs_cifar_read, cs_cifar_read_directory, cs_images_read_npy,
    cs_images_read_npz, cs_images_read_directory;

enum { CS_DRAWN_SIDE = 32 }; /* of drawn images */

/* The functions that draw the named corpora. variant "": glyphs; else the part of the name after
 * "glyphs-". *packages: the Debian packages whose versions the bytes depend on, separated by
 * spaces, in fresh memory; NULL: none. */
typedef cs_status cs_images_drawer(const char *variant, cs_images *out, char **packages);
cs_images_drawer cs_glyphs_draw, cs_emoji_draw, cs_scenes_draw, cs_field_draw;
