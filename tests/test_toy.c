/* toy: golden spectra by three roads, their agreement beyond the golden set, the numbers quoted in
 * theory.md 5, plan files, bad input. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/pairs.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "toy/toy.h"

/* Backward errors of dense SVDs of a few hundred rows are some 1e-15, golden values are printed to
 * 14 digits: 1e-12 leaves a factor of ten on both. */
static const double agreement = 1e-12;

typedef cs_status (*road)(const cs_toy *toy, cs_toy_spectrum *out);

static cs_status enumerate(const cs_toy *toy, cs_toy_spectrum *out)
{
    return cs_toy_enumerate(toy, 0, out);
}

static void assert_reason(const char *part)
{
    if (!strstr(cs_reason(), part)) {
        fail_msg("reason \"%s\" does not name \"%s\"", cs_reason(), part);
    }
    cs_reason_clear();
}

static cs_toy toy_of(const char *spec, int64_t classes, int64_t length, int64_t tokens)
{
    cs_toy toy = {.classes = classes, .length = length, .tokens = tokens};
    cs_reason_clear();
    assert_int_equal(cs_objective_parse(spec, &toy.objective), CS_OK);
    return toy;
}

static cs_toy_spectrum run(road by, const cs_toy *toy)
{
    cs_toy_spectrum spectrum = {0};
    if (by(toy, &spectrum) != CS_OK) {
        fail_msg("%s", cs_reason());
    }
    assert_true(strlen(spectrum.source) > 10);
    assert_true(strlen(spectrum.source) < sizeof spectrum.source - 1); /* not cut */
    assert_true(spectrum.residual < 1e-13);
    return spectrum;
}

static void assert_spectra_agree(const cs_toy_spectrum *a, const cs_toy_spectrum *b)
{
    bool same = a->values == b->values && a->rank == b->rank;
    for (int64_t j = 0; same && j < a->values; ++j) {
        same = fabs(a->sigma[j] - b->sigma[j]) <= agreement &&
               a->multiplicity[j] == b->multiplicity[j];
    }
    same = same && fabs(a->sum_sigma2 - b->sum_sigma2) <= agreement * a->sum_sigma2 &&
           fabs(a->sum_sigma4 - b->sum_sigma4) <= agreement * a->sum_sigma2;
    if (!same) {
        for (int64_t j = 0; j < a->values || j < b->values; ++j) {
            print_error("%.15g x %" PRId64 "   %.15g x %" PRId64 "\n",
                        j < a->values ? a->sigma[j] : 0, j < a->values ? a->multiplicity[j] : 0,
                        j < b->values ? b->sigma[j] : 0, j < b->values ? b->multiplicity[j] : 0);
        }
        fail_msg("%s\nagainst %s", a->source, b->source);
    }
}

/* --- golden spectra --- */

