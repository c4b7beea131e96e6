/* Rows and columns whose pattern no other has.
 *
 * Method. A row whose hash of columns no other row shares is its own lump, whatever its values;
 * mostly that is nearly all of them. Columns are hashed by a sum over their rows, which needs no
 * transpose; where no two agree there is nothing to lump.
 */
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/lump_private.h"

cs_hash128 cs_pattern_hash(const cs_csr *a, int64_t row, uint64_t seed)
{
    int64_t begin = a->ptr[row];
    return cs_hash(a->col + begin, (size_t)(a->ptr[row + 1] - begin) * sizeof *a->col, seed);
}

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
        job->hash[i] = cs_pattern_hash(job->a, i, 0).low;
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

cs_status cs_rows_that_share(const cs_csr *a, bool *shared, int64_t *count)
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

cs_status cs_number_columns(const cs_csr *a, int64_t *lump, int64_t *count)
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

bool cs_same_pattern(const cs_csr *a, int64_t x, int64_t y)
{
    int64_t n = a->ptr[x + 1] - a->ptr[x];
    return n == a->ptr[y + 1] - a->ptr[y] &&
           memcmp(a->col + a->ptr[x], a->col + a->ptr[y], (size_t)n * sizeof *a->col) == 0;
}
