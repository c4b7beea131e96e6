/* io: floats of 16 bits. */
#include <math.h>

#include "io/float16_private.h"
#include "test.h"

/* Round to nearest even holds against the definition: no other BF16 is nearer, and of two equally
 * near ones the even is taken. Steps of the bits by a prime visit all exponents. */
TEST(bf16_rounds_to_the_nearest)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 65521 / 3) {
        float x = cs_float_of_bits((uint32_t)bits);
        uint16_t half = cs_bf16_encode(x);
        float y = cs_bf16_decode(half);
        if (isnan(x)) {
            assert_true(isnan(y) && !signbit(x) == !signbit(y));
            continue;
        }
        assert_true(!signbit(x) == !signbit(y));
        if (isinf(x) || isinf(y)) { /* from half a step beyond the largest on */
            assert_true(isinf(y) && fabsf(x) >= 0x1.ffp127F);
            continue;
        }
        int beyond = fabsf(x) < fabsf(y) ? half - 1 : half + 1; /* the neighbour on x's side */
        double step = fabs((double)cs_bf16_decode((uint16_t)beyond) - (double)y);
        double error = fabs((double)x - (double)y);
        assert_true(error <= step / 2 && (error < step / 2 || (half & 1) == 0));
    }
    assert_int_equal(cs_bf16_encode(cs_float_of_bits(0x3f808000)), 0x3f80); /* ties to the even */
    assert_int_equal(cs_bf16_encode(cs_float_of_bits(0x3f818000)), 0x3f82);
    assert_int_equal(cs_bf16_encode(cs_float_of_bits(0x3f808001)), 0x3f81);
    assert_int_equal(cs_bf16_encode(cs_float_of_bits(0x7f800001)), 0x7fc0); /* payload lost */
    assert_int_equal(cs_bf16_encode(cs_float_of_bits(0xff7fffff)), 0xff80);
    for (uint32_t half = 0; half <= UINT16_MAX; ++half) {
        float y = cs_bf16_decode((uint16_t)half);
        assert_int_equal(cs_bf16_encode(y), isnan(y) ? half | 0x40 : half);
    }
}

/* All 65536 against sign * 2^(e-25) * (1024 + f). */
TEST(f16_decodes_every_value)
{
    for (int half = 0; half <= UINT16_MAX; ++half) {
        int exponent = half >> 10 & 31, fraction = half & 1023;
        float x = cs_f16_decode((uint16_t)half);
        assert_true((signbit(x) != 0) == (half >> 15 == 1));
        if (exponent == 31) {
            assert_true(fraction ? isnan(x) : isinf(x));
        } else {
            double want = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
            assert_true(fabs((double)x) == want);
        }
    }
}
