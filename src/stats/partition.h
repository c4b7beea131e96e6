/* Agreement of two partitions of the same objects, such as clusters and classes, beyond chance.
 *
 * With n objects, n_ij of them in cluster i and class j, and H the entropies of both,
 *
 *   MI = sum_ij (n_ij / n) log(n n_ij / (n_i n_j)),   AMI = (MI - E[MI]) / ((H_1 + H_2)/2 - E[MI])
 *
 * E[MI] is the mean over all assignments with the same sizes, where n_ij is hypergeometric (Vinh,
 * Epps and Bailey, JMLR 11, 2010). AMI is 1 for equal partitions and 0 on average over random ones.
 * purity = sum_i max_j n_ij / n, the share of objects in the most frequent class of their cluster.
 *
 * Permutations of the classes give a test of MI, exact up to their number. `detectable` is the AMI that
 * the test finds with probability .8 at level .05, from the .95 quantile and the standard deviation
 * of AMI over permutations, as if its distribution had this deviation and were normal. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Borrowed. */
typedef struct {
    int64_t count; /* n, at least 1 */
    const int32_t *cluster,
        *class_of; /* count numbers, in 0 .. clusters - 1 and 0 .. classes - 1 */
    int64_t clusters, classes;
    int64_t permutations; /* at least 1 */
    uint64_t seed;
} cs_partition_pair;

typedef struct {
    double ami;                 /* NaN where one cluster and one class hold all */
    double p;                   /* P(MI of a permutation >= MI), with the data as one of them */
    double detectable, limit;   /* limit: the .95 quantile of AMI over permutations */
    double purity, null_purity; /* null: mean over permutations */
} cs_partition_agreement;

/* Time: O(permutations count) and O(clusters classes count) at worst for E[MI]. CS_ERR_MEMORY. */
cs_status cs_partition_agreement_of(const cs_partition_pair *pair,
                                    cs_partition_agreement *out) CS_MUST_CHECK;
