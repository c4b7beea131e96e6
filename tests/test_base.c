/* base: reasons, allocation, counter-based random numbers, parallel loops, hashes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/threads.h"

static void first_reason_wins(void **state)
{
    (void)state;
    cs_reason_clear();
    assert_int_equal(cs_fail(CS_ERR_INPUT, "value %d", 7), CS_ERR_INPUT);
    assert_int_equal(cs_fail(CS_ERR_IO, "later"), CS_ERR_IO);
    assert_string_equal(cs_reason(), "value 7");
    assert_int_equal(cs_blame(CS_ERR_INPUT, "file:%d", 3), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "file:3: value 7");
    cs_reason_clear();
    assert_string_equal(cs_reason(), "");
}

static void allocation_is_checked(void **state)
{
    (void)state;
    cs_reason_clear();
    assert_null(cs_alloc(-1, 8));
    assert_null(cs_alloc(INT64_MAX, 8));
    assert_true(strlen(cs_reason()) > 0);
    cs_reason_clear();
    (void)cs_mem_fail_at(2);
    void *a = cs_alloc(1, 1);
    void *b = cs_alloc(1, 1);
    assert_non_null(a);
    assert_null(b);
    assert_int_equal(cs_mem_fail_at(0), 2);
    cs_free(a);
    cs_reason_clear();
}

/* Known answer of Random123: philox4x32-10, counter 0, key 0. */
static void philox_known_answer(void **state)
{
    (void)state;
    cs_rng rng = {.key = {0, 0}, .counter = {0, 0, 0, 0}, .used = 4};
    assert_true(cs_rng_u64(&rng) == ((uint64_t)0xe169c58du << 32 | 0x6627e8d5u));
    assert_true(cs_rng_u64(&rng) == ((uint64_t)0x9b00dbd8u << 32 | 0xbc57ac4cu));
}

static void draws_have_their_moments(void **state)
{
    (void)state;
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    enum { N = 200000 };
    double sum = 0, square = 0, below = 0;
    for (int i = 0; i < N; ++i) {
        double x = cs_rng_normal(&rng);
        sum += x;
        square += x * x;
        below += (double)cs_rng_below(&rng, 7);
    }
    /* Five standard errors. */
    assert_true(fabs(sum / N) < 5 / sqrt(N));
    assert_true(fabs(square / N - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(below / N - 3) < 5 * 2 / sqrt(N));
}

static cs_status square_item(void *ctx, int64_t item, int worker)
{
    (void)worker;
    ((int64_t *)ctx)[item] = item * item;
    return CS_OK;
}

static cs_status fail_some(void *ctx, int64_t item, int worker)
{
    (void)ctx;
    (void)worker;
    return item % 10 == 3 ? cs_fail(CS_ERR_INPUT, "item %lld", (long long)item) : CS_OK;
}

static void loops_cover_all_items_and_report_failures(void **state)
{
    (void)state;
    int64_t out[1000];
    assert_int_equal(cs_parallel(1000, 4, square_item, out), CS_OK);
    for (int64_t i = 0; i < 1000; ++i) {
        assert_true(out[i] == i * i);
    }
    assert_int_equal(cs_parallel(1000, 1, fail_some, NULL), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "item 3");
    cs_reason_clear();
}

static void sha256_known_answer(void **state)
{
    (void)state;
    char hex[65];
    cs_sha256("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_reason_wins),
        cmocka_unit_test(allocation_is_checked),
        cmocka_unit_test(philox_known_answer),
        cmocka_unit_test(draws_have_their_moments),
        cmocka_unit_test(loops_cover_all_items_and_report_failures),
        cmocka_unit_test(sha256_known_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
