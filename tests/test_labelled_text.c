/* text/labelled_text: columns, headers, class numbers, splits, few labels, every bad line. */
#include <stdlib.h>

#include "corpus_support.h"
#include "io/file.h"
#include "io/npy.h"
#include "io_support.h"
#include "text/labelled_text.h"

static const cs_labelled_options plain = {0};

static cs_labelled_text read_text(const char *path, const cs_labelled_options *options,
                                  const cs_labelled_text *classes_of)
{
    cs_labelled_text t = {0};
    OK(cs_labelled_text_read(path, options, classes_of, &t));
    return t;
}

TEST_IN_DIR(classes_in_byte_order)
{
    const char *path =
        put(state, "a.tsv", "pos\tgood film\nneg\tbad film\r\n\nObj\tone\tmore\npos\tvery good");
    CS_AUTO(cs_labelled_text) t = read_text(path, &plain, NULL);
    assert_int_equal(t.count, 4);
    assert_int_equal(t.classes, 3);
    assert_null(t.pair);
    assert_string_equal(t.class_name[0], "Obj");
    assert_string_equal(t.class_name[1], "neg");
    assert_string_equal(t.class_name[2], "pos");
    const double want[4] = {2, 1, 0, 2};
    assert_memory_equal(t.value, want, sizeof want);
    assert_string_equal(t.text[1], "bad film");
    assert_string_equal(t.text[2], "one");
    /* The test file keeps to these classes, also where it has fewer. */
    const char *test = put(state, "b.tsv", "LABEL\ttext\npos\tx\npos\ty\n");
    cs_labelled_text u = read_text(test, &plain, &t);
    assert_int_equal(u.count, 2);
    assert_int_equal(u.classes, 3);
    assert_true(u.value[0] == 2 && u.value[1] == 2);
    cs_labelled_text_free(&u);
    const char *odd = put(state, "c.tsv", "pos\tx\n\nzzz\ty\nbad\tz\n");
    assert_fails(cs_labelled_text_read(odd, &plain, &t, &u), CS_ERR_INPUT,
                 "c.tsv:3: class \"zzz\" is not one of the 3 classes of");
    cs_labelled_text_free(&t);
}

TEST_IN_DIR(whole_numbers_in_their_order)
{
    CS_AUTO(cs_labelled_text) t =
        read_text(put(state, "n.tsv", "10\ta\n9\tb\n-1\tc\n"), &plain, NULL);
    assert_string_equal(t.class_name[0], "-1");
    assert_string_equal(t.class_name[1], "9");
    assert_string_equal(t.class_name[2], "10");
    cs_labelled_text_free(&t);
    t = read_text(put(state, "n.tsv", "10\ta\n9\tb\nx\tc\n"), &plain, NULL);
    assert_string_equal(t.class_name[0], "10");
    cs_labelled_text_free(&t);
    t = read_text(put(state, "n.tsv", "1\ta\n1\tb\n"), &plain, NULL);
    assert_int_equal(t.classes, 1);
}

TEST_IN_DIR(pairs_and_numbers)
{
    const char *path =
        put(state, "p.tsv",
            "s1\ts2\tScore\nfirst\tsecond\t2.5\nthird\tfourth\t-1e-3\nfifth\tsixth\t5\n");
    cs_labelled_options o = {.corpus = {.label_column = 3, .text_column = 1, .pair_column = 2},
                             .regression = true};
    cs_labelled_text t = read_text(path, &o, NULL);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.classes, 0);
    assert_null(t.class_name);
    assert_true(t.value[0] == 2.5 && t.value[1] == -1e-3 && t.value[2] == 5);
    assert_string_equal(t.text[1], "third");
    assert_string_equal(t.pair[1], "fourth");
    cs_labelled_text_free(&t);
    o.limit = 2;
    t = read_text(path, &o, NULL);
    assert_int_equal(t.count, 2);
    cs_labelled_text_free(&t);
    /* Without a header's word the first line is an example. */
    assert_fails(cs_labelled_text_read(put(state, "q.tsv", "a\tb\tmark\na\tb\t1\n"), &o, NULL, &t),
                 CS_ERR_INPUT, "q.tsv:1: label \"mark\" is not a finite number");
    assert_fails(cs_labelled_text_read(put(state, "q.tsv", "a\tb\t1\na\tb\tnan\n"), &o, NULL, &t),
                 CS_ERR_INPUT, "q.tsv:2: label \"nan\" is not a finite number");
}

