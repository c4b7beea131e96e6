/* Similarity from A^T A, B^T B and A^T B of centred columns. What depends on one side alone, also without each block,
 * is computed once for all its pairs; a pair takes A^T B and its parts by blocks, and singular values. The unbiased
 * HSIC also takes the norms of the rows and their products with the column sums. */
#include "analysis/measures/similarity.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>

#include "analysis/measures/dimension.h"
#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "base/ints.h"
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

/* Rows from..to-1 of all. */
typedef struct {
    int64_t from, to;
} rows_range;

/* Of the rows of a side outside a range: its part of both CKA. */
typedef struct {
    double *sum;     /* p: of columns */
    double *row_sum; /* n: of K0; 0 within the range */
    double whole;    /* sum of row_sum */
    double raw;      /* tr(K K) with the diagonal */
    double centred;  /* the same of columns centred without the range; 0: the rows are all equal */
} part;

struct cs_similarity_side {
    cs_pool pool;
    const char *name;
    int64_t n, p, blocks;
    int64_t *start; /* blocks + 1: the rows of block b are start[b] .. start[b + 1] - 1 */
    double *x;      /* n x p, columns centred, rows in the order of the blocks */
    double *square; /* n: of the norm of each row */
    cs_dense gram;
    double own;         /* its trace */
    part *left, all;    /* without each block; without none */
    int64_t components; /* the first principal ones, at most options.angles */
    cs_dense score;     /* n x components, of the span of the left singular vectors */
    double share;       /* of the squared norm in them */
};

static rows_range block_of(const cs_similarity_side *s, int64_t b)
{
    return (rows_range){s->start[b], s->start[b + 1]};
}

/* The rows in the order of the blocks, centred. A column whose values are all equal becomes exactly zero: less its
 * rounded mean it would be noise, which every measure here would take for variance. */
static cs_status read_side(const cs_rows *a, const int64_t *order, cs_similarity_side *s)
{
    const int64_t n = s->n, p = s->p;
    CS_AUTO(cs_pool) pool = {0};
    double *mean = cs_pool_take(&pool, p, sizeof *mean);
    bool *varies = cs_pool_take(&pool, p, sizeof *varies);
    cs_status status = pool.status;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        double *row = s->x + i * p;
        status = check_at(i);
        if (status == CS_OK) status = cs_rows_read_finite(a, order[i], 1, row);
        for (int64_t j = 0; j < p && status == CS_OK; ++j) {
            mean[j] += row[j] / (double)n;
            varies[j] = varies[j] || row[j] != s->x[j];
        }
    }
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        double *row = s->x + i * p;
        status = check_at(i);
        for (int64_t j = 0; j < p; ++j) {
            row[j] = varies[j] ? row[j] - mean[j] : 0.0;
            s->square[i] += row[j] * row[j];
        }
    }
    return status;
}

static cs_status gram_of(const cs_similarity_side *s, rows_range r, int threads,
                         const cs_progress *progress, cs_dense *out)
{
    const cs_gram_options options = {.wide = true, .threads = threads, .progress = progress};
    const cs_rows rows = cs_rows_of_f64(r.to - r.from, s->p, s->x + r.from * s->p, s->name);
    CS_AUTO(cs_gram) g = {0};
    int64_t counted;
    cs_status status = cs_gram_init(s->p, 1, &options, &g);
    if (status == CS_OK) status = cs_gram_add(&g, &rows, NULL, &options);
    return status == CS_OK ? cs_gram_total(&g, NULL, false, out, &counted) : status;
}

/* Whether the rows are all equal, those of `without` excepted: then no CKA exists, and what the subtraction of the
 * mean leaves is rounding. */
static bool equal_without(const cs_similarity_side *s, rows_range without)
{
    const double *first = s->x + (without.from > 0 ? 0 : without.to) * s->p;
    for (int64_t i = 0; i < s->n; ++i) {
        const double *row = s->x + i * s->p;
        for (int64_t j = 0; j < s->p && (i < without.from || i >= without.to); ++j) {
            if (row[j] != first[j]) return false;
        }
    }
    return true;
}

/* All of `out` but its memory; gram: of the rows outside the range. */
static void fill_part(const cs_similarity_side *s, rows_range without, const cs_dense *gram,
                      part *out)
{
    const double m = (double)(s->n - (without.to - without.from));
    for (int64_t i = 0; i < s->n; ++i) {
        for (int64_t j = 0; j < s->p && (i < without.from || i >= without.to); ++j) {
            out->sum[j] += s->x[i * s->p + j];
        }
    }
    for (int64_t i = 0; i < s->n; ++i) {
        double with_sum = 0.0;
        if (i >= without.from && i < without.to) continue;
        for (int64_t j = 0; j < s->p; ++j) {
            with_sum += s->x[i * s->p + j] * out->sum[j];
        }
        out->row_sum[i] = with_sum - s->square[i];
        out->whole += out->row_sum[i];
    }
    const bool equal = equal_without(s, without);
    for (int64_t j = 0; j < s->p; ++j) {
        for (int64_t i = 0; i < s->p; ++i) {
            const double g = gram->data[i + j * gram->ld], c = g - out->sum[i] * out->sum[j] / m;
            out->raw += g * g;
            out->centred += equal ? 0.0 : c * c;
        }
    }
}

