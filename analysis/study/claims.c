/* Measuring the claims of a study and the verdicts on them (claims.h has the formulas). */
#include "analysis/study/claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "analysis/study/statements_private.h"
#include "base/auto.h"
#include "io/json.h"

enum { MOST_WORDS = 24, PARTS = CS_CLAIM_PARTS };

static const double alpha = 0.05;

const cs_claim_point *cs_claim_last(const cs_study_claim *claim)
{
    return claim->points > 0 ? &claim->point[claim->points - 1] : NULL;
}

const cs_claim_point *cs_claim_shown(const cs_study_claim *claim)
{
    for (int64_t i = claim->points - 1; claim->verdict == CS_CLAIM_NOT_REPRODUCED && i >= 0; --i)
        if (claim->point[i].verdict == CS_CLAIM_OPPOSITE) return &claim->point[i];
    return cs_claim_last(claim);
}

const char *cs_claim_verdict_name(cs_claim_verdict verdict, bool exploratory)
{
    static const char *const name[] = {"reproduced",
                                       "opposite at this scale",
                                       "not reproduced at this scale",
                                       "equivalent",
                                       "not testable at this scale",
                                       "undetermined",
                                       "baseline undertrained",
                                       "not tested",
                                       "holds",
                                       "holds, but vacuous",
                                       "false as printed",
                                       "false",
                                       "not specified"};
    return !exploratory                     ? name[verdict]
           : verdict == CS_CLAIM_REPRODUCED ? "significant"
           : verdict == CS_CLAIM_OPPOSITE   ? "significant the other way"
                                            : name[verdict];
}

double cs_claim_within(const cs_claim_point *p)
{
    return p->effect > 0 ? fmin(p->matters, p->effect) : p->matters;
}

const char *cs_claim_baselines(const cs_study_claim *claim)
{
    const cs_claim_point *p = cs_claim_last(claim);
    if (!p || !(p->sides.left.trained || p->sides.right.trained)) return NULL;
    const bool unchecked = (p->sides.left.trained && !p->sides.left.longer) ||
                           (p->sides.right.trained && !p->sides.right.longer);
    return unchecked ? "not checked" : "checked";
}

void cs_claim_verdict_text(cs_claim_verdict verdict, double within, bool exploratory,
                           char out[CS_VERDICT_TEXT])
{
    const char *name = cs_claim_verdict_name(verdict, exploratory);
    if (verdict == CS_CLAIM_EQUIVALENT) {
        (void)snprintf(out, CS_VERDICT_TEXT, "%s within %.3g", name, within);
    } else {
        (void)snprintf(out, CS_VERDICT_TEXT, "%s", name);
    }
}

/* --- errors --- */

/* Over the seeds: of the left number less the right one. */
static double variance_of_pairs(const cs_study_comparison *c)
{
    const double mean = c->left.value - c->right.value;
    double squares = 0;
    for (int64_t i = 0; i < c->left.runs; ++i) {
        const double off = c->left.run[i].value - c->right.run[i].value - mean;
        squares += off * off;
    }
    return squares / (double)(c->left.runs - 1);
}

/* The parts of the error of a difference: documents, seeds, those of either side by `prior`. */
static void parts_of(const cs_study_comparison *c, const cs_prior *prior, cs_error_part part[PARTS])
{
    const cs_seeds left = {c->left.runs, c->left.variance},
                   right = {c->right.runs, c->right.variance};
    cs_sides_documents(&c->left, &c->right, part);
    if (c->paired) {
        part[2] =
            cs_error_of(sqrt(variance_of_pairs(c) / (double)left.count), (double)(left.count - 1));
        part[3] = (cs_error_part){0};
    } else {
        part[2] = cs_error_of_seeds(prior, left, right);
        part[3] = cs_error_of_seeds(prior, right, left);
    }
}

static bool few(const cs_claim_side *side)
{
    return side->runs == 1 || side->runs == 2;
}

/* The margin and p of a comparison by itself. */
static void measure_margin(const cs_prior *prior, cs_claim_point *c)
{
    const bool short_of = few(&c->sides.left) || few(&c->sides.right);
    const double d = c->difference = c->sides.left.value - c->sides.right.value;
    c->margin = c->p = c->small = c->resolution = c->seeds_needed = c->effect_seeds = NAN;
    c->verdict = CS_CLAIM_UNDETERMINED;
    c->why = isnan(d)               ? "a side has no value"
             : short_of             ? "a side has fewer than 3 seeds"
             : d == 0               ? "both sides are equal"
             : c->sides.left.chance ? "the exact test is not significant"
                                    : "the difference is not significant";
    if (short_of || isnan(d)) {
        return;
    }
    if (c->sides.left.chance) {
        c->p = c->sides.left.p;
        return;
    }
    parts_of(&c->sides, prior, c->part);
    c->margin = cs_margin(PARTS, c->part, alpha);
    c->p = cs_decision_p(PARTS, c->part, d);
    if (c->matters > 0) c->small = cs_small_p(PARTS, c->part, d, cs_claim_within(c));
    if (isnan(c->margin)) c->why = "a side has no standard error";
}

