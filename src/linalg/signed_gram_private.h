/* Private to the sums of signed outer products. */
#pragma once

#include "linalg/signed_gram.h"

/* The same matrix with fewer and sorted rows (signed_gram_eigen.c): no row with one entry, and at
 * most one row with two entries for two columns, except where their squares exceed the range of
 * double. Time: two passes; memory: 12 bytes an entry. CS_ERR_MEMORY. */
cs_status cs_signed_gram_compact(const cs_signed_gram *p, cs_signed_gram *out) CS_MUST_CHECK;
