/* Mixtures as they are read, from a file or from a command line (spec.c), which is converted to the
 * same form. A distribution of a parameter is a group with a part for each value, and two
 * distributions in one part are a group within a group. Constants are set and checked here, the
 * rest where a length is known (mix.c). */
#include "base/auto.h"
#include "plan/mix_private.h"

#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/number.h"
#include "plan/distributions_private.h"
#include "plan/spec.h"

/* A file that is being read, within those that hold it. */
typedef struct source {
    const char *path; /* NULL: a command line */
    const char *real; /* without links; NULL: it is not there */
    const struct source *outer;
} source;

/* The part that is read, -1 for the whole file, and its name for messages. */
typedef struct {
    cs_plan_file *file;
    const source *source;
    int64_t part;
    const char *where;
} place;

static cs_status read_content(json_t *object, place at);

/* --- shares and parameters --- */

/* A number or a text, as text. */
static cs_status text_of(const json_t *value, const char *what, char **out)
{
    char number[CS_REAL_TEXT] = "";
    if (!json_is_number(value) && !json_is_string(value)) {
        return cs_fail(CS_ERR_USAGE, "%s is %s", what,
                       value ? "neither a number nor a string" : "missing");
    }
    if (json_is_number(value)) {
        cs_real_shortest(json_number_value(value), number);
    }
    *out = cs_strdup(number[0] ? number : json_string_value(value));
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* A new part, a group so far, of the part at->part, which becomes the new one. Takes over `where`. */
static cs_status add_part(const json_t *share, char *where, place *at)
{
    cs_plan_file *f = at->file;
    CS_AUTO_FREE char *text = NULL;
    cs_status status = where ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && f->parts == CS_MIX_PARTS)
        status = cs_fail(CS_ERR_USAGE, "a mixture has at most %d parts", CS_MIX_PARTS);
    if (status == CS_OK) status = cs_reserve(&f->part, &f->capacity, f->parts + 1, sizeof *f->part);
    if (status != CS_OK) {
        cs_free(where);
        return status;
    }
    f->part[f->parts] = (cs_mix_part){.above = at->part, .where = where, .group = true};
    at->part = f->parts++;
    at->where = where;
    status = text_of(share, "share", &text);
    if (status == CS_OK)
        status = cs_blame(cs_expression_parse(text, &f->part[at->part].share), "share");
    return cs_blame(status, "%s", where);
}

/* From "VALUE", "LO:HI", "LAW:VALUE" of offsets, or the name of a choice. */
static cs_status set_parameter(int index, const json_t *json, cs_mix_part *part)
{
    const cs_parameter *p = cs_parameter_table(index);
    cs_expression **value = part->value[index];
    CS_AUTO_FREE char *text = NULL;
    cs_status status = text_of(json, p->name, &text);
    char *piece[2] = {text, text && p->kind != CS_PARAMETER_NUMBER ? strchr(text, ':') : NULL};
    int distribution = 0;
    bool varies = false;
    if (status == CS_OK && piece[1]) *piece[1]++ = '\0';
    if (status == CS_OK && p->choices) status = cs_parameter_choose(p, text, &distribution);
    if (status == CS_OK && p->kind == CS_PARAMETER_OFFSETS) {
        part->objective.offset = (cs_offset_kind)distribution;
        piece[0] = piece[1] ? piece[1] : "";
        piece[1] = NULL;
    } else if (status == CS_OK && p->kind == CS_PARAMETER_CHOICE) {
        *(int *)cs_parameter_member(p, &part->objective) = distribution;
        piece[0] = NULL;
    }
    for (int i = 0; i < 2 && status == CS_OK && piece[i]; ++i) {
        status = cs_blame(cs_expression_parse(piece[i], &value[i]), "%s", p->name);
        varies = varies || (status == CS_OK && cs_expression_varies(value[i]));
    }
    if (status == CS_OK && value[0] && !varies) {
        double first = cs_expression_at(value[0], 0);
        double number[2] = {first, value[1] ? cs_expression_at(value[1], 0) : first};
        status = cs_parameter_put(p, number, true, &part->objective);
        for (int i = 0; i < 2; ++i) {
            cs_expression_free(value[i]);
            value[i] = NULL;
        }
    }
    return status;
}

static cs_status set_objective(cs_objective_kind kind, json_t *const value[], place at)
{
    cs_mix_part *part = &at.file->part[at.part];
    unsigned set = 0;
    cs_status status = CS_OK;
    part->group = false;
    part->objective = cs_objective_default(kind);
    for (int i = 0; i < CS_PARAMETERS_ALL && status == CS_OK; ++i) {
        if (value[i]) {
            status = set_parameter(i, value[i], part);
            set |= 1U << i;
            part->varies = part->varies || part->value[i][0];
        }
    }
    at.file->varies = at.file->varies || part->varies;
    part->set = set;
    cs_objective any = part->objective; /* its empty prefix and whether it is completed: unknown */
    any.empty_prefix = CS_PREFIX_SHARED;
    if (status == CS_OK && !part->varies) status = cs_objective_complete(&any, set);
    return status == CS_OK && !part->varies ? cs_objective_check(&any) : status;
}

