/* Matrices from scipy.sparse archives and NPY arrays, and the choice by name.
 *
 * Format: scipy.sparse.save_npz: members format ("csr", "csc", "coo", ...), shape, data, and
 * indices with indptr, or row with col. Rows that are out of order or repeat a column are repaired,
 * as scipy allows both; entries behind the last indptr are ignored, as scipy does. Limits: bsr, dia
 * and n-dimensional arrays are refused. Integers beyond 2^53 are rounded. A member `gram`, which
 * scipy ignores, marks a Gram form.
 */
#include "linalg/matrix_file.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/npz.h"
#include "linalg/matrix_stream_private.h"
#include "linalg/mtx_private.h"

/* What the smallest analysis of a matrix takes for a row or column, nonzeros or not: pointers of
 * the matrix, its transpose and their reduced copies, masses, maps, and a row of one panel. */
enum { SIDE_BYTES = 160 };

cs_status cs_matrix_admit(const char *path, int64_t rows, int64_t cols)
{
    return cols > INT32_MAX /* cs_csr_init says so */
               ? CS_OK
               : cs_mem_check(SIDE_BYTES * ((double)rows + (double)cols), NULL,
                              "%s: a matrix of %lld rows and %lld columns takes", path,
                              (long long)rows, (long long)cols);
}

/* Reads member `name` as a vector of numbers. */
static cs_status read_vector(cs_npz *npz, const char *path, const char *name, cs_array *out)
{
    cs_array a;
    cs_status status = cs_npz_read(npz, name, &a);
    if (status != CS_OK) return status;
    if (a.ndim != 1 || cs_dtype_size(a.dtype) == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: member %s.npy: %s", path, name,
                         a.ndim != 1 ? "has not one dimension" : "is not of numbers");
        cs_array_free(&a);
        return status;
    }
    *out = a;
    return CS_OK;
}

/* Item `at` of an index member, which must lie in low..high. */
static cs_status index_at(const char *path, const char *member, const cs_array *a, int64_t at,
                          int64_t low, int64_t high, int64_t *out)
{
    cs_status status = cs_array_i64(a, at, out);
    if (status == CS_OK && (*out < low || *out > high))
        status = cs_fail(CS_ERR_INPUT, "item %lld is %lld, not in %lld..%lld", (long long)at,
                         (long long)*out, (long long)low, (long long)high);
    return cs_blame(status, "%s: member %s.npy", path, member);
}

static cs_status check_finite(const char *path, int64_t row, int64_t col, double x)
{
    return isfinite(x) ? CS_OK
                       : cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld: value %g is not finite",
                                 path, (long long)row, (long long)col, x);
}

static cs_status same_length(const char *path, const char *left, const cs_array *a,
                             const char *right, const cs_array *b)
{
    return a->size == b->size
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: member %s.npy has %lld items, %s.npy %lld", path, left,
                         (long long)a->size, right, (long long)b->size);
}

/* Fills `a` (major x minor) from the three members of a csr or csc file. */
static cs_status fill_compressed(const char *path, bool by_column, const cs_array *indptr,
                                 const cs_array *indices, const cs_array *data, cs_csr *a)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i <= a->rows && status == CS_OK; ++i) {
        int64_t least = i > 0 ? a->ptr[i - 1] : 0;
        /* Pointers begin at 0, never fall and stay within the entries. */
        status = index_at(path, "indptr", indptr, i, least, i > 0 ? indices->size : 0, &a->ptr[i]);
    }
    for (int64_t i = 0; i < a->rows && status == CS_OK; ++i) {
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1] && status == CS_OK; ++p) {
            int64_t j = 0;
            status = index_at(path, "indices", indices, p, 0, a->cols - 1, &j);
            if (status == CS_OK) {
                a->col[p] = (int32_t)j;
                a->val[p] = cs_array_f64(data, p);
                status = check_finite(path, by_column ? j : i, by_column ? i : j, a->val[p]);
            }
        }
    }
    return status ? status : cs_csr_tidy(a);
}

