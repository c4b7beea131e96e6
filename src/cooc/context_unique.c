/* Context `unique`: every context is a separate row, and no row is made (refinement-and-kernel.md).
 *
 * With the position kernel R of an objective (plan/kernel.h), and every pair of a sequence and a
 * conditioning set a different context, the Gram form of the matrix is a sum over pairs of
 * positions of a sequence, row token x_k, column token x_l:
 *
 *     C(u, v) = sum over sequences, k, l of R_kl [x_k = u, x_l = v];
 *
 * `given`: of the diagonal of R's row sums in place of R. Windows that overlap are counted as one
 * run of the document: a pair of positions of the run at distance e adds R_{k, k+e} once for each
 * window that holds both, which are entries k, k - stride, ... of a diagonal of R, so a difference
 * of two of its prefix sums. That takes the tokens times twice the reach of R, not the windows
 * times its entries.
 *
 * Prefix sums carry what rounding took (Neumaier), so that a small entry is not lost in a
 * difference of large ones. Memory: 8 bytes times length times (reach + 1) for each length, twice
 * that of windows that overlap; none where R has one number on the diagonal and one off it. */
#include "base/mem.h"
#include "cooc/compensated_private.h"
#include "cooc/context_private.h"
#include "plan/kernel.h"

/* Windows of a shorter length than the others are counted one by one. */
static int64_t stride_of(const cs_context_plan *plan, const cs_context_table *t)
{
    return t->pairs.length == plan->window ? plan->stride : INT64_MAX;
}

double cs_context_pair_weight(const cs_context_plan *plan, const cs_context_table *t,
                              int64_t windows, int64_t p, int64_t q)
{
    const int64_t s = t->pairs.length, stride = stride_of(plan, t);
    const int64_t first = p < q ? p : q, e = p < q ? q - p : p - q, over = first + e - s + 1;
    const int64_t last = first / stride < windows ? first / stride : windows - 1;
    const int64_t earliest = over > 0 ? (over - 1) / stride + 1 : 0, count = last - earliest + 1;
    if (e > t->reach || count <= 0) {
        return 0;
    }
    if (!t->sum) {
        return (double)count * (e == 0 ? t->on : t->off);
    }
    const int64_t high = e * s + first - earliest * stride, low = first - last * stride - stride;
    if (!t->lost || low < 0) {
        return t->sum[high] + (t->lost ? t->lost[high] : 0);
    }
    const double sum = t->sum[high] - t->sum[e * s + low];
    return sum + (t->lost[high] - t->lost[e * s + low]);
}

/* Prefix sums along the diagonals, in steps of the stride. */
static void sum_up(const cs_context_plan *plan, cs_context_table *t)
{
    const int64_t s = t->pairs.length, stride = stride_of(plan, t);
    for (int64_t e = 0; e <= t->reach; ++e) {
        double *sum = t->sum + e * s, *lost = t->lost + e * s;
        for (int64_t k = stride; k < s - e; ++k) {
            double own = sum[k];
            sum[k] = sum[k - stride];
            lost[k] = lost[k - stride];
            cs_add_compensated(&sum[k], &lost[k], own);
        }
    }
}

static cs_status table(const cs_context_plan *plan, cs_context_table *t)
{
    const int64_t s = t->pairs.length;
    const bool given = plan->context.given;
    cs_status status = CS_OK;
    t->reach = given ? 0 : cs_kernel_reach(&t->pairs);
    cs_kernel_invariant(&t->pairs, &t->on, &t->off);
    if (given) {
        t->on = t->pairs.invariant / (double)s;
    }
    if (t->pairs.events > 0) {
        const int64_t cells = (t->reach + 1) * s;
        const bool runs = stride_of(plan, t) < s;
        status = cs_mem_check((runs ? 2.0 : 1.0) * sizeof(double) * (double)cells,
                              "give a smaller --max-length",
                              "the pairs of targets of %lld positions take", (long long)s);
        if (status != CS_OK) return status;
        t->sum = cs_pool_take(&t->pool, cells, sizeof *t->sum);
        t->lost = runs ? cs_pool_take(&t->pool, cells, sizeof *t->lost) : NULL;
        if (t->pool.status != CS_OK) return t->pool.status;
        if (given) {
            cs_pairs_targets(&t->pairs, 1, t->sum);
        } else {
            status = cs_kernel_diagonals(&t->pairs, t->sum);
        }
        if (status == CS_OK && runs) sum_up(plan, t);
    }
    t->inner = 2 * t->reach + 1;
    return status;
}

/* Rows of positions first..last-1 of a run. */
static cs_status walk(cs_context_walker *w, int64_t first, int64_t last)
{
    const cs_context_table *t = w->table;
    const int64_t windows = cs_context_windows(w->plan, w->length), reach = t->reach;
    cs_status status = CS_OK;
    for (int64_t p = first; p < last && status == CS_OK; ++p) {
        const int64_t from = p > reach ? p - reach : 0, left = w->length - 1 - p;
        const int64_t to = p + (reach < left ? reach : left);
        cs_hash128 key = cs_key_in_order(w->token[p], w->corpus->vocab);
        w->row_position[0] = 0;
        w->row_content[0] = w->token[p];
        for (int64_t q = from; q <= to && status == CS_OK; ++q) {
            double weight = cs_context_pair_weight(w->plan, t, windows, p, q);
            if (weight > 0) {
                cs_contribution c =
                    cs_contribution_of(w, q, key, weight, p * t->inner + q - p + reach, 1);
                status = w->visit(w->ctx, &c);
            }
        }
    }
    return status;
}

static void text(const cs_context_walker *w, const cs_contribution *c, const cs_context_item *item,
                 FILE *to)
{
    (void)c;
    cs_context_put_word(w, "", item[0].token, to);
}

const cs_context_kind cs_context_unique = {
    .gram = true, .tokens = true, .table = table, .walk = walk, .text = text};
