/* Rows of another run are taken for the same examples when numbers and truths agree, one by one:
 * texts are not in the file. */
#include "analysis/trained/predictions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/number.h"

typedef struct {
    int64_t classes;
    cs_metric_list list;
} metric_names;

static cs_status add_metric(void *to, const char *name)
{
    metric_names *m = to;
    cs_metric metric = CS_METRIC_ACCURACY;
    cs_status status = cs_blame(cs_metric_by_name(name, &metric), "--metric");
    if (status != CS_OK) return status;
    if (cs_metric_of_classes(metric) != (m->classes > 0)) {
        return cs_fail(CS_ERR_USAGE, "--metric %s needs %s", name,
                       m->classes > 0 ? "regression (--regression)" : "classification");
    }
    if (metric == CS_METRIC_F1 && m->classes != 2) {
        return cs_fail(CS_ERR_USAGE, "--metric f1 needs two classes, not %lld; give f1-macro",
                       (long long)m->classes);
    }
    for (int i = 0; i < m->list.count; ++i) {
        if (m->list.metric[i] == metric) {
            return cs_fail(CS_ERR_USAGE, "--metric names %s twice", name);
        }
    }
    m->list.metric[m->list.count++] = metric;
    return CS_OK;
}

cs_status cs_metric_list_read(const char *names, int64_t classes, cs_metric_list *out)
{
    if (strcmp(names, "auto") == 0) {
        names = classes == 0   ? "pearson,spearman,mse"
                : classes == 2 ? "accuracy,f1,f1-macro,matthews"
                               : "accuracy,f1-macro,matthews";
    }
    metric_names m = {.classes = classes};
    cs_status status = cs_parse_each(names, add_metric, &m);
    if (status == CS_OK) *out = m.list;
    return status;
}

enum { LAYER, EXAMPLE, TRUTH, FIRST_SEED }; /* columns */

/* --- scores ------------------------------------------------------------------------------------*/

static cs_status sum_up(int64_t count, const double *value, const double *se, cs_seed_score *out)
{
    cs_seed_summary errors = {.median = (double)NAN};
    cs_status status = cs_seed_summary_of(count, value, &out->seeds);
    if (status == CS_OK && !isnan(se[0])) { /* one test example has no error, in all seeds alike */
        status = cs_seed_summary_of(count, se, &errors);
    }
    out->se = errors.median;
    return status;
}

int64_t cs_seed_score_work_size(int64_t seeds, int64_t examples)
{
    const int64_t blocks = cs_metric_blocks(examples);
    return seeds * (2 + blocks) + blocks + seeds;
}

/* The independent units that blocks of the jackknife are made of. */
static int64_t units_of(const cs_scoring *scoring)
{
    return scoring->unit ? scoring->units : scoring->test->count;
}

static cs_metric_sample sample_of(const cs_scoring *scoring)
{
    return (cs_metric_sample){.count = scoring->test->count,
                              .truth = scoring->test->value,
                              .classes = scoring->train->classes,
                              .unit = scoring->unit,
                              .units = scoring->units};
}

int64_t cs_scoring_work_size(const cs_scoring *scoring)
{
    return cs_seed_score_work_size(scoring->seeds, units_of(scoring));
}

cs_status cs_scoring_partition(const cs_scoring *scoring, char hex[33])
{
    const int64_t n = scoring->test->count;
    CS_AUTO(cs_hasher) h = {0};
    cs_status status = cs_hasher_make(scoring->seed, &h);
    if (status != CS_OK) return status;
    cs_hasher_add(&h, scoring->test->value, (size_t)n * sizeof *scoring->test->value);
    if (scoring->unit) cs_hasher_add(&h, scoring->unit, (size_t)n * sizeof *scoring->unit);
    cs_hash_hex(cs_hasher_value(&h), hex);
    return CS_OK;
}

/* The median over seeds without each block: those of a seed are `blocks` numbers of `each`. */
static cs_status medians(int64_t seeds, int64_t blocks, const double *each, double *column,
                         double *left_out)
{
    cs_status status = CS_OK;
    for (int64_t b = 0; b < blocks && status == CS_OK; ++b) {
        cs_seed_summary over = {0};
        for (int64_t r = 0; r < seeds; ++r) {
            column[r] = each[r * blocks + b];
        }
        status = cs_seed_summary_of(seeds, column, &over);
        left_out[b] = over.median;
    }
    return status;
}

