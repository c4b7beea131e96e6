/* Text from the option tables: --help, wrapped at 80 columns, with the options under the headings
 * of their groups and the common ones last; the man page (man(7) macros) and
 * docs/reference/cli.md. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "cli/args.h"
#include "plan/objective.h"
#include "version.h"

#define WHAT_IS_PRINTED                                                                            \
    "Data go to standard output, everything else to standard error. Each command prints a "        \
    "selection of the rows and columns of its result, the same on a terminal, in a pipe and "      \
    "under --resume. The option --all prints all of them, and --metric the rows of one metric. "   \
    "The options --json and --csv and the files of -o DIR hold the whole result."

enum { WIDTH = 80, OPTION_INDENT = 30 };

/* The escape of each character in a language; NULL: itself. */
typedef const char *const escapes[128];
static escapes in_roff = {['\\'] = "\\e",  ['-'] = "\\-",    ['^'] = "\\(ha",
                          ['~'] = "\\(ti", ['\''] = "\\(aq", ['`'] = "\\(ga"};
static escapes in_cell = {['|'] = "\\|", ['<'] = "\\<", ['\n'] = " "};
static escapes in_code = {['|'] = "\\|"};
static escapes as_it_is;

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
    if (!chooses(o) || shown_argument(o) == o->argument || used < 0 || (size_t)used >= size) return;
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
    if (o->letter) (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
    (void)snprintf(form, size, "%s--%s%s%s", letter, o->name, o->kind == CS_OPT_FLAG ? "" : " ",
                   o->kind == CS_OPT_FLAG ? "" : shown_argument(o));
}

/* Characters of a word that a line takes: all, or up to the last '|' if it is longer than a line. */
static size_t part_of_word(const char *text, size_t word, int indent)
{
    const size_t most = (size_t)(WIDTH - indent);
    const char *bar = word > most ? memrchr(text, '|', most) : NULL;
    return bar ? (size_t)(bar - text) + 1 : word;
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
        word = part_of_word(text, word, indent);
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
        text += text < end && (*text == ' ' || *text == '\n');
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
    while ((text = block_of(text, &length, &verbatim)) != NULL) {
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

/* A list of options under headings, one for adjacent options with the same heading. */
typedef struct {
    FILE *out;
    const char *heading; /* the last one printed, NULL: none */
    const char *only;    /* names to print, NULL: all */
    const char *skip;    /* names to leave out, NULL: none */
    int column;          /* of a list of names */
    bool common;         /* whether to print the common options */
} option_list;

static bool in_list(const option_list *list, const cs_opt *o, const char *heading)
{
    return (!list->only || cs_listed(list->only, o->name)) && !cs_listed(list->skip, o->name) &&
           (heading || list->common);
}

/* Whether the option begins a section; *heading is its title. */
static bool new_section(option_list *list, const char **heading)
{
    *heading = *heading ? *heading : "Common options";
    const bool begins = !list->heading || strcmp(list->heading, *heading) != 0;
    list->heading = *heading;
    return begins;
}

static void print_option(FILE *out, const cs_opt *o)
{
    char form[160];
    option_form(o, form, sizeof form);
    int column = fprintf(out, "  %s%s", o->letter ? "" : "    ", form);
    if (column + 2 > OPTION_INDENT) {
        (void)fprintf(out, "\n%*s", OPTION_INDENT, "");
    } else {
        (void)fprintf(out, "%*s", OPTION_INDENT - column, "");
    }
    char text[1024];
    option_help(o, text, sizeof text);
    if (o->fallback) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " [%s]", o->fallback);
    }
    wrap(out, text, strlen(text), OPTION_INDENT, OPTION_INDENT);
}

static void print_section(void *ctx, const cs_opt *o, const char *heading)
{
    option_list *list = ctx;
    if (!in_list(list, o, heading)) return;
    const bool first = !list->heading;
    if (new_section(list, &heading))
        (void)fprintf(list->out, "%s%s:\n", first ? "" : "\n", heading);
    print_option(list->out, o);
}

static void print_listed(void *ctx, const cs_opt *o, const char *heading)
{
    option_list *list = ctx;
    if (in_list(list, o, heading)) print_option(list->out, o);
}

/* Names alone, wrapped. */
static void print_name(void *ctx, const cs_opt *o, const char *heading)
{
    enum { INDENT = 6 };
    option_list *list = ctx;
    if (!in_list(list, o, heading)) return;
    const bool first = !list->heading;
    if (new_section(list, &heading)) {
        (void)fprintf(list->out, "%s  %s:\n%*s", first ? "" : "\n", heading, INDENT - 1, "");
        list->column = INDENT - 1;
    }
    const int length = (int)strlen(o->name) + 3;
    if (list->column + length > WIDTH) {
        (void)fprintf(list->out, "\n%*s", INDENT - 1, "");
        list->column = INDENT - 1;
    }
    list->column += fprintf(list->out, " --%s", o->name);
}

