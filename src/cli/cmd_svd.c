/* cospec svd: the normalised singular value decomposition of a co-occurrence matrix, with its
 * certificates. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/plugin.h"
#include "base/threads.h"
#include "cli/argument_kind.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cooc/ranked.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_record.h"
#include "io/file.h"
#include "io/npy.h"
#include "linalg/gpu.h"
#include "linalg/matrix_file.h"

static const cs_opt svd_options[] = {
    {"rank", 'k', CS_OPT_TEXT, "K|all", NULL, 0, 0,
     "Number of singular triplets, or all. Default: 10, or fewer if the matrix is smaller.", false},
    CS_INT("after-ones", "K", NULL, 1, 1e9,
           "Instead of -k: all triplets of sigma = 1, one per connected component, and K more."),
    CS_FLAG("vectors", "With -o: also write u.npy, v.npy and sigma.npy."),
    CS_SIZE("memory", "BYTES", NULL,
            "Memory of the block solver's basis (K, M, G allowed); less memory needs more steps. "
            "Default: 4G or a quarter of free memory."),
    CS_TEXT("start", "DIR", NULL,
            "Start the block solver from the vectors u.npy and v.npy in DIR, those of a similar "
            "matrix."),
    {0},
};
static const cs_opt *const svd_groups[] = {
    svd_options,      cs_group_language, cs_group_form,  cs_group_solver,
    cs_group_certify, cs_group_moments,  cs_group_ranks, NULL};

/* --- results ---------------------------------------------------------------------------------- */

static cs_status write_all_vectors(cs_args *args, const cs_nonempty_rows *kept,
                                   const cs_spectrum *s)
{
    const cs_nonempty_rows rows = kept ? *kept : cs_nonempty_rows_all(s->input.rows);
    const cs_nonempty_rows cols = cs_nonempty_rows_all(s->input.cols);
    const char *path = NULL;
    if (s->input.gram) cs_output_note(args, "no u.npy: a Gram form has no contexts");
    cs_status status = s->input.gram ? CS_OK : cs_output_path(args, "u.npy", &path);
    if (status == CS_OK && !s->input.gram) status = cs_vectors_write(path, &rows, &s->u);
    if (status == CS_OK) status = cs_output_path(args, "v.npy", &path);
    if (status == CS_OK) status = cs_vectors_write(path, &cols, &s->v);
    if (status == CS_OK) status = cs_output_path(args, "sigma.npy", &path);
    return status == CS_OK ? cs_npy_write(path, CS_F64, 1, &s->k, s->sigma) : status;
}

static void note_summary(const cs_args *args, const cs_spectrum *s)
{
    cs_output_note(args, "%lld x %lld, %lld nonzeros, %lld components; lumped %lld x %lld; %s",
                   (long long)s->input.rows, (long long)s->input.cols, (long long)s->input.nnz,
                   (long long)s->input.components, (long long)s->input.lumped_rows,
                   (long long)s->input.lumped_cols, cs_spectrum_solver(s));
    if (s->solution.interrupted) {
        return; /* nothing of it is certified but its residuals */
    }
    char sum[48] = "out of the range of doubles";
    if (!isnan(s->moments.sum_sigma2)) {
        (void)snprintf(sum, sizeof sum, "%.12g", s->moments.sum_sigma2);
    }
    cs_output_note(
        args,
        "sum sigma^2 %s; certificates: components %s, moments %s, probe %s, inertia %s, "
        "residual %s",
        sum, cs_cert_state_name(s->cert.components.state),
        cs_cert_state_name(s->cert.moments.state), cs_cert_state_name(s->cert.probe.state),
        cs_cert_state_name(s->cert.inertia.state), cs_cert_state_name(s->cert.residual.state));
    if (s->cert.inertia.why[0] && cs_args_given(args, "certify")) {
        cs_output_note(args, "inertia: %s", s->cert.inertia.why);
    }
    if (cs_args_flag(args, "normalised") && s->k > 0 && s->sigma[0] > 1.0 + 1e-9) {
        cs_output_note(args,
                       "sigma_1 = %.6g is above 1, so this is not a normalised matrix of joint "
                       "probabilities; leave --normalised out to normalise it first",
                       s->sigma[0]);
    }
    if (!isnan(s->solution.departure)) {
        cs_output_note(args, "vectors: ||X^T X - I|| <= %.2g", s->solution.departure);
    }
    if (s->input.symmetric && !s->eigenvalue) {
        cs_output_note(args,
                       "the matrix is symmetric, but its eigenvectors exceed half of the free "
                       "memory or were not separated to the tolerance: no eigenvalues");
    }
    if (s->zeros > 0) {
        cs_output_note(args, "%lld requested singular values are zero (below %.3g)",
                       (long long)s->zeros, s->solution.floor);
    }
}

