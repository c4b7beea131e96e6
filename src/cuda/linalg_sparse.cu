/* A sparse matrix on the GPU, for the space of a block solver.
 *
 * Method: cuSPARSE's SpMM of a CSR matrix, not transposed, by CUSPARSE_SPMM_CSR_ALG3, the algorithm
 * whose bits do not change from run to run.
 *
 * Limits: an index has 32 bits below 2^31 nonzeros, else 64.
 */
#include "cuda/linalg.cuh"

static constexpr int B = CS_PANEL;
static constexpr int64_t CONVERTED = 1 << 16; /* indices converted at once */
static const double ONE = 1, ZERO = 0;

void sparse_free(const Gpu *g, SparseMatrix *m)
{
    destroy(g->sparse.dense_destroy, m->x);
    destroy(g->sparse.dense_destroy, m->y);
    destroy(g->sparse.csr_destroy, m->matrix);
    gpu_release(g, {m->buffer, m->ptr, m->col, m->val});
    memset(m, 0, sizeof *m);
}

/* Indices of one width into another, by pieces. */
template <typename From, typename To>
static cs_status put_indices(const Gpu *g, int64_t count, const From *from, void **out)
{
    To *to = NULL, *piece = static_cast<To *>(g->host->alloc(CONVERTED, sizeof *piece));
    cs_status status = piece ? gpu_alloc(g, count, &to) : CS_ERR_MEMORY;
    *out = to;
    for (int64_t first = 0; status == CS_OK && first < count; first += CONVERTED) {
        int64_t now = count - first < CONVERTED ? count - first : CONVERTED;
        for (int64_t i = 0; i < now; ++i) {
            piece[i] = (To)from[first + i];
        }
        status = gpu_put(g, to + first, piece, now * (int64_t)sizeof *piece);
    }
    g->host->free(piece);
    return status;
}

/* y = A x by a function of cuSPARSE that takes the arguments of SpMM: it, or a step before it. */
template <typename Step, typename Last>
static cs_status multiply(const Gpu *g, const SparseMatrix *m, Step step, Last last,
                          const char *doing)
{
    return sparse_check(g,
                        step(g->sparse.handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                             CUSPARSE_OPERATION_NON_TRANSPOSE, &ONE, m->matrix, m->x, &ZERO, m->y,
                             CUDA_R_64F, CUSPARSE_SPMM_CSR_ALG3, last),
                        doing);
}

static cs_status describe_panel(const Gpu *g, int64_t rows, double *x, cusparseDnMatDescr_t *out)
{
    return sparse_check(
        g, g->sparse.dense_create(out, rows, B, B, x, CUDA_R_64F, CUSPARSE_ORDER_ROW), "panel");
}

cs_status sparse_open(const Gpu *g, const cs_csr *a, double *x, double *y, SparseMatrix *m)
{
    const Sparse *l = &g->sparse;
    int64_t nnz = cs_csr_nnz(a);
    bool narrow = nnz < INT32_MAX;
    cusparseIndexType_t index = narrow ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;
    size_t bytes = 0;
    cs_status status = narrow ? put_indices<int64_t, int32_t>(g, a->rows + 1, a->ptr, &m->ptr)
                              : put_indices<int64_t, int64_t>(g, a->rows + 1, a->ptr, &m->ptr);
    if (status == CS_OK)
        status = narrow ? put_indices<int32_t, int32_t>(g, nnz, a->col, &m->col)
                        : put_indices<int32_t, int64_t>(g, nnz, a->col, &m->col);
    status = status ? status : gpu_alloc(g, nnz, &m->val);
    status = status ? status : gpu_put(g, m->val, a->val, nnz * 8);
    if (status == CS_OK)
        status =
            sparse_check(g,
                         l->csr_create(&m->matrix, a->rows, a->cols, nnz, m->ptr, m->col, m->val,
                                       index, index, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
                         "matrix");
    status = status ? status : describe_panel(g, a->cols, x, &m->x);
    status = status ? status : describe_panel(g, a->rows, y, &m->y);
    status = status ? status : multiply(g, m, l->product_size, &bytes, "workspace of SpMM");
    status = status ? status : cuda_memory(&g->cuda, (int64_t)bytes, &m->buffer);
    return status ? status : multiply(g, m, l->product_prepare, m->buffer, "preparation of SpMM");
}

cs_status sparse_product(const Gpu *g, const SparseMatrix *m, double *x, double *y)
{
    const Sparse *l = &g->sparse;
    cs_status status = sparse_check(g, l->dense_set(m->x, x), "panel");
    status = status ? status : sparse_check(g, l->dense_set(m->y, y), "panel");
    return status ? status : multiply(g, m, l->product, m->buffer, "SpMM");
}
