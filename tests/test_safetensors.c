/* io: safetensors files and directories of shards. */
#include <sys/stat.h>

#include <jansson.h>

#include "base/hash.h"
#include "io/file.h"
#include "io/float16_private.h"
#include "io/safetensors_private.h"
#include "io_support.h"

static const char *metadata(const cs_safetensors *s, const char *key)
{
    return json_string_value(json_object_get(s->file[0].metadata, key));
}

/* Written by safetensors 0.8.0 (Python, torch): safetensors.torch.save of these tensors with
 * metadata={"format": "pt"}. */
static const char GOLDEN_HEADER[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"id\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
    "\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[16,16]},"
    "\"x\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[16,20]},"
    "\"w\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[20,28]},"
    "\"h\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[28,34]},"
    "\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[34,36]}}      ";
static const unsigned char GOLDEN_DATA[36] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
                                              0,    0,    0,    0,    1,    0,    0,    0,    0,
                                              0x80, 0x3e, 0xc0, 0x3f, 0x00, 0xc0, 0x49, 0x40, 0x80,
                                              0x7f, 0x66, 0x2e, 0xff, 0xfb, 0x01, 0,    1,    0};

/* A file of any header and data; `length` is what its first 8 bytes say. */
static void put_file(const char *path, uint64_t length, const char *header, const void *data,
                     size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(&length, 1, 8, f), 8);
    assert_int_equal(fwrite(header, 1, strlen(header), f), strlen(header));
    assert_true(size == 0 || fwrite(data, 1, size, f) == size);
    assert_int_equal(fclose(f), 0);
}

static void put_golden(const char *path)
{
    put_file(path, strlen(GOLDEN_HEADER), GOLDEN_HEADER, GOLDEN_DATA, sizeof GOLDEN_DATA);
}

static const cs_safetensors_entry *named(const cs_safetensors *s, const char *name)
{
    const cs_safetensors_entry *e = cs_safetensors_find(s, name);
    assert_non_null(e);
    assert_string_equal(e->name, name);
    return e;
}

TEST_IN_DIR(files_of_the_python_package_are_read)
{
    const char *path = in_dir(state, "golden.safetensors");
    cs_safetensors *s = NULL;
    put_golden(path);
    OK(cs_safetensors_open(path, &s));
    assert_int_equal(cs_safetensors_count(s), 6);
    static const char *const names[] = {"b", "h", "id", "none", "w", "x"};
    assert_each(i, 0, 6, strcmp(cs_safetensors_at(s, i)->name, names[i]) == 0);
    assert_null(cs_safetensors_find(s, "y"));
    assert_string_equal(metadata(s, "format"), "pt");
    assert_null(metadata(s, "xxh3"));
    const cs_safetensors_entry *w = named(s, "w"), *none = named(s, "none");
    assert_int_equal(w->dtype, CS_BF16);
    assert_true(w->ndim == 2 && w->shape[0] == 2 && w->shape[1] == 2 && w->items == 4);
    assert_int_equal(w->bytes, 8);
    assert_true(none->items == 0 && none->bytes == 0 && none->ndim == 2);
    float x[4];
    OK(cs_safetensors_read_f32(s, w, 0, 4, x));
    assert_true(x[0] == 1.5F && x[1] == -2.0F && x[2] == 3.140625F && x[3] == INFINITY);
    OK(cs_safetensors_read_f32(s, named(s, "h"), 0, 3, x));
    assert_true(x[0] == 0.0999755859375F && x[1] == -65504 && x[2] == 0x1p-24F);
    OK(cs_safetensors_read_f32(s, named(s, "x"), 0, 1, x));
    assert_true(x[0] == 0.25F && named(s, "x")->ndim == 0);
    OK(cs_safetensors_read_f32(s, none, 0, 0, x));
    int64_t id[2];
    OK(cs_safetensors_read(s, named(s, "id"), 0, 2, id));
    assert_true(id[0] == -1 && id[1] == (int64_t)1 << 40);
    unsigned char b[2] = {7, 7};
    OK(cs_safetensors_read(s, named(s, "b"), 1, 1, b));
    assert_true(b[0] == 0 && b[1] == 7);
    OK(cs_safetensors_verify(s)); /* no hash, nothing to hold against it */
    assert_fails(cs_safetensors_read_f32(s, named(s, "id"), 0, 2, x), CS_ERR_INPUT,
                 "tensor \"id\" is I64, not a float");
    assert_fails(cs_safetensors_read_f32(s, w, 3, 2, x), CS_ERR_USAGE,
                 "tensor \"w\": 2 items from index 3 requested, but it has only 4");
    assert_fails(cs_safetensors_read(s, w, -1, 2, x), CS_ERR_USAGE,
                 "2 items from index -1 requested, but it has only 4");
    assert_fails(cs_safetensors_read(s, w, 0, -1, x), CS_ERR_USAGE,
                 "-1 items from index 0 requested");
    cs_safetensors_free(s);
}