/* Chooses the parameters from number i on: of a distribution every value, each in a separate
 * part. */
static cs_status choose(cs_objective_kind kind, const json_t *parameters, int i,
                        json_t *value[CS_PARAMETERS_ALL], place at)
{
    if (i == CS_PARAMETERS_ALL) {
        return cs_blame(set_objective(kind, value, at), "%s", at.where);
    }
    const char *name = cs_parameter_table(i)->name;
    json_t *list = value[i] = json_object_get(parameters, name);
    if (!json_is_array(list)) {
        return choose(kind, parameters, i + 1, value, at);
    }
    size_t count = json_array_size(list);
    cs_status status =
        count ? CS_OK : cs_fail(CS_ERR_USAGE, "the distribution of %s is empty", name);
    for (size_t n = 0; n < count && status == CS_OK; ++n) {
        json_t *item = json_array_get(list, n), *share = json_object_get(item, "share");
        char *where = cs_format("%s: value %zu of %s", at.where, n + 1, name);
        place inner = at;
        status = add_part(share, where, &inner);
        value[i] = json_object_get(item, "value");
        if (status == CS_OK) status = cs_json_known(item, "value, share");
        if (status == CS_OK && !value[i]) status = cs_fail(CS_ERR_USAGE, "value is missing");
        status = cs_blame(status, "%s", inner.where);
        if (status == CS_OK) status = choose(kind, parameters, i + 1, value, inner);
    }
    return status;
}

/* --- files --- */

/* The object of a file, whose path joins the inputs. */
static cs_status open_file(const source *from, cs_plan_file *f, json_t **out)
{
    for (const source *s = from->outer; s && from->real; s = s->outer) {
        if (s->real && strcmp(s->real, from->real) == 0) {
            return cs_fail(CS_ERR_INPUT, "plan file %s includes itself", from->path);
        }
    }
    cs_status status = cs_json_read(from->path, out);
    if (status == CS_OK)
        status = cs_reserve(&f->input, &f->input_capacity, f->inputs + 1, sizeof *f->input);
    if (status != CS_OK) return status;
    f->input[f->inputs] = cs_strdup(from->path);
    status = f->input[f->inputs++] ? cs_json_known(*out, "plans, mixture") : CS_ERR_MEMORY;
    return cs_blame(status, "%s", from->path);
}

/* A part that is a file, by a path relative to the file that names it: its contents join the part,
 * unless they are there from before. */
static cs_status read_file(json_t *part, place at)
{
    json_auto_t *root = NULL;
    const char *outer = at.source->path, *slash = outer ? strrchr(outer, '/') : NULL;
    const char *path =
        json_string_value(json_object_get(json_object_get(part, "parameters"), "plan-file"));
    if (!path) {
        return cs_fail(CS_ERR_USAGE, "objective file needs plan-file");
    }
    if (json_object_get(part, "plans") || json_object_get(part, "mixture")) {
        return read_content(part, at);
    }
    int folder = slash && path[0] != '/' ? (int)(slash - outer) + 1 : 0;
    CS_AUTO_FREE char *full = cs_format("%.*s%s", folder, outer ? outer : "", path);
    char *real = full ? realpath(full, NULL) : NULL;
    const source inner = {full, real, at.source};
    cs_status status = full ? open_file(&inner, at.file, &root) : CS_ERR_MEMORY;
    at.source = &inner;
    at.where = full;
    if (status == CS_OK) status = cs_blame(read_content(root, at), "%s", full);
    if (status == CS_OK && json_object_update(part, root) != 0) status = CS_ERR_MEMORY;
    free(real);
    return status == CS_ERR_USAGE ? CS_ERR_INPUT : status;
}

/* --- the form --- */

static cs_status read_objective(json_t *part, place at)
{
    const char *name = json_string_value(json_object_get(part, "objective")), *key;
    json_t *parameters = json_object_get(part, "parameters"), *value;
    json_t *chosen[CS_PARAMETERS_ALL] = {NULL};
    cs_objective_kind kind = CS_OBJ_AR;
    int index = 0;
    cs_status status = name ? cs_objective_by_name(name, &kind)
                            : cs_fail(CS_ERR_USAGE, "objective is not a string");
    if (status == CS_OK && kind != CS_OBJ_FILE)
        status = cs_json_known(part, "share, objective, parameters");
    if (status == CS_OK && kind == CS_OBJ_MIX)
        status = cs_fail(CS_ERR_USAGE, "mix cannot be part of a mixture");
    if (status == CS_OK && parameters && !json_is_object(parameters))
        status = cs_fail(CS_ERR_USAGE, "parameters are not an object");
    json_object_foreach(parameters, key, value)
    {
        if (status == CS_OK) status = cs_objective_parameter(kind, key, "", &index);
        if (status == CS_OK &&
            (index == CS_PARAMETER_ID_EVENT_WEIGHT || index == CS_PARAMETER_ID_TARGET_WEIGHT ||
             index == CS_PARAMETER_ID_EMPTY_PREFIX || index == CS_PARAMETER_ID_SHARE))
            status =
                cs_fail(CS_ERR_USAGE, "event-weight, target-weight, empty-prefix and share must be "
                                      "given for the whole mixture, not for a part");
    }
    if (status != CS_OK) return status;
    return kind == CS_OBJ_FILE ? read_file(part, at) : choose(kind, parameters, 0, chosen, at);
}

