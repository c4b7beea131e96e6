/* The table of objectives, their parameters and the checks of both. */
#include "plan/objective.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/number.h"
#include "plan/gvp.h"
#include "plan/plan_file.h"

static const cs_objective_info table[CS_OBJ_COUNT] = {
    [CS_OBJ_AR] = {.name = "ar",
                   .summary = "each token from all before it (GPT; LA 3.1)",
                   .fixed_order = true},
    [CS_OBJ_MASKED] = {.name = "masked",
                       .summary =
                           "masked tokens from a fixed number of unmasked ones (BERT; LA 3.1)",
                       .permutation_invariant = true,
                       .wants_unmasked = true},
    [CS_OBJ_VARIABLE_MASKED] = {.name = "variable-masked",
                                .summary =
                                    "masked, the number unmasked uniform in a range (LA Eq. 5)",
                                .permutation_invariant = true,
                                .wants_unmasked = true},
    [CS_OBJ_BERNOULLI_MASKED] = {.name = "bernoulli-masked",
                                 .summary = "every token masked independently with one probability",
                                 .permutation_invariant = true,
                                 .wants_unmasked = true},
    [CS_OBJ_DIVERSE_AR] = {.name = "diverse-ar",
                           .summary =
                               "one of the next t tokens, uniformly, from each prefix (LA Eq. 3)",
                           .fixed_order = true,
                           .wants_t = true},
    [CS_OBJ_OFFSET_AR] = {.name = "offset-ar",
                          .summary = "one later token from each prefix, by a law of its distance",
                          .fixed_order = true,
                          .wants_offset = true},
    [CS_OBJ_GROUP_AR] = {.name = "group-ar",
                         .summary = "groups of t tokens at once, the first group 1..t (LA Eq. 6)",
                         .fixed_order = true,
                         .wants_t = true},
    [CS_OBJ_PERMUTED_AR] = {.name = "permuted-ar",
                            .summary = "autoregressive along a uniform permutation (XLNet)",
                            .permutation_invariant = true},
    [CS_OBJ_GVP] = {.name = "gvp",
                    .summary = "K groups along a uniform permutation (GVP 3.2, App. B)",
                    .permutation_invariant = true,
                    .wants_segmentation = true},
    [CS_OBJ_FILE] = {.name = "file", .summary = "plans with probabilities from a JSON file"},
};

static const char *const event_names[] = {"token", "mask"};
static const char *const prefix_names[] = {"none", "shared", "class"};
static const char *const offset_names[] = {"uniform", "power", "mix"};
static const char *const segment_names[] = {"fixed", "random", "mixed"};

const cs_objective_info *cs_objective_table(cs_objective_kind kind)
{
    return &table[kind];
}

cs_status cs_objective_by_name(const char *name, cs_objective_kind *out)
{
    char known[256] = "";
    size_t used = 0;
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        if (strcmp(name, table[kind].name) == 0) {
            *out = (cs_objective_kind)kind;
            return CS_OK;
        }
        int n = snprintf(known + used, sizeof known - used, "%s%s", kind > 0 ? ", " : "",
                         table[kind].name);
        used += n > 0 && (size_t)n < sizeof known - used ? (size_t)n : 0;
    }
    return cs_fail(CS_ERR_USAGE, "unknown objective \"%s\"; known: %s", name, known);
}

cs_objective cs_objective_default(cs_objective_kind kind)
{
    return (cs_objective){.kind = kind,
                          .event_weight = CS_EVENT_TOKEN,
                          .empty_prefix = CS_PREFIX_NONE,
                          .unmasked_lo = -1,
                          .unmasked_hi = -1,
                          .mask_ratio_lo = NAN,
                          .mask_ratio_hi = NAN,
                          .t = -1,
                          .offset = CS_OFFSET_UNIFORM,
                          .offset_value = NAN,
                          .segmentation = CS_SEGMENT_RANDOM,
                          .groups = -1,
                          .file = NULL};
}

/* --- parsers --- */

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

static bool read_count(const char *text, int64_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 18) {
        return false;
    }
    *out = strtoll(text, &end, 10);
    return *end == '\0';
}

cs_status cs_objective_parse_unmasked(const char *text, cs_objective *objective)
{
    char first[64], second[64];
    int64_t lo, hi;
    cs_status status = split_range("unmasked", text, first, second);
    if (status != CS_OK) {
        return status;
    }
    if (!read_count(first, &lo) || !read_count(second, &hi)) {
        return cs_fail(CS_ERR_USAGE, "unmasked \"%s\" is not M or LO:HI", text);
    }
    if (lo > hi) {
        return cs_fail(CS_ERR_USAGE, "unmasked \"%s\": %" PRId64 " exceeds %" PRId64, text, lo, hi);
    }
    objective->unmasked_lo = lo;
    objective->unmasked_hi = hi;
    return CS_OK;
}

