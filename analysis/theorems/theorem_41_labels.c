/* Labels of Theorem 4.1: y(X), pi(X), alpha and alpha~.
 *
 * With C[X+, c] = sum_X A(X, X+) pi_c(X) and P_G(X+) = sum_c C[X+, c],
 *   alpha  = sum_{X+} (P_G - max_c C),   alpha~ = sum_{X+} sum_c C (P_G - C) / P_G,
 * which are sums of non-negative terms: exactly 0 when every target token has one class.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_41_private.h"
#include "base/auto.h"
#include "base/vector_ops.h"

void cs_41_labels_free(cs_41_labels *labels)
{
    cs_pool_free(&labels->pool);
    cs_csr_free(&labels->hard);
    cs_csr_free(&labels->soft);
    memset(labels, 0, sizeof *labels);
}

static cs_status check_labels(const cs_labelled *m, const cs_spectrum *spectrum)
{
    if (m->labels <= 0 || m->row_label.rows == 0 || cs_csr_nnz(&m->row_label) == 0) {
        return cs_fail(CS_ERR_INPUT,
                       "Theorem 4.1 needs row labels, but the matrix (%lld x %lld) has none",
                       (long long)m->a.rows, (long long)m->a.cols);
    }
    if (m->row_label.rows != m->a.rows) {
        return cs_fail(CS_ERR_USAGE, "%lld row labels, but %lld rows", (long long)m->row_label.rows,
                       (long long)m->a.rows);
    }
    if (spectrum->input.rows != m->a.rows || spectrum->input.cols != m->a.cols) {
        return cs_fail(CS_ERR_USAGE,
                       "the spectrum belongs to a %lld x %lld matrix, but the labels belong to a "
                       "%lld x %lld matrix",
                       (long long)spectrum->input.rows, (long long)spectrum->input.cols,
                       (long long)m->a.rows, (long long)m->a.cols);
    }
    if (!spectrum->input.row_mass || spectrum->k < 1 || spectrum->u.cols < spectrum->k) {
        return cs_fail(
            CS_ERR_USAGE,
            "Theorem 4.1 needs P_C and left singular vectors, but the spectrum was computed %s",
            spectrum->input.row_mass ? "without vectors" : "from an already normalised matrix");
    }
    return cs_csr_check(&m->row_label, true);
}

/* label, mass, root, hard and soft. */
static cs_status assign(const cs_labelled *m, const cs_spectrum *spectrum, cs_41_labels *l)
{
    const cs_csr *y = &m->row_label;
    CS_POOL_FIELDS(&l->pool, l->rows, l, label, mass, root);
    if (l->pool.status != CS_OK) return l->pool.status;
    cs_majority(y, l->label);
    l->classes = m->labels;
    int64_t with_mass = 0;
    for (int64_t i = 0; i < l->rows; ++i) {
        l->mass[i] = spectrum->input.row_mass[i];
        l->root[i] = sqrt(l->mass[i]);
        with_mass += l->mass[i] > 0;
        if (l->mass[i] > 0 && l->label[i] < 0) {
            l->unlabelled += l->mass[i];
        } else if (!(l->mass[i] > 0)) {
            l->label[i] = -1;
        }
    }
    int32_t extra = (int32_t)m->labels;
    l->classes += l->unlabelled > 0;
    cs_status status = cs_csr_init(&l->hard, l->rows, l->classes, with_mass);
    if (status == CS_OK)
        status = cs_csr_init(&l->soft, l->rows, l->classes, with_mass + cs_csr_nnz(y));
    if (status != CS_OK) return status;
    int64_t h = 0, s = 0;
    for (int64_t i = 0; i < l->rows; ++i) {
        const double sum = cs_total(y->ptr[i + 1] - y->ptr[i], y->val + y->ptr[i]);
        if (l->mass[i] > 0 && l->label[i] < 0) {
            l->label[i] = extra;
            l->soft.col[s] = extra;
            l->soft.val[s++] = 1;
        } else if (l->mass[i] > 0) {
            for (int64_t e = y->ptr[i]; e < y->ptr[i + 1]; ++e) {
                if (y->val[e] > 0) {
                    l->soft.col[s] = y->col[e];
                    l->soft.val[s++] = y->val[e] / sum;
                }
            }
        }
        if (l->mass[i] > 0) {
            l->hard.col[h] = l->label[i];
            l->hard.val[h++] = 1;
        }
        l->hard.ptr[i + 1] = h;
        l->soft.ptr[i + 1] = s;
    }
    return CS_OK;
}

