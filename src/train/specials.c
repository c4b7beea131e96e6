/* Ids for training. Why special tokens come first: classes of Hugging Face in the RoBERTa family
 * number positions from the padding token's id on, and would else carry a row of the position table
 * for every word of the vocabulary. */
#include "train/specials.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

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
    if (!word) return CS_ERR_MEMORY;
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
    CS_AUTO_FREE int32_t *new_id = cs_alloc(corpus->vocab, sizeof *new_id);
    cs_status status = new_id ? move_words(corpus, new_id) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < corpus->tokens && status == CS_OK; ++i) {
        corpus->token[i] = new_id[corpus->token[i]];
    }
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

static void take_missing(int32_t *id, int32_t found, int64_t vocab)
{
    if (*id < 0 && found < vocab) {
        *id = found;
    }
}

void cs_model_config_complete(cs_model_config *config, cs_special_ids ids)
{
    take_missing(&config->ids.pad, ids.pad, config->shape.vocab);
    take_missing(&config->ids.bos, ids.bos, config->shape.vocab);
    take_missing(&config->ids.eos, ids.eos, config->shape.vocab);
    take_missing(&config->ids.mask, ids.mask, config->shape.vocab);
    take_missing(&config->ids.unk, ids.unk, config->shape.vocab);
}

void cs_model_config_given(cs_model_config *config, const cs_tokenizer *t)
{
    int32_t *const id[CS_TOKEN_ROLES] = {[CS_TOKEN_UNK] = &config->ids.unk,
                                         [CS_TOKEN_PAD] = &config->ids.pad,
                                         [CS_TOKEN_MASK] = &config->ids.mask,
                                         [CS_TOKEN_BOS] = &config->ids.bos,
                                         [CS_TOKEN_EOS] = &config->ids.eos};
    for (int r = 0; r < CS_TOKEN_ROLES; ++r) {
        const int32_t named = cs_tokenizer_special(t, (cs_token_role)r);
        if (cs_tokenizer_role_given(t, (cs_token_role)r) && named < config->shape.vocab)
            *id[r] = named;
    }
}

cs_status cs_tokenizer_match(const char *where, const cs_tokenizer *a, const cs_tokenizer *b)
{
    int64_t n = cs_tokenizer_vocab(a), m = cs_tokenizer_vocab(b);
    for (int32_t id = 0; id < n && id < m; ++id) {
        const char *x = cs_tokenizer_token(a, id), *y = cs_tokenizer_token(b, id);
        if (strcmp(x, y) != 0) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: the tokenizers differ: token %d is '%s' there and '%s' here", where,
                           id, x, y);
        }
    }
    if (n != m) {
        return cs_fail(CS_ERR_INPUT, "%s: the tokenizers differ: %lld tokens there and %lld here",
                       where, (long long)n, (long long)m);
    }
    return CS_OK;
}
