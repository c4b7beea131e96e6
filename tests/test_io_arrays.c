/* io: NPY arrays, and floats of 16 bits. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/file.h"
#include "io/float16_private.h"
#include "io/npy.h"
#include "io/rows.h"
#include "io_support.h"

/* Builds an NPY image by hand: any dictionary, `bytes` of data. Returns its size. */
static int64_t image(char *out, int version, const char *dictionary, const void *data, size_t bytes)
{
    size_t n = strlen(dictionary), at = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    memset(out + 6, 0, 6);
    out[6] = (char)version;
    out[8] = (char)(n & 255);
    out[9] = (char)(n >> 8);
    memcpy(out + at, dictionary, n);
    if (bytes > 0) {
        memcpy(out + at + n, data, bytes);
    }
    return (int64_t)(at + n + bytes);
}

static cs_status read_image(const char *path, const void *bytes, int64_t size, cs_array *out)
{
    cs_status status = cs_file_write(path, bytes, size);
    return status == CS_OK ? cs_npy_read(path, 0, out) : status;
}

TEST_IN_DIR(headers_are_those_of_numpy)
{
    char *h = NULL;
    int64_t size = 0;
    OK(cs_npy_header(CS_F64, false, 2, (int64_t[]){3, 4}, &h, &size));
    /* numpy.save(f, numpy.zeros((3, 4))) begins with these 128 bytes; 64 is its own alignment. */
    assert_int_equal(size, 128);
    char want[129];
    (void)snprintf(want, sizeof want, "%-127s\n",
                   "\x93NUMPY\x01?v?{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }");
    want[7] = '\0';
    want[9] = '\0';
    want[8] = 'v'; /* 118 = 128 - 10 */
    assert_memory_equal(h, want, 128);
    cs_free(h);
    const struct {
        cs_dtype dtype;
        bool fortran;
        int ndim;
        int64_t shape[3];
        const char *text;
    } more[] = {
        {CS_BOOL, false, 0, {0}, "'descr': '|b1', 'fortran_order': False, 'shape': (), }"},
        {CS_U16, true, 1, {7}, "'descr': '<u2', 'fortran_order': True, 'shape': (7,), }"},
        {CS_F16,
         false,
         3,
         {1, 0, 2},
         "'descr': '<f2', 'fortran_order': False, 'shape': (1, 0, 2), }"},
    };
    for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
        OK(cs_npy_header(more[i].dtype, more[i].fortran, more[i].ndim, more[i].shape, &h, &size));
        assert_int_equal(size % 64, 0);
        assert_memory_equal(h + 11, more[i].text, strlen(more[i].text));
        cs_free(h);
    }
}

TEST_IN_DIR(impossible_arrays_are_not_written)
{
    char *h = NULL;
    int64_t size = 0;
    const int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, negative = -2;
    const int64_t huge[2] = {INT64_MAX / 2, 3};
    assert_fails(cs_npy_header(CS_BYTES, false, 1, shape, &h, &size), CS_ERR_USAGE, "not numeric");
    assert_fails(cs_npy_header(CS_F64, false, 9, shape, &h, &size), CS_ERR_USAGE, "9 dimensions");
    assert_fails(cs_npy_header(CS_F64, false, 1, &negative, &h, &size), CS_ERR_USAGE,
                 "dimension 0 is negative: -2");
    assert_fails(cs_npy_header(CS_F64, false, 2, huge, &h, &size), CS_ERR_USAGE, "(3)");
    assert_fails(cs_npy_header(CS_F64, false, 1, huge, &h, &size), CS_ERR_USAGE, "overflow");
    assert_null(h);
}

