/* Relative position buckets (Raffel et al. 2020, section 2.1; MAE-LM uses them in its encoder), and
 * those of positions in a plane (BEiT: Bao et al. 2022). */
#pragma once

#include <math.h>
#include <stdint.h>

#include "tensor/dropout.h"

/* DeBERTa-v2's bucket of a signed distance (He et al. 2021): itself up to buckets / 2, then by the
 * logarithm, in float as the class forms it; distances of `most` share the last. buckets 0: itself.
 */
static inline int64_t cs_log_bucket(int64_t distance, int64_t buckets, int64_t most)
{
    const int64_t middle = buckets / 2, far = distance < 0 ? -distance : distance;
    if (buckets == 0 || far <= middle) {
        return distance;
    }
    const float grow = logf((float)far / (float)middle) / logf((float)(most - 1) / (float)middle);
    const int64_t bucket = (int64_t)ceilf(grow * (float)(middle - 1)) + middle;
    return distance < 0 ? -bucket : bucket;
}

/* The bucket, in 0..buckets-1, of a key at `distance` = position of key - position of query. Half
 * of the buckets (of each side, if bidirectional) are exact distances, the rest grow
 * logarithmically up to max_distance; farther ones share the last. Not bidirectional: keys to the
 * right share bucket 0.
 *
 * max_distance 0: the distances -m .. m, m = (buckets - 4) / 2, have a bucket each, in this order.
 * The last three buckets are those of the distances below -m, of those above m + 1, and of m + 1. */
static inline CS_HOST_DEVICE int32_t cs_relative_bucket(int64_t distance, int64_t buckets,
                                                        int64_t max_distance, int bidirectional)
{
    int64_t first = 0, side = buckets;
    if (max_distance == 0) {
        const int64_t m = (buckets - 4) / 2;
        return (int32_t)(distance < -m       ? 2 * m + 1
                         : distance <= m     ? distance + m
                         : distance == m + 1 ? 2 * m + 3
                                             : 2 * m + 2);
    }
    int64_t d = -distance;
    if (bidirectional) {
        side = buckets / 2;
        if (distance > 0) {
            first = side;
            d = distance;
        }
    } else if (d < 0) {
        d = 0;
    }
    int64_t exact = side / 2;
    if (d < exact) {
        return (int32_t)(first + d);
    }
    double grow = log((double)d / (double)exact) / log((double)max_distance / (double)exact);
    int64_t far = exact + (int64_t)(grow * (double)(side - exact));
    return (int32_t)(first + (far < side ? far : side - 1));
}
