/* The refinement inequality as statements (refinement.c has what is compared): one for each pair of
 * contexts that the events of a corpus put in order, and one of all quadratic forms; on a toy
 * model's sequences, on a corpus, and over random texts.
 *
 * An event whose row is empty (each:w) is dropped. Then the token marginals differ, the inequality
 * does not apply, and the verdict is UNSPECIFIED. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/theorems/refinement_pairs.h"
#include "analysis/theorems/toy_contexts.h"
#include "base/auto.h"
#include "cooc/build_sequences.h"
#include "plan/plan_file.h"
#include "plan/spec.h"

static const char *const modes[] = {"document",  "each:2", "nearest:1", "nearest:2",
                                    "nearest:3", "all",    "unique"};

enum { MODES = sizeof modes / sizeof *modes, CONTEXTS = 2 * MODES, TOY_TEXTS = 4096, TRIALS = 40 };

/* Every mode, blind and given; `nearest` is given by construction. */
static cs_status list_contexts(cs_context context[CONTEXTS], int64_t *count)
{
    cs_status status = CS_OK;
    *count = 0;
    for (int i = 0; i < CONTEXTS && status == CS_OK; ++i) {
        cs_context *c = &context[*count];
        status = cs_context_parse(modes[i / 2], c);
        if (status == CS_OK && (i % 2 == 0 || !cs_context_given(c))) {
            c->given = c->given || i % 2 > 0;
            ++*count;
        }
    }
    return status;
}

static void record_pair(const cs_refined_pairs *r, int64_t p, const char *input, cs_item *rows)
{
    const cs_refined *x = &r->pair[p];
    cs_item *row = rows ? cs_item_object(rows, NULL) : NULL;
    if (!row) {
        return;
    }
    cs_item_text(row, "input", input);
    cs_item_text(row, "coarser", r->name[p / r->count]);
    cs_item_text(row, "finer", r->name[p % r->count]);
    CS_ITEM_FIELDS(row, x, ordered, compared, equal, j, error, marginals, loewner, loewner_error);
    cs_item_real(row, "sigma_coarser", x->coarse);
    cs_item_real(row, "sigma_finer", x->fine);
}

static bool applies(const cs_refined *x)
{
    return x->ordered && x->marginals <= x->marginals_error;
}

static cs_status state_pair(const cs_refined_pairs *r, int64_t p, const char *input,
                            cs_statements *out)
{
    const cs_refined *x = &r->pair[p];
    const char *coarse = r->name[p / r->count], *fine = r->name[p % r->count];
    char id[40];
    (void)snprintf(id, sizeof id, "refinement-%.13s-%.13s", coarse, fine);
    CS_AUTO_FREE char *text =
        cs_format("sigma_j(%s) <= sigma_j(%s) for every j (sides: where it is nearest to "
                  "failing, of those of j = 1..%" PRId64 " that differ)",
                  coarse, fine, x->compared);
    if (!text) return CS_ERR_MEMORY;
    cs_statement *s =
        cs_statements_claim(out, &(cs_claim){id, CS_CORRECTED, CS_RELATION_AT_MOST, text, input,
                                             x->coarse, x->fine, x->error});
    cs_statement_int(s, "j", x->j);
    cs_statement_int(s, "compared", x->compared);
    cs_statement_int(s, "equal", x->equal);
    cs_statement_reals(s, 2,
                       (cs_detail[]){{"loewner", x->loewner}, {"loewner_error", x->loewner_error}});
    cs_statement_counterexample(s, "%s: at j = %" PRId64 " %.12g is above %.12g", input, x->j,
                                x->coarse, x->fine);
    if (!applies(x)) {
        cs_statement_unspecify(s,
                               "every event has a row in both: the token marginals are equal "
                               "(value: share of the mass that has one)",
                               x->kept);
    } else if (!x->converged) {
        cs_statement_withhold(s);
    }
    return CS_OK;
}

/* The pair whose difference of forms is nearest to being indefinite. */
static cs_status state_forms(const cs_refined_pairs *r, const char *input, cs_statements *out)
{
    const cs_refined *worst = NULL;
    int64_t pairs = 0, at = 0;
    for (int64_t p = 0; p < r->count * r->count; ++p) {
        const cs_refined *x = &r->pair[p];
        if (applies(x) && !isnan(x->loewner)) {
            at = !worst || x->loewner + x->loewner_error < worst->loewner + worst->loewner_error
                     ? p
                     : at;
            worst = &r->pair[at];
            ++pairs;
        }
    }
    if (!worst) {
        return CS_OK;
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"refinement-loewner", CS_CORRECTED, CS_RELATION_AT_MOST,
                         "Abar^T Abar of the finer context less that of the coarser is positive "
                         "semidefinite (lhs: less its smallest eigenvalue, rhs: rounding)",
                         input, -worst->loewner, worst->loewner_error, 0});
    cs_statement_int(s, "pairs", pairs);
    cs_statement_detail(s, "coarser", json_string(r->name[at / r->count]));
    cs_statement_detail(s, "finer", json_string(r->name[at % r->count]));
    return CS_OK;
}

