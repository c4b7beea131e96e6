/* Effective ranks from Gram blocks: eigenvalues of sums over blocks, everything else from them.
 *
 * The sum without some blocks is the sum over all less these, where that keeps the bound of the
 * sums (linalg/gram.h); otherwise it is added up. The eigenproblems (the whole, one a block left
 * out, one a part or a pair of parts, one a point of the curve) are independent and run in parallel,
 * each on one BLAS thread, for the eigenvalues alone (linalg/tridiagonal.h: within 32 units of
 * rounding of the largest sum of a row of the tridiagonal matrix, as the floor has 162 of the
 * trace). Where products are summed in single precision, all but the whole are reduced in single
 * precision too: its error of a few units is below the bound of the sums. No spectrum is
 * approximated from another: spectra of independently drawn rows have gaps smaller than the change
 * by one block. An eigenvalue below its error bound counts as 0: it does not differ from rounding,
 * and hundreds of such values, as square roots, would weigh in the entropies. */
#include "analysis/measures/effective_rank.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/measures/dimension.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/tridiagonal.h"
#include "stats/jackknife.h"

static const double RANKME_EPS = 1e-7;

static double eps_of(const cs_rank_options *options)
{
    return options->eps < 0.0 ? RANKME_EPS : options->eps;
}

static int64_t decay_first(const cs_rank_options *options)
{
    return options->decay_first > 0 ? options->decay_first : CS_DECAY_FIRST;
}

static int64_t decay_last(const cs_rank_options *options, int64_t count)
{
    int64_t last = options->decay_last > 0 ? options->decay_last : CS_DECAY_LAST;
    return last < count ? last : count;
}

enum { MOST_ALL = 5, MOST_PAIRS = 10 };

typedef struct {
    int64_t first, second;
} part_pair;

/* All pairs of up to MOST_ALL parts, otherwise those of neighbours on a circle. Every part is in the
 * same number of them. */
static int64_t list_pairs(int64_t parts, part_pair pair[MOST_PAIRS])
{
    int64_t count = 0;
    for (int64_t i = 0; i < parts; ++i) {
        for (int64_t j = i + 1; j < parts; ++j) {
            if (parts <= MOST_ALL || j == i + 1 || j - i == parts - 1) {
                pair[count++] = (part_pair){i, j};
            }
        }
    }
    return count;
}

const char *cs_rank_name(cs_rank_measure measure)
{
    static const char *const name[] = {
        "rank_tau",       "rank_tau_interpolated", "entropy_rank", "entropy_rank_squared",
        "rankme",         "participation_ratio",   "stable_rank",  "numerical_rank",
        "decay_exponent", "rank_tau_corrected",
    };
    return name[measure];
}

static char *formula_of(cs_rank_measure measure, const cs_rank_options *options,
                        const cs_effective_rank *result, const cs_rank_point *point)
{
    const int64_t first = decay_first(options), last = decay_last(options, point->above);
    part_pair pair[MOST_PAIRS];
    switch (measure) {
    case CS_RANK_TAU:
    case CS_RANK_TAU_INTERPOLATED:
        return cs_format("least k with sum_{i<=k} sigma_i^2 >= %g sum_i sigma_i^2%s", options->tau,
                         measure == CS_RANK_TAU ? "" : ", linear between k - 1 and k");
    case CS_RANK_ENTROPY:
        return cs_strdup("exp(-sum p ln p), p = sigma / sum sigma");
    case CS_RANK_ENTROPY_SQUARED:
        return cs_strdup("exp(-sum p ln p), p = sigma^2 / sum sigma^2");
    case CS_RANK_RANKME:
        return cs_format("exp(-sum p ln p), p = sigma / sum sigma + eps, eps = %g",
                         eps_of(options));
    case CS_RANK_PARTICIPATION:
        return cs_strdup("(sum sigma^2)^2 / sum sigma^4");
    case CS_RANK_STABLE:
        return cs_strdup("sum sigma^2 / sigma_1^2");
    case CS_RANK_NUMERICAL:
        return options->tolerance > 0.0
                   ? cs_format("number of sigma > %g sigma_1", options->tolerance)
                   : cs_strdup("number of sigma > max(max(n, d) 2^-52 sigma_1, sqrt(floor))");
    case CS_RANK_TAU_CORRECTED:
        return cs_format("B theta - (B - 1) mean_b theta_b, theta = rank_tau_interpolated at tau = "
                         "%g, theta_b without block b of B = %" PRId64
                         ": jackknife correction of the bias in n, in [tau, tau d]; se: jackknife "
                         "of the corrected value and the remaining bias, over %" PRId64
                         " parts and %" PRId64 " pairs of them",
                         options->tau, result->blocks, result->parts,
                         list_pairs(result->parts, pair));
    default:
        return last <= first
                   ? cs_format("alpha of sigma_k^2 ~ k^-alpha needs two sigma above the floor from "
                               "k = %" PRId64 " on",
                               first)
                   : cs_format("alpha of sigma_k^2 ~ k^-alpha, least squares of ln sigma_k^2 on "
                               "ln k, k = %" PRId64 " to %" PRId64,
                               first, last);
    }
}

