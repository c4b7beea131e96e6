/* io: atomic files, whole-file reads, directories, numbers as text, JSON. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"
#include "io_support.h"

TEST_IN_DIR(whole_file_round_trip)
{
    const char *path = in_dir(state, "a.bin");
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    OK(cs_file_write(path, "ab\0cd", 5));
    OK(cs_file_read(path, 5, &text, &size));
    assert_int_equal(size, 5);
    assert_memory_equal(text, "ab\0cd", 6); /* with the NUL that is added */
    cs_free(text);
    OK(cs_file_write(path, NULL, 0));
    OK(cs_file_read(path, 0, &text, &size));
    assert_int_equal(size, 0);
    assert_int_equal(entries(state), 1);
}

TEST_IN_DIR(files_above_the_limit_are_refused)
{
    const char *path = in_dir(state, "a.bin");
    char *text = NULL;
    int64_t size = -7;
    OK(cs_file_write(path, "abcdef", 6));
    assert_fails(cs_file_read(path, 5, &text, &size), CS_ERR_INPUT,
                 "6 bytes, more than the limit of 5");
    assert_fails(cs_file_read("/dev/zero", 100000, &text, &size), CS_ERR_INPUT,
                 "/dev/zero: larger than the limit of 100000");
    assert_fails(cs_file_read(path, -1, &text, &size), CS_ERR_USAGE, "limit of -1");
    assert_null(text);
    assert_int_equal(size, -7);
}

/* A file without a size is read by growth: 200000 bytes through a pipe. */
TEST_IN_DIR(pipes_are_read_to_their_end)
{
    enum { SIZE = 200000 };
    int end[2];
    char path[32];
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    const char *named = in_dir(state, "fifo");
    assert_int_equal(mkfifo(named, 0600), 0);
    assert_fails(cs_file_read(named, SIZE, &text, &size), CS_ERR_IO, "fifo: is a pipe");
    assert_int_equal(symlink(named, in_dir(state, "link")), 0); /* without a writer it is empty */
    OK(cs_file_read(in_dir(state, "link"), SIZE, &text, &size));
    assert_int_equal(size, 0);
    cs_free(text);
    assert_int_equal(pipe(end), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", end[0]);
    pid_t child = test_fork();
    if (child == 0) {
        FILE *f = fdopen(end[1], "wb");
        for (int i = 0; f && i < SIZE; ++i) {
            (void)fputc(i % 251, f);
        }
        _exit(f && fclose(f) == 0 ? 0 : 1);
    }
    assert_int_equal(close(end[1]), 0);
    OK(cs_file_read(path, SIZE, &text, &size));
    assert_int_equal(close(end[0]), 0);
    assert_int_equal(size, SIZE);
    assert_each(i, 0, SIZE, (unsigned char)text[i] == (i % 251));
    assert_int_equal(exit_code(child), 0);
}

TEST_IN_DIR(unreadable_paths_are_named)
{
    char *text = NULL;
    int64_t size = 0;
    assert_fails(cs_file_read(in_dir(state, "absent"), 10, &text, &size), CS_ERR_IO,
                 "absent: cannot read: No such file");
    assert_fails(cs_file_read(in_dir(state, ""), 10, &text, &size), CS_ERR_IO, "is a directory");
}

/* A name without a folder is one of the working folder. */
TEST_IN_DIR(plain_names_are_written_here)
{
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(*state), 0);
    const cs_status status = cs_file_write("plain", "x", 1);
    assert_int_equal(chdir(here), 0);
    OK(status);
    assert_content(in_dir(state, "plain"), "x");
    assert_int_equal(entries(state), 1);
    OK(cs_dir_make_own(in_dir(state, "own/inner")));
    assert_int_equal(symlink("own", in_dir(state, "link")), 0);
    assert_fails(cs_dir_make_own(in_dir(state, "link")), CS_ERR_USAGE, "link is a symbolic link");
    assert_int_equal(symlink("nowhere", in_dir(state, "lost")), 0);
    assert_fails(cs_file_read(in_dir(state, "lost"), 9, &(char *){NULL}, &(int64_t){0}), CS_ERR_IO,
                 "the symbolic link is there");
}

