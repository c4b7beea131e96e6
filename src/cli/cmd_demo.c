/* cospec demo: a first result. It runs six commands as a user would type them, from a corpus to its matrices, their spectra, a
 * figure and one theorem, with one sentence about each. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "text/corpus.h"

/* The corpus where WordNet is not installed: documents of two Markov chains, so that there are two classes. */
#define GENERATED "markov:states=200,concentration=0.05,documents=2000,classes=2"

/* Words are separated by one blank; CORPUS and DIR are replaced. */
static const struct {
    const char *reason, *command;
} steps[] = {
    {"Build the co-occurrence matrix A of autoregressive pretraining: a row is a context of up to "
     "three words, a column is "
     "the word that follows.",
     "cooc --corpus CORPUS --vocab 2000 --max-length 4 --stride 1 --context all --objective ar -o "
     "DIR/ar"},
    {"Build A for masked pretraining, where a row is the visible half of a window of four words "
     "and a column is a masked "
     "word.",
     "cooc --corpus CORPUS --vocab 2000 --max-length 4 --stride 1 --context all --objective "
     "masked:mask-ratio=0.5 "
     "-o DIR/masked"},
    {"Compute the largest singular values of A / sqrt(P_C P_G), each with its residual, which "
     "certifies it.",
     "svd DIR/ar -k 12 -o DIR/ar-spectrum"},
    {"Do the same for masked pretraining.", "svd DIR/masked -k 12 -o DIR/masked-spectrum"},
    {"Draw both spectra: the lower curve belongs to the better connected contexts.",
     "plot spectra ar=DIR/ar-spectrum/svd.csv masked=DIR/masked-spectrum/svd.csv -o DIR/figure"},
    {"Check Theorem 4.1, a bound on the classification error by the singular values: as printed "
     "one form fails on a small example; as corrected it holds, but a vacuous bound is no better "
     "than the trivial one.",
     "verify 4.1 --matrix DIR/masked -o DIR/theorem"},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* The word with CORPUS or a leading DIR replaced: fresh memory. */
static char *substitute(const char *word, size_t length, const char *corpus, const char *dir)
{
    const char *mark = memmem(word, length, "DIR/", strlen("DIR/"));
    if (length == strlen("CORPUS") && memcmp(word, "CORPUS", length) == 0) return cs_strdup(corpus);
    if (!mark) return cs_format("%.*s", (int)length, word);
    const size_t before = (size_t)(mark - word);
    return cs_format("%.*s%s%.*s", (int)before, word, dir, (int)(length - before - strlen("DIR")),
                     mark + strlen("DIR"));
}

/* The words of a step after the command's name, with what the demo itself was given. */
static cs_status fill_step(cs_args *args, const char *line, const char *corpus, const char *dir,
                           cs_words *words)
{
    cs_status status = CS_OK;
    for (const char *word = line; *word && status == CS_OK;) {
        const size_t length = strcspn(word, " ");
        status = cs_words_take(words, substitute(word, length, corpus, dir));
        word += length + (word[length] == ' ');
    }
    static const char *const passed[] = {"force", "quiet"};
    for (size_t i = 0; i < sizeof passed / sizeof passed[0] && status == CS_OK; ++i)
        if (cs_args_flag(args, passed[i]))
            status = cs_words_take(words, cs_format("--%s", passed[i]));
    if (status == CS_OK && cs_args_given(args, "threads"))
        status = cs_words_take(
            words, cs_format("--threads=%lld", (long long)cs_args_int(args, "threads")));
    return status;
}

/* So that a shell reads it as one word. */
static void print_word(const char *word)
{
    if (word[0] && !strpbrk(word, " \t\n'\"\\$`&|;<>()*?[]~#!{}")) {
        (void)printf(" %s", word);
        return;
    }
    (void)fputs(" '", stdout);
    for (const char *p = word; *p; ++p) {
        (void)fputs(*p == '\'' ? "'\\''" : (char[]){*p, '\0'}, stdout);
    }
    (void)putchar('\'');
}

static cs_status run_step(cs_args *args, int step, const char *corpus, const char *dir)
{
    CS_AUTO(cs_words) words = {0};
    const cs_command *command = NULL;
    bool refuted = false;
    cs_status status = fill_step(args, steps[step].command, corpus, dir, &words);
    if (status == CS_OK) status = cs_command_by_name(words.text[0], &command);
    if (status == CS_OK) {
        (void)printf("\nStep %d of %d. %s\n\n$ cospec", step + 1, (int)STEPS, steps[step].reason);
        for (int i = 0; i < words.count; ++i)
            if (strcmp(words.text[i], "--force") != 0 && strcmp(words.text[i], "--quiet") != 0)
                print_word(words.text[i]);
        (void)printf("\n");
        (void)fflush(stdout);
        status = cs_command_execute(command, words.count - 1, words.text + 1, true, &refuted);
        (void)fflush(stdout);
    }
    if (refuted) cs_output_refuted(args);
    if (status == CS_ERR_INTERRUPT) {
        cs_reason_clear();
        return cs_fail(status, "interrupted in step %d; run 'cospec demo --force' to start again",
                       step + 1);
    }
    return cs_blame(status, "step %d", step + 1);
}

/* WordNet, or the generated corpus with the reason in words. */
static const char *choose_corpus(void)
{
    CS_AUTO_FREE char *note = NULL;
    const bool found = cs_corpus_prepare("wordnet", false, &note) == CS_OK;
    if (found) {
        (void)printf("Corpus: WordNet, 28,000 glosses of nouns in 14 classes.\n");
        return "wordnet";
    }
    (void)printf("Corpus: 2,000 documents generated from two Markov chains, because WordNet is not "
                 "available here\n(%s).\n",
                 cs_reason());
    cs_reason_clear();
    return GENERATED;
}

/* Whether the figure failed only because there is no gnuplot: it is a separate program, and the rest needs none. */
static bool without_gnuplot(int step, cs_status status)
{
    if (status != CS_ERR_IO || strncmp(steps[step].command, "plot ", strlen("plot ")) != 0 ||
        !strstr(cs_reason(), "gnuplot-nox"))
        return false;
    (void)printf("No figure: %s\n", cs_reason());
    cs_reason_clear();
    return true;
}

static cs_status run(cs_args *args)
{
    const char *given = cs_args_text(args, "output"), *dir = given ? given : "cospec-demo";
    const char *corpus = choose_corpus();
    cs_status status = CS_OK;
    bool figure = true;
    for (int i = 0; i < STEPS && status == CS_OK; ++i) {
        status = run_step(args, i, corpus, dir);
        if (without_gnuplot(i, status)) {
            status = CS_OK;
            figure = false;
        }
    }
    if (status != CS_OK) return status;
    args->delegated = true; /* each step wrote its manifest */
    if (figure) (void)printf("\nThe figure is %s/figure/spectra.svg.", dir);
    (void)printf(
        "\nA smaller sum of sigma^4 means better connected "
        "contexts, which the paper links to\na lower classification error.\n\n"
        "What to try next:\n"
        "  # both objectives of a language, with intervals; about a minute\n"
        "  cospec connectivity --corpus %s --vocab 2000 --max-length 4 --stride 1 --compare ar "
        "--compare masked:unmasked=2\n"
        "  # a corpus of your own\n"
        "  cospec cooc --corpus FILE.txt --objective ar --max-length 4 --stride 1 -o mine\n"
        "  # the theorems that can be checked\n"
        "  cospec verify --list\n"
        "  # hidden states of a model from Hugging Face\n"
        "  cospec features MODEL FILE.txt -o states\n"
        "  # all commands\n"
        "  cospec help\n",
        corpus);
    return CS_OK;
}

const cs_command cs_cmd_demo = {
    .name = "demo",
    .help = &cs_help_demo,
    .groups = (const cs_opt *const[]){NULL},
    .run = run,
    .without = "json csv seed device config dry-run resume",
};
