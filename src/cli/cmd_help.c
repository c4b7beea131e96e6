/* cospec help: the same tables as --help, and the documents generated from them. */
#include "cli/commands.h"

static const cs_opt help_options[] = {
    CS_FLAG("man", "Print the man page (roff)."),
    CS_FLAG("completion", "Print the bash completion."),
    CS_FLAG("markdown", "Print docs/reference/cli.md."),
    {0},
};
static const cs_opt *const help_groups[] = {help_options, NULL};

static cs_status run_help(cs_args *args)
{
    static const struct {
        const char *option;
        cs_opt_writer *write;
    } document[] = {
        {"man", cs_opt_man}, {"completion", cs_opt_completion}, {"markdown", cs_opt_markdown}};
    const bool topic = cs_args_positionals(args) > 0;
    cs_opt_writer *write = topic ? cs_opt_help : cs_opt_overview;
    const cs_command *command = NULL;
    int asked = topic;
    for (size_t i = 0; i < sizeof document / sizeof *document; ++i) {
        if (cs_args_flag(args, document[i].option)) {
            write = document[i].write;
            asked += 1;
        }
    }
    if (asked > 1) {
        return cs_fail(CS_ERR_USAGE, "one of COMMAND, --man, --completion, --markdown at a time");
    }
    cs_status status = topic ? cs_command_by_name(cs_args_positional(args, 0), &command) : CS_OK;
    return status == CS_OK ? cs_show(write, topic ? &command : cs_commands) : status;
}

const cs_command cs_cmd_help = {
    .name = "help",
    .summary = "Show the commands, or one command's options and examples",
    .description = "Without an argument lists the commands. The man page, the bash completion and "
                   "docs/reference/cli.md are printed from the same option tables.",
    .positional = "[COMMAND]",
    .groups = help_groups,
    .examples = "# options of the toy model\n"
                "cospec help toy\n"
                "# install the completion for this shell\n"
                "cospec help --completion",
    .run = run_help,
    .without = "json csv output seed threads device metric all config dry-run resume force quiet",
};
