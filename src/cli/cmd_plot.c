/* cospec plot: a figure from the tables the other commands write.
 *
 * The figure's folder is self-contained: the CSV that was drawn, one gnuplot script with the style
 * inlined, and the pictures, so that a reader can trace every point and redraw with `gnuplot -e
 * "format='svg'" FIGURE.gp`. */
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/mem.h"
#include "base/names.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/share.h"
#include "io/table.h"

enum { SCRIPT_LIMIT = 1 << 20, MOST_SERIES = 64 };

/* True when the row has the wanted value in every --where COLUMN:VALUE whose column exists. */
static bool wanted(const cs_args *args, const cs_table *table, int64_t row)
{
    for (int i = 0; i < cs_args_count(args, "where"); ++i) {
        const char *text = cs_args_text_at(args, "where", i), *colon = strchr(text, ':');
        for (int c = 0; c < table->columns; ++c) {
            if (strlen(table->name[c]) == (size_t)(colon - text) &&
                strncmp(table->name[c], text, (size_t)(colon - text)) == 0 &&
                strcmp(table->cell[row * table->columns + c], colon + 1) != 0) {
                return false;
            }
        }
    }
    return true;
}

/* Every --where must be COLUMN:VALUE with a column of the table. */
static cs_status check_filters(const cs_args *args, const cs_table *table, const char *path)
{
    for (int i = 0; i < cs_args_count(args, "where"); ++i) {
        const char *text = cs_args_text_at(args, "where", i), *colon = strchr(text, ':');
        char *name = colon ? strndup(text, (size_t)(colon - text)) : NULL;
        bool known = name && cs_table_column(table, name) >= 0;
        free(name);
        if (!known) {
            return cs_fail(CS_ERR_USAGE, "--where %s: want COLUMN:VALUE with a column of %s", text,
                           path);
        }
    }
    return CS_OK;
}

/* The column that names the series: --series, else `series`. */
static const char *series_column(const cs_args *args)
{
    const char *given = cs_args_text(args, "series");
    return given ? given : "series";
}

/* Appends the wanted rows of `from` under a series name; a `series` column of its own wins over the
 * label.
 */
static cs_status append_rows(const cs_args *args, const cs_table *from, const char *label,
                             cs_table *to)
{
    cs_status status = CS_OK;
    int own = cs_table_column(from, series_column(args));
    for (int64_t r = 0; r < from->rows && status == CS_OK; ++r) {
        if (!wanted(args, from, r)) {
            continue;
        }
        if ((status = cs_table_row(to)) != CS_OK) {
            break;
        }
        char *series = cs_strdup(label     ? label
                                 : own < 0 ? ""
                                           : from->cell[r * from->columns + own]);
        for (char *p = series; p && *p; ++p) { /* gnuplot splits even quoted fields at commas */
            if (*p == ',') {
                *p = ' ';
            }
        }
        status = series ? cs_table_text(to, "series", series) : CS_ERR_MEMORY;
        cs_free(series);
        for (int c = 0; c < from->columns && status == CS_OK; ++c) {
            if (strcmp(from->name[c], "series") != 0) {
                status = cs_table_text(to, from->name[c], from->cell[r * from->columns + c]);
            }
        }
    }
    return status;
}

/* "series,<columns of from>" as a header for the joined table. */
static cs_status header_like(cs_args *args, const cs_table *from, cs_table *out)
{
    const char *names = "series";
    for (int c = 0; names && c < from->columns; ++c) {
        if (strcmp(from->name[c], "series") != 0) {
            names = cs_args_format(args, "%s,%s", names, from->name[c]);
        }
    }
    return names ? cs_table_init(out, names) : CS_ERR_MEMORY;
}

static cs_status same_columns(const cs_table *joined, const cs_table *next, const char *path)
{
    for (int c = 0; c < next->columns; ++c) {
        if (cs_table_column(joined, next->name[c]) < 0) {
            return cs_fail(CS_ERR_INPUT, "%s: column %s is not in the first table", path,
                           next->name[c]);
        }
    }
    return CS_OK;
}

/* A result is there as JSON and as CSV; a figure takes the table. */
static cs_status wants_csv(cs_args *args, const char *path)
{
    if (!cs_has_suffix(path, ".json")) {
        return CS_OK;
    }
    const char *csv = cs_args_format(args, "%.*s.csv", (int)(strlen(path) - 5), path);
    if (!csv) return CS_ERR_MEMORY;
    const bool there = cs_path_exists(csv);
    return cs_fail(CS_ERR_USAGE, "%s: figures are drawn from tables%s%s%s", path,
                   there ? ": give " : " (.csv)", there ? csv : "",
                   there ? ", which stands beside it" : "");
}

