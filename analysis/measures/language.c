/* The leading spectrum of a language: a list of numbers is taken of all documents and of those without
 * each block. */
#include "analysis/measures/language.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/population_numbers.h"
#include "base/auto.h"
#include "base/mem.h"
#include "stats/jackknife.h"
#include "text/synthetic.h"

/* The list: both sums, the sums that their intervals are of, m, lambda (k), tails (k + 1). */
enum { SUM2, SUM4, CORRECTED2, CORRECTED4, SEEN, LAMBDA };

void cs_language_free(cs_language *l)
{
    cs_signed_gram_free(&l->m);
    cs_dense_free(&l->v);
    CS_FREE_FIELDS(l, residual, lambda, tail, list);
    memset(l, 0, sizeof *l);
}

static int64_t length_of(int64_t k)
{
    return LAMBDA + 2 * k + 1;
}

const double *cs_language_lambda(const cs_language *l, int64_t b)
{
    return l->list + (b + 1) * length_of(l->k) + LAMBDA;
}

/* The list of the documents that were chosen; of all (keep) also matrix and vectors stay. */
static cs_status measure(const cs_population_study *s, const cs_language_options *o, cs_language *l,
                         bool keep, double *value)
{
    const bool distinct = o->estimate == CS_DISTINCT_DOCUMENT;
    const cs_population_options sums = {
        .least = distinct ? 2 : 0, .seed = o->seed, .threads = o->threads};
    const cs_signed_gram_options eigen = {
        .seed = o->seed, .threads = o->threads, .start = keep ? NULL : &l->v};
    CS_AUTO(cs_signed_gram) m = {0};
    cs_population p = {0};
    cs_status status = cs_population_matrix(&s->counts, s->part, o->estimate, CS_ALL_FOLDS, &m,
                                            &value[SEEN], NULL);
    if (status == CS_OK) status = cs_population_of(&s->counts, s->part, &sums, &p);
    if (status == CS_OK)
        status = cs_signed_gram_leading(&m, l->k, &eigen, value + LAMBDA, keep ? &l->v : NULL);
    const cs_population_sums *sum = distinct ? &p.distinct : &p.cross_fit;
    value[SUM2] = sum->sum_sigma2;
    value[SUM4] = sum->sum_sigma4;
    value[CORRECTED2] = distinct ? p.corrected2 : sum->sum_sigma2;
    value[CORRECTED4] = distinct ? p.corrected4 : sum->sum_sigma4;
    double left = sum->sum_sigma4;
    for (int64_t t = 0; t <= l->k && status == CS_OK; ++t) {
        const double lambda = t < l->k ? fmax(0, value[LAMBDA + t]) : 0;
        value[LAMBDA + l->k + t] = left;
        left -= lambda * lambda;
    }
    if (status == CS_OK && keep) {
        l->m = m;
        m = (cs_signed_gram){0};
    }
    return status;
}

static cs_status take_residuals(const cs_language_options *o, const double *lambda, cs_language *l)
{
    CS_AUTO(cs_dense) y = {0};
    cs_status status = cs_dense_init(&y, l->v.rows, l->k);
    if (status == CS_OK) status = cs_signed_gram_apply(&l->m, &l->v, o->threads, &y);
    for (int64_t j = 0; j < l->k && status == CS_OK; ++j) {
        double square = 0;
        for (int64_t i = 0; i < y.rows; ++i) {
            const double off = y.data[i + j * y.ld] - lambda[j] * l->v.data[i + j * l->v.ld];
            square += off * off;
        }
        l->residual[j] = sqrt(square);
    }
    return status;
}

/* Number i of the lists; its interval is of number `basis`. */
static cs_language_number number_of(const cs_language *l, int64_t i, int64_t basis)
{
    const double *value = l->list;
    const int64_t length = length_of(l->k), blocks = l->blocks;
    cs_language_number n = {.value = value[i], .se = NAN, .low = NAN, .high = NAN};
    if (blocks > 1) {
        n.se = cs_jackknife_error(blocks, value + length + i, length);
        cs_jackknife_interval(blocks, value[basis], value + length + basis, length, basis != i,
                              &n.low, &n.high);
    }
    return n;
}

