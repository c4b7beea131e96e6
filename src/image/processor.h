/* preprocessor_config.json: what a model's image processor does to images before the model.
 *
 * In this order, as in the processors of transformers (5.24, PIL): grey becomes colour, resize, crop
 * of the centre, then x = (rescale_factor p - image_mean) / image_std of pixels p in 0..255. Without
 * a file x = p / 255. */
#pragma once

#include <jansson.h>

#include "image/images.h"
#include "image/resample.h"

typedef struct cs_processor {
    json_t *json; /* the file as read; NULL: there is none */
    bool rgb, resize, crop, affine;
    cs_resample filter;
    int64_t shortest;      /* > 0: resize the shorter side to it, in place of the next */
    int64_t height, width; /* resize to; 0: to the size that the model reads */
    int64_t crop_height, crop_width;
    double factor;        /* of pixels; 1: not rescaled */
    float mean[3], sd[3]; /* of channels; 0 and 1: not normalised */
} cs_processor;

/* Reads a file for images of `channels` channels. family: the architecture, whose class stands for
 * an absent one; NULL: that of ViT. CS_ERR_INPUT names file, key and value that are not supported:
 * other classes than those of ViT, DeiT, BiT, CLIP, SigLIP and BEiT, padding, and keys that are not
 * known and not null or false. */
cs_status cs_processor_read(const char *path, const char *family, int64_t channels,
                            cs_processor *out) CS_MUST_CHECK;
void cs_processor_free(cs_processor *p);

/* The processor that resizes to `size` (height and width; width 0: the shorter side to `size[0]`;
 * height 0: not at all), bilinear, then crops the centre of `crop` (0: not at all), then p / 255.
 * CS_ERR_MEMORY. */
cs_status cs_processor_of_sizes(const int64_t size[2], const int64_t crop[2], int64_t channels,
                                cs_processor *out) CS_MUST_CHECK;

/* How images become those of a model: the sizes and channels that it reads, 0 if not known. */
typedef struct cs_image_fit {
    const cs_processor *processor;
    int64_t height, width, channels;
} cs_image_fit;

/* Sizes between resize and crop, and after it, of an image of height x width. CS_ERR_INPUT names the
 * image (`name`): a crop that exceeds it, sides that become 0. */
typedef struct {
    int64_t height, width, crop_height, crop_width;
} cs_image_sizes;
cs_status cs_image_fit_sizes(const cs_image_fit *fit, const char *name, int64_t height,
                             int64_t width, cs_image_sizes *out) CS_MUST_CHECK;

/* Resizes and crops the pixels of an image. to: crop_height x crop_width x channels. CS_ERR_MEMORY. */
cs_status cs_image_fit_pixels(const cs_image_fit *fit, const uint8_t *from, int64_t height,
                              int64_t width, int64_t channels, const cs_image_sizes *sizes,
                              uint8_t *to) CS_MUST_CHECK;

/* Writes the file as read, or, if there is none, the file by which transformers reads images as
 * cospec does: x = p / 255. */
cs_status cs_processor_write(const cs_processor *p, int64_t height, int64_t width, int64_t channels,
                             const char *path) CS_MUST_CHECK;

/* Whether images have to be resized, cropped or made colour for a model that reads `channels` of
 * height x width. */
bool cs_processor_changes(const cs_processor *p, const cs_images *images, int64_t height,
                          int64_t width, int64_t channels);

/* Those images. *out borrows all from `images` but the pixels, which are new (cs_free). CS_ERR_USAGE:
 * real values; errors of cs_image_fit_sizes; CS_ERR_MEMORY. */
cs_status cs_processor_images(const cs_processor *p, const cs_images *images, int64_t height,
                              int64_t width, int64_t channels, int threads,
                              cs_images *out) CS_MUST_CHECK;

/* The digest of images of this content ("": none, then none), as values of the processor. */
void cs_processor_digest(const cs_processor *p, const char content[65], char out[65]);

/* x of `count` values p / 255, channels last, in place; and the reverse. */
void cs_processor_apply(const cs_processor *p, int64_t channels, int64_t count, float *x);
void cs_processor_undo(const cs_processor *p, int64_t channels, int64_t count, float *x);
