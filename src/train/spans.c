#include "train/spans.h"

#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "text/encoder.h"
#include "text/pretokenize.h"
#include "text/unicode.h"

typedef struct {
    cs_spans *spans;
    const cs_tokenizer *tokenizer;
    const cs_spans_options *options;
    cs_text_form form;
    cs_encoder encoder;
    int32_t *id; /* of all contexts, one behind the other */
    int32_t *question;
    int64_t id_capacity, place_capacity, question_capacity, questions;
    int64_t window_capacity, start_capacity, span_capacity, token_capacity, type_capacity;
} work;

/* --- contexts --------------------------------------------------------------------------------- */

static cs_status keep(work *w, int64_t at, int64_t count, const int32_t *id)
{
    cs_status status = cs_reserve(&w->id, &w->id_capacity, at + count, sizeof *w->id);
    if (status == CS_OK)
        status =
            cs_reserve(&w->spans->place, &w->place_capacity, at + count, sizeof *w->spans->place);
    if (status == CS_OK && count > 0) memcpy(w->id + at, id, (size_t)count * sizeof *id);
    return status;
}

/* Without white space at its ends. */
static cs_span trimmed(const char *text, cs_span s)
{
    const uint8_t *begin = (const uint8_t *)text + s.from, *end = (const uint8_t *)text + s.to;
    int32_t c = 0;
    while (begin < end && (*begin & 0xC0) != 0x80) {
        const int n = cs_char_at(begin, &c);
        if (!cs_char_is_space(c)) {
            break;
        }
        begin += n;
    }
    return (cs_span){cs_least((const char *)begin - text, s.to), s.to};
}

/* Each character of a token's spelling is a byte of the text, or of a blank put before it. *all: they
 * are all of it. */
static cs_status bytes_of_tokens(work *w, const char *text, int64_t at, int64_t *count, bool *all)
{
    const int64_t size = (int64_t)strlen(text);
    cs_status status = cs_encoder_encode(&w->encoder, text, size, false);
    if (status == CS_OK) status = keep(w, at, w->encoder.count, w->encoder.id);
    if (status != CS_OK) return status;
    int64_t byte = 0;
    *count = w->encoder.count;
    for (int64_t i = 0; i < *count; ++i) {
        cs_span s = {byte, byte};
        for (const char *c = cs_tokenizer_token(w->tokenizer, w->id[at + i]); *c; ++c) {
            s.to += ((unsigned char)*c & 0xC0) != 0x80;
        }
        w->spans->place[at + i] = s;
        byte = s.to;
    }
    const int64_t blank = byte - size;
    *all = blank == 0 || blank == 1;
    for (int64_t i = at; i < at + *count && *all; ++i) {
        const cs_span s = w->spans->place[i];
        w->spans->place[i] =
            trimmed(text, (cs_span){cs_most(s.from - blank, 0), cs_most(s.to - blank, 0)});
    }
    return CS_OK;
}

/* The next word from *at on, behind white space. */
static cs_span next_word(const char *text, bool marks, int64_t *at)
{
    const uint8_t *begin = (const uint8_t *)text, *now = begin + *at, *end = begin + strlen(text);
    cs_span s = {*at, *at};
    if (marks) {
        const int64_t n = cs_bert_piece(&now, end);
        s = (cs_span){now - begin - n, now - begin};
    } else {
        int32_t c = 0;
        const uint8_t *from = NULL;
        for (int n; now < end; now += n) {
            n = cs_char_at(now, &c);
            const bool space = cs_char_is_space(c);
            if (space && from) {
                break;
            }
            from = !space && !from ? now : from;
        }
        s = (cs_span){(from ? from : now) - begin, now - begin};
    }
    *at = s.to;
    return s;
}

static cs_status words_apart(work *w, const char *text, bool marks, int64_t at, int64_t *count)
{
    cs_status status = CS_OK;
    *count = 0;
    for (int64_t byte = 0; status == CS_OK;) {
        const cs_span s = next_word(text, marks, &byte);
        if (s.to == s.from) {
            break;
        }
        status = cs_encoder_encode(&w->encoder, text + s.from, s.to - s.from, false);
        const int64_t n = w->encoder.count;
        if (status == CS_OK) status = keep(w, at + *count, n, w->encoder.id);
        for (int64_t i = 0; i < n && status == CS_OK; ++i) {
            w->spans->place[at + *count + i] = s;
        }
        *count += status == CS_OK ? n : 0;
    }
    return status;
}

