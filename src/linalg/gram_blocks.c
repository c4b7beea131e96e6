/* Gram blocks once they are there: sums over groups, centring, merging, storing.
 *
 * With shift s, block B = sum (x - s)(x - s)^T and t = sum (x - s) over n rows:
 *   uncentred  X^T X = B + s t^T + t s^T + n s s^T
 *   centred            B - t t^T / n
 *   another shift r    B + e t^T + t e^T + n e e^T, t + n e,  e = s - r
 * all in double, on the triangle that is kept.
 */
#include "base/auto.h"
#include "linalg/gram.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/npy.h"
#include "io/npz.h"

double cs_gram_gamma(const cs_gram *g, bool centred)
{
    const double u = g->wide ? 0x1p-53 : 0x1p-24, v = 0x1p-53;
    const double slabs = (double)g->slabs, groups = (double)g->groups;
    double error = 162.0 * u + (slabs + groups) * v;
    if (g->normalise) {
        error += ((double)g->cols + 6.0) * v;
    }
    if (centred) {
        error += 2.0 * (128.0 * u + (32.0 * slabs + groups) * v) + 4.0 * v;
    }
    return error / (1.0 - error);
}

static bool is_without(const cs_gram_range *without, int64_t k)
{
    return without && ((k >= without[0].from && k < without[0].end) ||
                       (k >= without[1].from && k < without[1].end));
}

static double trace_of(const cs_gram *g, int64_t group)
{
    double trace = 0.0;
    for (int64_t i = 0; i < g->cols; ++i) {
        trace += g->block[(group * g->cols + i) * g->cols + i];
    }
    return trace;
}

/* all: traces that are known, or NULL. */
static double floor_of(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                       bool centred)
{
    double trace = 0.0; /* before a shift is put back */
    for (int64_t b = 0; b < g->groups; ++b) {
        trace += is_without(without, b) ? 0.0 : all ? all->trace[b] : trace_of(g, b);
    }
    return cs_gram_gamma(g, centred) * trace;
}

double cs_gram_floor(const cs_gram *g, const cs_gram_range *without, bool centred)
{
    return floor_of(g, NULL, without, centred);
}

double cs_gram_floor_without(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                             bool centred)
{
    return floor_of(g, all, without, centred);
}

cs_status cs_gram_init(int64_t cols, int64_t groups, const cs_gram_options *options, cs_gram *out)
{
    if (cols < 1 || groups < 1 || cols > INT32_MAX || groups > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE,
                       "invalid Gram matrix: %" PRId64 " columns in %" PRId64 " groups", cols,
                       groups);
    }
    if (cols * cols > INT64_MAX / 16 / groups) {
        return cs_fail(CS_ERR_MEMORY, "%" PRId64 " Gram blocks of %" PRId64 " columns are too many",
                       groups, cols);
    }
    cs_gram g = {.cols = cols,
                 .groups = groups,
                 .wide = options->wide,
                 .normalise = options->normalise,
                 .shift = options->shift,
                 .rows = cs_calloc(groups, sizeof *g.rows),
                 .block = cs_calloc(groups * cols * cols, sizeof *g.block),
                 .sum = cs_calloc(groups * cols, sizeof *g.sum),
                 .origin = cs_calloc(cols, sizeof *g.origin),
                 .heaviest = -1,
                 .heaviest_square = -1.0};
    if (!g.rows || !g.block || !g.sum || !g.origin) {
        cs_gram_free(&g);
        return cs_blame(CS_ERR_MEMORY, "%" PRId64 " Gram blocks of %" PRId64 " columns", groups,
                        cols);
    }
    *out = g;
    return CS_OK;
}

void cs_gram_free(cs_gram *g)
{
    CS_FREE_FIELDS(g, rows, block, sum, origin);
    *g = (cs_gram){0};
}

/* --- sums over groups ------------------------------------------------------------------------- */

/* to = from + sign * block, on the triangle that is kept. */
static void add_block(const cs_gram *g, int64_t group, double sign, const double *from, double *to)
{
    const int64_t d = g->cols;
    const double *block = g->block + group * d * d;
    for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = i; j < d; ++j) {
            to[i * d + j] = from[i * d + j] + sign * block[i * d + j];
        }
    }
}

cs_status cs_gram_all_of(const cs_gram *g, cs_gram_all *out)
{
    cs_gram_all all = {.trace = cs_alloc(g->groups, sizeof *all.trace)};
    cs_status status = all.trace ? cs_dense_init(&all.sum, g->cols, g->cols) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < g->groups && status == CS_OK; ++k) {
        all.trace[k] = trace_of(g, k);
        add_block(g, k, 1.0, all.sum.data, all.sum.data);
    }
    return CS_DELIVER(status, out, all, cs_gram_all_free);
}

void cs_gram_all_free(cs_gram_all *all)
{
    cs_dense_free(&all->sum);
    cs_free(all->trace);
    *all = (cs_gram_all){0};
}

