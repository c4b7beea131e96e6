/* A model's memory and initial values.
 *
 * Initial values are drawn on the host, one generator a row, keyed by a hash of the parameter's
 * name: neither the order of the table nor the number of threads nor the backend matters, and a
 * parameter shared by two forms of a model starts from the same values in both. Scheme: GPT-2
 * (Radford et al. 2019, section 2.3).
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "image/augment.h"
#include "image/codes.h"
#include "image/patches.h"
#include "model/arch_private.h"
#include "model/rotary.h"

/* --- making --------------------------------------------------------------------------------- */

/* Nothing beyond what gpt2, roberta and bert have. */
static bool is_basic(const cs_model_config *c)
{
    return c->layer.activation <= CS_ACT_TANH && !c->layer.rms && !c->layer.gated &&
           !c->layer.parallel && !c->attention.head_norm && c->attention.window == 0 &&
           c->shape.kv_heads == 0 && c->shape.head_width == 0 && !(c->position.rotary.theta > 0) &&
           !c->attention.alibi && c->position.distance_span == 0 &&
           !(c->attention.score_width > 0) && !(c->attention.score_cap > 0) &&
           !(c->head.logit_cap > 0) && !(c->scale.embed > 0) && !(c->scale.residual > 0) &&
           !(c->scale.kept > 0) && !(c->head.scale > 0) && c->layer.entry == CS_ENTRY_NORMS &&
           !c->layer.no_gain && !c->layer.inner_norm && !c->layer.mixed && !c->attention.gated &&
           !c->attention.inner_norm && !c->head.norm &&
           c->position.relative_tables == CS_RELATIVE_ONE &&
           (c->position.relative_buckets == 0 || c->position.relative_distance > 0) &&
           c->experts.count == 0;
}

/* ALiBi's slopes (Press et al. 2022): 2^(-8 i / n), i = 1 .. n, for n the power of two not above the
 * heads; the others are every second of those for 2n, from the first. */
static void slopes(int64_t heads, float *out)
{
    int64_t n = 1;
    while (2 * n <= heads) {
        n *= 2;
    }
    for (int64_t h = 0; h < heads; ++h) {
        double i = h < n ? (double)(h + 1) : (double)(h - n) + 0.5;
        out[h] = (float)exp2(-8 * i / (double)n);
    }
}

static cs_status fill_constants(cs_model *model)
{
    const cs_model_config *c = &model->config;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < model->params.count && status == CS_OK; ++i) {
        const cs_param *p = &model->params.param[i];
        if (p->constant) {
            CS_AUTO_FREE float *value = cs_alloc(p->cols, sizeof *value);
            if (!value) return CS_ERR_MEMORY;
            bool local = strcmp(p->name, "rotary.local") == 0;
            if (strcmp(p->name, "alibi.slope") == 0) {
                slopes(p->cols, value);
            } else if (strcmp(p->name, "norm.ones") == 0) {
                for (int64_t k = 0; k < p->cols; ++k) {
                    value[k] = 1;
                }
            } else {
                cs_rotary_frequencies(local ? &c->position.local_rotary : &c->position.rotary,
                                      p->cols, value);
            }
            status = cs_params_set(&model->params, i, CS_PARAM_VALUE, value);
        }
    }
    return status;
}

static cs_status init(const cs_model_config *config, cs_backend *backend, bool training,
                      cs_params_source source, cs_model *out)
{
    cs_model model = {.config = *config, .params.source = source};
    cs_status status = cs_model_config_check(config);
    if (status == CS_OK) status = cs_model_table(config, &model.params);
    if (status == CS_OK && backend->basic && !is_basic(config))
        status = cs_fail(CS_ERR_DEVICE, "architecture %s does not run on %s; give --device cpu",
                         cs_arch_name(config->arch), backend->name);
    if (status == CS_OK) status = cs_params_allocate(&model.params, backend, training);
    if (status == CS_OK) status = fill_constants(&model);
    return CS_DELIVER(status, out, model, cs_model_free);
}

cs_status cs_model_init(const cs_model_config *config, cs_backend *backend, bool training,
                        cs_model *out)
{
    return init(config, backend, training, (cs_params_source){0}, out);
}

cs_status cs_model_init_streamed(const cs_model_config *config, cs_backend *backend,
                                 cs_params_source source, cs_model *out)
{
    return init(config, backend, false, source, out);
}