/* A header that names two texts makes pairs, as on both sides. */
TEST_IN_DIR(pairs_by_a_header)
{
    const cs_labelled_options named = {.corpus = {.pair_column = CS_PAIR_IF_NAMED}},
                              wanted = {.corpus = {.pair_column = CS_PAIR_WANTED}};
    char path[512], single[512];
    (void)snprintf(path, sizeof path, "%s",
                   put(state, "p.csv", "premise,label,hypothesis\none,a,two\nthree,b,four\n"));
    (void)snprintf(single, sizeof single, "%s", put(state, "s.tsv", "a\tone\ttwo\nb\tc\td\n"));
    cs_labelled_text train = read_text(path, &named, NULL), t;
    assert_string_equal(train.text[1], "three");
    assert_string_equal(train.pair[1], "four");
    assert_string_equal(train.class_name[1], "b");
    assert_true(train.read.headers == 1 && train.read.label == 2 && train.read.pair == 3);
    assert_fails(cs_labelled_text_read(single, &named, &train, &t), CS_ERR_INPUT,
                 "s.tsv:1: single texts, but");
    cs_labelled_text_free(&train);
    train = read_text(single, &named, NULL);
    assert_null(train.pair);
    cs_labelled_text_free(&train);
    train = read_text(single, &wanted, NULL);
    assert_string_equal(train.pair[0], "two");
    cs_labelled_text_free(&train);
}

/* Labels alone: the place without advice on texts; of both sides every bad file, one class refused. */
TEST_IN_DIR(sides_are_read_together)
{
    char good[512], worse[512];
    cs_labelled_text t, side[2];
    const int64_t all[2] = {0, 0}, one[2] = {1, 0};
    (void)snprintf(good, sizeof good, "%s", put(state, "good.tsv", "a\tx\nb\ty\n"));
    (void)snprintf(worse, sizeof worse, "%s", put(state, "worse.tsv", "a\tx\xFF\nb\ty\n"));
    const char *bad = put(state, "bad.tsv", "a\tx\nb\xE9\ty\n");
    assert_fails(cs_label_file_read(bad, false, NULL, &t), CS_ERR_INPUT, "bad.tsv:2: byte 2");
    assert_int_equal(cs_label_file_read(bad, false, NULL, &t), CS_ERR_INPUT);
    assert_null(strstr(cs_reason(), "--invalid"));
    cs_reason_clear();
    const char *const both[2] = {worse, bad}, *const last[2] = {good, bad},
                      *const right[2] = {good, good};
    assert_fails(cs_labelled_sides_read(both, &plain, all, side), CS_ERR_INPUT,
                 "worse.tsv:1: byte 4");
    assert_fails(cs_labelled_sides_read(both, &plain, all, side), CS_ERR_INPUT,
                 "bad.tsv:2: byte 2");
    assert_fails(cs_labelled_sides_read(last, &plain, all, side), CS_ERR_INPUT,
                 "bad.tsv:2: byte 2");
    assert_fails(cs_labelled_sides_read(right, &plain, one, side), CS_ERR_INPUT,
                 "good.tsv: all 1 training row is of class 'a', but two classes are needed; "
                 "--limit takes");
    OK(cs_labelled_sides_read(right, &plain, all, side));
    assert_true(side[0].count == 2 && side[1].count == 2 && side[1].classes == 2);
    cs_labelled_text_free(&side[0]);
    cs_labelled_text_free(&side[1]);
}