static cs_objective golden_objective(const json_t *entry)
{
    const json_t *params = json_object_get(entry, "params"), *value;
    cs_objective_kind kind;
    assert_int_equal(
        cs_objective_by_name(json_string_value(json_object_get(entry, "objective")), &kind), CS_OK);
    cs_objective objective = cs_objective_default(kind);
    const char *key;
    json_object_foreach((json_t *)params, key, value)
    {
        char text[64];
        const char *name = key;
        if (json_is_array(value)) {
            (void)snprintf(text, sizeof text, "%lld:%lld",
                           (long long)json_integer_value(json_array_get(value, 0)),
                           (long long)json_integer_value(json_array_get(value, 1)));
        } else if (json_is_string(value)) {
            (void)snprintf(text, sizeof text, "%s", json_string_value(value));
        } else {
            (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        }
        name = strcmp(key, "K") == 0                ? "groups"
               : strcmp(key, "event_weight") == 0   ? "event-weight"
               : strcmp(key, "offset_weights") == 0 ? "offset-weights"
                                                    : key;
        assert_int_equal(cs_objective_set(&objective, name, text), CS_OK);
    }
    assert_int_equal(cs_objective_set(&objective, "empty-prefix",
                                      json_string_value(json_object_get(entry, "empty_prefix"))),
                     CS_OK);
    return objective;
}

static int64_t golden_integer(const json_t *entry, const char *key)
{
    return json_integer_value(json_object_get(entry, key));
}

static cs_toy golden_toy(const json_t *entry)
{
    return (cs_toy){
        .objective = golden_objective(entry),
        .classes = golden_integer(entry, "classes"),
        .length = golden_integer(entry, "length"),
        .tokens = golden_integer(entry, "tokens"),
        .literal = strcmp(json_string_value(json_object_get(entry, "token_sets")), "literal") == 0,
    };
}

static cs_toy_spectrum golden_spectrum(const json_t *entry)
{
    const json_t *list = json_object_get(entry, "spectrum");
    cs_toy_spectrum s = {.values = (int64_t)json_array_size(list)};
    s.sigma = cs_alloc(s.values, sizeof *s.sigma);
    s.multiplicity = cs_alloc(s.values, sizeof *s.multiplicity);
    assert_true(s.sigma && s.multiplicity);
    for (int64_t j = 0; j < s.values; ++j) {
        const json_t *pair = json_array_get(list, (size_t)j);
        s.sigma[j] = json_number_value(json_array_get(pair, 0));
        s.multiplicity[j] = json_integer_value(json_array_get(pair, 1));
        s.rank += s.multiplicity[j];
    }
    s.sum_sigma2 = json_number_value(json_object_get(entry, "sum_sigma2"));
    s.sum_sigma4 = json_number_value(json_object_get(entry, "sum_sigma4"));
    (void)snprintf(s.source, sizeof s.source, "golden");
    return s;
}

/* Sizes, total mass, and class masses that sum to the marginals. */
static void check_matrix(const cs_toy *toy, const json_t *entry)
{
    cs_labelled m;
    double rows, cols, nnz;
    assert_int_equal(cs_toy_size(toy, &rows, &cols, &nnz), CS_OK);
    assert_int_equal(cs_toy_matrix(toy, 0, &m), CS_OK);
    assert_int_equal(cs_csr_check(&m.a, true), CS_OK);
    assert_int_equal(cs_csr_check(&m.row_label, true), CS_OK);
    assert_int_equal(m.labels, toy->classes);
    assert_int_equal(m.row_label.rows, m.a.rows);
    assert_int_equal(m.col_label.rows, m.a.cols);
    if (entry) {
        assert_int_equal(m.a.rows, golden_integer(entry, "rows"));
        assert_int_equal(m.a.cols, golden_integer(entry, "cols"));
        assert_int_equal(cs_csr_nnz(&m.a), golden_integer(entry, "nnz"));
    }
    if (!toy->literal) {
        assert_true(rows == (double)m.a.rows && cols == (double)m.a.cols);
        assert_true(nnz == (double)cs_csr_nnz(&m.a));
    } else {
        assert_true(rows >= (double)m.a.rows && cols >= (double)m.a.cols);
        assert_true(nnz >= (double)cs_csr_nnz(&m.a));
    }
    double *row = cs_alloc(4 * (m.a.rows + m.a.cols), sizeof *row), total = 0;
    assert_non_null(row);
    double *col = row + m.a.rows, *by_row = col + m.a.cols, *by_col = by_row + m.a.rows;
    cs_csr_sums(&m.a, row, col);
    cs_csr_sums(&m.row_label, by_row, NULL);
    cs_csr_sums(&m.col_label, by_col, NULL);
    for (int64_t i = 0; i < m.a.rows; ++i) {
        assert_true(row[i] > 0 && fabs(row[i] - by_row[i]) < 1e-15);
        total += row[i];
    }
    for (int64_t j = 0; j < m.a.cols; ++j) {
        assert_true(col[j] > 0 && fabs(col[j] - by_col[j]) < 1e-15);
    }
    assert_true(fabs(total - 1) < 1e-13);
    cs_free(row);
    cs_labelled_free(&m);
}

static void golden_spectra_by_every_road(void **state)
{
    (void)state;
    json_t *list = json_load_file("tests/golden/toy_spectra.json", 0, NULL);
    assert_non_null(list); /* tests run from the root of the repository */
    assert_int_equal(json_array_size(list), 120);
    int with_formula = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(list, index, entry)
    {
        cs_toy toy = golden_toy(entry);
        cs_toy_spectrum golden = golden_spectrum(entry);
        check_matrix(&toy, entry);
        cs_toy_spectrum full = run(enumerate, &toy);
        assert_spectra_agree(&full, &golden);
        cs_toy_spectrum reduced = {0}, formula = {0};
        if (toy.literal) {
            assert_int_equal(cs_toy_reduce(&toy, &reduced), CS_ERR_USAGE);
            assert_reason("literal token sets couple the classes");
        } else {
            reduced = run(cs_toy_reduce, &toy);
            assert_spectra_agree(&reduced, &golden);
        }
        cs_status known = cs_toy_closed(&toy, &formula);
        if (known == CS_OK) {
            assert_spectra_agree(&formula, &golden);
            assert_true(formula.residual == 0);
            ++with_formula;
        } else {
            assert_int_equal(known, CS_ERR_USAGE);
            assert_reason("no closed form is known for");
        }
        cs_toy_spectrum_free(&full);
        cs_toy_spectrum_free(&reduced);
        cs_toy_spectrum_free(&formula);
        cs_toy_spectrum_free(&golden);
    }
    json_decref(list);
    /* ar, masks, permuted-ar, gvp where (K+1) | s or random, windows of 1, 2 and s-1. */
    assert_true(with_formula >= 75);
}

/* --- agreement beyond the golden set --- */

/* 1: a closed form is expected under token weights without an empty prefix, blind. */
static const struct {
    const char *spec;
    int formula;
} objectives[] = {
    {"ar", 1},
    {"masked:unmasked=2", 1},
    {"masked:mask-ratio=0.5", 1},
    {"variable-masked:unmasked=1:3", 1},
    {"variable-masked:mask-ratio=0.2:0.7", 1},
    {"bernoulli-masked:mask-ratio=0.3", 1},
    {"diverse-ar:t=2", 1},
    {"diverse-ar:t=3", 0},
    {"offset-ar:offset-weights=uniform:2", 1},
    {"offset-ar:offset-weights=mix:1", 1},
    {"offset-ar:offset-weights=uniform:1", 1},
    {"offset-ar:offset-weights=power:1", 0},
    {"group-ar:t=1", 1},
    {"group-ar:t=2", 1},
    {"group-ar:t=9", 1},
    {"permuted-ar", 1},
    {"gvp:segmentation=fixed,groups=1", -1},
    {"gvp:segmentation=fixed,groups=3", -1},
    {"gvp:segmentation=random,groups=2", 1},
    {"gvp:segmentation=random,groups=3", 1},
    {"gvp:segmentation=mixed,groups=1", 1},
    {"gvp:segmentation=mixed,groups=2", 1},
    {"gvp:segmentation=mixed,groups=3", 1},
};

static int compare_roads(const cs_toy *toy)
{
    cs_toy_spectrum full = run(enumerate, toy), reduced = run(cs_toy_reduce, toy), formula = {0};
    assert_spectra_agree(&full, &reduced);
    assert_true(full.sigma[0] <= 1 + agreement && fabs(full.sigma[0] - 1) <= agreement);
    int known = cs_toy_closed(toy, &formula) == CS_OK;
    if (known) {
        assert_spectra_agree(&full, &formula);
    } else {
        assert_reason("no closed form is known for");
    }
    cs_toy_spectrum_free(&full);
    cs_toy_spectrum_free(&reduced);
    cs_toy_spectrum_free(&formula);
    return known;
}

static void roads_agree_with_prefixes_weights_and_given_targets(void **state)
{
    (void)state;
    int compared = 0, known = 0;
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; ++i) {
        for (int variant = 0; variant < 24; ++variant) {
            cs_toy toy = toy_of(objectives[i].spec, variant / 12 ? 3 : 1, variant / 12 ? 4 : 5, 2);
            toy.objective.empty_prefix = (cs_empty_prefix)(variant % 3);
            toy.objective.event_weight = (cs_event_weight)(variant / 3 % 2);
            toy.given = variant / 6 % 2;
            int formula = compare_roads(&toy);
            bool plain = toy.objective.empty_prefix == CS_PREFIX_NONE && !toy.given &&
                         toy.objective.event_weight == CS_EVENT_TOKEN;
            if (plain && objectives[i].formula >= 0) {
                assert_int_equal(formula, objectives[i].formula);
            }
            check_matrix(&toy, NULL);
            toy.literal = true;
            check_matrix(&toy, NULL);
            ++compared;
            known += formula;
        }
    }
    assert_true(compared == 24 * 23 && known > compared / 2);
}

