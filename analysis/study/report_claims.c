/* Claims as a reader meets them: first how many have which verdict, paper by paper; then a table of each
 * source, a row a claim, as the papers' tables are: what is compared, by which metric, the paper's numbers,
 * ours, their difference with its interval, and the verdict. Scopes follow as numbered notes. */
#include <math.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "analysis/study/report_html_private.h"
#include "base/auto.h"

enum { VERDICTS = CS_CLAIM_NOT_SPECIFIED + 1 };

/* Of the same paper, or of the same part of it. */
static bool same_origin(const cs_study_claim *a, const cs_study_claim *b, bool sources)
{
    return sources ? strcmp(a->source, b->source) == 0 : cs_claim_same_paper(a, b);
}

/* --- how many of each verdict --- */

/* Of the claims over budgets with this verdict: at how many budgets. */
static void put_decided_budgets(FILE *out, const cs_claims *claims, cs_claim_verdict verdict)
{
    int64_t all = 0, every = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        int64_t holds = 0;
        if (c->points < 2 || c->verdict != verdict) continue;
        for (int64_t p = 0; p < c->points; ++p)
            holds += c->point[p].verdict == verdict;
        ++all;
        every += holds == c->points;
    }
    if (all == 0) return;
    cs_html_put(out, "<p>Claims over several budgets with the verdict <em>%</em>: ",
                cs_claim_verdict_name(verdict, claims->exploratory));
    (void)fprintf(out, "%lld (%lld at every budget).</p>\n", (long long)all, (long long)every);
}

/* Signs and equivalences apart, each with the chance that one of them is wrong. */
static void put_counts(FILE *out, const cs_claims *claims)
{
    static const char *const name[] = {"signs (reproduced, opposite, not reproduced)",
                                       "equivalences"};
    cs_html_put(out, "<table class=\"tally\"><tr><th>verdicts</th><th>claims</th><th>families</th>"
                     "<th>chance that at least one is wrong</th>"
                     "<th>hold at .05 for the whole study</th></tr>\n");
    for (int kind = CS_CLAIM_SIGNS; kind <= CS_CLAIM_EQUIVALENCES; ++kind) {
        const cs_claim_count n = cs_claims_count(claims, NULL, (cs_claim_kind)kind);
        char error[32] = "";
        if (n.claims > 0) (void)snprintf(error, sizeof error, "up to %.2g", n.error);
        (void)fprintf(out,
                      "<tr><td>%s</td><td class=\"n\">%lld</td><td class=\"n\">%lld</td>"
                      "<td class=\"n\">%s</td><td class=\"n\">%lld</td></tr>\n",
                      name[kind], (long long)n.claims, (long long)n.families, error,
                      (long long)n.study_wide);
    }
    cs_html_put(out, "</table>\n<p>Each family of claims is decided at .05. The chance is that of "
                     "independent families, 1 &minus; .95<sup>families</sup>.</p>\n");
    if (*claims->setting) cs_html_put(out, "<p>This scale: %.</p>\n", claims->setting);
}

/* A column for each verdict that some claim has. */
void cs_html_tally(FILE *out, const cs_claims *claims, bool sources)
{
    bool used[VERDICTS] = {false};
    for (int64_t i = 0; i < claims->count; ++i)
        used[claims->claim[i].verdict] = true;
    cs_html_put(out, "<table class=\"tally\"><tr><th>%</th><th>claims</th>",
                sources ? "source" : "paper");
    for (int v = 0; v < VERDICTS; ++v) {
        if (!used[v]) continue;
        cs_html_put(out, "<th>");
        cs_html_badge(out, (cs_claim_verdict)v,
                      cs_claim_verdict_name((cs_claim_verdict)v, claims->exploratory));
        cs_html_put(out, "</th>");
    }
    cs_html_put(out, "</tr>\n");
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        int64_t first = 0, count[VERDICTS] = {0}, all = 0;
        while (!same_origin(&claims->claim[first], c, sources))
            ++first;
        if (first < i) {
            continue;
        }
        for (int64_t j = i; j < claims->count; ++j) {
            if (same_origin(&claims->claim[j], c, sources)) {
                ++count[claims->claim[j].verdict];
                ++all;
            }
        }
        int length = (int)strlen(c->source);
        const char *paper = sources ? c->source : cs_claim_paper(c, &length);
        (void)fprintf(out, "<tr><td>");
        for (int k = 0; k < length; ++k)
            cs_html_text(out, (char[]){paper[k], 0});
        (void)fprintf(out, "</td><td class=\"n\">%lld</td>", (long long)all);
        for (int v = 0; v < VERDICTS; ++v)
            if (used[v]) (void)fprintf(out, "<td class=\"n\">%lld</td>", (long long)count[v]);
        cs_html_put(out, "</tr>\n");
    }
    cs_html_put(out, "</table>\n");
    if (sources) return;
    if (!claims->exploratory) put_counts(out, claims);
    put_decided_budgets(out, claims, CS_CLAIM_REPRODUCED);
    put_decided_budgets(out, claims, CS_CLAIM_OPPOSITE);
}

