/* The trade-off of theorem-4-2.md: the heavy-tail table at s = 128, and the frontier against all
 * mixtures of two lengths. */
#include "analysis/theorems/tradeoff.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "test.h"

/* Figures of docs/explanation/theorem-4-2.md, printed to two or three digits: agreement to half a unit of the last
 * one. */
TEST(heavy_tails_at_128)
{
    const struct {
        const char *spec;
        double tail, tail_unit, next, next_unit;
    } known[] = {
        {"ar", 126, 1, 1.00, 0.01},
        {"diverse-ar:t=2", 47.0, 0.1, 0.50, 0.01},
        {"diverse-ar:t=4", 21.3, 0.1, 0.26, 0.01},
        {"diverse-ar:t=16", 4.86, 0.01, 0.08, 0.01},
        {"offset-ar:offset-weights=mix:0.5", 13.6, 0.1, 0.52, 0.01},
        {"offset-ar:offset-weights=power:1", 2.58, 0.01, 0.24, 0.01},
        {"offset-ar:offset-weights=power:0.5", 0.73, 0.01, 0.10, 0.01},
        {"offset-ar:offset-weights=mix:0", 0.36, 0.01, 0.04, 0.01},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        cs_objective objective;
        cs_tradeoff x;
        OK(cs_objective_parse(known[i].spec, &objective));
        OK(cs_tradeoff_of(&objective, 128, &x));
        assert_true(fabs(x.tail - known[i].tail) <= 0.5 * known[i].tail_unit);
        assert_true(fabs(x.next_token_weight - known[i].next) <= 0.5 * known[i].next_unit + 1e-12);
    }
}

/* ar and masked with m = 1 of s = 4 predict 3 tokens each, so each has half of the weight: 3 events
 * ({0..k-1}, k) of 1/6 and 12 of ({i}, k) of 1/24, one of them ({0}, 1). The lengths are 1 (4/6),
 * 2 and 3 (1/6 each), of misalignments (0 + 3/4 + 8/9)/3, (3/4 + 0 + 5/9)/3, (8/9 + 5/9 + 0)/3. */
TEST(a_mixture_has_a_next_token_and_a_misalignment)
{
    cs_objective objective;
    cs_tradeoff x;
    AUTO_OK(cs_plan_file, file,
            cs_objective_parse_held("mix:1*ar+1*masked(unmasked=1)", &file, &objective));
    OK(cs_tradeoff_of(&objective, 4, &x));
    assert_true(fabs(x.next_token_weight - (0.5 + 1.0 / 24)) < 1e-15);
    assert_true(fabs(x.misalignment - (4 * 59.0 / 108 + 47.0 / 108 + 52.0 / 108) / 6) < 1e-15);
}

/* No mixture of any two lengths lies below the frontier, and its vertices are points of their own.
 */
TEST(frontier_bounds_all_mixtures)
{
    enum { S = 24 };
    int64_t m[S], count = 0;
    OK(cs_frontier(S, m, &count));
    assert_true(count >= 2);
    double x[S], y[S];
    for (int64_t i = 1; i < S; ++i) {
        x[i] = cs_length_misalignment(S, i);
        y[i] = (double)i / ((double)(S - i) * (S - 1));
    }
    for (int64_t a = 1; a < S; ++a) {
        for (int64_t b = 1; b < S; ++b) {
            for (double w = 0.0; w <= 1.0; w += 0.125) {
                double px = w * x[a] + (1 - w) * x[b], py = w * y[a] + (1 - w) * y[b];
                for (int64_t i = 0; i + 1 < count; ++i) {
                    double x0 = x[m[i]], x1 = x[m[i + 1]];
                    if (px >= x0 && px <= x1) {
                        double edge = y[m[i]] + (y[m[i + 1]] - y[m[i]]) * (px - x0) / (x1 - x0);
                        assert_true(py >= edge - 1e-14);
                    }
                }
                assert_true(px >= x[m[0]] - 1e-14);
            }
        }
    }
    assert_int_equal(cs_frontier(1, m, &count), CS_ERR_USAGE);
    cs_reason_clear();
}
