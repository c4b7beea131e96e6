/* The numbers of a corpus as rows, with their intervals, and of smaller corpora. */
#include "analysis/measures/population_rows.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/estimable.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/threads.h"
#include "io/json.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"
#include "text/synthetic.h"

/* --- rows ------------------------------------------------------------------------------------- */

/* Adds a row with the number without[b stride] without each block, and its error and interval. */
static cs_status add_jackknifed(cs_population_rows *rows, cs_population_row row, int64_t blocks,
                                const double *without, int64_t stride)
{
    row.se = row.low = row.high = NAN;
    if (blocks > 1) {
        if (!(row.left_out = cs_alloc(blocks, sizeof *row.left_out))) return CS_ERR_MEMORY;
        for (int64_t b = 0; b < blocks; ++b) {
            row.left_out[b] = without[b * stride];
        }
        row.se = cs_jackknife_error(blocks, row.left_out, 1);
        row.blocks = isnan(row.se) ? 0 : blocks;
    }
    if (row.blocks > 0) {
        const double width = cs_student_width(0.95, (double)(blocks - 1)) * row.se;
        row.low = row.value - width;
        row.high = row.value + width;
        cs_interval_clip(row.metric, &row.low, &row.high);
    }
    return cs_population_add(rows, &row);
}

/* The sum of value i without its bias, which its interval is of. */
static cs_status add_corrected(cs_population_rows *rows, const cs_population_row *row, int basis,
                               int64_t blocks, const double *all)
{
    cs_population_row corrected = *row;
    CS_AUTO_FREE double *left_out = cs_alloc(blocks, sizeof *left_out);
    if (!left_out) return CS_ERR_MEMORY;
    corrected.metric = basis == CS_POP_CORRECTED2 ? "sum_sigma2_corrected" : "sum_sigma4_corrected";
    corrected.definition = "middle of its interval, on a logarithmic scale";
    corrected.corrected_interval = false;
    corrected.value = cs_jackknife_corrected(blocks, all[basis], all + CS_POP_VALUES + basis,
                                             CS_POP_VALUES, true, left_out);
    cs_status status = add_jackknifed(rows, corrected, blocks, left_out, 1);
    if (status == CS_OK) {
        rows->row[rows->count - 1].low = row->low;
        rows->row[rows->count - 1].high = row->high;
    }
    return status;
}

/* The interval of sigma_j or a tail of the language from M / m: noise raises eigenvalues, so that
 * the lower end of sigma_j is its value without noise, and the upper ends of tails, from which
 * squares are subtracted, rise by the same amount. sigma_1 = 1 has no noise. */
static void noisy_interval(int number, int64_t blocks, const double *all, double *low, double *high)
{
    const double *of = all + cs_population_number(CS_POP_DISTINCT, 0), noise = all[CS_POP_NOISE];
    cs_jackknife_hull(blocks, of[number], of + CS_POP_VALUES + number, CS_POP_VALUES, low, high);
    if (number < CS_POP_TAIL) {
        *low = sqrt(cs_eigenvalue_without_noise(*low > 0 ? *low * *low : 0, noise));
        return;
    }
    for (int j = 1; j < cs_population_tail_from(number); ++j) {
        const double x = of[CS_POP_SIGMA + j] * of[CS_POP_SIGMA + j],
                     y = cs_eigenvalue_without_noise(x, noise);
        *high += x * x - y * y;
    }
}

