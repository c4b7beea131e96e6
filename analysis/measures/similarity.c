/* Similarity from one Gram matrix of [A B], both centred: its blocks are A^T A, A^T B and B^T B.
 * The unbiased HSIC takes besides the rows' norms and their products with the column sums. */
#include "analysis/measures/similarity.h"

#include <inttypes.h>
#include <math.h>

#include "analysis/measures/dimension.h"
#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/dense.h"
#include "linalg/gram.h"
#include "stats/jackknife.h"

void cs_similarity_free(cs_similarity *s)
{
    cs_free(s->angle);
    *s = (cs_similarity){0};
}

enum { CHECKED_ROWS = 4096 }; /* between two looks for an interrupt */

static cs_status check_at(int64_t row)
{
    return row % CHECKED_ROWS == 0 ? cs_interrupt_check() : CS_OK;
}

/* Both sides, centred, side by side: row i is (a, b) of row order[i]. A column whose values are all equal becomes exactly
 * zero: less its rounded mean it would be noise, which every measure here would take for variance. */
static cs_status read_sides(const cs_rows *a, const cs_rows *b, const int64_t *order, double *x)
{
    const int64_t n = a->rows, p = a->cols, d = p + b->cols;
    CS_AUTO(cs_pool) pool = {0};
    double *mean = cs_pool_take(&pool, d, sizeof *mean);
    bool *varies = cs_pool_take(&pool, d, sizeof *varies);
    cs_status status = pool.status;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        double *row = x + i * d;
        status = check_at(i);
        if (status == CS_OK) status = cs_rows_read_finite(a, order[i], 1, row);
        if (status == CS_OK) status = cs_rows_read_finite(b, order[i], 1, row + p);
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            mean[j] += row[j] / (double)n;
            varies[j] = varies[j] || row[j] != x[j];
        }
    }
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        double *row = x + i * d;
        status = check_at(i);
        for (int64_t j = 0; j < d; ++j) {
            row[j] = varies[j] ? row[j] - mean[j] : 0.0;
        }
    }
    return status;
}

/* Sum of squares of the block of `g` at (i0, j0). */
static double block_square(const cs_dense *g, int64_t i0, int64_t rows, int64_t j0, int64_t cols)
{
    double sum = 0.0;
    for (int64_t j = j0; j < j0 + cols; ++j) {
        for (int64_t i = i0; i < i0 + rows; ++i) {
            sum += g->data[i + j * g->ld] * g->data[i + j * g->ld];
        }
    }
    return sum;
}

/* Squared norm of part of a row, and its product with the column sums. */
typedef struct {
    double square, with_sum;
} row_facts;

static row_facts facts_of(const double *x, const double *sum, int64_t count)
{
    row_facts f = {0, 0};
    for (int64_t j = 0; j < count; ++j) {
        f.square += x[j] * x[j];
        f.with_sum += x[j] * sum[j];
    }
    return f;
}

/* Rows from..to-1 of all. */
typedef struct {
    int64_t from, to;
} rows_range;

/* The unbiased CKA of the n rows x but those of `without`, whose column sums are `sum`: from the three
 * unbiased estimators of (A, B), (A, A), (B, B); full[k] = tr(K L) with the diagonals. The estimators do not
 * change when columns are shifted. */
static double unbiased_cka(const double *x, int64_t n, rows_range without, int64_t p, int64_t q,
                           const double *sum, const double full[3])
{
    double diagonal[3] = {0}, whole[2] = {0}, cross[3] = {0}, out[3];
    const double m = (double)(n - (without.to - without.from));
    for (int64_t i = without.from > 0 ? 0 : without.to; i < n;
         i = i + 1 == without.from ? without.to : i + 1) {
        row_facts f[2] = {facts_of(x + i * (p + q), sum, p),
                          facts_of(x + i * (p + q) + p, sum + p, q)};
        /* Row sums of K0 and L0. */
        double r[2] = {f[0].with_sum - f[0].square, f[1].with_sum - f[1].square};
        for (int k = 0; k < 3; ++k) {
            int u = k == 2, v = k != 1;
            diagonal[k] += f[u].square * f[v].square;
            cross[k] += r[u] * r[v];
        }
        whole[0] += r[0];
        whole[1] += r[1];
    }
    for (int k = 0; k < 3; ++k) {
        int u = k == 2, v = k != 1;
        out[k] = (full[k] - diagonal[k] + whole[u] * whole[v] / ((m - 1.0) * (m - 2.0)) -
                  2.0 / (m - 2.0) * cross[k]) /
                 (m * (m - 3.0));
    }
    return m >= 4 && out[1] > 0.0 && out[2] > 0.0 ? out[0] / sqrt(out[1] * out[2]) : (double)NAN;
}

