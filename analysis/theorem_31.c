/* Theorem 3.1 (LA Eq. 1, A.1): the spectral loss is a matrix factorisation.
 *
 *   L_b(f, W) = -b E_{(X,X+)} f(X).W_{X+} + E_{X, X-} (f(X).W_{X-})^2
 *   F[X] = sqrt(P_C(X)) f(X),  W'[X+] = sqrt(P_G(X+)) W_{X+}
 *
 *   printed     L_1 = ||Abar - F W'^T||^2 + const             false: a factor 2 is dropped
 *   corrected   L_2 = ||Abar - F W'^T||^2 - ||Abar||^2        every f, W
 *               L_1 = ||Abar/2 - F W'^T||^2 - ||Abar||^2 / 4
 *               min L_2 = -(sigma_1^2 + ... + sigma_t^2)      Eckart-Young
 *
 * Method: the loss is formed from expectations (nonzeros of A for the first, t x t moments of f and
 * W for the second), the norm entry by entry, so that the two sides share no intermediate result.
 * Above ENTRY_LIMIT entries a trial the entries without a nonzero of A are summed as F_X^T (W'^T
 * W') F_X minus those on nonzeros, and the statement says so.
 *
 * Numerical error: standard model, u = 2^-53. A sum of n products is off by at most (n + 2) u times
 * the sum of their magnitudes, n counting the longest chain of additions. Magnitudes by
 * Cauchy-Schwarz: sum |A f.W| <= ||Abar|| ||F|| ||W'||, sum (F.W')^2 <= ||F||^2 ||W'||^2. The
 * identities hold for any positive P_C and P_G, so rounding in the marginals does not enter.
 */
#include "analysis/theorem_31.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "cooc/moments.h"
#include "io/json.h"

enum { BLOCK = 64, DEFAULT_FEATURES = 4, DEFAULT_TRIALS = 5 };
static const double ENTRY_LIMIT = 4294967296.0; /* entries of F W'^T formed one by one, a trial */

/* What one pair (f, W) gives. */
typedef struct {
    double first, second;          /* the two expectations of the loss */
    double norm, norm_half;        /* ||Abar - F W'^T||^2, ||Abar / 2 - F W'^T||^2 */
    double loss_error, norm_error; /* loss_error is for b = 2 */
} evaluation;

typedef struct {
    const cs_31_problem *problem;
    const cs_dense *f, *w; /* F and W': already scaled */
    const cs_dense *gram;  /* W'^T W', where entries are not formed one by one; else NULL */
    double *partial;       /* blocks x 3: nonzeros' part of both norms, the rest */
    double *scratch;       /* threads x cols */
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

static void problem_free(cs_31_problem *p)
{
    cs_csr_free(&p->a);
    cs_csr_free(&p->abar);
    cs_free(p->root_row);
    cs_free(p->root_col);
    memset(p, 0, sizeof *p);
}

/* Row numbers and the column map of the nonzero part of A. */
static cs_status drop_empty(const cs_csr *a, cs_csr *out)
{
    double *row_sum = cs_alloc(a->rows, sizeof *row_sum);
    double *col_sum = cs_alloc(a->cols, sizeof *col_sum);
    int64_t *row = cs_alloc(a->rows, sizeof *row);
    int32_t *map = cs_alloc(a->cols, sizeof *map);
    cs_status status = CS_ERR_MEMORY;
    if (!row_sum || !col_sum || !row || !map) {
        goto done;
    }
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
    status = rows > 0 ? cs_csr_select(a, rows, row, map, cols, out)
                      : cs_fail(CS_ERR_INPUT, "the matrix has no mass (%lld x %lld)",
                                (long long)a->rows, (long long)a->cols);
done:
    cs_free(row_sum);
    cs_free(col_sum);
    cs_free(row);
    cs_free(map);
    return status;
}

static cs_status problem_of(const cs_csr *a, cs_31_problem *out)
{
    cs_31_problem p = {0};
    cs_status status = cs_csr_check(a, true);
    if (status == CS_OK) {
        status = drop_empty(a, &p.a);
    }
    if (status != CS_OK) {
        goto done;
    }
    p.root_row = cs_alloc(p.a.rows, sizeof *p.root_row);
    p.root_col = cs_alloc(p.a.cols, sizeof *p.root_col);
    status = p.root_row && p.root_col ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_normalise(&p.a, &p.abar, p.root_row, p.root_col);
    }
    if (status != CS_OK) {
        goto done;
    }
    double mass = 0;
    for (int64_t e = 0; e < cs_csr_nnz(&p.a); ++e) {
        mass += p.a.val[e];
    }
    for (int64_t e = 0; e < cs_csr_nnz(&p.a); ++e) {
        p.a.val[e] /= mass;
    }
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
    if (status != CS_OK) {
        problem_free(&p);
        return status;
    }
    *out = p;
    return CS_OK;
}

