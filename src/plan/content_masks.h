/* Attention masks for reading a text without predictions, as rank masks (row i attends to row j iff
 * rank[j] <= rank[i]).
 *
 *   bidirectional  every row attends to every row
 *   causal         row i attends to rows 0..i
 *   plan           row i attends to the groups of a plan of the objective up to its own, as the
 *                  content stream of a two-stream model in training (LA Eq. 24). Plans are drawn,
 *                  and measurements are averaged over the draws
 */
#pragma once

#include "plan/objective.h"

typedef enum {
    CS_ATTENTION_BIDIRECTIONAL,
    CS_ATTENTION_CAUSAL,
    CS_ATTENTION_PLAN,
    CS_ATTENTIONS
} cs_attention;

const char *cs_attention_name(cs_attention attention); /* "bidirectional", "causal", "plan" */
cs_status cs_attention_by_name(const char *name, cs_attention *out) CS_MUST_CHECK;

typedef struct {
    cs_attention attention;
    const cs_objective *objective; /* plan: its plans; borrowed */
    int64_t draws;                 /* plan: at least 1 */
    uint64_t seed;                 /* plan */
} cs_content_masks;

/* Number of passes over a text: 1 except for plans. */
int64_t cs_content_draws(const cs_content_masks *masks);

/* rank: n values for draw `draw` of text `text`, a function of (seed, text, draw). If the objective
 * has no plan of that length, every row attends to every row. O(n), plans allocate. CS_ERR_USAGE
 * for offset-ar, whose content is causal in training. CS_ERR_MEMORY. */
cs_status cs_content_ranks(const cs_content_masks *masks, uint64_t text, int64_t draw, int64_t n,
                           int32_t *rank) CS_MUST_CHECK;
