/* plan: denominators, predicted tokens, long sequences, ratios, descriptions, binomials. */
#include <inttypes.h>

#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/ratio.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"

/* --- denominators, predicted tokens, large lengths --- */

TEST(denominators_make_integers)
{
    int known = 0;
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective objective = plan_objective(plan_spec(i));
        for (int variant = 0; variant < 4; ++variant) {
            objective.event_weight = (cs_event_weight)(variant & 1);
            objective.empty_prefix = (cs_empty_prefix)(variant >> 1);
            if (!plan_exists(&objective, 6)) {
                continue;
            }
            AUTO_OK(cs_pairs, pairs, cs_pairs_of(&objective, 6, &pairs));
            OK(cs_pairs_expand(&pairs, 1 << 20));
            for (int64_t e = 0; e < pairs.events && pairs.denominator > 0; ++e) {
                double n = pairs.weight[e] * pairs.predicted * (double)pairs.denominator;
                /* A handful of rounded factors. */
                assert_true(n > 0.5 && fabs(n - round(n)) < 16 * 0x1p-53 * n);
            }
            known += pairs.denominator > 0;
        }
    }
    assert_true(known > 60);
    const struct {
        const char *spec;
        int64_t s, denominator;
        double predicted;
    } cases[] = {
        {"ar", 9, 1, 8},
        {"masked:unmasked=2", 5, 10, 3},
        {"masked:unmasked=20", 60, 0, 40}, /* C(60, 20) > 2^40 */
        {"variable-masked:unmasked=1:2", 4, 24, 2.5},
        {"diverse-ar:t=4", 20, 12, 19},
        {"diverse-ar:t=100", 4, 6, 3},
        {"group-ar:t=3", 9, 3, 7},
        {"group-ar:t=9", 3, 3, 1},
        {"group-ar:t=2,empty-prefix=class", 9, 2, 9},
        {"permuted-ar", 6, 60, 5},
        {"gvp:segmentation=fixed,groups=1", 4, 6, 2},
        {"gvp:segmentation=fixed,groups=3", 10, 2520, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = plan_objective(cases[i].spec);
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&objective, cases[i].s, &pairs));
        if (pairs.denominator != cases[i].denominator) {
            fail_msg("%s: denominator %" PRId64, cases[i].spec, pairs.denominator);
        }
        assert_true(pairs.predicted == cases[i].predicted);
    }
}

static cs_pairs pairs_at(const char *spec, int64_t s)
{
    cs_objective objective = plan_objective(spec);
    cs_pairs pairs;
    OK(cs_pairs_of(&objective, s, &pairs));
    double sum = 0;
    for (int64_t m = 0; m <= s; ++m) {
        assert_true(pairs.q[m] >= 0 && pairs.q[m] <= 1);
        sum += pairs.q[m];
    }
    assert_true(pairs.q[s] == 0);
    assert_true(fabs(sum - 1) < 1e-10); /* naive sum of 10^6 rounded doubles */
    return pairs;
}

/* s = 10^6: means in closed form, and single values where there is one, to 1e-12. */
/* A row needs no `.predicted`: the sum over all plans has it, whatever has weight 1. */
TEST(plans_count_their_predicted_tokens)
{
    const char *const specs[] = {"variable-masked(unmasked=1:3)",
                                 "bernoulli-masked(mask-ratio=0.3)", "group-ar(t=2)"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        for (int weight = 0; weight < 2; ++weight) {
            cs_objective o = plan_objective(specs[i]);
            CS_AUTO(cs_pairs) plans = {.length = 5}, exact = {0};
            o.event_weight = weight ? CS_EVENT_MASK : CS_EVENT_TOKEN;
            o.share = weight ? 1 : 0.5;
            OK(cs_pairs_of_plans(&o, 5, &plans));
            OK(cs_pairs_of(&o, 5, &exact));
            assert_true(fabs(plans.predicted - exact.predicted) < 1e-12);
        }
    }
}