/* Every numeric type, its extreme values, through a file. */
TEST_IN_DIR(numbers_round_trip)
{
    const char *path = in_dir(state, "a.npy");
    static const union {
        int8_t i8[2];
        uint8_t u8[2];
        int16_t i16[2];
        uint16_t u16[2];
        int32_t i32[2];
        uint32_t u32[2];
        int64_t i64[2];
        uint64_t u64[2];
        float f32[2];
        double f64[2];
    } in[] = {
        {.u8 = {1, 0}},
        {.i8 = {INT8_MIN, INT8_MAX}},
        {.u8 = {0, UINT8_MAX}},
        {.i16 = {INT16_MIN, INT16_MAX}},
        {.u16 = {0, UINT16_MAX}},
        {.i32 = {INT32_MIN, INT32_MAX}},
        {.u32 = {0, UINT32_MAX}},
        {.i64 = {INT64_MIN, -1}},
        {.u64 = {0, (uint64_t)1 << 53}},
        {.u16 = {0x3C00, 0xFC00}},
        {.f32 = {FLT_MAX, -0.5f}},
        {.f64 = {DBL_MAX, -0.5}},
    };
    const double want[][2] = {
        {1, 0},          {INT8_MIN, INT8_MAX},   {0, UINT8_MAX},          {INT16_MIN, INT16_MAX},
        {0, UINT16_MAX}, {INT32_MIN, INT32_MAX}, {0, UINT32_MAX},         {-0x1p63, -1},
        {0, 0x1p53},     {1, -INFINITY},         {(double)FLT_MAX, -0.5}, {DBL_MAX, -0.5}};
    for (int dtype = CS_BOOL; dtype <= CS_F64; ++dtype) {
        cs_array a = {0};
        OK(cs_npy_write(path, (cs_dtype)dtype, 1, (int64_t[]){2}, &in[dtype]));
        OK(cs_npy_read(path, 0, &a));
        assert_int_equal(a.dtype, dtype);
        assert_int_equal(a.item_size, cs_dtype_size((cs_dtype)dtype));
        assert_int_equal(a.size, 2);
        assert_each(i, 0, 2, cs_array_f64(&a, i) == want[dtype][i]);
        cs_array_free(&a);
        cs_array_free(&a); /* zeroed by the first */
    }
    assert_int_equal(entries(state), 1);
}

/* All 65536 halves against the definition of binary16; they are doubles exactly. */
TEST_IN_DIR(halves_are_decoded)
{
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        uint16_t half = (uint16_t)bits;
        cs_array a = {.dtype = CS_F16, .item_size = 2, .size = 1, .data = &half};
        double x = cs_array_f64(&a, 0), sign = bits & 0x8000 ? -1 : 1;
        int exponent = bits >> 10 & 31;
        double fraction = (bits & 1023) / 1024.0;
        if (exponent == 31) {
            assert_true(fraction > 0 ? isnan(x) : x == sign * INFINITY);
        } else {
            assert_true(x == sign * (exponent ? 1 + fraction : fraction) *
                                 pow(2, exponent ? exponent - 15 : -14));
        }
    }
}

/* A[i][j][k] = 100 i + 10 j + k, stored with i fastest. */
TEST_IN_DIR(fortran_order_is_transposed)
{
    char bytes[512];
    int32_t column_major[24];
    for (int k = 0, n = 0; k < 4; ++k) {
        for (int j = 0; j < 3; ++j) {
            for (int i = 0; i < 2; ++i) {
                column_major[n++] = 100 * i + 10 * j + k;
            }
        }
    }
    int64_t size =
        image(bytes, 1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4), }\n",
              column_major, sizeof column_major);
    AUTO_OK(cs_array, a, read_image(in_dir(state, "f"), bytes, size, &a));
    assert_int_equal(a.ndim, 3);
    for (int i = 0, n = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            assert_each(k, 0, 4, cs_array_f64(&a, n++) == (double)(100 * i + 10 * j + k));
        }
    }
}

