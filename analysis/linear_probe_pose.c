/* From rows and labels to a standardised problem, and from its solution to a probe.
 *
 * Means and deviations are sums over rows in their order, the deviations about the mean and in
 * units of the column's largest entry, so that no square overflows.
 */
#include "analysis/linear_probe_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

static const double FLAT = 0x1p-40; /* of the largest entry: a deviation below it is rounding */

cs_status cs_probe_read_row(const cs_rows *x, int64_t row, double *out)
{
    cs_status status = cs_rows_read_f64(x, row, 1, out);
    for (int64_t j = 0; j < x->cols && status == CS_OK; ++j) {
        if (!isfinite(out[j])) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: row %" PRId64 ", column %" PRId64 ": value %g is not finite",
                           x->name ? x->name : "features", row, j, out[j]);
        }
    }
    return status;
}

cs_status cs_linear_probe_check(const cs_rows *x)
{
    double *row = cs_alloc(x->cols, sizeof *row);
    cs_status status = row ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < x->rows && status == CS_OK; ++i) {
        status = cs_probe_read_row(x, i, row);
    }
    cs_free(row);
    return status;
}

/* The classes that the sample has, their weights, the targets as outputs. */
static cs_status take_classes(const cs_probe_sample *s, cs_linear_probe *p, cs_probe_problem *q)
{
    int64_t *number = cs_calloc(s->classes, sizeof *number);
    cs_status status = number ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK) {
        return status;
    }
    for (int64_t i = 0; i < s->count; ++i) {
        number[(int64_t)s->y[cs_probe_row(s, i)]] += 1;
    }
    for (int64_t c = 0; c < s->classes; ++c) {
        p->outputs += number[c] > 0;
    }
    if (p->outputs < 2) {
        status = cs_fail(CS_ERR_INPUT,
                         "all %lld training rows are of class %lld: a probe needs "
                         "two classes",
                         (long long)s->count, (long long)s->y[cs_probe_row(s, 0)]);
    } else {
        p->class_of = cs_alloc(p->outputs, sizeof *p->class_of);
        q->weight = cs_alloc(p->outputs, sizeof *q->weight);
        status = p->class_of && q->weight ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t c = 0, k = 0; c < s->classes && status == CS_OK; ++c) {
        if (number[c] > 0) {
            p->class_of[k] = c;
            q->weight[k] = s->balanced ? (double)s->count / (double)(p->outputs * number[c]) : 1.0;
            number[c] = k++; /* from here on: its output */
        }
    }
    for (int64_t i = 0; i < s->count && status == CS_OK; ++i) {
        q->target[i] = (double)number[(int64_t)s->y[cs_probe_row(s, i)]];
    }
    cs_free(number);
    return status;
}

static cs_status take_values(const cs_probe_sample *s, cs_linear_probe *p, cs_probe_problem *q)
{
    double mean = 0.0, most = 0.0, square = 0.0;
    bool constant = true;
    for (int64_t i = 0; i < s->count; ++i) {
        mean += s->y[cs_probe_row(s, i)];
        constant = constant && s->y[cs_probe_row(s, i)] == s->y[cs_probe_row(s, 0)];
    }
    if (constant) {
        return cs_fail(CS_ERR_INPUT, "all %lld training values are %g", (long long)s->count,
                       s->y[cs_probe_row(s, 0)]);
    }
    mean /= (double)s->count;
    for (int64_t i = 0; i < s->count; ++i) {
        most = fmax(most, fabs(s->y[cs_probe_row(s, i)] - mean));
    }
    for (int64_t i = 0; i < s->count; ++i) { /* by `most`, so that squares do not overflow */
        double d = (s->y[cs_probe_row(s, i)] - mean) / most;
        square += d * d / (double)s->count;
    }
    p->outputs = 1;
    p->value_mean = mean;
    p->value_scale = most * sqrt(square);
    q->weight = cs_calloc(1, sizeof *q->weight);
    for (int64_t i = 0; i < s->count; ++i) {
        q->target[i] = (s->y[cs_probe_row(s, i)] - mean) / p->value_scale;
    }
    return q->weight ? CS_OK : CS_ERR_MEMORY;
}

