/* Adjusted mutual information and purity, with a permutation test (partition.h). */
#include "stats/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"

static const double POWER = 0.8416; /* normal quantile of .8 */
static const double LEVEL = 0.05;

typedef struct {
    const cs_partition_pair *pair;
    int64_t *table, *cluster, *class_of; /* n_ij by rows; n_i; n_j */
} counts;

static double entropy(int64_t n, int64_t groups, const int64_t *size)
{
    double sum = 0;
    for (int64_t i = 0; i < groups; ++i) {
        const double share = (double)size[i] / (double)n;
        sum -= size[i] > 0 ? share * log(share) : 0;
    }
    return sum;
}

/* n_ij of the classes given, and from them MI and purity. */
static double information(counts *c, const int32_t *class_of, double *purity)
{
    const cs_partition_pair *p = c->pair;
    const double n = (double)p->count;
    double sum = 0;
    int64_t pure = 0;
    memset(c->table, 0, (size_t)(p->clusters * p->classes) * sizeof *c->table);
    for (int64_t i = 0; i < p->count; ++i) {
        ++c->table[p->cluster[i] * p->classes + class_of[i]];
    }
    for (int64_t i = 0; i < p->clusters; ++i) {
        int64_t most = 0;
        for (int64_t j = 0; j < p->classes; ++j) {
            const int64_t both = c->table[i * p->classes + j];
            most = cs_most(most, both);
            if (both > 0)
                sum += (double)both / n *
                       log(n * (double)both / ((double)c->cluster[i] * (double)c->class_of[j]));
        }
        pure += most;
    }
    *purity = (double)pure / n;
    return sum;
}

/* E[MI]: n_ij is hypergeometric with sizes a and b among n. */
static double expected(const counts *c)
{
    const int64_t n = c->pair->count;
    double sum = 0;
    for (int64_t i = 0; i < c->pair->clusters; ++i) {
        for (int64_t j = 0; j < c->pair->classes; ++j) {
            const int64_t a = c->cluster[i], b = c->class_of[j];
            const double fixed = lgamma((double)a + 1) + lgamma((double)b + 1) +
                                 lgamma((double)(n - a) + 1) + lgamma((double)(n - b) + 1) -
                                 lgamma((double)n + 1);
            for (int64_t k = cs_most(1, a + b - n); k <= cs_least(a, b); ++k) {
                const double x = (double)k;
                const double weight = fixed - lgamma(x + 1) - lgamma((double)(a - k) + 1) -
                                      lgamma((double)(b - k) + 1) -
                                      lgamma((double)(n - a - b + k) + 1);
                sum += x / (double)n * log((double)n * x / ((double)a * (double)b)) * exp(weight);
            }
        }
    }
    return sum;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The permutations: their AMI into `null`. */
static void permute(counts *c, double mi, double mean, double range, double *null,
                    int32_t *shuffled, cs_partition_agreement *out)
{
    const cs_partition_pair *p = c->pair;
    int64_t above = 1;
    for (int64_t r = 0; r < p->permutations; ++r) {
        cs_rng rng = cs_rng_at(p->seed, CS_STREAM_NULL, (uint64_t)r);
        double purity = 0;
        memcpy(shuffled, p->class_of, (size_t)p->count * sizeof *shuffled);
        cs_rng_shuffle(&rng, p->count, shuffled);
        const double value = information(c, shuffled, &purity);
        above += value >= mi * (1 - 1e-12);
        null[r] = (value - mean) / range;
        out->null_purity += purity / (double)p->permutations;
    }
    out->p = (double)above / (double)(p->permutations + 1);
}

static void detect(int64_t count, double *null, cs_partition_agreement *out)
{
    double mean = 0, square = 0;
    qsort(null, (size_t)count, sizeof *null, ascending);
    for (int64_t r = 0; r < count; ++r) {
        mean += null[r] / (double)count;
    }
    for (int64_t r = 0; r < count; ++r) {
        square += (null[r] - mean) * (null[r] - mean);
    }
    out->limit = null[cs_least(count - 1, (int64_t)ceil((1 - LEVEL) * (double)count))];
    out->detectable = out->limit + POWER * sqrt(square / (double)cs_most(1, count - 1));
}

cs_status cs_partition_agreement_of(const cs_partition_pair *pair, cs_partition_agreement *out)
{
    CS_AUTO(cs_pool) pool = {0};
    counts c = {pair, cs_pool_take(&pool, pair->clusters * pair->classes, sizeof *c.table),
                cs_pool_take(&pool, pair->clusters, sizeof *c.cluster),
                cs_pool_take(&pool, pair->classes, sizeof *c.class_of)};
    int32_t *shuffled = cs_pool_take(&pool, pair->count, sizeof *shuffled);
    double *null = cs_pool_take(&pool, pair->permutations, sizeof *null);
    if (pool.status != CS_OK) return pool.status;
    for (int64_t i = 0; i < pair->count; ++i) {
        ++c.cluster[pair->cluster[i]];
        ++c.class_of[pair->class_of[i]];
    }
    *out = (cs_partition_agreement){0};
    const double mi = information(&c, pair->class_of, &out->purity), mean = expected(&c);
    const double range = (entropy(pair->count, pair->clusters, c.cluster) +
                          entropy(pair->count, pair->classes, c.class_of)) /
                             2 -
                         mean;
    out->ami = (mi - mean) / range;
    permute(&c, mi, mean, range, null, shuffled, out);
    detect(pair->permutations, null, out);
    return CS_OK;
}
