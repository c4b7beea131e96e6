/* The list of numbers of a choice of documents, how it is measured and what its members are called. */
#include <math.h>
#include <string.h>

#include "analysis/measures/population_numbers.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/build_sequences.h"
#include "stats/moderated.h"

void cs_population_rows_free(cs_population_rows *rows)
{
    for (int64_t i = 0; i < rows->count; ++i) {
        cs_free(rows->row[i].left_out);
    }
    cs_free(rows->row);
    cs_connectivity_free(&rows->plug_in);
    memset(rows, 0, sizeof *rows);
}

cs_status cs_population_add(cs_population_rows *rows, const cs_population_row *row)
{
    cs_status status = cs_reserve(&rows->row, &rows->capacity, rows->count + 1, sizeof *rows->row);
    if (status == CS_OK) {
        rows->row[rows->count++] = *row;
    } else {
        cs_free(row->left_out);
    }
    return status;
}

/* --- the list --------------------------------------------------------------------------------- */

static const int tail_from[] = {1, 2, 4, 8};
static const char *const estimate_name[] = {"plug-in", "cross-fit", "distinct-document"};
static const char *const name_of[CS_POP_OF_ESTIMATE] = {
    "sum_sigma2", "sum_sigma4", "sigma_1", "sigma_2", "sigma_3", "sigma_4", "sigma_5",
    "sigma_6",    "sigma_7",    "sigma_8", "tail_1",  "tail_2",  "tail_4",  "tail_8"};
static const char *const definition_of[CS_POP_ESTIMATES][3] = {
    {"||Abar||_F^2", "||Abar^T Abar||_F^2", "j-th singular value"},
    {"mean of tr A_f' A_g over pairs of four quarters", "tr A_f' A_g A_h' A_i over four quarters",
     "root of the j-th eigenvalue of A_h' A_i on the leading vectors of A_f' A_g"},
    {"tr M / m; the interval is bias-corrected",
     "tr M_a M_b / (m_a m_b) over two halves; the interval is bias-corrected",
     "root of the j-th eigenvalue of M / m"}};
static const char *const held_name[CS_POP_HOLDS * CS_POP_OF_HOLD] = {
    "sum_sigma2_drift_4",  "sum_sigma4_drift_4",  "mass_seen_4",
    "sum_sigma2_drift_8",  "sum_sigma4_drift_8",  "mass_seen_8",
    "sum_sigma2_drift_16", "sum_sigma4_drift_16", "mass_seen_16"};
static const char *const held_definition[CS_POP_OF_HOLD] = {
    "tr M / m from contexts in at least that number of documents, less the value from all seen "
    "contexts",
    ("tr M_a M_b / (m_a m_b) from contexts in at least that number of documents per half, less the "
     "value from all seen contexts"),
    "share of mass in contexts in at least that number of documents"};
static const char tail_definition[] = "sum sigma^4 less those of sigma_1 .. sigma_t";