/* The spectrum: svd.json and svd.csv (or stdout), tail.csv, with --vectors u.npy, v.npy and
 * sigma.npy; a summary on stderr. gpu: where it was solved, NULL for the CPU. Errors of the files;
 * CS_ERR_MEMORY. */
static cs_status print_spectrum(cs_args *args, const cs_spectrum_options *options,
                                const cs_spectrum *s)
{
    static const cs_view of_sigma = {"sigma[]", "index=# sigma=. residual=/residual[#]"};
    static const cs_view of_both = {
        "sigma[]", "index=# eigenvalue=/eigenvalue[#] sigma=. residual=/residual[#]"};
    const cs_view *view = s->eigenvalue ? &of_both : &of_sigma;
    cs_item *root = cs_output_root(args);
    bool tails = false;
    cs_spectrum_record(cs_args_positional(args, 0), options, s, root);
    cs_status status = cs_item_stored(root, cs_args_positional(args, 0));
    if (status == CS_OK) status = cs_sum4_record(s, root, &tails);
    cs_sum4_note(args, &s->moments.sum4);
    if (status == CS_OK && tails) {
        status = cs_tails_write(args);
    } else if (status == CS_OK && cs_args_given(args, "output")) {
        cs_output_note(args, "no tail.csv: tails need sum sigma^4 or every singular value, within "
                             "the range of doubles");
    }
    if (status == CS_OK && cs_args_flag(args, "vectors") && !cs_args_in_memory(args))
        status = write_all_vectors(args, options->rows, s);
    if (status == CS_OK) {
        note_summary(args, s);
        status = cs_output_record(args, "svd", view);
    }
    return status;
}

/* Of the whole matrix: what is left after the reductions takes less. */
static cs_status estimate_gpu(cs_gpu *gpu, const cs_csr *a, int64_t k, cs_item *root)
{
    cs_gpu_bytes b = {0};
    cs_status status = cs_gpu_estimate(gpu, a, k, &b);
    if (status == CS_OK) {
        cs_item_text(root, "device", gpu->name);
        cs_item_real(root, "gpu_free_bytes", (double)b.free_bytes);
        cs_item_real(root, "gpu_dense_bytes", b.dense == CS_GPU_REFUSED ? NAN : (double)b.dense);
        cs_item_real(root, "gpu_gram_bytes", b.gram == CS_GPU_REFUSED ? NAN : (double)b.gram);
        cs_item_real(root, "gpu_block_bytes", (double)b.sparse);
    }
    return status;
}

/* Sizes of the whole matrix: filled rows are not empty. */
typedef struct {
    int64_t rows, filled, cols, nnz;
} sizes;

/* u.npy and v.npy: `rows` by k triplets (0: all). */
static double file_bytes(int64_t rows, const sizes *a, int64_t k)
{
    const int64_t most = a->filled < a->cols ? a->filled : a->cols;
    return 8 * (double)(k > 0 && k < most ? k : most) * ((double)rows + (double)a->cols);
}

