/* Tokenizers, UTF-8 places, word tables, sequences. */
#include "test.h"
#include "text/corpus.h"
#include "text/sequences.h"
#include "text/splitter.h"
#include "text/utf8_private.h"
#include "text/vocab.h"

/* The tokens of a text, each followed by '|'. */
static void tokens_of(cs_splitter_kind kind, const char *text, char *out, size_t capacity)
{
    CS_AUTO(cs_splitter) t = {.kind = kind};
    cs_splitter_start(&t, text, (int64_t)strlen(text));
    size_t used = 0;
    for (;;) {
        bool found = false;
        OK(cs_splitter_next(&t, &found));
        if (!found) {
            break;
        }
        assert_true(used + (size_t)t.size + 2 < capacity);
        memcpy(out + used, t.token, (size_t)t.size);
        used += (size_t)t.size;
        out[used++] = '|';
    }
    out[used] = '\0';
}

TEST(tokenizers_split_as_documented)
{
    static const struct {
        cs_splitter_kind kind;
        const char *text, *tokens;
    } cases[] = {
        {CS_SPLITTER_WORD, "It's 3 O'CLOCK-ish.", "it|s|o|clock|ish|"},
        {CS_SPLITTER_WORD, "", ""},
        {CS_SPLITTER_WORD, " .,;12 ", ""},
        {CS_SPLITTER_WORD, "last", "last|"},
        /* Latin, Greek, Cyrillic capitals; a combining acute (U+0301) stays with its letter. */
        {CS_SPLITTER_WORD, "\xC3\x89T\xC3\x89 \xCE\xA9 \xD0\x96!e\xCC\x81x",
         "\xC3\xA9t\xC3\xA9|\xCF\x89|\xD0\xB6|e\xCC\x81x|"},
        /* U+023A (2 bytes) has the lower case U+2C65 (3 bytes). */
        {CS_SPLITTER_WORD, "\xC8\xBA", "\xE2\xB1\xA5|"},
        {CS_SPLITTER_WHITESPACE, " It's\t3\r\nO'CLOCK ", "It's|3|O'CLOCK|"},
        /* No-break space U+00A0 and ideographic space U+3000 separate. */
        {CS_SPLITTER_WHITESPACE,
         "a\xC2\xA0"
         "b\xE3\x80\x80"
         "c",
         "a|b|c|"},
        {CS_SPLITTER_CHAR, "aB \xC3\xA9", "a|B| |\xC3\xA9|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char out[256];
        tokens_of(cases[i].kind, cases[i].text, out, sizeof out);
        assert_string_equal(out, cases[i].tokens);
    }
}

TEST(long_words_are_kept_whole)
{
    enum { N = 100000 };
    char *text = test_zeros(N + 1, 1);
    memset(text, 'A', N);
    text[N] = '\0';
    CS_AUTO(cs_splitter) t = {.kind = CS_SPLITTER_WORD};
    cs_splitter_start(&t, text, N);
    bool found = false;
    OK(cs_splitter_next(&t, &found));
    assert_true(found && t.size == N);
    assert_each(i, 0, N, t.token[i] == 'a');
}

TEST(tokenizer_names)
{
    cs_splitter_kind kind;
    OK(cs_splitter_by_name("whitespace", &kind));
    assert_int_equal(kind, CS_SPLITTER_WHITESPACE);
    assert_int_equal(cs_splitter_by_name("bpe", &kind), CS_ERR_USAGE);
    assert_string_equal(cs_reason(), "unknown tokenizer 'bpe' (word, whitespace, char)");
    cs_reason_clear();
}

TEST(bad_utf8_is_placed)
{
    static const struct {
        const char *bytes;
        int64_t size;
        const char *reason; /* NULL: valid */
    } cases[] = {
        {"", 0, NULL},
        {"plain\nascii\n", 12, NULL},
        {"\xF0\x9F\x98\x80", 4, NULL},
        {"ab\nc\xC3\x28", 6, "f:2: byte 2: invalid UTF-8 (0xC3 0x28)"},
        {"\xFF", 1, "f:1: byte 1: invalid UTF-8 (0xFF)"},
        {"\x80z", 2, "f:1: byte 1: invalid UTF-8 (0x80)"},
        {"x\xE2\x82", 3, "f:1: byte 2: invalid UTF-8 (0xE2 0x82)"},         /* cut short */
        {"\xC0\x80", 2, "f:1: byte 1: invalid UTF-8 (0xC0 0x80)"},          /* overlong NUL */
        {"\xED\xA0\x80", 3, "f:1: byte 1: invalid UTF-8 (0xED 0xA0 0x80)"}, /* surrogate */
        {"\xF4\x90\x80\x80", 4, "f:1: byte 1: invalid UTF-8 (0xF4 0x90 0x80 0x80)"},
        {"a\n\nb\0c", 6, "f:3: byte 2: NUL byte, not text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_status status = cs_utf8_check("f", cases[i].bytes, cases[i].size);
        assert_int_equal(status, cases[i].reason ? CS_ERR_INPUT : CS_OK);
        assert_string_equal(cs_reason(), cases[i].reason ? cases[i].reason : "");
        cs_reason_clear();
    }
}

/* Numbers 0..n-1 in decimal, each looked up twice, come back under one number; their texts are what
 * was put in. More words than the first table holds. */
TEST(word_table_finds_what_it_holds)
{
    enum { N = 20000 };
    CS_AUTO(cs_word_table) table = {0};
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < N; ++i) {
            char word[16];
            int size = snprintf(word, sizeof word, "%d", i);
            int32_t found = -1;
            OK(cs_word_table_find(&table, word, size, &found));
            assert_int_equal(found, i);
            table.count[found] += i % 3;
        }
    }
    assert_int_equal(table.words, N);
    CS_AUTO_FREE char *text = cs_word_table_text(&table, 12345);
    assert_string_equal(text, "12345");

    CS_AUTO_FREE int32_t *ranked = NULL;
    int64_t count = 0;
    OK(cs_word_table_rank(&table, false, &ranked, &count));
    assert_int_equal(count, N - (N + 2) / 3); /* multiples of 3 have count 0 */
    for (int64_t i = 1; i < count; ++i) {
        int64_t before = table.count[ranked[i - 1]], now = table.count[ranked[i]];
        assert_true(before > now ||
                    (before == now && cs_word_table_compare(&table, ranked[i - 1], ranked[i]) < 0));
    }
}

