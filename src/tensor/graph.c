/* Emitting operations: every emitter checks shapes, makes the outputs and appends one record.
 *
 * The first bad call is kept in the graph and later calls do nothing, so that a network is written
 * without a test after each line. Losses are in graph_loss.c, placement in memory in graph_finish.c.
 */
#include "tensor/graph_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

int cs_graph_fail(cs_graph *graph, cs_status status, const char *format, ...)
{
    if (graph->status == CS_OK) {
        va_list list;
        va_start(list, format);
        (void)vsnprintf(graph->reason, sizeof graph->reason, format, list);
        va_end(list);
        graph->status = status;
    }
    return CS_NONE;
}

/* Grows an array by one item. */
static bool grow(cs_graph *graph, void **array, int64_t used, int64_t *work, size_t size)
{
    bool grown = cs_reserve(array, work, used + 1, size) == CS_OK;
    if (!grown) {
        cs_reason_clear();
        (void)cs_graph_fail(graph, CS_ERR_MEMORY, "out of memory for a network of %lld parts",
                            (long long)used + 1);
    }
    return grown;
}

int cs_graph_rows(cs_graph *graph, int64_t batch, int64_t length)
{
    if (graph->status != CS_OK) return CS_NONE;
    if (batch < 1 || length < 1 || batch > INT32_MAX / length) {
        return cs_graph_fail(graph, CS_ERR_USAGE,
                             "a row set of %lld x %lld rows is not in 1 .. 2^31 - 1",
                             (long long)batch, (long long)length);
    }
    if (!grow(graph, (void **)&graph->row_set, graph->row_sets, &graph->row_set_capacity,
              sizeof *graph->row_set)) {
        return CS_NONE;
    }
    graph->row_set[graph->row_sets] = (cs_row_set){batch, length};
    return (int)graph->row_sets++;
}

static int new_tensor(cs_graph *graph, cs_tensor_space space, int row_set, int64_t rows,
                      int64_t cols, const char *name)
{
    if (graph->status != CS_OK) return CS_NONE;
    if (row_set != CS_NONE) {
        if (row_set < 0 || row_set >= graph->row_sets) {
            return cs_graph_fail(graph, CS_ERR_USAGE, "%s: no row set %d", name, row_set);
        }
        rows = graph->row_set[row_set].batch * graph->row_set[row_set].length;
    }
    if (rows < 1 || cols < 1 || cols > INT64_MAX / 16 / rows) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "%s: no matrix has %lld x %lld items", name,
                             (long long)rows, (long long)cols);
    }
    if (!grow(graph, (void **)&graph->tensor, graph->tensors, &graph->tensor_capacity,
              sizeof *graph->tensor)) {
        return CS_NONE;
    }
    graph->tensor[graph->tensors] = (cs_tensor){.space = space,
                                                .row_set = row_set,
                                                .rows = rows,
                                                .cols = cols,
                                                .ld = cols,
                                                .offset = -1,
                                                .grad = -1,
                                                .parent = CS_NONE,
                                                .name = name};
    return (int)graph->tensors++;
}

int cs_graph_param(cs_graph *graph, const char *name, int64_t rows, int64_t cols, int64_t offset,
                   bool trainable)
{
    int id = new_tensor(graph, CS_SPACE_PARAM, CS_NONE, rows, cols, name);
    if (id != CS_NONE) {
        graph->tensor[id].offset = offset;
        graph->tensor[id].wants_grad = trainable && graph->training;
    }
    return id;
}

int cs_graph_index(cs_graph *graph, int row_set, const char *name)
{
    return new_tensor(graph, CS_SPACE_INDEX, row_set, 1, 1, name);
}

int cs_graph_input(cs_graph *graph, int row_set, int64_t cols, const char *name)
{
    return new_tensor(graph, CS_SPACE_INPUT, row_set, 1, cols, name);
}

