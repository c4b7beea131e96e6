/* train/cloze: the places of gap and text in a template, predictions equal to the language model's,
 * learning from few examples, bad templates and words, every allocation failed. */
#include "io_support.h"
#include "model/pass.h"
#include "texts_support.h"
#include "train/cloze.h"
#include "train/finetune.h"

enum { MASK = 4, W = 5, POSITIONS = 16, MOST_VOCAB = 64 }; /* word wN has id W + N */

/* "NAME=w20,NAME=w21,...", of the classes of a text. */
static const char *words_of(const cs_labelled_text *text)
{
    static char list[256];
    int at = 0;
    for (int64_t c = 0; c < text->classes; ++c) {
        at += snprintf(list + at, sizeof list - (size_t)at, "%s%s=w%d", c ? "," : "",
                       text->class_name[c], 20 + (int)c);
    }
    return list;
}

/* --- places ----------------------------------------------------------------------------------- */

static void check_tokens(const cs_labelled_text *text, const char *template, int32_t mask,
                         int64_t most, int64_t n, const int32_t *want, int32_t place)
{
    CS_AUTO(cs_tokenizer) *tokenizer = word_tokenizer();
    AUTO_OK(cs_cloze, cloze,
            cs_cloze_read(template, words_of(text), tokenizer, text, mask, &cloze));
    assert_int_equal(cloze.classes, text->classes);
    assert_each(c, 0, cloze.classes, cloze.token[c] == W + 20 + c);
    const cs_texts_options o = {.max_length = most, .token_types = 1, .cloze = &cloze};
    AUTO_OK(cs_texts, ids, cs_texts_encode(text, tokenizer, &o, &ids));
    assert_int_equal(ids.start[1], n);
    assert_memory_equal(ids.token, want, (size_t)n * sizeof *want);
    assert_int_equal(ids.place[0], place);
}

static cs_labelled_text one(bool pair)
{
    cs_labelled_text t = small_texts(1, LABEL_BY_CHANCE, 2, pair, 1);
    cs_free(t.text[0]);
    assert_non_null(t.text[0] = cs_strdup("w1 w2 w3"));
    if (pair) {
        cs_free(t.pair[0]);
        assert_non_null(t.pair[0] = cs_strdup("w7 w8"));
    }
    return t;
}

TEST(texts_are_in_the_template)
{
    CS_AUTO(cs_labelled_text) single = one(false), pair = one(true);
    check_tokens(&single, "{1} w10 {mask} w11", MASK, 16, 6,
                 (const int32_t[]){W + 1, W + 2, W + 3, W + 10, MASK, W + 11}, 4);
    check_tokens(&single, "w10 {mask} {1}", MASK, 4, 4,
                 (const int32_t[]){W + 10, MASK, W + 1, W + 2}, 1); /* cut */
    check_tokens(&single, "{1} w10 {mask}", -1, 16, 4,
                 (const int32_t[]){W + 1, W + 2, W + 3, W + 10}, 3); /* causal */
    check_tokens(&pair, "w9 {1} w10 {mask} w11 {2}", MASK, 16, 9,
                 (const int32_t[]){W + 9, W + 1, W + 2, W + 3, W + 10, MASK, W + 11, W + 7, W + 8},
                 5);
    check_tokens(&pair, "w9 {2} w10 {mask} w11 {1}", MASK, 7, 7,
                 (const int32_t[]){W + 9, W + 7, W + 10, MASK, W + 11, W + 1, W + 2}, 3);
}

/* Where a row predicts the token behind it, the one before the gap is read. */
TEST(shifted_outputs_are_read_before_the_gap)
{
    CS_AUTO(cs_labelled_text) text = one(false);
    CS_AUTO(cs_tokenizer) *tokenizer = word_tokenizer();
    static const char *const template[] = {"{1} w10 {mask} w11", "{mask} {1}"};
    for (int k = 0; k < 2; ++k) {
        CS_AUTO(cs_cloze) cloze = {0};
        CS_AUTO(cs_texts) ids = {0};
        const cs_texts_options o = {.max_length = 16, .token_types = 1, .cloze = &cloze};
        OK(cs_cloze_read(template[k], words_of(&text), tokenizer, &text, MASK, &cloze));
        cloze.shifts = true;
        if (k == 0) {
            OK(cs_texts_encode(&text, tokenizer, &o, &ids));
            assert_int_equal(ids.token[4], MASK);
            assert_int_equal(ids.place[0], 3);
        } else {
            assert_fails(cs_texts_encode(&text, tokenizer, &o, &ids), CS_ERR_USAGE,
                         "example 1: no token precedes the gap");
        }
    }
}

/* --- texts that answer questions --- */

typedef struct {
    cs_arch arch;
    bool causal, tied;
    const char *template;
    double cap; /* of the logits; 0: none */
} plan;

