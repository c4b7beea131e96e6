/* Parses a command line against the option table of its command; --config FILE.json fills what the
 * command line left out, fallbacks fill the rest. Every value is checked when it is read, so that
 * accessors cannot fail. */
#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/args.h"
#include "io/json.h"
#include "version.h"

bool cs_command_without(const cs_command *command, const char *option)
{
    return cs_listed(command->without, option) ||
           (!command->metrics && strcmp(option, "metric") == 0);
}

int cs_opt_each(const cs_command *command, cs_opt_visit visit, void *ctx)
{
    int count = 0;
    for (const cs_opt *const *group = command->groups; group && *group; ++group) {
        const char *heading = "Options";
        for (const cs_opt *o = *group; o->name; ++o) {
            if (o->kind == CS_OPT_HEADING) {
                heading = o->name;
                continue;
            }
            if (visit) visit(ctx, o, heading);
            ++count;
        }
    }
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        if (!cs_command_without(command, o->name)) {
            if (visit) visit(ctx, o, NULL);
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
                             strcmp(text, "gpu") == 0 && in_choices(o->argument, "cuda")
                                 ? "; did you mean cuda?"
                             : cs_listed("mps metal rocm xpu tpu", text) &&
                                     in_choices(o->argument, "cuda")
                                 ? "; only CPUs and NVIDIA GPUs are supported"
                             : cs_listed("arch activation", o->name)
                                 ? cs_choice_respelled(text, o->argument, &(cs_hint){0})
                                 : cs_choice_hint(text, o->argument, &(cs_hint){0}));
    case CS_OPT_FLAG:
        v->flag = strcmp(text, "true") == 0;
        return v->flag || strcmp(text, "false") == 0
                   ? CS_OK
                   : cs_fail(CS_ERR_USAGE, "%s takes no value, got '%s'", what, text);
    case CS_OPT_HEADING: /* has no value */
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
    for (int i = 0; v->given && v->opt->repeated != CS_ALIKE && i < v->text.count; ++i) {
        if (strcmp(v->text.text[i], text) == 0)
            return cs_fail(CS_ERR_USAGE, "%s %s is given twice", v->said, text);
    }
    v->given = true;
    return add_value(v, text);
}

/* --- the command line ------------------------------------------------------------------------- */

