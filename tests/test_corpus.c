/* Corpora: every source, its bad inputs, the split, selection, preparation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/status.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/share.h"
#include "io_support.h"
#include "text/corpus.h"

static const char *put(void **state, const char *name, const char *content)
{
    const char *path = in_dir(state, name);
    assert_int_equal(cs_file_write(path, content, (int64_t)strlen(content)), CS_OK);
    return path;
}

static const char *put_dir(void **state, const char *name)
{
    const char *path = in_dir(state, name);
    assert_int_equal(cs_dir_make(path), CS_OK);
    return path;
}

static cs_corpus loaded(const char *source, const cs_corpus_options *options)
{
    cs_corpus corpus = {0};
    cs_status status = cs_corpus_load(source, options, &corpus);
    if (status != CS_OK) {
        fail_msg("%s", cs_reason());
    }
    return corpus;
}

/* Words of document d, each followed by a space. */
static void assert_document(const cs_corpus *corpus, int64_t d, const char *label, const char *text)
{
    char out[512] = "", number[24];
    for (int64_t i = corpus->doc_ptr[d]; i < corpus->doc_ptr[d + 1]; ++i) {
        strcat(out, cs_corpus_word(corpus, corpus->token[i], number));
        strcat(out, " ");
    }
    assert_string_equal(out, text);
    assert_string_equal(cs_corpus_label(corpus, d), label);
}

static void assert_same(const cs_corpus *a, const cs_corpus *b)
{
    assert_int_equal(a->documents, b->documents);
    assert_int_equal(a->tokens, b->tokens);
    assert_int_equal(a->vocab, b->vocab);
    assert_memory_equal(a->doc_ptr, b->doc_ptr, sizeof(int64_t) * (size_t)(a->documents + 1));
    assert_memory_equal(a->token, b->token, sizeof(int32_t) * (size_t)a->tokens);
    assert_memory_equal(a->label, b->label, sizeof(int32_t) * (size_t)a->documents);
    assert_memory_equal(a->held_out, b->held_out, (size_t)a->documents);
    for (int64_t w = 0; a->word && w < a->vocab; ++w) {
        assert_string_equal(a->word[w], b->word[w]);
    }
}

/* --- tab-separated and plain text ------------------------------------------------------------ */

static void tsv_gives_labelled_documents(void **state)
{
    const char *content = "zoo\tThe cat, the DOG.\r\nart\ta cat\n\n\tno label here\nzoo\t42\n";
    const char *path = put(state, "c.tsv", content);
    cs_corpus c = loaded(path, NULL);
    assert_string_equal(c.name, "c.tsv");
    assert_string_equal(c.path, path);
    char sha256[65];
    cs_sha256(content, strlen(content), sha256);
    assert_string_equal(c.sha256, sha256);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.dropped_documents, 1); /* "42" has no word */
    assert_int_equal(c.tokens, 9);
    assert_int_equal(c.labels, 2); /* in byte order */
    assert_string_equal(c.label_name[0], "art");
    assert_string_equal(c.label_name[1], "zoo");
    assert_document(&c, 0, "zoo", "the cat the dog ");
    assert_document(&c, 1, "art", "a cat ");
    assert_document(&c, 2, "-", "no label here ");
    /* By count, then by bytes. */
    static const char *const words[] = {"<unk>", "cat", "the", "a", "dog", "here", "label", "no"};
    assert_int_equal(c.vocab, 8);
    for (int w = 0; w < 8; ++w) {
        assert_string_equal(c.word[w], words[w]);
    }
    assert_int_equal(c.unknown_tokens, 0);
    cs_corpus_free(&c);
    cs_corpus_free(&c); /* accepts a zeroed object */
}

