/* Pictures are given to the classifier as a corpus of numbers, so that they are cut, ordered and coded as
 * all that it reads. */
#include "analysis/vision/perceptual.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "infer/text_features.h"

enum { DRAWS = 4 };

cs_status cs_perceptual_check(const cs_model_text *classifier, const cs_images *like)
{
    const cs_model_config *c = &classifier->model.config;
    if (c->head.classes == 0 || c->picture.patch == 0) {
        return cs_fail(
            CS_ERR_USAGE,
            "%s does not classify pictures; give a model of cospec finetune --save-model",
            classifier->dir);
    }
    return cs_blame(cs_model_config_sees(c, like->name, like->height, like->width, like->channels),
                    "%s", classifier->dir);
}

/* The pass of the classifier over some pictures. */
typedef struct {
    cs_model_text *classifier;
    const cs_images *like;
    cs_hidden_options hidden;
    int threads;
} walk;

/* States of `count` pictures: layers x count x patches x width. */
static cs_status states_of(const walk *w, int64_t count, const float *values, float **out)
{
    const int64_t picture = w->like->height * w->like->width * w->like->channels;
    uint8_t held_out[CS_PERCEPTUAL_PASS] = {0};
    int32_t label[CS_PERCEPTUAL_PASS];
    CS_AUTO(cs_corpus) corpus = {0};
    CS_AUTO_FREE float *value = cs_alloc(count * picture, sizeof *value);
    CS_AUTO_FREE uint8_t *pixel =
        cs_calloc(count * picture, 1); /* not read, since values are given */
    cs_images m = {.name = w->like->name,
                   .path = w->like->path,
                   .count = count,
                   .height = w->like->height,
                   .width = w->like->width,
                   .channels = w->like->channels,
                   .pixel = pixel,
                   .value = value,
                   .label = label,
                   .held_out = held_out};
    cs_status status = value && pixel ? CS_OK : CS_ERR_MEMORY;
    memset(label, -1, sizeof label);
    if (status == CS_OK) {
        memcpy(value, values, (size_t)(count * picture) * sizeof *value);
        status = cs_model_pictures(&w->classifier->model, &m, w->threads, &corpus);
    }
    if (status == CS_OK)
        status = cs_patch_features(&w->classifier->model, &corpus, &w->hidden, out);
    return status;
}

static double apart(int64_t width, const float *a, const float *b)
{
    double aa = 0, bb = 0, sum = 0;
    for (int64_t j = 0; j < width; ++j) {
        aa += (double)a[j] * (double)a[j];
        bb += (double)b[j] * (double)b[j];
    }
    const double sa = aa > 0 ? 1 / sqrt(aa) : 0, sb = bb > 0 ? 1 / sqrt(bb) : 0;
    for (int64_t j = 0; j < width; ++j) {
        const double d = sa * (double)a[j] - sb * (double)b[j];
        sum += d * d;
    }
    return sum;
}

static cs_status compare(const walk *w, int64_t count, const float *a, const float *b,
                         double *distance)
{
    const cs_model_config *c = &w->classifier->model.config;
    const int64_t patches = c->shape.positions - cs_model_config_extra(c), width = c->shape.width;
    CS_AUTO_FREE float *of_a = NULL, *of_b = NULL;
    cs_status status = states_of(w, count, a, &of_a);
    if (status == CS_OK) status = states_of(w, count, b, &of_b);
    if (status == CS_OK) {
        cs_fill(count, 0, distance);
        for (int64_t k = 0; k < c->shape.layers * count * patches; ++k) {
            distance[k / patches % count] += apart(width, of_a + k * width, of_b + k * width);
        }
        cs_divide(count, (double)(c->shape.layers * patches), distance);
    }
    return status;
}

cs_status cs_perceptual(cs_model_text *classifier, const cs_images *like, int64_t count,
                        const float *a, const float *b, int threads, double *distance)
{
    const int64_t picture = like->height * like->width * like->channels;
    walk w = {.classifier = classifier, .like = like, .threads = threads};
    CS_AUTO_FREE int64_t *layer = cs_alloc(classifier->model.config.shape.layers, sizeof *layer);
    cs_status status = layer ? cs_perceptual_check(classifier, like) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_model_text_attention(classifier, "auto", DRAWS, 0, &w.hidden.masks);
    if (status == CS_OK) status = cs_model_text_around(classifier, "auto", &w.hidden.around);
    w.hidden.layers = classifier->model.config.shape.layers;
    for (int64_t l = 0; layer && l < w.hidden.layers; ++l) {
        layer[l] = l + 1; /* 0 is before the first block */
    }
    w.hidden.layer = layer;
    for (int64_t i = 0; i < count && status == CS_OK; i += CS_PERCEPTUAL_PASS) {
        status = compare(&w, cs_least(CS_PERCEPTUAL_PASS, count - i), a + i * picture,
                         b + i * picture, distance + i);
    }
    return status;
}

/* --- structural similarity -------------------------------------------------------------------- */

/* Each window by itself: 242 multiplications a pixel. */

enum { WINDOW = 11 };

static void weights(int64_t n, double *w)
{
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double at = (double)i - (double)(n - 1) / 2;
        w[i] = exp(-at * at / (2 * 1.5 * 1.5));
        sum += w[i];
    }
    for (int64_t i = 0; i < n; ++i) {
        w[i] /= sum;
    }
}

typedef struct {
    const float *a, *b; /* of one channel, `step` values from one to the next */
    int64_t width, step;
    int64_t rows, columns; /* of a window */
    double down[WINDOW], along[WINDOW], peak;
} windows;

static double index_at(const windows *w, int64_t top, int64_t left)
{
    const double c1 = 0.01 * w->peak * 0.01 * w->peak, c2 = 0.03 * w->peak * 0.03 * w->peak;
    double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    for (int64_t y = 0; y < w->rows; ++y) {
        for (int64_t x = 0; x < w->columns; ++x) {
            const int64_t at = ((top + y) * w->width + left + x) * w->step;
            const double f = w->down[y] * w->along[x], p = (double)w->a[at], q = (double)w->b[at];
            a += f * p;
            b += f * q;
            aa += f * p * p;
            bb += f * q * q;
            ab += f * p * q;
        }
    }
    const double va = fmax(aa - a * a, 0), vb = fmax(bb - b * b, 0), cov = ab - a * b;
    return (2 * a * b + c1) * (2 * cov + c2) / ((a * a + b * b + c1) * (va + vb + c2));
}

double cs_ssim(const float *a, const float *b, int64_t height, int64_t width, int64_t channels,
               double peak)
{
    windows w = {.width = width,
                 .step = channels,
                 .rows = cs_least(WINDOW, height),
                 .columns = cs_least(WINDOW, width),
                 .peak = peak};
    double sum = 0;
    int64_t count = 0;
    weights(w.rows, w.down);
    weights(w.columns, w.along);
    for (int64_t c = 0; c < channels; ++c) {
        w.a = a + c;
        w.b = b + c;
        for (int64_t top = 0; top + w.rows <= height; ++top) {
            for (int64_t left = 0; left + w.columns <= width; ++left, ++count) {
                sum += index_at(&w, top, left);
            }
        }
    }
    return sum / (double)count;
}
