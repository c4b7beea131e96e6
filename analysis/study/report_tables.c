/* Statements, rows of tables and single numbers of a report. A number whose error its row has is rounded
 * to two digits of that. */
#include <math.h>
#include <string.h>

#include "analysis/study/label.h"
#include "analysis/study/lookup_private.h"
#include "analysis/study/report_private.h"
#include "base/mem.h"
#include "io/number.h"
#include "io/table.h"

enum { MOST_WORDS = CS_REPORT_WORDS };

/* --- statements --- */

static void put_number(FILE *out, const json_t *value, int digits)
{
    if (json_is_number(value)) {
        (void)fprintf(out, "<td class=\"n\">%.*g</td>", digits, json_number_value(value));
    } else {
        cs_html_put(out, "<td class=\"n\">&ndash;</td>");
    }
}

static void put_statement(FILE *out, const json_t *s)
{
    const char *verdict = cs_study_text(s, "verdict"), *form = cs_study_text(s, "form");
    const char *counterexample = cs_study_text(s, "counterexample");
    cs_html_put(out, "<tr><td><code>%</code></td><td>%</td><td>%", cs_study_text(s, "id"), form,
                cs_study_text(s, "statement"));
    if (*counterexample) {
        cs_html_put(out, "<div class=\"counter\">%</div>", counterexample);
    }
    cs_html_put(out, "</td>");
    put_number(out, json_object_get(s, "lhs"), 6);
    put_number(out, json_object_get(s, "rhs"), 6);
    put_number(out, json_object_get(s, "margin"), 3);
    put_number(out, json_object_get(s, "error"), 2);
    cs_html_put(out, "<td><b class=\"v %\">%</b></td></tr>\n", verdict, verdict);
}

/* The statements whose id starts with the prefix, under a line for each input; returns their
 * number. */
static int put_statement_rows(FILE *out, const json_t *list, const char *step, const char *prefix)
{
    int shown = 0;
    const char *input = "";
    size_t i;
    json_t *s;
    json_array_foreach(list, i, s)
    {
        if (strncmp(cs_study_text(s, "id"), prefix, strlen(prefix)) != 0) {
            continue;
        }
        if (shown == 0) {
            cs_html_put(out,
                        "<table class=\"statements\"><tr><th>id</th><th>form</th><th>statement (<a "
                        "href=\"%/statements.json\">json</a>)</th><th>left</th><th>right</th>"
                        "<th>margin</th><th>num. error</th><th>verdict</th></tr>\n",
                        step);
        }
        if (shown == 0 || strcmp(input, cs_study_text(s, "input")) != 0) {
            input = cs_study_text(s, "input");
            cs_html_put(out, "<tr><td colspan=\"8\" class=\"input\">%</td></tr>\n", input);
        }
        put_statement(out, s);
        ++shown;
    }
    cs_html_put(out, shown ? "</table>\n" : "");
    return shown;
}

/* {{statements STEP [PREFIX]}} */
cs_status cs_put_statements(cs_report *r)
{
    const char *step = r->word[1], *prefix = r->words == 3 ? r->word[2] : "";
    json_t *json = NULL;
    cs_status status = cs_study_statements(r->study, step, &json);
    if (status == CS_OK &&
        put_statement_rows(r->out, json_object_get(json, "statements"), step, prefix) == 0) {
        status = cs_fail(CS_ERR_INPUT, "step %s: no statement whose id starts with \"%s\"", step,
                         prefix);
    }
    json_decref(json);
    return status;
}

/* {{verdict STEP ID FORM}} */
cs_status cs_put_verdict(cs_report *r)
{
    json_t *json = NULL;
    const json_t *s = NULL;
    cs_status status = cs_study_statement(r->study, r->word[1], r->word[2], r->word[3], &json, &s);
    if (status == CS_OK) {
        const char *verdict = cs_study_text(s, "verdict");
        cs_html_put(r->out, "<b class=\"v %\">%</b>", verdict, verdict);
    }
    json_decref(json);
    return status;
}

/* --- tables --- */

void cs_html_number(FILE *out, double x, double error, int digits)
{
    if (error > 0 && !isinf(error)) {
        const double decimals = 1 - floor(log10(error));
        (void)fprintf(out, "%.*f", (int)fmin(fmax(decimals, 0), 15), x);
    } else {
        (void)fprintf(out, "%.*g", digits, x);
    }
}

static double number_at(const cs_pick *pick, int64_t row, const char *column)
{
    const int at = cs_table_column(&pick->table, column);
    double x = NAN;
    return at >= 0 && cs_real_scan(cs_pick_cell(pick, row, at), &x) ? x : NAN;
}

/* The standard error of the number in a column, as far as its row has one: NaN. */
static double error_of(const cs_pick *pick, int64_t row, const char *column)
{
    static const char *const estimate[] = {"value", "tau", "rho", "difference", "low", "high"};
    if (strcmp(column, "left_value") == 0) return number_at(pick, row, "left_se");
    if (strcmp(column, "right_value") == 0) return number_at(pick, row, "right_se");
    for (size_t i = 0; i < sizeof estimate / sizeof *estimate; ++i) {
        if (strcmp(column, estimate[i]) != 0) continue;
        const double se = number_at(pick, row, "se"), sd = number_at(pick, row, "sd"),
                     wide = number_at(pick, row, "high") - number_at(pick, row, "low");
        return !isnan(se) ? se : !isnan(wide) ? wide / (2 * 1.96) : sd;
    }
    return NAN;
}