/* --- one claim --- */

/* Marks a significant difference that is too small to matter. */
static void put_smallness(FILE *out, const cs_study_claim *c, const cs_claim_point *p)
{
    const bool decided = c->verdict <= CS_CLAIM_OPPOSITE;
    if (decided && p && fabs(p->difference) < p->matters)
        (void)fprintf(out, ", below the threshold of %.3g", p->matters);
}

/* "reproduced at 3, 4, opposite at 2": each decided verdict with its budgets. */
static void put_decided(FILE *out, const char *reproduced, const char *opposite)
{
    if (*reproduced) cs_html_put(out, "reproduced at %", reproduced);
    if (*reproduced && *opposite) cs_html_put(out, ", ");
    if (*opposite) cs_html_put(out, "opposite at %", opposite);
}

/* Which budgets decide a claim. Budgets follow a verdict only if it is theirs; a claim without a
 * decision names its last budget, or all where it is about all, and then those that were decided. */
static void put_budgets(FILE *out, const cs_study_claim *c, const char *reproduced,
                        const char *opposite)
{
    const bool both = *reproduced && *opposite;
    if (!*reproduced && !*opposite) return;
    cs_html_put(out, " <small>");
    if (c->verdict == CS_CLAIM_NOT_REPRODUCED || (both && c->verdict <= CS_CLAIM_OPPOSITE)) {
        put_decided(out, reproduced, opposite);
    } else if (c->verdict <= CS_CLAIM_OPPOSITE) {
        cs_html_put(out, "at %", *reproduced ? reproduced : opposite);
        (void)fprintf(out, " (of %lld budgets)", (long long)c->points);
    } else {
        if (c->everywhere) {
            (void)fprintf(out, "over %lld budgets (", (long long)c->points);
        } else {
            cs_html_put(out, "at the last budget, % (", cs_claim_last(c)->budget);
        }
        put_decided(out, reproduced, opposite);
        cs_html_put(out, ")");
    }
    cs_html_put(out, "</small>");
}

/* The verdict, and for a claim over budgets at which of them. */
static cs_status put_verdict(const cs_report *r, const cs_study_claim *c)
{
    const cs_claim_point *last = cs_claim_shown(c);
    char text[CS_VERDICT_TEXT];
    CS_AUTO_FREE char *reproduced = NULL, *opposite = NULL;
    cs_claim_verdict_text(c->verdict, last ? cs_claim_within(last) : 0, r->claims->exploratory,
                          text);
    const char *at = *c->setting ? strstr(text, "this scale") : NULL;
    CS_AUTO_FREE char *scaled =
        at ? cs_format("%.*s%s", (int)(at - text), text, c->setting) : cs_strdup(text);
    if (!scaled) return CS_ERR_MEMORY;
    cs_html_badge(r->out, c->verdict, scaled);
    put_smallness(r->out, c, last);
    cs_status status = cs_claim_budgets(c, CS_CLAIM_REPRODUCED, &reproduced);
    if (status == CS_OK) status = cs_claim_budgets(c, CS_CLAIM_OPPOSITE, &opposite);
    if (status == CS_OK) put_budgets(r->out, c, reproduced, opposite);
    return status;
}

