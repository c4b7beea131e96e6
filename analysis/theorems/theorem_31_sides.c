/* Theorem 3.1: the two sides for one pair (f, W), formed apart.
 *
 * The loss comes from expectations (nonzeros of A for the first, t x t moments of f and W for the
 * second), the norm entry by entry, so that they share no intermediate result. Above ENTRY_LIMIT
 * entries a trial, the entries without a nonzero of A are summed as F_X^T (W'^T W') F_X minus those
 * on nonzeros.
 *
 * Numerical error: standard model, u = 2^-53. A sum of n products is off by at most (n + 2) u times
 * the sum of their magnitudes, n counting the longest chain of additions. Magnitudes by
 * Cauchy-Schwarz: sum |A f.W| <= ||Abar|| ||F|| ||W'||, sum (F.W')^2 <= ||F||^2 ||W'||^2. The
 * identities hold for any positive P_C and P_G, so rounding in the marginals does not enter.
 *
 * Eq. 7 of the appendix: the symmetric spectral loss against P_T.
 *
 *   P_T(X, X') = sum_{X+} P_G(X+) P(X|X+) P(X'|X+),   P~_T = P_T / sqrt(P_C P_C')
 *   L(f) = -b E_{P_T} f(X).f(X') + E_{X, X'} (f(X).f(X'))^2,   claimed ||P~_T - F F^T||^2 + const
 *
 * Printed: b = 1 and F = f / sqrt(P_C). Both are slips; each is also tested alone. Corrected: b = 2
 * and F = sqrt(P_C) f, the constant being -||P~_T||^2. Everything is formed entry by entry, so only
 * for matrices of at most ROW_LIMIT rows (P_T is rows x rows). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_31.h"
#include "base/auto.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/moments.h"

enum { BLOCK = 64, STRETCH = 256, LANES = 8 };
static const double ENTRY_LIMIT = 536870912.0; /* entries of F W'^T formed one by one, a trial */

typedef struct {
    const cs_31_problem *problem;
    const cs_dense *f, *w; /* F and W': already scaled */
    const cs_dense *gram;  /* W'^T W', where entries are not formed one by one; else NULL */
    double *partial;       /* blocks x 3: nonzeros' part of both norms, the rest */
} norm_work;

void cs_31_normal(uint64_t seed, uint64_t index, cs_dense *out)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_AUDIT, index);
    for (int64_t j = 0; j < out->cols; ++j) {
        for (int64_t i = 0; i < out->rows; ++i) {
            out->data[i + j * out->ld] = cs_rng_normal(&rng);
        }
    }
}

void cs_31_problem_free(cs_31_problem *p)
{
    cs_csr_free(&p->a);
    cs_csr_free(&p->abar);
    cs_pool_free(&p->pool);
    memset(p, 0, sizeof *p);
}

/* Row numbers and the column map of the nonzero part of A. */
static cs_status drop_empty(const cs_csr *a, cs_csr *out)
{
    CS_AUTO(cs_pool) pool = {0};
    double *row_sum = cs_pool_take(&pool, a->rows, sizeof *row_sum);
    double *col_sum = cs_pool_take(&pool, a->cols, sizeof *col_sum);
    int64_t *row = cs_pool_take(&pool, a->rows, sizeof *row);
    int32_t *map = cs_pool_take(&pool, a->cols, sizeof *map);
    if (pool.status != CS_OK) return pool.status;
    cs_csr_sums(a, row_sum, col_sum);
    int64_t rows = 0;
    int32_t cols = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (row_sum[i] > 0) {
            row[rows++] = i;
        }
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        map[j] = col_sum[j] > 0 ? cols++ : -1;
    }
    return rows > 0 ? cs_csr_select(a, rows, row, map, cols, out)
                    : cs_fail(CS_ERR_INPUT, "the matrix has no mass (%lld x %lld)",
                              (long long)a->rows, (long long)a->cols);
}