/* Those of eigenvalues and tails, in which there is noise. */
static void widen(cs_language *l)
{
    const int64_t length = length_of(l->k);
    const double *without = l->list + length;
    double excess = 0;
    for (int64_t t = 0; t < l->k && l->blocks > 1; ++t) {
        cs_language_number *x = &l->lambda[t], *tail = &l->tail[t + 1];
        const int64_t at = LAMBDA + t, behind = LAMBDA + l->k + t + 1;
        const double lambda = fmax(0, x->value),
                     left = cs_eigenvalue_without_noise(lambda, l->noise);
        excess += t > 0 ? lambda * lambda - left * left : 0; /* sigma_1 = 1 is no noise */
        cs_jackknife_hull(l->blocks, x->value, without + at, length, &x->low, &x->high);
        cs_jackknife_hull(l->blocks, tail->value, without + behind, length, &tail->low,
                          &tail->high);
        x->low = cs_eigenvalue_without_noise(x->low, l->noise);
        tail->high += excess;
        cs_interval_clip("tail_", &tail->low, &tail->high);
    }
}

static void fill_language(cs_language *l)
{
    const bool distinct = l->estimate == CS_DISTINCT_DOCUMENT;
    l->sum2 = number_of(l, SUM2, distinct ? CORRECTED2 : SUM2);
    l->sum4 = number_of(l, SUM4, distinct ? CORRECTED4 : SUM4);
    l->seen = number_of(l, SEEN, SEEN);
    cs_interval_clip("sum_sigma2", &l->sum2.low, &l->sum2.high);
    cs_interval_clip("sum_sigma4", &l->sum4.low, &l->sum4.high);
    cs_interval_clip("mass_seen", &l->seen.low, &l->seen.high);
    for (int64_t t = 0; t <= l->k; ++t) {
        l->tail[t] = number_of(l, LAMBDA + l->k + t, LAMBDA + l->k + t);
        l->tail[t].low = l->tail[t].high = NAN;
        if (t < l->k) {
            l->lambda[t] = number_of(l, LAMBDA + t, LAMBDA + t);
            l->lambda[t].low = l->lambda[t].high = NAN;
        }
    }
    if (distinct) widen(l);
    l->tail[0] = l->sum4;
}

/* Refuses the population itself, where every text occurs with its weight: estimates need drawn
 * documents. */
static cs_status check_drawn(const cs_corpus *corpus)
{
    CS_AUTO(cs_synthetic) language = {0};
    if (!corpus->path || !cs_synthetic_named(corpus->path)) {
        return CS_OK;
    }
    cs_status status = cs_synthetic_parse(corpus->path, &language);
    if (status == CS_OK && language.documents != corpus->documents + corpus->dropped_documents)
        status =
            cs_fail(CS_ERR_USAGE,
                    "%s: this is the matrix of the population itself, but estimates need documents",
                    corpus->path);
    return status;
}

static cs_status check_options(const cs_cooc_options *build, const cs_language_options *o,
                               int64_t cols, int64_t documents)
{
    return cs_context_gram(&build->context)
               ? cs_fail(CS_ERR_USAGE, "contexts that are all different cannot estimate the "
                                       "language; give a shorter context")
           : o->k < 1 || o->k > cols
               ? cs_fail(CS_ERR_USAGE, "%lld eigenvalues requested, but 1 to %lld are possible",
                         (long long)o->k, (long long)cols)
           : o->blocks < 0 || o->blocks == 1 || o->blocks > documents
               ? cs_fail(CS_ERR_USAGE,
                         "%lld jackknife blocks: expected 0, or 2 to the number of documents, %lld",
                         (long long)o->blocks, (long long)documents)
               : CS_OK;
}