/* The number, linked to its file, that of the first seed where there are several. */
static cs_status put_side(const cs_report *r, const cs_claim_side *side, double error, bool named)
{
    if (!side->file) {
        cs_html_put(r->out, "%", side->label);
        return CS_OK;
    }
    CS_AUTO_FREE char *seeds = cs_strdup(cs_study_list(r->study, "seeds")), *file = NULL;
    char *word[2];
    cs_status status = seeds ? CS_OK : CS_ERR_MEMORY;
    const bool each = seeds && cs_study_words(seeds, 1, word) == 1;
    if (status == CS_OK) status = cs_study_put(side->file, '#', each ? word[0] : "#", &file);
    if (status == CS_OK) {
        if (named) cs_html_put(r->out, "% ", side->label);
        cs_html_put(r->out, "<a class=\"value\" href=\"%\"", file);
        if (side->runs > 1)
            (void)fprintf(r->out, " title=\"mean of %lld seeds; this is the file of the first\"",
                          (long long)side->runs);
        (void)fputs(">", r->out);
        cs_html_number(r->out, side->value, error, side->chance ? 2 : 4);
        (void)fputs("</a>", r->out);
    }
    return status;
}

/* A number that is compared with 0 is its own difference. */
static bool is_alone(const cs_claim_point *p)
{
    return !p->sides.right.file && p->sides.right.value == 0;
}

static cs_status put_sides(const cs_report *r, const cs_claim_point *p, bool named)
{
    const double error = p->margin / 1.96;
    cs_status status = put_side(r, &p->sides.left, error, named);
    if (is_alone(p)) return status;
    (void)fputs(" against ", r->out);
    return status == CS_OK ? put_side(r, &p->sides.right, error, named) : status;
}

/* "0.031 (0.012 to 0.05)"; a number with an exact test is no difference: "value -0.05 (exact p 1)". */
static void put_difference(FILE *out, const cs_claim_point *p)
{
    const double error = p->margin / 1.96;
    if (p->sides.left.chance && is_alone(p)) (void)fputs("value ", out);
    cs_html_number(out, p->difference, error, 3);
    if (!isnan(p->margin)) {
        (void)fputs(" (", out);
        cs_html_number(out, p->difference - p->margin, error, 3);
        (void)fputs(" to ", out);
        cs_html_number(out, p->difference + p->margin, error, 3);
        (void)fputs(")", out);
    } else if (p->sides.left.chance && !isnan(p->p)) {
        (void)fprintf(out, " (exact p %.2g)", p->p);
    }
}

/* {{claim NAME}} */
cs_status cs_put_claim(cs_report *r)
{
    for (int64_t i = 0; i < r->claims->count; ++i) {
        const cs_study_claim *c = &r->claims->claim[i];
        const cs_claim_point *last = cs_claim_shown(c);
        if (strcmp(c->name, r->word[1]) != 0) {
            continue;
        }
        cs_status status = put_verdict(r, c);
        if (last) {
            cs_html_put(r->out, last->budget ? " (at %: " : " (", last->budget);
            if (status == CS_OK) status = put_sides(r, last, true);
            if (last->sides.left.chance && is_alone(last)) {
                if (!isnan(last->p)) (void)fprintf(r->out, "; exact p %.2g", last->p);
            } else {
                (void)fputs("; difference ", r->out);
                put_difference(r->out, last);
            }
            if (last->sides.left.chance)
                (void)fprintf(r->out, ", after Holm's correction over %lld comparisons %.2g",
                              (long long)c->family_size, last->adjusted);
            cs_html_put(r->out, ")");
        }
        return status;
    }
    cs_html_put(r->out, "<em>not chosen</em>"); /* --claims left it out */
    return CS_OK;
}

/* --- tables --- */

/* The claims that a table has in common, and which of its columns have something to say. */
typedef struct {
    const char *prefix;
    const cs_study_claim *first;
    bool metric, paper, compared;
} table;