cs_status cs_model_take_tokens(const cs_model *from, int64_t count, const int32_t *token,
                               cs_model *to)
{
    const char *const theirs[] = {from->config.head.tied ? "embed.token" : "output.weight",
                                  "head.bias"};
    const char *const ours[] = {"classifier.output.weight", "classifier.output.bias"};
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(&from->params), sizeof *value),
                       *taken = cs_alloc(cs_params_most_items(&to->params), sizeof *taken);
    cs_status status = value && taken ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const int64_t a = cs_params_find(&from->params, theirs[i]),
                      b = cs_params_find(&to->params, ours[i]);
        if (a < 0 || b < 0) {
            continue; /* no bias */
        }
        const int64_t cols = i == 0 ? from->params.param[a].cols : 1;
        status = cs_params_get(&from->params, a, CS_PARAM_VALUE, value);
        for (int64_t c = 0; c < count && status == CS_OK; ++c) {
            memcpy(taken + c * cols, value + token[c] * cols, (size_t)cols * sizeof *taken);
        }
        if (status == CS_OK) status = cs_params_set(&to->params, b, CS_PARAM_VALUE, taken);
    }
    return status;
}

void cs_model_free(cs_model *model)
{
    cs_params_free(&model->params);
    json_decref(model->trained);
    json_decref(model->source);
    cs_codes_free(&model->codes);
    cs_processor_free(&model->processor);
    memset(model, 0, sizeof *model);
}

/* --- initial values --------------------------------------------------------------------------- */

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Order of the linear layer's first features in a text of all positions: q . k of width values of
 * order one is sqrt(width), and of n^2 such terms of random sign, n of them to a v, n remain. The
 * output is divided by it, so that the first logits are small and the first cross-entropy is that
 * of the uniform guess. */
static double linear_features(const cs_model_config *c)
{
    bool grows = c->head.pooling < 1 && c->shape.positions > 0;
    return sqrt((double)c->shape.width) *
           (grows ? pow((double)c->shape.positions, 1 - c->head.pooling) : 1);
}

/* Standard deviation of a parameter's initial values. */
static double spread(const cs_model_config *c, const char *name)
{
    if (c->arch == CS_ARCH_LINEAR) {
        return starts(name, "embed.")              ? 1
               : cs_has_suffix(name, "qkv.weight") ? 1 / sqrt((double)c->shape.width)
                                                   : c->training.init_range / linear_features(c);
    }
    if (cs_arch_row_of(c->arch)->pictures && strcmp(name, "embed.real.weight") == 0) {
        return sqrt(
            2 / (double)(c->shape.width + c->shape.real_width)); /* Xavier, as MAE's code has it */
    }
    if (strcmp(name, "embed.extra.weight") == 0) {
        return sqrt(2 / (double)(c->shape.width + c->shape.extra_width));
    }
    bool residual = cs_has_suffix(name, "attention.output.weight") ||
                    cs_has_suffix(name, "cross.output.weight") ||
                    cs_has_suffix(name, "mlp.out.weight");
    if (!residual || c->layer.post_norm) {
        return c->training.init_range;
    }
    int64_t sublayers = 2 * c->shape.layers;
    if (starts(name, "decoder.")) {
        sublayers = c->decoder.layers * (c->decoder.attention == CS_DECODER_SELF_CROSS ||
                                                 c->decoder.attention == CS_DECODER_CAUSAL_CROSS
                                             ? 3
                                             : 2);
    }
    return c->training.init_range / sqrt((double)sublayers);
}

enum { ROWS_AT_ONCE = 64 };

typedef struct {
    const cs_param *param;
    uint64_t seed, key;
    double spread;
    float *value;
} normal_fill;

static cs_status fill_rows(void *ctx, int64_t item)
{
    const normal_fill *f = ctx;
    int64_t from = item * ROWS_AT_ONCE, to = from + ROWS_AT_ONCE;
    for (int64_t r = from; r < to && r < f->param->rows; ++r) {
        cs_rng rng = cs_rng_at(f->seed, CS_STREAM_INIT, f->key + (uint64_t)r);
        float *row = f->value + r * f->param->cols;
        for (int64_t c = 0; c < f->param->cols; ++c) {
            row[c] = (float)(f->spread * cs_rng_normal(&rng));
        }
    }
    return CS_OK;
}

