/* cospec connectivity: who is better connected, read off the co-occurrence matrix itself, or (with
 * --pairs, in connectivity_features.c) estimated from features.
 *
 * On matrices that are there already, or on one corpus under several objectives with the same
 * contexts, target position blind and given, with intervals by delete-block jackknife over
 * documents. A record is kept in DIR/unfinished.json as soon as it is there, so that --resume goes
 * on after an interruption. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/measures/connectivity.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/names.h"
#include "cli/commands.h"
#include "cli/connectivity_features.h"
#include "cli/groups.h"
#include "cli/mistaken.h"
#include "cli/output.h"
#include "cli/rank_rows.h"
#include "cli/unfinished.h"
#include "io/file.h"
#include "io/json.h"
#include "io/path_hash.h"
#include "io/result.h"
#include "linalg/matrix_file.h"
#include "plan/spec.h"

/* --- records ---------------------------------------------------------------------------------- */

typedef struct {
    json_t *records; /* finished ones, in order; in unfinished.kept, as the next */
    json_t *inputs;  /* a hash a record, of what it was made from */
    char input[65];  /* that of the matrix or corpus at hand */
    size_t next;     /* the next record; below the size: it was kept from an earlier run */
    size_t wanted;   /* records */
    const char *objective, *context; /* of the matrix at hand, "" where they are not known */
    cs_unfinished unfinished;
    int64_t blocks;
    int64_t
        uncovered; /* tokens of the corpus in no sequence of the matrix at hand; -1: no corpus */
    uint64_t seed;
} study;

/* {"series", "objective", "context", "target_position", <metric>: {"value", "se"}, ...,
 * "sigma": [...], "sigma_se": [...], "residual": [...]} and, of a corpus, "uncovered_tokens"; se:
 * CS_CONNECTIVITY_VALUES standard errors or NULL. */
static cs_status record_of(const study *t, const char *series, const char *position,
                           const cs_connectivity *c, const double *se, json_t **out)
{
    const cs_spectrum *p = &c->spectrum;
    double value[CS_CONNECTIVITY_VALUES];
    cs_connectivity_values(c, value, false);
    cs_result *record = cs_result_new();
    cs_item *root = cs_result_root(record);
    cs_item_text(root, "series", series);
    cs_item_text(root, "objective", t->objective);
    cs_item_text(root, "context", t->context);
    cs_item_text(root, "target_position", position);
    for (int i = 0; i < CS_CONNECTIVITY_METRICS; ++i) {
        cs_item *metric = cs_item_object(root, cs_connectivity_metric[i].name);
        cs_item_real(metric, "value", value[i]);
        cs_item_real(metric, "se", se && cs_connectivity_metric[i].interval ? se[i] : NAN);
    }
    cs_item_reals(root, "sigma", p->k, p->sigma);
    cs_item *sigma_se = cs_item_array(root, "sigma_se");
    for (int64_t j = 0; j < p->k; ++j) {
        int64_t below = j - p->components;
        bool known = se && below >= 0 && below < CS_CONNECTIVITY_SIGMAS;
        cs_item_real(sigma_se, NULL, known ? se[CS_CONNECTIVITY_METRICS + below] : NAN);
    }
    cs_item_reals(root, "residual", p->k, p->residual);
    if (t->uncovered >= 0) {
        cs_item_int(root, "uncovered_tokens", t->uncovered);
    }
    cs_status status = cs_result_json(record, out);
    cs_result_free(&record);
    return status;
}

/* A number of a record, NaN for null. */
static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A record from a file may have been edited: every member that a row needs must be there. */
static cs_status check_record(const json_t *record)
{
    static const char *const texts[] = {"series", "target_position", "context"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (!json_is_string(json_object_get(record, texts[i]))) {
            return cs_fail(CS_ERR_INPUT, "a record lacks %s", texts[i]);
        }
    }
    for (int i = 0; i < CS_CONNECTIVITY_METRICS; ++i) {
        if (!json_is_object(json_object_get(record, cs_connectivity_metric[i].name))) {
            return cs_fail(CS_ERR_INPUT, "a record lacks %s", cs_connectivity_metric[i].name);
        }
    }
    return json_is_array(json_object_get(record, "sigma"))
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "a record lacks sigma");
}

