/* Each group is a plan of two groups: the patches shown so far and all others. Of the others'
 * predictions those of the next group are kept. */
#include "analysis/vision/patch_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "plan/plan.h"

void cs_patch_reader_close(cs_patch_reader *reader)
{
    cs_pass_close(&reader->pass);
    cs_free(reader->order);
    *reader = (cs_patch_reader){0};
}

/* The task of the rows in the form that the model was trained in; the plans are made here. */
static cs_status set_task(const cs_model_kind *kind, cs_patch_reader *r)
{
    const bool masks = kind->pretrained == CS_ATTENTION_BIDIRECTIONAL;
    r->task =
        (cs_task){.objective = cs_objective_default(masks ? CS_OBJ_MASKED : CS_OBJ_PERMUTED_AR),
                  .two_stream = kind->kind == CS_KIND_TWO_STREAM};
    if (masks) { /* any ratio: the plans are given */
        r->task.objective.mask_ratio_lo = r->task.objective.mask_ratio_hi = 0.5;
    }
    return kind->kind != CS_KIND_CAUSAL && kind->kind != CS_KIND_MNTP &&
                   kind->kind != CS_KIND_HYBRID
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "a %s model predicts only the patch after each row and cannot fill hidden "
                         "patches; use a model of a masked objective or of two streams",
                         cs_kind_name(kind->kind));
}

cs_status cs_patch_reader_open(cs_model *model, const cs_model_kind *kind, int64_t batch,
                               cs_patch_reader *out)
{
    const cs_model_config *c = &model->config;
    cs_network_options sizes = {.form = CS_FORM_SINGLE};
    if (c->head.target == CS_TARGET_IDS && !model->codes) {
        return cs_fail(CS_ERR_USAGE,
                       "the model (%s) predicts neither values nor codes of patches; use a model "
                       "of train --arch vit",
                       cs_arch_name(c->arch));
    }
    *out = (cs_patch_reader){.model = model,
                             .patches = c->shape.positions - cs_model_config_extra(c),
                             .values = c->picture.patch * c->picture.patch * c->picture.channels,
                             .batch = batch};
    cs_status status = set_task(kind, out);
    if (status == CS_OK) status = cs_model_order(c, &out->order);
    if (status == CS_OK) status = cs_task_sizes(&out->task, c, batch, out->patches, &sizes);
    if (status == CS_OK) { /* any number of patches may be shown, or hidden */
        const int64_t rows = out->patches + cs_model_config_extra(c);
        sizes.length = rows;
        sizes.queries = sizes.queries > 0 ? rows : 0;
        sizes.decoder_length = sizes.decoder_length > 0 ? rows : 0;
        sizes.predictions = batch * out->patches;
        status = cs_pass_open(model, &sizes, &out->pass);
    }
    if (status != CS_OK) cs_patch_reader_close(out);
    return status;
}

/* --- one group -------------------------------------------------------------------------------- */

typedef struct {
    cs_plan *plan;       /* count */
    cs_example *example; /* count */
    int32_t *token;  /* batch x patches, in the order of the sequences; 0 where there are no ids */
    int32_t *id;     /* of codes: batch x patches along rows, as they are by now; else NULL */
    float *decoded;  /* of those: batch x patches x values */
    float *made;     /* predictions of a pass */
    float *seen;     /* batch x patches x values, in the order of the sequences */
    double *scratch; /* values */
    const float *extra; /* of the pictures of a pass, or NULL */
} capacity;

/* A loss row's values into its patch. */
static void put_values(const cs_patch_reader *r, const float *made, const float *real,
                       double *scratch, float *to)
{
    double mean = 0, sd = 1;
    if (r->model->config.head.target == CS_TARGET_NORMALISED) {
        sd = cs_row_normalise(r->values, real, &mean, scratch);
    }
    for (int64_t j = 0; j < r->values; ++j) {
        to[j] = (float)(mean + sd * (double)made[j]);
    }
}

/* The patch, along rows, at place k of a sequence. */
static int64_t patch_at(const cs_patch_reader *r, int64_t k)
{
    return r->order ? r->order[k] : k;
}

static bool of_codes(const cs_patch_reader *r)
{
    return r->model->config.head.target == CS_TARGET_IDS;
}

