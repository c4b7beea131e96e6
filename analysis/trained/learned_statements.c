/* Statements about trained models: bounds that hold whatever was learned, and how near training
 * came. A budget that did not suffice is INCONCLUSIVE, never FAIL. */
#include <math.h>

#include "analysis/trained/learned_factors.h"
#include "base/auto.h"
#include "base/mem.h"
#include "io/json.h"

/* "MODEL: INPUT" */
static cs_statement *add_statement(cs_statements *out, const char *id, const char *text,
                                   const char *model, const char *input)
{
    CS_AUTO_FREE char *on = cs_format("%s: %s", model, input);
    cs_statement *s =
        on ? cs_statements_add(out, id, CS_CORRECTED, CS_RELATION_AT_MOST, text, on) : NULL;
    if (!on) out->status = CS_ERR_MEMORY;
    return s;
}

static void evaluate(cs_statement *s, double lhs, double rhs, double error)
{
    cs_statement_evaluate(s, lhs, rhs, error);
    cs_statement_counterexample(s, "%.17g against %.17g", lhs, rhs);
}

static void minimum(const cs_learned *l, const char *model, const char *input, cs_statements *out)
{
    cs_statement *s =
        add_statement(out, "trained-minimum",
                      "-(b/2)^2 (sigma_1^2 + ... + sigma_d^2) <= L_b(f, W), by the exact "
                      "expectation over all contexts",
                      model, input);
    evaluate(s, l->minimum, l->loss, l->error);
    cs_statement_real(s, "factor", l->factor);
    cs_statement_int(s, "width", l->width);
    cs_statement_real(s, "excess", l->excess);
    cs_statement_real(s, "excess_share", l->excess / -l->minimum);
    cs_statement_real(s, "distance", l->distance);
}

static void range(const cs_learned *l, const char *model, const char *input, cs_statements *out)
{
    cs_statement *s =
        add_statement(out, "trained-range",
                      "||sin Theta||_F^2 <= (L_b - min L_b) / ((b/2)^2 (sigma_t^2 - "
                      "sigma_{d+1}^2)), Theta between U_t and the range of F, V_t and that of "
                      "W' (lhs: the larger)",
                      model, input);
    if (s) s->trivial = (double)l->t;
    evaluate(s, fmax(l->left_range, l->right_range), l->range_bound, l->range_error);
    cs_statement_real(s, "left", l->left_range);
    cs_statement_real(s, "right", l->right_range);
    cs_statement_int(s, "t", l->t);
}

/* Whether the span of the features of `reach` contains the optimum of L_2. */
static bool holds_optimum(const cs_learned *l, const cs_linear_reach *reach)
{
    double best = 4 * l->minimum / (l->factor * l->factor);
    return !(reach->uniform > best + 1e-8);
}

static void angle(const cs_learned *l, const char *model, const char *input,
                  const cs_linear_reach *reach, double tolerance, cs_statements *out)
{
    cs_statement *s =
        add_statement(out, "trained-angle",
                      "the top t singular vectors of F W'^T are within the tolerance (radians, "
                      "largest principal angle) of U_t and V_t",
                      model, input);
    double largest = fmax(l->left[l->t - 1], l->right[l->t - 1]);
    cs_statement_evaluate(s, largest, tolerance, 0.0);
    if (reach && !holds_optimum(l, reach)) {
        cs_statement_unspecify(s,
                               "the architecture can represent the optimum (value: excess of the "
                               "least L_2 of uniform attention over it)",
                               reach->uniform - 4 * l->minimum / (l->factor * l->factor));
    } else if (largest > tolerance) {
        cs_statement_withhold(s);
        cs_statement_assume(s, "training came close enough to its minimum (value: excess)", false,
                            l->excess);
    }
    cs_statement_int(s, "t", l->t);
    cs_statement_detail(s, "left", cs_json_numbers(l->t, l->left));
    cs_statement_detail(s, "right", cs_json_numbers(l->t, l->right));
}

static void reached(const cs_learned *l, const char *model, const char *input,
                    const cs_linear_reach *reach, cs_statements *out)
{
    const double half2 = l->factor * l->factor / 4;
    cs_statement *s =
        add_statement(out, "trained-reach",
                      "the least L_b of d features that are quadratic in the presence of "
                      "tokens <= L_b(f, W)",
                      model, input);
    evaluate(s, half2 * reach->any, l->loss, l->error + 1e-9 * fabs(l->minimum));
    cs_statement_real(s, "uniform_attention", half2 * reach->uniform);
    cs_statement_real(s, "above_uniform_attention", l->loss - half2 * reach->uniform);
}

cs_status cs_learned_state(const cs_learned *learned, const char *model, const char *input,
                           const cs_linear_reach *reach, double tolerance, cs_statements *out)
{
    minimum(learned, model, input, out);
    if (learned->t > 0) {
        range(learned, model, input, out);
        angle(learned, model, input, reach, tolerance, out);
    }
    if (reach && !holds_optimum(learned, reach) && isfinite(reach->any)) {
        reached(learned, model, input, reach, out);
    }
    return cs_statements_status(out);
}

cs_status cs_learned_entropy_state(const cs_learned_entropy *e, const char *model,
                                   const char *input, double tolerance, cs_statements *out)
{
    const double rounding = 1e-6 * e->optimum; /* single precision */
    cs_statement *s =
        add_statement(out, "trained-entropy",
                      "H - 4 se <= cross-entropy a predicted token on fresh sequences; H the "
                      "least there is",
                      model, input);
    evaluate(s, e->optimum - 4 * e->se, e->loss, rounding);
    cs_statement_real(s, "optimum", e->optimum);
    cs_statement_real(s, "se", e->se);
    cs_statement_int(s, "sequences", e->sequences);
    cs_statement_real(s, "excess", e->loss - e->optimum);
    s = add_statement(out, "trained-entropy-excess",
                      "cross-entropy - H <= tolerance + 4 se (nats a predicted token)", model,
                      input);
    cs_statement_evaluate(s, e->loss - e->optimum, tolerance + 4 * e->se, 0.0);
    if (s && s->verdict == CS_FAIL) {
        cs_statement_withhold(s);
    }
    return cs_statements_status(out);
}