/* Adds a record to a list of the result, with the rows of connectivity.csv as "~metrics" and its
 * name in spectrum.csv as "~name"; blocks and seed are those of the jackknife. CS_ERR_INPUT when
 * the record lacks a member. */
static cs_status add_record(json_t *record, int64_t blocks, uint64_t seed, cs_item *list)
{
    cs_status status = check_record(record);
    if (status != CS_OK) return status;
    const char *series = json_string_value(json_object_get(record, "series"));
    const char *position = json_string_value(json_object_get(record, "target_position"));
    cs_item *item = cs_item_json(list, NULL, json_incref(record));
    cs_item_take(item, "~name", cs_format("%s%s%s", series, *position ? " " : "", position));
    cs_item *rows = cs_item_array(item, "~metrics");
    for (int i = 0; i < CS_CONNECTIVITY_METRICS; ++i) {
        const json_t *pair = json_object_get(record, cs_connectivity_metric[i].name);
        const double se = number(json_object_get(pair, "se"));
        cs_item *row = cs_item_object(rows, NULL);
        cs_item_text(row, "metric", cs_connectivity_metric[i].name);
        cs_item_text(row, "definition", cs_connectivity_metric[i].definition);
        cs_item_real(row, "value", number(json_object_get(pair, "value")));
        cs_item_real(row, "se", se);
        cs_item_int(row, "blocks", isnan(se) ? 0 : blocks);
        cs_item_int(row, "seed", (int64_t)seed);
    }
    return CS_OK;
}

static const char *const default_specs[] = {"ar",
                                            "masked:mask-ratio=0.25",
                                            "masked:mask-ratio=0.5",
                                            "masked:mask-ratio=0.75",
                                            "variable-masked:mask-ratio=0.25:0.75",
                                            "diverse-ar:t=2",
                                            "diverse-ar:t=4"};

/* Takes over the records of an interrupted run. */
static cs_status take_records(study *t)
{
    json_t *kept = t->unfinished.kept;
    t->records = json_object_get(kept, "records");
    t->inputs = json_object_get(kept, "inputs");
    if (!t->records && !t->inputs) {
        t->records = json_array();
        t->inputs = json_array();
        cs_status status = cs_json_set(kept, "inputs", t->inputs);
        return status == CS_OK ? cs_json_set(kept, "records", t->records) : status;
    }
    return json_is_array(t->records) && json_is_array(t->inputs)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: no records", t->unfinished.path);
}

/* Whether the next record is there from an interrupted run: then it must be of the same input. */
static cs_status take_kept(study *t, bool *kept)
{
    const char *was = json_string_value(json_array_get(t->inputs, t->next));
    *kept = t->next < json_array_size(t->records);
    if (*kept && (!was || strcmp(was, t->input) != 0)) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: matrix %zu was measured on other data than there are now; --force "
                       "starts anew",
                       t->unfinished.path, t->next + 1);
    }
    t->next += *kept;
    return CS_OK;
}

/* What an interrupt leaves, and how to go on. */
static cs_status interrupted(const study *t)
{
    const size_t done = json_array_size(t->records);
    cs_reason_clear();
    if (!t->unfinished.path) {
        return cs_fail(CS_ERR_INTERRUPT,
                       "interrupted after %zu of %zu matrices; without -o DIR nothing is kept",
                       done, t->wanted);
    }
    return done == 0
               ? cs_fail(CS_ERR_INTERRUPT,
                         "interrupted before the first of %zu matrices was measured: nothing to "
                         "keep",
                         t->wanted)
               : cs_fail(CS_ERR_INTERRUPT,
                         "interrupted after %zu of %zu matrices, kept in %s; the same command with "
                         "--resume goes on",
                         done, t->wanted, t->unfinished.path);
}

/* How every matrix of a run is measured, for its k leading values below 1. */
static cs_status measuring_options(const cs_args *args, int64_t k, cs_connectivity_options *out)
{
    cs_status status = cs_args_spectrum(args, out);
    out->k = k;
    out->moment4_budget = cs_args_moment_budget(args);
    return status;
}

