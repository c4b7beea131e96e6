/* io: tidy tables as CSV and as aligned text. */
#include <locale.h>

#include "io/file.h"
#include "io/table.h"
#include "io_support.h"

static void assert_cell(const cs_table *t, int64_t row, const char *column, const char *text)
{
    int c = cs_table_column(t, column);
    assert_true(c >= 0);
    assert_string_equal(t->cell[row * t->columns + c], text);
}

static cs_status fill(cs_table *t)
{
    cs_status status = cs_table_init(t, "name,value,count");
    if (status == CS_OK && (status = cs_table_row(t)) == CS_OK &&
        (status = cs_table_text(t, "name", "plain")) == CS_OK &&
        (status = cs_table_real(t, "value", 0.1)) == CS_OK) {
        status = cs_table_int(t, "count", INT64_MIN);
    }
    if (status == CS_OK && (status = cs_table_row(t)) == CS_OK &&
        (status = cs_table_text(t, "name", "a \"b\", c\nd\r\ne")) == CS_OK) {
        status = cs_table_real(t, "value", NAN);
    }
    if (status == CS_OK && (status = cs_table_row(t)) == CS_OK &&
        (status = cs_table_real(t, "value", -INFINITY)) == CS_OK) {
        status = cs_table_int(t, "count", 123456789);
    }
    return status;
}

TEST_IN_DIR(csv_is_exact)
{
    const char *path = in_dir(state, "t.csv");
    cs_table t = {0};
    OK(fill(&t));
    OK(cs_table_write_csv(&t, path));
    assert_content(path, "name,value,count\n"
                         "plain,0.10000000000000001,-9223372036854775808\n"
                         "\"a \"\"b\"\", c\nd\r\ne\",,\n"
                         ",-inf,123456789\n");
    cs_table_free(&t);
    cs_table_free(&t); /* zeroed by the first */
}

TEST_IN_DIR(csv_round_trip)
{
    const char *path = in_dir(state, "t.csv");
    AUTO_OK(cs_table, t, fill(&t));
    OK(cs_table_write_csv(&t, path));
    AUTO_OK(cs_table, back, cs_table_read_csv(path, &back));
    assert_int_equal(back.columns, t.columns);
    assert_int_equal(back.rows, t.rows);
    for (int c = 0; c < t.columns; ++c) {
        assert_string_equal(back.name[c], t.name[c]);
        for (int64_t r = 0; r < t.rows; ++r) {
            assert_cell(&back, r, t.name[c], t.cell[r * t.columns + c]);
        }
    }
}

/* An empty cell of a table of one column is an empty line, which some readers skip. */
TEST_IN_DIR(lone_column_round_trip)
{
    const char *path = in_dir(state, "one.csv");
    AUTO_OK(cs_table, t, cs_table_init(&t, "x"));
    OK(cs_table_row(&t));
    OK(cs_table_row(&t));
    OK(cs_table_int(&t, "x", 5));
    OK(cs_table_write_csv(&t, path));
    assert_content(path, "x\n\"\"\n5\n");
    AUTO_OK(cs_table, back, cs_table_read_csv(path, &back));
    assert_int_equal(back.rows, 2);
    assert_cell(&back, 0, "x", "");
    assert_cell(&back, 1, "x", "5");
}

/* Text that a spreadsheet would compute has an apostrophe before it in the file, and loses it when
 * it is read. */
TEST_IN_DIR(formulas_are_text)
{
    static const char *const cells[][2] = {{"=1+2", "'=1+2"},
                                           {"@x", "'@x"},
                                           {"-", "-"},
                                           {"'-", "'-"},
                                           {"--", "'--"},
                                           {"+cmd", "'+cmd"},
                                           {"\tx", "'\tx"},
                                           {"=A1,\"b\"", "\"'=A1,\"\"b\"\"\""},
                                           {"'=x", "''=x"},
                                           {"'tis", "'tis"},
                                           {"-1.5e-3", "-1.5e-3"},
                                           {"+5", "+5"},
                                           {"-inf", "-inf"},
                                           {"a=b", "a=b"}};
    const char *path = in_dir(state, "f.csv");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; ++i) {
        CS_AUTO_FREE char *content = cs_format("'=n,b\n%s,x\n", cells[i][1]);
        AUTO_OK(cs_table, t, cs_table_init(&t, "=n,b"));
        OK(cs_table_row(&t));
        OK(cs_table_text(&t, "=n", cells[i][0]));
        OK(cs_table_text(&t, "b", "x"));
        OK(cs_table_write_csv(&t, path));
        assert_content(path, content);
        AUTO_OK(cs_table, back, cs_table_read_csv(path, &back));
        assert_cell(&back, 0, "=n", cells[i][0]);
    }
}

TEST_IN_DIR(other_writers_are_read)
{
    const char *path = in_dir(state, "o.csv");
    const char text[] = "\xEF\xBB\xBF"
                        "a,\"b \"\"q\"\"\"\r\n1,\"x\r\ny\"\r\n,\" \"";
    OK(cs_file_write(path, text, sizeof text - 1));
    AUTO_OK(cs_table, t, cs_table_read_csv(path, &t));
    assert_int_equal(t.columns, 2);
    assert_int_equal(t.rows, 2);
    assert_cell(&t, 0, "a", "1");
    assert_cell(&t, 0, "b \"q\"", "x\r\ny");
    assert_cell(&t, 1, "a", "");
    assert_cell(&t, 1, "b \"q\"", " "); /* the last line lacks its end */
    assert_int_equal(cs_table_column(&t, "c"), -1);
}

