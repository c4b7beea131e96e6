/* cospec svd: the normalised singular value decomposition of a co-occurrence matrix, with its
 * certificates. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/plugin.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/svd_report.h"
#include "cooc/spectrum.h"
#include "io/file.h"
#include "io/npy.h"
#include "linalg/gpu.h"
#include "linalg/matrix_file.h"
#include "mpi/ranked.h"

static const cs_opt svd_options[] = {
    {"rank", 'k', CS_OPT_TEXT, "K|all", NULL, 0, 0,
     "Number of singular triplets; all: every one. Default: 10, or fewer where the matrix has "
     "fewer.",
     false},
    {"vectors", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "With -o: write u.npy, v.npy and sigma.npy as well.", false},
    {"memory", 0, CS_OPT_SIZE, "BYTES", NULL, 0, 0,
     "Budget of the block solver's basis (K, M, G allowed); less means more steps. Default: 4G or "
     "a "
     "quarter of free memory.",
     false},
    {"start", 0, CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "Start the block solver from u.npy and v.npy there, the vectors of a similar matrix.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt *const svd_groups[] = {svd_options,      cs_group_solver, cs_group_certify,
                                           cs_group_moments, cs_group_ranks,  NULL};

static cs_status read_rank(const cs_args *args, const cs_csr *a, int64_t *k)
{
    enum { DEFAULT_RANK = 10 };
    const char *text = cs_args_text(args, "rank");
    int64_t side = a->rows < a->cols ? a->rows : a->cols;
    if (!text) {
        *k = side < DEFAULT_RANK ? side : DEFAULT_RANK;
        return CS_OK;
    }
    if (strcmp(text, "all") == 0) {
        *k = 0;
        return CS_OK;
    }
    return cs_parse_int(text, "-k", 1, INT64_MAX, k);
}

/* The file that a path stands for, which is what the manifest hashes. */
static char *matrix_path(const char *path)
{
    return cs_path_is_dir(path) ? cs_path_join(path, "matrix.npz") : cs_strdup(path);
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

static cs_status claim_all(const cs_args *args)
{
    static const char *const files[] = {"svd.json", "svd.csv", "tail.csv",
                                        "u.npy",    "v.npy",   "sigma.npy"};
    bool vectors = cs_args_flag(args, "vectors");
    if (vectors && !cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "--vectors needs -o DIR");
    }
    cs_status status = CS_OK;
    for (int i = 0; i < (vectors ? 6 : 3) && status == CS_OK; ++i) {
        status = cs_output_claim(args, files[i]);
    }
    return status;
}

/* After the result has been printed: CS_ERR_CONVERGE where it is not what was asked for. */
static cs_status judged(const cs_spectrum *s)
{
    return s->converged
               ? cs_spectrum_require(s)
               : cs_fail(CS_ERR_CONVERGE,
                         "not converged: the %lld triplets above are the best known, largest "
                         "residual %.3g",
                         (long long)s->k, s->cert_residual.value);
}

static const char *const of_block[] = {"start", "memory"};
enum { OF_BLOCK = sizeof of_block / sizeof *of_block };

