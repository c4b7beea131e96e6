/* Lines of progress off a terminal: one each period, whether or not the work reports. */
#include <fcntl.h>
#include <stdlib.h>

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
