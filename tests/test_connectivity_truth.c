/* cli: the table of true quantities that claims are ranked against. */
#include "analysis/measures/connectivity_truth.h"
#include "io/file.h"
#include "io_support.h"

static const char header[] = "series,target_position,context,metric,definition,value,se\n";

TEST_IN_DIR(truth_is_read_and_oriented)
{
    const char *path = put(
        state, "connectivity.csv",
        "series,target_position,context,metric,definition,value,se\n"
        "ar,blind,all,sum_sigma4,d,100,1\nar,given,all,sum_sigma4,d,100,1\nar,blind,all,gap,d,0.1,"
        "\n"
        "masked,blind,all,sum_sigma4,\"d, e\",20,2\nmasked,given,all,sum_sigma4,d,120,1\n"
        "masked,blind,all,gap,d,0.3,0.01\nother,blind,all,gap,d,x,0.01\n");
    cs_truth_model m[3] = {{.series = "ar", .claim = {{0.4, 0.01, 0}, {0.1, 0.01, 0}}},
                           {.series = "masked", .claim = {{0.8, 0.01, 0}, {0.1, 0.01, 0}}},
                           {.series = "nowhere", .claim = {{9, 0.01, 0}, {9, 0.01, 0}}}};
    cs_measured first[3], second[3];
    OK(cs_truth_read(path, 3, m));
    assert_true(m[0].known && m[1].known && !m[2].known);
    assert_true(m[1].truth[0].value == 20 && m[1].truth[0].se == 2 && isnan(m[0].truth[3].value));
    cs_ranking r;
    OK(cs_truth_rank(3, m, 0, 0, first, second, &r)); /* blind: masked is smaller, better */
    assert_true(r.objects == 2 && r.kendall.tau == 1 && r.agree == 1);
    OK(cs_truth_rank(3, m, 0, 1, first, second, &r)); /* given: it is larger, worse */
    assert_true(r.kendall.tau == -1 && r.disagree == 1);
    OK(cs_truth_rank(3, m, 0, 2, first, second, &r)); /* gap: larger, but one error is not known */
    assert_true(r.kendall.tau == 1 && r.undetermined == 1);
    OK(cs_truth_rank(3, m, 1, 0, first, second, &r)); /* equal claims */
    assert_true(isnan(r.kendall.tau) && r.undetermined == 1);
    OK(cs_truth_rank(3, m, 0, 3, first, second, &r)); /* not in the file */
    assert_int_equal(r.objects, 0);
}

/* The language's own matrix precedes that of a corpus drawn from it. */
TEST_IN_DIR(populations_are_exact)
{
    const char *path = put(state, "connectivity.csv",
                           "series,target_position,metric,estimate,value,se,documents\n"
                           "a,blind,sum_sigma4,plug-in,9,1,40\n"
                           "a,blind,sum_sigma4,distinct-document,5,1,40\n"
                           "a,blind,sum_sigma4,population,3,,\n"
                           "b,blind,sum_sigma4,plug-in,8,1,40\n"
                           "b,blind,sum_sigma4,population,4,,\n");
    cs_truth_model m[2] = {{.series = "a", .claim = {{0.4, 0.01, 0}}},
                           {.series = "b", .claim = {{0.8, 0.01, 0}}}};
    cs_measured first[2], second[2];
    cs_ranking r;
    OK(cs_truth_read(path, 2, m));
    assert_true(m[0].truth[0].value == 3 && m[1].truth[0].value == 4 && m[0].truth[0].se == 0);
    OK(cs_truth_rank(2, m, 0, 0, first, second, &r));
    assert_true(r.disagree == 1 && r.undetermined == 0);
}

/* One degree of freedom less than blocks; none known without the column or a number in it. */
TEST_IN_DIR(truth_has_blocks)
{
    const char *path = put(state, "connectivity.csv",
                           "series,target_position,metric,value,se,blocks\n"
                           "a,blind,gap,1,0.1,10\nb,blind,gap,2,0.1,\na,given,gap,1,,0\n");
    cs_truth_model m[2] = {{.series = "a"}, {.series = "b"}};
    OK(cs_truth_read(path, 2, m));
    assert_true(m[0].truth[2].freedom == 9 && m[1].truth[2].freedom == 0);
    assert_int_equal(m[0].truth[3].freedom, 0);
}

TEST_IN_DIR(bad_truth_is_named)
{
    static const test_refusal bad[] = {
        {"series,target_position,metric,value\n", "no column se; expected connectivity.csv"},
        {"", "0 of the 2 NAMEs, but a ranking needs two; available series: none"},
        {"a,blind,,gap,,1,1\nc,blind,,gap,,1,1\n",
         "1 of the 2 NAMEs, but a ranking needs two; available series: a, c"},
        {"a,blind,,gap,,1,1\nb,blind,,gap,,one,1\n", "connectivity.csv:3: value 'one' is not"},
        {"a,blind,,gap,,1,-1\n", "connectivity.csv:2: standard error -1 is negative"},
        {"a,blind,,gap,,1,1\na,blind,,gap,,1,1\n",
         ":3: gap of a, target position blind, is listed twice"},
        {"series,target_position,metric,value,se,blocks\na,blind,gap,1,1,-3\n",
         "connectivity.csv:2: blocks: -3 is negative"},
        {"series,target_position,metric,value,se,blocks\na,blind,gap,1,1,ten\n",
         "connectivity.csv:2: blocks: 'ten' is not an integer"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        CS_AUTO_FREE char *text =
            cs_format("%s%s", strncmp(bad[i].text, "series,", 7) == 0 ? "" : header, bad[i].text);
        cs_truth_model m[2] = {{.series = "a"}, {.series = "b"}};
        assert_non_null(text);
        assert_fails(cs_truth_read(put(state, "connectivity.csv", text), 2, m), CS_ERR_INPUT,
                     bad[i].reason);
    }
}

static cs_status read_truth(const char *path)
{
    cs_truth_model m[2] = {{.series = "a"}, {.series = "b"}};
    return cs_truth_read(path, 2, m);
}

TEST_IN_DIR(every_allocation_may_fail)
{
    CS_AUTO_FREE char *text = cs_format("%sa,blind,,gap,,1,1\nb,blind,,gap,,1,1\n", header);
    fail_each_allocation(read_truth, put(state, "connectivity.csv", text));
}