static cs_status take_part(cs_similarity_side *s, part *out)
{
    out->sum = cs_pool_take(&s->pool, s->p, sizeof *out->sum);
    out->row_sum = cs_pool_take(&s->pool, s->n, sizeof *out->row_sum);
    return s->pool.status;
}

/* The rows without each block. */
static cs_status leave_blocks_out(cs_similarity_side *s, const cs_similarity_options *options)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_dense rest = cs_dense_in(&pool, s->p, s->p);
    cs_status status = pool.status;
    s->left = cs_pool_take(&s->pool, s->blocks, sizeof *s->left);
    if (status == CS_OK) status = s->pool.status;
    for (int64_t b = 0; b < s->blocks && status == CS_OK; ++b) {
        CS_AUTO(cs_dense) block = {0};
        status = take_part(s, &s->left[b]);
        if (status == CS_OK) status = gram_of(s, block_of(s, b), options->threads, NULL, &block);
        for (int64_t j = 0; j < s->p && status == CS_OK; ++j) {
            for (int64_t i = 0; i < s->p; ++i) {
                rest.data[i + j * rest.ld] =
                    s->gram.data[i + j * s->gram.ld] - block.data[i + j * block.ld];
            }
        }
        if (status == CS_OK) fill_part(s, block_of(s, b), &rest, &s->left[b]);
        cs_progress_report(options->progress, "blocks", b + 1, s->blocks);
    }
    return status;
}

/* The first principal components above rounding: scores whose span is that of the left singular vectors. */
static cs_status take_components(cs_similarity_side *s, int64_t wanted)
{
    const int64_t p = s->p, n = s->n;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense v = cs_dense_copy_in(&pool, &s->gram);
    double *lambda = cs_pool_take(&pool, p, sizeof *lambda), total = 0.0, kept = 0.0;
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_eigh(&v, lambda, false);
    if (status != CS_OK) return status;
    int64_t rank = 0;
    for (int64_t j = 0; j < p; ++j) {
        total += lambda[j];
        rank += lambda[j] > 1e-12 * lambda[p - 1];
    }
    s->components = rank < wanted ? rank : wanted;
    s->score = cs_dense_in(&s->pool, n, s->components);
    for (int64_t c = 0; c < s->components && s->score.data && status == CS_OK; ++c) {
        const double *axis = v.data + (p - 1 - c) * v.ld;
        kept += lambda[p - 1 - c];
        for (int64_t i = 0; i < n && status == CS_OK; ++i) {
            double sum = 0.0;
            status = check_at(i);
            for (int64_t j = 0; j < p; ++j) {
                sum += s->x[i * p + j] * axis[j];
            }
            s->score.data[i + c * s->score.ld] = sum / sqrt(lambda[p - 1 - c]);
        }
    }
    s->share = kept / total;
    return status ? status : s->pool.status;
}

static cs_status measure_side(const cs_rows *a, const cs_similarity_options *options,
                              const int64_t *order, cs_similarity_side *s)
{
    const rows_range none = {s->n, s->n};
    cs_status status = read_side(a, order, s);
    if (status == CS_OK)
        status = gram_of(s, (rows_range){0, s->n}, options->threads, options->progress, &s->gram);
    for (int64_t j = 0; j < s->p && status == CS_OK; ++j) {
        s->own += s->gram.data[j + j * s->gram.ld];
    }
    if (status == CS_OK && !(s->own > 0.0))
        status = cs_fail(CS_ERR_INPUT, "%s: all rows are equal", s->name);
    if (status == CS_OK) status = take_part(s, &s->all);
    if (status == CS_OK) fill_part(s, none, &s->gram, &s->all);
    if (status == CS_OK && s->blocks > 1) status = leave_blocks_out(s, options);
    if (status == CS_OK) status = cs_interrupt_check();
    return status == CS_OK ? take_components(s, options->angles) : status;
}

