/* Extractive question answering: SQuAD's files and what is refused of them, its scorer (expected
 * values by the definition in Python), windows and their bytes, the best span by hand, the loss and
 * its gradient by differences, a task that can be learned, threads. Against transformers:
 * tests/oracle/spans_parity.py. */
#include "analysis/measures/answer_scores.h"
#include "backend_ref.h"
#include "io/file.h"
#include "io_support.h"
#include "texts_support.h"
#include "tokenizer_support.h"
#include "train/finetune.h"
#include "train/spans.h"

/* --- the scorer ------------------------------------------------------------------------------- */

TEST(answers_are_normalised)
{
    static const char *const pair[][2] = {
        {"The Cat, a dog and AN ant.", "cat dog and ant"},
        {"  the\u00a0 a  ", ""},
        {"Theater of the-absurd", "theater of theabsurd"},
        {"U.S.A. (the)", "usa"},
        {"caf\u00e9 a\u0301 the\u0301se", "caf\u00e9 \u0301 \u0301se"},
        {"\u00c9COLE an\u00e9 _a_", "\u00e9cole an\u00e9"},
        {"a1 the2 a-b the", "a1 the2 ab"},
        {"don't \u2013 \u201cthe\u201d a\u00bd a", "dont \u2013 \u201c \u201d a\u00bd"},
        {"\u0130stanbul THE", "i\u0307stanbul"},
        {"x\x1cthe\ty $5 100%", "x y 5 100"},
        {"\u0391 a \u4e2da the\u4e2d a", "\u03b1 \u4e2da the\u4e2d"},
        {"aan thethe a an the", "aan thethe"},
        {"", ""}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; ++i) {
        CS_AUTO_FREE char *made = cs_answer_normalise(pair[i][0]);
        assert_non_null(made);
        assert_string_equal(made, pair[i][1]);
    }
}

