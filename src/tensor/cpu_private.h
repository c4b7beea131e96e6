/* Internals of the fast CPU backend (tensor/cpu.c): its state, the table of vector kernels, the
 * matrix product and the operations. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tensor/backend.h"
#include "tensor/dropout.h"
#include "tensor/run.h"

/* Rows summed into one partial of a gradient of a gain or bias. The number of partials depends on
 * shapes only, and they are added in their order. */
enum { CS_CPU_CHUNK = 64 };
static inline int64_t cs_cpu_chunks(int64_t rows)
{
    return (rows + CS_CPU_CHUNK - 1) / CS_CPU_CHUNK;
}
static inline int64_t cs_cpu_chunk_end(int64_t chunk, int64_t rows)
{
    const int64_t end = (chunk + 1) * CS_CPU_CHUNK;
    return end < rows ? end : rows;
}

/* One row of a layer norm. Any of the pointers after y (forward) or after rstd (backward) may be
 * NULL where the operand is absent. */
typedef struct {
    int64_t n;
    const float *s, *gain, *bias;
    float eps;
    bool rms; /* no mean is subtracted */
    float *y, *mean, *rstd;
} cs_cpu_norm_row;

/* gains and biases receive sums over the rows of a chunk; ds receives s' (with `held` added). */
typedef struct {
    int64_t n;
    const float *s, *gain, *dy, *held;
    float mean, rstd;
    bool rms;
    float *ds, *dgain, *dbias;
} cs_cpu_norm_back_row;

typedef struct {
    int64_t n;
    float *value, *m, *v;
    const float *grad;
    const uint8_t *decay; /* 0 or 1 */
    float c;              /* clipping factor */
    cs_adamw hyper;
} cs_cpu_adamw;

/* The random-number counter of a dropout row. */
typedef struct {
    uint64_t seed;
    uint32_t step, micro, purpose, row;
    uint32_t threshold;
    float scale; /* 1 / (1 - p) */
    bool drops;
} cs_cpu_drop;

/* C (+)= A B + bias on one thread, C m x n. */
typedef struct {
    int64_t m, n, k;
    const float *a, *b;
    /* 0: A is packed by panels of rows (cs_cpu_pack_a). Otherwise its item (i, k) is
     * a[i * lda + k] if a_along is set, else a[k * lda + i]. */
    int64_t lda;
    bool a_along;
    /* From a step of B to the next; packed: the columns of a panel. Steps are read in whole vectors
     * of half a panel. */
    int64_t ldb;
    /* From one panel of B to the next; not packed: the columns of a panel. */
    int64_t b_panel;
    float *c;
    int64_t ldc;
    bool add;
    const float *bias; /* n; NULL: none */
} cs_cpu_small;

/* Loops over contiguous floats, compiled for several vector units from one source (cpu_kernels.c).
 * Pointers need no alignment; n is arbitrary. In the comments, x[i] is item i of an argument. */
