/* The option groups of corpora: where the text comes from, and what its tokens are. */
#include <string.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cooc/build_sequences.h"
#include "io/file.h"

#define GROUP_END                                                                                  \
    {                                                                                              \
        NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false                                        \
    }

#define CORPUS_SOURCE                                                                              \
    {                                                                                              \
        "corpus", 0, CS_OPT_TEXT, "NAME|FILE|DIR", NULL, 0, 0,                                     \
            "A corpus by name (cospec data list), a .tsv, .txt or .npy file, or a directory with " \
            "a folder a class.",                                                                   \
            false                                                                                  \
    }

#define CORPUS_TOKENS                                                                              \
    {"tokenizer",                                                                                  \
     0,                                                                                            \
     CS_OPT_TEXT,                                                                                  \
     "word|whitespace|char|FILE.json",                                                             \
     "word",                                                                                       \
     0,                                                                                            \
     0,                                                                                            \
     "Tokens: lower-cased runs of letters, runs of non-space, single characters, or those of a "   \
     "tokenizer.json (cospec tokenize).",                                                          \
     false},                                                                                       \
        {"vocab", 0, CS_OPT_TEXT, "N|all",                                                         \
         "8000",  0, 0,           "Most frequent words kept; the others become <unk>.",            \
         false},                                                                                   \
    {                                                                                              \
        "min-tokens", 0, CS_OPT_INT, "N", "1", 1, 1e9,                                             \
            "Shorter documents are dropped and counted.", false                                    \
    }

#define CORPUS_TEXT                                                                                \
    {"whole-file", 0, CS_OPT_FLAG, NULL,                                                           \
     NULL,         0, 0,           "Plain text: the file is one document, not each line.",         \
     false},                                                                                       \
        {"label-column", 0, CS_OPT_INT, "N", "1", 1, 1e6, "TSV: column of the label.", false},     \
        {"text-column", 0, CS_OPT_INT, "N", "2", 1, 1e6, "TSV: column of the text.", false},       \
    {                                                                                              \
        "test-share", 0, CS_OPT_REAL, "P", "0.2", 0, 1,                                            \
            "Share of documents held out, chosen by a hash of each.", false                        \
    }

const cs_opt cs_group_corpus_reading[] = {CORPUS_TOKENS, CORPUS_TEXT, GROUP_END};

const cs_opt cs_group_corpus_form[] = {CORPUS_TEXT, GROUP_END};

const cs_opt cs_group_corpus_text[] = {CORPUS_SOURCE, CORPUS_TEXT, GROUP_END};

const cs_opt cs_group_corpus[] = {CORPUS_SOURCE, CORPUS_TOKENS, CORPUS_TEXT, GROUP_END};

/* What both groups of corpora say. */
static cs_corpus_options text_options(const cs_args *args)
{
    return (cs_corpus_options){
        .whole_file = cs_args_flag(args, "whole-file"),
        .label_column = cs_args_int(args, "label-column"),
        .text_column = cs_args_int(args, "text-column"),
        .test_share = cs_args_real(args, "test-share"),
        .seed = cs_args_seed(args),
        .threads = cs_args_threads(args),
        .progress = cs_output_progress(args),
    };
}

/* Whether --tokenizer names a file: anything that looks like one and is no splitter. */
static bool is_tokenizer_file(const char *name)
{
    return cs_has_suffix(name, ".json") || strchr(name, '/') != NULL;
}

