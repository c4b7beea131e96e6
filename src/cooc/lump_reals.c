/* Proportional rows of real values.
 *
 * Method. Rows are compared after division by their sums, entry by entry, to a relative tolerance.
 * Candidates share their column pattern (hash) and are neighbours in the order of a signature
 * sum_j w_j p_j with w_j in [1, 2) fixed pseudo-random: entries that agree to tol give signatures
 * that agree to tol, so no bucket boundary can part them, and rows that differ almost never meet.
 *
 * Limits: agreement to a tolerance is not transitive; each row of a lump agrees with the lump's
 * first row in signature order. O(nnz + rows log rows).
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cooc/compensated.h"
#include "cooc/lump_private.h"

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
    if (!cs_same_pattern(a, x, y)) {
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

cs_status cs_lump_reals(const cs_csr *a, double tolerance, const bool *shared, int64_t *lump,
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
            key[n++] = (lump_key){cs_pattern_hash(a, i, 0), row_signature(a, i, total[i]), i};
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
