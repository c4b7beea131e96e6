/* The numbers of a corpus as rows: one list of values is taken of a choice of documents, and
 * jackknife, smaller corpora and null are choices. */
#include "analysis/measures/population_rows.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "cooc/build_sequences.h"
#include "stats/jackknife.h"
#include "stats/student.h"

/* --- the list --------------------------------------------------------------------------------- */

/* Of each estimate: sum sigma^2, sum sigma^4, sigma_j, tails. */
enum { SUM2, SUM4, SIGMA, TAIL = SIGMA + CS_LEADING, OF_ESTIMATE = TAIL + 4 };
enum { PLUG_IN, CROSS_FIT, DISTINCT, ESTIMATES };

/* The list: metrics of the corpus' matrix, its values below 1, the three estimates, and what is of
 * the distinct-document one alone. */
enum {
    BELOW = CS_CONNECTIVITY_METRICS,
    ESTIMATED = BELOW + CS_CONNECTIVITY_SIGMAS,
    SEEN = ESTIMATED + ESTIMATES * OF_ESTIMATE,
    SEEN_HALVES,
    CORRECTED2, /* not a row: intervals of the sums rest on them */
    CORRECTED4,
    VALUES
};

static const int tail_from[] = {1, 2, 4, 8};
static const char *const estimate_name[] = {"plug-in", "cross-fit", "distinct-document"};
static const char *const name_of[OF_ESTIMATE] = {
    "sum_sigma2", "sum_sigma4", "sigma_1", "sigma_2", "sigma_3", "sigma_4", "sigma_5",
    "sigma_6",    "sigma_7",    "sigma_8", "tail_1",  "tail_2",  "tail_4",  "tail_8"};
static const char *const definition_of[ESTIMATES][3] = {
    {"||Abar||_F^2", "||Abar^T Abar||_F^2", "j-th singular value"},
    {"mean of tr A_f' A_g over pairs of four quarters", "tr A_f' A_g A_h' A_i over four quarters",
     "root of the j-th eigenvalue of A_h' A_i on the leading vectors of A_f' A_g"},
    {"tr M / m; interval without the bias",
     "tr M_a M_b / (m_a m_b) over two halves; interval without the bias",
     "root of the j-th eigenvalue of M / m"}};
static const char tail_definition[] = "sum sigma^4 less those of sigma_1 .. sigma_t";

/* What is taken of a choice of documents: the sums; lambda besides, but of the plug-in; all. */
typedef enum { SUMS, LEADING, SPECTRA } measured;

static int estimated(int estimate, int number)
{
    return ESTIMATED + estimate * OF_ESTIMATE + number;
}

static void put_sums(double sum2, double sum4, const double *lambda, double *to)
{
    double left = sum4;
    to[SUM2] = sum2;
    to[SUM4] = sum4;
    for (int j = 0, t = 0; j < CS_LEADING; ++j) {
        to[SIGMA + j] = lambda[j] > 0 ? sqrt(lambda[j]) : lambda[j] <= 0 ? 0 : (double)NAN;
        left -= lambda[j] > 0 ? lambda[j] * lambda[j] : lambda[j] <= 0 ? 0 : (double)NAN;
        if (j + 1 == tail_from[t]) {
            to[TAIL + t++] = left;
        }
    }
}

/* --- a choice of documents -------------------------------------------------------------------- */

typedef struct {
    const cs_corpus *corpus;
    const cs_population_plan *plan;
    bool gram; /* contexts are not at hand: a corpus is counted anew for every choice */
    cs_population_counts counts;
    int64_t documents; /* that have sequences */
    int32_t *rank;     /* by document of the corpus, -1: it has none */
    uint8_t *part;     /* of the choice at hand */
    cs_dense start;    /* leading vectors of all documents */
    cs_pool pool;
} study;

static void study_free(study *s)
{
    cs_population_counts_free(&s->counts);
    cs_dense_free(&s->start);
    cs_pool_free(&s->pool);
}

/* Numbers the documents that have sequences in a random order. */
static cs_status order_documents(study *s)
{
    cs_sequences sequences = {0};
    int64_t skipped = 0;
    int32_t *order = cs_pool_take(&s->pool, s->corpus->documents, sizeof *order);
    cs_status status = s->pool.status;
    if (status == CS_OK)
        status = cs_cooc_sequences(s->corpus, &s->plan->build, &sequences, &skipped);
    for (int64_t i = 0; i < sequences.count; ++i) { /* in the order of documents */
        s->documents += i == 0 || sequences.document[i] != sequences.document[i - 1];
        s->part[sequences.document[i]] = 1;
    }
    if (status == CS_OK) {
        cs_rng rng = cs_rng_at(s->plan->seed, CS_STREAM_SPLIT, 0);
        cs_rng_permutation(&rng, s->documents, order);
    }
    for (int64_t d = 0, n = 0; d < s->corpus->documents && status == CS_OK; ++d) {
        s->rank[d] = s->part[d] ? order[n++] : -1;
    }
    cs_sequences_free(&sequences);
    return status;
}

