/* cospec verify: theorems of the registry, as printed and as corrected, on the toy model (one or a
 * sweep of them), on a matrix or on a trained model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/trained/theorem_list.h"
#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cli/verify_inputs.h"
#include "io/number.h"

static const cs_opt verify_options[] = {
    CS_FLAG("list", "List the theorems with their statements, and evaluate nothing. --all adds the "
                    "formulas."),
    CS_TEXT("matrix", "DIR|FILE", NULL,
            "Check 3.1 and 4.1 on this matrix instead of the toy model: a directory of cospec cooc "
            "(with its labels), or an .npz, .npy or .mtx file."),
    CS_TEXT("labels", "FILE", NULL,
            "Labels of the rows of a matrix FILE: .npy of integers, or text with one label per "
            "line. Negative, '-' or empty: no label."),
    {"triplets", 'k', CS_OPT_INT, "K", NULL, 1, 1e9,
     "4.1: features t = 1..K. Default: all if the smaller side has at most 512, else 64. trained "
     "--model: leading directions, 16 by default.",
     false},
    CS_INT("rotations", "N", "20", 1, 1e6,
           "4.1: number of random rotations of each degenerate singular space."),
    CS_INT("features", "T", "4", 1, 1e4,
           "3.1: columns of the random f and W. qwem, ntp: most directions."),
    CS_INT("trials", "N", "5", 2, 1e6, "3.1: number of random pairs f, W."),
    CS_INT("width", "D", NULL, 1, 1e4,
           "trained: features of the spectral models. Default: the largest number up to 16 at "
           "which the spectrum has a gap."),
    CS_INT("steps", "N", "3000", 1, 1e9,
           "trained: steps of the spectral models; the Transformer takes a quarter."),
    {0},
};

static const cs_opt model_options[] = {
    CS_HEADING("Theorem 4.3 and refinement on a text"),
    CS_TEXT("model", "DIR", NULL,
            "4.3: check this model of cospec train --arch linear on --corpus, instead of a random "
            "one on the toy model. trained: follow the checkpoints of this run on --matrix."),
    CS_TEXT("against", "DIR", NULL,
            "4.3: measure degradation from the loss of this linear model with the same tokens and "
            "loss. Default: the model's own loss on X_m."),
    CS_INT("masks", "M", "4", 1, 65536,
           "4.3: number of unmasked sets X_m per prefix, drawn by --seed; all if there are no "
           "more."),
    CS_CHOICE("split", "all|train|test", "all",
              "4.3: which documents of --corpus: all, or one side of --test-share."),
    CS_INT("limit", "N", NULL, 1, 1e15, "4.3: use only the first N of those documents."),
    CS_INT("limit-tokens", "N", NULL, 1, 1e15,
           "4.3: use whole documents until they have N tokens."),
    CS_INT("max-length", "L", NULL, 2, 1 << 20,
           "Most tokens of a piece of --corpus. Default: for 4.3 the positions of the model, at "
           "most 512; for refinement whole documents."),
    CS_INT("stride", "N", NULL, 1, 1 << 20,
           "refinement: overlapping windows of --max-length tokens of --corpus, every N tokens."),
    {0},
};

static const cs_opt *const verify_groups[] = {verify_options,     cs_group_language,
                                              model_options,      cs_group_corpus,
                                              cs_group_roles,     cs_group_toy,
                                              cs_group_objective, cs_group_plan,
                                              cs_group_target,    cs_group_plan_sweeps,
                                              cs_group_solver,    cs_group_certify,
                                              cs_group_moments,   NULL};

/* --- the digest -------------------------------------------------------------------------------- */

/* The page is made from the table of statements alone, so that --resume prints the same one. A
 * verdict stands for its cases by the worst of them: a statement fails when one case fails. The
 * worst margin is the smallest of the cases that have this verdict. */

