/* --help from the option tables: text wrapped at 80 columns, options in the order of their groups,
 * the common ones last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/docs.h"

enum { WIDTH = 80, OPTION_INDENT = 30 };

cs_status cs_docs_text(cs_docs_writer write, const void *commands, char **out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    cs_status status = stream ? write(commands, stream) : CS_ERR_MEMORY;
    bool bad = !stream || ferror(stream) != 0;
    bad = (stream && fclose(stream) != 0) || bad;
    if (status == CS_OK && bad) {
        status = CS_ERR_MEMORY;
    }
    if (bad) {
        (void)cs_fail(status, "out of memory for the text of the help");
    }
    if (status == CS_OK) {
        *out = text;
        text = NULL;
    }
    free(text);
    return status;
}

const char *cs_docs_argument(const cs_opt *o)
{
    enum { LONGEST = 40 };
    return o->kind == CS_OPT_CHOICE && strlen(o->argument) > LONGEST ? "NAME" : o->argument;
}

void cs_docs_option_help(const cs_opt *o, char *text, size_t size)
{
    int used = snprintf(text, size, "%s", o->help);
    if (o->kind != CS_OPT_CHOICE || cs_docs_argument(o) == o->argument || used < 0 ||
        (size_t)used >= size) {
        return;
    }
    used += snprintf(text + used, size - (size_t)used, " One of ");
    for (const char *p = o->argument; *p && (size_t)used + 3 < size; ++p) {
        used +=
            snprintf(text + used, size - (size_t)used, "%s", *p == '|' ? ", " : (char[]){*p, 0});
    }
    (void)snprintf(text + used, size - (size_t)used, ".");
}

void cs_docs_option_form(const cs_opt *o, char *form, size_t size)
{
    char letter[8] = "";
    if (o->letter) {
        (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
    }
    (void)snprintf(form, size, "%s--%s%s%s", letter, o->name, o->kind == CS_OPT_FLAG ? "" : " ",
                   o->kind == CS_OPT_FLAG ? "" : cs_docs_argument(o));
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

const char *cs_docs_block(const char *text, size_t *length, bool *verbatim)
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

static void print_description(FILE *out, const char *text)
{
    size_t length = 0;
    bool verbatim = false;
    while (text && (text = cs_docs_block(text, &length, &verbatim)) != NULL) {
        if (verbatim) {
            (void)fprintf(out, "%.*s\n", (int)length, text);
        } else {
            wrap(out, text, length, 0, 0);
        }
        (void)fputc('\n', out);
        text += length;
    }
}

typedef struct {
    FILE *out;
    bool common; /* the heading of the common options is printed */
    bool any;
} help_list;

static cs_status print_option(void *ctx, const cs_opt *o, bool common)
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
    cs_docs_option_form(o, form, sizeof form);
    int column = fprintf(list->out, "  %s%s", o->letter ? "" : "    ", form);
    if (column + 2 > OPTION_INDENT) {
        (void)fprintf(list->out, "\n%*s", OPTION_INDENT, "");
    } else {
        (void)fprintf(list->out, "%*s", OPTION_INDENT - column, "");
    }
    char text[1024];
    cs_docs_option_help(o, text, sizeof text);
    if (o->fallback) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " [%s]", o->fallback);
    }
    wrap(list->out, text, strlen(text), OPTION_INDENT, OPTION_INDENT);
    return CS_OK;
}

static cs_status write_help(const void *listed, FILE *out)
{
    const cs_command *command = listed;
    int column = fprintf(out, "cospec %s: ", command->name);
    wrap(out, command->summary, strlen(command->summary), column, column);
    (void)fprintf(out, "\nUsage: cospec %s%s%s [options]\n\n", command->name,
                  command->positional ? " " : "", command->positional ? command->positional : "");
    print_description(out, command->description);
    help_list list = {.out = out};
    cs_status status = cs_opt_each(command, print_option, &list);
    if (command->examples) {
        (void)fprintf(out, "\nExamples:\n");
        for (const char *p = command->examples; *p;) {
            size_t line = strcspn(p, "\n");
            (void)fprintf(out, "  %.*s\n", (int)line, p);
            p += line + (p[line] == '\n');
        }
    }
    return status;
}

cs_status cs_opt_help(const cs_command *command, char **out)
{
    return cs_docs_text(write_help, command, out);
}

static cs_status write_overview(const void *listed, FILE *out)
{
    const cs_command *const *commands = listed;
    (void)fprintf(out, "cospec: spectral theory of self-supervised pretraining\n\n"
                       "Usage: cospec COMMAND [options]\n\nCommands:\n");
    for (const cs_command *const *c = commands; *c; ++c) {
        int column = fprintf(out, "  %-14s", (*c)->name);
        wrap(out, (*c)->summary, strlen((*c)->summary), column, column);
    }
    (void)fprintf(out, "\n'cospec help COMMAND' shows a command's options and examples.\n");
    return CS_OK;
}

cs_status cs_opt_overview(const cs_command *const *commands, char **out)
{
    return cs_docs_text(write_overview, commands, out);
}
