/* Windows bitmaps: headers of 12, 16 to 64, 108 and 124 bytes; 1, 4, 8 bits with a palette, also run
 * lengths; 16, 24 and 32 bits, also bit fields. As Pillow reads them: the fourth byte of 32 bits is
 * transparency only if the header has a mask for it, and v of a field of most m is 255 v / m,
 * rounded down. A palette of greys alone makes a grey image. */
#include <string.h>

#include "base/mem.h"
#include "image/picture_private.h"

enum { FILE_HEADER = 14, CORE = 12, FIELDS = 4, MOST_COLOURS = 256 };
enum { PLAIN, RLE8, RLE4, BIT_FIELDS };

typedef struct {
    const char *name;
    const uint8_t *bytes;
    int64_t size, data; /* data: where pixels begin */
    int64_t height, width;
    bool down;             /* the first row is the top */
    int bits, form, entry; /* entry: bytes of a colour of the palette */
    int64_t palette, colours;
    uint32_t mask[FIELDS]; /* red, green, blue, alpha */
    bool grey;
} bmp;

static uint32_t word(const bmp *b, int64_t at, int bytes)
{
    uint32_t x = 0;
    for (int i = bytes - 1; i >= 0; --i) {
        x = x << 8 | b->bytes[at + i];
    }
    return x;
}

static cs_status refuse(const bmp *b, const char *what)
{
    return cs_fail(CS_ERR_INPUT, "%s: %s", b->name, what);
}

static cs_status read_masks(bmp *b, int64_t header)
{
    static const uint32_t of_16[] = {0x7C00, 0x3E0, 0x1F, 0}, of_32[] = {0xFF0000, 0xFF00, 0xFF, 0};
    memcpy(b->mask, b->bits == 16 ? of_16 : of_32, sizeof b->mask);
    if (b->form != BIT_FIELDS) return CS_OK;
    const int fields = header >= 56 ? 4 : 3;
    if (b->size < FILE_HEADER + 40 + 4 * fields || (b->bits != 16 && b->bits != 32)) {
        return refuse(b, "bit fields of a bitmap are damaged");
    }
    for (int i = 0; i < fields; ++i) {
        b->mask[i] = word(b, FILE_HEADER + 40 + 4 * i, 4);
        if (i < 3 && b->mask[i] == 0) return refuse(b, "a colour of a bitmap has no bits");
    }
    return CS_OK;
}

static cs_status read_palette(bmp *b, int64_t header, uint32_t used)
{
    b->colours = used > 0 ? used : 1U << b->bits;
    b->palette = FILE_HEADER + header;
    b->grey = true;
    if (b->colours > MOST_COLOURS || b->palette + b->colours * b->entry > b->size) {
        return refuse(b, "the palette of a bitmap is damaged");
    }
    for (int64_t i = 0; i < b->colours && b->grey; ++i) {
        const uint8_t *c = b->bytes + b->palette + i * b->entry;
        b->grey = c[0] == c[1] && c[1] == c[2];
    }
    return CS_OK;
}

static cs_status read_header(bmp *b)
{
    if (b->size < FILE_HEADER + CORE) return refuse(b, "a bitmap ends in its header");
    const int64_t header = word(b, FILE_HEADER, 4);
    const bool core = header == CORE;
    if ((header != CORE && (header < 16 || header > 124)) || b->size < FILE_HEADER + header ||
        (header > CORE && header < 40 && header != 16)) {
        return refuse(b, "the header of a bitmap is not supported");
    }
    b->data = word(b, 10, 4);
    b->entry = core ? 3 : 4;
    b->width = (int32_t)(core ? word(b, 18, 2) : word(b, 18, 4));
    b->height = (int32_t)(core ? word(b, 20, 2) : word(b, 22, 4));
    b->bits = (int)word(b, core ? 24 : 28, 2);
    b->form = header >= 40 ? (int)word(b, 30, 4) : PLAIN;
    b->down = b->height < 0;
    b->height = b->down ? -b->height : b->height;
    const bool runs = (b->form == RLE8 && b->bits == 8) || (b->form == RLE4 && b->bits == 4);
    if (b->form != PLAIN && b->form != BIT_FIELDS && !runs)
        return refuse(b, "the compression of a bitmap is not supported");
    switch (b->bits) {
    case 1:
    case 4:
    case 8:
        return read_palette(b, header, header >= 40 ? word(b, 46, 4) : 0);
    case 16:
    case 24:
    case 32:
        return read_masks(b, header);
    default:
        return refuse(b, "a bitmap has 1, 4, 8, 16, 24 or 32 bits a pixel");
    }
}

static void put_colour(const bmp *b, int64_t index, int64_t channels, uint8_t *to)
{
    const uint8_t *c = b->bytes + b->palette + (index < b->colours ? index : 0) * b->entry;
    for (int64_t k = 0; k < channels; ++k) {
        to[k] = c[2 - k];
    }
}

