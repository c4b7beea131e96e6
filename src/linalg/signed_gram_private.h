/* Within the sums of outer products with signs. */
#pragma once

#include "linalg/signed_gram.h"

/* The same matrix with fewer and sorted rows (signed_gram_compact.c): no row of one entry, and one of
 * two entries at most for two columns, but where their squares leave the range of doubles. Time: two passes; memory: 12
 * bytes an entry. CS_ERR_MEMORY. */
cs_status cs_signed_gram_compact(const cs_signed_gram *p, cs_signed_gram *out) CS_MUST_CHECK;
