/* io: NPZ archives: round trips, foreign and hostile archives, failing writes. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <zip.h>

#include "base/threads.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/prepared.h"
#include "io/rows.h"
#include "io/safetensors.h"
#include "io_support.h"

/* A sparse matrix as scipy stores it, with an empty and a scalar member besides. */
static cs_status write_sample(const char *path, bool compress)
{
    static const int64_t indptr[] = {0, 1, 2}, shape[] = {2, 3};
    static const int32_t indices[] = {0, 2};
    static const double data[] = {0.5, -1};
    static const uint8_t seven = 7;
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, &w);
    if (status == CS_OK &&
        (status = cs_npz_add(w, "indptr", CS_I64, 1, (int64_t[]){3}, indptr)) == CS_OK &&
        (status = cs_npz_add(w, "indices", CS_I32, 1, (int64_t[]){2}, indices)) == CS_OK &&
        (status = cs_npz_add(w, "data", CS_F64, 1, (int64_t[]){2}, data)) == CS_OK &&
        (status = cs_npz_add(w, "shape", CS_I64, 1, (int64_t[]){2}, shape)) == CS_OK &&
        (status = cs_npz_add_text(w, "format", "csr")) == CS_OK &&
        (status = cs_npz_add(w, "empty", CS_F32, 2, (int64_t[]){0, 5}, NULL)) == CS_OK &&
        (status = cs_npz_add(w, "scalar", CS_U8, 0, NULL, &seven)) == CS_OK) {
        status = cs_npz_commit(&w);
    }
    cs_npz_abort(&w);
    if (status == CS_OK && compress) deflate_archive(path);
    return status;
}

static const char *const sample_names[] = {"indptr", "indices", "data",  "shape",
                                           "format", "empty",   "scalar"};
enum { SAMPLE = sizeof sample_names / sizeof *sample_names };

/* Reads one member of an archive under a limit. */
static cs_status read_one(const char *path, int64_t limit, const char *name, cs_array *out)
{
    cs_npz *npz = NULL;
    cs_status status = cs_npz_open(path, limit, &npz);
    if (status == CS_OK) status = cs_npz_read(npz, name, out);
    cs_npz_close(npz);
    return status;
}

TEST_IN_DIR(archives_round_trip)
{
    const char *path = in_dir(state, "a.npz");
    for (int compress = 0; compress < 2; ++compress) {
        cs_npz *npz = NULL;
        cs_array a = {0};
        CS_AUTO_FREE char *text = NULL;
        OK(write_sample(path, compress));
        OK(cs_npz_open(path, 0, &npz));
        assert_true(cs_npz_has(npz, "shape"));
        assert_false(cs_npz_has(npz, "shap"));
        assert_false(cs_npz_has(npz, "Shape"));
        OK(cs_npz_read(npz, "data", &a));
        assert_int_equal(a.dtype, CS_F64);
        assert_int_equal(a.shape[0], 2);
        assert_true(cs_array_f64(&a, 0) == 0.5 && cs_array_f64(&a, 1) == -1);
        cs_array_free(&a);
        OK(cs_npz_read(npz, "format", &a));
        OK(cs_array_text(&a, 0, &text));
        assert_string_equal(text, "csr");
        cs_array_free(&a);
        OK(cs_npz_read(npz, "empty", &a));
        assert_int_equal(a.size, 0);
        assert_int_equal(a.shape[1], 5);
        cs_array_free(&a);
        OK(cs_npz_read(npz, "scalar", &a));
        assert_int_equal(a.ndim, 0);
        assert_true(cs_array_f64(&a, 0) == 7);
        cs_array_free(&a);
        assert_fails(cs_npz_read(npz, "absent", &a), CS_ERR_INPUT,
                     "a.npz: has no member 'absent.npy'");
        cs_npz_close(npz);
    }
    cs_npz_close(NULL);
    assert_int_equal(entries(state), 1);
}

/* No time of day and no name of a file gets into an archive. */
TEST_IN_DIR(equal_content_gives_equal_bytes)
{
    const char *one = in_dir(state, "1.npz"), *two = in_dir(state, "two.npz");
    CS_AUTO_FREE char *a = NULL, *b = NULL;
    int64_t n = 0, m = 0;
    OK(write_sample(one, false));
    OK(write_sample(two, false));
    OK(cs_file_read(one, 1 << 20, &a, &n));
    OK(cs_file_read(two, 1 << 20, &b, &m));
    assert_int_equal(n, m);
    assert_memory_equal(a, b, (size_t)n);
    /* Time and date of the first member: midnight, 1980-01-01. */
    assert_memory_equal(a + 10, "\0\0\x21\0", 4);
}