/* Options that the solver or the certificates named would ignore. */
static cs_status check_choices(const cs_args *args, const cs_spectrum_options *options)
{
    bool block = options->solver == CS_SOLVER_AUTO || options->solver == CS_SOLVER_BLOCK;
    for (int i = 0; i < OF_BLOCK; ++i) {
        if (!block && cs_args_given(args, of_block[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s: --solver %s does not take it (it is for block)",
                           of_block[i], cs_args_text(args, "solver"));
        }
    }
    if (cs_args_given(args, "memory") && cs_args_int(args, "memory") == 0) {
        return cs_fail(CS_ERR_USAGE, "--memory 0 leaves the block solver no room");
    }
    if (cs_args_given(args, "moment-budget") && !(options->certify & CS_CERTIFY_MOMENTS)) {
        return cs_fail(CS_ERR_USAGE, "--moment-budget: --certify %s takes no moments",
                       cs_args_text(args, "certify"));
    }
    return CS_OK;
}

/* The same where --solver auto has chosen. */
static void note_choices(const cs_args *args, const cs_spectrum *s)
{
    for (int i = 0; i < OF_BLOCK; ++i) {
        if (s->solver != CS_SOLVER_BLOCK && cs_args_given(args, of_block[i])) {
            cs_output_note(args,
                           "--%s changed nothing: it is for the block solver, which solved nothing "
                           "here",
                           of_block[i]);
        }
    }
}

/* What rank 0 alone does before the work. */
static cs_status begin_ranks(cs_args *args, const cs_comm *comm, const char *path,
                             const cs_spectrum_options *options)
{
    if (cs_args_given(args, "start")) {
        return cs_fail(CS_ERR_USAGE, "--start works in one process: leave --mpi out");
    }
    cs_status status = check_choices(args, options);
    status = status || comm->rank > 0 ? status : claim_all(args);
    return status || comm->rank > 0 ? status : cs_output_input(args, path);
}

/* --mpi: the matrix in parts, the result on rank 0. */
static cs_status run_ranks(cs_args *args)
{
    cs_comm comm = {0};
    cs_shard shard = {0};
    cs_spectrum spectrum = {0};
    cs_spectrum_options options = {0};
    char *path = matrix_path(cs_args_positional(args, 0));
    cs_status status = path ? cs_args_spectrum(args, &options) : CS_ERR_MEMORY;
    status = status ? status : cs_args_certify(args, CS_CERTIFY_USUAL, &options.certify);
    status = status ? status : cs_ranks_join(args, &comm);
    if (status != CS_OK) {
        cs_free(path);
        return status;
    }
    status = cs_comm_agree(&comm, begin_ranks(args, &comm, path, &options));
    status = status ? status : cs_shard_read(&comm, path, !options.normalised, &shard);
    if (status == CS_OK) {
        const cs_csr sizes = {.rows = shard.rows, .cols = shard.cols};
        status = cs_comm_agree(&comm, read_rank(args, &sizes, &options.k));
    }
    options.progress = comm.rank == 0 ? options.progress : NULL;
    options.moment4 = options.certify & CS_CERTIFY_MOMENTS;
    options.moment4_budget = cs_args_moment_budget(args);
    options.solver_memory = cs_args_given(args, "memory") ? cs_args_int(args, "memory") : 0;
    options.values_only = !cs_args_flag(args, "vectors");
    status = status ? status : cs_ranked_spectrum(&shard, &options, &spectrum);
    status = cs_ranks_alone(args, &comm, status);
    if (status == CS_OK) {
        cs_ranks_note(args, &comm);
        status = comm.rank == 0 ? cs_svd_print(args, NULL, &spectrum) : CS_OK;
    }
    status = status ? status : judged(&spectrum);
    cs_spectrum_free(&spectrum);
    cs_shard_free(&shard);
    cs_free(path);
    return cs_ranks_leave(&comm, status);
}

/* DIR/<file> as `rows` rows of vectors. */
static cs_status read_vectors(cs_args *args, const char *dir, const char *file, int64_t rows,
                              cs_dense *out)
{
    cs_array x = {0};
    char *path = cs_path_join(dir, file);
    cs_status status = path ? cs_output_input(args, path) : CS_ERR_MEMORY;
    status = status ? status : cs_npy_read(path, 0, &x);
    bool fits = x.ndim == 2 && x.shape[0] == rows && x.shape[1] > 0 &&
                (x.dtype == CS_F32 || x.dtype == CS_F64);
    if (status == CS_OK && !fits) {
        status = cs_fail(CS_ERR_INPUT, "%s: not vectors of %lld floats, as columns", path,
                         (long long)rows);
    }
    status = status ? status : cs_dense_init(out, rows, x.shape[1]);
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        for (int64_t j = 0; j < x.shape[1]; ++j) {
            double value = cs_array_f64(&x, i * x.shape[1] + j);
            if (!isfinite(value)) {
                status = cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld is %g", path,
                                 (long long)i, (long long)j, value);
                break;
            }
            out->data[i + j * out->ld] = value;
        }
    }
    cs_array_free(&x);
    cs_free(path);
    return status;
}

/* What --start and --memory say to the solver; u and v are borrowed by *options. */
static cs_status solver_choices(cs_args *args, const cs_csr *a, cs_dense *u, cs_dense *v,
                                cs_spectrum_options *options)
{
    const char *dir = cs_args_text(args, "start");
    options->solver_memory = cs_args_given(args, "memory") ? cs_args_int(args, "memory") : 0;
    if (!dir) {
        return CS_OK;
    }
    cs_status status = read_vectors(args, dir, "u.npy", a->rows, u);
    status = status ? status : read_vectors(args, dir, "v.npy", a->cols, v);
    options->start_u = u;
    options->start_v = v;
    return status;
}

/* The triplets that had converged; the reason is CS_ERR_INTERRUPT's, unless they cannot be written.
 */
static cs_status print_interrupted(cs_args *args, const cs_gpu *gpu, const cs_spectrum *s,
                                   int64_t wanted)
{
    int64_t side = s->rows < s->cols ? s->rows : s->cols;
    cs_output_unfinished(args);
    cs_interrupt_hold(true);
    cs_status status = cs_svd_print(args, gpu, s);
    cs_interrupt_hold(false);
    if (status != CS_OK) {
        return status;
    }
    return cs_fail(CS_ERR_INTERRUPT,
                   "interrupted: %lld of %lld triplets had converged, larger ones among those "
                   "missing are possible",
                   (long long)s->k, (long long)(wanted > 0 ? wanted : side));
}

