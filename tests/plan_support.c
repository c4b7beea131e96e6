/* Objectives for the tests of src/plan. */
#include "plan_support.h"
#include "plan/kernel.h"
#include "plan/spec.h"
#include "test.h"

/* The examples of the rows, word by word, in the order of objectives. */
static int find_spec(int n, char text[64])
{
    int count = 0;
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const char *p = cs_objective_table((cs_objective_kind)kind)->examples;
        while (p && *p) {
            const size_t length = strcspn(p, " ");
            assert_true(length < 64);
            if (count++ == n) {
                (void)snprintf(text, 64, "%.*s", (int)length, p);
            }
            p += length + strspn(p + length, " ");
        }
    }
    return count;
}

int plan_spec_count(void)
{
    return find_spec(-1, NULL);
}

const char *plan_spec(int n)
{
    static char text[2][64]; /* two at once */
    static int turn;
    turn = 1 - turn;
    assert_true(find_spec(n, text[turn]) > n);
    return text[turn];
}

cs_objective plan_objective(const char *spec)
{
    cs_objective objective;
    cs_reason_clear();
    OK(cs_objective_parse(spec, &objective));
    return objective;
}

bool plan_exists(const cs_objective *objective, int64_t s)
{
    bool ok = cs_objective_check_length(objective, s) == CS_OK;
    cs_reason_clear();
    return ok;
}

cs_objective plan_held(const char *spec, cs_plan_file *file)
{
    cs_objective o;
    *file = (cs_plan_file){0};
    OK(cs_objective_parse_held(spec, file, &o));
    return o;
}

void plan_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void plan_temporary(char path[64])
{
    (void)snprintf(path, 64, "/tmp/cospec_plan_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

/* --- tables: the weight of (S, k) at [bitmask of S][k] ---------------------------------------- */

unsigned plan_mask(const cs_pairs *pairs, int64_t event)
{
    const cs_pairs_set set = cs_pairs_set_of(pairs, event);
    const int32_t *position = cs_pairs_positions(pairs, set);
    unsigned mask = 0;
    for (int64_t i = 0; i < set.size; ++i) {
        assert_true(i == 0 || position[i - 1] < position[i]);
        mask |= 1u << position[i];
    }
    return mask;
}

void plan_table_of_pairs(cs_pairs *pairs, double table[PLAN_CELLS])
{
    double count = cs_pairs_expand_count(pairs);
    OK(cs_pairs_expand(pairs, 1 << 20));
    assert_null(pairs->q);
    assert_true((double)pairs->events == count && pairs->invariant == 0);
    memset(table, 0, PLAN_CELLS * sizeof *table);
    int64_t before = -1;
    for (int64_t e = 0; e < pairs->events; ++e) {
        unsigned mask = plan_mask(pairs, e);
        double *cell = &table[mask * PLAN_LONGEST + (unsigned)pairs->target[e]];
        assert_true(pairs->weight[e] > 0);
        assert_true(*cell == 0); /* pairs are distinct */
        assert_true((mask >> pairs->target[e] & 1) == 0);
        int64_t key = pairs->set[e] * pairs->length + pairs->target[e];
        assert_true(key > before); /* and sorted */
        before = key;
        *cell = pairs->weight[e];
    }
}

cs_status plan_tally_add(void *ctx, const cs_plan *plan, double probability)
{
    plan_tally *t = ctx;
    double used = t->start ? t->start[t->plans] : probability;
    t->probability += used;
    ++t->plans;
    for (int64_t k = 0; k < plan->length; ++k) {
        unsigned mask = 0;
        for (int64_t i = 0; i < plan->length; ++i) {
            mask |= plan->group[i] < plan->group[k] ? 1u << i : 0;
        }
        assert_true(plan->group[k] >= 0 && plan->group[k] <= plan->groups);
        assert_true(plan->group[k] > 0 || plan->weight[k] == 0);
        t->table[mask * PLAN_LONGEST + (unsigned)k] += used * plan->weight[k];
        t->predicted += used * (plan->weight[k] > 0);
    }
    return CS_OK;
}

void plan_normalise(double table[PLAN_CELLS])
{
    double sum = SUM(i, 0, PLAN_CELLS, table[i]);
    for (int i = 0; i < PLAN_CELLS; ++i) {
        table[i] /= sum;
    }
}

/* Weights are at most 1 and built from a few dozen rounded operations each. */
void plan_assert_same_table(const double a[PLAN_CELLS], const double b[PLAN_CELLS],
                            const char *what)
{
    for (int i = 0; i < PLAN_CELLS; ++i) {
        if (!(fabs(a[i] - b[i]) <= 1e-14)) {
            fail_msg("%s: S %d, k %d: %.17g against %.17g", what, i / PLAN_LONGEST,
                     i % PLAN_LONGEST, a[i], b[i]);
        }
    }
}

void plan_compare_with_enumeration(const cs_objective *objective, int64_t s)
{
    static double exact[PLAN_CELLS];
    static plan_tally t;
    memset(&t, 0, sizeof t);
    CS_AUTO_FREE char *name = cs_objective_describe(objective);
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(objective, s, &pairs));
    OK(cs_plan_enumerate(objective, s, 1 << 20, plan_tally_add, &t));
    plan_table_of_pairs(&pairs, exact);
    plan_normalise(t.table);
    assert_true(fabs(t.probability - 1) < 1e-14 * (double)(t.plans + 8));
    plan_assert_same_table(exact, t.table, name);
    cs_plan_weighting weighting = cs_objective_table(objective->kind)->weighting;
    double scale =
        weighting == CS_WEIGHTS_ONE ? pairs.predicted : 1; /* one target of each prefix is drawn */
    if (weighting != CS_WEIGHTS_OWN) {
        assert_true(fabs(pairs.predicted - scale * t.predicted) < 1e-12);
    }
}

/* One event of one plan, drawn so that accepted events are independent with the distribution of the
 * pairs: a uniform position, accepted with its weight. */
static bool draw_event(const cs_plan_sampler *sampler, cs_rng *rng, double largest, cs_plan *plan,
                       int64_t *cell)
{
    OK(cs_plan_draw(sampler, rng, plan));
    int64_t k = cs_rng_below(rng, plan->length), mask = 0;
    if (!(cs_rng_uniform(rng) * largest < plan->weight[k])) {
        return false;
    }
    for (int64_t i = 0; i < plan->length; ++i) {
        mask |= plan->group[i] < plan->group[k] ? (int64_t)1 << i : 0;
    }
    *cell = mask * PLAN_LONGEST + k;
    return true;
}

/* Pearson's statistic of `draws` events has about d = cells - 1 degrees of freedom; a chi-square
 * exceeds d + 2 sqrt(d x) + 2 x with probability below e^-x (Laurent, Massart 2000). x = 20: one
 * false alarm in 5e8. */
void plan_compare_with_samples(const cs_objective *objective, int64_t s, double largest,
                               uint64_t seed)
{
    enum { DRAWS = 20000 };
    static double exact[PLAN_CELLS];
    static int64_t seen[PLAN_CELLS];
    memset(seen, 0, sizeof seen);
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(objective, s, &pairs));
    AUTO_OK(cs_plan_sampler, sampler, cs_plan_sampler_init(objective, s, &sampler));
    AUTO_OK(cs_plan, plan, cs_plan_init(&plan, s));
    plan_table_of_pairs(&pairs, exact);
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    for (int64_t n = 0; n < DRAWS;) {
        int64_t cell;
        if (draw_event(&sampler, &rng, largest, &plan, &cell)) {
            /* Under no empty prefix a Bernoulli mask of everything has no weight, so every event
             * drawn has a place. */
            assert_true(exact[cell] > 0);
            ++seen[cell];
            ++n;
        }
    }
    /* Cells of fewer than 10 expected events are put together, as Pearson's approximation asks. */
    double statistic = 0, cells = 0, rare = 0, rare_seen = 0;
    for (int i = 0; i < PLAN_CELLS; ++i) {
        double expected = exact[i] * DRAWS;
        if (expected >= 10) {
            statistic += pow((double)seen[i] - expected, 2) / expected;
            ++cells;
        } else {
            rare += expected;
            rare_seen += (double)seen[i];
        }
    }
    if (rare >= 10) {
        statistic += pow(rare_seen - rare, 2) / rare;
        ++cells;
    }
    double d = cells - 1, x = 20;
    if (!(statistic <= d + 2 * sqrt(d * x) + 2 * x)) {
        char *name = cs_objective_describe(objective);
        fail_msg("%s: chi-square %g with %g degrees of freedom", name, statistic, d);
    }
}