cs_status cs_language_of(const cs_corpus *corpus, const cs_cooc_options *build,
                         const cs_language_options *options, cs_language *out)
{
    const cs_population_plan plan = {
        .build = *build, .blocks = options->blocks, .seed = options->seed};
    cs_language l = {.estimate = options->estimate, .k = options->k, .blocks = options->blocks};
    CS_AUTO(cs_population_study) s = {0};
    cs_status status = check_drawn(corpus);
    if (status == CS_OK) status = check_options(build, options, corpus->vocab, corpus->documents);
    if (status == CS_OK) status = cs_population_study_of(corpus, &plan, &s);
    l.documents = s.documents;
    if (status == CS_OK)
        status = check_options(build, options, s.counts.rows.matrix.a.cols, s.filled);
    if (status == CS_OK) status = cs_dense_init(&l.v, s.counts.rows.matrix.a.cols, l.k);
    if (status == CS_OK) {
        l.list = cs_alloc((l.blocks + 1) * length_of(l.k), sizeof *l.list);
        l.residual = cs_alloc(l.k, sizeof *l.residual);
        l.lambda = cs_alloc(l.k, sizeof *l.lambda);
        l.tail = cs_alloc(l.k + 1, sizeof *l.tail);
        status = l.list && l.residual && l.lambda && l.tail ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t b = -1; b < l.blocks && status == CS_OK; ++b) {
        cs_population_choose(&s, 0, s.documents, b);
        status = measure(&s, options, &l, b < 0, l.list + (b + 1) * length_of(l.k));
        cs_progress_report(options->progress, "blocks left out", b + 1, l.blocks);
    }
    const cs_signed_gram_options least = {.seed = options->seed, .threads = options->threads};
    if (status == CS_OK && l.estimate == CS_DISTINCT_DOCUMENT && l.blocks > 1) {
        status = cs_signed_gram_least(&l.m, &least, &l.noise);
        l.noise = fmax(0, -l.noise);
    }
    if (status == CS_OK) status = take_residuals(options, l.list + LAMBDA, &l);
    if (status == CS_OK) fill_language(&l);
    return CS_DELIVER(status, out, l, cs_language_free);
}

/* --- record ----------------------------------------------------------------------------------- */

const cs_view cs_language_view = {
    "spectrum[]",
    "index sigma sigma_low sigma_high lambda lambda_se lambda_low lambda_high residual "
    "tail tail_low tail_high"};

static void put_number(cs_item *in, const char *key, const cs_language_number *n)
{
    cs_item *item = cs_item_object(in, key);
    CS_ITEM_FIELDS(item, n, value, se, low, high);
}

/* sigma = sqrt(max(lambda, 0)), and so for both ends of its interval, which is in [0, 1]. */
static void put_eigenvalue(cs_item *row, const cs_language_number *lambda)
{
    const bool known = !isnan(lambda->low); /* fmax(0, NaN) is 0 */
    double low = known ? sqrt(fmax(0, lambda->low)) : (double)NAN,
           high = known ? sqrt(fmax(0, lambda->high)) : (double)NAN;
    cs_interval_clip("sigma", &low, &high);
    cs_item_real(row, "sigma", sqrt(fmax(0, lambda->value)));
    cs_item_real(row, "sigma_low", low);
    cs_item_real(row, "sigma_high", high);
    cs_item_real(row, "lambda", lambda->value);
    cs_item_real(row, "lambda_se", lambda->se);
    cs_item_real(row, "lambda_low", lambda->low);
    cs_item_real(row, "lambda_high", lambda->high);
}

