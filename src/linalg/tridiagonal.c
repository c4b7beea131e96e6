/* Eigenvalues of a symmetric tridiagonal matrix by counts of signs (Givens 1954; Barth, Martin and
 * Wilkinson, Numer. Math. 9, 1967), many numbers at once; LAPACK's dsterf takes ten times as long.
 *
 * T is divided by a power of two so that its rows sum to at most 1. Off-diagonal entries below
 * 2^-52 are raised to that, so that no term of the recurrence vanishes against another (the matrix
 * never splits); a term and its neighbours carry relative errors of a few units, which are relative
 * changes of the entries d - x and e of T - x (Wilkinson 1965, chapter 5). Intervals wait on a
 * stack. One that holds several eigenvalues is halved; in one that holds a single one the
 * characteristic polynomial changes its sign once, and regula falsi with halved weights (Illinois;
 * Dowell and Jarratt, BIT 11, 1971) finds where, halving whenever four steps have not quartered
 * it. */
#include "linalg/tridiagonal.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "linalg/tridiagonal_private.h"

enum { POINTS = CS_STURM_POINTS, PATIENCE = 4 };

static const double NARROW = 0x1p-50, LEAST_STEP = 0x1p-51, LEAST_OFF = 0x1p-52;

/* One end of an interval. */
typedef struct {
    double x, value; /* of the characteristic polynomial, times 2^exponent, or less: Illinois */
    int64_t exponent, below;
} end;

typedef struct {
    end low, high;
    double width; /* when it was last found to shrink */
    int steps;    /* since then */
    int kept;     /* which end the last step kept: -1 low, 1 high, 0 neither */
} interval;

typedef struct {
    const cs_sturm_kernels *kernels;
    int64_t n, waiting;
    double *d, *e2;
    interval *stack; /* n at most: they are disjoint and each holds an eigenvalue */
    int power;       /* of two, by which T was divided */
    double *values;
} search;

static const cs_sturm_kernels *kernels_here(void)
{
    const cs_sturm_kernels *const sets[] = CS_SIMD_TABLES(cs_sturm_kernels);
    return sets[cs_simd_sets() - 1];
}

/* Where to look next within an interval. */
static double next_point(interval *i)
{
    const double width = i->high.x - i->low.x, middle = i->low.x + width / 2;
    if (i->high.below - i->low.below > 1) {
        return middle;
    }
    if (++i->steps > PATIENCE) {
        const bool shrank = width <= i->width / 4;
        i->width = width;
        i->steps = 0;
        if (!shrank) return middle;
    }
    const int64_t powers = cs_most(cs_least(i->high.exponent - i->low.exponent, 2000), -2000);
    const double ratio = ldexp(fabs(i->high.value / i->low.value), (int)powers);
    const double x = i->low.x + width / (1 + ratio);
    if (!(x > i->low.x && x < i->high.x)) {
        return isfinite(ratio) ? (ratio < 1 ? i->high.x - LEAST_STEP : i->low.x + LEAST_STEP)
                               : middle;
    }
    /* A step that small has converged: the least step moves the next point past the root. */
    return fmin(fmax(x, i->low.x + LEAST_STEP), i->high.x - LEAST_STEP);
}

/* Puts an interval on the stack, or its eigenvalues among the values when it is narrow. */
static void put(search *s, interval i)
{
    if (i.high.below <= i.low.below) {
        return;
    }
    if (i.high.x - i.low.x > NARROW) {
        s->stack[s->waiting++] = i;
        return;
    }
    const double value = ldexp(i.low.x + (i.high.x - i.low.x) / 2, s->power);
    for (int64_t k = cs_most(i.low.below, 0); k < cs_least(i.high.below, s->n); ++k) {
        s->values[k] = value;
    }
}

static end end_at(const cs_sturm_batch *b, int64_t i)
{
    return (end){b->x[i], b->value[i], b->exponent[i], b->below[i]};
}

/* Splits an interval at a point that was counted. Counts ascend in exact arithmetic; rounding may have
 * one out of its neighbours' range, by eigenvalues that lie within it of the point. */
