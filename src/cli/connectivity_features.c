/* Similarities of pairs of features, model by model, and whether they rank the models as the true
 * matrices do. */
#include "cli/connectivity_features.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/feature_connectivity.h"
#include "base/mem.h"
#include "cli/connectivity_truth.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/rank_rows.h"
#include "io/file.h"
#include "io/json.h"
#include "io/rows.h"
#include "io/table.h"

enum { POINTS = 1000 }; /* of a series in similarity.csv, at most */

const cs_opt cs_group_features[] = {
    {.name = "pairs",
     .kind = CS_OPT_INT,
     .argument = "K",
     .low = 1,
     .high = 1000000000,
     .help = "Estimate from features: the arguments are matrices of them, and the K most similar "
             "pairs are taken (LA Figure 2: 100000)."},
    {.name = "features",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "8000",
     .low = 1,
     .high = 2147483647,
     .help = "With --pairs: rows taken of each matrix, drawn by --seed; the same ones of matrices "
             "of equally many rows. Time grows with N^2."},
    {.name = "similarity",
     .kind = CS_OPT_CHOICE,
     .argument = "cosine|inner",
     .fallback = "cosine",
     .help = "With --pairs: cosines, or inner products as they are."},
    {.name = "self", .kind = CS_OPT_FLAG, .help = "With --pairs: pairs of a row and itself too."},
    {.name = "center",
     .kind = CS_OPT_FLAG,
     .help = "With --pairs: subtract the mean of the rows. A constant offset makes every cosine "
             "1."},
    {.name = "truth",
     .kind = CS_OPT_TEXT,
     .argument = "FILE",
     .help = "With --pairs: connectivity.csv of the true matrices of the corpus. Are models "
             "ranked as their series of the same NAME are?"},
    {.name = "force-unequal",
     .kind = CS_OPT_FLAG,
     .help = "With --pairs: compare matrices of unequal numbers of rows."},
    {0},
};

/* One model's result; name and file are owned. */
typedef struct {
    char *name, *file;
    int64_t n, d, pairs, freedom; /* of the standard errors */
    double value[CS_FEATURE_MEASURES], se[CS_FEATURE_MEASURES];
} model;

typedef struct {
    cs_args *args;
    cs_feature_options options;
    int count;
    model *models;        /* count */
    cs_table table;       /* features.csv */
    cs_table curve;       /* similarity.csv */
    cs_table beside;      /* with --truth, for the eye */
    json_t *list, *truth; /* truth: NULL without --truth */
} study;

/* --- rows of the tables ----------------------------------------------------------------------- */

typedef struct {
    const char *series, *metric, *surrogate, *truth, *position, *definition;
    double value, se;
    const model *m; /* NULL: of no model */
} line;

static cs_status add_line(study *s, const line *l)
{
    const struct {
        const char *column, *text;
    } ranking[] = {{"surrogate", l->surrogate},
                   {"truth", l->truth},
                   {"target_position", l->position},
                   {"definition", l->definition}};
    cs_table *t = &s->table;
    cs_status status;
    if ((status = cs_table_row(t)) != CS_OK ||
        (status = cs_table_text(t, "series", l->series)) != CS_OK ||
        (status = cs_table_text(t, "metric", l->metric)) != CS_OK ||
        (status = cs_table_real(t, "value", l->value)) != CS_OK ||
        (status = cs_table_real(t, "se", l->se)) != CS_OK) {
        return status;
    }
    if (l->m && ((status = cs_table_int(t, "n", l->m->n)) != CS_OK ||
                 (status = cs_table_int(t, "d", l->m->d)) != CS_OK ||
                 (status = cs_table_int(t, "pairs", l->m->pairs)) != CS_OK)) {
        return status;
    }
    for (size_t i = 0; i < sizeof ranking / sizeof *ranking && status == CS_OK; ++i) {
        status = cs_table_text(t, ranking[i].column, ranking[i].text ? ranking[i].text : "");
    }
    return status == CS_OK ? cs_table_int(t, "seed", (int64_t)cs_args_seed(s->args)) : status;
}

/* Sorted values at ranks that are equally far apart on a logarithmic axis, the last one included.
 */