/* Of the same members libzip writes the same bytes. */
TEST_IN_DIR(archives_are_those_of_libzip)
{
    const char *ours = in_dir(state, "a.npz"), *theirs = in_dir(state, "b.npz");
    CS_AUTO_FREE char *a = NULL, *b = NULL;
    int64_t n = 0, m = 0;
    OK(write_sample(ours, false));
    zip_t *from = zip_open(ours, ZIP_CHECKCONS, NULL), *to = zip_open(theirs, ZIP_CREATE, NULL);
    assert_true(from && to);
    for (zip_uint64_t i = 0; i < SAMPLE; ++i) {
        zip_source_t *source = zip_source_zip(to, from, i, 0, 0, 0);
        assert_int_equal(zip_file_add(to, zip_get_name(from, i, 0), source, 0), i);
        assert_int_equal(zip_set_file_compression(to, i, ZIP_CM_STORE, 0), 0);
        assert_int_equal(zip_file_set_dostime(to, i, 0, 1 << 5 | 1, 0), 0);
    }
    assert_int_equal(zip_close(to), 0);
    zip_discard(from);
    OK(cs_file_read(ours, 1 << 20, &a, &n));
    OK(cs_file_read(theirs, 1 << 20, &b, &m));
    assert_int_equal(n, m);
    assert_memory_equal(a, b, (size_t)n);
}

/* --- data made in pieces ---------------------------------------------------------------------- */

typedef struct {
    int64_t add;
    char *written; /* of each item */
    atomic_bool wrong;
} made;

static void squares(const void *ctx, int64_t first, int64_t count, void *to)
{
    made *m = (made *)(uintptr_t)ctx;
    for (int64_t i = 0; i < count; ++i) {
        ((int64_t *)to)[i] = (first + i) * (first + i) + m->add;
        m->wrong = m->wrong || m->written[first + i];
    }
}

static void squares_written(const void *ctx, int64_t first, int64_t count)
{
    made *m = (made *)(uintptr_t)ctx;
    for (int64_t i = first; i < first + count; ++i) {
        m->wrong = m->wrong || m->written[i];
        m->written[i] = 1;
    }
}

/* Sizes around those of the pieces, none of the items kept anywhere. Each is reported once as written,
 * and not made again. */
TEST_IN_DIR(members_are_made_as_they_are_written)
{
    const char *path = in_dir(state, "f.npz");
    static const int64_t counts[] = {0, 1, 512, 131071, 131072, 131073, 400003};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const int64_t count = counts[i];
        ARRAY(char, written, count + 1, k, 0);
        ARRAY(char, other, count + 1, l, l);
        made m = {.add = 5, .written = written};
        cs_npz_writer *w = NULL;
        OK(cs_npz_create(path, &w));
        OK(cs_npz_add(w, "before", CS_U8, 1, &count, other));
        OK(cs_npz_add_made(w, "x", CS_I64, count, squares, squares_written, &m));
        OK(cs_npz_add(w, "after", CS_U8, 1, &count, other));
        OK(cs_npz_commit(&w));
        assert_each(k, 0, count, written[k] == 1);
        assert_true(!m.wrong);
        AUTO_OK(cs_array, a, read_one(path, 0, "x", &a));
        assert_true(a.ndim == 1 && a.shape[0] == count && a.dtype == CS_I64);
        assert_each(j, 0, count, ((int64_t *)a.data)[j] == j * j + 5);
    }
}

/* --- foreign and hostile archives ------------------------------------------------------------- */

/* An archive whose one member x.npy is any bytes. */
static void write_raw(const char *path, bool compress, const void *bytes, size_t size)
{
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    zip_source_t *source = zip_source_buffer(zip, bytes, size, 0);
    zip_int64_t index = zip_file_add(zip, "x.npy", source, 0);
    assert_true(index >= 0);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index,
                                              compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 9),
                     0);
    assert_int_equal(zip_close(zip), 0);
}

