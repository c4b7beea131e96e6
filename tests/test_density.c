/* linalg/density, linalg/jacobi and base/student against closed forms, dense SVDs and their own
 * promises of coverage. */
#include "linalg/density.h"
#include "linalg/jacobi_private.h"
#include "linalg_support.h"
#include "stats/moderated.h"

enum { ORDER = 24 };

/* --- student ---------------------------------------------------------------------------------- */

TEST(student_widths_are_those_of_the_tables)
{
    /* One and two degrees of freedom in closed form: tan(pi p / 2) and p sqrt(2 / (1 - p^2)). */
    assert_true(fabs(cs_student_width(0.95, 1) / tan(0.95 * M_PI / 2) - 1) < 1e-12);
    assert_true(fabs(cs_student_width(0.95, 2) / (0.95 * sqrt(2 / (1 - 0.9025))) - 1) < 1e-12);
    assert_true(fabs(cs_student_width(0.95, 31) - 2.0395134464) < 1e-9); /* tables, 10 digits */
    assert_true(fabs(cs_student_width(0.99, 10) - 3.1692726726) < 1e-9);
    assert_true(fabs(cs_student_width(0.95, 1000000) - 1.9599663) < 1e-5);
}

/* --- quadrature ------------------------------------------------------------------------------- */

/* The semicircle (2 / pi) sqrt(1 - x^2): alpha 0, beta 1/2, orthonormal polynomials U_k. */
static cs_jacobi semicircle(int64_t order, double *work)
{
    cs_jacobi j = {.order = order, .mass = 1, .alpha = work, .beta = work + order};
    for (int64_t i = 0; i < order; ++i) {
        j.alpha[i] = 0;
        j.beta[i] = 0.5;
    }
    return j;
}

TEST(the_rule_of_the_semicircle)
{
    double own[2 * ORDER], work[1000], node[ORDER], weight[ORDER];
    for (int64_t q = 1; q <= ORDER; ++q) {
        cs_jacobi j = semicircle(q, own);
        OK(cs_jacobi_rule(&j, work, node, weight));
        for (int64_t k = 0; k < q; ++k) {
            double angle = (double)(q - k) * M_PI / (double)(q + 1);
            assert_true(fabs(node[k] - cos(angle)) < 1e-14 * ORDER);
            double expected = 2.0 / (double)(q + 1) * pow(sin(angle), 2);
            assert_true(fabs(weight[k] - expected) < 1e-14 * ORDER);
        }
    }
}

/* The bounds hold the truth, and lie apart by the Christoffel number 1 / sum_{k<=q} U_k(x)^2: no
 * better ones exist. */
TEST(bounds_are_the_sharp_ones)
{
    double own[2 * ORDER], work[1000];
    int compared = 0;
    for (int64_t q = 1; q <= ORDER; ++q) {
        cs_jacobi j = semicircle(q, own);
        for (int i = 1; i < 200; ++i) {
            double angle = (double)i * M_PI / 200, x = cos(angle), low, high, sum = 0;
            double truth = (angle - sin(angle) * cos(angle)) / M_PI;
            OK(cs_jacobi_above(&j, x, work, &low, &high));
            assert_true(low <= truth + 1e-13 && truth <= high + 1e-13);
            assert_true(low >= 0 && high <= 1);
            for (int64_t k = 0; k <= q; ++k) {
                sum += pow(sin((double)(k + 1) * angle) / sin(angle), 2);
            }
            /* Near a Gauss node (U_q(x) near 0) the plain inequalities replace them. */
            if (fabs(sin((double)(q + 1) * angle) / sin(angle)) > 0.1) {
                assert_true(fabs(high - low - 1 / sum) < 1e-10);
                ++compared;
            } else {
                assert_true(high - low >= 1 / sum - 1e-10);
            }
        }
    }
    assert_true(compared > 3000);
}

/* So near a node of the rule that no prescribed one can be computed: one node more on either side.
 * Nodes cos(k pi / (q + 1)) with weights 2 sin^2 / (q + 1), and what is within 1e-12 is at the
 * node. */