static void nothing_unmasked_and_one_position(void **state)
{
    (void)state;
    const char *const specs[] = {
        "variable-masked:unmasked=0:2,empty-prefix=shared",
        "variable-masked:unmasked=0:2,empty-prefix=class",
        "variable-masked:unmasked=0:3,empty-prefix=shared,event-weight=mask",
        "masked:unmasked=0,empty-prefix=shared",
        "masked:unmasked=0,empty-prefix=class",
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        for (int given = 0; given < 2; ++given) {
            /* The keys are set in order, so an empty prefix may come after unmasked=0. */
            cs_toy toy = toy_of(specs[i], 3, 4, 2);
            toy.given = given;
            assert_int_equal(compare_roads(&toy), 1);
        }
    }
    const char *const single[] = {"ar:empty-prefix=shared", "permuted-ar:empty-prefix=class",
                                  "permuted-ar:empty-prefix=shared",
                                  "diverse-ar:t=2,empty-prefix=class",
                                  "bernoulli-masked:mask-ratio=0.5,empty-prefix=shared"};
    for (size_t i = 0; i < sizeof single / sizeof single[0]; ++i) {
        for (int given = 0; given < 2; ++given) {
            cs_toy toy = toy_of(single[i], 3, 1, 2);
            toy.given = given;
            assert_int_equal(compare_roads(&toy), 1);
        }
    }
}