/* Seeds a side, the same number for both, with which a difference of d would be significant. */
static double seeds_needed(const cs_claim_point *c, double d)
{
    const bool pairs = c->sides.paired;
    const cs_prior none = {0}, *prior = pairs ? &none : &c->prior;
    const cs_claim_side *side[] = {&c->sides.left, &c->sides.right};
    cs_plan_of_seeds plan = {.prior = prior, .d = d, .fixed = c->part[0]};
    for (int s = 0; s < 2 && !pairs; ++s) {
        const cs_variance own = {side[s]->variance, fmax(1, (double)side[s]->runs - 1)};
        plan.variance[s] = side[s]->runs > 0 ? cs_moderated(prior, own).variance : 0;
    }
    if (pairs) plan.variance[0] = variance_of_pairs(&c->sides);
    if (c->part[1].variance > 0) {
        plan.fixed = cs_error_of(sqrt(c->part[0].variance + c->part[1].variance),
                                 fmin(c->part[0].freedom, c->part[1].freedom));
    }
    const int64_t n = cs_seeds_needed(&plan, c->level);
    return n > 0 ? (double)n : (double)INFINITY;
}

/* --- verdicts --- */

/* Decides a comparison whose adjusted p is known; `level` is that of one more comparison of its
 * family. */
static void decide(cs_claim_point *c, const cs_prior *prior, double level)
{
    const bool wanted = *c->sides.want == '>' ? c->difference > 0 : c->difference < 0;
    if (!isnan(c->margin)) c->resolution = cs_margin(PARTS, c->part, level);
    if (c->adjusted <= alpha) {
        c->verdict = wanted ? CS_CLAIM_REPRODUCED : CS_CLAIM_OPPOSITE;
        c->why =
            wanted ? "the difference has the sign claimed" : "the difference has the other sign";
    } else if (c->small <= alpha) { /* false of NaN */
        c->verdict = CS_CLAIM_EQUIVALENT;
        c->why = "the difference is smaller than the threshold";
    } else if (c->effect > 0 && c->effect < c->resolution) {
        c->verdict = CS_CLAIM_NOT_TESTABLE;
        c->why = "the paper's effect is below the resolution";
    } else if (c->p <= alpha) {
        c->why = "significant alone but not after Holm's correction";
    }
    c->prior = *prior;
    c->level = level;
    if (c->unmet) {
        c->verdict = c->barred == CS_CLAIM_UNDERTRAINED ? c->barred : CS_CLAIM_NOT_TESTED;
        c->why = c->unmet;
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const cs_claim_side *side_at(cs_claim_point *const *member, int64_t i)
{
    return i % 2 ? &member[i / 2]->sides.right : &member[i / 2]->sides.left;
}

/* Pairs have errors of their own, and exact tests have none. */
static bool counts_in_prior(cs_claim_point *const *member, int64_t i)
{
    const cs_claim_side *side = side_at(member, i);
    return side->runs >= 2 && !side->chance && !member[i / 2]->sides.paired;
}

/* The variances over seeds in a family, those of each side once, except in pairs. work: 4 numbers a
 * comparison. */
static cs_status prior_of(int64_t count, cs_claim_point *const *member, double *work, cs_prior *out)
{
    double *variance = work, *freedom = work + 2 * count;
    int64_t sides = 0;
    for (int64_t i = 0; i < 2 * count; ++i) {
        const cs_claim_side *side = side_at(member, i);
        bool seen = !counts_in_prior(member, i);
        for (int64_t j = 0; j < i && !seen; ++j) {
            const cs_claim_side *other = side_at(member, j);
            seen = counts_in_prior(member, j) && same_text(side->file, other->file) &&
                   same_text(side->pick, other->pick) && same_text(side->minus, other->minus);
        }
        if (!seen) {
            variance[sides] = side->variance;
            freedom[sides++] = (double)(side->runs - 1);
        }
    }
    return cs_prior_of(sides, variance, freedom, out);
}

/* Moderated variances and Holm's adjustment over the comparisons of a family, of significant differences
 * and of those shown to be small; *size: comparisons with a p. */
static cs_status decide_family(int64_t count, cs_claim_point *const *member, int64_t *size)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_prior prior = {0};
    double *p = cs_pool_take(&pool, count, sizeof *p);
    double *adjusted = cs_pool_take(&pool, count, sizeof *adjusted);
    double *small = cs_pool_take(&pool, count, sizeof *small);
    double *work = cs_pool_take(&pool, 4 * count, sizeof *work);
    *size = 0;
    cs_status status = pool.status;
    if (status == CS_OK) status = prior_of(count, member, work, &prior);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        measure_margin(&prior, member[i]);
        p[i] = member[i]->p; /* untested ones too: a side that came out large beats its baseline */
        small[i] = member[i]->small;
        *size += !isnan(p[i]);
    }
    if (status == CS_OK) status = cs_holm(count, p, adjusted);
    if (status == CS_OK) status = cs_holm(count, small, work);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        member[i]->adjusted = adjusted[i];
        member[i]->small = work[i];
        decide(member[i], &prior, cs_holm_level(count, adjusted, alpha));
    }
    return status;
}