/* Value i from all[i] and those without each block behind it. */
static cs_status add_value(cs_population_rows *rows, int i, cs_population_row row, int64_t blocks,
                           const double *all)
{
    const bool jackknifed = i >= CS_POP_BELOW || cs_connectivity_metric[i].interval;
    const bool of_language = i >= cs_population_number(CS_POP_DISTINCT, 0) && i < CS_POP_SEEN;
    const int basis = cs_population_basis(i), number = (i - CS_POP_ESTIMATED) % CS_POP_OF_ESTIMATE;
    row.value = all[i];
    cs_status status =
        add_jackknifed(rows, row, jackknifed ? blocks : 0, all + CS_POP_VALUES + i, CS_POP_VALUES);
    if (status == CS_OK && number >= CS_POP_SIGMA &&
        i >= cs_population_number(CS_POP_CROSS_FIT, 0) &&
        i < cs_population_number(CS_POP_DISTINCT, 0)) {
        /* the eigenvalues of Q contain parts that one quarter alone has; the documents do not show
         * how large these are */
        rows->row[rows->count - 1].low = rows->row[rows->count - 1].high = NAN;
    }
    if (status != CS_OK || !of_language || blocks < 2) return status;
    cs_population_row *added = &rows->row[rows->count - 1];
    if (number >= CS_POP_SIGMA) {
        noisy_interval(number, blocks, all, &added->low, &added->high);
        cs_interval_clip(row.metric, &added->low, &added->high);
        return CS_OK;
    }
    cs_jackknife_interval(blocks, all[basis], all + CS_POP_VALUES + basis, CS_POP_VALUES,
                          basis != i, &added->low, &added->high);
    cs_interval_clip(row.metric, &added->low, &added->high);
    row = *added; /* adding may move it */
    row.left_out = NULL;
    if (basis == i) return CS_OK;
    status = add_corrected(rows, &row, basis, blocks, all);
    if (status == CS_OK) { /* the number whose interval it is comes first */
        const cs_population_row plain = rows->row[rows->count - 2];
        rows->row[rows->count - 2] = rows->row[rows->count - 1];
        rows->row[rows->count - 1] = plain;
    }
    return status;
}

static cs_status add_values(const cs_population_study *s, cs_population_rows *rows,
                            cs_population_taken what, int64_t documents, const double *all)
{
    const int count = s->gram ? cs_population_number(CS_POP_CROSS_FIT, 0) : CS_POP_VALUES;
    cs_status status = CS_OK;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        cs_population_row row = {.documents = documents};
        if (cs_population_describe(i, what, &row))
            status = add_value(rows, i, row, s->plan->blocks, all);
    }
    return status;
}

/* NULL: there is none of the estimate. */
static const cs_population_row *row_of(const cs_population_rows *rows, const char *metric,
                                       const char *estimate)
{
    for (int64_t i = 0; i < rows->count; ++i) {
        if (strcmp(rows->row[i].metric, metric) == 0 &&
            strcmp(rows->row[i].estimate, estimate) == 0) {
            return &rows->row[i];
        }
    }
    return NULL;
}

static double value_of(const cs_population_rows *rows, const char *metric, const char *estimate)
{
    const cs_population_row *row = row_of(rows, metric, estimate);
    return row ? row->value : (double)NAN;
}

/* Whether the corpus is large enough for sum sigma^4 of its language, and which size would be. */
static cs_status add_estimable(cs_population_rows *rows, int64_t documents)
{
    static const char distinct[] = "distinct-document", sum[] = "sum_sigma4";
    const cs_population_row *corrected = row_of(rows, "sum_sigma4_corrected", distinct);
    const cs_estimable e = cs_estimable_of(
        &(cs_estimable_input){.documents = (double)documents,
                              .seen = value_of(rows, "mass_seen", distinct),
                              .seen_halves = value_of(rows, "mass_seen_halves", distinct),
                              .sigma_1 = value_of(rows, "sigma_1", distinct),
                              .low = corrected ? corrected->low : (double)NAN,
                              .high = corrected ? corrected->high : (double)NAN,
                              .cross_fit = value_of(rows, sum, "cross-fit"),
                              .plug_in = value_of(rows, sum, "plug-in")});
    const cs_population_row row[] = {
        {.metric = "estimable",
         .estimate = distinct,
         .definition = "1: nothing known contradicts sum_sigma4_corrected by a factor of 2",
         .value = e.all},
        {.metric = "documents_needed",
         .estimate = distinct,
         .definition = "a lower limit of the documents at which it would be estimable",
         .value = e.documents}};
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        cs_population_row added = row[i];
        added.documents = documents;
        added.se = added.low = added.high = NAN;
        status = cs_population_add(rows, &added);
    }
    return status;
}

