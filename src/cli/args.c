/* Reading a parsed command line, and its form in JSON. */
#include "cli/args.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/json.h"

cs_opt_value *cs_args_find(const cs_args *args, const char *name, size_t length)
{
    for (int i = 0; i < args->values; ++i) {
        const char *known = args->value[i].opt->name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return &args->value[i];
        }
    }
    return NULL;
}

void cs_args_free(cs_args **held)
{
    cs_args *args = *held;
    if (!args) {
        return;
    }
    for (int i = 0; i < args->values; ++i) {
        for (int j = 0; j < args->value[i].count; ++j) {
            cs_free(args->value[i].text[j]);
        }
        cs_free(args->value[i].text);
    }
    cs_free(args->value);
    for (int i = 0; i < args->positionals; ++i) {
        cs_free(args->positional[i]);
    }
    cs_free(args->positional);
    for (int i = 0; i < args->argc; ++i) {
        cs_free(args->argv[i]);
    }
    cs_free(args->argv);
    for (int i = 0; i < args->inputs; ++i) {
        cs_free(args->input[i].path);
    }
    cs_free(args->input);
    for (int i = 0; i < args->outputs; ++i) {
        cs_free(args->output[i].path);
    }
    cs_free(args->output);
    free(args->printed);
    cs_free(args->result);
    cs_result_free(&args->record);
    cs_free(args);
    *held = NULL;
}

/* --- accessors -------------------------------------------------------------------------------- */

/* A common option that the command leaves out reads as unset. */
static const cs_opt_value *value_of(const cs_args *args, const char *name)
{
    static const cs_opt_value unset = {.integer = INT64_MIN, .real = (double)NAN};
    const cs_opt_value *v = cs_args_find(args, name, strlen(name));
    if (!v) {
        bool known = false;
        for (const cs_opt *o = cs_opt_common; o->name; ++o) {
            known = known || strcmp(o->name, name) == 0;
        }
        assert(known);
        (void)known;
    }
    return v ? v : &unset;
}

bool cs_args_given(const cs_args *args, const char *name)
{
    return value_of(args, name)->given;
}

const char *cs_args_given_of(const cs_args *args, const cs_opt *group)
{
    for (; group->name; ++group) {
        if (cs_args_given(args, group->name)) {
            return group->name;
        }
    }
    return NULL;
}

const char *cs_args_given_in(const cs_args *args, const char *names)
{
    for (const char *p = names; *p; p += strspn(p, " ")) {
        size_t word = strcspn(p, " ");
        const cs_opt_value *v = cs_args_find(args, p, word);
        if (v && v->given) {
            return v->opt->name;
        }
        p += word;
    }
    return NULL;
}

cs_status cs_args_refuse(const cs_args *args, const char *names, const char *why)
{
    const char *given = cs_args_given_in(args, names);
    return given ? cs_fail(CS_ERR_USAGE, "--%s %s", given, why) : CS_OK;
}

bool cs_args_is(const cs_args *args, const char *name, const char *value)
{
    const char *text = cs_args_text(args, name);
    return text && strcmp(text, value) == 0;
}

int cs_args_choice(const cs_args *args, const char *name)
{
    const char *text = cs_args_text(args, name), *p = value_of(args, name)->opt->argument;
    const size_t length = strlen(text);
    int number = 0;
    while (strncmp(p, text, length) != 0 || (p[length] != '|' && p[length] != '\0')) {
        p += strcspn(p, "|") + 1;
        number += 1;
    }
    return number;
}

int64_t cs_args_int_or(const cs_args *args, const char *name, int64_t fallback)
{
    const int64_t value = cs_args_int(args, name);
    return value == INT64_MIN ? fallback : value;
}

double cs_args_real_or(const cs_args *args, const char *name, double fallback)
{
    const double value = cs_args_real(args, name);
    return isnan(value) ? fallback : value;
}

bool cs_args_flag(const cs_args *args, const char *name)
{
    return value_of(args, name)->flag;
}

int64_t cs_args_int(const cs_args *args, const char *name)
{
    return value_of(args, name)->integer;
}

double cs_args_real(const cs_args *args, const char *name)
{
    return value_of(args, name)->real;
}

const char *cs_args_text(const cs_args *args, const char *name)
{
    const cs_opt_value *v = value_of(args, name);
    return v->count > 0 ? v->text[v->count - 1] : NULL;
}

int cs_args_count(const cs_args *args, const char *name)
{
    return value_of(args, name)->count;
}

const char *cs_args_text_at(const cs_args *args, const char *name, int index)
{
    const cs_opt_value *v = value_of(args, name);
    assert(index >= 0 && index < v->count);
    return v->text[index];
}

int cs_args_positionals(const cs_args *args)
{
    return args->positionals;
}

const char *cs_args_positional(const cs_args *args, int index)
{
    assert(index >= 0 && index < args->positionals);
    return args->positional[index];
}

const cs_command *cs_args_command(const cs_args *args)
{
    return args->command;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *value_json(const cs_opt_value *v, const char *text)
{
    switch (v->opt->kind) {
    case CS_OPT_INT:
    case CS_OPT_SIZE:
        return json_integer(v->integer);
    case CS_OPT_REAL:
        return cs_json_number(v->real);
    default:
        return json_string(text);
    }
}

json_t *cs_args_json(const cs_args *args)
{
    json_t *object = json_object();
    bool ok = object != NULL;
    for (int i = 0; ok && i < args->values; ++i) {
        const cs_opt_value *v = &args->value[i];
        json_t *item = NULL;
        if (v->opt->kind == CS_OPT_FLAG) {
            item = json_boolean(v->flag);
        } else if (v->opt->repeated) {
            item = json_array();
            for (int j = 0; j < v->count; ++j) {
                ok = ok && json_array_append_new(item, json_string(v->text[j])) == 0;
            }
        } else {
            item = v->count > 0 ? value_json(v, v->text[0]) : json_null();
        }
        ok = json_object_set_new(object, v->opt->name, item) == 0 && ok;
    }
    if (!ok) {
        json_decref(object);
        (void)cs_fail(CS_ERR_MEMORY, "out of memory for the options");
        return NULL;
    }
    return object;
}

json_t *cs_args_given_json(const cs_args *args)
{
    json_t *array = json_array();
    for (int i = 0; array && i < args->values; ++i) {
        if (args->value[i].given &&
            json_array_append_new(array, json_string(args->value[i].opt->name)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}
