/* Numbers that depend on the length s of a sequence, as a user writes them: "min(0.5, 2/s)".
 *
 *   sum     = product {("+" | "-") product}
 *   product = signed {("*" | "/") signed}
 *   signed  = ("-" | "+") signed | power
 *   power   = atom ["^" signed]            -s^2 = -(s^2), 2^3^2 = 2^(3^2), 2^-1 = 0.5
 *   atom    = NUMBER | "s" | "(" sum ")" | NAME "(" sum {"," sum} ")"
 *   NAME    = min | max (two or more), round (halves away from 0) | floor | ceil | sqrt | log | exp
 *
 * in IEEE doubles, with optional spaces between. A text is compiled once; evaluation neither
 * allocates nor locks and takes time linear in the text. */
#pragma once

#include "base/status.h"

/* Most characters, and deepest nesting of parentheses, signs and powers. */
enum { CS_EXPRESSION_TEXT = 1000, CS_EXPRESSION_DEPTH = 50 };

typedef struct cs_expression cs_expression;

/* CS_ERR_USAGE quotes the text and the column, from 1, in bytes, with the unexpected character. */
cs_status cs_expression_parse(const char *text, cs_expression **out) CS_MUST_CHECK;
void cs_expression_free(cs_expression *expression);

/* Its value; NaN and infinities are returned as they arise (0/0, 1/0, log(-1)). */
double cs_expression_at(const cs_expression *expression, double s);

bool cs_expression_varies(const cs_expression *expression); /* it contains s */
const char *cs_expression_text(const cs_expression *expression);
