/* Memory of a run, its inputs on their way to the backend, and the walk over the operations. */
#include "tensor/run.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"

static int64_t space_bytes(const cs_graph *graph, const cs_backend *backend, cs_tensor_space space)
{
    int64_t items = graph->space_items[space];
    switch (space) {
    case CS_SPACE_ACTIVATION:
        return items * cs_real_size(backend->activation);
    case CS_SPACE_STATISTIC:
    case CS_SPACE_INPUT:
        return items * cs_real_size(backend->parameter);
    case CS_SPACE_INDEX:
        return items * (int64_t)sizeof(int32_t);
    case CS_SPACE_PARAM:
    case CS_SPACE_COUNT:
        break;
    }
    return 0;
}

int64_t cs_run_bytes(const cs_graph *graph, const cs_backend *backend)
{
    int64_t bytes = graph->grad_items * cs_real_size(backend->activation);
    for (int s = 0; s < CS_SPACE_COUNT; ++s) {
        bytes += space_bytes(graph, backend, (cs_tensor_space)s);
    }
    return bytes + space_bytes(graph, backend, CS_SPACE_INDEX); /* order */
}

static cs_status allocate(cs_run *run)
{
    const cs_graph *g = run->graph;
    cs_backend *b = run->backend;
    cs_status status = CS_OK;
    for (int s = 0; s < CS_SPACE_COUNT && status == CS_OK; ++s) {
        int64_t bytes = space_bytes(g, b, (cs_tensor_space)s);
        if (s != CS_SPACE_PARAM && bytes > 0) {
            status = b->alloc(b, bytes, &run->space[s]);
        }
    }
    void *key = NULL, *order = NULL;
    if (status == CS_OK && g->grad_items > 0)
        status = b->alloc(b, g->grad_items * cs_real_size(b->activation), &run->grad);
    status = status ? status : b->alloc(b, (int64_t)sizeof *run->key, &key);
    status = status ? status : b->alloc(b, space_bytes(g, b, CS_SPACE_INDEX) + 1, &order);
    run->key = key;
    run->order = order;
    return status;
}

/* The most rows of a matrix that indices point into: counters of the sort. */
static int64_t most_indexed(const cs_graph *g)
{
    int64_t most = 0;
    for (int64_t i = 0; i < g->tensors; ++i) {
        most = g->tensor[i].rows > most ? g->tensor[i].rows : most;
    }
    return most;
}

cs_status cs_run_init(const cs_graph *graph, cs_params *params, cs_run **out)
{
    cs_run *run = cs_calloc(1, sizeof *run);
    if (!run) return CS_ERR_MEMORY;
    run->graph = graph;
    run->params = params;
    run->backend = params->backend;
    int64_t indices = graph->space_items[CS_SPACE_INDEX] + 1;
    CS_POOL_FIELDS(&run->pool, graph->row_sets + 1, run, batch, length, filled, padded);
    for (int64_t i = 0; run->padded && i < graph->row_sets; ++i) {
        run->filled[i] =
            cs_pool_take(&run->pool, graph->row_set[i].batch + 1, sizeof *run->filled[i]);
    }
    CS_POOL_FIELDS(&run->pool, indices, run, host_index, host_order);
    run->host_input =
        cs_pool_take(&run->pool, graph->space_items[CS_SPACE_INPUT] + 1, sizeof(double));
    run->counter = cs_pool_take(&run->pool, most_indexed(graph) + 1, sizeof *run->counter);
    cs_status status = run->pool.status ? run->pool.status : allocate(run);
    if (status != CS_OK) {
        cs_run_free(&run);
        return status;
    }
    for (int64_t i = 0; i < graph->row_sets; ++i) {
        run->batch[i] = graph->row_set[i].batch;
        run->length[i] = graph->row_set[i].length;
    }
    *out = run;
    return CS_OK;
}

void cs_run_free(cs_run **held)
{
    cs_run *run = *held;
    if (!run) {
        return;
    }
    void *memory[] = {run->space[CS_SPACE_ACTIVATION],
                      run->space[CS_SPACE_STATISTIC],
                      run->space[CS_SPACE_INDEX],
                      run->space[CS_SPACE_INPUT],
                      run->grad,
                      run->key,
                      run->order};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i) {
        if (memory[i]) {
            run->backend->release(run->backend, memory[i]);
        }
    }
    cs_pool_free(&run->pool);
    cs_free(run);
    *held = NULL;
}

