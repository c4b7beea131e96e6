/* Each window by itself: 242 multiplications a pixel. */
#include <math.h>

#include "analysis/vision/reconstruct.h"
#include "base/ints.h"

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
