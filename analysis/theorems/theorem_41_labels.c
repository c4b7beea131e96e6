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
#include "io/file.h"
#include "io/npy.h"

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

/* --- labels from a file ------------------------------------------------------------------------- */

/* Label files: small (one value a row), read whole. */

static const int64_t TEXT_LIMIT = INT64_C(1) << 32;

static cs_status count_matches(const char *path, int64_t labels, int64_t rows)
{
    return labels == rows ? CS_OK
                          : cs_fail(CS_ERR_INPUT, "%s: %lld labels, but %lld rows", path,
                                    (long long)labels, (long long)rows);
}

static cs_status from_npy(const char *path, int64_t rows, int32_t *label, int64_t *classes)
{
    CS_AUTO(cs_array) array = {0};
    cs_status status = cs_npy_read(path, 0, &array);
    if (status == CS_OK) status = count_matches(path, array.size, rows);
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        int64_t value = 0;
        status = cs_blame(cs_array_i64(&array, i, &value), "%s", path);
        if (status == CS_OK && value >= INT32_MAX)
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld: label %lld is not below 2^31 - 1", path,
                             (long long)i, (long long)value);
        label[i] = value < 0 ? -1 : (int32_t)value;
        *classes = value >= *classes ? value + 1 : *classes;
    }
    return status;
}

/* The number of a label text among those seen, added when new; classes are few. */
static int32_t number_of(const char *text, const char **seen, int64_t *classes)
{
    for (int64_t c = 0; c < *classes; ++c) {
        if (strcmp(seen[c], text) == 0) {
            return (int32_t)c;
        }
    }
    seen[*classes] = text;
    return (int32_t)(*classes)++;
}

static cs_status from_text(const char *path, int64_t rows, int32_t *label, int64_t *classes)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0, lines = 0;
    CS_AUTO_FREE const char **seen = NULL;
    cs_status status = cs_file_read_text(path, TEXT_LIMIT, &text, &size);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < size; ++i) {
        lines += text[i] == '\n' || (i == size - 1);
    }
    status = count_matches(path, lines, rows);
    if (status == CS_OK) {
        seen = cs_alloc(rows, sizeof *seen);
        status = seen ? CS_OK : CS_ERR_MEMORY;
    }
    char *rest = text;
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        char *line = strsep(&rest, "\n");
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r') {
            line[length - 1] = '\0';
        }
        bool none = line[0] == '\0' || strcmp(line, "-") == 0;
        label[i] = none ? -1 : number_of(line, seen, classes);
    }
    return status;
}

static cs_status row_masses(const cs_csr *a, const int32_t *label, int64_t classes, cs_csr *out)
{
    CS_AUTO_FREE double *sum = cs_alloc(a->rows, sizeof *sum);
    cs_status status = sum ? cs_csr_init(out, a->rows, classes, a->rows) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    cs_csr_sums(a, sum, NULL);
    int64_t e = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (label[i] >= 0 && sum[i] > 0) {
            out->col[e] = label[i];
            out->val[e++] = sum[i];
        }
        out->ptr[i + 1] = e;
    }
    return CS_OK;
}

cs_status cs_labels_read(const char *path, const cs_nonempty_rows *kept, cs_labelled *m)
{
    int64_t rows = kept->rows, classes = 0;
    CS_AUTO_FREE int32_t *label = cs_alloc(rows, sizeof *label);
    cs_status status = label ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_npy_named(path) ? from_npy(path, rows, label, &classes)
                                    : from_text(path, rows, label, &classes);
    if (status == CS_OK && classes == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no row has a label", path);
    for (int64_t i = 0; status == CS_OK && i < m->a.rows; ++i) {
        label[i] = label[cs_nonempty_rows_at(kept, i)]; /* further on, or in place */
    }
    if (status == CS_OK) status = row_masses(&m->a, label, classes, &m->row_label);
    if (status == CS_OK) m->labels = classes;
    return status;
}
