/* The requirements of a task on a model, and the sizes of its batches: neither depends on a text.
 *
 * The largest sizes are those of the largest length, since every count below rises with the length:
 * round(rho s) clamped into 1..s-1 does, and so does the rest of s. */
#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "base/ints.h"
#include "base/range.h"
#include "plan/ratio.h"
#include "train/batch_private.h"

cs_objective_reading cs_task_reads(const cs_task *task)
{
    return cs_objective_reads(&task->objective);
}

bool cs_task_masks(const cs_task *task)
{
    return cs_task_reads(task) == CS_ROWS_MASKED;
}

int64_t cs_task_offsets(const cs_task *task, const cs_model_config *config)
{
    const bool heads = config->head.offsets > 0 && task->objective.kind == CS_OBJ_DIVERSE_AR;
    return heads && !task->two_stream && config->decoder.layers == 0 ? task->objective.t : 0;
}

/* Plans of next tokens that mask are among its plans, and are read in one stream. */
static bool masks_next(const cs_task *task, cs_form form)
{
    return form == CS_FORM_SINGLE && cs_task_reads(task) == CS_ROWS_SHIFTED &&
           cs_objective_masks(&task->objective) != CS_MASKS_NONE;
}

int64_t cs_task_begins(const cs_task *task, const cs_model_config *config)
{
    return masks_next(task, cs_form_of(task, config)) &&
           task->objective.empty_prefix != CS_PREFIX_NONE;
}

cs_form cs_form_of(const cs_task *task, const cs_model_config *config)
{
    if (config->arch == CS_ARCH_LINEAR) {
        return CS_FORM_LINEAR;
    }
    if (config->decoder.layers > 0) {
        return CS_FORM_MAE;
    }
    bool single = cs_task_reads(task) == CS_ROWS_SHIFTED || cs_task_masks(task) ||
                  cs_task_offsets(task, config) > 0;
    return single && !task->two_stream ? CS_FORM_SINGLE : CS_FORM_TWO_STREAM;
}

const char *cs_task_query_position(const cs_task *task, const cs_model_config *config)
{
    return cs_form_of(task, config) != CS_FORM_TWO_STREAM ? NULL
           : config->attention.blind_queries              ? "off"
                                                          : "on";
}

static bool hides(const cs_task *task, cs_form form)
{
    return form == CS_FORM_MAE || masks_next(task, form) ||
           (form == CS_FORM_SINGLE && cs_task_masks(task));
}

bool cs_task_hides(const cs_task *task, const cs_model_config *config)
{
    return hides(task, cs_form_of(task, config));
}

/* --- checks --- */

/* No given option may be ignored. */
static cs_status check_shares(const cs_task *task, cs_form form)
{
    const char *name = cs_objective_name(task->objective.kind);
    const cs_range share[] = {{"share of masked tokens kept", task->keep, 0, 1},
                              {"share of masked tokens replaced", task->random, 0, 1},
                              {"delta", task->delta, 0, 1}};
    cs_status status = cs_ranges_check(sizeof share / sizeof *share, share);
    if (status != CS_OK) return status;
    if (task->keep + task->random > 1 + DBL_EPSILON) {
        return cs_fail(CS_ERR_USAGE, "shares of masked tokens kept %g and replaced %g exceed 1",
                       task->keep, task->random);
    }
    if (!hides(task, form) && task->keep + task->random > 0) {
        return cs_fail(CS_ERR_USAGE,
                       "shares of masked tokens kept %g and replaced %g have no effect: %s reads "
                       "no masked token in this model",
                       task->keep, task->random, name);
    }
    if (form != CS_FORM_MAE && (task->delta > 0 || task->decoder_resets || task->misaligned)) {
        return cs_fail(
            CS_ERR_USAGE,
            "delta, decoder resets and misaligned positions need a model with a decoder");
    }
    return CS_OK;
}

static cs_status check_token(const char *what, int32_t id, const cs_model_config *config)
{
    if (id < 0) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has no %s token, which this objective needs; --%s-token names "
                       "that of a tokenizer",
                       what, strcmp(what, "mask") == 0 ? "mask" : "bos");
    }
    return id < config->shape.vocab
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%s token %" PRId32 " is not below the vocabulary %" PRId64,
                         what, id, config->shape.vocab);
}

