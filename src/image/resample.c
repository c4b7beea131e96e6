/* Pillow's arithmetic step by step: the order of the floating-point operations decides bytes. */
#include "image/resample.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"

enum { BITS = 22, HALF = 1 << (BITS - 1) };

static double sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(x * M_PI) / (x * M_PI);
}

static double weight(cs_resample filter, double x)
{
    const double a = -0.5;
    if (filter == CS_RESAMPLE_BOX) return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    if (filter == CS_RESAMPLE_LANCZOS) return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    x = fabs(x);
    switch (filter) {
    case CS_RESAMPLE_BILINEAR:
        return x < 1.0 ? 1.0 - x : 0.0;
    case CS_RESAMPLE_HAMMING:
        return x == 0.0 ? 1.0
               : x >= 1.0
                   ? 0.0
                   : sin(x * M_PI) / (x * M_PI) * ((double)0.54F + (double)0.46F * cos(x * M_PI));
    default:
        return x < 1.0   ? ((a + 2.0) * x - (a + 3.0)) * x * x + 1
               : x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a
                         : 0.0;
    }
}

static double support_of(cs_resample filter)
{
    return filter == CS_RESAMPLE_BOX       ? 0.5
           : filter == CS_RESAMPLE_BICUBIC ? 2.0
           : filter == CS_RESAMPLE_LANCZOS ? 3.0
                                           : 1.0;
}

/* Output x is the sum of weight[x * most + i] times input first[x] + i, i < count[x]. */
typedef struct {
    int64_t most, *first, *count;
    int32_t *weight;
} line;

static void line_free(line *l)
{
    CS_FREE_FIELDS(l, first, count, weight);
}

static void fill_line(cs_resample filter, double scale, int64_t inputs, int64_t x, double *k,
                      line *l)
{
    const double wide = scale < 1.0 ? 1.0 : scale, support = support_of(filter) * wide,
                 centre = ((double)x + 0.5) * scale, step = 1.0 / wide;
    int64_t first = (int64_t)(centre - support + 0.5), end = (int64_t)(centre + support + 0.5);
    double sum = 0;
    first = first < 0 ? 0 : first;
    end = end > inputs ? inputs : end;
    for (int64_t i = 0; i < end - first; ++i) {
        k[i] = weight(filter, ((double)(i + first) - centre + 0.5) * step);
        sum += k[i];
    }
    for (int64_t i = 0; i < end - first; ++i) {
        const double w = sum != 0.0 ? k[i] / sum : k[i];
        l->weight[x * l->most + i] = (int32_t)((w < 0 ? -0.5 : 0.5) + w * (1 << BITS));
    }
    l->first[x] = first;
    l->count[x] = end - first;
}

static cs_status make_line(cs_resample filter, int64_t inputs, int64_t outputs, line *l)
{
    const double scale = (double)inputs / (double)outputs, wide = scale < 1.0 ? 1.0 : scale;
    *l = (line){.most = (int64_t)ceil(support_of(filter) * wide) * 2 + 1};
    CS_AUTO_FREE double *k = cs_alloc(l->most, sizeof *k);
    l->first = cs_alloc(outputs, sizeof *l->first);
    l->count = cs_alloc(outputs, sizeof *l->count);
    l->weight = cs_alloc(outputs * l->most, sizeof *l->weight);
    const bool made = k && l->first && l->count && l->weight;
    for (int64_t x = 0; made && x < outputs; ++x) {
        fill_line(filter, scale, inputs, x, k, l);
    }
    if (!made) line_free(l);
    return made ? CS_OK : CS_ERR_MEMORY;
}