static cs_status read_compressed(cs_npz *npz, const char *path, bool by_column, int64_t rows,
                                 int64_t cols, cs_csr *out)
{
    int64_t major = by_column ? cols : rows, minor = by_column ? rows : cols;
    cs_array indptr = {0}, indices = {0}, data = {0};
    cs_csr a = {0};
    cs_status status = read_vector(npz, path, "indptr", &indptr);
    status = status ? status : read_vector(npz, path, "indices", &indices);
    status = status ? status : read_vector(npz, path, "data", &data);
    status = status ? status : same_length(path, "indices", &indices, "data", &data);
    if (status == CS_OK && indptr.size - 1 != major)
        status = cs_fail(CS_ERR_INPUT, "%s: member indptr.npy has %lld items for %lld %s", path,
                         (long long)indptr.size, (long long)major, by_column ? "columns" : "rows");
    if (status == CS_OK) status = cs_blame(cs_csr_init(&a, major, minor, data.size), "%s", path);
    status = status ? status : fill_compressed(path, by_column, &indptr, &indices, &data, &a);
    cs_array_free(&indptr);
    cs_array_free(&indices);
    cs_array_free(&data);
    if (status == CS_OK && by_column) {
        status = cs_blame(cs_csr_transpose(&a, out), "%s", path);
    } else if (status == CS_OK) {
        *out = a;
        return CS_OK;
    }
    cs_csr_free(&a);
    return status;
}

static cs_status read_coo(cs_npz *npz, const char *path, int64_t rows, int64_t cols, cs_csr *out)
{
    cs_array row = {0}, col = {0}, data = {0};
    int64_t *i = NULL, *j = NULL;
    double *val = NULL;
    cs_pool pool = {0};
    cs_status status = read_vector(npz, path, "row", &row);
    status = status ? status : read_vector(npz, path, "col", &col);
    status = status ? status : read_vector(npz, path, "data", &data);
    status = status ? status : same_length(path, "row", &row, "data", &data);
    status = status ? status : same_length(path, "col", &col, "data", &data);
    if (status == CS_OK) {
        i = cs_pool_take(&pool, data.size, sizeof *i);
        j = cs_pool_take(&pool, data.size, sizeof *j);
        val = cs_pool_take(&pool, data.size, sizeof *val);
        status = pool.status;
    }
    for (int64_t e = 0; status == CS_OK && e < data.size; ++e) {
        status = index_at(path, "row", &row, e, 0, rows - 1, &i[e]);
        status = status ? status : index_at(path, "col", &col, e, 0, cols - 1, &j[e]);
        if (status == CS_OK) {
            val[e] = cs_array_f64(&data, e);
            status = check_finite(path, i[e], j[e], val[e]);
        }
    }
    if (status == CS_OK)
        status = cs_blame(cs_csr_from_triplets(rows, cols, data.size, i, j, val, out), "%s", path);
    cs_array_free(&row);
    cs_array_free(&col);
    cs_array_free(&data);
    cs_pool_free(&pool);
    return status;
}

cs_status cs_sparse_kind(cs_npz *npz, const char *path, char **format, int64_t shape[2])
{
    cs_array text = {0}, size = {0};
    if (!cs_npz_has(npz, "format")) {
        return cs_fail(CS_ERR_INPUT, "%s: has no member format.npy: not a scipy.sparse file", path);
    }
    cs_status status = cs_npz_read(npz, "format", &text);
    if (status == CS_OK && text.size != 1)
        status = cs_fail(CS_ERR_INPUT, "%s: member format.npy has %lld items", path,
                         (long long)text.size);
    if (status == CS_OK)
        status = cs_blame(cs_array_text(&text, 0, format), "%s: member format.npy", path);
    status = status ? status : read_vector(npz, path, "shape", &size);
    if (status == CS_OK && size.size != 2)
        status = cs_fail(CS_ERR_INPUT, "%s: an array of %lld dimensions, not a matrix", path,
                         (long long)size.size);
    for (int64_t d = 0; d < 2 && status == CS_OK; ++d) {
        status = index_at(path, "shape", &size, d, 0, INT64_MAX - 1, &shape[d]);
    }
    cs_array_free(&text);
    cs_array_free(&size);
    return status;
}

static cs_status read_npz(const char *path, cs_csr *out)
{
    cs_npz *npz = NULL;
    char *format = NULL;
    int64_t shape[2] = {0, 0};
    cs_status status = cs_npz_open(path, 0, &npz);
    status = status ? status : cs_sparse_kind(npz, path, &format, shape);
    if (status == CS_OK) status = cs_matrix_admit(path, shape[0], shape[1]);
    if (status == CS_OK) {
        if (strcmp(format, "csr") == 0 || strcmp(format, "csc") == 0) {
            status = read_compressed(npz, path, format[2] == 'c', shape[0], shape[1], out);
        } else if (strcmp(format, "coo") == 0) {
            status = read_coo(npz, path, shape[0], shape[1], out);
        } else {
            status = cs_fail(CS_ERR_INPUT, "%s: sparse format '%s' is not csr, csc or coo", path,
                             format);
        }
    }
    out->gram = status == CS_OK && cs_npz_has(npz, "gram");
    cs_free(format);
    cs_npz_close(npz);
    return status;
}

