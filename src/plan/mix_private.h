/* Parts of a mixture with their shares. A part may be a group, which divides its share among parts
 * that follow it: another mixture, or the values of a distribution. */
#pragma once

#include "plan/expression.h"
#include "plan/parameter.h"
#include "plan/plan_file.h"

typedef struct cs_mix_part {
    /* the group that contains it, an earlier part; -1: the whole mixture */
    int64_t above;
    char *where;            /* "mix.json: part 2", for messages */
    cs_expression *share;   /* divided by the sum over its group */
    bool group;             /* the members below are unused */
    bool varies;            /* some values depend on s */
    cs_objective objective; /* its constant parameters */
    unsigned set;           /* a bit for each parameter that is given */
    /* values that depend on s: one value, or LO and HI */
    cs_expression *value[CS_PARAMETERS_ALL][2];
    cs_plan_file *plans; /* for an objective `file`; else NULL */
} cs_mix_part;

/* A share of shares that sum to `whole`. Sums within rounding of 1 count as 1, so that shares that
 * are printed and read back are the same numbers. */
double cs_mix_normal(const cs_plan_file *file, double share, double whole);

/* Sets a parameter from its value or, for a range, from LO and HI, which are checked: CS_ERR_USAGE
 * names it and the value, with a suggestion if it was typed and not computed. Not for choices and
 * files. */
cs_status cs_parameter_put(const cs_parameter *parameter, const double value[2], bool typed,
                           cs_objective *objective) CS_MUST_CHECK;

/* Reads the array "plans" of a plan file into *file. */
cs_status cs_plans_read(const json_t *list, cs_plan_file *file) CS_MUST_CHECK;
