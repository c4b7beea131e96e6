/* Objective specifications: one setter by key, used for every textual form. */
#include "plan/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The index of `value` among the names "a|b|c", -1 if it is none of them. */
static int choice(const char *value, const char *names)
{
    size_t length = strlen(value);
    for (int index = 0;; ++index) {
        size_t here = strcspn(names, "|");
        if (here == length && strncmp(names, value, length) == 0) {
            return index;
        }
        if (names[here] == '\0') {
            return -1;
        }
        names += here + 1;
    }
}

static cs_status set_choice(const char *key, const char *value, const char *names, int *out)
{
    *out = choice(value, names);
    return *out >= 0 ? CS_OK : cs_fail(CS_ERR_USAGE, "%s %s is not one of %s", key, value, names);
}

static cs_status set_count(const char *key, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || n < 1) {
        return cs_fail(CS_ERR_USAGE, "%s %s is not a whole number >= 1", key, value);
    }
    *out = n;
    return CS_OK;
}

cs_status cs_objective_set(cs_objective *objective, const char *key, const char *value)
{
    int index = 0;
    cs_status status;
    if (strcmp(key, "unmasked") == 0) {
        return cs_objective_parse_unmasked(value, objective);
    }
    if (strcmp(key, "mask-ratio") == 0) {
        return cs_objective_parse_mask_ratio(value, objective);
    }
    if (strcmp(key, "offset-weights") == 0) {
        return cs_objective_parse_offset(value, objective);
    }
    if (strcmp(key, "t") == 0) {
        return set_count(key, value, &objective->t);
    }
    if (strcmp(key, "groups") == 0) {
        return set_count(key, value, &objective->groups);
    }
    if (strcmp(key, "segmentation") == 0) {
        status = set_choice(key, value, "fixed|random|mixed", &index);
        objective->segmentation =
            status == CS_OK ? (cs_segmentation)index : objective->segmentation;
        return status;
    }
    if (strcmp(key, "event-weight") == 0) {
        status = set_choice(key, value, "token|mask", &index);
        objective->event_weight =
            status == CS_OK ? (cs_event_weight)index : objective->event_weight;
        return status;
    }
    if (strcmp(key, "empty-prefix") == 0) {
        status = set_choice(key, value, "none|shared|class", &index);
        objective->empty_prefix =
            status == CS_OK ? (cs_empty_prefix)index : objective->empty_prefix;
        return status;
    }
    return cs_fail(CS_ERR_USAGE, "unknown objective parameter %s", key);
}

/* One "KEY=VALUE" in place; `item` is cut at the '='. */
static cs_status set_item(cs_objective *objective, char *item)
{
    char *equals = strchr(item, '=');
    if (!equals) {
        return cs_fail(CS_ERR_USAGE, "\"%s\" is not KEY=VALUE", item);
    }
    *equals = '\0';
    return cs_objective_set(objective, item, equals + 1);
}

cs_status cs_objective_parse(const char *spec, cs_objective *out)
{
    char *text = cs_strdup(spec);
    if (!text) {
        return CS_ERR_MEMORY;
    }
    char *rest = strchr(text, ':');
    if (rest) {
        *rest++ = '\0';
    }
    cs_objective_kind kind;
    cs_status status = cs_objective_by_name(text, &kind);
    cs_objective objective = {0};
    if (status == CS_OK) {
        objective = cs_objective_default(kind);
    }
    for (char *save = NULL, *item = rest ? strtok_r(rest, ",", &save) : NULL;
         item && status == CS_OK; item = strtok_r(NULL, ",", &save)) {
        status = set_item(&objective, item);
    }
    if (status == CS_OK && (status = cs_objective_check(&objective)) == CS_OK) {
        *out = objective;
    }
    cs_free(text);
    return cs_blame(status, "objective %s", spec);
}