static double frobenius2(const cs_dense *x)
{
    double sum = 0;
    for (int64_t j = 0; j < x->cols; ++j) {
        for (int64_t i = 0; i < x->rows; ++i) {
            sum += x->data[i + j * x->ld] * x->data[i + j * x->ld];
        }
    }
    return sum;
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
    double *moment = cs_alloc(2 * t * t, sizeof *moment);
    if (!moment) {
        return CS_ERR_MEMORY;
    }
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
    *second = 0;
    for (int64_t q = 0; q < t * t; ++q) {
        *second += moment[q] * moment[t * t + q];
    }
    cs_free(moment);
    return CS_OK;
}

/* Squares of one row of F W'^T without the nonzero columns of A, from all its entries. */
static double rest_by_entry(const norm_work *work, int64_t row, double *p)
{
    const cs_csr *abar = &work->problem->abar;
    const cs_dense *f = work->f, *w = work->w;
    memset(p, 0, (size_t)abar->cols * sizeof *p);
    for (int64_t q = 0; q < w->cols; ++q) {
        const double scale = f->data[row + q * f->ld], *column = w->data + q * w->ld;
        for (int64_t j = 0; j < abar->cols; ++j) {
            p[j] += scale * column[j];
        }
    }
    for (int64_t e = abar->ptr[row]; e < abar->ptr[row + 1]; ++e) {
        p[abar->col[e]] = 0;
    }
    double sum = 0;
    for (int64_t j = 0; j < abar->cols; ++j) {
        sum += p[j] * p[j];
    }
    return sum;
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

static cs_status norm_block(void *ctx, int64_t item, int worker)
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
        rest += work->gram ? rest_by_gram(work, i)
                           : rest_by_entry(work, i, work->scratch + worker * abar->cols);
    }
    work->partial[3 * item] = whole;
    work->partial[3 * item + 1] = half;
    work->partial[3 * item + 2] = rest;
    return CS_OK;
}

static bool entry_by_entry(const cs_31_problem *p)
{
    return (double)p->a.rows * (double)p->a.cols <= ENTRY_LIMIT;
}

/* Both norms; f and w are F and W'. */
static cs_status norm_of(const cs_31_problem *p, const cs_dense *f, const cs_dense *w, int threads,
                         evaluation *out)
{
    int64_t blocks = (p->a.rows + BLOCK - 1) / BLOCK;
    int workers = threads > 0 ? threads : cs_threads();
    cs_dense gram = {0};
    norm_work work = {.problem = p, .f = f, .w = w};
    cs_status status = CS_OK;
    work.partial = cs_alloc(3 * blocks, sizeof *work.partial);
    work.scratch = cs_alloc(entry_by_entry(p) ? workers * p->a.cols : 0, sizeof *work.scratch);
    if (!work.partial || !work.scratch) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    if (!entry_by_entry(p)) {
        work.gram = &gram;
        status = cs_dense_init(&gram, w->cols, w->cols);
        if (status == CS_OK) {
            status = cs_gemm(true, false, 1, w, w, 0, &gram);
        }
    }
    if (status == CS_OK) {
        status = cs_parallel(blocks, workers, norm_block, &work);
    }
    if (status != CS_OK) {
        goto done;
    }
    out->norm = out->norm_half = 0;
    for (int64_t b = 0; b < blocks; ++b) {
        out->norm += work.partial[3 * b] + work.partial[3 * b + 2];
        out->norm_half += work.partial[3 * b + 1] + work.partial[3 * b + 2];
    }
done:
    cs_free(work.partial);
    cs_free(work.scratch);
    cs_dense_free(&gram);
    return status;
}

/* F = diag(root) f. */
static cs_status scaled(const cs_dense *x, const double *root, cs_dense *out)
{
    cs_status status = cs_dense_init(out, x->rows, x->cols);
    for (int64_t j = 0; status == CS_OK && j < x->cols; ++j) {
        for (int64_t i = 0; i < x->rows; ++i) {
            out->data[i + j * out->ld] = root[i] * x->data[i + j * x->ld];
        }
    }
    return status;
}