static int view(cs_graph *graph, int tensor, int64_t shift, int64_t rows, int64_t cols)
{
    /* equal views share one id, since gradients are stored by id */
    for (int i = 0; i < graph->tensors; ++i) {
        const cs_tensor *t = at(graph, i);
        if (t->parent == tensor && t->shift == shift && t->rows == rows && t->cols == cols) {
            return i;
        }
    }
    const cs_tensor parent = *at(graph, tensor);
    int id = new_tensor(graph, parent.space, parent.row_set, rows, cols, parent.name);
    if (id != CS_NONE) {
        cs_tensor *t = &graph->tensor[id];
        t->ld = parent.ld;
        t->parent = tensor;
        t->shift = shift;
        t->wants_grad = parent.wants_grad;
        if (parent.space == CS_SPACE_PARAM) {
            t->offset = parent.offset + shift;
        }
    }
    return id;
}

int cs_graph_cols(cs_graph *graph, int tensor, int64_t first, int64_t cols)
{
    if (graph->status != CS_OK) return CS_NONE;
    if (!is_tensor(graph, tensor) || at(graph, tensor)->parent != CS_NONE || first < 0 ||
        cols < 1 || first > at(graph, tensor)->cols - cols) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "columns %lld .. %lld of tensor %d do not exist",
                             (long long)first, (long long)(first + cols - 1), tensor);
    }
    return view(graph, tensor, first, at(graph, tensor)->rows, cols);
}

int cs_graph_param_rows(cs_graph *graph, int tensor, int64_t first, int64_t rows)
{
    if (graph->status != CS_OK) return CS_NONE;
    if (!is_tensor(graph, tensor) || at(graph, tensor)->space != CS_SPACE_PARAM ||
        at(graph, tensor)->parent != CS_NONE || first < 0 || rows < 1 ||
        first > at(graph, tensor)->rows - rows) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "rows %lld .. %lld of parameter %d do not exist",
                             (long long)first, (long long)(first + rows - 1), tensor);
    }
    return view(graph, tensor, first * at(graph, tensor)->ld, rows, at(graph, tensor)->cols);
}

void cs_graph_keep(cs_graph *graph, int tensor)
{
    if (graph->status == CS_OK && is_tensor(graph, tensor)) {
        int parent = at(graph, tensor)->parent;
        graph->tensor[parent == CS_NONE ? tensor : parent].keep = true;
    }
}

/* --- checks ----------------------------------------------------------------------------------- */

bool cs_graph_takes(cs_graph *graph, const char *what, int id, cs_tensor_space space, int row_set,
                    int64_t rows, int64_t cols)
{
    if (graph->status != CS_OK) return false;
    if (!is_tensor(graph, id) || at(graph, id)->space != space) {
        (void)cs_graph_fail(graph, CS_ERR_USAGE, "%s: tensor %d is not of its kind", what, id);
        return false;
    }
    const cs_tensor *t = at(graph, id);
    if ((row_set != CS_NONE && t->row_set != row_set) || (rows >= 0 && t->rows != rows) ||
        (cols >= 0 && t->cols != cols)) {
        (void)cs_graph_fail(graph, CS_ERR_USAGE, "%s: %s is %lld x %lld, expected %lld x %lld",
                            what, t->name ? t->name : "a tensor", (long long)t->rows,
                            (long long)t->cols, (long long)rows, (long long)cols);
        return false;
    }
    return true;
}

static bool row_vector(cs_graph *graph, const char *what, int id, int64_t cols)
{
    return id == CS_NONE || cs_graph_takes(graph, what, id, CS_SPACE_PARAM, CS_NONE, 1, cols);
}

static bool dropout(cs_graph *graph, const char *what, double p)
{
    if (!(p >= 0 && p < 1)) {
        (void)cs_graph_fail(graph, CS_ERR_USAGE, "%s: dropout %g is not in [0, 1)", what, p);
    }
    return graph->status == CS_OK;
}

/* --- appending -------------------------------------------------------------------------------- */

static bool wants_grad(const cs_graph *graph, int id)
{
    return id != CS_NONE && at(graph, id)->wants_grad;
}

static int new_activation(cs_graph *graph, int row_set, int64_t cols, const char *name, bool wants)
{
    int id = new_tensor(graph, CS_SPACE_ACTIVATION, row_set, 1, cols, name);
    if (id != CS_NONE) {
        graph->tensor[id].wants_grad = wants;
        graph->tensor[id].made = graph->ops;
    }
    return id;
}

