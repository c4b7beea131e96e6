/* One Transformer layer, with norms before its sublayers (GPT-2; Xiong et al. 2020) or after their
 * residual sums (Vaswani et al. 2017; BERT).
 *
 * A norm before a sublayer is one operation with the residual sum that precedes it, so a stream is
 * handed on as two addends. Above the last attention every operation works on rows alone: there the
 * stream is narrowed to the rows that the loss reads.
 */
#include <stdio.h>

#include "model/network_private.h"

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
        e->param[number] = cs_graph_param(e->graph, p->name, p->rows, p->cols, p->offset, true);
    }
    return e->param[number];
}

int cs_emit_bias(cs_emitter *e, const char *prefix, const char *name)
{
    return e->config->bias ? cs_emit_param(e, prefix, name) : CS_NONE;
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

int cs_emit_linear_rows(cs_emitter *e, int x, const char *prefix, const char *name, int64_t first,
                        int64_t rows)
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
    return e->decoder ? 0 : e->config->dropout;
}

static int norm(cs_emitter *e, cs_stream s, const char *prefix, const char *name, int *sum)
{
    char full[64];
    (void)snprintf(full, sizeof full, "%s.gain", name);
    int gain = cs_emit_param(e, prefix, full);
    return cs_graph_layer_norm(e->graph, s.x, s.r, s.r == CS_NONE ? 0 : dropout(e),
                               (cs_norm){gain, bias_of(e, prefix, name), e->config->eps}, sum);
}

int cs_emit_enter(cs_emitter *e, cs_stream *stream, const char *prefix, const char *name)
{
    if (e->config->post_norm) {
        return stream->x;
    }
    int sum = CS_NONE, y = norm(e, *stream, prefix, name, &sum);
    *stream = (cs_stream){sum, CS_NONE};
    return y;
}

void cs_emit_leave(cs_emitter *e, cs_stream *stream, const char *prefix, const char *name, int made)
{
    stream->r = made;
    if (e->config->post_norm) {
        *stream = (cs_stream){norm(e, *stream, prefix, name, NULL), CS_NONE};
    }
}

int cs_emit_sum(cs_emitter *e, cs_stream stream)
{
    return stream.r == CS_NONE ? stream.x : cs_graph_add(e->graph, stream.x, stream.r, dropout(e));
}

int cs_emit_final(cs_emitter *e, cs_stream stream, const char *name)
{
    return e->config->post_norm ? stream.x : norm(e, stream, "", name, NULL);
}

void cs_emit_narrow(cs_emitter *e, cs_stream *stream, int *made)
{
    const cs_network *net = e->net;
    *made = cs_graph_gather(e->graph, *made, net->loss_rows, net->predict);
    stream->x = cs_graph_gather(e->graph, stream->x, net->loss_rows, net->predict);
}

/* --- sublayers -------------------------------------------------------------------------------- */

const char *cs_emit_prefix(cs_emitter *e, int64_t layer, char buffer[CS_PREFIX_ROOM])
{
    (void)snprintf(buffer, CS_PREFIX_ROOM, "%slayer.%lld.", e->decoder ? "decoder." : "",
                   (long long)layer);
    return buffer;
}

cs_attention_options cs_emit_masks(cs_emitter *e, int lim, int position)
{
    const cs_model_config *c = e->config;
    cs_attention_options o = {.vis = e->net->vis,
                              .lim = lim,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = c->heads,
                              .p = c->attention_dropout};
    if (c->relative_buckets > 0 && position != CS_NONE) {
        o.table = cs_emit_param(e, "", "relative.table");
        o.pos_q = position;
        o.pos_k = e->net->position;
        o.max_distance = c->relative_distance;
        o.bidirectional = true;
    }
    return o;
}

void cs_emit_attention(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int *entry)
{
    int64_t d = layer->width;
    int in = cs_emit_enter(e, stream, layer->prefix, "attention.norm");
    if (entry) {
        *entry = stream->x;
    }
    int qkv = cs_emit_linear(e, in, layer->prefix, "attention.qkv", CS_ACT_NONE);
    int made = cs_graph_attention(e->graph, cs_graph_cols(e->graph, qkv, 0, d),
                                  cs_graph_cols(e->graph, qkv, d, d),
                                  cs_graph_cols(e->graph, qkv, 2 * d, d), &layer->attention);
    if (layer->narrow) {
        cs_emit_narrow(e, stream, &made);
    }
    made = cs_emit_linear(e, made, layer->prefix, "attention.output", CS_ACT_NONE);
    cs_emit_leave(e, stream, layer->prefix, "attention.norm", made);
}

void cs_emit_mlp(cs_emitter *e, const cs_layer *layer, cs_stream *stream)
{
    int in = cs_emit_enter(e, stream, layer->prefix, "mlp.norm");
    int inner = cs_emit_linear(e, in, layer->prefix, "mlp.in", e->config->act);
    int made = cs_emit_linear(e, inner, layer->prefix, "mlp.out", CS_ACT_NONE);
    cs_emit_leave(e, stream, layer->prefix, "mlp.norm", made);
}
