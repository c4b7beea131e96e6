/* cospec cooc: the co-occurrence matrix of a corpus under an objective and a context mode. */
#include <stdio.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cooc/build_sequences.h"
#include "cooc/builder.h"
#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "io/file.h"
#include "io/json.h"

static const cs_opt cooc_options[] = {
    {"draws", 0, CS_OPT_TEXT, "N|N1,N2,...", NULL, 0, 0,
     "Sample N plans a sequence where enumeration is out of reach: all under masks of long "
     "sequences (nearest, each and document have exact weights); 0: exact. With a list, build "
     "DIR/draws-N for each and tabulate the spectrum against N.",
     false},
    {"mtx", 0, CS_OPT_FLAG, NULL, NULL, 0, 0, "Write matrix.mtx as well.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt *const cooc_groups[] = {cs_group_corpus,  cs_group_plan, cs_group_plan_numbers,
                                            cs_group_cooc,    cooc_options,  cs_group_ranks,
                                            cs_group_moments, NULL};

static json_t *build_json(const cs_args *args, const cs_corpus *corpus,
                          const cs_cooc_options *options, const cs_cooc *cooc)
{
    int64_t tokens = 0, uncovered = 0;
    cs_status status = cs_cooc_uncovered(corpus, options, &uncovered, &tokens);
    char *objective = cs_objective_describe(&options->objective);
    json_t *o = json_object();
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {
        {"rows", cooc->matrix.a.rows},
        {"cols", cooc->matrix.a.cols},
        {"nonzeros", cs_csr_nnz(&cooc->matrix.a)},
        {"sequences", cooc->sequences},
        {"skipped_sequences", cooc->skipped_sequences},
        {"uncovered_tokens", uncovered},
        {"contributions", cooc->contributions},
        {"runs", cooc->runs},
        {"draws", options->draws},
        {"seed", (int64_t)options->seed},
    };
    cs_json_put(&status, o, "corpus", json_string(cs_args_text(args, "corpus")));
    cs_json_put(&status, o, "objective", json_string(objective ? objective : ""));
    cs_json_put(&status, o, "context", json_string(cs_args_text(args, "context")));
    cs_json_put(&status, o, "target_position",
                json_string(options->context.given ? "given" : "blind"));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        cs_json_put(&status, o, counts[i].key, json_integer(counts[i].value));
    }
    cs_json_put(&status, o, "sampled", json_boolean(options->draws > 0));
    cs_json_put(&status, o, "exact", json_boolean(cooc->exact));
    cs_json_put(&status, o, "unit", cs_json_number(cooc->unit));
    cs_json_put(&status, o, "mass", cs_json_number(cooc->mass));
    cs_json_put(&status, o, "dropped_mass", cs_json_number(cooc->dropped_mass));
    if (status != CS_OK || !objective) {
        json_decref(o);
        o = NULL;
    }
    cs_free(objective);
    return o;
}

static cs_status store(cs_args *args, const cs_corpus *corpus, const cs_cooc_options *options,
                       const char *dir, bool force, const cs_cooc *cooc)
{
    cs_status status = cs_dir_make(dir);
    for (int i = 0; status == CS_OK && cs_cooc_file(i); ++i) {
        char *path = cs_path_join(dir, cs_cooc_file(i));
        status = path ? cs_output_begin(args, path) : CS_ERR_MEMORY;
        cs_free(path);
    }
    return status ? status
                  : cs_cooc_write(dir, corpus, options, cooc, cs_args_flag(args, "mtx"), force);
}

/* Builds and stores; what an interrupt leaves in DIR/checkpoint is for --resume to go on from. */
static cs_status build_and_store(cs_args *args, const cs_corpus *corpus,
                                 const cs_cooc_options *options, const char *dir,
                                 const char *checkpoint, cs_cooc *cooc)
{
    bool force = cs_args_flag(args, "force"), resume = cs_args_flag(args, "resume");
    cs_cooc_options resumable = *options;
    resumable.checkpoint = checkpoint;
    resumable.resume = resume && !force;
    if (cs_path_exists(checkpoint) && !force && !resume) {
        return cs_fail(CS_ERR_USAGE,
                       "%s is of an interrupted build: --resume goes on, --force starts anew",
                       checkpoint);
    }
    cs_status status = cs_cooc_build(corpus, &resumable, cooc);
    status = status ? status : store(args, corpus, options, dir, force || resume, cooc);
    if (status == CS_OK) {
        status = cs_cooc_checkpoint_remove(checkpoint);
    }
    return status;
}

