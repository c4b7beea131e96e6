/* Verdicts and the exit code: one rule for every command that states theorems. */
#include "cli/verdicts.h"

#include <math.h>

#include "cli/output.h"

cs_status cs_verdicts_report(cs_args *args, const cs_statements *list)
{
    for (int64_t i = 0; i < list->count; ++i) {
        const cs_statement *s = &list->item[i];
        if (s->form == CS_CORRECTED && s->attained) {
            cs_output_note(args,
                           "%s on %s is attained: its sides are equal within the rounding error, "
                           "%.1g (exit code unaffected)",
                           s->id, s->input, s->error);
        }
    }
    if (cs_statements_failed(list)) {
        cs_output_refuted(args);
        return CS_OK;
    }
    const cs_statement *s = cs_statements_inconclusive(list);
    if (s && !(isfinite(s->lhs) && isfinite(s->rhs) && isfinite(s->error))) {
        return cs_fail(CS_ERR_CONVERGE,
                       "%s on %s is inconclusive: sides %g and %g, numerical error %g, not all "
                       "finite",
                       s->id, s->input, s->lhs, s->rhs, s->error);
    }
    if (s && fabs(cs_statement_margin(s)) > s->error) { /* withheld: the sides alone would decide */
        return cs_fail(CS_ERR_CONVERGE, "%s on %s is inconclusive: the solver did not converge",
                       s->id, s->input);
    }
    return s ? cs_fail(CS_ERR_CONVERGE,
                       "%s on %s is inconclusive: margin %.3g, numerical error %.3g", s->id,
                       s->input, cs_statement_margin(s), s->error)
             : CS_OK;
}
