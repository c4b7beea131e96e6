/* Entering column: the most negative reduced cost; after `rows` steps without progress the first
 * negative one until there is progress again, which cannot cycle (Bland 1977). The inverse is formed
 * from the basis at the start of each call, so that a result depends on the basis that it began with
 * and on nothing before it.
 *
 * An artificial column at level 0 leaves as soon as a pivot touches its row: only a redundant row
 * keeps one.
 */
#include "analysis/design/simplex_private.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"

enum { PIVOTS_A_COLUMN = 20 };

static const double smallest_pivot = 1e-9, no_level = 1e-14, no_cost = 1e-12;

cs_status cs_simplex_init(cs_simplex *lp, cs_pool *pool)
{
    lp->inverse = cs_pool_take(pool, lp->rows * lp->rows, sizeof(double));
    lp->level = cs_pool_take(pool, lp->rows, sizeof(double));
    lp->price = cs_pool_take(pool, lp->rows, sizeof(double));
    lp->entering = cs_pool_take(pool, lp->rows, sizeof(double));
    return pool->status;
}

void cs_simplex_start(const cs_simplex *lp, int64_t *basis)
{
    for (int64_t i = 0; i < lp->rows; ++i) {
        basis[i] = lp->columns + i;
    }
}

/* entering := inverse x column j. */
static void enter(cs_simplex *lp, int64_t j)
{
    for (int64_t i = 0; i < lp->rows; ++i) {
        const double *inverse = lp->inverse + i * lp->rows;
        double sum = j < lp->columns ? 0 : inverse[j - lp->columns];
        for (int64_t e = j < lp->columns ? lp->ptr[j] : 0,
                     end = j < lp->columns ? lp->ptr[j + 1] : 0;
             e < end; ++e) {
            sum += inverse[lp->row[e]] * lp->value[e];
        }
        lp->entering[i] = sum;
    }
}

/* The inverse once the entering column is the basic one of a row. */
static void pivot(cs_simplex *lp, int64_t row)
{
    const int64_t m = lp->rows;
    double *of = lp->inverse + row * m;
    for (int64_t c = 0; c < m; ++c) {
        of[c] /= lp->entering[row];
    }
    for (int64_t i = 0; i < m; ++i) {
        const double u = lp->entering[i];
        double *to = lp->inverse + i * m;
        for (int64_t c = 0; i != row && u != 0 && c < m; ++c) {
            to[c] -= u * of[c];
        }
    }
}

/* The inverse from the basis, whose columns take the rows in which they are largest. `held` is a
 * buffer for the basis. False: it is singular. */
static bool factor(cs_simplex *lp, int64_t *basis)
{
    const int64_t m = lp->rows;
    double *taken = lp->level; /* 1 + the column of a row that has one; formed afresh below */
    memset(lp->inverse, 0, (size_t)(m * m) * sizeof(double));
    memset(taken, 0, (size_t)m * sizeof(double));
    for (int64_t i = 0; i < m; ++i) {
        lp->inverse[i * m + i] = 1;
    }
    for (int64_t b = 0; b < m; ++b) {
        int64_t best = -1;
        enter(lp, basis[b]);
        for (int64_t i = 0; i < m; ++i) {
            if (taken[i] == 0 && (best < 0 || fabs(lp->entering[i]) > fabs(lp->entering[best]))) {
                best = i;
            }
        }
        if (!(fabs(lp->entering[best]) > smallest_pivot)) {
            return false;
        }
        pivot(lp, best);
        taken[best] = 1 + (double)basis[b];
    }
    for (int64_t i = 0; i < m; ++i) {
        basis[i] = (int64_t)taken[i] - 1;
    }
    return true;
}

/* The cost of the columns: the given numbers (NULL: 0), in place of infinity `high`; artificial
 * ones. */
typedef struct {
    const double *cost;
    double high, artificial;
} costs;

static double cost_of(const costs *c, int64_t j)
{
    return !c->cost ? 0 : c->cost[j] < INFINITY ? c->cost[j] : c->high;
}

static void price(cs_simplex *lp, const costs *c, const int64_t *basis)
{
    memset(lp->price, 0, (size_t)lp->rows * sizeof(double));
    for (int64_t i = 0; i < lp->rows; ++i) {
        const double of = basis[i] < lp->columns ? cost_of(c, basis[i]) : c->artificial;
        for (int64_t r = 0; of != 0 && r < lp->rows; ++r) {
            lp->price[r] += of * lp->inverse[i * lp->rows + r];
        }
    }
}