#define ONE(text) "{\"a\":{" text "}}"
#define FLOATS(shape, offsets) "\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets

/* Every header has 8 bytes of data behind it. */
static const test_refusal malformed[] = {
    {"", "does not begin with '{'"},
    {" {}", "does not begin with '{'"},
    {"[]", "does not begin with '{'"},
    {"{", "m:1:1: "},
    {"{} x", "m:1:"},
    {"{\"\xff\":1}", "m:1:"},
    {"{\"a\":1}", "m: tensor \"a\": is not an object"},
    {ONE("\"shape\":[2],\"data_offsets\":[0,8]"), "tensor \"a\": \"dtype\" is absent"},
    {ONE("\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]"), "\"dtype\" is absent or not"},
    {ONE("\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]"),
     "unknown dtype 'F8_E4M3' (BOOL, U8,"},
    {ONE("\"dtype\":\"F32\",\"data_offsets\":[0,8]"), "\"shape\" is absent"},
    {ONE(FLOATS("2", "[0,8]")), "\"shape\" is absent or not an array"},
    {ONE(FLOATS("[2.0]", "[0,8]")), "shape[0] is not an integer"},
    {ONE(FLOATS("[2,-1]", "[0,8]")), "shape[1] is negative: -1"},
    {ONE(FLOATS("[1,1,1,1,1,1,1,1,2]", "[0,8]")), "9 dimensions, more than 8"},
    {ONE(FLOATS("[4294967296,4294967296]", "[0,8]")), "exceeds 63 bits"},
    {ONE(FLOATS("[4294967296,1073741824]", "[0,8]")), "exceeds 63 bits"},
    {ONE(FLOATS("[99999999999999999999]", "[0,8]")), "m:1:"},
    {ONE("\"dtype\":\"F32\",\"shape\":[2]"), "\"data_offsets\" is not an array of two"},
    {ONE(FLOATS("[2]", "[0]")), "\"data_offsets\" is not an array of two"},
    {ONE(FLOATS("[2]", "[0,8,9]")), "\"data_offsets\" is not an array of two"},
    {ONE(FLOATS("[2]", "[0,\"8\"]")), "\"data_offsets\" is not an array of two"},
    {ONE(FLOATS("[2]", "[8,0]")), "[8, 0] are not a range"},
    {ONE(FLOATS("[2]", "[-8,0]")), "[-8, 0] are not a range"},
    {ONE(FLOATS("[3]", "[0,12]")), "ends at byte 12 of the data, which have 8 bytes (truncated"},
    {ONE(FLOATS("[1]", "[0,8]")), "data_offsets span 8 bytes, but shape and dtype require 4"},
    {ONE(FLOATS("[2]", "[0,8]") ",\"scale\":2"), "unknown field \"scale\""},
    {ONE(FLOATS("[1]", "[0,4]")), "m: 4 bytes follow the last tensor"},
    {ONE(FLOATS("[1]", "[4,8]")),
     "\"a\" begins at byte 4 of the data, after a gap from byte 0, the end of the header"},
    {"{\"a\":{" FLOATS("[1]", "[0,4]") "},\"b\":{" FLOATS("[2]", "[0,8]") "}}",
     "\"b\" begins at byte 0 of the data, before byte 4, the end of \"a\""},
    {"{\"b\":{" FLOATS("[0]", "[8,8]") "},\"a\":{" FLOATS("[1]", "[0,4]") "}}",
     "\"b\" begins at byte 8 of the data, after a gap from byte 4, the end of \"a\""},
    {"{\"a\":{" FLOATS("[2]", "[0,8]") "},\"a\":{" FLOATS("[2]", "[0,8]") "}}",
     "duplicate object key near '\"a\"'"},
    {"{\"__metadata__\":[]}", "\"__metadata__\" is not an object"},
    {"{\"__metadata__\":{\"k\":1}}", "\"__metadata__\": the value of \"k\" is not a string"},
    {"{}", "m: 8 bytes follow the last tensor"},
};