TEST(near_a_node_the_plain_inequalities_are_used)
{
    enum { Q = 12 };
    static const struct {
        double off;
        int low, high; /* nodes above, those from x on, in addition to k - 1 */
    } cases[] = {{0, -1, 2}, {1e-14, -1, 2}, {-1e-14, -1, 2}, {1e-9, -1, 1}, {-1e-9, 0, 2}};
    double own[2 * Q], from_above[Q + 1] = {0}; /* weights of the first k nodes, descending */
    cs_jacobi j = semicircle(Q, own);
    j.mass = 3;
    for (int k = 1; k <= Q; ++k) {
        from_above[k] = from_above[k - 1] + 3 * 2.0 / (Q + 1) * pow(sin(k * M_PI / (Q + 1)), 2);
    }
    for (int k = 1; k <= Q; ++k) {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
            double *work = test_zeros(cs_jacobi_work_size(Q), sizeof *work), low, high;
            const int least = k - 1 + cases[c].low, most = k - 1 + cases[c].high;
            OK(cs_jacobi_above(&j, cos(k * M_PI / (Q + 1)) + cases[c].off, work, &low, &high));
            assert_true(fabs(low - from_above[least < 0 ? 0 : least]) < 1e-12);
            assert_true(fabs(high - from_above[most > Q ? Q : most]) < 1e-12);
        }
    }
}

/* x^2 times the semicircle: mass 1/4 and moments C_{k+1} / 4^{k+1}, C the Catalan numbers. */
TEST(a_measure_times_its_square)
{
    double own[2 * ORDER], alpha[ORDER], beta[ORDER], work[1000], node[ORDER], weight[ORDER];
    cs_jacobi j = semicircle(ORDER, own), squared = {.alpha = alpha, .beta = beta};
    OK(cs_jacobi_squared(&j, work, &squared));
    assert_int_equal(squared.order, ORDER - 2);
    assert_true(fabs(squared.mass - 0.25) < 1e-14);
    OK(cs_jacobi_rule(&squared, work, node, weight));
    double catalan = 1, power = 4;
    for (int k = 0; k < ORDER - 3; ++k) { /* degree 2 k <= 2 (ORDER - 2) - 1 */
        double sum = SUM(i, 0, squared.order, weight[i] * pow(node[i], 2 * k));
        assert_true(fabs(sum - catalan / power) < 1e-13);
        catalan *= 2.0 * (2 * k + 3) / (k + 3); /* C_{k+2} from C_{k+1} */
        power *= 4;
    }
    /* Two values, all of the measure: 0 drops out. */
    cs_jacobi two = {.order = 2, .mass = 3, .alpha = (double[]){1, 1}, .beta = (double[]){1, 0}};
    OK(cs_jacobi_squared(&two, work, &squared)); /* values 0 and 2, weights 3/2 */
    assert_int_equal(squared.order, 1);
    assert_true(fabs(squared.mass - 6) < 1e-13 && fabs(squared.alpha[0] - 2) < 1e-13);
    assert_true(squared.beta[0] == 0);
    cs_jacobi none = {0};
    double low = 1, high = 1;
    OK(cs_jacobi_above(&none, 0.5, work, &low, &high));
    assert_true(low == 0 && high == 0);
    OK(cs_jacobi_squared(&none, work, &squared));
    assert_true(squared.order == 0 && squared.mass == 0);
    /* One step, which has not ended: too few for a measure of degree 2. */
    cs_jacobi one = {.order = 1, .mass = 2, .alpha = (double[]){3}, .beta = (double[]){0.5}};
    OK(cs_jacobi_squared(&one, work, &squared));
    assert_true(squared.order == 0 && squared.mass == 0);
    one.beta[0] = 0; /* ended: all at 3 */
    OK(cs_jacobi_squared(&one, work, &squared));
    assert_int_equal(squared.order, 1);
    assert_true(fabs(squared.mass - 18) < 1e-13 && fabs(squared.alpha[0] - 3) < 1e-13);
    cs_jacobi bad = {.order = 2, .mass = 1, .alpha = (double[]){1, NAN}, .beta = (double[]){1, 0}};
    assert_fails(cs_jacobi_rule(&bad, work, node, weight), CS_ERR_CONVERGE,
                 "order 2 did not converge");
}

/* --- densities -------------------------------------------------------------------------------- */

static cs_csr diagonal(int64_t n, double (*value)(int64_t i))
{
    ARRAY(double, entry, n, i, value(i));
    return diagonal_matrix(n, entry);
}

static double half(int64_t i)
{
    (void)i;
    return 0.5;
}

