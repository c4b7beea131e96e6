/* What the lumping is made of (lump_rows.c): which rows share their pattern of columns, and which of
 * those are proportional. Patterns are of what is stored: no zeros.
 */
#pragma once

#include "base/status.h"
#include "cooc/reduce.h"
#include "linalg/csr.h"

/* cs_lump of a matrix that was checked. */
cs_status cs_lump_checked(const cs_csr *a, double tolerance, cs_lumping *out) CS_MUST_CHECK;

/* shared[i] (false before): row i is not empty and another row may have its columns; *count of
 * them. CS_ERR_MEMORY. */
cs_status cs_rows_that_share(const cs_csr *a, bool *shared, int64_t *count) CS_MUST_CHECK;

/* Numbers the columns that are not empty in lump[] (-1: empty); *count of them, or -1 when two may
 * have the same rows. CS_ERR_MEMORY. */
cs_status cs_number_columns(const cs_csr *a, int64_t *lump, int64_t *count) CS_MUST_CHECK;

/* lump[i]: the lump of row i by first appearance, -1 when it is empty; *count of them. Proportional
 * to a relative tolerance, or, by CS_LUMP_EXACT, as integers below 2^53 that every entry is.
 * CS_ERR_MEMORY, CS_ERR_INPUT when a sum overflows. */
static const double CS_LUMP_EXACT = 0;
cs_status cs_lump_proportional(const cs_csr *a, double tolerance, const bool *shared, int64_t *lump,
                               int64_t *count) CS_MUST_CHECK;
