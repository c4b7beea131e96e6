/* Theorem 4.2 (LA 4.1.2, A.3): spectra of autoregressive and masked pretraining on the toy model.
 *
 *   printed   AR: sigma_j = 1 for j <= rs, 0 after
 *             masked, s rho > 1: sigma'_j = 1 for j <= r, and for r < j <= rs
 *                                sqrt(s (1 - rho) / ((s rho)(s - 1))) < 1 = sigma_j
 *   true      AR: r (s-1) ones without an empty prefix, r (s-1) + 1 with a shared one, rs only with
 *                 a class-tagged one; sigma'_j < sigma_j up to there, and the reverse after
 *             masked: as printed, for disjoint token sets and a blind X; with the target's position
 *                 given every sigma is 1, and the advantage is gone
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/theorems/theorem_42_private.h"
#include "base/auto.h"

typedef struct {
    cs_statement_form form;
    const char *text, *id;
    const cs_42_case *low, *high; /* low_j < high_j */
    double from, to;
} comparison;

static void compare(const comparison *k, const char *input, double masked_tokens,
                    cs_statements *out)
{
    const cs_42_difference d = cs_42_least_margin(k->low->best, k->high->best, k->from, k->to);
    const double error =
        k->low->best->residual + k->low->rounding + k->high->best->residual + k->high->rounding;
    cs_statement *s = cs_statements_add(out, k->id, k->form, CS_RELATION_LESS, k->text, input);
    cs_statement_evaluate(s, d.a, d.b, error);
    cs_statement_assume(s, "s rho > 1 (value: masked tokens)", masked_tokens > 1, masked_tokens);
    cs_statement_real(s, "j", d.index);
    cs_statement_counterexample(s, "%s: at j = %.15g %.12g is not below %.12g", input, d.index, d.a,
                                d.b);
}

/* As printed; up to `ones`, the true number of ones of AR (ones_text: in symbols), and the reverse
 * after. Nothing at s rho = 1, which the theorem leaves out. */
static cs_status strict(const cs_42_case *ar, const cs_42_case *masked, double ones,
                        const char *ones_text, cs_statements *out)
{
    const char *prefix = cs_prefix_name(ar->toy.objective.empty_prefix);
    const double r = (double)ar->toy.classes, rs = r * (double)ar->toy.length;
    const double masked_tokens =
        (double)masked->toy.length - (double)masked->toy.objective.unmasked_lo;
    if (masked_tokens <= 1) {
        return CS_OK;
    }
    char id[40], reverse[40];
    (void)snprintf(id, sizeof id, "4.2-strict-%s", prefix);
    (void)snprintf(reverse, sizeof reverse, "4.2-strict-%s-after", prefix);
    CS_AUTO_FREE char *range =
        cs_format("sigma'_j < sigma_j for r < j <= %s, where AR's ones end", ones_text);
    CS_AUTO_FREE char *input = cs_format("%s; AR: empty prefix %s", masked->input, prefix);
    cs_status status = range && input ? CS_OK : CS_ERR_MEMORY;
    const comparison part[] = {
        {CS_PRINTED,
         "sigma'_j < sigma_j for r < j <= rs when s rho > 1 (lhs masked, rhs AR, at the j with the "
         "smallest margin)",
         id, masked, ar, r, rs},
        {CS_CORRECTED, range, id, masked, ar, r, ones},
        {CS_CORRECTED,
         "the reverse where AR's ones have ended: sigma_j < sigma'_j up to j = rs (lhs AR, rhs "
         "masked)",
         reverse, ar, masked, ones, rs},
    };
    for (size_t i = 0; status == CS_OK && i < sizeof part / sizeof *part; ++i) {
        if (part[i].from < part[i].to) {
            compare(&part[i], input, masked_tokens, out);
        }
    }
    return status;
}

/* rs ones, under the three readings of the first position, compared with `masked`. */
static cs_status autoregressive(const cs_toy *toy, const cs_42_case *masked, cs_statements *out,
                                cs_item *spectra)
{
    const double r = (double)toy->classes, s = (double)toy->length;
    const struct {
        cs_empty_prefix prefix;
        const char *id, *text, *ones_text;
        double ones;
    } reading[] = {
        {CS_PREFIX_NONE, "4.2-ar-ones-none", "r (s-1) ones without an empty prefix", "r (s-1)",
         r * (s - 1)},
        {CS_PREFIX_SHARED, "4.2-ar-ones-shared", "r (s-1) + 1 ones with a shared empty prefix",
         "r (s-1) + 1", r * (s - 1) + 1},
        {CS_PREFIX_CLASS, "4.2-ar-ones-class", "rs ones with a class-tagged empty prefix", "rs",
         r * s},
    };
    cs_status status = CS_OK;
    for (size_t i = 0; status == CS_OK && i < sizeof reading / sizeof *reading; ++i) {
        cs_toy ar = cs_toy_with(toy, CS_OBJ_AR, reading[i].prefix);
        ar.given = ar.literal = false;
        ar.position_known = 0;
        CS_AUTO(cs_42_case) c = {0};
        status = cs_42_case_of(&ar, &c);
        if (status == CS_OK) {
            cs_42_state_ones(&c, reading[i].id, CS_PRINTED,
                             "AR: sigma_j = 1 for j <= rs (lhs: number of ones)", r * s, out);
            cs_42_state_ones(&c, reading[i].id, CS_CORRECTED, reading[i].text, reading[i].ones,
                             out);
            status = strict(&c, masked, reading[i].ones, reading[i].ones_text, out);
        }
        if (status == CS_OK) status = cs_42_record(&c, spectra);
    }
    return status;
}

