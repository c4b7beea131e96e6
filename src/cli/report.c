/* A report from a template: prose stays in the template, numbers come from the study's files, and
 * every one of them links to its file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <cblas.h>
#include <nettle/base64.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/report.h"
#include "cli/table_pick.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"
#include "io/table.h"
#include "version.h"

enum { TEMPLATE_LIMIT = 1 << 20, FIGURE_LIMIT = 16 << 20, MOST_WORDS = 64 };

typedef struct {
    const cs_study *study;
    const cs_claims *claims;
    FILE *out;
} report;

/* Escapes text for HTML. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; ++text) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '"':
            (void)fputs("&quot;", out);
            break;
        default:
            (void)fputc(*text, out);
        }
    }
}

static const cs_step *find_step(const report *r, const char *name)
{
    for (int64_t i = 0; i < r->study->steps; ++i) {
        if (strcmp(r->study->step[i].name, name) == 0) {
            return &r->study->step[i];
        }
    }
    return NULL;
}

static cs_status want_step(const report *r, const char *name, const cs_step **out)
{
    *out = find_step(r, name);
    return *out ? CS_OK : cs_fail(CS_ERR_INPUT, "the study has no step %s", name);
}

/* {{command STEP}} */
static cs_status put_command(report *r, int words, char **word)
{
    const cs_step *step;
    cs_status status =
        words == 2 ? want_step(r, word[1], &step) : cs_fail(CS_ERR_INPUT, "want {{command STEP}}");
    if (status == CS_OK) {
        (void)fputs("<p class=\"command\"><code>cospec ", r->out);
        put_text(r->out, step->command);
        (void)fprintf(r->out,
                      "</code><span>%.1f s, exit %d, files in <a href=\"%s/\">%s/</a></span></p>\n",
                      step->seconds, step->exit_code, step->name, step->name);
    }
    return status;
}

static void put_number(FILE *out, const json_t *value, int digits)
{
    if (json_is_number(value)) {
        (void)fprintf(out, "<td class=\"n\">%.*g</td>", digits, json_number_value(value));
    } else {
        (void)fputs("<td class=\"n\">&ndash;</td>", out);
    }
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void put_statement(FILE *out, const json_t *s)
{
    const char *verdict = text_of(s, "verdict"), *form = text_of(s, "form");
    (void)fprintf(out, "<tr><td><code>");
    put_text(out, text_of(s, "id"));
    (void)fprintf(out, "</code></td><td>%s</td><td>", form);
    put_text(out, text_of(s, "statement"));
    const char *counterexample = text_of(s, "counterexample");
    if (*counterexample) {
        (void)fputs("<div class=\"counter\">", out);
        put_text(out, counterexample);
        (void)fputs("</div>", out);
    }
    (void)fputs("</td>", out);
    put_number(out, json_object_get(s, "lhs"), 6);
    put_number(out, json_object_get(s, "rhs"), 6);
    put_number(out, json_object_get(s, "margin"), 3);
    put_number(out, json_object_get(s, "error"), 2);
    (void)fprintf(out, "<td><b class=\"v %s\">%s</b></td></tr>\n", verdict, verdict);
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
        if (strncmp(text_of(s, "id"), prefix, strlen(prefix)) != 0) {
            continue;
        }
        if (shown == 0) {
            (void)fprintf(
                out,
                "<table class=\"statements\"><tr><th>id</th><th>form</th><th>statement (<a "
                "href=\"%s/statements.json\">json</a>)</th><th>left</th><th>right</th>"
                "<th>margin</th><th>num. error</th><th>verdict</th></tr>\n",
                step);
        }
        if (shown == 0 || strcmp(input, text_of(s, "input")) != 0) {
            input = text_of(s, "input");
            (void)fputs("<tr><td colspan=\"8\" class=\"input\">", out);
            put_text(out, input);
            (void)fputs("</td></tr>\n", out);
        }
        put_statement(out, s);
        ++shown;
    }
    (void)fputs(shown ? "</table>\n" : "", out);
    return shown;
}

