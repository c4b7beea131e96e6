/* cospec verify: the theorems of Look Ahead or Look Around? as printed and as corrected, on the toy
 * model (one or a sweep of them) or on a matrix. */
#include <math.h>
#include <string.h>

#include "analysis/spectral_probe.h"
#include "analysis/theorem_22.h"
#include "analysis/theorem_42.h"
#include "analysis/theorem_43.h"
#include "analysis/theorems.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/judge.h"
#include "cli/output.h"
#include "cli/sweep.h"
#include "cli/tail_report.h"
#include "cli/verify_labels.h"
#include "cli/verify_linear.h"
#include "cli/verify_trained.h"
#include "cooc/store.h"
#include "io/file.h"
#include "io/json.h"
#include "linalg/matrix_file.h"

enum { DEFAULT_TRIPLETS = 64, SMALL_SIDE = 512, TOY_ENTRIES = 1 << 22 };

static const cs_opt verify_options[] = {
    {"matrix", 0, CS_OPT_TEXT, "DIR|FILE", NULL, 0, 0,
     "Audit 3.1 and 4.1 on this matrix instead of the toy model: a directory written by cospec "
     "cooc "
     "(with its labels), or an .npz, .npy or .mtx file of counts or probabilities.",
     false},
    {"labels", 0, CS_OPT_TEXT, "FILE", NULL, 0, 0,
     "Labels of the rows of a matrix FILE: .npy of integers, or text with a label a line; "
     "negative, "
     "'-' or empty for none.",
     false},
    {"triplets", 'k', CS_OPT_INT, "K", NULL, 1, 1e9,
     "4.1: features t = 1..K. Default: all where the smaller side has at most 512, else 64.",
     false},
    {"rotations", 0, CS_OPT_INT, "N", "20", 1, 1e6,
     "4.1: random rotations of each degenerate singular space.", false},
    {"features", 0, CS_OPT_INT, "T", "4", 1, 1e4, "3.1: columns of the random f and W.", false},
    {"trials", 0, CS_OPT_INT, "N", "5", 2, 1e6, "3.1: random pairs f, W.", false},
    {"width", 0, CS_OPT_INT, "D", NULL, 1, 1e4,
     "trained: features of the spectral models. Default: the largest number up to 16 at which the "
     "spectrum has a gap.",
     false},
    {"steps", 0, CS_OPT_INT, "N", "3000", 1, 1e9,
     "trained: steps of the spectral models; the Transformer takes a quarter.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt *const verify_groups[] = {verify_options,       cs_group_verify_linear,
                                              cs_group_corpus_text, cs_group_toy,
                                              cs_group_plan,        cs_group_plan_sweeps,
                                              cs_group_solver,      cs_group_certify,
                                              cs_group_moments,     NULL};

typedef struct {
    cs_args *args;
    cs_spectrum_options solver;
    bool t22, t31, t41, t42, t43, all, trained;
    cs_statements list;
    cs_table curve, spectra, models, lengths;
    bool probed;
    cs_spectral_probe_result probe;
} verify;

static cs_status read_theorem(verify *v)
{
    const char *name = cs_args_positionals(v->args) == 1 ? cs_args_positional(v->args, 0) : NULL;
    if (!name) {
        return cs_fail(CS_ERR_USAGE,
                       "one theorem is needed: 2.2, 3.1, 4.1, 4.2, 4.3, trained or all");
    }
    v->all = strcmp(name, "all") == 0;
    v->t22 = v->all || strcmp(name, "2.2") == 0;
    v->t31 = v->all || strcmp(name, "3.1") == 0;
    v->t41 = v->all || strcmp(name, "4.1") == 0;
    v->t42 = v->all || strcmp(name, "4.2") == 0;
    v->t43 = v->all || strcmp(name, "4.3") == 0;
    v->trained = strcmp(name, "trained") == 0;
    if (!v->t22 && !v->t31 && !v->t41 && !v->t42 && !v->t43 && !v->trained) {
        return cs_fail(CS_ERR_USAGE,
                       "theorem '%s' is not one of 2.2, 3.1, 4.1, 4.2, 4.3, trained, all", name);
    }
    for (int i = 0; i < 2 && !v->trained; ++i) {
        if (cs_args_given(v->args, i ? "steps" : "width")) {
            return cs_fail(CS_ERR_USAGE, "--%s goes with verify trained", i ? "steps" : "width");
        }
    }
    return CS_OK;
}

static cs_theorem_41_options options_41(const verify *v)
{
    return (cs_theorem_41_options){
        .spectrum = &v->solver,
        .t_max = cs_args_given(v->args, "triplets") ? cs_args_int(v->args, "triplets") : 0,
        .rotations = cs_args_int(v->args, "rotations"),
        .seed = cs_args_seed(v->args),
        .threads = cs_args_threads(v->args),
        .progress = cs_output_progress(v->args)};
}

static cs_theorem_31_options options_31(const verify *v)
{
    return (cs_theorem_31_options){.spectrum = &v->solver,
                                   .features = cs_args_int(v->args, "features"),
                                   .trials = cs_args_int(v->args, "trials"),
                                   .seed = cs_args_seed(v->args),
                                   .threads = cs_args_threads(v->args)};
}

/* --- the toy model -------------------------------------------------------------------------- */

static cs_status toy_31(verify *v, const cs_toy *toy)
{
    cs_labelled m = {0};
    cs_theorem_31_options o = options_31(v);
    char *input = cs_42_describe(toy);
    cs_status status = input ? cs_toy_matrix(toy, TOY_ENTRIES, &m) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_theorem_31(&m.a, input, &o, &v->list);
    }
    cs_labelled_free(&m);
    cs_free(input);
    return status;
}

