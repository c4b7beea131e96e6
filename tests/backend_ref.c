/* The reference backend: what every operation of tensor/graph.h means, in plain loops.
 *
 * One thread, no blocking, no library: each operation's forward and backward are listed together
 * under their equation, in three parts by family (ref_layers, ref_attention, ref_losses). Gradients
 * are checked against central differences in double; the fast backends are checked against this
 * one. Compiled here for double, by backend_ref_float.c for float. Quadratic where it makes the
 * reading easier (scores of attention are formed three times): for tests and tiny models only. */
#include "backend_ref.h"

#include "base/mem.h"
#include "ref_attention.h"
#include "ref_layers.h"
#include "ref_losses.h"

/* --- memory: the host's ----------------------------------------------------------------------- */

static cs_status ref_alloc(cs_backend *backend, int64_t bytes, void **out)
{
    (void)backend;
    *out = cs_alloc(bytes, 1);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static void ref_release(cs_backend *backend, void *memory)
{
    (void)backend;
    cs_free(memory);
}

static cs_status ref_copy(cs_backend *backend, void *to, const void *from, int64_t bytes)
{
    (void)backend;
    memcpy(to, from, (size_t)bytes);
    return CS_OK;
}

static cs_status ref_zero(cs_backend *backend, void *memory, int64_t bytes)
{
    (void)backend;
    memset(memory, 0, (size_t)bytes);
    return CS_OK;
}

/* --- the optimizer ---------------------------------------------------------------------------- */

static cs_status ref_norm(cs_backend *backend, int64_t n, const void *x, double *out)
{
    (void)backend;
    const cs_real *item = x;
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        sum += (double)item[i] * (double)item[i];
    }
    *out = sqrt(sum);
    return CS_OK;
}

/* The equations of cs_update. */
static cs_status ref_adamw(cs_backend *backend, const cs_update *update)
{
    (void)backend;
    const cs_adamw *h = update->hyper;
    double norm = *update->norm;
    if (!isfinite(norm)) {
        return CS_OK;
    }
    bool clipped = h->clip > 0 && norm > (double)h->clip;
    cs_real c = clipped ? (cs_real)((double)h->clip / norm) : 1;
    cs_real beta1 = h->beta1, beta2 = h->beta2, bias1 = h->bias1, bias2 = h->bias2;
    cs_real rate = h->learning_rate, eps = h->eps, weight_decay = h->weight_decay;
    cs_real *value = update->value, *m = update->m, *v = update->v;
    const cs_real *grad = update->grad;
    for (int64_t i = 0; i < update->n; ++i) {
        cs_real g = c * grad[i];
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        cs_real step = m[i] / bias1 / (sqrt(v[i] / bias2) + eps);
        cs_real decay = update->decay[i] ? weight_decay * value[i] : 0;
        value[i] -= rate * (step + decay);
    }
    return CS_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

static void ref_free(cs_backend *backend)
{
    cs_free(backend);
}

#ifdef CS_REF_FLOAT
#define REF_OPEN cs_backend_ref
#define REF_NAME "ref"
#define REF_KIND CS_REAL_F32
#else
#define REF_OPEN cs_backend_ref64
#define REF_NAME "ref64"
#define REF_KIND CS_REAL_F64
#endif

#define FORWARD(KIND, name, operands) [CS_OP_##KIND] = ref_##name,
#define BACKWARD(KIND, name, operands) [CS_OP_##KIND] = ref_##name##_back,

cs_status REF_OPEN(cs_backend **out)
{
    cs_backend *backend = cs_calloc(1, sizeof *backend);
    if (!backend) return CS_ERR_MEMORY;
    *backend = (cs_backend){
        .name = REF_NAME,
        .activation = REF_KIND,
        .parameter = REF_KIND,
        .streams = REF_KIND == CS_REAL_F32,
        .alloc = ref_alloc,
        .release = ref_release,
        .put = ref_copy,
        .get = ref_copy,
        .zero = ref_zero,
        .forward = {CS_EACH_OP(FORWARD)},
        .backward = {CS_EACH_OP(BACKWARD)},
        .norm = ref_norm,
        .adamw = ref_adamw,
        .free = ref_free,
    };
    *out = backend;
    return CS_OK;
}