char *cs_rank_definition(cs_rank_measure measure, const cs_rank_options *options, const cs_gram *g,
                         const cs_effective_rank *result, const cs_rank_point *point)
{
    CS_AUTO_FREE char *core = formula_of(measure, options, result, point);
    char *text = core ? cs_format("%s; %s, rows %s, %" PRId64 " rows; sigma^2 below the floor %.3g "
                                  "are 0",
                                  core, options->centred ? "centred" : "uncentred",
                                  g->normalise ? "divided by their norms" : "as they are",
                                  point->rows, point->floor)
                      : NULL;
    return text;
}

/* --- measures of a spectrum ------------------------------------------------------------------- */

static void ranks_of_tau(int64_t count, const double *lambda, double tau, double *rank,
                         double *interpolated)
{
    double total = cs_total(count, lambda), sum = 0.0;
    for (int64_t k = 0; k < count; ++k) {
        double before = sum;
        sum += lambda[k];
        if (sum >= tau * total * (1.0 - 1e-12)) { /* a tie is met, however the sums round */
            *rank = (double)(k + 1);
            *interpolated = (double)k + (tau * total - before) / lambda[k];
            return;
        }
    }
    *rank = *interpolated = (double)count; /* not reached: the last sum is the total */
}

/* exp of the entropy of x_k^power / sum + eps. */
static double entropy_rank(int64_t count, const double *lambda, bool squared, double eps)
{
    double total = 0.0, entropy = 0.0;
    for (int64_t k = 0; k < count; ++k) {
        total += squared ? lambda[k] : sqrt(lambda[k]);
    }
    for (int64_t k = 0; k < count; ++k) {
        double p = (squared ? lambda[k] : sqrt(lambda[k])) / total + eps;
        entropy -= p > 0.0 ? p * log(p) : 0.0;
    }
    return exp(entropy);
}

void cs_rank_measures(int64_t count, const double *lambda, double tolerance,
                      const cs_rank_options *options, double value[CS_RANK_MEASURES])
{
    memset(value, 0, CS_RANK_MEASURES * sizeof *value);
    value[CS_RANK_TAU_CORRECTED] = NAN;
    value[CS_RANK_DECAY] =
        cs_spectral_decay(count, lambda, decay_first(options), decay_last(options, count), NULL);
    if (count == 0 || !(lambda[0] > 0.0)) {
        return;
    }
    double sum = 0.0, squares = 0.0;
    for (int64_t k = 0; k < count; ++k) {
        double x = lambda[k] / lambda[0]; /* squares within the range */
        sum += x;
        squares += x * x;
        value[CS_RANK_NUMERICAL] += sqrt(x) > tolerance;
    }
    ranks_of_tau(count, lambda, options->tau, &value[CS_RANK_TAU],
                 &value[CS_RANK_TAU_INTERPOLATED]);
    value[CS_RANK_ENTROPY] = entropy_rank(count, lambda, false, 0.0);
    value[CS_RANK_ENTROPY_SQUARED] = entropy_rank(count, lambda, true, 0.0);
    value[CS_RANK_RANKME] = entropy_rank(count, lambda, false, eps_of(options));
    value[CS_RANK_PARTICIPATION] = sum * sum / squares;
    value[CS_RANK_STABLE] = sum;
}

/* --- eigenproblems ---------------------------------------------------------------------------- */

/* A sum of blocks and what comes of it. */
typedef struct {
    cs_gram_range without[2];
    cs_rank_point point;
} problem;

typedef struct {
    const cs_gram *g;
    const cs_gram_all *all;
    const cs_rank_options *options;
    problem *problem;
    cs_effective_rank *whole; /* receives the spectrum of problem 0 */
} study;

