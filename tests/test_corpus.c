/* Corpora: every source, its bad inputs, the split, selection. */
#include "base/hash.h"
#include "corpus_support.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/npy.h"
#include "io_support.h"

/* --- tab-separated and plain text ------------------------------------------------------------ */

TEST_IN_DIR(tsv_gives_labelled_documents)
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
    assert_each(w, 0, 8, strcmp(c.word[w], words[w]) == 0);
    assert_int_equal(c.unknown_tokens, 0);
    cs_corpus_free(&c);
    cs_corpus_free(&c); /* accepts a zeroed object */
}

TEST_IN_DIR(tsv_columns_are_chosen)
{
    const char *path = put(state, "c.tsv", "k1\talpha beta\tx\textra\nk2\tgamma\ty\n");
    cs_corpus_options o = {.label_column = 3, .text_column = 2};
    CS_AUTO(cs_corpus) c = loaded(path, &o);
    assert_document(&c, 0, "x", "alpha beta ");
    assert_document(&c, 1, "y", "gamma ");
    cs_corpus_free(&c);
    o.label_column = -1;
    c = loaded(path, &o);
    assert_int_equal(c.labels, 0);
    assert_document(&c, 0, "-", "alpha beta ");
    o.label_column = 4;
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(path, &o, &out), CS_ERR_INPUT,
                 "c.tsv:2: 3 columns, but the label was expected in column 4");
    assert_null(out.token);
}

TEST_IN_DIR(bad_text_is_refused_with_its_place)
{
    static const struct {
        const char *name, *content, *reason;
        int64_t min_tokens;
    } cases[] = {
        {"a.tsv", "x\tone\nonly\n", "a.tsv:2: 1 column, but the text was expected in column 2", 0},
        {"a.tsv", "x one\n",
         "the text was expected in column 2; for lines of LABEL SPACE TEXT give --format space", 0},
        {"b.tsv", "", "b.tsv: no documents: the input is empty", 0},
        {"c.txt", "\n\r\n\n", "c.txt: no documents: the input is empty", 0},
        {"d.txt", "one\ntwo words\n", "none of the 2 documents has at least 3 tokens", 3},
        {"e.txt", "fine\nbad \xC3\x28\n", "e.txt:2: byte 5: invalid UTF-8 (0xC3 0x28)", 0},
        {"f.dat", "x,y\n", "f.dat: not a directory, .tsv, .csv, .txt, .jsonl", 0},
        {"f.csv", "x,y\n", "f.csv:1: no column is named as a text usually is", 0},
        {"f.csv", "label,text\na,\"b\n", "f.csv:2: a quote opened here is never closed", 0},
        {"f.csv", "label,text\na,b\nc\n",
         "f.csv:3: 1 column, but the text was expected in column 2", 0},
        {"h.tsv", "label\tid\tbody\na\t1\tb\n", "h.tsv:1: the first line names a label but no text",
         0},
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
    OK(cs_file_write(nul, "ab\0c\n", 5));
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(nul, NULL, &out), CS_ERR_INPUT, "n.txt:1: byte 3: NUL byte");
    assert_fails(cs_corpus_load(in_dir(state, "absent.txt"), NULL, &out), CS_ERR_INPUT,
                 "absent.txt: no such file");
}

/* One rule for headers: a header is no document, and names the columns of label and text unless
 * options do. */
