/* One picture: PNG (libpng), JPEG (libjpeg-turbo), binary PGM and PPM, told by their first bytes.
 *
 * A picture is uint8, height x width x channels, rows from the top, channels 1 (grey) or 3 (red,
 * green, blue). Rules for what files have beyond this:
 *   16 bits        v of 0..65535 becomes round(v / 257); a PGM or PPM of maximum m: round(255 v / m)
 *   1, 2, 4 bits, palettes   expanded
 *   transparency   laid over white: round((v a + 255 (255 - a)) / 255)
 *   EXIF rotation  applied, of JPEG files (orientations 1..8)
 *   CMYK, YCCK     refused: what red they mean is in a colour profile
 *   gamma, profiles   not applied; interlaced, progressive, animated (the first frame): as they are
 * What a header claims is checked before memory is taken: at most 65,535 rows and columns and 2^28
 * values, and no more than the free memory. Damaged data are an error, also where a decoder would go
 * on with grey; bytes behind the end of a picture are passed over.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t height, width, channels;
    uint8_t *pixel; /* NULL: the sizes only */
} cs_picture;

/* Whether the bytes begin as one of these files does. */
bool cs_picture_is(const void *bytes, int64_t size);

/* Decodes a file in memory; `name` is for messages. sizes_only: reads its header alone (a palette,
 * transparency and rotation are accounted for). CS_ERR_INPUT names the file and what is wrong with
 * it, with the row where decoding stopped; CS_ERR_MEMORY. Cost: the decoder's, memory 4 bytes a
 * value at most. */
cs_status cs_picture_decode(const char *name, const void *bytes, int64_t size, bool sizes_only,
                            cs_picture *out) CS_MUST_CHECK;
void cs_picture_free(cs_picture *picture);

/* Writes a PNG of 8 bits, atomically, without a date: the bytes depend on the picture and on the
 * versions of libpng and zlib. CS_ERR_USAGE for sizes beyond those above. */
cs_status cs_png_write(const char *path, const cs_picture *picture) CS_MUST_CHECK;
