/* Two nearest rows by blocks of inner products (packed panels, tile_private.h). */
#include "linalg/nearest.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/tile_private.h"

enum { KEPT = 3 };

typedef struct {
    const cs_rows *rows;
    const cs_tile_kernels *kernels;
    int64_t n, d, panels;
    double *packed; /* panels x d x CS_TILE */
    double *square; /* panels x CS_TILE */
    double *tiles;  /* a worker: one tile, then two rows */
    int64_t scratch;
    const cs_progress *progress;
    _Atomic int64_t done; /* panels */
    double *first, *second;
} searcher;

typedef struct {
    double distance[KEPT]; /* squared, ascending */
    int64_t row[KEPT];
} candidates;

static cs_status pack_rows(void *ctx, int64_t p, int worker)
{
    const searcher *s = ctx;
    double *x = s->tiles + worker * s->scratch, *panel = s->packed + p * s->d * CS_TILE;
    memset(panel, 0, (size_t)(s->d * CS_TILE) * sizeof *panel);
    for (int64_t i = 0; i < cs_least(CS_TILE, s->n - p * CS_TILE); ++i) {
        const int64_t row = p * CS_TILE + i;
        cs_status status = cs_rows_read_finite(s->rows, row, 1, x);
        if (status != CS_OK) return status;
        double square = 0.0;
        for (int64_t k = 0; k < s->d; ++k) {
            panel[k * CS_TILE + i] = x[k];
            square += x[k] * x[k];
        }
        s->square[row] = square;
    }
    return CS_OK;
}

static void offer(candidates *c, double distance, int64_t row)
{
    if (!(distance < c->distance[KEPT - 1])) {
        return; /* of equal ones the lower row, which came before */
    }
    int at = KEPT - 1;
    for (; at > 0 && distance < c->distance[at - 1]; --at) {
        c->distance[at] = c->distance[at - 1];
        c->row[at] = c->row[at - 1];
    }
    c->distance[at] = distance;
    c->row[at] = row;
}

/* The distances of row i to its candidates by differences, the two least of them. */
static cs_status settle(const searcher *s, int64_t i, const candidates *c, double *x)
{
    double *y = x + s->d, two[2] = {INFINITY, INFINITY};
    cs_status status = cs_rows_read_f64(s->rows, i, 1, x);
    for (int k = 0; k < KEPT && status == CS_OK && c->row[k] >= 0; ++k) {
        status = cs_rows_read_f64(s->rows, c->row[k], 1, y);
        double sum = 0.0;
        for (int64_t j = 0; j < s->d && status == CS_OK; ++j) {
            sum += (x[j] - y[j]) * (x[j] - y[j]);
        }
        if (sum < two[0]) {
            two[1] = two[0];
            two[0] = sum;
        } else if (sum < two[1]) {
            two[1] = sum;
        }
    }
    s->first[i] = sqrt(two[0]);
    s->second[i] = sqrt(two[1]);
    return status;
}

/* All neighbours of the rows of panel p. */
static cs_status search_panel(void *ctx, int64_t p, int worker)
{
    searcher *s = ctx;
    double *tile = s->tiles + worker * s->scratch;
    candidates c[CS_TILE];
    for (int i = 0; i < CS_TILE; ++i) {
        for (int k = 0; k < KEPT; ++k) {
            c[i].distance[k] = INFINITY;
            c[i].row[k] = -1;
        }
    }
    const int64_t count = cs_least(CS_TILE, s->n - p * CS_TILE);
    for (int64_t q = 0; q < s->panels; ++q) {
        memset(tile, 0, sizeof(double[CS_TILE * CS_TILE]));
        for (int64_t k = 0; k < s->d; k += CS_TILE_STEPS) {
            s->kernels->product[1](cs_least(CS_TILE_STEPS, s->d - k),
                                   s->packed + (p * s->d + k) * CS_TILE,
                                   s->packed + (q * s->d + k) * CS_TILE, tile);
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t row = p * CS_TILE + i;
            for (int64_t j = 0; j < cs_least(CS_TILE, s->n - q * CS_TILE); ++j) {
                const int64_t other = q * CS_TILE + j;
                if (other != row) {
                    offer(&c[i], s->square[row] + s->square[other] - 2.0 * tile[i * CS_TILE + j],
                          other);
                }
            }
        }
    }
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        status = settle(s, p * CS_TILE + i, &c[i], tile);
    }
    const int64_t done = atomic_fetch_add(&s->done, 1) + 1;
    if (worker == 0 && done < s->panels) /* which is for one thread at a time */
        cs_progress_report(s->progress, "neighbours", done * CS_TILE, s->n);
    return status;
}

cs_status cs_nearest_two(const cs_rows *rows, int threads, const cs_progress *progress,
                         double *first, double *second)
{
    if (rows->rows < 3) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %" PRId64 " rows; the intrinsic dimension needs at least 3 rows",
                       rows->name ? rows->name : "matrix", rows->rows);
    }
    for (int64_t i = 0; i < rows->rows; ++i) {
        first[i] = second[i] = NAN; /* should the search fail */
    }
    threads = threads > 0 ? threads : cs_threads();
    const int64_t d = rows->cols, tile = (int64_t)CS_TILE * CS_TILE;
    searcher s = {.rows = rows,
                  .kernels = cs_tile_kernels_here(),
                  .n = rows->rows,
                  .d = d,
                  .panels = (rows->rows + CS_TILE - 1) / CS_TILE,
                  .scratch = (cs_most(2 * d, tile) + 7) / 8 * 8,
                  .progress = progress,
                  .first = first,
                  .second = second};
    s.packed = cs_alloc_aligned(s.panels * CS_TILE, d * (int64_t)sizeof *s.packed);
    s.square = cs_calloc(s.panels * CS_TILE, sizeof *s.square);
    s.tiles = cs_alloc_aligned(threads, s.scratch * (int64_t)sizeof *s.tiles);
    cs_status status = s.packed && s.square && s.tiles ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_parallel_workers(s.panels, threads, pack_rows, &s);
    if (status == CS_OK) status = cs_parallel_workers(s.panels, threads, search_panel, &s);
    if (status == CS_OK) cs_progress_report(progress, "neighbours", s.n, s.n);
    cs_free_aligned(s.packed);
    cs_free_aligned(s.tiles);
    cs_free(s.square);
    return status;
}
