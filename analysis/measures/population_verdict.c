/* Which of two series is the better connected: of the corpus by its own sums, of the language by the
 * rule of docs/explanation/population-estimates.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/population_rows.h"
#include "base/auto.h"
#include "base/mem.h"
#include "io/json.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

enum { REASON = 160 };
static const double SAME = 1e-9; /* of sums that differ by rounding at most */

typedef struct {
    double ratio, low, high;
    int sign;     /* of log ratio where it is decided; 0: undetermined */
    int withheld; /* 1: not for the error of the ratio */
    char reason[REASON];
} verdict;

/* The numbers that verdicts rest on. */
enum { SUM, SUM_LOW, SUM_HIGH, CORRECTED, METRICS };
enum { PLUG_IN, POPULATION, DISTINCT, ESTIMATES };
static const char *const metric_name[METRICS] = {"sum_sigma4", "sum_sigma4_low", "sum_sigma4_high",
                                                 "sum_sigma4_corrected"};
static const char *const estimate_name[ESTIMATES] = {"plug-in", "population", "distinct-document"};

typedef struct {
    double documents, value, low, high; /* NaN: not known */
    int64_t blocks;
    const json_t *left_out;
} number;

/* A record. */
typedef struct {
    const char *series, *position, *partition;
    number whole[METRICS][ESTIMATES]; /* of the most documents */
    int64_t sizes;
    number *size; /* the corrected sums of the curve and of the whole */
    bool has[ESTIMATES], null;
} side;

