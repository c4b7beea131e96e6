/* cooc/spectrum_record: every member of svd.json and density.json is the field that it is named
 * after, of a spectrum and a density made up so that no two numbers are equal. */
#include "cooc/spectrum_record.h"
#include "test.h"

/* A record as JSON; freed by the caller. */
static json_t *json_of(cs_result **r)
{
    json_t *json = NULL;
    OK(cs_result_status(*r));
    OK(cs_result_json(*r, &json));
    cs_result_free(r);
    return json;
}

/* At a path of keys and places, "certificates.probe.value", "tail.0.low"; NULL: there is none. */
static const json_t *at(const json_t *json, const char *path)
{
    char part[64];
    for (; json && *path; path += *path == '.') {
        const size_t n = strcspn(path, ".");
        assert_true(n < sizeof part);
        memcpy(part, path, n);
        part[n] = '\0';
        json = json_is_array(json) ? json_array_get(json, (size_t)(part[0] - '0'))
                                   : json_object_get(json, part);
        path += n;
    }
    return json;
}

static void expect_number(const json_t *json, const char *path, double x)
{
    const json_t *value = at(json, path);
    if (isnan(x) ? !json_is_null(value) : json_number_value(value) != x) {
        fail_msg("%s is %g, not %g", path, json_number_value(value), x);
    }
}

static void expect_text(const json_t *json, const char *path, const char *text)
{
    const char *value = json_string_value(at(json, path));
    assert_non_null(value);
    assert_string_equal(value, text);
}

static const double values[] = {1, 0.5, 0.25}, residuals[] = {1e-15, 2e-15, 3e-15};

static cs_spectrum made_up(void)
{
    cs_spectrum s = {.input.rows = 11,
                     .input.cols = 12,
                     .input.nnz = 13,
                     .input.zero_rows = 14,
                     .input.zero_cols = 15,
                     .input.components = 16,
                     .input.lumped_rows = 17,
                     .input.lumped_cols = 18,
                     .k = 3,
                     .zeros = 19,
                     .rank = 20,
                     .input.mass = 21,
                     .moments.sum_sigma2 = 22,
                     .moments.sum_sigma4 = 23,
                     .moments.sum_sigma4_error = 24,
                     .moments.sum_sigma4_cost = 25,
                     .solution.floor = 26,
                     .solution.departure = 27,
                     .solution.tol = 28,
                     .cert.near_ones = 29,
                     .cert.probe_failure = 0.5,
                     .solution.converged = true,
                     .sigma = (double *)(uintptr_t)values,
                     .residual = (double *)(uintptr_t)residuals};
    cs_certificate *const c[] = {&s.cert.components, &s.cert.moments, &s.cert.probe,
                                 &s.cert.inertia, &s.cert.residual};
    static const cs_cert_state state[] = {CS_CERT_PASSED, CS_CERT_FAILED, CS_CERT_INCONCLUSIVE,
                                          CS_CERT_NOT_RUN, CS_CERT_PASSED};
    for (int i = 0; i < 5; ++i) {
        *c[i] = (cs_certificate){state[i], 30 + i, 40 + i, 50 + i, ""};
    }
    (void)strcpy(s.cert.inertia.why, "not requested");
    return s;
}

static json_t *recorded(const cs_spectrum_options *o, const cs_spectrum *s)
{
    cs_result *r = cs_result_new();
    cs_spectrum_record("m.npz", o, s, cs_result_root(r));
    return json_of(&r);
}

TEST(a_spectrum_is_recorded_field_by_field)
{
    cs_spectrum s = made_up();
    cs_spectrum_options o = {.seed = 7, .moment4_budget = 1e6};
    json_auto_t *json = recorded(&o, &s);
    static const struct {
        const char *key;
        double x;
    } numbers[] = {{"rows", 11},
                   {"cols", 12},
                   {"nonzeros", 13},
                   {"zero_rows", 14},
                   {"zero_cols", 15},
                   {"components", 16},
                   {"lumped_rows", 17},
                   {"lumped_cols", 18},
                   {"k", 3},
                   {"zeros", 19},
                   {"rank", 20},
                   {"mass", 21},
                   {"sum_sigma2", 22},
                   {"sum_sigma4", 23},
                   {"sum_sigma4_error", 24},
                   {"sum_sigma4_cost", 25},
                   {"floor", 26},
                   {"departure", 27},
                   {"tolerance", 28},
                   {"seed", 7},
                   {"sum_sigma4_budget", 1e6},
                   {"multiplicity_of_one", 1},
                   {"sigma.0", 1},
                   {"sigma.2", 0.25},
                   {"residual.0", 1e-15},
                   {"residual.2", 3e-15},
                   {"certificates.components.near_ones", 29},
                   {"certificates.probe.failure_probability", 0.5}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        expect_number(json, numbers[i].key, numbers[i].x);
    }
    static const char *const names[] = {"components", "moments", "probe", "inertia", "residual"};
    static const char *const states[] = {"passed", "failed", "inconclusive", "not run", "passed"};
    for (int i = 0; i < 5; ++i) {
        const json_t *c = at(at(json, "certificates"), names[i]);
        expect_text(c, "state", states[i]);
        expect_number(c, "value", i == 3 ? (double)NAN : 30.0 + i);
        expect_number(c, "bound", i == 3 ? (double)NAN : 40.0 + i);
        expect_number(c, "none_missing_above", i == 3 ? (double)NAN : 50.0 + i);
        assert_true((at(c, "why") != NULL) == (i == 3));
    }
    expect_text(json, "certificates.inertia.why", "not requested");
    expect_text(json, "definition", "singular values of A / sqrt(P_C P_G)");
    expect_text(json, "solver", "closed form");
    expect_text(json, "device", "cpu");
    expect_text(json, "matrix", "m.npz");
    assert_true(json_is_true(at(json, "converged")) && json_is_false(at(json, "interrupted")));
    assert_non_null(
        strstr(json_string_value(at(json, "certificates.moments.meaning")), "rounding"));
}

