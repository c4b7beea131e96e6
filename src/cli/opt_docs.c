/* The man page (man(7) macros), the bash completion and docs/cli.md from the option tables. */
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/docs.h"
#include "version.h"

static const char exit_codes[][2][80] = {
    {"0", "success"},
    {"1", "a corrected statement failed (a false printed one is a finding, not an error)"},
    {"2", "wrong usage"},
    {"3", "bad input, a file that cannot be read or written, not enough memory"},
    {"4", "an iteration did not converge (the partial result is printed), or inconclusive"},
    {"5", "the device asked for is not there"},
    {"130", "interrupted"},
};
enum { EXIT_CODES = sizeof exit_codes / sizeof exit_codes[0] };

/* --- man -------------------------------------------------------------------------------------- */

/* Escapes what roff would take for itself; a newline ends a line whose next character may be one.
 */
static void roff(FILE *out, const char *text, size_t length)
{
    bool start = true;
    for (size_t i = 0; i < length; ++i) {
        char c = text[i];
        if (start && (c == '.' || c == '\'')) {
            (void)fputs("\\&", out);
        }
        if (c == '\\') {
            (void)fputs("\\e", out);
        } else if (c == '-') {
            (void)fputs("\\-", out);
        } else if (c == '^') {
            (void)fputs("\\(ha", out);
        } else if (c == '~') {
            (void)fputs("\\(ti", out);
        } else if (c == '\'') {
            (void)fputs("\\(aq", out);
        } else if (c == '`') {
            (void)fputs("\\(ga", out);
        } else {
            (void)fputc(c, out);
        }
        start = c == '\n';
    }
}

static void roff_text(FILE *out, const char *text)
{
    roff(out, text, strlen(text));
}

static void roff_description(FILE *out, const char *text)
{
    size_t length = 0;
    bool verbatim = false;
    while (text && (text = cs_docs_block(text, &length, &verbatim)) != NULL) {
        (void)fputs(verbatim ? ".PP\n.nf\n" : ".PP\n", out);
        roff(out, text, length);
        (void)fputs(verbatim ? "\n.fi\n" : "\n", out);
        text += length;
    }
}

