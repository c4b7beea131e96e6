/* cospec cooc: the co-occurrence matrix of a corpus under an objective and a context mode. */

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/scratch.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cooc/builder.h"
#include "cooc/ranked.h"
#include "io/file.h"
#include "linalg/matrix_index.h"

static const cs_opt cooc_options[] = {
    CS_HEADING("Matrix"),
    CS_TEXT("draws", "N|N1,N2,...", NULL,
            "Sample N plans per sequence instead of enumerating them; 0: exact. A list builds "
            "DIR/draws-N for each N and tabulates the spectra."),
    CS_FLAG("population",
            "Build the matrix of the distribution of a synthetic corpus (markov:..., hmm:..., "
            "grammar:...), not of a sample."),
    CS_REAL("subsample", "T", NULL, 1e-12, 0.999999,
            "each:W:flat, each:W:linear, each:W:harmonic: pairs weigh as if word2vec had removed "
            "tokens of a share above T at random; 1e-3 to 1e-5 are usual."),
    CS_FLAG("mtx", "Also write matrix.mtx; not with --mpi, where no process has all rows."),
    CS_SIZE(
        "shard-size", "BYTES", "4G",
        "Largest size of a file of rows (K, M, G allowed). A larger matrix is written in shards "
        "of consecutive rows, which matrix.index.json lists."),
    {0},
};
static const cs_opt *const cooc_groups[] = {cs_group_corpus,
                                            cs_group_roles,
                                            cs_group_objective,
                                            cs_group_plan,
                                            cs_group_target,
                                            cs_group_plan_numbers,
                                            cs_group_cooc,
                                            cooc_options,
                                            cs_group_ranks,
                                            cs_group_moments,
                                            NULL};

/* One matrix: its sizes as one row. */
static cs_status print_build(cs_args *args, const cs_cooc_prepared *p, const cs_cooc *cooc)
{
    static const cs_view view = {
        "",
        "corpus objective context target_position rows cols nonzeros sequences skipped_sequences "
        "uncovered_tokens contributions draws seed sampled exact unit mass dropped_mass "
        "label_noise"};
    cs_cooc_record(cs_args_text(args, "corpus"), p, cooc, cs_output_root(args));
    return cs_output_record(args, "cooc", &view);
}

/* The files of a matrix in the folder `below` of DIR ("" or "NAME/"), and shards that are there. */
static cs_status claim_files(cs_args *args, const char *below)
{
    char **name = NULL;
    int64_t count = 0;
    const char *dir = cs_args_format(args, "%s/%s", cs_args_text(args, "output"), below);
    /* shards that ranks of an interrupted run have left (cs_ranks_store_open) */
    const bool keeps = cs_args_flag(args, "mpi") && cs_args_flag(args, "resume");
    cs_status status = dir ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; status == CS_OK && cs_cooc_file(i); ++i) {
        const char *file = cs_args_format(args, "%s%s", below, cs_cooc_file(i));
        status = file ? cs_output_claim(args, file) : CS_ERR_MEMORY;
    }
    if (status == CS_OK && cs_path_is_dir(dir)) status = cs_dir_names(dir, &name, &count);
    for (int64_t i = 0; status == CS_OK && i < count; ++i) {
        if (!cs_is_shard_name(name[i]) || keeps) continue;
        const char *file = cs_args_format(args, "%s%s", below, name[i]);
        status = file ? cs_output_claim(args, file) : CS_ERR_MEMORY;
    }
    cs_text_list_free(name, count);
    return status;
}

static cs_status store(cs_args *args, const cs_cooc_prepared *p, const char *dir, bool force,
                       const cs_cooc *cooc)
{
    char **name = NULL;
    int64_t count = 0;
    const size_t root = strlen(cs_args_text(args, "output"));
    cs_status status = cs_dir_make(dir);
    if (status == CS_OK) status = cs_cooc_files(cooc, &p->options, &count, &name);
    for (int64_t i = 0; status == CS_OK && i < count; ++i) {
        const char *path = cs_args_join(args, dir, name[i]);
        status = path ? CS_OK : CS_ERR_MEMORY;
        if (path && cs_is_shard_name(name[i])) status = cs_output_claim(args, path + root + 1);
        if (status == CS_OK) status = cs_output_begin(args, path);
    }
    cs_text_list_free(name, count);
    return status
               ? status
               : cs_cooc_write(dir, p->corpus, &p->options, cooc, cs_args_flag(args, "mtx"), force);
}

