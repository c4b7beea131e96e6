/* mix: a mixture of objectives. A plan is one of part j with probability share_j.
 *
 * Under `token` weights every predicted token counts once over the plans of all parts, so part j
 * holds a weight proportional to share_j times its expected number of predicted tokens (for one
 * target a prefix, its number of prefixes: its drawn plans, of one token, weigh so much). Under
 * `mask` every plan that predicts anything counts once: share_j times the probability that one of
 * part j does. Event weight and empty prefix are those of the mixture, for all its parts.
 *
 * Distributions of sizes mix with distributions of sizes, and listed events with listed events
 * (pairs.h), so a mixture exists at every length where its parts do. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "plan/distributions_private.h"
#include "plan/mix_private.h"
#include "plan/ratio.h"

static cs_objective weighed(const cs_objective *o, int64_t j)
{
    cs_objective part = o->file->part[j].objective;
    part.event_weight = o->event_weight;
    part.target_weight = CS_TARGETS_PLAN;
    part.empty_prefix = o->empty_prefix;
    part.share = 1; /* the whole mixture is thinned once */
    return part;
}

cs_status cs_mix_shares(const cs_objective *o, int64_t s, double *share)
{
    const cs_plan_file *f = o->file;
    double sum[CS_MIX_PARTS + 1]; /* over each group, that of number -1 first */
    memset(sum, 0, (size_t)(f->parts + 1) * sizeof *sum);
    for (int64_t j = 0; j < f->parts; ++j) {
        const cs_mix_part *part = &f->part[j];
        bool none = part->above >= 0 && share[part->above] == 0;
        share[j] = none ? 0 : cs_expression_at(part->share, (double)s);
        if (!(share[j] >= 0 && isfinite(share[j]))) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: share \"%s\" is %.15g at length %" PRId64
                           "; it must be finite and not negative",
                           part->where, cs_expression_text(part->share), share[j], s);
        }
        sum[part->above + 1] += share[j];
    }
    for (int64_t j = 0; j < f->parts; ++j) {
        const cs_mix_part *part = &f->part[j];
        double above = part->above < 0 ? 1 : share[part->above], whole = sum[part->above + 1];
        if (above > 0 && !(whole > 0 && isfinite(whole))) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: share \"%s\" is %.15g at length %" PRId64
                           ", but the shares sum to %.15g",
                           part->where, cs_expression_text(part->share), share[j], s, whole);
        }
        share[j] = share[j] > 0 ? cs_mix_normal(f, share[j], whole) * above : 0;
    }
    for (int64_t j = 0; j < f->parts; ++j) {
        share[j] = f->part[j].group ? 0 : share[j];
    }
    return CS_OK;
}

/* A value that an expression puts out of range is an error, not a length without the objective. */
static cs_status blame_values(const cs_mix_part *part, int64_t s)
{
    char text[256] = "";
    for (int i = 0; i < 2 * CS_PARAMETERS_ALL; ++i) {
        const cs_expression *e = part->value[i / 2][i % 2];
        size_t used = strlen(text);
        if (e) {
            (void)snprintf(text + used, sizeof text - used, "%s \"%s\" is %.15g, ",
                           cs_parameter_table(i / 2)->name, cs_expression_text(e),
                           cs_expression_at(e, (double)s));
        }
    }
    return cs_blame(CS_ERR_INPUT, "%s: %slength %" PRId64, part->where, text, s);
}

/* Part j at length s >= 1. */
static cs_status part_at(const cs_objective *o, int64_t j, int64_t s, cs_objective *part)
{
    const cs_mix_part *of = &o->file->part[j];
    cs_status status = CS_OK;
    *part = weighed(o, j);
    if (!of->varies) {
        return CS_OK;
    }
    for (int i = 0; i < CS_PARAMETERS_ALL && status == CS_OK; ++i) {
        cs_expression *const *e = of->value[i];
        double lo = e[0] ? cs_expression_at(e[0], (double)s) : 0;
        double value[2] = {lo, e[1] ? cs_expression_at(e[1], (double)s) : lo};
        if (e[0]) status = cs_parameter_put(cs_parameter_table(i), value, false, part);
    }
    if (status == CS_OK) status = cs_objective_check(part);
    if (status == CS_OK && s > 1) status = cs_objective_check_length(part, s);
    return status == CS_ERR_USAGE ? blame_values(of, s) : status;
}

