/* Position reduction (theory.md 5): the spectrum of the toy model for any r and T from one matrix
 * over positions.
 *
 * B has rows S, columns k and entries P(S, k) / sqrt(P(S) P(k)); per class Abar = D B D'^T with
 * orthonormal columns in D and D'. The classes are orthogonal but for an empty S they share: on the
 * span of the classes' copies of one row (or column) the mean over classes sees the whole of B, and
 * the r - 1 directions orthogonal to it do not reach the shared row: sigma(B) once and sigma(B
 * without its empty row, not renormalised) r - 1 times.
 *
 * With the target position given, row (S, k) has one entry: the columns of B are orthogonal, of
 * norm 1, or sqrt(1 - P(empty, k) / P(k)) without the shared empty rows.
 *
 * Permutation-invariant objectives beyond small lengths: the Gram matrix of B commutes with all
 * permutations of the positions, so it is a I + b J with
 *     a + b = E_q[1/(s-m)],  b = E_q[(s-m-1) / ((s-m)(s-1))],
 * eigenvalues a + s b = 1 and, s-1 times, a = E_q[m / ((s-m)(s-1))]. The empty row is constant: it
 * takes q(0) off the first eigenvalue and nothing off the others.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/reduce.h"
#include "plan/pairs.h"
#include "plan/sizes.h"
#include "toy/spectrum_private.h"

enum { FIXED_ORDER_LIMIT = 2000, SMALL_SETS = 1 << 16, DENSE_LIMIT = 1 << 26 };

typedef struct {
    const cs_toy *toy;
    cs_toy_values values;
    bool formula;
    char source[sizeof((cs_toy_spectrum *)0)->source];
} reduction;

static bool is_empty(const cs_pairs *pairs, int64_t set)
{
    return pairs->form == CS_PAIRS_PREFIX ? set == 0
                                          : pairs->set_ptr[set] == pairs->set_ptr[set + 1];
}

/* Marginals of explicit pairs: P(S) by the set's number, P(k), and P(empty, k). */
typedef struct {
    cs_pool pool;
    double *set, *target, *empty;
    int64_t sets;
} marginals;

static cs_status sum_marginals(const cs_pairs *pairs, marginals *m)
{
    m->sets = pairs->form == CS_PAIRS_PREFIX ? pairs->length : pairs->sets;
    m->set = cs_pool_take(&m->pool, m->sets, sizeof *m->set);
    m->target = cs_pool_take(&m->pool, pairs->length, sizeof *m->target);
    m->empty = cs_pool_take(&m->pool, pairs->length, sizeof *m->empty);
    if (!m->empty) return CS_ERR_MEMORY;
    for (int64_t e = 0; e < pairs->events; ++e) {
        m->set[pairs->set[e]] += pairs->weight[e];
        m->target[pairs->target[e]] += pairs->weight[e];
        if (is_empty(pairs, pairs->set[e])) {
            m->empty[pairs->target[e]] += pairs->weight[e];
        }
    }
    return CS_OK;
}

/* B, or B without the empty row. Rows and columns that no event uses are empty. */
static cs_status position_matrix(const cs_pairs *pairs, const marginals *m, bool drop_empty,
                                 cs_csr *b)
{
    cs_pool pool = {0};
    int64_t *col = cs_pool_take(&pool, pairs->events, sizeof *col);
    double *val = cs_pool_take(&pool, pairs->events, sizeof *val);
    cs_status status = pool.status;
    for (int64_t e = 0; status == CS_OK && e < pairs->events; ++e) {
        int64_t set = pairs->set[e], k = pairs->target[e];
        bool dropped = drop_empty && is_empty(pairs, set);
        col[e] = k;
        val[e] = dropped ? 0 : pairs->weight[e] / sqrt(m->set[set] * m->target[k]);
    }
    if (status == CS_OK)
        status =
            cs_csr_from_triplets(m->sets, pairs->length, pairs->events, pairs->set, col, val, b);
    cs_pool_free(&pool);
    return status;
}

