/* One Transformer layer, with norms before its sublayers (GPT-2; Xiong et al. 2020) or after their
 * residual sums (Vaswani et al. 2017; BERT).
 *
 * A norm before a sublayer is one operation with the residual sum that precedes it, so a stream is
 * handed on as two addends. Above the last attention every operation works on rows alone: there the
 * stream is narrowed to the rows that the loss reads.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/network_private.h"
#include "model/rotary.h"

/* --- parameters ------------------------------------------------------------------------------- */

int cs_emit_param(cs_emitter *e, const char *prefix, const char *name)
{
    const cs_params *params = &e->model->params;
    char full[128];
    (void)snprintf(full, sizeof full, "%s%s", prefix, name);
    int64_t number = cs_params_find(params, full);
    if (number < 0) {
        if (e->graph->status == CS_OK) { /* the first failure is kept */
            (void)snprintf(e->graph->reason, sizeof e->graph->reason,
                           "the model lacks parameter %s", full);
            e->graph->status = CS_ERR_USAGE;
        }
        return CS_NONE;
    }
    if (e->param[number] == CS_NONE) {
        const cs_param *p = &params->param[number];
        e->param[number] =
            cs_graph_param(e->graph, p->name, p->rows, p->cols, p->offset, !p->fixed);
    }
    return e->param[number];
}

int cs_emit_bias(cs_emitter *e, const char *prefix, const char *name)
{
    char full[128];
    (void)snprintf(full, sizeof full, "%s%s", prefix, name);
    bool there =
        cs_params_find(&e->model->params, full) >= 0; /* model.c says which layers have one */
    return there ? cs_emit_param(e, prefix, name) : CS_NONE;
}

static int weight_of(cs_emitter *e, const char *prefix, const char *name)
{
    char full[64];
    (void)snprintf(full, sizeof full, "%s.weight", name);
    return cs_emit_param(e, prefix, full);
}

static int bias_of(cs_emitter *e, const char *prefix, const char *name)
{
    char full[64];
    (void)snprintf(full, sizeof full, "%s.bias", name);
    return cs_emit_bias(e, prefix, full);
}

int cs_emit_linear(cs_emitter *e, int x, const char *prefix, const char *name, cs_activation act)
{
    return cs_graph_linear(e->graph, x, weight_of(e, prefix, name), bias_of(e, prefix, name), act);
}

/* The same with rows first .. first + rows - 1 of the weight. */
static int emit_linear_rows(cs_emitter *e, int x, const char *prefix, const char *name,
                            int64_t first, int64_t rows)
{
    int w = cs_graph_param_rows(e->graph, weight_of(e, prefix, name), first, rows);
    int b = bias_of(e, prefix, name);
    if (b != CS_NONE) {
        b = cs_graph_cols(e->graph, b, first, rows);
    }
    return cs_graph_linear(e->graph, x, w, b, CS_ACT_NONE);
}

/* --- the residual stream ---------------------------------------------------------------------- */

static double dropout(const cs_emitter *e)
{
    return e->decoder ? 0 : e->config->training.dropout;
}

cs_norm cs_emit_norm(cs_emitter *e, const char *prefix, const char *name, int x)
{
    const cs_model_config *c = e->config;
    char full[128], gain[64];
    (void)snprintf(gain, sizeof gain, "%s.gain", name);
    (void)snprintf(full, sizeof full, "%s%s", prefix, gain);
    const bool ones = c->layer.no_gain && x >= 0 && cs_params_find(&e->model->params, full) < 0;
    return (cs_norm){.gain = ones ? cs_graph_cols(e->graph, cs_emit_param(e, "", "norm.ones"), 0,
                                                  e->graph->tensor[x].cols)
                                  : cs_emit_param(e, prefix, gain),
                     .bias = bias_of(e, prefix, name),
                     .eps = c->layer.eps,
                     .rms = c->layer.rms};
}

