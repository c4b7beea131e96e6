/* Images in another size, with the bytes of Pillow 12's Image.resize (the method is that of its
 * Resample.c and, for `nearest`, of its Geometry.c).
 *
 * A row of outputs is a weighted mean of inputs: output x has its centre at (x + 1/2) s, s = inputs /
 * outputs, and input i the weight f((i + 1/2 - centre) / max(s, 1)) of the filter f, in fixed point
 * of 22 bits. First along rows, then along columns, each rounded to bytes. Pillow 13 takes some
 * images that become lower along columns first, which changes roundings. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Pillow's numbers. */
typedef enum {
    CS_RESAMPLE_NEAREST,
    CS_RESAMPLE_LANCZOS,
    CS_RESAMPLE_BILINEAR,
    CS_RESAMPLE_BICUBIC,
    CS_RESAMPLE_BOX,
    CS_RESAMPLE_HAMMING,
    CS_RESAMPLES
} cs_resample;

/* A part of the outputs. */
typedef struct {
    int64_t top, left, height, width;
} cs_window;

/* from: height x width x channels, resampled to to_height x to_width; to: the outputs of `window`
 * (NULL: all). CS_ERR_MEMORY. */
cs_status cs_picture_resample(const uint8_t *from, int64_t height, int64_t width, int64_t channels,
                              cs_resample filter, int64_t to_height, int64_t to_width,
                              const cs_window *window, uint8_t *to) CS_MUST_CHECK;
