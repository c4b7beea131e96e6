/* Theorem 4.2 beyond the two objectives of the paper (theorem-4-2.md): each spectrum by enumeration,
 * position reduction and closed form, blind and given; and LA 5.1's "Eq. 6 is equivalent to Eq. 3".
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "analysis/theorems/theorem_42_private.h"
#include "base/auto.h"
#include "linalg/dense.h"
#include "plan/kernel.h"

typedef struct {
    const char *name;
    cs_objective objective;
} entry;

/* A claim that two methods give one spectrum. */
static cs_status agree(const cs_42_case *c, const char *name, cs_42_method second,
                       cs_42_method first, cs_statements *out)
{
    static const char *const word[] = {"enumeration", "reduction", "closed form"};
    const cs_toy_spectrum *a = &c->by[first], *b = &c->by[second];
    char id[40];
    (void)snprintf(id, sizeof id, "4.2-%s-%s", name,
                   second == CS_42_CLOSED ? "closed" : "reduction");
    cs_42_difference d = cs_42_compare(a, b);
    CS_AUTO_FREE char *text =
        cs_format("%s: the spectrum by %s is that by %s (sides: where they differ most)", name,
                  word[second], word[first]);
    if (!text) return CS_ERR_MEMORY;
    cs_statement *s =
        cs_statements_claim(out, &(cs_claim){id, CS_CORRECTED, CS_RELATION_EQUAL, text, c->input,
                                             d.a, d.b, a->residual + b->residual + c->rounding});
    cs_42_unspecify(a, s);
    return CS_OK;
}

/* sum sigma^2 of a class against its floor: met where P(. | S) is P_G off S, else above. */
static cs_status floor_of(const cs_42_case *c, const char *name, cs_statements *out)
{
    const double r = (double)c->toy.classes, e = c->best->residual + c->rounding;
    const double sum = c->best->sum_sigma2 / r, rank = (double)c->best->rank / r;
    double floor = 0;
    bool met = false;
    char id[40];
    if (c->toy.objective.empty_prefix != CS_PREFIX_NONE) {
        return CS_OK;
    }
    cs_status status = cs_toy_floor(&c->toy, &floor, &met);
    if (status == CS_ERR_USAGE) { /* too many events of a mixture */
        cs_reason_clear();
        return CS_OK;
    }
    if (status != CS_OK) return status;
    (void)snprintf(id, sizeof id, "4.2-%s-floor", name);
    CS_AUTO_FREE char *text =
        cs_format("%s: a class' sum sigma^2 is at least E_S[1 / (1 - P_G(S))], and %s it "
                  "(lhs: the floor)",
                  name, met ? "meets" : "is above");
    if (!text) return CS_ERR_MEMORY;
    /* Each sigma is off by e, the floor by its sums. */
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){id, CS_CORRECTED, met ? CS_RELATION_EQUAL : CS_RELATION_LESS, text,
                         c->input, floor, sum,
                         2 * e * sqrt(rank * sum) + rank * e * e +
                             8 * (double)c->toy.length * DBL_EPSILON * floor});
    if (met) cs_42_unspecify(c->best, s);
    return CS_OK;
}

static cs_status blind(const cs_toy *toy, const entry *e, cs_statements *out, cs_item *spectra)
{
    cs_toy model = *toy;
    model.objective = e->objective;
    model.given = model.literal = false;
    model.position_known = 0;
    CS_AUTO(cs_42_case) c = {0};
    cs_status status = cs_42_case_of(&model, &c);
    if (status == CS_OK && c.has[CS_42_ENUMERATE] && c.has[CS_42_REDUCE])
        status = agree(&c, e->name, CS_42_REDUCE, CS_42_ENUMERATE, out);
    if (status == CS_OK && c.has[CS_42_CLOSED] && c.method != CS_42_CLOSED)
        status = agree(&c, e->name, CS_42_CLOSED, c.method, out);
    if (status == CS_OK) status = floor_of(&c, e->name, out);
    return status == CS_OK ? cs_42_record(&c, spectra) : status;
}

