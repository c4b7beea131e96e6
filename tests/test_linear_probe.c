/* analysis/linear_probe: closed forms, gradients by central differences, stationarity by plain
 * loops, equivariance, threads, choice of the penalty. */
#include "analysis/measures/linear_probe_private.h"
#include "linear_probe_support.h"
#include "test.h"

enum { N = PROBE_N, D = PROBE_D, K = PROBE_K };

/* f is computed to a relative 1e-16, so a line search on it can shorten a gradient to about
 * sqrt(2e-16) = 1.5e-8 and no further for sure. */
static const double REACHED = 1e-7;

static cs_linear_probe_options one_penalty(const double *penalty)
{
    return (cs_linear_probe_options){.penalties = 1, .penalty = penalty, .tolerance = REACHED};
}

/* |grad f| by plain loops over standardised rows. */
static double plain_gradient(const cs_linear_probe *p, const cs_rows *x, const double *y,
                             const double *class_weight, double penalty)
{
    const int64_t k = p->outputs, d = p->features, n = x->rows;
    double *g = cs_calloc(d * k + k, sizeof *g), *z = cs_alloc(d + k, sizeof *z), *s = z + d;
    assert_true(g && z);
    for (int64_t i = 0; i < n; ++i) {
        OK(cs_rows_read_f64(x, i, 1, z));
        memcpy(s, p->intercept, sizeof(double) * (size_t)k);
        for (int64_t j = 0; j < d; ++j) {
            z[j] = (z[j] - p->mean[j]) * p->scale[j];
            for (int64_t c = 0; c < k; ++c) {
                s[c] += z[j] * p->weight[j * k + c];
            }
        }
        double sum = SUM(c, 0, k, exp(s[c]));
        for (int64_t c = 0; c < k; ++c) {
            bool own = p->class_of && (double)p->class_of[c] == y[i];
            double r = p->class_of ? class_weight[(int)y[i]] * (exp(s[c]) / sum - (own ? 1.0 : 0.0))
                                   : s[c] - (y[i] - p->value_mean) / p->value_scale;
            for (int64_t j = 0; j < d; ++j) {
                g[j * k + c] += z[j] * r / (double)n;
            }
            g[d * k + c] += r / (double)n;
        }
    }
    double square = 0;
    for (int64_t j = 0; j < d * k + k; ++j) {
        g[j] += j < d * k ? penalty * p->weight[j] : 0;
        square += g[j] * g[j];
    }
    cs_free(g);
    cs_free(z);
    return sqrt(square);
}

static const double ones[K] = {1, 1, 1};

/* z = +-1, y agrees with its sign in a share q: W = (-u, u), b = 0 and
 * sigmoid(2 u) - q + penalty u = 0. q = 1 is separable: u stays finite. */
TEST(one_feature_of_two_values)
{
    static const double penalties[3] = {0.5, 0.01, 1e-4}, agreeing[2] = {0.8, 1.0};
    double x[40], y[40];
    for (int t = 0; t < 6; ++t) {
        double q = agreeing[t % 2], low = 0, high = 1e5;
        for (int i = 0; i < 40; ++i) { /* of each 20 rows of a sign q agree */
            bool agrees = i / 2 < 20 * q;
            x[i] = i % 2 ? 5 : 1;
            y[i] = (i % 2 == 1) == agrees;
        }
        for (int step = 0; step < 200; ++step) {
            double u = 0.5 * (low + high);
            bool above = 1 / (1 + exp(-2 * u)) - q + penalties[t / 2] * u > 0;
            high = above ? u : high;
            low = above ? low : u;
        }
        cs_rows rows = cs_rows_of_f64(40, 1, x, "x");
        const cs_linear_probe_options o = one_penalty(&penalties[t / 2]);
        CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, y, 2, &o);
        assert_true(p.converged && p.gradient <= REACHED);
        assert_true(p.mean[0] == 3 && fabs(p.scale[0] - 0.5) <= 1e-15);
        /* f is strongly convex in W: |W - W*| <= |grad f| / penalty. */
        double most = REACHED / penalties[t / 2];
        assert_true(fabs(p.weight[1] - low) <= most && fabs(p.weight[0] + low) <= most);
        assert_true(fabs(p.intercept[0]) <= most && fabs(p.intercept[1]) <= most);
        assert_true(fabs(p.train_accuracy - q) <= 1e-15);
        assert_true(fabs(p.least_margin - (q < 1 ? -2 : 2) * low) <= 4 * most);
    }
}

