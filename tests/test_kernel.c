/* The position kernel: its collision probability in closed form (refinement-and-kernel.md), by all plans, and
 * the quadratic form of a corpus whose contexts are all different, row by row. */
#include "plan/kernel.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"

static double collision(const char *spec, int64_t s)
{
    cs_objective o = plan_objective(spec);
    CS_AUTO(cs_pairs) pairs = {0};
    CS_AUTO_FREE double *r = calloc((size_t)(s * s), sizeof *r);
    assert_non_null(r);
    assert_int_equal(cs_pairs_of(&o, s, &pairs), CS_OK);
    assert_int_equal(cs_kernel_of_pairs(&pairs, r), CS_OK);
    double kappa = cs_kernel_collision(r, s), whole = 0;
    for (int64_t i = 0; i < s * s; ++i) {
        assert_true(fabs(r[i] - r[i % s * s + i / s]) <= DBL_EPSILON);
        whole += r[i];
    }
    assert_true(fabs(whole - 1) < 4 * (double)s * DBL_EPSILON);
    return kappa;
}

/* E[1/n], n the tokens predicted at once; sum w_d^2 where no prefix is near the end. */
TEST(collision_in_closed_form)
{
    double harmonic = 0, ends = 0;
    assert_true(fabs(collision("ar", 50) - 1) < 1e-14);
    for (int64_t n = 1; n < 12; ++n) {
        char spec[32];
        (void)snprintf(spec, sizeof spec, "masked:unmasked=%d", (int)(12 - n));
        assert_true(fabs(collision(spec, 12) - 1 / (double)n) < 1e-14);
        harmonic += 1 / (double)n;
    }
    /* permuted: the set has m = 1..s-1 tokens, each as often, and one target among s - m */
    assert_true(fabs(collision("permuted-ar", 12) - harmonic / 11) < 1e-14);
    ends += SUM(left, 1, 12, 1 / fmin(4, (double)left));
    assert_true(fabs(collision("diverse-ar:t=4", 12) - ends / 11) < 1e-14);
}

TEST(kernel_by_all_plans)
{
    int compared = 0;
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective o = plan_objective(plan_spec(i));
        if (plan_exists(&o, 6)) {
            plan_compare_kernel(plan_spec(i));
            ++compared;
        }
    }
    assert_true(compared >= 30);
}

/* A prefix is also one of the sets of a masked part: its two weights are of one context. */
TEST(kernel_of_a_mixture)
{
    static const char *const specs[] = {
        "mix:0.5*ar+0.5*masked(mask-ratio=0.5)", "mix:0.3*group-ar(t=3)+0.7*permuted-ar",
        "mix:0.2*group-ar(t=2)+0.5*bernoulli-masked(mask-ratio=0.5)+0.3*ar"};
    for (int i = 0; i < 3; ++i) {
        plan_compare_kernel(specs[i]);
    }
}