/* Small lengths write B out, larger ones use its symmetry: both against the formulas. */
static void invariant_spectra_at_larger_lengths(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; ++i) {
        for (int64_t s = 8; s <= 24; s += 4) {
            for (int prefix = 0; prefix < 3; ++prefix) {
                cs_toy toy = toy_of(objectives[i].spec, 4, s, 7);
                toy.objective.empty_prefix = (cs_empty_prefix)prefix;
                cs_toy_spectrum formula = {0};
                if (cs_toy_closed(&toy, &formula) == CS_OK) {
                    cs_toy_spectrum reduced = run(cs_toy_reduce, &toy);
                    assert_spectra_agree(&reduced, &formula);
                    cs_toy_spectrum_free(&reduced);
                }
                cs_reason_clear();
                cs_toy_spectrum_free(&formula);
            }
        }
    }
}

static void millions_of_classes_and_positions(void **state)
{
    (void)state;
    cs_toy toy = toy_of("diverse-ar:t=2", 1000000, 64, 50000);
    cs_toy_spectrum reduced = run(cs_toy_reduce, &toy), formula = run(cs_toy_closed, &toy);
    assert_spectra_agree(&reduced, &formula);
    assert_true(reduced.rank == 63000000 && reduced.multiplicity[0] == 1000000);
    cs_toy_spectrum_free(&reduced);
    cs_toy_spectrum_free(&formula);
    const char *const specs[] = {"masked:mask-ratio=0.15", "bernoulli-masked:mask-ratio=0.15",
                                 "permuted-ar", "gvp:segmentation=random,groups=20",
                                 "variable-masked:mask-ratio=0.15:0.3"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        toy = toy_of(specs[i], 1000000, 1000000, 50000);
        reduced = run(cs_toy_reduce, &toy);
        formula = run(cs_toy_closed, &toy);
        assert_int_equal(reduced.values, 2);
        assert_true(reduced.multiplicity[1] == 1000000 * (int64_t)999999);
        /* sigma is about 1e-3: relative agreement. */
        assert_true(fabs(reduced.sigma[1] / formula.sigma[1] - 1) < 1e-12);
        cs_toy_spectrum_free(&reduced);
        cs_toy_spectrum_free(&formula);
    }
}

/* A matrix beyond the dense limit goes through a Gram matrix: rows above columns and below. */
static void large_enumerations_use_the_gram_matrix(void **state)
{
    (void)state;
    const cs_toy toys[] = {toy_of("masked:unmasked=4", 8, 6, 4), /* 30,720 x 192 */
                           toy_of("masked:unmasked=0,empty-prefix=class", 100, 20, 25)};
    for (int i = 0; i < 2; ++i) {
        cs_toy_spectrum full = run(enumerate, &toys[i]), formula = run(cs_toy_closed, &toys[i]);
        assert_non_null(strstr(full.source, "Gram matrix"));
        /* sigma = sqrt(lambda): an error of n eps in lambda >= 0.4. */
        assert_spectra_agree(&full, &formula);
        cs_toy_spectrum_free(&full);
        cs_toy_spectrum_free(&formula);
    }
}

/* --- numbers of theory.md 5 --- */

static double tail(const cs_toy_spectrum *s)
{
    return s->sum_sigma4 - 1;
}

