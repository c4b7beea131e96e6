/* Theorem 4.3 (LA 4.2, A.4), as printed, slip by slip, and sharpened. Statements of one audit.
 *
 *   printed    w_k = N^3 - (k-1)^3 though Q K^T V has two free indices; the triangle inequality for
 *              half squares without its factor 2; ||eps_k||^2 <= w_k eta; ||W f(X)|| = 1 at every
 *              length; the square of delta around the sum
 *   true       N^2 - (k-1)^2; twice the half squares; ||eps_k|| <= w_k eta; no norm is assumed; and
 *              the sharpened bound for means, on which the consequence for L_gen rests
 *
 * delta is a maximum over masks. Where not all were seen, a verdict of PASS rests on those that
 * were (the true delta is no less), one of FAIL on what delta cannot exceed, and between them it is
 * INCONCLUSIVE; eta, where it is known between two numbers only, is treated alike.
 */
#include "analysis/theorems/theorem_43.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "analysis/theorems/theorem_43_private.h"
#include "base/auto.h"

void cs_generation_bound_state_case(const cs_generation_bound_case *c, const char *id,
                                    cs_statement_form form, const char *text, const char *input,
                                    cs_statements *out)
{
    if (c->count == 0) {
        return;
    }
    CS_AUTO_FREE char *on =
        cs_format("%s; sequence %lld, k = %lld", input, (long long)c->sequence, (long long)c->k);
    if (!on) {
        out->status = CS_ERR_MEMORY;
        return;
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){id, form, CS_RELATION_AT_MOST, text, on, c->lhs, c->rhs, c->error});
    if (cs_claim_state_of(c->lhs, c->rhs, c->error) == CS_CLAIM_STATE_UNKNOWN) {
        cs_statement_withhold(s);
    }
    cs_statement_int(s, "cases", c->count);
}

/* "4.3-sharp-p2" */
static const char *id_of(char buffer[40], const char *name, int p)
{
    (void)snprintf(buffer, 40, "4.3-%s-p%d", name, p + 2);
    return buffer;
}

/* --- the printed bound -------------------------------------------------------------------------*/

/* The end of the range of norms that lies farther from 1. */
static double farthest_norm(const cs_generation_bound_form *f)
{
    return fabs(f->norm.low - 1) > fabs(f->norm.high - 1) ? f->norm.low : f->norm.high;
}

static void assumptions(const cs_generation_bound_audit *a, const cs_generation_bound_form *f,
                        cs_statement *s)
{
    double norm = farthest_norm(f);
    cs_statement_assume(s, "||W f(X)|| = 1 at every length (value: the farthest from it)",
                        fabs(norm - 1) <= f->norm.error, norm);
    cs_statement_assume(
        s, "k = 1 has a finite term (it divides by zero and is left out; value: (k-1)^p)", false,
        0);
    cs_statement_assume(s, "every prefix has at most N tokens (value: longer ones, left out)",
                        a->uncovered == 0, (double)a->uncovered);
    cs_statement_assume(
        s, "eta is exact on every sequence, else an upper bound (value: share of them)",
        f->exact == a->sequences, (double)f->exact / (double)a->sequences);
    cs_statement_assume(s, "delta_mask is the maximum over every mask (value: share of sequences)",
                        a->enumerated == a->sequences,
                        (double)a->enumerated / (double)a->sequences);
}

static void details(const cs_generation_bound_model *m, const cs_generation_bound_audit *a,
                    const cs_generation_bound_form *f, cs_statement *s)
{
    const cs_detail list[] = {
        {"p", f->power},
        {"N_least", (double)a->lowest},
        {"N_largest", (double)a->highest},
        {"w_2", pow((double)a->highest, f->power) - 1},
        {"sequences", (double)a->sequences},
        {"sequences_too_short", (double)a->excluded},
        {"cases", (double)a->cases},
        {"eta", f->eta.value},
        {"eta_error", f->eta.error},
        {"norm_W", m->norm},
        {"delta_mask", f->delta.seen},
        {"delta_mask_at_most", a->enumerated == a->sequences ? f->delta.seen : f->delta.bound},
        {"first_term", f->first},
        {"second_term", f->second * m->norm * m->norm * f->eta.value},
        {"looseness", s ? s->rhs / fabs(f->sums.gen) : NAN}};
    cs_statement_reals(s, sizeof list / sizeof *list, list);
}

