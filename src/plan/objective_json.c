/* Objectives as JSON: every parameter under its key, whether it is taken or not. */
#include <stdio.h>

#include "io/json.h"
#include "plan/parameter.h"
#include "plan/spec.h"

/* Keys of the two values of a range, or of the distribution and its value. */
static void keys_of(const cs_parameter *p, char key[2][32])
{
    bool range = p->kind == CS_PARAMETER_NUMBERS || p->kind == CS_PARAMETER_RATIOS;
    bool distribution = p->kind == CS_PARAMETER_OFFSETS;
    (void)snprintf(key[0], 32, "%s%s", p->key, range ? "_lo" : "");
    (void)snprintf(key[1], 32, "%s%s", p->key, range ? "_hi" : distribution ? "_value" : "");
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
    case CS_PARAMETER_SHARE: /* left out where all are kept */
        if (*ratio != 1) cs_json_put(status, object, key[0], cs_json_number(*ratio));
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
    return CS_DELIVER(status, out, object, cs_json_free);
}

static void get_choice(cs_json_reader *r, const char *key, const cs_parameter *p, int *out)
{
    const char *text = cs_json_word(r, key);
    if (r->status == CS_OK && cs_parameter_choose(p, text, out) != CS_OK)
        r->status = cs_fail(CS_ERR_INPUT, "field 'parameters.%s': unknown value '%s'", key, text);
}

static void get_parameter(const cs_parameter *p, cs_json_reader *r, cs_objective *o)
{
    char key[2][32];
    void *member = cs_parameter_member(p, o);
    int64_t *count = member;
    double *ratio = member;
    keys_of(p, key);
    switch (p->kind) {
    case CS_PARAMETER_CHOICE: /* older files do not have these: the default */
        if (json_object_get(r->object, key[0]) ||
            (member != &o->target_weight && member != &o->permutation)) {
            get_choice(r, key[0], p, member);
        }
        return;
    case CS_PARAMETER_NUMBER:
        *count = cs_json_int(r, key[0], -1);
        return;
    case CS_PARAMETER_NUMBERS:
        count[0] = cs_json_int(r, key[0], -1);
        count[1] = cs_json_int(r, key[1], -1);
        return;
    case CS_PARAMETER_RATIOS:
        ratio[0] = cs_json_real(r, key[0], true);
        ratio[1] = cs_json_real(r, key[1], true);
        return;
    case CS_PARAMETER_OFFSETS:
        get_choice(r, key[0], p, member);
        o->offset_value = cs_json_real(r, key[1], true);
        return;
    case CS_PARAMETER_SHARE:
        *ratio = json_object_get(r->object, key[0]) ? cs_json_real(r, key[0], false) : 1;
        return;
    default:
        return;
    }
}

/* The parts, or once a specification. */
static cs_status get_mix(cs_json_reader *r, cs_plan_file *held, cs_objective *o)
{
    json_t *parts = json_object_get(r->object, "mixture");
    const char *path = json_string_value(json_object_get(r->object, "source_file"));
    unsigned set = 0;
    cs_status status = CS_OK;
    if (json_is_string(parts)) {
        status = cs_objective_read(json_string_value(parts), &set, held, o);
    } else {
        if (!parts) cs_json_refuse(r, "mixture", "an array");
        status = parts ? cs_plan_file_mixture(parts, path, held) : r->status;
        o->file = held;
    }
    if (status == CS_OK) status = cs_objective_complete(o, 0);
    return status == CS_ERR_USAGE ? cs_blame(CS_ERR_INPUT, "field 'parameters.mixture'") : status;
}

cs_status cs_objective_from_json(const json_t *object, cs_plan_file *held, cs_objective *out)
{
    cs_json_reader r = {object, "parameters.", CS_OK};
    const char *name = cs_json_word(&r, "name");
    cs_objective_kind kind = CS_OBJ_AR;
    if (r.status != CS_OK) return r.status;
    if (cs_objective_by_name(name, &kind) != CS_OK) {
        return cs_blame(CS_ERR_INPUT, "field 'parameters.name'");
    }
    cs_objective o = cs_objective_default(kind);
    if (kind == CS_OBJ_MIX) r.status = get_mix(&r, held, &o);
    for (int i = 0; i < CS_PARAMETERS_ALL; ++i) {
        get_parameter(cs_parameter_table(i), &r, &o);
    }
    if (r.status == CS_OK) *out = o;
    return r.status;
}