static int norm(cs_emitter *e, cs_stream s, const char *prefix, const char *name, int *sum)
{
    return cs_graph_layer_norm(e->graph, s.x, s.r, s.r == CS_NONE ? 0 : dropout(e),
                               cs_emit_norm(e, prefix, name, s.x), sum);
}

int cs_emit_enter(cs_emitter *e, cs_stream *stream, const char *prefix, const char *name)
{
    if (e->config->layer.post_norm) {
        return stream->x;
    }
    if (e->config->layer.entry == CS_ENTRY_PLAIN) {
        *stream = (cs_stream){cs_emit_sum(e, *stream), CS_NONE};
        return stream->x;
    }
    int sum = CS_NONE, y = norm(e, *stream, prefix, name, &sum);
    *stream = (cs_stream){sum, CS_NONE};
    return y;
}

/* The weighted sum of all residual sums so far; the last one is the stream's. The weights are
 * constants of the network: fine-tuning does not move them. */
static void mix(cs_emitter *e, const char *prefix, const char *name, cs_stream *stream)
{
    const cs_params *params = &e->model->params;
    float weight[2 * CS_MOST_LAYERS + 1];
    char full[128];
    int y = CS_NONE;
    (void)snprintf(full, sizeof full, "%s%.*s.mix", prefix, (int)strcspn(name, "."), name);
    const int64_t number = cs_params_find(params, full);
    const cs_status status =
        number < 0 ? CS_ERR_USAGE : cs_params_get(params, number, CS_PARAM_VALUE, weight);
    if (status != CS_OK && e->graph->status == CS_OK) e->graph->status = status;
    e->sum[e->sums++] = cs_emit_sum(e, *stream);
    for (int64_t i = 0; i < e->sums && status == CS_OK; ++i) {
        const int part =
            cs_graph_gate(e->graph, e->sum[i], CS_NONE, CS_ACT_NONE, 1, (double)weight[i]);
        y = y == CS_NONE ? part : cs_graph_add(e->graph, y, part, 0);
    }
    *stream = (cs_stream){y, CS_NONE};
}

void cs_emit_leave(cs_emitter *e, cs_stream *stream, const char *prefix, const char *name, int made)
{
    const double scale = e->config->scale.residual;
    stream->r = scale > 0 ? cs_graph_gate(e->graph, made, CS_NONE, CS_ACT_NONE, 1, scale) : made;
    if (e->config->layer.post_norm) {
        *stream = (cs_stream){norm(e, *stream, prefix, name, NULL), CS_NONE};
    }
    if (e->config->layer.mixed) mix(e, prefix, name, stream);
}

int cs_emit_sum(cs_emitter *e, cs_stream stream)
{
    return stream.r == CS_NONE ? stream.x : cs_graph_add(e->graph, stream.x, stream.r, dropout(e));
}

int cs_emit_final(cs_emitter *e, cs_stream stream, const char *name)
{
    return e->config->layer.post_norm || e->config->head.norm ? cs_emit_sum(e, stream)
                                                              : norm(e, stream, "", name, NULL);
}

void cs_emit_narrow(cs_emitter *e, cs_stream *stream, int *made)
{
    const cs_network *net = e->net;
    *made = cs_graph_gather(e->graph, *made, net->loss.rows, net->loss.predict);
    stream->x = cs_graph_gather(e->graph, stream->x, net->loss.rows, net->loss.predict);
}

/* --- sublayers -------------------------------------------------------------------------------- */

const char *cs_emit_prefix(cs_emitter *e, int64_t layer, char buffer[CS_PREFIX_SIZE])
{
    const int64_t groups = e->decoder ? 0 : e->config->shape.groups,
                  own = groups > 0 ? layer * groups / e->config->shape.layers : layer;
    (void)snprintf(buffer, CS_PREFIX_SIZE, "%slayer.%lld.", e->decoder ? "decoder." : "",
                   (long long)own);
    return buffer;
}

/* The layer's vectors of distances: a separate table, or those of all layers through its matrices,
 * which may be those of queries and keys. */
