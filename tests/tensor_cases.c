/* The cases: every operation with every option, at shapes that no block size divides.
 *
 * Masks: causal, bidirectional with padding, the content and query streams of groups, rows that see
 * nothing. */
#include "tensor_support.h"

/* --- masks ------------------------------------------------------------------------------------ */

typedef struct {
    cs_net_fill vis, lim;
    int64_t vis_n, lim_n;
} mask;

#define CAUSAL                                                                                     \
    {                                                                                              \
        cs_fill_position, cs_fill_position, 0, 0                                                   \
    }
#define BEFORE                                                                                     \
    {                                                                                              \
        cs_fill_position, cs_fill_position, 0, -1                                                  \
    } /* the first row sees nothing */
#define PADDED                                                                                     \
    {                                                                                              \
        cs_fill_padded_vis, cs_fill_padded_lim, 0, 0                                               \
    } /* padding neither sees nor is seen */
#define PADDED_KEYS                                                                                \
    {                                                                                              \
        cs_fill_padded_vis, cs_fill_constant, 0, 0                                                 \
    }
#define CONTENT                                                                                    \
    {                                                                                              \
        cs_fill_group, cs_fill_group, 0, 0                                                         \
    }
#define QUERY                                                                                      \
    {                                                                                              \
        cs_fill_group, cs_fill_group, 0, -1                                                        \
    } /* the first group sees nothing */
#define ALL                                                                                        \
    {                                                                                              \
        cs_fill_constant, cs_fill_constant, 0, 0                                                   \
    }

/* --- linear ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t batch, length, in, out;
    bool bias;
    cs_activation act;
} linear_setting;

static void linear(cs_tensor_net *net, const void *setting)
{
    const linear_setting *s = setting;
    int rows = cs_net_rows(net, s->batch, s->length);
    int x = cs_net_activation(net, "x", rows, s->in);
    int w = cs_net_param(net, "w", s->out, s->in);
    int b = s->bias ? cs_net_param(net, "b", 1, s->out) : CS_NONE;
    cs_net_output(net, cs_graph_linear(&net->graph, x, w, b, s->act));
}

static void linear_smaller(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 5, 9, 3, 4);
    int x = cs_net_activation(net, "x", rows, 6);
    int w = cs_net_param(net, "w", 5, 6), b = cs_net_param(net, "b", 1, 5);
    cs_net_output(net, cs_graph_linear(&net->graph, x, w, b, CS_ACT_GELU_TANH));
}

/* x read by two operations, w used by both, one of them through rows of w. */
static void linear_shared(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_activation(net, "x", rows, 6);
    int w = cs_net_param(net, "w", 7, 6), b = cs_net_param(net, "b", 1, 7);
    int some = cs_graph_param_rows(g, w, 2, 3);
    int y = cs_graph_linear(g, x, w, b, CS_ACT_NONE);
    cs_net_output(net, cs_graph_add(g, y, cs_graph_linear(g, x, w, b, CS_ACT_GELU_ERF), 0));
    cs_net_output(net, cs_graph_linear(g, x, some, CS_NONE, CS_ACT_NONE));
}

/* Columns of x and of w read apart. */
static void linear_views(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_activation(net, "x", rows, 7), w = cs_net_param(net, "w", 5, 9);
    int left = cs_graph_cols(g, x, 0, 3), right = cs_graph_cols(g, x, 3, 4);
    int w_left = cs_graph_cols(g, w, 1, 3), w_right = cs_graph_cols(g, w, 5, 4);
    int y = cs_graph_linear(g, left, w_left, CS_NONE, CS_ACT_TANH);
    cs_net_output(net,
                  cs_graph_add(g, y, cs_graph_linear(g, right, w_right, CS_NONE, CS_ACT_NONE), 0));
}

/* Nothing trainable before the second map, whose bias alone is. */
static void linear_frozen(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_of_table(net, rows, cs_net_frozen(net, "x", 15, 6));
    int w = cs_net_frozen(net, "w", 7, 6), u = cs_net_frozen(net, "u", 4, 7);
    int b = cs_net_param(net, "b", 1, 4);
    int y = cs_graph_linear(g, x, w, CS_NONE, CS_ACT_GELU_TANH);
    cs_net_output(net, cs_graph_linear(g, y, u, b, CS_ACT_TANH));
}

