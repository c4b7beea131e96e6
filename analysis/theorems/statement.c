/* Statements and their verdicts.
 *
 * A verdict follows from numbers alone: the two sides and a bound on the numerical error of their
 * difference. Equality passes within the error; an inequality passes when it holds beyond the
 * error, so an inequality that is attained (margin 0) is INCONCLUSIVE unless its error is exactly
 * 0; it is then marked as attained. Sides that are not numbers are INCONCLUSIVE.
 */
#include "analysis/theorems/statement.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

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

const char *cs_verdict_words(cs_verdict verdict, cs_statement_form form)
{
    return verdict == CS_PASS           ? "holds"
           : verdict == CS_VACUOUS      ? "holds, but vacuous"
           : verdict == CS_INCONCLUSIVE ? "undetermined"
           : verdict == CS_UNSPECIFIED  ? "not specified"
           : form == CS_PRINTED         ? "false as printed"
                                        : "false";
}

const char *cs_form_name(cs_statement_form form)
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
    CS_FREE_FIELDS(s, text, input, counterexample);
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

cs_status cs_statements_status(const cs_statements *list)
{
    for (int64_t i = 0; i < list->count; ++i) {
        if (list->item[i].status != CS_OK) return list->item[i].status;
    }
    return list->status;
}

cs_statement *cs_statements_add(cs_statements *list, const char *id, cs_statement_form form,
                                cs_relation relation, const char *text, const char *input)
{
    cs_statement s = {.theorem = list->theorem,
                      .form = form,
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
    if (!s.text || !s.input ||
        cs_reserve(&list->item, &list->capacity, list->count + 1, sizeof *list->item) != CS_OK) {
        statement_free(&s);
        list->status = CS_ERR_MEMORY;
        return NULL;
    }
    list->item[list->count] = s;
    return &list->item[list->count++];
}

cs_statement *cs_statements_claim(cs_statements *list, const cs_claim *c)
{
    cs_statement *s = cs_statements_add(list, c->id, c->form, c->relation, c->text, c->input);
    cs_statement_evaluate(s, c->lhs, c->rhs, c->error);
    cs_statement_counterexample(s, "%s: %.12g against %.12g", c->input, c->lhs, c->rhs);
    return s;
}

void cs_statements_mark(cs_statements *list, int64_t first)
{
    for (int64_t i = first; i < list->count; ++i) {
        list->item[i].example = true;
    }
}

void cs_statement_evaluate(cs_statement *s, double lhs, double rhs, double error)
{
    if (!s) {
        return;
    }
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

cs_claim_state cs_claim_state_of(double lhs, double rhs, double error)
{
    const double margin = rhs - lhs;
    if (!isfinite(lhs) || !isfinite(rhs) || !isfinite(error)) {
        return CS_CLAIM_STATE_UNKNOWN;
    }
    return margin < -error  ? CS_CLAIM_STATE_FAILS
           : margin < error ? CS_CLAIM_STATE_UNDECIDED
                            : CS_CLAIM_STATE_HOLDS;
}

void cs_statement_withhold(cs_statement *s)
{
    if (!s) {
        return;
    }
    s->verdict = CS_INCONCLUSIVE;
    s->attained = false;
    cs_free(s->counterexample);
    s->counterexample = NULL;
}

/* The first failure of a statement stays. */
static bool taken(cs_statement *s, bool done)
{
    if (!done && s->status == CS_OK)
        s->status = cs_fail(CS_ERR_MEMORY, "out of memory for the details of a statement");
    return done;
}

void cs_statement_assume(cs_statement *s, const char *text, bool holds, double value)
{
    if (!s) {
        return;
    }
    if (!s->assumptions) {
        s->assumptions = json_array();
    }
    json_auto_t *item = json_object();
    bool done = s->assumptions && item && cs_json_set(item, "text", json_string(text)) == CS_OK &&
                cs_json_set(item, "holds", json_boolean(holds)) == CS_OK &&
                cs_json_set(item, "value", cs_json_number(value)) == CS_OK &&
                json_array_append(s->assumptions, item) == 0;
    (void)taken(s, done);
}

void cs_statement_detail(cs_statement *s, const char *key, json_t *value)
{
    if (s && !s->details) {
        s->details = json_object();
    }
    if (!s || !taken(s, s->details != NULL)) {
        json_decref(value);
        return;
    }
    (void)taken(s, cs_json_set(s->details, key, value) == CS_OK);
}

void cs_statement_real(cs_statement *s, const char *key, double x)
{
    cs_statement_detail(s, key, cs_json_number(x));
}

void cs_statement_int(cs_statement *s, const char *key, int64_t x)
{
    cs_statement_detail(s, key, json_integer(x));
}

void cs_statement_reals(cs_statement *s, int64_t count, const cs_detail *detail)
{
    for (int64_t i = 0; i < count; ++i) {
        cs_statement_real(s, detail[i].key, detail[i].value);
    }
}

void cs_statement_unspecify(cs_statement *s, const char *why, double value)
{
    cs_statement_withhold(s);
    cs_statement_assume(s, why, false, value);
    if (s) s->verdict = CS_UNSPECIFIED;
}

void cs_statement_counterexample(cs_statement *s, const char *format, ...)
{
    if (!s || s->verdict != CS_FAIL) {
        return;
    }
    va_list args;
    va_start(args, format);
    char *text = cs_format_list(format, args);
    va_end(args);
    if (taken(s, text != NULL)) {
        cs_free(s->counterexample);
        s->counterexample = text;
    }
}

static void record(const cs_statement *s, cs_item *in)
{
    CS_ITEM_FIELDS(in, s, id, attained, input, lhs, rhs, error, trivial);
    cs_item_text(in, "form", cs_form_name(s->form));
    cs_item_text(in, "relation", relation_name(s->relation));
    cs_item_text(in, "verdict", cs_verdict_name(s->verdict));
    cs_item_text(in, "statement", s->text);
    cs_item_real(in, "margin", cs_statement_margin(s));
    cs_item_json(in, "assumptions", s->assumptions ? json_incref(s->assumptions) : json_null());
    cs_item_text(in, "counterexample", s->counterexample);
    cs_item_json(in, "details", s->details ? json_incref(s->details) : json_null());
    cs_item_flag(in, "example", s->example);
    cs_item_text(in, "theorem", s->theorem);
}

void cs_statements_record(const cs_statements *list, cs_item *root)
{
    cs_item *array = cs_item_array(root, "statements");
    for (int64_t i = 0; i < list->count; ++i) {
        record(&list->item[i], cs_item_object(array, NULL));
    }
}

const cs_view cs_statements_view = {
    "statements[]",
    "id form verdict lhs relation rhs margin error statement input counterexample example theorem"};

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
