/* Theorem 4.1 on the toy model: the whole matrix, every t, and from which t on the probe is
 * perfect.
 *
 *   E(t) = 0 for every rotation  iff  t >= r (s-1)  for AR without an empty prefix
 *                                iff  t >= r        for a mask with s rho > 1
 *
 * Measured: the least t0 such that E = 0 for the returned vectors and all rotations tried, the
 * component basis among them, at every t >= t0. Below the number of components that basis leaves
 * one without a feature, so t0 cannot be overlooked.
 */

#include "analysis/theorem_41.h"
#include "analysis/theorem_42.h"
#include "base/mem.h"

static cs_status perfect_from(const cs_toy *toy, const cs_41_curve *c, const char *input,
                              cs_statements *out)
{
    /* One class is never mistaken for another. */
    const bool plain = !toy->literal && !toy->given && toy->classes > 1;
    const bool ar =
        toy->objective.kind == CS_OBJ_AR && toy->objective.empty_prefix == CS_PREFIX_NONE;
    int64_t low = 0, high = 0;
    cs_status status = CS_OK;
    if (toy->objective.kind == CS_OBJ_MASKED) {
        status = cs_objective_unmasked(&toy->objective, toy->length, &low, &high);
    }
    const bool mask = high > 0 && toy->length - high > 1;
    if (status != CS_OK || !plain || !(ar || mask) || c->t_max < toy->classes) {
        return status;
    }
    int64_t from = c->t_max + 1;
    while (from > 1 && c->worst[from - 2] == 0) {
        --from;
    }
    double claimed = (double)toy->classes * (ar ? (double)(toy->length - 1) : 1);
    cs_statement *s =
        cs_statements_add(out, "4.1-perfect", CS_CORRECTED, CS_RELATION_EQUAL,
                          ar ? "E(t) = 0 for every rotation iff t >= r (s-1) (AR)"
                             : "E(t) = 0 for every rotation iff t >= r (mask with s rho > 1)",
                          input);
    if (!s) {
        return CS_ERR_MEMORY;
    }
    cs_statement_judge(s, (double)from, claimed, 0);
    status = cs_statement_detail(s, "rotations", json_integer(c->rotations.rotations));
    if (status == CS_OK && s->verdict == CS_FAIL) {
        status = cs_statement_counterexample(s, "E = 0 from t = %lld on", (long long)from);
    }
    return status;
}

cs_status cs_theorem_41_toy(const cs_toy *toy, int64_t limit, const cs_theorem_41_options *options,
                            cs_statements *out, cs_table *table)
{
    cs_labelled m = {0};
    cs_spectrum spectrum = {0};
    cs_41_curve c = {0};
    cs_spectrum_options so = {
        .seed = options->seed, .threads = options->threads, .progress = options->progress};
    if (options->spectrum) {
        so = *options->spectrum;
    }
    so.k = 0; /* every t */
    so.normalised = so.values_only = false;
    so.moment4 = true; /* for the tail, should the solver stop early */
    char *input = cs_42_describe(toy);
    cs_status status = input ? cs_toy_matrix(toy, limit, &m) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_spectrum_of(&m.a, &so, &spectrum);
    }
    if (status == CS_OK) {
        status = cs_41_curve_of(&m, &spectrum, options, &c);
    }
    if (status == CS_OK) {
        status = cs_41_statements(&c, &spectrum, input, out, table);
    }
    if (status == CS_OK && c.full && c.t_max == spectrum.k) {
        status = perfect_from(toy, &c, input, out);
    }
    cs_41_curve_free(&c);
    cs_spectrum_free(&spectrum);
    cs_labelled_free(&m);
    cs_free(input);
    return status;
}
