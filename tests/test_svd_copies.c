/* Many copies of a value in the block solver: all of them, at any level of the spectrum, within a
 * budget, and what is left of them when it is stopped. */
#include "base/threads.h"
#include "linalg/svd.h"
#include "linalg_support.h"

/* One value in each column but the last. */
static void scatter(csr_operator *f, int64_t rows, int64_t cols, const double *value)
{
    operator_of(f, scattered(rows, cols, cols - 1, value), 0);
}

/* The k largest of `value`, which descends, each within the requested residual. */
static void check(const cs_svd *s, int64_t k, const double *value, double tol)
{
    assert_true(s->converged);
    assert_int_equal(s->k, k);
    assert_each(j, 0, k, s->residual[j] <= tol * value[0]);
    assert_each(j, 0, k, fabs(s->sigma[j] - value[j]) <= tol * value[0]);
    double rounding = 20 * (double)(s->u.rows + s->v.rows) * DBL_EPSILON;
    assert_true(orthonormality(&s->u) < rounding);
    assert_true(orthonormality(&s->v) < rounding);
}

enum { N = 2000, COPIES = 256 };

TEST(all_copies_whatever_the_threads)
{
    ARRAY(double, value, N, j, j < COPIES ? 1 : 0.94 * (N - j) / (N - COPIES));
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    scatter(&f, N + 10, N + 1, value);
    static const int64_t wanted[] = {COPIES, 100, COPIES + 20};
    for (int w = 0; w < 3; ++w) {
        cs_svd_options o = {.k = wanted[w], .solver = CS_SOLVER_BLOCK, .tol = 1e-10, .threads = 1};
        AUTO_OK(cs_svd, one, cs_svd_compute(&f.op, &o, &one));
        check(&one, o.k, value, 1e-10);
        o.threads = 3;
        AUTO_OK(cs_svd, three, cs_svd_compute(&f.op, &o, &three));
        assert_int_equal(three.iterations, one.iterations);
        assert_memory_equal(three.sigma, one.sigma, (size_t)o.k * sizeof *one.sigma);
        assert_memory_equal(three.v.data, one.v.data, (size_t)(o.k * (N + 1)) * sizeof(double));
    }
    /* Capacity for the wanted ones and little more: the same copies. */
    cs_svd_options o = {.k = COPIES, .solver = CS_SOLVER_BLOCK, .tol = 1e-10};
    o.memory = (int64_t)(N + 1) * 8 * (COPIES + 12 * 8);
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    check(&s, COPIES, value, 1e-10);
}

/* Copies under larger copies, the step between them small and large, and near ones between. */
TEST(copies_at_every_level)
{
    enum { LENGTH = 600, WANTED = 150 };
    static const double level[][3] = {{1, 0.9, 0.7}, {1, 0.1, 0.08}, {1, 1 - 1e-4, 0.9}};
    for (size_t t = 0; t < sizeof level / sizeof *level; ++t) {
        ARRAY(double, value, LENGTH, j,
              j < 40   ? level[t][0]
              : j < 90 ? level[t][1]
              : j < 95 ? level[t][1] * (1 - 1e-5)
                       : level[t][2] * (j < 140 ? 1 : 0.9 * (LENGTH - j) / LENGTH));
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        scatter(&f, LENGTH + 10, LENGTH + 1, value);
        cs_svd_options o = {.k = WANTED, .solver = CS_SOLVER_BLOCK, .seed = t};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        check(&s, WANTED, value, 1e-12);
    }
}

/* Copies below the resolution of the Gram form: Golub-Kahan finds them, without filters. */
TEST(copies_of_a_small_value)
{
    enum { LENGTH = 300, WANTED = 70 };
    ARRAY(double, value, LENGTH, j, j < 40 ? 1 : j < WANTED ? 1e-7 : 4e-8 * (LENGTH - j) / LENGTH);
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    scatter(&f, LENGTH + 10, LENGTH + 1, value);
    cs_svd_options o = {.k = WANTED, .solver = CS_SOLVER_BLOCK};
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    check(&s, WANTED, value, 1e-12);
    assert_true(s.floor < 1e-12);
}

TEST(every_allocation_may_fail)
{
    enum { LENGTH = 150, WANTED = 24 };
    ARRAY(double, value, LENGTH, j, j < 30 ? 1 : 0.7 * (LENGTH - j) / LENGTH);
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    scatter(&f, LENGTH + 10, LENGTH + 1, value);
    cs_svd_options o = {.k = WANTED, .solver = CS_SOLVER_BLOCK, .tol = 1e-9, .threads = 1};
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_svd) s = {0};
        if (!out_of_memory(cs_svd_compute(&f.op, &o, &s))) check(&s, WANTED, value, 1e-9);
    }
}

static void stop_among_copies(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)stage;
    assert_int_equal(total, COPIES);
    if (done >= 64) {
        *(int64_t *)ctx = done;
        cs_interrupt_set();
    }
}

/* Last: the flag cannot be taken back. */
TEST(what_was_found_is_kept)
{
    ARRAY(double, value, N, j, j < COPIES ? 1 : 0.94 * (N - j) / (N - COPIES));
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    scatter(&f, N + 10, N + 1, value);
    int64_t done = 0;
    cs_progress progress = {stop_among_copies, &done};
    cs_svd_options o = {.k = COPIES, .solver = CS_SOLVER_BLOCK, .tol = 1e-10};
    o.progress = &progress;
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    assert_true(s.interrupted && !s.converged);
    assert_true(done >= 64 && done < COPIES);
    assert_true(s.k >= 64 && s.k < COPIES);
    assert_each(j, 0, s.k, fabs(s.sigma[j] - 1) <= 1e-10);
    assert_each(j, 0, s.k, s.residual[j] <= 1e-10);
}