/* --- embed, gather, add ----------------------------------------------------------------------- */

static void embed_one(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 7);
    int table = cs_net_param(net, "table", 5, 6), index = cs_net_index(net, rows, cs_fill_some, 5);
    cs_net_output(net, cs_graph_embed(&net->graph, CS_NONE, rows, 1, &table, &index));
}

/* Rows of real vectors, looked up, projected and added to what ids stand for. */
static void embed_given(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 7);
    int table = cs_net_param(net, "table", 5, 6), w = cs_net_param(net, "w", 6, 4);
    int given = cs_net_input(net, rows, 4, -1.0, 1.0);
    int row = cs_net_index(net, rows, cs_fill_some, 21);
    int index = cs_net_index(net, rows, cs_fill_some, 5);
    int x = cs_graph_embed(&net->graph, CS_NONE, rows, 1, &given, &row);
    x = cs_graph_linear(&net->graph, x, w, CS_NONE, CS_ACT_NONE);
    cs_net_output(net, cs_graph_embed(&net->graph, x, rows, 1, &table, &index));
}

/* x and four tables: two are the same and one is rows of another. */
static void embed_many(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 4, 9, 3, 5);
    int x = cs_net_activation(net, "x", rows, 3);
    int a = cs_net_param(net, "a", 4, 3), b = cs_net_param(net, "b", 9, 3);
    int table[] = {a, b, a, cs_graph_param_rows(&net->graph, b, 2, 5)};
    int index[] = {
        cs_net_index(net, rows, cs_fill_some, 4), cs_net_index(net, rows, cs_fill_position, 0),
        cs_net_index(net, rows, cs_fill_some, 4), cs_net_index(net, rows, cs_fill_some, 5)};
    cs_net_output(net, cs_graph_embed(&net->graph, x, rows, 4, table, index));
}

static void gather(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 4, 6, 3, 5), fewer = cs_net_rows_now(net, 3, 7, 2, 5);
    int x = cs_net_activation(net, "x", rows, 7);
    int index = cs_net_index(net, fewer, cs_fill_some, 15);
    cs_net_output(net, cs_graph_gather(&net->graph, x, fewer, index));
}

/* Two gathers of one x into more rows than it has, and another reader before and after. */
static void gather_shared(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5), more = cs_net_rows(net, 3, 9);
    int x = cs_net_activation(net, "x", rows, 1), w = cs_net_param(net, "w", 2, 1);
    cs_net_output(net, cs_graph_linear(g, x, w, CS_NONE, CS_ACT_NONE));
    int one = cs_graph_gather(g, x, more, cs_net_index(net, more, cs_fill_some, 15));
    int two = cs_graph_gather(g, x, more, cs_net_index(net, more, cs_fill_some, 4));
    cs_net_output(net, cs_graph_add(g, one, two, 0));
    cs_net_output(net, cs_graph_linear(g, x, w, CS_NONE, CS_ACT_TANH));
}

static void gather_nothing(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 5), one = cs_net_rows(net, 1, 1);
    int x = cs_net_of_table(net, rows, cs_net_still(net, "x", 15, 4));
    int index = cs_net_index(net, one, cs_fill_constant, -1);
    cs_net_output(net, cs_graph_gather(&net->graph, x, one, index));
}

static void add_dropped(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 5);
    int a = cs_net_activation(net, "a", rows, 7), b = cs_net_activation(net, "b", rows, 7);
    cs_net_output(net, cs_graph_add(&net->graph, a, b, 0.3));
}

/* drop(b) alone; one use is of views. */
static void add_nothing(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 4, 6, 3, 5);
    int b = cs_net_activation(net, "b", rows, 6);
    int y = cs_graph_add(g, CS_NONE, b, 0.5);
    int sum = cs_graph_add(g, cs_graph_cols(g, y, 0, 3), cs_graph_cols(g, y, 3, 3), 0.25);
    cs_net_output(net, sum);
}

static void add_itself(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 1, 5);
    int b = cs_net_activation(net, "b", rows, 6);
    cs_net_output(net, cs_graph_add(&net->graph, b, b, 0.5));
}

/* --- layer norm ------------------------------------------------------------------------------- */

