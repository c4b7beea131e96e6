/* Connectivity: Cheeger bounds against all subsets, known cuts, principal angles. */
#include "analysis/measures/connectivity.h"
#include "analysis/measures/similarity.h"
#include "test.h"

enum { MOST = 8 };

/* A dense array as CSR. */
static cs_csr sparse(int64_t rows, int64_t cols, const double *row_major)
{
    int64_t row[MOST * MOST], col[MOST * MOST];
    double val[MOST * MOST];
    int64_t n = 0;
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
            if (row_major[i * cols + j] != 0.0) {
                row[n] = i;
                col[n] = j;
                val[n++] = row_major[i * cols + j];
            }
        }
    }
    cs_csr a = {0};
    OK(cs_csr_from_triplets(rows, cols, n, row, col, val, &a));
    return a;
}

/* min over all subsets of nodes of cut / min(vol, 2 - vol), by brute force; *found: whether one has
 * the volume and the ratio reported. */
static double true_conductance(int64_t rows, int64_t cols, const double *a, const cs_cut *reported,
                               bool *found)
{
    double total = 0.0, best = INFINITY;
    *found = false;
    for (int64_t p = 0; p < rows * cols; ++p) {
        total += a[p];
    }
    int64_t nodes = rows + cols;
    for (uint64_t set = 1; set + 1 < (uint64_t)1 << nodes; ++set) {
        double cut = 0.0, volume = 0.0;
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < cols; ++j) {
                int in_row = (int)(set >> i & 1), in_col = (int)(set >> (rows + j) & 1);
                cut += in_row != in_col ? a[i * cols + j] / total : 0.0;
                volume += (in_row + in_col) * a[i * cols + j] / total;
            }
        }
        double smaller = fmin(volume, 2.0 - volume);
        if (smaller > 1e-12) {
            best = fmin(best, cut / smaller);
            *found = *found || (fabs(smaller - reported->sweep_volume) < 1e-12 &&
                                fabs(cut / smaller - reported->sweep) < 1e-11);
        }
    }
    return best;
}

/* (1 - sigma_2)/2 <= h <= sweep <= sqrt(1 - sigma_2^2) on random connected graphs, h from all
 * subsets. Rounding of the sums is below 1e-13; the singular value enters with its residual, 1e-12.
 */
TEST(sweep_lies_between_the_true_minimum_and_cheeger)
{
    for (uint64_t trial = 0; trial < 200; ++trial) {
        cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, trial);
        int64_t rows = 1 + cs_rng_below(&rng, 5), cols = 1 + cs_rng_below(&rng, 5);
        double a[25];
        for (int64_t p = 0; p < rows * cols; ++p) {
            a[p] = cs_rng_uniform(&rng) < 0.5 ? 0.0 : 1.0 + (double)cs_rng_below(&rng, 9);
        }
        for (int64_t j = 0; j < cols; ++j) { /* the first row and column make it connected */
            a[j] += 0.5;
        }
        for (int64_t i = 0; i < rows; ++i) {
            a[i * cols] += 0.5;
        }
        CS_AUTO(cs_csr) m = sparse(rows, cols, a);
        cs_cut cut;
        cs_connectivity_options options = {0};
        bool found;
        OK(cs_cut_of(&m, &options, &cut));
        double h = true_conductance(rows, cols, a, &cut, &found);
        assert_true(cut.lower <= h + 1e-11);
        assert_true(h <= cut.sweep + 1e-11);
        assert_true(cut.sweep <= cut.upper + 1e-11);
        assert_true(found);
    }
}

/* group-ar, t = 2, s = 6: B is 5 x 5 with sigma_j = cos(j pi / 9), bounds 0.03015 and 0.34202
 * (theory). Events of the group plans with first group 1 and 2: prefixes 1, 3, 5 and 2, 4 predict
 * their next two tokens. */
TEST(group_ar_has_the_known_gap)
{
    double a[25] = {0};
    for (int i = 0; i < 5; ++i) { /* row: prefix i + 1, column: target i + 2 and i + 3 */
        a[i * 5 + i] = 1.0;
        if (i < 4) {
            a[i * 5 + i + 1] = 1.0;
        }
    }
    CS_AUTO(cs_csr) m = sparse(5, 5, a);
    cs_connectivity_options options = {0};
    AUTO_OK(cs_connectivity, c, cs_connectivity_of(&m, &options, &c));
    double sigma2 = cos(M_PI / 9);
    assert_true(fabs(c.cut.sigma2 - sigma2) < 1e-12);
    assert_true(fabs(c.cut.sigma2 - 0.93969) < 5e-6);
    assert_true(fabs(c.cut.lower - 0.03015) < 5e-6);
    assert_true(fabs(c.cut.upper - 0.34202) < 5e-6);
    assert_true(fabs(c.gap - (1.0 - sigma2)) < 1e-12);
    assert_int_equal(c.spectrum.input.components, 1);
    assert_true(c.giant_mass == 1.0);
}