/* f1 = 2 c / (p + g) by hand. */
TEST(answers_are_scored)
{
    static const struct {
        const char *answer, *right[3];
        int64_t count;
        double exact, f1;
    } cases[] = {
        {"the Eiffel Tower", {"Eiffel tower."}, 1, 1, 1},
        {"in Paris", {"Paris", "Lyon", "in"}, 3, 0, 2.0 / 3},
        {"x x x y", {"x x z z z"}, 1, 0, 4.0 / 9},
        {"x", {"y"}, 1, 0, 0},
        {"", {"y"}, 1, 0, 0},
        {"The", {NULL}, 0, 1, 1},
        {"", {NULL}, 0, 1, 1},
        {"y", {NULL}, 0, 0, 0},
        {"an", {"the", "a"}, 2, 1, 1}, /* no right answer is left of them */
        {"an", {"the", "b"}, 2, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double exact = -1, f1 = -1;
        OK(cs_answer_score(cases[i].answer, cases[i].count, cases[i].right, &exact, &f1));
        assert_true(exact == cases[i].exact && fabs(f1 - cases[i].f1) < 1e-15);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static cs_status read_squad(void **state, const char *json, cs_squad *out)
{
    return cs_squad_read(put(state, "squad.json", json), out);
}

/* A file of one context with the questions given. */
static const char *of(const char *context, const char *questions)
{
    static char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"version\": \"v2.0\", \"data\": [{\"title\": \"t\", \"paragraphs\": "
                   "[{\"context\": \"%s\", \"qas\": [%s]}]}]}",
                   context, questions);
    return text;
}

TEST_IN_DIR(a_file_is_read)
{
    AUTO_OK(
        cs_squad, s,
        read_squad(
            state,
            of("Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 w2",
               "{\"id\": \"a\", \"question\": \"w?\", \"answers\": [{\"text\": "
               "\"g\u0119\u015bl\u0105\", \"answer_start\": 7}, {\"text\": \"w2\", "
               "\"answer_start\": 13}], \"is_impossible\": false}, {\"id\": \"b\", \"question\": "
               "\"?\", \"answers\": [], \"plausible_answers\": [1], \"is_impossible\": true}"),
            &s));
    assert_int_equal(s.questions, 2);
    assert_int_equal(s.contexts, 1);
    assert_int_equal(s.question[0].answers, 2);
    assert_int_equal(s.answer[0].from, 11); /* four letters of two bytes before it */
    assert_int_equal(s.answer[1].from, 20);
    assert_int_equal(s.question[1].answers, 0);
    assert_string_equal(s.question[1].id, "b");
}

TEST_IN_DIR(bad_files_are_refused)
{
#define Q(answers, more) "{\"id\": \"a\", \"question\": \"w\", \"answers\": [" answers "]" more "}"
    static const test_refusal cases[] = {
        {Q("{\"text\": \"w1\", \"answer_start\": 1}", ""),
         "question a: its answer 'w1' is not at character 1 of the context"},
        {Q("{\"text\": \"w2 w3\", \"answer_start\": 3}", ""), "is not at character 3"},
        {Q("{\"text\": \"w1\", \"answer_start\": 99}", ""), "is not at character 99"},
        {Q("{\"text\": \"\", \"answer_start\": 0}", ""), "its answer '' is not"},
        {Q("{\"text\": \"w1\"}", ""), "data 1, paragraph 1, question 1, 'answer_start' is missing"},
        {Q("{\"text\": \"w1\", \"answer_start\": -1}", ""), "'answer_start' is missing or not"},
        {Q("{\"answer_start\": 0}", ""), "'text' is missing or not a text"},
        {Q("", ""), "question a: it has no answers, but is_impossible is not true"},
        {Q("{\"text\": \"w1\", \"answer_start\": 0}", ", \"is_impossible\": true"),
         "question a: it has answers, but is_impossible"},
        {Q("", ", \"is_impossible\": 1"), "'is_impossible' is missing or not true or false"},
        {"{\"question\": \"w\", \"answers\": []}", "question 1, 'id' is missing or not a text"},
        {"{\"id\": 3, \"question\": \"w\", \"answers\": []}", "'id' is missing or not a text"},
        {"{\"id\": \"a\", \"answers\": []}", "'question' is missing or not a text"},
        {"{\"id\": \"a\", \"question\": \"w\"}", "'answers' is missing or not a list"},
        {Q("", ", \"is_impossible\": true") ", " Q("", ", \"is_impossible\": true"),
         "two questions have the same id a"},
        {"", "no questions"},
    };
#undef Q
    cs_squad s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_fails(read_squad(state, of("w1 w2", cases[i].text), &s), CS_ERR_INPUT,
                     cases[i].reason);
    }
    assert_fails(read_squad(state, "{\"data\": 3}", &s), CS_ERR_INPUT,
                 "'data' is missing or not a list");
    assert_fails(read_squad(state, "{\"data\": [{}]}", &s), CS_ERR_INPUT,
                 "data 1, 'paragraphs' is missing or not a list");
    assert_fails(read_squad(state, "{\"data\": [{\"paragraphs\": [{\"qas\": []}]}]}", &s),
                 CS_ERR_INPUT, "data 1, paragraph 1, 'context' is missing or not a text");
    assert_fails(read_squad(state, "{\"data\": ", &s), CS_ERR_INPUT, "squad.json");
}

/* --- windows ---------------------------------------------------------------------------------- */

static const char CONTEXT[] = "w1 w2  w3 w4 w5 w6 w7 w8 w9 w10";

/* Of w4 w5 in windows of 4 tokens, 3 from one to the next: w1-4, w4-7, w7-10. <s> ? </s> context. */
TEST_IN_DIR(long_contexts_are_read_in_windows)
{
    CS_AUTO(cs_tokenizer) *t = word_tokenizer();
    AUTO_OK(cs_squad, squad,
            read_squad(state,
                       of(CONTEXT,
                          "{\"id\": \"a\", \"question\": \"w0 w0 w0\", \"answers\": [{\"text\": "
                          "\"w4 w5\", \"answer_start\": 10}]}"),
                       &squad));
    for (int causal = 0; causal < 2; ++causal) {
        /* the second question token is the last that is read */
        const cs_spans_options o = {.max_length = 8,
                                    .stride = 3,
                                    .max_question = 2,
                                    .causal = causal > 0,
                                    .token_types = 2};
        const int64_t none[] = {causal ? 7 : 0, causal ? 7 : 0}, first = causal ? 3 : 4;
        AUTO_OK(cs_spans, s, cs_spans_encode(&squad, t, &o, &s));
        assert_int_equal(s.texts.count, 3);
        for (int64_t n = 0; n < 3; ++n) {
            const int32_t *id = s.texts.token + s.texts.start[n],
                          *type = s.texts.type + s.texts.start[n];
            assert_int_equal(s.texts.start[n + 1] - s.texts.start[n], 8);
            assert_int_equal(s.window[n].first, first);
            assert_int_equal(s.window[n].token, 3 * n);
            assert_each(i, 0, s.window[n].tokens, id[first + i] == 5 + 1 + 3 * n + i);
            assert_each(i, 0, s.window[n].tokens, type[first + i] == 1);
            assert_int_equal(id[causal ? 0 : 1], 5);
            assert_int_equal(type[causal ? 1 : 2], 0);
            assert_int_equal(id[causal ? 7 : 0], causal ? 2 : 0);
            assert_each(h, 0, 2, s.texts.span[2 * n + h] == (n == 1 ? first + h : none[h]));
        }
        assert_int_equal(s.place[2].from, 7); /* w3, behind two blanks */
        assert_int_equal(s.place[2].to, 9);
    }
    cs_spans s;
    assert_fails(
        cs_spans_encode(&squad, t,
                        &(cs_spans_options){.max_length = 4, .stride = 1, .max_question = 9}, &s),
        CS_ERR_USAGE,
        "length 4 is too short for 2 special tokens, 3 question tokens and a context");
}

/* Tokens of byte-level BPE are bytes of the text, without the blank that begins them. */
TEST_IN_DIR(tokens_have_their_bytes)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    AUTO_OK(cs_squad, squad,
            read_squad(state,
                       of("the \u017c\u00f3\u0142w, (the)  end",
                          "{\"id\": \"a\", \"question\": \"w\", \"answers\": [{\"text\": \"the\", "
                          "\"answer_start\": 11}]}"),
                       &squad));
    const cs_spans_options o = {.max_length = 99, .stride = 9, .max_question = 9, .causal = true};
    AUTO_OK(cs_spans, s, cs_spans_encode(&squad, t, &o, &s));
    int64_t at = 0;
    const char *context = squad.context[0];
    for (int64_t i = 0; i < s.start[1]; ++i) {
        assert_true(s.place[i].from >= at && s.place[i].to >= s.place[i].from);
        for (; at < s.place[i].from; ++at) {
            assert_int_equal(context[at], ' ');
        }
        at = s.place[i].to;
    }
    assert_int_equal(at, strlen(context));
    const cs_span first = s.place[s.texts.span[0] - s.window[0].first],
                  last = s.place[s.texts.span[1] - s.window[0].first];
    assert_int_equal(first.from, squad.answer[0].from);
    assert_int_equal(last.to, squad.answer[0].from + 3);
    assert_int_equal(s.unplaced, 0);
}

