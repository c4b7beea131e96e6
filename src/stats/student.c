/* Student's distribution with an integer number of degrees of freedom: its probability is a finite
 * sum in theta = atan(t / sqrt(freedom)) (Abramowitz and Stegun 26.7.3, 26.7.4), monotone in t.
 */
#include "stats/student.h"

#include <assert.h>
#include <math.h>

/* P(|T| <= t). */
static double within(double t, int64_t freedom)
{
    double theta = atan(t / sqrt((double)freedom)), c = cos(theta), term, sum = 0;
    if (freedom % 2 == 0) {
        term = 1;
        for (int64_t k = 2; k <= freedom; k += 2) {
            sum += term;
            term *= (double)(k - 1) / (double)k * c * c;
        }
        return sin(theta) * sum;
    }
    term = c;
    for (int64_t k = 3; k <= freedom; k += 2) {
        sum += term;
        term *= (double)(k - 1) / (double)k * c * c;
    }
    return 2 / M_PI * (theta + sin(theta) * sum);
}

double cs_student_width(double level, int64_t freedom)
{
    assert(level > 0 && level < 1 && freedom >= 1);
    double low = 0, high = 1;
    while (within(high, freedom) < level) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 60; ++i) {
        double middle = 0.5 * (low + high);
        *(within(middle, freedom) < level ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

double cs_student_of_sum(int count, const double *se, const double *freedom)
{
    enum { MANY = 10000 };
    double total = 0, inverse = 0;
    for (int i = 0; i < count; ++i) {
        total = hypot(total, se[i]);
    }
    for (int i = 0; i < count; ++i) { /* shares of the whole: fourth powers would vanish */
        inverse += se[i] > 0 ? pow(se[i] / total, 4) / freedom[i] : 0;
    }
    const double nu = (1 + 1e-12) / inverse; /* a whole one rounded below stays it */
    return !(nu <= MANY) ? 1.959963984540054 : cs_student_width(0.95, nu < 1 ? 1 : (int64_t)nu);
}