static void roff_option(FILE *out, const cs_opt *o)
{
    char text[1024];
    cs_docs_option_help(o, text, sizeof text);
    (void)fputs(".TP\n", out);
    if (o->letter) {
        (void)fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    }
    (void)fputs("\\fB\\-\\-", out);
    roff_text(out, o->name);
    (void)fputs("\\fR", out);
    if (o->kind != CS_OPT_FLAG) {
        (void)fputs(" \\fI", out);
        roff_text(out, cs_docs_argument(o));
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

static cs_status roff_own_option(void *ctx, const cs_opt *o, bool common)
{
    if (!common) {
        roff_option(ctx, o);
    }
    return CS_OK;
}

static cs_status roff_command(FILE *out, const cs_command *c)
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
    roff_description(out, c->description);
    cs_status status = cs_opt_each(c, roff_own_option, out);
    if (c->examples) {
        (void)fputs(".PP\nExamples:\n.PP\n.nf\n.RS 4\n", out);
        roff_text(out, c->examples);
        (void)fputs("\n.RE\n.fi\n", out);
    }
    return status;
}

static cs_status write_man(const void *listed, FILE *out)
{
    const cs_command *const *commands = listed;
    cs_status status = CS_OK;
    (void)fprintf(out,
                  ".TH COSPEC 1 \"\" \"cospec %s\" \"User Commands\"\n.SH NAME\n"
                  "cospec \\- spectral theory of self\\-supervised pretraining\n.SH SYNOPSIS\n"
                  ".B cospec\n.I COMMAND\n[options]\n.SH DESCRIPTION\n",
                  CS_VERSION);
    roff_description(
        out, "Builds co-occurrence matrices of conditional texts and target tokens under any "
             "pretraining objective, on a toy model or a corpus, computes their normalised "
             "singular value decomposition with certificates, and audits the theorems that speak "
             "about it.\n\nData go to standard output, everything else to standard error.");
    (void)fputs(".SH COMMANDS\n", out);
    for (const cs_command *const *c = commands; *c && status == CS_OK; ++c) {
        status = roff_command(out, *c);
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
    return status;
}

cs_status cs_opt_man(const cs_command *const *commands, char **out)
{
    return cs_docs_text(write_man, commands, out);
}

/* --- bash completion -------------------------------------------------------------------------- */

static cs_status completion_name(void *ctx, const cs_opt *o, bool common)
{
    (void)common;
    (void)fprintf(ctx, " --%s", o->name);
    return CS_OK;
}

static cs_status completion_choices(void *ctx, const cs_opt *o, bool common)
{
    FILE *out = ctx;
    (void)common;
    if (o->kind == CS_OPT_FLAG) {
        return CS_OK;
    }
    (void)fputs("            ", out);
    if (o->letter) {
        (void)fprintf(out, "-%c|", o->letter);
    }
    (void)fprintf(out, "--%s) words=", o->name);
    if (o->kind == CS_OPT_CHOICE) {
        (void)fputc('"', out);
        for (const char *p = o->argument; *p; ++p) {
            (void)fputc(*p == '|' ? ' ' : *p, out);
        }
        (void)fputs("\" files=0 ;;\n", out);
    } else {
        (void)fprintf(out, " files=%d ;;\n",
                      strstr(o->argument, "FILE") || strstr(o->argument, "DIR"));
    }
    return CS_OK;
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

static cs_status completion_command(FILE *out, const cs_command *c,
                                    const cs_command *const *commands)
{
    (void)fprintf(out, "        %s)\n            options=\"", c->name);
    cs_status status = cs_opt_each(c, completion_name, out);
    (void)fputs("\"\n            arguments=\"", out);
    completion_arguments(out, c, commands);
    bool files = c->positional && (strstr(c->positional, "FILE") || strstr(c->positional, "DIR") ||
                                   strstr(c->positional, "MANIFEST"));
    (void)fprintf(out, "\" files=%d\n            case $previous in\n", files);
    if (status == CS_OK) {
        status = cs_opt_each(c, completion_choices, out);
    }
    (void)fputs("            *) case $current in -*) words=$options ;; '') words=\"$arguments "
                "$options\" ;; *) words=$arguments ;; esac ;;\n            esac ;;\n",
                out);
    return status;
}

static cs_status write_completion(const void *listed, FILE *out)
{
    const cs_command *const *commands = listed;
    cs_status status = CS_OK;
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
    for (const cs_command *const *c = commands; *c && status == CS_OK; ++c) {
        status = completion_command(out, *c, commands);
    }
    (void)fputs("        esac\n    fi\n"
                "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                "    if [ \"$files\" = 1 ]; then\n"
                "        case $current in -*) ;; *) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY "
                "< <(compgen -f -- \"$current\") ;; esac\n    fi\n}\n"
                "complete -o filenames -F _cospec cospec\n",
                out);
    return status;
}

cs_status cs_opt_completion(const cs_command *const *commands, char **out)
{
    return cs_docs_text(write_completion, commands, out);
}

/* --- markdown --------------------------------------------------------------------------------- */

static void markdown_cell(FILE *out, const char *text)
{
    for (; *text; ++text) {
        if (*text == '|' || *text == '<') {
            (void)fputc('\\', out);
        }
        (void)fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void markdown_option(FILE *out, const cs_opt *o)
{
    char form[160], text[1024];
    cs_docs_option_form(o, form, sizeof form);
    cs_docs_option_help(o, text, sizeof text);
    (void)fputs("| `", out);
    for (const char *p = form; *p; ++p) {
        (void)fputs(*p == '|' ? "\\|" : (char[]){*p, '\0'}, out);
    }
    (void)fputs("` | ", out);
    markdown_cell(out, text);
    (void)fputs(" | ", out);
    markdown_cell(out, o->fallback ? o->fallback : "");
    (void)fputs(" |\n", out);
}

typedef struct {
    FILE *out;
    bool headed;
} markdown_list;

static cs_status markdown_own_option(void *ctx, const cs_opt *o, bool common)
{
    markdown_list *list = ctx;
    if (!common) {
        (void)fputs(list->headed ? "" : "| option | meaning | default |\n|---|---|---|\n",
                    list->out);
        list->headed = true;
        markdown_option(list->out, o);
    }
    return CS_OK;
}

static cs_status markdown_command(FILE *out, const cs_command *c)
{
    (void)fprintf(out, "## cospec %s\n\n%s.\n\n```\ncospec %s%s%s [options]\n```\n\n", c->name,
                  c->summary, c->name, c->positional ? " " : "",
                  c->positional ? c->positional : "");
    const char *text = c->description;
    size_t length = 0;
    bool verbatim = false;
    while (text && (text = cs_docs_block(text, &length, &verbatim)) != NULL) {
        (void)fprintf(out, verbatim ? "```\n%.*s\n```\n\n" : "%.*s\n\n", (int)length, text);
        text += length;
    }
    markdown_list list = {.out = out};
    cs_status status = cs_opt_each(c, markdown_own_option, &list);
    if (c->without) {
        (void)fprintf(out, "%sWithout the common options `%s`.\n", list.headed ? "\n" : "",
                      c->without);
    }
    if (c->examples) {
        (void)fprintf(out, "\n```sh\n%s\n```\n", c->examples);
    }
    (void)fputc('\n', out);
    return status;
}

static cs_status write_markdown(const void *listed, FILE *out)
{
    const cs_command *const *commands = listed;
    cs_status status = CS_OK;
    (void)fputs("# Command line\n\nGenerated by `make docs` from the program's option tables.\n\n"
                "Data go to standard output, everything else to standard error.\n\n"
                "| exit code | meaning |\n|---|---|\n",
                out);
    for (int i = 0; i < EXIT_CODES; ++i) {
        (void)fprintf(out, "| %s | %s |\n", exit_codes[i][0], exit_codes[i][1]);
    }
    (void)fputs("\n## Common options\n\n| option | meaning | default |\n|---|---|---|\n", out);
    for (const cs_opt *o = cs_opt_common; o->name; ++o) {
        markdown_option(out, o);
    }
    (void)fputc('\n', out);
    for (const cs_command *const *c = commands; *c && status == CS_OK; ++c) {
        status = markdown_command(out, *c);
    }
    return status;
}

cs_status cs_opt_markdown(const cs_command *const *commands, char **out)
{
    return cs_docs_text(write_markdown, commands, out);
}
