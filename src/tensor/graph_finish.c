/* The dry run: which gradients are computed, who writes each first, and where every tensor lies.
 *
 * Backward walks the operations from last to first. The last operation that reads a tensor is thus
 * the first to write its gradient and overwrites; earlier ones add. A gradient's memory is needed
 * from there to the operation that made the tensor, an activation's (without training) from that
 * operation to its last reader: both are intervals of operation numbers, and intervals that do not
 * meet share memory, first fit.
 */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "tensor/graph.h"

enum { ALIGN = 64 }; /* items: a cache line of bytes and more in every type */

void cs_graph_init(cs_graph *graph, bool training)
{
    memset(graph, 0, sizeof *graph);
    graph->training = training;
}

void cs_graph_free(cs_graph *graph)
{
    CS_FREE_FIELDS(graph, row_set, tensor, op);
    memset(graph, 0, sizeof *graph);
}

void cs_op_operands(cs_op *op, cs_operand_visit visit, void *ctx)
{
#define OPERANDS(KIND, name, operands) [CS_OP_##KIND] = (operands),
    static const int count[CS_OP_COUNT] = {CS_EACH_OP(OPERANDS)};
    for (int i = 0; i < count[op->kind]; ++i) {
        if (op->operand[i].tensor != CS_NONE) {
            visit(ctx, &op->operand[i]);
        }
    }
}

/* Per tensor: the last operation that reads it (-1: none). Of a view, the parent's entry is kept up
 * too. */
typedef struct {
    cs_graph *graph;
    int64_t op; /* the current operation */
    int64_t *read;
    uint8_t *written; /* the gradient already has its first writer */
    /* logits with another reader than their loss, which would overwrite them; CS_NONE: none */
    int shared_logits;
} dry_run;

static void note_reader(void *ctx, cs_operand *operand)
{
    dry_run *d = ctx;
    int parent = d->graph->tensor[operand->tensor].parent;
    int whole = parent != CS_NONE ? parent : operand->tensor;
    if (d->graph->tensor[whole].grad_in_place && d->read[whole] >= 0) {
        d->shared_logits = whole;
    }
    d->read[operand->tensor] = d->op;
    d->read[whole] = d->op;
}

static void note_writer(void *ctx, cs_operand *operand)
{
    dry_run *d = ctx;
    const cs_tensor *t = &d->graph->tensor[operand->tensor];
    operand->grad = t->wants_grad;
    d->graph->op[d->op].backward |= t->wants_grad;
    operand->add = t->space == CS_SPACE_PARAM || d->written[operand->tensor];
    d->written[operand->tensor] = 1;
}

/* Logits have one reader, their loss. Views of an activation that are read cover it once, and it
 * has no other reader. */
static cs_status check_readers(const dry_run *d)
{
    const cs_graph *g = d->graph;
    if (d->shared_logits != CS_NONE) {
        return cs_fail(CS_ERR_USAGE, "the logits of a loss, %lld columns, have another reader",
                       (long long)g->tensor[d->shared_logits].cols);
    }
    for (int64_t p = 0; p < g->tensors; ++p) {
        if (g->tensor[p].space != CS_SPACE_ACTIVATION || !g->tensor[p].wants_grad) {
            continue;
        }
        int64_t covered = 0;
        bool views = false, overlap = false;
        for (int64_t i = p + 1; i < g->tensors; ++i) {
            const cs_tensor *v = &g->tensor[i];
            if (v->parent != p || d->read[i] < 0) {
                continue;
            }
            views = true;
            covered += v->cols;
            for (int64_t j = p + 1; j < i; ++j) {
                const cs_tensor *o = &g->tensor[j];
                overlap =
                    overlap || (o->parent == p && d->read[j] >= 0 &&
                                o->shift < v->shift + v->cols && v->shift < o->shift + o->cols);
            }
        }
        if (views && (overlap || covered != g->tensor[p].cols || d->written[p])) {
            return cs_fail(CS_ERR_USAGE,
                           "the views of %s do not cover each of its %lld columns once",
                           g->tensor[p].name, (long long)g->tensor[p].cols);
        }
    }
    return CS_OK;
}

static int64_t align(int64_t items)
{
    return (items + ALIGN - 1) / ALIGN * ALIGN;
}

typedef struct {
    int64_t from, to; /* operations during which it is needed, inclusive */
    int64_t offset, items;
} placed;

/* First fit: below or between the placed tensors whose intervals meet this one. `placed` is kept by
 * offset. */
