/* Certificates: component count, moments, probe; inertia is in spectrum_inertia.c. Each states what
 * it proves in spectrum.h.
 *
 * The fourth moment is taken from the reduced matrix, which has the same nonzero singular values
 * and costs less; it is exact within the budget of multiply-adds and estimated above, with the
 * known vectors, or a sketch where these are few, taken out so that only the tail has variance.
 * Spared, the exact sum waits for the estimate to say that it can prove something: the triplets
 * found must carry nearly all of the spectrum, which the leading ones of a language never do.
 */
#include <float.h>
#include <math.h>

#include "base/ints.h"
#include "cooc/moments.h"
#include "cooc/spectrum_stages_private.h"

static const double ONE_TOLERANCE = 1e-9;

cs_certificate_facts cs_certificate_facts_of(const cs_system *system,
                                             const cs_spectrum_options *options,
                                             const cs_parts *parts, const cs_spectrum *spectrum)
{
    cs_certificate_facts facts = cs_reduction_facts(&system->reduced);
    facts.complete = spectrum->rank >= 0;
    facts.perron = cs_spectrum_normalises(options);
    facts.magnitude = cs_matrix_form_magnitude(system->abar, system->term);
    /* The largest value of a block is simple by Perron and Frobenius: not with signs. */
    if (options->normalised && !options->no_reduction && !system->entries.negative) {
        facts.perron = true;
        for (int64_t b = 0; b < system->reduced.count; ++b) {
            const cs_svd *svd = &parts->part[b].svd;
            facts.perron = facts.perron && svd->k > 0 &&
                           fabs(ldexp(svd->sigma[0], system->exponent) - 1) <= ONE_TOLERANCE;
        }
    }
    return facts;
}

static void certify_components(const cs_spectrum_options *options,
                               const cs_certificate_facts *facts, cs_spectrum *s)
{
    int64_t wanted = options->k > 0 ? options->k : cs_least(s->input.rows, s->input.cols), ones = 0;
    for (int64_t j = 0; j < s->k; ++j) {
        ones += fabs(ldexp(s->sigma[j], s->solution.exponent) - 1) <= ONE_TOLERANCE;
    }
    int64_t known = cs_least(wanted, s->input.components);
    cs_cert_state state = ones == known  ? CS_CERT_PASSED
                          : ones < known ? CS_CERT_FAILED
                                         : CS_CERT_INCONCLUSIVE;
    s->cert.near_ones = facts->perron && ones > known ? ones - known : 0;
    s->cert.components =
        (cs_certificate){state, (double)ones, (double)s->input.components, NAN, ""};
    if (!facts->perron) {
        cs_certificate_why(&s->cert.components, CS_CERT_NOT_RUN,
                           "no theorem relates the multiplicity of 1 to the components here: the "
                           "matrix %s",
                           cs_matrix_form_is_normalised(options->form)
                               ? "was given normalised, and was not reduced, has a negative entry, "
                                 "or a component without sigma = 1"
                               : "has another form than normalised");
    } else if (state == CS_CERT_INCONCLUSIVE) {
        cs_certificate_why(&s->cert.components, state,
                           "%lld more within 1e-9 of 1 than components: nearly separate parts",
                           (long long)s->cert.near_ones);
    }
}

static cs_status estimate_moment4(const cs_system *system, const cs_spectrum_options *options,
                                  cs_spectrum *s)
{
    const cs_csr *a = &system->reduced.a, *at = &system->reduced.at;
    double *const *term = system->reduced.term;
    cs_matrix_form_operator matrix = {0};
    cs_moment4_sampling sampling = {.samples = CS_MOMENT4_SAMPLES,
                                    .sketch = CS_MOMENT4_SKETCH,
                                    .seed = options->seed,
                                    .threads = options->threads,
                                    .progress = options->progress};
    bool tall = a->cols <= a->rows;
    if (s->v.data) { /* of the whole matrix, not of the reduced one */
        a = system->abar;
        at = &system->abar_t;
        term = system->term;
        tall = s->input.cols <=
               s->input.rows; /* with the rows that are empty, as several processes see it */
        sampling.v = tall ? &s->v : &s->u;
        sampling.sigma = s->sigma;
    }
    cs_status status = cs_matrix_form_operator_open(a, at, term, options->threads, &matrix);
    if (status == CS_OK) {
        const cs_linop side = tall ? matrix.op : cs_linop_transposed(&matrix.op);
        const cs_moment4_operator over = {
            .op = &side, .cols = side.cols, .nnz = (double)cs_csr_nnz(a)};
        status = cs_moment4_estimate_over(&over, &sampling, &s->moments.sum4);
    }
    cs_matrix_form_operator_close(&matrix);
    return status;
}

