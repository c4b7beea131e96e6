/* Statements and their verdicts.
 *
 * A verdict follows from numbers alone: the two sides and a bound on the numerical error of their
 * difference. Equality passes within the error; an inequality passes when it holds beyond the
 * error, so an inequality that is attained (margin 0) is INCONCLUSIVE unless its error is exactly
 * 0; it is then marked as attained. Sides that are not numbers are INCONCLUSIVE.
 */
#include "analysis/statement.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

enum { FIRST_ROOM = 16 };

const char *cs_verdict_name(cs_verdict verdict)
{
    static const char *const name[] = {
        [CS_PASS] = "PASS",
        [CS_FAIL] = "FAIL",
        [CS_VACUOUS] = "VACUOUS",
        [CS_INCONCLUSIVE] = "INCONCLUSIVE",
        [CS_UNSPECIFIED] = "UNSPECIFIED",
    };
    assert(verdict >= CS_PASS && verdict <= CS_UNSPECIFIED);
    return name[verdict];
}

static const char *form_name(cs_statement_form form)
{
    return form == CS_PRINTED ? "printed" : "corrected";
}

static const char *relation_name(cs_relation relation)
{
    return relation == CS_RELATION_EQUAL ? "=" : relation == CS_RELATION_LESS ? "<" : "<=";
}

double cs_statement_margin(const cs_statement *s)
{
    if (s->relation == CS_RELATION_EQUAL) {
        return s->lhs == s->rhs ? 0 : -fabs(s->lhs - s->rhs);
    }
    return s->lhs == s->rhs ? 0 : s->rhs - s->lhs; /* inf - inf is not a number */
}

static void statement_free(cs_statement *s)
{
    cs_free(s->text);
    cs_free(s->input);
    cs_free(s->counterexample);
    json_decref(s->assumptions);
    json_decref(s->details);
}

void cs_statements_free(cs_statements *list)
{
    for (int64_t i = 0; i < list->count; ++i) {
        statement_free(&list->item[i]);
    }
    cs_free(list->item);
    memset(list, 0, sizeof *list);
}

cs_statement *cs_statements_add(cs_statements *list, const char *id, cs_statement_form form,
                                cs_relation relation, const char *text, const char *input)
{
    if (list->count == list->room) {
        int64_t room = list->room > 0 ? 2 * list->room : FIRST_ROOM;
        cs_statement *item = cs_realloc(list->item, room, sizeof *item);
        if (!item) {
            return NULL;
        }
        list->item = item;
        list->room = room;
    }
    cs_statement s = {.form = form,
                      .relation = relation,
                      .lhs = NAN,
                      .rhs = NAN,
                      .error = NAN,
                      .trivial = NAN,
                      .verdict = CS_INCONCLUSIVE};
    assert(strlen(id) < sizeof s.id);
    (void)snprintf(s.id, sizeof s.id, "%s", id);
    s.text = cs_strdup(text);
    s.input = cs_strdup(input ? input : "");
    if (!s.text || !s.input) {
        statement_free(&s);
        return NULL;
    }
    list->item[list->count] = s;
    return &list->item[list->count++];
}

void cs_statement_judge(cs_statement *s, double lhs, double rhs, double error)
{
    s->lhs = lhs;
    s->rhs = rhs;
    s->error = error;
    s->attained = false;
    double margin = cs_statement_margin(s);
    if (isnan(margin) || isnan(error)) {
        s->verdict = CS_INCONCLUSIVE;
    } else if (s->relation == CS_RELATION_LESS && margin <= 0 && error == 0) {
        s->verdict = CS_FAIL;
    } else if (s->relation == CS_RELATION_EQUAL) {
        s->verdict = -margin <= error ? CS_PASS : CS_FAIL;
    } else if (margin >= error) {
        s->verdict = rhs >= s->trivial ? CS_VACUOUS : CS_PASS; /* false when trivial is NaN */
    } else {
        s->verdict = margin < -error ? CS_FAIL : CS_INCONCLUSIVE;
        s->attained = s->verdict == CS_INCONCLUSIVE && s->relation == CS_RELATION_AT_MOST &&
                      error <= CS_ATTAINED * fmax(fabs(lhs), fabs(rhs));
    }
}

void cs_statement_withhold(cs_statement *s)
{
    s->verdict = CS_INCONCLUSIVE;
    s->attained = false;
    cs_free(s->counterexample);
    s->counterexample = NULL;
}

static cs_status out_of_memory(void)
{
    return cs_fail(CS_ERR_MEMORY, "out of memory for the details of a statement");
}

cs_status cs_statement_assume(cs_statement *s, const char *text, bool holds, double value)
{
    if (!s->assumptions) {
        s->assumptions = json_array();
    }
    json_t *item = json_object();
    cs_status status = s->assumptions && item ? CS_OK : out_of_memory();
    if (status == CS_OK) {
        status = cs_json_set(item, "text", json_string(text));
    }
    if (status == CS_OK) {
        status = cs_json_set(item, "holds", json_boolean(holds));
    }
    if (status == CS_OK) {
        status = cs_json_set(item, "value", cs_json_number(value));
    }
    if (status == CS_OK && json_array_append(s->assumptions, item) != 0) {
        status = out_of_memory();
    }
    json_decref(item);
    return status;
}