static cs_status check_ratio(double lo, double hi)
{
    double bad = lo > 0 && lo < 1 ? hi : lo;
    if (!(bad > 0 && bad < 1)) {
        return cs_fail(CS_ERR_USAGE, "mask ratio %g not in (0, 1)", bad);
    }
    return lo <= hi ? CS_OK : cs_fail(CS_ERR_USAGE, "mask ratio %g exceeds %g in LO:HI", lo, hi);
}

cs_status cs_objective_parse_mask_ratio(const char *text, cs_objective *objective)
{
    char first[64], second[64];
    double lo, hi;
    cs_status status = split_range("mask ratio", text, first, second);
    if (status != CS_OK) {
        return status;
    }
    if (!cs_real_scan(first, &lo) || !cs_real_scan(second, &hi)) {
        return cs_fail(CS_ERR_USAGE, "mask ratio \"%s\" is not RHO or LO:HI", text);
    }
    if ((status = check_ratio(lo, hi)) == CS_OK) {
        objective->mask_ratio_lo = lo;
        objective->mask_ratio_hi = hi;
    }
    return status;
}

static cs_status check_offset(cs_offset_kind kind, double value)
{
    if (kind == CS_OFFSET_UNIFORM && !(value >= 1 && value < 0x1p53 && value == floor(value))) {
        return cs_fail(CS_ERR_USAGE, "offset uniform:%g: the window is not a whole number >= 1",
                       value);
    }
    if (kind == CS_OFFSET_POWER && !(value >= 0 && isfinite(value))) {
        return cs_fail(CS_ERR_USAGE, "offset power:%g: the exponent is not a number >= 0", value);
    }
    if (kind == CS_OFFSET_MIX && !(value >= 0 && value <= 1)) {
        return cs_fail(CS_ERR_USAGE, "offset mix:%g: the share of the next token is not in [0, 1]",
                       value);
    }
    return CS_OK;
}

cs_status cs_objective_parse_offset(const char *text, cs_objective *objective)
{
    for (int kind = 0; kind < 3; ++kind) {
        size_t length = strlen(offset_names[kind]);
        double value;
        if (strncmp(text, offset_names[kind], length) != 0 || text[length] != ':' ||
            !cs_real_scan(text + length + 1, &value)) {
            continue;
        }
        cs_status status = check_offset((cs_offset_kind)kind, value);
        if (status == CS_OK) {
            objective->offset = (cs_offset_kind)kind;
            objective->offset_value = value;
        }
        return status;
    }
    return cs_fail(CS_ERR_USAGE, "offset weights \"%s\" are not uniform:T, power:A or mix:L", text);
}

/* --- checks --- */

static cs_status check_unmasked(const cs_objective *o)
{
    const char *name = table[o->kind].name;
    bool by_number = o->unmasked_lo >= 0 || o->unmasked_hi >= 0;
    bool by_ratio = !isnan(o->mask_ratio_lo) || !isnan(o->mask_ratio_hi);
    bool bernoulli = o->kind == CS_OBJ_BERNOULLI_MASKED;
    bool single = bernoulli || o->kind == CS_OBJ_MASKED;
    if (by_number && bernoulli) {
        return cs_fail(CS_ERR_USAGE, "%s takes a mask ratio, not unmasked %" PRId64, name,
                       o->unmasked_lo);
    }
    if (by_number && by_ratio) {
        return cs_fail(CS_ERR_USAGE, "%s: both unmasked %" PRId64 " and mask ratio %g are given",
                       name, o->unmasked_lo, o->mask_ratio_lo);
    }
    if (!by_number && !by_ratio) {
        return cs_fail(CS_ERR_USAGE, "%s needs %sa mask ratio", name,
                       bernoulli ? "" : "a number of unmasked tokens or ");
    }
    if (by_ratio) {
        cs_status status = check_ratio(o->mask_ratio_lo, o->mask_ratio_hi);
        if (status == CS_OK && single && o->mask_ratio_lo != o->mask_ratio_hi) {
            status = cs_fail(CS_ERR_USAGE, "%s takes one mask ratio, got %g:%g", name,
                             o->mask_ratio_lo, o->mask_ratio_hi);
        }
        return status;
    }
    if (o->unmasked_lo < 0 || o->unmasked_lo > o->unmasked_hi) {
        return cs_fail(CS_ERR_USAGE, "%s: unmasked %" PRId64 ":%" PRId64 " is not a range", name,
                       o->unmasked_lo, o->unmasked_hi);
    }
    if (single && o->unmasked_lo != o->unmasked_hi) {
        return cs_fail(CS_ERR_USAGE,
                       "%s takes one number of unmasked tokens, got %" PRId64 ":%" PRId64
                       " (variable-masked takes a range)",
                       name, o->unmasked_lo, o->unmasked_hi);
    }
    if (o->unmasked_lo == 0 && o->empty_prefix == CS_PREFIX_NONE) {
        return cs_fail(CS_ERR_USAGE, "%s: unmasked 0 needs an empty prefix", name);
    }
    return CS_OK;
}

