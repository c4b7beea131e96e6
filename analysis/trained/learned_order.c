/* Shares of singular directions in the predictions of a network (learned_order.h has the
 * definitions).
 *
 * With one draw a context plan draws the plan of sequence i from the generator (seed, i). So it is
 * drawn here too, for the batch, and contributions name the position that they predict. */
#include "analysis/trained/learned_order.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/build_sequences.h"
#include "model/pass.h"
#include "train/batch.h"

enum { MOST_LOGITS = 1 << 22, MOST_SEQUENCES = 256 };

/* --- the corpus ------------------------------------------------------------------------------- */

void cs_learned_corpus_free(cs_learned_corpus *c)
{
    cs_learned_target_free(&c->target);
    cs_sequences_free(&c->sequences);
    cs_context_plan_free(&c->plan);
}

static void take_roots(int64_t n, const double *mass, double *root)
{
    for (int64_t i = 0; i < n; ++i) {
        root[i] = sqrt(mass[i]);
    }
}

static cs_status find_triplets(const cs_csr *a, const cs_spectrum_options *options,
                               cs_learned_target *target)
{
    cs_31_problem *p = &target->problem;
    cs_spectrum_options o = *options;
    o.normalised = o.values_only = o.moment4 = false;
    cs_status status = cs_spectrum_of(a, &o, &target->spectrum);
    if (status == CS_OK) status = cs_spectrum_require(&target->spectrum);
    p->root_row = cs_pool_take(&p->pool, a->rows, sizeof *p->root_row);
    p->root_col = cs_pool_take(&p->pool, a->cols, sizeof *p->root_col);
    if (status == CS_OK) status = p->pool.status;
    if (status == CS_OK) {
        take_roots(a->rows, target->spectrum.input.row_mass, p->root_row);
        take_roots(a->cols, target->spectrum.input.col_mass, p->root_col);
    }
    return status;
}

cs_status cs_learned_corpus_of(const cs_cooc_store *store, const cs_spectrum_options *options,
                               uint64_t seed, cs_learned_corpus *out)
{
    cs_learned_corpus local = {.store = store};
    const cs_cooc_options *o = &store->options;
    if (cs_context_gram(&o->context) || o->subsample > 0) {
        return cs_fail(CS_ERR_USAGE, "the order of learning needs a matrix with a row for each "
                                     "context, without --context unique and --subsample");
    }
    cs_context_options drawn = cs_cooc_context_options(o);
    drawn.draws = 1;
    drawn.seed = seed;
    cs_status status = cs_cooc_sequences(&store->corpus, o, &local.sequences, NULL);
    if (status == CS_OK) status = cs_context_prepare(&local.sequences, &drawn, &local.plan);
    if (status == CS_OK) status = find_triplets(&store->cooc.matrix.a, options, &local.target);
    return CS_DELIVER(status, out, local, cs_learned_corpus_free);
}

/* --- a checkpoint ----------------------------------------------------------------------------- */

/* A contribution of a sequence of the batch, and its loss row. */
typedef struct {
    int64_t row, loss_row;
    int32_t example, place, token;
    double weight;
} event;

typedef struct {
    const cs_learned_corpus *corpus;
    const cs_learned_model *model;
    uint64_t seed;
    cs_pool pool;
    cs_task task;
    cs_pass pass;
    bool likelihood;
    int64_t batch, longest, k, d, vocab;
    int32_t *id;          /* of each column: the token of the model */
    int32_t *ids, *token; /* batch x longest: tokens of the model */
    cs_plan plan[MOST_SEQUENCES];
    cs_example example[MOST_SEQUENCES];
    cs_dense output;      /* W, columns x d */
    cs_dense scaled;      /* model's tokens x k: V / sqrt(P_G), of the spectral loss V sqrt(P_G) */
    cs_dense features;    /* contexts x d: sums of w f */
    double *share, *seen; /* k sums */
    double mass;
    /* of a batch */
    event *event;
    int64_t events, event_capacity;
    int64_t sequence;          /* the one that is visited: example - first */
    double factor;             /* of its weights */
    int64_t *loss_row;         /* batch x longest; -1: not predicted */
    double *value, *projected; /* loss rows x (vocab or d); loss rows x k */
} reader;

