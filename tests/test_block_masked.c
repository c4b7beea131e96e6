/* block-masked: its distribution against its rule, trial by trial; its events against all plans and
 * drawn ones; blocks of a large grid. */
#include "plan/ratio.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"

TEST(events_are_those_of_all_plans)
{
    const char *const specs[] = {"block-masked(mask-ratio=0.5)",
                                 "block-masked(mask-ratio=0.7,columns=2)",
                                 "block-masked(unmasked=1,columns=9)"};
    for (int i = 0; i < 3; ++i) {
        plan_compare_variants(plan_objective(specs[i]), 2, (const double[]){1, 1});
    }
    plan_compare_kernel("block-masked(mask-ratio=0.4,columns=2)");
}

/* The rule of a 3 x 3 grid with 4 masked patches; m = round(16 9 / 196) = 1. */
enum {
    SIDE = 3,
    CELLS = SIDE * SIDE,
    MASKS = 1 << CELLS,
    WANTED = 4,
    POINTS = 1 << 18,
    TRIALS = 10
};

/* Adds P(one trial from `mask` gives another mask): areas 1..r, the aspect at the midpoints of
 * POINTS parts of its range, every place. */
static void one_trial(int mask, double from, double next[MASKS], double *failed)
{
    static double shape[WANTED + 1][SIDE + 2][SIDE + 2]; /* by area; the last: too large */
    if (shape[1][1][1] == 0) {
        for (int area = 1; area <= WANTED; ++area) {
            for (int p = 0; p < POINTS; ++p) {
                const double ratio = exp((2 * (p + 0.5) / POINTS - 1) * log(1 / 0.3));
                const long h = lround(sqrt(area * ratio)), w = lround(sqrt(area / ratio));
                shape[area][h > SIDE ? SIDE + 1 : h][w > SIDE ? SIDE + 1 : w] += 1.0 / POINTS;
            }
        }
    }
    const int left = WANTED - __builtin_popcount((unsigned)mask);
    for (int area = 1; area <= left; ++area) {
        for (int h = 1; h <= SIDE + 1; ++h) {
            for (int w = 1; w <= SIDE + 1; ++w) {
                const double p = from * shape[area][h][w] / left;
                const int places = (SIDE - h + 1) * (SIDE - w + 1);
                *failed += places == 0 ? p : 0;
                for (int place = 0; place < places; ++place) {
                    int to = mask;
                    for (int cell = 0; cell < CELLS; ++cell) {
                        const int y = cell / SIDE - place / (SIDE - w + 1),
                                  x = cell % SIDE - place % (SIDE - w + 1);
                        to |= (y >= 0 && y < h && x >= 0 && x < w) << cell;
                    }
                    const bool taken = to != mask && __builtin_popcount((unsigned)to) <= WANTED;
                    *(taken ? &next[to] : failed) += p / places;
                }
            }
        }
    }
}

/* P(mask) by the rule: trials one after another, and after ten that took none the rest uniformly,
 * as one subset of what is left. */
static void distribution_by_rule(double distribution[MASKS])
{
    for (int mask = 0; mask < MASKS; ++mask) {
        const double mass = distribution[mask];
        const int left = WANTED - __builtin_popcount((unsigned)mask);
        if (left <= 0 || mass == 0) {
            continue;
        }
        double now = mass, supersets = 0;
        for (int trial = 0; trial < TRIALS; ++trial) {
            double failed = 0;
            one_trial(mask, now, distribution, &failed);
            now = failed;
        }
        for (int pass = 0; pass < 2; ++pass) {
            for (int to = 0; to < MASKS; ++to) {
                if ((to & mask) == mask && __builtin_popcount((unsigned)to) == WANTED) {
                    supersets += pass == 0;
                    distribution[to] += pass == 1 ? now / supersets : 0;
                }
            }
        }
        distribution[mask] = 0;
    }
}