static bool has_prefix(const cs_study_claim *c, const char *prefix)
{
    return strncmp(c->name, prefix, strlen(prefix)) == 0;
}

static bool is_in(const table *t, const cs_study_claim *c)
{
    return has_prefix(c, t->prefix) && same_origin(c, t->first, true);
}

/* The number of a claim's scope among those that differ, from 1. */
static int scope_of(const cs_claims *claims, const char *prefix, const cs_study_claim *of)
{
    int number = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        bool seen = !has_prefix(c, prefix);
        for (int64_t j = 0; j < i && !seen; ++j)
            seen = has_prefix(&claims->claim[j], prefix) &&
                   strcmp(claims->claim[j].scope, c->scope) == 0;
        number += !seen;
        if (!seen && strcmp(c->scope, of->scope) == 0) break;
    }
    return number;
}

/* The compared objects: for a claim whose numbers of the paper have a column, the labels of both
 * sides. */
static void put_compared(const cs_report *r, const table *t, const cs_study_claim *c)
{
    const cs_claim_point *last = cs_claim_last(c);
    if (c->paper && last) {
        cs_html_put(r->out, "%", last->sides.left.label);
        cs_html_put(r->out, *last->sides.want == '>' ? " above " : " below ");
        cs_html_put(r->out, "%", last->sides.right.label);
    } else {
        cs_html_put(r->out, "%", c->says);
    }
    const int scope = scope_of(r->claims, t->prefix, c);
    (void)fprintf(r->out, " <sup><a href=\"#scope-%s%d\">%d</a></sup>", t->prefix, scope, scope);
}

/* The difference, or one a line at each budget with its verdict. */
static void put_differences(const cs_report *r, const cs_study_claim *c)
{
    for (int64_t i = 0; i < c->points; ++i) {
        const cs_claim_point *p = &c->point[i];
        char text[CS_VERDICT_TEXT];
        if (p->budget) cs_html_put(r->out, "<div>%: ", p->budget);
        put_difference(r->out, p);
        if (!p->budget) continue;
        cs_claim_verdict_text(p->verdict, cs_claim_within(p), r->claims->exploratory, text);
        cs_html_put(r->out, ", %</div>", text);
    }
}

/* Of whom the study has no longer run, and of whom the paper has no number. */
static void put_unknown(FILE *out, const cs_study_claim *c)
{
    const char *baselines = cs_claim_baselines(c);
    if (baselines && strcmp(baselines, "checked") != 0 && c->verdict != CS_CLAIM_UNDERTRAINED)
        cs_html_put(out, " <small>(baseline %)</small>", baselines);
    if (c->no_effect) cs_html_put(out, " <small>(no effect of a paper: %)</small>", c->no_effect);
}

/* "; 12 seeds a side would suffice" */
static void put_seeds(FILE *out, double seeds)
{
    if (isinf(seeds)) {
        cs_html_put(out, "; no number of seeds would suffice");
    } else if (seeds > 0) {
        (void)fprintf(out, "; %.0f seeds a side would suffice", seeds);
    }
}

/* Why nothing was decided, and what it would have taken. */
static void put_reason(FILE *out, const cs_study_claim *c)
{
    const cs_claim_point *p = cs_claim_last(c);
    if (c->verdict < CS_CLAIM_NOT_TESTABLE || c->verdict > CS_CLAIM_NOT_TESTED) return;
    if (c->verdict == CS_CLAIM_NOT_TESTABLE && p) {
        (void)fprintf(out, " <small>the paper's %.2g is below the resolution of %.2g", p->effect,
                      p->resolution);
        put_seeds(out, p->effect_seeds);
    } else {
        cs_html_put(out, " <small>%", c->why);
    }
    const bool undetermined = p && p->verdict == CS_CLAIM_UNDETERMINED && !c->underpowered;
    if (undetermined && p->resolution > 0)
        (void)fprintf(out, "; significant from %.2g on", p->resolution);
    if (undetermined) put_seeds(out, p->seeds_needed);
    cs_html_put(out, "</small>");
}