static cs_status evaluate(const cs_31_problem *p, const cs_dense *f, const cs_dense *w, int threads,
                          evaluation *out)
{
    cs_dense big_f = {0}, big_w = {0};
    cs_status status = loss_of(p, f, w, &out->first, &out->second);
    if (status == CS_OK) {
        status = scaled(f, p->root_row, &big_f);
    }
    if (status == CS_OK) {
        status = scaled(w, p->root_col, &big_w);
    }
    if (status == CS_OK) {
        status = norm_of(p, &big_f, &big_w, threads, out);
    }
    if (status == CS_OK) {
        const double u = DBL_EPSILON / 2;
        double f2 = frobenius2(&big_f), w2 = frobenius2(&big_w), t = (double)f->cols;
        double rows = (double)p->a.rows, cols = (double)p->a.cols;
        double product = f2 * w2;
        out->loss_error =
            u * ((double)p->longest_row + rows + t + 8) * 2 * sqrt(p->abar2 * product) +
            u * (rows + cols + t * t + 8) * product;
        out->norm_error =
            u * (cols + BLOCK + rows / BLOCK + 2 * t * t + 16) * 2 * (p->abar2 + 2 * product);
    }
    cs_dense_free(&big_f);
    cs_dense_free(&big_w);
    return status;
}

static double loss(const evaluation *e, double factor)
{
    return -factor * e->first + e->second;
}

/* The printed equality asks for one constant: the pair of trials whose constants differ most. */
static cs_status printed(const cs_31_problem *p, int64_t trials, const evaluation *e,
                         const char *input, uint64_t seed, cs_statements *out)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 1; i < trials; ++i) {
        double c = loss(&e[i], 1) - e[i].norm;
        low = c < loss(&e[low], 1) - e[low].norm ? i : low;
        high = c > loss(&e[high], 1) - e[high].norm ? i : high;
    }
    cs_statement *s = cs_statements_add(
        out, "3.1", CS_PRINTED, CS_RELATION_EQUAL,
        "L_SL(f, W) = -E[f.W+] + E[(f.W-)^2] = ||Abar - F W'^T||^2 + const: the same constant for "
        "all f, W (lhs and rhs: the constants of two pairs)",
        input);
    if (!s) {
        return CS_ERR_MEMORY;
    }
    cs_statement_judge(s, loss(&e[high], 1) - e[high].norm, loss(&e[low], 1) - e[low].norm,
                       e[high].loss_error + e[high].norm_error + e[low].loss_error +
                           e[low].norm_error);
    cs_status status =
        cs_statement_assume(s, "A is non-negative with positive sum", true, p->abar2);
    if (status == CS_OK) {
        status = cs_statement_detail(s, "trials", json_integer(trials));
    }
    if (status == CS_OK) {
        status = cs_statement_detail(
            s, "norm", json_string(entry_by_entry(p) ? "entry by entry" : "nonzeros + Gram"));
    }
    if (status == CS_OK && s->verdict == CS_FAIL) {
        status = cs_statement_counterexample(
            s,
            "f, W of trial %lld: L - ||.||^2 = %.12g; of trial %lld: %.12g (standard normal, "
            "seed %llu); the difference is E[f.W+] of the one minus that of the other, %.12g",
            (long long)high, s->lhs, (long long)low, s->rhs, (unsigned long long)seed,
            e[high].first - e[low].first);
    }
    return status;
}

/* L_2 = ||Abar - F W'^T||^2 - ||Abar||^2, or (half) L_1 = ||Abar/2 - F W'^T||^2 - ||Abar||^2 / 4,
 * at the trial with the least room. */