static double real_of(const json_t *row, const char *key)
{
    const json_t *x = json_object_get(row, key);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* The place of a name among `count`; -1: none. */
static int find(const char *name, int count, const char *const *names)
{
    int i = count - 1;
    while (i >= 0 && strcmp(names[i], name) != 0) {
        --i;
    }
    return i;
}

/* Records come from this run or from the file of an interrupted one. */
static cs_status read_side(const json_t *record, cs_pool *pool, side *out)
{
    const json_t *rows = json_object_get(record, "numbers");
    json_t *row;
    size_t i;
    *out = (side){.series = cs_json_string(record, "series"),
                  .position = cs_json_string(record, "target_position"),
                  .partition = cs_json_string(record, "partition"),
                  .null = !json_object_get(record, "sigma"),
                  .size = cs_pool_take(pool, (int64_t)json_array_size(rows), sizeof(number))};
    for (int k = 0; k < METRICS * ESTIMATES; ++k) {
        out->whole[k / ESTIMATES][k % ESTIMATES] = (number){-INFINITY, NAN, NAN, NAN, 0, NULL};
    }
    json_array_foreach(rows, i, row)
    {
        const json_t *left_out = json_object_get(row, "left_out");
        const int m = find(cs_json_string(row, "metric"), METRICS, metric_name),
                  e = find(cs_json_string(row, "estimate"), ESTIMATES, estimate_name);
        const number x = {real_of(row, "documents"),
                          real_of(row, "value"),
                          real_of(row, "low"),
                          real_of(row, "high"),
                          (int64_t)json_array_size(left_out),
                          left_out};
        if (m < 0 || e < 0 || !out->size) continue;
        if (m == CORRECTED && e == DISTINCT) out->size[out->sizes++] = x;
        out->has[e] = out->has[e] || m == SUM;
        number *whole = &out->whole[m][e];
        *whole = isinf(whole->documents) || x.documents > whole->documents ? x : *whole;
    }
    return pool->status;
}

static const side *side_of(int64_t count, const side *all, const char *series, const char *position)
{
    for (int64_t i = 0; i < count; ++i) {
        if (strcmp(all[i].series, series) == 0 && strcmp(all[i].position, position) == 0) {
            return &all[i];
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

/* Of matrices that are known: of the corpus (PLUG_IN) or of the synthetic language. */
static verdict of_matrix(const side *left, const side *right, int estimate)
{
    double x[2][SUM_HIGH + 1];
    for (int m = SUM; m <= SUM_HIGH; ++m) {
        x[0][m] = left->whole[m][estimate].value;
        x[1][m] = right->whole[m][estimate].value;
    }
    verdict v = {.ratio = x[0][SUM] / x[1][SUM],
                 .low = x[0][SUM_LOW] / x[1][SUM_HIGH],
                 .high = x[0][SUM_HIGH] / x[1][SUM_LOW]};
    v.sign = sign_of(v.low, v.high);
    if (isnan(v.ratio)) {
        undetermined(&v, "a sum is not known");
    } else if (v.sign == 0) {
        undetermined(&v, "the sums are equal, or estimates within their errors");
    }
    return v;
}

/* --- language --------------------------------------------------------------------------------- */

/* Logarithms of a sum without each block. */
static double *logs_of(const number *n, cs_pool *pool)
{
    double *out = cs_pool_take(pool, n->blocks, sizeof *out);
    for (int64_t b = 0; b < n->blocks && out; ++b) {
        const json_t *x = json_array_get(n->left_out, (size_t)b);
        out[b] = json_is_number(x) ? log(json_number_value(x)) : (double)NAN;
    }
    return out;
}

static cs_status take_ratio(const side *left, const side *right, cs_pool *pool, verdict *v)
{
    const bool same = strcmp(left->partition, right->partition) == 0;
    const number *l = &left->whole[CORRECTED][DISTINCT], *r = &right->whole[CORRECTED][DISTINCT];
    const double *x = logs_of(l, pool), *y = logs_of(r, pool);
    if (!x || !y) return CS_ERR_MEMORY;
    const double d = log(l->value) - log(r->value),
                 se = same ? cs_jackknife_difference(l->blocks, x, y, 1)
                           : hypot(cs_jackknife_error(l->blocks, x, 1),
                                   cs_jackknife_error(r->blocks, y, 1)),
                 width = l->blocks > 1 ? cs_student_width(0.95, (double)(l->blocks - 1)) * se
                                       : (double)NAN;
    *v = (verdict){.ratio = exp(d), .low = exp(d - width), .high = exp(d + width)};
    v->sign = sign_of(v->low, v->high);
    return CS_OK;
}

/* Whether the interval of the side's null contains 1; false also where there is none. */
static cs_status null_holds(int64_t count, const side *all, const side *s, bool *there, bool *holds)
{
    CS_AUTO_FREE char *series = cs_format("%s shuffled", s->series);
    if (!series) return CS_ERR_MEMORY;
    const side *null = side_of(count, all, series, s->position);
    const number *n = null ? &null->whole[SUM][DISTINCT] : NULL;
    *there = *there && n && !isnan(n->low) && !isnan(n->high);
    *holds = *holds && n && n->low <= 1 && 1 <= n->high;
    return CS_OK;
}

/* Sizes of the curve below the whole, and whether the difference has another sign at one of them. */
static int sizes_of(const side *left, const side *right, int sign, double *crossed)
{
    const number *whole = &left->whole[SUM][DISTINCT];
    int sizes = 0;
    for (int64_t i = 0; i < left->sizes; ++i) {
        const number *x = &left->size[i], *y = NULL;
        for (int64_t j = 0; j < right->sizes && !y && x->documents < whole->documents; ++j) {
            y = right->size[j].documents == x->documents ? &right->size[j] : NULL;
        }
        if (!y) continue;
        sizes += 1;
        *crossed = sign * (x->value - y->value) > 0 ? *crossed : x->documents;
    }
    return sizes;
}

static cs_status of_language(int64_t count, const side *all, const side *left, const side *right,
                             cs_pool *pool, verdict *v)
{
    bool there = true, holds = true;
    double crossed = 0;
    cs_status status = take_ratio(left, right, pool, v);
    if (status == CS_OK) status = null_holds(count, all, left, &there, &holds);
    if (status == CS_OK) status = null_holds(count, all, right, &there, &holds);
    if (status != CS_OK) return status;
    const int sizes = sizes_of(left, right, v->sign, &crossed);
    if (!left->has[DISTINCT] || !right->has[DISTINCT]) {
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

static void put(const side *left, const side *right, const char *of, const verdict *v, cs_item *out)
{
    cs_item *item = cs_item_object(out, NULL);
    cs_item_text(item, "series", left->series);
    cs_item_text(item, "target_position", left->position);
    cs_item_text(item, "against", right->series);
    cs_item_text(item, "against_position", right->position);
    cs_item_text(item, "of", of);
    CS_ITEM_FIELDS(item, v, ratio, low, high, reason, withheld);
    cs_item_text(item, "verdict",
                 v->sign < 0   ? "more connected"
                 : v->sign > 0 ? "less connected"
                               : "undetermined");
}

cs_status cs_population_verdicts(const json_t *records, cs_item *out)
{
    CS_AUTO(cs_pool) pool = {0};
    const int64_t count = (int64_t)json_array_size(records);
    side *all = cs_pool_take(&pool, count, sizeof *all);
    cs_status status = pool.status;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        status = read_side(json_array_get(records, (size_t)i), &pool, &all[i]);
    }
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const side *left = &all[i];
        const bool first = strcmp(left->series, all[0].series) == 0,
                   given = strcmp(left->position, "given") == 0;
        const side *against[] = {first ? NULL : side_of(count, all, all[0].series, left->position),
                                 given ? NULL : side_of(count, all, left->series, "given")};
        for (int j = 0; j < 2 && !left->null && status == CS_OK; ++j) {
            if (!against[j]) continue;
            verdict v = of_matrix(left, against[j], PLUG_IN);
            put(left, against[j], "corpus", &v, out);
            if (left->has[POPULATION]) {
                v = of_matrix(left, against[j], POPULATION);
                put(left, against[j], "population", &v, out);
            }
            status = of_language(count, all, left, against[j], &pool, &v);
            put(left, against[j], "language", &v, out);
        }
    }
    return status;
}
