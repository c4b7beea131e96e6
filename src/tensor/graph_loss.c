/* Emitting losses, whose gradient replaces the logits. */
#include "tensor/graph_private.h"

/* Of logits: an activation that no view shares, whose gradient replaces it. */
static int append_loss(cs_graph *graph, cs_op_kind kind, const char *what, cs_op_loss loss)
{
    int z = loss.z.tensor;
    if (!activation(graph, what, z, CS_NONE, -1)) {
        return CS_NONE;
    }
    cs_tensor *t = &graph->tensor[z];
    bool spectral = kind == CS_OP_SPECTRAL_LOSS, soft = kind == CS_OP_SOFT_CROSS_ENTROPY;
    loss.classes = soft ? t->cols : loss.classes;
    if (loss.classes < 1 || loss.classes > t->cols || t->parent != CS_NONE || t->grad_in_place) {
        return cs_graph_fail(graph, CS_ERR_USAGE, "%s: %lld classes in a matrix of %lld columns",
                             what, (long long)loss.classes, (long long)t->cols);
    }
    t->grad_in_place = t->wants_grad;
    /* Rows of every type begin at multiples of 16 bytes: matrix instructions and vector loads want
     * that of vocabularies too. */
    t->ld = (t->cols + 7) / 8 * 8;
    int row_set = t->row_set;
    if ((loss.target != CS_NONE &&
         !cs_graph_takes(graph, what, loss.target, CS_SPACE_INDEX, row_set, -1, 1)) ||
        !cs_graph_takes(graph, what, loss.weight, CS_SPACE_INPUT, row_set, -1, 1) ||
        (kind != CS_OP_CROSS_ENTROPY &&
         !cs_graph_takes(graph, what, loss.goal, CS_SPACE_INPUT, spectral ? CS_NONE : row_set,
                         spectral ? 1 : -1, spectral ? loss.classes : t->cols))) {
        return CS_NONE;
    }
    const bool entropy = soft || kind == CS_OP_CROSS_ENTROPY;
    loss.lse = entropy ? cs_graph_statistic(graph, row_set, 1, "lse of logits") : CS_NONE;
    loss.loss = cs_graph_statistic(graph, row_set, 1, "loss");
    return cs_graph_append(graph, &(cs_op){.kind = kind, .loss = loss}, loss.loss);
}

int cs_graph_cross_entropy(cs_graph *graph, int z, int64_t classes, int target, int weight)
{
    const cs_op_loss loss = {operand(z), target, weight, CS_NONE, CS_NONE, CS_NONE, classes, 0};
    return append_loss(graph, CS_OP_CROSS_ENTROPY, "cross entropy", loss);
}

int cs_graph_spectral_loss(cs_graph *graph, int z, int64_t classes, int target, int weight,
                           int mass, double factor)
{
    const cs_op_loss loss = {operand(z), target, weight, mass, CS_NONE, CS_NONE, classes, factor};
    return append_loss(graph, CS_OP_SPECTRAL_LOSS, "spectral loss", loss);
}

static cs_op_loss of_goal(int z, int goal, int weight)
{
    return (cs_op_loss){operand(z), CS_NONE, weight, goal, CS_NONE, CS_NONE, 1, 0};
}

int cs_graph_soft_cross_entropy(cs_graph *graph, int z, int goal, int weight)
{
    return append_loss(graph, CS_OP_SOFT_CROSS_ENTROPY, "soft targets", of_goal(z, goal, weight));
}

int cs_graph_squared_error(cs_graph *graph, int z, int goal, int weight)
{
    return append_loss(graph, CS_OP_SQUARED_ERROR, "squared error", of_goal(z, goal, weight));
}