/* Names that other programs give to an option. The first one that the command has is suggested. */
static const char *other_name(const cs_args *args, const char *name)
{
    static const struct {
        const char *others, *known;
    } names[] = {
        {"learning-rate peak-lr max-lr", "lr"},
        {"batch-size per-device-train-batch-size train-batch-size per-device-eval-batch-size "
         "micro-batch-size",
         "batch"},
        {"max-steps num-steps n-steps num-train-steps total-steps iterations max-iter", "steps"},
        {"num-train-epochs num-epochs n-epochs max-epochs", "epochs"},
        {"max-iter n-iter maxiter iterations", "max-iterations"},
        {"n-components num-components components n-singular-values num-singular-values", "rank"},
        {"n-components num-components components top-k", "k"},
        {"n-components num-components components", "dimensions"},
        {"tolerance", "tol"},
        {"window-size window window-length", "max-length"},
        {"context-size context-window", "context"},
        {"max-seq-length max-seq-len max-sequence-length seq-length seq-len sequence-length "
         "block-size context-length model-max-length max-position-embeddings",
         "max-length"},
        {"max-new-tokens max-tokens num-tokens", "length"},
        {"num-return-sequences num-samples", "n"},
        {"dataset dataset-name data data-dir train-file input text", "corpus"},
        {"vocab-size vocabulary-size max-features", "vocab"},
        {"hidden-size d-model n-embd embed-dim hidden-dim", "width"},
        {"num-layers n-layers n-layer num-hidden-layers depth", "layers"},
        {"num-heads n-heads n-head num-attention-heads", "heads"},
        {"num-key-value-heads n-kv-heads", "kv-heads"},
        {"intermediate-size ffn-dim d-ff n-inner mlp-dim", "inner"},
        {"warmup-steps num-warmup-steps warmup-ratio lr-warmup", "warmup"},
        {"lr-scheduler-type lr-scheduler lr-schedule scheduler", "schedule"},
        {"gradient-accumulation-steps grad-accum accumulation-steps", "accumulate"},
        {"max-grad-norm grad-clip gradient-clip clip-grad-norm", "clip"},
        {"adam-beta1", "beta1"},
        {"adam-beta2", "beta2"},
        {"adam-epsilon epsilon", "adam-eps"},
        {"wd", "weight-decay"},
        {"label-smoothing-factor", "label-smoothing"},
        {"hidden-dropout-prob attention-dropout dropout-rate", "dropout"},
        {"logging-steps log-interval log-steps", "log-every"},
        {"eval-steps eval-interval", "eval-every"},
        {"save-steps save-interval checkpoint-every", "save-every"},
        {"mlm-probability masking-ratio mask-prob mask-probability", "mask-ratio"},
        {"model-name-or-path pretrained checkpoint", "init-from"},
        {"resume-from-checkpoint", "resume"},
        {"fp16 bf16 dtype mixed-precision amp", "precision"},
        {"test-size validation-split val-split eval-split", "test-share"},
        {"max-samples max-documents max-train-samples max-eval-samples n-samples", "limit"},
        {"cv n-splits num-folds", "folds"},
        {"metrics metric-name", "metric"},
        {"n-components num-components n-singular-values", "k"},
        {"model architecture model-type", "arch"},
        {"objective", "compare"},
        {"gpu cuda no-cuda use-gpu use-cuda", "device"},
        {"n-jobs num-workers num-threads nthreads workers jobs dataloader-num-workers", "threads"},
        {"random-state random-seed", "seed"},
        {"output-dir out-dir outdir out save-dir output-path output-file", "output"},
        {"overwrite overwrite-output-dir", "force"},
        {"silent no-progress disable-tqdm", "quiet"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char *known = names[i].known;
        if (cs_listed(names[i].others, name) && cs_args_find(args, known, strlen(known))) {
            return known;
        }
    }
    return NULL;
}

/* Names of other programs for which no option is needed; NULL: none. */
static const char *no_option(const char *name)
{
    static const struct {
        const char *names, *why;
    } known[] = {
        {"optimizer optim", "training uses AdamW; see --lr, --beta1, --beta2 and --weight-decay"},
        {"verbose debug log-level", "progress is printed unless --quiet is given"},
        {"n-components num-components",
         "all dimensions are written; 'cospec svd MATRIX -k K' computes K components"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (cs_listed(known[i].names, name)) {
            return known[i].why;
        }
    }
    return NULL;
}

/* place: "--", or "" in a config file. A name of one letter may be meant as -k. */
static cs_status unknown_option(const cs_args *args, const char *place, const char *name)
{
    cs_hint hint = {0};
    const char *known = other_name(args, name);
    for (int i = 0; i < args->values; ++i) {
        const cs_opt *o = args->value[i].opt;
        if (*place && o->letter && name[0] == o->letter && name[1] == '\0') {
            return cs_fail(CS_ERR_USAGE, "unknown option --%s for %s; did you mean -%c?", name,
                           args->command->name, o->letter);
        }
        if (!known) cs_hint_consider(name, o->name, &hint);
    }
    if (known) (void)snprintf(hint.name, sizeof hint.name, "%s", known);
    if (!known && no_option(name)) {
        return cs_fail(CS_ERR_USAGE, "unknown option %s%s for %s: %s", place, name,
                       args->command->name, no_option(name));
    }
    return cs_fail(CS_ERR_USAGE, "unknown option %s%s for %s%s", place, name, args->command->name,
                   cs_hint_text(place, &hint));
}

/* A common option that the command leaves out on purpose deserves its own sentence. */
static cs_status refuse_option(const cs_args *args, const char *place, const char *given)
{
    CS_AUTO_FREE char *name = cs_strdup(given);
    if (!name) return CS_ERR_MEMORY;
    for (char *p = name; *p; ++p) {
        *p = (char)(*p == '_' ? '-' : *p);
    }
    bool common = false;
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        common = common || strcmp(o->name, name) == 0;
    }
    return common ? cs_fail(CS_ERR_USAGE, "--%s does not apply to '%s'", name, args->command->name)
                  : unknown_option(args, place, name);
}

/* The next word is the value of an option, unless it looks like an option. Options for another
 * command (argument OPTIONS) do, so that only an option of this command is refused there. */
static bool is_value(const cs_args *args, const cs_opt *o, const char *word)
{
    if (strncmp(word, "--", 2) != 0) {
        return true;
    }
    return strcmp(o->argument, "OPTIONS") == 0 && word[2] &&
           !cs_args_find(args, word + 2, strlen(word + 2));
}

/* Reads the option in argv[*i], and moves *i over a value that is a separate word. */
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
            return copy ? refuse_option(args, "--", copy) : CS_ERR_MEMORY;
        }
    } else {
        for (int j = 0; j < args->values && !v; ++j) {
            v = args->value[j].opt->letter == word[1] ? &args->value[j] : NULL;
        }
        if (!v) {
            return cs_fail(CS_ERR_USAGE, "unknown option -%c for %s", word[1], args->command->name);
        }
        (void)snprintf(v->said, sizeof v->said, "-%c", word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (v->opt->kind == CS_OPT_FLAG) {
        return give_value(v, value ? value : "true");
    }
    if (!value) {
        const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
        if (!next || !is_value(args, v->opt, next)) {
            const bool dashes = next && v->opt->kind == CS_OPT_TEXT &&
                                (strcmp(v->opt->argument, "OPTIONS") == 0 ||
                                 !cs_args_find(args, next + 2, strcspn(next + 2, "=")));
            return cs_fail(CS_ERR_USAGE, "%s needs a value: %s%s%s%s%s%s", v->said,
                           v->opt->argument,
                           dashes ? "; give a value that begins with -- as --" : "",
                           dashes ? v->opt->name : "", dashes ? "='" : "", dashes ? next : "",
                           dashes ? "'" : "");
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
    CS_AUTO_FREE char *known =
        given ? cs_format("%s%s%s", c->metrics, more ? "," : "", more ? more : "") : NULL;
    cs_status status = given && !known ? CS_ERR_MEMORY : CS_OK;
    size_t names = 0;
    for (char *rest = known; rest && names < MOST;) {
        name[names++] = strsep(&rest, ",");
    }
    for (int i = 0; i < given && status == CS_OK; ++i) {
        int number = 0;
        status = cs_blame(cs_name_number("metric", cs_args_text_at(args, "metric", i), name,
                                         sizeof *name, names, false, &number),
                          "--metric");
    }
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
        return cs_fail(CS_ERR_USAGE, "%s: the value is not a string, number or boolean", v->said);
    }
    return give_value(v, text);
}

static cs_status take_config(cs_args *args, const char *path)
{
    json_auto_t *config = NULL;
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
        if (!v || strcmp(key, "config") == 0 || strncmp(key, "help", 4) == 0) {
            status = v ? cs_fail(CS_ERR_USAGE, "%s is not allowed in a config file", key)
                       : refuse_option(args, "", key);
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
    return cs_blame(status, "config %s", path);
}

/* --- whole ------------------------------------------------------------------------------------ */

static void enter_option(void *ctx, const cs_opt *opt, const char *heading)
{
    cs_args *args = ctx;
    (void)heading;
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
    cs_args *args = cs_calloc(1, sizeof *args);
    if (!args) return CS_ERR_MEMORY;
    args->command = command;
    args->value = cs_calloc(cs_opt_each(command, NULL, NULL), sizeof *args->value);
    if (!args->value) return CS_DELIVER(CS_ERR_MEMORY, out, args, cs_args_free);
    (void)cs_opt_each(command, enter_option, args);
    cs_status status = CS_OK;
    for (int i = 0; i < argc && status == CS_OK; ++i) {
        status = cs_words_take(&args->line, cs_strdup(argv[i]));
    }
    if (status == CS_OK) status = take_words(args, argc, argv);
    bool help = status == CS_OK && (cs_args_flag(args, "help") || cs_args_flag(args, "help-all"));
    if (status == CS_OK && !help) status = check_positionals(args);
    cs_opt_value *config = cs_args_find(args, "config", strlen("config"));
    if (status == CS_OK && !help && config && config->text.count > 0)
        status = take_config(args, config->text.text[0]);
    if (status == CS_OK) status = set_fallbacks(args);
    if (status == CS_OK) status = check_metrics(args);
    return CS_DELIVER(status, out, args, cs_args_free);
}

/* --- the tables as JSON ------------------------------------------------------------------------ */

/* The functions of the Python module are generated from it (src/python/generate.py). */

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
                  "help", o->help, "repeated", o->repeated != 0, "heading", heading);
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
    json_auto_t *all = json_pack("{s:s, s:o}", "version", CS_VERSION, "commands", list);
    if (!all || json_dumpf(all, out, JSON_INDENT(1)) != 0)
        (void)cs_fail(CS_ERR_MEMORY, "out of memory");
    (void)fputc('\n', out);
}
