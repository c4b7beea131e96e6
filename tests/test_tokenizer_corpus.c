/* Corpora over tokenizers, tokenizers of corpora, visits. */
#include "corpus_support.h"
#include "io/file.h"
#include "io/npy.h"
#include "io_support.h"
#include "tokenizer_support.h"

/* --- corpora --- */

static const char verses[] = "a\tthe cat sat on the mat\nb\t \nb\tDon't: the \xC3\x89t\xC3\xA9 42\n"
                             "a\tthe the the\n";

TEST_IN_DIR(a_corpus_has_the_tokens_of_its_encoder)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    cs_corpus_options o = {.encoder = t, .test_share = -1, .min_tokens = 2};
    cs_corpus c = loaded(put(state, "c.tsv", verses), &o);
    static const char *const text[] = {"the cat sat on the mat", "Don't: the \xC3\x89t\xC3\xA9 42",
                                       "the the the"};
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.dropped_documents, 1); /* one blank is one token */
    assert_int_equal(c.vocab, cs_tokenizer_vocab(t));
    assert_int_equal(c.unknown, 3);
    assert_int_equal(c.unknown_tokens, 0);
    assert_int_equal(c.labels, 2);
    for (int64_t d = 0; d < 3; ++d) {
        assert_decodes(t, c.token + c.doc_ptr[d], c.doc_ptr[d + 1] - c.doc_ptr[d], false, text[d]);
    }
    assert_string_equal(c.word[0], "<s>");
    cs_corpus_free(&c);

    const int32_t ids[] = {5, 289, 7};
    const char *npy = in_dir(state, "ids.npy");
    OK(cs_npy_write(npy, CS_I32, 1, (int64_t[]){3}, ids));
    o.min_tokens = 0;
    c = loaded(npy, &o);
    assert_int_equal(c.vocab, 290);
    cs_corpus_free(&c);
    OK(cs_npy_write(npy, CS_I32, 1, (int64_t[]){3}, (int32_t[]){5, 6, 290}));
    assert_fails(cs_corpus_load(npy, &o, &c), CS_ERR_INPUT,
                 "token id 290 at row 0, column 2 is not in 0..289 of the tokenizer");
}

TEST_IN_DIR(a_word_list_keeps_the_ids_of_its_corpus)
{
    static const cs_splitter_kind kind[] = {CS_SPLITTER_WORD, CS_SPLITTER_WHITESPACE,
                                            CS_SPLITTER_CHAR};
    const char *path = put(state, "c.tsv", verses), *file = in_dir(state, "t.json");
    for (size_t k = 0; k < sizeof kind / sizeof kind[0]; ++k) {
        cs_corpus_options o = {.splitter = kind[k], .test_share = -1, .vocab_size = 5};
        CS_AUTO(cs_corpus) c = loaded(path, &o);
        CS_AUTO(cs_tokenizer) *t = NULL, *again = NULL;
        OK(cs_tokenizer_of_corpus(&c, kind[k], &t));
        assert_int_equal(cs_tokenizer_vocab(t), c.vocab + 4);
        for (int32_t i = 0; i < c.vocab; ++i) {
            assert_string_equal(cs_tokenizer_token(t, i), c.word[i]);
        }
        assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_UNK), 0);
        assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_PAD), c.vocab);
        assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_MASK), c.vocab + 3);
        OK(cs_tokenizer_write(t, file));
        again = tokenizer_at(file);
        cs_corpus_options encoded = {.encoder = again, .test_share = -1};
        CS_AUTO(cs_corpus) d = loaded(path, &encoded);
        assert_int_equal(d.tokens, c.tokens);
        assert_int_equal(d.unknown_tokens, c.unknown_tokens);
        assert_true(c.unknown_tokens > 0);
        assert_memory_equal(d.token, c.token, (size_t)c.tokens * sizeof *c.token);
    }
}

