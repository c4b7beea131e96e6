/* cospec connectivity: who is better connected, read off the co-occurrence matrix itself, or (with
 * --pairs, in connectivity_features.c) estimated from features.
 *
 * On matrices that are there already, or on one corpus under several objectives with the same
 * contexts, target position blind and given, with intervals by delete-block jackknife over
 * documents. A record is kept in DIR/unfinished.json as soon as it is there, so that --resume goes
 * on after an interruption. */
#include <string.h>

#include "analysis/connectivity.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/connectivity_features.h"
#include "cli/connectivity_record.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/rank_rows.h"
#include "io/file.h"
#include "io/json.h"
#include "linalg/matrix_file.h"
#include "plan/spec.h"

#include <unistd.h>

typedef struct {
    json_t *records; /* finished ones, in order */
    size_t
        next; /* the record that comes next: below the size when it was kept from an earlier run */
    char *unfinished; /* DIR/unfinished.json; NULL without -o */
    json_t *options;  /* of this run: a kept file must have the same */
    int64_t blocks;
    int64_t uncovered; /* tokens of the corpus in no sequence of the matrix at hand */
    uint64_t seed;
} study;

static const char *const default_specs[] = {"ar",
                                            "masked:mask-ratio=0.25",
                                            "masked:mask-ratio=0.5",
                                            "masked:mask-ratio=0.75",
                                            "variable-masked:mask-ratio=0.25:0.75",
                                            "diverse-ar:t=2",
                                            "diverse-ar:t=4"};

/* Options that change how a run goes, not what it finds. */
static json_t *lasting_options(const cs_args *args)
{
    static const char *const passing[] = {"resume", "force", "quiet", "threads",
                                          "json",   "csv",   "output"};
    json_t *options = cs_args_json(args);
    for (size_t i = 0; options && i < sizeof passing / sizeof *passing; ++i) {
        (void)json_object_del(options, passing[i]);
    }
    return options;
}

/* Takes over the records of an interrupted run with the same options. */
static cs_status load_unfinished(study *t)
{
    json_t *file = NULL;
    if (!t->unfinished || !cs_path_exists(t->unfinished)) {
        return CS_OK;
    }
    cs_status status = cs_json_read(t->unfinished, &file);
    if (status == CS_OK && !json_equal(json_object_get(file, "options"), t->options)) {
        status = cs_fail(CS_ERR_USAGE, "%s holds a run with other options; --force starts anew",
                         t->unfinished);
    }
    json_t *records = json_object_get(file, "records");
    if (status == CS_OK && !json_is_array(records)) {
        status = cs_fail(CS_ERR_INPUT, "%s: no records", t->unfinished);
    }
    if (status == CS_OK) {
        json_decref(t->records);
        t->records = json_incref(records);
    }
    json_decref(file);
    return status;
}

static cs_status save_unfinished(const study *t)
{
    if (!t->unfinished) {
        return CS_OK;
    }
    json_t *file = json_pack("{s:O, s:O}", "options", t->options, "records", t->records);
    cs_status status = file ? cs_json_write(t->unfinished, file) : CS_ERR_MEMORY;
    json_decref(file);
    return status;
}

