/* fork and exec rather than posix_spawn, which cannot bind a child's life to its parent's
 * (prctl(2), PR_SET_PDEATHSIG; Linux). A pipe that exec closes reports why a child did not start.
 *
 * Limit: what the child has started itself does not hear of this process's death. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/threads.h"

/* Signals as a new program expects them: this one ignores some and handles others. */
static void reset_signals(void)
{
    static const int changed[] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; ++i) {
        (void)signal(changed[i], SIG_DFL);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child, up to exec; returns only when that failed. */
static void become(const cs_child *child, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || setpgid(0, 0) != 0) {
        return;
    }
    if (getppid() != parent) { /* it died before the child asked for the signal */
        _exit(128 + SIGTERM);
    }
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        (child->out > 0 && dup2(child->out, STDOUT_FILENO) < 0) ||
        (child->err > 0 && dup2(child->err, STDERR_FILENO) < 0) ||
        (child->dir && chdir(child->dir) != 0)) {
        return;
    }
    reset_signals();
    (void)execvp(child->argv[0], (char *const *)(uintptr_t)child->argv);
}

static pid_t start(const cs_child *child, int report)
{
    const pid_t parent = getpid();
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid =
        _Fork(); /* without the fork handlers of libraries: OpenBLAS ends its threads there */
    if (pid == 0) {
        become(child, parent);
        int reason = errno;
        (void)!write(report, &reason, sizeof reason);
        _exit(127);
    }
    int reason = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return pid;
}

/* Waits by looking, for a handler that restarts system calls would leave waitpid(2) asleep. */
static cs_status wait_for(pid_t pid, const char *name, int *code)
{
    const struct timespec longest = {.tv_nsec = 20000000};
    struct timespec pause = {.tv_nsec = 500000};
    bool signalled = false;
    int state = 0;
    for (;;) {
        pid_t ended = waitpid(pid, &state, WNOHANG);
        if (ended == pid) {
            break;
        }
        if (ended < 0 && errno != EINTR) {
            return cs_fail(CS_ERR_IO, "waiting for %s: %s", name, strerror(errno));
        }
        /* All of its group: a shell hears of it only once the command that it waits for has ended. */
        if (cs_interrupted() && !signalled) {
            signalled = kill(-pid, SIGTERM) == 0; /* not before it has made its group */
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < longest.tv_nsec ? pause.tv_nsec * 2 : longest.tv_nsec;
    }
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return *code == 0 || !cs_interrupted() ? CS_OK : cs_fail(CS_ERR_INTERRUPT, "interrupted");
}

cs_status cs_child_run(const cs_child *child, int *code)
{
    const char *name = child->argv[0];
    int report[2], reason = 0;
    if (pipe2(report, O_CLOEXEC) != 0) {
        return cs_fail(CS_ERR_IO, "cannot run %s: %s", name, strerror(errno));
    }
    pid_t pid = start(child, report[1]);
    reason = pid < 0 ? errno : 0;
    (void)close(report[1]);
    bool failed = pid < 0 || read(report[0], &reason, sizeof reason) == (ssize_t)sizeof reason;
    (void)close(report[0]);
    if (failed) {
        if (pid > 0) {
            (void)waitpid(pid, NULL, 0);
        }
        return cs_fail(CS_ERR_IO, "cannot run %s: %s", name, strerror(reason));
    }
    return wait_for(pid, name, code);
}
