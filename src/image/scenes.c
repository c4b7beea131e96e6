/* Scenes, drawn pixel by pixel: background, then strokes of clutter, then shapes, then noise. */
#include "image/scenes.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "image/images_private.h"

enum { SIDE = CS_SCENE_SIDE, SCENES = 8000, STROKES = 12, TRIES = 20 };

static const double TURN = 20, LEAST_RADIUS = 5, MOST_RADIUS = 9, APART = 0.75, NOISE = 8;

static const char *const class_name[CS_SCENE_CLASSES] = {"disc",  "square", "triangle", "ring",
                                                         "cross", "bar",    "flower",   "crescent"};

typedef struct {
    double y, x, radius, turn;
    double colour[2][3];
    int label, texture, period;
} shape;

/* Whether a point is in the shape of radius 1 about 0; v upwards. */
static bool inside(int label, double u, double v)
{
    const double r2 = u * u + v * v;
    switch (label) {
    case 0:
        return r2 < 1;
    case 1:
        return fmax(fabs(u), fabs(v)) < 0.8;
    case 2:
        return v > -0.5 && v + sqrt(3) * fabs(u) < 1;
    case 3:
        return r2 < 1 && r2 > 0.3;
    case 4:
        return fmin(fabs(u), fabs(v)) < 0.3 && fmax(fabs(u), fabs(v)) < 1;
    case 5:
        return fabs(u) < 0.3 && fabs(v) < 1;
    case 6:
        return sqrt(r2) < 0.65 + 0.35 * cos(5 * atan2(v, u));
    default:
        return r2 < 1 && (u - 0.5) * (u - 0.5) + v * v > 0.5;
    }
}

static void draw_colour(cs_rng *rng, double colour[3])
{
    for (int c = 0; c < 3; ++c) {
        colour[c] = 255 * cs_rng_uniform(rng);
    }
}

/* Which of its two colours a texture has at a pixel. */
static int tint(const shape *s, int64_t y, int64_t x)
{
    const int64_t row = y / s->period, column = x / s->period;
    switch (s->texture) {
    case 0:
        return 0;
    case 1:
        return (int)((y + x) / s->period % 2);
    case 2:
        return (int)((row + column) % 2);
    default:
        return y % (s->period + 1) == 0 && x % (s->period + 1) == 0;
    }
}

/* Places a shape apart from the `count` before it; false: no free place was found. */
static bool place(cs_rng *rng, const shape *before, int count, shape *s)
{
    for (int t = 0; t < TRIES; ++t) {
        bool free = true;
        s->radius = LEAST_RADIUS + (MOST_RADIUS - LEAST_RADIUS) * cs_rng_uniform(rng);
        s->y = s->radius + (SIDE - 2 * s->radius) * cs_rng_uniform(rng);
        s->x = s->radius + (SIDE - 2 * s->radius) * cs_rng_uniform(rng);
        for (int b = 0; b < count; ++b) {
            free &= hypot(s->y - before[b].y, s->x - before[b].x) >=
                    APART * (s->radius + before[b].radius);
        }
        if (free) {
            return true;
        }
    }
    return false;
}

/* Every pixel between two colours, then short strokes. */
static void draw_clutter(cs_rng *rng, double *rgb)
{
    double ends[2][3], direction = 2 * M_PI * cs_rng_uniform(rng);
    draw_colour(rng, ends[0]);
    draw_colour(rng, ends[1]);
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const double along =
            ((i / SIDE - SIDE / 2.0) * sin(direction) + (i % SIDE - SIDE / 2.0) * cos(direction)) /
            SIDE;
        const double share = fmin(fmax(0.5 + along, 0), 1);
        for (int c = 0; c < 3; ++c) {
            rgb[3 * i + c] = ends[0][c] + share * (ends[1][c] - ends[0][c]);
        }
    }
    for (int s = 0; s < STROKES; ++s) {
        double colour[3], y = SIDE * cs_rng_uniform(rng), x = SIDE * cs_rng_uniform(rng);
        const double angle = 2 * M_PI * cs_rng_uniform(rng);
        const int length = 2 + (int)cs_rng_below(rng, 6);
        draw_colour(rng, colour);
        for (int k = 0; k < length; ++k, y += sin(angle), x += cos(angle)) {
            if (y >= 0 && x >= 0 && y < SIDE && x < SIDE) {
                memcpy(rgb + 3 * ((int)y * SIDE + (int)x), colour, sizeof colour);
            }
        }
    }
}