/* Ids and bytes of a context, which begin at `at` of all. */
static cs_status encode_context(work *w, const char *text, int64_t at, int64_t *count)
{
    bool all = false;
    cs_status status = cs_tokenizer_is_byte_level(w->tokenizer)
                           ? bytes_of_tokens(w, text, at, count, &all)
                           : CS_OK;
    if (status != CS_OK || all) return status;
    status = words_apart(w, text, true, at, count);
    if (status == CS_OK)
        status = cs_encoder_encode(&w->encoder, text, (int64_t)strlen(text), false);
    if (status != CS_OK) return status;
    const bool same = w->encoder.count == *count &&
                      memcmp(w->encoder.id, w->id + at, (size_t)*count * sizeof *w->id) == 0;
    return same ? CS_OK : words_apart(w, text, false, at, count);
}

/* --- windows ---------------------------------------------------------------------------------- */

static cs_status encode_question(work *w, const char *text)
{
    cs_status status = cs_encoder_encode(&w->encoder, text, (int64_t)strlen(text), false);
    w->questions = cs_least(w->encoder.count, w->options->max_question);
    if (status == CS_OK)
        status =
            cs_reserve(&w->question, &w->question_capacity, w->questions + 1, sizeof *w->question);
    if (status == CS_OK && w->questions > 0)
        memcpy(w->question, w->encoder.id, (size_t)w->questions * sizeof *w->question);
    return status;
}

/* Tokens of all contexts that the answer has bytes of; *to is behind the last. */
static void tokens_of(const cs_spans *s, int64_t context, const cs_squad_answer *a, int64_t *from,
                      int64_t *to)
{
    const int64_t end = a->from + (int64_t)strlen(a->text);
    *from = *to = -1;
    for (int64_t i = s->start[context]; i < s->start[context + 1]; ++i) {
        const cs_span p = s->place[i];
        if (cs_most(p.from, a->from) < cs_least(p.to, end)) {
            *from = *from < 0 ? i : *from;
            *to = i + 1;
        }
    }
}

/* The window of `tokens` tokens from `token` on; [from, to): the answer's, from < 0: none. */
static cs_status add_window(work *w, int64_t question, int64_t token, int64_t tokens, int64_t from,
                            int64_t to)
{
    cs_texts *t = &w->spans->texts;
    const int64_t n = t->count, rows = w->questions + tokens + w->form.count;
    int64_t at = n > 0 ? t->start[n] : 0;
    cs_span_window window = {.question = question, .tokens = tokens, .token = token};
    cs_status status = cs_reserve(&t->start, &w->start_capacity, n + 2, sizeof *t->start);
    if (status == CS_OK)
        status = cs_reserve(&t->span, &w->span_capacity, 2 * n + 2, sizeof *t->span);
    if (status == CS_OK)
        status = cs_reserve(&w->spans->window, &w->window_capacity, n + 1, sizeof window);
    if (status == CS_OK)
        status = cs_reserve(&t->token, &w->token_capacity, at + rows, sizeof *t->token);
    if (status == CS_OK)
        status = cs_reserve(&t->type, &w->type_capacity, at + rows, sizeof *t->type);
    if (status != CS_OK) return status;
    t->start[n] = at;
    for (int64_t p = 0; p < w->form.count; ++p) {
        const cs_text_piece *piece = &w->form.piece[p];
        const bool first = piece->token == CS_TEXT_FIRST, second = piece->token == CS_TEXT_SECOND;
        const int32_t *id = first ? w->question : second ? w->id + token : &piece->token;
        window.first = second ? at - t->start[n] : window.first;
        for (int64_t k = first ? w->questions : second ? tokens : 1; k > 0; --k) {
            t->token[at] = *id++;
            t->type[at++] = piece->type < w->options->token_types ? piece->type : 0;
        }
    }
    const int64_t length = at - t->start[n], none = w->options->causal ? length - 1 : 0;
    const bool holds = from >= token && to <= token + tokens;
    t->span[2 * n] = (int32_t)(holds ? window.first + from - token : none);
    t->span[2 * n + 1] = (int32_t)(holds ? window.first + to - 1 - token : none);
    t->start[n + 1] = at;
    t->longest = cs_most(t->longest, length);
    w->spans->window[n] = window;
    ++t->count;
    return CS_OK;
}

static cs_status add_question(work *w, const cs_squad *squad, int64_t i)
{
    const cs_squad_question *q = &squad->question[i];
    const int64_t *start = w->spans->start + q->context;
    int64_t from = -1, to = -1, specials = 0;
    cs_status status = encode_question(w, q->text);
    if (status != CS_OK) return cs_blame(status, "%s: question %s", squad->path, q->id);
    if (q->answers > 0) {
        tokens_of(w->spans, q->context, &squad->answer[q->first], &from, &to);
        w->spans->unplaced += from < 0;
    }
    for (int64_t p = 0; p < w->form.count; ++p) {
        specials += w->form.piece[p].token >= 0;
    }
    const int64_t capacity = w->options->max_length - specials - w->questions;
    if (capacity < 1) {
        return cs_fail(
            CS_ERR_USAGE,
            "length %lld is too short for %lld special tokens, %lld question tokens and a context",
            (long long)w->options->max_length, (long long)specials, (long long)w->questions);
    }
    const int64_t step = cs_least(w->options->stride, capacity);
    for (int64_t at = start[0]; status == CS_OK; at += step) {
        status = add_window(w, i, at, cs_least(capacity, start[1] - at), from, to);
        if (at + capacity >= start[1]) {
            break;
        }
    }
    return status;
}