TEST_IN_DIR(special_tokens_are_not_added_twice)
{
    cs_corpus_options o = {.splitter = CS_SPLITTER_WHITESPACE, .test_share = -1};
    CS_AUTO(cs_corpus) c = loaded(put(state, "c.txt", "<s> a a </s>\n"), &o);
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_of_corpus(&c, CS_SPLITTER_WHITESPACE, &t));
    assert_int_equal(cs_tokenizer_vocab(t), 4 + 2);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_BOS), cs_tokenizer_id(t, "<s>"));
    assert_true(cs_tokenizer_special(t, CS_TOKEN_BOS) < 4);
}

TEST_IN_DIR(a_corpus_of_ids_has_numbers_for_words)
{
    const char *npy = in_dir(state, "ids.npy");
    OK(cs_npy_write(npy, CS_I32, 1, (int64_t[]){3}, (int32_t[]){2, 0, 4}));
    CS_AUTO(cs_corpus) c = loaded(npy, NULL);
    CS_AUTO_FREE int32_t *ids = NULL;
    int64_t count = 0;
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_of_corpus(&c, CS_SPLITTER_WORD, &t));
    assert_int_equal(cs_tokenizer_vocab(t), 5 + 5);
    OK(encode_once(t, "2 0 4 7", 7, false, &ids, &count));
    assert_int_equal(count, 4);
    assert_memory_equal(ids, c.token, 3 * sizeof *ids);
    assert_int_equal(ids[3], cs_tokenizer_special(t, CS_TOKEN_UNK));
}

/* A tokenizer of `words` with special tokens before them, as models have. */
static cs_tokenizer *word_list(void **state, const char *words)
{
    char json[1024];
    (void)snprintf(json, sizeof json,
                   "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":["
                   "{\"id\":0,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,"
                   "\"rstrip\":false,\"normalized\":false,\"special\":true},"
                   "{\"id\":1,\"content\":\"<unk>\",\"single_word\":false,\"lstrip\":false,"
                   "\"rstrip\":false,\"normalized\":false,\"special\":true}],"
                   "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},"
                   "\"post_processor\":null,\"decoder\":null,\"model\":{\"type\":\"WordLevel\","
                   "\"vocab\":{\"<s>\":0,\"<unk>\":1,%s},\"unk_token\":\"<unk>\"}}",
                   words);
    return tokenizer_at(put(state, "w.json", json));
}

TEST_IN_DIR(ids_of_an_array_are_the_numbers_of_a_tokenizer)
{
    const char *npy = in_dir(state, "ids.npy");
    const int32_t ids[] = {0, 2, 1, 1, 2, -1}, shifted[] = {2, 4, 3, 3, 4};
    const int64_t shape[] = {2, 3};
    OK(cs_npy_write(npy, CS_I32, 2, shape, ids));
    CS_AUTO(cs_tokenizer) *t = word_list(state, "\"0\":2,\"1\":3,\"2\":4");
    cs_corpus_options o = {.encoder = t, .test_share = -1};
    cs_corpus c = loaded(npy, &o);
    assert_int_equal(c.tokens, 5);
    assert_memory_equal(c.token, shifted, sizeof shifted);
    assert_int_equal(c.vocab, 5);
    assert_int_equal(c.unknown_tokens, 0);
    assert_string_equal(c.word[c.token[1]], "2");
    cs_corpus_free(&c);
    const int32_t beyond[] = {0, 2, 1, 1, 3, -1};
    OK(cs_npy_write(npy, CS_I32, 2, shape, beyond));
    assert_fails(cs_corpus_load(npy, &o, &c), CS_ERR_INPUT,
                 "token id 3 at row 1, column 1 is not in 0..2 of the tokenizer, whose words are "
                 "numbers");
}

TEST_IN_DIR(ids_of_other_tokenizers_stay)
{
    static const char *const words[] = {
        "\"0\":2,\"1\":3,\"3\":4",  /* a hole */
        "\"1\":2,\"0\":3,\"2\":4",  /* out of order */
        "\"0\":2,\"1\":3,\"a\":4",  /* a word */
        "\"0\":2,\"1\":3,\"02\":4", /* not as we spell it */
    };
    const char *npy = in_dir(state, "ids.npy");
    const int32_t ids[] = {0, 2, 1, 4};
    OK(cs_npy_write(npy, CS_I32, 1, (int64_t[]){4}, ids));
    for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
        CS_AUTO(cs_tokenizer) *t = word_list(state, words[k]);
        cs_corpus_options o = {.encoder = t, .test_share = -1};
        CS_AUTO(cs_corpus) c = loaded(npy, &o);
        assert_memory_equal(c.token, ids, sizeof ids);
    }
}

