/* The rows of one group: windows added into a dense accumulator, its entries, class masses and
 * witness taken out (windows_count.c).
 *
 * While an occurrence is added up, the cells of one AHEAD of it are fetched, and those of the first
 * ones of the next row, which costs bandwidth and not latency; the sums of a window do not wait for
 * one another, so what of the accumulator is not in the cache comes while others are added. A row
 * whose windows hold few cells compared with the vocabulary remembers the columns it touches.
 *
 * Groups of counted rows become the result: in the order of the groups, as soon as all before them
 * are there.
 *
 * Whoever has counted a group places it, and those that waited for it. The place of a group is
 * chosen under the lock; the copy is made outside, so that several are made at once, except while
 * the result grows: nothing is copied into it then. Nobody ever waits: what cannot be placed now is
 * placed by the one that it waits for. The buffers of placed groups are filled again by the next
 * ones, so that the result is the only large memory written for the first time.
 *
 * A counted row becomes columns in order and their values (windows_count.c).
 *
 * A row of few columns knows them, in the order they were met. They are ordered through a bitmap: a
 * bit a column in words of 64, and a byte a word that says whether it has any. Of a fuller row the
 * bits are found by comparing its units with 0, from end to end. Bits are written out several at a
 * time whether there are as many or not, and the list advances by as many as there were, for how
 * many bits a word has cannot be foretold, and a branch on it would be mistaken once a word
 * (Lemire's way to decode bitmaps); first two, for most words of a row of few columns have one. The
 * values come in a second pass, whose reads do not wait for one another.
 *
 * Cost of a row: O(touched + vocab / 64), or O(vocab). */
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdlib.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

/* The same bodies with the instructions that count and find bits, chosen when the program starts.
 * Off under sanitizers, whose run time is not ready when the choice is made. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BIT_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define BIT_CLONES
#endif

/* Writes base + i for each of the first `most` bits i of *bits, or something, and clears them. */
static inline void list_some(uint64_t *bits, int32_t base, int most, int32_t *out)
{
    const uint64_t last = UINT64_C(1) << 63; /* something to find where no bit is left */
    for (int j = 0; j < most; ++j) {
        out[j] = base + __builtin_ctzll(*bits | last);
        *bits &= *bits - 1;
    }
}

/* Writes base + i for each bit i, ascending; up to CS_WINDOW_SLACK - 1 more items are scribbled on.
 */
static inline int64_t list_bits(uint64_t bits, int32_t base, int32_t *out)
{
    int64_t count = __builtin_popcountll(bits);
    list_some(&bits, base, 2, out);
    for (int64_t i = 2; i < count; i += CS_WINDOW_SLACK) {
        list_some(&bits, base, CS_WINDOW_SLACK, out + i);
    }
    return count;
}

#ifdef __SSE2__ /* all of x86-64 */

/* Bit i is byte i, 0 or 1, of 64; the bytes become 0. */
static inline uint64_t take_bytes(uint8_t *byte)
{
    uint64_t mask = 0;
    for (int i = 0; i < 4; ++i) {
        __m128i *at = (__m128i *)byte + i, set = _mm_cmpgt_epi8(_mm_loadu_si128(at), (__m128i){0});
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(set) << 16 * i;
        _mm_storeu_si128(at, (__m128i){0});
    }
    return mask;
}

/* Of four units, 32 bits each: all of them where they are 0, none elsewhere. */
static inline __m128i zeros(const int64_t *units)
{
    const __m128 a = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)units));
    const __m128 b = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)units + 1));
    const __m128i low = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88));
    const __m128i high = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
    return _mm_cmpeq_epi32(_mm_or_si128(low, high), (__m128i){0});
}

/* Bit i: whether units[i] is not 0, of 64. */
static inline uint64_t find_units(const int64_t *units)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; i += 16) {
        const __m128i a = _mm_packs_epi32(zeros(units + i), zeros(units + i + 4));
        const __m128i b = _mm_packs_epi32(zeros(units + i + 8), zeros(units + i + 12));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << i;
    }
    return ~mask;
}

#else

static inline uint64_t take_bytes(uint8_t *byte)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) {
        mask |= (uint64_t)byte[i] << i;
    }
    memset(byte, 0, 64);
    return mask;
}

static inline uint64_t find_units(const int64_t *units)
{
    uint64_t mask = 0;
    for (int i = 0; i < 64; ++i) {
        mask |= (uint64_t)(units[i] != 0) << i;
    }
    return mask;
}

#endif

