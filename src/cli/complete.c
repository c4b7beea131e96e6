/* Completion of command lines. `cospec --complete WORD...` prints what the last word may become, one
 * candidate a line with a tab before its description, and a last line ":files" where a file may be
 * named too. The scripts of the shells ask the program, so that they know what it knows: commands,
 * options, their choices, objectives, corpora, figures and metrics. */
#include "cli/commands.h"

#include <ctype.h>
#include <string.h>

#include "analysis/study/figure.h"
#include "base/enum_names.h"
#include "cli/args.h"
#include "image/image_sources.h"
#include "plan/objective.h"

typedef struct {
    FILE *out;
    const cs_command *command;
    const char *word;   /* candidates begin with this */
    const char *prefix; /* what goes before each candidate: "--option=" */
    int prefix_length;
    size_t skip;         /* characters of a candidate that bash has as words of their own */
    bool files, corpora; /* whether file names, corpora are candidates */
} completion;

/* Length of the first sentence. A stop in parentheses, or before a small letter or a digit, belongs to
 * an abbreviation. */
static int first_sentence(const char *text)
{
    int depth = 0;
    for (const char *p = text; *p; ++p) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0 && p[0] == '.' && p[1] == ' ' && isupper((unsigned char)p[2]))
            return (int)(p + 1 - text);
    }
    return (int)strlen(text);
}

static void candidate(const completion *c, const char *text, size_t length, const char *description)
{
    const size_t typed = strlen(c->word);
    if (typed > length || memcmp(c->word, text, typed) != 0) return;
    (void)fprintf(c->out, "%.*s%.*s", c->prefix_length, c->prefix, (int)(length - c->skip),
                  text + c->skip);
    if (description) {
        (void)fprintf(c->out, "\t%.*s", first_sentence(description), description);
    }
    (void)fputc('\n', c->out);
}

static void one(const completion *c, const char *text, const char *description)
{
    candidate(c, text, strlen(text), description);
}

/* Words separated by any of `separators`. */
static void each_of(const completion *c, const char *words, const char *separators)
{
    for (const char *p = words; p && *p; p += strspn(p, separators)) {
        const size_t length = strcspn(p, separators);
        candidate(c, p, length, NULL);
        p += length;
    }
}

static void corpora(completion *c)
{
    const cs_corpus_source *source = NULL;
    for (int i = 0; !c->corpora && (source = cs_source_at(i)); ++i) {
        const size_t length = strlen(source->name);
        if (strncmp(c->word, source->name, length) == 0 && c->word[length] == ':') {
            char side[64];
            (void)snprintf(side, sizeof side, "%s:train", source->name);
            one(c, side, "its training documents");
            (void)snprintf(side, sizeof side, "%s:test", source->name);
            one(c, side, "its held-out documents");
        } else {
            one(c, source->name, source->summary);
        }
    }
    c->files = c->corpora = true;
}

static void objectives(const completion *c)
{
    for (int i = 0; i < CS_OBJ_COUNT; ++i) {
        one(c, cs_objective_name((cs_objective_kind)i),
            cs_objective_table((cs_objective_kind)i)->summary);
    }
}

/* A kind of argument that help texts write in capitals. */
static void kind(completion *c, const char *name, size_t length)
{
    static const char *const files[] = {"FILE",     "DIR",   "MODEL",     "FEATURES",
                                        "MANIFEST", "TRAIN", "REFERENCE", "TOKENIZER"};
    char text[64];
    (void)snprintf(text, sizeof text, "%.*s", (int)length, name);
    if (cs_listed("CORPUS TRAIN TEST", text)) {
        corpora(c);
    } else if (cs_listed("OBJECTIVE FAMILY SPEC", text)) {
        objectives(c);
    } else if (strcmp(text, "FIGURE") == 0) {
        each_of(c, CS_FIGURES, ", ");
    } else if (strcmp(text, "COMMAND") == 0) {
        for (const cs_command *const *d = cs_commands; *d; ++d) {
            one(c, (*d)->name, (*d)->help->summary);
        }
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        c->files = c->files || strstr(text, files[i]);
    }
}

/* Completes the values that the text of an argument allows: "masked|all", "nearest:N" up to its
 * colon, "CORPUS". */