static void places(cs_emitter *e, int64_t number, cs_attention_options *o)
{
    const cs_model_config *c = e->config;
    const int64_t d = cs_head_width(c) * c->shape.heads;
    char prefix[CS_PREFIX_SIZE];
    (void)cs_emit_prefix(e, number, prefix);
    o->places = true;
    o->place_k = o->place_q = CS_NONE;
    o->place_scale = c->position.distance_unscaled ? 1 : 0;
    if (c->position.distance_table) {
        const int table = cs_emit_param(e, prefix, "attention.distance.weight");
        o->place_k = c->position.distance_keys ? table : CS_NONE;
        o->place_q = c->position.distance_queries ? table : CS_NONE;
        return;
    }
    const bool drops = e->options->training && c->training.dropout > 0 && e->places != CS_NONE;
    const int x =
        drops ? cs_graph_add(e->graph, CS_NONE, e->places, c->training.dropout) : e->places;
    if (c->position.distance_by_head) {
        o->place_k = o->place_q = emit_linear_rows(e, x, prefix, "attention.qkv", 0, 2 * d);
        return;
    }
    if (c->position.distance_keys) {
        o->place_k = c->position.distance_shared
                         ? emit_linear_rows(e, x, prefix, "attention.qkv", d, d)
                         : cs_emit_linear(e, x, prefix, "attention.place_key", CS_ACT_NONE);
    }
    if (c->position.distance_queries) {
        o->place_q = c->position.distance_shared
                         ? emit_linear_rows(e, x, prefix, "attention.qkv", 0, d)
                         : cs_emit_linear(e, x, prefix, "attention.place_query", CS_ACT_NONE);
    }
}

cs_attention_options cs_emit_masks(cs_emitter *e, int64_t number, int lim, int position)
{
    const cs_model_config *c = e->config;
    cs_attention_options o = {.vis = e->net->vis,
                              .lim = lim,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = c->shape.heads,
                              .kv_heads = c->shape.kv_heads,
                              .p = c->training.attention_dropout};
    o.cap = c->attention.score_cap;
    o.scale = c->attention.score_width > 0 ? 1 / sqrt(c->attention.score_width) : 0;
    if (c->position.distance_span > 0) {
        places(e, number, &o);
        o.buckets = c->position.distance_buckets;
        o.max_distance = c->position.distance_most;
        o.pos_q = position;
        o.pos_k = e->net->position;
    }
    if (c->attention.alibi) {
        o.slopes = true;
        o.table = cs_emit_param(e, "", "alibi.slope");
        o.pos_q = position;
        o.pos_k = e->net->position;
    }
    if (cs_layer_is_local(c, number) && position != CS_NONE) {
        o.window = c->attention.window;
        o.pos_q = position;
        o.pos_k = e->net->position;
    }
    if (c->position.relative_buckets > 0 && position != CS_NONE) {
        char prefix[CS_PREFIX_SIZE] = "";
        const bool each = c->position.relative_tables != CS_RELATIVE_ONE,
                   plane = c->position.relative_distance == 0;
        o.table =
            cs_emit_param(e, each ? cs_emit_prefix(e, number, prefix) : prefix, "relative.table");
        o.pos_q = plane ? e->net->plane.query : position;
        o.pos_k = plane ? e->net->plane.key : e->net->position;
        o.max_distance = c->position.relative_distance;
        o.bidirectional = true;
    }
    return o;
}

