/* The collector of one worker: a small hash table that adds equal records up while they are in the
 * cache, slots that take what leaves it, and the sort of the slots.
 *
 * Words repeat as Zipf has it, so a table of a few thousand records meets most of the repetitions
 * and costs no memory access; one that held every record would cost one or two a record, as much as
 * the sort. When the table is full, all of it goes to the slots. Open addressing with linear
 * probing at a load of at most 3/4; the place of a record is fetched while the next ones are
 * prepared. Where nearly every record is new (long contexts), even this is in vain: once 7 of 8
 * records leave the table as they came, they go to the slots without it.
 *
 * Full slots are sorted and equal records added up. If that empties half of them they fill again;
 * else there are more of them as long as the memory lasts, and then they are spilled as a sorted
 * run. Where nearly all is new the attempt is left out.
 *
 * The sort is an in-place most-significant-digit radix sort (American flag sort; McIlroy, Bostic,
 * McIlroy, Computing Systems 1993) on the bytes of (key, column, class), or, where a bucket fits in
 * the cache, on enough bits that the smaller buckets are short enough for insertion sort; bits that
 * a bucket has in common are skipped. What is in memory at the end is only cut into ranges of keys:
 * the merge sorts a range when it comes to it, and meets it in the cache. Each bucket is filled
 * from one end to the other, so the record that will be displaced next is fetched when its
 * neighbour is: a large bucket costs bandwidth, not latency. */
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/collect_private.h"

enum {
    WORDS = 3,
    INSERTION = 12,
    DIGIT = 11, /* bits of the longest digit */
    LEFT_BITS = 2,
    CACHED = 1 << 15,
    TABLE = 1 << 14, /* places of the table */
    TABLE_SHARE = 8, /* of the memory of a collector */
    /* Slots to fill before equal records are added up, and how many times more if that was in
     * vain. */
    FIRST = 1 << 20,
    GROWTH = 4,
    LIKE_NEW = 3 << 16, /* fewer records do not show whether most are new */
    CHECKED = 1 << 16
};

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
 * Each step puts the record at i where it belongs and takes what was there, so no step waits for
 * the one before, as it would if a record were followed from place to place. */
static void permute(cs_record *r, int w, int shift, unsigned mask, const int64_t *end,
                    int64_t *next)
{
    for (bool whole = false; !whole;) {
        whole = true;
        for (unsigned b = 0; b <= mask; ++b) {
            for (int64_t i = next[b]; i < end[b]; ++i) {
                cs_record *place = &r[next[digit(r + i, w, shift, mask)]++], x = *place;
                __builtin_prefetch(place + 2, 1);
                *place = r[i];
                r[i] = x;
            }
            whole = whole && next[b] == end[b];
        }
    }
}

/* Counts the records by a digit; whether they all have the same. */
static bool count_digits(const cs_record *r, int64_t n, int w, int shift, unsigned mask,
                         int64_t *count)
{
    memset(count, 0, (mask + 1) * sizeof *count);
    for (int64_t i = 0; i < n; ++i) {
        ++count[digit(r + i, w, shift, mask)];
    }
    return count[digit(r, w, shift, mask)] == n;
}

/* Bits of the next digit. In a bucket that fits in the cache, enough that the next buckets have a
 * few records and no pass is spent on buckets of dozens; in a larger one, at most as many buckets
 * as the cache has lines to fill at once. */
static int digit_size(int64_t n)
{
    if (n > CACHED) {
        return 8;
    }
    int size = 61 - __builtin_clzll((uint64_t)n); /* four to eight records */
    return size < 4 ? 4 : size > DIGIT ? DIGIT : size;
}

/* Sorts records that agree in the bits before `known`. At most 64 * WORDS / 4 calls deep.
 * NOLINTNEXTLINE(misc-no-recursion) */
static cs_status sort_from(cs_record *r, int64_t n, int known, bool patient)
{
    if (n <= INSERTION) {
        insertion_sort(r, n);
        return CS_OK;
    }
    int64_t end[1 << DIGIT], next[1 << DIGIT];
    int wanted = digit_size(n), at = known;
    int size = wanted < 64 - at % 64 ? wanted : 64 - at % 64; /* digits lie within one word */
    unsigned mask = (1U << size) - 1;
    if (at < 64 * WORDS && count_digits(r, n, at / 64, 64 - size - at % 64, mask, end)) {
        at = first_difference(r, n, at);
        if (at < 64 * WORDS) {
            size = wanted < 64 - at % 64 ? wanted : 64 - at % 64;
            mask = (1U << size) - 1;
            (void)count_digits(r, n, at / 64, 64 - size - at % 64, mask, end);
        }
    }
    if (at == 64 * WORDS) {
        return CS_OK;
    }
    int64_t sum = 0;
    for (unsigned b = 0; b <= mask; ++b) {
        next[b] = sum;
        end[b] = sum += end[b];
    }
    permute(r, at / 64, 64 - size - at % 64, mask, end, next);
    cs_status status = n < CHECKED ? CS_OK : patient ? cs_interrupt_late() : cs_interrupt_check();
    for (unsigned b = 0; b <= mask && status == CS_OK; ++b) {
        int64_t begin = b > 0 ? end[b - 1] : 0;
        if (end[b] - begin > 1) {
            status = sort_from(r + begin, end[b] - begin, at + size, patient);
        }
    }
    return status;
}

cs_status cs_records_sort(cs_record *r, int64_t n, bool patient)
{
    return sort_from(r, n, 0, patient);
}

/* --- table ------------------------------------------------------------------------------------ */