/* Features that say nothing: W = 0, b = logarithms of the shares less their mean; balanced: 0. */
TEST(shares_alone)
{
    double x[12], y[12];
    for (int i = 0; i < 12; ++i) {
        x[i] = i % 2 ? 1 : -1;
        y[i] = i < 2 ? 0 : i < 6 ? 1 : 2; /* 2, 4, 6 */
    }
    const double penalty = 1;
    cs_linear_probe_options o = one_penalty(&penalty);
    cs_rows rows = cs_rows_of_f64(12, 1, x, "x");
    CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, y, 3, &o);
    double mean = (log(2) + log(4) + log(6)) / 3;
    assert_true(fabs(p.intercept[0] - log(2) + mean) <= 1e-12);
    assert_true(fabs(p.intercept[2] - log(6) + mean) <= 1e-12);
    double loss = log(12) - (2 * log(2) + 4 * log(4) + 6 * log(6)) / 12;
    assert_true(fabs(p.loss - loss) <= 1e-14 && fabs(p.weight[0]) <= 1e-12);
    cs_linear_probe_free(&p);
    o.balanced = true;
    p = probe_fitted(&rows, y, 3, &o);
    assert_true(fabs(p.loss - log(3)) <= 1e-14 && fabs(p.intercept[0]) <= 1e-12);
}

TEST(gradients_by_differences)
{
    static probe_data s;
    probe_fill(&s, 1);
    cs_rows rows = probe_rows(&s);
    for (int form = 0; form < 3; ++form) {
        const cs_probe_sample sample = {&rows, N, NULL, s.y, form < 2 ? K : 0, form == 1};
        CS_AUTO(cs_linear_probe) p = {0};
        AUTO_OK(cs_probe_problem, q, cs_probe_pose(&sample, 2, &p, &q));
        q.penalty = 0.3;
        double x[D * K + K], g[D * K + K], scratch[D * K + K], f, up, down;
        const int all = (int)(q.p * q.k + q.k);
        cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 99);
        for (int j = 0; j < all; ++j) {
            x[j] = cs_rng_normal(&rng);
        }
        OK(cs_probe_evaluate(&q, x, &f, g));
        for (int j = 0; j < all; ++j) {
            const double h = 1e-5, at = x[j];
            x[j] = at + h;
            OK(cs_probe_evaluate(&q, x, &up, scratch));
            x[j] = at - h;
            OK(cs_probe_evaluate(&q, x, &down, scratch));
            x[j] = at;
            /* h^2 / 6 times a third derivative of order 10, and rounding 1e-16 f / h. */
            assert_true(fabs((up - down) / (2 * h) - g[j]) <= 1e-9 + 1e-10 * f);
        }
    }
}

TEST(stationary_by_plain_loops)
{
    static probe_data s;
    probe_fill(&s, 2);
    cs_rows rows = probe_rows(&s);
    const double penalties[2] = {0.1, 1e-3};
    double number[K] = {0};
    for (int i = 0; i < N; ++i) {
        number[(int)s.y[i]] += 1;
    }
    ARRAY(double, weights, K, c, N / (K * number[c]));
    for (int t = 0; t < 4; ++t) {
        cs_linear_probe_options o = one_penalty(&penalties[t % 2]);
        o.balanced = t >= 2;
        CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, s.y, K, &o);
        assert_true(p.converged && p.gradient <= REACHED && p.iterations > 0);
        assert_true(plain_gradient(&p, &rows, s.y, o.balanced ? weights : ones, penalties[t % 2]) <=
                    REACHED + 1e-13);
        double sum = p.intercept[0] + p.intercept[1] + p.intercept[2];
        assert_true(fabs(sum) <= 1e-13);
    }
}