/* tr(K L) of (A, B), (A, A), (B, B), from the Gram matrix of both sides. */
static void traces(const cs_dense *g, int64_t p, int64_t q, double full[3])
{
    full[0] = block_square(g, 0, p, p, q);
    full[1] = block_square(g, 0, p, 0, p);
    full[2] = block_square(g, p, q, p, q);
}

/* The Gram matrix of all rows but those of `without`, into `rest`, and their column sums. */
static cs_status gram_without(const double *x, int64_t n, rows_range without, const cs_dense *total,
                              const cs_gram_options *options, cs_dense *rest, double *sum)
{
    const int64_t d = total->cols;
    const cs_rows rows = cs_rows_of_f64(without.to - without.from, d, x + without.from * d, NULL);
    CS_AUTO(cs_gram) g = {0};
    CS_AUTO(cs_dense) block = {0};
    int64_t counted;
    cs_status status = cs_gram_init(d, 1, options, &g);
    if (status == CS_OK) status = cs_gram_add(&g, &rows, NULL, options);
    if (status == CS_OK) status = cs_gram_total(&g, NULL, false, &block, &counted);
    for (int64_t j = 0; j < d && status == CS_OK; ++j) {
        for (int64_t i = 0; i < d; ++i) {
            rest->data[i + j * rest->ld] =
                total->data[i + j * total->ld] - block.data[i + j * block.ld];
        }
        sum[j] = 0;
    }
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        for (int64_t j = 0; j < d && (i < without.from || i >= without.to); ++j) {
            sum[j] += x[i * d + j];
        }
    }
    return status;
}

/* Whether the rows of one side, columns from..from+cols-1 of d, are all equal, those of `without`
 * excepted: then no CKA exists, and what the subtraction of the mean leaves is rounding. */
static bool equal_without(const double *x, int64_t n, rows_range without, int64_t d, int64_t from,
                          int64_t cols)
{
    const double *first = x + (without.from > 0 ? 0 : without.to) * d + from;
    for (int64_t i = 0; i < n; ++i) {
        const double *row = x + i * d + from;
        for (int64_t j = 0; j < cols && (i < without.from || i >= without.to); ++j) {
            if (row[j] != first[j]) return false;
        }
    }
    return true;
}

/* The rows of block b are start[b] .. start[b + 1] - 1. */
typedef struct {
    int64_t blocks;
    int64_t *order, *start;
} division;

/* The errors of both CKA. */
static cs_status jackknife(const double *x, int64_t n, int64_t p, int64_t q, const cs_dense *total,
                           const cs_similarity_options *options, const division *rows,
                           cs_similarity *out)
{
    const int64_t d = p + q, blocks = rows->blocks;
    const cs_gram_options gram = {.wide = true, .threads = options->threads};
    CS_AUTO(cs_pool) pool = {0};
    cs_dense rest = cs_dense_in(&pool, d, d);
    double *sum = cs_pool_take(&pool, d, sizeof *sum), full[3];
    double *left = cs_pool_take(&pool, 2 * blocks, sizeof *left);
    cs_status status = pool.status;
    for (int64_t b = 0; b < blocks && status == CS_OK; ++b) {
        const rows_range without = {rows->start[b], rows->start[b + 1]};
        const double m = (double)(n - (without.to - without.from));
        if (equal_without(x, n, without, d, 0, p) || equal_without(x, n, without, d, p, q)) {
            left[2 * b] = left[2 * b + 1] = NAN;
            continue;
        }
        status = gram_without(x, n, without, total, &gram, &rest, sum);
        if (status != CS_OK) {
            break;
        }
        traces(&rest, p, q, full);
        left[2 * b + 1] = unbiased_cka(x, n, without, p, q, sum, full);
        for (int64_t j = 0; j < d; ++j) { /* the biased one is of centred columns */
            for (int64_t i = 0; i < d; ++i) {
                rest.data[i + j * rest.ld] -= sum[i] * sum[j] / m;
            }
        }
        traces(&rest, p, q, full);
        left[2 * b] = full[0] / sqrt(full[1] * full[2]);
        cs_progress_report(options->progress, "blocks", b + 1, blocks);
    }
    if (status == CS_OK) {
        out->cka_se = cs_jackknife_error(blocks, left, 2);
        out->cka_unbiased_se = cs_jackknife_error(blocks, left + 1, 2);
    }
    return status;
}