static void note_built(const cs_args *args, const char *dir, const cs_cooc *cooc)
{
    const cs_csr *a = &cooc->matrix.a;
    cs_output_note(args, "%s: %lld x %lld, %lld nonzeros from %lld sequences%s", dir,
                   (long long)a->rows, (long long)a->cols, (long long)cs_csr_nnz(a),
                   (long long)cooc->sequences, cooc->runs > 0 ? ", merged from disk" : "");
    if (cooc->skipped_sequences > 0) {
        cs_output_note(args, "%lld sequences were too short for the objective",
                       (long long)cooc->skipped_sequences);
    }
}

static cs_status build_into(cs_args *args, const cs_corpus *corpus, const cs_cooc_options *options,
                            const char *dir, cs_cooc *cooc)
{
    char *checkpoint = cs_path_join(dir, "checkpoint");
    cs_status status =
        checkpoint ? build_and_store(args, corpus, options, dir, checkpoint, cooc) : CS_ERR_MEMORY;
    if (status == CS_ERR_INTERRUPT && cs_path_exists(checkpoint)) {
        cs_output_note(args, "%s: --resume goes on from here", checkpoint);
    }
    cs_free(checkpoint);
    if (status == CS_OK) {
        note_built(args, dir, cooc);
    }
    return status;
}

static cs_status build_one(cs_args *args, const cs_corpus *corpus, const cs_cooc_options *options)
{
    cs_cooc cooc = {0};
    json_t *json = NULL;
    cs_status status = build_into(args, corpus, options, cs_args_text(args, "output"), &cooc);
    if (status == CS_OK) {
        json = build_json(args, corpus, options, &cooc);
        status = json ? cs_output_result(args, "cooc", json, NULL) : CS_ERR_MEMORY;
    }
    json_decref(json);
    cs_cooc_free(&cooc);
    return status;
}

/* --- a list of draws -------------------------------------------------------------------------- */

#define DRAWS_COLUMNS                                                                              \
    "draws,rows,cols,nonzeros,components,sum_sigma2,sum_sigma4,sum_sigma4_error,index,sigma,"      \
    "residual"

static cs_status draws_rows(const cs_spectrum *s, int64_t draws, cs_table *table)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < s->k && status == CS_OK; ++i) {
        const struct {
            const char *column;
            int64_t value;
        } counts[] = {
            {"draws", draws},
            {"rows", s->rows},
            {"cols", s->cols},
            {"nonzeros", s->nnz},
            {"components", s->components},
            {"index", i + 1},
        };
        const struct {
            const char *column;
            double value;
        } reals[] = {
            {"sum_sigma2", s->sum_sigma2},
            {"sum_sigma4", s->sum_sigma4},
            {"sum_sigma4_error", s->sum_sigma4_error},
            {"sigma", s->sigma[i]},
            {"residual", s->residual[i]},
        };
        status = cs_table_row(table);
        for (size_t j = 0; j < sizeof counts / sizeof counts[0] && status == CS_OK; ++j) {
            status = cs_table_int(table, counts[j].column, counts[j].value);
        }
        for (size_t j = 0; j < sizeof reals / sizeof reals[0] && status == CS_OK; ++j) {
            status = cs_table_real(table, reals[j].column, reals[j].value);
        }
    }
    return status;
}

