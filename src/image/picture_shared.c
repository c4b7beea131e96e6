/* Limits on sizes of images, and the parts that decoders share. */
#include <string.h>

#include "base/mem.h"
#include "image/picture_private.h"

enum { MOST_SIDE = 65535, MOST_VALUES = 1 << 28 };

cs_status cs_picture_check_size(const char *name, int64_t height, int64_t width, int64_t channels)
{
    if (height < 1 || width < 1 || height > MOST_SIDE || width > MOST_SIDE ||
        height * width > MOST_VALUES / channels) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: a picture of %lld x %lld (1 to %d rows and columns and at most %d "
                       "values are supported)",
                       name, (long long)height, (long long)width, MOST_SIDE, MOST_VALUES);
    }
    return cs_mem_check(4.0 * (double)(height * width * channels), NULL,
                        "%s: decoding %lld x %lld pixels takes", name, (long long)height,
                        (long long)width);
}

void cs_picture_free(cs_picture *picture)
{
    cs_free(picture->pixel);
    *picture = (cs_picture){0};
}

void cs_picture_flatten(const uint8_t *row, int64_t width, int64_t channels, uint8_t *to)
{
    for (int64_t x = 0; x < width; ++x, row += channels + 1) {
        const int a = row[channels];
        for (int64_t c = 0; c < channels; ++c) {
            *to++ = (uint8_t)((row[c] * a + 255 * (255 - a) + 127) / 255);
        }
    }
}

/* --- orientation ------------------------------------------------------------------------------ */

int cs_exif_orientation(const uint8_t *exif, int64_t size)
{
    enum { PREFIX = 6, HEADER = 8, ENTRY = 12 };
    const int64_t before = size >= PREFIX && memcmp(exif, "Exif\0\0", PREFIX) == 0 ? PREFIX : 0;
    const uint8_t *tiff = exif + before;
    const int64_t length = size - before;
    if (length < HEADER || (memcmp(tiff, "II", 2) != 0 && memcmp(tiff, "MM", 2) != 0)) {
        return 1;
    }
    const bool big = tiff[0] == 'M';
#define WORD(at) (big ? tiff[at] << 8 | tiff[(at) + 1] : tiff[(at) + 1] << 8 | tiff[at])
    const int64_t list = big ? (int64_t)WORD(4) << 16 | WORD(6) : (int64_t)WORD(6) << 16 | WORD(4);
    if (list > length - 2) {
        return 1;
    }
    const int64_t entries = WORD(list);
    for (int64_t at = list + 2; at < list + 2 + entries * ENTRY && at + ENTRY <= length;
         at += ENTRY) {
        const int value = WORD(at + 8);
        if (WORD(at) == 0x0112) {
            return value >= 1 && value <= 8 ? value : 1;
        }
    }
#undef WORD
    return 1;
}

cs_status cs_picture_turn(int orientation, cs_picture *picture)
{
    /* bit 0, mirrored left to right; bit 1, upside down; bit 2, rows and columns exchanged, before
     * both */
    static const uint8_t code[] = {0, 0, 1, 3, 2, 4, 5, 7, 6};
    const int turns = code[orientation];
    const cs_picture from = *picture;
    const bool across = (turns & 4) != 0;
    cs_picture p = {.height = across ? from.width : from.height,
                    .width = across ? from.height : from.width,
                    .channels = from.channels};
    if (!from.pixel || turns == 0) {
        p.pixel = from.pixel;
        *picture = p;
        return CS_OK;
    }
    p.pixel = cs_alloc(p.height * p.width * p.channels, 1);
    if (!p.pixel) return CS_ERR_MEMORY;
    for (int64_t y = 0; y < p.height; ++y) {
        for (int64_t x = 0; x < p.width; ++x) {
            const int64_t v = (turns & 2) ? p.height - 1 - y : y;
            const int64_t u = (turns & 1) ? p.width - 1 - x : x;
            const int64_t row = across ? u : v, column = across ? v : u;
            memcpy(p.pixel + (y * p.width + x) * p.channels,
                   from.pixel + (row * from.width + column) * p.channels, (size_t)p.channels);
        }
    }
    cs_picture_free(picture);
    *picture = p;
    return CS_OK;
}

void cs_picture_inks(const uint8_t *row, int64_t width, int64_t step, bool inverted, uint8_t *to)
{
    const int flip = inverted ? 255 : 0;
    for (int64_t x = 0; x < width; ++x, row += step) {
        const int light = 255 - (row[3] ^ flip);
        for (int c = 0; c < 3; ++c) {
            const int product = (row[c] ^ flip) * light + 128;
            *to++ = (uint8_t)(light - (((product >> 8) + product) >> 8));
        }
    }
}
