/* Dense singular value decompositions by cuSOLVER.
 *
 * A matrix comes over the bus as runs of sparse rows and is spread out on the device; what is
 * deflated is subtracted there by one product. Xgesvd (QR iteration, as LAPACK's gesvd) has the 64-
 * bit interface; gesvdj (Jacobi) replaces it where it does not converge. For A^T A the runs of rows
 * pass by and only the Gram matrix stays.
 *
 * Limits: gesvdj has sizes below 2^31. A library call cannot be interrupted, only what is
 * between. */
#include "cuda/linalg.cuh"

enum { PIECE = 1 << 24 /* nonzeros that travel at once */ };
static constexpr int64_t CHUNK = (int64_t)256 << 20; /* bytes of dense rows for a Gram matrix */

/* --- a matrix spread out ---------------------------------------------------------------------- */

/* Rows of A in transfer: buffers for a run of rows, and the vectors to be subtracted. */
struct Spread {
    const Gpu *g = NULL;
    const cs_linop *a = NULL;
    int64_t entries = 0; /* capacity of col and val */
    int64_t *ptr = NULL;
    int32_t *col = NULL;
    double *val = NULL;
    double *u = NULL, *v = NULL; /* rows x p, and cols x p times s */
};

static int64_t deflated_columns(const cs_linop *a)
{
    return a->data.u ? a->data.u->cols : 0;
}

/* The longest run that travels at once: a row at least. */
static int64_t entries_at_once(const cs_csr *a)
{
    int64_t longest = PIECE, nnz = cs_csr_nnz(a);
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t row = a->ptr[i + 1] - a->ptr[i];
        longest = row > longest ? row : longest;
    }
    return nnz < longest ? nnz : longest;
}

static int64_t spread_bytes(const cs_linop *a)
{
    int64_t p = deflated_columns(a);
    return (a->rows + 1) * 8 + entries_at_once(a->data.a) * 12 + (a->rows + a->cols) * p * 8;
}

static void spread_close(Spread *s)
{
    gpu_release(s->g, {s->ptr, s->col, s->val, s->u, s->v});
}

static cs_status spread_open(const Gpu *g, const cs_linop *a, Spread *s)
{
    int64_t p = deflated_columns(a);
    *s = {g, a, entries_at_once(a->data.a)};
    cs_status status = gpu_alloc(g, a->rows + 1, &s->ptr);
    status = status ? status : gpu_alloc(g, s->entries, &s->col);
    status = status ? status : gpu_alloc(g, s->entries, &s->val);
    status = status ? status : gpu_put(g, s->ptr, a->data.a->ptr, (a->rows + 1) * 8);
    if (status == CS_OK && p > 0) {
        status = gpu_alloc(g, a->rows * p, &s->u);
        status = status ? status : gpu_alloc(g, a->cols * p, &s->v);
        status = status ? status : gpu_put_columns(g, s->u, a->data.u, NULL);
        status = status ? status : gpu_put_columns(g, s->v, a->data.v, a->data.s);
    }
    if (status != CS_OK) spread_close(s);
    return status;
}

/* Sparse rows, a warp each, into rows of a column-major matrix of zeros; ptr counts from `base`. */
static __global__ void spread_kernel(int64_t rows, int64_t base, const int64_t *ptr,
                                     const int32_t *col, const double *val, int64_t ld, double *to)
{
    int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (i < rows) {
        for (int64_t e = ptr[i] - base + threadIdx.x % WARP; e < ptr[i + 1] - base; e += WARP) {
            to[i + col[e] * ld] = val[e];
        }
    }
}

