/* block-masked: blocks of neighbouring patches are masked (BEiT, Bao et al. 2022, Algorithm 1, as
 * its code's MaskingGenerator has it).
 *
 * The s positions are the patches of a picture along rows of C, R = ceil(s / C) of them, C the side
 * of a square where it is not given; where C does not divide s the last row is shorter. n =
 * round(rho s) of them are masked (ratio.h), in blocks of at least m = round(16 s / 196), at least
 * 1. With r patches to go, a trial draws
 *
 *     a uniform among the whole numbers from min(m, r) to max(m, r),    u uniform in (-L, L), L = ln(1 / 0.3),
 *     h = round(sqrt(a e^u)),   w = round(sqrt(a e^-u)),
 *
 * and where h <= R and w <= C one of the (R - h + 1) (C - w + 1) places; the block is taken if it
 * has from 1 to r patches that are not masked yet. After 10 trials in a row that take none the rest
 * is drawn uniformly from the patches that are left, as the generator of BEiT's second version
 * does, so that the number of masked patches is exact (the first version stops below it). Areas are
 * whole, as in the paper; its code draws them as reals, and wants h < R, w < C.
 *
 * The exact distribution is a sum over all masks of s patches, in their numeric order, so that
 * every mask comes after those that lead to it: up to 18 patches (4 x 4). */
#include <assert.h>
#include <math.h>

#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/ratio.h"

enum { TRIALS = 10, LONGEST = 18, BLOCKS = 3 * 153 /* of two rows of 17 */ };

static const double aspect = 1 / 0.3;

typedef struct {
    int64_t patches, rows, columns;
    int64_t masked; /* n */
    int64_t least;  /* m */
} rule;

static rule rule_of(const cs_objective *o, int64_t s)
{
    const int64_t side = (int64_t)ceil(sqrt((double)s)),
                  wanted = o->columns > 0 ? o->columns : side, columns = wanted < s ? wanted : s,
                  least = (int64_t)round(16 * (double)s / 196);
    return (rule){.patches = s,
                  .rows = (s + columns - 1) / columns,
                  .columns = columns,
                  .masked = o->unmasked_lo >= 0 ? s - o->unmasked_lo
                                                : cs_ratio_masked(o->mask_ratio_lo, s),
                  .least = least > 1 ? least : 1};
}

/* The least and the largest area of a trial with r patches to go. */
static int64_t least_area(const rule *g, int64_t r)
{
    return r < g->least ? r : g->least;
}

static int64_t largest_area(const rule *g, int64_t r)
{
    return r < g->least ? g->least : r;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* One trial: how many patches it masked. */
static int64_t try_block(const rule *g, int64_t r, cs_rng *rng, int32_t *group)
{
    const int64_t least = least_area(g, r),
                  area = least + cs_rng_below(rng, largest_area(g, r) - least + 1);
    const double u = (2 * cs_rng_uniform(rng) - 1) * log(aspect);
    const int64_t h = (int64_t)round(sqrt((double)area * exp(u))),
                  w = (int64_t)round(sqrt((double)area * exp(-u)));
    if (h > g->rows || w > g->columns) {
        return 0;
    }
    const int64_t top = cs_rng_below(rng, g->rows - h + 1),
                  left = cs_rng_below(rng, g->columns - w + 1);
    int32_t *corner = group + top * g->columns + left;
    const int64_t end = g->patches - (top * g->columns + left); /* of the last row */
    int64_t fresh = 0;
    for (int64_t y = 0; y < h; ++y) {
        for (int64_t x = 0; x < w && y * g->columns + x < end; ++x) {
            fresh += corner[y * g->columns + x] == 0;
        }
    }
    for (int64_t y = 0; y < h && fresh <= r; ++y) {
        for (int64_t x = 0; x < w && y * g->columns + x < end; ++x) {
            corner[y * g->columns + x] = 1;
        }
    }
    return fresh <= r ? fresh : 0;
}

static cs_status sample(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    const rule g = rule_of(o, plan->length);
    int64_t left = g.masked;
    plan->groups = 1;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = 0;
    }
    for (int trial = 0; left > 0 && trial < TRIALS; ++trial) {
        const int64_t fresh = try_block(&g, left, rng, plan->group);
        left -= fresh;
        trial = fresh > 0 ? -1 : trial;
    }
    int64_t free = plan->length - g.masked + left;
    for (int64_t i = 0; left > 0; ++i) {
        if (plan->group[i] == 0 && cs_rng_selects(rng, &free, &left)) {
            plan->group[i] = 1;
        }
    }
    return CS_OK;
}

/* --- the exact distribution ------------------------------------------------------------------- */

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    *count = s <= LONGEST ? cs_binomial(s, rule_of(o, s).masked) : exp2((double)s);
    return CS_OK;
}

/* Blocks as masks, each with its probability in a trial with r patches to go: chance[r][block]. */
typedef struct {
    int64_t blocks;
    uint32_t block[BLOCKS];
    double chance[LONGEST + 1][BLOCKS];
} trials;