/* {{statements STEP [PREFIX]}} */
static cs_status put_statements(report *r, int words, char **word)
{
    if (words < 2 || words > 3) {
        return cs_fail(CS_ERR_INPUT, "want {{statements STEP [PREFIX]}}");
    }
    const char *prefix = words == 3 ? word[2] : "";
    char *path = cs_format("%s/%s/statements.json", r->study->dir, word[1]);
    json_t *json = NULL;
    cs_status status = path ? cs_json_read(path, &json) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        put_statement_rows(r->out, json_object_get(json, "statements"), word[1], prefix) == 0) {
        status =
            cs_fail(CS_ERR_INPUT, "%s: no statement whose id starts with \"%s\"", path, prefix);
    }
    json_decref(json);
    cs_free(path);
    return status;
}

/* {{verdict STEP ID FORM}} */
static cs_status put_verdict(report *r, int words, char **word)
{
    if (words != 4) {
        return cs_fail(CS_ERR_INPUT, "want {{verdict STEP ID printed|corrected}}");
    }
    char *path = cs_format("%s/%s/statements.json", r->study->dir, word[1]);
    json_t *json = NULL;
    cs_status status = path ? cs_json_read(path, &json) : CS_ERR_MEMORY;
    const char *verdict = NULL;
    size_t i;
    json_t *s;
    json_array_foreach(json_object_get(json, "statements"), i, s)
    {
        if (!verdict && strcmp(text_of(s, "id"), word[2]) == 0 &&
            strcmp(text_of(s, "form"), word[3]) == 0) {
            verdict = text_of(s, "verdict");
        }
    }
    if (verdict) {
        (void)fprintf(r->out, "<b class=\"v %s\">%s</b>", verdict, verdict);
    } else if (status == CS_OK) {
        status = cs_fail(CS_ERR_INPUT, "%s: no %s statement %s", path, word[3], word[2]);
    }
    json_decref(json);
    cs_free(path);
    return status;
}

/* A cell: numbers shortened to six digits, the rest as it is. */
static void put_cell(FILE *out, const char *cell)
{
    double x;
    if (cs_real_scan(cell, &x)) {
        (void)fprintf(out, "<td class=\"n\">%.6g</td>", x);
    } else {
        (void)fputs("<td>", out);
        put_text(out, cell);
        (void)fputs("</td>", out);
    }
}

/* Column numbers of "a,b,c" (all when NULL); returns how many, -1 after a failure. */
static int chosen_columns(const cs_table *table, const char *path, char *names, int *column)
{
    int count = 0;
    if (!names) {
        for (; count < table->columns && count < MOST_WORDS; ++count) {
            column[count] = count;
        }
        return count;
    }
    char *save = NULL;
    for (char *name = strtok_r(names, ",", &save); name && count < MOST_WORDS;
         name = strtok_r(NULL, ",", &save)) {
        if ((column[count++] = cs_table_column(table, name)) < 0) {
            (void)cs_fail(CS_ERR_INPUT, "%s: no column %s", path, name);
            return -1;
        }
    }
    return count;
}

static void put_rows(report *r, const cs_table *table, const cs_pick *s, int count,
                     const int *column)
{
    (void)fputs("<table><tr>", r->out);
    for (int c = 0; c < count; ++c) {
        (void)fputs("<th>", r->out);
        put_text(r->out, table->name[column[c]]);
        (void)fputs("</th>", r->out);
    }
    (void)fputs("</tr>\n", r->out);
    int64_t hit = 0, shown = 0;
    for (int64_t row = 0; row < table->rows && shown < s->limit; ++row) {
        if (!cs_pick_takes(s, table, row) || hit++ % s->every != 0) {
            continue;
        }
        ++shown;
        (void)fputs("<tr>", r->out);
        for (int c = 0; c < count; ++c) {
            put_cell(r->out, table->cell[row * table->columns + column[c]]);
        }
        (void)fputs("</tr>\n", r->out);
    }
    (void)fputs("</table>\n", r->out);
}

