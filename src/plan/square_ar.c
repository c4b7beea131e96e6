/* square-ar: the squares of a grid of patches one after another in a random order, the patches of a
 * square at once (RandSAC, Hua et al. 2023: segments of a picture, serialised at random; its blobs
 * and its hierarchy of segments are not here).
 *
 * The s positions are the patches of a picture along rows of C, C the side of a square of patches
 * where it is not given; where C does not divide s the last row is shorter. Squares have t x t
 * patches from the upper left corner; those that the right or lower edge cuts off are groups all
 * the same. The first square is given, or with an empty prefix predicted too.
 *
 * With n squares, one is predicted from each set of m others with probability m! (n - 1 - m)! / n!.
 * The exact distribution is a sum over all n! orders: up to 8 squares. */
#include <inttypes.h>
#include <math.h>

#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"

typedef struct {
    int64_t patches, columns, side;
    int64_t across, squares; /* in a row, and in all */
} grid;

static int64_t size_of(const grid *g, int64_t square)
{
    const int64_t top = square / g->across * g->side, left = square % g->across * g->side,
                  width = left + g->side < g->columns ? g->side : g->columns - left;
    int64_t size = 0;
    for (int64_t y = top; y < top + g->side && y * g->columns + left < g->patches; ++y) {
        const int64_t rest = g->patches - (y * g->columns + left);
        size += rest < width ? rest : width;
    }
    return size;
}

static grid grid_of(const cs_objective *o, int64_t s)
{
    const int64_t wanted = o->columns > 0 ? o->columns : (int64_t)ceil(sqrt((double)s)),
                  columns = wanted < s ? wanted : s, rows = (s + columns - 1) / columns,
                  side = o->t < s ? o->t : s, across = (columns + side - 1) / side;
    grid g = {s, columns, side, across, across * ((rows + side - 1) / side)};
    while (size_of(&g, g.squares - 1) == 0) { /* those that a short last row does not reach */
        g.squares -= 1;
    }
    return g;
}

static cs_status check_length(const cs_objective *o, int64_t s)
{
    const bool alone = s > 1 && o->empty_prefix == CS_PREFIX_NONE && grid_of(o, s).squares == 1;
    return alone ? cs_fail(CS_ERR_USAGE,
                           "square-ar: length %" PRId64 " in rows of %" PRId64
                           " is a single square of %" PRId64 " x %" PRId64
                           ", but at least two squares are needed",
                           s, grid_of(o, s).columns, o->t, o->t)
                 : CS_OK;
}

static bool given(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    const grid g = grid_of(o, s);
    *lo = *hi = 0;
    if (o->empty_prefix == CS_PREFIX_NONE) {
        *lo = *hi = size_of(&g, 0);
        for (int64_t q = 1; q < g.squares; ++q) {
            const int64_t size = size_of(&g, q);
            *lo = size < *lo ? size : *lo;
        }
    }
    return true;
}

/* The squares share the patches, and each comes first as often. */
static cs_status predicted(const cs_objective *o, int64_t s, double *out)
{
    const double first = (double)s / (double)grid_of(o, s).squares;
    *out = o->empty_prefix == CS_PREFIX_NONE ? (double)s - first : (double)s;
    return CS_OK;
}

/* Groups from the ranks of the squares, which may be the first values of plan->group: the square of a
 * patch has no greater number than the patch. */
static void rank_patches(const cs_objective *o, const grid *g, const int32_t *rank, cs_plan *plan)
{
    const int32_t start = o->empty_prefix != CS_PREFIX_NONE;
    for (int64_t i = g->patches - 1; i >= 0; --i) {
        const int64_t row = i / g->columns, column = i % g->columns;
        plan->group[i] = start + rank[row / g->side * g->across + column / g->side];
    }
    plan->groups = g->squares - 1 + start;
}

static cs_status sample(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    const grid g = grid_of(o, plan->length);
    cs_rng_permutation(rng, g.squares, plan->group);
    rank_patches(o, &g, plan->group, plan);
    return CS_OK;
}

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    *count = tgamma((double)grid_of(o, s).squares + 1);
    return CS_OK;
}

static cs_status visit(cs_enumeration *e)
{
    const grid g = grid_of(e->objective, e->plan.length);
    CS_AUTO_FREE int32_t *rank = cs_alloc(g.squares, sizeof *rank);
    if (!rank) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    cs_first_subset(g.squares, rank);
    for (bool more = true; more && status == CS_OK;) {
        rank_patches(e->objective, &g, rank, &e->plan);
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, 1 / tgamma((double)g.squares + 1));
        more = cs_next_arrangement(g.squares, rank);
    }
    return status;
}

const cs_objective_row cs_row_SQUARE_AR = {
    .aliases = "randsac",
    .summary = "squares of the plane in random order, each at once (RandSAC)",
    .plans = "squares of t x t patches in uniform order, the first one given",
    .note = "The plans are exact up to 8 squares and sampled beyond.",
    .source = "Hua et al. 2023",
    .takes = "t columns",
    .trained = "t=2",
    .shape = CS_PAIRS_SETS,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_t,
    .check_length = check_length,
    .given = given,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .predicted = predicted,
    .examples = "square-ar:t=1 square-ar:t=2,columns=3 square-ar:t=2,columns=6",
};