/* Measures one matrix and keeps its record. */
static cs_status look_at(cs_args *args, study *t, const char *series, const char *position,
                         const double *se, const cs_csr *a)
{
    cs_connectivity c = {0};
    cs_connectivity_options options = {0};
    double cost = 0;
    cs_status status = measuring_options(args, cs_args_int(args, "k"), &options);
    status = status ? status : cs_args_note_moment4(args, a, &cost);
    status = status ? status : cs_connectivity_of(a, &options, &c);
    if (status == CS_OK && !c.spectrum.converged)
        status = cs_fail(CS_ERR_CONVERGE, "%s %s: the singular values did not converge", series,
                         position);
    if (status == CS_OK) {
        json_t *record = NULL;
        status = record_of(t, series, position, &c, se, &record);
        if (status == CS_OK && (json_array_append_new(t->records, record) != 0 ||
                                json_array_append_new(t->inputs, json_string(t->input)) != 0))
            status = CS_ERR_MEMORY;
        if (status == CS_OK) status = cs_unfinished_save(&t->unfinished);
    }
    t->next += 1;
    cs_connectivity_free(&c);
    return status;
}

/* How a corpus without one block is measured. */
typedef struct {
    const cs_cooc_options *build;
    cs_connectivity_options options;
} measuring;

static cs_status metrics_of(void *ctx, const cs_corpus *corpus, double *values)
{
    const measuring *m = ctx;
    cs_cooc cooc = {0};
    cs_connectivity c = {0};
    cs_status status = cs_cooc_build(corpus, m->build, &cooc);
    if (status == CS_OK &&
        (status = cs_connectivity_of(&cooc.matrix.a, &m->options, &c)) == CS_OK) {
        cs_connectivity_values(&c, values, true);
    }
    cs_connectivity_free(&c);
    cs_cooc_free(&cooc);
    return status;
}

/* One objective on the corpus at one target position. */
static cs_status study_objective(cs_args *args, study *t, const cs_corpus *corpus, const char *spec,
                                 bool given, const cs_cooc_options *base)
{
    cs_cooc_options options = *base;
    cs_cooc cooc = {0};
    double se[CS_CONNECTIVITY_VALUES];
    const char *position = given ? "given" : "blind";
    bool kept = false;
    cs_status status = take_kept(t, &kept);
    if (status != CS_OK || kept) return status;
    cs_plan_file parts = {0};
    status = cs_objective_parse_held(spec, &parts, &options.objective);
    if (status == CS_OK &&
        !(t->objective = cs_args_keep(args, cs_objective_describe(&options.objective))))
        status = CS_ERR_MEMORY;
    options.context.given = given;
    cs_output_note(args, "%s, target position %s", spec, position);
    measuring m = {.build = &options};
    if (status == CS_OK) status = measuring_options(args, CS_CONNECTIVITY_SIGMAS, &m.options);
    status = status ? status : cs_args_note_uncovered(args, corpus, &options, &t->uncovered);
    if (status == CS_OK && t->blocks > 0) {
        const cs_corpus_metrics metrics = {CS_CONNECTIVITY_VALUES, metrics_of, &m};
        m.options.certify = CS_CERTIFY_COMPONENTS | CS_CERTIFY_MOMENTS;
        m.options.progress = NULL;
        status = cs_jackknife(corpus, t->blocks, t->seed, &metrics, NULL, se);
    }
    if (status == CS_OK && (status = cs_cooc_build(corpus, &options, &cooc)) == CS_OK)
        status = look_at(args, t, spec, position, t->blocks > 0 ? se : NULL, &cooc.matrix.a);
    cs_cooc_free(&cooc);
    cs_plan_file_free(&parts);
    return status;
}

/* Tokens and documents, on which all else depends. */
static cs_status hash_corpus(const cs_corpus *c, char out[65])
{
    cs_hasher h = {0};
    char hex[33];
    cs_status status = cs_hasher_make(0, &h);
    if (status != CS_OK) return status;
    cs_hasher_add(&h, c->doc_ptr, (size_t)(c->documents + 1) * sizeof *c->doc_ptr);
    cs_hasher_add(&h, c->token, (size_t)c->tokens * sizeof *c->token);
    cs_hash_hex(cs_hasher_value(&h), hex);
    cs_hasher_free(&h);
    memcpy(out, hex, sizeof hex);
    return CS_OK;
}

