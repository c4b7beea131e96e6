/* Every number is read where it lies, one file at a time: there are few thousand, of small tables. */
#include "analysis/study/correlate.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "io/digests.h"
#include "io/number.h"
#include "io/table.h"
#include "stats/rank_correlation.h"

enum { MOST_WHERE = 8 };

static const char best[] = "best";

/* The words of a list. */
typedef struct {
    int64_t count;
    char **word;
} words;

typedef struct {
    char *name;
    const char *pattern; /* behind the '=' */
    double *value;       /* objects x budgets x runs */
    bool exact;          /* the same in all runs */
} quantity;

/* Predictions, then outcomes, then the loss where there is one. */
typedef struct {
    const cs_correlate_options *options;
    words budgets, runs;
    int quantities;
    quantity *quantity;
    cs_pool pool;
    cs_item *correlations, *values, *pairs, *runs_read;
} atlas;

static cs_status take_word(void *to, const char *part)
{
    words *list = to;
    char **longer = cs_realloc(list->word, list->count + 1, sizeof *longer);
    if (!longer) return CS_ERR_MEMORY;
    list->word = longer;
    longer[list->count] = cs_strdup(part);
    return longer[list->count++] ? CS_OK : CS_ERR_MEMORY;
}

static void free_words(words *list)
{
    for (int64_t i = 0; i < list->count; ++i) {
        cs_free(list->word[i]);
    }
    cs_free(list->word);
}

/* --- patterns --------------------------------------------------------------------------------- */

/* The part of an object's name with this number, from 1; its length 0 where it has none. */
static const char *part_of(const char *object, int number, int *length)
{
    while (--number > 0 && *object) {
        object += strcspn(object, ".");
        object += *object == '.';
    }
    *length = (int)strcspn(object, ".");
    return object;
}

/* The pattern with its marks replaced, in fresh memory. */
static cs_status put_marks(const char *pattern, const char *object, const char *budget,
                           const char *run, char **out)
{
    char *done = cs_strdup("");
    while (done && *pattern) {
        const char *word = budget;
        const int plain = (int)strcspn(pattern, "*%#");
        const char mark = pattern[plain];
        int length = (int)strlen(budget);
        const bool part = mark == '*' && isdigit((unsigned char)pattern[plain + 1]);
        if (part) {
            word = part_of(object, pattern[plain + 1] - '0', &length);
        } else if (mark != '%') {
            word = mark == '*' ? object : run;
            length = (int)strlen(word);
        }
        if (part && length == 0) {
            cs_free(done);
            return cs_fail(CS_ERR_INPUT, "object %s has no part for %c", object,
                           pattern[plain + 1]);
        }
        cs_append(&done, "%.*s%.*s", plain, pattern, mark ? length : 0, word);
        pattern += plain + (mark ? 1 : 0) + part;
    }
    *out = done;
    return done ? CS_OK : CS_ERR_MEMORY;
}

/* FILE,COLUMN,COLUMN:VALUE,... without marks, cut up. */
typedef struct {
    char *file, *column, *where[MOST_WHERE], *want[MOST_WHERE];
    int wheres;
} address;

static cs_status cut(char *text, address *out)
{
    char *save = NULL, *word = NULL;
    *out = (address){.file = strtok_r(text, ",", &save), .column = strtok_r(NULL, ",", &save)};
    bool good = out->file && out->column;
    if (good) out->column = cs_trim(out->column);
    while (good && (word = strtok_r(NULL, ",", &save))) {
        word = cs_trim(word);
        char *colon = strchr(word, ':');
        good = colon && out->wheres < MOST_WHERE;
        if (good) {
            *colon = '\0';
            out->where[out->wheres] = word;
            out->want[out->wheres++] = colon + 1;
        }
    }
    return good ? CS_OK
                : cs_fail(CS_ERR_USAGE,
                          "expected NAME=FILE,COLUMN,COLUMN:VALUE,... with at most %d values",
                          MOST_WHERE);
}

static cs_status column_of(const cs_table *table, const char *name, int *out)
{
    *out = cs_table_column(table, name);
    return *out >= 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no column %s", name);
}

