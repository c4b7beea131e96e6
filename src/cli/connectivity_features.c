/* Similarities of pairs of features, model by model, and whether they rank the models as the true
 * matrices do.
 *
 * Made from the table of numbers alone, so that --resume prints the same lines. */
#include "cli/connectivity_features.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/measures/connectivity_truth.h"
#include "analysis/measures/estimable.h"
#include "analysis/measures/feature_connectivity.h"
#include "base/auto.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cli/results.h"
#include "io/number.h"
#include "plan/spec.h"

static const char DISTINCT[] = "distinct-document";

typedef struct {
    const cs_table *rows;
    int series, position, metric, estimate, value, low, high, documents; /* columns */
} table;

static const char *cell(const table *t, int64_t row, int column)
{
    return t->rows->cell[row * t->rows->columns + column];
}

static double real_at(const table *t, int64_t row, int column)
{
    double x = NAN;
    return row >= 0 && cs_real_scan(cell(t, row, column), &x) ? x : (double)NAN;
}

/* A row of the series of row `of`, of all documents (the first); -1: none. */
static int64_t find(const table *t, int64_t of, const char *metric, const char *estimate)
{
    for (int64_t r = 0; r < t->rows->rows; ++r) {
        if (strcmp(cell(t, r, t->metric), metric) == 0 &&
            strcmp(cell(t, r, t->estimate), estimate) == 0 &&
            strcmp(cell(t, r, t->series), cell(t, of, t->series)) == 0 &&
            strcmp(cell(t, r, t->position), cell(t, of, t->position)) == 0) {
            return r;
        }
    }
    return -1;
}

static void why(const cs_estimable_input *in, const cs_estimable *e, FILE *out)
{
    const char *between = "";
    if (!e->seen) {
        (void)fprintf(
            out,
            "contexts that two documents share hold %.2g %% of the mass (at least 50 %% is "
            "needed)",
            100 * in->seen);
        between = "; ";
    }
    if (!e->leading) {
        (void)fprintf(out, "%ssigma_1 comes out as %.3g, and is 1", between, in->sigma_1);
        between = "; ";
    }
    if (!e->interval) {
        (void)fprintf(out, "%sthe interval is %.3g to %.3g", between, in->low, in->high);
        between = "; ";
    }
    if (!e->order)
        (void)fprintf(out, "%sit is not between cross-fit, %.3g, and plug-in, %.3g", between,
                      in->cross_fit, in->plug_in);
}

/* The row of the same series whose target position is `position`; -1: none. */
static int64_t at_position(const table *t, int64_t of, const char *position)
{
    for (int64_t r = 0; r < t->rows->rows; ++r) {
        if (strcmp(cell(t, r, t->metric), "estimable") == 0 &&
            strcmp(cell(t, r, t->position), position) == 0 &&
            strcmp(cell(t, r, t->series), cell(t, of, t->series)) == 0) {
            return r;
        }
    }
    return -1;
}

/* Whether both rows are of equal estimates, which then get one line. */
static bool same_estimates(const table *t, int64_t a, int64_t b)
{
    static const char *const metric[] = {"sum_sigma4_corrected", "mass_seen", "sum_sigma4"};
    for (int i = 0; i < 3 && a >= 0 && b >= 0; ++i) {
        const int64_t x = find(t, a, metric[i], DISTINCT), y = find(t, b, metric[i], DISTINCT);
        if ((x < 0) != (y < 0) ||
            (x >= 0 && strcmp(cell(t, x, t->value), cell(t, y, t->value)) != 0)) {
            return false;
        }
    }
    return a >= 0 && b >= 0;
}