cs_status cs_31_problem_of(const cs_csr *a, cs_31_problem *out)
{
    cs_31_problem p = {0};
    cs_status status = cs_csr_check(a, true);
    if (status == CS_OK) status = drop_empty(a, &p.a);
    if (status != CS_OK) goto done;
    p.root_row = cs_pool_take(&p.pool, p.a.rows, sizeof *p.root_row);
    p.root_col = cs_pool_take(&p.pool, p.a.cols, sizeof *p.root_col);
    status = p.pool.status;
    if (status == CS_OK) status = cs_normalise(&p.a, &p.abar, p.root_row, p.root_col);
    if (status != CS_OK) goto done;
    (void)cs_to_one(cs_csr_nnz(&p.a), p.a.val);
    for (int64_t i = 0; i < p.a.rows; ++i) {
        p.root_row[i] = sqrt(p.root_row[i]);
        int64_t length = p.a.ptr[i + 1] - p.a.ptr[i];
        p.longest_row = length > p.longest_row ? length : p.longest_row;
    }
    for (int64_t j = 0; j < p.a.cols; ++j) {
        p.root_col[j] = sqrt(p.root_col[j]);
    }
    p.abar2 = cs_moment2(&p.abar);
done:
    return CS_DELIVER(status, out, p, cs_31_problem_free);
}

static double dot_rows(const cs_dense *x, int64_t i, const cs_dense *y, int64_t j)
{
    double sum = 0;
    for (int64_t q = 0; q < x->cols; ++q) {
        sum += x->data[i + q * x->ld] * y->data[j + q * y->ld];
    }
    return sum;
}

/* sum_i weight_i x_i x_i^T, weight_i = root_i^2. */
static void second_moment(const cs_dense *x, const double *root, double *out)
{
    for (int64_t p = 0; p < x->cols; ++p) {
        for (int64_t q = 0; q < x->cols; ++q) {
            double sum = 0;
            for (int64_t i = 0; i < x->rows; ++i) {
                sum += root[i] * root[i] * x->data[i + p * x->ld] * x->data[i + q * x->ld];
            }
            out[p * x->cols + q] = sum;
        }
    }
}

/* The two expectations, from A, f and W alone. */
static cs_status loss_of(const cs_31_problem *p, const cs_dense *f, const cs_dense *w,
                         double *first, double *second)
{
    int64_t t = f->cols;
    CS_AUTO_FREE double *moment = cs_alloc(2 * t * t, sizeof *moment);
    if (!moment) return CS_ERR_MEMORY;
    *first = 0;
    for (int64_t i = 0; i < p->a.rows; ++i) {
        double sum = 0;
        for (int64_t e = p->a.ptr[i]; e < p->a.ptr[i + 1]; ++e) {
            sum += p->a.val[e] * dot_rows(f, i, w, p->a.col[e]);
        }
        *first += sum;
    }
    second_moment(f, p->root_row, moment);
    second_moment(w, p->root_col, moment + t * t);
    *second = cs_inner(t * t, moment, moment + t * t);
    return CS_OK;
}

/* Entries j0 .. j0 + count - 1 of a row of F W'^T: stretches of constant length are what a compiler
 * turns into vector code. */
static void row_stretch(const cs_dense *f, const cs_dense *w, int64_t row, int64_t j0,
                        int64_t count, double p[STRETCH])
{
    memset(p, 0, STRETCH * sizeof *p);
    for (int64_t q = 0; q < w->cols; ++q) {
        const double scale = f->data[row + q * f->ld], *column = w->data + j0 + q * w->ld;
        if (count == STRETCH) {
            for (int j = 0; j < STRETCH; ++j) {
                p[j] += scale * column[j];
            }
        } else {
            cs_add_multiple(count, scale, column, p);
        }
    }
}

