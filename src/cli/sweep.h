/* Sweeps: options of the form A:B:STEP, and the cartesian product of their values.
 *
 * Axes are the numbers of the toy model and of the objectives: classes, length, tokens, unmasked,
 * mask-ratio, t, groups, columns. A value without colons (and LO:HI for unmasked and mask-ratio, which is a
 * range inside one objective) is one point.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "cli/opt.h"

enum { CS_SWEEP_AXES = 8, CS_SWEEP_TEXT = 64 };

typedef struct {
    const char *name;   /* of the option */
    const char *text;   /* the value when it is one, borrowed from args; NULL when swept or unset */
    int64_t count;      /* values; 0: unset */
    bool real;          /* mask-ratio */
    double start, step; /* value i is start + i step, mask ratios to 12 digits */
} cs_sweep_axis;

typedef struct {
    cs_sweep_axis axis[CS_SWEEP_AXES];
    int64_t points; /* product of the counts of the axes that are set; the last axis runs fastest */
} cs_sweep;

/* Reads the axes that the command has among its options. CS_ERR_USAGE names option and value; more
 * than a million points are refused. */
cs_status cs_sweep_of(const cs_args *args, cs_sweep *out) CS_MUST_CHECK;

/* Gives an unset axis a value (static text). */
void cs_sweep_default(cs_sweep *sweep, const char *name, const char *text);

/* Text of an option at a point, "" when unset. */
void cs_sweep_value(const cs_sweep *sweep, int64_t point, const char *name,
                    char text[CS_SWEEP_TEXT]);

/* More than one point, or an option in sweep form. */
bool cs_sweep_is_swept(const cs_sweep *sweep);