cs_status cs_similarity_side_of(const cs_rows *a, const cs_similarity_options *options,
                                cs_similarity_side **out)
{
    if (options->angles < 1) {
        return cs_fail(CS_ERR_USAGE,
                       "the number of principal angles, %" PRId64 ", must be positive",
                       options->angles);
    }
    if (a->rows < 2) {
        return cs_fail(CS_ERR_INPUT,
                       "%" PRId64 " row cannot be compared; at least 2 rows are needed", a->rows);
    }
    const int64_t n = a->rows;
    CS_AUTO_FREE int64_t *order = cs_alloc(n, sizeof *order);
    cs_similarity_side *s = cs_calloc(1, sizeof *s);
    if (!order || !s) {
        cs_free(s);
        return CS_ERR_MEMORY;
    }
    s->name = a->name ? a->name : "a matrix";
    s->n = n;
    s->p = a->cols;
    s->blocks = options->blocks < 1 ? 1 : cs_least(options->blocks, n);
    s->start = cs_pool_take(&s->pool, s->blocks + 1, sizeof *s->start);
    s->x = s->p > INT64_MAX / 8 / n ? NULL : cs_pool_take(&s->pool, n * s->p, sizeof *s->x);
    s->square = cs_pool_take(&s->pool, n, sizeof *s->square);
    cs_status status = s->start && s->x && s->square ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) cs_row_order(options->block, n, s->blocks, order, s->start);
    cs_threads_blas_hold(true); /* the bits of BLAS depend on its threads; Gram blocks are ours */
    if (status == CS_OK) status = measure_side(a, options, order, s);
    cs_threads_blas_hold(false);
    if (status != CS_OK) {
        cs_similarity_side_free(&s);
        return status;
    }
    *out = s;
    return CS_OK;
}

void cs_similarity_side_free(cs_similarity_side **held)
{
    cs_similarity_side *s = *held;
    if (!s) return;
    cs_dense_free(&s->gram);
    cs_pool_free(&s->pool);
    cs_free(s);
    *held = NULL;
}

/* --- two sides ---------------------------------------------------------------------------------- */

enum { SLICE = 64 }; /* columns of B of an item */

typedef struct {
    const cs_similarity_side *a, *b;
    rows_range rows;
    cs_dense *out;
} cross_job;

static cs_status cross_slice(void *ctx, int64_t item)
{
    const cross_job *t = ctx;
    const int64_t p = t->a->p, q = t->b->p, j = item * SLICE;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)p, (int)cs_least(SLICE, q - j),
                (int)(t->rows.to - t->rows.from), 1.0, t->a->x + t->rows.from * p, (int)p,
                t->b->x + t->rows.from * q + j, (int)q, 0.0, t->out->data + j * t->out->ld,
                (int)t->out->ld);
    return CS_OK;
}

/* A^T B of some rows. */
static cs_status cross_of(const cs_similarity_side *a, const cs_similarity_side *b, rows_range rows,
                          int threads, cs_dense *out)
{
    int narrow;
    cross_job t = {a, b, rows, out};
    cs_status status = cs_blas_int(a->n, "rows", &narrow);
    return status == CS_OK ? cs_parallel(cs_ceiling(b->p, SLICE), threads, cross_slice, &t)
                           : status;
}

/* The unbiased CKA of the rows of u and v, parts of a and b; full = tr(K L) with the diagonals. The estimators do not
 * change when columns are shifted. */
static double unbiased_cka(const cs_similarity_side *const side[2], const part *const of[2],
                           rows_range without, double full)
{
    double out[3];
    const double m = (double)(side[0]->n - (without.to - without.from)),
                 trace[3] = {full, of[0]->raw, of[1]->raw};
    for (int k = 0; k < 3; ++k) { /* of (A, B), (A, A), (B, B) */
        const int u = k == 2, v = k != 1;
        double diagonal = 0.0, cross = 0.0;
        for (int64_t i = 0; i < side[0]->n; ++i) {
            if (i >= without.from && i < without.to) continue;
            diagonal += side[u]->square[i] * side[v]->square[i];
            cross += of[u]->row_sum[i] * of[v]->row_sum[i];
        }
        out[k] = (trace[k] - diagonal + of[u]->whole * of[v]->whole / ((m - 1.0) * (m - 2.0)) -
                  2.0 / (m - 2.0) * cross) /
                 (m * (m - 3.0));
    }
    return m >= 4 && out[1] > 0.0 && out[2] > 0.0 ? out[0] / sqrt(out[1] * out[2]) : (double)NAN;
}

