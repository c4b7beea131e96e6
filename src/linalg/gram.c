/* Streaming Gram matrix on packed panels.
 *
 * A chunk of rows (some MB, all of one group) is read, packed into panels of 16 columns by 128 rows
 * and searched for values that are not finite, a run of 128 rows an item; then the blocks of the
 * upper triangle are the items: each sums its tiles over 4,096 rows in float and adds them to the
 * double matrix. An entry belongs to one item and its terms come in the order of the rows, so
 * threads do not affect the sum. Panels follow Goto and van de Geijn (ACM TOMS 34(3), 2008). The
 * order of rows that lie apart is made by counting.
 */
#include "linalg/gram.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/tile_private.h"

enum {
    STEPS = CS_TILE_STEPS,
    SLAB = 32,              /* runs of STEPS rows summed in the tile's type */
    CHUNK_BYTES = 16 << 20, /* packed rows at a time */
    MOST_ROWS = 1 << 16,    /* of a chunk */
    WIDEST_BLOCK = 12,      /* panels of a block of the result */
    PIECE = 16,             /* rows packed before the next panel: lines follow each other */
};

/* Row statistics gathered along with the panels. */
typedef struct {
    double square, heaviest_square;
    int64_t heaviest, zeros, vanished;
} run_facts;

typedef struct {
    cs_gram *g;
    const cs_rows *rows;
    const cs_tile_kernels *kernels;
    /* row numbers by group, or NULL: in the order of the matrix */
    const int64_t *order;
    int64_t panels, block_panels, blocks; /* of the columns */
    int64_t item;                         /* bytes of a number */
    bool widen;                           /* rows are read as floats and packed as doubles */
    int64_t chunk_rows;
    int64_t first, count; /* the chunk: positions in order */
    int64_t group;
    bool transform;
    char *packed;     /* runs x panels x STEPS x CS_TILE */
    char *sums;       /* runs x panels x CS_TILE */
    run_facts *facts; /* runs */
    /* A worker: STEPS x cols rows, STEPS x lanes squares, and as doubles what is transformed. */
    char *scratch;
    char *tiles; /* a worker: block_panels^2 tiles */
    int64_t scratch_bytes, tile_bytes;
} adder;

/* Item of an array of the type that products are summed in. */
static double item_of(const cs_gram *g, const void *x, int64_t i)
{
    return g->wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Bytes of a number as it is read. */
static int64_t read_item(const adder *a)
{
    return a->widen ? (int64_t)sizeof(float) : a->item;
}

static int64_t row_at(const adder *a, int64_t position)
{
    return a->order ? a->order[position] : position;
}

/* --- packing ---------------------------------------------------------------------------------- */

/* Rows at positions from.. into `out`, by runs of consecutive ones; as doubles or as floats. */
static cs_status gather(const adder *a, int64_t from, int64_t count, bool wide, void *out)
{
    cs_status status = CS_OK;
    const int64_t bytes = a->rows->cols * (int64_t)(wide ? sizeof(double) : sizeof(float));
    for (int64_t k = 0; k < count && status == CS_OK;) {
        int64_t row = row_at(a, from + k), run = 1;
        while (k + run < count && row_at(a, from + k + run) == row + run) {
            ++run;
        }
        void *to = (char *)out + k * bytes;
        status = wide ? cs_rows_read_f64(a->rows, row, run, to)
                      : cs_rows_read_f32(a->rows, row, run, to);
        k += run;
    }
    return status;
}

cs_status cs_tile_bad_row(const cs_rows *rows, int64_t row, bool wide)
{
    const char *name = rows->name ? rows->name : "matrix";
    CS_AUTO_FREE double *x = cs_alloc(rows->cols, sizeof *x);
    cs_status status = x ? cs_rows_read_f64(rows, row, 1, x) : CS_ERR_MEMORY;
    for (int64_t j = 0; j < rows->cols && status == CS_OK; ++j) {
        if (!(fabs(x[j]) <= (wide ? DBL_MAX : (double)FLT_MAX))) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: row %" PRId64 ", column %" PRId64 ": value %g is not finite%s",
                             name, row, j, x[j], isfinite(x[j]) ? " in single precision" : "");
        }
    }
    return status ? status
                  : cs_fail(CS_ERR_INPUT,
                            "%s: row %" PRId64 ": its squares exceed the range of %s precision",
                            name, row, wide ? "double" : "single");
}