/* A claim over budgets takes the verdict of the largest budget. */
static void conclude(cs_study_claim *c)
{
    const cs_claim_point *last = cs_claim_last(c);
    c->verdict = last->verdict;
    c->why = last->why;
}

/* The verdict on a claim about every budget. */
static void conclude_everywhere(cs_study_claim *c)
{
    const cs_claim_verdict last = cs_claim_last(c)->verdict;
    int64_t of[CS_CLAIM_NOT_TESTED + 1] = {0};
    for (int64_t i = 0; i < c->points; ++i) {
        of[c->point[i].verdict] += 1;
    }
    const int64_t agree = of[CS_CLAIM_REPRODUCED], disagree = of[CS_CLAIM_OPPOSITE],
                  tested = c->points - of[CS_CLAIM_NOT_TESTED] - of[CS_CLAIM_UNDERTRAINED];
    c->verdict = of[last] == c->points || tested == 0 ? last
                 : disagree                           ? CS_CLAIM_NOT_REPRODUCED
                 : of[CS_CLAIM_EQUIVALENT] == tested  ? CS_CLAIM_EQUIVALENT
                                                      : CS_CLAIM_UNDETERMINED;
    c->why = agree + disagree == 0                         ? cs_claim_last(c)->why
             : agree == c->points || disagree == c->points ? "at every budget"
                                                           : "the claim is about every budget";
}

/* Where the study cannot decide a claim, the same holds at each of its budgets. */
static void withhold(cs_study_claim *c)
{
    const cs_claim_verdict verdict = c->untested ? CS_CLAIM_NOT_TESTED : CS_CLAIM_UNDETERMINED;
    const char *why = c->untested ? c->untested : "this scale is too small to decide";
    if (!c->untested && !c->underpowered) return;
    for (int64_t i = 0; i < c->points; ++i) {
        c->point[i].verdict = verdict;
        c->point[i].why = why;
    }
    c->verdict = verdict;
    c->why = why;
}

/* "500: 0.031 (0.012 to 0.05) reproduced; ..." */
static cs_status describe_budgets(cs_study_claim *c, bool exploratory)
{
    for (int64_t i = 0; i < c->points && c->point[i].budget; ++i) {
        const cs_claim_point *p = &c->point[i];
        char range[64] = "", verdict[CS_VERDICT_TEXT];
        cs_claim_verdict_text(p->verdict, cs_claim_within(p), exploratory, verdict);
        if (!isnan(p->margin))
            (void)snprintf(range, sizeof range, " (%.3g to %.3g)", p->difference - p->margin,
                           p->difference + p->margin);
        char *longer = cs_format("%s%s%s: %.3g%s %s", c->course ? c->course : "",
                                 c->course ? "; " : "", p->budget, p->difference, range, verdict);
        cs_free(c->course);
        c->course = longer;
        if (!longer) return CS_ERR_MEMORY;
    }
    return CS_OK;
}

