/** \file
 * The two nearest other rows of every row, in Euclidean distance.
 *
 * Squared distances \f$|x|^2 + |y|^2 - 2 \langle x, y \rangle\f$ in double find three candidates,
 * whose distances are recomputed from differences, so equal rows are at distance exactly 0.
 * Candidates are off by at most (d + 4) 2^-52 (|x|^2 + |y|^2); of neighbours closer to each other
 * than that, the third and the fourth may be exchanged.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/rows.h"

/** Distances to the nearest and the second nearest other row. 2 n^2 d flops, 8 n d bytes. Bits do
 * not depend on the number of threads.
 *
 * \param rows n x d, n at least 3
 * \param threads 0: cs_threads()
 * \param progress panels of rows; NULL: none
 * \param first receives n distances
 * \param second receives n distances
 * \retval CS_ERR_INPUT fewer than 3 rows, or a value that is not finite
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_nearest_two(const cs_rows *rows, int threads, const cs_progress *progress,
                         double *first, double *second) CS_MUST_CHECK;
