/* The loop is short: a run on a small task is made again rather than resumed in its middle, and
 * loss and norm are read in every step. Interrupts are held while it runs, as in trainer.c.
 *
 * Batches of prediction hold texts of like length; a text's prediction depends on its batch only by
 * the rounding of matrix products of other shapes, and batches on the texts alone. */
#include "train/finetune.h"

#include <math.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/range.h"
#include "base/rng.h"
#include "base/threads.h"
#include "model/pass.h"
#include "train/ahead.h"
#include "train/checkpoint.h"
#include "train/examples.h"
#include "train/log_private.h"

cs_finetune_options cs_finetune_defaults(void)
{
    return (cs_finetune_options){.epochs = 5,
                                 .batch = 16,
                                 .schedule = CS_SCHEDULE_COSINE,
                                 .learning_rate = 4e-5,
                                 .warmup = 0.1,
                                 .adamw = {.beta1 = 0.9, .beta2 = 0.98, .adam_eps = 1e-6},
                                 .bad_limit = 20,
                                 .log_every = 10};
}

cs_status cs_finetune_config(const cs_model_config *config, const cs_texts *texts,
                             cs_readout readout, double dropout, cs_model_config *out)
{
    cs_status status = cs_model_config_tunes(config);
    if (status == CS_OK) status = cs_model_config_reads(config, texts->real_width);
    if (status != CS_OK) return status;
    if (texts->classes == 1) {
        return cs_fail(CS_ERR_USAGE, "at least two classes are needed");
    }
    *out = cs_model_config_classifier(config, texts->classes > 0 ? texts->classes : 1, readout);
    if (texts->place) {
        if (config->head.absent || config->head.classes > 0) {
            return cs_fail(CS_ERR_USAGE, "a template needs a model with a language-model head");
        }
        out->head.cloze = true;
        out->head.transform = config->head.transform;
    }
    out->head.spans = texts->span != NULL;
    out->training.dropout = out->training.attention_dropout = out->training.embed_dropout = dropout;
    return cs_model_config_check(out);
}

/* --- a network and its batches -----------------------------------------------------------------*/

typedef struct {
    cs_model *model;
    const cs_texts *texts;
    const cs_content_masks *masks;
    int32_t *rank;         /* texts->longest */
    double smoothing, own; /* share of a text's own vector in mixup; 1: no mixing */
    double *z;             /* of spans: outputs of all rows, then their gradient */
    cs_pass pass;
    /* where the vectors of images are read when they are needed: those of a batch */
    cs_train_view view;
    cs_ahead ahead;
    cs_ahead_batch wanted;
    float *values;
} machine;

static void machine_free(machine *m)
{
    cs_ahead_close(&m->ahead);
    CS_FREE_FIELDS(&m->wanted, first, length);
    cs_pass_close(&m->pass);
    CS_FREE_FIELDS(m, rank, z);
}

static cs_status check_texts(const cs_model *model, const cs_texts *texts, const int64_t *index,
                             int64_t count)
{
    int64_t outputs = texts->classes > 0 ? texts->classes : 1;
    if (model->config.head.classes != outputs ||
        model->config.head.spans != (texts->span != NULL)) {
        return cs_fail(CS_ERR_USAGE, "the model has %lld outputs, but the task needs %lld",
                       (long long)model->config.head.classes, (long long)outputs);
    }
    if (count < 1) {
        return cs_fail(CS_ERR_INPUT, "no texts");
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t t = index ? index[i] : i;
        for (int64_t p = texts->start[t]; p < texts->start[t + 1]; ++p) {
            if (texts->token[p] < 0 || texts->token[p] >= model->config.shape.vocab) {
                return cs_fail(CS_ERR_INPUT,
                               "text %lld: token %d is not in 0..%lld, the vocabulary of the model",
                               (long long)t + 1, texts->token[p],
                               (long long)model->config.shape.vocab - 1);
            }
        }
    }
    return CS_OK;
}

