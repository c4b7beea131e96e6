/* model: whole networks of every form against central differences in double; no operation and no
 * parameter of a training network is idle. */
#include "backend_ref.h"
#include "model_support.h"

/* --- directional derivatives ------------------------------------------------------------------ */

typedef struct {
    model_world world;
    int64_t count;
    double **value, **grad, **direction; /* of each parameter */
} probe;

static int64_t items(const probe *p, int64_t i)
{
    const cs_param *param = &p->world.model.params.param[i];
    return param->rows * param->cols;
}

static double **work(const probe *p)
{
    double **x = cs_calloc(p->count, sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < p->count; ++i) {
        assert_non_null(x[i] = cs_calloc(items(p, i), sizeof **x));
    }
    return x;
}

static void drop(const probe *p, double **x)
{
    for (int64_t i = 0; i < p->count; ++i) {
        cs_free(x[i]);
    }
    cs_free(x);
}

static void probe_open(probe *p, const model_case *what)
{
    cs_model_config config = case_config(what, true);
    cs_network_options options = case_options(what, true);
    model_data data;
    memset(p, 0, sizeof *p);
    world_open(&p->world, cs_backend_ref64, &config, &options);
    data_fill(&data, &p->world, 11);
    world_load(&p->world, &data);
    cs_params *params = &p->world.model.params;
    p->count = params->count;
    p->value = work(p);
    p->grad = work(p);
    p->direction = work(p);
    OK(cs_params_zero_grad(params));
    (void)world_loss(&p->world);
    OK(cs_run_backward(p->world.run));
    for (int64_t i = 0; i < p->count; ++i) {
        OK(cs_params_get64(params, i, CS_PARAM_VALUE, p->value[i]));
        OK(cs_params_get64(params, i, CS_PARAM_GRAD, p->grad[i]));
    }
}

static void probe_close(probe *p)
{
    drop(p, p->value);
    drop(p, p->grad);
    drop(p, p->direction);
    world_close(&p->world);
}

static double loss_at(probe *p, int64_t only, double t)
{
    double moved[1024];
    for (int64_t i = 0; i < p->count; ++i) {
        int64_t n = items(p, i);
        assert_true(n <= 1024);
        for (int64_t k = 0; k < n; ++k) {
            moved[k] = p->value[i][k] + (only < 0 || only == i ? t * p->direction[i][k] : 0);
        }
        OK(cs_params_set64(&p->world.model.params, i, CS_PARAM_VALUE, moved));
    }
    return world_loss(&p->world);
}

/* Gradient along the direction against a central difference of order four,
 *   (8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12 h.
 * Directions have norm one, or two with the gradient's share, h = 3e-4: truncation h^4 L^(5) / 30
 * is 1e-9 and less for derivatives of order 3e6 (classes of three over norms of eight values), rounding
 * 2 eps |L| / h about 1e-11, which is all there is of a bias that adds the same to every score. Fixed
 * tables have no gradient and do not move. */
static void check_direction(probe *p, int64_t only, const char *name)
{
    double h = 3e-4, exact = 0;
    for (int64_t i = 0; i < p->count; ++i) {
        for (int64_t k = 0; k < items(p, i) && (only < 0 || only == i); ++k) {
            exact += p->grad[i][k] * p->direction[i][k];
        }
    }
    double near = loss_at(p, only, h) - loss_at(p, only, -h);
    double far = loss_at(p, only, 2 * h) - loss_at(p, only, -2 * h);
    double found = (8 * near - far) / (12 * h);
    if (!(fabs(exact - found) < 1e-6 * (fabs(exact) + fabs(found)) + 1e-11)) {
        fail_msg("%s, %s: derivative %.12g, by differences %.12g", name,
                 only < 0 ? "all parameters" : p->world.model.params.param[only].name, exact,
                 found);
    }
}

/* Direction = unit gradient + unit random vector, over one parameter or all: the derivative is then
 * not small compared with the gradient, and a wrong item of it shows. */
static void draw_direction(probe *p, int64_t only, uint64_t number)
{
    double g = 0, r = 0;
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, number);
    for (int64_t i = 0; i < p->count; ++i) {
        for (int64_t k = 0; k < items(p, i) && (only < 0 || only == i); ++k) {
            p->direction[i][k] = cs_rng_normal(&rng);
            r += p->direction[i][k] * p->direction[i][k];
            g += p->grad[i][k] * p->grad[i][k];
        }
    }
    for (int64_t i = 0; i < p->count; ++i) {
        for (int64_t k = 0; k < items(p, i) && (only < 0 || only == i); ++k) {
            const bool moves = !p->world.model.params.param[i].fixed;
            p->direction[i][k] = moves ? p->direction[i][k] / sqrt(r) + p->grad[i][k] / sqrt(g) : 0;
        }
    }
}

