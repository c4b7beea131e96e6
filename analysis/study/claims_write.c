/* Claims as tables: one row a claim; for figures one a budget of those that are stated over budgets, and one of
 * each other difference, family by family. */
#include <math.h>
#include <string.h>

#include "analysis/study/claims.h"
#include "base/auto.h"
#include "io/result.h"

enum { LEAST_BUDGETS = 3 }; /* of a claim that the figure over budgets draws */

static void record_verdict(cs_item *row, cs_claim_verdict verdict, const cs_claim_point *p,
                           bool exploratory)
{
    char text[CS_VERDICT_TEXT];
    cs_claim_verdict_text(verdict, p ? cs_claim_within(p) : 0, exploratory, text);
    cs_item_text(row, "verdict", text);
}

cs_status cs_claim_budgets(const cs_study_claim *claim, cs_claim_verdict verdict, char **out)
{
    char *text = cs_strdup("");
    for (int64_t i = 0; i < claim->points; ++i) {
        const cs_claim_point *p = &claim->point[i];
        if (p->budget && p->verdict == verdict)
            cs_append(&text, text && *text ? ", %s" : "%s", p->budget);
    }
    *out = text;
    return text ? CS_OK : CS_ERR_MEMORY;
}

/* The least number of seeds of a side that has them; 0: none has. */
static int64_t seeds_of(const cs_study_comparison *c)
{
    const int64_t left = c->left.runs, right = c->right.runs;
    return left == 0 ? right : right == 0 ? left : left < right ? left : right;
}

static void record_test(cs_item *row, const cs_claim_point *p)
{
    CS_ITEM_FIELDS(row, p, difference, p, resolution, seeds_needed);
    cs_item_real(row, "low", p->difference - p->margin);
    cs_item_real(row, "high", p->difference + p->margin);
    cs_item_real(row, "p_holm", p->adjusted);
    if (p->matters > 0) CS_ITEM_FIELDS(row, p, matters);
    if (p->effect > 0) CS_ITEM_FIELDS(row, p, effect);
    cs_item_real(row, "effect_seeds", p->effect_seeds);
    cs_item_real(row, "p_small", p->small);
}

/* The verdicts of `cospec verify`, seed by seed. */
static cs_status record_audits(cs_item *row, const cs_study_claim *c)
{
    CS_AUTO_FREE char *found = cs_strdup("");
    for (int64_t a = 0; a < c->audits && found; ++a) {
        char *longer = cs_format("%s%s%s", found, a > 0 ? " " : "", c->audit[a].found);
        cs_free(found);
        found = longer;
    }
    if (!found) return CS_ERR_MEMORY;
    cs_item_text(row, "right", found);
    if (c->audits > 1) cs_item_int(row, "seeds", c->audits);
    return CS_OK;
}

static cs_status record_claim(cs_item *row, const cs_study_claim *c, const cs_claims *claims)
{
    const cs_claim_point *p = cs_claim_last(c);
    cs_item_text(row, "claim", c->name);
    CS_ITEM_FIELDS(row, c, source, says, why, scope);
    record_verdict(row, c->verdict, p, claims->exploratory);
    cs_item_text(row, "left", c->statement ? c->statement : p->sides.left.label);
    if (!p) return record_audits(row, c);
    cs_item_text(row, "right", p->sides.right.label);
    cs_item_real(row, "left_value", p->sides.left.value);
    cs_item_real(row, "left_se", p->sides.left.se);
    cs_item_text(row, "want", p->sides.want);
    cs_item_real(row, "right_value", p->sides.right.value);
    cs_item_real(row, "right_se", p->sides.right.se);
    if (seeds_of(&p->sides) > 0) cs_item_int(row, "seeds", seeds_of(&p->sides));
    record_test(row, p);
    if (!isnan(p->margin))
        cs_item_text(row, "interval",
                     p->sides.paired ? "95 % of this comparison alone: documents and pairs of seeds"
                                     : "95 % of this comparison alone: documents and seeds");
    CS_ITEM_FIELDS(row, c, family, family_size);
    CS_ITEM_FIELDS(row, c, setting);
    if (c->metric) CS_ITEM_FIELDS(row, c, metric);
    if (c->paper) CS_ITEM_FIELDS(row, c, paper);
    if (cs_claim_baselines(c)) cs_item_text(row, "baselines", cs_claim_baselines(c));
    if (c->course) cs_item_text(row, "budgets", c->course);
    char *reproduced = NULL, *opposite = NULL;
    cs_status status = cs_claim_budgets(c, CS_CLAIM_REPRODUCED, &reproduced);
    if (status == CS_OK) status = cs_claim_budgets(c, CS_CLAIM_OPPOSITE, &opposite);
    cs_item_take(row, "reproduced_at", reproduced);
    cs_item_take(row, "opposite_at", opposite);
    return status;
}

