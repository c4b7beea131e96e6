/* The tokenizers of today's models: golden ids and texts of the `tokenizers` package, the parts one
 * by one, and what is refused in a regular expression or a table of characters. */
#include "corpus_support.h"
#include "io/json.h"
#include "io_support.h"
#include "text/encoder.h"
#include "text/regex_private.h"
#include "text/trie.h"
#include "tokenizer_support.h"

#define GOLDEN_KINDS "tests/golden/tokenizer_kinds.json"

/* --- golden ids --- */

static void assert_line(const char *kind, cs_encoder *e, const json_t *line, const json_t *want)
{
    const char *text = json_string_value(line);
    OK(cs_encoder_encode(e, text, (int64_t)json_string_length(line), true));
    bool same = e->count == (int64_t)json_array_size(want);
    for (int64_t i = 0; i < e->count && same; ++i) {
        same = e->id[i] == json_integer_value(json_array_get(want, (size_t)i));
    }
    if (!same) {
        fail_msg("%s: other ids of '%s'", kind, text);
    }
}

static void assert_kind(const char *kind, const cs_tokenizer *t, const json_t *lines,
                        const json_t *entry)
{
    const json_t *ids = json_object_get(entry, "ids"), *texts = json_object_get(entry, "decoded");
    CS_AUTO(cs_encoder) e = {0};
    cs_encoder_init(&e, t);
    for (size_t i = 0; i < json_array_size(lines); ++i) {
        const json_t *text = json_array_get(texts, i);
        assert_line(kind, &e, json_array_get(lines, i), json_array_get(ids, i));
        if (text) {
            CS_AUTO_FREE char *out = NULL;
            int64_t size = 0;
            OK(cs_tokenizer_decode(t, e.id, e.count, true, &out, &size));
            assert_int_equal(size, json_string_length(text));
            assert_memory_equal(out, json_string_value(text), (size_t)size);
        }
    }
}

/* Each as the package wrote it, and as we write it after reading it. */
TEST_IN_DIR(golden_kinds)
{
    json_t *golden = NULL, *entry = NULL, *written = NULL;
    const char *kind = NULL;
    OK(cs_json_read(GOLDEN_KINDS, &golden));
    const json_t *lines = json_object_get(golden, "lines");
    json_t *kinds = json_object_get(golden, "kinds");
    assert_true(json_array_size(lines) >= 200 && json_object_size(kinds) >= 20);
    json_object_foreach(kinds, kind, entry)
    {
        const char *given = in_dir(state, "given.json"), *again = in_dir(state, "again.json");
        const json_t *form = json_object_get(entry, "tokenizer");
        OK(cs_json_write(given, form));
        CS_AUTO(cs_tokenizer) *t = tokenizer_at(given);
        OK(cs_tokenizer_write(t, again));
        CS_AUTO(cs_tokenizer) *copy = tokenizer_at(again);
        assert_kind(kind, t, lines, entry);
        assert_kind(kind, copy, lines, entry);
        OK(cs_json_read(again, &written));
        assert_true(json_equal(json_object_get(form, "pre_tokenizer"),
                               json_object_get(written, "pre_tokenizer")));
        assert_true(json_equal(json_object_get(json_object_get(form, "model"), "vocab"),
                               json_object_get(json_object_get(written, "model"), "vocab")));
        json_decref(written);
    }
    json_decref(golden);
}

/* Every part of a file counts: without it, ids change, or the file is refused. */
TEST_IN_DIR(no_part_is_passed_over)
{
    static const char *const part[] = {"normalizer", "pre_tokenizer", "added_tokens",
                                       "post_processor"};
    json_t *golden = NULL, *entry = NULL;
    const char *kind = NULL;
    int changed = 0;
    OK(cs_json_read(GOLDEN_KINDS, &golden));
    const json_t *lines = json_object_get(golden, "lines");
    json_object_foreach(json_object_get(golden, "kinds"), kind, entry)
    {
        json_t *form = json_object_get(entry, "tokenizer");
        for (size_t i = 0; i < sizeof part / sizeof part[0]; ++i) {
            json_t *held = json_incref(json_object_get(form, part[i]));
            const char *path = in_dir(state, "less.json");
            CS_AUTO(cs_tokenizer) *t = NULL;
            bool differs = json_is_null(held) || json_array_size(held) == 1;
            (void)json_object_set_new(form, part[i], i == 2 ? json_array() : json_null());
            OK(cs_json_write(path, form));
            (void)json_object_set_new(form, part[i], held);
            cs_status status = cs_tokenizer_read(path, &t);
            differs = differs || status == CS_ERR_INPUT;
            cs_reason_clear();
            for (size_t j = 0; j < json_array_size(lines) && !differs && status == CS_OK; ++j) {
                const json_t *line = json_array_get(lines, j),
                             *want = json_array_get(json_object_get(entry, "ids"), j);
                CS_AUTO_FREE int32_t *ids = NULL;
                int64_t count = 0;
                OK(encode_once(t, json_string_value(line), (int64_t)json_string_length(line), true,
                               &ids, &count));
                differs = count != (int64_t)json_array_size(want);
                for (int64_t k = 0; k < count && !differs; ++k) {
                    differs = ids[k] != json_integer_value(json_array_get(want, (size_t)k));
                }
            }
            /* gemma splits at blanks, which its normaliser removes */
            differs = differs || (strcmp(kind, "gemma") == 0 && i == 1);
            if (!differs) {
                fail_msg("%s: the same ids without its %s", kind, part[i]);
            }
            changed += 1;
        }
    }
    assert_true(changed > 80);
    json_decref(golden);
}

