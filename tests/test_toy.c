/* toy: golden spectra by three methods, and their agreement beyond the golden set. */
#include <jansson.h>

#include "plan/spec.h"
#include "test.h"
#include "toy_support.h"

/* --- golden spectra --- */

static cs_objective golden_objective(const json_t *entry)
{
    const json_t *params = json_object_get(entry, "params"), *value;
    cs_objective_kind kind;
    OK(cs_objective_by_name(json_string_value(json_object_get(entry, "objective")), &kind));
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
        OK(cs_objective_set(&objective, name, text));
    }
    OK(cs_objective_set(&objective, "empty-prefix",
                        json_string_value(json_object_get(entry, "empty_prefix"))));
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
    double rows, cols, nnz;
    OK(cs_toy_size(toy, &rows, &cols, &nnz));
    AUTO_OK(cs_labelled, m, cs_toy_matrix(toy, 0, &m));
    OK(cs_csr_check(&m.a, true));
    OK(cs_csr_check(&m.row_label, true));
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
    double *row = test_zeros(4 * (m.a.rows + m.a.cols), sizeof *row), total = 0;
    double *col = row + m.a.rows, *by_row = col + m.a.cols, *by_col = by_row + m.a.rows;
    cs_csr_sums(&m.a, row, col);
    cs_csr_sums(&m.row_label, by_row, NULL);
    cs_csr_sums(&m.col_label, by_col, NULL);
    for (int64_t i = 0; i < m.a.rows; ++i) {
        assert_true(row[i] > 0 && fabs(row[i] - by_row[i]) < 1e-15);
        total += row[i];
    }
    assert_each(j, 0, m.a.cols, col[j] > 0 && fabs(col[j] - by_col[j]) < 1e-15);
    assert_true(fabs(total - 1) < 1e-13);
}

TEST(golden_spectra_by_every_method)
{
    json_auto_t *list = json_load_file("tests/golden/toy_spectra.json", 0, NULL);
    assert_non_null(list); /* tests run from the root of the repository */
    assert_int_equal(json_array_size(list), 120);
    int with_formula = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(list, index, entry)
    {
        cs_toy toy = golden_toy(entry);
        CS_AUTO(cs_toy_spectrum) golden = golden_spectrum(entry);
        check_matrix(&toy, entry);
        CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, &toy);
        expect_spectra_agree(&full, &golden);
        CS_AUTO(cs_toy_spectrum) reduced = {0}, formula = {0};
        if (toy.literal) {
            assert_fails(cs_toy_reduce(&toy, &reduced), CS_ERR_USAGE,
                         "literal token sets couple the classes");
        } else {
            reduced = toy_run(cs_toy_reduce, &toy);
            expect_spectra_agree(&reduced, &golden);
        }
        cs_status known = cs_toy_closed(&toy, &formula);
        if (known == CS_OK) {
            expect_spectra_agree(&formula, &golden);
            assert_true(formula.residual == 0);
            ++with_formula;
        } else {
            assert_int_equal(known, CS_ERR_USAGE);
            expect_reason("no closed form is known for");
        }
    }
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

static int compare_methods(const cs_toy *toy)
{
    CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, toy),
                             reduced = toy_run(cs_toy_reduce, toy), formula = {0};
    expect_spectra_agree(&full, &reduced);
    assert_true(full.sigma[0] <= 1 + toy_agreement && fabs(full.sigma[0] - 1) <= toy_agreement);
    int known = cs_toy_closed(toy, &formula) == CS_OK;
    if (known) {
        expect_spectra_agree(&full, &formula);
    } else {
        expect_reason("no closed form is known for");
    }
    return known;
}

