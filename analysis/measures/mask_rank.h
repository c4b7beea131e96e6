/* The representation study of MAE-LM (its sections 2 and 4.4, Figures 1a, 1b, 5a, 6): effective
 * ranks, layer by layer, of a text that a masked model reads with and without [MASK], and the
 * overlap of the row space of [MASK] rows with that of the others.
 *
 * Sets of rows, of one text in one or two passes:
 *
 *   with-mask      all rows if a share of the tokens is [MASK] (Figure 1a, "Input w. [MASK]")
 *   without-mask   all rows of the same text unmasked ("w/o. [MASK]"): the same number
 *   mask-only      the rows at [MASK] (Figure 1b)
 *   real-only      the other rows of the masked text
 *   real-sample    as many of them as there are [MASK]s, drawn in each piece without replacement
 *                  (fewer if a piece has fewer), since ranks grow with the number of rows
 *   dropped        MAE-LM: rows of its encoder for the text without the masked tokens
 *   without-kept   MAE-LM: the rows of the same tokens in the whole text, the same number
 *
 *   rare-only      the rows of rare tokens in the unmasked text (its Appendix F: a token that is
 *                  rare where a model is used may occupy dimensions as [MASK] does)
 *   others         its other rows
 *   others-sample  as many of them as there are rare ones, as real-sample
 *
 * The encoder of MAE-LM never reads [MASK], so a [MASK] row of it would be meaningless: its gap is
 * dropped minus without-kept. Figure 5a has one curve of MAE-LM and does not state its input. Rare
 * tokens take the place of [MASK] in a separate study of any model: the gap is rare-only minus
 * others-sample, if both have the same number of rows.
 *
 * All ranks come from Gram blocks (linalg/gram.h), one for each group of whole documents, the same
 * groups in every set. The error of a gap is the delete-block jackknife of the difference: both
 * sides leave the same documents out. */
#pragma once

#include <stdint.h>

#include "analysis/measures/effective_rank.h"
#include "analysis/measures/mask_containment.h"
#include "infer/hidden_states.h"
#include "io/result.h"
#include "linalg/gram.h"

typedef enum {
    CS_SET_WITH_MASK,
    CS_SET_WITHOUT_MASK,
    CS_SET_MASK_ONLY,
    CS_SET_REAL_ONLY,
    CS_SET_REAL_SAMPLE,
    CS_SET_DROPPED,
    CS_SET_WITHOUT_KEPT,
    CS_SET_RARE_ONLY,
    CS_SET_OTHERS,
    CS_SET_OTHERS_SAMPLE,
    CS_MASK_SETS
} cs_mask_set;

typedef struct {
    /* Layers, lengths, documents; mask_ratio in (0, 1), mask_seed, mask_keep, mask_random;
     * drop_masked is set here. */
    cs_hidden_options hidden;
    bool encoder_only; /* MAE-LM: dropped, without-mask, without-kept */
    /* of each token, whether it is rare: the study is of rare tokens, and nothing is masked; NULL:
     * of [MASK]. Borrowed */
    const uint8_t *rare;
    int64_t blocks; /* of the jackknife; at most the documents */
    cs_gram_options gram;
    cs_rank_options rank;
} cs_mask_rank_options;

typedef struct {
    int64_t layer;
    bool has[CS_MASK_SETS];
    cs_effective_rank rank[CS_MASK_SETS];
    cs_gram about[CS_MASK_SETS]; /* counts and options of their Gram blocks, without these */
    /* with-mask minus without-mask; MAE-LM: dropped minus without-kept; rare-only minus
     * others-sample, NaN if they differ in number. se NaN: none. */
    double gap[CS_RANK_MEASURES], gap_se[CS_RANK_MEASURES];
    bool contained; /* `containment` is set: both kinds of rows exist */
    cs_containment containment;
} cs_mask_layer;

typedef struct {
    bool encoder_only, rare;
    int64_t layers, width, blocks;
    cs_mask_layer *layer;
} cs_mask_rank;

void cs_mask_rank_free(cs_mask_rank *r);

/* model["layers"]: of each, for every set of rows what cs_item_ranks adds, "gap" and
 * "containment". */
void cs_mask_rank_record(const char *name, const cs_rank_options *options, const cs_mask_rank *r,
                         cs_item *model);

/* The two row sets of the gap. */
cs_mask_set cs_mask_rank_with(const cs_mask_rank *r);
cs_mask_set cs_mask_rank_without(const cs_mask_rank *r);

/* Tokens that occur at most `most` times: rare[v] is 1, else 0, for each of `vocab`. CS_ERR_MEMORY.
 */
cs_status cs_rare_tokens(const cs_corpus *corpus, int64_t vocab, int64_t most,
                         uint8_t *rare) CS_MUST_CHECK;

/* Bytes of the Gram blocks. */
double cs_mask_rank_bytes(int64_t width, const cs_mask_rank_options *options);

/* Two passes over the corpus: masked and unmasked; for rare tokens only the second. Memory: 8 d^2
 * bytes per layer, block and sum (4 sums; MAE-LM and rare tokens 3) and that of cs_hidden_states;
 * time: two forward passes, 3 n d^2 flops and (5 to 7) (B + 1) eigenproblems per layer.
 * CS_ERR_USAGE: a ratio outside (0, 1); no mask token (encoder_only needs none); more blocks than
 * documents; errors of cs_hidden_states. CS_ERR_INPUT: no row is masked, or of a rare token, or all
 * are. */
cs_status cs_mask_rank_of(cs_model *model, const cs_corpus *corpus,
                          const cs_mask_rank_options *options, cs_mask_rank *out) CS_MUST_CHECK;

/* The same in parts, for states from elsewhere. `block`: of each document, -1 to leave it out;
 * borrowed. take_masked and take_plain are cs_hidden_visit: rows of the masked text (those with
 * masked and shown = mask_id are the [MASK]s; encoder_only: without masked rows) and of the
 * unmasked one, in which `masked` marks the same rows. Pieces arrive whole. */
typedef struct cs_mask_rank_sums cs_mask_rank_sums;
cs_status cs_mask_rank_begin(int64_t width, int32_t mask_id, const int32_t *block,
                             const cs_mask_rank_options *options,
                             cs_mask_rank_sums **out) CS_MUST_CHECK;
cs_status cs_mask_rank_take_masked(void *sums, const cs_hidden_block *rows) CS_MUST_CHECK;
cs_status cs_mask_rank_take_plain(void *sums, const cs_hidden_block *rows) CS_MUST_CHECK;
/* Gram blocks are freed layer by layer as they are used. */
cs_status cs_mask_rank_finish(cs_mask_rank_sums *sums, cs_mask_rank *out) CS_MUST_CHECK;
void cs_mask_rank_end(cs_mask_rank_sums **held);
