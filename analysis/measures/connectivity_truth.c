/* Reads connectivity.csv and compares. */
#include "analysis/measures/connectivity_truth.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/number.h"
#include "io/table.h"
#include "plan/spec.h"

const char *const cs_truth_claim[CS_TRUTH_CLAIMS] = {"top_mean", "mean"};
const char *const cs_truth_quantity[CS_TRUTH_QUANTITIES][2] = {
    {"sum_sigma4", "blind"}, {"sum_sigma4", "given"}, {"gap", "blind"}, {"gap", "given"}};

enum { SERIES, POSITION, METRIC, VALUE, SE, COLUMNS };
static const char *const column_name[COLUMNS] = {"series", "target_position", "metric", "value",
                                                 "se"};

typedef struct {
    const char *path;
    cs_table table;
    int column[COLUMNS];
    int blocks, estimate, documents; /* columns, below 0: there is none */
    bool population;                 /* it has rows of that estimate */
} truth_file;

static const char *cell(const truth_file *f, int64_t row, int column)
{
    return f->table.cell[row * f->table.columns + f->column[column]];
}

static cs_status open_truth(const char *path, truth_file *f)
{
    f->path = path;
    cs_status status = cs_table_read_csv(path, &f->table);
    for (int c = 0; c < COLUMNS && status == CS_OK; ++c) {
        f->column[c] = cs_table_column(&f->table, column_name[c]);
        if (f->column[c] < 0) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: no column %s; expected connectivity.csv of cospec connectivity",
                             path, column_name[c]);
        }
    }
    for (int64_t r = 0; r < f->table.rows && status == CS_OK; ++r) {
        char **series = &f->table.cell[r * f->table.columns + f->column[SERIES]];
        char *form = cs_objective_form(*series);
        if (!form) {
            status = CS_ERR_MEMORY;
        } else {
            cs_free(*series);
            *series = form;
        }
    }
    f->blocks = cs_table_column(&f->table, "blocks");
    f->estimate = cs_table_column(&f->table, "estimate");
    f->documents = cs_table_column(&f->table, "documents");
    for (int64_t r = 0; r < f->table.rows && status == CS_OK && f->estimate >= 0; ++r) {
        f->population = f->population || strcmp(f->table.cell[r * f->table.columns + f->estimate],
                                                "population") == 0;
    }
    return status;
}

/* Whether a row is of the population or, where the file has none, of the matrix of the whole corpus,
 * which the rows of a series begin with. */
static bool of_the_truth(const truth_file *f, int64_t row)
{
    const char *const *at = (const char *const *)f->table.cell + row * f->table.columns;
    int64_t first = 0;
    if (f->population) {
        return strcmp(at[f->estimate], "population") == 0;
    }
    if (f->estimate >= 0 && strcmp(at[f->estimate], "plug-in") != 0) {
        return false;
    }
    while (strcmp(cell(f, first, SERIES), cell(f, row, SERIES)) != 0) {
        ++first;
    }
    return f->documents < 0 ||
           strcmp(at[f->documents], f->table.cell[first * f->table.columns + f->documents]) == 0;
}

/* Blocks of the jackknife less one; none where the file does not say. */
static cs_status read_freedom(const truth_file *f, int64_t row, int64_t *out)
{
    const char *text = f->blocks < 0 ? "" : f->table.cell[row * f->table.columns + f->blocks];
    int64_t blocks = 0;
    cs_status status = *text ? cs_int_parse(text, &blocks) : CS_OK;
    if (status == CS_OK && blocks < 0) status = cs_fail(CS_ERR_INPUT, "%s is negative", text);
    *out = blocks > 1 ? blocks - 1 : 0;
    return cs_blame(status, "%s:%" PRId64 ": blocks", f->path, row + 2);
}

/* An empty cell is NaN. */
static cs_status read_number(const truth_file *f, int64_t row, int column, double *out)
{
    const char *text = cell(f, row, column);
    *out = NAN;
    if (!*text || cs_real_scan(text, out)) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT, "%s:%" PRId64 ": %s '%s' is not a number", f->path, row + 2,
                   column_name[column], text);
}

