/* Numbers that depend on variables of one letter, as a user writes them: "min(0.5, 2/s)" with the
 * length s of a sequence.
 *
 *   sum     = product {("+" | "-") product}
 *   product = signed {("*" | "/") signed}
 *   signed  = ("-" | "+") signed | power
 *   power   = atom ["^" signed]            -s^2 = -(s^2), 2^3^2 = 2^(3^2), 2^-1 = 0.5
 *   atom    = NUMBER | VARIABLE | "(" sum ")" | NAME "(" sum {"," sum} ")"
 *   NAME    = min | max (two or more), round (halves away from 0) | floor | ceil | sqrt | log | log1p | exp
 *
 * in IEEE doubles, with optional spaces between. A text is compiled once; evaluation neither
 * allocates nor locks and takes time linear in the text. */
#pragma once

#include "base/status.h"

/* Most characters, and deepest nesting of parentheses, signs and powers. */
enum { CS_EXPRESSION_TEXT = 1000, CS_EXPRESSION_DEPTH = 50 };

typedef struct cs_expression cs_expression;

/* An expression in the length s. CS_ERR_USAGE quotes the text and the column, from 1, in bytes, with
 * the unexpected character. */
cs_status cs_expression_parse(const char *text, cs_expression **out) CS_MUST_CHECK;

/* An expression in these variables, a letter each, at most CS_EXPRESSION_VARIABLES. */
enum { CS_EXPRESSION_VARIABLES = 8 };
cs_status cs_expression_parse_in(const char *variables, const char *text,
                                 cs_expression **out) CS_MUST_CHECK;
void cs_expression_free(cs_expression *expression);

/* Its value; NaN and infinities are returned as they arise (0/0, 1/0, log(-1)). */
double cs_expression_at(const cs_expression *expression, double s);

/* The same at a value for each variable. */
double cs_expression_at_all(const cs_expression *expression, const double *value);

/* How an expression depends on the variables of a left and of a right group. */
typedef enum {
    CS_FACTORS_NONE = 0,
    CS_FACTORS_LEFT = 1,
    CS_FACTORS_RIGHT = 2,
    CS_FACTORS_PRODUCT = 3, /* a function of the left ones times one of the right ones */
    CS_FACTORS_MIXED = 4,   /* it may be no such product */
} cs_factors;

/* The dependence, by rules of sums, products, powers and functions, for the group of each variable;
 * CS_FACTORS_NONE: it has the value given. 0 times anything, and 0 divided by anything that is not
 * constant, is 0. *constant: the value for CS_FACTORS_NONE. */
cs_factors cs_expression_factors(const cs_expression *expression, const cs_factors *group,
                                 const double *value, double *constant);

bool cs_expression_varies(const cs_expression *expression); /* it contains a variable */
const char *cs_expression_text(const cs_expression *expression);
