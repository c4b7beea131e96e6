/* The models of cospec verify trained: training by cs_train without a directory, the free table by
 * a graph of three operations, and what they learned read back.
 *
 * All of them decay the learning rate to zero: AdamW's steps do not shrink by themselves, and the
 * noise of drawn plans keeps factors at a distance from the optimum that follows the rate.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/train_corpus.h"
#include "cli/verify_trained.h"
#include "train/trainer.h"

enum { BATCH = 128, MOST_HEADS = 64, CHUNK = 256, FRESH = 4096, NETWORK_WIDTH = 32 };

/* --- common ------------------------------------------------------------------------------------*/

static cs_task task_of(const cs_trained *t)
{
    return (cs_task){.objective = t->toy->objective};
}

static cs_train_options recipe(const cs_trained *t)
{
    cs_train_options o = cs_train_defaults();
    o.task = task_of(t);
    o.steps = t->options->steps;
    o.batch = BATCH;
    o.length = t->toy->length;
    o.schedule = CS_SCHEDULE_COSINE;
    o.final_share = 0.0;
    o.weight_decay = 0.0;
    o.clip = 0.0;
    o.seed = t->options->seed;
    o.log_every = o.eval_every = o.save_every = 0;
    return o;
}

static cs_status train(const cs_trained *t, cs_model_config *config, const cs_train_options *o,
                       cs_model *model)
{
    cs_train_result result;
    cs_status status = cs_model_config_check(config);
    if (status == CS_OK && (status = cs_task_check(&o->task, config)) == CS_OK &&
        (status = cs_model_init(config, t->backend, true, model)) == CS_OK &&
        (status = cs_model_randomise(model, o->seed)) == CS_OK) {
        status = cs_train(model, &t->corpus, t->tokenizer, o, &result);
    }
    return status;
}

/* A parameter's rows `row[i]` (NULL: i) as the columns of a dense matrix lie. */
static cs_status read_rows(const cs_params *params, const char *name, int64_t rows,
                           const int32_t *row, cs_dense *out)
{
    int64_t number = cs_params_find(params, name);
    int64_t cols = params->param[number].cols;
    double *all = cs_alloc(params->param[number].rows * cols, sizeof *all);
    cs_status status = all ? cs_params_get64(params, number, CS_PARAM_VALUE, all) : CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_dense_init(out, rows, cols)) == CS_OK) {
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < cols; ++j) {
                out->data[i + j * out->ld] = all[(row ? row[i] : i) * cols + j];
            }
        }
    }
    cs_free(all);
    return status;
}

/* --- linear attention --------------------------------------------------------------------------*/

/* Contexts first .. first + count - 1 as sequences with one query row each, which sees all. */
static cs_status load_contexts(const cs_toy_contexts *c, const cs_network *net, int64_t first,
                               int64_t count, cs_run *run)
{
    int64_t length = net->options.length;
    cs_status status = cs_run_rows(run, net->rows, count, length);
    if (status == CS_OK) {
        status = cs_run_rows(run, net->query_rows, count, 1);
    }
    if (status == CS_OK) {
        status = cs_run_rows(run, net->loss_rows, 1, count);
    }
    if (status != CS_OK) {
        return status;
    }
    int32_t *token = cs_run_index(run, net->token), *vis = cs_run_index(run, net->vis);
    int32_t *lim = cs_run_index(run, net->query_lim), *predict = cs_run_index(run, net->predict);
    for (int64_t b = 0; b < count; ++b) {
        int64_t at = c->ptr[first + b], n = c->ptr[first + b + 1] - at;
        for (int64_t i = 0; i < length; ++i) {
            token[b * length + i] = i < n ? c->token[at + i] : -1;
            vis[b * length + i] = i < n ? 0 : INT32_MAX;
        }
        lim[b] = 0;
        predict[b] = (int32_t)b;
    }
    return cs_run_upload(run, (cs_run_key){0});
}

