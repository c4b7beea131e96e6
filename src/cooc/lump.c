/* Exact lumping of proportional rows, then proportional columns.
 *
 * Method. Integers below 2^53 are compared exactly, other values to a tolerance, both only among
 * rows that share their pattern.
 *
 * Columns are the rows of the transpose of the row-lumped matrix; adding proportional columns makes
 * no new proportional rows, so one pass over each side is complete.
 *
 * Which rows are proportional, and which rows and columns need not be examined.
 *
 * Method. A row whose hash of columns no other row shares is its own lump, whatever its values;
 * mostly that is nearly all of them. Columns are hashed by a sum over their rows, which needs no
 * transpose; where no two agree there is nothing to lump.
 *
 * Rows that share their pattern of columns are candidates when they are neighbours in the order of
 * a signature sum_j w_j p_j, p the row divided by its sum, w_j in [1, 2) fixed pseudo-random: rows
 * that agree to tol give signatures that agree to tol, so no bucket boundary can part them, and
 * rows that differ almost never meet. Integers below 2^53 are then compared by their cross
 * products, exactly; other values after division by their sums, entry by entry, to a relative
 * tolerance.
 *
 * Rows of one entry, which are most where contexts are long, are proportional where their columns
 * are the same: the first that has a column represents the others.
 *
 * Limits: agreement to a tolerance is not transitive; each row of a lump agrees with the lump's
 * first row in signature order. O(nnz + rows log rows). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated_private.h"
#include "cooc/reduce.h"

static const double EXACT = 0; /* the tolerance of integers below 2^53 */

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* 0 of an empty row. */
static uint64_t pattern_hash(const cs_csr *a, int64_t row)
{
    int64_t begin = a->ptr[row], n = a->ptr[row + 1] - begin;
    return n > 0 ? cs_hash(a->col + begin, (size_t)n * sizeof *a->col, 0).low : 0;
}

enum { HASHED_ROWS = 4096 }; /* of an item */

typedef struct {
    const cs_csr *a;
    uint64_t *hash;
} hash_job;

static cs_status hash_rows(void *ctx, int64_t item)
{
    const hash_job *job = ctx;
    int64_t end = (item + 1) * HASHED_ROWS < job->a->rows ? (item + 1) * HASHED_ROWS : job->a->rows;
    for (int64_t i = item * HASHED_ROWS; i < end; ++i) {
        job->hash[i] = pattern_hash(job->a, i);
    }
    return CS_OK;
}

/* Marks the items whose hash another one has, *count of them; hash 0: an empty item. Chance
 * agreement is harmless: marked items are compared. */
static cs_status mark_shared(int64_t n, const uint64_t *hash, bool *shared, int64_t *count)
{
    int64_t size = 16;
    while (size < 2 * n) {
        size *= 2;
    }
    CS_AUTO_FREE int64_t *slot = cs_alloc(size, sizeof *slot);
    if (!slot) return CS_ERR_MEMORY;
    memset(slot, 0xff, (size_t)size * sizeof *slot); /* -1 */
    *count = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (hash[i] == 0) {
            continue;
        }
        int64_t at = (int64_t)(hash[i] & (uint64_t)(size - 1));
        while (slot[at] >= 0 && hash[slot[at]] != hash[i]) {
            at = (at + 1) & (size - 1);
        }
        if (slot[at] < 0) {
            slot[at] = i;
            continue;
        }
        *count += 1 + !shared[slot[at]];
        shared[slot[at]] = shared[i] = true;
    }
    return CS_OK;
}

/* shared[i] (false before): row i is not empty and another row may have its columns; *count is
 * their number. CS_ERR_MEMORY. */
static cs_status rows_that_share(const cs_csr *a, bool *shared, int64_t *count)
{
    hash_job job = {.a = a, .hash = cs_alloc(a->rows, sizeof *job.hash)};
    cs_status status = job.hash ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_parallel((a->rows + HASHED_ROWS - 1) / HASHED_ROWS, 0, hash_rows, &job);
    if (status == CS_OK) status = mark_shared(a->rows, job.hash, shared, count);
    cs_free(job.hash);
    return status;
}

/* The hash of a column is the sum over its rows of their numbers, well mixed: the order of the rows
 * does not matter. */
