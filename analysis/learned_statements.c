/* Statements about trained models: bounds that hold whatever was learned, and how near training
 * came. A budget that did not suffice is INCONCLUSIVE, never FAIL. */
#include <math.h>

#include "analysis/learned_factors.h"
#include "base/mem.h"
#include "io/json.h"

static cs_status number(cs_statement *s, const char *key, double x)
{
    return cs_statement_detail(s, key, cs_json_number(x));
}

static json_t *numbers(const double *x, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; array && i < n; ++i) {
        if (json_array_append_new(array, cs_json_number(x[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static cs_status add(cs_statements *out, const char *id, const char *text, const char *model,
                     const char *input, cs_statement **s)
{
    char *on = cs_format("%s: %s", model, input);
    *s = on ? cs_statements_add(out, id, CS_CORRECTED, CS_RELATION_AT_MOST, text, on) : NULL;
    cs_free(on);
    return *s ? CS_OK : CS_ERR_MEMORY;
}

static cs_status counterexample(cs_statement *s)
{
    return s->verdict == CS_FAIL
               ? cs_statement_counterexample(s, "%.17g against %.17g", s->lhs, s->rhs)
               : CS_OK;
}

static cs_status minimum(const cs_learned *l, const char *model, const char *input,
                         cs_statements *out)
{
    cs_statement *s;
    cs_status status = add(out, "trained-minimum",
                           "-(b/2)^2 (sigma_1^2 + ... + sigma_d^2) <= L_b(f, W), by the exact "
                           "expectation over all contexts",
                           model, input, &s);
    if (status != CS_OK) {
        return status;
    }
    cs_statement_judge(s, l->minimum, l->loss, l->error);
    status = counterexample(s);
    if (status == CS_OK && (status = number(s, "factor", l->factor)) == CS_OK &&
        (status = cs_statement_detail(s, "width", json_integer(l->width))) == CS_OK &&
        (status = number(s, "excess", l->excess)) == CS_OK &&
        (status = number(s, "excess_share", l->excess / -l->minimum)) == CS_OK) {
        status = number(s, "distance", l->distance);
    }
    return status;
}

static cs_status range(const cs_learned *l, const char *model, const char *input,
                       cs_statements *out)
{
    cs_statement *s;
    cs_status status = add(out, "trained-range",
                           "||sin Theta||_F^2 <= (L_b - min L_b) / ((b/2)^2 (sigma_t^2 - "
                           "sigma_{d+1}^2)), Theta between U_t and the range of F, V_t and that of "
                           "W' (lhs: the larger)",
                           model, input, &s);
    if (status != CS_OK) {
        return status;
    }
    s->trivial = (double)l->t;
    cs_statement_judge(s, fmax(l->left_range, l->right_range), l->range_bound, l->range_error);
    status = counterexample(s);
    if (status == CS_OK && (status = number(s, "left", l->left_range)) == CS_OK) {
        status = number(s, "right", l->right_range);
    }
    return status == CS_OK ? cs_statement_detail(s, "t", json_integer(l->t)) : status;
}

/* Whether the features that `reach` speaks of hold the optimum of L_2. */
static bool holds_optimum(const cs_learned *l, const cs_linear_reach *reach)
{
    double best = 4 * l->minimum / (l->factor * l->factor);
    return !(reach->uniform > best + 1e-8);
}

static cs_status angle(const cs_learned *l, const char *model, const char *input,
                       const cs_linear_reach *reach, double tolerance, cs_statements *out)
{
    cs_statement *s;
    cs_status status =
        add(out, "trained-angle",
            "the top t singular vectors of F W'^T are within the tolerance (radians, "
            "largest principal angle) of U_t and V_t",
            model, input, &s);
    if (status != CS_OK) {
        return status;
    }
    double largest = fmax(l->left[l->t - 1], l->right[l->t - 1]);
    cs_statement_judge(s, largest, tolerance, 0.0);
    if (reach && !holds_optimum(l, reach)) {
        s->verdict = CS_UNSPECIFIED;
        status =
            cs_statement_assume(s,
                                "the architecture holds the optimum (value: by how much "
                                "the least L_2 of uniform attention stays above it)",
                                false, reach->uniform - 4 * l->minimum / (l->factor * l->factor));
    } else if (largest > tolerance) {
        cs_statement_withhold(s);
        status = cs_statement_assume(s, "training came near enough to its minimum (value: excess)",
                                     false, l->excess);
    }
    if (status == CS_OK && (status = cs_statement_detail(s, "t", json_integer(l->t))) == CS_OK &&
        (status = cs_statement_detail(s, "left", numbers(l->left, l->t))) == CS_OK) {
        status = cs_statement_detail(s, "right", numbers(l->right, l->t));
    }
    return status;
}

static cs_status reached(const cs_learned *l, const char *model, const char *input,
                         const cs_linear_reach *reach, cs_statements *out)
{
    cs_statement *s;
    double half2 = l->factor * l->factor / 4;
    cs_status status = add(out, "trained-reach",
                           "the least L_b of d features that are quadratic in the presence of "
                           "tokens <= L_b(f, W)",
                           model, input, &s);
    if (status != CS_OK) {
        return status;
    }
    cs_statement_judge(s, half2 * reach->any, l->loss, l->error + 1e-9 * fabs(l->minimum));
    status = counterexample(s);
    if (status == CS_OK) {
        status = number(s, "uniform_attention", half2 * reach->uniform);
    }
    return status == CS_OK ? number(s, "above_uniform_attention", l->loss - half2 * reach->uniform)
                           : status;
}

cs_status cs_learned_state(const cs_learned *learned, const char *model, const char *input,
                           const cs_linear_reach *reach, double tolerance, cs_statements *out)
{
    cs_status status = minimum(learned, model, input, out);
    if (status == CS_OK && learned->t > 0) {
        status = range(learned, model, input, out);
    }
    if (status == CS_OK && learned->t > 0) {
        status = angle(learned, model, input, reach, tolerance, out);
    }
    if (status == CS_OK && reach && !holds_optimum(learned, reach) && isfinite(reach->any)) {
        status = reached(learned, model, input, reach, out);
    }
    return status;
}

cs_status cs_learned_entropy_state(const cs_learned_entropy *e, const char *model,
                                   const char *input, double tolerance, cs_statements *out)
{
    cs_statement *s;
    double rounding = 1e-6 * e->optimum; /* single precision */
    cs_status status = add(out, "trained-entropy",
                           "H - 4 se <= cross-entropy a predicted token on fresh sequences; H the "
                           "least there is",
                           model, input, &s);
    if (status != CS_OK) {
        return status;
    }
    cs_statement_judge(s, e->optimum - 4 * e->se, e->loss, rounding);
    status = counterexample(s);
    if (status == CS_OK && (status = number(s, "optimum", e->optimum)) == CS_OK &&
        (status = number(s, "se", e->se)) == CS_OK &&
        (status = cs_statement_detail(s, "sequences", json_integer(e->sequences))) == CS_OK &&
        (status = number(s, "excess", e->loss - e->optimum)) == CS_OK) {
        status =
            add(out, "trained-entropy-excess",
                "cross-entropy - H <= tolerance + 4 se (nats a predicted token)", model, input, &s);
    }
    if (status == CS_OK) {
        cs_statement_judge(s, e->loss - e->optimum, tolerance + 4 * e->se, 0.0);
        if (s->verdict == CS_FAIL) {
            cs_statement_withhold(s);
        }
    }
    return status;
}
