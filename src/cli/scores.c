#include "cli/scores.h"

#include <string.h>

#include "cli/output.h"

const cs_opt cs_group_against[] = {
    CS_TEXT("against", "FILE", NULL,
            "predictions.csv of another run on the same test examples: paired differences, and "
            "McNemar's exact p."),
    {0},
};

typedef struct {
    int64_t classes;
    cs_metric_list list;
} metrics;

static cs_status add_metric(void *to, const char *name)
{
    metrics *m = to;
    cs_metric metric = CS_METRIC_ACCURACY;
    cs_status status = cs_blame(cs_metric_by_name(name, &metric), "--metric");
    if (status != CS_OK) return status;
    if (cs_metric_of_classes(metric) != (m->classes > 0)) {
        return cs_fail(CS_ERR_USAGE, "--metric %s is for %s", name,
                       m->classes > 0 ? "regression (--regression)" : "classification");
    }
    if (metric == CS_METRIC_F1 && m->classes != 2) {
        return cs_fail(CS_ERR_USAGE, "--metric f1 is of two classes, not %lld: f1-macro",
                       (long long)m->classes);
    }
    for (int i = 0; i < m->list.count; ++i) {
        if (m->list.metric[i] == metric) {
            return cs_fail(CS_ERR_USAGE, "--metric names %s twice", name);
        }
    }
    m->list.metric[m->list.count++] = metric;
    return CS_OK;
}

cs_status cs_args_metrics(const cs_args *args, int64_t classes, cs_metric_list *out)
{
    const char *names = cs_args_text(args, "metric");
    if (strcmp(names, "auto") == 0) {
        names = classes == 0   ? "pearson,spearman,mse"
                : classes == 2 ? "accuracy,f1,f1-macro,matthews"
                               : "accuracy,f1-macro,matthews";
    }
    metrics m = {.classes = classes};
    cs_status status = cs_parse_each(names, add_metric, &m);
    if (status == CS_OK) *out = m.list;
    return status;
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
