/* Vectors are those of patches, one behind the other, throughout; pictures are joined for the index of
 * windows and for the sheet alone. */
#include "analysis/vision/reconstruct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/vision/linear_fill.h"
#include "analysis/vision/perceptual.h"
#include "analysis/vision/reconstruct_private.h"
#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/range.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "image/images.h"
#include "image/patches.h"
#include "plan/plan.h"
#include "plan/ratio.h"
#include "stats/metrics.h"

static const char *const FILLER[] = {"model", "mean", "gaussian"};

static const struct {
    const char *name, *definition;
} SCORE[] = {
    {"l2", "mean squared error of the values of hidden patches (pixels clipped to their range)"},
    {"psnr", "10 log10(peak^2 / l2), decibels"},
    {"ssim", "structural similarity of the whole picture (Wang et al. 2004), 11 x 11 windows, of "
             "values (pixels clipped to their range)"},
    {"perceptual", "mean over layers and patches of the squared distance of unit states of the "
                   "classifier --perceptual (not LPIPS)"}};

void cs_reconstruction_free(cs_reconstruction *r)
{
    CS_FREE_FIELDS(r, picture, score);
    *r = (cs_reconstruction){0};
}

/* --- before the work -------------------------------------------------------------------------- */

static cs_status check_reader(const cs_patch_reader *reader, const cs_images *m,
                              const cs_reconstruct_options *o)
{
    const cs_model_config *c = &reader->model->config;
    const double least = 1e-9;
    const cs_range range[] = {{"mask ratio", o->mask_ratio, least, 1 - least}};
    cs_status status = cs_ranges_check(1, range);
    if (status != CS_OK) return status;
    status = cs_model_config_sees(c, m->name, m->height, m->width, m->channels);
    if (status != CS_OK) return status;
    if (c->shape.extra_width != m->extra_width) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: extra vectors have %lld values, but the model reads %lld (0: none)",
                       m->name, (long long)m->extra_width, (long long)c->shape.extra_width);
    }
    if (o->classifier) status = cs_perceptual_check(o->classifier, m);
    if (status != CS_OK) return status;
    const int64_t hidden = cs_ratio_masked(o->mask_ratio, reader->patches);
    return o->groups <= hidden
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%lld groups are not possible with %lld hidden patches",
                         (long long)o->groups, (long long)hidden);
}

/* Pictures of the side to reconstruct, `limit` of them at random, in order. */
static cs_status choose(const cs_images *m, const cs_reconstruct_options *o, cs_reconstruction *r)
{
    int64_t held = 0;
    for (int64_t i = 0; i < m->count; ++i) {
        held += m->held_out[i] != 0;
    }
    const bool all = held == 0;
    int64_t left = all ? m->count : held, wanted = o->limit > 0 ? cs_least(o->limit, left) : left;
    r->picture = cs_alloc(cs_most(wanted, 1), sizeof *r->picture);
    if (!r->picture) return CS_ERR_MEMORY;
    cs_rng rng = cs_rng_at(o->seed, CS_STREAM_SAMPLE, 0);
    for (int64_t i = 0; i < m->count && wanted > 0; ++i) {
        if ((all || m->held_out[i]) && cs_rng_selects(&rng, &left, &wanted)) {
            r->picture[r->pictures++] = i;
        }
    }
    return r->pictures > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "%s: contains no picture", m->name);
}

/* group[k] of each picture: 0 shown, else when it is predicted. */
static cs_status hide(const cs_reconstruct_options *o, int64_t columns, const cs_reconstruction *r,
                      int32_t *group)
{
    CS_AUTO_FREE int32_t *order = cs_alloc(r->patches, sizeof *order);
    const int64_t groups = o->groups > 0 ? o->groups : r->hidden;
    cs_objective masked = cs_objective_default(CS_OBJ_BLOCK_MASKED);
    CS_AUTO(cs_plan) plan = {0};
    cs_status status = order ? cs_plan_init(&plan, r->patches) : CS_ERR_MEMORY;
    masked.mask_ratio_lo = masked.mask_ratio_hi = o->mask_ratio;
    masked.columns = columns;
    for (int64_t i = 0; status == CS_OK && i < r->pictures; ++i) {
        cs_rng rng = cs_rng_at(o->seed, CS_STREAM_PLAN, (uint64_t)r->picture[i]);
        cs_rng_permutation(&rng, r->patches, order);
        memset(group + i * r->patches, 0, (size_t)r->patches * sizeof *group);
        status = o->blocks ? cs_plan_sample(&masked, &rng, &plan) : CS_OK;
        for (int64_t k = 0, n = 0; status == CS_OK && n < r->hidden; ++k) {
            if (!o->blocks || plan.group[order[k]] > 0) {
                group[i * r->patches + order[k]] = (int32_t)(1 + n++ * groups / r->hidden);
            }
        }
    }
    return status;
}