static cs_status number_columns(const cs_csr *a, int32_t *number, int64_t *count, bool *alike)
{
    CS_AUTO(cs_pool) pool = {0};
    uint64_t *hash = cs_pool_take(&pool, a->cols, sizeof *hash);
    bool *shared = cs_pool_take(&pool, a->cols, sizeof *shared);
    int64_t same = 0;
    for (int64_t i = 0; pool.status == CS_OK && i < a->rows; ++i) {
        uint64_t z = mix((uint64_t)(i + 1) * 0x9e3779b97f4a7c15U);
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            hash[a->col[e]] += z;
        }
    }
    cs_status status = shared ? mark_shared(a->cols, hash, shared, &same) : CS_ERR_MEMORY;
    *count = 0;
    for (int64_t j = 0; status == CS_OK && j < a->cols; ++j) {
        number[j] = hash[j] != 0 ? (int32_t)(*count)++ : -1;
    }
    *alike = same > 0;
    return status;
}

static bool same_pattern(const cs_csr *a, int64_t x, int64_t y)
{
    int64_t n = a->ptr[x + 1] - a->ptr[x];
    return n == a->ptr[y + 1] - a->ptr[y] &&
           memcmp(a->col + a->ptr[x], a->col + a->ptr[y], (size_t)n * sizeof *a->col) == 0;
}

typedef struct {
    uint64_t pattern;
    double signature;
    int64_t row;
} lump_key;

static int compare_keys(const void *x, const void *y)
{
    const lump_key *a = x, *b = y;
    const int pattern = CS_ORDER(a->pattern, b->pattern);
    const int signature = CS_ORDER(a->signature, b->signature);
    return pattern ? pattern : signature ? signature : CS_ORDER(a->row, b->row);
}

/* A fixed pseudo-random weight in [1, 2) of a column. */
static double column_weight(int32_t col)
{
    return 1.0 + (double)(mix((uint64_t)col + 0x9e3779b97f4a7c15U) >> 11) * 0x1p-53;
}

static double row_signature(const cs_csr *a, int64_t row, double total)
{
    double sum = 0, lost = 0;
    for (int64_t e = a->ptr[row]; e < a->ptr[row + 1]; ++e) {
        cs_add_compensated(&sum, &lost, column_weight(a->col[e]) * (a->val[e] / total));
    }
    return sum + lost;
}

/* Of n integers below 2^53. */
static bool same_products(int64_t n, const double *x, const double *y)
{
    __extension__ typedef unsigned __int128 wide;
    for (int64_t e = 1; e < n; ++e) {
        if ((wide)(uint64_t)x[e] * (uint64_t)y[0] != (wide)(uint64_t)y[e] * (uint64_t)x[0]) {
            return false;
        }
    }
    return true;
}

static bool rows_agree(const cs_csr *a, const double *total, int64_t x, int64_t y, double tolerance)
{
    if (!same_pattern(a, x, y)) {
        return false;
    }
    int64_t n = a->ptr[x + 1] - a->ptr[x];
    const double *in_x = a->val + a->ptr[x], *in_y = a->val + a->ptr[y];
    if (tolerance == EXACT) {
        return same_products(n, in_x, in_y);
    }
    for (int64_t e = 0; e < n; ++e) {
        double p = in_x[e] / total[x], q = in_y[e] / total[y];
        if (fabs(p - q) > tolerance * fmax(p, q)) {
            return false;
        }
    }
    return true;
}

/* Gives every key's row the row that represents it. `leader`: scratch, positions of the lumps
 * opened so far in the order of the keys. */
static void follow_leaders(const cs_csr *a, const lump_key *key, int64_t n, const double *total,
                           double tolerance, int64_t *leader, int32_t *represented_by)
{
    const double window = tolerance + 32 * 0x1p-52; /* rounding of the two signatures */
    int64_t leaders = 0;
    for (int64_t i = 0; i < n; ++i) {
        represented_by[key[i].row] = -1;
        for (int64_t l = leaders - 1; l >= 0; --l) {
            const lump_key *candidate = &key[leader[l]];
            if (candidate->pattern != key[i].pattern ||
                key[i].signature - candidate->signature > window * key[i].signature) {
                break;
            }
            if (rows_agree(a, total, candidate->row, key[i].row, tolerance)) {
                represented_by[key[i].row] = (int32_t)candidate->row;
                break;
            }
        }
        if (represented_by[key[i].row] < 0) {
            represented_by[key[i].row] = (int32_t)key[i].row;
            leader[leaders++] = i;
        }
    }
}