static void split(search *s, interval i, end at)
{
    at.below = cs_most(cs_least(at.below, i.high.below), i.low.below);
    interval left = {i.low, at, i.width, i.steps, -1}, right = {at, i.high, i.width, i.steps, 1};
    const bool single = i.high.below - i.low.below == 1;
    if (!single) {
        left.width = right.width = (i.high.x - i.low.x) / 2;
        left.steps = right.steps = left.kept = right.kept = 0;
        /* the same end was kept twice: halve the other's weight (Illinois rule) */
    } else if (i.kept < 0) {
        left.low.value /= 2;
    } else if (i.kept > 0) {
        right.high.value /= 2;
    }
    put(s, left);
    put(s, right);
}

/* The interval that holds all, counted at evenly spaced points. */
static void begin(search *s)
{
    const double most = 1 + 0x1p-48;
    cs_sturm_batch b = {0};
    for (int64_t i = 0; i < POINTS; ++i) {
        b.x[i] = most * (2.0 * (double)i / (POINTS - 1) - 1);
    }
    s->kernels->count(s->n, s->d, s->e2, &b);
    b.below[0] = 0;
    b.below[POINTS - 1] = s->n;
    for (int64_t i = 1; i < POINTS; ++i) {
        b.below[i] = cs_most(b.below[i], b.below[i - 1]);
        put(s, (interval){end_at(&b, i - 1), end_at(&b, i), b.x[i] - b.x[i - 1], 0, 0});
    }
}

static void find_all(search *s)
{
    begin(s);
    while (s->waiting > 0) {
        cs_sturm_batch b = {0};
        interval taken[POINTS];
        const int64_t count = cs_least(POINTS, s->waiting);
        s->waiting -= count;
        memcpy(taken, s->stack + s->waiting, (size_t)count * sizeof *taken);
        for (int64_t i = 0; i < count; ++i) {
            b.x[i] = next_point(&taken[i]);
        }
        s->kernels->count(s->n, s->d, s->e2, &b);
        for (int64_t i = 0; i < count; ++i) {
            split(s, taken[i], end_at(&b, i));
        }
    }
}

/* The least power of two that the sums of the rows' absolute values lie below; false when all are 0. */
static bool power_of(int64_t n, const double *d, const double *e, int *power)
{
    double quarter = 0; /* of the largest sum, which may itself be beyond the range */
    for (int64_t i = 0; i < n; ++i) {
        const double before = i > 0 ? fabs(e[i - 1]) : 0, after = i + 1 < n ? fabs(e[i]) : 0;
        quarter = fmax(quarter, before / 4 + fabs(d[i]) / 4 + after / 4);
    }
    (void)frexp(quarter, power);
    *power += 2;
    return quarter > 0;
}

cs_status cs_tridiagonal_values(int64_t n, const double *d, const double *e, double *values)
{
    CS_AUTO(cs_pool) pool = {0};
    search s = {.kernels = kernels_here(), .n = n, .values = values};
    memset(values, 0, (size_t)n * sizeof *values);
    if (!power_of(n, d, e, &s.power)) {
        return CS_OK;
    }
    s.d = cs_pool_take(&pool, n, sizeof *s.d);
    s.e2 = cs_pool_take(&pool, n, sizeof *s.e2);
    s.stack = cs_pool_take(&pool, n, sizeof *s.stack);
    for (int64_t i = 0; i < n && pool.status == CS_OK; ++i) {
        const double off = i > 0 ? fmax(fabs(ldexp(e[i - 1], -s.power)), LEAST_OFF) : 0;
        s.d[i] = ldexp(d[i], -s.power);
        s.e2[i] = off * off;
    }
    const cs_status status = pool.status;
    if (status == CS_OK) find_all(&s);
    return status;
}

cs_status cs_symmetric_values(cs_dense *a, double *values)
{
    CS_AUTO(cs_pool) pool = {0};
    double *d = cs_pool_take(&pool, a->rows, sizeof *d);
    double *e = cs_pool_take(&pool, a->rows, sizeof *e);
    cs_status status = pool.status ? pool.status : cs_dense_tridiagonalise(a, d, e);
    return status == CS_OK ? cs_tridiagonal_values(a->rows, d, e, values) : status;
}

cs_status cs_symmetric_values_single(const cs_dense *a, double *values)
{
    CS_AUTO(cs_pool) pool = {0};
    double *d = cs_pool_take(&pool, a->rows, sizeof *d);
    double *e = cs_pool_take(&pool, a->rows, sizeof *e);
    cs_status status = pool.status ? pool.status : cs_dense_tridiagonalise_single(a, d, e);
    return status == CS_OK ? cs_tridiagonal_values(a->rows, d, e, values) : status;
}