static void tsv_columns_are_chosen(void **state)
{
    const char *path = put(state, "c.tsv", "k1\talpha beta\tx\textra\nk2\tgamma\ty\n");
    cs_corpus_options o = {.label_column = 3, .text_column = 2};
    cs_corpus c = loaded(path, &o);
    assert_document(&c, 0, "x", "alpha beta ");
    assert_document(&c, 1, "y", "gamma ");
    cs_corpus_free(&c);
    o.label_column = -1;
    c = loaded(path, &o);
    assert_int_equal(c.labels, 0);
    assert_document(&c, 0, "-", "alpha beta ");
    cs_corpus_free(&c);
    o.label_column = 4;
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(path, &o, &out), CS_ERR_INPUT,
                 "c.tsv:2: 3 columns, wanted the label in column 4");
    assert_null(out.token);
}

static void bad_text_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *name, *content, *reason;
        int64_t min_tokens;
    } cases[] = {
        {"a.tsv", "x\tone\nonly\n", "a.tsv:2: 1 column, wanted the text in column 2", 0},
        {"b.tsv", "", "b.tsv: no documents (empty)", 0},
        {"c.txt", "\n\r\n\n", "c.txt: no documents (empty)", 0},
        {"d.txt", "one\ntwo words\n", "none of the 2 documents has 3 tokens or more", 3},
        {"e.txt", "fine\nbad \xC3\x28\n", "e.txt:2: byte 5: invalid UTF-8 (0xC3 0x28)", 0},
        {"f.csv", "x,y\n", "f.csv: not a directory, .tsv, .txt or .npy", 0},
        {"g.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "LFS", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *path = put(state, cases[i].name, cases[i].content);
        cs_corpus_options o = {.min_tokens = cases[i].min_tokens};
        cs_corpus out = {0};
        assert_fails(cs_corpus_load(path, &o, &out), CS_ERR_INPUT, cases[i].reason);
        assert_null(out.name);
    }
    const char *nul = in_dir(state, "n.txt");
    assert_int_equal(cs_file_write(nul, "ab\0c\n", 5), CS_OK);
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(nul, NULL, &out), CS_ERR_INPUT, "n.txt:1: byte 3: NUL byte");
    assert_fails(cs_corpus_load(in_dir(state, "absent.txt"), NULL, &out), CS_ERR_INPUT,
                 "absent.txt: no such file");
}

