/* io/result: one record, three forms. */
#include "io/json.h"
#include "io/result.h"
#include "io_support.h"

static cs_result *sample(void)
{
    cs_result *r = cs_result_new();
    cs_item *root = cs_result_root(r);
    cs_item_text(root, "name", "two, matrices");
    cs_item_reals(root, "sigma", 3, (const double[]){1, 0.5, NAN});
    cs_item_ints(root, "copies", 2, (const int64_t[]){4, 5});
    cs_item *list = cs_item_array(root, "matrices");
    for (int i = 0; i < 2; ++i) {
        cs_item *matrix = cs_item_object(list, NULL);
        cs_item_take(matrix, "file", cs_format("%c", i ? 'b' : 'a'));
        cs_item_int(matrix, "n", 7 + i);
        cs_item *metrics = cs_item_array(matrix, "metrics");
        for (int m = 0; m < 2; ++m) {
            cs_item *metric = cs_item_object(metrics, NULL);
            cs_item_text(metric, "metric", m ? "gap" : "rank");
            cs_item_real(metric, "value", m ? INFINITY : 2.5 + i);
            if (i == 1) cs_item_int(metric, "n", 3);
        }
        cs_item *hidden = cs_item_array(matrix, "~curve");
        cs_item_text(cs_item_object(hidden, NULL), "metric", "curve");
    }
    cs_item_flag(root, "whole", true);
    cs_item_null(root, "none");
    cs_item_text(root, "absent", NULL);
    cs_item_json(root, "made", json_pack("[i]", 1));
    return r;
}

static void table_is(const cs_result *r, const cs_view *view, const char *want)
{
    CS_AUTO_FREE char *text = NULL;
    size_t size = 0;
    AUTO_OK(cs_table, table, cs_result_table(r, view, &table));
    FILE *out = open_memstream(&text, &size);
    OK(cs_table_print_csv(&table, out));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
}

static void json_table_is(const cs_result *r, const cs_view *view, const char *want)
{
    json_auto_t *got = json_object(), *expected = json_loads(want, 0, NULL);
    OK(cs_result_add_table(r, view, got));
    assert_non_null(expected);
    assert_true(json_equal(got, expected));
}

/* Table Schema and objects, for readers such as pandas. */
TEST(a_table_is_json_too)
{
    CS_AUTO(cs_result) *r = sample();
    json_table_is(
        r, &(cs_view){"sigma[]", "index=# sigma=. copies=/copies[#]"},
        "{\"schema\": {\"fields\": [{\"name\": \"index\", \"type\": \"integer\"}, "
        "{\"name\": \"sigma\", \"type\": \"number\"}, {\"name\": \"copies\", \"type\": "
        "\"number\"}]}, \"data\": [{\"index\": 1, \"sigma\": 1.0, \"copies\": 4}, {\"index\": "
        "2, \"sigma\": 0.5, \"copies\": 5}, {\"index\": 3, \"sigma\": null, \"copies\": null}]}");
    json_table_is(
        r, &(cs_view){"matrices[].~curve[]", "metric file=^file"},
        "{\"schema\": {\"fields\": [{\"name\": \"metric\", \"type\": \"string\"}, {\"name\": "
        "\"file\", \"type\": \"string\"}]}, \"data\": [{\"metric\": \"curve\", \"file\": "
        "\"a\"}, {\"metric\": \"curve\", \"file\": \"b\"}]}");
    /* without a view: single values, as one row */
    json_table_is(
        r, NULL,
        "{\"schema\": {\"fields\": [{\"name\": \"name\", \"type\": \"string\"}, {\"name\": "
        "\"whole\", \"type\": \"boolean\"}, {\"name\": \"none\", \"type\": \"number\"}, "
        "{\"name\": \"absent\", \"type\": \"number\"}]}, \"data\": [{\"name\": \"two, "
        "matrices\", \"whole\": true, \"none\": null, \"absent\": null}]}");
}

TEST(json_has_all_but_what_is_for_tables)
{
    cs_result *r = sample();
    json_auto_t *json = NULL, *want = NULL;
    static const char text[] =
        "{\"name\": \"two, matrices\", \"sigma\": [1.0, 0.5, null], \"copies\": [4, 5], "
        "\"matrices\": [{\"file\": \"a\", \"n\": 7, \"metrics\": [{\"metric\": \"rank\", "
        "\"value\": 2.5}, {\"metric\": \"gap\", \"value\": null}]}, {\"file\": \"b\", \"n\": 8, "
        "\"metrics\": [{\"metric\": \"rank\", \"value\": 3.5, \"n\": 3}, {\"metric\": \"gap\", "
        "\"value\": null, \"n\": 3}]}], \"whole\": true, \"none\": null, \"absent\": null, "
        "\"made\": [1]}";
    OK(cs_result_json(r, &json));
    OK(cs_json_parse("want", text, (int64_t)strlen(text), &want));
    assert_true(json_equal(json, want));
    cs_result_free(&r);
    assert_null(r);
}