void cs_generation_bound_printed(const cs_generation_bound_model *m,
                                 const cs_generation_bound_audit *a, int p, const char *id,
                                 const char *text, const char *input, cs_statements *out)
{
    const cs_generation_bound_form *f = &a->form[p];
    const bool all = a->enumerated == a->sequences;
    const double slope = f->second * m->norm * m->norm;
    const double least = f->first + slope * f->eta.low + f->delta.seen + 1;
    const double most =
        f->first + slope * f->eta.value + (all ? f->delta.seen : f->delta.bound) + 1;
    const double error =
        f->sums.error + f->delta.error +
        16 * DBL_EPSILON * (fabs(f->first) + slope * f->eta.value + fabs(f->delta.seen) + 1) +
        slope * f->eta.error + 4 * f->second * m->norm * m->norm_error * f->eta.value;
    cs_statement *s = cs_statements_add(out, id, CS_PRINTED, CS_RELATION_AT_MOST, text, input);
    if (!s) {
        return;
    }
    bool unit = fabs(farthest_norm(f) - 1) <= f->norm.error;
    s->trivial = unit ? 2 : f->delta.bound;
    cs_statement_evaluate(s, f->sums.gen, least, error);
    if (s->verdict != CS_PASS && s->verdict != CS_VACUOUS && most > least) {
        cs_statement_evaluate(s, f->sums.gen, most, error);
        if (s->verdict != CS_FAIL) {
            cs_statement_evaluate(s, f->sums.gen, least, error);
            cs_statement_withhold(s);
        }
    }
    cs_statement_counterexample(s, "%s: L_gen = %.12g > %.12g", input, s->lhs, s->rhs);
    assumptions(a, f, s);
    details(m, a, f, s);
}

/* --- slips -------------------------------------------------------------------------------------*/

static void unit_norm(const cs_generation_bound_audit *a, const cs_generation_bound_form *f, int p,
                      const char *input, cs_statements *out)
{
    char id[40];
    cs_statement *s = cs_statements_claim(
        out,
        &(cs_claim){id_of(id, "unit-norm", p), CS_PRINTED, CS_RELATION_EQUAL,
                    "||W f(X)|| = 1 for every prefix and every unmasked set (lhs: the farthest)",
                    input, farthest_norm(f), 1, f->norm.error});
    cs_statement_real(s, "least", f->norm.low);
    cs_statement_real(s, "largest", f->norm.high);
    if (a->lowest >= 2) {
        cs_statements_claim(
            out, &(cs_claim){id_of(id, "vacuous", p), CS_CORRECTED, CS_RELATION_AT_MOST,
                             "if ||W f(X)|| = 1, then L_gen <= 2 (lhs) <= first term, which is no "
                             "more than the printed bound: it says nothing for N >= 2",
                             input, 2, f->first, 16 * DBL_EPSILON * f->first});
    }
}

/* With the square on z_- alone both are true of any numbers, so that nothing is left to check. */
static void delta_square(const cs_generation_bound_form *f, int p, const char *input,
                         cs_statements *out)
{
    char id[40];
    cs_statements_claim(
        out, &(cs_claim){id_of(id, "delta", p), CS_PRINTED, CS_RELATION_AT_MOST,
                         "max -z_+ <= delta_mask = max (-z_+ + z_-)^2, the square as printed",
                         input, f->delta.largest_plus, f->delta.literal, 2 * f->delta.error});
    cs_statements_claim(
        out,
        &(cs_claim){
            id_of(id, "ar", p), CS_PRINTED, CS_RELATION_AT_MOST,
            "L_gen(f_ar) <= delta_ar = max (-z_+ + z_-)^2 over prefixes, the square as printed",
            input, f->sums.gen, f->delta.ar_literal, f->sums.error + 2 * f->delta.error});
}

static void slips(const cs_generation_bound_form *f, int p, const char *input, cs_statements *out)
{
    const struct {
        const cs_generation_bound_case *c;
        const char *name, *text;
        cs_statement_form form;
    } list[] = {
        {&f->worst.triangle, "triangle",
         "||a-c||^2/2 <= ||a-b||^2/2 + ||b-c||^2/2, a = W f(X_<k), b = W f(X_m), c = 1_{X+} (LA "
         "Eq. 11)",
         CS_PRINTED},
        {&f->worst.triangle_two, "triangle", "||a-c||^2/2 <= ||a-b||^2 + ||b-c||^2", CS_CORRECTED},
        {&f->worst.epsilon, "epsilon", "||eps_k||^2 <= w_k eta (LA Eq. 18)", CS_PRINTED},
        {&f->worst.epsilon_norm, "epsilon", "||eps_k|| <= w_k eta_i", CS_CORRECTED},
        {&f->worst.negative, "negative", "z_-^2 <= 1 (LA Eq. 21, from the unit norm)", CS_PRINTED},
    };
    char id[40];
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        cs_generation_bound_state_case(list[i].c, id_of(id, list[i].name, p), list[i].form,
                                       list[i].text, input, out);
    }
}