static void options_out_of_range_are_named(void **state)
{
    const char *path = put(state, "c.txt", "a\n");
    static const struct {
        cs_corpus_options options;
        const char *named;
    } cases[] = {
        {{.vocab_size = -2}, "vocabulary size -2"},
        {{.vocab_size = INT32_MAX}, "vocabulary size 2147483647"},
        {{.min_tokens = -1}, "-1"},
        {{.label_column = -3}, "label column -3"},
        {{.text_column = -1}, "text column -1"},
        {{.test_share = 1}, "test share 1"},
        {{.test_share = NAN}, "test share"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_corpus out = {0};
        assert_fails(cs_corpus_load(path, &cases[i].options, &out), CS_ERR_USAGE, cases[i].named);
    }
}

static void plain_text_by_line_or_whole(void **state)
{
    const char *path = put(state, "c.txt", "\xEF\xBB\xBFone two\n\nthree\r\nfour");
    cs_corpus_options o = {.tokenizer = CS_TOKENIZER_WHITESPACE};
    cs_corpus c = loaded(path, &o);
    assert_int_equal(c.documents, 3);
    assert_document(&c, 0, "-", "one two "); /* the byte order mark is no text */
    assert_document(&c, 1, "-", "three ");
    assert_document(&c, 2, "-", "four ");
    cs_corpus_free(&c);
    o.whole_file = true;
    c = loaded(path, &o);
    assert_int_equal(c.documents, 1);
    assert_document(&c, 0, "-", "one two three four ");
    cs_corpus_free(&c);
}

static void vocabulary_is_capped_by_frequency(void **state)
{
    const char *path = put(state, "c.txt", "b b b a a c\nd <unk> a\nz z z z\n");
    cs_corpus_options o = {.tokenizer = CS_TOKENIZER_WHITESPACE, .vocab_size = 2, .min_tokens = 3};
    cs_corpus c = loaded(path, &o);
    /* z: 4, then a and b: 3 each, by bytes. */
    assert_int_equal(c.vocab, 3);
    assert_document(&c, 0, "-", "<unk> <unk> <unk> a a <unk> ");
    assert_document(&c, 1, "-", "<unk> <unk> a ");
    assert_string_equal(c.word[1], "z");
    assert_int_equal(c.unknown_tokens, 6);
    cs_corpus_free(&c);

    /* Words of dropped documents do not count; a literal <unk> is the unknown word. */
    o = (cs_corpus_options){
        .tokenizer = CS_TOKENIZER_WHITESPACE, .vocab_size = -1, .min_tokens = 4};
    c = loaded(path, &o);
    assert_int_equal(c.documents, 2);
    assert_int_equal(c.dropped_documents, 1);
    assert_int_equal(c.vocab, 5); /* <unk> z b a c */
    cs_corpus_free(&c);
    o.min_tokens = 1;
    c = loaded(path, &o);
    assert_int_equal(c.vocab, 6);
    assert_document(&c, 1, "-", "d <unk> a ");
    assert_int_equal(c.unknown_tokens, 1);
    cs_corpus_free(&c);
}

static void one_document_is_a_corpus(void **state)
{
    cs_corpus c = loaded(put(state, "c.txt", "x"), NULL);
    assert_int_equal(c.documents, 1);
    assert_int_equal(c.tokens, 1);
    assert_int_equal(c.token[0], 1);
    cs_corpus_free(&c);
}

/* --- the split ------------------------------------------------------------------------------- */

static void split_follows_share_and_seed(void **state)
{
    enum { N = 20000 };
    const char *path = in_dir(state, "c.txt");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < N; ++i) {
        assert_true(fprintf(f, "w%d\n", i % 7) > 0);
    }
    assert_int_equal(fclose(f), 0);
    static const double share[] = {-1, 0, 0.5, 0.9};
    static const double wanted[] = {0.2, 0, 0.5, 0.9};
    for (int s = 0; s < 4; ++s) {
        cs_corpus_options o = {.test_share = share[s], .seed = 5};
        cs_corpus c = loaded(path, &o), again = loaded(path, &o);
        assert_same(&c, &again);
        double held = 0;
        for (int64_t d = 0; d < c.documents; ++d) {
            held += c.held_out[d];
        }
        /* Five standard errors of a binomial share; none at 0. */
        double p = wanted[s];
        assert_true(fabs(held / N - p) <= 5 * sqrt(p * (1 - p) / N));
        o.seed = 6;
        cs_corpus other = loaded(path, &o);
        bool same = memcmp(c.held_out, other.held_out, N) == 0;
        assert_true(same == (p == 0));
        cs_corpus_free(&c);
        cs_corpus_free(&again);
        cs_corpus_free(&other);
    }
}

/* --- directories ----------------------------------------------------------------------------- */

/* Valid until the fourth next call. */
static const char *sha256_of(const char *text)
{
    static char hex[4][65];
    static int turn;
    turn = (turn + 1) % 4;
    cs_sha256(text, strlen(text), hex[turn]);
    return hex[turn];
}