static double next_token_weight(const cs_toy *toy)
{
    cs_pairs pairs;
    double weight = 0;
    assert_int_equal(cs_pairs_of(&toy->objective, toy->length, &pairs), CS_OK);
    for (int64_t e = 0; e < pairs.events; ++e) {
        weight += pairs.target[e] == pairs.set[e] ? pairs.weight[e] : 0;
    }
    cs_pairs_free(&pairs);
    return weight;
}

/* Tail = sum_{j >= 2} sigma_j^4 per class at s = 128, and the weight on the next token, to the
 * digits printed. */
static void heavy_tails_beat_windows(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        double tail, tail_digit, next;
    } rows[] = {
        {"ar", 126, 0.5, 1.00},
        {"diverse-ar:t=2", 47.0, 0.05, 0.50},
        {"diverse-ar:t=4", 21.3, 0.05, 0.26},
        {"diverse-ar:t=16", 4.86, 0.005, 0.08},
        {"offset-ar:offset-weights=mix:0.5", 13.6, 0.05, 0.52},
        {"offset-ar:offset-weights=power:1", 2.58, 0.005, 0.24},
        {"offset-ar:offset-weights=power:0.5", 0.73, 0.005, 0.10},
        {"offset-ar:offset-weights=power:0", 0.36, 0.005, 0.04},
        {"masked:mask-ratio=0.15", 0.26, 0.005, -1},
        {"masked:mask-ratio=0.3", 0.044, 0.0005, -1},
        {"masked:mask-ratio=0.5", 0.008, 0.0005, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        cs_toy toy = toy_of(rows[i].spec, 1, 128, 2);
        cs_toy_spectrum s = run(cs_toy_reduce, &toy);
        if (!(fabs(tail(&s) - rows[i].tail) <= rows[i].tail_digit)) {
            fail_msg("%s: tail %g, printed %g", rows[i].spec, tail(&s), rows[i].tail);
        }
        if (rows[i].next >= 0 && !(fabs(next_token_weight(&toy) - rows[i].next) <= 0.005)) {
            fail_msg("%s: weight %g, printed %g", rows[i].spec, next_token_weight(&toy),
                     rows[i].next);
        }
        cs_toy_spectrum_free(&s);
    }
}

/* 1 - sigma_2^2 ~ pi^2 (t^2-1)/(12 s^2), sum sigma^2 ~ s/t, sum sigma^4 ~ s (2t^2+1)/(3t^3): 2.5%
 * at s = 400. */
static void windows_follow_their_asymptotics(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846, s = 400;
    const char *const names[] = {"diverse-ar", "group-ar"};
    for (int n = 0; n < 2; ++n) {
        for (int t = 2; t <= 4; ++t) {
            char spec[32];
            (void)snprintf(spec, sizeof spec, "%s:t=%d", names[n], t);
            cs_toy toy = toy_of(spec, 1, 400, 2);
            cs_toy_spectrum x = run(cs_toy_reduce, &toy);
            double gap = (1 - x.sigma[1]) * (1 + x.sigma[1]), tt = t;
            assert_true(fabs(gap / (pi * pi * (tt * tt - 1) / (12 * s * s)) - 1) < 0.025);
            assert_true(fabs(x.sum_sigma2 / (s / tt) - 1) < 0.025);
            assert_true(fabs(x.sum_sigma4 / (s * (2 * tt * tt + 1) / (3 * tt * tt * tt)) - 1) <
                        0.025);
            cs_toy_spectrum_free(&x);
        }
    }
}

static double second(const char *spec, int64_t s)
{
    cs_toy toy = toy_of(spec, 2, s, 2);
    cs_toy_spectrum x = run(cs_toy_reduce, &toy);
    double sigma = x.sigma[1];
    cs_toy_spectrum_free(&x);
    return sigma;
}