/* --- parts of pieces --- */

enum { LETTERS = 5, MERGES = 12, CHARS = 40 };

/* Letters a.. with tokens, and random merges of what there is so far. */
static void make_bpe(cs_rng *rng, cs_word_table *vocabulary, cs_bpe *bpe, cs_bpe_start *start)
{
    cs_bpe_merge merge[MERGES];
    int32_t byte_token[256] = {0}, id = 0;
    int64_t merges = 0, twice = 0;
    for (char c = 'a'; c < 'a' + LETTERS; ++c) {
        OK(cs_word_table_find(vocabulary, &c, 1, &id));
        vocabulary->count[id] = 1;
    }
    for (int tries = 0; merges < MERGES && tries < 100; ++tries) {
        const int32_t left = (int32_t)cs_rng_below(rng, vocabulary->words),
                      right = (int32_t)cs_rng_below(rng, vocabulary->words);
        const int64_t *l = vocabulary->start + left, *r = vocabulary->start + right;
        char token[2 * CHARS];
        const int size =
            snprintf(token, sizeof token, "%.*s%.*s", (int)(l[1] - l[0]), vocabulary->text + l[0],
                     (int)(r[1] - r[0]), vocabulary->text + r[0]);
        if (size < CHARS && cs_word_table_get(vocabulary, token, size) < 0) {
            OK(cs_word_table_find(vocabulary, token, size, &id));
            vocabulary->count[id] = 1;
            merge[merges++] = (cs_bpe_merge){left, right, id};
        }
    }
    OK(cs_bpe_init(bpe, byte_token, merge, merges, &twice));
    *start = (cs_bpe_start){.unknown = 0, .fuse_unknown = cs_rng_below(rng, 2) == 0};
    OK(cs_bpe_start_init(start, vocabulary));
    OK(cs_bpe_start_part(start, bpe, vocabulary));
}

/* The tokens of a piece are those of its parts one after the other; '?' has none. */
TEST(parts_of_a_piece_give_its_tokens)
{
    int64_t split = 0, whole = 0;
    for (uint64_t trial = 0; trial < 3000; ++trial) {
        cs_rng rng = cs_rng_at(13, CS_STREAM_TEST, trial);
        CS_AUTO(cs_word_table) vocabulary = {0};
        CS_AUTO(cs_bpe) bpe = {0};
        CS_AUTO(cs_bpe_start) start = {0};
        CS_AUTO(cs_bpe_scratch) scratch = {0};
        int32_t token[CHARS];
        int64_t count = 0;
        char text[CHARS];
        make_bpe(&rng, &vocabulary, &bpe, &start);
        for (int i = 0; i < CHARS; ++i) {
            const int64_t c = cs_rng_below(&rng, 4 * LETTERS + 1);
            text[i] = c == 4 * LETTERS ? '?' : (char)('a' + c % LETTERS);
        }
        for (int64_t at = 0; at < CHARS;) {
            const int64_t part = cs_bpe_part(&start, &vocabulary, text + at, CHARS - at);
            assert_true(part > 0 && part <= CHARS - at);
            OK(cs_bpe_apply_chars(&bpe, &start, &vocabulary, text + at, part, &scratch));
            memcpy(token + count, scratch.token, (size_t)scratch.count * sizeof *token);
            count += scratch.count;
            split += part < CHARS;
            at += part;
        }
        OK(cs_bpe_apply_chars(&bpe, &start, &vocabulary, text, CHARS, &scratch));
        whole += scratch.count < CHARS;
        assert_int_equal(scratch.count, count);
        assert_memory_equal(scratch.token, token, (size_t)count * sizeof *token);
    }
    assert_true(split > 10000 && whole > 2000); /* there was something to part and to merge */
}

