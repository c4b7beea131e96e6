/* span-masked: whole spans are masked, of geometric lengths (T5, Raffel et al. 2020; SpanBERT,
 * Joshi et al. 2020).
 *
 * At length s, n = round(rho s) tokens are masked (ratio.h) in k = round(n / t) spans, k clamped to
 * 1..min(n, s-n+1), t the given mean length. The mask is uniform among all those with n masked
 * tokens in exactly k maximal runs: C(n-1, k-1) ways to cut n into k lengths, C(s-n+1, k) places
 * between, before and after the s - n others. Lengths are so distributed as independent geometric
 * ones given their number and their sum, whatever the parameter. T5 draws this distribution except
 * for the ends (its text begins with an unmasked token and ends with a span); SpanBERT cuts lengths
 * off at 10 and lets the number of spans vary. Masked tokens are predicted from the others at once,
 * as in masked. */
#include <math.h>

#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/ratio.h"

/* n masked tokens in k spans. */
static void spans_of(const cs_objective *o, int64_t s, int64_t *n, int64_t *k)
{
    int64_t masked =
        o->unmasked_lo >= 0 ? s - o->unmasked_lo : cs_ratio_masked(o->mask_ratio_lo, s);
    int64_t most = masked < s - masked + 1 ? masked : s - masked + 1;
    int64_t spans = (int64_t)round((double)masked / (double)o->t);
    *n = masked;
    *k = spans < 1 ? 1 : spans > most ? most : spans;
}

static cs_status check_spans(const cs_objective *o)
{
    cs_status status = cs_check_unmasked(o);
    return status == CS_OK ? cs_check_t(o) : status;
}

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    int64_t n, k;
    spans_of(o, s, &n, &k);
    *count = cs_binomial(n - 1, k - 1) * cs_binomial(s - n + 1, k);
    return CS_OK;
}

/* Span j precedes unmasked token number place[j] (from 0); cut[j] + 1 masked tokens are in the
 * spans up to j. Both ascend. */
static void fill_spans(const int32_t *place, const int32_t *cut, int64_t n, int64_t k,
                       cs_plan *plan)
{
    int64_t at = 0, masked = 0;
    int32_t unmasked = 0;
    for (int64_t j = 0; j < k; ++j) {
        for (; unmasked < place[j]; ++unmasked) {
            plan->group[at++] = 0;
        }
        for (int64_t end = j + 1 < k ? cut[j] + 1 : n; masked < end; ++masked) {
            plan->group[at++] = 1;
        }
    }
    while (at < plan->length) {
        plan->group[at++] = 0;
    }
    plan->groups = 1;
}

static cs_status visit(cs_enumeration *e)
{
    int64_t s = e->plan.length, n, k;
    double count = 0;
    spans_of(e->objective, s, &n, &k);
    cs_status status = count_plans(e->objective, s, &count);
    CS_AUTO_FREE int32_t *place = status == CS_OK ? cs_alloc(2 * k, sizeof *place) : NULL;
    if (!place) return status == CS_OK ? CS_ERR_MEMORY : status;
    int32_t *cut = place + k;
    cs_first_subset(k, place);
    for (bool more = status == CS_OK; more && status == CS_OK;) {
        cs_first_subset(k - 1, cut);
        for (bool cuts = true; cuts && status == CS_OK;) {
            fill_spans(place, cut, n, k, &e->plan);
            cs_plan_weigh(e->objective, &e->plan);
            status = e->visit(e->ctx, &e->plan, 1 / count);
            cuts = k > 1 && cs_next_subset(n - 1, k - 1, cut);
        }
        more = cs_next_subset(s - n + 1, k, place);
    }
    return status;
}

/* Places and cuts by selection sampling (Knuth, TAOCP 2, 3.4.2, Algorithm S), as they come. */
static cs_status sample(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, n, k, at = 0, masked = 0;
    spans_of(o, s, &n, &k);
    int64_t places = s - n + 1, cuts = k - 1;
    for (int64_t p = 0, spans = k; p < places; ++p) {
        if (spans > 0 && cs_rng_below(rng, places - p) < spans) {
            --spans;
            for (bool inside = true; inside && masked < n;) {
                plan->group[at++] = 1;
                ++masked; /* n - masked cuts are left to choose from behind this token */
                inside = !(masked < n && cs_rng_below(rng, n - masked) < cuts);
                cuts -= !inside;
            }
        }
        if (p + 1 < places) {
            plan->group[at++] = 0;
        }
    }
    plan->groups = 1;
    return CS_OK;
}

const cs_objective_row cs_row_SPAN_MASKED = {
    .aliases = "t5 spanbert",
    .summary = "masked in spans of geometric lengths of mean t (T5, SpanBERT)",
    .plans = "uniform among the masks of n = round(rho s) tokens in k = round(n/t) spans",
    .note = "There are C(n-1, k-1) C(s-n+1, k) such masks. The lengths are independent and "
            "geometric, given their number and sum, as in T5 except for its fixed ends. The plans "
            "are exact up to 2^18 masks and sampled beyond.",
    .source = "Raffel et al. 2020",
    .takes = "unmasked mask-ratio t",
    .trained = "mask-ratio=0.15,t=3",
    .shape = CS_PAIRS_SETS,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_EQUAL,
    .check = check_spans,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .examples = "span-masked:mask-ratio=0.5,t=2 span-masked:mask-ratio=0.4,t=1",
};