/* An NPY image of n zero doubles whose header says `claimed`. */
static char *zeros(int64_t claimed, int64_t n, int64_t *size)
{
    CS_AUTO_FREE char *header = NULL;
    int64_t length = 0;
    OK(cs_npy_header(CS_F64, false, 1, &claimed, &header, &length));
    char *image = cs_calloc(length + 8 * n, 1);
    assert_non_null(image);
    memcpy(image, header, (size_t)length);
    *size = length + 8 * n;
    return image;
}

/* Overwrites a little-endian field of the central directory, and of the local header when
 * local >= 0. Offsets: .ZIP File Format Specification 4.3.7 and 4.3.12. */
static void patch(const char *path, int central, int local, uint32_t value, int width)
{
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    OK(cs_file_read(path, 1 << 26, &bytes, &size));
    char *directory = memmem(bytes, (size_t)size, "PK\1\2", 4);
    assert_non_null(directory);
    memcpy(directory + central, &value, (size_t)width);
    if (local >= 0) {
        memcpy(bytes + local, &value, (size_t)width);
    }
    OK(cs_file_write(path, bytes, size));
}

enum {
    CENTRAL_FLAGS = 8,
    CENTRAL_METHOD = 10,
    CENTRAL_SIZE = 24,
    LOCAL_FLAGS = 6,
    LOCAL_METHOD = 8,
    LOCAL_SIZE = 22
};

TEST_IN_DIR(bombs_are_refused_before_memory)
{
    const char *path = in_dir(state, "bomb.npz");
    enum { N = 1 << 22 };
    int64_t size = 0;
    CS_AUTO_FREE char *image = zeros(N, N, &size);
    cs_array a = {0};
    write_raw(path, true, image, (size_t)size);
    (void)cs_mem_fail_at(0);
    assert_fails(read_one(path, 1 << 20, "x", &a), CS_ERR_INPUT,
                 "bomb.npz: member x.npy: decompresses to 33554560 bytes; of the limit of 1048576");
    /* The archive, its path, a header, the directory, its entries twice, the member's name. */
    assert_true(cs_mem_fail_at(0) <= 7);
    OK(read_one(path, size, "x", &a));
    assert_int_equal(a.size, N);
    cs_array_free(&a);
    /* A directory that understates the size, so as to pass the limit. */
    patch(path, CENTRAL_SIZE, LOCAL_SIZE, 1000, 4);
    assert_fails(
        read_one(path, 1 << 20, "x", &a), CS_ERR_INPUT,
        "member x.npy: byte 128: the header announces 33554432 bytes of data, but 872 follow");
    /* One that overstates it beyond what deflate can do. */
    patch(path, CENTRAL_SIZE, LOCAL_SIZE, 4000000000u, 4);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT,
                 "member x.npy: announces 4000000000 decompressed bytes, which is impossible from");
    assert_null(a.data);
}

/* The limit is for all members together: each takes 128 bytes of header and 24, 8, 16... of data.
 */
TEST_IN_DIR(the_limit_is_a_sum)
{
    const char *path = in_dir(state, "a.npz");
    cs_npz *npz = NULL;
    cs_array a = {0};
    OK(write_sample(path, false));
    OK(cs_npz_open(path, 152 + 136, &npz));
    OK(cs_npz_read(npz, "indptr", &a));
    cs_array_free(&a);
    OK(cs_npz_read(npz, "indices", &a));
    cs_array_free(&a);
    assert_fails(cs_npz_read(npz, "scalar", &a), CS_ERR_INPUT,
                 "a.npz: member scalar.npy: decompresses to 129 bytes; of the limit of 288 bytes "
                 "only 0 are left");
    cs_npz_close(npz);
    assert_fails(cs_npz_open(path, -1, &npz), CS_ERR_USAGE, "limit of -1");
}

/* NPY header and directory agree on a size that the content does not have. */
TEST_IN_DIR(agreed_lies_are_found_while_unpacking)
{
    const char *path = in_dir(state, "lie.npz");
    int64_t size = 0;
    cs_array a = {0};
    CS_AUTO_FREE char *image = zeros(2000, 1000, &size);
    write_raw(path, true, image, (size_t)size);
    cs_free(image);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT,
                 "lie.npz: member x.npy: byte 128: the header announces 16000 bytes of data, but "
                 "8000 follow");
    patch(path, CENTRAL_SIZE, LOCAL_SIZE, 128 + 16000, 4);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT, "lie.npz: member x.npy: ");
    image = zeros(1000, 2000, &size);
    write_raw(path, true, image, (size_t)size);
    patch(path, CENTRAL_SIZE, LOCAL_SIZE, 128 + 8000, 4);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT, "lie.npz: member x.npy: ");
    assert_null(a.data);
}

