/* Gram matrices of streamed rows, one block per group of rows:
 *
 *   G_g = sum_{k in g} (x_k - s)(x_k - s)^T  (d x d, double),   t_g = sum_{k in g} (x_k - s)
 *
 * with one shift s for all (0 unless asked for). Blocks add up, so leaving a group out is a
 * subtraction, shards merge, and a stored object goes on where it stopped. Memory: 8 d^2 bytes a
 * group and about 24 MB (33 MB when wide; d <= 1,000) of rows on their way, whatever n.
 *
 * Error. Products are summed in float (double when `wide`) over at most 4,096 rows, these sums in
 * double. With u = 2^-24 (2^-53) and v = 2^-53,
 *
 *   |Ghat_ij - G_ij| <= gamma sum_k |y_ki| |y_kj|,   gamma = e / (1 - e),   rows y = x - s
 *   e = 162 u + (slabs + groups) v        128 rows in sequence, 32 such runs, y to the type twice
 *     + (d + 6) v                         if rows are divided by their norms, which are doubles
 *     + 2 (128 u + (32 slabs + groups) v) + 4 v     if centred: t and t t^T / n, since
 *                                         |t_i t_j| <= n (sum_k y_ki^2 sum_k y_kj^2)^(1/2)
 *
 * hence every eigenvalue is within gamma trace(sum y y^T) (Weyl; the norm of |Y|^T |Y| is at most
 * its trace): 9.7e-6 of it in float, not centred. This is the bound; rounding errors of random sign
 * leave about its square root times sqrt(u). The difference of a row divided by its norm and the
 * shift counts as exact. Products below 1e-38 vanish in float.
 *
 * Bits depend on the data, the groups and the processor's vector unit, never on the number of
 * threads.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/rows.h"
#include "linalg/dense.h"

typedef struct {
    bool wide;      /* sum products in double: for eigenvalues below 1e-5 of the trace */
    bool normalise; /* rows divided by their norms; rows of zeros stay */
    bool shift;     /* s = mean of the first 128 rows added, so that centring does not cancel */
    int threads;    /* 0: cs_threads() */
    const cs_progress *progress;
} cs_gram_options;

typedef struct {
    int64_t cols, groups;
    bool wide, normalise, shift;
    int64_t *rows;          /* groups: rows added */
    double *block;          /* groups x cols x cols: only entries (i, j), i <= j, at i * cols + j */
    double *sum;            /* groups x cols */
    double *origin;         /* cols: s */
    int64_t total, zeros;   /* rows added in all; those that are 0 */
    int64_t vanished;       /* those that are not, but whose squares are 0 in the type */
    int64_t slabs;          /* sums of up to 4,096 rows that were added in double, at most */
    int64_t heaviest;       /* position, among all rows ever given, of the row of largest norm */
    double heaviest_square; /* its squared norm before the shift */
    double square;          /* sum of squared norms before the shift */
    int64_t seen;           /* rows given, dropped ones included */
} cs_gram;

/* Empty blocks. CS_ERR_USAGE for no columns or groups. */
cs_status cs_gram_init(int64_t cols, int64_t groups, const cs_gram_options *options,
                       cs_gram *out) CS_MUST_CHECK;
void cs_gram_free(cs_gram *g);

/* Adds rows; options as those of init. group: rows->rows numbers, -1 to leave the row out, or NULL:
 * `groups` blocks of consecutive rows whose sizes differ by one at most. CS_ERR_INPUT names the row
 * and column of a value that is not finite, the row whose squares are
 * above 4e34 (in float) or 5e269 (when wide), whose sums might overflow, a group out of range,
 * columns that are not g->cols. On failure g is not to be used. 2 n d^2 / 2 flops. */
cs_status cs_gram_add(cs_gram *g, const cs_rows *rows, const int32_t *group,
                      const cs_gram_options *options) CS_MUST_CHECK;

/* Adds the blocks of `from` (as many groups, with the same options) to those of `into`: exact
 * algebra when the shifts differ. Its rows count as given after those of `into`. */
cs_status cs_gram_merge(cs_gram *into, const cs_gram *from) CS_MUST_CHECK;

/* Groups from..end-1. */
typedef struct {
    int64_t from, end;
} cs_gram_range;

/* Sum over the groups that are in neither of the two ranges `without` (NULL: over all), both
 * triangles, and its number of rows: X^T X of the rows as they are, or of the rows less their mean
 * when `centred`. */
cs_status cs_gram_total(const cs_gram *g, const cs_gram_range *without, bool centred, cs_dense *out,
                        int64_t *n) CS_MUST_CHECK;

/* The sum over all groups, only entries (i, j), i <= j, at i * cols + j, and the trace of each group's
 * block: what many sums that leave few groups out are made from. */
typedef struct {
    cs_dense sum;
    double *trace; /* groups */
} cs_gram_all;

cs_status cs_gram_all_of(const cs_gram *g, cs_gram_all *out) CS_MUST_CHECK;
void cs_gram_all_free(cs_gram_all *all);

/* As cs_gram_total, on the triangle of `all` alone. Groups are taken away from `all` (NULL: none) where
 * that is less work than adding the others, and where the rounding of the differences stays within the
 * bound at the top: not where what is left has much less of the trace than all. */
cs_status cs_gram_without(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                          bool centred, cs_dense *out, int64_t *n) CS_MUST_CHECK;

/* The error bound above, and what it says of the eigenvalues of cs_gram_total; the same with traces
 * that are known. */
double cs_gram_gamma(const cs_gram *g, bool centred);
double cs_gram_floor(const cs_gram *g, const cs_gram_range *without, bool centred);
double cs_gram_floor_without(const cs_gram *g, const cs_gram_all *all, const cs_gram_range *without,
                             bool centred);

/* NPZ: block, sum, rows, origin, and the scalars. Reading checks what it reads. */
cs_status cs_gram_write(const cs_gram *g, const char *path) CS_MUST_CHECK;
cs_status cs_gram_read(const char *path, cs_gram *out) CS_MUST_CHECK;