/* q or k of every head: through its norm, then turned by the rows' positions (CS_NONE: as at 0). */
static int head_parts(cs_emitter *e, const cs_layer *layer, int x, int64_t heads, const char *norm,
                      int position)
{
    const cs_model_config *c = e->config;
    const bool local = cs_layer_is_local(c, layer->number) && c->position.local_rotary.theta > 0;
    const cs_rotary *rotary = local ? &c->position.local_rotary : &c->position.rotary;
    if (c->attention.head_norm != CS_HEAD_NORM_NONE) {
        const bool whole = c->attention.head_norm == CS_HEAD_NORM_WHOLE;
        x = cs_graph_layer_norm(e->graph, x, CS_NONE, 0,
                                (cs_norm){.gain = cs_emit_param(e, layer->prefix, norm),
                                          .bias = CS_NONE,
                                          .eps = c->layer.eps,
                                          .rms = c->layer.rms,
                                          .each = c->attention.head_norm == CS_HEAD_NORM_EACH,
                                          .groups = whole ? 1 : heads},
                                NULL);
    }
    if (rotary->theta > 0 && position != CS_NONE && cs_layer_turns(c, layer->number)) {
        const cs_rotation o = {
            .position = position,
            .frequency = cs_emit_param(e, "", local ? "rotary.local" : "rotary.frequency"),
            .heads = heads,
            .factor = rotary->attention,
            .longer = cs_rotary_longer(rotary),
            .pairs = c->position.rotary_interleaved};
        x = cs_graph_rotate(e->graph, x, &o);
    }
    return x;
}

static int query_parts(cs_emitter *e, const cs_layer *layer, int q, int position)
{
    return e->decoder ? q
                      : head_parts(e, layer, q, e->config->shape.heads, "attention.query_norm.gain",
                                   position);
}

static int64_t emit_query_width(const cs_emitter *e, const cs_layer *layer)
{
    const cs_model_config *c = e->config;
    return e->decoder && !c->decoder.stack ? layer->width : cs_head_width(c) * c->shape.heads;
}

int64_t cs_emit_key_width(const cs_emitter *e, const cs_layer *layer)
{
    return e->decoder && !e->config->decoder.stack ? layer->width : cs_key_width(e->config);
}

cs_projections cs_emit_project(cs_emitter *e, const cs_layer *layer, int in, bool queries)
{
    const cs_model_config *c = e->config;
    cs_graph *g = e->graph;
    const int64_t d = emit_query_width(e, layer), keys = cs_emit_key_width(e, layer),
                  first = queries ? d : 0,
                  kv_heads = c->shape.kv_heads > 0 ? c->shape.kv_heads : c->shape.heads;
    int made = queries ? cs_emit_linear(e, in, layer->prefix, "attention.qkv", CS_ACT_NONE)
                       : emit_linear_rows(e, in, layer->prefix, "attention.qkv", d, 2 * keys);
    cs_projections p = {.gate = CS_NONE,
                        .q = queries ? cs_graph_cols(g, made, 0, d) : CS_NONE,
                        .k = cs_graph_cols(g, made, first, keys)};
    p.q = queries ? query_parts(e, layer, p.q, e->net->position) : CS_NONE;
    p.k = e->decoder
              ? p.k
              : head_parts(e, layer, p.k, kv_heads, "attention.key_norm.gain", e->net->position);
    p.v = cs_graph_cols(g, made, first + keys, keys);
    if (c->attention.gated) p.gate = cs_graph_cols(g, made, first + 2 * keys, d);
    return p;
}

int cs_emit_queries(cs_emitter *e, const cs_layer *layer, int in, int position)
{
    const int64_t d = cs_head_width(e->config) * e->config->shape.heads;
    return query_parts(e, layer, emit_linear_rows(e, in, layer->prefix, "attention.qkv", 0, d),
                       position);
}

/* The heads' outputs for the rows `in`, before their output matrix. */
static int attend(cs_emitter *e, const cs_layer *layer, int in)
{
    const cs_projections p = cs_emit_project(e, layer, in, true);
    int made = cs_graph_attention(e->graph, p.q, p.k, p.v, &layer->attention);
    if (p.gate != CS_NONE) made = cs_graph_gate(e->graph, p.gate, made, CS_ACT_GELU_ERF, 1, 1);
    return e->config->attention.inner_norm
               ? norm(e, (cs_stream){made, CS_NONE}, layer->prefix, "attention.inner", NULL)
               : made;
}

static int experts(cs_emitter *e, const cs_layer *layer, int in)
{
    const cs_model_config *c = e->config;
    const cs_experts o = {.scores = cs_emit_linear(e, in, layer->prefix, "mlp.router", CS_ACT_NONE),
                          .in = weight_of(e, layer->prefix, "mlp.experts.in"),
                          .out = weight_of(e, layer->prefix, "mlp.experts.out"),
                          .chosen = c->experts.chosen,
                          .act = c->layer.activation,
                          .normalised = c->experts.normalised};
    return cs_graph_experts(e->graph, in, &o);
}