TEST_IN_DIR(malformed_headers_are_named)
{
    cs_safetensors *s = NULL;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; ++i) {
        const char *path = in_dir(state, "m");
        put_file(path, strlen(malformed[i].text), malformed[i].text, "01234567", 8);
        assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT, malformed[i].reason);
        assert_null(s);
    }
}

TEST_IN_DIR(lengths_are_held_against_the_file)
{
    const char *path = in_dir(state, "m");
    cs_safetensors *s = NULL;
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_IO, "m: cannot read: No such file");
    assert_fails(cs_safetensors_open(in_dir(state, ""), &s), CS_ERR_IO, "not a regular file");
    OK(cs_file_write(path, "", 0));
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT,
                 "m: 0 bytes are too short for a safetensors");
    OK(cs_file_write(path, "\2\0\0\0\0\0\0", 7));
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT,
                 "m: 7 bytes are too short for a safetensors");
    put_file(path, 3, "{}", NULL, 0);
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT,
                 "m: a header of 3 bytes in a file of 10 (truncated");
    put_file(path, 100000000, "{}", NULL, 0);
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT, "100000000 bytes in a file of 10");
    put_file(path, 100000001, "{}", NULL, 0);
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT, "100000001 bytes, more than");
    put_file(path, UINT64_MAX, "{}", NULL, 0);
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT, "more than 100000000");
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    OK(cs_file_write(path, pointer, sizeof pointer - 1));
    assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT, "m: is a Git LFS pointer");
    put_file(path, 2, "{}", NULL, 0); /* no tensors are a file, too */
    OK(cs_safetensors_open(path, &s));
    assert_int_equal(cs_safetensors_count(s), 0);
    assert_null(cs_safetensors_find(s, "a"));
    cs_safetensors_free(s);
    cs_safetensors_free(NULL);
}