/* One connected component of B as a dense matrix; `place` is scratch for its columns' places. */
static cs_status gather(const cs_csr *b, const cs_components *parts, int64_t part, int64_t *place,
                        cs_dense *out)
{
    cs_status status = cs_dense_init(out, parts->rows[part], parts->cols[part]);
    for (int64_t k = 0, cols = 0; status == CS_OK && k < b->cols; ++k) {
        place[k] = parts->col[k] == part ? cols++ : -1;
    }
    for (int64_t i = 0, row = 0; status == CS_OK && i < b->rows; ++i) {
        for (int64_t e = b->ptr[i]; parts->row[i] == part && e < b->ptr[i + 1]; ++e) {
            out->data[row + place[b->col[e]] * out->ld] = b->val[e];
        }
        row += parts->row[i] == part;
    }
    return status;
}

/* Adds sigma of B, each `multiplicity` times. The SVD is the union over connected components, so
 * that ar, a permutation of positions, costs nothing. */
static cs_status add_svd(reduction *r, const cs_pairs *pairs, const marginals *m, bool drop_empty,
                         int64_t multiplicity)
{
    cs_csr b = {0};
    cs_components parts = {0};
    int64_t *place = cs_alloc(pairs->length, sizeof *place);
    cs_status status = place ? position_matrix(pairs, m, drop_empty, &b) : CS_ERR_MEMORY;
    status = status == CS_OK ? cs_components_of(&b, &parts) : status;
    for (int64_t part = 0; status == CS_OK && part < parts.count; ++part) {
        cs_dense dense = {0};
        status = gather(&b, &parts, part, place, &dense);
        if (status == CS_OK) status = cs_toy_values_add_svd(&r->values, &dense, multiplicity);
        cs_dense_free(&dense);
    }
    cs_free(place);
    cs_components_free(&parts);
    cs_csr_free(&b);
    return status;
}

static cs_status reduce_explicit(reduction *r, const cs_pairs *pairs)
{
    marginals m = {0};
    bool coupled = false, shared = r->toy->objective.empty_prefix == CS_PREFIX_SHARED;
    for (int64_t e = 0; shared && e < pairs->events; ++e) {
        coupled = coupled || is_empty(pairs, pairs->set[e]);
    }
    int64_t classes = r->toy->classes;
    cs_status status = sum_marginals(pairs, &m);
    if (status == CS_OK && (double)m.sets * (double)pairs->length > DENSE_LIMIT)
        status = cs_fail(CS_ERR_MEMORY,
                         "position matrix of %" PRId64 " sets x %" PRId64
                         " positions exceeds %d elements",
                         m.sets, pairs->length, DENSE_LIMIT);
    if (status == CS_OK) status = add_svd(r, pairs, &m, false, coupled ? 1 : classes);
    if (status == CS_OK && coupled && classes > 1)
        status = add_svd(r, pairs, &m, true, classes - 1);
    (void)snprintf(r->source, sizeof r->source,
                   "position reduction: dense SVD of the components of B, %" PRId64
                   " sets x %" PRId64 " positions%s",
                   m.sets, pairs->length, coupled ? ", with and without its empty row" : "");
    cs_pool_free(&m.pool);
    return status;
}

/* Sums over the law of |S|, without storing it: any length takes no memory. */
typedef struct {
    int64_t s;
    long double all, empty, lambda; /* sums of c(m), c(0), c(m) m / (s-m) */
    cs_status status;
} size_moments;

static bool add_moments(void *ctx, int64_t m, long double c)
{
    enum { POLL = (1 << 22) - 1 };
    size_moments *sum = ctx;
    sum->all += c;
    sum->empty += m == 0 ? c : 0;
    sum->lambda += c * (long double)m / (long double)(sum->s - m);
    sum->status = (m & POLL) == POLL ? cs_interrupt_check() : CS_OK;
    return sum->status == CS_OK;
}

