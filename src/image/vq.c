/* Two small Transformers, emitted as one graph or each by itself. */
#include "image/vq.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/range.h"
#include "base/rng.h"

static const char *const SIDE[] = {"encoder", "decoder"};

/* --- parameters ------------------------------------------------------------------------------- */

typedef struct {
    cs_params *params;
    const char *side;
    cs_status status;
} table;

static void add_parameter(table *t, const char *name, int64_t rows, int64_t cols)
{
    char full[64];
    (void)snprintf(full, sizeof full, "%s.%s", t->side, name);
    if (t->status == CS_OK && cs_params_add(t->params, full, rows, cols, rows > 1) < 0)
        t->status = CS_ERR_MEMORY;
}

static void add_linear(table *t, const char *name, int64_t rows, int64_t cols)
{
    char part[48];
    (void)snprintf(part, sizeof part, "%s.weight", name);
    add_parameter(t, part, rows, cols);
    (void)snprintf(part, sizeof part, "%s.bias", name);
    add_parameter(t, part, 1, rows);
}

static void add_norm(table *t, const char *name, int64_t cols)
{
    char part[48];
    (void)snprintf(part, sizeof part, "%s.gain", name);
    add_parameter(t, part, 1, cols);
    (void)snprintf(part, sizeof part, "%s.bias", name);
    add_parameter(t, part, 1, cols);
}

/* "N.PART" */
static const char *of_layer(int64_t l, const char *part, char out[48])
{
    (void)snprintf(out, 48, "%lld.%s", (long long)l, part);
    return out;
}

static cs_status make_table(const cs_vq_sizes *s, cs_params *params)
{
    table t = {.params = params};
    char n[48];
    for (int side = 0; side < 2; ++side) {
        t.side = SIDE[side];
        add_linear(&t, "in", s->width, s->values);
        add_parameter(&t, "position", s->patches, s->width);
        for (int64_t l = 0; l < s->layers; ++l) {
            add_norm(&t, of_layer(l, "attention.norm", n), s->width);
            add_linear(&t, of_layer(l, "attention.qkv", n), 3 * s->width, s->width);
            add_linear(&t, of_layer(l, "attention.output", n), s->width, s->width);
            add_norm(&t, of_layer(l, "mlp.norm", n), s->width);
            add_linear(&t, of_layer(l, "mlp.in", n), 4 * s->width, s->width);
            add_linear(&t, of_layer(l, "mlp.out", n), s->width, 4 * s->width);
        }
        add_norm(&t, "norm", s->width);
        add_linear(&t, "out", s->values, s->width);
    }
    return t.status;
}

cs_status cs_vq_init(const cs_vq_sizes *sizes, int threads, bool training, cs_vq *out)
{
    const cs_range range[] = {{"patches", (double)sizes->patches, 1, 1 << 20},
                              {"values of a patch", (double)sizes->values, 1, 1 << 16},
                              {"width", (double)sizes->width, 1, 1 << 16},
                              {"layers", (double)sizes->layers, 0, 64},
                              {"heads", (double)sizes->heads, 1, 64}};
    cs_vq made = {.sizes = *sizes};
    cs_status status = cs_ranges_check(sizeof range / sizeof *range, range);
    if (status == CS_OK && sizes->width % sizes->heads != 0)
        status = cs_fail(CS_ERR_USAGE, "%lld heads do not divide width %lld",
                         (long long)sizes->heads, (long long)sizes->width);
    if (status == CS_OK) status = cs_backend_cpu(threads, &made.backend);
    if (status == CS_OK) status = make_table(sizes, &made.params);
    if (status == CS_OK) status = cs_params_allocate(&made.params, made.backend, training);
    return CS_DELIVER(status, out, made, cs_vq_free);
}

void cs_vq_free(cs_vq *vq)
{
    cs_params_free(&vq->params);
    cs_backend_free(&vq->backend);
    *vq = (cs_vq){0};
}

cs_status cs_vq_randomise(cs_vq *vq, uint64_t seed)
{
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(&vq->params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < vq->params.count && status == CS_OK; ++i) {
        const cs_param *p = &vq->params.param[i];
        const bool last = strcmp(strchr(p->name, '.'), ".out.weight") == 0;
        const double sd = p->decay && !last ? 0.02 : 0, from = strstr(p->name, ".gain") ? 1 : 0;
        cs_rng rng = cs_rng_at(seed, CS_STREAM_INIT, cs_hash(p->name, strlen(p->name), 0).low);
        for (int64_t k = 0; k < p->rows * p->cols; ++k) {
            value[k] = (float)(from + (sd > 0 ? sd * cs_rng_normal(&rng) : 0));
        }
        status = cs_params_set(&vq->params, i, CS_PARAM_VALUE, value);
    }
    return status;
}

/* --- the graph -------------------------------------------------------------------------------- */

