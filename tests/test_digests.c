/* io/digests: what a manifest says of a result's files, and what is made of a file that differs. */
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/threads.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"

/* sha256sum of "abc". */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static const char *folder(void **state)
{
    const char *dir = in_dir(state, "r");
    OK(cs_dir_make(dir));
    return dir;
}

static void write_manifest(void **state, json_t *outputs)
{
    json_auto_t *m = json_pack("{s:o}", "outputs", outputs);
    OK(cs_json_write(in_dir(state, "r/manifest.json"), m));
}

/* A folder r with a.csv ("abc") and sub/b.csv, both recorded. */
static void make_result(void **state)
{
    const char *dir = folder(state);
    json_t *outputs = json_array();
    OK(cs_dir_make(in_dir(state, "r/sub")));
    OK(cs_file_write(in_dir(state, "r/a.csv"), "abc", 3));
    OK(cs_file_write(in_dir(state, "r/sub/b.csv"), "x", 1));
    OK(cs_digest_put(outputs, dir, "a.csv"));
    OK(cs_digest_put(outputs, dir, "sub"));
    OK(cs_digest_put(outputs, dir, "sub/b.csv")); /* recorded already */
    OK(cs_digest_put(outputs, dir, "gone.csv"));
    assert_int_equal(json_array_size(outputs), 2);
    write_manifest(state, outputs);
}

static cs_status hash(const char *path)
{
    char hex[65];
    int64_t bytes = 0;
    return cs_path_sha256(path, NULL, hex, &bytes);
}

TEST_IN_DIR(digests_are_of_the_bytes)
{
    make_result(state);
    json_auto_t *outputs = NULL;
    OK(cs_digest_record(in_dir(state, "r"), &outputs));
    const json_t *first = json_array_get(outputs, 0);
    assert_string_equal(json_string_value(json_object_get(first, "path")), "a.csv");
    assert_string_equal(json_string_value(json_object_get(first, "sha256")), ABC);
    assert_int_equal(json_integer_value(json_object_get(first, "bytes")), 3);
}

/* The digest of a file that was hashed while it was written is known without a second reading,
 * until the file is replaced or changed in place. */
TEST_IN_DIR(a_synced_file_is_known)
{
    char known[33], now[33], expected[33];
    CS_AUTO_FREE char *text = cs_calloc(100000, 1);
    const char *path = in_dir(state, "settled");
    const struct timespec later[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    cs_outfile f = {0};
    OK(cs_outfile_open(path, &f));
    OK(cs_outfile_put(&f, text, 100000));
    OK(cs_outfile_sync(&f, cs_interrupt_check));
    OK(cs_outfile_commit(&f));
    OK(cs_xxh3_file(path, known));
    cs_hash_hex(cs_hash(text, 100000, 0), expected);
    assert_string_equal(known, expected);
    text[99999] = 1;
    FILE *in_place = fopen(path, "r+b");
    assert_non_null(in_place);
    assert_int_equal(fwrite(text, 1, 100000, in_place), 100000);
    assert_int_equal(fclose(in_place), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0); /* clocks of files are coarse */
    OK(cs_xxh3_file(path, now));
    cs_hash_hex(cs_hash(text, 100000, 0), expected);
    assert_string_equal(now, expected);
    assert_string_not_equal(now, known);
    text[0] = 1;
    OK(cs_file_write(path, text, 100000));
    OK(cs_xxh3_file(path, now));
    cs_hash_hex(cs_hash(text, 100000, 0), expected);
    assert_string_equal(now, expected);
}

/* 64 folders, the first among them, are read; one more is not. */
TEST_IN_DIR(folders_too_deep_are_named)
{
    char path[160] = "r";
    OK(cs_dir_make(in_dir(state, path)));
    for (int depth = 1; depth <= 64; ++depth) {
        if (depth == 64) {
            OK(hash(in_dir(state, "r")));
        }
        strcat(path, "/d");
        OK(cs_dir_make(in_dir(state, path)));
    }
    assert_fails(hash(in_dir(state, "r")), CS_ERR_INPUT, "/d: nested more than 64 folders deep");
    for (size_t end = strlen(path); end > 1; end -= 2) {
        path[end] = '\0';
        assert_int_equal(rmdir(in_dir(state, path)), 0);
    }
}

TEST_IN_DIR(a_changed_file_is_refused)
{
    make_result(state);
    OK(hash(in_dir(state, "r/a.csv")));
    OK(hash(in_dir(state, "r/sub/b.csv")));
    OK(hash(in_dir(state, "r")));
    OK(cs_digest_check_all(in_dir(state, "r")));
    OK(cs_file_write(in_dir(state, "r/sub/b.csv"), "y", 1));
    assert_fails(hash(in_dir(state, "r/sub/b.csv")), CS_ERR_INPUT, "it was changed or damaged");
    assert_fails(hash(in_dir(state, "r")), CS_ERR_INPUT, "b.csv: its SHA-256 is ");
    assert_fails(cs_digest_check_all(in_dir(state, "r")), CS_ERR_INPUT, "sub/b.csv: its SHA-256");
    OK(hash(in_dir(state, "r/a.csv")));
    OK(cs_file_write(in_dir(state, "r/a.csv"), "abd", 3));
    assert_fails(hash(in_dir(state, "r/a.csv")), CS_ERR_INPUT, "manifest.json says " ABC);
    /* In the working directory, and without a folder in the path. */
    CS_AUTO_FREE char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(in_dir(state, "r")), 0);
    cs_status bare = hash("a.csv"), below = hash("sub/b.csv");
    assert_int_equal(chdir(before), 0);
    assert_int_equal(bare, CS_ERR_INPUT);
    assert_int_equal(below, CS_ERR_INPUT);
    cs_reason_clear();
    /* Elsewhere it is anyone's file. */
    OK(cs_file_write(in_dir(state, "a.csv"), "abd", 3));
    OK(hash(in_dir(state, "a.csv")));
}