cs_status cs_claims_write(const cs_claims *claims, const char *path)
{
    static const cs_view view = {
        "claims[]", "claim source says left left_value left_se want right right_value right_se "
                    "seeds difference low high interval family family_size p p_holm resolution "
                    "seeds_needed reproduced_at opposite_at budgets verdict why scope matters "
                    "p_small effect effect_seeds baselines setting metric "
                    "paper"};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "claims");
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        status = record_claim(cs_item_object(rows, NULL), &claims->claim[i], claims);
    }
    return status == CS_OK ? cs_result_write_csv(result, &view, path) : status;
}

static int unit_length(const cs_study_claim *c)
{
    const char *comma = c->metric ? strstr(c->metric, ", ") : NULL;
    return comma ? (int)(comma - c->metric) : (int)strlen(c->metric ? c->metric : "");
}

static void record_unit(cs_item *row, const cs_study_claim *c)
{
    cs_item_take(row, "unit", cs_format("%.*s", unit_length(c), c->metric ? c->metric : ""));
}

/* The rest of a metric behind its unit, where the claims of a family differ in it; else "". */
static const char *detail_of(const cs_claims *claims, const cs_study_claim *c)
{
    for (int64_t i = 0; i < claims->count && c->metric; ++i) {
        const cs_study_claim *other = &claims->claim[i];
        const bool differs = other->metric && strcmp(other->family, c->family) == 0 &&
                             strcmp(other->metric, c->metric) != 0;
        const char *detail = c->metric + unit_length(c);
        if (differs && *detail) return detail + strlen(", ");
    }
    return "";
}

/* Whether a figure would call another claim the same. */
static bool shares_title(const cs_claims *claims, const cs_study_claim *c)
{
    for (int64_t i = 0; i < claims->count && c->title; ++i) {
        const cs_study_claim *other = &claims->claim[i];
        if (other == c || other->points == 0 || !other->title) continue;
        const cs_study_comparison *a = &c->point->sides, *b = &other->point->sides;
        if (strcmp(c->title, other->title) == 0 && strcmp(a->left.label, b->left.label) == 0 &&
            strcmp(a->right.label, b->right.label) == 0)
            return true;
    }
    return false;
}

/* Whether a number is compared with 0, and so is its own difference. */
static bool is_alone(const cs_study_comparison *s)
{
    return !s->right.file && s->right.value == 0;
}

/* "TITLE: ABOVE - BELOW (DETAIL)", the side that is claimed to be larger in front, with the name behind a
 * title that another claim shares; and the sign of left less right that is as claimed. The name stands for
 * a title that is not there, unless a detail (NULL: none) and a metric say enough. */
static void record_drawn(cs_item *row, const char *key, const cs_study_claim *c,
                         const cs_study_comparison *s, bool shared, const char *detail)
{
    const bool more = *s->want == '>', alone = is_alone(s);
    const char *above = more ? s->left.label : s->right.label;
    const char *below = more ? s->right.label : s->left.label;
    const char *title = c->title ? c->title : detail && c->metric ? "" : c->name;
    detail = detail ? detail : "";
    cs_item_take(row, key,
                 cs_format("%s%s%s%s%s%s%s%s%s%s%s", title, shared ? " (" : "",
                           shared ? c->name : "", shared ? ")" : "", *title ? ": " : "",
                           alone && !more ? "" : above, alone && more ? "" : " \342\210\222 ",
                           alone && more ? "" : below, *detail ? " (" : "", detail,
                           *detail ? ")" : ""));
    cs_item_int(row, "wanted", more ? 1 : -1);
}