static void reader_free(reader *r)
{
    cs_pass_close(&r->pass);
    for (int i = 0; i < MOST_SEQUENCES; ++i) {
        cs_plan_free(&r->plan[i]);
    }
    cs_free(r->event);
    cs_pool_free(&r->pool);
}

/* The model's task with the objective of the matrix. */
static cs_status choose_task(reader *r)
{
    const cs_model_kind *kind = r->model->kind;
    const cs_model_config *config = &r->model->model->config;
    CS_AUTO(cs_model_kind) want = {0};
    r->task = (cs_task){.objective = r->corpus->store->options.objective,
                        .two_stream = kind->kind == CS_KIND_TWO_STREAM,
                        .delta = kind->delta,
                        .decoder_resets = kind->decoder_resets};
    cs_form form = cs_form_of(&r->task, config);
    r->task.two_stream = r->task.two_stream && form == CS_FORM_TWO_STREAM;
    cs_status status = cs_model_kind_of(&r->task, config, kind->loss, kind->spectral_factor, &want);
    if (status == CS_OK && (!kind->spec || strcmp(kind->spec, want.spec) != 0))
        status =
            cs_fail(CS_ERR_USAGE, "%s was trained with the objective %s, but the matrix has %s",
                    r->model->name, kind->spec ? kind->spec : "(unknown)", want.spec);
    if (status == CS_OK && cs_objective_reads(&r->task.objective) == CS_ROWS_PREFIXES)
        status = cs_fail(CS_ERR_USAGE, "the order of learning is not available for offset-ar, "
                                       "whose events are not those of a plan");
    return status;
}

/* The model's token of each column. */
static cs_status map_tokens(reader *r)
{
    const cs_corpus *c = &r->corpus->store->corpus;
    char number[24];
    for (int64_t v = 0; v < c->vocab; ++v) {
        const char *word = cs_corpus_word(c, (int32_t)v, number);
        r->id[v] = r->model->tokenizer ? cs_tokenizer_id(r->model->tokenizer, word) : (int32_t)v;
        if (r->id[v] < 0 || r->id[v] >= r->vocab) {
            return cs_fail(CS_ERR_INPUT,
                           "token %.80s of the matrix is not one of %s: build both from one corpus "
                           "with the same --vocab, or the matrix with --tokenizer %s",
                           word, r->model->name, r->model->name);
        }
    }
    return CS_OK;
}

/* W by columns, and V scaled for predictions by tokens of the model. */
static cs_status take_outputs(reader *r)
{
    const cs_learned_target *t = &r->corpus->target;
    const cs_params *params = &r->model->model->params;
    const char *name = r->model->model->config.head.tied ? "embed.token" : "output.weight";
    CS_AUTO(cs_pool) pool = {0};
    const cs_param *p = NULL;
    double *w = NULL;
    cs_status status = cs_params_read(params, name, &pool, &p, &w);
    if (status == CS_OK && p->cols != r->d)
        status = cs_fail(CS_ERR_USAGE, "%s: %s has %lld columns, but its features have %lld",
                         r->model->name, name, (long long)p->cols, (long long)r->d);
    for (int64_t v = 0; v < r->output.rows && status == CS_OK; ++v) {
        const double root = t->problem.root_col[v];
        for (int64_t j = 0; j < r->d; ++j) {
            r->output.data[v + j * r->output.ld] = w[r->id[v] * p->cols + j];
        }
        for (int64_t k = 0; k < r->k && root > 0; ++k) {
            const double x = t->spectrum.v.data[v + k * t->spectrum.v.ld];
            r->scaled.data[r->id[v] + k * r->scaled.ld] = r->likelihood ? x / root : x * root;
        }
    }
    return status;
}

/* Of the spectral loss, predictions f . W (2/b): then `scaled` becomes W^T (V sqrt(P_G)) 2/b. */
static cs_status fold_outputs(reader *r)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_dense v = cs_dense_in(&pool, r->output.rows, r->k);
    cs_dense folded = cs_dense_in(&r->pool, r->d, r->k);
    cs_status status = pool.status == CS_OK ? r->pool.status : pool.status;
    for (int64_t i = 0; i < v.rows * r->k && status == CS_OK; ++i) {
        const int64_t row = i % v.rows, k = i / v.rows;
        v.data[row + k * v.ld] = r->scaled.data[r->id[row] + k * r->scaled.ld];
    }
    if (status == CS_OK)
        status =
            cs_gemm(true, false, 2 / r->model->kind->spectral_factor, &r->output, &v, 0, &folded);
    r->scaled = folded;
    return status;
}