static cs_status study_of(const cs_corpus *corpus, const cs_population_plan *plan, study *out)
{
    study s = {.corpus = corpus, .plan = plan, .gram = cs_context_gram(&plan->build.context)};
    s.rank = cs_pool_take(&s.pool, corpus->documents, sizeof *s.rank);
    s.part = cs_pool_take(&s.pool, corpus->documents, sizeof *s.part);
    cs_status status = s.pool.status;
    if (status == CS_OK) status = order_documents(&s);
    if (status == CS_OK && !s.gram) status = cs_population_count(corpus, &plan->build, &s.counts);
    return CS_DELIVER(status, out, s, study_free);
}

/* `size` documents of the order from the first-th on, but those of one block (-1: none). A document
 * is in the same block whatever the size, so that differences between sizes are paired. */
static void choose(const study *s, int64_t first, int64_t size, int64_t block)
{
    const int64_t blocks = s->plan->blocks, run = size >= CS_FOLDS * blocks ? CS_FOLDS : 1;
    for (int64_t d = 0; d < s->corpus->documents; ++d) {
        const int64_t r = s->rank[d];
        const bool chosen =
            r >= first && r < first + size && r >= 0 && (block < 0 || r / run % blocks != block);
        s->part[d] = chosen ? (uint8_t)(r % CS_FOLDS) : CS_LEFT_OUT;
    }
}

static void forget(double *values)
{
    for (int i = 0; i < VALUES; ++i) {
        values[i] = NAN;
    }
}

/* Sums of the corpus' own matrix; sum sigma^4 where its cost is within the budget. */
static cs_status plain_sums(const study *s, const cs_csr *a, double *to)
{
    const double budget = s->plan->spectrum.moment4_budget;
    double sum4 = NAN, lambda[CS_LEADING];
    cs_csr abar = {0};
    cs_moment4_cost cost = {0};
    cs_status status = cs_normalise(a, &abar, NULL, NULL);
    if (status == CS_OK) status = cs_moment4_cost_of(&abar, &cost);
    if (status == CS_OK && cost.multiply_adds <= (budget > 0 ? budget : CS_MOMENT4_BUDGET))
        status = cs_moment4(&abar, s->plan->build.threads, NULL, &sum4);
    for (int j = 0; j < CS_LEADING; ++j) {
        lambda[j] = NAN;
    }
    if (status == CS_OK) put_sums(cs_moment2(&abar), sum4, lambda, to);
    cs_csr_free(&abar);
    return status;
}

/* The matrix of the corpus; keep: where its connectivity goes, NULL of a part of it. */
static cs_status spectral_sums(const cs_csr *a, const cs_connectivity_options *spectrum,
                               cs_connectivity *keep, double *values)
{
    cs_connectivity_options o = *spectrum;
    cs_connectivity c = {0};
    double lambda[CS_LEADING];
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
    put_sums(p->sum_sigma2, !keep && p->sum4.samples > 0 ? (double)NAN : p->sum_sigma4, lambda,
             values + estimated(PLUG_IN, 0));
    if (keep) {
        *keep = c;
    } else {
        cs_connectivity_free(&c);
    }
    return CS_OK;
}

/* The matrix of the choice in s->part: a sum of rows, or of a corpus of its documents. */
static cs_status matrix_of(const study *s, cs_cooc *out)
{
    cs_corpus chosen = {0};
    if (!s->gram) {
        return cs_contexts_of(&s->counts.rows, s->part, &out->matrix.a);
    }
    uint8_t *keep = cs_alloc(s->corpus->documents, 1);
    if (!keep) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < s->corpus->documents; ++d) {
        keep[d] = s->part[d] != CS_LEFT_OUT;
    }
    cs_status status = cs_corpus_select(s->corpus, keep, &chosen);
    if (status == CS_OK) status = cs_cooc_build(&chosen, &s->plan->build, out);
    cs_corpus_free(&chosen);
    cs_free(keep);
    return status;
}