TEST(a_record_says_what_it_does_not_know)
{
    cs_spectrum s = made_up();
    cs_spectrum_options o = {.normalised = true, .moment4_budget = 0.5};
    s.rank = -1;
    s.solution.solver = CS_SOLVER_LAPACK;
    s.solution.interrupted = true;
    s.cert.components.state = s.cert.probe.state = CS_CERT_NOT_RUN;
    json_auto_t *json = recorded(&o, &s);
    assert_true(json_is_null(at(json, "rank")) && json_is_true(at(json, "interrupted")));
    assert_null(at(json, "certificates.components.near_ones"));
    assert_null(at(json, "certificates.probe.failure_probability"));
    assert_non_null(
        strstr(json_string_value(at(json, "certificates.moments.meaning")), "bound on"));
    expect_text(json, "definition", "singular values of the matrix as given");
    expect_text(json, "solver", cs_solver_name(CS_SOLVER_LAPACK));
    expect_number(json, "sum_sigma4_budget", 0); /* given to have it sampled */
    json_decref(json);
    s.input.gram = true;
    json = recorded(&o, &s);
    expect_text(json, "definition", "singular values of A / sqrt(P_C P_G), by its Gram form");
}

/* sum sigma^4 exact, sampled, or not known; 1.06640625 = 1 + 1/16 + 1/256 of known values. */
TEST(fourth_sums_are_recorded_with_their_tails)
{
    static const char *const methods[] = {"exact", "hutch++", "none", "out of range", "hutch++"};
    for (int way = 0; way < 5; ++way) {
        const bool known = way < 2 || way == 4, sampled = way == 1 || way == 4;
        cs_spectrum s = made_up();
        bool tails = !known;
        s.rank = way == 4 ? 3 : -1;
        s.moments.sum4 = (cs_sum4){.value = known ? 2.06640625 : NAN,
                                   .low = known ? 2 : NAN,
                                   .high = known ? 2.125 : NAN,
                                   .error = sampled ? 0.01 : 0,
                                   .level = 0.9,
                                   .samples = sampled ? 31 : 0,
                                   .sketch = 32,
                                   .known = 33,
                                   .spent = 34,
                                   .out_of_range = way == 3};
        s.moments.sum_sigma4 = s.moments.sum4.value;
        cs_result *r = cs_result_new();
        OK(cs_sum4_record(&s, cs_result_root(r), &tails));
        json_auto_t *json = json_of(&r);
        assert_true(tails == known);
        expect_text(json, "sum_sigma4_method", methods[way]);
        expect_number(json, "sum_sigma4_low", s.moments.sum4.low);
        expect_number(json, "sum_sigma4_high", s.moments.sum4.high);
        expect_number(json, "sum_sigma4_level", 0.9);
        expect_number(json, "sum_sigma4_samples", sampled ? 31 : 0);
        expect_number(json, "sum_sigma4_sketched", 32);
        expect_number(json, "sum_sigma4_known", 33);
        expect_number(json, "sum_sigma4_spent", 34);
        assert_int_equal(json_array_size(at(json, "tail")), known ? 4 : 0);
        assert_true(json_is_null(at(json, "tail")) == !known);
        for (int t = 0; known && t <= 3; ++t) {
            char key[16];
            (void)snprintf(key, sizeof key, "tail.%d", t);
            const json_t *row = at(json, key);
            expect_number(row, "t", t);
            assert_true(json_is_null(at(row, "exact")) == (way == 1));
            if (way < 2) { /* of all values known, those that were found say it */
                expect_number(row, "value",
                              t == 0   ? 2.06640625
                              : t == 1 ? 1.06640625
                              : t == 2 ? 1.00390625
                                       : 1);
            }
        }
    }
}

