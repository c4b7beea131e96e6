/* Nearness in the plane, for nearest:n@c: the other positions of a sequence in order of their squared
 * distance from the target, patches being along rows of c; the earlier one first where two are as near.
 * Weights of an invariant law depend on ranks alone, so that nothing else of `nearest` changes.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cooc/context_private.h"

enum { MOST_PATCHES = 2048 }; /* tables of 8 s^2 bytes */

typedef struct {
    int64_t distance; /* squared */
    int32_t position;
} near_patch;

static int by_distance(const void *x, const void *y)
{
    const near_patch *a = x, *b = y;
    return a->distance != b->distance ? (a->distance > b->distance) - (a->distance < b->distance)
                                      : (a->position > b->position) - (a->position < b->position);
}

/* The target itself, at distance 0, has rank 0. */
cs_status cs_context_plane_table(const cs_context_plan *plan, cs_context_table *t)
{
    const int64_t s = t->pairs.length, c = plan->context.columns;
    if (s > MOST_PATCHES) {
        return cs_fail(CS_ERR_USAGE,
                       "context nearest:%" PRId64 "@%" PRId64 " takes sequences of at most %d "
                       "patches, got %" PRId64 ": cut them (max-length)",
                       plan->context.n, c, MOST_PATCHES, s);
    }
    near_patch *order = cs_alloc(s, sizeof *order);
    t->near = cs_pool_take(&t->pool, s * s, sizeof *t->near);
    t->nearness = cs_pool_take(&t->pool, s * s, sizeof *t->nearness);
    cs_status status = order ? t->pool.status : CS_ERR_MEMORY;
    for (int64_t k = 0; k < s && status == CS_OK; ++k) {
        for (int64_t p = 0; p < s; ++p) {
            const int64_t dy = p / c - k / c, dx = p % c - k % c;
            order[p] = (near_patch){dy * dy + dx * dx, (int32_t)p};
        }
        qsort(order, (size_t)s, sizeof *order, by_distance);
        for (int64_t r = 0; r < s; ++r) {
            t->near[k * s + r] = order[r].position;
            t->nearness[k * s + order[r].position] = (int32_t)r;
        }
    }
    cs_free(order);
    return status;
}