/* |A^T B|_*. */
static cs_status nuclear_norm(const cs_dense *g, int64_t p, int64_t q, double *out)
{
    const int64_t r = p < q ? p : q;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense c = cs_dense_copy_in(&pool, &(cs_dense){p, q, g->ld, g->data + p * g->ld});
    double *sigma = cs_pool_take(&pool, r, sizeof *sigma);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_svd(&c, sigma, NULL, NULL);
    *out = 0.0;
    for (int64_t k = 0; k < r && status == CS_OK; ++k) {
        *out += sigma[k];
    }
    return status;
}

/* Columns from..from+cols-1 of the rows x (n x d), whose Gram matrix is g. */
typedef struct {
    const double *x;
    int64_t n, d, from, cols;
    const cs_dense *g;
} side;

/* Its first *k principal components: n x k scores, whose span is that of the left singular vectors;
 * their share of the squared norm; how many there are above rounding. */
static cs_status components(const side *s, cs_pool *pool, int64_t *k, cs_dense *out, double *share)
{
    const int64_t cols = s->cols;
    const cs_dense own = {cols, cols, s->g->ld, s->g->data + s->from * (s->g->ld + 1)};
    cs_dense v = cs_dense_copy_in(pool, &own);
    double *lambda = cs_pool_take(pool, cols, sizeof *lambda), total = 0.0, kept = 0.0;
    cs_status status = pool->status;
    if (status == CS_OK) status = cs_dense_eigh(&v, lambda, false);
    if (status != CS_OK) return status;
    int64_t rank = 0;
    for (int64_t j = 0; j < cols; ++j) {
        total += lambda[j];
        rank += lambda[j] > 1e-12 * lambda[cols - 1];
    }
    *k = rank < *k ? rank : *k;
    *out = cs_dense_in(pool, s->n, *k);
    for (int64_t c = 0; c < *k && out->data && status == CS_OK; ++c) {
        const double *axis = v.data + (cols - 1 - c) * v.ld;
        kept += lambda[cols - 1 - c];
        for (int64_t i = 0; i < s->n && status == CS_OK; ++i) {
            double sum = 0.0;
            status = check_at(i);
            for (int64_t j = 0; j < cols; ++j) {
                sum += s->x[i * s->d + s->from + j] * axis[j];
            }
            out->data[i + c * out->ld] = sum / sqrt(lambda[cols - 1 - c]);
        }
    }
    *share = kept / total;
    return status ? status : pool->status;
}

static cs_status fill_angles(const side *first, const side *second, int64_t wanted,
                             cs_similarity *out)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_dense a = {0}, b = {0};
    int64_t ka = wanted, kb = wanted;
    cs_status status = components(first, &pool, &ka, &a, &out->share_a);
    if (status == CS_OK) status = components(second, &pool, &kb, &b, &out->share_b);
    out->angles = ka < kb ? ka : kb;
    out->angle = cs_alloc(out->angles, sizeof *out->angle);
    if (status == CS_OK)
        status = out->angle ? cs_principal_angles(&a, &b, out->angle) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < out->angles && status == CS_OK; ++k) {
        double c = cos(out->angle[k]);
        out->mean_squared_cosine += c * c / (double)out->angles;
    }
    return status;
}

static cs_status check_rows(const cs_rows *a, const cs_rows *b,
                            const cs_similarity_options *options)
{
    if (options->angles < 1) {
        return cs_fail(CS_ERR_USAGE,
                       "the number of principal angles, %" PRId64 ", must be positive",
                       options->angles);
    }
    if (a->rows != b->rows) {
        return cs_fail(CS_ERR_INPUT,
                       "%s has %" PRId64 " rows, but %s has %" PRId64
                       "; rows must be the same inputs on both sides",
                       a->name ? a->name : "the first matrix", a->rows,
                       b->name ? b->name : "the second", b->rows);
    }
    if (a->rows < 2) {
        return cs_fail(CS_ERR_INPUT,
                       "%" PRId64 " row cannot be compared; at least 2 rows are needed", a->rows);
    }
    return CS_OK;
}

