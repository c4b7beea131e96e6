/* The refinement inequality (refinement-and-kernel.md, ours): a context that knows more is worse
 * connected.
 *
 *   phi a function of phi', or a random garbling of it that does not look at the target, and token
 *   marginals equal:  Abar_phi^T Abar_phi <= Abar_phi'^T Abar_phi'  as quadratic forms,
 *   hence             sigma_j(phi) <= sigma_j(phi')  for every j
 *
 * Which pairs of contexts are in that order is found by going through all events of a corpus
 * (cooc/refinement.h): the sequences of a toy model, random texts under random mixtures, or a real
 * one. Both sides are spectra of matrices that the builder made, each by itself.
 *
 * Error. Of a computed spectrum s_j with vectors within delta of orthonormal, rho^2 = sum r_j^2,
 *
 *   sigma_j >= (sqrt(1 - delta) s_j - rho) / sqrt(1 + delta)                     (interlacing)
 *   sigma_j <= max((sqrt(1 + delta) s_j + rho) / sqrt(1 - delta), reach)
 *
 * reach being the certificates' "no singular value above it is missing"; and what rounding moves
 * entries by, e || |Abar| || <= e. Of a Gram form the same for sigma^2. Compared is what the
 * coarser side has above its reach; where the finer has none left, above the finer one's. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/theorems/refinement_pairs.h"
#include "base/auto.h"
#include "base/threads.h"
#include "cooc/reduce.h"
#include "cooc/refinement.h"

/* Entries up to which all singular values are taken, more where few rows or columns make a dense
 * decomposition cheap; else the leading ones. Columns up to which quadratic forms are compared. */
enum {
    ALL_ENTRIES = 1 << 21,
    NARROW = 600,
    NARROW_ENTRIES = 1 << 23,
    LEADING = 32,
    MOST_ONES = 256,
    FORM_COLUMNS = 600
};

/* The compared quantities of one context's matrix. */
typedef struct {
    int64_t cols, k;
    bool complete;              /* no singular value but the k, above reach */
    double *low, *sigma, *high; /* k: sigma_j and what bounds it */
    double reach, rounding;
    double kept;  /* share of the events' mass that has a row */
    double *mass; /* cols: P_G */
    double *form; /* cols x cols: Abar^T Abar; NULL: too many columns */
    double sums;  /* rounding of its entries, which are sums over the rows */
    int64_t ones; /* singular values that are 1 by the components */
    bool converged;
    cs_pool pool;
} side;

typedef struct {
    const cs_corpus *corpus;
    const cs_theorem_input *in;
    cs_cooc_options options;
    cs_refinement order;
} study;

/* --- one matrix ------------------------------------------------------------------------------- */

/* ||V^T V - I||_F of the right vectors of a Gram form, for which the spectrum has none. */
static cs_status departure_of(const cs_spectrum *s, double *out)
{
    CS_AUTO(cs_dense) product = {0};
    *out = s->solution.departure;
    if (!s->input.gram || s->k == 0) {
        return CS_OK;
    }
    cs_status status = cs_dense_init(&product, s->k, s->k);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &s->v, &s->v, 0, &product);
    for (int64_t j = 0; j < s->k && status == CS_OK; ++j) {
        product.data[j * product.ld + j] -= 1;
    }
    if (status == CS_OK) *out = sqrt(cs_dense_squares(&product));
    return status;
}

static double least_reach(const cs_spectrum *s)
{
    const cs_certificate *of[] = {&s->cert.moments, &s->cert.probe, &s->cert.inertia};
    double reach = INFINITY;
    for (int i = 0; i < 3; ++i) {
        const bool counts = of[i]->state == CS_CERT_PASSED || of[i]->state == CS_CERT_INCONCLUSIVE;
        reach = counts && of[i]->reach < reach ? of[i]->reach : reach;
    }
    return reach;
}

