/** \file
 * Gram matrices of streamed rows, one block for each group of rows:
 *
 * \f[ G_g = \sum_{k \in g} (x_k - s)(x_k - s)^T, \qquad t_g = \sum_{k \in g} (x_k - s), \f]
 *
 * G_g d x d in double, with one shift s (0 by default). Blocks add up, so a group is left out by
 * subtraction, parts merge, and a stored object can be continued. Memory: 8 d^2 bytes a group and
 * about 24 MB of buffered rows (33 MB when wide; d <= 1,000), for any number of rows.
 *
 * Error. Products are summed in float (double when `wide`) over at most 4,096 rows, these sums in
 * double. With u = 2^-24 (2^-53 when wide), v = 2^-53 and rows y = x - s,
 *
 * \f[ |\hat G_{ij} - G_{ij}| \le \gamma \sum_k |y_{ki}| |y_{kj}|, \qquad \gamma = e / (1 - e), \f]
 *
 * where e is the sum of 162 u + (slabs + groups) v; (d + 6) v if rows are divided by their norms;
 * and 2 (128 u + (32 slabs + groups) v) + 4 v if centred. By Weyl every eigenvalue is within gamma
 * tr(sum y y^T): 9.7e-6 of the trace in float, not centred. Rounding errors of random sign leave
 * about the square root of this times sqrt(u). The difference of a normalised row and the shift
 * counts as exact. Products below 1e-38 vanish in float. Source of the bound: ours.
 *
 * Bits depend on the data, the groups and the vector unit of the processor, not on the number of
 * threads.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/rows.h"
#include "linalg/dense.h"

/** Options of cs_gram_init and cs_gram_add. */
typedef struct {
    /** Sum products in double: for eigenvalues below 1e-5 of the trace. */
    bool wide;
    /** Divide rows by their Euclidean norms; zero rows stay. */
    bool normalise;
    /** s is the mean of the first 128 rows added, so that centring does not cancel. */
    bool shift;
    /** 0: cs_threads(). */
    int threads;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_gram_options;

/** Gram blocks. Free them with cs_gram_free. */
typedef struct {
    /** d. */
    int64_t cols;
    /** Number of groups. */
    int64_t groups;
    /** As in the options. */
    bool wide;
    /** As in the options. */
    bool normalise;
    /** As in the options. */
    bool shift;
    /** groups: rows added. */
    int64_t *rows;
    /** groups x d x d: of block g only the entries (i, j), i <= j, at i * d + j. */
    double *block;
    /** groups x d: t_g. */
    double *sum;
    /** d: s. */
    double *origin;
    /** Rows added in total. */
    int64_t total;
    /** Zero rows among them. */
    int64_t zeros;
    /** Nonzero rows whose squares underflow to 0. */
    int64_t vanished;
    /** Largest number of sums of up to 4,096 rows that were added in double. */
    int64_t slabs;
    /** Index, among all rows given, of the row with the largest norm. */
    int64_t heaviest;
    /** Its squared norm before shift and normalisation. */
    double heaviest_square;
    /** Sum of the squared norms before shift and normalisation. */
    double square;
    /** Rows given, dropped ones included. */
    int64_t seen;
} cs_gram;

/** Empty blocks.
 *
 * \param cols d
 * \param groups number of groups
 * \param out receives the blocks
 * \retval CS_ERR_USAGE no columns or no groups
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_gram_init(int64_t cols, int64_t groups, const cs_gram_options *options,
                       cs_gram *out) CS_MUST_CHECK;

/** Frees the blocks; accepts a zeroed object. */
void cs_gram_free(cs_gram *g);

/** Adds rows; n d^2 flops. After a failure the object must not be used.
 *
 * \param rows n x d
 * \param group n numbers of groups, -1 leaves the row out; NULL: consecutive blocks of rows whose
 *     sizes differ by at most one
 * \param options those of cs_gram_init
 * \retval CS_ERR_INPUT a value that is not finite (row and column), a row whose squares exceed
 *     4e34 (float) or 5e269 (wide), a group out of range, or another number of columns
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_gram_add(cs_gram *g, const cs_rows *rows, const int32_t *group,
                      const cs_gram_options *options) CS_MUST_CHECK;

/** Adds the blocks of `from`, with the same groups and options, to those of `into`. Exact algebra
 * if the shifts differ. Its rows count as given after those of `into`.
 */
cs_status cs_gram_merge(cs_gram *into, const cs_gram *from) CS_MUST_CHECK;

/** The groups from..end-1. */
typedef struct {
    /** First group. */
    int64_t from;
    /** One after the last group. */
    int64_t end;
} cs_gram_range;

/** X^T X over the groups outside two ranges, of the rows as they are, or of the rows minus their
 * mean if `centred`.
 *
 * \param without two ranges; NULL: all groups
 * \param centred subtract the mean
 * \param out receives a d x d matrix, both triangles (cs_dense_free)
 * \param n receives the number of rows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_gram_total(const cs_gram *g, const cs_gram_range *without, bool centred, cs_dense *out,
                        int64_t *n) CS_MUST_CHECK;

/** The sum over all groups, from which few groups can be subtracted. */
typedef struct {
    /** d x d: only the entries (i, j), i <= j, at i * d + j. */
    cs_dense sum;
    /** groups: trace of each block. */
    double *trace;
} cs_gram_all;

/** Computes the sum over all groups. */
cs_status cs_gram_all_of(const cs_gram *g, cs_gram_all *out) CS_MUST_CHECK;

/** Frees the sum; accepts a zeroed object. */
void cs_gram_all_free(cs_gram_all *all);

/** As cs_gram_total, only the triangle of cs_gram_all. Groups are subtracted from `all` (NULL:
 * none) if that is less work than adding the others, and if rounding stays within the bound above.
 */
cs_status cs_gram_without(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                          bool centred, cs_dense *out, int64_t *n) CS_MUST_CHECK;

/** gamma, the error bound above. */
double cs_gram_gamma(const cs_gram *g, bool centred);

/** Bound on the error of the eigenvalues of cs_gram_total: gamma times the trace. */
double cs_gram_floor(const cs_gram *g, const cs_gram_range *without, bool centred);

/** As cs_gram_floor with the traces in `all`. */
double cs_gram_floor_without(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                             bool centred);

/** Writes the blocks as NPZ: block, sum, rows, origin and the scalars.
 *
 * \retval CS_ERR_IO the file cannot be written
 */
cs_status cs_gram_write(const cs_gram *g, const char *path) CS_MUST_CHECK;

/** Reads such a file.
 *
 * \retval CS_ERR_INPUT the file is invalid
 * \retval CS_ERR_IO the file cannot be read
 */
cs_status cs_gram_read(const char *path, cs_gram *out) CS_MUST_CHECK;