/* A position that is known with probability theta: compares the enumerated matrix with the
 * prediction from the blind spectrum. */
static cs_status known_position(const cs_toy *toy, const char *name, const cs_objective *objective,
                                cs_statements *out, cs_item *spectra)
{
    const double theta = toy->position_known > 0 ? toy->position_known : 0.5;
    cs_toy model = *toy;
    char id[40];
    model.objective = *objective;
    model.objective.empty_prefix = CS_PREFIX_NONE;
    model.given = model.literal = false;
    model.position_known = theta;
    CS_AUTO(cs_42_case) c = {0};
    (void)snprintf(id, sizeof id, "4.2-%s-known", name);
    cs_status status = cs_42_case_of(&model, &c);
    if (status == CS_OK && c.has[CS_42_REDUCE]) {
        const cs_toy_spectrum *s = c.best, *by = &c.by[CS_42_REDUCE];
        const cs_42_difference d = cs_42_compare(s, by);
        /* The formula's roots move by at most the residual of the blind values over theta. */
        cs_statement *claim = cs_statements_claim(
            out, &(cs_claim){id, CS_CORRECTED, CS_RELATION_EQUAL,
                             "the target position known with probability theta: 1 - sigma^2 = (1 - "
                             "theta^2) (1 - sigma_blind^2), so that the advantage of Theorem 4.2 "
                             "is multiplied by 1 - theta^2 (sides: where they differ most)",
                             c.input, d.a, d.b, s->residual + by->residual / theta + c.rounding});
        cs_statement_real(claim, "theta", theta);
        if (s == by) cs_statement_unspecify(claim, "the matrix was enumerated (value: 0)", 0);
        status = cs_42_record(&c, spectra);
    }
    return status;
}

/* Masked diffusion, from all its plans, against permuted-ar with an empty prefix. The toy's Gram
 * form over positions is D^{-1/2} R D^{-1/2}, R the position kernel (plan/kernel.h). */
static cs_status diffusion(const cs_toy *toy, cs_statements *out)
{
    enum { LONGEST = 12 };
    const int64_t s = toy->length;
    cs_toy permuted = cs_toy_with(toy, CS_OBJ_PERMUTED_AR, CS_PREFIX_CLASS);
    cs_objective plans = cs_objective_default(CS_OBJ_DIFFUSION);
    CS_AUTO(cs_42_case) c = {0};
    CS_AUTO(cs_dense) r = {0};
    double value[LONGEST];
    if (s > LONGEST) {
        return CS_OK;
    }
    permuted.given = permuted.literal = false;
    permuted.position_known = 0;
    plans.empty_prefix = CS_PREFIX_CLASS;
    cs_status status = cs_42_case_of(&permuted, &c);
    if (status == CS_OK) status = cs_dense_init(&r, s, s);
    if (status == CS_OK) status = cs_kernel_of_plans(&plans, s, r.data);
    for (int64_t i = 0; i < s * s && status == CS_OK; ++i) {
        r.data[i] *= (double)s; /* D is uniform */
    }
    if (status == CS_OK) status = cs_dense_eigh(&r, value, true);
    if (status == CS_OK) {
        double worst = 0, sigma = 0, other = 0;
        for (int64_t j = 0; j < s; ++j) {
            const double x = sqrt(fmax(value[s - 1 - j], 0));
            const double y = cs_42_sigma(c.best, (double)(j * toy->classes + 1));
            if (fabs(x - y) >= worst) {
                worst = fabs(x - y);
                sigma = x;
                other = y;
            }
        }
        cs_statements_claim(
            out, &(cs_claim){"4.2-diffusion", CS_CORRECTED, CS_RELATION_EQUAL,
                             "masked diffusion (absorbing state, weight 1/t), all masks: its "
                             "spectrum is that of permuted-ar with an empty prefix (sides: where "
                             "they differ most)",
                             c.input, sigma, other,
                             c.best->residual + c.rounding +
                                 64 * (double)s * DBL_EPSILON / sqrt(fmax(value[0], DBL_EPSILON))});
    }
    return status;
}

