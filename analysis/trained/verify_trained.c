/* cospec verify trained: small models trained on the toy model's sequences, compared with theory.
 *
 *   linear   the blind linear architecture under the spectral loss, factors 2 and 1
 *   table    a free vector a context under the same loss and the same operations: the
 *            optimum of the loss without the limits of an architecture
 *   network  a small Transformer under cross-entropy, which knows which position it fills
 *
 * Training is cs_train's without a directory, the table a graph of three operations. All of them
 * decay the learning rate to zero: AdamW's steps do not shrink by themselves, and the noise of
 * drawn plans keeps factors at a distance from the optimum that follows the rate. The tolerances
 * are reached by the default budget with a margin on the objectives whose optimum the architecture
 * holds; missing them is INCONCLUSIVE. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trained/learned_order.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "model/pass.h"
#include "train/specials.h"
#include "train/trainer.h"

enum { BATCH = 128, MOST_HEADS = 64, CHUNK = 256, FRESH = 4096, NETWORK_WIDTH = 32 };
enum { MOST_ENTRIES = 1 << 15, MOST_DOCUMENTS = 4096, MOST_WIDTH = 16 };
static const double ANGLE = 0.05;    /* radians */
static const double ENTROPY = 0.005; /* nats */

/* Power of 1/n in the linear architecture: the mean keeps a constant the same for contexts of any
 * size, and the constant is the first singular function. */
static const double POOLING = 2.0;

typedef struct {
    const cs_toy *toy;
    const cs_theorem_input *options;
    char *input;
    cs_toy_contexts contexts;
    cs_learned_target target;
    cs_corpus corpus; /* all sequences, or a sample of them */
    cs_tokenizer *tokenizer;
    cs_backend *backend;
    int64_t width;
} cs_trained;

/* --- common ------------------------------------------------------------------------------------*/

static cs_train_options recipe(const cs_trained *t)
{
    cs_train_options o = cs_train_defaults();
    o.task.objective = t->toy->objective;
    o.steps = t->options->steps;
    o.data.batch = BATCH;
    o.data.length = t->toy->length;
    o.rate.schedule = CS_SCHEDULE_COSINE;
    o.rate.final_share = 0.0;
    o.adamw.weight_decay = 0.0;
    o.adamw.clip = 0.0;
    o.seed = t->options->seed;
    o.intervals.log_every = o.intervals.eval_every = o.intervals.save_every = 0;
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
    CS_AUTO(cs_pool) pool = {0};
    const cs_param *p = NULL;
    double *all = NULL;
    cs_status status = cs_params_read(params, name, &pool, &p, &all);
    if (status == CS_OK) status = cs_dense_init(out, rows, p->cols);
    for (int64_t i = 0; i < rows && status == CS_OK; ++i) {
        for (int64_t j = 0; j < p->cols; ++j) {
            out->data[i + j * out->ld] = all[(row ? row[i] : i) * p->cols + j];
        }
    }
    return status;
}

/* --- linear attention --------------------------------------------------------------------------*/

/* Contexts first .. first + count - 1 as sequences with one query row each, which sees all. */
static cs_status fill_contexts(const cs_toy_contexts *c, int64_t first, int64_t count,
                               cs_pass *pass)
{
    cs_status status = cs_pass_begin(pass, count, pass->sizes.length, count);
    for (int64_t b = 0; b < count && status == CS_OK; ++b) {
        int64_t at = c->ptr[first + b], n = c->ptr[first + b + 1] - at;
        for (int64_t i = 0; i < n; ++i) {
            cs_batch_content(&pass->batch, &pass->model->config, b, i, c->token[at + i], i, 0);
        }
        cs_batch_query(&pass->batch, b, -1, 0);
        cs_batch_predict(&pass->batch, b, -1, 0, b, 0);
    }
    return status;
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
    int64_t d = model->config.shape.width;
    cs_pass pass = {0};
    CS_AUTO_FREE double *values = cs_alloc(CHUNK * d, sizeof *values);
    cs_status status = values ? cs_pass_open(model, &wanted, &pass) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dense_init(f, c->a.rows, d);
    for (int64_t first = 0; status == CS_OK && first < c->a.rows; first += CHUNK) {
        int64_t count = c->a.rows - first < CHUNK ? c->a.rows - first : CHUNK;
        if ((status = fill_contexts(c, first, count, &pass)) == CS_OK &&
            (status = cs_pass_forward(&pass, 1, (cs_run_key){0})) == CS_OK) {
            status = cs_run_get(pass.run, pass.network.loss.features, values);
        }
        for (int64_t i = 0; status == CS_OK && i < count; ++i) {
            for (int64_t j = 0; j < d; ++j) {
                f->data[first + i + j * f->ld] = values[i * d + j];
            }
        }
    }
    cs_pass_close(&pass);
    return status;
}

