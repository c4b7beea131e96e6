/* The space of an operator in memory.
 *
 * Method: a panel is rows x 8 doubles, row by row, so that a row is a cache line: what a sparse
 * product fetches for a nonzero, and what the kernels of skinny products load at once. Rows are
 * padded with zeros to a multiple of 8. Work is dealt in fixed runs of rows; inner products are
 * summed per run and added in the order of the runs, so that bits do not depend on threads. Within
 * a run, a slice of W that the L1 cache holds meets every panel in turn: a panel is read once
 * from memory, W too. Where W is written, 8 panels meet the slice at once: more streams than one
 * from memory, and coefficients that stay in the L1 cache for all rows of the slice; each sum is
 * kept in W between, in the same order.
 *
 * Limits: bits differ between instruction sets (fused multiply-adds). An operator without panel
 * products is applied through two column-major copies.
 */
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "linalg/space.h"
#include "linalg/space_private.h"

enum {
    B = CS_PANEL,
    SLICE = 256,            /* rows of a panel that the L1 cache holds: 16 KB */
    LEAST_ROWS = 4 * SLICE, /* of a run */
    MOST_RUNS = 64,         /* more would only make more partial sums */
    COMBINED_ROWS = 128,    /* rows taken at once by a combination: 8 KB */
    ROTATED_ROWS = 64,      /* by a rotation, of all panels */
    TOGETHER = 8            /* panels read at once: their squares are 4 KB */
};

struct cs_panel {
    cs_side side;
    int64_t rows, padded;
    double *data; /* padded x 8 */
};

typedef struct {
    const cs_linop *a;
    int threads;
    const cs_space_kernels *kernels;
    cs_dense x, y; /* copies for an operator without panel products */
    double *work;  /* of a normal product that takes more than a left panel, made when first used */
} memory;

static cs_status create(cs_space *s, cs_side side, cs_panel **out)
{
    int64_t rows = side == CS_LEFT ? s->rows : s->cols;
    cs_panel panel = {.side = side, .rows = rows, .padded = (rows + B - 1) / B * B};
    cs_panel *made = cs_alloc(1, sizeof *made);
    panel.data = made ? cs_csr_panel_alloc(panel.padded) : NULL;
    if (!panel.data) {
        cs_free(made);
        return CS_ERR_MEMORY;
    }
    *made = panel;
    *out = made;
    return CS_OK;
}

static void destroy(cs_panel *panel)
{
    if (panel) {
        cs_free_aligned(panel->data);
        cs_free(panel);
    }
}

/* --- runs of rows ----------------------------------------------------------------------------- */

/* Rows of a run: a function of the length alone. */
static int64_t run_rows(int64_t padded)
{
    int64_t rows = (padded + MOST_RUNS - 1) / MOST_RUNS;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows;
    return (rows + SLICE - 1) / SLICE * SLICE;
}

typedef struct {
    const cs_space_kernels *kernels;
    int64_t p, q, padded, run;
    double *const *panels;
    const double *c;
    const double *w;
    double *sums; /* of each run: p squares */
    double *to;
    bool keep;
    uint64_t seed, index;
    int64_t rows, threads;
    double *work; /* of each worker */
} row_job;

static int64_t runs_of(const row_job *j)
{
    return (j->padded + j->run - 1) / j->run;
}

static int64_t run_end(const row_job *j, int64_t item)
{
    int64_t end = (item + 1) * j->run;
    return end < j->padded ? end : j->padded;
}

/* The data of p panels; freed by the caller. */
static double **data_of(int64_t p, cs_panel *const *panels)
{
    double **data = cs_alloc(p, sizeof *data);
    for (int64_t q = 0; data && q < p; ++q) {
        data[q] = panels[q]->data;
    }
    return data;
}

