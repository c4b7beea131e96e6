/* Theorem 4.2's comparison: sigma'_j < sigma_j for r < j <= rs when s rho > 1.
 *
 * Both sides are read off the computed spectra at the j in range with the least room. The printed
 * range needs rs ones of AR. Without an empty prefix it has r (s-1), with a shared one r (s-1) + 1:
 * after these sigma_j = 0 while sigma'_j > 0, and the inequality is the other way round.
 *
 * The prefix convention changes AR alone: a mask that leaves m >= 1 tokens has no empty X.
 */
#include <stdio.h>

#include "analysis/theorems/theorem_42_private.h"
#include "base/mem.h"

cs_42_difference cs_42_least_room(const cs_toy_spectrum *a, const cs_toy_spectrum *b, double from,
                                  double to)
{
    const cs_toy_spectrum *both[] = {a, b};
    cs_42_difference least = {cs_42_sigma(a, from + 1), cs_42_sigma(b, from + 1), from + 1};
    /* b_j - a_j changes only where a group of equal values ends. */
    for (int i = 0; i < 2; ++i) {
        double before = 0;
        for (int64_t v = 0; v < both[i]->values; ++v) {
            before += (double)both[i]->multiplicity[v];
            if (before > from && before < to) {
                const double x = cs_42_sigma(a, before + 1), y = cs_42_sigma(b, before + 1);
                if (y - x < least.b - least.a) {
                    least = (cs_42_difference){x, y, before + 1};
                }
            }
        }
    }
    return least;
}

typedef struct {
    cs_statement_form form;
    const char *text, *id;
    const cs_42_case *low, *high; /* low_j < high_j */
    double from, to;
} comparison;

static void compare(const comparison *k, const char *input, double masked_tokens,
                    cs_statements *out)
{
    const cs_42_difference d = cs_42_least_room(k->low->best, k->high->best, k->from, k->to);
    const double error =
        k->low->best->residual + k->low->rounding + k->high->best->residual + k->high->rounding;
    cs_statement *s = cs_statements_add(out, k->id, k->form, CS_RELATION_LESS, k->text, input);
    cs_statement_judge(s, d.a, d.b, error);
    cs_statement_assume(s, "s rho > 1 (value: masked tokens)", masked_tokens > 1, masked_tokens);
    cs_statement_real(s, "j", d.index);
    cs_statement_counterexample(s, "%s: at j = %.15g %.12g is not below %.12g", input, d.index, d.a,
                                d.b);
}

cs_status cs_42_strict(const cs_42_case *ar, const cs_42_case *masked, double ones,
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
    char *range = cs_format("sigma'_j < sigma_j for r < j <= %s, where AR's ones end", ones_text);
    char *input = cs_format("%s; AR: empty prefix %s", masked->input, prefix);
    cs_status status = range && input ? CS_OK : CS_ERR_MEMORY;
    const comparison part[] = {
        {CS_PRINTED,
         "sigma'_j < sigma_j for r < j <= rs when s rho > 1 (lhs masked, rhs AR, at the j with the "
         "least room)",
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
    cs_free(range);
    cs_free(input);
    return status;
}
