/* A network as a static list of operations.
 *
 * The model emits operations once (cs_graph_linear, ...); cs_graph_finish sizes every arena by a
 * dry run, so that a step allocates nothing. A run (tensor/run.h) walks the list forward, and
 * backward in reverse. The operations below are all there are; each backend (tensor/backend.h) has
 * a forward and a backward function for each. tests/backend_ref.c is their specification in code.
 *
 * A tensor is a matrix, row-major, whose rows belong to a *row set*: `batch` sequences of `length`
 * rows, row b * length + i (batches may be smaller and sequences shorter from step to step, within
 * the maximum given here). Parameters have a fixed number of rows. A view is a range of columns or
 * (parameters) of rows of another tensor.
 *
 * Letters: R rows, H heads, hd = cols / H width of a head, V classes. A tensor id is >= 0; where an
 * operand is optional, CS_NONE. Emitters return the id of their output; the first bad call (shapes
 * that do not fit, memory) is kept and returned by cs_graph_finish, so that a network reads like
 * its equations.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { CS_NONE = -1, CS_EMBED_TABLES = 4, CS_MOST_OPERANDS = 6 };

/* The space of a tensor; each space is one block of memory. */
typedef enum {
    CS_SPACE_PARAM,      /* parameters: float (double in the double backend) */
    CS_SPACE_ACTIVATION, /* output of layers: the backend's real type */
    CS_SPACE_STATISTIC,  /* row statistics, losses: float (double in the double backend) */
    CS_SPACE_INDEX,      /* int32 inputs built on the host: ids, positions, masks, targets */
    CS_SPACE_INPUT,      /* real inputs built on the host: loss weights, regression targets */
    CS_SPACE_COUNT,
} cs_tensor_space;

typedef struct {
    int64_t batch, length; /* maxima; the run holds the present values */
} cs_row_set;

typedef struct {
    cs_tensor_space space;
    int row_set;  /* index into cs_graph.row_set, CS_NONE: fixed rows */
    int64_t rows; /* maximum (batch * length), or the fixed number */
    int64_t cols;
    int64_t ld; /* items from one row to the next; >= cols (logits of a loss: a multiple of 8) */
    int64_t offset; /* first item in its space, set by cs_graph_finish */
    int64_t made;   /* number of the operation that computes it; 0 for a leaf */
    /* First item of its gradient in the gradient space (activations) or the parameter gradients;
     * -1: it has none. The gradient has the tensor's ld. */
    int64_t grad;
    int parent;         /* the tensor this is a view of, else CS_NONE */
    int64_t shift;      /* of a view: items from the parent's first */
    bool keep;          /* readable after forward in a graph without training */
    bool wants_grad;    /* a gradient reaches a parameter through it */
    bool grad_in_place; /* logits: the loss writes their gradient over them */
    const char *name;   /* parameters: borrowed from the model; else a word for messages */
} cs_tensor;

/* An operand whose gradient backward computes. */
typedef struct {
    int tensor; /* CS_NONE: absent */
    bool grad;  /* backward computes its gradient */
    bool add;   /* adds to the existing gradient; else overwrites it */
} cs_operand;

/* The operations: X(kind, name of its functions, operands, which are first in its struct). */
#define CS_EACH_OP(X)                                                                              \
    X(LINEAR, linear, 3)                                                                           \
    X(EMBED, embed, 1 + CS_EMBED_TABLES)                                                           \
    X(GATHER, gather, 1)                                                                           \
    X(ADD, add, 2)                                                                                 \
    X(LAYER_NORM, layer_norm, 4)                                                                   \
    X(ROTATE, rotate, 2)                                                                           \
    X(GATE, gate, 2)                                                                               \
    X(EXPERTS, experts, 4)                                                                         \
    X(ATTENTION, attention, 6)                                                                     \
    X(LINEAR_ATTENTION, linear_attention, 4)                                                       \
    X(CROSS_ENTROPY, cross_entropy, 1)                                                             \
    X(SPECTRAL_LOSS, spectral_loss, 1)                                                             \
    X(SOFT_CROSS_ENTROPY, soft_cross_entropy, 1)                                                   \
    X(SQUARED_ERROR, squared_error, 1)

#define CS_OP_KIND(KIND, name, operands) CS_OP_##KIND,
typedef enum { CS_EACH_OP(CS_OP_KIND) CS_OP_COUNT } cs_op_kind;

typedef enum {
    CS_ACT_NONE,
    CS_ACT_GELU_TANH,
    CS_ACT_GELU_ERF,
    CS_ACT_RELU,
    CS_ACT_TANH,
    CS_ACT_SILU,      /* z / (1 + exp(-z)) */
    CS_ACT_RELU2,     /* max(z, 0)^2 */
    CS_ACT_QUICK_GELU /* z / (1 + exp(-1.702 z)) */
} cs_activation;