TEST_IN_DIR(bad_lines)
{
    static const test_refusal bad[] = {
        {"", "bad.tsv: no documents"},
        {"\n\n", "bad.tsv: no documents"},
        {"label\ttext\n", "bad.tsv: no documents"},
        {"1\ta\n0\n", "bad.tsv:2: 1 column, but the text was expected in column 2"},
        {"1\ta\n\tb\n", "bad.tsv:2: no label"},
        {"1\ta\n0\t \n", "bad.tsv:2: no text"},
        {"1\ta\n0\tb\xFF\n", "bad.tsv:2: byte 4: invalid UTF-8"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"},
    };
    cs_labelled_text t;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_fails(cs_labelled_text_read(put(state, "bad.tsv", bad[i].text), &plain, NULL, &t),
                     CS_ERR_INPUT, bad[i].reason);
    }
    const cs_labelled_options pair = {.corpus = {.pair_column = 3}}, negative = {.limit = -1};
    assert_fails(cs_labelled_text_read(put(state, "bad.tsv", "1\ta\tb\n1\ta\n"), &pair, NULL, &t),
                 CS_ERR_INPUT,
                 "bad.tsv:2: 2 columns, but the second text was expected in column 3");
    assert_fails(cs_labelled_text_read("x.tsv", &negative, NULL, &t), CS_ERR_USAGE, "limit");
    static const char *const names[] = {"none.tsv", "a.csv", "wordnet2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        assert_fails(cs_labelled_text_read(names[i], &plain, NULL, &t), CS_ERR_INPUT,
                     "no such file, no named text corpus");
    }
    assert_fails(cs_labelled_text_read(put(state, "a.txt", "plain\n"), &plain, NULL, &t),
                 CS_ERR_INPUT,
                 "a.txt:1: no label; for lines of LABEL SPACE TEXT give --format space");
    assert_fails(cs_labelled_text_read(put(state, "a.tsv.xz", "x"), &plain, NULL, &t), CS_ERR_INPUT,
                 "unpack it first");
    assert_fails(cs_labelled_text_read("gcide", &plain, NULL, &t), CS_ERR_USAGE, "no labels");
    assert_fails(cs_labelled_text_read("wordnet:dev", &plain, NULL, &t), CS_ERR_USAGE,
                 "wordnet:dev: expected wordnet:train or wordnet:test");
    assert_fails(cs_labelled_text_read("wordnet", &pair, NULL, &t), CS_ERR_USAGE, "not pairs");
}

static const cs_labelled_options replace = {.corpus = {.invalid = CS_INVALID_REPLACE}};

static void assert_example(cs_labelled_text *t, int64_t i, const char *class, const char *text)
{
    assert_true(i < t->count);
    assert_string_equal(t->class_name[(int64_t)t->value[i]], class);
    assert_string_equal(t->text[i], text);
}

