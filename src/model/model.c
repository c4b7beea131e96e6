/* The parameter table and its initial values.
 *
 * Initial values are drawn on the host, one generator a row, keyed by a hash of the parameter's
 * name: neither the order of the table nor the number of threads nor the backend matters, and a
 * parameter shared by two forms of a model starts from the same values in both. Scheme: GPT-2
 * (Radford et al. 2019, section 2.3).
 */
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "image/codes.h"
#include "image/patches.h"
#include "model/arch_private.h"
#include "model/rotary.h"

/* --- the table -------------------------------------------------------------------------------- */

typedef struct {
    cs_params *params;
    const cs_model_config *config;
    cs_status status;
} table;

static void add_parameter(table *t, int64_t rows, int64_t cols, bool decay, const char *format, ...)
    CS_PRINTF(5, 6);
static void add_parameter(table *t, int64_t rows, int64_t cols, bool decay, const char *format, ...)
{
    if (t->status != CS_OK) return;
    char name[128];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(name, sizeof name, format, list);
    va_end(list);
    if (cs_params_add(t->params, name, rows, cols, decay) < 0) {
        t->status = CS_ERR_MEMORY;
    }
}

/* "<prefix>.weight" and, where `bias` and the model has biases, "<prefix>.bias". */
static void add_linear(table *t, int64_t out, int64_t in, bool bias, const char *prefix,
                       const char *name)
{
    add_parameter(t, out, in, true, "%s%s.weight", prefix, name);
    if (bias && t->config->layer.bias) {
        add_parameter(t, 1, out, false, "%s%s.bias", prefix, name);
    }
}

static void add_norm(table *t, int64_t width, const char *prefix, const char *name)
{
    add_parameter(t, 1, width, false, "%s%s.gain", prefix, name);
    if (t->config->layer.bias && t->config->layer.norm_bias) {
        add_parameter(t, 1, width, false, "%s%s.bias", prefix, name);
    }
}

/* Where positions are sines, no step changes the table. */
static void add_positions(table *t, int64_t width, const char *name)
{
    const cs_model_config *c = t->config;
    add_parameter(t, c->position.offset + cs_model_config_positions(c), width,
                  !c->picture.sinusoidal, "%s", name);
    if (t->status == CS_OK) t->params->param[t->params->count - 1].fixed = c->picture.sinusoidal;
}

/* Adds a parameter that the configuration fixes. */
static void add_constant(table *t, int64_t cols, const char *name)
{
    add_parameter(t, 1, cols, false, "%s", name);
    if (t->status == CS_OK) {
        cs_param *p = &t->params->param[t->params->count - 1];
        p->constant = p->fixed = true;
    }
}

typedef struct {
    int64_t width, inner, queries, keys; /* of a row: in all heads, of keys and of values */
    bool self, cross, plain;             /* plain: no norm before attention */
} layer_shape;

static void add_layer(table *t, const char *prefix, layer_shape s)
{
    const cs_model_config *c = t->config;
    if (s.self) {
        if (!s.plain) {
            add_norm(t, s.width, prefix, "attention.norm");
        }
        add_linear(t, s.queries + 2 * s.keys, s.width, c->layer.qkv_bias, prefix, "attention.qkv");
        add_linear(t, s.width, s.queries, c->layer.output_bias, prefix, "attention.output");
    }
    if (s.self && c->attention.head_norm) {
        add_parameter(t, 1, cs_head_width(c), false, "%sattention.query_norm.gain", prefix);
        add_parameter(t, 1, cs_head_width(c), false, "%sattention.key_norm.gain", prefix);
    }
    if (s.self && c->position.distance_table) {
        add_parameter(t, 2 * c->position.distance_span - 1, cs_head_width(c), true,
                      "%sattention.distance.weight", prefix);
    }
    const bool matrices = s.self && c->position.distance_span > 0 && !c->position.distance_shared &&
                          !c->position.distance_table;
    if (matrices && c->position.distance_keys) {
        add_linear(t, s.queries, s.width, true, prefix, "attention.place_key");
    }
    if (matrices && c->position.distance_queries) {
        add_linear(t, s.queries, s.width, true, prefix, "attention.place_query");
    }
    if (s.cross) {
        add_norm(t, s.width, prefix, "cross.norm");
        const bool bias = !c->decoder.stack;
        add_linear(t, s.queries, s.width, bias, prefix, "cross.query");
        add_linear(t, 2 * s.keys, s.width, bias, prefix, "cross.kv");
        add_linear(t, s.width, s.queries, bias, prefix, "cross.output");
    }
    if (s.self && c->layer.sandwich) {
        add_norm(t, s.width, prefix, "attention.post");
        add_norm(t, s.width, prefix, "mlp.post");
    }
    if (!c->layer.one_norm) {
        add_norm(t, s.width, prefix, "mlp.norm");
    }
    add_linear(t, (c->layer.gated ? 2 : 1) * s.inner, s.width, c->layer.mlp_bias, prefix, "mlp.in");
    add_linear(t, s.width, s.inner, c->layer.mlp_bias, prefix, "mlp.out");
}