/* All measures from the Gram matrix of both sides. */
static cs_status measure(const double *x, const cs_rows *a, const cs_rows *b, const cs_gram *g,
                         const cs_dense *total, const cs_similarity_options *options,
                         const division *rows, cs_similarity *out)
{
    const int64_t n = a->rows, p = a->cols, q = b->cols;
    double own_a = 0.0, own_b = 0.0, nuclear, full[3];
    for (int64_t j = 0; j < p + q; ++j) {
        *(j < p ? &own_a : &own_b) += total->data[j + j * total->ld];
    }
    if (!(own_a > 0.0) || !(own_b > 0.0)) {
        return cs_fail(CS_ERR_INPUT, "%s: all rows are equal",
                       own_a > 0.0 ? b->name ? b->name : "the second matrix"
                       : a->name   ? a->name
                                   : "the first matrix");
    }
    traces(total, p, q, full);
    out->cka = full[0] / sqrt(full[1] * full[2]);
    out->cka_unbiased = unbiased_cka(x, n, (rows_range){n, n}, p, q, g->sum, full);
    out->cka_se = out->cka_unbiased_se = NAN;
    cs_status status = rows->blocks > 1 ? jackknife(x, n, p, q, total, options, rows, out) : CS_OK;
    if (status == CS_OK) status = nuclear_norm(total, p, q, &nuclear);
    if (status == CS_OK) status = cs_interrupt_check();
    if (status != CS_OK) return status;
    out->procrustes_similarity = fmin(nuclear / sqrt(own_a * own_b), 1.0);
    out->procrustes = 2.0 - 2.0 * out->procrustes_similarity;
    return fill_angles(&(side){x, n, p + q, 0, p, total}, &(side){x, n, p + q, p, q, total},
                       options->angles, out);
}

cs_status cs_similarity_of(const cs_rows *a, const cs_rows *b, const cs_similarity_options *options,
                           cs_similarity *out)
{
    cs_status status = check_rows(a, b, options);
    if (status != CS_OK) return status;
    const int64_t n = a->rows, d = a->cols + b->cols;
    const cs_gram_options gram = {
        .wide = true, .threads = options->threads, .progress = options->progress};
    cs_similarity s = {.rows = n};
    CS_AUTO(cs_gram) g = {0};
    CS_AUTO(cs_dense) total = {0};
    CS_AUTO(cs_pool) pool = {0};
    division rows = {.blocks = options->blocks < 1 ? 1 : options->blocks < n ? options->blocks : n};
    int64_t counted;
    rows.order = cs_pool_take(&pool, n, sizeof *rows.order);
    rows.start = cs_pool_take(&pool, rows.blocks + 1, sizeof *rows.start);
    if (rows.start) cs_row_order(options->block, n, rows.blocks, rows.order, rows.start);
    cs_threads_blas_hold(true); /* the bits of BLAS depend on its threads; Gram blocks are ours */
    CS_AUTO_FREE double *x = d > INT64_MAX / 8 / n ? NULL : cs_alloc(n * d, sizeof *x);
    cs_rows both = cs_rows_of_f64(n, d, x, a->name);
    status = x && rows.start ? read_sides(a, b, rows.order, x) : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_gram_init(d, 1, &gram, &g)) != CS_OK ||
        (status = cs_gram_add(&g, &both, NULL, &gram)) != CS_OK ||
        (status = cs_gram_total(&g, NULL, false, &total, &counted)) != CS_OK ||
        (status = measure(x, a, b, &g, &total, options, &rows, &s)) != CS_OK) {
        goto done;
    }
done:
    cs_threads_blas_hold(false);
    return CS_DELIVER(status, out, s, cs_similarity_free);
}

/* --- the record -------------------------------------------------------------------------------- */

/* Takes the definition over. */
static cs_item *add_metric(cs_item *metrics, const char *of, const char *with, const char *name,
                           char *definition, double value, int64_t n)
{
    cs_item *item = cs_item_object(metrics, NULL);
    cs_item_text(item, "of", of);
    if (with) cs_item_text(item, "with", with);
    cs_item_text(item, "name", name);
    cs_item_take(item, "definition", definition);
    cs_item_int(item, "n", n);
    cs_item_real(item, "value", value);
    return item;
}

