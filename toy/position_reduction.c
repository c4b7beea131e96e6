/* Position reduction (theorem-4-2.md): the spectrum of the toy model for any r and T from one
 * matrix over positions.
 *
 * B has rows S, columns k and entries P(S, k) / sqrt(P(S) P(k)); per class Abar = D B D'^T with
 * orthonormal columns in D and D'. The classes are orthogonal except for an empty S that they
 * share: on the span of the classes' copies of one row (or column) the mean over classes sees the
 * whole of B, and the r - 1 directions orthogonal to it do not reach the shared row: sigma(B) once
 * and sigma(B without its empty row, not renormalised) r - 1 times.
 *
 * With the target position given, row (S, k) has one entry: the columns of B are orthogonal, of
 * norm 1, or sqrt(1 - P(empty, k) / P(k)) without the shared empty rows.
 *
 * Permutation-invariant objectives beyond small lengths: the Gram matrix of B commutes with all
 * permutations of the positions, so it is a I + b J with
 *     a + b = E_q[1/(s-m)],  b = E_q[(s-m-1) / ((s-m)(s-1))],
 * eigenvalues a + s b = 1 and, s-1 times, a = E_q[m / ((s-m)(s-1))]. The empty row is constant: it
 * takes q(0) off the first eigenvalue and nothing off the others. With listed sets too (a mixture)
 * the Gram matrix of all others is of this form less the listed ones' share, and its square root
 * represents them: s more rows of B. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/reduce.h"
#include "plan/count.h"
#include "plan/pairs.h"
#include "plan/sizes.h"
#include "toy/toy_spectrum_private.h"

enum { FIXED_ORDER_LIMIT = 2000, SMALL_SETS = 1 << 16, DENSE_LIMIT = 1 << 26 };

typedef struct {
    const cs_toy *toy;
    cs_toy_values values;
    bool formula;
    char source[sizeof((cs_toy_spectrum *)0)->source];
} reduction;

/* B before its scaling: P(S, k) by row and column. */
typedef struct {
    const cs_pairs *pairs;
    cs_pool pool;
    double *target, *empty; /* s: P(k) and P(empty, k) */
    int64_t rows, empty_row;
    double *mass; /* rows: P(S) */
    int64_t n;    /* entries; those of one place are added */
    int64_t *row, *col;
    double *p;
    int64_t *free; /* s: scratch for the positions outside a set */
} position_distribution;

static cs_status columns_of(const cs_pairs *pairs, position_distribution *b)
{
    *b = (position_distribution){.pairs = pairs, .empty_row = -1};
    CS_POOL_FIELDS(&b->pool, pairs->length, b, target, empty);
    if (b->pool.status != CS_OK) return b->pool.status;
    cs_pairs_targets(pairs, 1, b->target);
    for (int64_t k = 0; k < pairs->length && pairs->q; ++k) {
        b->empty[k] = pairs->q[0] / (double)pairs->length;
    }
    for (int64_t e = 0; e < pairs->events && cs_pairs_set_of(pairs, e).size == 0; ++e) {
        b->empty[pairs->target[e]] += pairs->weight[e];
    }
    return CS_OK;
}

static void put(position_distribution *b, int64_t row, int64_t col, double p)
{
    b->row[b->n] = row;
    b->col[b->n] = col;
    b->p[b->n++] = p;
    b->mass[row] += p;
}

/* Listed events, and P(empty, k), which may be listed, invariant or both, in a separate row. */
static void put_listed(position_distribution *b)
{
    const cs_pairs *pairs = b->pairs;
    for (int64_t e = 0; e < pairs->events; ++e) {
        if (pairs->set[e] != b->empty_row) {
            put(b, pairs->set[e], pairs->target[e], pairs->weight[e]);
        }
    }
    for (int64_t k = 0; k < pairs->length && b->empty_row >= 0; ++k) {
        put(b, b->empty_row, k, b->empty[k]);
    }
}

/* The weight of a set of m positions, m > 0, at each of its targets under the invariant part. */
static double of_each(const cs_pairs *pairs, int64_t m)
{
    double q = m > 0 ? pairs->q[m] : 0;
    return q > 0 ? q / cs_binomial(pairs->length, m) / (double)(pairs->length - m) : 0;
}

/* Fills b->free; returns their number. */
static int64_t outside(const position_distribution *b, cs_pairs_set set)
{
    const int32_t *member = cs_pairs_positions(b->pairs, set);
    int64_t n = 0;
    for (int64_t k = 0, inside = 0; k < b->pairs->length; ++k) {
        if (inside < set.size && member[inside] == k) {
            ++inside;
        } else {
            b->free[n++] = k;
        }
    }
    return n;
}

