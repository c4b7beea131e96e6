/* One table of options gives parsing, --help, the man page, shell completion, the manifest, and
 * --config FILE.json. '_' and '-' are the same in the name of an option.
 *
 * A command lists the option groups it takes (plan options, corpus options, ...): a group is
 * written once, next to the function that turns it into the library's struct (cli/groups.c), and
 * shared by all commands that need it.
 */
#pragma once

#include "base/foreach_macro.h"
#include "base/mem.h"
#include "io/number.h"
#include "io/result.h"

typedef enum {
    CS_OPT_FLAG,
    CS_OPT_INT,
    CS_OPT_REAL,
    CS_OPT_TEXT,
    CS_OPT_CHOICE,
    CS_OPT_NAME,   /* one of the choices, or longer text that the library parses */
    CS_OPT_SIZE,   /* bytes with K M G */
    CS_OPT_HEADING /* not an option: the title, in `name`, of the options that follow in the group */
} cs_opt_kind;

enum { CS_ALIKE = 2 };

typedef struct {
    const char *name; /* "max-length"; NULL ends a group */
    char letter;      /* 'k' for -k, 0 for none */
    cs_opt_kind kind;
    const char *argument; /* "N" in help; for CS_OPT_CHOICE the choices "token|mask" */
    const char *fallback; /* default as text, NULL: unset */
    double low, high;     /* INT, REAL: inclusive range; both 0: any. CS_ABOVE_0, CS_BELOW_1 */
    const char *help;     /* one or two sentences */
    int repeated;         /* 1: may be given several times; CS_ALIKE: with the same value too */
} cs_opt;

#define CS_HEADING(title)                                                                          \
    {                                                                                              \
        .name = title, .kind = CS_OPT_HEADING                                                      \
    }

/* Options without a letter; `fallback` is text, or NULL for none. */
#define CS_OPTION(name, kind, argument, fallback, low, high, help, repeated)                       \
    {                                                                                              \
        name, 0, kind, argument, fallback, low, high, help, repeated                               \
    }
#define CS_FLAG(name, help) CS_OPTION(name, CS_OPT_FLAG, NULL, NULL, 0, 0, help, false)
#define CS_TEXT(name, argument, fallback, help)                                                    \
    CS_OPTION(name, CS_OPT_TEXT, argument, fallback, 0, 0, help, false)
#define CS_TEXTS(name, argument, help) /* may be given several times */                            \
    CS_OPTION(name, CS_OPT_TEXT, argument, NULL, 0, 0, help, true)
#define CS_CHOICE(name, choices, fallback, help)                                                   \
    CS_OPTION(name, CS_OPT_CHOICE, choices, fallback, 0, 0, help, false)
#define CS_SIZE(name, argument, fallback, help)                                                    \
    CS_OPTION(name, CS_OPT_SIZE, argument, fallback, 0, 0, help, false)
#define CS_INT(name, argument, fallback, low, high, help)                                          \
    CS_OPTION(name, CS_OPT_INT, argument, fallback, low, high, help, false)
#define CS_REAL(name, argument, fallback, low, high, help)                                         \
    CS_OPTION(name, CS_OPT_REAL, argument, fallback, low, high, help, false)

typedef struct cs_args cs_args;

/* The texts of a command, from src/cli/commands/NAME.txt. */
typedef struct {
    const char *summary;     /* one line */
    const char *description; /* paragraphs for help and man page; formulas welcome */
    /* Lines "cospec ...", each preceded by a comment line "# ..."; the tests run them. */
    const char *examples;
} cs_command_help;

typedef struct {
    const char *name; /* "cooc" */
    const cs_command_help *help;
    const char *positional;      /* "FILE|DIR", "[CORPUS]", "DIR..."; NULL: none */
    const cs_opt *const *groups; /* NULL-terminated list of option groups */
    /* names, separated by spaces, of the options that --help explains first; it lists the others by
     * name only, and --help-all explains all of them. NULL: --help explains all of them */
    const char *main;
    cs_status (*run)(cs_args *args);
    /* common options without meaning for this command, "seed dry-run": they are refused and not
     * listed; NULL: it takes all of them */
    const char *without;
    /* options ("arguments": positional ones) that --resume may give other values than the finished
     * run in DIR had: the command then continues from it. NULL: none */
    const char *continues;
    /* of -o DIR that a run may write, separated by spaces, in addition to the manifest; NULL: they
     * depend on the options, and the command claims them */
    const char *files;
    /* whether the unrecorded files of a finished run in DIR are unchanged, for --resume; NULL: not
     * checked */
    cs_status (*whole)(const char *dir);
    bool gpu; /* it can compute on a GPU and handles --device cuda itself */
    /* The part of its table that is printed in any form of terminal output; --all prints all, and
     * files, --json and --csv contain all. Columns separated by spaces (NULL: the nonempty ones,
     * except definitions), values of the column "metric" (NULL: it has none, and the command no
     * --metric) or `by`, and rows (0: all, below 0: the last). */
    const char *shown, *metrics, *by;
    const char *more_metrics; /* further values that --metric may name */
    int64_t most;
    const char *rows; /* option whose number, if given, is the number of printed rows */
    /* Rows of the record that are printed in place of its table, unless --all or --metric requests
     * that; NULL: the table. For commands without --resume, which reads only tables. */
    const cs_view *brief;
    /* Prints a summary in place of the table, unless --all or --metric requests that. If it sets
     * *printed to false the table follows. NULL: only the table. */
    cs_status (*digest)(const cs_table *table, FILE *out, bool *printed);
} cs_command;

/* Whether the command refuses this common option (cs_command.without). */
bool cs_command_without(const cs_command *command, const char *option);