static bool holds(const cs_interval *x, double truth, double slack)
{
    return x->low - slack <= truth && truth <= x->high + slack;
}

static double kernel(double s, double x, double h)
{
    return (exp(-0.5 * pow((s - x) / h, 2)) + exp(-0.5 * pow((s + x) / h, 2))) /
           (h * sqrt(2 * M_PI));
}

static const double POINTS[] = {0.05, 0.15, 0.33, 0.45, 0.55, 0.71, 0.9};
enum { POINT_COUNT = sizeof POINTS / sizeof *POINTS };

static cs_density_options options_of(int64_t samples, int64_t degree, uint64_t seed)
{
    return (cs_density_options){.samples = samples,
                                .degree = degree,
                                .top = 1,
                                .points = POINT_COUNT,
                                .x = POINTS,
                                .seed = seed,
                                .threads = 1};
}

/* A multiple of the identity: one value, no variance, no quadrature error. */
TEST(the_identity_is_exact)
{
    AUTO_OPERATOR(m, diagonal(200, half), 1);
    cs_density_options o = options_of(3, 4, 1);
    cs_density d;
    OK(cs_density_of(&m.op, &o, &d));
    assert_int_equal(d.ended, 3);
    assert_true(d.bias == 0);
    assert_true(holds(&d.rest2, 50, 0) && d.rest2.high - d.rest2.low < 1e-9);
    assert_true(holds(&d.rest4, 12.5, 0) && d.rest4.high - d.rest4.low < 1e-9);
    for (int i = 0; i < POINT_COUNT; ++i) {
        bool above = POINTS[i] < 0.5;
        assert_true(holds(&d.above[i], above ? 200 : 0, 1e-9));
        assert_true(holds(&d.fourth_below[i], above ? 0 : 12.5, 1e-9));
        assert_true(d.above[i].high - d.above[i].low < 1e-9);
        assert_true(d.fourth_below[i].high - d.fourth_below[i].low < 1e-9);
        double truth = 200 * kernel(0.5, POINTS[i], d.width);
        assert_true(holds(&d.density[i], truth, 1e-9 * (1 + truth)));
    }
    cs_density_free(&d);
    cs_density_free(&d); /* empty by now */
}

/* n samples leave n - 1 degrees of freedom: one and two of them in closed form, as above. */
TEST(a_sample_is_spent_on_the_mean)
{
    AUTO_OPERATOR(m, diagonal(200, half), 1);
    for (int samples = 2; samples <= 3; ++samples) {
        const double want = samples == 2 ? tan(0.95 * M_PI / 2) : 0.95 * sqrt(2 / (1 - 0.9025));
        cs_density_options o = options_of(samples, 4, 1);
        AUTO_OK(cs_density, d, cs_density_of(&m.op, &o, &d));
        assert_true(fabs(d.factor / want - 1) < 1e-12);
    }
}

/* Hypercube of dimension 8, edges over 8: sigma = |8 - 2 k| / 8 with multiplicity C(8, k): five
 * values, so five steps give what twenty do, and the intervals hold the counts. */
TEST(a_hypercube_ends_in_five_steps)
{
    enum { D = 8, N = 1 << D };
    cs_csr a = {0};
    OK(cs_csr_init(&a, N, N, N * D));
    for (int64_t i = 0; i < N; ++i) {
        int64_t at = i * D;
        for (int64_t j = 0; j < N; ++j) {
            if (__builtin_popcountll((unsigned long long)(i ^ j)) == 1) {
                a.col[at] = (int32_t)j;
                a.val[at++] = 1.0 / D;
            }
        }
        a.ptr[i + 1] = at;
    }
    AUTO_OPERATOR(m, a, 1);
    cs_density_options five = options_of(24, 5, 3), twenty = options_of(24, 20, 3);
    five.width = twenty.width = 0.05;
    AUTO_OK(cs_density, d, cs_density_of(&m.op, &five, &d));
    AUTO_OK(cs_density, e, cs_density_of(&m.op, &twenty, &e));
    assert_int_equal(d.ended, 24);
    assert_int_equal(e.ended, 24);
    static const double truth[] = {186, 186, 74, 74, 18, 18, 2}; /* 2 (1 + 8 + 28 + 56), ... */
    assert_each(i, 0, POINT_COUNT, fabs(d.above[i].low - e.above[i].low) < 1e-8);
    assert_each(i, 0, POINT_COUNT, fabs(d.above[i].high - e.above[i].high) < 1e-8);
    assert_each(i, 0, POINT_COUNT, fabs(d.density[i].value - e.density[i].value) < 1e-6);
    assert_each(i, 0, POINT_COUNT, holds(&d.above[i], truth[i], 0));
    assert_true(holds(&d.rest2, N / 8.0, 0)); /* ||A||_F^2 */
}

