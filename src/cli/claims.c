/* Claims files, and the verdicts on them. */
#include "cli/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/table_pick.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"

enum { CLAIMS_LIMIT = 1 << 20, MOST_WORDS = 24 };

static void side_free(cs_claim_side *side)
{
    cs_free(side->label);
    cs_free(side->path);
    cs_free(side->pick);
}

static void claim_free(cs_claim *c)
{
    cs_free(c->name);
    cs_free(c->source);
    cs_free(c->says);
    cs_free(c->scope);
    cs_free(c->not_at);
    cs_free(c->statement);
    cs_free(c->want);
    cs_free(c->found);
    side_free(&c->left);
    side_free(&c->right);
    side_free(&c->seed_one);
    side_free(&c->seed_two);
}

void cs_claims_free(cs_claims *claims)
{
    for (int64_t i = 0; i < claims->count; ++i) {
        claim_free(&claims->claim[i]);
    }
    cs_free(claims->claim);
    *claims = (cs_claims){0};
}

/* --- reading --- */

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); --n) {
        text[n - 1] = '\0';
    }
    return text;
}

static cs_status keep(char **out, const char *key, const char *text)
{
    if (*out) {
        return cs_fail(CS_ERR_INPUT, "%s is given twice", key);
    }
    if (*text == '\0') {
        return cs_fail(CS_ERR_INPUT, "%s without a value", key);
    }
    *out = cs_strdup(text);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* NUMBER, or LABEL | STEP/FILE.csv WORD... */
static cs_status read_side(cs_claim_side *side, const char *key, char *text)
{
    char *bar = strchr(text, '|');
    if (!bar) {
        if (!cs_real_scan(text, &side->value)) {
            return cs_fail(CS_ERR_INPUT, "%s: want a number or LABEL | FILE COLUMN ..., got \"%s\"",
                           key, text);
        }
        return keep(&side->label, key, text);
    }
    *bar = '\0';
    char *file = trimmed(bar + 1);
    size_t length = strcspn(file, " \t");
    char *rest = trimmed(file + length);
    cs_status status = keep(&side->label, key, trimmed(text));
    if (status == CS_OK && (status = keep(&side->pick, key, rest)) == CS_OK) {
        file[length] = '\0';
        status = keep(&side->path, key, file);
    }
    return status;
}

static cs_status read_line(cs_claim *c, char *line)
{
    size_t length = strcspn(line, " \t");
    char *rest = trimmed(line + length);
    line[length] = '\0';
    const struct {
        const char *key;
        char **to;
    } texts[] = {{"source", &c->source},       {"says", &c->says}, {"scope", &c->scope},
                 {"statement", &c->statement}, {"want", &c->want}, {"not-at", &c->not_at}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (strcmp(line, texts[i].key) == 0) {
            return keep(texts[i].to, line, rest);
        }
    }
    const struct {
        const char *key;
        cs_claim_side *to;
    } sides[] = {{"left", &c->left},
                 {"right", &c->right},
                 {"seed-one", &c->seed_one},
                 {"seed-two", &c->seed_two}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; ++i) {
        if (strcmp(line, sides[i].key) == 0) {
            return read_side(sides[i].to, line, rest);
        }
    }
    return cs_fail(CS_ERR_INPUT, "unknown key \"%s\"", line);
}

/* What a whole block must have. */
static cs_status check(const cs_claim *c)
{
    bool sides = c->left.label || c->right.label || c->want;
    if (!c->source || !c->says || !c->scope) {
        return cs_fail(CS_ERR_INPUT, "claim %s lacks source, says or scope", c->name);
    }
    if (c->statement ? sides : !(c->left.label && c->right.label && c->want)) {
        return cs_fail(CS_ERR_INPUT, "claim %s: want either left, want and right, or statement",
                       c->name);
    }
    if (!c->seed_one.label != !c->seed_two.label || (c->statement && c->seed_one.label)) {
        return cs_fail(CS_ERR_INPUT, "claim %s: seed-one and seed-two go together, with two sides",
                       c->name);
    }
    return c->statement || strcmp(c->want, ">") == 0 || strcmp(c->want, "<") == 0
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "claim %s: want > or <, got \"%s\"", c->name, c->want);
}

static cs_status start(cs_claims *claims, const char *name)
{
    for (int64_t i = 0; i < claims->count; ++i) {
        if (strcmp(claims->claim[i].name, name) == 0) {
            return cs_fail(CS_ERR_INPUT, "claim %s appears twice", name);
        }
    }
    cs_claim *longer = cs_realloc(claims->claim, claims->count + 1, sizeof *longer);
    if (!longer) {
        return CS_ERR_MEMORY;
    }
    claims->claim = longer;
    longer[claims->count] = (cs_claim){.difference = NAN, .se = NAN};
    claims->count += 1;
    return keep(&longer[claims->count - 1].name, "claim", name);
}

/* One line; *open: a block has begun and is not checked yet. */
static cs_status take_line(cs_claims *claims, char *line, bool *open)
{
    line = trimmed(line);
    if (*line == '#') {
        return CS_OK;
    }
    bool begins = strncmp(line, "claim ", 6) == 0;
    cs_status status = CS_OK;
    if (*open && (*line == '\0' || begins)) {
        *open = false;
        status = check(&claims->claim[claims->count - 1]);
    }
    if (status != CS_OK || *line == '\0') {
        return status;
    }
    if (begins) {
        *open = true;
        return start(claims, trimmed(line + 6));
    }
    return *open ? read_line(&claims->claim[claims->count - 1], line)
                 : cs_fail(CS_ERR_INPUT, "\"%s\" stands in no claim", line);
}

