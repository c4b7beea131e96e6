/* The page is made from the table of statements alone, so that --resume prints the same one.
 *
 * A verdict stands for its cases by the worst of them: a statement fails when one case fails. The
 * worst margin is the smallest of the cases that have this verdict. */
#include "cli/verify_digest.h"

#include <math.h>
#include <string.h>

#include "analysis/trained/theorem_list.h"
#include "base/mem.h"
#include "io/number.h"

enum { VERDICTS = CS_UNSPECIFIED + 1, FORMS = CS_CORRECTED + 1, MOST_NAMED = 3 };

/* From the worst to the best. */
static const cs_verdict by_weight[VERDICTS] = {CS_FAIL, CS_INCONCLUSIVE, CS_UNSPECIFIED, CS_VACUOUS,
                                               CS_PASS};

/* The statements of one form of one theorem. */
typedef struct {
    int64_t cases, of[VERDICTS];
    double worst[VERDICTS]; /* margin */
} tally;

typedef struct {
    const cs_table *rows;
    int theorem, form, verdict, margin; /* columns */
    tally entry[CS_THEOREMS][FORMS];
} digest;

static const char *cell(const digest *d, int64_t row, int column)
{
    return d->rows->cell[row * d->rows->columns + column];
}

static int theorem_of(const char *id)
{
    for (int i = 0; i < CS_THEOREMS; ++i) {
        if (strcmp(cs_theorem_list[i]->id, id) == 0) {
            return i;
        }
    }
    return -1;
}

static int verdict_of(const char *name)
{
    for (int v = 0; v < VERDICTS; ++v) {
        if (strcmp(cs_verdict_name((cs_verdict)v), name) == 0) {
            return v;
        }
    }
    return -1;
}

static void count_cases(digest *d)
{
    for (int64_t r = 0; r < d->rows->rows; ++r) {
        const int i = theorem_of(cell(d, r, d->theorem)), v = verdict_of(cell(d, r, d->verdict));
        const bool corrected = strcmp(cell(d, r, d->form), cs_form_name(CS_CORRECTED)) == 0;
        double margin = NAN;
        if (i < 0 || v < 0) {
            continue;
        }
        tally *t = &d->entry[i][corrected ? CS_CORRECTED : CS_PRINTED];
        if (cs_real_scan(cell(d, r, d->margin), &margin)) {
            t->worst[v] = t->of[v] == 0 ? margin : fmin(t->worst[v], margin);
        }
        t->cases += 1;
        t->of[v] += 1;
    }
}

static cs_verdict worst_of(const tally *t)
{
    int i = 0;
    while (t->of[by_weight[i]] == 0) {
        ++i;
    }
    return by_weight[i];
}

/* --- the two tables --------------------------------------------------------------------------- */

static void add_tally(tally *sum, const tally *t)
{
    sum->cases += t->cases;
    for (int v = 0; v < VERDICTS; ++v) {
        sum->of[v] += t->of[v];
    }
}

/* Heads of the columns, in the order of enum cs_verdict. */
static const char *const counted[VERDICTS] = {
    [CS_PASS] = "holds",
    [CS_FAIL] = "false",
    [CS_VACUOUS] = "vacuous",
    [CS_INCONCLUSIVE] = "undetermined",
    [CS_UNSPECIFIED] = "not specified",
};

static cs_status summary_row(cs_table *table, const char *paper, int form, const tally *t)
{
    cs_status status = cs_table_row(table);
    if (status == CS_OK) status = cs_table_text(table, "paper", paper);
    if (status == CS_OK)
        status = cs_table_text(table, "form", cs_form_name((cs_statement_form)form));
    for (int v = 0; v < VERDICTS && status == CS_OK; ++v) {
        status = cs_table_int(table, counted[v], t->of[v]);
    }
    return status;
}

/* A row for each form of each paper that was evaluated, papers in the order of the registry. */
static cs_status print_summary(const digest *d, FILE *out)
{
    cs_table table = {0};
    cs_status status =
        cs_table_init(&table, "paper,form,holds,false,vacuous,undetermined,not specified");
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        const char *paper = cs_theorem_list[i]->paper;
        tally sum[FORMS] = {0};
        bool first = true;
        for (int j = 0; j < CS_THEOREMS; ++j) {
            const bool same = strcmp(cs_theorem_list[j]->paper, paper) == 0;
            first = first && !(same && j < i);
            for (int form = 0; form < FORMS && same; ++form) {
                add_tally(&sum[form], &d->entry[j][form]);
            }
        }
        for (int form = 0; form < FORMS && first && status == CS_OK; ++form) {
            if (sum[form].cases > 0) status = summary_row(&table, paper, form, &sum[form]);
        }
    }
    if (status == CS_OK) status = cs_table_print_text(&table, out);
    cs_table_free(&table);
    return status;
}

static cs_status entry_row(cs_table *table, const cs_theorem *theorem, int form, const tally *t)
{
    char text[64];
    const cs_verdict verdict = worst_of(t);
    cs_status status = cs_table_row(table);
    if (status == CS_OK) status = cs_table_text(table, "theorem", theorem->id);
    if (status == CS_OK)
        status = cs_table_text(table, "form", cs_form_name((cs_statement_form)form));
    if (status == CS_OK) status = cs_table_text(table, "paper", theorem->paper);
    if (status == CS_OK)
        status =
            cs_table_text(table, "statement",
                          form == CS_PRINTED ? theorem->printed_words : theorem->corrected_words);
    (void)snprintf(text, sizeof text, "%.2g", t->worst[verdict]);
    if (status == CS_OK) status = cs_table_text(table, "margin", text);
    (void)snprintf(text, sizeof text, "%s %lld/%lld",
                   cs_verdict_words(verdict, (cs_statement_form)form), (long long)t->of[verdict],
                   (long long)t->cases);
    return status == CS_OK ? cs_table_text(table, "verdict", text) : status;
}