/* Descending eigenvalues, cleared below the floor, of a matrix that is destroyed. */
static cs_status spectrum_of(cs_dense *a, bool single, int64_t count, double floor, double *lambda,
                             int64_t *below)
{
    const int64_t d = a->rows;
    CS_AUTO_FREE double *ascending = cs_alloc(d, sizeof *ascending);
    cs_status status = !ascending ? CS_ERR_MEMORY
                       : single   ? cs_symmetric_values_single(a, ascending)
                                  : cs_symmetric_values(a, ascending);
    *below = 0;
    for (int64_t k = 0; k < count && status == CS_OK; ++k) {
        bool real = ascending[d - 1 - k] > floor;
        lambda[k] = real ? ascending[d - 1 - k] : 0.0;
        *below += !real;
    }
    return status;
}

static double tolerance_of(const cs_rank_options *options, int64_t rows, int64_t cols, double floor,
                           double first)
{
    if (options->tolerance > 0.0) {
        return options->tolerance;
    }
    double plain = (double)(rows > cols ? rows : cols) * 0x1p-52;
    double least = first > 0.0 ? sqrt(floor / first) : 0.0;
    return plain > least ? plain : least;
}

static cs_status solve(void *ctx, int64_t item)
{
    const study *s = ctx;
    problem *p = &s->problem[item];
    CS_AUTO(cs_dense) total = {0};
    int64_t below = 0;
    cs_status status =
        cs_gram_without(s->g, s->all, p->without, s->options->centred, &total, &p->point.rows);
    if (status != CS_OK) return status;
    const int64_t d = s->g->cols, n = p->point.rows;
    const int64_t count = n < d ? n : d;
    const double floor = cs_gram_floor_without(s->g, s->all, p->without, s->options->centred);
    CS_AUTO_FREE double *lambda = cs_alloc(count, sizeof *lambda);
    status = lambda ? spectrum_of(&total, item > 0 && !s->g->wide, count, floor, lambda, &below)
                    : CS_ERR_MEMORY;
    p->point.floor = floor;
    p->point.above = count - below;
    if (status == CS_OK)
        cs_rank_measures(count, lambda,
                         tolerance_of(s->options, n, d, floor, count > 0 ? lambda[0] : 0.0),
                         s->options, p->point.value);
    if (status == CS_OK && item == 0) {
        cs_effective_rank *w = s->whole;
        w->count = count;
        w->floor = floor;
        w->below = below;
        w->lambda = lambda;
        lambda = NULL;
    }
    return status;
}

/* --- the study -------------------------------------------------------------------------------- */

/* Numbers of blocks at which the curve has points, ascending; returns how many. */
static int64_t curve_blocks(const cs_gram *g, bool every, int64_t *at)
{
    int64_t count = 0;
    for (int64_t b = 1; b < g->groups; ++b) {
        /* The last ones of a halving from the end: B / 2, B / 4, ... rounded up. */
        bool halving = false;
        for (int64_t x = (g->groups + 1) / 2; x > 1 && !halving; x = (x + 1) / 2) {
            halving = x == b;
        }
        if (every || halving || b == 1) {
            at[count++] = b;
        }
    }
    at[count++] = g->groups;
    return count;
}

/* left_out: the problems without each block, or NULL. */
static cs_status fill_errors(const study *s, const problem *left_out, cs_effective_rank *out)
{
    const int64_t blocks = left_out ? s->g->groups : 0;
    if (left_out && !(out->left_out = cs_alloc(blocks * CS_RANK_MEASURES, sizeof(double))))
        return CS_ERR_MEMORY;
    for (int64_t b = 0; b < blocks; ++b) {
        memcpy(out->left_out + b * CS_RANK_MEASURES, left_out[b].point.value,
               sizeof left_out[b].point.value);
    }
    for (int m = 0; m < CS_RANK_OF_SPECTRUM; ++m) {
        out->se[m] = left_out && m != CS_RANK_NUMERICAL
                         ? cs_jackknife_error(blocks, out->left_out + m, CS_RANK_MEASURES)
                         : NAN;
    }
    out->se[CS_RANK_TAU] = out->se[CS_RANK_TAU_INTERPOLATED];
    return CS_OK;
}

/* --- the corrected rank ----------------------------------------------------------------------- */

static double tau_of(const problem *p)
{
    return p->point.value[CS_RANK_TAU_INTERPOLATED];
}

