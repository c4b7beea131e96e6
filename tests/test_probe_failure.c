/* The failure probability of the probe against simulation: the tail of the Beta distribution that
 * its bound ends in, and the process itself on spectra made to hide their largest value. Seeds are
 * fixed, so the outcome is; allowances are four standard deviations of a count. */
#include "linalg/space.h"
#include "linalg/svd_block_private.h"
#include "linalg_support.h"

static double chi_square(cs_rng *rng, int64_t degrees)
{
    double sum = 0;
    for (int64_t i = 0; i < degrees; ++i) {
        double x = cs_rng_normal(rng);
        sum += x * x;
    }
    return sum;
}

/* P(|g|^2 M^2 <= |rest|^2), g of b and rest of n - 1 normal numbers: the bound replaces (1 - t)^(d
 * - 1) by 1 under the integral up to y = 1 / (1 + M^2), so it is above by (1 - y)^(1 - d) at most.
 */
TEST(the_bound_is_the_tail_of_beta)
{
    static const struct {
        int64_t n, steps;
        int columns;
        double ratio;
    } cases[] = {
        {10, 2, 1, 1.5}, {40, 2, 8, 1.3}, {25, 3, 4, 1.2}, {100, 3, 2, 1.4}, {9, 2, 8, 1.2}};
    enum { DRAWS = 100000 };
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; ++t) {
        double bound =
            cs_probe_failure(cases[t].n, cases[t].columns, cases[t].steps, cases[t].ratio);
        double eps = 1 - 1 / (cases[t].ratio * cases[t].ratio);
        double m = sinh((2 * (double)cases[t].steps - 1) * atanh(sqrt(eps)));
        double y = 1 / (1 + m * m), d = 0.5 * (double)(cases[t].n - 1);
        cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, t);
        int64_t hidden = 0;
        for (int i = 0; i < DRAWS; ++i) {
            double seen = chi_square(&rng, cases[t].columns);
            hidden += seen * m * m <= chi_square(&rng, cases[t].n - 1);
        }
        double share = (double)hidden / DRAWS, margin = 4 * sqrt(bound / DRAWS);
        assert_true(bound < 1);
        assert_true(share <= bound + margin);
        assert_true(share >= bound * pow(1 - y, d - 1) - margin);
        assert_true(hidden > 0);
    }
}

/* The largest Ritz value of `steps` steps on diag(sigma). */
static double seen_by(const cs_csr *a, int64_t steps, uint64_t seed)
{
    cs_linop_csr_ctx ctx;
    cs_linop op = cs_linop_csr(&ctx, a, a, 1);
    CS_AUTO_BY(cs_space_cpu_free, cs_space) space = {0};
    OK(cs_space_cpu(&op, 1, &space));
    AUTO_OK(cs_krylov, k, cs_krylov_open(&space, false, steps + 1, seed, &k));
    OK(cs_krylov_fresh(&k));
    for (int64_t i = 0; i < steps; ++i) {
        OK(cs_krylov_step(&k));
    }
    AUTO_OK(cs_ritz, ritz, cs_krylov_ritz(&k, 0, &ritz));
    double value = ritz.value[0];
    return value;
}

/* sigma_1 = 1, every other sigma^2 where the Chebyshev polynomial of the proof is extremal, in
 * [0, c] with c = 1 / ratio^2 (spread 0), or uniform in there (spread 1). */
static cs_csr hiding(int64_t n, int64_t steps, double ratio, int spread, uint64_t seed)
{
    const double pi = acos(-1), c = 1 / (ratio * ratio);
    double *entry = test_zeros(n, sizeof *entry);
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 9);
    for (int64_t i = 0; i < n; ++i) {
        double y = cos(pi * (double)(i % steps) / (double)(2 * steps - 1));
        double square = spread ? c * cs_rng_uniform(&rng) : c * (1 - y * y);
        entry[i] = i == n - 1 ? 1 : sqrt(square);
    }
    return diagonal_matrix(n, entry);
}

/* The largest Ritz value of `columns` normal columns and `steps` steps with diag(square), written
 * as the definition has it. */