/* Rows first .. first + count - 1 of A into `to`, column-major, `count` apart. */
static cs_status spread_rows(const Spread *s, int64_t first, int64_t count, double *to)
{
    const Gpu *g = s->g;
    const cs_csr *a = s->a->data.a;
    int64_t n = s->a->cols, p = deflated_columns(s->a), end = first + count;
    cs_status status = gpu_zero(g, to, count * n * (int64_t)sizeof *to);
    for (int64_t i = first, next; status == CS_OK && i < end; i = next) {
        int64_t base = a->ptr[i];
        for (next = i + 1; next < end && a->ptr[next + 1] - base <= s->entries; ++next) {
        }
        int64_t entries = a->ptr[next] - base;
        status = g->host->interrupted();
        status = status ? status : gpu_put(g, s->col, a->col + base, entries * 4);
        status = status ? status : gpu_put(g, s->val, a->val + base, entries * 8);
        if (status == CS_OK)
            status = launch_items(&g->cuda, "spread", spread_kernel, (next - i) * WARP, next - i,
                                  base, s->ptr + i, s->col, s->val, count, to + (i - first));
    }
    if (status == CS_OK && p > 0) {
        Dgemm d = {false, true, count, n, p, -1, s->u + first, s->a->rows, s->v, n, 1, to, count};
        status = gpu_gemm(g, &d);
    }
    return status;
}

/* --- cuSOLVER --------------------------------------------------------------------------------- */

/* A problem of the library and its buffers. The sizes of its workspaces do not depend on where the
 * data are, so they are queried with `info` as the address of every array. */
struct Problem {
    const Gpu *g;
    cs_gpu_method method;
    int64_t m, n;
    /* v: V^T of gesvd, V of gesvdj; syevd has a, s */
    double *a = NULL, *s = NULL, *u = NULL, *v = NULL;
    void *work = NULL, *host_work = NULL;
    size_t work_bytes = 0, host_bytes = 0;
    int lwork = 0; /* gesvdj: doubles */
};

/* A size that the library refuses (Xsyevd above 25,000 or so, products beyond 32 bits) is no error:
 * the matrix does not fit. */
static cs_status size_check(const Gpu *g, cusolverStatus_t code, const char *doing, bool *refused)
{
    *refused = code == CUSOLVER_STATUS_INVALID_VALUE || code == CUSOLVER_STATUS_NOT_SUPPORTED;
    return *refused ? CS_OK : solver_check(g, code, doing);
}

static cs_status problem_sizes(Problem *p, bool *refused)
{
    const Solver *l = &p->g->solver;
    const double *any = p->a ? p->a : reinterpret_cast<const double *>(p->g->info);
    cs_status status = CS_OK;
    *refused = false;
    p->host_bytes = 0;
    switch (p->method) {
    case CS_GPU_GESVD:
        return size_check(p->g,
                          l->gesvd_size(l->handle, l->params, 'S', 'S', p->m, p->n, CUDA_R_64F, any,
                                        p->m, CUDA_R_64F, any, CUDA_R_64F, any, p->m, CUDA_R_64F,
                                        any, p->n, CUDA_R_64F, &p->work_bytes, &p->host_bytes),
                          "workspace of gesvd", refused);
    case CS_GPU_GESVDJ:
        *refused = p->m > INT32_MAX;
        if (*refused) return CS_OK;
        status = size_check(p->g,
                            l->gesvdj_size(l->handle, CUSOLVER_EIG_MODE_VECTOR, 1, (int)p->m,
                                           (int)p->n, any, (int)p->m, any, any, (int)p->m, any,
                                           (int)p->n, &p->lwork, l->jacobi),
                            "workspace of gesvdj", refused);
        *refused = *refused || p->lwork < 0;
        p->work_bytes = status == CS_OK && !*refused ? (size_t)p->lwork * sizeof(double) : 0;
        return status;
    default:
        return size_check(p->g,
                          l->syevd_size(l->handle, l->params, CUSOLVER_EIG_MODE_VECTOR,
                                        CUBLAS_FILL_MODE_LOWER, p->n, CUDA_R_64F, any, p->n,
                                        CUDA_R_64F, any, CUDA_R_64F, &p->work_bytes,
                                        &p->host_bytes),
                          "workspace of syevd", refused);
    }
}

