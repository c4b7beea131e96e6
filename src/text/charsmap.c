/* Kudo and Richardson, SentencePiece, EMNLP 2018 (demos); the array's units are those of
 * darts-clone: label in bits 0-7 and 31, a leaf below it in bit 8, offset in bits 10-30, shifted by
 * eight when bit 9 is set; a leaf's value in bits 0-30. Every index is checked, since the table
 * comes from a file. */
#include "base/auto.h"
#include "text/charsmap_private.h"

#include <string.h>

#include <nettle/base64.h>

#include "base/mem.h"
#include "text/unicode.h"
#include "text/utf8_private.h"

static uint32_t little_endian(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The texts must be UTF-8 between their NULs. */
static cs_status take_parts(const uint8_t *bytes, int64_t size, cs_charsmap *out)
{
    const int64_t array = size >= 4 ? little_endian(bytes) : 0;
    if (size < 8 || array < 4 || array % 4 != 0 || array > size - 4) {
        return cs_fail(CS_ERR_INPUT,
                       "its header announces a table of %lld bytes, but the map has %lld",
                       (long long)array, (long long)size);
    }
    out->units = array / 4;
    out->size = size - 4 - array;
    out->unit = cs_alloc(out->units, sizeof *out->unit);
    out->text = cs_alloc(out->size + 1, 1);
    if (!out->unit || !out->text) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < out->units; ++i) {
        out->unit[i] = little_endian(bytes + 4 + 4 * i);
    }
    memcpy(out->text, bytes + 4 + array, (size_t)out->size);
    out->text[out->size] = '\0';
    return cs_utf8_check(NULL, out->text, out->size);
}

cs_status cs_charsmap_read(const char *base64, int64_t size, cs_charsmap *out)
{
    struct base64_decode_ctx context;
    size_t decoded = BASE64_DECODE_LENGTH((size_t)size);
    CS_AUTO_FREE uint8_t *bytes = cs_alloc((int64_t)decoded + 1, 1);
    if (!bytes) return CS_ERR_MEMORY;
    base64_decode_init(&context);
    cs_status status = base64_decode_update(&context, &decoded, bytes, (size_t)size, base64) == 1 &&
                               base64_decode_final(&context) == 1
                           ? take_parts(bytes, (int64_t)decoded, out)
                           : cs_fail(CS_ERR_INPUT, "not valid base64");
    return status;
}

void cs_charsmap_free(cs_charsmap *map)
{
    CS_FREE_FIELDS(map, unit, text);
    memset(map, 0, sizeof *map);
}

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << ((unit & 1U << 9) >> 6);
}

/* The replacement of the shortest beginning of the text that is in the table; NULL: none is. */
static const char *look_up(const cs_charsmap *m, const uint8_t *text, int64_t size)
{
    int64_t node = offset_of(m->unit[0]);
    for (int64_t i = 0; i < size && text[i] != 0; ++i) {
        node ^= text[i];
        if (node >= m->units) {
            return NULL;
        }
        const uint32_t unit = m->unit[node];
        if ((unit & (1U << 31 | 0xFF)) != text[i]) {
            return NULL;
        }
        node ^= offset_of(unit);
        if (unit & 1U << 8) {
            const int64_t at = node < m->units ? m->unit[node] & ((1U << 31) - 1) : m->size;
            return at < m->size && ((uint8_t)m->text[at] & 0xC0) != 0x80 ? m->text + at : NULL;
        }
    }
    return NULL;
}

/* Bytes of the grapheme cluster at `at`. */
static int64_t cluster(const uint8_t *at, const uint8_t *end)
{
    int32_t c = 0, next = 0;
    utf8proc_int32_t state = 0;
    int64_t length = cs_char_at(at, &c);
    while (at + length < end) {
        int more = cs_char_at(at + length, &next);
        next = cs_char_is_joined(next) ? 0x300 : next; /* a mark that utf8proc knows */
        if (utf8proc_grapheme_break_stateful(c, next, &state)) {
            break;
        }
        c = next;
        length += more;
    }
    return length;
}

static cs_status put_part(const cs_charsmap *m, const uint8_t *at, int64_t size, cs_pieces *p)
{
    const char *with = look_up(m, at, size);
    return with ? cs_pieces_put(p, with, (int64_t)strlen(with))
                : cs_pieces_put(p, (const char *)at, size);
}

cs_status cs_charsmap_apply(const cs_charsmap *m, cs_pieces *p)
{
    enum { SHORT = 6 };
    const uint8_t *at = (const uint8_t *)p->text, *end = at + p->size;
    cs_status status = CS_OK;
    while (at < end && status == CS_OK) {
        /* The common case: a character of ASCII before another is a cluster, except in CR LF. */
        const bool alone = *at < 0x80 && at + 1 < end && at[1] < 0x80 && *at != '\r';
        const int64_t length = alone ? 1 : cluster(at, end);
        if (length < SHORT && look_up(m, at, length)) {
            status = put_part(m, at, length, p);
            at += length;
            continue;
        }
        for (const uint8_t *stop = at + length; at < stop && status == CS_OK;) {
            int32_t c = 0;
            const int size = cs_char_at(at, &c);
            status = put_part(m, at, size, p);
            at += size;
        }
    }
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}
