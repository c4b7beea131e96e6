/* Tokenizers: golden ids of the `tokenizers` package, lossless round trips, merges, roles. */
#include "io/json.h"
#include "io_support.h"
#include "text/bpe.h"
#include "text/encoder.h"
#include "text/pretokenize.h"
#include "text/unicode.h"
#include "tokenizer_support.h"

/* --- golden ids --- */

static void assert_ids(const int32_t *ids, int64_t count, const json_t *want, const char *text)
{
    if (count != (int64_t)json_array_size(want)) {
        fail_msg("'%s': %lld ids, %zu wanted", text, (long long)count, json_array_size(want));
    }
    for (int64_t i = 0; i < count; ++i) {
        if (ids[i] != json_integer_value(json_array_get(want, (size_t)i))) {
            fail_msg("'%s': id %lld is %d, wanted %lld", text, (long long)i, ids[i],
                     (long long)json_integer_value(json_array_get(want, (size_t)i)));
        }
    }
}

static void assert_case(const cs_tokenizer *t, cs_encoder *e, const json_t *item)
{
    const char *text = json_string_value(json_object_get(item, "text"));
    int64_t size = (int64_t)json_string_length(json_object_get(item, "text"));
    int64_t added = json_integer_value(json_object_get(item, "added")), count = 0;
    CS_AUTO_FREE int32_t *ids = NULL;
    OK(encode_once(t, text, size, true, &ids, &count));
    assert_true(added % 2 == 0 && count >= added); /* as many before as after, in all of them */
    assert_ids(ids ? ids + added / 2 : NULL, count - added, json_object_get(item, "ids"), text);
    OK(cs_encoder_encode(e, text, size, false));
    assert_ids(e->id, e->count, json_object_get(item, "ids"), text);
    assert_decodes(t, e->id, e->count, false, json_string_value(json_object_get(item, "decoded")));
    assert_decodes(t, e->id, e->count, true, json_string_value(json_object_get(item, "skipped")));
}

/* Reads the file, and what we write after reading it. */
TEST_IN_DIR(golden_ids)
{
    json_t *golden = NULL, *entry = NULL;
    const char *name = NULL;
    int entries_seen = 0;
    OK(cs_json_read(GOLDEN_TOKENIZERS, &golden));
    json_object_foreach(golden, name, entry)
    {
        if (!json_is_object(entry)) {
            continue; /* where the file comes from */
        }
        const char *given = in_dir(state, "given.json"), *again = in_dir(state, "again.json");
        OK(cs_json_write(given, json_object_get(entry, "tokenizer")));
        CS_AUTO(cs_tokenizer) *t = tokenizer_at(given);
        OK(cs_tokenizer_write(t, again));
        CS_AUTO(cs_tokenizer) *copy = tokenizer_at(again);
        CS_AUTO(cs_encoder) e = {0}, e_copy = {0};
        cs_encoder_init(&e, t);
        cs_encoder_init(&e_copy, copy);
        const json_t *cases = json_object_get(entry, "cases");
        assert_true(json_array_size(cases) > 50);
        for (size_t i = 0; i < json_array_size(cases); ++i) {
            assert_case(t, &e, json_array_get(cases, i));
            assert_case(copy, &e_copy, json_array_get(cases, i));
        }
        entries_seen += 1;
    }
    assert_int_equal(entries_seen, 7);
    json_decref(golden);
}

/* A written file equals the one that the package wrote, except merges as "a b". */
TEST_IN_DIR(written_file_is_the_one_read)
{
    json_t *golden = NULL, *again = NULL;
    OK(cs_json_read(GOLDEN_TOKENIZERS, &golden));
    static const char *const name[] = {"bert-uncased", "bert-accents", "word", "whitespace",
                                       "char"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; ++i) {
        const json_t *given = json_object_get(json_object_get(golden, name[i]), "tokenizer");
        const char *path = in_dir(state, "given.json");
        OK(cs_json_write(path, given));
        CS_AUTO(cs_tokenizer) *t = tokenizer_at(path);
        OK(cs_tokenizer_write(t, path));
        OK(cs_json_read(path, &again));
        assert_true(json_equal(given, again));
        json_decref(again);
    }
    json_decref(golden);
}

/* --- pieces --- */