/* Values of a parsed command line. An unknown name is a bug (assert). */
bool cs_args_given(const cs_args *args, const char *name); /* on the command line or in --config */
bool cs_args_flag(const cs_args *args, const char *name);
int64_t cs_args_int(const cs_args *args, const char *name); /* INT, SIZE; INT64_MIN when unset */
double cs_args_real(const cs_args *args, const char *name); /* NaN when unset */
const char *cs_args_text(const cs_args *args, const char *name); /* TEXT, CHOICE; NULL when unset */
int cs_args_count(const cs_args *args, const char *name);        /* of a repeated option */
const char *cs_args_text_at(const cs_args *args, const char *name, int index);
const char *const *cs_args_texts(const cs_args *args, const char *name); /* all of them */
int cs_args_positionals(const cs_args *args);
const char *cs_args_positional(const cs_args *args, int index);
const char *const *cs_args_words(const cs_args *args); /* all positionals */
const cs_command *cs_args_command(const cs_args *args);

/* Takes over a text, which is freed with the command line; NULL: out of memory. */
const char *cs_args_keep(cs_args *args, char *text) CS_MUST_CHECK;
#define cs_args_format(args, ...) cs_args_keep(args, cs_format(__VA_ARGS__))
const char *cs_args_join(cs_args *args, const char *dir, const char *file) CS_MUST_CHECK;

/* NAME=REST, at the last '=' unless a file has the whole text as its name; without one the name is
 * the text. */
cs_status cs_args_named(cs_args *args, const char *text, const char **name,
                        const char **rest) CS_MUST_CHECK;

/* Parses argv[0..argc-1] (after the command's name) and --config; CS_ERR_USAGE names the option and
 * value, and suggests the most similar name. Flags on the command line override the config file.
 * Forms: --name VALUE, --name=VALUE, -k VALUE, -kVALUE; "--" ends the options. */
cs_status cs_args_parse(const cs_command *command, int argc, char **argv,
                        cs_args **out) CS_MUST_CHECK;
void cs_args_free(cs_args **held);

/* The first given option of a group, or of names separated by spaces; NULL for none. */
const char *cs_args_given_of(const cs_args *args, const cs_opt *group);
const char *cs_args_given_in(const cs_args *args, const char *names);

/* "-k" or "--rank", as given. */
const char *cs_args_said(const cs_args *args, const char *name);

/* CS_ERR_USAGE, "--NAME WHY", for the first of these names that is given. */
cs_status cs_args_refuse(const cs_args *args, const char *names, const char *why) CS_MUST_CHECK;

/* Whether a TEXT, CHOICE or NAME has this value. */
bool cs_args_is(const cs_args *args, const char *name, const char *value);

/* Sets another value for an option that is not given, in place of its default: one that another
 * option implies. Unlike a given value it may be replaced again, and is never refused. */
cs_status cs_args_suppose(cs_args *args, const char *name, const char *text) CS_MUST_CHECK;

/* The index of the value of a CHOICE among its choices, from 0. */
int cs_args_choice(const cs_args *args, const char *name);

/* The given number or the default of the option, and `fallback` without either. */
int64_t cs_args_int_or(const cs_args *args, const char *name, int64_t fallback);
double cs_args_real_or(const cs_args *args, const char *name, double fallback);

/* Members of the struct at `of` from the options of their names, where '_' stands for '-'; one that is
 * unset stays as it is. An enum takes the number of a CHOICE.
 *     CS_ARGS_FIELDS(args, &options, steps, weight_decay, by_length, seed, threads) */
#define CS_ARGS_FIELDS(args, of, ...)                                                              \
    do {                                                                                           \
        CS_EACH(CS_ARGS_FIELD, args, of, __VA_ARGS__)                                              \
    } while (0)
#define CS_ARGS_FIELD(args, of, name)                                                              \
    cs_args_field(args, #name,                                                                     \
                  _Generic((of)->name,                                                             \
                      bool: CS_OPT_FLAG,                                                           \
                      int: CS_OPT_INT,                                                             \
                      int64_t: CS_OPT_INT,                                                         \
                      uint64_t: CS_OPT_INT,                                                        \
                      unsigned: CS_OPT_CHOICE,                                                     \
                      double: CS_OPT_REAL,                                                         \
                      const char *: CS_OPT_TEXT),                                                  \
                  sizeof (of)->name, &(of)->name);
void cs_args_field(const cs_args *args, const char *member, cs_opt_kind kind, size_t size,
                   void *out);

/* All resolved options as a JSON object, for the manifest (unset ones are null), and the names of
 * those that were given, or set by the command, as an array. NULL when out of memory. */
json_t *cs_args_json(const cs_args *args);
json_t *cs_args_names_json(const cs_args *args, bool supposed);

/* Generators from the same tables, of a NULL-terminated list of commands. A description is
 * paragraphs separated by blank lines; a line that starts with two spaces is set verbatim. */
typedef void cs_opt_writer(const cs_command *const *commands, FILE *out);
cs_opt_writer cs_opt_help;     /* --help of the first command */
cs_opt_writer cs_opt_help_all; /* --help-all of the first command */
cs_opt_writer cs_opt_overview; /* the program's own help */
cs_opt_writer cs_opt_man;      /* cospec.1, roff */
cs_opt_writer cs_opt_markdown; /* docs/reference/cli.md */
cs_opt_writer cs_opt_json;     /* the tables themselves */

/* The length of the formula that the help text begins with, and the formula in TeX; 0 if it begins with none. */
size_t cs_opt_equation(const char *text, size_t length, const char **tex);

/* Options every command has: --json --csv -o/--output --seed --threads --device --config --dry-run
 * --resume --force --quiet --help --help-all. */
extern const cs_opt cs_opt_common[];