/* --dry-run: sizes, costs and memory of k triplets (0: all). */
static cs_item *estimate(cs_args *args, const sizes *a, int64_t k, double cost)
{
    double side = (double)(a->filled < a->cols ? a->filled : a->cols);
    cs_item *root = cs_output_root(args);
    cs_item_int(root, "rows", a->rows);
    cs_item_int(root, "cols", a->cols);
    cs_item_int(root, "nonzeros", a->nnz);
    cs_item_real(root, "vector_bytes", file_bytes(a->filled, a, k));
    cs_item_real(root, "file_bytes", file_bytes(a->rows, a, k));
    cs_item_real(root, "dense_bytes", (double)a->filled * (double)a->cols * 8.0);
    cs_item_real(root, "sum_sigma4_cost", cost);
    cs_item_real(root, "inertia_bytes", side * side * 8.0);
    return root;
}

/* With a GPU also the memory of each way there. */
static cs_status estimate_one(cs_args *args, cs_gpu *gpu, int64_t rows, const cs_csr *a, int64_t k,
                              double cost)
{
    const sizes whole = {rows, a->rows, a->cols, cs_csr_nnz(a)};
    cs_item *root = estimate(args, &whole, k, cost);
    cs_status status = gpu ? estimate_gpu(gpu, a, k, root) : CS_OK;
    return status == CS_OK ? cs_output_record(args, "svd", NULL) : status;
}

/* More than there are is refused here, before anything is summed over the matrix. */
static cs_status read_rank(const cs_args *args, int64_t rows, int64_t cols, int64_t *k)
{
    enum { DEFAULT_RANK = 10 };
    const char *text = cs_args_text(args, "rank");
    int64_t side = rows < cols ? rows : cols;
    if (!text) {
        *k = side < DEFAULT_RANK ? side : DEFAULT_RANK;
        return CS_OK;
    }
    if (strcmp(text, "all") == 0) {
        *k = 0;
        return CS_OK;
    }
    cs_status status = cs_parse_int(text, cs_args_said(args, "rank"), 1, INT64_MAX, k);
    if (status == CS_OK && *k > side)
        status = cs_fail(CS_ERR_USAGE, "%s %lld: the matrix (%lld x %lld) has only %lld",
                         cs_args_said(args, "rank"), (long long)*k, (long long)rows,
                         (long long)cols, (long long)side);
    return status;
}

static cs_status check_after_ones(const cs_args *args, const cs_matrix_form *form)
{
    if (cs_args_given(args, "rank")) {
        return cs_fail(
            CS_ERR_USAGE,
            "%s and --after-ones both set the number of singular values; give one of them",
            cs_args_said(args, "rank"));
    }
    if (cs_args_flag(args, "normalised")) {
        return cs_fail(CS_ERR_USAGE, "--after-ones: a matrix read with --normalised need not have "
                                     "sigma = 1 once per component");
    }
    if (!cs_matrix_form_is_normalised(form)) {
        return cs_fail(CS_ERR_USAGE,
                       "--after-ones: only the form normalised has sigma = 1 once per "
                       "component, not %s",
                       cs_matrix_form_text(form));
    }
    return CS_OK;
}

/* --after-ones: how often sigma = 1 is known beforehand, from the components (`ones`). */
static cs_status rank_after_ones(const cs_args *args, int64_t ones, int64_t rows, int64_t cols,
                                 int64_t *k)
{
    const int64_t wanted = cs_args_int(args, "after-ones"), side = rows < cols ? rows : cols;
    if (wanted > side - ones) {
        return cs_fail(CS_ERR_USAGE,
                       "--after-ones %lld: the matrix (%lld x %lld) has only %lld singular "
                       "values after %lld of 1",
                       (long long)wanted, (long long)rows, (long long)cols,
                       (long long)(side - ones), (long long)ones);
    }
    *k = ones + wanted;
    return CS_OK;
}