static void put_sums(double sum2, double sum4, const double *lambda, double *to)
{
    double left = sum4;
    to[CS_POP_SUM2] = sum2;
    to[CS_POP_SUM4] = sum4;
    for (int j = 0, t = 0; j < CS_LEADING; ++j) {
        to[CS_POP_SIGMA + j] = lambda[j] > 0 ? sqrt(lambda[j]) : lambda[j] <= 0 ? 0 : (double)NAN;
        left -= lambda[j] > 0 ? lambda[j] * lambda[j] : lambda[j] <= 0 ? 0 : (double)NAN;
        if (j + 1 == tail_from[t]) {
            to[CS_POP_TAIL + t++] = left;
        }
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Of what is prepared by document; the plan of the contexts gives way to that of the words. */
static cs_status count(cs_cooc_prepared *p, cs_population_counts *out)
{
    cs_population_counts counts = {.documents = p->corpus->documents};
    cs_status status = cs_cooc_build_prepared(p, &counts.rows);
    if (status == CS_OK) status = cs_context_index_of(&counts.rows, &counts.index);
    cs_context_plan_free(&p->plan);
    p->options.context = (cs_context){.mode = CS_CONTEXT_DOCUMENT, .n = 1};
    if (status == CS_OK) status = cs_cooc_build_prepared(p, &counts.words);
    return CS_DELIVER(status, out, counts, cs_population_counts_free);
}

cs_status cs_population_count(const cs_corpus *corpus, const cs_cooc_options *options,
                              cs_population_counts *out)
{
    cs_cooc_options o = *options;
    CS_AUTO(cs_cooc_prepared) p = {0};
    o.by_document = true;
    cs_status status = cs_cooc_prepare(corpus, &o, &p);
    return status == CS_OK ? count(&p, out) : status;
}

/* --- a choice of documents -------------------------------------------------------------------- */

void cs_population_study_free(cs_population_study *s)
{
    cs_population_counts_free(&s->counts);
    cs_dense_free(&s->start[0]);
    cs_dense_free(&s->start[1]);
    cs_pool_free(&s->pool);
}

/* Numbers the documents of the split in a random order: those too short for a sequence as well, so
 * that it is the same whatever the objective. */
static cs_status order_documents(cs_population_study *s, const cs_sequences *sequences)
{
    const cs_cooc_options *build = &s->plan->build;
    int32_t *order = cs_pool_take(&s->pool, s->corpus->documents, sizeof *order);
    cs_status status = s->pool.status;
    for (int64_t d = 0; d < s->corpus->documents && status == CS_OK; ++d) {
        s->rank[d] = cs_cooc_in_split(s->corpus, build->split, d) ? 0 : -1;
        s->documents += s->rank[d] == 0;
    }
    for (int64_t i = 0; i < sequences->count; ++i) { /* in the order of documents */
        s->filled += i == 0 || sequences->document[i] != sequences->document[i - 1];
    }
    if (status == CS_OK) {
        cs_rng rng = cs_rng_at(s->plan->seed, CS_STREAM_SPLIT, 0);
        cs_rng_permutation(&rng, s->documents, order);
    }
    for (int64_t d = 0, n = 0; d < s->corpus->documents && status == CS_OK; ++d) {
        s->rank[d] = s->rank[d] == 0 ? order[n++] : -1;
    }
    return status;
}

cs_status cs_population_study_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                 cs_population_study *out)
{
    cs_population_study s = {
        .corpus = corpus, .plan = plan, .gram = cs_context_gram(&plan->build.context)};
    cs_cooc_options build = plan->build;
    CS_AUTO(cs_cooc_prepared) p = {0};
    build.by_document = !s.gram;
    CS_POOL_FIELDS(&s.pool, corpus->documents, &s, rank, part);
    cs_status status = s.pool.status;
    if (status == CS_OK) status = cs_cooc_prepare(corpus, &build, &p);
    if (status == CS_OK) status = order_documents(&s, &p.sequences);
    if (status == CS_OK && !s.gram) status = count(&p, &s.counts);
    s.tokens = p.tokens;
    s.uncovered = p.uncovered;
    return CS_DELIVER(status, out, s, cs_population_study_free);
}

/* A block is a run of all folds where there are enough documents. */
static int64_t block_of(const cs_population_study *s, int64_t rank, int64_t size)
{
    const int64_t blocks = s->plan->blocks;
    return blocks > 0 ? rank / (size >= CS_FOLDS * blocks ? CS_FOLDS : 1) % blocks : 0;
}

int64_t cs_population_block(const cs_population_study *s, int64_t document)
{
    return block_of(s, s->rank[document], s->documents);
}

void cs_population_choose(cs_population_study *s, int64_t first, int64_t size, int64_t block)
{
    for (int64_t d = 0; d < s->corpus->documents; ++d) {
        const int64_t r = s->rank[d];
        const bool chosen = r >= first && r < first + size && r >= 0 &&
                            (block < 0 || block_of(s, r, size) != block);
        s->part[d] = chosen ? (uint8_t)(r % CS_FOLDS) : CS_LEFT_OUT;
    }
}

static void forget(double *values)
{
    cs_fill(CS_POP_VALUES, NAN, values);
}

/* Sums of the corpus' own matrix; sum sigma^4 where its cost is within the budget. */
static cs_status plain_sums(const cs_population_study *s, const cs_csr *a, double *to)
{
    const double budget = s->plan->spectrum.moment4_budget;
    double sum4 = NAN, lambda[CS_LEADING];
    CS_AUTO(cs_csr) abar = {0};
    cs_moment4_cost cost = {0};
    cs_status status = cs_normalise(a, &abar, NULL, NULL);
    if (status == CS_OK) status = cs_moment4_cost_of(&abar, &cost);
    if (status == CS_OK && cost.multiply_adds <= (budget > 0 ? budget : CS_MOMENT4_BUDGET))
        status = cs_moment4(&abar, s->plan->build.threads, NULL, &sum4);
    cs_fill(CS_LEADING, NAN, lambda);
    if (status == CS_OK) put_sums(cs_moment2(&abar), sum4, lambda, to);
    return status;
}

cs_status cs_population_measure_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_connectivity *keep, double *values)
{
    cs_connectivity_options o = *spectrum;
    cs_connectivity c = {0};
    double lambda[CS_LEADING];
    forget(values);
    if (!keep) {
        o.k = CS_CONNECTIVITY_SIGMAS;
        o.certify = CS_CERTIFY_COMPONENTS | CS_CERTIFY_MOMENTS;
        o.progress = NULL;
    }
    cs_status status = cs_connectivity_of(a, &o, &c);
    if (status != CS_OK) return status;
    const cs_spectrum *p = &c.spectrum;
    cs_connectivity_values(&c, values, !keep);
    for (int64_t j = 0; j < CS_LEADING; ++j) {
        lambda[j] = j < p->k ? p->sigma[j] * p->sigma[j] : p->rank >= 0 ? 0 : (double)NAN;
    }
    put_sums(p->moments.sum_sigma2,
             !keep && p->moments.sum4.samples > 0 ? (double)NAN : p->moments.sum_sigma4, lambda,
             values + cs_population_number(CS_POP_PLUG_IN, 0));
    if (keep) {
        *keep = c;
    } else {
        cs_connectivity_free(&c);
    }
    return CS_OK;
}