TEST_IN_DIR(the_best_span_is_answered)
{
    CS_AUTO(cs_tokenizer) *t = word_tokenizer();
    CS_AUTO(cs_spans) s = {0};
    AUTO_OK(cs_squad, squad,
            read_squad(state,
                       of(CONTEXT, "{\"id\": \"a\", \"question\": \"w0\", \"answers\": [], "
                                   "\"is_impossible\": true}"),
                       &squad));
    const cs_spans_options o = {.max_length = 7, .stride = 3, .max_question = 2};
    OK(cs_spans_encode(&squad, t, &o, &s)); /* <s> w0 </s> and 4 of 10 tokens, 3 windows */
    assert_int_equal(s.texts.count, 3);
    float z[3 * 7 * 2] = {0};
    cs_span_answer a;
    z[2 * 0] = 5; /* no answer: 5 in the first window, 2 in the second, 9 in the third */
    z[2 * 7 + 1] = 2;
    z[2 * 14] = 9;
    z[2 * (7 + 4)] = 1;                           /* from w5 */
    z[2 * (7 + 5) + 1] = 0.5F;                    /* to w6 */
    z[2 * (7 + 6) + 1] = 0.75F;                   /* to w7, too long */
    z[2 * 1] = z[2 * 2 + 1] = 50;                 /* the question is no answer */
    z[2 * (14 + 6)] = z[2 * (14 + 3) + 1] = 1.2F; /* ends before it begins */
    cs_spans_answer(&squad, &s, z, 2, true, 0.4, &a);
    assert_int_equal(a.to, 0);
    assert_true(a.null == 2 - 1.5);
    cs_spans_answer(&squad, &s, z, 2, true, 0.6, &a);
    assert_int_equal(strncmp(CONTEXT + a.from, "w5 w6", (size_t)(a.to - a.from)), 0);
    assert_int_equal(a.to - a.from, 5);
    cs_spans_answer(&squad, &s, z, 3, true, 0.6, &a);
    assert_int_equal(strncmp(CONTEXT + a.from, "w5 w6 w7", 8), 0);
    cs_spans_answer(&squad, &s, z, 2, false, -9, &a);
    assert_int_equal(a.to - a.from, 5);
}