TEST(byte_order_puts_prefixes_first)
{
    static const char *const words[] = {"b", "ab", "a", "\xC3\xA9", "Z"};
    static const char *const order[] = {"Z", "a", "ab", "b", "\xC3\xA9"};
    CS_AUTO(cs_word_table) table = {0};
    for (int i = 0; i < 5; ++i) {
        int32_t w = 0;
        OK(cs_word_table_find(&table, words[i], (int64_t)strlen(words[i]), &w));
        table.count[w] = 1 + i;
    }
    CS_AUTO_FREE int32_t *ranked = NULL;
    int64_t count = 0;
    OK(cs_word_table_rank(&table, true, &ranked, &count));
    assert_int_equal(count, 5);
    for (int i = 0; i < 5; ++i) {
        CS_AUTO_FREE char *text = cs_word_table_text(&table, ranked[i]);
        assert_string_equal(text, order[i]);
    }
}

/* --- sequences ------------------------------------------------------------------------------- */

/* Documents of 7, 3 and 1 tokens. */
static int64_t doc_ptr[] = {0, 7, 10, 11};
static const cs_corpus three = {.documents = 3, .tokens = 11, .doc_ptr = doc_ptr};

typedef struct {
    int64_t max_length, stride;
    int64_t count;
    int64_t start[16], length[16], document[16];
} cut_case;