/* The values of the listed columns, which leave the row. */
static inline void take_values(int64_t *row, int64_t taken, double unit, const int32_t *col,
                               double *val)
{
    for (int64_t i = 0; unit == 0 && i < taken; ++i) {
        memcpy(&val[i], &row[col[i]], sizeof val[i]);
        row[col[i]] = 0;
    }
    /* gcc -O0 takes the annotation of a simple loop only. */
    const int64_t real = unit != 0 ? taken : 0;
#pragma GCC unroll 4
    for (int64_t i = 0; i < real; ++i) {
        val[i] = (double)row[col[i]] * unit;
        row[col[i]] = 0;
    }
}

BIT_CLONES int64_t cs_window_take_touched(cs_window_tally *y, int64_t vocab, int64_t touched,
                                          double unit, int32_t *col, double *val)
{
    uint64_t *bits = y->bits;
    int64_t words = 0, taken = 0;
    for (int64_t i = 0; i < touched; ++i) {
        uint32_t v = (uint32_t)y->touched[i];
        bits[v / 64] |= UINT64_C(1) << v % 64;
        y->used[v / 64] = 1;
    }
    for (int64_t w = 0; w < CS_WINDOW_WORDS(vocab); w += 64) {
        words += list_bits(take_bytes(y->used + w), (int32_t)w, y->word + words);
    }
    for (int64_t i = 0; i < words; ++i) {
        int32_t w = y->word[i];
        taken += list_bits(bits[w], w * 64, col + taken);
        bits[w] = 0;
    }
    take_values(y->row, taken, unit, col, val);
    return taken;
}

BIT_CLONES int64_t cs_window_take_all(cs_window_tally *y, int64_t vocab, double unit, int32_t *col,
                                      double *val)
{
    int64_t taken = 0;
    for (int64_t v = 0; v < vocab; v += 64) {
        taken += list_bits(find_units(y->row + v), (int32_t)v, col + taken);
    }
    take_values(y->row, taken, unit, col, val);
    return taken;
}

enum { BUCKETS = 256, SPARSE = 12, AHEAD = 16, CACHE_LINE = 64 };

double cs_window_row_bytes(const cs_windows_job *job)
{
    return (double)job->corpus->vocab * 40 * (job->workers + 1);
}

/* --- order and groups --- */

typedef struct {
    cs_hash128 key;
    int32_t token;
} keyed;

static int by_key(const void *x, const void *y)
{
    return cs_hash_compare(((const keyed *)x)->key, ((const keyed *)y)->key);
}

/* Tokens in buckets by the first byte of their keys. */
typedef struct {
    keyed *item;
    int64_t start[BUCKETS + 1];
} buckets;

static cs_status sort_bucket(void *ctx, int64_t item)
{
    buckets *b = ctx;
    qsort(b->item + b->start[item], (size_t)(b->start[item + 1] - b->start[item]), sizeof *b->item,
          by_key);
    return CS_OK;
}

cs_status cs_window_order_rows(cs_window_counter *c)
{
    const bool gram = c->job->plan->kind->gram;
    buckets b = {.item = cs_pool_take(&c->pool, c->vocab, sizeof *b.item)};
    int64_t next[BUCKETS] = {0};
    CS_POOL_FIELDS(&c->pool, c->vocab, c, by_key, key);
    if (c->pool.status != CS_OK) return c->pool.status;
    for (int64_t v = 0; v < c->vocab; ++v) {
        c->key[v] = gram ? cs_key_in_order(v, c->vocab) : cs_key_of(CS_KEY_ITEM, 0, v);
        ++next[c->key[v].high >> 56];
    }
    for (int k = 0; k < BUCKETS; ++k) {
        b.start[k + 1] = b.start[k] + next[k];
        next[k] = b.start[k];
    }
    for (int64_t v = 0; v < c->vocab; ++v) {
        b.item[next[c->key[v].high >> 56]++] = (keyed){c->key[v], (int32_t)v};
    }
    cs_status status = cs_parallel(BUCKETS, c->job->workers, sort_bucket, &b);
    for (int64_t r = 0; r < c->vocab; ++r) {
        c->by_key[r] = b.item[r].token;
    }
    return status;
}

