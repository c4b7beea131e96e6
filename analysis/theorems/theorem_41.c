/* Theorem 4.1 (LA 4.1.1, A.2): the error of a linear probe on the top t singular features.
 *
 * This file measures: E, its variants, the tails and the numerical error for every t. The
 * statements are drawn from the measurements in theorem_41_bounds.c.
 *
 *   E(t)    mass under P_C of the X on which the P_C-weighted least-squares classifier on U_t is
 *           wrong; ties (scores within CS_41_TIE) are wrong
 *   tail    sum_{j>t} sigma_j^4 = sum sigma^4 - sum_{j<=t} sigma_j^4, so that only the top k
 *           triplets are needed
 *
 * Numerical error of a right side, at first order. A triplet with residual r has
 * ||P u - lambda u|| <= 2 r for P = Abar Abar^T, so replacing the exact subspace by the computed
 * one adds to alpha~ at most 2 ||U^T P (I - U U^T)|| <= 4 ||r||_2, and to 2 (1 + lambda) alpha~
 * four times that; loss of orthogonality ||U^T U - I||_F enters with at most 8. The tie tolerance
 * delta turns the cost 1/2 of a wrong argmax into (1 - delta)^2 / 2, i.e. scales the right side by
 * 1 + 2 delta.
 */
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_41_private.h"

static const double UNWEIGHTED_LIMIT = 2e9; /* multiply-adds of its Gram-Schmidt */
static const double LEVEL = 0.9973;         /* of the interval of an estimated sum sigma^4 */

void cs_41_curve_free(cs_41_curve *c)
{
    cs_41_labels_free(&c->labels);
    cs_41_rotations_free(&c->rotations);
    cs_pool_free(&c->pool);
    memset(c, 0, sizeof *c);
}

static cs_status arrays(cs_41_curve *c)
{
    double **array[] = {&c->error, &c->worst,       &c->documents, &c->excess,
                        &c->soft,  &c->unweighted,  &c->next,      &c->tail2,
                        &c->tail4, &c->tail4_error, &c->explained, &c->perturbation};
    for (size_t i = 0; i < sizeof array / sizeof *array; ++i) {
        *array[i] = cs_pool_take(&c->pool, c->t_max, sizeof **array[i]);
    }
    return c->pool.status;
}

/* Tails from the end where all sigma are known, else from the moments. */
static cs_status tails(const cs_spectrum *s, cs_41_curve *c)
{
    if (!c->full && isnan(s->sum_sigma4)) {
        return cs_fail(CS_ERR_USAGE,
                       "Theorem 4.1 from the top %lld triplets needs sum sigma^4, which the "
                       "spectrum lacks",
                       (long long)s->k);
    }
    cs_interval *tail = cs_alloc(s->k + 1, sizeof *tail);
    if (!tail) return CS_ERR_MEMORY;
    cs_spectrum_tails(s, LEVEL, tail);
    c->source = c->full               ? "all singular values"
                : s->sum4.samples > 0 ? "estimated sum sigma^4 less the top t"
                                      : "exact sum sigma^4 less the top t";
    for (int64_t j = 0; j < c->t_max; ++j) {
        const cs_interval *x = &tail[j + 1];
        c->tail4[j] = x->value;
        c->tail4_error[j] = fmax(x->high - x->value, x->value - x->low);
    }
    cs_free(tail);
    double after2 = 0, before2 = 0;
    for (int64_t j = s->k - 1; c->full && j >= 0; --j) {
        if (j < c->t_max) {
            c->tail2[j] = after2;
        }
        after2 += s->sigma[j] * s->sigma[j];
    }
    for (int64_t j = 0; !c->full && j < c->t_max; ++j) {
        before2 += s->sigma[j] * s->sigma[j];
        c->tail2[j] = fmax(0, s->sum_sigma2 - before2);
    }
    for (int64_t j = 0; j < c->t_max; ++j) {
        bool known = j + 1 < s->k;
        double bound = fmin(s->sigma[j], pow(c->tail4[j] + c->tail4_error[j], 0.25));
        c->next[j] = known ? s->sigma[j + 1] : c->full ? 0 : bound;
    }
    return CS_OK;
}

/* ||U^T U - I||_F. */
static cs_status orthogonality(const cs_spectrum *s, int64_t t_max, double *out)
{
    cs_dense gram = {0};
    const cs_dense u = {.rows = s->u.rows, .cols = t_max, .ld = s->u.ld, .data = s->u.data};
    cs_status status = cs_dense_init(&gram, t_max, t_max);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &u, &u, 0, &gram);
    double sum = 0;
    for (int64_t j = 0; status == CS_OK && j < t_max; ++j) {
        for (int64_t i = 0; i < t_max; ++i) {
            double x = gram.data[i + j * gram.ld] - (i == j);
            sum += x * x;
        }
    }
    *out = sqrt(sum);
    cs_dense_free(&gram);
    return status;
}

