/* The claims of a study's file (claims.h has their form). */
#include "analysis/study/claims.h"
#include "base/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "io/json.h"
#include "io/number.h"

enum { BLOCKS = 20, MOST_BUDGETS = 24 };

static void free_comparison(cs_study_comparison *c)
{
    cs_side_free(&c->left);
    cs_side_free(&c->right);
}

void cs_claims_free(cs_claims *claims)
{
    for (int64_t i = 0; i < claims->count; ++i) {
        cs_study_claim *c = &claims->claim[i];
        for (int64_t p = 0; p < c->points; ++p) {
            cs_claim_point *point = &c->point[p];
            free_comparison(&point->sides);
            cs_side_free(&point->ceiling);
            for (int64_t j = 0; j < point->needs; ++j) {
                free_comparison(&point->need[j]);
            }
            CS_FREE_FIELDS(point, need, budget, unmet);
        }
        for (int64_t a = 0; a < c->audits; ++a)
            CS_FREE_FIELDS(&c->audit[a], seed, found);
        CS_FREE_FIELDS(c, point, audit, course);
    }
    cs_free(claims->claim);
    *claims = (cs_claims){0};
}

/* A number, or "inf"; texts hold numbers too, since variables are texts. */
static cs_status read_freedom(const json_t *value, double *out)
{
    const char *text = json_string_value(value);
    *out = text && strcmp(text, "inf") == 0 ? (double)INFINITY : json_number_value(value);
    bool ok = (text && cs_real_scan(text, out)) || *out >= 1;
    return ok && *out >= 1 ? CS_OK
                           : cs_fail(CS_ERR_INPUT, "df is neither a number from 1 on nor \"inf\"");
}

/* Marks the step of a file or of a statement, or those of its seeds, as read by a claim. */
static cs_status claim_steps(cs_study *study, const char *text, bool file, const cs_step **step)
{
    CS_AUTO_FREE char *seeds = NULL;
    char *word[CS_STEP_WORDS];
    int count = 0;
    cs_status status = cs_study_seeds(study, text, CS_STEP_WORDS, &seeds, word, &count);
    if (status == CS_OK && count == 0)
        status = cs_fail(CS_ERR_INPUT, "no variable seeds is defined for the # in %s", text);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        CS_AUTO_FREE char *own = NULL;
        status = cs_study_put(text, '#', word[i], &own);
        if (status == CS_OK && file) status = cs_study_file(study, own, NULL);
        if (status == CS_OK) status = cs_study_step(study, own, step);
        if (status == CS_OK) study->step[*step - study->step].claimed = true;
    }
    return status;
}

/* The step of a file, and whether it is about a trained model. */
static cs_status check_file(cs_study *study, cs_claim_side *side)
{
    const cs_step *step = NULL;
    cs_status status = claim_steps(study, side->file, true, &step);
    side->trained = status == CS_OK && step->trained;
    return status;
}