cs_status cs_window_group_rows(cs_window_counter *c)
{
    c->group = cs_pool_take(&c->pool, CS_WINDOW_GROUPS + 1, sizeof *c->group);
    CS_POOL_FIELDS(&c->pool, CS_WINDOW_GROUPS, c, part, spare);
    if (c->pool.status != CS_OK) return c->pool.status;
    int64_t group = 0, held = 0, all = c->ptr[c->vocab];
    c->group[0] = 0;
    for (int64_t r = 0; r < c->vocab; ++r) {
        held += c->ptr[c->by_key[r] + 1] - c->ptr[c->by_key[r]];
        while (group + 1 < CS_WINDOW_GROUPS &&
               (double)held * CS_WINDOW_GROUPS >= (double)all * (double)(group + 1)) {
            c->group[++group] = r + 1;
        }
    }
    while (group < CS_WINDOW_GROUPS) {
        c->group[++group] = c->vocab;
    }
    c->groups = CS_WINDOW_GROUPS;
    return CS_OK;
}

/* --- placing --- */

cs_status cs_window_part_begin(cs_window_counter *c, int64_t group, int64_t rows)
{
    cs_assembler **p = &c->part[group].rows;
    (void)pthread_mutex_lock(&c->lock);
    if (c->spares > 0) {
        *p = c->spare[--c->spares];
    }
    (void)pthread_mutex_unlock(&c->lock);
    cs_status status = *p ? CS_OK : cs_assembler_part(c->assembler, true, p);
    return status == CS_OK && (*p)->key_capacity < rows ? cs_assembler_reserve_keys(*p, rows)
                                                        : status;
}

/* Makes space for the part and, so that the result seldom moves, for the entries that all groups
 * will have if the others are like those already counted. */
static cs_status make_space(const cs_window_counter *c, const cs_assembler_size *part)
{
    const double placed = (double)(c->assembler->matrix.nnz + part->entries);
    const double all = (double)c->counted_entries * (double)c->groups / (double)c->counted;
    return cs_assembler_reserve(c->assembler, part, placed > 0 ? placed / all : 1);
}

cs_status cs_window_part_place(cs_window_counter *c, int64_t group)
{
    cs_status status = CS_OK;
    (void)pthread_mutex_lock(&c->lock);
    c->part[group].counted = true;
    ++c->counted;
    c->counted_entries += c->part[group].rows->matrix.nnz;
    while (c->placed < c->groups && c->part[c->placed].counted) {
        cs_window_part *p = &c->part[c->placed];
        const cs_assembler_size size = cs_assembler_size_of(p->rows);
        const bool visits = c->job->take != NULL;
        if (visits ? c->copying > 0 : !cs_assembler_fits(c->assembler, &size)) {
            if (c->copying > 0) {
                break; /* the last worker to finish its copy continues */
            }
            status = make_space(c, &size);
            if (status != CS_OK) break;
        }
        cs_assembler_size at = {0};
        if (!visits) at = cs_assembler_give(c->assembler, &size);
        ++c->placed;
        ++c->copying;
        (void)pthread_mutex_unlock(&c->lock);
        if (visits) {
            status =
                cs_assembler_visit(p->rows, c->job->sequences->first, c->job->take, c->job->to);
        } else {
            cs_assembler_copy(c->assembler, &at, p->rows);
        }
        (void)pthread_mutex_lock(&c->lock);
        --c->copying;
        cs_assembler_clear(p->rows);
        c->spare[c->spares++] = p->rows;
        *p = (cs_window_part){0};
        if (status != CS_OK) break;
    }
    (void)pthread_mutex_unlock(&c->lock);
    return status;
}

/* --- counting --- */

/* A function that does nothing but prefetch counts as one without effect, and gcc 12 drops calls of
 * it that it has not inlined first. */
#define CS_FETCHES static inline __attribute__((always_inline)) void

CS_FETCHES fetch(const cs_window_counter *c, int64_t before, cs_window_place at)
{
    const char *from = (const char *)(c->token + at.cell - before);
    const char *to = (const char *)(c->token + at.cell + c->width);
    for (; from < to; from += CACHE_LINE) {
        __builtin_prefetch(from);
    }
    __builtin_prefetch(to);
    __builtin_prefetch(c->span + at.sequence);
}

/* The first occurrences of a token whose row comes soon. */
CS_FETCHES fetch_row(const cs_window_counter *c, int64_t before, int32_t token)
{
    int64_t from = c->ptr[token], last = c->ptr[token + 1];
    for (int64_t o = from; o < last && o < from + AHEAD; ++o) {
        fetch(c, before, c->at[o]);
    }
}

/* Adds the same units for each of `count` tokens into `row`. */
static inline void add_units(const int32_t *token, int64_t count, int64_t units, int64_t *row)
{
    for (int64_t i = 0; i < count; ++i) {
        row[token[i]] += units;
    }
}