/* The next part after number *j with a positive share at length s, with its parameters there and the event
 * weight and empty prefix of the mixture; false after the last. */
static bool next_part(const cs_objective *o, int64_t s, const double *share, int64_t *j,
                      cs_objective *part)
{
    do {
        ++*j;
    } while (*j < o->file->parts && !(share[*j] > 0));
    if (*j == o->file->parts) {
        return false;
    }
    if (part_at(o, *j, s, part) != CS_OK) {
        cs_reason_clear(); /* check_length has said so */
    }
    return true;
}

static cs_objective_row row_of(const cs_objective *part)
{
    return *cs_objective_table(part->kind);
}

/* The next part, whatever the length. */
static bool any_part(const cs_objective *o, int64_t *j, cs_objective *part)
{
    do {
        ++*j;
    } while (*j < o->file->parts && o->file->part[*j].group);
    if (*j == o->file->parts) {
        return false;
    }
    *part = weighed(o, *j);
    return true;
}

static cs_status set_grid(cs_objective *o, int64_t columns, const char **planar)
{
    if (!cs_listed(cs_objective_table(o->kind)->takes, "columns")) {
        return CS_OK;
    }
    if (o->columns > 0 && o->columns != columns) {
        return cs_fail(CS_ERR_USAGE,
                       "columns %" PRId64 ": a row of the pictures has %" PRId64
                       " patches, and columns must equal it",
                       o->columns, columns);
    }
    *planar = cs_objective_name(o->kind);
    o->columns = columns;
    return CS_OK;
}

cs_status cs_objective_grid(cs_objective *o, int64_t columns, const char **planar)
{
    *planar = NULL;
    cs_status status = set_grid(o, columns, planar);
    for (int64_t j = 0; o->kind == CS_OBJ_MIX && j < o->file->parts && status == CS_OK; ++j) {
        cs_mix_part *part = &o->file->part[j];
        status = part->group
                     ? CS_OK
                     : cs_blame(set_grid(&part->objective, columns, planar), "%s", part->where);
    }
    return status;
}

static cs_pairs_form form(const cs_objective *o)
{
    bool invariant = true;
    cs_objective part;
    for (int64_t j = -1; any_part(o, &j, &part);) {
        invariant = invariant && cs_objective_shape(&part) == CS_PAIRS_INVARIANT;
    }
    return invariant ? CS_PAIRS_INVARIANT : CS_PAIRS_SETS;
}

cs_objective_reading cs_objective_reads(const cs_objective *o)
{
    if (o->kind != CS_OBJ_MIX) return row_of(o).reads;
    cs_objective part;
    cs_objective_reading first = CS_ROWS_PREFIXES;
    for (int64_t j = -1, count = 0; any_part(o, &j, &part); ++count) {
        first = count == 0 ? row_of(&part).reads : first;
        if (row_of(&part).reads != first || first == CS_ROWS_PREFIXES) {
            return CS_ROWS_GROUPS;
        }
    }
    return first;
}

cs_objective_masking cs_objective_masks(const cs_objective *o)
{
    if (o->kind != CS_OBJ_MIX) return row_of(o).masks ? CS_MASKS_ALL : CS_MASKS_NONE;
    cs_objective part;
    int64_t parts = 0, masks = 0;
    for (int64_t j = -1; any_part(o, &j, &part); ++parts) {
        masks += row_of(&part).masks;
    }
    return masks == 0 ? CS_MASKS_NONE : masks < parts ? CS_MASKS_SOME : CS_MASKS_ALL;
}