int cs_graph_statistic(cs_graph *graph, int row_set, int64_t cols, const char *name)
{
    return new_tensor(graph, CS_SPACE_STATISTIC, row_set, 1, cols, name);
}

int cs_graph_append(cs_graph *graph, const cs_op *op, int result)
{
    if (graph->status != CS_OK ||
        !grow(graph, (void **)&graph->op, graph->ops, &graph->op_capacity, sizeof *graph->op)) {
        return CS_NONE;
    }
    graph->op[graph->ops++] = *op;
    return result;
}

typedef struct {
    const cs_graph *graph;
    bool wants;
} question;

static void ask(void *ctx, cs_operand *operand)
{
    question *q = ctx;
    q->wants = q->wants || at(q->graph, operand->tensor)->wants_grad;
}

int cs_graph_append_output(cs_graph *graph, cs_op *op, int *y, int row_set, int64_t cols,
                           const char *name)
{
    question q = {.graph = graph};
    if (graph->status == CS_OK) cs_op_operands(op, ask, &q);
    *y = new_activation(graph, row_set, cols, name, q.wants);
    return cs_graph_append(graph, op, *y);
}

int cs_graph_linear(cs_graph *graph, int x, int w, int b, cs_activation act)
{
    if (!activation(graph, "linear", x, CS_NONE, -1) ||
        !cs_graph_takes(graph, "linear", w, CS_SPACE_PARAM, CS_NONE, -1, at(graph, x)->cols) ||
        !row_vector(graph, "linear", b, at(graph, w)->rows)) {
        return CS_NONE;
    }
    int row_set = at(graph, x)->row_set;
    int64_t out = at(graph, w)->rows;
    cs_op op = {.kind = CS_OP_LINEAR,
                .linear = {.x = operand(x), .w = operand(w), .b = operand(b), .act = act}};
    op.linear.z = act != CS_ACT_NONE && graph->training
                      ? new_activation(graph, row_set, out, "linear z", false)
                      : CS_NONE;
    return cs_graph_append_output(graph, &op, &op.linear.y, row_set, out, "linear");
}

int cs_graph_embed(cs_graph *graph, int x, int row_set, int tables, const int *table,
                   const int *index)
{
    cs_op op = {.kind = CS_OP_EMBED, .embed = {.x = operand(x)}};
    int64_t cols = -1;
    if (graph->status == CS_OK && (tables < 1 || tables > CS_EMBED_TABLES))
        return cs_graph_fail(graph, CS_ERR_USAGE, "embed: %d tables", tables);
    for (int t = 0; t < CS_EMBED_TABLES; ++t) {
        op.embed.table[t] = operand(CS_NONE);
        op.embed.index[t] = CS_NONE;
        if (t < tables) {
            const bool given = is_tensor(graph, table[t]) &&
                               at(graph, table[t])->space == CS_SPACE_INPUT; /* no gradient */
            const int rows = given ? at(graph, table[t])->row_set : CS_NONE;
            if (!cs_graph_takes(graph, "embed", table[t], given ? CS_SPACE_INPUT : CS_SPACE_PARAM,
                                rows, -1, cols) ||
                !cs_graph_takes(graph, "embed", index[t], CS_SPACE_INDEX, row_set, -1, 1)) {
                return CS_NONE;
            }
            cols = at(graph, table[t])->cols;
            op.embed.table[t] = operand(table[t]);
            op.embed.index[t] = index[t];
        }
    }
    if (x != CS_NONE && !activation(graph, "embed", x, row_set, cols)) {
        return CS_NONE;
    }
    return cs_graph_append_output(graph, &op, &op.embed.y, row_set, cols, "embed");
}

int cs_graph_gather(cs_graph *graph, int x, int row_set, int index)
{
    if (!activation(graph, "gather", x, CS_NONE, -1) ||
        !cs_graph_takes(graph, "gather", index, CS_SPACE_INDEX, row_set, -1, 1)) {
        return CS_NONE;
    }
    cs_op op = {.kind = CS_OP_GATHER, .gather = {.x = operand(x), .index = index}};
    return cs_graph_append_output(graph, &op, &op.gather.y, row_set, at(graph, x)->cols, "gather");
}