/* {{table STEP/FILE.csv ...}} */
static cs_status put_table(report *r, int words, char **word)
{
    if (words < 2) {
        return cs_fail(CS_ERR_INPUT, "want {{table STEP/FILE.csv ...}}");
    }
    cs_table table = {0};
    cs_pick s;
    int column[MOST_WORDS];
    char *path = cs_path_join(r->study->dir, word[1]);
    cs_status status = path ? cs_table_read_csv(path, &table) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = cs_pick_parse(&table, path, words - 2, word + 2, &s)) == CS_OK) {
        int count = chosen_columns(&table, path, s.columns, column);
        if (count < 0) {
            status = CS_ERR_INPUT;
        } else {
            put_rows(r, &table, &s, count, column);
            (void)fprintf(r->out, "<p class=\"source\">from <a href=\"%s\">%s</a></p>\n", word[1],
                          word[1]);
        }
    }
    cs_table_free(&table);
    cs_free(path);
    return status;
}

/* {{value STEP/FILE.csv COLUMN where=...}} */
static cs_status put_value(report *r, int words, char **word)
{
    if (words < 3) {
        return cs_fail(CS_ERR_INPUT, "want {{value STEP/FILE.csv COLUMN ...}}");
    }
    cs_table table = {0};
    cs_pick s;
    char *path = cs_path_join(r->study->dir, word[1]);
    cs_status status = path ? cs_table_read_csv(path, &table) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = cs_pick_parse(&table, path, words - 3, word + 3, &s)) == CS_OK) {
        int column = cs_table_column(&table, word[2]);
        int64_t row;
        status = column < 0 ? cs_fail(CS_ERR_INPUT, "%s: no column %s", path, word[2])
                            : cs_pick_first(&s, &table, path, &row);
        if (status == CS_OK) {
            const char *cell = table.cell[row * table.columns + column];
            double x;
            (void)fprintf(r->out, "<a class=\"value\" href=\"%s\">", word[1]);
            if (cs_real_scan(cell, &x)) {
                (void)fprintf(r->out, "%.4g", x);
            } else {
                put_text(r->out, cell);
            }
            (void)fputs("</a>", r->out);
        }
    }
    cs_table_free(&table);
    cs_free(path);
    return status;
}

/* A file as a data URI: identifiers inside one SVG cannot meet those of another. */
static cs_status put_data_uri(FILE *out, const char *path)
{
    char *bytes = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read(path, FIGURE_LIMIT, &bytes, &size);
    if (status == CS_OK) {
        char *encoded = cs_alloc((int64_t)BASE64_ENCODE_RAW_LENGTH((size_t)size) + 1, 1);
        if (encoded) {
            base64_encode_raw(encoded, (size_t)size, (const uint8_t *)bytes);
            encoded[BASE64_ENCODE_RAW_LENGTH((size_t)size)] = '\0';
            (void)fprintf(out, "data:image/svg+xml;base64,%s", encoded);
        } else {
            status = CS_ERR_MEMORY;
        }
        cs_free(encoded);
    }
    cs_free(bytes);
    return status;
}

/* {{figure STEP FIGURE caption...}} */
static cs_status put_figure(report *r, int words, char **word)
{
    if (words < 3) {
        return cs_fail(CS_ERR_INPUT, "want {{figure STEP FIGURE caption}}");
    }
    char *path = cs_format("%s/%s/%s.svg", r->study->dir, word[1], word[2]);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    (void)fputs("<figure><img alt=\"", r->out);
    put_text(r->out, word[2]);
    (void)fputs("\" src=\"", r->out);
    if (status == CS_OK) {
        status = put_data_uri(r->out, path);
    }
    (void)fputs("\"><figcaption>", r->out);
    for (int i = 3; i < words; ++i) {
        put_text(r->out, word[i]);
        (void)fputc(' ', r->out);
    }
    for (const char *const *kind = (const char *const[]){"csv", "gp", "png", "pdf", NULL}; *kind;
         ++kind) {
        (void)fprintf(r->out, "<a href=\"%s/%s.%s\">%s</a> ", word[1], word[2], *kind, *kind);
    }
    (void)fputs("</figcaption></figure>\n", r->out);
    cs_free(path);
    return status;
}