/* E, E against documents, explained, soft. */
static cs_status weighted(const cs_spectrum *s, const cs_theorem_input *o, cs_41_curve *c)
{
    cs_41_fit hard = {0}, soft = {0};
    double explained = 0, residual2 = 0;
    cs_status status =
        cs_41_fit_init(&c->labels, &c->labels.hard, c->labels.root, o->threads, &hard);
    if (status == CS_OK)
        status = cs_41_fit_init(&c->labels, &c->labels.soft, c->labels.root, o->threads, &soft);
    for (int64_t j = 0; status == CS_OK && j < c->t_max; ++j) {
        const double *u = s->u.data + j * s->u.ld;
        status = cs_41_fit_step(&hard, u);
        if (status == CS_OK && c->labels.noise > 0) status = cs_41_fit_step(&soft, u);
        for (int64_t q = 0; q < c->labels.classes; ++q) {
            explained += s->sigma[j] * s->sigma[j] * hard.coefficient[q] * hard.coefficient[q];
        }
        residual2 += s->residual[j] * s->residual[j];
        c->error[j] = c->worst[j] = hard.error;
        c->documents[j] = hard.documents;
        c->excess[j] = hard.excess;
        c->soft[j] = c->labels.noise > 0 ? soft.documents : hard.error;
        c->explained[j] = explained;
        c->perturbation[j] = 16 * sqrt(residual2) + 8 * c->defect;
        cs_progress_report(o->progress, "features added", j + 1, c->t_max);
    }
    cs_41_fit_free(&hard);
    cs_41_fit_free(&soft);
    return status;
}

/* q := the column made orthogonal to those before (twice: Kahan's "twice is enough") and scaled;
 * false when nothing is left. */
static bool orthogonalise(cs_dense *q, int64_t column)
{
    double *x = q->data + column * q->ld, before = 0, after = 0;
    for (int64_t i = 0; i < q->rows; ++i) {
        before += x[i] * x[i];
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t j = 0; j < column; ++j) {
            const double *y = q->data + j * q->ld;
            double dot = 0;
            for (int64_t i = 0; i < q->rows; ++i) {
                dot += x[i] * y[i];
            }
            for (int64_t i = 0; i < q->rows; ++i) {
                x[i] -= dot * y[i];
            }
        }
    }
    for (int64_t i = 0; i < q->rows; ++i) {
        after += x[i] * x[i];
    }
    bool left = after > 1e-24 * before;
    double scale = left ? 1 / sqrt(after) : 0;
    for (int64_t i = 0; i < q->rows; ++i) {
        x[i] *= scale;
    }
    return left;
}

/* E of the classifier that weighs every context alike. */
static cs_status unweighted(const cs_spectrum *s, const cs_theorem_input *o, cs_41_curve *c)
{
    const cs_41_labels *l = &c->labels;
    double cost = 4 * (double)l->rows * (double)c->t_max * (double)c->t_max;
    if (cost > UNWEIGHTED_LIMIT) {
        c->unweighted = NULL;
        return CS_OK;
    }
    cs_41_fit fit = {0};
    cs_pool pool = {0};
    cs_dense q = cs_dense_in(&pool, l->rows, c->t_max);
    double *ones = cs_pool_take(&pool, l->rows, sizeof *ones);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_41_fit_init(l, &l->hard, ones, o->threads, &fit);
    for (int64_t i = 0; status == CS_OK && i < l->rows; ++i) {
        ones[i] = 1;
    }
    for (int64_t j = 0; status == CS_OK && j < c->t_max; ++j) {
        double *x = q.data + j * q.ld;
        for (int64_t i = 0; i < l->rows; ++i) {
            x[i] = l->mass[i] > 0 ? s->u.data[i + j * s->u.ld] / l->root[i] : 0;
        }
        if (orthogonalise(&q, j)) {
            status = cs_41_fit_step(&fit, x);
        }
        c->unweighted[j] = fit.error;
    }
    cs_pool_free(&pool);
    cs_41_fit_free(&fit);
    return status;
}

cs_status cs_41_curve_of(const cs_labelled *m, const cs_spectrum *spectrum,
                         const cs_theorem_input *options, cs_41_curve *out)
{
    cs_41_curve c = {0};
    cs_status status = cs_41_labels_of(m, spectrum, &c.labels);
    if (status != CS_OK) goto done;
    c.t_max = spectrum->k;
    if (options->triplets > 0 && options->triplets < c.t_max) {
        c.t_max = options->triplets;
    }
    c.full = spectrum->rank >= 0 && spectrum->rank == spectrum->k;
    status = arrays(&c);
    if (status == CS_OK) status = tails(spectrum, &c);
    if (status == CS_OK) status = orthogonality(spectrum, c.t_max, &c.defect);
    if (status == CS_OK) status = weighted(spectrum, options, &c);
    if (status == CS_OK) status = unweighted(spectrum, options, &c);
    if (status == CS_OK)
        status = cs_41_rotations_of(m, &c.labels, spectrum, c.t_max, options, &c.rotations);
    for (int64_t t = 0; status == CS_OK && t < c.t_max; ++t) {
        c.worst[t] = fmax(c.error[t], c.rotations.worst[t]); /* fmax passes over NaN */
    }
done:
    if (status != CS_OK) {
        cs_41_curve_free(&c);
        return status;
    }
    *out = c;
    return CS_OK;
}

cs_status cs_theorem_41(const cs_labelled *m, const cs_spectrum *spectrum, const char *input,
                        const cs_theorem_input *options, cs_statements *out, cs_item *curve)
{
    cs_41_curve c = {0};
    cs_status status = cs_41_curve_of(m, spectrum, options, &c);
    if (status == CS_OK) cs_41_statements(&c, spectrum, input, out, curve);
    cs_41_curve_free(&c);
    return status == CS_OK ? cs_statements_status(out) : status;
}
