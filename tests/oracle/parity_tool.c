/* The outputs of a network, for checks against other implementations (development only).
 *
 *   parity_tool CASES.json OUT_PREFIX
 *
 * CASES: an array of cases (tests/parity_support.h), each with "backend". Case number i writes
 * OUT_PREFIX.i.npz: loss, losses (P), logits (P x V), value.NAME and in training grad.NAME for each
 * parameter; without a loss top and hidden.0, hidden.1, ...; and, with "head", logits; the arrays
 * of the batch as batch.NAME. Further members of a case:
 *
 *   updates   an array of AdamW settings: that many steps on the same batch; norm (of the gradient
 *             before each), values after the last, gradients before it
 *   write     a directory to write the model to, by cs_model_write
 *
 * Ends with 0, or 1 and the reason on stderr. */
#include <stdio.h>

#include "base/auto.h"
#include "io/json.h"
#include "io/npz.h"
#include "tests/parity_support.h"

/* An archive and the memory that it borrows until it is committed. */
enum { HELD = 4096 };
typedef struct {
    cs_npz_writer *npz;
    void *held[HELD];
    int count;
} results;

static double *reserve(results *r, int64_t n)
{
    double *x = r->count < HELD ? cs_alloc(n, sizeof *x) : NULL;
    if (x) {
        r->held[r->count++] = x;
    }
    return x;
}

static cs_status add(results *r, const char *name, int64_t rows, int64_t cols, const double *x)
{
    return cs_npz_add(r->npz, name, CS_F64, 2, (int64_t[]){rows, cols}, x);
}

static cs_status add_tensor(results *r, parity_world *w, const char *name, int tensor)
{
    if (tensor == CS_NONE) {
        return CS_OK;
    }
    const cs_tensor *t = &w->net.graph.tensor[tensor];
    int64_t rows =
        t->row_set == CS_NONE ? t->rows : w->run->batch[t->row_set] * w->run->length[t->row_set];
    double *x = reserve(r, t->rows * t->cols);
    cs_status status = x ? cs_run_get(w->run, tensor, x) : CS_ERR_MEMORY;
    return status == CS_OK ? add(r, name, rows, t->cols, x) : status;
}