TEST_IN_DIR(every_allocation_of_the_numbers_failed)
{
    const char *npy = in_dir(state, "ids.npy");
    const int32_t ids[] = {0, 2, 1};
    OK(cs_npy_write(npy, CS_I32, 1, (int64_t[]){3}, ids));
    CS_AUTO(cs_tokenizer) *t = word_list(state, "\"0\":2,\"1\":3,\"2\":4");
    cs_corpus_options o = {.encoder = t, .test_share = -1};
    int failures = 0;
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_corpus) c = {0};
        failures += out_of_memory(cs_corpus_load(npy, &o, &c));
    }
    assert_true(failures >= 4);
}

TEST_IN_DIR(nothing_surrounds_a_text_without_post_processor)
{
    cs_corpus_options o = {.splitter = CS_SPLITTER_WHITESPACE, .test_share = -1};
    CS_AUTO(cs_corpus) c = loaded(put(state, "c.txt", "b a a\n"), &o);
    int32_t *ids = NULL;
    int64_t count = 0;
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_of_corpus(&c, CS_SPLITTER_WHITESPACE, &t));
    OK(encode_once(t, "a b", 3, true, &ids, &count));
    assert_int_equal(count, 4);
    cs_free(ids);
    for (int again = 0; again < 2; ++again) { /* before and after the file */
        cs_tokenizer_drop_post(t);
        OK(encode_once(t, "a b", 3, true, &ids, &count));
        assert_int_equal(count, 2);
        cs_free(ids);
        const char *file = in_dir(state, "t.json");
        OK(cs_tokenizer_write(t, file));
        cs_tokenizer_free(&t);
        t = tokenizer_at(file);
        OK(encode_once(t, "a b", 3, true, &ids, &count));
        assert_int_equal(count, 2);
        cs_free(ids);
    }
}

typedef struct {
    char text[256];
    int held_out, stop_at, seen;
} visit;

static cs_status note(void *to, const cs_document *document, bool held_out, bool *enough)
{
    visit *v = to;
    (void)enough;
    if (v->seen == v->stop_at) {
        return cs_fail(CS_ERR_INPUT, "enough");
    }
    v->seen += 1;
    v->held_out += held_out;
    (void)snprintf(v->text + strlen(v->text), sizeof v->text - strlen(v->text), "%.*s|",
                   (int)document->size, document->text);
    return CS_OK;
}

TEST_IN_DIR(visiting_hands_documents_over)
{
    const char *path = put(state, "c.tsv", verses);
    visit v = {.stop_at = -1};
    OK(cs_corpus_visit(path, NULL, note, &v, NULL));
    assert_string_equal(v.text,
                        "the cat sat on the mat| |Don't: the \xC3\x89t\xC3\xA9 42|the the the|");
    cs_corpus_options o = {.test_share = 0.999999};
    v = (visit){.stop_at = -1};
    OK(cs_corpus_visit(path, &o, note, &v, NULL));
    assert_int_equal(v.held_out, 4);
    v = (visit){.stop_at = 2};
    assert_fails(cs_corpus_visit(path, NULL, note, &v, NULL), CS_ERR_INPUT, "enough");
    assert_int_equal(v.seen, 2);
    assert_fails(cs_corpus_visit(put(state, "e.txt", "\n"), NULL, note, &v, NULL), CS_ERR_INPUT,
                 "no documents");
    const char *npy = in_dir(state, "ids.npy");
    OK(cs_npy_write(npy, CS_I32, 1, (int64_t[]){1}, (int32_t[]){0}));
    assert_fails(cs_corpus_visit(npy, NULL, note, &v, NULL), CS_ERR_INPUT, "token ids");
}