TEST_IN_DIR(big_endian_is_converted)
{
    static const uint8_t doubles[16] = {0x3f, 0xf8, [8] = 0xc0, 0x10},    /* 1.5, -4 */
        words[16] = {[2] = 1, 2, 255, 255, 255, 254, [11] = 3, [15] = 4}; /* 258, -2, 3, 4 */
    char bytes[256];
    double row[2] = {0};
    const char *path = in_dir(state, "i.npy");
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    int64_t size = image(bytes, 1, "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }\n",
                         doubles, sizeof doubles);
    AUTO_OK(cs_array, a, read_image(in_dir(state, "f.npy"), bytes, size, &a));
    assert_true(cs_array_f64(&a, 0) == 1.5 && cs_array_f64(&a, 1) == -4);
    size = image(bytes, 1, "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 2), }\n", words,
                 sizeof words);
    AUTO_OK(cs_array, b, read_image(path, bytes, size, &b));
    assert_true(cs_array_f64(&b, 0) == 258 && cs_array_f64(&b, 1) == 3);
    assert_true(cs_array_f64(&b, 2) == -2 && cs_array_f64(&b, 3) == 4);
    OK(cs_rows_open(path, &rows));
    OK(cs_rows_read_f64(&rows, 1, 1, row));
    assert_true(row[0] == -2 && row[1] == 4);
}

TEST_IN_DIR(headers_of_all_writers_are_read)
{
    const int64_t x[2] = {5, -6};
    const struct {
        int version;
        const char *dictionary;
    } good[] = {
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }      \n"},
        {1,
         "{\"shape\":(2L,),\"fortran_order\":True,\"descr\":\"=i8\"}"}, /* Python 2, other order */
        {2, " { 'descr' : '<i8' , 'fortran_order' : False , 'shape' : ( 2 , 1 ) }"},
        {3, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2)}\n"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        char bytes[256];
        int64_t size = image(bytes, good[i].version, good[i].dictionary, x, sizeof x), value = 0;
        AUTO_OK(cs_array, a, read_image(in_dir(state, "g"), bytes, size, &a));
        assert_int_equal(a.size, 2);
        OK(cs_array_i64(&a, 1, &value));
        assert_int_equal(value, -6);
    }
}

TEST_IN_DIR(bad_headers_are_refused)
{
    static const test_refusal bad[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
         "dtype '|O' contains Python objects"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}",
         "dtype '<c16' is not supported"},
        {"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}", "dtype '<M8[s]'"},
        {"{'descr': '|i8', 'fortran_order': False, 'shape': (1,)}", "dtype '|i8'"},
        {"{'descr': 'i8', 'fortran_order': False, 'shape': (1,)}", "'i8' has no byte order"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", "'' has no byte order"},
        {"{'descr': '<', 'fortran_order': False, 'shape': (1,)}", "'<' is not understood"},
        {"{'descr': '<U99999999999999999999', 'fortran_order': False, 'shape': (1,)}",
         "is not understood"},
        {"{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,)}", "a structured dtype"},
        {"{'descr': '<i8', 'fortran_order': 0, 'shape': (1,)}", "fortran_order (True or False)"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': 1}", "the shape is not a tuple"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}",
         "bad: dimension 0 is negative: -1"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1 2)}",
         "bad:1:54: syntax error: ']' expected near '2'"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (9223372036854775808,)}",
         "too big integer"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "bad: the shape overflows at dimension 1 (4294967296)"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2305843009213693952,)}",
         "bad: 2305843009213693952 items of 8 bytes overflow"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
         "not a tuple of at most 8 sizes"},
        {"{'descr': '<i8', 'fortran_order': False}", "not a dictionary of descr, fortran_order"},
        {"{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (1,)}",
         "duplicate object key"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), 'x': 1}",
         "not a dictionary of descr"},
        {"{'descr' '<i8'}", "':' expected"},
        {"{'descr': '<i8' 'x'}", "'}' expected"},
        {"{'descr", "premature end of input"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)} x", "end of file expected"},
        {"[1]", "not a dictionary"},
        {"", "bad:1:0: "},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}",
         "byte 65: the header announces 16 bytes of data, but 8 follow"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': ()  }", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char bytes[256];
        cs_array a = {0};
        int64_t x = 1, size = image(bytes, 1, bad[i].text, &x, sizeof x);
        if (!bad[i].reason) { /* the frame of all these is sound */
            OK(read_image(in_dir(state, "bad"), bytes, size, &a));
            cs_array_free(&a);
            continue;
        }
        assert_fails(read_image(in_dir(state, "bad"), bytes, size, &a), CS_ERR_INPUT,
                     bad[i].reason);
        assert_null(a.data);
    }
}