/* A text of a side, at a budget where the claim has them. */
static cs_status own_text(const char *text, const char *budget, char **out)
{
    if (!text) {
        return CS_OK;
    }
    if (budget) {
        return cs_study_put(text, '%', budget, out);
    }
    *out = cs_strdup(text);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static cs_status read_side(cs_study *study, const json_t *value, const char *budget,
                           cs_claim_side *out)
{
    const char *file = NULL, *pick = NULL, *minus = NULL;
    json_t *freedom = NULL, *floor = NULL;
    const char *longer = NULL;
    int exact = 0;
    if (json_is_number(value)) {
        *out = (cs_claim_side){.value = json_number_value(value)};
        (void)snprintf(out->digits, sizeof out->digits, "%.15g", out->value);
        out->label = out->digits;
        return CS_OK;
    }
    *out = (cs_claim_side){.error = "se", .freedom = BLOCKS - 1};
    cs_status status =
        cs_json_unpack(value, "ssss?s?b?o?s?o?s?", "label", &out->label, "file", &file, "value",
                       &pick, "minus", &minus, "se", &out->error, "exact", &exact, "df", &freedom,
                       "p", &out->chance, "floor", &floor, "longer", &longer);
    out->error = exact || out->chance ? NULL : out->error;
    if (status == CS_OK && out->chance && minus) status = cs_fail(CS_ERR_INPUT, "p needs minus");
    if (status == CS_OK && freedom) status = read_freedom(freedom, &out->freedom);
    if (status == CS_OK) status = own_text(file, budget, &out->file);
    if (status == CS_OK) status = own_text(pick, budget, &out->pick);
    if (status == CS_OK) status = own_text(minus, budget, &out->minus);
    return status == CS_OK ? check_file(study, out) : status;
}

/* The number of a side without training, and after four times the steps. */
static cs_status read_scale_of_side(cs_study *study, const json_t *value, const char *budget,
                                    cs_claim_side *side)
{
    const json_t *floor = json_object_get(value, "floor");
    const char *longer = json_string_value(json_object_get(value, "longer"));
    cs_status status = CS_OK;
    if (longer && *longer && !floor)
        return cs_fail(CS_ERR_INPUT, "longer needs a floor, from which both numbers are counted");
    if (floor) {
        side->floor = cs_calloc(1, sizeof *side->floor);
        status = side->floor ? read_side(study, floor, budget, side->floor) : CS_ERR_MEMORY;
    }
    if (status == CS_OK && longer && *longer) {
        cs_claim_side *s = side->longer = cs_calloc(1, sizeof *side->longer);
        if (!s) return CS_ERR_MEMORY;
        *s = (cs_claim_side){.label = side->label, .error = side->error, .freedom = side->freedom};
        status = own_text(longer, budget, &s->file);
        if (status == CS_OK) status = own_text(side->pick, NULL, &s->pick);
        if (status == CS_OK) status = own_text(side->minus, NULL, &s->minus);
        if (status == CS_OK) status = check_file(study, s);
    }
    return status;
}

/* The parts of a comparison in the study file. */
typedef struct {
    const json_t *left, *right, *ceiling;
    const char *want, *budget;
    double matters, effect;
    int paired;
} written;

static cs_status read_comparison(cs_study *study, const written *w, cs_study_comparison *out)
{
    out->want = w->want;
    if (strcmp(out->want, ">") != 0 && strcmp(out->want, "<") != 0) {
        return cs_fail(CS_ERR_INPUT, "expected > or <, got \"%s\"", out->want);
    }
    cs_status status = cs_blame(read_side(study, w->left, w->budget, &out->left), "left");
    if (status == CS_OK)
        status = cs_blame(read_side(study, w->right, w->budget, &out->right), "right");
    if (status == CS_OK && out->right.chance) {
        return cs_fail(CS_ERR_INPUT, "p must be on the left side");
    }
    if (status == CS_OK && out->left.chance && (out->right.file || out->right.value != 0))
        status = cs_fail(CS_ERR_INPUT, "p tests a number against 0, so the right side must be 0");
    return status;
}

static cs_status read_needs(cs_study *study, const json_t *list, cs_claim_point *out)
{
    size_t i = 0;
    json_t *item = NULL;
    cs_status status = CS_OK;
    out->need = cs_calloc((int64_t)json_array_size(list), sizeof *out->need);
    if (!out->need) return CS_ERR_MEMORY;
    json_array_foreach(list, i, item)
    {
        json_t *left = NULL, *right = NULL;
        cs_study_comparison *need = &out->need[i];
        written w = {.budget = out->budget};
        status = cs_json_unpack(item, "osob?", "left", &left, "want", &w.want, "right", &right,
                                "or", &need->joined);
        out->needs += 1;
        w.left = left;
        w.right = right;
        for (int s = 0; s < 2 && status == CS_OK; ++s)
            if (json_object_get(s ? right : left, "floor"))
                status = cs_fail(CS_ERR_INPUT, "a floor belongs to a side of the claim itself");
        if (status == CS_OK && need->joined && i == 0)
            status = cs_fail(CS_ERR_INPUT, "\"or\" must follow another need");
        if (status == CS_OK) status = read_comparison(study, &w, need);
        if (status != CS_OK) break;
    }
    return cs_blame(status, "needs");
}

static bool has_seeds(const cs_claim_side *side)
{
    return side->file && strchr(side->file, '#');
}

/* Floors, longer runs and the ceiling. */
static cs_status read_scale(cs_study *study, const written *w, cs_claim_point *point)
{
    cs_claim_side *left = &point->sides.left, *right = &point->sides.right;
    cs_status status = cs_blame(read_scale_of_side(study, w->left, w->budget, left), "left");
    if (status == CS_OK)
        status = cs_blame(read_scale_of_side(study, w->right, w->budget, right), "right");
    if (status == CS_OK && w->ceiling)
        status = cs_blame(read_side(study, w->ceiling, w->budget, &point->ceiling), "ceiling");
    if (status == CS_OK && (left->floor || right->floor) != (w->ceiling != NULL))
        status = cs_fail(CS_ERR_INPUT, "a floor needs a ceiling, and a ceiling a floor");
    return status;
}

/* The comparison at a budget, NULL without. */
static cs_status read_point(cs_study *study, written *w, const json_t *needs, cs_study_claim *c)
{
    cs_claim_point *point = &c->point[c->points++];
    cs_status status = own_text(w->budget, NULL, &point->budget);
    point->matters = w->matters;
    point->effect = w->effect;
    if (status == CS_OK) status = read_comparison(study, w, &point->sides);
    if (status == CS_OK) status = read_scale(study, w, point);
    point->sides.paired = w->paired;
    if (status == CS_OK && w->paired &&
        !(has_seeds(&point->sides.left) && has_seeds(&point->sides.right)))
        status = cs_fail(CS_ERR_INPUT, "paired: both sides need seeds, a '#' in their file");
    if (status == CS_OK && needs && !c->no_need) status = read_needs(study, needs, point);
    const bool trained = point->sides.left.trained || point->sides.right.trained;
    if (status == CS_OK && !point->needs && !c->no_need && trained)
        status =
            cs_fail(CS_ERR_INPUT, "a claim about trained models needs baselines: give \"needs\", a "
                                  "list or a text that explains why there are none");
    return status;
}

/* The budgets: numbers from small to large. */
static cs_status read_points(cs_study *study, written *w, const char *budgets, const json_t *needs,
                             cs_study_claim *c)
{
    CS_AUTO_FREE char *text = cs_strdup(budgets ? budgets : "-");
    char *word[MOST_BUDGETS];
    double before = -INFINITY, at = 0;
    cs_status status = text ? CS_OK : CS_ERR_MEMORY;
    const int count = text ? cs_study_words(text, MOST_BUDGETS, word) : 0;
    c->point = cs_calloc(count, sizeof *c->point);
    if (!c->point) status = CS_ERR_MEMORY;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        w->budget = budgets ? word[i] : NULL;
        if (budgets && (!cs_real_scan(word[i], &at) || !(at > before)))
            status =
                cs_fail(CS_ERR_INPUT, "budgets: expected ascending numbers, got \"%s\"", budgets);
        before = at;
        if (status == CS_OK) status = read_point(study, w, needs, c);
    }
    if (status == CS_OK && count == 0) status = cs_fail(CS_ERR_INPUT, "budgets: none is given");
    return status;
}

