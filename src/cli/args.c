/* Reading a parsed command line, and its form in JSON. */
#include "cli/args.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_names.h"
#include "base/mem.h"
#include "cli/in_memory.h"
#include "io/file.h"
#include "io/json.h"
#include "linalg/matrix_file.h"

const cs_opt cs_opt_common[] = {
    CS_FLAG("json", "Print the result as JSON."),
    CS_FLAG("csv", "Print the result as CSV, one observation per row."),
    CS_TEXTS("metric", "NAME",
             "Print only the rows of this metric. Has no effect on --json and --csv. May be "
             "repeated."),
    CS_FLAG("all", "Print every row and column of the result, as --csv and the files do."),
    {"output", 'o', CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "Write the results and manifest.json into DIR, which is created.", false},
    CS_INT("seed", "N", "0", 0, 9.2e18, "Seed of all random numbers."),
    CS_INT("threads", "N", NULL, 1, 256,
           "Number of threads. Default: OMP_NUM_THREADS, else all cores."),
    CS_CHOICE("device", "cpu|cuda|cuda:N|auto", "auto",
              "Where to compute. auto trains and runs models on a GPU if there is one. cuda fails "
              "without a GPU, and in commands that do not use one."),
    CS_TEXT("config", "FILE", NULL,
            "Read options from a JSON object {\"option\": value}. The command line takes "
            "precedence."),
    CS_FLAG("dry-run", "Estimate size and memory, and stop before the computation."),
    CS_FLAG("resume", "With -o: keep a finished result of the same program, options and inputs."),
    CS_FLAG("force", "Overwrite existing results."),
    {"quiet", 'q', CS_OPT_FLAG, NULL, NULL, 0, 0, "Print no notes and no progress.", false},
    {"help", 'h', CS_OPT_FLAG, NULL, NULL, 0, 0, "Show the command's help.", false},
    CS_FLAG("help-all", "Show the command's help with all options explained."),
    {0},
};

static bool same_name(const char *known, const char *name, size_t length)
{
    size_t i = 0;
    while (i < length && known[i] == (name[i] == '_' ? '-' : name[i])) {
        ++i;
    }
    return i == length && known[i] == '\0';
}

cs_opt_value *cs_args_find(const cs_args *args, const char *name, size_t length)
{
    for (int i = 0; i < args->values; ++i) {
        if (same_name(args->value[i].opt->name, name, length)) {
            return &args->value[i];
        }
    }
    return NULL;
}

cs_status cs_words_take(cs_words *list, char *text)
{
    char **grown = text ? cs_realloc(list->text, list->count + 1, sizeof *grown) : NULL;
    if (!grown) {
        cs_free(text);
        return CS_ERR_MEMORY;
    }
    list->text = grown;
    list->text[list->count++] = text;
    return CS_OK;
}

void cs_words_free(cs_words *list)
{
    for (int i = 0; i < list->count; ++i) {
        cs_free(list->text[i]);
    }
    cs_free(list->text);
    *list = (cs_words){0};
}

void cs_args_free(cs_args **held)
{
    cs_args *args = *held;
    if (!args) {
        return;
    }
    for (int i = 0; i < args->values; ++i) {
        cs_words_free(&args->value[i].text);
    }
    cs_free(args->value);
    cs_words_free(&args->positional);
    cs_words_free(&args->line);
    cs_words_free(&args->kept);
    cs_words_free(&args->claimed);
    CS_FREE_FIELDS(args, input, output);
    json_decref(args->digests);
    free(args->printed);
    cs_result_free(&args->record);
    cs_free(args);
    *held = NULL;
}

const char *cs_args_keep(cs_args *args, char *text)
{
    return cs_words_take(&args->kept, text) == CS_OK ? text : NULL;
}

const char *cs_args_join(cs_args *args, const char *dir, const char *file)
{
    return cs_args_keep(args, cs_path_join(dir, file));
}