/* One number of draws: the matrix into DIR/draws-N, its top singular values into the table. */
static cs_status build_draws(cs_args *args, const cs_corpus *corpus, const cs_cooc_options *options,
                             json_t *array, cs_table *table, bool *converged)
{
    enum { TOP = 16 };
    cs_cooc cooc = {0};
    cs_spectrum spectrum = {0};
    char *dir = cs_format("%s/draws-%lld", cs_args_text(args, "output"), (long long)options->draws);
    cs_status status = dir ? build_into(args, corpus, options, dir, &cooc) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        const cs_csr *a = &cooc.matrix.a;
        int64_t side = a->rows < a->cols ? a->rows : a->cols;
        cs_spectrum_options wanted = {.k = side < TOP ? side : TOP,
                                      .values_only = true,
                                      .moment4 = true,
                                      .moment4_budget = cs_args_moment_budget(args),
                                      .seed = options->seed,
                                      .threads = options->threads,
                                      .progress = options->progress};
        status = cs_spectrum_of(a, &wanted, &spectrum);
    }
    if (status == CS_OK) {
        *converged = *converged && spectrum.converged;
        status = draws_rows(&spectrum, options->draws, table);
    }
    if (status == CS_OK) {
        cs_status full = CS_OK;
        json_t *o = build_json(args, corpus, options, &cooc);
        cs_json_put(&full, o, "components", json_integer(spectrum.components));
        cs_json_put(&full, o, "sum_sigma2", cs_json_number(spectrum.sum_sigma2));
        cs_json_put(&full, o, "sum_sigma4", cs_json_number(spectrum.sum_sigma4));
        cs_json_put(&full, o, "sum_sigma4_error", cs_json_number(spectrum.sum_sigma4_error));
        cs_json_put(&full, o, "sigma", cs_json_numbers(spectrum.k, spectrum.sigma));
        cs_json_put(&full, o, "residual", cs_json_numbers(spectrum.k, spectrum.residual));
        status = json_array_append_new(array, o) == 0 && full == CS_OK
                     ? CS_OK
                     : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    }
    cs_spectrum_free(&spectrum);
    cs_cooc_free(&cooc);
    cs_free(dir);
    return status;
}

static cs_status build_list(cs_args *args, const cs_corpus *corpus, cs_cooc_options *options,
                            int64_t count, const int64_t *draws)
{
    cs_table table = {0};
    bool converged = true;
    json_t *json = json_pack("{s:[]}", "draws");
    cs_status status = json ? cs_table_init(&table, DRAWS_COLUMNS)
                            : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        options->draws = draws[i];
        status =
            build_draws(args, corpus, options, json_object_get(json, "draws"), &table, &converged);
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "draws", json, &table);
    }
    if (status == CS_OK && !converged) {
        status = cs_fail(CS_ERR_CONVERGE, "a spectrum of the table did not converge; see residual");
    }
    json_decref(json);
    cs_table_free(&table);
    return status;
}

/* --- run ---------------------------------------------------------------------------------------
 */

static cs_status estimate(cs_args *args, const cs_corpus *corpus, const cs_cooc_options *options)
{
    cs_cooc_size size = {0};
    int64_t uncovered = 0, tokens = 0;
    cs_status status = cs_cooc_estimate(corpus, options, &size);
    status = status ? status : cs_cooc_uncovered(corpus, options, &uncovered, &tokens);
    if (status != CS_OK) {
        return status;
    }
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "contributions", cs_json_number(size.contributions),
        "matrix_bytes", cs_json_number(size.matrix), "memory_bytes", cs_json_number(size.memory),
        "scratch_bytes", cs_json_number(size.scratch), "documents", (json_int_t)corpus->documents,
        "tokens", (json_int_t)corpus->tokens, "uncovered_tokens", (json_int_t)uncovered);
    status = json ? cs_output_result(args, "cooc", json, NULL)
                  : cs_fail(CS_ERR_MEMORY, "out of memory for the estimate");
    json_decref(json);
    return status;
}

static cs_status claim_all(const cs_args *args, bool list)
{
    if (cs_args_flag(args, "dry-run")) {
        return CS_OK;
    }
    if (!cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "cooc needs -o DIR");
    }
    cs_status status = cs_output_claim(args, list ? "draws.csv" : "matrix.json");
    return status == CS_OK ? cs_output_claim(args, list ? "draws.json" : "cooc.json") : status;
}