/* --- the loss --------------------------------------------------------------------------------- */

/* Two windows of other lengths. */
static void make_texts(cs_texts *t)
{
    static int64_t start[] = {0, 5, 8};
    static int32_t token[] = {0, 7, 2, 9, 12, 0, 2, 15}, type[8] = {0}, span[] = {3, 4, 0, 0};
    static double value[2];
    *t = (cs_texts){.count = 2,
                    .longest = 5,
                    .start = start,
                    .token = token,
                    .type = type,
                    .span = span,
                    .value = value,
                    .classes = 2};
}

static cs_model span_model(cs_backend *backend, cs_arch arch, const cs_texts *texts)
{
    cs_model model;
    cs_model_config c = {.shape.vocab = 35,
                         .shape.positions = 40,
                         .shape.width = 16,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 32},
                    config;
    cs_model_config_default(arch, &c);
    cs_model_config_ids(&c, (cs_special_ids){.pad = 1, .bos = 0, .eos = 2, .mask = 4, .unk = 3});
    OK(cs_finetune_config(&c, texts, cs_readout_of(arch), 0, &config));
    assert_true(config.head.spans && config.head.classes == 2);
    OK(cs_model_init(&config, backend, true, &model));
    OK(cs_model_randomise(&model, 3));
    return model;
}

static double loss_of(cs_model *model, const cs_texts *texts, const cs_finetune_options *o)
{
    float logits[2 * 8];
    double loss = 0;
    OK(cs_finetune_rows(model, texts, o, logits, &loss));
    for (int i = 0; i < 4; ++i) { /* the same by hand, in floats */
        const int64_t from = texts->start[i / 2], to = texts->start[i / 2 + 1];
        double sum = SUM(r, from, to, exp((double)logits[2 * r + i % 2]));
        loss -= (log(sum) - (double)logits[2 * (from + texts->span[i]) + i % 2]) / 4;
    }
    assert_true(fabs(loss) < 1e-5);
    OK(cs_finetune_rows(model, texts, o, logits, &loss));
    return loss;
}