TEST_IN_DIR(abort_leaves_the_destination)
{
    const char *path = in_dir(state, "kept");
    cs_outfile f = {0};
    OK(cs_file_write(path, "old", 3));
    OK(cs_outfile_open(path, &f));
    assert_true(fputs("new", f.stream) >= 0);
    assert_int_equal(entries(state), 2);
    cs_outfile_abort(&f);
    cs_outfile_abort(&f); /* zeroed by the first */
    assert_int_equal(entries(state), 1);
    assert_content(path, "old");
}

TEST_IN_DIR(two_writers_do_not_mix)
{
    const char *path = in_dir(state, "both");
    cs_outfile f = {0}, g = {0};
    OK(cs_outfile_open(path, &f));
    OK(cs_outfile_open(path, &g));
    assert_true(fputs("first", f.stream) >= 0 && fputs("second", g.stream) >= 0);
    OK(cs_outfile_commit(&f));
    assert_content(path, "first");
    OK(cs_outfile_commit(&g));
    assert_content(path, "second");
    assert_int_equal(entries(state), 1);
}

/* A child that has ended left a temporary file of "a": the next write of "a" removes it, not one of
 * a process that lives (this one), of another file or of another form. */
TEST_IN_DIR(a_dead_writers_file_is_swept)
{
    pid_t child = test_fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(exit_code(child), 0);
    const struct {
        const char *form;
        pid_t pid;
        bool stays;
    } file[] = {{"a.%ld-0.partial", child, false},    {"a.%ld-17.partial", child, false},
                {"a.%ld-7.partial", getpid(), true},  {"a.%ld-1.partial", getpid(), true},
                {"a.%ld-2.partial", getpid(), true},  {"a.%ld-3.partial", getpid(), true},
                {"b.%ld-0.partial", child, true},     {"a.%ld-.partial", child, true},
                {"a.%ld-0.partial.txt", child, true}, {"a.-%ld-0.partial", child, true},
                {"a.b.%ld-0.partial", child, true}};
    enum { FILES = sizeof file / sizeof *file };
    char *path[FILES];
    for (int i = 0; i < FILES; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, file[i].form, (long)file[i].pid);
        path[i] = cs_strdup(in_dir(state, name));
        FILE *f = fopen(path[i], "wb");
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
    }
    OK(cs_file_write(in_dir(state, "a"), "x", 1));
    for (int i = 0; i < FILES; ++i) {
        if (cs_path_exists(path[i]) != file[i].stays) {
            fail_msg("%s: stays %d", path[i], !file[i].stays);
        }
        cs_free(path[i]);
    }
}

