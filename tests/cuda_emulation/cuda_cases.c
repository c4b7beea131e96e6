/* Shapes that the shared cases, small for every backend's sake, do not reach: heads of widths that
 * 8 divides at aligned columns (tensor cores), sequences of several tiles, packed rows, scatters
 * whose equal indices cross many pieces. */
#include "cuda_cases.h"

#include <stddef.h>

typedef struct {
    int64_t batch, rows, keys, heads, width;
    cs_net_fill vis, lim;
    int64_t vis_n, lim_n;
    double p;
    int64_t buckets, max_distance;
    bool bidirectional, scattered; /* scattered: positions in any order, some of them twice */
} attention_setting;

static void attention(cs_tensor_net *net, const void *setting)
{
    const attention_setting *s = setting;
    int rows = cs_net_rows(net, s->batch, s->rows), keys = cs_net_rows(net, s->batch, s->keys);
    int64_t width = s->heads * s->width;
    int q = cs_net_activation(net, "q", rows, width), k = cs_net_activation(net, "k", keys, width);
    int v = cs_net_activation(net, "v", keys, width);
    cs_attention_options o = {.vis = cs_net_index(net, keys, s->vis, s->vis_n),
                              .lim = cs_net_index(net, rows, s->lim, s->lim_n),
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = s->heads,
                              .p = s->p};
    if (s->buckets > 0) {
        o.table = cs_net_param(net, "table", s->buckets, s->heads);
        o.pos_q = cs_net_index(net, rows, s->scattered ? cs_fill_some : cs_fill_position,
                               s->scattered ? s->keys : 1);
        o.pos_k = cs_net_index(net, keys, s->scattered ? cs_fill_some : cs_fill_position,
                               s->scattered ? s->keys : 0);
        o.max_distance = s->max_distance;
        o.bidirectional = s->bidirectional;
    }
    cs_net_output(net, cs_graph_attention(&net->graph, q, k, v, &o));
}

/* One matrix as q, k and v, twice: gradients are added to. Less than the largest size. */
static void attention_shared(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 3, 90, 2, 70);
    int x = cs_net_activation(net, "x", rows, 32),
        at = cs_net_index(net, rows, cs_fill_position, 0);
    cs_attention_options o = {
        .vis = at, .lim = at, .table = CS_NONE, .pos_q = CS_NONE, .pos_k = CS_NONE, .heads = 2};
    int y = cs_graph_attention(g, x, x, x, &o);
    o.lim = cs_net_index(net, rows, cs_fill_constant, 40);
    cs_net_output(net, cs_graph_attention(g, y, x, y, &o));
}

/* q, k, v as columns of one matrix, as models have them, with dropout. */
static void attention_views(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 3, 80, 2, 66), at = cs_net_index(net, rows, cs_fill_group, 0);
    int qkv = cs_net_activation(net, "qkv", rows, 192);
    cs_attention_options o = {.vis = at,
                              .lim = cs_net_index(net, rows, cs_fill_group, -1),
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = 1,
                              .p = 0.2};
    cs_net_output(net,
                  cs_graph_attention(g, cs_graph_cols(g, qkv, 0, 64), cs_graph_cols(g, qkv, 64, 64),
                                     cs_graph_cols(g, qkv, 128, 64), &o));
}

/* Columns of whole packs everywhere; long stretches of equal indices. */
static void rows_packed(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 4, 150), fewer = cs_net_rows(net, 4, 40), s = CS_NONE;
    int words = cs_net_param(net, "words", 3, 40), kind = cs_net_param(net, "kind", 1, 40);
    int place = cs_net_param(net, "place", 150, 40);
    int table[] = {words, kind, place};
    int index[] = {cs_net_index(net, rows, cs_fill_some, 3),
                   cs_net_index(net, rows, cs_fill_constant, 0),
                   cs_net_index(net, rows, cs_fill_position, 0)};
    int gain = cs_net_param(net, "gain", 1, 40), bias = cs_net_param(net, "bias", 1, 40);
    int x = cs_graph_embed(g, CS_NONE, rows, 3, table, index);
    int y = cs_graph_layer_norm(g, x, cs_graph_add(g, x, x, 0.3), 0.2,
                                (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, &s);
    int few = cs_graph_gather(g, s, fewer, cs_net_index(net, fewer, cs_fill_some, 2));
    cs_net_output(net, cs_graph_add(g, CS_NONE, few, 0.1));
    cs_net_output(net, y);
}

/* More columns than backward sums at once, more rows than a block takes. */
static void norm_wide(cs_tensor_net *net, const void *setting)
{
    const int64_t cols = *(const int64_t *)setting;
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 2, 37), s = CS_NONE;
    int x = cs_net_activation(net, "x", rows, cols), r = cs_net_activation(net, "r", rows, cols);
    int gain = cs_net_param(net, "gain", 1, cols), bias = cs_net_param(net, "bias", 1, cols);
    cs_net_output(net, cs_graph_layer_norm(g, x, r, 0.2,
                                           (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, &s));
    cs_net_output(net, cs_graph_add(g, CS_NONE, s, 0.1));
}