static const plan plans[] = {
    {CS_ARCH_ROBERTA_PRELAYERNORM, false, true, "{1} w10 {mask} w11", 0},
    {CS_ARCH_BERT, false, false, "w12 {mask} {1}", 0},
    {CS_ARCH_GPT2, true, true, "{1} w10 {mask}", 0},
    {CS_ARCH_LLAMA, true, false, "w11 {1} {mask}", 0},
    {CS_ARCH_MODERNBERT, false, true, "{mask} w11 {1}", 0},
    {CS_ARCH_GEMMA2, true, true, "w11 {1} {mask}", 1},
};

typedef struct {
    cs_backend *backend;
    cs_tokenizer *tokenizer;
    cs_labelled_text text;
    cs_cloze cloze;
    cs_texts ids;
    cs_model from, model;
    cs_finetune_options options;
    double predicted[12];
} task;

static void open_task(const plan *p, task *t)
{
    cs_model_config c = {.shape.positions = POSITIONS,
                         .shape.width = 16,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 32},
                    config;
    *t = (task){.tokenizer = word_tokenizer(),
                .text = small_texts(12, LABEL_BY_CHANCE, 3, false, 1),
                .options = cs_finetune_defaults()};
    t->options.masks.attention = p->causal ? CS_ATTENTION_CAUSAL : CS_ATTENTION_BIDIRECTIONAL;
    c.shape.vocab = cs_tokenizer_vocab(t->tokenizer);
    cs_model_config_default(p->arch, &c);
    cs_model_config_ids(&c, (cs_special_ids){.pad = 1, .bos = 0, .eos = 2, .mask = MASK, .unk = 3});
    c.head.tied = p->tied;
    c.head.logit_cap = p->cap;
    OK(cs_backend_cpu(1, &t->backend));
    OK(cs_model_init(&c, t->backend, false, &t->from));
    OK(cs_model_randomise(&t->from, 3));
    int64_t bias = cs_params_find(&t->from.params, "head.bias");
    float value[MOST_VOCAB];
    for (int64_t v = 0; v < c.shape.vocab; ++v) {
        value[v] = (float)(v % 7) - 3;
    }
    if (bias >= 0) OK(cs_params_set(&t->from.params, bias, CS_PARAM_VALUE, value));
    OK(cs_cloze_read(p->template, words_of(&t->text), t->tokenizer, &t->text, p->causal ? -1 : MASK,
                     &t->cloze));
    const cs_texts_options o = {
        .max_length = POSITIONS, .token_types = c.shape.token_types, .cloze = &t->cloze};
    OK(cs_texts_encode(&t->text, t->tokenizer, &o, &t->ids));
    OK(cs_finetune_config(&c, &t->ids, CS_READ_LAST, 0, &config));
    OK(cs_model_init(&config, t->backend, true, &t->model));
    OK(cs_model_take_encoder(&t->from, 5, &t->model));
    OK(cs_model_take_tokens(&t->from, t->cloze.classes, t->cloze.token, &t->model));
}

static void close_task(task *t)
{
    cs_model_free(&t->model);
    cs_model_free(&t->from);
    cs_texts_free(&t->ids);
    cs_cloze_free(&t->cloze);
    cs_labelled_text_free(&t->text);
    cs_tokenizer_free(&t->tokenizer);
    cs_backend_free(&t->backend);
}

/* The language model's logits of all tokens at the gap of text i. */
static void asked(task *t, const plan *p, int64_t i, float *logits)
{
    const int64_t n = t->ids.start[i + 1] - t->ids.start[i];
    const cs_network_options sizes = {
        .form = CS_FORM_SINGLE, .batch = 1, .length = n, .predictions = 1};
    CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
    OK(cs_pass_open(&t->from, &sizes, &pass));
    OK(cs_pass_begin(&pass, 1, n, 1));
    for (int64_t k = 0; k < n; ++k) {
        cs_batch_content(&pass.batch, &t->from.config, 0, k, t->ids.token[t->ids.start[i] + k], k,
                         p->causal ? (int32_t)k : 0);
    }
    cs_batch_predict(&pass.batch, t->ids.place[i], -1, 0, 0, 0);
    OK(cs_pass_forward(&pass, 1, (cs_run_key){0}));
    OK(cs_run_get_f32(pass.run, pass.network.loss.logits, logits));
}

/* Untaught, the answer is the likeliest of the words by the network of the language model, and the loss
 * its cross-entropy among them. Of sums of at most 32 products of order one in float. */
TEST(answers_are_the_language_models)
{
    for (size_t k = 0; k < sizeof plans / sizeof *plans; ++k) {
        CS_AUTO_BY(close_task, task) t = {0};
        double loss = 0, want = 0;
        open_task(&plans[k], &t);
        OK(cs_finetune_predict(&t.model, &t.ids, NULL, 0, &t.options, t.predicted, &loss));
        for (int64_t i = 0; i < 12; ++i) {
            float logits[MOST_VOCAB];
            double sum = 0, z[3];
            int best = 0;
            asked(&t, &plans[k], i, logits);
            for (int c = 0; c < 3; ++c) {
                z[c] = (double)logits[t.cloze.token[c]];
                best = z[c] > z[best] ? c : best;
                sum += exp(z[c]);
            }
            assert_int_equal((int)t.predicted[i], best);
            want += (log(sum) - z[(int)t.text.value[i]]) / 12;
        }
        assert_true(fabs(loss - want) < 1e-5);
    }
}