static cs_status bad_row(const adder *a, int64_t row)
{
    return cs_tile_bad_row(a->rows, row, a->g->wide);
}

/* Whether the squares of rows as large as this one add up within the type: 2^12 rows in float, 2^62
 * in double, with a margin for the centring's product of sums. */
static bool in_range(const adder *a, double square)
{
    return square <= (a->g->wide ? DBL_MAX * 0x1p-128 : (double)FLT_MAX * 0x1p-13);
}

static double sum_of_lanes(const adder *a, const char *square, int64_t k)
{
    double sum = 0.0;
    for (int64_t l = 0; l < CS_TILE_LANES; ++l) {
        int64_t at = k * CS_TILE_LANES + l;
        sum += item_of(a->g, square, at);
    }
    return sum;
}

/* Takes the squared norm of a row, as it was given, into the run's facts. */
static cs_status take_square(const adder *a, int64_t row, double square, const void *values,
                             bool wide, run_facts *facts)
{
    if (!isfinite(square)) {
        return bad_row(a, row);
    }
    facts->square += square;
    if (square == 0.0) {
        bool nothing = true;
        for (int64_t j = 0; j < a->rows->cols && nothing; ++j) {
            nothing =
                wide ? ((const double *)values)[j] == 0.0 : ((const float *)values)[j] == 0.0F;
        }
        facts->zeros += nothing;
        facts->vanished += !nothing;
    }
    if (square > facts->heaviest_square) {
        facts->heaviest_square = square;
        facts->heaviest = row;
    }
    return CS_OK;
}

/* Rows divided by their norms and shifted, in double, then rounded to the type. A row whose squares
 * vanish stays as it is. */
static cs_status transform(const adder *a, int64_t from, int64_t count, double *raw, char *values,
                           run_facts *facts)
{
    const int64_t d = a->rows->cols;
    cs_status status = gather(a, from, count, true, raw);
    for (int64_t k = 0; k < count && status == CS_OK; ++k) {
        double *x = raw + k * d, square = cs_inner(d, x, x), kept = 0.0;
        status = take_square(a, row_at(a, from + k), square, x, true, facts);
        const double scale = a->g->normalise && square > 0.0 ? 1.0 / sqrt(square) : 1.0;
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            double y = x[j] * scale - a->g->origin[j];
            kept += y * y;
            if (a->g->wide) {
                ((double *)values)[k * d + j] = y;
            } else {
                ((float *)values)[k * d + j] = (float)y;
            }
        }
        if (status == CS_OK && !in_range(a, kept)) status = bad_row(a, row_at(a, from + k));
    }
    return status;
}

/* All panels of a run; sums and squares start at 0. */
static void pack_panels(const adder *a, int64_t count, const char *values, char *packed, char *sums,
                        char *square)
{
    const int64_t d = a->rows->cols, panel = (int64_t)STEPS * CS_TILE * a->item;
    const int64_t read = read_item(a);
    const int kernel = a->widen ? 2 : a->g->wide;
    memset(sums, 0, (size_t)(a->panels * CS_TILE * a->item));
    memset(square, 0, (size_t)((int64_t)STEPS * CS_TILE_LANES * a->item));
    for (int64_t k = 0; k < count; k += PIECE) {
        const int64_t rows = cs_least(PIECE, count - k);
        char *lanes = square + k * CS_TILE_LANES * a->item;
        for (int64_t p = 0; p < a->panels; ++p) {
            const char *x = values + (k * d + p * CS_TILE) * read;
            char *to = packed + p * panel + k * CS_TILE * a->item;
            char *sum = sums + p * CS_TILE * a->item;
            const int64_t cols = cs_least(CS_TILE, d - p * CS_TILE);
            a->kernels->pack[kernel](rows, cols, x, d, to, sum, lanes);
        }
    }
}

/* The run's rows, which ascend, in memory without a copy; NULL when they are not contiguous. */
static const char *in_place(const adder *a, int64_t from, int64_t count)
{
    const char *data =
        a->g->wide && !a->widen ? (const char *)a->rows->f64 : (const char *)a->rows->f32;
    int64_t first = row_at(a, from);
    bool together = row_at(a, from + count - 1) == first + count - 1;
    return data && together ? data + first * a->rows->cols * read_item(a) : NULL;
}

