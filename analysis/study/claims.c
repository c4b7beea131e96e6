/* The claims of a study's file and the verdicts on them (claims.h has the formulas). */
#include "analysis/study/claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "analysis/study/sides_private.h"
#include "base/mem.h"
#include "io/json.h"
#include "io/number.h"
#include "io/result.h"
#include "stats/decide.h"

enum { BLOCKS = 20, MOST_WORDS = 24, PARTS = CS_CLAIM_PARTS };

static const double alpha = 0.05;

void cs_claims_free(cs_claims *claims)
{
    for (int64_t i = 0; i < claims->count; ++i) {
        cs_side_free(&claims->claim[i].sides.left);
        cs_side_free(&claims->claim[i].sides.right);
        for (int64_t j = 0; j < claims->claim[i].needs; ++j) {
            cs_side_free(&claims->claim[i].need[j].left);
            cs_side_free(&claims->claim[i].need[j].right);
        }
        cs_free(claims->claim[i].found);
        cs_free(claims->claim[i].unmet);
        cs_free(claims->claim[i].runs);
        cs_free(claims->claim[i].need);
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

/* The step of a file, or those of all seeds, and whether it is about a trained model. */
static cs_status check_file(const cs_study *study, cs_claim_side *side)
{
    const bool each = strchr(side->file, '#') != NULL;
    char *seeds = cs_strdup(each ? cs_study_seeds(study) : "-"), *save = NULL;
    if (!seeds) return CS_ERR_MEMORY;
    cs_status status =
        *seeds ? CS_OK : cs_fail(CS_ERR_INPUT, "no variable seeds for the # of %s", side->file);
    for (char *seed = strtok_r(seeds, " ", &save); seed && status == CS_OK;
         seed = strtok_r(NULL, " ", &save)) {
        char *own = NULL;
        const cs_step *step = NULL;
        status = cs_study_for_seed(side->file, seed, &own);
        if (status == CS_OK) status = cs_study_file(study, own, NULL);
        if (status == CS_OK) status = cs_study_step(study, own, &step);
        side->trained = status == CS_OK && step->trained;
        cs_free(own);
    }
    cs_free(seeds);
    return status;
}

static cs_status read_side(const cs_study *study, const json_t *value, const char *key,
                           cs_claim_side *out)
{
    json_t *freedom = NULL;
    int exact = 0;
    if (json_is_number(value)) {
        *out = (cs_claim_side){.value = json_number_value(value)};
        (void)snprintf(out->digits, sizeof out->digits, "%.15g", out->value);
        out->label = out->digits;
        return CS_OK;
    }
    *out = (cs_claim_side){.error = "se", .freedom = BLOCKS - 1, .models = 1};
    cs_status status =
        cs_json_unpack(value, "label, file, value, minus, se, exact, df, models",
                       "{s:s, s:s, s:s, s?s, s?s, s?b, s?o, s?i}", "label", &out->label, "file",
                       &out->file, "value", &out->pick, "minus", &out->minus, "se", &out->error,
                       "exact", &exact, "df", &freedom, "models", &out->models);
    out->error = exact ? NULL : out->error;
    if (status == CS_OK && freedom) status = read_freedom(freedom, &out->freedom);
    if (status == CS_OK) status = check_file(study, out);
    return cs_blame(status, "%s", key);
}

static cs_status read_runs(const cs_study *study, json_t *list, cs_study_claim *c)
{
    size_t i = 0;
    json_t *item = NULL;
    cs_status status = CS_OK;
    c->runs = cs_calloc((int64_t)json_array_size(list), sizeof *c->runs);
    if (!c->runs) return CS_ERR_MEMORY;
    json_array_foreach(list, i, item)
    {
        cs_claim_runs *r = &c->runs[c->pairs++];
        status = cs_json_unpack(item, "label, files, value, minus", "{s:s, s:[ss], s:s, s?s}",
                                "label", &r->label, "files", &r->file[0], &r->file[1], "value",
                                &r->pick, "minus", &r->minus);
        for (int k = 0; k < 2 && status == CS_OK; ++k) {
            status = cs_study_file(study, r->file[k], NULL);
        }
        if (status != CS_OK) break;
    }
    return cs_blame(status, "runs");
}

static cs_status read_comparison(const cs_study *study, const json_t *left, const json_t *right,
                                 cs_study_comparison *out)
{
    if (strcmp(out->want, ">") != 0 && strcmp(out->want, "<") != 0) {
        return cs_fail(CS_ERR_INPUT, "want > or <, got \"%s\"", out->want);
    }
    cs_status status = read_side(study, left, "left", &out->left);
    return status == CS_OK ? read_side(study, right, "right", &out->right) : status;
}

static cs_status read_needs(const cs_study *study, json_t *list, cs_study_claim *c)
{
    size_t i = 0;
    json_t *item = NULL, *left = NULL, *right = NULL;
    cs_status status = CS_OK;
    c->need = cs_calloc((int64_t)json_array_size(list), sizeof *c->need);
    if (!c->need) return CS_ERR_MEMORY;
    json_array_foreach(list, i, item)
    {
        cs_study_comparison *need = &c->need[c->needs++];
        status = cs_json_unpack(item, "left, want, right", "{s:o, s:s, s:o}", "left", &left, "want",
                                &need->want, "right", &right);
        if (status == CS_OK) status = read_comparison(study, left, right, need);
        if (status != CS_OK) break;
    }
    return cs_blame(status, "needs");
}

static cs_status read_claim(const cs_study *study, json_t *json, cs_study_claim *c)
{
    json_t *left = NULL, *right = NULL, *needs = NULL, *runs = NULL;
    cs_status status = cs_json_unpack(
        json, "source, says, scope, family, not_at, statement, want, left, right, needs, runs",
        "{s:s, s:s, s:s, s?s, s?s, s?s, s?s, s?o, s?o, s?o, s?o}", "source", &c->source, "says",
        &c->says, "scope", &c->scope, "family", &c->family, "not_at", &c->not_at, "statement",
        &c->statement, "want", &c->sides.want, "left", &left, "right", &right, "needs", &needs,
        "runs", &runs);
    if (status != CS_OK) return status;
    c->family = c->family ? c->family : c->source;
    bool sides = left && right && c->sides.want;
    bool any = left || right || c->sides.want || needs || runs;
    if (c->statement ? any : !sides) {
        return cs_fail(CS_ERR_INPUT, "want either left, want and right, or statement");
    }
    if (c->statement) {
        return cs_study_step(study, c->statement, NULL);
    }
    status = read_comparison(study, left, right, &c->sides);
    c->no_need = json_string_value(needs);
    if (status == CS_OK && needs && !c->no_need) status = read_needs(study, needs, c);
    if (status == CS_OK && !c->needs && !c->no_need &&
        (c->sides.left.trained || c->sides.right.trained))
        status = cs_fail(CS_ERR_INPUT, "a claim about trained models needs baselines: \"needs\", a "
                                       "list, or a text that says why there are none");
    return status == CS_OK && runs ? read_runs(study, runs, c) : status;
}

cs_status cs_claims_read(const cs_study *study, cs_claims *out)
{
    json_t *all = json_object_get(study->json, "claims"), *json = NULL;
    const char *name = NULL;
    cs_claims claims = {.claim = cs_calloc((int64_t)json_object_size(all), sizeof *claims.claim)};
    cs_status status = claims.claim ? CS_OK : CS_ERR_MEMORY;
    json_object_foreach(all, name, json)
    {
        if (status == CS_OK) {
            cs_study_claim *c = &claims.claim[claims.count++];
            *c = (cs_study_claim){.name = name,
                                  .seeds = NAN,
                                  .difference = NAN,
                                  .margin = NAN,
                                  .p = NAN,
                                  .adjusted = NAN,
                                  .resolution = NAN,
                                  .seeds_needed = NAN};
            status = cs_blame(read_claim(study, json, c), "claim %s", name);
        }
    }
    return CS_DELIVER(status, out, claims, cs_claims_free);
}

/* --- numbers --- */

/* The number of one of the `runs`. */
static cs_status measure_in(const cs_study *study, const char *file, const char *words,
                            cs_claim_side *out)
{
    out->file = file;
    out->pick = words;
    cs_status status = cs_side_measure(study, out);
    cs_side_free(out);
    return status;
}

/* A number is measured already. */
static cs_status measure_both(const cs_study *study, cs_study_comparison *c)
{
    cs_status status = CS_OK;
    if (c->left.file) status = cs_side_measure(study, &c->left);
    if (status == CS_OK && c->right.file) status = cs_side_measure(study, &c->right);
    return status;
}

/* --- verdicts --- */

static double square(double x)
{
    return x * x;
}

/* The parts of the error of a difference: documents, seeds of either side by `prior`, or the variance
 * `seeds` of other runs. */
static void parts_of(const cs_study_comparison *c, const cs_prior *prior, double seeds,
                     int64_t pairs, cs_error_part part[PARTS])
{
    const cs_seeds left = {c->left.runs, c->left.variance},
                   right = {c->right.runs, c->right.variance};
    cs_sides_documents(&c->left, &c->right, part);
    part[2] =
        pairs > 0 ? cs_error_of(sqrt(seeds), (double)pairs) : cs_error_of_seeds(prior, left, right);
    part[3] = pairs > 0 ? (cs_error_part){0} : cs_error_of_seeds(prior, right, left);
}

static bool few(const cs_claim_side *side)
{
    return side->runs == 1 || side->runs == 2;
}

static void compare(cs_study_claim *c)
{
    const cs_claim_side *left = &c->sides.left, *right = &c->sides.right;
    double variance = 0;
    for (int64_t i = 0; i < c->pairs; ++i) {
        variance += square(c->runs[i].value[0] - c->runs[i].value[1]) / (2.0 * (double)c->pairs);
    }
    c->seeds = c->pairs > 0 ? sqrt(variance) : (double)NAN;
    double seeds = (left->models + right->models) * variance;
    double d = c->difference = left->value - right->value;
    c->between = seeds;
    c->verdict = CS_CLAIM_UNDECIDED;
    c->why = isnan(d)                                      ? "a side has no value"
             : few(&c->sides.left) || few(&c->sides.right) ? "a side has fewer than 3 seeds"
             : d == 0                                      ? "both sides are equal"
                      : "the difference is within its interval";
}

/* The margin of a claim by itself. */
static void measure_margin(const cs_prior *prior, cs_study_claim *c)
{
    const bool told = !few(&c->sides.left) && !few(&c->sides.right);
    parts_of(&c->sides, prior, c->between, c->pairs, c->part);
    c->margin = told ? cs_margin(PARTS, c->part, alpha) : (double)NAN;
    c->p = told ? cs_decision_p(PARTS, c->part, c->difference) : (double)NAN;
    if (isnan(c->margin) && told && !isnan(c->difference)) c->why = "a side has no standard error";
}

/* Seeds a side, as many for both, that would tell the difference seen. */
static double seeds_needed(const cs_study_claim *c, const cs_prior *prior, double level)
{
    const cs_prior none = {0};
    const cs_claim_side *left = &c->sides.left, *right = &c->sides.right;
    const double other = square(c->seeds);
    cs_plan_of_seeds plan = {.prior = c->pairs > 0 ? &none : prior,
                             .variance = {other, left->models + right->models > 1 ? other : 0},
                             .d = c->difference};
    for (int s = 0; s < 2 && c->pairs == 0; ++s) {
        const cs_claim_side *side = s ? right : left;
        const cs_variance own = {side->variance, fmax(1, (double)side->runs - 1)};
        plan.variance[s] = side->runs > 0 ? cs_moderated(prior, own).variance : 0;
    }
    plan.fixed = c->part[0];
    if (c->part[1].variance > 0) {
        plan.fixed = cs_error_of(sqrt(c->part[0].variance + c->part[1].variance),
                                 fmin(c->part[0].freedom, c->part[1].freedom));
    }
    const int64_t n = cs_seeds_needed(&plan, level);
    return n > 0 ? (double)n : (double)INFINITY;
}

/* A claim of a family of `size`, of which one more would be decided at `level`. */
static void decide(cs_study_claim *c, const cs_prior *prior, int64_t size, double level)
{
    const bool wanted = *c->sides.want == '>' ? c->difference > 0 : c->difference < 0;
    c->family_size = size;
    if (!isnan(c->p)) c->resolution = cs_margin(PARTS, c->part, level);
    if (c->adjusted <= alpha) {
        c->verdict = wanted ? CS_CLAIM_AGREES : CS_CLAIM_DISAGREES;
        c->why =
            wanted ? "the difference has the sign claimed" : "the difference has the other sign";
    } else if (fabs(c->difference) > c->margin) {
        c->why = "outside its own interval and yet not told among the claims of its family";
    }
    const bool seeded = c->seeds > 0 || c->sides.left.runs + c->sides.right.runs > 0;
    if (c->adjusted > alpha && seeded && fabs(c->difference) > 0)
        c->seeds_needed = seeds_needed(c, prior, level);
    if (c->unmet) {
        c->verdict = CS_CLAIM_UNDECIDED;
        c->why = c->unmet;
    }
}

static bool is_member(const cs_study_claim *c, const char *family)
{
    return !c->statement && strcmp(c->family, family) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The variances over seeds in a family, those of each side once. room: 4 numbers a claim. */
static cs_status prior_of(const cs_claims *claims, const char *family, double *room, cs_prior *out)
{
    double *variance = room, *freedom = room + 2 * claims->count;
    int64_t sides = 0;
    for (int64_t i = 0; i < 2 * claims->count; ++i) {
        const cs_study_claim *c = &claims->claim[i / 2];
        const cs_claim_side *side = i % 2 ? &c->sides.right : &c->sides.left;
        bool seen = !is_member(c, family) || side->runs < 2;
        for (int64_t j = 0; j < i && !seen; ++j) {
            const cs_study_claim *before = &claims->claim[j / 2];
            const cs_claim_side *other = j % 2 ? &before->sides.right : &before->sides.left;
            seen = is_member(before, family) && same_text(side->file, other->file) &&
                   same_text(side->pick, other->pick) && same_text(side->minus, other->minus);
        }
        if (!seen) {
            variance[sides] = side->variance;
            freedom[sides++] = (double)(side->runs - 1);
        }
    }
    return cs_prior_of(sides, variance, freedom, out);
}

/* Moderated variances and Holm's adjustment over the claims of each family. */
static cs_status decide_families(cs_claims *claims)
{
    const int64_t count = claims->count;
    cs_pool pool = {0};
    double *p = cs_pool_take(&pool, count, sizeof *p);
    double *adjusted = cs_pool_take(&pool, count, sizeof *adjusted);
    double *room = cs_pool_take(&pool, 4 * count, sizeof *room);
    cs_status status = pool.status;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const cs_study_claim *first = &claims->claim[i];
        cs_prior prior = {0};
        int64_t size = 0;
        bool done = first->statement != NULL;
        for (int64_t j = 0; j < i; ++j) {
            done = done || is_member(&claims->claim[j], first->family);
        }
        if (!done) status = prior_of(claims, first->family, room, &prior);
        for (int64_t j = 0; j < count && !done; ++j) {
            cs_study_claim *c = &claims->claim[j];
            if (is_member(c, first->family)) measure_margin(&prior, c);
            p[j] = is_member(c, first->family) ? c->p : (double)NAN;
            size += !isnan(p[j]);
        }
        if (!done && status == CS_OK) status = cs_holm(count, p, adjusted);
        for (int64_t j = i; j < count && !done && status == CS_OK; ++j) {
            cs_study_claim *c = &claims->claim[j];
            if (is_member(c, first->family)) {
                c->adjusted = adjusted[j];
                decide(c, &prior, size, cs_holm_level(count, adjusted, alpha));
            }
        }
    }
    cs_pool_free(&pool);
    return status;
}

static void judge_statement(const json_t *s, cs_study_claim *c)
{
    bool pass = strcmp(c->found, "PASS") == 0, assumed = true;
    size_t i;
    json_t *assumption;
    json_array_foreach(json_object_get(s, "assumptions"), i, assumption)
    {
        assumed = assumed && !json_is_false(json_object_get(assumption, "holds"));
    }
    bool printed = strcmp(cs_study_text(s, "form"), "printed") == 0;
    c->verdict = pass && (assumed || !printed)           ? CS_CLAIM_AGREES
                 : strcmp(c->found, "FAIL") == 0         ? CS_CLAIM_DISAGREES
                 : strcmp(c->found, "INCONCLUSIVE") == 0 ? CS_CLAIM_UNDECIDED
                                                         : CS_CLAIM_OPEN;
    c->why = pass && printed && !assumed ? "it holds where its assumptions do not"
                                         : "the verdict of the audit";
}

static cs_status measure_statement(const cs_study *study, cs_study_claim *c)
{
    char *words = cs_strdup(c->statement), *word[MOST_WORDS];
    const json_t *s = NULL;
    json_t *json = NULL;
    cs_status status = words ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_study_words(words, MOST_WORDS, word) != 3)
        status = cs_fail(CS_ERR_INPUT, "want statement STEP ID FORM, got \"%s\"", c->statement);
    if (status == CS_OK) status = cs_study_statement(study, word[0], word[1], word[2], &json, &s);
    if (status == CS_OK) {
        c->found = cs_strdup(cs_study_text(s, "verdict"));
        status = c->found ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) judge_statement(s, c);
    json_decref(json);
    cs_free(words);
    return status;
}

/* Whether the difference has its sign beyond the error of its two sides. */
static bool is_met(const cs_study_comparison *need)
{
    double d = need->left.value - need->right.value;
    cs_error_part part[PARTS];
    parts_of(need, &(cs_prior){0}, 0, 0, part);
    double margin = cs_margin(PARTS, part, alpha);
    return *need->want == '>' ? d > margin : d < -margin;
}

static char *unmet(const cs_study_comparison *need)
{
    const char *relation = *need->want == '>' ? "above" : "below";
    const cs_claim_side *left = &need->left, *right = &need->right;
    return right->file ? cs_format("%s (%.3g) is not %s %s (%.3g)", left->label, left->value,
                                   relation, right->label, right->value)
                       : cs_format("%s (%.3g) is not %s %s", left->label, left->value, relation,
                                   right->label);
}

static cs_status check_needs(const cs_study *study, cs_study_claim *c)
{
    for (int64_t i = 0; i < c->needs; ++i) {
        cs_study_comparison *need = &c->need[i];
        cs_status status = measure_both(study, need);
        if (status != CS_OK) return status;
        if (!c->unmet && !is_met(need)) {
            c->unmet = unmet(need);
            if (!c->unmet) return CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

static cs_status measure_sides(const cs_study *study, cs_study_claim *c)
{
    cs_status status = measure_both(study, &c->sides);
    for (int64_t i = 0; i < 2 * c->pairs && status == CS_OK; ++i) {
        cs_claim_runs *runs = &c->runs[i / 2];
        cs_claim_side run = {.minus = runs->minus};
        status = measure_in(study, runs->file[i % 2], runs->pick, &run);
        runs->value[i % 2] = run.value;
    }
    if (status == CS_OK) {
        compare(c);
        status = check_needs(study, c);
    }
    return status;
}

cs_status cs_claims_measure(const cs_study *study, cs_claims *claims)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        cs_study_claim *c = &claims->claim[i];
        status = cs_blame(c->statement ? measure_statement(study, c) : measure_sides(study, c),
                          "claim %s", c->name);
    }
    if (status == CS_OK) status = decide_families(claims);
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        cs_study_claim *c = &claims->claim[i];
        if (study->scale && c->not_at && strcmp(study->scale, c->not_at) == 0) {
            c->verdict = CS_CLAIM_UNDECIDED;
            c->why = "this scale is too small to tell";
        }
    }
    return status;
}

/* --- writing --- */

const char *cs_claim_verdict_name(cs_claim_verdict verdict)
{
    static const char *const name[] = {"agree", "disagree", "cannot tell", "open"};
    return name[verdict];
}

static void record_claim(cs_item *row, const cs_study_claim *c)
{
    const cs_claim_side *left = &c->sides.left, *right = &c->sides.right;
    cs_item_text(row, "claim", c->name);
    cs_item_text(row, "source", c->source);
    cs_item_text(row, "says", c->says);
    cs_item_text(row, "verdict", cs_claim_verdict_name(c->verdict));
    cs_item_text(row, "why", c->why);
    cs_item_text(row, "scope", c->scope);
    cs_item_text(row, "left", c->statement ? c->statement : left->label);
    cs_item_text(row, "right", c->statement ? c->found : right->label);
    if (!c->statement) {
        cs_item_real(row, "left_value", left->value);
        cs_item_real(row, "left_se", left->se);
        cs_item_text(row, "want", c->sides.want);
        cs_item_real(row, "right_value", right->value);
        cs_item_real(row, "right_se", right->se);
        cs_item_real(row, "seeds", c->seeds);
        cs_item_real(row, "difference", c->difference);
        cs_item_real(row, "low", c->difference - c->margin);
        cs_item_real(row, "high", c->difference + c->margin);
        cs_item_text(row, "interval", "95 % of this claim alone: documents and seeds");
        cs_item_text(row, "family", c->family);
        cs_item_int(row, "family_size", c->family_size);
        cs_item_real(row, "p", c->p);
        cs_item_real(row, "p_holm", c->adjusted);
        cs_item_real(row, "resolution", c->resolution);
        cs_item_real(row, "seeds_needed", c->seeds_needed);
    }
}

cs_status cs_claims_write(const cs_claims *claims, const char *path)
{
    static const cs_view view = {
        "claims[]", "claim source says left left_value left_se want right right_value right_se "
                    "seeds difference low high interval family family_size p p_holm resolution "
                    "seeds_needed verdict why scope"};
    cs_table table = {0};
    cs_result *result = cs_result_new();
    cs_item *rows = cs_item_array(cs_result_root(result), "claims");
    for (int64_t i = 0; i < claims->count; ++i) {
        record_claim(cs_item_object(rows, NULL), &claims->claim[i]);
    }
    cs_status status = cs_result_table(result, &view, &table);
    if (status == CS_OK) status = cs_table_write_csv(&table, path);
    cs_table_free(&table);
    cs_result_free(&result);
    return status;
}
