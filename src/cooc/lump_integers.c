/* Proportional rows of integers.
 *
 * Method. A row divided by the greatest common divisor of its entries is a canonical form:
 * proportional rows have equal ones (the same as equal cross products), so one hash table finds
 * them without any tolerance. O(nnz).
 */
#include <string.h>

#include "base/mem.h"
#include "cooc/gcd.h"
#include "cooc/lump_private.h"

static int64_t longest_row(const cs_csr *a)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t n = a->ptr[i + 1] - a->ptr[i];
        longest = n > longest ? n : longest;
    }
    return longest;
}

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
        cs_hash(t->values, (size_t)n * sizeof *t->values, cs_pattern_hash(a, row, 0).low).low;
    int64_t at = (int64_t)tag & t->mask;
    for (; t->slot[at] >= 0; at = (at + 1) & t->mask) {
        int64_t lump = t->slot[at];
        if (t->tag[lump] == tag && cs_same_pattern(a, t->first[lump], row) &&
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

cs_status cs_lump_integers(const cs_csr *a, const bool *shared, int64_t *lump, int64_t *count)
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