/* The gradients of one step, against a central difference of the loss before it along a random
 * direction of norm 1: truncation h^2 / 6 of the third derivative, rounding 1e-16 / h. */
TEST(the_gradient_is_that_of_the_loss)
{
    const cs_arch arch[] = {CS_ARCH_BERT, CS_ARCH_GPT2, CS_ARCH_LLAMA};
    const double h = 1e-5;
    for (int a = 0; a < 3; ++a) {
        cs_texts texts;
        cs_finetune_result result;
        make_texts(&texts);
        AUTO_OK(cs_backend, *backend, cs_backend_ref64(&backend));
        CS_AUTO(cs_model) model = span_model(backend, arch[a], &texts);
        cs_finetune_options o = cs_finetune_defaults();
        o.epochs = 1;
        o.batch = 2;
        o.masks.attention =
            arch[a] == CS_ARCH_BERT ? CS_ATTENTION_BIDIRECTIONAL : CS_ATTENTION_CAUSAL;
        const int64_t count = model.params.count;
        double **before = test_zeros(count, sizeof *before), side[2], exact = 0, random = 0;
        double **along = test_zeros(count, sizeof *along);
        cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, 0);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t n = model.params.param[i].rows * model.params.param[i].cols;
            before[i] = test_zeros(n, sizeof **before);
            along[i] = test_zeros(n, sizeof **along);
            OK(cs_params_get64(&model.params, i, CS_PARAM_VALUE, before[i]));
            for (int64_t k = 0; k < n; ++k) {
                along[i][k] = model.params.param[i].fixed ? 0 : cs_rng_normal(&rng);
                random += along[i][k] * along[i][k];
            }
        }
        for (int s = 0; s < 2; ++s) {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t n = model.params.param[i].rows * model.params.param[i].cols;
                ARRAY(double, moved, n, k,
                      before[i][k] + (s ? h : -h) * along[i][k] / sqrt(random));
                OK(cs_params_set64(&model.params, i, CS_PARAM_VALUE, moved));
            }
            side[s] = loss_of(&model, &texts, &o);
        }
        for (int64_t i = 0; i < count; ++i) {
            OK(cs_params_set64(&model.params, i, CS_PARAM_VALUE, before[i]));
        }
        const double loss = loss_of(&model, &texts, &o);
        OK(cs_finetune(&model, &texts, NULL, 0, &o, &result));
        assert_true(fabs(result.loss - loss) < 1e-12 && result.steps == 1);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t n = model.params.param[i].rows * model.params.param[i].cols;
            double *grad = test_zeros(n, sizeof *grad);
            OK(cs_params_get64(&model.params, i, CS_PARAM_GRAD, grad));
            exact += SUM(k, 0, n, grad[k] * along[i][k] / sqrt(random));
        }
        const double found = (side[1] - side[0]) / (2 * h);
        if (!(fabs(exact - found) < 1e-6 * (1e-3 + fabs(exact)))) {
            fail_msg("%s: %.12g, by differences %.12g", cs_arch_name(arch[a]), exact, found);
        }
    }
}

/* --- learning --------------------------------------------------------------------------------- */

/* Contexts of 24 words with one of w0 .. w4 at a drawn place, or none: it is the answer. */
static char *words_to_find(int64_t count)
{
    enum { CAPACITY = 512 };
    char *text = test_zeros(count * CAPACITY, 1), *to = text;
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 0);
    to += snprintf(to, CAPACITY, "{\"data\": [{\"paragraphs\": [");
    for (int64_t i = 0; i < count; ++i) {
        const int64_t place = cs_rng_below(&rng, 32), word = cs_rng_below(&rng, 5);
        int64_t at = -1, n = 0;
        to += snprintf(to, CAPACITY, "%s{\"context\": \"", i ? ", " : "");
        for (int64_t k = 0; k < 24; ++k) {
            at = k == place ? n : at;
            const int w = snprintf(to, CAPACITY, "w%d ",
                                   (int)(k == place ? word : 5 + cs_rng_below(&rng, 25)));
            to += w;
            n += w;
        }
        to += snprintf(to, CAPACITY, "\", \"qas\": [{\"id\": \"%lld\", \"question\": \"w9\", ",
                       (long long)i);
        to += at < 0 ? snprintf(to, CAPACITY, "\"answers\": [], \"is_impossible\": true}]}")
                     : snprintf(to, CAPACITY,
                                "\"answers\": [{\"text\": \"w%d\", \"answer_start\": %d}]}]}",
                                (int)word, (int)at);
    }
    (void)snprintf(to, CAPACITY, "]}]}");
    return text;
}