static cs_status read_part(json_t *part, size_t number, place at)
{
    char *where = at.where ? cs_format("%s: part %zu", at.where, number)
                           : cs_format("part %zu of the mixture", number);
    cs_status status = add_part(json_object_get(part, "share"), where, &at);
    if (status == CS_OK)
        status = cs_json_known(part, "share, objective, parameters, plans, mixture");
    if (status == CS_OK)
        status =
            json_object_get(part, "objective") ? read_objective(part, at) : read_content(part, at);
    return cs_blame(status, "%s", at.where ? at.where : "mix");
}

/* "plans" or "mixture" of a file or a part. */
static cs_status read_content(json_t *object, place at)
{
    json_t *plans = json_object_get(object, "plans"), *parts = json_object_get(object, "mixture");
    size_t count = json_array_size(parts);
    cs_status status = CS_OK;
    if (!plans == !parts || !json_is_array(plans ? plans : parts)) {
        return cs_fail(CS_ERR_USAGE, "not an object with an array \"plans\" or \"mixture\"");
    }
    if (plans && at.part >= 0) {
        cs_mix_part *part = &at.file->part[at.part];
        cs_plan_file *own = part->plans = cs_calloc(1, sizeof *own);
        part->group = false;
        part->objective = cs_objective_default(CS_OBJ_FILE);
        part->objective.file = own;
        at.file->varies = true; /* it has its own lengths */
        status = own && (own->path = cs_strdup(at.where)) ? CS_OK : CS_ERR_MEMORY;
        return status == CS_OK ? cs_plans_read(plans, own) : status;
    }
    if (plans) {
        return cs_plans_read(plans, at.file);
    }
    status = count ? CS_OK : cs_fail(CS_ERR_USAGE, "\"mixture\" is empty");
    for (size_t n = 0; n < count && status == CS_OK; ++n) {
        status = read_part(json_array_get(parts, n), n + 1, at);
    }
    return status;
}

static cs_status take_source(json_t *root, const source *from, cs_plan_file *f)
{
    bool constant = true;
    double share[CS_MIX_PARTS];
    cs_objective o = cs_objective_default(CS_OBJ_MIX);
    o.file = f;
    f->source = json_incref(root);
    f->path = from->path ? cs_strdup(from->path) : NULL;
    place top = {f, from, -1, from->path};
    cs_status status = from->path && !f->path ? CS_ERR_MEMORY : read_content(root, top);
    for (int64_t j = 0; j < f->parts && status == CS_OK; ++j) {
        constant = constant && !cs_expression_varies(f->part[j].share);
    }
    f->varies = f->varies || !constant;
    if (status == CS_OK && f->parts > 0 && constant && cs_mix_shares(&o, 1, share) != CS_OK)
        status = CS_ERR_USAGE;
    return status;
}

cs_status cs_plan_file_mixture(json_t *parts, const char *path, cs_plan_file *out)
{
    cs_plan_file made = {0};
    const source from = {path, NULL, NULL};
    json_auto_t *root = json_object();
    cs_status status = cs_json_set(root, "mixture", json_incref(parts));
    if (status == CS_OK) status = take_source(root, &from, &made);
    status = CS_DELIVER(status, out, made, cs_plan_file_free);
    return path ? cs_blame(status == CS_ERR_USAGE ? CS_ERR_INPUT : status, "%s", path) : status;
}

cs_status cs_plan_file_read(const char *path, cs_plan_file *out)
{
    cs_plan_file made = {0};
    json_auto_t *root = NULL;
    char *real = realpath(path, NULL);
    const source from = {path, real, NULL};
    cs_status status = open_file(&from, &made, &root);
    if (status == CS_OK) status = take_source(root, &from, &made);
    free(real);
    status = CS_DELIVER(status, out, made, cs_plan_file_free);
    return cs_blame(status == CS_ERR_USAGE ? CS_ERR_INPUT : status, "%s", path);
}

cs_status cs_objective_of_file(const char *path, cs_plan_file *file, cs_objective *objective)
{
    cs_status status = file->source ? CS_OK : cs_plan_file_read(path, file);
    objective->file = file;
    objective->kind = file->parts > 0 ? CS_OBJ_MIX : CS_OBJ_FILE;
    return status;
}