TEST_IN_DIR(headers_are_no_documents)
{
    static const struct {
        const char *name, *content;
        cs_corpus_options options;
        const char *label, *text; /* of the first document */
        int64_t documents, headers;
    } cases[] = {
        {"a.tsv", "label\ttext\nx\tone\ny\ttwo\n", {0}, "x", "one ", 2, 1},
        {"a.tsv", "id\tSentence\tLabel\r\n1\tone\tx\r\n", {0}, "x", "one ", 1, 1},
        {"a.tsv", "\n\nquality\tbody\nx\tone\n", {0}, "x", "one ", 1, 1},
        {"a.tsv", "index\tsentence\n0\tone\n", {0}, "-", "one ", 1, 1},
        {"a.tsv", "x\tone\ny\ttext two\n", {0}, "x", "one ", 2, 0},
        {"a.tsv", "text\tone\nquestion\ttwo\n", {0}, "text", "one ", 2, 0},
        {"a.tsv",
         "a\tlabel\tb\nu\tx\tone\n",
         {.label_column = 2, .text_column = 3},
         "x",
         "one ",
         1,
         1},
        {"a.tsv",
         "who\twhat\none\tx\n",
         {.label_field = "what", .text_field = "who"},
         "x",
         "one ",
         1,
         1},
        {"a.csv",
         "text,label\n\"one, \"\"two\"\"\nthree\",x\n\nfour,y\n",
         {0},
         "x",
         "one two three ",
         2,
         1},
        {"a.csv", "year,author,text\n1,2,one\n", {0}, "-", "one ", 1, 1},
        {"a.csv", "text\none\n", {0}, "-", "one ", 1, 1},
        {"a.csv", "x,one\n", {.text_column = 2}, "x", "one ", 1, 0},
        {"a.dat", "label,text\nx,one", {.format = CS_FORMAT_CSV}, "x", "one ", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CS_AUTO(cs_corpus) c =
            loaded(put(state, cases[i].name, cases[i].content), &cases[i].options);
        assert_int_equal(c.documents, cases[i].documents);
        assert_int_equal(c.read.headers, cases[i].headers);
        assert_document(&c, 0, cases[i].label, cases[i].text);
    }
    cs_corpus out = {0};
    const cs_corpus_options body = {.text_field = "body"};
    assert_fails(cs_corpus_load(put(state, "a.tsv", "x\tone\n"), &body, &out), CS_ERR_INPUT,
                 "a.tsv:1: no column is named \"body\" in the first line");
}

/* Lines are counted from the header on, in every part of a large file. */
TEST_IN_DIR(a_header_of_a_large_file)
{
    enum { LINES = 80000 };
    CS_AUTO_FREE char *text = cs_calloc(LINES + 2, 32);
    int64_t size = snprintf(text, 32, "label\ttext\n");
    for (int i = 0; i < LINES; ++i) {
        size += snprintf(text + size, 32, "%c\tthe document %06d\n", "ab"[i % 2], i);
    }
    const char *path = put(state, "large.tsv", text);
    const cs_corpus_options one = {.threads = 1, .test_share = 0.2},
                            four = {.threads = 4, .test_share = 0.2};
    cs_corpus a = loaded(path, &one), b = loaded(path, &four), out = {0};
    assert_int_equal(b.documents, LINES);
    assert_memory_equal(a.held_out, b.held_out, LINES);
    cs_corpus_free(&a);
    cs_corpus_free(&b);
    memcpy(text + size, "bad\n", 5);
    for (int threads = 1; threads <= 4; threads += 3) {
        const cs_corpus_options o = {.threads = threads};
        assert_fails(cs_corpus_load(put(state, "large.tsv", text), &o, &out), CS_ERR_INPUT,
                     "large.tsv:80002: 1 column, but the text was expected in column 2");
    }
}

TEST_IN_DIR(options_out_of_range_are_named)
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

TEST_IN_DIR(plain_text_by_line_or_whole)
{
    const char *path = put(state, "c.txt", "\xEF\xBB\xBFone two\n\nthree\r\nfour");
    cs_corpus_options o = {.splitter = CS_SPLITTER_WHITESPACE};
    CS_AUTO(cs_corpus) c = loaded(path, &o);
    assert_int_equal(c.documents, 3);
    assert_document(&c, 0, "-", "one two "); /* the byte order mark is no text */
    assert_document(&c, 1, "-", "three ");
    assert_document(&c, 2, "-", "four ");
    cs_corpus_free(&c);
    o.whole_file = true;
    c = loaded(path, &o);
    assert_int_equal(c.documents, 1);
    assert_document(&c, 0, "-", "one two three four ");
}

TEST_IN_DIR(vocabulary_is_capped_by_frequency)
{
    const char *path = put(state, "c.txt", "b b b a a c\nd <unk> a\nz z z z\n");
    cs_corpus_options o = {.splitter = CS_SPLITTER_WHITESPACE, .vocab_size = 2, .min_tokens = 3};
    CS_AUTO(cs_corpus) c = loaded(path, &o);
    /* z: 4, then a and b: 3 each, by bytes. */
    assert_int_equal(c.vocab, 3);
    assert_document(&c, 0, "-", "<unk> <unk> <unk> a a <unk> ");
    assert_document(&c, 1, "-", "<unk> <unk> a ");
    assert_string_equal(c.word[1], "z");
    assert_int_equal(c.unknown_tokens, 6);
    cs_corpus_free(&c);

    /* Words of dropped documents do not count; a literal <unk> is the unknown word. */
    o = (cs_corpus_options){.splitter = CS_SPLITTER_WHITESPACE, .vocab_size = -1, .min_tokens = 4};
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
}

TEST_IN_DIR(one_document_is_a_corpus)
{
    CS_AUTO(cs_corpus) c = loaded(put(state, "c.txt", "x"), NULL);
    assert_int_equal(c.documents, 1);
    assert_int_equal(c.tokens, 1);
    assert_int_equal(c.token[0], 1);
}

/* --- the split ------------------------------------------------------------------------------- */

TEST_IN_DIR(split_follows_share_and_seed)
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
        CS_AUTO(cs_corpus) c = loaded(path, &o), again = loaded(path, &o);
        assert_same_corpus(&c, &again);
        double held = SUM(d, 0, c.documents, c.held_out[d]);
        /* Five standard errors of a binomial share; none at 0. */
        double p = wanted[s];
        assert_true(fabs(held / N - p) <= 5 * sqrt(p * (1 - p) / N));
        o.seed = 6;
        CS_AUTO(cs_corpus) other = loaded(path, &o);
        bool same = memcmp(c.held_out, other.held_out, N) == 0;
        assert_true(same == (p == 0));
    }
}