TEST_IN_DIR(answers_are_learned)
{
    const cs_arch arch[] = {CS_ARCH_BERT, CS_ARCH_GPT2};
    for (int a = 0; a < 2; ++a) {
        CS_AUTO(cs_tokenizer) *t = word_tokenizer();
        float *logits[2];
        AUTO_OK(cs_squad, squad, read_squad(state, words_to_find(96), &squad));
        const cs_spans_options o = {
            .max_length = 18, .stride = 9, .max_question = 9, .causal = a > 0};
        AUTO_OK(cs_spans, s, cs_spans_encode(&squad, t, &o, &s));
        assert_int_equal(s.texts.count, 2 * 96);
        for (int threads = 1; threads <= 3; threads += 2) {
            cs_finetune_result result;
            double loss = 0;
            AUTO_OK(cs_backend, *backend, cs_backend_cpu(threads, &backend));
            CS_AUTO(cs_model) model = span_model(backend, arch[a], &s.texts);
            cs_finetune_options f = cs_finetune_defaults();
            f.epochs = 25;
            f.learning_rate = 5e-3;
            f.masks.attention = a ? CS_ATTENTION_CAUSAL : CS_ATTENTION_BIDIRECTIONAL;
            OK(cs_finetune(&model, &s.texts, NULL, 0, &f, &result));
            float **z = &logits[threads > 1];
            *z = test_zeros(2 * s.texts.start[s.texts.count], sizeof **z);
            OK(cs_finetune_rows(&model, &s.texts, &f, *z, &loss));
        }
        assert_memory_equal(logits[0], logits[1],
                            (size_t)(2 * s.texts.start[s.texts.count]) * sizeof **logits);
        cs_span_answer answer[96];
        cs_spans_answer(&squad, &s, logits[0], 5, true, 0, answer);
        int64_t right = 0, none = 0;
        for (int64_t i = 0; i < squad.questions; ++i) {
            const cs_squad_question *q = &squad.question[i];
            const char *said = squad.context[q->context] + answer[i].from;
            const cs_squad_answer *r = q->answers > 0 ? &squad.answer[q->first] : NULL;
            right += r ? answer[i].from == r->from && answer[i].to == r->from + 2 &&
                             strncmp(said, r->text, 2) == 0
                       : answer[i].to == 0;
            none += !r;
        }
        assert_true(none > 5 && right >= 90);
    }
}

TEST(what_has_no_spans_is_refused)
{
    cs_texts texts;
    cs_finetune_result result;
    cs_finetune_options o = cs_finetune_defaults();
    make_texts(&texts);
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_model) model = span_model(backend, CS_ARCH_BERT, &texts);
    o.label_smoothing = 0.1;
    assert_fails(cs_finetune(&model, &texts, NULL, 0, &o, &result), CS_ERR_USAGE, "need classes");
    o.label_smoothing = 0;
    texts.span = NULL;
    assert_fails(cs_finetune(&model, &texts, NULL, 0, &o, &result), CS_ERR_USAGE,
                 "the model has 2 outputs");
    model.config.head.classes = 3;
    assert_fails(cs_model_config_check(&model.config), CS_ERR_USAGE,
                 "a span head has 2 outputs, not 3");
}
