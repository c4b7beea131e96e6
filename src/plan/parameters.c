/* Parameters of objectives, as text and as JSON, by the rows of parameters.h. */
#include "base/auto.h"
#include "plan/parameter.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "io/number.h"
#include "plan/distributions_private.h"
#include "plan/mix_private.h"
#include "plan/spec.h"

bool cs_objective_takes(cs_objective_kind kind, const cs_parameter *p)
{
    const cs_objective_row *row = cs_objective_table(kind);
    if (p->offset == offsetof(cs_objective, event_weight)) {
        return row->weighting != CS_WEIGHTS_ONE; /* both event weights are one */
    }
    return p->offset == offsetof(cs_objective, target_weight) ||
           p->offset == offsetof(cs_objective, share) ||
           p->offset == offsetof(cs_objective, empty_prefix) || cs_listed(row->takes, p->name);
}

/* --- text --- */

cs_status cs_parameter_choose(const cs_parameter *p, const char *value, int *out)
{
    const int number = cs_choice_number(p->choices, value);
    if (number < 0) {
        return cs_fail(CS_ERR_USAGE, "%s %s is not one of %s%s", p->name, value, p->choices,
                       cs_choice_hint(value, p->choices, &(cs_hint){0}));
    }
    *out = number;
    return CS_OK;
}

static cs_status set_count(const cs_parameter *p, const char *value, int64_t *out)
{
    int64_t n = 0;
    if (!cs_int_scan(value, &n) || n < 1) {
        return cs_fail(CS_ERR_USAGE, "%s %s is not a whole number >= 1", p->name, value);
    }
    *out = n;
    return CS_OK;
}

/* Splits "A:B" into two texts (the same text twice for "A"); a text that does not fit fails. */
static cs_status split_range(const char *what, const char *text, char lo[64], char hi[64])
{
    const char *colon = strchr(text, ':');
    const char *second = colon ? colon + 1 : text;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length >= 64 || strlen(second) >= 64) {
        return cs_fail(CS_ERR_USAGE, "%s \"%.70s\" is too long", what, text);
    }
    memcpy(lo, text, length);
    lo[length] = '\0';
    memcpy(hi, second, strlen(second) + 1);
    return CS_OK;
}

static cs_status set_counts(const cs_parameter *p, const char *text, int64_t out[2])
{
    char first[64], second[64];
    int64_t lo, hi;
    cs_status status = split_range(p->name, text, first, second);
    if (status != CS_OK) return status;
    if (!cs_int_scan(first, &lo) || !cs_int_scan(second, &hi) || lo < 0 || hi < 0) {
        return cs_fail(CS_ERR_USAGE, "%s \"%s\" is not %s", p->name, text, "M or LO:HI");
    }
    if (lo > hi) {
        return cs_fail(CS_ERR_USAGE, "%s \"%s\": %" PRId64 " exceeds %" PRId64, p->name, text, lo,
                       hi);
    }
    out[0] = lo;
    out[1] = hi;
    return CS_OK;
}

/* Suggests 0.15 for 15 where that was typed. */
static cs_status check_ratio(double lo, double hi, bool typed)
{
    double bad = lo > 0 && lo < 1 ? hi : lo;
    if (!(bad > 0 && bad < 1)) {
        char hint[64];
        return cs_fail(CS_ERR_USAGE, "mask ratio %g not in (0, 1)%s", bad,
                       cs_share_hint(typed ? cs_percent_of(bad) : 0, hint));
    }
    return lo <= hi ? CS_OK : cs_fail(CS_ERR_USAGE, "mask ratio %g exceeds %g in LO:HI", lo, hi);
}

static cs_status set_ratios(const char *text, double out[2])
{
    char first[64], second[64];
    double lo, hi;
    cs_status status = split_range("mask ratio", text, first, second);
    if (status != CS_OK) return status;
    if (!cs_real_scan(first, &lo) || !cs_real_scan(second, &hi)) {
        char hint[64];
        return cs_fail(CS_ERR_USAGE, "mask ratio \"%s\" is not RHO or LO:HI%s", text,
                       cs_share_hint(cs_percent(text), hint));
    }
    if ((status = check_ratio(lo, hi, true)) == CS_OK) {
        out[0] = lo;
        out[1] = hi;
    }
    return status;
}

static cs_status set_share(const char *text, double *out)
{
    double share = 0;
    if (!cs_real_scan(text, &share)) {
        return cs_fail(CS_ERR_USAGE, "share \"%s\" is not a number in (0, 1]", text);
    }
    cs_status status = cs_check_share(share);
    if (status == CS_OK) *out = share;
    return status;
}

