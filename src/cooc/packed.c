/* Entries of a matrix in about three bytes each: a build that ends in a file writes each entry once
 * to memory, and first touches of memory are what a large count waits for.
 *
 * Columns: 16 bits for the gap to the column before, in the same row; WIDE_GAP and 32 bits for a
 * larger one. Values: nearly all are small multiples of the units of one place of a window, which
 * is the quantum. A byte below HALF is that multiple; HALF is followed by 32 bits of units, and
 * WHOLE by 64. Where rows begin is marked about once in MARKED entries, so that any stretch of
 * entries can be unpacked by itself. Rows are packed one by one, while they are in the cache.
 *
 * At most 15 bytes an entry, where 12 would be those of a CSR matrix. */
#include "cooc/packed_private.h"

#include <stdbool.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"

enum {
    WIDE_GAP = UINT16_MAX,
    HALF = 254,
    WHOLE = 255,
    MARKED = 1 << 14,
    GAPS = 3,  /* most of an entry */
    BYTES = 9, /* most of an entry */
    FIRST =
        1 << 18, /* capacity at first: copies of growing arrays touch memory, and this does not */
};

/* Writes the gap; returns the end. */
static inline uint16_t *put_gap(uint16_t *to, uint32_t gap)
{
    if (gap < WIDE_GAP) {
        *to = (uint16_t)gap;
        return to + 1;
    }
    to[0] = WIDE_GAP;
    to[1] = (uint16_t)gap;
    to[2] = (uint16_t)(gap >> 16);
    return to + GAPS;
}

static inline uint32_t take_gap(const uint16_t **at)
{
    const uint16_t *from = *at;
    const uint32_t gap = from[0];
    if (gap != WIDE_GAP) {
        *at = from + 1;
        return gap;
    }
    *at = from + GAPS;
    return from[1] | (uint32_t)from[2] << 16;
}

/* Writes a value whose multiple of the quantum is about units * inverse; returns the end. */
static inline uint8_t *put_units(uint8_t *to, int64_t units, uint64_t quantum, double inverse)
{
    const uint64_t times = (uint64_t)((double)units * inverse + 0.5), all = (uint64_t)units;
    const uint32_t half = (uint32_t)units;
    if (times < HALF && times * quantum == all) {
        *to = (uint8_t)times;
        return to + 1;
    }
    *to = half == all ? HALF : WHOLE;
    if (half == all) {
        memcpy(to + 1, &half, sizeof half);
        return to + 1 + sizeof half;
    }
    memcpy(to + 1, &all, sizeof all);
    return to + 1 + sizeof all;
}

/* The units behind a byte that is HALF or WHOLE. */
static inline uint64_t take_units(const uint8_t **at)
{
    const uint8_t *from = *at;
    uint32_t half;
    uint64_t whole;
    if (*from == HALF) {
        memcpy(&half, from + 1, sizeof half);
        *at = from + 1 + sizeof half;
        return half;
    }
    memcpy(&whole, from + 1, sizeof whole);
    *at = from + 1 + sizeof whole;
    return whole;
}

cs_status cs_packed_add(cs_packed *p, int64_t row, int64_t entry, int64_t count, const int32_t *col,
                        const double *units)
{
    const uint64_t quantum = (uint64_t)p->quantum;
    const double inverse = 1 / (double)p->quantum;
    const bool marks = p->marks == 0 || entry >= p->mark[p->marks - 1].entry + MARKED;
    const int64_t gaps = cs_most(p->gaps + GAPS * count, FIRST);
    const int64_t bytes = cs_most(p->bytes + BYTES * count, FIRST);
    cs_status status = cs_reserve(&p->gap, &p->gap_capacity, gaps, sizeof *p->gap);
    if (status == CS_OK) status = cs_reserve(&p->byte, &p->byte_capacity, bytes, sizeof *p->byte);
    if (status == CS_OK && marks)
        status = cs_reserve(&p->mark, &p->mark_capacity, p->marks + 1, sizeof *p->mark);
    if (status != CS_OK) return status;
    if (marks) p->mark[p->marks++] = (cs_packed_mark){row, entry, p->gaps, p->bytes};
    uint16_t *gap = p->gap + p->gaps;
    uint8_t *byte = p->byte + p->bytes;
    int32_t before = -1;
    for (int64_t e = 0; e < count; ++e) {
        gap = put_gap(gap, (uint32_t)(col[e] - before - 1));
        before = col[e];
    }
    for (int64_t e = 0; e < count; ++e) {
        int64_t bits;
        memcpy(&bits, &units[e], sizeof bits);
        byte = put_units(byte, bits, quantum, inverse);
    }
    p->gaps = gap - p->gap;
    p->bytes = byte - p->byte;
    return CS_OK;
}

