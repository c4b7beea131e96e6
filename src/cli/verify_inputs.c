/* The inputs of cospec verify, from its options: toy models, a matrix, trained models. */
#include "cli/verify_inputs.h"

#include <string.h>

#include "analysis/study/compare.h"
#include "analysis/theorems/theorems.h"
#include "analysis/trained/learned_order.h"
#include "base/auto.h"
#include "cli/argument_kind.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/results.h"
#include "io/file.h"
#include "linalg/matrix_file.h"
#include "plan/spec.h"

enum { DEFAULT_TRIPLETS = 64, SMALL_SIDE = 512 };

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
    if (t->file && (on != CS_ON_NOTHING || !v->all) && !v->rows[i]) {
        v->rows[i] = cs_item_array(v->root, t->key);
        v->course[i] = t->course_key ? cs_item_array(v->root, t->course_key) : NULL;
    }
    v->report.rows = v->rows[i];
    v->report.course = v->course[i];
    v->report.statements.theorem = t->id;
    v->report.note[0] = '\0';
    cs_status status = t->run[on](&v->input, &v->report);
    if (status == CS_OK && v->report.note[0]) cs_output_note(v->args, "%s", v->report.note);
    return status;
}

/* --- the toy model -------------------------------------------------------------------------- */

/* The theorems about a matrix, on the toy's whole one; `all` passes over one that is too large. */
static cs_status toy_matrix(cs_verify *v, const cs_toy *toy)
{
    double rows, cols, nnz;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    if (status == CS_OK && v->all && nnz > CS_THEOREM_TOY_ENTRIES) {
        cs_output_note(
            v->args,
            "3.1 and 4.1 are left out: the toy matrix is too large (%.3g x %.3g, %.3g nonzeros)",
            rows, cols, nnz);
        return CS_OK;
    }
    v->input.toy = toy;
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        if (cs_theorem_list[i]->run[CS_ON_MATRIX]) status = cs_verify_run_one(v, i, CS_ON_TOY);
    }
    return status;
}

static bool wants_matrix(const cs_verify *v)
{
    bool wants = false;
    for (int i = 0; i < CS_THEOREMS; ++i) {
        wants = wants || (v->chosen[i] && cs_theorem_list[i]->run[CS_ON_MATRIX]);
    }
    return wants;
}

/* One sweep point. Without --objective theorems about a matrix take both of the paper's. */
static cs_status toy_point(cs_verify *v, const cs_sweep *sweep, int64_t point, cs_plan_file *file)
{
    cs_toy toy;
    cs_status status = cs_args_toy(v->args, sweep, point, "masked", file, &toy);
    if (status == CS_OK && wants_matrix(v)) {
        const cs_toy ar = cs_toy_with(&toy, CS_OBJ_AR, toy.objective.empty_prefix);
        status = toy_matrix(v, &toy);
        if (status == CS_OK && !cs_args_given(v->args, "objective")) status = toy_matrix(v, &ar);
    }
    v->input.toy = &toy;
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        if (!cs_theorem_list[i]->run[CS_ON_MATRIX]) status = cs_verify_run_one(v, i, CS_ON_TOY);
    }
    v->input.toy = NULL;
    return status;
}

cs_status cs_verify_toy(cs_verify *v)
{
    cs_sweep sweep;
    CS_AUTO(cs_plan_file) file = {0};
    cs_status status = cs_args_sweep(v->args, &sweep);
    if (status != CS_OK) return status;
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
    return status;
}

/* --- a matrix ------------------------------------------------------------------------------- */

/* The leading triplets of a matrix, and what their sum of sigma^4 costs, said. */
static cs_status solve(const cs_verify *v, const cs_csr *a, cs_spectrum *out)
{
    cs_spectrum_options o = v->solver;
    int64_t side = a->rows < a->cols ? a->rows : a->cols;
    o.k = cs_args_int_or(v->args, "triplets", side <= SMALL_SIDE ? 0 : DEFAULT_TRIPLETS);
    o.moment4 = true;
    o.moment4_budget = cs_args_moment_budget(v->args);
    o.values_only = false;
    double cost = 0;
    cs_status status = o.k > 0 ? cs_args_note_moment4(v->args, a, false, &cost) : CS_OK;
    status = status ? status : cs_spectrum_of(a, &o, out);
    if (status == CS_OK && o.k > 0) cs_sum4_note(v->args, &out->moments.sum4);
    if (status == CS_OK && !out->solution.converged)
        cs_output_note(v->args, "the solver did not converge: %lld of %lld singular triplets",
                       (long long)out->k, (long long)(o.k > 0 ? o.k : side));
    if (status == CS_OK && out->solution.converged) { /* a certificate may fail */
        status = cs_spectrum_require(out);
    }
    return status;
}

