/* The tables of objectives and of their parameters, and what is said of one from its row. */
#include "plan/objective.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "plan/distributions_private.h"
#include "plan/parameter.h"
#include "plan/ratio.h"

#define ROW(id, called) &cs_row_##id,
static const cs_objective_row *const table[CS_OBJ_COUNT] = {CS_OBJECTIVES(ROW)};
#undef ROW

#define NAME(id, called) called,
static const char *const name_of[CS_OBJ_COUNT] = {CS_OBJECTIVES(NAME)};
#undef NAME

/* --- parameters --- */

#define OFFSET_CHOICE(member) offsetof(cs_objective, member)
#define OFFSET_OFFSETS(member) offsetof(cs_objective, member)
#define OFFSET_FILE(member) offsetof(cs_objective, member)
#define OFFSET_SHARE(member) offsetof(cs_objective, member)
#define OFFSET_NUMBER(member) offsetof(cs_objective, member)
#define OFFSET_NUMBERS(member) offsetof(cs_objective, member##_lo)
#define OFFSET_RATIOS(member) offsetof(cs_objective, member##_lo)
#define CHOICES_CHOICE(argument) argument
#define CHOICES_OFFSETS(argument) "uniform|power|mix"
#define CHOICES_NUMBER(argument) NULL
#define CHOICES_NUMBERS(argument) NULL
#define CHOICES_RATIOS(argument) NULL
#define CHOICES_FILE(argument) NULL
#define CHOICES_SHARE(argument) NULL
#define ROW(id, name, kind, member, argument, fallback, help)                                      \
    {name, CS_PARAMETER_##kind, #member, OFFSET_##kind(member), CHOICES_##kind(argument)},
static const cs_parameter parameter[CS_PARAMETERS_ALL] = {CS_PARAMETERS(ROW)};
#undef ROW

const cs_parameter *cs_parameter_table(int index)
{
    return &parameter[index];
}

void *cs_parameter_member(const cs_parameter *p, const cs_objective *objective)
{
    return (char *)(uintptr_t)objective + p->offset;
}

/* --- rows --- */

const cs_objective_row *cs_objective_table(cs_objective_kind kind)
{
    return table[kind];
}

const char *cs_objective_name(cs_objective_kind kind)
{
    return name_of[kind];
}

#define COMMA_NAME(id, called) ", " called

cs_status cs_objective_by_name(const char *name, cs_objective_kind *out)
{
    cs_hint hint = {0};
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const char *aliases = table[kind]->aliases ? table[kind]->aliases : "";
        if (strcmp(name, name_of[kind]) == 0 || cs_listed(aliases, name)) {
            *out = (cs_objective_kind)kind;
            return CS_OK;
        }
        cs_hint near = {0};
        (void)cs_choice_hint(name, aliases, &near);
        if (near.name[0] && (!hint.name[0] || near.distance < hint.distance)) {
            (void)snprintf(near.name, sizeof near.name, "%s", name_of[kind]);
            hint = near;
        }
        cs_hint_consider(name, name_of[kind], &hint);
    }
    if (cs_listed("mae-lm|linear", name)) {
        return cs_fail(CS_ERR_USAGE,
                       "objective \"%s\" is masked training with a different model and works only "
                       "in cospec train; its distribution equals that of masked",
                       name);
    }
    return cs_fail(CS_ERR_USAGE, "unknown objective \"%.100s\" (%s)%s", name,
                   &CS_OBJECTIVES(COMMA_NAME)[2], cs_hint_text("", &hint));
}

cs_objective cs_objective_default(cs_objective_kind kind)
{
    return (cs_objective){.kind = kind,
                          .event_weight = CS_EVENT_TOKEN,
                          .empty_prefix = CS_PREFIX_NONE,
                          .share = 1,
                          .unmasked_lo = -1,
                          .unmasked_hi = -1,
                          .mask_ratio_lo = NAN,
                          .mask_ratio_hi = NAN,
                          .t = -1,
                          .offset = CS_OFFSET_UNIFORM,
                          .offset_value = NAN,
                          .segmentation = CS_SEGMENT_MIXED,
                          .groups = -1,
                          .columns = -1,
                          .file = NULL};
}

/* --- checks --- */

cs_status cs_check_share(double share)
{
    return share > 0 && share <= 1
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "share %g of the predicted tokens is not in (0, 1]", share);
}