/* The matrix of the choice in s->part: a sum of rows, or of a corpus of its documents. */
static cs_status matrix_of(const cs_population_study *s, cs_cooc *out)
{
    CS_AUTO(cs_corpus) chosen = {0};
    if (!s->gram) {
        return cs_contexts_of(&s->counts.rows, s->part, &out->matrix.a);
    }
    CS_AUTO_FREE uint8_t *keep = cs_alloc(s->corpus->documents, 1);
    if (!keep) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < s->corpus->documents; ++d) {
        keep[d] = s->part[d] != CS_LEFT_OUT;
    }
    cs_status status = cs_corpus_select(s->corpus, keep, &chosen);
    return status == CS_OK ? cs_cooc_build(&chosen, &s->plan->build, out) : status;
}

/* The distinct-document sums without contexts of fewer than 4, 8, ... documents, less the sums with
 * them: 0 where these are like the others. */
static cs_status hold_back(const cs_population_study *s, cs_population_options o, double *values)
{
    cs_status status = CS_OK;
    o.leading = false;
    for (int i = 0; i < CS_POP_HOLDS && status == CS_OK; ++i) {
        double *to = &values[CS_POP_HELD + i * CS_POP_OF_HOLD];
        cs_population p = {0};
        o.least = INT64_C(4) << i;
        status = cs_population_of(&s->counts, s->part, &o, &p);
        to[CS_POP_DRIFT2] = p.corrected2 - values[CS_POP_CORRECTED2];
        to[CS_POP_DRIFT4] = p.corrected4 - values[CS_POP_CORRECTED4];
        to[CS_POP_LEFT] = p.seen;
    }
    return status;
}

/* The two halves of a choice's numbers, which have nothing to do with each other. */
typedef struct {
    const cs_population_study *s;
    cs_population_taken what;
    cs_connectivity *keep;
    double *values;
    cs_population_options o;
    cs_population language;
} measuring;

static cs_status measure_own(const measuring *m)
{
    const cs_population_study *s = m->s;
    CS_AUTO(cs_cooc) built = {0};
    cs_status status = matrix_of(s, &built);
    const cs_csr *a = &built.matrix.a;
    if (status == CS_OK && m->what >= CS_POP_SPECTRA) {
        status = cs_population_measure_matrix(a, &s->plan->spectrum, m->keep, m->values);
    } else if (status == CS_OK) {
        status = plain_sums(s, a, m->values + cs_population_number(CS_POP_PLUG_IN, 0));
    }
    return status;
}

