/* Text from the option tables: --help, wrapped at 80 columns, with the options in the order of
 * their groups and the common ones last; the man page (man(7) macros), the bash completion and
 * docs/reference/cli.md. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "plan/objective.h"
#include "version.h"

#define WHAT_IS_PRINTED                                                                            \
    "Data go to standard output, everything else to standard error. Text is what answers the "     \
    "question: rows and columns that the command selects, the same on a terminal, in a pipe and "  \
    "under --resume. --all prints all of them, --metric the rows of one metric; --json, --csv "    \
    "and "                                                                                         \
    "the files of -o DIR keep everything."

enum { WIDTH = 80, OPTION_INDENT = 30 };

/* What a character becomes in a language; NULL: itself. */
typedef const char *const escapes[128];
static escapes in_roff = {['\\'] = "\\e",  ['-'] = "\\-",    ['^'] = "\\(ha",
                          ['~'] = "\\(ti", ['\''] = "\\(aq", ['`'] = "\\(ga"};
static escapes in_cell = {['|'] = "\\|", ['<'] = "\\<", ['\n'] = " "};
static escapes in_code = {['|'] = "\\|"}, in_words = {['|'] = " "};

static void put(FILE *out, escapes escape, const char *text, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        const char *other = (text[i] & 0x80) == 0 ? escape[(int)text[i]] : NULL;
        (void)fputs(other ? other : (char[]){text[i], '\0'}, out);
    }
}

static bool chooses(const cs_opt *o)
{
    return o->kind == CS_OPT_CHOICE || o->kind == CS_OPT_NAME;
}

/* The argument as the texts show it: a long list of choices is NAME, and is listed in the help. */
static const char *shown_argument(const cs_opt *o)
{
    enum { LONGEST = 40 };
    return chooses(o) && strlen(o->argument) > LONGEST ? "NAME" : o->argument;
}

/* The help, with the choices when the form does not show them. */
static void option_help(const cs_opt *o, char *text, size_t size)
{
    int used = snprintf(text, size, "%s", o->help);
    if (!chooses(o) || shown_argument(o) == o->argument || used < 0 || (size_t)used >= size) {
        return;
    }
    const char *between = " One of ";
    for (const char *p = o->argument; *p && (size_t)used < size; p += *p == '|', between = ", ") {
        const size_t choice = strcspn(p, "|");
        used += snprintf(text + used, size - (size_t)used, "%s%.*s%s", between, (int)choice, p,
                         p[choice] ? "" : ".");
        p += choice;
    }
}

/* "-k, --rank N" */
static void option_form(const cs_opt *o, char *form, size_t size)
{
    char letter[8] = "";
    if (o->letter) {
        (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
    }
    (void)snprintf(form, size, "%s--%s%s%s", letter, o->name, o->kind == CS_OPT_FLAG ? "" : " ",
                   o->kind == CS_OPT_FLAG ? "" : shown_argument(o));
}

/* Words of text[0..length-1] from column `column` on, later lines indented. */
static void wrap(FILE *out, const char *text, size_t length, int column, int indent)
{
    const char *end = text + length;
    bool first = true;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n') {
            ++word;
        }
        if (word > 0) {
            if (!first && column + 1 + (int)word > WIDTH) {
                (void)fprintf(out, "\n%*s", indent, "");
                column = indent;
            } else if (!first) {
                (void)fputc(' ', out);
                ++column;
            }
            (void)fprintf(out, "%.*s", (int)word, text);
            column += (int)word;
            first = false;
        }
        text += word;
        text += text < end;
    }
    (void)fputc('\n', out);
}

/* The first block of a description at or after `text`: a paragraph, or lines set verbatim.
 * NULL at the end. */
static const char *block_of(const char *text, size_t *length, bool *verbatim)
{
    while (*text == '\n') {
        ++text;
    }
    if (!*text) {
        return NULL;
    }
    *verbatim = strncmp(text, "  ", 2) == 0;
    size_t n = 0;
    while (text[n] && !(text[n] == '\n' && (text[n + 1] == '\n' || text[n + 1] == '\0' ||
                                            (strncmp(text + n + 1, "  ", 2) == 0) != *verbatim))) {
        ++n;
    }
    *length = n;
    return text;
}

