/* Keys and the values that stand for absent ones are those of transformers' classes. */
#include "image/processor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/json.h"

enum { CHANNELS = 3 };

static const double HALF[] = {0.5, 0.5, 0.5}, CLIP_MEAN[] = {0.48145466, 0.4578275, 0.40821073},
                    CLIP_SD[] = {0.26862954, 0.26130258, 0.27577711};

/* Classes by the start of their names: ViTImageProcessor, ViTFeatureExtractor, ... */
static const struct {
    const char *name;
    const char *family; /* architectures whose names begin so have it where the file names none */
    bool square; /* a size that is one number is that of both sides, not of the shorter one */
    bool edge;   /* `size` below is of the shorter side */
    bool crop, rgb;
    cs_resample filter;
    int64_t size;      /* that stands for an absent one; 0: what the model reads */
    int64_t crop_size; /* the same; 0: the file has to give one */
    const double *mean, *sd;
} CLASS[] = {
    {"ViT", "vit", true, false, false, false, CS_RESAMPLE_BILINEAR, 0, 0, HALF, HALF},
    {"DeiT", "deit", true, false, true, false, CS_RESAMPLE_BICUBIC, 256, 224, HALF, HALF},
    {"Bit", "dinov2", false, true, true, true, CS_RESAMPLE_BICUBIC, 224, 224, CLIP_MEAN, CLIP_SD},
    {"CLIP", "clip", false, true, true, true, CS_RESAMPLE_BICUBIC, 224, 224, CLIP_MEAN, CLIP_SD},
    {"Siglip", "siglip", false, false, false, true, CS_RESAMPLE_BICUBIC, 224, 0, HALF, HALF},
    {"Beit", "beit", true, false, false, false, CS_RESAMPLE_BICUBIC, 224, 224, HALF, HALF}};
enum { CLASSES = sizeof CLASS / sizeof *CLASS };
static const char ENDINGS[] =
    "ImageProcessor, ImageProcessorFast, ImageProcessorPil, FeatureExtractor";

/* Keys that are read here, and keys without effect on values. */
static const char READ[] =
    "do_convert_rgb, do_resize, size, resample, do_center_crop, crop_size, do_rescale, "
    "rescale_factor, do_normalize, image_mean, image_std, image_processor_type, "
    "feature_extractor_type";
static const char IDLE[] =
    "processor_class, auto_map, data_format, input_data_format, return_tensors, device, "
    "disable_grouping, default_to_square, _valid_processor_keys, model_input_names, "
    "use_fast, backend, transformers_version, pad_size, image_seq_length, do_reduce_labels, "
    "reduce_labels";

void cs_processor_free(cs_processor *p)
{
    json_decref(p->json);
    *p = (cs_processor){0};
}

/* --- reading ---------------------------------------------------------------------------------- */

static cs_status read_class(const json_t *json, const char *family, int *out)
{
    const char *name = json_string_value(json_object_get(json, "image_processor_type"));
    name = name ? name : json_string_value(json_object_get(json, "feature_extractor_type"));
    *out = 0;
    for (int i = 0; i < CLASSES; ++i) {
        const char *begin = name ? CLASS[i].name : CLASS[i].family;
        const size_t size = strlen(begin);
        if (name ? strncmp(name, begin, size) == 0 && cs_listed(ENDINGS, name + size)
                 : family && strncmp(family, begin, size) == 0) {
            *out = i;
            return CS_OK;
        }
    }
    return !name ? CS_OK
                 : cs_fail(CS_ERR_INPUT,
                           "image_processor_type \"%s\" is not supported (ViT, DeiT, Bit, CLIP, "
                           "Siglip or Beit with ImageProcessor)",
                           name);
}

/* An unknown key may stand for a step that is not done here. */
static cs_status check_keys(const json_t *json)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (!cs_listed(READ, key) && !cs_listed(IDLE, key) && !json_is_null(value) &&
            !json_is_false(value))
            return cs_fail(CS_ERR_INPUT, "'%s' is not supported", key);
    }
    return CS_OK;
}

