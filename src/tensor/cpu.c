/* The fast CPU backend: memory, scratch, the optimizer, the table of operations.
 *
 * Operations are in cpu_linear.c, cpu_rows.c, cpu_norm.c, cpu_attention.c, cpu_pooled.c and
 * cpu_loss.c, the matrix product in cpu_gemm.c, everything that depends on the vector unit in
 * cpu_kernels.c. tests/backend_ref.c is the specification.
 *
 * Same bits for any number of threads and in every run on one machine: workers take items whose
 * number and content depend on shapes alone, sums within an item run in a fixed order, and partial
 * sums are added in the order of the items. Another vector unit rounds otherwise.
 *
 * What a step costs, for a GPT of 6 layers, width 256, 4 heads, 8192 words, 16 x 128 tokens:
 *   linear maps      6 x 2048 x 6.8M weights                       83.8 GFLOP
 *   attention        7 products of 128 x 128 x 64, 384 times, 2/3     3.8
 *   logits           64 MB written, then read or written five times  0.4 GB
 *   other activations and their gradients                            0.9
 *   gradients zeroed, measured, AdamW                                0.25
 * so with one tile of the AVX-512 kernels at 190 GFLOP/s a core, two cores need 0.23 s for the
 * products and the memory 0.04 s, most of it meanwhile. Measured: docs/results/bench.md. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/simd.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "tensor/cpu_private.h"

enum {
    ALIGNMENT = 64,
    PART = 1 << 16,       /* items of a part of long vectors */
    PART_BYTES = 1 << 18, /* its bytes */
    ROWS = 16,            /* of an item of work: rows of logits are long */
};

/* --- memory ----------------------------------------------------------------------------------- */