/* The splitter, or with *encoder the tokenizer that is to be freed after the corpus is read. */
static cs_status token_options(cs_args *args, cs_corpus_options *options, cs_tokenizer **encoder)
{
    const char *name = cs_args_text(args, "tokenizer"), *vocab = cs_args_text(args, "vocab");
    options->min_tokens = cs_args_int(args, "min-tokens");
    if (is_tokenizer_file(name)) {
        if (cs_args_given(args, "vocab")) {
            return cs_fail(CS_ERR_USAGE,
                           "--vocab %s has no meaning with --tokenizer %s, which has a vocabulary",
                           vocab, name);
        }
        cs_status status = cs_output_input(args, name);
        if (status == CS_OK) {
            status = cs_tokenizer_read(name, encoder);
        }
        options->encoder = *encoder;
        return status;
    }
    if (cs_splitter_by_name(name, &options->splitter) != CS_OK) {
        cs_reason_clear();
        return cs_fail(CS_ERR_USAGE,
                       "--tokenizer \"%s\" is not word, whitespace, char or a FILE.json", name);
    }
    if (strcmp(vocab, "all") == 0) {
        options->vocab_size = -1;
        return CS_OK;
    }
    return cs_parse_int(vocab, "--vocab", 1, INT32_MAX - 1, &options->vocab_size);
}

/* The corpus known by that name, NULL when there is none. */
static const cs_corpus_source *named_source(const char *source)
{
    int count = 0;
    const cs_corpus_source *known = cs_corpus_sources(&count);
    for (int i = 0; i < count; ++i) {
        if (strcmp(known[i].name, source) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

/* A named corpus is prepared on first use; what was done is told. */
static cs_status ensure_prepared(const cs_args *args, const char *name, char **path)
{
    char *note = NULL;
    cs_status status = cs_corpus_prepared_path(name, path);
    if (status == CS_OK && !cs_path_exists(*path)) {
        status = cs_corpus_prepare(name, false, &note);
        if (status == CS_OK && note) {
            cs_output_note(args, "%s", note);
        }
    }
    cs_free(note);
    return status;
}

/* Makes a source ready to be read, and remembers it as an input. */
static cs_status open_source(cs_args *args, const char *source)
{
    const cs_corpus_source *named = named_source(source);
    char *prepared = NULL;
    cs_status status = CS_OK;
    if (named && named->split && cs_args_given(args, "test-share")) {
        return cs_fail(CS_ERR_USAGE,
                       "--test-share %g has no meaning with '%s', which has a split of its own",
                       cs_args_real(args, "test-share"), source);
    }
    if (named) {
        status = ensure_prepared(args, source, &prepared);
    }
    if (status == CS_OK) {
        status = cs_output_input(args, prepared ? prepared : source);
    }
    cs_free(prepared);
    return status;
}

cs_status cs_args_load_corpus(cs_args *args, const char *source, cs_corpus *out)
{
    cs_corpus_options options = text_options(args);
    cs_tokenizer *encoder = NULL;
    cs_status status = token_options(args, &options, &encoder);
    if (status == CS_OK) {
        status = open_source(args, source);
    }
    if (status == CS_OK) {
        status = cs_corpus_load(source, &options, out);
    }
    cs_tokenizer_free(&encoder);
    return status;
}

cs_status cs_args_open_corpus(cs_args *args, const char *source, cs_corpus_options *out)
{
    cs_status status = open_source(args, source);
    if (status == CS_OK) {
        *out = text_options(args);
    }
    return status;
}

cs_status cs_args_tokenizer(const cs_args *args, const cs_corpus *corpus, cs_tokenizer **out)
{
    const char *name = cs_args_text(args, "tokenizer");
    cs_splitter_kind splitter = CS_SPLITTER_WORD;
    if (is_tokenizer_file(name)) {
        return cs_tokenizer_read(name, out);
    }
    cs_status status = cs_splitter_by_name(name, &splitter);
    return status == CS_OK ? cs_tokenizer_of_corpus(corpus, splitter, out) : status;
}

cs_status cs_args_note_uncovered(const cs_args *args, const cs_corpus *corpus,
                                 const cs_cooc_options *options, int64_t *uncovered)
{
    int64_t tokens = 0;
    cs_status status = cs_cooc_uncovered(corpus, options, uncovered, &tokens);
    if (status == CS_OK && *uncovered > 0) {
        cs_output_note(args, "%lld of %lld tokens are in no sequence, and not counted: %s",
                       (long long)*uncovered, (long long)tokens,
                       options->stride > 0 ? "no full window reaches them, or theirs is too short "
                                             "for the objective"
                                           : "theirs is too short for the objective");
    }
    return status;
}