/* The list of values of the choice in s->part; NaN for what is not taken. */
static cs_status measure(study *s, measured what, cs_connectivity *keep, double *values)
{
    cs_cooc built = {0};
    cs_population p = {0};
    const cs_population_options o = {.leading = what != SUMS,
                                     .seed = s->plan->seed,
                                     .threads = s->plan->build.threads,
                                     .start = what == SPECTRA ? &s->start : NULL};
    forget(values);
    cs_status status = matrix_of(s, &built);
    if (status == CS_OK)
        status = what == SPECTRA ? spectral_sums(&built.matrix.a, &s->plan->spectrum, keep, values)
                                 : plain_sums(s, &built.matrix.a, values + estimated(PLUG_IN, 0));
    cs_cooc_free(&built);
    if (status != CS_OK || s->gram ||
        (status = cs_population_of(&s->counts, s->part, &o, &p)) != CS_OK)
        return status;
    put_sums(p.cross_fit.sum_sigma2, p.cross_fit.sum_sigma4, p.cross_fit.lambda,
             values + estimated(CROSS_FIT, 0));
    put_sums(p.distinct.sum_sigma2, p.distinct.sum_sigma4, p.distinct.lambda,
             values + estimated(DISTINCT, 0));
    values[SEEN] = p.seen;
    values[SEEN_HALVES] = p.seen_halves;
    values[CORRECTED2] = p.corrected2;
    values[CORRECTED4] = p.corrected4;
    return CS_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

void cs_population_rows_free(cs_population_rows *rows)
{
    cs_free(rows->row);
    cs_connectivity_free(&rows->plug_in);
    memset(rows, 0, sizeof *rows);
}

static cs_status add_row(cs_population_rows *rows, const cs_population_row *row)
{
    cs_status status = cs_reserve(&rows->row, &rows->room, rows->count + 1, sizeof *rows->row);
    if (status != CS_OK) return status;
    rows->row[rows->count++] = *row;
    return CS_OK;
}

/* What the i-th value is called; false: it is no row. The sums of the plug-in are among the metrics
 * of the matrix where these are taken. */
static bool describe(int i, measured what, cs_population_row *row)
{
    const int estimate = (i - ESTIMATED) / OF_ESTIMATE, number = (i - ESTIMATED) % OF_ESTIMATE;
    if (i < BELOW) {
        row->metric = cs_connectivity_metric[i].name;
        row->definition = cs_connectivity_metric[i].definition;
        row->estimate = estimate_name[PLUG_IN];
        return what == SPECTRA;
    }
    if (i < ESTIMATED || i > SEEN_HALVES) {
        return false;
    }
    if (i >= SEEN) {
        row->metric = i == SEEN ? "mass_seen" : "mass_seen_halves";
        row->definition = i == SEEN ? "m: share of mass in contexts of two documents"
                                    : "the same within the halves: mean of m_a and m_b";
        row->estimate = estimate_name[DISTINCT];
        return true;
    }
    row->metric = name_of[number];
    row->estimate = estimate_name[estimate];
    row->definition =
        number >= TAIL ? tail_definition : definition_of[estimate][number < SIGMA ? number : 2];
    return estimate == PLUG_IN ? (number >= SIGMA) == (what == SPECTRA)
                               : number < SIGMA || what != SUMS;
}

/* Where the interval of a value is centred, and on which scale. */
static int basis_of(int i)
{
    return i == estimated(DISTINCT, SUM2)   ? CORRECTED2
           : i == estimated(DISTINCT, SUM4) ? CORRECTED4
                                            : i;
}

/* An interval of value i from all and from without[b VALUES + i]. */
static void enclose(int i, int64_t blocks, const double *all, const double *without,
                    cs_population_row *row)
{
    const bool jackknifed = i >= BELOW || cs_connectivity_metric[i].interval;
    const int basis = basis_of(i);
    row->se = row->low = row->high = NAN;
    if (!jackknifed || blocks < 2) {
        return;
    }
    row->se = cs_jackknife_error(blocks, without + i, VALUES);
    row->blocks = isnan(row->se) ? 0 : blocks;
    if (i >= estimated(DISTINCT, 0) && i < SEEN) {
        cs_jackknife_interval(blocks, all[basis], without + basis, VALUES, basis != i, &row->low,
                              &row->high);
    } else if (row->blocks > 0) {
        const double width = cs_student_width(0.95, (double)(blocks - 1)) * row->se;
        row->low = all[i] - width;
        row->high = all[i] + width;
    }
}

static cs_status add_values(const study *s, cs_population_rows *rows, measured what,
                            int64_t documents, const double *all)
{
    cs_status status = CS_OK;
    for (int i = 0; i < (s->gram ? estimated(CROSS_FIT, 0) : VALUES) && status == CS_OK; ++i) {
        cs_population_row row = {.value = all[i], .documents = documents};
        if (describe(i, what, &row)) {
            enclose(i, s->plan->blocks, all, all + VALUES, &row);
            status = add_row(rows, &row);
        }
    }
    return status;
}

/* Sums over contexts are m x, not x: with the next contexts like those that are in n documents and
 * not in n/2, y = m x goes on by its slope, y(n) + (y(n) - y(n/2)) / (m(n) - m(n/2)) (1 - m(n)). */
static double extrapolated(const double *whole, const double *half, int value, int seen)
{
    const double slope = (whole[value] - half[value]) / (whole[seen] - half[seen]);
    return whole[value] + slope * half[seen] * (1 - whole[seen]);
}

static cs_status add_extrapolated(cs_population_rows *rows, int64_t documents, int64_t blocks,
                                  const double *whole, const double *half)
{
    static const struct {
        const char *metric;
        int value, seen;
    } of[] = {{"sum_sigma2_extrapolated", CORRECTED2, SEEN},
              {"sum_sigma4_extrapolated", CORRECTED4, SEEN_HALVES}};
    double *without = cs_alloc(blocks, sizeof *without);
    cs_status status = without ? CS_OK : CS_ERR_MEMORY;
    for (size_t i = 0; i < sizeof of / sizeof *of && status == CS_OK; ++i) {
        cs_population_row row = {.metric = of[i].metric,
                                 .estimate = estimate_name[DISTINCT],
                                 .definition = "to mass seen 1, from half and all of the documents",
                                 .documents = documents,
                                 .se = NAN,
                                 .low = NAN,
                                 .high = NAN,
                                 .value = extrapolated(whole, half, of[i].value, of[i].seen)};
        for (int64_t b = 0; b < blocks; ++b) {
            without[b] = extrapolated(whole + (b + 1) * VALUES, half + (b + 1) * VALUES,
                                      of[i].value, of[i].seen);
        }
        if (blocks > 1) {
            row.se = cs_jackknife_error(blocks, without, 1);
            row.blocks = blocks;
            row.low = row.value - cs_student_width(0.95, (double)(blocks - 1)) * row.se;
            row.high = row.value + cs_student_width(0.95, (double)(blocks - 1)) * row.se;
        }
        status = add_row(rows, &row);
    }
    cs_free(without);
    return status;
}

/* --- a matrix --------------------------------------------------------------------------------- */

cs_status cs_population_rows_of_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_population_rows *out)
{
    cs_population_rows rows = {0};
    double values[VALUES];
    forget(values);
    cs_status status = spectral_sums(a, spectrum, &rows.plug_in, values);
    for (int i = 0; i < estimated(CROSS_FIT, 0) && status == CS_OK; ++i) {
        cs_population_row row = {.value = values[i]};
        if (describe(i, SPECTRA, &row)) {
            enclose(i, 0, values, NULL, &row);
            status = add_row(&rows, &row);
        }
    }
    for (int64_t j = 0; j < CS_CONNECTIVITY_SIGMAS; ++j) {
        rows.sigma_se[j] = NAN;
    }
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}

