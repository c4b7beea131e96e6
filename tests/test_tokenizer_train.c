/* BPE training: closed examples, the tie rule, plain training by recounting, determinism, what is
 * refused. */
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "tokenizer_support.h"

/* A NULL-terminated list of documents. */
static cs_status each_text(void *from, cs_text_take take, void *to)
{
    const char *const *text = from;
    cs_status status = CS_OK;
    for (; *text && status == CS_OK; ++text) {
        status = take(to, *text, (int64_t)strlen(*text));
    }
    return status;
}

static cs_tokenizer *trained(const char *const *texts, int64_t vocab, int64_t frequency)
{
    cs_text_source source = {each_text, (void *)(uintptr_t)texts};
    cs_bpe_options options = {.vocab_size = vocab, .min_frequency = frequency, .specials = -1};
    cs_tokenizer *t = NULL;
    OK(cs_tokenizer_train_bpe(&source, &options, &t));
    return t;
}

/* The merges of a tokenizer, each followed by '|', as its file has them. */
static void merges_of(void **state, const cs_tokenizer *t, char *out, size_t capacity)
{
    const char *path = in_dir(state, "merges.json");
    json_auto_t *json = NULL;
    OK(cs_tokenizer_write(t, path));
    OK(cs_json_read(path, &json));
    const json_t *list = json_object_get(json_object_get(json, "model"), "merges");
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(list); ++i) {
        int n = snprintf(out + used, capacity - used, "%s|",
                         json_string_value(json_array_get(list, i)));
        assert_true(n > 0 && (size_t)n < capacity - used);
        used += (size_t)n;
    }
}

#define BLANK "\xC4\xA0" /* U+0120 */

/* By hand. "abab" x 2, " abab": (a,b) 6 times, (b,a) 3, (blank,a) 1; then (ab,ab) 3, then
 * (blank,abab) 1. */
TEST_IN_DIR(closed_examples)
{
    static const struct {
        const char *texts[5];
        int64_t vocab, frequency;
        const char *merges;
    } cases[] = {
        {{"abab abab", "abab"}, 1000, 2, "a b|ab ab|"},
        {{"abab abab", "abab"}, 1000, 1, "a b|ab ab|" BLANK " abab|"},
        {{"abab abab", "abab"}, 257, 1, "a b|"},
        /* Ties: smaller ids first, those of bytes in the order of their characters. */
        {{"zw", "xy", "zw", "xy"}, 1000, 2, "x y|z w|"},
        {{"ba", "bc", "bb"}, 1000, 1, "b a|b b|b c|"},
        /* "ab" wins over "bc" in "abc": after that (b,c) has none left. */
        {{"abc", "abc"}, 1000, 2, "a b|ab c|"},
        /* Overlaps: (a,a) counts 3 in "aaaa"; it becomes two tokens, whose pair counts 1. */
        {{"aaaa"}, 1000, 1, "a a|aa aa|"},
        {{"aaaaa"}, 1000, 1, "a a|aa a|aa aaa|"},
        /* No pair: the bytes are all. */
        {{"a", "b"}, 1000, 1, ""},
        /* Contractions, digits and blanks are pieces: nothing is merged across them. */
        {{"a's 12's"}, 1000, 2, "' s|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char merges[256];
        CS_AUTO(cs_tokenizer) *t = trained(cases[i].texts, cases[i].vocab, cases[i].frequency);
        merges_of(state, t, merges, sizeof merges);
        assert_string_equal(merges, cases[i].merges);
    }
}

TEST(ids_are_special_tokens_bytes_merges)
{
    static const char *const texts[] = {"abab", "abab", NULL}, *const special[] = {"<x>", "<s>"};
    cs_text_source source = {each_text, (void *)(uintptr_t)texts};
    cs_bpe_options options = {.special = special, .specials = 2};
    CS_AUTO_FREE int32_t *ids = NULL;
    int64_t count = 0;
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_train_bpe(&source, &options, &t));
    assert_int_equal(cs_tokenizer_vocab(t), 2 + 256 + 2);
    assert_string_equal(cs_tokenizer_token(t, 0), "<x>");
    assert_string_equal(cs_tokenizer_token(t, 2), "!");
    assert_string_equal(cs_tokenizer_token(t, 2 + 'a' - '!'), "a");
    assert_string_equal(cs_tokenizer_token(t, 2 + 188 + ' '), BLANK); /* 188 bytes are shown */
    assert_string_equal(cs_tokenizer_token(t, 258), "ab");
    assert_string_equal(cs_tokenizer_token(t, 259), "abab");
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_MASK), -1);
    /* No </s>: no tokens are added around a text. */
    OK(encode_once(t, "ababab<x>", 9, true, &ids, &count));
    assert_int_equal(count, 3);
    assert_true(ids[0] == 259 && ids[1] == 258 && ids[2] == 0);
}