/* -k or --after-ones of a matrix in this process. */
static cs_status choose_rank(const cs_args *args, const cs_matrix_form *form, int64_t rows,
                             const cs_csr *a, int64_t *k)
{
    int64_t ones = 0;
    if (!cs_args_given(args, "after-ones")) {
        return read_rank(args, rows, a->cols, k);
    }
    cs_status status = check_after_ones(args, form);
    if (status == CS_OK) status = cs_components_number(a, &ones);
    return status == CS_OK ? rank_after_ones(args, ones, rows, a->cols, k) : status;
}

/* --device cuda; auto stays on the CPU. */
static cs_status open_gpu(const cs_args *args, cs_gpu **out)
{
    cs_device_kind kind = CS_DEVICE_CPU;
    int number = 0;
    cs_status status = cs_device_parse(cs_args_text(args, "device"), &kind, &number);
    return status == CS_OK && kind == CS_DEVICE_CUDA ? cs_gpu_open(NULL, number, out) : status;
}

/* --- run ------------------------------------------------------------------------------------- */

static cs_status claim_all(cs_args *args)
{
    bool vectors = cs_args_flag(args, "vectors");
    if (vectors && !cs_args_given(args, "output") && !cs_args_in_memory(args)) {
        return cs_fail(CS_ERR_USAGE, "--vectors needs -o DIR");
    }
    return cs_output_claim(args, vectors ? "svd.json svd.csv tail.csv u.npy v.npy sigma.npy"
                                         : "svd.json svd.csv tail.csv");
}

/* After the result has been printed: CS_ERR_CONVERGE where the result is not the requested one. */
static cs_status verdict_of(const cs_spectrum *s)
{
    return s->solution.converged
               ? cs_spectrum_require(s)
               : cs_fail(CS_ERR_CONVERGE,
                         "not converged: the %lld triplets above are the best found, with "
                         "largest residual %.3g",
                         (long long)s->k, s->cert.residual.value);
}

static const char *const of_block[] = {"start", "memory"};
enum { OF_BLOCK = sizeof of_block / sizeof *of_block };