TEST_IN_DIR(new_files_obey_the_mask)
{
    const char *path = in_dir(state, "mode");
    struct stat st;
    mode_t before = umask(027);
    cs_status status = cs_file_write(path, "x", 1);
    (void)umask(before);
    OK(status);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

TEST_IN_DIR(links_are_not_followed)
{
    CS_AUTO_FREE char *target = cs_strdup(in_dir(state, "target"));
    CS_AUTO_FREE char *link = cs_strdup(in_dir(state, "link"));
    CS_AUTO_FREE char *lost = cs_strdup(in_dir(state, "lost"));
    OK(cs_file_write(target, "old", 3));
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(symlink("nowhere", lost), 0);
    assert_fails(cs_file_write(link, "new", 3), CS_ERR_IO, "link: is a symbolic link");
    assert_content(target, "old");
    assert_fails(cs_file_write(lost, "x", 1), CS_ERR_IO, "lost: is a symbolic link");
}

TEST_IN_DIR(devices_are_not_replaced)
{
    struct stat st;
    (void)state;
    assert_fails(cs_file_write("/dev/null", "x", 1), CS_ERR_IO, "/dev/null: is a device");
    assert_fails(cs_file_write("/dev/full", "x", 1), CS_ERR_IO, "/dev/full: is a device");
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

TEST_IN_DIR(impossible_destinations_are_named)
{
    OK(cs_file_write(in_dir(state, "plain"), "x", 1));
    assert_fails(cs_file_write(in_dir(state, ""), "x", 1), CS_ERR_IO, "is a directory");
    assert_fails(cs_file_write(in_dir(state, "plain/below"), "x", 1), CS_ERR_IO,
                 "plain/below: cannot write: Not a directory");
    assert_fails(cs_file_write(in_dir(state, "no/such/dir"), "x", 1), CS_ERR_IO,
                 "no/such/dir: cannot write: No such file");
    assert_fails(cs_file_write("", "x", 1), CS_ERR_IO, "empty name");
    assert_fails(cs_file_write(in_dir(state, "b"), "x", -3), CS_ERR_USAGE, "-3 bytes");
    assert_int_equal(entries(state), 1);
}

/* A destination that turns into a directory while it is written is found by commit. */
TEST_IN_DIR(commit_looks_again)
{
    const char *path = in_dir(state, "late");
    cs_outfile f = {0};
    OK(cs_outfile_open(path, &f));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(cs_outfile_commit(&f), CS_ERR_IO, "late: is a directory");
    assert_int_equal(entries(state), 1);
}

static cs_status write_much(const char *path)
{
    static const char block[1 << 16];
    cs_outfile f = {0};
    cs_status status = cs_outfile_open(path, &f);
    for (int i = 0; i < 4 && status == CS_OK; ++i) {
        (void)fwrite(block, 1, sizeof block, f.stream); /* commit sees the error flag */
    }
    return status == CS_OK ? cs_outfile_commit(&f) : status;
}

static cs_status write_little(const char *path)
{
    cs_outfile f = {0};
    cs_status status = cs_outfile_open(path, &f);
    if (status == CS_OK) {
        (void)fprintf(f.stream, "%2000d", 1); /* stays in the buffer until commit */
        status = cs_outfile_commit(&f);
    }
    return status;
}

static cs_status write_whole(const char *path)
{
    static const char block[1 << 16];
    return cs_file_write(path, block, sizeof block);
}

TEST_IN_DIR(full_disk_is_an_error)
{
    const char *path = in_dir(state, "big");
    OK(cs_file_write(path, "old", 3));
    assert_int_equal(on_full_disk(write_much, path, "big"), CS_ERR_IO);
    assert_int_equal(on_full_disk(write_little, path, "File too large"), CS_ERR_IO);
    assert_int_equal(on_full_disk(write_whole, path, "big: cannot write: File too large"),
                     CS_ERR_IO);
    assert_content(path, "old");
    assert_int_equal(entries(state), 1);
}

TEST_IN_DIR(directories_are_made_with_their_parents)
{
    OK(cs_dir_make(in_dir(state, "a//b/c/")));
    OK(cs_dir_make(in_dir(state, "a/b/c")));
    assert_true(cs_path_is_dir(in_dir(state, "a/b/c")));
    OK(cs_file_write(in_dir(state, "f"), "x", 1));
    assert_false(cs_path_is_dir(in_dir(state, "f")));
    assert_true(cs_path_exists(in_dir(state, "f")));
    assert_false(cs_path_exists(in_dir(state, "g")));
    assert_fails(cs_dir_make(in_dir(state, "f")), CS_ERR_IO, "f: cannot make directory");
    assert_fails(cs_dir_make(in_dir(state, "f/g/h")), CS_ERR_IO, "f: cannot make directory");
    assert_fails(cs_dir_make(""), CS_ERR_IO, "cannot make directory");
}

TEST_IN_DIR(paths_are_joined)
{
    const char *want[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < sizeof want / sizeof *want; ++i) {
        CS_AUTO_FREE char *joined = cs_path_join(want[i][0], want[i][1]);
        assert_string_equal(joined, want[i][2]);
    }
    assert_true(cs_has_suffix("x.npz", ".npz"));
    assert_false(cs_has_suffix("npz", ".npz"));
    assert_true(cs_has_suffix("x", ""));
}

TEST_IN_DIR(numbers_are_text_both_ways)
{
    const double x[] = {0.1, -1e-300, 1.7976931348623157e308, 4.9e-324, INFINITY, -INFINITY, -0.0};
    char text[CS_REAL_TEXT];
    double y = 0;
    for (size_t i = 0; i < sizeof x / sizeof *x; ++i) {
        cs_real_format(x[i], 17, text);
        OK(cs_real_parse(text, &y));
        assert_memory_equal(&x[i], &y, sizeof y);
        cs_real_shortest(x[i], text);
        OK(cs_real_parse(text, &y));
        assert_memory_equal(&x[i], &y, sizeof y);
    }
    const struct {
        double x;
        const char *text;
    } shortest[] = {{0.15, "0.15"},
                    {1.0 / 3, "0.3333333333333333"},
                    {0.1 + 0.2, "0.30000000000000004"},
                    {1e22, "1e+22"},
                    {NAN, "nan"},
                    {-INFINITY, "-inf"}};
    for (size_t i = 0; i < sizeof shortest / sizeof *shortest; ++i) {
        cs_real_shortest(shortest[i].x, text);
        assert_string_equal(text, shortest[i].text);
    }
    cs_real_format(-NAN, 17, text);
    assert_string_equal(text, "nan");
    assert_true(cs_real_scan("nan", &y) && isnan(y));
    const char *bad[] = {"", " 1", "1 ", "1,5", "0x10", "1e999", "e", "1.2.3", "infinite", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_real_parse(bad[i], &y), CS_ERR_INPUT, bad[i]);
    }
    int64_t k = 0;
    OK(cs_int_parse("-9223372036854775808", &k));
    assert_true(k == INT64_MIN);
    const char *no_int[] = {"", "-", "1.0", " 1", "1e3", "9223372036854775808", "1x"};
    for (size_t i = 0; i < sizeof no_int / sizeof *no_int; ++i) {
        assert_fails(cs_int_parse(no_int[i], &k), CS_ERR_INPUT, no_int[i]);
    }
}

/* With a comma for the decimal point. */
TEST_IN_DIR(numbers_ignore_the_locale)
{
    if (!comma_locale(state)) {
        skip();
    }
    char text[CS_REAL_TEXT];
    double y = 0;
    const char *path = in_dir(state, "x.json");
    json_auto_t *json = json_pack("[f]", 0.5), *back = NULL;
    cs_real_format(0.5, 17, text);
    cs_status parsed = cs_real_parse("0.25", &y);
    cs_status written = cs_json_write(path, json);
    cs_status read = cs_json_read(path, &back);
    double z = json_real_value(json_array_get(back, 0));
    char after[8];
    (void)snprintf(after, sizeof after, "%.1f", 0.5);
    (void)setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "0.5");
    assert_string_equal(after, "0,5"); /* and give it back */
    OK(parsed);
    assert_true(y == 0.25);
    OK(written);
    OK(read);
    assert_true(z == 0.5);
    assert_content(path, "[\n  0.5\n]\n");
}