/* What is compared at place i; NULL behind the last. */
static const char *spec_at(const cs_args *args, int i)
{
    const int given = cs_args_count(args, "compare"),
              count = given > 0 ? given : (int)(sizeof default_specs / sizeof *default_specs);
    return i >= count ? NULL : given > 0 ? cs_args_text_at(args, "compare", i) : default_specs[i];
}

/* A mistake in the last of them is found before the first is counted: in its text, before the
 * corpus is read (NULL), and for the lengths of the corpus. */
static cs_status check_specs(const cs_args *args, const cs_corpus *corpus, cs_cooc_options options)
{
    cs_status status = CS_OK;
    for (int i = 0; spec_at(args, i) && status == CS_OK; ++i) {
        cs_plan_file parts = {0};
        status = cs_objective_parse_held(spec_at(args, i), &parts, &options.objective);
        if (status == CS_OK && corpus)
            status = cs_blame(cs_cooc_check(corpus, &options), "%s", spec_at(args, i));
        cs_plan_file_free(&parts);
    }
    return status;
}

static cs_status study_corpus(cs_args *args, study *t)
{
    cs_corpus corpus = {0};
    cs_cooc_options base = {0};
    cs_status status = cs_args_build(args, &base);
    if (status == CS_OK) status = check_specs(args, NULL, base);
    if (status == CS_OK) status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), &corpus);
    if (status == CS_OK) status = check_specs(args, &corpus, base);
    if (status == CS_OK) status = hash_corpus(&corpus, t->input);
    if (status == CS_OK && !(t->context = cs_args_keep(args, cs_context_describe(&base.context))))
        status = CS_ERR_MEMORY;
    /* nearest is relative to the target: it is `given` by construction. */
    const bool always_given = cs_context_given(&base.context);
    for (int i = 0; spec_at(args, i); ++i) {
        t->wanted += always_given ? 1 : 2;
    }
    for (int i = 0; spec_at(args, i) && status == CS_OK; ++i) {
        const char *spec = spec_at(args, i);
        status = always_given ? CS_OK : study_objective(args, t, &corpus, spec, false, &base);
        if (status == CS_OK) status = study_objective(args, t, &corpus, spec, true, &base);
    }
    cs_corpus_free(&corpus);
    return status;
}

static cs_status study_file(cs_args *args, study *t, const char *path)
{
    cs_csr a = {0};
    cs_kept_rows rows = {0};
    const char *position = "";
    int64_t bytes = 0;
    bool kept = false;
    cs_status status = cs_path_sha256(path, t->input, &bytes);
    if (status == CS_OK) status = take_kept(t, &kept);
    if (status != CS_OK || kept) return status;
    status = cs_args_stored(args, path, "target_position", &position);
    if (status == CS_OK) status = cs_args_stored(args, path, "objective", &t->objective);
    if (status == CS_OK) status = cs_args_stored(args, path, "context", &t->context);
    if (status == CS_OK) status = cs_matrix_read_filled(path, &rows, &a);
    if (status == CS_OK) status = cs_blame(look_at(args, t, path, position, NULL, &a), "%s", path);
    cs_csr_free(&a);
    cs_kept_rows_free(&rows);
    return status;
}

static cs_status study_files(cs_args *args, study *t)
{
    cs_status status = CS_OK;
    const int files = cs_args_positionals(args);
    t->wanted = (size_t)files;
    for (int i = 0; i < files && status == CS_OK; ++i) {
        status = cs_want(args, CS_ERR_INPUT, cs_args_positional(args, i), CS_IS_MATRIX);
        if (status == CS_OK) status = cs_output_input(args, cs_args_positional(args, i));
    }
    for (int i = 0; i < files && status == CS_OK; ++i) {
        status = study_file(args, t, cs_args_positional(args, i));
    }
    return status;
}

