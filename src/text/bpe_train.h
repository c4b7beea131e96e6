/* Training of byte-level BPE.
 *
 * The text is split by the regular expression of GPT-2; the pieces, as bytes, are counted; then the
 * most frequent pair of adjacent tokens is merged in all pieces, until the vocabulary is full or no
 * pair reaches the minimum frequency. Ties go to the pair of smaller ids, the left one first, as in
 * tokenizers.trainers.BpeTrainer (0.23), whose merges are equal to ours (tests/oracle).
 *
 * Ids: special tokens, the 256 bytes in the order of their spellings, merges in their order. */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "text/tokenizer.h"

/* Receives one document of valid UTF-8. */
typedef cs_status (*cs_text_take)(void *to, const char *text, int64_t size);

/* A source that can pass its documents, one at a time. */
typedef struct {
    cs_status (*each)(void *from, cs_text_take take, void *to);
    void *from;
} cs_text_source;

typedef struct {
    int64_t vocab_size;         /* with special tokens and bytes; 0: 8192 */
    int64_t min_frequency;      /* of a pair to be merged; 0: 2 */
    const char *const *special; /* names, ids 0..specials-1 */
    int specials;               /* 0: "<s>", "<pad>", "</s>", "<unk>", "<mask>"; -1: none */
    bool add_prefix_space;
    const cs_progress *progress;
} cs_bpe_options;

/* Trains on all documents of the source. options NULL: the defaults. With the default names,
 * encoding with special tokens gives <s> text </s>. The vocabulary is smaller than requested if
 * pairs run out. A pair that would spell a special token is not merged.
 *
 * Cost: one pass over the text, then for each merge the pieces that contain its pair (30 MB of
 * English and 32 k merges: seconds); memory: 4 bytes for each byte of the distinct pieces, 8 for
 * each place of a pair in them. CS_ERR_USAGE names a vocabulary below specials + 256, a special
 * token that is repeated or empty; CS_ERR_INPUT an empty source; or the failure of the source. */
cs_status cs_tokenizer_train_bpe(const cs_text_source *source, const cs_bpe_options *options,
                                 cs_tokenizer **out) CS_MUST_CHECK;
