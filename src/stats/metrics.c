/* Scores, delete-block jackknife and seed summaries (see the header).
 *
 * Matthews correlation of K classes (Gorodkin, Comput. Biol. Chem. 28, 2004), with s examples, c
 * of them right, p_k predicted and t_k true of class k:
 *
 *   R_K = (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2))
 *
 * which for K = 2 is the usual one. Jackknife: Quenouille 1949, Tukey 1958; blocks differ by one
 * example at most, so that leaving out one at a time gives the textbook sqrt(p (1 - p) / (n - 1))
 * of an accuracy. A score that is not smooth (f1 where a class is rare) has a jackknife error that
 * is only as good as that.
 */
#include "stats/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "stats/jackknife.h"

enum { BLOCKS = 200, COVERAGE_PERCENT = 95 };

static const struct {
    const char *name, *definition;
    bool classes;
} table[CS_METRICS] = {
    [CS_METRIC_ACCURACY] = {"accuracy", "share of examples whose predicted class is the true one",
                            true},
    [CS_METRIC_F1] = {"f1", "2 tp / (2 tp + fp + fn) of class 1 of two; 0 where the denominator is",
                      true},
    [CS_METRIC_F1_MACRO] = {"f1-macro",
                            "mean over the classes of 2 tp / (2 tp + fp + fn); 0 for a class whose "
                            "denominator is",
                            true},
    [CS_METRIC_MATTHEWS] = {"matthews",
                            "(c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)): s "
                            "examples, c right, p_k predicted and t_k true of class k; 0 where "
                            "truth or prediction is constant",
                            true},
    [CS_METRIC_PEARSON] = {"pearson",
                           "correlation of truth and prediction; 0 where one is constant", false},
    [CS_METRIC_SPEARMAN] = {"spearman",
                            "correlation of the ranks of truth and prediction, ties at their mean "
                            "rank; 0 where one is constant",
                            false},
    [CS_METRIC_MSE] = {"mse", "mean of (truth - prediction)^2: smaller is better", false},
};

const char *cs_metric_name(cs_metric metric)
{
    return table[metric].name;
}

const char *cs_metric_definition(cs_metric metric)
{
    return table[metric].definition;
}

bool cs_metric_of_classes(cs_metric metric)
{
    return table[metric].classes;
}

cs_status cs_metric_by_name(const char *name, cs_metric *out)
{
    return CS_ROW_NAMED("metric", name, table, out);
}

/* --- scores of a selection of examples -------------------------------------------------------- */

/* The examples whose block is not `without`; block NULL: all. With their scratch. */
typedef struct {
    cs_pool pool; /* of the scratch */
    int64_t count, classes;
    const double *truth, *predicted;
    const int32_t *block;
    int64_t without;
    int64_t *confusion; /* classes^2: [true * classes + predicted] */
    double *a, *b;      /* count: the selection of values */
    cs_scored *order;   /* count entries for sorting */
} selection;

static bool is_left_out(const selection *s, int64_t i)
{
    return s->block && s->block[i] == s->without;
}

static double f1_of(const selection *s, int64_t class)
{
    int64_t hit = s->confusion[class * s->classes + class], both = 0;
    for (int64_t k = 0; k < s->classes; ++k) {
        both += s->confusion[class * s->classes + k] + s->confusion[k * s->classes + class];
    }
    return both > 0 ? 2.0 * (double)hit / (double)both : 0.0;
}

static double matthews_of(const selection *s)
{
    double total = 0.0, right = 0.0, product = 0.0, truths = 0.0, guesses = 0.0;
    for (int64_t k = 0; k < s->classes; ++k) {
        double t = 0.0, p = 0.0;
        for (int64_t l = 0; l < s->classes; ++l) {
            t += (double)s->confusion[k * s->classes + l];
            p += (double)s->confusion[l * s->classes + k];
        }
        total += t;
        right += (double)s->confusion[k * s->classes + k];
        product += t * p;
        truths += t * t;
        guesses += p * p;
    }
    double scale = (total * total - truths) * (total * total - guesses);
    return scale > 0.0 ? (right * total - product) / sqrt(scale) : 0.0;
}