/* The record of all matrices, printed and written. */
static cs_status report(cs_args *args, const study *t)
{
    static const cs_view metrics = {"matrices[].~metrics[]",
                                    "series=^series target_position=^target_position "
                                    "context=^context metric definition value se blocks seed"},
                         spectrum = {"matrices[].sigma[]",
                                     "series=^~name target_position=^target_position index=# "
                                     "sigma=. se=^sigma_se[#] residual=^residual[#]"};
    cs_item *root = cs_output_root(args);
    if (cs_args_given(args, "corpus")) {
        cs_item_text(root, "corpus", cs_args_text(args, "corpus"));
        cs_item_text(root, "context", t->context);
    }
    cs_item_int(root, "k", cs_args_int(args, "k"));
    cs_item_int(root, "blocks", t->blocks);
    cs_item_int(root, "seed", (int64_t)t->seed);
    cs_item *list = cs_item_array(root, "matrices");
    cs_status status = CS_OK;
    json_t *record;
    size_t i;
    json_array_foreach(t->records, i, record)
    {
        if (status == CS_OK) status = add_record(record, t->blocks, t->seed, list);
    }
    if (status == CS_OK) status = cs_output_csv(args, "spectrum.csv", &spectrum);
    if (status == CS_OK) status = cs_output_record(args, "connectivity", &metrics);
    return status;
}

/* Features, matrices and a corpus have options of their own. */
static cs_status check_mode(const cs_args *args)
{
    const bool features = cs_args_given(args, "pairs"),
               matrices = !features && !cs_args_given(args, "corpus");
    static const cs_opt *const of_matrices[] = {cs_group_corpus, cs_group_cooc, cs_group_solver,
                                                cs_group_moments, NULL};
    static const cs_opt *const of_corpus[] = {cs_group_corpus, cs_group_cooc, NULL};
    static const cs_opt *const of_features[] = {cs_group_features, cs_group_rank_rows, NULL};
    const cs_opt *const *group = features ? of_matrices : of_features;
    const char *other = features ? cs_args_given_in(args, "compare k") : NULL;
    const char *built = matrices ? cs_args_given_in(args, "compare jackknife") : NULL;
    for (; *group && !other; ++group) {
        other = cs_args_given_of(args, *group);
    }
    for (group = of_corpus; matrices && *group && !built; ++group) {
        built = cs_args_given_of(args, *group);
    }
    return other   ? cs_fail(CS_ERR_USAGE, "--%s is for %s", other,
                           features ? "co-occurrence matrices, --pairs for features"
                                      : "features: it wants --pairs")
           : built ? cs_fail(CS_ERR_USAGE, "--%s is for --corpus: matrices are as they were built",
                             built)
                   : cs_args_need_counts(args, "volumes and cuts");
}

static cs_status run(cs_args *args)
{
    bool corpus = cs_args_given(args, "corpus");
    cs_status status = check_mode(args);
    if (status != CS_OK) return status;
    if (cs_args_given(args, "pairs")) {
        return cs_args_positionals(args) > 0
                   ? cs_connectivity_features(args)
                   : cs_fail(CS_ERR_USAGE, "--pairs wants matrices of features");
    }
    if (corpus == (cs_args_positionals(args) > 0)) {
        return cs_fail(CS_ERR_USAGE, "connectivity wants either matrices or --corpus");
    }
    study t = {.seed = cs_args_seed(args),
               .blocks = corpus ? cs_args_int(args, "jackknife") : 0,
               .uncovered = -1};
    status = cs_output_claim(args, "connectivity.json connectivity.csv spectrum.csv");
    if (status == CS_OK) status = cs_unfinished_begin(args, &t.unfinished);
    if (status != CS_OK) return status;
    status = take_records(&t);
    if (status == CS_OK) status = corpus ? study_corpus(args, &t) : study_files(args, &t);
    if (status == CS_OK) status = report(args, &t);
    if (status == CS_ERR_INTERRUPT) status = interrupted(&t);
    cs_unfinished_end(&t.unfinished, status);
    return status;
}

