/* Streamed NPY arrays: read back by the NPY reader, halves against their decoder, full disks. */
#include "io/float16_private.h"
#include "io/npy.h"
#include "io_support.h"

enum { COLUMNS = 3 };

/* `rows` rows of 0, 1, 2, ... in runs of 1, 2, 3, ... rows. */
static cs_status write_rows(const char *path, cs_dtype dtype, int64_t rows)
{
    cs_npy_stream *s = NULL;
    float block[64 * COLUMNS];
    cs_status status = cs_npy_stream_open(path, dtype, COLUMNS, &s);
    for (int64_t at = 0, run = 1; status == CS_OK && at < rows; at += run, run += run < 60) {
        run = run < rows - at ? run : rows - at;
        for (int64_t i = 0; i < run * COLUMNS; ++i) {
            block[i] = (float)(at * COLUMNS + i);
        }
        status = cs_npy_stream_floats(s, block, run);
    }
    if (status == CS_OK) {
        status = cs_npy_stream_close(&s);
        assert_null(s);
    }
    cs_npy_stream_abort(&s);
    return status;
}

TEST_IN_DIR(reads_back)
{
    const int64_t rows[] = {0, 1, 9, 10, 640};
    const cs_dtype dtype[] = {CS_F32, CS_F16};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int t = 0; t < 2; ++t) {
            CS_AUTO(cs_array) a = {0};
            OK(write_rows(in_dir(state, "a.npy"), dtype[t], rows[i]));
            OK(cs_npy_read(in_dir(state, "a.npy"), 0, &a));
            assert_int_equal(a.dtype, dtype[t]);
            assert_int_equal(a.ndim, 2);
            assert_int_equal(a.shape[0], rows[i]);
            assert_int_equal(a.shape[1], COLUMNS);
            for (int64_t k = 0; k < a.size; ++k) { /* integers below 2048 are halves */
                assert_true(fabs(cs_array_f64(&a, k) - (double)k) < 0.5 / 2048);
            }
        }
    }
    assert_int_equal(entries(state), 1);
}

TEST_IN_DIR(one_dimension)
{
    cs_npy_stream *s = NULL;
    CS_AUTO(cs_array) a = {0};
    const int64_t values[] = {5, -7, INT64_MAX};
    OK(cs_npy_stream_open(in_dir(state, "a.npy"), CS_I64, 0, &s));
    OK(cs_npy_stream_append(s, values, 2));
    OK(cs_npy_stream_append(s, values + 2, 1));
    assert_fails(cs_npy_stream_floats(s, NULL, 0), CS_ERR_USAGE, "another type");
    OK(cs_npy_stream_close(&s));
    OK(cs_npy_read(in_dir(state, "a.npy"), 0, &a));
    assert_int_equal(a.ndim, 1);
    assert_int_equal(a.shape[0], 3);
    assert_memory_equal(a.data, values, sizeof values);
}

/* Every half is its own nearest; midpoints go to the even one; beyond the largest, an error. */
TEST_IN_DIR(halves)
{
    for (unsigned h = 0; h < 1U << 16; ++h) {
        float x = cs_f16_decode((uint16_t)h);
        uint16_t back = cs_f16_encode(x);
        if (isnan(x)) {
            assert_true(isnan(cs_f16_decode(back)));
        } else {
            assert_int_equal(back, h);
        }
    }
    for (unsigned h = 0; h < 0x7bff; ++h) {
        double low = (double)cs_f16_decode((uint16_t)h),
               high = (double)cs_f16_decode((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2);
        assert_int_equal(cs_f16_encode(middle), h + (h & 1));
        assert_int_equal(cs_f16_encode(nextafterf(middle, 1e9F)), h + 1);
        assert_int_equal(cs_f16_encode(-nextafterf(middle, 0)), 0x8000 + h);
    }
    cs_npy_stream *s = NULL;
    const float big[] = {1, 2, 3, 4, 5, 65519, INFINITY, 65520, 0};
    OK(cs_npy_stream_open(in_dir(state, "a.npy"), CS_F16, COLUMNS, &s));
    OK(cs_npy_stream_floats(s, big, 2));
    assert_fails(cs_npy_stream_floats(s, big + 6, 1), CS_ERR_INPUT, "row 2: 65520 is out of");
    cs_npy_stream_abort(&s);
    assert_int_equal(entries(state), 0);
}

TEST_IN_DIR(bad_uses)
{
    cs_npy_stream *s = NULL;
    assert_fails(cs_npy_stream_open(in_dir(state, "a.npy"), CS_F32, -1, &s), CS_ERR_USAGE, "-1");
    assert_fails(cs_npy_stream_open(in_dir(state, "a.npy"), CS_BYTES, 1, &s), CS_ERR_USAGE, "text");
    assert_fails(cs_npy_stream_open(in_dir(state, "no/a.npy"), CS_F32, 1, &s), CS_ERR_IO,
                 "no/a.npy");
    assert_int_equal(entries(state), 0);
}

static cs_status many_rows(const char *path)
{
    return write_rows(path, CS_F32, 500);
}

TEST_IN_DIR(full_disk)
{
    assert_int_equal(on_full_disk(many_rows, in_dir(state, "a.npy"), "a.npy"), CS_ERR_IO);
    assert_int_equal(entries(state), 0);
}

static cs_status few_rows(const char *path)
{
    return write_rows(path, CS_F16, 5);
}

TEST_IN_DIR(allocations)
{
    fail_each_allocation(few_rows, in_dir(state, "a.npy"));
    assert_int_equal(entries(state), 1);
}
