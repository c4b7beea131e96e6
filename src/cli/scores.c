#include "cli/scores.h"

#include "cli/output.h"

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
