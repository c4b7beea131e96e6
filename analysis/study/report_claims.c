/* Claims as a reader meets them: first how many hold, paper by paper; then, family by family, a line
 * each with its verdict and its two numbers, which unfolds to scope, interval and reasons. */
#include <math.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "analysis/study/report_private.h"
#include "base/mem.h"

enum { VERDICTS = CS_CLAIM_TURNS + 1 };

/* In the order of enum cs_claim_verdict: the class of a line, and the colour, that of a statement's
 * verdict. */
static const char *const line_class[] = {"agree", "disagree", "undecided", "open", "turns"};
static const char *const colour[] = {"PASS", "FAIL", "INCONCLUSIVE", "UNSPECIFIED", "VACUOUS"};

/* What stands in `source` before the first comma or blank: the paper; "this project" is two words. */
static const char *paper_of(const cs_study_claim *c, int *length)
{
    static const char own[] = "this project";
    const char *at = strstr(c->source, own);
    *length = at ? (int)strlen(own) : (int)strcspn(c->source, ", ");
    return at ? at : c->source;
}

/* Of the same paper, or of the same part of it. */
static bool same_origin(const cs_study_claim *a, const cs_study_claim *b, bool sources)
{
    if (sources) return strcmp(a->source, b->source) == 0;
    int m, n;
    const char *of_a = paper_of(a, &m), *of_b = paper_of(b, &n);
    return m == n && strncmp(of_a, of_b, (size_t)m) == 0;
}

static bool same_family(const cs_study_claim *a, const cs_study_claim *b)
{
    return strcmp(a->family, b->family) == 0;
}

/* Not told, but known to be smaller than what matters. */
static bool is_small(const cs_study_claim *c)
{
    return c->points > 0 && c->verdict == CS_CLAIM_UNDECIDED && cs_claim_is_small(cs_claim_last(c));
}

/* Of the claims that compare numbers: how many this study has settled. */
static void put_settled(FILE *out, const cs_claims *claims)
{
    int64_t numeric = 0, decided = 0, small = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        numeric += c->points > 0;
        if (c->points == 0 || c->verdict == CS_CLAIM_OPEN) continue;
        decided += c->verdict != CS_CLAIM_UNDECIDED;
        small += is_small(c);
    }
    (void)fprintf(out,
                  "<p>Claims that compare numbers: %lld; decided: %lld; <em>no difference that "
                  "matters</em> (smaller than what their claim says): %lld.</p>\n",
                  (long long)numeric, (long long)decided, (long long)small);
}

/* Of the claims over budgets that are decided: at how many of theirs. */
static void put_decided_budgets(FILE *out, const cs_claims *claims, cs_claim_verdict verdict)
{
    int64_t all = 0, every = 0, last = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        int64_t holds = 0;
        if (c->points < 2 || c->verdict != verdict) continue;
        for (int64_t p = 0; p < c->points; ++p)
            holds += c->point[p].verdict == verdict;
        ++all;
        every += holds == c->points;
        last += cs_claim_last(c)->verdict == verdict;
    }
    if (all == 0) return;
    (void)fprintf(out,
                  "<p>Of the claims over budgets %lld <em>%s</em> at one or more: %lld of them at "
                  "every budget, %lld at the largest.</p>\n",
                  (long long)all, cs_claim_verdict_name(verdict), (long long)every,
                  (long long)last);
}

void cs_html_tally(FILE *out, const cs_claims *claims, bool sources)
{
    cs_html_put(out, "<table class=\"tally\"><tr><th>%</th><th>claims</th>",
                sources ? "source" : "paper");
    for (int v = 0; v < VERDICTS; ++v)
        cs_html_put(out, "<th><b class=\"v %\">%</b></th>", colour[v],
                    cs_claim_verdict_name((cs_claim_verdict)v));
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
        const char *paper = sources ? c->source : paper_of(c, &length);
        (void)fprintf(out, "<tr><td>");
        for (int k = 0; k < length; ++k)
            cs_html_text(out, (char[]){paper[k], 0});
        (void)fprintf(out, "</td><td class=\"n\">%lld</td>", (long long)all);
        for (int v = 0; v < VERDICTS; ++v)
            (void)fprintf(out, "<td class=\"n\">%lld</td>", (long long)count[v]);
        cs_html_put(out, "</tr>\n");
    }
    cs_html_put(out, "</table>\n");
    if (sources) return;
    put_settled(out, claims);
    put_decided_budgets(out, claims, CS_CLAIM_AGREES);
    put_decided_budgets(out, claims, CS_CLAIM_DISAGREES);
}