/* Nonzeros of a C-order array, all of them finite. */
static cs_status count_nonzeros(const char *path, const cs_array *array, int64_t *nnz)
{
    int64_t cols = array->shape[1], count = 0;
    cs_status status = CS_OK;
    for (int64_t e = 0; e < array->size && status == CS_OK; ++e) {
        double x = cs_array_f64(array, e);
        count += x != 0;
        status = check_finite(path, e / cols, e % cols, x);
    }
    *nnz = count;
    return status;
}

static cs_status read_npy(const char *path, cs_csr *out)
{
    cs_array array = {0};
    cs_csr a = {0};
    int64_t nnz = 0, q = 0;
    cs_status status = cs_npy_read(path, 0, &array);
    if (status == CS_OK && (array.ndim != 2 || cs_dtype_size(array.dtype) == 0))
        status = array.ndim != 2
                     ? cs_fail(CS_ERR_INPUT, "%s: an array of %d dimensions, not a matrix", path,
                               array.ndim)
                     : cs_fail(CS_ERR_INPUT, "%s: an array of text, not of numbers", path);
    if (status == CS_OK) status = cs_matrix_admit(path, array.shape[0], array.shape[1]);
    status = status ? status : count_nonzeros(path, &array, &nnz);
    if (status == CS_OK)
        status = cs_blame(cs_csr_init(&a, array.shape[0], array.shape[1], nnz), "%s", path);
    if (status == CS_OK) {
        for (int64_t i = 0; i < a.rows; ++i) {
            for (int64_t j = 0; j < a.cols; ++j) {
                double x = cs_array_f64(&array, i * a.cols + j);
                if (x != 0) {
                    a.col[q] = (int32_t)j;
                    a.val[q++] = x;
                }
            }
            a.ptr[i + 1] = q;
        }
        *out = a;
    }
    cs_array_free(&array);
    return status;
}

cs_status cs_matrix_read(const char *path, cs_csr *out)
{
    *out = (cs_csr){0};
    if (cs_path_is_dir(path)) {
        char *inside = cs_path_join(path, "matrix.npz");
        cs_status status = inside ? read_npz(inside, out) : CS_ERR_MEMORY;
        cs_free(inside);
        return status;
    }
    if (cs_has_suffix(path, ".npz")) {
        return read_npz(path, out);
    }
    if (cs_has_suffix(path, ".npy")) {
        return read_npy(path, out);
    }
    if (cs_has_suffix(path, ".mtx")) {
        return cs_mtx_read(path, out);
    }
    return cs_fail(CS_ERR_USAGE, "%s: not a .npz, .npy or .mtx file nor a directory", path);
}

static void to_integers(const void *val, int64_t first, int64_t count, void *to)
{
    const double *from = (const double *)val + first;
    int64_t *out = to;
    for (int64_t i = 0; i < count; ++i) {
        out[i] = (int64_t)from[i];
    }
}

cs_status cs_matrix_write_npz(const char *path, const cs_csr *a, bool integers)
{
    const int64_t nnz = cs_csr_nnz(a), pointers = a->rows + 1, one = 1, two = 2;
    const int64_t shape[] = {a->rows, a->cols};
    const uint8_t gram = 1;
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, false, &w);
    status = status ? status : cs_npz_add(w, "indices", CS_I32, 1, &nnz, a->col);
    status = status ? status : cs_npz_add(w, "indptr", CS_I64, 1, &pointers, a->ptr);
    status = status ? status : cs_npz_add_text(w, "format", "csr");
    status = status ? status : cs_npz_add(w, "shape", CS_I64, 1, &two, shape);
    if (status == CS_OK && a->gram) status = cs_npz_add(w, "gram", CS_U8, 1, &one, &gram);
    if (status == CS_OK)
        status = integers && cs_csr_is_integer(a)
                     ? cs_npz_add_made(w, "data", CS_I64, nnz, to_integers, a->val)
                     : cs_npz_add(w, "data", CS_F64, 1, &nnz, a->val);
    status = status ? status : cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}