cs_status cs_statement_detail(cs_statement *s, const char *key, json_t *value)
{
    if (!s->details) {
        s->details = json_object();
    }
    if (!s->details) {
        json_decref(value);
        return out_of_memory();
    }
    return cs_json_set(s->details, key, value);
}

cs_status cs_statement_counterexample(cs_statement *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    char *text = cs_alloc((int64_t)length + 1, 1);
    if (!text) {
        return CS_ERR_MEMORY;
    }
    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    cs_free(s->counterexample);
    s->counterexample = text;
    return CS_OK;
}

static json_t *statement_json(const cs_statement *s)
{
    json_t *object = json_object();
    if (!object) {
        return NULL;
    }
    json_t *none = json_null();
    bool ok = cs_json_set(object, "id", json_string(s->id)) == CS_OK &&
              cs_json_set(object, "form", json_string(form_name(s->form))) == CS_OK &&
              cs_json_set(object, "relation", json_string(relation_name(s->relation))) == CS_OK &&
              cs_json_set(object, "verdict", json_string(cs_verdict_name(s->verdict))) == CS_OK &&
              cs_json_set(object, "attained", json_boolean(s->attained)) == CS_OK &&
              cs_json_set(object, "statement", json_string(s->text)) == CS_OK &&
              cs_json_set(object, "input", json_string(s->input)) == CS_OK &&
              cs_json_set(object, "lhs", cs_json_number(s->lhs)) == CS_OK &&
              cs_json_set(object, "rhs", cs_json_number(s->rhs)) == CS_OK &&
              cs_json_set(object, "margin", cs_json_number(cs_statement_margin(s))) == CS_OK &&
              cs_json_set(object, "error", cs_json_number(s->error)) == CS_OK &&
              cs_json_set(object, "trivial", cs_json_number(s->trivial)) == CS_OK &&
              cs_json_set(object, "assumptions",
                          s->assumptions ? json_incref(s->assumptions) : none) == CS_OK &&
              cs_json_set(object, "counterexample",
                          s->counterexample ? json_string(s->counterexample) : none) == CS_OK &&
              cs_json_set(object, "details", s->details ? json_incref(s->details) : none) == CS_OK;
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *cs_statements_json(const cs_statements *list)
{
    json_t *root = json_object();
    json_t *array = json_array();
    bool ok = root && array;
    for (int64_t i = 0; ok && i < list->count; ++i) {
        json_t *item = statement_json(&list->item[i]);
        ok = item && json_array_append_new(array, item) == 0;
    }
    if (ok) {
        ok = json_object_set(root, "statements", array) == 0;
    }
    json_decref(array);
    if (!ok) {
        json_decref(root);
        (void)out_of_memory();
        return NULL;
    }
    return root;
}

cs_status cs_statements_table(const cs_statements *list, bool brief, cs_table *out)
{
    cs_table table = {0};
    cs_status status = cs_table_init(
        &table, brief ? "id,form,verdict,lhs,relation,rhs,margin,error,statement"
                      : "id,form,verdict,lhs,relation,rhs,margin,error,statement,input,"
                        "counterexample");
    for (int64_t i = 0; status == CS_OK && i < list->count; ++i) {
        const cs_statement *s = &list->item[i];
        const struct {
            const char *column, *text;
        } words[] = {{"id", s->id},
                     {"form", form_name(s->form)},
                     {"verdict", cs_verdict_name(s->verdict)},
                     {"relation", relation_name(s->relation)},
                     {"statement", s->text},
                     {"input", s->input},
                     {"counterexample", s->counterexample ? s->counterexample : ""}};
        const struct {
            const char *column;
            double value;
        } numbers[] = {{"lhs", s->lhs},
                       {"rhs", s->rhs},
                       {"margin", cs_statement_margin(s)},
                       {"error", s->error}};
        const size_t columns = sizeof words / sizeof *words - (brief ? 2 : 0);
        status = cs_table_row(&table);
        for (size_t j = 0; status == CS_OK && j < columns; ++j) {
            status = cs_table_text(&table, words[j].column, words[j].text);
        }
        for (size_t j = 0; status == CS_OK && j < sizeof numbers / sizeof *numbers; ++j) {
            status = cs_table_real(&table, numbers[j].column, numbers[j].value);
        }
    }
    if (status != CS_OK) {
        cs_table_free(&table);
        return status;
    }
    *out = table;
    return CS_OK;
}

static const cs_statement *first_corrected(const cs_statements *list, cs_verdict verdict)
{
    for (int64_t i = 0; i < list->count; ++i) {
        const cs_statement *s = &list->item[i];
        if (s->form == CS_CORRECTED && s->verdict == verdict && !s->attained) {
            return s;
        }
    }
    return NULL;
}

bool cs_statements_failed(const cs_statements *list)
{
    return first_corrected(list, CS_FAIL) != NULL;
}

const cs_statement *cs_statements_inconclusive(const cs_statements *list)
{
    return first_corrected(list, CS_INCONCLUSIVE);
}