TEST(fields_have_the_form_of_their_type)
{
    const struct {
        int64_t rows;
        int j;
        double value;
        bool exact;
        const char *name, *none;
        char hash[4];
    } of = {INT64_C(1) << 40, -3, 0.5, true, "one", NULL, "abc"};
    CS_AUTO(cs_result) *r = cs_result_new();
    json_auto_t *json = NULL,
                *want = json_loads("{\"rows\": 1099511627776, \"j\": -3, \"value\": 0.5, "
                                   "\"exact\": true, \"name\": \"one\", "
                                   "\"none\": null, \"hash\": \"abc\"}",
                                   0, NULL);
    CS_ITEM_FIELDS(cs_result_root(r), &of, rows, j, value, exact, name, none, hash);
    OK(cs_result_json(r, &json));
    assert_true(want && json_equal(json, want));
}

TEST(tables_follow_paths)
{
    CS_AUTO(cs_result) *r = sample();
    table_is(r, &(cs_view){"sigma[]", "index=# sigma=. copies=^copies[#]"},
             "index,sigma,copies\n1,1,4\n2,0.5,5\n3,,\n");
    table_is(
        r,
        &(cs_view){"matrices[].metrics[] matrices[].~curve[]",
                   "file=^file metric value n=n|^n all=/name"},
        "file,metric,value,n,all\na,rank,2.5,7,\"two, matrices\"\na,gap,inf,7,\"two, matrices\"\n"
        "b,rank,3.5,3,\"two, matrices\"\nb,gap,inf,3,\"two, matrices\"\n"
        "a,curve,,7,\"two, matrices\"\nb,curve,,8,\"two, matrices\"\n");
    table_is(r, &(cs_view){"", "name whole none made"},
             "name,whole,none,made\n\"two, matrices\",true,,\n");
    table_is(r, &(cs_view){"no.such[]", "name"}, "name\n");
}

TEST(tables_follow_several_paths_from_one_place)
{
    CS_AUTO(cs_result) *r = sample();
    table_is(r, &(cs_view){"matrices[].{.,~curve[]}", "file=file|^file metric"},
             "file,metric\na,\na,curve\nb,\nb,curve\n");
    table_is(r, &(cs_view){"matrices[].{no[],~curve[]}", "file=^file"}, "file\na\nb\n");
}

/* Members from JSON and added members are the same. */
TEST(tables_look_into_json)
{
    CS_AUTO(cs_result) *r = cs_result_new();
    json_auto_t *made = json_pack("{s:{s:i, s:[f, n]}, s:{s:b, s:s}}", "one", "n", 3, "x", 0.5,
                                  "two", "n", 1, "name", "second"),
                *json = NULL;
    cs_item *item = cs_item_json(cs_result_root(r), "states", json_incref(made));
    cs_item_text(item, "~hidden", "h");
    table_is(r, &(cs_view){"states[]", "n name hidden=^~hidden"},
             "n,name,hidden\n3,,h\ntrue,second,h\n");
    table_is(r, &(cs_view){"states.one.x[]", "x=. n=^n"}, "x,n\n0.5,3\n,3\n");
    OK(cs_result_json(r, &json));
    assert_true(json_equal(json_object_get(json, "states"), made));
    cs_result_free(&r);
    r = cs_result_new();
    assert_null(cs_item_json(cs_result_root(r), "states", NULL));
    assert_int_equal(cs_result_status(r), CS_ERR_MEMORY);
    cs_reason_clear();
}

TEST(counts_below_0_are_none)
{
    CS_AUTO(cs_result) *r = cs_result_new();
    json_auto_t *json = NULL, *want = NULL;
    static const char text[] = "{\"none\": null, \"zero\": 0}";
    cs_item_count(cs_result_root(r), "none", -1);
    cs_item_count(cs_result_root(r), "zero", 0);
    OK(cs_result_json(r, &json));
    OK(cs_json_parse("want", text, sizeof text - 1, &want));
    assert_true(json_equal(json, want));
}

TEST_IN_DIR(a_table_is_written)
{
    static const cs_view view = {"matrices[]", "file n"};
    CS_AUTO(cs_result) *r = sample();
    OK(cs_result_write_csv(r, &view, in_dir(state, "t.csv")));
    assert_content(in_dir(state, "t.csv"), "file,n\na,7\nb,8\n");
    assert_fails(cs_result_write_csv(r, &view, in_dir(state, "no/t.csv")), CS_ERR_IO, "no/t.csv");
}

TEST(text_that_is_not_utf8_is_named)
{
    CS_AUTO(cs_result) *r = cs_result_new();
    json_t *json = NULL;
    cs_item_text(cs_result_root(r), "word", "\xff");
    assert_fails(cs_result_json(r, &json), CS_ERR_INPUT, "'word'");
}

TEST(the_first_failure_stays)
{
    EACH_ALLOCATION_FAILS(n) {
        json_auto_t *json = NULL;
        CS_AUTO(cs_table) table = {0};
        static const cs_view view = {"matrices[].metrics[]", "file=^file metric value"};
        CS_AUTO(cs_result) *r = sample();
        cs_status status = cs_result_json(r, &json);
        if (status == CS_OK) status = cs_result_table(r, &view, &table);
        assert_int_equal(table.rows, out_of_memory(status) ? 0 : 4);
    }
}
