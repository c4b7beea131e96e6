/* mntp: masked next-token prediction (BehnamGhader et al. 2024, LLM2Vec; Charpentier and Samuel
 * 2024, GPT-BERT). Masked tokens are predicted from the others, as in masked, each by the output of
 * the row before it, as in ar: one network serves both.
 *
 * The first token has no row before it. Without an empty prefix it is always given, and n of the s
 * - 1 others are masked, all sets alike: masked at length s - 1 with the first token known. With
 * one a begin token precedes the text, any token may be masked, and the distribution is that of
 * masked. */
#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(o, s, &lo, &hi);
    if (status == CS_OK) *count = cs_binomial(s - cs_least_given(o), s - lo);
    return status;
}

static cs_status visit(cs_enumeration *e)
{
    int64_t s = e->plan.length, first = cs_least_given(e->objective), lo, hi;
    double count = 0;
    cs_status status = count_plans(e->objective, s, &count);
    if (status == CS_OK) status = cs_objective_unmasked(e->objective, s, &lo, &hi);
    CS_AUTO_FREE int32_t *masked = status == CS_OK ? cs_alloc(s - lo, sizeof *masked) : NULL;
    if (!masked) return status == CS_OK ? CS_ERR_MEMORY : status;
    cs_first_subset(s - lo, masked);
    e->plan.groups = 1;
    for (bool more = true; more && status == CS_OK;) {
        for (int64_t i = 0; i < s; ++i) {
            e->plan.group[i] = 0;
        }
        for (int64_t j = 0; j < s - lo; ++j) {
            e->plan.group[first + masked[j]] = 1;
        }
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, 1 / count);
        more = cs_next_subset(s - first, s - lo, masked);
    }
    return status;
}

static cs_status sample(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, first = cs_least_given(o), lo, hi;
    cs_status status = cs_objective_unmasked(o, s, &lo, &hi);
    if (status != CS_OK) return status;
    plan->groups = 1;
    for (int64_t i = 0; i < s; ++i) {
        plan->group[i] = i >= lo;
    }
    cs_rng_shuffle(rng, s - first, plan->group + first);
    return CS_OK;
}

static cs_pairs_form form(const cs_objective *o)
{
    return cs_least_given(o) ? CS_PAIRS_SETS : CS_PAIRS_INVARIANT;
}

static cs_status pairs_of(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    return cs_least_given(o) ? cs_pairs_of_plans(o, s, pairs) : cs_pairs_of_sizes(o, s, pairs);
}

const cs_objective_row cs_row_MNTP = {
    .aliases = "gpt-bert",
    .summary = "masked tokens, each from the row before it (LLM2Vec, GPT-BERT)",
    .plans = "`masked` with the first token always unmasked",
    .note =
        "The plans are exact up to 2^18 masks and sampled beyond. With an empty prefix they are "
        "those of `masked`. mix:A*ar+B*mntp trains one network on both, as GPT-BERT does; "
        "`prefix-lm` may be a part too.",
    .source = "Charpentier & Samuel 2024",
    .takes = "unmasked mask-ratio",
    .trained = "mask-ratio=0.15",
    .form = form,
    .reads = CS_ROWS_SHIFTED,
    .masks = true,
    .weighting = CS_WEIGHTS_EQUAL,
    .check = cs_check_unmasked,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .pairs = pairs_of,
    .sizes = cs_sizes_unmasked,
    .examples = "mntp:unmasked=1 mntp:unmasked=3 mntp:mask-ratio=0.4",
};