/* Intervals of all values, those of a Gram form by sigma^2. */
static cs_status bound_values(const cs_spectrum *s, side *out)
{
    double delta = 0, square = 0;
    cs_status status = departure_of(s, &delta);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < s->k; ++j) {
        const double r = s->residual[j] * (s->input.gram ? s->sigma[j] : 1);
        square += r * r;
    }
    delta = isnan(delta) ? INFINITY : delta;
    const double rho = sqrt(square) + out->rounding;
    for (int64_t j = 0; j < s->k; ++j) {
        const double x = s->input.gram ? s->sigma[j] * s->sigma[j] : s->sigma[j];
        double low = delta < 1 ? (sqrt(1 - delta) * x - rho) / sqrt(1 + delta) : 0;
        double high = delta < 1 ? (sqrt(1 + delta) * x + rho) / sqrt(1 - delta) : INFINITY;
        low = fmax(low, 0);
        out->sigma[j] = s->sigma[j];
        out->low[j] = s->input.gram ? sqrt(low) : low;
        out->high[j] = fmax(s->input.gram ? sqrt(high) : high, out->reach);
    }
    for (int64_t j = 0; j < s->k && j < out->ones; ++j) { /* one a component: by Perron */
        out->low[j] = out->sigma[j] = out->high[j] = 1;
    }
    return CS_OK;
}

/* Abar^T Abar; rows of a Gram form are the tokens with mass. */
static cs_status form_of(const cs_csr *a, side *out)
{
    CS_AUTO(cs_csr) abar = {0};
    const int64_t n = a->cols;
    cs_status status = cs_normalise(a, &abar, NULL, NULL);
    out->form = status == CS_OK ? cs_pool_take(&out->pool, n * n, sizeof *out->form) : NULL;
    status = status == CS_OK ? out->pool.status : status;
    for (int64_t i = 0, token = -1; i < abar.rows && status == CS_OK; ++i) {
        const int64_t end = abar.ptr[i + 1];
        do {
            ++token;
        } while (a->gram && token < n - 1 && !(out->mass[token] > 0));
        for (int64_t e = abar.ptr[i]; e < end; ++e) {
            double *column = out->form + (int64_t)abar.col[e] * n;
            for (int64_t f = abar.ptr[i]; f < end && !a->gram; ++f) {
                column[abar.col[f]] += abar.val[e] * abar.val[f];
            }
            if (a->gram) {
                column[token] = abar.val[e];
            }
        }
    }
    out->sums = a->gram ? 0 : (double)a->rows * DBL_EPSILON;
    return status;
}

/* Values that are 1, which the leading ones come after unless they are many. */
static cs_status count_ones(const cs_csr *a, int64_t *out)
{
    CS_AUTO(cs_components) c = {0};
    cs_status status = cs_components_of(a, &c);
    *out = c.count <= MOST_ONES ? c.count : 0;
    return status;
}