static cs_status check_offset(cs_offset_kind kind, double value)
{
    if (kind == CS_OFFSET_UNIFORM && !(value >= 1 && value < 0x1p53 && value == floor(value))) {
        return cs_fail(CS_ERR_USAGE, "offset uniform:%g: the window must be a whole number >= 1",
                       value);
    }
    if (kind == CS_OFFSET_POWER && !(value >= 0 && isfinite(value))) {
        return cs_fail(CS_ERR_USAGE, "offset power:%g: the exponent must be a number >= 0", value);
    }
    if (kind == CS_OFFSET_MIX && !(value >= 0 && value <= 1)) {
        return cs_fail(CS_ERR_USAGE, "offset mix:%g: the share of the next token is not in [0, 1]",
                       value);
    }
    return CS_OK;
}

static cs_status set_offset(const cs_parameter *p, const char *text, cs_objective *objective)
{
    char distribution[16];
    int kind = 0;
    double value = 0;
    size_t length = strcspn(text, ":");
    (void)snprintf(distribution, sizeof distribution, "%.*s", (int)length, text);
    if (text[length] != ':' || !cs_real_scan(text + length + 1, &value) ||
        cs_parameter_choose(p, distribution, &kind) != CS_OK) {
        cs_reason_clear();
        return cs_fail(CS_ERR_USAGE, "offset weights \"%s\" are not uniform:T, power:A or mix:L%s",
                       text, cs_choice_hint(text, "uniform:T|power:A|mix:L", &(cs_hint){0}));
    }
    cs_status status = check_offset((cs_offset_kind)kind, value);
    if (status == CS_OK) {
        objective->offset = (cs_offset_kind)kind;
        objective->offset_value = value;
    }
    return status;
}

/* A count that was computed: within rounding of a whole number. */
static bool whole(double x, int64_t least, int64_t *out)
{
    if (!(fabs(x - round(x)) <= 1e-9 * fmax(1, fabs(x))) || !(x > (double)least - 0.5) ||
        x > 0x1p53) {
        return false;
    }
    *out = (int64_t)round(x);
    return true;
}

cs_status cs_parameter_put(const cs_parameter *p, const double value[2], bool typed,
                           cs_objective *o)
{
    int64_t *count = cs_parameter_member(p, o);
    double *ratio = cs_parameter_member(p, o);
    int64_t least = p->kind == CS_PARAMETER_NUMBER;
    if (p->kind == CS_PARAMETER_RATIOS) {
        ratio[0] = value[0];
        ratio[1] = value[1];
        return check_ratio(value[0], value[1], typed);
    }
    if (p->kind == CS_PARAMETER_OFFSETS) {
        o->offset_value = value[0];
        return check_offset(o->offset, value[0]);
    }
    for (int i = 0; i < (p->kind == CS_PARAMETER_NUMBERS ? 2 : 1); ++i) {
        if (!whole(value[i], least, &count[i])) {
            return cs_fail(CS_ERR_USAGE, "%s %.15g is not a whole number >= %" PRId64, p->name,
                           value[i], least);
        }
    }
    return p->kind == CS_PARAMETER_NUMBER || count[0] <= count[1]
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%s: %" PRId64 " exceeds %" PRId64, p->name, count[0],
                         count[1]);
}

static cs_status set_value(const cs_parameter *p, const char *value, cs_objective *objective)
{
    void *member = cs_parameter_member(p, objective);
    switch (p->kind) {
    case CS_PARAMETER_CHOICE:
        return cs_parameter_choose(p, value, member);
    case CS_PARAMETER_NUMBER:
        return set_count(p, value, member);
    case CS_PARAMETER_NUMBERS:
        return set_counts(p, value, member);
    case CS_PARAMETER_RATIOS:
        return set_ratios(value, member);
    case CS_PARAMETER_OFFSETS:
        return set_offset(p, value, objective);
    case CS_PARAMETER_SHARE:
        return set_share(value, member);
    default:
        return cs_fail(CS_ERR_USAGE, "%s must be given as a separate option", p->name);
    }
}

void cs_parameter_chosen(const cs_parameter *p, const cs_objective *o, char *text, size_t size)
{
    const char *names = p->choices;
    for (int index = *(const int *)cs_parameter_member(p, o); index > 0; --index) {
        names += strcspn(names, "|") + 1;
    }
    (void)snprintf(text, size, "%.*s", (int)strcspn(names, "|"), names);
}

