/* The binary forms of Netpbm (pgm(5), ppm(5)). Only the first image of a file is read. */
#include <string.h>

#include "base/mem.h"
#include "image/picture_private.h"

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

cs_status cs_pnm_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                        cs_picture *out)
{
    pnm_text t = {name, bytes, size, 2};
    cs_picture p = {.channels = bytes[1] == '6' ? 3 : 1};
    int64_t most = 0;
    cs_status status = next_number(&t, "width", &p.width);
    if (status == CS_OK) status = next_number(&t, "height", &p.height);
    if (status == CS_OK) status = next_number(&t, "largest value", &most);
    if (status == CS_OK) status = cs_picture_check_size(name, p.height, p.width, p.channels);
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
