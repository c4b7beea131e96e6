/* One image: PNG (libpng), JPEG (libjpeg-turbo), WebP (libwebp), TIFF (libtiff), GIF (giflib), BMP,
 * binary PGM and PPM, recognised by their first bytes. Of several images in a file it is the first.
 *
 * An image is uint8, height x width x channels, rows from the top, channels 1 (grey) or 3 (red,
 * green, blue). Conversion of other contents:
 *   16 bits        v of 0..65535 becomes round(v / 257); a PGM or PPM of maximum m: round(255 v / m)
 *   1, 2, 4 bits, palettes   expanded
 *   transparency   composed over white: round((v a + 255 (255 - a)) / 255)
 *   EXIF rotation  applied (orientations 1..8), of JPEG, PNG, WebP and TIFF files
 *   CMYK, YCCK     of JPEG files, as Pillow converts them, without a profile; of TIFF files refused
 *   gamma, profiles   not applied; interlaced, progressive, animated (the first frame): as they are
 * The header is checked before memory is allocated: at most 65,535 rows and columns and 2^28
 * values, and no more than the free memory. Damaged data are an error, also where a decoder would
 * continue with grey; a JPEG file may lack the mark of its end; bytes after the end of an image are ignored. */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t height, width, channels;
    uint8_t *pixel; /* NULL: the sizes only */
} cs_picture;

/* Whether the bytes begin as one of these files. */
bool cs_picture_is(const void *bytes, int64_t size);

/* Decodes a file in memory; `name` is for messages. sizes_only: reads only its header (a palette,
 * transparency and rotation are accounted for). CS_ERR_INPUT names the file and the fault, with the
 * row where decoding stopped; CS_ERR_MEMORY. Cost: that of the decoder, memory at most 4 bytes a
 * value. */
cs_status cs_picture_decode(const char *name, const void *bytes, int64_t size, bool sizes_only,
                            cs_picture *out) CS_MUST_CHECK;
void cs_picture_free(cs_picture *picture);

/* Writes a PNG of 8 bits, atomically, without a date: the bytes depend on the image and on the
 * versions of libpng and zlib. CS_ERR_USAGE for sizes beyond those above. */
cs_status cs_png_write(const char *path, const cs_picture *picture) CS_MUST_CHECK;