static uint8_t field(uint32_t x, uint32_t mask)
{
    const int shift = __builtin_ctz(mask);
    const uint64_t most = mask >> shift;
    return (uint8_t)((uint64_t)((x & mask) >> shift) * 255 / most);
}

/* A pixel of 16 or 32 bits over white. */
static void put_fields(const bmp *b, uint32_t x, uint8_t *to)
{
    uint8_t rgba[FIELDS] = {0, 0, 0, 255};
    for (int k = 0; k < FIELDS; ++k) {
        if (b->mask[k]) rgba[k] = field(x, b->mask[k]);
    }
    cs_picture_flatten(rgba, 1, 3, to);
}

/* Row y from the top of an image that is not compressed. */
static void read_row(const bmp *b, int64_t y, int64_t channels, uint8_t *to)
{
    const int64_t wide = (b->width * b->bits + 31) / 32 * 4;
    const int64_t row = b->data + (b->down ? y : b->height - 1 - y) * wide;
    for (int64_t x = 0; x < b->width; ++x, to += channels) {
        const int64_t bit = x * b->bits;
        if (b->bits <= 8) {
            const int shift = 8 - b->bits - (int)(bit % 8);
            put_colour(b, b->bytes[row + bit / 8] >> shift & ((1 << b->bits) - 1), channels, to);
        } else if (b->bits == 24) {
            for (int k = 0; k < 3; ++k) {
                to[k] = b->bytes[row + 3 * x + 2 - k];
            }
        } else {
            put_fields(b, word(b, row + bit / 8, b->bits / 8), to);
        }
    }
}

/* Run lengths: pairs of a count and colours, or 0 and an escape. Pixels that are left out have colour
 * 0. */
static cs_status read_runs(const bmp *b, int64_t channels, uint8_t *pixel)
{
    int64_t x = 0, y = 0, at = b->data;
    for (int64_t i = 0; i < b->height * b->width; ++i) {
        put_colour(b, 0, channels, pixel + i * channels);
    }
    while (y < b->height) {
        if (at + 2 > b->size) return refuse(b, "a bitmap ends in its pixels");
        const int count = b->bytes[at], code = b->bytes[at + 1];
        const bool copies = count == 0 && code > 2;
        const int64_t n = copies ? code : count, from = copies ? at + 2 : at + 1;
        at += 2;
        if (count == 0 && code == 0) {
            x = 0;
            y += 1;
        } else if (count == 0 && code == 1) {
            break;
        } else if (count == 0 && code == 2) {
            if (at + 2 > b->size) return refuse(b, "a bitmap ends in its pixels");
            x += b->bytes[at];
            y += b->bytes[at + 1];
            at += 2;
        }
        const int64_t bytes = copies ? (n * b->bits + 15) / 16 * 2 : 0;
        if (at + bytes > b->size || (n > 0 && y >= b->height)) {
            return refuse(b, "runs of a bitmap leave the image");
        }
        /* rows may be filled up to whole words */
        for (int64_t i = 0; i < n && x < b->width; ++i, ++x) {
            const uint8_t c = b->bytes[from + (copies ? i * b->bits / 8 : 0)];
            const int colour = b->bits == 8 ? c : i % 2 == 0 ? c >> 4 : c & 15;
            const int64_t row = b->down ? y : b->height - 1 - y;
            put_colour(b, colour, channels, pixel + (row * b->width + x) * channels);
        }
        at += bytes;
    }
    return CS_OK;
}

cs_status cs_bmp_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                        cs_picture *out)
{
    bmp b = {.name = name, .bytes = bytes, .size = size};
    cs_status status = read_header(&b);
    cs_picture p = {
        .height = b.height, .width = b.width, .channels = b.bits <= 8 && b.grey ? 1 : 3};
    if (status == CS_OK) status = cs_picture_check_size(name, p.height, p.width, p.channels);
    const int64_t wide = (b.width * b.bits + 31) / 32 * 4;
    const bool runs = b.form == RLE8 || b.form == RLE4;
    if (status == CS_OK &&
        (b.data < FILE_HEADER || b.data > size || (!runs && size - b.data < wide * b.height)))
        status = refuse(&b, "a bitmap ends in its pixels");
    if (status != CS_OK || sizes_only) return CS_DELIVER(status, out, p, cs_picture_free);
    p.pixel = cs_alloc(p.height * p.width * p.channels, 1);
    if (!p.pixel) return CS_ERR_MEMORY;
    if (runs) status = read_runs(&b, p.channels, p.pixel);
    for (int64_t y = 0; y < p.height && !runs; ++y) {
        read_row(&b, y, p.channels, p.pixel + y * p.width * p.channels);
    }
    return CS_DELIVER(status, out, p, cs_picture_free);
}
