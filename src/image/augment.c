/* Crops and mirror images. A pixel's value is at its centre; what lies beyond the outermost centres
 * has their values. */
#include "image/augment.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/range.h"
#include "base/rng.h"
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
                             const cs_augment *augment, uint64_t seed, cs_patch_view *out)
{
    cs_patch_view v = {
        .images = images, .patch = patch, .order = order, .augment = *augment, .seed = seed};
    cs_status status = cs_augment_check(augment);
    if (status != CS_OK) return status;
    v.whole = cs_alloc(images->height * images->width * images->channels, sizeof *v.whole);
    if (!v.whole) return CS_ERR_MEMORY;
    *out = v;
    return CS_OK;
}

void cs_patch_view_free(cs_patch_view *view)
{
    cs_free(view->whole);
    *view = (cs_patch_view){0};
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
    const int64_t i = first / patches;
    const cs_crop crop = cs_augment_draw(&v->augment, m, i, v->seed, step, row);
    cs_crop_read(&crop, m, i, v->whole);
    cs_patches_cut(v->whole, m->height, m->width, m->channels, v->patch, to);
    const int64_t values = v->patch * v->patch * m->channels;
    if (v->order) {
        memcpy(v->whole, to, (size_t)(patches * values) * sizeof *to);
        cs_patches_order(patches, values, v->order, v->whole, to);
    }
    return CS_OK;
}
