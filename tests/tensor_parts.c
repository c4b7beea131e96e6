/* Cases of the operations and options that present-day architectures add, which not every backend
 * has: norms by the root mean square and by parts of a row, rotary positions, gates, windows, grouped
 * queries, caps and slopes of scores, vectors of distances. */
#include "tensor_support.h"

typedef struct {
    int64_t width, groups;
    bool rms, residual;
    bool each; /* part has separate gains */
} norm_setting;

static void norm(cs_tensor_net *net, const void *setting)
{
    const norm_setting *s = setting;
    int rows = cs_net_rows_now(net, 4, 6, 3, 5);
    int x = cs_net_activation(net, "x", rows, s->width * s->groups);
    int r = s->residual ? cs_net_activation(net, "r", rows, s->width * s->groups) : CS_NONE;
    const int64_t gains = s->width * (s->each ? s->groups : 1);
    const cs_norm norm = {.gain = cs_net_param(net, "gain", 1, gains),
                          .bias = s->rms ? CS_NONE : cs_net_param(net, "bias", 1, gains),
                          .eps = 1e-3,
                          .rms = s->rms,
                          .each = s->each,
                          .groups = s->groups};
    cs_net_output(net, cs_graph_layer_norm(&net->graph, x, r, s->residual ? 0.3 : 0, norm, NULL));
}

typedef struct {
    int64_t heads, width, pairs;
    int first; /* position of the first row; -1: before the start */
    bool neighbours;
    bool longer, table; /* than 4 rows, some sequences: by a base, by a table */
} rotate_setting;

static void rotate(cs_tensor_net *net, const void *setting)
{
    const rotate_setting *s = setting;
    int rows = cs_net_rows_now(net, 4, 6, 3, 5);
    int x = cs_net_activation(net, "x", rows, s->heads * s->width);
    const cs_rotation o = {
        .position = cs_net_index(net, rows, cs_fill_position, s->first),
        .frequency = cs_net_frozen(net, "frequency", 1, s->pairs * (s->table ? 2 : 1)),
        .longer = {.original = s->longer ? 4 : 0, .base = 50, .stretch = 3, .table = s->table},
        .heads = s->heads,
        .factor = s->neighbours ? 1.5 : 0,
        .pairs = s->neighbours};
    cs_net_output(net, cs_graph_rotate(&net->graph, x, &o));
}

typedef struct {
    cs_activation act;
    bool gated;
} gate_setting;

static void gate(cs_tensor_net *net, const void *setting)
{
    const gate_setting *s = setting;
    int rows = cs_net_rows_now(net, 4, 6, 3, 5);
    int x = cs_net_activation(net, "x", rows, s->gated ? 10 : 5);
    int a = s->gated ? cs_graph_cols(&net->graph, x, 0, 5) : x;
    int g = s->gated ? cs_graph_cols(&net->graph, x, 5, 5) : CS_NONE;
    cs_net_output(net, cs_graph_gate(&net->graph, a, g, s->act, 0.75, 1.5));
}

typedef struct {
    int64_t size;
    int ahead; /* of their rows' places: the last rows see keys, and none within the window */
} window_setting;

/* Rows that see as far back as the window; without a first key for some of them. */
static void window(cs_tensor_net *net, const void *setting)
{
    const window_setting *s = setting;
    int rows = cs_net_rows_now(net, 3, 9, 2, 7);
    int q = cs_net_activation(net, "q", rows, 6), k = cs_net_activation(net, "k", rows, 6);
    const cs_attention_options o = {.vis = cs_net_index(net, rows, cs_fill_position, 0),
                                    .lim = cs_net_index(net, rows, cs_fill_position, 2 * s->ahead),
                                    .table = CS_NONE,
                                    .pos_q = cs_net_index(net, rows, cs_fill_position, s->ahead),
                                    .pos_k = cs_net_index(net, rows, cs_fill_position, 0),
                                    .heads = 2,
                                    .window = s->size};
    cs_net_output(net,
                  cs_graph_attention(&net->graph, q, k, cs_net_activation(net, "v", rows, 6), &o));
}

