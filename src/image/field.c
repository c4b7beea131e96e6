/* Gaussian random fields by two first-order recursions. */
#include "image/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "image/images_private.h"
#include "io/number.h"

enum { STEPS = 4096, MOST_SIDE = 256 };

static const char NAME[] = "field", DISTRIBUTION[] = "field:";

/* The parameters of a source. */
typedef struct {
    int64_t side, fields, seed;
    double correlation;
    unsigned given; /* bit i: key i */
} spec;

static const spec USUAL = {CS_DRAWN_SIDE, 8000, 0, 0.9, 0};

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

/* --- corpora ---------------------------------------------------------------------------------- */

static cs_status take_item(void *to, const char *item)
{
    spec *s = to;
    const char *equal = strchr(item, '='), *value = equal ? equal + 1 : "";
    const struct {
        const char *name;
        int64_t low, high, *at; /* NULL: the correlation */
    } key[] = {{"side", 1, MOST_SIDE, &s->side},
               {"fields", 1, INT32_MAX, &s->fields},
               {"seed", 0, INT64_MAX, &s->seed},
               {"correlation", 0, 0, NULL}};
    const size_t length = (size_t)(equal ? equal - item : 0);
    for (size_t i = 0; i < sizeof key / sizeof *key; ++i) {
        if (strlen(key[i].name) != length || strncmp(item, key[i].name, length) != 0) {
            continue;
        }
        if (s->given & 1U << i) {
            return cs_fail(CS_ERR_USAGE, "%s is given twice, %s is the second", key[i].name, item);
        }
        s->given |= 1U << i;
        return key[i].at ? cs_parse_int(value, key[i].name, key[i].low, key[i].high, key[i].at)
                         : cs_parse_real(value, key[i].name, 0, CS_BELOW_1, &s->correlation);
    }
    return cs_fail(CS_ERR_USAGE, "'%s' is not one of side=, correlation=, fields=, seed=", item);
}

static cs_status parse(const char *source, spec *out)
{
    const char *list = source + strlen(DISTRIBUTION);
    *out = USUAL;
    return *list ? cs_blame(cs_parse_each(list, take_item, out), "%s", source) : CS_OK;
}

bool cs_field_named(const char *source)
{
    return strncmp(source, DISTRIBUTION, strlen(DISTRIBUTION)) == 0;
}

bool cs_field_is(const cs_images *images, double *rho)
{
    spec s = USUAL;
    const bool of_distribution = cs_field_named(images->name);
    if (of_distribution && parse(images->name, &s) != CS_OK) {
        cs_reason_clear(); /* a file of such a name */
        return false;
    }
    *rho = s.correlation;
    return images->value && (of_distribution || strcmp(images->name, NAME) == 0);
}

static cs_status draw(const char *name, const spec *s, cs_images *m)
{
    const int64_t pixels = s->side * s->side;
    cs_status status = cs_images_allocate(name, s->fields, s->side, s->side, 1, m);
    if (status != CS_OK) return status;
    CS_AUTO_FREE double *x = cs_alloc(pixels, sizeof *x);
    m->value = cs_alloc(s->fields * pixels, sizeof *m->value);
    status = x && m->value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->fields && status == CS_OK; ++i) {
        cs_field_sample((uint64_t)s->seed, i, s->correlation, s->side, s->side, x);
        for (int64_t p = 0; p < pixels; ++p) {
            const double value = (double)lround(x[p] * STEPS) / STEPS;
            m->value[i * pixels + p] = (float)value;
            m->pixel[i * pixels + p] = (uint8_t)lround(fmin(fmax(128 + 32 * value, 0), 255));
        }
        status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_field_read(const char *source, const cs_images_options *options, cs_images *m)
{
    spec s;
    cs_status status = parse(source, &s);
    if (status == CS_OK) status = draw(source, &s, m);
    if (status == CS_OK) {
        cs_sha256(source, strlen(source), m->sha256);
        cs_images_hold_out(options, m);
    }
    return status;
}

cs_status cs_field_draw(const char *variant, cs_images *m, char **packages)
{
    (void)variant, (void)packages;
    cs_status status = draw(NAME, &USUAL, m);
    if (status == CS_OK) cs_images_hold_out(&(cs_images_options){.test_share = 0.2}, m);
    return status;
}
