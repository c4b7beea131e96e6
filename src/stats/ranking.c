/* Pairs by their definition: there are few objects. */
#include "stats/ranking.h"

#include <math.h>

#include "base/mem.h"
#include "stats/decide.h"

static cs_error_part part_of(cs_measured m)
{
    return cs_error_of(m.se, m.freedom > 0 ? (double)m.freedom : INFINITY);
}

int cs_ranking_order(cs_measured a, cs_measured b)
{
    const double difference = a.value - b.value;
    const double margin = cs_margin(2, (const cs_error_part[]){part_of(a), part_of(b)}, 0.05);
    return (difference > margin) - (difference < -margin);
}

cs_status cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second,
                        cs_ranking *out)
{
    cs_ranking r = {.objects = count};
    double *x = cs_alloc(2 * count, sizeof *x), *y = x ? x + count : NULL;
    if (!x) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        x[i] = first[i].value;
        y[i] = second[i].value;
        for (int64_t j = i + 1; j < count; ++j) {
            int order =
                cs_ranking_order(first[i], first[j]) * cs_ranking_order(second[i], second[j]);
            r.agree += order > 0;
            r.disagree += order < 0;
            r.undetermined += order == 0;
        }
    }
    cs_status status = cs_kendall_of(count, x, y, &r.kendall);
    cs_free(x);
    if (status == CS_OK) *out = r;
    return status;
}
