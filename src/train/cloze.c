#include "train/cloze.h"

#include <string.h>

#include "base/mem.h"
#include "text/encoder.h"

typedef struct {
    cs_cloze *cloze;
    cs_encoder encoder;
    int64_t capacity;
    int32_t unknown; /* the tokenizer's word for words that it lacks */
} work;

static cs_status add_token(work *w, int32_t token)
{
    cs_cloze *c = w->cloze;
    cs_status status = cs_reserve(&c->piece, &w->capacity, c->pieces + 1, sizeof *c->piece);
    if (status == CS_OK) c->piece[c->pieces++] = (cs_text_piece){token, 0};
    return status;
}

/* --- the template ----------------------------------------------------------------------------- */

static const char *const MARK[] = {"{1}", "{2}", "{mask}"};
enum { MARKS = sizeof MARK / sizeof *MARK, GAP = 2 };

/* The mark that `text` begins with, MARKS: none. */
static int mark_at(const char *text)
{
    int m = 0;
    while (m < MARKS && strncmp(text, MARK[m], strlen(MARK[m])) != 0) {
        ++m;
    }
    return m;
}

static cs_status add_words(work *w, const char *text, size_t length)
{
    cs_status status =
        length > 0 ? cs_encoder_encode(&w->encoder, text, (int64_t)length, false) : CS_OK;
    for (int64_t i = 0; length > 0 && i < w->encoder.count && status == CS_OK; ++i) {
        status = add_token(w, w->encoder.id[i]);
    }
    return status;
}

static cs_status add_mark(work *w, int mark, int32_t mask)
{
    if (mark < GAP) {
        return add_token(w, mark == 0 ? CS_TEXT_FIRST : CS_TEXT_SECOND);
    }
    w->cloze->gap = mask < 0 ? -1 : w->cloze->pieces;
    return mask < 0 ? CS_OK : add_token(w, mask);
}

static cs_status read_template(work *w, const char *pattern, bool pair, int32_t mask)
{
    int found[MARKS + 1] = {0};
    const char *at = pattern;
    cs_status status = CS_OK;
    while (*at && status == CS_OK) {
        size_t length = 0;
        while (at[length] && mark_at(at + length) == MARKS) {
            ++length;
        }
        status = add_words(w, at, length);
        at += length;
        const int mark = *at ? mark_at(at) : MARKS;
        if (mark < MARKS) {
            ++found[mark];
            at += strlen(MARK[mark]);
            if (status == CS_OK) status = add_mark(w, mark, mask);
        }
    }
    for (int m = 0; m < MARKS && status == CS_OK; ++m) {
        const int want = m != 1 || pair;
        if (found[m] != want)
            status = cs_fail(CS_ERR_USAGE,
                             "--template '%s' contains %s %d times; for %s it must contain it %s",
                             pattern, MARK[m], found[m], pair ? "a pair" : "a single text",
                             want ? "once" : "not at all");
    }
    const size_t length = strlen(pattern), gap = strlen(MARK[GAP]);
    if (status == CS_OK && mask < 0 && strcmp(pattern + length - gap, MARK[GAP]) != 0)
        status = cs_fail(CS_ERR_USAGE, "--template '%s': for a causal model {mask} must come last",
                         pattern);
    return status;
}

/* --- the verbalisers -------------------------------------------------------------------------- */

static cs_status take_word(work *w, const char *item, size_t length, const cs_labelled_text *text)
{
    const char *equals = memchr(item, '=', length);
    const size_t name = equals ? (size_t)(equals - item) : length;
    int64_t c = 0;
    while (c < text->classes &&
           (strlen(text->class_name[c]) != name || strncmp(text->class_name[c], item, name) != 0)) {
        ++c;
    }
    if (!equals || c == text->classes) {
        return cs_fail(CS_ERR_USAGE, "--verbalisers: '%.*s' is not CLASS=WORD with a class of %s",
                       (int)length, item, text->path);
    }
    const char *word = equals + 1;
    const int64_t size = (int64_t)(length - name - 1);
    cs_status status = cs_encoder_encode(&w->encoder, word, size, false);
    if (status != CS_OK) return status;
    if (size == 0 || w->encoder.count != 1) {
        return cs_fail(
            CS_ERR_USAGE,
            "--verbalisers: '%.*s' has %lld tokens in this model, but a word must be one token",
            (int)size, word, (long long)(size == 0 ? 0 : w->encoder.count));
    }
    if (w->encoder.id[0] == w->unknown) {
        return cs_fail(CS_ERR_USAGE, "--verbalisers: the model has no token '%.*s'", (int)size,
                       word);
    }
    for (int64_t i = 0; i < text->classes; ++i) {
        if (w->cloze->token[i] == w->encoder.id[0]) {
            return cs_fail(CS_ERR_USAGE, "--verbalisers: '%.*s' has the same token as %s",
                           (int)size, word, text->class_name[i]);
        }
    }
    if (w->cloze->token[c] >= 0) {
        return cs_fail(CS_ERR_USAGE, "--verbalisers: %s has two words", text->class_name[c]);
    }
    w->cloze->token[c] = w->encoder.id[0];
    return CS_OK;
}

static cs_status read_verbalisers(work *w, const char *list, const cs_labelled_text *text)
{
    cs_status status = CS_OK;
    if (text->classes < 2) {
        return cs_fail(CS_ERR_USAGE, "--template needs classes, and %s has %lld", text->path,
                       (long long)text->classes);
    }
    w->cloze->classes = text->classes;
    w->cloze->token = cs_alloc(text->classes, sizeof *w->cloze->token);
    if (!w->cloze->token) return CS_ERR_MEMORY;
    memset(w->cloze->token, -1, (size_t)text->classes * sizeof *w->cloze->token);
    for (const char *at = list; *at && status == CS_OK;) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, ",");
        status = take_word(w, at, length, text);
        at += length + (at[length] == ',');
    }
    for (int64_t c = 0; c < text->classes && status == CS_OK; ++c) {
        if (w->cloze->token[c] < 0)
            status = cs_fail(CS_ERR_USAGE, "--verbalisers: no word is given for class %s",
                             text->class_name[c]);
    }
    return status;
}

cs_status cs_cloze_read(const char *pattern, const char *verbalisers, const cs_tokenizer *tokenizer,
                        const cs_labelled_text *text, int32_t mask, cs_cloze *out)
{
    cs_cloze c = {.gap = -1};
    work w = {.cloze = &c, .unknown = cs_tokenizer_special(tokenizer, CS_TOKEN_UNK)};
    cs_encoder_init(&w.encoder, tokenizer);
    cs_status status = read_template(&w, pattern, text->pair != NULL, mask);
    if (status == CS_OK) status = read_verbalisers(&w, verbalisers, text);
    cs_encoder_free(&w.encoder);
    return CS_DELIVER(status, out, c, cs_cloze_free);
}

void cs_cloze_free(cs_cloze *cloze)
{
    CS_FREE_FIELDS(cloze, piece, token);
    *cloze = (cs_cloze){0};
}