/* Three of six heads read each of two heads of keys, or all one. */
static void grouped(cs_tensor_net *net, const void *setting)
{
    const int64_t *kv_heads = setting;
    int rows = cs_net_rows_now(net, 3, 9, 2, 7);
    int q = cs_net_activation(net, "q", rows, 18);
    int k = cs_net_activation(net, "k", rows, 3 * *kv_heads),
        v = cs_net_activation(net, "v", rows, 3 * *kv_heads);
    const cs_attention_options o = {.vis = cs_net_index(net, rows, cs_fill_position, 0),
                                    .lim = cs_net_index(net, rows, cs_fill_position, 0),
                                    .table = CS_NONE,
                                    .pos_q = CS_NONE,
                                    .pos_k = CS_NONE,
                                    .heads = 6,
                                    .kv_heads = *kv_heads};
    cs_net_output(net, cs_graph_attention(&net->graph, q, k, v, &o));
}

typedef struct {
    double cap, p;
    int64_t kv_heads, window;
    bool slopes, relative, plane;
} score_setting;

/* Scores through a cap, decreasing with the distance, or both with relative positions. */
static void scores(cs_tensor_net *net, const void *setting)
{
    const score_setting *s = setting;
    int rows = cs_net_rows_now(net, 3, 9, 2, 7);
    int q = cs_net_activation(net, "q", rows, 18);
    int k = cs_net_activation(net, "k", rows, 3 * s->kv_heads),
        v = cs_net_activation(net, "v", rows, 3 * s->kv_heads);
    const int at = cs_net_index(net, rows, cs_fill_position, 0);
    const cs_attention_options o = {.vis = at,
                                    .lim = at,
                                    .table = s->slopes     ? cs_net_frozen(net, "slope", 1, 6)
                                             : s->relative ? cs_net_param(net, "table", 4, 6)
                                             : s->plane    ? cs_net_param(net, "table", 8, 6)
                                                           : CS_NONE,
                                    .pos_q = at,
                                    .pos_k = at,
                                    .heads = 6,
                                    .kv_heads = s->kv_heads,
                                    .window = s->window,
                                    .cap = s->cap,
                                    .slopes = s->slopes,
                                    .max_distance = s->relative ? 3 : 0,
                                    .p = s->p};
    cs_net_output(net, cs_graph_attention(&net->graph, q, k, v, &o));
}

typedef struct {
    int64_t vectors, kv_heads, buckets;
    bool made, shared, keys, queries;
    double cap, p, scale;
} place_setting;

/* Scores by vectors of distances -6 .. 6. The table has all of them, fewer (the last also serve
 * larger distances) or some by the logarithm; parameters or made by what comes before, of each head
 * or one. */
static void places(cs_tensor_net *net, const void *setting)
{
    const place_setting *s = setting;
    int rows = cs_net_rows_now(net, 3, 9, 2, 7);
    int q = cs_net_activation(net, "q", rows, 18);
    int k = cs_net_activation(net, "k", rows, 3 * s->kv_heads),
        v = cs_net_activation(net, "v", rows, 3 * s->kv_heads);
    int places = s->made ? cs_net_rows_now(net, 1, s->vectors + 2, 1, s->vectors) : CS_NONE;
    const int64_t cols = s->shared ? 3 : 18;
    int of_q = !s->keys  ? CS_NONE
               : s->made ? cs_net_activation(net, "place k", places, cols)
                         : cs_net_param(net, "place k", s->vectors, cols);
    int of_k = !s->queries ? CS_NONE
               : s->shared ? of_q
               : s->made   ? cs_net_activation(net, "place q", places, cols)
                           : cs_net_param(net, "place q", s->vectors, cols);
    const int at = cs_net_index(net, rows, cs_fill_position, 0);
    const cs_attention_options o = {.vis = at,
                                    .lim = cs_net_index(net, rows, cs_fill_position, 2),
                                    .table = CS_NONE,
                                    .pos_q = at,
                                    .pos_k = at,
                                    .heads = 6,
                                    .kv_heads = s->kv_heads,
                                    .cap = s->cap,
                                    .places = true,
                                    .place_k = of_q,
                                    .place_q = of_k,
                                    .place_scale = s->scale,
                                    .buckets = s->buckets,
                                    .max_distance = s->buckets > 0 ? 7 : 0,
                                    .p = s->p};
    cs_net_output(net, cs_graph_attention(&net->graph, q, k, v, &o));
}

static void silu(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 3, 5);
    int x = cs_net_activation(net, "x", rows, 6), w = cs_net_param(net, "w", 7, 6);
    cs_net_output(net, cs_graph_linear(&net->graph, x, w, CS_NONE, CS_ACT_SILU));
}