static double class_score(cs_metric metric, const selection *s)
{
    memset(s->confusion, 0, (size_t)(s->classes * s->classes) * sizeof *s->confusion);
    int64_t total = 0, right = 0;
    for (int64_t i = 0; i < s->count; ++i) {
        if (!is_left_out(s, i)) {
            int64_t t = (int64_t)s->truth[i], p = (int64_t)s->predicted[i];
            s->confusion[t * s->classes + p] += 1;
            total += 1;
            right += t == p;
        }
    }
    if (metric == CS_METRIC_ACCURACY) {
        return (double)right / (double)total;
    }
    if (metric == CS_METRIC_F1) {
        return f1_of(s, 1);
    }
    if (metric == CS_METRIC_MATTHEWS) {
        return matthews_of(s);
    }
    double sum = 0.0;
    for (int64_t k = 0; k < s->classes; ++k) {
        sum += f1_of(s, k);
    }
    return sum / (double)s->classes;
}

/* Values in place to ranks 1..n, equal ones at the mean of theirs. */
static void to_ranks(int64_t n, double *x, cs_scored *order)
{
    for (int64_t i = 0; i < n; ++i) {
        order[i] = (cs_scored){x[i], i};
    }
    qsort(order, (size_t)n, sizeof *order, cs_scored_compare); /* the largest first */
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && order[end].value == order[i].value; ++end) {
        }
        for (int64_t k = i; k < end; ++k) {
            x[order[k].index] = 0.5 * (double)(2 * n + 1 - i - end);
        }
    }
}

static bool is_constant(int64_t n, const double *x)
{
    for (int64_t i = 1; i < n; ++i) {
        if (x[i] != x[0]) {
            return false;
        }
    }
    return true;
}

static double correlation(int64_t n, const double *a, const double *b)
{
    if (is_constant(n, a) || is_constant(n, b)) {
        return 0.0;
    }
    double ma = 0.0, mb = 0.0, sa = 0.0, sb = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        ma += a[i] / (double)n;
        mb += b[i] / (double)n;
    }
    for (int64_t i = 0; i < n; ++i) { /* scales: squares of 1e200 would overflow */
        sa = fmax(sa, fabs(a[i] - ma));
        sb = fmax(sb, fabs(b[i] - mb));
    }
    for (int64_t i = 0; i < n; ++i) {
        double x = (a[i] - ma) / sa, y = (b[i] - mb) / sb;
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    double r = ab / sqrt(aa * bb); /* sqrt(aa * aa) is aa: equal values correlate to 1 exactly */
    return r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
}

static double value_score(cs_metric metric, const selection *s)
{
    int64_t n = 0;
    double square = 0.0;
    for (int64_t i = 0; i < s->count; ++i) {
        if (!is_left_out(s, i)) {
            s->a[n] = s->truth[i];
            s->b[n++] = s->predicted[i];
            square += (s->truth[i] - s->predicted[i]) * (s->truth[i] - s->predicted[i]);
        }
    }
    if (metric == CS_METRIC_MSE) {
        return square / (double)n;
    }
    if (metric == CS_METRIC_SPEARMAN) {
        to_ranks(n, s->a, s->order);
        to_ranks(n, s->b, s->order);
    }
    return correlation(n, s->a, s->b);
}

static double score(cs_metric metric, const selection *s)
{
    return s->classes > 0 ? class_score(metric, s) : value_score(metric, s);
}

/* --- checks ----------------------------------------------------------------------------------- */

static cs_status check_metric(cs_metric metric, int64_t count, int64_t classes)
{
    if (count < 1) {
        return cs_fail(CS_ERR_USAGE, "no examples to score");
    }
    if (table[metric].classes != (classes > 0)) {
        return cs_fail(CS_ERR_USAGE, "%s cannot score %s", table[metric].name,
                       table[metric].classes ? "values" : "classes");
    }
    if (metric == CS_METRIC_F1 && classes != 2) {
        return cs_fail(CS_ERR_USAGE,
                       "f1 needs 2 classes, not %lld; use f1-macro for any number of classes",
                       (long long)classes);
    }
    return CS_OK;
}