static void format(const cs_parameter *p, const cs_objective *objective, char *text, size_t size)
{
    const void *member = cs_parameter_member(p, objective);
    const int64_t *count = member;
    const double *ratio = member;
    char lo[CS_REAL_TEXT], hi[CS_REAL_TEXT];
    bool range = cs_objective_table(objective->kind)->range;
    text[0] = '\0';
    if (p->kind == CS_PARAMETER_CHOICE) {
        cs_parameter_chosen(p, objective, text, size);
    } else if (p->kind == CS_PARAMETER_NUMBER && *count >= 0) {
        (void)snprintf(text, size, "%" PRId64, *count);
    } else if (p->kind == CS_PARAMETER_NUMBERS && *count >= 0) {
        (void)snprintf(text, size, range ? "%" PRId64 ":%" PRId64 : "%" PRId64, count[0], count[1]);
    } else if (p->kind == CS_PARAMETER_RATIOS && !isnan(*ratio)) {
        cs_real_shortest(ratio[0], lo);
        cs_real_shortest(ratio[1], hi);
        (void)snprintf(text, size, range ? "%s:%s" : "%s", lo, hi);
    } else if (p->kind == CS_PARAMETER_OFFSETS && !isnan(objective->offset_value)) {
        cs_parameter_chosen(p, objective, hi, sizeof hi);
        cs_real_shortest(objective->offset_value, lo);
        (void)snprintf(text, size, "%s:%s", hi, lo);
    } else if (p->kind == CS_PARAMETER_FILE && objective->file) {
        (void)snprintf(text, size, "%s", objective->file->path);
    }
}

/* KEY=VALUE of all that the objective takes and has, a comma before each, in fresh memory; `value`
 * has the expressions of a part of a mixture, or is NULL. */
static char *parameters_of(const cs_objective *o, cs_expression *const (*value)[2])
{
    char *text = cs_strdup(""), constant[128], distribution[16] = "";
    for (int i = 0; i < CS_PARAMETERS_ALL && text; ++i) {
        const cs_expression *first = value ? value[i][0] : NULL, *last = value ? value[i][1] : NULL;
        format(cs_parameter_table(i), o, constant, sizeof constant);
        const bool usual = i == CS_PARAMETER_ID_PERMUTATION && o->permutation == CS_PERMUTE_UNIFORM;
        if (!cs_listed(cs_objective_table(o->kind)->takes, cs_parameter_table(i)->name) || usual ||
            cs_parameter_table(i)->kind == CS_PARAMETER_FILE || (!first && !constant[0])) {
            continue;
        }
        if (first && cs_parameter_table(i)->kind == CS_PARAMETER_OFFSETS) {
            cs_parameter_chosen(cs_parameter_table(i), o, distribution, sizeof distribution);
        }
        cs_append(&text, ",%s=%s%s%s%s%s", cs_parameter_table(i)->name, distribution,
                  distribution[0] ? ":" : "", first ? cs_expression_text(first) : constant,
                  last ? ":" : "", last ? cs_expression_text(last) : "");
    }
    return text;
}

static char *describe_parts(const cs_plan_file *file, int64_t above, const json_t *parts);

/* As deep as the mixture is, of CS_MIX_PARTS parts at most. NOLINTBEGIN(misc-no-recursion) */

/* "NAME(KEY=VALUE,...)" or "mix(...)" of part j of a command line's mixture, in fresh memory. */
static char *describe_part(const cs_plan_file *file, int64_t j, const json_t *read)
{
    const cs_mix_part *part = &file->part[j];
    const json_t *path = json_object_get(json_object_get(read, "parameters"), "plan-file");
    if (path) {
        return cs_format("file(plan-file=%s)", json_string_value(path));
    }
    CS_AUTO_FREE char *list = part->group
                                  ? describe_parts(file, j, json_object_get(read, "mixture"))
                                  : parameters_of(&part->objective, part->value);
    const char *name = part->group ? "mix" : cs_objective_name(part->objective.kind);
    const char *inner = list && !part->group && list[0] ? list + 1 : list;
    char *text =
        list ? cs_format("%s%s%s%s", name, inner[0] ? "(" : "", inner, inner[0] ? ")" : "") : NULL;
    return text;
}

/* "SHARE*NAME(KEY=VALUE,...)+..." of the parts of a group, in fresh memory; shares that do not vary
 * sum to 1. */
