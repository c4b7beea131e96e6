/* MAE-LM (its section 3 and Table 2): the encoder sees no (or few) [MASK]s, a shallow decoder
 * predicts.
 *
 * The decoder's row of a kept position starts from the encoder's output there, of a masked one from
 * the decoder's own mask vector, both plus the decoder's own embedding of the position (section 3;
 * its appendix C: absolute positions only, also behind an encoder whose are rotary). It has no
 * dropout (appendix C). Norms are in the same places as in the encoder. A decoder of another width
 * is joined by linear layers on both sides; the paper names the first, the second lets head and
 * output embedding be those of the encoder.
 *
 *   self           bidirectional self-attention
 *   self-cross     the same, then attention to the encoder's rows
 *   causal-cross   self-attention to the left over the shifted text, then the encoder's rows; every
 *                  position is predicted (after BART)
 *   cross          rows at masked positions attend to the encoder's rows alone
 *
 * A stack (t5, Raffel et al. 2020) is a causal-cross decoder of the encoder's form: rows are tokens
 * of the encoder's table, places enter by buckets of the distances to the left, which the layers
 * share; attention to the encoder's rows knows no places. */
#include <math.h>

#include "model/arch_private.h"
#include "model/network_private.h"

static bool has_cross(const cs_model_config *c)
{
    return c->decoder.attention != CS_DECODER_SELF;
}

static bool has_self(const cs_model_config *c)
{
    return c->decoder.attention != CS_DECODER_CROSS;
}

/* Its rows before the first layer. */
static int start(cs_emitter *e, int memory)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    bool from =
        c->decoder.attention == CS_DECODER_SELF || c->decoder.attention == CS_DECODER_SELF_CROSS;
    const char *tokens = c->decoder.stack                                  ? "embed.token"
                         : c->decoder.attention == CS_DECODER_CAUSAL_CROSS ? "decoder.token"
                                                                           : "decoder.mask";
    int x = CS_NONE;
    if (from) {
        net->decoder.from = cs_graph_index(g, net->decoder.rows, "decoder from");
        x = cs_graph_gather(g, memory, net->decoder.rows, net->decoder.from);
    }
    net->decoder.token = cs_graph_index(g, net->decoder.rows, "decoder token");
    int table[2] = {cs_emit_param(e, "", tokens)};
    int index[2] = {net->decoder.token};
    int tables = 1;
    if (cs_model_config_positions(c) > 0) {
        net->decoder.position = cs_graph_index(g, net->decoder.rows, "decoder position");
        table[tables] = cs_emit_param(e, "", "decoder.position");
        index[tables++] = net->decoder.position;
    }
    return cs_graph_embed(g, x, net->decoder.rows, tables, table, index);
}

static void cross(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int memory)
{
    cs_graph *g = e->graph;
    const int64_t d = cs_emit_key_width(e, layer);
    int in = cs_emit_enter(e, stream, layer->prefix, "cross.norm");
    int q = cs_emit_linear(e, in, layer->prefix, "cross.query", CS_ACT_NONE);
    int kv = cs_emit_linear(e, memory, layer->prefix, "cross.kv", CS_ACT_NONE);
    int made = cs_graph_attention(g, q, cs_graph_cols(g, kv, 0, d), cs_graph_cols(g, kv, d, d),
                                  &layer->attention);
    if (layer->narrow) {
        cs_emit_narrow(e, stream, &made);
    }
    made = cs_emit_linear(e, made, layer->prefix, "cross.output", CS_ACT_NONE);
    cs_emit_leave(e, stream, layer->prefix, "cross.norm", made);
}

static cs_stream layers(cs_emitter *e, int memory)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    cs_stream stream = {start(e, memory), CS_NONE};
    cs_attention_options plain = {
        .table = CS_NONE, .pos_q = CS_NONE, .pos_k = CS_NONE, .heads = c->decoder.heads};
    plain.scale =
        c->decoder.stack && c->attention.score_width > 0 ? 1 / sqrt(c->attention.score_width) : 0;
    cs_attention_options self = plain, over = plain;
    if (has_self(c)) {
        self.vis = net->decoder.vis = cs_graph_index(e->graph, net->decoder.rows, "decoder vis");
        self.lim = net->decoder.lim = cs_graph_index(e->graph, net->decoder.rows, "decoder lim");
    }
    if (c->decoder.stack) {
        net->decoder.position = cs_graph_index(e->graph, net->decoder.rows, "decoder position");
        if (c->position.relative_tables == CS_RELATIVE_ONE) {
            self.table = cs_emit_param(e, "", "decoder.relative.table");
        }
        self.pos_q = self.pos_k = net->decoder.position;
        self.max_distance = c->position.relative_distance;
    }
    if (has_cross(c)) {
        over.vis = net->vis;
        over.lim = net->decoder.cross_lim =
            cs_graph_index(e->graph, net->decoder.rows, "decoder cross lim");
    }
    for (int64_t l = 0; l < c->decoder.layers; ++l) {
        char prefix[CS_PREFIX_SIZE];
        bool last = l == c->decoder.layers - 1;
        cs_layer layer = {.prefix = cs_emit_prefix(e, l, prefix), .width = c->decoder.width};
        if (has_self(c)) {
            layer.attention = self;
            if (c->position.relative_tables == CS_RELATIVE_EACH) {
                layer.attention.table = cs_emit_param(e, prefix, "relative.table");
            }
            layer.narrow = last && !has_cross(c);
            int entry;
            cs_emit_attention(e, &layer, &stream, &entry);
            if (cs_emit_keeps_decoder(e)) {
                cs_emit_hidden(e, l, entry);
            }
        }
        if (has_cross(c)) {
            layer.attention = over;
            layer.narrow = last && !cs_emit_keeps_decoder(e);
            cross(e, &layer, &stream, memory);
        }
        cs_emit_mlp(e, &layer, &stream);
    }
    return stream;
}

/* All rows of a stack, before its final norm and behind it, which loss rows then read. */
static int keep(cs_emitter *e, cs_stream stream)
{
    cs_network *net = e->net;
    const int sum = cs_emit_sum(e, stream);
    cs_emit_hidden(e, e->config->decoder.layers, sum);
    net->top = cs_emit_final(e, (cs_stream){sum, CS_NONE}, "decoder.norm");
    cs_graph_keep(e->graph, net->top);
    return e->options->predictions > 0
               ? cs_graph_gather(e->graph, net->top, net->loss.rows, net->loss.predict)
               : CS_NONE;
}

int cs_emit_mae(cs_emitter *e)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    bool wider = c->decoder.width != c->shape.width && c->head.target == CS_TARGET_IDS;
    int memory = cs_emit_final(e, cs_emit_encoder(e, false), "final_norm");
    e->decoder = true;
    net->decoder.rows = cs_graph_rows(e->graph, e->options->batch, e->options->decoder_length);
    if (cs_decoder_projects(c)) {
        memory = cs_emit_linear(e, memory, "", "decoder.project", CS_ACT_NONE);
    }
    const cs_stream stream = layers(e, memory);
    int x = cs_emit_keeps_decoder(e) ? keep(e, stream) : cs_emit_final(e, stream, "decoder.norm");
    e->decoder = false;
    return wider ? cs_emit_linear(e, x, "", "decoder.output", CS_ACT_NONE) : x;
}

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
