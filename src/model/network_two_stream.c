/* Two-stream attention (LA App. B.3, Eq. 23-24; GVP section 4.2; after XLNet, Yang et al. 2019).
 *
 * The content stream is the encoder: row i sees its own group and earlier ones. A query starts from
 * a learned vector and the embedding of the position it fills, never from a token, and at every
 * layer attends to the content rows of earlier groups with the same weights. K and V of the content
 * rows are formed once a layer for both. Of the last layer, the content stream needs no more: what
 * it would make there no query reads. LA lets every position carry a query; here only those that
 * predict do, anywhere and as often as the plan says.
 *
 * A blind query starts from the learned vector alone, as GVP prints its first one (G^(0) = w), and
 * its attention has neither relative bias nor window: a row without a position is at no distance from
 * anything. Of rotary positions it has none (the angle 0), while keys keep theirs.
 * Queries that see the same rows then coincide, and predict one distribution: the bag of tokens.
 */
#include "model/network_private.h"

static int queries(cs_emitter *e)
{
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    net->query.rows = cs_graph_rows(g, e->options->batch, e->options->queries);
    net->query.lim = cs_graph_index(g, net->query.rows, "query lim");
    int table[2] = {cs_emit_param(e, "", "query.start")};
    /* 0 in every row: nothing fills it, and staging starts as zeros */
    int index[2] = {cs_graph_index(g, net->query.rows, "zero")};
    int tables = 1;
    if (net->position != CS_NONE && !e->config->attention.blind_queries) {
        net->query.position = cs_graph_index(g, net->query.rows, "query position");
    }
    if (e->config->shape.positions > 0 && !e->config->attention.blind_queries) {
        table[tables] = cs_emit_param(e, "", "embed.position");
        index[tables++] = net->query.position;
    }
    return cs_emit_embedded(e, cs_graph_embed(g, CS_NONE, net->query.rows, tables, table, index));
}

/* The attention sublayer of one stream after its queries are known. */
static void attend(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int q,
                   cs_projections at)
{
    int made = cs_graph_attention(e->graph, q, at.k, at.v, &layer->attention);
    if (layer->narrow) {
        cs_emit_narrow(e, stream, &made);
    }
    made = cs_emit_linear(e, made, layer->prefix, "attention.output", CS_ACT_NONE);
    cs_emit_leave(e, stream, layer->prefix, "attention.norm", made);
}

int cs_emit_two_stream(cs_emitter *e)
{
    cs_network *net = e->net;
    int64_t layers = e->config->shape.layers;
    bool whole = e->options->keep_hidden; /* the content stream is read to its end */
    cs_stream content = {cs_emit_content(e), CS_NONE};
    if (layers > 1 || whole) {
        net->lim = cs_graph_index(e->graph, net->rows, "lim");
    }
    cs_stream query = {queries(e), CS_NONE};
    for (int64_t l = 0; l < layers; ++l) {
        char prefix[CS_PREFIX_SIZE];
        bool last = l == layers - 1, ends = last && !whole;
        cs_layer layer = {
            .prefix = cs_emit_prefix(e, l, prefix), .number = l, .width = e->config->shape.width};
        int in = cs_emit_enter_attention(e, &layer, &content);
        cs_emit_hidden(e, l, content.x);
        cs_projections at = cs_emit_project(e, &layer, in, !ends);
        if (!ends) {
            layer.attention = cs_emit_masks(e, l, net->lim, net->position);
            attend(e, &layer, &content, at.q, at);
            cs_emit_mlp(e, &layer, &content);
        }
        in = cs_emit_enter_attention(e, &layer, &query);
        int q = cs_emit_queries(e, &layer, in, net->query.position);
        layer.attention = cs_emit_masks(e, l, net->query.lim, net->query.position);
        layer.narrow = last;
        attend(e, &layer, &query, q, at);
        cs_emit_mlp(e, &layer, &query);
    }
    if (whole) {
        cs_emit_hidden(e, layers, cs_emit_sum(e, content));
    }
    return cs_emit_final(e, query, "final_norm");
}