static cs_status machine_make(cs_model *model, const cs_texts *texts, const int64_t *index,
                              int64_t count, const cs_finetune_options *o, bool training,
                              machine *m)
{
    const bool soft = training && (o->label_smoothing > 0 || o->mixup > 0);
    *m = (machine){.model = model,
                   .texts = texts,
                   .masks = &o->masks,
                   .smoothing = o->label_smoothing,
                   .own = 1};
    cs_network_options sizes = {.form = CS_FORM_SINGLE,
                                .loss = texts->span          ? CS_LOSS_NONE
                                        : soft               ? CS_LOSS_SOFT_CROSS_ENTROPY
                                        : texts->classes > 0 ? CS_LOSS_CROSS_ENTROPY
                                                             : CS_LOSS_SQUARED_ERROR,
                                .training = training,
                                .classify = true,
                                .batch = o->batch < count ? o->batch : count,
                                .length = texts->longest};
    sizes.predictions = sizes.batch;
    cs_status status = check_texts(model, texts, index, count);
    if (status == CS_OK) status = cs_pass_open(model, &sizes, &m->pass);
    m->rank = status == CS_OK ? cs_alloc(texts->longest, sizeof *m->rank) : NULL;
    m->z = status == CS_OK && texts->span ? cs_alloc(2 * sizes.batch * sizes.length, sizeof *m->z)
                                          : NULL;
    if (status == CS_OK && (!m->rank || (texts->span && !m->z))) status = CS_ERR_MEMORY;
    if (status != CS_OK || !texts->corpus) return status;
    m->view = cs_ahead_view(texts->corpus);
    m->wanted.first = cs_alloc(sizes.batch, sizeof *m->wanted.first);
    m->wanted.length = cs_alloc(sizes.batch, sizeof *m->wanted.length);
    return m->wanted.first && m->wanted.length
               ? cs_ahead_open(&m->view, sizes.batch, texts->longest, texts->real_width, &m->ahead)
               : CS_ERR_MEMORY;
}

/* The images of a batch. */
static void list_texts(const machine *m, const int64_t *text, int64_t count, cs_ahead_batch *to)
{
    const int64_t *start = m->texts->start;
    to->count = count;
    for (int64_t b = 0; b < count; ++b) {
        to->first[b] = start[text[b]] - text[b]; /* a token before each image is not the corpus's */
        to->length[b] = start[text[b] + 1] - start[text[b]] - 1;
    }
}

/* The target of text t: its value, or the shares of the classes. */
static void set_goal(const machine *m, int64_t t, int64_t classes, double *goal)
{
    goal[0] = m->texts->value[t];
    for (int64_t c = 0; c < classes && m->texts->classes > 0; ++c) {
        goal[c] = m->smoothing / (double)classes;
    }
    if (m->texts->classes > 0) {
        goal[(int64_t)m->texts->value[t]] += 1 - m->smoothing;
    }
}

/* Text t is sequence b of the batch. */
static cs_status fill_text(machine *m, int64_t b, int64_t t, int64_t draw)
{
    cs_batch *x = &m->pass.batch;
    const cs_texts *s = m->texts;
    const cs_model_config *c = &m->model->config;
    const int64_t n = s->start[t + 1] - s->start[t], first = b * x->length, from = s->start[t];
    const int64_t before = s->real_width > 0; /* a token before each text has no vector */
    const cs_text_rows text = {.batch = x,
                               .config = c,
                               .b = b,
                               .before = s->token + from,
                               .befores = before,
                               .token = s->token + from + before,
                               .tokens = n - before,
                               .real = s->corpus ? m->values + b * m->ahead.apart
                                       : s->real ? s->real + (from - t) * s->real_width
                                                 : NULL,
                               .extra = s->extra ? s->extra + t * s->extra_width : NULL};
    cs_status status = cs_content_ranks(m->masks, (uint64_t)t, draw, n, m->rank);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        cs_text_row(&text, i, i, i, m->rank[i]);
        x->type[first + i] = s->type[from + i];
    }
    const int64_t read = s->place ? s->place[t] : c->head.readout == CS_READ_LAST ? n - 1 : 0;
    cs_batch_predict(x, first + read, s->classes > 0 ? (int32_t)s->value[t] : -1, 1, t, 0);
    x->loss.readout_lim[b] = INT32_MAX - 1; /* all but padding */
    set_goal(m, t, x->loss.goal_width, x->loss.goal + b * x->loss.goal_width);
    return status;
}

/* x and y become own x + (1 - own) y and the reverse. */
static void mix_floats(int64_t count, double own, float *x, float *y)
{
    for (int64_t i = 0; i < count; ++i) {
        const double a = (double)x[i], b = (double)y[i];
        x[i] = (float)(own * a + (1 - own) * b);
        y[i] = (float)(own * b + (1 - own) * a);
    }
}