static void quoted_values(void **state)
{
    (void)state;
    assert_true(fabs(second("group-ar:t=2", 6) - 0.93969) < 5e-6);
    /* LA 5.1 calls Eq. 6 equivalent to Eq. 3. */
    assert_true(fabs(second("group-ar:t=2", 3) - 0.5) < 1e-15);
    assert_true(fabs(second("diverse-ar:t=2", 3) - sqrt(1.0 / 3)) < 1e-15);
    /* Theorem 4.2 at s rho = 1 gives 1: no gain over ar. */
    assert_true(fabs(second("masked:unmasked=1", 9) - sqrt(1.0 / 64)) < 1e-15);
    cs_toy toy = toy_of("masked:unmasked=8", 2, 9, 2);
    cs_toy_spectrum x = run(cs_toy_reduce, &toy);
    assert_true(x.values == 1 && x.multiplicity[0] == 18);
    cs_toy_spectrum_free(&x);
    /* The normalised masked entry at s = 4, m = 2, T = 2: 0.144 (printed in LA: 4.62). */
    toy = toy_of("masked:unmasked=2", 3, 4, 2);
    cs_labelled m;
    assert_int_equal(cs_toy_matrix(&toy, 0, &m), CS_OK);
    double *row = cs_alloc(m.a.rows, sizeof *row), *col = cs_alloc(m.a.cols, sizeof *col);
    assert_true(row && col);
    cs_csr_sums(&m.a, row, col);
    for (int64_t i = 0; i < m.a.rows; ++i) {
        for (int64_t e = m.a.ptr[i]; e < m.a.ptr[i + 1]; ++e) {
            double entry = m.a.val[e] / sqrt(row[i] * col[m.a.col[e]]);
            assert_true(fabs(entry - sqrt(4.0 / 48) / 2) < 1e-15);
        }
    }
    cs_free(row);
    cs_free(col);
    cs_labelled_free(&m);
}

/* --- plans from files --- */

/* A random plan of length s in a random order: groups 0..K all in use. */
static void random_plan(cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length;
    plan->groups = 1 + cs_rng_below(rng, s - 1);
    for (int64_t i = 0; i < s; ++i) {
        plan->group[i] = (int32_t)(i <= plan->groups ? i : cs_rng_below(rng, plan->groups + 1));
    }
    cs_rng_shuffle(rng, s, plan->group);
    for (int64_t i = 0; i < s; ++i) {
        /* Some tokens are not predicted; the one of group K alone always is. */
        bool predicted = plan->group[i] == plan->groups || cs_rng_below(rng, 3) > 0;
        plan->weight[i] = plan->group[i] > 0 && predicted ? 0.25 + cs_rng_uniform(rng) : 0;
    }
}

static cs_plan_file random_file(uint64_t seed, int64_t s)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 1);
    cs_plan_file file = {.plans = 1 + cs_rng_below(&rng, 4)};
    file.path = cs_strdup("random");
    file.plan = cs_calloc(file.plans, sizeof *file.plan);
    file.probability = cs_calloc(file.plans, sizeof *file.probability);
    assert_true(file.path && file.plan && file.probability);
    double sum = 0;
    for (int64_t p = 0; p < file.plans; ++p) {
        assert_int_equal(cs_plan_init(&file.plan[p], s), CS_OK);
        random_plan(&rng, &file.plan[p]);
        file.probability[p] = 0.1 + cs_rng_uniform(&rng);
        sum += file.probability[p];
    }
    for (int64_t p = 0; p < file.plans; ++p) {
        file.probability[p] /= sum;
    }
    return file;
}

/* ||Abar||_F^2 from the nonzeros of the full matrix. */
static double squared_norm(const cs_toy *toy)
{
    cs_labelled m;
    assert_int_equal(cs_toy_matrix(toy, 0, &m), CS_OK);
    double *row = cs_alloc(m.a.rows, sizeof *row), *col = cs_alloc(m.a.cols, sizeof *col), sum = 0;
    assert_true(row && col);
    cs_csr_sums(&m.a, row, col);
    for (int64_t i = 0; i < m.a.rows; ++i) {
        for (int64_t e = m.a.ptr[i]; e < m.a.ptr[i + 1]; ++e) {
            sum += m.a.val[e] * m.a.val[e] / (row[i] * col[m.a.col[e]]);
        }
    }
    cs_free(row);
    cs_free(col);
    cs_labelled_free(&m);
    return sum;
}