static cs_status measure_half(void *ctx, int64_t half)
{
    measuring *m = ctx;
    return half == 0 ? measure_own(m)
                     : cs_population_of(&m->s->counts, m->s->part, &m->o, &m->language);
}

cs_status cs_population_measure(cs_population_study *s, cs_population_taken what,
                                cs_connectivity *keep, double *values)
{
    const bool spectra = what >= CS_POP_SPECTRA;
    measuring m = {.s = s,
                   .what = what,
                   .keep = keep,
                   .values = values,
                   .o = {.leading = what != CS_POP_SUMS,
                         .noise = spectra && keep,
                         .seed = s->plan->seed,
                         .threads = s->plan->build.threads,
                         .start = spectra ? s->start : NULL}};
    const cs_population *p = &m.language;
    forget(values);
    if (s->gram) return measure_own(&m);
    cs_threads_blas_hold(true); /* which the solvers set and restore, here side by side */
    cs_status status = cs_parallel(2, s->plan->build.threads, measure_half, &m);
    cs_threads_blas_hold(false);
    if (status != CS_OK) return status;
    put_sums(p->cross_fit.sum_sigma2, p->cross_fit.sum_sigma4, p->cross_fit.lambda,
             values + cs_population_number(CS_POP_CROSS_FIT, 0));
    put_sums(p->distinct.sum_sigma2, p->distinct.sum_sigma4, p->distinct.lambda,
             values + cs_population_number(CS_POP_DISTINCT, 0));
    values[CS_POP_SEEN] = p->seen;
    values[CS_POP_SEEN_HALVES] = p->seen_halves;
    values[CS_POP_CORRECTED2] = p->corrected2;
    values[CS_POP_CORRECTED4] = p->corrected4;
    values[CS_POP_NOISE] = p->noise;
    return what == CS_POP_HELD_BACK ? hold_back(s, m.o, values) : CS_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

bool cs_population_describe(int i, cs_population_taken what, cs_population_row *row)
{
    const int estimate = (i - CS_POP_ESTIMATED) / CS_POP_OF_ESTIMATE,
              number = (i - CS_POP_ESTIMATED) % CS_POP_OF_ESTIMATE;
    if (i < CS_POP_BELOW) {
        row->metric = cs_connectivity_metric[i].name;
        row->definition = cs_connectivity_metric[i].definition;
        row->estimate = estimate_name[CS_POP_PLUG_IN];
        return what >= CS_POP_SPECTRA;
    }
    if (i < CS_POP_ESTIMATED || i >= CS_POP_CORRECTED2) {
        return false;
    }
    if (i >= CS_POP_HELD) {
        row->metric = held_name[i - CS_POP_HELD];
        row->estimate = estimate_name[CS_POP_DISTINCT];
        row->definition = held_definition[(i - CS_POP_HELD) % CS_POP_OF_HOLD];
        return what == CS_POP_HELD_BACK;
    }
    if (i >= CS_POP_SEEN) {
        row->metric = i == CS_POP_SEEN ? "mass_seen" : "mass_seen_halves";
        row->definition = i == CS_POP_SEEN ? "m: share of mass in contexts of two documents"
                                           : "the same within the halves: mean of m_a and m_b";
        row->estimate = estimate_name[CS_POP_DISTINCT];
        return true;
    }
    row->metric = name_of[number];
    row->estimate = estimate_name[estimate];
    row->definition = number >= CS_POP_TAIL
                          ? tail_definition
                          : definition_of[estimate][number < CS_POP_SIGMA ? number : 2];
    row->corrected_interval = estimate == CS_POP_DISTINCT && number < CS_POP_SIGMA;
    return estimate == CS_POP_PLUG_IN ? (number >= CS_POP_SIGMA) == (what >= CS_POP_SPECTRA)
                                      : number < CS_POP_SIGMA || what != CS_POP_SUMS;
}

int cs_population_basis(int i)
{
    return i == cs_population_number(CS_POP_DISTINCT, CS_POP_SUM2)   ? CS_POP_CORRECTED2
           : i == cs_population_number(CS_POP_DISTINCT, CS_POP_SUM4) ? CS_POP_CORRECTED4
                                                                     : i;
}

int cs_population_tail_from(int number)
{
    return tail_from[number - CS_POP_TAIL];
}

/* --- the null ---------------------------------------------------------------------------------- */

/* A permutation test: the numbers of the corpus with its tokens shuffled over the documents. */

/* The tokens of the documents of the split, shuffled, in `token`. */
static cs_status shuffle(const cs_corpus *corpus, const cs_population_plan *plan, int64_t number,
                         int32_t *token)
{
    CS_AUTO_FREE int32_t *drawn = cs_alloc(corpus->tokens, sizeof *drawn);
    if (!drawn) return CS_ERR_MEMORY;
    for (int pass = 0; pass < 2; ++pass) {
        int64_t n = 0;
        for (int64_t d = 0; d < corpus->documents; ++d) {
            const int64_t from = corpus->doc_ptr[d], count = corpus->doc_ptr[d + 1] - from;
            if (cs_cooc_in_split(corpus, plan->build.split, d)) {
                memcpy(pass ? token + from : drawn + n, pass ? drawn + n : corpus->token + from,
                       (size_t)count * sizeof *token);
                n += count;
            }
        }
        if (!pass) {
            cs_rng rng = cs_rng_at(plan->seed, CS_STREAM_NULL, (uint64_t)number);
            cs_rng_shuffle(&rng, n, drawn);
        }
    }
    return CS_OK;
}

/* Mean and standard deviation of values[i CS_POP_VALUES + j] over the shuffles. */
static void distribution(int64_t count, const double *values, int j, double *mean,
                         double *deviation)
{
    double square = 0;
    *mean = 0;
    for (int64_t i = 0; i < count; ++i) {
        *mean += values[i * CS_POP_VALUES + j] / (double)count;
    }
    for (int64_t i = 0; i < count; ++i) {
        const double off = values[i * CS_POP_VALUES + j] - *mean;
        square += off * off;
    }
    *deviation = count > 1 ? sqrt(square / (double)(count - 1)) : (double)NAN;
}

static cs_status add_null(cs_population_rows *rows, int64_t documents, int64_t count, bool gram,
                          const double *values)
{
    cs_status status = CS_OK;
    for (int i = CS_POP_ESTIMATED;
         i < (gram ? cs_population_number(CS_POP_CROSS_FIT, 0) : CS_POP_VALUES) && status == CS_OK;
         ++i) {
        cs_population_row row = {.documents = documents};
        double center, spread;
        if (!cs_population_describe(i, CS_POP_LEADING, &row)) {
            continue;
        }
        distribution(count, values, cs_population_basis(i), &center, &spread);
        distribution(count, values, i, &row.value, &row.se);
        const double width = count > 1 ? cs_student_width(0.95, (double)(count - 1)) * spread *
                                             sqrt(1 + 1 / (double)count)
                                       : (double)NAN;
        row.low = center - width;
        row.high = center + width;
        status = cs_population_add(rows, &row);
    }
    return status;
}

cs_status cs_population_null(const cs_corpus *corpus, const cs_population_plan *plan,
                             cs_population_rows *out)
{
    cs_population_rows rows = {0};
    cs_corpus null = *corpus;
    int64_t documents = 0;
    CS_AUTO_FREE double *values = cs_alloc(plan->shuffles * CS_POP_VALUES, sizeof *values);
    null.token = cs_alloc(corpus->tokens, sizeof *null.token);
    cs_status status = values && null.token ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        memcpy(null.token, corpus->token, (size_t)corpus->tokens * sizeof *null.token);
    for (int64_t i = 0; i < plan->shuffles && status == CS_OK; ++i) {
        CS_AUTO(cs_population_study) s = {0};
        status = shuffle(corpus, plan, i, null.token);
        if (status == CS_OK) status = cs_population_study_of(&null, plan, &s);
        if (status == CS_OK) {
            documents = s.documents;
            cs_population_choose(&s, 0, documents, -1);
            status = cs_population_measure(&s, CS_POP_LEADING, NULL, values + i * CS_POP_VALUES);
        }
        cs_progress_report(plan->build.progress, "shuffles", i + 1, plan->shuffles);
    }
    if (status == CS_OK)
        status = add_null(&rows, documents, plan->shuffles, cs_context_gram(&plan->build.context),
                          values);
    cs_free(null.token);
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}