/* The invariant part. Its share of listed sets goes to their rows. The others have the Gram matrix,
 * sum over S of P(S, k) P(S, l) / P(S), of all sets less that of the listed ones; its square root
 * is s rows that stand for them. */
static cs_status put_invariant(position_distribution *b)
{
    const cs_pairs *pairs = b->pairs;
    int64_t s = pairs->length;
    double diagonal = 0, off_diagonal = 0, n = (double)s;
    CS_AUTO(cs_dense) gram = {0};
    double *value = cs_pool_take(&b->pool, s, sizeof *value);
    cs_status status = value ? cs_dense_init(&gram, s, s) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    for (int64_t m = 1; m < s; ++m) {
        double places = (double)(s - m);
        diagonal += pairs->q[m] / (n * places);
        off_diagonal += pairs->q[m] * (places - 1) / (n * (n - 1) * places);
    }
    for (int64_t k = 0; k < s * s; ++k) {
        gram.data[k] = k / s == k % s ? diagonal : off_diagonal;
    }
    for (int64_t i = 0; i < pairs->sets; ++i) {
        double each = of_each(pairs, pairs->conditioning[i].size);
        int64_t places = each > 0 ? outside(b, pairs->conditioning[i]) : 0;
        for (int64_t k = 0; k < places; ++k) {
            put(b, i, b->free[k], each);
            for (int64_t l = 0; l < places; ++l) {
                gram.data[b->free[k] + b->free[l] * gram.ld] -= each / (double)places;
            }
        }
    }
    /* Smaller values are rounding errors. */
    double floor = (diagonal + (n - 1) * off_diagonal) * n * DBL_EPSILON;
    status = cs_dense_eigh(&gram, value, false);
    for (int64_t j = 0; status == CS_OK && j < s; ++j) {
        for (int64_t k = 0; k < s && value[j] > floor; ++k) {
            put(b, b->rows - s + j, k, sqrt(value[j]) * gram.data[k + j * gram.ld]);
        }
        b->mass[b->rows - s + j] = 1;
    }
    return status;
}

static cs_status rows_of(position_distribution *b)
{
    const cs_pairs *pairs = b->pairs;
    int64_t s = pairs->length;
    bool empty_listed = pairs->sets > 0 && pairs->conditioning[0].size == 0;
    bool empty = empty_listed || (pairs->q && pairs->q[0] > 0);
    b->empty_row = !empty ? -1 : empty_listed ? 0 : pairs->sets;
    b->rows = pairs->sets + (empty && !empty_listed) + (pairs->q ? s : 0);
    if ((double)b->rows * (double)s > DENSE_LIMIT) {
        return cs_fail(CS_ERR_MEMORY,
                       "position matrix of %" PRId64 " sets x %" PRId64
                       " positions exceeds %d elements",
                       b->rows, s, DENSE_LIMIT);
    }
    int64_t capacity = pairs->events + s + (pairs->q ? b->rows * s : 0);
    b->mass = cs_pool_take(&b->pool, b->rows, sizeof *b->mass);
    CS_POOL_FIELDS(&b->pool, capacity, b, row, col, p);
    b->free = cs_pool_take(&b->pool, s, sizeof *b->free);
    if (b->pool.status != CS_OK) return b->pool.status;
    put_listed(b);
    return pairs->q ? put_invariant(b) : CS_OK;
}

