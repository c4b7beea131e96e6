/* Decoders: each changes the texts of a list of tokens, which are put together in the end, as in
 * the `tokenizers` package. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/bpe.h"
#include "text/steps_private.h"
#include "text/unicode.h"
#include "text/utf8_private.h"
#include "text/wordpiece.h"

static const char REPLACEMENT[] = "\xEF\xBF\xBD";

/* Appends the text of a token, the i-th. */
typedef cs_status (*writing)(const cs_text_step *s, int64_t i, cs_span token, cs_pieces *p);

static cs_status write_all(const cs_text_step *s, writing write, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        const int64_t from = p->fresh;
        status = write(s, i, p->span[i], p);
        if (status == CS_OK) status = cs_pieces_cut(p, from, p->fresh);
    }
    if (status == CS_OK) cs_pieces_turn_text(p);
    return status;
}

/* --- bytes --- */

/* A token stands for the bytes of its characters; for itself when one of them stands for none, as
 * in added tokens. */
static cs_status put_bytes(cs_span token, cs_pieces *p)
{
    const uint8_t *text = (const uint8_t *)p->text, *at = text + token.from, *end = text + token.to;
    const int64_t from = p->fresh;
    cs_status status = CS_OK;
    while (at < end && status == CS_OK) {
        int32_t c = 0;
        at += cs_char_at(at, &c);
        const int byte = cs_char_byte(c);
        if (byte < 0) {
            p->fresh = from;
            return cs_pieces_put(p, p->text + token.from, token.to - token.from);
        }
        const char one = (char)byte;
        status = cs_pieces_put(p, &one, 1);
    }
    return status;
}

/* The text with U+FFFD for each longest part that begins a character and is none. */
static cs_status repair(cs_pieces *p)
{
    const uint8_t *at = (const uint8_t *)p->text, *end = at + p->size;
    cs_status status = CS_OK;
    while (at < end && status == CS_OK) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t length = *at < 0x80 ? 1 : utf8proc_iterate(at, end - at, &c);
        status = length > 0 ? cs_pieces_put(p, (const char *)at, length)
                            : cs_pieces_put(p, REPLACEMENT, 3);
        at += length > 0 ? length : cs_utf8_bad_part(at, end - at);
    }
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

static cs_status byte_level(const cs_text_step *s, cs_pieces *p)
{
    cs_status status = CS_OK;
    (void)s;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        status = put_bytes(p->span[i], p);
    }
    if (status == CS_OK) status = cs_pieces_turn_whole(p);
    return status == CS_OK ? repair(p) : status;
}

/* The byte of a token "<0x4A>"; -1: it is none. */
static int byte_of(const char *text, cs_span token)
{
    const char *at = text + token.from;
    char digits[3] = {0}, *end = NULL;
    if (token.to - token.from != 6 || memcmp(at, "<0x", 3) != 0 || at[5] != '>') {
        return -1;
    }
    memcpy(digits, at + 3, 2);
    const long byte = strtol(digits, &end, 16);
    return *end == '\0' && digits[0] != ' ' && digits[0] != '-' ? (int)byte : -1;
}

/* A run of bytes as one token, or one U+FFFD a byte where it is no UTF-8. */
static cs_status end_run(int64_t from, cs_pieces *p)
{
    const int64_t bytes = p->fresh - from;
    cs_status status = CS_OK;
    const char *run = p->made + from;
    bool good = true;
    for (int64_t at = 0; at < bytes && good;) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t length = utf8proc_iterate((const uint8_t *)run + at, bytes - at, &c);
        good = length > 0;
        at += length;
    }
    if (!good) {
        p->fresh = from;
    }
    for (int64_t i = 0; i < bytes && !good && status == CS_OK; ++i) {
        const int64_t one = p->fresh;
        status = cs_pieces_put(p, REPLACEMENT, 3);
        if (status == CS_OK) status = cs_pieces_cut(p, one, p->fresh);
    }
    return status == CS_OK && good ? cs_pieces_cut(p, from, p->fresh) : status;
}

static cs_status byte_fallback(const cs_text_step *s, cs_pieces *p)
{
    int64_t run = -1;
    cs_status status = CS_OK;
    (void)s;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        const cs_span token = p->span[i];
        const int byte = byte_of(p->text, token);
        if (byte >= 0) {
            const char one = (char)byte;
            run = run < 0 ? p->fresh : run;
            status = cs_pieces_put(p, &one, 1);
            continue;
        }
        if (run >= 0) {
            status = end_run(run, p);
            run = -1;
        }
        const int64_t from = p->fresh;
        if (status == CS_OK) status = cs_pieces_put(p, p->text + token.from, token.to - token.from);
        if (status == CS_OK) status = cs_pieces_cut(p, from, p->fresh);
    }
    if (status == CS_OK && run >= 0) status = end_run(run, p);
    if (status == CS_OK) cs_pieces_turn_text(p);
    return status;
}

/* --- marks --- */

/* Marks of the token become blanks, or nothing. */
static cs_status put_unmarked(const cs_text_step *s, cs_span token, bool blank, cs_pieces *p)
{
    const char *at = p->text + token.from, *end = p->text + token.to;
    cs_status status = CS_OK;
    while (at < end && status == CS_OK) {
        const char *mark = memmem(at, (size_t)(end - at), s->content, (size_t)s->content_size);
        status = cs_pieces_put(p, at, (mark ? mark : end) - at);
        if (status == CS_OK && mark && blank) status = cs_pieces_put(p, " ", 1);
        at = mark ? mark + s->content_size : end;
    }
    return status;
}

