/* Kendall's tau-b by its definition: there are few objects. */
#include "stats/ranking.h"

#include <math.h>

#include "stats/student.h"

/* Half the width of a 95% interval of a - b; NaN when an error is not known. */
static double margin_of(cs_measured a, cs_measured b)
{
    const double se[] = {a.se, b.se};
    const double freedom[] = {a.freedom > 0 ? (double)a.freedom : INFINITY,
                              b.freedom > 0 ? (double)b.freedom : INFINITY};
    return cs_student_of_sum(2, se, freedom) * hypot(a.se, b.se);
}

int cs_ranking_order(cs_measured a, cs_measured b)
{
    double difference = a.value - b.value, margin = margin_of(a, b);
    return (difference > margin) - (difference < -margin);
}

static int sign(double a, double b)
{
    return (a > b) - (a < b);
}

cs_ranking cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second)
{
    cs_ranking r = {.objects = count, .tau_b = NAN, .tau_sd = NAN};
    int64_t balance = 0, untied1 = 0, untied2 = 0;
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = i + 1; j < count; ++j) {
            int s1 = sign(first[i].value, first[j].value);
            int s2 = sign(second[i].value, second[j].value);
            int told =
                cs_ranking_order(first[i], first[j]) * cs_ranking_order(second[i], second[j]);
            balance += (int64_t)s1 * s2;
            untied1 += s1 != 0;
            untied2 += s2 != 0;
            r.agree += told > 0;
            r.disagree += told < 0;
            r.cannot_tell += told == 0;
        }
    }
    if (untied1 > 0 && untied2 > 0) {
        const double n = (double)count;
        r.tau_b = (double)balance / sqrt((double)untied1 * (double)untied2);
        r.tau_sd = sqrt(2.0 * (2.0 * n + 5.0) / (9.0 * n * (n - 1.0)));
    }
    return r;
}