static void put_machine(FILE *out)
{
    struct utsname name;
    if (uname(&name) == 0) {
        (void)fprintf(out, "%s %s, ", name.sysname, name.machine);
    }
    (void)fprintf(out, "%d threads, OpenBLAS kernel %s", cs_threads(), openblas_get_corename());
}

static double total_seconds(const cs_study *study)
{
    double seconds = 0.0;
    for (int64_t i = 0; i < study->steps; ++i) {
        seconds += study->step[i].seconds;
    }
    return seconds;
}

/* {{steps}} */
static void put_steps(report *r)
{
    (void)fputs("<table><tr><th>step</th><th>command</th><th>seconds</th><th>exit</th></tr>\n",
                r->out);
    for (int64_t i = 0; i < r->study->steps; ++i) {
        const cs_step *step = &r->study->step[i];
        (void)fprintf(r->out, "<tr><td><a href=\"%s/\">%s</a></td><td><code>cospec ", step->name,
                      step->name);
        put_text(r->out, step->command);
        (void)fprintf(r->out, "</code></td><td class=\"n\">%.1f</td><td class=\"n\">%d</td></tr>\n",
                      step->seconds, step->exit_code);
    }
    (void)fputs("</table>\n", r->out);
}

/* "label: value ± 1.96 se", linked to its file. */
static void put_side(FILE *out, const cs_claim_side *side)
{
    (void)fputs("<td>", out);
    if (side->path) {
        (void)fputs("<a href=\"", out);
        put_text(out, side->path);
        (void)fputs("\">", out);
        put_text(out, side->label);
        (void)fprintf(out, "</a>: %.4g", side->value);
        if (side->se > 0) {
            (void)fprintf(out, " &plusmn; %.2g", 1.96 * side->se);
        }
    } else {
        put_text(out, side->label);
    }
    (void)fputs("</td>", out);
}

static void put_claim(FILE *out, const cs_claim *c)
{
    static const char *const style[] = {"PASS", "FAIL", "INCONCLUSIVE"};
    (void)fputs("<tr><td>", out);
    put_text(out, c->source);
    (void)fputs("</td><td>", out);
    put_text(out, c->says);
    (void)fputs("<div class=\"source\">", out);
    put_text(out, c->scope);
    (void)fputs("</div></td>", out);
    if (c->statement) {
        (void)fputs("<td colspan=\"2\"><code>", out);
        put_text(out, c->statement);
        (void)fprintf(out, "</code>: %s</td>", c->found);
    } else {
        put_side(out, &c->left);
        put_side(out, &c->right);
    }
    (void)fprintf(out, "<td><b class=\"v %s\">%s</b><div class=\"source\">", style[c->verdict],
                  cs_claim_verdict_name(c->verdict));
    put_text(out, c->why);
    if (!c->statement) {
        (void)fprintf(out, ": %.3g &plusmn; %.2g", c->difference, c->critical * c->se);
    }
    (void)fputs("</div></td></tr>\n", out);
}