/* Options that the solver or the certificates named would ignore. */
static cs_status check_choices(const cs_args *args, const cs_spectrum_options *options)
{
    bool block = options->solver == CS_SOLVER_AUTO || options->solver == CS_SOLVER_BLOCK;
    for (int i = 0; i < OF_BLOCK; ++i) {
        if (!block && cs_args_given(args, of_block[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s does not apply to --solver %s, only to block",
                           of_block[i], cs_args_text(args, "solver"));
        }
    }
    if (cs_args_given(args, "memory") && cs_args_int(args, "memory") == 0) {
        return cs_fail(CS_ERR_USAGE, "--memory 0 leaves the block solver no memory");
    }
    if (cs_args_given(args, "moment-budget") && !(options->certify & CS_CERTIFY_MOMENTS)) {
        return cs_fail(CS_ERR_USAGE,
                       "--moment-budget does not apply: --certify %s computes no moments",
                       cs_args_text(args, "certify"));
    }
    return CS_OK;
}

/* The same where --solver auto has chosen. */
static void note_choices(const cs_args *args, const cs_spectrum *s)
{
    for (int i = 0; i < OF_BLOCK; ++i) {
        if (s->solution.solver != CS_SOLVER_BLOCK && cs_args_given(args, of_block[i])) {
            cs_output_note(
                args,
                "--%s had no effect: it applies to the block solver, which solved nothing here",
                of_block[i]);
        }
    }
}

/* The options that one process and several share. */
static cs_status take_options(const cs_args *args, cs_spectrum_options *o)
{
    cs_status status = cs_args_spectrum(args, o);
    if (status == CS_OK) status = cs_args_certify(args, CS_CERTIFY_USUAL, &o->certify);
    o->moment4 = o->certify & CS_CERTIFY_MOMENTS;
    o->moment4_budget = cs_args_moment_budget(args);
    o->moment4_sparing = !cs_args_given(args, "moment-budget") && !cs_args_given(args, "certify");
    o->solver_memory = cs_args_int_or(args, "memory", 0);
    o->values_only = !cs_args_flag(args, "vectors");
    return status;
}

/* The work that rank 0 alone does before the solver. */
static cs_status begin_ranks(cs_args *args, const cs_comm *comm, const cs_spectrum_options *options)
{
    const char *given = cs_args_positional(args, 0);
    cs_status status = cs_args_refuse(args, "form", "works in a single process; leave --mpi out");
    if (status == CS_OK && cs_args_given(args, "after-ones")) status = check_after_ones(args, NULL);
    if (status == CS_OK) status = cs_require_kind(args, CS_ERR_INPUT, given, CS_IS_MATRIX);
    status = status ? status : check_choices(args, options);
    status = status || comm->rank > 0 ? status : claim_all(args);
    return status || comm->rank > 0 ? status : cs_args_matrix_input(args, given);
}

static cs_status read_vectors(cs_args *args, const char *dir, const char *file,
                              const cs_nonempty_rows *rows, cs_dense *out)
{
    const char *path = cs_args_join(args, dir, file);
    cs_status status = path ? cs_output_input(args, path) : CS_ERR_MEMORY;
    return status == CS_OK ? cs_vectors_read(path, rows, out) : status;
}

/* This rank's slice of the start vectors of the smaller side; borrowed by *options. */
static cs_status read_ranks_start(cs_args *args, const cs_shard *shard, cs_dense *start,
                                  cs_spectrum_options *options)
{
    const char *dir = cs_args_text(args, "start");
    const char *file = shard->transposed ? "u.npy" : "v.npy";
    int64_t first = 0, count = 0;
    if (!dir) {
        return CS_OK;
    }
    cs_comm_slice(shard->comm, shard->comm->rank, shard->width, &first, &count);
    CS_AUTO_FREE int64_t *row = cs_alloc(count, sizeof *row);
    if (!row) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        row[i] = shard->transposed ? cs_nonempty_rows_at(&shard->kept, first + i) : first + i;
    }
    const cs_nonempty_rows slice = {shard->transposed ? shard->rows : shard->cols, count, row};
    *(shard->transposed ? &options->start_u : &options->start_v) = start;
    if (shard->comm->rank == 0) {
        return read_vectors(args, dir, file, &slice, start);
    }
    const char *path = cs_args_join(args, dir, file);
    return path ? cs_vectors_read(path, &slice, start) : CS_ERR_MEMORY;
}

/* -k or --after-ones of a distributed matrix. Collective. */
static cs_status choose_rank_over_ranks(const cs_args *args, const cs_shard *shard, int64_t *k)
{
    int64_t ones = 0;
    const bool after = cs_args_given(args, "after-ones");
    cs_status status = after ? cs_ranked_components(shard, &ones) : CS_OK;
    status = cs_ranks_alone(args, shard->comm, status);
    if (status != CS_OK) return status;
    return cs_comm_agree(shard->comm, after
                                          ? rank_after_ones(args, ones, shard->rows, shard->cols, k)
                                          : read_rank(args, shard->rows, shard->cols, k));
}

/* --dry-run: as of one process, and the memory of a rank. Collective. */
static cs_status estimate_ranks(cs_args *args, const cs_shard *shard,
                                const cs_spectrum_options *options)
{
    cs_ranked_sizes s = {0};
    cs_status status = cs_ranked_estimate(shard, options, &s);
    if (status != CS_OK || shard->comm->rank > 0) return status;
    const sizes whole = {shard->rows, s.filled_rows, shard->cols, s.nnz};
    cs_item *root = estimate(args, &whole, options->k, s.moment4_cost);
    cs_item_int(root, "ranks", shard->comm->ranks);
    cs_item_real(root, "rank_bytes", s.rank_bytes);
    return cs_output_record(args, "svd", NULL);
}

