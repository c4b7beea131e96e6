/* Gaussian random fields by two first-order recursions. */
#include "image/field.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "image/draw_private.h"
#include "image/images_private.h"

enum { SIDE = CS_DRAWN_SIDE, FIELDS = 8000, STEPS = 4096 };

static const double RHO = 0.9;

/* `lines` lines of `length` values `step` apart, which begin `next` apart. */
static void filter(double *x, double rho, int64_t lines, int64_t next, int64_t length, int64_t step)
{
    const double rest = sqrt(1 - rho * rho);
    for (int64_t l = 0; l < lines; ++l) {
        for (int64_t t = 1; t < length; ++t) {
            double *at = x + l * next + t * step;
            *at = rho * at[-step] + rest * *at;
        }
    }
}

void cs_field_sample(uint64_t seed, int64_t index, double rho, int64_t height, int64_t width,
                     double *x)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_IMAGE, (uint64_t)index);
    for (int64_t i = 0; i < height * width; ++i) {
        x[i] = cs_rng_normal(&rng);
    }
    filter(x, rho, height, width, width, 1);
    filter(x, rho, width, 1, height, width);
}

double cs_field_covariance(double rho, int64_t width, int64_t a, int64_t b)
{
    return pow(rho, (double)(llabs(a / width - b / width) + llabs(a % width - b % width)));
}

cs_status cs_field_draw(cs_images *m)
{
    const int64_t pixels = SIDE * SIDE;
    double x[SIDE * SIDE];
    cs_status status = cs_images_allocate("field", FIELDS, SIDE, SIDE, 1, m);
    if (status != CS_OK) return status;
    m->value = cs_alloc(FIELDS * pixels, sizeof *m->value);
    if (!m->value) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < FIELDS; ++i) {
        cs_field_sample(0, i, RHO, SIDE, SIDE, x);
        for (int64_t p = 0; p < pixels; ++p) {
            const double value = (double)lround(x[p] * STEPS) / STEPS;
            m->value[i * pixels + p] = (float)value;
            m->pixel[i * pixels + p] = (uint8_t)lround(fmin(fmax(128 + 32 * value, 0), 255));
        }
    }
    cs_images_hold_out(&(cs_images_options){.test_share = 0.2}, m);
    return CS_OK;
}
