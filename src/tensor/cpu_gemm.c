/* C (+)= A B on the tiles of the vector kernels, in the manner of Goto and van de Geijn (ACM TOMS
 * 34(3), 2008).
 *
 * B is packed once for all workers, by panels of as many columns as a tile has; then the workers
 * take blocks of C, pack their rows of A block by block of k into scratch that stays in the second
 * level cache, and run the tiles. Where C is only a few panels wide, packing A costs a good part of
 * the product, and where it has few rows, packing B; the tiles then read them without packing. The
 * order of additions depends on the shape alone, so bits do not depend on the number of threads.
 * Own kernels rather than BLAS: they leave the threads of BLAS alone, allow work on A before and on
 * C after a tile while it is in cache, and know the vector unit where an older OpenBLAS does not
 * know the processor.
 *
 * Rows of padding, at the ends of sequences, are passed over: blocks are of the rows without them,
 * which lie in pieces of neighbouring rows, each with its own panels and tiles.
 *
 * Memory: at most MOST_PACKED floats of B (larger products run in parts of k or columns), and
 * BLOCK_ROWS x BLOCK_STEPS floats a worker. */
#include "base/ints.h"
#include "base/threads.h"
#include "tensor/cpu_private.h"

enum {
    BLOCK_STEPS = 384, /* a block of A: 192 KB of the second level cache with its rows */
    BLOCK_ROWS = 128,
    BLOCK_COLS = 1024, /* a block of C: 512 KB of the second level */
    /* Blocks are halved until there are LEAST_BLOCKS and none has more multiplications than
     * FAIR_WORK (0.2 ms), or until there are MOST_BLOCKS. */
    LEAST_BLOCKS = 8,
    FAIR_WORK = 1 << 25,
    MOST_BLOCKS = 64,
    MOST_PACKED = 1 << 24,
    SPLITS = 4,       /* items of packing in a block of k */
    GROUP_PANELS = 8, /* of B: columns of C from which `after` is called, or that pieces share */
    SLACK = 16,       /* a kernel's pack may write past the end */
    LEAST_ROWS = 16,  /* of a block of C */
    /* Panels of B for which packing A does not pay, or rows of C for which packing B does not,
     * unless rows at a distance of SAME_SET floats evict each other from the cache. */
    FEW_PANELS = 4,
    FEW_ROWS = 256,
    SAME_SET = 512
};

/* Part `i` of n items in `parts` parts whose sizes differ by at most one. */
static int64_t part_start(int64_t n, int64_t parts, int64_t i)
{
    return i * (n / parts) + cs_least(i, n % parts);
}

/* --- packed operands -------------------------------------------------------------------------- */

int64_t cs_cpu_packed_b(const cs_cpu_kernels *kernels, int64_t n, int64_t k)
{
    return cs_ceiling(n, kernels->cols) * kernels->cols * k + SLACK;
}

/* Rows are shared evenly among the panels: a panel of few rows would keep the vector unit waiting
 * for its own sums. */
static void cpu_pack_a(const cs_cpu_kernels *kernels, int64_t m, int64_t k, const float *a,
                       int64_t lda, bool along, float *out)
{
    int64_t panels = cs_ceiling(m, kernels->rows);
    if (!along && m > 0 && k > 0) {
        kernels->pack_across(m, panels, k, k, a, lda, out);
        return;
    }
    for (int64_t p = 0; p < panels; ++p) {
        int64_t i = part_start(m, panels, p), rows = part_start(m, panels, p + 1) - i;
        kernels->pack_along(rows, k, a + i * lda, lda, rows, out + i * k);
    }
}

/* Steps 0 .. steps - 1 of rows of B, for panels of all_steps. */
static void pack_b_across(const cs_cpu_kernels *kernels, int64_t n, int64_t steps,
                          int64_t all_steps, const float *b, int64_t ldb, float *out)
{
    const int64_t whole = n / kernels->cols, rest = n % kernels->cols;
    if (whole > 0 && steps > 0) {
        kernels->pack_across(n - rest, whole, steps, all_steps, b, ldb, out);
    }
    for (int64_t k = 0; rest > 0 && k < steps; ++k) {
        kernels->copy(rest, b + k * ldb + n - rest,
                      out + (n - rest) * all_steps + k * kernels->cols);
    }
}

