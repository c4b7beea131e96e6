/* Claims files. */
#include "cli/claims.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/number.h"

enum { CLAIMS_LIMIT = 1 << 20 };

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
    for (int64_t i = 0; i < c->pairs; ++i) {
        cs_free(c->runs[i].label);
        cs_free(c->runs[i].path[0]);
        cs_free(c->runs[i].path[1]);
        cs_free(c->runs[i].pick);
    }
    cs_free(c->runs);
    for (int64_t i = 0; i < c->needs; ++i) {
        side_free(&c->need[i].left);
        side_free(&c->need[i].right);
    }
    cs_free(c->need);
    cs_free(c->unmet);
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

/* The first word of *text, cut off it. */
static char *take_word(char **text)
{
    char *word = *text;
    size_t length = strcspn(word, " \t");
    char *rest = word + length + strspn(word + length, " \t");
    word[length] = '\0';
    *text = rest;
    return word;
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
    char *rest = trimmed(bar + 1), *file = take_word(&rest);
    cs_status status = keep(&side->label, key, trimmed(text));
    if (status == CS_OK && (status = keep(&side->pick, key, rest)) == CS_OK) {
        status = keep(&side->path, key, file);
    }
    return status;
}

/* LABEL | FILE FILE WORD... */
static cs_status read_runs(cs_claim *c, char *text)
{
    char *bar = strchr(text, '|');
    if (!bar) {
        return cs_fail(CS_ERR_INPUT, "runs: want LABEL | FILE FILE COLUMN ..., got \"%s\"", text);
    }
    cs_claim_runs *longer = cs_realloc(c->runs, c->pairs + 1, sizeof *longer);
    if (!longer) {
        return CS_ERR_MEMORY;
    }
    c->runs = longer;
    cs_claim_runs *runs = &longer[c->pairs++];
    *runs = (cs_claim_runs){0};
    *bar = '\0';
    char *rest = trimmed(bar + 1), *one = take_word(&rest), *two = take_word(&rest);
    cs_status status = keep(&runs->label, "runs", trimmed(text));
    if (status == CS_OK && (status = keep(&runs->path[0], "runs", one)) == CS_OK &&
        (status = keep(&runs->path[1], "runs", two)) == CS_OK) {
        status = keep(&runs->pick, "runs", rest);
    }
    return status;
}

/* SIDE > SIDE, or < */
static cs_status read_need(cs_claim *c, char *text)
{
    char *sign = strstr(text, " > ");
    sign = sign ? sign : strstr(text, " < ");
    if (!sign) {
        return cs_fail(CS_ERR_INPUT, "needs: want SIDE > SIDE or SIDE < SIDE, got \"%s\"", text);
    }
    cs_claim_need *longer = cs_realloc(c->need, c->needs + 1, sizeof *longer);
    if (!longer) {
        return CS_ERR_MEMORY;
    }
    c->need = longer;
    cs_claim_need *need = &longer[c->needs++];
    *need = (cs_claim_need){.want = sign[1]};
    *sign = '\0';
    cs_status status = read_side(&need->left, "needs", trimmed(text));
    return status == CS_OK ? read_side(&need->right, "needs", trimmed(sign + 3)) : status;
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
    return strcmp(line, "left") == 0    ? read_side(&c->left, line, rest)
           : strcmp(line, "right") == 0 ? read_side(&c->right, line, rest)
           : strcmp(line, "runs") == 0  ? read_runs(c, rest)
           : strcmp(line, "needs") == 0 ? read_need(c, rest)
                                        : cs_fail(CS_ERR_INPUT, "unknown key \"%s\"", line);
}

/* What a whole block must have. */
static cs_status check(const cs_claim *c)
{
    bool sides = c->left.label || c->right.label || c->want || c->pairs > 0 || c->needs > 0;
    if (!c->source || !c->says || !c->scope) {
        return cs_fail(CS_ERR_INPUT, "claim %s lacks source, says or scope", c->name);
    }
    if (c->statement ? sides : !(c->left.label && c->right.label && c->want)) {
        return cs_fail(CS_ERR_INPUT, "claim %s: want either left, want and right, or statement",
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
    longer[claims->count] = (cs_claim){.seeds = NAN, .difference = NAN, .se = NAN, .critical = NAN};
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