typedef struct {
    double distribution[MASKS], largest;
    int64_t plans;
} compared;

static cs_status compare(void *ctx, const cs_plan *plan, double probability)
{
    compared *c = ctx;
    int mask = 0;
    for (int i = 0; i < CELLS; ++i) {
        mask |= plan->group[i] << i;
    }
    assert_int_equal(__builtin_popcount((unsigned)mask), WANTED);
    c->largest = fmax(c->largest, fabs(probability - c->distribution[mask]));
    c->distribution[mask] = 0;
    ++c->plans;
    return CS_OK;
}

/* A shape's end lies within one of POINTS parts: at most 2 / POINTS of its probability are off, of
 * at most SIDE x SIDE shapes in each of TRIALS x WANTED trials. */
TEST(the_distribution_is_that_of_the_rule)
{
    static compared c;
    const cs_objective o = plan_objective("block-masked(unmasked=5)");
    c.distribution[0] = 1;
    distribution_by_rule(c.distribution);
    OK(cs_plan_enumerate(&o, CELLS, 1000, compare, &c));
    assert_int_equal(c.plans, 126);
    assert_true(c.largest < 2.0 * CELLS * TRIALS * WANTED / POINTS);
    assert_each(mask, 0, MASKS, c.distribution[mask] == 0);
}

/* P(h, w) of area 16 by midpoints. */
static double shape_of_16(long h, long w)
{
    double share = 0;
    for (int p = 0; p < POINTS; ++p) {
        const double ratio = exp((2 * (p + 0.5) / POINTS - 1) * log(1 / 0.3));
        share += lround(sqrt(16 * ratio)) == h && lround(sqrt(16 / ratio)) == w;
    }
    return share / POINTS;
}

/* The rows that a mask spans, and its first row and column. */
static int64_t span(const cs_plan *plan, int64_t stride, int64_t step, int64_t *first)
{
    int64_t count = 0;
    for (int64_t a = 0; a < 14; ++a) {
        int64_t any = 0;
        for (int64_t b = 0; b < 14; ++b) {
            any |= plan->group[a * stride + b * step];
        }
        *first = any && count == 0 ? a : *first;
        count += any;
    }
    return count;
}

/* On BEiT's own grid 16 patches are the least block: one of area 16 where its sides round to no more
 * than 16 patches, whose probability is known, in a uniform place. Counts within 5 sd. */
TEST(the_least_block_of_196_has_16)
{
    enum { DRAWS = 20000 };
    const cs_objective o = plan_objective("block-masked(unmasked=180)");
    double fits = 0, squares = 0, tops = 0;
    const double square = shape_of_16(4, 4);
    for (long h = 1; h <= 8; ++h) {
        for (long w = 1; h * w <= 16; ++w) {
            fits += shape_of_16(h, w);
        }
    }
    AUTO_OK(cs_plan, plan, cs_plan_init(&plan, 196));
    for (int i = 0; i < DRAWS; ++i) {
        cs_rng rng = cs_rng_at(7, CS_STREAM_PLAN, (uint64_t)i);
        int64_t top = 0, left = 0, masked = 0;
        OK(cs_plan_sample(&o, &rng, &plan));
        for (int k = 0; k < 196; ++k) {
            masked += plan.group[k];
        }
        assert_int_equal(masked, 16);
        if (span(&plan, 14, 1, &top) == 4 && span(&plan, 1, 14, &left) == 4) {
            squares += 1;
            tops += (double)top;
        }
    }
    const double p = square / fits;
    assert_true(p > 0.1 && p < 0.9);
    assert_true(fabs(squares - DRAWS * p) < 5 * sqrt(DRAWS * p * (1 - p)));
    assert_true(fabs(tops / squares - 5) < 5 * sqrt(10 / squares)); /* 0..10: mean 5, variance 10 */
}

