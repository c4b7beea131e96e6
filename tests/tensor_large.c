/* Cases too large for central differences: wider and longer than the blocks of fast kernels, and
 * one step of a small language model. For cs_tensor_compare. */
#include "tensor_support.h"

/* 3 x 50 rows of 130 columns, normed, to 201 and back. */
static void linears(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 4, 60, 3, 50), x = cs_net_activation(net, "x", rows, 130);
    int up = cs_net_param(net, "up", 201, 130), b = cs_net_param(net, "b", 1, 201);
    int down = cs_net_param(net, "down", 130, 201), c = cs_net_param(net, "c", 1, 130);
    int gain = cs_net_param(net, "gain", 1, 130);
    int n = cs_graph_layer_norm(g, x, CS_NONE, 0,
                                (cs_norm){.gain = gain, .bias = CS_NONE, .eps = 1e-5}, NULL);
    int f = cs_graph_linear(g, n, up, b, CS_ACT_GELU_TANH);
    cs_net_output(net, cs_graph_linear(g, f, down, c, CS_ACT_TANH));
}

/* Attention of `heads` heads of `width` columns, what sees what, and its dropout. */
typedef struct {
    int64_t heads, width;
    cs_net_fill vis, lim;
    int64_t lim_n;
    double p;
} heads;

static int attend(cs_tensor_net *net, int x, int rows, heads h)
{
    cs_graph *g = &net->graph;
    int64_t cols = h.heads * h.width;
    int v = cs_net_activation(net, "v", rows, cols), k = cs_net_activation(net, "k", rows, cols);
    cs_attention_options o = {.vis = cs_net_index(net, rows, h.vis, 0),
                              .lim = cs_net_index(net, rows, h.lim, h.lim_n),
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = h.heads,
                              .p = h.p};
    return cs_graph_attention(g, x, k, v, &o);
}

static void attention_causal(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 3, 200, 2, 133);
    int q = cs_net_activation(net, "q", rows, 128);
    const heads h = {2, 64, cs_fill_position, cs_fill_position, 0, 0};
    cs_net_output(net, attend(net, q, rows, h));
}

static void attention_dropped(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 2, 129), q = cs_net_activation(net, "q", rows, 96);
    const heads h = {3, 32, cs_fill_padded_vis, cs_fill_padded_lim, 0, 0.1};
    cs_net_output(net, attend(net, q, rows, h));
}

static void attention_groups(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 2, 80, 2, 67), q = cs_net_activation(net, "q", rows, 96);
    const heads h = {2, 48, cs_fill_group, cs_fill_group, -1, 0};
    cs_net_output(net, attend(net, q, rows, h));
}

static void pooled(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 2, 1), keys = cs_net_rows_now(net, 2, 140, 2, 131);
    int q = cs_net_activation(net, "q", keys, 64), k = cs_net_activation(net, "k", keys, 64);
    int v = cs_net_activation(net, "v", keys, 64);
    int vis = cs_net_index(net, keys, cs_fill_padded_vis, 0);
    int lim = cs_net_index(net, rows, cs_fill_constant, 0);
    cs_attention_options o = {.vis = vis, .lim = lim, .heads = 1, .power = 2};
    cs_net_output(net, cs_graph_linear_attention(&net->graph, q, k, v, &o));
}

static void rows_moved(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 5, 70, 5, 61), some = cs_net_rows_now(net, 1, 100, 1, 77);
    int table = cs_net_param(net, "table", 11, 130),
        index = cs_net_index(net, rows, cs_fill_some, 11);
    int x = cs_graph_embed(g, CS_NONE, rows, 1, &table, &index);
    int gain = cs_net_param(net, "gain", 1, 130), bias = cs_net_param(net, "bias", 1, 130);
    int n =
        cs_graph_layer_norm(g, x, x, 0.1, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, NULL);
    cs_net_output(net, cs_graph_gather(g, n, some, cs_net_index(net, some, cs_fill_some, 305)));
}

/* Two pre-LN blocks, tied table, loss at some positions. */
static void model(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    enum { D = 64, V = 333, HEADS = 2 };
    int rows = cs_net_rows_now(net, 3, 48, 2, 37), some = cs_net_rows_now(net, 1, 40, 1, 19);
    int table = cs_net_param(net, "table", V, D), place = cs_net_param(net, "place", 48, D);
    int tables[] = {table, place}, at = cs_net_index(net, rows, cs_fill_position, 0);
    int index[] = {cs_net_index(net, rows, cs_fill_some, V), at};
    int gain = cs_net_param(net, "gain", 1, D), bias = cs_net_param(net, "bias", 1, D);
    int qkv = cs_net_param(net, "qkv", 3 * D, D), out = cs_net_param(net, "out", D, D);
    int up = cs_net_param(net, "up", 4 * D, D), down = cs_net_param(net, "down", D, 4 * D);
    int s = cs_graph_add(g, CS_NONE, cs_graph_embed(g, CS_NONE, rows, 2, tables, index), 0.1);
    int r = CS_NONE;
    cs_attention_options o = {.vis = at,
                              .lim = at,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = HEADS,
                              .scale = 0.01,
                              .p = 0.1};
    for (int layer = 0; layer < 2; ++layer) {
        int n = cs_graph_layer_norm(g, s, r, 0.1,
                                    (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, &s);
        int all = cs_graph_linear(g, n, qkv, CS_NONE, CS_ACT_NONE);
        int a = cs_graph_attention(g, cs_graph_cols(g, all, 0, D), cs_graph_cols(g, all, D, D),
                                   cs_graph_cols(g, all, 2 * D, D), &o);
        a = cs_graph_linear(g, a, out, CS_NONE, CS_ACT_NONE);
        n = cs_graph_layer_norm(g, s, a, 0.1, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5},
                                &s);
        r = cs_graph_linear(g, cs_graph_linear(g, n, up, CS_NONE, CS_ACT_GELU_ERF), down, CS_NONE,
                            CS_ACT_NONE);
    }
    int last =
        cs_graph_layer_norm(g, s, r, 0.1, (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, NULL);
    int chosen = cs_graph_gather(g, last, some, cs_net_index(net, some, cs_fill_some, 74));
    int z = cs_graph_linear(g, chosen, table, CS_NONE, CS_ACT_NONE);
    int target = cs_net_index(net, some, cs_fill_some, V);
    int weight = cs_net_input(net, some, 1, 0.0, 1.0);
    cs_net_loss(net, cs_graph_cross_entropy(g, z, V, target, weight));
}

const cs_tensor_case cs_tensor_large_cases[] = {
    {"large: linear maps", linears, NULL, NULL},
    {"large: attention, causal", attention_causal, NULL, NULL},
    {"large: attention, dropout and padding", attention_dropped, NULL, NULL},
    {"large: attention, query stream", attention_groups, NULL, NULL},
    {"large: linear attention", pooled, NULL, NULL},
    {"large: rows moved", rows_moved, NULL, NULL},
    {"large: a model", model, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
