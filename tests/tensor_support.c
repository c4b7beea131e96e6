/* Building a case, filling it and running it. The cases are in tensor_cases.c, the checks in
 * tensor_compare.c. */
#include "tensor_support.h"

#include <math.h>
#include <stdio.h>

#include "base/auto.h"

void cs_tensor_must(cs_status status, const char *what)
{
    if (status != CS_OK) {
        (void)fprintf(stderr, "%s: %s\n", what, cs_reason());
        abort();
    }
}

void *cs_tensor_zeros(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    if (!p) {
        abort();
    }
    return p;
}

/* --- building --------------------------------------------------------------------------------- */

int cs_net_rows_now(cs_tensor_net *net, int64_t batch, int64_t length, int64_t now_batch,
                    int64_t now_length)
{
    int id = cs_graph_rows(&net->graph, batch, length);
    net->batch[id] = now_batch;
    net->length[id] = now_length;
    return id;
}

int cs_net_rows(cs_tensor_net *net, int64_t batch, int64_t length)
{
    return cs_net_rows_now(net, batch, length, batch, length);
}

static int param(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols, bool trainable)
{
    int64_t number = cs_params_add(&net->params, name, rows, cols, rows > 1);
    if (number < 0 || number >= CS_NET_MOST) {
        abort();
    }
    return cs_graph_param(&net->graph, name, rows, cols, net->params.param[number].offset,
                          trainable);
}

int cs_net_param(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols)
{
    return param(net, name, rows, cols, true);
}

int cs_net_frozen(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols)
{
    net->still |= UINT64_C(1) << net->params.count;
    return param(net, name, rows, cols, false);
}

int cs_net_still(cs_tensor_net *net, const char *name, int64_t rows, int64_t cols)
{
    net->still |= UINT64_C(1) << net->params.count;
    net->stillness = true;
    return param(net, name, rows, cols, true);
}

int cs_net_index(cs_tensor_net *net, int row_set, cs_net_fill fill, int64_t n)
{
    int id = cs_graph_index(&net->graph, row_set, "index");
    net->index[net->indices].tensor = id;
    net->index[net->indices].fill = fill;
    net->index[net->indices++].n = n;
    return id;
}

int cs_net_input(cs_tensor_net *net, int row_set, int64_t cols, double low, double high)
{
    int id = cs_graph_input(&net->graph, row_set, cols, "input");
    net->input[net->inputs].tensor = id;
    net->input[net->inputs].low = low;
    net->input[net->inputs++].high = high;
    return id;
}

int cs_net_of_table(cs_tensor_net *net, int row_set, int table)
{
    int index = cs_net_index(net, row_set, cs_fill_row, 0);
    return cs_graph_embed(&net->graph, CS_NONE, row_set, 1, &table, &index);
}

int cs_net_activation(cs_tensor_net *net, const char *name, int row_set, int64_t cols)
{
    int64_t rows = net->batch[row_set] * net->length[row_set];
    return cs_net_of_table(net, row_set, cs_net_param(net, name, rows, cols));
}

void cs_net_output(cs_tensor_net *net, int tensor)
{
    net->output[net->outputs++] = tensor;
}

void cs_net_loss(cs_tensor_net *net, int tensor)
{
    net->loss[net->losses++] = tensor;
}

int32_t cs_fill_row(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)rng;
    (void)n;
    return (int32_t)(b * length + i);
}

int32_t cs_fill_position(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)rng;
    (void)b;
    (void)length;
    return (int32_t)(i + n);
}

int32_t cs_fill_constant(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)rng;
    (void)b;
    (void)i;
    (void)length;
    return (int32_t)n;
}

int32_t cs_fill_some(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)b;
    (void)i;
    (void)length;
    int32_t value = (int32_t)cs_rng_below(rng, n);
    return cs_rng_below(rng, 4) == 0 ? -1 : value;
}

int32_t cs_fill_padded_vis(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)rng;
    return i < length - b - n ? 0 : INT32_MAX;
}

int32_t cs_fill_padded_lim(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)rng;
    return i < length - b - n ? 0 : -1;
}

int32_t cs_fill_group(cs_rng *rng, int64_t b, int64_t i, int64_t length, int64_t n)
{
    (void)rng;
    (void)length;
    return (int32_t)((5 * i + 2 * b + i / 2) % 3 + n);
}

/* --- opening ---------------------------------------------------------------------------------- */

double cs_tensor_value(cs_rng *rng, double low, double high)
{
    return low + ((double)cs_rng_below(rng, (int64_t)((high - low) * 64.0)) + 0.5) / 64.0;
}

cs_rng cs_tensor_stream(const cs_tensor_world *world, int kind, int64_t number)
{
    return cs_rng_at(world->net.seed, CS_STREAM_TEST, (uint64_t)(kind * 1000 + number));
}

