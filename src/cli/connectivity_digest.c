/* Made from the table of numbers alone, so that --resume prints the same lines. */
#include "cli/connectivity_digest.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/estimable.h"
#include "io/number.h"

static const char DISTINCT[] = "distinct-document";

typedef struct {
    const cs_table *rows;
    int series, position, metric, estimate, value, low, high, documents; /* columns */
} table;

static const char *cell(const table *t, int64_t row, int column)
{
    return t->rows->cell[row * t->rows->columns + column];
}

static double real_at(const table *t, int64_t row, int column)
{
    double x = NAN;
    return row >= 0 && cs_real_scan(cell(t, row, column), &x) ? x : (double)NAN;
}

/* A row of the series of row `of`, of all documents (the first); -1: none. */
static int64_t find(const table *t, int64_t of, const char *metric, const char *estimate)
{
    for (int64_t r = 0; r < t->rows->rows; ++r) {
        if (strcmp(cell(t, r, t->metric), metric) == 0 &&
            strcmp(cell(t, r, t->estimate), estimate) == 0 &&
            strcmp(cell(t, r, t->series), cell(t, of, t->series)) == 0 &&
            strcmp(cell(t, r, t->position), cell(t, of, t->position)) == 0) {
            return r;
        }
    }
    return -1;
}

static void why(const cs_estimable_input *in, const cs_estimable *e, FILE *out)
{
    const char *between = "";
    if (!e->seen) {
        (void)fprintf(
            out,
            "contexts that two documents share hold %.2g %% of the mass (at least 50 %% is "
            "needed)",
            100 * in->seen);
        between = "; ";
    }
    if (!e->leading) {
        (void)fprintf(out, "%ssigma_1 comes out as %.3g, and is 1", between, in->sigma_1);
        between = "; ";
    }
    if (!e->interval) {
        (void)fprintf(out, "%sthe interval is %.3g to %.3g", between, in->low, in->high);
        between = "; ";
    }
    if (!e->order)
        (void)fprintf(out, "%sit is not between cross-fit, %.3g, and plug-in, %.3g", between,
                      in->cross_fit, in->plug_in);
}

/* The row of the same series whose target position is `position`; -1: none. */
static int64_t at_position(const table *t, int64_t of, const char *position)
{
    for (int64_t r = 0; r < t->rows->rows; ++r) {
        if (strcmp(cell(t, r, t->metric), "estimable") == 0 &&
            strcmp(cell(t, r, t->position), position) == 0 &&
            strcmp(cell(t, r, t->series), cell(t, of, t->series)) == 0) {
            return r;
        }
    }
    return -1;
}

/* Whether both rows are of equal estimates, which then get one line. */
static bool same_estimates(const table *t, int64_t a, int64_t b)
{
    static const char *const metric[] = {"sum_sigma4_corrected", "mass_seen", "sum_sigma4"};
    for (int i = 0; i < 3 && a >= 0 && b >= 0; ++i) {
        const int64_t x = find(t, a, metric[i], DISTINCT), y = find(t, b, metric[i], DISTINCT);
        if ((x < 0) != (y < 0) ||
            (x >= 0 && strcmp(cell(t, x, t->value), cell(t, y, t->value)) != 0)) {
            return false;
        }
    }
    return a >= 0 && b >= 0;
}

static void print_series(const table *t, int64_t of, FILE *out)
{
    const int64_t given = at_position(t, of, "given"), blind = at_position(t, of, "blind");
    const bool same = same_estimates(t, blind, given);
    if (same && of == given) {
        return;
    }
    const int64_t corrected = find(t, of, "sum_sigma4_corrected", DISTINCT);
    const cs_estimable_input in = {
        .documents = real_at(t, of, t->documents),
        .seen = real_at(t, find(t, of, "mass_seen", DISTINCT), t->value),
        .seen_halves = real_at(t, find(t, of, "mass_seen_halves", DISTINCT), t->value),
        .sigma_1 = real_at(t, find(t, of, "sigma_1", DISTINCT), t->value),
        .low = real_at(t, corrected, t->low),
        .high = real_at(t, corrected, t->high),
        .cross_fit = real_at(t, find(t, of, "sum_sigma4", "cross-fit"), t->value),
        .plug_in = real_at(t, find(t, of, "sum_sigma4", "plug-in"), t->value)};
    const cs_estimable e = cs_estimable_of(&in);
    (void)fprintf(out, "  %s, %s: ", cell(t, of, t->series),
                  same ? "blind and given" : cell(t, of, t->position));
    if (e.all && corrected >= 0) {
        (void)fprintf(out, "%.4g, 95 %% interval %.4g to %.4g\n", real_at(t, corrected, t->value),
                      in.low, in.high);
        return;
    }
    if (e.all) {
        (void)fprintf(out, "no bias-corrected value without --jackknife\n");
        return;
    }
    (void)fputs("not estimable from this corpus: ", out);
    why(&in, &e, out);
    if (isnan(e.documents)) {
        (void)fprintf(out, ". The number of documents that would do is not known; there are %.0f\n",
                      in.documents);
    } else {
        const double unit = pow(10, floor(log10(e.documents)) - 1);
        (void)fprintf(out, ". At least about %.0f documents would do; there are %.0f\n",
                      ceil(e.documents / unit) * unit, in.documents);
    }
}

cs_status cs_connectivity_digest(const cs_table *rows, FILE *out, bool *printed)
{
    table t = {.rows = rows};
    int *const column[] = {&t.series, &t.position, &t.metric, &t.estimate,
                           &t.value,  &t.low,      &t.high,   &t.documents};
    static const char *const name[] = {
        "series", "target_position", "metric", "estimate", "value", "low", "high", "documents"};
    bool any = false;
    *printed = false;
    for (int i = 0; i < 8; ++i) {
        *column[i] = cs_table_column(rows, name[i]);
        if (*column[i] < 0) return CS_OK;
    }
    for (int64_t r = 0; r < rows->rows; ++r) {
        if (strcmp(cell(&t, r, t.metric), "estimable") == 0) {
            if (!any) (void)fputs("sum sigma^4 of the language, bias-corrected:\n", out);
            any = true;
            print_series(&t, r, out);
        }
    }
    if (any)
        (void)fputs(
            "The intervals exclude bias from contexts that no two documents share. A number of "
            "documents\nthat would do is a lower limit.\n\n",
            out);
    return CS_OK;
}