static void put_description(FILE *out, const char *text,
                            void (*write)(FILE *out, const char *block, size_t length,
                                          bool verbatim))
{
    size_t length = 0;
    bool verbatim = false;
    while (text && (text = block_of(text, &length, &verbatim)) != NULL) {
        write(out, text, length, verbatim);
        text += length;
    }
}

static void print_block(FILE *out, const char *text, size_t length, bool verbatim)
{
    if (verbatim) {
        (void)fprintf(out, "%.*s\n", (int)length, text);
    } else {
        wrap(out, text, length, 0, 0);
    }
    (void)fputc('\n', out);
}

typedef struct {
    FILE *out;
    bool common; /* the heading of the common options is printed */
    bool any;
} help_list;

static void print_option(void *ctx, const cs_opt *o, bool common)
{
    help_list *list = ctx;
    if (common && !list->common) {
        (void)fprintf(list->out, "%sCommon options:\n", list->any ? "\n" : "");
        list->common = true;
    } else if (!common && !list->any) {
        (void)fprintf(list->out, "Options:\n");
    }
    list->any = true;
    char form[160];
    option_form(o, form, sizeof form);
    int column = fprintf(list->out, "  %s%s", o->letter ? "" : "    ", form);
    if (column + 2 > OPTION_INDENT) {
        (void)fprintf(list->out, "\n%*s", OPTION_INDENT, "");
    } else {
        (void)fprintf(list->out, "%*s", OPTION_INDENT - column, "");
    }
    char text[1024];
    option_help(o, text, sizeof text);
    if (o->fallback) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " [%s]", o->fallback);
    }
    wrap(list->out, text, strlen(text), OPTION_INDENT, OPTION_INDENT);
}

void cs_opt_help(const cs_command *const *one, FILE *out)
{
    const cs_command *command = *one;
    int column = fprintf(out, "cospec %s: ", command->name);
    wrap(out, command->summary, strlen(command->summary), column, column);
    char usage[256];
    (void)snprintf(usage, sizeof usage, "%s%s%s [options]", command->name,
                   command->positional ? " " : "", command->positional ? command->positional : "");
    column = fprintf(out, "\nUsage: cospec ") - 1;
    wrap(out, usage, strlen(usage), column, 7);
    (void)fputc('\n', out);
    put_description(out, command->description, print_block);
    help_list list = {.out = out};
    cs_opt_each(command, print_option, &list);
    if (command->examples) {
        (void)fprintf(out, "\nExamples:\n");
        for (const char *p = command->examples; *p;) {
            size_t line = strcspn(p, "\n");
            (void)fprintf(out, "  %.*s\n", (int)line, p);
            p += line + (p[line] == '\n');
        }
    }
}

void cs_opt_overview(const cs_command *const *commands, FILE *out)
{
    (void)fprintf(out, "cospec: spectral theory of self-supervised pretraining\n\n"
                       "Usage: cospec COMMAND [options]\n\nCommands:\n");
    for (const cs_command *const *c = commands; *c; ++c) {
        int column = fprintf(out, "  %-14s", (*c)->name);
        wrap(out, (*c)->summary, strlen((*c)->summary), column, column);
    }
    (void)fprintf(out, "\n'cospec help COMMAND' shows a command's options and examples.\n");
}

/* --- documents ------------------------------------------------------------------------------- */

static const char exit_codes[][2][80] = {
    {"0", "success"},
    {"1", "a corrected statement failed (a false printed one is a finding, not an error)"},
    {"2", "wrong usage"},
    {"3", "bad input, a file that cannot be read or written, not enough memory"},
    {"4", "an iteration did not converge (the partial result is printed), or inconclusive"},
    {"5", "the device asked for is not there"},
    {"130", "interrupted by Ctrl-C, SIGTERM, SIGHUP, SIGXCPU; a second Ctrl-C ends it at once"},
};
enum { EXIT_CODES = sizeof exit_codes / sizeof exit_codes[0] };

