/* io: the same rows from files of every kind. */
#include "io/file.h"
#include "io/float16_private.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/rows.h"
#include "io/safetensors.h"
#include "io_support.h"

enum { N = 70, D = 6 };

/* Item (k, j), exact in 8 bits of fraction. */
static double item(int64_t k, int64_t j)
{
    return (double)((k * 13 + j * 29) % 97 - 40) / 8.0;
}

static void assert_rows(const char *text, int64_t rows, cs_rows_type type)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) r = {0};
    float f[5 * D];
    double g[5 * D];
    cs_status status = cs_rows_open(text, &r);
    if (status != CS_OK) fail_msg("%s: %s", text, cs_reason());
    assert_int_equal(r.rows, rows);
    assert_int_equal(r.cols, D);
    assert_int_equal(r.type, type);
    for (int64_t first = 0; first + 5 <= rows; first += 13) {
        OK(cs_rows_read_f32(&r, first, 5, f));
        OK(cs_rows_read_f64(&r, first, 5, g));
        assert_each(i, 0, 5 * D, g[i] == item(first + i / D, i % D) && f[i] == (float)g[i]);
    }
    assert_fails(cs_rows_read_f32(&r, rows - 1, 2, f), CS_ERR_USAGE,
                 "requested, but it has only 70");
}

static uint16_t half(double x)
{
    if (x == 0) {
        return 0;
    }
    int e;
    double m = frexp(fabs(x), &e); /* 0.5 <= m < 1 */
    return (uint16_t)((x < 0 ? 0x8000 : 0) | (e + 14) << 10 | (int)((2 * m - 1) * 1024));
}

TEST_IN_DIR(every_file_gives_the_same_rows)
{
    float x[N * D];
    double y[N * D];
    uint16_t h[N * D], b[N * D];
    int16_t whole[N * D];
    for (int i = 0; i < N * D; ++i) {
        y[i] = item(i / D, i % D);
        x[i] = (float)y[i];
        h[i] = half(y[i]);
        b[i] = bf16_of(x[i]);
        whole[i] = (int16_t)(y[i] * 8.0);
    }
    const int64_t shape[2] = {N, D}, deep[3] = {7, 10, D};
    OK(cs_npy_write(in_dir(state, "f.npy"), CS_F32, 2, shape, x));
    OK(cs_npy_write(in_dir(state, "d.npy"), CS_F64, 3, deep, y));
    OK(cs_npy_write(in_dir(state, "h.npy"), CS_F16, 2, shape, h));
    OK(cs_npy_write(in_dir(state, "i.npy"), CS_I16, 2, shape, whole));
    assert_rows(in_dir(state, "f.npy"), N, CS_ROWS_F32);
    assert_rows(in_dir(state, "d.npy"), N, CS_ROWS_F64);
    assert_rows(in_dir(state, "h.npy"), N, CS_ROWS_F16);
    cs_rows r = {0};
    OK(cs_rows_open(in_dir(state, "i.npy"), &r));
    double row[D];
    OK(cs_rows_read_f64(&r, 3, 1, row));
    assert_true(row[2] == 8.0 * item(3, 2) && r.type == CS_ROWS_INT);
    cs_rows_close(&r);

    cs_npz_writer *w = NULL;
    OK(cs_npz_create(in_dir(state, "two.npz"), &w));
    OK(cs_npz_add(w, "a", CS_F32, 2, shape, x));
    OK(cs_npz_add(w, "b", CS_F16, 3, deep, h));
    OK(cs_npz_commit(&w));
    char text[4200];
    (void)snprintf(text, sizeof text, "%s:a", in_dir(state, "two.npz"));
    assert_rows(text, N, CS_ROWS_F32);
    text[strlen(text) - 1] = 'b';
    assert_rows(text, N, CS_ROWS_F16);
    char *path = NULL, *name = NULL; /* a ':' that parts nothing is the file's own */
    OK(cs_rows_split("no/such:file.npy", &path, &name));
    assert_string_equal(path, "no/such:file.npy");
    assert_null(name);
    cs_free(path);
    text[strlen(text) - 1] = 'c';
    assert_fails(cs_rows_open(text, &r), CS_ERR_INPUT, "has no member 'c'; available: a, b");
    assert_fails(cs_rows_open(in_dir(state, "two.npz"), &r), CS_ERR_INPUT,
                 "2 members: a, b; choose");

    const cs_safetensors_entry entry[2] = {
        {.name = "x", .dtype = CS_F32, .ndim = 2, .shape = {N, D}},
        {.name = "z", .dtype = CS_BF16, .ndim = 3, .shape = {7, 10, D}}};
    cs_safetensors_writer *sw = NULL;
    OK(cs_safetensors_writer_open(in_dir(state, "m.safetensors"), 2, entry, 0, NULL, &sw));
    OK(cs_safetensors_writer_put(sw, x, sizeof x));
    OK(cs_safetensors_writer_put(sw, b, sizeof b));
    OK(cs_safetensors_writer_commit(&sw));
    (void)snprintf(text, sizeof text, "%s:x", in_dir(state, "m.safetensors"));
    assert_rows(text, N, CS_ROWS_F32);
    text[strlen(text) - 1] = 'z';
    assert_rows(text, N, CS_ROWS_BF16);
    text[strlen(text) - 1] = 'y';
    assert_fails(cs_rows_open(text, &r), CS_ERR_INPUT, "has no tensor 'y'; available: x, z");
}