static void note_probe(const cs_verify *v)
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

/* Features of the held-out documents, where the matrix is of the others. */
static cs_status probe(cs_verify *v, const cs_cooc_store *store, const char *name)
{
    const cs_spectrum *leading = v->input.leading;
    if (!leading->solution.converged) {
        cs_output_note(v->args, "no held-out probe: it needs all triplets");
        return CS_OK;
    }
    if (store->options.split != CS_SPLIT_TRAIN) {
        cs_output_note(v->args, "no held-out probe: %s was not built with --split train", name);
        return CS_OK;
    }
    cs_status status = cs_spectral_probe(&store->corpus, &store->options, &store->cooc, leading, 0,
                                         cs_args_threads(v->args), &v->probe);
    v->probed = status == CS_OK;
    if (v->probed) note_probe(v);
    return status;
}

static cs_status on_labels(cs_verify *v, int i, const cs_cooc_store *store)
{
    const cs_labelled *m = v->input.matrix;
    CS_AUTO(cs_spectrum) leading = {0};
    if (m->labels == 0 && v->all) {
        cs_output_note(v->args, "%s is left out: %s has no labels", cs_theorem_list[i]->id,
                       v->input.name);
        return CS_OK;
    }
    if (m->labels == 0) {
        return cs_fail(CS_ERR_USAGE, "Theorem %s needs labels: %s has none%s",
                       cs_theorem_list[i]->id, v->input.name, store ? "" : " (--labels FILE)");
    }
    cs_status status = solve(v, &m->a, &leading);
    v->input.leading = &leading;
    if (status == CS_OK) status = cs_verify_run_one(v, i, CS_ON_MATRIX);
    if (status == CS_OK && store) status = probe(v, store, v->input.name);
    v->input.leading = NULL;
    return status;
}

static cs_status on_matrix(cs_verify *v, const cs_labelled *m, const char *name,
                           const cs_cooc_store *store)
{
    cs_status status = CS_OK;
    if (m->a.gram) {
        return cs_fail(
            CS_ERR_USAGE,
            "%s is a Gram form, which has no contexts, but the theorems are about contexts", name);
    }
    v->input.matrix = m;
    v->input.name = name;
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        status = v->chosen[i] && cs_theorem_list[i]->labels ? on_labels(v, i, store)
                                                            : cs_verify_run_one(v, i, CS_ON_MATRIX);
    }
    return status;
}

static cs_status verify_store(cs_verify *v, const char *path)
{
    CS_AUTO(cs_cooc_store) store = {0};
    const bool language = cs_args_language(v->args);
    CS_AUTO_FREE int64_t *row_token = NULL;
    const cs_csr *a = &store.cooc.matrix.a;
    cs_status status = cs_cooc_read(path, &store);
    if (status == CS_OK) status = cs_output_input(v->args, path);
    if (status == CS_OK) status = cs_cooc_row_tokens(path, a->rows, a->cols, &row_token);
    v->input.row_column = row_token;
    if (status == CS_OK && !language) status = on_matrix(v, &store.cooc.matrix, path, &store);
    v->input.row_column = NULL;
    v->input.corpus = &store.corpus;
    v->input.build = &store.options;
    v->input.name = path;
    for (int i = 0; i < CS_THEOREMS && language && status == CS_OK; ++i) {
        status = cs_verify_run_one(v, i, CS_ON_LANGUAGE);
    }
    return status;
}

static cs_status verify_file(cs_verify *v, const char *path)
{
    CS_AUTO(cs_labelled) m = {0};
    CS_AUTO(cs_nonempty_rows) rows = {0};
    const char *labels = cs_args_text(v->args, "labels");
    cs_status status = cs_matrix_read_filled(path, &rows, &m.a);
    if (status == CS_OK) status = cs_output_input(v->args, path);
    if (status == CS_OK && labels) {
        status = cs_labels_read(labels, &rows, &m);
        if (status == CS_OK) status = cs_output_input(v->args, labels);
    }
    if (status == CS_OK) status = cs_blame(cs_csr_check_rows(&m.a, &rows, true), "%s", path);
    v->input.row_column = rows.row;
    if (status == CS_OK) status = on_matrix(v, &m, path, NULL);
    v->input.row_column = NULL;
    return status;
}

