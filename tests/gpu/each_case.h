/* Cases one after the other, where one that aborts, hangs or loses the device does not take the
 * others with it: a child process runs them, and where it ends before the last, another goes on
 * behind the case at which it ended. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASE_WHY = 512, CASE_SKIPPED = 77 };

typedef struct {
    int64_t count;
    int (*open)(void); /* in the process that runs cases; not 0: it ends with this code */
    const char *(*name)(int64_t i);
    bool (*run)(int64_t i, char why[CASE_WHY]);
    const char *mode, *word; /* only names that hold the word */
    unsigned seconds;        /* of one case; 0: no limit and no child, for a sanitizer */
} case_list;

/* Survives the child. */
typedef struct {
    int64_t next, passed, failed;
    bool opened;
} case_state;

static void case_report(case_state *s, const case_list *list, bool good, const char *why)
{
    s->passed += good;
    s->failed += !good;
    (void)printf("%s %s, %s%s%s\n", good ? "ok" : "not ok", list->mode, list->name(s->next),
                 why[0] ? ": " : "", why);
    (void)fflush(stdout);
}

static int case_run(case_state *s, const case_list *list)
{
    int code = list->open();
    s->opened = code == 0;
    for (; code == 0 && s->next < list->count; ++s->next) {
        char why[CASE_WHY] = "";
        if (strstr(list->name(s->next), list->word)) {
            (void)alarm(list->seconds);
            bool good = list->run(s->next, why);
            (void)alarm(0);
            case_report(s, list, good, why);
        }
    }
    return code;
}

/* 0 where all passed and there were some; the code of `open` where that failed; else 1. */
static int each_case(const case_list *list)
{
    case_state *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code = 0, state = 0;
    if (s == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    if (list->seconds == 0) {
        code = case_run(s, list);
    }
    while (list->seconds > 0 && code == 0 && s->next < list->count) {
        (void)fflush(stdout);
        s->opened = false;
        pid_t child = fork();
        if (child == 0) {
            exit(case_run(s, list));
        }
        if (child < 0 || waitpid(child, &state, 0) != child) {
            perror("fork");
            return 1;
        }
        code = WIFEXITED(state) && !s->opened ? WEXITSTATUS(state) : 0;
        if (code == 0 && s->next < list->count) {
            char why[CASE_WHY];
            int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
            (void)snprintf(why, sizeof why, "ended by %s (what it printed is above)",
                           number == SIGALRM ? "its time limit"
                           : number > 0      ? strsignal(number)
                                             : "itself");
            case_report(s, list, false, why);
            ++s->next;
            code = s->opened ? 0 : 1; /* opening itself ended the child */
        }
    }
    if (code == 0) {
        (void)printf("%s: %lld passed, %lld failed\n", list->mode, (long long)s->passed,
                     (long long)s->failed);
    }
    code = code ? code : s->failed > 0 || s->passed == 0;
    (void)munmap(s, sizeof *s);
    return code;
}
