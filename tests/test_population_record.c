/* analysis/measures/population_rows: records through JSON, and verdicts from records made by hand. */
#include "analysis/measures/population_rows.h"
#include "io/json.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"
#include "test.h"

enum { BLOCKS = 4 };

/* One series at one position: its corrected sum with blocks that move it by `move`, the same at half
 * of the documents, the plug-in with its interval, the null's interval. */
typedef struct {
    const char *series, *position;
    double plug_in, error, language, half, null_low, null_high;
    double move[BLOCKS];
} made;

static json_t *row(const char *metric, const char *estimate, double value, double documents)
{
    return json_pack("{s:s, s:s, s:o, s:o}", "metric", metric, "estimate", estimate, "value",
                     cs_json_number(value), "documents", cs_json_number(documents));
}

static json_t *record_of(const made *m)
{
    json_t *numbers = json_array(), *left_out = json_array();
    json_t *corrected = row("sum_sigma4_corrected", "distinct-document", m->language, 100);
    for (int b = 0; b < BLOCKS; ++b) {
        json_array_append_new(left_out, json_real(m->language * (1 + m->move[b])));
    }
    json_object_set_new(corrected, "left_out", left_out);
    json_array_append_new(numbers, row("sum_sigma4", "plug-in", m->plug_in, 100));
    json_array_append_new(numbers, row("sum_sigma4_low", "plug-in", m->plug_in - m->error, 100));
    json_array_append_new(numbers, row("sum_sigma4_high", "plug-in", m->plug_in + m->error, 100));
    json_array_append_new(numbers, row("sum_sigma4", "distinct-document", m->language, 100));
    json_array_append_new(numbers, corrected);
    if (!isnan(m->half)) {
        json_array_append_new(numbers,
                              row("sum_sigma4_corrected", "distinct-document", m->half, 50));
    }
    return json_pack("{s:s, s:s, s:o, s:[f], s:s}", "series", m->series, "target_position",
                     m->position, "numbers", numbers, "sigma", 1.0, "partition", "p");
}

static json_t *null_of(const made *m)
{
    CS_AUTO_FREE char *series = cs_format("%s shuffled", m->series);
    json_t *number = row("sum_sigma4", "distinct-document", 1, 100);
    json_object_set_new(number, "low", json_real(m->null_low));
    json_object_set_new(number, "high", json_real(m->null_high));
    json_t *record = json_pack("{s:s, s:s, s:[o]}", "series", series, "target_position",
                               m->position, "numbers", number);
    return record;
}

/* The verdicts on a against the first, `ar`: of the corpus, then of the language. */
static json_t *verdicts_of(const made *ar, const made *a, bool nulls)
{
    json_t *records = json_array(), *out = NULL;
    const made *side[] = {ar, a};
    for (int i = 0; i < 2; ++i) {
        json_array_append_new(records, record_of(side[i]));
        if (nulls) json_array_append_new(records, null_of(side[i]));
    }
    CS_AUTO(cs_result) *result = cs_result_new();
    OK(cs_population_verdicts(records, cs_item_array(cs_result_root(result), "verdicts")));
    OK(cs_result_json(result, &out));
    json_decref(records);
    return out;
}

static const json_t *item(const json_t *verdicts, size_t i)
{
    return json_array_get(json_object_get(verdicts, "verdicts"), i);
}

static const char *text(const json_t *verdicts, size_t i, const char *key)
{
    return json_string_value(json_object_get(item(verdicts, i), key));
}

static double real(const json_t *verdicts, size_t i, const char *key)
{
    return json_number_value(json_object_get(item(verdicts, i), key));
}

static const made ar = {"ar", "blind", 100, 0, 4, 3, .9, 1.1, {.01, -.01, .02, -.02}};

