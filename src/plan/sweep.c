/* Sweep points are numbered in mixed radix; mask ratios are start + i step rounded to 12 digits, so
 * that 0.1:0.9:0.1 gives 0.3 and not 0.30000000000000004. */
#include "plan/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "io/number.h"

static const struct {
    const char *name;
    bool real, ranged; /* ranged: LO:HI is one value */
    int64_t least;     /* of a whole number; ratios are in (0, 1) */
} axis_table[CS_SWEEP_AXES] = {
    {"classes", false, false, 1}, {"length", false, false, 1},   {"tokens", false, false, 1},
    {"unmasked", false, true, 0}, {"mask-ratio", true, true, 0}, {"t", false, false, 1},
    {"groups", false, false, 1},  {"columns", false, false, 1},
};

static const double most_points = 1e6;

static cs_status read_part(const char *what, bool real, const char *text, double *out)
{
    if (real) {
        return cs_parse_real(text, what, -HUGE_VAL, HUGE_VAL, out);
    }
    int64_t value = 0;
    cs_status status = cs_parse_int(text, what, 0, INT64_C(1) << 53, &value);
    *out = (double)value;
    return status;
}

/* A value that no other option could make valid is an error, as it is alone; what depends on the
 * others (more unmasked tokens than positions) is for each point. */
static cs_status check_ends(const char *what, const char *text, const cs_sweep_axis *axis,
                            int64_t least)
{
    double ends[2] = {axis->start, axis->start + (double)(axis->count - 1) * axis->step};
    for (int i = 0; i < 2; ++i) {
        char number[CS_REAL_TEXT];
        cs_real_format(ends[i], 12, number);
        if (axis->real && !(ends[i] > 0.0 && ends[i] < 1.0 - 1e-12)) {
            return cs_fail(CS_ERR_USAGE, "%s: %s of the sweep %s is not in (0, 1)", what, number,
                           text);
        }
        if (!axis->real && ends[i] < (double)least) {
            return cs_fail(CS_ERR_USAGE, "%s: %s of the sweep %s is below %lld", what, number, text,
                           (long long)least);
        }
    }
    return CS_OK;
}

static cs_status read_sweep(const char *what, const char *text, int64_t least, cs_sweep_axis *axis)
{
    double part[3] = {0.0, 0.0, 0.0};
    CS_AUTO_FREE char *copy = cs_strdup(text);
    char *rest = copy;
    cs_status status = copy ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < 3 && status == CS_OK; ++i) {
        status = read_part(what, axis->real, strsep(&rest, ":"), &part[i]);
    }
    if (status != CS_OK) return status;
    if (!(part[2] > 0.0)) {
        return cs_fail(CS_ERR_USAGE, "%s: the step of %s must be above 0", what, text);
    }
    if (part[1] < part[0]) {
        return cs_fail(CS_ERR_USAGE, "%s: the sweep %s descends; it must ascend", what, text);
    }
    /* B belongs to the sweep when the steps reach it up to rounding. */
    double count = floor((part[1] - part[0]) / part[2] + 1e-9) + 1.0;
    if (count > most_points) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: the sweep %s has %.0f values, but at most %.0f are allowed", what, text,
                       count, most_points);
    }
    axis->text = NULL;
    axis->count = (int64_t)count;
    axis->start = part[0];
    axis->step = part[2];
    return check_ends(what, text, axis, least);
}