/* Sums over contexts are m x, not x: with the next contexts like those that are in n documents and
 * not in n/2, y = m x goes on by its slope, y(n) + (y(n) - y(n/2)) / (m(n) - m(n/2)) (1 - m(n)):
 * nothing where nothing is unseen, and not known where the second half met no new ones. */
static double extrapolated(const double *whole, const double *half, int value, int seen)
{
    const double unseen = 1 - whole[seen], met = whole[seen] - half[seen],
                 rounding = 1e-9; /* of masses: sums of up to 2^20 shares */
    if (unseen < rounding) return whole[value];
    return met > rounding ? whole[value] + (whole[value] - half[value]) / met * half[seen] * unseen
                          : (double)NAN;
}

static cs_status add_extrapolated(cs_population_rows *rows, int64_t documents, int64_t blocks,
                                  const double *whole, const double *half)
{
    static const struct {
        const char *metric;
        int value, seen;
    } of[] = {{"sum_sigma2_extrapolated", CS_POP_CORRECTED2, CS_POP_SEEN},
              {"sum_sigma4_extrapolated", CS_POP_CORRECTED4, CS_POP_SEEN_HALVES}};
    CS_AUTO_FREE double *without = cs_alloc(blocks, sizeof *without);
    cs_status status = without ? CS_OK : CS_ERR_MEMORY;
    for (size_t i = 0; i < sizeof of / sizeof *of && status == CS_OK; ++i) {
        const cs_population_row row = {.metric = of[i].metric,
                                       .estimate = "distinct-document",
                                       .definition =
                                           "to mass seen 1, from half and all of the documents",
                                       .documents = documents,
                                       .value = extrapolated(whole, half, of[i].value, of[i].seen)};
        for (int64_t b = 1; b <= blocks; ++b) {
            without[b - 1] = extrapolated(whole + b * CS_POP_VALUES, half + b * CS_POP_VALUES,
                                          of[i].value, of[i].seen);
        }
        status = add_jackknifed(rows, row, blocks, without, 1);
    }
    return status;
}

/* --- a matrix --------------------------------------------------------------------------------- */

cs_status cs_population_rows_of_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_population_rows *out)
{
    cs_population_rows rows = {.uncovered = -1};
    double values[CS_POP_VALUES];
    cs_status status = cs_population_measure_matrix(a, spectrum, &rows.plug_in, values);
    for (int i = 0; i < cs_population_number(CS_POP_CROSS_FIT, 0) && status == CS_OK; ++i) {
        cs_population_row row = {0};
        if (cs_population_describe(i, CS_POP_SPECTRA, &row))
            status = add_value(&rows, i, row, 0, values);
    }
    for (int64_t j = 0; j < CS_CONNECTIVITY_SIGMAS; ++j) {
        rows.sigma_se[j] = NAN;
    }
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}

/* --- a corpus --------------------------------------------------------------------------------- */

/* Numbers without a block are computed for several blocks at once, each with its own documents and
 * progress. */
typedef struct {
    const cs_population_study *s;
    cs_population_plan plan; /* without progress, which one thread at a time reports */
    int64_t size, first;     /* first: the block of item 0 */
    cs_population_taken what;
    uint8_t *part;  /* documents of each item */
    double *values; /* of each block, zeros */
} blocks_at_once;

/* The mean over the disjoint corpora of `size` documents without a block (-1: none of it). */
static cs_status take_mean(cs_population_study *s, int64_t size, int64_t block,
                           cs_population_taken what, cs_connectivity *keep, double *values)
{
    const int64_t parts = s->documents / size;
    double one[CS_POP_VALUES];
    cs_status status = CS_OK;
    for (int64_t i = 0; i < parts && status == CS_OK; ++i) {
        cs_population_choose(s, i * size, size, block);
        status = cs_population_measure(s, what, keep, one);
        for (int j = 0; j < CS_POP_VALUES; ++j) {
            values[j] += one[j] / (double)parts;
        }
    }
    return status;
}

static cs_status take_block(void *ctx, int64_t item)
{
    const blocks_at_once *b = ctx;
    const int64_t block = b->first + item;
    cs_population_study s = *b->s;
    s.plan = &b->plan;
    s.part = b->part + item * s.corpus->documents;
    return take_mean(&s, b->size, block, b->what, NULL, b->values + block * CS_POP_VALUES);
}

