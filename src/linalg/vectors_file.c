/* The columns of a dense matrix, spread over the rows of a larger one as they are written. */
#include "linalg/vectors_file.h"

#include <math.h>

#include "base/ints.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/npy.h"

static cs_status put_zeros(cs_outfile *out, int64_t bytes)
{
    static const char zeros[1 << 16];
    const int64_t room = (int64_t)sizeof zeros;
    cs_status status = CS_OK;
    for (; bytes > 0 && status == CS_OK; bytes -= room) {
        status = cs_outfile_put(out, zeros, cs_least(bytes, room));
    }
    return status;
}

/* A run of kept rows that follow each other at a time. */
static cs_status put_column(const cs_kept_rows *rows, const double *x, cs_outfile *out)
{
    const int64_t size = (int64_t)sizeof *x;
    int64_t next = 0; /* row of the file */
    cs_status status = CS_OK;
    for (int64_t i = 0, n = 0; i < rows->count && status == CS_OK; i += n) {
        const int64_t row = cs_kept_rows_at(rows, i);
        n = rows->row ? 1 : rows->count;
        while (i + n < rows->count && rows->row[i + n] == row + n) {
            ++n;
        }
        status = put_zeros(out, (row - next) * size);
        if (status == CS_OK) status = cs_outfile_put(out, x + i, n * size);
        next = row + n;
    }
    return status == CS_OK ? put_zeros(out, (rows->rows - next) * size) : status;
}

cs_status cs_vectors_write(const char *path, const cs_kept_rows *rows, const cs_dense *a)
{
    const int64_t shape[2] = {rows->rows, a->cols};
    char *header = NULL;
    int64_t size = 0;
    cs_outfile out = {0};
    cs_status status = cs_npy_header(CS_F64, true, 2, shape, &header, &size);
    if (status == CS_OK) status = cs_outfile_open(path, &out);
    if (status == CS_OK) status = cs_outfile_put(&out, header, size);
    for (int64_t j = 0; j < a->cols && status == CS_OK; ++j) {
        status = put_column(rows, a->data + j * a->ld, &out);
    }
    if (status == CS_OK) status = cs_outfile_commit(&out);
    cs_outfile_abort(&out);
    cs_free(header);
    return status;
}

cs_status cs_vectors_read(const char *path, const cs_kept_rows *rows, cs_dense *out)
{
    cs_array x = {0};
    cs_dense a = {0};
    cs_status status = cs_npy_read(path, 0, &x);
    bool fits = x.ndim == 2 && x.shape[0] == rows->rows && x.shape[1] > 0 &&
                (x.dtype == CS_F32 || x.dtype == CS_F64);
    if (status == CS_OK && !fits)
        status = cs_fail(CS_ERR_INPUT, "%s: expected vectors of %lld floats, one per column", path,
                         (long long)rows->rows);
    if (status == CS_OK) status = cs_dense_init(&a, rows->count, x.shape[1]);
    for (int64_t e = 0; status == CS_OK && e < a.rows * a.cols; ++e) {
        const int64_t i = e / a.cols, j = e % a.cols, row = cs_kept_rows_at(rows, i);
        const double value = cs_array_f64(&x, row * a.cols + j);
        if (!isfinite(value))
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld is not finite: %g", path,
                             (long long)row, (long long)j, value);
        a.data[i + j * a.ld] = value;
    }
    cs_array_free(&x);
    return CS_DELIVER(status, out, a, cs_dense_free);
}