/* Every form of a corpus is a form of labelled texts. */
TEST_IN_DIR(every_format_of_corpora)
{
    cs_labelled_options o = {.corpus = {.format = CS_FORMAT_SPACE}};
    CS_AUTO(cs_labelled_text) t =
        read_text(put(state, "q.label", "DESC how far\nENTY what\n"), &o, NULL);
    assert_example(&t, 0, "DESC", "how far");
    cs_labelled_text_free(&t);
    t = read_text(put(state, "q.jsonl",
                      "{\"text\": \"a b\", \"label\": 10}\n{\"text\": \"c\", \"label\": 9}\n"),
                  &plain, NULL);
    assert_string_equal(t.class_name[0], "9");
    assert_example(&t, 0, "10", "a b");
    cs_labelled_text_free(&t);
    o = (cs_labelled_options){.corpus = {.label_field = "y", .text_field = "u", .pair_column = 3},
                              .regression = true};
    const char *pairs = put(
        state, "p.jsonl", "{\"u\": \"a\", \"pair\": \"b\", \"y\": 0.5}\n{\"u\": \"c\", \"y\": 1}");
    assert_fails(cs_labelled_text_read(pairs, &o, NULL, &t), CS_ERR_INPUT,
                 "p.jsonl:2: expected an object with a string under \"pair\"");
    o.limit = 1; /* text after the limit is not read */
    t = read_text(pairs, &o, NULL);
    assert_true(t.count == 1 && t.value[0] == 0.5);
    assert_string_equal(t.pair[0], "b");
    cs_labelled_text_free(&t);
    assert_fails(
        cs_labelled_text_read(put(state, "n.jsonl", "{\"text\": \"a\"}"), &plain, NULL, &t),
        CS_ERR_INPUT, "n.jsonl:1: no label");
    assert_fails(cs_labelled_text_read(put(state, "pair.txt", "a b\n"),
                                       &(cs_labelled_options){
                                           .corpus = {.format = CS_FORMAT_SPACE, .pair_column = 3}},
                                       NULL, &t),
                 CS_ERR_INPUT, "pair.txt:1: no second text");
    OK(cs_dir_make(in_dir(state, "mail/ham")));
    OK(cs_dir_make(in_dir(state, "mail/score")));
    (void)put(state, "mail/ham/1", "hello\nyou");
    (void)put(state, "mail/score/1", "bad \xE9");
    (void)put(state, "mail/score/2", "\xE9");
    const char *mail = in_dir(state, "mail");
    assert_int_equal(cs_labelled_text_read(mail, &plain, NULL, &t), CS_ERR_INPUT);
    assert_non_null(strstr(cs_reason(), "mail/score/1:1: byte 5")); /* every bad file */
    assert_non_null(strstr(cs_reason(), "mail/score/2:1: byte 1"));
    cs_reason_clear();
    t = read_text(mail, &replace, NULL);
    assert_int_equal(t.invalid_bytes, 2);
    assert_example(&t, 0, "ham", "hello\nyou");
    assert_example(&t, 1, "score", "bad \xEF\xBF\xBD"); /* a class, no header */
}

/* One source of both sides is divided as the corpus is. */
TEST_IN_DIR(a_source_of_both_sides)
{
    char text[4096] = "label\ttext\n";
    for (int i = 0; i < 100; ++i) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%c\tdoc %d\n", "ab"[i % 2],
                       i);
    }
    const char *path = put(state, "t.tsv", text);
    const cs_labelled_options both = {.corpus = {.test_share = 0.4, .seed = 7}, .split = true};
    CS_AUTO(cs_labelled_text) train = read_text(path, &both, NULL),
                              test = read_text(path, &both, &train);
    CS_AUTO(cs_corpus) corpus = {0};
    OK(cs_corpus_load(path, &both.corpus, &corpus));
    assert_int_equal(train.count + test.count, 100);
    int64_t from[2] = {0};
    assert_int_equal(corpus.documents, 100); /* the header is none to either */
    for (int64_t d = 0; d < corpus.documents; ++d) {
        const bool out = corpus.held_out[d];
        char want[16];
        (void)snprintf(want, sizeof want, "doc %d", (int)d);
        assert_string_equal(out ? test.text[from[1]] : train.text[from[0]], want);
        from[out] += 1;
    }
    assert_true(from[1] > 20 && from[0] > 40);
}