/* Any beginning of a file is refused, wherever it was cut. */
TEST_IN_DIR(truncated_files_are_refused)
{
    const char *path = in_dir(state, "m");
    cs_safetensors *s = NULL;
    put_golden(path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (off_t size = st.st_size - 1; size >= 0; --size) {
        assert_int_equal(truncate(path, size), 0);
        assert_fails(cs_safetensors_open(path, &s), CS_ERR_INPUT, "m: ");
    }
    cs_reason_clear();
    put_golden(path); /* cut while it is open */
    OK(cs_safetensors_open(path, &s));
    assert_int_equal(truncate(path, st.st_size - 6), 0);
    float x[3];
    assert_fails(cs_safetensors_read_f32(s, named(s, "h"), 0, 3, x), CS_ERR_IO, "truncated");
    cs_safetensors_free(s);
}

enum { LONG = 100003 }; /* floats of 8 bytes beyond several stages and one step of the hash */

static const cs_safetensors_entry written[] = {
    {.name = "wide", .dtype = CS_F64, .ndim = 1, .shape = {LONG}},
    {.name = "empty", .dtype = CS_I64, .ndim = 3, .shape = {2, 0, 5}},
    {.name = "narrow \"\xc3\xa9\"", .dtype = CS_BF16, .ndim = 2, .shape = {1, LONG}},
    {.name = "end", .dtype = CS_U8, .ndim = 0},
    {.name = "last", .dtype = CS_I8, .ndim = 1, .shape = {0}},
};
enum { WRITTEN = sizeof written / sizeof *written };

static cs_status write_long(const char *path)
{
    static const cs_safetensors_pair pairs[] = {{"format", "pt"}, {"note", "a \"b\"\n\xc3\xa9"}};
    static double wide[LONG];
    static uint16_t narrow[LONG];
    for (int i = 0; i < LONG; ++i) {
        wide[i] = i * 0.1 - 7;
        narrow[i] = bf16_of((float)wide[i]);
    }
    cs_safetensors_writer *w = NULL;
    cs_status status = cs_safetensors_writer_open(path, WRITTEN, written, 2, pairs, &w);
    if (status == CS_OK) status = cs_safetensors_writer_put(w, wide, 3);
    if (status == CS_OK)
        status = cs_safetensors_writer_put(w, (char *)wide + 3, (int64_t)sizeof wide - 3);
    if (status == CS_OK) status = cs_safetensors_writer_put(w, narrow, sizeof narrow);
    if (status == CS_OK) status = cs_safetensors_writer_put(w, "\x2a", 1);
    if (status == CS_OK) return cs_safetensors_writer_commit(&w);
    cs_safetensors_writer_abort(&w);
    return status;
}

TEST_IN_DIR(what_is_written_reads_back)
{
    const char *path = in_dir(state, "a.safetensors");
    cs_safetensors *s = NULL;
    OK(write_long(path));
    assert_int_equal(entries(state), 1);
    OK(cs_safetensors_open(path, &s));
    assert_int_equal(cs_safetensors_count(s), WRITTEN);
    assert_string_equal(metadata(s, "note"), "a \"b\"\n\xc3\xa9");
    for (int i = 0; i < WRITTEN; ++i) {
        const cs_safetensors_entry *e = named(s, written[i].name);
        assert_int_equal(e->dtype, written[i].dtype);
        assert_int_equal(e->ndim, written[i].ndim);
        assert_memory_equal(e->shape, written[i].shape, sizeof e->shape);
    }
    assert_int_equal(named(s, "wide")->offset % 8, 0);
    float *x = test_zeros(LONG, sizeof *x), *y = test_zeros(LONG, sizeof *y);
    OK(cs_safetensors_read_f32(s, named(s, "wide"), 1, LONG - 1, x));
    OK(cs_safetensors_read_f32(s, named(s, written[2].name), 1, LONG - 1, y));
    assert_each(i, 0, LONG - 1, x[i] == (float)((double)(i + 1) * 0.1 - 7));
    assert_each(i, 0, LONG - 1, y[i] == cs_bf16_decode(bf16_of(x[i])));
    unsigned char end = 0;
    OK(cs_safetensors_read(s, named(s, "end"), 0, 1, &end));
    assert_int_equal(end, 42);
    OK(cs_safetensors_verify(s));
    cs_safetensors_free(s);
}

/* The bytes of a small file, so that the format is seen. */
TEST_IN_DIR(the_bytes_are_those_of_the_format)
{
    const char *path = in_dir(state, "a.safetensors");
    const cs_safetensors_entry entry = {.name = "a", .dtype = CS_I16, .ndim = 2, .shape = {1, 2}};
    cs_safetensors_writer *w = NULL;
    OK(cs_safetensors_writer_open(path, 1, &entry, 0, NULL, &w));
    OK(cs_safetensors_writer_put(w, "\1\0\2\0", 4));
    OK(cs_safetensors_writer_commit(&w));
    assert_null(w);
    char hex[33], want[300], *found = NULL;
    int64_t size = 0;
    cs_hash_hex(cs_hash("\1\0\2\0", 4, 0), hex);
    (void)snprintf(want, sizeof want,
                   "{\"__metadata__\":{\"xxh3\":\"%s\"},"
                   "\"a\":{\"dtype\":\"I16\",\"shape\":[1,2],\"data_offsets\":[0,4]}}",
                   hex);
    size_t length = strlen(want), padded = (length + 7) / 8 * 8;
    assert_true(padded > length); /* there is a blank to see */
    memset(want + length, ' ', padded - length);
    OK(cs_file_read(path, 1000, &found, &size));
    assert_int_equal(size, 8 + padded + 4);
    assert_int_equal((unsigned char)found[0], padded);
    assert_memory_equal(found + 1, "\0\0\0\0\0\0\0", 7);
    assert_memory_equal(found + 8, want, padded);
    assert_memory_equal(found + 8 + padded, "\1\0\2\0", 4);
    cs_free(found);
}

TEST_IN_DIR(damaged_data_are_found)
{
    const char *path = in_dir(state, "a.safetensors");
    cs_safetensors *s = NULL;
    OK(write_long(path));
    OK(cs_safetensors_open(path, &s));
    char want[100];
    (void)snprintf(want, sizeof want, ", but the header says %s", metadata(s, "xxh3"));
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fputc('+', f), '+'); /* 43 for 42 */
    assert_int_equal(fclose(f), 0);
    assert_fails(cs_safetensors_verify(s), CS_ERR_INPUT, want);
    assert_fails(cs_safetensors_verify(s), CS_ERR_INPUT, "a.safetensors: the data have hash ");
    cs_safetensors_free(s);
}

