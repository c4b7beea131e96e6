/* train/texts and the pair form of post-processors: the tokens around one text and two, token
 * types, cutting, bad forms and input, every allocation failed. */
#include "io/json.h"
#include "io_support.h"
#include "texts_support.h"
#include "train/texts.h"

enum { BOS = 0, EOS = 2, W = 5 }; /* word wN has id W + N */

#define TEMPLATE                                                                                   \
    "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<s>\", "        \
    "\"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"pair\": [%s], "         \
    "\"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [0], \"tokens\": [\"<s>\"]}, "       \
    "\"</s>\": {\"id\": \"</s>\", \"ids\": [2], \"tokens\": [\"</s>\"]}}}"
#define A "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"
#define B "{\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}"
#define SEP "{\"SpecialToken\": {\"id\": \"</s>\", \"type_id\": 1}}"

static const char bert[] = "{\"type\": \"BertProcessing\", \"sep\": [\"</s>\", 2], \"cls\": "
                           "[\"<s>\", 0]}";
static const char roberta[] = "{\"type\": \"RobertaProcessing\", \"sep\": [\"</s>\", 2], \"cls\": "
                              "[\"<s>\", 0], \"trim_offsets\": true, \"add_prefix_space\": true}";
static const char bytes[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                            "\"trim_offsets\": false, \"use_regex\": true}";

/* The word tokenizer with a post-processor; "": none. */
static cs_tokenizer *with_post(void **state, const char *post)
{
    const char *path = in_dir(state, "tokenizer.json");
    cs_tokenizer *plain = word_tokenizer(), *t = NULL;
    json_auto_t *json = NULL;
    OK(cs_tokenizer_write(plain, path));
    OK(cs_json_read(path, &json));
    if (*post) {
        json_t *value = json_loads(post, 0, NULL);
        assert_non_null(value);
        OK(cs_json_set(json, "post_processor", value));
        OK(cs_json_write(path, json));
    }
    OK(cs_tokenizer_read(path, &t));
    cs_tokenizer_free(&plain);
    return t;
}

/* One example of these texts. */
static cs_labelled_text one(const char *first, const char *second)
{
    cs_labelled_text t = small_texts(1, LABEL_BY_CHANCE, 2, second != NULL, 1);
    cs_free(t.text[0]);
    assert_non_null(t.text[0] = cs_strdup(first));
    if (second) {
        cs_free(t.pair[0]);
        assert_non_null(t.pair[0] = cs_strdup(second));
    }
    return t;
}

static void expect(const cs_tokenizer *t, const cs_texts_options *o, const char *second,
                   int64_t count, const int32_t *token, const int32_t *type)
{
    CS_AUTO(cs_labelled_text) text = one("w1 w2 w3", second);
    AUTO_OK(cs_texts, ids, cs_texts_encode(&text, t, o, &ids));
    assert_int_equal(ids.start[1], count);
    assert_int_equal(ids.longest, count);
    assert_each(i, 0, count, ids.token[i] == token[i]);
    assert_each(i, 0, count, ids.type[i] == (type ? type[i] : 0));
}

#define EXPECT(t, o, second, ...)                                                                  \
    do {                                                                                           \
        const int32_t want[] = {__VA_ARGS__};                                                      \
        expect(t, o, second, (int64_t)(sizeof want / sizeof *want), want, types);                  \
    } while (0)

TEST_IN_DIR(forms)
{
    cs_texts_options o = {.max_length = 20, .special = true, .token_types = 2};
    const int32_t of_bert[] = {0, 0, 0, 0, 0, 1, 1, 1};
    const int32_t *types = NULL;
    CS_AUTO(cs_tokenizer) *t = with_post(state, bert);
    EXPECT(t, &o, NULL, BOS, W + 1, W + 2, W + 3, EOS);
    types = of_bert;
    EXPECT(t, &o, "w7 w8", BOS, W + 1, W + 2, W + 3, EOS, W + 7, W + 8, EOS);
    o.token_types = 1; /* a model that has one */
    types = NULL;
    EXPECT(t, &o, "w7 w8", BOS, W + 1, W + 2, W + 3, EOS, W + 7, W + 8, EOS);
    o.special = false;
    EXPECT(t, &o, NULL, W + 1, W + 2, W + 3);
    o.special = true;
    cs_tokenizer_free(&t);

    t = with_post(state, roberta);
    EXPECT(t, &o, NULL, BOS, W + 1, W + 2, W + 3, EOS);
    EXPECT(t, &o, "w7 w8", BOS, W + 1, W + 2, W + 3, EOS, EOS, W + 7, W + 8, EOS);
    cs_tokenizer_free(&t);

    char post[2048];
    const int32_t of_template[] = {0, 0, 0, 1, 1};
    (void)snprintf(post, sizeof post,
                   "{\"type\": \"Sequence\", \"processors\": [%s, " TEMPLATE "]}", bytes,
                   A ", " SEP ", " B);
    t = with_post(state, post);
    o.token_types = 2;
    EXPECT(t, &o, NULL, BOS, W + 1, W + 2, W + 3);
    types = of_template;
    EXPECT(t, &o, "w9", W + 1, W + 2, W + 3, EOS, W + 9);
}

/* Where no post-processor adds tokens. */
TEST_IN_DIR(plain_forms)
{
    const char *const post[] = {"", bytes};
    for (int i = 0; i < 2; ++i) {
        cs_texts_options o = {.max_length = 20, .special = true, .token_types = 2};
        const int32_t of_pair[] = {0, 0, 0, 0, 1};
        const int32_t *types = NULL;
        CS_AUTO(cs_tokenizer) *t = with_post(state, post[i]);
        EXPECT(t, &o, NULL, W + 1, W + 2, W + 3);
        types = of_pair;
        EXPECT(t, &o, "w9", W + 1, W + 2, W + 3, EOS, W + 9);
        types = NULL;
        o.begin = true;
        o.token_types = 0;
        EXPECT(t, &o, NULL, BOS, W + 1, W + 2, W + 3);
        EXPECT(t, &o, "w9", BOS, W + 1, W + 2, W + 3, EOS, W + 9);
    }
}

/* Lengths of a pair after cutting: the longer loses first; of equal ones the first is the shorter.
 * As `tokenizers` has it: min(shorter, half) and what is left. */
TEST_IN_DIR(cuts)
{
    static const struct {
        int a, b, limit, first, second;
    } cut[] = {{3, 3, 6, 3, 3}, {5, 1, 4, 3, 1}, {1, 5, 4, 1, 3}, {5, 5, 5, 2, 3},
               {6, 5, 5, 3, 2}, {5, 6, 5, 2, 3}, {6, 2, 4, 2, 2}, {4, 4, 2, 1, 1}};
    CS_AUTO(cs_tokenizer) *t = with_post(state, "");
    for (size_t i = 0; i < sizeof cut / sizeof *cut; ++i) {
        static const char *const words[] = {
            "", "w1", "w1 w1", "w1 w1 w1", "w1 w1 w1 w1", "w1 w1 w1 w1 w1", "w1 w1 w1 w1 w1 w1"};
        CS_AUTO(cs_labelled_text) text = one(words[cut[i].a], words[cut[i].b]);
        const cs_texts_options o = {.max_length = cut[i].limit + 1, .token_types = 2};
        AUTO_OK(cs_texts, ids, cs_texts_encode(&text, t, &o, &ids));
        int64_t n = ids.start[1];
        assert_int_equal(n, cut[i].first + cut[i].second + 1);
        assert_int_equal(ids.token[cut[i].first], EOS);
        assert_int_equal(ids.truncated, cut[i].a + cut[i].b > cut[i].limit);
    }
    CS_AUTO(cs_labelled_text) text = one("w1 w2 w3 w4", NULL);
    const cs_texts_options o = {.max_length = 2};
    AUTO_OK(cs_texts, ids, cs_texts_encode(&text, t, &o, &ids));
    assert_true(ids.start[1] == 2 && ids.token[1] == W + 2 && ids.truncated == 1);
}

TEST_IN_DIR(bad_input)
{
    cs_tokenizer *t = with_post(state, "");
    CS_AUTO(cs_labelled_text) text = one("w1", "w2"), empty = one(" ", NULL);
    cs_texts_options o = {.max_length = 2};
    cs_texts ids;
    assert_fails(cs_texts_encode(&text, t, &o, &ids), CS_ERR_USAGE,
                 "length 2 is too short for 1 special token");
    o.max_length = 8;
    assert_fails(cs_texts_encode(&empty, t, &o, &ids), CS_ERR_INPUT,
                 "small.tsv, example 1: the text has no tokens");
    empty.text[0][0] = '\xff';
    assert_fails(cs_texts_encode(&empty, t, &o, &ids), CS_ERR_INPUT, "small.tsv, example 1: ");
    cs_tokenizer_free(&t);
    static const test_refusal bad[] = {
        {A, "expected one Sequence A and one Sequence B"},
        {A ", " A ", " B, "expected one Sequence A and one Sequence B"},
        {A ", " B ", {\"Sequence\": {\"id\": \"C\", \"type_id\": 0}}", "pair[2]: expected"},
        {A ", " B ", {\"SpecialToken\": {\"id\": \"<x>\", \"type_id\": 0}}", "no ids of \"<x>\""},
        {A ", {\"Sequence\": {\"id\": \"B\", \"type_id\": 7}}", "7 is not 0 or 1"}};
    o.special = true;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char post[2048];
        (void)snprintf(post, sizeof post, TEMPLATE, bad[i].text);
        t = with_post(state, post);
        assert_fails(cs_texts_encode(&text, t, &o, &ids), CS_ERR_INPUT, bad[i].reason);
        cs_tokenizer_free(&t);
    }
}

TEST_IN_DIR(too_many_pieces)
{
    char pair[2048] = A ", " B, post[4096];
    for (int i = 0; i < CS_TEXT_PIECES; ++i) {
        (void)strcat(pair, ", " SEP);
    }
    (void)snprintf(post, sizeof post, TEMPLATE, pair);
    CS_AUTO(cs_tokenizer) *t = with_post(state, post);
    cs_text_form form = {.count = 7};
    assert_fails(cs_tokenizer_form(t, true, &form), CS_ERR_INPUT, "more than 16 pieces");
    assert_int_equal(form.count, 0);
}