static cs_status put_row(const cs_report *r, const table *t, const cs_study_claim *c)
{
    const cs_claim_point *last = cs_claim_shown(c);
    cs_status status = CS_OK;
    cs_html_put(r->out, "<tr class=\"claim\"><td>");
    put_compared(r, t, c);
    if (t->metric) cs_html_put(r->out, "</td><td>%", c->metric ? c->metric : "");
    if (t->paper) cs_html_put(r->out, "</td><td>%", c->paper ? c->paper : "");
    cs_html_put(r->out, "</td><td>");
    if (last && last->budget) cs_html_put(r->out, "at %: ", last->budget);
    if (last) {
        status = put_sides(r, last, !c->paper);
    } else {
        cs_html_put(r->out, "%", c->printed ? "as printed" : "as corrected");
        int64_t passed = 0;
        for (int64_t a = 0; a < c->audits; ++a)
            passed += strcmp(c->audit[a].found, "PASS") == 0;
        if (c->audits > 1)
            (void)fprintf(r->out, ", holds with %lld of %lld seeds", (long long)passed,
                          (long long)c->audits);
    }
    cs_html_put(r->out, "</td><td>");
    if (t->compared) {
        put_differences(r, c);
        cs_html_put(r->out, "</td><td>");
    }
    if (status == CS_OK) status = put_verdict(r, c);
    put_reason(r->out, c);
    put_unknown(r->out, c);
    cs_html_put(r->out, "</td></tr>\n");
    return status;
}

/* The claims of one source, under its name. */
static cs_status put_source(const cs_report *r, const char *prefix, const cs_study_claim *first)
{
    const cs_claims *claims = r->claims;
    table t = {.prefix = prefix, .first = first};
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (!is_in(&t, c)) continue;
        t.metric = t.metric || c->metric;
        t.paper = t.paper || c->paper;
        t.compared = t.compared || c->points > 0;
    }
    cs_html_put(r->out, "<h3>%</h3>\n<table class=\"results\"><tr><th>claim</th>", first->source);
    if (t.metric) cs_html_put(r->out, "<th>metric</th>");
    if (t.paper) cs_html_put(r->out, "<th>paper</th>");
    cs_html_put(r->out, "<th>%</th>", t.compared ? "ours" : "audit");
    if (t.compared) cs_html_put(r->out, "<th>%</th>", "difference (95 % interval)");
    cs_html_put(r->out, "<th>verdict</th></tr>\n");
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        if (is_in(&t, &claims->claim[i])) status = put_row(r, &t, &claims->claim[i]);
    }
    cs_html_put(r->out, "</table>\n");
    return status;
}

/* The scope of each claim, once each. */
static void put_scopes(const cs_report *r, const char *prefix)
{
    int shown = 0;
    cs_html_put(r->out,
                "<details class=\"numbers\"><summary>Scope of the claims, by number</summary>"
                "<ol class=\"scopes\">\n");
    for (int64_t i = 0; i < r->claims->count; ++i) {
        const cs_study_claim *c = &r->claims->claim[i];
        if (!has_prefix(c, prefix) || scope_of(r->claims, prefix, c) <= shown) continue;
        (void)fprintf(r->out, "<li id=\"scope-%s%d\">", prefix, ++shown);
        cs_html_put(r->out, "%</li>\n", c->scope);
    }
    cs_html_put(r->out, "</ol></details>\n");
}

cs_status cs_html_claims(const cs_report *r, const char *prefix)
{
    const cs_claims *claims = r->claims;
    int64_t shown = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        bool first = has_prefix(c, prefix);
        shown += first;
        for (int64_t j = 0; j < i && first; ++j) {
            const cs_study_claim *before = &claims->claim[j];
            first = !has_prefix(before, prefix) || !same_origin(before, c, true);
        }
        if (first) status = put_source(r, prefix, c);
    }
    if (status == CS_OK && shown == 0)
        status = cs_fail(CS_ERR_INPUT, "no claim whose name starts with \"%s\"", prefix);
    if (status == CS_OK) put_scopes(r, prefix);
    return status;
}