static cs_status open_pass(reader *r)
{
    const cs_sequences *s = &r->corpus->sequences;
    const cs_model_config *config = &r->model->model->config;
    for (int64_t i = 0; i < s->count; ++i) {
        r->longest = cs_most(r->longest, s->length[i]);
    }
    r->batch = cs_most(
        1, cs_least(cs_least(MOST_SEQUENCES, s->count), MOST_LOGITS / (r->vocab * r->longest)));
    cs_network_options sizes = {.form = cs_form_of(&r->task, config),
                                .loss = CS_LOSS_CROSS_ENTROPY};
    cs_status status = cs_task_sizes(&r->task, config, r->batch, r->longest, &sizes);
    if (status == CS_OK && sizes.offsets > 0)
        status = cs_fail(CS_ERR_USAGE,
                         "%s has heads of offsets, for which the order of learning is "
                         "not available",
                         r->model->name);
    return status == CS_OK ? cs_pass_open(r->model->model, &sizes, &r->pass) : status;
}

static cs_status prepare(reader *r)
{
    const cs_cooc *cooc = &r->corpus->store->cooc;
    const cs_csr *a = &cooc->matrix.a;
    cs_pool *pool = &r->pool;
    r->likelihood = r->model->kind->likelihood;
    r->vocab = r->model->model->config.shape.vocab;
    r->k = r->corpus->target.spectrum.k;
    cs_status status = choose_task(r);
    if (status == CS_OK) status = open_pass(r);
    if (status != CS_OK) return status;
    r->d = r->pass.network.graph.tensor[r->pass.network.loss.features].cols;
    const int64_t rows = r->batch * r->longest;
    const double bytes = 8.0 * ((double)(a->rows + a->cols) * (double)(2 * r->d + r->k) +
                                (double)rows * (double)(cs_most(r->d, r->vocab) + r->k));
    status = cs_mem_check(bytes, "give a matrix with fewer contexts",
                          "the features of %lld contexts take", (long long)a->rows);
    if (status != CS_OK) return status;
    r->id = cs_pool_take(pool, a->cols, sizeof *r->id);
    r->token = cs_pool_take(pool, rows, sizeof *r->token);
    r->loss_row = cs_pool_take(pool, rows, sizeof *r->loss_row);
    r->value = cs_pool_take(pool, rows * cs_most(r->d, r->vocab), sizeof *r->value);
    r->projected = cs_pool_take(pool, rows * r->k, sizeof *r->projected);
    r->share = cs_pool_take(pool, r->k, sizeof *r->share);
    r->seen = cs_pool_take(pool, r->k, sizeof *r->seen);
    r->output = cs_dense_in(pool, a->cols, r->d);
    r->scaled = cs_dense_in(pool, r->vocab, r->k);
    r->features = cs_dense_in(pool, a->rows, r->d);
    status = pool->status;
    if (status == CS_OK) status = map_tokens(r);
    if (status == CS_OK) status = take_outputs(r);
    return status == CS_OK && !r->likelihood ? fold_outputs(r) : status;
}

/* --- a batch ---------------------------------------------------------------------------------- */

static cs_status add_event(void *ctx, const cs_contribution *c)
{
    reader *r = ctx;
    const int64_t row = cs_cooc_row_of(&r->corpus->store->cooc, c->key);
    cs_status status = row >= 0 ? CS_OK
                                : cs_fail(CS_ERR_INPUT, "a context of the corpus is not a row of "
                                                        "the matrix");
    if (status == CS_OK && r->events == r->event_capacity)
        status = cs_reserve(&r->event, &r->event_capacity, r->events + 1, sizeof *r->event);
    if (status == CS_OK)
        r->event[r->events++] = (event){.row = row,
                                        .example = (int32_t)r->sequence,
                                        .place = c->target,
                                        .token = c->token,
                                        .weight = c->weight * r->factor};
    return status;
}