cs_status cs_claims_decide(cs_claims *claims)
{
    cs_status status = CS_OK;
    int64_t points = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        points += claims->claim[i].points;
    }
    CS_AUTO_FREE cs_claim_point **member = cs_alloc(points, sizeof *member);
    if (!member) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        const char *family = claims->claim[i].family;
        int64_t count = 0, size = 0;
        bool done = claims->claim[i].points == 0;
        for (int64_t j = 0; j < claims->count; ++j) {
            cs_study_claim *c = &claims->claim[j];
            const bool same = c->points > 0 && strcmp(c->family, family) == 0;
            done = done || (same && j < i);
            for (int64_t k = 0; same && k < c->points; ++k) {
                member[count++] = &c->point[k];
            }
        }
        if (!done) status = decide_family(count, member, &size);
        for (int64_t j = i; j < claims->count && !done && status == CS_OK; ++j) {
            cs_study_claim *c = &claims->claim[j];
            if (c->points > 0 && strcmp(c->family, family) == 0) {
                c->family_size = size;
                if (c->everywhere && c->points > 1)
                    conclude_everywhere(c);
                else
                    conclude(c);
                withhold(c);
                status = describe_budgets(c, claims->exploratory);
            }
        }
    }
    return status;
}

/* The verdict of one seed, into the claim if it is worse than those before. */
static void take_verdict(const cs_claim_audit *audit, cs_study_claim *c)
{
    const cs_claim_verdict verdict =
        cs_claim_of_statement(audit->found, c->printed, audit->assumed);
    if (c->why && cs_claim_badness(verdict) <= cs_claim_badness(c->verdict)) return;
    c->verdict = verdict;
    c->why = verdict == CS_CLAIM_NOT_SPECIFIED ? "the paper does not state its constants"
             : verdict == CS_CLAIM_NOT_TESTED  ? "it holds where its assumptions do not"
             : audit->example ? "the verdict of cospec verify on a built-in example"
                              : "the verdict of cospec verify";
}

static cs_status read_audit(const cs_study *study, char *const word[3], const char *seed, bool each,
                            cs_study_claim *c)
{
    cs_claim_audit *audit = &c->audit[c->audits++];
    CS_AUTO_FREE char *step = NULL;
    const json_t *s = NULL;
    json_auto_t *json = NULL;
    *audit = (cs_claim_audit){.seed = each ? cs_strdup(seed) : NULL};
    cs_status status =
        each && !audit->seed ? CS_ERR_MEMORY : cs_study_put(word[0], '#', seed, &step);
    if (status == CS_OK) status = cs_study_statement(study, step, word[1], word[2], &json, &s);
    if (status != CS_OK) return status;
    audit->found = cs_strdup(cs_json_string(s, "verdict"));
    if (!audit->found) return CS_ERR_MEMORY;
    audit->assumed = cs_study_assumed(s);
    audit->example = cs_study_example(s);
    c->printed = strcmp(cs_json_string(s, "form"), "printed") == 0;
    take_verdict(audit, c);
    return CS_OK;
}

static cs_status measure_statement(const cs_study *study, cs_study_claim *c)
{
    CS_AUTO_FREE char *words = cs_strdup(c->statement), *seeds = NULL;
    char *word[MOST_WORDS], *seed[CS_CLAIM_RUNS];
    int count = 0;
    cs_status status = words ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_study_words(words, MOST_WORDS, word) != 3)
        status = cs_fail(CS_ERR_INPUT, "expected statement STEP ID FORM, got \"%s\"", c->statement);
    if (status == CS_OK)
        status = cs_study_seeds(study, word[0], CS_CLAIM_RUNS, &seeds, seed, &count);
    if (status == CS_OK) {
        c->audit = cs_calloc(count, sizeof *c->audit);
        status = c->audit ? CS_OK : CS_ERR_MEMORY;
    }
    const bool each = strchr(c->statement, '#') != NULL;
    for (int i = 0; i < count && status == CS_OK; ++i)
        status = read_audit(study, word, seed[i], each, c);
    return status;
}

/* --- measuring --- */

/* A number is measured already. */
static cs_status measure_alone(const cs_study *study, cs_claim_side *side)
{
    return side && side->file ? cs_side_measure(study, side, NULL) : CS_OK;
}

static cs_status measure_both(const cs_study *study, cs_study_comparison *c)
{
    cs_status status = CS_OK;
    if (c->left.file) status = cs_side_measure(study, &c->left, c->paired ? &c->right : NULL);
    if (status == CS_OK && c->right.file)
        status = cs_side_measure(study, &c->right, c->paired ? &c->left : NULL);
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const cs_claim_side *side = i ? &c->right : &c->left;
        status = measure_alone(study, side->floor);
        if (status == CS_OK) status = measure_alone(study, side->longer);
    }
    return status;
}

/* How far a value has come from the floor of a side to the ceiling. */
static double progress(const cs_claim_side *side, double value, double ceiling)
{
    return (value - side->floor->value) / (ceiling - side->floor->value);
}