/* Whether taking groups away from the sum over all costs fewer passes than adding the others, and keeps
 * the bound of gram.h, whose e has (slabs + groups) v for what is added in double: an entry of a block
 * takes as many of these as the block has slabs, at most slabs - others when `others` other groups have
 * rows, and the sum over all and the differences take groups + 1 (of all |y||y|, not of those kept
 * alone, since a difference keeps the error of what it is taken from) and as many more as are taken
 * away. */
static bool takes_away(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without)
{
    double whole = 0.0, kept = 0.0;
    int64_t gone = 0, others = -1;
    for (int64_t k = 0; k < g->groups; ++k) {
        const bool out = is_without(without, k);
        gone += out;
        others += g->rows[k] > 0;
        whole += all->trace[k];
        kept += out ? 0.0 : all->trace[k];
    }
    const double groups = (double)g->groups;
    return 2 * gone < g->groups &&
           (groups + 1.0 + (double)gone) * whole <= (groups + (double)others) * kept;
}

/* Rows less their mean, or moved back to where they were, on the triangle that is kept. */
static void put_shift(const cs_gram *g, bool centred, int64_t rows, const double *sum,
                      double *total)
{
    const int64_t d = g->cols;
    const double *s = g->origin, m = (double)rows;
    for (int64_t i = 0; i < d && (centred ? rows > 0 : g->shift); ++i) {
        const double mean = centred ? sum[i] / m : 0.0;
        for (int64_t j = i; j < d; ++j) {
            double *x = &total[i * d + j];
            *x = centred ? *x - mean * sum[j]
                         : *x + (s[i] * sum[j] + sum[i] * s[j] + m * s[i] * s[j]);
        }
    }
}

cs_status cs_gram_without(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                          bool centred, cs_dense *out, int64_t *n)
{
    const int64_t d = g->cols;
    cs_dense total = {0};
    int64_t rows = 0;
    CS_AUTO_FREE double *sum = cs_calloc(d, sizeof *sum);
    cs_status status = sum ? cs_dense_init(&total, d, d) : CS_ERR_MEMORY;
    const bool away = status == CS_OK && all && takes_away(g, all, without);
    const double *from = away ? all->sum.data : total.data;
    for (int64_t k = 0; k < g->groups && status == CS_OK; ++k) {
        const bool gone = is_without(without, k);
        if (gone == away) {
            add_block(g, k, away ? -1.0 : 1.0, from, total.data);
            from = total.data;
        }
        rows += gone ? 0 : g->rows[k];
        for (int64_t i = 0; i < d && !gone; ++i) {
            sum[i] += g->sum[k * d + i];
        }
    }
    if (status == CS_OK && from != total.data)
        cs_dense_copy(&all->sum, &total); /* nothing left out */
    if (status == CS_OK) put_shift(g, centred, rows, sum, total.data);
    *n = rows;
    return CS_DELIVER(status, out, total, cs_dense_free);
}

cs_status cs_gram_total(const cs_gram *g, const cs_gram_range *without, bool centred, cs_dense *out,
                        int64_t *n)
{
    cs_dense total = {0};
    cs_status status = cs_gram_without(g, NULL, without, centred, &total, n);
    for (int64_t i = 0; i < g->cols && status == CS_OK; ++i) {
        for (int64_t j = i; j < g->cols; ++j) {
            total.data[j * g->cols + i] = total.data[i * g->cols + j];
        }
    }
    return CS_DELIVER(status, out, total, cs_dense_free);
}

cs_status cs_gram_merge(cs_gram *into, const cs_gram *from)
{
    const int64_t d = into->cols;
    if (from->cols != d || from->groups != into->groups || from->wide != into->wide ||
        from->normalise != into->normalise || from->shift != into->shift) {
        return cs_fail(CS_ERR_USAGE,
                       "Gram blocks of %" PRId64 " columns in %" PRId64
                       " groups cannot be merged with %" PRId64 " columns in %" PRId64
                       " groups, or their options differ",
                       from->cols, from->groups, d, into->groups);
    }
    if (into->total == 0) {
        memcpy(into->origin, from->origin, (size_t)d * sizeof *into->origin);
    }
    for (int64_t k = 0; k < into->groups; ++k) {
        double *block = into->block + k * d * d, *sum = into->sum + k * d;
        const double *other = from->block + k * d * d, *t = from->sum + k * d;
        const double n = (double)from->rows[k];
        for (int64_t i = 0; i < d; ++i) {
            double ei = from->origin[i] - into->origin[i];
            for (int64_t j = i; j < d; ++j) {
                double ej = from->origin[j] - into->origin[j];
                block[i * d + j] += other[i * d + j] + ei * t[j] + t[i] * ej + n * ei * ej;
            }
            sum[i] += t[i] + n * ei;
        }
        into->rows[k] += from->rows[k];
    }
    if (from->heaviest_square > into->heaviest_square) {
        into->heaviest_square = from->heaviest_square;
        into->heaviest = into->seen + from->heaviest;
    }
    into->square += from->square;
    into->total += from->total;
    into->zeros += from->zeros;
    into->vanished += from->vanished;
    into->slabs += from->slabs + 1;
    into->seen += from->seen;
    return CS_OK;
}

/* --- storing ---------------------------------------------------------------------------------- */

