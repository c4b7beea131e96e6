#include "text/squad.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

/* Where in the file: numbers from 1, 0: not so deep. */
typedef struct {
    cs_squad *squad;
    int64_t context_capacity, question_capacity, answer_capacity;
    size_t article, paragraph, question;
} reading;

static cs_status missing(const reading *r, const char *key, const char *kind)
{
    char place[96] = "";
    int n = 0;
    const char *const name[] = {"data", "paragraph", "question"};
    const size_t at[] = {r->article, r->paragraph, r->question};
    for (int i = 0; i < 3 && at[i] > 0; ++i) {
        n += snprintf(place + n, sizeof place - (size_t)n, "%s %zu, ", name[i], at[i]);
    }
    return cs_fail(CS_ERR_INPUT, "%s: %s'%s' is missing or not %s", r->squad->path, place, key,
                   kind);
}

static cs_status list_of(const reading *r, const json_t *object, const char *key, json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_array(*out) ? CS_OK : missing(r, key, "a list");
}

static cs_status text_of(const reading *r, const json_t *object, const char *key, const char **out)
{
    *out = json_string_value(json_object_get(object, key));
    return *out ? CS_OK : missing(r, key, "a text");
}

/* The byte that character `at` begins with; -1 behind the end. */
static int64_t byte_of(const char *text, json_int_t at)
{
    const char *c = text;
    for (; at > 0 && *c; --at) {
        do {
            ++c;
        } while (((unsigned char)*c & 0xC0) == 0x80);
    }
    return at == 0 ? c - text : -1;
}

static cs_status read_answer(reading *r, const cs_squad_question *q, const json_t *json)
{
    cs_squad *s = r->squad;
    const json_t *start = json_object_get(json, "answer_start");
    cs_squad_answer a = {0};
    cs_status status = text_of(r, json, "text", &a.text);
    if (status == CS_OK && (!json_is_integer(start) || json_integer_value(start) < 0))
        status = missing(r, "answer_start", "a number of characters");
    if (status != CS_OK) return status;
    const char *context = s->context[q->context];
    a.from = byte_of(context, json_integer_value(start));
    if (!*a.text || a.from < 0 || strncmp(context + a.from, a.text, strlen(a.text)) != 0) {
        return cs_fail(
            CS_ERR_INPUT,
            "%s: question %s: its answer '%.80s' is not at character %lld of the context", s->path,
            q->id, a.text, (long long)json_integer_value(start));
    }
    status = cs_reserve(&s->answer, &r->answer_capacity, s->answers + 1, sizeof *s->answer);
    if (status == CS_OK) s->answer[s->answers++] = a;
    return status;
}

static cs_status read_question(reading *r, const json_t *json)
{
    cs_squad *s = r->squad;
    json_t *answers = NULL;
    const json_t *impossible = json_object_get(json, "is_impossible");
    cs_squad_question q = {.context = s->contexts - 1, .first = s->answers};
    cs_status status = text_of(r, json, "id", &q.id);
    if (status == CS_OK) status = text_of(r, json, "question", &q.text);
    if (status == CS_OK) status = list_of(r, json, "answers", &answers);
    if (status == CS_OK && impossible && !json_is_boolean(impossible))
        status = missing(r, "is_impossible", "true or false");
    q.answers = (int64_t)json_array_size(answers);
    if (status == CS_OK && json_is_true(impossible) == (q.answers > 0))
        status = cs_fail(CS_ERR_INPUT, "%s: question %s: %s", s->path, q.id,
                         q.answers > 0 ? "it has answers, but is_impossible is true"
                                       : "it has no answers, but is_impossible is not true");
    for (size_t i = 0; i < json_array_size(answers) && status == CS_OK; ++i) {
        status = read_answer(r, &q, json_array_get(answers, i));
    }
    if (status == CS_OK)
        status =
            cs_reserve(&s->question, &r->question_capacity, s->questions + 1, sizeof *s->question);
    if (status == CS_OK) s->question[s->questions++] = q;
    return status;
}

static cs_status read_paragraph(reading *r, const json_t *json)
{
    cs_squad *s = r->squad;
    json_t *questions = NULL;
    const char *context = NULL;
    r->question = 0;
    cs_status status = text_of(r, json, "context", &context);
    if (status == CS_OK) status = list_of(r, json, "qas", &questions);
    if (status == CS_OK)
        status = cs_reserve(&s->context, &r->context_capacity, s->contexts + 1, sizeof *s->context);
    if (status == CS_OK) s->context[s->contexts++] = context;
    for (size_t i = 0; i < json_array_size(questions) && status == CS_OK; ++i) {
        r->question = i + 1;
        status = read_question(r, json_array_get(questions, i));
    }
    return status;
}

static cs_status read_all(reading *r)
{
    json_t *data = NULL, *paragraphs = NULL;
    cs_status status = list_of(r, r->squad->root, "data", &data);
    for (size_t a = 0; a < json_array_size(data) && status == CS_OK; ++a) {
        r->article = a + 1;
        r->paragraph = r->question = 0;
        status = list_of(r, json_array_get(data, a), "paragraphs", &paragraphs);
        for (size_t p = 0; p < json_array_size(paragraphs) && status == CS_OK; ++p) {
            r->paragraph = p + 1;
            status = read_paragraph(r, json_array_get(paragraphs, p));
        }
    }
    return status;
}

static int by_id(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static cs_status check_ids(const cs_squad *s)
{
    if (s->questions == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: no questions", s->path);
    }
    const char **id = cs_alloc(s->questions, sizeof *id);
    cs_status status = id ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->questions && id; ++i) {
        id[i] = s->question[i].id;
    }
    if (id) qsort(id, (size_t)s->questions, sizeof *id, by_id);
    for (int64_t i = 1; i < s->questions && status == CS_OK; ++i) {
        if (strcmp(id[i - 1], id[i]) == 0)
            status = cs_fail(CS_ERR_INPUT, "%s: two questions have the same id %s", s->path, id[i]);
    }
    cs_free(id);
    return status;
}

cs_status cs_squad_read(const char *path, cs_squad *out)
{
    cs_squad s = {.path = cs_strdup(path)};
    reading r = {.squad = &s};
    cs_status status = s.path ? cs_json_read(path, &s.root) : CS_ERR_MEMORY;
    if (status == CS_OK) status = read_all(&r);
    if (status == CS_OK) status = check_ids(&s);
    return CS_DELIVER(status, out, s, cs_squad_free);
}

void cs_squad_free(cs_squad *squad)
{
    json_decref(squad->root);
    CS_FREE_FIELDS(squad, path, context, question, answer);
    *squad = (cs_squad){0};
}