/* Keys by their length: the text goes on, and other keys begin alike. */
TEST(json_member_of_length)
{
    json_auto_t *object = json_pack("{s:i, s:i, s:n}", "ab", 1, "abc", 2, "");
    assert_int_equal(json_integer_value(cs_json_member(object, "abcd", 2)), 1);
    assert_int_equal(json_integer_value(cs_json_member(object, "abcd", 3)), 2);
    assert_true(json_is_null(cs_json_member(object, "abcd", 0)));
    assert_null(cs_json_member(object, "abcd", 4));
    assert_null(cs_json_member(NULL, "abcd", 2));
}

TEST_IN_DIR(json_round_trip)
{
    const char *path = in_dir(state, "r.json");
    const double x[] = {0.1, NAN, 1e300, INFINITY, -0.0, 3};
    const int64_t k[] = {INT64_MIN, 0, INT64_MAX};
    json_auto_t *root = json_object();
    OK(cs_json_set(root, "z", cs_json_numbers(6, x)));
    OK(cs_json_set(root, "a", json_pack("[I, I, I]", k[0], k[1], k[2])));
    OK(cs_json_write(path, root));
    json_auto_t *back = NULL;
    OK(cs_json_read(path, &back));
    const json_t *z = json_object_get(back, "z"), *a = json_object_get(back, "a");
    for (size_t i = 0; i < 6; ++i) {
        const json_t *v = json_array_get(z, i);
        assert_true(isfinite(x[i]) ? json_real_value(v) == x[i] : json_is_null(v));
    }
    assert_each(i, 0, 3, json_integer_value(json_array_get(a, (size_t)i)) == k[i]);
    /* Keys keep the order in which they were set. */
    assert_string_equal(json_object_iter_key(json_object_iter(back)), "z");
}