/* --- a corpus --------------------------------------------------------------------------------- */

/* The values of a corpus of `size` documents, those without each block behind them: means over the
 * disjoint ones that there are. */
static cs_status jackknife(study *s, int64_t size, measured what, cs_connectivity *keep,
                           double *values)
{
    const int64_t blocks = s->plan->blocks, parts = s->documents / size;
    double one[VALUES];
    cs_status status = CS_OK;
    memset(values, 0, (size_t)((blocks + 1) * VALUES) * sizeof *values);
    for (int64_t b = -1; b < blocks && status == CS_OK; ++b) {
        for (int64_t i = 0; i < parts && status == CS_OK; ++i) {
            choose(s, i * size, size, b);
            status = measure(s, what, b < 0 ? keep : NULL, one);
            for (int j = 0; j < VALUES; ++j) {
                values[(b + 1) * VALUES + j] += one[j] / (double)parts;
            }
        }
        cs_progress_report(s->plan->build.progress, "blocks left out", b + 1, blocks);
    }
    return status;
}

cs_status cs_population_rows_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                cs_population_rows *out)
{
    const int64_t blocks = plan->blocks;
    cs_population_rows rows = {0};
    study s = {0};
    double *values = cs_alloc((plan->sizes + 1) * (blocks + 1) * VALUES, sizeof *values);
    cs_status status = values ? study_of(corpus, plan, &s) : CS_ERR_MEMORY;
    if (status == CS_OK && (blocks == 1 || blocks > s.documents))
        status =
            cs_fail(CS_ERR_USAGE, "%lld jackknife blocks: want 0, or 2 to %lld (the documents)",
                    (long long)blocks, (long long)s.documents);
    for (int64_t k = 0; k <= plan->sizes && status == CS_OK; ++k) {
        const int64_t size = s.documents >> k;
        double *all = values + k * (blocks + 1) * VALUES;
        if (size < blocks || size < 1) {
            break;
        }
        const measured what = k == 0 && !plan->sums ? SPECTRA : SUMS;
        status = jackknife(&s, size, what, k == 0 ? &rows.plug_in : NULL, all);
        if (status == CS_OK) status = add_values(&s, &rows, what, size, all);
        if (status == CS_OK && k == 1 && !s.gram)
            status = add_extrapolated(&rows, s.documents, blocks, values, all);
    }
    for (int64_t j = 0; j < CS_CONNECTIVITY_SIGMAS && status == CS_OK; ++j) {
        rows.sigma_se[j] = blocks > 1
                               ? cs_jackknife_error(blocks, values + VALUES + BELOW + j, VALUES)
                               : (double)NAN;
    }
    study_free(&s);
    cs_free(values);
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}