static void norm(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_activation(net, "x", rows, 7);
    int gain = cs_net_param(net, "gain", 1, 7), bias = cs_net_param(net, "bias", 1, 7);
    cs_net_output(net, cs_graph_layer_norm(&net->graph, x, CS_NONE, 0, affine(gain, bias), NULL));
}

static void norm_wide(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 4, 9, 3, 7);
    int x = cs_net_activation(net, "x", rows, 65);
    int gain = cs_net_param(net, "gain", 1, 65), bias = cs_net_param(net, "bias", 1, 65);
    cs_net_output(net, cs_graph_layer_norm(&net->graph, x, CS_NONE, 0, affine(gain, bias), NULL));
}

/* One column: the norm is the bias, and x gets no gradient. */
static void norm_one_column(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_of_table(net, rows, cs_net_still(net, "x", 15, 1));
    int gain = cs_net_still(net, "gain", 1, 1), bias = cs_net_param(net, "bias", 1, 1);
    cs_net_output(net, cs_graph_layer_norm(&net->graph, x, CS_NONE, 0, affine(gain, bias), NULL));
}

/* x has another reader than the norm; no bias. */
static void norm_and_reader(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5), sum = CS_NONE;
    int x = cs_net_activation(net, "x", rows, 6), gain = cs_net_param(net, "gain", 1, 6);
    int y = cs_graph_layer_norm(g, x, CS_NONE, 0, affine(gain, CS_NONE), &sum);
    cs_net_output(net, cs_graph_add(g, sum, y, 0.1));
}

static void norm_residual(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 4, 6, 3, 5);
    int x = cs_net_activation(net, "x", rows, 6), r = cs_net_activation(net, "r", rows, 6);
    int gain = cs_net_param(net, "gain", 1, 6), bias = cs_net_param(net, "bias", 1, 6);
    cs_net_output(net, cs_graph_layer_norm(&net->graph, x, r, 0.3, affine(gain, bias), NULL));
}

/* The sum goes on: pre-LN. A second norm takes it up, and x and r are read again. */
static void norm_stream(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5), s = CS_NONE, s2 = CS_NONE;
    int x = cs_net_activation(net, "x", rows, 6), r = cs_net_activation(net, "r", rows, 6);
    int gain = cs_net_param(net, "gain", 1, 6), bias = cs_net_param(net, "bias", 1, 6);
    int w = cs_net_param(net, "w", 6, 6);
    int first = cs_graph_layer_norm(g, x, r, 0.2, affine(gain, bias), &s);
    int f = cs_graph_linear(g, first, w, CS_NONE, CS_ACT_GELU_TANH);
    int second = cs_graph_layer_norm(g, s, f, 0.2, affine(gain, bias), &s2);
    cs_net_output(net, cs_graph_add(g, s2, second, 0));
    cs_net_output(net, cs_graph_add(g, x, r, 0));
}

/* The sum read through its columns; one tensor as x and r. */
static void norm_views(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5), s = CS_NONE;
    int x = cs_net_activation(net, "x", rows, 6), gain = cs_net_param(net, "gain", 1, 6);
    cs_net_output(net, cs_graph_layer_norm(g, x, x, 0.4, affine(gain, CS_NONE), &s));
    cs_net_output(net, cs_graph_add(g, cs_graph_cols(g, s, 0, 3), cs_graph_cols(g, s, 3, 3), 0));
}

/* Only the gain learns, yet the sum is read again. */
static void norm_frozen(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5), s = CS_NONE;
    int x = cs_net_of_table(net, rows, cs_net_frozen(net, "x", 15, 6));
    int r = cs_net_of_table(net, rows, cs_net_frozen(net, "r", 15, 6));
    int gain = cs_net_param(net, "gain", 1, 6), bias = cs_net_frozen(net, "bias", 1, 6);
    int y = cs_graph_layer_norm(g, x, r, 0.1, affine(gain, bias), &s);
    cs_net_output(net, cs_graph_add(g, s, y, 0));
}

/* --- attention -------------------------------------------------------------------------------- */

typedef struct {
    int64_t batch, rows, keys, heads, width; /* width of a head */
    mask mask;
    double p, scale;
    int64_t buckets;
    bool bidirectional;
} attention_setting;

