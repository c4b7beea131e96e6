/* The program: signals, dispatch, exit codes. Results go to standard output, which is checked to
 * the last byte; the reason of a failure goes to standard error as one line. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lapacke.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "version.h"

/* The first signal asks long loops to stop; a second of a user's ends the program at once. Those of
 * the system repeat: SIGXCPU every second, SIGHUP from the shell and then from the terminal. And
 * timeout(1) sends its signal to the process and to its group, which is twice at one time. */
static void on_signal(int number)
{
    static _Atomic double first;
    const double apart = 0.2, now = cs_seconds();
    if (!cs_interrupted()) {
        first = now;
    } else if ((number == SIGINT || number == SIGTERM) && now - first > apart) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
    cs_interrupt_set();
}

static void set_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGXCPU, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) { /* no nohup */
        (void)sigaction(SIGHUP, &action, NULL);
    }
    /* A closed pipe, and a file over the size limit, are write errors like any other. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* of children that are ignored nobody learns the end */
}

/* OpenBLAS makes its threads while it is loaded, before main(); when it cannot, it sends SIGINT to
 * this very process. Until main() can distinguish that signal from a user's, it waits. */
static void hold_interrupt(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = hold_interrupt;

static void take_held_interrupt(void)
{
    const struct timespec at_once = {0};
    siginfo_t info;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    bool came = sigtimedwait(&set, &info, &at_once) == SIGINT;
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (came && info.si_code <= SI_USER && info.si_pid == getpid()) {
        cs_threads_blas_broken();
    } else if (came) {
        cs_interrupt_set();
    }
}

/* Ends the program without the exit handlers of libraries: OpenBLAS would wait for threads that
 * have failed. All output is written; a leak checker that is there has its say, but on what is kept
 * for a computation left behind. */
extern void __lsan_do_leak_check(void) __attribute__((weak));

_Noreturn static void leave(int code)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (__lsan_do_leak_check && !cs_mem_free_is_deferred()) {
        __lsan_do_leak_check();
    }
    _exit(code);
}

/* In place of LAPACKE's own, which writes to standard output; what it says is in the return value too. */
void LAPACKE_xerbla(const char *routine, lapack_int info);
void LAPACKE_xerbla(const char *routine, lapack_int info)
{
    (void)routine;
    (void)info;
}

/* A standard stream that the caller closed would lend its number to the first file opened; a
 * read-only descriptor in its place keeps writes failing. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; ++fd) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            (void)open("/dev/null", O_RDONLY);
        }
    }
}

/* Ours would overflow below 256 KiB. OpenBLAS's threads, made before main(), have a stack of this
 * limit too, so that raising it here would come too late. */
static cs_status check_stack(void)
{
    const rlim_t kib = 1024, needed = 512 * kib;
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < needed
               ? cs_fail(CS_ERR_MEMORY,
                         "the stack is limited to %lld KiB (ulimit -s), but %lld KiB are needed",
                         (long long)(limit.rlim_cur / kib), (long long)(needed / kib))
               : CS_OK;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        (void)cs_fail(CS_ERR_USAGE, "no command is given; 'cospec help' lists the commands");
        return 2;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return cs_exit_code(cs_show(cs_opt_overview, cs_commands));
    }
    if (strcmp(name, "--version") == 0) {
        return puts("cospec " CS_VERSION " (" CS_COMMIT ")") == EOF ? 3 : 0;
    }
    if (strcmp(name, "--complete") == 0) {
        cs_complete(argc - 2, argv + 2, stdout);
        return 0;
    }
    const cs_command *command = NULL;
    if (cs_command_by_name(name, &command) != CS_OK) return 2;
    cs_status status = check_stack();
    return status == CS_OK ? cs_command_run(command, argc - 2, argv + 2) : cs_exit_code(status);
}

/* Whether the reader of standard output has closed it, as head(1) does. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    set_signals();
    take_held_interrupt();
    int code = dispatch(argc, argv);
    errno = 0;
    bool lost = ferror(stdout) != 0;
    lost = fflush(stdout) != 0 || lost;
    const bool left = lost && reader_left();
    lost = fclose(stdout) != 0 || lost;
    const bool unprinted = strncmp(cs_reason(), "standard output", strlen("standard output")) == 0;
    if (left &&
        (code == 0 || (code == 3 && unprinted))) { /* the reader has what it wanted: no error */
        code = 0;
        cs_reason_clear();
    } else if (lost && code == 0) {
        code = 3;
        cs_reason_clear();
        (void)cs_fail(CS_ERR_IO, "standard output: %s",
                      errno ? strerror(errno) : "cannot be written");
    }
    bool failed = cs_reason()[0] != '\0'; /* of several ranks one has a reason */
    if (failed) {
        const char *command = argc > 1 ? argv[1] : "";
        (void)fputs(argc > 1 ? "cospec " : "cospec", stderr);
        cs_visible_write(stderr, command, strlen(command), "");
        (void)fprintf(stderr, ": %s\n", cs_reason());
    }
    if (failed && code == 2) {
        const cs_command *known = NULL;
        bool found = argc > 1 && cs_command_by_name(argv[1], &known) == CS_OK;
        (void)fprintf(stderr, "see 'cospec help%s%s'\n", found ? " " : "", found ? argv[1] : "");
    }
    leave(code);
}