/* The same, noting behind touched[0..noted-1] the columns met for the first time; returns how many
 * are noted. */
static inline int64_t note(const int32_t *token, int64_t count, int64_t units, int64_t *row,
                           int32_t *touched, int64_t noted)
{
    for (int64_t i = 0; i < count; ++i) {
        int32_t v = token[i];
        int64_t sum = row[v];
        touched[noted] = v;
        noted += sum == 0;
        row[v] = sum + units;
    }
    return noted;
}

/* The same with the units of each cell; some units may be 0: near the ends of a sequence. Adds them
 * to *sum. */
static int64_t note_cells(const int32_t *token, const int64_t *units, int64_t count, int64_t *sum,
                          cs_window_tally *y, int64_t noted)
{
    for (int64_t i = 0; i < count; ++i) {
        int32_t v = token[i];
        y->touched[noted] = v;
        noted += (y->row[v] == 0) & (units[i] != 0);
        y->row[v] += units[i];
        *sum += units[i];
    }
    return noted;
}

static void add_cells(const int32_t *token, const int64_t *units, int64_t count, int64_t *sum,
                      int64_t *row)
{
    for (int64_t i = 0; i < count; ++i) {
        row[token[i]] += units[i];
        *sum += units[i];
    }
}

/* The same where pairs count, with the units of each distance; `step` is -1 to the left and 1 to the
 * right. All columns are noted. */
static int64_t note_pairs(const int32_t *here, int64_t step, const int64_t *units, int64_t count,
                          int64_t *sum, cs_window_tally *y, int64_t noted)
{
    for (int64_t d = 1; d <= count; ++d) {
        int32_t v = here[step * d];
        y->touched[noted] = v;
        noted += (y->row[v] == 0) & (units[d] != 0);
        y->row[v] += units[d];
        *sum += units[d];
    }
    return noted;
}

/* The same with subsampling: `own` is the probability that the token of the row is kept. */
static int64_t note_kept(const int32_t *here, int64_t step, const cs_window_length *l,
                         const double *keep, double own, int64_t count, int64_t *sum,
                         cs_window_tally *y, int64_t noted)
{
    for (int64_t d = 1; d <= count; ++d) {
        int32_t v = here[step * d];
        const int64_t units = cs_window_kept(l, d, keep[v] * own);
        y->touched[noted] = v;
        noted += y->row[v] == 0;
        y->row[v] += units;
        *sum += units;
    }
    return noted;
}

/* Adds the windows of one token's occurrences into y->row, their classes into in_row; returns how many
 * columns were touched when `sparse`. */
static int64_t add_windows(const cs_window_counter *c, cs_window_tally *y, int32_t token,
                           bool sparse, int64_t *in_row)
{
    const int64_t width = c->width, before = c->left ? width : 0, last = c->ptr[token + 1];
    int64_t *row = y->row, touched = 0;
    for (int64_t o = c->ptr[token]; o < last; ++o) {
        if (o + AHEAD < last) {
            fetch(c, before, c->at[o + AHEAD]);
        }
        const int64_t q = c->at[o].cell;
        const cs_window_span *s = c->span + c->at[o].sequence;
        const int32_t *here = c->token + q;
        int64_t sum = 0;
        if (c->pairs) {
            const int64_t at = q - s->first, left = cs_least(at, before);
            const int64_t length = c->job->sequences->length[c->at[o].sequence];
            const int64_t right = cs_least(length - 1 - at, width);
            if (c->job->keep) {
                const cs_window_length *l = cs_window_length_of(c, c->at[o].sequence);
                const double *keep = c->job->keep, own = keep[token];
                touched = note_kept(here, -1, l, keep, own, left, &sum, y, touched);
                touched = note_kept(here, 1, l, keep, own, right, &sum, y, touched);
                y->units += sum;
            } else {
                touched = note_pairs(here, -1, s->cells, left, &sum, y, touched);
                touched = note_pairs(here, 1, s->cells, right, &sum, y, touched);
            }
        } else if (q >= s->from && q < s->to) {
            if (sparse) {
                touched = note(here - before, before, s->units, row, y->touched, touched);
                touched = note(here + 1, width, s->units, row, y->touched, touched);
            } else {
                add_units(here - before, before, s->units, row);
                add_units(here + 1, width, s->units, row);
            }
            sum = s->units * (before + width);
        } else {
            const int64_t *units = s->cells + (q - s->first);
            if (sparse) {
                touched = note_cells(here - before, units - before, before, &sum, y, touched);
                touched = note_cells(here + 1, units + 1, width, &sum, y, touched);
            } else {
                add_cells(here - before, units - before, before, &sum, row);
                add_cells(here + 1, units + 1, width, &sum, row);
            }
        }
        if (s->label >= 0 && s->label < c->labels) {
            in_row[s->label] += sum;
        }
    }
    return touched;
}

