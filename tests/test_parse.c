/* io/parse: numbers, sizes and lists that a person wrote. */
#include "io/number.h"
#include "io_support.h"

TEST(integers_fill_the_text)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},   {"-0", 0},    {"+7", 7},
                {"-8", -8}, {"0012", 12}, {"9223372036854775807", INT64_MAX},
                {"9", 9},   {"-9", -9},   {"-9223372036854775808", INT64_MIN}};
    int64_t x = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        OK(cs_parse_int(good[i].text, "n", INT64_MIN, INT64_MAX, &x));
        assert_int_equal(x, good[i].value);
    }
    static const char *const bad[] = {"", "+", "-", "+-1", "1 ", " 1", "1.0", "0x1", "1e3", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_parse_int(bad[i], "n", 0, 9, &x), CS_ERR_USAGE, "is not an integer");
    }
    assert_fails(cs_parse_int("9223372036854775808", "n", INT64_MIN, INT64_MAX, &x), CS_ERR_USAGE,
                 "n: 9223372036854775808 is out of the range");
    assert_fails(cs_parse_int("-9223372036854775809", "n", INT64_MIN, INT64_MAX, &x), CS_ERR_USAGE,
                 "out of the range of 64-bit integers");
    assert_int_equal(x, -9223372036854775807 - 1);
}

TEST(both_ends_of_a_range_belong_to_it)
{
    int64_t x = 0;
    double y = 0;
    OK(cs_parse_int("2", "n", 2, 3, &x));
    OK(cs_parse_int("3", "n", 2, 3, &x));
    assert_fails(cs_parse_int("1", "n", 2, 3, &x), CS_ERR_USAGE, "n: 1 is not in 2..3");
    assert_fails(cs_parse_int("4", "n", 2, 3, &x), CS_ERR_USAGE, "n: 4 is not in 2..3");
    assert_fails(cs_parse_int("1", "n", 2, INT64_MAX, &x), CS_ERR_USAGE, "n: 1 is below 2");
    OK(cs_parse_real("2", "r", 2, 3, &y));
    OK(cs_parse_real("3e0", "r", 2, 3, &y));
    assert_true(y == 3);
    assert_fails(cs_parse_real("1.5", "r", 2, 3, &y), CS_ERR_USAGE, "r: 1.5 is not in [2, 3]");
    assert_fails(cs_parse_real("3.5", "r", 2, 3, &y), CS_ERR_USAGE, "r: 3.5 is not in [2, 3]");
    assert_fails(cs_parse_real("0", "r", CS_ABOVE_0, CS_BELOW_1, &y), CS_ERR_USAGE,
                 "r: 0 is not in (0, 1)");
    assert_fails(cs_parse_real("1", "r", CS_ABOVE_0, CS_BELOW_1, &y), CS_ERR_USAGE,
                 "r: 1 is not in (0, 1)");
    assert_true(x == 3 && y == 3); /* as they were */
}

TEST(reals_are_decimal_and_finite)
{
    double x = 7;
    static const char *const bad[] = {"", "nan", "inf", "-inf", "0x1p3", "1,5", "1 ", "ten"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_parse_real(bad[i], "r", -10, 10, &x), CS_ERR_USAGE, "is not a number");
    }
    assert_fails(cs_parse_real("1e999", "r", 0, 1, &x), CS_ERR_USAGE, "range of doubles");
    assert_fails(cs_parse_real("1e", "r", 0, 1, &x), CS_ERR_USAGE, "range of doubles");
    assert_true(x == 7);
}

/* 15 % in place of a share, however it is written; what is no share has no hint. */
TEST(percents_are_suggested_as_shares)
{
    double x = 0;
    char hint[64];
    assert_fails(cs_parse_real("15%", "r", 0, 1, &x), CS_ERR_USAGE, "; did you mean 0.15?");
    assert_fails(cs_parse_real("15", "r", 0, 1, &x), CS_ERR_USAGE,
                 "r: 15 is not in [0, 1]; did you mean 0.15?");
    static const char *const none[] = {"100", "1.5", "2", "9.9", "-15"};
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
        cs_reason_clear();
        assert_int_equal(cs_parse_real(none[i], "r", 0, 1, &x), CS_ERR_USAGE);
        assert_null(strstr(cs_reason(), "did you mean"));
    }
    cs_reason_clear();
    assert_int_equal(cs_parse_real("15", "r", 0, 2, &x), CS_ERR_USAGE); /* not a share */
    assert_null(strstr(cs_reason(), "did you mean"));
    assert_true(cs_percent("15%") == 15 && cs_percent("2.5%") == 2.5);
    assert_true(cs_percent("15") == 0 && cs_percent("%") == 0 && cs_percent("a%") == 0);
    assert_true(cs_percent("15%%") == 0 && cs_percent("15% ") == 0);
    char many[80]; /* more digits than any double has */
    memset(many, '1', sizeof many);
    many[78] = '%';
    many[79] = '\0';
    assert_true(cs_percent(many) == 0);
    assert_string_equal(cs_share_hint(99, hint), "; did you mean 0.99?");
    assert_string_equal(cs_share_hint(100, hint), "");
    assert_string_equal(cs_share_hint(0, hint), "");
    cs_reason_clear();
}

