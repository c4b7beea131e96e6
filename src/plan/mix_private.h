/* What a mixture is made of: parts with their shares. A part may be a group, which divides its share
 * among parts behind it: another mixture, or the values of a law. */
#pragma once

#include <jansson.h>

#include "plan/expression.h"
#include "plan/parameter.h"
#include "plan/plan_file.h"

typedef struct cs_mix_part {
    int64_t above;          /* the group that it is in, before it; -1: the whole mixture */
    char *where;            /* "mix.json: part 2", for messages */
    cs_expression *share;   /* to be divided by the sum over its group */
    bool group;             /* nothing below is meant */
    bool varies;            /* there are values */
    cs_objective objective; /* its constant parameters */
    unsigned set;           /* a bit for each parameter that is given */
    cs_expression *value[CS_PARAMETERS_ALL][2]; /* those that s is in: one value, or LO and HI */
    cs_plan_file *plans;                        /* of an objective `file`; NULL: none */
} cs_mix_part;

/* A share of shares that sum to `whole`: sums within rounding of 1 are 1, so that shares printed and
 * read back are the same numbers. */
double cs_mix_normal(const cs_plan_file *file, double share, double whole);

/* Sets a parameter from its value or, of a range, LO and HI, which are checked: CS_ERR_USAGE names
 * it and the value, with what may have been meant where it was typed and not computed. Not for
 * choices and files. */
cs_status cs_parameter_put(const cs_parameter *parameter, const double value[2], bool typed,
                           cs_objective *objective) CS_MUST_CHECK;

/* The array "plans" of a plan file into *file. */
cs_status cs_plans_read(const json_t *list, cs_plan_file *file) CS_MUST_CHECK;
