/* The single layer of Theorem 4.3: pooled linear attention over the tokens that a row sees.
 *
 * f(i) = n^-p sum_u sum_v (q_u . k_v) v_v over the n tokens seen, z = f W^T. No norm, no bias, no
 * residual: the network is the theorem's model. Without positions it is blind: f depends on the
 * set of tokens alone. The printed form sums three free token indices; here key and value index
 * are one, as in Q K^T V.
 */
#include "model/network_private.h"

int cs_emit_linear_form(cs_emitter *e)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    int64_t d = c->shape.width;
    int x = cs_emit_content(e);
    net->query.rows = cs_graph_rows(g, e->options->batch, e->options->queries);
    net->query.lim = cs_graph_index(g, net->query.rows, "query lim");
    int qkv = cs_emit_linear(e, x, "layer.0.", "attention.qkv", CS_ACT_NONE);
    cs_attention_options o = {
        .vis = net->vis, .lim = net->query.lim, .heads = c->shape.heads, .power = c->head.pooling};
    int pooled =
        cs_graph_linear_attention(g, cs_graph_cols(g, qkv, 0, d), cs_graph_cols(g, qkv, d, d),
                                  cs_graph_cols(g, qkv, 2 * d, d), &o);
    if (e->options->keep_hidden) { /* what there is of layers: tokens, then rows */
        cs_emit_hidden(e, 0, x);
        cs_emit_hidden(e, 1, pooled);
    }
    return cs_graph_gather(g, pooled, net->loss.rows, net->loss.predict);
}