/* Mean and 1 / sd of each column: two passes over rows in their order. */
static cs_status measure_columns(const cs_probe_sample *s, double *x, cs_linear_probe *p)
{
    const int64_t d = p->features;
    double *most = cs_calloc(d, sizeof *most);
    cs_status status = most ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->count && status == CS_OK; ++i) {
        status = cs_probe_read_row(s->x, cs_probe_row(s, i), x);
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            p->mean[j] += x[j];
            most[j] = fmax(most[j], fabs(x[j]));
        }
    }
    for (int64_t j = 0; j < d; ++j) {
        p->mean[j] /= (double)s->count;
    }
    for (int64_t i = 0; i < s->count && status == CS_OK; ++i) {
        status = cs_probe_read_row(s->x, cs_probe_row(s, i), x);
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            double dev = most[j] > 0.0 ? (x[j] - p->mean[j]) / most[j] : 0.0;
            p->scale[j] += dev * dev / (double)s->count;
        }
    }
    for (int64_t j = 0; j < d && status == CS_OK; ++j) {
        double sd = sqrt(p->scale[j]); /* in units of `most` */
        p->scale[j] = sd > FLAT && isfinite(1.0 / (sd * most[j])) ? 1.0 / (sd * most[j]) : 0.0;
        p->constant += p->scale[j] == 0.0;
    }
    cs_free(most);
    return status;
}

static cs_status take_features(const cs_probe_sample *s, cs_linear_probe *p, cs_probe_problem *q)
{
    double *x = cs_alloc(p->features, sizeof *x);
    cs_status status = x ? measure_columns(s, x, p) : CS_ERR_MEMORY;
    q->p = p->features - p->constant;
    if (status == CS_OK && q->p == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: none of the %lld features varies over the %lld rows",
                         s->x->name ? s->x->name : "features", (long long)p->features,
                         (long long)s->count);
    }
    if (status == CS_OK) {
        q->z = cs_alloc(q->n * q->p, sizeof *q->z);
        status = q->z ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t i = 0, at = 0; i < s->count && status == CS_OK; ++i) {
        status = cs_probe_read_row(s->x, cs_probe_row(s, i), x);
        for (int64_t j = 0; j < p->features && status == CS_OK; ++j) {
            if (p->scale[j] != 0.0) {
                q->z[at++] = (x[j] - p->mean[j]) * p->scale[j];
            }
        }
    }
    cs_free(x);
    return status;
}

cs_status cs_probe_pose(const cs_probe_sample *s, int threads, cs_linear_probe *p,
                        cs_probe_problem *q)
{
    const int64_t d = s->x->cols;
    p->features = d;
    p->classes = s->classes;
    p->rows = s->count;
    p->value_scale = 1.0;
    q->n = s->count;
    q->regression = s->classes == 0;
    q->threads = threads;
    p->mean = cs_calloc(d, sizeof *p->mean);
    p->scale = cs_calloc(d, sizeof *p->scale);
    q->target = cs_alloc(s->count, sizeof *q->target);
    cs_status status = p->mean && p->scale && q->target ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = q->regression ? take_values(s, p, q) : take_classes(s, p, q);
    }
    q->k = p->outputs;
    if (status == CS_OK && (status = take_features(s, p, q)) == CS_OK) {
        p->weight = cs_calloc(d * p->outputs, sizeof *p->weight);
        p->intercept = cs_calloc(p->outputs, sizeof *p->intercept);
        status = p->weight && p->intercept ? cs_probe_prepare(q) : CS_ERR_MEMORY;
    }
    return status;
}

cs_status cs_probe_start(const cs_probe_problem *q, double **out)
{
    double *x = cs_calloc(q->p * q->k + q->k, sizeof *x), *bias = x ? x + q->p * q->k : NULL;
    double mean = 0.0;
    if (!x) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < q->n && !q->regression; ++i) {
        bias[(int64_t)q->target[i]] += q->weight[(int64_t)q->target[i]];
    }
    for (int64_t c = 0; c < q->k && !q->regression; ++c) {
        bias[c] = log(bias[c]);
        mean += bias[c] / (double)q->k;
    }
    for (int64_t c = 0; c < q->k && !q->regression; ++c) {
        bias[c] -= mean;
    }
    *out = x;
    return CS_OK;
}

void cs_probe_spread(const cs_probe_problem *q, const double *x, cs_linear_probe *p)
{
    for (int64_t j = 0, at = 0; j < p->features; ++j) {
        if (p->scale[j] != 0.0) {
            memcpy(p->weight + j * q->k, x + q->k * at++, (size_t)q->k * sizeof *x);
        }
    }
    memcpy(p->intercept, x + q->p * q->k, (size_t)q->k * sizeof *x);
}
