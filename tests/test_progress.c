/* Progress: when it is shown, and the time left; off a terminal a line each period, whether or not
 * the work reports. */
#include <fcntl.h>
#include <stdlib.h>

#include "base/eta.h"
#include "cli/progress_bar.h"
#include "io_support.h"

static void wait_for(double seconds)
{
    (void)usleep((useconds_t)(1e6 * seconds));
}

/* Lines on standard error, which goes to a file, and the text. */
static int64_t lines_of(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    const size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    int64_t lines = COUNT(i, 0, n, text[i] == '\n');
    (void)fclose(f);
    return lines;
}

TEST(a_silent_stage_has_lines)
{
    char text[4096], path[] = "/tmp/cospec-progress-XXXXXX";
    const int file = mkstemp(path), kept = dup(STDERR_FILENO);
    assert_true(file >= 0 && kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    cs_progress_start(0.05);
    cs_progress_start(0.01); /* it runs already */
    wait_for(0.12);
    cs_progress_report(&cs_progress_shown, "blocks", 3, 40);
    wait_for(0.2);
    cs_progress_report(&cs_progress_shown, "blocks", 40, 40);
    wait_for(0.1);
    cs_progress_stop();
    const int64_t lines = lines_of(path, text, sizeof text);
    wait_for(0.12);
    const int64_t after = lines_of(path, text, sizeof text);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(file);
    (void)unlink(path);
    assert_true(lines >= 4 && lines <= 9); /* late wakes lose a line or two, never make one */
    assert_int_equal(after, lines);
    assert_non_null(strstr(text, "0 s: working\n"));
    assert_non_null(strstr(text, "0 s: 3/40 blocks"));
    assert_null(strstr(text, "40/40"));
}

TEST(it_starts_again_and_stops_at_once)
{
    cs_progress_stop();
    cs_progress_start(60);
    cs_progress_stop();
    cs_progress_start(60);
    cs_progress_stop();
}

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