/* As many as there are threads and as half of the free memory holds: matrix, reduction and two sums
 * over pairs of each take about 120 bytes an entry. One where the corpus is counted anew. */
static int64_t most_at_once(const cs_population_study *s)
{
    const int64_t threads = s->plan->build.threads > 0 ? s->plan->build.threads : cs_threads(),
                  available = cs_mem_available();
    if (s->gram) {
        return 1;
    }
    const double bytes = 120 * (double)cs_csr_nnz(&s->counts.rows.matrix.a),
                 fit = available > 0 ? (double)available / 2 / fmax(bytes, 1) : (double)threads;
    return fit < 1 ? 1 : fit < (double)threads ? (int64_t)fit : threads;
}

/* The values of a corpus of `size` documents, those without each block behind them: means over the
 * disjoint ones that there are. */
static cs_status jackknife(cs_population_study *s, int64_t size, cs_population_taken what,
                           cs_connectivity *keep, double *values)
{
    const int64_t blocks = s->plan->blocks, most = most_at_once(s);
    const cs_progress *progress = s->plan->build.progress;
    blocks_at_once b = {.s = s,
                        .plan = *s->plan,
                        .size = size,
                        .what = what,
                        .part = cs_alloc(most * s->corpus->documents, 1),
                        .values = values + CS_POP_VALUES};
    b.plan.build.progress = NULL;
    memset(values, 0, (size_t)((blocks + 1) * CS_POP_VALUES) * sizeof *values);
    cs_status status = b.part ? take_mean(s, size, -1, what, keep, values) : CS_ERR_MEMORY;
    cs_threads_blas_hold(true); /* which the solvers set and restore, here side by side */
    for (; b.first < blocks && status == CS_OK; b.first += most) {
        const int64_t left = blocks - b.first;
        cs_progress_report(progress, "blocks left out", b.first, blocks);
        status = cs_parallel(left < most ? left : most, (int)most, take_block, &b);
    }
    cs_threads_blas_hold(false);
    if (status == CS_OK) cs_progress_report(progress, "blocks left out", blocks, blocks);
    cs_free(b.part);
    return status;
}

/* Contexts that were counted, of all documents of the split. */
static int64_t contexts_of(const cs_population_counts *counts)
{
    int64_t contexts = counts->rows.matrix.a.rows;
    for (int64_t c = 0; c < counts->index.shared; ++c) {
        contexts -= counts->index.end[c] - counts->index.first[c] - 1;
    }
    return contexts;
}

cs_status cs_population_rows_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                cs_population_rows *out)
{
    const int64_t blocks = plan->blocks;
    cs_population_rows rows = {0};
    CS_AUTO(cs_population_study) s = {0};
    CS_AUTO_FREE double *values =
        cs_alloc((plan->sizes + 1) * (blocks + 1) * CS_POP_VALUES, sizeof *values);
    cs_status status = values ? cs_population_study_of(corpus, plan, &s) : CS_ERR_MEMORY;
    for (int64_t d = 0; d < corpus->documents && status == CS_OK; ++d) {
        s.part[d] = s.rank[d] >= 0;
    }
    if (status == CS_OK && blocks > 1)
        status = cs_corpus_partition(corpus, s.part, blocks, plan->seed, rows.partition);
    if (status == CS_OK && (blocks == 1 || blocks > s.filled))
        status = cs_fail(CS_ERR_USAGE,
                         "%lld jackknife blocks: expected 0, or 2 to the number of documents with "
                         "sequences, %lld",
                         (long long)blocks, (long long)s.filled);
    rows.tokens = s.tokens;
    rows.uncovered = s.uncovered;
    rows.as_blind = status == CS_OK && !s.gram && contexts_of(&s.counts) == plan->blind;
    for (int64_t k = 0; k <= plan->sizes && status == CS_OK && !rows.as_blind; ++k) {
        const int64_t size = s.documents >> k;
        double *all = values + k * (blocks + 1) * CS_POP_VALUES;
        if (s.filled >> k < blocks || s.filled >> k < 1) {
            break;
        }
        const cs_population_taken what = k > 0 || plan->sums ? CS_POP_SUMS
                                         : plan->hold_back   ? CS_POP_HELD_BACK
                                                             : CS_POP_SPECTRA;
        status = jackknife(&s, size, what, k == 0 ? &rows.plug_in : NULL, all);
        if (status == CS_OK) status = add_values(&s, &rows, what, size, all);
        if (status == CS_OK && k == 0 && !s.gram) status = add_estimable(&rows, size);
        if (status == CS_OK && k == 1 && !s.gram)
            status = add_extrapolated(&rows, s.documents, blocks, values, all);
    }
    for (int64_t j = 0; j < CS_CONNECTIVITY_SIGMAS && status == CS_OK; ++j) {
        rows.sigma_se[j] =
            blocks > 1 && !rows.as_blind
                ? cs_jackknife_error(blocks, values + CS_POP_VALUES + CS_POP_BELOW + j,
                                     CS_POP_VALUES)
                : (double)NAN;
    }
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}