static cs_status state(const cs_corpus *corpus, const cs_cooc_options *options,
                       const cs_theorem_input *in, const char *input, cs_theorem_report *report)
{
    cs_context context[CONTEXTS];
    cs_cooc_options build = *options;
    CS_AUTO(cs_refined_pairs) r = {0};
    int64_t count = 0;
    cs_status status = list_contexts(context, &count);
    for (int64_t c = 0; c < count && status == CS_OK; ++c) {
        build.context = context[c];
        status = cs_cooc_in_plane(corpus, &build);
        context[c] = build.context;
    }
    if (status == CS_OK) status = cs_refined_pairs_of(corpus, &build, count, context, in, &r);
    for (int64_t p = 0; p < r.count * r.count && status == CS_OK; ++p) {
        if (p / r.count != p % r.count) record_pair(&r, p, input, report->rows);
        if (r.pair[p].ordered) status = state_pair(&r, p, input, &report->statements);
    }
    if (status == CS_OK) status = state_forms(&r, input, &report->statements);
    return status == CS_OK ? cs_statements_status(&report->statements) : status;
}

/* --- corpora ---------------------------------------------------------------------------------- */

static cs_status on_corpus(const cs_theorem_input *in, cs_theorem_report *report)
{
    CS_AUTO_FREE char *objective = cs_objective_describe(&in->build->objective);
    CS_AUTO_FREE char *input =
        objective ? cs_format("%s, %s, max-length %" PRId64 ", stride %" PRId64, in->corpus_name,
                              objective, in->build->max_length, in->build->stride)
                  : NULL;
    return input ? state(in->corpus, in->build, in, input, report) : CS_ERR_MEMORY;
}

/* An empty corpus of `texts` texts of one length, in a pool. */
static cs_corpus texts_of(cs_pool *pool, int64_t texts, int64_t length, int64_t vocab)
{
    cs_corpus c = {.documents = texts, .tokens = texts * length, .vocab = vocab};
    c.doc_ptr = cs_pool_take(pool, texts + 1, sizeof *c.doc_ptr);
    c.token = cs_pool_take(pool, texts * length, sizeof *c.token);
    CS_POOL_FIELDS(pool, texts, &c, label, held_out);
    for (int64_t d = 0; d < texts && pool->status == CS_OK; ++d) {
        c.doc_ptr[d + 1] = (d + 1) * length;
        c.label[d] = -1;
    }
    return c;
}

/* All sequences, or as many as are taken, drawn. */
static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    const cs_toy *toy = in->toy;
    cs_status status = cs_toy_check(toy);
    if (status != CS_OK) return status;
    const double all = cs_toy_sequences(toy);
    if (all > 0x1p53) {
        return cs_fail(
            CS_ERR_USAGE,
            "the refinement statement enumerates conditioning sets: %g sequences of %" PRId64
            " tokens are too many",
            all, toy->length);
    }
    const int64_t texts = all > TOY_TEXTS ? TOY_TEXTS : (int64_t)all;
    cs_rng rng = cs_rng_at(in->seed, CS_STREAM_TOY, 0);
    CS_AUTO(cs_pool) pool = {0};
    cs_corpus corpus =
        texts_of(&pool, texts, toy->length, toy->classes * toy->tokens * toy->length);
    const cs_cooc_options options = {.objective = toy->objective, .threads = in->threads};
    CS_AUTO_FREE char *input = cs_toy_describe(toy);
    corpus.labels = toy->classes;
    corpus.label_name = cs_pool_take(&pool, toy->classes, sizeof *corpus.label_name);
    status = input ? pool.status : CS_ERR_MEMORY;
    for (int64_t i = 0; i < texts && status == CS_OK; ++i) {
        const int64_t number = (double)texts < all ? cs_rng_below(&rng, (int64_t)all) : i;
        cs_toy_sequence(toy, number, corpus.token + i * toy->length);
        corpus.label[i] = (int32_t)(number / cs_toy_power(toy->tokens, toy->length));
    }
    return status == CS_OK ? state(&corpus, &options, in, input, report) : status;
}

/* --- random texts ----------------------------------------------------------------------------- */

/* A mixture of an order, a mask and groups with random shares, that exists at `length`. */
static cs_status random_objective(cs_rng *rng, int64_t length, cs_plan_file *file,
                                  cs_objective *out)
{
    char spec[160];
    (void)snprintf(spec, sizeof spec,
                   "mix:%.3f*ar+%.3f*masked(unmasked=%d)+%.3f*group-ar(t=2)+%.3f*gvp(groups=2)",
                   0.01 + cs_rng_uniform(rng), 0.01 + cs_rng_uniform(rng),
                   (int)(1 + cs_rng_below(rng, length - 1)), 0.01 + cs_rng_uniform(rng),
                   0.01 + cs_rng_uniform(rng));
    cs_status status = cs_objective_parse_held(spec, file, out);
    out->event_weight = cs_rng_below(rng, 2) ? CS_EVENT_MASK : CS_EVENT_TOKEN;
    out->empty_prefix = cs_rng_below(rng, 2) ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
    return status;
}