static double seen_by_few(const cs_csr *a, int64_t steps, int columns, cs_rng *rng)
{
    enum { MOST = 12 };
    int64_t n = a->rows, width = steps * columns;
    double value[MOST];
    assert_true(width <= MOST);
    AUTO_OK(cs_dense, basis, cs_dense_init(&basis, n, width));
    AUTO_OK(cs_dense, image, cs_dense_init(&image, n, width));
    AUTO_OK(cs_dense, projected, cs_dense_init(&projected, width, width));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < width; ++j) {
            basis.data[i + j * n] = j < columns
                                        ? cs_rng_normal(rng)
                                        : a->val[i] * a->val[i] * basis.data[i + (j - columns) * n];
        }
    }
    OK(cs_dense_orthonormalise(&basis));
    for (int64_t e = 0; e < n * width; ++e) {
        image.data[e] = a->val[e % n] * a->val[e % n] * basis.data[e];
    }
    OK(cs_gemm(true, false, 1, &basis, &image, 0, &projected));
    OK(cs_dense_eigh(&projected, value, true));
    return sqrt(fmax(value[width - 1], 0));
}

static void assert_rare(int64_t missed, int64_t trials, double bound)
{
    double expected = (double)trials * bound;
    assert_true((double)missed <= expected + 4 * sqrt(expected));
}

/* The process of the proof, by few columns, where it is not far from the truth; and that of the
 * program, by its eight. */
TEST(misses_stay_below_the_bound)
{
    static const struct {
        int64_t n, steps;
        int columns;
        double ratio;
    } cases[] = {{10, 2, 1, 1.5}, {30, 3, 1, 1.3},  {100, 4, 1, 1.2}, {10, 2, 2, 1.3},
                 {40, 3, 2, 1.2}, {20, 2, 3, 1.25}, {40, 2, 8, 1.3},  {60, 3, 8, 1.15}};
    enum { TRIALS = 4000 };
    int64_t often = 0;
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; ++t) {
        double ratio = cases[t].ratio;
        int64_t n = cases[t].n, steps = cases[t].steps;
        int columns = cases[t].columns;
        double bound = cs_probe_failure(n, columns, steps, ratio);
        for (int spread = 0; spread < 2; ++spread) {
            CS_AUTO(cs_csr) a = hiding(n, steps, ratio, spread, t);
            cs_rng rng = cs_rng_at(2, CS_STREAM_TEST, 2 * t + (uint64_t)spread);
            int64_t missed = 0;
            for (uint64_t seed = 0; seed < TRIALS; ++seed) {
                double seen = columns == CS_BLOCK ? seen_by(&a, steps, seed)
                                                  : seen_by_few(&a, steps, columns, &rng);
                missed += seen <= 1 / ratio;
            }
            assert_true(bound < 1);
            assert_rare(missed, TRIALS, bound);
            often += (double)missed > 0.1 * TRIALS * bound;
        }
    }
    assert_true(often >= 3); /* or the cases would say nothing */
}

/* More steps, more columns, fewer dimensions and a wider gap all help; the steps taken are the
 * least that bring the bound to 1e-6. */
TEST(the_bound_is_monotone)
{
    for (int64_t n = 10; n <= 1000000; n *= 10) {
        for (int64_t q = 2; q < 40; ++q) {
            double p = cs_probe_failure(n, 8, q, CS_PROBE_RATIO);
            assert_true(p >= 0 && p <= 1);
            assert_true(cs_probe_failure(n, 8, q + 1, CS_PROBE_RATIO) <= p);
            assert_true(cs_probe_failure(n + 1, 8, q, CS_PROBE_RATIO) >= p);
            assert_true(cs_probe_failure(n, 8, q, 1.02) <= p);
        }
        int64_t steps = cs_probe_steps(n, false);
        bool whole = steps * CS_BLOCK >= n;
        assert_true(whole || cs_probe_failure(n, 8, steps, CS_PROBE_RATIO) <= 1e-6);
        assert_true(steps == 1 || cs_probe_failure(n, 8, steps - 1, CS_PROBE_RATIO) > 1e-6);
    }
}
