/* Lumping of a matrix that was checked. */
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
