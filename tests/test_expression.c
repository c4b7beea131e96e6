/* Expressions in the length: values against closed forms, precedence, what is not a number, errors
 * with their column, hostile texts, memory. */
#include <stdlib.h>

#include "linalg_support.h"
#include "plan/expression.h"

static double value(const char *text, double s)
{
    cs_expression *e = NULL;
    OK(cs_expression_parse(text, &e));
    assert_string_equal(cs_expression_text(e), text);
    double x = cs_expression_at(e, s);
    cs_expression_free(e);
    return x;
}

/* The same operations in the same order: the same bits. */
TEST(values_are_those_of_the_formula)
{
    for (double s = 1; s < 2000; s = s * 1.7 + 1) {
        assert_true(value("min(0.5, 2/s)", s) == (2 / s < 0.5 ? 2 / s : 0.5));
        assert_true(value("max(1, s/3, 7)", s) == fmax(fmax(1, s / 3), 7));
        assert_true(value("1 - 1/s", s) == 1 - 1 / s);
        assert_true(value("round(0.15*s)", s) == round(0.15 * s));
        assert_true(value("floor(s/2) + ceil(s/2)", s) == floor(s / 2) + ceil(s / 2));
        assert_true(value("sqrt(s)*log(s)/exp(-s)", s) == sqrt(s) * log(s) / exp(-s));
        assert_true(value("log1p(1e-9/s)", s) == log1p(1e-9 / s));
        assert_true(value("(s-1)^2/s", s) == pow(s - 1, 2) / s);
        assert_true(value("\t2 * ( s )  ", s) == 2 * s);
    }
    assert_true(value("round(2.5)+round(-2.5)", 0) == 0 && value("round(2.5)", 0) == 3);
    assert_true(value("1e3+.5+2.", 0) == 1002.5 && value("1.5E-2", 0) == 0.015);
    assert_true(value("0.15", 0) == 0.15 && value("6", 0) == 6);
}

TEST(operators_bind_as_in_mathematics)
{
    const struct {
        const char *text;
        double value;
    } cases[] = {
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"2-3-4", -5},
        {"24/4/3", 2},
        {"2*3^2", 18},
        {"2^3^2", 512},
        {"-2^2", -4},
        {"(-2)^2", 4},
        {"2^-1", 0.5},
        {"2^-1^2", 0.5},
        {"--3", 3},
        {"-+3", -3},
        {"2--3", 5},
        {"2*-3", -6},
        {"8/2*4", 16},
        {"1-(2-3)", 2},
        {"min(4,2,3)", 2},
        {"max(4,9,3)", 9},
        {"min(1,max(2,3))", 1},
        {"-min(1,2)^2", -1},
    };
    assert_each(i, 0, sizeof cases / sizeof *cases, value(cases[i].text, 1e9) == cases[i].value);
}

/* Nothing hides what is not a number: fmin would. */
TEST(what_is_not_a_number_comes_out)
{
    assert_true(isnan(value("0/0", 1)) && isnan(value("min(0/0, 1)", 1)));
    assert_true(isnan(value("min(1, 0/0)", 1)) && isnan(value("max(0/0, 1)", 1)));
    assert_true(isnan(value("max(1, 0/0, 2)", 1)) && isnan(value("sqrt(-s)", 1)));
    assert_true(isnan(value("log(-1)", 1)) && value("log(s-1)", 1) == -INFINITY);
    assert_true(value("1/(s-1)", 1) == INFINITY && value("exp(s)", 1e6) == INFINITY);
}

TEST(variables_have_values_and_groups)
{
    static const cs_factors group[] = {CS_FACTORS_NONE, CS_FACTORS_LEFT, CS_FACTORS_RIGHT};
    const struct {
        const char *text;
        cs_factors on;
        double constant; /* where x = 0 */
    } cases[] = {
        {"x", CS_FACTORS_NONE, 0},
        {"exp(x) - 3", CS_FACTORS_NONE, -2},
        {"max(0, log(x/(y*z)))", CS_FACTORS_NONE, 0},
        {"x*(y + z)", CS_FACTORS_NONE, 0},
        {"y^2 + log(y)", CS_FACTORS_LEFT, 0},
        {"min(z, 3)", CS_FACTORS_RIGHT, 0},
        {"(x - y*z)/sqrt(y*z)", CS_FACTORS_PRODUCT, 0},
        {"(x + y*z)/2*z^3", CS_FACTORS_PRODUCT, 0},
        {"-log(y)*exp(z)", CS_FACTORS_PRODUCT, 0},
        {"y + z", CS_FACTORS_MIXED, 0},
        {"log(y*z)", CS_FACTORS_MIXED, 0},
        {"max(y, z)", CS_FACTORS_MIXED, 0},
        {"y^z", CS_FACTORS_MIXED, 0},
        {"(y + z)*2", CS_FACTORS_MIXED, 0},
        {"-(y + z)", CS_FACTORS_MIXED, 0},
    };
    const double value[] = {0, 0.25, 0.5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_expression *e = NULL;
        double constant = 0;
        OK(cs_expression_parse_in("xyz", cases[i].text, &e));
        assert_int_equal(cs_expression_factors(e, group, value, &constant), cases[i].on);
        assert_true(cases[i].on || constant == cases[i].constant);
        cs_expression_free(e);
    }
    cs_expression *e = NULL;
    OK(cs_expression_parse_in("xyz", "x + 10*y + 100*z", &e));
    assert_true(cs_expression_at_all(e, value) == 52.5 && cs_expression_varies(e));
    cs_expression_free(e);
    assert_fails(cs_expression_parse_in("xyz", "s", &e), CS_ERR_USAGE,
                 "unknown name s (the variables are x, y, z)");
}