/* The number of the row that fits, or of rows that have the same. */
static cs_status find(const cs_table *table, const address *a, double *out)
{
    int column = 0, where[MOST_WHERE];
    int64_t found = 0;
    const char *cell = NULL;
    cs_status status = column_of(table, a->column, &column);
    for (int w = 0; w < a->wheres && status == CS_OK; ++w) {
        status = column_of(table, a->where[w], &where[w]);
    }
    for (int64_t r = 0; r < table->rows && status == CS_OK; ++r) {
        char *const *row = table->cell + r * table->columns;
        bool fits = true;
        for (int w = 0; w < a->wheres; ++w) {
            fits = fits && strcmp(row[where[w]], a->want[w]) == 0;
        }
        if (fits && (!cell || strcmp(cell, row[column]) != 0)) {
            cell = row[column];
            found += 1;
        }
    }
    if (status != CS_OK) return status;
    if (found != 1) {
        return cs_fail(CS_ERR_INPUT, found ? "the matching rows differ in %s" : "no row matches",
                       a->column);
    }
    status = cs_real_parse(cell, out);
    return status != CS_OK || isfinite(*out)
               ? status
               : cs_fail(CS_ERR_INPUT, "%s is not a number: %s", a->column, cell);
}

static cs_status read_number(const char *pattern, const char *object, const char *budget,
                             const char *run, double *out)
{
    CS_AUTO_FREE char *text = NULL;
    address a;
    CS_AUTO(cs_table) table = {0};
    cs_status status = put_marks(pattern, object, budget, run, &text);
    if (status == CS_OK) status = cut(text, &a);
    if (status == CS_OK) status = cs_digest_check_file(a.file);
    if (status == CS_OK) status = cs_table_read_csv(a.file, &table);
    return status == CS_OK ? cs_blame(find(&table, &a, out), "%s", a.file) : status;
}

static cs_status read_quantity(const atlas *t, quantity *q)
{
    const int64_t runs = t->runs.count, budgets = t->budgets.count;
    const bool fixed = !strchr(q->pattern, '%');
    cs_status status = CS_OK;
    for (int64_t i = 0; i < t->options->objects * budgets && status == CS_OK; ++i) {
        double *value = q->value + i * runs;
        const char *object = t->options->object[i / budgets];
        if (fixed && i % budgets > 0) {
            memcpy(value, value - runs, (size_t)runs * sizeof *value);
            continue;
        }
        for (int64_t r = 0; r < runs && status == CS_OK; ++r) {
            value[r] = value[0];
            if (r == 0 || !q->exact) {
                status = read_number(q->pattern, object, t->budgets.word[i % budgets],
                                     t->runs.word[r], &value[r]);
            }
        }
        status = cs_blame(status, "%s of %s", q->name, object);
    }
    return status;
}

static cs_status add_quantity(atlas *t, const char *text)
{
    quantity *q = &t->quantity[t->quantities];
    const char *equal = strchr(text, '=');
    if (!equal || equal == text) {
        return cs_fail(CS_ERR_USAGE, "expected NAME=FILE,COLUMN,COLUMN:VALUE,..., got '%s'", text);
    }
    q->name = cs_format("%.*s", (int)(equal - text), text);
    q->pattern = equal + 1;
    q->exact = !strchr(q->pattern, '#');
    q->value = cs_pool_take(&t->pool, t->options->objects * t->budgets.count * t->runs.count,
                            sizeof *q->value);
    t->quantities += 1;
    return q->name && q->value ? read_quantity(t, q) : CS_ERR_MEMORY;
}

/* The values of a quantity: a row a run, one row where it is exact. */
static void add_runs(const atlas *t, int number)
{
    const quantity *q = &t->quantity[number];
    const int64_t runs = t->runs.count, budgets = t->budgets.count;
    const int outcomes = t->options->predictions + t->options->outcomes;
    for (int64_t i = 0; i < t->options->objects * budgets * runs; ++i) {
        const int64_t r = i % runs;
        if (q->exact && r > 0) continue;
        cs_item *row = cs_item_object(t->runs_read, NULL);
        cs_item_text(row, "role",
                     number < t->options->predictions ? "prediction"
                     : number < outcomes              ? "outcome"
                                                      : "loss");
        cs_item_text(row, "quantity", q->name);
        cs_item_text(row, "object", t->options->object[i / runs / budgets]);
        cs_item_text(row, "budget", t->budgets.word[i / runs % budgets]);
        cs_item_text(row, "run", q->exact ? "" : t->runs.word[r]);
        cs_item_real(row, "value", q->value[i]);
    }
}

/* --- results ---------------------------------------------------------------------------------- */