static cs_gram_range blocks_of_part(int64_t blocks, int64_t parts, int64_t part)
{
    return (cs_gram_range){part * blocks / parts, (part + 1) * blocks / parts};
}

/* The problems without each part, unless parts are blocks, then those without each pair; returns
 * how many. */
static int64_t leave_parts(int64_t blocks, int64_t parts, problem *p)
{
    part_pair pair[MOST_PAIRS];
    const int64_t pairs = parts ? list_pairs(parts, pair) : 0;
    int64_t count = 0;
    for (int64_t i = 0; i < parts && parts < blocks; ++i) {
        p[count++] = (problem){.without = {blocks_of_part(blocks, parts, i)}};
    }
    for (int64_t k = 0; k < pairs; ++k) {
        p[count++] = (problem){.without = {blocks_of_part(blocks, parts, pair[k].first),
                                           blocks_of_part(blocks, parts, pair[k].second)}};
    }
    return count;
}

/* Moves the replicates about their mean so that their jackknife error is without the part that
 * pairs left out add: `excess` of its square. It stays above that of the plain rank. */
static void shrink_replicates(double excess, double plain_se, cs_effective_rank *out)
{
    const double raw = cs_jackknife_error(out->parts, out->part_out, 1), square = raw * raw;
    const double kept = fmax(square - excess, fmin(square, plain_se * plain_se));
    const double mean = cs_total(out->parts, out->part_out) / (double)out->parts;
    for (int64_t i = 0; i < out->parts && square > 0.0; ++i) {
        out->part_out[i] = mean + sqrt(kept / square) * (out->part_out[i] - mean);
    }
}

/* Replicates and the remaining bias: one is without each part, pair without each pair. */
static void fill_parts(const problem *one, const problem *pair, cs_effective_rank *out)
{
    part_pair list[MOST_PAIRS];
    double change[MOST_PAIRS], near[CS_RANK_PARTS] = {0};
    const int64_t count = list_pairs(out->parts, list);
    const double whole = out->value[CS_RANK_TAU_INTERPOLATED], parts = (double)out->parts;
    const double each = 2.0 * (double)count / parts;
    double without_one = 0.0, without_two = 0.0, mean = 0.0, square = 0.0;
    for (int64_t k = 0; k < count; ++k) {
        change[k] =
            tau_of(&pair[k]) - tau_of(&one[list[k].first]) - tau_of(&one[list[k].second]) + whole;
        near[list[k].first] += change[k] / each;
        near[list[k].second] += change[k] / each;
        mean += change[k] / (double)count;
    }
    for (int64_t k = 0; k < count; ++k) {
        square += (change[k] - mean) * (change[k] - mean) / (double)(count - 1);
    }
    for (int64_t i = 0; i < out->parts; ++i) {
        without_one += tau_of(&one[i]) / parts;
    }
    for (int64_t i = 0; i < out->parts; ++i) {
        const double theta = tau_of(&one[i]), others = parts * without_one - theta;
        const double two = theta + others / (parts - 1.0) - whole + near[i];
        out->part_out[i] = (parts - 1.0) * theta - (parts - 2.0) * two;
        without_two += two / parts;
    }
    const double second =
        (parts * parts * whole - 2.0 * (parts - 1.0) * (parts - 1.0) * without_one +
         (parts - 2.0) * (parts - 2.0) * without_two) /
        2.0;
    out->bias_left = second - out->unclipped;
    shrink_replicates((parts - 1.0) * pow(parts - 2.0, 3.0) / parts * square *
                          (1.0 / each - 1.0 / (parts - 1.0)),
                      out->se[CS_RANK_TAU_INTERPOLATED], out);
}

/* left_out: without each block; of_parts: as leave_parts has them. */
static cs_status fill_corrected(const study *s, const problem *left_out, const problem *of_parts,
                                cs_effective_rank *out)
{
    const double blocks = (double)out->blocks, tau = s->options->tau;
    const double whole = out->value[CS_RANK_TAU_INTERPOLATED];
    const bool same = out->parts == out->blocks;
    double mean = 0.0;
    for (int64_t b = 0; b < out->blocks; ++b) {
        mean += tau_of(&left_out[b]) / blocks;
    }
    out->unclipped = blocks * whole - (blocks - 1.0) * mean;
    out->value[CS_RANK_TAU_CORRECTED] =
        whole > 0.0 ? fmin(fmax(out->unclipped, tau), tau * (double)out->cols) : 0.0;
    if (out->parts == 0) {
        return CS_OK;
    }
    if (!(out->part_out = cs_alloc(out->parts, sizeof *out->part_out))) return CS_ERR_MEMORY;
    fill_parts(same ? left_out : of_parts, same ? of_parts : of_parts + out->parts, out);
    out->se[CS_RANK_TAU_CORRECTED] =
        hypot(cs_jackknife_error(out->parts, out->part_out, 1), out->bias_left);
    return CS_OK;
}