static cs_status read_flag(const json_t *json, const char *key, bool absent, bool *out)
{
    const json_t *value = json_object_get(json, key);
    *out = value && !json_is_null(value) ? json_is_true(value) : absent;
    return !value || json_is_null(value) || json_is_boolean(value)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "'%s' is not true or false", key);
}

static int64_t side_of(const json_t *value)
{
    const int64_t side = json_is_integer(value) ? json_integer_value(value) : 0;
    return side > 0 && side < 65536 ? side : 0;
}

/* A size: a number, a list or an object of height and width, or of shortest_edge. */
static cs_status read_size(const json_t *json, const char *key, bool square, int64_t *height,
                           int64_t *width, int64_t *shortest)
{
    const json_t *value = json_object_get(json, key),
                 *edge = json_object_get(value, "shortest_edge");
    const bool one = json_is_integer(value);
    if (!value || json_is_null(value)) return CS_OK;
    *height = *width = *shortest = 0;
    if ((one && !square) || (edge && json_object_size(value) == 1)) {
        *shortest = side_of(one ? value : edge);
    } else if (json_object_size(value) == 2 || json_array_size(value) == 2 || one) {
        *height = side_of(one                    ? value
                          : json_is_array(value) ? json_array_get(value, 0)
                                                 : json_object_get(value, "height"));
        *width = side_of(one                    ? value
                         : json_is_array(value) ? json_array_get(value, 1)
                                                : json_object_get(value, "width"));
    }
    return *shortest > 0 || (*height > 0 && *width > 0)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "'%s' is not supported (a number, height and width, or shortest_edge)",
                         key);
}

/* A number for each channel, or one for all. */
static cs_status read_numbers(const json_t *json, const char *key, const double *absent,
                              int64_t channels, float *out)
{
    const json_t *value = json_object_get(json, key);
    const bool list = json_is_array(value), none = !value || json_is_null(value);
    if (!none && (list ? (int64_t)json_array_size(value) != channels : !json_is_number(value)))
        return cs_fail(CS_ERR_INPUT, "'%s' is not a number or %lld numbers, one for each channel",
                       key, (long long)channels);
    for (int64_t c = 0; c < channels; ++c) {
        const json_t *item = list ? json_array_get(value, (size_t)c) : value;
        if (!none && !json_is_number(item))
            return cs_fail(CS_ERR_INPUT, "'%s' has a value that is not a number", key);
        out[c] = (float)(none ? absent[c] : json_number_value(item));
    }
    return CS_OK;
}

static cs_status read_values(const json_t *json, int class, int64_t channels, cs_processor *p)
{
    const json_t *factor = json_object_get(json, "rescale_factor");
    bool rescale = false, normalise = false;
    cs_status status = read_flag(json, "do_rescale", true, &rescale);
    if (status == CS_OK) status = read_flag(json, "do_normalize", true, &normalise);
    if (status == CS_OK && factor && !json_is_null(factor) && !json_is_number(factor))
        status = cs_fail(CS_ERR_INPUT, "'rescale_factor' is not a number");
    p->factor = !rescale ? 1 : json_is_number(factor) ? json_number_value(factor) : 1.0 / 255;
    for (int c = 0; c < CHANNELS; ++c) {
        p->mean[c] = 0;
        p->sd[c] = 1;
    }
    if (status == CS_OK && normalise)
        status = read_numbers(json, "image_mean", CLASS[class].mean, channels, p->mean);
    if (status == CS_OK && normalise)
        status = read_numbers(json, "image_std", CLASS[class].sd, channels, p->sd);
    for (int64_t c = 0; c < channels && status == CS_OK; ++c) {
        if (!(p->sd[c] > 0) || !isfinite(p->sd[c]) || !isfinite(p->mean[c]))
            status = cs_fail(CS_ERR_INPUT, "'image_std' is not above 0");
    }
    if (status == CS_OK && !(p->factor > 0 && isfinite(p->factor)))
        status = cs_fail(CS_ERR_INPUT, "'rescale_factor' is not above 0");
    p->affine = normalise || fabs(p->factor * 255 - 1) > 1e-12;
    return status;
}

