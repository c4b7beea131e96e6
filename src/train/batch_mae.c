/* Masked autoencoding (MAE-LM section 3 and Table 2): the encoder reads the unmasked tokens and a
 * share delta of the masked ones; the decoder has its output and [MASK] vectors at every position.
 *
 *   decoder        rows                 a row starts from               sees
 *   self           all positions        the encoder's row, or [MASK]    all rows
 *   self + cross   all positions        the same                        all rows; all encoder rows
 *   cross          masked positions     [MASK]                          all encoder rows
 *   causal cross   all positions        the token before it             rows up to it; all encoder
 *                                                                       rows
 *
 * The causal decoder predicts every token, as BART does (Table 2, unidirectional self-attention +
 * cross-attention), where its encoder hides some of them: an unmasked token is copied from there.
 * [MASK]s that stay are drawn by selection sampling (Knuth, TAOCP 2, 3.4.2, Algorithm S).
 */
#include "train/batch_private.h"

static cs_batch_rows mae_rows(const cs_draft *draft, int64_t b)
{
    int64_t length = draft->plan[b].length, masked = cs_draft_predicted(draft, b);
    cs_batch_rows rows = {.length = length - masked + cs_task_kept(draft->task, masked),
                          .decoder_length = length,
                          .predictions = masked};
    if (draft->config->decoder.attention == CS_DECODER_CROSS) {
        rows.decoder_length = masked;
    } else if (draft->config->decoder.attention == CS_DECODER_CAUSAL_CROSS) {
        rows.predictions = masked > 0 ? length : 0;
    }
    return rows;
}

/* Decoder row i of sequence b stands for place k, whose encoder row is `from` or -1. Returns the
 * row's number. */
static int64_t add_row(cs_draft *draft, int64_t b, int64_t i, int64_t k, int64_t from)
{
    cs_batch *batch = draft->batch;
    int64_t row = b * batch->decoder_length + i;
    bool causal = draft->config->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    if (causal) {
        batch->decoder_token[row] = k > 0 ? draft->example[b].token[k - 1] : draft->config->bos_id;
    } else {
        batch->decoder_from[row] = (int32_t)from;
        batch->decoder_token[row] = from < 0 ? 0 : -1;
    }
    batch->decoder_position[row] = cs_draft_position(draft, k);
    batch->decoder_vis[row] = causal ? (int32_t)k : 0;
    batch->decoder_lim[row] = causal ? (int32_t)k : 0;
    batch->decoder_cross_lim[row] = 0;
    return row;
}

static void mae_fill(cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    const cs_task *task = draft->task;
    cs_decoder_attention attention = draft->config->decoder.attention;
    cs_rng keep = cs_draft_rng(draft, CS_STREAM_KEPT, b);
    cs_rng replace = cs_draft_rng(draft, CS_STREAM_REPLACE, b);
    int64_t masked = cs_draft_predicted(draft, b), kept = cs_task_kept(task, masked);
    double share = task->objective.event_weight == CS_EVENT_MASK ? 1 / (double)plan->length : 1;
    for (int64_t k = 0, encoded = 0, decoded = 0, left = masked; k < plan->length; ++k) {
        bool target = cs_draft_predicts(draft, b, k);
        bool stays = target && kept > 0 && cs_rng_below(&keep, left) < kept;
        int32_t token = draft->example[b].token[k];
        int64_t from = -1;
        left -= target;
        kept -= stays;
        if (!target || stays) {
            int32_t shown = stays ? cs_draft_replace(draft, &replace, token) : token;
            int64_t place = task->misaligned ? encoded : k;
            cs_draft_content(draft, b, encoded, shown, cs_draft_position(draft, place), 0, 0);
            bool reset = stays && task->decoder_resets && shown == draft->config->mask_id;
            from = reset ? -1 : b * draft->batch->length + encoded;
            ++encoded;
        }
        if (attention == CS_DECODER_CAUSAL_CROSS) {
            int64_t row = add_row(draft, b, decoded++, k, -1);
            if (masked > 0) {
                cs_draft_predict(draft, b, row, k, share);
            }
        } else if (target || attention != CS_DECODER_CROSS) {
            int64_t row =
                add_row(draft, b, decoded++, k, attention == CS_DECODER_CROSS ? -1 : from);
            if (target) {
                cs_draft_predict(draft, b, row, k, plan->weight[k]);
            }
        }
    }
}

const cs_batch_form cs_batch_mae = {mae_rows, mae_fill};