/* --- unpacking -------------------------------------------------------------------------------- */

/* The last mark at or before an entry. */
static const cs_packed_mark *mark_of(const cs_packed *p, int64_t entry)
{
    int64_t low = 0, high = p->marks - 1;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (p->mark[middle].entry <= entry) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return &p->mark[low];
}

void cs_packed_columns(const void *rows, int64_t first, int64_t count, void *to)
{
    const cs_packed_rows *r = rows;
    const int64_t begin = r->begin + first, end = begin + count;
    const cs_packed_mark *m = mark_of(r->packed, begin);
    const uint16_t *gap = r->packed->gap + m->gap;
    int32_t *out = to;
    int64_t e = m->entry;
    for (int64_t i = m->row; e < end; ++i) {
        const int64_t stop = cs_least(r->ptr[i + 1], end), skipped = cs_least(stop, begin);
        int32_t col = -1;
        for (; e < skipped; ++e) {
            col += (int32_t)take_gap(&gap) + 1;
        }
        for (; e < stop; ++e) {
            col += (int32_t)take_gap(&gap) + 1;
            *out++ = col;
        }
    }
}

/* A value as 8 bytes. */
static inline uint64_t item_of(const cs_packed_rows *r, uint64_t units, bool real)
{
    const double x = (double)(int64_t)units * r->unit;
    if (real) memcpy(&units, &x, sizeof units);
    return units;
}

static inline void take_values(const cs_packed_rows *r, int64_t first, int64_t count, bool real,
                               void *to)
{
    const int64_t begin = r->begin + first;
    const cs_packed_mark *m = mark_of(r->packed, begin);
    const uint8_t *byte = r->packed->byte + m->byte;
    uint64_t item[HALF], *out = to;
    for (int i = 0; i < HALF; ++i) {
        item[i] = item_of(r, (uint64_t)i * (uint64_t)r->packed->quantum, real);
    }
    for (int64_t e = m->entry; e < begin; ++e) {
        byte += *byte < HALF ? 1 : *byte == HALF ? 1 + sizeof(uint32_t) : 1 + sizeof(uint64_t);
    }
    for (int64_t i = 0; i < count; ++i) {
        out[i] = *byte < HALF ? item[*byte++] : item_of(r, take_units(&byte), real);
    }
}

void cs_packed_integers(const void *rows, int64_t first, int64_t count, void *to)
{
    take_values(rows, first, count, false, to);
}

void cs_packed_reals(const void *rows, int64_t first, int64_t count, void *to)
{
    take_values(rows, first, count, true, to);
}

/* --- giving back ------------------------------------------------------------------------------ */

/* The first mark of these rows, or the mark after the last. Entries before it may be another file's. */
static const cs_packed_mark *own_mark(const cs_packed_rows *r)
{
    const cs_packed_mark *m = mark_of(r->packed, r->begin);
    return m->entry < r->begin ? m + 1 : m;
}

/* Finds the marks of these entries. A mark is at or before its entry, so nothing that is still to be
 * read lies before the last one. */
static bool between_marks(const cs_packed_rows *r, int64_t first, int64_t count,
                          const cs_packed_mark *mark[3])
{
    mark[0] = own_mark(r);
    mark[1] = mark_of(r->packed, r->begin + first);
    mark[2] = mark_of(r->packed, r->begin + first + count);
    mark[1] = mark[1] < mark[0] ? mark[0] : mark[1];
    return mark[1] < mark[2];
}

void cs_packed_columns_written(const void *rows, int64_t first, int64_t count)
{
    const cs_packed_rows *r = rows;
    const cs_packed_mark *mark[3];
    if (between_marks(r, first, count, mark)) {
        const int64_t size = sizeof *r->packed->gap, begin = mark[0]->gap;
        cs_mem_give_back(r->packed->gap + begin, (mark[1]->gap - begin) * size,
                         (mark[2]->gap - begin) * size);
    }
}

void cs_packed_values_written(const void *rows, int64_t first, int64_t count)
{
    const cs_packed_rows *r = rows;
    const cs_packed_mark *mark[3];
    if (between_marks(r, first, count, mark)) {
        const int64_t begin = mark[0]->byte;
        cs_mem_give_back(r->packed->byte + begin, mark[1]->byte - begin, mark[2]->byte - begin);
    }
}