/* The options of command.main in that order, then the names of the others. */
static void print_main(const cs_command *command, FILE *out)
{
    (void)fputs("Main options:\n", out);
    for (const char *p = command->main; *p; p += strspn(p, " ")) {
        char name[64];
        const size_t length = strcspn(p, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, p);
        option_list one = {.out = out, .only = name, .common = true};
        (void)cs_opt_each(command, print_listed, &one);
        p += length;
    }
    (void)fprintf(out, "\nMore options, explained by 'cospec %s --help-all':\n", command->name);
    option_list others = {.out = out, .skip = command->main, .common = true};
    (void)cs_opt_each(command, print_name, &others);
    (void)fputc('\n', out);
}

static void help(const cs_command *command, bool all, FILE *out)
{
    int column = fprintf(out, "cospec %s: ", command->name);
    wrap(out, command->help->summary, strlen(command->help->summary), column, column);
    char usage[256];
    (void)snprintf(usage, sizeof usage, "%s%s%s [options]", command->name,
                   command->positional ? " " : "", command->positional ? command->positional : "");
    column = fprintf(out, "\nUsage: cospec ") - 1;
    wrap(out, usage, strlen(usage), column, 7);
    (void)fputc('\n', out);
    put_description(out, command->help->description, print_block);
    if (command->main && !all) {
        print_main(command, out);
    } else {
        option_list list = {.out = out, .common = true};
        (void)cs_opt_each(command, print_section, &list);
    }
    (void)fprintf(out, "\nExamples:\n");
    for (const char *p = command->help->examples; *p;) {
        size_t line = strcspn(p, "\n");
        (void)fprintf(out, "  %.*s\n", (int)line, p);
        p += line + (p[line] == '\n');
    }
}

void cs_opt_help(const cs_command *const *one, FILE *out)
{
    help(*one, false, out);
}

void cs_opt_help_all(const cs_command *const *one, FILE *out)
{
    help(*one, true, out);
}

void cs_opt_overview(const cs_command *const *commands, FILE *out)
{
    (void)fprintf(out, "cospec: spectral theory of self-supervised pretraining\n\n"
                       "Usage: cospec COMMAND [options]\n\nCommands:\n");
    for (const cs_command *const *c = commands; *c; ++c) {
        int column = fprintf(out, "  %-14s", (*c)->name);
        wrap(out, (*c)->help->summary, strlen((*c)->help->summary), column, column);
    }
    (void)fprintf(out, "\n'cospec help COMMAND' shows a command's options and examples.\n");
}

/* --- documents ------------------------------------------------------------------------------- */