/* --- memory --- */

static cs_status use(const char *path)
{
    static const char text[] =
        "The caf\xC3\xA9's \xE4\xB8\xAD <s> 12 <mask>  e\xCC\x81\xE2\x80\xA6";
    CS_AUTO(cs_tokenizer) *t = NULL;
    CS_AUTO_FREE int32_t *ids = NULL;
    int64_t count = 0, size = 0;
    CS_AUTO_FREE char *back = NULL;
    cs_status status = cs_tokenizer_read(path, &t);
    if (status == CS_OK) status = encode_once(t, text, (int64_t)strlen(text), true, &ids, &count);
    if (status == CS_OK) status = cs_tokenizer_decode(t, ids, count, true, &back, &size);
    return status;
}

/* A small file of each model and of every kind of part that takes memory. */
TEST_IN_DIR(every_allocation_may_fail)
{
    static const char *const files[] = {
        "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"<unk>"
        "\",0]"
        ",[\"a\",-1],[\"\xE2\x96\x81\",-2]]},\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":"
        "["
        "{\"type\":\"NFKC\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" "
        "{2,}\"},\"content\":\" "
        "\"}]},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\"},"
        "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\"}}",
        "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"x\",\"end_of_word_suffix\":\"_\",\"vocab\":{"
        "\"x\":0,\"c\":1,\"a\":2,\"ca\":3},\"merges\":[[\"c\",\"a\"]]},\"pre_tokenizer\":{\"type\":"
        "\"Split\",\"pattern\":{\"Regex\":\"\\\\w+|\\\\S\"},\"behavior\":\"Removed\",\"invert\":"
        "true},\"added_tokens\":[{\"id\":4,\"content\":\"<s>\",\"special\":true}],\"decoder\":"
        "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}}"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
        const char *path = put(state, "t.json", files[i]);
        fail_or_spare_each_allocation(use, path);
    }
}

/* --- regular expressions --- */