/* Upper bound on the largest of n values from bounds on their second and fourth power sums. */
static double largest_of_rest(double n, double t2_low, double t2, double t4)
{
    double square = t2; /* n = 1, or no fourth moment */
    if (!isnan(t4)) {
        double variance = fmax(0, t4 / n - (t2_low / n) * (t2_low / n));
        square = fmin(square, sqrt(t4));
        square = fmin(square, t2 / n + sqrt((n - 1) * variance));
    }
    return sqrt(square);
}

/* All triplets: what the sums leave over bounds the squares of what is missing. */
static void certify_all(double off, double error, double margin, cs_spectrum *s)
{
    double reach = sqrt(off + error), least_known = s->k > 0 ? s->sigma[s->k - 1] : 0;
    bool seen = margin < 1 || reach < least_known;
    s->cert.moments = (cs_certificate){off <= error ? CS_CERT_PASSED : CS_CERT_FAILED, off, error,
                                       off <= error ? reach : NAN, ""};
    if (off <= error && !seen) {
        cs_certificate_why(&s->cert.moments, CS_CERT_INCONCLUSIVE,
                           "a missing value as small as the smallest one, %.3g, would not be "
                           "detected: the sums detect values above %.3g",
                           ldexp(least_known, s->solution.exponent),
                           ldexp(reach, s->solution.exponent));
    }
}

static void certify_moments(const cs_certificate_facts *facts, cs_spectrum *s)
{
    double found2 = 0, found4 = 0, error2 = 0, error4 = 0, n = (double)(facts->rank - s->k);
    for (int64_t j = 0; j < s->k; ++j) { /* |computed - true| <= residual for each value */
        double x = s->sigma[j], e = s->residual[j];
        found2 += x * x;
        found4 += x * x * x * x;
        error2 += (2 * x + e) * e;
        error4 += 4 * (x + e) * (x + e) * (x + e) * e;
    }
    /* Sums of k terms, compensated sums of nnz, sums of `terms` in the entries of the Gram matrix,
     * and entries of Abar good to a few units. With signs the sum of the moduli replaces the
     * fourth. */
    double terms = (double)facts->longest;
    double moduli2 = fmax(s->moments.sum_sigma2, facts->magnitude);
    double moduli4 =
        facts->perron || isnan(s->moments.sum_sigma4) ? s->moments.sum_sigma4 : moduli2 * moduli2;
    error2 += ((double)s->k + 32) * DBL_EPSILON * moduli2;
    double lumped = facts->lumped ? 4 * CS_LUMPED : 0;
    error4 += (((double)s->k + terms + 64) * DBL_EPSILON + lumped) * moduli4;
    error4 += 3 * s->moments.sum_sigma4_error;
    if (facts->complete) {
        error2 += n * s->solution.floor * s->solution.floor;
        certify_all(fabs(s->moments.sum_sigma2 - found2), error2, n, s);
        return;
    }
    double rest2 = s->moments.sum_sigma2 - found2, rest4 = s->moments.sum_sigma4 - found4;
    double least2 = fmax(0, rest2 - error2), most2 = fmax(0, rest2) + error2;
    double most4 = isnan(rest4) ? NAN : fmax(0, rest4) + error4;
    bool estimated = s->moments.sum_sigma4_error > 0;
    double value = n < 1 ? 0 : largest_of_rest(n, least2, most2, most4);
    double reach = n >= 1 && estimated ? largest_of_rest(n, least2, most2, NAN) : value;
    if (facts->perron) {
        value =
            fmin(value, ldexp(1, -s->solution.exponent)); /* no singular value is larger than 1 */
        reach = fmin(reach, ldexp(1, -s->solution.exponent));
    }
    double bound = (s->k > 0 ? s->sigma[s->k - 1] : 0) * (1 + ONE_TOLERANCE);
    cs_cert_state state = rest2 < -error2  ? CS_CERT_FAILED
                          : reach <= bound ? CS_CERT_PASSED
                                           : CS_CERT_INCONCLUSIVE;
    s->cert.moments =
        (cs_certificate){state, value, bound, state == CS_CERT_FAILED ? NAN : reach, ""};
    if (state == CS_CERT_INCONCLUSIVE && value <= bound) {
        cs_certificate_why(&s->cert.moments, state,
                           "the bound uses an estimate of sum sigma^4, which is not a proof");
    } else if (state == CS_CERT_INCONCLUSIVE) {
        cs_certificate_why(&s->cert.moments, state,
                           "the sums minus the computed triplets allow another value of %.3g",
                           ldexp(value, s->solution.exponent));
    }
}

