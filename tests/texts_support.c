
#include "texts_support.h"
#include "small_corpus.h"
#include "train/specials.h"

enum { WORDS = 30, MOST = 8, CAPACITY = 64 };

cs_tokenizer *word_tokenizer(void)
{
    int64_t length[] = {WORDS};
    cs_tokenizer *t = NULL;
    CS_AUTO(cs_corpus) c = small_corpus(1, length, WORDS, 0, 1);
    for (int32_t i = 0; i < WORDS; ++i) {
        c.token[i] = i;
    }
    OK(cs_corpus_specials_first(&c));
    OK(cs_tokenizer_of_corpus(&c, CS_SPLITTER_WHITESPACE, &t));
    cs_tokenizer_drop_post(t);
    assert_true(cs_tokenizer_id(t, "w0") == 5 && cs_tokenizer_id(t, "w29") == 34);
    return t;
}

/* `count` words from w<first> on; `sign` >= 0: w<sign> in the place of one of them. */
static char *draw_words(cs_rng *rng, int64_t count, int64_t first, int64_t sign)
{
    char text[CAPACITY] = "";
    size_t at = 0;
    int64_t place = cs_rng_below(rng, count);
    for (int64_t i = 0; i < count; ++i) {
        int64_t word = first + cs_rng_below(rng, WORDS - first);
        word = i == place && sign >= 0 ? sign : word;
        at += (size_t)snprintf(text + at, CAPACITY - at, "%sw%d", i > 0 ? " " : "", (int)word);
    }
    return cs_strdup(text);
}

cs_labelled_text small_texts(int64_t count, label_kind kind, int64_t classes, bool pairs,
                             uint64_t seed)
{
    cs_labelled_text t = {.path = cs_strdup("small.tsv"),
                          .count = count,
                          .text = cs_calloc(count, sizeof *t.text),
                          .pair = pairs ? cs_calloc(count, sizeof *t.pair) : NULL,
                          .value = cs_calloc(count, sizeof *t.value),
                          .classes = kind == LABEL_NUMBER ? 0 : classes};
    t.class_name = t.classes > 0 ? cs_calloc(t.classes, sizeof *t.class_name) : NULL;
    assert_true(t.path && t.text && t.value);
    for (int64_t c = 0; c < t.classes; ++c) {
        char name[CAPACITY];
        (void)snprintf(name, sizeof name, "class %d", (int)c);
        assert_non_null(t.class_name[c] = cs_strdup(name));
    }
    for (int64_t i = 0; i < count; ++i) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, (uint64_t)i);
        t.value[i] =
            kind == LABEL_NUMBER ? 2 * cs_rng_uniform(&rng) : (double)cs_rng_below(&rng, classes);
        int64_t sign = kind == LABEL_BY_WORD ? (int64_t)t.value[i] : -1;
        t.text[i] = draw_words(&rng, 3 + cs_rng_below(&rng, MOST - 2), 4, sign);
        assert_non_null(t.text[i]);
        if (pairs) {
            t.pair[i] = draw_words(&rng, 1 + cs_rng_below(&rng, 5), 4, -1);
            assert_non_null(t.pair[i]);
        }
    }
    return t;
}
