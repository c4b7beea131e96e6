/* span-masked: its events against all plans and drawn ones, the distribution of its masks, a golden
 * toy spectrum, what is refused and sampled instead; its contexts, mixtures and distributions of
 * two parameters. */
#include "context_support.h"
#include "cooc/builder.h"
#include "io_support.h"
#include "mix_support.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "toy_support.h"

TEST(events_are_those_of_all_plans)
{
    const char *const specs[] = {"span-masked(mask-ratio=0.5,t=2)",
                                 "span-masked(mask-ratio=0.7,t=1)", "span-masked(unmasked=2,t=3)",
                                 "span-masked(mask-ratio=0.15,t=3)"};
    for (int i = 0; i < 4; ++i) {
        cs_objective o = plan_objective(specs[i]);
        plan_compare_variants(o, 3, (const double[]){1, 1});
    }
}

typedef struct {
    int64_t plans, seen[1 << 10];
} masks;

static cs_status see(void *ctx, const cs_plan *plan, double probability)
{
    masks *m = ctx;
    int mask = 0, runs = 0, masked = 0;
    for (int i = 0; i < plan->length; ++i) {
        masked += plan->group[i] == 1;
        runs += plan->group[i] == 1 && (i == 0 || plan->group[i - 1] == 0);
        mask |= plan->group[i] << i;
    }
    assert_true(masked == 5 && runs == 2);
    assert_true(fabs(probability * 60 - 1) < 1e-14);
    assert_int_equal(m->seen[mask]++, 0);
    ++m->plans;
    return CS_OK;
}

/* 5 of 10 in round(5 / 3) = 2 spans: C(4, 1) C(6, 2) = 60 masks, each once. */
TEST(masks_are_all_those_with_so_many_spans)
{
    static masks m;
    cs_objective o = plan_objective("span-masked(mask-ratio=0.5,t=3)");
    OK(cs_plan_enumerate(&o, 10, 1000, see, &m));
    assert_int_equal(m.plans, 60);
}

/* Golden, by brute force over all contents: r = 2, s = 6, T = 1. */
TEST(its_toy_spectrum_is_golden)
{
    const double sigma[] = {1,
                            0.57735026918962584,
                            0.52037928053262805,
                            0.40512472068855487,
                            0.37796447300922703,
                            0.29814239699997203};
    cs_toy toy = {plan_objective("span-masked(mask-ratio=0.5,t=2)"), 2, 6, 1, false, false, 0};
    AUTO_OK(cs_toy_spectrum, spectrum, cs_toy_reduce(&toy, &spectrum));
    assert_int_equal(spectrum.values, 6);
    assert_each(j, 0, 6, fabs(spectrum.sigma[j] - sigma[j]) < 1e-14);
    assert_each(j, 0, 6, spectrum.multiplicity[j] == 2);
}

/* Beyond 2^18 masks the exact distribution is refused with their number; drawn masks make the
 * matrix. */
TEST(long_sequences_are_sampled)
{
    const int64_t length[] = {60, 64};
    cs_pairs pairs;
    cs_objective o = plan_objective("span-masked(mask-ratio=0.15,t=3)");
    assert_fails(cs_pairs_of(&o, 60, &pairs), CS_ERR_USAGE,
                 "exact events sum over all plans; give shorter sequences, or sample the plans "
                 "with cospec cooc --draws N: span-masked at length 60 has 618800 plans");
    double predicted;
    OK(cs_objective_predicted(&o, 60, &predicted));
    assert_true(predicted == 9);
    CS_AUTO(cs_corpus) corpus = small_corpus(2, length, 6, 2, 1);
    cs_cooc_options options = {.objective = o, .draws = 5};
    OK(cs_context_parse("nearest:2", &options.context));
    AUTO_OK(cs_cooc, built, cs_cooc_build(&corpus, &options, &built));
    assert_true(built.matrix.a.rows > 10);
}

TEST(its_context_weights_are_exact)
{
    context_check("mix:1*group-ar(t=2)+1*span-masked(mask-ratio=0.5,t=2)", 3, 7);
}

TEST(it_mixes)
{
    static const char *const modes[] = {"all", "nearest:2", "each:3", "document"};
    static const mixture m = {.spec = "mix:1*span-masked(mask-ratio=0.4,t=2)+1*ar+2*permuted-ar",
                              .part = {"span-masked:mask-ratio=0.4,t=2", "ar", "permuted-ar"},
                              .share = {0.25, 0.25, 0.5}};
    for (int mode = 0; mode < 8; ++mode) {
        mix_check(&m, modes[mode / 2], mode % 2 > 0, 7);
    }
    CS_AUTO(cs_plan_file) file = {0};
    plan_compare_variants(plan_held("mix:1*permuted-ar+1*span-masked(mask-ratio=0.5,t=2)", &file),
                          3, (const double[]){7, 7});
    plan_compare_kernel("mix:1*permuted-ar+1*span-masked(mask-ratio=0.5,t=2)");
    expect_reduction_exact(
        "mix:1*ar+1*span-masked(mask-ratio=0.2,t=3)+2*gvp(groups=2),empty-prefix=shared", 2);
}

/* A part that is a sum over all its plans is refused with their number. */
TEST(a_part_without_a_distribution_is_named)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_pairs pairs;
    cs_objective o = plan_held("mix:1*ar+1*span-masked(mask-ratio=0.5,t=2)", &file);
    assert_fails(cs_pairs_of(&o, 60, &pairs), CS_ERR_USAGE, "part 2 of the mixture (span-masked)");
}

/* A distribution of lengths within a share; two distributions in one part (shares 1/3, 2/3 times
 * 1/4, 3/4). */
TEST_IN_DIR(its_distributions_are_flattened)
{
    const struct {
        const char *text, *by_hand; /* at length 6 */
    } cases[] = {
        {"{\"mixture\": [{\"share\": \"1/s\", \"objective\": \"ar\"}, {\"share\": \"1-1/s\", "
         "\"objective\": \"span-masked\", \"parameters\": {\"mask-ratio\": 0.5, \"t\": ["
         "{\"value\": 1, \"share\": 3}, {\"value\": \"ceil(s/3)\", \"share\": 1}]}}]}",
         "mix:4*ar+15*span-masked(mask-ratio=0.5,t=1)+5*span-masked(mask-ratio=0.5,t=2)"},
        {"{\"mixture\": [{\"share\": 2, \"objective\": \"t5\", \"parameters\": {\"unmasked\": ["
         "{\"value\": \"s/2\", \"share\": 1}, {\"value\": \"s-2\", \"share\": 2}], \"t\": ["
         "{\"value\": 1, \"share\": 1}, {\"value\": 3, \"share\": 3}]}}]}",
         "mix:1*t5(unmasked=3,t=1)+3*t5(unmasked=3,t=3)+2*t5(unmasked=4,t=1)+6*t5(unmasked=4,t=3)"},
    };
    for (int i = 0; i < 2; ++i) {
        plan_check_distribution(in_dir(state, "mix.json"), cases[i].text, cases[i].by_hand);
    }
}
