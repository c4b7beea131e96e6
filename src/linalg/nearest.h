/* The two nearest other rows of every row, in Euclidean distance.
 *
 * Squared distances |x|^2 + |y|^2 - 2 <x, y> in double find three candidates; their distances are
 * then taken from the differences, so that equal rows are at distance 0 exactly. Candidates are off
 * by at most (d + 4) 2^-52 (|x|^2 + |y|^2): of neighbours nearer to each other than that, the third
 * and the fourth may be mistaken. 2 n^2 d flops, 8 n d bytes. The same bits for any number of
 * threads.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/rows.h"

/* first, second: rows->rows distances each. At least 3 rows (CS_ERR_INPUT); CS_ERR_INPUT names a
 * value that is not finite. */
cs_status cs_nearest_two(const cs_rows *rows, int threads, double *first,
                         double *second) CS_MUST_CHECK;