/* The values of one budget, objects x runs; the last budget but one is the best of each run. */
static void at_budget(const atlas *t, const quantity *q, int64_t budget, double *out)
{
    const int64_t runs = t->runs.count, budgets = t->budgets.count;
    const double *loss = t->options->loss ? t->quantity[t->quantities - 1].value : NULL;
    for (int64_t i = 0; i < t->options->objects; ++i) {
        for (int64_t r = 0; r < runs; ++r) {
            int64_t b = budget < budgets ? budget : 0;
            for (int64_t other = 1; other < budgets && budget == budgets; ++other) {
                const int64_t at = i * budgets;
                b = loss[(at + other) * runs + r] < loss[(at + b) * runs + r] ? other : b;
            }
            out[i * runs + r] = q->value[(i * budgets + b) * runs + r];
        }
    }
}

static void mean_of(const double *value, int64_t count, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (int64_t r = 0; r < count; ++r) {
        sum += value[r] / (double)count;
    }
    for (int64_t r = 0; r < count; ++r) {
        squares += (value[r] - sum) * (value[r] - sum);
    }
    *mean = sum;
    *sd = count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

/* One object's means of x and y: a row of `pairs`. */
static void add_pair(const atlas *t, const quantity *p, const quantity *o, const char *budget,
                     int64_t object, const double *x, const double *y)
{
    double mean = 0, sd = 0;
    cs_item *row = cs_item_object(t->pairs, NULL);
    cs_item_text(row, "prediction", p->name);
    cs_item_text(row, "outcome", o->name);
    cs_item_text(row, "budget", budget);
    cs_item_text(row, "object", t->options->object[object]);
    mean_of(x + object * t->runs.count, t->runs.count, &mean, &sd);
    cs_item_real(row, "x", mean);
    mean_of(y + object * t->runs.count, t->runs.count, &mean, &sd);
    cs_item_real(row, "y", mean);
    cs_item_real(row, "y_sd", sd);
}

static cs_status add_correlation(const atlas *t, const quantity *p, const quantity *o,
                                 const char *budget, const cs_rank_data *data)
{
    cs_rank_correlation c;
    cs_status status = cs_rank_correlation_of(data, &c);
    if (status != CS_OK) return status;
    cs_item *row = cs_item_object(t->correlations, NULL);
    cs_item_text(row, "prediction", p->name);
    cs_item_text(row, "outcome", o->name);
    cs_item_text(row, "budget", budget);
    cs_item_text(row, "given", data->z ? t->quantity[t->quantities - 1].name : "");
    cs_item_int(row, "objects", data->objects);
    cs_item_int(row, "runs", p->exact && o->exact ? 1 : data->runs);
    CS_ITEM_FIELDS(row, &c, tau, p, low, high, runs_se, rho);
    return CS_OK;
}

/* Numbers that differ by no more than their rounding are of one matrix. */
static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(a);
}

/* The objects of one budget as one each where an exact prediction, x, is the same; each member's
 * other values share the place of its run. out: a buffer of the same size. */
static cs_rank_data merge(const cs_rank_data *data, double *out)
{
    cs_rank_data merged = *data;
    const int64_t runs = data->runs, size = data->objects * runs;
    const double *const from[] = {data->x, data->y, data->z};
    merged.objects = 0;
    for (int64_t i = 0; i < data->objects; ++i) {
        int64_t members = 0, first = 0;
        while (!same(data->x[first * runs], data->x[i * runs])) {
            ++first;
        }
        for (int64_t j = i; j < data->objects && first == i; ++j) {
            if (!same(data->x[i * runs], data->x[j * runs])) {
                continue;
            }
            members += 1;
            for (int64_t k = 0; k < 3 * runs; ++k) {
                double *to = out + k / runs * size + merged.objects * runs + k % runs;
                const double *q = from[k / runs];
                *to = q ? (members > 1 ? *to : 0) + q[j * runs + k % runs] : 0;
            }
        }
        for (int64_t k = 0; k < 3 * runs && first == i; ++k) {
            out[k / runs * size + merged.objects * runs + k % runs] /= (double)members;
        }
        merged.objects += first == i;
    }
    merged.x = out;
    merged.y = out + size;
    merged.z = data->z ? out + 2 * size : NULL;
    return merged;
}

