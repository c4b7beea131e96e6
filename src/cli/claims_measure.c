/* The verdicts on claims (claims.h has the formulas). */
#include "cli/claims.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/student.h"
#include "cli/table_pick.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"

enum { MOST_WORDS = 24, BLOCKS = 20 };

/* --- numbers of tables --- */

/* What the words behind a file say. */
typedef struct {
    char *word[MOST_WORDS];
    int words;               /* picks, COLUMN taken out */
    int minus;               /* where the second pick begins; `words`: there is none */
    const char *column, *se; /* se NULL: exact */
    double freedom;
    bool pair;
} reading;

static cs_status read_freedom(const char *text, double *out)
{
    if (strcmp(text, "inf") == 0) {
        *out = INFINITY;
        return CS_OK;
    }
    return cs_real_scan(text, out) && *out >= 1
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "df=%s is neither a number from 1 on nor inf", text);
}

/* Cuts `text` up. */
static cs_status read_words(char *text, reading *r)
{
    *r = (reading){.minus = -1, .se = "se", .freedom = BLOCKS - 1};
    char *save = NULL;
    cs_status status = CS_OK;
    r->column = strtok_r(text, " \t", &save);
    for (char *w; status == CS_OK && (w = strtok_r(NULL, " \t", &save)) != NULL;) {
        if (strncmp(w, "se=", 3) == 0) {
            r->se = w + 3;
        } else if (strncmp(w, "df=", 3) == 0) {
            status = read_freedom(w + 3, &r->freedom);
        } else if (strcmp(w, "exact") == 0) {
            r->se = NULL;
        } else if (strcmp(w, "pair") == 0) {
            r->pair = true;
        } else if (strcmp(w, "minus") == 0 && r->minus < 0) {
            r->minus = r->words;
        } else if (r->words < MOST_WORDS) {
            r->word[r->words++] = w;
        } else {
            status = cs_fail(CS_ERR_INPUT, "more than %d words", MOST_WORDS);
        }
    }
    r->minus = r->minus < 0 ? r->words : r->minus;
    return status;
}

/* The number in a cell; an empty one is no number. */
static cs_status cell_number(const cs_table *table, const char *path, int64_t row,
                             const char *column, double *out)
{
    int at = cs_table_column(table, column);
    if (at < 0) {
        return cs_fail(CS_ERR_INPUT, "%s: no column %s", path, column);
    }
    const char *cell = table->cell[row * table->columns + at];
    *out = NAN;
    return *cell == '\0' || cs_real_scan(cell, out)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: \"%s\" in column %s is no number", path, cell, column);
}

/* Value and error of the one row that fits words first .. end - 1. */
static cs_status pick_number(const cs_table *table, const char *path, reading *r, int first,
                             int end, double *value, double *se)
{
    cs_pick pick;
    int64_t row = 0, hits = 0;
    *se = 0;
    cs_status status = cs_pick_parse(table, path, end - first, r->word + first, &pick);
    if (status == CS_OK && (status = cs_pick_first(&pick, table, path, &row)) == CS_OK) {
        for (int64_t i = row; i < table->rows; ++i) {
            hits += cs_pick_takes(&pick, table, i);
        }
        status = hits == 1 ? cell_number(table, path, row, r->column, value)
                           : cs_fail(CS_ERR_INPUT, "%s: %lld rows fit", path, (long long)hits);
    }
    return status == CS_OK && r->se ? cell_number(table, path, row, r->se, se) : status;
}

/* What a side's words say of a file: value less that of the second pick, degrees and, where
 * `error` is wanted, its error. */
static cs_status measure(const char *dir, const char *file, const char *words, bool error,
                         cs_claim_side *out)
{
    char *path = cs_path_join(dir, file), *text = cs_strdup(words);
    cs_table table = {0};
    reading r = {0};
    double other = 0, other_se = 0;
    cs_status status = path && text ? read_words(text, &r) : CS_ERR_MEMORY;
    r.se = error ? r.se : NULL;
    if (status == CS_OK && (status = cs_table_read_csv(path, &table)) == CS_OK &&
        (status = pick_number(&table, path, &r, 0, r.minus, &out->value, &out->se)) == CS_OK &&
        r.minus < r.words) {
        status = pick_number(&table, path, &r, r.minus, r.words, &other, &other_se);
    }
    if (status == CS_OK) {
        out->value -= other;
        out->se = hypot(out->se, other_se);
        out->freedom = r.freedom;
        out->models = r.pair ? 2 : 1;
    }
    cs_table_free(&table);
    cs_free(path);
    cs_free(text);
    return status;
}

/* --- verdicts --- */

static double square(double x)
{
    return x * x;
}