/* B, or B without the empty row. Rows and columns that no event uses are empty. */
static cs_status position_matrix(const position_distribution *b, bool drop_empty, cs_csr *out)
{
    CS_AUTO_FREE double *val = cs_alloc(b->n, sizeof *val);
    if (!val) return CS_ERR_MEMORY;
    for (int64_t e = 0; e < b->n; ++e) {
        bool dropped = b->p[e] == 0 || (drop_empty && b->row[e] == b->empty_row);
        val[e] = dropped ? 0 : b->p[e] / sqrt(b->mass[b->row[e]] * b->target[b->col[e]]);
    }
    cs_status status =
        cs_csr_from_triplets(b->rows, b->pairs->length, b->n, b->row, b->col, val, out);
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
static cs_status add_svd(reduction *r, const position_distribution *distribution, bool drop_empty,
                         int64_t multiplicity)
{
    CS_AUTO(cs_csr) b = {0};
    CS_AUTO(cs_components) parts = {0};
    CS_AUTO_FREE int64_t *place = cs_alloc(distribution->pairs->length, sizeof *place);
    cs_status status = place ? position_matrix(distribution, drop_empty, &b) : CS_ERR_MEMORY;
    status = status == CS_OK ? cs_components_of(&b, &parts) : status;
    for (int64_t part = 0; status == CS_OK && part < parts.count; ++part) {
        CS_AUTO(cs_dense) dense = {0};
        status = gather(&b, &parts, part, place, &dense);
        if (status == CS_OK) status = cs_toy_values_add_svd(&r->values, &dense, multiplicity);
    }
    return status;
}

static cs_status reduce_explicit(reduction *r, const cs_pairs *pairs)
{
    position_distribution distribution;
    bool coupled = false;
    int64_t classes = r->toy->classes;
    cs_status status = columns_of(pairs, &distribution);
    if (status == CS_OK) status = rows_of(&distribution);
    if (status == CS_OK) {
        coupled = r->toy->objective.empty_prefix == CS_PREFIX_SHARED &&
                  distribution.empty_row >= 0 && distribution.mass[distribution.empty_row] > 0;
        status = add_svd(r, &distribution, false, coupled ? 1 : classes);
    }
    if (status == CS_OK && coupled && classes > 1)
        status = add_svd(r, &distribution, true, classes - 1);
    (void)snprintf(r->source, sizeof r->source,
                   "position reduction: dense SVD of the components of B, %" PRId64
                   " sets x %" PRId64 " positions%s%s",
                   distribution.rows, pairs->length,
                   pairs->q ? " (all unlisted sets by symmetry)" : "",
                   coupled ? ", with and without its empty row" : "");
    cs_pool_free(&distribution.pool);
    return status;
}

/* Sums over the distribution of |S|, without storing it: any length takes no memory. */
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
    position_distribution distribution;
    cs_status status = columns_of(pairs, &distribution);
    for (int64_t k = 0; status == CS_OK && k < pairs->length; ++k) {
        if (distribution.target[k] > 0) {
            cs_toy_values_add_ones(&r->values, r->toy,
                                   distribution.empty[k] / distribution.target[k], 1);
        }
    }
    cs_pool_free(&distribution.pool);
    return status;
}

/* Permutation-invariant distributions: explicit sets while they are few, by symmetry beyond. */
static cs_status reduce_any(reduction *r)
{
    const cs_toy *toy = r->toy;
    int64_t s = toy->length;
    bool invariant = cs_objective_shape(&toy->objective) == CS_PAIRS_INVARIANT;
    bool few = s < 16 && ((int64_t)1 << s) * s <= SMALL_SETS;
    CS_AUTO(cs_pairs) pairs = {0};
    cs_status status = CS_OK;
    if (invariant && (toy->given || !few)) {
        status = reduce_invariant(r);
    } else if ((status = cs_pairs_of(&toy->objective, s, &pairs)) == CS_OK) {
        if (few && !toy->given) status = cs_pairs_expand(&pairs, SMALL_SETS);
        if (status == CS_OK)
            status = toy->given ? reduce_given_explicit(r, &pairs) : reduce_explicit(r, &pairs);
    }
    if (status == CS_OK && toy->given) {
        r->formula = true;
        (void)snprintf(
            r->source, sizeof r->source,
            "position reduction, target given: orthogonal columns, sigma = column norms, "
            "s = %" PRId64,
            s);
    }
    return status;
}

static bool has_fixed_order(const cs_objective *o)
{
    cs_pairs_form shape = cs_objective_shape(o);
    return shape == CS_PAIRS_PREFIX || (shape != CS_PAIRS_INVARIANT && o->kind == CS_OBJ_MIX);
}

static cs_status reduce(const cs_toy *toy, cs_toy_spectrum *out)
{
    reduction r = {.toy = toy};
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK && toy->literal)
        status = cs_fail(
            CS_ERR_USAGE,
            "literal token sets couple the classes, but position reduction needs disjoint classes");
    if (status == CS_OK && has_fixed_order(&toy->objective) && toy->length > FIXED_ORDER_LIMIT)
        status = cs_fail(CS_ERR_USAGE, "length %" PRId64 " exceeds %d, the limit for a fixed order",
                         toy->length, FIXED_ORDER_LIMIT);
    status = status == CS_OK ? reduce_any(&r) : status;
    status = status == CS_OK ? cs_toy_values_group(&r.values, out) : status;
    if (status == CS_OK) {
        out->formula = r.formula;
        (void)snprintf(out->source, sizeof out->source, "%s", r.source);
    }
    cs_free(r.values.value);
    return status;
}

cs_status cs_toy_reduce(const cs_toy *toy, cs_toy_spectrum *out)
{
    return cs_toy_mixed_by(reduce, toy, out);
}

