/* Vectors are those of patches, one behind the other, throughout; pictures are joined for the index of
 * windows and for the sheet alone. */
#include "analysis/vision/reconstruct.h"

#include <math.h>
#include <string.h>

#include "analysis/vision/linear_fill.h"
#include "analysis/vision/perceptual.h"
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
    {"l2", "mean squared error of the values of hidden patches as predicted (not clipped to the "
           "range of pixels)"},
    {"psnr", "10 log10(peak^2 / l2), decibels"},
    {"ssim", "structural similarity of the whole picture (Wang et al. 2004), 11 x 11 windows, of "
             "values as predicted: not clipped to the range of pixels"},
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
static cs_status choose(const cs_corpus *c, const cs_reconstruct_options *o, cs_reconstruction *r)
{
    int64_t held = 0;
    for (int64_t i = 0; i < c->documents; ++i) {
        held += c->held_out[i] != 0;
    }
    const bool all = held == 0;
    int64_t left = all ? c->documents : held,
            wanted = o->limit > 0 ? cs_least(o->limit, left) : left;
    r->picture = cs_alloc(cs_most(wanted, 1), sizeof *r->picture);
    if (!r->picture) return CS_ERR_MEMORY;
    cs_rng rng = cs_rng_at(o->seed, CS_STREAM_SAMPLE, 0);
    for (int64_t i = 0; i < c->documents && wanted > 0; ++i) {
        if ((all || c->held_out[i]) && cs_rng_selects(&rng, &left, &wanted)) {
            r->picture[r->pictures++] = i;
        }
    }
    return r->pictures > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "%s: contains no picture", c->name);
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

typedef struct {
    const cs_patch_reader *reader;
    const cs_images *images;
    const cs_corpus *corpus;
    const cs_reconstruct_options *options;
    cs_reconstruction *r;
    cs_linear_fill fill;
    double ridge, peak;
    int64_t width;           /* values of a picture */
    const float *truth;      /* pictures x width */
    float *made[CS_FILLERS]; /* the same */
    int32_t *group;          /* pictures x patches */
    int32_t *id;             /* of codes: the same; else NULL */
    float *extra;            /* pictures x extra_width; NULL: none */
} study;

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
    mark(s, s->group + i * s->reader->patches, hidden);
    for (int64_t j = 0; j < s->width; ++j) {
        mean[j] = hidden[j] ? (float)s->fill.mean[j] : x[j];
    }
    cs_status status =
        s->r->there[2] ? cs_linear_fill_of(&s->fill, s->ridge, hidden, x, s->made[2] + i * s->width)
                       : CS_OK;
    return status;
}

/* The squared error of the linear predictor on picture i of those left out, masks as theirs. */
typedef struct {
    const study *s;
    const int64_t *picture;
    double ridge, *error;
} trial;

static cs_status try_one(void *ctx, int64_t i)
{
    const trial *t = ctx;
    const study *s = t->s;
    const float *x = s->corpus->real + t->picture[i] * s->width;
    CS_AUTO_FREE uint8_t *hidden = cs_alloc(s->width, 1);
    CS_AUTO_FREE float *to = cs_alloc(s->width, sizeof *to);
    cs_status status = hidden && to ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        mark(s, s->group + i % s->r->pictures * s->reader->patches, hidden);
        status = cs_linear_fill_of(&s->fill, t->ridge, hidden, x, to);
    }
    t->error[i] = 0;
    for (int64_t j = 0; j < s->width && status == CS_OK; ++j) {
        t->error[i] += ((double)to[j] - (double)x[j]) * ((double)to[j] - (double)x[j]);
    }
    return status;
}

static cs_status choose_ridge(study *s, int64_t count, const int64_t *picture)
{
    static const double RIDGE[] = {1e-4, 1e-3, 1e-2, 1e-1};
    double least = INFINITY, *error = cs_alloc(cs_most(count, 1), sizeof *error);
    cs_status status = error ? CS_OK : CS_ERR_MEMORY;
    for (size_t k = 0; k < sizeof RIDGE / sizeof *RIDGE && status == CS_OK; ++k) {
        trial t = {s, picture, RIDGE[k], error};
        status = cs_parallel(count, s->options->threads, try_one, &t);
        const double sum = status == CS_OK ? cs_total(count, error) : 0;
        if (status == CS_OK && sum < least) {
            least = sum;
            s->ridge = RIDGE[k];
        }
    }
    cs_free(error);
    return status;
}