static void argument(completion *c, const char *text, size_t length)
{
    const char *const end = text + length;
    for (const char *p = text; p < end;) {
        size_t word = strcspn(p, "|[]=");
        word = p + word > end ? (size_t)(end - p) : word;
        const char *colon = memchr(p, ':', word);
        const char *dots = word > 3 && memcmp(p + word - 3, "...", 3) == 0 ? p + word - 3 : NULL;
        if (word > 0 && isupper((unsigned char)*p)) {
            kind(c, p, dots ? (size_t)(dots - p) : word);
        } else if (word > 0 && colon && colon[1] && isupper((unsigned char)colon[1])) {
            candidate(c, p, (size_t)(colon + 1 - p), NULL);
        } else if (word > 0 && *p != ':' && *p != '.') { /* no end of the word before it */
            candidate(c, p, word, NULL);
        }
        p += word + 1;
    }
}

static void value(completion *c, const cs_opt *o)
{
    if (cs_listed("corpus tasks", o->name)) {
        corpora(c);
    } else if (strcmp(o->name, "objective") == 0) {
        objectives(c);
        each_of(c, o->argument + strlen(CS_OBJECTIVE_NAMES), "|"); /* what train has more */
    } else if (strcmp(o->name, "metric") == 0) {
        each_of(c, c->command->metrics, ", ");
        each_of(c, c->command->more_metrics, ", ");
    } else {
        argument(c, o->argument, strlen(o->argument));
    }
}

static void option(void *ctx, const cs_opt *o, const char *heading)
{
    char name[64];
    (void)heading;
    (void)snprintf(name, sizeof name, "--%s", o->name);
    one(ctx, name, o->help);
}

typedef struct {
    const char *word; /* "--rank" or "-k" */
    const cs_opt *found;
} search;

static void match_option(void *ctx, const cs_opt *o, const char *heading)
{
    search *s = ctx;
    (void)heading;
    const bool by_letter = s->word[1] == o->letter && o->letter && s->word[2] == '\0';
    if (by_letter || (s->word[1] == '-' && strcmp(s->word + 2, o->name) == 0)) s->found = o;
}

/* The option, other than a flag, whose value the next word is; NULL: none. */
static const cs_opt *waits(const cs_command *command, const char *word)
{
    search s = {.word = word};
    if (word[0] == '-' && word[1]) (void)cs_opt_each(command, match_option, &s);
    return s.found && s.found->kind != CS_OPT_FLAG ? s.found : NULL;
}

/* The word of the synopsis at the place of an argument. After one that may repeat, the next words are
 * possible at every place. */
static void positional(completion *c, int place)
{
    const char *pattern = c->command->positional ? c->command->positional : "";
    bool repeated = false;
    for (const char *p = pattern; *p; --place) {
        const size_t word = strcspn(p, " ");
        repeated = repeated || memmem(p, word, "...", 3) != NULL;
        if (place <= 0 || repeated) {
            argument(c, p, word);
            if (memmem(p, word, "NAME|FILE", 9)) corpora(c);
            if (!repeated) return;
        }
        p += word;
        p += strspn(p, " ");
    }
}

static void complete(completion *c, int words, char **word)
{
    const cs_opt *waiting = NULL;
    int arguments = 0;
    for (int i = 1; i + 1 < words; ++i) {
        const bool is_value = waiting != NULL;
        waiting = is_value ? NULL : waits(c->command, word[i]);
        arguments += !is_value && word[i][0] != '-';
    }
    const char *equals = strncmp(c->word, "--", 2) == 0 ? strchr(c->word, '=') : NULL;
    if (equals) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - c->word), c->word);
        waiting = waits(c->command, name);
        c->prefix = c->word;
        c->prefix_length = (int)(equals + 1 - c->word);
        c->word = equals + 1;
    }
    if (waiting) {
        value(c, waiting);
        return;
    }
    if (c->word[0] != '-') positional(c, arguments);
    const bool bare = !c->command->positional && c->word[0] == '\0';
    if (c->word[0] == '-' || bare) (void)cs_opt_each(c->command, option, c);
}

/* bash passes "--option", "=" and its value, and what is around a colon, as words. The sign = leaves
 * the list; words around colons become one, which takes the place of `joined`. *skip: what of the last
 * word is before its last colon, with it. */
