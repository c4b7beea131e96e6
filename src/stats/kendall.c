/* The number of inversions between m equal objects put among a others has the Gaussian binomial
 * coefficient as generating function, that of partitions into at most m parts of at most a (Stanley,
 * Enumerative Combinatorics 1, 1.7): G(a, m) = G(a, m - 1) + q^m G(a - 1, m).
 */
#include "stats/kendall.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

static int sign(double a, double b)
{
    return (a > b) - (a < b);
}

/* G(a, m) into out[0 .. a m], as probabilities; buffer is a buffer of the same size for each of
 * 0..m. */
static void gaussian_binomial(int64_t a, int64_t m, double *buffer, double *out)
{
    const int64_t size = a * m + 1;
    memset(buffer, 0, (size_t)((m + 1) * size) * sizeof *buffer);
    for (int64_t k = 0; k <= m; ++k) {
        buffer[k * size] = 1; /* a = 0 */
    }
    for (int64_t i = 1; i <= a; ++i) {
        for (int64_t k = 1; k <= m; ++k) { /* G(i, k) in place of G(i - 1, k) */
            double *at = buffer + k * size;
            for (int64_t d = i * k; d >= 0; --d) {
                at[d] = (d >= k ? at[d - k] : 0) + at[d - size];
            }
        }
    }
    double sum = 0;
    for (int64_t d = 0; d < size; ++d) {
        sum += buffer[m * size + d];
    }
    for (int64_t d = 0; d < size; ++d) {
        out[d] = buffer[m * size + d] / sum;
    }
}

/* The distribution of D with ties of these sizes, in out[0 .. pairs that are not tied]. */
static cs_status inversions(int64_t groups, const int64_t *tied, int64_t *most, double **out)
{
    int64_t objects = 0, largest = 0;
    cs_pool pool = {0};
    *most = 0;
    for (int64_t g = 0; g < groups; ++g) {
        *most += objects * tied[g];
        objects += tied[g];
        largest = tied[g] > largest ? tied[g] : largest;
    }
    double *sum = cs_calloc(*most + 1, sizeof *sum);
    double *next = cs_pool_take(&pool, *most + 1, sizeof *next);
    double *step = cs_pool_take(&pool, *most + 1, sizeof *step);
    double *buffer = cs_pool_take(&pool, (largest + 1) * (*most + 1), sizeof *buffer);
    cs_status status = sum ? pool.status : CS_ERR_MEMORY;
    if (status != CS_OK) goto done;
    sum[0] = 1;
    for (int64_t g = 0, before = 0, degree = 0; g < groups; before += tied[g++]) {
        const int64_t width = before * tied[g];
        gaussian_binomial(before, tied[g], buffer, step);
        memset(next, 0, (size_t)(*most + 1) * sizeof *next);
        for (int64_t d = 0; d <= degree; ++d) {
            for (int64_t w = 0; w <= width; ++w) {
                next[d + w] += sum[d] * step[w];
            }
        }
        degree += width;
        memcpy(sum, next, (size_t)(degree + 1) * sizeof *sum);
    }
done:
    cs_pool_free(&pool);
    return CS_DELIVER(status, out, sum, cs_drop);
}

/* P(|most - 2 D| >= size). */
static double beyond(int64_t most, const double *chance, int64_t size)
{
    double sum = 0;
    for (int64_t d = 0; d <= most; ++d) {
        const int64_t s = most - 2 * d;
        sum += (s < 0 ? -s : s) >= size ? chance[d] : 0;
    }
    return fmin(1, sum);
}

/* Sizes of the ties of x into tied, their number returned; O(n^2), as all here. */
static int64_t ties(int64_t count, const double *x, int64_t *tied)
{
    int64_t groups = 0;
    for (int64_t i = 0; i < count; ++i) {
        int64_t before = 0, all = 0;
        for (int64_t j = 0; j < count; ++j) {
            const bool same = sign(x[i], x[j]) == 0;
            before += same && j < i;
            all += same;
        }
        if (before == 0) {
            tied[groups++] = all;
        }
    }
    return groups;
}

/* S and the pairs that are not tied in the one and the other. */
typedef struct {
    int64_t balance, untied1, untied2;
} pair_counts;

static pair_counts count_pairs(int64_t count, const double *first, const double *second)
{
    pair_counts c = {0};
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = i + 1; j < count; ++j) {
            const int s1 = sign(first[i], first[j]), s2 = sign(second[i], second[j]);
            c.balance += (int64_t)s1 * s2;
            c.untied1 += s1 != 0;
            c.untied2 += s2 != 0;
        }
    }
    return c;
}

static double tau_of(pair_counts c)
{
    return c.untied1 > 0 && c.untied2 > 0
               ? (double)c.balance / sqrt((double)c.untied1 * (double)c.untied2)
               : NAN;
}

double cs_kendall_tau(int64_t count, const double *first, const double *second)
{
    return tau_of(count_pairs(count, first, second));
}

cs_status cs_kendall_of(int64_t count, const double *first, const double *second, cs_kendall *out)
{
    const pair_counts c = count_pairs(count, first, second);
    const int64_t pairs = count * (count - 1) / 2;
    cs_kendall r = {tau_of(c), NAN};
    if (!isnan(r.tau) && (c.untied1 == pairs || c.untied2 == pairs)) {
        CS_AUTO_FREE double *chance = NULL;
        int64_t most = 0, *tied = cs_alloc(count, sizeof *tied);
        if (!tied) return CS_ERR_MEMORY;
        const int64_t groups = ties(count, c.untied1 < pairs ? first : second, tied);
        cs_status status = inversions(groups, tied, &most, &chance);
        if (status == CS_OK) r.p = beyond(most, chance, c.balance < 0 ? -c.balance : c.balance);
        cs_free(tied);
        if (status != CS_OK) return status;
    }
    *out = r;
    return CS_OK;
}
