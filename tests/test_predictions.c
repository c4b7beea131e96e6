/* analysis/trained/predictions: what is written is read again, comparisons of known size, other
 * runs that are of other examples, failed allocations. */
#include "analysis/trained/predictions.h"

#include "io_support.h"

enum { N = 10, SEEDS = 3, CAPACITY = SEEDS * (2 + N) + N + SEEDS };

static char *names[] = {"leaf", "mouse"};
static double truth[N] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
static const cs_labelled_text training = {
    .count = N, .value = truth, .classes = 2, .class_name = names};
static const cs_scoring of_classes = {
    .train = &training,
    .test = &training,
    .metrics = {.metric = {CS_METRIC_ACCURACY, CS_METRIC_MATTHEWS}, .count = 2},
    .seeds = SEEDS,
    .seed = 7};

/* Seed r has the first `wrong[r]` examples wrong. */
static void guess(const int *wrong, double *out)
{
    for (int r = 0; r < SEEDS; ++r) {
        for (int i = 0; i < N; ++i) {
            out[r * N + i] = i < wrong[r] ? 1 - truth[i] : truth[i];
        }
    }
}

static cs_status reference_of(const cs_scoring *scoring, const char *layer,
                              const double *prediction, cs_reference *out)
{
    cs_reference reference = {.file = "other.csv"};
    cs_status status = cs_predictions_init(scoring->seeds, &reference.table);
    if (status == CS_OK) status = cs_predictions_add(scoring, layer, prediction, &reference.table);
    if (status != CS_OK) cs_reference_free(&reference);
    *out = reference;
    return status;
}

TEST(scores_over_seeds)
{
    double p[SEEDS * N], scratch[CAPACITY];
    cs_seed_score s;
    guess((const int[]){4, 1, 2}, p);
    OK(cs_seed_score_of(&of_classes, CS_METRIC_ACCURACY, p, scratch, &s));
    assert_true(s.seeds.median == 0.8 && s.seeds.low == 0.6 && s.seeds.high == 0.9);
    assert_true(scratch[0] == 0.6 && scratch[1] == 0.9 && scratch[2] == 0.8);
    /* one left out at a time: sqrt(q (1 - q) / (n - 1)), here 0.16, 0.1 and 0.13: the middle one */
    ARRAY(double, se, SEEDS, r, sqrt(scratch[r] * (1 - scratch[r]) / (N - 1)));
    assert_true(fabs(s.se - se[2]) <= 1e-15);
    const cs_labelled_text one = {.count = 1, .value = truth, .classes = 2, .class_name = names};
    cs_scoring alone = of_classes;
    alone.test = &one;
    OK(cs_seed_score_of(&alone, CS_METRIC_ACCURACY, truth, scratch, &s));
    assert_true(isnan(s.se));
    double values[3] = {1, 5, 3}, uneven[3] = {1, 0, 1};
    const cs_labelled_text numbers = {.count = 3, .value = values},
                           classes = {.count = 3, .value = uneven, .classes = 2};
    assert_true(fabs(cs_scoring_constant(&(cs_scoring){.train = &numbers}) - 3) <= 1e-15);
    assert_true(cs_scoring_constant(&(cs_scoring){.train = &classes}) == 1);
    assert_true(cs_scoring_constant(&of_classes) == 0); /* the first of equal ones */
}

TEST(written_and_compared)
{
    double mine[SEEDS * N], other[SEEDS * N];
    CS_AUTO(cs_comparison) c = {0};
    guess((const int[]){0, 4, 1}, mine);
    guess((const int[]){5, 1, 1}, other);
    AUTO_OK(cs_reference, reference, reference_of(&of_classes, "last", other, &reference));
    assert_int_equal(reference.table.rows, N);
    assert_string_equal(reference.table.name[5], "seed_3");
    assert_string_equal(reference.table.cell[2 * 6 + 2], "leaf");
    assert_string_equal(reference.table.cell[2 * 6 + 3], "mouse");
    OK(cs_compare(&reference, &of_classes, "4", mine,
                  &c)); /* one layer alone: its name is no matter */
    assert_int_equal(c.seeds, SEEDS);
    const cs_seed_summary *d = &c.difference[0].seeds;
    assert_true(d->median == 0 && fabs(d->low + 0.3) <= 1e-15 && fabs(d->high - 0.5) <= 1e-15);
    /* d = 0 or 1 half each: 1 / 6; -1 three times of ten: sqrt(0.21) / 3; 0 */
    assert_true(fabs(c.difference[0].se - sqrt(0.21) / 3) <= 1e-15);
    assert_true(c.mcnemar[0].only_a == 5 && c.mcnemar[0].only_b == 0 && c.mcnemar[1].only_b == 3);
    assert_true(fabs(c.mcnemar[0].p - 2.0 / 32) <= 1e-15 && c.mcnemar[2].p == 1);
    const cs_seed_score p = cs_comparison_first_p(&c);
    assert_true(p.seeds.median == c.mcnemar[0].p && p.seeds.count == 1);
    assert_true(isnan(p.se) && isnan(p.seeds.low) && isnan(p.seeds.coverage));
    cs_result *result = cs_result_new();
    json_auto_t *json = NULL;
    (void)cs_comparison_add(&reference, &of_classes, &c, cs_result_root(result));
    OK(cs_result_json(result, &json));
    const json_t *against = json_object_get(json, "against"),
                 *tests = json_object_get(against, "mcnemar");
    assert_int_equal(json_array_size(json_object_get(against, "metrics")), 2);
    assert_int_equal(json_array_size(tests), SEEDS);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(tests, 2), "seed")), 9);
    cs_result_free(&result);
    cs_comparison_free(&c);
    cs_scoring fewer = of_classes; /* as many seeds as both have */
    fewer.seeds = 1;
    OK(cs_compare(&reference, &fewer, "4", mine, &c));
    assert_true(c.seeds == 1 && c.difference[0].seeds.median == 0.5);
}