static cs_status check_values(const char *what, int64_t count, const double *x, int64_t classes)
{
    for (int64_t i = 0; i < count; ++i) {
        if (!isfinite(x[i])) {
            return cs_fail(CS_ERR_INPUT, "%s of example %lld: %g is not finite", what, (long long)i,
                           x[i]);
        }
        if (classes > 0 && (x[i] != floor(x[i]) || x[i] < 0.0 || x[i] >= (double)classes)) {
            return cs_fail(CS_ERR_INPUT, "%s of example %lld: %g is not a class in 0..%lld", what,
                           (long long)i, x[i], (long long)classes - 1);
        }
    }
    return CS_OK;
}

/* Checks the examples and takes the scratch that the metric needs; its pool is the caller's to free
 * after any outcome. */
static cs_status selection_of(cs_metric metric, int64_t count, const double *truth,
                              const double *predicted, int64_t classes, selection *out)
{
    *out = (selection){.count = count, .classes = classes, .truth = truth, .predicted = predicted};
    cs_status status = check_metric(metric, count, classes);
    if (status != CS_OK || (status = check_values("truth", count, truth, classes)) != CS_OK ||
        (status = check_values("prediction", count, predicted, classes)) != CS_OK) {
        return status;
    }
    if (classes > 0) {
        int64_t cells = classes < INT32_MAX ? classes * classes : -1;
        out->confusion = cs_pool_take(&out->pool, cells, sizeof *out->confusion);
    } else {
        CS_POOL_FIELDS(&out->pool, count, out, a, b, order);
    }
    return out->pool.status;
}

cs_status cs_metric_of(cs_metric metric, int64_t count, const double *truth,
                       const double *predicted, int64_t classes, double *out)
{
    selection s = {0};
    cs_status status = selection_of(metric, count, truth, predicted, classes, &s);
    if (status == CS_OK) *out = score(metric, &s);
    cs_pool_free(&s.pool);
    return status;
}

/* --- jackknife -------------------------------------------------------------------------------- */

cs_status cs_metric_deal(int64_t count, int64_t blocks, uint64_t seed, int32_t *block)
{
    if (count > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "%lld examples exceed the limit of %d", (long long)count,
                       INT32_MAX);
    }
    CS_AUTO_FREE int32_t *order = cs_alloc(count, sizeof *order);
    if (!order) return CS_ERR_MEMORY;
    cs_rng rng = cs_rng_at(seed, CS_STREAM_SPLIT, (uint64_t)count);
    cs_rng_permutation(&rng, count, order);
    for (int64_t i = 0; i < count; ++i) {
        block[order[i]] = (int32_t)(i % blocks);
    }
    return CS_OK;
}

int64_t cs_metric_blocks(int64_t count)
{
    return count < BLOCKS ? count : BLOCKS;
}

/* The error of the score of `s`, which is of `what`, or of `s` less `other` (may be NULL); left_out: NULL, or
 * memory for it. */
static cs_status error_of(cs_metric metric, const cs_metric_sample *what, selection *s,
                          selection *other, int64_t blocks, uint64_t seed, double *se,
                          double *left_out)
{
    const int64_t count = what->unit ? what->units : s->count;
    const int64_t wanted = blocks > 0 ? blocks : cs_metric_blocks(count);
    if (blocks < 0 || blocks > count) {
        return cs_fail(CS_ERR_USAGE,
                       "%lld jackknife blocks are not in 0..%lld, the number of examples",
                       (long long)blocks, (long long)count);
    }
    if (wanted < 2) {
        *se = NAN;
        return CS_OK;
    }
    int32_t *of_unit = cs_pool_take(&s->pool, count, sizeof *of_unit);
    int32_t *block = what->unit ? cs_pool_take(&s->pool, s->count, sizeof *block) : of_unit;
    left_out = left_out ? left_out : cs_pool_take(&s->pool, wanted, sizeof *left_out);
    cs_status status = s->pool.status;
    if (status == CS_OK) status = cs_metric_deal(count, wanted, seed, of_unit);
    for (int64_t i = 0; i < s->count && what->unit && status == CS_OK; ++i) {
        block[i] = of_unit[what->unit[i]];
    }
    for (int64_t b = 0; b < wanted && status == CS_OK; ++b) {
        s->block = block;
        s->without = b;
        left_out[b] = score(metric, s);
        if (other) {
            other->block = block;
            other->without = b;
            left_out[b] -= score(metric, other);
        }
    }
    if (status == CS_OK) *se = cs_jackknife_error(wanted, left_out, 1);
    return status;
}