/* The errors of both CKA; work: p x q. */
static cs_status jackknife(const cs_similarity_side *const side[2], const cs_dense *total,
                           const cs_similarity_options *options, cs_dense *work, cs_similarity *out)
{
    const cs_similarity_side *a = side[0], *b = side[1];
    CS_AUTO_FREE double *left = cs_alloc(2 * a->blocks, sizeof *left);
    cs_status status = left ? CS_OK : CS_ERR_MEMORY;
    for (int64_t k = 0; k < a->blocks && status == CS_OK; ++k) {
        const rows_range without = block_of(a, k);
        const part *const of[2] = {&a->left[k], &b->left[k]};
        const double m = (double)(a->n - (without.to - without.from));
        double raw = 0.0, centred = 0.0;
        status = cross_of(a, b, without, options->threads, work);
        for (int64_t j = 0; j < b->p && status == CS_OK; ++j) {
            for (int64_t i = 0; i < a->p; ++i) {
                const double g = total->data[i + j * total->ld] - work->data[i + j * work->ld],
                             c = g - of[0]->sum[i] * of[1]->sum[j] / m;
                raw += g * g;
                centred += c * c;
            }
        }
        if (status != CS_OK) break;
        const bool none = !(of[0]->centred > 0.0) || !(of[1]->centred > 0.0);
        left[2 * k] = none ? NAN : centred / sqrt(of[0]->centred * of[1]->centred);
        left[2 * k + 1] = none ? NAN : unbiased_cka(side, of, without, raw);
    }
    if (status == CS_OK) {
        out->cka_se = cs_jackknife_error(a->blocks, left, 2);
        out->cka_unbiased_se = cs_jackknife_error(a->blocks, left + 1, 2);
    }
    return status;
}

static cs_status fill_angles(const cs_similarity_side *a, const cs_similarity_side *b,
                             cs_similarity *out)
{
    out->share_a = a->share;
    out->share_b = b->share;
    out->angles = cs_least(a->components, b->components);
    out->angle = cs_alloc(out->angles, sizeof *out->angle);
    cs_status status =
        out->angle ? cs_principal_angles(&a->score, &b->score, out->angle) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < out->angles && status == CS_OK; ++k) {
        double c = cos(out->angle[k]);
        out->mean_squared_cosine += c * c / (double)out->angles;
    }
    return status;
}

/* All measures from A^T B and what the sides have; it is destroyed. */
static cs_status measure(const cs_similarity_side *const side[2],
                         const cs_similarity_options *options, cs_dense *cross, cs_dense *work,
                         cs_similarity *out)
{
    const cs_similarity_side *a = side[0], *b = side[1];
    const part *const all[2] = {&a->all, &b->all};
    const rows_range none = {a->n, a->n};
    const int64_t r = cs_least(a->p, b->p);
    double full = 0.0, nuclear = 0.0;
    CS_AUTO_FREE double *sigma = cs_alloc(r, sizeof *sigma);
    cs_status status =
        sigma ? cross_of(a, b, (rows_range){0, a->n}, options->threads, cross) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < b->p; ++j) {
        for (int64_t i = 0; i < a->p; ++i) {
            full += cross->data[i + j * cross->ld] * cross->data[i + j * cross->ld];
        }
    }
    out->cka = full / sqrt(a->all.raw * b->all.raw);
    out->cka_unbiased = unbiased_cka(side, all, none, full);
    out->cka_se = out->cka_unbiased_se = NAN;
    if (a->blocks > 1) status = jackknife(side, cross, options, work, out);
    if (status == CS_OK) status = cs_interrupt_check();
    if (status == CS_OK) status = cs_dense_svd(cross, sigma, NULL, NULL);
    for (int64_t k = 0; k < r && status == CS_OK; ++k) {
        nuclear += sigma[k];
    }
    out->procrustes_similarity = fmin(nuclear / sqrt(a->own * b->own), 1.0);
    out->procrustes = 2.0 - 2.0 * out->procrustes_similarity;
    return status == CS_OK ? fill_angles(a, b, out) : status;
}

cs_status cs_similarity_between(const cs_similarity_side *a, const cs_similarity_side *b,
                                const cs_similarity_options *options, cs_similarity *out)
{
    if (a->n != b->n) {
        return cs_fail(CS_ERR_INPUT,
                       "%s has %" PRId64 " rows, but %s has %" PRId64
                       "; rows must be the same inputs on both sides",
                       a->name, a->n, b->name, b->n);
    }
    const cs_similarity_side *const side[2] = {a, b};
    CS_AUTO(cs_pool) pool = {0};
    cs_similarity s = {.rows = a->n};
    cs_dense cross = cs_dense_in(&pool, a->p, b->p), work = {0};
    if (a->blocks > 1) work = cs_dense_in(&pool, a->p, b->p);
    cs_threads_blas_hold(true);
    cs_status status =
        pool.status == CS_OK ? measure(side, options, &cross, &work, &s) : pool.status;
    cs_threads_blas_hold(false);
    return CS_DELIVER(status, out, s, cs_similarity_free);
}

cs_status cs_similarity_of(const cs_rows *a, const cs_rows *b, const cs_similarity_options *options,
                           cs_similarity *out)
{
    CS_AUTO(cs_similarity_side) *first = NULL, *second = NULL;
    cs_status status = cs_similarity_side_of(a, options, &first);
    if (status == CS_OK) status = cs_similarity_side_of(b, options, &second);
    return status == CS_OK ? cs_similarity_between(first, second, options, out) : status;
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