static int mlp(cs_emitter *e, const cs_layer *layer, int in)
{
    const cs_model_config *c = e->config;
    if (!e->decoder && cs_layer_mixes(c, layer->number)) return experts(e, layer, in);
    int inner = cs_emit_linear(e, in, layer->prefix, "mlp.in",
                               c->layer.gated ? CS_ACT_NONE : c->layer.activation);
    if (c->layer.gated) {
        const int64_t n = e->decoder ? c->decoder.inner : c->shape.inner;
        inner = cs_graph_gate(e->graph, cs_graph_cols(e->graph, inner, 0, n),
                              cs_graph_cols(e->graph, inner, n, n), c->layer.activation, 1, 1);
    }
    if (c->layer.inner_norm) {
        inner = norm(e, (cs_stream){inner, CS_NONE}, layer->prefix, "mlp.inner", NULL);
    }
    return cs_emit_linear(e, inner, layer->prefix, "mlp.out", CS_ACT_NONE);
}

int cs_emit_enter_attention(cs_emitter *e, const cs_layer *layer, cs_stream *stream)
{
    return e->config->layer.entry == CS_ENTRY_FIRST_PLAIN && layer->number == 0 && !e->decoder
               ? stream->x /* there is no residual yet */
               : cs_emit_enter(e, stream, layer->prefix, "attention.norm");
}

/* A sublayer's output, through the norm after it where the model has one. */
static int after(cs_emitter *e, const cs_layer *layer, int made, const char *name)
{
    char gain[128];
    (void)snprintf(gain, sizeof gain, "%s%s.gain", layer->prefix, name);
    return cs_params_find(&e->model->params, gain) >= 0
               ? norm(e, (cs_stream){made, CS_NONE}, layer->prefix, name, NULL)
               : made;
}

void cs_emit_attention(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int *entry)
{
    int in = cs_emit_enter_attention(e, layer, stream);
    if (entry) {
        *entry = stream->x;
    }
    int made = attend(e, layer, in);
    if (layer->narrow) {
        cs_emit_narrow(e, stream, &made);
    }
    made = cs_emit_linear(e, made, layer->prefix, "attention.output", CS_ACT_NONE);
    made = after(e, layer, made, "attention.post");
    cs_emit_leave(e, stream, layer->prefix, "attention.norm", made);
}

void cs_emit_mlp(cs_emitter *e, const cs_layer *layer, cs_stream *stream)
{
    int in = cs_emit_enter(e, stream, layer->prefix, "mlp.norm");
    int made = after(e, layer, mlp(e, layer, in), "mlp.post");
    cs_emit_leave(e, stream, layer->prefix, "mlp.norm", made);
}

/* x + attention(norm(x)) + mlp(norm(x)), each with its norm. */
static void side_by_side(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int *entry)
{
    int in = cs_emit_enter_attention(e, layer, stream), sum = stream->x;
    *entry = sum;
    int made = attend(e, layer, in);
    if (layer->narrow) {
        cs_emit_narrow(e, stream, &made);
    }
    made = cs_emit_linear(e, made, layer->prefix, "attention.output", CS_ACT_NONE);
    const char *name = e->config->layer.one_norm ? "attention.norm" : "mlp.norm";
    int residual = e->config->layer.one_norm && !layer->narrow
                       ? in
                       : norm(e, *stream, layer->prefix, name, NULL);
    *stream =
        (cs_stream){cs_graph_add(e->graph, stream->x, made, dropout(e)), mlp(e, layer, residual)};
}

void cs_emit_layer(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int *entry)
{
    if (e->config->layer.parallel) {
        side_by_side(e, layer, stream, entry);
    } else {
        cs_emit_attention(e, layer, stream, entry);
        cs_emit_mlp(e, layer, stream);
    }
}