/* A target position that is known with probability theta, and the floor of sum sigma^2
 * (theorem-4-2.md).
 *
 * Known position. Given S the targets have p = P(. | S), and a named position t leaves p_t = theta
 * e_t + (1 - theta) p with probability p(t), so that E[p_t p_t^T | S] = theta^2 diag p + (1 -
 * theta^2) p p^T: the Gram form is theta^2 of the given one, the identity on the classes'
 * positions, and 1 - theta^2 of the blind one. */
enum { MOST_EVENTS = 1 << 20 };

static const double SAME = 1e-12;

/* Positions that are ever a target. */
static cs_status count_targets(const cs_toy *toy, int64_t *count)
{
    double rows, nnz, cols = 0;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    *count = (int64_t)(cols / ((double)toy->classes * (double)toy->tokens));
    return status;
}

cs_status cs_toy_mix_positions(const cs_toy *toy, const cs_toy_spectrum *blind,
                               cs_toy_spectrum *out)
{
    cs_toy_values values = {.residual = blind->residual};
    const double square = toy->position_known * toy->position_known;
    int64_t targets = 0;
    cs_status status = count_targets(toy, &targets);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < blind->values; ++i) {
        const double x = blind->sigma[i];
        cs_toy_values_add(&values, sqrt(square + (1 - square) * x * x), blind->multiplicity[i]);
    }
    cs_toy_values_add(&values, toy->position_known, toy->classes * targets - blind->rank);
    status = cs_toy_values_group(&values, out);
    if (status == CS_OK) {
        out->formula = blind->formula;
        (void)snprintf(out->source, sizeof out->source,
                       "%.100s; position known: 1 - (1 - theta^2)(1 - sigma^2)", blind->source);
    }
    cs_free(values.value);
    return status;
}

cs_status cs_toy_mixed_by(cs_status (*method)(const cs_toy *toy, cs_toy_spectrum *out),
                          const cs_toy *toy, cs_toy_spectrum *out)
{
    cs_toy plain = *toy;
    CS_AUTO(cs_toy_spectrum) blind = {0};
    cs_status status = cs_toy_check(toy);
    if (status != CS_OK) return status;
    if (!(toy->position_known > 0)) {
        return method(toy, out);
    }
    plain.position_known = 0;
    status = method(&plain, &blind);
    return status == CS_OK ? cs_toy_mix_positions(toy, &blind, out) : status;
}

/* --- the floor -------------------------------------------------------------------------------- */

/* Adds the events first..last-1 of one set. */
static void add_set(const cs_pairs *pairs, const double *target, int64_t first, int64_t last,
                    double *floor, bool *met)
{
    const cs_pairs_set set = cs_pairs_set_of(pairs, first);
    const int32_t *position = cs_pairs_positions(pairs, set);
    double inside = 0, weight = 0, outside = 0;
    for (int64_t i = 0; i < set.size; ++i) {
        inside += target[position[i]];
    }
    for (int64_t e = first; e < last; ++e) {
        weight += pairs->weight[e];
        outside += target[pairs->target[e]];
    }
    *floor += weight / (1 - inside);
    *met = *met && fabs(outside - (1 - inside)) <= SAME;
    for (int64_t e = first; e < last; ++e) {
        const double share = pairs->weight[e] / weight, of = target[pairs->target[e]];
        *met = *met && fabs(share * (1 - inside) - of) <= SAME;
    }
}

cs_status cs_toy_floor(const cs_toy *toy, double *floor, bool *met)
{
    CS_AUTO(cs_pairs) pairs = {0};
    const int64_t s = toy->length;
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK && toy->objective.empty_prefix != CS_PREFIX_NONE)
        status = cs_fail(CS_ERR_USAGE, "the lower bound on sum sigma^2 needs nonempty texts");
    if (status == CS_OK) status = cs_pairs_of(&toy->objective, s, &pairs);
    if (status == CS_OK && pairs.q && pairs.events > 0)
        status = cs_pairs_expand(&pairs, MOST_EVENTS);
    if (status != CS_OK) return status;
    CS_AUTO_FREE double *target = cs_alloc(s, sizeof *target);
    status = target ? CS_OK : CS_ERR_MEMORY;
    if (target) cs_pairs_targets(&pairs, 1, target);
    *floor = 0;
    *met = true;
    for (int64_t m = 0; m < s && pairs.q && target; ++m) { /* by symmetry */
        *floor += pairs.q[m] * (double)s / (double)(s - m);
    }
    for (int64_t e = 0, next; e < pairs.events && target; e = next) {
        for (next = e; next < pairs.events && pairs.set[next] == pairs.set[e]; ++next) {
        }
        add_set(&pairs, target, e, next, floor, met);
    }
    return status;
}