TEST_IN_DIR(damaged_members_are_refused)
{
    const char *path = in_dir(state, "bad.npz");
    int64_t size = 0, n = 0;
    cs_array a = {0};
    CS_AUTO_FREE char *image = zeros(10, 10, &size), *bytes = NULL;
    write_raw(path, false, image, (size_t)size);
    OK(cs_file_read(path, 1 << 20, &bytes, &n));
    char *data = memmem(bytes, (size_t)n, image, (size_t)size);
    assert_non_null(data);
    data[200] ^= 1; /* inside the zeros: only the checksum can detect it */
    OK(cs_file_write(path, bytes, n));
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT,
                 "bad.npz: member x.npy: cannot decompress: CRC error");
    write_raw(path, false, image, (size_t)size);
    patch(path, CENTRAL_FLAGS, LOCAL_FLAGS, 1, 2);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT, "member x.npy: is encrypted");
    write_raw(path, false, image, (size_t)size);
    patch(path, CENTRAL_METHOD, LOCAL_METHOD, 97, 2);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT,
                 "compression method 97 is not supported");
    write_raw(path, false, image, (size_t)size);
    patch(path, CENTRAL_SIZE, LOCAL_SIZE, 300, 4);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT,
                 "announces 300 decompressed bytes, which is impossible from 208");
    write_raw(path, true, "text", 4);
    assert_fails(read_one(path, 0, "x", &a), CS_ERR_INPUT, "member x.npy: ends at byte 4");
    assert_null(a.data);
}

/* Reads all members; true when every one is accepted, and then it is what was written. */
static bool sample_reads(const char *path, const cs_array want[SAMPLE])
{
    cs_npz *npz = NULL;
    bool all = cs_npz_open(path, 1 << 20, &npz) == CS_OK;
    for (int i = 0; i < SAMPLE && npz; ++i) {
        CS_AUTO(cs_array) a = {0};
        if (cs_npz_read(npz, sample_names[i], &a) == CS_OK) {
            assert_int_equal(a.dtype, want[i].dtype);
            assert_memory_equal(a.shape, want[i].shape, sizeof a.shape);
            assert_memory_equal(a.data, want[i].data, (size_t)(a.size * a.item_size));
        } else {
            all = false;
        }
    }
    cs_npz_close(npz);
    cs_reason_clear();
    return all;
}

/* Cut anywhere, an archive does not read. With any byte inverted it does not crash (ASan), and what
 * still reads is unchanged. */
TEST_IN_DIR(damage_anywhere_is_survived)
{
    const char *path = in_dir(state, "a.npz"), *bad = in_dir(state, "bad.npz");
    cs_array want[SAMPLE] = {{0}};
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0, harmless = 0;
    OK(write_sample(path, true));
    for (int i = 0; i < SAMPLE; ++i) {
        OK(read_one(path, 0, sample_names[i], &want[i]));
    }
    OK(cs_file_read(path, 1 << 20, &bytes, &size));
    for (int cut = 0; cut < 2; ++cut) {
        for (int64_t i = 0; i < size; ++i) {
            /* Written plainly: thousands of fsyncs would take minutes. */
            FILE *f = fopen(bad, "wb");
            size_t length = (size_t)(cut ? i : size);
            assert_non_null(f);
            bytes[i] = (char)~bytes[i];
            assert_true(fwrite(bytes, 1, length, f) == length);
            bytes[i] = (char)~bytes[i];
            assert_int_equal(fclose(f), 0);
            bool reads = sample_reads(bad, want);
            assert_false(cut && reads);
            harmless += reads;
        }
    }
    /* Only dates, versions, attributes and the like matter to nobody. */
    assert_true(harmless < size / 2);
    for (int i = 0; i < SAMPLE; ++i) {
        cs_array_free(&want[i]);
    }
}

