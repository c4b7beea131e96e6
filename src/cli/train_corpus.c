/* The corpus of cospec train and its tokenizer. */
#include <string.h>

#include "cli/groups.h"
#include "cli/output.h"
#include "cli/train_options.h"
#include "io/file.h"
#include "text/tokenizer.h"
#include "train/specials.h"

/* Words for the ids of an .npy file. */
static cs_status name_numbers(const cs_args *args, cs_corpus *corpus)
{
    int64_t vocab = corpus->vocab;
    const char *text = cs_args_text(args, "vocab");
    cs_status status = CS_OK;
    if (cs_args_given(args, "vocab") && strcmp(text, "all") != 0) {
        status = cs_parse_int(text, "--vocab N|all", 1, INT32_MAX - 1, &vocab);
    }
    return status == CS_OK ? cs_corpus_name_numbers(corpus, vocab) : status;
}

/* The words of the corpus itself, or the tokenizer of --tokenizer FILE.json; nothing goes around a
 * text, for training shows documents bare. */
static cs_status load_own(cs_args *args, cs_corpus *corpus, cs_tokenizer **tokenizer)
{
    cs_status status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), corpus);
    bool file = cs_args_tokenizer_file(args), numbers = false;
    if (status == CS_OK && !file && !corpus->word) {
        numbers = true;
        status = name_numbers(args, corpus);
    }
    if (status == CS_OK && !file) status = cs_corpus_specials_first(corpus);
    if (status == CS_OK)
        status = numbers ? cs_tokenizer_of_corpus(corpus, CS_SPLITTER_WHITESPACE, tokenizer)
                         : cs_args_tokenizer(args, corpus, tokenizer);
    if (status == CS_OK) cs_tokenizer_drop_post(*tokenizer);
    return status;
}

/* Encoded by the tokenizer in the folder of a model. */
static cs_status load_by(cs_args *args, const char *from, cs_corpus *corpus,
                         cs_tokenizer **tokenizer)
{
    cs_corpus_options options = {0};
    cs_status status = cs_args_tokenizer_input(args, from);
    if (status == CS_OK) status = cs_tokenizer_read(from, tokenizer);
    if (status == CS_OK) status = cs_args_open_corpus(args, cs_args_text(args, "corpus"), &options);
    if (status == CS_OK) {
        options.encoder = *tokenizer;
        CS_ARGS_FIELDS(args, &options, min_tokens);
        status = cs_args_read_corpus(args, cs_args_text(args, "corpus"), &options, corpus);
    }
    return status;
}

/* The model's own tokenizer in place of one with the same tokens: what it puts around a text is the
 * model's. */
static cs_status take_same(const char *from, cs_tokenizer **tokenizer)
{
    cs_tokenizer *there = NULL;
    cs_status status = cs_tokenizer_read(from, &there);
    if (status == CS_OK) status = cs_tokenizer_match(from, there, *tokenizer);
    if (status == CS_OK) {
        cs_tokenizer_free(tokenizer);
        *tokenizer = there;
    } else {
        cs_tokenizer_free(&there);
    }
    return status;
}

void cs_args_keep_some(const cs_args *args, cs_corpus *corpus)
{
    enum { FEW = 8 };
    int64_t held = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        held += corpus->held_out[d] != 0;
    }
    if (held == 0 || held < corpus->documents || held > FEW || cs_args_given(args, "test-share")) {
        return;
    }
    memset(corpus->held_out, 0, (size_t)corpus->documents);
    cs_output_note(args, "no document would be left for training, so nothing is held out and there "
                         "is no evaluation");
}

cs_status cs_args_train_corpus(cs_args *args, cs_corpus *corpus, cs_tokenizer **tokenizer)
{
    const char *from = cs_args_text(args, "init-from");
    if (!cs_args_text(args, "corpus")) {
        return cs_fail(CS_ERR_USAGE, "train needs --corpus NAME|FILE|DIR");
    }
    const char *path = from ? cs_args_join(args, from, "tokenizer.json") : NULL;
    cs_status status = path || !from ? CS_OK : CS_ERR_MEMORY;
    if (!from) {
        status = load_own(args, corpus, tokenizer);
    } else if (status == CS_OK && !cs_args_given(args, "tokenizer") &&
               !cs_args_given(args, "vocab")) {
        status = load_by(args, from, corpus, tokenizer);
    } else if (status == CS_OK) {
        status = load_own(args, corpus, tokenizer);
        if (status == CS_OK && cs_path_exists(path)) status = take_same(from, tokenizer);
    }
    if (status == CS_OK && cs_args_given(args, "train-documents")) {
        cs_corpus few = {0};
        status = cs_corpus_select_train(corpus, cs_args_int(args, "train-documents"), &few);
        cs_corpus_free(corpus);
        *corpus = few;
    }
    if (status == CS_OK) cs_args_keep_some(args, corpus);
    return status;
}
