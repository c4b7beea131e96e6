/* Objective specifications, as text cut in place. */
#include "plan/spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/number.h"
#include "plan/parameter.h"

static const unsigned RATIO = 1U << CS_PARAMETER_ID_MASK_RATIO,
                      COUNTED = 1U << CS_PARAMETER_ID_UNMASKED;

/* Which objectives take it, for the message. */
static cs_status refuse(const cs_parameter *p, cs_objective_kind kind)
{
    char takers[512] = "";
    for (int k = 0; k < CS_OBJ_COUNT; ++k) {
        if (cs_objective_takes((cs_objective_kind)k, p)) {
            (void)strncat(takers, takers[0] ? ", " : "", sizeof takers - strlen(takers) - 1);
            (void)strncat(takers, cs_objective_table((cs_objective_kind)k)->name,
                          sizeof takers - strlen(takers) - 1);
        }
    }
    return cs_fail(CS_ERR_USAGE, "--%s: %s does not take it (it is for %s)", p->name,
                   cs_objective_table(kind)->name, takers);
}

cs_status cs_objective_set(cs_objective *objective, const char *name, const char *value)
{
    for (int i = 0; i < CS_PARAMETERS_ALL; ++i) {
        const cs_parameter *p = cs_parameter_table(i);
        if (strcmp(p->name, name) == 0) {
            bool takes = cs_objective_takes(objective->kind, p);
            /* What is so without being said may be said. */
            bool said = i == CS_PARAMETER_ID_EVENT_WEIGHT && strcmp(value, "token") == 0;
            return takes || said ? cs_parameter_set(p, value, objective)
                                 : refuse(p, objective->kind);
        }
    }
    return cs_fail(CS_ERR_USAGE, "unknown objective parameter %s", name);
}

/* One "KEY=VALUE" in place; `item` is cut at the '='. */
static cs_status set_item(cs_objective *objective, unsigned *set, char *item)
{
    char *equals = strchr(item, '=');
    if (!equals) {
        return cs_fail(CS_ERR_USAGE, "\"%s\" is not KEY=VALUE", item);
    }
    *equals = '\0';
    for (int i = 0; i < CS_PARAMETERS_ALL; ++i) {
        unsigned bit = strcmp(cs_parameter_table(i)->name, item) == 0 ? 1U << i : 0;
        if (*set & bit) {
            return cs_fail(CS_ERR_USAGE, "%s is given twice, %s=%s is the second", item, item,
                           equals + 1);
        }
        *set |= bit;
    }
    return cs_objective_set(objective, item, equals + 1);
}

/* "KEY=VALUE, KEY=VALUE" in place. */
static cs_status set_items(char *text, unsigned *set, cs_objective *objective)
{
    cs_status status = CS_OK;
    for (char *save = NULL, *item = strtok_r(text, ",", &save); item && status == CS_OK;
         item = strtok_r(NULL, ",", &save)) {
        status = set_item(objective, set, item + strspn(item, " "));
    }
    return status;
}

static cs_status read_one(char *text, unsigned *set, cs_objective *out)
{
    char *rest = text + strcspn(text, ":(");
    size_t length = strlen(rest);
    cs_objective_kind kind = CS_OBJ_AR;
    cs_status status = CS_OK;
    if (rest[0] == '(' && rest[length - 1] != ')') {
        return cs_fail(CS_ERR_USAGE, "a parenthesis is not closed at the end");
    }
    if (rest[0] == '(') {
        rest[length - 1] = '\0';
    }
    if (rest[0]) {
        *rest++ = '\0';
    }
    status = cs_objective_by_name(text, &kind);
    cs_objective objective = cs_objective_default(kind);
    if (status == CS_OK && (status = set_items(rest, set, &objective)) == CS_OK) {
        *out = objective;
    }
    return status;
}

/* --- mixtures --- */

/* The mark at or after `text`, or its end: none within parentheses. */
static char *next_mark(char *text, char mark)
{
    int depth = 0;
    for (; *text && (depth > 0 || *text != mark); ++text) {
        depth += (*text == '(') - (*text == ')');
    }
    return text;
}