cs_status cs_metric_error(cs_metric metric, const cs_metric_sample *what, const double *predicted,
                          int64_t blocks, uint64_t seed, double *se, double *left_out)
{
    selection s = {0};
    cs_status status = selection_of(metric, what->count, what->truth, predicted, what->classes, &s);
    if (status == CS_OK) status = error_of(metric, what, &s, NULL, blocks, seed, se, left_out);
    cs_pool_free(&s.pool);
    return status;
}

cs_status cs_metric_difference(cs_metric metric, const cs_metric_sample *what, const double *a,
                               const double *b, uint64_t seed, double *difference, double *se)
{
    selection sa = {0}, sb = {0};
    cs_status status = selection_of(metric, what->count, what->truth, a, what->classes, &sa);
    if (status == CS_OK)
        status = selection_of(metric, what->count, what->truth, b, what->classes, &sb);
    if (status == CS_OK) {
        *difference = score(metric, &sa) - score(metric, &sb);
        status = error_of(metric, what, &sa, &sb, 0, seed, se, NULL);
    }
    cs_pool_free(&sa.pool);
    cs_pool_free(&sb.pool);
    return status;
}

/* --- chances of Bin(n, 1/2) ------------------------------------------------------------------- */

/* P(Bin(n, 1/2) < r), each term by its logarithm: 2^-n underflows from n = 1075 on. */
static double binomial_below(int64_t n, int64_t r)
{
    double log_term = -(double)n * log(2.0), sum = 0.0;
    for (int64_t k = 0; k < r; ++k) {
        sum += exp(log_term);
        log_term += log((double)(n - k) / (double)(k + 1));
    }
    return sum;
}

cs_status cs_mcnemar(int64_t count, const double *truth, const double *a, const double *b,
                     cs_mcnemar_result *out)
{
    cs_mcnemar_result r = {.p = 1.0};
    if (count < 1) {
        return cs_fail(CS_ERR_USAGE, "no examples to compare");
    }
    for (int64_t i = 0; i < count; ++i) {
        r.only_a += a[i] == truth[i] && b[i] != truth[i];
        r.only_b += b[i] == truth[i] && a[i] != truth[i];
    }
    int64_t n = r.only_a + r.only_b, least = r.only_a < r.only_b ? r.only_a : r.only_b;
    if (n > 0 && 2 * least < n) {
        double p = 2.0 * binomial_below(n, least + 1);
        r.p = p < 1.0 ? p : 1.0;
    }
    *out = r;
    return CS_OK;
}

cs_status cs_seed_summary_of(int64_t count, const double *value, cs_seed_summary *out)
{
    if (count < 1) {
        return cs_fail(CS_ERR_USAGE, "no seeds to summarise");
    }
    cs_status status = check_values("score", count, value, 0);
    if (status != CS_OK) return status;
    CS_AUTO_FREE double *sorted = cs_alloc(count, sizeof *sorted);
    if (!sorted) return CS_ERR_MEMORY;
    memcpy(sorted, value, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, cs_ascending);
    int64_t r = 1;
    while (2 * (r + 1) <= count + 1 &&
           1.0 - 2.0 * binomial_below(count, r + 1) >= COVERAGE_PERCENT / 100.0) {
        ++r;
    }
    const bool interval = count > 1;
    *out = (cs_seed_summary){
        .count = count,
        .median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]),
        .low = interval ? sorted[r - 1] : NAN,
        .high = interval ? sorted[count - r] : NAN,
        .coverage = interval ? 1.0 - 2.0 * binomial_below(count, r) : NAN,
    };
    return CS_OK;
}
