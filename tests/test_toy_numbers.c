/* toy: the numbers quoted in theorem-4-2.md, and any length. */
#include "plan/pairs.h"
#include "plan/spec.h"
#include "test.h"
#include "toy_support.h"

/* --- numbers of theorem-4-2.md --- */

static double tail(const cs_toy_spectrum *s)
{
    return s->sum_sigma4 - 1;
}

static double next_token_weight(const cs_toy *toy)
{
    double weight = 0;
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(&toy->objective, toy->length, &pairs));
    for (int64_t e = 0; e < pairs.events; ++e) {
        weight += pairs.target[e] == cs_pairs_set_of(&pairs, e).size ? pairs.weight[e] : 0;
    }
    return weight;
}

/* Tail = sum_{j >= 2} sigma_j^4 per class at s = 128, and the weight on the next token, to the
 * digits printed. */
TEST(heavy_tails_beat_windows)
{
    const struct {
        const char *spec;
        double tail, tail_digit, next;
    } rows[] = {
        {"ar", 126, 0.5, 1.00},
        {"diverse-ar:t=2", 47.0, 0.05, 0.50},
        {"diverse-ar:t=4", 21.3, 0.05, 0.26},
        {"diverse-ar:t=16", 4.86, 0.005, 0.08},
        {"offset-ar:offset-weights=mix:0.5", 13.6, 0.05, 0.52},
        {"offset-ar:offset-weights=power:1", 2.58, 0.005, 0.24},
        {"offset-ar:offset-weights=power:0.5", 0.73, 0.005, 0.10},
        {"offset-ar:offset-weights=power:0", 0.36, 0.005, 0.04},
        {"masked:mask-ratio=0.15", 0.26, 0.005, -1},
        {"masked:mask-ratio=0.3", 0.044, 0.0005, -1},
        {"masked:mask-ratio=0.5", 0.008, 0.0005, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        cs_toy toy = toy_of(rows[i].spec, 1, 128, 2);
        CS_AUTO(cs_toy_spectrum) s = toy_run(cs_toy_reduce, &toy);
        if (!(fabs(tail(&s) - rows[i].tail) <= rows[i].tail_digit)) {
            fail_msg("%s: tail %g, printed %g", rows[i].spec, tail(&s), rows[i].tail);
        }
        if (rows[i].next >= 0 && !(fabs(next_token_weight(&toy) - rows[i].next) <= 0.005)) {
            fail_msg("%s: weight %g, printed %g", rows[i].spec, next_token_weight(&toy),
                     rows[i].next);
        }
    }
}

/* 1 - sigma_2^2 ~ pi^2 (t^2-1)/(12 s^2), sum sigma^2 ~ s/t, sum sigma^4 ~ s (2t^2+1)/(3t^3): 2.5%
 * at s = 400. */
TEST(windows_follow_their_asymptotics)
{
    const double pi = 3.14159265358979323846, s = 400;
    const char *const names[] = {"diverse-ar", "group-ar"};
    for (int n = 0; n < 2; ++n) {
        for (int t = 2; t <= 4; ++t) {
            char spec[32];
            (void)snprintf(spec, sizeof spec, "%s:t=%d", names[n], t);
            cs_toy toy = toy_of(spec, 1, 400, 2);
            CS_AUTO(cs_toy_spectrum) x = toy_run(cs_toy_reduce, &toy);
            double gap = (1 - x.sigma[1]) * (1 + x.sigma[1]), tt = t;
            assert_true(fabs(gap / (pi * pi * (tt * tt - 1) / (12 * s * s)) - 1) < 0.025);
            assert_true(fabs(x.sum_sigma2 / (s / tt) - 1) < 0.025);
            assert_true(fabs(x.sum_sigma4 / (s * (2 * tt * tt + 1) / (3 * tt * tt * tt)) - 1) <
                        0.025);
        }
    }
}

static double second(const char *spec, int64_t s)
{
    cs_toy toy = toy_of(spec, 2, s, 2);
    CS_AUTO(cs_toy_spectrum) x = toy_run(cs_toy_reduce, &toy);
    double sigma = x.sigma[1];
    return sigma;
}

TEST(quoted_values)
{
    assert_true(fabs(second("group-ar:t=2", 6) - 0.93969) < 5e-6);
    /* LA 5.1 calls Eq. 6 equivalent to Eq. 3. */
    assert_true(fabs(second("group-ar:t=2", 3) - 0.5) < 1e-15);
    assert_true(fabs(second("diverse-ar:t=2", 3) - sqrt(1.0 / 3)) < 1e-15);
    /* Theorem 4.2 at s rho = 1 gives 1: no gain over ar. */
    assert_true(fabs(second("masked:unmasked=1", 9) - sqrt(1.0 / 64)) < 1e-15);
    cs_toy toy = toy_of("masked:unmasked=8", 2, 9, 2);
    CS_AUTO(cs_toy_spectrum) x = toy_run(cs_toy_reduce, &toy);
    assert_true(x.values == 1 && x.multiplicity[0] == 18);
    /* The normalised masked entry at s = 4, m = 2, T = 2: 0.144 (printed in LA: 4.62). */
    toy = toy_of("masked:unmasked=2", 3, 4, 2);
    AUTO_OK(cs_labelled, m, cs_toy_matrix(&toy, 0, &m));
    double *row = test_zeros(m.a.rows, sizeof *row), *col = test_zeros(m.a.cols, sizeof *col);
    cs_csr_sums(&m.a, row, col);
    for (int64_t i = 0; i < m.a.rows; ++i) {
        for (int64_t e = m.a.ptr[i]; e < m.a.ptr[i + 1]; ++e) {
            double entry = m.a.val[e] / sqrt(row[i] * col[m.a.col[e]]);
            assert_true(fabs(entry - sqrt(4.0 / 48) / 2) < 1e-15);
        }
    }
}

/* The sizes allocate nothing and the spectrum is summed without storing the distribution of |S|; it
 * equals the closed form: a sum of 2^24 positive long doubles is good to 2^24 2^-64 in the worst
 * case. */
TEST(any_length_takes_no_memory)
{
    const int64_t s = (int64_t)1 << 24;
    const char *const specs[] = {"permuted-ar", "variable-masked:unmasked=1:10000000",
                                 "masked:mask-ratio=0.15", "gvp:segmentation=fixed,groups=7"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        cs_toy toy = {.classes = 3, .length = s, .tokens = 2};
        double rows = 0, cols = 0, nnz = 0;
        OK(cs_objective_parse(specs[i], &toy.objective));
        (void)cs_mem_fail_at(0);
        OK(cs_toy_size(&toy, &rows, &cols, &nnz));
        assert_int_equal(cs_mem_fail_at(0), 0);
        assert_true(isinf(rows) && isinf(nnz) && cols == 6.0 * (double)s);
        AUTO_OK(cs_toy_spectrum, reduced, cs_toy_reduce(&toy, &reduced));
        assert_true(cs_mem_fail_at(0) <= 8); /* the few values alone */
        AUTO_OK(cs_toy_spectrum, closed, cs_toy_closed(&toy, &closed));
        assert_int_equal(reduced.values, 2);
        assert_true(closed.values == 2 && closed.multiplicity[1] == reduced.multiplicity[1]);
        assert_true(fabs(reduced.sigma[1] / closed.sigma[1] - 1) < 1e-11);
    }
}
