/* cospec help: the same tables as --help, and the documents generated from them. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"

static const cs_opt help_options[] = {
    {"man", 0, CS_OPT_FLAG, NULL, NULL, 0, 0, "Print the man page (roff).", false},
    {"completion", 0, CS_OPT_FLAG, NULL, NULL, 0, 0, "Print the bash completion.", false},
    {"markdown", 0, CS_OPT_FLAG, NULL, NULL, 0, 0, "Print docs/cli.md.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt *const help_groups[] = {help_options, NULL};

static cs_status run_help(cs_args *args)
{
    bool man = cs_args_flag(args, "man"), completion = cs_args_flag(args, "completion");
    bool markdown = cs_args_flag(args, "markdown"), topic = cs_args_positionals(args) > 0;
    if (man + completion + markdown + topic > 1) {
        return cs_fail(CS_ERR_USAGE, "one of COMMAND, --man, --completion, --markdown at a time");
    }
    char *text = NULL;
    cs_status status = CS_OK;
    if (topic) {
        const cs_command *command = NULL;
        status = cs_command_by_name(cs_args_positional(args, 0), &command);
        if (status == CS_OK) {
            status = cs_opt_help(command, &text);
        }
    } else if (man) {
        status = cs_opt_man(cs_commands, &text);
    } else if (completion) {
        status = cs_opt_completion(cs_commands, &text);
    } else if (markdown) {
        status = cs_opt_markdown(cs_commands, &text);
    } else {
        status = cs_opt_overview(cs_commands, &text);
    }
    if (status == CS_OK && fputs(text, stdout) == EOF) {
        status = cs_fail(CS_ERR_IO, "standard output cannot be written");
    }
    free(text);
    return status;
}

const cs_command cs_cmd_help = {
    .name = "help",
    .summary = "Show the commands, or one command's options and examples",
    .description = "Without an argument lists the commands. The man page, the bash completion and "
                   "docs/cli.md are printed from the same option tables.",
    .positional = "[COMMAND]",
    .groups = help_groups,
    .examples = "# options of the toy model\n"
                "cospec help toy\n"
                "# install the completion for this shell\n"
                "cospec help --completion",
    .run = run_help,
    .without = "json csv output seed threads device config dry-run resume force quiet",
};