/* P(h, w | area): the share of (-L, L) where both roots round to them. */
static double shape_chance(int64_t area, int64_t h, int64_t w)
{
    const double l = log(aspect), a = log((double)area);
    const double from = fmax(2 * log((double)h - 0.5) - a, a - 2 * log((double)w + 0.5)),
                 to = fmin(2 * log((double)h + 0.5) - a, a - 2 * log((double)w - 0.5));
    return fmax(fmin(to, l) - fmax(from, -l), 0) / (2 * l);
}

static void list_trials(const rule *g, trials *t)
{
    double chance[LONGEST + 1];
    for (int64_t h = 1; h <= g->rows; ++h) {
        for (int64_t w = 1; w <= g->columns; ++w) {
            const int64_t across = g->columns - w + 1, places = (g->rows - h + 1) * across;
            for (int64_t r = 1; r <= g->masked; ++r) {
                const int64_t least = least_area(g, r), most = largest_area(g, r);
                chance[r] = 0;
                for (int64_t area = least; area <= most; ++area) {
                    chance[r] +=
                        shape_chance(area, h, w) / (double)(most - least + 1) / (double)places;
                }
            }
            for (int64_t p = 0; p < places; ++p, ++t->blocks) {
                uint32_t mask = 0;
                for (int64_t cell = 0; cell < h * w; ++cell) {
                    const int64_t at = (p / across + cell / w) * g->columns + p % across + cell % w;
                    mask |= at < g->patches ? 1U << at : 0;
                }
                t->block[t->blocks] = mask;
                for (int64_t r = 1; r <= g->masked; ++r) {
                    t->chance[r][t->blocks] = chance[r];
                }
            }
        }
    }
}

/* The successors of a mask of probability `mass`: after a block in one of the trials, or, after the
 * last, after patches one by one (into `fill`). */
static void step_from(const trials *t, uint32_t mask, int64_t r, double mass, double *distribution,
                      double *fill)
{
    double taken = 0;
    for (int64_t b = 0; b < t->blocks; ++b) {
        const int fresh = __builtin_popcount(t->block[b] & ~mask);
        taken += fresh > 0 && fresh <= r ? t->chance[r][b] : 0;
    }
    const double none = pow(fmax(1 - taken, 0), TRIALS);
    for (int64_t b = 0; taken > 0 && b < t->blocks; ++b) {
        const int fresh = __builtin_popcount(t->block[b] & ~mask);
        if (fresh > 0 && fresh <= r) {
            distribution[mask | t->block[b]] += mass * (1 - none) * t->chance[r][b] / taken;
        }
    }
    fill[mask] += mass * none;
}

static void fill_from(uint32_t mask, int64_t s, int64_t free, double *fill)
{
    for (int64_t i = 0; i < s; ++i) {
        if ((mask >> i & 1) == 0) {
            fill[mask | 1U << i] += fill[mask] / (double)free;
        }
    }
}

static cs_status visit(cs_enumeration *e)
{
    const int64_t s = e->plan.length;
    assert(s <= LONGEST); /* the limits of cs_plan_enumerate are at most 2^18 */
    const rule g = rule_of(e->objective, s);
    CS_AUTO_FREE trials *t = cs_calloc(1, sizeof *t);
    CS_AUTO_FREE double *distribution = cs_calloc((int64_t)2 << s, sizeof *distribution);
    double *fill = distribution ? distribution + (1 << s) : NULL;
    cs_status status = t && distribution ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        list_trials(&g, t);
        distribution[0] = 1;
    }
    for (uint32_t mask = 0; status == CS_OK && mask < 1U << s; ++mask) {
        const int64_t r = g.masked - __builtin_popcount(mask);
        if (r > 0) {
            if (distribution[mask] > 0) {
                step_from(t, mask, r, distribution[mask], distribution, fill);
            }
            fill_from(mask, s, s - g.masked + r, fill);
        } else if (r == 0) {
            for (int64_t i = 0; i < s; ++i) {
                e->plan.group[i] = (int32_t)(mask >> i & 1);
            }
            e->plan.groups = 1;
            cs_plan_weigh(e->objective, &e->plan);
            status = e->visit(e->ctx, &e->plan, distribution[mask] + fill[mask]);
        }
    }
    return status;
}

const cs_objective_row cs_row_BLOCK_MASKED = {
    .aliases = "beit",
    .summary = "masked in blocks of the plane (BEiT)",
    .plans = "round(rho s) patches of an image, in blocks",
    .note = "Blocks have at least 16 of 196 patches and aspect ratios from 0.3 to 1/0.3. The plans "
            "are exact up to 18 patches and sampled beyond.",
    .source = "Bao et al. 2022, Algorithm 1",
    .takes = "unmasked mask-ratio columns",
    .trained = "mask-ratio=0.4",
    .shape = CS_PAIRS_SETS,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_EQUAL,
    .check = cs_check_unmasked,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .examples = "block-masked:mask-ratio=0.5 block-masked:mask-ratio=0.4,columns=3",
};