static cs_status read_geometry(const json_t *json, int class, cs_processor *p)
{
    const json_t *filter = json_object_get(json, "resample");
    const int64_t absent = CLASS[class].size;
    int64_t number = CLASS[class].filter, none = 0;
    cs_status status = read_flag(json, "do_convert_rgb", CLASS[class].rgb, &p->rgb);
    if (status == CS_OK) status = read_flag(json, "do_resize", true, &p->resize);
    if (status == CS_OK) status = read_flag(json, "do_center_crop", CLASS[class].crop, &p->crop);
    if (filter && !json_is_null(filter))
        number = json_is_integer(filter) ? json_integer_value(filter) : -1;
    if (status == CS_OK && (number < 0 || number >= CS_RESAMPLES))
        status = cs_fail(CS_ERR_INPUT, "'resample' is not a number of 0..%d", CS_RESAMPLES - 1);
    p->filter = (cs_resample)number;
    p->height = p->width = CLASS[class].edge ? 0 : absent;
    p->shortest = CLASS[class].edge ? absent : 0;
    p->crop_height = p->crop_width = CLASS[class].crop_size;
    if (status == CS_OK)
        status = read_size(json, "size", CLASS[class].square, &p->height, &p->width, &p->shortest);
    if (status == CS_OK)
        status = read_size(json, "crop_size", true, &p->crop_height, &p->crop_width, &none);
    if (status == CS_OK && none > 0)
        status = cs_fail(CS_ERR_INPUT, "'crop_size' has shortest_edge, not height and width");
    return status == CS_OK && p->crop && p->crop_height == 0
               ? cs_fail(CS_ERR_INPUT, "'do_center_crop' needs 'crop_size'")
               : status;
}

cs_status cs_processor_read(const char *path, const char *family, int64_t channels,
                            cs_processor *out)
{
    cs_processor p = {0};
    int class = 0;
    cs_status status = cs_json_read(path, &p.json);
    if (status != CS_OK) return status;
    if (!json_is_object(p.json)) status = cs_fail(CS_ERR_INPUT, "not an object");
    if (status == CS_OK) status = read_class(p.json, family, &class);
    if (status == CS_OK) status = check_keys(p.json);
    if (status == CS_OK) status = read_geometry(p.json, class, &p);
    if (status == CS_OK) status = read_values(p.json, class, channels, &p);
    status = cs_blame(status, "%s", path);
    return CS_DELIVER(status, out, p, cs_processor_free);
}

static json_t *sides_of(const int64_t size[2])
{
    return json_pack("{s:I, s:I}", "height", (json_int_t)size[0], "width", (json_int_t)size[1]);
}