/* The printed masked spectrum: r ones and r (s-1) values sqrt(m / ((s-m)(s-1))). */
static void state_formula(const cs_42_case *c, int64_t m, const char *id, cs_statement_form form,
                          const char *text, cs_statements *out)
{
    const double s = (double)c->toy.length;
    double sigma[] = {1, sqrt((double)m / ((s - (double)m) * (s - 1)))};
    int64_t multiplicity[] = {c->toy.classes, c->toy.classes * (c->toy.length - 1)};
    const cs_toy_spectrum claimed = {.values = 2, .sigma = sigma, .multiplicity = multiplicity};
    cs_42_difference d = cs_42_compare(c->best, &claimed);
    cs_statement *statement =
        cs_statements_claim(out, &(cs_claim){id, form, CS_RELATION_EQUAL, text, c->input, d.a, d.b,
                                             c->best->residual + c->rounding});
    cs_statement_real(statement, "j", d.index);
    cs_statement_detail(statement, "method", json_string(cs_42_method_name[c->method]));
    if (!c->toy.given) { /* given: another formula than the printed one, which differs and fails */
        cs_42_unspecify(c->best, statement);
    }
}

static cs_status masked(const cs_42_case *blind, int64_t m, cs_statements *out, cs_item *spectra)
{
    const cs_toy edge = cs_toy_masked(&blind->toy, blind->toy.length - 1);
    CS_AUTO(cs_42_case) c = {0};
    state_formula(blind, m, "4.2-masked", CS_PRINTED,
                  "masked: sigma'_j = 1 for j <= r, sqrt(s(1-rho) / ((s rho)(s-1))) for r < j <= "
                  "rs, 0 after (sides: where they differ most)",
                  out);
    state_formula(blind, m, "4.2-masked", CS_CORRECTED,
                  "the same for disjoint token sets and an X blind to the target's position", out);
    cs_status status = cs_42_record(blind, spectra);
    if (status == CS_OK) status = cs_42_case_of(&edge, &c);
    if (status == CS_OK)
        cs_42_state_ones(&c, "4.2-strict-edge", CS_CORRECTED,
                         "at s rho = 1, which the theorem leaves out, all rs singular values are "
                         "1: no gain over AR (lhs: number of ones)",
                         (double)edge.classes * (double)edge.length, out);
    return status;
}

/* "The singular values of the masked SSL co-occurrence matrix decrease with a larger mask ratio" */
static cs_status monotone(const cs_toy *toy, cs_statements *out)
{
    double before = NAN, largest = -INFINITY, error = 0;
    int64_t last = 1;
    cs_status status = CS_OK;
    /* Steps through at most 64 lengths, so that a long sequence stays affordable. */
    int64_t step = 1 + (toy->length - 2) / 64;
    for (int64_t m = 1; status == CS_OK && m < toy->length; m += step) {
        const cs_toy at = cs_toy_masked(toy, m);
        CS_AUTO(cs_toy_spectrum) spectrum = {0};
        status = cs_toy_reduce(&at, &spectrum);
        if (status == CS_OK) {
            double now = cs_42_sigma(&spectrum, (double)toy->classes + 1);
            largest = m > 1 ? fmax(largest, before - now) : largest;
            before = now;
            last = m;
            error = fmax(error, 2 * (spectrum.residual + DBL_EPSILON * (64 + (double)toy->length)));
        }
    }
    if (status != CS_OK || !isfinite(largest)) return status;
    char steps[48] = "";
    if (step > 1) {
        (void)snprintf(steps, sizeof steps, " in steps of %lld", (long long)step);
    }
    CS_AUTO_FREE char *input =
        cs_format("r=%lld s=%lld, masked, m = 1..%lld%s", (long long)toy->classes,
                  (long long)toy->length, (long long)last, steps);
    if (!input) return CS_ERR_MEMORY;
    cs_statements_claim(
        out, &(cs_claim){"4.2-ratio", CS_PRINTED, CS_RELATION_LESS,
                         "sigma' falls as the mask ratio grows: sigma'(m) - sigma'(m') < 0 for m < "
                         "m' (lhs: the largest difference of neighbours)",
                         input, largest, 0, error});
    return CS_OK;
}