static cs_status call(const Problem *p)
{
    const Solver *l = &p->g->solver;
    int *info = p->g->info;
    switch (p->method) {
    case CS_GPU_GESVD:
        return solver_check(p->g,
                            l->gesvd(l->handle, l->params, 'S', 'S', p->m, p->n, CUDA_R_64F, p->a,
                                     p->m, CUDA_R_64F, p->s, CUDA_R_64F, p->u, p->m, CUDA_R_64F,
                                     p->v, p->n, CUDA_R_64F, p->work, p->work_bytes, p->host_work,
                                     p->host_bytes, info),
                            "gesvd");
    case CS_GPU_GESVDJ:
        return solver_check(p->g,
                            l->gesvdj(l->handle, CUSOLVER_EIG_MODE_VECTOR, 1, (int)p->m, (int)p->n,
                                      p->a, (int)p->m, p->s, p->u, (int)p->m, p->v, (int)p->n,
                                      static_cast<double *>(p->work), p->lwork, info, l->jacobi),
                            "gesvdj");
    default:
        return solver_check(p->g,
                            l->syevd(l->handle, l->params, CUSOLVER_EIG_MODE_VECTOR,
                                     CUBLAS_FILL_MODE_LOWER, p->n, CUDA_R_64F, p->a, p->n,
                                     CUDA_R_64F, p->s, CUDA_R_64F, p->work, p->work_bytes,
                                     p->host_work, p->host_bytes, info),
                            "syevd");
    }
}

/* Solves what lies in p->a; *info > 0 when the library says that it did not converge. */
static cs_status solve(Problem *p, int *info)
{
    static const char *const name[] = {"gesvd", "gesvdj", "syevd"};
    bool refused = false;
    cs_status status = problem_sizes(p, &refused);
    if (refused) {
        return p->g->host->fail(CS_ERR_MEMORY, "cuSOLVER %s refuses %lld x %lld", name[p->method],
                                (long long)p->m, (long long)p->n);
    }
    if (status == CS_OK && p->host_bytes > 0) {
        p->host_work = p->g->host->alloc((int64_t)p->host_bytes, 1);
        status = p->host_work ? CS_OK : CS_ERR_MEMORY;
    }
    status = status ? status : cuda_memory(&p->g->cuda, (int64_t)p->work_bytes, &p->work);
    status = status ? status : call(p);
    status = status ? status : gpu_get(p->g, info, p->g->info, sizeof *info);
    gpu_release(p->g, {p->work});
    p->g->host->free(p->host_work);
    p->work = p->host_work = NULL;
    return status == CS_OK && *info < 0
               ? p->g->host->fail(CS_ERR_DEVICE, "cuSOLVER %s: its parameter %d is wrong",
                                  name[p->method], -*info)
               : status;
}

/* --- what the table find_heuristics -------------------------------------------------------------------- */

static int64_t chunk_rows(const cs_linop *a)
{
    int64_t rows = CHUNK / (int64_t)sizeof(double) / (a->cols > 0 ? a->cols : 1);
    rows = rows < a->rows ? rows : a->rows;
    return rows > 0 ? rows : 1;
}

/* Counted in doubles, which reach where int64 would overflow. */
cs_status dense_need(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t *bytes)
{
    Problem p = {gpu_of(gpu), method, a->rows, a->cols};
    bool refused = false;
    cs_status status = problem_sizes(&p, &refused);
    double m = (double)a->rows, n = (double)a->cols;
    double doubles =
        method == CS_GPU_SYEVD ? ((double)chunk_rows(a) + n + 1) * n : (2 * m + n + 1) * n;
    double all = 8 * doubles + (double)p.work_bytes + (double)spread_bytes(a);
    *bytes = all < 9e18 && !refused ? (int64_t)all : CS_GPU_REFUSED;
    return status;
}

/* Before anything is allocated. */
static cs_status check_memory(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a)
{
    int64_t need = 0;
    cs_status status = dense_need(gpu, method, a, &need);
    const char *what = method == CS_GPU_SYEVD ? "the Gram matrix" : "a dense SVD";
    if (status == CS_OK && need == CS_GPU_REFUSED) {
        return gpu_of(gpu)->host->fail(CS_ERR_MEMORY, "cuSOLVER refuses %s of %lld x %lld", what,
                                       (long long)a->rows, (long long)a->cols);
    }
    return status ? status
                  : gpu_check_memory(gpu_of(gpu), need, "%s of %lld x %lld takes", what,
                                     (long long)a->rows, (long long)a->cols);
}

/* to(i, j) = from(j, i) for the first k rows of an n x n matrix. */
static __global__ void transpose_kernel(int64_t n, int64_t k, const double *from, double *to)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n * k) {
        to[e] = from[e / n + e % n * n];
    }
}

