/* The collector of one worker: a hash table that adds equal records up before anything is sorted or
 * written, and the sort of what it holds.
 *
 * Open addressing with linear probing at a load of at most 3/4; the slot of a record is fetched
 * into the cache while the next ones are prepared, so a table larger than the cache costs bandwidth
 * and not latency. The sort is an in-place most-significant-digit radix sort (American flag sort;
 * McIlroy, Bostic, McIlroy, Computing Systems 1993) on the bytes of (key, column, class); bytes
 * that a bucket has in common are skipped, small buckets go to insertion sort.
 */
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/builder_private.h"

enum {
    FIRST_CAPACITY = 1 << 12,
    DIGITS = 24,
    INSERTION = 24,
    CHECKED = 1 << 16
};

__extension__ typedef unsigned __int128 wide;

/* --- sort ------------------------------------------------------------------------------------- */

static void insertion_sort(cs_record *r, int64_t n)
{
    for (int64_t i = 1; i < n; ++i) {
        cs_record x = r[i];
        int64_t j = i;
        for (; j > 0 && cs_record_compare(&x, &r[j - 1]) < 0; --j) {
            r[j] = r[j - 1];
        }
        r[j] = x;
    }
}

/* The record as three words in the order of comparison; labels start at -1. */
static inline uint64_t word(const cs_record *r, int index)
{
    switch (index) {
    case 0:
        return r->key.high;
    case 1:
        return r->key.low;
    default:
        return (uint64_t)(uint32_t)r->col << 32 | (uint32_t)(r->label + 1);
    }
}

static inline unsigned digit(const cs_record *r, int d)
{
    return (unsigned)(word(r, d / 8) >> (56 - 8 * (d % 8))) & 255;
}

/* First byte in which the records differ, DIGITS if none does. */
static int first_difference(const cs_record *r, int64_t n)
{
    for (int w = 0; w < 3; ++w) {
        uint64_t first = word(r, w), differ = 0;
        for (int64_t i = 1; i < n; ++i) {
            differ |= word(r + i, w) ^ first;
        }
        if (differ) {
            return 8 * w + __builtin_clzll(differ) / 8;
        }
    }
    return DIGITS;
}

/* At most DIGITS calls deep. NOLINTNEXTLINE(misc-no-recursion) */
cs_status cs_records_sort(cs_record *r, int64_t n, bool patient)
{
    if (n <= INSERTION) {
        insertion_sort(r, n);
        return CS_OK;
    }
    int d = first_difference(r, n);
    if (d == DIGITS) {
        return CS_OK;
    }
    int64_t begin[257] = {0}, next[256];
    for (int64_t i = 0; i < n; ++i) {
        ++begin[digit(r + i, d) + 1];
    }
    for (int b = 0; b < 256; ++b) {
        begin[b + 1] += begin[b];
        next[b] = begin[b];
    }
    for (unsigned b = 0; b < 256; ++b) {
        while (next[b] < begin[b + 1]) {
            unsigned to = digit(r + next[b], d);
            if (to == b) {
                ++next[b];
            } else {
                cs_record x = r[next[b]];
                r[next[b]] = r[next[to]];
                r[next[to]++] = x;
            }
        }
    }
    cs_status status = n >= CHECKED && !patient ? cs_interrupt_check() : CS_OK;
    for (int b = 0; b < 256 && status == CS_OK; ++b) {
        if (begin[b + 1] - begin[b] > 1) {
            status = cs_records_sort(r + begin[b], begin[b + 1] - begin[b], patient);
        }
    }
    return status;
}

/* --- table ------------------------------------------------------------------------------------ */

static cs_record *new_table(int64_t capacity)
{
    cs_record *slot = cs_calloc(capacity, sizeof *slot);
    if (slot) {
        cs_mem_large_pages(slot, capacity * (int64_t)sizeof *slot);
    }
    return slot;
}

cs_status cs_collector_init(cs_collector *c, cs_runs *runs, int64_t bytes)
{
    memset(c, 0, sizeof *c);
    c->runs = runs;
    /* While the table grows, the old one and the new one (twice as large) stand side by side. */
    c->largest = bytes / 3 * 2 / (int64_t)sizeof *c->slot;
    if (c->largest < 64) {
        c->largest = 64;
    }
    c->capacity = c->largest < FIRST_CAPACITY ? c->largest : FIRST_CAPACITY;
    c->slot = new_table(c->capacity);
    return c->slot ? CS_OK : CS_ERR_MEMORY;
}

void cs_collector_free(cs_collector *c)
{
    cs_free(c->slot);
    memset(c, 0, sizeof *c);
}

static inline int64_t home(const cs_collector *c, const cs_record *r)
{
    uint64_t pair = (uint64_t)(uint32_t)r->col << 20 ^ (uint32_t)(r->label + 1);
    uint64_t hash = r->key.low + pair * UINT64_C(0x9e3779b97f4a7c15);
    return (int64_t)((wide)hash * (uint64_t)c->capacity >> 64);
}

static inline void insert(cs_collector *c, const cs_record *r)
{
    int64_t i = home(c, r);
    while (c->slot[i].units != 0) {
        if (cs_record_compare(&c->slot[i], r) == 0) {
            cs_record_add(&c->slot[i], r);
            return;
        }
        i = i + 1 < c->capacity ? i + 1 : 0;
    }
    c->slot[i] = *r;
    ++c->used;
}

static cs_status grow(cs_collector *c)
{
    cs_collector larger = *c;
    larger.capacity = 2 * c->capacity < c->largest ? 2 * c->capacity : c->largest;
    larger.used = 0;
    larger.slot = new_table(larger.capacity);
    if (!larger.slot) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < c->capacity; ++i) {
        if (c->slot[i].units != 0) {
            insert(&larger, &c->slot[i]);
        }
    }
    cs_free(c->slot);
    c->slot = larger.slot;
    c->capacity = larger.capacity;
    return CS_OK;
}

static cs_status compact_and_sort(cs_collector *c)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < c->capacity; ++i) {
        if (c->slot[i].units != 0) {
            c->slot[kept++] = c->slot[i];
        }
    }
    return cs_records_sort(c->slot, kept, c->patient);
}

static cs_status make_room(cs_collector *c)
{
    if (c->capacity < c->largest) {
        return grow(c);
    }
    cs_status status = compact_and_sort(c);
    if (status == CS_OK) {
        status = cs_runs_append(c->runs, c->slot, c->used);
    }
    if (status == CS_OK) {
        memset(c->slot, 0, (size_t)c->capacity * sizeof *c->slot);
        c->used = 0;
    }
    return status;
}

static cs_status insert_pending(cs_collector *c)
{
    cs_status status = CS_OK;
    for (int i = 0; i < c->count && status == CS_OK; ++i) {
        insert(c, &c->pending[i]);
        if (c->used >= c->capacity / 4 * 3) {
            status = make_room(c);
        }
    }
    c->count = 0;
    return status;
}

cs_status cs_collector_add(cs_collector *c, const cs_record *record)
{
    const cs_record *slot = &c->slot[home(c, record)];
    __builtin_prefetch(slot, 1);
    __builtin_prefetch((const char *)slot + sizeof *slot - 1, 1);
    c->pending[c->count++] = *record;
    return c->count < CS_COLLECT_BATCH ? CS_OK : insert_pending(c);
}

cs_status cs_collector_finish(cs_collector *c)
{
    cs_status status = c->finished ? CS_OK : insert_pending(c);
    if (status == CS_OK && !c->finished) {
        status = compact_and_sort(c);
        c->finished = status == CS_OK;
    }
    return status;
}