/* A bipartite cycle of n + n nodes, sigma = |cos(pi j / n)|: the smoothed density's quadrature
 * error, sampling taken away by comparing with a degree that ends the space, is within its bound,
 * and the bound is of use. */
TEST(the_density_is_within_its_quadrature_bound)
{
    enum { N = 150 };
    cs_csr a = {0};
    OK(cs_csr_init(&a, N, N, 2 * N));
    for (int64_t i = 0; i < N; ++i) {
        int64_t next = (i + 1) % N;
        a.ptr[i + 1] = 2 * (i + 1);
        a.col[2 * i] = (int32_t)(i < next ? i : next);
        a.col[2 * i + 1] = (int32_t)(i < next ? next : i);
        a.val[2 * i] = a.val[2 * i + 1] = 0.5;
    }
    AUTO_OPERATOR(m, a, 1);
    cs_density whole;
    double last = 1;
    for (int64_t q = 10; q <= 30; q += 5) {
        cs_density_options o = options_of(8, q, 5), all = options_of(8, N, 5);
        o.width = all.width = 0.05;
        AUTO_OK(cs_density, d, cs_density_of(&m.op, &o, &d));
        OK(cs_density_of(&m.op, &all, &whole));
        assert_int_equal(d.ended, 0);
        assert_int_equal(whole.ended, 8);
        assert_true(whole.bias == 0);
        double worst = 0;
        for (int i = 0; i < POINT_COUNT; ++i) {
            worst = fmax(worst, fabs(d.density[i].value - whole.density[i].value));
            /* Bounds of a lower degree hold those of the whole. */
            assert_true(d.above[i].low <= whole.above[i].low + 1e-8);
            assert_true(d.above[i].high >= whole.above[i].high - 1e-8);
            assert_true(d.fourth_below[i].low <= whole.fourth_below[i].low + 1e-8);
            assert_true(d.fourth_below[i].high >= whole.fourth_below[i].high - 1e-8);
        }
        assert_true(worst <= d.bias);
        assert_true(worst <= last + 1e-9 || q == 10);
        last = worst;
        if (q == 30) {
            assert_true(d.bias < 1e-3 * N); /* the density is about N */
        }
        cs_density_free(&whole);
    }
}

/* Values of a random matrix of norm at most 1. */
static void random_problem(csr_operator *m, double *sigma)
{
    enum { ROWS = 90, COLS = 60 };
    cs_csr a = random_sparse(ROWS, COLS, 0.15, 7);
    AUTO_OK(cs_dense, d, cs_csr_to_dense(&a, &d));
    OK(cs_dense_svd(&d, sigma, NULL, NULL));
    for (int64_t e = 0; e < cs_csr_nnz(&a); ++e) {
        a.val[e] /= sigma[0] * (1 + 1e-12);
    }
    for (int64_t k = COLS - 1; k >= 0; --k) {
        sigma[k] /= sigma[0] * (1 + 1e-12);
    }
    operator_of(m, a, 1);
}

/* 400 seeds. Sums have no quadrature error: Student's interval, which covers in 95% of all cases if
 * samples are normal; two per cent are allowed for that they are not. With p = 0.93 fewer than 342
 * covered have a probability below 1e-6 (normal approximation, 4.8 deviations of 5.1), with
 * p <= 0.97 all 400 one of 5e-6. Counts and partial sums cover at least as often: p = 0.93. */