static cs_status check_tokens(const cs_task *task, const cs_model_config *config, cs_form form)
{
    bool mae = form == CS_FORM_MAE;
    bool shows_mask = form == CS_FORM_SINGLE ? cs_task_masks(task) || masks_next(task, form)
                                             : mae && task->delta > 0;
    bool shows_begin = (form == CS_FORM_SINGLE && !cs_task_masks(task) &&
                        task->objective.empty_prefix == CS_PREFIX_SHARED) ||
                       (mae && config->decoder.attention == CS_DECODER_CAUSAL_CROSS);
    cs_status status = CS_OK;
    if (shows_mask && task->keep + task->random < 1) {
        status = check_token("mask", config->ids.mask, config);
    }
    if (status == CS_OK && shows_begin) status = check_token("begin", config->ids.bos, config);
    const cs_replacement replacement = cs_replacement_of(config, task->keep, task->random);
    return status == CS_OK ? cs_replacement_check(&replacement) : status;
}

cs_status cs_task_check(const cs_task *task, const cs_model_config *config)
{
    const cs_objective *o = &task->objective;
    cs_form form = cs_form_of(task, config);
    cs_status status = cs_objective_check(o);
    if (status != CS_OK) return status;
    if (o->empty_prefix == CS_PREFIX_CLASS) {
        return cs_fail(CS_ERR_USAGE, "an empty prefix of the class works only in the toy model: "
                                     "texts for training have no class");
    }
    if (config->decoder.layers > 0 && (form == CS_FORM_LINEAR || !cs_task_masks(task))) {
        return cs_fail(CS_ERR_USAGE, "a model with a decoder needs a masked objective, not %s%s",
                       cs_objective_name(o->kind),
                       form == CS_FORM_LINEAR ? " with linear attention" : "");
    }
    if (config->shape.real_width > 0 && config->decoder.layers > 0 &&
        config->decoder.attention == CS_DECODER_CAUSAL_CROSS) {
        return cs_fail(CS_ERR_USAGE, "a causal decoder reads ids, but the model reads real rows");
    }
    if (task->two_stream && form != CS_FORM_TWO_STREAM) {
        return cs_fail(CS_ERR_USAGE, "%s cannot be used as a two-stream model: %s",
                       form == CS_FORM_MAE ? "a model with a decoder" : "linear attention",
                       form == CS_FORM_MAE ? "its decoder knows the target positions"
                                           : "its queries have no position");
    }
    if (cs_task_offsets(task, config) > config->head.offsets) {
        return cs_fail(CS_ERR_USAGE,
                       "diverse-ar has t = %" PRId64 ", but the model has heads for %" PRId64
                       " offsets",
                       o->t, config->head.offsets);
    }
    status = check_shares(task, form);
    return status == CS_OK ? check_tokens(task, config, form) : status;
}

cs_status cs_task_pictures(const cs_model_config *config, cs_task *task)
{
    const char *planar = NULL;
    cs_status status =
        cs_objective_grid(&task->objective, config->picture.width / config->picture.patch, &planar);
    return status == CS_OK && planar && config->picture.order[0] != '\0'
               ? cs_fail(CS_ERR_USAGE, "%s needs patches in raster order, not in the order %.40s",
                         planar, config->picture.order)
               : status;
}

/* --- sizes --- */

/* The most tokens that a plan of at most `length` positions predicts, and that an encoder without
 * them reads; 0 where the objective does not exist at such lengths. */
static int64_t most_predicted(const cs_task *task, int64_t length)
{
    int64_t lo, hi;
    return cs_objective_given(&task->objective, length, &lo, &hi) ? cs_most(length - lo, 0) : 0;
}

static int64_t most_encoded(const cs_task *task, int64_t length)
{
    int64_t lo, hi;
    bool exists = cs_objective_given(&task->objective, length, &lo, &hi);
    return exists ? hi + cs_task_kept(task, length - hi) : 0;
}