cs_status cs_processor_of_sizes(const int64_t size[2], const int64_t crop[2], int64_t channels,
                                cs_processor *out)
{
    json_auto_t *json =
        json_pack("{s:s, s:b, s:b, s:i, s:b, s:b, s:f, s:b}", "image_processor_type",
                  "CLIPImageProcessor", "do_convert_rgb", channels == CHANNELS, "do_resize",
                  size[0] > 0, "resample", CS_RESAMPLE_BILINEAR, "do_center_crop", crop[0] > 0,
                  "do_rescale", 1, "rescale_factor", 1.0 / 255, "do_normalize", 0);
    int wrong = !json;
    if (size[0] > 0 && size[1] > 0) {
        wrong += json_object_set_new(json, "size", sides_of(size)) != 0;
    } else if (size[0] > 0) {
        wrong += json_object_set_new(json, "size",
                                     json_pack("{s:I}", "shortest_edge", (json_int_t)size[0])) != 0;
    }
    if (crop[0] > 0) wrong += json_object_set_new(json, "crop_size", sides_of(crop)) != 0;
    if (wrong) return cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    *out = (cs_processor){.json = json,
                          .rgb = channels == CHANNELS,
                          .resize = size[0] > 0,
                          .crop = crop[0] > 0,
                          .filter = CS_RESAMPLE_BILINEAR,
                          .shortest = size[1] > 0 ? 0 : size[0],
                          .height = size[1] > 0 ? size[0] : 0,
                          .width = size[1],
                          .crop_height = crop[0],
                          .crop_width = crop[1],
                          .factor = 1.0 / 255,
                          .sd = {1, 1, 1}};
    json = NULL;
    return CS_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

cs_status cs_processor_write(const cs_processor *p, int64_t height, int64_t width, int64_t channels,
                             const char *path)
{
    json_auto_t *json =
        p->json
            ? json_incref(p->json)
            : json_pack("{s:s, s:b, s:b, s:{s:I, s:I}, s:i, s:b, s:f, s:b}", "image_processor_type",
                        "ViTImageProcessor", "do_convert_rgb", channels == CHANNELS, "do_resize", 1,
                        "size", "height", (json_int_t)height, "width", (json_int_t)width,
                        "resample", CS_RESAMPLE_BILINEAR, "do_rescale", 1, "rescale_factor",
                        1.0 / 255, "do_normalize", 0);
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "%s: out of memory for JSON", path);
    return status == CS_OK ? cs_json_write(path, json) : status;
}

/* --- images ----------------------------------------------------------------------------------- */

/* The size that an image is resized to. */
static void resized(const cs_image_fit *fit, int64_t height, int64_t width, cs_image_sizes *to)
{
    const cs_processor *p = fit->processor;
    const bool low = height < width;
    const int64_t edge = p->shortest;
    to->height = height;
    to->width = width;
    if (p->resize && edge > 0) { /* the longer side is rounded down, as in the package */
        to->height = low ? edge : (int64_t)((double)(edge * height) / (double)width);
        to->width = low ? (int64_t)((double)(edge * width) / (double)height) : edge;
    } else if (p->resize) {
        to->height = p->height > 0 ? p->height : fit->height > 0 ? fit->height : height;
        to->width = p->width > 0 ? p->width : fit->width > 0 ? fit->width : width;
    }
    to->crop_height = p->crop ? p->crop_height : to->height;
    to->crop_width = p->crop ? p->crop_width : to->width;
}

cs_status cs_image_fit_sizes(const cs_image_fit *fit, const char *name, int64_t height,
                             int64_t width, cs_image_sizes *out)
{
    enum { MOST_SIDE = 65535 };
    resized(fit, height, width, out);
    if (out->height < 1 || out->width < 1 || out->height > MOST_SIDE || out->width > MOST_SIDE) {
        return cs_fail(CS_ERR_INPUT, "%s: %lld x %lld pixels cannot be resized to %lld x %lld",
                       name, (long long)height, (long long)width, (long long)out->height,
                       (long long)out->width);
    }
    return out->crop_height <= out->height && out->crop_width <= out->width
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: a crop of %lld x %lld exceeds the image, %lld x %lld",
                         name, (long long)out->crop_height, (long long)out->crop_width,
                         (long long)out->height, (long long)out->width);
}

cs_status cs_image_fit_pixels(const cs_image_fit *fit, const uint8_t *from, int64_t height,
                              int64_t width, int64_t channels, const cs_image_sizes *sizes,
                              uint8_t *to)
{
    const cs_window centre = {(sizes->height - sizes->crop_height) / 2,
                              (sizes->width - sizes->crop_width) / 2, sizes->crop_height,
                              sizes->crop_width};
    return cs_picture_resample(from, height, width, channels, fit->processor->filter, sizes->height,
                               sizes->width, &centre, to);
}

