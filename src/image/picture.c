/* Which decoder a picture needs, what sizes are read, and the binary forms of Netpbm (pgm(5),
 * ppm(5)). Only the first picture of a Netpbm file is read. */
#include "image/picture_private.h"

#include <string.h>

#include "base/mem.h"

enum { MOST_SIDE = 65535, MOST_VALUES = 1 << 28 };

cs_status cs_picture_check(const char *name, int64_t height, int64_t width, int64_t channels)
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

/* --- PGM and PPM ------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    const uint8_t *bytes;
    int64_t size, at;
} pnm_text;

/* The next decimal of the header, behind white space and comments; one of at most 65535. */
static cs_status next_number(pnm_text *t, const char *what, int64_t *out)
{
    while (t->at < t->size && memchr(" \t\r\n\v\f#", t->bytes[t->at], 7)) {
        if (t->bytes[t->at] == '#') {
            const uint8_t *end = memchr(t->bytes + t->at, '\n', (size_t)(t->size - t->at));
            t->at = end ? end - t->bytes : t->size - 1;
        }
        t->at += 1;
    }
    const int64_t first = t->at;
    int64_t x = 0;
    while (t->at < t->size && t->bytes[t->at] >= '0' && t->bytes[t->at] <= '9' && x <= 65535) {
        x = 10 * x + (t->bytes[t->at++] - '0');
    }
    if (t->at == first || x < 1 || x > 65535) {
        return cs_fail(CS_ERR_INPUT, "%s: byte %lld: the %s is not a number from 1 to 65535",
                       t->name, (long long)first, what);
    }
    *out = x;
    return CS_OK;
}

static cs_status pnm_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                            cs_picture *out)
{
    pnm_text t = {name, bytes, size, 2};
    cs_picture p = {.channels = bytes[1] == '6' ? 3 : 1};
    int64_t most = 0;
    cs_status status = next_number(&t, "width", &p.width);
    if (status == CS_OK) status = next_number(&t, "height", &p.height);
    if (status == CS_OK) status = next_number(&t, "largest value", &most);
    if (status == CS_OK) status = cs_picture_check(name, p.height, p.width, p.channels);
    if (status != CS_OK) return status;
    const int64_t values = p.height * p.width * p.channels, width = most > 255 ? 2 : 1;
    t.at += 1; /* one byte of white space, whatever it is */
    if (size - t.at < values * width) {
        return cs_fail(CS_ERR_INPUT, "%s: %lld bytes of pixels, but %lld x %lld pixels need %lld",
                       name, (long long)(size > t.at ? size - t.at : 0), (long long)p.height,
                       (long long)p.width, (long long)(values * width));
    }
    if (sizes_only) {
        *out = p;
        return CS_OK;
    }
    p.pixel = cs_alloc(values, 1);
    if (!p.pixel) return CS_ERR_MEMORY;
    const uint8_t *from = bytes + t.at;
    for (int64_t i = 0; i < values && status == CS_OK; ++i) {
        const int64_t v = width == 1 ? from[i] : from[2 * i] << 8 | from[2 * i + 1];
        if (v > most) {
            status = cs_fail(CS_ERR_INPUT, "%s: byte %lld: value %lld exceeds the maximum, %lld",
                             name, (long long)(t.at + width * i), (long long)v, (long long)most);
        }
        p.pixel[i] = (uint8_t)((2 * 255 * v + most) / (2 * most));
    }
    return CS_DELIVER(status, out, p, cs_picture_free);
}

/* --- which one -------------------------------------------------------------------------------- */

typedef cs_status (*decoder)(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                             cs_picture *out);

static decoder decoder_of(const uint8_t *bytes, int64_t size)
{
    static const struct {
        const char *signature;
        int64_t length;
        decoder decode;
    } known[] = {{"\x89PNG\r\n\x1A\n", 8, cs_png_decode},
                 {"\xFF\xD8\xFF", 3, cs_jpeg_decode},
                 {"P5", 2, pnm_decode},
                 {"P6", 2, pnm_decode}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (size >= known[i].length &&
            memcmp(bytes, known[i].signature, (size_t)known[i].length) == 0) {
            return known[i].decode;
        }
    }
    return NULL;
}

bool cs_picture_is(const void *bytes, int64_t size)
{
    return decoder_of(bytes, size) != NULL;
}

cs_status cs_picture_decode(const char *name, const void *bytes, int64_t size, bool sizes_only,
                            cs_picture *out)
{
    const decoder decode = decoder_of(bytes, size);
    return decode ? decode(name, bytes, size, sizes_only, out)
                  : cs_fail(CS_ERR_INPUT, "%s: not a PNG, JPEG, binary PGM (P5) or PPM (P6) file",
                            name);
}