void cs_language_record(const cs_language *l, cs_item *root)
{
    cs_item_text(root, "estimate",
                 l->estimate == CS_DISTINCT_DOCUMENT ? "distinct-document" : "cross-fit");
    CS_ITEM_FIELDS(root, l, documents, blocks);
    put_number(root, "mass_seen", &l->seen);
    put_number(root, "sum_sigma2", &l->sum2);
    put_number(root, "sum_sigma4", &l->sum4);
    cs_item *rows = cs_item_array(root, "spectrum");
    for (int64_t j = 0; j < l->k; ++j) {
        cs_item *row = cs_item_object(rows, NULL);
        cs_item_int(row, "index", j + 1);
        put_eigenvalue(row, &l->lambda[j]);
        cs_item_real(row, "residual", l->residual[j]);
        cs_item_real(row, "tail", l->tail[j + 1].value);
        cs_item_real(row, "tail_low", l->tail[j + 1].low);
        cs_item_real(row, "tail_high", l->tail[j + 1].high);
    }
}

/* --- density ---------------------------------------------------------------------------------- */

const cs_view cs_language_density_view = {
    "curve[]", "lambda density density_low density_high above above_low above_high"};

/* lambda = x^2 - c, so that per unit of lambda there is 1 / (2 x) of what there is per unit of x. */
static void put_curve(const cs_density *d, const double *x, double c, cs_item *curve)
{
    for (int64_t i = 0; i < d->points; ++i) {
        const double per = x[i] > 0 ? 1 / (2 * x[i]) : (double)NAN;
        cs_item *point = cs_item_object(curve, NULL);
        cs_item_real(point, "lambda", x[i] * x[i] - c);
        cs_item_real(point, "density", per * d->density[i].value);
        cs_item_real(point, "density_low", per * d->density[i].low);
        cs_item_real(point, "density_high", per * d->density[i].high);
        cs_item_real(point, "above", d->above[i].value);
        cs_item_real(point, "above_low", d->above[i].low);
        cs_item_real(point, "above_high", d->above[i].high);
    }
}

cs_status cs_language_density(const cs_language *l, const cs_spectrum_density_options *o,
                              cs_item *root)
{
    const int64_t n = l->v.rows, start[] = {0, n};
    CS_AUTO(cs_signed_gram_shift) shift = {0};
    CS_AUTO(cs_density) d = {0};
    CS_AUTO(cs_pool) pool = {0};
    double *x = cs_pool_take(&pool, o->bins + 1, sizeof *x);
    double *known = cs_pool_take(&pool, l->k, sizeof *known), sum2 = 0;
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_signed_gram_shift_of(&l->m, o->spectrum.threads, &shift);
    for (int64_t j = 0; j < l->k && status == CS_OK; ++j) {
        known[j] = sqrt(fmax(0, l->lambda[j].value + shift.c));
    }
    for (int64_t i = 0; i <= o->bins && status == CS_OK; ++i) {
        x[i] = known[0] * (double)i / (double)o->bins;
    }
    const cs_density_known taken = {
        .blocks = 1, .count = l->k, .start = start, .v = &l->v, .sigma = known};
    const cs_density_options options = {.samples = o->samples,
                                        .degree = o->degree,
                                        .top = status == CS_OK ? known[l->k - 1] * (1 + 1e-6) : 1,
                                        .gram = true,
                                        .width = o->width,
                                        .level = o->level,
                                        .known = &taken,
                                        .points = o->bins + 1,
                                        .x = x,
                                        .seed = o->spectrum.seed,
                                        .threads = o->spectrum.threads,
                                        .progress = o->spectrum.progress};
    if (status == CS_OK) status = cs_density_of(&shift.op, &options, &d);
    if (status == CS_OK)
        status = cs_signed_gram_inner(&l->m, &l->m, NULL, o->spectrum.threads, &sum2, NULL);
    if (status == CS_OK) {
        cs_item_real(root, "shift", shift.c);
        cs_item_real(root, "sum_lambda", cs_signed_gram_trace(&l->m, NULL));
        cs_item_real(root, "sum_lambda2", sum2);
        put_curve(&d, x, shift.c, cs_item_array(root, "curve"));
    }
    return status;
}
