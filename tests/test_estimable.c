/* Whether a corpus is large enough for a number of its language, and which size would be. */
#include "analysis/measures/estimable.h"
#include "test.h"

/* A corpus that passes every check. */
static cs_estimable_input good(void)
{
    return (cs_estimable_input){.documents = 1000,
                                .seen = 0.8,
                                .seen_halves = 0.7,
                                .sigma_1 = 1.02,
                                .low = 3,
                                .high = 5,
                                .cross_fit = 2,
                                .plug_in = 9};
}

TEST(each_check_fails_alone)
{
    cs_estimable_input in = good();
    cs_estimable e = cs_estimable_of(&in);
    assert_true(e.all && e.seen && e.leading && e.interval && e.order && e.documents == 1000);
    in.seen = 0.125, in.seen_halves = 0.0625; /* proportional: four times as many */
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.seen && e.leading && e.interval && e.order);
    assert_float_equal(e.documents, 4000, 1e-9);
    in = good(), in.sigma_1 = 2; /* an excess of 3 falls to 1 */
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.leading && e.seen);
    assert_float_equal(e.documents, 3000, 1e-9);
    in = good(), in.low = 1, in.high = 16; /* a factor of 4 around the middle, and 2 is wanted */
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.interval && e.leading);
    assert_float_equal(e.documents, 4000, 1e-9);
    in = good(), in.cross_fit = 6;
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.order && isnan(e.documents));
    in = good(), in.plug_in = 2;
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.order && isnan(e.documents));
}

TEST(what_is_not_known_contradicts_nothing)
{
    cs_estimable_input in = good();
    in.sigma_1 = in.low = in.high = in.cross_fit = in.plug_in = NAN;
    assert_true(cs_estimable_of(&in).all);
    in.seen = NAN; /* except the mass seen, which is always counted */
    assert_false(cs_estimable_of(&in).all);
    in.seen = in.seen_halves = 0;
    assert_true(!cs_estimable_of(&in).all && isnan(cs_estimable_of(&in).documents));
    in.seen = in.seen_halves = 0.3; /* it does not grow */
    assert_true(isnan(cs_estimable_of(&in).documents));
}