/* --mpi: the matrix in parts, the result on rank 0. */
static cs_status run_ranks(cs_args *args)
{
    cs_comm comm = {0};
    CS_AUTO(cs_shard) shard = {0};
    CS_AUTO(cs_spectrum) spectrum = {0};
    CS_AUTO(cs_dense) start = {0};
    cs_spectrum_options options = {0};
    const char *path = cs_args_matrix_file(args, cs_args_positional(args, 0));
    cs_status status = path ? take_options(args, &options) : CS_ERR_MEMORY;
    status = status ? status : cs_ranks_join(args, &comm);
    if (status != CS_OK) return status;
    status = cs_ranks_resume(args, &comm);
    if (status != CS_OK || args->resumed) return cs_ranks_leave(&comm, status);
    status = cs_comm_agree(&comm, begin_ranks(args, &comm, &options));
    status = status ? status : cs_shard_read(&comm, path, !options.normalised, &shard);
    status = status ? status : choose_rank_over_ranks(args, &shard, &options.k);
    if (status == CS_OK && cs_args_flag(args, "dry-run")) {
        status = cs_ranks_alone(args, &comm, estimate_ranks(args, &shard, &options));
        return cs_ranks_leave(&comm, status);
    }
    if (status == CS_OK)
        status = cs_comm_agree(&comm, read_ranks_start(args, &shard, &start, &options));
    options.progress = comm.rank == 0 ? options.progress : NULL;
    status = status ? status : cs_ranked_spectrum(&shard, &options, &spectrum);
    status = cs_ranks_alone(args, &comm, status);
    if (status == CS_OK) {
        cs_ranks_note(args, &comm);
        status = comm.rank == 0 ? print_spectrum(args, &options, &spectrum) : CS_OK;
    }
    status = status ? status : verdict_of(&spectrum);
    return cs_ranks_leave(&comm, status);
}

/* Reads the start vectors of --start; u and v are borrowed by *options. */
static cs_status read_start(cs_args *args, const cs_nonempty_rows *rows, const cs_csr *a,
                            cs_dense *u, cs_dense *v, cs_spectrum_options *options)
{
    const cs_nonempty_rows all_cols = cs_nonempty_rows_all(a->cols);
    const char *dir = cs_args_text(args, "start");
    if (!dir) {
        return CS_OK;
    }
    if (a->gram) {
        return cs_fail(CS_ERR_USAGE, "--start: a Gram form has no left vectors");
    }
    cs_status status = read_vectors(args, dir, "u.npy", rows, u);
    status = status ? status : read_vectors(args, dir, "v.npy", &all_cols, v);
    options->start_u = u;
    options->start_v = v;
    return status;
}

/* The triplets that had converged; the reason is CS_ERR_INTERRUPT's, unless they cannot be written.
 */
static cs_status print_interrupted(cs_args *args, const cs_spectrum_options *options,
                                   const cs_spectrum *s)
{
    int64_t side = s->input.rows < s->input.cols ? s->input.rows : s->input.cols;
    cs_output_unfinished(args);
    cs_interrupt_hold(true);
    cs_status status = print_spectrum(args, options, s);
    cs_interrupt_hold(false);
    if (status != CS_OK) return status;
    const int64_t wanted = options->k > 0 ? options->k : side;
    return cs_fail(CS_ERR_INTERRUPT,
                   "interrupted: %lld of %lld triplets had converged and could be finished, %s",
                   (long long)s->k, (long long)wanted,
                   s->k == wanted ? "the rest was not certified"
                                  : "larger ones among those missing are possible");
}

/* The vectors' files, before anything is solved. */
static cs_status check_disk(const cs_args *args, int64_t rows, const cs_csr *a, int64_t k)
{
    const sizes whole = {rows, a->rows, a->cols, 0};
    const double bytes = file_bytes(rows, &whole, k);
    if (bytes > 1e9)
        cs_output_note(
            args,
            "u.npy and v.npy take %.3g GB: one row for each of the %lld, including empty ones",
            bytes / 1e9, (long long)rows);
    return cs_disk_check(cs_args_text(args, "output"), bytes,
                         "give -o DIR on a larger disk, a smaller -k, or leave out --vectors",
                         "u.npy and v.npy");
}