/* A number, or a text that is one or says why there is none. */
static cs_status read_effect(const json_t *effect, bool matters, double *out, const char **none)
{
    if (!effect) return CS_OK;
    if (!matters) return cs_fail(CS_ERR_INPUT, "effect needs matters");
    *out = json_number_value(effect);
    const char *text = json_string_value(effect);
    if (text && *text && !cs_real_scan(text, out)) {
        *none = text;
        return CS_OK;
    }
    return *out > 0
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "effect: expected a number above 0, or a text that says why the paper "
                         "has none");
}

static cs_status read_claim(cs_study *study, json_t *json, cs_study_claim *c)
{
    json_t *left = NULL, *right = NULL, *needs = NULL, *matters = NULL, *effect = NULL,
           *ceiling = NULL;
    const char *budgets = NULL, *want = NULL;
    written w = {0};
    cs_status status = cs_json_unpack(
        json, "ssss?s?s?s?s?o?o?o?s?b?o?s?b?s?s?s?o?o?", "source", &c->source, "says", &c->says,
        "scope", &c->scope, "setting", &c->setting, "family", &c->family, "not_at", &c->not_at,
        "statement", &c->statement, "want", &want, "left", &left, "right", &right, "needs", &needs,
        "budgets", &budgets, "everywhere", &c->everywhere, "matters", &matters, "title", &c->title,
        "paired", &w.paired, "metric", &c->metric, "paper", &c->paper, "untested", &c->untested,
        "effect", &effect, "ceiling", &ceiling);
    if (status != CS_OK) return status;
    c->family = c->family ? c->family : c->source;
    if (c->untested && !*c->untested) c->untested = NULL;
    bool sides = left && right && want;
    bool any =
        left || right || want || needs || budgets || matters || effect || ceiling || w.paired;
    if (c->statement ? any : !sides) {
        return cs_fail(CS_ERR_INPUT, "expected either left, want and right, or statement");
    }
    if (c->statement) {
        const cs_step *step = NULL;
        CS_AUTO_FREE char *name = cs_format("%.*s", (int)strcspn(c->statement, " "), c->statement);
        return name ? claim_steps(study, name, false, &step) : CS_ERR_MEMORY;
    }
    c->no_need = json_string_value(needs);
    w.left = left;
    w.right = right;
    w.want = want;
    w.matters = json_number_value(matters);
    if (c->everywhere && !budgets) return cs_fail(CS_ERR_INPUT, "everywhere needs budgets");
    if (matters && !(w.matters > 0)) {
        return cs_fail(CS_ERR_INPUT, "matters: expected a number above 0");
    }
    w.ceiling = ceiling;
    status = read_effect(effect, matters != NULL, &w.effect, &c->no_effect);
    if (status != CS_OK) return status;
    return read_points(study, &w, budgets, needs, c);
}