/* A pair that would spell a special token stays as it is, so that no text becomes one. */
TEST(special_tokens_are_not_learned)
{
    static const char *const texts[] = {"abc", "abc", "ab", NULL}, *const special[] = {"ab"};
    cs_text_source source = {each_text, (void *)(uintptr_t)texts};
    cs_bpe_options options = {.special = special, .specials = 1};
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_train_bpe(&source, &options, &t));
    /* (a,b), three times, is passed over; (b,c), twice, comes next, then (a,bc). */
    assert_int_equal(cs_tokenizer_id(t, "bc"), 257);
    assert_int_equal(cs_tokenizer_id(t, "abc"), 258);
    assert_int_equal(cs_tokenizer_vocab(t), 259);
    assert_int_equal(cs_tokenizer_id(t, "ab"), 0);
}

/* --- against plain training --- */

/* Pieces without blanks, each a document, and the tokens of each: counts every pair anew for every
 * merge, and lets the tie rule choose. */
enum { PIECES = 40, LENGTH = 24, MOST = 60 };

typedef struct {
    int32_t token[PIECES][LENGTH];
    int length[PIECES];
    char spelling[256 + MOST][LENGTH + 1];
    int tokens;
} plain;

static int64_t count_pair(const plain *p, int32_t a, int32_t b)
{
    int64_t count = 0;
    for (int w = 0; w < PIECES; ++w) {
        for (int i = 0; i + 1 < p->length[w]; ++i) {
            count += p->token[w][i] == a && p->token[w][i + 1] == b;
        }
    }
    return count;
}

/* The most frequent pair, ties by ids; its count. */
static int64_t best_pair(const plain *p, int32_t best[2])
{
    int64_t most = 0;
    for (int w = 0; w < PIECES; ++w) {
        for (int i = 0; i + 1 < p->length[w]; ++i) {
            int32_t a = p->token[w][i], b = p->token[w][i + 1];
            int64_t count = count_pair(p, a, b);
            if (count > most || (count == most && (a < best[0] || (a == best[0] && b < best[1])))) {
                most = count;
                best[0] = a;
                best[1] = b;
            }
        }
    }
    return most;
}

/* Joins the pair everywhere; the token of that spelling when there is one. */
static void join(plain *p, int32_t a, int32_t b)
{
    char spelling[2 * LENGTH + 1];
    int32_t token = 0;
    (void)snprintf(spelling, sizeof spelling, "%s%s", p->spelling[a], p->spelling[b]);
    while (token < p->tokens && strcmp(p->spelling[token], spelling) != 0) {
        token += 1;
    }
    if (token == p->tokens) {
        memcpy(p->spelling[p->tokens++], spelling, strlen(spelling) + 1);
    }
    for (int w = 0; w < PIECES; ++w) {
        int to = 0;
        for (int i = 0; i < p->length[w]; ++i, ++to) {
            bool here = i + 1 < p->length[w] && p->token[w][i] == a && p->token[w][i + 1] == b;
            p->token[w][to] = here ? token : p->token[w][i];
            i += here;
        }
        p->length[w] = to;
    }
}

TEST_IN_DIR(training_is_that_of_recounting)
{
    static plain p;
    static char text[PIECES][LENGTH + 1];
    for (uint64_t trial = 0; trial < 60; ++trial) {
        cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, trial);
        const char *texts[PIECES + 1] = {NULL};
        int letters = 1 + (int)(trial % 4);
        for (int w = 0; w < PIECES; ++w) {
            int n = 1 + (int)cs_rng_below(&rng, LENGTH);
            p.length[w] = n;
            text[w][n] = '\0';
            for (int i = 0; i < n; ++i) {
                text[w][i] = (char)('a' + cs_rng_below(&rng, letters));
                p.token[w][i] = text[w][i] - '!';
            }
            texts[w] = text[w];
        }
        p.tokens = 256; /* only the spellings of letters matter */
        for (int b = 0; b < 256; ++b) {
            p.spelling[b][0] = b <= '~' - '!' ? (char)(b + '!') : '?';
            p.spelling[b][1] = '\0';
        }
        char want[4096] = "", got[4096];
        size_t used = 0;
        while (p.tokens < 256 + MOST) {
            int32_t best[2] = {0, 0};
            if (best_pair(&p, best) < 2) {
                break;
            }
            used += (size_t)snprintf(want + used, sizeof want - used, "%s %s|", p.spelling[best[0]],
                                     p.spelling[best[1]]);
            join(&p, best[0], best[1]);
        }
        CS_AUTO(cs_tokenizer) *t = trained(texts, 256 + MOST, 2);
        merges_of(state, t, got, sizeof got);
        assert_string_equal(got, want);
    }
}