cs_status cs_args_named(cs_args *args, const char *text, const char **name, const char **rest)
{
    const char *equals = cs_path_exists(text) ? NULL : strrchr(text, '=');
    *name = equals ? cs_args_format(args, "%.*s", (int)(equals - text), text) : text;
    *rest = equals ? equals + 1 : text;
    return *name ? CS_OK : CS_ERR_MEMORY;
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
            known = known || same_name(o->name, name, strlen(name));
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

const char *cs_args_said(const cs_args *args, const char *name)
{
    return value_of(args, name)->said;
}

const char *cs_args_given_of(const cs_args *args, const cs_opt *group)
{
    for (; group->name; ++group) {
        if (group->kind != CS_OPT_HEADING && cs_args_given(args, group->name)) {
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
    return cs_choice_number(value_of(args, name)->opt->argument, cs_args_text(args, name));
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
    return v->text.count > 0 ? v->text.text[v->text.count - 1] : NULL;
}

int cs_args_count(const cs_args *args, const char *name)
{
    return value_of(args, name)->text.count;
}

const char *cs_args_text_at(const cs_args *args, const char *name, int index)
{
    const cs_opt_value *v = value_of(args, name);
    assert(index >= 0 && index < v->text.count);
    return v->text.text[index];
}

const char *const *cs_args_texts(const cs_args *args, const char *name)
{
    return (const char *const *)value_of(args, name)->text.text;
}

void cs_args_field(const cs_args *args, const char *member, cs_opt_kind kind, size_t size,
                   void *out)
{
    const cs_opt_value *v = value_of(args, member);
    if (v->text.count == 0) {
        return;
    }
    assert(kind == CS_OPT_TEXT || v->opt->kind == kind ||
           (kind == CS_OPT_INT && v->opt->kind == CS_OPT_SIZE));
    const int number = kind == CS_OPT_CHOICE ? cs_args_choice(args, member) : (int)v->integer;
    const char *text = cs_args_text(args, member);
    const void *const from = kind == CS_OPT_FLAG   ? (const void *)&v->flag
                             : kind == CS_OPT_REAL ? (const void *)&v->real
                             : kind == CS_OPT_TEXT ? (const void *)&text
                             : size == sizeof(int) ? (const void *)&number
                                                   : (const void *)&v->integer;
    memcpy(out, from, size);
}

int cs_args_positionals(const cs_args *args)
{
    return args->positional.count;
}

const char *cs_args_positional(const cs_args *args, int index)
{
    assert(index >= 0 && index < args->positional.count);
    return args->positional.text[index];
}

const char *const *cs_args_words(const cs_args *args)
{
    return (const char *const *)args->positional.text;
}

const cs_command *cs_args_command(const cs_args *args)
{
    return args->command;
}

/* --- arguments in memory ---------------------------------------------------------------------- */

cs_in_memory *cs_args_in_memory(const cs_args *args)
{
    return args->memory;
}

const cs_memory_item *cs_args_item(const cs_args *args, const char *word)
{
    for (int i = 0; args->memory && word && i < args->memory->items; ++i) {
        if (strcmp(args->memory->item[i].word, word) == 0) {
            return &args->memory->item[i];
        }
    }
    return NULL;
}

const cs_array *cs_args_array(const cs_args *args, const char *option)
{
    const cs_memory_item *item = cs_args_item(args, cs_args_text(args, option));
    return item && item->kind == CS_ITEM_ARRAY ? &item->array : NULL;
}

cs_status cs_args_rows(const cs_args *args, const char *word, cs_rows *out)
{
    const cs_memory_item *item = cs_args_item(args, word);
    if (!item) {
        return cs_rows_open(word, out);
    }
    const cs_array *a = &item->array;
    if (item->kind != CS_ITEM_ARRAY || a->ndim != 2 || a->size == 0 ||
        (a->dtype != CS_F32 && a->dtype != CS_F64)) {
        return cs_fail(CS_ERR_INPUT, "%s: not a matrix of float32 or float64", word);
    }
    *out = a->dtype == CS_F64 ? cs_rows_of_f64(a->shape[0], a->shape[1], a->data, word)
                              : cs_rows_of_f32(a->shape[0], a->shape[1], a->data, word);
    return CS_OK;
}

cs_status cs_args_read_matrix(const cs_args *args, const char *word, cs_nonempty_rows *rows,
                              cs_csr *out)
{
    const cs_memory_item *item = cs_args_item(args, word);
    if (!item) {
        return cs_matrix_read_filled(word, rows, out);
    }
    if (item->kind != CS_ITEM_MATRIX) {
        return cs_fail(CS_ERR_INPUT, "%s: not a matrix", word);
    }
    const cs_csr *a = &item->matrix;
    cs_status status = cs_matrix_admit(word, a->rows, a->cols, a->rows);
    if (status == CS_OK) status = cs_csr_check(a, false);
    if (status != CS_OK) return status;
    *rows = cs_nonempty_rows_all(a->rows);
    *out = *a;
    return CS_OK;
}

/* --- JSON ------------------------------------------------------------------------------------- */

json_t *cs_json_whole(json_t *value, bool whole)
{
    if (!whole) {
        json_decref(value);
        (void)cs_fail(CS_ERR_MEMORY, "out of memory for the options");
    }
    return whole ? value : NULL;
}

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
            for (int j = 0; j < v->text.count; ++j) {
                ok = json_array_append_new(item, json_string(v->text.text[j])) == 0 && ok;
            }
        } else {
            item = v->text.count > 0 ? value_json(v, v->text.text[0]) : json_null();
        }
        ok = json_object_set_new(object, v->opt->name, item) == 0 && ok;
    }
    return cs_json_whole(object, ok);
}

json_t *cs_args_names_json(const cs_args *args, bool supposed)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (int i = 0; i < args->values; ++i) {
        const cs_opt_value *v = &args->value[i];
        const bool named = supposed ? v->supposed : v->given;
        ok = ok && (!named || json_array_append_new(array, json_string(v->opt->name)) == 0);
    }
    return cs_json_whole(array, ok);
}