TEST(intervals_cover_as_often_as_they_say)
{
    enum { SEEDS = 400, COLS = 60, LEAST = 342 };
    double sigma[COLS], sum2 = 0, sum4 = 0;
    CS_AUTO_BY(operator_free, csr_operator) m = {0};
    random_problem(&m, sigma);
    int covered2 = 0, covered4 = 0;
    int above[POINT_COUNT] = {0}, fourth[POINT_COUNT] = {0}, density[POINT_COUNT] = {0};
    double count[POINT_COUNT] = {0}, below[POINT_COUNT] = {0}, smooth[POINT_COUNT] = {0};
    for (int k = 0; k < COLS; ++k) {
        sum2 += pow(sigma[k], 2);
        sum4 += pow(sigma[k], 4);
        for (int i = 0; i < POINT_COUNT; ++i) {
            count[i] += sigma[k] > POINTS[i];
            below[i] += sigma[k] > POINTS[i] ? 0 : pow(sigma[k], 4);
            smooth[i] += kernel(sigma[k], POINTS[i], 0.15);
        }
    }
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        cs_density_options o = options_of(16, 12, seed);
        o.width = 0.15;
        AUTO_OK(cs_density, d, cs_density_of(&m.op, &o, &d));
        covered2 += holds(&d.rest2, sum2, 0);
        covered4 += holds(&d.rest4, sum4, 0);
        for (int i = 0; i < POINT_COUNT; ++i) {
            above[i] += holds(&d.above[i], count[i], 0);
            fourth[i] += holds(&d.fourth_below[i], below[i], 0);
            density[i] += holds(&d.density[i], smooth[i], 0);
        }
    }
    assert_in_range(covered2, LEAST, SEEDS - 1);
    assert_in_range(covered4, LEAST, SEEDS - 1);
    for (int i = 0; i < POINT_COUNT; ++i) {
        assert_in_range(above[i], LEAST, SEEDS);
        assert_in_range(fourth[i], LEAST, SEEDS);
        assert_in_range(density[i], LEAST, SEEDS);
    }
}

/* diag(1 x 10, 0.2 + ...): ten copies known, in two blocks that leave the rest alone. */
static double ten_ones(int64_t i)
{
    return i < 10 ? 1 : 0.2 + 0.005 * (double)(i - 10);
}

TEST(known_copies_are_taken_out)
{
    enum { N = 100 };
    AUTO_OPERATOR(m, diagonal(N, ten_ones), 1);
    cs_dense v[2] = {0};
    double ones[10], sum4 = 0;
    const int64_t start[] = {0, 4, 40};
    OK(cs_dense_init(&v[0], 4, 4));
    OK(cs_dense_init(&v[1], 36, 6));
    for (int64_t k = 0; k < 10; ++k) {
        ones[k] = 1;
        *(k < 4 ? &v[0].data[k * 5] : &v[1].data[(k - 4) * 37]) = 1;
    }
    sum4 += SUM(i, 10, N, pow(ten_ones(i), 4));
    cs_density_known known = {.blocks = 2, .count = 10, .start = start, .v = v, .sigma = ones};
    cs_density_options o = options_of(4, 12, 2);
    o.known = &known;
    AUTO_OK(cs_density, d, cs_density_of(&m.op, &o, &d));
    assert_int_equal(d.known, 10);
    /* A diagonal rest has no variance under signs. */
    assert_true(holds(&d.rest4, sum4, 0) && d.rest4.high - d.rest4.low < 1e-9);
    assert_true(holds(&d.above[POINT_COUNT - 1], 10, 1e-9)); /* 0.9: the ones alone */
    assert_true(d.above[POINT_COUNT - 1].high - d.above[POINT_COUNT - 1].low < 1e-3);
    assert_true(holds(&d.above[2], 10 + 63, 1e-9)); /* beyond 0.33: i - 10 >= 27 */
    cs_density_free(&d);

    v[1].cols = 5;
    assert_fails(cs_density_of(&m.op, &o, &d), CS_ERR_USAGE,
                 "10 known values do not match 9 known vectors");
    v[1].cols = 6;
    v[0].rows = 3;
    assert_fails(cs_density_of(&m.op, &o, &d), CS_ERR_USAGE,
                 "known vectors of block 0 have 3 entries, but columns 0..3 of 100");
    cs_dense_free(&v[0]);
    cs_dense_free(&v[1]);

    /* All of them known: nothing is left. */
    const int64_t all_start[] = {0, N};
    double all[N];
    OK(cs_dense_init(&v[0], N, N));
    for (int64_t k = 0; k < N; ++k) {
        v[0].data[k * (N + 1)] = 1;
        all[k] = ten_ones(k);
    }
    known = (cs_density_known){.blocks = 1, .count = N, .start = all_start, .v = v, .sigma = all};
    OK(cs_density_of(&m.op, &o, &d));
    assert_true(d.rest4.high == 0 && d.above[2].low == 73 && d.above[2].high == 73);
    assert_int_equal(d.ended, 4);
    cs_dense_free(&v[0]);
}