/* {{claims [PREFIX]}} */
static cs_status put_claims(report *r, int words, char **word)
{
    const char *prefix = words > 1 ? word[1] : "";
    int64_t shown = 0;
    for (int64_t i = 0; i < r->claims->count; ++i) {
        const cs_claim *c = &r->claims->claim[i];
        if (strncmp(c->name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        if (shown++ == 0) {
            (void)fputs(
                "<table class=\"claims\"><tr><th>source</th><th>claim</th><th colspan=\"2\">"
                "measured (&plusmn; 1.96 standard errors of the test "
                "documents)</th><th>verdict</th></tr>\n",
                r->out);
        }
        put_claim(r->out, c);
    }
    (void)fputs(shown ? "</table>\n" : "", r->out);
    return shown ? CS_OK : cs_fail(CS_ERR_INPUT, "no claim whose name starts with \"%s\"", prefix);
}

/* {{text WORD...}}: variables of the study in prose */
static cs_status put_words(report *r, int words, char **word)
{
    for (int i = 1; i < words; ++i) {
        (void)fputs(i > 1 ? " " : "", r->out);
        put_text(r->out, word[i]);
    }
    return CS_OK;
}

static cs_status directive(report *r, char *text)
{
    char *word[MOST_WORDS];
    int words = 0;
    char *save = NULL;
    for (char *w = strtok_r(text, " \t\n", &save); w && words < MOST_WORDS;
         w = strtok_r(NULL, " \t\n", &save)) {
        word[words++] = w;
    }
    const char *name = words ? word[0] : "";
    static const struct {
        const char *name;
        cs_status (*put)(report *r, int words, char **word);
    } known[] = {{"command", put_command}, {"statements", put_statements},
                 {"verdict", put_verdict}, {"table", put_table},
                 {"value", put_value},     {"figure", put_figure},
                 {"claims", put_claims},   {"text", put_words}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].put(r, words, word);
        }
    }
    if (strcmp(name, "version") == 0) {
        (void)fputs(CS_VERSION " (" CS_COMMIT ")", r->out);
    } else if (strcmp(name, "date") == 0) {
        char date[64];
        time_t now = time(NULL);
        struct tm utc;
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
        (void)fputs(date, r->out);
    } else if (strcmp(name, "machine") == 0) {
        put_machine(r->out);
    } else if (strcmp(name, "seconds") == 0) {
        (void)fprintf(r->out, "%.0f", total_seconds(r->study));
    } else if (strcmp(name, "scale") == 0) {
        put_text(r->out, r->study->scale ? r->study->scale : "");
    } else if (strcmp(name, "steps") == 0) {
        put_steps(r);
    } else {
        return cs_fail(CS_ERR_INPUT, "unknown directive {{%s}}", name);
    }
    return CS_OK;
}

/* Copies the template, replacing each {{...}}. */
static cs_status fill(report *r, const char *path, char *text)
{
    int64_t line = 1;
    while (*text) {
        char *open = strstr(text, "{{");
        size_t plain = open ? (size_t)(open - text) : strlen(text);
        (void)fwrite(text, 1, plain, r->out);
        if (!open) {
            break;
        }
        for (const char *p = text; p < open; ++p) {
            line += *p == '\n';
        }
        char *close = strstr(open, "}}");
        if (!close) {
            return cs_fail(CS_ERR_INPUT, "%s:%lld: {{ without }}", path, (long long)line);
        }
        *close = '\0';
        char *whole = NULL;
        cs_status status = cs_study_substitute(r->study, open + 2, &whole);
        if (status == CS_OK) {
            status = directive(r, whole);
        }
        cs_free(whole);
        status = cs_blame(status, "%s:%lld", path, (long long)line);
        if (status != CS_OK) {
            return status;
        }
        text = close + 2;
    }
    return CS_OK;
}

cs_status cs_report_write(const cs_study *study, const cs_claims *claims, const char *template_path,
                          const char *path)
{
    char *text = NULL, *html = NULL;
    int64_t size = 0;
    size_t length = 0;
    cs_status status = cs_file_read(template_path, TEMPLATE_LIMIT, &text, &size);
    if (status != CS_OK) {
        return status;
    }
    report r = {study, claims, open_memstream(&html, &length)};
    if (!r.out) {
        status = cs_fail(CS_ERR_MEMORY, "report: %s", strerror(errno));
    } else {
        status = fill(&r, template_path, text);
        bool bad = ferror(r.out) != 0;
        bad = fclose(r.out) != 0 || bad;
        if (status == CS_OK && bad) {
            status = cs_fail(CS_ERR_MEMORY, "report: out of memory");
        }
        if (status == CS_OK) {
            status = cs_file_write(path, html, (int64_t)length);
        }
    }
    free(html); /* by open_memstream */
    cs_free(text);
    return status;
}