TEST(methods_agree_with_prefixes_weights_and_given_targets)
{
    int compared = 0, known = 0;
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; ++i) {
        for (int variant = 0; variant < 24; ++variant) {
            cs_toy toy = toy_of(objectives[i].spec, variant / 12 ? 3 : 1, variant / 12 ? 4 : 5, 2);
            toy.objective.empty_prefix = (cs_empty_prefix)(variant % 3);
            toy.objective.event_weight = (cs_event_weight)(variant / 3 % 2);
            toy.given = variant / 6 % 2;
            int formula = compare_methods(&toy);
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

TEST(nothing_unmasked_and_one_position)
{
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
            assert_int_equal(compare_methods(&toy), 1);
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
            assert_int_equal(compare_methods(&toy), 1);
        }
    }
}

/* Small lengths write B out, larger ones use its symmetry: both against the formulas. */
TEST(invariant_spectra_at_larger_lengths)
{
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; ++i) {
        for (int64_t s = 8; s <= 24; s += 4) {
            for (int prefix = 0; prefix < 3; ++prefix) {
                cs_toy toy = toy_of(objectives[i].spec, 4, s, 7);
                toy.objective.empty_prefix = (cs_empty_prefix)prefix;
                CS_AUTO(cs_toy_spectrum) formula = {0};
                if (cs_toy_closed(&toy, &formula) == CS_OK) {
                    CS_AUTO(cs_toy_spectrum) reduced = toy_run(cs_toy_reduce, &toy);
                    expect_spectra_agree(&reduced, &formula);
                }
                cs_reason_clear();
            }
        }
    }
}

TEST(millions_of_classes_and_positions)
{
    cs_toy toy = toy_of("diverse-ar:t=2", 1000000, 64, 50000);
    cs_toy_spectrum reduced = toy_run(cs_toy_reduce, &toy), formula = toy_run(cs_toy_closed, &toy);
    expect_spectra_agree(&reduced, &formula);
    assert_true(reduced.rank == 63000000 && reduced.multiplicity[0] == 1000000);
    cs_toy_spectrum_free(&reduced);
    cs_toy_spectrum_free(&formula);
    const char *const specs[] = {"masked:mask-ratio=0.15", "bernoulli-masked:mask-ratio=0.15",
                                 "permuted-ar", "gvp:segmentation=random,groups=20",
                                 "variable-masked:mask-ratio=0.15:0.3"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        toy = toy_of(specs[i], 1000000, 1000000, 50000);
        reduced = toy_run(cs_toy_reduce, &toy);
        formula = toy_run(cs_toy_closed, &toy);
        assert_int_equal(reduced.values, 2);
        assert_true(reduced.multiplicity[1] == 1000000 * (int64_t)999999);
        /* sigma is about 1e-3: relative toy_agreement. */
        assert_true(fabs(reduced.sigma[1] / formula.sigma[1] - 1) < 1e-12);
        cs_toy_spectrum_free(&reduced);
        cs_toy_spectrum_free(&formula);
    }
}

/* A matrix beyond the dense limit goes through a Gram matrix: rows above columns and below. */
TEST(large_enumerations_use_the_gram_matrix)
{
    const cs_toy toys[] = {toy_of("masked:unmasked=4", 8, 6, 4), /* 30,720 x 192 */
                           toy_of("masked:unmasked=0,empty-prefix=class", 100, 20, 25)};
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, &toys[i]),
                                 formula = toy_run(cs_toy_closed, &toys[i]);
        assert_non_null(strstr(full.source, "Gram matrix"));
        /* sigma = sqrt(lambda): an error of n eps in lambda >= 0.4. */
        expect_spectra_agree(&full, &formula);
    }
}

/* Literal sets of one class do not collide: the same spectrum as disjoint ones. */
TEST(literal_sets_of_one_class_are_disjoint)
{
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; ++i) {
        cs_toy toy = toy_of(objectives[i].spec, 1, 4, 3);
        CS_AUTO(cs_toy_spectrum) disjoint = toy_run(toy_enumerate, &toy);
        toy.literal = true;
        CS_AUTO(cs_toy_spectrum) literal = toy_run(toy_enumerate, &toy);
        expect_spectra_agree(&disjoint, &literal);
    }
}
