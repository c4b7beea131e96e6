/* Crops and mirror images. A pixel's value is at its centre; what lies beyond the outermost centres
 * has their values. */
#include "image/augment.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/range.h"
#include "base/rng.h"
#include "image/image_stream_private.h"
#include "image/patches.h"

enum { TRIES = 10 };

cs_status cs_augment_check(const cs_augment *augment)
{
    const cs_range range[] = {{"least area of a crop", augment->least_area, 0x1p-10, 1},
                              {"ratio of a crop", augment->most_ratio, 1, 64}};
    return cs_ranges_check(2, range);
}

cs_crop cs_augment_draw(const cs_augment *augment, const cs_images *images, int64_t i,
                        uint64_t seed, int64_t step, int64_t row)
{
    const double height = (double)images->height, width = (double)images->width;
    const bool mirror = images->mirror && images->label[i] >= 0 && images->mirror[images->label[i]];
    cs_rng rng = cs_rng_at(seed, CS_STREAM_AUGMENT, (uint64_t)step << 32 | (uint64_t)row);
    cs_crop whole = {0, 0, height, width, false};
    whole.mirrored = cs_rng_uniform(&rng) < 0.5 && augment->flip && mirror;
    for (int t = 0; t < TRIES; ++t) {
        const double share = augment->least_area + (1 - augment->least_area) * cs_rng_uniform(&rng);
        const double ratio = exp(log(augment->most_ratio) * (2 * cs_rng_uniform(&rng) - 1));
        const double up = cs_rng_uniform(&rng), along = cs_rng_uniform(&rng);
        const double area = share * height * width;
        cs_crop crop = {
            .height = sqrt(area / ratio), .width = sqrt(area * ratio), .mirrored = whole.mirrored};
        if (crop.height <= height && crop.width <= width) {
            crop.top = up * (height - crop.height);
            crop.left = along * (width - crop.width);
            return crop;
        }
    }
    return whole;
}

/* The two neighbours of a point on a line of `count` centres, and the share of the second. */
static double neighbours(double at, int64_t count, int64_t two[2])
{
    const double place = fmin(fmax(at - 0.5, 0), (double)(count - 1));
    two[0] = (int64_t)floor(place);
    two[1] = two[0] + 1 < count ? two[0] + 1 : two[0];
    return place - (double)two[0];
}

void cs_crop_read(const cs_crop *crop, const cs_images *images, int64_t i, float *to)
{
    const int64_t height = images->height, width = images->width, channels = images->channels;
    const int64_t first = i * height * width * channels;
    for (int64_t y = 0; y < height; ++y) {
        int64_t row[2], column[2];
        const double v =
            neighbours(crop->top + ((double)y + 0.5) * crop->height / (double)height, height, row);
        for (int64_t x = 0; x < width; ++x) {
            const int64_t from = crop->mirrored ? width - 1 - x : x;
            const double u = neighbours(
                crop->left + ((double)from + 0.5) * crop->width / (double)width, width, column);
            for (int64_t c = 0; c < channels; ++c) {
                double corner[4];
                for (int k = 0; k < 4; ++k) {
                    const int64_t at = first + (row[k / 2] * width + column[k % 2]) * channels + c;
                    corner[k] =
                        images->value ? (double)images->value[at] : (double)images->pixel[at] / 255;
                }
                const double top = corner[0] + u * (corner[1] - corner[0]);
                const double bottom = corner[2] + u * (corner[3] - corner[2]);
                to[(y * width + x) * channels + c] = (float)(top + v * (bottom - top));
            }
        }
    }
}

/* --- for training ----------------------------------------------------------------------------- */

cs_status cs_patch_view_make(const cs_images *images, int64_t patch, const int32_t *order,
                             const cs_processor *processor, const cs_augment *augment,
                             uint64_t seed, cs_patch_view *out)
{
    *out = (cs_patch_view){.images = images,
                           .patch = patch,
                           .order = order,
                           .processor = processor,
                           .augments = augment,
                           .seed = seed};
    if (!augment) return CS_OK;
    out->augment = *augment;
    return cs_augment_check(augment);
}

