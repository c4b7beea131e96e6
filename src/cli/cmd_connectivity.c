/* cospec connectivity: who is better connected, read off the co-occurrence matrix itself, or (with
 * --pairs, in connectivity_features.c) estimated from features.
 *
 * On matrices that are there already, or on one corpus under several objectives with the same
 * contexts, target position blind and given, with intervals by delete-block jackknife over
 * documents. A record is kept in DIR/unfinished.json as soon as it is there, so that --resume goes
 * on after an interruption. */
#include <jansson.h>
#include <string.h>

#include "analysis/measures/population_rows.h"
#include "base/auto.h"
#include "cli/argument_kind.h"
#include "cli/commands.h"
#include "cli/connectivity_features.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cli/results.h"
#include "io/json.h"
#include "plan/spec.h"

/* --- records ---------------------------------------------------------------------------------- */

typedef struct {
    json_t *records; /* finished ones, in order; in unfinished.kept, as the next */
    json_t *inputs;  /* a hash a record, of what it was made from */
    char input[65];  /* that of the current matrix or corpus */
    size_t next;     /* the next record; below the size: it was kept from an earlier run */
    size_t wanted;   /* records */
    const char *objective, *context; /* of the current matrix, "" where they are not known */
    cs_partial_run unfinished;
    cs_words specs;          /* of a corpus: the objectives */
    cs_population_plan plan; /* of a corpus, except the objective */
    cs_matrix_form *form;    /* of matrices; NULL: normalised */
} study;

static const char *const default_specs[] = {"ar",
                                            "masked(mask-ratio=0.25)",
                                            "masked(mask-ratio=0.5)",
                                            "masked(mask-ratio=0.75)",
                                            "variable-masked(mask-ratio=0.25:0.75)",
                                            "diverse-ar(t=2)",
                                            "diverse-ar(t=4)",
                                            NULL};

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
               : cs_fail(CS_ERR_INPUT, "%s: contains no records", t->unfinished.path);
}

/* Whether the next record is there from an interrupted run: then it must be of the same input. */
static cs_status take_kept(study *t, bool *kept)
{
    const char *was = json_string_value(json_array_get(t->inputs, t->next));
    *kept = t->next < json_array_size(t->records);
    if (*kept && (!was || strcmp(was, t->input) != 0)) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: matrix %zu was measured on other data, or by another version; remove "
                       "the file or give --force to start again",
                       t->unfinished.path, t->next + 1);
    }
    t->next += *kept;
    return CS_OK;
}

/* Reports the results of an interrupted run, and how to resume it. */
static cs_status interrupted(const study *t)
{
    const size_t done = json_array_size(t->records);
    cs_reason_clear();
    if (!t->unfinished.path) {
        return cs_fail(CS_ERR_INTERRUPT,
                       "interrupted after %zu of %zu matrices; nothing is kept without -o DIR",
                       done, t->wanted);
    }
    return done == 0
               ? cs_fail(
                     CS_ERR_INTERRUPT,
                     "interrupted before the first of %zu matrices was measured; nothing is kept",
                     t->wanted)
               : cs_fail(CS_ERR_INTERRUPT,
                         "interrupted after %zu of %zu matrices, kept in %s; run the same command "
                         "with --resume to continue",
                         done, t->wanted, t->unfinished.path);
}

/* How every matrix of a run is measured. */
static cs_status measuring_options(const cs_args *args, cs_connectivity_options *out)
{
    cs_status status = cs_args_spectrum(args, out);
    CS_ARGS_FIELDS(args, out, k);
    out->moment4_budget = cs_args_moment_budget(args);
    return status;
}