static cs_status corrected(const cs_31_problem *p, int64_t trials, const evaluation *e, bool half,
                           const char *input, cs_statements *out)
{
    cs_31_sides worst = {0};
    int64_t at = 0;
    for (int64_t i = 0; i < trials; ++i) {
        double constant = half ? p->abar2 / 4 : p->abar2;
        cs_31_sides now = {.lhs = loss(&e[i], half ? 1 : 2),
                           .rhs = (half ? e[i].norm_half : e[i].norm) - constant,
                           .error = e[i].loss_error + e[i].norm_error + 8 * DBL_EPSILON * constant};
        if (i == 0 ||
            fabs(now.lhs - now.rhs) - now.error > fabs(worst.lhs - worst.rhs) - worst.error) {
            worst = now;
            at = i;
        }
    }
    cs_statement *s = cs_statements_add(
        out, half ? "3.1-half" : "3.1", CS_CORRECTED, CS_RELATION_EQUAL,
        half ? "-E[f.W+] + E[(f.W-)^2] = ||Abar/2 - F W'^T||^2 - ||Abar||^2 / 4 for all f, W"
             : "-2 E[f.W+] + E[(f.W-)^2] = ||Abar - F W'^T||^2 - ||Abar||^2 for all f, W",
        input);
    if (!s) {
        return CS_ERR_MEMORY;
    }
    cs_statement_judge(s, worst.lhs, worst.rhs, worst.error);
    cs_status status = cs_statement_detail(s, "trials", json_integer(trials));
    if (status == CS_OK) {
        status = cs_statement_detail(s, "worst_trial", json_integer(at));
    }
    if (status == CS_OK) {
        status = cs_statement_detail(s, "norm2_abar", cs_json_number(p->abar2));
    }
    if (status == CS_OK && s->verdict == CS_FAIL) {
        status = cs_statement_counterexample(s, "trial %lld: %.17g against %.17g", (long long)at,
                                             worst.lhs, worst.rhs);
    }
    return status;
}

/* f* = U / sqrt(P_C), W* = V diag(sigma) / sqrt(P_G), plus `noise` times standard normals. */
static cs_status optimal_pair(const cs_31_problem *p, const cs_spectrum *spectrum, double noise,
                              uint64_t seed, uint64_t index, cs_dense *f, cs_dense *w)
{
    cs_status status = cs_dense_init(f, p->a.rows, spectrum->k);
    if (status == CS_OK) {
        status = cs_dense_init(w, p->a.cols, spectrum->k);
    }
    if (status != CS_OK) {
        return status;
    }
    cs_31_normal(seed, 2 * index, f);
    cs_31_normal(seed, 2 * index + 1, w);
    for (int64_t j = 0; j < spectrum->k; ++j) {
        for (int64_t i = 0; i < f->rows; ++i) {
            double *x = &f->data[i + j * f->ld];
            *x = noise * *x + spectrum->u.data[i + j * spectrum->u.ld] / p->root_row[i];
        }
        for (int64_t i = 0; i < w->rows; ++i) {
            double *x = &w->data[i + j * w->ld];
            *x = noise * *x +
                 spectrum->sigma[j] * spectrum->v.data[i + j * spectrum->v.ld] / p->root_col[i];
        }
    }
    return CS_OK;
}