/* Welch and Satterthwaite; the share of a term without error is 0. */
static double freedom_of(const cs_claim *c, double seeds)
{
    const double part[] = {square(c->left.se), square(c->right.se), seeds};
    const double freedom[] = {c->left.freedom, c->right.freedom, (double)c->pairs};
    double sum = 0, below = 0;
    for (int i = 0; i < 3; ++i) {
        sum += part[i];
        below += part[i] > 0 ? square(part[i]) / freedom[i] : 0;
    }
    return below > 0 ? square(sum) / below : INFINITY;
}

static double critical_value(double freedom)
{
    enum { AS_GOOD_AS_NORMAL = 10000 };
    return freedom > AS_GOOD_AS_NORMAL ? 1.959963984540054
           : freedom < 1               ? cs_student_width(0.95, 1)
                                       : cs_student_width(0.95, (int64_t)freedom);
}

static void compare(cs_claim *c)
{
    double variance = 0;
    for (int64_t i = 0; i < c->pairs; ++i) {
        variance += square(c->runs[i].value[0] - c->runs[i].value[1]) / (2.0 * (double)c->pairs);
    }
    c->seeds = c->pairs > 0 ? sqrt(variance) : (double)NAN;
    double seeds = (c->left.models + c->right.models) * variance;
    double d = c->difference = c->left.value - c->right.value;
    c->se = sqrt(square(c->left.se) + square(c->right.se) + seeds);
    c->verdict = CS_CLAIM_OPEN;
    if (isnan(d) || isnan(c->se)) {
        c->why = isnan(d) ? "a side has no value" : "a side has no standard error";
        return;
    }
    c->critical = critical_value(freedom_of(c, seeds));
    bool wanted = *c->want == '>' ? d > 0 : d < 0;
    if (fabs(d) <= c->critical * c->se) {
        c->why = d == 0 ? "both sides are equal" : "the difference is within its interval";
    } else {
        c->verdict = wanted ? CS_CLAIM_AGREES : CS_CLAIM_DISAGREES;
        c->why =
            wanted ? "the difference has the sign claimed" : "the difference has the other sign";
    }
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void judge_statement(const json_t *s, cs_claim *c)
{
    bool pass = strcmp(c->found, "PASS") == 0, assumed = true;
    size_t i;
    json_t *assumption;
    json_array_foreach(json_object_get(s, "assumptions"), i, assumption)
    {
        assumed = assumed && !json_is_false(json_object_get(assumption, "holds"));
    }
    bool printed = strcmp(text_of(s, "form"), "printed") == 0;
    c->verdict = pass && (assumed || !printed)   ? CS_CLAIM_AGREES
                 : strcmp(c->found, "FAIL") == 0 ? CS_CLAIM_DISAGREES
                                                 : CS_CLAIM_OPEN;
    c->why = pass && printed && !assumed ? "it holds where its assumptions do not"
                                         : "the verdict of the audit";
}

/* The statement of this id and form, NULL when there is none. */
static const json_t *find_statement(const json_t *json, const char *id, const char *form)
{
    size_t i;
    json_t *s;
    json_array_foreach(json_object_get(json, "statements"), i, s)
    {
        if (strcmp(text_of(s, "id"), id) == 0 && strcmp(text_of(s, "form"), form) == 0) {
            return s;
        }
    }
    return NULL;
}

static cs_status measure_statement(const char *dir, cs_claim *c)
{
    char *words = cs_strdup(c->statement), *save = NULL, *path = NULL;
    char *step = words ? strtok_r(words, " \t", &save) : NULL;
    char *id = step ? strtok_r(NULL, " \t", &save) : NULL;
    char *form = id ? strtok_r(NULL, " \t", &save) : NULL;
    json_t *json = NULL;
    cs_status status = words ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !form) {
        status = cs_fail(CS_ERR_INPUT, "want statement STEP ID FORM, got \"%s\"", c->statement);
    }
    if (status == CS_OK) {
        path = cs_format("%s/%s/statements.json", dir, step);
        status = path ? cs_json_read(path, &json) : CS_ERR_MEMORY;
    }
    const json_t *s = status == CS_OK ? find_statement(json, id, form) : NULL;
    if (status == CS_OK && !s) {
        status = cs_fail(CS_ERR_INPUT, "%s: no %s statement %s", path, form, id);
    }
    if (status == CS_OK) {
        c->found = cs_strdup(text_of(s, "verdict"));
        status = c->found ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        judge_statement(s, c);
    }
    json_decref(json);
    cs_free(path);
    cs_free(words);
    return status;
}

/* Whether the difference has its sign beyond the error of its two sides. */
static bool is_met(const cs_claim_need *need)
{
    cs_claim two = {.left = need->left, .right = need->right};
    double d = need->left.value - need->right.value;
    double margin = critical_value(freedom_of(&two, 0)) * hypot(need->left.se, need->right.se);
    return need->want == '>' ? d > margin : d < -margin;
}