/* JSON that is incomplete for want of memory is not written, even if an error was not checked. */
TEST_IN_DIR(json_without_memory)
{
    const char *path = in_dir(state, "short.json");
    EACH_ALLOCATION_FAILS(n) {
        json_auto_t *root = json_object();
        (void)json_object_set_new(root, "values", json_pack("[s, i]", "text", 3));
        const bool failed = out_of_memory(cs_json_write(path, root));
        assert_int_equal(cs_path_exists(path), !failed);
    }
}

TEST_IN_DIR(json_errors_name_their_place)
{
    const char *path = in_dir(state, "bad.json");
    static const test_refusal bad[] = {
        {"{\n  \"a\": 1,\n  \"b\": tru\n}\n", "bad.json:3:10: "},
        {"{\"a\": 1, \"a\": 2}", "bad.json:1:"},
        {"", "bad.json:1:0: "},
        {"[1, 2", "bad.json:1:5: "},
        {"[1] x", "bad.json:1:"},
        {"[99999999999999999999]", "too big integer"},
        {"{\n\"a\\u0000\": 1}", "bad.json:2: \\u0000, a NUL byte"},
        {"\"\xff\"", "bad.json:1:"},
        {"version https://git-lfs.github.com/spec/v1\n", "bad.json: is a Git LFS pointer"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        json_t *value = NULL;
        OK(cs_file_write(path, bad[i].text, (int64_t)strlen(bad[i].text)));
        assert_fails(cs_json_read(path, &value), CS_ERR_INPUT, bad[i].reason);
        assert_null(value);
    }
    json_t *value = NULL;
    assert_fails(cs_json_parse("x.json", "[1,\n2]\n\0\n", 9, &value), CS_ERR_INPUT,
                 "x.json:3: a NUL byte");
    assert_fails(cs_json_read(in_dir(state, "none.json"), &value), CS_ERR_IO, "none.json");
}

TEST(json_members_have_their_kinds)
{
    static const test_refusal bad[] = {
        {"[]", "not an object"},
        {"{\"t\": \"x\", \"b\": true, \"l\": []}", "\"m\" is missing"},
        {"{\"t\": null, \"m\": {}}", "\"t\" is not a string"},
        {"{\"b\": 1, \"m\": {}}", "\"b\" is not true or false"},
        {"{\"l\": {}, \"m\": {}}", "\"l\" is not an array"},
        {"{\"m\": []}", "\"m\" is not an object"},
        {"{\"k\": 1}", "unknown key \"k\" (known: t, b, l, m, o)"},
    };
    json_t *json = NULL, *list = NULL, *map = NULL, *any = NULL;
    const char *word = NULL;
    int truth = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        OK(cs_json_parse("x", bad[i].text, (int64_t)strlen(bad[i].text), &json));
        assert_fails(cs_json_unpack(json, "s?b?l?mo?", "t", &word, "b", &truth, "l", &list, "m",
                                    &map, "o", &any),
                     CS_ERR_INPUT, bad[i].reason);
        cs_reason_clear();
        json_decref(json);
    }
    OK(cs_json_parse("x", "{\"b\": true, \"m\": {}, \"o\": 3}", 28, &json));
    word = "as it was";
    truth = 0;
    OK(cs_json_unpack(json, "s?b?mo?", "t", &word, "b", &truth, "m", &map, "o", &any));
    assert_true(strcmp(word, "as it was") == 0 && truth == 1 && json_is_object(map));
    assert_true(json_integer_value(any) == 3);
    json_decref(json);
}

