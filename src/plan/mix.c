/* mix: a mixture of objectives. A plan is one of part j with probability share_j.
 *
 * Under `token` weights every predicted token counts once over the plans of all parts, so part j
 * holds a weight proportional to share_j times its expected number of predicted tokens (for one
 * target a prefix, its number of prefixes: its drawn plans, of one token, weigh so much). Under
 * `mask` every plan that predicts anything counts once: share_j times the probability that one of
 * part j does. Event weight and empty prefix are those of the mixture, for all its parts.
 *
 * Laws of sizes mix with laws of sizes and listed events with listed events (pairs.h), so a mixture
 * exists at every length where its parts do.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "plan/laws_private.h"
#include "plan/plan_file.h"

static cs_objective weighed(const cs_objective *o, int64_t j)
{
    cs_objective part = o->file->part[j];
    part.event_weight = o->event_weight;
    part.empty_prefix = o->empty_prefix;
    return part;
}

cs_status cs_mix_shares(const cs_objective *o, int64_t s, double *share)
{
    (void)s;
    memcpy(share, o->file->share, (size_t)o->file->parts * sizeof *share);
    return CS_OK;
}

bool cs_mix_next(const cs_objective *o, int64_t s, const double *share, int64_t *j,
                 cs_objective *part)
{
    (void)s;
    do {
        ++*j;
    } while (*j < o->file->parts && !(share[*j] > 0));
    if (*j == o->file->parts) {
        return false;
    }
    *part = weighed(o, *j);
    return true;
}

static cs_objective_row row_of(const cs_objective *part)
{
    return *cs_objective_table(part->kind);
}

cs_pairs_form cs_mix_shape(const cs_objective *o)
{
    bool invariant = true;
    for (int64_t j = 0; j < o->file->parts; ++j) {
        invariant = invariant && row_of(&o->file->part[j]).shape == CS_PAIRS_INVARIANT;
    }
    return invariant ? CS_PAIRS_INVARIANT : CS_PAIRS_SETS;
}

cs_objective_reading cs_mix_reads(const cs_objective *o)
{
    cs_objective_reading first = row_of(&o->file->part[0]).reads;
    bool same = first != CS_READS_PREFIXES;
    for (int64_t j = 1; j < o->file->parts; ++j) {
        same = same && row_of(&o->file->part[j]).reads == first;
    }
    return same ? first : CS_READS_GROUPS;
}

cs_status cs_check_mix(const cs_objective *o)
{
    if (!o->file || o->file->parts < 2) {
        return cs_fail(CS_ERR_USAGE, "mix needs two parts or more: mix:0.5*ar+0.5*masked(t=...)");
    }
    cs_status status = CS_OK;
    for (int64_t j = 0; j < o->file->parts && status == CS_OK; ++j) {
        cs_objective part = weighed(o, j);
        status = cs_blame(cs_objective_check(&part), "part %" PRId64 " of the mixture", j + 1);
    }
    return status;
}

cs_status cs_check_mix_length(const cs_objective *o, int64_t s)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    for (int64_t j = -1; status == CS_OK && cs_mix_next(o, s, share, &j, &part);) {
        status = cs_objective_check_length(&part, s);
    }
    return status;
}

bool cs_given_mix(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    bool exists = cs_mix_shares(o, s, share) == CS_OK;
    *lo = s;
    *hi = 0;
    for (int64_t j = -1; exists && cs_mix_next(o, s, share, &j, &part);) {
        int64_t least = 0, most = 0;
        exists = cs_objective_given(&part, s, &least, &most);
        *lo = least < *lo ? least : *lo;
        *hi = most > *hi ? most : *hi;
    }
    return exists;
}

double cs_mix_speaks(const cs_objective *o, int64_t s)
{
    double share[CS_MIX_PARTS], sum = 0;
    cs_objective part;
    bool exists = cs_mix_shares(o, s, share) == CS_OK;
    for (int64_t j = -1; exists && cs_mix_next(o, s, share, &j, &part);) {
        sum += share[j] * cs_objective_speaks(&part, s);
    }
    return sum;
}

cs_status cs_mix_predicted(const cs_objective *o, int64_t s, double *out)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    *out = 0;
    for (int64_t j = -1; status == CS_OK && cs_mix_next(o, s, share, &j, &part);) {
        double predicted = 0;
        status = cs_objective_predicted(&part, s, &predicted);
        *out += share[j] * predicted;
    }
    return status;
}

/* --- plans --- */

/* A drawn plan of one target a prefix stands for all prefixes. */
static void scale(const cs_objective *part, cs_plan *plan)
{
    int64_t prefixes = plan->length - (part->empty_prefix == CS_PREFIX_NONE);
    bool one = row_of(part).weighting == CS_WEIGHTS_ONE;
    for (int64_t i = 0; i < plan->length && one && part->event_weight == CS_EVENT_TOKEN; ++i) {
        plan->weight[i] *= (double)prefixes;
    }
}

