/* svd: the counts that a solver reports against the calls of the operator; its progress; that it
 * stops when it can; where one solver replaces another. */
#include "linalg/svd.h"
#include "linalg/svd_block_private.h"
#include "linalg/svd_private.h"
#include "linalg_support.h"

/* An operator that counts the columns it is applied to. */
typedef struct {
    csr_operator f;
    cs_linop op;
    int64_t columns, widest;
} counted;

static cs_status count_apply(void *ctx, bool turn, const cs_dense *x, cs_dense *y)
{
    counted *c = ctx;
    c->columns += x->cols;
    c->widest = x->cols > c->widest ? x->cols : c->widest;
    return cs_linop_apply(&c->f.op, turn, x, y);
}

static cs_status count_panel(void *ctx, bool turn, const double *x, double *y)
{
    counted *c = ctx;
    c->columns += CS_PANEL;
    return cs_linop_panel(&c->f.op, turn, x, y);
}

static cs_status count_normal(void *ctx, bool turn, const double *x, double *y, double *work)
{
    counted *c = ctx;
    c->columns += INT64_C(2) * CS_PANEL;
    return c->f.op.normal(c->f.op.ctx, c->f.op.turned != turn, x, y, work);
}

static void counted_of(counted *c, cs_csr a)
{
    operator_of(&c->f, a, 1);
    c->op = c->f.op;
    c->op.ctx = c;
    c->op.apply = count_apply;
    c->op.panel = count_panel;
    c->op.normal = count_normal;
    c->columns = c->widest = 0;
}

static void counted_free(counted *c)
{
    operator_free(&c->f);
}

/* Falling values, two of them alike, on 130 x 90; `scale` beyond where squares overflow. */
static cs_csr falling(double scale)
{
    ARRAY(double, value, 90, j, (scale * (j == 1 ? 90 : 90 - j)));
    return scattered(130, 90, 90, value);
}

TEST(applications_are_the_columns_applied)
{
    static const struct {
        cs_solver solver;
        int64_t k, dense_limit;
        double scale, tol;
    } way[] = {{CS_SOLVER_LAPACK, 7, 0, 1, 0},      {CS_SOLVER_LAPACK, 7, 1, 1, 0},
               {CS_SOLVER_ARPACK, 7, 0, 1, 0},      {CS_SOLVER_BLOCK, 7, 0, 1, 0},
               {CS_SOLVER_BLOCK, 7, 0, 0x1p600, 0}, {CS_SOLVER_BLOCK, 90, 0, 1, 1e-15},
               {CS_SOLVER_BLOCK, 12, 0, 1, 1e-3}};
    for (size_t w = 0; w < sizeof way / sizeof *way; ++w) {
        for (int plain = 0; plain < 2; ++plain) { /* with panels and normal products, or without */
            CS_AUTO(counted) c = {0};
            counted_of(&c, falling(way[w].scale));
            if (plain) {
                c.op.panel = NULL;
                c.op.normal = NULL;
                c.op.work_size = c.op.work_size_t = -1;
            }
            cs_svd_options o = {.k = way[w].k,
                                .solver = way[w].solver,
                                .dense_limit = way[w].dense_limit,
                                .tol = way[w].tol,
                                .seed = 3};
            AUTO_OK(cs_svd, s, cs_svd_compute(&c.op, &o, &s));
            if (s.applications != c.columns) {
                fail_msg("way %zu: %lld applications, %lld columns", w, (long long)s.applications,
                         (long long)c.columns);
            }
        }
    }
}

typedef struct {
    char stage[40][96];
    int64_t done[40], total[40];
    int count;
} reports;

static void take(void *ctx, const char *stage, int64_t done, int64_t total)
{
    reports *t = ctx;
    const int at = t->count < 40 ? t->count++ : 39;
    (void)snprintf(t->stage[at], sizeof t->stage[at], "%s", stage);
    t->done[at] = done;
    t->total[at] = total;
}

TEST(progress_is_what_was_done)
{
    static reports t;
    const cs_progress progress = {take, &t};
    for (int gram = 0; gram < 2; ++gram) { /* blocks of 64 columns of the smaller side */
        CS_AUTO(counted) c = {0};
        counted_of(&c, falling(1));
        cs_svd_options o = {
            .k = 5, .solver = CS_SOLVER_LAPACK, .dense_limit = gram, .progress = &progress};
        t.count = 0;
        AUTO_OK(cs_svd, s, cs_svd_compute(&c.op, &o, &s));
        assert_int_equal(t.count, 2);
        assert_each(i, 0, 2, strcmp(t.stage[i], gram ? "Gram columns" : "dense columns") == 0);
        assert_each(i, 0, 2, t.done[i] == (i == 0 ? 64 : 90));
        assert_each(i, 0, 2, t.total[i] == 90);
        cs_svd_free(&s);
        o.solver = CS_SOLVER_ARPACK;
        t.count = 0;
        OK(cs_svd_compute(&c.op, &o, &s));
        assert_each(i, 0, 39, strcmp(t.stage[i], "ARPACK products") == 0);
        assert_each(i, 0, 39, t.done[i] == t.done[0] + i);
        assert_each(i, 0, 39, t.total[i] == 0);
        cs_svd_free(&s);
        o.solver = CS_SOLVER_BLOCK;
        t.count = 0;
        OK(cs_svd_compute(&c.op, &o, &s));
        assert_int_equal(t.count, s.iterations);
        for (int i = 0; i < t.count && i < 39; ++i) {
            char stage[96];
            const char *looking = strstr(t.stage[i], ", looking for missed copies");
            (void)snprintf(stage, sizeof stage, "triplets converged%s (block Krylov, %d columns)",
                           looking ? ", looking for missed copies" : "", 8 * (i + 1));
            assert_string_equal(t.stage[i], stage);
            assert_true(t.done[i] >= 0 && t.done[i] < 5 && t.total[i] == 5);
        }
    }
}