/* Nor are they empty arrays where no data follow. */
TEST_IN_DIR(bad_shapes_of_nothing_are_refused)
{
    static const char *const bad[] = {"1", "(1,1,1,1,1,1,1,1,1)", "(0.5,)", "(-1,)", "('1',)"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char bytes[256], dictionary[128];
        cs_array a = {0};
        (void)snprintf(dictionary, sizeof dictionary,
                       "{'descr': '<i8', 'fortran_order': False, 'shape': %s}", bad[i]);
        const int64_t size = image(bytes, 1, dictionary, bytes, 0);
        assert_fails(read_image(in_dir(state, "bad"), bytes, size, &a), CS_ERR_INPUT, "bad");
        assert_null(a.data);
    }
}

/* Cut anywhere, or lengthened, an array is refused; it is never read beyond its end (ASan). */
TEST_IN_DIR(every_truncation_is_refused)
{
    const char *path = in_dir(state, "a.npy");
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    const double x[6] = {1, 2, 3, 4, 5, 6};
    OK(cs_npy_write(path, CS_F64, 2, (int64_t[]){2, 3}, x));
    OK(cs_file_read(path, 1000, &bytes, &size));
    assert_int_equal(size, 128 + 48);
    for (int64_t n = 0; n < size; ++n) {
        cs_array a = {0};
        CS_AUTO_FREE char *cut = malloc(n > 0 ? (size_t)n : 1);
        assert_non_null(cut);
        memcpy(cut, bytes, (size_t)n);
        assert_fails(read_image(in_dir(state, "cut"), cut, n, &a), CS_ERR_INPUT, "cut: ");
        assert_null(a.data);
    }
    cs_array a = {0};
    char longer[128 + 48 + 1] = {0};
    memcpy(longer, bytes, (size_t)size);
    assert_fails(read_image(in_dir(state, "long"), longer, sizeof longer, &a), CS_ERR_INPUT,
                 "byte 128: the header announces 48 bytes of data, but 49 follow");
}

TEST_IN_DIR(what_is_no_array_is_named)
{
    const char *path = in_dir(state, "x.npy");
    const struct {
        const char *text;
        int64_t size;
        const char *reason;
    } bad[] = {
        {"version https://git-lfs.github.com/spec/v1\noid", 46, "x.npy: is a Git LFS pointer"},
        {"PK\3\4xxxxxx", 10, "x.npy: is a zip archive"},
        {"0.1 0.2 0.3\n", 12, "x.npy: not an NPY array (bad magic)"},
        {"", 0, "x.npy: ends at byte 0, but 8 more bytes are expected"},
        {"\x93NUMPY\4\0", 8, "x.npy: byte 6: NPY version 4.0"},
        {"\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12,
         "x.npy: byte 8: invalid header length of 4294967295 bytes"},
    };
    cs_array a = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        OK(cs_file_write(path, bad[i].text, bad[i].size));
        assert_fails(cs_npy_read(path, 0, &a), CS_ERR_INPUT, bad[i].reason);
    }
    assert_fails(cs_npy_read(in_dir(state, "none.npy"), 0, &a), CS_ERR_IO, "none.npy: cannot read");
    assert_fails(cs_npy_read(in_dir(state, ""), 0, &a), CS_ERR_IO, "is a directory");
    assert_fails(cs_npy_read(path, -1, &a), CS_ERR_USAGE, "limit of -1");
    assert_null(a.data);
}