/* Numbers survive the file to the last bit. */
TEST(values_are_compared)
{
    cs_scoring j = of_classes;
    ARRAY(double, value, N, i, sin(i) / 3);
    ARRAY(double, p, (SEEDS * N), i, cos(i) / 7);
    const cs_labelled_text numbers = {.count = N, .value = value};
    j.train = j.test = &numbers;
    j.metrics.metric[0] = CS_METRIC_MSE;
    j.metrics.metric[1] = CS_METRIC_SPEARMAN;
    AUTO_OK(cs_reference, reference, reference_of(&j, "all", p, &reference));
    AUTO_OK(cs_comparison, c, cs_compare(&reference, &j, "all", p, &c));
    assert_null(c.mcnemar);
    assert_each(m, 0, 2, c.difference[m].seeds.low == 0 && c.difference[m].seeds.high == 0);
    assert_each(m, 0, 2, c.difference[m].se == 0);
}

static void set(cs_table *t, int64_t row, int column, const char *text)
{
    char **cell = &t->cell[row * t->columns + column];
    cs_free(*cell);
    *cell = cs_strdup(text);
    assert_non_null(*cell);
}

TEST(other_examples)
{
    static const struct {
        int column;
        const char *text, *reason;
    } bad[] = {{1, "4", "other.csv:5: example 4 with truth mouse is not example 3"},
               {1, "x", "other.csv:5: 'x' is not an integer"},
               {2, "leaf", "other.csv:5: example 3 with truth leaf is not example 3"},
               {2, "stone", "other.csv:5: \"stone\" is not a class of this run"},
               {5, "", "other.csv:5: \"\" is not a class of this run"}};
    double p[SEEDS * N];
    CS_AUTO(cs_reference) reference = {0};
    guess((const int[]){0, 0, 0}, p);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        OK(reference_of(&of_classes, "all", p, &reference));
        OK(cs_reference_check(&reference, &of_classes, "all"));
        set(&reference.table, 3, bad[i].column, bad[i].text);
        assert_fails(cs_reference_check(&reference, &of_classes, "all"), CS_ERR_INPUT,
                     bad[i].reason);
        cs_reference_free(&reference);
    }
    OK(reference_of(&of_classes, "1", p, &reference));
    OK(cs_predictions_add(&of_classes, "2", p, &reference.table));
    OK(cs_reference_check(&reference, &of_classes, "2"));
    assert_fails(cs_reference_check(&reference, &of_classes, "all"), CS_ERR_INPUT,
                 "other.csv: 0 predictions of layer all, but 10 test examples");
    OK(cs_reference_check(&(cs_reference){0}, &of_classes, "all")); /* no --against */
}

static cs_status whole(const char *path)
{
    (void)path;
    double p[SEEDS * N], scratch[CAPACITY];
    CS_AUTO(cs_reference) reference = {0};
    CS_AUTO(cs_comparison) c = {0};
    cs_seed_score s;
    guess((const int[]){3, 1, 2}, p);
    cs_status status = reference_of(&of_classes, "all", p, &reference);
    if (status == CS_OK) status = cs_seed_score_of(&of_classes, CS_METRIC_ACCURACY, p, scratch, &s);
    if (status == CS_OK && (status = cs_reference_check(&reference, &of_classes, "all")) == CS_OK) {
        status = cs_compare(&reference, &of_classes, "all", p, &c);
    }
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(whole, "");
}