/* More rows than one stage of column sums takes; products of several tiles. */
static void linear_long(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 100);
    int x = cs_net_activation(net, "x", rows, 72);
    int w = cs_net_param(net, "w", 80, 72), b = cs_net_param(net, "b", 1, 80);
    cs_net_output(net, cs_graph_linear(&net->graph, x, w, b, CS_ACT_GELU_TANH));
}

static void entropy_wide(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 2, 4), z = cs_net_activation(net, "z", rows, 1024);
    int target = cs_net_index(net, rows, cs_fill_some, 1000);
    int weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    cs_net_loss(net, cs_graph_cross_entropy(&net->graph, z, 1000, target, weight));
}

/* The vocabularies of GPT-2 and BERT: rows of logits are padded, the last pack is a part. */
static void vocabulary(cs_tensor_net *net, const void *setting)
{
    int64_t words = *(const int64_t *)setting;
    int rows = cs_net_rows(net, 1, 2), x = cs_net_activation(net, "x", rows, 8);
    int w = cs_net_param(net, "w", words, 8);
    int target = cs_net_index(net, rows, cs_fill_row, 0);
    int weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    int z = cs_graph_linear(&net->graph, x, w, CS_NONE, CS_ACT_NONE);
    cs_net_loss(net, cs_graph_cross_entropy(&net->graph, z, words, target, weight));
}

static void pooled_wide(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 2, 5), keys = cs_net_rows(net, 2, 33);
    int q = cs_net_activation(net, "q", keys, 80), k = cs_net_activation(net, "k", keys, 80);
    int v = cs_net_activation(net, "v", keys, 80);
    int vis = cs_net_index(net, keys, cs_fill_group, 0);
    int lim = cs_net_index(net, rows, cs_fill_group, 0);
    cs_attention_options o = {.vis = vis, .lim = lim, .heads = 2, .power = 2};
    cs_net_output(net, cs_graph_linear_attention(&net->graph, q, k, v, &o));
}

const cs_tensor_case cs_cuda_cases[] = {
    {"width 64, causal, three tiles", NULL, attention,
     &(const attention_setting){1, 150, 150, 1, 64, cs_fill_position, cs_fill_position, 0, 0, 0, 0,
                                0, false, false}},
    {"width 64, all seen, whole tiles", NULL, attention,
     &(const attention_setting){1, 64, 128, 2, 64, cs_fill_constant, cs_fill_constant, 0, 0, 0, 0,
                                0, false, false}},
    {"width 64, strictly causal, dropout", NULL, attention,
     &(const attention_setting){2, 70, 70, 1, 64, cs_fill_position, cs_fill_position, 0, -1, 0.3, 0,
                                0, false, false}},
    {"width 32, cross, padding", NULL, attention,
     &(const attention_setting){2, 33, 90, 2, 32, cs_fill_padded_vis, cs_fill_constant, 0, 0, 0, 0,
                                0, false, false}},
    {"width 32, relative, dropout", NULL, attention,
     &(const attention_setting){2, 75, 67, 2, 32, cs_fill_padded_vis, cs_fill_constant, 0, 0, 0.25,
                                40, 30, true, false}},
    {"width 128, query stream", NULL, attention,
     &(const attention_setting){1, 80, 80, 1, 128, cs_fill_group, cs_fill_group, 0, -1, 0, 0, 0,
                                false, false}},
    {"width 128, causal, dropout, relative", NULL, attention,
     &(const attention_setting){1, 97, 97, 1, 128, cs_fill_position, cs_fill_position, 0, 0, 0.1,
                                16, 12, false, false}},
    {"width 64, relative, positions in any order", NULL, attention,
     &(const attention_setting){2, 70, 130, 2, 64, cs_fill_padded_vis, cs_fill_constant, 0, 0, 0,
                                24, 40, true, true}},
    {"width 32, relative, more buckets than shared memory has memory for", NULL, attention,
     &(const attention_setting){1, 30, 30, 1, 32, cs_fill_position, cs_fill_position, 0, 0, 0, 400,
                                600, true, false}},
    {"width 8, padding", NULL, attention,
     &(const attention_setting){2, 17, 17, 3, 8, cs_fill_padded_vis, cs_fill_padded_lim, 0, 0, 0, 0,
                                0, false, false}},
    {"width 48, causal", NULL, attention,
     &(const attention_setting){1, 65, 65, 2, 48, cs_fill_position, cs_fill_position, 0, 0, 0, 0, 0,
                                false, false}},
    {"width 80, all seen, dropout", NULL, attention,
     &(const attention_setting){1, 20, 130, 1, 80, cs_fill_constant, cs_fill_constant, 0, 0, 0.5, 0,
                                0, false, false}},
    {"one matrix as q, k and v", attention_shared, NULL, NULL},
    {"columns of one matrix", attention_views, NULL, NULL},
    {"packed rows, long scatters", rows_packed, NULL, NULL},
    {"norm of 2112 columns", NULL, norm_wide, &(const int64_t){2112}},
    {"norm of 1030 columns", NULL, norm_wide, &(const int64_t){1030}},
    {"long linear map", linear_long, NULL, NULL},
    {"wide cross-entropy", entropy_wide, NULL, NULL},
    {"vocabulary of 50257", NULL, vocabulary, &(const int64_t){50257}},
    {"vocabulary of 30522", NULL, vocabulary, &(const int64_t){30522}},
    {"wide linear attention", pooled_wide, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