TEST(threads_do_not_change_bits)
{
    cs_density one = {0}, other = {0};
    for (int threads = 1; threads <= 4; ++threads) {
        AUTO_OPERATOR(m, random_sparse(3000, 2000, 0.02, 5), threads);
        cs_density_options o = options_of(11, 10, 9);
        o.top = 100;
        o.threads = threads;
        OK(cs_density_of(&m.op, &o, threads == 1 ? &one : &other));
        if (threads > 1) {
            assert_memory_equal(&one.rest4, &other.rest4, sizeof one.rest4);
            size_t bytes = POINT_COUNT * sizeof *one.density;
            assert_memory_equal(one.density, other.density, bytes);
            assert_memory_equal(one.above, other.above, bytes);
            assert_memory_equal(one.fourth_below, other.fourth_below, bytes);
            cs_density_free(&other);
        }
    }
    cs_density_free(&one);
}

typedef struct {
    int64_t count, samples, degree;
} steps_seen;

static void note_step(void *ctx, const char *stage, int64_t done, int64_t total)
{
    steps_seen *s = ctx;
    assert_string_equal(stage, "Lanczos steps");
    assert_int_equal(done, ++s->count);
    assert_int_equal(total, (s->samples + 7) / 8 * s->degree);
}

/* Groups of eight samples, each of the same number of steps. */
TEST(steps_are_reported)
{
    static const int64_t samples[] = {2, 8, 9, 17};
    AUTO_OPERATOR(m, random_sparse(200, 150, 0.1, 5), 1);
    for (size_t i = 0; i < 4; ++i) {
        steps_seen seen = {.samples = samples[i], .degree = 7};
        const cs_progress progress = {note_step, &seen};
        cs_density_options o = options_of(samples[i], 7, 3);
        o.top = 100;
        o.progress = &progress;
        AUTO_OK(cs_density, d, cs_density_of(&m.op, &o, &d));
        assert_int_equal(seen.count, (samples[i] + 7) / 8 * 7);
    }
    /* A group's basis, its vectors and their product on both sides. */
    assert_true(cs_density_bytes(30, 20, 7) == 8 * (20 * 7 + 20 + 20 + 30));
}

static double too_large(int64_t i)
{
    return i == 3 ? 1e200 : 1;
}

TEST(bad_options_are_named)
{
    AUTO_OPERATOR(m, diagonal(5, half), 1);
    double negative = -0.5;
    cs_density d;
    const struct {
        cs_density_options o;
        const char *reason;
    } cases[] = {
        {{.samples = 1, .degree = 4, .top = 1}, "1 sample is too few"},
        {{.samples = 2, .degree = 3, .top = 1}, "degree 3"},
        {{.samples = 2, .degree = 4, .top = 0}, "bound 0"},
        {{.samples = 2, .degree = 4, .top = NAN}, "bound nan"},
        {{.samples = 2, .degree = 4, .top = 1, .width = -1}, "width -1"},
        {{.samples = 2, .degree = 4, .top = 1, .level = 1}, "level 1"},
        {{.samples = 2, .degree = 4, .top = 1, .points = 1, .x = &negative}, "point 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_fails(cs_density_of(&m.op, &cases[i].o, &d), CS_ERR_USAGE, cases[i].reason);
    }
    operator_free(&m);
    operator_of(&m, random_sparse(5, 4, 1, 3), 1);
    cs_density_options gram = {.samples = 2, .degree = 4, .top = 1, .gram = true};
    assert_fails(cs_density_of(&m.op, &gram, &d), CS_ERR_USAGE,
                 "a Gram form must be square, not 5 x 4");
    operator_free(&m);
    operator_of(&m, diagonal(5, too_large), 1);
    cs_density_options o = options_of(2, 4, 1);
    assert_fails(cs_density_of(&m.op, &o, &d), CS_ERR_INPUT, "not finite");
}

TEST(every_failed_allocation_is_reported)
{
    AUTO_OPERATOR(m, random_sparse(40, 30, 0.2, 3), 1);
    cs_density_options o = options_of(3, 5, 1);
    o.top = 100;
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_density) d = {0};
        if (out_of_memory(cs_density_of(&m.op, &o, &d))) assert_null(d.density);
    }
}