cs_status cs_seed_score_made(int64_t seeds, int64_t blocks, double *scratch, cs_seed_score *out)
{
    double *se = scratch + seeds, *each = se + seeds, *left_out = each + seeds * blocks,
           *column = left_out + blocks;
    *out = (cs_seed_score){0};
    cs_status status = sum_up(seeds, scratch, se, out);
    if (status == CS_OK && blocks > 1) {
        status = medians(seeds, blocks, each, column, left_out);
        out->blocks = blocks;
        out->left_out = left_out;
    }
    return status;
}

cs_status cs_seed_score_of(const cs_scoring *scoring, cs_metric metric, const double *prediction,
                           double *scratch, cs_seed_score *out)
{
    const int64_t n = scoring->test->count, classes = scoring->train->classes,
                  seeds = scoring->seeds;
    const int64_t blocks = cs_metric_blocks(units_of(scoring));
    const double *truth = scoring->test->value;
    const cs_metric_sample sample = sample_of(scoring);
    double *value = scratch, *se = value + seeds, *each = se + seeds;
    cs_status status = CS_OK;
    for (int64_t r = 0; r < seeds && status == CS_OK; ++r) {
        const double *guess = prediction + r * n;
        status = cs_metric_of(metric, n, truth, guess, classes, &value[r]);
        if (status == CS_OK)
            status = cs_metric_error(metric, &sample, guess, 0, scoring->seed, &se[r],
                                     each + r * blocks);
    }
    return status == CS_OK ? cs_seed_score_made(seeds, blocks, scratch, out) : status;
}

double cs_scoring_constant(const cs_scoring *scoring)
{
    const cs_labelled_text *t = scoring->train;
    double mean = 0.0;
    int64_t best = 0, most = -1;
    for (int64_t i = 0; i < t->count; ++i) {
        mean += t->value[i] / (double)t->count;
    }
    for (int64_t c = 0; c < t->classes; ++c) {
        int64_t number = 0;
        for (int64_t i = 0; i < t->count; ++i) {
            number += (int64_t)t->value[i] == c;
        }
        best = number > most ? c : best;
        most = number > most ? number : most;
    }
    return t->classes > 0 ? (double)best : mean;
}

void cs_seed_score_add(cs_item *list, const char *name, const char *definition,
                       const cs_seed_score *score)
{
    cs_item *item = cs_item_object(list, NULL);
    cs_item_text(item, "name", name);
    cs_item_text(item, "definition", definition);
    cs_item_real(item, "value", score->seeds.median);
    cs_item_real(item, "se", score->se);
    if (score->seeds.count == 1) cs_item_int(item, "~seeds", 1); /* also among several seeds */
    cs_item_reals(item, "~left_out", score->blocks, score->left_out);
    cs_item *interval = cs_item_object(item, "seed_interval");
    CS_ITEM_FIELDS(interval, &score->seeds, low, high, coverage);
}

/* --- predictions.csv ---------------------------------------------------------------------------*/

cs_status cs_predictions_init(int64_t seeds, cs_table *out)
{
    CS_AUTO_FREE char *columns = cs_strdup("layer,example,truth");
    for (int64_t s = 1; s <= seeds; ++s) {
        cs_append(&columns, ",seed_%lld", (long long)s);
    }
    return columns ? cs_table_init(out, columns) : CS_ERR_MEMORY;
}

static cs_status put_target(const cs_scoring *scoring, cs_table *table, int column, double value)
{
    const char *name = table->name[column];
    return scoring->train->classes > 0
               ? cs_table_text(table, name, scoring->train->class_name[(int64_t)value])
               : cs_table_real(table, name, value);
}

cs_status cs_predictions_add(const cs_scoring *scoring, const char *layer, const double *prediction,
                             cs_table *table)
{
    const int64_t n = scoring->test->count;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        if ((status = cs_table_row(table)) == CS_OK &&
            (status = cs_table_text(table, table->name[LAYER], layer)) == CS_OK &&
            (status = cs_table_int(table, table->name[EXAMPLE], i)) == CS_OK) {
            status = put_target(scoring, table, TRUTH, scoring->test->value[i]);
        }
        for (int64_t r = 0; r < scoring->seeds && status == CS_OK; ++r) {
            status = put_target(scoring, table, FIRST_SEED + (int)r, prediction[r * n + i]);
        }
    }
    return status;
}