/* The printed token sets {k T r + y j} collide between classes. */
static cs_status literal_sets(const cs_toy *toy, int64_t m, cs_statements *out, cs_item *spectra)
{
    cs_toy model[2] = {cs_toy_with(toy, CS_OBJ_AR, CS_PREFIX_NONE), cs_toy_masked(toy, m)};
    cs_status status = CS_OK;
    for (int i = 0; status == CS_OK && i < 2; ++i) {
        model[i].literal = true;
        model[i].given = false;
        model[i].position_known = 0;
        bool fits = false;
        CS_AUTO(cs_42_case) c = {0};
        status = cs_42_fits(&model[i], &fits);
        if (status != CS_OK || !fits) continue;
        status = cs_42_case_of(&model[i], &c);
        if (status == CS_OK && i == 0) {
            cs_42_state_ones(&c, "4.2-sets-ar", CS_PRINTED,
                             "AR on the printed token sets {kTr + y j}: r (s-1) ones, as for "
                             "disjoint sets",
                             (double)toy->classes * (double)(toy->length - 1), out);
        } else if (status == CS_OK) {
            state_formula(&c, m, "4.2-sets-masked", CS_PRINTED,
                          "masked on the printed token sets {kTr + y j}: the printed spectrum",
                          out);
        }
        if (status == CS_OK) status = cs_42_record(&c, spectra);
    }
    return status;
}

/* A position that the model knows is part of X: each position is its own block. */
static cs_status position_given(const cs_toy *toy, int64_t m, cs_statements *out, cs_item *spectra)
{
    cs_toy given = cs_toy_masked(toy, m);
    given.given = true;
    CS_AUTO(cs_42_case) c = {0};
    cs_status status = cs_42_case_of(&given, &c);
    if (status == CS_OK) {
        state_formula(&c, m, "4.2-masked-given", CS_PRINTED,
                      "the printed masked spectrum for a model that knows which position it fills "
                      "(BERT: X = (S, x_S, k))",
                      out);
        cs_42_state_ones(&c, "4.2-masked-given", CS_CORRECTED,
                         "with the target position given all rs singular values are 1: the gap to "
                         "AR vanishes (lhs: number of ones)",
                         (double)toy->classes * (double)toy->length, out);
        status = cs_42_record(&c, spectra);
    }
    return status;
}

/* Both objectives of the theorem on disjoint token sets, X blind to the target's position. */
static cs_status both(const cs_toy *toy, int64_t m, cs_statements *out, cs_item *spectra)
{
    const cs_toy model = cs_toy_masked(toy, m);
    CS_AUTO(cs_42_case) blind = {0};
    cs_status status = cs_42_case_of(&model, &blind);
    if (status == CS_OK) status = autoregressive(toy, &blind, out, spectra);
    return status == CS_OK ? masked(&blind, m, out, spectra) : status;
}

cs_status cs_theorem_42(const cs_toy *toy, cs_statements *out, cs_item *spectra)
{
    int64_t m = 0;
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK && toy->length < 2)
        status = cs_fail(CS_ERR_USAGE, "Theorem 4.2 needs length >= 2, got %lld",
                         (long long)toy->length);
    if (status == CS_OK) status = cs_toy_unmasked(toy, &m);
    if (status == CS_OK) status = both(toy, m, out, spectra);
    if (status == CS_OK) status = monotone(toy, out);
    if (status == CS_OK) status = literal_sets(toy, m, out, spectra);
    if (status == CS_OK) status = position_given(toy, m, out, spectra);
    if (status == CS_OK) status = cs_42_proof(toy, m, out);
    if (status == CS_OK) status = cs_42_extension(toy, out, spectra);
    return status == CS_OK ? cs_statements_status(out) : status;
}

static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_42(in->toy, &report->statements, report->rows);
}

const cs_theorem cs_entry_42 = {
    .id = "4.2",
    .about = "Theorem 4.2 is about the toy model",
    .paper = "LA",
    .printed_words = "toy model: AR has r s singular values 1, masked r",
    .corrected_words = "toy model: AR has r (s-1) of them, masked r",
    .printed =
        "AR: sigma_j = 1 for j <= rs; masked: sigma'_j = sqrt(s(1-rho) / ((s rho)(s-1))) < 1 "
        "for r < j <= rs",
    .corrected =
        "AR: r (s-1) ones without an empty prefix, r (s-1) + 1 with a shared one; masked as "
        "printed where X is blind",
    .run = {[CS_ON_TOY] = on_toy},
    .file = "theorem42.csv",
    .key = "~theorem42",
    .view = {"~theorem42[]", "classes length tokens objective empty_prefix target_position "
                             "token_sets method sigma multiplicity residual"}};