/* A head for each feature: with all features in one head, a single attention pattern has to serve them
 * all, and training converges to minima without the smallest singular direction (seen with
 * diverse-ar and group-ar for most seeds); a feature that has its own leaves them. */
static cs_status linear_factors(const cs_trained *t, cs_model *model, cs_dense *f, cs_dense *w)
{
    cs_status status = read_features(t, model, f);
    return status == CS_OK ? read_rows(&model->params, "output.weight", t->contexts.a.cols,
                                       t->contexts.target, w)
                           : status;
}

/* The course of training, measured between two steps. */
typedef struct {
    const cs_trained *t;
    cs_model *model;
    double factor;
    cs_item *order;
    cs_status status;
} course;

static void measure_step(void *ctx, const char *stage, int64_t step, int64_t steps)
{
    course *c = ctx;
    CS_AUTO(cs_dense) f = {0}, w = {0};
    (void)stage;
    if (c->status == CS_OK && cs_learned_step(step, steps)) {
        c->status = linear_factors(c->t, c->model, &f, &w);
        if (c->status == CS_OK)
            c->status = cs_learned_modes_record(&c->t->target, &f, &w, c->factor, step, c->order);
    }
}

static cs_status trained_linear(const cs_trained *t, double factor, cs_item *order, cs_dense *f,
                                cs_dense *w)
{
    CS_AUTO(cs_model) model = {0};
    cs_train_options o = recipe(t);
    cs_model_config config = {.shape.vocab = cs_tokenizer_vocab(t->tokenizer),
                              .shape.width = t->width,
                              .shape.layers = 1,
                              .shape.heads = t->width <= MOST_HEADS ? t->width : 1};
    cs_model_config_default(CS_ARCH_LINEAR, &config);
    cs_model_config_ids(&config, cs_special_ids_of(t->tokenizer));
    config.head.pooling = POOLING;
    o.loss = CS_LOSS_SPECTRAL;
    o.spectral_factor = factor;
    o.rate.learning_rate = 0.02;
    course measured = {.t = t, .model = &model, .factor = factor, .order = order};
    o.progress = &(cs_progress){measure_step, &measured};
    cs_status status = train(t, &config, &o, &model);
    if (status == CS_OK) status = measured.status;
    return status == CS_OK ? linear_factors(t, &model, f, w) : status;
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
    if (f < 0 || w < 0) return CS_ERR_MEMORY;
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
    if (status == CS_OK && (status = cs_params_allocate(&m->params, t->backend, true)) == CS_OK)
        status = cs_run_init(g, &m->params, &m->run);
    return status;
}

/* Standard normals times 1 / sqrt(d), so that products are of order one. */
static cs_status table_randomise(const cs_trained *t, table *m)
{
    cs_status status = CS_OK;
    for (int64_t p = 0; p < m->params.count && status == CS_OK; ++p) {
        int64_t items = m->params.param[p].rows * m->params.param[p].cols;
        cs_rng rng = cs_rng_at(t->options->seed, CS_STREAM_INIT, (uint64_t)p);
        CS_AUTO_FREE double *x = cs_alloc(items, sizeof *x);
        status = x ? CS_OK : CS_ERR_MEMORY;
        for (int64_t i = 0; x && i < items; ++i) {
            x[i] = cs_rng_normal(&rng) / sqrt((double)t->width);
        }
        if (status == CS_OK) status = cs_params_set64(&m->params, p, CS_PARAM_VALUE, x);
    }
    return status;
}

/* Every nonzero with its probability: the expectation itself, the same in every step. */
static cs_status table_load(const cs_trained *t, table *m)
{
    const cs_csr *a = &t->contexts.a;
    cs_status status = cs_run_rows(m->run, m->rows, 1, cs_csr_nnz(a));
    if (status != CS_OK) return status;
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
                                cs_schedule_warmup(CS_SCHEDULE_COSINE, steps), 0, steps, step),
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

