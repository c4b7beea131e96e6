/* Parses a command line against the option table of its command; --config FILE.json fills what the
 * command line left out, fallbacks fill the rest. Every value is checked when it is read, so that
 * accessors cannot fail. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "cli/args.h"
#include "io/json.h"

const cs_opt cs_opt_common[] = {
    CS_FLAG("json", "Print the result as JSON."),
    CS_FLAG("csv", "Print the result as CSV, one observation a row."),
    CS_TEXTS(
        "metric", "NAME",
        "Print the rows of this metric, without --json and --csv; may be given several times."),
    CS_FLAG("all", "Print every row and column of the result, as files and --csv have them."),
    {"output", 'o', CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "Write results and manifest.json into DIR, which is made.", false},
    CS_INT("seed", "N", "0", 0, 9.2e18, "Seed of everything random."),
    CS_INT("threads", "N", NULL, 1, 256,
           "Number of threads; default: OMP_NUM_THREADS, else all cores."),
    CS_CHOICE(
        "device", "cpu|cuda|cuda:N|auto", "auto",
        "Where to compute. cuda (cuda:1 for the second one) fails where there is no GPU, and in "
        "commands that have no use for one; auto runs and trains models on a GPU where there is "
        "one, all else on the CPU."),
    CS_TEXT("config", "FILE", NULL,
            "Read options from a JSON object {\"option\": value}; the command line wins."),
    CS_FLAG("dry-run", "Say what would be done, with an estimate of size and memory, and stop."),
    CS_FLAG("resume", "With -o: keep a finished result of the same program, options and inputs."),
    CS_FLAG("force", "Overwrite existing results."),
    {"quiet", 'q', CS_OPT_FLAG, NULL, NULL, 0, 0, "No notes and no progress on stderr.", false},
    {"help", 'h', CS_OPT_FLAG, NULL, NULL, 0, 0, "Show the command's help.", false},
    {0},
};

bool cs_command_without(const cs_command *command, const char *option)
{
    return cs_listed(command->without, option) ||
           (!command->metrics && strcmp(option, "metric") == 0);
}

int cs_opt_each(const cs_command *command, cs_opt_visit visit, void *ctx)
{
    int count = 0;
    for (const cs_opt *const *group = command->groups; group && *group; ++group) {
        for (const cs_opt *o = *group; o->name; ++o) {
            if (visit) visit(ctx, o, false);
            ++count;
        }
    }
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        if (!cs_command_without(command, o->name)) {
            if (visit) visit(ctx, o, true);
            ++count;
        }
    }
    return count;
}

/* --- values ----------------------------------------------------------------------------------- */

/* A choice that ends in ":N" is for any number of four digits at most in its place. */
static bool in_choices(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *p = choices; p;) {
        size_t word = strcspn(p, "|");
        bool counted = word > 2 && memcmp(p + word - 2, ":N", 2) == 0;
        size_t stem = counted ? word - 1 : word;
        bool digits = length > stem && length <= stem + 4 &&
                      strspn(text + (length > stem ? stem : 0), "0123456789") == length - stem;
        if ((counted ? digits : length == word) && memcmp(p, text, stem) == 0) {
            return true;
        }
        p = p[word] ? p + word + 1 : NULL;
    }
    return false;
}

static cs_status check_value(cs_opt_value *v, const char *text)
{
    const cs_opt *o = v->opt;
    bool bounded = o->low != 0.0 || o->high != 0.0;
    const char *what = v->said;
    switch (o->kind) {
    case CS_OPT_INT:
        return cs_parse_int(text, what, bounded ? (int64_t)o->low : INT64_MIN,
                            bounded && o->high < 9e18 ? (int64_t)o->high : INT64_MAX, &v->integer);
    case CS_OPT_SIZE:
        return cs_parse_size(text, what, &v->integer);
    case CS_OPT_REAL:
        return cs_parse_real(text, what, bounded ? o->low : -INFINITY, bounded ? o->high : INFINITY,
                             &v->real);
    case CS_OPT_CHOICE:
        return in_choices(o->argument, text)
                   ? CS_OK
                   : cs_fail(CS_ERR_USAGE, "%s: '%s' is not one of %s%s", what, text, o->argument,
                             cs_choice_hint(text, o->argument, &(cs_hint){0}));
    case CS_OPT_FLAG:
        v->flag = strcmp(text, "true") == 0;
        return v->flag || strcmp(text, "false") == 0
                   ? CS_OK
                   : cs_fail(CS_ERR_USAGE, "%s takes no value, got '%s'", what, text);
    case CS_OPT_NAME:
    case CS_OPT_TEXT:
        return *text ? CS_OK : cs_fail(CS_ERR_USAGE, "%s: the value is empty", what);
    }
    return CS_OK;
}

static cs_status add_value(cs_opt_value *v, const char *text)
{
    cs_status status = check_value(v, text);
    return status == CS_OK ? cs_words_take(&v->text, cs_strdup(text)) : status;
}