/* --- inputs ----------------------------------------------------------------------------------- */

cs_status cs_run_rows(cs_run *run, int row_set, int64_t batch, int64_t length)
{
    const cs_row_set *most = &run->graph->row_set[row_set];
    if (batch < 1 || length < 1 || batch > most->batch || length > most->length) {
        return cs_fail(CS_ERR_USAGE, "%lld x %lld rows exceed the capacity of %lld x %lld",
                       (long long)batch, (long long)length, (long long)most->batch,
                       (long long)most->length);
    }
    run->batch[row_set] = batch;
    run->length[row_set] = length;
    run->padded[row_set] = false;
    return CS_OK;
}

void cs_run_filled(cs_run *run, int row_set, int64_t b, int64_t rows)
{
    enum { LITTLE = 8 }; /* an eighth */
    const int64_t length = run->length[row_set], batch = run->batch[row_set];
    int32_t *filled = run->filled[row_set];
    filled[b + 1] = filled[b] + (int32_t)(length - rows <= length / LITTLE ? length : rows);
    run->padded[row_set] = b + 1 == batch && filled[batch] > 0 && filled[batch] < batch * length;
}

static int64_t rows_now(const cs_run *run, const cs_tensor *t)
{
    return t->row_set == CS_NONE ? t->rows : run->batch[t->row_set] * run->length[t->row_set];
}

int32_t *cs_run_index(cs_run *run, int tensor)
{
    return run->host_index + run->graph->tensor[tensor].offset;
}

void cs_run_input(cs_run *run, int tensor, int64_t row, int64_t col, double x)
{
    const cs_tensor *t = &run->graph->tensor[tensor];
    cs_real_set(run->backend->parameter, run->host_input, t->offset + row * t->ld + col, x);
}

void cs_run_input_row(cs_run *run, int tensor, int64_t row, const double *x)
{
    const cs_tensor *t = &run->graph->tensor[tensor];
    const cs_real_kind kind = run->backend->parameter;
    for (int64_t i = 0, first = t->offset + row * t->ld; i < t->cols; ++i) {
        cs_real_set(kind, run->host_input, first + i, x[i]);
    }
}

void cs_run_input_row_f32(cs_run *run, int tensor, int64_t row, const float *x)
{
    const cs_tensor *t = &run->graph->tensor[tensor];
    const cs_real_kind kind = run->backend->parameter;
    for (int64_t i = 0, first = t->offset + row * t->ld; i < t->cols; ++i) {
        cs_real_set(kind, run->host_input, first + i, (double)x[i]);
    }
}

/* Counting sort of the rows by index, after checking that each points into the `targets` rows. */
static cs_status sort_rows(cs_run *run, int index, int64_t targets)
{
    const cs_tensor *t = &run->graph->tensor[index];
    const int32_t *value = run->host_index + t->offset;
    int32_t *order = run->host_order + t->offset;
    int64_t rows = rows_now(run, t), last = 0;
    int32_t *start = run->counter;
    memset(start, 0, (size_t)(targets + 1) * sizeof *start);
    for (int64_t r = 0; r < rows; ++r) {
        if (value[r] >= targets) {
            return cs_fail(CS_ERR_INPUT, "%s of row %lld is %d, not below %lld", t->name,
                           (long long)r, value[r], (long long)targets);
        }
        if (value[r] >= 0) {
            ++start[value[r] + 1];
        }
    }
    for (int64_t i = 0; i < targets; ++i) {
        start[i + 1] += start[i];
    }
    last = start[targets];
    for (int64_t r = 0; r < rows; ++r) {
        order[value[r] >= 0 ? start[value[r]]++ : last++] = (int32_t)r;
    }
    return CS_OK;
}

static cs_status sort_all(cs_run *run)
{
    const cs_graph *g = run->graph;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < g->ops && status == CS_OK; ++i) {
        const cs_op *op = &g->op[i];
        if (op->kind == CS_OP_GATHER) {
            status =
                sort_rows(run, op->gather.index, rows_now(run, &g->tensor[op->gather.x.tensor]));
        } else if (op->kind == CS_OP_EMBED) {
            for (int t = 0; t < CS_EMBED_TABLES && status == CS_OK; ++t) {
                if (op->embed.index[t] != CS_NONE) {
                    status = sort_rows(run, op->embed.index[t],
                                       g->tensor[op->embed.table[t].tensor].rows);
                }
            }
        }
    }
    return status;
}