/* The verdict, and of a claim over budgets at which of them. */
static cs_status put_verdict(FILE *out, const cs_study_claim *c)
{
    cs_html_put(out, "<b class=\"v %\">%</b>", colour[c->verdict],
                cs_claim_verdict_name(c->verdict));
    if (is_small(c)) cs_html_put(out, " <i>no difference that matters</i>");
    char *agree = NULL, *disagree = NULL;
    cs_status status = cs_claim_budgets(c, CS_CLAIM_AGREES, &agree);
    if (status == CS_OK) status = cs_claim_budgets(c, CS_CLAIM_DISAGREES, &disagree);
    if (status == CS_OK && *agree && *disagree) {
        cs_html_put(out, " <i>as claimed at %, the other way at %</i>", agree, disagree);
    } else if (status == CS_OK && (*agree || *disagree)) {
        cs_html_put(out, " <i>at %", *agree ? agree : disagree);
        (void)fprintf(out, " (of %lld budgets)</i>", (long long)c->points);
    }
    cs_free(agree);
    cs_free(disagree);
    return status;
}

/* The label, linked to its file, of several seeds to the first one's; and the number. */
static cs_status put_side(const cs_report *r, const cs_claim_side *side, double error)
{
    if (!side->file) {
        cs_html_put(r->out, "%", side->label);
        return CS_OK;
    }
    char *seeds = cs_strdup(cs_study_list(r->study, "seeds")), *word[2], *file = NULL;
    cs_status status = seeds ? CS_OK : CS_ERR_MEMORY;
    const bool each = seeds && cs_study_words(seeds, 1, word) == 1;
    if (status == CS_OK) status = cs_study_put(side->file, '#', each ? word[0] : "#", &file);
    if (status == CS_OK) {
        cs_html_put(r->out, "<a href=\"%\"", file);
        if (side->runs > 1)
            (void)fprintf(r->out,
                          " title=\"the mean of %lld seeds; this is the file of the first\"",
                          (long long)side->runs);
        cs_html_put(r->out, ">%</a> ", side->label);
        cs_html_number(r->out, side->value, error, side->chance ? 2 : 4);
    }
    cs_free(seeds);
    cs_free(file);
    return status;
}

/* Both numbers, and their difference with its interval; a number held against 0 is its difference. */
static cs_status put_comparison(const cs_report *r, const cs_claim_point *p)
{
    const cs_claim_side *left = &p->sides.left, *right = &p->sides.right;
    const double error = p->margin / 1.96;
    const bool alone = !right->file && right->value == 0;
    cs_status status = put_side(r, left, error);
    cs_html_put(r->out, *p->sides.want == '>' ? " &gt;? " : " &lt;? ");
    if (status == CS_OK) status = put_side(r, right, error);
    if (!alone) {
        (void)fputs("; difference ", r->out);
        cs_html_number(r->out, p->difference, error, 3);
    }
    if (left->chance) (void)fprintf(r->out, ", exact p %.2g", p->p);
    if (!isnan(p->margin)) {
        (void)fputs(", 95 % interval ", r->out);
        cs_html_number(r->out, p->difference - p->margin, error, 3);
        (void)fputs(" to ", r->out);
        cs_html_number(r->out, p->difference + p->margin, error, 3);
    }
    return status;
}

static void put_decision(FILE *out, const cs_study_claim *c)
{
    const cs_claim_point *p = cs_claim_last(c);
    if (!p) {
        return;
    }
    if (!isnan(p->p))
        (void)fprintf(out, "; p %.2g, %.2g among %lld", p->p, p->adjusted,
                      (long long)c->family_size);
    if (p->verdict == CS_CLAIM_UNDECIDED && p->resolution > 0)
        (void)fprintf(out, "; told from %.2g on", p->resolution);
    if (p->matters > 0) (void)fprintf(out, "; what matters begins at %.2g", p->matters);
    if (p->verdict == CS_CLAIM_UNDECIDED && p->seeds_needed > 0)
        (void)fprintf(out,
                      isinf(p->seeds_needed) ? "; no number of seeds would tell this one"
                                             : "; %.0f seeds a side would tell this one",
                      p->seeds_needed);
    if (p->sides.left.runs > 1)
        (void)fprintf(out, "; means of %lld seeds, the links are to the first",
                      (long long)p->sides.left.runs);
    if (c->course)
        cs_html_put(out, " (budget %). By budget, each with its interval: %", p->budget, c->course);
}

