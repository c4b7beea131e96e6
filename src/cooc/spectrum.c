/* A finished spectrum: its state, its record, and the tails of sigma^4 that Theorem 4.1 needs.
 *
 * Where every triplet is known the tail is a sum of few small numbers and loses no digits; else it
 * is the difference of the whole and its head, whose absolute error is the rounding of the whole. */
#include "cooc/spectrum.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "cooc/certificates.h"
#include "cooc/spectrum_record.h"
#include "linalg/gpu.h"
#include "stats/moderated.h"

void cs_spectrum_free(cs_spectrum *s)
{
    CS_FREE_FIELDS(s, sigma, eigenvalue, residual, input.row_mass, input.col_mass);
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

const char *cs_cert_state_name(cs_cert_state state)
{
    static const char *const name[] = {[CS_CERT_NOT_RUN] = "not run",
                                       [CS_CERT_PASSED] = "passed",
                                       [CS_CERT_FAILED] = "failed",
                                       [CS_CERT_INCONCLUSIVE] = "inconclusive"};
    return name[state];
}

static cs_item *add_certificate(cs_item *in, const char *key, const cs_certificate *c,
                                const char *meaning)
{
    bool ran = c->state != CS_CERT_NOT_RUN;
    cs_item *item = cs_item_object(in, key);
    cs_item_text(item, "state", cs_cert_state_name(c->state));
    cs_item_real(item, "value", ran ? c->value : NAN);
    cs_item_real(item, "bound", ran ? c->bound : NAN);
    cs_item_real(item, "none_missing_above", ran ? c->reach : NAN);
    if (c->why[0]) cs_item_text(item, "why", c->why);
    cs_item_text(item, "meaning", meaning);
    return item;
}

/* near_ones counts what the theorem says is not 1 though no solver can see it. */
static void add_certificates(cs_item *root, const cs_spectrum *s)
{
    cs_item *all = cs_item_object(root, "certificates");
    cs_item *components =
        add_certificate(all, "components", &s->cert.components,
                        "sigma within 1e-9 of 1, against the components: passed when equal, or "
                        "when all of fewer wanted; inconclusive above (near_ones: values of "
                        "connected parts that only come near 1)");
    if (s->cert.components.state != CS_CERT_NOT_RUN) {
        cs_item_int(components, "near_ones", s->cert.near_ones);
    }
    add_certificate(all, "moments", &s->cert.moments,
                    s->rank >= 0 ? "|sum sigma_j^2 - ||Abar||_F^2|, against its rounding bound"
                                 : "bound on sigma_{k+1} from sum sigma^2 and sum sigma^4, against "
                                   "sigma_k (1 + 1e-9)");
    cs_item *probe =
        add_certificate(all, "probe", &s->cert.probe,
                        "largest Ritz value of the doubly deflated operator from a random start, "
                        "against the smallest sigma returned with its slack: "
                        "sqrt(sigma_k^2 (1 + 2e-9) + 64 eps sigma_1^2)");
    if (s->cert.probe.state != CS_CERT_NOT_RUN) {
        cs_item_real(probe, "failure_probability", s->cert.probe_failure);
    }
    add_certificate(all, "inertia", &s->cert.inertia,
                    "singular values above a tau just below sigma_k, counted by L D L^T, against "
                    "k: passed when equal");
    add_certificate(all, "residual", &s->cert.residual,
                    "largest two-sided residual, against the tolerance");
}

/* AUTO: none had to run. */
const char *cs_spectrum_solver(const cs_spectrum *s)
{
    return s->solution.solver == CS_SOLVER_AUTO ? "closed form"
                                                : cs_solver_name(s->solution.solver);
}

void cs_item_form(cs_item *root, const cs_matrix_form *form)
{
    char *text = NULL;
    cs_item_text(root, "matrix_form", form ? cs_matrix_form_text(form) : "normalised");
    if (form) text = cs_format("singular values of %s", cs_matrix_form_entry(form));
    if (text) cs_item_text(root, "definition", text);
    cs_free(text);
}

void cs_spectrum_record(const char *name, const cs_spectrum_options *options, const cs_spectrum *s,
                        cs_item *root)
{
    cs_item_text(root, "matrix", name);
    if (cs_matrix_form_is_normalised(options->form)) {
        cs_item_text(root, "definition",
                     s->input.gram ? "singular values of A / sqrt(P_C P_G), by its Gram form"
                     : options->normalised ? "singular values of the matrix as given"
                                           : "singular values of A / sqrt(P_C P_G)");
    } else {
        cs_item_form(root, options->form);
    }
    CS_ITEM_FIELDS(root, &s->input, rows, cols, zero_rows, zero_cols, components, lumped_rows,
                   lumped_cols);
    CS_ITEM_FIELDS(root, s, k, zeros);
    cs_item_int(root, "nonzeros", s->input.nnz);
    cs_item_int(root, "multiplicity_of_one", cs_spectrum_ones(s));
    cs_item_count(root, "rank", s->rank);
    cs_item_real(root, "sum_sigma4_budget",
                 options->moment4_budget < 1.0 ? 0.0 : options->moment4_budget);
    cs_item_real(root, "tolerance", s->solution.tol);
    cs_item_text(root, "solver", cs_spectrum_solver(s));
    cs_item_text(root, "device", options->gpu ? options->gpu->name : "cpu");
    cs_item_int(root, "seed", (int64_t)options->seed);
    CS_ITEM_FIELDS(root, &s->input, mass);
    CS_ITEM_FIELDS(root, &s->moments, sum_sigma2, sum_sigma4, sum_sigma4_error, sum_sigma4_cost);
    CS_ITEM_FIELDS(root, &s->solution, floor, departure, converged, interrupted);
    add_certificates(root, s);
    if (options->eigenvalues) cs_item_flag(root, "symmetric", s->input.symmetric);
    if (s->eigenvalue) cs_item_reals(root, "eigenvalue", s->k, s->eigenvalue);
    cs_item_reals(root, "sigma", s->k, s->sigma);
    cs_item_reals(root, "residual", s->k, s->residual);
}

static void add_sum4(cs_item *root, const cs_sum4 *sum)
{
    cs_item_text(root, "sum_sigma4_method",
                 sum->out_of_range   ? "out of range"
                 : isnan(sum->value) ? "none"
                 : sum->samples > 0  ? "hutch++"
                                     : "exact");
    cs_item_real(root, "sum_sigma4_low", sum->low);
    cs_item_real(root, "sum_sigma4_high", sum->high);
    cs_item_real(root, "sum_sigma4_level", sum->level);
    cs_item_int(root, "sum_sigma4_samples", sum->samples);
    cs_item_int(root, "sum_sigma4_known", sum->known);
    cs_item_int(root, "sum_sigma4_sketched", sum->sketch);
    cs_item_real(root, "sum_sigma4_spent", sum->spent);
}

static void set_interval(cs_item *item, const cs_interval *x)
{
    CS_ITEM_FIELDS(item, x, value, low, high);
}

/* Tails sum_{j>t} sigma_j^4 for t = 0..k: "tail": [{"value", "low", "high", "t", "exact"}, ...];
 * exact: k + 1 values, or NULL if there are none (null). */
static void item_tails(cs_item *in, int64_t k, const cs_interval *tail, const double *exact)
{
    cs_item *tails = cs_item_array(in, "tail");
    for (int64_t t = 0; t <= k; ++t) {
        cs_item *row = cs_item_object(tails, NULL);
        set_interval(row, &tail[t]);
        cs_item_int(row, "t", t);
        cs_item_real(row, "exact", exact ? exact[t] : NAN);
    }
}

cs_status cs_sum4_record(const cs_spectrum *s, cs_item *root, bool *tails)
{
    CS_AUTO_FREE cs_interval *tail = cs_alloc(s->k + 1, sizeof *tail);
    CS_AUTO_FREE double *exact = cs_alloc(s->k + 1, sizeof *exact);
    cs_status status = tail && exact ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_spectrum_tails(s, 0, tail);
        bool sampled =
            s->moments.sum4.samples > 0 && s->rank != s->k; /* else all values are known */
        for (int64_t t = 0; t <= s->k; ++t) {
            exact[t] = sampled ? (double)NAN : tail[t].value;
        }
        add_sum4(root, &s->moments.sum4);
        *tails = !isnan(tail[0].value);
        if (*tails) {
            item_tails(root, s->k, tail, exact);
        } else {
            cs_item_null(root, "tail");
        }
    }
    return status;
}

