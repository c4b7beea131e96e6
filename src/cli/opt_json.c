/* The option tables as JSON: what the functions of the Python module are generated from
 * (src/python/generate.py). */
#include <jansson.h>

#include "cli/args.h"
#include "version.h"

static const char *kind_name(cs_opt_kind kind)
{
    static const char *const name[] = {"flag",   "int",  "real", "text",
                                       "choice", "name", "size", "heading"};
    return name[kind];
}

typedef struct {
    const cs_command *command;
    json_t *list;
} option_list;

static void add_option(void *ctx, const cs_opt *o, const char *heading)
{
    const option_list *to = ctx;
    if (!heading && cs_command_without(to->command, o->name)) return;
    const char letter[2] = {o->letter, '\0'};
    json_t *option =
        json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s, s:b, s:s?}", "name", o->name, "letter", letter,
                  "kind", kind_name(o->kind), "argument", o->argument, "default", o->fallback,
                  "help", o->help, "repeated", (int)o->repeated, "heading", heading);
    (void)json_array_append_new(to->list, option);
}

static json_t *command_json(const cs_command *c)
{
    option_list to = {c, json_array()};
    (void)cs_opt_each(c, add_option, &to);
    return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:o}", "name", c->name, "summary",
                     c->help->summary, "description", c->help->description, "positional",
                     c->positional, "examples", c->help->examples, "options", to.list);
}

void cs_opt_json(const cs_command *const *commands, FILE *out)
{
    json_t *list = json_array();
    for (const cs_command *const *c = commands; *c; ++c) {
        (void)json_array_append_new(list, command_json(*c));
    }
    json_t *all = json_pack("{s:s, s:o}", "version", CS_VERSION, "commands", list);
    if (!all || json_dumpf(all, out, JSON_INDENT(1)) != 0)
        (void)cs_fail(CS_ERR_MEMORY, "out of memory");
    (void)fputc('\n', out);
    json_decref(all);
}