static cs_status cpu_alloc(cs_backend *backend, int64_t bytes, void **out)
{
    (void)backend;
    *out = cs_alloc_aligned(bytes, 1);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static void cpu_release(cs_backend *backend, void *memory)
{
    (void)backend;
    cs_free_aligned(memory);
}

static cs_status cpu_copy(cs_backend *backend, void *to, const void *from, int64_t bytes)
{
    (void)backend;
    memcpy(to, from, (size_t)bytes);
    return CS_OK;
}

typedef struct {
    char *memory;
    int64_t bytes;
} zeroing;

static cs_status zero_part(void *ctx, int64_t item, int worker)
{
    (void)worker;
    const zeroing *z = ctx;
    int64_t from = item * PART_BYTES, left = z->bytes - from;
    memset(z->memory + from, 0, (size_t)(left < PART_BYTES ? left : PART_BYTES));
    return CS_OK;
}

static cs_status cpu_zero(cs_backend *backend, void *memory, int64_t bytes)
{
    zeroing z = {memory, bytes};
    return cs_parallel_through((bytes + PART_BYTES - 1) / (PART_BYTES),
                               ((cs_cpu *)backend)->threads, zero_part, &z);
}

/* --- scratch ---------------------------------------------------------------------------------- */

/* At least `items` floats, times `copies`. */
static cs_status grow(float **memory, int64_t *held, int64_t items, int64_t copies)
{
    if (items <= *held) {
        return CS_OK;
    }
    int64_t capacity = (items + items / 8 + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    cs_free_aligned(*memory);
    *held = 0;
    *memory = cs_alloc_aligned(capacity * copies, (int64_t)sizeof **memory);
    if (!*memory) return CS_ERR_MEMORY;
    *held = capacity;
    return CS_OK;
}

cs_status cs_cpu_shared(cs_cpu *cpu, int64_t items)
{
    return grow(&cpu->shared, &cpu->shared_items, items, 1);
}

cs_status cs_cpu_local(cs_cpu *cpu, int64_t items)
{
    return grow(&cpu->local, &cpu->local_items, items, cpu->threads);
}

cs_status cs_cpu_partial(cs_cpu *cpu, int64_t items)
{
    return grow(&cpu->partial, &cpu->partial_items, items, 1);
}

cs_status cs_cpu_ranked(cs_cpu *cpu, int64_t items)
{
    return grow(&cpu->ranked, &cpu->ranked_items, items, 1);
}

/* --- what operations share -------------------------------------------------------------------- */

cs_cpu_matrix cs_cpu_tensor(const cs_run *run, int tensor)
{
    cs_matrix m = cs_run_matrix(run, tensor);
    return (cs_cpu_matrix){m.x, m.grad, true, m.batch, m.length, m.rows, m.cols, m.ld, m.live};
}

cs_cpu_matrix cs_cpu_operand(const cs_run *run, cs_operand operand)
{
    cs_cpu_matrix m = cs_cpu_tensor(run, operand.tensor);
    m.grad = operand.grad ? m.grad : NULL;
    m.add = operand.add;
    return m;
}

cs_cpu_drop cs_cpu_drop_of(const cs_run *run, const cs_op *op, int64_t head, double p)
{
    if (!(p > 0) || !run->graph->training) {
        return (cs_cpu_drop){0};
    }
    return (cs_cpu_drop){.seed = run->key->seed,
                         .step = run->key->step,
                         .micro = run->key->micro,
                         .purpose = cs_drop_purpose(op - run->graph->op, head),
                         .threshold = cs_drop_threshold(p),
                         .scale = (float)(1.0 / (1.0 - p)),
                         .drops = true};
}

typedef struct {
    const cs_cpu *cpu;
    int64_t rows;
    cs_cpu_row row;
    const void *ctx;
} row_job;

static cs_status some_rows(void *ctx, int64_t item, int worker)
{
    const row_job *t = ctx;
    int64_t end = (item + 1) * ROWS < t->rows ? (item + 1) * ROWS : t->rows;
    for (int64_t r = item * ROWS; r < end; ++r) {
        t->row(t->ctx, r, cs_cpu_local_of(t->cpu, worker));
    }
    return CS_OK;
}

cs_status cs_cpu_rows(cs_cpu *cpu, int64_t rows, int64_t items, cs_cpu_row row, const void *ctx)
{
    row_job t = {cpu, rows, row, ctx};
    cs_status status = cs_cpu_local(cpu, items + 1);
    return status ? status
                  : cs_parallel_workers((rows + ROWS - 1) / ROWS, cpu->threads, some_rows, &t);
}

enum { REDUCE_COLS = 256 };

typedef struct {
    const cs_cpu *cpu;
    int64_t parts, n, ld;
    const float *part;
    float *out;
} reduction;

static cs_status reduce_cols(void *ctx, int64_t item)
{
    const reduction *r = ctx;
    int64_t from = item * REDUCE_COLS, n = r->n - from < REDUCE_COLS ? r->n - from : REDUCE_COLS;
    for (int64_t p = 0; p < r->parts; ++p) {
        r->cpu->kernels->add(n, r->part + p * r->ld + from, r->out + from);
    }
    return CS_OK;
}

void cs_cpu_put(const cs_cpu_kernels *kernels, int64_t n, const float *from, float *to, bool add)
{
    if (from && add) {
        kernels->add(n, from, to);
    } else if (from) {
        kernels->copy(n, from, to);
    } else if (!add) {
        memset(to, 0, (size_t)n * sizeof *to);
    }
}

cs_status cs_cpu_reduce(cs_cpu *cpu, int64_t parts, int64_t n, int64_t ld, const float *part,
                        float *out) /* NOLINT(readability-non-const-parameter): items write it */
{
    reduction r = {cpu, parts, n, ld, part, out};
    return out ? cs_parallel((n + REDUCE_COLS - 1) / REDUCE_COLS, cpu->threads, reduce_cols, &r)
               : CS_OK;
}

/* --- the optimizer ---------------------------------------------------------------------------- */

typedef struct {
    const cs_cpu *cpu;
    int64_t n;
    const float *x;
    double *sum;
} squaring;

static cs_status square_part(void *ctx, int64_t item)
{
    const squaring *s = ctx;
    int64_t from = item * PART, n = s->n - from < PART ? s->n - from : PART;
    s->sum[item] = s->cpu->kernels->squares(n, s->x + from);
    return CS_OK;
}

static cs_status cpu_norm(cs_backend *backend, int64_t n, const void *x, double *out)
{
    cs_cpu *cpu = (cs_cpu *)backend;
    int64_t parts = (n + PART - 1) / PART;
    cs_status status = cs_cpu_partial(cpu, 2 * parts);
    if (status != CS_OK) return status;
    squaring s = {cpu, n, x, (double *)(void *)cpu->partial};
    status = cs_parallel(parts, cpu->threads, square_part, &s);
    *out = status == CS_OK ? sqrt(cs_total(parts, s.sum)) : 0;
    return status;
}

typedef struct {
    const cs_cpu *cpu;
    const cs_update *update;
    float c;
} updating;

static cs_status update_part(void *ctx, int64_t item, int worker)
{
    (void)worker;
    const updating *t = ctx;
    const cs_update *u = t->update;
    int64_t from = item * PART, n = u->n - from < PART ? u->n - from : PART;
    cs_cpu_adamw part = {.n = n,
                         .value = (float *)u->value + from,
                         .m = (float *)u->m + from,
                         .v = (float *)u->v + from,
                         .grad = (const float *)u->grad + from,
                         .decay = u->decay + from,
                         .c = t->c,
                         .hyper = *u->hyper};
    t->cpu->kernels->adamw(&part);
    return CS_OK;
}

/* Not to be abandoned half way: an interrupt waits until all parameters are of one step. */
static cs_status cpu_adamw(cs_backend *backend, const cs_update *update)
{
    double norm = *update->norm, clip = (double)update->hyper->clip;
    updating t = {(cs_cpu *)backend, update, clip > 0 && norm > clip ? (float)(clip / norm) : 1.0F};
    return isfinite(norm)
               ? cs_parallel_through((update->n + PART - 1) / PART, t.cpu->threads, update_part, &t)
               : CS_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

static void cpu_free(cs_backend *backend)
{
    cs_cpu *cpu = (cs_cpu *)backend;
    cs_free_aligned(cpu->shared);
    cs_free_aligned(cpu->local);
    cs_free_aligned(cpu->partial);
    cs_free_aligned(cpu->ranked);
    cs_free(cpu);
}

CS_SIMD_DECLARE(cs_cpu_kernels, cs_cpu_kernels);

const cs_cpu_kernels *cs_cpu_kernels_named(const char *name)
{
    const cs_cpu_kernels *const sets[] = CS_SIMD_TABLES(cs_cpu_kernels);
    for (int i = cs_simd_sets() - 1; i >= 0; --i) {
        if (!name || strcmp(name, sets[i]->name) == 0) {
            return sets[i];
        }
    }
    return NULL;
}

#define FORWARD(KIND, name, operands) [CS_OP_##KIND] = cs_cpu_##name,
#define BACKWARD(KIND, name, operands) [CS_OP_##KIND] = cs_cpu_##name##_back,

static const cs_backend table = {
    .name = "cpu",
    .activation = CS_REAL_F32,
    .parameter = CS_REAL_F32,
    .streams = true,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .put = cpu_copy,
    .get = cpu_copy,
    .zero = cpu_zero,
    .forward = {CS_EACH_OP(FORWARD)},
    .backward = {CS_EACH_OP(BACKWARD)},
    .norm = cpu_norm,
    .adamw = cpu_adamw,
    .free = cpu_free,
};

cs_status cs_cpu_open(int threads, const char *kernels, cs_backend **out)
{
    const cs_cpu_kernels *found = cs_cpu_kernels_named(kernels);
    if (!found) {
        return cs_fail(CS_ERR_DEVICE, "this processor has no vector unit named %s", kernels);
    }
    cs_cpu *cpu = cs_calloc(1, sizeof *cpu);
    if (!cpu) return CS_ERR_MEMORY;
    cpu->backend = table;
    cpu->kernels = found;
    cpu->threads = threads > 0 ? threads : cs_threads();
    *out = &cpu->backend;
    return CS_OK;
}

cs_status cs_backend_cpu(int threads, cs_backend **out)
{
    return cs_cpu_open(threads, NULL, out);
}