static cs_status check_parts(const cs_objective *o)
{
    cs_objective part;
    cs_status status = CS_OK;
    if (!o->file || o->file->parts == 0) {
        return cs_fail(
            CS_ERR_USAGE,
            "mix needs at least two parts, for example mix:0.5*ar+0.5*masked(mask-ratio=0.15)");
    }
    for (int64_t j = -1; status == CS_OK && any_part(o, &j, &part);) {
        const cs_mix_part *of = &o->file->part[j];
        if (!of->varies) status = cs_blame(cs_objective_check(&part), "%s", of->where);
    }
    return status;
}

static cs_status check_length(const cs_objective *o, int64_t s)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    if (s < 2 - (o->empty_prefix != CS_PREFIX_NONE)) {
        return CS_OK; /* no objective exists here, which is said of all */
    }
    cs_status status = cs_mix_shares(o, s, share);
    for (int64_t j = 0; j < o->file->parts && status == CS_OK; ++j) {
        if (share[j] > 0) {
            status = part_at(o, j, s, &part);
            if (status == CS_OK) status = cs_objective_check_length(&part, s);
        }
    }
    return status;
}

/* Of all lengths up to s where it varies, so that the most tokens rise with it (train/batch_task.c).
 */
static bool given(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    bool exists = false;
    int64_t predicted = 0, given = 0;
    for (int64_t l = o->file->varies ? 1 : s; l <= s; ++l) {
        double share[CS_MIX_PARTS];
        cs_objective part;
        bool here = false;
        if (cs_objective_exists(o, l, &here) != CS_OK) cs_reason_clear();
        here = here && cs_mix_shares(o, l, share) == CS_OK;
        for (int64_t j = -1; here && next_part(o, l, share, &j, &part);) {
            int64_t least = 0, most = 0;
            exists = cs_objective_given(&part, l, &least, &most) || exists;
            predicted = l - least > predicted ? l - least : predicted;
            given = most > given ? most : given;
        }
    }
    *lo = s - predicted;
    *hi = given;
    return exists;
}

const cs_objective *cs_objective_part(const cs_objective *o, int64_t j)
{
    return o->kind == CS_OBJ_MIX && o->file && j < o->file->parts ? &o->file->part[j].objective
                                                                  : NULL;
}

static bool mix_clamps(const cs_objective *o, int64_t s, cs_objective *which)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    bool exists = cs_mix_shares(o, s, share) == CS_OK, clamps = false;
    for (int64_t j = -1; exists && !clamps && next_part(o, s, share, &j, &part);) {
        clamps = cs_objective_clamps(&part, s, which);
    }
    cs_reason_clear(); /* a length without shares is said where it is counted */
    return clamps;
}

bool cs_objective_clamps(const cs_objective *o, int64_t s, cs_objective *which)
{
    if (o->kind == CS_OBJ_MIX) {
        return mix_clamps(o, s, which);
    }
    *which = *o;
    if (!cs_objective_has_ratio(o) || s < 2) {
        return false;
    }
    double lo = o->mask_ratio_lo, hi = o->mask_ratio_hi;
    return cs_ratio_round(hi, s) != cs_ratio_masked(hi, s) ||
           cs_ratio_round(lo, s) != cs_ratio_masked(lo, s);
}

static double predict_probability(const cs_objective *o, int64_t s)
{
    double share[CS_MIX_PARTS], sum = 0;
    cs_objective part;
    bool exists = cs_mix_shares(o, s, share) == CS_OK;
    for (int64_t j = -1; exists && next_part(o, s, share, &j, &part);) {
        sum += share[j] * cs_objective_predict_probability(&part, s);
    }
    return sum;
}

static cs_status predicted(const cs_objective *o, int64_t s, double *out)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    *out = 0;
    for (int64_t j = -1; status == CS_OK && next_part(o, s, share, &j, &part);) {
        double predicted = 0;
        status = cs_objective_predicted(&part, s, &predicted);
        *out += share[j] * predicted;
    }
    return status;
}

/* --- plans --- */