/* --- another run -------------------------------------------------------------------------------*/

cs_status cs_reference_open(const char *file, cs_reference *out)
{
    static const char *const want[] = {"layer", "example", "truth"};
    cs_reference reference = {.file = file};
    cs_status status = cs_table_read_csv(file, &reference.table);
    for (int c = 0; c < FIRST_SEED && status == CS_OK; ++c) {
        if (cs_table_column(&reference.table, want[c]) != c ||
            reference.table.columns <= FIRST_SEED) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: not a predictions.csv (layer, example, truth, seed_1, ...)",
                             reference.file);
        }
    }
    return CS_DELIVER(status, out, reference, cs_reference_free);
}

void cs_reference_free(cs_reference *reference)
{
    cs_table_free(&reference->table);
    *reference = (cs_reference){0};
}

static cs_status target_of(const cs_reference *reference, const cs_scoring *scoring,
                           const char *text, int64_t row, double *out)
{
    for (int64_t c = 0; c < scoring->train->classes; ++c) {
        if (strcmp(scoring->train->class_name[c], text) == 0) {
            *out = (double)c;
            return CS_OK;
        }
    }
    if (scoring->train->classes == 0 && cs_real_scan(text, out) && isfinite(*out)) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_INPUT, "%s:%" PRId64 ": \"%.80s\" is not a %s", reference->file, row + 2,
                   text, scoring->train->classes > 0 ? "class of this run" : "finite number");
}

/* The other run's rows of this layer, or of the only layer it has: first and how many. */
static cs_status find_layer(const cs_reference *reference, const cs_scoring *scoring,
                            const char *layer, int64_t *first, int64_t *count)
{
    const cs_table *t = &reference->table;
    bool single = t->rows > 0;
    for (int64_t i = 1; i < t->rows; ++i) {
        single = single && strcmp(t->cell[i * t->columns], t->cell[0]) == 0;
    }
    *first = *count = 0;
    for (int64_t i = 0; i < t->rows; ++i) {
        if (single || strcmp(t->cell[i * t->columns + LAYER], layer) == 0) {
            *first = *count == 0 ? i : *first;
            *count += 1;
        }
    }
    if (*count != scoring->test->count) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %" PRId64 " predictions of layer %s, but %" PRId64 " test examples",
                       reference->file, *count, layer, scoring->test->count);
    }
    return CS_OK;
}

/* Its predictions, a seed a row of test->count, of as many seeds as both have. */
static cs_status read_reference(const cs_reference *reference, const cs_scoring *scoring,
                                const char *layer, cs_pool *pool, int64_t *seeds, double **out)
{
    const cs_table *t = &reference->table;
    const int64_t theirs = t->columns - FIRST_SEED, n = scoring->test->count;
    *seeds = theirs < scoring->seeds ? theirs : scoring->seeds;
    double *made = cs_pool_take(pool, *seeds * n, sizeof *made);
    int64_t first = 0, count = 0;
    cs_status status = made ? find_layer(reference, scoring, layer, &first, &count) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        char *const *cell = t->cell + (first + i) * t->columns;
        double truth = 0.0;
        int64_t example = -1;
        status = cs_blame(cs_int_parse(cell[EXAMPLE], &example), "%s:%" PRId64, reference->file,
                          first + i + 2);
        if (status == CS_OK) status = target_of(reference, scoring, cell[TRUTH], first + i, &truth);
        if (status == CS_OK && (example != i || truth != scoring->test->value[i]))
            status = cs_fail(CS_ERR_INPUT,
                             "%s:%" PRId64 ": example %s with truth %s is not example %" PRId64
                             " of this run; the test examples must be the same",
                             reference->file, first + i + 2, cell[EXAMPLE], cell[TRUTH], i);
        for (int64_t r = 0; r < *seeds && status == CS_OK; ++r) {
            status = target_of(reference, scoring, cell[FIRST_SEED + r], first + i,
                               &made[r * count + i]);
        }
    }
    *out = made;
    return status;
}