static void expect(const made *a, bool nulls, const char *corpus, const char *language,
                   const char *reason)
{
    json_auto_t *v = verdicts_of(&ar, a, nulls);
    assert_string_equal(text(v, 0, "of"), "corpus");
    assert_string_equal(text(v, 0, "verdict"), corpus);
    assert_string_equal(text(v, 1, "of"), "language");
    assert_string_equal(text(v, 1, "verdict"), language);
    if (!strstr(text(v, 1, "reason"), reason)) {
        print_error("%s\n", text(v, 1, "reason"));
    }
    assert_non_null(strstr(text(v, 1, "reason"), reason));
}

TEST(rule_of_the_language)
{
    const made less = {"x", "blind", 120, 0, 2, 2, .9, 1.1, {0}};
    made m = less;
    expect(&m, true, "less connected", "more connected", "");
    expect(&m, false, "less connected", "undetermined", "null");
    m.null_low = 1.01;
    expect(&m, true, "less connected", "undetermined", "does not contain 1");
    m = less;
    m.half = 3.5;
    expect(&m, true, "less connected", "undetermined", "at 50 documents");
    m.half = NAN;
    expect(&m, true, "less connected", "undetermined", "--curve");
    m = less;
    m.language = 5;
    m.half = 4;
    m.plug_in = 90;
    expect(&m, true, "more connected", "less connected", "");
    m = ar; /* equal up to rounding, in all blocks alike */
    m.series = "x";
    m.plug_in = 100 * (1 + 1e-14);
    m.language = 4 * (1 + 1e-14);
    expect(&m, true, "undetermined", "undetermined", "");
    m = less;
    m.language = 5;
    m.half = 4;
    m.plug_in = 90;
    m.error = 15; /* 75 .. 105 about 100 */
    expect(&m, true, "undetermined", "less connected", "");
}

/* A difference below the errors of both is significant where blocks move both alike. */
TEST(differences_are_paired)
{
    made m = {"x", "blind", 120, 0, 4.04, 3.1, .9, 1.1, {.01, -.01, .02, -.02}};
    expect(&m, true, "less connected", "less connected", "");
    m.move[0] = -.01;
    m.move[1] = .01;
    expect(&m, true, "less connected", "undetermined", "within its error");
    ARRAY(double, log_ar, BLOCKS, b, log(4 * (1 + ar.move[b])));
    ARRAY(double, log_x, BLOCKS, b, log(4.04 * (1 + m.move[b])));
    const double width =
        cs_student_width(0.95, BLOCKS - 1) * cs_jackknife_difference(BLOCKS, log_x, log_ar, 1);
    json_auto_t *v = verdicts_of(&ar, &m, true);
    assert_true(fabs(real(v, 1, "ratio") - 1.01) < 1e-12);
    assert_true(fabs(log(real(v, 1, "low")) - (log(1.01) - width)) < 1e-12);
    assert_true(fabs(log(real(v, 1, "high")) - (log(1.01) + width)) < 1e-12);
    assert_true(fabs(real(v, 0, "ratio") - 1.2) < 1e-12);
    assert_null(item(v, 2)); /* a null is compared with nothing */
}

TEST(blind_against_given)
{
    made given = ar;
    given.position = "given";
    given.language = 8;
    given.half = 6;
    json_auto_t *v = verdicts_of(&ar, &given, true);
    assert_string_equal(text(v, 1, "series"), "ar");
    assert_string_equal(text(v, 1, "target_position"), "blind");
    assert_string_equal(text(v, 1, "against_position"), "given");
    assert_string_equal(text(v, 1, "verdict"), "more connected");
    assert_string_equal(text(v, 0, "verdict"), "undetermined"); /* equal sums */
}

TEST(records_lacking_members)
{
    json_auto_t *record = json_pack("{s:s}", "series", "ar");
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "rows"),
            *matrices = cs_item_array(cs_result_root(result), "matrices");
    assert_fails(cs_population_record_add(record, rows, matrices), CS_ERR_INPUT,
                 "lacks target_position");
}
