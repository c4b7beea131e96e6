/* Exact lumping of proportional rows, then proportional columns.
 *
 * Method. When every entry is an integer below 2^53, a row divided by the greatest common divisor
 * of its entries is a canonical form: proportional rows have equal ones (the same as equal cross
 * products), so one hash table finds them without any tolerance. Otherwise rows are compared after
 * division by their sums, entry by entry, to a relative tolerance. Candidates then share their
 * column pattern (hash) and are neighbours in the order of a signature sum_j w_j p_j with w_j in
 * [1, 2) fixed pseudo-random: entries that agree to tol give signatures that agree to tol, so no
 * bucket boundary can part them, and rows that differ almost never meet.
 *
 * Columns are the rows of the transpose of the row-lumped matrix; adding proportional columns makes
 * no new proportional rows, so one pass over each side is complete.
 *
 * Before either: a row whose hash of columns no other row shares is its own lump, whatever its
 * values; mostly that is nearly all of them. Columns are hashed by a sum over their rows, which
 * needs no transpose; where no two agree there is nothing to lump.
 *
 * Limits: agreement to a tolerance is not transitive; each row of a lump agrees with the lump's
 * first row in signature order. Cost O(nnz) (integers) or O(nnz + rows log rows).
 */
#include "cooc/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated.h"
#include "cooc/gcd.h"

static const double INTEGER_LIMIT = 9007199254740992.0; /* 2^53 */
static const double DEFAULT_TOLERANCE = 1e-13;

void cs_lumping_free(cs_lumping *lumping)
{
    cs_csr_free(&lumping->a);
    cs_free(lumping->row_lump);
    cs_free(lumping->col_lump);
    *lumping = (cs_lumping){0};
}

static bool all_integers(const cs_csr *a)
{
    int64_t nnz = cs_csr_nnz(a);
    for (int64_t e = 0; e < nnz; ++e) {
        if (!(a->val[e] < INTEGER_LIMIT) || a->val[e] != floor(a->val[e])) {
            return false;
        }
    }
    return true;
}

static cs_hash128 pattern_hash(const cs_csr *a, int64_t row, uint64_t seed)
{
    int64_t begin = a->ptr[row];
    return cs_hash(a->col + begin, (size_t)(a->ptr[row + 1] - begin) * sizeof *a->col, seed);
}

/* --- what shares its pattern with nothing ----------------------------------------------------- */

enum { HASHED_ROWS = 4096 }; /* of an item */

typedef struct {
    const cs_csr *a;
    uint64_t *hash;
} hash_job;

static cs_status hash_rows(void *ctx, int64_t item, int worker)
{
    (void)worker;
    const hash_job *job = ctx;
    int64_t end = (item + 1) * HASHED_ROWS < job->a->rows ? (item + 1) * HASHED_ROWS : job->a->rows;
    for (int64_t i = item * HASHED_ROWS; i < end; ++i) {
        job->hash[i] = pattern_hash(job->a, i, 0).low;
    }
    return CS_OK;
}

/* Sums over the rows of a column of their numbers, well mixed (splitmix64): the order of the rows
 * does not matter. */
static void hash_columns(const cs_csr *a, uint64_t *hash, bool *used)
{
    for (int64_t i = 0; i < a->rows; ++i) {
        uint64_t z = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15U;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        z ^= z >> 31;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            hash[a->col[e]] += z;
            used[a->col[e]] = true;
        }
    }
}

/* Marks the used items whose hash another one has; *count of them. Chance agreement is harmless:
 * marked items are compared. */
static cs_status mark_shared(int64_t n, const uint64_t *hash, const bool *used, bool *shared,
                             int64_t *count)
{
    int64_t size = 16;
    while (size < 2 * n) {
        size *= 2;
    }
    int64_t *slot = cs_alloc(size, sizeof *slot);
    if (!slot) {
        return CS_ERR_MEMORY;
    }
    memset(slot, 0xff, (size_t)size * sizeof *slot); /* -1 */
    *count = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (!used[i]) {
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
    cs_free(slot);
    return CS_OK;
}

/* shared[i]: row i is not empty and another row may have its columns. */
static cs_status rows_that_share(const cs_csr *a, bool *shared, int64_t *count)
{
    uint64_t *hash = cs_alloc(a->rows, sizeof *hash);
    bool *used = cs_alloc(a->rows, sizeof *used);
    hash_job job = {.a = a, .hash = hash};
    cs_status status = hash && used ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < a->rows; ++i) {
        used[i] = a->ptr[i] < a->ptr[i + 1];
    }
    status = status ? status
                    : cs_parallel((a->rows + HASHED_ROWS - 1) / HASHED_ROWS, 0, hash_rows, &job);
    status = status ? status : mark_shared(a->rows, hash, used, shared, count);
    cs_free(hash);
    cs_free(used);
    return status;
}