/* Terms of X_m outside the prefix, counted one by one for the shortest prefix and the largest N. */
static void indices(const cs_generation_bound_audit *a, const char *input, cs_statements *out)
{
    const double n = (double)a->highest;
    double outside = 0;
    for (int64_t u = 0; u < a->highest; ++u) {
        for (int64_t v = 0; v < a->highest; ++v) {
            outside += u >= 1 || v >= 1;
        }
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"4.3-indices", CS_PRINTED, CS_RELATION_EQUAL,
                         "Q K^T V over X_m has w_2 = N^3 - 1 terms outside the prefix of one token "
                         "(lhs: counted; key and value index are one)",
                         input, outside, n * n * n - 1, 0});
    if (s && outside == 0) s->verdict = CS_VACUOUS; /* N = 1: there are none to count */
}

/* --- the sharpened bound -----------------------------------------------------------------------*/

static void sharpened(const cs_generation_bound_audit *a, const cs_generation_bound_form *f, int p,
                      const char *input, cs_statements *out)
{
    char id[40];
    const bool some = f->worst.sharp.count > 0; /* else the two sides are one expression */
    cs_generation_bound_state_case(
        &f->worst.sharp, id_of(id, "sharp", p), CS_CORRECTED,
        p == 0 ? "||W (f^(X_m) - f^(X_<k))|| <= ||W||_2 eta_i (1 - ((k-1)/N)^2) = Delta_k"
               : "||W (f^(X_m) - f^(X_<k))|| <= ||W||_2 eta_i (1 - ((k-1)/N)^3) = Delta_k",
        input, out);
    if (some && out->count > 0) {
        const cs_detail list[] = {{"share_of_bound_least", f->tightness.least},
                                  {"share_of_bound_median", f->tightness.median},
                                  {"share_of_bound_largest", f->tightness.largest},
                                  {"eta_exact_share", (double)f->exact / (double)a->sequences},
                                  {"whole_prefixes", (double)a->whole},
                                  {"sequences_of_equal_rows", (double)a->alike}};
        cs_statement_reals(&out->item[out->count - 1], sizeof list / sizeof *list, list);
    }
    cs_generation_bound_state_case(
        &f->worst.sharp_loss, id_of(id, "sharp-loss", p), CS_CORRECTED,
        "-z(X_<k)_+ + z(X_<k)_-^2 <= -z(X_m)_+ + Delta_k + (|z(X_m)_-| + Delta_k)^2 "
        "for every X_- (z(X_m)_+ moved left)",
        input, out);
    cs_statement *s =
        some ? cs_statements_add(out, id_of(id, "sharp-mean", p), CS_CORRECTED, CS_RELATION_AT_MOST,
                                 "L_gen(f^) <= E[-z(X_m)_+ + Delta_k + (|z(X_m)_-| + Delta_k)^2]",
                                 input)
             : NULL;
    if (s) {
        s->trivial = f->means.trivial; /* by ||W|| and the largest term alone */
        cs_statement_evaluate(s, f->means.gen, f->means.rhs, f->means.error);
        cs_statement_counterexample(s, "%s: %.12g against %.12g", input, s->lhs, s->rhs);
        cs_statement_real(s, "looseness", f->means.rhs / fabs(f->means.gen));
    }
}

cs_status cs_generation_bound_state(const cs_generation_bound_model *m,
                                    const cs_generation_bound_audit *a, const char *input,
                                    cs_statements *out)
{
    cs_generation_bound_printed(
        m, a, 1, "4.3",
        "L_gen(f_mask) <= sum_k (w_k^2/(k-1)^6 + w_k ||W||^2 eta) / 2N + delta_mask + 1, "
        "w_k = N^3 - (k-1)^3, three free indices",
        input, out);
    cs_generation_bound_printed(
        m, a, 0, "4.3-two-index",
        "the same for Q K^T V as printed: w_k = N^2 - (k-1)^2, w_k^2/(k-1)^4, two free indices",
        input, out);
    indices(a, input, out);
    for (int p = 1; p >= 0; --p) {
        const cs_generation_bound_form *f = &a->form[p];
        unit_norm(a, f, p, input, out);
        delta_square(f, p, input, out);
        slips(f, p, input, out);
        sharpened(a, f, p, input, out);
    }
    return cs_statements_status(out);
}
