/* Contexts of two documents as runs of patterns.
 *
 * A pattern is the eight counts that the folds have of one token in one context. There are few
 * different ones, most of a single fold and a small count, so that a number of four bytes stands for
 * 64, and the table of what is made of them stays in the cache. Found by hashing; those of one fold and
 * a small whole count by a table of their own.
 *
 * Counts of a context are gathered in a dense array of eight lanes a column, with a bit for each
 * column that is touched, by which it is read out in order.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/simd.h"
#include "base/threads.h"
#include "cooc/fold_runs_private.h"

enum { WORD = 64, CHECKED = 1 << 12, LEAST_SLOTS = 1 << 12 };

typedef struct {
    const cs_cooc *rows;
    const cs_context_index *index;
    const cs_fold_options *o;
    cs_fold_runs r;
    double in[CS_FOLDS][2 * CS_FOLDS];
    cs_pool pool;
    double *sum;                     /* cols x 8, zeros between contexts */
    uint64_t *bit;                   /* of the columns that are touched */
    int64_t first, last;             /* words of these */
    int32_t (*small)[CS_FOLD_SMALL]; /* by fold and count: 1 + the pattern; 0: none yet */
    int32_t *slot;                   /* the same by hash */
    int64_t slots;
} maker;

void cs_fold_membership(double in[CS_FOLDS][2 * CS_FOLDS])
{
    for (int i = 0; i < CS_FOLDS; ++i) {
        const unsigned half = cs_half_of_folds(i);
        for (int f = 0; f < CS_FOLDS; ++f) {
            in[f][i] = half >> f & 1;
            in[f][CS_FOLDS + i] = 1 - in[f][i];
        }
    }
}

static void list_free(cs_fold_list *l)
{
    CS_FREE_FIELDS(l, ptr, context, col, pattern);
}

void cs_fold_runs_free(cs_fold_runs *r)
{
    list_free(&r->contexts);
    list_free(&r->documents);
    CS_FREE_FIELDS(r, diagonal, weight, fold);
    *r = (cs_fold_runs){0};
}

/* --- patterns --------------------------------------------------------------------------------- */

