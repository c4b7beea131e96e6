/* The parameters of a model, which its configuration alone determines (model/model.h lists them). */
#include <stdarg.h>
#include <stdio.h>

#include "base/ints.h"
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

/* A norm that has a gain in every architecture. */
static void add_gain(table *t, int64_t width, const char *prefix, const char *name)
{
    add_parameter(t, 1, width, false, "%s%s.gain", prefix, name);
    if (t->config->layer.bias && t->config->layer.norm_bias) {
        add_parameter(t, 1, width, false, "%s%s.bias", prefix, name);
    }
}

static void add_norm(table *t, int64_t width, const char *prefix, const char *name)
{
    if (!t->config->layer.no_gain) add_gain(t, width, prefix, name);
}

/* Where positions are sines, no step changes the table. */
static void add_positions(table *t, int64_t width, const char *name)
{
    const cs_model_config *c = t->config;
    add_parameter(t, c->position.offset + cs_model_config_positions(c) - c->picture.registers,
                  width, !c->picture.sinusoidal, "%s", name);
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
    bool mixes;                          /* experts */
} layer_shape;

static void add_layer(table *t, const char *prefix, layer_shape s)
{
    const cs_model_config *c = t->config;
    if (s.self) {
        if (!s.plain) {
            add_norm(t, s.width, prefix, "attention.norm");
        }
        add_linear(t, (c->attention.gated ? 2 : 1) * s.queries + 2 * s.keys, s.width,
                   c->layer.qkv_bias, prefix, "attention.qkv");
        if (c->attention.inner_norm) {
            add_norm(t, s.queries, prefix, "attention.inner");
        }
        add_linear(t, s.width, s.queries, c->layer.output_bias, prefix, "attention.output");
    }
    if (s.self && c->attention.head_norm) {
        const bool shared = c->attention.head_norm == CS_HEAD_NORM_SHARED;
        add_parameter(t, 1, shared ? cs_head_width(c) : s.queries, false,
                      "%sattention.query_norm.gain", prefix);
        add_parameter(t, 1, shared ? cs_head_width(c) : s.keys, false, "%sattention.key_norm.gain",
                      prefix);
    }
    if (s.self && c->position.relative_tables != CS_RELATIVE_ONE) {
        add_parameter(t, c->position.relative_buckets, c->shape.heads, true, "%srelative.table",
                      prefix);
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
        add_gain(t, s.width, prefix, "attention.post");
    }
    if (s.self && c->layer.sandwich && !c->layer.inner_norm) {
        add_gain(t, s.width, prefix, "mlp.post");
    }
    if (!c->layer.one_norm && c->layer.entry != CS_ENTRY_PLAIN) {
        add_norm(t, s.width, prefix, "mlp.norm");
    }
    if (s.mixes) {
        const cs_model_experts *x = &c->experts;
        add_linear(t, x->count, s.width, false, prefix, "mlp.router");
        add_linear(t, x->count * 2 * x->inner, s.width, false, prefix, "mlp.experts.in");
        add_linear(t, x->count * s.width, x->inner, false, prefix, "mlp.experts.out");
        return;
    }
    add_linear(t, (c->layer.gated ? 2 : 1) * s.inner, s.width, c->layer.mlp_bias, prefix, "mlp.in");
    if (c->layer.inner_norm) {
        add_norm(t, s.inner, prefix, "mlp.inner");
    }
    add_linear(t, s.width, s.inner, c->layer.mlp_bias, prefix, "mlp.out");
}

/* Factors that joined the matrices before them: ones, for files. */
static void add_factors(table *t, int64_t l)
{
    static const char *const name[] = {"attention", "mlp"};
    for (int i = 0; i < 2 && t->status == CS_OK; ++i) {
        add_parameter(t, 1, t->config->shape.width, false, "layer.%lld.%s.factor", (long long)l,
                      name[i]);
        if (t->status == CS_OK) t->params->param[t->params->count - 1].fixed = true;
    }
}

/* The weights of the residual sums that each sublayer of layer l reads; no step changes them. */
static void add_mixes(table *t, int64_t l)
{
    static const char *const name[] = {"attention", "mlp"};
    for (int i = 0; i < 2 && t->status == CS_OK; ++i) {
        add_parameter(t, 1, 2 * l + 2 + i, false, "layer.%lld.%s.mix", (long long)l, name[i]);
        if (t->status == CS_OK) t->params->param[t->params->count - 1].fixed = true;
    }
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
        if (cs_arch_row_of(c->arch)->pictures && c->layer.bias &&
            !cs_arch_row_of(c->arch)->plain_patches) {
            add_parameter(t, 1, c->shape.width, false, "embed.real.bias");
        }
    }
    if (c->shape.extra_width > 0) {
        add_parameter(t, c->shape.width, c->shape.extra_width, true, "embed.extra.weight");
    }
    if (c->shape.positions > 0 && !c->picture.no_table) {
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
    if (c->position.relative_buckets > 0 && c->position.relative_tables != CS_RELATIVE_EACH) {
        add_parameter(t, c->position.relative_buckets, c->shape.heads, true, "relative.table");
        if (t->status == CS_OK)
            t->params->param[t->params->count - 1].fixed =
                c->position.relative_tables == CS_RELATIVE_BOTH;
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
    if (d->stack && c->position.relative_tables == CS_RELATIVE_ONE) {
        add_parameter(t, c->position.relative_buckets, c->shape.heads, true,
                      "decoder.relative.table");
    }
    if (!d->stack) {
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

cs_status cs_model_table(const cs_model_config *config, cs_params *params)
{
    const cs_model_config *c = config;
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
                                .mixes = cs_layer_mixes(c, l),
                                .plain = c->layer.entry == CS_ENTRY_PLAIN ||
                                         (cs_least(l, layers - 1) == 0 &&
                                          c->layer.entry == CS_ENTRY_FIRST_PLAIN)});
        if (c->layer.mixed) {
            add_mixes(&t, l);
        }
        if (c->scale.layer) {
            add_factors(&t, l);
        }
    }
    if (c->position.rotary.theta > 0) {
        add_constant(&t, cs_rotary_pairs(c, &c->position.rotary), "rotary.frequency");
    }
    if (c->position.distance_span > 0 && !c->position.distance_table) {
        add_parameter(&t, cs_distance_rows(c), c->shape.width, true, "places.table");
        if (c->position.distance_norm) {
            add_gain(&t, c->shape.width, "", "places.norm");
        }
    }
    if (c->layer.no_gain) {
        add_constant(&t, cs_most(c->shape.width, c->shape.inner), "norm.ones");
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
