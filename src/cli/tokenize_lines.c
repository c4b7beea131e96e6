/* Text to ids and back, a line at a time: what is printed goes to memory until the run is complete.
 */
#include "cli/tokenize_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"
#include "text/encoder.h"

/* Lines of FILE, or of standard input, and where the result of each goes. */
typedef struct {
    const char *name; /* for messages */
    char *bytes;
    int64_t size;
    FILE *text; /* what is printed; a memory stream */
    char *printed;
    size_t printed_size;
    json_t *list; /* NULL unless JSON is asked for */
} job;

/* Called with one line without its end. */
typedef cs_status (*line_fn)(const cs_args *args, void *ctx, job *j, const char *line,
                             int64_t size);

static cs_status read_lines(cs_args *args, job *j)
{
    bool given = cs_args_positionals(args) == 3;
    const char *path = given ? cs_args_positional(args, 2) : "/dev/stdin";
    int64_t free_now = cs_mem_available();
    cs_status status = given ? cs_output_input(args, path) : CS_OK;
    j->name = given ? path : "standard input";
    if (status == CS_OK) {
        status =
            cs_file_read(path, free_now > 0 ? free_now / 4 : INT64_MAX - 1, &j->bytes, &j->size);
    }
    return status == CS_OK && given ? cs_lfs_check(path, j->bytes, j->size) : status;
}

static cs_status each_line(const cs_args *args, job *j, line_fn fn, void *ctx)
{
    const char *at = j->bytes, *end = j->bytes + j->size;
    cs_status status = CS_OK;
    for (int64_t number = 1; at < end && status == CS_OK; ++number) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        status = fn(args, ctx, j, at, (stop ? stop : end) - at);
        if (status == CS_ERR_INPUT) {
            return cs_blame(status, "%s:%lld", j->name, (long long)number);
        }
        if (status == CS_OK && number % 4096 == 0) {
            status = cs_interrupt_check();
        }
        at = stop ? stop + 1 : end;
    }
    return status;
}

static cs_status append_json(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
}

static cs_status encode_line(const cs_args *args, void *ctx, job *j, const char *line, int64_t size)
{
    cs_encoder *e = ctx;
    cs_status status = cs_encoder_encode(e, line, size, cs_args_flag(args, "add-special"));
    if (status != CS_OK) {
        return status;
    }
    for (int64_t i = 0; i < e->count; ++i) {
        (void)fprintf(j->text, i > 0 ? " %d" : "%d", e->id[i]);
    }
    (void)fputc('\n', j->text);
    if (!j->list) {
        return CS_OK;
    }
    json_t *ids = json_array(), *tokens = json_array();
    for (int64_t i = 0; i < e->count && status == CS_OK; ++i) {
        status = append_json(ids, json_integer(e->id[i]));
        if (status == CS_OK) {
            status = append_json(tokens, json_string(cs_tokenizer_token(e->tokenizer, e->id[i])));
        }
    }
    json_t *item = json_pack("{s:o, s:o}", "ids", ids, "tokens", tokens); /* takes both over */
    return status == CS_OK ? append_json(j->list, item) : (json_decref(item), status);
}

typedef struct {
    const cs_tokenizer *tokenizer;
    int32_t *id;
    int64_t room;
} decoder;

/* The ids of a line, separated by blanks; a CR at its end is passed over. */
static cs_status read_ids(decoder *d, const char *line, int64_t size, int64_t *count)
{
    const char *at = line, *end = line + size;
    *count = 0;
    for (;;) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
            at += 1;
        }
        if (at == end) {
            return CS_OK;
        }
        const char *start = at;
        while (at < end && *at != ' ' && *at != '\t' && *at != '\r') {
            at += 1;
        }
        if (*count == d->room) {
            int64_t room = d->room > 0 ? 2 * d->room : 256;
            int32_t *id = cs_realloc(d->id, room, sizeof *id);
            if (!id) {
                return CS_ERR_MEMORY;
            }
            d->id = id;
            d->room = room;
        }
        char word[24];
        int64_t id = 0, length = at - start;
        (void)snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), start);
        cs_status status = cs_int_parse(word, &id);
        if (status != CS_OK || id < INT32_MIN || id > INT32_MAX) {
            cs_reason_clear();
            return cs_fail(CS_ERR_INPUT, "\"%s\" at index %lld is no token id", word,
                           (long long)*count);
        }
        d->id[(*count)++] = (int32_t)id;
    }
}

static cs_status decode_line(const cs_args *args, void *ctx, job *j, const char *line, int64_t size)
{
    decoder *d = ctx;
    int64_t count = 0, length = 0;
    char *text = NULL;
    cs_status status = read_ids(d, line, size, &count);
    if (status == CS_OK) {
        status = cs_tokenizer_decode(d->tokenizer, d->id, count, cs_args_flag(args, "skip-special"),
                                     &text, &length);
    }
    if (status == CS_OK) {
        (void)fwrite(text, 1, (size_t)length, j->text);
        (void)fputc('\n', j->text);
    }
    if (status == CS_OK && j->list) {
        status = append_json(j->list, json_stringn(text, (size_t)length));
    }
    cs_free(text);
    return status;
}

static cs_status run_lines(cs_args *args, const char *result, line_fn fn, void *ctx)
{
    job j = {0};
    json_t *json = NULL;
    bool as_json = cs_args_flag(args, "json") || cs_args_given(args, "output");
    cs_status status = read_lines(args, &j);
    if (status == CS_OK && as_json) {
        json = json_pack("{s:[]}", "lines");
        j.list = json_object_get(json, "lines");
        status = j.list ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    }
    if (status == CS_OK) {
        j.text = open_memstream(&j.printed, &j.printed_size);
        status = j.text ? each_line(args, &j, fn, ctx)
                        : cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    if (j.text) {
        bool bad = ferror(j.text) != 0;
        bad = fclose(j.text) != 0 || bad;
        if (bad && status == CS_OK) { /* memory is all that such a stream can lack */
            status = cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
        }
    }
    if (status == CS_OK) {
        status = cs_output_text(args, result, json, j.printed, (int64_t)j.printed_size);
    }
    json_decref(json);
    free(j.printed);
    cs_free(j.bytes);
    return status;
}

cs_status cs_tokenize_encode(cs_args *args, const cs_tokenizer *t)
{
    cs_encoder encoder;
    cs_encoder_init(&encoder, t);
    cs_status status = run_lines(args, "ids", encode_line, &encoder);
    cs_encoder_free(&encoder);
    return status;
}

cs_status cs_tokenize_decode(cs_args *args, const cs_tokenizer *t)
{
    decoder d = {.tokenizer = t};
    cs_status status = run_lines(args, "text", decode_line, &d);
    cs_free(d.id);
    return status;
}