static cs_status look(study *s, int64_t c, const cs_context *context, side *out)
{
    CS_AUTO(cs_cooc) m = {0};
    CS_AUTO(cs_spectrum) spectrum = {0};
    cs_spectrum_options o = s->in->spectrum ? *s->in->spectrum : (cs_spectrum_options){0};
    double rounding = 0;
    s->options.context = *context;
    cs_status status = cs_cooc_build(s->corpus, &s->options, &m);
    if (status != CS_OK) return status;
    const cs_csr *a = &m.matrix.a;
    const int64_t shorter = a->rows < a->cols ? a->rows : a->cols;
    const bool all =
        (double)a->rows * (double)a->cols <= (shorter <= NARROW ? NARROW_ENTRIES : ALL_ENTRIES);
    int64_t ones = 0;
    if (!all && (status = count_ones(a, &ones)) != CS_OK) return status;
    o.k = all ? 0 : ones + (s->in->triplets > 0 ? s->in->triplets : LEADING);
    o.k = o.k < shorter ? o.k : shorter;
    o.certify |= all ? 0 : CS_CERTIFY_USUAL;
    if ((status = cs_spectrum_of(a, &o, &spectrum)) != CS_OK ||
        (status = cs_csr_rounding(a, NULL, &rounding)) != CS_OK) {
        return status;
    }
    out->cols = a->cols;
    out->k = spectrum.k;
    out->complete = spectrum.rank >= 0;
    out->converged = spectrum.solution.converged && !cs_spectrum_failed(&spectrum) &&
                     isfinite(least_reach(&spectrum));
    out->ones = spectrum.cert.perron ? spectrum.input.components : 0;
    out->kept = m.mass / (m.mass + m.dropped_mass);
    /* Marginals are sums of rows and columns; each entry is a quotient by their roots. Weights that
     * are no integers over a denominator are rounded to half a unit each. */
    out->rounding = 2 * rounding + 4 * DBL_EPSILON;
    out->rounding += m.exact ? 0 : m.unit / s->order.least[c];
    out->reach = least_reach(&spectrum);
    CS_POOL_FIELDS(&out->pool, out->k + 1, out, low, sigma, high);
    out->mass = cs_pool_take(&out->pool, a->cols, sizeof *out->mass);
    if ((status = out->pool.status) != CS_OK) return status;
    memcpy(out->mass, spectrum.input.col_mass, (size_t)a->cols * sizeof *out->mass);
    status = bound_values(&spectrum, out);
    return status == CS_OK && a->cols <= FORM_COLUMNS ? form_of(a, out) : status;
}

/* --- a pair ----------------------------------------------------------------------------------- */

/* sigma_j and its bounds, beyond those that are known 0 up to reach. */
static void value_at(const side *s, int64_t j, double value[3])
{
    const bool known = j < s->k;
    value[0] = known ? s->low[j] : 0;
    value[1] = known ? s->sigma[j] : 0;
    value[2] = known ? s->high[j] : s->reach;
}

/* The j at which sigma_j(coarse) <= sigma_j(fine) is nearest to failing, of those at which the two
 * differ beyond rounding: one that is attained comes after all others. */
static cs_refined nearest(const side *coarse, const side *fine)
{
    cs_refined worst = {.j = 0, .marginals = 0};
    int64_t compared = 0;
    int least = CS_CLAIM_STATE_HOLDS;
    const int64_t most = fine->complete || coarse->k < fine->k ? coarse->k : fine->k;
    for (int64_t j = 0; j < most; ++j) {
        double low[3], high[3];
        value_at(coarse, j, low);
        value_at(fine, j, high);
        if (j < coarse->ones && j < fine->ones) {
            worst.coarse = worst.fine = 1;
            compared = j + 1;
            continue;
        }
        if (low[1] <= coarse->reach || (j >= fine->k && low[1] <= fine->reach)) {
            break; /* it may hide another, or is not distinguishable from 0 */
        }
        const double error =
            fmax(low[2] - low[1] + high[1] - high[0], low[1] - low[0] + high[2] - high[1]);
        const bool equal = fabs(high[1] - low[1]) <= error &&
                           error <= CS_ATTAINED * fmax(fabs(low[1]), fabs(high[1]));
        const int standing =
            equal ? CS_CLAIM_STATE_HOLDS + 1 : (int)cs_claim_state_of(low[1], high[1], error);
        worst.equal += equal;
        if (worst.j == 0 || standing < least ||
            (standing == least && high[1] - low[1] < worst.fine - worst.coarse)) {
            least = standing;
            worst.j = j + 1;
            worst.coarse = low[1];
            worst.fine = high[1];
            worst.error = error;
        }
        compared = j + 1;
    }
    worst.compared = compared;
    worst.converged = coarse->converged && fine->converged;
    worst.kept = fmin(coarse->kept, fine->kept);
    worst.marginals_error = coarse->rounding + fine->rounding;
    for (int64_t v = 0; v < coarse->cols; ++v) {
        worst.marginals = fmax(worst.marginals, fabs(coarse->mass[v] - fine->mass[v]));
    }
    return worst;
}

