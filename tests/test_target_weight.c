/* Uniform target weights: the distribution of events is that of all plans with each target's events
 * scaled to one weight, and the matrix, drawn plans, batches and P_G of the spectral loss have that
 * distribution. */
#include "batch_support.h"
#include "cooc/builder.h"
#include "plan/parameter.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "train/examples.h"

static const char *const more_specs[] = {
    "mix:0.5*ar+0.5*masked(unmasked=1)",
    "mix:0.3*offset-ar(offset-weights=power:1)+0.7*group-ar(t=2)"};

enum { MIXTURES = 2 };

static cs_objective nth(int n, cs_plan_file *held)
{
    cs_objective o;
    *held = (cs_plan_file){0};
    OK(cs_objective_parse_held(
        n < plan_spec_count() ? plan_spec(n) : more_specs[n - plan_spec_count()], held, &o));
    return o;
}

/* --- brute force ------------------------------------------------------------------------------ */

/* Of all plans of the objective without target weights: their table, and 1 / n over each target's
 * weight. Returns n. */
static int64_t by_hand(cs_objective o, int64_t s, double table[PLAN_CELLS],
                       double factor[PLAN_LONGEST])
{
    static plan_tally t;
    double w[PLAN_LONGEST] = {0};
    memset(&t, 0, sizeof t);
    o.target_weight = CS_TARGETS_PLAN;
    OK(cs_plan_enumerate(&o, s, 1 << 20, plan_tally_add, &t));
    plan_normalise(t.table);
    for (int c = 0; c < PLAN_CELLS; ++c) {
        w[c % PLAN_LONGEST] += t.table[c];
    }
    int64_t n = COUNT(k, 0, PLAN_LONGEST, w[k] > 0);
    for (int k = 0; k < PLAN_LONGEST; ++k) {
        factor[k] = w[k] > 0 ? 1 / (double)n / w[k] : 0;
    }
    for (int c = 0; c < PLAN_CELLS; ++c) {
        table[c] = t.table[c] * factor[c % PLAN_LONGEST];
    }
    return n;
}

/* Factors are quotients of sums of at most 64 rounded weights. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-13 * (1 + fabs(b));
}

TEST(distributions_are_those_of_all_plans)
{
    static double want[PLAN_CELLS], got[PLAN_CELLS];
    static plan_tally all;
    int uneven = 0;
    for (int i = 0; i < (plan_spec_count() + MIXTURES) * 4 * 5; ++i) {
        CS_AUTO(cs_plan_file) held = {0};
        cs_objective o = nth(i / 20, &held);
        double factor[PLAN_LONGEST], *factors = NULL;
        int64_t s = 2 + i % 5;
        o.event_weight = i / 5 % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        o.empty_prefix = i / 10 % 2 ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
        o.target_weight = CS_TARGETS_UNIFORM;
        if (cs_objective_check(&o) == CS_OK && plan_exists(&o, s)) {
            const char *name = i / 20 < plan_spec_count() ? plan_spec(i / 20) : "more";
            double predicted = 0, sum[PLAN_LONGEST] = {0};
            int64_t n = by_hand(o, s, want, factor);
            AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, s, &pairs));
            OK(cs_objective_predicted(&o, s, &predicted));
            assert_true(near(pairs.predicted, predicted));
            plan_table_of_pairs(&pairs, got);
            memset(&all, 0, sizeof all);
            OK(cs_plan_enumerate(&o, s, 1 << 20, plan_tally_add, &all));
            plan_normalise(all.table);
            OK(cs_target_factors(&o, s, &factors));
            for (int c = 0; c < PLAN_CELLS; ++c) {
                if (!near(got[c], want[c]) || !near(all.table[c], want[c])) {
                    fail_msg("%s, length %d, S %d, k %d: %.17g and of plans %.17g, not %.17g", name,
                             (int)s, c / PLAN_LONGEST, c % PLAN_LONGEST, got[c], all.table[c],
                             want[c]);
                }
                sum[c % PLAN_LONGEST] += got[c];
            }
            for (int64_t k = 0; k < s; ++k) {
                assert_true(sum[k] == 0 || near(sum[k], 1 / (double)n));
                assert_true(factor[k] == 0 || near(factors[k], factor[k]));
                uneven += factor[k] > 0 && !near(factor[k], 1);
            }
            cs_free(factors);
        }
        cs_reason_clear();
    }
    assert_true(uneven > 500);
}

/* --- drawn plans and batches ------------------------------------------------------------------- */

