/* text_file: files that are packed, or not quite UTF-8; lines of every format. */
#include <sys/stat.h>
#include <zlib.h>

#include "io/file.h"
#include "io/gzip.h"
#include "io_support.h"
#include "text/corpus.h"
#include "text/labelled_text.h"
#include "text/text_file_private.h"

static const char *put_bytes(void **state, const char *name, const char *bytes, size_t size)
{
    const char *path = in_dir(state, name);
    OK(cs_file_write(path, bytes, (int64_t)size));
    return path;
}

/* Members of gzip, as `cat a.gz b.gz` has them. */
static const char *put_packed(void **state, const char *name, int members, const char *text)
{
    const char *path = in_dir(state, name);
    for (int i = 0; i < members; ++i) {
        gzFile f = gzopen(path, i == 0 ? "wb" : "ab");
        assert_non_null(f);
        assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
        assert_int_equal(gzclose(f), Z_OK);
    }
    return path;
}

static void reads(const char *path, cs_invalid rule, const char *want, int64_t parts)
{
    cs_text_rules rules = {.rule = rule};
    AUTO_OK(cs_text_file, file, cs_text_read(path, &rules, &file));
    assert_int_equal(file.size, strlen(want));
    assert_memory_equal(file.text, want, strlen(want) + 1);
    assert_int_equal(rules.bytes, parts);
}

/* Unicode 15, table 3-8: one U+FFFD a maximal subpart. Latin-1: a character a byte. */
TEST_IN_DIR(bad_parts_are_put_right)
{
    static const char bytes[] = "\xEF\xBB\xBF"
                                "a\xF1\x80\x80\xE1\x80\xC2"
                                "b\x80"
                                "c\x80\xBF"
                                "d";
    const char *path = put_bytes(state, "t.txt", bytes, sizeof bytes - 1);
    reads(path, CS_INVALID_REPLACE,
          "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
          "b\xEF\xBF\xBD"
          "c\xEF\xBF\xBD\xEF\xBF\xBD"
          "d",
          6);
    path = put_bytes(state, "l.txt", "caf\xE9 \xC3\xA9\0x", 9);
    reads(path, CS_INVALID_LATIN1, "caf\xC3\xA9 \xC3\xA9\xEF\xBF\xBDx", 2);
    path = put_bytes(state, "g.txt",
                     "gr\xC3\xBC\xC3\x9F"
                     "e",
                     7);
    reads(path, CS_INVALID_REPLACE,
          "gr\xC3\xBC\xC3\x9F"
          "e",
          0);
    char all[512]; /* nothing but bad parts of four bytes, and of one */
    for (int i = 0; i < 512; i += 4) {
        memcpy(all + i, i % 8 ? "\xFF\xFE\xFD\xFC" : "\xF4\x8F\xBF\xC0", 4);
    }
    path = put_bytes(state, "all.txt", all, sizeof all);
    cs_text_rules rules = {.rule = CS_INVALID_LATIN1};
    AUTO_OK(cs_text_file, file, cs_text_read(path, &rules, &file));
    assert_int_equal(file.size, 2 * 512);
}

TEST_IN_DIR(gzip_is_unpacked)
{
    reads(put_packed(state, "two.txt.gz", 2, "one line\n"), CS_INVALID_REFUSE,
          "one line\none line\n", 0);
    cs_text_rules rules = {0};
    cs_text_file file = {0};
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    OK(cs_file_read(in_dir(state, "two.txt.gz"), 1 << 20, &bytes, &size));
    const char *path = put_bytes(state, "cut.txt.gz", bytes, (size_t)size - 5);
    assert_fails(cs_text_read(path, &rules, &file), CS_ERR_INPUT, "cut.txt.gz: damaged gzip");
    bytes[size / 2 - 6] ^= 0x55; /* the checksum of the first member */
    path = put_bytes(state, "bad.txt.gz", bytes, (size_t)size);
    assert_fails(cs_text_read(path, &rules, &file), CS_ERR_INPUT, "bad.txt.gz: damaged gzip");
    path = put_bytes(state, "head.gz", "\x1F\x8B", 2);
    assert_fails(cs_text_read(path, &rules, &file), CS_ERR_INPUT, "head.gz: damaged gzip");
    assert_null(file.bytes);
}