static void attention(cs_tensor_net *net, const void *setting)
{
    const attention_setting *s = setting;
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, s->batch, s->rows), keys = cs_net_rows(net, s->batch, s->keys);
    int64_t width = s->heads * s->width;
    int q = cs_net_activation(net, "q", rows, width), k = cs_net_activation(net, "k", keys, width);
    int v = cs_net_activation(net, "v", keys, width);
    cs_attention_options o = {.vis = cs_net_index(net, keys, s->mask.vis, s->mask.vis_n),
                              .lim = cs_net_index(net, rows, s->mask.lim, s->mask.lim_n),
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = s->heads,
                              .scale = s->scale,
                              .p = s->p};
    if (s->buckets > 0) {
        o.table = cs_net_param(net, "table", s->buckets, s->heads);
        o.pos_q = cs_net_index(net, rows, cs_fill_position, 1);
        o.pos_k = cs_net_index(net, keys, cs_fill_position, 0);
        o.max_distance = 5;
        o.bidirectional = s->bidirectional;
    }
    cs_net_output(net, cs_graph_attention(g, q, k, v, &o));
}

/* q, k and v are columns of one matrix, at less than the largest size. */
static void attention_views(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 4, 9, 3, 5);
    int qkv = cs_net_activation(net, "qkv", rows, 18);
    cs_attention_options o = {.vis = cs_net_index(net, rows, cs_fill_padded_vis, 0),
                              .lim = cs_net_index(net, rows, cs_fill_padded_lim, 0),
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = 2,
                              .p = 0.2};
    cs_net_output(net,
                  cs_graph_attention(g, cs_graph_cols(g, qkv, 0, 6), cs_graph_cols(g, qkv, 6, 6),
                                     cs_graph_cols(g, qkv, 12, 6), &o));
}

/* One matrix as q, k and v of two attentions with one table of relative positions. */
static void attention_shared(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_activation(net, "x", rows, 6);
    int at = cs_net_index(net, rows, cs_fill_position, 0);
    cs_attention_options o = {.vis = at,
                              .lim = at,
                              .table = cs_net_param(net, "table", 6, 2),
                              .pos_q = at,
                              .pos_k = at,
                              .heads = 2,
                              .max_distance = 4,
                              .bidirectional = true};
    int y = cs_graph_attention(g, x, x, x, &o);
    o.lim = cs_net_index(net, rows, cs_fill_constant, 2);
    o.bidirectional = false;
    cs_net_output(net, cs_graph_attention(g, y, x, y, &o));
}

/* Nobody sees anybody: zero output, no gradient. */
static void attention_nothing(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int q = cs_net_of_table(net, rows, cs_net_still(net, "q", 15, 6));
    int k = cs_net_of_table(net, rows, cs_net_still(net, "k", 15, 6));
    int v = cs_net_of_table(net, rows, cs_net_still(net, "v", 15, 6));
    int at = cs_net_index(net, rows, cs_fill_position, 0);
    cs_attention_options o = {.vis = cs_net_index(net, rows, cs_fill_constant, 1),
                              .lim = cs_net_index(net, rows, cs_fill_constant, 0),
                              .table = cs_net_still(net, "table", 6, 2),
                              .pos_q = at,
                              .pos_k = at,
                              .heads = 2,
                              .max_distance = 4,
                              .p = 0.2};
    cs_net_output(net, cs_graph_attention(g, q, k, v, &o));
}

/* --- linear attention ------------------------------------------------------------------------- */

typedef struct {
    int64_t rows, keys, heads;
    mask mask;
    double power;
} pooled_setting;

static void pooled(cs_tensor_net *net, const void *setting)
{
    const pooled_setting *s = setting;
    int rows = cs_net_rows(net, 3, s->rows), keys = cs_net_rows(net, 3, s->keys);
    int q = cs_net_activation(net, "q", keys, 6), k = cs_net_activation(net, "k", keys, 6);
    int v = cs_net_activation(net, "v", keys, 6);
    int vis = cs_net_index(net, keys, s->mask.vis, s->mask.vis_n);
    int lim = cs_net_index(net, rows, s->mask.lim, s->mask.lim_n);
    cs_attention_options o = {.vis = vis, .lim = lim, .heads = s->heads, .power = s->power};
    cs_net_output(net, cs_graph_linear_attention(&net->graph, q, k, v, &o));
}