/* Adds one table under its label; the first one decides the columns. */
static cs_status add_input(cs_args *args, const char *path, const char *label, cs_table *out)
{
    cs_table table = {0};
    cs_status status;
    if ((status = cs_output_input(args, path)) != CS_OK ||
        (status = wants_csv(args, path)) != CS_OK ||
        (status = cs_table_read_csv(path, &table)) != CS_OK ||
        (status = check_filters(args, &table, path)) != CS_OK) {
        goto done;
    }
    status = out->columns == 0 ? header_like(args, &table, out) : same_columns(out, &table, path);
    if (status == CS_OK) status = append_rows(args, &table, label, out);
done:
    cs_table_free(&table);
    return status;
}

/* Reads all "[LABEL=]FILE.csv" arguments into one table with a series column. */
static cs_status join_inputs(cs_args *args, cs_table *out)
{
    cs_status status = CS_OK;
    for (int i = 1; i < cs_args_positionals(args) && status == CS_OK; ++i) {
        const char *argument = cs_args_positional(args, i);
        const char *equals = strrchr(argument, '='), *label = NULL;
        if (equals && !(label = cs_args_format(args, "%.*s", (int)(equals - argument), argument))) {
            return CS_ERR_MEMORY;
        }
        status = add_input(args, equals ? equals + 1 : argument, label, out);
    }
    return status;
}

/* "array S[2] = [\"ar\", \"masked\"]": the series in order of appearance. */
static cs_status series_array(cs_args *args, const cs_table *table, const char **out)
{
    const char *seen[MOST_SERIES];
    int count = 0;
    int column = cs_table_column(table, "series");
    for (int64_t r = 0; r < table->rows; ++r) {
        const char *name = table->cell[r * table->columns + column];
        int i = 0;
        while (i < count && strcmp(seen[i], name) != 0) {
            ++i;
        }
        if (i == count && count == MOST_SERIES) {
            return cs_fail(CS_ERR_INPUT, "more than %d series in one figure", MOST_SERIES);
        }
        if (i == count) {
            seen[count++] = name;
        }
    }
    const char *text = cs_args_format(args, "array S[%d]\n", count);
    for (int i = 0; text && i < count; ++i) {
        if (strpbrk(seen[i], "\"\\\n`")) {
            return cs_fail(CS_ERR_INPUT, "series name %s holds a quote, backslash or line break",
                           seen[i]);
        }
        text = cs_args_format(args, "%sS[%d] = \"%s\"\n", text, i + 1, seen[i]);
    }
    *out = text;
    return text ? CS_OK : CS_ERR_MEMORY;
}

/* The scripts of plots/, as help shows them. */
#define FIGURES                                                                                    \
    "toy-spectra, mask-ratio, bound, spectra, connectivity, similarity, draws, draws-spectra, "    \
    "heavy-tails, mask-rank, mask-rank-depth, training, length, density, theorem43"

static cs_status check_figure(const char *name)
{
    cs_hint hint = {0};
    return cs_listed(FIGURES, name)
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "no figure %s; there are: %s%s", name, FIGURES,
                         cs_path_exists(name) ? " (the figure comes first, then its tables)"
                                              : cs_choice_hint(name, FIGURES, &hint));
}

/* Reads plots/<name>.gp from the shared files. */
static cs_status read_script(cs_args *args, const char *name, const char **out)
{
    char *path = NULL, *text = NULL;
    int64_t size = 0;
    const char *relative = cs_args_format(args, "plots/%s.gp", name);
    cs_status status = relative ? cs_share_path(relative, &path) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_file_read_text(path, SCRIPT_LIMIT, &text, &size);
    if (status == CS_OK && !(*out = cs_args_keep(args, text))) status = CS_ERR_MEMORY;
    cs_free(path);
    return status;
}