const cs_tensor_case cs_tensor_part_cases[] = {
    {"linear, SiLU", silu, NULL, NULL},
    {"norm by the root mean square", NULL, norm, &(const norm_setting){7, 1, true, false, false}},
    {"norm by the root mean square, residual", NULL, norm,
     &(const norm_setting){6, 1, true, true, false}},
    {"norm of parts", NULL, norm, &(const norm_setting){3, 2, false, false, false}},
    {"norm of parts by the root mean square", NULL, norm,
     &(const norm_setting){5, 3, true, true, false}},
    {"norm of parts, each with its gains", NULL, norm,
     &(const norm_setting){4, 3, false, true, true}},
    {"rotate", NULL, rotate, &(const rotate_setting){2, 6, 3, 0, false, false, false}},
    {"rotate, part of a head", NULL, rotate,
     &(const rotate_setting){3, 5, 2, 2, false, false, false}},
    {"rotate, neighbours", NULL, rotate, &(const rotate_setting){2, 6, 2, -1, true, false, false}},
    {"rotate, longer sequences by a base", NULL, rotate,
     &(const rotate_setting){2, 6, 3, 0, false, true, false}},
    {"rotate, longer sequences by a table", NULL, rotate,
     &(const rotate_setting){2, 6, 3, 1, true, true, true}},
    {"gate, SiLU", NULL, gate, &(const gate_setting){CS_ACT_SILU, true}},
    {"gate, squared ReLU", NULL, gate, &(const gate_setting){CS_ACT_RELU2, true}},
    {"gate, quick GELU", NULL, gate, &(const gate_setting){CS_ACT_QUICK_GELU, true}},
    {"gate, GELU by tanh", NULL, gate, &(const gate_setting){CS_ACT_GELU_TANH, true}},
    {"gate, none", NULL, gate, &(const gate_setting){CS_ACT_NONE, true}},
    {"gate of one", NULL, gate, &(const gate_setting){CS_ACT_TANH, false}},
    {"attention, window of 1", NULL, window, &(const window_setting){2, 0}},
    {"attention, window", NULL, window, &(const window_setting){3, 0}},
    {"attention, window, rows without keys", NULL, window, &(const window_setting){3, 4}},
    {"attention, grouped queries", NULL, grouped, &(const int64_t){2}},
    {"attention, one head of keys", NULL, grouped, &(const int64_t){1}},
    {"attention, capped", NULL, scores, &(const score_setting){.cap = 0.5, .kv_heads = 6}},
    {"attention, capped, grouped, window, dropout", NULL, scores,
     &(const score_setting){.cap = 0.7, .p = 0.2, .kv_heads = 2, .window = 3}},
    {"attention, capped, relative", NULL, scores,
     &(const score_setting){.cap = 0.5, .kv_heads = 3, .relative = true}},
    {"attention, distances in a plane", NULL, scores,
     &(const score_setting){.kv_heads = 6, .plane = true}},
    {"attention, slopes", NULL, scores, &(const score_setting){.kv_heads = 6, .slopes = true}},
    {"attention, slopes, dropout", NULL, scores,
     &(const score_setting){.p = 0.2, .kv_heads = 2, .slopes = true}},
    {"attention, distances of keys", NULL, places,
     &(const place_setting){.vectors = 13, .kv_heads = 6, .keys = true}},
    {"attention, distances of queries, few", NULL, places,
     &(const place_setting){.vectors = 6, .kv_heads = 2, .queries = true}},
    {"attention, distances made, both", NULL, places,
     &(const place_setting){
         .vectors = 9, .kv_heads = 6, .made = true, .keys = true, .queries = true}},
    {"attention, distances made, by logarithm, capped, dropout", NULL, places,
     &(const place_setting){.vectors = 8,
                            .kv_heads = 6,
                            .buckets = 4,
                            .made = true,
                            .keys = true,
                            .queries = true,
                            .cap = 0.7,
                            .p = 0.2}},
    {"attention, one table of distances for all heads, twice", NULL, places,
     &(const place_setting){
         .vectors = 13, .kv_heads = 3, .shared = true, .keys = true, .queries = true}},
    {"attention, distances of another scale", NULL, places,
     &(const place_setting){
         .vectors = 13, .kv_heads = 6, .shared = true, .keys = true, .scale = 1}},
    {NULL, NULL, NULL, NULL},
};