cs_status cs_reference_check(const cs_reference *reference, const cs_scoring *scoring,
                             const char *layer)
{
    int64_t seeds = 0;
    double *prediction = NULL;
    CS_AUTO(cs_pool) pool = {0};
    cs_status status = reference->file
                           ? read_reference(reference, scoring, layer, &pool, &seeds, &prediction)
                           : CS_OK;
    return status;
}

/* --- the comparison ----------------------------------------------------------------------------*/

static const char difference_definition[] =
    "score of this run less that of the other, on the same examples; se: delete-block jackknife of "
    "the difference";
static const char mcnemar_definition[] =
    "McNemar's exact p of the first seed: min(1, 2 P(Bin(a + b, 1/2) <= min(a, b))), a and b the "
    "examples that one run alone has right";

void cs_comparison_free(cs_comparison *comparison)
{
    cs_pool_free(&comparison->pool);
    *comparison = (cs_comparison){0};
}

static cs_status differences(const cs_scoring *scoring, const double *prediction,
                             const double *reference, double *scratch, cs_comparison *c)
{
    const int64_t n = scoring->test->count;
    const cs_metric_sample sample = sample_of(scoring);
    double *value = scratch, *se = scratch + c->seeds;
    cs_status status = CS_OK;
    for (int64_t m = 0; m < scoring->metrics.count && status == CS_OK; ++m) {
        for (int64_t r = 0; r < c->seeds && status == CS_OK; ++r) {
            status = cs_metric_difference(scoring->metrics.metric[m], &sample, prediction + r * n,
                                          reference + r * n, scoring->seed, &value[r], &se[r]);
        }
        if (status == CS_OK) status = sum_up(c->seeds, value, se, &c->difference[m]);
    }
    return status;
}

cs_status cs_compare(const cs_reference *reference, const cs_scoring *scoring, const char *layer,
                     const double *prediction, cs_comparison *out)
{
    const int64_t n = scoring->test->count;
    const bool classes = scoring->train->classes > 0;
    cs_comparison c = {0};
    double *other = NULL;
    CS_AUTO(cs_pool) pool = {0};
    cs_status status = read_reference(reference, scoring, layer, &pool, &c.seeds, &other);
    double *scratch = cs_pool_take(&pool, 2 * c.seeds, sizeof *scratch);
    c.mcnemar = classes ? cs_pool_take(&c.pool, c.seeds, sizeof *c.mcnemar) : NULL;
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) status = c.pool.status;
    if (status == CS_OK) status = differences(scoring, prediction, other, scratch, &c);
    for (int64_t r = 0; r < c.seeds && classes && status == CS_OK; ++r) {
        status =
            cs_mcnemar(n, scoring->test->value, prediction + r * n, other + r * n, &c.mcnemar[r]);
    }
    return CS_DELIVER(status, out, c, cs_comparison_free);
}

cs_seed_score cs_comparison_first_p(const cs_comparison *comparison)
{
    const double none = (double)NAN;
    return (cs_seed_score){.seeds = {.count = 1,
                                     .median = comparison->mcnemar[0].p,
                                     .low = none,
                                     .high = none,
                                     .coverage = none},
                           .se = none};
}

cs_item *cs_comparison_add(const cs_reference *reference, const cs_scoring *scoring,
                           const cs_comparison *c, cs_item *item)
{
    cs_item *against = cs_item_object(item, "against");
    cs_item_text(against, "file", reference->file);
    cs_item_int(against, "seeds", c->seeds);
    cs_item *metrics = cs_item_array(against, "metrics");
    for (int64_t m = 0; m < scoring->metrics.count; ++m) {
        cs_seed_score_add(metrics, cs_metric_name(scoring->metrics.metric[m]),
                          difference_definition, &c->difference[m]);
    }
    if (!c->mcnemar) {
        return against;
    }
    const cs_seed_score first = cs_comparison_first_p(c);
    cs_seed_score_add(cs_item_array(against, "~first"), "mcnemar_p", mcnemar_definition, &first);
    cs_item *tests = cs_item_array(against, "mcnemar");
    for (int64_t r = 0; r < c->seeds; ++r) {
        cs_item *test = cs_item_object(tests, NULL);
        cs_item_int(test, "seed", (int64_t)scoring->seed + r);
        cs_item_int(test, "only_this", c->mcnemar[r].only_a);
        cs_item_int(test, "only_other", c->mcnemar[r].only_b);
        cs_item_real(test, "p", c->mcnemar[r].p);
    }
    return against;
}