typedef struct {
    const char *name;
    int64_t rows, cols; /* of C in a tile of `product`, at most */

    /* One panel whose steps lie along rows: out[k * width + i] = x[i * ld + k], i < n, anything for
     * n <= i < width; width at most `rows`, or `cols`. May write 16 items past the end of out. */
    void (*pack_along)(int64_t n, int64_t steps, const float *x, int64_t ld, int64_t width,
                       float *out);
    /* Panels whose steps are rows: item i of step k is x[k * ld + i]. The n items are shared evenly
     * (the first n % panels have one more); a panel of w items from item i on is
     * out[i * all_steps + k * w + ...], but only steps 0 .. steps - 1 are written. */
    void (*pack_across)(int64_t n, int64_t panels, int64_t steps, int64_t all_steps, const float *x,
                        int64_t ld, float *out);
    void (*product)(const cs_cpu_small *product);

    void (*copy)(int64_t n, const float *x, float *y);           /* y = x */
    void (*add)(int64_t n, const float *x, float *y);            /* y += x */
    void (*scale)(int64_t n, float a, const float *x, float *y); /* y = a x */
    void (*axpy)(int64_t n, float a, const float *x, float *y);  /* y += a x */
    void (*multiply)(int64_t n, const float *x, float *y);       /* y *= x */
    /* Row r of y (rows of whole vectors, zeros beyond w) = a times row index[r] of x. */
    void (*gather)(int64_t n, int64_t w, const int32_t *index, float a, const float *x, int64_t ld,
                   float *y);
    /* Row index[r] of y (+)= row r of x (rows of whole vectors). */
    void (*scatter)(int64_t n, int64_t w, const int32_t *index, const float *x, float *y,
                    int64_t ld, bool add);
    /* y[i] += by_distance[at[i] - from], a distance beyond `most` as `most` to its side. */
    void (*add_by_distance)(int64_t n, const float *by_distance, int32_t most, const int32_t *at,
                            int32_t from, float *y);
    float (*dot)(int64_t n, const float *x, const float *y); /* sum x y */
    double (*squares)(int64_t n, const float *x);            /* sum x^2, in double */

    void (*activate)(cs_activation act, int64_t n, const float *z, float *y); /* y = act(z) */
    void (*slope)(cs_activation act, int64_t n, const float *z, float *dy);   /* dy *= act'(z) */

    float (*max)(int64_t n, const float *x);
    float (*exp_sum)(int64_t n, float shift, const float *x); /* sum exp(x - shift) */
    float (*exp_store)(int64_t n, float shift, float *x);     /* x = exp(x - shift); their sum */
    /* With e = exp(p - lse): dp = e (keep dp - mean), p = e keep; keep NULL: ones. */
    void (*softmax_back)(int64_t n, float lse, float mean, const float *keep, float *p, float *dp);
    void (*entropy_back)(int64_t n, float lse, float weight,
                         float *z); /* z = weight exp(z - lse) */

    void (*norm)(const cs_cpu_norm_row *row);
    void (*norm_back)(const cs_cpu_norm_back_row *row);
    void (*adamw)(const cs_cpu_adamw *part);
    /* keep[i] = scale or 0, of columns 0 .. n-1. */
    void (*drop)(const cs_cpu_drop *drop, int64_t n, float *keep);
} cs_cpu_kernels;

/* The kernels of a name ("base", "avx2", "avx512"), NULL if this machine does not support them; for
 * NULL the fastest. */
const cs_cpu_kernels *cs_cpu_kernels_named(const char *name);

typedef struct {
    cs_backend backend; /* first: a cs_backend * is a cs_cpu * */
    const cs_cpu_kernels *kernels;
    int threads;
    /* Scratch, grown in the first steps and then kept. */
    float *shared, *local, *partial, *ranked;
    int64_t shared_items, local_items, partial_items, ranked_items; /* local: of one worker */
} cs_cpu;

/* As cs_backend_cpu, with kernels by name: for tests. */
cs_status cs_cpu_open(int threads, const char *kernels, cs_backend **out) CS_MUST_CHECK;

static inline cs_cpu *cs_cpu_of(const cs_run *run)
{
    return (cs_cpu *)run->backend;
}

/* Allocates floats: shared by all workers (64-byte aligned), for each worker, and for partial sums.
 * Old contents are lost. */
cs_status cs_cpu_shared(cs_cpu *cpu, int64_t items) CS_MUST_CHECK;
cs_status cs_cpu_local(cs_cpu *cpu, int64_t items) CS_MUST_CHECK;
cs_status cs_cpu_partial(cs_cpu *cpu, int64_t items) CS_MUST_CHECK;
cs_status cs_cpu_ranked(cs_cpu *cpu, int64_t items) CS_MUST_CHECK; /* of int32_t */
static inline float *cs_cpu_local_of(const cs_cpu *cpu, int worker)
{
    return cpu->local + worker * cpu->local_items;
}

/* row(ctx, r, scratch) for every r < rows, on all threads; scratch: `items` floats of the worker. */
typedef void (*cs_cpu_row)(const void *ctx, int64_t r, float *scratch);
cs_status cs_cpu_rows(cs_cpu *cpu, int64_t rows, int64_t items, cs_cpu_row row,
                      const void *ctx) CS_MUST_CHECK;

/* out[i] += sum over parts, in their order, of part[p * ld + i]; out NULL: nothing. */
cs_status cs_cpu_reduce(cs_cpu *cpu, int64_t parts, int64_t n, int64_t ld, const float *part,
                        float *out) CS_MUST_CHECK;

/* --- matrices ----------------------------------------------------------------------------------*/

/* Rows with content of `batch` sequences of `length` rows, live[b] of them in the sequences before b;
 * those of a sequence come first in it. live NULL: all rows have content. */