/* Pieces by the expression of GPT-2 and by BERT's rules, each followed by '|'. */
TEST(texts_are_cut_as_documented)
{
    static const struct {
        const char *text, *gpt2, *bert;
    } cases[] = {
        {"", "", ""},
        {"the cat", "the| cat|", "the|cat|"},
        {"the  cat", "the| | cat|", "the|cat|"},
        {" the\n\ncat \n", " the|\n|\n|cat| \n|", "the|cat|"},
        {"  x", " | x|", "x|"},
        {"x  ", "x|  |", "x|"},
        {"a\t b", "a|\t| b|", "a|b|"},
        {"don't we'll I'M", "don|'t| we|'ll| I|'|M|", "don|'|t|we|'|ll|I|'|M|"},
        {"'tis 'ere", "'t|is| '|ere|", "'|tis|'|ere|"},
        {"ab12cd 34", "ab|12|cd| 34|", "ab12cd|34|"},
        {"a,b.. (c)", "a|,|b|..| (|c|)|", "a|,|b|.|.|(|c|)|"},
        {"e\xCC\x81x", "e|\xCC\x81|x|", "e\xCC\x81x|"}, /* a mark is no letter to GPT-2 */
        {"a\xC2\xA0\xC2\xBD", "a|\xC2\xA0|\xC2\xBD|", "a|\xC2\xBD|"},
        {"\xC2\xBFq\xE2\x80\x94", "\xC2\xBF|q|\xE2\x80\x94|", "\xC2\xBF|q|\xE2\x80\x94|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const uint8_t *at = (const uint8_t *)cases[i].text, *end = at + strlen(cases[i].text);
        char gpt2[128] = "", bert[128] = "";
        for (const uint8_t *p = at; p < end;) {
            int64_t size = cs_gpt2_piece(p, end);
            (void)strncat(gpt2, (const char *)p, (size_t)size);
            (void)strcat(gpt2, "|");
            p += size;
        }
        assert_string_equal(gpt2, cases[i].gpt2);
        for (int64_t size = cs_bert_piece(&at, end); size > 0; size = cs_bert_piece(&at, end)) {
            (void)strncat(bert, (const char *)at - size, (size_t)size);
            (void)strcat(bert, "|");
        }
        assert_string_equal(bert, cases[i].bert);
    }
}

/* --- round trips --- */

static void assert_round_trip(cs_encoder *e, const char *text, int64_t size)
{
    CS_AUTO_FREE char *back = NULL;
    int64_t length = 0;
    OK(cs_encoder_encode(e, text, size, false));
    OK(cs_tokenizer_decode(e->tokenizer, e->id, e->count, false, &back, &length));
    assert_int_equal(length, size);
    assert_memory_equal(back, text, (size_t)size);
}

TEST(bpe_gives_every_text_back)
{
    static const char *const texts[] = {
        "",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t\t x",
        " lead",
        "trail ",
        "two  blanks",
        "a\n\n\nb ",
        "I'm you're we'll he'd it's don't 's 'S ' '' 'llama",
        "1 22 333 4\xC2\xBD \xD9\xA3 \xE2\x85\xA7",
        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xF0\x9F\x87\xAB\xF0\x9F\x87\xB7",
        "e\xCC\x81\xCC\xA7 \xE1\xBA\x9E \xC4\xB0 \xC7\x85",
        "\x01\x02\x1B[0m\x7F\xC2\x85\xC2\xA0\xE2\x80\xA8\xE3\x80\x80.",
        "<s> a </s><pad><mask> <unk>",
        "\xEF\xBB\xBFmark",
        "\xEF\xBF\xBF\xF4\x8F\xBF\xBF"};
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    CS_AUTO(cs_encoder) e = {0};
    cs_encoder_init(&e, t);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        assert_round_trip(&e, texts[i], (int64_t)strlen(texts[i]));
    }
    assert_round_trip(&e, "a\0b\0\0", 5);
}

/* A character of a random plane, blanks and ASCII among them. */
static int32_t random_char(cs_rng *rng)
{
    static const int32_t plane[][2] = {{0, 0x80},          {0x20, 0x40},      {0x80, 0x800},
                                       {0x800, 0xD800},    {0xE000, 0x10000}, {0x10000, 0x20000},
                                       {0x20000, 0x110000}};
    const int32_t *p = plane[cs_rng_below(rng, (int64_t)(sizeof plane / sizeof plane[0]))];
    return p[0] + (int32_t)cs_rng_below(rng, p[1] - p[0]);
}

TEST(bpe_gives_random_unicode_back)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    CS_AUTO(cs_encoder) e = {0};
    cs_encoder_init(&e, t);
    for (uint64_t trial = 0; trial < 2000; ++trial) {
        cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, trial);
        char text[4 * 64];
        int64_t size = 0;
        for (int64_t n = cs_rng_below(&rng, 64); n > 0; --n) {
            size += utf8proc_encode_char(random_char(&rng), (utf8proc_uint8_t *)text + size);
        }
        assert_round_trip(&e, text, size);
    }
}