cs_status cs_claims_read(const char *path, const cs_study *study, cs_claims *out)
{
    char *text = NULL;
    int64_t size = 0, number = 0;
    bool open = false;
    *out = (cs_claims){0};
    cs_status status = cs_file_read(path, CLAIMS_LIMIT, &text, &size);
    char *line = text;
    while (status == CS_OK && line) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        char *whole = NULL;
        status = cs_study_substitute(study, line, &whole);
        if (status == CS_OK) {
            status = take_line(out, whole, &open);
        }
        status = cs_blame(status, "%s:%lld", path, (long long)++number);
        cs_free(whole);
        line = end ? end + 1 : NULL;
    }
    if (status == CS_OK && open) {
        status = cs_blame(check(&out->claim[out->count - 1]), "%s", path);
    }
    cs_free(text);
    if (status != CS_OK) {
        cs_claims_free(out);
    }
    return status;
}

/* --- measuring --- */

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

/* Takes `se=COLUMN` and `exact` out of the words; returns how many are left. */
static int own_words(int words, char **word, const char **se, bool *exact)
{
    int left = 0;
    for (int i = 0; i < words; ++i) {
        if (strncmp(word[i], "se=", 3) == 0) {
            *se = word[i] + 3;
        } else if (strcmp(word[i], "exact") == 0) {
            *exact = true;
        } else {
            word[left++] = word[i];
        }
    }
    return left;
}

static cs_status measure_side(const char *dir, cs_claim_side *side)
{
    if (!side->path) {
        return CS_OK;
    }
    char *path = cs_path_join(dir, side->path), *pick_text = cs_strdup(side->pick);
    char *word[MOST_WORDS], *save = NULL;
    int words = 0;
    cs_table table = {0};
    cs_pick pick;
    int64_t row;
    const char *se = "se";
    bool exact = false;
    cs_status status = path && pick_text ? cs_table_read_csv(path, &table) : CS_ERR_MEMORY;
    for (char *w = pick_text ? strtok_r(pick_text, " \t", &save) : NULL; w && words < MOST_WORDS;
         w = strtok_r(NULL, " \t", &save)) {
        word[words++] = w;
    }
    if (status == CS_OK) {
        int left = own_words(words - 1, word + 1, &se, &exact);
        status = cs_pick_parse(&table, path, left, word + 1, &pick);
    }
    if (status == CS_OK && (status = cs_pick_first(&pick, &table, path, &row)) == CS_OK &&
        (status = cell_number(&table, path, row, word[0], &side->value)) == CS_OK && !exact) {
        status = cell_number(&table, path, row, se, &side->se);
    }
    cs_table_free(&table);
    cs_free(path);
    cs_free(pick_text);
    return status;
}

static void compare(cs_claim *c)
{
    double d = c->left.value - c->right.value;
    double e = hypot(hypot(c->left.se, c->right.se), c->seed_one.value - c->seed_two.value);
    bool wanted = *c->want == '>' ? d > 0 : d < 0;
    c->difference = d;
    c->se = e;
    c->verdict = CS_CLAIM_OPEN;
    if (isnan(d) || isnan(e)) {
        c->why = isnan(d) ? "a side has no value" : "a side has no standard error";
    } else if (fabs(d) <= 1.96 * e) {
        c->why = "the difference is within 1.96 standard errors";
    } else if (d == 0) {
        c->why = "both sides are equal";
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
    size_t i;
    json_t *s;
    json_array_foreach(json_object_get(json, "statements"), i, s)
    {
        if (!c->found && strcmp(text_of(s, "id"), id) == 0 &&
            strcmp(text_of(s, "form"), form) == 0) {
            c->found = cs_strdup(text_of(s, "verdict"));
        }
    }
    if (status == CS_OK && !c->found) {
        status = cs_fail(CS_ERR_INPUT, "%s: no %s statement %s", path, form, id);
    }
    if (status == CS_OK) {
        c->verdict = strcmp(c->found, "PASS") == 0   ? CS_CLAIM_AGREES
                     : strcmp(c->found, "FAIL") == 0 ? CS_CLAIM_DISAGREES
                                                     : CS_CLAIM_OPEN;
        c->why = "the verdict of the audit";
    }
    json_decref(json);
    cs_free(path);
    cs_free(words);
    return status;
}

cs_status cs_claims_measure(const cs_study *study, cs_claims *claims)
{
    const char *dir = study->dir, *scale = study->scale;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        cs_claim *c = &claims->claim[i];
        if (c->statement) {
            status = measure_statement(dir, c);
        } else if ((status = measure_side(dir, &c->left)) == CS_OK &&
                   (status = measure_side(dir, &c->right)) == CS_OK &&
                   (status = measure_side(dir, &c->seed_one)) == CS_OK &&
                   (status = measure_side(dir, &c->seed_two)) == CS_OK) {
            compare(c);
        }
        if (scale && c->not_at && strcmp(scale, c->not_at) == 0) {
            c->verdict = CS_CLAIM_OPEN;
            c->why = "this scale is too small to tell";
        }
        status = cs_blame(status, "claim %s", c->name);
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
        (status = cs_table_real(table, "seeds",
                                c->seed_one.label ? c->seed_one.value - c->seed_two.value : NAN)) ==
            CS_OK &&
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
                              "right_se,seeds,difference,se,verdict,why,scope");
    for (int64_t i = 0; i < claims->count && status == CS_OK; ++i) {
        status = write_claim(&table, &claims->claim[i]);
    }
    if (status == CS_OK) {
        status = cs_table_write_csv(&table, path);
    }
    cs_table_free(&table);
    return status;
}
