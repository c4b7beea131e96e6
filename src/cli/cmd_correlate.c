/* cospec correlate: do predictions about objectives rank their models as outcomes do? */
#include "analysis/study/correlate.h"
#include "cli/commands.h"
#include "cli/output.h"

static cs_status run(cs_args *args)
{
    static const cs_view rows = {"correlations[]", "prediction outcome budget given objects runs "
                                                   "tau p low high runs_se rho"},
                         values = {"values[]", "object budget quantity value sd runs"},
                         pairs = {"pairs[]", "prediction outcome budget object x y y_sd"},
                         runs = {"runs[]", "role quantity object budget run value"};
    cs_correlate_options o = {.objects = cs_args_positionals(args),
                              .predictions = cs_args_count(args, "predict"),
                              .outcomes = cs_args_count(args, "outcome"),
                              .object = cs_args_words(args),
                              .prediction = cs_args_texts(args, "predict"),
                              .outcome = cs_args_texts(args, "outcome")};
    CS_ARGS_FIELDS(args, &o, loss, budgets, runs, seed);
    cs_status status = cs_correlate(&o, cs_output_root(args));
    if (status == CS_OK) status = cs_output_record(args, "correlations", &rows);
    if (status == CS_OK) status = cs_output_csv(args, "values.csv", &values);
    if (status == CS_OK) status = cs_output_csv(args, "pairs.csv", &pairs);
    if (status == CS_OK) status = cs_output_csv(args, "runs.csv", &runs);
    return status;
}

static const cs_opt correlate_options[] = {
    CS_TEXTS("predict", "NAME=PATTERN", "A prediction for every object."),
    CS_TEXTS("outcome", "NAME=PATTERN", "A measured value; pairs.csv has the first one."),
    CS_TEXT("loss", "NAME=PATTERN", NULL,
            "Loss of every object: adds partial correlations at constant loss, and the budget "
            "best."),
    CS_TEXT("budgets", "LIST", "all", "Values of % in patterns, separated by commas."),
    CS_TEXT("runs", "LIST", "0", "Values of # in patterns: the seeds."),
    {0},
};

const cs_command cs_cmd_correlate = {
    .name = "correlate",
    .help = &cs_help_correlate,
    .positional = "OBJECT...",
    .groups = (const cs_opt *const[]){correlate_options, NULL},
    .run = run,
    .without = "dry-run device",
    .files = "correlations.json correlations.csv values.csv pairs.csv runs.csv",
};