/* Steps of the process itself after which the k first have residuals within a quarter of tol: no
 * solver needs fewer, and looks come often enough that it takes few more. */
TEST(the_block_solver_stops_soon_after_it_can)
{
    enum { N = 1500 };
    static const struct {
        int64_t k;
        double tol, gap;
    } cases[] = {{1, 0, 0.7}, {5, 1e-6, 0.8}, {20, 0, 0.9}, {40, 1e-10, 0.85}, {100, 1e-8, 0.9}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; ++t) {
        const int64_t k = cases[t].k;
        const double tol = cases[t].tol > 0 ? cases[t].tol : 1e-12;
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        CS_AUTO_BY(cs_space_cpu_free, cs_space) space = {0};
        cs_ritz ritz;
        ARRAY(double, value, N, j,
              j < k ? 1 + 0.5 * (double)(k - j) / (double)k : cases[t].gap * (N - j) / N);
        operator_of(&f, diagonal_matrix(N, value), 1);
        OK(cs_space_cpu(&f.op, 1, &space));
        AUTO_OK(cs_krylov, process, cs_krylov_open(&space, false, N / 8, 3, &process));
        OK(cs_krylov_fresh(&process));
        int64_t least = 0;
        for (bool all = false; !all;) {
            OK(cs_krylov_step(&process));
            ++least;
            all = 8 * least >= k;
            if (!all) continue;
            OK(cs_krylov_ritz(&process, 0, &ritz));
            for (int64_t j = 0; j < k; ++j) {
                all = all && ritz.estimate[j] / ritz.value[j] <= 0.25 * tol * ritz.value[0];
            }
            cs_ritz_free(&ritz);
        }
        cs_svd_options o = {.k = k, .solver = CS_SOLVER_BLOCK, .tol = cases[t].tol, .seed = 3};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        assert_true(s.converged);
        if (!(s.iterations >= least && s.iterations <= least + 3)) {
            fail_msg("k = %lld: %lld steps, %lld would do", (long long)k, (long long)s.iterations,
                     (long long)least);
        }
    }
}

static cs_status (*real_gram)(cs_space *s, int64_t p, cs_panel *const *panels, const cs_panel *w,
                              double *h);
static int64_t products; /* of a panel with one of a basis */

static cs_status count_products(cs_space *s, int64_t p, cs_panel *const *panels, const cs_panel *w,
                                double *h)
{
    products += p;
    return real_gram(s, p, panels, w, h);
}

/* How often one more block of values has converged. */
typedef struct {
    int64_t last;
    int blocks;
} settling;

static void note_converged(void *ctx, const char *stage, int64_t done, int64_t total)
{
    settling *t = ctx;
    (void)stage;
    (void)total;
    t->blocks += done == t->last + 8;
    t->last = done;
}

/* Copies that come by filters are made orthogonal once a block, not once a step: a Krylov space
 * alone takes ten times as many products of panels. */
TEST(filters_save_orthogonalisation)
{
    enum { N = 2000, COPIES = 160 };
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    CS_AUTO_BY(cs_space_cpu_free, cs_space) space = {0};
    ARRAY(double, value, N, j, j < COPIES ? 1 : 0.94 * (N - j) / (N - COPIES));
    operator_of(&f, diagonal_matrix(N, value), 1);
    OK(cs_space_cpu(&f.op, 1, &space));
    real_gram = space.gram;
    space.gram = count_products;
    settling t = {0};
    const cs_progress progress = {note_converged, &t};
    const cs_svd_options o = {
        .k = COPIES, .solver = CS_SOLVER_BLOCK, .tol = 1e-10, .progress = &progress};
    AUTO_OK(cs_svd, s, cs_svd_block_space(&space, &o, &s));
    assert_true(t.blocks >= 10);
    assert_int_equal(s.k, COPIES);
    assert_true(products < 6000); /* 2,809; 29,606 without filters */
}

/* The solver that auto chooses shows in the first product: 64 columns of the identity, or a
 * panel. */
static int64_t first_width;