static cs_status pack_run(void *ctx, int64_t run, int worker)
{
    const adder *a = ctx;
    const int64_t from = a->first + run * STEPS, count = cs_least(STEPS, a->count - run * STEPS);
    char *scratch = a->scratch + worker * a->scratch_bytes;
    char *square = scratch + (int64_t)STEPS * a->rows->cols * a->item;
    char *packed = a->packed + run * a->panels * STEPS * CS_TILE * a->item;
    char *sums = a->sums + run * a->panels * CS_TILE * a->item;
    const char *values = a->transform ? NULL : in_place(a, from, count);
    run_facts *facts = &a->facts[run];
    cs_status status = CS_OK;
    *facts = (run_facts){.heaviest = -1, .heaviest_square = -1.0};
    if (a->transform) {
        double *raw = (double *)(void *)(square + (int64_t)STEPS * CS_TILE_LANES * a->item);
        status = transform(a, from, count, raw, scratch, facts);
    } else if (!values) {
        status = gather(a, from, count, a->g->wide && !a->widen, scratch);
    }
    if (status != CS_OK) return status;
    values = values ? values : scratch;
    pack_panels(a, count, values, packed, sums, square);
    for (int64_t k = 0; k < count && status == CS_OK && !a->transform; ++k) {
        const double sum = sum_of_lanes(a, square, k);
        const int64_t row = row_at(a, from + k);
        const char *at = values + k * a->rows->cols * read_item(a);
        status = in_range(a, sum) ? take_square(a, row, sum, at, a->g->wide && !a->widen, facts)
                                  : bad_row(a, row);
    }
    return status;
}

/* --- multiplying ------------------------------------------------------------------------------ */

/* Adds one tile to entries i <= j of the group's matrix: a whole one above the diagonal at once. */
static void add_tile(const adder *a, int64_t i0, int64_t j0, const char *tile)
{
    const int64_t d = a->g->cols;
    double *block = a->g->block + a->group * d * d;
    if (!a->g->wide && i0 < j0 && j0 + CS_TILE <= d) {
        a->kernels->widen((const float *)tile, block + i0 * d + j0, d);
        return;
    }
    for (int64_t i = i0; i < cs_least(i0 + CS_TILE, d); ++i) {
        for (int64_t j = i0 == j0 ? i : j0; j < cs_least(j0 + CS_TILE, d); ++j) {
            const int64_t at = (i - i0) * CS_TILE + j - j0;
            block[i * d + j] += item_of(a->g, tile, at);
        }
    }
}

/* Tiles of block (ib, jb) over the runs of one slab. */
static void multiply_slab(const adder *a, int64_t ib, int64_t jb, int64_t run, int64_t end,
                          char *tiles)
{
    const int64_t w = a->block_panels, panel = (int64_t)STEPS * CS_TILE * a->item;
    const int64_t i_end = cs_least(w, a->panels - ib * w), j_end = cs_least(w, a->panels - jb * w);
    memset(tiles, 0, (size_t)a->tile_bytes);
    for (; run < end; ++run) {
        const char *base = a->packed + run * a->panels * panel;
        int64_t steps = cs_least(STEPS, a->count - run * STEPS);
        for (int64_t j = 0; j < j_end; ++j) {
            for (int64_t i = 0; i < (ib == jb ? j + 1 : i_end); ++i) {
                const char *left = base + (ib * w + i) * panel,
                           *right = base + (jb * w + j) * panel;
                char *tile = tiles + (i * w + j) * CS_TILE * CS_TILE * a->item;
                a->kernels->product[a->g->wide](steps, left, right, tile);
            }
        }
    }
    for (int64_t j = 0; j < j_end; ++j) {
        for (int64_t i = 0; i < (ib == jb ? j + 1 : i_end); ++i) {
            add_tile(a, (ib * w + i) * CS_TILE, (jb * w + j) * CS_TILE,
                     tiles + (i * w + j) * CS_TILE * CS_TILE * a->item);
        }
    }
}