static cs_status note_lacking(const cs_args *args, cs_cooc_prepared *p)
{
    double bytes = 0;
    cs_status status = cs_cooc_lacking(p, &bytes);
    if (bytes > 0)
        cs_output_note(args,
                       "counting by sorted records; --memory %.0fM would allow counting row by "
                       "row, which is several times as fast",
                       ceil(bytes / 0x1p20));
    return status;
}

/* Builds and stores; what an interrupt leaves in DIR/checkpoint is for --resume to go on from. */
static cs_status build_and_store(cs_args *args, cs_cooc_prepared *p, const char *dir,
                                 const char *checkpoint, cs_cooc *cooc)
{
    bool force = cs_args_flag(args, "force"), resume = cs_args_flag(args, "resume");
    p->options.checkpoint = checkpoint;
    p->options.resume = resume && !force;
    cs_status status = cs_link_refuse(checkpoint);
    if (status != CS_OK) return status;
    if (cs_path_exists(checkpoint) && !force && !resume) {
        return cs_fail(CS_ERR_USAGE,
                       "%s belongs to an interrupted build; give --resume to continue it or "
                       "--force to start again",
                       checkpoint);
    }
    status = cs_cooc_check_disk(p, dir);
    if (status == CS_OK) status = note_lacking(args, p);
    status = status ? status : cs_cooc_build_prepared(p, cooc);
    if (status == CS_OK) status = cs_cooc_built(p, store(args, p, dir, force || resume, cooc));
    if (status == CS_OK) status = cs_cooc_checkpoint_remove(checkpoint);
    return status;
}

static void note_built(const cs_args *args, const char *dir, const cs_cooc *cooc)
{
    char merged[64] = "";
    if (cooc->exchanged > 0)
        (void)snprintf(merged, sizeof merged, ", %lld records sent between ranks",
                       (long long)cooc->exchanged);
    else if (cooc->runs > 0)
        (void)snprintf(merged, sizeof merged, ", merged from %lld runs on disk",
                       (long long)cooc->runs);
    cs_output_note(args, "%s%s%lld x %lld, %lld nonzeros from %lld sequences%s", dir ? dir : "",
                   dir ? ": " : "", (long long)cooc->all_rows, (long long)cooc->matrix.a.cols,
                   (long long)cooc->all_nonzeros, (long long)cooc->sequences, merged);
    if (cooc->resumed > 0) {
        cs_output_note(args, "%lld of %lld contributions were counted by the interrupted run",
                       (long long)cooc->resumed, (long long)cooc->contributions);
    }
    if (cooc->skipped_sequences > 0) {
        cs_output_note(args, "left out %lld sequences too short for the objective",
                       (long long)cooc->skipped_sequences);
    }
}

static cs_status build_into(cs_args *args, cs_cooc_prepared *p, const char *dir, cs_cooc *cooc)
{
    const char *checkpoint = cs_args_join(args, dir, "checkpoint");
    cs_status status = checkpoint ? build_and_store(args, p, dir, checkpoint, cooc) : CS_ERR_MEMORY;
    if (status == CS_ERR_INTERRUPT && !args->part && cs_path_exists(checkpoint))
        cs_output_note(args, "%s: give --resume to continue from here", checkpoint);
    if (status == CS_OK) note_built(args, dir, cooc);
    return status;
}

static cs_status build_one(cs_args *args, cs_cooc_prepared *p)
{
    CS_AUTO(cs_cooc) cooc = {0};
    p->options.compact = !cs_args_flag(args, "mtx");
    cs_status status = build_into(args, p, cs_args_text(args, "output"), &cooc);
    return status == CS_OK ? print_build(args, p, &cooc) : status;
}

/* The matrix and what it was counted from become the caller's. */
static cs_status build_in_memory(cs_args *args, cs_corpus *corpus, cs_cooc_prepared *p)
{
    cs_in_memory *memory = cs_args_in_memory(args);
    cs_status status = note_lacking(args, p);
    if (status == CS_OK) status = cs_cooc_build_prepared(p, &memory->cooc);
    if (status != CS_OK) return status;
    note_built(args, NULL, &memory->cooc);
    status = print_build(args, p, &memory->cooc);
    memory->corpus = *corpus;
    *corpus = (cs_corpus){0};
    return status;
}