/* The likeliest code of every hidden patch of groups >= g, and what those up to g stand for. */
static cs_status put_codes(const cs_patch_reader *r, int64_t count, const int32_t *group, int64_t g,
                           capacity *m, float *out)
{
    const int64_t t = r->patches, v = r->values, vocab = r->model->config.shape.vocab;
    const cs_batch *b = &r->pass.batch;
    for (int64_t e = 0; e < b->events; ++e) {
        const float *z = m->made + e * vocab;
        int64_t best = CS_FIRST_CODE;
        for (int64_t c = best + 1; c < vocab; ++c) {
            best = z[c] > z[best] ? c : best;
        }
        m->id[b->loss.example[e] * t + patch_at(r, b->loss.place[e])] = (int32_t)best;
    }
    cs_status status = cs_codes_decode(r->model->codes, count, t, m->id, m->decoded);
    for (int64_t at = 0; at < count * t && status == CS_OK; ++at) {
        if (group[at] > 0 && group[at] <= g) {
            memcpy(out + at * v, m->decoded + at * v, (size_t)v * sizeof *out);
        }
    }
    return status;
}

/* Predicts all patches of groups >= g of some pictures. */
static cs_status predict(cs_patch_reader *r, int64_t count, const int32_t *group, int64_t g,
                         capacity *m, const float *out)
{
    const int64_t t = r->patches, v = r->values, wide = r->model->config.shape.extra_width;
    for (int64_t i = 0; i < count; ++i) {
        m->plan[i].groups = 1;
        for (int64_t k = 0; k < t; ++k) {
            const int64_t at = i * t + patch_at(r, k);
            m->plan[i].group[k] = group[at] >= g;
            m->plan[i].weight[k] = group[at] >= g;
            memcpy(m->seen + (i * t + k) * v, out + at * v, (size_t)v * sizeof *out);
            if (m->id) { /* hidden ones are not read */
                m->token[i * t + k] = group[at] < g ? m->id[at] : CS_FIRST_CODE;
            }
        }
        const bool reads = r->model->config.shape.real_width > 0;
        m->example[i] = (cs_example){.token = m->token + i * t,
                                     .length = t,
                                     .row = i,
                                     .real = reads ? m->seen + i * t * v : NULL,
                                     .extra = m->extra ? m->extra + i * wide : NULL};
    }
    const cs_batch_order order = {.task = &r->task,
                                  .config = &r->model->config,
                                  .pad_to = r->pass.fixed ? &r->pass.sizes : NULL};
    cs_batch_free(&r->pass.batch);
    cs_status status = cs_batch_of_plans(&order, m->plan, m->example, count, &r->pass.batch);
    if (status == CS_OK) status = cs_pass_forward(&r->pass, 1, (cs_run_key){0});
    return status == CS_OK ? cs_run_get_f32(r->pass.run, r->pass.network.loss.logits, m->made)
                           : status;
}

/* Predicts all patches of groups >= g of some pictures, and keeps those of g. */
static cs_status fill_group(cs_patch_reader *r, int64_t count, const float *real,
                            const int32_t *group, int64_t g, capacity *m, float *out)
{
    const int64_t t = r->patches, v = r->values;
    cs_status status = predict(r, count, group, g, m, out);
    if (status == CS_OK && of_codes(r)) {
        return put_codes(r, count, group, g, m, out);
    }
    const cs_batch *b = &r->pass.batch;
    for (int64_t e = 0; e < b->events && status == CS_OK; ++e) {
        const int64_t at = b->loss.example[e] * t + patch_at(r, b->loss.place[e]);
        if (group[at] == g) {
            put_values(r, m->made + e * v, real + at * v, m->scratch, out + at * v);
        }
    }
    return status;
}

static void empty(cs_patch_reader *r, capacity *m)
{
    for (int64_t i = 0; m->plan && i < r->batch; ++i) {
        cs_plan_free(&m->plan[i]);
    }
    CS_FREE_FIELDS(m, plan, example, token, id, decoded, made, seen, scratch);
}

static cs_status furnish(cs_patch_reader *r, capacity *m)
{
    m->plan = cs_calloc(r->batch, sizeof *m->plan);
    m->example = cs_calloc(r->batch, sizeof *m->example);
    const int64_t rows = r->batch * r->patches;
    m->token = cs_calloc(rows, sizeof *m->token);
    m->made =
        cs_alloc(rows * (of_codes(r) ? r->model->config.shape.vocab : r->values), sizeof *m->made);
    m->id = of_codes(r) ? cs_alloc(rows, sizeof *m->id) : NULL;
    m->decoded = of_codes(r) ? cs_alloc(rows * r->values, sizeof *m->decoded) : NULL;
    m->seen = cs_alloc(r->batch * r->patches * r->values, sizeof *m->seen);
    m->scratch = cs_alloc(r->values, sizeof *m->scratch);
    const bool coded = !of_codes(r) || (m->id && m->decoded);
    cs_status status =
        coded && m->plan && m->example && m->token && m->made && m->seen && m->scratch
            ? CS_OK
            : CS_ERR_MEMORY;
    for (int64_t i = 0; i < r->batch && status == CS_OK; ++i) {
        status = cs_plan_init(&m->plan[i], r->patches);
    }
    return status;
}