/* Rows in another order, classes under other numbers: the same probe, up to |grad f| / penalty. */
TEST(equivariance)
{
    static probe_data s, t;
    probe_fill(&s, 3);
    static const int renamed[K] = {2, 0, 1};
    for (int i = 0; i < N; ++i) {
        int from = (i * 7 + 5) % N;
        memcpy(t.x + i * D, s.x + from * D, sizeof(double) * D);
        t.y[i] = renamed[(int)s.y[from]];
    }
    const double penalty = 0.01;
    const cs_linear_probe_options o = one_penalty(&penalty);
    cs_rows a = probe_rows(&s), b = probe_rows(&t);
    CS_AUTO(cs_linear_probe) p = probe_fitted(&a, s.y, K, &o), q = probe_fitted(&b, t.y, K, &o);
    for (int c = 0; c < K; ++c) {
        assert_each(j, 0, D,
                    fabs(p.weight[j * K + c] - q.weight[j * K + renamed[c]]) <=
                        2 * REACHED / penalty);
    }
    /* f - f* <= |grad f|^2 / (2 penalty) */
    assert_true(fabs(p.loss - q.loss) <= REACHED * REACHED / penalty &&
                p.train_accuracy == q.train_accuracy);
    double guess[N], other[N];
    OK(cs_linear_probe_predict(&p, &a, 2, guess));
    OK(cs_linear_probe_predict(&q, &a, 2, other));
    assert_each(i, 0, N, other[i] == renamed[(int)guess[i]]);
    int64_t right = COUNT(i, 0, N, guess[i] == s.y[i]);
    assert_true((double)right / N == p.train_accuracy && p.train_accuracy > 0.6);
}

TEST(threads_do_not_matter)
{
    static probe_data s;
    probe_fill(&s, 4);
    cs_rows rows = probe_rows(&s);
    for (int64_t classes = 0; classes <= K; classes += K) {
        cs_linear_probe_options o = {.threads = 1, .seed = 4};
        CS_AUTO(cs_linear_probe) one = probe_fitted(&rows, s.y, classes, &o);
        assert_int_equal(one.steps, 7);
        for (o.threads = 2; o.threads <= 5; o.threads += 3) {
            CS_AUTO(cs_linear_probe) many = probe_fitted(&rows, s.y, classes, &o);
            assert_int_equal(one.chosen, many.chosen);
            assert_int_equal(one.iterations, many.iterations);
            assert_memory_equal(one.step, many.step, sizeof *one.step * 7);
            assert_memory_equal(one.weight, many.weight,
                                sizeof(double) * (size_t)(D * one.outputs));
            assert_memory_equal(one.intercept, many.intercept,
                                sizeof(double) * (size_t)one.outputs);
            double a[N], b[N];
            OK(cs_linear_probe_predict(&one, &rows, 1, a));
            OK(cs_linear_probe_predict(&many, &rows, o.threads, b));
            assert_memory_equal(a, b, sizeof a);
        }
    }
}

/* One feature: w = r / (1 + penalty) with the correlation r. */
TEST(ridge_of_one_feature)
{
    const double x[5] = {1, 2, 3, 4, 5}, y[5] = {20, 10, 40, 30, 50}, penalty = 0.25;
    cs_rows rows = cs_rows_of_f64(5, 1, x, "x");
    const cs_linear_probe_options o = one_penalty(&penalty);
    CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, y, 0, &o);
    assert_true(p.converged && fabs(p.weight[0] - 0.8 / 1.25) <= 1e-14);
    assert_true(p.value_mean == 30 && isnan(p.least_margin) && !p.class_of);
    double guess[5];
    OK(cs_linear_probe_predict(&p, &rows, 1, guess));
    for (int i = 0; i < 5; ++i) { /* sd(y) / sd(x) = 10 */
        assert_true(fabs(guess[i] - (30 + 0.64 * 10 * (x[i] - 3))) <= 1e-12);
    }
}

/* Values of any size; more features than rows. */
TEST(ridge_is_stationary)
{
    static probe_data s;
    probe_fill(&s, 5);
    for (int i = 0; i < N; ++i) {
        s.y[i] = 1e180 * (s.y[i] + s.x[i * D]);
    }
    const double penalty = 1e-4;
    cs_linear_probe_options o = one_penalty(&penalty);
    o.tolerance = 1e-12;
    for (int wide = 0; wide < 2; ++wide) {
        cs_rows rows = wide ? cs_rows_of_f64(20, 100, s.x, "x") : probe_rows(&s);
        CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, s.y, 0, &o);
        assert_true(p.converged && p.gradient <= 1e-12);
        assert_true(plain_gradient(&p, &rows, s.y, NULL, penalty) <= 1e-12 + 1e-13);
    }
}

