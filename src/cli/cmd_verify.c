/* cospec verify: theorems of the registry, as printed and as corrected, on the toy model (one or a
 * sweep of them), on a matrix or on a trained model. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/language.h"
#include "cli/output.h"
#include "cli/verdicts.h"
#include "cli/verify_digest.h"
#include "cli/verify_inputs.h"
#include "io/result.h"

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
     "4.1: features t = 1..K. Default: all if the smaller side has at most 512, else 64.", false},
    CS_INT("rotations", "N", "20", 1, 1e6,
           "4.1: number of random rotations of each degenerate singular space."),
    CS_INT("features", "T", "4", 1, 1e4, "3.1: columns of the random f and W."),
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
            "one on the toy model."),
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

static const cs_opt *const verify_groups[] = {verify_options,
                                              cs_group_language,
                                              model_options,
                                              cs_group_corpus,
                                              cs_group_toy,
                                              cs_group_objective,
                                              cs_group_plan,
                                              cs_group_target,
                                              cs_group_plan_sweeps,
                                              cs_group_solver,
                                              cs_group_certify,
                                              cs_group_moments,
                                              NULL};

/* --- which theorems -------------------------------------------------------------------------- */

/* "2.2|3.1|...|all" */
static void names(const char *between, char text[112])
{
    size_t at = 0;
    for (int i = 0; i <= CS_THEOREMS; ++i) {
        const char *id = i < CS_THEOREMS ? cs_theorem_list[i]->id : "all";
        at += (size_t)snprintf(text + at, 112 - at, "%s%s", i > 0 ? between : "", id);
    }
}

static cs_status choose(cs_verify *v)
{
    const char *name = cs_args_positionals(v->args) == 1 ? cs_args_positional(v->args, 0) : NULL;
    char text[112];
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
    /* Options of a theorem that is apart go with it alone. */
    for (int i = 0; i < CS_THEOREMS && known && status == CS_OK; ++i) {
        const cs_theorem *t = cs_theorem_list[i];
        char why[32];
        (void)snprintf(why, sizeof why, "needs verify %s", t->id);
        if (t->apart && !v->chosen[i]) status = cs_args_refuse(v->args, t->options, why);
    }
    return known ? status
                 : cs_fail(CS_ERR_USAGE, "unknown theorem '%s' (%s)%s", name, text,
                           cs_choice_hint(name, text, &(cs_hint){0}));
}

const cs_theorem *cs_verify_named(const cs_verify *v)
{
    for (int i = 0; i < CS_THEOREMS && !v->all; ++i) {
        if (v->chosen[i]) {
            return cs_theorem_list[i];
        }
    }
    return NULL;
}

cs_status cs_verify_run_one(cs_verify *v, int i, cs_theorem_on on)
{
    const cs_theorem *t = cs_theorem_list[i];
    if (!v->chosen[i] || !t->run[on]) {
        return CS_OK;
    }
    if (t->file && on != CS_ON_NOTHING && !v->rows[i]) {
        v->rows[i] = cs_item_array(v->root, t->key);
    }
    v->report.rows = v->rows[i];
    v->report.statements.theorem = t->id;
    return t->run[on](&v->input, &v->report);
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
        cs_output_note(args, "not among all: refinement (it needs a corpus) and trained (it takes "
                             "some seconds)");
    if (status == CS_OK) status = cs_verdicts_report(args, &v.report.statements);
    cs_statements_free(&v.report.statements);
    return status;
}