/* Every code point between letters, alone and repeated: pieces are cut without loss. */
TEST(bpe_gives_every_character_back)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    CS_AUTO(cs_encoder) e = {0};
    cs_encoder_init(&e, t);
    for (int32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 37) {
        if (c >= 0xD800 && c < 0xE000) {
            continue;
        }
        char text[16] = "a";
        int64_t size = 1;
        size += utf8proc_encode_char(c, (utf8proc_uint8_t *)text + size);
        size += utf8proc_encode_char(c, (utf8proc_uint8_t *)text + size);
        text[size++] = 'b';
        assert_round_trip(&e, text, size);
    }
}

TEST(byte_characters_go_both_ways)
{
    int seen = 0;
    for (int32_t c = -1; c < 0x400; ++c) {
        int byte = cs_char_byte(c);
        seen += byte >= 0;
        assert_true(byte < 0 || cs_byte_char((uint8_t)byte) == c);
    }
    assert_int_equal(seen, 256);
    assert_int_equal(cs_byte_char(' '), 0x120); /* the blank of GPT-2 */
    assert_int_equal(cs_byte_char('\n'), 0x10A);
    assert_int_equal(cs_byte_char('!'), '!');
}

/* Ids that end inside a character: U+FFFD for each longest part that begins one (the examples of
 * the Unicode standard, table 3-8 to 3-11). */
TEST(parts_of_characters_are_replaced)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"\xF0\x9F\x98", "\xEF\xBF\xBD"},
        {"a\xF0\x9F\x98z", "a\xEF\xBF\xBDz"},
        {"\xC3\xA9\xC3", "\xC3\xA9\xEF\xBF\xBD"},
        {"\x80\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC0\xAF\xE0\x80\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                                                 "A"},
        {"\xF4\x91\x92\x93", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        int32_t ids[16];
        int64_t count = 0;
        for (const char *p = cases[i].bytes; *p; ++p) {
            char spelling[8] = "";
            (void)utf8proc_encode_char(cs_byte_char((uint8_t)*p), (utf8proc_uint8_t *)spelling);
            ids[count++] = cs_tokenizer_id(t, spelling);
        }
        assert_decodes(t, ids, count, false, cases[i].text);
    }
}

/* --- looking and refusing --- */

TEST(roles_and_ids)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_BOS), 0);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_PAD), 1);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_EOS), 2);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_UNK), 3);
    assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_MASK), 4);
    assert_int_equal(cs_tokenizer_id(t, "no such token"), -1);
    for (int32_t i = 0; i < cs_tokenizer_vocab(t); ++i) {
        assert_int_equal(cs_tokenizer_id(t, cs_tokenizer_token(t, i)), i);
        assert_int_equal(cs_tokenizer_is_special(t, i), i < 5);
    }
    CS_AUTO_FREE int32_t *ids = NULL;
    int64_t count = 0;
    OK(encode_once(t, "", 0, true, &ids, &count));
    assert_int_equal(count, 2);
    assert_true(ids[0] == 0 && ids[1] == 2);
    cs_free(ids);
    OK(encode_once(t, "", 0, false, &ids, &count));
    assert_int_equal(count, 0);
}

TEST(bad_ids_and_bytes_are_named)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    int32_t *ids = NULL;
    int64_t count = 0, size = 0;
    char *text = NULL;
    assert_fails(cs_tokenizer_decode(t, (int32_t[]){5, 290}, 2, false, &text, &size), CS_ERR_INPUT,
                 "token id 290 at index 1 is not in 0..289");
    assert_fails(cs_tokenizer_decode(t, (int32_t[]){-1}, 1, true, &text, &size), CS_ERR_INPUT,
                 "token id -1 at index 0");
    assert_fails(encode_once(t, "ab\n\xC3(", 5, false, &ids, &count), CS_ERR_INPUT,
                 "byte 4: invalid UTF-8 (0xC3 0x28)");
    assert_null(strstr(cs_reason(), "text"));
}

