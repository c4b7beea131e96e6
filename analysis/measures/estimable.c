#include "analysis/measures/estimable.h"

#include <math.h>

static const double FACTOR = 2, LEAST_SEEN = 0.5;

/* Documents at which m = LEAST_SEEN; NaN where m does not grow. */
static double documents_seen(const cs_estimable_input *in)
{
    const double exponent = log2(in->seen / in->seen_halves);
    if (in->seen >= LEAST_SEEN) {
        return in->documents;
    }
    return exponent > 0 && isfinite(exponent)
               ? in->documents * pow(LEAST_SEEN / in->seen, 1 / exponent)
               : (double)NAN;
}

cs_estimable cs_estimable_of(const cs_estimable_input *in)
{
    const double n = in->documents, lambda = in->sigma_1 * in->sigma_1;
    cs_estimable out = {.seen = in->seen >= LEAST_SEEN,
                        .leading = !(lambda > FACTOR),
                        .interval = !(in->high > FACTOR * FACTOR * in->low),
                        .order = !(in->cross_fit > in->high) && !(in->plug_in < in->low)};
    out.all = out.seen && out.leading && out.interval && out.order;
    out.documents = documents_seen(in);
    if (!out.leading) out.documents = fmax(out.documents, n * (lambda - 1) / (FACTOR - 1));
    if (!out.interval && in->low > 0) {
        const double width = log(in->high / in->low) / (2 * log(FACTOR));
        out.documents = fmax(out.documents, n * width * width);
    }
    if (isnan(documents_seen(in)) || (!out.interval && !(in->low > 0)) ||
        (!out.all && !(out.documents > n))) {
        out.documents = NAN;
    }
    return out;
}