static cs_status give_value(cs_opt_value *v, const char *text)
{
    if (v->given && !v->opt->repeated) {
        return cs_fail(CS_ERR_USAGE, "%s is given twice ('%s' and '%s')", v->said, v->text.text[0],
                       text);
    }
    for (int i = 0; v->given && i < v->text.count; ++i) {
        if (strcmp(v->text.text[i], text) == 0)
            return cs_fail(CS_ERR_USAGE, "%s %s is given twice", v->said, text);
    }
    v->given = true;
    return add_value(v, text);
}

/* --- the command line ------------------------------------------------------------------------- */

static cs_status unknown_option(const cs_args *args, const char *place, const char *name)
{
    static const struct {
        const char *said, *meant;
    } other[] = {{"objective", "compare"},
                 {"learning-rate", "lr"},
                 {"batch-size", "batch"},
                 {"dataset", "corpus"},
                 {"hidden-size", "width"}};
    cs_hint hint = {0};
    for (int i = 0; i < args->values; ++i) {
        const char *known = args->value[i].opt->name;
        for (size_t j = 0; j < sizeof other / sizeof *other; ++j) {
            const bool means = strcmp(name, other[j].said) == 0 && !strcmp(known, other[j].meant);
            cs_hint_consider(means ? known : name, known, &hint);
        }
    }
    return cs_fail(CS_ERR_USAGE, "%s%s: %s does not know it%s", place, name, args->command->name,
                   cs_hint_text(place, &hint));
}

/* An option of another spelling that the command leaves out on purpose deserves its own sentence.
 */
static cs_status refuse_option(const cs_args *args, const char *name)
{
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        if (strcmp(o->name, name) == 0) {
            return cs_fail(CS_ERR_USAGE, "--%s has no meaning for '%s'", name, args->command->name);
        }
    }
    return unknown_option(args, "--", name);
}