const cs_command cs_cmd_verify = {
    .name = "verify",
    .summary = "Check the theorems of the papers, as printed and as corrected",
    .description =
        "Evaluates each statement of Theorems 3.1, 4.1, 4.2 and 4.3 of Look Ahead or Look "
        "Around?: both sides, margin, bound on the numerical error, and a verdict. The "
        "statements run on the toy model; 3.1 and 4.1 also on a matrix, and 4.3 on a trained "
        "model. The argument 2.2 checks MAE-LM's Theorem 2.2 on random attention layers "
        "(mask-rank: on a model's own layers).\n\n"
        "  verdict             in files\n"
        "  holds               PASS          beyond the numerical error\n"
        "  false as printed    FAIL          violated, with a counterexample\n"
        "  holds, but vacuous  VACUOUS       no better than the trivial bound\n"
        "  undetermined        INCONCLUSIVE  the margin is below the error\n"
        "  not specified       UNSPECIFIED   a constant is not stated\n\n"
        "The output counts statements by paper and verdict, then has one line for each form of "
        "each theorem: worst margin, verdict, and how many cases have it. --all prints a line per "
        "case.\n\n"
        "Without --objective, 3.1 and 4.1 evaluate masked and ar. The default toy model has 3 "
        "classes, 4 positions, 2 tokens and half of the positions masked. Options of the toy "
        "model take sweeps A:B:STEP.\n\n"
        "4.1 on a corpus (cospec cooc --corpus ... -o DIR, then --matrix DIR) needs no full SVD. "
        "The tail sum_{j>t} sigma_j^4 is sum sigma^4 minus the first t of K triplets (-k). That "
        "sum is exact if it costs no more than --moment-budget. Otherwise it is estimated, the "
        "half-width of its interval at 99.73% adds to the numerical error, and tail_source says "
        "so. With --estimate distinct-document the bound is for the language: tail and alpha~ "
        "are estimates from pairs of documents, with errors.\n\n"
        "4.3 takes a random model of linear attention on the toy model's sequences, or a trained "
        "one (--model, cospec train --arch linear) on a text. It evaluates the printed bound "
        "with its assumptions, each error of the printed proof, and the sharpened bound for "
        "mean-pooled attention:\n\n"
        "  ||W (f^(X_m) - f^(X_<k))|| <= ||W|| eta (1 - ((k-1)/N)^p) = Delta_k\n\n"
        "Here p is 2 for Q K^T V and 3 for the paper's expansion. N is the number of unmasked "
        "tokens in the model's training, or the value of --unmasked or --mask-ratio. Fixed "
        "counterexamples of the printed statements are listed too "
        "(docs/explanation/theorem-4-3.md).\n\n"
        "The argument trained fits small models to the toy model's sequences in some seconds. "
        "They are linear attention under the spectral loss with factors b = 2 and 1, free "
        "vectors under the same loss, and a small Transformer under cross-entropy. It reports "
        "the loss, principal angles between the top singular subspaces of F W'^T and Abar, and "
        "cross-entropy on fresh sequences, with the known minima. Too little training is "
        "undetermined. An architecture that cannot represent the optimum is not specified, with "
        "the value it can reach.\n\n"
        "The argument refinement compares contexts: one whose rows are a function of another's "
        "is better connected, sigma_j(coarser) <= sigma_j(finer) for every j "
        "(docs/explanation/refinement-and-kernel.md). It orders the contexts document, each:2, "
        "nearest:1 to 3, all and unique, blind and given, and compares their spectra. The events "
        "come from the toy model, random texts or a --corpus. The arguments feedback (LA, Table "
        "8) and query-position (GVP 4.1) are about images (docs/explanation/images.md). The "
        "argument all leaves out refinement and trained.\n\n"
        "With -o DIR:\n\n"
        "  statements.json, .csv   every statement\n"
        "  theorem41_curve.csv     error and bounds for every t\n"
        "  theorem42.csv           spectra by enumeration, reduction, closed form\n"
        "  theorem43_curve.csv     loss, misalignment, Delta_k by prefix length\n"
        "  refinement.csv          pairs of contexts, ordered or not\n"
        "  trained.csv             the trained models\n"
        "  probe.csv               accuracy on held-out documents, for a matrix\n"
        "                          built with --split train\n\n"
        "Exit code 1: a corrected statement failed; a failure of a statement as printed is a "
        "finding, not an error. Exit code 4: a statement is inconclusive. A bound whose two "
        "sides agree to eight digits counts as attained, because rounding cannot separate "
        "equality from either side.",

    .positional = "[2.2|3.1|4.1|4.2|4.3|refinement|feedback|query-position|trained|all]",
    .main = "list objective classes length tokens matrix model corpus mask-ratio output",
    .groups = verify_groups,
    .examples =
        "# every statement on the default toy model\n"
        "cospec verify all\n"
        "# the bound of Theorem 4.1 for autoregressive pretraining\n"
        "cospec verify 4.1 --objective ar --classes 4 --length 5 --tokens 2 --json\n"
        "# Theorem 4.2 over mask ratios\n"
        "cospec verify 4.2 --length 6 --mask-ratio 0.2:0.8:0.2 --csv\n"
        "# Theorem 4.3 on a trained model of linear attention\n"
        "cospec train --corpus verses.txt --objective linear --mask-ratio 0.5 --steps 5 "
        "--width 16 --heads 2 --batch 8 -o linear\n"
        "cospec verify 4.3 --model linear --corpus verses.txt --limit 20\n"
        "# a context with more information is worse connected\n"
        "cospec verify refinement --corpus verses.txt --objective masked --mask-ratio 0.5 "
        "--max-length 4\n"
        "# does training find the singular vectors?\n"
        "cospec verify trained --objective masked --unmasked 2 --classes 2 --length 4 --tokens "
        "2",
    .run = run_verify,
    .files = "statements.json statements.csv theorem41_curve.csv theorem42.csv "
             "theorem43_curve.csv refinement.csv trained.csv probe.csv theorems.json theorems.csv",
    .without = "dry-run",
    .shown = "id form paper verdict lhs relation rhs input statement takes",
    .digest = cs_verify_digest,
};
