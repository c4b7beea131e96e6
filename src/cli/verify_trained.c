/* cospec verify trained: the toy model's contexts, spectrum and sequences; each model trained and
 * judged. The tolerances are what the default budget reaches with room on the objectives whose
 * optimum the architecture holds; missing them is INCONCLUSIVE. */
#include "cli/verify_trained.h"

#include <math.h>
#include <string.h>

#include "analysis/theorem_42.h"
#include "base/mem.h"

enum { MOST_ENTRIES = 1 << 15, MOST_DOCUMENTS = 4096, MOST_WIDTH = 16 };
static const double ANGLE = 0.05;    /* radians */
static const double ENTROPY = 0.005; /* nats */

/* --- setting up --------------------------------------------------------------------------------*/

static cs_status make_corpus(cs_trained *t)
{
    const cs_toy *toy = t->toy;
    double all = cs_toy_sequences(toy);
    bool sample = all > MOST_DOCUMENTS;
    cs_corpus *c = &t->corpus;
    c->documents = sample ? MOST_DOCUMENTS : (int64_t)all;
    c->tokens = c->documents * toy->length;
    c->vocab = t->contexts.vocab;
    c->unknown = -1;
    c->doc_ptr = cs_alloc(c->documents + 1, sizeof *c->doc_ptr);
    c->token = cs_alloc(c->tokens, sizeof *c->token);
    c->label = cs_alloc(c->documents, sizeof *c->label);
    c->held_out = cs_calloc(c->documents, 1);
    if (!c->doc_ptr || !c->token || !c->label || !c->held_out) {
        return CS_ERR_MEMORY;
    }
    for (int64_t d = 0; d < c->documents; ++d) {
        int32_t *token = c->token + d * toy->length;
        cs_rng rng = cs_rng_at(t->options->seed, CS_STREAM_TOY, (uint64_t)d);
        c->doc_ptr[d] = d * toy->length;
        c->label[d] = -1;
        if (sample) {
            cs_toy_sequence_draw(toy, &rng, token);
        } else {
            cs_toy_sequence(toy, d, token);
        }
    }
    c->doc_ptr[c->documents] = c->tokens;
    return CS_OK;
}

/* The model's width, which the matrix must have room for. */
static cs_status choose_width(cs_trained *t)
{
    const cs_csr *a = &t->contexts.a;
    int64_t side = a->rows < a->cols ? a->rows : a->cols, wanted = t->options->width;
    if (wanted > side) {
        return cs_fail(CS_ERR_USAGE, "--width %lld: the matrix of %s has only %lld x %lld entries",
                       (long long)wanted, t->input, (long long)a->rows, (long long)a->cols);
    }
    int64_t gap = cs_learned_gap(&t->target.spectrum, MOST_WIDTH);
    int64_t most = side < MOST_WIDTH ? side : MOST_WIDTH;
    t->width = wanted > 0 ? wanted : gap > 0 ? gap : most;
    return CS_OK;
}

static cs_status set_up(cs_trained *t)
{
    t->input = cs_42_describe(t->toy);
    cs_status status =
        t->input ? cs_toy_contexts_of(t->toy, MOST_ENTRIES, &t->contexts) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = cs_learned_target_of(&t->contexts.a, t->options->solver, &t->target)) == CS_OK &&
        (status = choose_width(t)) == CS_OK && (status = make_corpus(t)) == CS_OK &&
        (status = cs_tokenizer_of_corpus(&t->corpus, CS_SPLITTER_WHITESPACE, &t->tokenizer)) ==
            CS_OK) {
        status = cs_backend_cpu(1, &t->backend); /* models this small gain nothing from threads */
    }
    return status;
}

static void tear_down(cs_trained *t)
{
    cs_free(t->input);
    cs_toy_contexts_free(&t->contexts);
    cs_learned_target_free(&t->target);
    cs_corpus_free(&t->corpus);
    cs_tokenizer_free(&t->tokenizer);
    cs_backend_free(&t->backend);
}

/* --- results -----------------------------------------------------------------------------------*/

