/* The checks: central differences, and one backend against the reference.
 *
 * Guards: while a case runs, the backend's alloc and release are replaced by versions that put a
 * pattern before and behind every block and look at it when the block goes. */
#include "backend_ref.h"
#include "base/auto.h"
#include "tensor_support.h"

#include <math.h>
#include <stdio.h>

enum { GUARD = 4096, GUARD_BYTE = 0xA5, MOST_BLOCKS = 64 };

/* --- central differences ---------------------------------------------------------------------- */

static const double fd_step = 1e-5, fd_tolerance = 1e-6;

/* The objective with parameters + t direction, all parameters at once. */
static double objective_at(cs_tensor_world *world, double *const *x, double *const *direction,
                           double t)
{
    cs_params *params = &world->net.params;
    for (int64_t i = 0; i < params->count; ++i) {
        int64_t n = params->param[i].rows * params->param[i].cols;
        CS_AUTO_FREE double *moved = cs_tensor_zeros(n, sizeof *moved);
        for (int64_t k = 0; k < n; ++k) {
            moved[k] = x[i][k] + t * direction[i][k];
        }
        cs_tensor_must(cs_params_set64(params, i, CS_PARAM_VALUE, moved), "parameters");
    }
    cs_tensor_forward(world);
    return cs_tensor_objective(world);
}

static double difference(cs_tensor_world *world, double *const *x, double *const *direction)
{
    double up = objective_at(world, x, direction, fd_step);
    double down = objective_at(world, x, direction, -fd_step);
    return (up - down) / (2 * fd_step);
}

typedef struct {
    double apart, g, fd; /* sums of squares */
} fd_sums;

static void fd_add(fd_sums *sums, double g, double fd)
{
    sums->apart += (g - fd) * (g - fd);
    sums->g += g * g;
    sums->fd += fd * fd;
}

static bool fd_close(const fd_sums *sums)
{
    return sqrt(sums->apart) < fd_tolerance * (sqrt(sums->g) + sqrt(sums->fd));
}

static bool check_param(cs_tensor_world *world, int64_t i, double *const *x, double *const *zero,
                        const double *g, char why[CS_TENSOR_WHY])
{
    const cs_param *p = &world->net.params.param[i];
    bool still = (world->net.still >> i & 1) != 0;
    fd_sums sums = {0};
    for (int64_t k = 0; k < p->rows * p->cols; ++k) {
        zero[i][k] = 1;
        fd_add(&sums, g[k], still ? 0 : difference(world, x, zero));
        zero[i][k] = 0;
    }
    if (still ? sums.g != 0 : !fd_close(&sums)) {
        (void)snprintf(why, CS_TENSOR_WHY, "%s: |g - fd| %g, |g| %g, |fd| %g", p->name,
                       sqrt(sums.apart), sqrt(sums.g), sqrt(sums.fd));
        return false;
    }
    return true;
}

/* Three random directions of all trainable parameters together. */
static bool check_directions(cs_tensor_world *world, double *const *x, double *const *direction,
                             double *const *g, char why[CS_TENSOR_WHY])
{
    const cs_params *params = &world->net.params;
    fd_sums sums = {0};
    for (int64_t d = 0; d < 3; ++d) {
        double along = 0;
        for (int64_t i = 0; i < params->count; ++i) {
            cs_rng rng = cs_tensor_stream(world, CS_FILL_DIRECTION, d * CS_NET_MOST + i);
            bool still = (world->net.still >> i & 1) != 0;
            for (int64_t k = 0; k < params->param[i].rows * params->param[i].cols; ++k) {
                direction[i][k] = still ? 0 : cs_tensor_value(&rng, -1.0, 1.0);
                along += direction[i][k] * g[i][k];
            }
        }
        fd_add(&sums, along, difference(world, x, direction));
    }
    if (!fd_close(&sums) && sums.g + sums.fd > 0) {
        (void)snprintf(why, CS_TENSOR_WHY, "directions: |g - fd| %g, |g| %g, |fd| %g",
                       sqrt(sums.apart), sqrt(sums.g), sqrt(sums.fd));
        return false;
    }
    return true;
}

bool cs_tensor_check_gradients(const cs_tensor_case *what, cs_backend *backend,
                               char why[CS_TENSOR_WHY])
{
    CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
    double *x[CS_NET_MOST], *zero[CS_NET_MOST], *g[CS_NET_MOST];
    bool good = true;
    cs_tensor_open(&world, what, backend, true);
    const cs_params *params = &world.net.params;
    cs_tensor_poison(&world);
    cs_tensor_forward(&world);
    cs_tensor_backward(&world);
    for (int64_t i = 0; i < params->count; ++i) {
        int64_t n = params->param[i].rows * params->param[i].cols;
        x[i] = cs_tensor_zeros(n, sizeof *x[i]);
        zero[i] = cs_tensor_zeros(n, sizeof *zero[i]);
        g[i] = cs_tensor_zeros(n, sizeof *g[i]);
        cs_tensor_must(cs_params_get64(params, i, CS_PARAM_VALUE, x[i]), what->name);
        cs_tensor_must(cs_params_get64(params, i, CS_PARAM_GRAD, g[i]), what->name);
    }
    for (int64_t i = 0; i < params->count && good; ++i) {
        good = check_param(&world, i, x, zero, g[i], why);
    }
    good = good && check_directions(&world, x, zero, g, why);
    for (int64_t i = 0; i < params->count; ++i) {
        free(x[i]);
        free(zero[i]);
        free(g[i]);
    }
    return good;
}