static void pooled_views(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 4, 9, 3, 5);
    int qkv = cs_net_activation(net, "qkv", rows, 9);
    int at = cs_net_index(net, rows, cs_fill_position, 0);
    cs_attention_options o = {.vis = at, .lim = at, .heads = 1, .power = 2};
    cs_net_output(net, cs_graph_linear_attention(g, cs_graph_cols(g, qkv, 0, 3),
                                                 cs_graph_cols(g, qkv, 3, 3),
                                                 cs_graph_cols(g, qkv, 6, 3), &o));
}

static void pooled_shared(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_activation(net, "x", rows, 6);
    int vis = cs_net_index(net, rows, cs_fill_group, 0),
        lim = cs_net_index(net, rows, cs_fill_group, 0);
    cs_attention_options o = {.vis = vis, .lim = lim, .heads = 3, .power = 2};
    cs_net_output(net, cs_graph_linear_attention(g, x, x, x, &o));
}

/* --- losses ----------------------------------------------------------------------------------- */

static int logits(cs_tensor_net *net, int rows, int64_t cols)
{
    int x = cs_net_activation(net, "x", rows, 5), w = cs_net_param(net, "w", cols, 5);
    int b = cs_net_param(net, "b", 1, cols);
    return cs_graph_linear(&net->graph, x, w, b, CS_ACT_NONE);
}

/* Columns beyond the classes: a vocabulary padded to a round number. */
static void entropy(cs_tensor_net *net)
{
    int rows = cs_net_rows_now(net, 4, 6, 3, 5), z = logits(net, rows, 9);
    int target = cs_net_index(net, rows, cs_fill_some, 7);
    int weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    cs_net_loss(net, cs_graph_cross_entropy(&net->graph, z, 7, target, weight));
}

static void entropy_of_table(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 7), z = cs_net_activation(net, "z", rows, 67);
    int target = cs_net_index(net, rows, cs_fill_some, 67),
        weight = cs_net_input(net, rows, 1, 0, 1);
    cs_net_loss(net, cs_graph_cross_entropy(&net->graph, z, 67, target, weight));
}

/* No row has a target. */
static void entropy_nothing(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 5), weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    int z = cs_net_of_table(net, rows, cs_net_still(net, "z", 15, 4));
    int target = cs_net_index(net, rows, cs_fill_constant, -1);
    cs_net_loss(net, cs_graph_cross_entropy(&net->graph, z, 4, target, weight));
}

/* Embedding and output share their table, as language models do. */
static void entropy_tied(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows(net, 3, 5);
    int table = cs_net_param(net, "table", 9, 6), ids = cs_net_index(net, rows, cs_fill_some, 9);
    int x = cs_graph_embed(g, CS_NONE, rows, 1, &table, &ids);
    int z = cs_graph_linear(g, x, table, CS_NONE, CS_ACT_NONE);
    int target = cs_net_index(net, rows, cs_fill_some, 9);
    int weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    cs_net_loss(net, cs_graph_cross_entropy(g, z, 9, target, weight));
}

static void spectral(cs_tensor_net *net, const void *setting)
{
    const double *factor = setting;
    int rows = cs_net_rows_now(net, 4, 6, 3, 5), z = logits(net, rows, 9);
    int target = cs_net_index(net, rows, cs_fill_some, 7);
    int weight = cs_net_input(net, rows, 1, 0, 1), mass = cs_net_input(net, CS_NONE, 7, 0, 0.5);
    cs_net_loss(net, cs_graph_spectral_loss(&net->graph, z, 7, target, weight, mass, *factor));
}

static void squared(cs_tensor_net *net, const void *soft)
{
    int rows = cs_net_rows_now(net, 4, 6, 3, 5), z = logits(net, rows, 7);
    int goal = cs_net_input(net, rows, 7, -0.3, 1.0), weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    cs_net_loss(net, soft ? cs_graph_soft_cross_entropy(&net->graph, z, goal, weight)
                          : cs_graph_squared_error(&net->graph, z, goal, weight));
}

/* --- together --------------------------------------------------------------------------------- */