static void directory_of_classes(void **state)
{
    const char *top = strdupa(put_dir(state, "top"));
    (void)put_dir(state, "top/b");
    (void)put_dir(state, "top/a");
    (void)put_dir(state, "top/.hidden");
    (void)put(state, "top/b/2", "two words\nand more\n");
    (void)put(state, "top/b/10", "ten\n");
    (void)put(state, "top/a/x.txt", "ex\n");
    (void)put(state, "top/a/.skip", "hidden\n");
    cs_corpus c = loaded(top, NULL);
    assert_string_equal(c.name, "top");
    char listing[512], wanted[65];
    (void)snprintf(listing, sizeof listing, "%s  a/x.txt\n%s  b/10\n%s  b/2\n", sha256_of("ex\n"),
                   sha256_of("ten\n"), sha256_of("two words\nand more\n"));
    cs_sha256(listing, strlen(listing), wanted);
    assert_string_equal(c.sha256, wanted);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.labels, 2);
    assert_document(&c, 0, "a", "ex ");
    assert_document(&c, 1, "b", "ten "); /* "10" before "2" in byte order */
    assert_document(&c, 2, "b", "two words and more ");
    cs_corpus_free(&c);

    (void)put_dir(state, "top/b/deeper");
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT, "top/b/deeper: a directory where");
    (void)put(state, "top/a/broken", "line\n\xFF\n");
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "top/a/broken:2: byte 1: invalid UTF-8 (0xFF)");
    assert_int_equal(symlink("nowhere", in_dir(state, "top/a/aaa")), 0);
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_IO, "top/a/aaa: No such file");
    (void)put(state, "top/file", "beside classes\n");
    assert_int_equal(unlink(in_dir(state, "top/a/aaa")), 0);
    assert_int_equal(unlink(in_dir(state, "top/a/broken")), 0);
    assert_int_equal(rmdir(in_dir(state, "top/b/deeper")), 0);
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "\"file\" is a file and \"b\" is not");
}

static void directory_of_files(void **state)
{
    const char *top = strdupa(put_dir(state, "flat"));
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT, "flat: no documents (empty)");
    (void)put(state, "flat/b", "second\n");
    (void)put(state, "flat/a", "first\n");
    cs_corpus c = loaded(top, NULL);
    assert_int_equal(c.documents, 2);
    assert_int_equal(c.labels, 0);
    assert_document(&c, 0, "-", "first ");
    cs_corpus_free(&c);
    (void)put_dir(state, "flat/c");
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "\"c\" is a directory and \"b\" is not");
    assert_int_equal(rmdir(in_dir(state, "flat/c")), 0);
    (void)put_dir(state, "bytes");
    (void)put_dir(state, "bytes/\xFF");
    assert_fails(cs_corpus_load(in_dir(state, "bytes"), NULL, &out), CS_ERR_INPUT,
                 "invalid UTF-8 (0xFF)");
}

/* --- token ids ------------------------------------------------------------------------------- */

static const char *put_ids(void **state, const char *name, int ndim, const int64_t *shape,
                           const int64_t *ids)
{
    const char *path = in_dir(state, name);
    assert_int_equal(cs_npy_write(path, CS_I64, ndim, shape, ids), CS_OK);
    return path;
}

static void npy_gives_token_ids(void **state)
{
    const int64_t ids[] = {5, 0, 2, 7, -1, -1, -1, -1, -1, 3, 3, -1};
    const char *path = put_ids(state, "rows.npy", 2, (int64_t[]){4, 3}, ids);
    cs_corpus c = loaded(path, NULL);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.dropped_documents, 1);
    assert_int_equal(c.vocab, 8);
    assert_null(c.word);
    assert_document(&c, 0, "-", "5 0 2 ");
    assert_document(&c, 1, "-", "7 ");
    assert_document(&c, 2, "-", "3 3 ");
    assert_int_equal(strlen(c.sha256), 64);
    cs_corpus_free(&c);
    c = loaded(put_ids(state, "flat.npy", 1, (int64_t[]){4}, ids), NULL);
    assert_int_equal(c.documents, 1);
    assert_document(&c, 0, "-", "5 0 2 7 ");
    cs_corpus_free(&c);
}