/* Zeros behind the last member are the padding of tapes, nothing else is. */
TEST_IN_DIR(gzip_filled_up_with_zeros)
{
    CS_AUTO_FREE char *bytes = NULL;
    char padded[2048] = "";
    int64_t size = 0;
    cs_text_rules rules = {0};
    cs_text_file file = {0};
    OK(cs_file_read(put_packed(state, "a.txt", 2, "one line\n"), 1 << 10, &bytes, &size));
    memcpy(padded, bytes, (size_t)size);
    reads(put_bytes(state, "one.txt", padded, (size_t)size + 1), CS_INVALID_REFUSE,
          "one line\none line\n", 0);
    reads(put_bytes(state, "many.txt.gz", padded, sizeof padded), CS_INVALID_REFUSE,
          "one line\none line\n", 0);
    padded[sizeof padded - 1] = 1;
    assert_fails(cs_text_read(put_bytes(state, "bad.gz", padded, sizeof padded), &rules, &file),
                 CS_ERR_INPUT, "bad.gz: damaged gzip");
}

/* The same for data read from the beginning to the end, whole or in pieces; the offset is named. */
TEST_IN_DIR(what_follows_gzip_is_zeros_or_an_error)
{
    enum { MOST = 1 << 18 };
    CS_AUTO_FREE char *bytes = NULL;
    char *padded = test_zeros(MOST, 1);
    int64_t size = 0;
    OK(cs_file_read(put_packed(state, "a.gz", 2, "one line\n"), 1 << 10, &bytes, &size));
    for (int64_t zeros = 0; zeros < MOST - size; zeros = zeros < 3 ? zeros + 1 : 5 * zeros) {
        for (int bad = 0; bad < 3; ++bad) {
            static const char *const tail[] = {"", "x", "\x1Fjunk"};
            const size_t more = strlen(tail[bad]);
            char text[64] = "", *out = NULL, sha256[65], where[64];
            FILE *stream = NULL;
            memset(padded, 0, MOST);
            memcpy(padded, bytes, (size_t)size);
            memcpy(padded + size + zeros, tail[bad], more);
            (void)snprintf(where, sizeof where, "damaged gzip (offset %lld: neither",
                           (long long)(bad && zeros == 0 ? size : 0));
            const char *path = put_bytes(state, "b.gz", padded, (size_t)(size + zeros) + more);
            int64_t unpacked = 0;
            OK(cs_stream_open(path, &stream));
            const size_t got = fread(text, 1, sizeof text, stream);
            if (bad) {
                assert_true(ferror(stream) && strstr(cs_reason(), "damaged gzip (offset "));
                assert_true(zeros > 0 || strstr(cs_reason(), where));
                cs_reason_clear();
                assert_fails(cs_file_unpacked(path, &out, &unpacked, sha256, NULL), CS_ERR_INPUT,
                             zeros > 0 ? "damaged gzip (offset " : where);
            } else {
                assert_true(got == 18 && !ferror(stream));
                assert_string_equal(text, "one line\none line\n");
                OK(cs_file_unpacked(path, &out, &unpacked, sha256, NULL));
                assert_string_equal(out, text);
            }
            assert_int_equal(fclose(stream), 0);
            cs_free(out);
        }
    }
}

/* Among them the one whose text ends exactly at the end of its buffer: the first buffer has 1
 * MiB. */
TEST_IN_DIR(every_cut_of_gzip_is_refused)
{
    enum { LONG = (1 << 20) + (1 << 16) };
    char *text = test_zeros(LONG + 1, 1), *bytes = NULL, sha256[65];
    memset(text, 'x', LONG);
    int64_t size = 0, unpacked = 0;
    const char *path = put_packed(state, "long.gz", 1, text);
    OK(cs_file_read(path, 1 << 20, &bytes, &size));
    for (int64_t cut = size / 2; cut <= size; ++cut) {
        CS_AUTO_FREE char *out = NULL;
        path = put_bytes(state, "cut.gz", bytes, (size_t)cut);
        if (cut < size) {
            assert_fails(cs_file_unpacked(path, &out, &unpacked, sha256, NULL), CS_ERR_INPUT,
                         "ends early");
        } else {
            OK(cs_file_unpacked(path, &out, &unpacked, sha256, NULL));
            assert_int_equal(unpacked, LONG);
            assert_memory_equal(out, text, LONG + 1);
        }
    }
    cs_free(bytes);
}

static cs_corpus load(const char *path, const cs_corpus_options *options)
{
    cs_corpus corpus = {0};
    OK(cs_corpus_load(path, options, &corpus));
    return corpus;
}

static void labels_are(cs_corpus *c, int64_t documents, const char *const *label)
{
    assert_int_equal(c->documents, documents);
    assert_each(d, 0, documents, strcmp(cs_corpus_label(c, d), label[d]) == 0);
    cs_corpus_free(c);
}