/* A pre-LN block of a language model with two losses and dropout everywhere. */
static void block(cs_tensor_net *net)
{
    cs_graph *g = &net->graph;
    int rows = cs_net_rows_now(net, 4, 9, 3, 5), s = CS_NONE;
    int table = cs_net_param(net, "table", 9, 6), place = cs_net_param(net, "place", 9, 6);
    int tables[] = {table, place};
    int at = cs_net_index(net, rows, cs_fill_position, 0);
    int index[] = {cs_net_index(net, rows, cs_fill_some, 9), at};
    int gain = cs_net_param(net, "gain", 1, 6), bias = cs_net_param(net, "bias", 1, 6);
    int x = cs_graph_add(g, CS_NONE, cs_graph_embed(g, CS_NONE, rows, 2, tables, index), 0.1);
    int n = cs_graph_layer_norm(g, x, CS_NONE, 0, affine(gain, bias), NULL);
    int qkv = cs_graph_linear(g, n, cs_net_param(net, "qkv", 18, 6), CS_NONE, CS_ACT_NONE);
    cs_attention_options o = {.vis = at,
                              .lim = at,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = 2,
                              .p = 0.1};
    int a = cs_graph_attention(g, cs_graph_cols(g, qkv, 0, 6), cs_graph_cols(g, qkv, 6, 6),
                               cs_graph_cols(g, qkv, 12, 6), &o);
    int n2 = cs_graph_layer_norm(g, x, a, 0.1, affine(gain, bias), &s);
    int f = cs_graph_linear(g, n2, cs_net_param(net, "up", 11, 6), cs_net_param(net, "c", 1, 11),
                            CS_ACT_GELU_TANH);
    int d = cs_graph_linear(g, f, cs_net_param(net, "down", 6, 11), CS_NONE, CS_ACT_NONE);
    int last = cs_graph_layer_norm(g, s, d, 0.1, affine(gain, bias), NULL);
    int weight = cs_net_input(net, rows, 1, 0.0, 1.0);
    int z = cs_graph_linear(g, last, table, CS_NONE, CS_ACT_NONE);
    int target = cs_net_index(net, rows, cs_fill_some, 9);
    cs_net_loss(net, cs_graph_cross_entropy(g, z, 9, target, weight));
    int r = cs_graph_linear(g, last, cs_net_param(net, "w", 3, 6), CS_NONE, CS_ACT_TANH);
    cs_net_loss(net, cs_graph_squared_error(g, r, cs_net_input(net, rows, 3, -1.0, 1.0), weight));
}