TEST_IN_DIR(what_is_no_archive_is_named)
{
    const char *path = in_dir(state, "x.npz");
    const struct {
        const char *text;
        int64_t size;
        const char *reason;
    } bad[] = {
        {"version https://git-lfs.github.com/spec/v1\noid", 46, "x.npz: is a Git LFS pointer"},
        {"\x93NUMPY\1\0", 8, "x.npz: is an NPY array"},
        {"0.1 0.2\n", 8, "x.npz: not a zip archive (bad magic)"},
        {"", 0, "x.npz: not a zip archive (bad magic)"},
        {"PK\3\4 and so on", 14, "x.npz: truncated or damaged archive"},
    };
    cs_npz *npz = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        OK(cs_file_write(path, bad[i].text, bad[i].size));
        assert_fails(cs_npz_open(path, 0, &npz), CS_ERR_INPUT, bad[i].reason);
    }
    assert_fails(cs_npz_open(in_dir(state, "none.npz"), 0, &npz), CS_ERR_IO,
                 "none.npz: cannot read");
    assert_fails(cs_npz_open(in_dir(state, ""), 0, &npz), CS_ERR_IO, "not a regular file");
    assert_null(npz);
}

/* Members "aa" and "bb"; the second takes the name of the first: in its own header, in the
 * directory, in both. */
TEST_IN_DIR(twins_and_headers_that_differ_are_refused)
{
    const char *path = in_dir(state, "twins.npz");
    const int64_t one = 1;
    const double x[] = {1, 2};
    cs_npz_writer *w = NULL;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add(w, "aa", CS_F64, 1, &one, x));
    OK(cs_npz_add(w, "bb", CS_F64, 1, &one, x + 1));
    OK(cs_npz_commit(&w));
    CS_AUTO_FREE char *whole = NULL;
    int64_t size = 0, at[2] = {0}, found = 0;
    OK(cs_file_read(path, 10000, &whole, &size));
    for (int64_t i = 0; i + 6 <= size; ++i) {
        if (memcmp(whole + i, "bb.npy", 6) == 0) {
            assert_in_range(found, 0, 1);
            at[found++] = i;
        }
    }
    assert_int_equal(found, 2);
    for (int which = 1; which <= 3; ++which) {
        cs_npz *npz = NULL;
        for (int i = 0; i < 2; ++i) {
            memcpy(whole + at[i], which & (1 << i) ? "aa" : "bb", 2);
        }
        OK(cs_file_write(path, whole, size));
        assert_fails(cs_npz_open(path, 0, &npz), CS_ERR_INPUT,
                     which == 1   ? "twins.npz: truncated or damaged archive (member bb.npy: its "
                                    "header differs from its directory entry)"
                     : which == 2 ? "twins.npz: truncated or damaged archive (member aa.npy: its "
                                    "header differs from its directory entry)"
                                  : "twins.npz: has two members of the same name");
        assert_null(npz);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

TEST_IN_DIR(impossible_archives_are_refused)
{
    const char *path = in_dir(state, "w.npz");
    const double x = 1;
    cs_npz_writer *w = NULL;
    OK(cs_npz_create(path, &w));
    assert_fails(cs_npz_add(w, "t", CS_BYTES, 0, NULL, "x"), CS_ERR_USAGE,
                 "w.npz: member t.npy: dtype 13 is not numeric");
    OK(cs_npz_add(w, "x", CS_F64, 0, NULL, &x));
    assert_fails(cs_npz_add(w, "x", CS_F64, 0, NULL, &x), CS_ERR_USAGE, "member x.npy");
    cs_npz_abort(&w);
    assert_null(w);
    cs_npz_abort(&w);
    OK(cs_npz_create(path, &w));
    assert_fails(cs_npz_commit(&w), CS_ERR_USAGE, "w.npz: an archive needs at least one member");
    assert_null(w);
    assert_fails(cs_npz_create("/dev/full", &w), CS_ERR_IO, "/dev/full: is a device");
    assert_fails(cs_npz_create(in_dir(state, "no/w.npz"), &w), CS_ERR_IO, "no/w.npz");
    assert_null(w);
    assert_int_equal(entries(state), 0);
}

static cs_status write_small(const char *path)
{
    return write_sample(path, false);
}

static cs_status read_small(const char *path)
{
    CS_AUTO(cs_array) a = {0};
    cs_status status = read_one(path, 0, sample_names[0], &a);
    return status;
}

static cs_status write_large(const char *path)
{
    static const double x[100000];
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, &w);
    if (status == CS_OK) {
        status = cs_npz_add(w, "x", CS_F64, 1, (int64_t[]){100000}, x);
    }
    if (status == CS_OK) return cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}

static cs_status write_interrupted(const char *path)
{
    cs_interrupt_set();
    return write_large(path);
}