/* Significant digits of a number without an error: errors and chances have two. */
static int digits_of(const char *column, int others)
{
    const size_t length = strlen(column);
    const bool error = length > 1 && (strcmp(column + length - 2, "se") == 0 ||
                                      strcmp(column + length - 2, "sd") == 0);
    return error || strcmp(column, "p") == 0 || strcmp(column, "p_holm") == 0 ? 2 : others;
}

/* A number of the row, rounded; false: the cell is none. */
static bool put_rounded(FILE *out, const cs_pick *pick, int64_t row, int column, int digits)
{
    const char *name = pick->table.name[column];
    double x;
    if (!cs_real_scan(cs_pick_cell(pick, row, column), &x)) return false;
    const bool count = x == floor(x) && fabs(x) < 1e9;
    cs_html_number(out, x, count ? NAN : error_of(pick, row, name),
                   count ? 9 : digits_of(name, digits));
    return true;
}

/* A whole number with a comma before each three digits: 2,069,587. */
static void put_whole(FILE *out, double x)
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%.0f", fabs(x));
    (void)fputs(x < 0 ? "-" : "", out);
    for (int i = 0; i < length; ++i)
        (void)fprintf(out, i > 0 && (length - i) % 3 == 0 ? ",%c" : "%c", digits[i]);
}

static cs_status put_cell(FILE *out, const cs_pick *pick, int64_t row, int column)
{
    const char *cell = cs_pick_cell(pick, row, column);
    double x;
    if (cs_real_scan(cell, &x)) {
        cs_html_put(out, "<td class=\"n\">");
        if (x == floor(x) && fabs(x) >= 10000 && fabs(x) < 1e15)
            put_whole(out, x);
        else
            (void)put_rounded(out, pick, row, column, 6);
        cs_html_put(out, "</td>");
        return CS_OK;
    }
    const char *name = pick->table.name[column];
    const bool series = strcmp(name, "series") == 0 || strcmp(name, "against") == 0;
    char *label = series ? cs_series_label(cell) : NULL;
    if (series && !label) return CS_ERR_MEMORY;
    cs_html_put(out, "<td>%</td>", label ? label : cell);
    cs_free(label);
    return CS_OK;
}

/* Column numbers of "a,b,c", all without it. */
static cs_status choose_columns(const cs_pick *pick, int *count, int *column)
{
    char *save = NULL;
    cs_status status = CS_OK;
    *count = 0;
    for (; !pick->columns && *count < pick->table.columns && *count < MOST_WORDS; ++*count) {
        column[*count] = *count;
    }
    char *name = pick->columns ? strtok_r(pick->columns, ",", &save) : NULL;
    for (; name && *count < MOST_WORDS && status == CS_OK; name = strtok_r(NULL, ",", &save)) {
        status = cs_pick_column(pick, name, &column[(*count)++]);
    }
    return status;
}

/* Leaves out the columns that are empty in every row that the table takes. */
static void drop_empty_columns(const cs_pick *pick, int *count, int *column)
{
    int kept = 0;
    for (int c = 0; c < *count; ++c) {
        bool empty = true;
        for (int64_t row = 0; row < pick->table.rows && empty; ++row)
            empty = !cs_pick_takes(pick, row) || !*cs_pick_cell(pick, row, column[c]);
        if (!empty) column[kept++] = column[c];
    }
    if (kept > 0) *count = kept;
}

static cs_status put_rows(FILE *out, const cs_pick *pick, int count, int *column)
{
    cs_status status = CS_OK;
    drop_empty_columns(pick, &count, column);
    cs_html_put(out, "<table><tr>");
    for (int c = 0; c < count; ++c)
        cs_html_put(out, "<th>%</th>", pick->table.name[column[c]]);
    cs_html_put(out, "</tr>\n");
    int64_t hit = 0, shown = 0;
    for (int64_t row = 0; row < pick->table.rows && shown < pick->limit && status == CS_OK; ++row) {
        if (!cs_pick_takes(pick, row) || hit++ % pick->every != 0) {
            continue;
        }
        ++shown;
        cs_html_put(out, "<tr>");
        for (int c = 0; c < count && status == CS_OK; ++c)
            status = put_cell(out, pick, row, column[c]);
        cs_html_put(out, "</tr>\n");
    }
    cs_html_put(out, "</table>\n");
    return status;
}

/* {{table STEP/FILE.csv ...}} */
cs_status cs_put_table(cs_report *r)
{
    cs_pick pick;
    int column[MOST_WORDS], count = 0;
    cs_status status = cs_pick_open(r->study, r->word[1], r->words - 2, r->word + 2, &pick);
    if (status == CS_OK) status = choose_columns(&pick, &count, column);
    if (status == CS_OK) {
        status = put_rows(r->out, &pick, count, column);
        cs_html_put(r->out, "<p class=\"source\">from <a href=\"%\">%</a></p>\n", r->word[1],
                    r->word[1]);
    }
    cs_pick_free(&pick);
    return status;
}

/* {{value STEP/FILE.csv COLUMN where=...}} */
cs_status cs_put_value(cs_report *r)
{
    cs_pick pick;
    int column = 0;
    int64_t row = 0;
    cs_status status = cs_pick_open(r->study, r->word[1], r->words - 3, r->word + 3, &pick);
    if (status == CS_OK) status = cs_pick_column(&pick, r->word[2], &column);
    if (status == CS_OK) status = cs_pick_first(&pick, &row);
    if (status == CS_OK) {
        cs_html_put(r->out, "<a class=\"value\" href=\"%\">", r->word[1]);
        if (!put_rounded(r->out, &pick, row, column, 4))
            cs_html_text(r->out, cs_pick_cell(&pick, row, column));
        cs_html_put(r->out, "</a>");
    }
    cs_pick_free(&pick);
    return status;
}
