/* Objectives as JSON: every parameter under its key, whether it is taken or not. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "plan/mix_private.h"
#include "plan/parameter.h"
#include "plan/spec.h"

/* Keys of the two values of a range, or of the law and its value. */
static void keys_of(const cs_parameter *p, char key[2][32])
{
    bool range = p->kind == CS_PARAMETER_NUMBERS || p->kind == CS_PARAMETER_RATIOS;
    bool law = p->kind == CS_PARAMETER_OFFSETS;
    (void)snprintf(key[0], 32, "%s%s", p->key, range ? "_lo" : "");
    (void)snprintf(key[1], 32, "%s%s", p->key, range ? "_hi" : law ? "_value" : "");
}

static void put_parameter(cs_status *status, const cs_parameter *p, const cs_objective *o,
                          json_t *object)
{
    char key[2][32], name[16];
    const void *member = cs_parameter_member(p, o);
    const int64_t *count = member;
    const double *ratio = member;
    keys_of(p, key);
    switch (p->kind) {
    case CS_PARAMETER_NUMBERS:
        cs_json_put(status, object, key[0], json_integer(count[0]));
        cs_json_put(status, object, key[1], json_integer(count[1]));
        return;
    case CS_PARAMETER_NUMBER:
        cs_json_put(status, object, key[0], json_integer(*count));
        return;
    case CS_PARAMETER_RATIOS:
        cs_json_put(status, object, key[0], cs_json_number(ratio[0]));
        cs_json_put(status, object, key[1], cs_json_number(ratio[1]));
        return;
    case CS_PARAMETER_FILE:
        if (o->file && o->file->path) {
            cs_json_put(status, object, "source_file", cs_json_text(o->file->path));
        }
        return;
    default:
        cs_parameter_chosen(p, o, name, sizeof name);
        cs_json_put(status, object, key[0], json_string(name));
        if (p->kind == CS_PARAMETER_OFFSETS) {
            cs_json_put(status, object, key[1], cs_json_number(o->offset_value));
        }
    }
}

cs_status cs_objective_to_json(const cs_objective *o, json_t **out)
{
    json_t *object = json_object();
    cs_status status = object ? CS_OK : CS_ERR_MEMORY;
    cs_json_put(&status, object, "name", json_string(cs_objective_name(o->kind)));
    for (int i = 0; i < CS_PARAMETERS_ALL; ++i) {
        put_parameter(&status, cs_parameter_table(i), o, object);
    }
    if (o->kind == CS_OBJ_MIX) {
        cs_json_put(&status, object, "mixture", json_incref(cs_plan_file_parts(o->file)));
    }
    if (status != CS_OK) {
        json_decref(object);
        return status;
    }
    *out = object;
    return CS_OK;
}

static cs_status bad_field(const char *key, const char *wanted)
{
    return cs_fail(CS_ERR_INPUT, "field 'parameters.%s' is missing or not %s", key, wanted);
}

static cs_status get_count(const json_t *object, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= -1 ? CS_OK : bad_field(key, "an integer");
}

/* null stands for NaN. */
static cs_status get_real(const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_number(value) ? json_number_value(value) : NAN;
    return json_is_number(value) || json_is_null(value) ? CS_OK : bad_field(key, "a number");
}

static cs_status get_choice(const json_t *object, const char *key, const cs_parameter *p, int *out)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) {
        return bad_field(key, "a text");
    }
    return cs_parameter_choose(p, text, out) == CS_OK
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "field 'parameters.%s': unknown '%s'", key, text);
}

static cs_status get_parameter(const cs_parameter *p, const json_t *object, cs_objective *o)
{
    char key[2][32];
    void *member = cs_parameter_member(p, o);
    int64_t *count = member;
    double *ratio = member;
    cs_status status = CS_OK;
    keys_of(p, key);
    switch (p->kind) {
    case CS_PARAMETER_CHOICE:
        return json_object_get(object, key[0]) || member != &o->target_weight
                   ? get_choice(object, key[0], p, member)
                   : CS_OK; /* files of before do not have it: the plans' */
    case CS_PARAMETER_NUMBER:
        return get_count(object, key[0], count);
    case CS_PARAMETER_NUMBERS:
        status = get_count(object, key[0], &count[0]);
        return status == CS_OK ? get_count(object, key[1], &count[1]) : status;
    case CS_PARAMETER_RATIOS:
        status = get_real(object, key[0], &ratio[0]);
        return status == CS_OK ? get_real(object, key[1], &ratio[1]) : status;
    case CS_PARAMETER_OFFSETS:
        status = get_choice(object, key[0], p, member);
        return status == CS_OK ? get_real(object, key[1], &o->offset_value) : status;
    default:
        return CS_OK;
    }
}

/* The parts, or once a specification. */
static cs_status get_mix(const json_t *object, cs_plan_file *held, cs_objective *o)
{
    json_t *parts = json_object_get(object, "mixture");
    const char *path = json_string_value(json_object_get(object, "source_file"));
    unsigned set = 0;
    cs_status status = CS_OK;
    if (json_is_string(parts)) {
        status = cs_objective_read(json_string_value(parts), &set, held, o);
    } else {
        status = parts ? cs_plan_file_mixture(parts, path, held) : bad_field("mixture", "an array");
        o->file = held;
    }
    if (status == CS_OK) status = cs_objective_complete(o, 0);
    return status == CS_ERR_USAGE ? cs_blame(CS_ERR_INPUT, "field 'parameters.mixture'") : status;
}

cs_status cs_objective_from_json(const json_t *object, cs_plan_file *held, cs_objective *out)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    cs_objective_kind kind = CS_OBJ_AR;
    if (!name) {
        return bad_field("name", "a text");
    }
    if (cs_objective_by_name(name, &kind) != CS_OK) {
        return cs_blame(CS_ERR_INPUT, "field 'parameters.name'");
    }
    cs_objective o = cs_objective_default(kind);
    cs_status status = kind == CS_OBJ_MIX ? get_mix(object, held, &o) : CS_OK;
    for (int i = 0; i < CS_PARAMETERS_ALL && status == CS_OK; ++i) {
        status = get_parameter(cs_parameter_table(i), object, &o);
    }
    if (status == CS_OK) *out = o;
    return status;
}