/* Settings in the order of their structs. */
const cs_tensor_case cs_tensor_cases[] = {
    {"linear", NULL, linear, &(const linear_setting){3, 5, 6, 7, false, CS_ACT_NONE}},
    {"linear, bias", NULL, linear, &(const linear_setting){3, 7, 5, 9, true, CS_ACT_NONE}},
    {"linear, GELU by tanh", NULL, linear,
     &(const linear_setting){3, 5, 6, 7, true, CS_ACT_GELU_TANH}},
    {"linear, GELU by erf", NULL, linear,
     &(const linear_setting){3, 5, 3, 7, true, CS_ACT_GELU_ERF}},
    {"linear, ReLU", NULL, linear, &(const linear_setting){3, 5, 6, 7, true, CS_ACT_RELU}},
    {"linear, tanh", NULL, linear, &(const linear_setting){3, 5, 2, 7, false, CS_ACT_TANH}},
    {"linear, one row", NULL, linear, &(const linear_setting){1, 1, 6, 5, true, CS_ACT_GELU_TANH}},
    {"linear, one column", NULL, linear,
     &(const linear_setting){3, 5, 1, 1, true, CS_ACT_GELU_ERF}},
    {"linear, wide", NULL, linear, &(const linear_setting){3, 7, 67, 35, true, CS_ACT_GELU_TANH}},
    {"linear, less than the largest size", linear_smaller, NULL, NULL},
    {"linear, shared operands", linear_shared, NULL, NULL},
    {"linear, columns", linear_views, NULL, NULL},
    {"linear, frozen", linear_frozen, NULL, NULL},
    {"embed", embed_one, NULL, NULL},
    {"embed, four tables", embed_many, NULL, NULL},
    {"embed, given rows", embed_given, NULL, NULL},
    {"gather", gather, NULL, NULL},
    {"gather, shared", gather_shared, NULL, NULL},
    {"gather, nothing", gather_nothing, NULL, NULL},
    {"add, dropout", add_dropped, NULL, NULL},
    {"add, dropout alone", add_nothing, NULL, NULL},
    {"add, to itself", add_itself, NULL, NULL},
    {"layer norm", norm, NULL, NULL},
    {"layer norm, wide", norm_wide, NULL, NULL},
    {"layer norm, one column", norm_one_column, NULL, NULL},
    {"layer norm with another reader", norm_and_reader, NULL, NULL},
    {"layer norm, residual", norm_residual, NULL, NULL},
    {"layer norm, stream", norm_stream, NULL, NULL},
    {"layer norm, columns of the sum", norm_views, NULL, NULL},
    {"layer norm, frozen", norm_frozen, NULL, NULL},
    {"attention, causal", NULL, attention,
     &(const attention_setting){3, 5, 5, 2, 3, CAUSAL, 0, 0, 0, false}},
    {"attention, strictly causal", NULL, attention,
     &(const attention_setting){3, 5, 5, 3, 5, BEFORE, 0, 0, 0, false}},
    {"attention, cross", NULL, attention,
     &(const attention_setting){3, 5, 7, 2, 3, ALL, 0, 0.7, 0, false}},
    {"attention, cross with padding", NULL, attention,
     &(const attention_setting){3, 7, 5, 1, 1, PADDED_KEYS, 0, 0, 0, false}},
    {"attention, padding", NULL, attention,
     &(const attention_setting){3, 7, 7, 2, 3, PADDED, 0, 0, 0, false}},
    {"attention, content stream", NULL, attention,
     &(const attention_setting){3, 7, 7, 1, 5, CONTENT, 0, 0, 0, false}},
    {"attention, query stream", NULL, attention,
     &(const attention_setting){3, 7, 7, 2, 3, QUERY, 0, 0, 0, false}},
    {"attention, dropout", NULL, attention,
     &(const attention_setting){3, 5, 7, 2, 3, ALL, 0.3, 0, 0, false}},
    {"attention, query stream, dropout, relative", NULL, attention,
     &(const attention_setting){3, 7, 7, 3, 1, QUERY, 0.5, 0, 8, true}},
    {"attention, relative", NULL, attention,
     &(const attention_setting){3, 7, 7, 2, 3, PADDED_KEYS, 0, 0, 8, true}},
    {"attention, relative causal", NULL, attention,
     &(const attention_setting){3, 7, 7, 2, 3, CAUSAL, 0, 0, 4, false}},
    {"attention, long", NULL, attention,
     &(const attention_setting){1, 67, 67, 1, 3, CAUSAL, 0.1, 0, 0, false}},
    {"attention, wide head", NULL, attention,
     &(const attention_setting){2, 5, 9, 1, 37, ALL, 0, 0, 0, false}},
    {"attention, columns", attention_views, NULL, NULL},
    {"attention, shared", attention_shared, NULL, NULL},
    {"attention, nothing seen", attention_nothing, NULL, NULL},
    {"linear attention, sum", NULL, pooled, &(const pooled_setting){5, 7, 2, CAUSAL, 0}},
    {"linear attention, mean", NULL, pooled, &(const pooled_setting){7, 5, 1, PADDED_KEYS, 2}},
    {"linear attention, one row", NULL, pooled, &(const pooled_setting){1, 7, 6, CONTENT, 2}},
    {"linear attention, empty rows", NULL, pooled, &(const pooled_setting){7, 7, 2, QUERY, 1.5}},
    {"linear attention, columns", pooled_views, NULL, NULL},
    {"linear attention, shared", pooled_shared, NULL, NULL},
    {"cross-entropy", entropy, NULL, NULL},
    {"cross-entropy, of a table", entropy_of_table, NULL, NULL},
    {"cross-entropy, no target", entropy_nothing, NULL, NULL},
    {"cross-entropy, tied", entropy_tied, NULL, NULL},
    {"spectral loss, printed", NULL, spectral, &(const double){1}},
    {"spectral loss, corrected", NULL, spectral, &(const double){2}},
    {"soft cross-entropy", NULL, squared, ""},
    {"squared error", NULL, squared, NULL},
    {"a block", block, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