/* Sequence first + b: its plan, its tokens, and its contributions. */
static cs_status take_sequence(reader *r, int64_t first, int64_t b)
{
    const cs_cooc_store *store = r->corpus->store;
    const cs_sequences *s = &r->corpus->sequences;
    const int64_t i = first + b, length = s->length[i];
    cs_rng rng = cs_rng_at(r->seed, CS_STREAM_PLAN, (uint64_t)i);
    const double *times = store->corpus.weight;
    r->sequence = b;
    r->factor =
        (store->options.weight_by_document ? 1 : cs_context_predicted(r->corpus->plan, length)) *
        (times ? times[s->document[i]] : 1);
    for (int64_t j = 0; j < length; ++j) {
        r->token[b * r->longest + j] = r->id[store->corpus.token[s->start[i] + j]];
    }
    r->example[b] = (cs_example){.token = r->token + b * r->longest, .length = length, .row = b};
    cs_plan_free(&r->plan[b]);
    cs_status status = cs_plan_init(&r->plan[b], length);
    if (status == CS_OK) status = cs_plan_sample(&r->task.objective, &rng, &r->plan[b]);
    return status == CS_OK
               ? cs_context_visit(r->corpus->plan, &store->corpus, s, i, add_event, r, NULL)
               : status;
}

/* Softmax of each row, in place. */
static void softmax(int64_t rows, int64_t cols, double *z)
{
    for (int64_t i = 0; i < rows; ++i, z += cols) {
        const double most = cs_largest(cols, z);
        double sum = 0;
        for (int64_t j = 0; j < cols; ++j) {
            z[j] = exp(z[j] - most);
            sum += z[j];
        }
        cs_divide(cols, sum, z);
    }
}

/* The loss row of each event, and `projected` of each loss row: its prediction on V. */
static cs_status predict(reader *r, int64_t count)
{
    const cs_batch_order order = {.task = &r->task,
                                  .config = &r->model->model->config,
                                  .seed = r->seed,
                                  .pad_to = r->pass.fixed ? &r->pass.sizes : NULL};
    cs_batch *batch = &r->pass.batch;
    cs_batch_free(batch);
    cs_status status = cs_batch_of_plans(&order, r->plan, r->example, count, batch);
    if (status == CS_OK) status = cs_pass_forward(&r->pass, 1, (cs_run_key){0});
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < r->batch * r->longest; ++i) {
        r->loss_row[i] = -1;
    }
    for (int64_t p = 0; p < batch->predictions; ++p) {
        if (batch->loss.example[p] >= 0)
            r->loss_row[batch->loss.example[p] * r->longest + batch->loss.place[p]] = p;
    }
    const int64_t cols = r->likelihood ? r->vocab : r->d;
    if (r->likelihood) {
        status = cs_run_get(r->pass.run, r->pass.network.loss.logits, r->value);
        softmax(batch->predictions, cols, r->value);
    } else {
        status = cs_run_get(r->pass.run, r->pass.network.loss.features, r->value);
    }
    const cs_dense values = {cols, batch->predictions, cols, r->value};
    cs_dense to = {r->k, batch->predictions, r->k, r->projected};
    if (status == CS_OK) status = cs_gemm(true, false, 1, &r->scaled, &values, 0, &to);
    if (status == CS_OK && r->likelihood)
        status = cs_run_get(r->pass.run, r->pass.network.loss.features, r->value);
    return status;
}

static cs_status add_events(reader *r)
{
    const cs_learned_target *t = &r->corpus->target;
    const cs_spectrum *s = &t->spectrum;
    for (int64_t e = 0; e < r->events; ++e) {
        const event *x = &r->event[e];
        const int64_t p = r->loss_row[x->example * r->longest + x->place];
        if (p < 0) {
            return cs_fail(CS_ERR_USAGE,
                           "%s does not predict position %d of a sequence, which the matrix counts "
                           "(--empty-prefix)",
                           r->model->name, (int)x->place + 1);
        }
        for (int64_t k = 0; k < r->k; ++k) {
            const double u =
                x->weight * s->u.data[x->row + k * s->u.ld] / t->problem.root_row[x->row];
            r->share[k] += u * r->projected[k + p * r->k];
            r->seen[k] += u * s->v.data[x->token + k * s->v.ld] / t->problem.root_col[x->token];
        }
        for (int64_t j = 0; j < r->d; ++j) {
            r->features.data[x->row + j * r->features.ld] += x->weight * r->value[j + p * r->d];
        }
        r->mass += x->weight;
    }
    return CS_OK;
}