static cs_status add_curve(study *s, const char *series, const cs_feature_connectivity *c)
{
    cs_status status = CS_OK;
    int64_t last = 0;
    for (int i = 0; i < POINTS && status == CS_OK; ++i) {
        double share = (double)i / (POINTS - 1);
        int64_t rank = (int64_t)llround(exp(share * log((double)c->pairs)));
        rank = i == POINTS - 1 ? c->pairs : rank;
        if (rank <= last) {
            continue;
        }
        last = rank;
        if ((status = cs_table_row(&s->curve)) == CS_OK &&
            (status = cs_table_text(&s->curve, "series", series)) == CS_OK &&
            (status = cs_table_text(&s->curve, "similarity",
                                    cs_args_text(s->args, "similarity"))) == CS_OK &&
            (status = cs_table_int(&s->curve, "rank", rank)) == CS_OK) {
            status = cs_table_real(&s->curve, "value", (double)c->top[rank - 1]);
        }
    }
    return status;
}

/* --- one model -------------------------------------------------------------------------------- */

static cs_status warn(const study *s, json_t *warnings, char *text)
{
    cs_status status = text ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_output_note(s->args, "%s", text);
        status = json_array_append_new(warnings, json_string(text)) == 0 ? CS_OK : CS_ERR_MEMORY;
    }
    cs_free(text);
    return status;
}

static cs_status set_warnings(const study *s, const char *name, const cs_feature_connectivity *c,
                              json_t *json)
{
    json_t *list = json_array();
    cs_status status = cs_json_set(json, "warnings", json_incref(list));
    if (status == CS_OK && c->mean_share > 0.5) {
        status = warn(s, list,
                      cs_format("%s: the mean of the rows holds %.1f%% of the sum of squares of "
                                "what is compared%s",
                                name, 100.0 * c->mean_share,
                                s->options.centred ? ""
                                                   : ", so that all pairs are alike; --center "
                                                     "takes it out"));
    }
    if (status == CS_OK && c->zeros > 0) {
        status = warn(s, list, cs_format("%s: %" PRId64 " rows are 0", name, c->zeros));
    }
    if (status == CS_OK && c->pairs == c->total) {
        status = warn(s, list,
                      cs_format("%s: --pairs takes all %" PRId64 " pairs of %" PRId64 " rows", name,
                                c->total, c->rows));
    }
    json_decref(list);
    return status;
}

/* {"series", "file", "n", "d", ..., "metrics": [{"name", "definition", "value", "se"}, ...]} and
 * the rows of it. */
static cs_status report(study *s, model *m, const cs_feature_connectivity *c)
{
    json_t *metrics = json_array();
    json_t *json =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:b, s:b, s:I, s:I, s:o, s:O}", "series",
                  m->name, "file", m->file, "n", (json_int_t)c->rows, "d", (json_int_t)c->cols,
                  "pairs", (json_int_t)c->pairs, "all_pairs", (json_int_t)c->total, "similarity",
                  s->options.cosine ? "cosine" : "inner", "self", s->options.self, "centred",
                  s->options.centred, "blocks", (json_int_t)c->blocks, "seed",
                  (json_int_t)cs_args_seed(s->args), "mean_share", cs_json_number(c->mean_share),
                  "metrics", metrics);
    cs_status status = json && json_array_append(s->list, json) == 0 ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < CS_FEATURE_MEASURES && status == CS_OK; ++i) {
        char *definition = cs_feature_definition(i, &s->options, c);
        json_t *item = definition
                           ? json_pack("{s:s, s:s, s:o, s:o}", "name", cs_feature_name(i),
                                       "definition", definition, "value",
                                       cs_json_number(c->value[i]), "se", cs_json_number(c->se[i]))
                           : NULL;
        status = item && json_array_append_new(metrics, item) == 0 ? CS_OK : CS_ERR_MEMORY;
        if (status == CS_OK) {
            status = add_line(s, &(line){.series = m->name,
                                         .metric = cs_feature_name(i),
                                         .definition = definition,
                                         .value = c->value[i],
                                         .se = c->se[i],
                                         .m = m});
        }
        cs_free(definition);
    }
    if (status == CS_OK && (status = set_warnings(s, m->name, c, json)) == CS_OK) {
        status = add_curve(s, m->name, c);
    }
    json_decref(metrics);
    json_decref(json);
    return status;
}

/* 16 bytes a number in analysis/feature_connectivity.h, packed rows, and what threads hold. */
static double bytes_of(const study *s, int64_t n, int64_t d)
{
    const double threads = s->options.threads > 0 ? s->options.threads : 1;
    return 20.0 * (double)n * (double)d + threads * (8e6 + 24.0 * (double)s->options.pairs);
}

static cs_status check_memory(const study *s, const model *m, int64_t n, int64_t d)
{
    double bytes = bytes_of(s, n, d), available = (double)cs_mem_available();
    return available > 0.0 && bytes > available
               ? cs_fail(CS_ERR_MEMORY,
                         "%s: %" PRId64 " features of %" PRId64 " take %.2g GB, more than the %.2g "
                         "GB of free memory; fewer --features take less",
                         m->name, n, d, bytes / 1e9, available / 1e9)
               : CS_OK;
}

