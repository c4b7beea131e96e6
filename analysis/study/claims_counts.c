/* How many claims have a verdict about a sign, how many are equivalences, and how often such a count
 * holds a wrong one: each family is decided at .05, so of F families that are independent at least one
 * is wrong with a probability of up to 1 - .95^F, and of any families with at most .05 F. */
#include <math.h>
#include <string.h>

#include "analysis/study/claims.h"
#include "base/auto.h"
#include "io/result.h"

static const double alpha = 0.05;

const char *cs_claim_paper(const cs_study_claim *c, int *length)
{
    static const char own[] = "this project";
    const char *at = strstr(c->source, own);
    *length = at ? (int)strlen(own) : (int)strcspn(c->source, ", ");
    return at ? at : c->source;
}

bool cs_claim_same_paper(const cs_study_claim *a, const cs_study_claim *b)
{
    int m, n;
    const char *of_a = cs_claim_paper(a, &m), *of_b = cs_claim_paper(b, &n);
    return m == n && strncmp(of_a, of_b, (size_t)m) == 0;
}

/* Whether the claim is one of the paper (NULL: any) and has a comparison that was tested. */
static bool is_tested(const cs_study_claim *c, const cs_study_claim *paper, cs_claim_kind kind)
{
    bool tested = false;
    for (int64_t i = 0; i < c->points; ++i)
        tested =
            tested || !isnan(kind == CS_CLAIM_SIGNS ? c->point[i].adjusted : c->point[i].small);
    return tested && (!paper || cs_claim_same_paper(c, paper));
}

static int64_t families_of(const cs_claims *claims, const cs_study_claim *paper, cs_claim_kind kind)
{
    int64_t families = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        bool first = is_tested(c, paper, kind);
        for (int64_t j = 0; j < i && first; ++j)
            first = !(is_tested(&claims->claim[j], paper, kind) &&
                      strcmp(claims->claim[j].family, c->family) == 0);
        families += first;
    }
    return families;
}

/* The adjusted p that the verdict of a claim rests on. */
static double p_of(const cs_study_claim *c)
{
    const bool any = c->verdict == CS_CLAIM_NOT_REPRODUCED;
    const cs_claim_verdict verdict = any ? CS_CLAIM_OPPOSITE : c->verdict;
    double p = any ? 1 : 0;
    for (int64_t i = c->everywhere ? 0 : c->points - 1; i < c->points; ++i) {
        const cs_claim_point *point = &c->point[i];
        if (point->verdict != verdict) continue;
        const double own = verdict == CS_CLAIM_EQUIVALENT ? point->small : point->adjusted;
        p = any ? fmin(p, own) : fmax(p, own);
    }
    return p;
}

cs_claim_count cs_claims_count(const cs_claims *claims, const cs_study_claim *paper,
                               cs_claim_kind kind)
{
    cs_claim_count n = {.families = families_of(claims, paper, kind)};
    const double all = fmax(1, (double)families_of(claims, NULL, kind));
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        const bool of_kind = kind == CS_CLAIM_SIGNS ? c->verdict <= CS_CLAIM_NOT_REPRODUCED
                                                    : c->verdict == CS_CLAIM_EQUIVALENT;
        if (!of_kind || (paper && !cs_claim_same_paper(c, paper))) continue;
        ++n.claims;
        n.study_wide += p_of(c) <= alpha / all;
    }
    n.error = n.claims > 0 ? 1 - pow(1 - alpha, (double)n.families) : NAN;
    return n;
}

static void record_counts(cs_item *rows, const cs_claims *claims, const cs_study_claim *paper)
{
    static const char *const name[] = {"sign", "equivalence"};
    int length = 0;
    const char *text = paper ? cs_claim_paper(paper, &length) : NULL;
    for (int kind = CS_CLAIM_SIGNS; kind <= CS_CLAIM_EQUIVALENCES; ++kind) {
        const cs_claim_count n = cs_claims_count(claims, paper, (cs_claim_kind)kind);
        cs_item *row = cs_item_object(rows, NULL);
        cs_item_take(row, "paper", text ? cs_format("%.*s", length, text) : cs_strdup("all"));
        cs_item_text(row, "kind", name[kind]);
        CS_ITEM_FIELDS(row, &n, claims, families, error, study_wide);
    }
}

cs_status cs_claims_write_counts(const cs_claims *claims, const char *path)
{
    static const cs_view view = {"counts[]", "paper kind claims families error study_wide"};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "counts");
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        bool first = c->points > 0;
        for (int64_t j = 0; j < i && first; ++j)
            first = !(claims->claim[j].points > 0 && cs_claim_same_paper(&claims->claim[j], c));
        if (first) record_counts(rows, claims, c);
    }
    record_counts(rows, claims, NULL);
    return cs_result_write_csv(result, &view, path);
}