cs_status cs_collector_init(cs_collector *c, cs_runs *runs, int64_t bytes)
{
    memset(c, 0, sizeof *c);
    c->runs = runs;
    const int64_t size = (int64_t)sizeof *c->slot, share = bytes / TABLE_SHARE / size;
    c->places = share < 64 ? 64 : share < TABLE ? share : TABLE;
    c->largest = bytes / size - c->places;
    c->largest = c->largest < 2 * c->places ? 2 * c->places : c->largest;
    c->capacity = c->largest < FIRST ? c->largest : FIRST;
    c->table = cs_calloc(c->places, sizeof *c->table);
    c->slot = cs_alloc(c->largest, sizeof *c->slot); /* untouched ones cost nothing */
    if (!c->table || !c->slot) {
        cs_collector_free(c);
        return CS_ERR_MEMORY;
    }
    cs_mem_large_pages(c->slot, c->largest * size);
    return CS_OK;
}

void cs_collector_free(cs_collector *c)
{
    CS_FREE_FIELDS(c, slot, table);
    memset(c, 0, sizeof *c);
}

static inline void insert(cs_collector *c, const cs_record *r)
{
    int64_t i = cs_collector_home(c, r) - c->table;
    while (c->table[i].units != 0) {
        if (cs_record_same(&c->table[i], r)) {
            cs_record_add(&c->table[i], r);
            return;
        }
        i = i + 1 < c->places ? i + 1 : 0;
    }
    c->table[i] = *r;
    ++c->held;
}

/* Whether nearly all that came was new: `kept` of `added` records, where there are enough to
 * decide. */
static bool mostly_new(int64_t kept, int64_t added)
{
    return kept >= LIKE_NEW && kept > added / 8 * 7;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* Sorts the slots and adds up what is equal. */
static cs_status sort_slots(cs_collector *c)
{
    cs_status status = cs_records_sort(c->slot, c->used, c->patient);
    if (status != CS_OK) return status;
    int64_t kept = 0;
    for (int64_t i = 0; i < c->used; ++i) {
        if (kept > 0 && cs_record_same(&c->slot[kept - 1], &c->slot[i])) {
            cs_record_add(&c->slot[kept - 1], &c->slot[i]);
        } else if (kept++ < i) {
            c->slot[kept - 1] = c->slot[i];
        }
    }
    c->used = kept;
    return CS_OK;
}

/* The slots are full: adding up may empty half of them, else more are used as long as there are
 * any, and then they are spilled. */
cs_status cs_collector_make_space(cs_collector *c)
{
    const int64_t before = c->used;
    const bool appended = c->append, more = c->capacity < c->largest;
    cs_status status = appended && more ? CS_OK : sort_slots(c);
    bool enough = !appended && c->used <= c->capacity / 2;
    if (status != CS_OK || enough || more) {
        c->added = c->passed = 0;
        if (!enough && more) {
            c->capacity = c->capacity < c->largest / GROWTH ? GROWTH * c->capacity : c->largest;
        }
        return status;
    }
    c->append = appended && mostly_new(c->used, before);
    c->repeats = c->repeats || (appended && !c->append);
    status = cs_runs_append(c->runs, c->slot, c->used);
    if (status == CS_OK) c->used = c->added = c->passed = 0;
    return status;
}

/* Moves the table to the slots. */
static cs_status flush(cs_collector *c)
{
    cs_status status = CS_OK;
    while (c->capacity - c->used < c->held && status == CS_OK) {
        status = cs_collector_make_space(c);
    }
    if (status != CS_OK) return status;
    const int64_t before = c->used;
    for (int64_t i = 0; i < c->places && c->held > 0; ++i) {
        if (c->table[i].units != 0) {
            c->slot[c->used++] = c->table[i];
            c->table[i].units = 0;
        }
    }
    c->held = 0; /* also where units have wrapped around to none */
    c->passed += c->used - before;
    c->append = c->append || (!c->repeats && mostly_new(c->passed, c->added));
    return CS_OK;
}

cs_status cs_collector_insert(cs_collector *c)
{
    cs_status status = CS_OK;
    for (int i = 0; i < c->count && status == CS_OK; ++i) {
        insert(c, &c->pending[i]);
        ++c->added;
        if (c->held >= c->places / 4 * 3) {
            status = flush(c);
        }
    }
    c->count = 0;
    return status;
}

cs_status cs_collector_gather(cs_collector *c)
{
    cs_status status = c->finished ? CS_OK : cs_collector_insert(c);
    return status == CS_OK && !c->finished ? flush(c) : status;
}

cs_status cs_collector_finish(cs_collector *c)
{
    cs_status status = cs_collector_gather(c);
    if (status == CS_OK && !c->finished) {
        status = sort_slots(c);
        c->finished = status == CS_OK;
    }
    return status;
}

void cs_collector_resume(cs_collector *c)
{
    c->finished = false;
}

void cs_collector_cut(cs_collector *c, cs_cut *out)
{
    int64_t next[CS_RANGES], end[CS_RANGES], sum = 0;
    memset(end, 0, sizeof end);
    for (int64_t i = 0; i < c->used; ++i) {
        ++end[cs_range_of(c->slot + i)];
    }
    for (int i = 0; i < CS_RANGES; ++i) {
        out->begin[i] = next[i] = sum;
        end[i] = sum += end[i];
    }
    out->begin[CS_RANGES] = sum;
    out->record = c->slot;
    permute(c->slot, 0, 64 - CS_RANGE_BITS, CS_RANGES - 1, end, next);
}
