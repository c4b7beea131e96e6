/* The decoders, for bytes that begin as their files do. */
#pragma once

#include "image/picture.h"

/* CS_ERR_INPUT for sizes that are invalid or beyond the limits, CS_ERR_MEMORY without enough
 * memory. */
cs_status cs_picture_check(const char *name, int64_t height, int64_t width,
                           int64_t channels) CS_MUST_CHECK;

cs_status cs_png_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                        cs_picture *out) CS_MUST_CHECK;
cs_status cs_jpeg_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                         cs_picture *out) CS_MUST_CHECK;
