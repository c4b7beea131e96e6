/* Support of the tests of src/linalg. */
#include "linalg_support.h"

#include "io/npz.h"
#include "io_support.h"

double max_abs_difference(const cs_dense *a, const cs_dense *b)
{
    double worst =
        LARGEST(j, 0, a->cols,
                LARGEST(i, 0, a->rows, fabs(a->data[i + j * a->ld] - b->data[i + j * b->ld])));
    return worst;
}

void fill_normal(cs_dense *a, uint64_t index)
{
    cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, index);
    for (int64_t j = 0; j < a->cols; ++j) {
        for (int64_t i = 0; i < a->rows; ++i) {
            a->data[i + j * a->ld] = cs_rng_normal(&rng);
        }
    }
}

cs_csr random_sparse(int64_t rows, int64_t cols, double density, uint64_t index)
{
    cs_rng rng = cs_rng_at(12, CS_STREAM_TEST, index);
    int64_t n = (int64_t)(density * (double)(rows * cols)) + 1;
    CS_AUTO_FREE int64_t *row = cs_alloc(n, sizeof *row), *col = cs_alloc(n, sizeof *col);
    CS_AUTO_FREE double *val = cs_alloc(n, sizeof *val);
    assert_true(row && col && val);
    for (int64_t t = 0; t < n; ++t) {
        row[t] = cs_rng_below(&rng, rows);
        col[t] = cs_rng_below(&rng, cols);
        val[t] = cs_rng_normal(&rng);
    }
    cs_csr a;
    OK(cs_csr_from_triplets(rows, cols, n, row, col, val, &a));
    return a;
}

double orthonormality(const cs_dense *u)
{
    AUTO_OK(cs_dense, gram, cs_dense_init(&gram, u->cols, u->cols));
    OK(cs_gemm(true, false, 1, u, u, 0, &gram));
    double worst = LARGEST(j, 0, gram.cols,
                           LARGEST(i, 0, gram.rows, fabs(gram.data[i + j * gram.ld] - (i == j))));
    return worst;
}

cs_csr diagonal_matrix(int64_t n, const double *value)
{
    cs_csr a = {0};
    OK(cs_csr_init(&a, n, n, n));
    for (int64_t i = 0; i < n; ++i) {
        a.ptr[i + 1] = i + 1;
        a.col[i] = (int32_t)i;
        a.val[i] = value[i];
    }
    return a;
}

cs_csr scattered(int64_t rows, int64_t cols, int64_t n, const double *value)
{
    ARRAY(int64_t, row, n, j, 7 * j % rows);
    ARRAY(int64_t, col, n, j, 11 * j % cols);
    cs_csr a;
    OK(cs_csr_from_triplets(rows, cols, n, row, col, value, &a));
    return a;
}

void operator_of(csr_operator *o, cs_csr a, int threads)
{
    o->a = a;
    OK(cs_csr_transpose(&o->a, &o->at));
    o->op = cs_linop_csr(&o->ctx, &o->a, &o->at, threads);
}

void operator_free(csr_operator *o)
{
    cs_csr_free(&o->a);
    cs_csr_free(&o->at);
}

void falling_operator(csr_operator *o, int n)
{
    ARRAY(double, value, n, i, n - i);
    operator_of(o, diagonal_matrix(n, value), 1);
}

void sparse_archive(const char *path, const char *format, const int64_t shape[2],
                    const sparse_part part[3])
{
    const int64_t two = 2;
    cs_npz_writer *w = NULL;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add_text(w, "format", format));
    OK(cs_npz_add(w, "shape", CS_I64, 1, &two, shape));
    for (int i = 0; i < 3; ++i) {
        OK(cs_npz_add(w, part[i].name, part[i].dtype, 1, &part[i].items, part[i].data));
    }
    OK(cs_npz_commit(&w));
    deflate_archive(path);
}

cs_dense ldl_product(const cs_dense *f, const double *below, bool absolute)
{
    const int64_t n = f->rows;
    cs_dense l, d, ld, out;
    OK(cs_dense_init(&l, n, n));
    OK(cs_dense_init(&d, n, n));
    OK(cs_dense_init(&ld, n, n));
    OK(cs_dense_init(&out, n, n));
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = j + 1; i < n; ++i) {
            l.data[i + j * n] = absolute ? fabs(f->data[i + j * n]) : f->data[i + j * n];
        }
        l.data[j + j * n] = 1;
        d.data[j + j * n] = absolute ? fabs(f->data[j + j * n]) : f->data[j + j * n];
        if (j + 1 < n) {
            d.data[j + 1 + j * n] = d.data[j + (j + 1) * n] = absolute ? fabs(below[j]) : below[j];
        }
    }
    OK(cs_gemm(false, false, 1, &l, &d, 0, &ld));
    OK(cs_gemm(false, true, 1, &ld, &l, 0, &out));
    cs_dense_free(&l);
    cs_dense_free(&d);
    cs_dense_free(&ld);
    return out;
}
