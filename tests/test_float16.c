/* io: floats of 16 bits. */
#include "io/float16_private.h"
#include "test.h"

/* BF16 is the upper half of a float. */
TEST(bf16_decodes_every_value)
{
    for (uint32_t half = 0; half <= UINT16_MAX; ++half) {
        float x = cs_bf16_decode((uint16_t)half);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        assert_int_equal(bits, half << 16);
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