void cs_cpu_pack_b(const cs_cpu_kernels *kernels, int64_t n, int64_t k, const float *b, int64_t ldb,
                   bool along, float *out)
{
    if (!along) {
        pack_b_across(kernels, n, k, k, b, ldb, out);
        return;
    }
    for (int64_t j = 0; j < n; j += kernels->cols) {
        kernels->pack_along(cs_least(n - j, kernels->cols), k, b + j * ldb, ldb, kernels->cols,
                            out + j * k);
    }
}

/* --- the parallel product --------------------------------------------------------------------- */

typedef struct {
    cs_cpu *cpu;
    const cs_cpu_product *p;
    int64_t m, all_k;               /* without padding */
    int64_t col, cols, k0, k;       /* the current part */
    int64_t row_blocks, col_blocks; /* of C */
    int64_t row_block, col_block;   /* their size */
    int64_t step_blocks, wide;      /* blocks of k; cols rounded up to panels */
    bool bare;                      /* B is read without packing */
    bool before, after, add;
} job;

/* Block s of k. */
static void step_block(const job *t, int64_t s, int64_t *k0, int64_t *steps)
{
    *k0 = part_start(t->k, t->step_blocks, s);
    *steps = part_start(t->k, t->step_blocks, s + 1) - *k0;
}

/* Neighbouring rows of a matrix. */
typedef struct {
    int64_t row, rows;
} piece;

/* The first piece of the rows from..to-1, counted without padding; *b: a sequence at or before it. */
static piece next_piece(const cs_cpu_filled *f, int64_t from, int64_t to, int64_t *b)
{
    if (!f->live) return (piece){from, to - from};
    const int32_t *live = f->live;
    while (live[*b + 1] <= from) {
        ++*b;
    }
    const int64_t row = *b * f->length + from - live[*b];
    while (live[*b + 1] < to && live[*b + 1] - live[*b] == f->length &&
           live[*b + 2] > live[*b + 1]) {
        ++*b;
    }
    return (piece){row, cs_least(to, live[*b + 1]) - from};
}

/* Packs one panel of B whose steps lie along rows. The panels of a block of k lie together. */
static cs_status pack_panel(void *ctx, int64_t item)
{
    const job *t = ctx;
    const cs_cpu_product *p = t->p;
    int64_t cols = t->cpu->kernels->cols, j = item * cols, k0, steps;
    for (int64_t s = 0; s < t->step_blocks; ++s) {
        step_block(t, s, &k0, &steps);
        t->cpu->kernels->pack_along(cs_least(t->cols - j, cols), steps,
                                    p->b + (t->col + j) * p->ldb + t->k0 + k0, p->ldb, cols,
                                    t->cpu->shared + k0 * t->wide + j * steps);
    }
    return CS_OK;
}

/* Packs some steps of B whose steps are rows: a block of k in SPLITS items. */
static cs_status pack_steps(void *ctx, int64_t item)
{
    const job *t = ctx;
    const cs_cpu_product *p = t->p;
    int64_t k0, steps, split = item % SPLITS;
    step_block(t, item / SPLITS, &k0, &steps);
    const int64_t from = t->k0 + k0 + part_start(steps, SPLITS, split),
                  to = t->k0 + k0 + part_start(steps, SPLITS, split + 1);
    float *out = t->cpu->shared + k0 * t->wide;
    for (int64_t at = from, b = 0; at < to;) {
        const piece s = next_piece(&p->steps, at, to, &b);
        pack_b_across(t->cpu->kernels, t->cols, s.rows, steps, p->b + s.row * p->ldb + t->col,
                      p->ldb, out + (at - t->k0 - k0) * t->cpu->kernels->cols);
        at += s.rows;
    }
    return CS_OK;
}