TEST_IN_DIR(lines_of_every_format)
{
    static const char trec[] = "DESC:manner How did serfdom develop\nENTY What films\n";
    cs_corpus c = load(put_bytes(state, "t.txt", trec, sizeof trec - 1),
                       &(cs_corpus_options){.format = CS_FORMAT_SPACE});
    assert_int_equal(c.tokens, 6);
    labels_are(&c, 2, (const char *const[]){"DESC:manner", "ENTY"});
    static const char objects[] =
        "{\"text\": \"a b c\", \"label\": 3}\r\n\n{\"label\": true, \"text\": \"b\\u00e9 d\"}\n"
        "{\"text\": \"q\", \"label\": null}\n{\"text\": \"q\", \"label\": \"x y\"}";
    c = load(put_bytes(state, "t.jsonl", objects, sizeof objects - 1), NULL);
    assert_int_equal(c.tokens, 7);
    labels_are(&c, 4, (const char *const[]){"3", "true", "-", "x y"});
    c = load(put_bytes(state, "t.data", "{\"body\": \"a b\", \"class\": 1.5}", 29),
             &(cs_corpus_options){
                 .format = CS_FORMAT_JSONL, .label_field = "class", .text_field = "body"});
    labels_are(&c, 1, (const char *const[]){"1.5"});
    c = load(put_packed(state, "t.tsv.gz", 1, "x\tone two\n"), NULL);
    labels_are(&c, 1, (const char *const[]){"x"});
    const char *packed = put_packed(state, "e.tsv.gz", 2, "y\tone two\n");
    AUTO_OK(cs_labelled_text, examples,
            cs_labelled_text_read(packed, &(cs_labelled_options){0}, NULL, &examples));
    assert_int_equal(examples.count, 2);
    assert_string_equal(examples.text[1], "one two");
}

/* Half a surrogate pair, or NUL, as an escape: no character, met as bytes that are none. */
TEST_IN_DIR(escapes_that_are_no_character)
{
    static const char lines[] = "{\"text\": \"one\"}\n"
                                "{\"text\": \"a\\uD800 b \\udc00\\uD83D\\uDE00 c\\u0000\"}\n"
                                "{\"text\": \"\\\\ud800 \\ud83d\\ude00\"}\n";
    const char *path = put_bytes(state, "t.jsonl", lines, sizeof lines - 1);
    cs_corpus c = {0};
    assert_fails(cs_corpus_load(path, NULL, &c), CS_ERR_INPUT,
                 "t.jsonl:2: byte 12: \\uD800 is not a character; give --invalid replace");
    static const cs_invalid rules[] = {CS_INVALID_REPLACE, CS_INVALID_LATIN1};
    for (int i = 0; i < 2; ++i) {
        c = load(path,
                 &(cs_corpus_options){.invalid = rules[i], .splitter = CS_SPLITTER_WHITESPACE});
        assert_true(c.documents == 3 && c.invalid_bytes == 3 && c.tokens == 7);
        assert_string_equal(c.word[c.token[1]], "a\xEF\xBF\xBD");
        assert_string_equal(c.word[c.token[3]], "\xEF\xBF\xBD\xF0\x9F\x98\x80");
        assert_string_equal(c.word[c.token[4]], "c\xEF\xBF\xBD");
        assert_string_equal(c.word[c.token[5]], "\\ud800");
        cs_corpus_free(&c);
    }
    c = load(path, &(cs_corpus_options){.invalid = CS_INVALID_SKIP});
    assert_true(c.documents == 2 && c.invalid_documents == 1);
    cs_corpus_free(&c);
    /* Broken escapes are left to the reader of JSON. */
    path = put_bytes(state, "b.jsonl", "{\"text\": \"\\u+800\"}", 19);
    assert_fails(cs_corpus_load(path, &(cs_corpus_options){.invalid = CS_INVALID_REPLACE}, &c),
                 CS_ERR_INPUT, "b.jsonl:1:");
}

