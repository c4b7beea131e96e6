/* The list of a program's tests, and its main(). */
#include "test.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { TESTS_LIMIT = 128 };

static struct CMUnitTest list[TESTS_LIMIT];
static size_t listed;
static CMFixtureFunction before_all, after_all;

/* The fixtures of the tests themselves; cmocka's calls what is around them. */
static struct {
    CMFixtureFunction set_up, tear_down;
} own[TESTS_LIMIT];
static size_t running; /* 1 + the number of the test */

static struct block {
    struct block *next;
    max_align_t first[];
} * blocks;

void *test_zeros(int64_t count, size_t size)
{
    assert_true(count >= 0);
    struct block *r = calloc(1, sizeof *r + (size_t)count * size);
    assert_non_null(r);
    r->next = blocks;
    blocks = r;
    return r->first;
}

static int begin_test(void **state)
{
    running += 1;
    return own[running - 1].set_up ? own[running - 1].set_up(state) : 0;
}

static int end_test(void **state)
{
    while (blocks) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    return own[running - 1].tear_down ? own[running - 1].tear_down(state) : 0;
}

void test_add(struct CMUnitTest test)
{
    assert(listed < TESTS_LIMIT);
    own[listed].set_up = test.setup_func;
    own[listed].tear_down = test.teardown_func;
    test.setup_func = begin_test;
    test.teardown_func = end_test;
    list[listed++] = test;
}

void test_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    before_all = set_up;
    after_all = tear_down;
}

void test_ok(cs_status status, const char *call, const char *file, int line)
{
    if (status != CS_OK) {
        print_error("%s: status %d: %s\n", call, (int)status, cs_reason());
        _fail(file, line);
    }
}

void test_near(double x, double y, double tolerance, const char *file, int line)
{
    if (!(fabs(x - y) <= tolerance)) {
        print_error("%.17g is not %.17g within %g\n", x, y, tolerance);
        _fail(file, line);
    }
}

void test_each(const char *name, int64_t i, const char *condition, const char *file, int line)
{
    print_error("%s = %lld: not %s\n", name, (long long)i, condition);
    _fail(file, line);
}

static int64_t failing;  /* the number of the allocation that fails */
static bool none_failed; /* in the last call of out_of_memory */

bool test_fail_next(int64_t *n)
{
    if (*n > 0 && none_failed) return false;
    none_failed = false;
    assert_true(*n < 100000);
    (void)cs_mem_fail_at(++*n);
    failing = *n;
    return true;
}

bool out_of_memory(cs_status status)
{
    const bool failed = failing <= cs_mem_fail_at(0);
    if (failed) {
        assert_int_equal(status, CS_ERR_MEMORY);
        assert_string_not_equal(cs_reason(), "");
    } else {
        OK(status);
    }
    none_failed = !failed;
    cs_reason_clear();
    return failed;
}

pid_t test_fork(void)
{
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    return child;
}

int exit_code(pid_t child)
{
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

const char *test_temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder ? folder : "/tmp";
}

void test_reason(const char *part, const char *file, int line)
{
    if (!strstr(cs_reason(), part)) {
        print_error("the reason '%s' lacks '%s'\n", cs_reason(), part);
        _fail(file, line);
    }
    cs_reason_clear();
}

#ifdef CS_COVERAGE
/* gcov keeps what a process took when it ends by exit(); children of tests end by this. Where their
 * files may not grow nothing is kept, or what is there were cut short. */
void __gcov_dump(void);
void _exit(int code)
{
    const struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &any) == 0) __gcov_dump();
    (void)syscall(SYS_exit_group, code);
    abort();
}
#endif

/* Tools for the oracles, which use the same support, have their own. */
__attribute__((weak)) int main(void)
{
    return _cmocka_run_group_tests(program_invocation_short_name, list, listed, before_all,
                                   after_all);
}