/* Items: blocks above the diagonal by columns, then those on it, which are smaller. */
static cs_status multiply_block(void *ctx, int64_t item, int worker)
{
    const adder *a = ctx;
    int64_t ib = item, jb = 1, above = a->blocks * (a->blocks - 1) / 2;
    if (item >= above) {
        ib = jb = item - above;
    } else {
        for (; ib >= jb; ++jb) {
            ib -= jb;
        }
    }
    char *tiles = a->tiles + worker * a->tile_bytes;
    const int64_t runs = cs_ceiling(a->count, STEPS);
    for (int64_t run = 0; run < runs; run += SLAB) {
        multiply_slab(a, ib, jb, run, cs_least(run + SLAB, runs), tiles);
    }
    return CS_OK;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Facts and column sums of the chunk's runs, in order. */
static void take_runs(const adder *a)
{
    cs_gram *g = a->g;
    double *sum = g->sum + a->group * g->cols;
    for (int64_t run = 0; run < cs_ceiling(a->count, STEPS); ++run) {
        const char *sums = a->sums + run * a->panels * CS_TILE * a->item;
        for (int64_t j = 0; j < g->cols; ++j) {
            sum[j] += item_of(g, sums, j);
        }
        const run_facts *f = &a->facts[run];
        int64_t heaviest = g->seen + f->heaviest;
        if (f->heaviest_square > g->heaviest_square ||
            (f->heaviest_square == g->heaviest_square && heaviest < g->heaviest)) {
            g->heaviest_square = f->heaviest_square;
            g->heaviest = heaviest;
        }
        g->square += f->square;
        g->zeros += f->zeros;
        g->vanished += f->vanished;
    }
    g->slabs += cs_ceiling(a->count, (int64_t)STEPS * SLAB);
    g->rows[a->group] += a->count;
    g->total += a->count;
}

static cs_status add_chunk(adder *a, int threads)
{
    const int64_t runs = cs_ceiling(a->count, STEPS);
    cs_status status = cs_parallel_workers(runs, threads, pack_run, a);
    if (status == CS_OK)
        status = cs_parallel_workers(a->blocks * (a->blocks + 1) / 2, threads, multiply_block, a);
    if (status == CS_OK) take_runs(a);
    return status;
}

/* The shift: the mean of the first rows, by the packer's own sums. */
static cs_status find_origin(adder *a, int64_t rows)
{
    cs_gram *g = a->g;
    if (!g->shift || g->total > 0 || rows == 0) {
        return CS_OK;
    }
    a->first = 0;
    a->count = cs_least(STEPS, rows);
    cs_status status = pack_run(a, 0, 0);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < g->cols; ++j) {
        g->origin[j] = item_of(g, a->sums, j) / (double)a->count;
    }
    return CS_OK;
}

/* Row numbers sorted by group, and where each group begins in them (groups + 1). */
static cs_status sort_rows(const cs_gram *g, const cs_rows *rows, const int32_t *group,
                           int64_t *start, int64_t *order)
{
    memset(start, 0, (size_t)(g->groups + 1) * sizeof *start);
    for (int64_t k = 0; k < rows->rows; ++k) {
        if (group[k] < -1 || group[k] >= g->groups) {
            return cs_fail(CS_ERR_INPUT,
                           "row %" PRId64 " has group %d, but there are %" PRId64 " groups", k,
                           group[k], g->groups);
        }
        start[group[k] + 1] += group[k] >= 0;
    }
    cs_starts(g->groups, start);
    for (int64_t k = 0; k < rows->rows; ++k) {
        if (group[k] >= 0) {
            order[start[group[k]]++] = k;
        }
    }
    for (int64_t i = g->groups; i > 0; --i) {
        start[i] = start[i - 1];
    }
    start[0] = 0;
    return CS_OK;
}

static void adder_free(adder *a)
{
    cs_free_aligned(a->packed);
    cs_free_aligned(a->sums);
    cs_free_aligned(a->scratch);
    cs_free_aligned(a->tiles);
    cs_free(a->facts);
}