/* The form of pairs; a causal model needs a last row that sees all. */
static cs_status choose_form(work *w)
{
    const cs_spans_options *o = w->options;
    const int32_t eos = cs_tokenizer_special(w->tokenizer, CS_TOKEN_EOS);
    cs_status status = cs_texts_form(w->tokenizer, o->special, !o->causal, true, &w->form);
    cs_text_form *f = &w->form;
    if (status != CS_OK || !o->causal || f->piece[f->count - 1].token >= 0) return status;
    if (eos < 0 || f->count == CS_TEXT_PIECES) {
        return cs_fail(
            CS_ERR_USAGE,
            "the tokenizer has no end token, which a context needs; --eos-token names it");
    }
    f->piece[f->count++] = (cs_text_piece){eos, f->piece[f->count - 1].type};
    return CS_OK;
}

cs_status cs_spans_encode(const cs_squad *squad, const cs_tokenizer *tokenizer,
                          const cs_spans_options *options, cs_spans *out)
{
    cs_spans s = {.texts.classes = 2, .causal = options->causal};
    work w = {.spans = &s, .tokenizer = tokenizer, .options = options};
    cs_encoder_init(&w.encoder, tokenizer);
    s.start = cs_calloc(squad->contexts + 1, sizeof *s.start);
    cs_status status = s.start ? choose_form(&w) : CS_ERR_MEMORY;
    for (int64_t c = 0; c < squad->contexts && status == CS_OK; ++c) {
        int64_t count = 0;
        status = encode_context(&w, squad->context[c], s.start[c], &count);
        s.start[c + 1] = s.start[c] + count;
        if (status == CS_OK && count == 0)
            status = cs_fail(CS_ERR_INPUT, "the context has no tokens");
        if (status != CS_OK)
            status = cs_blame(status, "%s: context %lld", squad->path, (long long)c + 1);
    }
    for (int64_t i = 0; i < squad->questions && status == CS_OK; ++i) {
        status = add_question(&w, squad, i);
    }
    s.texts.value = status == CS_OK ? cs_calloc(s.texts.count, sizeof *s.texts.value) : NULL;
    if (status == CS_OK && !s.texts.value) status = CS_ERR_MEMORY;
    cs_encoder_free(&w.encoder);
    CS_FREE_FIELDS(&w, id, question);
    return CS_DELIVER(status, out, s, cs_spans_free);
}

void cs_spans_free(cs_spans *spans)
{
    cs_texts_free(&spans->texts);
    CS_FREE_FIELDS(spans, window, start, place);
    *spans = (cs_spans){0};
}

/* --- spans that answer questions -------------------------------------------------------------- */

/* The best span of a window's context; its score goes up with it. */
static void best_of(const cs_spans *s, const cs_span_window *w, const float *z, int64_t longest,
                    double *score, cs_span_answer *out)
{
    for (int64_t i = 0; i < w->tokens; ++i) {
        for (int64_t j = i; j < cs_least(w->tokens, i + longest); ++j) {
            const double here = (double)z[2 * (w->first + i)] + (double)z[2 * (w->first + j) + 1];
            if (here > *score) {
                *score = here;
                out->from = s->place[w->token + i].from;
                out->to = s->place[w->token + j].to;
            }
        }
    }
}

void cs_spans_answer(const cs_squad *squad, const cs_spans *s, const float *logits, int64_t longest,
                     bool allow_none, double threshold, cs_span_answer *out)
{
    for (int64_t q = 0, n = 0; q < squad->questions; ++q) {
        double best = -INFINITY, none = INFINITY;
        out[q] = (cs_span_answer){0};
        for (; n < s->texts.count && s->window[n].question == q; ++n) {
            const float *z = logits + 2 * s->texts.start[n];
            const int64_t rows = s->texts.start[n + 1] - s->texts.start[n],
                          row = s->causal ? rows - 1 : 0;
            none = fmin(none, (double)z[2 * row] + (double)z[2 * row + 1]);
            best_of(s, &s->window[n], z, longest, &best, &out[q]);
        }
        out[q].null = none - best;
        if (allow_none && out[q].null > threshold) {
            out[q].from = out[q].to = 0;
        }
        const char *context = squad->context[squad->question[q].context];
        while (out[q].from > 0 && (context[out[q].from] & 0xC0) == 0x80) { /* whole characters */
            --out[q].from;
        }
        while (out[q].to > 0 && (context[out[q].to] & 0xC0) == 0x80) {
            ++out[q].to;
        }
    }
}