/* Squares of one row of F W'^T without the nonzero columns of A, from all its entries. */
static double rest_by_entry(const norm_work *work, int64_t row)
{
    const cs_csr *abar = &work->problem->abar;
    double p[STRETCH], sum[LANES] = {0};
    int64_t e = abar->ptr[row];
    for (int64_t j0 = 0; j0 < abar->cols; j0 += STRETCH) {
        int64_t count = abar->cols - j0 < STRETCH ? abar->cols - j0 : STRETCH;
        row_stretch(work->f, work->w, row, j0, count, p);
        for (; e < abar->ptr[row + 1] && abar->col[e] < j0 + count; ++e) {
            p[abar->col[e] - j0] = 0;
        }
        for (int j = 0; j < STRETCH; j += LANES) {
            for (int k = 0; k < LANES; ++k) {
                sum[k] += p[j + k] * p[j + k];
            }
        }
    }
    return cs_total(LANES, sum);
}

static double rest_by_gram(const norm_work *work, int64_t row)
{
    const cs_csr *abar = &work->problem->abar;
    const cs_dense *f = work->f;
    double sum = 0;
    for (int64_t q = 0; q < f->cols; ++q) {
        for (int64_t r = 0; r < f->cols; ++r) {
            sum += f->data[row + q * f->ld] * f->data[row + r * f->ld] *
                   work->gram->data[q + r * work->gram->ld];
        }
    }
    for (int64_t e = abar->ptr[row]; e < abar->ptr[row + 1]; ++e) {
        double p = dot_rows(f, row, work->w, abar->col[e]);
        sum -= p * p;
    }
    return sum;
}

static cs_status norm_block(void *ctx, int64_t item)
{
    const norm_work *work = ctx;
    const cs_csr *abar = &work->problem->abar;
    int64_t last = (item + 1) * BLOCK < abar->rows ? (item + 1) * BLOCK : abar->rows;
    double whole = 0, half = 0, rest = 0;
    for (int64_t i = item * BLOCK; i < last; ++i) {
        for (int64_t e = abar->ptr[i]; e < abar->ptr[i + 1]; ++e) {
            double p = dot_rows(work->f, i, work->w, abar->col[e]);
            whole += (abar->val[e] - p) * (abar->val[e] - p);
            half += (abar->val[e] / 2 - p) * (abar->val[e] / 2 - p);
        }
        rest += work->gram ? rest_by_gram(work, i) : rest_by_entry(work, i);
    }
    work->partial[3 * item] = whole;
    work->partial[3 * item + 1] = half;
    work->partial[3 * item + 2] = rest;
    return CS_OK;
}

bool cs_31_entry_by_entry(const cs_31_problem *p)
{
    return (double)p->a.rows * (double)p->a.cols <= ENTRY_LIMIT;
}

/* Both norms; f and w are F and W'. */
static cs_status norm_of(const cs_31_problem *p, const cs_dense *f, const cs_dense *w, int threads,
                         cs_31_evaluation *out)
{
    int64_t blocks = (p->a.rows + BLOCK - 1) / BLOCK;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense gram = cs_dense_in(&pool, w->cols, w->cols);
    norm_work work = {.problem = p, .f = f, .w = w};
    work.partial = cs_pool_take(&pool, 3 * blocks, sizeof *work.partial);
    cs_status status = pool.status;
    if (status == CS_OK && !cs_31_entry_by_entry(p)) {
        work.gram = &gram;
        status = cs_gemm(true, false, 1, w, w, 0, &gram);
    }
    if (status == CS_OK) status = cs_parallel(blocks, threads, norm_block, &work);
    out->norm = out->norm_half = 0;
    for (int64_t b = 0; b < blocks && status == CS_OK; ++b) {
        out->norm += work.partial[3 * b] + work.partial[3 * b + 2];
        out->norm_half += work.partial[3 * b + 1] + work.partial[3 * b + 2];
    }
    return status;
}