static void mix_pictures(const cs_batch *x, int64_t count, double own)
{
    const int64_t values = x->length * x->real.width;
    for (int64_t b = 0, c = count - 1; b < c; ++b, --c) {
        mix_floats(values, own, x->real.values + b * values, x->real.values + c * values);
        if (x->extra.values) {
            mix_floats(x->extra.width, own, x->extra.values + b * x->extra.width,
                       x->extra.values + c * x->extra.width);
        }
        for (int64_t k = 0; k < x->loss.goal_width; ++k) {
            double *p = x->loss.goal + b * x->loss.goal_width + k,
                   *q = x->loss.goal + c * x->loss.goal_width + k;
            const double was = *p;
            *p = own * was + (1 - own) * *q;
            *q = own * *q + (1 - own) * was;
        }
    }
}

/* Beta(a, a): x / (x + y) of the first powers x, y = u^(1/a) of uniforms whose sum is at most 1 (Johnk
 * 1964), by their logarithms. */
static double draw_beta(cs_rng *rng, double a)
{
    for (;;) {
        const double x = log1p(-cs_rng_uniform(rng)) / a, y = log1p(-cs_rng_uniform(rng)) / a;
        if (exp(x) + exp(y) <= 1) {
            return 1 / (1 + exp(y - x));
        }
    }
}

/* Runs texts of an order forward under one draw of their masks; weights are `scale`. */
static cs_status forward(machine *m, const int64_t *text, int64_t count, int64_t draw, double scale,
                         cs_run_key key, int64_t *tokens)
{
    int64_t longest = 1;
    for (int64_t b = 0; b < count; ++b) {
        int64_t n = m->texts->start[text[b] + 1] - m->texts->start[text[b]];
        longest = cs_most(longest, n);
        *tokens += n;
    }
    cs_status status = cs_pass_begin(&m->pass, count, longest, count);
    if (status == CS_OK && m->texts->corpus) {
        list_texts(m, text, count, &m->wanted);
        status = cs_ahead_take(&m->ahead, &m->wanted, &m->values);
    }
    for (int64_t b = 0; b < count && status == CS_OK; ++b) {
        status = fill_text(m, b, text[b], draw);
    }
    if (status == CS_OK && m->own < 1) mix_pictures(&m->pass.batch, count, m->own);
    return status == CS_OK ? cs_pass_forward(&m->pass, scale, key) : status;
}

/* --- spans -------------------------------------------------------------------------------------*/

/* Of the n rows of a text, output h: -log p(right), whose gradient times `scale` replaces the outputs. */
static double span_loss(double *z, int h, int64_t n, int64_t right, double scale)
{
    double most = z[h], sum = 0;
    for (int64_t i = 1; i < n; ++i) {
        most = fmax(most, z[2 * i + h]);
    }
    for (int64_t i = 0; i < n; ++i) {
        sum += exp(z[2 * i + h] - most);
    }
    const double loss = log(sum) + most - z[2 * right + h];
    for (int64_t i = 0; i < n; ++i) {
        z[2 * i + h] = scale * (exp(z[2 * i + h] - most) / sum - (i == right));
    }
    return loss;
}

/* The sum of the losses of the batch, whose gradient divided by `count` is put where backward
 * begins. On a device too the loss is taken here: 2 numbers a row each way, little compared with a
 * pass. */
static cs_status spans_loss(machine *m, const int64_t *text, int64_t count, bool train,
                            double *loss)
{
    cs_run *run = m->pass.run;
    const int64_t length = m->pass.batch.length, rows = m->pass.batch.batch;
    cs_status status = cs_run_get(run, m->pass.network.loss.logits, m->z);
    *loss = 0;
    for (int64_t b = 0; b < count && status == CS_OK; ++b) {
        const int64_t *start = m->texts->start + text[b], n = start[1] - start[0];
        double *z = m->z + 2 * b * length;
        for (int h = 0; h < 2; ++h) {
            *loss += span_loss(z, h, n, m->texts->span[2 * text[b] + h], 0.5 / (double)count) / 2;
        }
        memset(z + 2 * n, 0, (size_t)(2 * (length - n)) * sizeof *z);
    }
    /* a batch of one shape has sequences behind the texts */
    memset(m->z + 2 * count * length, 0, (size_t)(2 * (rows - count) * length) * sizeof *m->z);
    return status == CS_OK && train ? cs_run_put_grad(run, m->pass.network.loss.logits, m->z)
                                    : status;
}

/* --- training ----------------------------------------------------------------------------------*/