/* The plans are the same, their weights are multiplied; so are those of batches in every form. */
TEST(draws_are_weighed_by_the_factors)
{
    enum { LENGTH = 6 };
    for (int i = 0; i < (plan_spec_count() + MIXTURES) * 3; ++i) {
        static double table[PLAN_CELLS];
        double factor[PLAN_LONGEST], *factors = NULL;
        CS_AUTO(cs_plan_file) held = {0};
        cs_task task = {.objective = nth(i / 3, &held), .two_stream = i % 3 == 2};
        cs_form form = i % 3 == 1 ? CS_FORM_LINEAR : CS_FORM_TWO_STREAM;
        cs_model_config config = batch_config(form);
        cs_task uniform = task;
        uniform.objective.target_weight = CS_TARGETS_UNIFORM;
        (void)by_hand(task.objective, LENGTH, table, factor);
        OK(cs_target_factors(&uniform.objective, LENGTH, &factors));
        AUTO_OK(cs_plan, plain, cs_plan_init(&plain, LENGTH));
        AUTO_OK(cs_plan, leveled, cs_plan_init(&leveled, LENGTH));
        leveled.factor = factors;
        for (int64_t step = 0; step < 20; ++step) {
            cs_rng one = cs_rng_at(1, CS_STREAM_TEST, (uint64_t)step), two = one;
            OK(cs_plan_sample(&task.objective, &one, &plain));
            OK(cs_plan_sample(&uniform.objective, &two, &leveled));
            assert_each(k, 0, LENGTH, plain.group[k] == leveled.group[k]);
            assert_each(k, 0, LENGTH, near(leveled.weight[k], plain.weight[k] * factor[k]));
            const cs_example example = {batch_text, LENGTH, 0, NULL, NULL};
            AUTO_OK(
                cs_batch, a,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, step, NULL}, &example, 1, &a));
            AUTO_OK(cs_batch, b,
                    cs_batch_build(&(cs_batch_order){&uniform, &config, 1, step, NULL}, &example, 1,
                                   &b));
            assert_int_equal(a.events, b.events);
            assert_each(r, 0, a.events, a.loss.place[r] == b.loss.place[r]);
            assert_each(r, 0, a.events,
                        near(b.loss.weight[r], a.loss.weight[r] * factor[a.loss.place[r]]));
        }
        cs_free(factors);
    }
}

/* Of the batches of a run, the mean weight of each position is one number, within five standard
 * errors; those of the plans are not. */
TEST(training_gives_each_position_one_weight)
{
    const char *const spec[] = {"group-ar:t=3", "diverse-ar:t=4", "group-ar:t=2",
                                "offset-ar:offset-weights=power:1"};
    enum { LENGTH = 7, STEPS = 4000 };
    for (int i = 0; i < 8; ++i) {
        cs_task task = batch_task(spec[i / 2]);
        cs_model_config config = batch_config(CS_FORM_TWO_STREAM);
        double sum[LENGTH] = {0}, square[LENGTH] = {0}, predicted = 0;
        bool differs = false;
        task.objective.target_weight = i % 2 ? CS_TARGETS_UNIFORM : CS_TARGETS_PLAN;
        for (int64_t step = 0; step < STEPS; ++step) {
            const cs_example example = {batch_text, LENGTH, 0, NULL, NULL};
            double w[LENGTH] = {0};
            AUTO_OK(
                cs_batch, b,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, step, NULL}, &example, 1, &b));
            for (int64_t r = 0; r < b.events; ++r) {
                w[b.loss.place[r]] += b.loss.weight[r];
            }
            for (int k = 0; k < LENGTH; ++k) {
                sum[k] += w[k];
                square[k] += w[k] * w[k];
            }
        }
        OK(cs_objective_predicted(&task.objective, LENGTH, &predicted));
        assert_true(sum[0] == 0);
        for (int k = 1; k < LENGTH; ++k) {
            double mean = sum[k] / STEPS, want = predicted / (LENGTH - 1);
            double se = sqrt((square[k] / STEPS - mean * mean) / STEPS);
            differs = differs || fabs(mean - want) > 5 * se + 1e-12;
        }
        assert_int_equal(differs, i % 2 == 0);
    }
}