/* Whether a name begins with one of the prefixes, separated by commas. */
static bool begins(const char *name, const char *prefixes)
{
    for (const char *at = prefixes; *(at += strspn(at, " ,"));) {
        const size_t length = strcspn(at, " ,");
        if (strncmp(name, at, length) == 0) return true;
        at += length;
    }
    return false;
}

cs_status cs_claims_read(cs_study *study, const char *only, cs_claims *out)
{
    json_t *all = json_object_get(study->json, "claims"), *json = NULL;
    const char *name = NULL, *of_scale = cs_study_list(study, "claims");
    if (!only && *of_scale) only = of_scale;
    cs_claims claims = {.claim = cs_calloc((int64_t)json_object_size(all), sizeof *claims.claim),
                        .exploratory = json_is_true(json_object_get(study->json, "exploratory")),
                        .setting = cs_study_list(study, "setting")};
    cs_status status = claims.claim ? CS_OK : CS_ERR_MEMORY;
    json_object_foreach(all, name, json)
    {
        if (status == CS_OK && (!only || begins(name, only))) {
            cs_study_claim *c = &claims.claim[claims.count++];
            c->name = name;
            c->setting = claims.setting;
            status = cs_blame(read_claim(study, json, c), "claim %s", name);
        }
    }
    if (status == CS_OK && only && claims.count == 0)
        status = cs_fail(CS_ERR_USAGE, "no claim has a name that starts with %s", only);
    if (status == CS_OK && only) cs_study_keep_claimed(study);
    return CS_DELIVER(status, out, claims, cs_claims_free);
}