static cs_status check_options(const cs_finetune_options *o, const cs_texts *texts, int64_t steps)
{
    if ((o->label_smoothing > 0 || o->mixup > 0) && (texts->classes == 0 || texts->span)) {
        return cs_fail(CS_ERR_USAGE, "label-smoothing and mixup need classes");
    }
    if (o->mixup > 0 && texts->real_width == 0) {
        return cs_fail(CS_ERR_USAGE, "mixup needs models that read pixels");
    }
    const cs_range range[] = {{"epochs", (double)o->epochs, 1, 1e6},
                              {"batch", (double)o->batch, 1, 1 << 16},
                              {"steps", (double)steps, 1, UINT32_MAX},
                              {"lr", o->learning_rate, 0, 1e300},
                              {"final-share", o->final_share, 0, 1},
                              {"warmup", o->warmup, 0, 1},
                              {"beta1", o->adamw.beta1, 0, 1 - 1e-9},
                              {"beta2", o->adamw.beta2, 0, 1 - 1e-9},
                              {"adam-eps", o->adamw.adam_eps, 1e-30, 1},
                              {"weight-decay", o->adamw.weight_decay, 0, 1e3},
                              {"clip", o->adamw.clip, 0, 1e300},
                              {"bad-limit", (double)o->bad_limit, 1, 1e12},
                              {"mixup", o->mixup, 0, 8},
                              {"label-smoothing", o->label_smoothing, 0, 1 - 1e-9}};
    return cs_ranges_check(sizeof range / sizeof *range, range);
}

typedef struct {
    machine m;
    const cs_finetune_options *o;
    const int64_t *index;
    int64_t count, steps, warmup, bad;
    int32_t *order;
    int64_t *batch; /* texts of a step */
    cs_updates updates;
    cs_log log;
    cs_finetune_result result;
    double norm, sum; /* of the epoch: losses of its texts */
} session;

static cs_status log_step(session *s, double loss, double rate)
{
    int64_t step = s->result.steps;
    bool due = step == s->steps || (s->o->log_every > 0 && step % s->o->log_every == 0);
    cs_progress_report(s->o->progress, s->o->stage ? s->o->stage : "steps", step, s->steps);
    if (!s->o->dir || !due) {
        return CS_OK;
    }
    cs_log_row row = {.step = step,
                      .tokens = s->result.tokens,
                      .memory = cs_mem_resident(),
                      .skipped = s->result.skipped,
                      .loss = loss,
                      .learning_rate = rate,
                      .grad_norm = s->norm,
                      .eval_loss = (double)NAN,
                      .data_seconds = (double)NAN};
    return cs_log_add(&s->log, &row);
}

static cs_status one_step(session *s, int64_t count)
{
    int64_t step = s->result.steps + 1;
    cs_run_key key = {.seed = s->o->seed, .step = (uint32_t)step};
    double rate = cs_schedule_rate(s->o->schedule, s->o->learning_rate, s->o->final_share,
                                   s->warmup, 0, s->steps, step);
    double loss = 0;
    cs_run *run = s->m.pass.run;
    cs_rng rng = cs_rng_at(s->o->seed, CS_STREAM_AUGMENT, (uint64_t)step);
    s->m.own = s->o->mixup > 0 ? draw_beta(&rng, s->o->mixup) : 1;
    cs_status status = cs_params_zero_grad(&s->m.model->params);
    if (status == CS_OK &&
        (status = forward(&s->m, s->batch, count, step, 1.0 / (double)count, key,
                          &s->result.tokens)) == CS_OK &&
        (status = s->m.z ? spans_loss(&s->m, s->batch, count, true, &loss)
                         : cs_run_sum(run, s->m.pass.network.loss.value, &loss)) == CS_OK &&
        (status = cs_run_backward(run)) == CS_OK &&
        (status = cs_updates_add(&s->updates, &s->o->adamw, rate, step)) == CS_OK &&
        (status = cs_updates_read(&s->updates, s->o->bad_limit, &s->norm, &s->bad,
                                  &s->result.skipped)) == CS_OK) {
        loss /= s->m.z ? (double)count : 1; /* of spans a sum, else the mean by its weights */
        s->sum += loss * (double)count;
        s->result.steps = step;
        status = log_step(s, loss, rate);
    }
    return status;
}