/* A metric at its floor decides nothing, and nor does a side that more steps would still change. */
static cs_status bar(cs_claim_point *c)
{
    const cs_claim_side *side[] = {&c->sides.left, &c->sides.right}, *best = NULL;
    const double floor_share = 0.1, trained_share = 0.9, ceiling = c->ceiling.value;
    for (int i = 0; i < 2; ++i) {
        if (side[i]->floor && (!best || progress(side[i], side[i]->value, ceiling) >
                                            progress(best, best->value, ceiling)))
            best = side[i];
    }
    if (!best || c->unmet) return CS_OK;
    if (progress(best, best->value, ceiling) < floor_share) {
        c->unmet = cs_format("the metric is at its floor: %s (%.3g) is less than a tenth of the "
                             "way from %.3g to %.3g",
                             best->label, best->value, best->floor->value, ceiling);
        return c->unmet ? CS_OK : CS_ERR_MEMORY;
    }
    for (int i = 0; i < 2; ++i) {
        const cs_claim_side *s = side[i];
        const double later = s->longer ? progress(s, s->longer->value, ceiling) : 0;
        if (!(later > 0 && progress(s, s->value, ceiling) < trained_share * later)) continue;
        c->barred = CS_CLAIM_UNDERTRAINED;
        c->unmet =
            cs_format("%s (%.3g) is below 0.9 of the gain of four times its steps (%.3g over "
                      "%.3g)",
                      s->label, s->value, s->longer->value, s->floor->value);
        return c->unmet ? CS_OK : CS_ERR_MEMORY;
    }
    return CS_OK;
}

/* Whether the difference has its sign beyond the error of its two sides. */
static bool is_met(const cs_study_comparison *need)
{
    double d = need->left.value - need->right.value;
    cs_error_part part[PARTS];
    parts_of(need, &(cs_prior){0}, part);
    double margin = cs_margin(PARTS, part, alpha);
    return *need->want == '>' ? d > margin : d < -margin;
}

static void put_unmet(char **out, const cs_study_comparison *need)
{
    const bool above = *need->want == '>';
    const cs_claim_side *left = &need->left, *right = &need->right;
    const double d = left->value - right->value;
    cs_append(out, "%s%s (%.3g) is not %s%s %s", *out && **out ? ", and " : "", left->label,
              left->value, (above ? d > 0 : d < 0) ? "significantly " : "",
              above ? "above" : "below", right->label);
    if (right->file) cs_append(out, " (%.3g)", right->value);
}

/* The first need that is not met, with what would do in its place, which is not either. */
static cs_status measure_point(const cs_study *study, cs_claim_point *c)
{
    cs_status status = measure_both(study, &c->sides);
    for (int64_t i = 0; i < c->needs && status == CS_OK;) {
        bool met = false;
        char *reasons = cs_strdup("");
        do {
            status = measure_both(study, &c->need[i]);
            met = is_met(&c->need[i]) || met;
            put_unmet(&reasons, &c->need[i]);
        } while (status == CS_OK && ++i < c->needs && c->need[i].joined);
        if (!reasons) status = CS_ERR_MEMORY;
        if (status == CS_OK && !met && !c->unmet) {
            c->unmet = reasons;
        } else {
            cs_free(reasons);
        }
    }
    if (status == CS_OK) status = measure_alone(study, &c->ceiling);
    return status == CS_OK ? bar(c) : status;
}

/* For what is not decided, and has seeds. */
static void plan_seeds(cs_claims *claims)
{
    for (int64_t i = 0; i < claims->count; ++i) {
        for (int64_t k = 0; k < claims->claim[i].points; ++k) {
            cs_claim_point *c = &claims->claim[i].point[k];
            const bool seeded = c->sides.left.runs + c->sides.right.runs > 0;
            if (!isnan(c->margin) && c->adjusted > alpha && seeded && fabs(c->difference) > 0)
                c->seeds_needed = seeds_needed(c, c->difference);
            if (c->verdict == CS_CLAIM_NOT_TESTABLE && seeded)
                c->effect_seeds = seeds_needed(c, c->effect);
        }
    }
}

cs_status cs_claims_measure(const cs_study *study, cs_claims *claims)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        cs_study_claim *c = &claims->claim[i];
        c->underpowered = study->scale && c->not_at && strcmp(study->scale, c->not_at) == 0;
        if (c->statement) {
            status = measure_statement(study, c);
            withhold(c);
        }
        for (int64_t p = 0; p < c->points && status == CS_OK; ++p) {
            status = measure_point(study, &c->point[p]);
        }
        status = cs_blame(status, "claim %s", c->name);
    }
    if (status == CS_OK) status = cs_claims_decide(claims);
    if (status == CS_OK) plan_seeds(claims);
    return status;
}
