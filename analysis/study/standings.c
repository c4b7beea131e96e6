/* Which model is best by which measure. Best is a model that is significantly better than at least
 * one other and significantly worse than none. A measure without a better direction has no best
 * model. */
#include "analysis/study/claims.h"
#include "base/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "analysis/study/report_html_private.h"
#include "io/result.h"

enum { MOST_OBJECTS = 64 };

typedef struct {
    int64_t count;
    const char *name[MOST_OBJECTS];
} objects;

static int64_t number_of(const objects *o, const char *name)
{
    int64_t i = 0;
    while (i < o->count && strcmp(o->name[i], name) != 0) {
        ++i;
    }
    return i;
}

static void take_object(objects *o, const char *name)
{
    if (number_of(o, name) == o->count && o->count < MOST_OBJECTS) o->name[o->count++] = name;
}

/* Whether two sides of a claim are objects under its name. */
static bool is_of(const cs_study_claim *c, const char *prefix)
{
    return strncmp(c->name, prefix, strlen(prefix)) == 0 && c->points == 1;
}

static bool begins_measure(const cs_claims *claims, int64_t of, const char *prefix)
{
    for (int64_t i = 0; i < of; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (is_of(c, prefix) && strcmp(c->source, claims->claim[of].source) == 0) return false;
    }
    return is_of(&claims->claim[of], prefix);
}

/* One measure: of each object its number, how many others it is significantly better and worse than, and
 * how many comparisons with it were not tested. */
typedef struct {
    const cs_study_claim *first; /* its first claim */
    const cs_claim_side *side[MOST_OBJECTS];
    int64_t before[MOST_OBJECTS], behind[MOST_OBJECTS], untested[MOST_OBJECTS];
    int64_t claims, decided, all_untested;
} standing;

/* Of a claim that is decided the object that is before the other, and that one. */
static const char *ahead(const cs_study_claim *c, const char **behind)
{
    const cs_study_comparison *s = &c->point->sides;
    const bool left = c->verdict == CS_CLAIM_REPRODUCED;
    *behind = left ? s->right.label : s->left.label;
    return left ? s->left.label : s->right.label;
}

static standing standing_of(const cs_claims *claims, int64_t first, const char *prefix,
                            const objects *o)
{
    standing s = {.first = &claims->claim[first]};
    for (int64_t i = first; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        const char *last = NULL, *best = NULL;
        if (!is_of(c, prefix) || strcmp(c->source, s.first->source) != 0) continue;
        const cs_claim_side *side[] = {&c->point->sides.left, &c->point->sides.right};
        for (int k = 0; k < 2; ++k) {
            const int64_t at = number_of(o, side[k]->label);
            if (at == o->count) continue;
            s.side[at] = side[k];
            s.untested[at] += c->verdict == CS_CLAIM_NOT_TESTED;
        }
        s.claims += 1;
        s.all_untested += c->verdict == CS_CLAIM_NOT_TESTED;
        if (c->verdict != CS_CLAIM_REPRODUCED && c->verdict != CS_CLAIM_OPPOSITE) continue;
        best = ahead(c, &last);
        s.decided += 1;
        s.before[number_of(o, best) % MOST_OBJECTS] += 1;
        s.behind[number_of(o, last) % MOST_OBJECTS] += 1;
    }
    return s;
}

static bool is_first(const standing *s, int64_t object)
{
    return s->before[object] > 0 && s->behind[object] == 0;
}

/* Which is best or highest, or why none is. */
static void put_best(FILE *out, const standing *s, const objects *o, bool better)
{
    int64_t named = 0;
    for (int64_t i = 0; i < o->count; ++i) {
        if (!is_first(s, i)) continue;
        cs_html_put(out, named++ ? ", " : "");
        cs_html_put(out, better ? "<b>%</b>" : "%", o->name[i]);
    }
    if (s->decided > 0) return;
    if (s->all_untested == s->claims) {
        cs_html_put(out, "<i>not tested</i> <small>%</small>", s->first->why);
    } else {
        cs_html_put(out, "<i>no significant difference</i>");
    }
}

/* "one model", "2 models", "none" */
static void put_count(FILE *out, int64_t n, bool noun)
{
    if (n == 0) {
        (void)fputs("none", out);
    } else if (n == 1) {
        (void)fputs(noun ? "one model" : "one", out);
    } else {
        (void)fprintf(out, noun ? "%lld models" : "%lld", (long long)n);
    }
}