/* --mpi: every rank counts its part, rank 0 receives the matrix and stores it. */
static cs_status build_over_ranks(cs_args *args, const cs_corpus *corpus,
                                  const cs_cooc_options *options)
{
    const char *dir = cs_args_text(args, "output");
    cs_cooc cooc = {0};
    cs_cooc_options shared = *options;
    json_t *json = NULL;
    shared.progress = options->comm->rank == 0 ? options->progress : NULL;
    if (shared.memory_budget == 0) { /* of what is free, for all ranks on this machine */
        int64_t part = cs_mem_available() / 4 / options->comm->neighbours;
        shared.memory_budget = part > 1 << 20 ? part : 1 << 20;
    }
    cs_status status = cs_ranks_alone(args, options->comm, cs_cooc_build(corpus, &shared, &cooc));
    if (status == CS_OK) {
        cs_ranks_note(args, options->comm);
    }
    if (status == CS_OK && options->comm->rank == 0) {
        status = store(args, corpus, options, dir, cs_args_flag(args, "force"), &cooc);
        if (status == CS_OK) {
            note_built(args, dir, &cooc);
            json = build_json(args, corpus, options, &cooc);
            status = json ? cs_output_result(args, "cooc", json, NULL) : CS_ERR_MEMORY;
        }
    }
    json_decref(json);
    cs_cooc_free(&cooc);
    return status;
}

static void note_target_position(const cs_args *args, const cs_cooc_options *options)
{
    if (options->context.mode == CS_CONTEXT_NEAREST && cs_args_given(args, "target-position") &&
        !cs_args_target_given(args)) {
        cs_output_note(args, "--target-position blind changes nothing here: offsets of nearest:N "
                             "are relative to the target");
    }
}

/* Sampling where the exact weights are at hand is for studying sampling alone. */
static cs_status note_sampling(const cs_args *args, const cs_corpus *corpus,
                               const cs_cooc_options *options)
{
    bool exact = false;
    cs_status status = options->draws > 0 ? cs_cooc_enumerable(corpus, options, &exact) : CS_OK;
    if (exact) {
        cs_output_note(args,
                       "--draws samples, though the exact weights of --context %s under this "
                       "objective can be had: leave --draws out",
                       cs_args_text(args, "context"));
    }
    return status;
}

/* What comes before the corpus. Under --mpi rank 0 alone looks at the files. */
static cs_status begin(cs_args *args, const cs_plan_file *file, const cs_cooc_options *options,
                       int64_t lists)
{
    if (options->comm && lists > 1) {
        return cs_fail(CS_ERR_USAGE, "--draws with a list works in one process: leave --mpi out");
    }
    if (!cs_args_given(args, "corpus")) {
        return cs_fail(CS_ERR_USAGE, "cooc needs --corpus NAME|FILE|DIR");
    }
    if (options->comm && options->comm->rank > 0) {
        return CS_OK;
    }
    cs_status status = claim_all(args, lists > 1);
    return status == CS_OK && file->path ? cs_output_input(args, file->path) : status;
}

/* Rank 0 first: a corpus may have to be prepared. */
static cs_status load(cs_args *args, cs_comm *comm, cs_corpus *corpus)
{
    const char *name = cs_args_text(args, "corpus");
    if (!comm) {
        return cs_args_load_corpus(args, name, corpus);
    }
    cs_status status = comm->rank == 0 ? cs_args_load_corpus(args, name, corpus) : CS_OK;
    status = cs_comm_agree(comm, status);
    if (status == CS_OK && comm->rank > 0) {
        status = cs_args_load_corpus(args, name, corpus);
    }
    return comm->agreed ? status : cs_comm_agree(comm, status);
}

static cs_status build(cs_args *args, const cs_corpus *corpus, cs_cooc_options *options,
                       int64_t count, const int64_t *draws)
{
    if (cs_args_flag(args, "dry-run")) {
        return estimate(args, corpus, options);
    }
    return options->comm ? build_over_ranks(args, corpus, options)
           : count > 1   ? build_list(args, corpus, options, count, draws)
                         : build_one(args, corpus, options);
}