/* --- guards ----------------------------------------------------------------------------------- */

static struct {
    cs_status (*alloc)(cs_backend *backend, int64_t bytes, void **out);
    void (*release)(cs_backend *backend, void *memory);
    struct {
        char *memory; /* behind the first guard */
        int64_t bytes;
    } block[MOST_BLOCKS];
    int blocks, damaged;
} guards;

static cs_status guarded_alloc(cs_backend *backend, int64_t bytes, void **out)
{
    unsigned char pattern[GUARD];
    void *memory = NULL;
    memset(pattern, GUARD_BYTE, sizeof pattern);
    cs_status status = guards.alloc(backend, bytes + 2 * GUARD, &memory);
    if (status != CS_OK) return status;
    char *inside = (char *)memory + GUARD;
    if (guards.blocks < MOST_BLOCKS) {
        guards.block[guards.blocks].memory = inside;
        guards.block[guards.blocks++].bytes = bytes;
    } else {
        abort();
    }
    cs_tensor_must(backend->put(backend, memory, pattern, GUARD), "guard");
    cs_tensor_must(backend->put(backend, inside + bytes, pattern, GUARD), "guard");
    *out = inside;
    return CS_OK;
}

static void look_at_guard(cs_backend *backend, const char *memory)
{
    unsigned char found[GUARD];
    cs_tensor_must(backend->get(backend, found, memory, GUARD), "guard");
    for (int i = 0; i < GUARD; ++i) {
        guards.damaged += found[i] != GUARD_BYTE;
    }
}

static void guarded_release(cs_backend *backend, void *memory)
{
    for (int i = 0; i < guards.blocks; ++i) {
        if (guards.block[i].memory == memory) {
            look_at_guard(backend, guards.block[i].memory - GUARD);
            look_at_guard(backend, guards.block[i].memory + guards.block[i].bytes);
            guards.release(backend, guards.block[i].memory - GUARD);
            guards.block[i] = guards.block[--guards.blocks];
            return;
        }
    }
    guards.release(backend, memory); /* the backend's own, from before */
}

static void guards_up(cs_backend *backend)
{
    memset(&guards, 0, sizeof guards);
    guards.alloc = backend->alloc;
    guards.release = backend->release;
    backend->alloc = guarded_alloc;
    backend->release = guarded_release;
}

static bool guards_down(cs_backend *backend, char why[CS_TENSOR_WHY])
{
    backend->alloc = guards.alloc;
    backend->release = guards.release;
    if (guards.damaged > 0) {
        (void)snprintf(why, CS_TENSOR_WHY, "%d bytes written outside of the blocks",
                       guards.damaged);
    }
    return guards.damaged == 0;
}

/* --- comparison ------------------------------------------------------------------------------- */

double cs_tensor_unit_roundoff(cs_real_kind kind)
{
    return kind == CS_REAL_F64 ? 0x1p-53 : kind == CS_REAL_F32 ? 0x1p-24 : 0x1p-8;
}

static double tolerance(const cs_graph *g, const cs_backend *backend)
{
    int64_t n = 1;
    for (int64_t i = 0; i < g->tensors; ++i) {
        n = g->tensor[i].rows > n ? g->tensor[i].rows : n;
        n = g->tensor[i].cols > n ? g->tensor[i].cols : n;
    }
    double step = 2 * cs_tensor_unit_roundoff(backend->activation) +
                  (double)n * cs_tensor_unit_roundoff(backend->parameter);
    return 2 * sqrt(2 * (double)g->ops) * step;
}

/* ||a - factor b|| <= tol ||factor b||; what is infinite in b is the same in a; zero is zero. */
static bool blocks_close(const cs_tensor_block *a, const cs_tensor_block *b, double factor,
                         double tol, char why[CS_TENSOR_WHY])
{
    double apart = 0, size = 0;
    for (int64_t k = 0; k < a->n; ++k) {
        double want = factor * b->x[k];
        if (isinf(want) && a->x[k] == want) {
            continue;
        }
        apart += (a->x[k] - want) * (a->x[k] - want);
        size += want * want;
    }
    if (!(sqrt(apart) <= tol * sqrt(size))) {
        (void)snprintf(why, CS_TENSOR_WHY, "%s: off by %.3g, norm %.3g, tolerance %.3g", a->name,
                       sqrt(apart), sqrt(size), tol * sqrt(size));
        return false;
    }
    return true;
}

/* ||rough - exact|| / ||exact||: what rounding does to this block. */
static double rounding(const cs_tensor_block *rough, const cs_tensor_block *exact)
{
    double apart = 0, size = 0;
    for (int64_t k = 0; k < exact->n; ++k) {
        if (isfinite(exact->x[k])) {
            apart += (rough->x[k] - exact->x[k]) * (rough->x[k] - exact->x[k]);
            size += exact->x[k] * exact->x[k];
        }
    }
    return size > 0 ? sqrt(apart / size) : 0;
}