static uint8_t byte_of(int32_t sum)
{
    sum >>= BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* Outputs first .. first + count - 1 of a row of `channels` values a pixel. */
static void run_row(const line *l, const uint8_t *from, int64_t channels, int64_t first,
                    int64_t count, uint8_t *to)
{
    for (int64_t x = first; x < first + count; ++x) {
        const int32_t *w = l->weight + x * l->most;
        const uint8_t *at = from + l->first[x] * channels;
        if (channels == 3) {
            int32_t sum[3] = {HALF, HALF, HALF};
            for (int64_t i = 0; i < l->count[x]; ++i, at += 3) {
                sum[0] += w[i] * at[0];
                sum[1] += w[i] * at[1];
                sum[2] += w[i] * at[2];
            }
            for (int c = 0; c < 3; ++c) {
                *to++ = byte_of(sum[c]);
            }
            continue;
        }
        for (int64_t c = 0; c < channels; ++c) {
            int32_t sum = HALF;
            for (int64_t i = 0; i < l->count[x]; ++i) {
                sum += w[i] * at[i * channels + c];
            }
            *to++ = byte_of(sum);
        }
    }
}

/* Output y of columns, `wide` of them; from: row `top` of the inputs and those below it. */
static void run_columns(const line *l, const uint8_t *from, int64_t top, int64_t wide, int64_t y,
                        uint8_t *to)
{
    enum { AT_ONCE = 32 };
    const int32_t *w = l->weight + y * l->most;
    const uint8_t *first = from + (l->first[y] - top) * wide;
    for (int64_t x = 0; x < wide; x += AT_ONCE) {
        const int64_t n = cs_least(AT_ONCE, wide - x);
        int32_t sum[AT_ONCE];
        for (int k = 0; k < AT_ONCE; ++k) {
            sum[k] = HALF;
        }
        for (int64_t i = 0; i < l->count[y]; ++i) {
            const uint8_t *at = first + i * wide + x;
            if (n == AT_ONCE) {
                for (int k = 0; k < AT_ONCE; ++k) {
                    sum[k] += w[i] * at[k];
                }
            } else {
                for (int k = 0; k < n; ++k) {
                    sum[k] += w[i] * at[k];
                }
            }
        }
        for (int k = 0; k < n; ++k) {
            to[x + k] = byte_of(sum[k]);
        }
    }
}

/* The input of each output of `nearest`: the sums are Pillow's, term by term. */
static void nearest(const uint8_t *from, int64_t height, int64_t width, int64_t channels,
                    int64_t to_height, int64_t to_width, const cs_window *part, uint8_t *to)
{
    const double down = (double)height / (double)to_height,
                 right = (double)width / (double)to_width;
    double y = down * 0.5;
    for (int64_t v = 0; v < part->top + part->height; ++v, y += down) {
        const int64_t row = (int64_t)y < height ? (int64_t)y : height - 1;
        double x = right * 0.5;
        for (int64_t u = 0; u < part->left + part->width && v >= part->top; ++u, x += right) {
            const int64_t column = (int64_t)x < width ? (int64_t)x : width - 1;
            if (u < part->left) continue;
            memcpy(to, from + (row * width + column) * channels, (size_t)channels);
            to += channels;
        }
    }
}

cs_status cs_picture_resample(const uint8_t *from, int64_t height, int64_t width, int64_t channels,
                              cs_resample filter, int64_t to_height, int64_t to_width,
                              const cs_window *window, uint8_t *to)
{
    const cs_window whole = {0, 0, to_height, to_width}, *part = window ? window : &whole;
    CS_AUTO(line) across = {0}, down = {0};
    if (filter == CS_RESAMPLE_NEAREST || (height == to_height && width == to_width)) {
        nearest(from, height, width, channels, to_height, to_width, part, to);
        return CS_OK;
    }
    cs_status status = make_line(filter, width, to_width, &across);
    if (status == CS_OK) status = make_line(filter, height, to_height, &down);
    if (status != CS_OK) return status;
    /* A side that keeps its length is not resampled. */
    const bool rows = width != to_width, columns = height != to_height;
    const int64_t last = part->top + part->height - 1,
                  top = columns ? down.first[part->top] : part->top,
                  end = columns ? down.first[last] + down.count[last] : last + 1,
                  wide = part->width * channels;
    CS_AUTO_FREE uint8_t *half = cs_alloc((end - top) * wide, 1);
    if (!half) return CS_ERR_MEMORY;
    for (int64_t y = top; y < end; ++y) {
        const uint8_t *row = from + y * width * channels;
        uint8_t *made = half + (y - top) * wide;
        if (rows) {
            run_row(&across, row, channels, part->left, part->width, made);
        } else {
            memcpy(made, row + part->left * channels, (size_t)wide);
        }
    }
    for (int64_t y = 0; y < part->height && columns; ++y) {
        run_columns(&down, half, top, wide, part->top + y, to + y * wide);
    }
    if (!columns) memcpy(to, half, (size_t)(part->height * wide));
    return CS_OK;
}