/* A panel of a number compared with 0 is named by its title alone, and its axis by the unit. */
static void record_budget(cs_item *row, const cs_study_claim *c, const cs_claim_point *p,
                          bool shared, bool exploratory)
{
    const char *detail = c->metric ? c->metric + unit_length(c) : "";
    detail = *detail ? detail + strlen(", ") : NULL;
    if (c->title && is_alone(&p->sides) && detail) {
        cs_item_take(row, "series", cs_format("%s (%s)", c->title, detail));
        cs_item_int(row, "wanted", *p->sides.want == '>' ? 1 : -1);
    } else {
        record_drawn(row, "series", c, &p->sides, shared && !detail, detail);
    }
    cs_item_text(row, "family", c->family);
    cs_item_text(row, "claim", c->name);
    cs_item_text(row, "budget", p->budget);
    record_test(row, p);
    record_verdict(row, p->verdict, p, exploratory);
    cs_item_text(row, "why", p->why);
    record_unit(row, c);
}

cs_status cs_claims_write_budgets(const cs_claims *claims, const char *path, int64_t *count)
{
    static const cs_view view = {"budgets[]",
                                 "series claim budget wanted difference low high p p_holm "
                                 "resolution seeds_needed verdict why matters p_small unit "
                                 "family effect effect_seeds"};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "budgets");
    int64_t all = 0;
    *count = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        const bool shared = c->points > 0 && shares_title(claims, c);
        for (int64_t p = 0; p < c->points && c->point[p].budget; ++p, ++all) {
            record_budget(cs_item_object(rows, NULL), c, &c->point[p], shared, claims->exploratory);
            *count += c->points >= LEAST_BUDGETS;
        }
    }
    return all > 0 ? cs_result_write_csv(result, &view, path) : CS_OK;
}

/* Whether it is one comparison of numbers with an interval. */
static bool has_interval(const cs_study_claim *c)
{
    return c->points == 1 && !c->point->budget && c->point->margin > 0 &&
           isfinite(c->point->margin);
}

static bool same_unit(const cs_study_claim *a, const cs_study_claim *b)
{
    const int length = unit_length(a);
    return length == unit_length(b) &&
           (length == 0 || memcmp(a->metric, b->metric, (size_t)length) == 0);
}

/* A panel has the claims of one family and unit, since they share an axis: "FAMILY", or "FAMILY (UNIT)" of
 * a family with several units. *place: of the claim in it, from 1. */
static char *panel_of(const cs_claims *claims, int64_t of, int64_t *place)
{
    const cs_study_claim *own = &claims->claim[of];
    const int length = unit_length(own);
    bool several = false;
    *place = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (!has_interval(c) || strcmp(c->family, own->family) != 0) continue;
        several = several || !same_unit(c, own);
        *place += i <= of && same_unit(c, own);
    }
    return several && length > 0 ? cs_format("%s (%.*s)", own->family, length, own->metric)
                                 : cs_strdup(own->family);
}

cs_status cs_claims_write_differences(const cs_claims *claims, const char *path, int64_t *count)
{
    static const cs_view view = {"differences[]", "series claim place label wanted difference low "
                                                  "high p p_holm verdict matters p_small unit"};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "differences");
    *count = 0;
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (!has_interval(c)) continue;
        cs_item *row = cs_item_object(rows, NULL);
        int64_t place = 0;
        cs_item_take(row, "series", panel_of(claims, i, &place));
        cs_item_text(row, "claim", c->name);
        cs_item_int(row, "place", place);
        record_drawn(row, "label", c, &c->point->sides, false, detail_of(claims, c));
        record_test(row, c->point);
        record_verdict(row, c->verdict, c->point, claims->exploratory);
        record_unit(row, c);
        ++*count;
    }
    return *count > 0 ? cs_result_write_csv(result, &view, path) : CS_OK;
}