static cs_status epoch(session *s, int64_t number)
{
    cs_rng rng = cs_rng_at(s->o->seed, CS_STREAM_ORDER, (uint64_t)number);
    cs_status status = CS_OK;
    cs_rng_permutation(&rng, s->count, s->order);
    s->sum = 0;
    for (int64_t at = 0; at < s->count && status == CS_OK; at += s->o->batch) {
        const int64_t n = cs_least(s->count - at, s->o->batch);
        for (int64_t b = 0; b < n; ++b) {
            int64_t i = s->order[at + b];
            s->batch[b] = s->index ? s->index[i] : i;
        }
        if ((status = cs_interrupt_check()) == CS_OK) {
            status = one_step(s, n);
        }
    }
    s->result.loss = s->sum / (double)s->count;
    return status;
}

static cs_status prepare(session *s, cs_model *model, const cs_texts *texts)
{
    const cs_finetune_options *o = s->o;
    int64_t batches = o->batch > 0 ? (s->count + o->batch - 1) / o->batch : 0;
    s->steps = o->epochs > 0 && o->epochs <= 1000000 ? o->epochs * batches : 0;
    s->warmup = (int64_t)(o->warmup * (double)s->steps);
    cs_status status = s->count > INT32_MAX
                           ? cs_fail(CS_ERR_INPUT, "%lld texts", (long long)s->count)
                           : check_options(o, texts, s->count > 0 ? s->steps : 1);
    if (status == CS_OK) status = cs_train_finite(&model->params, 0);
    if (status == CS_OK) status = machine_make(model, texts, s->index, s->count, o, true, &s->m);
    if (status == CS_OK) {
        s->order = cs_alloc(s->count, sizeof *s->order);
        s->batch = cs_alloc(o->batch, sizeof *s->batch);
        status =
            s->order && s->batch ? cs_updates_init(&model->params, &s->updates) : CS_ERR_MEMORY;
    }
    if (status == CS_OK && o->dir) status = cs_log_open(o->dir, 0, &s->log);
    return status;
}

cs_status cs_finetune(cs_model *model, const cs_texts *texts, const int64_t *index, int64_t count,
                      const cs_finetune_options *options, cs_finetune_result *out)
{
    session s = {.o = options, .index = index, .count = index ? count : texts->count};
    cs_status status = prepare(&s, model, texts);
    for (int64_t e = 0; e < options->epochs && status == CS_OK; ++e) {
        status = epoch(&s, e);
    }
    if (status == CS_OK && s.bad > 0)
        status = cs_fail(CS_ERR_CONVERGE,
                         "the gradient was not finite in the last %lld of %lld steps" CS_TRY_RATE,
                         (long long)s.bad, (long long)s.steps);
    if (status == CS_OK) status = cs_train_finite(&model->params, s.steps);
    if (status == CS_ERR_INTERRUPT) {
        cs_reason_clear();
        status = cs_fail(status, "interrupted after step %lld of %lld", (long long)s.result.steps,
                         (long long)s.steps);
    }
    cs_updates_free(&s.updates);
    cs_log_close(&s.log);
    machine_free(&s.m);
    CS_FREE_FIELDS(&s, order, batch);
    if (status == CS_OK) *out = s.result;
    return status;
}

/* --- prediction --------------------------------------------------------------------------------*/

static cs_status take_outputs(const machine *m, const cs_by_length *item, int64_t count,
                              const float *z, double *predicted)
{
    int64_t outputs = m->model->config.head.classes;
    for (int64_t b = 0; b < count; ++b) {
        const float *row = z + b * outputs;
        int64_t best = 0;
        for (int64_t c = 0; c < outputs; ++c) {
            if (!isfinite(row[c])) {
                return cs_fail(CS_ERR_CONVERGE, "output %lld of text %lld is not finite",
                               (long long)c, (long long)item[b].number + 1);
            }
            best = row[c] > row[best] ? c : best;
        }
        predicted[item[b].place] = m->texts->classes > 0 ? (double)best : (double)row[0];
    }
    return CS_OK;
}