/* --- the null --------------------------------------------------------------------------------- */

/* The tokens of the documents of the split, shuffled, in `token`. */
static cs_status shuffle(const cs_corpus *corpus, const cs_population_plan *plan, int64_t number,
                         int32_t *token)
{
    int32_t *drawn = cs_alloc(corpus->tokens, sizeof *drawn);
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
    cs_free(drawn);
    return CS_OK;
}

/* Mean and standard deviation of values[i VALUES + j] over the shuffles. */
static void distribution(int64_t count, const double *values, int j, double *mean,
                         double *deviation)
{
    double square = 0;
    *mean = 0;
    for (int64_t i = 0; i < count; ++i) {
        *mean += values[i * VALUES + j] / (double)count;
    }
    for (int64_t i = 0; i < count; ++i) {
        const double off = values[i * VALUES + j] - *mean;
        square += off * off;
    }
    *deviation = count > 1 ? sqrt(square / (double)(count - 1)) : (double)NAN;
}

static cs_status add_null(cs_population_rows *rows, int64_t documents, int64_t count, bool gram,
                          const double *values)
{
    cs_status status = CS_OK;
    for (int i = ESTIMATED; i < (gram ? estimated(CROSS_FIT, 0) : VALUES) && status == CS_OK; ++i) {
        cs_population_row row = {.documents = documents};
        double center, spread;
        if (!describe(i, LEADING, &row)) {
            continue;
        }
        distribution(count, values, basis_of(i), &center, &spread);
        distribution(count, values, i, &row.value, &row.se);
        const double width = count > 1 ? cs_student_width(0.95, (double)(count - 1)) * spread *
                                             sqrt(1 + 1 / (double)count)
                                       : (double)NAN;
        row.low = center - width;
        row.high = center + width;
        status = add_row(rows, &row);
    }
    return status;
}

cs_status cs_population_null(const cs_corpus *corpus, const cs_population_plan *plan,
                             cs_population_rows *out)
{
    cs_population_rows rows = {0};
    cs_corpus null = *corpus;
    int64_t documents = 0;
    double *values = cs_alloc(plan->shuffles * VALUES, sizeof *values);
    null.token = cs_alloc(corpus->tokens, sizeof *null.token);
    cs_status status = values && null.token ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        memcpy(null.token, corpus->token, (size_t)corpus->tokens * sizeof *null.token);
    for (int64_t i = 0; i < plan->shuffles && status == CS_OK; ++i) {
        study s = {0};
        status = shuffle(corpus, plan, i, null.token);
        if (status == CS_OK) status = study_of(&null, plan, &s);
        if (status == CS_OK) {
            documents = s.documents;
            choose(&s, 0, documents, -1);
            status = measure(&s, LEADING, NULL, values + i * VALUES);
        }
        study_free(&s);
        cs_progress_report(plan->build.progress, "shuffles", i + 1, plan->shuffles);
    }
    if (status == CS_OK)
        status = add_null(&rows, documents, plan->shuffles, cs_context_gram(&plan->build.context),
                          values);
    cs_free(values);
    cs_free(null.token);
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}