static const char *const exit_codes[][2] = {
    {"0", "success, or the reader of standard output has closed it"},
    {"1", "a corrected statement failed (a failure of a statement as printed is a finding, not an "
          "error)"},
    {"2", "wrong usage"},
    {"3", "bad input, a file that cannot be read or written, not enough memory"},
    {"4", "an iteration did not converge (the partial result is printed), or inconclusive"},
    {"5", "the requested device is not available"},
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

static void roff_section(void *ctx, const cs_opt *o, const char *heading)
{
    option_list *list = ctx;
    if (!in_list(list, o, heading)) return;
    if (new_section(list, &heading)) {
        (void)fputs(".PP\n\\fI", list->out);
        roff_text(list->out, heading);
        (void)fputs("\\fR\n", list->out);
    }
    roff_option(list->out, o);
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
    roff_text(out, c->help->summary);
    (void)fputs(".\n", out);
    put_description(out, c->help->description, roff_block);
    option_list list = {.out = out};
    (void)cs_opt_each(c, roff_section, &list);
    (void)fputs(".PP\nExamples:\n.PP\n.nf\n.RS 4\n", out);
    roff_text(out, c->help->examples);
    (void)fputs("\n.RE\n.fi\n", out);
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
        "singular value decomposition with certificates, and checks the theorems about it."
        "\n\n" WHAT_IS_PRINTED,
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

/* --- markdown --------------------------------------------------------------------------------- */

/* The length of an option, or of a name or file name with underscores, at the start of the text, else 0. */
static size_t name_length(const char *text, size_t length)
{
    const bool option = length > 2 && text[0] == '-' && text[1] == '-';
    size_t n = option ? 2 : 0;
    bool underscore = false;
    if (n >= length || !islower((unsigned char)text[n])) return 0;
    for (; n < length && (isalnum((unsigned char)text[n]) || text[n] == (option ? '-' : '_')); ++n)
        underscore |= text[n] == '_';
    if (!option && n + 1 < length && text[n] == '.' && islower((unsigned char)text[n + 1]))
        for (++n; n < length && islower((unsigned char)text[n]); ++n)
            continue;
    return option || underscore ? n : 0;
}

/* With equations in the place of formulas, and with names as code, except in code. */
static void put_prose(FILE *out, escapes escape, const char *text, size_t length)
{
    bool code = false, inside = false;
    for (size_t i = 0; i < length;) {
        const char *tex = NULL;
        const bool plain = !code && !inside;
        const size_t formula = plain ? cs_opt_equation(text + i, length - i, &tex) : 0;
        const size_t name = plain && formula == 0 ? name_length(text + i, length - i) : 0;
        code ^= text[i] == '`';
        if (formula > 0) {
            (void)fprintf(out, "$%s$", tex);
        } else if (name > 0) {
            (void)fprintf(out, "`%.*s`", (int)name, text + i);
        } else {
            put(out, escape, text + i, 1);
        }
        i += formula + name > 0 ? formula + name : 1;
        inside = isalnum((unsigned char)text[i - 1]) || strchr("_^-/.", text[i - 1]);
    }
}

/* "docs/PAGE.md" becomes a link from docs/reference/cli.md. */
static void markdown_text(FILE *out, escapes escape, const char *text, size_t length)
{
    static const char root[] = "docs/", ending[] = ".md";
    if (length == 0) return;
    for (const char *end = text + length; text < end;) {
        const char *page = memmem(text, (size_t)(end - text), root, strlen(root));
        const char *stop = page ? memmem(page, (size_t)(end - page), ending, strlen(ending)) : NULL;
        if (!stop || (size_t)(stop - page) > strcspn(page, " \n")) {
            put_prose(out, escape, text, (size_t)(end - text));
            return;
        }
        stop += strlen(ending);
        put_prose(out, escape, text, (size_t)(page - text));
        (void)fprintf(out, "[%.*s](../%.*s)", (int)(stop - page), page,
                      (int)(stop - page - (int)strlen(root)), page + strlen(root));
        text = stop;
    }
}

/* NULL: an empty one. */
static void markdown_cell(FILE *out, const char *text)
{
    markdown_text(out, in_cell, text, text ? strlen(text) : 0);
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

#define TABLE_OF_OPTIONS "| option | meaning | default |\n|---|---|---|\n"

/* A table for each heading. A single table needs none. */
static void markdown_section(void *ctx, const cs_opt *o, const char *heading)
{
    option_list *list = ctx;
    if (!in_list(list, o, heading)) return;
    const bool first = !list->heading;
    if (new_section(list, &heading)) {
        if (!first || strcmp(heading, "Options") != 0)
            (void)fprintf(list->out, "%s**%s**\n\n", first ? "" : "\n", heading);
        (void)fputs(TABLE_OF_OPTIONS, list->out);
    }
    markdown_option(list->out, o);
}

static void markdown_block(FILE *out, const char *text, size_t length, bool verbatim)
{
    const char *tex = NULL;
    const size_t indent = verbatim ? strspn(text, " ") : 0;
    if (verbatim && cs_opt_equation(text + indent, length - indent, &tex) == length - indent) {
        (void)fprintf(out, "$$%s$$\n\n", tex);
    } else if (verbatim) {
        (void)fprintf(out, "```\n%.*s\n```\n\n", (int)length, text);
    } else {
        markdown_text(out, as_it_is, text, length);
        (void)fputs("\n\n", out);
    }
}

static void markdown_command(FILE *out, const cs_command *c)
{
    (void)fprintf(out, "## cospec %s\n\n%s.\n\n```\ncospec %s%s%s [options]\n```\n\n", c->name,
                  c->help->summary, c->name, c->positional ? " " : "",
                  c->positional ? c->positional : "");
    put_description(out, c->help->description, markdown_block);
    option_list list = {.out = out};
    (void)cs_opt_each(c, markdown_section, &list);
    if (c->without) {
        (void)fprintf(out, "%sWithout the common options `%s`.\n", list.heading ? "\n" : "",
                      c->without);
    }
    (void)fprintf(out, "\n```sh\n%s\n```\n\n", c->help->examples);
}

/* The list of plan/objectives.h. */
static void markdown_objectives(FILE *out)
{
    (void)fputs(
        "\n## Objectives\n\nThe values of `--objective`, with their plans "
        "([docs/explanation/objectives.md](../explanation/objectives.md)) and options. All "
        "of them also take "
        "`--event-weight`, `--target-weight`, `--empty-prefix` and `--share`. The fifth column has "
        "the default values.\n\n"
        "| objective | also | plans | options | defaults | source |\n"
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
    (void)fputc('\n', out);
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const char *note = cs_objective_table((cs_objective_kind)kind)->note;
        if (note) {
            (void)fprintf(out, "- `%s`: ", cs_objective_name((cs_objective_kind)kind));
            markdown_text(out, as_it_is, note, strlen(note));
            (void)fputc('\n', out);
        }
    }
}

void cs_opt_markdown(const cs_command *const *commands, FILE *out)
{
    (void)fputs("# Command line\n\nGenerated by `make docs` from the program's option tables. The "
                "[glossary](../glossary.md#symbols) defines the symbols.\n\n" WHAT_IS_PRINTED
                "\n\n| exit code | meaning |\n|---|---|\n",
                out);
    for (int i = 0; i < EXIT_CODES; ++i) {
        (void)fprintf(out, "| %s | %s |\n", exit_codes[i][0], exit_codes[i][1]);
    }
    (void)fputs("\n## Common options\n\n" TABLE_OF_OPTIONS, out);
    for (const cs_opt *o = cs_opt_common; o->name; ++o)
        markdown_option(out, o);
    markdown_objectives(out);
    (void)fputc('\n', out);
    for (const cs_command *const *c = commands; *c; ++c)
        markdown_command(out, *c);
}