/* Makes the record of what was measured, or of what has the same matrix, and keeps it. */
static cs_status keep_record(study *t, const char *series, const char *position, const json_t *same,
                             const cs_population_rows *rows)
{
    const cs_spectrum *p = &rows->plug_in.spectrum;
    const cs_population_source source = {.series = series,
                                         .objective = t->objective,
                                         .context = t->context,
                                         .position = position,
                                         .seed = t->plan.seed,
                                         .form = t->form ? cs_matrix_form_text(t->form) : NULL};
    json_t *record = NULL;
    cs_status status = p->sigma && !p->solution.converged
                           ? cs_fail(CS_ERR_CONVERGE, "%s %s: the singular values did not converge",
                                     series, position)
                       : same ? cs_population_record_as(same, position, &record)
                              : cs_population_record(&source, rows, &record);
    if (status == CS_OK && (json_array_append_new(t->records, record) != 0 ||
                            json_array_append_new(t->inputs, json_string(t->input)) != 0))
        status = CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_partial_run_save(&t->unfinished);
    t->next += 1;
    return status;
}

/* The record of the objective with the target position blind, if the next one has it given. */
static const json_t *blind_of(const study *t, bool given, bool null)
{
    const size_t each = t->plan.shuffles > 0 ? 2 : 1;
    return given && !null && !cs_context_given(&t->plan.build.context)
               ? json_array_get(t->records, t->next - each)
               : NULL;
}

/* Contexts of the population of a record; 0: not known. */
static int64_t population_contexts(const json_t *record)
{
    const json_t *row;
    size_t i;
    json_array_foreach(json_object_get(record, "numbers"), i, row)
    {
        const char *metric = json_string_value(json_object_get(row, "metric")),
                   *estimate = json_string_value(json_object_get(row, "estimate"));
        if (metric && estimate && strcmp(metric, "rows") == 0 &&
            strcmp(estimate, "population") == 0) {
            return (int64_t)json_number_value(json_object_get(row, "value"));
        }
    }
    return 0;
}

/* The rows of a corpus and of its population. */
static cs_status measure(const cs_corpus *corpus, cs_population_plan *plan,
                         cs_population_rows *rows, char **why)
{
    cs_status status = cs_population_rows_of(corpus, plan, rows);
    const bool as_blind = status == CS_OK && rows->as_blind;
    if (status == CS_OK) status = cs_population_truth(corpus, plan, rows, why);
    if (status != CS_OK || rows->as_blind == as_blind) return status;
    plan->blind = 0; /* only the corpus cannot distinguish the positions */
    cs_population_rows_free(rows);
    return measure(corpus, plan, rows, why);
}

/* One objective on the corpus at one target position; null: on the shuffled corpus. */
static cs_status study_objective(cs_args *args, study *t, const cs_corpus *corpus, const char *spec,
                                 bool given, bool null)
{
    cs_population_plan plan = t->plan;
    CS_AUTO(cs_population_rows) rows = {0};
    const char *position = given ? "given" : "blind";
    const char *series = null ? cs_args_format(args, "%s shuffled", spec) : spec;
    CS_AUTO_FREE char *why = NULL;
    bool kept = false;
    cs_status status = series ? take_kept(t, &kept) : CS_ERR_MEMORY;
    if (status != CS_OK || kept) return status;
    CS_AUTO(cs_plan_file) parts = {0};
    t->objective = spec;
    status = cs_objective_parse_held(spec, &parts, &plan.build.objective);
    plan.build.context.given = given;
    const json_t *blind = blind_of(t, given, null);
    plan.blind =
        (int64_t)json_number_value(json_object_get(json_object_get(blind, "rows"), "value"));
    plan.blind_population = population_contexts(blind);
    cs_output_note(args, "%s, target position %s", series, position);
    if (status == CS_OK)
        status =
            null ? cs_population_null(corpus, &plan, &rows) : measure(corpus, &plan, &rows, &why);
    cs_args_note_uncovered(args, plan.build.stride, rows.uncovered, rows.tokens);
    if (why) cs_output_note(args, "population values are not available: %s", why);
    if (rows.as_blind)
        cs_output_note(
            args, "each context has a single target position, so the matrix equals the blind one");
    if (status == CS_OK)
        status = keep_record(t, series, position, rows.as_blind ? blind : NULL, &rows);
    return status;
}

