/* Training follows the objective: the events (conditioning set, target) of batches, derived from
 * their attention masks, against the exact distribution cs_pairs_of(). */
#include "batch_support.h"
#include "plan/distributions_private.h"
#include "plan/offsets.h"
#include "plan_support.h"

enum { LONGEST = 6, CELLS = (1 << LONGEST) * LONGEST, SEQUENCES = 50 };

/* --- exact tables: the weight of (S, k) at [bitmask of S][k], sum 1 ------------------------ */

static double exact_table(const cs_objective *objective, int64_t s, double table[CELLS])
{
    AUTO_OK(cs_pairs, sets, cs_pairs_of(objective, s, &sets));
    OK(cs_pairs_expand(&sets, 1 << 20));
    memset(table, 0, CELLS * sizeof *table);
    for (int64_t e = 0; e < sets.events; ++e) {
        table[plan_mask(&sets, e) * LONGEST + (unsigned)sets.target[e]] = sets.weight[e];
    }
    double predicted = sets.predicted;
    return predicted;
}

static cs_status add_weights(void *ctx, const cs_plan *plan, double probability)
{
    double *sum = ctx;
    *sum += SUM(i, 0, plan->length, probability * plan->weight[i]);
    return CS_OK;
}

/* Expected weight of one sequence: predicted tokens, or (mask) the chance that any is. */
static double expected_weight(const cs_objective *o, int64_t s, double predicted)
{
    double sum = 0;
    if (o->event_weight == CS_EVENT_TOKEN) {
        return predicted;
    }
    OK(cs_plan_enumerate(o, s, 1 << 20, add_weights, &sum));
    return sum;
}

/* --- diverse-ar: exact ------------------------------------------------------------------------ */

TEST(diverse_groups_weigh_as_the_objective_says)
{
    static double exact[CELLS], drawn[CELLS];
    for (int variant = 0; variant < 4; ++variant) {
        for (int64_t s = 2; s <= LONGEST; ++s) {
            for (int64_t t = 1; t <= LONGEST + 2; ++t) {
                cs_objective o = cs_objective_default(CS_OBJ_DIVERSE_AR);
                o.t = t;
                o.event_weight = variant & 1 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
                o.empty_prefix = variant & 2 ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
                double predicted = exact_table(&o, s, exact);
                double total = o.event_weight == CS_EVENT_MASK ? 1 : predicted;
                int64_t firsts = cs_plan_diverse_firsts(&o, s);
                AUTO_OK(cs_plan, plan, cs_plan_init(&plan, s));
                memset(drawn, 0, sizeof drawn);
                for (int64_t j = 0; j < firsts; ++j) {
                    double probability = 1 / (double)firsts;
                    cs_plan_diverse(&o, j, &plan);
                    for (int64_t k = 0; k < s; ++k) {
                        unsigned set = 0;
                        for (int64_t i = 0; i < s; ++i) {
                            set |= plan.group[i] < plan.group[k] ? 1u << i : 0;
                        }
                        drawn[set * LONGEST + (unsigned)k] += probability * plan.weight[k];
                        assert_true(plan.group[k] >= 0 && plan.group[k] <= plan.groups);
                    }
                }
                assert_each(c, 0, CELLS, fabs(drawn[c] - total * exact[c]) <= 1e-14 * total);
            }
        }
    }
}

/* --- frequencies ------------------------------------------------------------------------------ */

typedef struct {
    double expected[CELLS + 1], observed[CELLS + 1]; /* the last: no event was taken */
    double draws;
} counts;

/* One event of each sequence, taken with probability weight / most: then the events of different
 * sequences are independent draws of a multinomial with P(S, k) = E[weight of (S, k)] / most. */
static void take_events(const cs_batch *batch, const cs_model_config *config, double most,
                        uint64_t index, counts *c)
{
    cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, index);
    bool taken[SEQUENCES] = {false};
    ARRAY(double, left, SEQUENCES, b, cs_rng_uniform(&rng) * most);
    for (int64_t r = 0; r < batch->events; ++r) {
        int64_t b = batch->loss.example[r], k = batch->loss.place[r];
        assert_int_equal(batch->loss.target[r], batch_text[k]);
        left[b] -= batch->loss.weight[r];
        if (left[b] < 0 && !taken[b]) {
            taken[b] = true;
            c->observed[batch_sees(batch, config, r) * LONGEST + (uint64_t)k] += 1;
        }
    }
    for (int64_t b = 0; b < SEQUENCES; ++b) {
        c->observed[CELLS] += !taken[b];
        assert_true(taken[b] || left[b] >= 0); /* no sequence weighs more than `most` */
    }
    c->draws += SEQUENCES;
}

static void draw_counts(const cs_task *task, const cs_model_config *config, int64_t s,
                        int64_t steps, double most, counts *c)
{
    cs_example example[SEQUENCES];
    for (int64_t b = 0; b < SEQUENCES; ++b) {
        example[b] = (cs_example){batch_text, s, b, NULL, NULL};
    }
    memset(c->observed, 0, sizeof c->observed);
    c->draws = 0;
    for (int64_t step = 0; step < steps; ++step) {
        AUTO_OK(cs_batch, batch,
                cs_batch_build(&(cs_batch_order){task, config, 11, step, NULL}, example, SEQUENCES,
                               &batch));
        take_events(&batch, config, most, (uint64_t)step, c);
    }
}