TEST(constant_features_are_left_out)
{
    static probe_data s;
    probe_fill(&s, 6);
    static double wide[N * (D + 2)];
    for (int i = 0; i < N; ++i) {
        wide[i * (D + 2)] = 0.1;
        memcpy(wide + i * (D + 2) + 1, s.x + i * D, sizeof(double) * D);
        wide[i * (D + 2) + D + 1] = 1e6 + (i % 2) * 1e-9; /* rounding of a constant */
    }
    const double penalty = 0.01;
    const cs_linear_probe_options o = one_penalty(&penalty);
    cs_rows a = probe_rows(&s), b = cs_rows_of_f64(N, D + 2, wide, "wide");
    CS_AUTO(cs_linear_probe) p = probe_fitted(&a, s.y, K, &o), q = probe_fitted(&b, s.y, K, &o);
    assert_int_equal(q.constant, 2);
    assert_memory_equal(p.weight, q.weight + K, sizeof(double) * D * K);
    assert_each(c, 0, K, q.weight[c] == 0 && q.weight[(D + 1) * K + c] == 0);
}

/* More features than rows: separated by any small penalty, and finite. */
TEST(fewer_rows_than_features)
{
    static probe_data s;
    probe_fill(&s, 7);
    ARRAY(double, y, 20, i, i % 2);
    const double penalty = 1e-5;
    cs_linear_probe_options o = one_penalty(&penalty);
    o.tolerance = 1e-7;
    cs_rows rows = cs_rows_of_f64(20, 100, s.x, "x");
    CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, y, 2, &o);
    assert_true(p.converged && p.train_accuracy == 1 && p.least_margin > 0);
    assert_true(isfinite(p.least_margin));
}

/* Noise wants the largest penalty, a clean line a small one; a share held out does as folds. */
TEST(penalties_are_chosen_by_held_out_rows)
{
    static probe_data s;
    probe_fill(&s, 8);
    cs_rows rows = probe_rows(&s);
    double y[N];
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 77);
    for (int share = 0; share < 2; ++share) {
        cs_linear_probe_options o = {.seed = 1, .share = share ? 0.3 : 0};
        for (int i = 0; i < N; ++i) {
            y[i] = (double)cs_rng_below(&rng, 2);
        }
        CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, y, 2, &o);
        assert_true(p.step[p.chosen].penalty >= 0.1);
        assert_each(i, 0, p.steps, p.step[i].held_out >= p.step[p.chosen].held_out);
        assert_each(i, 0, p.steps, p.step[i].unconverged == 0);
        cs_linear_probe_free(&p);
        for (int i = 0; i < N; ++i) {
            y[i] = s.x[i * D] + 3 * s.x[i * D + 1] > 300;
        }
        p = probe_fitted(&rows, y, 2, &o);
        assert_true(p.step[p.chosen].penalty <= 1e-3);
    }
}

/* The loss on rows held out, by fits of the training parts alone: two folds are each other's
 * training rows, so that the folds follow from two fits. */
TEST(held_out_loss_by_its_definition)
{
    /* Four rows, two folds: each holds a row of each class, so any dealing pairs (a0 or a1) with
     * (b0 or b1). The loss is one of the two that enumeration gives. */
    const double x[4] = {0, 1, 3, 4.5}, y[4] = {0, 0, 1, 1}, penalties[2] = {0.5, 0.1};
    cs_rows rows = cs_rows_of_f64(4, 1, x, "x");
    const cs_linear_probe_options o = {
        .penalties = 2, .penalty = penalties, .folds = 2, .tolerance = REACHED, .seed = 3};
    CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, y, 2, &o);
    static const int64_t pair[2][2][2] = {{{0, 2}, {1, 3}}, {{0, 3}, {1, 2}}};
    double want[2] = {0};
    for (int deal = 0; deal < 2; ++deal) {
        for (int f = 0; f < 2; ++f) {
            const cs_linear_probe_options one = one_penalty(&penalties[1]);
            AUTO_OK(cs_linear_probe, q,
                    cs_linear_probe_fit(&rows, 2, pair[deal][f], y, 2, &one, &q));
            for (int r = 0; r < 2; ++r) {
                int64_t row = pair[deal][1 - f][r];
                double z = (x[row] - q.mean[0]) * q.scale[0];
                double s0 = z * q.weight[0] + q.intercept[0], s1 = z * q.weight[1] + q.intercept[1];
                want[deal] += log(exp(s0) + exp(s1)) - (y[row] == 1 ? s1 : s0);
            }
        }
    }
    double got = p.step[1].held_out * 4;
    /* |W - W*| <= 1e-5 / 0.1 in fits of folds, z at most 4.5: four losses move by 4 * 2 * 4.5e-4.
     */
    assert_true(fabs(got - want[0]) <= 4e-3 || fabs(got - want[1]) <= 4e-3);
    assert_true(fabs(want[0] - want[1]) > 1e-2);
}

