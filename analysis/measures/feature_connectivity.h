/* Connectivity as LA estimates it (4.1.1, Figure 2, App. B.2): similarities of pairs of features.
 *
 * The paper uses 8000 features a model, the inner products of all pairs, and shows the largest 1e5
 * sorted; it does not specify layer, pooling, normalisation and self-pairs. With y_i = x_i, or x_i
 * minus the mean of the selected rows (centred), s_ij = <y_i, y_j> or its cosine, i < j (i <= j
 * with self-pairs):
 *
 *   top_mean    mean of the K largest s_ij
 *   top_least   the K-th largest
 *   mean        of all s_ij; of cosines (|sum_i u_i|^2 - n) / (n (n - 1)), u_i = y_i / |y_i|,
 *               a function of the length of the mean direction; of centred inner products
 *               -sum_i |y_i|^2 / (n (n - 1)), a function of the norms
 *   quantile_p  of all s_ij: the order statistic at p (P - 1) of P, rounded down; exact among the K
 *               largest, else within 2^-11 of its size (linalg/top_pairs.h)
 *
 * The K largest of n (n - 1) / 2 are a tail: 1e5 of 8000 features is 0.3%, and at fixed K their
 * mean grows with n. Values are comparable only at equal n and K.
 *
 * Standard errors: delete-block jackknife over blocks of rows, se^2 = (B - 1) / B sum_b (theta_b -
 * mean)^2. Statistics of pairs of rows leave out rows, not pairs (Arvesen, Ann. Math. Stat. 40,
 * 1969), in blocks, since a quantile needs many rows left out at once (Shao and Wu, Ann. Stat. 17,
 * 1989). Without block b the largest K_b = round(K P_b / P) of P_b pairs are used: the same share
 * of the tail. Groups (documents) are dealt to blocks at random, so that the order of a corpus does
 * not matter. With `centred` the mean is that of the remaining rows. */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"
#include "io/rows.h"

typedef enum {
    CS_FEATURE_TOP_MEAN,
    CS_FEATURE_TOP_LEAST,
    CS_FEATURE_MEAN,
    CS_FEATURE_QUANTILES, /* first of the quantiles */
    CS_FEATURE_MEASURES = CS_FEATURE_QUANTILES + 9
} cs_feature_measure;

typedef struct {
    int64_t features; /* most rows used; 0: 8000 */
    int64_t pairs;    /* K; all pairs when there are fewer */
    bool cosine, self, centred;
    const int32_t *group; /* of each row, -1: left out; NULL: every row is a group */
    int64_t blocks;       /* of the jackknife, of whole groups; 0: no standard errors */
    uint64_t seed;        /* selects the rows, and the groups of a block */
    int threads;
    const cs_progress *progress;
} cs_feature_options;

typedef struct {
    int64_t rows, cols; /* n rows used, d */
    int64_t pairs;      /* K */
    int64_t total;      /* all pairs */
    int64_t blocks;     /* blocks with rows; 0: no jackknife */
    int64_t zeros;      /* rows y_i that are 0 */
    /* n |mean of y|^2 / sum |y_i|^2, of the u_i for cosines: the share that centring would remove;
     * NaN if all rows are 0 */
    double mean_share;
    double value[CS_FEATURE_MEASURES], se[CS_FEATURE_MEASURES]; /* se: NaN when there is none */
    double *left_out;   /* blocks x CS_FEATURE_MEASURES: without each block; NULL without blocks */
    char partition[33]; /* equal if the same rows are in the same blocks: 32 hex digits */
    float *top;         /* K values, descending */
} cs_feature_connectivity;

void cs_feature_connectivity_free(cs_feature_connectivity *c);

/* The result under the name of its model: counts, item["metrics"] and item["warnings"]; for tables
 * a curve of the values in `top` and each metric without each block. */
void cs_feature_record(const char *name, const cs_feature_options *options,
                       const cs_feature_connectivity *c, cs_item *item);

/* "top_mean", ..., "quantile_0.999", for a cs_feature_measure or a quantile after it. */
const char *cs_feature_name(int which);

/* The computation in one sentence with its numbers, in fresh memory; NULL without memory. */
char *cs_feature_definition(int which, const cs_feature_options *options,
                            const cs_feature_connectivity *result) CS_MUST_CHECK;

/* Measures a matrix of features, one in each row. If there are more than `features` rows, that
 * number is drawn without replacement; the draw depends only on the seed and the number of rows, so
 * that models of the same inputs are compared on the same rows. (B + 1) n^2 d flops, memory 16 n d
 * bytes and that of cs_top_pairs_of for K. CS_ERR_USAGE: pairs < 1, features < 0, blocks 1 or
 * negative. CS_ERR_INPUT: no pair (one row without self-pairs), rows of one group with blocks, a
 * value that is not finite (row and column), a row whose squares exceed single precision. */
cs_status cs_feature_connectivity_of(const cs_rows *rows, const cs_feature_options *options,
                                     cs_feature_connectivity *out) CS_MUST_CHECK;