TEST_IN_DIR(csv_errors_name_their_line)
{
    const char *path = in_dir(state, "bad.csv");
    const struct {
        const char *text;
        int64_t size;
        const char *reason;
    } bad[] = {
        {"a,b\n1,2\n3\n", 10, "bad.csv:3: 1 field, but the header has 2"},
        {"a,b\n\"x\ny\",2\n1,2,3\n", 18, "bad.csv:4: 3 fields"},
        {"a,b\n1,2\n\n", 9, "bad.csv:3: 1 field"},
        {"a,b\n1,2\n3,\"open\n\n", 17, "bad.csv:3: a quote opened here"},
        {"a,b\n1,x\"y\"\n", 11, "bad.csv:2: a quote inside the unquoted field 'x'"},
        {"a,b\n\"x\"y,2\n", 11, "bad.csv:2: text after a closing quote"},
        {"a,b\r1,2\r", 8, "bad.csv:1: a carriage return"},
        {"a,b,a\n", 6, "bad.csv:1: two columns are named 'a'"},
        {"a\n1\n\0\n", 6, "bad.csv:3: a NUL byte"},
        {"", 0, "bad.csv:1: the file is empty"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "bad.csv: is a Git LFS pointer"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_table t = {0};
        OK(cs_file_write(path, bad[i].text, bad[i].size));
        assert_fails(cs_table_read_csv(path, &t), CS_ERR_INPUT, bad[i].reason);
        assert_null(t.name);
    }
}

TEST_IN_DIR(bad_headers_are_refused)
{
    cs_table t = {0};
    assert_fails(cs_table_init(&t, "a,b,a"), CS_ERR_USAGE, "two columns are named 'a'");
    assert_fails(cs_table_init(&t, "a,,b"), CS_ERR_USAGE, "column 2 has an empty name");
    assert_fails(cs_table_init(&t, ""), CS_ERR_USAGE, "column 1 has an empty name");
    assert_null(t.name);
}

TEST_IN_DIR(text_is_aligned)
{
    const char *path = in_dir(state, "t.txt");
    AUTO_OK(cs_table, t, cs_table_init(&t, "name,\xCF\x83,count"));
    OK(cs_table_row(&t));
    OK(cs_table_text(&t, "name", "\xC3\xA9t\xC3\xA9"));
    OK(cs_table_real(&t, "\xCF\x83", 1.0 / 3));
    OK(cs_table_int(&t, "count", 123456789));
    OK(cs_table_row(&t));
    OK(cs_table_text(&t, "name", "longer"));
    OK(cs_table_real(&t, "\xCF\x83", -1e-10));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    OK(cs_table_print_text(&t, f));
    assert_int_equal(fclose(f), 0);
    assert_content(path, "name           \xCF\x83      count\n"
                         "\xC3\xA9t\xC3\xA9     0.333333  123456789\n"
                         "longer    -1e-10           \n");
}

static cs_status write_long_table(const char *path)
{
    CS_AUTO(cs_table) t = {0};
    cs_status status = cs_table_init(&t, "x");
    for (int i = 0; i < 5000 && status == CS_OK; ++i) {
        status = cs_table_row(&t);
    }
    if (status == CS_OK) status = cs_table_write_csv(&t, path);
    return status;
}

static cs_status print_to_full(const char *path)
{
    CS_AUTO(cs_table) t = {0};
    FILE *f = fopen(path, "w");
    cs_status status = f ? fill(&t) : CS_ERR_IO;
    if (status == CS_OK) {
        (void)setvbuf(f, NULL, _IONBF, 0);
        status = cs_table_print_text(&t, f);
    }
    if (f) {
        (void)fclose(f);
    }
    return status;
}

TEST_IN_DIR(failed_writes_are_errors)
{
    const char *path = in_dir(state, "t.csv");
    assert_int_equal(on_full_disk(write_long_table, path, "t.csv: cannot write table: File too"),
                     CS_ERR_IO);
    assert_int_equal(entries(state), 0);
    assert_fails(print_to_full("/dev/full"), CS_ERR_IO, "cannot write table: No space left");
}

TEST_IN_DIR(tables_ignore_the_locale)
{
    if (!comma_locale(state)) {
        skip();
    }
    const char *path = in_dir(state, "t.csv");
    CS_AUTO(cs_table) t = {0};
    cs_status status = cs_table_init(&t, "x");
    if (status == CS_OK) status = cs_table_row(&t);
    if (status == CS_OK) status = cs_table_real(&t, "x", 0.5);
    if (status == CS_OK) status = cs_table_write_csv(&t, path);
    (void)setlocale(LC_NUMERIC, "C");
    OK(status);
    assert_content(path, "x\n0.5\n");
}

static cs_status use_all(const char *path)
{
    CS_AUTO(cs_table) t = {0}, back = {0};
    FILE *f = NULL;
    cs_status status = fill(&t);
    if (status == CS_OK) status = cs_table_write_csv(&t, path);
    if (status == CS_OK) status = cs_table_read_csv(path, &back);
    if (status == CS_OK && (f = fopen("/dev/null", "w"))) {
        status = cs_table_print_text(&back, f);
        (void)fclose(f);
    }
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    fail_each_allocation(use_all, in_dir(state, "m.csv"));
    assert_true(entries(state) <= 1);
}