/* The mark is a blank, and nothing in the first token where one was put before the text. */
static cs_status write_unmarked(const cs_text_step *s, int64_t i, cs_span token, cs_pieces *p)
{
    return put_unmarked(s, token, i > 0 || s->prepend == CS_PREPEND_NEVER, p);
}

static cs_status metaspace(const cs_text_step *s, cs_pieces *p)
{
    return write_all(s, write_unmarked, p);
}

/* The end of a word becomes a blank, except the last. */
static cs_status write_ended(const cs_text_step *s, int64_t i, cs_span token, cs_pieces *p)
{
    return put_unmarked(s, token, i + 1 < p->spans, p);
}

static cs_status bpe_ends(const cs_text_step *s, cs_pieces *p)
{
    return write_all(s, write_ended, p);
}

static cs_status read_suffix(const json_t *json, const char *field, cs_text_step *out)
{
    cs_status status = cs_step_text(json, field, "suffix", "</w>", out);
    if (status == CS_OK && out->content_size == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s.suffix: expected a nonempty string", field);
    }
    return status;
}

static cs_status write_wordpiece(const cs_text_step *s, int64_t i, cs_span token, cs_pieces *p)
{
    cs_status status =
        cs_reserve(&p->made, &p->made_capacity, p->fresh + token.to - token.from + 2, 1);
    if (status == CS_OK)
        p->fresh += cs_wordpiece_decode(s->content, s->cleanup, i == 0, p->text + token.from,
                                        token.to - token.from, p->made + p->fresh);
    return status;
}

static cs_status wordpiece(const cs_text_step *s, cs_pieces *p)
{
    return write_all(s, write_wordpiece, p);
}

static cs_status read_wordpiece(const json_t *json, const char *field, cs_text_step *out)
{
    cs_status status = cs_step_text(json, field, "prefix", "##", out);
    return status == CS_OK ? cs_step_flag(json, field, "cleanup", true, &out->cleanup) : status;
}

/* --- the rest --- */

static cs_status fuse(const cs_text_step *s, cs_pieces *p)
{
    cs_status status = CS_OK;
    (void)s;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        status = cs_pieces_put(p, p->text + p->span[i].from, p->span[i].to - p->span[i].from);
    }
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

/* Up to `start` characters off the beginning and `stop` off the end, while they are the one. */
static cs_status write_stripped(const cs_text_step *s, int64_t i, cs_span token, cs_pieces *p)
{
    const int64_t size = s->content_size;
    int64_t from = token.from, to = token.to;
    (void)i;
    for (int64_t n = 0; n < s->start && to - from >= size; ++n) {
        if (memcmp(p->text + from, s->content, (size_t)size) != 0) {
            break;
        }
        from += size;
    }
    for (int64_t n = 0; n < s->stop && to - from >= size; ++n) {
        if (memcmp(p->text + to - size, s->content, (size_t)size) != 0) {
            break;
        }
        to -= size;
    }
    return cs_pieces_put(p, p->text + from, to - from);
}

static cs_status strip(const cs_text_step *s, cs_pieces *p)
{
    return write_all(s, write_stripped, p);
}

static cs_status read_strip(const json_t *json, const char *field, cs_text_step *out)
{
    const json_t *start = json_object_get(json, "start"), *stop = json_object_get(json, "stop");
    int32_t c = 0;
    cs_status status = cs_step_text(json, field, "content", NULL, out);
    if (status != CS_OK) return status;
    if (out->content_size == 0 ||
        cs_char_at((const uint8_t *)out->content, &c) != out->content_size) {
        return cs_fail(CS_ERR_INPUT, "%s.content: expected one character", field);
    }
    out->start = json_integer_value(start);
    out->stop = json_integer_value(stop);
    if (!json_is_integer(start) || !json_is_integer(stop) || out->start < 0 || out->stop < 0) {
        return cs_fail(CS_ERR_INPUT, "%s: expected start and stop, numbers of characters", field);
    }
    return CS_OK;
}

static const cs_step_kind KINDS[] = {
    {"ByteLevel", "type, add_prefix_space, trim_offsets, use_regex", cs_step_read_byte_level,
     byte_level, NULL},
    {"ByteFallback", "type", NULL, byte_fallback, NULL},
    {"Metaspace", "type, replacement, add_prefix_space, prepend_scheme, split, str_rep",
     cs_step_read_metaspace, metaspace, NULL},
    {"WordPiece", "type, prefix, cleanup", read_wordpiece, wordpiece, NULL},
    {"BPEDecoder", "type, suffix", read_suffix, bpe_ends, NULL},
    {"Replace", "type, pattern, content", cs_step_read_replace, cs_step_replace, NULL},
    {"Fuse", "type", NULL, fuse, NULL},
    {"Strip", "type, content, start, stop", read_strip, strip, NULL},
};
const cs_stage cs_stage_decoder = {"decoder", "decoders", KINDS, sizeof KINDS / sizeof KINDS[0]};