/* --- man -------------------------------------------------------------------------------------- */

/* Escapes what roff would take for itself; a newline ends a line whose next character may be one.
 */
static void roff(FILE *out, const char *text, size_t length)
{
    for (const char *end = text + length; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text)), *next = stop ? stop + 1 : end;
        (void)fputs(*text == '.' || *text == '\'' ? "\\&" : "", out);
        put(out, in_roff, text, (size_t)(next - text));
        text = next;
    }
}

static void roff_text(FILE *out, const char *text)
{
    roff(out, text, strlen(text));
}

static void roff_block(FILE *out, const char *text, size_t length, bool verbatim)
{
    (void)fputs(verbatim ? ".PP\n.nf\n" : ".PP\n", out);
    roff(out, text, length);
    (void)fputs(verbatim ? "\n.fi\n" : "\n", out);
}

static void roff_option(FILE *out, const cs_opt *o)
{
    char text[1024];
    option_help(o, text, sizeof text);
    (void)fputs(".TP\n", out);
    if (o->letter) {
        (void)fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    }
    (void)fputs("\\fB\\-\\-", out);
    roff_text(out, o->name);
    (void)fputs("\\fR", out);
    if (o->kind != CS_OPT_FLAG) {
        (void)fputs(" \\fI", out);
        roff_text(out, shown_argument(o));
        (void)fputs("\\fR", out);
    }
    (void)fputc('\n', out);
    roff_text(out, text);
    if (o->fallback) {
        (void)fputs("\nDefault: ", out);
        roff_text(out, o->fallback);
        (void)fputc('.', out);
    }
    (void)fputc('\n', out);
}

static void roff_own_option(void *ctx, const cs_opt *o, bool common)
{
    if (!common) {
        roff_option(ctx, o);
    }
}

static void roff_command(FILE *out, const cs_command *c)
{
    (void)fprintf(out, ".SS \"cospec ");
    roff_text(out, c->name);
    if (c->positional) {
        (void)fputc(' ', out);
        roff_text(out, c->positional);
    }
    (void)fputs(" [options]\"\n", out);
    roff_text(out, c->summary);
    (void)fputs(".\n", out);
    put_description(out, c->description, roff_block);
    cs_opt_each(c, roff_own_option, out);
    if (c->examples) {
        (void)fputs(".PP\nExamples:\n.PP\n.nf\n.RS 4\n", out);
        roff_text(out, c->examples);
        (void)fputs("\n.RE\n.fi\n", out);
    }
}

void cs_opt_man(const cs_command *const *commands, FILE *out)
{
    (void)fprintf(out,
                  ".TH COSPEC 1 \"\" \"cospec %s\" \"User Commands\"\n.SH NAME\n"
                  "cospec \\- spectral theory of self\\-supervised pretraining\n.SH SYNOPSIS\n"
                  ".B cospec\n.I COMMAND\n[options]\n.SH DESCRIPTION\n",
                  CS_VERSION);
    put_description(
        out,
        "Builds co-occurrence matrices of conditional texts and target tokens under any "
        "pretraining objective, on a toy model or a corpus, computes their normalised "
        "singular value decomposition with certificates, and audits the theorems that speak "
        "about it.\n\n" WHAT_IS_PRINTED,
        roff_block);
    (void)fputs(".SH COMMANDS\n", out);
    for (const cs_command *const *c = commands; *c; ++c) {
        roff_command(out, *c);
    }
    (void)fputs(".SH \"COMMON OPTIONS\"\n", out);
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        roff_option(out, o);
    }
    (void)fputs(".SH \"EXIT STATUS\"\n", out);
    for (int i = 0; i < EXIT_CODES; ++i) {
        (void)fprintf(out, ".TP\n%s\n", exit_codes[i][0]);
        roff_text(out, exit_codes[i][1]);
        (void)fputc('\n', out);
    }
    (void)fputs(
        ".SH ENVIRONMENT\n.TP\nCOSPEC_CACHE\nWhere prepared corpora are kept; else "
        "$XDG_CACHE_HOME/cospec, else \\(ti/.cache/cospec.\n.TP\nOMP_NUM_THREADS\nDefault of "
        "\\-\\-threads.\n.TP\nTMPDIR\nDefault of \\-\\-scratch.\n",
        out);
}

