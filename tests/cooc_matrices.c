/* Generators of test matrices; see the header. */
#include "cooc_matrices.h"

#include <math.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/rng.h"

typedef struct {
    int64_t n, capacity;
    int64_t *row, *col;
    double *val;
} triplets;

static void *need(void *p)
{
    if (!p) {
        abort();
    }
    return p;
}

static void push(triplets *t, int64_t row, int64_t col, double val)
{
    if (t->n == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 1024;
        size_t capacity = (size_t)t->capacity;
        t->row = need(realloc(t->row, capacity * sizeof *t->row));
        t->col = need(realloc(t->col, capacity * sizeof *t->col));
        t->val = need(realloc(t->val, capacity * sizeof *t->val));
    }
    t->row[t->n] = row;
    t->col[t->n] = col;
    t->val[t->n++] = val;
}

/* The matrix with rows and columns renumbered at random (seed 0: as they are); frees t. */
static cs_csr finish(triplets *t, int64_t rows, int64_t cols, uint64_t seed)
{
    CS_AUTO_FREE int32_t *p = need(malloc((size_t)(rows + 1) * sizeof *p));
    CS_AUTO_FREE int32_t *q = need(malloc((size_t)(cols + 1) * sizeof *q));
    for (int64_t i = 0; i < rows; ++i) {
        p[i] = (int32_t)i;
    }
    for (int64_t j = 0; j < cols; ++j) {
        q[j] = (int32_t)j;
    }
    if (seed) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 1);
        cs_rng_shuffle(&rng, rows, p);
        cs_rng_shuffle(&rng, cols, q);
    }
    for (int64_t e = 0; e < t->n; ++e) {
        t->row[e] = p[t->row[e]];
        t->col[e] = q[t->col[e]];
    }
    cs_csr a = {0};
    if (cs_csr_from_triplets(rows, cols, t->n, t->row, t->col, t->val, &a) != CS_OK) {
        abort();
    }
    free(t->row);
    free(t->col);
    free(t->val);
    *t = (triplets){0};
    return a;
}

cs_csr matrix_of(int64_t rows, int64_t cols, const double *values)
{
    triplets t = {0};
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
            push(&t, i, j, values[i * cols + j]);
        }
    }
    return finish(&t, rows, cols, 0);
}

cs_csr csr_of(const cs_dense *a)
{
    triplets t = {0};
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t j = 0; j < a->cols; ++j) {
            if (a->data[i + j * a->ld] != 0) {
                push(&t, i, j, a->data[i + j * a->ld]);
            }
        }
    }
    return finish(&t, a->rows, a->cols, 0);
}

/* Zipf with exponent 2 (by inversion of its tail 1/x), cut at 100. */
static double heavy_count(cs_rng *rng)
{
    double x = floor(1 / (1 - cs_rng_uniform(rng)));
    return x < 100 ? x : 100;
}

cs_csr multiplicity_matrix(bool rank1, int64_t blocks, uint64_t seed)
{
    triplets t = {0};
    int64_t rows = 0, cols = 0;
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    for (int64_t b = 0; b < blocks; ++b) {
        int64_t m = rank1 ? 60 : 40 + cs_rng_below(&rng, 120);
        int64_t n = rank1 ? 24 : 16 + cs_rng_below(&rng, 48);
        for (int64_t e = 0; e < (rank1 ? m * n : 8 * m); ++e) {
            if (rank1) {
                push(&t, rows + e / n, cols + e % n, 1);
            } else {
                int64_t i = cs_rng_below(&rng, m), j = cs_rng_below(&rng, n);
                push(&t, rows + i, cols + j, heavy_count(&rng));
            }
        }
        for (int64_t i = 0; !rank1 && i < m; ++i) {
            push(&t, rows + i, cols, heavy_count(&rng));
        }
        for (int64_t j = 0; !rank1 && j < n; ++j) {
            push(&t, rows, cols + j, heavy_count(&rng));
        }
        rows += m;
        cols += n;
    }
    return finish(&t, rows, cols, seed + 1);
}

cs_csr untidy_matrix(int64_t components, int64_t rows, int64_t cols, uint64_t seed)
{
    triplets t = {0};
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    /* The last eighth of either side stays empty; within a component, row i with i % 3 == 2 is
     * three times row i - 1, and column j with j % 4 == 3 is twice column j - 1. */
    int64_t used_rows = rows - rows / 8, used_cols = cols - cols / 8;
    for (int64_t c = 0; c < components; ++c) {
        int64_t r0 = used_rows * c / components, r1 = used_rows * (c + 1) / components;
        int64_t c0 = used_cols * c / components, c1 = used_cols * (c + 1) / components;
        for (int64_t i = r0; i < r1; i += 3) {
            for (int64_t k = 0; k < 2 && i + k < r1; ++k) { /* two fresh rows, the second doubled */
                for (int64_t j = c0; j < c1; ++j) {
                    bool twin = (j - c0) % 4 == 3;
                    if (twin || (cs_rng_uniform(&rng) > 0.2 && j > c0)) {
                        continue;
                    }
                    double x = 1 + (double)cs_rng_below(&rng, 9);
                    bool double_row = k == 1 && i + 2 < r1,
                         double_col = j + 1 < c1 && (j - c0) % 4 == 2;
                    push(&t, i + k, j, x);
                    if (double_col) {
                        push(&t, i + k, j + 1, 2 * x);
                    }
                    if (double_row) {
                        push(&t, i + 2, j, 3 * x);
                        if (double_col) {
                            push(&t, i + 2, j + 1, 6 * x);
                        }
                    }
                }
            }
        }
    }
    return finish(&t, rows, cols, seed + 1);
}