static cs_status run_svd(cs_args *args)
{
    if (cs_args_flag(args, "mpi")) {
        return run_ranks(args);
    }
    cs_csr a = {0};
    cs_spectrum spectrum = {0};
    cs_spectrum_options options = {0};
    cs_dense start_u = {0}, start_v = {0};
    char *path = matrix_path(cs_args_positional(args, 0));
    cs_status status = path ? cs_args_spectrum(args, &options) : CS_ERR_MEMORY;
    status = status ? status : cs_args_certify(args, CS_CERTIFY_USUAL, &options.certify);
    if (status == CS_OK) {
        status = check_choices(args, &options);
    }
    if (status == CS_OK) {
        status = claim_all(args);
    }
    if (status == CS_OK) {
        status = open_gpu(args, &options.gpu);
    }
    if (status == CS_OK) {
        status = cs_output_input(args, path);
    }
    if (status == CS_OK) {
        status = cs_matrix_read(path, &a);
    }
    if (status == CS_OK) {
        status = cs_csr_check(&a, !options.normalised);
        status = cs_blame(status, "%s", path);
    }
    if (status == CS_OK) {
        status = read_rank(args, &a, &options.k);
    }
    if (status == CS_OK) {
        status = solver_choices(args, &a, &start_u, &start_v, &options);
    }
    if (status == CS_OK && cs_args_flag(args, "dry-run")) {
        status = cs_svd_estimate(args, options.gpu, &a, options.k);
        goto done;
    }
    options.moment4 = options.certify & CS_CERTIFY_MOMENTS;
    options.partial = true;
    options.moment4_budget = cs_args_moment_budget(args);
    options.values_only = !cs_args_flag(args, "vectors");
    options.departure = !options.values_only;
    if (status == CS_OK && options.moment4) {
        double cost = 0;
        status = cs_args_note_moment4(args, &a, &cost);
    }
    if (status == CS_OK) {
        status = cs_spectrum_of(&a, &options, &spectrum);
    }
    if (status == CS_OK && spectrum.interrupted) {
        status = print_interrupted(args, options.gpu, &spectrum, options.k);
        goto done;
    }
    if (status == CS_OK) {
        note_choices(args, &spectrum);
        status = cs_svd_print(args, options.gpu, &spectrum);
    }
    status = status ? status : judged(&spectrum);
done:
    cs_gpu_close(&options.gpu);
    cs_spectrum_free(&spectrum);
    cs_dense_free(&start_u);
    cs_dense_free(&start_v);
    cs_csr_free(&a);
    cs_free(path);
    return status;
}

const cs_command cs_cmd_svd = {
    .name = "svd",
    .summary = "Normalised singular value decomposition with certificates",
    .description =
        "Reads a matrix of counts or probabilities (.npz of scipy.sparse, .npy, .mtx, or a "
        "directory made by cospec cooc) and computes the largest singular triplets of\n\n"
        "  Abar(X, X+) = A(X, X+) / sqrt(P_C(X) P_G(X+))\n\n"
        "Rows and columns without mass are dropped. Connected components give every singular value "
        "1 in closed form; proportional rows and columns are added up, which changes no nonzero "
        "singular value; the rest goes to a solver. Residuals are recomputed through the whole "
        "matrix. Certificates say what has been proved: components (the multiplicity of 1), "
        "moments (nothing large is missing, from sums over the spectrum, which are taken for it), "
        "probe (a random start finds nothing larger, with a stated probability of failure), "
        "inertia (exactly k values exceed a number just below sigma_k: a factorisation of every "
        "component, up to order 8192), residual. Each comes with the number above which nothing "
        "is missing, and with the reason where it was not run or proves nothing.\n\n"
        "With --device cuda, large components are solved on a GPU: dense by cuSOLVER, or truncated "
        "by the block solver; residuals and certificates are the CPU's all the same. --dry-run "
        "then says how much of its memory each way takes.\n\n"
        "Tails sum_{j>t} sigma_j^4 (the right side of Theorem 4.1) for t = 0..K need no more "
        "triplets: they are sum sigma^4 less the first t. That sum is exact where its cost, told "
        "first, is within --moment-budget, else an estimate with an interval, in tail.csv and in "
        "the result. Without any triplet: cospec density.\n\n"
        "Singular values that are zero are counted apart. A result that did not converge is "
        "printed as far as it is known, with exit code 4. An interrupt (Ctrl-C, SIGTERM) in the "
        "block solver, which is the default for large sparse matrices, prints and writes the "
        "triplets that have converged, not certified, with exit code 130.\n\n"
        "mpirun -n R cospec svd MATRIX --mpi deals the larger side of the matrix out to R "
        "processes, each of which holds its part of the nonzeros and vectors "
        "(docs/scaling.md). There mpirun takes the interrupt: it ends all processes without a "
        "partial result, with an exit code of its own.",
    .positional = "FILE|DIR",
    .gpu = true,
    .groups = svd_groups,
    .examples =
        "# a matrix of the toy kind, then its ten largest singular values\n"
        "cospec cooc --corpus bible-kjv --objective ar --context nearest:1 --split test -o m\n"
        "cospec svd m -k 10\n"
        "# with vectors, as numpy files\n"
        "cospec svd m -k 5 --vectors -o svd5 --json\n"
        "# proof that exactly 5 values are that large\n"
        "cospec svd m -k 5 --certify components,inertia --json",
    .run = run_svd,
};
