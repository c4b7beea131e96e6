/* Rotary positions and gates, row by row. */
#include <math.h>

#include "base/ints.h"
#include "tensor/cpu_private.h"
#include "tensor/rotate.h"

/* --- rotary positions ------------------------------------------------------------------------- */

typedef struct {
    cs_cpu *cpu;
    const cs_op_rotate *o;
    cs_cpu_matrix x, y;
    const float *frequency;
    const int32_t *position;
    int64_t n, width;  /* pairs, columns of a head */
    int64_t length;    /* rows of a sequence */
    const float *last; /* largest position of each sequence; NULL: not needed */
    bool backward;
} rotation;

/* Row `from` of all heads, turned, into `turned`; cosines and sines are formed once a row. */
static void turn(const rotation *t, int32_t position, int64_t last, const float *from,
                 float *angles, float *turned)
{
    const int64_t n = position < 0 ? 0 : t->n, cols = t->y.cols;
    float *cosine = angles, *sine = angles + t->n;
    for (int64_t i = 0; i < n; ++i) {
        const double f = (double)t->frequency[i],
                     longer = t->o->longer.table ? (double)t->frequency[t->n + i] : f,
                     angle = cs_rotate_frequency(t->o, t->n, i, last, f, longer) * position;
        const double sign = t->backward ? -t->o->factor : t->o->factor;
        cosine[i] = (float)(t->o->factor * cos(angle));
        sine[i] = (float)(sign * sin(angle));
    }
    t->cpu->kernels->copy(cols, from, turned);
    for (int64_t h = 0; h < cols; h += t->width) {
        for (int64_t i = 0; i < n; ++i) {
            const int64_t a = h + (t->o->pairs ? 2 * i : i), b = a + (t->o->pairs ? 1 : n);
            turned[a] = from[a] * cosine[i] - from[b] * sine[i];
            turned[b] = from[b] * cosine[i] + from[a] * sine[i];
        }
    }
}

static void rotate_row(const void *ctx, int64_t r, float *scratch)
{
    const rotation *t = ctx;
    const float *from = t->backward ? t->y.grad + r * t->y.ld : t->x.x + r * t->x.ld;
    float *to = t->backward ? t->x.grad + r * t->x.ld : t->y.x + r * t->y.ld;
    float *turned = scratch + 2 * t->n;
    turn(t, t->position[r], t->last ? (int64_t)t->last[r / t->length] : 0, from, scratch, turned);
    cs_cpu_put(t->cpu->kernels, t->y.cols, turned, to, t->backward && t->x.add);
}

static cs_status find_last(rotation *t)
{
    const int64_t sequences = t->y.rows / cs_most(t->length, 1);
    cs_status status = cs_cpu_partial(t->cpu, sequences);
    if (status != CS_OK) return status;
    for (int64_t s = 0; s < sequences; ++s) {
        int32_t last = 0;
        for (int64_t i = 0; i < t->length; ++i) {
            const int32_t at = t->position[s * t->length + i];
            last = at > last ? at : last;
        }
        t->cpu->partial[s] = (float)last;
    }
    t->last = t->cpu->partial;
    return CS_OK;
}

static cs_status rotate(const cs_run *run, const cs_op *op, bool backward)
{
    const cs_op_rotate *o = &op->rotate;
    const cs_cpu_matrix frequency = cs_cpu_tensor(run, o->frequency.tensor);
    rotation t = {.cpu = cs_cpu_of(run),
                  .o = o,
                  .x = cs_cpu_operand(run, o->x),
                  .y = cs_cpu_tensor(run, o->y),
                  .frequency = frequency.x,
                  .position = cs_run_ints(run, o->position),
                  .n = frequency.cols,
                  .backward = backward};
    t.width = t.y.cols / o->heads;
    t.n /= o->longer.table ? 2 : 1;
    t.length = t.y.length;
    if (o->longer.original > 0) {
        cs_status status = find_last(&t);
        if (status != CS_OK) return status;
    }
    return backward && !t.x.grad ? CS_OK
                                 : cs_cpu_rows(t.cpu, t.y.rows, 2 * t.n + t.y.cols, rotate_row, &t);
}

CS_CPU_BOTH(rotate, rotate, false, true)

/* --- gates ------------------------------------------------------------------------------------ */

typedef struct {
    const cs_cpu_kernels *kernels;
    const cs_op_gate *o;
    cs_cpu_matrix x, g, y;
} gating;

/* z = inner x, then outer act(z) into `acted`. */
static void act(const gating *t, int64_t r, float *z, float *acted)
{
    const int64_t n = t->y.cols;
    t->kernels->scale(n, (float)t->o->inner, t->x.x + r * t->x.ld, z);
    t->kernels->activate(t->o->act, n, z, acted);
    t->kernels->scale(n, (float)t->o->outer, acted, acted);
}

static void gate_row(const void *ctx, int64_t r, float *scratch)
{
    const gating *t = ctx;
    float *y = t->y.x + r * t->y.ld;
    act(t, r, scratch, y);
    if (t->g.x) {
        t->kernels->multiply(t->y.cols, t->g.x + r * t->g.ld, y);
    }
}

static void gate_back_row(const void *ctx, int64_t r, float *scratch)
{
    const gating *t = ctx;
    const int64_t n = t->y.cols;
    const float *dy = t->y.grad + r * t->y.ld;
    float *z = scratch, *acted = scratch + n;
    act(t, r, z, acted);
    if (t->g.grad) {
        t->kernels->multiply(n, dy, acted);
        cs_cpu_put(t->kernels, n, acted, t->g.grad + r * t->g.ld, t->g.add);
    }
    if (t->x.grad) {
        t->kernels->scale(n, (float)(t->o->outer * t->o->inner), dy, acted);
        if (t->g.x) {
            t->kernels->multiply(n, t->g.x + r * t->g.ld, acted);
        }
        t->kernels->slope(t->o->act, n, z, acted);
        cs_cpu_put(t->kernels, n, acted, t->x.grad + r * t->x.ld, t->x.add);
    }
}

static cs_status by_rows(const cs_run *run, const cs_op *op, cs_cpu_row row)
{
    gating t = {.kernels = cs_cpu_of(run)->kernels,
                .o = &op->gate,
                .x = cs_cpu_operand(run, op->gate.x),
                .g = cs_cpu_operand(run, op->gate.g),
                .y = cs_cpu_tensor(run, op->gate.y)};
    return cs_cpu_rows(cs_cpu_of(run), t.y.rows, 2 * t.y.cols, row, &t);
}

CS_CPU_BOTH(gate, by_rows, gate_row, gate_back_row)