/* Eckart-Young: the SVD attains min L_2, and nothing goes below. */
static cs_status optimum(const cs_31_problem *p, int64_t features, int64_t trials,
                         const evaluation *random, const char *input,
                         const cs_theorem_31_options *o, cs_statements *out)
{
    static const double noise[] = {0, 1e-2, 1e-1};
    enum { NOISES = sizeof noise / sizeof *noise };
    cs_spectrum spectrum = {0};
    cs_dense f = {0}, w = {0};
    evaluation e[NOISES];
    int64_t side = p->a.rows < p->a.cols ? p->a.rows : p->a.cols;
    cs_spectrum_options so = {
        .k = features < side ? features : side, .seed = o->seed, .threads = o->threads};
    cs_status status = cs_spectrum_of(&p->a, &so, &spectrum);
    for (int i = 0; status == CS_OK && i < NOISES; ++i) {
        status = optimal_pair(p, &spectrum, noise[i], o->seed, (uint64_t)(trials + i), &f, &w);
        if (status == CS_OK) {
            status = evaluate(p, &f, &w, o->threads, &e[i]);
        }
        cs_dense_free(&f);
        cs_dense_free(&w);
    }
    if (status != CS_OK) {
        goto done;
    }
    /* A triplet with residual r moves sigma^2 by at most 2 sigma r + r^2 and L_2 by as much. */
    double minimum = 0, shift = 0;
    for (int64_t j = 0; j < spectrum.k; ++j) {
        minimum -= spectrum.sigma[j] * spectrum.sigma[j];
        shift += 4 * spectrum.residual[j] * (spectrum.sigma[j] + spectrum.residual[j]);
    }
    cs_statement *s = cs_statements_add(
        out, "3.1-optimum", CS_CORRECTED, CS_RELATION_EQUAL,
        "L_2(f*, W*) = -(sigma_1^2 + ... + sigma_t^2) for f* = U_t / sqrt(P_C), W* = V_t Sigma_t / "
        "sqrt(P_G)",
        input);
    if (!s) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    cs_statement_judge(s, loss(&e[0], 2), minimum, e[0].loss_error + shift);
    status = cs_statement_detail(s, "t", json_integer(spectrum.k));
    if (status == CS_OK && s->verdict == CS_FAIL) {
        status = cs_statement_counterexample(s, "the SVD's own factors give %.17g", s->lhs);
    }
    double least = INFINITY, error = 0; /* the optimum is one of the pairs: the claim is tight */
    for (int64_t i = 0; i < NOISES; ++i) {
        least = fmin(least, loss(&e[i], 2));
        error = fmax(error, e[i].loss_error);
    }
    for (int64_t i = 0; i < trials; ++i) {
        least = fmin(least, loss(&random[i], 2));
        error = fmax(error, random[i].loss_error);
        if (random[i].second > 0) { /* the best multiple of f */
            least = fmin(least, -random[i].first * random[i].first / random[i].second);
        }
    }
    if (status == CS_OK) {
        s = cs_statements_add(out, "3.1-minimum", CS_CORRECTED, CS_RELATION_EQUAL,
                              "min L_2(f, W) = -(sigma_1^2 + ... + sigma_t^2) over f, W with t "
                              "columns (lhs: the least of random pairs, their best multiples, "
                              "(f*, W*) and its perturbations)",
                              input);
        status = s ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        cs_statement_judge(s, least, minimum, error + shift);
        status = s->verdict == CS_FAIL
                     ? cs_statement_counterexample(s, "a pair with L_2 = %.17g", least)
                     : cs_statement_detail(s, "pairs", json_integer(2 * trials + NOISES));
    }
done:
    cs_spectrum_free(&spectrum);
    return status;
}

static cs_status random_pairs(const cs_31_problem *p, int64_t features, int64_t trials,
                              const cs_theorem_31_options *o, evaluation *e)
{
    cs_dense f = {0}, w = {0};
    cs_status status = cs_dense_init(&f, p->a.rows, features);
    if (status == CS_OK) {
        status = cs_dense_init(&w, p->a.cols, features);
    }
    for (int64_t i = 0; status == CS_OK && i < trials; ++i) {
        cs_31_normal(o->seed, 2 * (uint64_t)i, &f);
        cs_31_normal(o->seed, 2 * (uint64_t)i + 1, &w);
        status = evaluate(p, &f, &w, o->threads, &e[i]);
    }
    cs_dense_free(&f);
    cs_dense_free(&w);
    return status;
}

cs_status cs_theorem_31(const cs_csr *a, const char *input, const cs_theorem_31_options *options,
                        cs_statements *out)
{
    int64_t features = options->features > 0 ? options->features : DEFAULT_FEATURES;
    /* One pair has one constant: the printed claim needs two to be tested. */
    int64_t trials = options->trials > 0 ? options->trials : DEFAULT_TRIALS;
    trials = trials < 2 ? 2 : trials;
    cs_31_problem p = {0};
    evaluation *e = NULL;
    bool symmetric = false;
    cs_status status = problem_of(a, &p);
    if (status != CS_OK) {
        return status;
    }
    e = cs_alloc(trials, sizeof *e);
    status = e ? random_pairs(&p, features, trials, options, e) : CS_ERR_MEMORY;
    int64_t first = out->count;
    if (status == CS_OK) {
        status = printed(&p, trials, e, input, options->seed, out);
    }
    if (status == CS_OK) {
        status = corrected(&p, trials, e, false, input, out);
    }
    if (status == CS_OK) {
        status = corrected(&p, trials, e, true, input, out);
    }
    if (status == CS_OK) {
        status = optimum(&p, features, trials, e, input, options, out);
    }
    if (status == CS_OK) {
        status = cs_31_symmetric(&p, input, options, out, &symmetric);
    }
    if (status == CS_OK && !symmetric) {
        status = cs_statement_detail(&out->item[first], "eq7",
                                     json_string("not evaluated: P_T has too many entries"));
    }
    cs_free(e);
    problem_free(&p);
    return status;
}