static cs_status table_factors(const cs_trained *t, const table *m, cs_dense *f, cs_dense *w)
{
    cs_status status = read_rows(&m->params, "context", t->contexts.a.rows, NULL, f);
    return status == CS_OK ? read_rows(&m->params, "output", t->contexts.a.cols, NULL, w) : status;
}

static cs_status trained_table(const cs_trained *t, double factor, cs_item *order, cs_dense *f,
                               cs_dense *w)
{
    CS_AUTO(table) m = {0};
    cs_status status = table_build(t, factor, &m);
    if (status == CS_OK && (status = table_randomise(t, &m)) == CS_OK) status = table_load(t, &m);
    for (int64_t step = 1; status == CS_OK && step <= t->options->steps; ++step) {
        status = cs_interrupted() ? cs_fail(CS_ERR_INTERRUPT, "interrupted") : CS_OK;
        if (status == CS_OK) status = table_step(t, &m, step);
        if (status == CS_OK && cs_learned_step(step, t->options->steps)) {
            CS_AUTO(cs_dense) now_f = {0}, now_w = {0};
            status = table_factors(t, &m, &now_f, &now_w);
            if (status == CS_OK)
                status = cs_learned_modes_record(&t->target, &now_f, &now_w, factor, step, order);
        }
    }
    return status == CS_OK ? table_factors(t, &m, f, w) : status;
}

/* --- a Transformer under cross-entropy ---------------------------------------------------------*/

/* Sums of loss and weight by sequence. */
typedef struct {
    double *loss, *weight; /* FRESH */
} sums;

/* The CHUNK sequences from `first` on. */
static cs_status measure_batch(const cs_trained *t, const cs_task *task, const int32_t *token,
                               int64_t first, cs_pass *pass, sums *out)
{
    cs_example example[CHUNK];
    cs_batch *batch = &pass->batch;
    int64_t s = t->toy->length;
    for (int64_t i = 0; i < CHUNK; ++i) {
        example[i] = (cs_example){.token = token + (first + i) * s, .length = s, .row = first + i};
    }
    cs_batch_free(batch);
    /* Step 0: plans that no step of training draws. */
    cs_status status =
        cs_batch_build(&(cs_batch_order){task, &pass->model->config, t->options->seed, 0, NULL},
                       example, CHUNK, batch);
    CS_AUTO_FREE double *loss = status == CS_OK ? cs_alloc(batch->predictions, sizeof *loss) : NULL;
    if (status == CS_OK && !loss) status = CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_pass_forward(pass, 1.0, (cs_run_key){0})) == CS_OK)
        status = cs_run_get(pass->run, pass->network.loss.value, loss);
    for (int64_t p = 0; status == CS_OK && p < batch->events; ++p) {
        out->loss[first + batch->loss.example[p]] += loss[p];
        out->weight[first + batch->loss.example[p]] += batch->loss.weight[p];
    }
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
    cs_pass pass = {0};
    cs_network_options wanted = {.form = cs_form_of(task, &model->config),
                                 .loss = CS_LOSS_CROSS_ENTROPY};
    CS_AUTO(cs_pool) pool = {0};
    int32_t *token = cs_pool_take(&pool, FRESH * s, sizeof *token);
    sums x = {cs_pool_take(&pool, FRESH, sizeof *x.loss),
              cs_pool_take(&pool, FRESH, sizeof *x.weight)};
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_task_sizes(task, &model->config, CHUNK, s, &wanted);
    if (status == CS_OK) status = cs_pass_open(model, &wanted, &pass);
    for (int64_t i = 0; status == CS_OK && i < FRESH; ++i) { /* the corpus has the numbers below */
        cs_rng rng = cs_rng_at(t->options->seed, CS_STREAM_TOY, (uint64_t)(INT32_MAX + i));
        cs_toy_sequence_draw(t->toy, &rng, token + i * s);
    }
    for (int64_t first = 0; status == CS_OK && first < FRESH; first += CHUNK) {
        status = measure_batch(t, task, token, first, &pass, &x);
    }
    if (status == CS_OK) ratio(&x, FRESH, out);
    cs_pass_close(&pass);
    return status;
}