static cs_status take_row(const truth_file *f, int64_t row, int quantity, cs_truth_model *m)
{
    cs_measured *to = &m->truth[quantity];
    cs_status status;
    if (to->se >= 0 || !isnan(to->value)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s:%" PRId64 ": %s of %s, target position %s, is listed twice", f->path,
                       row + 2, cell(f, row, METRIC), m->series, cell(f, row, POSITION));
    }
    if ((status = read_number(f, row, VALUE, &to->value)) != CS_OK ||
        (status = read_number(f, row, SE, &to->se)) != CS_OK ||
        (status = read_freedom(f, row, &to->freedom)) != CS_OK) {
        return status;
    }
    if (to->se < 0) {
        return cs_fail(CS_ERR_INPUT, "%s:%" PRId64 ": standard error %s is negative", f->path,
                       row + 2, cell(f, row, SE));
    }
    if (f->population && isnan(to->se)) { /* it is exact */
        to->se = 0;
    }
    m->known = true;
    return CS_OK;
}

/* The series of the file, each once, as "a, b". */
static char *list_series(const truth_file *f)
{
    char *text = cs_strdup("");
    const char *last = "";
    for (int64_t r = 0; r < f->table.rows && text; ++r) {
        const char *name = cell(f, r, SERIES);
        if (strcmp(name, last) != 0) { /* rows of a series are adjacent */
            cs_append(&text, "%s%s", *text ? ", " : "", name);
            last = name;
        }
    }
    return text;
}

static cs_status want_two(const truth_file *f, int64_t count, const cs_truth_model *models)
{
    int64_t known = 0;
    for (int64_t i = 0; i < count; ++i) {
        known += models[i].known;
    }
    if (known >= 2) {
        return CS_OK;
    }
    char *series = list_series(f);
    cs_status status = series ? cs_fail(CS_ERR_INPUT,
                                        "%s: contains %" PRId64 " of the %" PRId64
                                        " NAMEs, but a ranking needs two; available series: %s",
                                        f->path, known, count, *series ? series : "none")
                              : CS_ERR_MEMORY;
    cs_free(series);
    return status;
}

cs_status cs_truth_read(const char *path, int64_t count, cs_truth_model *models)
{
    truth_file f = {0};
    cs_status status = open_truth(path, &f);
    for (int64_t i = 0; i < count; ++i) {
        models[i].known = false;
        for (int q = 0; q < CS_TRUTH_QUANTITIES; ++q) {
            models[i].truth[q] = (cs_measured){.value = NAN, .se = NAN};
        }
    }
    for (int64_t r = 0; r < f.table.rows && status == CS_OK; ++r) {
        for (int64_t i = 0; i < count && status == CS_OK; ++i) {
            for (int q = 0; q < CS_TRUTH_QUANTITIES && status == CS_OK; ++q) {
                if (strcmp(cell(&f, r, SERIES), models[i].series) == 0 &&
                    strcmp(cell(&f, r, METRIC), cs_truth_quantity[q][0]) == 0 &&
                    strcmp(cell(&f, r, POSITION), cs_truth_quantity[q][1]) == 0 &&
                    of_the_truth(&f, r)) {
                    status = take_row(&f, r, q, &models[i]);
                }
            }
        }
    }
    if (status == CS_OK) status = want_two(&f, count, models);
    cs_table_free(&f.table);
    return status;
}

cs_status cs_truth_rank(int64_t count, const cs_truth_model *models, int claim, int quantity,
                        cs_measured *first, cs_measured *second, cs_ranking *out)
{
    const bool smaller = strcmp(cs_truth_quantity[quantity][0], "sum_sigma4") == 0;
    int64_t n = 0;
    for (int64_t i = 0; i < count; ++i) {
        cs_measured a = models[i].claim[claim], b = models[i].truth[quantity];
        if (models[i].known && !isnan(a.value) && !isnan(b.value)) {
            b.value = smaller ? -b.value : b.value;
            first[n] = a;
            second[n++] = b;
        }
    }
    return cs_ranking_of(n, first, second, out);
}