static void random_plan_files_reduce(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        int64_t s = 2 + (int64_t)(seed % 4);
        cs_plan_file file = random_file(seed, s);
        cs_toy toy = {.objective = cs_objective_default(CS_OBJ_FILE),
                      .classes = 1 + (int64_t)(seed % 3),
                      .length = s,
                      .tokens = 2,
                      .given = seed % 5 == 4};
        toy.objective.file = &file;
        toy.objective.event_weight = seed % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        cs_toy_spectrum full = run(enumerate, &toy), reduced = run(cs_toy_reduce, &toy);
        assert_spectra_agree(&full, &reduced);
        for (int64_t j = 0; j < full.values; ++j) {
            assert_true(full.sigma[j] > 0 && full.sigma[j] <= 1 + agreement);
        }
        assert_true(fabs(full.sigma[0] - 1) <= agreement);
        assert_true(full.multiplicity[0] >= toy.classes);
        assert_true(fabs(squared_norm(&toy) - full.sum_sigma2) <= 1e-12 * full.sum_sigma2);
        cs_toy_spectrum none;
        assert_int_equal(cs_toy_closed(&toy, &none), CS_ERR_USAGE);
        assert_reason("no closed form is known for file random");
        cs_toy_spectrum_free(&full);
        cs_toy_spectrum_free(&reduced);
        cs_plan_file_free(&file);
    }
}

/* Literal sets of one class do not collide: the same spectrum as disjoint ones. */
static void literal_sets_of_one_class_are_disjoint(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; ++i) {
        cs_toy toy = toy_of(objectives[i].spec, 1, 4, 3);
        cs_toy_spectrum disjoint = run(enumerate, &toy);
        toy.literal = true;
        cs_toy_spectrum literal = run(enumerate, &toy);
        assert_spectra_agree(&disjoint, &literal);
        cs_toy_spectrum_free(&disjoint);
        cs_toy_spectrum_free(&literal);
    }
}

/* --- bad input --- */

static void bad_toys_are_named(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        int64_t classes, length, tokens;
        const char *reason;
    } cases[] = {
        {"ar", 0, 4, 2, "toy model: classes 0 not in 1.."},
        {"ar", 2, 0, 2, "toy model: length 0 not in 1.."},
        {"ar", 2, 4, -1, "toy model: tokens -1 not in 1.."},
        {"ar", (int64_t)1 << 40, 4, 2, "classes 1099511627776"},
        {"ar", 2, 1, 2, "ar needs length >= 2, got 1"},
        {"masked:unmasked=4", 2, 4, 2, "masked with 4 unmasked needs length >= 5, got 4"},
        {"gvp:segmentation=fixed,groups=4", 2, 4, 2, "gvp with 4 groups needs length >= 5"},
    };
    const road roads[] = {enumerate, cs_toy_reduce, cs_toy_closed};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_toy toy = toy_of(cases[i].spec, cases[i].classes, cases[i].length, cases[i].tokens);
        for (int n = 0; n < 3; ++n) {
            cs_toy_spectrum out = {0};
            assert_int_equal(roads[n](&toy, &out), CS_ERR_USAGE);
            assert_null(out.sigma);
            assert_reason(cases[i].reason);
        }
    }
    cs_toy toy = toy_of("group-ar:t=2", 2, 2001, 2);
    cs_toy_spectrum out = {0};
    assert_int_equal(cs_toy_reduce(&toy, &out), CS_ERR_USAGE);
    assert_reason("length 2001 exceeds 2000 for a fixed order");
    toy = toy_of("diverse-ar:t=2", 2, 5000000, 2);
    assert_int_equal(cs_toy_closed(&toy, &out), CS_ERR_USAGE);
    assert_reason("length 5000000 exceeds");
    toy = toy_of("diverse-ar:t=3", 2, 9, 2);
    assert_int_equal(cs_toy_closed(&toy, &out), CS_ERR_USAGE);
    assert_reason("no closed form is known for diverse-ar t=3 event-weight=token at length 9");
    toy.literal = true;
    assert_int_equal(cs_toy_closed(&toy, &out), CS_ERR_USAGE);
    assert_reason("literal token sets");
}