TEST(two_components_report_the_heavier)
{
    const double a[16] = {3, 1, 0, 0, 1, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    CS_AUTO(cs_csr) m = sparse(4, 4, a);
    cs_connectivity_options options = {0};
    AUTO_OK(cs_connectivity, c, cs_connectivity_of(&m, &options, &c));
    assert_int_equal(c.spectrum.input.components, 2);
    assert_true(fabs(c.giant_mass - 8.0 / 9.0) < 1e-15);
    assert_true(fabs(c.cut.sigma2 - 0.5) < 1e-12); /* [[3,1],[1,3]]/8: correlation 1/2 */
    assert_true(fabs(c.gap - 0.5) < 1e-12);
    cs_cut cut;
    assert_int_equal(cs_cut_of(&m, &options, &cut), CS_ERR_INPUT);
    cs_reason_clear();
}

/* The matrix of group_ar_has_the_known_gap with a lighter component whose second value, 0.99 /
 * 1.01, is larger. Of one value below 1 the heavier's is not among those of the whole; of two it
 * is: the same cut, a cut of the component. */
TEST(the_cut_is_the_heavier_components_whichever_values_are_larger)
{
    enum { N = 7 };
    double a[N * N] = {0}, heavy[25] = {0};
    a[1 * N + 1] = a[4 * N + 4] = 1.0;
    a[1 * N + 4] = a[4 * N + 1] = 0.01;
    static const int at[] = {0, 2, 3, 5, 6};
    for (int i = 0; i < 5; ++i) {
        for (int j = i; j < 5 && j <= i + 1; ++j) {
            a[at[i] * N + at[j]] = heavy[i * 5 + j] = 1.0;
        }
    }
    CS_AUTO(cs_csr) m = sparse(N, N, a);
    for (int64_t k = 1; k <= 2; ++k) {
        cs_connectivity_options options = {.k = k};
        bool found = false;
        AUTO_OK(cs_connectivity, c, cs_connectivity_of(&m, &options, &c));
        assert_true(fabs(c.gap - (1 - 0.99 / 1.01)) < 1e-12);
        assert_true(fabs(c.giant_mass - 9 / 11.02) < 1e-15);
        assert_true(fabs(c.cut.sigma2 - cos(M_PI / 9)) < 1e-12);
        assert_true(c.cut.residual < 1e-12);
        assert_true(c.cut.sweep >= true_conductance(5, 5, heavy, &c.cut, &found) - 1e-11);
        assert_true(found && c.cut.sweep <= c.cut.upper + 1e-11);
        assert_null(c.spectrum.u.data);
    }
}

/* The cycle of 2 x 700 nodes: its second value, cos(pi / 700), is 1e-5 from the first and double,
 * so one iteration of ARPACK leaves it unknown. A sigma_2 of 0, hence an upper bound of 1, would be
 * an invention. */
TEST(a_cut_without_its_second_triplet_is_refused)
{
    enum { N = 700 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N, 2 * N));
    for (int i = 0; i < N; ++i) {
        a.col[2 * i] = i + 1 < N ? i : 0;
        a.col[2 * i + 1] = i + 1 < N ? i + 1 : N - 1;
        a.val[2 * i] = a.val[2 * i + 1] = 1;
        a.ptr[i + 1] = 2 * (i + 1);
    }
    cs_connectivity_options options = {.solver = CS_SOLVER_ARPACK, .max_iterations = 1};
    cs_cut cut = {0};
    assert_fails(cs_cut_of(&a, &options, &cut), CS_ERR_CONVERGE, "did not converge");
    assert_int_equal(cut.rows, 0);
    cs_reason_clear();
    cs_connectivity c = {0};
    assert_int_equal(cs_connectivity_of(&a, &options, &c), CS_ERR_CONVERGE);
    assert_null(c.spectrum.sigma);
    cs_reason_clear();
    options = (cs_connectivity_options){0};
    OK(cs_cut_of(&a, &options, &cut));
    assert_true(fabs(cut.sigma2 - cos(acos(-1) / N)) < 1e-12);
}

/* Planes spanned by (e1, e3) and by e1, e3 turned by known angles in their own coordinate planes.
 */
TEST(principal_angles_are_exact_at_both_ends)
{
    const double wanted[3] = {1e-9, 0.7, M_PI / 2};
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 8, 3));
    AUTO_OK(cs_dense, b, cs_dense_init(&b, 8, 3));
    for (int64_t j = 0; j < 3; ++j) {
        a.data[2 * j + j * a.ld] = 2.0; /* scale must not matter */
        b.data[2 * j + j * b.ld] = cos(wanted[j]);
        b.data[2 * j + 1 + j * b.ld] = sin(wanted[j]);
    }
    b.data[0 + 1 * b.ld] += 0.3 * cos(wanted[0]); /* nor the basis */
    b.data[1 + 1 * b.ld] += 0.3 * sin(wanted[0]);
    double angle[3];
    OK(cs_principal_angles(&a, &b, angle));
    assert_each(i, 0, 3, fabs(angle[i] - wanted[i]) < 1e-14);
}
