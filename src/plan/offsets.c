/* Drawing distances by inversion: the running sums of d^-a serve every prefix, since the
 * distribution of a shorter rest is the same one, truncated. mix is the next token with probability
 * l, else any token left. */
#include "plan/offsets.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

cs_distance cs_distance_of(const cs_objective *o, int64_t s)
{
    cs_distance distribution = {.kind = CS_OFFSET_UNIFORM, .window = 1};
    if (o->kind == CS_OBJ_DIVERSE_AR) {
        distribution.window = o->t < s ? o->t : s;
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset == CS_OFFSET_UNIFORM) {
        distribution.window = o->offset_value < (double)s ? (int64_t)o->offset_value : s;
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset_value == 0) {
        distribution.window = s; /* d^0, or no extra weight on the next token */
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset == CS_OFFSET_POWER) {
        distribution =
            (cs_distance){.kind = CS_OFFSET_POWER, .window = s, .exponent = o->offset_value};
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset_value < 1) {
        distribution = (cs_distance){.kind = CS_OFFSET_MIX, .window = s, .next = o->offset_value};
    }
    return distribution;
}

long double cs_distance_raw(const cs_distance *distribution, int64_t left, int64_t d)
{
    long double next = distribution->next;
    switch (distribution->kind) {
    case CS_OFFSET_POWER:
        return powl((long double)d, -(long double)distribution->exponent);
    case CS_OFFSET_MIX:
        return 1 - next + (d == 1 ? next * (long double)left : 0);
    default:
        return 1;
    }
}

cs_status cs_offsets_init(const cs_objective *objective, int64_t longest, cs_offsets *out)
{
    cs_offsets local = {.distribution = cs_distance_of(objective, longest), .longest = longest};
    if (local.distribution.kind == CS_OFFSET_POWER) {
        local.below = cs_alloc(longest + 1, sizeof *local.below);
        if (!local.below) return CS_ERR_MEMORY;
        local.below[0] = 0;
        for (int64_t d = 1; d <= longest; ++d) {
            local.below[d] = local.below[d - 1] + cs_distance_raw(&local.distribution, longest, d);
        }
    }
    *out = local;
    return CS_OK;
}

void cs_offsets_free(cs_offsets *offsets)
{
    cs_free(offsets->below);
    memset(offsets, 0, sizeof *offsets);
}

/* The same draw, sums and roundings where no running sums are kept. */
static int64_t scan(const cs_distance *distribution, int64_t reach, cs_rng *rng)
{
    long double sum = 0, below = 0;
    for (int64_t d = 1; d <= reach; ++d) {
        sum += cs_distance_raw(distribution, reach, d);
    }
    long double u = cs_rng_uniform(rng) * sum;
    for (int64_t d = 1; d < reach; ++d) {
        below += cs_distance_raw(distribution, reach, d);
        if (below > u) {
            return d;
        }
    }
    return reach;
}

int64_t cs_offsets_draw(const cs_offsets *offsets, int64_t left, cs_rng *rng)
{
    const cs_distance *distribution = &offsets->distribution;
    assert(left >= 1 && left <= offsets->longest);
    int64_t reach = left < distribution->window ? left : distribution->window;
    if (distribution->kind == CS_OFFSET_MIX && cs_rng_uniform(rng) < distribution->next) {
        return 1;
    }
    if (distribution->kind != CS_OFFSET_POWER) {
        return 1 + cs_rng_below(rng, reach);
    }
    if (!offsets->below) {
        return scan(distribution, reach, rng);
    }
    long double u = cs_rng_uniform(rng) * offsets->below[reach];
    int64_t lo = 1, hi = reach; /* the first d with below[d] > u */
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2;
        if (offsets->below[middle] > u) {
            hi = middle;
        } else {
            lo = middle + 1;
        }
    }
    return lo;
}