/* Pearson's statistic as a standard normal (Wilson and Hilferty 1931); cells that expect less than
 * 5 are one. An event of probability 0 is a fault at once. */
static double chi_square(const counts *c)
{
    double x = 0, rest_expected = 0, rest_observed = 0;
    int cells = 0;
    for (int i = 0; i <= CELLS; ++i) {
        double expected = c->expected[i] * c->draws;
        if (c->observed[i] > 0 && c->expected[i] <= 0) {
            return INFINITY;
        }
        if (expected < 5) {
            rest_expected += expected;
            rest_observed += c->observed[i];
        } else {
            x += (c->observed[i] - expected) * (c->observed[i] - expected) / expected;
            ++cells;
        }
    }
    if (rest_expected >= 5) {
        x += (rest_observed - rest_expected) * (rest_observed - rest_expected) / rest_expected;
        ++cells;
    }
    if (cells < 2) {
        return 0;
    }
    double n = cells - 1;
    return (cbrt(x / n) - (1 - 2 / (9 * n))) / sqrt(2 / (9 * n));
}

/* The largest weight of a sequence is at most twice the mean: a group plan predicts at most s
 * tokens of weight 1, diverse-ar's plans differ by one group. */
static double test_events(const cs_task *task, const cs_model_config *config,
                          const cs_objective *truth, int64_t s, int64_t steps, counts *c)
{
    static double exact[CELLS];
    double predicted = exact_table(truth, s, exact);
    double total = expected_weight(truth, s, predicted);
    double most = truth->event_weight == CS_EVENT_TOKEN ? 2 * (double)s : 4;
    double sum = 0;
    for (int i = 0; i < CELLS; ++i) {
        c->expected[i] = exact[i] * total / most;
        sum += c->expected[i];
    }
    c->expected[CELLS] = sum < 1 - 1e-12 ? 1 - sum : 0;
    draw_counts(task, config, s, steps, most, c);
    return chi_square(c);
}

enum { FORMS = 4 };

/* 5 standard deviations: level 3e-7 a test, 1e-3 for the thousands of tests together. */
TEST(events_follow_the_exact_distribution)
{
    static counts c;
    const int64_t lengths[] = {2, 3, 5};
    int tests = 0;
    for (int p = 0; p < plan_spec_count(); ++p) {
        for (int variant = 0; variant < 4 * FORMS * 3; ++variant) {
            cs_task task = batch_task(plan_spec(p));
            int64_t s = lengths[variant % 3];
            cs_form form = (cs_form)(variant / 3 % FORMS);
            task.objective.event_weight = variant / 3 / FORMS & 1 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
            task.objective.empty_prefix =
                variant / 3 / FORMS & 2 ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
            bool masks = cs_objective_reads(&task.objective) == CS_ROWS_MASKED;
            task.two_stream = form == CS_FORM_TWO_STREAM;
            if ((form != CS_FORM_LINEAR && !task.two_stream && form != batch_form_of(&task) &&
                 !(form == CS_FORM_MAE && masks)) ||
                cs_objective_check(&task.objective) != CS_OK || !plan_exists(&task.objective, s)) {
                cs_reason_clear();
                continue;
            }
            cs_model_config config = batch_config(form);
            config.attention.blind_queries = task.two_stream && variant % 2;
            double z = test_events(&task, &config, &task.objective, s, 60, &c);
            if (!(z < 5)) {
                fail_msg("%s, form %d, length %d, variant %d: z = %g", plan_spec(p), (int)form,
                         (int)s, variant, z);
            }
            ++tests;
        }
    }
    assert_true(tests > 500);
}

/* The same with more draws refuses what is nearly right: group-ar for diverse-ar (LA 5.1 calls them
 * equivalent), a fixed for a variable ratio, one power of the distance for another, mask for token
 * weights. */