static cs_status print_entries(const digest *d, FILE *out)
{
    cs_table table = {0};
    cs_status status = cs_table_init(&table, "theorem,form,paper,statement,margin,verdict");
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        for (int form = 0; form < FORMS && status == CS_OK; ++form) {
            const tally *t = &d->entry[i][form];
            if (t->cases > 0) status = entry_row(&table, cs_theorem_list[i], form, t);
        }
    }
    if (status == CS_OK) status = cs_table_print_text(&table, out);
    cs_table_free(&table);
    return status;
}

/* --- what explains them ----------------------------------------------------------------------- */

/* Characters of an input that fit a line: whole parts between commas. */
static int short_input(const char *input)
{
    enum { MOST = 80 };
    int end = (int)strlen(input);
    while (end > MOST) {
        const char *comma = memrchr(input, ',', (size_t)end - 1);
        if (!comma) return MOST;
        end = (int)(comma - input);
    }
    return end;
}

/* Corrected statements that are not known to hold are named: they decide the exit code. */
static void name_failures(const digest *d, FILE *out)
{
    const int id = cs_table_column(d->rows, "id"), input = cs_table_column(d->rows, "input");
    int64_t named = 0, all = 0;
    for (int64_t r = 0; r < d->rows->rows; ++r) {
        const int v = verdict_of(cell(d, r, d->verdict));
        if (strcmp(cell(d, r, d->form), cs_form_name(CS_CORRECTED)) == 0 &&
            (v == CS_FAIL || v == CS_INCONCLUSIVE) && all++ < MOST_NAMED && id >= 0 && input >= 0) {
            const char *on = cell(d, r, input);
            (void)fprintf(out, "%s%s corrected: %s on %.*s\n", named++ == 0 ? "\n" : "",
                          cell(d, r, id), cs_verdict_words((cs_verdict)v, CS_CORRECTED),
                          short_input(on), on);
        }
    }
    if (all > named) (void)fprintf(out, "and %lld more (--all)\n", (long long)(all - named));
}

static void explain(const digest *d, FILE *out)
{
    static const char *const papers[][2] = {
        {"LA", "Look Ahead or Look Around?"},
        {"MAE-LM", "Representation Deficiency in Masked Language Modeling"},
        {"GVP", "Bridging Autoregressive and Masked Modeling for Enhanced Visual Representation "
                "Learning"},
        {"cospec", "statements of this project"}};
    bool used[sizeof papers / sizeof *papers] = {false}, has[VERDICTS] = {false};
    for (int i = 0; i < CS_THEOREMS; ++i) {
        for (int form = 0; form < FORMS; ++form) {
            const tally *t = &d->entry[i][form];
            for (int v = 0; v < VERDICTS; ++v) {
                has[v] = has[v] || t->of[v] > 0;
            }
            for (size_t p = 0; p < sizeof papers / sizeof *papers && t->cases > 0; ++p) {
                used[p] = used[p] || strcmp(papers[p][0], cs_theorem_list[i]->paper) == 0;
            }
        }
    }
    (void)fputs("\nmargin: right side less left side; of an equality minus their difference. "
                "Shown is the worst case.\n"
                "m/n: m of the n cases have this verdict, which is that of the worst case.\n",
                out);
    if (has[CS_VACUOUS]) (void)fputs("vacuous: true, but no better than the trivial bound.\n", out);
    if (has[CS_UNSPECIFIED])
        (void)fputs("not specified: the paper leaves a constant open, so that nothing can fail.\n",
                    out);
    if (d->entry[theorem_of("3.1")][CS_PRINTED].cases > 0)
        (void)fputs("3.1 printed: the statement needs one constant for all f and W. The sides are "
                    "the constants of two random pairs\n"
                    "f, W, so their size depends on the pairs (--seed); the statement fails "
                    "because they differ.\n",
                    out);
    for (size_t p = 0; p < sizeof papers / sizeof *papers; ++p) {
        if (used[p]) (void)fprintf(out, "%s: %s\n", papers[p][0], papers[p][1]);
    }
}

cs_status cs_verify_digest(const cs_table *rows, FILE *out, bool *printed)
{
    digest d = {.rows = rows,
                .theorem = cs_table_column(rows, "theorem"),
                .form = cs_table_column(rows, "form"),
                .verdict = cs_table_column(rows, "verdict"),
                .margin = cs_table_column(rows, "margin")};
    *printed = d.theorem >= 0 && d.form >= 0 && d.verdict >= 0 && d.margin >= 0;
    if (!*printed) {
        return CS_OK;
    }
    for (int i = 0; i < CS_THEOREMS; ++i) {
        for (int form = 0; form < FORMS; ++form) {
            for (int v = 0; v < VERDICTS; ++v) {
                d.entry[i][form].worst[v] = NAN;
            }
        }
    }
    count_cases(&d);
    (void)fprintf(out, "%lld statements, by paper and verdict (--all: a line for each)\n\n",
                  (long long)rows->rows);
    cs_status status = print_summary(&d, out);
    (void)fputc('\n', out);
    if (status == CS_OK) status = print_entries(&d, out);
    if (status == CS_OK) name_failures(&d, out);
    if (status == CS_OK) explain(&d, out);
    return status;
}