cs_status cs_verify_matrix(cs_verify *v, const char *path)
{
    cs_status status = cs_args_refuse(v->args, "objective classes length tokens",
                                      "belongs to the toy model and --matrix replaces it");
    if (status == CS_OK && cs_verify_named(v) && !cs_verify_named(v)->run[CS_ON_MATRIX])
        status =
            cs_fail(CS_ERR_USAGE, "%s: it does not accept --matrix", cs_verify_named(v)->about);
    if (status == CS_OK && cs_args_language(v->args) &&
        !(cs_verify_named(v) && cs_verify_named(v)->run[CS_ON_LANGUAGE]))
        status = cs_fail(CS_ERR_USAGE, "--estimate needs verify 4.1 --matrix DIR");
    if (status == CS_OK && cs_args_is(v->args, "estimate", "cross-fit"))
        status = cs_fail(CS_ERR_USAGE, "--estimate cross-fit gives a tail below that of the "
                                       "language, which is not a bound; give distinct-document");
    if (status == CS_OK)
        status = cs_require_kind(v->args, CS_ERR_INPUT, path,
                                 cs_path_is_dir(path) || cs_args_language(v->args) ? CS_IS_STORE
                                                                                   : CS_IS_MATRIX);
    if (status != CS_OK) return status;
    if (!cs_path_is_dir(path)) {
        return verify_file(v, path);
    }
    if (cs_args_given(v->args, "labels")) {
        return cs_fail(CS_ERR_USAGE, "--labels needs a matrix file; %s is a directory", path);
    }
    return verify_store(v, path);
}

/* --- a trained model -------------------------------------------------------------------------- */

/* --unmasked or --mask-ratio; *given is false where neither is. */
static cs_status masking(const cs_args *args, cs_objective *o, bool *given)
{
    const char *unmasked = cs_args_text(args, "unmasked"),
               *ratio = cs_args_text(args, "mask-ratio");
    *o = cs_objective_default(CS_OBJ_MASKED);
    *given = unmasked || ratio;
    return unmasked ? cs_objective_set(o, "unmasked", unmasked)
           : ratio  ? cs_objective_set(o, "mask-ratio", ratio)
                    : CS_OK;
}

static cs_theorem_model model_of(const cs_model_text *t)
{
    return (cs_theorem_model){.name = t->dir,
                              .model = &t->model,
                              .tokenizer = t->tokenizer,
                              .likelihood = t->kind.likelihood,
                              .spectral_factor = t->kind.spectral_factor};
}

/* --- the checkpoints of a run ------------------------------------------------------------------ */

typedef struct {
    cs_args *args;
    const cs_checkpoints *all;
    cs_model_text text; /* the one that is open */
} open_run;

static cs_status open_checkpoint(void *ctx, int64_t number, cs_learned_model *out)
{
    open_run *r = ctx;
    const char *dir = r->all->at[number].path;
    cs_model_text_free(&r->text);
    r->text = (cs_model_text){0};
    cs_status status = CS_OK;
    if (number == 0) {
        status = cs_args_model_open(r->args, dir, &r->text);
    } else { /* the notes of the first are those of all */
        status = cs_args_model_inputs(r->args, dir);
        if (status == CS_OK)
            status = cs_args_backend(r->args, (cs_device_options){.f32 = true}, &r->text.backend);
        cs_args_roles(r->args, r->text.role);
        if (status == CS_OK) status = cs_model_text_read(dir, &r->text);
    }
    if (status == CS_OK) status = cs_model_text_has_tokenizer(&r->text);
    *out = (cs_learned_model){.name = dir,
                              .model = &r->text.model,
                              .tokenizer = r->text.tokenizer,
                              .kind = &r->text.kind};
    return status;
}