/* Class numbers of the losses. */
static cs_status check_targets(const cs_run *run)
{
    const cs_graph *g = run->graph;
    for (int64_t i = 0; i < g->ops; ++i) {
        const cs_op *op = &g->op[i];
        if (op->kind != CS_OP_CROSS_ENTROPY && op->kind != CS_OP_SPECTRAL_LOSS) {
            continue;
        }
        int64_t classes = op->loss.classes;
        const cs_tensor *t = &g->tensor[op->loss.target];
        for (int64_t r = 0, rows = rows_now(run, t); r < rows; ++r) {
            if (run->host_index[t->offset + r] >= classes) {
                return cs_fail(CS_ERR_INPUT, "%s of row %lld is %d, not below %lld", t->name,
                               (long long)r, run->host_index[t->offset + r], (long long)classes);
            }
        }
    }
    return CS_OK;
}

cs_status cs_run_upload(cs_run *run, cs_run_key key)
{
    const cs_graph *g = run->graph;
    cs_backend *b = run->backend;
    cs_status status;
    run->host_key = key;
    if ((status = sort_all(run)) != CS_OK || (status = check_targets(run)) != CS_OK ||
        (status = b->put(b, run->key, &run->host_key, (int64_t)sizeof run->host_key)) != CS_OK) {
        return status;
    }
    int64_t bytes = space_bytes(g, b, CS_SPACE_INDEX);
    if (bytes > 0 &&
        ((status = b->put(b, run->space[CS_SPACE_INDEX], run->host_index, bytes)) != CS_OK ||
         (status = b->put(b, run->order, run->host_order, bytes)) != CS_OK)) {
        return status;
    }
    bytes = space_bytes(g, b, CS_SPACE_INPUT);
    return bytes > 0 ? b->put(b, run->space[CS_SPACE_INPUT], run->host_input, bytes) : CS_OK;
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Brings the streamed parameters that an operation reads, as far as it goes, or lets them go. */
typedef struct {
    const cs_run *run;
    int64_t brought;
    bool back;
    cs_status status;
} streaming;

static void stream(void *ctx, cs_operand *operand)
{
    streaming *s = ctx;
    const cs_tensor *t = &s->run->graph->tensor[operand->tensor];
    if (t->space != CS_SPACE_PARAM) {
        return;
    }
    if (!s->back && s->status == CS_OK) {
        s->status = cs_params_bring(s->run->params, t->offset);
        ++s->brought;
    } else if (s->back && s->brought > 0) {
        cs_params_let_go(s->run->params, t->offset);
        --s->brought;
    }
}

static cs_status step_streamed(cs_run *run, const cs_op *op)
{
    streaming s = {.run = run};
    cs_op read = *op;
    cs_op_operands(&read, stream, &s);
    cs_status status = s.status == CS_OK ? run->backend->forward[op->kind](run, op) : s.status;
    s.back = true;
    cs_op_operands(&read, stream, &s);
    return status;
}

static cs_status walk_forward(cs_run *run)
{
    const cs_graph *g = run->graph;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < g->ops && status == CS_OK; ++i) {
        const cs_op *op = &g->op[i];
        status = run->params->source.fetch ? step_streamed(run, op)
                                           : run->backend->forward[op->kind](run, op);
    }
    return status;
}

static cs_status walk_backward(cs_run *run)
{
    const cs_graph *g = run->graph;
    cs_status status = CS_OK;
    for (int64_t i = g->ops - 1; i >= 0 && status == CS_OK; --i) {
        if (g->op[i].backward) {
            status = run->backend->backward[g->op[i].kind](run, &g->op[i]);
        }
    }
    return status;
}

cs_status cs_run_forward(cs_run *run)
{
    return run->backend->around ? run->backend->around(run->backend, run, 0, walk_forward)
                                : walk_forward(run);
}

cs_status cs_run_backward(cs_run *run)
{
    if (!run->graph->training) {
        return cs_fail(CS_ERR_USAGE, "backward needs a graph that was built for training");
    }
    return run->backend->around ? run->backend->around(run->backend, run, 1, walk_backward)
                                : walk_backward(run);
}

/* --- numbers out ------------------------------------------------------------------------------ */