/* Numbers the columns that are not empty in lump[] (-1: empty); *count of them, or -1 when two may
 * have the same rows. */
static cs_status number_columns(const cs_csr *a, int64_t *lump, int64_t *count)
{
    uint64_t *hash = cs_calloc(a->cols, sizeof *hash);
    bool *used = cs_calloc(a->cols, sizeof *used), *shared = cs_calloc(a->cols, sizeof *shared);
    int64_t number = 0, alike = 0;
    cs_status status = hash && used && shared ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        hash_columns(a, hash, used);
        status = mark_shared(a->cols, hash, used, shared, &alike);
    }
    for (int64_t j = 0; status == CS_OK && j < a->cols; ++j) {
        lump[j] = used[j] ? number++ : -1;
    }
    *count = alike > 0 ? -1 : number;
    cs_free(hash);
    cs_free(used);
    cs_free(shared);
    return status;
}

static bool same_pattern(const cs_csr *a, int64_t x, int64_t y)
{
    int64_t n = a->ptr[x + 1] - a->ptr[x];
    return n == a->ptr[y + 1] - a->ptr[y] &&
           memcmp(a->col + a->ptr[x], a->col + a->ptr[y], (size_t)n * sizeof *a->col) == 0;
}

static int64_t longest_row(const cs_csr *a)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t n = a->ptr[i + 1] - a->ptr[i];
        longest = n > longest ? n : longest;
    }
    return longest;
}

/* --- integer counts: canonical rows in a hash table ------------------------------------------- */

/* The row divided by the gcd of its entries, which is returned. */
static uint64_t primitive_row(const cs_csr *a, int64_t row, uint64_t *values)
{
    uint64_t divisor = 0;
    int64_t begin = a->ptr[row], n = a->ptr[row + 1] - begin;
    for (int64_t e = 0; e < n; ++e) {
        values[e] = (uint64_t)a->val[begin + e];
        if (divisor != 1) {
            divisor = (uint64_t)cs_gcd((int64_t)values[e], (int64_t)divisor);
        }
    }
    for (int64_t e = 0; divisor != 1 && e < n; ++e) {
        values[e] /= divisor;
    }
    return divisor;
}

/* Whether row `first` (gcd known) has these primitive values; patterns agree. */
static bool same_primitive(const cs_csr *a, int64_t first, uint64_t divisor, const uint64_t *values)
{
    int64_t begin = a->ptr[first], n = a->ptr[first + 1] - begin;
    for (int64_t e = 0; e < n; ++e) {
        if ((uint64_t)a->val[begin + e] != values[e] * divisor) {
            return false;
        }
    }
    return true;
}

typedef struct {
    int64_t mask;
    int64_t *slot; /* lump number or -1 */
    uint64_t *tag; /* by lump: hash, gcd and first row */
    uint64_t *divisor;
    int64_t *first;
    uint64_t *values; /* primitive values of the row at hand */
} lump_table;

static void lump_table_free(lump_table *t)
{
    cs_free(t->slot);
    cs_free(t->tag);
    cs_free(t->divisor);
    cs_free(t->first);
    cs_free(t->values);
}

static cs_status lump_table_init(lump_table *t, const cs_csr *a)
{
    int64_t size = 16;
    while (size < 2 * a->rows) {
        size *= 2;
    }
    t->mask = size - 1;
    t->slot = cs_alloc(size, sizeof *t->slot);
    t->tag = cs_alloc(a->rows, sizeof *t->tag);
    t->divisor = cs_alloc(a->rows, sizeof *t->divisor);
    t->first = cs_alloc(a->rows, sizeof *t->first);
    t->values = cs_alloc(longest_row(a), sizeof *t->values);
    if (!t->slot || !t->tag || !t->divisor || !t->first || !t->values) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < size; ++i) {
        t->slot[i] = -1;
    }
    return CS_OK;
}