static char *describe_parts(const cs_plan_file *file, int64_t above, const json_t *parts)
{
    char *whole = cs_strdup(""), share[CS_REAL_TEXT];
    const double sum = cs_plan_file_sum(file, above);
    size_t n = 0;
    for (int64_t j = 0; whole && j < file->parts; ++j) {
        const cs_mix_part *part = &file->part[j];
        if (part->above != above) {
            continue;
        }
        CS_AUTO_FREE char *text = describe_part(file, j, json_array_get(parts, n));
        cs_real_shortest(cs_mix_normal(file, cs_expression_at(part->share, 0), sum), share);
        char *longer = text ? cs_format("%s%s%s*%s", whole, n++ > 0 ? "+" : "",
                                        isnan(sum) ? cs_expression_text(part->share) : share, text)
                            : NULL;
        cs_free(whole);
        whole = longer;
    }
    return whole;
}
/* NOLINTEND(misc-no-recursion) */

/* "mix:" and the parts, in fresh memory. */
static char *describe_mix(const cs_plan_file *file)
{
    CS_AUTO_FREE char *parts = describe_parts(file, -1, cs_plan_file_parts(file));
    char *text = parts ? cs_format("mix:%s", parts) : NULL;
    return text;
}

char *cs_objective_describe(const cs_objective *o)
{
    static const int weights[] = {CS_PARAMETER_ID_EVENT_WEIGHT, CS_PARAMETER_ID_TARGET_WEIGHT,
                                  CS_PARAMETER_ID_EMPTY_PREFIX};
    char chosen[CS_REAL_TEXT];
    const bool file = o->file && o->file->path, mix = o->kind == CS_OBJ_MIX && o->file && !file;
    CS_AUTO_FREE char *name =
        mix ? describe_mix(o->file) : cs_strdup(cs_objective_name(file ? CS_OBJ_FILE : o->kind));
    CS_AUTO_FREE char *list =
        file ? cs_format(",plan-file=%s", o->file->path) : parameters_of(o, NULL);
    if (list && o->share != 1) {
        cs_real_shortest(o->share, chosen);
        cs_append(&list, ",share=%s", chosen);
    }
    for (size_t i = 0; i < sizeof weights / sizeof *weights && list; ++i) {
        const cs_parameter *p = cs_parameter_table(weights[i]);
        if (*(const int *)cs_parameter_member(p, o) > 0) { /* not the first choice, the default */
            cs_parameter_chosen(p, o, chosen, sizeof chosen);
            cs_append(&list, ",%s=%s", p->name, chosen);
        }
    }
    char *text = !name || !list    ? NULL
                 : mix || !list[0] ? cs_format("%s%s", name, list)
                                   : cs_format("%s(%s)", name, list + 1);
    return text;
}

/* --- checks --- */

/* With the values of training for an example. */
static cs_status lacks(const cs_objective *o, const char *what)
{
    const char *name = cs_objective_name(o->kind);
    return cs_fail(CS_ERR_USAGE, "%s needs %s, for example %s(%s)", name, what, name,
                   cs_objective_table(o->kind)->trained);
}

cs_status cs_check_unmasked(const cs_objective *o)
{
    const cs_objective_row *row = cs_objective_table(o->kind);
    const char *name = cs_objective_name(o->kind);
    bool by_number = o->unmasked_lo >= 0 || o->unmasked_hi >= 0;
    bool by_ratio = !isnan(o->mask_ratio_lo) || !isnan(o->mask_ratio_hi);
    bool counts = cs_listed(row->takes, "unmasked"), single = !row->range;
    if (by_number && !counts) {
        return cs_fail(CS_ERR_USAGE, "%s needs a mask ratio, not unmasked %" PRId64, name,
                       o->unmasked_lo);
    }
    if (by_number && by_ratio) {
        return cs_fail(CS_ERR_USAGE, "%s: both unmasked %" PRId64 " and mask ratio %g are given",
                       name, o->unmasked_lo, o->mask_ratio_lo);
    }
    if (!by_number && !by_ratio) {
        return lacks(o, counts
                            ? "a number of unmasked tokens (unmasked) or a mask ratio (mask-ratio)"
                            : "a mask ratio (mask-ratio)");
    }
    if (by_ratio) {
        cs_status status = check_ratio(o->mask_ratio_lo, o->mask_ratio_hi, false);
        if (status == CS_OK && single && o->mask_ratio_lo != o->mask_ratio_hi)
            status = cs_fail(CS_ERR_USAGE, "%s needs a single mask ratio, got %g:%g", name,
                             o->mask_ratio_lo, o->mask_ratio_hi);
        return status;
    }
    if (o->unmasked_lo < 0 || o->unmasked_lo > o->unmasked_hi) {
        return cs_fail(CS_ERR_USAGE, "%s: unmasked %" PRId64 ":%" PRId64 " is not a range", name,
                       o->unmasked_lo, o->unmasked_hi);
    }
    if (single && o->unmasked_lo != o->unmasked_hi) {
        return cs_fail(CS_ERR_USAGE,
                       "%s needs a single number of unmasked tokens, got %" PRId64 ":%" PRId64
                       " (variable-masked accepts a range)",
                       name, o->unmasked_lo, o->unmasked_hi);
    }
    if (o->unmasked_lo == 0 && o->empty_prefix == CS_PREFIX_NONE) {
        return cs_fail(CS_ERR_USAGE, "%s: unmasked 0 needs an empty prefix", name);
    }
    return CS_OK;
}