static int64_t embed_width(const cs_model_config *c)
{
    return c->shape.embed_width > 0 ? c->shape.embed_width : c->shape.width;
}

static void add_embedding(table *t, const cs_model_config *c)
{
    const int64_t width = embed_width(c);
    add_parameter(t, c->shape.vocab, width, true, "embed.token");
    if (c->shape.real_width > 0) {
        add_parameter(t, c->shape.width, c->shape.real_width, true, "embed.real.weight");
        if (cs_arch_row_of(c->arch)->pictures && c->layer.bias) {
            add_parameter(t, 1, c->shape.width, false, "embed.real.bias");
        }
    }
    if (c->shape.extra_width > 0) {
        add_parameter(t, c->shape.width, c->shape.extra_width, true, "embed.extra.weight");
    }
    if (c->shape.positions > 0) {
        add_positions(t, width, "embed.position");
    }
    if (c->shape.token_types > 0) {
        add_parameter(t, c->shape.token_types, width, true, "embed.type");
    }
    if (c->layer.embed_norm) {
        add_norm(t, width, "", "embed.norm");
    }
    if (c->shape.embed_width > 0) {
        add_linear(t, c->shape.width, width, true, "", "embed.project");
    }
    if (c->attention.query_vector) {
        add_parameter(t, 1, c->shape.width, true, "query.start");
    }
    if (c->position.relative_buckets > 0) {
        add_parameter(t, c->position.relative_buckets, c->shape.heads, true, "relative.table");
    }
}

static void add_classifier(table *t, const cs_model_config *c, cs_score score)
{
    if (c->head.spans) {
        add_linear(t, 2, c->shape.width, true, "", "span.output");
        return;
    }
    if (c->head.cloze) {
        add_linear(t, c->head.classes, embed_width(c), true, "", "classifier.output");
        return;
    }
    if (score <= CS_SCORE_DENSE) {
        add_linear(t, c->shape.width, c->shape.width,
                   c->layer.dense_bias || score == CS_SCORE_DENSE, "", "classifier.dense");
    }
    if (score == CS_SCORE_NORM || score == CS_SCORE_NORMED) {
        add_norm(t, c->shape.width, "", "classifier.norm");
    }
    const bool bias = score == CS_SCORE_NORMED ? c->layer.dense_bias : score != CS_SCORE_BARE;
    add_linear(t, c->head.classes, c->shape.width, bias, "", "classifier.output");
}

static void add_head(table *t, const cs_model_config *c)
{
    if (c->head.transform) {
        add_linear(t, embed_width(c), c->shape.width, c->layer.dense_bias, "", "head.dense");
        add_norm(t, embed_width(c), "", "head.norm");
    }
    if (c->head.bias) {
        add_parameter(t, 1, c->shape.vocab, false, "head.bias");
    }
    if (c->head.detector) {
        add_linear(t, 2, c->shape.width, true, "", "detect");
    }
    if (c->head.target != CS_TARGET_IDS) {
        add_linear(t, c->shape.real_width,
                   c->decoder.layers > 0 ? c->decoder.width : c->shape.width, true, "", "pixel");
    } else if (!c->head.tied) {
        add_parameter(t, c->shape.vocab, embed_width(c), true, "output.weight");
    }
    if (c->head.classes > 0) {
        add_classifier(t, c, cs_arch_row_of(c->arch)->score);
    }
}

static void add_decoder(table *t, const cs_model_config *c)
{
    const cs_decoder_config *d = &c->decoder;
    bool causal = d->attention == CS_DECODER_CAUSAL_CROSS;
    layer_shape shape = {.width = d->width,
                         .inner = d->inner,
                         .queries = d->stack ? cs_head_width(c) * c->shape.heads : d->width,
                         .keys = d->stack ? cs_key_width(c) : d->width,
                         .self = d->attention != CS_DECODER_CROSS,
                         .cross = d->attention != CS_DECODER_SELF};
    if (cs_decoder_projects(c)) {
        add_linear(t, d->width, c->shape.width, true, "", "decoder.project");
    }
    if (d->stack) {
        add_parameter(t, c->position.relative_buckets, c->shape.heads, true,
                      "decoder.relative.table");
    } else {
        add_parameter(t, causal ? c->shape.vocab : 1, d->width, true,
                      causal ? "decoder.token" : "decoder.mask");
    }
    if (cs_model_config_positions(c) > 0) {
        add_positions(t, d->width, "decoder.position");
    }
    for (int64_t l = 0; l < d->layers; ++l) {
        char prefix[64];
        (void)snprintf(prefix, sizeof prefix, "decoder.layer.%lld.", (long long)l);
        add_layer(t, prefix, shape);
    }
    if (!c->layer.post_norm) {
        add_norm(t, d->width, "", "decoder.norm");
    }
    if (d->width != c->shape.width && c->head.target == CS_TARGET_IDS) {
        add_linear(t, c->shape.width, d->width, true, "", "decoder.output");
    }
}