void plan_compare_variants(cs_objective o, int64_t shortest, const double largest[2])
{
    for (int variant = 0; variant < 6; ++variant) {
        o.event_weight = (cs_event_weight)(variant % 2);
        o.empty_prefix = (cs_empty_prefix)(variant / 2);
        const int64_t least = o.empty_prefix == CS_PREFIX_NONE ? 2 : 1;
        for (int64_t s = shortest > 0 ? shortest : least; s <= 6; ++s) {
            plan_compare_with_enumeration(&o, s);
        }
        plan_compare_with_samples(&o, 6, largest[variant % 2], (uint64_t)variant);
    }
}

/* --- distributions of mixtures --- */

cs_objective plan_of_text(const char *path, const char *text, cs_plan_file *file)
{
    cs_objective o = cs_objective_default(CS_OBJ_FILE);
    *file = (cs_plan_file){0};
    plan_write(path, text);
    OK(cs_objective_of_file(path, file, &o));
    assert_int_equal(o.kind, CS_OBJ_MIX);
    return o;
}

void plan_table_of(const cs_objective *o, int64_t s, double table[PLAN_CELLS])
{
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(o, s, &pairs));
    plan_table_of_pairs(&pairs, table);
}

void plan_assert_as_by_hand(const cs_objective *o, int64_t s, const char *spec)
{
    static double own[PLAN_CELLS], expected[PLAN_CELLS];
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective hand = plan_held(spec, &file);
    hand.event_weight = o->event_weight;
    hand.empty_prefix = o->empty_prefix;
    plan_table_of(o, s, own);
    plan_table_of(&hand, s, expected);
    plan_assert_same_table(own, expected, spec);
}

void plan_check_distribution(const char *path, const char *text, const char *spec)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_of_text(path, text, &file);
    for (int variant = 0; variant < 6; ++variant) {
        o.event_weight = (cs_event_weight)(variant % 2);
        o.empty_prefix = (cs_empty_prefix)(variant / 2);
        plan_compare_with_enumeration(&o, 4);
        plan_compare_with_enumeration(&o, 6);
        plan_compare_with_samples(&o, 6, 7, (uint64_t)variant);
        plan_assert_as_by_hand(&o, 6, spec);
    }
}

void plan_compare_kernel(const char *spec)
{
    double closed[36], all[36];
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o = plan_held(spec, &file);
    AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, 6, &pairs));
    OK(cs_kernel_of_pairs(&pairs, closed));
    OK(cs_kernel_of_plans(&o, 6, all));
    assert_each(e, 0, 36, fabs(closed[e] - all[e]) < 1e-13);
}