/* --- over ranks ------------------------------------------------------------------------------- */

/* Each rank its rows, in shards; a lone rank as one process. */
static cs_status build_in_shards(cs_args *args, cs_cooc_prepared *p, const char *dir, cs_cooc *cooc)
{
    const bool force = cs_args_flag(args, "force"), resume = cs_args_flag(args, "resume");
    CS_AUTO(cs_ranks_store) *store = NULL;
    cs_status status = cs_ranks_store_open(dir, p->corpus, &p->options, force, resume, &store);
    if (status != CS_OK) return status;
    p->options.stored = cs_ranks_store_rows(store);
    p->options.checkpoint = cs_ranks_store_checkpoint(store);
    p->options.resume = resume && !force;
    if (p->options.stored) cs_output_note(args, "%s: the rows of rank 0 are kept", dir);
    status = cs_cooc_built(p, cs_cooc_build_prepared(p, cooc));
    if (status == CS_OK) status = cs_cooc_write_ranks(store, p->corpus, cooc, force || resume);
    p->options.stored = NULL;
    p->options.checkpoint = NULL;
    return status;
}

/* --mpi: every rank counts its part, receives its rows and stores them. */
static cs_status build_over_ranks(cs_args *args, cs_cooc_prepared *p, const char *dir,
                                  cs_cooc *cooc)
{
    cs_cooc_options *o = &p->options;
    o->progress = o->comm->rank == 0 ? o->progress : NULL;
    if (o->memory_budget == 0) { /* of what is free, for all ranks on this machine */
        int64_t part = cs_mem_available() / 4 / o->comm->neighbours;
        o->memory_budget = part > 1 << 20 ? part : 1 << 20;
    }
    const bool parted = p->corpus->all_documents > 0; /* the check is then collective */
    cs_status status = parted || o->comm->rank == 0 ? cs_cooc_check_disk(p, dir) : CS_OK;
    status = cs_comm_agree(o->comm, status);
    if (status == CS_OK) status = note_lacking(args, p);
    if (status == CS_OK && o->comm->ranks > 1) {
        status = build_in_shards(args, p, dir, cooc);
    } else if (status == CS_OK) {
        status = cs_cooc_build_prepared(p, cooc);
        if (status == CS_OK) status = store(args, p, dir, cs_args_flag(args, "force"), cooc);
    }
    status = cs_ranks_alone(args, o->comm, status);
    if (status == CS_OK) note_built(args, dir, cooc);
    return status;
}

static cs_status build_one_over_ranks(cs_args *args, cs_cooc_prepared *p)
{
    CS_AUTO(cs_cooc) cooc = {0};
    cs_status status = build_over_ranks(args, p, cs_args_text(args, "output"), &cooc);
    if (status != CS_OK) return status;
    cs_ranks_note(args, p->options.comm);
    return p->options.comm->rank == 0 ? print_build(args, p, &cooc) : CS_OK;
}

/* --- a list of draws -------------------------------------------------------------------------- */

static cs_status claim_draws(cs_args *args, int64_t draws)
{
    const char *folder = cs_args_format(args, "draws-%lld/", (long long)draws);
    return folder ? claim_files(args, folder) : CS_ERR_MEMORY;
}

/* The largest values of a stored matrix, over ranks from its files. */
static cs_status spectrum_of_draws(const cs_args *args, const cs_cooc_options *options,
                                   const char *dir, const cs_cooc *cooc, cs_spectrum *out)
{
    enum { TOP = 16 };
    const cs_csr *a = &cooc->matrix.a;
    const cs_spectrum_options wanted = {.k = cs_least(TOP, cs_least(cooc->all_rows, a->cols)),
                                        .values_only = true,
                                        .moment4 = true,
                                        .moment4_budget = cs_args_moment_budget(args),
                                        .seed = options->seed,
                                        .threads = options->threads,
                                        .progress = options->progress};
    if (!options->comm) {
        return cs_spectrum_of(a, &wanted, out);
    }
    CS_AUTO(cs_shard) shard = {0};
    CS_AUTO_FREE char *path = cs_path_join(dir, cs_matrix_name(dir));
    cs_status status = cs_comm_agree(options->comm, path ? CS_OK : CS_ERR_MEMORY);
    if (status == CS_OK) status = cs_shard_read(options->comm, path, true, &shard);
    return status == CS_OK ? cs_ranked_spectrum(&shard, &wanted, out) : status;
}