/* Theorems 3.1 and 4.1 need the whole matrix; `all` passes over a toy that is too large for it. */
static cs_status toy_matrix_theorems(verify *v, const cs_toy *toy)
{
    double rows, cols, nnz;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    if (status == CS_OK && v->all && nnz > TOY_ENTRIES) {
        cs_output_note(
            v->args, "3.1 and 4.1 are left out: the toy matrix has %.3g x %.3g with %.3g nonzeros",
            rows, cols, nnz);
        return CS_OK;
    }
    if (status == CS_OK && v->t31) {
        status = toy_31(v, toy);
    }
    if (status == CS_OK && v->t41) {
        cs_theorem_41_options o = options_41(v);
        status = cs_theorem_41_toy(toy, TOY_ENTRIES, &o, &v->list, &v->curve);
    }
    return status;
}

static cs_status toy_trained(verify *v, const cs_toy *toy)
{
    const cs_trained_options o = {
        .width = cs_args_given(v->args, "width") ? cs_args_int(v->args, "width") : 0,
        .steps = cs_args_int(v->args, "steps"),
        .seed = cs_args_seed(v->args),
        .solver = &v->solver};
    return cs_verify_trained(toy, &o, &v->list, &v->models);
}

/* One sweep point. Without --objective 3.1 and 4.1 look at both of the paper's objectives. */
static cs_status toy_point(verify *v, const cs_sweep *sweep, int64_t point, cs_plan_file *file)
{
    cs_toy toy;
    cs_status status = cs_args_toy(v->args, sweep, point, "masked", file, &toy);
    if (status == CS_OK && (v->t31 || v->t41)) {
        status = toy_matrix_theorems(v, &toy);
        if (status == CS_OK && !cs_args_given(v->args, "objective")) {
            cs_toy ar = cs_42_with(&toy, CS_OBJ_AR, toy.objective.empty_prefix);
            status = toy_matrix_theorems(v, &ar);
        }
    }
    if (status == CS_OK && v->t42) {
        status = cs_theorem_42(&toy, &v->list, &v->spectra);
    }
    if (status == CS_OK && v->t43) {
        status = cs_verify_linear_toy(v->args, &toy, &v->list, &v->lengths);
    }
    return status == CS_OK && v->trained ? toy_trained(v, &toy) : status;
}