int64_t cs_task_kept(const cs_task *task, int64_t masked)
{
    return cs_ratio_round(task->delta, masked);
}

cs_status cs_task_sizes(const cs_task *task, const cs_model_config *config, int64_t batch,
                        int64_t length, cs_network_options *out)
{
    cs_status status = cs_task_check(task, config);
    if (status != CS_OK) return status;
    if (batch < 1 || length < 1 || batch > INT32_MAX / length) {
        return cs_fail(CS_ERR_USAGE,
                       "a batch of %" PRId64 " sequences of %" PRId64
                       " tokens must have 1 to %d tokens in all",
                       batch, length, INT32_MAX);
    }
    const int64_t extra = cs_model_config_extra(config) + cs_task_begins(task, config);
    const int64_t most = cs_model_config_positions(config);
    if (most > 0 && length + extra > most) {
        return cs_fail(CS_ERR_USAGE,
                       "length %" PRId64 " exceeds the %" PRId64 " positions of the model", length,
                       most);
    }
    cs_form form = cs_form_of(task, config);
    cs_decoder_attention decoder = config->decoder.attention;
    out->offsets = cs_task_offsets(task, config);
    int64_t predicted = most_predicted(task, length) * cs_most(out->offsets, 1);
    out->form = form;
    out->batch = batch;
    bool masks = cs_task_masks(task);
    bool unmasked = form == CS_FORM_MAE || (form == CS_FORM_TWO_STREAM && masks);
    out->length = extra + (unmasked ? cs_most(most_encoded(task, length), 1) : length);
    out->queries = 0;
    out->decoder_length = 0;
    if (form == CS_FORM_TWO_STREAM || form == CS_FORM_LINEAR) {
        /* Without positions: no more groups are predicted than tokens; one when masks predict. */
        bool groups = form == CS_FORM_LINEAR || config->attention.blind_queries;
        out->queries = groups && masks ? 1 : cs_most(predicted, 1);
    } else if (form == CS_FORM_MAE) {
        out->decoder_length = decoder == CS_DECODER_CROSS ? cs_most(predicted, 1) : extra + length;
        predicted = decoder == CS_DECODER_CAUSAL_CROSS ? length : predicted;
    }
    out->predictions = batch * cs_most(predicted, 1);
    return CS_OK;
}

cs_status cs_example_check(const cs_task *task, const cs_model_config *config,
                           const cs_example *example)
{
    if (example->row < 0 || example->row >> CS_ROW_BITS > 0) {
        return cs_fail(CS_ERR_USAGE, "row %" PRId64 " of a step is not in 0..%d", example->row,
                       (1 << CS_ROW_BITS) - 1);
    }
    if ((example->real != NULL) != (config->shape.real_width > 0)) {
        return cs_fail(CS_ERR_USAGE, "row %" PRId64 ": contains %s, but the model reads %s",
                       example->row, example->real ? "real vectors" : "ids",
                       example->real ? "ids" : "real rows");
    }
    if ((example->extra != NULL) != (config->shape.extra_width > 0)) {
        return cs_fail(CS_ERR_USAGE, "row %" PRId64 ": has %s extra vector, but the model needs %s",
                       example->row, example->extra ? "an" : "no", example->extra ? "none" : "one");
    }
    const int64_t most = cs_model_config_positions(config);
    if (most > 0 &&
        example->length + cs_model_config_extra(config) + cs_task_begins(task, config) > most) {
        return cs_fail(CS_ERR_USAGE,
                       "row %" PRId64 ": length %" PRId64 " exceeds the %" PRId64
                       " positions of the model",
                       example->row, example->length, most);
    }
    for (int64_t i = 0; i < example->length; ++i) {
        if (example->token[i] < 0 || example->token[i] >= config->shape.vocab) {
            return cs_fail(CS_ERR_INPUT,
                           "row %" PRId64 ": token %" PRId32 " at position %" PRId64
                           " is not in 0..%" PRId64 ", the vocabulary of the model",
                           example->row, example->token[i], i, config->shape.vocab - 1);
        }
    }
    return CS_OK;
}