/* The values of image i, augmented, as patches along rows. */
static cs_status take_augmented(const cs_patch_view *v, int64_t i, int64_t step, int64_t row,
                                float *whole, float *to)
{
    const cs_images *m = v->images;
    const int64_t all = m->height * m->width * m->channels;
    CS_AUTO_FREE uint8_t *pixel = cs_alloc(all, 1);
    if (!pixel) return CS_ERR_MEMORY;
    cs_images one = *m;
    one.pixel = pixel;
    one.value = m->value ? m->value + i * all : NULL;
    cs_status status = cs_images_read(m, i, pixel);
    if (status != CS_OK) return status;
    const cs_crop crop = cs_augment_draw(&v->augment, m, i, v->seed, step, row);
    cs_crop_read(&crop, &one, 0, whole);
    cs_patches_cut(whole, m->height, m->width, m->channels, v->patch, to);
    return CS_OK;
}

cs_status cs_patch_view_take(void *ctx, int64_t first, int64_t count, int64_t step, int64_t row,
                             float *to)
{
    const cs_patch_view *v = ctx;
    const cs_images *m = v->images;
    const int64_t patches = m->height / v->patch * (m->width / v->patch);
    if (first % patches != 0 || count != patches) {
        return cs_fail(CS_ERR_USAGE, "patches %lld .. %lld are not in one picture of %lld patches",
                       (long long)first, (long long)(first + count - 1), (long long)patches);
    }
    const int64_t i = first / patches, all = m->height * m->width * m->channels;
    const bool augments = v->augments && step > 0;
    CS_AUTO_FREE float *whole = augments || v->order ? cs_alloc(all, sizeof *whole) : NULL;
    if ((augments || v->order) && !whole) return CS_ERR_MEMORY;
    cs_status status =
        augments ? take_augmented(v, i, step, row, whole, to) : cs_patches_read(m, i, v->patch, to);
    if (status != CS_OK) return status;
    cs_processor_apply(v->processor, m->channels, all, to);
    if (v->order) {
        memcpy(whole, to, (size_t)all * sizeof *to);
        cs_patches_order(patches, v->patch * v->patch * m->channels, v->order, whole, to);
    }
    return CS_OK;
}

/* --- without augmentation --------------------------------------------------------------------- */

/* The images that the vectors of a corpus are read from. */
typedef struct {
    cs_patch_view view;
    cs_images images; /* the stream and its sizes alone */
    cs_processor processor;
    int32_t *order;
} kept;

static void free_kept(void *ctx)
{
    kept *k = ctx;
    cs_images_free(&k->images);
    cs_processor_free(&k->processor);
    cs_free(k->order);
    cs_free(k);
}

cs_status cs_patch_vectors(const cs_images *images, int64_t patch, const int32_t *order,
                           const cs_processor *processor, cs_vectors **out)
{
    const int64_t patches = images->height / patch * (images->width / patch);
    cs_vectors *made = cs_calloc(1, sizeof *made);
    kept *k = made ? cs_calloc(1, sizeof *k) : NULL;
    if (!k) return CS_DELIVER(CS_ERR_MEMORY, out, made, cs_vectors_free);
    *made = (cs_vectors){
        .take = cs_patch_view_take, .free = free_kept, .ctx = k}; /* its view is first */
    k->images = (cs_images){.count = images->count,
                            .height = images->height,
                            .width = images->width,
                            .channels = images->channels,
                            .stream = cs_image_stream_share(images->stream)};
    k->processor = *processor;
    json_incref(k->processor.json);
    if (order) k->order = cs_alloc(patches, sizeof *k->order);
    if (order && !k->order) return CS_DELIVER(CS_ERR_MEMORY, out, made, cs_vectors_free);
    if (order) memcpy(k->order, order, (size_t)patches * sizeof *order);
    cs_status status =
        cs_patch_view_make(&k->images, patch, k->order, &k->processor, NULL, 0, &k->view);
    return CS_DELIVER(status, out, made, cs_vectors_free);
}