/* One head an offset predicts one of the tokens that follow a prefix each: its row is the prefix and
 * the offset. */
static bool multi_token(const cs_objective *o)
{
    return o->kind == CS_OBJ_DIVERSE_AR;
}

/* With the target position in X every nonzero sigma is 1, unless an empty context is shared. */
static cs_status given(const cs_toy *toy, const entry *e, cs_statements *out, cs_item *spectra)
{
    cs_toy model = *toy;
    model.objective = e->objective;
    model.objective.empty_prefix = CS_PREFIX_NONE;
    model.given = true;
    model.literal = false;
    model.position_known = 0;
    CS_AUTO(cs_42_case) c = {0};
    char id[40];
    (void)snprintf(id, sizeof id, "4.2-%s-given", e->name);
    cs_status status = cs_42_case_of(&model, &c);
    if (status == CS_OK) {
        cs_42_state_ones(&c, id, CS_CORRECTED,
                         multi_token(&e->objective)
                             ? "target position given (multi-token prediction, one head per "
                               "offset): every nonzero sigma is 1 (number of ones = rank)"
                             : "target position given: every nonzero sigma is 1 (number of ones = "
                               "rank)",
                         (double)c.best->rank, out);
        status = cs_42_record(&c, spectra);
    }
    return status;
}

typedef struct {
    const char *id;
    cs_statement_form form;
    cs_relation relation;
    const char *text;
    double second; /* compare sigma_second alone; 0: where the spectra differ most */
} comparison;

/* A claim on the spectra of two toy models. */
static cs_status compare(const cs_toy *first, const cs_toy *second, bool input_is_second,
                         const comparison *k, cs_statements *out)
{
    CS_AUTO(cs_42_case) a = {0}, b = {0};
    cs_status status = cs_42_case_of(first, &a);
    if (status == CS_OK) status = cs_42_case_of(second, &b);
    if (status == CS_OK) {
        const cs_42_difference d = k->second > 0
                                       ? (cs_42_difference){.a = cs_42_sigma(a.best, k->second),
                                                            .b = cs_42_sigma(b.best, k->second)}
                                       : cs_42_compare(a.best, b.best);
        cs_statements_claim(
            out,
            &(cs_claim){k->id, k->form, k->relation, k->text, input_is_second ? b.input : a.input,
                        d.a, d.b, a.best->residual + b.best->residual + a.rounding + b.rounding});
    }
    return status;
}

/* Plans that count once each (mask weights) connect less than the fixed ratio of their mean. */
static cs_status convexity(const cs_toy *toy, const cs_objective *variable, cs_statements *out)
{
    int64_t low = 0, high = 0;
    cs_status status = cs_objective_unmasked(variable, toy->length, &low, &high);
    if (status != CS_OK || low == high || (low + high) % 2 != 0) return status;
    const cs_toy fixed = cs_toy_masked(toy, (low + high) / 2);
    cs_toy model = fixed;
    model.objective = *variable;
    model.objective.event_weight = CS_EVENT_MASK;
    model.objective.empty_prefix = CS_PREFIX_NONE;
    return compare(&fixed, &model, true,
                   &(comparison){.id = "4.2-variable-masked-convex",
                                 .form = CS_CORRECTED,
                                 .relation = CS_RELATION_AT_MOST,
                                 .text = "masked at the mean length: sigma_{r+1} < sigma_{r+1} of "
                                         "variable-masked with mask weights",
                                 .second = (double)toy->classes + 1},
                   out);
}