/* lump[i]: the lump of row i by first appearance, -1 for an empty row; *count is their number.
 * Proportional to a relative tolerance, or, with EXACT, compared exactly for a matrix of
 * integers below 2^53. CS_ERR_MEMORY, CS_ERR_INPUT when a sum overflows. */
static cs_status lump_proportional(const cs_csr *a, double tolerance, const bool *shared,
                                   int32_t *lump, int64_t *count)
{
    cs_status status = CS_OK;
    CS_AUTO(cs_pool) pool = {0};
    lump_key *key = cs_pool_take(&pool, a->rows, sizeof *key);
    double *total = cs_pool_take(&pool, a->rows, sizeof *total);
    /* Leaders, then lump of a leading row. */
    int64_t *number = cs_pool_take(&pool, a->rows, sizeof *number);
    /* 1 + the first row that has this column alone; 0: none yet. */
    int32_t *alone = cs_pool_take(&pool, a->cols, sizeof *alone);
    int64_t n = 0, found = 0;
    if ((status = pool.status) != CS_OK) return status;
    for (int64_t i = 0; i < a->rows; ++i) {
        lump[i] = a->ptr[i] < a->ptr[i + 1] ? (int32_t)i : -1; /* the row that represents it */
        if (shared[i] && a->ptr[i + 1] - a->ptr[i] == 1) {
            int32_t *first = &alone[a->col[a->ptr[i]]];
            *first = *first > 0 ? *first : (int32_t)(i + 1);
            lump[i] = *first - 1;
        } else if (shared[i]) {
            /* Compensated: a row and its multiple have sums in the same ratio to a few units in the
             * last place, however long they are. */
            total[i] = cs_sum(a->ptr[i + 1] - a->ptr[i], a->val + a->ptr[i]);
            if (!isfinite(total[i])) {
                status = cs_fail(CS_ERR_INPUT, "row %lld: its sum overflows", (long long)i);
                return status;
            }
            key[n++] = (lump_key){pattern_hash(a, i), row_signature(a, i, total[i]), i};
        }
    }
    qsort(key, (size_t)n, sizeof *key, compare_keys);
    follow_leaders(a, key, n, total, tolerance, number, lump);
    memset(number, 0xff, (size_t)a->rows * sizeof *number); /* -1 */
    for (int64_t i = 0; i < a->rows; ++i) {                 /* by first appearance */
        if (lump[i] >= 0) {
            int64_t leader = lump[i];
            if (number[leader] < 0) {
                number[leader] = found++;
            }
            lump[i] = (int32_t)number[leader];
        }
    }
    *count = found;
    return status;
}

void cs_lumping_free(cs_lumping *lumping)
{
    if (!lumping->same) {
        cs_csr_free(&lumping->a);
    }
    cs_free(lumping->lump[CS_LEFT]);
    cs_free(lumping->lump[CS_RIGHT]);
    *lumping = (cs_lumping){0};
}

/* Adds the rows of each lump; all rows of a lump share a pattern. */
static cs_status add_rows(const cs_csr *a, const int32_t *lump, int64_t count, cs_csr *out)
{
    CS_AUTO(cs_pool) pool = {0};
    int64_t *length = cs_pool_take(&pool, count, sizeof *length), nnz = 0;
    for (int64_t i = 0; length && i < a->rows; ++i) {
        if (lump[i] >= 0 && length[lump[i]] == 0) {
            length[lump[i]] = a->ptr[i + 1] - a->ptr[i];
            nnz += length[lump[i]];
        }
    }
    double *lost = cs_pool_take(&pool, nnz, sizeof *lost);
    cs_status status = lost ? cs_csr_init(out, count, a->cols, nnz) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    memset(out->val, 0, (size_t)nnz * sizeof *out->val);
    for (int64_t l = 0; l < count; ++l) {
        out->ptr[l + 1] = out->ptr[l] + length[l];
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = 0; lump[i] >= 0 && e < length[lump[i]]; ++e) {
            int64_t to = out->ptr[lump[i]] + e;
            out->col[to] = a->col[a->ptr[i] + e];
            cs_add_compensated(&out->val[to], &lost[to], a->val[a->ptr[i] + e]);
        }
    }
    for (int64_t e = 0; e < nnz; ++e) {
        out->val[e] += lost[e];
    }
    return status;
}