/* --- parts of a large file --------------------------------------------------------------------- */

/* 2 MB of lines, some of them empty, too short or with CR; the corpus of one thread is that of several,
 * which read it in parts. */
TEST_IN_DIR(parts_of_a_file_are_the_whole)
{
    enum { LINES = 60000, BAD = 40000 };
    static const char *const end[] = {"\n", "\r\n", "\n\n"};
    static const char *const name[] = {"c.txt", "c.tsv", "c.jsonl"};
    static const char *const form[] = {"%s w%c%c Zz\xC3\x89 %s%s", "l%s\tw%c%c Zz\xC3\x89 %s%s",
                                       "{\"label\": \"l%s\", \"text\": \"w%c%c Zz\xC3\x89 %s\"}%s"};
    for (int k = 0; k < 3; ++k) {
        const char *path = in_dir(state, name[k]);
        for (int bad = 0; bad < (k > 0 ? 2 : 1); ++bad) {
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            int64_t line = 0;
            for (int i = 0; i < LINES; ++i) {
                char label[16];
                (void)snprintf(label, sizeof label, "%d", i * 7919 % 11);
                if (bad && i == BAD) {
                    line += 1;
                    assert_true(fputs("neither\n", f) >= 0);
                }
                line += bad && i < BAD ? 1 + (i % 3 == 2) : 0;
                assert_true(fprintf(f, form[k], label, 'a' + i % 26, 'a' + i * 31 % 977 % 26,
                                    i % 5 ? "and some more words" : "", end[i % 3]) > 0);
            }
            assert_int_equal(fclose(f), 0);
            cs_corpus_options one = {.min_tokens = k == 0 ? 4 : 3, .test_share = 0.3, .threads = 1};
            cs_corpus_options more = one;
            more.threads = 3;
            if (bad) {
                char want[64];
                cs_corpus out = {0};
                (void)snprintf(want, sizeof want, "%s:%lld", name[k], (long long)line);
                assert_fails(cs_corpus_load(path, &one, &out), CS_ERR_INPUT, want);
                assert_fails(cs_corpus_load(path, &more, &out), CS_ERR_INPUT, want);
                continue;
            }
            CS_AUTO(cs_corpus) a = loaded(path, &one), b = loaded(path, &more);
            assert_true(a.dropped_documents > LINES / 10 && a.documents > LINES / 2);
            assert_int_equal(a.dropped_documents, b.dropped_documents);
            assert_int_equal(a.unknown_tokens, b.unknown_tokens);
            assert_int_equal(a.labels, b.labels);
            char sha256[65];
            int64_t bytes = 0;
            OK(cs_path_sha256(path, NULL, sha256, &bytes));
            assert_string_equal(a.sha256, sha256);
            assert_string_equal(b.sha256, sha256);
            assert_same_corpus(&a, &b);
        }
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

TEST_IN_DIR(directory_of_classes)
{
    const char *top = strdupa(put_dir(state, "top"));
    (void)put_dir(state, "top/b");
    (void)put_dir(state, "top/a");
    (void)put_dir(state, "top/.hidden");
    (void)put(state, "top/b/2", "two words\nand more\n");
    (void)put(state, "top/b/10", "ten\n");
    (void)put(state, "top/a/x.txt", "ex\n");
    (void)put(state, "top/a/.skip", "hidden\n");
    CS_AUTO(cs_corpus) c = loaded(top, NULL);
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

    (void)put_dir(state, "top/b/deeper");
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT, "top/b/deeper: a directory, but");
    (void)put(state, "top/a/broken", "line\n\xFF\n");
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "top/a/broken:2: byte 1: invalid UTF-8 (0xFF)");
    assert_int_equal(symlink("nowhere", in_dir(state, "top/a/aaa")), 0);
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_IO, "top/a/aaa: No such file");
    (void)put(state, "top/file", "a file among classes\n");
    assert_int_equal(unlink(in_dir(state, "top/a/aaa")), 0);
    assert_int_equal(unlink(in_dir(state, "top/a/broken")), 0);
    assert_int_equal(rmdir(in_dir(state, "top/b/deeper")), 0);
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "\"file\" is a file and \"b\" is not");
}