/* --- predictors ------------------------------------------------------------------------------- */

/* Images are reconstructed and scored a chunk at a time. */
typedef struct {
    cs_patch_reader *reader;
    const cs_images *images; /* with the pictures to reconstruct */
    const cs_images *fitted; /* with those that the baselines are fitted on: may be the same */
    const cs_reconstruct_options *options;
    cs_reconstruction *r;
    cs_linear_fill fill;
    double ridge, peak;
    int64_t width, patch;    /* values of a picture */
    int32_t *group;          /* pictures x patches */
    int32_t *id;             /* of codes: the same; else NULL */
    int64_t first, count;    /* pictures of the chunk */
    float *truth;            /* count x width */
    float *made[CS_FILLERS]; /* the same */
    float *extra;            /* count x extra_width; NULL: none */
    cs_fillings shown;       /* on the sheet */
} study;

static const int32_t *group_of(const study *s, int64_t i)
{
    return s->group + (s->first + i) * s->r->patches;
}

static void mark(const study *s, const int32_t *group, uint8_t *hidden)
{
    for (int64_t j = 0; j < s->width; ++j) {
        hidden[j] = group[j / s->reader->values] > 0;
    }
}

static cs_status fill_one(void *ctx, int64_t i)
{
    const study *s = ctx;
    const float *x = s->truth + i * s->width;
    float *mean = s->made[1] + i * s->width;
    CS_AUTO_FREE uint8_t *hidden = cs_alloc(s->width, 1);
    if (!hidden) return CS_ERR_MEMORY;
    mark(s, group_of(s, i), hidden);
    for (int64_t j = 0; j < s->width; ++j) {
        mean[j] = hidden[j] ? (float)s->fill.mean[j] : x[j];
    }
    cs_status status = s->r->there[2] ? cs_linear_fill_of(&s->fill, 1, &s->ridge, hidden, x,
                                                          s->made[2] + i * s->width)
                                      : CS_OK;
    return status;
}

static const double RIDGE[] = {1e-4, 1e-3, 1e-2, 1e-1, 1, 10};
enum { RIDGES = sizeof RIDGE / sizeof *RIDGE };

/* The squared errors of the linear predictor, one for each of some ridges, on picture i of those left
 * out, masks as those of the pictures to reconstruct. */
typedef struct {
    const study *s;
    const int64_t *picture;
    int64_t first, ridges;
    double *error; /* pictures x RIDGES */
} trial;

static cs_status try_one(void *ctx, int64_t i)
{
    const trial *t = ctx;
    const study *s = t->s;
    CS_AUTO_FREE uint8_t *hidden = cs_alloc(s->width, 1);
    CS_AUTO_FREE float *to = cs_alloc(t->ridges * s->width, sizeof *to),
                       *x = cs_alloc(s->width, sizeof *x);
    cs_status status =
        hidden && to && x ? cs_patches_read(s->fitted, t->picture[i], s->patch, x) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        mark(s, s->group + i % s->r->pictures * s->reader->patches, hidden);
        status = cs_linear_fill_of(&s->fill, t->ridges, RIDGE + t->first, hidden, x, to);
    }
    for (int64_t k = 0; k < t->ridges && status == CS_OK; ++k) {
        double sum = 0;
        for (int64_t j = 0; j < s->width; ++j) {
            const double e = (double)to[k * s->width + j] - (double)x[j];
            sum += e * e;
        }
        t->error[i * RIDGES + t->first + k] = sum;
    }
    return status;
}

/* The factors of many pictures at once: the bits of BLAS depend on its threads. */
static cs_status of_each(int64_t count, int threads, cs_item_fn fn, void *ctx)
{
    cs_threads_blas_hold(true);
    const cs_status status = cs_parallel(count, threads, fn, ctx);
    cs_threads_blas_hold(false);
    return status;
}