/* *out is `a` itself where every row is a lump, else *sum. */
static cs_status lump_rows(const cs_csr *a, double tolerance, int32_t *lump, cs_csr *sum,
                           const cs_csr **out)
{
    CS_AUTO(cs_pool) pool = {0};
    int64_t count = 0, alike = 0;
    bool *shared = cs_pool_take(&pool, a->rows, sizeof *shared);
    cs_status status = pool.status;
    if (status == CS_OK && tolerance != CS_LUMP_NOTHING)
        status = rows_that_share(a, shared, &alike);
    if (status == CS_OK && alike == 0) {
        for (int64_t i = 0; i < a->rows; ++i) {
            lump[i] = a->ptr[i] < a->ptr[i + 1] ? (int32_t)count++ : -1;
        }
    } else if (status == CS_OK) {
        double apart = cs_csr_is_integer(a) ? EXACT : tolerance;
        status = lump_proportional(a, apart, shared, lump, &count);
    }
    *out = count == a->rows ? a : sum;
    return status || *out == a ? status : add_rows(a, lump, count, sum);
}

/* Proportional columns of by_row; *same: there are none, and no empty ones. */
static cs_status lump_columns(const cs_csr *by_row, double tolerance, int32_t *lump, bool *same,
                              cs_csr *out)
{
    cs_csr transposed = {0}, sum = {0};
    const cs_csr *by_col = NULL;
    int64_t cols = 0;
    bool alike = false;
    cs_status status = number_columns(by_row, lump, &cols, &alike);
    if (status == CS_OK && (!alike || tolerance == CS_LUMP_NOTHING)) {
        *same = *same && cols == by_row->cols;
        if (!*same) return cs_csr_select(by_row, by_row->rows, NULL, lump, cols, out);
        *out = *by_row;
        return CS_OK;
    }
    *same = false;
    if (status == CS_OK) status = cs_csr_transpose(by_row, &transposed);
    if (status == CS_OK) status = lump_rows(&transposed, tolerance, lump, &sum, &by_col);
    if (by_col == &sum) {
        cs_csr_free(&transposed);
    }
    if (status == CS_OK) status = cs_csr_transpose(by_col, out);
    cs_csr_free(&sum);
    cs_csr_free(&transposed);
    return status;
}

cs_status cs_lump_may_find(const cs_csr *a, bool *any)
{
    CS_AUTO(cs_pool) pool = {0};
    bool *shared = cs_pool_take(&pool, a->rows, sizeof *shared);
    int32_t *number = cs_pool_take(&pool, a->cols, sizeof *number);
    int64_t alike = 0, cols = 0;
    cs_status status = pool.status;
    if (status == CS_OK) status = rows_that_share(a, shared, &alike);
    *any = alike > 0;
    if (status == CS_OK && !*any) status = number_columns(a, number, &cols, any);
    return status;
}

cs_status cs_lump_checked(const cs_csr *a, bool zeros, double tolerance, cs_lumping *out)
{
    cs_lumping l = {.size = {a->rows, a->cols}};
    CS_AUTO(cs_csr) nonzeros = {0}, sum = {0};
    const cs_csr *by_row = NULL;
    if (a->rows > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%lld rows exceed the limit of 2^31 - 1", (long long)a->rows);
    }
    l.lump[CS_LEFT] = cs_alloc(a->rows, sizeof *l.lump[0]);
    l.lump[CS_RIGHT] = cs_alloc(a->cols, sizeof *l.lump[0]);
    cs_status status = l.lump[CS_LEFT] && l.lump[CS_RIGHT] ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && zeros) { /* patterns are then sets of nonzeros */
        status = cs_csr_select(a, a->rows, NULL, NULL, a->cols, &nonzeros);
    }
    if (status == CS_OK)
        status = lump_rows(zeros ? &nonzeros : a, tolerance, l.lump[CS_LEFT], &sum, &by_row);
    l.same = by_row == a;
    if (status == CS_OK) status = lump_columns(by_row, tolerance, l.lump[CS_RIGHT], &l.same, &l.a);
    return CS_DELIVER(status, out, l, cs_lumping_free);
}

cs_status cs_lump(const cs_csr *a, double tolerance, cs_lumping *out)
{
    if (!(tolerance >= 0) || tolerance >= 1) {
        return cs_fail(CS_ERR_USAGE, "lumping tolerance %g is not in [0, 1)", tolerance);
    }
    cs_status status = cs_csr_check(a, true);
    if (status != CS_OK) return status;
    return cs_lump_checked(
        a, cs_csr_entries_of(a).count<cs_csr_nnz(a), tolerance> 0 ? tolerance : CS_LUMP_TOLERANCE,
        out);
}