static void fill_params(cs_tensor_world *world)
{
    cs_params *params = &world->net.params;
    for (int64_t i = 0; i < params->count; ++i) {
        cs_rng rng = cs_tensor_stream(world, CS_FILL_PARAM, i);
        int64_t n = params->param[i].rows * params->param[i].cols;
        CS_AUTO_FREE double *x = cs_tensor_zeros(n, sizeof *x);
        for (int64_t k = 0; k < n; ++k) {
            x[k] = cs_tensor_value(&rng, -2.0, 2.0);
        }
        cs_tensor_must(cs_params_set64(params, i, CS_PARAM_VALUE, x), "parameters");
    }
}

static void fill_inputs(cs_tensor_world *world)
{
    const cs_tensor_net *net = &world->net;
    const cs_graph *g = &net->graph;
    cs_run *run = world->run;
    /* Beyond the present sizes: not-a-number, and keys and rows that would be seen. */
    memset(run->host_index, 0xff, (size_t)g->space_items[CS_SPACE_INDEX] * sizeof(int32_t));
    memset(run->host_input, 0xff,
           (size_t)(g->space_items[CS_SPACE_INPUT] * cs_real_size(world->backend->parameter)));
    for (int i = 0; i < net->indices; ++i) {
        cs_rng rng = cs_tensor_stream(world, CS_FILL_INDEX, i);
        int tensor = net->index[i].tensor, set = g->tensor[tensor].row_set;
        int64_t length = net->length[set];
        for (int64_t r = 0; r < net->batch[set] * length; ++r) {
            cs_run_index(run, tensor)[r] =
                net->index[i].fill(&rng, r / length, r % length, length, net->index[i].n);
        }
    }
    for (int i = 0; i < net->inputs; ++i) {
        cs_rng rng = cs_tensor_stream(world, CS_FILL_INPUT, i);
        int tensor = net->input[i].tensor;
        cs_matrix m = cs_run_matrix(run, tensor);
        for (int64_t k = 0; k < m.rows * m.cols; ++k) {
            cs_run_input(run, tensor, k / m.cols, k % m.cols,
                         cs_tensor_value(&rng, net->input[i].low, net->input[i].high));
        }
    }
}

static uint64_t name_hash(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *name; ++name) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    }
    return hash;
}

void cs_tensor_open(cs_tensor_world *world, const cs_tensor_case *what, cs_backend *backend,
                    bool training)
{
    memset(world, 0, sizeof *world);
    cs_tensor_net *net = &world->net;
    world->backend = backend;
    net->seed = name_hash(what->name);
    cs_graph_init(&net->graph, training);
    if (what->build) {
        what->build(net);
    } else {
        what->build_with(net, what->setting);
    }
    cs_tensor_must(cs_graph_finish(&net->graph), what->name);
    cs_tensor_must(cs_params_allocate(&net->params, backend, training), what->name);
    fill_params(world);
    cs_tensor_must(cs_run_init(&net->graph, &net->params, &world->run), what->name);
    for (int i = 0; i < net->graph.row_sets; ++i) {
        cs_tensor_must(cs_run_rows(world->run, i, net->batch[i], net->length[i]), what->name);
    }
    fill_inputs(world);
    cs_tensor_must(
        cs_run_upload(world->run, (cs_run_key){.seed = net->seed, .step = 3, .micro = 1}),
        what->name);
}

void cs_tensor_close(cs_tensor_world *world)
{
    cs_run_free(&world->run);
    cs_params_free(&world->net.params);
    cs_graph_free(&world->net.graph);
}

/* --- running ---------------------------------------------------------------------------------- */

static void poison(cs_backend *backend, void *memory, int64_t bytes)
{
    if (memory && bytes > 0) {
        CS_AUTO_FREE void *ones = cs_tensor_zeros(bytes, 1);
        memset(ones, 0xff, (size_t)bytes);
        cs_tensor_must(backend->put(backend, memory, ones, bytes), "poison");
    }
}

void cs_tensor_poison(cs_tensor_world *world)
{
    const cs_graph *g = &world->net.graph;
    cs_backend *b = world->backend;
    poison(b, world->run->space[CS_SPACE_ACTIVATION],
           g->space_items[CS_SPACE_ACTIVATION] * cs_real_size(b->activation));
    poison(b, world->run->space[CS_SPACE_STATISTIC],
           g->space_items[CS_SPACE_STATISTIC] * cs_real_size(b->parameter));
    poison(b, world->run->grad, g->grad_items * cs_real_size(b->activation));
}

void cs_tensor_forward(cs_tensor_world *world)
{
    cs_tensor_must(cs_run_forward(world->run), "forward");
}