static cs_status run_cooc(cs_args *args)
{
    cs_corpus corpus = {0};
    cs_plan_file file = {0};
    cs_cooc_options options = {0};
    cs_comm comm = {0};
    int64_t count = 0, *draws = NULL;
    const char *list = cs_args_text(args, "draws");
    cs_status status = cs_args_cooc(args, &file, &options);
    if (status == CS_OK && list) {
        status = cs_parse_int_list(list, "--draws", 0, INT32_MAX, &count, &draws);
    }
    if (status == CS_OK && count < 2 && cs_args_given(args, "moment-budget")) {
        status = cs_fail(CS_ERR_USAGE, "--moment-budget goes with a list of --draws");
    }
    if (status == CS_OK && cs_args_flag(args, "mpi")) {
        status = cs_ranks_join(args, &comm);
        options.comm = status == CS_OK ? &comm : NULL;
    }
    status = status ? status : begin(args, &file, &options, count);
    if (options.comm) {
        status = cs_comm_agree(&comm, status);
    }
    status = status ? status : load(args, options.comm, &corpus);
    if (status == CS_OK) {
        note_target_position(args, &options);
        status = cs_args_note_clamped(args, &corpus, &options);
    }
    int64_t uncovered = 0;
    status = status ? status : cs_args_note_uncovered(args, &corpus, &options, &uncovered);
    if (options.comm && !comm.agreed) { /* one tells of a corpus that does not fit */
        status = cs_comm_agree(&comm, status);
    }
    if (status == CS_OK) {
        options.draws = count > 0 ? draws[count - 1] : 0;
        status = note_sampling(args, &corpus, &options);
    }
    status = status ? status : build(args, &corpus, &options, count, draws);
    cs_free(draws);
    cs_corpus_free(&corpus);
    cs_plan_file_free(&file);
    return options.comm ? cs_ranks_leave(&comm, cs_ranks_alone(args, &comm, status)) : status;
}

const cs_command cs_cmd_cooc = {
    .name = "cooc",
    .summary = "Build the co-occurrence matrix of a corpus under any objective",
    .description =
        "A(X, X+) is the joint mass of a conditional text X (a row) and a predicted token X+ (a "
        "column). The objective says which tokens are predicted from which positions; the context "
        "mode says what of these positions makes the row. Masks under nearest and each take exact "
        "hypergeometric weights; under all every conditioning set is enumerated, which short "
        "windows allow (--max-length 4 --stride 1), else --draws samples.\n\n"
        "DIR receives matrix.npz (scipy.sparse.load_npz reads it), matrix.json, the row keys, "
        "class masses, the corpus as token ids and the vocabulary. The matrix is the same for any "
        "--threads and any --memory.\n\n"
        "An interrupt (Ctrl-C, SIGTERM) while it counts or merges leaves what is counted in "
        "DIR/checkpoint. The same command with --resume goes on from there and ends with the same "
        "matrix; --threads, --memory and "
        "--scratch may differ.\n\n"
        "mpirun -n R cospec cooc ... --mpi shares the counting among R processes and makes the "
        "same matrix (docs/scaling.md).\n\n"
        "--dry-run estimates from above: contributions, and bytes of the matrix, of memory beside "
        "the "
        "corpus, and of scratch files.",
    .groups = cooc_groups,
    .examples =
        "# n-gram contexts of an autoregressive model\n"
        "cospec cooc --corpus bible-kjv --objective ar --context nearest:2 --split test -o ngrams\n"
        "# exact windows of four, two tokens unmasked, target position unknown\n"
        "cospec cooc --corpus bible-kjv --objective masked --unmasked 2 --max-length 4 --stride 1 "
        "--split test -o masked2\n"
        "# plans of one's own (docs/formats.md, Plan files) on windows of four\n"
        "cospec cooc --corpus verses.txt --objective file --plan-file plans.json --max-length 4 "
        "--stride 1 -o own\n"
        "# how large would it be\n"
        "cospec cooc --corpus bible-kjv --objective masked --mask-ratio 0.15 --context each:5 "
        "--dry-run",
    .run = run_cooc,
};
