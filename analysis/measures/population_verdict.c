/* Which of two series is the better connected: of the corpus by its own sums, of the language by the
 * rule of docs/explanation/population-estimates.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/population_rows.h"
#include "base/mem.h"
#include "stats/jackknife.h"
#include "stats/student.h"

enum { REASON = 160 };
static const double SAME = 1e-9; /* of sums that differ by rounding at most */

typedef struct {
    double ratio, low, high;
    int sign;     /* of log ratio where it is decided; 0: it cannot be told */
    int withheld; /* 1: not for the error of the ratio */
    char reason[REASON];
} verdict;

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double real_of(const json_t *row, const char *key)
{
    const json_t *x = row ? json_object_get(row, key) : NULL;
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* The number of a record of that many documents; 0: of the most. NULL: it has none. */
static const json_t *number_of(const json_t *record, const char *metric, const char *estimate,
                               double documents)
{
    const json_t *found = NULL;
    json_t *row;
    size_t i;
    json_array_foreach(json_object_get(record, "numbers"), i, row)
    {
        const double n = real_of(row, "documents");
        const bool fits = strcmp(text_of(row, "metric"), metric) == 0 &&
                          strcmp(text_of(row, "estimate"), estimate) == 0 &&
                          (documents == 0 || n == documents);
        if (fits && (!found || n > real_of(found, "documents"))) {
            found = row;
        }
    }
    return found;
}

static const json_t *record_of(const json_t *records, const char *series, const char *position)
{
    json_t *record;
    size_t i;
    json_array_foreach(records, i, record)
    {
        if (strcmp(text_of(record, "series"), series) == 0 &&
            strcmp(text_of(record, "target_position"), position) == 0) {
            return record;
        }
    }
    return NULL;
}

static int sign_of(double low, double high)
{
    return high < 1 - SAME ? -1 : low > 1 + SAME;
}

static void undetermined(verdict *v, const char *reason)
{
    v->sign = 0;
    (void)snprintf(v->reason, REASON, "%s", reason);
}

static void withhold(verdict *v, const char *reason)
{
    undetermined(v, reason);
    v->withheld = 1;
}

/* --- corpus and population --------------------------------------------------------------------- */

/* Of matrices that are known: "plug-in" of the corpus, "population" of the law. */
static verdict of_matrix(const json_t *left, const json_t *right, const char *estimate)
{
    const json_t *side[] = {left, right};
    double value[2], low[2], high[2];
    for (int i = 0; i < 2; ++i) {
        value[i] = real_of(number_of(side[i], "sum_sigma4", estimate, 0), "value");
        low[i] = real_of(number_of(side[i], "sum_sigma4_low", estimate, 0), "value");
        high[i] = real_of(number_of(side[i], "sum_sigma4_high", estimate, 0), "value");
    }
    verdict v = {.ratio = value[0] / value[1], .low = low[0] / high[1], .high = high[0] / low[1]};
    v.sign = sign_of(v.low, v.high);
    if (isnan(v.ratio)) {
        undetermined(&v, "a sum is not known");
    } else if (v.sign == 0) {
        undetermined(&v, "the sums are equal, or estimates within their errors");
    }
    return v;
}

/* --- language --------------------------------------------------------------------------------- */

static const char SUM[] = "sum_sigma4", CORRECTED[] = "sum_sigma4_corrected",
                  DISTINCT[] = "distinct-document";

/* The logarithm of a corrected sum, and what it is without each block. */
typedef struct {
    int64_t blocks;
    double value, *left_out;
} logarithm;

static cs_status logarithm_of(const json_t *record, logarithm *out)
{
    const json_t *row = number_of(record, CORRECTED, DISTINCT, 0),
                 *list = row ? json_object_get(row, "left_out") : NULL;
    out->blocks = (int64_t)json_array_size(list);
    out->value = log(real_of(row, "value"));
    if (!(out->left_out = cs_alloc(out->blocks, sizeof *out->left_out))) return CS_ERR_MEMORY;
    for (int64_t b = 0; b < out->blocks; ++b) {
        const json_t *x = json_array_get(list, (size_t)b);
        out->left_out[b] = json_is_number(x) ? log(json_number_value(x)) : (double)NAN;
    }
    return CS_OK;
}

static cs_status take_ratio(const json_t *left, const json_t *right, verdict *v)
{
    const bool same = strcmp(text_of(left, "partition"), text_of(right, "partition")) == 0;
    logarithm l = {0}, r = {0};
    cs_status status = logarithm_of(left, &l);
    if (status == CS_OK) status = logarithm_of(right, &r);
    if (status == CS_OK) {
        const double d = l.value - r.value,
                     se = same ? cs_jackknife_difference(l.blocks, l.left_out, r.left_out, 1)
                               : hypot(cs_jackknife_error(l.blocks, l.left_out, 1),
                                       cs_jackknife_error(r.blocks, r.left_out, 1)),
                     width = l.blocks > 1 ? cs_student_width(0.95, (double)(l.blocks - 1)) * se
                                          : (double)NAN;
        *v = (verdict){.ratio = exp(d), .low = exp(d - width), .high = exp(d + width)};
        v->sign = sign_of(v->low, v->high);
    }
    cs_free(l.left_out);
    cs_free(r.left_out);
    return status;
}

/* Whether the interval of the record's null holds 1; false also where there is none. */
static cs_status null_holds(const json_t *records, const json_t *record, bool *there, bool *holds)
{
    char *series = cs_format("%s shuffled", text_of(record, "series"));
    if (!series) return CS_ERR_MEMORY;
    const json_t *null = record_of(records, series, text_of(record, "target_position")),
                 *row = null ? number_of(null, SUM, DISTINCT, 0) : NULL;
    const double low = real_of(row, "low"), high = real_of(row, "high");
    *there = *there && !isnan(low) && !isnan(high);
    *holds = *holds && low <= 1 && 1 <= high;
    cs_free(series);
    return CS_OK;
}

/* Sizes of the curve below the whole, and whether the difference has another sign at one of them. */
static int sizes_of(const json_t *left, const json_t *right, int sign, double *crossed)
{
    const double whole = real_of(number_of(left, SUM, DISTINCT, 0), "documents");
    int sizes = 0;
    json_t *row;
    size_t i;
    json_array_foreach(json_object_get(left, "numbers"), i, row)
    {
        const double n = real_of(row, "documents");
        const json_t *other = strcmp(text_of(row, "metric"), CORRECTED) == 0 && n < whole
                                  ? number_of(right, CORRECTED, DISTINCT, n)
                                  : NULL;
        const double d = other ? real_of(row, "value") - real_of(other, "value") : 0;
        sizes += other != NULL;
        *crossed = other && !(sign * d > 0) ? n : *crossed;
    }
    return sizes;
}

static cs_status of_language(const json_t *records, const json_t *left, const json_t *right,
                             verdict *v)
{
    bool there = true, holds = true;
    double crossed = 0;
    cs_status status = take_ratio(left, right, v);
    if (status == CS_OK) status = null_holds(records, left, &there, &holds);
    if (status == CS_OK) status = null_holds(records, right, &there, &holds);
    if (status != CS_OK) return status;
    const int sizes = sizes_of(left, right, v->sign, &crossed);
    if (!number_of(left, SUM, DISTINCT, 0) || !number_of(right, SUM, DISTINCT, 0)) {
        withhold(v, "the contexts are not available");
    } else if (isnan(v->high)) {
        withhold(v, "there is no interval (--jackknife)");
    } else if (!there) {
        withhold(v, "there is no null with an interval (--null 2 or more)");
    } else if (!holds) {
        withhold(v, "the interval of a null does not contain 1");
    } else if (sizes == 0) {
        withhold(v, "there is no curve over documents (--curve)");
    } else if (v->sign == 0) {
        undetermined(v, "the difference is within its error");
    } else if (crossed > 0) {
        v->sign = 0;
        v->withheld = 1;
        (void)snprintf(v->reason, REASON, "the curves have another order at %.0f documents",
                       crossed);
    }
    return CS_OK;
}

/* --- list ------------------------------------------------------------------------------------- */

static void put(const json_t *left, const json_t *right, const char *of, const verdict *v,
                cs_item *out)
{
    cs_item *item = cs_item_object(out, NULL);
    cs_item_text(item, "series", text_of(left, "series"));
    cs_item_text(item, "target_position", text_of(left, "target_position"));
    cs_item_text(item, "against", text_of(right, "series"));
    cs_item_text(item, "against_position", text_of(right, "target_position"));
    cs_item_text(item, "of", of);
    CS_ITEM_FIELDS(item, v, ratio, low, high, reason, withheld);
    cs_item_text(item, "verdict",
                 v->sign < 0   ? "more connected"
                 : v->sign > 0 ? "less connected"
                               : "undetermined");
}

cs_status cs_population_verdicts(const json_t *records, cs_item *out)
{
    const char *first = text_of(json_array_get(records, 0), "series");
    cs_status status = CS_OK;
    json_t *left;
    size_t i;
    json_array_foreach(records, i, left)
    {
        const char *series = text_of(left, "series"), *position = text_of(left, "target_position");
        const bool null = !json_object_get(left, "sigma"), given = strcmp(position, "given") == 0;
        const json_t *against[] = {strcmp(series, first) != 0 ? record_of(records, first, position)
                                                              : NULL,
                                   given ? NULL : record_of(records, series, "given")};
        for (int j = 0; j < 2 && !null && status == CS_OK; ++j) {
            if (against[j]) {
                verdict v = of_matrix(left, against[j], "plug-in");
                put(left, against[j], "corpus", &v, out);
                if (number_of(left, "sum_sigma4", "population", 0)) {
                    v = of_matrix(left, against[j], "population");
                    put(left, against[j], "population", &v, out);
                }
                status = of_language(records, left, against[j], &v);
                put(left, against[j], "language", &v, out);
            }
        }
    }
    return status;
}