static void place(placed *list, int64_t *count, placed one, int64_t *offset, int64_t *total)
{
    int64_t at = 0, i = 0;
    for (; i < *count; ++i) {
        if (list[i].from > one.to || one.from > list[i].to) {
            continue;
        }
        if (list[i].offset >= at + one.items) {
            break;
        }
        int64_t end = list[i].offset + list[i].items;
        at = end > at ? end : at;
    }
    for (i = 0; i < *count && list[i].offset < at; ++i) {
    }
    memmove(&list[i + 1], &list[i], (size_t)(*count - i) * sizeof *list);
    one.offset = at;
    list[i] = one;
    ++*count;
    *offset = at;
    *total = at + one.items > *total ? at + one.items : *total;
}

/* Activations: all apart in training, where backward reads them; else by interval. Gradients always
 * by interval, the last made first. */
static void place_activations(const dry_run *d, bool gradients, placed *list)
{
    cs_graph *g = d->graph;
    int64_t count = 0;
    for (int64_t n = 0; n < g->tensors; ++n) {
        int64_t i = gradients ? g->tensors - 1 - n : n;
        cs_tensor *t = &g->tensor[i];
        if (t->space != CS_SPACE_ACTIVATION || t->parent != CS_NONE ||
            (gradients && (!t->wants_grad || t->grad_in_place))) {
            continue;
        }
        bool lasts = !gradients && (g->training || t->keep);
        placed one = {.from = lasts ? 0 : t->made,
                      .to = lasts || d->read[i] < 0 ? g->ops : d->read[i],
                      .items = align(t->rows * t->ld)};
        place(list, &count, one, gradients ? &t->grad : &t->offset,
              gradients ? &g->grad_items : &g->space_items[CS_SPACE_ACTIVATION]);
    }
}

static void place_rest(cs_graph *g)
{
    for (int64_t i = 0; i < g->tensors; ++i) {
        cs_tensor *t = &g->tensor[i];
        if (t->space == CS_SPACE_PARAM) {
            t->grad = t->wants_grad ? t->offset : -1;
        } else if (t->space != CS_SPACE_ACTIVATION) {
            t->offset = g->space_items[t->space];
            g->space_items[t->space] += align(t->rows * t->ld);
        }
    }
    for (int64_t i = 0; i < g->tensors; ++i) {
        cs_tensor *t = &g->tensor[i];
        if (t->parent != CS_NONE && t->space == CS_SPACE_ACTIVATION) {
            const cs_tensor *parent = &g->tensor[t->parent];
            t->offset = parent->offset + t->shift;
            t->grad = parent->grad < 0 ? -1 : parent->grad + t->shift;
        }
    }
}

/* Operations after the current one left a gradient at this tensor or at its views. */
static bool gradient_left(const dry_run *d, int tensor)
{
    bool left = d->written[tensor];
    for (int64_t i = tensor + 1; i < d->graph->tensors; ++i) {
        left = left || (d->graph->tensor[i].parent == tensor && d->written[i]);
    }
    return left && d->graph->tensor[tensor].wants_grad;
}

static void walk(dry_run *d)
{
    cs_graph *g = d->graph;
    for (int64_t i = 0; i < g->tensors; ++i) {
        d->read[i] = -1;
    }
    for (d->op = 0; d->op < g->ops; ++d->op) {
        cs_op_operands(&g->op[d->op], note_reader, d);
    }
    for (d->op = g->ops - 1; d->op >= 0 && g->training; --d->op) {
        cs_op *op = &g->op[d->op];
        if (op->kind == CS_OP_LAYER_NORM && op->layer_norm.s != CS_NONE) {
            int sum = op->layer_norm.s;
            op->layer_norm.s_used = gradient_left(d, sum);
            g->tensor[sum].wants_grad = op->layer_norm.s_used; /* else no memory for it */
        }
        cs_op_operands(op, note_writer, d);
    }
}

cs_status cs_graph_finish(cs_graph *graph)
{
    if (graph->status != CS_OK) return cs_fail(graph->status, "%s", graph->reason);
    CS_AUTO(cs_pool) pool = {0};
    dry_run d = {.graph = graph,
                 .shared_logits = CS_NONE,
                 .read = cs_pool_take(&pool, graph->tensors + 1, sizeof *d.read),
                 .written = cs_pool_take(&pool, graph->tensors + 1, sizeof *d.written)};
    placed *list = cs_pool_take(&pool, graph->tensors + 1, sizeof *list);
    cs_status status = pool.status;
    if (status == CS_OK) {
        walk(&d);
        status = check_readers(&d);
        place_activations(&d, false, list);
        place_activations(&d, true, list);
        place_rest(graph);
    }
    return status;
}