/* A mistake in the last of them for the lengths of the corpus is found before the first is counted. */
static cs_status check_specs(const cs_args *args, const study *t, const cs_corpus *corpus,
                             cs_cooc_options options)
{
    cs_status status = CS_OK;
    for (int i = 0; i < t->specs.count && status == CS_OK; ++i) {
        CS_AUTO(cs_plan_file) parts = {0};
        status = cs_objective_parse_held(t->specs.text[i], &parts, &options.objective);
        if (status == CS_OK)
            status = cs_blame(cs_cooc_check(corpus, &options), "%s", t->specs.text[i]);
        if (status == CS_OK) cs_args_note_masked(args, corpus, &options);
    }
    return status;
}

static cs_status study_corpus(cs_args *args, study *t)
{
    CS_AUTO(cs_corpus) corpus = {0};
    cs_cooc_options *base = &t->plan.build;
    cs_status status = cs_args_build(args, base);
    if (status == CS_OK) status = measuring_options(args, &t->plan.spectrum);
    if (status == CS_OK) status = cs_args_compared(args, default_specs, &t->specs);
    if (status == CS_OK) status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), &corpus);
    if (status == CS_OK) status = cs_cooc_in_plane(&corpus, base);
    if (status == CS_OK) status = check_specs(args, t, &corpus, *base);
    if (status == CS_OK) status = cs_corpus_hash(&corpus, t->input);
    if (status == CS_OK && !(t->context = cs_args_keep(args, cs_context_describe(&base->context))))
        status = CS_ERR_MEMORY;
    /* nearest is relative to the target: it is `given` by construction. */
    const int first = cs_context_given(&base->context), each = t->plan.shuffles > 0 ? 2 : 1;
    t->wanted = (size_t)(t->specs.count * (2 - first) * each);
    for (int i = 0; i < t->specs.count && status == CS_OK; ++i) {
        for (int j = 0; j < (2 - first) * each && status == CS_OK; ++j) {
            status = study_objective(args, t, &corpus, t->specs.text[i], first + j / each > 0,
                                     j % each > 0);
        }
    }
    return status;
}

static cs_status study_file(cs_args *args, study *t, const char *path)
{
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_nonempty_rows) nonempty = {0};
    cs_connectivity_options options = {0};
    CS_AUTO(cs_population_rows) rows = {0};
    json_auto_t *sidecar = NULL;
    double cost = 0;
    bool kept = false;
    (void)snprintf(t->input, sizeof t->input, "%s", cs_output_sha256(args, path));
    cs_status status = take_kept(t, &kept);
    if (status != CS_OK || kept) return status;
    status = measuring_options(args, &options);
    options.form = t->form;
    if (status == CS_OK) status = cs_stored_sidecar(path, &sidecar);
    t->objective = cs_json_string(sidecar, "objective");
    t->context = cs_json_string(sidecar, "context");
    if (status == CS_OK) status = cs_form_of_stored(path, t->form);
    if (status == CS_OK) status = cs_args_read_matrix(args, path, &nonempty, &a);
    if (status == CS_OK) status = cs_args_note_moment4(args, &a, false, &cost);
    if (status == CS_OK)
        status = cs_blame(cs_population_rows_of_matrix(&a, &options, &rows), "%s", path);
    if (status == CS_OK)
        status = keep_record(t, path, cs_json_string(sidecar, "target_position"), NULL, &rows);
    return status;
}