typedef struct {
    cs_vq_pass *pass;
    const char *side;
} emitter;

static int param(const emitter *e, const char *name)
{
    char full[64];
    const cs_params *params = &e->pass->vq->params;
    (void)snprintf(full, sizeof full, "%s.%s", e->side, name);
    const cs_param *p = &params->param[cs_params_find(params, full)];
    return cs_graph_param(&e->pass->graph, p->name, p->rows, p->cols, p->offset, true);
}

static int linear(const emitter *e, int x, const char *name, cs_activation act)
{
    char weight[48], bias[48];
    (void)snprintf(weight, sizeof weight, "%s.weight", name);
    (void)snprintf(bias, sizeof bias, "%s.bias", name);
    return cs_graph_linear(&e->pass->graph, x, param(e, weight), param(e, bias), act);
}

static int norm(const emitter *e, int x, int more, const char *name, int *sum)
{
    char gain[48], bias[48];
    (void)snprintf(gain, sizeof gain, "%s.gain", name);
    (void)snprintf(bias, sizeof bias, "%s.bias", name);
    return cs_graph_layer_norm(
        &e->pass->graph, x, more, 0,
        (cs_norm){.gain = param(e, gain), .bias = param(e, bias), .eps = 1e-6}, sum);
}

static int block(const emitter *e, int64_t l, int x)
{
    const cs_vq_pass *p = e->pass;
    cs_graph *g = &e->pass->graph;
    const int64_t d = p->vq->sizes.width;
    const cs_attention_options o = {.vis = p->vis,
                                    .lim = p->lim,
                                    .table = CS_NONE,
                                    .pos_q = CS_NONE,
                                    .pos_k = CS_NONE,
                                    .heads = p->vq->sizes.heads};
    char n[48];
    int sum = x;
    int in = norm(e, x, CS_NONE, of_layer(l, "attention.norm", n), NULL);
    int qkv = linear(e, in, of_layer(l, "attention.qkv", n), CS_ACT_NONE);
    int a = cs_graph_attention(g, cs_graph_cols(g, qkv, 0, d), cs_graph_cols(g, qkv, d, d),
                               cs_graph_cols(g, qkv, 2 * d, d), &o);
    a = linear(e, a, of_layer(l, "attention.output", n), CS_ACT_NONE);
    in = norm(e, x, a, of_layer(l, "mlp.norm", n), &sum);
    in = linear(e, in, of_layer(l, "mlp.in", n), CS_ACT_GELU_ERF);
    return cs_graph_add(g, sum, linear(e, in, of_layer(l, "mlp.out", n), CS_ACT_NONE), 0);
}

/* f or g of the rows x. */
static int transform(const emitter *e, int x)
{
    const cs_vq_pass *p = e->pass;
    const int position = param(e, "position");
    int h = linear(e, x, "in", CS_ACT_NONE);
    h = cs_graph_embed(&e->pass->graph, h, p->rows, 1, &position, &p->place);
    for (int64_t l = 0; l < p->vq->sizes.layers; ++l) {
        h = block(e, l, h);
    }
    return linear(e, norm(e, h, CS_NONE, "norm", NULL), "out", CS_ACT_NONE);
}

/* Rows of an input, added to x. */
static int read(cs_vq_pass *p, int x, int input)
{
    return cs_graph_embed(&p->graph, x, p->rows, 1, &input, &p->row);
}

static void emit(cs_vq_pass *p, int64_t pictures, bool training)
{
    cs_graph *g = &p->graph;
    const int64_t v = p->vq->sizes.values;
    p->rows = cs_graph_rows(g, pictures, p->vq->sizes.patches);
    p->row = cs_graph_index(g, p->rows, "row");
    p->place = cs_graph_index(g, p->rows, "place");
    p->vis = cs_graph_index(g, p->rows, "vis");
    p->lim = cs_graph_index(g, p->rows, "lim");
    int y = CS_NONE;
    if (p->part != CS_VQ_DECODER) {
        p->x = cs_graph_input(g, p->rows, v, "patches");
        const int f = transform(&(emitter){p, SIDE[0]}, read(p, CS_NONE, p->x));
        y = p->z = read(p, f, p->x);
        cs_graph_keep(g, p->z);
    }
    if (p->part != CS_VQ_ENCODER) {
        p->y = cs_graph_input(g, p->rows, v, "vectors");
        y = read(p, y, p->y);
        p->made = cs_graph_add(g, y, transform(&(emitter){p, SIDE[1]}, y), 0);
        cs_graph_keep(g, p->made);
    }
    if (training) {
        p->to = cs_graph_input(g, p->rows, v, "nearest");
        p->weight = cs_graph_input(g, p->rows, 1, "weight");
        p->pull = cs_graph_input(g, p->rows, 1, "commitment");
        p->kept = cs_graph_add(g, CS_NONE, p->z, 0);
        p->error = cs_graph_squared_error(g, p->made, p->x, p->weight);
        p->commitment = cs_graph_squared_error(g, p->kept, p->to, p->pull);
    }
}

