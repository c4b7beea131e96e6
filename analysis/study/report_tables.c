/* Statements, rows of tables and single numbers of a report. A number whose error its row has is rounded
 * to two digits of that. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "analysis/study/figure.h"
#include "analysis/study/lookup_private.h"
#include "analysis/study/report_html_private.h"
#include "analysis/study/statements_private.h"
#include "base/auto.h"
#include "io/json.h"
#include "io/number.h"
#include "io/table.h"

enum { MOST_WORDS = CS_REPORT_WORDS };

/* --- statements --- */

/* The cases of a statement: how many, how many have the worst verdict, and the worst margin of these. */
typedef struct {
    int64_t cases, worst;
    cs_claim_verdict verdict;
    double margin; /* NaN: none has one */
} cases;

static cs_claim_verdict verdict_of(const json_t *s)
{
    return cs_claim_of_statement(cs_json_string(s, "verdict"),
                                 strcmp(cs_json_string(s, "form"), "printed") == 0,
                                 cs_study_assumed(s));
}

static void count_case(const json_t *s, cases *c)
{
    const cs_claim_verdict verdict = verdict_of(s);
    const json_t *number = json_object_get(s, "margin");
    const double margin = json_is_number(number) ? json_number_value(number) : (double)NAN;
    if (c->cases++ == 0 || cs_claim_badness(verdict) > cs_claim_badness(c->verdict)) {
        c->verdict = verdict;
        c->worst = 0;
        c->margin = margin;
    }
    if (verdict != c->verdict) return;
    ++c->worst;
    c->margin = fmin(c->margin, margin); /* NaN counts for nothing */
}

/* {{statement STEP IDS FORM WORD...}} */
cs_status cs_put_statement(cs_report *r)
{
    const char *step = r->word[1], *ids = r->word[2], *form = r->word[3];
    json_auto_t *json = NULL;
    json_t *s;
    size_t i;
    cases c = {0};
    cs_status status = cs_study_statements(r->study, step, &json);
    bool input = false; /* a case that is no example, so that examples do not count */
    for (int round = 0; round < 2; ++round) {
        json_array_foreach(json_object_get(json, "statements"), i, s)
        {
            const bool fits = strcmp(cs_json_string(s, "form"), form) == 0 &&
                              fnmatch(ids, cs_json_string(s, "id"), 0) == 0;
            if (round == 0)
                input = input || (fits && !cs_study_example(s));
            else if (fits && !(input && cs_study_example(s)))
                count_case(s, &c);
        }
    }
    if (status == CS_OK && c.cases == 0)
        status =
            cs_fail(CS_ERR_INPUT, "step %s: no %s statement whose id fits \"%s\"", step, form, ids);
    if (status != CS_OK) return status;
    (void)fputs("<tr><td>", r->out);
    for (int w = 4; w < r->words; ++w)
        cs_html_put(r->out, w > 4 ? " %" : "%", r->word[w]);
    cs_html_put(r->out, "</td><td>%</td><td class=\"n\">", form);
    if (isnan(c.margin))
        (void)fputs("&ndash;", r->out);
    else
        (void)fprintf(r->out, "%.2g", c.margin);
    (void)fputs("</td><td>", r->out);
    cs_html_badge(r->out, c.verdict, cs_claim_verdict_name(c.verdict, false));
    if (c.cases > 1) (void)fprintf(r->out, " %lld of %lld", (long long)c.worst, (long long)c.cases);
    (void)fputs("</td></tr>\n", r->out);
    return CS_OK;
}

/* {{verdict STEP ID FORM}} */
cs_status cs_put_verdict(cs_report *r)
{
    json_auto_t *json = NULL;
    const json_t *s = NULL;
    cs_status status = cs_study_statement(r->study, r->word[1], r->word[2], r->word[3], &json, &s);
    if (status == CS_OK) {
        const cs_claim_verdict verdict = verdict_of(s);
        cs_html_badge(r->out, verdict, cs_claim_verdict_name(verdict, false));
    }
    return status;
}

/* --- tables --- */

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

/* The words that the study's variable `labels` has for a cell, in the form of cospec plot --label, where
 * commas are blanks: *label NULL without any. */
static cs_status given_label(const cs_study *study, const char *cell, char **label)
{
    const char *at = *cell ? cs_study_list(study, "labels") : "";
    CS_AUTO_FREE char *option = cs_format("--label %s=", cell);
    const char *found = option ? strstr(at, option) : NULL;
    *label = NULL;
    if (found) {
        found += strlen(option);
        *label = cs_format("%.*s", (int)strcspn(found, " "), found);
    }
    for (char *p = *label; p && *p; ++p) {
        *p = *p == ',' ? ' ' : *p;
    }
    const bool made = option && (!found || *label);
    return made ? CS_OK : CS_ERR_MEMORY;
}

static cs_status put_cell(const cs_report *r, const cs_pick *pick, int64_t row, int column)
{
    FILE *out = r->out;
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
    CS_AUTO_FREE char *label = NULL;
    cs_status status = given_label(r->study, cell, &label);
    if (status == CS_OK && series && !label && !(label = cs_series_label(cell)))
        status = CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    cs_html_put(out, "<td>%</td>", label ? label : cell);
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

static cs_status put_rows(const cs_report *r, const cs_pick *pick, int count, int *column)
{
    FILE *out = r->out;
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
            status = put_cell(r, pick, row, column[c]);
        cs_html_put(out, "</tr>\n");
    }
    cs_html_put(out, "</table>\n");
    return status;
}

/* {{table STEP/FILE.csv ...}} */
cs_status cs_put_table(cs_report *r)
{
    CS_AUTO(cs_pick) pick = {0};
    int column[MOST_WORDS], count = 0;
    cs_status status = cs_pick_open(r->study, r->word[1], r->words - 2, r->word + 2, &pick);
    if (status == CS_OK) status = choose_columns(&pick, &count, column);
    if (status == CS_OK) {
        status = put_rows(r, &pick, count, column);
        cs_html_put(r->out, "<p class=\"source\">from <a href=\"%\">%</a></p>\n", r->word[1],
                    r->word[1]);
    }
    return status;
}

/* {{value STEP/FILE.csv COLUMN where=...}} */
cs_status cs_put_value(cs_report *r)
{
    CS_AUTO(cs_pick) pick = {0};
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
    return status;
}