static cs_status trained_network(const cs_trained *t, cs_learned_entropy *out)
{
    CS_AUTO(cs_model) model = {0};
    cs_train_options o = recipe(t);
    cs_model_config config = {.shape.vocab = cs_tokenizer_vocab(t->tokenizer),
                              .shape.positions =
                                  t->toy->length + 1, /* a begin token may come first */
                              .shape.width = NETWORK_WIDTH,
                              .shape.layers = 2,
                              .shape.heads = 2,
                              .shape.inner = (int64_t)4 * NETWORK_WIDTH};
    cs_model_config_default(CS_ARCH_GPT2, &config);
    cs_model_config_ids(&config, cs_special_ids_of(t->tokenizer));
    config.attention.query_vector = cs_form_of(&o.task, &config) == CS_FORM_TWO_STREAM;
    o.data.batch = 64;
    o.steps = o.steps / 4 > 0 ? o.steps / 4 : 1; /* it needs less, and a step costs more */
    o.rate.learning_rate = 3e-3;
    cs_status status = train(t, &config, &o, &model);
    *out = (cs_learned_entropy){.optimum = t->contexts.cross_entropy};
    return status == CS_OK ? measure(t, &model, &o.task, out) : status;
}

/* --- setting up --------------------------------------------------------------------------------*/

static cs_status make_corpus(cs_trained *t)
{
    const cs_toy *toy = t->toy;
    double all = cs_toy_sequences(toy);
    bool sample = all > MOST_DOCUMENTS;
    cs_corpus *c = &t->corpus;
    c->documents = sample ? MOST_DOCUMENTS : (int64_t)all;
    c->tokens = c->documents * toy->length;
    c->vocab = t->contexts.vocab;
    c->unknown = -1;
    c->doc_ptr = cs_alloc(c->documents + 1, sizeof *c->doc_ptr);
    c->token = cs_alloc(c->tokens, sizeof *c->token);
    c->label = cs_alloc(c->documents, sizeof *c->label);
    c->held_out = cs_calloc(c->documents, 1);
    if (!c->doc_ptr || !c->token || !c->label || !c->held_out) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < c->documents; ++d) {
        int32_t *token = c->token + d * toy->length;
        cs_rng rng = cs_rng_at(t->options->seed, CS_STREAM_TOY, (uint64_t)d);
        c->doc_ptr[d] = d * toy->length;
        c->label[d] = -1;
        if (sample) {
            cs_toy_sequence_draw(toy, &rng, token);
        } else {
            cs_toy_sequence(toy, d, token);
        }
    }
    c->doc_ptr[c->documents] = c->tokens;
    return CS_OK;
}

/* The model's width, at most the smaller side of the matrix. */
static cs_status choose_width(cs_trained *t)
{
    const cs_csr *a = &t->contexts.a;
    int64_t side = a->rows < a->cols ? a->rows : a->cols, wanted = t->options->width;
    if (wanted > side) {
        return cs_fail(CS_ERR_USAGE, "--width %lld: the matrix of %s has only %lld x %lld entries",
                       (long long)wanted, t->input, (long long)a->rows, (long long)a->cols);
    }
    int64_t gap = cs_learned_gap(&t->target.spectrum, MOST_WIDTH);
    int64_t most = side < MOST_WIDTH ? side : MOST_WIDTH;
    t->width = wanted > 0 ? wanted : gap > 0 ? gap : most;
    return CS_OK;
}

static cs_status set_up(cs_trained *t)
{
    t->input = cs_toy_describe(t->toy);
    cs_status status =
        t->input ? cs_toy_contexts_of(t->toy, MOST_ENTRIES, &t->contexts) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = cs_learned_target_of(&t->contexts.a, t->options->spectrum, &t->target)) ==
            CS_OK &&
        (status = choose_width(t)) == CS_OK && (status = make_corpus(t)) == CS_OK &&
        (status = cs_tokenizer_of_corpus(&t->corpus, CS_SPLITTER_WHITESPACE, &t->tokenizer)) ==
            CS_OK) {
        status = cs_backend_cpu(1, &t->backend); /* models this small gain nothing from threads */
    }
    return status;
}

static void tear_down(cs_trained *t)
{
    cs_free(t->input);
    cs_toy_contexts_free(&t->contexts);
    cs_learned_target_free(&t->target);
    cs_corpus_free(&t->corpus);
    cs_tokenizer_free(&t->tokenizer);
    cs_backend_free(&t->backend);
}

/* --- results -----------------------------------------------------------------------------------*/

static cs_item *start_row(cs_item *rows, const cs_trained *t, const char *model)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_item_text(row, "input", t->input);
    cs_item_text(row, "model", model);
    cs_item_int(row, "documents", t->corpus.documents);
    return row;
}