/* A prepared corpus of our own in the place where it is looked for. */
TEST_IN_DIR(a_named_corpus_has_its_split)
{
    put(state, "wordnet.tsv",
        "1\tact\ttrain\tone\n2\tbody\ttest\ttwo\n3\tbody\ttrain\tthree\n4\tact\ttrain\tfour\n");
    setenv("COSPEC_CACHE", in_dir(state, ""), 1);
    CS_AUTO(cs_labelled_text) train = read_text("wordnet", &plain, NULL), again = {0}, test = {0};
    assert_int_equal(train.count, 3);
    assert_int_equal(train.classes, 2);
    assert_string_equal(train.text[2], "four");
    assert_true(train.value[1] == 1 && train.value[2] == 0);
    again = read_text("wordnet:train", &plain, &train);
    assert_int_equal(again.count, 3);
    test = read_text("wordnet", &plain, &train);
    assert_int_equal(test.count, 1);
    assert_true(test.value[0] == 1);
    cs_labelled_text_free(&train);
    cs_labelled_text_free(&test);
    /* A file without a stored split: by the hash of its keys. */
    put(state, "bible-kjv.tsv", "k\tact\t\tone\nl\tact\t\ttwo\nm\tact\t\tthree\nn\tact\t\tx\n");
    const cs_labelled_options half = {.corpus = {.test_share = 0.5, .seed = 1}};
    train = read_text("bible-kjv", &half, NULL);
    test = read_text("bible-kjv:test", &half, &train);
    assert_true(train.count > 0 && test.count > 0 && train.count + test.count == 4);
    unsetenv("COSPEC_CACHE");
}

static cs_labelled_text read_labels(const char *path, bool regression,
                                    const cs_labelled_text *classes_of)
{
    cs_labelled_text t = {0};
    OK(cs_label_file_read(path, regression, classes_of, &t));
    return t;
}

TEST_IN_DIR(labels_alone)
{
    const int64_t shape[1] = {4}, cube[3] = {1, 2, 2}, whole_number[4] = {7, -1, 10, 7};
    const double real[4] = {0.5, 2, NAN, 1};
    const char *path = in_dir(state, "a.npy"), *reals = in_dir(state, "r.npy");
    OK(cs_npy_write(path, CS_I64, 1, shape, whole_number));
    cs_labelled_text t = read_labels(path, false, NULL), u;
    assert_int_equal(t.count, 4);
    assert_int_equal(t.classes, 3);
    assert_null(t.text);
    assert_string_equal(t.class_name[0], "-1");
    assert_string_equal(t.class_name[2], "10");
    assert_true(t.value[0] == 1 && t.value[1] == 0 && t.value[2] == 2);
    u = read_labels(put(state, "a.txt", "10\n7\n\n"), false, &t); /* the same classes as text */
    assert_true(u.count == 2 && u.value[0] == 2 && u.value[1] == 1);
    cs_labelled_text_free(&u);
    u = read_labels(path, true, NULL);
    assert_true(u.classes == 0 && u.value[2] == 10);
    cs_labelled_text_free(&u);
    assert_fails(cs_label_file_read(put(state, "b.txt", "label\n7\n8\n"), false, &t, &u),
                 CS_ERR_INPUT, "b.txt:3: class \"8\" is not one of the 3 classes of");
    OK(cs_npy_write(reals, CS_F64, 1, shape, real));
    assert_fails(cs_label_file_read(reals, true, NULL, &u), CS_ERR_INPUT,
                 "row 2: label \"nan\" is not a");
    assert_fails(cs_label_file_read(reals, false, NULL, &u), CS_ERR_INPUT, "r.npy");
    OK(cs_npy_write(reals, CS_F64, 3, cube, real));
    assert_fails(cs_label_file_read(reals, true, NULL, &u), CS_ERR_INPUT,
                 "expected one label per row");
    assert_fails(cs_label_file_read("a.csv", true, NULL, &u), CS_ERR_USAGE,
                 "labels must be in a .npy");
    cs_labelled_text_free(&t);
}