static void npy_refuses_bad_ids(void **state)
{
    cs_corpus out = {0};
    const int64_t negative[] = {1, 2, 3, -7};
    assert_fails(
        cs_corpus_load(put_ids(state, "a.npy", 2, (int64_t[]){2, 2}, negative), NULL, &out),
        CS_ERR_INPUT, "token id -7 at row 1, column 1");
    const int64_t minus_one[] = {1, -1};
    assert_fails(cs_corpus_load(put_ids(state, "b.npy", 1, (int64_t[]){2}, minus_one), NULL, &out),
                 CS_ERR_INPUT, "token id -1 at row 0, column 1");
    const int64_t inside[] = {1, -1, 2};
    assert_fails(cs_corpus_load(put_ids(state, "c.npy", 2, (int64_t[]){1, 3}, inside), NULL, &out),
                 CS_ERR_INPUT, "padding -1 at row 0, column 1 stands before token id 2");
    const int64_t large[] = {INT64_C(1) << 40};
    assert_fails(cs_corpus_load(put_ids(state, "d.npy", 1, (int64_t[]){1}, large), NULL, &out),
                 CS_ERR_INPUT, "token id 1099511627776");
    assert_fails(
        cs_corpus_load(put_ids(state, "e.npy", 3, (int64_t[]){1, 1, 1}, large), NULL, &out),
        CS_ERR_INPUT, "found 3-D");
    assert_fails(cs_corpus_load(put_ids(state, "f.npy", 2, (int64_t[]){0, 4}, large), NULL, &out),
                 CS_ERR_INPUT, "f.npy: no documents (empty)");
    const char *path = in_dir(state, "g.npy");
    assert_int_equal(cs_npy_write(path, CS_F64, 1, (int64_t[]){1}, (double[]){1.5}), CS_OK);
    assert_fails(cs_corpus_load(path, NULL, &out), CS_ERR_INPUT, "1.5");
    assert_int_equal(cs_npy_write(path, CS_F64, 1, (int64_t[]){2}, (double[]){1, 4}), CS_OK);
    cs_corpus c = loaded(path, NULL); /* whole numbers in a float array are ids */
    assert_int_equal(c.vocab, 5);
    cs_corpus_free(&c);
    assert_null(out.token);
}

/* --- selection -------------------------------------------------------------------------------- */

static void selection_keeps_words_and_classes(void **state)
{
    const char *path = put(state, "c.tsv", "x\ta a b\ny\tc d\nx\ta d d\n");
    cs_corpus_options o = {.vocab_size = 2};
    cs_corpus c = loaded(path, &o), part = {0};
    assert_int_equal(cs_corpus_select(&c, (uint8_t[]){1, 0, 1}, &part), CS_OK);
    assert_int_equal(part.documents, 2);
    assert_int_equal(part.tokens, 6);
    assert_int_equal(part.vocab, c.vocab);
    assert_int_equal(part.labels, 2);
    assert_int_equal(c.unknown_tokens, 2);
    assert_int_equal(part.unknown_tokens, 1);
    assert_document(&part, 0, "x", "a a <unk> ");
    assert_document(&part, 1, "x", "a d d ");
    assert_string_equal(part.sha256, c.sha256);
    cs_corpus_free(&part);
    assert_int_equal(cs_corpus_select(&c, (uint8_t[]){1, 1, 1}, &part), CS_OK);
    assert_same(&c, &part);
    cs_corpus_free(&part);
    assert_fails(cs_corpus_select(&c, (uint8_t[]){0, 0, 0}, &part), CS_ERR_INPUT,
                 "none of the 3 documents is selected");
    for (int64_t n = 1;; ++n) {
        (void)cs_mem_fail_at(n);
        cs_status status = cs_corpus_select(&c, (uint8_t[]){1, 0, 1}, &part);
        int64_t made = cs_mem_fail_at(0);
        cs_reason_clear();
        if (made < n) {
            assert_int_equal(status, CS_OK);
            assert_true(n > 10);
            break;
        }
        assert_int_equal(status, CS_ERR_MEMORY);
        assert_null(part.token);
    }
    cs_corpus_free(&part);
    cs_corpus_free(&c);
}

/* --- failures --------------------------------------------------------------------------------- */

static cs_status load_and_free(const char *path)
{
    cs_corpus c = {0};
    cs_status status = cs_corpus_load(path, NULL, &c);
    if (status != CS_OK) {
        assert_null(c.name);
        assert_null(c.token);
    }
    cs_corpus_free(&c);
    return status;
}

/* The finish trims arrays it may also keep: those allocations fail without harm, so a success is
 * no end of the search; it ends when the failing number was not reached. */