static cs_status verify_toy(verify *v)
{
    cs_sweep sweep;
    cs_plan_file file = {0};
    cs_status status = cs_sweep_of(v->args, &sweep);
    if (status != CS_OK) {
        return status;
    }
    cs_sweep_default(&sweep, "classes", "3");
    cs_sweep_default(&sweep, "length", "4");
    cs_sweep_default(&sweep, "tokens", "2");
    const char *objective = cs_args_text(v->args, "objective");
    bool masks =
        !objective || strcmp(objective, "masked") == 0 || strcmp(objective, "variable-masked") == 0;
    if (masks && !cs_args_given(v->args, "unmasked")) {
        cs_sweep_default(&sweep, "mask-ratio", "0.5");
    }
    for (int64_t p = 0; status == CS_OK && p < sweep.points; ++p) {
        status = toy_point(v, &sweep, p, &file);
        cs_progress_report(cs_output_progress(v->args), "toy models", p + 1, sweep.points);
    }
    cs_plan_file_free(&file);
    return status;
}

/* --- a matrix ------------------------------------------------------------------------------- */

static cs_status spectrum_for(const verify *v, const cs_csr *a, cs_spectrum *out)
{
    cs_spectrum_options o = v->solver;
    int64_t side = a->rows < a->cols ? a->rows : a->cols;
    o.k = side <= SMALL_SIDE ? 0 : DEFAULT_TRIPLETS;
    if (cs_args_given(v->args, "triplets")) {
        o.k = cs_args_int(v->args, "triplets");
    }
    o.moment4 = true;
    o.moment4_budget = cs_args_moment_budget(v->args);
    o.values_only = false;
    double cost = 0;
    cs_status status = o.k > 0 ? cs_args_note_moment4(v->args, a, &cost) : CS_OK;
    status = status ? status : cs_spectrum_of(a, &o, out);
    if (status == CS_OK && o.k > 0) {
        cs_sum4_note(v->args, &out->sum4);
    }
    if (status == CS_OK && !out->converged) {
        cs_output_note(v->args, "the solver did not converge: %lld of %lld singular triplets",
                       (long long)out->k, (long long)(o.k > 0 ? o.k : side));
    }
    if (status == CS_OK && out->converged) { /* a certificate may fail */
        status = cs_spectrum_require(out);
    }
    return status;
}

static cs_status matrix_theorems(verify *v, const cs_labelled *m, const char *input,
                                 const cs_cooc_store *store)
{
    cs_spectrum spectrum = {0};
    cs_status status = CS_OK;
    if (v->t31) {
        cs_theorem_31_options o = options_31(v);
        status = cs_theorem_31(&m->a, input, &o, &v->list);
    }
    bool labelled = m->labels > 0;
    if (status == CS_OK && v->all && !labelled) {
        cs_output_note(v->args, "4.1 is left out: %s has no labels", input);
    }
    if (status != CS_OK || !v->t41 || (v->all && !labelled)) {
        return status;
    }
    if (!labelled) {
        return cs_fail(CS_ERR_USAGE, "Theorem 4.1 needs labels: %s has none%s", input,
                       store ? "" : " (--labels FILE)");
    }
    status = spectrum_for(v, &m->a, &spectrum);
    if (status == CS_OK) {
        cs_theorem_41_options o = options_41(v);
        status = cs_theorem_41(m, &spectrum, input, &o, &v->list, &v->curve);
    }
    if (status == CS_OK && store && !spectrum.converged) {
        cs_output_note(v->args, "no held-out probe: it needs all the triplets");
    } else if (status == CS_OK && store && store->options.split == CS_SPLIT_TRAIN) {
        status = cs_spectral_probe(&store->corpus, &store->options, &store->cooc, &spectrum, 0,
                                   cs_args_threads(v->args), &v->probe);
        v->probed = status == CS_OK;
    } else if (status == CS_OK && store) {
        cs_output_note(v->args, "no held-out probe: %s was not built with --split train", input);
    }
    cs_spectrum_free(&spectrum);
    return status;
}

static cs_status verify_store(verify *v, const char *path)
{
    cs_cooc_store store = {0};
    cs_status status = cs_cooc_read(path, &store);
    if (status == CS_OK) {
        status = cs_output_input(v->args, path);
    }
    if (status == CS_OK) {
        status = matrix_theorems(v, &store.cooc.matrix, path, &store);
    }
    cs_cooc_store_free(&store);
    return status;
}