TEST_IN_DIR(bad_descriptions_are_refused)
{
    const char *path = in_dir(state, "a");
    const struct {
        cs_safetensors_entry e[2];
        const char *part;
    } bad[] = {
        {{{.name = "a"}, {.name = "a"}}, "a: tensor \"a\": name is given twice"},
        {{{.name = "__metadata__"}, {.name = "b"}}, "\"__metadata__\": name is reserved"},
        {{{.name = "a"}, {.name = "\xff"}}, "the name is not valid UTF-8"},
        {{{.name = "a", .ndim = 9}, {.name = "b"}}, "tensor \"a\": 9 dimensions, not in 0..8"},
        {{{.name = "a", .ndim = 1, .shape = {-2}}, {.name = "b"}}, "shape[0] is negative: -2"},
        {{{.name = "a"}, {.name = "b", .dtype = CS_F32}},
         "tensor \"b\": would begin at byte 1 of the data, not at a multiple of 4"},
        {{{.name = "a", .ndim = 1, .shape = {INT64_MAX}}, {.name = "b"}}, "exceeds 63"},
    };
    cs_safetensors_writer *w = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_safetensors_writer_open(path, 2, bad[i].e, 0, NULL, &w), CS_ERR_USAGE,
                     bad[i].part);
    }
    static const cs_safetensors_pair twice[] = {{"k", "1"}, {"k", "2"}}, own = {"xxh3", "0"},
                                     bytes = {"k", "\xff"};
    assert_fails(cs_safetensors_writer_open(path, 0, NULL, 2, twice, &w), CS_ERR_USAGE,
                 "metadata key \"k\" is given twice");
    assert_fails(cs_safetensors_writer_open(path, 0, NULL, 1, &own, &w), CS_ERR_USAGE,
                 "metadata key \"xxh3\" is reserved for the writer");
    assert_fails(cs_safetensors_writer_open(path, 0, NULL, 1, &bytes, &w), CS_ERR_USAGE,
                 "not valid UTF-8");
    assert_fails(cs_safetensors_writer_open(in_dir(state, "no/a"), 0, NULL, 0, NULL, &w), CS_ERR_IO,
                 "no/a: cannot write");
    assert_null(w);
    assert_int_equal(entries(state), 0);
}

