/* Promises of every backend beyond numbers that agree: attention hides what is masked, and the
 * optimizer follows its equations. */
#include "base/auto.h"
#include "tensor_support.h"

#include <math.h>
#include <stdio.h>

/* --- leaks ------------------------------------------------------------------------------------ */

typedef struct {
    int y, vis, lim;
    bool linear, drops;
} attention_of_case;

static attention_of_case find_attention(const cs_graph *g)
{
    for (int64_t i = 0; i < g->ops; ++i) {
        const cs_op *op = &g->op[i];
        if (op->kind == CS_OP_ATTENTION || op->kind == CS_OP_LINEAR_ATTENTION) {
            return (attention_of_case){op->attention.y, op->attention.vis, op->attention.lim,
                                       op->kind == CS_OP_LINEAR_ATTENTION, op->attention.p > 0};
        }
    }
    abort();
}

static void output_now(cs_tensor_world *world, int y, double *out)
{
    cs_tensor_forward(world);
    cs_tensor_must(cs_run_get(world->run, y, out), "output");
}

/* Negates row j of a table (values are never zero). */
static void turn_row(cs_tensor_world *world, const char *name, int64_t row)
{
    cs_params *params = &world->net.params;
    int64_t number = cs_params_find(params, name);
    const cs_param *p = &params->param[number];
    CS_AUTO_FREE double *x = cs_tensor_zeros(p->rows * p->cols, sizeof *x);
    cs_tensor_must(cs_params_get64(params, number, CS_PARAM_VALUE, x), name);
    for (int64_t c = 0; c < p->cols; ++c) {
        x[row * p->cols + c] *= -1;
    }
    cs_tensor_must(cs_params_set64(params, number, CS_PARAM_VALUE, x), name);
}

static void turn_key(cs_tensor_world *world, bool linear, int64_t key)
{
    turn_row(world, "k", key);
    turn_row(world, "v", key);
    if (linear) {
        turn_row(world, "q", key);
    }
}

bool cs_tensor_check_leaks(cs_backend *backend, const cs_tensor_case *what, int64_t *hidden,
                           int64_t *seen, char why[CS_TENSOR_WHY])
{
    CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
    cs_tensor_open(&world, what, backend, true);
    attention_of_case a = find_attention(&world.net.graph);
    cs_matrix y = cs_run_matrix(world.run, a.y), keys = cs_run_matrix(world.run, a.vis);
    const int32_t *vis = cs_run_index(world.run, a.vis), *lim = cs_run_index(world.run, a.lim);
    CS_AUTO_FREE double *before = cs_tensor_zeros(y.rows * y.cols, sizeof *before);
    CS_AUTO_FREE double *after = cs_tensor_zeros(y.rows * y.cols, sizeof *after);
    bool good = true;
    *hidden = *seen = 0;
    cs_tensor_poison(&world);
    output_now(&world, a.y, before);
    for (int64_t j = 0; j < keys.rows; ++j) {
        turn_key(&world, a.linear, j);
        output_now(&world, a.y, after);
        for (int64_t i = 0; i < y.rows; ++i) {
            bool sees = i / y.length == j / keys.length && vis[j] <= lim[i];
            bool same = memcmp(before + i * y.cols, after + i * y.cols,
                               (size_t)y.cols * sizeof *before) == 0;
            ++*(sees ? seen : hidden);
            if (good && sees == same && !(sees && a.drops)) {
                (void)snprintf(why, CS_TENSOR_WHY, "row %lld %s key %lld", (long long)i,
                               sees ? "does not see" : "sees the hidden", (long long)j);
                good = false;
            }
        }
        turn_key(&world, a.linear, j);
    }
    return good;
}

/* --- the optimizer ---------------------------------------------------------------------------- */

enum { DECAYED = 35, PLAIN = 3, ALL = DECAYED + PLAIN, STEPS = 5 };

typedef struct {
    double value[ALL], grad[ALL], m[ALL], v[ALL];
} moments;

static void put(cs_params *params, cs_param_block what, const double *x)
{
    cs_tensor_must(cs_params_set64(params, 0, what, x), "set");
    cs_tensor_must(cs_params_set64(params, 1, what, x + DECAYED), "set");
}

static void get(const cs_params *params, cs_param_block what, double *x)
{
    cs_tensor_must(cs_params_get64(params, 0, what, x), "get");
    cs_tensor_must(cs_params_get64(params, 1, what, x + DECAYED), "get");
}