TEST_IN_DIR(lines_that_do_not_hold_are_named)
{
    static const struct {
        const char *name, *text, *said;
        cs_text_format format;
    } bad[] = {
        {"a.txt", "one two\nword\n", "a.txt:2: expected a label, a space and a text",
         CS_FORMAT_SPACE},
        {"a.txt", " two\n", "a.txt:1: expected a label", CS_FORMAT_SPACE},
        {"a.jsonl", "{\"text\": \"a\"}\n{\"text\": 3}",
         "a.jsonl:2: expected an object with a string under \"text\"", CS_FORMAT_AUTO},
        {"a.jsonl", "[1]", "a.jsonl:1: expected an object", CS_FORMAT_AUTO},
        {"a.jsonl", "{\"text\": \"a\"", "a.jsonl:1:", CS_FORMAT_AUTO},
        {"a.jsonl", "{\"text\": \"a\", \"label\": [1]}", "a.jsonl:1: \"label\" is not a string",
         CS_FORMAT_AUTO},
        {"a.bin", "text", "for other file names give --format", CS_FORMAT_AUTO},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_corpus c = {0};
        const char *path = put_bytes(state, bad[i].name, bad[i].text, strlen(bad[i].text));
        assert_fails(cs_corpus_load(path, &(cs_corpus_options){.format = bad[i].format}, &c),
                     CS_ERR_INPUT, bad[i].said);
    }
}

/* Two of four files are no UTF-8: both are named, in one run. */
TEST_IN_DIR(every_bad_file_of_a_directory_is_named)
{
    OK(cs_dir_make(in_dir(state, "m/a")));
    OK(cs_dir_make(in_dir(state, "m/b")));
    (void)put_bytes(state, "m/a/1", "hello caf\xE9", 10);
    (void)put_bytes(state, "m/a/2", "good text", 9);
    (void)put_bytes(state, "m/b/1", "na\xEFve", 5);
    (void)put_bytes(state, "m/b/2", "plain", 5);
    const char *path = in_dir(state, "m");
    cs_corpus c = {0};
    assert_fails(cs_corpus_load(path, NULL, &c), CS_ERR_INPUT, "2 files are not valid UTF-8");
    assert_int_equal(cs_corpus_load(path, NULL, &c), CS_ERR_INPUT);
    assert_non_null(strstr(cs_reason(), "m/a/1:1: byte 10"));
    assert_non_null(strstr(cs_reason(), "m/b/1:1: byte 3"));
    cs_reason_clear();
    c = load(path, &(cs_corpus_options){.invalid = CS_INVALID_SKIP});
    assert_int_equal(c.invalid_documents, 2);
    labels_are(&c, 2, (const char *const[]){"a", "b"});
    c = load(path, &(cs_corpus_options){.invalid = CS_INVALID_LATIN1});
    assert_int_equal(c.invalid_bytes, 2);
    labels_are(&c, 4, (const char *const[]){"a", "a", "b", "b"});
    c = load(put_bytes(state, "l.tsv", "x\tgood\ny\tb\xE9\nz\tfine\n", 19),
             &(cs_corpus_options){.invalid = CS_INVALID_SKIP});
    assert_int_equal(c.invalid_documents, 1);
    labels_are(&c, 2, (const char *const[]){"x", "z"});
    assert_fails(cs_corpus_load(put_bytes(state, "none.txt", "\xFF", 1),
                                &(cs_corpus_options){.invalid = CS_INVALID_SKIP}, &c),
                 CS_ERR_INPUT, "all 1 were skipped because they are not valid");
}

TEST_IN_DIR(utf16_is_called_so)
{
    cs_corpus c = {0};
    assert_fails(cs_corpus_load(put_bytes(state, "u.txt", "\xFF\xFEh\0i\0", 6), NULL, &c),
                 CS_ERR_INPUT,
                 "u.txt:1: byte 1: the file is UTF-16; convert it with iconv -f UTF-16 -t UTF-8");
}

static cs_status load_any(const char *path)
{
    CS_AUTO(cs_corpus) c = {0};
    cs_status status =
        cs_corpus_load(path, &(cs_corpus_options){.invalid = CS_INVALID_REPLACE}, &c);
    return status;
}

static cs_status load_strictly(const char *path)
{
    CS_AUTO(cs_corpus) c = {0};
    cs_status status = cs_corpus_load(path, NULL, &c);
    if (status == CS_ERR_INPUT &&
        strstr(cs_reason(), "--invalid replace, skip or latin1 to continue")) {
        cs_reason_clear();
        status = CS_OK;
    }
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    fail_or_spare_each_allocation(load_any, put_packed(state, "t.txt.gz", 1, "a\xFF b\nc \xE9\n"));
    fail_or_spare_each_allocation(
        load_any, put_bytes(state, "t.jsonl", "{\"text\": \"a\", \"label\": 1}", 25));
    fail_or_spare_each_allocation(load_any,
                                  put_bytes(state, "u.jsonl", "{\"text\": \"a\\udfff\"}", 19));
    OK(cs_dir_make(in_dir(state, "d")));
    (void)put_bytes(state, "d/bad", "\xFF", 1);
    fail_or_spare_each_allocation(load_strictly, in_dir(state, "d"));
}
