/* Checks of the options of hidden states, and their defaults. */
#include "infer/hidden_states.h"

#include "infer/document_pieces.h"
#include "infer/hidden_private.h"
#include "model/network_input.h"

static cs_status check_layers(const cs_hidden_options *o, int64_t last)
{
    if (o->layers < 1) {
        return cs_fail(CS_ERR_USAGE, "no layer requested");
    }
    for (int64_t l = 0; l < o->layers; ++l) {
        if (o->layer[l] < 0 || o->layer[l] > last) {
            return cs_fail(CS_ERR_USAGE, "layer %lld is not in 0..%lld", (long long)o->layer[l],
                           (long long)last);
        }
        if (l > 0 && o->layer[l] <= o->layer[l - 1]) {
            return cs_fail(CS_ERR_USAGE, "layer %lld does not come after layer %lld",
                           (long long)o->layer[l], (long long)o->layer[l - 1]);
        }
    }
    return CS_OK;
}

static cs_status check_masking(const cs_hidden_options *o, const cs_model_config *c)
{
    if (!(o->mask_ratio >= 0 && o->mask_ratio < 1)) {
        return cs_fail(CS_ERR_USAGE, "mask ratio %g is not in [0, 1)", o->mask_ratio);
    }
    if (!(o->mask_keep >= 0 && o->mask_random >= 0 && o->mask_keep + o->mask_random <= 1)) {
        return cs_fail(
            CS_ERR_USAGE,
            "the shares of masked tokens kept, %g, and random, %g, are not in [0, 1] together",
            o->mask_keep, o->mask_random);
    }
    if (o->drop_masked && o->mask_keep + o->mask_random > 0) {
        return cs_fail(CS_ERR_USAGE, "dropped masked tokens can be neither kept nor random");
    }
    const cs_replacement replacement = cs_replacement_of(c, o->mask_keep, o->mask_random);
    if (o->losses && (o->masks.attention != CS_ATTENTION_CAUSAL || o->mask_ratio > 0 || o->decoder))
        return cs_fail(CS_ERR_USAGE, "losses need causal attention and a text without masks");
    bool needs_mask = o->mask_ratio > 0 && !o->drop_masked && o->mask_keep < 1;
    if (o->decoder && (o->mask_ratio > 0 || o->masks.attention != CS_ATTENTION_BIDIRECTIONAL)) {
        return cs_fail(CS_ERR_USAGE, "hidden states of a decoder need an input without masked "
                                     "tokens and an encoder with full attention");
    }
    if (needs_mask && (c->ids.mask < 0 || c->ids.mask >= c->shape.vocab)) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has no mask token; --mask-token names that of a tokenizer");
    }
    return cs_replacement_check(&replacement);
}

cs_status cs_hidden_resolve(const cs_model *model, cs_hidden_options *o)
{
    const cs_model_config *c = &model->config;
    if (c->arch == CS_ARCH_LINEAR) {
        return cs_fail(CS_ERR_USAGE, "architecture linear has no hidden states");
    }
    if (o->decoder && !c->decoder.stack) {
        return cs_fail(CS_ERR_USAGE, "the model (%s) has no second stack", cs_arch_name(c->arch));
    }
    if (o->decoder && c->decoder.start < 0) {
        return cs_fail(CS_ERR_USAGE, "config.json has no decoder_start_token_id");
    }
    if (o->sources && !o->decoder) {
        return cs_fail(CS_ERR_USAGE, "sources need a model with an encoder and a decoder");
    }
    cs_status status = check_layers(o, cs_model_config_depth(c, o->decoder));
    if (status == CS_OK) status = check_masking(o, c);
    if (status != CS_OK) return status;
    return cs_pieces_limits(c, o->around.befores + o->around.afters, &o->max_length, &o->batch);
}