TEST_IN_DIR(few_labels)
{
    enum { N = 1000 };
    double value[N];
    char *name[] = {"noun", "verb", "adverb"};
    const cs_labelled_text three = {.count = N, .value = value, .classes = 3, .class_name = name},
                           two = {.count = N, .value = value, .classes = 2, .class_name = name},
                           values = {.count = N, .value = value};
    int64_t n = 0, per[3] = {0}, *index = NULL;
    for (int i = 0; i < N; ++i) {
        value[i] = i % 100 == 0 ? 2 : i % 2; /* 10 of class 2, 490 of 0, 500 of 1 */
    }
    static const struct {
        const char *text;
        int64_t want[3];
    } cases[] = {{"all", {490, 500, 10}}, {"1%", {5, 5, 1}},   {"10%", {49, 50, 1}},
                 {"10", {10, 10, 10}},    {"0.5%", {2, 3, 1}}, {"100%", {490, 500, 10}}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        OK(cs_few_shot(cases[c].text, &three, 4, &n, &index));
        memset(per, 0, sizeof per);
        for (int64_t i = 0; i < n; ++i) {
            assert_true(i == 0 || index[i] > index[i - 1]);
            per[(int)value[index[i]]] += 1;
        }
        assert_memory_equal(per, cases[c].want, sizeof per);
        cs_free(index);
    }
    /* Fewer of the same seed are among more of it; another seed has others. */
    int64_t more = 0, *big = NULL, same = 0, other = 0;
    OK(cs_few_shot("8", &three, 4, &n, &index));
    OK(cs_few_shot("10%", &two, 4, &more, &big));
    for (int64_t i = 0; i < n; ++i) {
        same += COUNT(j, 0, more, value[index[i]] < 2 && index[i] == big[j]);
    }
    assert_int_equal(same, 16);
    cs_free(big);
    OK(cs_few_shot("8", &three, 5, &more, &big));
    other += COUNT(i, 0, n, index[i] != big[i]);
    assert_true(other > n / 2);
    cs_free(big);
    cs_free(index);
    OK(cs_few_shot("16", &values, 4, &n, &index)); /* values: that many in all */
    assert_int_equal(n, 16);
    cs_free(index);
    assert_fails(cs_few_shot("16", &three, 4, &n, &index), CS_ERR_INPUT,
                 "class \"adverb\" has 10 examples, but 16 are requested");
    assert_fails(cs_few_shot("1001", &values, 4, &n, &index), CS_ERR_INPUT,
                 "1001 examples requested, but there are only 1000");
    static const char *const bad[] = {"",   "%",   "0%",   "101%", "0",
                                      "-3", "1.5", "some", "nan%", "16 "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_fails(cs_few_shot(bad[i], &three, 4, &n, &index), CS_ERR_USAGE, "is not all");
    }
}

static cs_status whole(const char *path)
{
    const cs_labelled_options pairs = {.corpus = {.pair_column = 3}};
    cs_labelled_text side[2] = {{0}};
    int64_t n, *index = NULL;
    cs_status status =
        cs_labelled_sides_read((const char *[2]){path, path}, &pairs, (int64_t[2]){0, 0}, side);
    if (status == CS_OK) status = cs_few_shot("50%", &side[0], 1, &n, &index);
    cs_free(index);
    cs_labelled_text_free(&side[0]);
    cs_labelled_text_free(&side[1]);
    return status;
}

static char other_bad[512];

static cs_status refused(const char *path)
{
    cs_labelled_text side[2];
    cs_status status = cs_labelled_sides_read((const char *[2]){path, other_bad}, &plain,
                                              (int64_t[2]){0, 0}, side);
    const bool reported =
        status == CS_ERR_INPUT && strstr(cs_reason(), "2 files are not valid UTF-8");
    if (reported) {
        cs_reason_clear();
    }
    return reported ? CS_OK : status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    fail_each_allocation(whole, put(state, "w.tsv", "2\ta\tb\n10\tc\td\n2\te\tf\n"));
    (void)snprintf(other_bad, sizeof other_bad, "%s", put(state, "b.tsv", "a\t\xFF\n"));
    fail_each_allocation(refused, put(state, "c.tsv", "\xFF\tx\n"));
}