/* The inverse of the covariance pays where the masks leave more than half of the values visible. */
static cs_status invert(double ridge, study *s)
{
    if (2 * s->r->hidden >= s->r->patches) return CS_OK;
    cs_threads_blas_hold(true);
    const cs_status status = cs_linear_fill_invert(ridge, &s->fill);
    cs_threads_blas_hold(false);
    return status;
}

/* One inverse is there at a time; without one, all ridges share what a mask needs. */
static cs_status choose_ridge(study *s, int64_t count, const int64_t *picture)
{
    double least = INFINITY;
    CS_AUTO_FREE double *error = cs_alloc(cs_most(count, 1) * RIDGES, sizeof *error);
    trial t = {s, picture, 0, s->fill.rows ? RIDGES : 1, error};
    cs_status status = error ? CS_OK : CS_ERR_MEMORY;
    for (; t.first < RIDGES && status == CS_OK; t.first += t.ridges) {
        status = invert(RIDGE[t.first], s);
        if (status == CS_OK) status = of_each(count, s->options->threads, try_one, &t);
    }
    for (int64_t k = 0; k < RIDGES && status == CS_OK; ++k) {
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            sum += error[i * RIDGES + k];
        }
        if (sum < least) {
            least = sum;
            s->ridge = RIDGE[k];
        }
    }
    return status == CS_OK ? invert(s->ridge, s) : status;
}

static cs_status read_fitted(void *ctx, int64_t i, float *to)
{
    const study *s = ctx;
    return cs_patches_read(s->fitted, i, s->patch, to);
}

/* Training pictures: those not held out. Some of them choose the ridge. */
static cs_status fit(study *s)
{
    enum { MOST_LEFT = 64 };
    const cs_images *m = s->fitted;
    int64_t train = 0, left[MOST_LEFT], count = 0;
    CS_AUTO_FREE uint8_t *out = cs_calloc(m->count, 1);
    if (!out) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < m->count; ++i) {
        train += !m->held_out[i];
    }
    int64_t wanted = cs_least(MOST_LEFT, train / 8), from = train;
    cs_rng rng = cs_rng_at(s->options->seed, CS_STREAM_SPLIT, 0);
    for (int64_t i = 0; i < m->count; ++i) {
        const bool chosen = !m->held_out[i] && wanted > 0 && cs_rng_selects(&rng, &from, &wanted);
        out[i] = m->held_out[i] || chosen;
        if (chosen) {
            left[count++] = i;
        }
    }
    const cs_fill_rows rows = {read_fitted, s, m->count, s->width};
    cs_status status = cs_linear_fill_fit(&rows, out, s->options->threads, &s->fill);
    s->r->there[0] = s->r->there[1] = true;
    s->r->there[2] = s->fill.variance > 0 && count > 0;
    if (status == CS_OK && s->r->there[2]) status = choose_ridge(s, count, left);
    s->r->ridge = s->r->there[2] ? s->ridge : (double)NAN;
    return status;
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Predictions of pixels become what the sheet shows. Real values have no range. */
static void clip(const study *s, const int32_t *group, float *made)
{
    for (int64_t j = 0; j < s->width && !s->images->value; ++j) {
        if (group[j / s->reader->values] > 0) made[j] = fminf(fmaxf(made[j], 0), 1);
    }
}

static cs_status score_one(void *ctx, int64_t i)
{
    const study *s = ctx;
    const cs_images *m = s->images;
    const int32_t *group = group_of(s, i);
    const int64_t v = s->reader->values;
    float *a = cs_alloc(2 * s->width, sizeof *a), *b = a ? a + s->width : NULL;
    if (!a) return CS_ERR_MEMORY;
    cs_patches_join(s->truth + i * s->width, m->height, m->width, m->channels, s->patch, NULL, a);
    for (int f = 0; f < CS_FILLERS; ++f) {
        double *score = s->r->score + ((s->first + i) * CS_FILLERS + f) * CS_PICTURE_SCORES,
               sum = 0;
        if (!s->r->there[f]) {
            cs_fill(CS_PICTURE_SCORES, (double)NAN, score);
            continue;
        }
        clip(s, group, s->made[f] + i * s->width);
        for (int64_t j = 0; j < s->width; ++j) {
            const int64_t at = i * s->width + j;
            const double e = (double)s->made[f][at] - (double)s->truth[at];
            sum += group[j / v] > 0 ? e * e : 0;
        }
        score[0] = sum / (double)(s->r->hidden * v);
        score[1] = 10 * log10(s->peak * s->peak / score[0]);
        cs_patches_join(s->made[f] + i * s->width, m->height, m->width, m->channels, s->patch, NULL,
                        b);
        score[2] = cs_ssim(a, b, m->height, m->width, m->channels, s->peak);
        score[3] = (double)NAN;
    }
    cs_free(a);
    return CS_OK;
}