TEST_IN_DIR(failed_writes_leave_the_old_archive)
{
    const char *path = in_dir(state, "w.npz");
    OK(cs_file_write(path, "old", 3));
    assert_int_equal(on_full_disk(write_small, path, "w.npz: cannot write: File too large"),
                     CS_ERR_IO);
    assert_int_equal(on_full_disk(write_large, path, "w.npz: cannot write: File too large"),
                     CS_ERR_IO);
    assert_int_equal(in_child(write_interrupted, path, "w.npz"), CS_ERR_INTERRUPT);
    assert_content(path, "old");
    assert_int_equal(entries(state), 1);
}

/* Of another program's output no descriptor is left. */
TEST(what_a_program_said_is_closed)
{
    CS_AUTO_FREE char *said = NULL;
    const int before = dup(1);
    (void)close(before);
    OK(cs_child_text("echo", (const char *[]){"echo", "yes", NULL}, &said));
    assert_string_equal(said, "yes");
    const int after = dup(1);
    (void)close(after);
    assert_int_equal(after, before);
}

static cs_status use_npy(const char *path)
{
    const double x[6] = {0, 1, 2, 3, 4, 5};
    CS_AUTO(cs_array) a = {0};
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    cs_status status = cs_npy_write(path, CS_F64, 2, (int64_t[]){3, 2}, x);
    if (status == CS_OK) status = cs_npy_read(path, 0, &a);
    if (status == CS_OK) status = cs_rows_open(path, &rows);
    return status;
}

static cs_status use_safetensors(const char *path)
{
    const cs_safetensors_entry x = {.name = "x", .dtype = CS_F32, .ndim = 1, .shape = {2}};
    cs_safetensors_writer *w = NULL;
    cs_safetensors *s = NULL;
    cs_status status = cs_safetensors_writer_open(path, 1, &x, 0, NULL, &w);
    if (status == CS_OK) status = cs_safetensors_writer_put(w, (float[]){1, 2}, 8);
    if (status == CS_OK) status = cs_safetensors_writer_commit(&w);
    if (status == CS_OK) status = cs_safetensors_open(path, &s);
    cs_safetensors_free(s);
    return status;
}

static cs_status without_input(const char *path)
{
    cs_status (*const use[])(const char *) = {use_npy, use_safetensors, write_small, read_small};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof use / sizeof *use && status == CS_OK; ++i) {
        (void)close(0);
        status = use[i](path);
        if (status == CS_OK && fcntl(0, F_GETFD) != -1)
            status = cs_fail(CS_ERR_IO, "use %d leaves descriptor 0 open", (int)i);
    }
    return status == CS_OK ? cs_fail(CS_ERR_CONVERGE, "no descriptor leaks") : status;
}

/* A program begun without an input has 0 for its first file, which is one like any other. */
TEST_IN_DIR(descriptor_0_is_closed_too)
{
    assert_int_equal(in_child(without_input, in_dir(state, "x.npy"), "no descriptor leaks"),
                     CS_ERR_CONVERGE);
}

static cs_status use_all(const char *path)
{
    cs_status status = write_sample(path, true);
    for (int i = 0; i < SAMPLE && status == CS_OK; ++i) {
        CS_AUTO(cs_array) a = {0};
        status = read_one(path, 0, sample_names[i], &a);
    }
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    fail_each_allocation(use_all, in_dir(state, "m.npz"));
    assert_int_equal(entries(state), 1);
}

/* Sizes and places of more than 32 bits (zip64). */
TEST_IN_DIR(members_beyond_4_gib)
{
    if (!getenv("COSPEC_TEST_LARGE")) {
        skip(); /* a minute and 9 GiB of memory */
    }
    const int64_t size = (INT64_C(1) << 32) + 16;
    const char *path = in_dir(state, "large.npz");
    char *data = test_zeros(size, 1);
    cs_npz_writer *w = NULL;
    data[size - 1] = 7;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add(w, "data", CS_U8, 1, &size, data));
    OK(cs_npz_add_text(w, "far", "text"));
    OK(cs_npz_commit(&w));
    for (int turn = 0; turn < 2; ++turn) {
        AUTO_OK(cs_array, a, read_one(path, 0, "data", &a));
        assert_int_equal(a.size, size);
        assert_int_equal(((const uint8_t *)a.data)[size - 1], 7);
        deflate_archive(path);
    }
}