/* DIR/draws-N, made and claimed by one rank. */
static cs_status begin_draws(cs_args *args, const cs_cooc_options *options, const char *dir)
{
    cs_status status = dir ? CS_OK : CS_ERR_MEMORY;
    if (!options->comm || options->comm->rank == 0) {
        if (status == CS_OK) status = claim_draws(args, options->draws);
        if (status == CS_OK) status = cs_dir_make_own(dir);
    }
    return options->comm ? cs_comm_agree(options->comm, status) : status;
}

/* One number of draws: the matrix into DIR/draws-N, its top singular values into the result. */
static cs_status build_draws(cs_args *args, cs_cooc_prepared *p, cs_item *list, bool *converged)
{
    const cs_cooc_options *options = &p->options;
    CS_AUTO(cs_cooc) cooc = {0};
    CS_AUTO(cs_spectrum) spectrum = {0};
    const char *dir = cs_args_format(args, "%s/draws-%lld", cs_args_text(args, "output"),
                                     (long long)options->draws);
    cs_status status = begin_draws(args, options, dir);
    if (status == CS_OK)
        status =
            options->comm ? build_over_ranks(args, p, dir, &cooc) : build_into(args, p, dir, &cooc);
    if (status == CS_OK) status = spectrum_of_draws(args, options, dir, &cooc, &spectrum);
    if (status == CS_OK) {
        cs_item *item = cs_item_object(list, NULL);
        cs_cooc_record(cs_args_text(args, "corpus"), p, &cooc, item);
        *converged = *converged && spectrum.solution.converged;
        CS_ITEM_FIELDS(item, &spectrum.input, components);
        CS_ITEM_FIELDS(item, &spectrum.moments, sum_sigma2, sum_sigma4, sum_sigma4_error);
        cs_item_reals(item, "sigma", spectrum.k, spectrum.sigma);
        cs_item_reals(item, "residual", spectrum.k, spectrum.residual);
    }
    return status;
}

static cs_status build_list(cs_args *args, cs_cooc_prepared *p, int64_t count, const int64_t *draws)
{
    static const cs_view view = {
        "draws[].sigma[]",
        "draws=^draws rows=^rows cols=^cols nonzeros=^nonzeros components=^components "
        "sum_sigma2=^sum_sigma2 sum_sigma4=^sum_sigma4 sum_sigma4_error=^sum_sigma4_error index=# "
        "sigma=. residual=^residual[#]"};
    bool converged = true;
    cs_item *list = cs_item_array(cs_output_root(args), "draws");
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_cooc_set_draws(p, draws[i]);
        status = build_draws(args, p, list, &converged);
    }
    if (p->options.comm) {
        status = cs_ranks_alone(args, p->options.comm, status);
        if (status == CS_OK) cs_ranks_note(args, p->options.comm);
        if (p->options.comm->rank > 0) return status;
    }
    if (status == CS_OK) status = cs_output_record(args, "draws", &view);
    if (status == CS_OK && !converged) {
        status = cs_fail(CS_ERR_CONVERGE,
                         "a spectrum of the table did not converge; see the column residual");
    }
    return status;
}

/* --- run -------------------------------------------------------------------------------------- */

/* The smallest --tail that makes a matrix ten times smaller that is worth it, if there is one. */
static cs_status note_tail(const cs_args *args, const cs_cooc_prepared *p,
                           const cs_cooc_size *whole)
{
    static const double SMALL = 1e8; /* bytes */
    cs_cooc_size size = {0};
    double tail = 0;
    cs_status status = whole->stored < SMALL ? CS_OK : cs_cooc_smaller_tail(p, whole, &tail, &size);
    if (status == CS_OK && tail > 0)
        cs_output_note(args,
                       "--tail %g would drop at most that share of an event and make the matrix "
                       "%.0f times smaller: %.3g rows, %.3g bytes",
                       tail, whole->matrix / size.matrix, size.rows, size.matrix);
    return status;
}