static int without_signs(int words, char **word, char joined[256], size_t *skip)
{
    static char empty[] = "";
    int kept = 0;
    for (int i = 0; i < words; ++i) {
        if (strcmp(word[i], ":") == 0 && kept > 0) {
            char *next = i + 1 < words ? word[++i] : empty;
            const bool last = i + 1 >= words;
            if (last) {
                *skip = strlen(word[kept - 1]) + 1;
                (void)snprintf(joined, 256, "%s:%s", word[kept - 1], next);
                word[kept - 1] = joined;
            }
        } else if (strcmp(word[i], "=") != 0) {
            word[kept++] = word[i];
        } else if (i + 1 == words) {
            word[kept++] = empty;
        }
    }
    return kept;
}

void cs_complete(int words, char **word, FILE *out)
{
    char joined[256];
    completion c = {.out = out, .prefix = ""};
    words = without_signs(words, word, joined, &c.skip);
    if (words < 1) return;
    c.word = word[words - 1];
    if (words == 1) {
        kind(&c, "COMMAND", strlen("COMMAND"));
        each_of(&c, "--help --version", " ");
        return;
    }
    if (cs_command_by_name(word[0], &c.command) != CS_OK) {
        cs_reason_clear();
        return;
    }
    complete(&c, words, word);
    if (c.files) (void)fputs(":files\n", out);
}

/* --- scripts ---------------------------------------------------------------------------------- */

void cs_completion_bash(const cs_command *const *commands, FILE *out)
{
    (void)commands;
    (void)fputs(
        "# bash completion for cospec, printed by 'cospec help --completion bash'\n"
        "_cospec()\n{\n"
        "    local line files= program=${COMP_WORDS[0]/#\\~/$HOME}\n"
        "    COMPREPLY=()\n"
        "    while IFS= read -r line; do\n"
        "        case $line in\n"
        "            :files) files=1 ;;\n"
        "            *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
        "        esac\n"
        "    done < <(\"$program\" --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2> /dev/null)\n"
        "    case ${COMPREPLY[0]} in *:) compopt -o nospace 2> /dev/null ;; esac\n"
        "    if [ -n \"$files\" ]; then\n"
        "        local current=${COMP_WORDS[COMP_CWORD]}\n"
        "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- "
        "\"${current#=}\")\n"
        "    fi\n}\n"
        "complete -o filenames -F _cospec cospec\n",
        out);
}

void cs_completion_zsh(const cs_command *const *commands, FILE *out)
{
    (void)commands;
    (void)fputs("#compdef cospec\n"
                "# zsh completion for cospec, printed by 'cospec help --completion zsh'\n"
                "_cospec()\n{\n"
                "    local line text files program=${~${(Q)words[1]}}\n"
                "    local -a replies\n"
                "    for line in ${(f)\"$($program --complete \"${(@Q)words[2,CURRENT]}\" "
                "2> /dev/null)\"}; do\n"
                "        if [[ $line = :files ]]; then\n"
                "            files=1\n"
                "        else\n"
                "            text=${line%%$'\\t'*}\n"
                "            replies+=(\"${text//:/\\\\:}${${line#$text}/$'\\t'/:}\")\n"
                "        fi\n"
                "    done\n"
                "    (( ${#replies} )) && _describe -t cospec cospec replies\n"
                "    [[ -n $files ]] && _files\n"
                "}\n"
                "if [[ $funcstack[1] = _cospec ]]; then _cospec \"$@\"; else compdef _cospec "
                "cospec; fi\n",
                out);
}

void cs_completion_fish(const cs_command *const *commands, FILE *out)
{
    (void)commands;
    (void)fputs("# fish completion for cospec, printed by 'cospec help --completion fish'\n"
                "function __cospec_complete\n"
                "    set -l words (commandline -opc)\n"
                "    set -l current (commandline -ct)\n"
                "    for line in ($words[1] --complete $words[2..-1] \"$current\" 2> /dev/null)\n"
                "        if test \"$line\" = :files\n"
                "            __fish_complete_path \"$current\"\n"
                "        else\n"
                "            printf '%s\\n' $line\n"
                "        end\n"
                "    end\n"
                "end\n"
                "complete -c cospec -f -a '(__cospec_complete)'\n",
                out);
}