/* LA 5.1: group-ar (Eq. 6) "is equivalent to" diverse-ar (Eq. 3). */
static cs_status equivalence(const cs_toy *toy, int64_t t, cs_statements *out)
{
    cs_toy group = cs_toy_with(toy, CS_OBJ_GROUP_AR, CS_PREFIX_NONE);
    cs_toy diverse = cs_toy_with(toy, CS_OBJ_DIVERSE_AR, CS_PREFIX_NONE);
    group.objective.t = diverse.objective.t = t;
    group.given = group.literal = diverse.given = diverse.literal = false;
    group.position_known = diverse.position_known = 0;
    return compare(&group, &diverse, false,
                   &(comparison){.id = "5.1-equivalence",
                                 .form = CS_PRINTED,
                                 .relation = CS_RELATION_EQUAL,
                                 .text =
                                     "Eq. 6 (group-ar), which LA trained, is equivalent to Eq. 3 "
                                     "(diverse-ar), with which its text argues: "
                                     "their spectra agree (sides: where they differ most)"},
                   out);
}

static bool same(const cs_objective *a, const cs_objective *b)
{
    bool offset = a->kind != CS_OBJ_OFFSET_AR ||
                  (a->offset == b->offset && a->offset_value == b->offset_value);
    bool lengths = (a->kind != CS_OBJ_MASKED && a->kind != CS_OBJ_VARIABLE_MASKED) ||
                   (a->unmasked_lo == b->unmasked_lo && a->unmasked_hi == b->unmasked_hi);
    bool window = (a->kind != CS_OBJ_DIVERSE_AR && a->kind != CS_OBJ_GROUP_AR) || a->t == b->t;
    return a->kind == b->kind && a->event_weight == b->event_weight &&
           a->target_weight == b->target_weight && offset && lengths && window;
}

cs_status cs_42_extension(const cs_toy *toy, cs_statements *out, cs_item *spectra)
{
    const cs_objective *own = &toy->objective;
    const int64_t t = own->t >= 2 ? own->t : 2;
    entry list[10];
    int count = 0;
    cs_objective o = cs_objective_default(CS_OBJ_VARIABLE_MASKED);
    o.unmasked_lo = 1;
    o.unmasked_hi = toy->length - 1;
    if (own->kind == CS_OBJ_VARIABLE_MASKED) {
        o = *own;
        o.event_weight = CS_EVENT_TOKEN;
    }
    const cs_objective variable = o;
    list[count++] = (entry){"variable-masked-token", o};
    o.event_weight = CS_EVENT_MASK;
    list[count++] = (entry){"variable-masked-mask", o};
    o = cs_objective_default(CS_OBJ_DIVERSE_AR);
    o.t = t;
    list[count++] = (entry){"diverse-ar", o};
    o = cs_objective_default(CS_OBJ_OFFSET_AR);
    o.offset = CS_OFFSET_POWER;
    o.offset_value = 1;
    list[count++] = (entry){"offset-ar-power", o};
    o.offset = CS_OFFSET_MIX;
    o.offset_value = 0.5;
    list[count++] = (entry){"offset-ar-mix", o};
    o = cs_objective_default(CS_OBJ_GROUP_AR);
    o.t = t;
    list[count++] = (entry){"group-ar", o};
    list[count++] = (entry){"permuted-ar", cs_objective_default(CS_OBJ_PERMUTED_AR)};
    bool listed = own->kind == CS_OBJ_AR;
    for (int i = 0; i < count; ++i) {
        list[i].objective.empty_prefix = own->empty_prefix;
        listed = listed || same(&list[i].objective, own);
    }
    if (!listed) {
        list[count++] = (entry){"own", *own};
    }
    cs_status status = CS_OK;
    for (int i = 0; status == CS_OK && i < count; ++i) {
        status = blind(toy, &list[i], out, spectra);
        if (status == CS_OK) status = given(toy, &list[i], out, spectra);
        if (status == CS_OK)
            status = known_position(toy, list[i].name, &list[i].objective, out, spectra);
    }
    if (status == CS_OK) status = diffusion(toy, out);
    if (status == CS_OK) status = convexity(toy, &variable, out);
    return status == CS_OK ? equivalence(toy, t, out) : status;
}
