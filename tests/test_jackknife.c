/* The delete-block jackknife's formula: the error of a mean in closed form, strides, what leaves no
 * error. */
#include <float.h>
#include <math.h>

#include "stats/jackknife.h"
#include "test.h"

enum { N = 9, STRIDE = 3 };

/* Of the mean of x_1..x_N, one left out at a time, it is the standard error s / sqrt(N): for 1..N
 * the sum of squares about the mean is N (N^2 - 1) / 12. */
TEST(error_of_a_mean)
{
    double theta[N], strided[N * STRIDE];
    for (int i = 0; i < N * STRIDE; ++i) {
        strided[i] = NAN; /* what lies between is not read */
    }
    for (int b = 0; b < N; ++b) {
        theta[b] = strided[b * STRIDE] = (N * (N + 1) / 2.0 - (b + 1)) / (N - 1);
    }
    const double want = sqrt(N * (N * N - 1) / 12.0 / (N - 1) / N);
    const double got = cs_jackknife_error(N, theta, 1);
    assert_true(fabs(got - want) <= 32 * DBL_EPSILON * want);
    assert_true(cs_jackknife_error(N, strided, STRIDE) == got);
    /* an offset of 2^30 costs its own rounding, not digits of the squares */
    for (int b = 0; b < N; ++b) {
        theta[b] += 0x1p30;
    }
    assert_true(fabs(cs_jackknife_error(N, theta, 1) - want) <= N * 0x1p30 * DBL_EPSILON);
}

TEST(no_error_to_speak_of)
{
    const double odd[] = {NAN, INFINITY, -INFINITY};
    double theta[3] = {0.1, 0.1, 0.1}; /* their mean, summed, is not 0.1 */
    assert_true(cs_jackknife_error(3, theta, 1) == 0);
    assert_true(isnan(cs_jackknife_error(1, theta, 1)) && isnan(cs_jackknife_error(0, theta, 1)));
    for (int k = 0; k < 9; ++k) {
        theta[k % 3] = odd[k / 3];
        assert_true(isnan(cs_jackknife_error(3, theta, 1)));
        theta[k % 3] = 0.1;
    }
}