/* Every model here has the parameters of its form and no others; the spectral loss alone leaves one
 * aside. */
static bool idle(const model_case *what, const char *name)
{
    return what->loss == CS_LOSS_SPECTRAL && strcmp(name, "head.bias") == 0;
}

static void check_derivatives(const model_case *cases)
{
    for (const model_case *what = cases; what->name; ++what) {
        CS_AUTO_BY(probe_close, probe) p = {0};
        probe_open(&p, what);
        for (uint64_t n = 0; n < 2; ++n) {
            draw_direction(&p, -1, n);
            check_direction(&p, -1, what->name);
        }
        for (int64_t i = 0; i < p.count; ++i) {
            const char *name = p.world.model.params.param[i].name;
            double g = SUM(k, 0, items(&p, i), p.grad[i][k] * p.grad[i][k]);
            if ((p.world.model.params.param[i].fixed || idle(what, name)) == (g > 0)) {
                fail_msg("%s: gradient of %s has norm %g", what->name, name, sqrt(g));
            }
            if (g > 0) {
                draw_direction(&p, i, 10 + (uint64_t)i);
                check_direction(&p, i, what->name);
            }
        }
    }
}

TEST(test_derivatives)
{
    check_derivatives(model_cases);
}

TEST(test_classifier_derivatives)
{
    check_derivatives(classifier_cases);
    check_derivatives(read_cases);
}

/* --- nothing idle ----------------------------------------------------------------------------- */

typedef struct {
    const cs_graph *graph;
    bool *read;
} readers;

static void note(void *ctx, cs_operand *operand)
{
    readers *r = ctx;
    r->read[operand->tensor] = true;
    int parent = r->graph->tensor[operand->tensor].parent;
    if (parent != CS_NONE) {
        r->read[parent] = true;
    }
}

/* The tensor that an operation is there for; CS_NONE: a loss. */
static int made_by(const cs_op *op)
{
    switch (op->kind) {
    case CS_OP_LINEAR:
        return op->linear.y;
    case CS_OP_EMBED:
        return op->embed.y;
    case CS_OP_GATHER:
        return op->gather.y;
    case CS_OP_ADD:
        return op->add.y;
    case CS_OP_LAYER_NORM:
        return op->layer_norm.y;
    case CS_OP_ROTATE:
        return op->rotate.y;
    case CS_OP_GATE:
        return op->gate.y;
    case CS_OP_EXPERTS:
        return op->experts.y;
    case CS_OP_ATTENTION:
    case CS_OP_LINEAR_ATTENTION:
        return op->attention.y;
    case CS_OP_CROSS_ENTROPY:
    case CS_OP_SOFT_CROSS_ENTROPY:
    case CS_OP_SPECTRAL_LOSS:
    case CS_OP_SQUARED_ERROR:
    case CS_OP_COUNT:
        break;
    }
    return CS_NONE;
}

static void check_nothing_idle(const model_case *cases)
{
    for (const model_case *what = cases; what->name; ++what) {
        cs_model_config config = case_config(what, true);
        cs_network_options options = case_options(what, true);
        CS_AUTO_BY(world_close, model_world) world = {0};
        world_open(&world, cs_backend_ref, &config, &options);
        cs_graph *g = &world.net.graph;
        readers r = {g, cs_calloc(g->tensors, sizeof *r.read)};
        assert_non_null(r.read);
        for (int64_t i = 0; i < g->ops; ++i) {
            cs_op_operands(&g->op[i], note, &r);
        }
        for (int64_t i = 0; i < g->ops; ++i) {
            const cs_op *op = &g->op[i];
            int made = made_by(op);
            bool given = op->kind == CS_OP_EMBED && /* real rows take no gradient */
                         g->tensor[op->embed.table[0].tensor].space == CS_SPACE_INPUT;
            if (made != CS_NONE && (!r.read[made] || g->tensor[made].wants_grad == given)) {
                fail_msg("%s: nothing reads %s, operation %d", what->name, g->tensor[made].name,
                         (int)i);
            }
        }
        cs_free(r.read);
    }
}

TEST(test_nothing_idle)
{
    check_nothing_idle(model_cases);
    check_nothing_idle(classifier_cases);
    check_nothing_idle(read_cases);
}