cs_status cs_patches_fill(cs_patch_reader *reader, int64_t count, const float *real,
                          const float *extra, const int32_t *id, const int32_t *group,
                          int64_t groups, float *out)
{
    const int64_t picture = reader->patches * reader->values;
    capacity m = {0};
    if (groups > 1 && reader->model->config.head.target == CS_TARGET_NORMALISED) {
        return cs_fail(
            CS_ERR_USAGE,
            "a model of normalised patches cannot read its own predictions; give one group only");
    }
    cs_status status = furnish(reader, &m);
    memcpy(out, real, (size_t)(count * picture) * sizeof *out);
    for (int64_t i = 0; i < count && status == CS_OK; i += reader->batch) {
        const int64_t n = cs_least(reader->batch, count - i);
        m.extra = extra ? extra + i * reader->model->config.shape.extra_width : NULL;
        if (m.id) {
            memcpy(m.id, id + i * reader->patches, (size_t)(n * reader->patches) * sizeof *id);
        }
        for (int64_t g = 1; g <= groups && status == CS_OK; ++g) {
            status = cs_interrupt_check();
            if (status == CS_OK)
                status = fill_group(reader, n, real + i * picture, group + i * reader->patches, g,
                                    &m, out + i * picture);
        }
    }
    empty(reader, &m);
    return status;
}

/* --- iterative decoding ----------------------------------------------------------------------- */

/* A hidden patch with its code. Ties of confidences are in the order of patches. */
typedef struct {
    double confidence, log_p;
    int64_t patch;
} guess;

static int by_confidence(const void *a, const void *b)
{
    const guess *x = a, *y = b;
    return x->confidence != y->confidence ? (x->confidence < y->confidence ? -1 : 1)
           : x->patch < y->patch          ? -1
                                          : x->patch > y->patch;
}

/* The log of the sum of exp(z / temperature) over codes. */
static double log_sum(const float *z, int64_t vocab, double temperature)
{
    double most = -INFINITY, sum = 0;
    for (int64_t c = CS_FIRST_CODE; c < vocab; ++c) {
        most = fmax(most, (double)z[c] / temperature);
    }
    for (int64_t c = CS_FIRST_CODE; c < vocab; ++c) {
        sum += exp((double)z[c] / temperature - most);
    }
    return most + log(sum);
}

/* The code of a patch by its logits, and log p at temperature 1. */
static int64_t draw_code(const float *z, int64_t vocab, double temperature, cs_rng *rng,
                         double *log_p)
{
    int64_t code = CS_FIRST_CODE;
    const double u = cs_rng_uniform(rng);
    if (temperature > 0) {
        const double all = log_sum(z, vocab, temperature);
        double sum = exp((double)z[code] / temperature - all);
        while (sum < u && code + 1 < vocab) {
            code += 1;
            sum += exp((double)z[code] / temperature - all);
        }
    } else {
        for (int64_t c = code + 1; c < vocab; ++c) {
            code = z[c] > z[code] ? c : code;
        }
    }
    *log_p = (double)z[code] - log_sum(z, vocab, 1);
    return code;
}

/* How many of the patches stay hidden after step s. */
static int64_t left_after(int64_t s, int64_t steps, int64_t first, int64_t hidden)
{
    const double share = cos(M_PI_2 * (double)s / (double)steps);
    const int64_t wanted = cs_most(1, (int64_t)floor((double)first * share));
    return s == steps ? 0 : cs_most(1, cs_least(wanted, hidden - 1));
}

/* State of the pictures of a pass. */
typedef struct {
    const cs_draw_options *options;
    const int64_t *number;
    int32_t *group; /* of all pictures of a pass: 1 while a patch is hidden */
    int64_t *first; /* hidden patches of each at first */
    guess *guess;   /* patches */
    double *nll;
} drawing;

