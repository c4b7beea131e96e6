/* The collector of one worker: a hash table that adds equal records up before anything is sorted or
 * written, and the sort of what it holds.
 *
 * Open addressing with linear probing at a load of at most 3/4; the slot of a record is fetched
 * into the cache while the next ones are prepared, so a table larger than the cache costs bandwidth
 * and not latency. Where nearly every record is new (long contexts), a table only scatters what the
 * sort has to gather again: once it has outgrown the caches and 7 of 8 records were new, records
 * are appended as they come, and the merge adds up the few that are equal; a spill that finds many
 * equal goes back to the table.
 *
 * The sort is an in-place most-significant-digit radix sort (American flag sort; McIlroy, Bostic,
 * McIlroy, Computing Systems 1993) on the bytes of (key, column, class), or on half bytes where a
 * bucket is small; digits that a bucket has in common are skipped, the smallest buckets go to
 * insertion sort.
 */
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/builder_private.h"

enum {
    FIRST_CAPACITY = 1 << 12,
    WORDS = 3,
    INSERTION = 16,
    SMALL = 1 << 11,    /* records of a bucket that is cut by half bytes */
    LIKE_NEW = 1 << 18, /* slots of a table whose load tells whether records are mostly new */
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

static inline unsigned digit(const cs_record *r, int w, int shift, unsigned mask)
{
    return (unsigned)(word(r, w) >> shift) & mask;
}

/* The highest bit in which the records differ, as 64 * (words before it) + (bits before it in its
 * word), 64 * WORDS if none does. Those before `known` are the same. */
static int first_difference(const cs_record *r, int64_t n, int known)
{
    for (int w = known / 64; w < WORDS; ++w) {
        uint64_t first = word(r, w), differ = 0;
        for (int64_t i = 1; i < n; ++i) {
            differ |= word(r + i, w) ^ first;
        }
        if (differ) {
            return 64 * w + __builtin_clzll(differ);
        }
    }
    return 64 * WORDS;
}

/* Moves the records to their buckets: that of b reaches from next[b], which is used up, to end[b].
 */
static void permute(cs_record *r, int w, int shift, unsigned mask, const int64_t *end,
                    int64_t *next)
{
    for (unsigned b = 0; b <= mask; ++b) {
        while (next[b] < end[b]) {
            unsigned to = digit(r + next[b], w, shift, mask);
            if (to == b) {
                ++next[b];
            } else {
                cs_record x = r[next[b]];
                r[next[b]] = r[next[to]];
                r[next[to]++] = x;
            }
        }
    }
}

/* Sorts records that agree in the bits before `known`. At most 64 * WORDS / 4 calls deep.
 * NOLINTNEXTLINE(misc-no-recursion) */
static cs_status sort_from(cs_record *r, int64_t n, int known, bool patient)
{
    if (n <= INSERTION) {
        insertion_sort(r, n);
        return CS_OK;
    }
    int at = first_difference(r, n, known);
    if (at == 64 * WORDS) {
        return CS_OK;
    }
    const int size = n < SMALL ? 4 : 8, w = at / 64, before = at % 64 / size * size;
    const int shift = 64 - size - before;
    const unsigned mask = (1U << size) - 1;
    int64_t begin[256] = {0}, end[256], next[256];
    for (int64_t i = 0; i < n; ++i) {
        ++begin[digit(r + i, w, shift, mask)];
    }
    int64_t sum = 0;
    for (unsigned b = 0; b <= mask; ++b) {
        int64_t count = begin[b];
        begin[b] = next[b] = sum;
        end[b] = sum += count;
    }
    permute(r, w, shift, mask, end, next);
    cs_status status = n >= CHECKED && !patient ? cs_interrupt_check() : CS_OK;
    for (unsigned b = 0; b <= mask && status == CS_OK; ++b) {
        if (end[b] - begin[b] > 1) {
            status = sort_from(r + begin[b], end[b] - begin[b], 64 * w + before + size, patient);
        }
    }
    return status;
}

cs_status cs_records_sort(cs_record *r, int64_t n, bool patient)
{
    return sort_from(r, n, 0, patient);
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
    /* While the table grows, the old one and the new one (twice as large) stand side by side; so
     * that this holds for the last step too, the largest is a power of 2 times the first. */
    c->largest = bytes / 3 * 2 / (int64_t)sizeof *c->slot;
    if (c->largest < 64) {
        c->largest = 64;
    }
    c->capacity = c->largest;
    while (c->capacity >= 2 * FIRST_CAPACITY) {
        c->capacity = (c->capacity + 1) / 2;
    }
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

/* Whether nearly all that came was new: `kept` of `added` records, enough of them to tell. */
static bool mostly_new(int64_t kept, int64_t added)
{
    return kept >= LIKE_NEW / 4 * 3 && kept > added / 8 * 7;
}

/* Moves what is held to the first slots. */
static void compact(cs_collector *c)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < c->capacity && !c->append; ++i) {
        if (c->slot[i].units != 0) {
            c->slot[kept++] = c->slot[i];
        }
    }
}

static cs_status grow(cs_collector *c)
{
    cs_collector larger = *c;
    larger.capacity = 2 * c->capacity < c->largest ? 2 * c->capacity : c->largest;
    larger.slot = new_table(larger.capacity);
    if (!larger.slot) {
        return CS_ERR_MEMORY;
    }
    larger.append = c->append || mostly_new(c->used, c->added);
    if (larger.append) {
        compact(c);
        memcpy(larger.slot, c->slot, (size_t)c->used * sizeof *c->slot);
    } else {
        larger.used = 0;
        for (int64_t i = 0; i < c->capacity; ++i) {
            if (c->slot[i].units != 0) {
                insert(&larger, &c->slot[i]);
            }
        }
    }
    cs_free(c->slot);
    c->slot = larger.slot;
    c->capacity = larger.capacity;
    c->append = larger.append;
    return CS_OK;
}

/* Sorts what is held and adds up what is equal. */
static cs_status compact_and_sort(cs_collector *c)
{
    compact(c);
    cs_status status = cs_records_sort(c->slot, c->used, c->patient);
    if (status == CS_OK && c->append) {
        int64_t kept = 0;
        for (int64_t i = 0; i < c->used; ++i) {
            if (kept > 0 && cs_record_compare(&c->slot[kept - 1], &c->slot[i]) == 0) {
                cs_record_add(&c->slot[kept - 1], &c->slot[i]);
            } else {
                c->slot[kept++] = c->slot[i];
            }
        }
        c->used = kept;
    }
    c->append = mostly_new(c->used, c->added);
    return status;
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
        c->used = c->added = 0;
    }
    return status;
}

static cs_status insert_pending(cs_collector *c)
{
    cs_status status = CS_OK;
    for (int i = 0; i < c->count && status == CS_OK; ++i) {
        if (c->append) {
            c->slot[c->used++] = c->pending[i];
        } else {
            insert(c, &c->pending[i]);
        }
        ++c->added;
        if (c->used >= (c->append ? c->capacity : c->capacity / 4 * 3)) {
            status = make_room(c);
        }
    }
    c->count = 0;
    return status;
}

cs_status cs_collector_add(cs_collector *c, const cs_record *record)
{
    if (!c->append) {
        const cs_record *slot = &c->slot[home(c, record)];
        __builtin_prefetch(slot, 1);
        __builtin_prefetch((const char *)slot + sizeof *slot - 1, 1);
    }
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
