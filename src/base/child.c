/* fork and exec rather than posix_spawn, which cannot bind a child's life to its parent's
 * (prctl(2), PR_SET_PDEATHSIG; Linux). A pipe that exec closes reports why a child did not start.
 *
 * That signal reaches one process, and a shell takes note of it only once the tool that it waits
 * for has ended. So a guard process runs between the two: a fork of this process, without files,
 * that passes SIGTERM on to all of the program's process group and ends with the program's exit
 * code. After that signal it stays until the group is empty; what is left GRACE_SECONDS later, once
 * the program has ended or nobody waits for it, is killed.
 *
 * Limit: a program that leaves its process group is on its own. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/threads.h"

enum { GRACE_SECONDS = 30, LOOKS_PER_SECOND = 50 };

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

/* fork(2) without the fork handlers of libraries: OpenBLAS ends its threads there. glibc has it as
 * _Fork, but only since 2.34. */
static pid_t fork_plainly(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Closes every file, as closefrom(3) of glibc 2.34. Linux before 5.9 lacks close_range(2): there the
 * files below `most` are closed one by one, since a limit of a thousand million is common. */
static void close_all(void)
{
    const int most = 1 << 16;
    if (syscall(__NR_close_range, 0U, ~0U, 0U) == 0) {
        return;
    }
    for (int fd = 0; fd < most; ++fd) {
        (void)close(fd);
    }
}

/* Binds a new process to its parent, in its own process group. */
static bool attach(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || setpgid(0, 0) != 0) {
        return false;
    }
    if (getppid() != parent) { /* the parent died before the signal was set up */
        _exit(128 + SIGTERM);
    }
    return true;
}

_Noreturn static void not_started(int report)
{
    int reason = errno;
    (void)!write(report, &reason, sizeof reason);
    _exit(127);
}

/* In the program's process, up to exec; returns only when that failed. */
static void become(const cs_child *child, pid_t guard)
{
    int null = open("/dev/null", O_RDONLY);
    if (!attach(guard) || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        (child->out > 0 && dup2(child->out, STDOUT_FILENO) < 0) ||
        (child->err > 0 && dup2(child->err, STDERR_FILENO) < 0) ||
        (child->dir && chdir(child->dir) != 0)) {
        return;
    }
    reset_signals();
    (void)execvp(child->argv[0], (char *const *)(uintptr_t)child->argv);
}

static int code_of(int state)
{
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* Waits for the program and passes on each SIGTERM: its parent's, or that of its parent's death. */
static int watch(pid_t program, pid_t parent)
{
    const struct timespec look = {.tv_nsec = 1000000000 / LOOKS_PER_SECOND};
    int code = 0, left = GRACE_SECONDS * LOOKS_PER_SECOND;
    bool ended = false, signalled = false;
    sigset_t heard;
    (void)sigemptyset(&heard);
    (void)sigaddset(&heard, SIGTERM);
    (void)sigaddset(&heard, SIGCHLD);
    for (;;) {
        int state = 0;
        for (pid_t gone; (gone = waitpid(-1, &state, WNOHANG)) > 0;) {
            if (gone == program) {
                code = code_of(state);
                ended = true;
            }
        }
        if (signalled && (ended || getppid() != parent) && left-- == 0) {
            (void)kill(-program, SIGKILL);
            signalled = false;
        }
        if (ended && (!signalled || kill(-program, 0) != 0)) {
            return code;
        }
        if (sigtimedwait(&heard, NULL, signalled ? &look : NULL) == SIGTERM) {
            (void)kill(-program, SIGTERM);
            signalled = true;
        }
    }
}

/* All signals are blocked here. Orphans of the program come to the guard, which takes note of
 * their end. */
_Noreturn static void guard(const cs_child *child, pid_t parent, int report)
{
    const pid_t self = getpid();
    (void)signal(SIGCHLD, SIG_DFL);
    pid_t program = -1;
    if (attach(parent) && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 &&
        prctl(PR_SET_NAME, "child guard") == 0) {
        program = fork_plainly();
    }
    if (program == 0) {
        become(child, self);
    }
    if (program <= 0) {
        not_started(report);
    }
    (void)setpgid(program, program); /* whichever of the two is first */
    close_all();
    _exit(watch(program, parent));
}

static pid_t start(const cs_child *child, int report)
{
    const pid_t parent = getpid();
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork_plainly();
    if (pid == 0) {
        guard(child, parent, report);
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
        if (cs_interrupted() && !signalled) {
            signalled = kill(pid, SIGTERM) == 0;
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < longest.tv_nsec ? pause.tv_nsec * 2 : longest.tv_nsec;
    }
    *code = code_of(state);
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