/* Of a matrix without a value the sum is its only tail. */
TEST(a_spectrum_of_nothing_has_one_tail)
{
    const cs_spectrum s = {.input.rows = 3, .input.cols = 2};
    bool tails = false;
    cs_result *r = cs_result_new();
    OK(cs_sum4_record(&s, cs_result_root(r), &tails));
    json_auto_t *json = json_of(&r);
    assert_true(tails);
    assert_int_equal(json_array_size(at(json, "tail")), 1);
    expect_number(json, "tail.0.value", 0);
}

TEST(a_density_is_recorded_field_by_field)
{
    enum { POINTS = 3, K = 2 };
    double x[POINTS] = {0, 1, 2}, sigma[K] = {0.75, 0.5}, exact[K + 1] = {3, 2, 1};
    cs_interval density[POINTS], above[POINTS], fourth[POINTS], tail[K + 1];
    for (int i = 0; i < POINTS; ++i) {
        density[i] = (cs_interval){100 + i, 110 + i, 120 + i};
        above[i] = (cs_interval){130 + i, 140 + i, 150 + i};
        fourth[i] = (cs_interval){160 + i, 170 + i, 180 + i};
        tail[i] = (cs_interval){190 + i, 200 + i, 210 + i};
    }
    const cs_spectrum_density d = {.rows = 1,
                                   .cols = 2,
                                   .nnz = 3,
                                   .components = 4,
                                   .lumped_rows = 5,
                                   .lumped_cols = 6,
                                   .top = 7,
                                   .x = x,
                                   .density = {.dimension = 8,
                                               .known = 9,
                                               .points = POINTS,
                                               .density = density,
                                               .above = above,
                                               .fourth_below = fourth,
                                               .rest4_error = 10,
                                               .width = 11,
                                               .bias = 12,
                                               .factor = 13,
                                               .ended = 14},
                                   .k = K,
                                   .sigma = sigma,
                                   .residual = 15,
                                   .tail = tail,
                                   .tail_exact = exact,
                                   .sum_sigma2 = 16,
                                   .sum_sigma4 = 17,
                                   .sum_sigma4_cost = 18,
                                   .sum2 = {19, 20, 21},
                                   .sum4 = {22, 23, 24}};
    cs_spectrum_density_options o = {
        .spectrum = {.seed = 25, .moment4_budget = 26}, .samples = 27, .degree = 28, .level = 0.75};
    static const struct {
        const char *key;
        double x;
    } numbers[] = {{"rows", 1},
                   {"cols", 2},
                   {"nonzeros", 3},
                   {"components", 4},
                   {"lumped_rows", 5},
                   {"lumped_cols", 6},
                   {"bound", 7},
                   {"values", 8},
                   {"known", 9},
                   {"rest_sigma4_error", 10},
                   {"width", 11},
                   {"density_bias_bound", 12},
                   {"student_factor", 13},
                   {"samples_without_quadrature_error", 14},
                   {"residual", 15},
                   {"sum_sigma2", 16},
                   {"sum_sigma4", 17},
                   {"sum_sigma4_cost", 18},
                   {"sum_sigma2_estimate.value", 19},
                   {"sum_sigma2_estimate.low", 20},
                   {"sum_sigma2_estimate.high", 21},
                   {"sum_sigma4_estimate.value", 22},
                   {"sum_sigma4_estimate.low", 23},
                   {"sum_sigma4_estimate.high", 24},
                   {"seed", 25},
                   {"sum_sigma4_budget", 26},
                   {"samples", 27},
                   {"degree", 28},
                   {"level", 0.75},
                   {"sigma.0", 0.75},
                   {"sigma.1", 0.5},
                   {"tail.0.value", 190},
                   {"tail.2.low", 202},
                   {"tail.1.high", 211},
                   {"tail.1.t", 1},
                   {"tail.0.exact", 3},
                   {"tail.2.exact", 1}};
    cs_result *r = cs_result_new();
    cs_spectrum_density_record("m.npz", &o, &d, cs_result_root(r));
    const cs_view curves = {"~curve[]", "sigma density=density.value low=density.low "
                                        "above=above.value below=fourth_below.high"};
    AUTO_OK(cs_table, table, cs_result_table(r, &curves, &table));
    assert_int_equal(table.rows, POINTS);
    for (int i = 0; i < POINTS; ++i) {
        const double row[] = {i, 100 + i, 110 + i, 130 + i, 180 + i};
        assert_each(j, 0, 5, strtod(table.cell[5 * i + j], NULL) == row[j]);
    }
    json_auto_t *json = json_of(&r);
    assert_null(at(json, "~curve"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        expect_number(json, numbers[i].key, numbers[i].x);
    }
    assert_int_equal(json_array_size(at(json, "tail")), K + 1);
    expect_text(json, "matrix", "m.npz");
}