static cs_status random_run(void *ctx, int64_t item)
{
    const row_job *j = ctx;
    int64_t end = run_end(j, item);
    end = end < j->rows ? end : j->rows;
    /* A generator for each run, whose rows are fixed by the length. */
    cs_rng rng = cs_rng_at(j->seed, CS_STREAM_SOLVER, (j->index << 16) + (uint64_t)item);
    for (int64_t i = item * j->run * B; i < end * B; ++i) {
        j->to[i] = cs_rng_normal(&rng);
    }
    return CS_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through row_job */
cs_status cs_space_random(uint64_t seed, uint64_t index, int64_t rows, int threads, double *to)
{
    int64_t padded = (rows + B - 1) / B * B;
    row_job j = {.padded = padded,
                 .rows = rows,
                 .run = run_rows(padded),
                 .to = to,
                 .seed = seed,
                 .index = index};
    return cs_parallel(runs_of(&j), threads, random_run, &j);
}

static cs_status random_panel(cs_space *s, uint64_t seed, uint64_t index, cs_panel *x)
{
    const memory *m = s->ctx;
    return cs_space_random(seed, index, x->rows, m->threads, x->data);
}

static cs_status gram_run(void *ctx, int64_t item)
{
    const row_job *j = ctx;
    double *h = j->sums + item * j->p * B * B;
    memset(h, 0, (size_t)(j->p * B * B) * sizeof *h);
    for (int64_t i = item * j->run, end = run_end(j, item); i < end; i += SLICE) {
        int64_t rows = cs_least(end - i, SLICE);
        for (int64_t q = 0; q < j->p; ++q) {
            j->kernels->gram(rows, j->panels[q] + i * B, j->w + i * B, h + q * B * B);
        }
    }
    return CS_OK;
}

static cs_status gram_panels(cs_space *s, int64_t p, cs_panel *const *panels, const cs_panel *w,
                             double *h)
{
    const memory *m = s->ctx;
    int64_t size = p * B * B;
    row_job j = {.kernels = m->kernels,
                 .p = p,
                 .padded = w->padded,
                 .run = run_rows(w->padded),
                 .w = w->data};
    CS_AUTO_FREE double **data = data_of(p, panels);
    j.panels = data;
    j.sums = cs_alloc(runs_of(&j) * size, sizeof *j.sums);
    cs_status status = data && j.sums ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_parallel(runs_of(&j), m->threads, gram_run, &j);
    if (status == CS_OK) {
        memset(h, 0, (size_t)size * sizeof *h);
        for (int64_t r = 0; r < runs_of(&j); ++r) {
            for (int64_t e = 0; e < size; ++e) {
                h[e] += j.sums[r * size + e];
            }
        }
    }
    cs_free(j.sums);
    return status;
}

static cs_status combine_run(void *ctx, int64_t item)
{
    const row_job *j = ctx;
    int64_t begin = item * j->run, end = run_end(j, item);
    for (int64_t i = begin; i < end; i += COMBINED_ROWS) {
        int64_t rows = cs_least(end - i, COMBINED_ROWS);
        int64_t q = 0;
        do { /* once without panels: W may have to be cleared */
            int64_t p = j->p - q < TOGETHER ? j->p - q : TOGETHER;
            const double *c = j->p > 0 ? j->c + q * B * B : NULL;
            j->kernels->combine(rows, i, p, j->panels + q, c, q > 0 || j->keep, j->to + i * B);
            q += TOGETHER;
        } while (q < j->p);
    }
    return CS_OK;
}

static cs_status combine_panels(cs_space *s, int64_t p, cs_panel *const *panels, const double *c,
                                bool keep, cs_panel *w)
{
    const memory *m = s->ctx;
    CS_AUTO_FREE double **data = data_of(p, panels);
    row_job j = {.kernels = m->kernels,
                 .p = p,
                 .padded = w->padded,
                 .run = run_rows(w->padded),
                 .panels = data,
                 .c = c,
                 .keep = keep,
                 .to = w->data};
    return data ? cs_parallel(runs_of(&j), m->threads, combine_run, &j) : CS_ERR_MEMORY;
}

static cs_status rotate_run(void *ctx, int64_t item, int worker)
{
    const row_job *j = ctx;
    double *work = j->work + (int64_t)worker * j->q * ROTATED_ROWS * B;
    for (int64_t i = item * j->run, end = run_end(j, item); i < end; i += ROTATED_ROWS) {
        int64_t rows = cs_least(end - i, ROTATED_ROWS);
        for (int64_t l = 0; l < j->p; l += TOGETHER) {
            int64_t p = j->p - l < TOGETHER ? j->p - l : TOGETHER;
            for (int64_t o = 0; o < j->q; ++o) {
                j->kernels->combine(rows, i, p, j->panels + l, j->c + (o * j->p + l) * B * B, l > 0,
                                    work + o * ROTATED_ROWS * B);
            }
        }
        for (int64_t o = 0; o < j->q; ++o) {
            memcpy(j->panels[o] + i * B, work + o * ROTATED_ROWS * B,
                   (size_t)(rows * B) * sizeof *work);
        }
    }
    return CS_OK;
}

static cs_status rotate_panels(cs_space *s, int64_t p, int64_t q, cs_panel *const *panels,
                               const cs_dense *c)
{
    const memory *m = s->ctx;
    if (q == 0) {
        return CS_OK;
    }
    CS_AUTO_FREE double **data = data_of(p, panels);
    CS_AUTO_FREE double *squares = cs_alloc(p * q * B * B, sizeof *squares);
    int64_t threads = m->threads > 0 ? m->threads : cs_threads();
    row_job j = {.kernels = m->kernels,
                 .p = p,
                 .q = q,
                 .padded = panels[0]->padded,
                 .run = run_rows(panels[0]->padded),
                 .panels = data,
                 .c = squares};
    j.work = cs_alloc(threads * q * ROTATED_ROWS * B, sizeof *j.work);
    cs_status status = data && squares && j.work ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t o = 0; o < q * B; ++o) {
            for (int64_t l = 0; l < p * B; ++l) {
                squares[((o / B * p + l / B) * B + l % B) * B + o % B] = c->data[l + o * c->ld];
            }
        }
        /* Half done it would leave neither basis: no stop between runs. */
        status = cs_parallel_through(runs_of(&j), (int)threads, rotate_run, &j);
    }
    cs_free(j.work);
    return status;
}