enum { VERDICTS = CS_UNSPECIFIED + 1, FORMS = CS_CORRECTED + 1, MOST_NAMED = 3 };

/* From the worst to the best. */
static const cs_verdict by_weight[VERDICTS] = {CS_FAIL, CS_INCONCLUSIVE, CS_UNSPECIFIED, CS_VACUOUS,
                                               CS_PASS};

/* The statements of one form of one part of a theorem. */
typedef struct {
    int64_t cases, of[VERDICTS];
    double worst[VERDICTS]; /* margin */
} tally;

typedef struct {
    const cs_table *rows;
    int theorem, id, form, verdict, margin; /* columns */
    tally entry[CS_THEOREMS][CS_THEOREM_PARTS][FORMS];
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

/* 0 for a theorem without parts. */
static int part_of(const cs_theorem *theorem, const char *id)
{
    int part = CS_THEOREM_PARTS - 1;
    while (part > 0 && !(theorem->part[part].id && strcmp(theorem->part[part].id, id) == 0)) {
        --part;
    }
    return part;
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
        const int part = part_of(cs_theorem_list[i], cell(d, r, d->id));
        tally *t = &d->entry[i][part][corrected ? CS_CORRECTED : CS_PRINTED];
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
    CS_AUTO(cs_table) table = {0};
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
                for (int part = 0; part < CS_THEOREM_PARTS; ++part) {
                    add_tally(&sum[form], &d->entry[j][part][form]);
                }
            }
        }
        for (int form = 0; form < FORMS && first && status == CS_OK; ++form) {
            if (sum[form].cases > 0) status = summary_row(&table, paper, form, &sum[form]);
        }
    }
    return status == CS_OK ? cs_table_print_text(&table, out) : status;
}

static cs_status entry_row(cs_table *table, const cs_theorem *theorem, int part, int form,
                           const tally *t)
{
    char text[64];
    const char *id = theorem->part[part].id;
    const char *words = id                   ? theorem->part[part].words[form]
                        : form == CS_PRINTED ? theorem->printed_words
                                             : theorem->corrected_words;
    const cs_verdict verdict = worst_of(t);
    cs_status status = cs_table_row(table);
    if (status == CS_OK) status = cs_table_text(table, "theorem", id ? id : theorem->id);
    if (status == CS_OK)
        status = cs_table_text(table, "form", cs_form_name((cs_statement_form)form));
    if (status == CS_OK) status = cs_table_text(table, "paper", theorem->paper);
    if (status == CS_OK) status = cs_table_text(table, "statement", words);
    (void)snprintf(text, sizeof text, isnan(t->worst[verdict]) ? "-" : "%.2g", t->worst[verdict]);
    if (status == CS_OK) status = cs_table_text(table, "margin", text);
    (void)snprintf(text, sizeof text, "%s %lld/%lld",
                   cs_verdict_words(verdict, (cs_statement_form)form), (long long)t->of[verdict],
                   (long long)t->cases);
    return status == CS_OK ? cs_table_text(table, "verdict", text) : status;
}