static cs_status study_files(cs_args *args, study *t)
{
    cs_status status = CS_OK;
    const int files = cs_args_positionals(args);
    t->wanted = (size_t)files;
    for (int i = 0; i < files && status == CS_OK; ++i) {
        status = cs_require_kind(args, CS_ERR_INPUT, cs_args_positional(args, i), CS_IS_MATRIX);
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
    static const cs_view numbers = {"rows[]",
                                    "series target_position context metric estimate definition "
                                    "note value se low high documents blocks seed"},
                         blocks = {"rows[].~left_out[]",
                                   "series=^series target_position=^target_position "
                                   "context=^context metric=^metric estimate=^estimate "
                                   "documents=^documents block=# value=. partition=^~partition"},
                         verdicts = {"verdicts[]", "series target_position against "
                                                   "against_position of ratio low high verdict "
                                                   "reason withheld"},
                         spectrum = {"matrices[].sigma[]",
                                     "series=^~name target_position=^target_position index=# "
                                     "sigma=. se=^sigma_se[#] residual=^residual[#]"};
    cs_item *root = cs_output_root(args);
    if (cs_args_given(args, "corpus")) {
        cs_item_text(root, "corpus", cs_args_text(args, "corpus"));
        cs_item_text(root, "context", t->context);
    }
    cs_item_int(root, "k", cs_args_int(args, "k"));
    cs_item_int(root, "blocks", t->plan.blocks);
    cs_item_int(root, "seed", (int64_t)t->plan.seed);
    cs_item *matrices = cs_item_array(root, "matrices"), *rows = cs_item_array(root, "rows");
    cs_status status = CS_OK;
    json_t *record;
    size_t i;
    if (cs_args_given(args, "corpus"))
        status = cs_population_verdicts(t->records, cs_item_array(root, "verdicts"));
    json_array_foreach(t->records, i, record)
    {
        if (status == CS_OK) status = cs_population_record_add(record, rows, matrices);
    }
    if (status == CS_OK) status = cs_output_csv(args, "connectivity-blocks.csv", &blocks);
    if (status == CS_OK) status = cs_output_csv(args, "verdicts.csv", &verdicts);
    if (status == CS_OK) status = cs_output_csv(args, "spectrum.csv", &spectrum);
    if (status == CS_OK) status = cs_output_record(args, "connectivity", &numbers);
    return status;
}

/* Features, matrices and a corpus have options of their own. */
static cs_status check_mode(const cs_args *args)
{
    const bool features = cs_args_given(args, "pairs"),
               matrices = !features && !cs_args_given(args, "corpus");
    static const cs_opt *const of_matrices[] = {
        cs_group_corpus,  cs_group_roles, cs_group_cooc, cs_group_solver,
        cs_group_moments, cs_group_form,  NULL};
    static const cs_opt *const of_corpus[] = {cs_group_corpus, cs_group_roles, cs_group_cooc, NULL};
    static const cs_opt *const of_features[] = {cs_group_features, cs_group_rank_rows, NULL};
    const cs_opt *const *group = features ? of_matrices : of_features;
    if (!features && cs_args_flag(args, "dry-run"))
        return cs_fail(CS_ERR_USAGE, "--dry-run needs --pairs: only connectivity of features has "
                                     "an estimate");
    const char *other = features ? cs_args_given_in(args, "compare k curve null hold-back") : NULL;
    const char *built =
        matrices ? cs_args_given_in(args, "compare jackknife curve null hold-back") : NULL;
    for (; *group && !other; ++group) {
        other = cs_args_given_of(args, *group);
    }
    for (group = of_corpus; matrices && *group && !built; ++group) {
        built = cs_args_given_of(args, *group);
    }
    if (!matrices && !features && cs_args_given(args, "form")) {
        return cs_fail(CS_ERR_USAGE, "--form needs matrices: --corpus estimates the normalised "
                                     "matrix of the language");
    }
    return other ? cs_fail(CS_ERR_USAGE, "--%s is for %s", other,
                           features ? "co-occurrence matrices, but --pairs is for features"
                                    : "features and needs --pairs")
           : built
               ? cs_fail(CS_ERR_USAGE,
                         "--%s needs --corpus; a matrix that is already built cannot change", built)
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
                   : cs_fail(CS_ERR_USAGE, "--pairs needs matrices of features");
    }
    if (corpus == (cs_args_positionals(args) > 0)) {
        return cs_fail(CS_ERR_USAGE, "connectivity needs either matrices or --corpus");
    }
    study t = {.plan = {.blocks = corpus ? cs_args_int(args, "jackknife") : 0,
                        .sizes = cs_args_int(args, "curve"),
                        .shuffles = cs_args_int(args, "null")}};
    CS_ARGS_FIELDS(args, &t.plan, seed, hold_back);
    CS_AUTO(cs_matrix_form) *form = NULL;
    status = cs_args_form(args, cs_args_text(args, "form"), &form);
    if (status != CS_OK) return status;
    t.form = form;
    status = cs_output_claim(args, "connectivity.json connectivity.csv connectivity-blocks.csv "
                                   "verdicts.csv spectrum.csv");
    if (status == CS_OK) status = cs_partial_run_begin(args, &t.unfinished);
    if (status != CS_OK) return status;
    status = take_records(&t);
    if (status == CS_OK) status = corpus ? study_corpus(args, &t) : study_files(args, &t);
    if (status == CS_OK) status = report(args, &t);
    if (status == CS_ERR_INTERRUPT) status = interrupted(&t);
    cs_partial_run_end(&t.unfinished, status);
    cs_words_free(&t.specs);
    return status;
}

