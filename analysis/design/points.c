/* Rows of the tables: laws that were found, and objectives to compare them with. */
#include <math.h>

#include "analysis/design/design.h"
#include "base/mem.h"
#include "io/json.h"
#include "plan/spec.h"

/* Beside every objective with its parameters of training. */
static const char *const variants[] = {"diverse-ar(t=4)",
                                       "diverse-ar(t=16)",
                                       "offset-ar(offset-weights=mix:0.25)",
                                       "offset-ar(offset-weights=mix:0.5)",
                                       "offset-ar(offset-weights=mix:0.75)",
                                       "offset-ar(offset-weights=power:1)",
                                       "offset-ar(offset-weights=power:0.5)",
                                       "offset-ar(offset-weights=mix:0)",
                                       "masked(mask-ratio=0.3)",
                                       "masked(mask-ratio=0.5)",
                                       "masked(mask-ratio=0.75)"};

cs_status cs_design_row(const char *kind, const char *series, const cs_design *d, json_t *rows)
{
    json_t *row =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "kind", kind, "series",
                  series, "next_token_weight", cs_json_number(d->next_token), "misalignment",
                  cs_json_number(d->misalignment), "kappa", cs_json_number(d->kappa), "value",
                  cs_json_number(d->value), "bound", cs_json_number(d->bound), "gap",
                  cs_json_number(d->value - d->bound), "steps", (json_int_t)d->steps, "reached",
                  isnan(d->bound) ? json_null() : json_boolean(d->converged));
    return json_array_append_new(rows, row) == 0 ? cs_json_check() : CS_ERR_MEMORY;
}

cs_status cs_design_compare(const cs_design_problem *problem, const char *spec, json_t *rows)
{
    cs_design_problem of = *problem;
    cs_plan_file parts = {0};
    cs_design d = {0};
    cs_status status = cs_objective_parse_held(spec, &parts, &of.objective);
    if (status == CS_OK) status = cs_design_of(&of, &d);
    char *series = status == CS_OK ? cs_objective_describe(&of.objective) : NULL;
    if (status == CS_OK)
        status = series ? cs_design_row("objective", series, &d, rows) : CS_ERR_MEMORY;
    cs_free(series);
    cs_design_free(&d);
    cs_plan_file_free(&parts);
    return status;
}

cs_status cs_design_compare_all(const cs_design_problem *problem, json_t *rows)
{
    const int others = (int)(sizeof variants / sizeof *variants);
    cs_status status = CS_OK;
    for (int i = 0; i < CS_OBJ_COUNT + others && status == CS_OK; ++i) {
        const cs_objective_kind kind = (cs_objective_kind)i;
        const char *trained = i < CS_OBJ_COUNT ? cs_objective_table(kind)->trained : NULL;
        char *spec = i >= CS_OBJ_COUNT ? cs_strdup(variants[i - CS_OBJ_COUNT])
                     : trained         ? cs_format("%s(%s)", cs_objective_name(kind), trained)
                                       : cs_strdup(cs_objective_name(kind));
        const bool has_plans = i == CS_OBJ_FILE || i == CS_OBJ_MIX;
        status = !spec ? CS_ERR_MEMORY : has_plans ? CS_OK : cs_design_compare(problem, spec, rows);
        if (status == CS_ERR_USAGE) { /* it does not exist at this length */
            cs_reason_clear();
            status = CS_OK;
        }
        cs_free(spec);
    }
    return status;
}