int cs_graph_add(cs_graph *graph, int a, int b, double p)
{
    if (!activation(graph, "add", b, CS_NONE, -1) || !dropout(graph, "add", p) ||
        (a != CS_NONE && !activation(graph, "add", a, at(graph, b)->row_set, at(graph, b)->cols))) {
        return CS_NONE;
    }
    cs_op op = {.kind = CS_OP_ADD,
                .add = {.a = operand(a), .b = operand(b), .p = graph->training ? p : 0}};
    const cs_tensor *like = at(graph, b);
    return cs_graph_append_output(graph, &op, &op.add.y, like->row_set, like->cols, "add");
}

static bool divides(cs_graph *graph, const char *what, int64_t parts, int64_t cols)
{
    if (parts < 1 || cols % parts != 0) {
        (void)cs_graph_fail(graph, CS_ERR_USAGE, "%s: %lld heads do not divide a width of %lld",
                            what, (long long)parts, (long long)cols);
    }
    return graph->status == CS_OK;
}

int cs_graph_layer_norm(cs_graph *graph, int x, int r, double p, cs_norm norm, int *sum)
{
    if (!activation(graph, "layer norm", x, CS_NONE, -1) || !dropout(graph, "layer norm", p) ||
        (r != CS_NONE &&
         !activation(graph, "layer norm", r, at(graph, x)->row_set, at(graph, x)->cols))) {
        return CS_NONE;
    }
    const int64_t cols = at(graph, x)->cols, groups = norm.groups > 0 ? norm.groups : 1,
                  gains = norm.each ? cols : cols / groups;
    if (!divides(graph, "layer norm", groups, cols) ||
        !cs_graph_takes(graph, "layer norm", norm.gain, CS_SPACE_PARAM, CS_NONE, 1, gains) ||
        !row_vector(graph, "layer norm", norm.bias, gains)) {
        return CS_NONE;
    }
    if (!(norm.eps > 0)) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "layer norm: eps %g is not positive", norm.eps);
    }
    const int row_set = at(graph, x)->row_set;
    bool through = wants_grad(graph, x) || wants_grad(graph, r);
    cs_op op = {.kind = CS_OP_LAYER_NORM,
                .layer_norm = {.x = operand(x),
                               .r = operand(r),
                               .gain = operand(norm.gain),
                               .bias = operand(norm.bias),
                               .s = CS_NONE,
                               .rms = norm.rms,
                               .groups = groups,
                               .eps = norm.eps,
                               .p = graph->training ? p : 0}};
    if (r != CS_NONE) {
        op.layer_norm.s = new_activation(graph, row_set, cols, "residual", through);
    }
    op.layer_norm.mean = cs_graph_statistic(graph, row_set, groups, "mean");
    op.layer_norm.rstd = cs_graph_statistic(graph, row_set, groups, "rstd");
    if (sum) {
        *sum = r != CS_NONE ? op.layer_norm.s : x;
    }
    return cs_graph_append_output(graph, &op, &op.layer_norm.y, row_set, cols, "layer norm");
}

int cs_graph_rotate(cs_graph *graph, int x, const cs_rotation *o)
{
    const char *what = "rotary positions";
    if (!activation(graph, what, x, CS_NONE, -1) ||
        !divides(graph, what, o->heads, at(graph, x)->cols) ||
        !cs_graph_takes(graph, what, o->position, CS_SPACE_INDEX, at(graph, x)->row_set, -1, 1) ||
        !cs_graph_takes(graph, what, o->frequency, CS_SPACE_PARAM, CS_NONE, 1, -1)) {
        return CS_NONE;
    }
    const cs_tensor like = *at(graph, x);
    const int64_t turning = (o->longer.table ? 1 : 2) * at(graph, o->frequency)->cols;
    if (turning > like.cols / o->heads) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "%s: more columns than those of a head", what);
    }
    cs_op op = {.kind = CS_OP_ROTATE,
                .rotate = {.x = operand(x),
                           .frequency = operand(o->frequency),
                           .position = o->position,
                           .heads = o->heads,
                           .factor = o->factor == 0 ? 1 : o->factor,
                           .longer = o->longer,
                           .pairs = o->pairs}};
    return cs_graph_append_output(graph, &op, &op.rotate.y, like.row_set, like.cols, what);
}

