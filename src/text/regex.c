/* PCRE2 with its compiler to machine code where it has one. Unicode properties are those of its
 * version (10.42: Unicode 14), except categories (regex_syntax.c). */
#include "text/regex_private.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/mem.h"
#include "text/unicode.h"

enum { STACK_FIRST = 32 << 10, STACK_MOST = 8 << 20 };

struct cs_regex {
    pcre2_general_context *memory;
    pcre2_code *code[2]; /* for most texts; for those with newer characters */
};

struct cs_regex_scratch {
    pcre2_general_context *memory;
    pcre2_match_context *context;
    pcre2_match_data *match;
    pcre2_jit_stack *stack;
    bool newer; /* the text that is being searched has newer characters */
};

static void *take(size_t size, void *unused)
{
    (void)unused;
    return cs_alloc((int64_t)size, 1);
}

static void give(void *p, void *unused)
{
    (void)unused;
    cs_free(p);
}

static cs_status short_of_memory(void)
{
    return cs_fail(CS_ERR_MEMORY, "out of memory for a regular expression");
}

void cs_regex_free(cs_regex *r)
{
    if (r) {
        pcre2_code_free(r->code[0]);
        pcre2_code_free(r->code[1]);
        pcre2_general_context_free(r->memory);
        cs_free(r);
    }
}

static cs_status compile_one(const char *pattern, bool newer, pcre2_compile_context *context,
                             pcre2_code **out)
{
    char *translated = NULL;
    int error = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR8 reason[160];
    cs_status status = cs_regex_translate(pattern, newer, &translated);
    if (status != CS_OK) return status;
    *out = pcre2_compile((PCRE2_SPTR8)translated, PCRE2_ZERO_TERMINATED,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &at, context);
    cs_free(translated);
    if (!*out) {
        (void)pcre2_get_error_message(error, reason, sizeof reason);
        return error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED
                   ? short_of_memory()
                   : cs_fail(CS_ERR_INPUT, "\"%s\": %s", pattern, (const char *)reason);
    }
    (void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE); /* where this fails it is interpreted */
    return CS_OK;
}

static cs_status compile(cs_regex *r, const char *pattern)
{
    r->memory = pcre2_general_context_create(take, give, NULL);
    pcre2_compile_context *context = r->memory ? pcre2_compile_context_create(r->memory) : NULL;
    cs_status status = context ? CS_OK : short_of_memory();
    if (status == CS_OK) {
        (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    }
    for (int newer = 0; newer < 2 && status == CS_OK; ++newer) {
        status = compile_one(pattern, newer, context, &r->code[newer]);
    }
    pcre2_compile_context_free(context);
    return status;
}

cs_status cs_regex_compile(const char *pattern, cs_regex **out)
{
    cs_regex *r = cs_calloc(1, sizeof *r);
    if (!r) return CS_ERR_MEMORY;
    cs_status status = compile(r, pattern);
    if (status == CS_OK) {
        *out = r;
    } else {
        cs_regex_free(r);
    }
    return status;
}

cs_status cs_regex_scratch_make(cs_regex_scratch **scratch)
{
    if (*scratch) {
        return CS_OK;
    }
    cs_regex_scratch *s = cs_calloc(1, sizeof *s);
    if (!s) return CS_ERR_MEMORY;
    s->memory = pcre2_general_context_create(take, give, NULL);
    s->context = s->memory ? pcre2_match_context_create(s->memory) : NULL;
    s->match = s->context ? pcre2_match_data_create(1, s->memory) : NULL;
    s->stack = s->match ? pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, s->memory) : NULL;
    if (!s->match) {
        cs_regex_scratch_free(s);
        return short_of_memory();
    }
    if (s->stack) { /* NULL where there is no compiler to machine code, too */
        pcre2_jit_stack_assign(s->context, NULL, s->stack);
    }
    *scratch = s;
    return CS_OK;
}

void cs_regex_scratch_free(cs_regex_scratch *s)
{
    if (s) {
        pcre2_jit_stack_free(s->stack);
        pcre2_match_data_free(s->match);
        pcre2_match_context_free(s->context);
        pcre2_general_context_free(s->memory);
        cs_free(s);
    }
}

static bool has_newer(const uint8_t *text, int64_t size)
{
    const uint64_t tops = UINT64_C(0x8080808080808080);
    for (int64_t at = 0; at < size;) {
        uint64_t eight = 0;
        memcpy(&eight, text + at, size - at < 8 ? (size_t)(size - at) : 8);
        if ((eight & tops) == 0) {
            at += 8;
            continue;
        }
        if (text[at] < 0xE0) { /* two bytes at most: none is newer */
            at += 1;
            continue;
        }
        int32_t c = 0;
        at += cs_char_at(text + at, &c);
        if (cs_char_is_newer(c)) {
            return true;
        }
    }
    return false;
}

cs_status cs_regex_find(const cs_regex *r, cs_regex_scratch *s, const char *text, int64_t size,
                        int64_t from, int64_t *start, int64_t *end)
{
    if (from == 0) {
        s->newer = has_newer((const uint8_t *)text, size);
    }
    int found = pcre2_match(r->code[s->newer], (PCRE2_SPTR8)text, (PCRE2_SIZE)size,
                            (PCRE2_SIZE)from, PCRE2_NO_UTF_CHECK, s->match, s->context);
    *start = *end = -1;
    if (found == PCRE2_ERROR_NOMATCH) {
        return CS_OK;
    }
    if (found < 0) {
        PCRE2_UCHAR8 reason[160];
        (void)pcre2_get_error_message(found, reason, sizeof reason);
        return found == PCRE2_ERROR_NOMEMORY
                   ? short_of_memory()
                   : cs_fail(CS_ERR_INPUT, "a regular expression at byte %lld of a text: %s",
                             (long long)from + 1, (const char *)reason);
    }
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(s->match);
    *start = (int64_t)place[0];
    *end = (int64_t)place[1];
    return CS_OK;
}