/* --- columns ---------------------------------------------------------------------------------- */

typedef struct {
    row_job rows;
    const double *panel;
    int64_t count, ld;
    double *columns;
} column_job;

static cs_status get_run(void *ctx, int64_t item)
{
    const column_job *j = ctx;
    int64_t end = run_end(&j->rows, item);
    end = end < j->rows.rows ? end : j->rows.rows;
    for (int64_t i = item * j->rows.run; i < end; ++i) {
        for (int64_t c = 0; c < j->count; ++c) {
            j->columns[i + c * j->ld] = j->panel[i * B + c];
        }
    }
    return CS_OK;
}

static cs_status get_columns(cs_space *s, const cs_panel *x, int64_t count, int64_t first,
                             cs_dense *to)
{
    const memory *m = s->ctx;
    column_job j = {
        .rows = {.padded = x->padded, .rows = x->rows, .run = run_rows(x->padded)},
        .panel = x->data,
        .count = count,
        .ld = to->ld,
        .columns = to->data + first * to->ld,
    };
    return cs_parallel(runs_of(&j.rows), m->threads, get_run, &j);
}

static cs_status put_columns(cs_space *s, const cs_dense *from, int64_t first, int64_t count,
                             cs_panel *x)
{
    (void)s;
    cs_csr_panel_put(from, first, count, x->data);
    return CS_OK;
}

static cs_status apply_panel(cs_space *s, const cs_panel *x, cs_panel *y)
{
    memory *m = s->ctx;
    bool transposed = x->side == CS_LEFT;
    if (m->a->panel) {
        return cs_linop_panel(m->a, transposed, x->data, y->data);
    }
    cs_dense *in = transposed ? &m->x : &m->y, *out = transposed ? &m->y : &m->x;
    cs_status status = m->x.data ? CS_OK : cs_dense_init(&m->x, s->rows, B);
    status = status || m->y.data ? status : cs_dense_init(&m->y, s->cols, B);
    status = status ? status : get_columns(s, x, B, 0, in);
    status = status ? status : cs_linop_apply(m->a, transposed, in, out);
    return status ? status : put_columns(s, out, 0, B, y);
}

static cs_status apply_normal(cs_space *s, const cs_panel *x, cs_panel *half, cs_panel *y)
{
    memory *m = s->ctx;
    const int64_t size = m->a->normal ? m->a->work_size : -1;
    if (size < 0) {
        cs_status status = apply_panel(s, x, half);
        return status ? status : apply_panel(s, half, y);
    }
    if (size <= half->padded * B) {
        return cs_linop_normal(m->a, x->data, y->data, half->data);
    }
    if (!m->work) {
        m->work = cs_csr_panel_alloc((size + B - 1) / B);
        if (!m->work) return CS_ERR_MEMORY;
    }
    return cs_linop_normal(m->a, x->data, y->data, m->work);
}

cs_status cs_space_cpu(const cs_linop *a, int threads, cs_space *out)
{
    memory *m = cs_calloc(1, sizeof *m);
    if (!m) return CS_ERR_MEMORY;
    const cs_space_kernels *const sets[] = CS_SIMD_TABLES(cs_space_kernels);
    *m = (memory){.a = a, .threads = threads, .kernels = sets[cs_simd_sets() - 1]};
    *out = (cs_space){.rows = a->rows,
                      .cols = a->cols,
                      .block = B,
                      .semidefinite = a->semidefinite,
                      .ctx = m,
                      .create = create,
                      .destroy = destroy,
                      .random = random_panel,
                      .apply = apply_panel,
                      .normal = apply_normal,
                      .gram = gram_panels,
                      .combine = combine_panels,
                      .rotate = rotate_panels,
                      .get = get_columns,
                      .put = put_columns};
    return CS_OK;
}

void cs_space_cpu_free(cs_space *space)
{
    memory *m = space->ctx;
    if (m) {
        cs_dense_free(&m->x);
        cs_dense_free(&m->y);
        cs_free_aligned(m->work);
        cs_free(m);
    }
    *space = (cs_space){0};
}
