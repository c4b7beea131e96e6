/* Shared by the files that emit operations. */
#pragma once

#include "tensor/graph.h"

/* Keeps the first failure; always CS_NONE. */
int cs_graph_fail(cs_graph *graph, cs_status status, const char *format, ...) CS_PRINTF(3, 4);

static inline bool is_tensor(const cs_graph *graph, int id)
{
    return id >= 0 && id < graph->tensors;
}

static inline const cs_tensor *at(const cs_graph *graph, int id)
{
    return &graph->tensor[id];
}

static inline cs_operand operand(int id)
{
    return (cs_operand){.tensor = id};
}

/* Whether the operand exists, in this space, with these rows and columns (-1: any). */
bool cs_graph_takes(cs_graph *graph, const char *what, int id, cs_tensor_space space, int row_set,
                    int64_t rows, int64_t cols);
static inline bool activation(cs_graph *graph, const char *what, int id, int row_set, int64_t cols)
{
    return cs_graph_takes(graph, what, id, CS_SPACE_ACTIVATION, row_set, -1, cols);
}

int cs_graph_statistic(cs_graph *graph, int row_set, int64_t cols, const char *name);
int cs_graph_append(cs_graph *graph, const cs_op *op, int result);
/* Makes the output, which wants a gradient where an operand does, and appends; y: its field in op. */
int cs_graph_append_output(cs_graph *graph, cs_op *op, int *y, int row_set, int64_t cols,
                           const char *name);