static cs_status read_axis(const char *text, int index, cs_sweep_axis *axis)
{
    char what[32];
    int colons = 0;
    (void)snprintf(what, sizeof what, "--%s", axis_table[index].name);
    for (const char *p = text; *p; ++p) {
        colons += *p == ':';
    }
    if (colons == 2) {
        return read_sweep(what, text, axis_table[index].least, axis);
    }
    if (strlen(text) >= CS_SWEEP_TEXT) {
        return cs_fail(CS_ERR_USAGE, "%s: '%.80s' is too long for a number", what, text);
    }
    axis->text = text;
    axis->count = 1;
    if (colons == 0 && axis->real) {
        double ratio = 0.0;
        return cs_parse_real(text, what, -HUGE_VAL, HUGE_VAL, &ratio);
    }
    if (colons == 0) {
        int64_t number = 0;
        return cs_parse_int(text, what, 0, INT64_MAX, &number);
    }
    if (colons == 1 && axis_table[index].ranged) {
        return CS_OK; /* LO:HI is read by the objective */
    }
    return cs_fail(CS_ERR_USAGE, "%s: '%s' is not %s; a sweep is A:B:STEP", what, text,
                   axis_table[index].ranged ? "a value or LO:HI" : "a value");
}

static cs_status count_points(cs_sweep *sweep)
{
    double points = 1.0;
    sweep->points = 1;
    for (int i = 0; i < CS_SWEEP_AXES; ++i) {
        int64_t count = sweep->axis[i].count > 0 ? sweep->axis[i].count : 1;
        points *= (double)count;
        if (points > most_points) {
            return cs_fail(CS_ERR_USAGE, "the sweep has more than %.0f points, the limit",
                           most_points);
        }
        sweep->points *= count;
    }
    return CS_OK;
}

const char *cs_sweep_name(int axis)
{
    return axis_table[axis].name;
}

cs_status cs_sweep_read(const char *const *text, cs_sweep *out)
{
    cs_sweep sweep = {.points = 1};
    cs_status status = CS_OK;
    for (int i = 0; i < CS_SWEEP_AXES && status == CS_OK; ++i) {
        sweep.axis[i].name = axis_table[i].name;
        sweep.axis[i].real = axis_table[i].real;
        if (text[i]) {
            status = read_axis(text[i], i, &sweep.axis[i]);
        }
    }
    if (status == CS_OK) status = count_points(&sweep);
    if (status == CS_OK) *out = sweep;
    return status;
}

void cs_sweep_default(cs_sweep *sweep, const char *name, const char *text)
{
    for (int i = 0; i < CS_SWEEP_AXES; ++i) {
        cs_sweep_axis *axis = &sweep->axis[i];
        if (strcmp(axis->name, name) == 0 && axis->count == 0) {
            axis->text = text;
            axis->count = 1;
        }
    }
}

void cs_sweep_value(const cs_sweep *sweep, int64_t point, const char *name,
                    char text[CS_SWEEP_TEXT])
{
    text[0] = '\0';
    for (int i = CS_SWEEP_AXES - 1; i >= 0; --i) {
        const cs_sweep_axis *axis = &sweep->axis[i];
        int64_t count = axis->count > 0 ? axis->count : 1, index = point % count;
        point /= count;
        if (strcmp(axis->name, name) != 0 || axis->count == 0) {
            continue;
        }
        double value = axis->start + (double)index * axis->step;
        if (axis->text) {
            (void)snprintf(text, CS_SWEEP_TEXT, "%s", axis->text);
        } else if (axis->real) {
            cs_real_format(value, 12, text);
        } else {
            (void)snprintf(text, CS_SWEEP_TEXT, "%.0f", value);
        }
        return;
    }
}

void cs_sweep_place(const cs_sweep *sweep, int64_t point, char text[CS_SWEEP_PLACE])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < CS_SWEEP_AXES; ++i) {
        char value[CS_SWEEP_TEXT];
        cs_sweep_value(sweep, point, sweep->axis[i].name, value);
        if (value[0]) {
            int n = snprintf(text + used, CS_SWEEP_PLACE - used, "%s%s=%s", used > 0 ? " " : "",
                             sweep->axis[i].name, value);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

bool cs_sweep_is_swept(const cs_sweep *sweep)
{
    for (int i = 0; i < CS_SWEEP_AXES; ++i) {
        if (sweep->axis[i].count > 0 && !sweep->axis[i].text) {
            return true;
        }
    }
    return false;
}