/* Takes the option in argv[*i], moving *i over a value in a word of its own. */
static cs_status take_option(cs_args *args, int argc, char **argv, int *i)
{
    const char *word = argv[*i], *value = NULL;
    cs_opt_value *v = NULL;
    if (word[1] == '-') {
        const char *name = word + 2;
        size_t length = strcspn(name, "=");
        value = name[length] ? name + length + 1 : NULL;
        v = cs_args_find(args, name, length);
        if (!v) {
            const char *copy = cs_args_format(args, "%.*s", (int)length, name);
            return copy ? refuse_option(args, copy) : CS_ERR_MEMORY;
        }
    } else {
        for (int j = 0; j < args->values && !v; ++j) {
            v = args->value[j].opt->letter == word[1] ? &args->value[j] : NULL;
        }
        if (!v) {
            return cs_fail(CS_ERR_USAGE, "-%c: %s does not know it", word[1], args->command->name);
        }
        (void)snprintf(v->said, sizeof v->said, "-%c", word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (v->opt->kind == CS_OPT_FLAG) {
        return give_value(v, value ? value : "true");
    }
    if (!value) {
        if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0) {
            return cs_fail(CS_ERR_USAGE, "%s needs a value: %s", v->said, v->opt->argument);
        }
        value = argv[++*i];
    }
    return give_value(v, value);
}

static cs_status take_words(cs_args *args, int argc, char **argv)
{
    bool options = true;
    for (int i = 0; i < argc; ++i) {
        cs_status status = CS_OK;
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0') {
            status = take_option(args, argc, argv, &i);
        } else {
            status = cs_words_take(&args->positional, cs_strdup(argv[i]));
        }
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

/* Words of cs_command.positional: "FILE" one, "[NAME]" none or one, "[NAME=]FILE" one, "NAME..."
 * and "[NAME...]" any number more. */
static cs_status check_positionals(const cs_args *args)
{
    const char *pattern = args->command->positional ? args->command->positional : "";
    int least = 0, most = 0;
    for (const char *p = pattern; *p;) {
        size_t word = strcspn(p, " ");
        least += p[0] != '[' || p[word - 1] != ']';
        most += 1;
        if (memmem(p, word, "...", 3)) {
            most = 1 << 20;
        }
        p += word;
        p += strspn(p, " ");
    }
    if (args->positional.count < least) {
        return cs_fail(CS_ERR_USAGE, "an argument is missing: cospec %s %s", args->command->name,
                       pattern);
    }
    if (args->positional.count > most) {
        const char *extra = args->positional.text[most];
        const bool corpus = most == 0 && cs_args_find(args, "corpus", strlen("corpus"));
        return cs_fail(CS_ERR_USAGE, "unexpected argument '%s': cospec %s takes %s%s%s%s", extra,
                       args->command->name, most == 0 ? "options only" : pattern,
                       corpus ? "; did you mean --corpus " : "", corpus ? extra : "",
                       corpus ? "?" : "");
    }
    return CS_OK;
}

/* A name that no row of the result can have is known before the work. */
static cs_status check_metrics(const cs_args *args)
{
    enum { MOST = 64 };
    const cs_command *c = args->command;
    const char *name[MOST], *more = c->more_metrics;
    const int given = cs_command_without(c, "metric") ? 0 : cs_args_count(args, "metric");
    char *known = given ? cs_format("%s%s%s", c->metrics, more ? "," : "", more ? more : "") : NULL;
    cs_status status = given && !known ? CS_ERR_MEMORY : CS_OK;
    size_t names = 0;
    for (char *rest = known; rest && names < MOST;) {
        name[names++] = strsep(&rest, ",");
    }
    for (int i = 0; i < given && status == CS_OK; ++i) {
        int number = 0;
        status = cs_blame(cs_name_number("metric", cs_args_text_at(args, "metric", i), name,
                                         sizeof *name, names, &number),
                          "--metric");
    }
    cs_free(known);
    return status;
}

/* --- the config file -------------------------------------------------------------------------- */

static cs_status give_json(cs_opt_value *v, const json_t *value)
{
    char number[40];
    const char *text = number;
    if (json_is_string(value)) {
        text = json_string_value(value);
    } else if (json_is_integer(value)) {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)snprintf(number, sizeof number, "%.17g", json_real_value(value));
    } else if (json_is_boolean(value) && v->opt->kind == CS_OPT_FLAG) {
        text = json_is_true(value) ? "true" : "false";
    } else {
        return cs_fail(CS_ERR_USAGE, "%s: the value is neither text nor a number nor a flag",
                       v->said);
    }
    return give_value(v, text);
}

static cs_status take_config(cs_args *args, const char *path)
{
    json_t *config = NULL;
    cs_status status = cs_json_read(path, &config);
    if (status != CS_OK) return status;
    if (!json_is_object(config)) {
        status = cs_fail(CS_ERR_INPUT, "not a JSON object {\"option\": value}");
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(config, key, value)
    {
        cs_opt_value *v = cs_args_find(args, key, strlen(key));
        if (status != CS_OK) break;
        if (!v || strcmp(key, "config") == 0 || strcmp(key, "help") == 0) {
            status = v ? cs_fail(CS_ERR_USAGE, "%s cannot stand in a config file", key)
                       : unknown_option(args, "", key);
        } else if (v->given || json_is_null(value)) {
            continue; /* the command line wins */
        } else if (json_is_array(value) && v->opt->repeated) {
            for (size_t i = 0; i < json_array_size(value) && status == CS_OK; ++i) {
                status = give_json(v, json_array_get(value, i));
            }
        } else {
            status = give_json(v, value);
        }
    }
    json_decref(config);
    return cs_blame(status, "config %s", path);
}

/* --- whole ------------------------------------------------------------------------------------ */

static void enter_option(void *ctx, const cs_opt *opt, bool common)
{
    cs_args *args = ctx;
    (void)common;
    assert(!cs_args_find(args, opt->name, strlen(opt->name)));
    cs_opt_value *v = &args->value[args->values++];
    *v = (cs_opt_value){.opt = opt, .integer = INT64_MIN, .real = (double)NAN};
    (void)snprintf(v->said, sizeof v->said, "--%s", opt->name);
}

static cs_status set_fallbacks(cs_args *args)
{
    cs_status status = CS_OK;
    for (int i = 0; i < args->values && status == CS_OK; ++i) {
        cs_opt_value *v = &args->value[i];
        if (!v->given && v->opt->fallback) {
            status = add_value(v, v->opt->fallback);
        }
    }
    return status;
}

cs_status cs_args_suppose(cs_args *args, const char *name, const char *text)
{
    cs_opt_value *v = cs_args_find(args, name, strlen(name));
    assert(v);
    if (v->given) {
        return CS_OK;
    }
    cs_words_free(&v->text);
    v->supposed = true;
    return add_value(v, text);
}

cs_status cs_args_parse(const cs_command *command, int argc, char **argv, cs_args **out)
{
    cs_status status = CS_OK;
    cs_args *args = cs_calloc(1, sizeof *args);
    if (!args) return CS_ERR_MEMORY;
    args->command = command;
    args->value = cs_calloc(cs_opt_each(command, NULL, NULL), sizeof *args->value);
    if (!args->value) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    (void)cs_opt_each(command, enter_option, args);
    for (int i = 0; i < argc && status == CS_OK; ++i) {
        status = cs_words_take(&args->line, cs_strdup(argv[i]));
    }
    if (status == CS_OK) status = take_words(args, argc, argv);
    bool help = status == CS_OK && cs_args_flag(args, "help");
    if (status == CS_OK && !help) status = check_positionals(args);
    cs_opt_value *config = cs_args_find(args, "config", strlen("config"));
    if (status == CS_OK && !help && config && config->text.count > 0)
        status = take_config(args, config->text.text[0]);
    if (status == CS_OK) status = set_fallbacks(args);
    if (status == CS_OK) status = check_metrics(args);
done:
    return CS_DELIVER(status, out, args, cs_args_free);
}