/* Training pictures: those not held out. Some of them choose the ridge. */
static cs_status fit(study *s)
{
    enum { MOST_LEFT = 64 };
    const cs_corpus *c = s->corpus;
    int64_t train = 0, left[MOST_LEFT], count = 0;
    CS_AUTO_FREE uint8_t *out = cs_calloc(c->documents, 1);
    if (!out) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < c->documents; ++i) {
        train += !c->held_out[i];
    }
    int64_t wanted = cs_least(MOST_LEFT, train / 8), from = train;
    cs_rng rng = cs_rng_at(s->options->seed, CS_STREAM_SPLIT, 0);
    for (int64_t i = 0; i < c->documents; ++i) {
        const bool chosen = !c->held_out[i] && wanted > 0 && cs_rng_selects(&rng, &from, &wanted);
        out[i] = c->held_out[i] || chosen;
        if (chosen) {
            left[count++] = i;
        }
    }
    cs_status status =
        cs_linear_fill_fit(c->real, c->documents, s->width, out, s->options->threads, &s->fill);
    s->r->there[0] = s->r->there[1] = true;
    s->r->there[2] = s->fill.variance > 0 && count > 0;
    if (status == CS_OK && s->r->there[2]) status = choose_ridge(s, count, left);
    s->r->ridge = s->r->there[2] ? s->ridge : (double)NAN;
    return status;
}

/* --- scores ----------------------------------------------------------------------------------- */

static cs_status score_one(void *ctx, int64_t i)
{
    const study *s = ctx;
    const cs_images *m = s->images;
    const int32_t *group = s->group + i * s->reader->patches;
    const int64_t v = s->reader->values;
    float *a = cs_alloc(2 * s->width, sizeof *a), *b = a ? a + s->width : NULL;
    if (!a) return CS_ERR_MEMORY;
    cs_patches_join(s->truth + i * s->width, m->height, m->width, m->channels,
                    s->reader->model->config.picture.patch, NULL, a);
    for (int f = 0; f < CS_FILLERS; ++f) {
        double *score = s->r->score + (i * CS_FILLERS + f) * CS_PICTURE_SCORES, sum = 0;
        if (!s->r->there[f]) {
            cs_fill(CS_PICTURE_SCORES, (double)NAN, score);
            continue;
        }
        for (int64_t j = 0; j < s->width; ++j) {
            const int64_t at = i * s->width + j;
            const double e = (double)s->made[f][at] - (double)s->truth[at];
            sum += group[j / v] > 0 ? e * e : 0;
        }
        score[0] = sum / (double)(s->r->hidden * v);
        score[1] = 10 * log10(s->peak * s->peak / score[0]);
        cs_patches_join(s->made[f] + i * s->width, m->height, m->width, m->channels,
                        s->reader->model->config.picture.patch, NULL, b);
        score[2] = cs_ssim(a, b, m->height, m->width, m->channels, s->peak);
        score[3] = (double)NAN;
    }
    cs_free(a);
    return CS_OK;
}

static void join_all(const study *s, const float *vectors, float *to)
{
    const cs_images *m = s->images;
    for (int64_t i = 0; i < s->r->pictures; ++i) {
        cs_patches_join(vectors + i * s->width, m->height, m->width, m->channels,
                        s->reader->model->config.picture.patch, NULL, to + i * s->width);
    }
}

static cs_status score_perceptual(const study *s)
{
    const int64_t n = s->r->pictures;
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
            s->r->score[(i * CS_FILLERS + f) * CS_PICTURE_SCORES + 3] = distance[i];
        }
    }
    return status;
}

/* The range of the training values of a corpus of numbers. */
static double peak_of(const cs_images *m, const cs_corpus *c, int64_t width)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; m->value && i < c->documents; ++i) {
        for (int64_t j = i * width; j < (i + 1) * width && !c->held_out[i]; ++j) {
            low = fmin(low, (double)c->real[j]);
            high = fmax(high, (double)c->real[j]);
        }
    }
    return high > low ? high - low : 1;
}

/* --- the sheet: hidden patches are grey -------------------------------------------------------- */