static void print_series(const table *t, int64_t of, FILE *out)
{
    const int64_t given = at_position(t, of, "given"), blind = at_position(t, of, "blind");
    const bool same = same_estimates(t, blind, given);
    if (same && of == given) {
        return;
    }
    const int64_t corrected = find(t, of, "sum_sigma4_corrected", DISTINCT);
    const cs_estimable_input in = {
        .documents = real_at(t, of, t->documents),
        .seen = real_at(t, find(t, of, "mass_seen", DISTINCT), t->value),
        .seen_halves = real_at(t, find(t, of, "mass_seen_halves", DISTINCT), t->value),
        .sigma_1 = real_at(t, find(t, of, "sigma_1", DISTINCT), t->value),
        .low = real_at(t, corrected, t->low),
        .high = real_at(t, corrected, t->high),
        .cross_fit = real_at(t, find(t, of, "sum_sigma4", "cross-fit"), t->value),
        .plug_in = real_at(t, find(t, of, "sum_sigma4", "plug-in"), t->value)};
    const cs_estimable e = cs_estimable_of(&in);
    (void)fprintf(out, "  %s, %s: ", cell(t, of, t->series),
                  same ? "blind and given" : cell(t, of, t->position));
    if (e.all && corrected >= 0) {
        (void)fprintf(out, "%.4g, 95 %% interval %.4g to %.4g\n", real_at(t, corrected, t->value),
                      in.low, in.high);
        return;
    }
    if (e.all) {
        (void)fprintf(out, "no bias-corrected value without --jackknife\n");
        return;
    }
    (void)fputs("not estimable from this corpus: ", out);
    why(&in, &e, out);
    if (isnan(e.documents)) {
        (void)fprintf(out, ". The number of documents that would do is not known; there are %.0f\n",
                      in.documents);
    } else {
        const double unit = pow(10, floor(log10(e.documents)) - 1);
        (void)fprintf(out, ". At least about %.0f documents would do; there are %.0f\n",
                      ceil(e.documents / unit) * unit, in.documents);
    }
}

cs_status cs_connectivity_digest(const cs_table *rows, FILE *out, bool *printed)
{
    table t = {.rows = rows};
    int *const column[] = {&t.series, &t.position, &t.metric, &t.estimate,
                           &t.value,  &t.low,      &t.high,   &t.documents};
    static const char *const name[] = {
        "series", "target_position", "metric", "estimate", "value", "low", "high", "documents"};
    bool any = false;
    *printed = false;
    for (int i = 0; i < 8; ++i) {
        *column[i] = cs_table_column(rows, name[i]);
        if (*column[i] < 0) return CS_OK;
    }
    for (int64_t r = 0; r < rows->rows; ++r) {
        if (strcmp(cell(&t, r, t.metric), "estimable") == 0) {
            if (!any) (void)fputs("sum sigma^4 of the language, bias-corrected:\n", out);
            any = true;
            print_series(&t, r, out);
        }
    }
    if (any)
        (void)fputs(
            "The intervals exclude bias from contexts that no two documents share. A number of "
            "documents\nthat would do is a lower limit.\n\n",
            out);
    return CS_OK;
}

const cs_opt cs_group_features[] = {
    CS_HEADING("Estimate from features"),
    CS_INT("pairs", "K", NULL, 1, 1000000000,
           "Estimate from features: the arguments are feature matrices, and the K most similar "
           "pairs of rows count (LA Figure 2: 100000)."),
    CS_INT("features", "N", "8000", 1, 2147483647,
           "With --pairs: rows drawn from each matrix by --seed, the same rows of matrices of "
           "equal size. Time grows with N^2."),
    CS_CHOICE("similarity", "cosine|inner", "cosine", "With --pairs: cosines, or inner products."),
    CS_FLAG("self", "With --pairs: include the pair of each row with itself."),
    CS_FLAG("center",
            "With --pairs: subtract the mean of the rows. A constant offset makes every cosine 1."),
    CS_TEXT("truth", "FILE", NULL,
            "With --pairs: connectivity.csv of the true matrices; compares the order of the models "
            "with the order of the series of the same names."),
    CS_FLAG("force-unequal", "With --pairs: compare matrices of unequal numbers of rows."),
    {0},
};

/* One model's result. */
typedef struct {
    const char *name, *file;
    int64_t n, freedom; /* of the standard errors */
    double value[CS_FEATURE_MEASURES], se[CS_FEATURE_MEASURES];
} model;