static void every_allocation_failed(const char *path)
{
    for (int64_t n = 1;; ++n) {
        (void)cs_mem_fail_at(n);
        cs_status status = load_and_free(path);
        int64_t made = cs_mem_fail_at(0);
        assert_true(status == CS_OK || status == CS_ERR_MEMORY);
        assert_true(status == CS_OK ? cs_reason()[0] == '\0' : cs_reason()[0] != '\0');
        cs_reason_clear();
        if (made < n) {
            assert_int_equal(status, CS_OK);
            return;
        }
    }
}

static void loading_survives_failed_allocations(void **state)
{
    every_allocation_failed(put(state, "c.tsv", "x\tone two\ny\tthree \xC3\xA9\n"));
    every_allocation_failed(put(state, "c.txt", "one two\nthree\n"));
    const char *top = strdupa(put_dir(state, "top"));
    (void)put_dir(state, "top/a");
    (void)put(state, "top/a/f", "words\n");
    every_allocation_failed(top);
    const int64_t ids[] = {5, 0, 2, 7};
    every_allocation_failed(put_ids(state, "r.npy", 2, (int64_t[]){2, 2}, ids));
}

/* --- preparation ------------------------------------------------------------------------------ */

static void sources_are_listed_and_recorded(void **state)
{
    (void)state;
    int count = 0;
    const cs_corpus_source *s = cs_corpus_sources(&count);
    assert_int_equal(count, 4);
    char *path = NULL, *text = NULL;
    int64_t size = 0;
    assert_int_equal(cs_share_path("data/SOURCES.tsv", &path), CS_OK);
    assert_int_equal(cs_file_read(path, 1 << 20, &text, &size), CS_OK);
    for (int i = 0; i < count; ++i) {
        /* A line of the table, with the same licence and summary, and its script. */
        char *start = cs_format("\n%s\t%s", s[i].name, strtok(strdupa(s[i].package), " "));
        char *end = cs_format("\t%s\t%s\n", s[i].licence, s[i].summary);
        char *script = cs_format("data/%s", s[i].script), *found = NULL;
        assert_non_null(strstr(text, start));
        assert_non_null(strstr(text, end));
        assert_int_equal(cs_share_path(script, &found), CS_OK);
        cs_free(start);
        cs_free(end);
        cs_free(script);
        cs_free(found);
    }
    cs_free(path);
    cs_free(text);
}