typedef struct {
    const cs_images *images;
    int64_t patch, width;    /* width: values of a picture */
    int64_t among, pictures; /* `pictures` of them are drawn, evenly spaced */
    const float *truth;      /* among x width, patches one after another */
    const float *made[3];    /* NULL: absent */
    const int32_t *group;    /* among x patches: 0 visible */
    int64_t patches;
} fillings;

enum { KINDS = 5, GREY = 110 };

/* Columns of a row and their headings. */
static const char *const HEADING[KINDS] = {"ORIGINAL", "SHOWN", "MODEL", "MEAN", "LINEAR"};

typedef struct {
    cs_cells cells;
    double from, step; /* pixel 0, and pixels a unit of value */
} drawn_sheet;

static uint8_t pixel_of(const drawn_sheet *s, float value)
{
    return (uint8_t)lround(fmin(fmax(s->from + s->step * (double)value, 0), 255));
}

/* The line from values to pixels. */
static void find_line(const cs_images *m, drawn_sheet *s)
{
    const int64_t all = m->count * m->height * m->width * m->channels;
    int64_t low = 0, high = 0;
    s->from = 0;
    s->step = 255;
    for (int64_t i = 0; m->value && i < all; ++i) {
        low = m->pixel[i] < m->pixel[low] ? i : low;
        high = m->pixel[i] > m->pixel[high] ? i : high;
    }
    if (m->value && m->value[high] > m->value[low]) {
        s->step = (double)(m->pixel[high] - m->pixel[low]) /
                  ((double)m->value[high] - (double)m->value[low]);
        s->from = (double)m->pixel[low] - s->step * (double)m->value[low];
    }
}

/* A picture of joined values; group (NULL: all is shown): hidden patches are grey. */
static void draw(const fillings *f, const float *values, const int32_t *group, int64_t row,
                 int64_t column, drawn_sheet *s)
{
    const cs_images *m = f->images;
    const int64_t across = m->width / f->patch;
    const int64_t scale = s->cells.scale;
    for (int64_t y = 0; y < m->height * scale; ++y) {
        for (int64_t x = 0; x < m->width * scale; ++x) {
            const int64_t v = y / scale, u = x / scale;
            const bool hidden = group && group[v / f->patch * across + u / f->patch] > 0;
            uint8_t *to = cs_cells_at(&s->cells, row, column, y, x);
            for (int64_t c = 0; c < m->channels; ++c) {
                to[c] = hidden ? GREY : pixel_of(s, values[(v * m->width + u) * m->channels + c]);
            }
        }
    }
}

/* PNG with a row for each image: the original, its visible part (the rest grey), the
 * reconstructions. Real values are converted by the line through the least and the greatest pixel
 * of the images drawn. */
static cs_status write_sheet(const fillings *f, const char *path)
{
    const cs_images *m = f->images;
    drawn_sheet s = {.from = 0};
    const int64_t kinds = f->made[2] ? KINDS : KINDS - 1;
    const cs_picture like = {.height = m->height, .width = m->width, .channels = m->channels};
    CS_AUTO_FREE float *joined = cs_alloc(f->width, sizeof *joined);
    cs_status status = joined ? cs_cells_make(f->pictures, kinds, &like, &s.cells) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        find_line(m, &s);
    }
    for (int64_t k = 0; k < kinds && status == CS_OK; ++k) {
        cs_cells_heading(&s.cells, k, HEADING[k]);
    }
    for (int64_t i = 0; i < f->pictures && status == CS_OK; ++i) {
        for (int64_t k = 0; k < kinds; ++k) {
            const float *from = k < 2 ? f->truth : f->made[k - 2];
            const int64_t at = i * f->among / f->pictures;
            cs_patches_join(from + at * f->width, m->height, m->width, m->channels, f->patch, NULL,
                            joined);
            draw(f, joined, k == 1 ? f->group + at * f->patches : NULL, i, k, &s);
        }
    }
    if (status == CS_OK) status = cs_png_write(path, &s.cells.picture);
    cs_picture_free(&s.cells.picture);
    return status;
}

