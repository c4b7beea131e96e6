/* Shared by the decoders of images (image/picture.h). */
#pragma once

#include "image/picture.h"

/* CS_ERR_INPUT for sizes that are invalid or beyond the limits, CS_ERR_MEMORY without enough
 * memory. */
cs_status cs_picture_check_size(const char *name, int64_t height, int64_t width,
                                int64_t channels) CS_MUST_CHECK;

/* The orientation of an EXIF block, with "Exif" before it or not (TIFF 6.0; tag 0x0112): 1 where it
 * has none that is in 1..8. */
int cs_exif_orientation(const uint8_t *exif, int64_t size);

/* Turns an image, or its sizes if it has no pixels, as an orientation of EXIF says. */
cs_status cs_picture_turn(int orientation, cs_picture *picture) CS_MUST_CHECK;

/* A row of `width` pixels over white; colour has `channels` values, alpha follows them. */
void cs_picture_flatten(const uint8_t *row, int64_t width, int64_t channels, uint8_t *to);

/* A row of CMYK, `step` values a pixel, as Pillow makes it colours without a profile; inverted: 255 is
 * no ink. */
void cs_picture_inks(const uint8_t *row, int64_t width, int64_t step, bool inverted, uint8_t *to);

/* The decoders, as cs_picture_decode. */
typedef cs_status cs_picture_decoder(const char *name, const uint8_t *bytes, int64_t size,
                                     bool sizes_only, cs_picture *out);
cs_picture_decoder cs_png_decode, cs_jpeg_decode, cs_pnm_decode, cs_bmp_decode, cs_gif_decode,
    cs_tiff_decode, cs_webp_decode;