/* Draws the codes of picture i in step s, and shows the most confident ones. */
static void draw_picture(const cs_patch_reader *r, int64_t i, int64_t s, drawing *d, capacity *m)
{
    const int64_t t = r->patches, vocab = r->model->config.shape.vocab;
    const cs_batch *b = &r->pass.batch;
    const cs_draw_options *o = d->options;
    int64_t hidden = 0;
    for (int64_t e = 0; e < b->events; ++e) {
        if (b->loss.example[e] != i) continue;
        guess *g = &d->guess[hidden++];
        g->patch = patch_at(r, b->loss.place[e]);
        cs_rng rng = cs_rng_at(o->seed, CS_STREAM_TEXT,
                               (uint64_t)((d->number[i] * o->steps + s) * t + g->patch));
        m->id[i * t + g->patch] =
            (int32_t)draw_code(m->made + e * vocab, vocab, o->temperature, &rng, &g->log_p);
        const double noise = -log(-log(fmax(cs_rng_uniform(&rng), 1e-300)));
        g->confidence =
            g->log_p + (o->choice > 0 ? o->choice * (1 - (double)s / (double)o->steps) * noise : 0);
    }
    qsort(d->guess, (size_t)hidden, sizeof *d->guess, by_confidence);
    for (int64_t k = left_after(s, o->steps, d->first[i], hidden); k < hidden; ++k) {
        d->group[i * t + d->guess[k].patch] = 0;
        if (d->nll) d->nll[i] -= d->guess[k].log_p;
    }
}

/* All steps of the pictures of a pass; group: of them, 0 visible. */
static cs_status draw_pass(cs_patch_reader *r, int64_t count, const int32_t *group, drawing *d,
                           capacity *m, float *out)
{
    const int64_t t = r->patches, v = r->values;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count; ++i) {
        d->first[i] = 0;
        for (int64_t k = 0; k < t; ++k) {
            d->group[i * t + k] = group[i * t + k] > 0;
            d->first[i] += d->group[i * t + k];
        }
    }
    for (int64_t s = 1; s <= d->options->steps && status == CS_OK; ++s) {
        status = cs_interrupt_check();
        if (status == CS_OK) status = predict(r, count, d->group, 1, m, out);
        for (int64_t i = 0; i < count && status == CS_OK; ++i) {
            draw_picture(r, i, s, d, m);
        }
        if (status == CS_OK) status = cs_codes_decode(r->model->codes, count, t, m->id, m->decoded);
        for (int64_t at = 0; at < count * t && status == CS_OK; ++at) {
            if (group[at] > 0) {
                memcpy(out + at * v, m->decoded + at * v, (size_t)v * sizeof *out);
            }
        }
    }
    return status;
}

cs_status cs_patches_draw(cs_patch_reader *r, int64_t count, const float *real, const float *extra,
                          const int32_t *group, const int64_t *number,
                          const cs_draw_options *options, int32_t *id, double *nll, float *out)
{
    const int64_t t = r->patches, wide = r->model->config.shape.extra_width;
    if (!of_codes(r)) {
        return cs_fail(CS_ERR_USAGE, "the model predicts values, which have no probabilities; "
                                     "decoding by confidence needs a model of codes");
    }
    if (options->steps < 1 || !(options->temperature >= 0) || !(options->choice >= 0)) {
        return cs_fail(CS_ERR_USAGE, "%lld steps at temperature %g and choice temperature %g",
                       (long long)options->steps, options->temperature, options->choice);
    }
    capacity m = {0};
    CS_AUTO(cs_pool) pool = {0};
    drawing d = {.options = options};
    int64_t *numbers = cs_pool_take(&pool, count, sizeof *numbers);
    d.group = cs_pool_take(&pool, r->batch * t, sizeof *d.group);
    d.first = cs_pool_take(&pool, r->batch, sizeof *d.first);
    d.guess = cs_pool_take(&pool, t, sizeof *d.guess);
    cs_status status = furnish(r, &m);
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) memcpy(out, real, (size_t)(count * t * r->values) * sizeof *out);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        numbers[i] = number ? number[i] : i;
        if (nll) nll[i] = 0;
    }
    for (int64_t i = 0; i < count && status == CS_OK; i += r->batch) {
        const int64_t n = cs_least(r->batch, count - i);
        m.extra = extra ? extra + i * wide : NULL;
        memcpy(m.id, id + i * t, (size_t)(n * t) * sizeof *id);
        d.number = numbers + i;
        d.nll = nll ? nll + i : NULL;
        status = draw_pass(r, n, group + i * t, &d, &m, out + i * t * r->values);
        memcpy(id + i * t, m.id, (size_t)(n * t) * sizeof *id);
    }
    empty(r, &m);
    return status;
}