/* The geometry, which depends on the number of columns alone, and the buffers. */
static cs_status adder_init(cs_gram *g, const cs_rows *rows, int threads, adder *a)
{
    const int64_t item = g->wide ? sizeof(double) : sizeof(float);
    int64_t d = g->cols, panels = cs_ceiling(d, CS_TILE);
    int64_t w = d > 512 ? WIDEST_BLOCK : d > 128 ? WIDEST_BLOCK / 2 : WIDEST_BLOCK / 6;
    int64_t run_bytes = panels * STEPS * CS_TILE * item;
    int64_t runs = CHUNK_BYTES / (run_bytes * SLAB) * SLAB;
    runs = runs < SLAB ? SLAB : cs_least(runs, MOST_ROWS / STEPS);
    runs = cs_least(runs, cs_ceiling(rows->rows, STEPS));
    *a = (adder){.g = g,
                 .rows = rows,
                 .kernels = cs_tile_kernels_here(),
                 .panels = panels,
                 .block_panels = w,
                 .blocks = cs_ceiling(panels, w),
                 .item = item,
                 .chunk_rows = runs * STEPS,
                 .transform = g->normalise || g->shift,
                 .widen = g->wide && !g->normalise && !g->shift && rows->type != CS_ROWS_F64 &&
                          rows->type != CS_ROWS_INT,
                 .scratch_bytes = STEPS * (d + CS_TILE_LANES) * item,
                 .tile_bytes = w * w * CS_TILE * CS_TILE * item};
    a->scratch_bytes += a->transform ? STEPS * d * (int64_t)sizeof(double) : 0;
    a->scratch_bytes = cs_ceiling(a->scratch_bytes, 64) * 64;
    a->packed = cs_alloc_aligned(runs, run_bytes);
    a->sums = cs_alloc_aligned(runs, panels * CS_TILE * item);
    a->scratch = cs_alloc_aligned(threads, a->scratch_bytes);
    a->tiles = cs_alloc_aligned(threads, a->tile_bytes);
    a->facts = cs_alloc(runs, sizeof *a->facts);
    if (!a->packed || !a->sums || !a->scratch || !a->tiles || !a->facts) {
        adder_free(a);
        return CS_ERR_MEMORY;
    }
    return CS_OK;
}

static cs_status add_groups(adder *a, const int64_t *start, const cs_gram_options *options,
                            int threads)
{
    cs_gram *g = a->g;
    cs_status status = find_origin(a, start[g->groups]);
    for (a->group = 0; a->group < g->groups && status == CS_OK; ++a->group) {
        a->first = start[a->group];
        while (a->first < start[a->group + 1] && status == CS_OK) {
            a->count = cs_least(a->chunk_rows, start[a->group + 1] - a->first);
            status = add_chunk(a, threads);
            a->first += a->count;
            cs_progress_report(options->progress, "rows", a->first, start[g->groups]);
        }
    }
    return status;
}

cs_status cs_gram_add(cs_gram *g, const cs_rows *rows, const int32_t *group,
                      const cs_gram_options *options)
{
    if (rows->cols != g->cols) {
        return cs_fail(CS_ERR_INPUT, "%s: has %" PRId64 " columns, not %" PRId64,
                       rows->name ? rows->name : "matrix", rows->cols, g->cols);
    }
    if (options->wide != g->wide || options->normalise != g->normalise ||
        options->shift != g->shift) {
        return cs_fail(CS_ERR_USAGE,
                       "rows must be added with the same options as the earlier rows");
    }
    adder a = {0};
    const int threads = options->threads > 0 ? options->threads : cs_threads();
    int64_t *order = NULL, *start = cs_alloc(g->groups + 1, sizeof *start);
    if (!start || (group && !(order = cs_alloc(rows->rows, sizeof *order)))) {
        cs_free(start);
        return CS_ERR_MEMORY;
    }
    cs_status status = CS_OK;
    if (group) {
        status = sort_rows(g, rows, group, start, order);
    } else {
        for (int64_t i = 0; i <= g->groups; ++i) {
            start[i] = i * (rows->rows / g->groups) + cs_least(i, rows->rows % g->groups);
        }
    }
    if (status == CS_OK) status = adder_init(g, rows, threads, &a);
    if (status == CS_OK) {
        a.order = order;
        status = add_groups(&a, start, options, threads);
        adder_free(&a);
    }
    g->seen += rows->rows;
    cs_free(start);
    cs_free(order);
    return status;
}