cs_matrix cs_run_matrix(const cs_run *run, int tensor)
{
    cs_matrix m = {0};
    if (tensor == CS_NONE) {
        return m;
    }
    const cs_tensor *t = &run->graph->tensor[tensor];
    const cs_backend *b = run->backend;
    int64_t size = t->space == CS_SPACE_ACTIVATION ? cs_real_size(b->activation)
                   : t->space == CS_SPACE_INDEX    ? (int64_t)sizeof(int32_t)
                                                   : cs_real_size(b->parameter);
    m.x = t->space == CS_SPACE_PARAM ? cs_params_value(run->params, t->offset)
                                     : (char *)run->space[t->space] + t->offset * size;
    if (t->grad_in_place) {
        m.grad = m.x;
    } else if (t->grad >= 0) {
        char *grad = t->space == CS_SPACE_PARAM ? run->params->grad : run->grad;
        m.grad = grad + t->grad * size;
    }
    m.batch = t->row_set == CS_NONE ? 1 : run->batch[t->row_set];
    m.length = t->row_set == CS_NONE ? t->rows : run->length[t->row_set];
    m.rows = m.batch * m.length;
    m.live = t->row_set != CS_NONE && run->padded[t->row_set] ? run->filled[t->row_set] : NULL;
    m.cols = t->cols;
    m.ld = t->ld;
    return m;
}

const int32_t *cs_run_ints(const cs_run *run, int tensor)
{
    return tensor == CS_NONE
               ? NULL
               : (const int32_t *)run->space[CS_SPACE_INDEX] + run->graph->tensor[tensor].offset;
}

const int32_t *cs_run_order(const cs_run *run, int tensor)
{
    return run->order + run->graph->tensor[tensor].offset;
}

/* Reads rows x cols at `from` (with ld) into numbers of the kind `host`. */
static cs_status get(cs_run *run, int tensor, const void *from, void *out, cs_real_kind host)
{
    const cs_tensor *t = &run->graph->tensor[tensor];
    cs_backend *b = run->backend;
    cs_matrix m = cs_run_matrix(run, tensor);
    cs_real_kind kind = t->space == CS_SPACE_ACTIVATION ? b->activation : b->parameter;
    int64_t items = (m.rows - 1) * m.ld + m.cols;
    if (kind == host && m.ld == m.cols) return b->get(b, out, from, items * cs_real_size(kind));
    CS_AUTO_FREE void *copy = cs_alloc(items, (size_t)cs_real_size(kind));
    if (!copy) return CS_ERR_MEMORY;
    cs_status status = b->get(b, copy, from, items * cs_real_size(kind));
    for (int64_t r = 0; r < m.rows && status == CS_OK; ++r) {
        for (int64_t c = 0; c < m.cols; ++c) {
            cs_real_set(host, out, r * m.cols + c, cs_real_get(kind, copy, r * m.ld + c));
        }
    }
    return status;
}

cs_status cs_run_get(cs_run *run, int tensor, double *out)
{
    return get(run, tensor, cs_run_matrix(run, tensor).x, out, CS_REAL_F64);
}

cs_status cs_run_get_f32(cs_run *run, int tensor, float *out)
{
    return get(run, tensor, cs_run_matrix(run, tensor).x, out, CS_REAL_F32);
}

cs_status cs_run_put_grad(cs_run *run, int tensor, const double *grad)
{
    cs_backend *b = run->backend;
    const cs_matrix m = cs_run_matrix(run, tensor);
    const int64_t items = (m.rows - 1) * m.ld + m.cols;
    CS_AUTO_FREE void *copy = cs_calloc(items, (size_t)cs_real_size(b->activation));
    if (!copy) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < m.rows * m.cols; ++i) {
        cs_real_set(b->activation, copy, i / m.cols * m.ld + i % m.cols, grad[i]);
    }
    return b->put(b, m.grad, copy, items * cs_real_size(b->activation));
}

cs_status cs_run_sum(cs_run *run, int tensor, double *out)
{
    int64_t rows = cs_run_matrix(run, tensor).rows;
    CS_AUTO_FREE double *x = cs_alloc(rows, sizeof *x);
    cs_status status = x ? cs_run_get(run, tensor, x) : CS_ERR_MEMORY;
    *out = status == CS_OK ? cs_total(rows, x) : 0;
    return status;
}