typedef struct {
    cs_args *args;
    cs_feature_options options;
    int count;
    model *models; /* count */
    cs_item *root;
    cs_item *list; /* the models; NULL: there is one, which is the result itself */
} study;

/* --- one model -------------------------------------------------------------------------------- */

/* 16 bytes a number in analysis/measures/feature_connectivity.h, packed rows, and what threads
 * hold. */
static double bytes_of(const study *s, int64_t n, int64_t d)
{
    const double threads = s->options.threads > 0 ? s->options.threads : 1;
    return 20.0 * (double)n * (double)d + threads * (8e6 + 24.0 * (double)s->options.pairs);
}

static cs_status check_equal(const study *s, int index)
{
    const model *m = &s->models[index], *first = &s->models[0];
    if (m->n == first->n || cs_args_flag(s->args, "force-unequal")) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT,
                   "%s: %" PRId64 " features, but %s has %" PRId64
                   "; the mean of the K most similar pairs grows with n and is compared only at "
                   "equal n (--force-unequal compares it anyway)",
                   m->name, m->n, first->name, first->n);
}

static cs_status measure(study *s, int index)
{
    model *m = &s->models[index];
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    CS_AUTO(cs_feature_connectivity) c = {0};
    cs_feature_options options = s->options;
    CS_AUTO_FREE int32_t *group = NULL;
    int64_t groups = INT32_MAX, kept = 0; /* a block a group: they are dealt there */
    cs_status status = cs_args_rows(s->args, m->file, &rows);
    if (status == CS_OK) status = cs_args_rank_blocks(s->args, rows.rows, &group, &groups, &kept);
    if (status != CS_OK) return status;
    m->n = kept < options.features ? kept : options.features;
    options.group = group;
    status = check_equal(s, index);
    if (status == CS_OK)
        status =
            cs_mem_check(bytes_of(s, m->n, rows.cols), "fewer --features take less",
                         "%s: %" PRId64 " features of %" PRId64 " take", m->name, m->n, rows.cols);
    if (status == CS_OK) status = cs_feature_connectivity_of(&rows, &options, &c);
    if (status != CS_OK) return status;
    m->freedom = c.blocks > 0 ? c.blocks - 1 : 0;
    memcpy(m->value, c.value, sizeof m->value);
    memcpy(m->se, c.se, sizeof m->se);
    cs_item *item = s->list ? cs_item_object(s->list, NULL) : s->root;
    cs_item_text(item, "file", m->file);
    cs_feature_record(m->name, &s->options, &c, item);
    return CS_OK;
}

/* --- comparison with the truth ---------------------------------------------------------------- */

static cs_status compare(study *s)
{
    const char *path = cs_args_text(s->args, "truth");
    CS_AUTO_FREE cs_truth_model *models = cs_calloc(s->count, sizeof *models);
    CS_AUTO_FREE cs_measured *work = cs_alloc(2 * (int64_t)s->count, sizeof *work);
    cs_status status = models && work ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        const model *m = &s->models[i];
        models[i].series = m->name;
        models[i].claim[0] =
            (cs_measured){m->value[CS_FEATURE_TOP_MEAN], m->se[CS_FEATURE_TOP_MEAN], m->freedom};
        models[i].claim[1] =
            (cs_measured){m->value[CS_FEATURE_MEAN], m->se[CS_FEATURE_MEAN], m->freedom};
    }
    if (status == CS_OK) status = cs_truth_read(path, s->count, models);
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        if (!models[i].known) {
            cs_output_note(s->args, "%s: %s has no such series", models[i].series, path);
        }
    }
    if (status == CS_OK)
        status = cs_truth_record(s->count, models, work, cs_item_array(s->root, "ranking"),
                                 cs_item_array(s->root, "~ranking"));
    return status;
}

/* --- the mode --------------------------------------------------------------------------------- */