/* The lump of a row, a new one (== count) when none fits. */
static int64_t find_lump(lump_table *t, const cs_csr *a, int64_t row, int64_t count)
{
    uint64_t divisor = primitive_row(a, row, t->values);
    int64_t n = a->ptr[row + 1] - a->ptr[row];
    uint64_t tag =
        cs_hash(t->values, (size_t)n * sizeof *t->values, pattern_hash(a, row, 0).low).low;
    int64_t at = (int64_t)tag & t->mask;
    for (; t->slot[at] >= 0; at = (at + 1) & t->mask) {
        int64_t lump = t->slot[at];
        if (t->tag[lump] == tag && same_pattern(a, t->first[lump], row) &&
            same_primitive(a, t->first[lump], t->divisor[lump], t->values)) {
            return lump;
        }
    }
    t->slot[at] = count;
    t->tag[count] = tag;
    t->divisor[count] = divisor;
    t->first[count] = row;
    return count;
}

static cs_status lump_integers(const cs_csr *a, const bool *shared, int64_t *lump, int64_t *count)
{
    lump_table table = {0};
    cs_status status = lump_table_init(&table, a);
    if (status != CS_OK) {
        goto done;
    }
    int64_t found = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        lump[i] = a->ptr[i] == a->ptr[i + 1] ? -1
                  : shared[i]                ? find_lump(&table, a, i, found)
                                             : found;
        found += lump[i] == found;
    }
    *count = found;
done:
    lump_table_free(&table);
    return status;
}

/* --- real values: neighbours in signature order ----------------------------------------------- */

typedef struct {
    cs_hash128 pattern;
    double signature;
    int64_t row;
} lump_key;