TEST(long_sequences_keep_their_accuracy)
{
    const int64_t s = 1000000;
    CS_AUTO(cs_pairs) pairs = pairs_at("bernoulli-masked:mask-ratio=0.15,empty-prefix=class", s);
    /* A masked token's others are masked independently: m is Binomial(s - 1, 0.85). */
    long double mean = 0, square = 0, centre = 0.85L * (s - 1);
    for (int64_t m = 0; m < s; ++m) {
        mean += (long double)pairs.q[m] * (m - centre);
        square += (long double)pairs.q[m] * (m - centre) * (m - centre);
    }
    /* rho is the double next to 0.15: its rounding moves the mean by s eps. */
    assert_true(fabsl(mean) < 1e-9);
    assert_true(fabsl(square / (0.15L * 0.85L * (s - 1)) - 1) < 1e-12);
    assert_true(fabs(pairs.predicted - 0.15 * (double)s) < 1e-12 * (double)s);
    cs_pairs_free(&pairs);

    const int64_t groups = 3;
    pairs = pairs_at("gvp:segmentation=random,groups=3", s);
    /* E n_0 = s / (K+1); c(m) = 1 - C(m-1, K) / C(s-1, K), here as a sum of positive terms:
     * 1 - x^3 = (1 - x)(1 + x + x^2) for falling factorials, from above. */
    long double predicted = (long double)s * groups / (groups + 1);
    assert_true(fabsl((long double)pairs.predicted / predicted - 1) < 1e-12);
    for (int64_t m = 1; m < s; m += m < s - 10 ? 99991 % (s - m) + 1 : 1) {
        long double miss = 0, all = 1;
        for (int64_t i = 1; i <= groups; ++i) { /* first draw >= m is the i-th */
            miss += all * (long double)(s - m) / (long double)(s - i);
            all *= (long double)(m - i) / (long double)(s - i);
            if (m <= i) {
                break;
            }
        }
        assert_true(fabsl((long double)pairs.q[m] * predicted / miss - 1) < 1e-12);
    }
    cs_pairs_free(&pairs);

    pairs = pairs_at("gvp:segmentation=mixed,groups=20", s);
    /* E n_{K-1} = s/2 up to the clamp (symmetric up to 0.5), E n_0 = E n_{K-1} / K. */
    assert_true(fabs(pairs.predicted - (double)s * (1 - 0.5 / 20)) < 1);
    /* Phi(-5) on either side. */
    assert_true(fabs(pairs.clamped - 5.7330e-7) < 1e-9);
    cs_pairs_free(&pairs);

    pairs = pairs_at("permuted-ar", s);
    assert_true(pairs.q[0] == 0 && pairs.q[1] == pairs.q[s - 1]);
}

TEST(ratios_resolve_with_half_away_from_zero)
{
    const struct {
        double ratio;
        int64_t s, unmasked;
    } cases[] = {{0.5, 5, 2},   {0.15, 128, 109}, {0.25, 2, 1}, {0.01, 10, 9},
                 {0.99, 10, 1}, {0.3, 5, 3},      {0.5, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.mask_ratio_lo = objective.mask_ratio_hi = cases[i].ratio;
        int64_t lo, hi;
        OK(cs_objective_unmasked(&objective, cases[i].s, &lo, &hi));
        assert_true(lo == cases[i].unmasked && hi == lo);
    }
    /* Halves of the decimal that was typed, whose double or product lies below them; exact binary
     * halves; and decimals that are truly below a half. */
    const struct {
        const char *spec;
        int64_t s, unmasked;
        bool clamped;
    } typed[] = {{"masked:mask-ratio=0.29", 50, 35, false},
                 {"masked:mask-ratio=0.145", 100, 85, false},
                 {"masked:mask-ratio=0.285", 100, 71, false},
                 {"masked:mask-ratio=0.5", 7, 3, false},
                 {"masked:mask-ratio=0.125", 4, 3, false},
                 {"masked:mask-ratio=0.375", 12, 7, false},
                 {"masked:mask-ratio=0.28999999999999", 50, 36, false},
                 {"masked:mask-ratio=0.05", 5, 4, true},
                 {"masked:mask-ratio=0.1", 5, 4, false},
                 {"masked:mask-ratio=0.9", 5, 1, true},
                 {"masked:mask-ratio=0.89", 5, 1, false},
                 {"variable-masked:mask-ratio=0.2:0.9", 5, 1, true},
                 {"masked:unmasked=3", 5, 3, false}};
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; ++i) {
        cs_objective objective = plan_objective(typed[i].spec), which;
        int64_t lo, hi;
        OK(cs_objective_unmasked(&objective, typed[i].s, &lo, &hi));
        assert_int_equal(lo, typed[i].unmasked);
        assert_int_equal(cs_objective_clamps(&objective, typed[i].s, &which), typed[i].clamped);
    }
    /* Every ratio of three decimals at every length to 2,000 against whole numbers. */
    for (int64_t thousandths = 1; thousandths < 1000; ++thousandths) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.mask_ratio_lo = objective.mask_ratio_hi = (double)thousandths / 1000;
        for (int64_t s = 2; s <= 2000; ++s) {
            int64_t lo, hi, want = s - (thousandths * s + 500) / 1000;
            want = want < 1 ? 1 : want > s - 1 ? s - 1 : want;
            OK(cs_objective_unmasked(&objective, s, &lo, &hi));
            assert_true(lo == want && hi == want);
        }
    }
    cs_objective objective = plan_objective("variable-masked:mask-ratio=0.15:0.3");
    int64_t lo, hi;
    OK(cs_objective_unmasked(&objective, 20, &lo, &hi));
    assert_true(lo == 14 && hi == 17);
}