/* The least of all ordered pairs of one text, kept where it is nearer to failing than *worst. */
typedef struct {
    cs_refined pair, form;
    char name[2][24];
    int64_t pairs, equal, trial; /* equal: to the error, at the j that is nearest to failing */
} extremes;

static void keep_extremes(const cs_refined_pairs *r, int64_t trial, extremes *e)
{
    for (int64_t p = 0; p < r->count * r->count; ++p) {
        const cs_refined *x = &r->pair[p];
        if (!applies(x)) {
            continue;
        }
        ++e->pairs;
        if (e->pairs == 1 ||
            x->loewner + x->loewner_error < e->form.loewner + e->form.loewner_error) {
            e->form = *x;
        }
        const bool equal = fabs(x->fine - x->coarse) <= x->error;
        e->equal += equal;
        if (!equal && (e->pair.j == 0 || x->fine - x->coarse - x->error <
                                             e->pair.fine - e->pair.coarse - e->pair.error)) {
            e->pair = *x;
            e->trial = trial;
            memcpy(e->name[0], r->name[p / r->count], sizeof e->name[0]);
            memcpy(e->name[1], r->name[p % r->count], sizeof e->name[1]);
        }
    }
}

static cs_status one_trial(const cs_theorem_input *in, int64_t trial, extremes *e)
{
    cs_rng rng = cs_rng_at(in->seed, CS_STREAM_AUDIT, (uint64_t)trial);
    const int64_t length = 3 + cs_rng_below(&rng, 3), vocab = 3 + cs_rng_below(&rng, 3);
    CS_AUTO(cs_pool) pool = {0};
    CS_AUTO(cs_plan_file) file = {0};
    cs_cooc_options options = {.threads = in->threads};
    cs_context context[CONTEXTS];
    CS_AUTO(cs_refined_pairs) r = {0};
    int64_t count = 0;
    cs_corpus corpus = texts_of(&pool, 2 + cs_rng_below(&rng, 7), length, vocab);
    for (int64_t i = 0; i < corpus.tokens && corpus.token; ++i) {
        corpus.token[i] = (int32_t)cs_rng_below(&rng, vocab);
    }
    cs_status status = pool.status;
    if (status == CS_OK) status = random_objective(&rng, length, &file, &options.objective);
    if (status == CS_OK) status = list_contexts(context, &count);
    if (status == CS_OK) status = cs_refined_pairs_of(&corpus, &options, count, context, in, &r);
    if (status == CS_OK) keep_extremes(&r, trial, e);
    return status;
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    extremes e = {.pairs = 0};
    cs_status status = CS_OK;
    for (int64_t t = 0; t < TRIALS && status == CS_OK; ++t) {
        status = one_trial(in, t, &e);
    }
    if (status != CS_OK) return status;
    const int64_t first = report->statements.count;
    cs_statement *s = cs_statements_claim(
        &report->statements,
        &(cs_claim){"refinement-random", CS_CORRECTED, CS_RELATION_AT_MOST,
                    "sigma_j(coarser) <= sigma_j(finer) for every j and every ordered pair of "
                    "contexts (sides: where it is nearest to failing, of those that differ)",
                    "random texts of 3 to 5 tokens under random mixtures", e.pair.coarse,
                    e.pair.fine, e.pair.error});
    cs_statement_int(s, "texts", TRIALS);
    cs_statement_int(s, "pairs", e.pairs);
    cs_statement_int(s, "equal", e.equal);
    cs_statement_int(s, "trial", e.trial);
    cs_statement_int(s, "j", e.pair.j);
    cs_statement_detail(s, "coarser", json_string(e.name[0]));
    cs_statement_detail(s, "finer", json_string(e.name[1]));
    s = cs_statements_claim(&report->statements,
                            &(cs_claim){"refinement-random-loewner", CS_CORRECTED,
                                        CS_RELATION_AT_MOST,
                                        "Abar^T Abar of the finer context less that of the coarser "
                                        "is positive semidefinite (lhs: less its smallest "
                                        "eigenvalue, rhs: rounding)",
                                        "random texts of 3 to 5 tokens under random mixtures",
                                        -e.form.loewner, e.form.loewner_error, 0});
    cs_statement_int(s, "pairs", e.pairs);
    cs_statements_mark(&report->statements, first);
    return cs_statements_status(&report->statements);
}

const cs_theorem cs_entry_refinement = {
    .id = "refinement",
    .about = "the refinement statement is about contexts of a text",
    .paper = "cospec",
    .corrected_words = "a context that knows more is less connected",
    .corrected = "sigma_j(coarser context) <= sigma_j(finer context) for every j: a context that "
                 "knows more is less connected",
    .options = "stride tokenizer vocab min-tokens",
    .apart = true,
    .run = {[CS_ON_TOY] = on_toy, [CS_ON_CORPUS] = on_corpus, [CS_ON_NOTHING] = on_nothing},
    .file = "refinement.csv",
    .key = "~refinement",
    .view = {"~refinement[]",
             "input coarser finer ordered compared equal j sigma_coarser sigma_finer "
             "error marginals loewner loewner_error"}};