TEST(the_test_of_events_can_fail)
{
    static counts c;
    const char *const wrong[][2] = {
        {"group-ar:t=2", "diverse-ar:t=2"},
        {"masked:unmasked=2", "variable-masked:unmasked=1:3"},
        {"offset-ar:offset-weights=power:0.5", "offset-ar:offset-weights=power:1"},
        {"offset-ar:offset-weights=mix:0.25", "offset-ar:offset-weights=mix:0.4"},
        {"variable-masked:unmasked=1:3,event-weight=mask", "variable-masked:unmasked=1:3"},
        {"gvp:segmentation=random,groups=2", "gvp:segmentation=mixed,groups=2"},
        {"diverse-ar:t=3", "diverse-ar:t=2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        cs_task task = batch_task(wrong[i][0]);
        cs_objective truth = plan_objective(wrong[i][1]);
        cs_model_config config = batch_config(batch_form_of(&task));
        double z = test_events(&task, &config, &truth, 5, 400, &c);
        if (!(z > 5)) {
            fail_msg("%s passes for %s: z = %g", wrong[i][0], wrong[i][1], z);
        }
        double right = test_events(&task, &config, &task.objective, 5, 400, &c);
        assert_true(right < 5);
    }
}

/* --- plan files ------------------------------------------------------------------------------- */

TEST(plan_files_follow_their_distribution)
{
    static counts c;
    char path[64];
    plan_temporary(path);
    plan_write(path,
               "{\"plans\": [{\"probability\": 0.5, \"groups\": [0, 0, 1, 2]},{\"probability\": "
               "0.25, \"groups\": [2, 1, 0, 1], \"weights\": [0.5, 0, 0, 1]},{\"probability\": "
               "0.25, \"groups\": [3, 1, 2, 0], \"weights\": [1, 0, 0.25, 0]}]}");
    AUTO_OK(cs_plan_file, file, cs_plan_file_read(path, &file));
    for (int variant = 0; variant < 4; ++variant) {
        cs_task task = {.objective = cs_objective_default(CS_OBJ_FILE)};
        task.objective.file = &file;
        task.objective.event_weight = variant & 1 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        cs_model_config config = batch_config(variant & 2 ? CS_FORM_LINEAR : CS_FORM_TWO_STREAM);
        assert_true(test_events(&task, &config, &task.objective, 4, 100, &c) < 5);
    }
    assert_int_equal(unlink(path), 0);
}

/* --- distances -------------------------------------------------------------------------------- */

/* The table of a long sequence serves every rest: P(d) is that of cs_pairs_of for this rest. */
TEST(distances_follow_their_distribution)
{
    const char *const specs[] = {"offset-ar:offset-weights=power:1.5",
                                 "offset-ar:offset-weights=mix:0.3",
                                 "offset-ar:offset-weights=uniform:4"};
    enum { LEFT = 7, DRAWS = 20000 };
    for (size_t i = 0; i < 3; ++i) {
        cs_objective o = plan_objective(specs[i]);
        o.empty_prefix = CS_PREFIX_SHARED;
        AUTO_OK(cs_offsets, offsets, cs_offsets_init(&o, 50, &offsets));
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, LEFT, &pairs));
        double seen[LEFT + 1] = {0}, x = 0;
        cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, i);
        for (int n = 0; n < DRAWS; ++n) {
            int64_t d = cs_offsets_draw(&offsets, LEFT, &rng);
            assert_true(d >= 1 && d <= LEFT);
            seen[d] += 1;
        }
        int cells = 0;
        for (int64_t e = 0; e < pairs.events && pairs.set[e] == 0; ++e, ++cells) {
            double expected = pairs.weight[e] * LEFT * DRAWS;
            double off = seen[pairs.target[e] + 1] - expected;
            x += off * off / expected;
            seen[pairs.target[e] + 1] = 0;
        }
        assert_true(cells > 1);
        assert_true(x < 45); /* chi-square, at most 6 degrees of freedom: P < 1e-7 */
        for (int d = 0; d <= LEFT; ++d) {
            assert_true(seen[d] == 0);
        }
    }
}

/* A generator whose next uniform number is u = n / 2^53: the draw is enumerated instead of drawn.
 */
static cs_rng uniform_next(uint64_t n)
{
    cs_rng rng = cs_rng_at(0, CS_STREAM_TEST, 0);
    rng.block[0] = (uint32_t)(n << 11);
    rng.block[1] = (uint32_t)(n >> 21);
    rng.used = 0;
    return rng;
}

/* Inversion takes d for u in an interval as long as its weight: over a grid of u, each d comes up
 * its share of times to within one point at each end. */
TEST(powers_of_the_distance_are_inverted_exactly)
{
    enum { POINTS = 1 << 14, LEFT = 6 };
    cs_objective o = plan_objective("offset-ar:offset-weights=power:0.7");
    o.empty_prefix = CS_PREFIX_SHARED;
    AUTO_OK(cs_offsets, offsets, cs_offsets_init(&o, 40, &offsets));
    const cs_offsets bare = {.distribution = offsets.distribution,
                             .longest = 40}; /* as plans are drawn */
    for (int64_t left = 1; left <= LEFT; ++left) {
        double share[LEFT + 1] = {0};
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, left, &pairs));
        for (uint64_t i = 0; i < POINTS; ++i) {
            cs_rng rng = uniform_next((i << 1 | 1) << 38); /* (i + 1/2) / POINTS */
            cs_rng same = rng;
            int64_t d = cs_offsets_draw(&offsets, left, &rng);
            share[d] += 1.0 / POINTS;
            assert_int_equal(cs_offsets_draw(&bare, left, &same), d);
        }
        for (int64_t e = 0; e < left; ++e) { /* the first events: of the empty prefix */
            assert_int_equal(pairs.set[e], 0);
            double exact = pairs.weight[e] * (double)left;
            assert_true(fabs(share[pairs.target[e] + 1] - exact) <= 1.0 / POINTS);
        }
    }
}