static cs_status check_file(const cs_objective *o)
{
    if (!o->file) {
        return cs_fail(CS_ERR_USAGE, "objective file needs a plan file");
    }
    if (o->file->empty_given > 0 && o->empty_prefix == CS_PREFIX_NONE) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: plan %" PRId64 ": group 0 is empty, which needs an empty prefix",
                       o->file->path, o->file->empty_given);
    }
    return CS_OK;
}

cs_status cs_objective_check(const cs_objective *o)
{
    if ((unsigned)o->kind >= CS_OBJ_COUNT || (unsigned)o->event_weight > CS_EVENT_MASK ||
        (unsigned)o->empty_prefix > CS_PREFIX_CLASS || (unsigned)o->offset > CS_OFFSET_MIX ||
        (unsigned)o->segmentation > CS_SEGMENT_MIXED) {
        return cs_fail(CS_ERR_USAGE,
                       "objective kind %d, event weight %d, empty prefix %d, offset %d or "
                       "segmentation %d is unknown",
                       (int)o->kind, (int)o->event_weight, (int)o->empty_prefix, (int)o->offset,
                       (int)o->segmentation);
    }
    const cs_objective_info *info = &table[o->kind];
    if (info->wants_unmasked) {
        return check_unmasked(o);
    }
    if (info->wants_t && o->t < 1) {
        return o->t == -1 ? cs_fail(CS_ERR_USAGE, "%s needs t", info->name)
                          : cs_fail(CS_ERR_USAGE, "%s: t %" PRId64 " is below 1", info->name, o->t);
    }
    if (info->wants_offset && isnan(o->offset_value)) {
        return cs_fail(CS_ERR_USAGE, "%s needs offset weights (uniform:T, power:A or mix:L)",
                       info->name);
    }
    if (info->wants_offset) {
        return check_offset(o->offset, o->offset_value);
    }
    if (info->wants_segmentation && o->groups < 1) {
        return o->groups == -1 ? cs_fail(CS_ERR_USAGE, "%s needs a number of groups", info->name)
                               : cs_fail(CS_ERR_USAGE, "%s: groups %" PRId64 " is below 1",
                                         info->name, o->groups);
    }
    return o->kind == CS_OBJ_FILE ? check_file(o) : CS_OK;
}

/* Plans of length s in the file, at least one. */
static cs_status check_file_length(const cs_plan_file *file, int64_t s)
{
    for (int64_t p = 0; p < file->plans; ++p) {
        if (file->plan[p].length == s) {
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_USAGE, "%s has no plan of length %" PRId64, file->path, s);
}

cs_status cs_objective_check_length(const cs_objective *o, int64_t s)
{
    const char *name = table[o->kind].name;
    int64_t least = o->empty_prefix == CS_PREFIX_NONE ? 2 : 1;
    if (s > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "length %" PRId64 " exceeds %d", s, INT32_MAX);
    }
    if (o->unmasked_hi >= 0 && (o->kind == CS_OBJ_MASKED || o->kind == CS_OBJ_VARIABLE_MASKED)) {
        return s > o->unmasked_hi ? CS_OK
                                  : cs_fail(CS_ERR_USAGE,
                                            "%s with %" PRId64 " unmasked needs length >= %" PRId64
                                            ", got %" PRId64,
                                            name, o->unmasked_hi, o->unmasked_hi + 1, s);
    }
    if (o->kind == CS_OBJ_MASKED || o->kind == CS_OBJ_VARIABLE_MASKED) {
        least = 2; /* one token stays, one is masked */
    }
    if (o->kind == CS_OBJ_GVP && s <= o->groups) {
        return cs_fail(CS_ERR_USAGE,
                       "%s with %" PRId64 " groups needs length >= %" PRId64 ", got %" PRId64, name,
                       o->groups, o->groups + 1, s);
    }
    if (o->kind == CS_OBJ_GVP && o->event_weight == CS_EVENT_MASK &&
        o->segmentation != CS_SEGMENT_FIXED && s > CS_GVP_MASK_LENGTH) {
        return cs_fail(CS_ERR_USAGE,
                       "%s with mask weights costs O(s^2): length %" PRId64 " exceeds %d", name, s,
                       CS_GVP_MASK_LENGTH);
    }
    if (s < least) {
        return cs_fail(CS_ERR_USAGE, "%s needs length >= %" PRId64 ", got %" PRId64, name, least,
                       s);
    }
    return o->kind == CS_OBJ_FILE ? check_file_length(o->file, s) : CS_OK;
}