static int compare_keys(const void *x, const void *y)
{
    const lump_key *a = x, *b = y;
    int order = cs_hash_compare(a->pattern, b->pattern);
    if (order != 0) {
        return order;
    }
    if (a->signature != b->signature) {
        return a->signature < b->signature ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* A fixed pseudo-random weight in [1, 2) of a column (the finaliser of splitmix64). */
static double column_weight(int32_t col)
{
    uint64_t z = (uint64_t)col + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return 1.0 + (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Compensated, so that a row and its multiple have sums in the same ratio to a few units in the
 * last place, however long they are. */
static double row_total(const cs_csr *a, int64_t row)
{
    double sum = 0, lost = 0;
    for (int64_t e = a->ptr[row]; e < a->ptr[row + 1]; ++e) {
        cs_add_compensated(&sum, &lost, a->val[e]);
    }
    return sum + lost;
}

static double row_signature(const cs_csr *a, int64_t row, double total)
{
    double sum = 0, lost = 0;
    for (int64_t e = a->ptr[row]; e < a->ptr[row + 1]; ++e) {
        cs_add_compensated(&sum, &lost, column_weight(a->col[e]) * (a->val[e] / total));
    }
    return sum + lost;
}

static bool rows_agree(const cs_csr *a, const double *total, int64_t x, int64_t y, double tolerance)
{
    if (!same_pattern(a, x, y)) {
        return false;
    }
    int64_t n = a->ptr[x + 1] - a->ptr[x];
    for (int64_t e = 0; e < n; ++e) {
        double p = a->val[a->ptr[x] + e] / total[x], q = a->val[a->ptr[y] + e] / total[y];
        if (fabs(p - q) > tolerance * fmax(p, q)) {
            return false;
        }
    }
    return true;
}

/* Gives every key's row the row that represents it. `leader`: scratch, positions of the lumps
 * opened so far in the order of the keys. */
static void follow_leaders(const cs_csr *a, const lump_key *key, int64_t n, const double *total,
                           double tolerance, int64_t *leader, int64_t *represented_by)
{
    const double window = tolerance + 32 * 0x1p-52; /* rounding of the two signatures */
    int64_t leaders = 0;
    for (int64_t i = 0; i < n; ++i) {
        represented_by[key[i].row] = -1;
        for (int64_t l = leaders - 1; l >= 0; --l) {
            const lump_key *candidate = &key[leader[l]];
            if (cs_hash_compare(candidate->pattern, key[i].pattern) != 0 ||
                key[i].signature - candidate->signature > window * key[i].signature) {
                break;
            }
            if (rows_agree(a, total, candidate->row, key[i].row, tolerance)) {
                represented_by[key[i].row] = candidate->row;
                break;
            }
        }
        if (represented_by[key[i].row] < 0) {
            represented_by[key[i].row] = key[i].row;
            leader[leaders++] = i;
        }
    }
}

static cs_status lump_reals(const cs_csr *a, double tolerance, const bool *shared, int64_t *lump,
                            int64_t *count)
{
    cs_status status = CS_ERR_MEMORY;
    lump_key *key = cs_alloc(a->rows, sizeof *key);
    double *total = cs_alloc(a->rows, sizeof *total);
    int64_t *number = cs_alloc(a->rows, sizeof *number); /* leaders, then lump of a leading row */
    if (!key || !total || !number) {
        goto done;
    }
    int64_t n = 0, found = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        lump[i] = a->ptr[i] < a->ptr[i + 1] ? i : -1; /* the row that represents it */
        if (shared[i]) {
            total[i] = row_total(a, i);
            if (!isfinite(total[i])) {
                status = cs_fail(CS_ERR_INPUT, "row %lld: its sum overflows", (long long)i);
                goto done;
            }
            key[n++] = (lump_key){pattern_hash(a, i, 0), row_signature(a, i, total[i]), i};
        }
    }
    qsort(key, (size_t)n, sizeof *key, compare_keys);
    follow_leaders(a, key, n, total, tolerance, number, lump);
    for (int64_t i = 0; i < a->rows; ++i) {
        number[i] = -1;
    }
    for (int64_t i = 0; i < a->rows; ++i) { /* by first appearance */
        if (lump[i] >= 0) {
            int64_t leader = lump[i];
            if (number[leader] < 0) {
                number[leader] = found++;
            }
            lump[i] = number[leader];
        }
    }
    *count = found;
    status = CS_OK;
done:
    cs_free(key);
    cs_free(total);
    cs_free(number);
    return status;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Adds the rows of each lump; all rows of a lump share a pattern. */
static cs_status add_rows(const cs_csr *a, const int64_t *lump, int64_t count, cs_csr *out)
{
    cs_status status = CS_ERR_MEMORY;
    cs_csr sum = {0};
    double *lost = NULL;
    int64_t *length = cs_calloc(count, sizeof *length);
    if (!length) {
        goto done;
    }
    int64_t nnz = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (lump[i] >= 0 && length[lump[i]] == 0) {
            length[lump[i]] = a->ptr[i + 1] - a->ptr[i];
            nnz += length[lump[i]];
        }
    }
    status = cs_csr_init(&sum, count, a->cols, nnz);
    lost = status == CS_OK ? cs_calloc(nnz, sizeof *lost) : NULL;
    if (!lost) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    memset(sum.val, 0, (size_t)nnz * sizeof *sum.val);
    for (int64_t l = 0; l < count; ++l) {
        sum.ptr[l + 1] = sum.ptr[l] + length[l];
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = 0; lump[i] >= 0 && e < length[lump[i]]; ++e) {
            int64_t to = sum.ptr[lump[i]] + e;
            sum.col[to] = a->col[a->ptr[i] + e];
            cs_add_compensated(&sum.val[to], &lost[to], a->val[a->ptr[i] + e]);
        }
    }
    for (int64_t e = 0; e < nnz; ++e) {
        sum.val[e] += lost[e];
    }
    *out = sum;
    sum = (cs_csr){0};
done:
    cs_csr_free(&sum);
    cs_free(lost);
    cs_free(length);
    return status;
}

/* *out is `a` itself, borrowed, when every row is a lump. */
static cs_status lump_rows(const cs_csr *a, double tolerance, int64_t *lump, cs_csr *out,
                           bool *borrowed)
{
    int64_t count = 0, alike = 0;
    bool *shared = cs_calloc(a->rows, sizeof *shared);
    cs_status status = shared ? rows_that_share(a, shared, &alike) : CS_ERR_MEMORY;
    if (status == CS_OK && alike == 0) {
        for (int64_t i = 0; i < a->rows; ++i) {
            lump[i] = a->ptr[i] < a->ptr[i + 1] ? count++ : -1;
        }
    } else if (status == CS_OK) {
        status = all_integers(a) ? lump_integers(a, shared, lump, &count)
                                 : lump_reals(a, tolerance, shared, lump, &count);
    }
    cs_free(shared);
    *borrowed = status == CS_OK && count == a->rows;
    if (*borrowed) {
        *out = *a;
    }
    return status || *borrowed ? status : add_rows(a, lump, count, out);
}

/* The columns with number[j] >= 0, `cols` of them, so numbered in their order. */
static cs_status keep_columns(const cs_csr *a, const int64_t *number, int64_t cols, cs_csr *out)
{
    int64_t nnz = cs_csr_nnz(a);
    cs_status status = cs_csr_init(out, a->rows, cols, nnz);
    if (status == CS_OK) {
        memcpy(out->ptr, a->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
        memcpy(out->val, a->val, (size_t)nnz * sizeof *a->val);
    }
    for (int64_t e = 0; status == CS_OK && e < nnz; ++e) {
        out->col[e] = (int32_t)number[a->col[e]];
    }
    return status;
}

/* Proportional columns of by_row. */
static cs_status lump_columns(const cs_csr *by_row, double tolerance, int64_t *lump, cs_csr *out)
{
    cs_csr transposed = {0}, by_col = {0};
    int64_t cols = 0;
    bool borrowed = false;
    cs_status status = number_columns(by_row, lump, &cols);
    if (status != CS_OK || cols >= 0) {
        return status ? status : keep_columns(by_row, lump, cols, out);
    }
    status = cs_csr_transpose(by_row, &transposed);
    status = status ? status : lump_rows(&transposed, tolerance, lump, &by_col, &borrowed);
    if (status == CS_OK) {
        if (!borrowed) {
            cs_csr_free(&transposed);
        }
        status = cs_csr_transpose(&by_col, out);
    }
    if (!borrowed) {
        cs_csr_free(&by_col);
    }
    cs_csr_free(&transposed);
    return status;
}

/* A copy without stored zeros: patterns are then sets of nonzeros. */
static cs_status drop_zeros(const cs_csr *a, cs_csr *out)
{
    cs_csr b = {0};
    cs_status status = cs_csr_init(&b, a->rows, a->cols, cs_csr_nnz(a));
    if (status != CS_OK) {
        return status;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            if (a->val[e] != 0) {
                b.col[n] = a->col[e];
                b.val[n++] = a->val[e];
            }
        }
        b.ptr[i + 1] = n;
    }
    *out = b;
    return CS_OK;
}

static bool has_zeros(const cs_csr *a)
{
    int64_t nnz = cs_csr_nnz(a);
    for (int64_t e = 0; e < nnz; ++e) {
        if (a->val[e] == 0) {
            return true;
        }
    }
    return false;
}

cs_status cs_lump_may_find(const cs_csr *a, bool *any)
{
    int64_t alike = 0, cols = 0;
    *any = true;
    if (has_zeros(a)) { /* patterns are then not what is stored */
        return CS_OK;
    }
    bool *shared = cs_calloc(a->rows, sizeof *shared);
    int64_t *number = cs_alloc(a->cols, sizeof *number);
    cs_status status = shared && number ? rows_that_share(a, shared, &alike) : CS_ERR_MEMORY;
    if (status == CS_OK && alike == 0) {
        status = number_columns(a, number, &cols);
        *any = cols < 0;
    }
    cs_free(shared);
    cs_free(number);
    return status;
}

cs_status cs_lump(const cs_csr *a, double tolerance, cs_lumping *out)
{
    if (!(tolerance >= 0) || tolerance >= 1) {
        return cs_fail(CS_ERR_USAGE, "lumping tolerance %g not in [0, 1)", tolerance);
    }
    cs_status status = cs_csr_check(a, true);
    if (status != CS_OK) {
        return status;
    }
    cs_lumping l = {.rows = a->rows, .cols = a->cols};
    cs_csr nonzeros = {0}, by_row = {0};
    bool borrowed = false;
    double tol = tolerance > 0 ? tolerance : DEFAULT_TOLERANCE;
    l.row_lump = cs_alloc(a->rows, sizeof *l.row_lump);
    l.col_lump = cs_alloc(a->cols, sizeof *l.col_lump);
    if (!l.row_lump || !l.col_lump) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    bool zeros = has_zeros(a);
    if (zeros && (status = drop_zeros(a, &nonzeros)) != CS_OK) {
        goto done;
    }
    if ((status = lump_rows(zeros ? &nonzeros : a, tol, l.row_lump, &by_row, &borrowed)) != CS_OK ||
        (status = lump_columns(&by_row, tol, l.col_lump, &l.a)) != CS_OK) {
        goto done;
    }
    *out = l;
    l = (cs_lumping){0};
done:
    if (!borrowed) {
        cs_csr_free(&by_row);
    }
    cs_csr_free(&nonzeros);
    cs_lumping_free(&l);
    return status;
}