/* Every prediction against every outcome at one budget. */
static cs_status correlate_at(atlas *t, int64_t budget)
{
    const cs_correlate_options *o = t->options;
    const char *name = budget < t->budgets.count ? t->budgets.word[budget] : best;
    const int64_t runs = t->runs.count, size = o->objects * runs;
    CS_AUTO_FREE double *work = cs_alloc((t->quantities + 3) * size, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    for (int q = 0; q < t->quantities; ++q) {
        double mean = 0, sd = 0;
        at_budget(t, &t->quantity[q], budget, work + q * size);
        for (int64_t i = 0; i < o->objects; ++i) {
            cs_item *row = cs_item_object(t->values, NULL);
            const int64_t measured = t->quantity[q].exact && budget < t->budgets.count ? 1 : runs;
            mean_of(work + q * size + i * runs, measured, &mean, &sd);
            cs_item_text(row, "object", o->object[i]);
            cs_item_text(row, "budget", name);
            cs_item_text(row, "quantity", t->quantity[q].name);
            cs_item_real(row, "value", mean);
            cs_item_real(row, "sd", sd);
            cs_item_int(row, "runs", measured);
        }
    }
    cs_status status = CS_OK;
    for (int q = 0; q < o->predictions * o->outcomes && status == CS_OK; ++q) {
        const int p = q / o->outcomes, y = o->predictions + q % o->outcomes;
        const cs_rank_data data = {o->objects,      runs, work + p * size,
                                   work + y * size, NULL, o->seed};
        cs_rank_data given = data;
        given.z = o->loss ? work + (t->quantities - 1) * size : NULL;
        for (int64_t i = 0; i < o->objects && y == o->predictions; ++i) {
            add_pair(t, &t->quantity[p], &t->quantity[y], name, i, data.x, data.y);
        }
        for (int held = 0; held < (given.z ? 2 : 1) && status == CS_OK; ++held) {
            const cs_rank_data *all = held ? &given : &data;
            const cs_rank_data one =
                t->quantity[p].exact ? merge(all, work + t->quantities * size) : *all;
            status = add_correlation(t, &t->quantity[p], &t->quantity[y], name, &one);
        }
    }
    return status;
}

/* Refuses a list that has one word twice: the second would pass for one more observation. */
static cs_status all_differ(const char *what, int64_t count, const char *const *word)
{
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            if (strcmp(word[i], word[j]) == 0)
                return cs_fail(CS_ERR_USAGE, "%s %s is given twice", what, word[i]);
        }
    }
    return CS_OK;
}

cs_status cs_correlate(const cs_correlate_options *options, cs_item *root)
{
    atlas t = {.options = options};
    const int all = options->predictions + options->outcomes + 1;
    if (options->objects < 3) {
        return cs_fail(CS_ERR_USAGE, "%d objects are too few: a rank correlation needs at least 3",
                       options->objects);
    }
    t.quantity = cs_calloc(all, sizeof *t.quantity);
    cs_status status =
        t.quantity ? cs_parse_each(options->budgets, take_word, &t.budgets) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_parse_each(options->runs, take_word, &t.runs);
    if (status == CS_OK) status = all_differ("object", options->objects, options->object);
    if (status == CS_OK)
        status = all_differ("budget", t.budgets.count, (const char *const *)t.budgets.word);
    if (status == CS_OK) status = all_differ("run", t.runs.count, (const char *const *)t.runs.word);
    for (int i = 0; i < all && status == CS_OK; ++i) {
        const char *text = i < options->predictions ? options->prediction[i]
                           : i < all - 1            ? options->outcome[i - options->predictions]
                                                    : options->loss;
        status = text ? add_quantity(&t, text) : CS_OK;
    }
    t.correlations = cs_item_array(root, "correlations");
    t.values = cs_item_array(root, "values");
    t.pairs = cs_item_array(root, "pairs");
    t.runs_read = cs_item_array(root, "runs");
    for (int q = 0; q < t.quantities && status == CS_OK; ++q)
        add_runs(&t, q);
    for (int64_t b = 0; b < t.budgets.count + (options->loss ? 1 : 0) && status == CS_OK; ++b) {
        status = correlate_at(&t, b);
    }
    for (int q = 0; q < t.quantities; ++q) {
        cs_free(t.quantity[q].name);
    }
    cs_free(t.quantity);
    cs_pool_free(&t.pool);
    free_words(&t.budgets);
    free_words(&t.runs);
    return status;
}