/* s - round(rho s), half away from zero on the decimal that was typed: the double next to 0.29 may
 * lie below it, and the product with s rounds once more, together less than 2 eps of rho s. A nudge
 * of 4 eps lifts such halves to where the decimal is; a decimal of 14 digits or less that is truly
 * below a half stays below it. */
static int64_t unmasked_before_clamp(double ratio, int64_t s)
{
    return s - (int64_t)round(ratio * (double)s * (1 + 4 * DBL_EPSILON));
}

/* Clamped so that a token stays and one is masked. */
static int64_t unmasked_at(double ratio, int64_t s)
{
    int64_t m = unmasked_before_clamp(ratio, s);
    return m < 1 ? 1 : m > s - 1 ? s - 1 : m;
}

bool cs_objective_clamps(const cs_objective *o, int64_t s)
{
    bool masks = o->kind == CS_OBJ_MASKED || o->kind == CS_OBJ_VARIABLE_MASKED;
    if (!masks || o->unmasked_lo >= 0 || s < 2) {
        return false;
    }
    return unmasked_before_clamp(o->mask_ratio_hi, s) != unmasked_at(o->mask_ratio_hi, s) ||
           unmasked_before_clamp(o->mask_ratio_lo, s) != unmasked_at(o->mask_ratio_lo, s);
}

cs_status cs_objective_unmasked(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    cs_status status = cs_objective_check_length(o, s);
    if (status != CS_OK) {
        return status;
    }
    if (o->kind != CS_OBJ_MASKED && o->kind != CS_OBJ_VARIABLE_MASKED) {
        return cs_fail(CS_ERR_USAGE, "%s has no range of unmasked tokens", table[o->kind].name);
    }
    bool by_number = o->unmasked_lo >= 0;
    *lo = by_number ? o->unmasked_lo : unmasked_at(o->mask_ratio_hi, s);
    *hi = by_number ? o->unmasked_hi : unmasked_at(o->mask_ratio_lo, s);
    return CS_OK;
}

/* --- description --- */

static void describe_parameters(const cs_objective *o, char *text, size_t size)
{
    const cs_objective_info *info = &table[o->kind];
    char lo[CS_REAL_TEXT], hi[CS_REAL_TEXT];
    bool range = o->kind == CS_OBJ_VARIABLE_MASKED;
    cs_real_format(info->wants_offset ? o->offset_value : o->mask_ratio_lo, 15, lo);
    cs_real_format(o->mask_ratio_hi, 15, hi);
    text[0] = '\0';
    if (info->wants_unmasked && o->unmasked_lo >= 0) {
        (void)snprintf(text, size, range ? " unmasked=%" PRId64 ":%" PRId64 : " unmasked=%" PRId64,
                       o->unmasked_lo, o->unmasked_hi);
    } else if (info->wants_unmasked) {
        (void)snprintf(text, size, " mask-ratio=%s%s%s", lo, range ? ":" : "", range ? hi : "");
    } else if (info->wants_t) {
        (void)snprintf(text, size, " t=%" PRId64, o->t);
    } else if (info->wants_offset) {
        (void)snprintf(text, size, " offset-weights=%s:%s", offset_names[o->offset], lo);
    } else if (info->wants_segmentation) {
        (void)snprintf(text, size, " segmentation=%s groups=%" PRId64,
                       segment_names[o->segmentation], o->groups);
    }
}

char *cs_objective_describe(const cs_objective *o)
{
    char parameters[160];
    bool file = o->kind == CS_OBJ_FILE && o->file;
    bool prefix = o->empty_prefix != CS_PREFIX_NONE;
    describe_parameters(o, parameters, sizeof parameters);
    return cs_format("%s%s%s%s event-weight=%s%s%s", table[o->kind].name, file ? " " : "",
                     file ? o->file->path : "", parameters, event_names[o->event_weight],
                     prefix ? " empty-prefix=" : "", prefix ? prefix_names[o->empty_prefix] : "");
}
