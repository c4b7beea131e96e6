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
    .summary = "Rank correlation of predictions about objectives with measurements of models",
    .description =
        "PATTERN is FILE,COLUMN,COLUMN:VALUE,...: the number in COLUMN of the row that has every "
        "VALUE. In it * is the object (*1, *2: its parts between dots), % a budget, and # a "
        "run.\n\n"
        "Objects with the same exact prediction (without #) count as one, with the mean of their "
        "outcomes. The result has Kendall's tau of the means over runs with its exact p and a "
        "95% interval for other objects and runs (jackknife over objects). It also has the error "
        "for other runs alone, and Spearman's rho. With --loss it adds the values at constant "
        "loss, and at each run's budget of least loss (best).",
    .positional = "OBJECT...",
    .groups = (const cs_opt *const[]){correlate_options, NULL},
    .examples =
        "# the collision probability of three objectives against the sums of their toy spectra\n"
        "cospec kernel ar --length 8 -o k-ar\n"
        "cospec kernel masked:unmasked=4 --length 8 -o k-masked\n"
        "cospec kernel permuted-ar --length 8 -o k-permuted\n"
        "cospec toy --objective ar --classes 2 --length 8 --tokens 2 -o t-ar\n"
        "cospec toy --objective masked --unmasked 4 --classes 2 --length 8 --tokens 2 -o "
        "t-masked\n"
        "cospec toy --objective permuted-ar --classes 2 --length 8 --tokens 2 -o t-permuted\n"
        "cospec correlate ar masked permuted --predict 'kappa=k-*/kernel.csv,kappa' --outcome "
        "'sum=t-*/toy.csv,sum_sigma4'",
    .run = run,
    .without = "dry-run device",
    .files = "correlations.json correlations.csv values.csv pairs.csv runs.csv",
};