int cs_graph_gate(cs_graph *graph, int x, int g, cs_activation act, double inner, double outer)
{
    if (!activation(graph, "gate", x, CS_NONE, -1) ||
        (g != CS_NONE &&
         !activation(graph, "gate", g, at(graph, x)->row_set, at(graph, x)->cols))) {
        return CS_NONE;
    }
    cs_op op = {
        .kind = CS_OP_GATE,
        .gate = {.x = operand(x), .g = operand(g), .act = act, .inner = inner, .outer = outer}};
    const cs_tensor like = *at(graph, x);
    return cs_graph_append_output(graph, &op, &op.gate.y, like.row_set, like.cols, "gate");
}

int cs_graph_experts(cs_graph *graph, int x, const cs_experts *o)
{
    const char *what = "experts";
    if (graph->training) {
        return cs_graph_fail(graph, CS_ERR_USAGE,
                             "mixtures of experts are not supported in training");
    }
    if (!activation(graph, what, x, CS_NONE, -1) ||
        !activation(graph, what, o->scores, at(graph, x)->row_set, -1)) {
        return CS_NONE;
    }
    const cs_tensor like = *at(graph, x);
    const int64_t experts = at(graph, o->scores)->cols;
    if (!cs_graph_takes(graph, what, o->out, CS_SPACE_PARAM, CS_NONE, experts * like.cols, -1) ||
        !cs_graph_takes(graph, what, o->in, CS_SPACE_PARAM, CS_NONE,
                        experts * 2 * at(graph, o->out)->cols, like.cols)) {
        return CS_NONE;
    }
    if (o->chosen < 1 || o->chosen > experts) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "experts: %lld chosen of %lld",
                             (long long)o->chosen, (long long)experts);
    }
    cs_op op = {.kind = CS_OP_EXPERTS,
                .experts = {.x = operand(x),
                            .scores = operand(o->scores),
                            .in = operand(o->in),
                            .out = operand(o->out),
                            .chosen = o->chosen,
                            .act = o->act,
                            .normalised = o->normalised}};
    return cs_graph_append_output(graph, &op, &op.experts.y, like.row_set, like.cols, what);
}

/* The operands of both kinds of attention: k and v of equal rows, vis by these, lim by `rows` of
 * the output, equal batches, heads that divide the width. */
static int64_t key_heads(const cs_attention_options *o)
{
    return o->kv_heads > 0 ? o->kv_heads : o->heads;
}

static bool attention_fits(cs_graph *graph, const char *what, int q, int k, int v, int rows,
                           const cs_attention_options *o)
{
    if (!divides(graph, what, o->heads, at(graph, q)->cols) ||
        !divides(graph, what, key_heads(o), o->heads)) {
        return false;
    }
    int keys = at(graph, k)->row_set;
    int64_t cols = at(graph, q)->cols, of_keys = cols / o->heads * key_heads(o);
    if (!activation(graph, what, k, keys, of_keys) || !activation(graph, what, v, keys, of_keys) ||
        !cs_graph_takes(graph, what, o->vis, CS_SPACE_INDEX, keys, -1, 1) ||
        !cs_graph_takes(graph, what, o->lim, CS_SPACE_INDEX, rows, -1, 1)) {
        return false;
    }
    if (graph->row_set[keys].batch != graph->row_set[rows].batch) {
        (void)cs_graph_fail(graph, CS_ERR_USAGE, "%s: batches of %lld and %lld sequences", what,
                            (long long)graph->row_set[keys].batch,
                            (long long)graph->row_set[rows].batch);
    }
    return graph->status == CS_OK;
}

static cs_op attention_of(cs_op_kind kind, int q, int k, int v, const cs_attention_options *o)
{
    bool table = kind == CS_OP_ATTENTION && o->table != CS_NONE;
    bool places = table || (kind == CS_OP_ATTENTION && (o->window > 0 || o->places));
    return (cs_op){.kind = kind,
                   .attention = {.q = operand(q),
                                 .k = operand(k),
                                 .v = operand(v),
                                 .table = operand(table ? o->table : CS_NONE),
                                 .vis = o->vis,
                                 .lim = o->lim,
                                 .pos_q = places ? o->pos_q : CS_NONE,
                                 .pos_k = places ? o->pos_k : CS_NONE,
                                 .lse = CS_NONE,
                                 .sum = CS_NONE,
                                 .heads = o->heads,
                                 .kv_heads = key_heads(o),
                                 .window = o->window,
                                 .cap = o->cap,
                                 .slopes = o->slopes,
                                 .place_k = operand(o->places ? o->place_k : CS_NONE),
                                 .place_q = operand(o->places ? o->place_q : CS_NONE),
                                 .buckets = o->buckets,
                                 .max_distance = o->max_distance,
                                 .bidirectional = o->bidirectional,
                                 .power = o->power}};
}