/* A sparse file of 1 TiB with a true header: refused by the limit before memory is taken. */
TEST_IN_DIR(limits_are_checked_before_memory)
{
    const char *path = in_dir(state, "huge.npy");
    const int64_t items = (int64_t)1 << 37;
    CS_AUTO_FREE char *h = NULL;
    int64_t size = 0;
    cs_array a = {0};
    OK(cs_npy_header(CS_F64, false, 1, &items, &h, &size));
    OK(cs_file_write(path, h, size));
    assert_fails(cs_npy_read(path, 0, &a), CS_ERR_INPUT,
                 "1099511627776 bytes of data, but 0 follow");
    if (truncate(path, size + 8 * items) != 0) {
        skip(); /* a file system without sparse files of this size */
    }
    (void)cs_mem_fail_at(0);
    assert_fails(cs_npy_read(path, 1 << 20, &a), CS_ERR_INPUT,
                 "1099511627776 bytes of data, more than the limit of 1048576");
    assert_int_equal(cs_mem_fail_at(0), 1); /* the header's dictionary only */
    assert_fails(cs_npy_read(path, 0, &a), CS_ERR_MEMORY, "GB of memory are free");
}

/* A pipe has no size: the header alone says how much to read, and too much is found at the end. */
TEST(pipes_are_read)
{
    char path[32], bytes[256];
    const int64_t x[2] = {5, -6};
    int64_t size =
        image(bytes, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", x, sizeof x);
    (void)state;
    for (int extra = -1; extra <= 1; ++extra) {
        int end[2];
        assert_int_equal(pipe(end), 0);
        (void)snprintf(path, sizeof path, "/dev/fd/%d", end[0]);
        pid_t child = test_fork();
        if (child == 0) {
            FILE *f = fdopen(end[1], "wb");
            bytes[size] = 'x';
            size_t n = (size_t)(size + extra);
            _exit(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0 ? 0 : 1);
        }
        CS_AUTO(cs_array) a = {0};
        assert_int_equal(close(end[1]), 0);
        if (extra == 0) {
            OK(cs_npy_read(path, 0, &a));
            assert_true(cs_array_f64(&a, 1) == -6);
        } else {
            assert_fails(cs_npy_read(path, 0, &a), CS_ERR_INPUT,
                         extra > 0 ? "more data than the header announces"
                                   : "1 more bytes are expected");
        }
        assert_int_equal(close(end[0]), 0);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
    }
}

TEST_IN_DIR(integers_are_exact_or_refused)
{
    int64_t out = 0;
    double x[] = {-3, 0.5, NAN, 0x1p63, -0x1p63};
    cs_array a = {.dtype = CS_F64, .item_size = 8, .size = 5, .data = x};
    OK(cs_array_i64(&a, 0, &out));
    assert_int_equal(out, -3);
    assert_fails(cs_array_i64(&a, 1, &out), CS_ERR_INPUT, "item 1 is 0.5");
    assert_fails(cs_array_i64(&a, 2, &out), CS_ERR_INPUT, "item 2 is nan");
    assert_fails(cs_array_i64(&a, 3, &out), CS_ERR_INPUT, "item 3 is 9.2233720368547758e+18");
    OK(cs_array_i64(&a, 4, &out));
    assert_true(out == INT64_MIN);
    uint64_t u[] = {INT64_MAX, UINT64_MAX};
    cs_array b = {.dtype = CS_U64, .item_size = 8, .size = 2, .data = u};
    OK(cs_array_i64(&b, 0, &out));
    assert_true(out == INT64_MAX);
    assert_fails(cs_array_i64(&b, 1, &out), CS_ERR_INPUT, "item 1 is 18446744073709551615");
    cs_array c = {.dtype = CS_BYTES, .item_size = 1, .size = 1, .data = (char[]){"7"}};
    assert_fails(cs_array_i64(&c, 0, &out), CS_ERR_INPUT, "item 0 is text");
    assert_true(isnan(cs_array_f64(&c, 0)));
}

TEST_IN_DIR(text_is_utf8)
{
    char bytes[256], *text = NULL;
    const uint32_t wide[] = {'c', 's', 'r', 0xE9, 0x3BB, 0x20AC, 0x1F600, 0, 0xD800, 0, 0, 0};
    int64_t size = image(bytes, 1, "{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }",
                         wide, sizeof wide);
    AUTO_OK(cs_array, a, read_image(in_dir(state, "u"), bytes, size, &a));
    assert_int_equal(a.item_size, 16);
    const char *want[] = {"csr\xC3\xA9", "\xCE\xBB\xE2\x82\xAC\xF0\x9F\x98\x80"};
    for (int i = 0; i < 2; ++i) {
        OK(cs_array_text(&a, i, &text));
        assert_string_equal(text, want[i]);
        cs_free(text);
    }
    assert_fails(cs_array_text(&a, 2, &text), CS_ERR_INPUT, "item 2 contains U+D800");
    cs_array_free(&a);
    size = image(bytes, 1, "{'descr': '|S3', 'fortran_order': False, 'shape': (), }", "csr", 3);
    OK(read_image(in_dir(state, "s"), bytes, size, &a));
    assert_int_equal(a.ndim, 0);
    OK(cs_array_text(&a, 0, &text));
    assert_string_equal(text, "csr");
    cs_free(text);
    cs_array number = {.dtype = CS_U8, .item_size = 1, .size = 1, .data = (char[]){"7"}};
    assert_fails(cs_array_text(&number, 0, &text), CS_ERR_INPUT, "item 0 is a number");
}

static cs_status write_big(const char *path)
{
    static const double x[1000];
    return cs_npy_write(path, CS_F64, 1, (int64_t[]){1000}, x);
}

TEST_IN_DIR(full_disk_is_an_error)
{
    assert_int_equal(
        on_full_disk(write_big, in_dir(state, "big.npy"), "big.npy: cannot write: File"),
        CS_ERR_IO);
    assert_int_equal(entries(state), 0);
    assert_fails(write_big("/dev/full"), CS_ERR_IO, "/dev/full: is a device");
}

static cs_status use_all(const char *path)
{
    const float x[6] = {1, 2, 3, 4, 5, 6};
    char bytes[256], *text = NULL;
    CS_AUTO(cs_array) a = {0}, f = {0}, u = {0};
    int64_t size =
        image(bytes, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", x, sizeof x);
    cs_status status = cs_npy_write(path, CS_F32, 2, (int64_t[]){2, 3}, x);
    if (status == CS_OK) status = cs_npy_read(path, 0, &a);
    if (status == CS_OK) status = read_image(path, bytes, size, &f);
    if (status == CS_OK) {
        size = image(bytes, 1, "{'descr': '|S3', 'fortran_order': False, 'shape': (), }", "csr", 3);
        status = read_image(path, bytes, size, &u);
    }
    if (status == CS_OK) status = cs_array_text(&u, 0, &text);
    cs_free(text);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    fail_each_allocation(use_all, in_dir(state, "m.npy"));
    assert_int_equal(entries(state), 1);
}

/* BF16 is the upper half of a float. */
TEST(bf16_decodes_every_value)
{
    for (uint32_t half = 0; half <= UINT16_MAX; ++half) {
        float x = cs_bf16_decode((uint16_t)half);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        assert_int_equal(bits, half << 16);
    }
}

/* All 65536 against sign * 2^(e-25) * (1024 + f). */
TEST(f16_decodes_every_value)
{
    for (int half = 0; half <= UINT16_MAX; ++half) {
        int exponent = half >> 10 & 31, fraction = half & 1023;
        float x = cs_f16_decode((uint16_t)half);
        assert_true((signbit(x) != 0) == (half >> 15 == 1));
        if (exponent == 31) {
            assert_true(fraction ? isnan(x) : isinf(x));
        } else {
            double want = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
            assert_true(fabs((double)x) == want);
        }
    }
}