cs_status cs_check_t(const cs_objective *o)
{
    if (o->t >= 1) {
        return CS_OK;
    }
    return o->t == -1 ? lacks(o, "a number of tokens (t)")
                      : cs_fail(CS_ERR_USAGE, "%s: t %" PRId64 " is below 1",
                                cs_objective_name(o->kind), o->t);
}

cs_status cs_check_offset(const cs_objective *o)
{
    if (isnan(o->offset_value)) {
        return lacks(o, "offset weights (offset-weights: uniform:T, power:A or mix:L)");
    }
    return check_offset(o->offset, o->offset_value);
}

/* --- by name --- */

static const unsigned RATIO = 1U << CS_PARAMETER_ID_MASK_RATIO,
                      COUNTED = 1U << CS_PARAMETER_ID_UNMASKED;

static void append(const char *name, size_t size, char *list)
{
    (void)strncat(list, list[0] ? ", " : "", size - strlen(list) - 1);
    (void)strncat(list, name, size - strlen(list) - 1);
}

/* Which objectives take it, for the message. */
static cs_status refuse(const cs_parameter *p, cs_objective_kind kind)
{
    char takers[512] = "";
    for (int k = 0; k < CS_OBJ_COUNT; ++k) {
        if (cs_objective_takes((cs_objective_kind)k, p)) {
            append(cs_objective_name((cs_objective_kind)k), sizeof takers, takers);
        }
    }
    return cs_fail(CS_ERR_USAGE, "--%s does not apply to %s, only to %s", p->name,
                   cs_objective_name(kind), takers);
}

cs_status cs_objective_parameter(cs_objective_kind kind, const char *name, const char *value,
                                 int *index)
{
    cs_hint hint = {0};
    char taken[256] = "";
    for (int i = 0; i < CS_PARAMETERS_ALL; ++i) {
        const cs_parameter *p = cs_parameter_table(i);
        if (cs_objective_takes(kind, p)) {
            cs_hint_consider(name, p->name, &hint);
            append(p->name, sizeof taken, taken);
        }
        if (strcmp(p->name, name) == 0) {
            /* The default may be given explicitly. */
            bool said = i == CS_PARAMETER_ID_EVENT_WEIGHT && strcmp(value, "token") == 0;
            *index = i;
            return said || cs_objective_takes(kind, p) ? CS_OK : refuse(p, kind);
        }
    }
    return cs_fail(CS_ERR_USAGE, "unknown objective parameter \"%s\" (%s accepts %s)%s", name,
                   cs_objective_name(kind), taken, cs_hint_text("", &hint));
}

cs_status cs_objective_set(cs_objective *objective, const char *name, const char *value)
{
    int index = 0;
    cs_status status = cs_objective_parameter(objective->kind, name, value, &index);
    return status == CS_OK ? set_value(cs_parameter_table(index), value, objective) : status;
}

/* NOLINTNEXTLINE(misc-no-recursion): parts of a mixture are no mixtures */
cs_status cs_objective_complete(cs_objective *objective, unsigned set)
{
    const char *trained = cs_objective_table(objective->kind)->trained;
    CS_AUTO_FREE char *text = cs_strdup(trained ? trained : "");
    cs_status status = text ? CS_OK : CS_ERR_MEMORY;
    for (char *save = NULL, *item = text ? strtok_r(text, ",", &save) : NULL;
         item && status == CS_OK; item = strtok_r(NULL, ",", &save)) {
        cs_objective with = *objective;
        char *value = strchr(item, '=');
        int index = 0;
        *value++ = '\0';
        status = cs_objective_parameter(with.kind, item, value, &index);
        if (status == CS_OK) status = set_value(cs_parameter_table(index), value, &with);
        const unsigned own = 1U << index;
        bool counted = (own & RATIO) && (set & COUNTED); /* they say the same thing */
        if (status == CS_OK && !(own & set) && !counted) *objective = with;
    }
    for (int64_t j = 0;
         objective->kind == CS_OBJ_MIX && objective->file && j < objective->file->parts; ++j) {
        cs_mix_part *part = &objective->file->part[j];
        if (status == CS_OK) status = cs_objective_complete(&part->objective, part->set);
    }
    return status;
}