/* A reader of fields keeps the first failure, and gives values that can be used after it. */
TEST(json_fields_have_their_kinds)
{
    static const char *const names[] = {"one", "two", NULL};
    json_auto_t *json = NULL;
    const char text[] =
        "{\"i\": 3, \"r\": 0.5, \"n\": null, \"f\": true, \"w\": \"two\", \"o\": {}}";
    OK(cs_json_parse("x", text, sizeof text - 1, &json));
    cs_json_reader r = {json, "at.", CS_OK};
    assert_int_equal(cs_json_int(&r, "i", 3), 3);
    assert_true(cs_json_real(&r, "r", false) == 0.5 && cs_json_real(&r, "i", false) == 3);
    assert_true(isnan(cs_json_real(&r, "n", true)) && cs_json_flag(&r, "f"));
    assert_string_equal(cs_json_word(&r, "w"), "two");
    assert_int_equal(cs_json_name(&r, "w", names), 1);
    assert_int_equal(cs_json_inner(&r, "o", "at.o.").status, CS_OK);
    assert_int_equal(r.status, CS_OK);
    const struct {
        const char *key, *kind, *reason;
    } bad[] = {{"i", "int", "field 'at.i' is missing or not an integer in range"},
               {"r", "int", "'at.r' is missing or not an integer in range"},
               {"x", "int", "'at.x' is missing"},
               {"n", "real", "'at.n' is missing or not a number"},
               {"w", "real", "'at.w' is missing or not a number"},
               {"x", "null", "'at.x' is missing or not a number"},
               {"i", "flag", "'at.i' is missing or not true or false"},
               {"i", "word", "'at.i' is missing or not a string"},
               {"i", "inner", "'at.i' is missing or not an object"},
               {"w", "name", "field 'at.w': unknown value 'two'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const char *kind = bad[i].kind, *only[] = {"one", NULL};
        r.status = CS_OK;
        cs_reason_clear();
        for (int again = 0; again < 2; ++again) { /* the second time it has failed already */
            if (strcmp(kind, "int") == 0) assert_int_equal(cs_json_int(&r, bad[i].key, 4), 4);
            if (strcmp(kind, "real") == 0) assert_true(isnan(cs_json_real(&r, bad[i].key, false)));
            if (strcmp(kind, "null") == 0) assert_true(isnan(cs_json_real(&r, bad[i].key, true)));
            if (strcmp(kind, "flag") == 0) assert_false(cs_json_flag(&r, bad[i].key));
            if (strcmp(kind, "word") == 0) assert_string_equal(cs_json_word(&r, bad[i].key), "");
            if (strcmp(kind, "name") == 0) assert_int_equal(cs_json_name(&r, bad[i].key, only), 0);
            if (strcmp(kind, "inner") == 0) (void)cs_json_inner(&r, bad[i].key, "at.i.");
            assert_int_equal(r.status, CS_ERR_INPUT);
        }
        expect_reason(bad[i].reason);
    }
    r.status = CS_OK;
    (void)cs_json_int(&r, "w", -5);
    expect_reason("'at.w' is missing or not an integer");
}

static cs_status write_json(const char *path)
{
    double x[2000] = {0};
    json_auto_t *value = cs_json_numbers(2000, x);
    cs_status status = cs_json_write(path, value);
    return status;
}

TEST_IN_DIR(json_that_cannot_be_written)
{
    const char *path = in_dir(state, "w.json");
    json_auto_t *loop = json_array(), *object = json_object();
    assert_int_equal(on_full_disk(write_json, path, "w.json"), CS_ERR_IO);
    assert_int_equal(json_array_append(loop, object), 0);
    assert_int_equal(json_object_set(object, "self", loop), 0);
    assert_fails(cs_json_write(path, loop), CS_ERR_MEMORY, "w.json: cannot write JSON");
    assert_int_equal(entries(state), 0);
    assert_int_equal(json_array_clear(loop), 0);
    json_auto_t *holder = json_object();
    assert_fails(cs_json_set(holder, "key", NULL), CS_ERR_MEMORY, "JSON key 'key'");
}

static cs_status use_all(const char *path)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    json_auto_t *value = NULL;
    cs_status status = cs_file_write(path, "[1]", 3);
    if (status == CS_OK) status = cs_file_read(path, 100, &text, &size);
    if (status == CS_OK) status = cs_json_read(path, &value);
    if (status == CS_OK) status = cs_json_write(path, value);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    fail_each_allocation(use_all, in_dir(state, "m.json"));
    assert_true(entries(state) <= 1); /* no partial file stays */
}