/* A Fortran file: the columns one after the other. */
TEST_IN_DIR(fortran_files_are_turned)
{
    CS_AUTO_FREE char *header = NULL;
    int64_t size;
    static double y[D * N];
    for (int i = 0; i < N * D; ++i) {
        y[i] = item(i % N, i / N);
    }
    OK(cs_npy_header(CS_F64, true, 2, (int64_t[]){N, D}, &header, &size));
    char *all = test_zeros(size + (int64_t)sizeof y, 1);
    memcpy(all, header, (size_t)size);
    memcpy(all + size, y, sizeof y);
    OK(cs_file_write(in_dir(state, "t.npy"), all, size + (int64_t)sizeof y));
    assert_rows(in_dir(state, "t.npy"), N, CS_ROWS_F64);
    OK(cs_file_write(in_dir(state, "cut.npy"), all, size + 100));
    cs_rows r = {0};
    assert_fails(cs_rows_open(in_dir(state, "cut.npy"), &r), CS_ERR_INPUT,
                 "the header announces 3360 bytes of data, but 100 follow");
}

TEST_IN_DIR(bad_files_are_refused)
{
    cs_rows r = {0};
    const float x[4] = {0};
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\n";
    OK(cs_npy_write(in_dir(state, "one.npy"), CS_F32, 1, (int64_t[]){4}, x));
    assert_fails(cs_rows_open(in_dir(state, "one.npy"), &r), CS_ERR_INPUT, "has 1 dimension;");
    OK(cs_npy_write(in_dir(state, "none.npy"), CS_F32, 2, (int64_t[]){0, 4}, x));
    assert_fails(cs_rows_open(in_dir(state, "none.npy"), &r), CS_ERR_INPUT,
                 "is empty (0 rows of 4)");
    OK(cs_file_write(in_dir(state, "lfs.npy"), pointer, (int64_t)sizeof pointer - 1));
    assert_fails(cs_rows_open(in_dir(state, "lfs.npy"), &r), CS_ERR_INPUT, "Git LFS");
    assert_fails(cs_rows_open(in_dir(state, "x.txt"), &r), CS_ERR_INPUT, "no such file");
    OK(cs_file_write(in_dir(state, "x.txt"), pointer, (int64_t)sizeof pointer - 1));
    assert_fails(cs_rows_open(in_dir(state, "x.txt"), &r), CS_ERR_USAGE,
                 "expected a matrix: FILE.npy");
    assert_fails(cs_rows_open(in_dir(state, "nowhere.npy"), &r), CS_ERR_IO, "nowhere.npy");
    assert_fails(cs_rows_open(in_dir(state, "nowhere.npz:a"), &r), CS_ERR_IO, "nowhere.npz");
}

static cs_status open_and_read(const char *text)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) r = {0};
    double row[D];
    cs_status status = cs_rows_open(text, &r);
    if (status == CS_OK) status = cs_rows_read_f64(&r, 3, 1, row);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    const float x[4 * D] = {0};
    const int64_t shape[2] = {4, D};
    cs_npz_writer *w = NULL;
    OK(cs_npy_write(in_dir(state, "f.npy"), CS_F32, 2, shape, x));
    fail_each_allocation(open_and_read, in_dir(state, "f.npy"));
    OK(cs_npz_create(in_dir(state, "one.npz"), &w));
    OK(cs_npz_add(w, "a", CS_F32, 2, shape, x));
    OK(cs_npz_commit(&w));
    fail_each_allocation(open_and_read, in_dir(state, "one.npz"));
    const cs_safetensors_entry entry = {.name = "x", .dtype = CS_F32, .ndim = 2, .shape = {4, D}};
    cs_safetensors_writer *sw = NULL;
    OK(cs_safetensors_writer_open(in_dir(state, "m.safetensors"), 1, &entry, 0, NULL, &sw));
    OK(cs_safetensors_writer_put(sw, x, sizeof x));
    OK(cs_safetensors_writer_commit(&sw));
    fail_each_allocation(open_and_read, in_dir(state, "m.safetensors:x"));
}

TEST_IN_DIR(a_hash_of_the_file_is_checked)
{
    const float x[4 * D] = {0};
    const char *path = in_dir(state, "m.safetensors");
    const cs_safetensors_entry entry = {.name = "x", .dtype = CS_F32, .ndim = 2, .shape = {4, D}};
    cs_safetensors_writer *sw = NULL;
    OK(cs_safetensors_writer_open(path, 1, &entry, 0, NULL, &sw));
    OK(cs_safetensors_writer_put(sw, x, sizeof x));
    OK(cs_safetensors_writer_commit(&sw));
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fputc(1, f), 1);
    assert_int_equal(fclose(f), 0);
    assert_fails(open_and_read(path), CS_ERR_INPUT, "m.safetensors: the data have hash ");
}
