/* Progress: when it is shown, and the time left. */
#include "base/eta.h"
#include "test.h"

static const char *text_of(const cs_eta *pace, double now)
{
    static char text[128];
    cs_eta_text(pace, "steps", now, text, sizeof text);
    return text;
}

TEST(a_line_a_period)
{
    cs_eta pace = {0};
    int shown = 0;
    for (int i = 0; i <= 1800; ++i) { /* ten a second */
        shown += cs_eta_report(&pace, i, 3600, i / 10.0, 60);
    }
    assert_int_equal(shown, 3);
    assert_string_equal(text_of(&pace, 180), "1800/3600 steps, about 3 min left");
}

/* A resumed run begins in the middle; the pace is that of what this run did. */
TEST(pace_is_this_runs)
{
    cs_eta pace = {0};
    (void)cs_eta_report(&pace, 1000, 2000, 5, 60);
    assert_string_equal(text_of(&pace, 5), "1000/2000 steps");
    (void)cs_eta_report(&pace, 1010, 2000, 15, 60);
    assert_string_equal(text_of(&pace, 15), "1010/2000 steps, about 16 min left");
    (void)cs_eta_report(&pace, 1011, 20000, 16, 60); /* another stage */
    assert_string_equal(text_of(&pace, 16), "1011/20000 steps");
    (void)cs_eta_report(&pace, 1012, 20000, 17, 60);
    assert_string_equal(text_of(&pace, 17), "1012/20000 steps, about 5 h left");
}

TEST(seconds_left_are_reported_where_they_are_known)
{
    char left[CS_ETA_LEFT];
    cs_eta_seconds(5, left);
    assert_string_equal(left, ", about 5 s left");
    cs_eta_seconds(NAN, left);
    assert_string_equal(left, "");
}

TEST(stages_do_not_hide_the_minute)
{
    cs_eta pace = {0};
    int shown = 0;
    for (int i = 0; i < 130; ++i) { /* a new stage every second */
        shown += cs_eta_report(&pace, 0, 0, i, 60);
        shown += cs_eta_report(&pace, 1, 1, i, 60);
    }
    assert_int_equal(shown, 2);
    (void)cs_eta_report(&pace, 7, 0, 131, 60);
    assert_string_equal(text_of(&pace, 140), "7 steps");
}