TEST_IN_DIR(tensors_are_filled_exactly)
{
    const char *path = in_dir(state, "a");
    const cs_safetensors_entry two[] = {{.name = "a", .dtype = CS_I32},
                                        {.name = "b", .dtype = CS_I32}};
    cs_safetensors_writer *w = NULL;
    OK(cs_safetensors_writer_open(path, 2, two, 0, NULL, &w));
    assert_fails(cs_safetensors_writer_put(w, "01234567", 8), CS_ERR_USAGE,
                 "a: 8 bytes for tensor \"a\", which has space for only 4 more");
    OK(cs_safetensors_writer_put(w, "0123", 4));
    OK(cs_safetensors_writer_put(w, "4", 1));
    assert_fails(cs_safetensors_writer_put(w, "4567", 4), CS_ERR_USAGE,
                 "which has space for only 3 more");
    assert_fails(cs_safetensors_writer_put(w, "4567", -1), CS_ERR_USAGE, "-1 bytes");
    assert_fails(cs_safetensors_writer_commit(&w), CS_ERR_USAGE,
                 "tensor \"b\" lacks its last 3 bytes");
    assert_null(w);
    assert_int_equal(entries(state), 0);
    OK(cs_safetensors_writer_open(path, 1, two, 0, NULL, &w));
    OK(cs_safetensors_writer_put(w, "0123", 4));
    OK(cs_safetensors_writer_put(w, NULL, 0));
    assert_fails(cs_safetensors_writer_put(w, "4", 1), CS_ERR_USAGE,
                 "which has space for only 0 more");
    cs_safetensors_writer_abort(&w);
    cs_safetensors_writer_abort(&w);
    assert_int_equal(entries(state), 0);
    OK(cs_safetensors_writer_open(path, 0, NULL, 0, NULL, &w));
    OK(cs_safetensors_writer_commit(&w));
    cs_safetensors *s = NULL;
    OK(cs_safetensors_open(path, &s));
    OK(cs_safetensors_verify(s)); /* the hash of no bytes */
    cs_safetensors_free(s);
}

/* 1000 bytes of data, which wait in the stream's buffer until commit. */
static cs_status write_short(const char *path)
{
    const cs_safetensors_entry one = {.name = "a", .dtype = CS_I32, .ndim = 1, .shape = {250}};
    static const int32_t zeros[250];
    cs_safetensors_writer *w = NULL;
    cs_status status = cs_safetensors_writer_open(path, 1, &one, 0, NULL, &w);
    if (status == CS_OK) status = cs_safetensors_writer_put(w, zeros, sizeof zeros);
    if (status == CS_OK) return cs_safetensors_writer_commit(&w);
    cs_safetensors_writer_abort(&w);
    return status;
}

TEST_IN_DIR(full_disks_leave_nothing)
{
    const char *path = in_dir(state, "a.safetensors");
    assert_int_equal(on_full_disk(write_long, path, "a.safetensors: cannot write: File too large"),
                     CS_ERR_IO);
    assert_int_equal(on_full_disk(write_short, path, "a.safetensors: cannot write: File too large"),
                     CS_ERR_IO);
    assert_int_equal(entries(state), 0);
}