/* Draws it over what is there; `owner` receives its number. */
static void draw_shape(const shape *s, int number, double *rgb, int *owner)
{
    for (int y = 0; y < SIDE; ++y) {
        for (int x = 0; x < SIDE; ++x) {
            const double dx = (x + 0.5 - s->x) / s->radius, dy = (s->y - y - 0.5) / s->radius;
            if (inside(s->label, dx * cos(s->turn) + dy * sin(s->turn),
                       dy * cos(s->turn) - dx * sin(s->turn))) {
                owner[y * SIDE + x] = number;
                memcpy(rgb + 3 * (y * SIDE + x), s->colour[tint(s, y, x)], sizeof s->colour[0]);
            }
        }
    }
}

/* The boxes of what is seen of the shapes. */
static int find_boxes(const shape *s, int shapes, const int *owner, cs_box *box, int32_t *label)
{
    int boxes = 0, most = 0;
    for (int k = 0; k < shapes; ++k) {
        cs_box b = {s[k].label, SIDE, SIDE, 0, 0};
        int seen = 0;
        for (int i = 0; i < SIDE * SIDE; ++i) {
            const int32_t y = i / SIDE, x = i % SIDE;
            if (owner[i] == k) {
                seen += 1;
                b.top = y < b.top ? y : b.top;
                b.left = x < b.left ? x : b.left;
                b.bottom = y + 1 > b.bottom ? y + 1 : b.bottom;
                b.right = x + 1 > b.right ? x + 1 : b.right;
            }
        }
        if (seen > most) {
            most = seen;
            *label = s[k].label;
        }
        if (seen > 0) {
            box[boxes++] = b;
        }
    }
    return boxes;
}

int cs_scene_draw(uint64_t seed, int64_t index, uint8_t *pixel, uint8_t *mask, cs_box *box,
                  int32_t *label)
{
    double rgb[SIDE * SIDE * 3];
    int owner[SIDE * SIDE], shapes = 0;
    shape s[CS_SCENE_SHAPES];
    cs_rng rng = cs_rng_at(seed, CS_STREAM_IMAGE, (uint64_t)index);
    memset(owner, -1, sizeof owner);
    draw_clutter(&rng, rgb);
    const int wanted = 1 + (int)cs_rng_below(&rng, CS_SCENE_SHAPES);
    for (int k = 0; k < wanted; ++k) {
        shape *one = &s[shapes];
        if (!place(&rng, s, shapes, one)) {
            continue;
        }
        one->label = (int)cs_rng_below(&rng, CS_SCENE_CLASSES);
        one->texture = (int)cs_rng_below(&rng, 4);
        one->period = 1 + (int)cs_rng_below(&rng, 3);
        one->turn = TURN * M_PI / 180 * (2 * cs_rng_uniform(&rng) - 1);
        draw_colour(&rng, one->colour[0]);
        draw_colour(&rng, one->colour[1]);
        draw_shape(one, shapes++, rgb, owner);
    }
    for (int i = 0; i < SIDE * SIDE; ++i) {
        mask[i] = owner[i] < 0 ? 0 : (uint8_t)(1 + s[owner[i]].label);
        for (int c = 0; c < 3; ++c) {
            const double value = rgb[3 * i + c] + NOISE * cs_rng_normal(&rng);
            pixel[3 * i + c] = (uint8_t)lround(fmin(fmax(value, 0), 255));
        }
    }
    return find_boxes(s, shapes, owner, box, label);
}

cs_status cs_scenes_draw(const char *variant, cs_images *m, char **packages)
{
    (void)variant, (void)packages;
    const int64_t pixels = SIDE * SIDE;
    cs_status status = cs_images_allocate("scenes", SCENES, SIDE, SIDE, 3, m);
    for (int c = 0; c < CS_SCENE_CLASSES && status == CS_OK; ++c) {
        status = cs_name_add(class_name[c], &m->label_name, &m->labels);
    }
    if (status != CS_OK) return status;
    m->mirror = cs_alloc(m->labels, 1);
    m->mask = cs_alloc(SCENES * pixels, 1);
    m->box_ptr = cs_calloc(SCENES + 1, sizeof *m->box_ptr);
    m->box = cs_alloc((int64_t)SCENES * CS_SCENE_SHAPES, sizeof *m->box);
    if (!m->mirror || !m->mask || !m->box_ptr || !m->box) return CS_ERR_MEMORY;
    memset(m->mirror, 1, (size_t)m->labels);
    for (int64_t i = 0; i < SCENES && status == CS_OK; ++i) {
        m->box_ptr[i + 1] =
            m->box_ptr[i] + cs_scene_draw(0, i, m->pixel + 3 * i * pixels, m->mask + i * pixels,
                                          m->box + m->box_ptr[i], &m->label[i]);
        status = cs_interrupt_check();
    }
    if (status == CS_OK) cs_images_hold_out(&(cs_images_options){.test_share = 0.2}, m);
    return status;
}