static void join_all(const study *s, const float *vectors, float *to)
{
    const cs_images *m = s->images;
    for (int64_t i = 0; i < s->count; ++i) {
        cs_patches_join(vectors + i * s->width, m->height, m->width, m->channels, s->patch, NULL,
                        to + i * s->width);
    }
}

static cs_status score_perceptual(const study *s)
{
    const int64_t n = s->count;
    CS_AUTO(cs_pool) pool = {0};
    float *a = cs_pool_take(&pool, n * s->width, sizeof *a),
          *b = cs_pool_take(&pool, n * s->width, sizeof *b);
    double *distance = cs_pool_take(&pool, n, sizeof *distance);
    cs_status status = pool.status;
    if (status == CS_OK) {
        join_all(s, s->truth, a);
    }
    for (int f = 0; f < CS_FILLERS && status == CS_OK; ++f) {
        if (!s->r->there[f]) {
            continue;
        }
        join_all(s, s->made[f], b);
        status = cs_perceptual(s->options->classifier, s->images, n, a, b, s->options->threads,
                               distance);
        for (int64_t i = 0; i < n && status == CS_OK; ++i) {
            s->r->score[((s->first + i) * CS_FILLERS + f) * CS_PICTURE_SCORES + 3] = distance[i];
        }
    }
    return status;
}

/* The range of the training values of a corpus of numbers. */
static double peak_of(const cs_images *m, int64_t width)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; m->value && i < m->count; ++i) {
        for (int64_t j = i * width; j < (i + 1) * width && !m->held_out[i]; ++j) {
            low = fmin(low, (double)m->value[j]);
            high = fmax(high, (double)m->value[j]);
        }
    }
    return high > low ? high - low : 1;
}

/* --- all of it -------------------------------------------------------------------------------- */

static cs_status read_truth(void *ctx, int64_t i)
{
    const study *s = ctx;
    const int64_t from = s->r->picture[s->first + i], wide = s->images->extra_width;
    if (s->extra)
        memcpy(s->extra + i * wide, s->images->extra + from * wide,
               (size_t)wide * sizeof *s->extra);
    return cs_patches_read(s->images, from, s->patch, s->truth + i * s->width);
}

static cs_status predict(study *s)
{
    const int64_t groups = s->options->groups, channels = s->images->channels, n = s->count,
                  at = s->first * s->r->patches;
    const cs_processor *p = &s->reader->model->processor;
    int32_t *id = s->id ? s->id + at : NULL;
    cs_processor_apply(p, channels, n * s->width, s->truth);
    const cs_draw_options o = {.steps = s->options->draws, .seed = s->options->seed};
    cs_status status = s->options->draws > 0
                           ? cs_patches_draw(s->reader, n, s->truth, s->extra, s->group + at,
                                             s->r->picture + s->first, &o, id, NULL, s->made[0])
                           : cs_patches_fill(s->reader, n, s->truth, s->extra, id, s->group + at,
                                             groups > 0 ? groups : s->r->hidden, s->made[0]);
    cs_processor_undo(p, channels, n * s->width, s->truth);
    if (status == CS_OK) cs_processor_undo(p, channels, n * s->width, s->made[0]);
    return status;
}

/* Of the pictures on the sheet, evenly spaced, those of the chunk. */
static void keep_shown(study *s)
{
    const cs_fillings *to = &s->shown;
    const size_t bytes = (size_t)s->width * sizeof *s->truth;
    for (int64_t i = 0; i < to->pictures; ++i) {
        const int64_t at = i * s->r->pictures / to->pictures - s->first;
        if (at < 0 || at >= s->count) continue;
        memcpy(to->truth + i * s->width, s->truth + at * s->width, bytes);
        for (int f = 0; f < CS_FILLERS; ++f) {
            memcpy(to->made[f] + i * s->width, s->made[f] + at * s->width, bytes);
        }
        memcpy(to->group + i * s->r->patches, group_of(s, at),
               (size_t)s->r->patches * sizeof *to->group);
    }
}