/* Class numbers with gaps; a class of one row is missing from the fold that holds it out. */
TEST(classes_that_training_lacks)
{
    static probe_data s;
    probe_fill(&s, 9);
    cs_rows rows = probe_rows(&s);
    for (int i = 0; i < N; ++i) {
        s.y[i] = s.y[i] == 0 ? 1 : 4;
    }
    s.y[17] = 6;
    cs_linear_probe_options o = {.seed = 1};
    CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, s.y, 9, &o);
    assert_int_equal(p.outputs, 3);
    assert_int_equal(p.class_of[0], 1);
    assert_int_equal(p.class_of[2], 6);
    assert_true(isfinite(p.step[p.chosen].held_out));
    double guess[N];
    OK(cs_linear_probe_predict(&p, &rows, 1, guess));
    assert_each(i, 0, N, guess[i] == 1 || guess[i] == 4 || guess[i] == 6);
}

TEST(unconverged_is_said)
{
    static probe_data s;
    probe_fill(&s, 10);
    cs_rows rows = probe_rows(&s);
    const double penalty = 1e-5;
    cs_linear_probe_options o = one_penalty(&penalty);
    o.max_iterations = 2;
    CS_AUTO(cs_linear_probe) p = probe_fitted(&rows, s.y, K, &o);
    assert_false(p.converged);
    assert_int_equal(p.iterations, 2);
    assert_true(p.gradient > REACHED);
    assert_true(fabs(plain_gradient(&p, &rows, s.y, ones, penalty) - p.gradient) <= 1e-12);
    cs_linear_probe_free(&p);
    o = (cs_linear_probe_options){.max_iterations = 2};
    p = probe_fitted(&rows, s.y, K, &o);
    assert_int_equal(p.step[6].unconverged, 5);
}

/* Two rows of each class, whose fifth is no row, are folded as if no share were given; and the loss
 * of the grid alone is that of the chosen step. */
TEST(a_share_of_no_row_is_folds)
{
    static probe_data s;
    probe_fill(&s, 5);
    int64_t row[2 * PROBE_K], count = 0;
    for (int64_t c = 0; c < PROBE_K; ++c) {
        for (int64_t i = 0, left = 2; i < PROBE_N && left > 0; ++i) {
            if (s.y[i] == (double)c) {
                row[count++] = i;
                --left;
            }
        }
    }
    const cs_rows rows = probe_rows(&s);
    cs_linear_probe p[2];
    for (int share = 0; share < 2; ++share) {
        const cs_linear_probe_options o = {.share = share * 0.2, .threads = 1};
        OK(cs_linear_probe_fit(&rows, count, row, s.y, PROBE_K, &o, &p[share]));
    }
    assert_int_equal(p[0].steps, p[1].steps);
    assert_each(i, 0, p[0].steps, p[0].step[i].held_out == p[1].step[i].held_out);
    cs_linear_probe_free(&p[0]);
    cs_linear_probe_free(&p[1]);
    const cs_linear_probe_options o = {.share = 0.2, .threads = 1};
    double loss = 0;
    OK(cs_linear_probe_held_out(&rows, s.y, PROBE_K, &o, &loss));
    OK(cs_linear_probe_fit(&rows, PROBE_N, NULL, s.y, PROBE_K, &o, &p[0]));
    assert_true(loss == p[0].step[p[0].chosen].held_out);
    cs_linear_probe_free(&p[0]);
}