static cs_status print_entries(const digest *d, FILE *out)
{
    CS_AUTO(cs_table) table = {0};
    cs_status status = cs_table_init(&table, "theorem,form,paper,statement,margin,verdict");
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        for (int at = 0; at < CS_THEOREM_PARTS * FORMS && status == CS_OK; ++at) {
            const int part = at / FORMS, form = at % FORMS;
            const tally *t = &d->entry[i][part][form];
            if (t->cases > 0) status = entry_row(&table, cs_theorem_list[i], part, form, t);
        }
    }
    return status == CS_OK ? cs_table_print_text(&table, out) : status;
}

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
    const int input = cs_table_column(d->rows, "input");
    int64_t named = 0, all = 0;
    for (int64_t r = 0; r < d->rows->rows; ++r) {
        const int v = verdict_of(cell(d, r, d->verdict));
        if (strcmp(cell(d, r, d->form), cs_form_name(CS_CORRECTED)) == 0 &&
            (v == CS_FAIL || v == CS_INCONCLUSIVE) && all++ < MOST_NAMED && input >= 0) {
            const char *on = cell(d, r, input);
            (void)fprintf(out, "%s%s corrected: %s on %.*s\n", named++ == 0 ? "\n" : "",
                          cell(d, r, d->id), cs_verdict_words((cs_verdict)v, CS_CORRECTED),
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
        {"QWEM", "Closed-Form Training Dynamics Reveal Learned Features and Linear Structure in "
                 "Word2Vec-like Models"},
        {"NTP",
         "Geometry of Semantics in Next-Token Prediction: How Optimization Implicitly Organizes "
         "Linguistic Representations"},
        {"R2MAE", "Understanding and Enhancing Mask-Based Pretraining towards Universal "
                  "Representations"},
        {"cospec", "statements of this project"}};
    bool used[sizeof papers / sizeof *papers] = {false}, has[VERDICTS] = {false};
    for (int i = 0; i < CS_THEOREMS; ++i) {
        for (int at = 0; at < CS_THEOREM_PARTS * FORMS; ++at) {
            const tally *t = &d->entry[i][at / FORMS][at % FORMS];
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
    if (d->entry[theorem_of("3.1")][0][CS_PRINTED].cases > 0)
        (void)fputs("3.1 printed: the statement needs one constant for all f and W. The sides are "
                    "the constants of two random pairs\n"
                    "f, W, so their size depends on the pairs (--seed); the statement fails "
                    "because they differ.\n",
                    out);
    for (size_t p = 0; p < sizeof papers / sizeof *papers; ++p) {
        if (used[p]) (void)fprintf(out, "%s: %s\n", papers[p][0], papers[p][1]);
    }
}

/* Prints the number of statements with each verdict, by paper, then one line for each form of each
 * theorem or part of one: paper, statement in words, number of cases, worst margin and verdict. `rows` is the
 * table of statements, evaluated just now or read from a finished run. *printed is false, and
 * nothing is printed, if the table has no column "theorem" (--list, and runs of older versions). */
static cs_status print_digest(const cs_table *rows, FILE *out, bool *printed)
{
    digest d = {.rows = rows,
                .theorem = cs_table_column(rows, "theorem"),
                .id = cs_table_column(rows, "id"),
                .form = cs_table_column(rows, "form"),
                .verdict = cs_table_column(rows, "verdict"),
                .margin = cs_table_column(rows, "margin")};
    *printed = d.theorem >= 0 && d.id >= 0 && d.form >= 0 && d.verdict >= 0 && d.margin >= 0;
    if (!*printed) {
        return CS_OK;
    }
    for (int i = 0; i < CS_THEOREMS; ++i) {
        for (int at = 0; at < CS_THEOREM_PARTS * FORMS; ++at) {
            for (int v = 0; v < VERDICTS; ++v) {
                d.entry[i][at / FORMS][at % FORMS].worst[v] = NAN;
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

/* --- which theorems -------------------------------------------------------------------------- */

/* "2.2|3.1|...|all" */
static void names(const char *between, char text[128])
{
    size_t at = 0;
    for (int i = 0; i <= CS_THEOREMS; ++i) {
        const char *id = i < CS_THEOREMS ? cs_theorem_list[i]->id : "all";
        at += (size_t)snprintf(text + at, 128 - at, "%s%s", i > 0 ? between : "", id);
    }
}

static cs_status choose(cs_verify *v)
{
    const char *name = cs_args_positionals(v->args) == 1 ? cs_args_positional(v->args, 0) : NULL;
    char text[128];
    bool known = false;
    cs_status status = CS_OK;
    names(name ? ", " : "|", text);
    if (!name) {
        return cs_fail(CS_ERR_USAGE, "give one theorem: %s", text);
    }
    v->all = strcmp(name, "all") == 0;
    for (int i = 0; i < CS_THEOREMS; ++i) {
        const cs_theorem *t = cs_theorem_list[i];
        v->chosen[i] = v->all ? !t->apart : strcmp(name, t->id) == 0;
        known = known || v->chosen[i];
    }
    /* An option of a theorem that is apart is valid with that theorem alone. */
    for (int i = 0; i < CS_THEOREMS && known && status == CS_OK; ++i) {
        const cs_theorem *t = cs_theorem_list[i];
        char why[32];
        (void)snprintf(why, sizeof why, "needs verify %s", t->id);
        if (t->apart && t->options && !v->chosen[i])
            status = cs_args_refuse(v->args, t->options, why);
    }
    return known ? status
                 : cs_fail(CS_ERR_USAGE, "unknown theorem '%s' (%s)%s", name, text,
                           cs_choice_hint(name, text, &(cs_hint){0}));
}

static void take_numbers(cs_verify *v)
{
    const cs_args *args = v->args;
    v->input = (cs_theorem_input){.spectrum = &v->solver,
                                  .blocks = cs_args_int(args, "jackknife"),
                                  .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &v->input, triplets, rotations, features, trials, masks, width, steps,
                   seed, threads);
}

/* --- results -------------------------------------------------------------------------------- */

static cs_status show(cs_verify *v)
{
    cs_statements_record(&v->report.statements, v->root);
    if (v->probed) cs_spectral_probe_record(&v->probe, v->root);
    cs_status status = cs_statements_status(&v->report.statements);
    for (int i = 0; status == CS_OK && i < CS_THEOREMS; ++i) {
        if (v->rows[i])
            status = cs_output_csv(v->args, cs_theorem_list[i]->file, &cs_theorem_list[i]->view);
        if (status == CS_OK && v->rows[i] && cs_theorem_list[i]->course_file)
            status = cs_output_csv(v->args, cs_theorem_list[i]->course_file,
                                   &cs_theorem_list[i]->course);
    }
    if (status == CS_OK && v->probed)
        status = cs_output_csv(v->args, "probe.csv", &cs_spectral_probe_view);
    return status == CS_OK ? cs_output_record(v->args, "statements", &cs_statements_view) : status;
}

/* "toy model, matrix, model" as far as the theorem takes them, or "nothing". */
static void inputs_of(const cs_theorem *theorem, char text[64])
{
    static const char *const name[] = {"toy model", "matrix", "model", "corpus", "language"};
    int at = snprintf(text, 64, "%s", "");
    for (int i = 0; i < CS_ON_NOTHING; ++i) {
        if (theorem->run[i]) {
            at += snprintf(text + at, 64 - (size_t)at, "%s%s", at > 0 ? ", " : "", name[i]);
        }
    }
    if (at == 0) {
        (void)snprintf(text, 64, "nothing");
    }
}

/* --list: a row for each form of each theorem. */
static cs_status list_theorems(cs_args *args)
{
    static const cs_view view = {"theorems[]", "id form paper statement takes claim options table"};
    cs_item *theorems = cs_item_array(cs_output_root(args), "theorems");
    for (int i = 0; i < CS_THEOREMS; ++i) {
        const cs_theorem *t = cs_theorem_list[i];
        const char *const text[] = {[CS_PRINTED] = t->printed, [CS_CORRECTED] = t->corrected};
        const char *const words[] = {
            [CS_PRINTED] = t->printed_words, [CS_CORRECTED] = t->corrected_words};
        char takes[64];
        inputs_of(t, takes);
        for (int form = CS_PRINTED; form <= CS_CORRECTED; ++form) {
            if (!text[form]) {
                continue;
            }
            cs_item *row = cs_item_object(theorems, NULL);
            CS_ITEM_FIELDS(row, t, id, paper, options);
            cs_item_text(row, "statement", words[form]);
            cs_item_text(row, "form", cs_form_name((cs_statement_form)form));
            cs_item_text(row, "takes", takes);
            cs_item_text(row, "claim", text[form]);
            cs_item_text(row, "table", t->file);
        }
    }
    return cs_output_record(args, "theorems", &view);
}

static cs_status check_options(const cs_verify *v)
{
    const cs_args *args = v->args;
    cs_status status = CS_OK;
    const bool corpus = cs_verify_named(v) && cs_verify_named(v)->run[CS_ON_CORPUS];
    if (!cs_args_given(args, "model"))
        status = cs_args_refuse(args,
                                corpus ? "against limit limit-tokens"
                                       : "against split limit limit-tokens max-length corpus",
                                "needs verify 4.3 --model DIR");
    if (status == CS_OK && corpus && !cs_args_given(args, "corpus"))
        status = cs_args_refuse(args, "split max-length stride tokenizer vocab min-tokens",
                                "needs --corpus");
    if (status == CS_OK && cs_args_given(args, "stride") && !cs_args_given(args, "max-length"))
        status = cs_fail(CS_ERR_USAGE, "--stride %lld needs --max-length L",
                         (long long)cs_args_int(args, "stride"));
    if (status == CS_OK && !cs_args_given(args, "matrix"))
        status = cs_args_refuse(args, "labels estimate", "needs --matrix");
    if (status == CS_OK && !cs_args_language(args)) status = cs_args_no_language(args);
    return status ? status : cs_args_need_counts(args, "the theorems");
}

static cs_status evaluate(cs_verify *v)
{
    const char *matrix = cs_args_text(v->args, "matrix");
    cs_status status = cs_args_given(v->args, "model")    ? cs_verify_model(v)
                       : matrix                           ? cs_verify_matrix(v, matrix)
                       : cs_args_given(v->args, "corpus") ? cs_verify_corpus(v)
                                                          : cs_verify_toy(v);
    for (int i = CS_THEOREMS - 1; i >= 0 && status == CS_OK; --i) {
        status = cs_verify_run_one(v, i, CS_ON_NOTHING);
    }
    return status;
}

static cs_status run_verify(cs_args *args)
{
    cs_verify v = {.args = args};
    if (cs_args_flag(args, "list")) {
        return list_theorems(args);
    }
    cs_status status = choose(&v);
    if (status == CS_OK) status = check_options(&v);
    if (status == CS_OK) status = cs_args_spectrum(args, &v.solver);
    if (status == CS_OK) status = cs_args_certify(args, 0, &v.solver.certify);
    if (status != CS_OK) return status;
    v.root = cs_output_root(args);
    take_numbers(&v);
    status = evaluate(&v);
    if (status == CS_OK) status = show(&v);
    if (status == CS_OK && v.all)
        cs_output_note(args,
                       "not among all: refinement (it needs a corpus), qwem and ntp (about other "
                       "forms) and trained (it takes some seconds)");
    if (status == CS_OK) status = cs_verdicts_report(args, &v.report.statements);
    cs_statements_free(&v.report.statements);
    return status;
}

const cs_command cs_cmd_verify = {
    .name = "verify",
    .help = &cs_help_verify,

    .positional = "[2.2|3.1|4.1|4.2|4.3|refinement|feedback|query-position|qwem|ntp|masking-ridge|"
                  "trained|all]",
    .main = "list objective classes length tokens matrix model corpus mask-ratio output",
    .groups = verify_groups,
    .run = run_verify,
    .files = "statements.json statements.csv theorem41_curve.csv theorem42.csv "
             "theorem43_curve.csv refinement.csv qwem.csv ntp.csv orthants.csv trained.csv "
             "order.csv probe.csv "
             "theorems.json "
             "theorems.csv",
    .without = "dry-run",
    .shown = "id form paper verdict lhs relation rhs input statement takes",
    .digest = print_digest,
};