static void prepared_path_follows_the_environment(void **state)
{
    (void)state;
    char *path = NULL;
    assert_int_equal(setenv("COSPEC_CACHE", "/c", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/x", 1), 0);
    assert_int_equal(setenv("HOME", "/h", 1), 0);
    static const char *const wanted[] = {"/c/gcide.tsv", "/x/cospec/gcide.tsv",
                                         "/h/.cache/cospec/gcide.tsv"};
    static const char *const variable[] = {"COSPEC_CACHE", "XDG_CACHE_HOME", "HOME"};
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(cs_corpus_prepared_path("gcide", &path), CS_OK);
        assert_string_equal(path, wanted[i]);
        cs_free(path);
        assert_int_equal(unsetenv(variable[i]), 0);
    }
    assert_fails(cs_corpus_prepared_path("gcide", &path), CS_ERR_USAGE, "COSPEC_CACHE");
    assert_fails(cs_corpus_prepared_path("reuters", &path), CS_ERR_USAGE, "\"reuters\" is not");
}

/* A share of our own with one script, so that every outcome can be had. */
static void share(void **state, const char *script, const char *packages, const char *sha256)
{
    assert_int_equal(setenv("COSPEC_SHARE", put_dir(state, "share"), 1), 0);
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    (void)put_dir(state, "share/data");
    (void)put(state, "share/data/prepare-gcide.sh", script);
    char *line = cs_format("name\tpackages\tsha256\ngcide\t%s\t%s\t1\n", packages, sha256);
    (void)put(state, "share/data/SOURCES.tsv", line);
    cs_free(line);
}

static const char prepared_text[] = "7\t\ttest\tone two\n8\tz\ttrain\tthree\n";
static const char write_it[] =
    "printf '7\\t\\ttest\\tone two\\n8\\tz\\ttrain\\tthree\\n' > \"$1\"; echo pkg=1.0\n";
static const char no_sha[] = "0000000000000000000000000000000000000000000000000000000000000000";

static void preparation_is_checked(void **state)
{
    char sha256[65], *note = NULL;
    cs_sha256(prepared_text, strlen(prepared_text), sha256);
    share(state, write_it, "pkg=1.0", sha256);
    assert_int_equal(cs_corpus_prepare("gcide", false, &note), CS_OK);
    assert_non_null(strstr(note, "cache/gcide.tsv: prepared from pkg=1.0, SHA-256 as recorded"));
    cs_free(note);
    assert_content(in_dir(state, "cache/gcide.tsv"), prepared_text);
    assert_int_equal(cs_corpus_prepare("gcide", false, &note), CS_OK);
    assert_non_null(strstr(note, "prepared already, SHA-256 as recorded"));
    cs_free(note);

    /* The stored split stays whatever the share asked for. */
    cs_corpus_options o = {.test_share = 0.999};
    cs_corpus c = loaded("gcide", &o);
    assert_string_equal(c.name, "gcide");
    assert_string_equal(c.sha256, sha256);
    assert_int_equal(c.held_out[0], 1);
    assert_int_equal(c.held_out[1], 0);
    assert_document(&c, 0, "-", "one two ");
    assert_document(&c, 1, "z", "three ");
    cs_corpus_free(&c);

    /* Another checksum: an error with the same versions, a note with others. */
    share(state, write_it, "pkg=1.0", no_sha);
    assert_fails(cs_corpus_prepare("gcide", true, NULL), CS_ERR_INPUT, sha256);
    assert_int_equal(cs_corpus_prepare("gcide", false, &note), CS_OK);
    assert_non_null(strstr(note, "prepared already; SHA-256"));
    assert_non_null(strstr(note, sha256));
    cs_free(note);
    share(state, write_it, "pkg=0.9", no_sha);
    assert_int_equal(cs_corpus_prepare("gcide", true, &note), CS_OK);
    assert_non_null(strstr(note, "differs from the one recorded for pkg=0.9"));
    cs_free(note);
}

static void failed_preparation_says_why(void **state)
{
    cs_corpus out = {0};
    share(state, "echo 'install dict-gcide (no dictionary)' >&2; exit 1\n", "pkg=1.0", no_sha);
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_INPUT,
                 "cannot prepare gcide: install dict-gcide (no dictionary)");
    assert_fails(cs_corpus_load("gcide", NULL, &out), CS_ERR_INPUT, "install dict-gcide");
    share(state, "exit 7\n", "pkg=1.0", no_sha);
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_INPUT, "ended with status 7");
    share(state, "kill -KILL $$\n", "pkg=1.0", no_sha);
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_INPUT, "ended with signal 9");
    share(state, "exit 0\n", "pkg=1.0", no_sha); /* writes nothing */
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_IO, "gcide.tsv");
    share(state, write_it, "pkg=1.0", "none");
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_INPUT, "SHA-256 in column 3");
    (void)put(state, "share/data/SOURCES.tsv", "name\tpackages\tsha256\n");
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_INPUT, "no line for gcide");
    assert_fails(cs_corpus_prepare("tatler", false, NULL), CS_ERR_USAGE, "\"tatler\" is not");
    assert_false(cs_path_exists(in_dir(state, "cache/gcide.tsv")));
    /* A prepared file with a split that is none. */
    (void)put(state, "cache/gcide.tsv", "7\tz\tdev\tone\n");
    assert_fails(cs_corpus_load("gcide", NULL, &out), CS_ERR_INPUT,
                 "gcide.tsv:1: split \"dev\" is not train, test or empty");
}