/* --- definition of each operation; t' is the gradient of the loss by t --------------------------
 */

/* y[r,o] = act(z[r,o]), z[r,o] = sum_i x[r,i] w[o,i] + b[o].   x: R x I, w: O x I, b: 1 x O or
 * none. z is kept in training where act is not none (else CS_NONE). Backward: z' = y' act'(z),
 * x' = z' w, w' += z'^T x, b' += sum_r z'. May destroy y'. */
typedef struct {
    cs_operand x, w, b;
    int z, y;
    cs_activation act;
} cs_op_linear;

/* y[r] = x[r] + sum_t table_t[index_t[r]], a negative index adds nothing; x optional. A table is a
 * parameter, or an input: rows of real numbers, which take no gradient.
 * Backward: x' = y', table_t'[index_t[r]] += y'[r], rows in rising order. */
typedef struct {
    cs_operand x, table[CS_EMBED_TABLES];
    int index[CS_EMBED_TABLES]; /* R x 1; CS_NONE beyond the last */
    int y;
} cs_op_embed;

/* y[r] = x[index[r]], zero where the index is negative. index: R(y) x 1, rows of x as they lie now.
 * Backward: x'[index[r]] += y'[r], rows in rising order; x' is zeroed first unless x.add. */
typedef struct {
    cs_operand x;
    int index, y;
} cs_op_gather;

/* y = a + drop_p(b); a optional. drop_p(b) = b keep / (1 - p), see tensor/dropout.h: the item's row
 * is r of the whole matrix, its operation this one's place in the list. Without training p is 0. */
typedef struct {
    cs_operand a, b;
    int y;
    double p;
} cs_op_add;

/* s = x + drop_p(r), y = (s - mean(s)) / sqrt(var(s) + eps) * gain + bias, by rows (var is the mean
 * square deviation). r optional: then s is x itself (s == CS_NONE). bias optional. `mean` and
 * `rstd` are kept. rms: mean is 0, so that var is the mean square (Zhang and Sennrich 2019).
 * groups: each of this number of equal parts of a row is normalised separately, with one gain (and
 * bias) of the width of a part, or with one of the width of a row, whose parts differ. Backward: s' = (gradient of y through the norm) + (s' that later
 * operations left, where s_used), x' = s', r' = s' keep / (1 - p), gain' and bias' += sums over
 * rows. */
typedef struct {
    cs_operand x, r, gain, bias;
    int s, y;
    int mean, rstd; /* statistics, R x groups */
    bool s_used;    /* operations after this one left a gradient at s */
    bool rms;
    int64_t groups;
    double eps, p;
} cs_op_layer_norm;

/* Sequences of N rows (the largest position + 1) beyond `original` (0: none) have the frequencies of
 * the second half of the table, or those of the base base (stretch N / original - stretch + 1)^(n /
 * (n - 1)), n the pairs that turn (dynamic NTK). */
typedef struct {
    double original, base, stretch;
    bool table;
} cs_rotate_longer;

/* Rotary positions (Su et al. 2021). In each of `heads` equal parts of a row the first 2n columns
 * turn, n the columns of `frequency` (a parameter of one row): with the angle t = frequency[i] p of
 * position p, in double,
 *   y[a] = factor (x[a] cos t - x[b] sin t),  y[b] = factor (x[b] cos t + x[a] sin t)
 * for (a, b) = (i, i + n), with `pairs` (2i, 2i + 1). The other columns are copied. A row of negative
 * position is copied. Backward: the same with -t. longer: other frequencies (tensor/rotate.h). */
typedef struct {
    cs_operand x, frequency;
    int position, y;
    int64_t heads;
    double factor;
    bool pairs;
    cs_rotate_longer longer;
} cs_op_rotate;

/* y = outer act(inner x) g, item by item; g optional (1). Backward: x' = outer inner act'(inner x) g
 * y', g' = outer act(inner x) y'. */
typedef struct {
    cs_operand x, g;
    int y;
    cs_activation act;
    double inner, outer;
} cs_op_gate;

/* Mixture of experts (Shazeer et al. 2017), in graphs without training. Of E gated mlps each row goes
 * through the C = `chosen` with the largest p = softmax(scores[r]), of equal ones the first:
 *   y[r] = sum_e w_e out_e (act(a) b), a and b the halves of in_e x[r],
 * w_e = p_e, if `normalised` over the sum of the C. x, y: R x I; scores: R x E; in: E times 2 U x I,
 * out: E times I x U, one below the other. */
typedef struct {
    cs_operand x, scores, in, out;
    int y;
    int64_t chosen;
    cs_activation act;
    bool normalised;
} cs_op_experts;