/* "SHARE*SPEC", in place. */
static cs_status read_part(char *text, cs_objective *part, double *share)
{
    char *times = strchr(text, '*');
    unsigned set = 0;
    const unsigned whole = 1U << CS_PARAMETER_ID_EVENT_WEIGHT | 1U << CS_PARAMETER_ID_EMPTY_PREFIX;
    if (!times) {
        return cs_fail(CS_ERR_USAGE, "part \"%s\" is not SHARE*OBJECTIVE", text);
    }
    *times = '\0';
    if (!cs_real_scan(text, share) || !(*share > 0)) {
        return cs_fail(CS_ERR_USAGE, "share \"%s\" is not a number above 0", text);
    }
    cs_status status = read_one(times + 1, &set, part);
    if (status == CS_OK && (part->kind == CS_OBJ_MIX || part->kind == CS_OBJ_FILE)) {
        return cs_fail(CS_ERR_USAGE, "%s cannot be part of a mixture",
                       cs_objective_table(part->kind)->name);
    }
    if (status == CS_OK && (set & whole)) {
        return cs_fail(CS_ERR_USAGE, "event-weight and empty-prefix are those of the mixture");
    }
    return status == CS_OK ? cs_objective_complete(part, set) : status;
}

/* Anew each time it is read: points of a sweep share one place. */
static cs_status read_mix(char *text, unsigned *set, cs_plan_file *file, cs_objective *out)
{
    int64_t parts = 1;
    double sum = 0;
    char *rest = next_mark(text, ',');
    if (*rest) {
        *rest++ = '\0';
    }
    for (const char *p = text; *p; ++p) {
        parts += *p == '+';
    }
    if (parts > CS_MIX_PARTS) {
        return cs_fail(CS_ERR_USAGE, "a mixture of %" PRId64 " parts, more than %d", parts,
                       CS_MIX_PARTS);
    }
    cs_plan_file_free(file);
    file->part = cs_calloc(parts, sizeof *file->part);
    file->share = cs_calloc(parts, sizeof *file->share);
    cs_status status = file->part && file->share ? CS_OK : CS_ERR_MEMORY;
    for (bool more = true; more && status == CS_OK;) {
        char *end = next_mark(text, '+');
        more = *end == '+';
        *end = '\0';
        status = read_part(text, &file->part[file->parts], &file->share[file->parts]);
        sum += file->share[file->parts++];
        text = end + more;
    }
    if (status == CS_OK && !isfinite(sum)) {
        status = cs_fail(CS_ERR_USAGE, "shares sum to %g", sum);
    }
    for (int64_t j = 0; j < file->parts; ++j) {
        file->share[j] /= sum;
    }
    *out = cs_objective_default(CS_OBJ_MIX);
    out->file = file;
    return status == CS_OK ? set_items(rest, set, out) : status;
}

cs_status cs_objective_read(const char *spec, unsigned *set, cs_plan_file *file, cs_objective *out)
{
    char *text = cs_strdup(spec);
    cs_status status = text ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && strncmp(text, "mix:", 4) != 0) {
        status = read_one(text, set, out);
    } else if (status == CS_OK && file) {
        status = read_mix(text + 4, set, file, out);
    } else if (status == CS_OK) {
        status = cs_fail(CS_ERR_USAGE, "a mixture cannot stand here");
    }
    cs_free(text);
    return status;
}

cs_status cs_objective_complete(cs_objective *objective, unsigned set)
{
    const char *trained = cs_objective_table(objective->kind)->trained;
    char *text = cs_strdup(trained ? trained : "");
    cs_status status = text ? CS_OK : CS_ERR_MEMORY;
    for (char *save = NULL, *item = text ? strtok_r(text, ",", &save) : NULL;
         item && status == CS_OK; item = strtok_r(NULL, ",", &save)) {
        unsigned own = 0;
        cs_objective with = *objective;
        status = set_item(&with, &own, item);
        bool counted = (own & RATIO) && (set & COUNTED); /* they say the same thing */
        if (status == CS_OK && !(own & set) && !counted) {
            *objective = with;
        }
    }
    cs_free(text);
    return status;
}

cs_status cs_objective_parse_held(const char *spec, cs_plan_file *file, cs_objective *out)
{
    unsigned set = 0;
    cs_objective objective = {0};
    cs_status status = cs_objective_read(spec, &set, file, &objective);
    if (status == CS_OK) status = cs_objective_check(&objective);
    if (status == CS_OK) {
        *out = objective;
    }
    return cs_blame(status, "objective %s", spec);
}

cs_status cs_objective_parse(const char *spec, cs_objective *out)
{
    return cs_objective_parse_held(spec, NULL, out);
}
