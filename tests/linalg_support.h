/* Shared by the tests of src/linalg. */
#pragma once

#include "io/npy.h"
#include "linalg/csr.h"
#include "linalg/dense.h"
#include "linalg/linop.h"
#include "test.h"

double max_abs_difference(const cs_dense *a, const cs_dense *b);

/* max |U^T U - I| over the columns of U. */
double orthonormality(const cs_dense *u);

/* Standard normal entries; a function of `index`. */
void fill_normal(cs_dense *a, uint64_t index);

/* About density * rows * cols standard normal entries, at least one; a function of `index`. */
cs_csr random_sparse(int64_t rows, int64_t cols, double density, uint64_t index);

cs_csr diagonal_matrix(int64_t n, const double *value);

/* A sparse archive as scipy stores it: its format, its shape, and three arrays. */
typedef struct {
    const char *name;
    cs_dtype dtype;
    int64_t items;
    const void *data;
} sparse_part;
void sparse_archive(const char *path, const char *format, const int64_t shape[2],
                    const sparse_part part[3]);

/* rows x cols with value[j] at (7 j mod rows, 11 j mod cols), j < n: 7 and 11 must not divide. */
cs_csr scattered(int64_t rows, int64_t cols, int64_t n, const double *value);

/* A sparse matrix as an operator, with what it needs alive; it stays where it is. */
typedef struct {
    cs_csr a, at;
    cs_linop_csr_ctx ctx;
    cs_linop op;
} csr_operator;

/* Takes `a` over. */
void operator_of(csr_operator *o, cs_csr a, int threads);
void operator_free(csr_operator *o);

/* Such an operator, of the matrix `a`, which is freed at the end of its block. */
#define AUTO_OPERATOR(o, a, threads)                                                               \
    CS_AUTO_BY(operator_free, csr_operator) o = {0};                                               \
    operator_of(&o, a, threads)

/* n, n - 1, ..., 1 on the diagonal. */
void falling_operator(csr_operator *o, int n);

/* L D L^T of the factors that cs_dense_ldl leaves, rows as it interchanged them: d, and the entries
 * below its diagonal, of 2 x 2 blocks. */
cs_dense ldl_product(const cs_dense *factors, const double *below, bool absolute);

/* Asserts that the matrix of a file is this row-major one; that the file is refused. */
void reads_as_matrix(const char *path, int64_t rows, int64_t cols, const double *want);
void refused_matrix(const char *path, cs_status code, const char *part);