/* The check comes before the allocation: no memory is touched. */
TEST(too_long_for_memory_is_said_before)
{
    const int64_t s = INT32_MAX;
    cs_objective objective = plan_objective("permuted-ar");
    cs_pairs pairs = {0};
    int64_t available = cs_mem_available();
    if (available == 0 || (double)s * 8 <= (double)available / 2 + 0x1p30) {
        skip(); /* such a machine has memory for it */
    }
    (void)cs_mem_fail_at(0);
    assert_fails(cs_pairs_of(&objective, s, &pairs), CS_ERR_MEMORY,
                 "length 2147483647 needs 1.718e+10 bytes for its pair distribution");
    assert_int_equal(cs_mem_fail_at(0), 0);
    assert_null(pairs.q);
}

/* A share of a number of tokens: masked tokens, and the [MASK]s that an encoder reads. */
TEST(shares_are_rounded_as_typed)
{
    assert_int_equal(cs_ratio_round(0.29, 50), 15);
    assert_int_equal(cs_ratio_round(0.28999999999999, 50), 14);
    assert_int_equal(cs_ratio_round(0, 50), 0);
    assert_int_equal(cs_ratio_round(1, INT32_MAX), INT32_MAX);
    assert_int_equal(cs_ratio_masked(0.29, 50), 15);
    assert_int_equal(cs_ratio_masked(0.01, 5), 1);
    assert_int_equal(cs_ratio_masked(0.99, 5), 4);
}

TEST(objectives_describe_themselves)
{
    const char *const cases[][2] = {
        {"masked:unmasked=2", "masked(unmasked=2)"},
        {"variable-masked:unmasked=1:3,event-weight=mask",
         "variable-masked(unmasked=1:3,event-weight=mask)"},
        {"variable-masked:mask-ratio=0.15:0.3", "variable-masked(mask-ratio=0.15:0.3)"},
        {"bernoulli-masked:mask-ratio=0.5", "bernoulli-masked(mask-ratio=0.5)"},
        {"offset-ar:offset-weights=mix:0.5,empty-prefix=class",
         "offset-ar(offset-weights=mix:0.5,empty-prefix=class)"},
        {"gvp:segmentation=mixed,groups=20", "gvp(segmentation=mixed,groups=20)"},
        {"group-ar:t=2", "group-ar(t=2)"},
        {"ar", "ar"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = plan_objective(cases[i][0]);
        CS_AUTO_FREE char *text = cs_objective_describe(&objective);
        assert_string_equal(text, cases[i][1]);
        OK(cs_objective_parse(text, &objective)); /* and is read back */
        cs_free(text);
        text = cs_objective_form(cases[i][1]);
        assert_string_equal(text, cases[i][1]);
    }
    static const char *const forms[][2] = {
        {"masked unmasked=2 event-weight=token", "masked(unmasked=2)"},
        {"gvp segmentation=mixed groups=20 event-weight=token target-weight=uniform",
         "gvp(segmentation=mixed,groups=20,target-weight=uniform)"},
        {"mix:0.5*ar+0.5*masked(unmasked=2) event-weight=mask",
         "mix:0.5*ar+0.5*masked(unmasked=2),event-weight=mask"},
        {"gpt", "ar"},
        {"ar shuffled", "ar shuffled"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
        CS_AUTO_FREE char *text = cs_objective_form(forms[i][0]);
        assert_string_equal(text, forms[i][1]);
    }
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const cs_objective_row *row = cs_objective_table((cs_objective_kind)kind);
        cs_objective_kind found;
        OK(cs_objective_by_name(cs_objective_name((cs_objective_kind)kind), &found));
        assert_int_equal(found, kind);
        assert_true(strlen(row->summary) > 10);
    }
}

TEST(binomials_are_exact)
{
    double row[61] = {1};
    for (int64_t n = 1; n <= 60; ++n) {
        for (int64_t k = n; k >= 1; --k) {
            row[k] += row[k - 1];
        }
        for (int64_t k = 0; k <= n && n <= 56; ++k) { /* below 2^53 */
            assert_true(cs_binomial(n, k) == row[k]);
        }
    }
    assert_true(cs_binomial(5, -1) == 0 && cs_binomial(5, 6) == 0);
    assert_true(isinf(cs_binomial(5000, 2500)));
    assert_true(cs_small_lcm_to(10) == 2520 && cs_small_lcm_to(100) == 0);
    assert_true(cs_small_product((int64_t)1 << 20, (int64_t)1 << 20) == 0);
    assert_true(cs_small_product((int64_t)1 << 20, ((int64_t)1 << 20) - 1) > 0);
}
