/* Sweeps: numbers of the form A:B:STEP, and the Cartesian product of their values.
 *
 * Axes are the numbers of the toy model and of the objectives: classes, length, tokens, unmasked,
 * mask-ratio, t, groups, columns. A value without colons (and LO:HI for unmasked and mask-ratio,
 * which is a range inside one objective) is one point. */
#pragma once

#include <stdint.h>

#include "base/status.h"

enum {
    CS_SWEEP_AXES = 8,
    CS_SWEEP_TEXT = 64,
    CS_SWEEP_PLACE = CS_SWEEP_AXES * (CS_SWEEP_TEXT + 16)
};

typedef struct {
    const char *name; /* of the option */
    /* the value if there is only one, borrowed; NULL if swept or unset */
    const char *text;
    int64_t count;      /* values; 0: unset */
    bool real;          /* mask-ratio */
    double start, step; /* value i is start + i step, mask ratios to 12 digits */
} cs_sweep_axis;

typedef struct {
    cs_sweep_axis axis[CS_SWEEP_AXES];
    /* product of the counts of the axes that are set; the last axis varies fastest */
    int64_t points;
} cs_sweep;

/* "classes" .. "columns", of axes 0 .. CS_SWEEP_AXES - 1 */
const char *cs_sweep_name(int axis);

/* text: CS_SWEEP_AXES values in the order of the axes, borrowed by *out; NULL: unset. CS_ERR_USAGE names
 * axis and value; more than a million points are refused. */
cs_status cs_sweep_read(const char *const *text, cs_sweep *out) CS_MUST_CHECK;

/* Gives an unset axis a value (static text). */
void cs_sweep_default(cs_sweep *sweep, const char *name, const char *text);

/* Text of an axis at a point, "" when unset. */
void cs_sweep_value(const cs_sweep *sweep, int64_t point, const char *name,
                    char text[CS_SWEEP_TEXT]);

/* "classes=2 length=4", the axes that are set. */
void cs_sweep_place(const cs_sweep *sweep, int64_t point, char text[CS_SWEEP_PLACE]);

/* More than one point, or a value in sweep form. */
bool cs_sweep_is_swept(const cs_sweep *sweep);