/* Vectors of distances `id`, CS_NONE: none, as many as there are of the `other`. */
static bool place_fits(cs_graph *graph, int id, int other, int64_t heads, int64_t cols)
{
    const cs_tensor *t = is_tensor(graph, id) ? at(graph, id) : NULL;
    return id == CS_NONE ||
           cs_graph_takes(graph, "distances", id,
                          t && t->row_set != CS_NONE ? CS_SPACE_ACTIVATION : CS_SPACE_PARAM,
                          CS_NONE, is_tensor(graph, other) ? at(graph, other)->rows : -1,
                          t && t->cols < cols                  ? cols / heads
                          : t && t->cols > cols && id == other ? 2 * cols
                                                               : cols);
}

int cs_graph_attention(cs_graph *graph, int q, int k, int v, const cs_attention_options *o)
{
    const char *what = "attention";
    if (!activation(graph, what, q, CS_NONE, -1) || !activation(graph, what, k, CS_NONE, -1)) {
        return CS_NONE;
    }
    int rows = at(graph, q)->row_set, keys = at(graph, k)->row_set;
    int64_t cols = at(graph, q)->cols;
    if (!attention_fits(graph, what, q, k, v, rows, o) || !dropout(graph, what, o->p) ||
        (o->table != CS_NONE && !cs_graph_takes(graph, what, o->table, CS_SPACE_PARAM, CS_NONE,
                                                o->slopes ? 1 : -1, o->heads)) ||
        ((o->table != CS_NONE || o->window > 0 || o->places) &&
         (!cs_graph_takes(graph, what, o->pos_q, CS_SPACE_INDEX, rows, -1, 1) ||
          !cs_graph_takes(graph, what, o->pos_k, CS_SPACE_INDEX, keys, -1, 1))) ||
        (o->places && (!place_fits(graph, o->place_k, o->place_q, o->heads, cols) ||
                       !place_fits(graph, o->place_q, o->place_k, o->heads, cols)))) {
        return CS_NONE;
    }
    if (graph->training && o->slopes && graph->tensor[o->table].wants_grad) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "%s: slopes have no gradient here", what);
    }
    cs_op op = attention_of(CS_OP_ATTENTION, q, k, v, o);
    op.attention.scale = o->scale == 0 ? 1 / sqrt((double)(cols / o->heads)) : o->scale;
    op.attention.place_scale = o->place_scale == 0 ? op.attention.scale : o->place_scale;
    op.attention.p = graph->training ? o->p : 0;
    op.attention.lse = cs_graph_statistic(graph, rows, o->heads, "lse");
    return cs_graph_append_output(graph, &op, &op.attention.y, rows, cols, what);
}

int cs_graph_linear_attention(cs_graph *graph, int q, int k, int v, const cs_attention_options *o)
{
    const char *what = "linear attention";
    if (!activation(graph, what, q, CS_NONE, -1) ||
        !activation(graph, what, k, at(graph, q)->row_set, -1)) {
        return CS_NONE;
    }
    if (!is_tensor(graph, o->lim)) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "%s: no tensor %d of limits", what, o->lim);
    }
    int rows = at(graph, o->lim)->row_set;
    int64_t cols = at(graph, q)->cols;
    if (!attention_fits(graph, what, q, k, v, rows, o)) {
        return CS_NONE;
    }
    cs_op op = attention_of(CS_OP_LINEAR_ATTENTION, q, k, v, o);
    op.attention.sum = cs_graph_statistic(graph, rows, cols, "sum of queries");
    return cs_graph_append_output(graph, &op, &op.attention.y, rows, cols, what);
}
