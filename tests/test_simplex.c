/* Linear programmes of a Frank-Wolfe step against all bases of small ones, degenerate, redundant and
 * without a solution. */
#include "analysis/design/simplex_private.h"
#include "test.h"

enum { ROWS = 3, COLUMNS = 7 };

typedef struct {
    double a[ROWS][COLUMNS], b[ROWS];
    int64_t ptr[COLUMNS + 1], row[ROWS * COLUMNS];
    double value[ROWS * COLUMNS];
    cs_simplex lp;
    cs_pool pool;
} programme;

static void compile(programme *p)
{
    int64_t n = 0;
    for (int j = 0; j < COLUMNS; ++j) {
        for (int i = 0; i < ROWS; ++i) {
            if (p->a[i][j] != 0) {
                p->row[n] = i;
                p->value[n++] = p->a[i][j];
            }
        }
        p->ptr[j + 1] = n;
    }
    p->lp = (cs_simplex){.rows = ROWS,
                         .columns = COLUMNS,
                         .ptr = p->ptr,
                         .row = p->row,
                         .value = p->value,
                         .right = p->b,
                         .largest = 1};
    OK(cs_simplex_init(&p->lp, &p->pool));
}

/* First row: sum x = 1. The others have entries -2..2, some of the rows and right sides equal. */
static programme drawn(uint64_t seed)
{
    programme p = {0};
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 1);
    for (int j = 0; j < COLUMNS; ++j) {
        p.a[0][j] = 1;
        p.a[1][j] = (double)cs_rng_below(&rng, 5) - 2;
        p.a[2][j] = seed % 5 == 0 ? p.a[1][j] : (double)cs_rng_below(&rng, 5) - 2;
    }
    p.b[0] = 1;
    p.b[1] = seed % 3 == 0 ? 0 : (double)cs_rng_below(&rng, 3) / 2;
    p.b[2] = seed % 5 == 0 ? p.b[1] : (double)cs_rng_below(&rng, 3) / 2;
    return p;
}

static double determinant(double m[3][3])
{
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The least cost over all feasible bases, unit columns of rows that nothing meets not among them; with
 * equal rows the last one is left out, by a unit column at 0. */
static double by_all_bases(const programme *p, const double *cost)
{
    double best = INFINITY;
    for (int c = 0; c < (COLUMNS + 1) * (COLUMNS + 1) * (COLUMNS + 1); ++c) {
        const int pick[3] = {c % (COLUMNS + 1), c / (COLUMNS + 1) % (COLUMNS + 1),
                             c / (COLUMNS + 1) / (COLUMNS + 1)};
        double m[3][3], x[3], sum = 0;
        for (int i = 0; i < 3; ++i) {
            for (int k = 0; k < 3; ++k) {
                m[i][k] = pick[k] < COLUMNS ? p->a[i][pick[k]] : i == 2;
            }
        }
        const double whole = determinant(m);
        bool feasible = fabs(whole) > 1e-9;
        for (int k = 0; k < 3 && feasible; ++k) {
            double replaced[3][3];
            memcpy(replaced, m, sizeof m);
            for (int i = 0; i < 3; ++i) {
                replaced[i][k] = p->b[i];
            }
            x[k] = determinant(replaced) / whole;
            feasible = x[k] > -1e-9 && (pick[k] < COLUMNS || fabs(x[k]) < 1e-9);
            sum += pick[k] < COLUMNS ? x[k] * cost[pick[k]] : 0;
        }
        if (feasible) {
            best = fmin(best, sum);
        }
    }
    return best;
}

/* One basis serves all costs, in the order in which they come. */
TEST(vertices_are_those_of_all_bases)
{
    int solved = 0, unmet = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        programme p = drawn(seed);
        int64_t basis[ROWS];
        double x[COLUMNS], cost[COLUMNS], left = 0;
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 2);
        compile(&p);
        cs_simplex_start(&p.lp, basis);
        (void)cs_simplex_minimise(&p.lp, NULL, basis, x, &left);
        for (int c = 0; c < 10; ++c) {
            for (int j = 0; j < COLUMNS; ++j) {
                cost[j] = (double)cs_rng_below(&rng, 9) - 4;
            }
            const double want = by_all_bases(&p, cost);
            assert_int_equal(left > 1e-9, isinf(want));
            if (isinf(want)) {
                ++unmet;
                break;
            }
            const double bound = cs_simplex_minimise(&p.lp, cost, basis, x, &left);
            assert_each(j, 0, COLUMNS, x[j] >= 0);
            double have = SUM(j, 0, COLUMNS, cost[j] * x[j]);
            for (int i = 0; i < ROWS; ++i) {
                double sum = -p.b[i];
                sum += SUM(j, 0, COLUMNS, p.a[i][j] * x[j]);
                assert_true(fabs(sum) < 1e-12);
            }
            assert_true(fabs(have - want) < 1e-12 && fabs(bound - want) < 1e-11);
            ++solved;
        }
        cs_pool_free(&p.pool);
    }
    assert_true(solved > 500 && unmet > 10);
}

/* Beale's programme (1955), on which the rule of the most negative cost with ties by the lowest row goes
 * round for ever. */
TEST(beales_programme_ends)
{
    programme p = {
        .a = {{1, 0, 0, 0.25, -60, -0.04, 9}, {0, 1, 0, 0.5, -90, -0.02, 3}, {0, 0, 1, 0, 0, 1, 0}},
        .b = {0, 0, 1}};
    static const double cost[COLUMNS] = {0, 0, 0, -0.75, 150, -0.02, 6};
    int64_t basis[ROWS] = {0, 1, 2};
    double x[COLUMNS], left = 0;
    compile(&p);
    assert_true(fabs(cs_simplex_minimise(&p.lp, cost, basis, x, &left) + 0.05) < 1e-9);
    cs_pool_free(&p.pool);
}

/* Columns of infinite cost are at 0 where others can meet the rows. */
TEST(a_face_is_kept_where_it_can_be)
{
    for (uint64_t seed = 1; seed < 60; ++seed) {
        programme p = drawn(seed), face;
        int64_t basis[ROWS];
        double x[COLUMNS], cost[COLUMNS], finite[COLUMNS], left = 0, off = 0, have = 0;
        compile(&p);
        cs_simplex_start(&p.lp, basis);
        (void)cs_simplex_minimise(&p.lp, NULL, basis, x, &left);
        face = p;
        for (int j = 0; j < COLUMNS; ++j) {
            finite[j] = (double)(((uint64_t)j * seed) % 5);
            cost[j] = j % 2 ? INFINITY : finite[j];
            for (int i = 0; i < ROWS; ++i) {
                face.a[i][j] *= j % 2 ? 0 : 1;
            }
        }
        const double want = by_all_bases(&face, finite);
        if (left < 1e-9) {
            (void)cs_simplex_minimise(&p.lp, cost, basis, x, &left);
            off += SUM(j, 0, COLUMNS, j % 2 ? x[j] : 0);
            have += SUM(j, 0, COLUMNS, j % 2 ? 0 : x[j] * finite[j]);
            assert_int_equal(off < 1e-12, !isinf(want));
            assert_true(isinf(want) || fabs(have - want) < 1e-12);
        }
        cs_pool_free(&p.pool);
    }
}