static cs_status check_equal(const study *s, int index)
{
    const model *m = &s->models[index], *first = &s->models[0];
    if (m->n == first->n || cs_args_flag(s->args, "force-unequal")) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT,
                   "%s: %" PRId64 " features, %s has %" PRId64 "; the mean of the K most similar "
                   "pairs grows with n, so it is not compared at unequal n (--force-unequal does)",
                   m->name, m->n, first->name, first->n);
}

static cs_status measure(study *s, int index)
{
    model *m = &s->models[index];
    cs_rows rows = {0};
    cs_feature_connectivity c = {0};
    cs_feature_options options = s->options;
    int32_t *group = NULL;
    int64_t groups = INT32_MAX, kept = 0; /* a block a group: they are dealt there */
    cs_status status = cs_rows_open(m->file, &rows);
    if (status != CS_OK ||
        (status = cs_args_rank_blocks(s->args, rows.rows, &group, &groups, &kept)) != CS_OK) {
        goto done;
    }
    m->n = kept < options.features ? kept : options.features;
    if ((status = check_equal(s, index)) != CS_OK ||
        (status = check_memory(s, m, m->n, rows.cols)) != CS_OK) {
        goto done;
    }
    options.group = group;
    if ((status = cs_feature_connectivity_of(&rows, &options, &c)) != CS_OK) {
        goto done;
    }
    m->d = c.cols;
    m->pairs = c.pairs;
    m->freedom = c.blocks > 0 ? c.blocks - 1 : 0;
    memcpy(m->value, c.value, sizeof m->value);
    memcpy(m->se, c.se, sizeof m->se);
    status = report(s, m, &c);
done:
    cs_feature_connectivity_free(&c);
    cs_free(group);
    cs_rows_close(&rows);
    return status;
}

/* --- beside the truth ------------------------------------------------------------------------- */

static cs_status add_beside(study *s, int quantity, const char *series, const double value[6])
{
    static const char *const column[] = {"true_value",  "true_se", "top_mean",
                                         "top_mean_se", "mean",    "mean_se"};
    cs_table *t = &s->beside;
    cs_status status;
    if ((status = cs_table_row(t)) != CS_OK ||
        (status = cs_table_text(t, "truth", cs_truth_quantity[quantity][0])) != CS_OK ||
        (status = cs_table_text(t, "target_position", cs_truth_quantity[quantity][1])) != CS_OK) {
        return status;
    }
    status = cs_table_text(t, "series", series);
    for (size_t i = 0; i < sizeof column / sizeof *column && status == CS_OK; ++i) {
        status = cs_table_real(t, column[i], value[i]);
    }
    return status;
}

/* The models under one true quantity. */
static cs_status add_truth(study *s, const cs_truth_model *models, int quantity)
{
    const char *const *name = cs_truth_quantity[quantity];
    cs_status status = CS_OK;
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        const cs_truth_model *m = &models[i];
        const cs_measured t = m->truth[quantity];
        if (!m->known || isnan(t.value)) {
            continue;
        }
        const double value[] = {t.value,           t.se,          m->claim[0].value, m->claim[0].se,
                                m->claim[1].value, m->claim[1].se};
        status = add_beside(s, quantity, m->series, value);
        if (status == CS_OK) {
            status = add_line(s, &(line){.series = m->series,
                                         .metric = name[0],
                                         .truth = name[0],
                                         .position = name[1],
                                         .definition = "of the co-occurrence matrix, as "
                                                       "the file of --truth has it",
                                         .value = t.value,
                                         .se = t.se});
        }
    }
    return status;
}

#define BEYOND                                                                                     \
    "Student's 97.5% point (Welch's degrees of freedom) times the combined standard error"