static void put_shards(void **state)
{
    put_file(in_dir(state, "s1"), strlen(ONE(FLOATS("[2]", "[0,8]"))), ONE(FLOATS("[2]", "[0,8]")),
             "\0\0\x80\x3f\0\0\0\x40", 8);
    static const char second[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"b\":{" FLOATS("[1]", "[0,4]") "}}";
    put_file(in_dir(state, "s2"), sizeof second - 1, second, "\0\0\x40\x40", 4);
}

static cs_status open_model(const char *path)
{
    cs_safetensors *s = NULL;
    cs_status status = cs_safetensors_open_model(path, &s);
    if (status == CS_OK) status = cs_safetensors_verify(s);
    cs_safetensors_free(s);
    return status;
}

TEST_IN_DIR(shards_read_as_one)
{
    cs_safetensors *s = NULL;
    assert_fails(open_model(*state), CS_ERR_INPUT, "contains neither model.safetensors nor");
    OK(cs_file_write(in_dir(state, "pytorch_model.bin"), "x", 1));
    assert_fails(open_model(*state), CS_ERR_INPUT,
                 "pytorch_model.bin is not supported; convert it in its folder:");
    assert_int_equal(remove(in_dir(state, "pytorch_model.bin")), 0);
    put_shards(state);
    (void)put(state, "model.safetensors.index.json",
              "{\"metadata\":{\"total_size\":12},\"weight_map\":{\"b\":\"s2\",\"a\":\"s1\"}}");
    OK(cs_safetensors_open_model(*state, &s));
    assert_int_equal(cs_safetensors_count(s), 2);
    assert_string_equal(cs_safetensors_at(s, 0)->name, "a");
    assert_string_equal(metadata(s, "format"), "pt");
    float x[2];
    OK(cs_safetensors_read_f32(s, named(s, "a"), 0, 2, x));
    assert_true(x[0] == 1 && x[1] == 2);
    OK(cs_safetensors_read_f32(s, named(s, "b"), 0, 1, x));
    assert_true(x[0] == 3);
    cs_safetensors_free(s);
    fail_each_allocation(open_model, *state);
    put_golden(in_dir(state, "model.safetensors")); /* goes before the index */
    OK(cs_safetensors_open_model(*state, &s));
    assert_int_equal(cs_safetensors_count(s), 6);
    cs_safetensors_free(s);
}

TEST_IN_DIR(bad_indices_are_named)
{
    static const struct {
        const char *text, *part;
        cs_status status;
    } bad[] = {
        {"{", "index.json:1:1: ", CS_ERR_INPUT},
        {"[]", "index.json: \"weight_map\" is absent", CS_ERR_INPUT},
        {"{\"weight_map\":{}}", "weight_map names no tensor", CS_ERR_INPUT},
        {"{\"weight_map\":{\"a\":1}}", "\"a\" is not the name of a file", CS_ERR_INPUT},
        {"{\"weight_map\":{\"a\":\"../s1\"}}", "\"a\" is in \"../s1\"", CS_ERR_INPUT},
        {"{\"weight_map\":{\"a\":\"\"}}", "\"a\" is in \"\"", CS_ERR_INPUT},
        {"{\"weight_map\":{\"a\":\"s3\"}}", "s3: cannot read: No such file", CS_ERR_IO},
        {"{\"weight_map\":{\"a\":\"s1\",\"b\":\"s2\",\"c\":\"s2\"}}",
         "tensor \"c\" is not in s2, although weight_map says so", CS_ERR_INPUT},
        {"{\"weight_map\":{\"b\":\"s1\"}}", "s1, but weight_map says nothing", CS_ERR_INPUT},
        {"{\"weight_map\":{\"a\":\"s2\",\"b\":\"s1\"}}", "s1, but weight_map says s2",
         CS_ERR_INPUT},
        {"{\"weight_map\":{\"a\":\"s1\",\"b\":\"copy\"}}", "tensor \"a\" is in both", CS_ERR_INPUT},
    };
    put_shards(state);
    put_file(in_dir(state, "copy"), strlen(ONE(FLOATS("[2]", "[0,8]"))),
             ONE(FLOATS("[2]", "[0,8]")), "01234567", 8);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        (void)put(state, "model.safetensors.index.json", bad[i].text);
        assert_fails(open_model(*state), bad[i].status, bad[i].part);
    }
}

static cs_status open_and_verify(const char *path)
{
    cs_safetensors *s = NULL;
    cs_status status = cs_safetensors_open(path, &s);
    if (status == CS_OK) status = cs_safetensors_verify(s);
    cs_safetensors_free(s);
    return status;
}

static int64_t json_left; /* allocations of jansson before the one that fails */

static void *json_alloc(size_t size)
{
    return json_left-- == 0 ? NULL : malloc(size);
}

/* Names and metadata that are UTF-8 are never blamed for memory that ran out. */
TEST_IN_DIR(json_memory_may_run_out)
{
    static const cs_safetensors_entry one = {.name = "\xc3\xa9", .ndim = 1, .shape = {8}};
    static const cs_safetensors_pair pair = {"k\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    const char *path = in_dir(state, "a");
    cs_status status = CS_ERR_MEMORY;
    int64_t n = 0;
    for (; n < 1000 && status != CS_OK; ++n) {
        cs_safetensors_writer *w = NULL;
        json_left = n;
        json_set_alloc_funcs(json_alloc, free);
        status = cs_safetensors_writer_open(path, 1, &one, 1, &pair, &w);
        json_set_alloc_funcs(malloc, free);
        assert_true(status == CS_OK || status == CS_ERR_MEMORY);
        cs_safetensors_writer_abort(&w);
        cs_reason_clear();
    }
    OK(status);
    assert_true(n > 10);
}

TEST_IN_DIR(memory_may_run_out_anywhere)
{
    fail_each_allocation(write_short, in_dir(state, "a"));
    assert_int_equal(entries(state), 1);
    fail_each_allocation(open_and_verify, in_dir(state, "a"));
}
