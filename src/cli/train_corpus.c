/* Ids for training. Why special tokens come first: classes of Hugging Face in the RoBERTa family
 * number positions from the padding token's id on, and would else carry a row of the position table
 * for every word of the vocabulary. */
#include "cli/train_corpus.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"
#include "train/checkpoint.h"

static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
enum { SPECIALS = sizeof specials / sizeof *specials, UNKNOWN = 3 };

static int special_of(const char *word)
{
    for (int i = 0; i < SPECIALS; ++i) {
        if (strcmp(word, specials[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Moves the words behind the special ones; new_id: vocab values. */
static cs_status move_words(cs_corpus *corpus, int32_t *new_id)
{
    char **word = cs_calloc(corpus->vocab + SPECIALS, sizeof *word);
    int64_t count = SPECIALS;
    if (!word) {
        return CS_ERR_MEMORY;
    }
    for (int i = 0; i < SPECIALS; ++i) {
        word[i] = cs_strdup(specials[i]);
        if (!word[i]) {
            for (int k = 0; k < i; ++k) {
                cs_free(word[k]);
            }
            cs_free(word);
            return CS_ERR_MEMORY;
        }
    }
    for (int64_t v = 0; v < corpus->vocab; ++v) {
        int special = special_of(corpus->word[v]);
        new_id[v] = special >= 0 ? special : (int32_t)count;
        if (special >= 0) {
            cs_free(corpus->word[v]);
        } else {
            word[count++] = corpus->word[v];
        }
    }
    cs_free(corpus->word);
    corpus->word = word;
    corpus->vocab = count;
    corpus->unknown = UNKNOWN;
    return CS_OK;
}

cs_status cs_corpus_specials_first(cs_corpus *corpus)
{
    int32_t *new_id = cs_alloc(corpus->vocab, sizeof *new_id);
    cs_status status = new_id ? move_words(corpus, new_id) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < corpus->tokens && status == CS_OK; ++i) {
        corpus->token[i] = new_id[corpus->token[i]];
    }
    cs_free(new_id);
    return status;
}

/* Words for the ids of an .npy file. */
static cs_status name_numbers(const cs_args *args, cs_corpus *corpus)
{
    int64_t vocab = corpus->vocab;
    const char *text = cs_args_text(args, "vocab");
    cs_status status = CS_OK;
    if (cs_args_given(args, "vocab") && strcmp(text, "all") != 0) {
        status = cs_parse_int(text, "--vocab", 1, INT32_MAX - 1, &vocab);
    }
    for (int64_t i = 0; i < corpus->tokens && status == CS_OK; ++i) {
        if (corpus->token[i] >= vocab) {
            status =
                cs_fail(CS_ERR_INPUT, "%s: token id %d is not in 0..%lld (--vocab %s)",
                        cs_args_text(args, "corpus"), corpus->token[i], (long long)vocab - 1, text);
        }
    }
    if (status != CS_OK) {
        return status;
    }
    corpus->vocab = vocab;
    corpus->word = cs_calloc(vocab, sizeof *corpus->word);
    for (int64_t v = 0; corpus->word && v < vocab; ++v) {
        if (!(corpus->word[v] = cs_format("%lld", (long long)v))) {
            return CS_ERR_MEMORY;
        }
    }
    return corpus->word ? CS_OK : CS_ERR_MEMORY;
}

static bool names_file(const char *tokenizer)
{
    cs_splitter_kind kind;
    bool splitter = cs_splitter_by_name(tokenizer, &kind) == CS_OK;
    if (!splitter) {
        cs_reason_clear();
    }
    return !splitter;
}

/* The words of the corpus itself, or the tokenizer of --tokenizer FILE.json; nothing goes around a
 * text, for training shows documents bare. */
static cs_status load_own(cs_args *args, cs_corpus *corpus, cs_tokenizer **tokenizer)
{
    cs_status status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), corpus);
    bool file = names_file(cs_args_text(args, "tokenizer")), numbers = false;
    if (status == CS_OK && !file && !corpus->word) {
        numbers = true;
        status = name_numbers(args, corpus);
    }
    if (status == CS_OK && !file) {
        status = cs_corpus_specials_first(corpus);
    }
    if (status == CS_OK) {
        status = numbers ? cs_tokenizer_of_corpus(corpus, CS_SPLITTER_WHITESPACE, tokenizer)
                         : cs_args_tokenizer(args, corpus, tokenizer);
    }
    if (status == CS_OK) {
        cs_tokenizer_drop_post(*tokenizer);
    }
    return status;
}

/* Encoded by the tokenizer that stands beside a model. */
static cs_status load_by(cs_args *args, const char *path, cs_corpus *corpus,
                         cs_tokenizer **tokenizer)
{
    cs_corpus_options options = {0};
    cs_status status = cs_output_input(args, path);
    if (status == CS_OK) {
        status = cs_tokenizer_read(path, tokenizer);
    }
    if (status == CS_OK) {
        status = cs_args_open_corpus(args, cs_args_text(args, "corpus"), &options);
    }
    if (status == CS_OK) {
        options.encoder = *tokenizer;
        options.min_tokens = cs_args_int(args, "min-tokens");
        status = cs_corpus_load(cs_args_text(args, "corpus"), &options, corpus);
    }
    return status;
}

/* The model's own tokenizer in place of one with the same tokens: what it puts around a text is the
 * model's. */
static cs_status take_same(const char *path, cs_tokenizer **tokenizer)
{
    cs_tokenizer *there = NULL;
    cs_status status = cs_tokenizer_read(path, &there);
    if (status == CS_OK) {
        status = cs_tokenizer_match(path, there, *tokenizer);
    }
    if (status == CS_OK) {
        cs_tokenizer_free(tokenizer);
        *tokenizer = there;
        there = NULL;
    }
    cs_tokenizer_free(&there);
    return status;
}

/* A hash may hold out all of a few documents, one document in five times: then there is nothing to
 * train on, and nobody asked for it. */
static void keep_some(const cs_args *args, cs_corpus *corpus)
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
    cs_output_note(args,
                   "no document would be left to train on: nothing is held out, and there is no "
                   "evaluation");
}

cs_status cs_args_train_corpus(cs_args *args, cs_corpus *corpus, cs_tokenizer **tokenizer)
{
    const char *from = cs_args_text(args, "init-from");
    if (!cs_args_text(args, "corpus")) {
        return cs_fail(CS_ERR_USAGE, "train needs --corpus NAME|FILE|DIR");
    }
    char *path = from ? cs_path_join(from, "tokenizer.json") : NULL;
    cs_status status = path || !from ? CS_OK : CS_ERR_MEMORY;
    if (!from) {
        status = load_own(args, corpus, tokenizer);
    } else if (status == CS_OK && !cs_args_given(args, "tokenizer") &&
               !cs_args_given(args, "vocab")) {
        status = load_by(args, path, corpus, tokenizer);
    } else if (status == CS_OK) {
        status = load_own(args, corpus, tokenizer);
        if (status == CS_OK && cs_path_exists(path)) {
            status = take_same(path, tokenizer);
        }
    }
    if (status == CS_OK) {
        keep_some(args, corpus);
    }
    cs_free(path);
    return status;
}

cs_special_ids cs_special_ids_of(const cs_tokenizer *t)
{
    return (cs_special_ids){.pad = cs_tokenizer_special(t, CS_TOKEN_PAD),
                            .bos = cs_tokenizer_special(t, CS_TOKEN_BOS),
                            .eos = cs_tokenizer_special(t, CS_TOKEN_EOS),
                            .mask = cs_tokenizer_special(t, CS_TOKEN_MASK),
                            .unk = cs_tokenizer_special(t, CS_TOKEN_UNK)};
}
