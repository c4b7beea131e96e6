/* A stage may report seldom (one long matrix product), so the lines of a log come from a thread of
 * their own: a run that is silent for more than a minute does not exist. The thread takes no signals
 * and no part in the work. */
#include "cli/progress_bar.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/eta.h"
#include "base/visible.h"

enum { CELLS = 30, STAGE = 96 };

static bool bar_shown; /* a progress line is unfinished on the terminal */

/* Where a program that runs this one reads its progress: the file descriptor $COSPEC_PROGRESS, -1 without.
 * Each line has stage, done and total, separated by tabs. */
static int receiver(void)
{
    const char *text = getenv("COSPEC_PROGRESS");
    return text && *text ? atoi(text) : -1;
}

static void send_report(int to, const char *stage, int64_t done, int64_t total)
{
    static char last[STAGE];
    static double sent;
    char line[STAGE + 48];
    const double now = cs_seconds();
    const bool ended = total > 0 && done >= total;
    if (strncmp(last, stage, STAGE - 1) == 0 && !ended && now < sent + 0.1) return;
    (void)snprintf(last, sizeof last, "%s", stage);
    sent = now;
    const int length =
        snprintf(line, sizeof line, "%s\t%lld\t%lld\n", last, (long long)done, (long long)total);
    if (write(to, line, (size_t)length) < 0) return; /* nobody reads: the work goes on */
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    pthread_t thread;
    bool running, stop;
    double period, begun;
    cs_eta pace;
    char stage[STAGE]; /* of the last report; "": none yet, or the stage has ended */
} beat = {.lock = PTHREAD_MUTEX_INITIALIZER, .stopping = PTHREAD_COND_INITIALIZER};

void cs_progress_clear(void)
{
    if (bar_shown) {
        (void)fputs("\r\033[K", stderr);
        bar_shown = false;
    }
}

/* --- a bar ------------------------------------------------------------------------------------ */

static void show_bar(const char *stage, int64_t done, int64_t total)
{
    static cs_eta pace;
    const double now = cs_seconds();
    const bool ended = total > 0 && done >= total;
    const bool due = cs_eta_report(&pace, done, total, now, 0.1);
    if (ended) {
        cs_progress_clear();
    }
    if (!due || ended) {
        return;
    }
    char text[160], cells[CELLS + 1];
    cs_eta_text(&pace, stage, now, text, sizeof text);
    int full = total > 0 ? (int)(CELLS * ((double)done / (double)total)) : 0;
    for (int i = 0; i < CELLS; ++i) {
        cells[i] = i < full ? '#' : '.';
    }
    cells[CELLS] = '\0';
    (void)fprintf(stderr, "\r\033[K%s%s%s%s", total > 0 ? "[" : "", total > 0 ? cells : "",
                  total > 0 ? "] " : "", text);
    bar_shown = true;
}

/* --- lines of a log --------------------------------------------------------------------------- */

static void note_report(const char *stage, int64_t done, int64_t total)
{
    (void)pthread_mutex_lock(&beat.lock);
    (void)cs_eta_report(&beat.pace, done, total, cs_seconds(), INFINITY);
    (void)snprintf(beat.stage, sizeof beat.stage, "%s", total > 0 && done >= total ? "" : stage);
    (void)pthread_mutex_unlock(&beat.lock);
}

static void write_line(void)
{
    const double now = cs_seconds(), spent = now - beat.begun;
    char text[160] = "working";
    if (beat.stage[0]) cs_eta_text(&beat.pace, beat.stage, now, text, sizeof text);
    if (spent < 90) {
        (void)fprintf(stderr, "%.0f s: %s\n", spent, text);
    } else {
        (void)fprintf(stderr, "%.0f min: %s\n", spent / 60, text);
    }
}

static void *keep_writing(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&beat.lock);
    for (int64_t line = 1; !beat.stop; ++line) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        const double wait = beat.begun + (double)line * beat.period - cs_seconds(),
                     whole = floor(fmax(wait, 0));
        const long nano = until.tv_nsec + (long)(1e9 * (fmax(wait, 0) - whole));
        until.tv_sec += (time_t)whole + nano / 1000000000;
        until.tv_nsec = nano % 1000000000;
        while (!beat.stop && pthread_cond_timedwait(&beat.stopping, &beat.lock, &until) == 0) {
        }
        if (!beat.stop) write_line();
    }
    (void)pthread_mutex_unlock(&beat.lock);
    return NULL;
}

void cs_progress_start(double period)
{
    sigset_t all, before;
    if (beat.running || isatty(STDERR_FILENO) || receiver() >= 0) {
        return;
    }
    beat.stop = false;
    beat.period = period;
    beat.begun = cs_seconds();
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    beat.running = pthread_create(&beat.thread, NULL, keep_writing, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cs_progress_stop(void)
{
    if (beat.running) {
        (void)pthread_mutex_lock(&beat.lock);
        beat.stop = true;
        (void)pthread_cond_signal(&beat.stopping);
        (void)pthread_mutex_unlock(&beat.lock);
        (void)pthread_join(beat.thread, NULL);
        beat.running = false;
    }
}

static void show(void *ctx, const char *reported, int64_t done, int64_t total)
{
    char stage[STAGE];
    (void)ctx;
    cs_visible_copy(stage, sizeof stage, reported, "");
    if (receiver() >= 0) {
        send_report(receiver(), stage, done, total);
    } else if (isatty(STDERR_FILENO)) {
        show_bar(stage, done, total);
    } else {
        note_report(stage, done, total);
    }
}

const cs_progress cs_progress_shown = {show, NULL};
