/* Pre-LN blocks, the residual stream carried as x + r (gpt_graph.h). */
#include "gpt_graph.h"

#include "tensor_support.h"

static int matrix(gpt *g, int64_t rows, int64_t cols)
{
    int64_t number = cs_params_add(&g->params, "matrix", rows, cols, rows > 1);
    cs_tensor_must(number < 0 ? CS_ERR_MEMORY : CS_OK, "parameters");
    return cs_graph_param(&g->graph, "matrix", rows, cols, g->params.param[number].offset, true);
}

/* Forward and two products backward. */
static int linear(gpt *g, int x, int64_t in, int64_t out, cs_activation act)
{
    int w = matrix(g, out, in), b = matrix(g, 1, out);
    g->flops += 6.0 * (double)(g->s.batch * g->s.length) * (double)in * (double)out;
    return cs_graph_linear(&g->graph, x, w, b, act);
}

static int norm(gpt *g, int *x, int r)
{
    int gain = matrix(g, 1, g->s.width), bias = matrix(g, 1, g->s.width);
    return cs_graph_layer_norm(&g->graph, *x, r, 0,
                               (cs_norm){.gain = gain, .bias = bias, .eps = 1e-5}, x);
}

static int block(gpt *g, int *x, int r)
{
    cs_graph *n = &g->graph;
    const int64_t d = g->s.width, tiles = (g->s.length + 63) / 64;
    int qkv = linear(g, norm(g, x, r), d, 3 * d, CS_ACT_NONE);
    cs_attention_options o = {.vis = g->vis,
                              .lim = g->lim,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = g->s.heads};
    int y = cs_graph_attention(n, cs_graph_cols(n, qkv, 0, d), cs_graph_cols(n, qkv, d, d),
                               cs_graph_cols(n, qkv, 2 * d, d), &o);
    /* 2 products forward, 3 and 4 in the two kernels of backward, over tiles on and below the
     * diagonal. */
    g->flops += 9 * 2.0 * (double)(g->s.batch * d) * 64 * 32 * (double)(tiles * (tiles + 1));
    r = linear(g, y, d, d, CS_ACT_NONE);
    int up = linear(g, norm(g, x, r), d, 4 * d, CS_ACT_GELU_TANH);
    return linear(g, up, 4 * d, d, CS_ACT_NONE);
}

void gpt_build(gpt *g)
{
    cs_graph *n = &g->graph;
    const gpt_shape *s = &g->s;
    cs_graph_init(n, true);
    int rows = cs_graph_rows(n, s->batch, s->length);
    g->ids = cs_graph_index(n, rows, "ids");
    g->places = cs_graph_index(n, rows, "positions");
    g->vis = cs_graph_index(n, rows, "vis");
    g->lim = cs_graph_index(n, rows, "lim");
    g->target = cs_graph_index(n, rows, "target");
    g->weight = cs_graph_input(n, rows, 1, "weight");
    int words = matrix(g, s->vocabulary, s->width), positions = matrix(g, s->length, s->width);
    const int table[] = {words, positions}, index[] = {g->ids, g->places};
    int x = cs_graph_embed(n, CS_NONE, rows, 2, table, index), r = CS_NONE;
    for (int64_t layer = 0; layer < s->layers; ++layer) {
        r = block(g, &x, r);
    }
    int logits = cs_graph_linear(n, norm(g, &x, r), words, CS_NONE, CS_ACT_NONE);
    g->flops += 6.0 * (double)(s->batch * s->length) * (double)(s->width * s->vocabulary);
    g->loss = cs_graph_cross_entropy(n, logits, s->vocabulary, g->target, g->weight);
    cs_tensor_must(cs_graph_finish(n), "graph");
}

void gpt_places(gpt *g)
{
    const int64_t rows = g->s.batch * g->s.length;
    for (int64_t r = 0; r < rows; ++r) {
        int32_t place = (int32_t)(r % g->s.length);
        cs_run_index(g->run, g->places)[r] = place;
        cs_run_index(g->run, g->vis)[r] = place;
        cs_run_index(g->run, g->lim)[r] = place;
        cs_run_input(g->run, g->weight, r, 0, 1.0 / (double)rows);
    }
}