static cs_status get_columns(const Gpu *g, cs_dense *to, const double *from)
{
    cs_status status = CS_OK;
    for (int64_t j = 0; status == CS_OK && j < to->cols; ++j) {
        status = gpu_get(g, to->data + j * to->ld, from + j * to->rows, to->rows * 8);
    }
    return status;
}

static void problem_close(Problem *p)
{
    gpu_release(p->g, {p->a, p->s, p->u, p->v});
}

/* Copies the first k vectors and all values to the host; V replaces A in memory. */
static cs_status bring_home(const Problem *p, int64_t k, double *sigma, cs_dense *u, cs_dense *v)
{
    const double *right = p->v;
    cs_status status = CS_OK;
    if (p->method == CS_GPU_GESVD) {
        status =
            launch_items(&p->g->cuda, "transpose", transpose_kernel, p->n * k, p->n, k, p->v, p->a);
        right = p->a;
    }
    u->cols = v->cols = k;
    status = status ? status : gpu_get(p->g, sigma, p->s, p->n * 8);
    status = status ? status : get_columns(p->g, u, p->u);
    return status ? status : get_columns(p->g, v, right);
}

cs_status dense_svd(cs_gpu *gpu, cs_gpu_method method, const cs_linop *a, int64_t k, double *sigma,
                    cs_dense *u, cs_dense *v)
{
    const Gpu *g = gpu_of(gpu);
    Problem p = {g, method, a->rows, a->cols};
    Spread s;
    int info = 0;
    cs_status status = check_memory(gpu, method, a);
    status = status ? status : spread_open(g, a, &s);
    if (status != CS_OK) return status;
    status = gpu_alloc(g, p.m * p.n, &p.a);
    status = status ? status : gpu_alloc(g, p.n, &p.s);
    status = status ? status : gpu_alloc(g, p.m * p.n, &p.u);
    status = status ? status : gpu_alloc(g, p.n * p.n, &p.v);
    status = status ? status : spread_rows(&s, 0, p.m, p.a);
    status = status ? status : solve(&p, &info);
    if (status == CS_OK && info > 0 && method == CS_GPU_GESVD) {
        p.method = CS_GPU_GESVDJ; /* A has been destroyed */
        status = spread_rows(&s, 0, p.m, p.a);
        status = status ? status : solve(&p, &info);
    }
    if (status == CS_OK && info > 0)
        status = g->host->fail(CS_ERR_CONVERGE, "cuSOLVER gesvdj did not converge on %lld x %lld",
                               (long long)p.m, (long long)p.n);
    status = status ? status : bring_home(&p, k, sigma, u, v);
    problem_close(&p);
    spread_close(&s);
    return status;
}

cs_status dense_eigen(cs_gpu *gpu, const cs_linop *a, int64_t k, cs_dense *basis)
{
    const Gpu *g = gpu_of(gpu);
    int64_t n = a->cols, most = chunk_rows(a);
    Problem p = {g, CS_GPU_SYEVD, n, n};
    Spread s;
    double *chunk = NULL;
    int info = 0;
    cs_status status = check_memory(gpu, CS_GPU_SYEVD, a);
    status = status ? status : spread_open(g, a, &s);
    if (status != CS_OK) return status;
    status = gpu_alloc(g, n * n, &p.a);
    status = status ? status : gpu_alloc(g, n, &p.s);
    status = status ? status : gpu_alloc(g, most * n, &chunk);
    for (int64_t first = 0; status == CS_OK && first < a->rows; first += most) {
        int64_t rows = a->rows - first < most ? a->rows - first : most;
        Dgemm d = {true, false, n, n, rows, 1, chunk, rows, chunk, rows, first > 0 ? 1.0 : 0.0,
                   p.a,  n};
        status = spread_rows(&s, first, rows, chunk);
        status = status ? status : gpu_gemm(g, &d);
    }
    status = status ? status : solve(&p, &info);
    if (status == CS_OK && info > 0)
        status = g->host->fail(CS_ERR_CONVERGE, "cuSOLVER syevd did not converge on %lld x %lld",
                               (long long)n, (long long)n);
    basis->cols = k;
    status = status ? status : get_columns(g, basis, p.a + (n - k) * n);
    gpu_release(g, {chunk});
    problem_close(&p);
    spread_close(&s);
    return status;
}