static void fill_guard(const cs_gram *g, cs_effective_rank *out)
{
    const double sum = cs_total(out->count, out->lambda);
    out->first_share = sum > 0.0 ? out->lambda[0] / sum : 0.0;
    out->heaviest = g->heaviest;
    out->heaviest_share = g->square > 0.0 ? g->heaviest_square / g->square : 0.0;
}

static cs_status check_options(const cs_gram *g, const cs_rank_options *options)
{
    if (!(options->tau > 0.0 && options->tau <= 1.0)) {
        return cs_fail(CS_ERR_USAGE, "tau %g is not in (0, 1]", options->tau);
    }
    if (!(options->tolerance >= 0.0 && options->tolerance < 1.0)) {
        return cs_fail(CS_ERR_USAGE, "tolerance %g is not in [0, 1)", options->tolerance);
    }
    if (g->total < (options->centred ? 2 : 1)) {
        return cs_fail(CS_ERR_INPUT, "%" PRId64 " rows: too few for an effective rank%s", g->total,
                       options->centred ? " after centring" : "");
    }
    return CS_OK;
}

cs_status cs_effective_rank_of(const cs_gram *g, const cs_rank_options *options,
                               cs_effective_rank *out)
{
    cs_status status = check_options(g, options);
    if (status != CS_OK) return status;
    const int64_t blocks = g->groups, most = blocks < CS_RANK_PARTS ? blocks : CS_RANK_PARTS;
    const bool jackknife = options->jackknife && blocks > 1;
    cs_effective_rank r = {.rows = g->total, .cols = g->cols, .blocks = blocks};
    CS_AUTO(cs_gram_all) all = {0};
    CS_AUTO(cs_pool) pool = {0};
    r.parts = jackknife && most >= 3 ? most : 0;
    const int64_t of_parts = 1 + (jackknife ? blocks : 0);
    int64_t *at = cs_pool_take(&pool, blocks, sizeof *at);
    problem *p = cs_pool_take(&pool, of_parts + CS_RANK_PARTS + MOST_PAIRS + blocks, sizeof *p);
    status = pool.status ? pool.status : cs_gram_all_of(g, &all);
    if (status != CS_OK) goto done;
    r.points = curve_blocks(g, options->every_block, at);
    p[0] = (problem){0};
    for (int64_t b = 0; b < of_parts - 1; ++b) {
        p[1 + b] = (problem){.without = {{b, b + 1}}};
    }
    const int64_t curve = of_parts + leave_parts(blocks, r.parts, p + of_parts);
    for (int64_t i = 0; i + 1 < r.points; ++i) { /* the last point is the whole */
        p[curve + i] = (problem){.without = {{at[i], blocks}}};
    }
    study s = {g, &all, options, p, &r};
    r.point = cs_calloc(r.points, sizeof *r.point);
    cs_threads_blas_hold(true); /* the problems are many, and small */
    status =
        r.point ? cs_parallel(curve + r.points - 1, options->threads, solve, &s) : CS_ERR_MEMORY;
    cs_threads_blas_hold(false);
    if (status != CS_OK) goto done;
    memcpy(r.value, p[0].point.value, sizeof r.value);
    for (int64_t i = 0; i < r.points; ++i) {
        r.point[i] = p[i + 1 < r.points ? curve + i : 0].point;
    }
    r.unclipped = r.bias_left = r.se[CS_RANK_TAU_CORRECTED] = NAN;
    if ((status = fill_errors(&s, jackknife ? p + 1 : NULL, &r)) != CS_OK) goto done;
    if (jackknife && (status = fill_corrected(&s, p + 1, p + of_parts, &r)) != CS_OK) goto done;
    fill_guard(g, &r);
done:
    return CS_DELIVER(status, out, r, cs_effective_rank_free);
}

void cs_effective_rank_free(cs_effective_rank *r)
{
    CS_FREE_FIELDS(r, lambda, point, left_out, part_out);
    *r = (cs_effective_rank){0};
}
