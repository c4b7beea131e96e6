/* A finished spectrum: its state, and the tails of sigma^4 that Theorem 4.1 needs.
 *
 * Where every triplet is known the tail is a sum of few small numbers and loses no digits; else it
 * is the difference of the whole and its head, whose absolute error is the rounding of the whole.
 */
#include "cooc/spectrum.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/vector_ops.h"
#include "cooc/certificates.h"
#include "stats/student.h"

void cs_spectrum_free(cs_spectrum *s)
{
    CS_FREE_FIELDS(s, sigma, residual, input.row_mass, input.col_mass);
    cs_dense_free(&s->u);
    cs_dense_free(&s->v);
    cs_dense_free(&s->second.u);
    cs_dense_free(&s->second.v);
    *s = (cs_spectrum){0};
}

int64_t cs_spectrum_ones(const cs_spectrum *s)
{
    int64_t count = 0;
    for (int64_t j = 0; j < s->k; ++j) {
        count += fabs(s->sigma[j] - 1.0) <= 1e-9;
    }
    return s->cert.perron ? s->input.components : count;
}

const char *cs_spectrum_failed(const cs_spectrum *s)
{
    return s->cert.components.state == CS_CERT_FAILED ? "components"
           : s->cert.moments.state == CS_CERT_FAILED  ? "moments"
           : s->cert.probe.state == CS_CERT_FAILED    ? "probe"
           : s->cert.inertia.state == CS_CERT_FAILED  ? "inertia"
           : s->cert.residual.state == CS_CERT_FAILED ? "residual"
                                                      : NULL;
}

cs_status cs_spectrum_require(const cs_spectrum *s)
{
    const char *failed = cs_spectrum_failed(s);
    if (s->solution.converged) {
        return failed ? cs_fail(CS_ERR_CONVERGE,
                                "the singular values fail the certificate %s: some are missing or "
                                "wrong",
                                failed)
                      : CS_OK;
    }
    return cs_fail(CS_ERR_CONVERGE,
                   "the singular values did not converge: only %lld triplets are known, with "
                   "largest residual %.3g",
                   (long long)s->k, s->cert.residual.value);
}

void cs_certificate_why(cs_certificate *certificate, cs_cert_state state, const char *format, ...)
{
    va_list args;
    certificate->state = state;
    va_start(args, format);
    (void)vsnprintf(certificate->why, sizeof certificate->why, format, args);
    va_end(args);
}

/* The largest error of sigma^4 that the residual allows. */
static double drift(const cs_spectrum *s, int64_t j)
{
    return 4 * pow(s->sigma[j] + s->residual[j], 3) * s->residual[j];
}

static void from_the_end(const cs_spectrum *s, cs_interval *tail)
{
    double sum = 0, off = 0;
    for (int64_t t = s->k; t >= 0; --t) {
        double error = off + DBL_EPSILON * (double)s->k * sum;
        tail[t] = (cs_interval){sum, fmax(0, sum - error), sum + error};
        if (t > 0) {
            sum += cs_fourth(s->sigma[t - 1]);
            off += drift(s, t - 1);
        }
    }
    bool in_range = s->k == 0 || (sum >= DBL_MIN && sum <= DBL_MAX);
    for (int64_t t = 0; t <= s->k && !in_range; ++t) {
        tail[t] = (cs_interval){NAN, NAN, NAN};
    }
}

void cs_spectrum_tails(const cs_spectrum *s, double level, cs_interval *tail)
{
    if (s->rank >= 0 && s->rank == s->k) {
        from_the_end(s, tail);
        return;
    }
    const cs_sum4 *sum = &s->moments.sum4;
    double below = sum->value - sum->low, above = sum->high - sum->value, head = 0, off = 0;
    if (sum->samples > 0 && level > 0) {
        below = above = cs_student_width(level, (double)(sum->samples - 1)) * sum->error;
    }
    double rounding = DBL_EPSILON * (double)(s->input.rows + s->input.cols + s->k) * sum->value;
    for (int64_t t = 0; t <= s->k; ++t) {
        double value = sum->value - head, error = off + rounding;
        tail[t] = (cs_interval){value, value - below - error, value + above + error};
        if (!isnan(value)) { /* fmax would turn it into a number */
            tail[t].value = fmax(0, value);
            tail[t].low = fmax(0, tail[t].low);
            tail[t].high = fmax(0, tail[t].high);
        }
        if (t < s->k) {
            head += cs_fourth(s->sigma[t]);
            off += drift(s, t);
        }
    }
}