TEST_IN_DIR(directory_of_files)
{
    const char *top = strdupa(put_dir(state, "flat"));
    cs_corpus out = {0};
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "flat: no documents: the input is empty");
    (void)put(state, "flat/b", "second\n");
    (void)put(state, "flat/a", "first\n");
    CS_AUTO(cs_corpus) c = loaded(top, NULL);
    assert_int_equal(c.documents, 2);
    assert_int_equal(c.labels, 0);
    assert_document(&c, 0, "-", "first ");
    (void)put_dir(state, "flat/c");
    assert_fails(cs_corpus_load(top, NULL, &out), CS_ERR_INPUT,
                 "\"c\" is a directory and \"b\" is not");
    assert_int_equal(rmdir(in_dir(state, "flat/c")), 0);
    (void)put_dir(state, "bytes");
    (void)put_dir(state, "bytes/\xFF");
    assert_fails(cs_corpus_load(in_dir(state, "bytes"), NULL, &out), CS_ERR_INPUT,
                 "invalid UTF-8 (0xFF)");
}

/* --- selection -------------------------------------------------------------------------------- */

TEST_IN_DIR(fewer_documents_to_train_on_are_some_of_more)
{
    const char *path =
        put(state, "c.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\n");
    cs_corpus_options o = {.test_share = 0.3};
    cs_corpus c = loaded(path, &o), part = {0};
    uint8_t before[32] = {0};
    int64_t held = 0;
    for (int64_t d = 0; d < c.documents; ++d) {
        held += c.held_out[d];
    }
    assert_true(held > 0 && held < 10);
    for (int64_t count = 1; count <= c.documents - held; ++count) {
        uint8_t now[32] = {0};
        int64_t listed = 0;
        OK(cs_corpus_select_train(&c, count, &part));
        assert_int_equal(part.documents, held + count);
        assert_int_equal(part.vocab, c.vocab);
        for (int64_t d = 0; d < part.documents; ++d) {
            listed += part.held_out[d];
            now[part.token[d]] = 1; /* each document a separate word */
        }
        assert_int_equal(listed, held);
        int64_t still = COUNT(v, 0, 32, before[v] && now[v]);
        assert_each(v, 0, 32, !before[v] || now[v]);
        assert_int_equal(still, count == 1 ? 0 : held + count - 1);
        memcpy(before, now, sizeof now);
        cs_corpus_free(&part);
    }
    assert_fails(cs_corpus_select_train(&c, c.documents - held + 1, &part), CS_ERR_INPUT,
                 "to train on, but at least");
    cs_corpus_free(&c);
}

TEST_IN_DIR(selection_keeps_words_and_classes)
{
    const char *path = put(state, "c.tsv", "x\ta a b\ny\tc d\nx\ta d d\n");
    cs_corpus_options o = {.vocab_size = 2};
    CS_AUTO(cs_corpus) c = loaded(path, &o), part = {0};
    OK(cs_corpus_select(&c, (uint8_t[]){1, 0, 1}, &part));
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
    OK(cs_corpus_select(&c, (uint8_t[]){1, 1, 1}, &part));
    assert_same_corpus(&c, &part);
    cs_corpus_free(&part);
    assert_fails(cs_corpus_select(&c, (uint8_t[]){0, 0, 0}, &part), CS_ERR_INPUT,
                 "none of the 3 documents is selected");
    EACH_ALLOCATION_FAILS(n) {
        if (out_of_memory(cs_corpus_select(&c, (uint8_t[]){1, 0, 1}, &part)))
            assert_null(part.token);
        else
            assert_true(n > 10);
    }
}

/* --- failures --------------------------------------------------------------------------------- */

static cs_status load_and_free(const char *path)
{
    CS_AUTO(cs_corpus) c = {0};
    cs_status status = cs_corpus_load(path, NULL, &c);
    if (status != CS_OK) {
        assert_null(c.name);
        assert_null(c.token);
    }
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
            OK(status);
            return;
        }
    }
}

TEST_IN_DIR(loading_survives_failed_allocations)
{
    every_allocation_failed(put(state, "c.tsv", "x\tone two\ny\tthree \xC3\xA9\n"));
    every_allocation_failed(put(state, "c.txt", "one two\nthree\n"));
    every_allocation_failed(put(state, "c.csv", "text,label\n\"one\ntwo\",x\nthree,y\n"));
    const char *top = strdupa(put_dir(state, "top"));
    (void)put_dir(state, "top/a");
    (void)put(state, "top/a/f", "words\n");
    every_allocation_failed(top);
    const int64_t ids[] = {5, 0, 2, 7};
    every_allocation_failed(put_ids(state, "r.npy", 2, (int64_t[]){2, 2}, ids));
}