void cs_mix_scale(const cs_objective *part, cs_plan *plan)
{
    int64_t prefixes = plan->length - (part->empty_prefix == CS_PREFIX_NONE);
    bool one = row_of(part).weighting == CS_WEIGHTS_ONE;
    for (int64_t i = 0; i < plan->length && one && part->event_weight == CS_EVENT_TOKEN; ++i) {
        plan->weight[i] *= (double)prefixes;
    }
}

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    *count = 0;
    for (int64_t j = -1; status == CS_OK && next_part(o, s, share, &j, &part);) {
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
    cs_mix_scale(p->part, &p->whole->plan);
    return p->whole->visit(p->whole->ctx, &p->whole->plan, p->share * probability);
}

static cs_status visit(cs_enumeration *e)
{
    const cs_objective *o = e->objective;
    int64_t s = e->plan.length;
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    for (int64_t j = -1; status == CS_OK && next_part(o, s, share, &j, &part);) {
        passing p = {e, &part, share[j]};
        cs_enumeration inner = {.objective = &part, .plan = e->plan, .visit = pass_on, .ctx = &p};
        status = row_of(&part).visit(&inner);
    }
    return status;
}

cs_status cs_mix_at(const cs_objective *o, int64_t s, cs_mix_at_length **out, int64_t *parts)
{
    double share[CS_MIX_PARTS];
    cs_objective part;
    cs_status status = cs_mix_shares(o, s, share);
    cs_mix_at_length *list = status == CS_OK ? cs_alloc(o->file->parts, sizeof *list) : NULL;
    if (!list) return status == CS_OK ? CS_ERR_MEMORY : status;
    *parts = 0;
    for (int64_t j = -1; next_part(o, s, share, &j, &part);) {
        list[(*parts)++] = (cs_mix_at_length){share[j], part};
    }
    *out = list;
    return CS_OK;
}

/* --- the exact distribution ------------------------------------------------------------------- */

/* Of one plan of the part. */
static cs_status weight_of(const cs_objective *part, int64_t s, double *out)
{
    *out = cs_objective_predict_probability(part, s);
    return part->event_weight == CS_EVENT_TOKEN ? cs_objective_predicted(part, s, out) : CS_OK;
}

static cs_status pairs_of(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    CS_AUTO_FREE cs_pairs *distribution = cs_calloc(o->file->parts, sizeof *distribution);
    double share[CS_MIX_PARTS] = {0}, weight[CS_MIX_PARTS] = {0};
    cs_objective part;
    cs_status status = distribution ? cs_mix_shares(o, s, share) : CS_ERR_MEMORY;
    for (int64_t j = -1; status == CS_OK && next_part(o, s, share, &j, &part);) {
        status = weight_of(&part, s, &weight[j]);
        if (status == CS_OK) status = cs_pairs_of(&part, s, &distribution[j]);
        status = cs_blame(status, "%s (%s)", o->file->part[j].where, cs_objective_name(part.kind));
        weight[j] *= share[j];
        pairs->clamped += share[j] * distribution[j].clamped;
    }
    if (status == CS_OK) status = predicted(o, s, &pairs->predicted);
    if (status == CS_OK) status = cs_pairs_mix(distribution, weight, o->file->parts, pairs);
    for (int64_t j = 0; distribution && j < o->file->parts; ++j) {
        cs_pairs_free(&distribution[j]);
    }
    return status;
}

/* Of parts that all have one. */
static cs_status sizes(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                       cs_size_facts *facts)
{
    CS_AUTO(cs_pairs) distribution = {.length = s};
    cs_status status = pairs_of(o, s, &distribution);
    for (int64_t m = 0; m < s && status == CS_OK; ++m) {
        if (distribution.q[m] > 0 && !v->visit(v->ctx, m, distribution.q[m])) {
            break;
        }
    }
    facts->predicted = distribution.predicted;
    facts->clamped = distribution.clamped;
    return status;
}

const cs_objective_row cs_row_MIX = {
    .summary = "a mixture: mix:0.5*ar+0.5*masked(mask-ratio=0.15)",
    .plans = "the plans of its parts, with their shares",
    .source = "ours",
    .form = form,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_OWN,
    .check = check_parts,
    .check_length = check_length,
    .given = given,
    .count = count_plans,
    .visit = visit,
    .pairs = pairs_of,
    .sizes = sizes,
    .predicted = predicted,
    .predict_probability = predict_probability,
};