static cs_status work(cs_patch_reader *reader, study *s, float *truth)
{
    const int64_t n = s->r->pictures, groups = s->options->groups;
    cs_status status =
        hide(s->options, s->images->width / s->reader->model->config.picture.patch, s->r, s->group);
    for (int64_t i = 0; i < n; ++i) {
        memcpy(truth + i * s->width, s->corpus->real + s->r->picture[i] * s->width,
               (size_t)s->width * sizeof *truth);
    }
    const cs_processor *p = &reader->model->processor;
    const int64_t channels = s->images->channels;
    cs_processor_apply(p, channels, n * s->width, truth);
    if (status == CS_OK)
        status = cs_patches_fill(reader, n, truth, s->extra, s->id, s->group,
                                 groups > 0 ? groups : s->r->hidden, s->made[0]);
    cs_processor_undo(p, channels, n * s->width, truth);
    if (status == CS_OK) cs_processor_undo(p, channels, n * s->width, s->made[0]);
    if (status == CS_OK) status = fit(s);
    if (status == CS_OK) status = cs_parallel(n, s->options->threads, fill_one, s);
    s->peak = peak_of(s->images, s->corpus, s->width);
    if (status == CS_OK) status = cs_parallel(n, s->options->threads, score_one, s);
    return status == CS_OK && s->options->classifier ? score_perceptual(s) : status;
}

cs_status cs_reconstruct(cs_patch_reader *reader, const cs_images *images,
                         const cs_reconstruct_options *options, const char *sheet,
                         cs_reconstruction *out)
{
    CS_AUTO(cs_corpus) corpus = {0}, coded = {0};
    cs_reconstruction r = {.patches = reader->patches,
                           .ridge = (double)NAN,
                           .scores = CS_PICTURE_SCORES - !options->classifier};
    study s = {.reader = reader,
               .images = images,
               .corpus = &corpus,
               .options = options,
               .r = &r,
               .width = reader->patches * reader->values};
    CS_AUTO(cs_pool) pool = {0};
    float *truth = NULL;
    cs_status status = check_reader(reader, images, options);
    if (status == CS_OK)
        status =
            cs_images_patches(images, reader->model->config.picture.patch, NULL, NULL, 0, &corpus);
    if (status == CS_OK && reader->model->codes)
        status = cs_codes_corpus(reader->model->codes, images, NULL, options->threads, &coded);
    if (status == CS_OK) status = choose(&corpus, options, &r);
    if (status != CS_OK) goto done;
    r.hidden = cs_ratio_masked(options->mask_ratio, reader->patches);
    s.truth = truth = cs_pool_take(&pool, r.pictures * s.width, sizeof *truth);
    for (int f = 0; f < CS_FILLERS; ++f) {
        s.made[f] = cs_pool_take(&pool, r.pictures * s.width, sizeof *s.made[f]);
    }
    s.group = cs_pool_take(&pool, r.pictures * r.patches, sizeof *s.group);
    r.score = cs_alloc(r.pictures * CS_FILLERS * CS_PICTURE_SCORES, sizeof *r.score);
    status = pool.status != CS_OK ? pool.status : r.score ? CS_OK : CS_ERR_MEMORY;
    s.id = status == CS_OK && coded.token
               ? cs_pool_take(&pool, r.pictures * r.patches, sizeof *s.id)
               : NULL;
    status = status == CS_OK ? pool.status : status;
    const int64_t wide = images->extra_width;
    s.extra = status == CS_OK && wide > 0 ? cs_pool_take(&pool, r.pictures * wide, sizeof *s.extra)
                                          : NULL;
    status = status == CS_OK ? pool.status : status;
    for (int64_t i = 0; s.extra && status == CS_OK && i < r.pictures; ++i) {
        memcpy(s.extra + i * wide, images->extra + r.picture[i] * wide,
               (size_t)wide * sizeof *s.extra);
    }
    for (int64_t i = 0; s.id && status == CS_OK && i < r.pictures * r.patches; ++i) {
        s.id[i] = CS_FIRST_CODE + coded.token[r.picture[i / r.patches] * r.patches + i % r.patches];
    }
    if (status == CS_OK) status = work(reader, &s, truth);
    if (status == CS_OK && sheet) {
        const fillings filled = {.images = images,
                                 .patch = reader->model->config.picture.patch,
                                 .width = s.width,
                                 .among = r.pictures,
                                 .pictures = cs_least(options->shown, r.pictures),
                                 .truth = truth,
                                 .made = {s.made[0], s.made[1], r.there[2] ? s.made[2] : NULL},
                                 .group = s.group,
                                 .patches = r.patches};
        status = write_sheet(&filled, sheet);
    }
done:
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