static void preparation_survives_failed_allocations(void **state)
{
    char sha256[65];
    cs_sha256(prepared_text, strlen(prepared_text), sha256);
    share(state, write_it, "pkg=1.0", sha256);
    for (int64_t n = 1;; ++n) {
        char *note = NULL;
        (void)cs_mem_fail_at(n);
        cs_status status = cs_corpus_prepare("gcide", true, &note);
        int64_t made = cs_mem_fail_at(0);
        cs_reason_clear();
        cs_free(note);
        if (made < n) {
            assert_int_equal(status, CS_OK);
            assert_true(n > 10);
            return;
        }
        assert_int_equal(status, CS_ERR_MEMORY);
        assert_null(note);
    }
}

/* --- the real corpora, where their packages are ------------------------------------------------
 */

static void wordnet_is_as_documented(void **state)
{
    if (!cs_path_exists("/usr/share/wordnet/data.noun")) {
        print_message("wordnet-base is not installed\n");
        skip();
    }
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    cs_corpus_options o = {.min_tokens = 3, .test_share = -1};
    cs_corpus c = loaded("wordnet", &o);
    assert_int_equal(c.documents + c.dropped_documents, 28000);
    assert_int_equal(c.labels, 14);
    assert_int_equal(c.vocab, 8001);
    /* Another hash of the synsets moves theory.md's 27,541 glosses and 358,515 tokens slightly. */
    assert_true(llabs((long long)c.documents - 27541) < 100);
    assert_true(llabs((long long)c.tokens - 358515) < 5000);
    double held = 0;
    for (int64_t d = 0; d < c.documents; ++d) {
        held += c.held_out[d];
        assert_true(c.label[d] >= 0 && c.label[d] < 14);
    }
    assert_true(fabs(held / (double)c.documents - 0.2) < 0.01);
    cs_corpus_free(&c);
}

static void bible_has_its_verses(void **state)
{
    if (!cs_path_exists("/usr/bin/bible") || !cs_path_exists("/usr/lib/bible.data")) {
        print_message("bible-kjv is not installed\n");
        skip();
    }
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    cs_corpus c = loaded("bible-kjv", NULL);
    assert_int_equal(c.documents, 31102);
    assert_int_equal(c.labels, 66);
    assert_document(&c, 0, "Ge", "in the beginning god created the heaven and the earth ");
    cs_corpus_free(&c);
}

/* The real script stops with the package's name when its files are not there. */
static void missing_package_is_named(void **state)
{
    static const struct {
        const char *name, *variable, *package;
    } cases[] = {{"wordnet", "WORDNET_DIR", "install wordnet-base"},
                 {"gcide", "DICTD_DIR", "install dict-gcide"}};
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(setenv(cases[i].variable, in_dir(state, "nothing"), 1), 0);
        assert_fails(cs_corpus_prepare(cases[i].name, true, NULL), CS_ERR_INPUT, cases[i].package);
        assert_int_equal(unsetenv(cases[i].variable), 0);
    }
    assert_int_equal(entries(state), 1); /* cache/ alone */
}

static int own_environment(void **state)
{
    (void)unsetenv("COSPEC_SHARE");
    return io_dir_make(state);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, own_environment, io_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tsv_gives_labelled_documents),
        TEST(tsv_columns_are_chosen),
        TEST(bad_text_is_refused_with_its_place),
        TEST(options_out_of_range_are_named),
        TEST(plain_text_by_line_or_whole),
        TEST(vocabulary_is_capped_by_frequency),
        TEST(one_document_is_a_corpus),
        TEST(split_follows_share_and_seed),
        TEST(directory_of_classes),
        TEST(directory_of_files),
        TEST(npy_gives_token_ids),
        TEST(npy_refuses_bad_ids),
        TEST(selection_keeps_words_and_classes),
        TEST(loading_survives_failed_allocations),
        TEST(sources_are_listed_and_recorded),
        TEST(prepared_path_follows_the_environment),
        TEST(preparation_is_checked),
        TEST(failed_preparation_says_why),
        TEST(preparation_survives_failed_allocations),
        TEST(wordnet_is_as_documented),
        TEST(bible_has_its_verses),
        TEST(missing_package_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