/* Of squares: rounding of the Gram operator is absolute. */
static double probe_rounding(const cs_spectrum *s)
{
    return 64 * DBL_EPSILON * s->sigma[0] * s->sigma[0];
}

static double probe_bound(const cs_spectrum *s)
{
    double least_known = s->sigma[s->k - 1];
    return sqrt(least_known * least_known * (1 + 2 * ONE_TOLERANCE) + probe_rounding(s));
}

/* Whether the certificate would pass with this sum sigma^4, NaN: with sum sigma^2 alone. */
static bool moments_pass(const cs_certificate_facts *facts, const cs_spectrum *s, double sum4)
{
    cs_spectrum with = {.k = s->k,
                        .sigma = s->sigma,
                        .residual = s->residual,
                        .solution.exponent = s->solution.exponent,
                        .moments.sum_sigma2 = s->moments.sum_sigma2,
                        .moments.sum_sigma4 = sum4};
    certify_moments(facts, &with);
    return with.cert.moments.state == CS_CERT_PASSED;
}

bool cs_moment4_affordable(const cs_spectrum_options *o, double cost)
{
    return cost <= (o->moment4_budget > 0 ? o->moment4_budget : CS_MOMENT4_BUDGET);
}

bool cs_moment4_exact(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                      double cost, const cs_spectrum *s)
{
    if (!cs_moment4_affordable(options, cost)) return false;
    if (!options->moment4_sparing || facts->complete || cost <= CS_MOMENT4_CHEAP) return true;
    return s->moments.sum4.samples > 0 && moments_pass(facts, s, s->moments.sum4.low) &&
           !moments_pass(facts, s, (double)NAN);
}

static cs_status sum_moments(const cs_system *system, const cs_spectrum_options *options,
                             const cs_certificate_facts *facts, cs_spectrum *s)
{
    const double cost = s->moments.sum_sigma4_cost;
    cs_status status = CS_OK;
    s->moments.sum_sigma2 = cs_system_moment2(system);
    s->moments.sum4 = cs_sum4_exact(NAN, 0);
    if (options->moment4 && !cs_moment4_exact(options, facts, cost, s))
        status = estimate_moment4(system, options, s);
    if (status == CS_OK && options->moment4 && cs_moment4_exact(options, facts, cost, s)) {
        const cs_reduction *r = &system->reduced;
        double sum = 0;
        status = cs_moment4(&r->a, options->threads, options->progress, &sum);
        if (status == CS_OK)
            status = cs_matrix_form_moment4(&r->a, &r->at, r->term, options->threads, &sum);
        s->moments.sum4 = cs_sum4_exact(sum, cost);
    }
    s->moments.sum_sigma4 = s->moments.sum4.value;
    s->moments.sum_sigma4_error = s->moments.sum4.error;
    return status;
}

static void certify_probe(const cs_probe *probe, cs_spectrum *s)
{
    double bound = probe_bound(s), slack = CS_PROBE_RATIO * CS_PROBE_RATIO * probe_rounding(s);
    cs_cert_state state = probe->value <= bound ? CS_CERT_PASSED : CS_CERT_FAILED;
    double reach = sqrt(probe->reach * probe->reach + slack);
    s->cert.probe =
        (cs_certificate){state, probe->value, bound, state == CS_CERT_PASSED ? reach : NAN, ""};
}

static cs_status run_probe(const cs_system *system, const cs_spectrum_options *options,
                           cs_spectrum *s, cs_probe *out)
{
    cs_matrix_form_operator abar = {0};
    cs_status status = cs_matrix_form_operator_open(system->abar, &system->abar_t, system->term,
                                                    options->threads, &abar);
    if (status == CS_OK) {
        const bool wide = abar.op.rows < abar.op.cols;
        const cs_linop tall = wide ? cs_linop_transposed(&abar.op) : abar.op;
        status = cs_svd_probe(&tall, wide ? &s->u : &s->v, probe_bound(s), options->seed,
                              options->threads, out);
    }
    s->cert.probe_failure = status == CS_OK ? out->failure : s->cert.probe_failure;
    cs_matrix_form_operator_close(&abar);
    return status;
}

