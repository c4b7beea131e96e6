/* Claims as a reader meets them: first how many hold, paper by paper; then, family by family, a line
 * each with its verdict and its two numbers, which unfolds to scope, interval and reasons. */
#include <math.h>
#include <string.h>

#include "analysis/study/report_private.h"

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

static bool same_paper(const cs_study_claim *a, const cs_study_claim *b)
{
    int m, n;
    const char *of_a = paper_of(a, &m), *of_b = paper_of(b, &n);
    return m == n && strncmp(of_a, of_b, (size_t)m) == 0;
}

static bool same_family(const cs_study_claim *a, const cs_study_claim *b)
{
    return strcmp(a->family, b->family) == 0;
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
        small += c->verdict == CS_CLAIM_UNDECIDED && cs_claim_is_small(cs_claim_last(c));
    }
    (void)fprintf(out,
                  "<p>Of %lld claims that compare numbers, %lld are decided, and of %lld the "
                  "difference is smaller than what matters.</p>\n",
                  (long long)numeric, (long long)decided, (long long)small);
}

void cs_html_tally(FILE *out, const cs_claims *claims)
{
    cs_html_put(out, "<table class=\"tally\"><tr><th>paper</th><th>claims</th>");
    for (int v = 0; v < VERDICTS; ++v)
        cs_html_put(out, "<th><b class=\"v %\">%</b></th>", colour[v],
                    cs_claim_verdict_name((cs_claim_verdict)v));
    cs_html_put(out, "</tr>\n");
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        int64_t first = 0, count[VERDICTS] = {0}, all = 0;
        while (!same_paper(&claims->claim[first], c))
            ++first;
        if (first < i) {
            continue;
        }
        for (int64_t j = i; j < claims->count; ++j) {
            if (same_paper(&claims->claim[j], c)) {
                ++count[claims->claim[j].verdict];
                ++all;
            }
        }
        int length;
        const char *paper = paper_of(c, &length);
        (void)fprintf(out, "<tr><td>");
        for (int k = 0; k < length; ++k)
            cs_html_text(out, (char[]){paper[k], 0});
        (void)fprintf(out, "</td><td class=\"n\">%lld</td>", (long long)all);
        for (int v = 0; v < VERDICTS; ++v)
            (void)fprintf(out, "<td class=\"n\">%lld</td>", (long long)count[v]);
        cs_html_put(out, "</tr>\n");
    }
    cs_html_put(out, "</table>\n");
    put_settled(out, claims);
}

/* "label value ± 1.96 se", linked to its file; a number by itself. */
static void put_side(FILE *out, const cs_claim_side *side)
{
    if (!side->file) {
        cs_html_put(out, "%", side->label);
        return;
    }
    cs_html_put(out, "<a href=\"%\">%</a>", side->file, side->label);
    (void)fprintf(out, " %.4g", side->value);
    if (side->se > 0) (void)fprintf(out, " &plusmn; %.2g", 1.96 * side->se);
}

static void put_numbers(FILE *out, const cs_study_claim *c)
{
    const cs_claim_point *p = cs_claim_last(c);
    if (!p) {
        return;
    }
    (void)fprintf(out, "; difference %.3g", p->difference);
    if (!isnan(p->margin)) (void)fprintf(out, ", 95 %% interval &plusmn; %.2g", p->margin);
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
    if (c->course) cs_html_put(out, " (budget %). By budget: %", p->budget, c->course);
}

static void put_claim(FILE *out, const cs_study_claim *c)
{
    const cs_claim_point *last = cs_claim_last(c);
    cs_html_put(out, "<details class=\"claim %\"><summary><b class=\"v %\">%</b> % <span>",
                line_class[c->verdict], colour[c->verdict], cs_claim_verdict_name(c->verdict),
                c->says);
    if (last) {
        put_side(out, &last->sides.left);
        cs_html_put(out, *last->sides.want == '>' ? " &gt;? " : " &lt;? ");
        put_side(out, &last->sides.right);
    } else {
        cs_html_put(out, "<code>%</code>: %", c->statement, c->found);
    }
    cs_html_put(out, "</span></summary><p>%. %</p><p>%", c->source, c->scope, c->why);
    put_numbers(out, c);
    cs_html_put(out, "</p></details>\n");
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

int64_t cs_html_claims(FILE *out, const cs_claims *claims, const char *prefix)
{
    const size_t length = strlen(prefix);
    int64_t shown = 0;
    cs_html_put(out, "<div class=\"claims\">\n");
    if (length == 0) put_filter(out, claims);
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *first = &claims->claim[i];
        bool opened = false;
        for (int64_t j = 0; j < claims->count; ++j) {
            const cs_study_claim *c = &claims->claim[j];
            if (strncmp(c->name, prefix, length) != 0 || !same_family(c, first)) {
                continue;
            }
            if (j < i) {
                break; /* this family has had its turn */
            }
            if (!opened) cs_html_put(out, "<h4>%</h4>\n", c->family);
            opened = true;
            put_claim(out, c);
            ++shown;
        }
    }
    cs_html_put(out, "</div>\n");
    return shown;
}
