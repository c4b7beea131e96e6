/* Theorem 4.3: the parameters of a linear-attention model, its rows, and f. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_43.h"
#include "analysis/theorems/theorem_43_private.h"
#include "base/auto.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "tensor/backend.h"

double cs_generation_bound_gamma(double operations)
{
    double x = operations * (DBL_EPSILON / 2);
    return x / (1 - x);
}

/* --- parameters --------------------------------------------------------------------------------*/

void cs_generation_bound_model_free(cs_generation_bound_model *m)
{
    cs_pool_free(&m->pool);
    memset(m, 0, sizeof *m);
}

void cs_generation_bound_apply(const cs_generation_bound_model *m, const double *f, double *z)
{
    enum { CHUNK = 256 }; /* rows whose sums stay near */
    for (int64_t first = 0; first < m->vocab; first += CHUNK) {
        int64_t count = m->vocab - first < CHUNK ? m->vocab - first : CHUNK;
        double *to = z + first;
        memset(to, 0, (size_t)count * sizeof *to);
        for (int64_t j = 0; j < m->width; ++j) {
            const double *w = m->w.data + first + j * m->w.ld, x = f[j];
            cs_add_multiple(count, x, w, to);
        }
    }
}

/* ||W||_2^2 is the largest eigenvalue of W^T W, formed with an error of gamma_V ||W||_F^2; the
 * eigenvalue's own backward error is a small multiple of width u. */
cs_status cs_generation_bound_model_measure(cs_generation_bound_model *m)
{
    const int64_t d = m->width;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense gram = cs_dense_in(&pool, d, d);
    double *value = cs_pool_take(&pool, d, sizeof *value);
    cs_status status = pool.status;
    m->largest_row = m->frobenius = 0;
    for (int64_t y = 0; y < m->vocab; ++y) {
        double square = 0;
        for (int64_t j = 0; j < d; ++j) {
            double x = m->w.data[y + j * m->w.ld];
            square += x * x;
        }
        m->frobenius += square;
        m->largest_row = fmax(m->largest_row, sqrt(square));
    }
    cs_threads_blas_hold(true); /* the same bits whatever the threads */
    if (status == CS_OK && (status = cs_gemm(true, false, 1, &m->w, &m->w, 0, &gram)) == CS_OK)
        status = cs_dense_eigh(&gram, value, true);
    cs_threads_blas_hold(false);
    if (status == CS_OK) {
        double error =
            cs_generation_bound_gamma((double)m->vocab + 16 * (double)d + 16) * m->frobenius;
        m->norm = sqrt(fmax(value[d - 1], 0));
        m->norm_error = error > 0 ? error / fmax(m->norm, sqrt(error)) : 0;
        m->frobenius = sqrt(m->frobenius);
    }
    return status;
}

static cs_status take_parameters(const cs_model *model, cs_generation_bound_model *m)
{
    const cs_params *params = &model->params;
    const cs_param *positions = NULL;
    double *output = NULL;
    m->w = cs_dense_in(&m->pool, m->vocab, m->width);
    cs_status status = cs_params_read(params, "embed.token", &m->pool, NULL, &m->token);
    if (status == CS_OK && model->config.shape.positions > 0)
        status = cs_params_read(params, "embed.position", &m->pool, &positions, &m->position);
    if (status == CS_OK)
        status = cs_params_read(params, "layer.0.attention.qkv.weight", &m->pool, NULL, &m->qkv);
    if (status == CS_OK) status = cs_params_read(params, "output.weight", &m->pool, NULL, &output);
    m->positions = positions ? positions->rows : 0;
    for (int64_t y = 0; status == CS_OK && y < m->vocab; ++y) {
        for (int64_t j = 0; j < m->width; ++j) {
            m->w.data[y + j * m->w.ld] = output[y * m->width + j];
        }
    }
    return status;
}

cs_status cs_generation_bound_model_of(const cs_model *model, cs_generation_bound_model *out)
{
    const cs_model_config *c = &model->config;
    cs_generation_bound_model m = {.vocab = c->shape.vocab,
                                   .width = c->shape.width,
                                   .heads = c->shape.heads,
                                   .pooling = c->head.pooling};
    if (c->arch != CS_ARCH_LINEAR) {
        return cs_fail(CS_ERR_USAGE,
                       "Theorem 4.3 is about linear attention: the model's architecture is %s, not "
                       "linear",
                       cs_arch_name(c->arch));
    }
    cs_status status = take_parameters(model, &m);
    if (status == CS_OK) status = cs_generation_bound_model_measure(&m);
    return CS_DELIVER(status, out, m, cs_generation_bound_model_free);
}