/* Packs rows row .. of A for steps k0 .. of it, counted without padding. */
static void pack_block(const job *t, piece rows, int64_t k0, int64_t steps, float *out)
{
    const cs_cpu_product *p = t->p;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t panels = cs_ceiling(rows.rows, kernels->rows);
    if (!p->steps.live) {
        cpu_pack_a(kernels, rows.rows, steps,
                   p->a_along ? p->a + rows.row * p->lda + k0 : p->a + k0 * p->lda + rows.row,
                   p->lda, p->a_along, out);
        return;
    }
    for (int64_t at = k0, b = 0; at < k0 + steps;) {
        const piece s = next_piece(&p->steps, at, k0 + steps, &b);
        for (int64_t i = 0; i < panels; ++i) {
            const int64_t first = part_start(rows.rows, panels, i),
                          width = part_start(rows.rows, panels, i + 1) - first;
            kernels->pack_across(width, 1, s.rows, steps, p->a + s.row * p->lda + rows.row + first,
                                 p->lda, out + first * steps + (at - k0) * width);
        }
        at += s.rows;
    }
}

/* Columns from j on of block k0 .. k0 + steps - 1 of k. */
static void set_b(const job *t, int64_t k0, int64_t steps, int64_t j, cs_cpu_small *part)
{
    const cs_cpu_product *p = t->p;
    const int64_t cols = t->cpu->kernels->cols;
    part->b = t->bare ? p->b + (t->k0 + k0) * p->ldb + t->col + j
                      : t->cpu->shared + k0 * t->wide + j * steps;
    part->ldb = t->bare ? p->ldb : cols;
    part->b_panel = t->bare ? cols : cols * steps;
}

static cs_status block(void *ctx, int64_t item, int worker)
{
    const job *t = ctx;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const cs_cpu_product *p = t->p;
    int64_t row = item / t->col_blocks * t->row_block, end = cs_least(t->m, row + t->row_block);
    int64_t from = item % t->col_blocks * t->col_block, to = cs_least(t->cols, from + t->col_block);
    float *packed = cs_cpu_local_of(t->cpu, worker);
    const bool pack = p->n > FEW_PANELS * kernels->cols || p->lda % SAME_SET == 0 || p->steps.live;
    if (t->before) {
        p->before(p->ctx, row, end - row);
    }
    for (int64_t s = 0; s < t->step_blocks; ++s) {
        int64_t k0, steps;
        step_block(t, s, &k0, &steps);
        for (int64_t at = row, b = 0; pack && at < end;) {
            const piece r = next_piece(&p->rows, at, end, &b);
            pack_block(t, r, t->k0 + k0, steps, packed + (at - row) * steps);
            at += r.rows;
        }
        const bool last = s == t->step_blocks - 1 && t->k0 + t->k == t->all_k;
        const int64_t group = t->after || p->rows.live ? GROUP_PANELS * kernels->cols : to - from;
        for (int64_t j = from; j < to; j += group) {
            for (int64_t at = row, b = 0; at < end;) {
                const piece r = next_piece(&p->rows, at, end, &b);
                const float *a = p->a_along ? p->a + r.row * p->lda + t->k0 + k0
                                            : p->a + (t->k0 + k0) * p->lda + r.row;
                cs_cpu_small part = {.m = r.rows,
                                     .n = cs_least(to - j, group),
                                     .k = steps,
                                     .a = pack ? packed + (at - row) * steps : a,
                                     .lda = pack ? 0 : p->lda,
                                     .a_along = !pack && p->a_along,
                                     .c = p->c + r.row * p->ldc + t->col + j,
                                     .ldc = p->ldc,
                                     .add = t->add || s > 0,
                                     .bias = last && p->bias ? p->bias + t->col + j : NULL};
                set_b(t, k0, steps, j, &part);
                kernels->product(&part);
                if (t->after && last) p->after(p->ctx, r.row, r.rows, t->col + j, part.n);
                at += r.rows;
            }
        }
    }
    return CS_OK;
}

static cs_status before_only(void *ctx, int64_t item)
{
    const job *t = ctx;
    int64_t row = item * t->row_block;
    t->p->before(t->p->ctx, row, cs_least(t->m - row, t->row_block));
    return CS_OK;
}