/* f of every context by the network itself. */
static cs_status read_features(const cs_trained *t, cs_model *model, cs_dense *f)
{
    const cs_toy_contexts *c = &t->contexts;
    const cs_network_options wanted = {.form = CS_FORM_LINEAR,
                                       .loss = CS_LOSS_NONE,
                                       .batch = CHUNK,
                                       .length = c->longest > 0 ? c->longest : 1,
                                       .queries = 1,
                                       .predictions = CHUNK};
    int64_t d = model->config.width;
    cs_network net = {0};
    cs_run *run = NULL;
    double *values = cs_alloc(CHUNK * d, sizeof *values);
    cs_status status = values ? cs_network_build(model, &wanted, &net) : CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_run_init(&net.graph, &model->params, &run)) == CS_OK) {
        status = cs_dense_init(f, c->a.rows, d);
    }
    for (int64_t first = 0; status == CS_OK && first < c->a.rows; first += CHUNK) {
        int64_t count = c->a.rows - first < CHUNK ? c->a.rows - first : CHUNK;
        if ((status = load_contexts(c, &net, first, count, run)) == CS_OK &&
            (status = cs_run_forward(run)) == CS_OK) {
            status = cs_run_get(run, net.features, values);
        }
        for (int64_t i = 0; status == CS_OK && i < count; ++i) {
            for (int64_t j = 0; j < d; ++j) {
                f->data[first + i + j * f->ld] = values[i * d + j];
            }
        }
    }
    cs_run_free(&run);
    cs_network_free(&net);
    cs_free(values);
    return status;
}

/* A head a feature: with all features in one head, a single attention pattern has to serve them
 * all, and training settles in minima without the smallest singular direction (seen with diverse-ar
 * and group-ar for most seeds); a feature that has its own leaves them. */
cs_status cs_trained_linear(const cs_trained *t, double factor, cs_dense *f, cs_dense *w)
{
    cs_model model = {0};
    cs_train_options o = recipe(t);
    cs_model_config config = {.vocab = cs_tokenizer_vocab(t->tokenizer),
                              .width = t->width,
                              .layers = 1,
                              .heads = t->width <= MOST_HEADS ? t->width : 1};
    cs_model_config_default(CS_ARCH_LINEAR, &config);
    cs_model_config_ids(&config, cs_special_ids_of(t->tokenizer));
    config.pooling = CS_TRAINED_POOLING;
    o.loss = CS_LOSS_SPECTRAL;
    o.spectral_factor = factor;
    o.learning_rate = 0.02;
    cs_status status = train(t, &config, &o, &model);
    if (status == CS_OK && (status = read_features(t, &model, f)) == CS_OK) {
        status =
            read_rows(&model.params, "output.weight", t->contexts.a.cols, t->contexts.target, w);
    }
    cs_model_free(&model);
    return status;
}

/* --- the free table ----------------------------------------------------------------------------*/

typedef struct {
    cs_graph graph;
    cs_params params;
    cs_run *run;
    int rows, context, target, weight, mass, loss;
} table;

static void table_free(table *m)
{
    cs_run_free(&m->run);
    cs_graph_free(&m->graph);
    cs_params_free(&m->params);
}

/* z = f[context] W^T, a loss row for each nonzero of A. */
static cs_status table_build(const cs_trained *t, double factor, table *m)
{
    const cs_csr *a = &t->contexts.a;
    int64_t f = cs_params_add(&m->params, "context", a->rows, t->width, false);
    int64_t w = cs_params_add(&m->params, "output", a->cols, t->width, false);
    if (f < 0 || w < 0) {
        return CS_ERR_MEMORY;
    }
    cs_graph *g = &m->graph;
    cs_graph_init(g, true);
    int ft = cs_graph_param(g, "context", a->rows, t->width, m->params.param[f].offset, true);
    int wt = cs_graph_param(g, "output", a->cols, t->width, m->params.param[w].offset, true);
    m->rows = cs_graph_rows(g, 1, cs_csr_nnz(a));
    m->context = cs_graph_index(g, m->rows, "context");
    m->target = cs_graph_index(g, m->rows, "target");
    m->weight = cs_graph_input(g, m->rows, 1, "weight");
    m->mass = cs_graph_input(g, CS_NONE, a->cols, "mass");
    int x = cs_graph_embed(g, CS_NONE, m->rows, 1, &ft, &m->context);
    int z = cs_graph_linear(g, x, wt, CS_NONE, CS_ACT_NONE);
    m->loss = cs_graph_spectral_loss(g, z, a->cols, m->target, m->weight, m->mass, factor);
    cs_status status = cs_graph_finish(g);
    if (status == CS_OK && (status = cs_params_allocate(&m->params, t->backend, true)) == CS_OK) {
        status = cs_run_init(g, &m->params, &m->run);
    }
    return status;
}