/* How the claims rank the models under one true quantity. */
static cs_status add_ranking(study *s, int quantity, const cs_ranking r[CS_TRUTH_CLAIMS])
{
    static const char *const name[] = {"tau_b", "agree", "disagree", "cannot_tell"};
    static const char *const shown[] = {"= tau-b", "= pairs that agree", "= pairs that disagree",
                                        "= pairs within error"};
    static const char *const definition[] = {
        "Kendall's tau-b of the surrogate and the true connectivity over the models; se: its "
        "standard deviation under no association, sqrt(2 (2 n + 5) / (9 n (n - 1))) for n models, "
        "ties left out of account (Kendall 1938)",
        "pairs of models that both put in the same order, beyond " BEYOND,
        "pairs of models that they put in opposite orders, beyond " BEYOND,
        "pairs of models that either cannot tell apart at " BEYOND};
    cs_status status = CS_OK;
    for (int k = 0; k < 4 && status == CS_OK; ++k) {
        double value[CS_TRUTH_CLAIMS];
        for (int c = 0; c < CS_TRUTH_CLAIMS && status == CS_OK; ++c) {
            value[c] = k == 0   ? r[c].tau_b
                       : k == 1 ? (double)r[c].agree
                       : k == 2 ? (double)r[c].disagree
                                : (double)r[c].cannot_tell;
            status = add_line(s, &(line){.series = "all",
                                         .metric = name[k],
                                         .surrogate = cs_truth_claim[c],
                                         .truth = cs_truth_quantity[quantity][0],
                                         .position = cs_truth_quantity[quantity][1],
                                         .definition = definition[k],
                                         .value = value[c],
                                         .se = k == 0 ? r[c].tau_sd : NAN});
        }
        if (status == CS_OK) {
            const double shown_value[] = {NAN, NAN, value[0], NAN, value[1], NAN};
            status = add_beside(s, quantity, shown[k], shown_value);
        }
    }
    return status;
}

static cs_status set_ranking(study *s, int claim, int quantity, const cs_ranking *r)
{
    json_t *item =
        json_pack("{s:s, s:s, s:s, s:I, s:o, s:I, s:I, s:I}", "surrogate", cs_truth_claim[claim],
                  "truth", cs_truth_quantity[quantity][0], "target_position",
                  cs_truth_quantity[quantity][1], "objectives", (json_int_t)r->objects, "tau_b",
                  cs_json_number(r->tau_b), "agree", (json_int_t)r->agree, "disagree",
                  (json_int_t)r->disagree, "cannot_tell", (json_int_t)r->cannot_tell);
    return item && json_array_append_new(s->truth, item) == 0 ? CS_OK : CS_ERR_MEMORY;
}

static cs_status compare(study *s)
{
    const char *path = cs_args_text(s->args, "truth");
    cs_truth_model *models = cs_calloc(s->count, sizeof *models);
    cs_measured *room = cs_alloc(2 * (int64_t)s->count, sizeof *room);
    cs_status status = models && room ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        const model *m = &s->models[i];
        models[i].series = m->name;
        models[i].claim[0] =
            (cs_measured){m->value[CS_FEATURE_TOP_MEAN], m->se[CS_FEATURE_TOP_MEAN], m->freedom};
        models[i].claim[1] =
            (cs_measured){m->value[CS_FEATURE_MEAN], m->se[CS_FEATURE_MEAN], m->freedom};
    }
    if (status == CS_OK) {
        status = cs_truth_read(path, s->count, models);
    }
    for (int i = 0; i < s->count && status == CS_OK; ++i) {
        if (!models[i].known) {
            cs_output_note(s->args, "%s: %s has no such series", models[i].series, path);
        }
    }
    for (int q = 0; q < CS_TRUTH_QUANTITIES && status == CS_OK; ++q) {
        cs_ranking r[CS_TRUTH_CLAIMS];
        for (int c = 0; c < CS_TRUTH_CLAIMS && status == CS_OK; ++c) {
            r[c] = cs_truth_rank(s->count, models, c, q, room, room + s->count);
            status = r[c].objects > 0 ? set_ranking(s, c, q, &r[c]) : CS_OK;
        }
        if (status == CS_OK && r[0].objects > 0 && (status = add_truth(s, models, q)) == CS_OK) {
            status = add_ranking(s, q, r);
        }
    }
    cs_free(models);
    cs_free(room);
    return status;
}

/* --- the mode --------------------------------------------------------------------------------- */

/* NAME=FILE, at the last '=' unless there is a file of the whole name. */
static cs_status take_argument(study *s, int index)
{
    const char *text = cs_args_positional(s->args, index);
    const char *equals = cs_path_exists(text) ? NULL : strrchr(text, '=');
    model *m = &s->models[index];
    m->name = equals ? cs_format("%.*s", (int)(equals - text), text) : cs_strdup(text);
    m->file = cs_strdup(equals ? equals + 1 : text);
    if (!m->name || !m->file) {
        return CS_ERR_MEMORY;
    }
    for (int i = 0; i < index; ++i) {
        if (strcmp(s->models[i].name, m->name) == 0) {
            return cs_fail(CS_ERR_USAGE, "%s is given twice; NAME=FILE tells them apart", m->name);
        }
    }
    return cs_output_input_rows(s->args, m->file);
}

