/* Theorem 4.2's comparison: sigma'_j < sigma_j for r < j <= rs when s rho > 1.
 *
 * Both sides are read off the computed spectra at the j in range with the least room. The printed
 * range needs rs ones of AR. Without an empty prefix it has r (s-1), with a shared one r (s-1) + 1:
 * after these sigma_j = 0 while sigma'_j > 0, and the inequality is the other way round.
 *
 * The prefix convention changes AR alone: a mask that leaves m >= 1 tokens has no empty X.
 */
#include <math.h>

#include "analysis/theorem_42.h"
#include "base/mem.h"
#include "io/json.h"

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

static cs_status compare(const comparison *k, const char *input, double masked_tokens,
                         cs_statements *out)
{
    const cs_42_difference d = cs_42_least_room(k->low->best, k->high->best, k->from, k->to);
    const double error =
        k->low->best->residual + k->low->rounding + k->high->best->residual + k->high->rounding;
    cs_statement *s = cs_statements_add(out, k->id, k->form, CS_RELATION_LESS, k->text, input);
    if (!s) {
        return CS_ERR_MEMORY;
    }
    cs_statement_judge(s, d.a, d.b, error);
    cs_status status = cs_statement_assume(s, "s rho > 1 (value: masked tokens)", masked_tokens > 1,
                                           masked_tokens);
    if (status == CS_OK) {
        status = cs_statement_detail(s, "j", cs_json_number(d.index));
    }
    if (status == CS_OK && s->verdict == CS_FAIL) {
        status = cs_statement_counterexample(s, "%s: at j = %.15g %.12g is not below %.12g", input,
                                             d.index, d.a, d.b);
    }
    return status;
}

cs_status cs_42_strict(const cs_42_case *ar, const cs_42_case *masked, double ones,
                       cs_statements *out)
{
    static const char *const id[] = {[CS_PREFIX_NONE] = "4.2-strict-none",
                                     [CS_PREFIX_SHARED] = "4.2-strict-shared",
                                     [CS_PREFIX_CLASS] = "4.2-strict-class"};
    static const char *const reverse[] = {[CS_PREFIX_NONE] = "4.2-strict-none-after",
                                          [CS_PREFIX_SHARED] = "4.2-strict-shared-after",
                                          [CS_PREFIX_CLASS] = "4.2-strict-class-after"};
    static const char *const range[] = {
        [CS_PREFIX_NONE] = "sigma'_j < sigma_j for r < j <= r (s-1), where AR's ones end",
        [CS_PREFIX_SHARED] = "sigma'_j < sigma_j for r < j <= r (s-1) + 1, where AR's ones end",
        [CS_PREFIX_CLASS] = "sigma'_j < sigma_j for r < j <= rs, where AR's ones end"};
    const cs_empty_prefix prefix = ar->toy.objective.empty_prefix;
    const double r = (double)ar->toy.classes, rs = r * (double)ar->toy.length;
    const double masked_tokens =
        (double)masked->toy.length - (double)masked->toy.objective.unmasked_lo;
    const comparison part[] = {
        {CS_PRINTED,
         "sigma'_j < sigma_j for r < j <= rs when s rho > 1 (lhs masked, rhs AR, at the j with the "
         "least room)",
         id[prefix], masked, ar, r, rs},
        {CS_CORRECTED, range[prefix], id[prefix], masked, ar, r, ones},
        {CS_CORRECTED,
         "the reverse where AR's ones have ended: sigma_j < sigma'_j up to j = rs (lhs AR, rhs "
         "masked)",
         reverse[prefix], ar, masked, ones, rs},
    };
    if (masked_tokens <= 1) {
        return CS_OK;
    }
    char *input = cs_format("%s; AR: empty prefix %s", masked->input,
                            prefix == CS_PREFIX_NONE     ? "none"
                            : prefix == CS_PREFIX_SHARED ? "shared"
                                                         : "class");
    cs_status status = input ? CS_OK : CS_ERR_MEMORY;
    for (size_t i = 0; status == CS_OK && i < sizeof part / sizeof *part; ++i) {
        if (part[i].from < part[i].to) {
            status = compare(&part[i], input, masked_tokens, out);
        }
    }
    cs_free(input);
    return status;
}
