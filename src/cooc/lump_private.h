/* Parts of the lumping (lump_rows.c): the rows with the same pattern of columns, and the
 * proportional ones among these. Patterns are of stored entries; there are no stored zeros. */
#pragma once

#include "base/status.h"
#include "cooc/reduce.h"
#include "linalg/csr.h"

/* cs_lump of a matrix that was checked, with stored `zeros` or not. Positive tolerance, or
 * CS_LUMP_NOTHING: every nonempty row and column is a separate lump, whatever the signs. */
static const double CS_LUMP_TOLERANCE = 1e-13, CS_LUMP_NOTHING = -1;
cs_status cs_lump_checked(const cs_csr *a, bool zeros, double tolerance,
                          cs_lumping *out) CS_MUST_CHECK;

/* *any: false if no two rows and no two columns of a matrix without stored zeros have the same
 * pattern, so that there is nothing to lump, whatever the values; true is inconclusive. One or two
 * passes over the indices, O(rows + cols) memory. CS_ERR_MEMORY. */
cs_status cs_lump_may_find(const cs_csr *a, bool *any) CS_MUST_CHECK;

/* shared[i] (false before): row i is not empty and another row may have its columns; *count is
 * their number. CS_ERR_MEMORY. */
cs_status cs_rows_that_share(const cs_csr *a, bool *shared, int64_t *count) CS_MUST_CHECK;

/* Numbers the nonempty columns, *count of them, -1 the others; *alike: two may have the same rows.
 * CS_ERR_MEMORY. */
cs_status cs_number_columns(const cs_csr *a, int32_t *number, int64_t *count,
                            bool *alike) CS_MUST_CHECK;

/* lump[i]: the lump of row i by first appearance, -1 for an empty row; *count is their number.
 * Proportional to a relative tolerance, or, with CS_LUMP_EXACT, compared exactly for a matrix of
 * integers below 2^53. CS_ERR_MEMORY, CS_ERR_INPUT when a sum overflows. */
static const double CS_LUMP_EXACT = 0;
cs_status cs_lump_proportional(const cs_csr *a, double tolerance, const bool *shared, int32_t *lump,
                               int64_t *count) CS_MUST_CHECK;