/* The smallest eigenvalue of the difference of the quadratic forms, and what rounding may move it by. */
static cs_status loewner(const side *coarse, const side *fine, cs_refined *out)
{
    const int64_t n = coarse->cols;
    out->loewner = out->loewner_error = NAN;
    if (!coarse->form || !fine->form) {
        return CS_OK;
    }
    CS_AUTO(cs_dense) d = {0};
    CS_AUTO_FREE double *value = cs_alloc(n, sizeof *value);
    cs_status status = value ? cs_dense_init(&d, n, n) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < n * n && status == CS_OK; ++i) {
        d.data[i] = fine->form[i] - coarse->form[i];
    }
    const double norm = status == CS_OK ? sqrt(cs_dense_squares(&d)) : 0;
    if (status == CS_OK) status = cs_dense_eigh(&d, value, true);
    if (status == CS_OK) {
        out->loewner = value[0];
        out->loewner_error = 2 * (coarse->rounding + fine->rounding) + coarse->sums + fine->sums +
                             8 * (double)n * DBL_EPSILON * norm;
    }
    return status;
}

/* --- all pairs -------------------------------------------------------------------------------- */

static cs_status name_all(int64_t count, const cs_context *context, char (*name)[24])
{
    for (int64_t c = 0; c < count; ++c) {
        CS_AUTO_FREE char *text = cs_context_describe(&context[c]);
        if (!text) return CS_ERR_MEMORY;
        const bool says = context[c].given && context[c].mode != CS_CONTEXT_NEAREST;
        (void)snprintf(name[c], sizeof name[c], "%.16s%s", text, says ? "+k" : "");
    }
    return CS_OK;
}

static cs_status compare(const side *of, const cs_refinement *order, cs_refined_pairs *out)
{
    cs_status status = CS_OK;
    for (int64_t p = 0; p < out->count * out->count && status == CS_OK; ++p) {
        const int64_t coarse = p / out->count, fine = p % out->count;
        if (coarse == fine) {
            continue;
        }
        out->pair[p] = nearest(&of[coarse], &of[fine]);
        out->pair[p].ordered = order->refines[p];
        status = loewner(&of[coarse], &of[fine], &out->pair[p]);
        if (status == CS_OK) status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_refined_pairs_of(const cs_corpus *corpus, const cs_cooc_options *options,
                              int64_t count, const cs_context *context, const cs_theorem_input *in,
                              cs_refined_pairs *out)
{
    cs_refined_pairs r = {.count = count,
                          .name = cs_calloc(count, sizeof *r.name),
                          .pair = cs_calloc(count * count, sizeof *r.pair)};
    study s = {.corpus = corpus, .in = in, .options = *options};
    CS_AUTO_FREE side *of = cs_calloc(count, sizeof *of);
    cs_status status = r.name && r.pair && of ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = name_all(count, context, r.name);
    if (status == CS_OK) status = cs_refinement_of(corpus, options, count, context, &s.order);
    for (int64_t c = 0; c < count && status == CS_OK; ++c) {
        cs_progress_report(in->progress, "contexts", c, count);
        status = cs_blame(look(&s, c, &context[c], &of[c]), "context %s", r.name[c]);
    }
    if (status == CS_OK) status = compare(of, &s.order, &r);
    r.events = s.order.events;
    for (int64_t c = 0; of && c < count; ++c) {
        cs_pool_free(&of[c].pool);
    }
    cs_refinement_free(&s.order);
    return CS_DELIVER(status, out, r, cs_refined_pairs_free);
}

void cs_refined_pairs_free(cs_refined_pairs *p)
{
    CS_FREE_FIELDS(p, name, pair);
    *p = (cs_refined_pairs){0};
}