static cs_status read_corpus(reader *r)
{
    const int64_t sequences = r->corpus->sequences.count;
    cs_status status = CS_OK;
    for (int64_t first = 0; first < sequences && status == CS_OK; first += r->batch) {
        const int64_t count = cs_least(r->batch, sequences - first);
        r->events = 0;
        if (cs_interrupted()) status = cs_fail(CS_ERR_INTERRUPT, "interrupted");
        for (int64_t b = 0; b < count && status == CS_OK; ++b) {
            status = take_sequence(r, first, b);
        }
        if (status == CS_OK) status = predict(r, count);
        if (status == CS_OK) status = add_events(r);
    }
    return status;
}

/* Mean features of contexts in place of sums, and W less its mean. */
static void normalise(reader *r)
{
    const cs_31_problem *p = &r->corpus->target.problem;
    for (int64_t i = 0; i < r->features.rows; ++i) {
        const double mass = r->mass * p->root_row[i] * p->root_row[i];
        for (int64_t j = 0; j < r->d; ++j) {
            r->features.data[i + j * r->features.ld] /= mass > 0 ? mass : 1;
        }
    }
    for (int64_t j = 0; j < r->d && r->likelihood; ++j) {
        double *w = r->output.data + j * r->output.ld, mean = 0;
        for (int64_t v = 0; v < r->output.rows; ++v) {
            mean += p->root_col[v] * p->root_col[v] * w[v];
        }
        for (int64_t v = 0; v < r->output.rows; ++v) {
            w[v] -= mean;
        }
    }
}

/* sum_i root_i^2 x_i^2 of column k. */
static double weighted_square(const cs_dense *x, int64_t k, const double *root)
{
    double sum = 0;
    for (int64_t i = 0; i < x->rows; ++i) {
        const double y = root[i] * x->data[i + k * x->ld];
        sum += y * y;
    }
    return sum;
}

/* The direction of a mode whose triplets are k .. k + count - 1. */
static cs_learned_direction direction_of(const reader *r, const cs_learned_mode *mode, int64_t k)
{
    const cs_learned_target *t = &r->corpus->target;
    cs_learned_direction out = {.mode = *mode};
    double left = 0, right = 0;
    out.mode.share = 0;
    for (int64_t i = k; i < k + mode->count; ++i) {
        const double whole = r->mass * (double)mode->count * mode->sigma;
        out.mode.share += r->share[i] / whole;
        out.observed += r->seen[i] / whole;
        left += weighted_square(&t->spectrum.u, i, t->problem.root_row) / (double)mode->count;
        right += weighted_square(&t->spectrum.v, i, t->problem.root_col) / (double)mode->count;
    }
    out.frequency = sqrt(left * right);
    return out;
}

cs_status cs_learned_directions(const cs_learned_corpus *corpus, const cs_learned_model *model,
                                uint64_t seed, cs_learned_direction *out, int64_t *count)
{
    CS_AUTO_FREE reader *r = cs_calloc(1, sizeof *r);
    CS_AUTO_FREE cs_learned_mode *mode = cs_alloc(corpus->target.spectrum.k, sizeof *mode);
    if (!r || !mode) return CS_ERR_MEMORY;
    r->corpus = corpus;
    r->model = model;
    r->seed = seed;
    cs_status status = prepare(r);
    if (status == CS_OK) status = read_corpus(r);
    if (status == CS_OK) {
        normalise(r);
        status =
            cs_learned_modes_of(&corpus->target, &r->features, &r->output, 2, r->k, mode, count);
    }
    for (int64_t i = 0, k = 0; i < *count && status == CS_OK; k += mode[i++].count) {
        out[i] = direction_of(r, &mode[i], k);
    }
    reader_free(r);
    return status;
}