/* How every matrix of a run is measured, for its k leading values below 1. */
static cs_status measuring_options(const cs_args *args, int64_t k, cs_connectivity_options *out)
{
    cs_spectrum_options so = {0};
    cs_status status = cs_args_spectrum(args, &so);
    *out = (cs_connectivity_options){.k = k,
                                     .solver = so.solver,
                                     .tol = so.tol,
                                     .max_iterations = so.max_iterations,
                                     .no_reduction = so.no_reduction,
                                     .moment4_budget = cs_args_moment_budget(args),
                                     .seed = so.seed,
                                     .threads = so.threads,
                                     .progress = so.progress};
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
    if (status == CS_OK && !c.spectrum.converged) {
        status = cs_fail(CS_ERR_CONVERGE, "%s %s: the singular values did not converge", series,
                         position);
    }
    if (status == CS_OK) {
        json_t *record = cs_record_of(
            series, position, cs_args_given(args, "corpus") ? cs_args_text(args, "context") : "",
            &c, se);
        if (record && cs_args_given(args, "corpus")) {
            (void)json_object_set_new(record, "uncovered_tokens", json_integer(t->uncovered));
        }
        status = record && json_array_append_new(t->records, record) == 0 ? save_unfinished(t)
                                                                          : CS_ERR_MEMORY;
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
        cs_record_values(&c, values, true);
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
    double se[CS_RECORD_VALUES];
    const char *position = given ? "given" : "blind";
    if (t->next < json_array_size(t->records)) { /* kept from an interrupted run */
        t->next += 1;
        return CS_OK;
    }
    cs_status status = cs_objective_parse(spec, &options.objective);
    options.context.given = given;
    cs_output_note(args, "%s, target position %s", spec, position);
    measuring m = {.build = &options};
    if (status == CS_OK) {
        status = measuring_options(args, CS_RECORD_SIGMAS, &m.options);
    }
    status = status ? status : cs_args_note_uncovered(args, corpus, &options, &t->uncovered);
    if (status == CS_OK && t->blocks > 0) {
        const cs_corpus_metrics metrics = {CS_RECORD_VALUES, metrics_of, &m};
        m.options.no_probe = true;
        m.options.progress = NULL;
        status = cs_jackknife(corpus, t->blocks, t->seed, &metrics, NULL, se);
    }
    if (status == CS_OK && (status = cs_cooc_build(corpus, &options, &cooc)) == CS_OK) {
        status = look_at(args, t, spec, position, t->blocks > 0 ? se : NULL, &cooc.matrix.a);
    }
    cs_cooc_free(&cooc);
    return status;
}

static cs_status study_corpus(cs_args *args, study *t)
{
    cs_corpus corpus = {0};
    cs_cooc_options base = {0};
    cs_status status;
    int specs = cs_args_count(args, "compare");
    int count = specs > 0 ? specs : (int)(sizeof default_specs / sizeof *default_specs);
    if ((status = cs_args_build(args, &base)) != CS_OK ||
        (status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), &corpus)) != CS_OK) {
        goto done;
    }
    /* nearest is relative to the target: it is `given` by construction. */
    bool always_given = base.context.mode == CS_CONTEXT_NEAREST;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        const char *spec = specs > 0 ? cs_args_text_at(args, "compare", i) : default_specs[i];
        status = always_given ? CS_OK : study_objective(args, t, &corpus, spec, false, &base);
        if (status == CS_OK) {
            status = study_objective(args, t, &corpus, spec, true, &base);
        }
    }
done:
    cs_corpus_free(&corpus);
    return status;
}

static cs_status study_files(cs_args *args, study *t)
{
    cs_status status = CS_OK;
    for (int i = 0; i < cs_args_positionals(args) && status == CS_OK; ++i) {
        const char *path = cs_args_positional(args, i);
        if (t->next < json_array_size(t->records)) {
            t->next += 1;
            continue;
        }
        cs_csr a = {0};
        const char *position = NULL;
        if ((status = cs_output_input(args, path)) == CS_OK &&
            (status = cs_stored_position(path, &position)) == CS_OK &&
            (status = cs_matrix_read(path, &a)) == CS_OK) {
            status =
                cs_blame(look_at(args, t, path, position ? position : "", NULL, &a), "%s", path);
        }
        cs_csr_free(&a);
    }
    return status;
}

/* The tables of all records, printed and written. */
static cs_status report(cs_args *args, const study *t)
{
    cs_table metrics = {0}, spectrum = {0};
    json_t *root = json_object(), *record;
    const char *dir = cs_args_text(args, "output");
    char *path = dir ? cs_path_join(dir, "spectrum.csv") : NULL;
    cs_status status = dir && !path ? CS_ERR_MEMORY : cs_record_tables(&metrics, &spectrum);
    size_t i;
    json_array_foreach(t->records, i, record)
    {
        status = status == CS_OK ? cs_record_rows(record, t->blocks, t->seed, &metrics, &spectrum)
                                 : status;
    }
    if (status == CS_OK &&
        (status = cs_json_set(root, "matrices", json_incref(t->records))) == CS_OK && dir &&
        (status = cs_dir_make(dir)) == CS_OK) {
        status = cs_table_write_csv(&spectrum, path);
    }
    if (status == CS_OK &&
        (status = cs_output_result(args, "connectivity", root, &metrics)) == CS_OK &&
        t->unfinished) {
        (void)unlink(t->unfinished); /* the result replaces it */
    }
    cs_free(path);
    json_decref(root);
    cs_table_free(&metrics);
    cs_table_free(&spectrum);
    return status;
}

