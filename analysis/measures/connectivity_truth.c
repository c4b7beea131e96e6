/* Reads connectivity.csv and compares. */
#include "analysis/measures/connectivity_truth.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
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
    CS_AUTO_FREE char *series = list_series(f);
    cs_status status = series ? cs_fail(CS_ERR_INPUT,
                                        "%s: contains %" PRId64 " of the %" PRId64
                                        " NAMEs, but a ranking needs two; available series: %s",
                                        f->path, known, count, *series ? series : "none")
                              : CS_ERR_MEMORY;
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

/* --- the record -------------------------------------------------------------------------------- */

/* A row of the table alone: the list in JSON has an object a surrogate and truth. */
static void add_row(cs_item *rows, int quantity, const char *series, const char *metric,
                    const char *surrogate, const char *definition, cs_measured v)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_item_text(row, "series", series);
    cs_item_text(row, "name", metric);
    cs_item_text(row, "surrogate", surrogate);
    cs_item_text(row, "truth", cs_truth_quantity[quantity][0]);
    cs_item_text(row, "target_position", cs_truth_quantity[quantity][1]);
    cs_item_text(row, "definition", definition);
    CS_ITEM_FIELDS(row, &v, value, se);
}

/* The models under one true quantity. */
static void add_truth(int count, const cs_truth_model *models, int quantity, cs_item *rows)
{
    for (int i = 0; i < count; ++i) {
        const cs_truth_model *m = &models[i];
        if (m->known && !isnan(m->truth[quantity].value)) {
            add_row(rows, quantity, m->series, cs_truth_quantity[quantity][0], NULL,
                    "of the co-occurrence matrix, from the file of --truth", m->truth[quantity]);
        }
    }
}

#define BEYOND                                                                                     \
    "the root of the sum of squares of both errors, each times its 97.5% point of Student"

/* How the claims rank the models under one true quantity. */
static void add_ranking(int quantity, const cs_ranking r[CS_TRUTH_CLAIMS], cs_item *rows)
{
    static const struct {
        const char *name, *definition;
    } metric[] = {
        {"tau_b", "Kendall's tau-b of the surrogate and the true connectivity over the models"},
        {"tau_p", "exact chance of a |tau-b| as large or larger under no association"},
        {"agree", "pairs of models that both rank in the same order, beyond " BEYOND},
        {"disagree", "pairs of models that they rank in opposite orders, beyond " BEYOND},
        {"undetermined",
         "pairs of models whose order at least one of them leaves undetermined at " BEYOND}};
    for (size_t k = 0; k < sizeof metric / sizeof *metric; ++k) {
        for (int c = 0; c < CS_TRUTH_CLAIMS; ++c) {
            const double value[] = {r[c].kendall.tau, r[c].kendall.p, (double)r[c].agree,
                                    (double)r[c].disagree, (double)r[c].undetermined};
            add_row(rows, quantity, "all", metric[k].name, cs_truth_claim[c], metric[k].definition,
                    (cs_measured){value[k], (double)NAN, 0});
        }
    }
}

static void add_claim(int claim, int quantity, const cs_ranking *r, cs_item *list)
{
    cs_item *item = cs_item_object(list, NULL);
    cs_item_text(item, "surrogate", cs_truth_claim[claim]);
    cs_item_text(item, "truth", cs_truth_quantity[quantity][0]);
    cs_item_text(item, "target_position", cs_truth_quantity[quantity][1]);
    cs_item_int(item, "objectives", r->objects);
    cs_item_real(item, "tau_b", r->kendall.tau);
    cs_item_real(item, "tau_p", r->kendall.p);
    CS_ITEM_FIELDS(item, r, agree, disagree, undetermined);
}

cs_status cs_truth_record(int count, const cs_truth_model *models, cs_measured *work, cs_item *list,
                          cs_item *rows)
{
    cs_status status = CS_OK;
    for (int q = 0; q < CS_TRUTH_QUANTITIES && status == CS_OK; ++q) {
        cs_ranking r[CS_TRUTH_CLAIMS] = {0};
        for (int c = 0; c < CS_TRUTH_CLAIMS && status == CS_OK; ++c) {
            status = cs_truth_rank(count, models, c, q, work, work + count, &r[c]);
            if (r[c].objects > 0) {
                add_claim(c, q, &r[c], list);
            }
        }
        if (r[0].objects > 0) {
            add_truth(count, models, q, rows);
            add_ranking(q, r, rows);
        }
    }
    return status;
}