static uint64_t hash_of(const double *fold)
{
    uint64_t part[CS_FOLDS], h = 0;
    memcpy(part, fold, sizeof part);
    for (int f = 0; f < CS_FOLDS; ++f) {
        h = (h ^ part[f]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static int64_t place_of(const maker *m, const double *fold)
{
    int64_t at = (int64_t)(hash_of(fold) & (uint64_t)(m->slots - 1));
    while (m->slot[at] != 0 && memcmp(m->r.fold + (int64_t)(m->slot[at] - 1) * CS_FOLDS, fold,
                                      CS_FOLDS * sizeof *fold) != 0) {
        at = (at + 1) & (m->slots - 1);
    }
    return at;
}

static cs_status grow(maker *m)
{
    const int64_t slots = m->slots > 0 ? 2 * m->slots : LEAST_SLOTS;
    int32_t *slot = cs_calloc(slots, sizeof *slot);
    if (!slot) return CS_ERR_MEMORY;
    cs_free(m->slot);
    m->slot = slot;
    m->slots = slots;
    for (int64_t p = 0; p < m->r.patterns; ++p) {
        slot[place_of(m, m->r.fold + p * CS_FOLDS)] = (int32_t)(p + 1);
    }
    return CS_OK;
}

static cs_status hashed(maker *m, const double *fold, int32_t *out)
{
    cs_status status = 2 * m->r.patterns >= m->slots ? grow(m) : CS_OK;
    if (status != CS_OK) return status;
    const int64_t at = place_of(m, fold);
    if (m->slot[at] == 0) {
        if (m->r.patterns == INT32_MAX)
            return cs_fail(CS_ERR_MEMORY, "more than 2^31 distinct counts of eight folds");
        status = cs_reserve(&m->r.fold, &m->r.pattern_capacity, (m->r.patterns + 1) * CS_FOLDS,
                            sizeof *m->r.fold);
        if (status != CS_OK) return status;
        memcpy(m->r.fold + m->r.patterns * CS_FOLDS, fold, CS_FOLDS * sizeof *fold);
        m->slot[at] = (int32_t)++m->r.patterns;
    }
    *out = m->slot[at] - 1;
    return CS_OK;
}

/* Of one fold alone. */
static cs_status pattern_of_one(maker *m, int fold, double count, int32_t *out)
{
    const int64_t whole = count < CS_FOLD_SMALL ? (int64_t)count : 0;
    const bool small = whole > 0 && (double)whole == count;
    if (small && m->small[fold][whole] != 0) {
        *out = m->small[fold][whole] - 1;
        return CS_OK;
    }
    double counts[CS_FOLDS] = {0};
    counts[fold] = count;
    cs_status status = hashed(m, counts, out);
    if (status == CS_OK && small) {
        m->small[fold][whole] = *out + 1;
    }
    return status;
}

static cs_status pattern_of(maker *m, const double *counts, int32_t *out)
{
    int folds = 0, fold = 0;
    for (int f = 0; f < CS_FOLDS; ++f) {
        folds += counts[f] > 0;
        fold = counts[f] > 0 ? f : fold;
    }
    return folds == 1 ? pattern_of_one(m, fold, counts[fold], out) : hashed(m, counts, out);
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Begins a run of at most `entries` entries, for which it makes space. */
static cs_status begin_run(cs_fold_list *l, int64_t context, int64_t entries)
{
    cs_status status = cs_reserve(&l->ptr, &l->run_capacity, l->runs + 2, sizeof *l->ptr);
    if (status == CS_OK)
        status = cs_reserve(&l->context, &l->context_capacity, l->runs + 1, sizeof *l->context);
    if (status == CS_OK)
        status = cs_reserve(&l->col, &l->col_capacity, l->entries + entries, sizeof *l->col);
    if (status == CS_OK)
        status =
            cs_reserve(&l->pattern, &l->pattern_capacity, l->entries + entries, sizeof *l->pattern);
    if (status != CS_OK) return status;
    l->ptr[l->runs] = l->entries;
    l->context[l->runs++] = context;
    return CS_OK;
}

static void end_list(cs_fold_list *l)
{
    if (l->runs > 0) {
        l->ptr[l->runs] = l->entries;
    }
}

static int fold_of(const maker *m, int64_t row)
{
    return m->o->part[m->index->document[row]];
}

/* A document's row: its pairs with itself, which are subtracted. */
static cs_status put_document(maker *m, int64_t row)
{
    const cs_csr *a = &m->rows->matrix.a;
    const int64_t begin = a->ptr[row], end = a->ptr[row + 1], context = m->r.count;
    const int fold = fold_of(m, row);
    if (end - begin == 1) {
        const double square = a->val[begin] * a->val[begin];
        cs_split_lanes *to =
            (cs_split_lanes *)(m->r.diagonal + (int64_t)a->col[begin] * 2 * CS_FOLDS);
        const cs_split_lanes *w = (const cs_split_lanes *)(m->r.weight + context * 2 * CS_FOLDS),
                             *in = (const cs_split_lanes *)m->in[fold];
        to[0] += square * w[0] * in[0];
        to[1] += square * w[1] * in[1];
        return CS_OK;
    }
    cs_fold_list *l = &m->r.documents;
    cs_status status = end > begin ? begin_run(l, context, end - begin) : CS_OK;
    for (int64_t e = begin; e < end && status == CS_OK; ++e) {
        l->col[l->entries] = a->col[e];
        status = pattern_of_one(m, fold, a->val[e], &l->pattern[l->entries++]);
    }
    return status;
}

static void gather(maker *m, int64_t row)
{
    const cs_csr *a = &m->rows->matrix.a;
    const int64_t begin = a->ptr[row], end = a->ptr[row + 1];
    const int fold = fold_of(m, row);
    if (begin == end) {
        return;
    }
    const int64_t first = a->col[begin] / WORD, last = a->col[end - 1] / WORD;
    m->first = first < m->first ? first : m->first; /* columns ascend */
    m->last = last > m->last ? last : m->last;
    for (int64_t e = begin; e < end; ++e) {
        const int64_t col = a->col[e];
        m->sum[col * CS_FOLDS + fold] += a->val[e];
        m->bit[col / WORD] |= UINT64_C(1) << col % WORD;
    }
}

/* Writes the gathered entries, at most `most`, as a run. */
static cs_status put_context(maker *m, int64_t most)
{
    cs_fold_list *l = &m->r.contexts;
    cs_status status = begin_run(l, m->r.count, most);
    for (int64_t w = m->first; w <= m->last && status == CS_OK; ++w) {
        for (uint64_t bits = m->bit[w]; bits && status == CS_OK; bits &= bits - 1) {
            const int64_t col = w * WORD + __builtin_ctzll(bits);
            double *counts = m->sum + col * CS_FOLDS;
            l->col[l->entries] = (int32_t)col;
            status = pattern_of(m, counts, &l->pattern[l->entries++]);
            memset(counts, 0, CS_FOLDS * sizeof *counts);
        }
        m->bit[w] = 0;
    }
    m->first = INT64_MAX;
    m->last = -1;
    return status;
}

/* The weights of a context, and whether it adds to any sum. Pairs are added up document by document: a
 * difference of squares would cancel where one holds nearly all. */
CS_CLONES static cs_status weigh(maker *m, int64_t first, int64_t end, bool *any)
{
    cs_split_lanes chosen[2] = {{0}, {0}}, pairs[2] = {{0}, {0}}, documents[2] = {{0}, {0}};
    const double least = m->o->least > 2 ? (double)m->o->least : 2;
    double all = 0;
    for (int64_t i = first; i < end; ++i) {
        const int fold = fold_of(m, i);
        if (fold == CS_LEFT_OUT) {
            continue;
        }
        const double mass = m->index->mass[i];
        const cs_split_lanes *in = (const cs_split_lanes *)m->in[fold];
        m->r.mass[fold] += mass;
        all += mass;
        for (int h = 0; h < 2; ++h) {
            const cs_split_lanes of_it = mass * in[h];
            pairs[h] += 2 * chosen[h] * of_it;
            chosen[h] += of_it;
            documents[h] += in[h];
        }
    }
    cs_status status = cs_reserve(&m->r.weight, &m->r.capacity, (m->r.count + 1) * 2 * CS_FOLDS,
                                  sizeof *m->r.weight);
    if (status != CS_OK) return status;
    double *weight = m->r.weight + m->r.count * 2 * CS_FOLDS;
    *any = m->o->quarters && documents[0][0] >= 2; /* lane 0: every document */
    for (int l = 0; l < 2 * CS_FOLDS; ++l) {
        const int h = l / CS_FOLDS, i = l % CS_FOLDS;
        const bool sees = i > 0 && documents[h][i] >= least;
        weight[l] = sees ? chosen[h][i] / pairs[h][i] : 0;
        m->r.held[l] += sees ? chosen[h][i] : 0;
        *any = *any || sees;
    }
    weight[0] = *any ? 1 / all : 0;
    return CS_OK;
}

static cs_status take_context(maker *m, int64_t first, int64_t end)
{
    bool any = false;
    int64_t entries = 0;
    cs_status status = weigh(m, first, end, &any);
    if (status != CS_OK || !any) return status;
    for (int64_t i = first; i < end && status == CS_OK; ++i) {
        if (fold_of(m, i) != CS_LEFT_OUT) {
            entries += m->rows->matrix.a.ptr[i + 1] - m->rows->matrix.a.ptr[i];
            gather(m, i);
            status = put_document(m, i);
        }
    }
    if (status == CS_OK) status = put_context(m, entries);
    m->r.count += 1;
    return status;
}

static cs_status take_all(maker *m)
{
    const cs_context_index *x = m->index;
    cs_status status = CS_OK;
    int64_t r = 0;
    for (int64_t c = 0; c <= x->shared && status == CS_OK; ++c) {
        const bool last = c == x->shared;
        for (const int64_t end = last ? m->rows->matrix.a.rows : x->first[c]; r < end; ++r) {
            const int fold = fold_of(m, r); /* alone in its context */
            if (fold != CS_LEFT_OUT) {
                m->r.mass[fold] += x->mass[r];
            }
        }
        if (!last) {
            status = take_context(m, r, x->end[c]);
            r = x->end[c];
        }
        if (status == CS_OK && c % CHECKED == 0) status = cs_interrupt_check();
    }
    end_list(&m->r.contexts);
    end_list(&m->r.documents);
    return status;
}

cs_status cs_fold_runs_of(const cs_cooc *rows, const cs_context_index *index,
                          const cs_fold_options *options, cs_fold_runs *out)
{
    const int64_t cols = rows->matrix.a.cols;
    maker m = {.rows = rows, .index = index, .o = options, .first = INT64_MAX, .last = -1};
    cs_fold_membership(m.in);
    m.sum = cs_pool_take(&m.pool, cols * CS_FOLDS, sizeof *m.sum);
    m.bit = cs_pool_take(&m.pool, cols / WORD + 1, sizeof *m.bit);
    m.small = cs_pool_take(&m.pool, CS_FOLDS, sizeof *m.small);
    m.r.diagonal = cs_calloc(cols * 2 * CS_FOLDS, sizeof *m.r.diagonal);
    cs_status status = m.r.diagonal ? m.pool.status : CS_ERR_MEMORY;
    if (status == CS_OK) status = take_all(&m);
    cs_free(m.slot);
    cs_pool_free(&m.pool);
    return CS_DELIVER(status, out, m.r, cs_fold_runs_free);
}