/* Of added tokens that begin at one place, the longest; of others, the leftmost. */
TEST(the_longest_added_token_is_taken)
{
    static const char *const special[] = {"<a>", "<a>b", "b<", "<a>bcd"};
    static const struct {
        const char *text;
        int32_t id[4];
        int64_t count;
    } cases[] = {{"<a>b<a>", {1, 0}, 2},
                 {"<a><a>bc", {0, 1, 4 + 'c' - '!'}, 3},
                 {"<a>bcd", {3}, 1},
                 {"b<a>", {2, 4 + 'a' - '!', 4 + '>' - '!'}, 3}};
    cs_text_source source = {english, NULL};
    cs_bpe_options options = {.vocab_size = 260, .special = special, .specials = 4};
    AUTO_OK(cs_tokenizer, *t, cs_tokenizer_train_bpe(&source, &options, &t));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CS_AUTO_FREE int32_t *ids = NULL;
        int64_t count = 0, size = (int64_t)strlen(cases[i].text);
        OK(encode_once(t, cases[i].text, size, false, &ids, &count));
        assert_int_equal(count, cases[i].count);
        assert_memory_equal(ids, cases[i].id, (size_t)count * sizeof *ids);
    }
}

/* --- encoder --- */

/* Earlier texts do not matter, nor whether a piece is short enough for the cache. */
TEST(the_cache_changes_nothing)
{
    CS_AUTO(cs_tokenizer) *t = small_bpe();
    CS_AUTO(cs_encoder) e = {0};
    cs_encoder_init(&e, t);
    for (uint64_t trial = 0; trial < 300; ++trial) {
        cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, trial % 100); /* each text three times */
        char text[512];
        int64_t size = cs_rng_below(&rng, 512), count = 0;
        for (int64_t i = 0; i < size; ++i) {
            text[i] = "the cats "[cs_rng_below(&rng, trial % 2 ? 9 : 8)];
        }
        CS_AUTO_FREE int32_t *ids = NULL;
        OK(cs_encoder_encode(&e, text, size, false));
        OK(encode_once(t, text, size, false, &ids, &count));
        assert_int_equal(count, e.count);
        assert_memory_equal(ids, e.id, (size_t)count * sizeof *ids);
    }
}

/* Greedy merging by plain search, for pieces of any length. */
TEST(merges_are_those_of_plain_search)
{
    enum { BYTES = 400, MERGES = 60, LETTERS = 3 };
    for (uint64_t trial = 0; trial < 200; ++trial) {
        cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, trial);
        int32_t byte_token[256] = {0}, token[BYTES];
        cs_bpe_merge merge[MERGES];
        int64_t merges = 0, twice = -1, count = 1 + cs_rng_below(&rng, BYTES - 1);
        for (int b = 0; b < LETTERS; ++b) {
            byte_token['a' + b] = b;
        }
        for (int m = 0; m < MERGES; ++m) { /* of any tokens made so far, in any order */
            cs_bpe_merge new = {(int32_t)cs_rng_below(&rng, LETTERS + merges),
                                (int32_t)cs_rng_below(&rng, LETTERS + merges),
                                (int32_t)(LETTERS + merges)};
            bool known = false;
            for (int64_t i = 0; i < merges; ++i) {
                known = known || (merge[i].left == new.left &&merge[i].right == new.right);
            }
            if (!known) {
                merge[merges++] = new;
            }
        }
        for (int64_t i = merges - 1; i > 0; --i) { /* ranks that are not those of making */
            int64_t j = cs_rng_below(&rng, i + 1);
            cs_bpe_merge swap = merge[i];
            merge[i] = merge[j];
            merge[j] = swap;
        }
        char text[BYTES];
        for (int64_t i = 0; i < count; ++i) {
            text[i] = (char)('a' + cs_rng_below(&rng, LETTERS));
            token[i] = text[i] - 'a';
        }
        AUTO_OK(cs_bpe, bpe, cs_bpe_init(&bpe, byte_token, merge, merges, &twice));
        assert_int_equal(twice, -1);
        AUTO_OK(cs_bpe_scratch, scratch, cs_bpe_apply(&bpe, text, count, &scratch));
        for (;;) {
            int64_t at = -1, best = merges;
            for (int64_t i = 0; i + 1 < count; ++i) {
                for (int64_t m = 0; m < best; ++m) {
                    if (merge[m].left == token[i] && merge[m].right == token[i + 1]) {
                        best = m;
                        at = i;
                    }
                }
            }
            if (at < 0) {
                break;
            }
            token[at] = merge[best].token;
            memmove(token + at + 1, token + at + 2, (size_t)(count - at - 2) * sizeof *token);
            count -= 1;
        }
        assert_int_equal(scratch.count, count);
        assert_memory_equal(scratch.token, token, (size_t)count * sizeof *token);
    }
}
