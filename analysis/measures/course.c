/* Phases of a measure over pretraining: changes with simultaneous margins, and the best turning
 * points of a pattern by dynamic programming over the last of them. */
#include "analysis/measures/course.h"

#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "stats/decide.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

static const double LEVEL = 0.05;

void cs_course_changes_free(cs_course_changes *c)
{
    CS_FREE_FIELDS(c, change, margin);
    c->steps = 0;
}

static bool has_blocks(const cs_course *c)
{
    return c->left_out && c->blocks > 1;
}

static double log_or_nan(double x)
{
    return x > 0 ? log(x) : NAN;
}

/* x_j - x_i of one curve, x_j itself for i < 0; values `stride` apart. */
static double change_of(const double *x, int64_t stride, int64_t i, int64_t j)
{
    return log_or_nan(x[j * stride]) - (i < 0 ? 0 : log_or_nan(x[i * stride]));
}

/* The mean of x_j - x_i over runs, with its margin at level alpha; NaN: there is no error.
 * `without` has a place for each block. */
static double mean_change(const cs_course *c, int64_t i, int64_t j, double alpha, double *without,
                          double *margin)
{
    const double runs = (double)c->runs;
    double mean = 0, square = 0;
    cs_error_part part[2];
    int parts = 0;
    for (int64_t r = 0; r < c->runs; ++r) {
        mean += change_of(c->value + r * c->steps, 1, i, j) / runs;
    }
    for (int64_t r = 0; r < c->runs; ++r) {
        const double d = change_of(c->value + r * c->steps, 1, i, j) - mean;
        square += d * d;
    }
    if (c->runs > 1) part[parts++] = cs_error_of(sqrt(square / (runs - 1) / runs), runs - 1);
    if (has_blocks(c)) {
        for (int64_t b = 0; b < c->blocks; ++b) {
            without[b] = 0;
            for (int64_t r = 0; r < c->runs; ++r) {
                without[b] +=
                    change_of(c->left_out + r * c->steps * c->blocks + b, c->blocks, i, j) / runs;
            }
        }
        part[parts++] =
            cs_error_of(cs_jackknife_error(c->blocks, without, 1), (double)(c->blocks - 1));
    }
    *margin = parts > 0 ? cs_margin(parts, part, alpha) : NAN;
    return mean;
}

cs_status cs_course_mean(const cs_course *course, int64_t step, cs_course_point *out)
{
    CS_AUTO_FREE double *without =
        cs_alloc(has_blocks(course) ? course->blocks : 1, sizeof *without);
    if (!without) return CS_ERR_MEMORY;
    double margin;
    const double mean = mean_change(course, -1, step, LEVEL, without, &margin);
    *out = (cs_course_point){exp(mean), exp(mean - margin), exp(mean + margin)};
    return CS_OK;
}

cs_status cs_course_changes_of(const cs_course *course, cs_course_changes *out)
{
    const int64_t t = course->steps;
    if (course->runs < 1 || t < 1) return cs_fail(CS_ERR_USAGE, "no run, or no step");
    cs_course_changes c = {.steps = t};
    CS_AUTO_FREE double *without =
        cs_alloc(has_blocks(course) ? course->blocks : 1, sizeof *without);
    c.change = cs_calloc(t * t, sizeof *c.change);
    c.margin = cs_calloc(t * t, sizeof *c.margin);
    cs_status status = without && c.change && c.margin ? CS_OK : CS_ERR_MEMORY;
    const double alpha = LEVEL / fmax(1, (double)t * (double)(t - 1) / 2);
    for (int64_t i = 0; i < t && status == CS_OK; ++i) {
        for (int64_t j = i + 1; j < t; ++j) {
            c.change[i * t + j] = mean_change(course, i, j, alpha, without, &c.margin[i * t + j]);
        }
    }
    return CS_DELIVER(status, out, c, cs_course_changes_free);
}

/* The depth of s_p D_ij + shift m_ij and its turning points: best[t] is the largest least change of
 * patterns that end at t. NaN: no pattern fits. */
static cs_status deepest(const cs_course_changes *c, int phases, const int *sign, double shift,
                         double *depth, int64_t *turn)
{
    const int64_t t = c->steps;
    CS_AUTO_FREE double *best = cs_alloc((phases + 1) * t, sizeof *best);
    CS_AUTO_FREE int64_t *from = cs_calloc((phases + 1) * t, sizeof *from);
    if (!best || !from) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < t; ++j) {
        best[j] = INFINITY;
    }
    for (int p = 1; p <= phases; ++p) {
        for (int64_t j = 0; j < t; ++j) {
            best[p * t + j] = -INFINITY;
            for (int64_t i = p - 1; i < j; ++i) {
                const double before = best[(p - 1) * t + i],
                             change = sign[p - 1] * c->change[i * t + j] +
                                      (shift != 0 ? shift * c->margin[i * t + j] : 0),
                             least = isnan(before) || isnan(change) ? NAN : fmin(before, change);
                if (isnan(least) || least > best[p * t + j]) {
                    best[p * t + j] = least;
                    from[p * t + j] = i;
                }
                if (isnan(least)) break;
            }
        }
    }
    int64_t end = phases;
    *depth = -INFINITY;
    for (int64_t j = phases; j < t; ++j) {
        const double x = best[phases * t + j];
        if (isnan(x) || x > *depth) {
            *depth = x;
            end = j;
        }
        if (isnan(x)) break;
    }
    for (int p = phases; p >= 0 && phases < t; --p) {
        turn[p] = end;
        end = from[p * t + end];
    }
    return CS_OK;
}

cs_status cs_course_depth_of(const cs_course_changes *changes, int phases, const int *sign,
                             cs_course_depth *out)
{
    cs_course_depth r = {.depth = NAN, .low = NAN, .high = NAN, .found = changes->steps > phases};
    int64_t unused[CS_COURSE_PHASES + 1], surest[CS_COURSE_PHASES + 1];
    cs_status status = CS_OK;
    if (phases < 1 || phases > CS_COURSE_PHASES) return cs_fail(CS_ERR_USAGE, "%d phases", phases);
    if (r.found) status = deepest(changes, phases, sign, 0, &r.depth, r.turn);
    if (status == CS_OK && r.found) status = deepest(changes, phases, sign, -1, &r.low, surest);
    if (status == CS_OK && r.found) status = deepest(changes, phases, sign, 1, &r.high, unused);
    for (int p = 0; p <= phases && status == CS_OK && r.found && !isnan(r.low); ++p) {
        r.turn[p] = surest[p];
    }
    *out = r;
    return status;
}

const char *cs_course_verdict(const cs_course_depth *phases, double matters)
{
    return phases->high < matters ? "absent" : phases->low > 0 ? "found" : "undetermined";
}

double cs_course_error(const cs_course_depth *phases, double freedom)
{
    const double half =
        phases->depth > 0 ? phases->depth - phases->low : phases->high - phases->depth;
    return half / cs_student_point(LEVEL, freedom);
}
