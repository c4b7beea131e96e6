/* A step has two forward passes: the encoder alone, whose z decide the codes on the host, and the
 * whole with what takes z to its vectors as an input. */
#include "analysis/vision/vq_train.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/range.h"
#include "base/rng.h"
#include "base/threads.h"
#include "image/patches.h"
#include "train/schedule.h"
#include "train/updates.h"

static const double COMMITMENT = 0.25, KEEP = 0.99, DEAD = 0.1;

typedef struct {
    const cs_images *images;
    const cs_vq_options *o;
    cs_codes *codes;
    cs_vq_pass encoder, both;
    cs_updates updates;
    int64_t rows, values; /* of a step, of a patch */
    int64_t count, next;  /* training pictures; the next in `order` */
    int32_t *picture, *order;
    int32_t *batch; /* pictures of a step */
    int64_t epoch;
    int32_t *code;      /* rows */
    float *x, *z, *to;  /* rows x values: patches, what the encoder makes, their vectors */
    double *far;        /* rows: squared distance of z from its vector */
    double *size, *sum; /* codes, codes x values: N and M */
    double *step_size, *step_sum;
    cs_vq_result result;
} session;

/* --- a step ----------------------------------------------------------------------------------- */

static cs_status take_picture(void *ctx, int64_t b)
{
    const session *s = ctx;
    return cs_patches_read(s->images, s->batch[b], s->o->patch,
                           s->x + b * s->codes->vq->sizes.patches * s->values);
}

static cs_status take_pictures(session *s)
{
    for (int64_t b = 0; b < s->o->batch; ++b) {
        if (s->next == 0) {
            cs_rng rng = cs_rng_at(s->o->seed, CS_STREAM_ORDER, (uint64_t)s->epoch++);
            cs_rng_permutation(&rng, s->count, s->order);
        }
        s->batch[b] = s->picture[s->order[s->next]];
        s->next = (s->next + 1) % s->count;
    }
    return cs_parallel(s->o->batch, s->o->threads, take_picture, s);
}

/* Codes of z, their vectors and distances, and what the step adds to the means. */
static cs_status quantise(session *s)
{
    const int64_t v = s->values;
    const cs_codebook *book = &s->codes->book;
    cs_status status = cs_codebook_assign(book, s->z, s->rows, s->o->threads, s->code);
    if (status != CS_OK) return status;
    memset(s->step_size, 0, (size_t)book->codes * sizeof *s->step_size);
    memset(s->step_sum, 0, (size_t)(book->codes * v) * sizeof *s->step_sum);
    for (int64_t r = 0; r < s->rows; ++r) {
        const float *from = book->centre + s->code[r] * v;
        memcpy(s->to + r * v, from, (size_t)v * sizeof *from);
        s->step_size[s->code[r]] += 1;
        s->far[r] = 0;
        for (int64_t j = 0; j < v; ++j) {
            s->step_sum[s->code[r] * v + j] += (double)s->z[r * v + j];
            s->far[r] += pow((double)s->z[r * v + j] - (double)from[j], 2);
        }
    }
    return CS_OK;
}

static cs_status learn(session *s, int64_t step, double *error)
{
    const int64_t v = s->values, warmup = s->o->steps / 10;
    const cs_adamw_recipe recipe = {0.9, 0.98, 1e-8, 0.01, 1};
    cs_vq_pass *p = &s->both;
    cs_params *params = &s->codes->vq->params;
    cs_status status = cs_vq_begin(p, s->o->batch);
    if (status != CS_OK) return status;
    cs_vq_put(p, p->x, s->o->batch, s->x);
    cs_vq_put(p, p->to, s->o->batch, s->to);
    for (int64_t i = 0; i < s->rows * v; ++i) {
        cs_run_input(p->run, p->y, i / v, i % v, (double)s->to[i] - (double)s->z[i]);
    }
    for (int64_t r = 0; r < s->rows; ++r) {
        cs_run_input(p->run, p->weight, r, 0, 1 / (double)(s->rows * v));
        cs_run_input(p->run, p->pull, r, 0, COMMITMENT / (double)(s->rows * v));
    }
    const double rate = cs_schedule_rate(CS_SCHEDULE_COSINE, s->o->learning_rate, 0,
                                         warmup > 0 ? warmup : 1, 0, s->o->steps, step);
    if ((status = cs_run_upload(p->run, (cs_run_key){0})) == CS_OK &&
        (status = cs_params_zero_grad(params)) == CS_OK &&
        (status = cs_run_forward(p->run)) == CS_OK &&
        (status = cs_run_sum(p->run, p->error, error)) == CS_OK &&
        (status = cs_run_backward(p->run)) == CS_OK) {
        status = cs_updates_add(&s->updates, &recipe, rate, step);
    }
    double norm = 0;
    int64_t bad = 0, skipped = 0;
    return status == CS_OK ? cs_updates_read(&s->updates, 1, &norm, &bad, &skipped) : status;
}

/* A code that no row wants takes the row furthest from its vector. */
static void revive(session *s, int64_t c)
{
    const int64_t v = s->values;
    int64_t furthest = 0;
    for (int64_t r = 1; r < s->rows; ++r) {
        furthest = s->far[r] > s->far[furthest] ? r : furthest;
    }
    s->far[furthest] = 0;
    s->size[c] = 1;
    for (int64_t j = 0; j < v; ++j) {
        s->sum[c * v + j] = (double)s->z[furthest * v + j];
    }
    s->result.revived += 1;
}