/* Standard normals times 1 / sqrt(d), so that products are of order one. */
static cs_status table_randomise(const cs_trained *t, table *m)
{
    cs_status status = CS_OK;
    for (int64_t p = 0; p < m->params.count && status == CS_OK; ++p) {
        int64_t items = m->params.param[p].rows * m->params.param[p].cols;
        cs_rng rng = cs_rng_at(t->options->seed, CS_STREAM_INIT, (uint64_t)p);
        double *x = cs_alloc(items, sizeof *x);
        status = x ? CS_OK : CS_ERR_MEMORY;
        for (int64_t i = 0; x && i < items; ++i) {
            x[i] = cs_rng_normal(&rng) / sqrt((double)t->width);
        }
        if (status == CS_OK) {
            status = cs_params_set64(&m->params, p, CS_PARAM_VALUE, x);
        }
        cs_free(x);
    }
    return status;
}

/* Every nonzero with its probability: the expectation itself, the same in every step. */
static cs_status table_load(const cs_trained *t, table *m)
{
    const cs_csr *a = &t->contexts.a;
    cs_status status = cs_run_rows(m->run, m->rows, 1, cs_csr_nnz(a));
    if (status != CS_OK) {
        return status;
    }
    int32_t *context = cs_run_index(m->run, m->context), *target = cs_run_index(m->run, m->target);
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            context[e] = (int32_t)i;
            target[e] = a->col[e];
            cs_run_input(m->run, m->weight, e, 0, a->val[e]);
        }
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        double root = t->target.problem.root_col[j];
        cs_run_input(m->run, m->mass, 0, j, root * root);
    }
    return cs_run_upload(m->run, (cs_run_key){0});
}

static cs_status table_step(const cs_trained *t, table *m, int64_t step)
{
    int64_t steps = t->options->steps;
    const cs_adamw hyper = {.learning_rate = (float)cs_schedule_rate(
                                CS_SCHEDULE_COSINE, 0.02, 0.0,
                                cs_schedule_warmup(CS_SCHEDULE_COSINE, steps), steps, step),
                            .beta1 = 0.9F,
                            .beta2 = 0.98F,
                            .eps = 1e-12F,
                            .bias1 = (float)(1.0 - pow(0.9, (double)step)),
                            .bias2 = (float)(1.0 - pow(0.98, (double)step))};
    cs_status status = cs_params_zero_grad(&m->params);
    if (status == CS_OK && (status = cs_run_forward(m->run)) == CS_OK &&
        (status = cs_run_backward(m->run)) == CS_OK) {
        status = cs_params_update(&m->params, &hyper);
    }
    return status;
}

cs_status cs_trained_table(const cs_trained *t, double factor, cs_dense *f, cs_dense *w)
{
    table m = {0};
    cs_status status = table_build(t, factor, &m);
    if (status == CS_OK && (status = table_randomise(t, &m)) == CS_OK) {
        status = table_load(t, &m);
    }
    for (int64_t step = 1; status == CS_OK && step <= t->options->steps; ++step) {
        status = cs_interrupted() ? cs_fail(CS_ERR_INTERRUPT, "interrupted") : CS_OK;
        if (status == CS_OK) {
            status = table_step(t, &m, step);
        }
    }
    if (status == CS_OK &&
        (status = read_rows(&m.params, "context", t->contexts.a.rows, NULL, f)) == CS_OK) {
        status = read_rows(&m.params, "output", t->contexts.a.cols, NULL, w);
    }
    table_free(&m);
    return status;
}

/* --- a Transformer under cross-entropy ---------------------------------------------------------*/

/* Sums of loss and weight by sequence. */
typedef struct {
    double *loss, *weight; /* FRESH */
} sums;