/* --- the record -------------------------------------------------------------------------------- */

/* Whether a metric is a sum or a value of the spectrum, which a form replaces. */
static bool of_spectrum(const char *metric)
{
    static const char *const names[] = {"sum_sigma", "sigma_", "tail_", "largest_residual"};
    for (int i = 0; i < 4; ++i) {
        if (strncmp(metric, names[i], strlen(names[i])) == 0) return true;
    }
    return false;
}

static void put_row(const cs_population_source *s, const cs_population_row *row, cs_item *rows)
{
    cs_item *item = cs_item_object(rows, NULL);
    CS_ITEM_FIELDS(item, s, series, context);
    cs_item_text(item, "target_position", s->position);
    CS_ITEM_FIELDS(item, row, metric, estimate, definition, value, se, low, high, blocks);
    cs_item_count(item, "documents", row->documents > 0 ? row->documents : -1);
    cs_item_int(item, "seed", (int64_t)s->seed);
    const bool outside = row->value < row->low || row->value > row->high;
    char form[96] = "";
    if (s->form && of_spectrum(row->metric))
        (void)snprintf(form, sizeof form, "Abar is the form %s", s->form);
    cs_item_text(item, "note",
                 outside                   ? "not bias-corrected; outside the interval"
                 : row->corrected_interval ? "not bias-corrected"
                                           : form);
    cs_item_reals(item, "left_out", row->left_out ? row->blocks : 0, row->left_out);
}

cs_status cs_population_record(const cs_population_source *source, const cs_population_rows *rows,
                               json_t **out)
{
    const cs_spectrum *p = &rows->plug_in.spectrum;
    CS_AUTO(cs_result) *record = cs_result_new();
    cs_item *root = cs_result_root(record);
    CS_ITEM_FIELDS(root, source, series, objective, context);
    cs_item_text(root, "target_position", source->position);
    if (source->form) cs_item_text(root, "matrix_form", source->form);
    cs_item *numbers = cs_item_array(root, "numbers");
    for (int64_t i = 0; i < rows->count; ++i) {
        put_row(source, &rows->row[i], numbers);
    }
    for (int i = 0; i < CS_CONNECTIVITY_METRICS && p->sigma; ++i) { /* which the rows begin with */
        cs_item *metric = cs_item_object(root, rows->row[i].metric);
        CS_ITEM_FIELDS(metric, &rows->row[i], value, se);
    }
    if (p->sigma) {
        cs_item_reals(root, "sigma", p->k, p->sigma);
        cs_item *sigma_se = cs_item_array(root, "sigma_se");
        for (int64_t j = 0; j < p->k; ++j) {
            const int64_t below = j - rows->plug_in.ones;
            const bool known = below >= 0 && below < CS_CONNECTIVITY_SIGMAS;
            cs_item_real(sigma_se, NULL, known ? rows->sigma_se[below] : (double)NAN);
        }
        cs_item_reals(root, "residual", p->k, p->residual);
    }
    cs_item_text(root, "partition", rows->partition);
    if (p->sigma && rows->uncovered >= 0) cs_item_int(root, "uncovered_tokens", rows->uncovered);
    return cs_result_json(record, out);
}