static cs_status make_table(const cs_model_config *c, cs_params *params)
{
    table t = {.params = params, .config = c};
    add_embedding(&t, c);
    if (c->arch == CS_ARCH_LINEAR) {
        add_linear(&t, 3 * c->shape.width, c->shape.width, true, "layer.0.", "attention.qkv");
        add_head(&t, c);
        return t.status;
    }
    const int64_t layers = c->shape.groups > 0 ? c->shape.groups : c->shape.layers;
    for (int64_t l = 0; l < layers + cs_most(c->head.offsets - 1, 0); ++l) {
        char prefix[64];
        (void)snprintf(prefix, sizeof prefix, l < layers ? "layer.%lld." : "offset.%lld.",
                       (long long)(l < layers ? l : l - layers + 2));
        add_layer(&t, prefix,
                  (layer_shape){.width = c->shape.width,
                                .inner = c->shape.inner,
                                .queries = cs_head_width(c) * c->shape.heads,
                                .keys = cs_key_width(c),
                                .self = true,
                                .plain = cs_least(l, layers - 1) == 0 && c->layer.first_plain});
    }
    if (c->position.rotary.theta > 0) {
        add_constant(&t, cs_rotary_pairs(c, &c->position.rotary), "rotary.frequency");
    }
    if (c->position.distance_span > 0 && !c->position.distance_table) {
        add_parameter(&t, 2 * c->position.distance_span, c->shape.width, true, "places.table");
        if (c->position.distance_norm) {
            add_norm(&t, c->shape.width, "", "places.norm");
        }
    }
    if (c->attention.alibi) {
        add_constant(&t, c->shape.heads, "alibi.slope");
    }
    if (c->position.local_rotary.theta > 0) {
        add_constant(&t, cs_rotary_pairs(c, &c->position.local_rotary), "rotary.local");
    }
    if (!c->layer.post_norm) {
        add_norm(&t, c->shape.width, "", "final_norm");
    }
    add_head(&t, c);
    if (c->decoder.layers > 0) {
        add_decoder(&t, c);
    }
    return t.status;
}

/* Nothing beyond what gpt2, roberta and bert have. */
static bool is_basic(const cs_model_config *c)
{
    return c->layer.activation <= CS_ACT_TANH && !c->layer.rms && !c->layer.gated &&
           !c->layer.parallel && !c->attention.head_norm && c->attention.window == 0 &&
           c->shape.kv_heads == 0 && c->shape.head_width == 0 && !(c->position.rotary.theta > 0) &&
           !c->attention.alibi && c->position.distance_span == 0 &&
           !(c->attention.score_width > 0) && !(c->attention.score_cap > 0) &&
           !(c->head.logit_cap > 0) && !(c->layer.embed_scale > 0) && !(c->head.scale > 0);
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
            if (c->attention.alibi) {
                slopes(p->cols, value);
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
    if (status == CS_OK) status = make_table(config, &model.params);
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

cs_status cs_model_take_encoder(const cs_model *from, cs_model *to)
{
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(&to->params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    json_decref(to->source);
    to->source = json_incref(from->source);
    cs_processor_free(&to->processor);
    to->processor = from->processor;
    json_incref(to->processor.json);
    for (int64_t i = 0; i < to->params.count && status == CS_OK; ++i) {
        const cs_param *p = &to->params.param[i];
        int64_t at = cs_params_find(&from->params, p->name);
        const cs_param *q = at < 0 ? NULL : &from->params.param[at];
        if (!q || q->rows != p->rows || q->cols != p->cols ||
            strncmp(p->name, "classifier.", 11) == 0) {
            continue;
        }
        status = cs_params_get(&from->params, at, CS_PARAM_VALUE, value);
        if (status == CS_OK) status = cs_params_set(&to->params, i, CS_PARAM_VALUE, value);
    }
    return status;
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

cs_status cs_model_randomise(cs_model *model, uint64_t seed)
{
    cs_params *params = &model->params;
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        if (!params->param[i].constant) {
            status = fill_parameter(&model->config, &params->param[i], seed, value);
            if (status == CS_OK) status = cs_params_set(params, i, CS_PARAM_VALUE, value);
        }
    }
    return status;
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
    if (status == CS_OK && out->real)
        cs_processor_apply(&model->processor, c->picture.channels, out->tokens * out->real_width,
                           out->real);
    cs_free(fitted.pixel);
    return status;
}