static cs_status note_width(void *ctx, bool turn, const cs_dense *x, cs_dense *y)
{
    (void)ctx;
    (void)turn;
    (void)y;
    first_width = x->cols;
    return cs_fail(CS_ERR_IO, "enough is seen");
}

TEST(auto_goes_by_work_and_share)
{
    static const struct {
        int64_t rows, cols, k, limit;
        bool dense;
    } cases[] = {
        {1587, 1587, 1, 0, true},       {1588, 1588, 1, 0, false}, /* 4e9 */
        {10000, 632, 1, 0, true},       {10020, 632, 1, 0, false},
        {4000, 1000, 1, 0, true},       {4001, 1000, 1, 0, false},
        {632, 10000, 1, 0, true},       {632, 10020, 1, 0, false},
        {1588, 1588, 397, 0, false},    {1588, 1588, 398, 0, true}, /* a quarter */
        {100, 100, 25, 9999, false},    {100, 100, 26, 9999, true}, /* by the Gram matrix */
        {100, 100, 1, 10000, true},     {100, 100, 1, 9999, false},
        {4000, 4000, 1001, 9999, true}, {4001, 4001, 1001, 9999, false},
        {4001, 4000, 1001, 9999, true}, {4001, 4001, 1001, 0, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const cs_linop op = {.rows = cases[c].rows,
                             .cols = cases[c].cols,
                             .apply = note_width,
                             .work_size = -1,
                             .work_size_t = -1};
        cs_svd_options o = {.k = cases[c].k, .dense_limit = cases[c].limit};
        cs_svd s;
        assert_fails(cs_svd_compute(&op, &o, &s), CS_ERR_IO, "enough is seen");
        if (first_width != (cases[c].dense ? 64 : 8)) {
            fail_msg("case %zu: %lld columns at a time", c, (long long)first_width);
        }
    }
}

/* Zeros that are stored, and entries whose products are no numbers. */
TEST(arpack_at_the_ends_of_the_range)
{
    enum { N = 30, WIDE = 300 };
    double value[N] = {0};
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    cs_svd s;
    const cs_svd_options o = {.k = 2, .solver = CS_SOLVER_ARPACK};
    operator_of(&f, diagonal_matrix(N, value), 1);
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.k, 0);
    assert_true(s.converged && s.floor == 0);
    cs_svd_free(&s);
    operator_free(&f);
    cs_csr all;
    OK(cs_csr_init(&all, WIDE, WIDE, WIDE * WIDE));
    for (int64_t e = 0; e < WIDE * WIDE; ++e) {
        all.ptr[e / WIDE + 1] = e + 1;
        all.col[e] = (int32_t)(e % WIDE);
        all.val[e] = 1.7e308;
    }
    operator_of(&f, all, 1);
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_INPUT,
                 "operator of 300 x 300 returns a vector of norm inf");
}

TEST(options_have_ends)
{
    CS_AUTO(counted) c = {0};
    CS_AUTO(cs_svd) s = {0};
    counted_of(&c, falling(1));
    for (cs_solver solver = CS_SOLVER_LAPACK; solver <= CS_SOLVER_BLOCK; ++solver) {
        cs_svd_options o = {.k = 89, .solver = solver}; /* the most that ARPACK finds */
        OK(cs_svd_compute(&c.op, &o, &s));
        assert_int_equal(s.k, 89);
        cs_svd_free(&s);
    }
    cs_svd_options o = {.k = 1, .tol = 1};
    assert_fails(cs_svd_compute(&c.op, &o, &s), CS_ERR_USAGE, "tolerance 1 is not in [0, 1)");
    o.tol = -1e-300;
    assert_fails(cs_svd_compute(&c.op, &o, &s), CS_ERR_USAGE, "not in [0, 1)");
    o = (cs_svd_options){.k = 1, .memory = -1};
    assert_fails(cs_svd_compute(&c.op, &o, &s), CS_ERR_USAGE, "memory limit of -1 bytes");
    AUTO_OK(cs_dense, start, cs_dense_init(&start, 90, 0));
    o = (cs_svd_options){.k = 1, .solver = CS_SOLVER_BLOCK, .start = &start};
    assert_fails(cs_svd_compute(&c.op, &o, &s), CS_ERR_USAGE, "start vectors are 90 x 0, not 90");
    cs_dense_free(&start);
    OK(cs_dense_init(&start, 130, 1));
    assert_fails(cs_svd_compute(&c.op, &o, &s), CS_ERR_USAGE, "start vectors are 130 x 1, not 90");
    cs_dense_free(&start);
    OK(cs_dense_init(&start, 90, 1));
    start.data[0] = 1;
    OK(cs_svd_compute(&c.op, &o, &s));
    o = (cs_svd_options){.dense_limit = 7};
    assert_int_equal(cs_svd_dense_limit(&o), 7);
    o.dense_limit = 0;
    const int64_t quarter = cs_mem_available() / 4 / 8, limit = cs_svd_dense_limit(&o);
    assert_true(limit == (int64_t)1 << 27 || (limit < (int64_t)1 << 27 && limit > quarter / 2));
}