static cs_status measure_batch(const cs_trained *t, const cs_model *model, const cs_task *task,
                               const int32_t *token, int64_t first, int64_t count,
                               const cs_network *net, cs_run *run, sums *out)
{
    cs_example example[CHUNK];
    cs_batch batch = {0};
    int64_t s = t->toy->length;
    for (int64_t i = 0; i < count; ++i) {
        example[i] = (cs_example){.token = token + (first + i) * s, .length = s, .row = first + i};
    }
    /* Step 0: plans that no step of training draws. */
    cs_status status =
        cs_batch_build(task, &model->config, example, count, t->options->seed, 0, NULL, &batch);
    double *loss = status == CS_OK ? cs_alloc(batch.predictions, sizeof *loss) : NULL;
    if (status == CS_OK && !loss) {
        status = CS_ERR_MEMORY;
    }
    if (status == CS_OK &&
        (status = cs_batch_load(&batch, net, 1.0, NULL, (cs_run_key){0}, run)) == CS_OK &&
        (status = cs_run_forward(run)) == CS_OK) {
        status = cs_run_get(run, net->loss, loss);
    }
    for (int64_t p = 0; status == CS_OK && p < batch.predictions; ++p) {
        if (batch.example[p] >= 0) {
            out->loss[first + batch.example[p]] += loss[p];
            out->weight[first + batch.example[p]] += batch.weight[p];
        }
    }
    cs_free(loss);
    cs_batch_free(&batch);
    return status;
}

/* The ratio of sums, and its standard error from sequences (they are independent, their tokens are
 * not). */
static void ratio(const sums *x, int64_t n, cs_learned_entropy *out)
{
    double loss = 0.0, weight = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        loss += x->loss[i];
        weight += x->weight[i];
    }
    for (int64_t i = 0; i < n; ++i) {
        double rest = x->loss[i] - loss / weight * x->weight[i];
        square += rest * rest;
    }
    out->loss = loss / weight;
    out->se = sqrt(square) / weight;
    out->sequences = n;
}

static cs_status measure(const cs_trained *t, cs_model *model, const cs_task *task,
                         cs_learned_entropy *out)
{
    int64_t s = t->toy->length;
    cs_network net = {0};
    cs_run *run = NULL;
    cs_network_options wanted = {.form = cs_form_of(task, &model->config),
                                 .loss = CS_LOSS_CROSS_ENTROPY};
    int32_t *token = cs_alloc(FRESH * s, sizeof *token);
    sums x = {cs_calloc(FRESH, sizeof *x.loss), cs_calloc(FRESH, sizeof *x.weight)};
    cs_status status = token && x.loss && x.weight ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = cs_task_sizes(task, &model->config, CHUNK, s, &wanted)) == CS_OK &&
        (status = cs_network_build(model, &wanted, &net)) == CS_OK) {
        status = cs_run_init(&net.graph, &model->params, &run);
    }
    for (int64_t i = 0; status == CS_OK && i < FRESH; ++i) { /* the corpus has the numbers below */
        cs_rng rng = cs_rng_at(t->options->seed, CS_STREAM_TOY, (uint64_t)(INT32_MAX + i));
        cs_toy_sequence_draw(t->toy, &rng, token + i * s);
    }
    for (int64_t first = 0; status == CS_OK && first < FRESH; first += CHUNK) {
        status = measure_batch(t, model, task, token, first, CHUNK, &net, run, &x);
    }
    if (status == CS_OK) {
        ratio(&x, FRESH, out);
    }
    cs_run_free(&run);
    cs_network_free(&net);
    cs_free(token);
    cs_free(x.loss);
    cs_free(x.weight);
    return status;
}

cs_status cs_trained_network(const cs_trained *t, cs_learned_entropy *out)
{
    cs_model model = {0};
    cs_train_options o = recipe(t);
    cs_model_config config = {.vocab = cs_tokenizer_vocab(t->tokenizer),
                              .positions = t->toy->length + 1, /* a begin token may come first */
                              .width = NETWORK_WIDTH,
                              .layers = 2,
                              .heads = 2,
                              .inner = (int64_t)4 * NETWORK_WIDTH};
    cs_model_config_default(CS_ARCH_GPT2, &config);
    cs_model_config_ids(&config, cs_special_ids_of(t->tokenizer));
    config.query_vector = cs_form_of(&o.task, &config) == CS_FORM_TWO_STREAM;
    o.batch = 64;
    o.steps = o.steps / 4 > 0 ? o.steps / 4 : 1; /* it needs less, and a step costs more */
    o.learning_rate = 3e-3;
    cs_status status = train(t, &config, &o, &model);
    *out = (cs_learned_entropy){.optimum = t->contexts.cross_entropy};
    if (status == CS_OK) {
        status = measure(t, &model, &o.task, out);
    }
    cs_model_free(&model);
    return status;
}
