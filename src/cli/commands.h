/* The commands. To add one: write cmd_<name>.c with a `const cs_command cs_cmd_<name>` and
 * commands/<name>.txt with its texts, and add its line to CS_COMMANDS below. */
#pragma once

#include "cli/opt.h"

/* In the order of the help. */
#define CS_COMMANDS(X)                                                                             \
    X(demo)                                                                                        \
    X(toy)                                                                                         \
    X(cooc)                                                                                        \
    X(svd)                                                                                         \
    X(density)                                                                                     \
    X(verify)                                                                                      \
    X(connectivity)                                                                                \
    X(inspect)                                                                                     \
    X(angles)                                                                                      \
    X(rank)                                                                                        \
    X(mask_rank)                                                                                   \
    X(phases)                                                                                      \
    X(similarity)                                                                                  \
    X(train)                                                                                       \
    X(finetune)                                                                                    \
    X(features)                                                                                    \
    X(verify_model)                                                                                \
    X(perplexity)                                                                                  \
    X(generate)                                                                                    \
    X(reconstruct)                                                                                 \
    X(probe)                                                                                       \
    X(align)                                                                                       \
    X(kernel)                                                                                      \
    X(design)                                                                                      \
    X(tradeoff)                                                                                    \
    X(correlate)                                                                                   \
    X(plot)                                                                                        \
    X(compare)                                                                                     \
    X(reproduce)                                                                                   \
    X(data)                                                                                        \
    X(tokenize)                                                                                    \
    X(rerun)                                                                                       \
    X(help)

#define CS_DECLARE_COMMAND(name)                                                                   \
    extern const cs_command cs_cmd_##name;                                                         \
    extern const cs_command_help cs_help_##name;
CS_COMMANDS(CS_DECLARE_COMMAND)
#undef CS_DECLARE_COMMAND

/* The program's exit code for a status. */
int cs_exit_code(cs_status status);

/* NULL-terminated. */
extern const cs_command *const cs_commands[];

/* CS_ERR_USAGE with the nearest known name. */
cs_status cs_command_by_name(const char *name, const cs_command **out) CS_MUST_CHECK;

/* A text made from the option tables, on standard output. */
cs_status cs_show(cs_opt_writer *write, const cs_command *const *commands) CS_MUST_CHECK;

/* Runs a command with its arguments (argv[0] is the first one after the command's name): parses,
 * handles --help, keeps a finished result under --resume, runs, writes the manifest. part: it is a
 * step of another command, which itself reports how to continue after an interrupt. `*refuted`: a
 * corrected statement failed. */
cs_status cs_command_execute(const cs_command *command, int argc, char **argv, bool part,
                             bool *refuted) CS_MUST_CHECK;

/* The same without printing, for a task of --tasks, whose folder -o names: `tables` receives the
 * tables of its result. */
struct cs_task_tables;
cs_status cs_command_task(const cs_command *command, int argc, char **argv,
                          struct cs_task_tables *tables) CS_MUST_CHECK;

/* cs_command_execute, returning the exit code of the program; the reason is kept in cs_reason(). */
int cs_command_run(const cs_command *command, int argc, char **argv);

/* Prints the completions of the last of these words of a command line, without the name of the
 * program: a candidate a line, followed by a tab and its description; ":files" if a file is
 * possible too. The array may be rewritten. */
void cs_complete(int words, char **word, FILE *out);

/* The scripts that call `cospec --complete`. */
cs_opt_writer cs_completion_bash, cs_completion_zsh, cs_completion_fish;
