/* scipy.sparse archives of the formats bsr (blocks) and dia (diagonals), as scipy.sparse.save_npz
 * writes them.
 *
 * bsr: data[k] is the R x C block at block row i and block column indices[k], for indptr[i] <= k <
 * indptr[i + 1]; blocks of one place are added. dia: data[k, j] is the entry in column j of the
 * diagonal offsets[k] = column - row; what lies outside of the matrix is not part of it. Memory: 24
 * bytes for each stored number in addition to the result. */
#include "base/mem.h"
#include "io/npy.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_stream_private.h"

typedef struct {
    const char *path;
    cs_array data, indices, indptr; /* dia: offsets in indices */
    cs_triplets t;
    int64_t *row, *col;
    double *val;
    cs_pool pool;
} blocks;

static cs_status read_member(cs_npz *npz, const char *path, const char *name, int ndim,
                             cs_array *out)
{
    cs_status status = cs_npz_read(npz, name, out);
    if (status == CS_OK && (out->ndim != ndim || cs_dtype_size(out->dtype) == 0))
        status = cs_fail(CS_ERR_INPUT, "%s: member %s.npy: not numbers in %d dimension%s", path,
                         name, ndim, ndim == 1 ? "" : "s");
    return status;
}

static cs_status disagree(const blocks *b, const char *what)
{
    return cs_fail(CS_ERR_INPUT, "%s: the members data.npy, %s.npy and shape.npy do not match",
                   b->path, what);
}

/* Zeros are stored in blocks and at the ends of diagonals, and are no entries. */
static cs_status put(blocks *b, int64_t row, int64_t col, int64_t item)
{
    const double x = cs_array_f64(&b->data, item);
    if (x != 0) {
        b->row[b->t.n] = row;
        b->col[b->t.n] = col;
        b->val[b->t.n++] = x;
    }
    return cs_entry_finite(b->path, row, col, x);
}

static cs_status put_block(blocks *b, int64_t block, int64_t row, int64_t col)
{
    const int64_t height = b->data.shape[1], width = b->data.shape[2];
    cs_status status = CS_OK;
    for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < width && status == CS_OK; ++j) {
            status = put(b, row + i, col + j, (block * height + i) * width + j);
        }
    }
    return status;
}

static cs_status take_blocks(blocks *b)
{
    const int64_t count = b->data.shape[0], height = b->data.shape[1], width = b->data.shape[2];
    const cs_index_items start = {b->path, "indptr", &b->indptr, 0},
                         place = {b->path, "indices", &b->indices, 0};
    if (height < 1 || width < 1 || b->t.rows % height != 0 || b->t.cols % width != 0 ||
        b->indptr.size != b->t.rows / height + 1 || b->indices.size != count) {
        return disagree(b, "indices.npy, indptr");
    }
    int64_t from = 0, to = 0, col = 0;
    cs_status status = cs_index_at(&start, 0, 0, 0, &from);
    for (int64_t i = 0; i < b->t.rows / height && status == CS_OK; ++i) {
        status = cs_index_at(&start, i + 1, from, count, &to);
        for (; status == CS_OK && from < to; ++from) {
            status = cs_index_at(&place, from, 0, b->t.cols / width - 1, &col);
            if (status == CS_OK) status = put_block(b, from, i * height, col * width);
        }
    }
    return status;
}

static cs_status take_diagonals(blocks *b)
{
    const int64_t length = b->data.shape[1];
    const cs_index_items place = {b->path, "offsets", &b->indices, 0};
    if (b->indices.size != b->data.shape[0]) {
        return disagree(b, "offsets");
    }
    int64_t offset = 0;
    cs_status status = CS_OK;
    for (int64_t k = 0; k < b->data.shape[0] && status == CS_OK; ++k) {
        status = cs_index_at(&place, k, -INT64_MAX, INT64_MAX, &offset);
        const int64_t first = offset > 0 ? offset : 0,
                      last = length < b->t.cols ? length : b->t.cols;
        for (int64_t j = first; status == CS_OK && j < last && j - offset < b->t.rows; ++j) {
            status = put(b, j - offset, j, k * length + j);
        }
    }
    return status;
}

cs_status cs_blocks_read(cs_npz *npz, const char *path, bool diagonals, const int64_t shape[2],
                         cs_nonempty_rows *rows, cs_csr *out)
{
    blocks b = {.path = path, .t = {.rows = shape[0], .cols = shape[1]}};
    cs_status status = cs_matrix_admit(path, shape[0], shape[1], 0);
    if (status == CS_OK) status = read_member(npz, path, "data", diagonals ? 2 : 3, &b.data);
    if (status == CS_OK)
        status = read_member(npz, path, diagonals ? "offsets" : "indices", 1, &b.indices);
    if (status == CS_OK && !diagonals) status = read_member(npz, path, "indptr", 1, &b.indptr);
    if (status == CS_OK) {
        CS_POOL_FIELDS(&b.pool, b.data.size, &b, row, col, val);
        status = b.pool.status;
    }
    if (status == CS_OK) status = diagonals ? take_diagonals(&b) : take_blocks(&b);
    if (status == CS_OK) {
        b.t.row = b.row;
        b.t.col = b.col;
        b.t.val = b.val;
        status = cs_blame(cs_nonempty_from_triplets(path, &b.t, rows, out), "%s", path);
    }
    cs_array_free(&b.data);
    cs_array_free(&b.indices);
    cs_array_free(&b.indptr);
    cs_pool_free(&b.pool);
    return status;
}
