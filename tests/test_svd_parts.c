/* The parts of the block solver, one by one: near copies, starts that hide half of the spectrum,
 * projections, and a probe that knows nothing of the solver. */
#include "linalg/space.h"
#include "linalg/svd.h"
#include "linalg/svd_block_private.h"
#include "linalg_support.h"

enum { B = CS_BLOCK };

/* 20 values within 1e-9 of each other, whose differences a tolerance of 1e-7 does not resolve: to
 * the process they are copies, and a block sees eight of them. */
TEST(near_copies_are_copies)
{
    enum { N = 1000, COPIES = 20 };
    ARRAY(double, value, N, j,
          j < COPIES       ? 1 - 5e-11 * j
          : j < 2 * COPIES ? 0.8 - 0.02 * (j - COPIES)
                           : 0.2 * (N - j) / N);
    AUTO_OPERATOR(d, diagonal_matrix(N, value), 0);
    cs_svd_options o = {.k = COPIES, .solver = CS_SOLVER_BLOCK, .tol = 1e-7};
    AUTO_OK(cs_svd, s, cs_svd_compute(&d.op, &o, &s));
    assert_true(s.converged);
    assert_int_equal(s.k, COPIES);
    assert_each(j, 0, COPIES, fabs(s.sigma[j] - value[j]) <= 1e-7);
}

/* Start vectors that span an invariant subspace without the largest value, much wider than a block:
 * the process leaves it through noise alone, and nothing in it looks wrong. */
TEST(a_start_in_a_wrong_subspace)
{
    enum { N = 600, K = 6 };
    AUTO_OK(cs_dense, start, cs_dense_init(&start, N, N / 2));
    ARRAY(double, value, N, j, j < 12 ? 1 - 0.05 * j : 0.3 * (N - j) / N);
    for (int64_t j = 0; j < N / 2; ++j) { /* every second vector */
        start.data[2 * j + 1 + j * start.ld] = 1;
    }
    AUTO_OPERATOR(d, diagonal_matrix(N, value), 0);
    cs_svd_options o = {.k = K, .solver = CS_SOLVER_BLOCK, .start = &start};
    AUTO_OK(cs_svd, s, cs_svd_compute(&d.op, &o, &s));
    assert_true(s.converged);
    assert_int_equal(s.k, K);
    assert_each(j, 0, K, fabs(s.sigma[j] - value[j]) <= 1e-12);
}

/* W = V_0 X + V_1 Y + Z with X of size `early` that the first pass leaves out, and Z of size
 * `left`: what remains is orthogonal to V to rounding, relative to itself, and h holds what was
 * taken. */
TEST(what_is_projected_is_orthogonal)
{
    enum { N = 500 };
    static const double size[][2] = {{1e-12, 1}, {1e-4, 1e-12}, {1, 1e-13}};
    double norm = 0;
    ARRAY(double, value, N, j, 1);
    AUTO_OPERATOR(d, diagonal_matrix(N, value), 0);
    CS_AUTO_BY(cs_space_cpu_free, cs_space) space = {0};
    double h[3 * CS_SQUARE], again[3 * CS_SQUARE], own[CS_SQUARE];
    int active = 0;
    OK(cs_space_cpu(&d.op, 1, &space));
    AUTO_OK(cs_basis, v, cs_basis_open(&space, CS_RIGHT, 3, &v));
    cs_panel *w = NULL;
    for (int q = 0; q < 3; ++q) {
        OK(space.create(&space, CS_RIGHT, &w));
        OK(cs_basis_random(&v, 5, (uint64_t)q, B, w, h, &active));
        assert_int_equal(active, B);
        cs_basis_append(&v, &w, B);
    }
    w = v.panel[--v.panels]; /* Z: orthonormal */
    cs_panel *z = w;
    OK(space.create(&space, CS_RIGHT, &w));
    for (size_t t = 0; t < sizeof size / sizeof *size; ++t) {
        double c[3 * CS_SQUARE] = {0};
        cs_panel *all[3] = {v.panel[0], v.panel[1], z};
        for (int i = 0; i < B; ++i) {
            for (int j = 0; j < B; ++j) {
                c[i * B + j] = size[t][0] * cos(i + 3 * j);
                c[CS_SQUARE + i * B + j] = sin(2 * i + j);
            }
            c[2 * CS_SQUARE + i * B + i] = size[t][1];
        }
        OK(space.combine(&space, 3, all, c, false, w));
        OK(cs_basis_project(&v, 1, w, h, &norm));
        assert_each(e, 0, 2 * CS_SQUARE, fabs(h[e] - c[e]) < 1e-14);
        assert_true(norm > 1 && norm < 5);
        OK(space.gram(&space, 2, v.panel, w, again));
        OK(space.gram(&space, 1, &w, w, own));
        assert_each(e, 0, 2 * CS_SQUARE,
                    fabs(again[e]) <= 64 * DBL_EPSILON * sqrt(own[(ptrdiff_t)(e % B) * (B + 1)]));
    }
    space.destroy(z);
    space.destroy(w);
}

/* The numbers of the random blocks, in the order in which the space draws them. */
enum { MOST = 1000 };
static struct {
    cs_status (*random)(cs_space *, uint64_t, uint64_t, cs_panel *);
    uint64_t seed, index[MOST];
    int count;
} drawn;

static cs_status random_noted(cs_space *s, uint64_t seed, uint64_t index, cs_panel *x)
{
    assert_true(drawn.count < MOST && seed == drawn.seed);
    drawn.index[drawn.count++] = index;
    return drawn.random(s, seed, index, x);
}

/* With one seed for both: the bound supposes blocks that the result does not depend on. */
TEST(the_probe_draws_blocks_of_its_own)
{
    enum { N = 400, COPIES = 40 };
    cs_probe probe;
    ARRAY(double, value, N, j, j < COPIES ? 1 : 0.7 * (N - j) / N);
    AUTO_OPERATOR(d, diagonal_matrix(N, value), 0);
    CS_AUTO_BY(cs_space_cpu_free, cs_space) space = {0};
    OK(cs_space_cpu(&d.op, 1, &space));
    drawn.random = space.random;
    drawn.seed = 7;
    drawn.count = 0;
    space.random = random_noted;
    cs_svd_options o = {.k = COPIES, .solver = CS_SOLVER_BLOCK, .seed = drawn.seed};
    AUTO_OK(cs_svd, s, cs_svd_block_space(&space, &o, &s));
    int solver = drawn.count;
    assert_true(solver >= COPIES / B);
    OK(cs_svd_probe_space(&space, &s.v, 0, drawn.seed, &probe));
    assert_true(drawn.count > solver && probe.value < 0.7);
    for (int i = solver; i < drawn.count; ++i) {
        assert_each(j, 0, solver, drawn.index[i] != drawn.index[j]);
    }
}