/* --- bash completion -------------------------------------------------------------------------- */

static void completion_name(void *ctx, const cs_opt *o, bool common)
{
    (void)common;
    (void)fprintf(ctx, " --%s", o->name);
}

static void completion_choices(void *ctx, const cs_opt *o, bool common)
{
    FILE *out = ctx;
    (void)common;
    if (o->kind == CS_OPT_FLAG) {
        return;
    }
    (void)fputs("            ", out);
    if (o->letter) {
        (void)fprintf(out, "-%c|", o->letter);
    }
    (void)fprintf(out, "--%s) words=", o->name);
    if (o->kind == CS_OPT_CHOICE || o->kind == CS_OPT_NAME) {
        (void)fputc('"', out);
        put(out, in_words, o->argument, strlen(o->argument));
        (void)fputs("\" files=0 ;;\n", out);
    } else {
        (void)fprintf(out, " files=%d ;;\n",
                      strstr(o->argument, "FILE") || strstr(o->argument, "DIR"));
    }
}

/* The arguments that the command's synopsis spells out ("3.1|4.1|all"): capitals name a kind of
 * argument, of which COMMAND is a known list. */
static void completion_arguments(FILE *out, const cs_command *c, const cs_command *const *commands)
{
    const char *p = c->positional ? c->positional : "";
    while (*p) {
        size_t word = strcspn(p, "| []");
        bool spelled = word > 0 && strcspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= word;
        if (spelled) {
            (void)fprintf(out, "%.*s ", (int)word, p);
        } else if (word == 7 && memcmp(p, "COMMAND", 7) == 0) {
            for (const cs_command *const *d = commands; *d; ++d) {
                (void)fprintf(out, "%s ", (*d)->name);
            }
        }
        p += word;
        p += strspn(p, "| []");
    }
}

static void completion_command(FILE *out, const cs_command *c, const cs_command *const *commands)
{
    (void)fprintf(out, "        %s)\n            options=\"", c->name);
    cs_opt_each(c, completion_name, out);
    (void)fputs("\"\n            arguments=\"", out);
    completion_arguments(out, c, commands);
    bool files = c->positional && (strstr(c->positional, "FILE") || strstr(c->positional, "DIR") ||
                                   strstr(c->positional, "MANIFEST"));
    (void)fprintf(out, "\" files=%d\n            case $previous in\n", files);
    cs_opt_each(c, completion_choices, out);
    (void)fputs("            *) case $current in -*) words=$options ;; '') words=\"$arguments "
                "$options\" ;; *) words=$arguments ;; esac ;;\n            esac ;;\n",
                out);
}