typedef struct {
    const int32_t *live;
    int64_t batch, length;
} cs_cpu_filled;

typedef struct {
    float *x, *grad; /* NULL: absent, no gradient needed */
    bool add;        /* add to the existing gradient */
    int64_t batch, length, rows, cols, ld;
    const int32_t *live; /* as in cs_cpu_filled */
} cs_cpu_matrix;
cs_cpu_matrix cs_cpu_tensor(const cs_run *run, int tensor);
cs_cpu_matrix cs_cpu_operand(const cs_run *run, cs_operand operand); /* grad only if it is needed */

/* to (+)= from, n items; from NULL: zeros. */
void cs_cpu_put(const cs_cpu_kernels *kernels, int64_t n, const float *from, float *to, bool add);

/* C (+)= A B, C m x n. A's item (i, k) is a[i * lda + k] where a_along, else a[k * lda + i]; B's
 * item (k, j) is b[j * ldb + k] where b_along, else b[k * ldb + j]. Every item of C is one sum in
 * rising k, formed in blocks of k that depend on shapes only.
 * before: called once for every block of rows, before A's rows are read; after: once for every
 * part of C, when it is final and still in cache. rows: of A and C (without `before`); others are
 * neither read nor written. steps: of A^T and B where neither lies along them; others are left out
 * of the sums. One row at least has content. */
typedef struct {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    bool a_along, b_along, add;
    cs_cpu_filled rows, steps;
    const float *bias; /* added to every row when its sums are complete; NULL: none */
    void (*before)(void *ctx, int64_t row, int64_t rows);
    void (*after)(void *ctx, int64_t row, int64_t rows, int64_t col, int64_t cols);
    void *ctx;
} cs_cpu_product;
cs_status cs_cpu_multiply(cs_cpu *cpu, const cs_cpu_product *product) CS_MUST_CHECK;

/* A row of n items in whole vectors. */
static inline int64_t cs_cpu_wide(const cs_cpu_kernels *kernels, int64_t n)
{
    const int64_t vector = kernels->cols / 2;
    return (n + vector - 1) / vector * vector;
}
/* Items of the packed operand B, by panels of kernels->cols columns. */
int64_t cs_cpu_packed_b(const cs_cpu_kernels *kernels, int64_t n, int64_t k);
void cs_cpu_pack_b(const cs_cpu_kernels *kernels, int64_t n, int64_t k, const float *b, int64_t ldb,
                   bool along, float *out);

/* --- rank masks ------------------------------------------------------------------------------- */

/* One sequence with keys sorted by vis and queries by their number of visible keys: every query
 * then sees a prefix of the keys, so that a rank mask costs as much as a causal one. */
typedef struct {
    const int32_t *key;   /* places of the keys in their sequence, sorted */
    const int32_t *query; /* places of the queries, sorted */
    const int32_t *seen;  /* of sorted queries: visible keys, ascending */
} cs_cpu_ranks;

/* Sorts all sequences of an operation into cpu->ranked. */
cs_status cs_cpu_rank(const cs_run *run, int vis, int lim) CS_MUST_CHECK;
cs_cpu_ranks cs_cpu_ranks_of(const cs_run *run, int vis, int lim, int64_t sequence);

/* --- dropout ---------------------------------------------------------------------------------- */

/* Everything except the row; drops is false if nothing is dropped. */
cs_cpu_drop cs_cpu_drop_of(const cs_run *run, const cs_op *op, int64_t head, double p);

/* --- operations ------------------------------------------------------------------------------- */

#define CS_CPU_OP(KIND, name, operands)                                                            \
    cs_status cs_cpu_##name(const cs_run *run, const cs_op *op);                                   \
    cs_status cs_cpu_##name##_back(const cs_run *run, const cs_op *op);
CS_EACH_OP(CS_CPU_OP)

/* An operation by one function of (run, op, forward or backward). */
#define CS_CPU_BOTH(name, function, forth, back)                                                   \
    cs_status cs_cpu_##name(const cs_run *run, const cs_op *op)                                    \
    {                                                                                              \
        return function(run, op, forth);                                                           \
    }                                                                                              \
    cs_status cs_cpu_##name##_back(const cs_run *run, const cs_op *op)                             \
    {                                                                                              \
        return function(run, op, back);                                                            \
    }