TEST(sizes_have_units)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},        {"5", 5},
                {"17", 17},      {"1K", 1024},
                {"3M", 3145728}, {"2G", 2147483648},
                {"10K", 10240},  {"8589934591G", 9223372035781033984}}; /* (2^33 - 1) 2^30 */
    int64_t x = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        OK(cs_parse_size(good[i].text, "m", &x));
        assert_int_equal(x, good[i].value);
    }
    static const char *const bad[] = {"",
                                      "K",
                                      "G",
                                      "1T",
                                      "1KM",
                                      "1 K",
                                      "-1",
                                      "1.5G",
                                      "1k",
                                      "K1",
                                      "00000000000000000000000000000001",
                                      "1KK"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_parse_size(bad[i], "m", &x), CS_ERR_USAGE, "is not a size in bytes");
    }
    OK(cs_parse_size("0000000000000000000000000000001", "m", &x)); /* as many as are taken */
    assert_int_equal(x, 1);
    assert_fails(cs_parse_size("8589934592G", "m", &x), CS_ERR_USAGE, "not in 0..8589934591");
    assert_fails(cs_parse_size("9007199254740992K", "m", &x), CS_ERR_USAGE, "not in 0..");
}

TEST(lists_have_commas)
{
    int64_t count = 0, *whole = NULL;
    double *real = NULL;
    OK(cs_parse_int_list("3,-1,2", "l", -1, 3, &count, &whole));
    assert_true(count == 3 && whole[0] == 3 && whole[1] == -1 && whole[2] == 2);
    cs_free(whole);
    OK(cs_parse_int_list("4", "l", 0, 4, &count, &whole));
    assert_true(count == 1 && whole[0] == 4);
    cs_free(whole);
    whole = NULL;
    OK(cs_parse_int_list(" 3, -1 ,2 ", "l", -1, 3, &count, &whole)); /* blanks around numbers */
    assert_true(count == 3 && whole[0] == 3 && whole[1] == -1 && whole[2] == 2);
    cs_free(whole);
    whole = NULL;
    OK(cs_parse_real_list("0.5, 1,0", "l", 0, 1, &count, &real));
    assert_true(count == 3 && real[0] == 0.5 && real[1] == 1 && real[2] == 0);
    cs_free(real);
    real = NULL;
    assert_fails(cs_parse_int_list("1,,2", "l", 0, 3, &count, &whole), CS_ERR_USAGE,
                 "l: '' is not an integer");
    assert_fails(cs_parse_int_list("1, ,2", "l", 0, 3, &count, &whole), CS_ERR_USAGE,
                 "l: '' is not an integer");
    assert_fails(cs_parse_int_list("1 2", "l", 0, 3, &count, &whole), CS_ERR_USAGE,
                 "l: '1 2' is not an integer");
    assert_fails(cs_parse_int_list("1,4", "l", 0, 3, &count, &whole), CS_ERR_USAGE,
                 "l: 4 is not in 0..3");
    assert_fails(cs_parse_real_list("1,x,9", "l", 0, 3, &count, &real), CS_ERR_USAGE,
                 "l: 'x' is not a number");
    assert_fails(cs_parse_real_list("", "l", 0, 3, &count, &real), CS_ERR_USAGE, "l: ''");
    assert_true(count == 3 && !whole && !real);
}

static cs_status use_all(const char *path)
{
    (void)path;
    int64_t count = 0, *whole = NULL;
    CS_AUTO_FREE double *real = NULL;
    cs_status status = cs_parse_int_list("1,2", "l", 0, 3, &count, &whole);
    if (status == CS_OK) status = cs_parse_real_list("1,2", "l", 0, 3, &count, &real);
    cs_free(whole);
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(use_all, "");
}