cs_dense cs_31_scaled(cs_pool *pool, const cs_dense *x, const double *root)
{
    cs_dense out = cs_dense_in(pool, x->rows, x->cols);
    for (int64_t j = 0; out.data && j < x->cols; ++j) {
        for (int64_t i = 0; i < x->rows; ++i) {
            out.data[i + j * out.ld] = root[i] * x->data[i + j * x->ld];
        }
    }
    return out;
}

cs_status cs_31_evaluate(const cs_31_problem *p, const cs_dense *f, const cs_dense *w, int threads,
                         cs_31_evaluation *out)
{
    CS_AUTO(cs_pool) pool = {0};
    const cs_dense big_f = cs_31_scaled(&pool, f, p->root_row);
    const cs_dense big_w = cs_31_scaled(&pool, w, p->root_col);
    cs_status status = pool.status;
    if (status == CS_OK) status = loss_of(p, f, w, &out->first, &out->second);
    if (status == CS_OK) status = norm_of(p, &big_f, &big_w, threads, out);
    if (status == CS_OK) {
        const double u = DBL_EPSILON / 2;
        double f2 = cs_dense_squares(&big_f), w2 = cs_dense_squares(&big_w), t = (double)f->cols;
        double rows = (double)p->a.rows, cols = (double)p->a.cols;
        double product = f2 * w2;
        out->loss_error =
            u * ((double)p->longest_row + rows + t + 8) * 2 * sqrt(p->abar2 * product) +
            u * (rows + cols + t * t + 8) * product;
        out->norm_error =
            u * (cols + BLOCK + rows / BLOCK + 2 * t * t + 16) * 2 * (p->abar2 + 2 * product);
    }
    return status;
}

enum { ROW_LIMIT = 1024, DEFAULT_FEATURES = 4 };

typedef struct {
    const char *id, *text;
    double factor;
    bool divide;
} variant;

/* P_T from A = joint probabilities. */
static cs_status transition(const cs_31_problem *p, cs_dense *pt)
{
    CS_AUTO(cs_dense) b = {0};
    cs_status status = cs_csr_to_dense(&p->a, &b);
    for (int64_t j = 0; status == CS_OK && j < b.cols; ++j) {
        for (int64_t i = 0; i < b.rows; ++i) {
            b.data[i + j * b.ld] /= p->root_col[j];
        }
    }
    return status == CS_OK ? cs_gemm(false, true, 1, &b, &b, 0, pt) : status;
}

/* lhs = the loss, rhs = ||P~_T - F F^T||^2, their error bound; *norm2 = ||P~_T||^2. */
static cs_31_sides sides_of(const cs_31_problem *p, const cs_dense *pt, const cs_dense *f,
                            double factor, bool divide, double *norm2)
{
    double first = 0, second = 0, norm = 0, features2 = 0, loss2 = 0;
    *norm2 = 0;
    for (int64_t i = 0; i < pt->rows; ++i) {
        for (int64_t j = 0; j < pt->rows; ++j) {
            double product = 0, ri = p->root_row[i], rj = p->root_row[j];
            for (int64_t q = 0; q < f->cols; ++q) {
                product += f->data[i + q * f->ld] * f->data[j + q * f->ld];
            }
            double entry = pt->data[i + j * pt->ld] / (ri * rj);
            double factors = divide ? product / (ri * rj) : product * (ri * rj);
            first += pt->data[i + j * pt->ld] * product;
            second += ri * ri * rj * rj * product * product;
            norm += (entry - factors) * (entry - factors);
            *norm2 += entry * entry;
        }
        double square = 0;
        for (int64_t q = 0; q < f->cols; ++q) {
            square += f->data[i + q * f->ld] * f->data[i + q * f->ld];
        }
        double root = p->root_row[i];
        features2 += divide ? square / (root * root) : square * root * root;
        loss2 += square * root * root;
    }
    /* One chain of rows^2 additions of terms whose magnitudes Cauchy-Schwarz bounds. */
    double chain = (double)pt->rows * (double)pt->rows + (double)p->a.cols + (double)f->cols + 16;
    double size =
        factor * sqrt(*norm2) * loss2 + loss2 * loss2 + 2 * (*norm2 + features2 * features2);
    return (cs_31_sides){
        .lhs = -factor * first + second, .rhs = norm, .error = DBL_EPSILON * chain * size};
}