/* Outputs and loss of a batch, means over the draws of its masks. z: a buffer of two batches. */
static cs_status predict_batch(machine *m, const cs_by_length *item, int64_t count, int64_t *text,
                               float *z, double *predicted, double *loss)
{
    const int64_t draws = cs_content_draws(m->masks),
                  outputs = count * m->model->config.head.classes;
    float *once = z + m->pass.sizes.batch * m->model->config.head.classes;
    cs_run *run = m->pass.run;
    cs_status status = CS_OK;
    for (int64_t b = 0; b < count; ++b) {
        text[b] = item[b].number;
    }
    for (int64_t d = 0; d < draws && status == CS_OK; ++d) {
        int64_t tokens = 0;
        double sum = 0;
        status = forward(m, text, count, d, 1, (cs_run_key){0}, &tokens);
        if (status == CS_OK &&
            (status = cs_run_sum(run, m->pass.network.loss.value, &sum)) == CS_OK)
            status = cs_run_get_f32(run, m->pass.network.loss.logits, d == 0 ? z : once);
        for (int64_t i = 0; i < outputs && d > 0 && status == CS_OK; ++i) {
            z[i] += (once[i] - z[i]) / (float)(d + 1);
        }
        *loss += sum / (double)draws;
        if (status == CS_OK) status = cs_interrupt_check();
    }
    return status == CS_OK ? take_outputs(m, item, count, z, predicted) : status;
}

cs_status cs_finetune_predict(cs_model *model, const cs_texts *texts, const int64_t *index,
                              int64_t count, const cs_finetune_options *options, double *predicted,
                              double *loss)
{
    CS_AUTO(machine) m = {0};
    int64_t n = index ? count : texts->count;
    double sum = 0;
    cs_status status = options->batch < 1
                           ? cs_fail(CS_ERR_USAGE, "batch %lld", (long long)options->batch)
                           : machine_make(model, texts, index, n, options, false, &m);
    CS_AUTO_FREE cs_by_length *item = cs_alloc(n, sizeof *item);
    CS_AUTO_FREE int64_t *text = cs_alloc(options->batch, sizeof *text);
    CS_AUTO_FREE float *z = cs_alloc(2 * options->batch * model->config.head.classes, sizeof *z);
    if (status == CS_OK && (!item || !text || !z)) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        int64_t t = index ? index[i] : i;
        item[i] = (cs_by_length){texts->start[t + 1] - texts->start[t], i, t};
    }
    if (status == CS_OK) cs_sort_by_length(n, item);
    for (int64_t at = 0; at < n && status == CS_OK; at += options->batch) {
        status = predict_batch(&m, item + at, cs_least(n - at, options->batch), text, z, predicted,
                               &sum);
        cs_progress_report(options->progress, "texts predicted", at, n);
    }
    if (status == CS_OK && loss) *loss = sum / (double)n;
    return status;
}

/* Outputs of the rows of a batch of spans, means over the draws of its masks. */
static cs_status rows_batch(machine *m, const int64_t *text, int64_t count, float *logits,
                            double *loss)
{
    const int64_t draws = cs_content_draws(m->masks);
    cs_status status = CS_OK;
    for (int64_t d = 0; d < draws && status == CS_OK; ++d) {
        int64_t tokens = 0;
        double sum = 0;
        status = forward(m, text, count, d, 1, (cs_run_key){0}, &tokens);
        if (status == CS_OK) status = cs_run_get(m->pass.run, m->pass.network.loss.logits, m->z);
        for (int64_t b = 0; b < count && status == CS_OK; ++b) {
            const int64_t *start = m->texts->start + text[b];
            float *to = logits + 2 * start[0];
            for (int64_t i = 0; i < 2 * (start[1] - start[0]); ++i) {
                const double z = m->z[2 * b * m->pass.batch.length + i];
                if (!isfinite(z)) {
                    return cs_fail(CS_ERR_CONVERGE, "an output of window %lld is not finite",
                                   (long long)text[b] + 1);
                }
                to[i] = d == 0 ? (float)z : to[i] + ((float)z - to[i]) / (float)(d + 1);
            }
        }
        if (status == CS_OK) status = spans_loss(m, text, count, false, &sum);
        *loss += sum / (double)draws;
        if (status == CS_OK) status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_finetune_rows(cs_model *model, const cs_texts *texts,
                           const cs_finetune_options *options, float *logits, double *loss)
{
    CS_AUTO(machine) m = {0};
    double sum = 0;
    CS_AUTO_FREE int64_t *text = cs_alloc(options->batch, sizeof *text);
    cs_status status =
        text ? machine_make(model, texts, NULL, texts->count, options, false, &m) : CS_ERR_MEMORY;
    for (int64_t at = 0; at < texts->count && status == CS_OK; at += options->batch) {
        const int64_t count = cs_least(texts->count - at, options->batch);
        for (int64_t b = 0; b < count; ++b) {
            text[b] = at + b;
        }
        status = rows_batch(&m, text, count, logits, &sum);
        cs_progress_report(options->progress, "windows predicted", at, texts->count);
    }
    if (status == CS_OK) *loss = sum / (double)texts->count;
    return status;
}