/* Exactly n patches, whatever the ratio; a row is a grid too. */
TEST(the_ratio_is_exact)
{
    const struct {
        double ratio;
        int64_t columns, length;
    } cases[] = {{0.4, -1, 196}, {0.75, -1, 64}, {0.98, 16, 128},
                 {0.5, 60, 60},  {0.3, 1, 50},   {0.5, 6, 40}};
    for (int c = 0; c < 6; ++c) {
        cs_objective o = cs_objective_default(CS_OBJ_BLOCK_MASKED);
        o.mask_ratio_lo = o.mask_ratio_hi = cases[c].ratio;
        o.columns = cases[c].columns;
        AUTO_OK(cs_plan, plan, cs_plan_init(&plan, cases[c].length));
        for (uint64_t i = 0; i < 200; ++i) {
            cs_rng rng = cs_rng_at(1, CS_STREAM_PLAN, i);
            int64_t masked = 0;
            OK(cs_plan_sample(&o, &rng, &plan));
            for (int64_t k = 0; k < plan.length; ++k) {
                masked += plan.group[k];
            }
            assert_int_equal(masked, cs_ratio_masked(cases[c].ratio, plan.length));
        }
    }
}

static cs_status add_up(void *ctx, const cs_plan *plan, double probability)
{
    (void)plan;
    *(double *)ctx += probability;
    return CS_OK;
}

/* A grid that columns do not divide has a shorter last row; beyond 18 patches plans are drawn. */
TEST(long_sequences_are_sampled)
{
    cs_pairs pairs;
    cs_objective o = plan_objective("beit(mask-ratio=0.4,columns=17)");
    double count = 0;
    OK(cs_plan_enumerate(&o, 18, 1 << 18, add_up, &count));
    assert_true(fabs(count - 1) < 1e-12);
    assert_fails(cs_pairs_of(&o, 19, &pairs), CS_ERR_USAGE,
                 "cospec cooc --draws N: block-masked at length 19 has 524288 plans");
}

static cs_status add_apart(void *ctx, const cs_plan *plan, double probability)
{
    *(double *)ctx +=
        plan->group[0] > 0 && plan->group[8] > 0 && plan->group[1] == 0 ? probability : 0;
    return CS_OK;
}

/* Of pictures with 8 patches a row patch 8 is below patch 0, and blocks of two hold both; in the square of
 * 16 two blocks of one may. So in a part of a mixture, and in one of a mixture within it. */
TEST(grids_of_pictures)
{
    static const char *const specs[] = {
        "block-masked(mask-ratio=0.125)",
        "mix:0.5*block-masked(mask-ratio=0.125)+0.5*masked(unmasked=15)",
        "mix:0.5*masked(unmasked=15)+0.5*mix(1*block-masked(mask-ratio=0.125))"};
    for (int i = 0; i < 3; ++i) {
        double square = 0, wide = 0;
        const char *planar = NULL;
        cs_objective o = {0};
        unsigned set = 0;
        AUTO_OK(cs_plan_file, file, cs_objective_read(specs[i], &set, &file, &o));
        OK(cs_plan_enumerate(&o, 16, 1 << 18, add_apart, &square));
        OK(cs_objective_grid(&o, 8, &planar));
        OK(cs_plan_enumerate(&o, 16, 1 << 18, add_apart, &wide));
        assert_true(planar && square > 0 && wide > 1.2 * square);
        OK(cs_objective_grid(&o, 8, &planar)); /* as it has it */
        assert_fails(cs_objective_grid(&o, 4, &planar), CS_ERR_USAGE,
                     "columns 8: a row of the pictures has 4 patches");
        CS_AUTO_FREE char *text = cs_objective_describe(&o);
        assert_non_null(strstr(text, "columns=8"));
    }
    cs_objective none = plan_objective("masked(unmasked=1)");
    const char *planar = "";
    OK(cs_objective_grid(&none, 8, &planar));
    assert_true(!planar && none.columns == -1);
}