static cs_status estimate(study *s)
{
    cs_rows rows = {0};
    cs_status status = cs_rows_open(s->models[0].file, &rows);
    if (status != CS_OK) {
        return status;
    }
    const int64_t n = rows.rows < s->options.features ? rows.rows : s->options.features;
    const double passes = (double)s->count * (double)(s->options.blocks + 1);
    json_t *json = json_pack("{s:I, s:I, s:s, s:o, s:o}", "n", (json_int_t)n, "d",
                             (json_int_t)rows.cols, "dtype", cs_rows_type_name(rows.type), "flops",
                             cs_json_number(passes * (double)n * (double)n * (double)rows.cols),
                             "bytes", cs_json_number(bytes_of(s, n, rows.cols)));
    status = json ? cs_output_result(s->args, "features", json, NULL) : CS_ERR_MEMORY;
    json_decref(json);
    cs_rows_close(&rows);
    return status;
}

static cs_status start(study *s)
{
    cs_args *args = s->args;
    cs_status status;
    s->options = (cs_feature_options){.features = cs_args_int(args, "features"),
                                      .pairs = cs_args_int(args, "pairs"),
                                      .cosine = cs_args_text(args, "similarity")[0] == 'c',
                                      .self = cs_args_flag(args, "self"),
                                      .centred = cs_args_flag(args, "center"),
                                      .blocks = cs_args_int(args, "jackknife"),
                                      .seed = cs_args_seed(args),
                                      .threads = cs_args_threads(args),
                                      .progress = cs_output_progress(args)};
    s->count = cs_args_positionals(args);
    s->models = cs_calloc(s->count, sizeof *s->models);
    s->list = json_array();
    s->truth = cs_args_given(args, "truth") ? json_array() : NULL;
    if (!s->models || !s->list || (cs_args_given(args, "truth") && !s->truth)) {
        return CS_ERR_MEMORY;
    }
    if ((status = cs_output_claim(args, "features.csv")) != CS_OK ||
        (status = cs_output_claim(args, "similarity.csv")) != CS_OK ||
        (status = cs_table_init(&s->curve, "series,similarity,rank,value")) != CS_OK ||
        (status = cs_table_init(&s->beside, "truth,target_position,series,true_value,true_se,"
                                            "top_mean,top_mean_se,mean,mean_se")) != CS_OK ||
        (s->truth && (status = cs_output_input(args, cs_args_text(args, "truth"))) != CS_OK)) {
        return status;
    }
    return cs_table_init(&s->table,
                         "series,metric,surrogate,truth,target_position,definition,value,"
                         "se,n,d,pairs,seed");
}

static cs_status finish(study *s)
{
    char *path = NULL;
    json_t *root = NULL;
    cs_status status = CS_OK;
    if (cs_args_given(s->args, "output") &&
        (status = cs_output_path(s->args, "similarity.csv", &path)) == CS_OK) {
        status = cs_table_write_csv(&s->curve, path);
    }
    if (status == CS_OK) {
        root = s->count == 1 ? json_incref(json_array_get(s->list, 0))
                             : json_pack("{s:O}", "models", s->list);
        status = root ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && s->truth) {
        status = cs_json_set(root, "ranking", json_incref(s->truth));
    }
    if (status == CS_OK && s->truth) {
        status = cs_output_show(s->args, 1, (const cs_table *const[]){&s->beside});
    }
    if (status == CS_OK) {
        status = cs_output_result(s->args, "features", root, &s->table);
    }
    cs_free(path);
    json_decref(root);
    return status;
}

cs_status cs_connectivity_features(cs_args *args)
{
    study s = {.args = args};
    cs_status status = start(&s);
    for (int i = 0; i < s.count && status == CS_OK; ++i) {
        status = take_argument(&s, i);
    }
    if (status == CS_OK && cs_args_flag(args, "dry-run")) {
        status = estimate(&s);
        goto done;
    }
    for (int i = 0; i < s.count && status == CS_OK; ++i) {
        if (s.count > 1) {
            cs_output_note(args, "%s", s.models[i].name);
        }
        status = measure(&s, i);
    }
    if (status != CS_OK || (s.truth && (status = compare(&s)) != CS_OK)) {
        goto done;
    }
    status = finish(&s);
done:
    for (int i = 0; i < s.count && s.models; ++i) {
        cs_free(s.models[i].name);
        cs_free(s.models[i].file);
    }
    cs_free(s.models);
    cs_table_free(&s.table);
    cs_table_free(&s.curve);
    cs_table_free(&s.beside);
    json_decref(s.list);
    json_decref(s.truth);
    return status;
}
