/* The expansion of a study (docs/reference/studies.md): the sections and claims that are made once
 * for each row of a table, as papers print them. Later stages see steps and claims alone. */
#include "analysis/study/lookup_private.h"
#include "base/auto.h"

#include <string.h>

#include "io/json.h"

/* As deep as the file, which the reader bounds. NOLINTBEGIN(misc-no-recursion) */
cs_status cs_study_put_texts(json_t *value, cs_put_text *put, const void *ctx)
{
    const char *key = NULL;
    size_t i = 0;
    json_t *item = NULL;
    cs_status status = CS_OK;
    if (json_is_string(value)) {
        CS_AUTO_FREE char *text = NULL;
        status = put(ctx, json_string_value(value), &text);
        if (status == CS_OK && json_string_set(value, text) != 0) status = CS_ERR_MEMORY;
        return status;
    }
    json_object_foreach(value, key, item)
    {
        if (status == CS_OK) status = cs_blame(cs_study_put_texts(item, put, ctx), "%s", key);
    }
    json_array_foreach(value, i, item)
    {
        if (status == CS_OK) status = cs_study_put_texts(item, put, ctx);
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

/* --- rows --- */

typedef struct {
    const json_t *tables, *row;
} place;

const json_t *cs_study_row(const json_t *rows, const char *name)
{
    const json_t *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row)
    {
        const char *own = json_string_value(json_object_get(row, "name"));
        if (own && strcmp(own, name) == 0) return row;
    }
    return NULL;
}

/* The text of FIELD, or of TABLE[FIELD].OTHER: of the row that the field names; NULL: none. */
static const char *field(const place *at, const char *name, size_t length)
{
    const size_t table = strcspn(name, "[}"), inner = strcspn(name, "]}");
    if (table >= length) return json_string_value(cs_json_member(at->row, name, length));
    const char *key = name + table + 1;
    const json_t *rows = cs_json_member(at->tables, name, table);
    const char *of = json_string_value(cs_json_member(at->row, key, inner - table - 1));
    const json_t *row =
        of && inner + 1 < length && name[inner + 1] == '.' ? cs_study_row(rows, of) : NULL;
    return json_string_value(cs_json_member(row, name + inner + 2, length - inner - 2));
}

/* `text` with fields in place of their names in braces. */
static cs_status put_fields(const void *at, const char *text, char **out)
{
    char *done = cs_strdup("");
    for (const char *mark = strchr(text, '{'); mark && done; mark = strchr(text, '{')) {
        const size_t length = strcspn(mark + 1, "}");
        const char *value = mark[1 + length] ? field(at, mark + 1, length) : NULL;
        if (!value) {
            cs_free(done);
            return cs_fail(CS_ERR_INPUT, "no field {%.*s}", (int)length, mark + 1);
        }
        cs_append(&done, "%.*s%s", (int)(mark - text), text, value);
        text = mark + 2 + length;
    }
    cs_append(&done, "%s", text);
    *out = done;
    return done ? CS_OK : CS_ERR_MEMORY;
}

/* Adds a copy of a member whose name, and every text of it, has the row's fields. */
static cs_status add_filled(json_t *into, const char *name, const json_t *value, const place *at)
{
    CS_AUTO_FREE char *own = NULL;
    json_auto_t *copy = json_deep_copy(value);
    cs_status status = copy ? put_fields(at, name, &own) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_study_put_texts(copy, put_fields, at);
    if (status == CS_OK && json_object_get(into, own))
        status = cs_fail(CS_ERR_INPUT, "%s is given twice", own);
    if (status == CS_OK) status = cs_json_set(into, own, json_incref(copy));
    return cs_blame(status, "%s", name);
}

/* The rows that a section, claim or variable is made for, of "each" those that are as "where" has it
 * (none of a table named with '?' behind is no mistake); a new array, NULL without. Takes both keys
 * away. */
static cs_status rows_of(const json_t *tables, json_t *of, json_t **out)
{
    const json_t *each = json_object_get(of, "each"), *where = json_object_get(of, "where");
    const char *name = json_string_value(each), *key = NULL;
    const size_t length = name ? strcspn(name, "?") : 0;
    const json_t *rows = name ? cs_json_member(tables, name, length) : NULL;
    json_t *row = NULL, *wanted = NULL;
    size_t i = 0;
    *out = NULL;
    if (!each) return CS_OK;
    if (!rows)
        return cs_fail(CS_ERR_INPUT, "each: unknown table %s", name ? name : "(no name is given)");
    *out = json_array();
    json_array_foreach(rows, i, row)
    {
        bool fits = true;
        json_object_foreach((json_t *)(uintptr_t)where, key, wanted)
        {
            fits = fits && json_equal(json_object_get(row, key), wanted);
        }
        if (fits && json_array_append(*out, row) != 0) return CS_ERR_MEMORY;
    }
    if (json_array_size(*out) == 0 && !name[length]) {
        return cs_fail(CS_ERR_INPUT, "where: no row of %s matches", name);
    }
    (void)json_object_del(of, "where");
    return json_object_del(of, "each") == 0 ? CS_OK : CS_ERR_MEMORY;
}

/* The section, with {NAME: COMMAND, ...} row by row, goes into `steps`; where its seeds are a field of
 * the rows, each row is a section. */
static cs_status expand_section(const json_t *tables, json_t *section, json_t *steps)
{
    json_t *run = json_object_get(section, "run"), *command = NULL, *row = NULL, *made = section;
    json_auto_t *rows = NULL;
    const char *name = NULL, *seeds = json_string_value(json_object_get(section, "seeds"));
    const bool apart = seeds && strchr(seeds, '{');
    size_t i = 0;
    cs_status status = rows_of(tables, section, &rows);
    if (status == CS_OK && !rows && json_array_append(steps, section) != 0) status = CS_ERR_MEMORY;
    json_array_foreach(rows, i, row)
    {
        const place at = {tables, row};
        if (status == CS_OK && (i == 0 || apart)) {
            made = json_copy(section);
            if (json_is_object(run)) status = cs_json_set(made, "run", json_object());
            if (json_array_append_new(steps, made) != 0) status = CS_ERR_MEMORY;
            if (status == CS_OK && apart) {
                (void)json_object_del(made, "seeds");
                status = add_filled(made, "seeds", json_object_get(section, "seeds"), &at);
            }
        }
        json_object_foreach(run, name, command)
        {
            if (status == CS_OK)
                status = add_filled(json_object_get(made, "run"), name, command, &at);
        }
    }
    return status;
}

static cs_status expand_claims(const json_t *tables, json_t *claims, json_t *all)
{
    json_t *claim = NULL, *row = NULL;
    const char *name = NULL;
    size_t i = 0;
    cs_status status = all ? CS_OK : CS_ERR_MEMORY;
    json_object_foreach(claims, name, claim)
    {
        json_auto_t *rows = NULL;
        if (status == CS_OK) status = cs_blame(rows_of(tables, claim, &rows), "%s", name);
        if (status == CS_OK && !rows) status = cs_json_set(all, name, json_incref(claim));
        json_array_foreach(rows, i, row)
        {
            if (status == CS_OK) status = add_filled(all, name, claim, &(place){tables, row});
        }
    }
    return status;
}

/* {"each": TABLE, "text": TEXT}: a variable that is the texts of the rows, separated by blanks. */
static cs_status join_rows(const json_t *tables, json_t *variable, json_t **out)
{
    const json_t *row = NULL;
    json_auto_t *rows = NULL;
    const char *each = NULL, *text = NULL;
    json_t *where = NULL;
    size_t i = 0;
    CS_AUTO_FREE char *all = cs_strdup("");
    cs_status status =
        all ? cs_json_unpack(variable, "ssm?", "each", &each, "text", &text, "where", &where)
            : CS_ERR_MEMORY;
    if (status == CS_OK) status = rows_of(tables, variable, &rows);
    json_array_foreach(rows, i, row)
    {
        CS_AUTO_FREE char *own = NULL;
        if (status == CS_OK) status = put_fields(&(place){tables, row}, text, &own);
        if (status == CS_OK) cs_append(&all, "%s%s", i ? " " : "", own);
    }
    if (status == CS_OK) *out = all ? json_string(all) : NULL;
    return status;
}

static cs_status expand_variables(const json_t *tables, json_t *variables)
{
    json_t *value = NULL, *joined = NULL;
    const char *name = NULL;
    cs_status status = CS_OK;
    json_object_foreach(variables, name, value)
    {
        if (status != CS_OK || !json_is_object(value)) continue;
        status = cs_blame(join_rows(tables, value, &joined), "variables: %s", name);
        if (status == CS_OK &&
            (!joined || json_object_iter_set_new(variables, json_object_key_to_iter(name), joined)))
            status = CS_ERR_MEMORY;
    }
    return status;
}

/* The names of a table's rows, separated by blanks. */
static cs_status list_names(const json_t *rows, char **out)
{
    const json_t *row = NULL;
    size_t i = 0;
    *out = cs_strdup("");
    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        if (!name) return cs_fail(CS_ERR_INPUT, "row %zu has no \"name\"", i + 1);
        cs_append(out, "%s%s", i ? " " : "", name);
    }
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static cs_status name_table(json_t *variables, const char *name, const json_t *rows)
{
    CS_AUTO_FREE char *list = NULL;
    cs_status status = list_names(rows, &list);
    if (status == CS_OK && json_object_get(variables, name))
        status = cs_fail(CS_ERR_INPUT, "a variable has the same name");
    if (status == CS_OK) status = cs_json_set(variables, name, json_string(list));
    return cs_blame(status, "tables: %s", name);
}

cs_status cs_study_expand(json_t *study)
{
    json_t *section = NULL, *rows = NULL;
    json_auto_t *claims = json_object(), *steps = json_array();
    const char *name = NULL;
    size_t i = 0;
    json_t *tables = json_object_get(study, "tables");
    json_t *variables = json_object_get(study, "variables");
    cs_status status = steps && claims ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && tables && !variables)
        status = cs_json_set(study, "variables", variables = json_object());
    json_object_foreach(tables, name, rows)
    {
        if (status == CS_OK) status = name_table(variables, name, rows);
    }
    if (status == CS_OK) status = expand_variables(tables, variables);
    json_array_foreach(json_object_get(study, "steps"), i, section)
    {
        if (status == CS_OK)
            status = cs_blame(expand_section(tables, section, steps), "steps %zu", i + 1);
    }
    if (status == CS_OK) status = cs_json_set(study, "steps", json_incref(steps));
    if (status == CS_OK)
        status =
            cs_blame(expand_claims(tables, json_object_get(study, "claims"), claims), "claims");
    return status == CS_OK ? cs_json_set(study, "claims", json_incref(claims)) : status;
}