/* The reference of a result; rough: of the rounded reference, NULL except for bf16. */
typedef struct {
    cs_tensor_result exact, *rough;
} expectation;

static bool results_close(const cs_tensor_world *world, const cs_tensor_result *a,
                          const expectation *want, bool twice, char why[CS_TENSOR_WHY])
{
    double least = tolerance(&world->net.graph, world->backend);
    int first_gradient = a->blocks - (int)world->net.params.count; /* where there are any */
    for (int i = 0; i < a->blocks; ++i) {
        const cs_tensor_block *b = &want->exact.block[i];
        double factor = twice && i >= first_gradient ? 2 : 1;
        double tol = want->rough ? fmax(least, 4 * rounding(&want->rough->block[i], b)) : least;
        if (!blocks_close(&a->block[i], b, factor, tol, why)) {
            return false;
        }
    }
    return true;
}

static bool same_bits(const cs_tensor_result *a, const cs_tensor_result *b, char why[CS_TENSOR_WHY])
{
    for (int i = 0; i < a->blocks; ++i) {
        if (memcmp(a->block[i].x, b->block[i].x, (size_t)a->block[i].n * sizeof(double)) != 0) {
            (void)snprintf(why, CS_TENSOR_WHY, "%s: other bits when repeated", a->block[i].name);
            return false;
        }
    }
    return true;
}

/* Between matrices of the gradient block nothing is written. */
static bool gaps_zero(const cs_tensor_world *world, char why[CS_TENSOR_WHY])
{
    const cs_params *params = &world->net.params;
    int64_t size = cs_real_size(world->backend->parameter);
    CS_AUTO_FREE char *grad = cs_tensor_zeros(params->items, (size_t)size);
    bool good = true;
    cs_tensor_must(world->backend->get(world->backend, grad, params->grad, params->items * size),
                   "get");
    for (int64_t i = 0; i < params->count; ++i) {
        const cs_param *p = &params->param[i];
        int64_t next = i + 1 < params->count ? p[1].offset : params->items;
        for (int64_t k = (p->offset + p->rows * p->cols) * size; k < next * size; ++k) {
            good = good && grad[k] == 0;
        }
    }
    if (!good) {
        (void)snprintf(why, CS_TENSOR_WHY, "gradients written between the parameters");
    }
    return good;
}

static bool compare_training(cs_tensor_world *world, const expectation *want,
                             char why[CS_TENSOR_WHY])
{
    CS_AUTO(cs_tensor_result) first = {0}, again = {0}, twice = {0};
    cs_tensor_step(world, &first);
    cs_tensor_must(cs_params_zero_grad(&world->net.params), "zero");
    cs_tensor_step(world, &again);
    cs_tensor_step(world, &twice);
    bool good = results_close(world, &first, want, false, why) && same_bits(&first, &again, why) &&
                results_close(world, &twice, want, true, why) && gaps_zero(world, why);
    return good;
}

static bool compare_evaluation(cs_tensor_world *world, const expectation *want,
                               char why[CS_TENSOR_WHY])
{
    CS_AUTO(cs_tensor_result) got = {0};
    cs_tensor_step(world, &got);
    bool good = results_close(world, &got, want, false, why);
    return good;
}

static void step_of(cs_backend *ref, const cs_tensor_case *what, bool training,
                    cs_tensor_result *out)
{
    CS_AUTO_BY(cs_tensor_close, cs_tensor_world) world = {0};
    cs_tensor_open(&world, what, ref, training);
    cs_tensor_step(&world, out);
}

static bool compare(cs_backend *backend, cs_backend *ref, const cs_tensor_case *what, bool training,
                    char why[CS_TENSOR_WHY])
{
    cs_tensor_world world;
    cs_tensor_result rough;
    expectation want = {.rough = NULL};
    step_of(ref, what, training, &want.exact);
    if (backend->activation == CS_REAL_BF16) {
        CS_AUTO(cs_backend) *rounded = NULL;
        cs_tensor_must(cs_backend_ref64(&rounded), what->name);
        cs_tensor_round(rounded);
        step_of(rounded, what, training, &rough);
        want.rough = &rough;
    }
    guards_up(backend);
    cs_tensor_open(&world, what, backend, training);
    bool good =
        training ? compare_training(&world, &want, why) : compare_evaluation(&world, &want, why);
    cs_tensor_close(&world);
    good = guards_down(backend, why) && good;
    cs_tensor_result_free(&want.exact);
    if (want.rough) {
        cs_tensor_result_free(want.rough);
    }
    return good;
}

bool cs_tensor_compare(cs_backend *backend, const cs_tensor_case *what, char why[CS_TENSOR_WHY])
{
    CS_AUTO(cs_backend) *ref = NULL;
    cs_tensor_must(cs_backend_ref64(&ref), what->name);
    bool good = compare(backend, ref, what, true, why) && compare(backend, ref, what, false, why);
    return good;
}