cs_status cs_count_mix(const cs_objective *o, int64_t s, double *count)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    *count = 0;
    for (int64_t j = -1; status == CS_OK && cs_mix_next(o, s, share, &j, &part);) {
        double plans = 0;
        status = row_of(&part).count(&part, s, &plans);
        *count += plans;
    }
    return status;
}

typedef struct {
    cs_enumeration *whole;
    const cs_objective *part;
    double share;
} passing;

/* The arrays of the plan are those of the mixture's enumeration, and are filled anew each time. */
static cs_status pass_on(void *ctx, const cs_plan *plan, double probability)
{
    passing *p = ctx;
    p->whole->plan.groups = plan->groups;
    scale(p->part, &p->whole->plan);
    return p->whole->visit(p->whole->ctx, &p->whole->plan, p->share * probability);
}

cs_status cs_visit_mix(cs_enumeration *e)
{
    const cs_objective *o = e->objective;
    int64_t s = e->plan.length;
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    for (int64_t j = -1; status == CS_OK && cs_mix_next(o, s, share, &j, &part);) {
        passing p = {e, &part, share[j]};
        cs_enumeration inner = {.objective = &part, .plan = e->plan, .visit = pass_on, .ctx = &p};
        status = row_of(&part).visit(&inner);
    }
    return status;
}

static cs_status draw_part(const cs_objective *o, int64_t s, cs_rng *rng, cs_objective *part)
{
    double share[CS_MIX_PARTS], u = cs_rng_uniform(rng), below = 0;
    cs_status status = cs_mix_shares(o, s, share);
    /* the last one when shares sum to just below 1 */
    for (int64_t j = -1; status == CS_OK && below <= u && cs_mix_next(o, s, share, &j, part);) {
        below += share[j];
    }
    return status;
}

cs_status cs_sample_mix(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    cs_objective part;
    cs_status status = draw_part(o, plan->length, rng, &part);
    if (status == CS_OK) status = cs_plan_sample(&part, rng, plan);
    if (status == CS_OK) {
        scale(&part, plan);
    }
    return status;
}

cs_status cs_train_mix(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    cs_objective part;
    cs_status status = draw_part(o, plan->length, rng, &part);
    if (status != CS_OK) return status;
    if (row_of(&part).reads != CS_READS_PREFIXES) {
        return cs_plan_sample_training(&part, rng, plan);
    }
    status = cs_plan_sample(&part, rng, plan);
    if (status == CS_OK) {
        scale(&part, plan);
    }
    return status;
}

/* --- the exact law --- */

/* Of one plan of the part. */
static cs_status weight_of(const cs_objective *part, int64_t s, double *out)
{
    *out = cs_objective_speaks(part, s);
    return part->event_weight == CS_EVENT_TOKEN ? cs_objective_predicted(part, s, out) : CS_OK;
}

cs_status cs_pairs_of_mix(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_pairs *law = cs_calloc(o->file->parts, sizeof *law);
    double share[CS_MIX_PARTS], weight[CS_MIX_PARTS] = {0};
    cs_objective part;
    cs_status status = law ? cs_mix_shares(o, s, share) : CS_ERR_MEMORY;
    for (int64_t j = -1; status == CS_OK && cs_mix_next(o, s, share, &j, &part);) {
        status = weight_of(&part, s, &weight[j]);
        if (status == CS_OK) status = cs_pairs_of(&part, s, &law[j]);
        status =
            cs_blame(status, "part %" PRId64 " of the mixture (%s)", j + 1, row_of(&part).name);
        weight[j] *= share[j];
        pairs->clamped += share[j] * law[j].clamped;
    }
    if (status == CS_OK) status = cs_mix_predicted(o, s, &pairs->predicted);
    if (status == CS_OK) status = cs_pairs_mix(law, weight, o->file->parts, pairs);
    for (int64_t j = 0; law && j < o->file->parts; ++j) {
        cs_pairs_free(&law[j]);
    }
    cs_free(law);
    return status;
}

/* Of parts that all have one. */
cs_status cs_sizes_mix(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                       cs_size_facts *facts)
{
    cs_pairs law = {.length = s};
    cs_status status = cs_pairs_of_mix(o, s, &law);
    for (int64_t m = 0; m < s && status == CS_OK; ++m) {
        if (law.q[m] > 0 && !v->visit(v->ctx, m, law.q[m])) {
            break;
        }
    }
    facts->predicted = law.predicted;
    facts->clamped = law.clamped;
    cs_pairs_free(&law);
    return status;
}