/* --- determinism, failures --- */

/* Documents of random words with repeats, as many as a small corpus has. */
static cs_status each_random(void *from, cs_text_take take, void *to)
{
    cs_status status = CS_OK;
    for (uint64_t d = 0; d < 400 && status == CS_OK; ++d) {
        cs_rng rng = cs_rng_at(*(uint64_t *)from, CS_STREAM_TEST, d);
        char text[600];
        int64_t size = 0;
        for (int64_t n = cs_rng_below(&rng, 60); n > 0; --n) {
            cs_rng word = cs_rng_at(1, CS_STREAM_TEST, (uint64_t)cs_rng_below(&rng, 200));
            text[size++] = ' ';
            for (int64_t i = 1 + cs_rng_below(&word, 8); i > 0; --i) {
                text[size++] = (char)('a' + cs_rng_below(&word, 12));
            }
        }
        status = take(to, text, size);
    }
    return status;
}

TEST_IN_DIR(the_number_of_threads_does_not_matter)
{
    uint64_t seed = 2;
    char *first = NULL, *other = NULL;
    int64_t size = 0, other_size = 0;
    for (int threads = 1; threads <= 5; threads += 2) {
        const char *path = in_dir(state, "t.json");
        cs_text_source source = {each_random, &seed};
        cs_bpe_options options = {.vocab_size = 600};
        cs_threads_set(threads);
        AUTO_OK(cs_tokenizer, *t, cs_tokenizer_train_bpe(&source, &options, &t));
        assert_int_equal(cs_tokenizer_vocab(t), 600);
        OK(cs_tokenizer_write(t, path));
        OK(cs_file_read(path, 1 << 20, &other, &other_size));
        if (!first) {
            first = other;
            size = other_size;
            continue;
        }
        assert_int_equal(size, other_size);
        assert_memory_equal(first, other, (size_t)size);
        cs_free(other);
    }
    cs_threads_set(0);
    cs_free(first);
}

static cs_status failing_source(void *from, cs_text_take take, void *to)
{
    (void)from;
    cs_status status = take(to, "abc", 3);
    return status == CS_OK ? cs_fail(CS_ERR_IO, "the tape tore") : status;
}

TEST(bad_options_are_named)
{
    static const char *const twice[] = {"<s>", "<s>"}, *const empty[] = {""},
                             *const odd[] = {"\xFF"}, *const nothing[] = {NULL},
                             *const texts[] = {"a", NULL};
    static const struct {
        cs_bpe_options options;
        const char *reason;
    } cases[] = {
        {{.vocab_size = 260}, "vocabulary size 260 is not in 261.."},
        {{.vocab_size = -1}, "vocabulary size -1"},
        {{.vocab_size = 255, .specials = -1}, "vocabulary size 255 is not in 256.."},
        {{.min_frequency = -2}, "minimum frequency -2"},
        {{.special = twice, .specials = 2}, "special token \"<s>\" is given twice"},
        {{.special = empty, .specials = 1}, "special token \"\" is empty"},
        {{.special = odd, .specials = 1}, "is empty or not UTF-8"},
    };
    cs_tokenizer *t = NULL;
    cs_text_source source = {each_text, (void *)(uintptr_t)texts};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_fails(cs_tokenizer_train_bpe(&source, &cases[i].options, &t), CS_ERR_USAGE,
                     cases[i].reason);
    }
    source.from = (void *)(uintptr_t)nothing;
    assert_fails(cs_tokenizer_train_bpe(&source, NULL, &t), CS_ERR_INPUT, "no text to train");
    source.each = failing_source;
    assert_fails(cs_tokenizer_train_bpe(&source, NULL, &t), CS_ERR_IO, "the tape tore");
    assert_null(t);
}

static cs_status train_english(const char *path)
{
    (void)path;
    cs_text_source source = {english, NULL};
    cs_bpe_options options = {.vocab_size = 275, .add_prefix_space = true};
    CS_AUTO(cs_tokenizer) *t = NULL;
    cs_status status = cs_tokenizer_train_bpe(&source, &options, &t);
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(train_english, "");
}

static cs_status train_interrupted(const char *path)
{
    (void)path;
    uint64_t seed = 4;
    cs_text_source source = {each_random, &seed};
    cs_bpe_options options = {.vocab_size = 2000};
    CS_AUTO(cs_tokenizer) *t = NULL;
    cs_interrupt_set();
    cs_status status = cs_tokenizer_train_bpe(&source, &options, &t);
    return status;
}

TEST(an_interrupt_ends_training)
{
    assert_int_equal(in_child(train_interrupted, "", ""), CS_ERR_INTERRUPT);
}