static cs_status verify_file(verify *v, const char *path)
{
    cs_labelled m = {0};
    const char *labels = cs_args_text(v->args, "labels");
    cs_status status = cs_matrix_read(path, &m.a);
    if (status == CS_OK) {
        status = cs_output_input(v->args, path);
    }
    if (status == CS_OK && labels) {
        status = cs_labels_read(labels, &m);
        if (status == CS_OK) {
            status = cs_output_input(v->args, labels);
        }
    }
    if (status == CS_OK) {
        status = cs_blame(cs_csr_check(&m.a, true), "%s", path);
    }
    if (status == CS_OK) {
        status = matrix_theorems(v, &m, path, NULL);
    }
    cs_labelled_free(&m);
    return status;
}

static cs_status verify_matrix(verify *v, const char *path)
{
    static const char *const toy_only[] = {"objective", "classes", "length", "tokens"};
    for (size_t i = 0; i < sizeof toy_only / sizeof *toy_only; ++i) {
        if (cs_args_given(v->args, toy_only[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s belongs to the toy model and --matrix replaces it",
                           toy_only[i]);
        }
    }
    if (((v->t22 || v->t42 || v->t43) && !v->all) || v->trained) {
        return cs_fail(CS_ERR_USAGE, "%s: it takes no --matrix",
                       v->trained ? "verify trained trains on the toy model"
                       : v->t22   ? "Theorem 2.2 is about attention layers"
                       : v->t42   ? "Theorem 4.2 is about the toy model"
                                  : "Theorem 4.3 is about a model of linear attention");
    }
    if (!cs_path_is_dir(path)) {
        return verify_file(v, path);
    }
    if (cs_args_given(v->args, "labels")) {
        return cs_fail(CS_ERR_USAGE, "--labels goes with a matrix file; %s is a directory", path);
    }
    return verify_store(v, path);
}

/* --- a model of linear attention ------------------------------------------------------------- */

static cs_status verify_model(verify *v)
{
    static const char *const others[] = {"matrix", "objective", "classes", "length",
                                         "tokens", "labels",    "triplets"};
    if (!v->t43 || v->all) {
        return cs_fail(CS_ERR_USAGE, "--model goes with verify 4.3");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (cs_args_given(v->args, others[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s has no meaning with --model", others[i]);
        }
    }
    return cs_verify_linear_model(v->args, &v->list, &v->lengths);
}

/* --- results -------------------------------------------------------------------------------- */

static cs_status extra_table(const verify *v, const char *file, const cs_table *table)
{
    char *path = NULL;
    if (table->columns == 0 || !cs_args_given(v->args, "output")) {
        return CS_OK;
    }
    cs_status status = cs_output_path(v->args, file, &path);
    if (status == CS_OK) {
        status = cs_table_write_csv(table, path);
    }
    cs_free(path);
    return status;
}

static cs_status write_tables(const verify *v)
{
    cs_table probe = {0};
    cs_status status = extra_table(v, "theorem41_curve.csv", &v->curve);
    if (status == CS_OK) {
        status = extra_table(v, "theorem42.csv", &v->spectra);
    }
    if (status == CS_OK) {
        status = extra_table(v, "trained.csv", &v->models);
    }
    if (status == CS_OK) {
        status = extra_table(v, "theorem43_curve.csv", &v->lengths);
    }
    if (status == CS_OK && v->probed) {
        status = cs_spectral_probe_table(&v->probe, &probe);
        if (status == CS_OK) {
            status = extra_table(v, "probe.csv", &probe);
        }
        cs_table_free(&probe);
    }
    return status;
}

static void note_probe(const verify *v)
{
    const cs_spectral_probe_result *p = &v->probe;
    cs_output_note(v->args,
                   "held-out accuracy on %lld documents: majority %.4f, naive Bayes %.4f, spectral "
                   "features by tokens %.4f, by contexts %.4f (+- %.4f; %.1f%% of the context mass "
                   "unknown)",
                   (long long)p->test_documents, p->majority.accuracy, p->bayes.accuracy,
                   p->tokens.accuracy, p->contexts.accuracy, p->contexts.se,
                   100 * p->unknown_contexts);
}

static cs_status show(verify *v)
{
    cs_table table = {0};
    /* A line for each statement on a terminal; files have every column. */
    bool brief = !cs_args_flag(v->args, "csv") && !cs_args_given(v->args, "output");
    json_t *json = cs_statements_json(&v->list);
    cs_status status = json ? cs_statements_table(&v->list, brief, &table) : CS_ERR_MEMORY;
    if (status == CS_OK && v->probed) {
        note_probe(v);
        status = cs_json_set(json, "probe", cs_spectral_probe_json(&v->probe));
    }
    if (status == CS_OK) {
        status = write_tables(v);
    }
    if (status == CS_OK) {
        status = cs_output_result(v->args, "statements", json, &table);
    }
    json_decref(json);
    cs_table_free(&table);
    return status;
}

static cs_status claim_files(const cs_args *args)
{
    static const char *const file[] = {
        "statements.json", "statements.csv",      "theorem41_curve.csv",
        "theorem42.csv",   "theorem43_curve.csv", "trained.csv",
        "probe.csv"};
    cs_status status = CS_OK;
    for (size_t i = 0; status == CS_OK && i < sizeof file / sizeof *file; ++i) {
        status = cs_output_claim(args, file[i]);
    }
    return status;
}

static cs_status run_verify(cs_args *args)
{
    verify v = {.args = args};
    const char *matrix = cs_args_text(args, "matrix");
    const char *model = cs_args_text(args, "model");
    cs_status status = read_theorem(&v);
    if (status == CS_OK && !model) {
        status = cs_verify_linear_alone(args);
    }
    if (status == CS_OK && cs_args_given(args, "labels") && !matrix) {
        status = cs_fail(CS_ERR_USAGE, "--labels goes with --matrix FILE");
    }
    if (status == CS_OK && cs_args_flag(args, "normalised")) {
        status = cs_fail(CS_ERR_USAGE, "--normalised: the theorems need the counts or "
                                       "probabilities behind a normalised matrix");
    }
    if (status == CS_OK) {
        status = cs_args_spectrum(args, &v.solver);
    }
    if (status == CS_OK) {
        status = cs_args_certify(args, 0, &v.solver.certify);
    }
    if (status == CS_OK) {
        status = claim_files(args);
    }
    if (status == CS_OK) {
        status = model ? verify_model(&v) : matrix ? verify_matrix(&v, matrix) : verify_toy(&v);
    }
    if (status == CS_OK && v.t43) {
        status = cs_43_examples(&v.list);
    }
    if (status == CS_OK && v.t41) {
        const cs_theorem_41_options o = options_41(&v);
        status = cs_theorem_41_unweighted(&o, &v.list);
    }
    if (status == CS_OK && v.t22) {
        const cs_theorem_22_options o = {.seed = cs_args_seed(args)};
        status = cs_theorem_22(&o, &v.list);
    }
    if (status == CS_OK) {
        status = show(&v);
    }
    if (status == CS_OK) {
        status = cs_judge_statements(args, &v.list);
    }
    cs_statements_free(&v.list);
    cs_table_free(&v.curve);
    cs_table_free(&v.spectra);
    cs_table_free(&v.models);
    cs_table_free(&v.lengths);
    return status;
}

const cs_command cs_cmd_verify = {
    .name = "verify",
    .summary = "Check the theorems of the paper: as printed, and as corrected",
    .description =
        "Evaluates each statement of Theorems 3.1, 4.1, 4.2 and 4.3 of Look Ahead or Look Around? "
        "on the toy model, 3.1 and 4.1 on a matrix, or 4.3 on a trained model: both sides, margin, "
        "bound on the numerical error, and a verdict. 2.2 is the residual contraction of MAE-LM's "
        "Theorem 2.2 on random attention layers (on a model's own: mask-rank).\n"
        "\n"
        "  PASS          holds beyond the numerical error\n"
        "  FAIL          violated beyond it, with a counterexample\n"
        "  VACUOUS       true, but no better than the trivial bound\n"
        "  INCONCLUSIVE  the margin is below the numerical error, or the solver\n"
        "                did not converge\n"
        "  UNSPECIFIED   the paper leaves a constant open\n"
        "\n"
        "Without --objective, 3.1 and 4.1 look at masked and at autoregressive pretraining. The "
        "default toy model has 3 classes, 4 positions, 2 tokens and half of the positions masked. "
        "Options of the toy model take sweeps A:B:STEP.\n"
        "\n"
        "4.1 on a matrix of a corpus (cospec cooc --corpus ... -o DIR, then --matrix DIR) needs no "
        "full SVD: the tail sum_{j>t} sigma_j^4 is sum sigma^4 less the first t of K triplets "
        "(-k), "
        "exact where that sum costs no more than --moment-budget, else estimated; then the "
        "half-width of its interval at 99.73% is part of the numerical error, and tail_source says "
        "so. cospec density gives the same tail with no triplet at all.\n"
        "\n"
        "4.3 takes a random model of linear attention on the toy model's sequences, or a trained "
        "one (--model, cospec train --arch linear) on a text. It evaluates the printed bound with "
        "its assumptions, each slip of the printed proof, and the sharpened bound "
        "||W (f^(X_m) - f^(X_<k))|| <= ||W|| eta (1 - ((k-1)/N)^p) = Delta_k for mean-pooled "
        "attention, p = 2 for Q K^T V and 3 for the paper's expansion. N is the number of unmasked "
        "tokens that the model was trained with, or that of --unmasked or --mask-ratio. Fixed "
        "examples on which the printed statements fail stand beside it.\n"
        "\n"
        "trained trains small models on the toy model's sequences (not part of all; some seconds) "
        "and holds them against the theory: linear attention under the spectral loss with factors "
        "b "
        "= 2 and 1, a free vector a context under the same loss, and a small Transformer under "
        "cross-entropy. It reports the loss against its known minimum, principal angles between "
        "the "
        "top singular subspaces of F W'^T and of Abar, and cross-entropy on fresh sequences "
        "against "
        "the least there is. Too little training is INCONCLUSIVE; an architecture that does not "
        "hold "
        "the optimum is UNSPECIFIED, with what it can reach.\n"
        "\n"
        "With -o DIR: statements.json, statements.csv, theorem41_curve.csv (error and bounds for "
        "every t), theorem42.csv (spectra by enumeration, reduction and closed form), "
        "theorem43_curve.csv (loss, misalignment and Delta_k by prefix length), trained.csv "
        "(a row a model), and, for a "
        "matrix built with --split train, probe.csv (accuracy on the held-out documents).\n"
        "\n"
        "Exit code 1: a corrected statement failed (a false printed one is a finding, not an "
        "error); 4: one is inconclusive, unless it is a bound whose two sides agree to eight "
        "digits: rounding cannot tell equality from either side, and the statement says "
        "\"attained\".",

    .positional = "2.2|3.1|4.1|4.2|4.3|trained|all",
    .groups = verify_groups,
    .examples = "# every statement on the default toy model\n"
                "cospec verify all\n"
                "# the bound of Theorem 4.1 for autoregressive pretraining\n"
                "cospec verify 4.1 --objective ar --classes 4 --length 5 --tokens 2 --json\n"
                "# Theorem 4.2 over mask ratios\n"
                "cospec verify 4.2 --length 6 --mask-ratio 0.2:0.8:0.2 --csv\n"
                "# Theorem 4.3 on a trained model of linear attention\n"
                "cospec train --corpus verses.txt --objective linear --mask-ratio 0.5 --steps 5 "
                "--width 16 --heads 2 --batch 8 -o linear\n"
                "cospec verify 4.3 --model linear --corpus verses.txt --limit 20\n"
                "# does training find the singular vectors?\n"
                "cospec verify trained --objective masked --unmasked 2 --classes 2 --length 4 "
                "--tokens 2",
    .run = run_verify,
    .without = "dry-run",
};