/* The number of an object, and among more than two how many it is significantly better and worse than. */
static void put_score(FILE *out, const standing *s, int64_t object, bool better)
{
    const cs_claim_side *side = s->side[object];
    if (!side || isnan(side->value)) {
        cs_html_put(out, "<td class=\"n\">&ndash;</td>");
        return;
    }
    cs_html_put(out, better && is_first(s, object) ? "<td class=\"n best\">" : "<td class=\"n\">");
    cs_html_put(out, "<a class=\"value\" href=\"%\">", side->file);
    (void)fprintf(out, "%.4g</a>", side->value);
    if (side->se > 0) (void)fprintf(out, " <small>&plusmn; %.2g</small>", 1.96 * side->se);
    if (s->claims > 1 && s->all_untested < s->claims) {
        cs_html_put(out, "<br><small>significantly % ", better ? "better than" : "above");
        put_count(out, s->before[object], true);
        cs_html_put(out, ", % ", better ? "worse than" : "below");
        put_count(out, s->behind[object], s->before[object] == 0);
        if (s->untested[object] > 0) {
            cs_html_put(out, "; not tested against ");
            put_count(out, s->untested[object], true);
        }
        cs_html_put(out, "</small>");
    }
    cs_html_put(out, "</td>");
}

static void put_row(FILE *out, const standing *s, const objects *o, bool better)
{
    const cs_claim_point *p = s->first->point;
    cs_html_put(out, "<tr><td title=\"%\">%", s->first->scope, s->first->source);
    if (p->needs > 0 && p->need->right.file) {
        cs_html_put(out, " <small>%", p->need->right.label);
        (void)fprintf(out, " %.3g</small>", p->need->right.value);
    }
    cs_html_put(out, "</td><td>");
    put_best(out, s, o, better);
    cs_html_put(out, "</td>");
    for (int64_t i = 0; i < o->count; ++i) {
        put_score(out, s, i, better);
    }
    cs_html_put(out, "</tr>\n");
}

void cs_html_standings(FILE *out, const cs_claims *claims, const char *prefix, const char *first)
{
    objects o = {0};
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (!is_of(c, prefix)) continue;
        take_object(&o, c->point->sides.left.label);
        take_object(&o, c->point->sides.right.label);
    }
    if (o.count == 0) {
        cs_html_put(out, "<p>Nothing of this kind was compared.</p>\n");
        return;
    }
    cs_html_put(out,
                "<div class=\"wide\"><table class=\"standings\"><tr><th>measure</th><th>%</th>",
                first);
    for (int64_t i = 0; i < o.count; ++i) {
        cs_html_put(out, "<th class=\"n\">%</th>", o.name[i]);
    }
    cs_html_put(out, "</tr>\n");
    for (int64_t i = 0; i < claims->count; ++i) {
        if (!begins_measure(claims, i, prefix)) continue;
        const standing s = standing_of(claims, i, prefix, &o);
        put_row(out, &s, &o, strcmp(first, "best") == 0);
    }
    cs_html_put(out, "</table></div>\n");
}

/* --- the table -------------------------------------------------------------------------------- */

/* How long the claim's name is without its objects: KEY of KEY.A.B. */
static int key_length(const cs_study_claim *c)
{
    const cs_study_comparison *s = &c->point->sides;
    const size_t name = strlen(c->name), pair = strlen(s->left.label) + strlen(s->right.label) + 2;
    return (int)(name > pair ? name - pair : name);
}

static bool same_key(const cs_study_claim *a, const cs_study_claim *b)
{
    const int length = key_length(a);
    return length == key_length(b) && strncmp(a->name, b->name, (size_t)length) == 0;
}

static void record_score(const cs_study *study, const cs_study_claim *c, const cs_claim_side *side,
                         cs_item *rows)
{
    cs_item *row = cs_item_object(rows, NULL);
    const json_t *tables = json_object_get(study->json, "tables");
    const json_t *model = cs_study_row(json_object_get(tables, "models"), side->label);
    cs_item_take(row, "claim", cs_format("%.*s", key_length(c), c->name));
    cs_item_text(row, "measure", c->source);
    cs_item_text(row, "series", json_string_value(json_object_get(model, "series")));
    cs_item_text(row, "step", json_string_value(json_object_get(model, "step")));
    cs_item_text(row, "object", side->label);
    CS_ITEM_FIELDS(row, side, value, se);
    cs_item_real(row, "low", side->value - 1.96 * side->se);
    cs_item_real(row, "high", side->value + 1.96 * side->se);
}

static bool is_recorded(const cs_claims *claims, int64_t claim, const cs_claim_side *side)
{
    for (int64_t i = 0; i <= claim; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (c->points != 1 || !same_key(c, &claims->claim[claim])) continue;
        const cs_claim_side *of[] = {&c->point->sides.left, &c->point->sides.right};
        for (int k = 0; k < 2; ++k) {
            if (of[k] == side) return false;
            if (strcmp(of[k]->label, side->label) == 0) return true;
        }
    }
    return false;
}

cs_status cs_scores_write(const cs_study *study, const cs_claims *claims, const char *path)
{
    static const cs_view view = {"scores[]", "claim measure series step object value se low high"};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "scores");
    for (int64_t i = 0; i < claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i];
        if (c->points != 1) continue;
        const cs_claim_side *of[] = {&c->point->sides.left, &c->point->sides.right};
        for (int k = 0; k < 2; ++k) {
            if (!is_recorded(claims, i, of[k])) record_score(study, c, of[k], rows);
        }
    }
    return cs_result_write_csv(result, &view, path);
}
