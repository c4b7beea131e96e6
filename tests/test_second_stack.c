/* Texts that a second stack (t5) reads by teacher forcing, against transformers: the encoder reads the same
 * text, one source for all of them, or one for each (labels.npz of tests/oracle/make_reference.py). */
#include "infer/hidden_states.h"
#include "infer/perplexity.h"
#include "infer/verify_states.h"
#include "model_support.h"

enum { MOST = 32, PATH = 512, TEXTS = 2, LENGTH = 17, WIDTH = 8, LONG = 23 };

typedef struct {
    cs_backend *backend;
    cs_model model;
    cs_npz *reference;
    int32_t token[TEXTS * LENGTH], source[3 + LONG];
    cs_corpus texts, one, each; /* one: 4 5 2; each: that, and 3 + j mod 11, longer than the text */
    double states, logits;      /* tolerances */
} stack;

static void open_stack(const char *name, stack *s)
{
    static int64_t start[] = {0, LENGTH, 2 * LENGTH}, ends[] = {0, 3, 3 + LONG};
    char path[PATH];
    cs_state_difference d[MOST];
    int count = 0;
    OK(cs_backend_cpu(1, &s->backend));
    assert_true(snprintf(path, sizeof path, "tests/golden/models/%s", name) > 0);
    OK(cs_model_read(path, s->backend, false, &s->model));
    assert_true(snprintf(path, sizeof path, "tests/golden/models/%s/labels.npz", name) > 0);
    OK(cs_npz_open(path, 0, &s->reference));
    OK(cs_verify_states(&s->model, s->reference, &(cs_verify_options){.decoder = true}, d, &count));
    assert_true(count == 2 && d[0].ok && d[1].ok && d[0].items == TEXTS * LENGTH * WIDTH);
    s->states = d[0].tolerance;
    s->logits = d[1].tolerance;
    AUTO_OK(cs_array, ids, cs_npz_read(s->reference, "input_ids", &ids));
    for (int64_t i = 0; i < TEXTS * LENGTH; ++i) {
        s->token[i] = (int32_t)cs_array_f64(&ids, i);
    }
    memcpy(s->source, (int32_t[]){4, 5, 2}, 3 * sizeof *s->source);
    for (int32_t j = 0; j < LONG; ++j) {
        s->source[3 + j] = 3 + j % 11;
    }
    s->texts = (cs_corpus){.documents = TEXTS, .doc_ptr = start, .token = s->token};
    s->one = (cs_corpus){.documents = 1, .doc_ptr = ends, .token = s->source};
    s->each = (cs_corpus){.documents = TEXTS, .doc_ptr = ends, .token = s->source};
    s->texts.tokens = start[TEXTS];
    s->one.tokens = ends[1];
    s->each.tokens = ends[2];
}

static void close_stack(stack *s)
{
    cs_npz_close(s->reference);
    cs_model_free(&s->model);
    cs_backend_free(&s->backend);
}

static cs_status keep_states(void *ctx, const cs_hidden_block *block)
{
    memcpy(ctx, block->state[0], (size_t)(block->rows * block->width) * sizeof(float));
    return CS_OK;
}

static cs_hidden_options last_layer(const stack *s)
{
    return (cs_hidden_options){.layer = &s->model.config.decoder.layers,
                               .layers = 1,
                               .decoder = true,
                               .masks.attention = CS_ATTENTION_BIDIRECTIONAL};
}

static void check_states(stack *s, const cs_corpus *sources, const char *name)
{
    float found[TEXTS * LENGTH * WIDTH];
    cs_hidden_options o = last_layer(s);
    o.sources = sources;
    AUTO_OK(cs_array, states, cs_npz_read(s->reference, name, &states));
    assert_int_equal(states.size, TEXTS * LENGTH * WIDTH);
    OK(cs_hidden_states(&s->model, &s->texts, &o, keep_states, found));
    assert_each(i, 0, states.size, fabs((double)found[i] - cs_array_f64(&states, i)) <= s->states);
}

static void check_loss(stack *s, const cs_corpus *sources, const char *name)
{
    const cs_perplexity_options o = {
        .kind = CS_KIND_CAUSAL, .ask = CS_ASK_PREFIX, .decoder = true, .sources = sources};
    AUTO_OK(cs_array, loss, cs_npz_read(s->reference, name, &loss));
    AUTO_OK(cs_perplexity, p, cs_perplexity_of(&s->model, &s->texts, &o, &p));
    assert_int_equal(p.tokens, TEXTS * LENGTH);
    /* a loss moves by at most twice as much as a logit */
    assert_true(fabs(p.nll - cs_array_f64(&loss, 0)) <= 2 * s->logits);
}

TEST(texts_are_read_as_transformers_reads_them)
{
    static const char *const name[] = {"t5-switched", "t5-untied"};
    for (int m = 0; m < 2; ++m) {
        char last[64];
        CS_AUTO_BY(close_stack, stack) s = {0};
        open_stack(name[m], &s);
        assert_true(snprintf(last, sizeof last, "decoder_hidden_states_%d",
                             (int)s.model.config.decoder.layers) > 0);
        check_states(&s, NULL, last); /* labels = input_ids */
        check_states(&s, &s.each, "states_of_pairs");
        check_loss(&s, NULL, "loss");
        check_loss(&s, &s.one, "loss_of_4_5_2");
        check_loss(&s, &s.each, "loss_of_pairs");
    }
}

static void fails(stack *s, const cs_hidden_options *o, cs_status status, const char *why)
{
    float found[TEXTS * LENGTH * WIDTH];
    assert_fails(cs_hidden_states(&s->model, &s->texts, o, keep_states, found), status, why);
}

TEST(what_cannot_be_read_is_refused)
{
    CS_AUTO_BY(close_stack, stack) s = {0};
    cs_state_difference d[MOST];
    int count = 0;
    open_stack("t5-untied", &s);
    cs_hidden_options o = last_layer(&s);
    cs_corpus bare = s.each;
    bare.doc_ptr = (int64_t[]){0, 3, 3};
    o.sources = &bare;
    fails(&s, &o, CS_ERR_INPUT, "source 1 has no token");
    cs_corpus shifted = s.each;
    shifted.dropped_documents = 1;
    o.sources = &shifted;
    fails(&s, &o, CS_ERR_INPUT, "2 source texts for 2 documents (1 and 0 dropped)");
    o.sources = &s.each;
    s.source[2 + LONG] = 19;
    fails(&s, &o, CS_ERR_INPUT, "source 1: token 19 at position 22 is not in 0..18");
    o.decoder = false;
    fails(&s, &o, CS_ERR_USAGE, "sources need a model with an encoder and a decoder");
    o = last_layer(&s);
    o.masks.attention = CS_ATTENTION_CAUSAL;
    fails(&s, &o, CS_ERR_USAGE, "hidden states of a decoder need an input without masked tokens");
    o.masks.attention = CS_ATTENTION_BIDIRECTIONAL;
    s.model.config.decoder.start = -1;
    fails(&s, &o, CS_ERR_USAGE, "config.json has no decoder_start_token_id");
    assert_fails(
        cs_verify_states(&s.model, s.reference, &(cs_verify_options){.decoder = true}, d, &count),
        CS_ERR_USAGE, "config.json has no decoder_start_token_id");
}
