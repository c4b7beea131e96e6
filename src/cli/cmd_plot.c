/* cospec plot: a figure from the tables the other commands write (analysis/study/figure.h). */
#include <string.h>

#include "analysis/study/figure.h"
#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "io/file.h"

/* A result is there as JSON and as CSV; a figure takes the table. */
static cs_status wants_csv(cs_args *args, const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!dot || !cs_listed(".json, .npz, .npy, .mtx", dot)) {
        return CS_OK;
    }
    const char *csv = cs_args_format(args, "%.*s.csv", (int)(dot - path), path);
    if (!csv) return CS_ERR_MEMORY;
    const bool there = cs_path_exists(csv);
    return cs_fail(CS_ERR_USAGE, "%s: figures are drawn from tables%s%s%s", path,
                   there ? ": give " : " (.csv)", there ? csv : "",
                   there ? ", which is in the same folder" : "");
}

/* Reads all "[LABEL=]FILE.csv" arguments into one table with a series column. */
static cs_status join_inputs(cs_args *args, const cs_figure *figure, cs_table *out)
{
    cs_status status = CS_OK;
    for (int i = 1; i < cs_args_positionals(args) && status == CS_OK; ++i) {
        const char *path = cs_args_positional(args, i), *equals = strrchr(path, '='), *label = NULL;
        if (equals && !(label = cs_args_format(args, "%.*s", (int)(equals - path), path))) {
            return CS_ERR_MEMORY;
        }
        path = equals ? equals + 1 : path;
        status = cs_output_input(args, path);
        if (status == CS_OK) status = wants_csv(args, path);
        if (status == CS_OK) {
            status = cs_figure_add(figure, path, label, out);
            if (status == CS_ERR_USAGE) status = cs_blame(status, "--where");
        }
    }
    return status;
}

static cs_status check_figure(const char *name)
{
    cs_hint hint = {0};
    const char *equals = strrchr(name, '=');
    return cs_listed(CS_FIGURES, name)
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "unknown figure %s; available: %s%s", name, CS_FIGURES,
                         cs_path_exists(equals ? equals + 1 : name)
                             ? " (the figure comes first, then its tables)"
                             : cs_choice_hint(name, CS_FIGURES, &hint));
}

/* The table, the script and the drawings are the run's; *csv is the table. */
static cs_status begin_files(cs_args *args, const char *figure, const char **csv)
{
    static const char *const endings[] = {"csv", "gp", "svg", "png", "pdf"};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && status == CS_OK; ++i) {
        const char *file = cs_args_format(args, "%s.%s", figure, endings[i]);
        status = file ? cs_output_path(args, file, i == 0 ? csv : NULL) : CS_ERR_MEMORY;
    }
    return status;
}

/* Names the tables, whose rows are joined. */
static cs_status blame_tables(const cs_args *args, cs_status status)
{
    CS_AUTO_FREE char *names = cs_strdup(cs_args_positional(args, 1));
    for (int i = 2; i < cs_args_positionals(args); ++i) {
        cs_append(&names, ", %s", cs_args_positional(args, i));
    }
    return names ? cs_blame(status, "%s", names) : status;
}

static cs_status run(cs_args *args)
{
    const char *series = cs_args_text(args, "series"), *csv = NULL;
    CS_AUTO(cs_table) table = {0};
    cs_status status = check_figure(cs_args_positional(args, 0));
    if (status == CS_OK && (cs_args_positionals(args) < 2 || !cs_args_text(args, "output")))
        return cs_fail(CS_ERR_USAGE,
                       "plot needs FIGURE, at least one [LABEL=]FILE.csv, and -o DIR");
    const cs_figure figure = {.name = cs_args_positional(args, 0),
                              .dir = cs_args_text(args, "output"),
                              .series = series ? series : "series",
                              .filters = cs_args_count(args, "where"),
                              .filter = cs_args_texts(args, "where"),
                              .labels = cs_args_count(args, "label"),
                              .label = cs_args_texts(args, "label")};
    if (status == CS_OK) status = begin_files(args, figure.name, &csv);
    if (status == CS_OK) status = join_inputs(args, &figure, &table);
    if (status == CS_OK) status = cs_table_write_csv(&table, csv);
    if (status == CS_OK) status = blame_tables(args, cs_figure_script(&figure, &table));
    return status == CS_OK ? cs_figure_draw(&figure) : status;
}

static const cs_opt plot_options[] = {
    CS_TEXT("series", "COLUMN", NULL,
            "Column that names the series of files without a LABEL. Default: series."),
    CS_TEXTS("where", "COLUMN:VALUE", "Draw only the rows with this value."),
    CS_TEXTS("label", "SERIES=TEXT",
             "Name of a series in the legend, with commas as spaces. Default: the objective in "
             "words, 'masked, 2 shown' for masked(unmasked=2)."),
    {0},
};

const cs_command cs_cmd_plot = {
    .name = "plot",
    .without = "dry-run",
    .help = &cs_help_plot,
    .positional = "FIGURE [LABEL=]FILE.csv...",
    .groups = (const cs_opt *const[]){plot_options, NULL},
    .run = run,
};