cs_status cs_objective_check(const cs_objective *o)
{
    if ((unsigned)o->kind >= CS_OBJ_COUNT) {
        return cs_fail(CS_ERR_USAGE, "unknown objective kind %d", (int)o->kind);
    }
    for (int i = 0; i < CS_PARAMETERS_ALL; ++i) {
        const cs_parameter *p = &parameter[i];
        const char *c = p->choices;
        unsigned left = c ? *(const unsigned *)cs_parameter_member(p, o) : 0;
        for (; left > 0 && *c; ++c) { /* no further: every drawn plan is checked */
            left -= *c == '|';
        }
        if (left > 0)
            return cs_fail(CS_ERR_USAGE, "%s: value %d is not one of %s", p->name,
                           *(const int *)cs_parameter_member(p, o), p->choices);
    }
    cs_status status = cs_check_share(o->share);
    if (status == CS_OK && o->share < 1 && o->event_weight == CS_EVENT_MASK)
        status = cs_fail(CS_ERR_USAGE,
                         "%s: share %g needs event-weight=token: with mask weights, dropping "
                         "predictions changes the weights of the others, and so the matrix",
                         name_of[o->kind], o->share);
    return status == CS_OK && table[o->kind]->check ? table[o->kind]->check(o) : status;
}

cs_status cs_objective_check_length(const cs_objective *o, int64_t s)
{
    int64_t least = o->empty_prefix == CS_PREFIX_NONE ? 2 : 1;
    if (s > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "length %" PRId64 " exceeds %d", s, INT32_MAX);
    }
    if (table[o->kind]->check_length) {
        cs_status status = table[o->kind]->check_length(o, s);
        if (status != CS_OK || s > 1) return status;
    }
    return s >= least ? CS_OK
                      : cs_fail(CS_ERR_USAGE, "%s needs length >= %" PRId64 ", got %" PRId64,
                                name_of[o->kind], least, s);
}

cs_status cs_objective_exists(const cs_objective *o, int64_t s, bool *out)
{
    cs_status status = cs_objective_check_length(o, s);
    *out = status == CS_OK;
    if (status == CS_ERR_USAGE) cs_reason_clear();
    return status == CS_ERR_USAGE ? CS_OK : status;
}

/* --- given tokens --- */

static bool fixes_unmasked(const cs_objective *o)
{
    return table[o->kind]->given == cs_given_unmasked;
}

bool cs_objective_has_ratio(const cs_objective *o)
{
    return fixes_unmasked(o) && o->unmasked_lo < 0 && !isnan(o->mask_ratio_lo);
}

cs_status cs_objective_unmasked(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    cs_status status = cs_objective_check_length(o, s);
    if (status != CS_OK) return status;
    if (!fixes_unmasked(o)) {
        return cs_fail(CS_ERR_USAGE, "%s does not accept a range of unmasked tokens",
                       name_of[o->kind]);
    }
    bool by_number = o->unmasked_lo >= 0;
    *lo = by_number ? o->unmasked_lo : s - cs_ratio_masked(o->mask_ratio_hi, s);
    *hi = by_number ? o->unmasked_hi : s - cs_ratio_masked(o->mask_ratio_lo, s);
    return CS_OK;
}

cs_status cs_check_unmasked_length(const cs_objective *o, int64_t s)
{
    const char *name = name_of[o->kind];
    if (o->unmasked_hi >= 0 && s <= o->unmasked_hi) {
        return cs_fail(CS_ERR_USAGE,
                       "%s with %" PRId64 " unmasked needs length >= %" PRId64 ", got %" PRId64,
                       name, o->unmasked_hi, o->unmasked_hi + 1, s);
    }
    return o->unmasked_hi >= 0 || s >= 2 /* one token stays, one is masked */
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%s needs length >= 2, got %" PRId64, name, s);
}

bool cs_given_unmasked(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    bool exists = cs_objective_unmasked(o, s, lo, hi) == CS_OK;
    if (!exists) {
        cs_reason_clear();
    }
    return exists;
}

bool cs_given_any(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    (void)o;
    *lo = 0;
    *hi = s;
    return true;
}

bool cs_objective_given(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    if (table[o->kind]->given) {
        return table[o->kind]->given(o, s, lo, hi);
    }
    *lo = o->empty_prefix == CS_PREFIX_NONE;
    *hi = s;
    return true;
}

double cs_objective_predict_probability(const cs_objective *o, int64_t s)
{
    return table[o->kind]->predict_probability ? table[o->kind]->predict_probability(o, s) : 1;
}

cs_pairs_form cs_objective_shape(const cs_objective *o)
{
    return table[o->kind]->form ? table[o->kind]->form(o) : table[o->kind]->shape;
}
