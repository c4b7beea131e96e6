/* Preparation of the corpora known by name: paths, scripts, checksums; the real ones where their
 * packages are. */
#include "base/hash.h"
#include "corpus_support.h"
#include "io/file.h"
#include "io/share.h"
#include "io_support.h"

static int own_environment(void **state)
{
    (void)unsetenv("COSPEC_SHARE");
    return io_dir_make(state);
}

#define TEST_HERE(name) TEST_WITH(name, own_environment, io_dir_remove)

TEST_HERE(sources_are_listed_and_recorded)
{
    int count = 0;
    const cs_corpus_source *s = cs_corpus_sources(&count);
    assert_int_equal(count, 5);
    CS_AUTO_FREE char *path = NULL, *text = NULL;
    int64_t size = 0;
    OK(cs_share_path("data/SOURCES.tsv", &path));
    OK(cs_file_read(path, 1 << 20, &text, &size));
    for (int i = 0; i < count; ++i) {
        /* A line of the table, with the same licence and summary, and its script. */
        CS_AUTO_FREE char *start =
            cs_format("\n%s\t%s", s[i].name, strtok(strdupa(s[i].package), " "));
        CS_AUTO_FREE char *end = cs_format("\t%s\t%s\n", s[i].licence, s[i].summary);
        CS_AUTO_FREE char *script = cs_format("data/%s", s[i].script), *found = NULL;
        assert_non_null(strstr(text, start));
        assert_non_null(strstr(text, end));
        OK(cs_share_path(script, &found));
    }
}

TEST_HERE(prepared_path_follows_the_environment)
{
    char *path = NULL;
    assert_int_equal(setenv("COSPEC_CACHE", "/c", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/x", 1), 0);
    assert_int_equal(setenv("HOME", "/h", 1), 0);
    static const char *const wanted[] = {"/c/gcide.tsv", "/x/cospec/gcide.tsv",
                                         "/h/.cache/cospec/gcide.tsv"};
    static const char *const variable[] = {"COSPEC_CACHE", "XDG_CACHE_HOME", "HOME"};
    for (int i = 0; i < 3; ++i) {
        OK(cs_corpus_prepared_path("gcide", &path));
        assert_string_equal(path, wanted[i]);
        cs_free(path);
        assert_int_equal(unsetenv(variable[i]), 0);
    }
    assert_fails(cs_corpus_prepared_path("gcide", &path), CS_ERR_USAGE, "COSPEC_CACHE");
    assert_fails(cs_corpus_prepared_path("reuters", &path), CS_ERR_USAGE,
                 "unknown corpus 'reuters'");
}

/* A share of our own with one script, so that every outcome can be had. */
static void share(void **state, const char *script, const char *packages, const char *sha256)
{
    assert_int_equal(setenv("COSPEC_SHARE", put_dir(state, "share"), 1), 0);
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    (void)put_dir(state, "share/data");
    (void)put(state, "share/data/prepare-gcide.sh", script);
    CS_AUTO_FREE char *line = cs_format(
        "name\tpackages\tsha256\nxgcide\tother=1\tnone\t1\ngcide\t%s\t%s\t1\n", packages, sha256);
    (void)put(state, "share/data/SOURCES.tsv", line);
}

static const char prepared_text[] = "7\t\ttest\tone two\n8\tz\ttrain\tthree\n";
static const char write_it[] =
    "printf '7\\t\\ttest\\tone two\\n8\\tz\\ttrain\\tthree\\n' > \"$1\"; echo pkg=1.0\n";
static const char no_sha[] = "0000000000000000000000000000000000000000000000000000000000000000";

TEST_HERE(preparation_is_checked)
{
    char sha256[65], *note = NULL;
    cs_sha256(prepared_text, strlen(prepared_text), sha256);
    share(state, write_it, "pkg=1.0", sha256);
    OK(cs_corpus_prepare("gcide", false, &note));
    assert_non_null(strstr(note, "cache/gcide.tsv: prepared from pkg=1.0, SHA-256 as recorded"));
    cs_free(note);
    assert_content(in_dir(state, "cache/gcide.tsv"), prepared_text);
    OK(cs_corpus_prepare("gcide", false, &note));
    assert_non_null(strstr(note, "prepared already, SHA-256 as recorded"));
    cs_free(note);

    /* The stored split stays whatever share is given. */
    cs_corpus_options o = {.test_share = 0.999};
    CS_AUTO(cs_corpus) c = loaded("gcide", &o);
    assert_string_equal(c.name, "gcide");
    assert_string_equal(c.sha256, sha256);
    assert_int_equal(c.held_out[0], 1);
    assert_int_equal(c.held_out[1], 0);
    assert_document(&c, 0, "-", "one two ");
    assert_document(&c, 1, "z", "three ");

    /* Another checksum: an error with the same versions, a note with others. */
    share(state, write_it, "pkg=1.0", no_sha);
    assert_fails(cs_corpus_prepare("gcide", true, NULL), CS_ERR_INPUT, sha256);
    OK(cs_corpus_prepare("gcide", false, &note));
    assert_non_null(strstr(note, "prepared already; SHA-256"));
    assert_non_null(strstr(note, sha256));
    cs_free(note);
    share(state, write_it, "pkg=0.9", no_sha);
    OK(cs_corpus_prepare("gcide", true, &note));
    assert_non_null(strstr(note, "differs from the one recorded for pkg=0.9"));
    cs_free(note);
}

TEST_HERE(failed_preparation_says_why)
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
    (void)put(state, "file", "");
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "file/below"), 1), 0);
    assert_fails(cs_corpus_prepare("gcide", false, NULL), CS_ERR_IO, "/file");
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    assert_fails(cs_corpus_prepare("tatler", false, NULL), CS_ERR_USAGE, "unknown corpus 'tatler'");
    assert_false(cs_path_exists(in_dir(state, "cache/gcide.tsv")));
    /* A prepared file with a split that is none. */
    (void)put(state, "cache/gcide.tsv", "7\tz\tdev\tone\n");
    assert_fails(cs_corpus_load("gcide", NULL, &out), CS_ERR_INPUT,
                 "gcide.tsv:1: split \"dev\" is not train, test or empty");
}