static cs_status check_needs(const char *dir, cs_claim *c)
{
    for (int64_t i = 0; i < c->needs; ++i) {
        cs_claim_need *need = &c->need[i];
        cs_claim_side *sides[] = {&need->left, &need->right};
        for (int s = 0; s < 2; ++s) {
            cs_status status = sides[s]->path
                                   ? measure(dir, sides[s]->path, sides[s]->pick, true, sides[s])
                                   : CS_OK;
            if (status != CS_OK) {
                return status;
            }
        }
        if (!c->unmet && !is_met(need)) {
            const char *relation = need->want == '>' ? "above" : "below";
            c->unmet = need->right.path ? cs_format("%s (%.3g) is not %s %s (%.3g)",
                                                    need->left.label, need->left.value, relation,
                                                    need->right.label, need->right.value)
                                        : cs_format("%s (%.3g) is not %s %s", need->left.label,
                                                    need->left.value, relation, need->right.label);
            if (!c->unmet) {
                return CS_ERR_MEMORY;
            }
            c->verdict = CS_CLAIM_OPEN;
            c->why = c->unmet;
        }
    }
    return CS_OK;
}

static cs_status measure_sides(const char *dir, cs_claim *c)
{
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        cs_claim_side *side = i == 0 ? &c->left : &c->right;
        status = side->path ? measure(dir, side->path, side->pick, true, side) : CS_OK;
    }
    for (int64_t i = 0; i < 2 * c->pairs && status == CS_OK; ++i) {
        cs_claim_runs *runs = &c->runs[i / 2];
        cs_claim_side run = {0};
        status = measure(dir, runs->path[i % 2], runs->pick, false, &run);
        runs->value[i % 2] = run.value;
    }
    if (status == CS_OK) {
        compare(c);
        status = check_needs(dir, c);
    }
    return status;
}

cs_status cs_claims_measure(const cs_study *study, cs_claims *claims)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        cs_claim *c = &claims->claim[i];
        status =
            cs_blame(c->statement ? measure_statement(study->dir, c) : measure_sides(study->dir, c),
                     "claim %s", c->name);
        if (study->scale && c->not_at && strcmp(study->scale, c->not_at) == 0) {
            c->verdict = CS_CLAIM_OPEN;
            c->why = "this scale is too small to tell";
        }
    }
    return status;
}

/* --- writing --- */

const char *cs_claim_verdict_name(cs_claim_verdict verdict)
{
    return verdict == CS_CLAIM_AGREES      ? "agree"
           : verdict == CS_CLAIM_DISAGREES ? "disagree"
                                           : "cannot tell";
}

static cs_status write_side(cs_table *table, const char *const column[3], const cs_claim_side *side)
{
    cs_status status = cs_table_text(table, column[0], side->label);
    if (status == CS_OK && (status = cs_table_real(table, column[1], side->value)) == CS_OK) {
        status = cs_table_real(table, column[2], side->se);
    }
    return status;
}

static cs_status write_measured(cs_table *table, const cs_claim *c)
{
    static const char *const left[] = {"left", "left_value", "left_se"};
    static const char *const right[] = {"right", "right_value", "right_se"};
    if (c->statement) {
        cs_status status = cs_table_text(table, "left", c->statement);
        return status == CS_OK ? cs_table_text(table, "right", c->found) : status;
    }
    cs_status status = write_side(table, left, &c->left);
    if (status == CS_OK && (status = write_side(table, right, &c->right)) == CS_OK &&
        (status = cs_table_text(table, "want", c->want)) == CS_OK &&
        (status = cs_table_real(table, "seeds", c->seeds)) == CS_OK &&
        (status = cs_table_real(table, "critical", c->critical)) == CS_OK &&
        (status = cs_table_real(table, "difference", c->difference)) == CS_OK) {
        status = cs_table_real(table, "se", c->se);
    }
    return status;
}

static cs_status write_claim(cs_table *table, const cs_claim *c)
{
    const char *const text[][2] = {
        {"claim", c->name}, {"source", c->source},
        {"says", c->says},  {"verdict", cs_claim_verdict_name(c->verdict)},
        {"why", c->why},    {"scope", c->scope}};
    cs_status status = cs_table_row(table);
    for (size_t i = 0; i < sizeof text / sizeof *text && status == CS_OK; ++i) {
        status = cs_table_text(table, text[i][0], text[i][1]);
    }
    return status == CS_OK ? write_measured(table, c) : status;
}

cs_status cs_claims_write(const cs_claims *claims, const char *path)
{
    cs_table table = {0};
    cs_status status =
        cs_table_init(&table, "claim,source,says,left,left_value,left_se,want,right,right_value,"
                              "right_se,seeds,difference,se,critical,verdict,why,scope");
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        status = write_claim(&table, &claims->claim[i]);
    }
    if (status == CS_OK) {
        status = cs_table_write_csv(&table, path);
    }
    cs_table_free(&table);
    return status;
}