/* Softmax attention by rank masks, within each sequence of the batch, for each head h: y[i] = sum_j
 * a[i,j] v[j], a[i,.] = drop_p(softmax_j(scale q[i].k[j] + table[bucket(i,j), h])) over the keys j
 * with vis[j] <= lim[i] and, with a window, |pos_k[j] - pos_q[i]| < window. A row that sees no key
 * gives zero and passes no gradient. q, y: Rq x H hd; k, v: Rk x K hd, row sets of equal batch;
 * head h reads keys and values h K / H (grouped queries: Ainslie et al. 2023). cap: scale q.k is
 * cap tanh(scale q.k / cap). vis: Rk x 1; lim: Rq x 1. `lse` is kept: log sum exp of the row and
 * head, -infinity for a row that sees nothing (statistic, Rq x H). Relative positions (optional):
 * table B x H, bucket(pos_k[j] - pos_q[i]) by cs_relative_bucket (tensor/relative.h); with `slopes`
 * table is 1 x H and its term (pos_k[j] - pos_q[i]) table[h] (ALiBi: Press et al. 2022; the table
 * has no gradient). Vectors of distances (Shaw et al. 2018; DeBERTa: He et al. 2021), either
 * optional: place_scale (q[i].place_k[d] + k[j].place_q[d]) is added before the cap, of parameters
 * or activations of R rows, one for each head (concatenated) or one for all, d = floor(R / 2) +
 * cs_log_bucket(pos_q[i] - pos_k[j], buckets, max_distance) within 0 .. R - 1. One tensor of R x 2 H
 * hd as both has of each head its place_q before its place_k. */
typedef struct {
    cs_operand q, k, v, table, place_k, place_q;
    int vis, lim, pos_q, pos_k; /* positions CS_NONE without a table and a window */
    int lse, sum, y;            /* CS_NONE: not of this operation */
    int64_t heads, kv_heads;
    int64_t window; /* 0: none */
    double cap;     /* 0: none */
    bool slopes;
    int64_t buckets; /* of cs_log_bucket */
    int64_t max_distance;
    bool bidirectional; /* of the buckets */
    double scale, place_scale, p;
    double power; /* of linear attention, below */
} cs_op_attention;

/* Linear attention: Q K^T V pooled over its rows, of the set of keys that a row sees (theory: Theorem
 * 4.3). For each head, S(i) = {j : vis[j] <= lim[i]}, n = |S(i)|:
 *   y[i] = n^-power sum_{u in S(i)} sum_{v in S(i)} (q[u].k[v]) v[v],     0 for n = 0.
 * q, k, v: Rk x H hd; y: Ry x H hd. power 0: sum; 2: mean. `sum` is kept: sum of the q[u] seen
 * (statistic, Ry x H hd). Its fields are among those above. */

/* The losses by rows, over the first `classes` columns of z; 0 for a negative target. weight: input
 * R x 1. (Reported losses divide by the weights; the weights of a step sum to 1.) `lse`, `loss`:
 * statistics, R x 1. Backward writes z' over z, 0 beyond the classes.
 *   cross-entropy: loss[r] = -weight[r] log softmax(z[r])[target[r]]; lse is kept, 0 for a negative
 *   target;
 *   of soft targets: loss[r] = weight[r] (log sum_c exp z[r][c] - sum_c goal[r][c] z[r][c]) over all
 *   columns, the cross-entropy where the row of the goal sums to 1; goal: input R x C; lse is kept;
 *   spectral loss (LA Eq. 1): loss[r] = weight[r] (-factor z[r][target[r]] + sum_j goal[j]
 *   z[r][j]^2); goal: input 1 x classes, the target distribution P_G; factor 1 as printed, 2 as
 *   corrected;
 *   squared error: loss[r] = weight[r] sum_c (z[r][c] - goal[r][c])^2 over all columns; goal: input
 *   R x C. */
typedef struct {
    cs_operand z;
    int target, weight, goal, lse, loss; /* CS_NONE: not of this loss */
    int64_t classes;
    double factor;
} cs_op_loss;

typedef struct {
    cs_op_kind kind;
    bool backward; /* some operand needs a gradient; else backward skips it */
    union {
        cs_op_linear linear;
        cs_op_embed embed;
        cs_op_gather gather;
        cs_op_add add;
        cs_op_layer_norm layer_norm;
        cs_op_rotate rotate;
        cs_op_gate gate;
        cs_op_experts experts;
        cs_op_attention attention;
        cs_op_loss loss;
        cs_operand operand[CS_MOST_OPERANDS]; /* number given by CS_EACH_OP */
    };
} cs_op;

typedef struct {
    bool training; /* gradients and dropout */
    int64_t row_sets, tensors, ops;
    int64_t row_set_capacity, tensor_capacity, op_capacity;
    cs_row_set *row_set;
    cs_tensor *tensor;
    cs_op *op;
    int64_t space_items[CS_SPACE_COUNT]; /* set by cs_graph_finish */
    int64_t grad_items;                  /* of activations */
    cs_status status;                    /* of the first bad call */
    char reason[256];
} cs_graph;