static double norm_of(const double *x)
{
    double sum = 0;
    for (int i = 0; i < ALL; ++i) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

/* cs_update, written again. */
static void update_by_hand(moments *t, const cs_adamw *h)
{
    double norm = norm_of(t->grad), scale = 1;
    if (h->clip > 0 && norm > (double)h->clip) {
        scale = (double)h->clip / norm;
    }
    for (int i = 0; i < ALL; ++i) {
        double g = scale * t->grad[i], b1 = (double)h->beta1, b2 = (double)h->beta2;
        t->m[i] = b1 * t->m[i] + (1 - b1) * g;
        t->v[i] = b2 * t->v[i] + (1 - b2) * g * g;
        double mhat = t->m[i] / (double)h->bias1, vhat = t->v[i] / (double)h->bias2;
        double decay = i < DECAYED ? (double)h->weight_decay * t->value[i] : 0;
        t->value[i] -= (double)h->learning_rate * (mhat / (sqrt(vhat) + (double)h->eps) + decay);
    }
}

static bool near(const char *what, int step, const double *got, const double *want, double tol,
                 char why[CS_TENSOR_WHY])
{
    double apart = 0;
    for (int i = 0; i < ALL; ++i) {
        apart += (got[i] - want[i]) * (got[i] - want[i]);
    }
    if (!(sqrt(apart) <= tol * norm_of(want))) {
        (void)snprintf(why, CS_TENSOR_WHY, "step %d: %s off by %.3g of %.3g", step, what,
                       sqrt(apart), norm_of(want));
        return false;
    }
    return true;
}

static bool check_steps(cs_params *params, moments *want, double clip, char why[CS_TENSOR_WHY])
{
    double tol = 200 * cs_tensor_unit_roundoff(params->backend->parameter), norm = 0;
    moments got;
    bool good = true;
    put(params, CS_PARAM_VALUE, want->value);
    for (int step = 1; step <= STEPS && good; ++step) {
        cs_rng rng = cs_rng_at(17, CS_STREAM_TEST, (uint64_t)step);
        cs_adamw hyper = {.learning_rate = 0.05F / (float)step,
                          .beta1 = 0.9F,
                          .beta2 = 0.98F,
                          .eps = 1e-6F,
                          .weight_decay = 0.1F,
                          .clip = (float)clip,
                          .bias1 = (float)(1 - pow(0.9, step)),
                          .bias2 = (float)(1 - pow(0.98, step))};
        for (int i = 0; i < ALL; ++i) {
            want->grad[i] = cs_tensor_value(&rng, -1.0, 1.0);
        }
        put(params, CS_PARAM_GRAD, want->grad);
        cs_tensor_must(cs_params_update(params, &hyper), "update");
        norm = cs_tensor_norm(params);
        update_by_hand(want, &hyper);
        get(params, CS_PARAM_VALUE, got.value);
        get(params, CS_PARAM_M, got.m);
        get(params, CS_PARAM_V, got.v);
        good = near("value", step, got.value, want->value, tol, why) &&
               near("m", step, got.m, want->m, tol, why) &&
               near("v", step, got.v, want->v, tol, why);
        if (good && fabs(norm - norm_of(want->grad)) > 1e-12 * norm) {
            (void)snprintf(why, CS_TENSOR_WHY, "norm %.17g, wanted %.17g", norm,
                           norm_of(want->grad));
            good = false;
        }
    }
    return good;
}

/* One bad item of the gradient: the step is not made. */
static bool check_skipped(cs_params *params, double bad, char why[CS_TENSOR_WHY])
{
    moments before, after;
    cs_adamw hyper = {.learning_rate = 1, .eps = 1, .weight_decay = 1, .bias1 = 1, .bias2 = 1};
    double norm = 0, grad[ALL] = {0};
    grad[ALL - 2] = bad;
    get(params, CS_PARAM_VALUE, before.value);
    get(params, CS_PARAM_M, before.m);
    get(params, CS_PARAM_V, before.v);
    put(params, CS_PARAM_GRAD, grad);
    cs_tensor_must(cs_params_update(params, &hyper), "update");
    norm = cs_tensor_norm(params);
    get(params, CS_PARAM_VALUE, after.value);
    get(params, CS_PARAM_M, after.m);
    get(params, CS_PARAM_V, after.v);
    if (isfinite(norm) || memcmp(before.value, after.value, sizeof before.value) != 0 ||
        memcmp(before.m, after.m, sizeof before.m) != 0 ||
        memcmp(before.v, after.v, sizeof before.v) != 0) {
        (void)snprintf(why, CS_TENSOR_WHY, "a gradient of %g was used", bad);
        return false;
    }
    return true;
}

bool cs_tensor_check_adamw(cs_backend *backend, double clip, char why[CS_TENSOR_WHY])
{
    CS_AUTO(cs_params) params = {0};
    moments want = {0};
    cs_rng rng = cs_rng_at(17, CS_STREAM_TEST, 0);
    for (int i = 0; i < ALL; ++i) {
        want.value[i] = cs_tensor_value(&rng, -1.0, 1.0);
    }
    if (cs_params_add(&params, "w", 5, 7, true) < 0 ||
        cs_params_add(&params, "b", 1, PLAIN, false) < 0) {
        abort();
    }
    cs_tensor_must(cs_params_allocate(&params, backend, true), "parameters");
    bool good = check_steps(&params, &want, clip, why) && check_skipped(&params, NAN, why) &&
                check_skipped(&params, INFINITY, why) && check_skipped(&params, -INFINITY, why);
    return good;
}