TEST(dependence_on_the_length_is_known)
{
    cs_expression *e = NULL;
    OK(cs_expression_parse("2/3", &e));
    assert_false(cs_expression_varies(e));
    cs_expression_free(e);
    OK(cs_expression_parse("min(1,0*s)", &e));
    assert_true(cs_expression_varies(e));
    cs_expression_free(e);
    cs_expression_free(NULL);
}

TEST(errors_name_text_and_column)
{
    const char *const cases[][2] = {
        {"", "column 1: the end, but a value was expected"},
        {"   ", "column 4: the end, but a value"},
        {"2/", "\"2/\": column 3: the end, but a value"},
        {"2+*s", "column 3: \"*\", but a value"},
        {"2 s", "column 3: \"s\", but an operator"},
        {"(1+s", "column 5: the end, but ) was"},
        {"1+s)", "column 4: \")\", but an operator"},
        {"min(1)", "column 6: min and max need two values"},
        {"min()", "column 5: \")\", but a value"},
        {"min(1,2", "column 8: the end, but , or ) was"},
        {"sqrt(1,2)", "column 7: \",\", but ) was"},
        {"sqrt 2", "column 6: \"2\", but ( after a function"},
        {"1+mni(1,2)", "column 3: unknown name mni (the length is s); did you mean min?"},
        {"length/2", "column 1: unknown name length"},
        {"2*n", "column 3: unknown name n (the length is s)"},
        {"nan", "unknown name nan"},
        {"inf", "unknown name inf"},
        {"1.2.3", "column 1: not a number"},
        {"1e999", "column 1: not a number in the range of a double"},
        {"1e", "column 2: \"e\", but an operator"},
        {"0x10", "column 2: \"x\", but an operator"},
        {"2,5", "column 2: \",\", but an operator"},
        {"s\nx", "column 2: \"?\", but an operator"},
        {"\xc3\xa9", "column 1: \"?\", but a value"},
        {"s=2", "column 2: \"=\", but an operator"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_expression *e = NULL;
        assert_int_equal(cs_expression_parse(cases[i][0], &e), CS_ERR_USAGE);
        assert_null(e);
        expect_reason(cases[i][1]);
    }
}

static void refused(const char *repeated, size_t times, const char *reason)
{
    size_t n = strlen(repeated);
    CS_AUTO_FREE char *text = malloc(n * times + 1);
    for (size_t i = 0; i < times; ++i) {
        memcpy(text + i * n, repeated, n + 1);
    }
    cs_expression *e = NULL;
    assert_int_equal(cs_expression_parse(text, &e), CS_ERR_USAGE);
    expect_reason(reason);
}

TEST(hostile_texts_are_refused)
{
    refused("(", 100000, "100000 characters exceed the limit of 1000");
    refused("1+", 1 << 19, "1048576 characters exceed the limit of 1000");
    refused("(", 900, "column 51: nested too deeply in parentheses");
    refused("-", 900, "column 51: nested too deep");
    refused("2^", 400, "column 101: nested too deep");
    refused("min(1,", 150, "nested too deep");
    refused("1e", 500, "\"e\", but an operator");
    refused("9", 999, "column 1: not a number");
    refused("sss", 300, "column 1: unknown name");
}

/* As deep as may be, where most operands wait: 1+1*max(1,1+1*max(1,...s)) 49 deep. */
TEST(the_deepest_text_is_evaluated)
{
    char text[1001] = "";
    for (int i = 0; i < 49; ++i) {
        (void)strcat(text, "1+1*max(1,");
    }
    (void)strcat(text, "s");
    for (int i = 0; i < 49; ++i) {
        (void)strcat(text, ")");
    }
    assert_true(value(text, 7) == 56);
}

TEST(failed_allocations_are_reported)
{
    int failures = 0;
    EACH_ALLOCATION_FAILS(n) {
        cs_expression *e = NULL;
        failures += out_of_memory(cs_expression_parse("1/s", &e));
        cs_expression_free(e);
    }
    assert_true(failures >= 2);
}