static cs_status fill_parameter(const cs_model_config *config, const cs_param *param, uint64_t seed,
                                float *value)
{
    const bool factor = cs_has_suffix(param->name, ".factor");
    if (factor || cs_has_suffix(param->name, ".mix")) { /* the sublayer's own sum alone */
        for (int64_t i = 0; i < param->cols; ++i) {
            value[i] = factor || i == param->cols - 1 ? 1.0F : 0.0F;
        }
        return CS_OK;
    }
    if (param->fixed) {
        return cs_position_waves(config, param->cols, value);
    }
    bool gain = cs_has_suffix(param->name, ".gain"), bias = cs_has_suffix(param->name, ".bias");
    if (gain || bias) {
        for (int64_t i = 0; i < param->rows * param->cols; ++i) {
            value[i] = gain ? 1.0F : 0.0F;
        }
        return CS_OK;
    }
    normal_fill f = {.param = param,
                     .seed = seed,
                     .key = cs_hash(param->name, strlen(param->name), 0).low,
                     .spread = spread(config, param->name),
                     .value = value};
    return cs_parallel((param->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, 0, fill_rows, &f);
}

/* The parameter of `from` that an encoder takes as its `p`, -1: none. */
static int64_t counterpart(const cs_model *from, const cs_param *p)
{
    const int64_t at = cs_params_find(&from->params, p->name);
    const cs_param *q = at < 0 ? NULL : &from->params.param[at];
    return q && q->rows == p->rows && q->cols == p->cols && strncmp(p->name, "classifier.", 11) != 0
               ? at
               : -1;
}

/* Initial values, except those that would be replaced by the parameters of `encoder`; NULL: all. */
static cs_status randomise(cs_model *model, const cs_model *encoder, uint64_t seed)
{
    cs_params *params = &model->params;
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        const bool taken = encoder && counterpart(encoder, &params->param[i]) >= 0;
        if (!params->param[i].constant && !taken) {
            status = fill_parameter(&model->config, &params->param[i], seed, value);
            if (status == CS_OK) status = cs_params_set(params, i, CS_PARAM_VALUE, value);
        }
    }
    return status;
}

cs_status cs_model_randomise(cs_model *model, uint64_t seed)
{
    return randomise(model, NULL, seed);
}

cs_status cs_model_take_encoder(const cs_model *from, uint64_t seed, cs_model *to)
{
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(&to->params), sizeof *value);
    cs_status status = value ? randomise(to, from, seed) : CS_ERR_MEMORY;
    json_decref(to->source);
    to->source = json_incref(from->source);
    cs_processor_free(&to->processor);
    to->processor = from->processor;
    json_incref(to->processor.json);
    for (int64_t i = 0; i < to->params.count && status == CS_OK; ++i) {
        const int64_t at = counterpart(from, &to->params.param[i]);
        if (at < 0) continue;
        status = cs_params_get(&from->params, at, CS_PARAM_VALUE, value);
        if (status == CS_OK) status = cs_params_set(&to->params, i, CS_PARAM_VALUE, value);
    }
    return status;
}

cs_image_fit cs_model_image_fit(const cs_model *model)
{
    const cs_model_config *c = &model->config;
    return (cs_image_fit){&model->processor, c->picture.height, c->picture.width,
                          c->picture.channels};
}

/* The images as the model reads them, in *out, whose pixels are new if *out has any. */
static cs_status fit_images(const cs_model *model, const cs_images *images, int threads,
                            cs_images *out)
{
    const cs_model_config *c = &model->config;
    return cs_processor_changes(&model->processor, images, c->picture.height, c->picture.width,
                                c->picture.channels)
               ? cs_processor_images(&model->processor, images, c->picture.height, c->picture.width,
                                     c->picture.channels, threads, out)
               : CS_OK;
}

cs_status cs_model_pictures(const cs_model *model, const cs_images *images, int threads,
                            cs_corpus *out)
{
    const cs_model_config *c = &model->config;
    CS_AUTO_FREE int32_t *id = NULL, *order = NULL;
    cs_images fitted = {0};
    cs_status status = fit_images(model, images, threads, &fitted);
    images = fitted.pixel ? &fitted : images;
    if (status == CS_OK)
        status =
            cs_model_config_sees(c, images->name, images->height, images->width, images->channels);
    if (status == CS_OK && c->shape.extra_width != images->extra_width)
        status = cs_fail(
            CS_ERR_USAGE, "%s: extra vectors have %lld values, but the model reads %lld (0: none)",
            images->name, (long long)images->extra_width, (long long)c->shape.extra_width);
    if (status == CS_OK && c->shape.real_width == 0 && !model->codes)
        status = cs_fail(CS_ERR_USAGE, "the model reads codes, but it has no codes.safetensors");
    if (status == CS_OK && model->codes) {
        const int64_t patches = images->count * (c->shape.positions - cs_model_config_extra(c));
        status = cs_codes_encode(model->codes, images, threads, &id);
        for (int64_t i = 0; i < patches && status == CS_OK; ++i) {
            id[i] += CS_FIRST_CODE;
        }
    }
    if (status == CS_OK) status = cs_model_order(c, &order);
    if (status == CS_OK)
        status = (c->shape.real_width > 0 ? cs_images_patches : cs_images_ids)(
            images, c->picture.patch, order, id, c->shape.vocab, out);
    if (status == CS_OK && out->real_width > 0 && images->stream)
        status =
            cs_patch_vectors(images, c->picture.patch, order, &model->processor, &out->vectors);
    if (status == CS_OK && out->real_width > 0)
        cs_processor_digest(&model->processor, images->content_sha256, out->real_sha256);
    if (status == CS_OK && out->real)
        cs_processor_apply(&model->processor, c->picture.channels, out->tokens * out->real_width,
                           out->real);
    cs_free(fitted.pixel);
    return status;
}