/* --- the matrix -------------------------------------------------------------------------------- */

typedef struct {
    char *text;
    double factor[PLAN_LONGEST];
} plan_text;

static cs_status write_plan(void *ctx, const cs_plan *plan, double probability)
{
    plan_text *t = ctx;
    char groups[128] = "", weights[256] = "";
    double sum = 0;
    for (int64_t k = 0; k < plan->length; ++k) {
        size_t g = strlen(groups), w = strlen(weights);
        (void)snprintf(groups + g, sizeof groups - g, "%s%d", k ? "," : "", (int)plan->group[k]);
        (void)snprintf(weights + w, sizeof weights - w, "%s%.17g", k ? "," : "",
                       plan->weight[k] * t->factor[k]);
        sum += plan->weight[k];
    }
    if (sum == 0) { /* it predicts nothing */
        return CS_OK;
    }
    char *longer =
        cs_format("%s%s{\"probability\": %.17g, \"groups\": [%s], \"weights\": [%s]}",
                  t->text ? t->text : "", t->text ? ",\n" : "", probability, groups, weights);
    cs_free(t->text);
    t->text = longer;
    return longer ? CS_OK : CS_ERR_MEMORY;
}

/* Every plan with its weights scaled by hand, as a file. */
static cs_objective as_file(cs_objective o, int64_t s, cs_plan_file *file)
{
    static double table[PLAN_CELLS];
    char path[64];
    plan_text t = {NULL, {0}};
    (void)by_hand(o, s, table, t.factor);
    o.target_weight = CS_TARGETS_PLAN;
    OK(cs_plan_enumerate(&o, s, 1 << 12, write_plan, &t));
    CS_AUTO_FREE char *text = cs_format("{\"plans\": [%s]}", t.text);
    plan_temporary(path);
    plan_write(path, text);
    OK(cs_plan_file_read(path, file));
    assert_int_equal(unlink(path), 0);
    cs_free(t.text);
    cs_objective made = cs_objective_default(CS_OBJ_FILE);
    made.file = file;
    return made;
}

/* Entry by entry, up to the rounding of a contribution to units: a column of a row has at most one
 * such rounding a token. */
static void expect_same_distribution(const cs_cooc *a, const cs_cooc *b, const char *what)
{
    const cs_csr *x = &a->matrix.a, *y = &b->matrix.a;
    double ux = a->exact ? a->unit : 1, uy = b->exact ? b->unit : 1;
    assert_int_equal(x->rows, y->rows);
    assert_int_equal(x->ptr[x->rows], y->ptr[y->rows]);
    assert_memory_equal(a->key, b->key, (size_t)x->rows * sizeof *a->key);
    for (int64_t e = 0; e < x->ptr[x->rows]; ++e) {
        double got = x->val[e] * ux / a->mass, want = y->val[e] * uy / b->mass;
        assert_int_equal(x->col[e], y->col[e]);
        if (!(fabs(got - want) <= 1e-11 * want)) {
            fail_msg("%s, entry %d: %.17g, not %.17g", what, (int)e, got, want);
        }
    }
}

TEST(matrices_are_those_of_all_plans)
{
    static const char *const modes[] = {"all", "nearest:2", "each:3", "document", "unique"};
    enum { DOCUMENTS = 9, LENGTH = 5 };
    ARRAY(int64_t, length, DOCUMENTS, d, LENGTH);
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, length, 6, 0, 3);
    for (int i = 0; i < (plan_spec_count() + MIXTURES) * 10; ++i) {
        CS_AUTO(cs_plan_file) held = {0}, file = {0};
        cs_cooc_options o = {.objective = nth(i / 10, &held), .threads = 1};
        cs_cooc uniform, brute;
        o.objective.target_weight = CS_TARGETS_UNIFORM;
        OK(cs_context_parse(modes[i / 2 % 5], &o.context));
        o.context.given = o.context.given || i % 2;
        bool exists = plan_exists(&o.objective, LENGTH);
        if (exists) {
            OK(cs_cooc_build(&corpus, &o, &uniform));
            o.objective = as_file(o.objective, LENGTH, &file);
            OK(cs_cooc_build(&corpus, &o, &brute));
            expect_same_distribution(&uniform, &brute, modes[i / 2 % 5]);
            cs_cooc_free(&uniform);
            cs_cooc_free(&brute);
        }
    }
}