static int64_t take_row(const cs_window_counter *c, cs_window_tally *y, bool sparse,
                        int64_t touched, double unit, int32_t *col, double *val)
{
    return sparse ? cs_window_take_touched(y, c->vocab, touched, unit, col, val)
                  : cs_window_take_all(y, c->vocab, unit, col, val);
}

cs_status cs_window_put_row(const cs_window_counter *c, cs_window_tally *y, cs_assembler *p,
                            bool sparse, int64_t touched)
{
    const double unit = p->raw ? 0 : cs_assembler_mass(p, 1);
    cs_growing *m = &p->matrix;
    if (p->packs) {
        const int64_t count = take_row(c, y, sparse, touched, unit, y->col, y->val);
        return count > 0 ? cs_assembler_pack(p, count, y->col, y->val) : CS_OK;
    }
    cs_status status = cs_growing_reserve(m, (sparse ? touched : c->vocab) + CS_WINDOW_SLACK);
    if (status == CS_OK)
        m->nnz += take_row(c, y, sparse, touched, unit, m->col + m->nnz, m->val + m->nnz);
    return status;
}

/* Lowest ordinal of the contributions that an occurrence gives to its row, -1 if none:
 * its first target with units. */
static int64_t first_ordinal(const cs_window_counter *c, cs_window_place at)
{
    const int64_t *units = c->span[at.sequence].cells;
    int64_t s = c->job->sequences->length[at.sequence], w = c->width;
    int64_t p = (int64_t)at.cell - c->span[at.sequence].first;
    const cs_context_table *t = cs_context_table_of(c->job->plan, s);
    int64_t skipped = c->left ? 0 : t->pairs.target[0]; /* outer item of target k: k - skipped */
    int64_t k = c->left && p > w ? p - w : 0;
    for (k = c->left ? k : p + 1; k < s && k <= p + w; ++k) {
        if (k != p && units[c->pairs ? llabs(k - p) : k] > 0) {
            int64_t from = k > w ? k - w : 0;
            return (k - skipped) * t->inner + (p - from) - (p > k);
        }
    }
    return -1;
}

static void find_witness(const cs_window_counter *c, int32_t token, int64_t *sequence,
                         int64_t *ordinal)
{
    *ordinal = -1;
    for (int64_t o = c->ptr[token]; o < c->ptr[token + 1]; ++o) {
        if (*ordinal >= 0 && c->at[o].sequence != *sequence) {
            return;
        }
        int64_t found = first_ordinal(c, c->at[o]);
        if (found >= 0 && (*ordinal < 0 || found < *ordinal)) {
            *sequence = c->at[o].sequence;
            *ordinal = found;
        }
    }
}

static cs_status end_row(const cs_window_counter *c, cs_assembler *p, int32_t token)
{
    int64_t row = p->matrix.rows;
    p->key[row] = c->key[token];
    find_witness(c, token, &p->witness_sequence[row], &p->witness_ordinal[row]);
    return cs_assembler_end_row(p);
}

cs_status cs_window_group(void *counter, int64_t item, int worker)
{
    cs_window_counter *c = counter;
    cs_window_tally *y = &c->tally[worker];
    const int64_t end = c->group[item + 1], before = c->left ? c->width : 0;
    cs_status status = cs_window_part_begin(c, item, end - c->group[item]);
    cs_assembler *p = c->part[item].rows;
    for (int64_t r = c->group[item]; r < end && status == CS_OK; ++r) {
        int32_t token = c->by_key[r];
        if (r + 2 < end) {
            __builtin_prefetch(c->at + c->ptr[c->by_key[r + 2]]);
        }
        if (r + 1 < end) {
            fetch_row(c, before, c->by_key[r + 1]);
        }
        int64_t held = p->matrix.nnz, reach = before + c->width;
        bool sparse = (c->ptr[token + 1] - c->ptr[token]) * reach < c->vocab / SPARSE;
        int64_t touched = add_windows(c, y, token, sparse, p->in_row);
        status = cs_window_put_row(c, y, p, sparse, touched);
        if (status == CS_OK && p->matrix.nnz > held) status = end_row(c, p, token);
    }
    return status == CS_OK ? cs_window_part_place(c, item) : status;
}