static double *output_gradient(const cs_tensor_world *world, int number)
{
    cs_rng rng = cs_tensor_stream(world, CS_FILL_GRAD, number);
    cs_matrix m = cs_run_matrix(world->run, world->net.output[number]);
    double *x = cs_tensor_zeros(m.rows * m.cols, sizeof *x);
    for (int64_t k = 0; k < m.rows * m.cols; ++k) {
        x[k] = cs_tensor_value(&rng, -2.0, 2.0);
    }
    return x;
}

static void put_gradient(cs_tensor_world *world, int number)
{
    cs_backend *b = world->backend;
    cs_matrix m = cs_run_matrix(world->run, world->net.output[number]);
    const int64_t items = m.rows * m.cols, size = cs_real_size(b->activation);
    CS_AUTO_FREE double *x = output_gradient(world, number);
    CS_AUTO_FREE void *raw = cs_tensor_zeros(items, (size_t)size);
    for (int64_t k = 0; k < items; ++k) {
        if (b->activation == CS_REAL_BF16) { /* exact, so cutting is rounding */
            float single = (float)x[k];
            uint32_t bits;
            memcpy(&bits, &single, sizeof bits);
            ((uint16_t *)raw)[k] = (uint16_t)(bits >> 16);
        } else {
            cs_real_set(b->activation, raw, k, x[k]);
        }
    }
    if (!m.grad || m.ld != m.cols) {
        abort();
    }
    cs_tensor_must(b->put(b, m.grad, raw, items * size), "gradient");
}

double cs_tensor_norm(const cs_params *params)
{
    double norm = 0;
    cs_tensor_must(params->backend->get(params->backend, &norm, params->norm, (int64_t)sizeof norm),
                   "norm");
    return norm;
}

void cs_tensor_backward(cs_tensor_world *world)
{
    for (int i = 0; i < world->net.outputs; ++i) {
        put_gradient(world, i);
    }
    cs_tensor_must(cs_run_backward(world->run), "backward");
}

static double *values(cs_tensor_world *world, int tensor, int64_t *n)
{
    cs_matrix m = cs_run_matrix(world->run, tensor);
    double *x = cs_tensor_zeros(m.rows * m.cols, sizeof *x);
    *n = m.rows * m.cols;
    cs_tensor_must(cs_run_get(world->run, tensor, x), "get");
    return x;
}

double cs_tensor_objective(cs_tensor_world *world)
{
    double sum = 0;
    int64_t n = 0;
    for (int i = 0; i < world->net.outputs; ++i) {
        CS_AUTO_FREE double *g = output_gradient(world, i),
                            *x = values(world, world->net.output[i], &n);
        for (int64_t k = 0; k < n; ++k) {
            sum += g[k] * x[k];
        }
    }
    for (int i = 0; i < world->net.losses; ++i) {
        double loss = 0;
        cs_tensor_must(cs_run_sum(world->run, world->net.loss[i], &loss), "loss");
        sum += loss;
    }
    return sum;
}

static void add_block(cs_tensor_result *out, const char *name, int64_t n, double *x)
{
    out->block[out->blocks++] = (cs_tensor_block){name, n, x};
}

void cs_tensor_step(cs_tensor_world *world, cs_tensor_result *out)
{
    const cs_tensor_net *net = &world->net;
    int64_t n = 0;
    out->blocks = 0;
    cs_tensor_poison(world);
    cs_tensor_forward(world);
    for (int i = 0; i < net->outputs; ++i) {
        double *x = values(world, net->output[i], &n);
        add_block(out, "output", n, x);
    }
    for (int i = 0; i < net->losses && !net->graph.training; ++i) {
        double *x = values(world, net->loss[i], &n);
        add_block(out, "loss", n, x);
    }
    for (int i = 0; i < net->graph.tensors && net->graph.training; ++i) {
        if (net->graph.tensor[i].space == CS_SPACE_STATISTIC) {
            double *x = values(world, i, &n);
            add_block(out, net->graph.tensor[i].name, n, x);
        }
    }
    if (!net->graph.training) {
        return;
    }
    cs_tensor_backward(world);
    for (int64_t i = 0; i < net->params.count; ++i) {
        n = net->params.param[i].rows * net->params.param[i].cols;
        double *x = cs_tensor_zeros(n, sizeof *x);
        cs_tensor_must(cs_params_get64(&net->params, i, CS_PARAM_GRAD, x), "gradient");
        add_block(out, net->params.param[i].name, n, x);
    }
}

void cs_tensor_result_free(cs_tensor_result *result)
{
    for (int i = 0; i < result->blocks; ++i) {
        free(result->block[i].x);
    }
    result->blocks = 0;
}
