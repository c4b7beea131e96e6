/* cooc/inspect, and the records of builds and spectra, of one document whose pairs are counted by
 * hand: "d a b a c a b" under ar, nearest:1 has a -> b twice and a -> c, b -> a, c -> a, d -> a once.
 *
 * Two components: {a} x {b, c} and {b, c, d} x {a}. Each is of rank one, so both sigma are 1, with
 * v = (sqrt(2/3), sqrt(1/3)) on (b, c) and u = 1 on a; and v = 1 on a and u = sqrt(1/3) on b, c, d.
 */
#include "cooc/build_sequences.h"
#include "cooc/inspect.h"
#include "cooc/spectrum_record.h"
#include "io/json.h"
#include "io_support.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "spectrum_support.h"

enum { A, B, C, D, WORDS, LINES = 32 };

static const double ROUNDING = 1e-14; /* some units of 1e-16 */

/* A list as its text: "what rank text value share" a line. */
typedef struct {
    char what[32], text[32];
    double rank, index, value, share;
} line;

static cs_cooc_options options_of(void)
{
    cs_cooc_options o = {.threads = 1};
    OK(cs_objective_parse("ar", &o.objective));
    OK(cs_context_parse("nearest:1", &o.context));
    return o;
}

static cs_corpus corpus_of(void)
{
    static const int32_t token[] = {D, A, B, A, C, A, B};
    cs_corpus c = small_corpus(1, &(int64_t){7}, WORDS, 0, 1);
    for (int i = 0; i < 7; ++i) {
        c.token[i] = token[i];
    }
    for (int i = 0; i < WORDS; ++i) {
        c.word[i][0] = (char)('a' + i);
        c.word[i][1] = '\0';
    }
    return c;
}

static cs_cooc_store store_of(void **state)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_cooc_options o = options_of();
    cs_cooc_store s = {0};
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_write(in_dir(state, "m"), &corpus, &o, &m, false, true));
    OK(cs_cooc_read(in_dir(state, "m"), &s));
    assert_int_equal(s.cooc.matrix.a.rows, 4);
    return s;
}

/* The one list that `call` writes; all lists of this file are short. */
#define LIST(store, most, out, call)                                                               \
    do {                                                                                           \
        cs_result *made = cs_result_new();                                                         \
        const cs_inspection in = {store, most, cs_item_array(cs_result_root(made), "lines")};      \
        OK(call);                                                                                  \
        found = take_lines(made, out);                                                             \
    } while (0)

static int64_t take_lines(cs_result *result, line *out)
{
    json_t *json = NULL, *one = NULL;
    size_t i = 0;
    OK(cs_result_json(result, &json));
    json_array_foreach(json_object_get(json, "lines"), i, one)
    {
        const char *what = NULL, *text = NULL;
        assert_true(i < LINES);
        assert_int_equal(json_unpack(one, "{s:s, s:s, s:F, s:F, s:F, s:F}", "what", &what, "text",
                                     &text, "rank", &out[i].rank, "index", &out[i].index, "value",
                                     &out[i].value, "share", &out[i].share),
                         0);
        (void)snprintf(out[i].what, sizeof out[i].what, "%s", what);
        (void)snprintf(out[i].text, sizeof out[i].text, "%s", text);
    }
    json_decref(json);
    cs_result_free(&result);
    return (int64_t)i;
}

static void line_is(const line *l, const char *what, double rank, const char *text, double share)
{
    assert_string_equal(l->what, what);
    assert_string_equal(l->text, text);
    assert_true(l->rank == rank);
    assert_true(fabs(l->share - share) < ROUNDING);
}

static int64_t row_of(const cs_cooc_store *s, const char *text)
{
    for (int64_t i = 0; i < s->cooc.matrix.a.rows; ++i) {
        CS_AUTO_FREE char *row = NULL;
        OK(cs_cooc_row_text(s, i, &row));
        const bool same = strcmp(row, text) == 0;
        if (same) return i;
    }
    fail_msg("no row '%s'", text);
    return -1;
}

TEST_IN_DIR(rows_have_their_targets)
{
    CS_AUTO(cs_cooc_store) s = store_of(state);
    line l[LINES];
    int64_t found = 0;
    const int64_t a = row_of(&s, "a *");
    LIST(&s, 9, l, cs_inspect_row(&in, a));
    assert_int_equal(found, 3);
    line_is(&l[0], "row", 0, "a *", 1);
    line_is(&l[1], "target of the row", 1, "b", 2.0 / 3);
    line_is(&l[2], "target of the row", 2, "c", 1.0 / 3);
    assert_true(l[0].index == (double)a && l[1].index == B && l[2].index == C);
    assert_true(l[0].value == l[1].value + l[2].value && l[1].value == 2 * l[2].value);
    LIST(&s, 1, l, cs_inspect_row(&in, a)); /* the row itself is no part of the list */
    assert_int_equal(found, 2);
    LIST(&s, 2, l, cs_inspect_heaviest(&in));
    assert_int_equal(found, 2);
    line_is(&l[0], "heaviest row", 1, "a *", 0.5);
    assert_true(fabs(l[1].share - 1.0 / 6) < ROUNDING);
    LIST(&s, 9, l, cs_inspect_heaviest(&in));
    assert_int_equal(found, 4);

    const cs_inspection in = {&s, 3, NULL};
    assert_fails(cs_inspect_row(&in, -1), CS_ERR_USAGE, "row -1 is not in 0..3");
    assert_fails(cs_inspect_row(&in, 4), CS_ERR_USAGE, "row 4 is not in 0..3");
}