enum { COUNTS = 9, MEMBERS = 6, FIRST_READ = 4 /* the counts */ };

typedef struct {
    const char *name;
    cs_dtype dtype;
    int dims;
    int64_t shape[3];
    void *data;
} member;

/* The members in the order of the file. */
static void list_members(const cs_gram *g, int64_t *counts, double *squares, member m[MEMBERS])
{
    m[0] = (member){"block", CS_F64, 3, {g->groups, g->cols, g->cols}, g->block};
    m[1] = (member){"sum", CS_F64, 2, {g->groups, g->cols, 1}, g->sum};
    m[2] = (member){"rows", CS_I64, 1, {g->groups, 1, 1}, g->rows};
    m[3] = (member){"origin", CS_F64, 1, {g->cols, 1, 1}, g->origin};
    m[4] = (member){"counts", CS_I64, 1, {COUNTS, 1, 1}, counts};
    m[5] = (member){"squares", CS_F64, 1, {2, 1, 1}, squares};
}

cs_status cs_gram_write(const cs_gram *g, const char *path)
{
    cs_npz_writer *w = NULL;
    member m[MEMBERS];
    int64_t counts[COUNTS] = {g->total,     g->zeros, g->heaviest, g->seen, g->wide,
                              g->normalise, g->shift, g->vanished, g->slabs};
    double squares[2] = {g->heaviest_square, g->square};
    list_members(g, counts, squares, m);
    cs_status status = cs_npz_create(path, &w);
    for (int i = 0; status == CS_OK && i < MEMBERS; ++i) {
        status = cs_npz_add(w, m[i].name, m[i].dtype, m[i].dims, m[i].shape, m[i].data);
    }
    status = status ? status : cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}

/* A member of the type and number of items that the others make it have. */
static cs_status take_member(cs_npz *npz, const char *path, const member *m)
{
    const char *name = m->name;
    const int64_t size = m->shape[0] * m->shape[1] * m->shape[2];
    CS_AUTO(cs_array) a = {0};
    cs_status status = cs_npz_read(npz, name, &a);
    if (status == CS_OK && (a.dtype != m->dtype || a.size != size))
        status = cs_fail(CS_ERR_INPUT,
                         "%s: member %s.npy: %" PRId64
                         " items or a wrong type; Gram blocks have %" PRId64 " items",
                         path, name, a.size, size);
    for (int64_t i = 0; status == CS_OK && m->dtype == CS_F64 && i < size; ++i) {
        if (!isfinite(((const double *)a.data)[i])) {
            status = cs_fail(CS_ERR_INPUT, "%s: member %s.npy: item %" PRId64 " is not finite",
                             path, name, i);
        }
    }
    if (status == CS_OK) memcpy(m->data, a.data, (size_t)(size * a.item_size));
    return status;
}

/* The parts agree among themselves. */
static cs_status check_counts(const cs_gram *g, const char *path)
{
    int64_t total = 0;
    for (int64_t k = 0; k < g->groups; ++k) {
        if (g->rows[k] < 0 || g->rows[k] > g->total - total) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: group %" PRId64 " has %" PRId64
                           " rows, but all groups together have %" PRId64,
                           path, k, g->rows[k], g->total);
        }
        total += g->rows[k];
    }
    if (total != g->total || g->total > g->seen || g->heaviest >= g->seen || g->zeros < 0 ||
        g->vanished < 0 || g->zeros > total - g->vanished || g->slabs < 0) {
        return cs_fail(CS_ERR_INPUT, "%s: its numbers of rows contradict each other", path);
    }
    return CS_OK;
}

cs_status cs_gram_read(const char *path, cs_gram *out)
{
    cs_npz *npz = NULL;
    CS_AUTO(cs_array) sum = {0};
    cs_gram g = {0};
    member m[MEMBERS];
    int64_t counts[COUNTS];
    double squares[2];
    cs_status status = cs_npz_open(path, 0, &npz);
    if (status != CS_OK || (status = cs_npz_read(npz, "sum", &sum)) != CS_OK) goto done;
    if (sum.ndim != 2) {
        status =
            cs_fail(CS_ERR_INPUT, "%s: member sum.npy has %d dimensions, not 2", path, sum.ndim);
        goto done;
    }
    status = cs_gram_init(sum.shape[1], sum.shape[0], &(cs_gram_options){0}, &g);
    status = cs_blame(status, "%s", path);
    list_members(&g, counts, squares, m);
    for (int i = 0; status == CS_OK && i < MEMBERS; ++i) {
        status = take_member(npz, path, &m[(i + FIRST_READ) % MEMBERS]);
    }
    if (status != CS_OK) goto done;
    g.wide = counts[4] != 0;
    g.normalise = counts[5] != 0;
    g.shift = counts[6] != 0;
    g.total = counts[0];
    g.zeros = counts[1];
    g.heaviest = counts[2];
    g.seen = counts[3];
    g.vanished = counts[7];
    g.slabs = counts[8];
    g.heaviest_square = squares[0];
    g.square = squares[1];
    status = check_counts(&g, path);
done:
    cs_npz_close(npz);
    return CS_DELIVER(status, out, g, cs_gram_free);
}