static cs_status reconstruct_chunk(study *s)
{
    cs_status status = cs_parallel(s->count, s->options->threads, read_truth, s);
    if (status == CS_OK) status = predict(s);
    cs_threads_blas_hold(true); /* pictures are the parallel items */
    if (status == CS_OK) status = of_each(s->count, s->options->threads, fill_one, s);
    cs_threads_blas_hold(false);
    if (status == CS_OK) status = cs_parallel(s->count, s->options->threads, score_one, s);
    if (status == CS_OK && s->options->classifier) status = score_perceptual(s);
    if (status == CS_OK) keep_shown(s);
    return status;
}

/* Pictures of a chunk: whole passes of the model, and of the classifier. */
static int64_t chunk_of(const study *s)
{
    int64_t chunk = s->reader->batch;
    while (s->options->classifier && chunk % CS_PERCEPTUAL_PASS != 0) {
        chunk += s->reader->batch;
    }
    return cs_least(chunk, s->r->pictures);
}

static cs_status take_memory(study *s, int64_t chunk, cs_pool *pool)
{
    const int64_t n = s->r->pictures, wide = s->images->extra_width, shown = s->shown.pictures;
    s->truth = cs_pool_take(pool, chunk * s->width, sizeof *s->truth);
    s->shown.truth = cs_pool_take(pool, shown * s->width, sizeof *s->shown.truth);
    for (int f = 0; f < CS_FILLERS; ++f) {
        s->made[f] = cs_pool_take(pool, chunk * s->width, sizeof *s->made[f]);
        s->shown.made[f] = cs_pool_take(pool, shown * s->width, sizeof *s->made[f]);
    }
    s->group = cs_pool_take(pool, n * s->r->patches, sizeof *s->group);
    s->shown.group = cs_pool_take(pool, shown * s->r->patches, sizeof *s->group);
    if (wide > 0) s->extra = cs_pool_take(pool, chunk * wide, sizeof *s->extra);
    s->r->score = cs_alloc(n * CS_FILLERS * CS_PICTURE_SCORES, sizeof *s->r->score);
    return pool->status == CS_OK && !s->r->score ? CS_ERR_MEMORY : pool->status;
}

/* The codes of the pictures to reconstruct. */
static cs_status encode(study *s, cs_pool *pool)
{
    const int64_t patches = s->r->patches;
    CS_AUTO(cs_corpus) coded = {0};
    cs_status status =
        cs_codes_corpus(s->reader->model->codes, s->images, NULL, s->options->threads, &coded);
    if (status != CS_OK) return status;
    s->id = cs_pool_take(pool, s->r->pictures * patches, sizeof *s->id);
    for (int64_t i = 0; s->id && i < s->r->pictures * patches; ++i) {
        s->id[i] = CS_FIRST_CODE + coded.token[s->r->picture[i / patches] * patches + i % patches];
    }
    return pool->status;
}

/* A masked model with a decoder is MAE, of codes MAGE; others have the name of their objective, without
 * its parameters. */
static void name_model(const cs_patch_reader *reader, const char *objective, cs_fillings *f)
{
    const cs_model_config *c = &reader->model->config;
    const char *name = objective ? objective : "model";
    if (c->decoder.layers > 0 && !reader->task.two_stream)
        name = c->shape.real_width > 0 ? "mae" : "mage";
    (void)snprintf(f->model, sizeof f->model, "%.*s", (int)strcspn(name, "("), name);
}