/* Which of the two vectors is which component's is not said. */
static int64_t vector_of(const cs_spectrum *s, int32_t token)
{
    return fabs(s->v.data[token]) > 0.1 ? 0 : 1;
}

TEST_IN_DIR(vectors_have_their_ends)
{
    CS_AUTO(cs_cooc_store) s = store_of(state);
    CS_AUTO(cs_spectrum) p = spectrum_of(&s.cooc.matrix.a, (cs_spectrum_options){.threads = 1});
    line l[LINES];
    int64_t found = 0;
    assert_int_equal(p.k, 2);
    for (int64_t vector = 1; vector <= 2; ++vector) {
        const bool of_a = vector_of(&p, A) == vector - 1;
        LIST(&s, 9, l, cs_inspect_vector(&in, &p, vector));
        assert_int_equal(found, of_a ? 4 : 3); /* b, c, d and a; or a and b, c */
        double context = 0, token = 0;
        for (int64_t i = 0; i < found; ++i) {
            const char *side = strchr(l[i].what, ',');
            assert_true(strtol(l[i].what + 7, NULL, 10) == vector && side);
            assert_true((side[2] == '+') == (l[i].value > 0));
            assert_true(fabs(l[i].share - l[i].value * l[i].value) < ROUNDING);
            const bool row = strcmp(side + 4, "context") == 0;
            *(row ? &context : &token) += l[i].share;
            const double want = row                   ? (of_a ? 1.0 / 3 : 1)
                                : of_a                ? 1
                                : l[i].text[0] == 'b' ? 2.0 / 3
                                                      : 1.0 / 3;
            assert_true(fabs(l[i].share - want) < 1e-12);
        }
        assert_true(fabs(context - 1) < 1e-12 && fabs(token - 1) < 1e-12);
        LIST(&s, 1, l, cs_inspect_vector(&in, &p, vector));
        assert_int_equal(found, 2); /* the largest of each side; one sign alone */
    }
    p.input.gram = true; /* as of a matrix whose contexts are not available */
    LIST(&s, 9, l, cs_inspect_vector(&in, &p, 1 + vector_of(&p, B)));
    assert_int_equal(found, 2);
    line_is(&l[0], l[0].what, 1, "b", 2.0 / 3);
    assert_non_null(strstr(l[0].what, "token"));
    const cs_inspection in = {&s, 3, NULL};
    assert_fails(cs_inspect_vector(&in, &p, 3), CS_ERR_INPUT, "vector 3 exceeds the rank 2");
}

TEST_IN_DIR(neighbours_are_of_the_component)
{
    CS_AUTO(cs_cooc_store) s = store_of(state);
    CS_AUTO(cs_spectrum) p = spectrum_of(&s.cooc.matrix.a, (cs_spectrum_options){.threads = 1});
    line l[LINES];
    int64_t found = 0;
    LIST(&s, 9, l, cs_inspect_neighbours(&in, &p, 0, 2, "b"));
    assert_int_equal(found, WORDS);
    assert_true(l[0].text[0] + l[1].text[0] == 'b' + 'c'); /* both at cosine 1 */
    for (int i = 0; i < WORDS; ++i) {
        const double cosine = strchr("bc", l[i].text[0]) ? 1 : l[i].text[0] == 'a' ? 0 : -1;
        assert_true(fabs(l[i].value - cosine) < 1e-12 && l[i].rank == i); /* d is no target: -1 */
    }
    LIST(&s, 1, l, cs_inspect_neighbours(&in, &p, 0, 2, "a"));
    assert_int_equal(found, 2); /* itself, and one more */
    line_is(&l[0], "neighbour", 0, "a", l[0].share);
    const cs_inspection in = {&s, 3, NULL};
    assert_fails(cs_inspect_neighbours(&in, &p, 0, 2, "e"), CS_ERR_INPUT,
                 "e is not in the vocabulary");
    assert_fails(cs_inspect_neighbours(&in, &p, 0, 2, "d"), CS_ERR_INPUT, "d is never a target");
    const int64_t other = vector_of(&p, A);
    char reason[64];
    (void)snprintf(reason, sizeof reason, "b is zero in vectors %d to %d", (int)other + 1,
                   (int)other + 1);
    assert_fails(cs_inspect_neighbours(&in, &p, other, other + 1, "b"), CS_ERR_INPUT, reason);
}

/* --- records ---------------------------------------------------------------------------------- */

static double number(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    assert_true(json_is_number(value) || json_is_null(value));
    return json_is_null(value) ? NAN : json_number_value(value);
}