static cs_status verify_run(cs_verify *v)
{
    cs_args *args = v->args;
    const char *dir = cs_args_text(args, "model"), *matrix = cs_args_text(args, "matrix");
    CS_AUTO(cs_checkpoints) all = {0};
    CS_AUTO(cs_cooc_store) store = {0};
    CS_AUTO(cs_pool) pool = {0};
    open_run open = {.args = args, .all = &all};
    cs_status status =
        cs_args_refuse(args, "corpus against objective classes length tokens labels width steps",
                       "cannot be combined with verify trained --model");
    if (status == CS_OK && !matrix)
        status = cs_fail(CS_ERR_USAGE, "verify trained --model RUN needs --matrix DIR, the matrix "
                                       "of its objective (cospec cooc)");
    if (status == CS_OK) status = cs_require_kind(args, CS_ERR_INPUT, matrix, CS_IS_STORE);
    if (status == CS_OK) status = cs_checkpoints_of(dir, &all);
    if (status == CS_OK && all.count < 2)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: %lld checkpoints; an order needs at least 2 (train --keep-at "
                         "STEP,STEP,...)",
                         dir, (long long)all.count);
    if (status == CS_OK) status = cs_cooc_read(matrix, &store);
    if (status == CS_OK) status = cs_output_input(args, matrix);
    int64_t *step = cs_pool_take(&pool, all.count, sizeof *step);
    if (status == CS_OK) status = pool.status;
    for (int64_t i = 0; i < all.count && status == CS_OK; ++i) {
        step[i] = all.at[i].step;
    }
    const cs_learned_run run = {all.count, step, open_checkpoint, &open};
    v->input.run = &run;
    v->input.store = &store;
    v->input.name = matrix;
    v->input.model = (cs_theorem_model){.name = dir};
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        status = cs_verify_run_one(v, i, CS_ON_MODEL);
    }
    v->input.run = NULL;
    v->input.store = NULL;
    cs_model_text_free(&open.text);
    return status;
}

/* Where the masking is that of the model's training. */
static cs_status input_training(cs_args *args)
{
    const char *path = cs_args_join(args, cs_args_text(args, "model"), "train.json");
    return !path ? CS_ERR_MEMORY : cs_path_exists(path) ? cs_output_input(args, path) : CS_OK;
}

cs_status cs_verify_model(cs_verify *v)
{
    cs_args *args = v->args;
    const char *corpus = cs_args_text(args, "corpus"), *against = cs_args_text(args, "against");
    CS_AUTO(cs_model_text) text = {0}, other = {0};
    cs_objective o;
    bool given = false;
    if (!cs_verify_named(v) || !cs_verify_named(v)->run[CS_ON_MODEL]) {
        return cs_fail(CS_ERR_USAGE, "--model needs verify 4.3 or verify trained");
    }
    if (cs_verify_named(v)->course_of_run) {
        return verify_run(v);
    }
    cs_status status =
        cs_args_refuse(args, "matrix objective classes length tokens labels triplets",
                       "cannot be combined with --model");
    if (status == CS_OK && !corpus) status = cs_fail(CS_ERR_USAGE, "--model needs a --corpus");
    if (status == CS_OK) status = masking(args, &o, &given);
    if (status == CS_OK) status = cs_args_model_open(args, cs_args_text(args, "model"), &text);
    if (status == CS_OK && !given) status = input_training(args);
    if (status == CS_OK && against) status = cs_args_model_open(args, against, &other);
    if (status == CS_OK) status = cs_args_model_corpus(args, corpus, &text);
    if (status == CS_OK) {
        v->input.model = model_of(&text);
        v->input.against = against ? model_of(&other) : (cs_theorem_model){0};
        v->input.corpus = &text.corpus;
        v->input.corpus_name = corpus;
        v->input.keep = text.keep;
        CS_ARGS_FIELDS(args, &v->input, max_length);
        v->input.masking = given ? &o : NULL;
    }
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        status = cs_verify_run_one(v, i, CS_ON_MODEL);
    }
    return status;
}

/* --- a corpus --------------------------------------------------------------------------------- */

cs_status cs_verify_corpus(cs_verify *v)
{
    cs_args *args = v->args;
    CS_AUTO(cs_plan_file) file = {0};
    CS_AUTO(cs_corpus) corpus = {0};
    cs_cooc_options build = {0};
    CS_ARGS_FIELDS(args, &build, max_length, stride, split, threads);
    cs_status status = cs_args_objective(args, NULL, 0, NULL, &file, &build.objective);
    v->input.corpus_name = cs_args_text(args, "corpus");
    if (status == CS_OK) status = cs_args_load_corpus(args, v->input.corpus_name, &corpus);
    if (status == CS_OK) status = cs_cooc_in_plane(&corpus, &build);
    if (status == CS_OK) cs_args_note_masked(args, &corpus, &build);
    v->input.corpus = &corpus;
    v->input.build = &build;
    for (int i = 0; i < CS_THEOREMS && status == CS_OK; ++i) {
        status = cs_verify_run_one(v, i, CS_ON_CORPUS);
    }
    return status;
}