typedef struct {
    double alpha, alpha_t, p_max;
} label_masses;

/* alpha, alpha~ and the largest class mass of one labelling. */
static cs_status masses(const cs_csr *a, const cs_csr *target, const double *mass,
                        label_masses *out)
{
    int64_t classes = target->cols;
    CS_AUTO(cs_pool) pool = {0};
    double *c = cs_pool_take(&pool, a->cols * classes, sizeof *c);
    double *p = cs_pool_take(&pool, classes, sizeof *p);
    if (pool.status != CS_OK) return pool.status;
    double total = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            total += a->val[e];
            for (int64_t q = target->ptr[i]; q < target->ptr[i + 1]; ++q) {
                c[a->col[e] * classes + target->col[q]] += a->val[e] * target->val[q];
            }
        }
        for (int64_t q = target->ptr[i]; q < target->ptr[i + 1]; ++q) {
            p[target->col[q]] += mass[i] * target->val[q];
        }
    }
    *out = (label_masses){0};
    for (int64_t j = 0; j < a->cols; ++j) {
        const double *x = &c[j * classes];
        double sum = 0;
        int64_t most = 0;
        for (int64_t q = 0; q < classes; ++q) {
            sum += x[q];
            most = x[q] > x[most] ? q : most;
        }
        for (int64_t q = 0; q < classes; ++q) {
            double others = 0; /* P_G - C without a subtraction */
            for (int64_t r = 0; r < classes; ++r) {
                others += r == q ? 0 : x[r];
            }
            out->alpha_t += sum > 0 ? x[q] * others / (sum * total) : 0;
            out->alpha += q == most ? 0 : x[q] / total;
        }
    }
    for (int64_t q = 0; q < classes; ++q) {
        out->p_max = fmax(out->p_max, p[q]);
    }
    return CS_OK;
}

cs_status cs_41_labels_of(const cs_labelled *m, const cs_spectrum *spectrum, cs_41_labels *out)
{
    cs_41_labels l = {.rows = m->a.rows, .cols = m->a.cols};
    label_masses hard = {0}, soft = {0};
    cs_status status = check_labels(m, spectrum);
    if (status == CS_OK) status = assign(m, spectrum, &l);
    if (status == CS_OK) status = masses(&m->a, &l.hard, l.mass, &hard);
    if (status == CS_OK) status = masses(&m->a, &l.soft, l.mass, &soft);
    if (status != CS_OK) {
        cs_41_labels_free(&l);
        return status;
    }
    l.alpha = hard.alpha;
    l.alpha_t = hard.alpha_t;
    l.p_max = hard.p_max;
    l.alpha_t_soft = soft.alpha_t;
    l.p_max_soft = soft.p_max;
    for (int64_t i = 0; i < l.rows; ++i) {
        for (int64_t e = l.soft.ptr[i]; e < l.soft.ptr[i + 1]; ++e) {
            l.noise += l.soft.col[e] == l.label[i] ? 0 : l.mass[i] * l.soft.val[e];
        }
    }
    /* Sums of non-negative terms, the longest chain over all entries of a column of A. */
    l.rounding = DBL_EPSILON * ((double)l.rows + (double)l.cols + 2 * (double)l.classes);
    *out = l;
    return CS_OK;
}