static const cs_opt connectivity_options[] = {
    CS_TEXTS("compare", "SPEC",
             "An objective NAME[:KEY=VALUE,...] to compare on --corpus, such as masked:unmasked=2. "
             "Default: ar, masked at three ratios, variable-masked, diverse-ar with t = 2 and 4."),
    {"k", 'k', CS_OPT_INT, "K", "32", 1, 100000,
     "Singular values below 1 to compute for each matrix.", false},
    CS_INT("jackknife", "B", "10", 0, 1000,
           "Blocks of documents, or of rows of features, for the delete-block jackknife; 0 for "
           "none."),
    {0},
};

const cs_command cs_cmd_connectivity = {
    .name = "connectivity",
    .summary = "Connectivity of co-occurrence matrices, and its estimate from features",
    .description =
        "For each matrix A, with Abar = A / sqrt(P_C P_G): the components of its bipartite graph, "
        "the leading singular values, sum sigma^2 and sum sigma^4, and for the "
        "heaviest component the Cheeger bounds (1 - sigma_2)/2 <= h <= sqrt(1 - sigma_2^2) with "
        "the sweep cut. Sum sigma^4 is exact where its cost, printed first, is within "
        "--moment-budget; else sum_sigma4_samples is above 0, sum_sigma4_error is the standard "
        "error of the estimate, and sum_sigma4_low and sum_sigma4_high are its 95% interval.\n\n"
        "With --corpus, several objectives are compared on the same documents and contexts, target "
        "position blind and given, with standard errors by "
        "delete-block jackknife over documents. DIR receives connectivity.csv, connectivity.json "
        "and spectrum.csv.\n\n"
        "With --pairs, the estimate of LA (Figure 2) from features, a row an input (FILE.npy, "
        "FILE.npz:MEMBER, FILE.safetensors:TENSOR): the mean of the K most similar pairs, the mean "
        "and quantiles of all. The K largest of many pairs are a tail whose mean grows with n, and "
        "the mean of all cosines is the length of the mean direction and nothing else. --truth "
        "compares the order of the models with that of the true matrices: sum_sigma4 (smaller is "
        "better connected) and gap (larger is, of equally many components). Standard errors are "
        "of the rows: what another training seed would change is not in them. DIR receives "
        "features.csv, features.json and similarity.csv (cospec plot similarity).",
    .positional = "[DIR|FILE|[NAME=]FEATURES...]",
    .groups = (const cs_opt *const[]){connectivity_options, cs_group_features, cs_group_rank_rows,
                                      cs_group_corpus, cs_group_cooc, cs_group_solver,
                                      cs_group_moments, NULL},
    .shown = "series target_position metric surrogate truth value se",
    .metrics = "components,gap,sum_sigma4,top_mean,mean,tau_b",
    .more_metrics =
        "rows,cols,nnz,giant_mass,sigma2,cheeger_lower,sweep_cut,sweep_volume,cheeger_upper,"
        "sum_sigma2,sum_sigma4_error,sum_sigma4_low,sum_sigma4_high,sum_sigma4_samples,"
        "largest_residual,top_least,quantile_0.001,quantile_0.01,quantile_0.05,quantile_0.25,"
        "quantile_0.5,quantile_0.75,quantile_0.95,quantile_0.99,quantile_0.999,agree,disagree,"
        "cannot_tell",
    .examples = "# two objectives on a file of your own, windows of 3\n"
                "cospec connectivity --corpus verses.txt --context all --max-length 3 --stride 1 "
                "--compare ar --compare masked:unmasked=1 --jackknife 5 -k 4 -o truth\n"
                "# the estimate from the features of two models, ranked beside it\n"
                "cospec train --corpus verses.txt --objective ar --steps 5 --width 32 --layers 2 "
                "--batch 8 -o ar\n"
                "cospec train --corpus verses.txt --objective masked --steps 5 --width 32 "
                "--layers 2 --batch 8 -o masked\n"
                "cospec features ar verses.txt --layers last -o ar-states\n"
                "cospec features masked verses.txt --layers last -o masked-states\n"
                "cospec connectivity ar=ar-states/layer-2.npy "
                "masked:unmasked=1=masked-states/layer-2.npy --pairs 20 "
                "--truth truth/connectivity.csv\n",
    .run = run,
};