TEST(expressions_are_translated)
{
    static const struct {
        const char *given, *want;
    } cases[] = {
        {"a|b+?", "a|b+?"},
        {"\\s+(?!\\S)|\\d", "\\p{White_Space}+(?!\\P{White_Space})|\\p{Nd}"},
        {"[^\\s\\p{L}]", "[^\\p{White_Space}\\p{L}]"},
        {"[^(\\s|[.,])]+", "[^(\\p{White_Space}|.,)]+"},
        {"(?i:'s)|(?m:.)", "(?i:'s)|(?s:.)"},
        {"x{,3}y{2}z{1,}", "x{0,3}y{2}z{1,}"},
        {"\\u00e9\\x41\\x{1F600}", "\\x{E9}\\x{41}\\x{1F600}"},
        {"\\v\\h{", "\\x0B[0-9a-fA-F]\\{"},
        {"\\\xC3\xA9", "\xC3\xA9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CS_AUTO_FREE char *out = NULL;
        OK(cs_regex_translate(cases[i].given, false, &out));
        assert_string_equal(out, cases[i].want);
    }
}

TEST(expressions_that_would_mean_something_else_are_refused)
{
    static const test_refusal cases[] = {
        {"[a&&b]", "an intersection of sets at byte 3"},
        {"[a[^b]]", "a negated set within a set at byte 3"},
        {"[a-[b]]", "a hyphen before a set within a set at byte 3"},
        {"[[:alpha:]]", "a named set at byte 2"},
        {"[\\W]", "an escape within a set at byte 2"},
        {"(a)\\1", "an escape at byte 4"},
        {"\\K", "an escape at byte 1"},
        {"a(?i)b", "a kind of group at byte 2"},
        {"(?<name>a)", "a kind of group at byte 1"},
        {"a{2}+", "a repetition of a repetition at byte 2"},
        {"[ab", "a set without a closing ] at byte 4"},
        {"\\pL", "a property without {} at byte 1"},
        {"(a", "missing closing parenthesis"},
        {"\\p{Nonsense}", "unknown property"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_regex *regex = NULL;
        assert_fails(cs_regex_compile(cases[i].text, &regex), CS_ERR_INPUT, cases[i].reason);
        assert_null(regex);
    }
}

TEST(matches_are_found_one_after_the_other)
{
    static const char text[] = "ab \xC3\xA9\n1\xE1\xA0\x8E";
    cs_regex *regex = NULL;
    cs_regex_scratch *scratch = NULL;
    int64_t start = 0, end = 0;
    OK(cs_regex_compile("\\w+$|\\s", &regex)); /* U+180E is no white space */
    OK(cs_regex_scratch_make(&scratch));
    const int64_t want[][2] = {{2, 3}, {3, 5}, {5, 6}, {-1, -1}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; ++i) {
        OK(cs_regex_find(regex, scratch, text, (int64_t)strlen(text), end, &start, &end));
        assert_int_equal(start, want[i][0]);
        assert_int_equal(end, want[i][1]);
    }
    cs_regex_scratch_free(scratch);
    cs_regex_free(regex);
}

/* Characters of Unicode 15 and 16 are known, those of 17 are not; the first match in each text. */
TEST(categories_are_those_of_unicode_16)
{
    static const struct {
        const char *pattern, *text;
        int64_t start, end;
    } cases[] = {
        {"\\p{L}", "1\xF0\x90\x97\x80", 1, 5},             /* U+105C0, of 16 */
        {"[\\p{Lo}]", "1\xF0\xB1\x8D\x90", 1, 5},          /* U+31350, of 15 */
        {"\\p{Han}", "1\xF0\xB1\x8D\x90", 1, 5},           /* the same */
        {"\\p{L}", "1\xF0\xB2\x8E\xB0", -1, -1},           /* U+323B0, of 17 */
        {"\\P{L}", "\xF0\x90\x97\x80 ", 4, 5},             /* not U+105C0 */
        {"[^\\s\\p{L}\\p{N}]", "\xF0\x90\xB5\x80!", 4, 5}, /* U+10D40, a digit of 16 */
        {"\\d", "\xF0\x90\xB5\x80", 0, 4},                 /* the same */
        {"\\D",
         "\xF0\x90\xB5\x80"
         "a",
         4, 5},                            /* the same */
        {"\\w", "\xC2\xB2", 0, 2},         /* superscript two */
        {"[\\w]", "\xC2\xB2", -1, -1},     /* but not within a set */
        {"\\W", "\xC2\xBD\xC2\xA7", 2, 4}, /* one half is of \\w */
        {"a\\b", "a\xC2\xB9 a", 4, 5},     /* superscript one is, too */
    };
    cs_regex_scratch *scratch = NULL;
    OK(cs_regex_scratch_make(&scratch));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_regex *regex = NULL;
        int64_t start = 0, end = 0;
        OK(cs_regex_compile(cases[i].pattern, &regex));
        OK(cs_regex_find(regex, scratch, cases[i].text, (int64_t)strlen(cases[i].text), 0, &start,
                         &end));
        assert_int_equal(start, cases[i].start);
        assert_int_equal(end, cases[i].end);
        cs_regex_free(regex);
    }
    cs_regex_scratch_free(scratch);
}

/* --- trees of prefixes --- */

TEST(the_longest_beginning_is_found)
{
    CS_AUTO(cs_trie) trie = {0};
    int32_t there = 0;
    int64_t length = 0;
    static const char *const word[] = {"a", "ab", "abcd", "b"};
    assert_int_equal(cs_trie_longest(&trie, "abc", 3, &length), -1);
    for (int32_t i = 0; i < 4; ++i) {
        OK(cs_trie_put(&trie, word[i], (int64_t)strlen(word[i]), i, &there));
        assert_int_equal(there, i);
    }
    OK(cs_trie_put(&trie, "ab", 2, 9, &there));
    assert_int_equal(there, 1); /* the first stays */
    assert_int_equal(cs_trie_longest(&trie, "abcx", 4, &length), 1);
    assert_int_equal(length, 2);
    assert_int_equal(cs_trie_longest(&trie, "abcd", 4, &length), 2);
    assert_int_equal(cs_trie_longest(&trie, "cab", 3, &length), -1);
}

/* --- tables of characters --- */

TEST_IN_DIR(bad_tables_of_characters_are_named)
{
    static const test_refusal cases[] = {
        {"\"!\"", "normalizer.precompiled_charsmap: not valid base64"},
        {"\"AAAA\"", "normalizer.precompiled_charsmap: its header announces a table of 0 bytes, "
                     "but the map has 3"},
        {"\"/////wAAAAA=\"", "normalizer.precompiled_charsmap: its header announces a table of "
                             "4294967295 bytes, but the map has 8"},
        {"\"BAAAAAAAAAD/\"", "normalizer.precompiled_charsmap: byte 1: invalid UTF-8 (0xFF)"},
        {"null", "normalizer.precompiled_charsmap: expected a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char file[512];
        cs_tokenizer *t = NULL;
        (void)snprintf(
            file, sizeof file,
            "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"},"
            "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":%s}}",
            cases[i].text);
        assert_fails(cs_tokenizer_read(put(state, "t.json", file), &t), CS_ERR_INPUT,
                     cases[i].reason);
    }
}
