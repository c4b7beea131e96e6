/* The list of a program's tests, and its main(). */
#include "test.h"

#include <assert.h>
#include <errno.h>

enum { TESTS_LIMIT = 128 };

static struct CMUnitTest list[TESTS_LIMIT];
static size_t listed;
static CMFixtureFunction before_all, after_all;

void test_add(struct CMUnitTest test)
{
    assert(listed < TESTS_LIMIT);
    list[listed++] = test;
}

void test_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    before_all = set_up;
    after_all = tear_down;
}

int main(void)
{
    return _cmocka_run_group_tests(program_invocation_short_name, list, listed, before_all,
                                   after_all);
}