static cs_status estimate(cs_args *args, cs_cooc_prepared *p)
{
    cs_cooc_size size = {0};
    cs_status status = cs_cooc_estimate_prepared(p, &size);
    if (p->options.comm) status = cs_comm_agree(p->options.comm, status);
    if (status != CS_OK) return status;
    cs_item *root = cs_output_root(args);
    CS_ITEM_FIELDS(root, &size, contributions, rows);
    cs_item_real(root, "matrix_bytes", size.matrix);
    cs_item_real(root, "stored_bytes", size.stored);
    cs_item_real(root, "memory_bytes", size.memory);
    cs_item_real(root, "scratch_bytes", size.scratch);
    const cs_corpus *c = p->corpus;
    cs_item_int(root, "documents", c->all_documents > 0 ? c->all_documents : c->documents);
    cs_item_int(root, "tokens", c->all_documents > 0 ? c->all_tokens : c->tokens);
    cs_item_int(root, "uncovered_tokens", p->uncovered);
    cs_item_real(root, "nonzeros", size.entries);
    status = cs_output_record(args, "cooc", NULL);
    const char *scratch = cs_scratch_dir(p->options.scratch);
    if (size.scratch > cs_disk_free(scratch)) {
        cs_output_note(args,
                       "scratch files may take up to %.3g GB, but %s has only %.3g GB free; a "
                       "larger --memory needs fewer of them",
                       size.scratch / 1e9, scratch, cs_disk_free(scratch) / 1e9);
    }
    const char *dir = cs_args_text(args, "output");
    if (dir && size.stored > cs_disk_free(dir)) {
        cs_output_note(args,
                       "the files of the matrix may take up to %.3g GB, but %s has only %.3g GB "
                       "free",
                       size.stored / 1e9, dir, cs_disk_free(dir) / 1e9);
    }
    return status ? status : note_tail(args, p, &size);
}

static cs_status claim_all(cs_args *args, bool list)
{
    if (cs_args_flag(args, "dry-run")) {
        return CS_OK;
    }
    if (!cs_args_given(args, "output") && (list || !cs_args_in_memory(args))) {
        return cs_fail(CS_ERR_USAGE, "cooc needs -o DIR");
    }
    cs_status status =
        cs_output_claim(args, list ? "draws.csv draws.json" : "matrix.json cooc.json");
    return status || list || !cs_args_given(args, "output") ? status : claim_files(args, "");
}

static void note_target_position(const cs_args *args, const cs_cooc_options *options)
{
    const bool given = cs_context_given(&options->context);
    if (given && cs_args_given(args, "target-position") && !cs_args_target_given(args)) {
        cs_output_note(args, "--target-position blind has no effect here: offsets of nearest:N are "
                             "relative to the target");
    }
    if (given && cs_context_gram(&options->context)) {
        cs_output_note(args, "contexts that are all different and know the target position have "
                             "one target each, so every singular value will be 1");
    }
}

/* Notes that the exact weights are available: --draws serves to study sampling alone. */
static cs_status note_sampling(const cs_args *args, const cs_cooc_prepared *p)
{
    bool exact = false;
    cs_status status = p->options.draws > 0 ? cs_cooc_enumerable(p, &exact) : CS_OK;
    if (exact) {
        cs_output_note(args,
                       "--draws samples, although exact weights of --context %s are available "
                       "under this objective; leave --draws out",
                       cs_args_text(args, "context"));
    }
    return status;
}

/* Prepares the run up to the reading of the corpus. Under --mpi rank 0 alone reads and claims
 * files. */
static cs_status begin(cs_args *args, const cs_plan_file *file, const cs_cooc_options *options,
                       int64_t lists)
{
    if (options->comm && options->comm->ranks > 1) {
        cs_status status = cs_args_refuse(
            args, "mtx",
            "writes all rows to one file, but with --mpi no process has all rows; leave "
            "--mpi out");
        if (status != CS_OK) return status;
    }
    if (!cs_args_given(args, "corpus")) {
        return cs_fail(CS_ERR_USAGE, "cooc needs --corpus NAME|FILE|DIR");
    }
    if (options->comm && options->comm->rank > 0) {
        return CS_OK;
    }
    const bool fresh = options->comm && cs_args_given(args, "output") &&
                       !cs_args_flag(args, "force") && !cs_args_flag(args, "resume") &&
                       !cs_args_flag(args, "dry-run");
    cs_status status = fresh ? cs_ranks_store_check(cs_args_text(args, "output")) : CS_OK;
    if (status == CS_OK) status = claim_all(args, lists > 1);
    return status == CS_OK ? cs_args_plan_inputs(args, file) : status;
}