/* Twelve labels that follow from nothing are learnt by heart, through the words' own rows; where logits are
 * within -c .. c, of three classes to no less than log(1 + 2 exp(-2 c)). */
TEST(learns_from_few)
{
    for (size_t k = 0; k < sizeof plans / sizeof *plans; ++k) {
        CS_AUTO_BY(close_task, task) t = {0};
        const double cap = plans[k].cap, least = cap > 0 ? log(1 + 2 * exp(-2 * cap)) : 0;
        double loss = 0;
        cs_finetune_result result = {0};
        open_task(&plans[k], &t);
        t.options.epochs = 150;
        t.options.batch = 4;
        t.options.learning_rate = 5e-3;
        OK(cs_finetune(&t.model, &t.ids, NULL, 0, &t.options, &result));
        OK(cs_finetune_predict(&t.model, &t.ids, NULL, 0, &t.options, t.predicted, &loss));
        if (!(loss < least + 0.05)) {
            fail_msg("plan %d: loss %g", (int)k, loss);
        }
    }
}

/* --- refusals --------------------------------------------------------------------------------- */

TEST(bad_clozes_are_refused)
{
    static const struct {
        const char *template, *words, *part;
        bool pair, causal;
    } bad[] = {
        {"{1} w1", "", "contains {mask} 0 times", false, false},
        {"{mask}", "", "contains {1} 0 times; for a single text it must contain it once", false,
         false},
        {"{1} {mask} {1}", "", "contains {1} 2 times", false, false},
        {"{1} {2} {mask}", "",
         "contains {2} 1 time; for a single text it must contain it not at all", false, false},
        {"{1} {mask}", "", "contains {2} 0 times; for a pair it must contain it once", true, false},
        {"{1} {mask} w1", "", "for a causal model {mask} must come last", false, true},
        {"{1} {mask}", "%s=w1", "no word is given for class %s", false, false},
        {"{1} {mask}", "%s=w1,%s=w1", "'w1' has the same token as %s", false, false},
        {"{1} {mask}", "%s=w1 w2,%s=w3",
         "'w1 w2' has 2 tokens in this model, but a word must be one", false, false},
        {"{1} {mask}", "%s=,%s=w3", "'' has 0 tokens", false, false},
        {"{1} {mask}", "%s=w99,%s=w3", "the model has no token 'w99'", false, false},
        {"{1} {mask}", "none=w1", "'none=w1' is not CLASS=WORD with a class of", false, false},
        {"{1} {mask}", "w1", "'w1' is not CLASS=WORD", false, false},
    };
    CS_AUTO(cs_tokenizer) *tokenizer = word_tokenizer();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        CS_AUTO(cs_labelled_text) text = one(bad[i].pair);
        cs_cloze cloze;
        char words[128], part[128];
        const char *a = text.class_name[0], *b = text.class_name[1];
        const bool second = strstr(bad[i].part, "no word") != NULL;
        int at = 0;
        for (const char *p = bad[i].words; *p && at < 100; ++p) { /* %s: the classes in turn */
            bool name = p[0] == '%';
            at += name ? snprintf(words + at, sizeof words - (size_t)at, "%s", at == 0 ? a : b) : 1;
            words[at - 1] = name ? words[at - 1] : *p;
            p += name;
        }
        words[at] = '\0';
        const char *gap = strstr(bad[i].part, "%s");
        (void)snprintf(part, sizeof part, "%.*s%s%s", gap ? (int)(gap - bad[i].part) : 120,
                       bad[i].part, gap ? (second ? b : a) : "", gap ? gap + 2 : "");
        assert_fails(cs_cloze_read(bad[i].template, *bad[i].words ? words : words_of(&text),
                                   tokenizer, &text, bad[i].causal ? -1 : MASK, &cloze),
                     CS_ERR_USAGE, part);
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

static cs_tokenizer *words;
static cs_labelled_text texts;

static cs_status read_and_encode(const char *template)
{
    CS_AUTO(cs_cloze) cloze = {0};
    CS_AUTO(cs_texts) ids = {0};
    cs_status status = cs_cloze_read(template, words_of(&texts), words, &texts, MASK, &cloze);
    const cs_texts_options o = {.max_length = POSITIONS, .token_types = 1, .cloze = &cloze};
    if (status == CS_OK) status = cs_texts_encode(&texts, words, &o, &ids);
    return status;
}

TEST(each_allocation_may_fail)
{
    words = word_tokenizer();
    texts = small_texts(3, LABEL_BY_CHANCE, 2, true, 1);
    fail_each_allocation(read_and_encode, "w9 {1} w10 {mask} {2}");
    cs_labelled_text_free(&texts);
    cs_tokenizer_free(&words);
}