bool cs_processor_changes(const cs_processor *p, const cs_images *images, int64_t height,
                          int64_t width, int64_t channels)
{
    const cs_image_fit fit = {p, height, width, channels};
    cs_image_sizes to = {0};
    if (!p->json || images->fitted) return false;
    resized(&fit, images->height, images->width, &to);
    return to.height != images->height || to.width != images->width ||
           to.crop_height != to.height || to.crop_width != to.width ||
           (p->rgb && images->channels == 1 && channels == CHANNELS);
}

typedef struct {
    cs_image_fit fit;
    const cs_images *from;
    cs_images *to;
    cs_image_sizes sizes;
} job;

static cs_status make_one(void *ctx, int64_t i)
{
    const job *j = ctx;
    const cs_images *m = j->from;
    const int64_t c = m->channels, copies = j->to->channels / c,
                  values = j->to->height * j->to->width * c;
    uint8_t *to = j->to->pixel + i * values * copies;
    cs_status status = cs_image_fit_pixels(&j->fit, m->pixel + i * m->height * m->width * c,
                                           m->height, m->width, c, &j->sizes, to);
    for (int64_t v = values * copies - 1; v >= 0 && copies > 1; --v) {
        to[v] = to[v / copies];
    }
    return status;
}

cs_status cs_processor_images(const cs_processor *p, const cs_images *images, int64_t height,
                              int64_t width, int64_t channels, int threads, cs_images *out)
{
    cs_images m = *images;
    job j = {.fit = {p, height, width, channels}, .from = images, .to = &m};
    if (images->value)
        return cs_fail(CS_ERR_USAGE, "%s: images of real values cannot be resized", images->name);
    cs_status status =
        cs_image_fit_sizes(&j.fit, images->name, images->height, images->width, &j.sizes);
    m.height = j.sizes.crop_height;
    m.width = j.sizes.crop_width;
    m.channels = p->rgb && channels == CHANNELS ? CHANNELS : images->channels;
    m.fitted = true;
    const int64_t bytes = m.count * m.height * m.width * m.channels;
    if (status == CS_OK)
        status = cs_mem_check((double)bytes, NULL, "%s: %lld resized images take", m.name,
                              (long long)m.count);
    if (status != CS_OK) return status;
    m.pixel = cs_alloc(bytes, 1);
    status = m.pixel ? cs_parallel(m.count, threads, make_one, &j) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        *out = m;
    } else {
        cs_free(m.pixel);
    }
    return status;
}

void cs_processor_digest(const cs_processor *p, const char content[65], char out[65])
{
    char about[512];
    const bool affine = p->json && p->affine;
    int size =
        snprintf(about, sizeof about, "%s %d %.17g", content, affine, affine ? p->factor : 0);
    for (int c = 0; c < CHANNELS && affine; ++c) {
        size += snprintf(about + size, sizeof about - (size_t)size, " %.9g %.9g",
                         (double)p->mean[c], (double)p->sd[c]);
    }
    out[0] = '\0';
    if (content[0]) cs_sha256(about, (size_t)size, out);
}

void cs_processor_apply(const cs_processor *p, int64_t channels, int64_t count, float *x)
{
    for (int64_t i = 0; p->json && p->affine && i < count; ++i) {
        const int64_t c = i % channels;
        x[i] = ((float)((double)x[i] * 255 * p->factor) - p->mean[c]) / p->sd[c];
    }
}

void cs_processor_undo(const cs_processor *p, int64_t channels, int64_t count, float *x)
{
    for (int64_t i = 0; p->json && p->affine && i < count; ++i) {
        const int64_t c = i % channels;
        x[i] = (float)(((double)x[i] * (double)p->sd[c] + (double)p->mean[c]) / (255 * p->factor));
    }
}
