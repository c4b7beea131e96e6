/* The cross-fitted and the distinct-document estimate of one choice of documents: sums over
 * pairs of tokens (cooc/by_document.c), their traces, inner products and
 * eigenvalues. */
#include "analysis/measures/population.h"

#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"

void cs_population_counts_free(cs_population_counts *counts)
{
    cs_context_index_free(&counts->index);
    cs_cooc_free(&counts->rows);
    cs_cooc_free(&counts->words);
}

/* --- marginals -------------------------------------------------------------------------------- */

/* s_v = 1 / sqrt(P_G(v)), 0 for absent tokens; f_v = P_G(v)^2 / (its estimate from two documents),
 * 0 for tokens of one document, which are in no pair. */
static cs_status marginals(const cs_population_counts *c, const uint8_t *part, double *s, double *f)
{
    const cs_csr *a = &c->rows.matrix.a, *words = &c->words.matrix.a;
    CS_AUTO(cs_pool) pool = {0};
    double *sum = cs_pool_take(&pool, a->cols, sizeof *sum);
    double *squares = cs_pool_take(&pool, a->cols, sizeof *squares);
    double total = 0, all = 0, of_documents = 0;
    cs_status status = pool.status;
    for (int64_t r = 0; r < a->rows && status == CS_OK; ++r) {
        for (int64_t e = a->ptr[r];
             part[cs_row_document(&c->rows.key[r])] != CS_LEFT_OUT && e < a->ptr[r + 1]; ++e) {
            s[a->col[e]] += a->val[e];
            total += a->val[e];
        }
    }
    for (int64_t d = 0; d < words->rows && status == CS_OK; ++d) {
        double mass = 0;
        for (int64_t e = words->ptr[d];
             part[cs_row_document(&c->words.key[d])] != CS_LEFT_OUT && e < words->ptr[d + 1]; ++e) {
            sum[words->col[e]] += words->val[e];
            squares[words->col[e]] += words->val[e] * words->val[e];
            mass += words->val[e];
        }
        all += mass;
        of_documents += mass * mass;
    }
    for (int64_t v = 0; v < a->cols && status == CS_OK; ++v) {
        const double pairs = sum[v] * sum[v] - squares[v];
        s[v] = s[v] > 0 ? sqrt(total / s[v]) : 0;
        f[v] = pairs > 1e-9 * squares[v]
                   ? sum[v] * sum[v] / pairs * (1 - of_documents / (all * all))
                   : 0;
    }
    return status;
}

/* --- eigenvalues ------------------------------------------------------------------------------ */

/* start: as that of cs_population_options. */
static cs_status leading(const cs_signed_gram *m, const cs_population_options *options,
                         cs_dense *start, double *lambda)
{
    const int64_t n = m->plus.cols, k = n < CS_LEADING ? n : CS_LEADING;
    const bool known = start && start->rows > 0;
    const cs_signed_gram_options o = {
        .seed = options->seed, .threads = options->threads, .start = known ? start : NULL};
    CS_AUTO(cs_dense) v = {0};
    cs_status status = cs_dense_init(&v, n, k);
    if (status == CS_OK) status = cs_signed_gram_leading(m, CS_LEADING, &o, lambda, &v);
    if (status == CS_OK && start && !known) {
        *start = v;
        v = (cs_dense){0};
    }
    return status;
}

/* --- estimates -------------------------------------------------------------------------------- */

enum { SPLITTINGS = CS_FOLDS - 1 };

/* x / y, NaN where nothing was seen. */
static double share(double x, double y)
{
    return y > 0 ? x / y : (double)NAN;
}

/* The current choice, with s and f of marginals(). */
typedef struct {
    const cs_population_counts *counts;
    const cs_population_options *options;
    const uint8_t *part, *quarter;
    const double *scale, *f;
} choice;

/* The inner product of the sums over pairs within chosen[0] and chosen[1], and over these times f_u
 * f_v; adds their traces to *trace. */