cs_status cs_generation_bound_model_random(int64_t vocab, int64_t width, int64_t heads,
                                           uint64_t seed, cs_generation_bound_model *out)
{
    CS_AUTO(cs_backend) *backend = NULL;
    CS_AUTO(cs_model) model = {0};
    cs_model_config config = {
        .shape.vocab = vocab, .shape.width = width, .shape.layers = 1, .shape.heads = heads};
    cs_model_config_default(CS_ARCH_LINEAR, &config);
    config.head.pooling = 2;
    config.training.init_range = 1; /* output rows of order 1, so that z is */
    cs_status status = cs_model_config_check(&config);
    if (status == CS_OK && (status = cs_backend_cpu(1, &backend)) == CS_OK &&
        (status = cs_model_init(&config, backend, false, &model)) == CS_OK &&
        (status = cs_model_randomise(&model, seed)) == CS_OK) {
        status = cs_generation_bound_model_of(&model, out);
    }
    return status;
}

/* --- rows --------------------------------------------------------------------------------------*/

void cs_generation_bound_rows_free(cs_generation_bound_rows *r)
{
    cs_free(r->q);
    memset(r, 0, sizeof *r);
}

static double largest_norm(const cs_generation_bound_rows *r, const double *x, int64_t head)
{
    const int64_t e = r->width / r->heads;
    double largest = 0;
    for (int64_t i = 0; i < r->n; ++i) {
        const double *row = x + i * r->width + head * e;
        largest = fmax(largest, cs_inner(e, row, row));
    }
    return sqrt(largest);
}

/* |q| . |k| <= ||q|| ||k||, so ||g|| <= sqrt(sum_h (max ||q|| max ||k|| ||v_w||)^2), signs dropped
 * or not. */
static double largest_term(const cs_generation_bound_rows *r)
{
    const int64_t e = r->width / r->heads;
    double largest = 0;
    for (int64_t w = 0; w < r->n; ++w) {
        double sum = 0;
        for (int64_t h = 0; h < r->heads; ++h) {
            const double *v = r->v + w * r->width + h * e;
            double a = largest_norm(r, r->q, h) * largest_norm(r, r->k, h);
            sum += a * a * cs_inner(e, v, v);
        }
        largest = fmax(largest, sum);
    }
    return sqrt(largest) * (1 + cs_generation_bound_gamma(4 * (double)(r->width + 8)));
}

static cs_status check_token(const cs_generation_bound_model *m, const int32_t *token, int64_t i)
{
    if (token[i] < 0 || token[i] >= m->vocab) {
        return cs_fail(CS_ERR_INPUT, "token %d at position %lld is not in 0..%lld, the vocabulary",
                       token[i], (long long)i, (long long)m->vocab - 1);
    }
    if (m->position && i >= m->positions) {
        return cs_fail(CS_ERR_INPUT, "position %lld exceeds the %lld positions of the model",
                       (long long)i, (long long)m->positions);
    }
    return CS_OK;
}

cs_status cs_generation_bound_rows_of(const cs_generation_bound_model *m, const int32_t *token,
                                      int64_t n, cs_generation_bound_rows *out)
{
    const int64_t d = m->width;
    cs_generation_bound_rows r = {.n = n, .width = d, .heads = m->heads, .equal = true};
    CS_AUTO_FREE double *x = cs_alloc(d, sizeof *x);
    r.q = x ? cs_alloc(3 * n * d, sizeof *r.q) : NULL;
    cs_status status = r.q ? CS_OK : CS_ERR_MEMORY;
    if (r.q) {
        r.k = r.q + n * d;
        r.v = r.k + n * d;
    }
    for (int64_t i = 0; status == CS_OK && i < n; ++i) {
        status = check_token(m, token, i);
        for (int64_t j = 0; status == CS_OK && j < d; ++j) {
            x[j] = m->token[token[i] * d + j] + (m->position ? m->position[i * d + j] : 0);
        }
        for (int64_t o = 0; status == CS_OK && o < 3 * d; ++o) {
            r.q[o / d * n * d + i * d + o % d] = cs_inner(d, m->qkv + o * d, x);
        }
    }
    if (status != CS_OK) {
        cs_free(r.q);
        return status;
    }
    for (int64_t i = 0; i < 3 * n * d && r.equal; ++i) {
        r.equal = r.q[i] == r.q[i / (n * d) * n * d + i % d];
    }
    r.term = largest_term(&r);
    *out = r;
    return CS_OK;
}

/* f^ head by head: with a the mean of q, p = 2: the mean of (a . k_v) v_v; p = 3: (a . mean of k)
 * times the mean of v. Means throughout, so that no power of the count can overflow. */
void cs_generation_bound_features(const cs_generation_bound_rows *r, const int32_t *row,
                                  int64_t count, int power, double *f)
{
    const int64_t e = r->width / r->heads;
    const double n = (double)count;
    double *mean = f + r->width;
    memset(f, 0, 2 * (size_t)r->width * sizeof *f);
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < r->width; ++j) {
            mean[j] += r->q[row[i] * r->width + j] / n;
        }
    }
    for (int64_t h = 0; h < r->heads; ++h) {
        double factor = 0;
        for (int64_t i = 0; power == 3 && i < count; ++i) {
            factor += cs_inner(e, mean + h * e, r->k + row[i] * r->width + h * e) / n;
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t at = row[i] * r->width + h * e;
            double dot = power == 3 ? factor : cs_inner(e, mean + h * e, r->k + at);
            cs_add_multiple(e, dot / n, r->v + at, f + h * e);
        }
    }
}