static void move_vectors(session *s)
{
    const int64_t v = s->values;
    const cs_codebook *book = &s->codes->book;
    for (int64_t c = 0; c < book->codes; ++c) {
        s->size[c] = KEEP * s->size[c] + (1 - KEEP) * s->step_size[c];
        for (int64_t j = 0; j < v; ++j) {
            s->sum[c * v + j] = KEEP * s->sum[c * v + j] + (1 - KEEP) * s->step_sum[c * v + j];
        }
        if (s->size[c] < DEAD) {
            revive(s, c);
        }
        for (int64_t j = 0; j < v; ++j) {
            book->centre[c * v + j] = (float)(s->sum[c * v + j] / s->size[c]);
        }
    }
}

static cs_status one_step(session *s, int64_t step)
{
    double error = 0;
    cs_status status = take_pictures(s);
    if (status == CS_OK) status = cs_vq_encode(&s->encoder, s->o->batch, s->x, s->z);
    if (status == CS_OK) status = quantise(s);
    if (status == CS_OK) status = learn(s, step, &error);
    if (status != CS_OK) return status;
    move_vectors(s);
    const int64_t last = s->o->steps - s->o->steps / 10;
    s->result.error += step > last ? error / (double)(s->o->steps - last) : 0;
    cs_progress_report(s->o->progress, "steps", step, s->o->steps);
    return cs_interrupted() ? cs_fail(CS_ERR_INTERRUPT, "interrupted after step %lld of %lld",
                                      (long long)step, (long long)s->o->steps)
                            : CS_OK;
}

/* --- the run ---------------------------------------------------------------------------------- */

static cs_status furnish(session *s, cs_pool *pool)
{
    const int64_t codes = s->o->codes, v = s->values;
    const cs_images *m = s->images;
    CS_POOL_FIELDS(pool, m->count, s, picture, order);
    s->batch = cs_pool_take(pool, s->o->batch, sizeof *s->batch);
    s->code = cs_pool_take(pool, s->rows, sizeof *s->code);
    CS_POOL_FIELDS(pool, s->rows * v, s, x, z, to);
    s->far = cs_pool_take(pool, s->rows, sizeof *s->far);
    s->size = cs_pool_take(pool, codes, sizeof *s->size);
    s->sum = cs_pool_take(pool, codes * v, sizeof *s->sum);
    s->step_size = cs_pool_take(pool, codes, sizeof *s->step_size);
    s->step_sum = cs_pool_take(pool, codes * v, sizeof *s->step_sum);
    for (int64_t i = 0; i < m->count && pool->status == CS_OK; ++i) {
        if (!m->held_out[i]) {
            s->picture[s->count++] = (int32_t)i;
        }
    }
    for (int64_t c = 0; c < codes && pool->status == CS_OK; ++c) {
        s->size[c] = (double)s->rows / (double)codes;
        for (int64_t j = 0; j < v; ++j) {
            s->sum[c * v + j] = s->size[c] * (double)s->codes->book.centre[c * v + j];
        }
    }
    return pool->status;
}

static cs_status train(session *s, cs_pool *pool)
{
    cs_vq *vq = s->codes->vq;
    cs_status status = cs_vq_randomise(vq, s->o->seed);
    if (status == CS_OK) status = furnish(s, pool);
    if (status == CS_OK) status = cs_vq_open(vq, CS_VQ_ENCODER, s->o->batch, false, &s->encoder);
    if (status == CS_OK) status = cs_vq_open(vq, CS_VQ_BOTH, s->o->batch, true, &s->both);
    if (status == CS_OK) status = cs_updates_init(&vq->params, &s->updates);
    for (int64_t step = 1; step <= s->o->steps && status == CS_OK; ++step) {
        status = one_step(s, step);
    }
    return status;
}

cs_status cs_vq_train(const cs_images *m, const cs_vq_options *o, cs_codes **out,
                      cs_vq_result *result)
{
    const cs_range range[] = {{"steps", (double)o->steps, 1, UINT32_MAX},
                              {"batch", (double)o->batch, 1, 1 << 16},
                              {"lr", o->learning_rate, 0, 1e30}};
    session s = {.images = m, .o = o};
    CS_AUTO(cs_pool) pool = {0};
    cs_status status = cs_ranges_check(sizeof range / sizeof *range, range);
    if (status == CS_OK)
        status = cs_codes_fit(m, o->patch, o->codes, o->seed, o->threads, &s.codes);
    if (status != CS_OK) return status;
    s.values = s.codes->book.width;
    s.codes->height = m->height;
    s.codes->width = m->width;
    const cs_vq_sizes sizes = {m->height / o->patch * (m->width / o->patch), s.values, o->width,
                               o->layers, o->heads};
    s.rows = o->batch * sizes.patches;
    cs_interrupt_hold(true);
    status = cs_codes_network(s.codes, &sizes, o->threads, true);
    if (status == CS_OK) status = train(&s, &pool);
    cs_interrupt_hold(false);
    cs_updates_free(&s.updates);
    cs_vq_close(&s.encoder);
    cs_vq_close(&s.both);
    if (status == CS_OK) *result = s.result;
    return CS_DELIVER(status, out, s.codes, cs_codes_free);
}