static cs_status add_params(results *r, const parity_world *w, const char *prefix,
                            cs_param_block what)
{
    for (int64_t p = 0; p < w->model.params.count; ++p) {
        const cs_param *param = &w->model.params.param[p];
        double *x = reserve(r, param->rows * param->cols);
        char name[256];
        (void)snprintf(name, sizeof name, "%s.%s", prefix, param->name);
        cs_status status = x ? cs_params_get64(&w->model.params, p, what, x) : CS_ERR_MEMORY;
        if (status == CS_OK) status = add(r, name, param->rows, param->cols, x);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

static cs_status add_batch(results *r, const cs_batch *b)
{
    int64_t rows = b->batch * b->length, queries = b->batch * b->queries;
    int64_t decoder = b->batch * b->decoder_length, p = b->predictions;
    const struct {
        const char *name;
        const int32_t *x;
        int64_t n;
    } array[] = {{"token", b->token, rows},
                 {"position", b->position, rows},
                 {"vis", b->vis, rows},
                 {"lim", b->lim, rows},
                 {"query_position", b->query.position, queries},
                 {"query_lim", b->query.lim, queries},
                 {"decoder_from", b->decoder.from, decoder},
                 {"decoder_token", b->decoder.token, decoder},
                 {"decoder_position", b->decoder.position, decoder},
                 {"decoder_vis", b->decoder.vis, decoder},
                 {"decoder_lim", b->decoder.lim, decoder},
                 {"decoder_cross_lim", b->decoder.cross_lim, decoder},
                 {"predict", b->loss.predict, p},
                 {"target", b->loss.target, p},
                 {"example", b->loss.example, p},
                 {"place", b->loss.place, p}};
    char name[64];
    for (size_t i = 0; i < sizeof array / sizeof *array; ++i) {
        (void)snprintf(name, sizeof name, "batch.%s", array[i].name);
        if (array[i].x && cs_npz_add(r->npz, name, CS_I32, 1, &array[i].n, array[i].x) != CS_OK) {
            return CS_ERR_IO;
        }
    }
    double *size = reserve(r, 6);
    if (!size) {
        return CS_ERR_MEMORY;
    }
    size[0] = (double)b->batch;
    size[1] = (double)b->length;
    size[2] = (double)b->queries;
    size[3] = (double)b->decoder_length;
    size[4] = (double)p;
    size[5] = b->loss.weight_sum;
    cs_status status = add(r, "batch.sizes", 1, 6, size);
    return status == CS_OK ? add(r, "batch.weight", 1, p, b->loss.weight) : status;
}

static cs_adamw settings(const json_t *u)
{
    const char *key[] = {"learning_rate", "beta1", "beta2", "eps",
                         "weight_decay",  "clip",  "bias1", "bias2"};
    float x[8];
    for (int i = 0; i < 8; ++i) {
        x[i] = (float)json_number_value(json_object_get(u, key[i]));
    }
    return (cs_adamw){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
}

static cs_status steps(results *r, const json_t *what, parity_world *w)
{
    const json_t *updates = json_object_get(what, "updates");
    int64_t n = (int64_t)json_array_size(updates);
    cs_status status = parity_step(w);
    double *norm = n > 0 ? reserve(r, n) : NULL;
    if (n > 0 && !norm) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        cs_adamw hyper = settings(json_array_get(updates, (size_t)i));
        status = i == 0 ? CS_OK : parity_step(w);
        if (status == CS_OK) status = cs_params_update(&w->model.params, &hyper);
        const cs_params *p = &w->model.params;
        if (status == CS_OK)
            status = p->backend->get(p->backend, &norm[i], p->norm, (int64_t)sizeof *norm);
    }
    return n > 0 && status == CS_OK ? add(r, "norm", 1, n, norm) : status;
}

static cs_status add_results(results *r, parity_world *w)
{
    cs_status status = add_batch(r, &w->batch);
    if (status == CS_OK) status = add_params(r, w, "value", CS_PARAM_VALUE);
    if (w->net.loss.value == CS_NONE) {
        if (status == CS_OK) status = add_tensor(r, w, "top", w->net.top);
        for (int i = 0; i < w->net.hiddens && status == CS_OK; ++i) {
            char name[32];
            (void)snprintf(name, sizeof name, "hidden.%d", i);
            status = add_tensor(r, w, name, w->net.hidden[i]);
        }
        return status;
    }
    double *loss = reserve(r, 1);
    if (status == CS_OK)
        status = loss ? cs_run_sum(w->run, w->net.loss.value, loss) : CS_ERR_MEMORY;
    if (status == CS_OK) status = add(r, "loss", 1, 1, loss);
    if (status == CS_OK) status = add_tensor(r, w, "losses", w->net.loss.value);
    return status == CS_OK && w->net.options.training ? add_params(r, w, "grad", CS_PARAM_GRAD)
                                                      : status;
}

/* Logits are read by a second forward pass: backward writes their gradient over them. */
static cs_status finish(results *r, const json_t *what, parity_world *w)
{
    const char *dir = json_string_value(json_object_get(what, "write"));
    cs_status status = dir ? cs_model_write(&w->model, dir) : CS_OK;
    if (status == CS_OK && w->net.options.training) {
        status = cs_run_forward(w->run);
    }
    return status == CS_OK ? add_tensor(r, w, "logits", w->net.loss.logits) : status;
}

static cs_status one(const json_t *what, const char *path)
{
    const char *name = json_string_value(json_object_get(what, "backend"));
    cs_backend *backend = NULL;
    CS_AUTO_BY(parity_close, parity_world) world = {0};
    CS_AUTO_FREE results *r = cs_calloc(1, sizeof *r);
    cs_status status = r ? parity_backend(name ? name : "ref64", &backend) : CS_ERR_MEMORY;
    if (status == CS_OK) status = parity_open(what, &backend, &world);
    if (status == CS_OK) status = cs_npz_create(path, &r->npz);
    if (status == CS_OK) status = steps(r, what, &world);
    if (status == CS_OK) status = add_results(r, &world);
    if (status == CS_OK) status = finish(r, what, &world);
    if (status == CS_OK) status = cs_npz_commit(&r->npz);
    for (int i = 0; r && i < r->count; ++i) {
        cs_free(r->held[i]);
    }
    if (r) {
        cs_npz_abort(&r->npz);
    }
    return status;
}

int main(int argc, char **argv)
{
    json_auto_t *cases = NULL;
    if (argc != 3 || cs_json_read(argv[1], &cases) != CS_OK) {
        (void)fprintf(stderr, "usage: parity_tool CASES.json OUT_PREFIX: %s\n", cs_reason());
        return 1;
    }
    int code = 0;
    for (size_t i = 0; i < json_array_size(cases) && code == 0; ++i) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s.%zu.npz", argv[2], i);
        if (one(json_array_get(cases, i), path) != CS_OK) {
            (void)fprintf(stderr, "case %zu: %s\n", i, cs_reason());
            code = 1;
        }
    }
    return code;
}