/* Why the probe has nothing to do or to work with; NULL: it runs. */
static const char *no_probe(bool complete, const cs_spectrum *s)
{
    return complete     ? "all triplets were computed: nothing is left to find"
           : s->k == 0  ? "no triplet was computed"
           : !s->v.data ? "the vectors exceed half of the free memory"
                        : NULL;
}

/* All certificates not run. */
static void begin(const cs_certificate_facts *facts, cs_spectrum *s)
{
    cs_certificate *const certificate[] = {&s->cert.components, &s->cert.moments, &s->cert.probe,
                                           &s->cert.inertia};
    for (int i = 0; i < 4; ++i) {
        *certificate[i] = (cs_certificate){.reach = NAN};
        cs_certificate_why(certificate[i], CS_CERT_NOT_RUN,
                           s->solution.interrupted ? "interrupted" : "not requested");
    }
    s->cert.perron = facts->perron;
    s->cert.near_ones = 0;
    s->solution.departure = NAN;
}

static unsigned requested_certificates(const cs_spectrum_options *options)
{
    return options->certify ? options->certify : CS_CERTIFY_COMPONENTS | CS_CERTIFY_MOMENTS;
}

static cs_status run_certificates(const cs_system *system, const cs_spectrum_options *options,
                                  const cs_certificate_facts *known, cs_spectrum *s)
{
    unsigned asked = requested_certificates(options);
    cs_certificate_facts facts = *known;
    s->cert.probe_failure = 1;
    cs_status status = sum_moments(system, options, &facts, s);
    facts.probed = (asked & CS_CERTIFY_PROBE) && !no_probe(facts.complete, s);
    if (status == CS_OK && facts.probed) status = run_probe(system, options, s, &facts.probe);
    if (status != CS_OK) return status;
    cs_certificates_of(options, &facts, s);
    return asked & CS_CERTIFY_INERTIA ? cs_spectrum_inertia(system, options, &facts, s) : CS_OK;
}

/* None after an interrupt, nor where one comes meanwhile and triplets are wanted without. */
static cs_status certify(const cs_system *system, const cs_spectrum_options *options,
                         const cs_certificate_facts *known, cs_spectrum *s)
{
    cs_status status = CS_OK;
    if (!s->solution.interrupted) status = run_certificates(system, options, known, s);
    if (status == CS_ERR_INTERRUPT && options->partial) {
        cs_reason_clear();
        s->solution.interrupted = true;
        status = CS_OK;
    }
    if (!s->solution.interrupted) return status;
    begin(known, s);
    s->cert.probe_failure = 1;
    s->moments.sum_sigma2 = s->moments.sum_sigma4 = s->moments.sum_sigma4_error = (double)NAN;
    s->moments.sum4 = cs_sum4_exact(NAN, 0);
    return CS_OK;
}

/* Of a Gram form the sums are of powers of sigma, and the stages' values its squares. */
cs_status cs_spectrum_certify(const cs_system *system, const cs_spectrum_options *options,
                              const cs_certificate_facts *facts, cs_spectrum *s)
{
    if (!s->input.gram) {
        return certify(system, options, facts, s);
    }
    const unsigned asked = requested_certificates(options);
    cs_spectrum_options others = *options;
    others.certify = (asked & ~(unsigned)CS_CERTIFY_MOMENTS) | CS_CERTIFY_NONE;
    cs_status status = certify(system, &others, facts, s);
    cs_gram_to_sigma(s);
    if (status == CS_OK && (asked & CS_CERTIFY_MOMENTS) && !s->solution.interrupted)
        certify_moments(facts, s);
    return status;
}

void cs_certificates_of(const cs_spectrum_options *options, const cs_certificate_facts *facts,
                        cs_spectrum *s)
{
    unsigned asked = requested_certificates(options);
    begin(facts, s);
    if (asked & CS_CERTIFY_COMPONENTS) {
        certify_components(options, facts, s);
    }
    if (asked & CS_CERTIFY_MOMENTS) {
        certify_moments(facts, s);
    }
    if (facts->probed) {
        certify_probe(&facts->probe, s);
    } else if (asked & CS_CERTIFY_PROBE) {
        const char *idle = no_probe(facts->complete, s);
        cs_certificate_why(&s->cert.probe, CS_CERT_NOT_RUN, "%s", idle ? idle : "not available");
    }
}
