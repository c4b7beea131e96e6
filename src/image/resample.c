/* Pillow's arithmetic step by step: the order of the floating-point operations decides bytes. */
#include "image/resample.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

enum { BITS = 22 };

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

/* `lines` lines of inputs, `apart` between neighbours of a line and `next` between lines; the same
 * of outputs. */
typedef struct {
    int64_t lines, apart, next;
} layout;

static void run_line(const line *l, int64_t outputs, const uint8_t *from, layout in, layout out,
                     uint8_t *to)
{
    for (int64_t y = 0; y < in.lines; ++y) {
        for (int64_t x = 0; x < outputs; ++x) {
            const int32_t *w = l->weight + x * l->most;
            const uint8_t *at = from + y * in.next + l->first[x] * in.apart;
            int64_t sum = 1 << (BITS - 1);
            for (int64_t i = 0; i < l->count[x]; ++i) {
                sum += (int64_t)w[i] * at[i * in.apart];
            }
            sum >>= BITS;
            to[y * out.next + x * out.apart] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
        }
    }
}

/* The input of each output of `nearest`: the sums are Pillow's, term by term. */
static void nearest(const uint8_t *from, int64_t height, int64_t width, int64_t channels,
                    int64_t to_height, int64_t to_width, uint8_t *to)
{
    const double down = (double)height / (double)to_height,
                 right = (double)width / (double)to_width;
    double y = down * 0.5;
    for (int64_t v = 0; v < to_height; ++v, y += down) {
        const int64_t row = (int64_t)y < height ? (int64_t)y : height - 1;
        double x = right * 0.5;
        for (int64_t u = 0; u < to_width; ++u, x += right) {
            const int64_t column = (int64_t)x < width ? (int64_t)x : width - 1;
            memcpy(to + (v * to_width + u) * channels, from + (row * width + column) * channels,
                   (size_t)channels);
        }
    }
}

/* All channels of an image along its rows, or along its columns if `down`. */
static void run_pass(const line *l, bool down, const uint8_t *from, int64_t height, int64_t width,
                     int64_t channels, int64_t outputs, uint8_t *to)
{
    const layout rows = {height, channels, width * channels},
                 columns = {width, width * channels, channels},
                 out = {height, channels, outputs * channels};
    for (int64_t c = 0; c < channels; ++c) {
        run_line(l, outputs, from + c, down ? columns : rows, down ? columns : out, to + c);
    }
}

cs_status cs_picture_resample(const uint8_t *from, int64_t height, int64_t width, int64_t channels,
                              cs_resample filter, int64_t to_height, int64_t to_width, uint8_t *to)
{
    CS_AUTO(line) across = {0}, down = {0};
    if (filter == CS_RESAMPLE_NEAREST || (height == to_height && width == to_width)) {
        nearest(from, height, width, channels, to_height, to_width, to);
        return CS_OK;
    }
    const bool one = height == to_height || width == to_width, columns = width == to_width;
    CS_AUTO_FREE uint8_t *half = cs_alloc(height * to_width * channels, 1);
    cs_status status = half ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = make_line(filter, width, to_width, &across);
    if (status == CS_OK) status = make_line(filter, height, to_height, &down);
    if (status == CS_OK && one) {
        run_pass(columns ? &down : &across, columns, from, height, width, channels,
                 columns ? to_height : to_width, to);
    } else if (status == CS_OK) {
        run_pass(&across, false, from, height, width, channels, to_width, half);
        run_pass(&down, true, half, height, to_width, channels, to_height, to);
    }
    return status;
}
