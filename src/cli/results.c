/* Parts of results that several commands share. */
#include "cli/results.h"

#include <math.h>

#include "cli/output.h"

/* --- predictions ------------------------------------------------------------------------------- */

const cs_opt cs_group_against[] = {
    CS_HEADING("Comparison"),
    CS_TEXT("against", "FILE", NULL,
            "predictions.csv of another run on the same test examples: adds paired differences and "
            "McNemar's exact p."),
    {0},
};

cs_status cs_args_metrics(const cs_args *args, int64_t classes, cs_metric_list *out)
{
    return cs_metric_list_read(cs_args_text(args, "metric"), classes, out);
}

cs_status cs_args_metrics_check(const cs_args *args)
{
    cs_metric_list list;
    return cs_args_metrics(args, cs_args_flag(args, "regression") ? 0 : 2, &list);
}

cs_status cs_args_against(cs_args *args, cs_reference *out)
{
    const char *file = cs_args_text(args, "against");
    cs_status status = file ? cs_output_input(args, file) : CS_OK;
    return status == CS_OK && file ? cs_reference_open(file, out) : status;
}

cs_status cs_output_predictions(cs_args *args, const cs_table *table)
{
    const char *path = NULL;
    cs_status status = cs_output_path(args, "predictions.csv", &path);
    return status == CS_OK ? cs_table_write_csv(table, path) : status;
}

/* --- verdicts and the exit code: one rule for every command that states theorems --------------- */

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

/* --- intervals and tails ----------------------------------------------------------------------- */

cs_status cs_tails_write(cs_args *args)
{
    static const cs_view view = {"tail[]", "t tail=value tail_low=low tail_high=high exact"};
    return cs_output_csv(args, "tail.csv", &view);
}

void cs_sum4_note(const cs_args *args, const cs_sum4 *sum)
{
    if (sum->out_of_range) {
        cs_output_note(args, "sum sigma^4 is out of the range of doubles");
    } else if (isnan(sum->value)) {
        cs_output_note(args, "sum sigma^4 was not computed");
    } else if (sum->samples == 0) {
        cs_output_note(args, "sum sigma^4 %.12g, exact", sum->value);
    } else {
        cs_output_note(args,
                       "sum sigma^4 %.8g in [%.8g, %.8g] at %g%%, estimated from %lld samples "
                       "after %lld vectors were deflated exactly",
                       sum->value, sum->low, sum->high, 100 * sum->level, (long long)sum->samples,
                       (long long)sum->known + sum->sketch);
    }
}
