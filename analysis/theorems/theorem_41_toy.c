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

#include "analysis/theorems/theorem_41_private.h"

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
    if (status != CS_OK || !plain || !(ar || mask) || c->t_max < toy->classes) return status;
    int64_t from = c->t_max + 1;
    while (from > 1 && c->worst[from - 2] == 0) {
        --from;
    }
    double claimed = (double)toy->classes * (ar ? (double)(toy->length - 1) : 1);
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"4.1-perfect", CS_CORRECTED, CS_RELATION_EQUAL,
                         ar ? "E(t) = 0 for every rotation iff t >= r (s-1) (AR)"
                            : "E(t) = 0 for every rotation iff t >= r (mask with s rho > 1)",
                         input, (double)from, claimed, 0});
    cs_statement_int(s, "rotations", c->rotations.rotations);
    cs_statement_counterexample(s, "E = 0 from t = %lld on", (long long)from);
    return CS_OK;
}

cs_status cs_theorem_41_toy(const cs_toy *toy, int64_t limit, const cs_theorem_input *options,
                            cs_statements *out, cs_item *rows)
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
    char *input = cs_toy_describe(toy);
    cs_status status = input ? cs_toy_matrix(toy, limit, &m) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_spectrum_of(&m.a, &so, &spectrum);
    if (status == CS_OK) status = cs_41_curve_of(&m, &spectrum, options, &c);
    if (status == CS_OK) cs_41_statements(&c, &spectrum, input, out, rows);
    if (status == CS_OK && c.full && c.t_max == spectrum.k)
        status = perfect_from(toy, &c, input, out);
    cs_41_curve_free(&c);
    cs_spectrum_free(&spectrum);
    cs_labelled_free(&m);
    cs_free(input);
    return status == CS_OK ? cs_statements_status(out) : status;
}

static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_41_toy(in->toy, CS_THEOREM_TOY_ENTRIES, in, &report->statements,
                             report->rows);
}

static cs_status on_matrix(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_41(in->matrix, in->leading, in->name, in, &report->statements, report->rows);
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_41_unweighted(in, &report->statements);
}

const cs_theorem cs_entry_41 = {
    .id = "4.1",
    .about = "Theorem 4.1 is about a matrix with labels",
    .printed = "E <= c_1 sum_{j>t} sigma_j^4 + c_2 alpha, c_1 and c_2 not given",
    .corrected = "E <= 2 p_max sum_{j>t} sigma_j^4 + 2 (1 + sigma_{t+1}^2) alpha~",
    .labels = true,
    .run = {[CS_ON_TOY] = on_toy, [CS_ON_MATRIX] = on_matrix, [CS_ON_NOTHING] = on_nothing},
    .file = "theorem41_curve.csv",
    .key = "~theorem41",
    .view = {"~theorem41[]",
             "input t sigma sigma_next tail_sigma4 tail_error error error_rotation_mean "
             "error_rotation_worst bound_sharp bound_alpha_tilde bound_alpha bound_gap trivial "
             "alpha alpha_tilde p_max error_documents bound_documents error_soft bound_soft "
             "label_noise error_unweighted"}};