static cs_status moments_of(const cs_toy *toy, double *empty, long double *lambda)
{
    size_moments sum = {.s = toy->length};
    cs_status status = cs_sizes_visit(&toy->objective, toy->length, add_moments, &sum, NULL);
    *empty = (double)(sum.empty / sum.all);
    *lambda = toy->length > 1 ? sum.lambda / sum.all / (long double)(toy->length - 1) : 0;
    return status == CS_OK ? sum.status : status;
}

static cs_status reduce_invariant(reduction *r)
{
    const cs_toy *toy = r->toy;
    double empty = 0;
    long double lambda = 0;
    cs_status status = moments_of(toy, &empty, &lambda);
    if (status != CS_OK) return status;
    cs_toy_values_add_ones(&r->values, toy, empty, toy->given ? toy->length : 1);
    if (!toy->given) {
        cs_toy_values_add(&r->values, (double)sqrtl(lambda), toy->classes * (toy->length - 1));
        r->formula = true;
        (void)snprintf(r->source, sizeof r->source,
                       "position reduction: Gram matrix a I + b J by symmetry, s = %" PRId64,
                       toy->length);
    }
    return CS_OK;
}

/* Squared norms of the columns without the shared empty rows: 1 - P(empty, k) / P(k). */
static cs_status reduce_given_explicit(reduction *r, const cs_pairs *pairs)
{
    marginals m = {0};
    cs_status status = sum_marginals(pairs, &m);
    for (int64_t k = 0; status == CS_OK && k < pairs->length; ++k) {
        if (m.target[k] > 0) {
            cs_toy_values_add_ones(&r->values, r->toy, m.empty[k] / m.target[k], 1);
        }
    }
    cs_pool_free(&m.pool);
    return status;
}

/* Invariant objectives: explicit sets while they are few, by symmetry beyond. */
static cs_status reduce_any(reduction *r)
{
    const cs_toy *toy = r->toy;
    int64_t s = toy->length;
    bool invariant = cs_objective_shape(&toy->objective) == CS_PAIRS_INVARIANT;
    bool few = s < 16 && ((int64_t)1 << s) * s <= SMALL_SETS;
    cs_pairs pairs = {0}, sets = {0};
    cs_status status = CS_OK;
    if (invariant && (toy->given || !few)) {
        status = reduce_invariant(r);
    } else if ((status = cs_pairs_of(&toy->objective, s, &pairs)) == CS_OK) {
        if (invariant) status = cs_pairs_expand(&pairs, SMALL_SETS, &sets);
        if (status == CS_OK) {
            status = toy->given ? reduce_given_explicit(r, &pairs)
                                : reduce_explicit(r, invariant ? &sets : &pairs);
        }
    }
    if (status == CS_OK && toy->given) {
        r->formula = true;
        (void)snprintf(
            r->source, sizeof r->source,
            "position reduction, target given: orthogonal columns, sigma = column norms, "
            "s = %" PRId64,
            s);
    }
    cs_pairs_free(&sets);
    cs_pairs_free(&pairs);
    return status;
}

cs_status cs_toy_reduce(const cs_toy *toy, cs_toy_spectrum *out)
{
    reduction r = {.toy = toy};
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK && toy->literal)
        status = cs_fail(CS_ERR_USAGE, "literal token sets couple the classes: position reduction "
                                       "needs disjoint ones");
    if (status == CS_OK && cs_objective_shape(&toy->objective) == CS_PAIRS_PREFIX &&
        toy->length > FIXED_ORDER_LIMIT) {
        status = cs_fail(CS_ERR_USAGE, "length %" PRId64 " exceeds %d for a fixed order",
                         toy->length, FIXED_ORDER_LIMIT);
    }
    status = status == CS_OK ? reduce_any(&r) : status;
    status = status == CS_OK ? cs_toy_values_group(&r.values, out) : status;
    if (status == CS_OK) {
        out->formula = r.formula;
        (void)snprintf(out->source, sizeof out->source, "%s", r.source);
    }
    cs_free(r.values.value);
    return status;
}
