/* Which case of a statement counts, and its verdict. */
#include "analysis/study/statements_private.h"
#include "base/auto.h"

#include <string.h>

#include "analysis/study/lookup_private.h"
#include "io/json.h"

cs_claim_verdict cs_claim_of_statement(const char *found, bool printed, bool assumed)
{
    return strcmp(found, "PASS") == 0 ? printed && !assumed ? CS_CLAIM_NOT_TESTED : CS_CLAIM_HOLDS
           : strcmp(found, "VACUOUS") == 0      ? CS_CLAIM_VACUOUS
           : strcmp(found, "INCONCLUSIVE") == 0 ? CS_CLAIM_UNDETERMINED
           : strcmp(found, "FAIL") != 0         ? CS_CLAIM_NOT_SPECIFIED
           : printed                            ? CS_CLAIM_FALSE_AS_PRINTED
                                                : CS_CLAIM_FALSE;
}

int cs_claim_badness(cs_claim_verdict verdict)
{
    static const cs_claim_verdict from_best[] = {CS_CLAIM_HOLDS,        CS_CLAIM_VACUOUS,
                                                 CS_CLAIM_NOT_TESTED,   CS_CLAIM_NOT_SPECIFIED,
                                                 CS_CLAIM_UNDETERMINED, CS_CLAIM_FALSE_AS_PRINTED,
                                                 CS_CLAIM_FALSE};
    int i = 0;
    while (from_best[i] != verdict)
        ++i;
    return i;
}

cs_status cs_study_statements(const cs_study *study, const char *step, json_t **file)
{
    CS_AUTO_FREE char *name = cs_format("%s/statements.json", step), *path = NULL;
    cs_status status = name ? cs_study_file(study, name, &path) : CS_ERR_MEMORY;
    return status == CS_OK ? cs_json_read(path, file) : status;
}

bool cs_study_assumed(const json_t *statement)
{
    size_t i;
    json_t *assumption;
    json_array_foreach(json_object_get(statement, "assumptions"), i, assumption)
    {
        if (json_is_false(json_object_get(assumption, "holds"))) return false;
    }
    return true;
}

bool cs_study_example(const json_t *statement)
{
    return json_is_true(json_object_get(statement, "example"));
}

/* Whether one case counts rather than another: the input's rather than a built-in example, then the
 * worse one. */
static bool counts(const json_t *s, const json_t *other)
{
    if (!other) return true;
    const bool example[] = {cs_study_example(s), cs_study_example(other)};
    int bad[2];
    for (int i = 0; i < 2; ++i) {
        const json_t *of = i == 0 ? s : other;
        const bool printed = strcmp(cs_json_string(of, "form"), "printed") == 0;
        bad[i] = cs_claim_badness(
            cs_claim_of_statement(cs_json_string(of, "verdict"), printed, cs_study_assumed(of)));
    }
    return example[0] != example[1] ? example[1] : bad[0] > bad[1];
}

cs_status cs_study_statement(const cs_study *study, const char *step, const char *id,
                             const char *form, json_t **file, const json_t **found)
{
    size_t i;
    json_t *s;
    *found = NULL;
    cs_status status = cs_study_statements(study, step, file);
    json_array_foreach(json_object_get(*file, "statements"), i, s)
    {
        if (strcmp(cs_json_string(s, "id"), id) == 0 &&
            strcmp(cs_json_string(s, "form"), form) == 0 && counts(s, *found))
            *found = s;
    }
    return status != CS_OK || *found
               ? status
               : cs_fail(CS_ERR_INPUT, "step %s: no %s statement %s", step, form, id);
}