/* --- density ---------------------------------------------------------------------------------- */

static void add_interval(cs_item *in, const char *key, const cs_interval *x)
{
    set_interval(cs_item_object(in, key), x);
}

/* The curves, which are for tables alone. */
static void add_curves(const cs_spectrum_density *d, cs_item *root)
{
    const cs_density *e = &d->density;
    cs_item *curve = cs_item_array(root, "~curve");
    for (int64_t i = 0; i < e->points; ++i) {
        cs_item *point = cs_item_object(curve, NULL);
        cs_item_real(point, "sigma", d->x[i]);
        add_interval(point, "density", &e->density[i]);
        add_interval(point, "above", &e->above[i]);
        add_interval(point, "fourth_below", &e->fourth_below[i]);
    }
}

void cs_spectrum_density_record(const char *name, const cs_spectrum_density_options *options,
                                const cs_spectrum_density *d, cs_item *root)
{
    cs_item_text(root, "matrix", name);
    if (options->spectrum.form) cs_item_form(root, options->spectrum.form);
    CS_ITEM_FIELDS(root, d, rows, cols, components, lumped_rows, lumped_cols, residual, sum_sigma2,
                   sum_sigma4, sum_sigma4_cost);
    cs_item_int(root, "nonzeros", d->nnz);
    cs_item_int(root, "values", d->density.dimension);
    CS_ITEM_FIELDS(root, &d->density, known, width);
    CS_ITEM_FIELDS(root, options, samples, degree, level);
    cs_item_int(root, "samples_without_quadrature_error", d->density.ended);
    cs_item_int(root, "seed", (int64_t)options->spectrum.seed);
    cs_item_real(root, "student_factor", d->density.factor);
    cs_item_real(root, "bound", d->top);
    cs_item_real(root, "density_bias_bound", d->density.bias);
    cs_item_real(root, "sum_sigma4_budget",
                 options->spectrum.moment4_budget < 1.0 ? 0.0 : options->spectrum.moment4_budget);
    cs_item_real(root, "rest_sigma4_error", d->density.rest4_error);
    add_interval(root, "sum_sigma2_estimate", &d->sum2);
    add_interval(root, "sum_sigma4_estimate", &d->sum4);
    cs_item_reals(root, "sigma", d->k, d->sigma);
    item_tails(root, d->k, d->tail, d->tail_exact);
    add_curves(d, root);
}