TEST_HERE(preparation_survives_failed_allocations)
{
    char sha256[65];
    cs_sha256(prepared_text, strlen(prepared_text), sha256);
    share(state, write_it, "pkg=1.0", sha256);
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO_FREE char *note = NULL;
        if (out_of_memory(cs_corpus_prepare("gcide", true, &note)))
            assert_null(note);
        else
            assert_true(n > 10);
    }
}

/* --- the real corpora, where their packages are ----------------------------------------------- */

TEST_HERE(wordnet_is_as_documented)
{
    if (!cs_path_exists("/usr/share/wordnet/data.noun")) {
        print_message("wordnet-base is not installed\n");
        skip();
    }
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    cs_corpus_options o = {.min_tokens = 3, .test_share = -1};
    CS_AUTO(cs_corpus) c = loaded("wordnet", &o);
    assert_int_equal(c.documents + c.dropped_documents, 28000);
    assert_int_equal(c.labels, 14);
    assert_int_equal(c.vocab, 8001);
    /* Another hash of the synsets moves the 27,541 glosses and 358,515 tokens slightly. */
    assert_true(llabs((long long)c.documents - 27541) < 100);
    assert_true(llabs((long long)c.tokens - 358515) < 5000);
    double held = 0;
    for (int64_t d = 0; d < c.documents; ++d) {
        held += c.held_out[d];
        assert_true(c.label[d] >= 0 && c.label[d] < 14);
    }
    assert_true(fabs(held / (double)c.documents - 0.2) < 0.01);
}

TEST_HERE(bible_has_its_verses)
{
    if (!cs_path_exists("/usr/bin/bible") || !cs_path_exists("/usr/lib/bible.data")) {
        print_message("bible-kjv is not installed\n");
        skip();
    }
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    CS_AUTO(cs_corpus) c = loaded("bible-kjv", NULL);
    assert_int_equal(c.documents, 31102);
    assert_int_equal(c.labels, 66);
    assert_document(&c, 0, "Ge", "in the beginning god created the heaven and the earth ");
}

/* The real script stops with the package's name when its files are not there. */
TEST_HERE(missing_package_is_named)
{
    static const struct {
        const char *name, *variable, *package;
    } cases[] = {{"wordnet", "WORDNET_DIR", "install wordnet-base"},
                 {"gcide", "DICTD_DIR", "install dict-gcide"},
                 {"foldoc", "DICTD_DIR", "install dict-foldoc"}};
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, "cache"), 1), 0);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(setenv(cases[i].variable, in_dir(state, "nothing"), 1), 0);
        assert_fails(cs_corpus_prepare(cases[i].name, true, NULL), CS_ERR_INPUT, cases[i].package);
        assert_int_equal(unsetenv(cases[i].variable), 0);
    }
    assert_int_equal(entries(state), 1); /* cache/ alone */
}
