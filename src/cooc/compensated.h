/* Compensated summation (Neumaier, ZAMM 54, 1974): sum + lost is the sum of what was added to about
 * two units in the last place, whatever the number of terms (and n^2 eps^2 of the sum of their
 * moduli). Private to src/cooc. */
#ifndef CS_COOC_COMPENSATED_H
#define CS_COOC_COMPENSATED_H

#include <math.h>

static inline void cs_add_compensated(double *sum, double *lost, double x)
{
    double next = *sum + x;
    *lost += fabs(*sum) >= fabs(x) ? (*sum - next) + x : (x - next) + *sum;
    *sum = next;
}

#endif