static void one_constant(const cs_31_problem *p, const cs_dense *pt, const cs_dense f[2],
                         const variant *v, const char *input, cs_statements *out)
{
    double norm2 = 0;
    cs_31_sides a = sides_of(p, pt, &f[0], v->factor, v->divide, &norm2);
    cs_31_sides b = sides_of(p, pt, &f[1], v->factor, v->divide, &norm2);
    cs_statement *s =
        cs_statements_claim(out, &(cs_claim){v->id, CS_PRINTED, CS_RELATION_EQUAL, v->text, input,
                                             a.lhs - a.rhs, b.lhs - b.rhs, a.error + b.error});
    cs_statement_counterexample(s, "two standard normal f give the constants %.12g and %.12g",
                                a.lhs - a.rhs, b.lhs - b.rhs);
}

cs_status cs_31_symmetric(const cs_31_problem *p, const char *input,
                          const cs_theorem_input *options, cs_statements *out, bool *done)
{
    static const variant printed[] = {
        {"3.1-eq7",
         "Eq. 7 as printed: -E_PT[f.f'] + E[(f.f'-)^2] = ||P~_T - F F^T||^2 + const with F = f / "
         "sqrt(P_C) (lhs and rhs: the constants of two f)",
         1, true},
        {"3.1-eq7-factor",
         "Eq. 7 with F = sqrt(P_C) f but the printed factor: -E_PT[f.f'] + E[(f.f'-)^2] = ||P~_T - "
         "F F^T||^2 + const",
         1, false},
        {"3.1-eq7-divide",
         "Eq. 7 with the factor 2 but the printed F = f / sqrt(P_C): -2 E_PT[f.f'] + E[(f.f'-)^2] "
         "= ||P~_T - F F^T||^2 + const",
         2, true},
    };
    *done = p->a.rows <= ROW_LIMIT;
    if (!*done) {
        return CS_OK;
    }
    int64_t features = options->features > 0 ? options->features : DEFAULT_FEATURES;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense pt = cs_dense_in(&pool, p->a.rows, p->a.rows);
    cs_dense f[] = {cs_dense_in(&pool, p->a.rows, features),
                    cs_dense_in(&pool, p->a.rows, features)};
    cs_status status = pool.status;
    if (status == CS_OK) status = transition(p, &pt);
    for (int i = 0; status == CS_OK && i < 2; ++i) {
        cs_31_normal(options->seed, 2 * (uint64_t)i, &f[i]);
    }
    for (size_t i = 0; status == CS_OK && i < sizeof printed / sizeof *printed; ++i) {
        one_constant(p, &pt, f, &printed[i], input, out);
    }
    if (status == CS_OK) {
        double norm2 = 0;
        const cs_31_sides x = sides_of(p, &pt, &f[0], 2, false, &norm2);
        cs_statement *s = cs_statements_claim(
            out,
            &(cs_claim){"3.1-eq7", CS_CORRECTED, CS_RELATION_EQUAL,
                        "-2 E_PT[f.f'] + E[(f.f'-)^2] = ||P~_T - F F^T||^2 - ||P~_T||^2 with F "
                        "= sqrt(P_C) f",
                        input, x.lhs, x.rhs - norm2, x.error});
        cs_statement_real(s, "norm2_pt", norm2);
        cs_statement_counterexample(s, "a standard normal f of seed %llu",
                                    (unsigned long long)options->seed);
    }
    return status;
}