static cs_status multiply_pairs(const choice *c, cs_pair_options pairs, const unsigned *chosen,
                                double *plain, double *scaled, double *seen, double *trace)
{
    CS_AUTO(cs_signed_gram) a = {0}, b = {0};
    pairs.chosen = chosen[0];
    cs_status status =
        cs_pairs_of_contexts(&c->counts->rows, &c->counts->index, &pairs, &a, &seen[0]);
    pairs.chosen = chosen[1];
    if (status == CS_OK)
        status = cs_pairs_of_contexts(&c->counts->rows, &c->counts->index, &pairs, &b, &seen[1]);
    if (status != CS_OK) return status;
    *trace += cs_signed_gram_trace(&a, NULL) + cs_signed_gram_trace(&b, NULL);
    return cs_signed_gram_inner(&a, &b, c->f, c->options->threads, plain, scaled);
}

/* The sums of fourth powers, means over splittings and pairings, and the trace of the quarters'. */
static cs_status add_products(const choice *c, cs_population *out)
{
    static const unsigned quarters[CS_PAIRINGS][2] = {{3, 12}, {5, 10}, {9, 6}};
    cs_pair_options pairs = {.part = c->part,
                             .between = CS_PAIRS_OF_DOCUMENTS,
                             .least = c->options->least,
                             .scale = c->scale};
    double plain = 0, scaled = 0, seen[2] = {0}, trace = 0;
    cs_status status = CS_OK;
    for (int i = 1; i <= SPLITTINGS && status == CS_OK; ++i) {
        const unsigned half = cs_half_of_folds(i), halves[2] = {half, CS_ALL_FOLDS & ~half};
        status = multiply_pairs(c, pairs, halves, &plain, &scaled, seen, &trace);
        const double both = seen[0] * seen[1];
        out->distinct.sum_sigma4 += share(plain, both) / SPLITTINGS;
        out->corrected4 += share(scaled, both) / SPLITTINGS;
        out->seen_halves += (seen[0] + seen[1]) / (2 * SPLITTINGS);
    }
    pairs.part = c->quarter;
    pairs.between = CS_PAIRS_OF_PARTS;
    pairs.weight = 8;
    trace = 0;
    for (int i = 0; i < CS_PAIRINGS && c->options->least == 0 && status == CS_OK; ++i) {
        status = multiply_pairs(c, pairs, quarters[i], &plain, &scaled, seen, &trace);
        out->cross_fit.sum_sigma4 += plain / CS_PAIRINGS;
    }
    out->cross_fit.sum_sigma2 = trace / (2 * CS_PAIRINGS);
    return status;
}

/* Q: the mean over the twelve ordered pairs of quarters. */
static cs_pair_options all_quarters(const uint8_t *quarter, const double *scale)
{
    return (cs_pair_options){.part = quarter,
                             .chosen = 15,
                             .between = CS_PAIRS_OF_PARTS,
                             .weight = 16.0 / 12,
                             .scale = scale};
}

static cs_status take_cross_lambda(const choice *c, cs_population *out)
{
    if (c->options->least > 0 || !c->options->leading) return CS_OK;
    const cs_pair_options pairs = all_quarters(c->quarter, c->scale);
    CS_AUTO(cs_signed_gram) q = {0};
    double seen = 0;
    cs_status status = cs_pairs_of_contexts(&c->counts->rows, &c->counts->index, &pairs, &q, &seen);
    cs_dense *start = c->options->start;
    if (status == CS_OK)
        status = leading(&q, c->options, start ? start + 1 : NULL, out->cross_fit.lambda);
    return status;
}

/* M of all documents: sum sigma^2, the mass seen, eigenvalues. */
static cs_status add_whole(const choice *c, cs_population *out)
{
    const cs_pair_options pairs = {.part = c->part,
                                   .chosen = CS_ALL_FOLDS,
                                   .between = CS_PAIRS_OF_DOCUMENTS,
                                   .least = c->options->least,
                                   .scale = c->scale};
    CS_AUTO(cs_signed_gram) m = {0};
    cs_status status =
        cs_pairs_of_contexts(&c->counts->rows, &c->counts->index, &pairs, &m, &out->seen);
    if (status == CS_OK) {
        out->distinct.sum_sigma2 = share(cs_signed_gram_trace(&m, NULL), out->seen);
        out->corrected2 = share(cs_signed_gram_trace(&m, c->f), out->seen);
    }
    if (status == CS_OK && c->options->leading)
        status = leading(&m, c->options, c->options->start, out->distinct.lambda);
    const cs_signed_gram_options least = {.seed = c->options->seed, .threads = c->options->threads};
    if (status == CS_OK && c->options->noise) {
        status = cs_signed_gram_least(&m, &least, &out->noise);
        out->noise = share(fmax(0, -out->noise), out->seen);
    }
    for (int j = 0; j < CS_LEADING && status == CS_OK; ++j) {
        out->distinct.lambda[j] = share(out->distinct.lambda[j], out->seen);
    }
    return status;
}