cs_status cs_reconstruct(cs_patch_reader *reader, const cs_images *train, const cs_images *images,
                         const cs_reconstruct_options *options, const char *sheet,
                         cs_reconstruction *out)
{
    cs_reconstruction r = {.patches = reader->patches,
                           .ridge = (double)NAN,
                           .scores = CS_PICTURE_SCORES - !options->classifier};
    study s = {.reader = reader,
               .images = images,
               .fitted = train ? train : images,
               .options = options,
               .r = &r,
               .patch = reader->model->config.picture.patch,
               .width = reader->patches * reader->values};
    CS_AUTO(cs_pool) pool = {0};
    cs_status status = check_reader(reader, images, options);
    if (status == CS_OK && train) status = check_reader(reader, train, options);
    if (status == CS_OK) status = choose(images, options, &r);
    r.hidden = cs_ratio_masked(options->mask_ratio, reader->patches);
    s.shown = (cs_fillings){.images = images,
                            .patch = s.patch,
                            .width = s.width,
                            .pictures = sheet ? cs_least(options->shown, r.pictures) : 0,
                            .patches = r.patches};
    name_model(reader, options->objective, &s.shown);
    const int64_t chunk = chunk_of(&s);
    if (status == CS_OK) status = take_memory(&s, chunk, &pool);
    if (status == CS_OK && reader->model->codes) status = encode(&s, &pool);
    if (status == CS_OK) status = hide(options, images->width / s.patch, &r, s.group);
    cs_threads_blas_hold(true); /* pictures are the parallel items */
    if (status == CS_OK) status = fit(&s);
    cs_threads_blas_hold(false);
    s.peak = peak_of(s.fitted, s.width);
    for (; s.first < r.pictures && status == CS_OK; s.first += chunk) {
        s.count = cs_least(chunk, r.pictures - s.first);
        status = reconstruct_chunk(&s);
        cs_progress_report(options->progress, "images", s.first + s.count, r.pictures);
    }
    if (!r.there[2]) s.shown.made[2] = NULL;
    if (status == CS_OK && sheet) status = cs_fillings_sheet(&s.shown, sheet);
    cs_linear_fill_free(&s.fill);
    return CS_DELIVER(status, out, r, cs_reconstruction_free);
}

/* --- the record ------------------------------------------------------------------------------- */

static double score_at(const cs_reconstruction *r, int64_t i, int filler, int score)
{
    return r->score[(i * CS_FILLERS + filler) * CS_PICTURE_SCORES + score];
}

/* The mean without each block of pictures, by which two runs on the same pictures are paired. */
static void add_left_out(const cs_reconstruction *r, int filler, int score, double mean,
                         cs_item *item)
{
    const int64_t n = r->pictures, blocks = cs_metric_blocks(n);
    cs_item *list = cs_item_array(item, "~left_out");
    for (int64_t b = 0; b < blocks && blocks > 1; ++b) {
        const int64_t from = b * n / blocks, to = (b + 1) * n / blocks;
        double sum = mean * (double)n;
        for (int64_t i = from; i < to; ++i) {
            sum -= score_at(r, i, filler, score);
        }
        cs_item_real(list, NULL, sum / (double)(n - (to - from)));
    }
}

static void add_mean(const cs_reconstruction *r, int filler, int score, const char *partition,
                     cs_item *list)
{
    const double n = (double)r->pictures;
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < r->pictures; ++i) {
        mean += score_at(r, i, filler, score) / n;
    }
    for (int64_t i = 0; i < r->pictures; ++i) {
        const double d = score_at(r, i, filler, score) - mean;
        squares += d * d;
    }
    cs_item *item = cs_item_object(list, NULL);
    cs_item_text(item, "by", FILLER[filler]);
    CS_ITEM_FIELDS(item, &SCORE[score], name, definition);
    cs_item_real(item, "value", mean);
    cs_item_real(item, "se", r->pictures > 1 ? sqrt(squares / (n - 1) / n) : (double)NAN);
    cs_item_int(item, "n", r->pictures);
    cs_item_text(item, "~partition", partition);
    add_left_out(r, filler, score, mean, item);
}

void cs_reconstruction_record(const cs_reconstruction *r, const cs_images *images, cs_item *root)
{
    char partition[33];
    cs_hash_hex(cs_hash(r->picture, (size_t)r->pictures * sizeof *r->picture, 0), partition);
    CS_ITEM_FIELDS(root, r, pictures, patches, hidden, ridge);
    cs_item *means = cs_item_array(root, "metrics"), *scores = cs_item_array(root, "scores");
    for (int f = 0; f < CS_FILLERS; ++f) {
        for (int k = 0; k < r->scores && r->there[f]; ++k) {
            add_mean(r, f, k, partition, means);
        }
    }
    for (int64_t i = 0; i < r->pictures; ++i) {
        const int32_t label = images->label[r->picture[i]];
        for (int f = 0; f < CS_FILLERS; ++f) {
            cs_item *item = r->there[f] ? cs_item_object(scores, NULL) : NULL;
            if (!item) {
                continue;
            }
            cs_item_int(item, "picture", r->picture[i]);
            cs_item_text(item, "label", label >= 0 ? images->label_name[label] : NULL);
            cs_item_text(item, "by", FILLER[f]);
            for (int k = 0; k < r->scores; ++k) {
                cs_item_real(item, SCORE[k].name, score_at(r, i, f, k));
            }
        }
    }
}