TEST(sequences_cut_as_documented)
{
    static const cut_case cases[] = {
        {0, 0, 3, {0, 7, 10}, {7, 3, 1}, {0, 1, 2}},
        {3, 0, 5, {0, 3, 6, 7, 10}, {3, 3, 1, 3, 1}, {0, 0, 0, 1, 2}},
        {7, 0, 3, {0, 7, 10}, {7, 3, 1}, {0, 1, 2}},
        /* n - L + 1 windows; shorter documents are one sequence. */
        {4, 1, 6, {0, 1, 2, 3, 7, 10}, {4, 4, 4, 4, 3, 1}, {0, 0, 0, 0, 1, 2}},
        /* A last window that would run over the end is not made. */
        {4, 2, 4, {0, 2, 7, 10}, {4, 4, 3, 1}, {0, 0, 1, 2}},
        {2, 5, 4, {0, 5, 7, 10}, {2, 2, 2, 1}, {0, 0, 1, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const cut_case *c = &cases[i];
        cs_sequences out = {0};
        OK(cs_sequences_of(&three, c->max_length, c->stride, &out));
        assert_int_equal(out.count, c->count);
        assert_each(k, 0, out.count, out.start[k] == c->start[k]);
        assert_each(k, 0, out.count, out.length[k] == c->length[k]);
        assert_each(k, 0, out.count, out.document[k] == c->document[k]);
        bool in[16] = {false};
        int64_t covered = 0;
        for (int64_t k = 0; k < out.count; ++k) {
            for (int64_t t = out.start[k]; t < out.start[k] + out.length[k]; ++t) {
                covered += !in[t];
                in[t] = true;
            }
        }
        assert_int_equal(cs_sequences_covered(&out), covered);
        cs_sequences_free(&out);
        cs_sequences_free(&out); /* accepts a zeroed object */
    }
}

/* Without stride the pieces tile every document; with it each window lies inside its document. */
TEST(sequences_cover_random_documents)
{
    enum { DOCUMENTS = 50 };
    int64_t ptr[DOCUMENTS + 1] = {0};
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    for (int d = 0; d < DOCUMENTS; ++d) {
        ptr[d + 1] = ptr[d] + 1 + cs_rng_below(&rng, 40);
    }
    cs_corpus corpus = {.documents = DOCUMENTS, .tokens = ptr[DOCUMENTS], .doc_ptr = ptr};
    for (int64_t length = 1; length < 12; ++length) {
        cs_sequences out = {0};
        OK(cs_sequences_of(&corpus, length, 0, &out));
        int64_t next = 0;
        for (int64_t k = 0; k < out.count; ++k) {
            assert_int_equal(out.start[k], next);
            next += out.length[k];
            assert_true(next <= ptr[out.document[k] + 1]);
        }
        assert_int_equal(next, corpus.tokens);
        cs_sequences_free(&out);
        for (int64_t stride = 1; stride < 5; ++stride) {
            int64_t wanted = 0;
            for (int d = 0; d < DOCUMENTS; ++d) {
                int64_t n = ptr[d + 1] - ptr[d];
                wanted += n <= length ? 1 : (n - length) / stride + 1;
            }
            OK(cs_sequences_of(&corpus, length, stride, &out));
            assert_int_equal(out.count, wanted);
            assert_each(k, 0, out.count, out.start[k] >= ptr[out.document[k]]);
            assert_each(k, 0, out.count, out.start[k] + out.length[k] <= ptr[out.document[k] + 1]);
            cs_sequences_free(&out);
        }
    }
}

TEST(sequences_refuse_bad_cuts)
{
    static const struct {
        int64_t max_length, stride;
        const char *named;
    } cases[] = {{-1, 0, "-1"}, {3, -2, "-2"}, {0, 5, "stride 5"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_sequences out = {0};
        assert_fails(cs_sequences_of(&three, cases[i].max_length, cases[i].stride, &out),
                     CS_ERR_USAGE, cases[i].named);
        assert_null(out.start);
        cs_reason_clear();
    }
    /* A document too long for one sequence's 32-bit length; its tokens are never read. */
    int64_t ptr[] = {0, (int64_t)1 << 31};
    cs_corpus huge = {.documents = 1, .tokens = ptr[1], .doc_ptr = ptr};
    cs_sequences out = {0};
    assert_fails(cs_sequences_of(&huge, 0, 0, &out), CS_ERR_INPUT, "2147483648");
}

TEST(sequences_survive_failed_allocations)
{
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_sequences) out = {0};
        if (out_of_memory(cs_sequences_of(&three, 3, 0, &out)))
            assert_null(out.start);
        else
            assert_int_equal(n, 4);
    }
}