double cs_eigenvalue_without_noise(double lambda, double noise)
{
    return lambda <= noise ? 0 : (lambda + sqrt(lambda * lambda - noise * noise)) / 2;
}

static void multiply(cs_csr *a, double by)
{
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        a->val[e] *= by;
    }
}

static void take_quarters(const uint8_t *part, int64_t documents, uint8_t *quarter)
{
    for (int64_t d = 0; d < documents; ++d) {
        quarter[d] = part[d] == CS_LEFT_OUT ? CS_LEFT_OUT : part[d] / 2;
    }
}

cs_status cs_population_matrix(const cs_population_counts *counts, const uint8_t *part,
                               cs_population_estimate estimate, unsigned chosen,
                               cs_signed_gram *out, double *seen, double *scale)
{
    const int64_t cols = counts->rows.matrix.a.cols;
    const bool distinct = estimate == CS_DISTINCT_DOCUMENT;
    cs_signed_gram m = {0};
    CS_AUTO(cs_pool) pool = {0};
    double *s = cs_pool_take(&pool, cols, sizeof *s), *f = cs_pool_take(&pool, cols, sizeof *f);
    uint8_t *quarter = cs_pool_take(&pool, counts->documents, sizeof *quarter);
    cs_status status = pool.status;
    if (status == CS_OK) status = marginals(counts, part, s, f);
    if (status == CS_OK) take_quarters(part, counts->documents, quarter);
    const cs_pair_options pairs = distinct ? (cs_pair_options){.part = part,
                                                               .chosen = chosen,
                                                               .between = CS_PAIRS_OF_DOCUMENTS,
                                                               .scale = s}
                                           : all_quarters(quarter, s);
    if (status == CS_OK)
        status = cs_pairs_of_contexts(&counts->rows, &counts->index, &pairs, &m, seen);
    if (status == CS_OK && !(*seen > 0))
        status =
            cs_fail(CS_ERR_INPUT,
                    "no context occurs in two %s, so nothing can be estimated about the language",
                    distinct ? "documents" : "quarters of the documents");
    const double share_seen = distinct ? *seen : 1;
    for (int64_t v = 0; v < cols && status == CS_OK; ++v) {
        m.diagonal[v] /= share_seen;
        if (scale) {
            scale[v] = s[v];
        }
    }
    if (status == CS_OK) {
        multiply(&m.plus, 1 / sqrt(share_seen));
        multiply(&m.minus, 1 / sqrt(share_seen));
    }
    return CS_DELIVER(status, out, m, cs_signed_gram_free);
}

/* The parts set members of their own. */
typedef struct {
    const choice *c;
    cs_population *out;
} taking;

static cs_status take_part(void *ctx, int64_t part)
{
    const taking *t = ctx;
    return part == 0   ? add_whole(t->c, t->out)
           : part == 1 ? add_products(t->c, t->out)
                       : take_cross_lambda(t->c, t->out);
}

cs_status cs_population_of(const cs_population_counts *counts, const uint8_t *part,
                           const cs_population_options *options, cs_population *out)
{
    const int64_t cols = counts->rows.matrix.a.cols;
    cs_population result = {.noise = NAN};
    CS_AUTO(cs_pool) pool = {0};
    double *scale = cs_pool_take(&pool, cols, sizeof *scale);
    double *f = cs_pool_take(&pool, cols, sizeof *f);
    uint8_t *quarter = cs_pool_take(&pool, counts->documents, sizeof *quarter);
    const choice c = {counts, options, part, quarter, scale, f};
    cs_status status = pool.status;
    for (int j = 0; j < CS_LEADING; ++j) {
        result.cross_fit.lambda[j] = result.distinct.lambda[j] = NAN;
    }
    if (status == CS_OK) take_quarters(part, counts->documents, quarter);
    if (status == CS_OK) status = marginals(counts, part, scale, f);
    taking t = {&c, &result};
    cs_threads_blas_hold(true); /* as cs_population_measure */
    if (status == CS_OK) status = cs_parallel(3, options->threads, take_part, &t);
    cs_threads_blas_hold(false);
    if (status != CS_OK) return status;
    *out = result;
    return CS_OK;
}