cs_status cs_population_record_as(const json_t *same, const char *position, json_t **out)
{
    json_t *record = json_deep_copy(same), *row;
    cs_status status = record ? CS_OK : CS_ERR_MEMORY;
    size_t i;
    if (status == CS_OK) status = cs_json_set(record, "target_position", json_string(position));
    json_array_foreach(json_object_get(record, "numbers"), i, row)
    {
        if (status == CS_OK) status = cs_json_set(row, "target_position", json_string(position));
    }
    return CS_DELIVER(status, out, record, cs_json_free);
}

/* A row, whose blocks are for tables alone. */
static void add_row(json_t *row, const char *partition, cs_item *rows)
{
    json_t *left_out = json_incref(json_object_get(row, "left_out"));
    (void)json_object_del(row, "left_out");
    cs_item *item = cs_item_json(rows, NULL, json_incref(row));
    if (left_out) cs_item_json(item, "~left_out", left_out);
    cs_item_text(item, "~partition", partition);
}

cs_status cs_population_record_add(json_t *record, cs_item *rows, cs_item *matrices)
{
    const char *series = json_string_value(json_object_get(record, "series"));
    const char *position = json_string_value(json_object_get(record, "target_position"));
    const json_t *numbers = json_object_get(record, "numbers");
    json_t *row;
    size_t i;
    if (!series || !position || !json_is_array(numbers)) {
        return cs_fail(CS_ERR_INPUT, "a record lacks %s",
                       !series     ? "series"
                       : !position ? "target_position"
                                   : "numbers");
    }
    json_array_foreach(numbers, i, row)
    {
        add_row(row, json_string_value(json_object_get(record, "partition")), rows);
    }
    (void)json_object_del(record, "numbers");
    (void)json_object_del(record, "partition");
    if (json_object_get(record, "sigma")) {
        cs_item *item = cs_item_json(matrices, NULL, json_incref(record));
        cs_item_take(item, "~name", cs_format("%s%s%s", series, *position ? " " : "", position));
    }
    return CS_OK;
}

/* --- the population ---------------------------------------------------------------------------- */

/* The population that the documents of a corpus are drawn from. */
static cs_status population_of(const cs_corpus *corpus, const cs_cooc_options *build,
                               cs_corpus *out)
{
    cs_status status =
        cs_synthetic_population_of(corpus->name, build->max_length, build->stride, out);
    return status == CS_OK && (!cs_synthetic_generates(&out->population->language, corpus) ||
                               corpus->unknown_tokens > 0)
               ? cs_fail(CS_ERR_INPUT, "%s: its words are not those of the synthetic language",
                         corpus->name)
               : status;
}

cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why)
{
    cs_corpus texts = {0};
    CS_AUTO(cs_cooc) cooc = {0};
    CS_AUTO(cs_population_rows) truth = {0};
    cs_cooc_options build = plan->build;
    if (!cs_synthetic_named(corpus->name)) {
        return CS_OK;
    }
    build.split = CS_SPLIT_ALL;
    cs_status status = population_of(corpus, &build, &texts);
    if (status == CS_OK) status = cs_cooc_build(&texts, &build, &cooc);
    if (status == CS_ERR_MEMORY || status == CS_ERR_INPUT || status == CS_ERR_USAGE) {
        *why = cs_strdup(cs_reason());
        cs_reason_clear();
        cs_corpus_free(&texts);
        return *why ? CS_OK : CS_ERR_MEMORY;
    }
    const bool compared = status == CS_OK && rows->as_blind;
    if (compared) rows->as_blind = cooc.matrix.a.rows == plan->blind_population;
    if (status == CS_OK && !compared)
        status = cs_population_rows_of_matrix(&cooc.matrix.a, &plan->spectrum, &truth);
    if (status == CS_OK)
        status =
            cs_reserve(&rows->row, &rows->capacity, rows->count + truth.count, sizeof *rows->row);
    for (int64_t i = 0; i < truth.count && status == CS_OK; ++i) {
        rows->row[rows->count] = truth.row[i];
        rows->row[rows->count++].estimate = "population";
    }
    cs_corpus_free(&texts);
    return status;
}