void cs_opt_completion(const cs_command *const *commands, FILE *out)
{
    (void)fputs(
        "# bash completion for cospec, generated by 'cospec help --completion'\n_cospec()\n{\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local words= files=0 options= arguments=\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n        words=\"",
        out);
    for (const cs_command *const *c = commands; *c; ++c) {
        (void)fprintf(out, "%s ", (*c)->name);
    }
    (void)fputs("--help --version\"\n    else\n        case ${COMP_WORDS[1]} in\n", out);
    for (const cs_command *const *c = commands; *c; ++c) {
        completion_command(out, *c, commands);
    }
    (void)fputs("        esac\n    fi\n"
                "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                "    if [ \"$files\" = 1 ]; then\n"
                "        case $current in -*) ;; *) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY "
                "< <(compgen -f -- \"$current\") ;; esac\n    fi\n}\n"
                "complete -o filenames -F _cospec cospec\n",
                out);
}

/* --- markdown --------------------------------------------------------------------------------- */

/* NULL: an empty one. */
static void markdown_cell(FILE *out, const char *text)
{
    put(out, in_cell, text, text ? strlen(text) : 0);
    (void)fputs(" |", out);
}

static void markdown_option(FILE *out, const cs_opt *o)
{
    char form[160], text[1024];
    option_form(o, form, sizeof form);
    option_help(o, text, sizeof text);
    (void)fputs("| `", out);
    put(out, in_code, form, strlen(form));
    (void)fputs("` | ", out);
    markdown_cell(out, text);
    (void)fputc(' ', out);
    markdown_cell(out, o->fallback);
    (void)fputc('\n', out);
}

typedef struct {
    FILE *out;
    bool headed;
} markdown_list;

static void markdown_own_option(void *ctx, const cs_opt *o, bool common)
{
    markdown_list *list = ctx;
    if (!common) {
        (void)fputs(list->headed ? "" : "| option | meaning | default |\n|---|---|---|\n",
                    list->out);
        list->headed = true;
        markdown_option(list->out, o);
    }
}

static void markdown_block(FILE *out, const char *text, size_t length, bool verbatim)
{
    (void)fprintf(out, verbatim ? "```\n%.*s\n```\n\n" : "%.*s\n\n", (int)length, text);
}

static void markdown_command(FILE *out, const cs_command *c)
{
    (void)fprintf(out, "## cospec %s\n\n%s.\n\n```\ncospec %s%s%s [options]\n```\n\n", c->name,
                  c->summary, c->name, c->positional ? " " : "",
                  c->positional ? c->positional : "");
    put_description(out, c->description, markdown_block);
    markdown_list list = {.out = out};
    cs_opt_each(c, markdown_own_option, &list);
    if (c->without) {
        (void)fprintf(out, "%sWithout the common options `%s`.\n", list.headed ? "\n" : "",
                      c->without);
    }
    if (c->examples) {
        (void)fprintf(out, "\n```sh\n%s\n```\n", c->examples);
    }
    (void)fputc('\n', out);
}

/* The list of plan/objectives.h. */
static void markdown_objectives(FILE *out)
{
    (void)fputs("\n## Objectives\n\nWhat `--objective` names, by plans (docs/explanation/theory.md), with the "
                "options it takes beside `--event-weight`, `--target-weight` and `--empty-prefix`. "
                "`cospec train` takes the values in the fifth column where none are given.\n\n"
                "| objective | also | plans | options | in training | source |\n"
                "|---|---|---|---|---|---|\n",
                out);
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const cs_objective_row *row = cs_objective_table((cs_objective_kind)kind);
        const char *cell[] = {row->aliases, row->plans, row->takes, row->trained, row->source};
        (void)fprintf(out, "| `%s` |", cs_objective_name((cs_objective_kind)kind));
        for (size_t i = 0; i < sizeof cell / sizeof *cell; ++i) {
            (void)fputc(' ', out);
            markdown_cell(out, cell[i]);
        }
        (void)fputc('\n', out);
    }
}

void cs_opt_markdown(const cs_command *const *commands, FILE *out)
{
    (void)fputs("# Command line\n\nGenerated by `make docs` from the program's option "
                "tables.\n\n" WHAT_IS_PRINTED "\n\n| exit code | meaning |\n|---|---|\n",
                out);
    for (int i = 0; i < EXIT_CODES; ++i) {
        (void)fprintf(out, "| %s | %s |\n", exit_codes[i][0], exit_codes[i][1]);
    }
    (void)fputs("\n## Common options\n\n| option | meaning | default |\n|---|---|---|\n", out);
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        markdown_option(out, o);
    }
    markdown_objectives(out);
    (void)fputc('\n', out);
    for (const cs_command *const *c = commands; *c; ++c) {
        markdown_command(out, *c);
    }
}