/* Each rank its part; or all the whole, rank 0 first, since it may have to be prepared. */
static cs_status load(cs_args *args, cs_cooc_options *options, cs_corpus *corpus)
{
    cs_comm *comm = options->comm;
    if (!comm || cs_args_corpus_divides(args)) {
        const cs_status loaded = cs_args_load_built(args, options, comm, corpus);
        return comm ? cs_ranks_alone(args, comm, loaded) : loaded;
    }
    cs_status status = comm->rank == 0 ? cs_args_load_built(args, options, NULL, corpus) : CS_OK;
    status = cs_comm_agree(comm, status);
    if (status == CS_OK && comm->rank > 0) status = cs_args_load_built(args, options, NULL, corpus);
    return comm->agreed ? status : cs_comm_agree(comm, status);
}

static cs_status build(cs_args *args, cs_corpus *corpus, cs_cooc_prepared *p, int64_t count,
                       const int64_t *draws)
{
    if (cs_args_flag(args, "dry-run")) {
        return estimate(args, p);
    }
    if (cs_args_in_memory(args) && !cs_args_given(args, "output")) {
        return build_in_memory(args, corpus, p);
    }
    return count > 1         ? build_list(args, p, count, draws)
           : p->options.comm ? build_one_over_ranks(args, p)
                             : build_one(args, p);
}

static cs_status run_cooc(cs_args *args)
{
    CS_AUTO(cs_corpus) corpus = {0};
    CS_AUTO(cs_plan_file) file = {0};
    cs_cooc_options options = {0};
    CS_AUTO(cs_cooc_prepared) prepared = {0};
    cs_comm comm = {0};
    int64_t count = 0;
    CS_AUTO_FREE int64_t *draws = NULL;
    const char *list = cs_args_text(args, "draws");
    const bool ranks = cs_args_flag(args, "mpi");
    cs_status status = ranks ? cs_ranks_join(args, &comm) : CS_OK; /* so that rank 0 alone notes */
    if (status != CS_OK) return status;
    status = cs_args_cooc(args, &file, &options);
    options.comm = ranks ? &comm : NULL;
    CS_ARGS_FIELDS(args, &options, subsample, shard_size);
    if (status == CS_OK && options.shard_size == 0)
        status = cs_fail(CS_ERR_USAGE, "--shard-size 0 leaves no space for rows");
    if (status == CS_OK && list)
        status = cs_parse_int_list(list, "--draws", 0, INT32_MAX, &count, &draws);
    if (status == CS_OK && count < 2 && cs_args_given(args, "moment-budget"))
        status = cs_fail(CS_ERR_USAGE, "--moment-budget needs a list of --draws");
    if (options.comm) {
        status = cs_comm_agree(&comm, status);
        if (status == CS_OK) status = cs_ranks_resume(args, &comm);
        if (status != CS_OK || args->resumed) return cs_ranks_leave(&comm, status);
    }
    status = status ? status : begin(args, &file, &options, count);
    if (options.comm) {
        status = cs_comm_agree(&comm, status);
    }
    status = status ? status : load(args, &options, &corpus);
    if (status == CS_OK) {
        note_target_position(args, &options);
        cs_args_note_masked(args, &corpus, &options);
    }
    status = status ? status : cs_cooc_prepare(&corpus, &options, &prepared);
    if (status == CS_OK)
        cs_args_note_uncovered(args, prepared.options.stride, prepared.uncovered, prepared.tokens);
    if (options.comm && !comm.agreed) { /* one rank reports a corpus that does not fit */
        status = cs_comm_agree(&comm, status);
    }
    if (status == CS_OK) {
        cs_cooc_set_draws(&prepared, count > 0 ? draws[count - 1] : 0);
        status = note_sampling(args, &prepared);
    }
    status = status ? status : build(args, &corpus, &prepared, count, draws);
    return options.comm ? cs_ranks_leave(&comm, cs_ranks_alone(args, &comm, status)) : status;
}

const cs_command cs_cmd_cooc = {
    .name = "cooc",
    .help = &cs_help_cooc,
    .main = "corpus objective mask-ratio unmasked context max-length stride vocab dry-run output",
    .groups = cooc_groups,
    .run = run_cooc,
    .shown = "objective context draws rows cols nonzeros sequences mass index sigma residual",
    .most = 32,
};