cs_status cs_vq_open(cs_vq *vq, cs_vq_part part, int64_t pictures, bool training, cs_vq_pass *out)
{
    cs_vq_pass made = {.vq = vq, .part = part};
    cs_graph_init(&made.graph, training);
    emit(&made, pictures, training);
    cs_status status = cs_graph_finish(&made.graph);
    *out = made; /* the run borrows the graph */
    if (status == CS_OK) status = cs_run_init(&out->graph, &vq->params, &out->run);
    if (status != CS_OK) cs_vq_close(out);
    return status;
}

void cs_vq_close(cs_vq_pass *pass)
{
    cs_run_free(&pass->run);
    cs_graph_free(&pass->graph);
    *pass = (cs_vq_pass){0};
}

cs_status cs_vq_begin(cs_vq_pass *p, int64_t pictures)
{
    const int64_t t = p->vq->sizes.patches;
    cs_status status = cs_run_rows(p->run, p->rows, pictures, t);
    for (int64_t r = 0; r < pictures * t && status == CS_OK; ++r) {
        cs_run_index(p->run, p->row)[r] = (int32_t)r;
        cs_run_index(p->run, p->place)[r] = (int32_t)(r % t);
        cs_run_index(p->run, p->vis)[r] = cs_run_index(p->run, p->lim)[r] = 0;
    }
    return status;
}

void cs_vq_put(cs_vq_pass *p, int input, int64_t pictures, const float *values)
{
    const int64_t v = p->vq->sizes.values;
    for (int64_t i = 0; i < pictures * p->vq->sizes.patches * v; ++i) {
        cs_run_input(p->run, input, i / v, i % v, (double)values[i]);
    }
}

/* Forward, without gradients. */
static cs_status pass_on(cs_vq_pass *p, int64_t pictures, int input, int made, const float *from,
                         float *to)
{
    cs_status status = cs_vq_begin(p, pictures);
    if (status != CS_OK) return status;
    cs_vq_put(p, input, pictures, from);
    status = cs_run_upload(p->run, (cs_run_key){0});
    if (status == CS_OK) status = cs_run_forward(p->run);
    return status == CS_OK ? cs_run_get_f32(p->run, made, to) : status;
}

cs_status cs_vq_encode(cs_vq_pass *pass, int64_t pictures, const float *patches, float *z)
{
    return pass_on(pass, pictures, pass->x, pass->z, patches, z);
}

cs_status cs_vq_decode(cs_vq_pass *pass, int64_t pictures, const float *vectors, float *made)
{
    return pass_on(pass, pictures, pass->y, pass->made, vectors, made);
}

/* --- files ------------------------------------------------------------------------------------ */

int64_t cs_vq_entries(const cs_vq *vq, cs_safetensors_entry *entry)
{
    for (int64_t i = 0; i < vq->params.count; ++i) {
        const cs_param *p = &vq->params.param[i];
        entry[i] = (cs_safetensors_entry){
            .name = p->name, .dtype = CS_F32, .ndim = 2, .shape = {p->rows, p->cols}};
    }
    return vq->params.count;
}

cs_status cs_vq_write(const cs_vq *vq, cs_safetensors_writer *writer)
{
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(&vq->params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < vq->params.count && status == CS_OK; ++i) {
        const cs_param *p = &vq->params.param[i];
        status = cs_params_get(&vq->params, i, CS_PARAM_VALUE, value);
        if (status == CS_OK)
            status = cs_safetensors_writer_put(writer, value,
                                               p->rows * p->cols * (int64_t)sizeof *value);
    }
    return status;
}

cs_status cs_vq_read(const char *path, const cs_safetensors *file, cs_vq *vq)
{
    CS_AUTO_FREE float *value = cs_alloc(cs_params_most_items(&vq->params), sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < vq->params.count && status == CS_OK; ++i) {
        const cs_param *p = &vq->params.param[i];
        const cs_safetensors_entry *e = cs_safetensors_find(file, p->name);
        if (!e || e->ndim != 2 || e->shape[0] != p->rows || e->shape[1] != p->cols) {
            status = cs_fail(CS_ERR_INPUT, "%s: %s is missing or not %lld x %lld", path, p->name,
                             (long long)p->rows, (long long)p->cols);
        } else {
            status = cs_safetensors_read_f32(file, e, 0, e->items, value);
        }
        for (int64_t k = 0; k < p->rows * p->cols && status == CS_OK; ++k) {
            if (!isfinite(value[k]))
                status = cs_fail(CS_ERR_INPUT, "%s: %s: value %lld is not finite", path, p->name,
                                 (long long)k);
        }
        if (status == CS_OK) status = cs_params_set(&vq->params, i, CS_PARAM_VALUE, value);
    }
    return status;
}