static cs_status run_language(cs_args *args)
{
    int64_t k = 0;
    cs_status status = cs_args_refuse(args, "after-ones start memory certify mpi form",
                                      "cannot be combined with --estimate");
    if (status == CS_OK && cs_args_given(args, "rank"))
        status =
            cs_parse_int(cs_args_text(args, "rank"), cs_args_said(args, "rank"), 1, INT64_MAX, &k);
    if (status == CS_OK) status = claim_all(args);
    return status == CS_OK ? cs_language_run(args, k, NULL) : status;
}

static cs_status run_svd(cs_args *args)
{
    if (cs_args_language(args)) {
        return run_language(args);
    }
    if (cs_args_flag(args, "mpi")) return run_ranks(args);
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_nonempty_rows) rows = {0};
    CS_AUTO(cs_spectrum) spectrum = {0};
    cs_spectrum_options options = {0};
    CS_AUTO(cs_dense) start_u = {0}, start_v = {0};
    const char *path = NULL;
    double cost4 = 0;
    CS_AUTO(cs_matrix_form) *form = NULL;
    CS_AUTO_FREE int64_t *row_token = NULL;
    cs_status status = take_options(args, &options);
    if (status == CS_OK) status = cs_args_form(args, cs_args_text(args, "form"), &form);
    options.form = form;
    options.eigenvalues = form != NULL;
    if (status == CS_OK) status = cs_args_no_language(args);
    if (status == CS_OK) status = check_choices(args, &options);
    if (status == CS_OK) status = claim_all(args);
    if (status == CS_OK) status = open_gpu(args, &options.gpu);
    if (status == CS_OK)
        status = cs_args_matrix(args, cs_args_positional(args, 0), &path, &rows, &a);
    options.rows = &rows;
    if (status == CS_OK) status = cs_form_of_stored(cs_args_positional(args, 0), form);
    if (status == CS_OK && form && cs_path_kind_of(cs_args_positional(args, 0)) == CS_IS_STORE)
        status = cs_cooc_row_tokens(cs_args_positional(args, 0), rows.rows, a.cols, &row_token);
    options.row_column = row_token;
    if (status == CS_OK) status = choose_rank(args, form, rows.rows, &a, &options.k);
    if (status == CS_OK) status = read_start(args, &rows, &a, &start_u, &start_v, &options);
    if (status == CS_OK && (options.moment4 || cs_args_flag(args, "dry-run")))
        status = cs_args_note_moment4(args, &a, options.moment4_sparing, &cost4);
    if (status == CS_OK && cs_args_flag(args, "dry-run")) {
        status = estimate_one(args, options.gpu, rows.rows, &a, options.k, cost4);
        goto done;
    }
    if (status == CS_OK && !options.values_only && !cs_args_in_memory(args))
        status = check_disk(args, rows.rows, &a, options.k);
    options.partial = !cs_args_in_memory(args);
    if (status == CS_OK) {
        status = cs_spectrum_of(&a, &options, &spectrum);
        if (status == CS_ERR_INPUT) status = cs_blame(status, "%s", path);
    }
    if (status == CS_OK && spectrum.solution.interrupted) {
        status = print_interrupted(args, &options, &spectrum);
        goto done;
    }
    if (status == CS_OK) {
        note_choices(args, &spectrum);
        status = print_spectrum(args, &options, &spectrum);
    }
    status = status ? status : verdict_of(&spectrum);
    if (cs_args_in_memory(args)) {
        cs_args_in_memory(args)->spectrum = spectrum;
        spectrum = (cs_spectrum){0};
    }
done:
    cs_gpu_close(&options.gpu);
    return status;
}

const cs_command cs_cmd_svd = {
    .name = "svd",
    .help = &cs_help_svd,
    .positional = "FILE|DIR",
    .gpu = true,
    .groups = svd_groups,
    .run = run_svd,
    .most = 12,
    .rows = "rank",
};