/* Features have options of their own. */
static cs_status check_mode(const cs_args *args)
{
    const bool features = cs_args_given(args, "pairs");
    static const cs_opt *const of_matrices[] = {cs_group_corpus, cs_group_cooc, cs_group_solver,
                                                cs_group_moments, NULL};
    static const cs_opt *const of_features[] = {cs_group_features, cs_group_rank_rows, NULL};
    const cs_opt *const *group = features ? of_matrices : of_features;
    const char *other = features && cs_args_given(args, "compare") ? "compare"
                        : features && cs_args_given(args, "k")     ? "k"
                                                                   : NULL;
    for (; *group && !other; ++group) {
        other = cs_args_given_of(args, *group);
    }
    if (!other && cs_args_flag(args, "normalised")) {
        return cs_fail(CS_ERR_USAGE, "--normalised: volumes and cuts need the counts or "
                                     "probabilities behind a normalised matrix");
    }
    if (!other) {
        return CS_OK;
    }
    return features ? cs_fail(CS_ERR_USAGE,
                              "--%s is for co-occurrence matrices, --pairs for "
                              "features",
                              other)
                    : cs_fail(CS_ERR_USAGE, "--%s is for features: it wants --pairs", other);
}

static cs_status run(cs_args *args)
{
    bool corpus = cs_args_given(args, "corpus");
    cs_status status = check_mode(args);
    if (status != CS_OK) {
        return status;
    }
    if (cs_args_given(args, "pairs")) {
        return cs_args_positionals(args) > 0
                   ? cs_connectivity_features(args)
                   : cs_fail(CS_ERR_USAGE, "--pairs wants matrices of features");
    }
    if (corpus == (cs_args_positionals(args) > 0)) {
        return cs_fail(CS_ERR_USAGE, "connectivity wants either matrices or --corpus");
    }
    const char *dir = cs_args_text(args, "output");
    study t = {.records = json_array(),
               .options = lasting_options(args),
               .seed = cs_args_seed(args),
               .blocks = corpus ? cs_args_int(args, "jackknife") : 0,
               .unfinished = dir ? cs_path_join(dir, "unfinished.json") : NULL};
    status = t.records && t.options && (!dir || t.unfinished) ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_output_claim(args, "connectivity.csv")) != CS_OK ||
        (dir && (status = cs_dir_make(dir)) != CS_OK) ||
        (cs_args_flag(args, "resume") && (status = load_unfinished(&t)) != CS_OK) ||
        (status = corpus ? study_corpus(args, &t) : study_files(args, &t)) != CS_OK) {
        goto done;
    }
    status = report(args, &t);
done:
    json_decref(t.records);
    json_decref(t.options);
    cs_free(t.unfinished);
    return status;
}

static const cs_opt connectivity_options[] = {
    {.name = "compare",
     .kind = CS_OPT_TEXT,
     .argument = "SPEC",
     .repeated = true,
     .help = "An objective NAME[:KEY=VALUE,...] to compare on --corpus, such as masked:unmasked=2. "
             "Default: ar, masked at three ratios, variable-masked, diverse-ar with t = 2 and 4."},
    {.name = "k",
     .letter = 'k',
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "32",
     .low = 1,
     .high = 100000,
     .help = "Singular values below 1 to compute for each matrix."},
    {.name = "jackknife",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "10",
     .low = 0,
     .high = 1000,
     .help = "Blocks of documents, or of rows of features, for the delete-block jackknife; 0 for "
             "none."},
    {0},
};

const cs_command cs_cmd_connectivity = {
    .name = "connectivity",
    .summary = "Connectivity of co-occurrence matrices, and its estimate from features",
    .description =
        "For each matrix A, with Abar = A / sqrt(P_C P_G): the components of its bipartite graph, "
        "the leading singular values, sum sigma^2 and sum sigma^4, and for the "
        "heaviest component the Cheeger bounds (1 - sigma_2)/2 <= h <= sqrt(1 - sigma_2^2) with "
        "the sweep cut. Sum sigma^4 is exact where its cost, told first, is within "
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