/* The self-contained script of one figure. */
static cs_status write_script(cs_args *args, const char *figure, const cs_table *table)
{
    const char *style = NULL, *body = NULL, *series = NULL;
    cs_status status = read_script(args, "style", &style);
    if (status == CS_OK) status = read_script(args, figure, &body);
    if (status == CS_OK) status = series_array(args, table, &series);
    if (status != CS_OK) return status;
    const char *text = cs_args_format(
        args,
        "# Draws %s.csv; run in this folder: gnuplot -e \"format='svg'\" %s.gp (or png, pdf)\n"
        "if (!exists(\"format\")) format = \"svg\"\nname = \"%s\"\ndata = \"%s.csv\"\n%s\n%s\n%s",
        figure, figure, figure, figure, series, style, body);
    const char *path = cs_args_format(args, "%s/%s.gp", cs_args_text(args, "output"), figure);
    return text && path ? cs_file_write(path, text, (int64_t)strlen(text)) : CS_ERR_MEMORY;
}

/* Runs gnuplot in `dir` for one format. */
static cs_status draw(cs_args *args, const char *figure, const char *format)
{
    const char *dir = cs_args_text(args, "output");
    const char *set = cs_args_format(args, "format='%s'", format);
    const char *script = cs_args_format(args, "%s.gp", figure);
    const char *const argv[] = {"gnuplot", "-e", set, script, NULL};
    int code = 0;
    cs_status status =
        set && script ? cs_child_run(&(cs_child){.argv = argv, .dir = dir}, &code) : CS_ERR_MEMORY;
    if (status == CS_ERR_IO) status = cs_blame(status, "Debian package gnuplot-nox");
    if (status == CS_OK && code != 0)
        status = cs_fail(CS_ERR_INPUT,
                         "gnuplot failed on %s/%s.gp (its message is above): are the columns those "
                         "of the figure?",
                         dir, figure);
    return status;
}

static const char *const formats[] = {"svg", "png", "pdf"};

/* The files beside the table: the script and the drawings. */
static cs_status begin_files(cs_args *args, const char *figure)
{
    cs_status status = CS_OK;
    for (size_t i = 0; i <= sizeof formats / sizeof *formats && status == CS_OK; ++i) {
        const char *file = cs_args_format(args, "%s.%s", figure, i > 0 ? formats[i - 1] : "gp");
        status = file ? cs_output_path(args, file, NULL) : CS_ERR_MEMORY;
    }
    return status;
}

static cs_status run(cs_args *args)
{
    if (cs_args_positionals(args) < 2 || !cs_args_text(args, "output")) {
        return cs_fail(CS_ERR_USAGE,
                       "plot wants FIGURE, at least one [LABEL=]FILE.csv, and -o DIR");
    }
    const char *figure = cs_args_positional(args, 0), *path = NULL;
    cs_table table = {0};
    const char *csv = cs_args_format(args, "%s.csv", figure);
    cs_status status = csv ? check_figure(figure) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_output_claim(args, csv);
    if (status == CS_OK) status = cs_output_path(args, csv, &path);
    if (status == CS_OK) status = begin_files(args, figure);
    if (status == CS_OK) status = join_inputs(args, &table);
    if (status == CS_OK) status = cs_table_write_csv(&table, path);
    if (status == CS_OK) status = write_script(args, figure, &table);
    for (size_t i = 0; i < sizeof formats / sizeof *formats && status == CS_OK; ++i) {
        status = draw(args, figure, formats[i]);
    }
    cs_table_free(&table);
    return status;
}

static const cs_opt plot_options[] = {
    CS_TEXT("series", "COLUMN", NULL,
            "The column that names the series where files have no LABEL. Default: series."),
    CS_TEXTS("where", "COLUMN:VALUE", "Draw only the rows with this value."),
    {0},
};

const cs_command cs_cmd_plot = {
    .name = "plot",
    .summary = "Draw a figure from result tables (SVG, PNG, PDF)",
    .description =
        "Joins the tables, adds a column `series` (the LABEL of each, commas as spaces, or the "
        "table's own), and "
        "draws plots/FIGURE.gp with gnuplot. "
        "DIR receives FIGURE.csv, a self-contained FIGURE.gp, and FIGURE.svg, .png and .pdf.\n\n"
        "Figures: " FIGURES ".",
    .positional = "FIGURE [LABEL=]FILE.csv...",
    .groups = (const cs_opt *const[]){plot_options, NULL},
    .examples =
        "# the toy spectra of two objectives in one figure\n"
        "cospec toy --objective ar --classes 3 --length 6 --tokens 2 -o ar\n"
        "cospec toy --objective masked --unmasked 2 --classes 3 --length 6 --tokens 2 -o masked\n"
        "cospec plot toy-spectra ar=ar/toy.csv masked=masked/toy.csv -o figures\n",
    .run = run,
};
