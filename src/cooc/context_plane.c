/* Nearness in the plane: sequences that lie along rows of C columns, such as patches of a picture.
 *
 * The offsets (dy, dx) of a grid are sorted once, by dy^2 + dx^2 and then by position, and each target
 * takes those that stay within the grid: O(s^2) a length, 4 s^2 bytes. A last row may be shorter.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "cooc/context_private.h"

enum { LONGEST = 4096 }; /* 64 MiB */

typedef struct {
    int64_t distance, across, step;
} offset;

static bool in_plane(const cs_context_plan *plan)
{
    return plan->kind->plane && plan->context.columns > 1;
}

cs_status cs_context_plane_check(const cs_context_plan *plan)
{
    double bytes = 0;
    if (!in_plane(plan)) {
        return CS_OK;
    }
    if (plan->longest > LONGEST) {
        return cs_fail(CS_ERR_USAGE,
                       "nearest:%lld@%lld at length %lld: distance in the plane supports lengths "
                       "up to %d; give a smaller --max-length or --window",
                       (long long)plan->context.n, (long long)plan->context.columns,
                       (long long)plan->longest, LONGEST);
    }
    for (int64_t s = 0; s <= plan->longest; ++s) {
        bytes += plan->table_of[s] >= 0 ? 4.0 * (double)s * (double)s : 0;
    }
    return cs_mem_check(bytes, NULL, "distances in the plane of %lld lengths take",
                        (long long)plan->tables);
}

static int by_distance(const void *x, const void *y)
{
    const offset *a = x, *b = y;
    int order = (a->distance > b->distance) - (a->distance < b->distance);
    return order != 0 ? order : (a->step > b->step) - (a->step < b->step);
}

/* All offsets except (0, 0) of a grid of this size, the nearest first; returns their number. */
static int64_t sort_offsets(int64_t rows, int64_t width, int64_t columns, offset *out)
{
    int64_t n = 0;
    for (int64_t dy = 1 - rows; dy < rows; ++dy) {
        for (int64_t dx = 1 - width; dx < width; ++dx) {
            out[n] = (offset){dy * dy + dx * dx, dx, dy * columns + dx};
            n += dy != 0 || dx != 0;
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_distance);
    return n;
}

cs_status cs_context_plane_table(const cs_context_plan *plan, int64_t s, cs_context_table *t)
{
    if (!in_plane(plan) || s == 0) {
        return CS_OK;
    }
    const int64_t columns = plan->context.columns, rows = (s + columns - 1) / columns;
    const int64_t width = columns < s ? columns : s;
    offset *from = cs_alloc((2 * rows - 1) * (2 * width - 1), sizeof *from);
    t->near_position = cs_pool_take(&t->pool, s * s, sizeof *t->near_position);
    t->near_rank = cs_pool_take(&t->pool, s * s, sizeof *t->near_rank);
    const bool allocated = from && t->pool.status == CS_OK;
    const int64_t n = allocated ? sort_offsets(rows, width, columns, from) : 0;
    for (int64_t k = 0; allocated && k < s; ++k) {
        uint16_t *position = t->near_position + k * s, *rank = t->near_rank + k * s, last = 0;
        position[0] = (uint16_t)k;
        rank[k] = 0;
        for (int64_t i = 0; i < n; ++i) {
            const int64_t p = k + from[i].step, x = k % columns + from[i].across;
            if (x >= 0 && x < columns && p >= 0 && p < s) {
                position[++last] = (uint16_t)p;
                rank[p] = last;
            }
        }
    }
    cs_free(from);
    return allocated ? CS_OK : CS_ERR_MEMORY;
}