/* The column to enter, -1: none is below -tolerance. *least: the least reduced cost. */
static int64_t cheapest(const cs_simplex *lp, const costs *c, double tolerance, bool first,
                        double *least)
{
    int64_t best = -1;
    *least = 0;
    for (int64_t j = 0; j < lp->columns; ++j) {
        double reduced = cost_of(c, j);
        for (int64_t e = lp->ptr[j]; e < lp->ptr[j + 1]; ++e) {
            reduced -= lp->price[lp->row[e]] * lp->value[e];
        }
        if (reduced < *least) {
            *least = reduced;
            best = reduced < -tolerance ? j : best;
            if (first && best >= 0) {
                return best;
            }
        }
    }
    return best;
}

/* The row to leave, -1: none. Of equal ratios the one with the larger pivot, or under Bland's rule
 * that of the lower column. */
static int64_t leaving(const cs_simplex *lp, const int64_t *basis, bool first)
{
    int64_t best = -1;
    double ratio = 0;
    for (int64_t i = 0; i < lp->rows; ++i) {
        const double u = lp->entering[i], level = fmax(lp->level[i], 0);
        if (basis[i] >= lp->columns && level <= no_level && fabs(u) > smallest_pivot) {
            return i;
        }
        if (u > smallest_pivot) {
            const bool equal = best >= 0 && fabs(level / u - ratio) <= no_level;
            const bool before =
                best < 0 || (!equal && level / u < ratio) ||
                (equal && (first ? basis[i] < basis[best] : u > lp->entering[best]));
            if (before) {
                best = i;
                ratio = level / u;
            }
        }
    }
    return best;
}

/* Column j takes the place of the basic one of a row. */
static void exchange(cs_simplex *lp, int64_t *basis, int64_t row, int64_t j, double move)
{
    for (int64_t i = 0; i < lp->rows; ++i) {
        lp->level[i] -= move * lp->entering[i];
    }
    lp->level[row] = move;
    basis[row] = j;
    pivot(lp, row);
}

static void begin(cs_simplex *lp, int64_t *basis)
{
    if (!factor(lp, basis)) {
        cs_simplex_start(lp, basis);
        (void)factor(lp, basis); /* the identity */
    }
    for (int64_t i = 0; i < lp->rows; ++i) {
        lp->level[i] = 0;
        for (int64_t r = 0; r < lp->rows; ++r) {
            lp->level[i] += lp->inverse[i * lp->rows + r] * lp->right[r];
        }
    }
}

double cs_simplex_minimise(cs_simplex *lp, const double *cost, int64_t *basis, double *x,
                           double *left)
{
    const int64_t m = lp->rows;
    double scale = 0, least = 0, bound = 0;
    bool done = false;
    for (int64_t j = 0; cost && j < lp->columns; ++j) {
        scale = fmax(scale, cost[j] < INFINITY ? fabs(cost[j]) : 0);
    }
    const costs c = {cost, 1e6 * (scale > 0 ? scale : 1), cost ? 0 : 1};
    const double tolerance = no_cost * (cost ? scale : 1);
    begin(lp, basis);
    const int64_t most = PIVOTS_A_COLUMN * (lp->columns + m);
    for (int64_t step = 0, still = 0; step < most && !cs_interrupted(); ++step) {
        price(lp, &c, basis);
        const int64_t j = cheapest(lp, &c, tolerance, still > m, &least);
        done = j < 0;
        if (done) {
            break;
        }
        enter(lp, j);
        const int64_t row = leaving(lp, basis, still > m);
        if (row < 0) {
            break; /* only rounding: the polytope is bounded */
        }
        const double move = fmax(lp->level[row], 0) / lp->entering[row];
        still = fabs(move) > no_level ? 0 : still + 1;
        exchange(lp, basis, row, j, move);
    }
    *left = 0;
    memset(x, 0, (size_t)lp->columns * sizeof *x);
    for (int64_t i = 0; i < m; ++i) {
        bound += lp->price[i] * lp->right[i];
        if (basis[i] < lp->columns) {
            x[basis[i]] = fmax(lp->level[i], 0);
        } else {
            *left += fmax(lp->level[i], 0);
        }
    }
    return done ? bound + fmin(least, 0) * lp->largest : -INFINITY;
}