static cs_status start_row(cs_table *table, const cs_trained *t, const char *model)
{
    cs_status status = CS_OK;
    if (table->columns == 0) {
        status =
            cs_table_init(table, "input,model,documents,width,t,loss,se,optimum,excess,"
                                 "excess_share,distance,left_angle,right_angle,uniform,quadratic");
    }
    if (status == CS_OK && (status = cs_table_row(table)) == CS_OK &&
        (status = cs_table_text(table, "input", t->input)) == CS_OK &&
        (status = cs_table_text(table, "model", model)) == CS_OK) {
        status = cs_table_int(table, "documents", t->corpus.documents);
    }
    return status;
}

static cs_status reals(cs_table *table, const char *const *name, const double *x, int count)
{
    cs_status status = CS_OK;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        status = cs_table_real(table, name[i], x[i]);
    }
    return status;
}

static cs_status factors_row(const cs_trained *t, const char *model, const cs_learned *l,
                             const cs_linear_reach *reach, cs_table *table)
{
    static const char *const name[] = {"loss",         "optimum",  "excess",
                                       "excess_share", "distance", "left_angle",
                                       "right_angle",  "uniform",  "quadratic"};
    double half2 = l->factor * l->factor / 4;
    const double x[] = {l->loss,
                        l->minimum,
                        l->excess,
                        l->excess / -l->minimum,
                        l->distance,
                        l->t > 0 ? l->left[l->t - 1] : NAN,
                        l->t > 0 ? l->right[l->t - 1] : NAN,
                        reach ? half2 * reach->uniform : NAN,
                        reach ? half2 * reach->any : NAN};
    cs_status status = start_row(table, t, model);
    if (status == CS_OK && (status = cs_table_int(table, "width", l->width)) == CS_OK &&
        (status = cs_table_int(table, "t", l->t)) == CS_OK) {
        status = reals(table, name, x, sizeof name / sizeof *name);
    }
    return status;
}

/* --- the audits --------------------------------------------------------------------------------*/

typedef cs_status (*trainer)(const cs_trained *t, double factor, cs_dense *f, cs_dense *w);

static cs_status spectral(const cs_trained *t, trainer train, const char *model, double factor,
                          const cs_linear_reach *reach, cs_statements *out, cs_table *table)
{
    cs_dense f = {0}, w = {0};
    cs_learned learned = {0};
    cs_status status = train(t, factor, &f, &w);
    if (status == CS_OK &&
        (status = cs_learned_of(&t->target, &f, &w, factor, 1, &learned)) == CS_OK &&
        (status = cs_learned_state(&learned, model, t->input, reach, ANGLE, out)) == CS_OK) {
        status = factors_row(t, model, &learned, reach, table);
    }
    cs_learned_free(&learned);
    cs_dense_free(&f);
    cs_dense_free(&w);
    return status;
}

static cs_status entropy(const cs_trained *t, cs_statements *out, cs_table *table)
{
    static const char *const name[] = {"loss", "se", "optimum", "excess", "excess_share"};
    cs_learned_entropy e;
    cs_status status = cs_trained_network(t, &e);
    if (status == CS_OK &&
        (status = cs_learned_entropy_state(&e, "transformer", t->input, ENTROPY, out)) == CS_OK &&
        (status = start_row(table, t, "transformer")) == CS_OK) {
        double excess = e.loss - e.optimum;
        const double x[] = {e.loss, e.se, e.optimum, excess, excess / e.optimum};
        status = reals(table, name, x, sizeof name / sizeof *name);
    }
    return status;
}

cs_status cs_verify_trained(const cs_toy *toy, const cs_trained_options *options,
                            cs_statements *out, cs_table *table)
{
    cs_trained t = {.toy = toy, .options = options};
    cs_linear_reach reach;
    cs_status status = set_up(&t);
    if (status == CS_OK &&
        (status = cs_linear_reach_of(&t.target, &t.contexts, t.width, CS_TRAINED_POOLING,
                                     &reach)) == CS_OK &&
        (status = spectral(&t, cs_trained_linear, "linear-b2", 2.0, &reach, out, table)) == CS_OK &&
        (status = spectral(&t, cs_trained_linear, "linear-b1", 1.0, &reach, out, table)) == CS_OK &&
        (status = spectral(&t, cs_trained_table, "table-b2", 2.0, NULL, out, table)) == CS_OK) {
        status = entropy(&t, out, table);
    }
    tear_down(&t);
    return status;
}