static void factors_row(const cs_learned *l, const cs_linear_reach *reach, cs_item *row)
{
    const double half2 = l->factor * l->factor / 4;
    CS_ITEM_FIELDS(row, l, width, t, loss, excess, distance);
    cs_item_real(row, "optimum", l->minimum);
    cs_item_real(row, "excess_share", l->excess / -l->minimum);
    cs_item_real(row, "left_angle", l->t > 0 ? l->left[l->t - 1] : NAN);
    cs_item_real(row, "right_angle", l->t > 0 ? l->right[l->t - 1] : NAN);
    cs_item_real(row, "uniform", reach ? half2 * reach->uniform : NAN);
    cs_item_real(row, "quadratic", reach ? half2 * reach->any : NAN);
}

/* --- the audits --------------------------------------------------------------------------------*/

/* Factors at the end, and rows of cs_learned_modes_record on the way. */
typedef cs_status (*trainer)(const cs_trained *t, double factor, cs_item *order, cs_dense *f,
                             cs_dense *w);

static cs_status spectral(const cs_trained *t, trainer make, const char *model, double factor,
                          const cs_linear_reach *reach, cs_theorem_report *report)
{
    CS_AUTO(cs_dense) f = {0}, w = {0};
    CS_AUTO(cs_learned) learned = {0};
    cs_item *row = start_row(report->rows, t, model);
    cs_status status = make(t, factor, cs_item_array(row, "~order"), &f, &w);
    if (status == CS_OK &&
        (status = cs_learned_of(&t->target, &f, &w, factor, 1, &learned)) == CS_OK &&
        (status = cs_learned_state(&learned, model, t->input, reach, ANGLE, &report->statements)) ==
            CS_OK) {
        factors_row(&learned, reach, row);
    }
    return status;
}

static cs_status entropy(const cs_trained *t, cs_theorem_report *report)
{
    cs_learned_entropy e;
    cs_status status = trained_network(t, &e);
    if (status == CS_OK && (status = cs_learned_entropy_state(&e, "transformer", t->input, ENTROPY,
                                                              &report->statements)) == CS_OK) {
        cs_item *row = start_row(report->rows, t, "transformer");
        CS_ITEM_FIELDS(row, &e, loss, se, optimum);
        cs_item_real(row, "excess", e.loss - e.optimum);
        cs_item_real(row, "excess_share", (e.loss - e.optimum) / e.optimum);
    }
    return status;
}

static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    static const struct {
        trainer make;
        const char *model;
        double factor;
        bool architecture; /* has its own limits */
    } model[] = {{trained_linear, "linear-b2", 2.0, true},
                 {trained_linear, "linear-b1", 1.0, true},
                 {trained_table, "table-b2", 2.0, false}};
    cs_trained t = {.toy = in->toy, .options = in};
    cs_linear_reach reach;
    cs_status status = set_up(&t);
    if (status == CS_OK)
        status = cs_linear_reach_of(&t.target, &t.contexts, t.width, POOLING, &reach);
    for (size_t i = 0; i < sizeof model / sizeof *model && status == CS_OK; ++i) {
        status = spectral(&t, model[i].make, model[i].model, model[i].factor,
                          model[i].architecture ? &reach : NULL, report);
    }
    if (status == CS_OK) status = entropy(&t, report);
    tear_down(&t);
    return status;
}

const cs_theorem cs_entry_trained = {
    .id = "trained",
    .about = "verify trained is about the toy model, or about a run with its matrix",
    .paper = "cospec",
    .corrected_words = "training finds the factors of Abar, largest first",
    .corrected =
        "-(b/2)^2 (sigma_1^2 + ... + sigma_d^2) <= L_b(f, W), and training comes near: its "
        "subspaces are those of Abar",
    .options = "width steps",
    .apart = true,
    .course_of_run = true,
    .run = {[CS_ON_TOY] = on_toy, [CS_ON_MODEL] = cs_verify_order},
    .file = "trained.csv",
    .key = "~trained",
    .view = {"~trained[]", "input model documents width t loss se optimum excess excess_share "
                           "distance left_angle right_angle uniform quadratic modes reached tau p "
                           "tau_weighted p_weighted tau_frequency p_frequency"},
    .course_file = "order.csv",
    .course = {"~trained[].~order[]",
               "input=^input model=^model step mode sigma count share energy observed frequency"}};
