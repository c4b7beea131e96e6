/* A test program: each TEST says its own name and runs in the order of the file.
 *
 *     TEST(pairs_are_counted)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 * TEST_WITH has a fixture besides: cmocka's set-up and tear-down, which pass `state`. tests/test.c
 * has main(), which reports as cmocka does; a skip is skip().
 */
#pragma once

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/status.h"

#define TEST(name) TEST_WITH(name, NULL, NULL)

#define TEST_WITH(name, set_up, tear_down)                                                         \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void name##_is_listed(void)                                \
    {                                                                                              \
        test_add((struct CMUnitTest){#name, name, set_up, tear_down, NULL});                       \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

/* The fixture of the whole program; its `state` is what each test begins with. */
#define TEST_PROGRAM(set_up, tear_down)                                                            \
    __attribute__((constructor)) static void program_fixture(void)                                 \
    {                                                                                              \
        test_fixture(set_up, tear_down);                                                           \
    }

void test_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Lists a test of the program; for tests that are made in a loop, from a constructor. */
void test_add(struct CMUnitTest test);

/* The call succeeds; else the test fails with its reason. */
#define OK(call) test_ok((call), #call, __FILE__, __LINE__)
void test_ok(cs_status status, const char *call, const char *file, int line);

/* $TMPDIR, or /tmp: what tests write lies in a folder there. */
const char *test_temporary(void);

/* |x - y| <= tolerance. */
#define assert_near(x, y, tolerance) test_near((x), (y), (tolerance), __FILE__, __LINE__)
void test_near(double x, double y, double tolerance, const char *file, int line);

/* A block that runs with the 1st, 2nd, ... allocation failing, until none fails. In it, out_of_memory
 * returns whether one failed in the call that it is given: that returned CS_ERR_MEMORY with a reason,
 * else the call succeeded.
 *
 *     EACH_ALLOCATION_FAILS(n) {
 *         CS_AUTO(cs_csr) a = {0};
 *         if (out_of_memory(cs_csr_init(&a, 3, 3, 9))) assert_null(a.val);
 *     }
 */
#define EACH_ALLOCATION_FAILS(n) for (int64_t n = 0; test_fail_next(&n);)
bool test_fail_next(int64_t *n);
bool out_of_memory(cs_status status);

/* The condition holds for every i from `first` to `end` - 1; else the test fails and names the first
 * i for which it does not hold. */
#define assert_each(i, first, end, condition)                                                      \
    do {                                                                                           \
        for (int64_t i = (first), end_of_##i = (int64_t)(end); i < end_of_##i; ++i) {              \
            if (!(condition)) test_each(#i, i, #condition, __FILE__, __LINE__);                    \
        }                                                                                          \
    } while (0)
void test_each(const char *name, int64_t i, const char *condition, const char *file, int line);

/* The sum of a term over i = first .. end - 1, which has the type of `end`; for how many of them a
 * condition holds; whether it does for any. */
#define SUM(i, first, end, term) TEST_FOLD(double, i, first, end, fold_##i += (double)(term))
#define COUNT(i, first, end, condition) TEST_FOLD(int64_t, i, first, end, fold_##i += !!(condition))
#define ANY(i, first, end, condition) (COUNT(i, first, end, condition) > 0)

/* The largest of the terms that are above 0, or 0; a NaN is passed over. */
#define LARGEST(i, first, end, term)                                                               \
    TEST_FOLD(double, i, first, end, fold_##i = fmax(fold_##i, (term)))

#define TEST_FOLD(type, i, first, end, step)                                                       \
    __extension__({                                                                                \
        type fold_##i = 0;                                                                         \
        for (__typeof__((end) + 0) i = (first), end_of_##i = (end); i < end_of_##i; ++i) {         \
            step;                                                                                  \
        }                                                                                          \
        fold_##i;                                                                                  \
    })

/* An array of n items, each the term of its number i; freed after the test. */
#define ARRAY(type, name, n, i, term)                                                              \
    type *name = test_zeros((n), sizeof *name);                                                    \
    for (__typeof__((n) + 0) i = 0, end_of_##i = (n); i < end_of_##i; ++i) {                       \
        name[i] = (type)(term);                                                                    \
    }

/* An CS_AUTO variable that a call makes, which succeeds: AUTO_OK(cs_csr, a, cs_csr_init(&a, 3, 3, 9)). */
#define AUTO_OK(type, x, call)                                                                     \
    CS_AUTO(type) x = {0};                                                                         \
    OK(call)

/* A child process, 0 in itself; what is buffered is printed before. */
pid_t test_fork(void);

/* Waits until the child ends: its exit code, or -signal. */
int exit_code(pid_t child);

/* Zeroed memory for `count` items, freed after the test; for the test's own thread. */
void *test_zeros(int64_t count, size_t size);

/* The held reason contains `part`; it is cleared. */
#define expect_reason(part) test_reason((part), __FILE__, __LINE__)
void test_reason(const char *part, const char *file, int line);

/* The call fails with this status, for a reason that contains `part`. */
#define assert_fails(call, code, part)                                                             \
    do {                                                                                           \
        cs_reason_clear();                                                                         \
        assert_int_equal(call, code);                                                              \
        expect_reason(part);                                                                       \
    } while (0)

/* A text that is refused, and a part of the reason. */
typedef struct {
    const char *text, *reason;
} test_refusal;