static cs_status take_argument(study *s, int index)
{
    model *m = &s->models[index];
    cs_status status =
        cs_args_named(s->args, cs_args_positional(s->args, index), &m->name, &m->file);
    if (status == CS_OK && m->name != m->file)
        m->name = cs_args_keep(s->args, cs_objective_form(m->name));
    if (!m->name) return CS_ERR_MEMORY;
    for (int i = 0; i < index; ++i) {
        if (strcmp(s->models[i].name, m->name) == 0) {
            return cs_fail(CS_ERR_USAGE, "%s is given twice; NAME=FILE distinguishes them",
                           m->name);
        }
    }
    return cs_output_rows_begin(s->args, m->file, 1);
}

static cs_status estimate(const study *s)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    cs_status status = cs_args_rows(s->args, s->models[0].file, &rows);
    if (status != CS_OK) return status;
    const int64_t n = rows.rows < s->options.features ? rows.rows : s->options.features;
    const double passes = (double)s->count * (double)(s->options.blocks + 1);
    cs_item_int(s->root, "n", n);
    cs_item_int(s->root, "d", rows.cols);
    cs_item_text(s->root, "dtype", cs_rows_type_name(rows.type));
    cs_item_real(s->root, "flops", passes * (double)n * (double)n * (double)rows.cols);
    cs_item_real(s->root, "bytes", bytes_of(s, n, rows.cols));
    return CS_OK;
}

static cs_status start(study *s)
{
    cs_args *args = s->args;
    cs_status status;
    s->options = (cs_feature_options){.cosine = cs_args_is(args, "similarity", "cosine"),
                                      .centred = cs_args_flag(args, "center"),
                                      .blocks = cs_args_int(args, "jackknife"),
                                      .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &s->options, features, pairs, self, seed, threads);
    s->count = cs_args_positionals(args);
    s->models = cs_calloc(s->count, sizeof *s->models);
    if (!s->models) return CS_ERR_MEMORY;
    status = cs_output_claim(args, "features.json features.csv features-blocks.csv similarity.csv");
    if (status == CS_OK && cs_args_given(args, "truth"))
        status = cs_output_input(args, cs_args_text(args, "truth"));
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        status = take_argument(s, i);
    }
    return status;
}

static cs_status measure_all(study *s)
{
    const bool several = s->count > 1;
    cs_status status = CS_OK;
    cs_item_int(s->root, "~seed", (int64_t)cs_args_seed(s->args));
    s->list = several ? cs_item_array(s->root, "models") : NULL;
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        if (several) {
            cs_output_note(s->args, "%s", s->models[i].name);
        }
        status = measure(s, i);
    }
    return status == CS_OK && cs_args_given(s->args, "truth") ? compare(s) : status;
}

/* A single model is the result itself. */
#define COLUMNS                                                                                    \
    "series=series|^series metric=name surrogate truth target_position definition value se n=^n "  \
    "d=^d pairs=^pairs seed=/~seed"
#define CURVE_COLUMNS "series=^series similarity=^similarity rank value"
#define BLOCK_COLUMNS                                                                              \
    "series=^^series metric=^name surrogate truth target_position block=# value=. "                \
    "partition=^^~partition"

cs_status cs_connectivity_features(cs_args *args)
{
    static const cs_view one = {"metrics[]", COLUMNS}, one_curve = {"~curve[]", CURVE_COLUMNS},
                         several = {"models[].metrics[] ~ranking[]", COLUMNS},
                         curves = {"models[].~curve[]", CURVE_COLUMNS},
                         one_blocks = {"metrics[].~left_out[]", BLOCK_COLUMNS},
                         blocks = {"models[].metrics[].~left_out[]", BLOCK_COLUMNS};
    const bool dry = cs_args_flag(args, "dry-run");
    study s = {.args = args, .root = cs_output_root(args)};
    cs_status status = start(&s);
    if (status == CS_OK) status = dry ? estimate(&s) : measure_all(&s);
    if (status == CS_OK && !dry)
        status = cs_output_csv(args, "similarity.csv", s.list ? &curves : &one_curve);
    if (status == CS_OK && !dry)
        status = cs_output_csv(args, "features-blocks.csv", s.list ? &blocks : &one_blocks);
    if (status == CS_OK)
        status = cs_output_record(args, "features", dry ? NULL : s.list ? &several : &one);
    cs_free(s.models);
    return status;
}