/* Blocks of C: large for reuse, but enough of them to share out. */
static void choose_blocks(job *t)
{
    const int64_t tile_cols = t->cpu->kernels->cols;
    const int64_t least = t->p->before ? CS_CPU_CHUNK : LEAST_ROWS; /* before sums by chunks */
    t->row_block = BLOCK_ROWS;
    t->col_block = BLOCK_COLS;
    for (;;) {
        t->row_blocks = cs_ceiling(t->m, t->row_block);
        t->col_blocks = cs_ceiling(t->cols, t->col_block);
        int64_t blocks = t->row_blocks * t->col_blocks;
        int64_t work = cs_least(t->row_block, t->m) * cs_least(t->col_block, t->cols) * t->k;
        if (blocks >= MOST_BLOCKS || (blocks >= LEAST_BLOCKS && work <= FAIR_WORK)) {
            break;
        }
        if (t->row_block > least) {
            t->row_block /= 2;
        } else if (t->col_block > 4 * tile_cols) {
            t->col_block /= 2;
        } else {
            break;
        }
    }
}

/* Where few rows of C share B, packing it costs a good part of the product. */
static bool reads_bare(const cs_cpu_kernels *kernels, const cs_cpu_product *p)
{
    return !p->b_along && !p->steps.live && p->m <= FEW_ROWS &&
           p->n % cs_cpu_wide(kernels, 1) == 0 && p->ldb % SAME_SET != 0;
}

/* Columns col .. of C from steps k0 .. : what one packing of B serves. */
static cs_status one_part(job *t)
{
    cs_cpu *cpu = t->cpu;
    const cs_cpu_product *p = t->p;
    const int64_t panels = cs_ceiling(t->cols, cpu->kernels->cols);
    t->wide = panels * cpu->kernels->cols;
    t->step_blocks = cs_ceiling(t->k, BLOCK_STEPS);
    choose_blocks(t);
    cs_status status = cs_cpu_shared(cpu, t->wide * t->k + SLACK);
    if (status == CS_OK) status = cs_cpu_local(cpu, (int64_t)BLOCK_ROWS * BLOCK_STEPS + SLACK);
    bool whole = t->cols == p->n && t->k == t->all_k && t->col_blocks == 1;
    if (status == CS_OK && p->before && !whole && t->col == 0 && t->k0 == 0)
        status = cs_parallel(t->row_blocks, cpu->threads, before_only, t);
    t->before = p->before && whole;
    t->after = p->after && t->k0 + t->k == t->all_k;
    t->add = p->add || t->k0 > 0;
    t->bare = reads_bare(cpu->kernels, p);
    if (status == CS_OK && !t->bare)
        status = p->b_along ? cs_parallel(panels, cpu->threads, pack_panel, t)
                            : cs_parallel(t->step_blocks * SPLITS, cpu->threads, pack_steps, t);
    return status == CS_OK
               ? cs_parallel_workers(t->row_blocks * t->col_blocks, cpu->threads, block, t)
               : status;
}

cs_status cs_cpu_multiply(cs_cpu *cpu, const cs_cpu_product *product)
{
    const int64_t tile_cols = cpu->kernels->cols;
    const cs_cpu_filled *rows = &product->rows, *steps = &product->steps;
    job t = {.cpu = cpu,
             .p = product,
             .m = rows->live ? rows->live[rows->batch] : product->m,
             .all_k = steps->live ? steps->live[steps->batch] : product->k};
    cs_status status = CS_OK;
    /* as deep as fits with all columns, or with BLOCK_COLS of them */
    const int64_t wide = cs_least(cs_ceiling(product->n, tile_cols) * tile_cols, BLOCK_COLS);
    const int64_t step_part = cs_least(MOST_PACKED / wide, t.all_k);
    int64_t col_part = MOST_PACKED / step_part / tile_cols * tile_cols;
    for (t.col = 0; t.col < product->n && status == CS_OK; t.col += col_part) {
        t.cols = cs_least(product->n - t.col, col_part);
        for (t.k0 = 0; t.k0 < t.all_k && status == CS_OK; t.k0 += step_part) {
            t.k = cs_least(t.all_k - t.k0, step_part);
            status = one_part(&t);
        }
    }
    return status;
}
