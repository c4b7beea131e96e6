/* cospec help: the same tables as --help, and the documents generated from them. */
#include "cli/commands.h"

static const cs_opt help_options[] = {
    CS_FLAG("all", "Explain all options of COMMAND, as --help-all does."),
    CS_FLAG("man", "Print the man page (roff)."),
    CS_CHOICE("completion", "bash|zsh|fish", NULL, "Print the completion script of a shell."),
    CS_FLAG("markdown", "Print docs/reference/cli.md."),
    CS_FLAG("tables", "Print the option tables of all commands as JSON."),
    {0},
};
static const cs_opt *const help_groups[] = {help_options, NULL};

static cs_opt_writer *const completions[] = {cs_completion_bash, cs_completion_zsh,
                                             cs_completion_fish};

static cs_status run_help(cs_args *args)
{
    const bool topic = cs_args_positionals(args) > 0, man = cs_args_flag(args, "man"),
               shell = cs_args_given(args, "completion"), markdown = cs_args_flag(args, "markdown"),
               tables = cs_args_flag(args, "tables"), all = cs_args_flag(args, "all");
    if (topic + man + shell + markdown + tables > 1) {
        return cs_fail(CS_ERR_USAGE, "give only one of COMMAND, --man, --completion, --markdown, "
                                     "--tables");
    }
    if (all && !topic) {
        return cs_fail(CS_ERR_USAGE, "--all needs a COMMAND");
    }
    const cs_command *command = NULL;
    cs_opt_writer *write = man        ? cs_opt_man
                           : markdown ? cs_opt_markdown
                           : tables   ? cs_opt_json
                           : shell    ? completions[cs_args_choice(args, "completion")]
                           : all      ? cs_opt_help_all
                           : topic    ? cs_opt_help
                                      : cs_opt_overview;
    cs_status status = topic ? cs_command_by_name(cs_args_positional(args, 0), &command) : CS_OK;
    return status == CS_OK ? cs_show(write, topic ? &command : cs_commands) : status;
}

const cs_command cs_cmd_help = {
    .name = "help",
    .help = &cs_help_help,
    .positional = "[COMMAND]",
    .groups = help_groups,
    .run = run_help,
    .without = "json csv output seed threads device metric all config dry-run resume force quiet",
};
