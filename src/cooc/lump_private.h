/* What the lumping is made of (lump*.c): which rows share their pattern of columns, and which of
 * those are proportional. Patterns are of what is stored: no zeros.
 */
#ifndef CS_COOC_LUMP_PRIVATE_H
#define CS_COOC_LUMP_PRIVATE_H

#include "base/hash.h"
#include "base/status.h"
#include "linalg/csr.h"

/* --- patterns (lump_pattern.c) ---------------------------------------------------------------- */

cs_hash128 cs_pattern_hash(const cs_csr *a, int64_t row, uint64_t seed);
bool cs_same_pattern(const cs_csr *a, int64_t x, int64_t y);

/* shared[i] (false before): row i is not empty and another row may have its columns; *count of
 * them. CS_ERR_MEMORY. */
cs_status cs_rows_that_share(const cs_csr *a, bool *shared, int64_t *count) CS_MUST_CHECK;

/* Numbers the columns that are not empty in lump[] (-1: empty); *count of them, or -1 when two may
 * have the same rows. CS_ERR_MEMORY. */
cs_status cs_number_columns(const cs_csr *a, int64_t *lump, int64_t *count) CS_MUST_CHECK;

/* --- proportional rows among those that share ------------------------------------------------- */

/* lump[i]: the lump of row i by first appearance, -1 when it is empty; *count of them.
 * CS_ERR_MEMORY. integers (lump_integers.c): every entry an integer below 2^53, compared exactly.
 * reals (lump_reals.c): to a relative tolerance; CS_ERR_INPUT when a sum overflows. */
cs_status cs_lump_integers(const cs_csr *a, const bool *shared, int64_t *lump,
                           int64_t *count) CS_MUST_CHECK;
cs_status cs_lump_reals(const cs_csr *a, double tolerance, const bool *shared, int64_t *lump,
                        int64_t *count) CS_MUST_CHECK;

#endif