void cs_graph_init(cs_graph *graph, bool training);
void cs_graph_free(cs_graph *graph); /* accepts a zeroed object */

/* --- row sets and leaves ---------------------------------------------------------------------- */

int cs_graph_rows(cs_graph *graph, int64_t batch, int64_t length);

/* A parameter at `offset` of the parameter block (tensor/params.h). trainable false: no gradient
 * (frozen). */
int cs_graph_param(cs_graph *graph, const char *name, int64_t rows, int64_t cols, int64_t offset,
                   bool trainable);
int cs_graph_index(cs_graph *graph, int row_set, const char *name);
/* row_set CS_NONE: one row. */
int cs_graph_input(cs_graph *graph, int row_set, int64_t cols, const char *name);

/* Columns first .. first+cols-1 of an activation or parameter; rows of a parameter. Every column of
 * an activation that has views must be read through some view (or none be): its gradient is the
 * union of theirs. */
int cs_graph_cols(cs_graph *graph, int tensor, int64_t first, int64_t cols);
int cs_graph_param_rows(cs_graph *graph, int tensor, int64_t first, int64_t rows);

/* Without training, the memory of an activation is reused once its last reader has run; a kept one
 * (and one without readers) stays readable. */
void cs_graph_keep(cs_graph *graph, int tensor);

/* Calls visit for each operand that is present. */
typedef void (*cs_operand_visit)(void *ctx, cs_operand *operand);
void cs_op_operands(cs_op *op, cs_operand_visit visit, void *ctx);

/* --- operations: return y (CS_NONE after a bad call) ------------------------------------------ */

int cs_graph_linear(cs_graph *graph, int x, int w, int b, cs_activation act);
int cs_graph_embed(cs_graph *graph, int x, int row_set, int tables, const int *table,
                   const int *index);
int cs_graph_gather(cs_graph *graph, int x, int row_set, int index);
int cs_graph_add(cs_graph *graph, int a, int b, double p);
typedef struct {
    int gain, bias; /* parameters; bias: or CS_NONE */
    double eps;
    bool rms;
    int64_t groups; /* 0: one */
    bool each;      /* each part of a row has separate gains and biases */
} cs_norm;

/* *sum receives s (x itself when r is CS_NONE); NULL if it is not read again. */
int cs_graph_layer_norm(cs_graph *graph, int x, int r, double p, cs_norm norm, int *sum);
typedef struct {
    int position, frequency;
    int64_t heads;
    double factor; /* 0: 1 */
    bool pairs;
    cs_rotate_longer longer;
} cs_rotation;
int cs_graph_rotate(cs_graph *graph, int x, const cs_rotation *rotation);
/* g CS_NONE: none. */
int cs_graph_gate(cs_graph *graph, int x, int g, cs_activation act, double inner, double outer);
typedef struct {
    int scores, in, out;
    int64_t chosen;
    cs_activation act;
    bool normalised;
} cs_experts;
int cs_graph_experts(cs_graph *graph, int x, const cs_experts *experts);
typedef struct {
    int vis, lim;
    int table, pos_q, pos_k; /* CS_NONE: no relative positions */
    int64_t heads, max_distance;
    int64_t kv_heads; /* 0: heads */
    int64_t window;
    double cap;
    bool bidirectional, slopes;
    bool places;          /* vectors of distances: the next two, CS_NONE if absent */
    int place_k, place_q; /* parameters or activations of a row set of one sequence */
    int64_t buckets;
    double scale;       /* 0: 1 / sqrt(hd) */
    double place_scale; /* 0: scale */
    double p;
    double power; /* linear attention, which also uses the masks and heads */
} cs_attention_options;
int cs_graph_attention(cs_graph *graph, int q, int k, int v, const cs_attention_options *options);
int cs_graph_linear_attention(cs_graph *graph, int q, int k, int v,
                              const cs_attention_options *options);
/* Losses return the tensor of row losses. */
int cs_graph_cross_entropy(cs_graph *graph, int z, int64_t classes, int target, int weight);
int cs_graph_soft_cross_entropy(cs_graph *graph, int z, int goal, int weight);
int cs_graph_spectral_loss(cs_graph *graph, int z, int64_t classes, int target, int weight,
                           int mass, double factor);
int cs_graph_squared_error(cs_graph *graph, int z, int goal, int weight);

/* Determines gradients (which tensors need one, and which operation writes first) and places every
 * tensor; gradients of activations share memory once their last reader has run. Returns the first
 * bad call. After it the graph is constant. O(ops^2) at worst. */
cs_status cs_graph_finish(cs_graph *graph) CS_MUST_CHECK;