static void astronomic_enumerations_are_refused(void **state)
{
    (void)state;
    cs_labelled m;
    cs_toy_spectrum out;
    double rows, cols, nnz;
    cs_toy toy = toy_of("masked:mask-ratio=0.15", 1000000, 1000000, 50000);
    assert_int_equal(cs_toy_size(&toy, &rows, &cols, &nnz), CS_OK);
    assert_true(isinf(rows) && isinf(nnz) && cols == 5e16);
    assert_int_equal(cs_toy_matrix(&toy, 0, &m), CS_ERR_MEMORY);
    assert_reason("needs inf rows, 5e+16 columns and inf nonzeros, more than 134217728");
    toy = toy_of("ar", 2, 40, 2);
    assert_int_equal(cs_toy_enumerate(&toy, 0, &out), CS_ERR_MEMORY);
    /* rows 2 (2 + 4 + ... + 2^39), two targets a row. */
    assert_reason("needs 2199023255548 rows, 156 columns and 4398046511096 nonzeros");
    toy = toy_of("ar", 2, 5, 2);
    assert_int_equal(cs_toy_enumerate(&toy, 119, &out), CS_ERR_MEMORY);
    assert_reason("60 rows, 16 columns and 120 nonzeros, more than 119");
    assert_int_equal(cs_toy_enumerate(&toy, 120, &out), CS_OK);
    cs_toy_spectrum_free(&out);
    toy = toy_of("ar", 1000, 3, 20); /* 40,000 columns: too many for a full spectrum */
    assert_int_equal(cs_toy_enumerate(&toy, 0, &out), CS_ERR_MEMORY);
    assert_reason("is too large for a full spectrum");
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    const char *const specs[] = {"group-ar:t=2,empty-prefix=shared", "masked:unmasked=2",
                                 "gvp:segmentation=mixed,groups=2", "diverse-ar:t=2"};
    const road roads[] = {enumerate, cs_toy_reduce, cs_toy_closed};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        for (int n = 0; n < 3; ++n) {
            cs_toy toy = toy_of(specs[i], 2, 4, 2);
            cs_toy_spectrum out = {0};
            (void)cs_mem_fail_at(0);
            cs_status expected = roads[n](&toy, &out);
            int64_t made = cs_mem_fail_at(0);
            cs_toy_spectrum_free(&out);
            for (int64_t at = 1; expected == CS_OK && at <= made; ++at) {
                cs_reason_clear();
                (void)cs_mem_fail_at(at);
                assert_int_equal(roads[n](&toy, &out), CS_ERR_MEMORY);
                assert_null(out.sigma);
                assert_reason("out of memory");
            }
            (void)cs_mem_fail_at(0);
            cs_reason_clear();
        }
    }
}

/* The sizes allocate nothing and the spectrum is summed without storing the law of |S|; it meets
 * the closed form: a sum of 2^24 positive long doubles is good to 2^24 2^-64 in the worst case. */
static void any_length_takes_no_memory(void **state)
{
    (void)state;
    const int64_t s = (int64_t)1 << 24;
    const char *const specs[] = {"permuted-ar", "variable-masked:unmasked=1:10000000",
                                 "masked:mask-ratio=0.15", "gvp:segmentation=fixed,groups=7"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        cs_toy toy = {.classes = 3, .length = s, .tokens = 2};
        cs_toy_spectrum reduced = {0}, closed = {0};
        double rows = 0, cols = 0, nnz = 0;
        assert_int_equal(cs_objective_parse(specs[i], &toy.objective), CS_OK);
        (void)cs_mem_fail_at(0);
        assert_int_equal(cs_toy_size(&toy, &rows, &cols, &nnz), CS_OK);
        assert_int_equal(cs_mem_fail_at(0), 0);
        assert_true(isinf(rows) && isinf(nnz) && cols == 6.0 * (double)s);
        assert_int_equal(cs_toy_reduce(&toy, &reduced), CS_OK);
        assert_true(cs_mem_fail_at(0) <= 8); /* the few values alone */
        assert_int_equal(cs_toy_closed(&toy, &closed), CS_OK);
        assert_int_equal(reduced.values, 2);
        assert_true(closed.values == 2 && closed.multiplicity[1] == reduced.multiplicity[1]);
        assert_true(fabs(reduced.sigma[1] / closed.sigma[1] - 1) < 1e-11);
        cs_toy_spectrum_free(&reduced);
        cs_toy_spectrum_free(&closed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_spectra_by_every_road),
        cmocka_unit_test(roads_agree_with_prefixes_weights_and_given_targets),
        cmocka_unit_test(nothing_unmasked_and_one_position),
        cmocka_unit_test(invariant_spectra_at_larger_lengths),
        cmocka_unit_test(millions_of_classes_and_positions),
        cmocka_unit_test(large_enumerations_use_the_gram_matrix),
        cmocka_unit_test(heavy_tails_beat_windows),
        cmocka_unit_test(windows_follow_their_asymptotics),
        cmocka_unit_test(quoted_values),
        cmocka_unit_test(random_plan_files_reduce),
        cmocka_unit_test(literal_sets_of_one_class_are_disjoint),
        cmocka_unit_test(bad_toys_are_named),
        cmocka_unit_test(astronomic_enumerations_are_refused),
        cmocka_unit_test(any_length_takes_no_memory),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