static const cs_opt connectivity_options[] = {
    CS_TEXTS("compare", "SPEC",
             "An objective NAME[(KEY=VALUE,...)] to compare on --corpus. Default: ar, masked at "
             "three ratios, variable-masked, diverse-ar with t = 2 and 4."),
    {"k", 'k', CS_OPT_INT, "K", "32", 1, 100000,
     "Number of singular values below 1 to compute for each matrix.", false},
    CS_INT("jackknife", "B", "10", 0, 1000,
           "Blocks of documents, or of rows of features, for the delete-block jackknife; 0: none."),
    CS_INT("curve", "K", "0", 0, 20,
           "With --corpus: also compute the sums on 1/2, 1/4, ... 1/2^K of the documents, and "
           "extrapolate to unseen contexts."),
    CS_FLAG("hold-back",
            "With --corpus: change of the distinct-document sums if contexts of fewer than 4, 8 or "
            "16 documents count as unseen."),
    CS_INT("null", "N", "0", 0, 1000,
           "With --corpus: repeat on N shuffles of the tokens over the documents (series \"... "
           "shuffled\"), whose true sums are 1."),
    {0},
};

const cs_command cs_cmd_connectivity = {
    .name = "connectivity",
    .help = &cs_help_connectivity,
    .positional = "[DIR|FILE|[NAME=]FEATURES...]",
    .main = "corpus compare context max-length stride jackknife curve null pairs output",
    .groups = (const cs_opt *const[]){connectivity_options, cs_group_features, cs_group_rank_rows,
                                      cs_group_corpus, cs_group_roles, cs_group_cooc, cs_group_form,
                                      cs_group_solver, cs_group_moments, NULL},
    .shown =
        "series target_position metric estimate documents surrogate truth value se low high note",
    .metrics = "components,gap,sum_sigma4,sum_sigma4_corrected,mass_seen,sum_sigma4_extrapolated,"
               "top_mean,mean,tau_b",
    .more_metrics =
        "rows,cols,nnz,giant_mass,sigma2,cheeger_lower,sweep_cut,sweep_volume,cheeger_upper,"
        "sum_sigma2,sum_sigma2_corrected,estimable,documents_needed,sum_sigma2_extrapolated,mass_"
        "seen_"
        "halves,sum_sigma2_drift_4,sum_sigma4_drift_4,mass_seen_4,sum_sigma2_drift_8,sum_sigma4_"
        "drift_8,mass_seen_8,sum_sigma2_drift_16,sum_sigma4_drift_16,mass_seen_16,sigma_1,sigma_2,"
        "sigma_3,sigma_4,sigma_"
        "5,"
        "sigma_6,sigma_7,sigma_8,tail_1,tail_2,tail_4,tail_8,sum_sigma4_error,sum_sigma4_low,sum_"
        "sigma4_high,sum_sigma4_samples,"
        "largest_residual,conditional_entropy,top_least,quantile_0.001,quantile_0.01,quantile_0.05,"
        "quantile_0.25,"
        "quantile_0.5,quantile_0.75,quantile_0.95,quantile_0.99,quantile_0.999,agree,disagree,"
        "undetermined",
    .digest = cs_connectivity_digest,
    .run = run,
};