void cs_similarity_record(const cs_similarity *s, const char *of, const char *with,
                          cs_item *metrics)
{
    const struct {
        const char *name, *definition;
        double value, se;
    } all[] = {{"cka",
                "linear CKA with the biased HSIC, |B'A|_F^2 / (|A'A|_F |B'B|_F), columns centred",
                s->cka, s->cka_se},
               {"cka_unbiased", "linear CKA with the unbiased HSIC of Song et al. (2012)",
                s->cka_unbiased, s->cka_unbiased_se},
               {"procrustes", "min_R |A/|A|_F - B/|B|_F R|_F^2 over orthogonal R, columns centred",
                s->procrustes, NAN},
               {"procrustes_similarity", "|A'B|_* / (|A|_F |B|_F), columns centred",
                s->procrustes_similarity, NAN},
               {"mean_squared_cosine",
                "of the principal angles between the spans of the first k principal components",
                s->mean_squared_cosine, NAN}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        cs_item *item = add_metric(metrics, of, with, all[i].name, cs_strdup(all[i].definition),
                                   all[i].value, s->rows);
        if (!isnan(all[i].se)) cs_item_real(item, "se", all[i].se);
    }
}

void cs_similarity_angles_record(const cs_similarity *s, cs_item *root)
{
    cs_item *angles = cs_item_object(root, "angles");
    cs_item_int(angles, "k", s->angles);
    cs_item_reals(angles, "radians", s->angles, s->angle);
    cs_item_real(angles, "share_of_first", s->share_a);
    cs_item_real(angles, "share_of_second", s->share_b);
}

void cs_shape_record(const cs_shape *shape, const cs_shape_options *options, const char *of,
                     cs_item *metrics)
{
    static const char *const name[] = {"intrinsic_dimension", "mean_cosine", "partition_isotropy"};
    char *definition[] = {
        cs_format("two-NN (Facco et al. 2017) of the distinct rows, each once as centre and as "
                  "neighbour, %g of the largest ratios discarded",
                  options->discard),
        cs_strdup("mean cosine of all pairs of rows that are not 0"),
        cs_strdup("min Z(c) / max Z(c), Z(c) = sum_i exp(<c, x_i>), c the unit eigenvectors of X'X "
                  "and their negatives, rows divided by their root mean square norm (Mu and "
                  "Viswanath 2018)")};
    for (int i = 0; i < CS_SHAPE_MEASURES; ++i) {
        cs_item *item =
            add_metric(metrics, of, NULL, name[i], definition[i], shape->value[i], shape->rows[i]);
        cs_item_real(item, "se", shape->se[i]);
        cs_item_text(item, "~partition", shape->partition);
        cs_item *list = cs_item_array(item, "~left_out");
        for (int64_t b = 0; b < shape->blocks; ++b) {
            cs_item_real(list, NULL, shape->left_out[b * CS_SHAPE_MEASURES + i]);
        }
    }
}

/* Principal angles by cosines and sines, each where it is accurate (Bjorck and Golub 1973). */
cs_status cs_principal_angles(const cs_dense *a, const cs_dense *b, double *angle)
{
    if (a->rows != b->rows || a->cols > a->rows || b->cols > b->rows) {
        return cs_fail(CS_ERR_INPUT,
                       "principal angles of %lld x %lld and %lld x %lld subspaces: the numbers of "
                       "rows must be equal and at least the numbers of columns",
                       (long long)a->rows, (long long)a->cols, (long long)b->rows,
                       (long long)b->cols);
    }
    const cs_dense *wide = a->cols >= b->cols ? a : b, *narrow = a->cols >= b->cols ? b : a;
    int64_t p = wide->cols, q = narrow->cols;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense q1 = cs_dense_copy_in(&pool, wide), q2 = cs_dense_copy_in(&pool, narrow);
    cs_dense c = cs_dense_in(&pool, p, q);
    double *cosine = cs_pool_take(&pool, q, sizeof *cosine);
    double *sine = cs_pool_take(&pool, q, sizeof *sine);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_orthonormalise(&q1);
    if (status == CS_OK) status = cs_dense_orthonormalise(&q2);
    if (status == CS_OK) status = cs_gemm(true, false, 1.0, &q1, &q2, 0.0, &c);
    cs_dense copy = cs_dense_copy_in(&pool, &c);
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) status = cs_dense_svd(&copy, cosine, NULL, NULL);
    if (status == CS_OK) status = cs_gemm(false, false, -1.0, &q1, &c, 1.0, &q2);
    if (status == CS_OK) status = cs_dense_svd(&q2, sine, NULL, NULL);
    /* Cosines descend, sines descend: the largest cosine belongs to the smallest sine. */
    for (int64_t i = 0; i < q && status == CS_OK; ++i) {
        double s = fmin(sine[q - 1 - i], 1.0), x = fmin(cosine[i], 1.0);
        angle[i] = s * s < 0.5 ? asin(s) : acos(x);
    }
    return status;
}