TEST(a_build_is_recorded)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_cooc_options o = options_of();
    CS_AUTO(cs_result) *r = cs_result_new();
    json_auto_t *json = NULL;
    o.max_length = 3; /* d a b, a c a, and the last b, too short for a pair */
    o.seed = 5;
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    AUTO_OK(cs_cooc_prepared, prepared, cs_cooc_prepare(&corpus, &o, &prepared));
    cs_cooc_record("hand", &prepared, &m, cs_result_root(r));
    OK(cs_result_json(r, &json));
    const struct {
        const char *key;
        double value;
    } is[] = {{"sequences", 2},
              {"skipped_sequences", 1},
              {"uncovered_tokens", 1},
              {"nonzeros", 4},
              {"rows", 3},
              {"cols", WORDS},
              {"draws", 0},
              {"seed", 5},
              {"dropped_mass", 0}};
    for (size_t i = 0; i < sizeof is / sizeof *is; ++i) {
        if (number(json, is[i].key) != is[i].value) {
            fail_msg("%s is %g, not %g", is[i].key, number(json, is[i].key), is[i].value);
        }
    }
    assert_string_equal(json_string_value(json_object_get(json, "corpus")), "hand");
    assert_string_equal(json_string_value(json_object_get(json, "target_position")), "given");
    assert_true(json_is_false(json_object_get(json, "sampled")));
}

static json_t *record_of(const cs_spectrum_options *o, const cs_spectrum *s, bool *tails)
{
    CS_AUTO(cs_result) *r = cs_result_new();
    json_t *json = NULL;
    cs_spectrum_record("m", o, s, cs_result_root(r));
    OK(cs_sum4_record(s, cs_result_root(r), tails));
    OK(cs_result_json(r, &json));
    return json;
}

TEST_IN_DIR(a_spectrum_is_recorded)
{
    CS_AUTO(cs_cooc_store) s = store_of(state);
    cs_spectrum_options o = {
        .threads = 1, .certify = CS_CERTIFY_USUAL, .moment4 = true, .moment4_budget = 1e9};
    CS_AUTO(cs_spectrum) p = spectrum_of(&s.cooc.matrix.a, o);
    bool tails = false;
    json_auto_t *json = record_of(&o, &p, &tails);
    assert_true(tails && number(json, "k") == 2 && number(json, "multiplicity_of_one") == 2);
    assert_true(number(json, "components") == 2 && number(json, "rank") == 2);
    assert_true(fabs(number(json, "sum_sigma2") - 2) < ROUNDING);
    assert_true(fabs(number(json, "sum_sigma4") - 2) < ROUNDING);
    assert_true(number(json, "sum_sigma4_budget") == 1e9);
    assert_string_equal(json_string_value(json_object_get(json, "sum_sigma4_method")), "exact");
    assert_string_equal(json_string_value(json_object_get(json, "solver")), "closed form");
    assert_string_equal(json_string_value(json_object_get(json, "device")), "cpu");
    const json_t *tail = json_object_get(json, "tail");
    assert_int_equal(json_array_size(tail), 3);
    for (int t = 0; t < 3; ++t) { /* sum of sigma^4 over the 2 - t smaller */
        assert_true(number(json_array_get(tail, (size_t)t), "t") == t);
        assert_true(fabs(number(json_array_get(tail, (size_t)t), "exact") - (2 - t)) < ROUNDING);
    }
    const json_t *all = json_object_get(json, "certificates");
    const json_t *components = json_object_get(all, "components");
    assert_string_equal(json_string_value(json_object_get(components, "state")), "passed");
    assert_true(number(components, "near_ones") == 0);
    const json_t *inertia = json_object_get(all, "inertia");
    assert_string_equal(json_string_value(json_object_get(inertia, "state")), "not run");
    assert_true(isnan(number(inertia, "value"))); /* was not requested */
    assert_non_null(json_object_get(inertia, "why"));
    json_decref(json);
    cs_spectrum_free(&p);

    o = (cs_spectrum_options){.threads = 1, .k = 1, .certify = CS_CERTIFY_NONE, .normalised = true};
    p = spectrum_of(&s.cooc.matrix.a, o);
    json = record_of(&o, &p, &tails);
    assert_false(tails);
    assert_true(json_is_null(json_object_get(json, "tail")));
    assert_string_equal(json_string_value(json_object_get(json, "sum_sigma4_method")), "none");
    assert_string_equal(json_string_value(json_object_get(json, "definition")),
                        "singular values of the matrix as given");
    assert_true(number(json, "sum_sigma4_budget") == 0);
    components = json_object_get(json_object_get(json, "certificates"), "components");
    assert_null(json_object_get(components, "near_ones"));
}

TEST(states_have_names)
{
    assert_string_equal(cs_cert_state_name(CS_CERT_NOT_RUN), "not run");
    assert_string_equal(cs_cert_state_name(CS_CERT_PASSED), "passed");
    assert_string_equal(cs_cert_state_name(CS_CERT_FAILED), "failed");
    assert_string_equal(cs_cert_state_name(CS_CERT_INCONCLUSIVE), "inconclusive");
}