static cs_status put_claim(const cs_report *r, const cs_study_claim *c)
{
    const cs_claim_point *last = cs_claim_last(c);
    cs_html_put(r->out, "<details class=\"claim %\"><summary>", line_class[c->verdict]);
    cs_status status = put_verdict(r->out, c);
    cs_html_put(r->out, " % <span>", c->says);
    if (last) {
        if (last->budget) cs_html_put(r->out, "at %: ", last->budget);
        if (status == CS_OK) status = put_comparison(r, last);
    } else {
        cs_html_put(r->out, "<code>%</code>: %", c->statement, c->found);
    }
    cs_html_put(r->out, "</span></summary><p>%. %</p><p>%", c->source, c->scope, c->why);
    put_decision(r->out, c);
    cs_html_put(r->out, "</p></details>\n");
    return status;
}

/* {{claim NAME}} */
cs_status cs_put_claim(cs_report *r)
{
    for (int64_t i = 0; i < r->claims->count; ++i) {
        const cs_study_claim *c = &r->claims->claim[i];
        const cs_claim_point *last = cs_claim_last(c);
        if (strcmp(c->name, r->word[1]) != 0) {
            continue;
        }
        cs_status status = put_verdict(r->out, c);
        if (last) {
            cs_html_put(r->out, last->budget ? " (at %: " : " (", last->budget);
            if (status == CS_OK) status = put_comparison(r, last);
            if (last->sides.left.chance)
                (void)fprintf(r->out, ", %.2g among %lld", last->adjusted,
                              (long long)c->family_size);
            cs_html_put(r->out, ")");
        }
        return status;
    }
    return cs_fail(CS_ERR_INPUT, "no claim %s is measured", r->word[1]);
}

static void put_filter(FILE *out, const cs_claims *claims)
{
    cs_html_put(out,
                "<input type=\"radio\" name=\"verdict\" id=\"v-all\" checked><label for=\"v-all\">"
                "all</label>\n");
    for (int v = 0; v < VERDICTS; ++v) {
        int64_t count = 0;
        for (int64_t i = 0; i < claims->count; ++i)
            count += (int)claims->claim[i].verdict == v;
        if (count == 0) {
            continue;
        }
        cs_html_put(out, "<input type=\"radio\" name=\"verdict\" id=\"v-%\"><label for=\"v-%\">% ",
                    line_class[v], line_class[v], cs_claim_verdict_name((cs_claim_verdict)v));
        (void)fprintf(out, "%lld</label>\n", (long long)count);
    }
}

/* A family, under its name; its classes are the verdicts that there are, for the filter. */
static cs_status put_family(const cs_report *r, const cs_study_claim *first, const char *prefix)
{
    const cs_claims *claims = r->claims;
    const size_t length = strlen(prefix);
    bool any[VERDICTS] = {0};
    cs_status status = CS_OK;
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
            const cs_study_claim *c = &claims->claim[i];
            if (strncmp(c->name, prefix, length) != 0 || !same_family(c, first)) continue;
            any[c->verdict] = true;
            if (pass == 1) status = put_claim(r, c);
        }
        if (pass == 1) break;
        cs_html_put(r->out, "<section class=\"family");
        for (int v = 0; v < VERDICTS; ++v)
            cs_html_put(r->out, any[v] ? " %" : "", line_class[v]);
        cs_html_put(r->out, "\"><h4>%</h4>\n", first->family);
    }
    cs_html_put(r->out, "</section>\n");
    return status;
}

cs_status cs_html_claims(const cs_report *r, const char *prefix)
{
    const cs_claims *claims = r->claims;
    const size_t length = strlen(prefix);
    int64_t shown = 0;
    cs_status status = CS_OK;
    cs_html_put(r->out, "<div class=\"claims\">\n");
    if (length == 0) put_filter(r->out, claims);
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        bool first = strncmp(c->name, prefix, length) == 0;
        shown += first;
        for (int64_t j = 0; j < i; ++j) {
            const cs_study_claim *before = &claims->claim[j];
            first =
                first && (strncmp(before->name, prefix, length) != 0 || !same_family(before, c));
        }
        if (first) status = put_family(r, c, prefix);
    }
    cs_html_put(r->out, "</div>\n");
    return status == CS_OK && shown == 0
               ? cs_fail(CS_ERR_INPUT, "no claim whose name starts with \"%s\"", prefix)
               : status;
}