TEST_IN_DIR(a_missing_file_is_missed)
{
    make_result(state);
    assert_int_equal(unlink(in_dir(state, "r/a.csv")), 0);
    assert_fails(cs_digest_check_all(in_dir(state, "r")), CS_ERR_INPUT, "a.csv: is missing");
    assert_fails(cs_digest_check_file(in_dir(state, "r/a.csv")), CS_ERR_INPUT, "a.csv: is missing");
    assert_int_equal(unlink(in_dir(state, "r/sub/b.csv")), 0);
    assert_fails(cs_digest_check_file(in_dir(state, "r/sub/b.csv")), CS_ERR_INPUT,
                 "b.csv: is missing");
    OK(cs_digest_check_file(in_dir(state, "r/sub/never.csv")));
}

/* A regular file whose first byte cannot be read (proc(5): nothing is mapped at 0). */
TEST_IN_DIR(an_unreadable_manifest_is_no_foreign_one)
{
    make_result(state);
    assert_int_equal(unlink(in_dir(state, "r/manifest.json")), 0);
    assert_int_equal(symlink("/proc/self/mem", in_dir(state, "r/manifest.json")), 0);
    assert_fails(hash(in_dir(state, "r/a.csv")), CS_ERR_IO, "manifest.json");
}

/* Above 64 MiB the fast hash, which streams to the value of the one-shot function. */
TEST_IN_DIR(large_files_have_the_fast_hash)
{
    const char *dir = folder(state), *path = in_dir(state, "r/large");
    const int64_t size = CS_DIGEST_LARGE + 1;
    char hex[33], *zeros = cs_calloc(size, 1);
    assert_non_null(zeros);
    cs_hash_hex(cs_hash(zeros, (size_t)size, 0), hex);
    cs_free(zeros);
    OK(cs_file_write(path, "", 0));
    assert_int_equal(truncate(path, size), 0);
    json_t *outputs = json_array();
    OK(cs_digest_put(outputs, dir, "large"));
    const json_t *entry = json_array_get(outputs, 0);
    assert_string_equal(json_string_value(json_object_get(entry, "xxh3")), hex);
    assert_null(json_object_get(entry, "sha256"));
    write_manifest(state, outputs);
    OK(cs_digest_check_file(path));
    OK(cs_digest_check_all(dir));
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_int_equal(fputc(1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_fails(cs_digest_check_file(path), CS_ERR_INPUT, "large: its XXH3 is ");
    assert_fails(cs_digest_check_all(dir), CS_ERR_INPUT, hex);
}

static void write_text(void **state, const char *text)
{
    OK(cs_file_write(in_dir(state, "r/manifest.json"), text, (int64_t)strlen(text)));
}

TEST_IN_DIR(other_manifests_are_no_record)
{
    (void)folder(state);
    OK(cs_file_write(in_dir(state, "r/a.csv"), "abc", 3));
    static const char *const other[] = {"{\"audio\": 1}\n{\"audio\": 2}\n",
                                        "/* an extension */ {}",
                                        "[]",
                                        "{\"outputs\": 3}",
                                        "{\"outputs\": [1, {}]}",
                                        "{\"outputs\": [{\"path\": \"a.csv\", \"sha256\": 4}]}"};
    for (size_t i = 0; i < sizeof other / sizeof *other; ++i) {
        write_text(state, other[i]);
        OK(hash(in_dir(state, "r/a.csv")));
        OK(hash(in_dir(state, "r")));
        OK(cs_digest_check_all(in_dir(state, "r")));
        assert_string_equal(cs_reason(), "");
    }
    assert_int_equal(unlink(in_dir(state, "r/manifest.json")), 0);
    OK(cs_dir_make(in_dir(state, "r/manifest.json")));
    OK(hash(in_dir(state, "r/a.csv")));
}

/* One of ours that is cut anywhere, or has another byte anywhere, is not taken for nobody's. */
TEST_IN_DIR(damaged_manifests_are_refused)
{
    make_result(state);
    const char *path = in_dir(state, "r/manifest.json");
    json_auto_t *m = NULL;
    char own[65], *text = NULL;
    int64_t size = 0;
    OK(cs_json_read(path, &m));
    OK(cs_json_set(m, "program_build_id", json_string(ABC)));
    OK(cs_digest_json(m, own));
    OK(cs_json_set(m, "sha256", json_string(own)));
    json_auto_t *whole = json_pack("{s:s}", "command", "rank");
    assert_int_equal(json_object_update(whole, m), 0);
    OK(cs_digest_json(whole, own));
    OK(cs_json_set(whole, "sha256", json_string(own)));
    OK(cs_json_write(path, whole));
    OK(hash(in_dir(state, "r/a.csv")));
    OK(hash(in_dir(state, "r/sub/b.csv")));
    OK(hash(in_dir(state, "r")));
    OK(cs_file_read(path, 1 << 20, &text, &size));
    for (int64_t n = 0; n < size - 2; ++n) { /* the last two: a brace and a line's end */
        OK(cs_file_write(path, text, n));
        assert_fails(hash(in_dir(state, "r/a.csv")), CS_ERR_INPUT,
                     "manifest.json: was changed or damaged");
    }
    int refused = 0;
    for (int64_t n = 0; n < size; ++n) {
        text[n] ^= 1;
        OK(cs_file_write(path, text, size));
        cs_status status = hash(in_dir(state, "r/sub/b.csv"));
        assert_true(status == CS_ERR_INPUT || status == CS_OK);
        refused += status == CS_ERR_INPUT;
        cs_reason_clear();
        text[n] ^= 1;
    }
    /* Passing: blanks that are others, and a byte of the two keys that say what it is. */
    assert_true(refused >= size - 2 * (int64_t)strlen("program_build_id") - 4);
    memset(text, 0, (size_t)size); /* as a file system leaves what it had no time to write */
    OK(cs_file_write(path, text, size));
    assert_fails(hash(in_dir(state, "r/a.csv")), CS_ERR_INPUT, "was changed or damaged");
    cs_free(text);
    json_auto_t *outputs = json_array();
    OK(cs_file_write(path, "", 0));
    OK(cs_digest_keep(outputs, in_dir(state, "r")));
    assert_int_equal(json_array_size(outputs), 0);
}

TEST_IN_DIR(a_link_is_what_it_leads_to)
{
    make_result(state);
    OK(cs_dir_make(in_dir(state, "far")));
    assert_int_equal(symlink("../r/a.csv", in_dir(state, "far/link.csv")), 0);
    OK(hash(in_dir(state, "far/link.csv")));
    OK(hash(in_dir(state, "far")));
    OK(cs_file_write(in_dir(state, "r/a.csv"), "abd", 3));
    assert_fails(hash(in_dir(state, "far/link.csv")), CS_ERR_INPUT, "r/a.csv: its SHA-256");
    assert_fails(hash(in_dir(state, "far")), CS_ERR_INPUT, "r/a.csv: its SHA-256");
}

TEST_IN_DIR(records_of_other_runs_stay)
{
    make_result(state);
    const char *dir = in_dir(state, "r");
    json_auto_t *outputs = json_array();
    OK(cs_file_write(in_dir(state, "r/new.csv"), "abc", 3));
    OK(cs_digest_put(outputs, dir, "new.csv"));
    assert_int_equal(unlink(in_dir(state, "r/sub/b.csv")), 0);
    OK(cs_digest_keep(outputs, dir));
    assert_int_equal(json_array_size(outputs), 2); /* new.csv and a.csv: sub/b.csv is gone */
    OK(cs_digest_keep(outputs, dir));
    assert_int_equal(json_array_size(outputs), 2);
}

/* The check of `rerun`: do the inputs of a run still have the bytes that it read? */
TEST_IN_DIR(changed_inputs_are_named)
{
    const char *path = in_dir(state, "in");
    char *change = NULL;
    OK(cs_file_write(path, "abc", 3));
    json_auto_t *manifest = json_pack("{s:[{s:s, s:s}]}", "inputs", "path", path, "sha256", ABC);
    OK(cs_digest_changed_input(manifest, &change));
    assert_null(change);
    OK(cs_file_write(path, "abd", 3));
    OK(cs_digest_changed_input(manifest, &change));
    assert_non_null(strstr(change, path));
    assert_non_null(strstr(change, "its SHA-256 was " ABC " and is "));
    cs_free(change);
    assert_int_equal(unlink(path), 0);
    assert_fails(cs_digest_changed_input(manifest, &change), CS_ERR_IO, path);
    assert_null(change);
    static const char *const half[] = {"path", "sha256"};
    for (int i = 0; i < 2; ++i) {
        json_auto_t *other = json_pack("{s:[{s:s}]}", "inputs", half[i], "x");
        assert_fails(cs_digest_changed_input(other, &change), CS_ERR_INPUT,
                     "input 0 has no path or hash");
    }
}

/* sha256sum of {"a":1,"b":0.5}. The order of keys and the digest itself make no difference. */
TEST_IN_DIR(a_digest_is_of_the_object_without_it)
{
    char hex[65], again[65];
    (void)state;
    json_auto_t *o = json_pack("{s:f, s:i}", "b", 0.5, "a", 1);
    OK(cs_digest_json(o, hex));
    assert_string_equal(hex, "2e76599baa1e42fd9bf6253fdc2bf4ea1317abe64622c63aeb6c862f4b705306");
    OK(cs_json_set(o, "sha256", json_string(hex)));
    OK(cs_digest_json(o, again));
    assert_string_equal(hex, again);
    assert_string_equal(json_string_value(json_object_get(o, "sha256")), hex);
    OK(cs_json_set(o, "a", json_integer(2)));
    OK(cs_digest_json(o, again));
    assert_string_not_equal(hex, again);
}

/* Records all of a folder, and keeps what its manifest says. */
static cs_status record_all(const char *dir)
{
    json_auto_t *outputs = json_array();
    cs_status status = cs_digest_put(outputs, dir, "sub");
    if (status == CS_OK) status = cs_digest_keep(outputs, dir);
    if (status == CS_OK) assert_int_equal(json_array_size(outputs), 2);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    make_result(state);
    fail_each_allocation(record_all, in_dir(state, "r"));
    fail_each_allocation(hash, in_dir(state, "r/a.csv"));
    fail_each_allocation(hash, in_dir(state, "r"));
    fail_each_allocation(cs_digest_check_all, in_dir(state, "r"));
}