/* One text without repetitions: a column is a position. Drawn plans give each the same mass, within
 * five standard deviations of a mean of draws whose weights are at most `most` times theirs; so does
 * P_G of the spectral loss, exactly. */
TEST(columns_are_positions)
{
    enum { LENGTH = 8, DRAWS = 20000 };
    int64_t length = LENGTH;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &length, LENGTH, 0, 3);
    corpus.held_out[0] = 0;
    for (int32_t i = 0; i < LENGTH; ++i) {
        corpus.token[i] = i;
    }
    cs_cooc_options o = {.objective = plan_objective("group-ar:t=3,target-weight=uniform"),
                         .draws = DRAWS,
                         .threads = 1};
    cs_examples_options wanted = {.objective = &o.objective, .length = LENGTH};
    double sum[LENGTH] = {0}, mass[LENGTH];
    OK(cs_context_parse("document", &o.context));
    AUTO_OK(cs_cooc, c, cs_cooc_build(&corpus, &o, &c));
    const cs_csr *a = &c.matrix.a;
    for (int64_t e = 0; e < a->ptr[a->rows]; ++e) {
        sum[a->col[e]] += a->val[e] * (c.exact ? c.unit : 1) / c.mass;
    }
    AUTO_OK(cs_examples, examples, cs_examples_of(&corpus, &wanted, &examples));
    OK(cs_examples_mass(&examples, &o.objective, LENGTH, mass));
    for (int k = 1; k < LENGTH; ++k) {
        const double most = 3; /* a position is a target in a third of the plans or more */
        assert_true(fabs(sum[k] * (LENGTH - 1) - 1) < 5 * most / sqrt(DRAWS));
        assert_true(near(mass[k], 1.0 / (LENGTH - 1)));
    }
    assert_true(sum[0] == 0 && mass[0] == 0);
}

/* --- as text ----------------------------------------------------------------------------------- */

TEST(target_weights_are_said_and_read)
{
    cs_objective o = plan_objective("diverse-ar:t=3,target-weight=uniform"), back;
    json_auto_t *json = NULL;
    CS_AUTO_FREE char *text = cs_objective_describe(&o);
    assert_string_equal(text, "diverse-ar(t=3,target-weight=uniform)");
    OK(cs_objective_to_json(&o, &json));
    AUTO_OK(cs_plan_file, held, cs_objective_from_json(json, &held, &back));
    assert_int_equal(back.target_weight, CS_TARGETS_UNIFORM);
    assert_int_equal(json_object_del(json, "target_weight"), 0); /* an older file */
    OK(cs_objective_from_json(json, &held, &back));
    assert_int_equal(back.target_weight, CS_TARGETS_PLAN);
    assert_fails(
        cs_objective_parse_held("mix:0.5*ar+0.5*group-ar(t=2,target-weight=uniform)", &held, &o),
        CS_ERR_USAGE, "be given for the whole mixture");
    assert_fails(cs_objective_parse("ar:target-weight=even", &o), CS_ERR_USAGE, "uniform");
    /* sets of masks are too many to list together with prefixes */
    cs_pairs pairs;
    OK(cs_objective_parse_held("mix:0.5*ar+0.5*masked(mask-ratio=0.5),target-weight=uniform", &held,
                               &o));
    assert_fails(cs_pairs_of(&o, 64, &pairs), CS_ERR_USAGE, "expands to");
    CS_AUTO_FREE double *factor = NULL;
    OK(cs_target_factors(&o, 64, &factor)); /* training and draws need no list */
    assert_true(factor[0] > 1.9 && factor[1] < 1);
}
