/* Scores of patches come from a head or, one-hot, from the targets; pixels and detections are made of
 * either in the same way. */
#include "analysis/vision/patch_heads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/sort.h"
#include "base/vector_ops.h"
#include "image/patches.h"

/* A score at which the softmax is 1 to the last bit. */
static const double CERTAIN = 1000, LEAST_SCORE = 0.05, MOST_OVERLAP = 0.5;

/* --- targets ---------------------------------------------------------------------------------- */

void cs_patch_targets_free(cs_patch_targets *t)
{
    cs_pool_free(&t->pool);
    *t = (cs_patch_targets){0};
}

static int64_t area_of(const cs_box *b)
{
    return (int64_t)(b->bottom - b->top) * (b->right - b->left);
}

/* The smallest box of picture i (the first of equal ones) that (y, x) is in; NULL: none. */
static const cs_box *box_around(const cs_images *m, int64_t i, double y, double x)
{
    const cs_box *found = NULL;
    for (int64_t b = m->box_ptr[i]; b < m->box_ptr[i + 1]; ++b) {
        const cs_box *box = &m->box[b];
        if (y >= box->top && y < box->bottom && x >= box->left && x < box->right &&
            (!found || area_of(box) < area_of(found))) {
            found = box;
        }
    }
    return found;
}

static void centre_of(const cs_patch_targets *t, int64_t place, double *y, double *x)
{
    const int64_t row = place / t->columns, column = place % t->columns;
    *y = ((double)row + 0.5) * (double)t->patch;
    *x = ((double)column + 0.5) * (double)t->patch;
}

static void set_target(int64_t picture, int64_t place, cs_patch_targets *t)
{
    const int64_t at = picture * t->places + place;
    double y = 0, x = 0;
    if (t->task == CS_HEAD_SEGMENTATION) {
        t->label[at] = t->images->mask[at];
        return;
    }
    centre_of(t, place, &y, &x);
    const cs_box *box = box_around(t->images, picture, y, x);
    const double side[CS_BOX_SIDES] = {box ? y - box->top : 0, box ? x - box->left : 0,
                                       box ? box->bottom - y : 0, box ? box->right - x : 0};
    t->label[at] = box ? 1 + box->label : 0;
    for (int s = 0; s < CS_BOX_SIDES; ++s) {
        t->side[s][at] = side[s];
    }
}

cs_status cs_patch_targets_of(const cs_images *images, int64_t patch, cs_patch_task task,
                              cs_patch_targets *out)
{
    cs_patch_targets t = {
        .task = task, .images = images, .patch = patch, .classes = 1 + images->labels};
    const bool boxes = task == CS_HEAD_DETECTION;
    if (boxes ? !images->box_ptr : !images->mask) {
        return cs_fail(CS_ERR_INPUT, "%s: the pictures have no %s", images->name,
                       boxes ? "boxes" : "pixel masks");
    }
    if (t.classes > UINT8_MAX + 1) { /* of the pixels of an answer */
        return cs_fail(CS_ERR_INPUT, "%s: %lld classes, but at most %d are supported", images->name,
                       (long long)images->labels, UINT8_MAX);
    }
    cs_status status = cs_patch_check(images, patch);
    if (status != CS_OK) return status;
    t.rows = images->height / patch;
    t.columns = images->width / patch;
    t.patches = t.rows * t.columns;
    t.places = boxes ? t.patches : images->height * images->width;
    t.label = cs_pool_take(&t.pool, images->count * t.places, sizeof *t.label);
    for (int s = 0; s < CS_BOX_SIDES && boxes; ++s) {
        t.side[s] = cs_pool_take(&t.pool, images->count * t.places, sizeof *t.side[s]);
    }
    status = t.pool.status;
    for (int64_t k = 0; k < images->count * t.places && status == CS_OK; ++k) {
        set_target(k / t.places, k % t.places, &t);
    }
    return CS_DELIVER(status, out, t, cs_patch_targets_free);
}

/* --- between patches -------------------------------------------------------------------------- */

/* The patches between whose centres a pixel is, and their shares of what is interpolated there. */
typedef struct {
    int64_t patch[4];
    double share[4];
} corners;

/* The two patches along one side, and the share of the second. */
static double between(int64_t at, int64_t patch, int64_t patches, int64_t of[2])
{
    const double place =
        fmin(fmax(((double)at + 0.5) / (double)patch - 0.5, 0), (double)(patches - 1));
    of[0] = (int64_t)place;
    of[1] = cs_least(of[0] + 1, patches - 1);
    return place - (double)of[0];
}

static corners corners_of(const cs_patch_targets *t, int64_t pixel)
{
    int64_t row[2], column[2];
    const double down = between(pixel / t->images->width, t->patch, t->rows, row),
                 across = between(pixel % t->images->width, t->patch, t->columns, column);
    corners c;
    for (int k = 0; k < 4; ++k) {
        c.patch[k] = row[k / 2] * t->columns + column[k % 2];
        c.share[k] = (k / 2 ? down : 1 - down) * (k % 2 ? across : 1 - across);
    }
    return c;
}

/* --- the fit ---------------------------------------------------------------------------------- */

void cs_patch_head_free(cs_patch_head *head)
{
    cs_linear_probe_free(&head->label);
    for (int s = 0; s < head->sides; ++s) {
        cs_linear_probe_free(&head->side[s]);
    }
    *head = (cs_patch_head){0};
}

/* Features of pixel k of those taught with. */
static cs_status interpolate(const cs_patch_targets *t, const cs_rows *x, int64_t place,
                             float *scratch, float *to)
{
    const corners c = corners_of(t, place % t->places);
    cs_status status = CS_OK;
    for (int64_t j = 0; j < x->cols; ++j) {
        to[j] = 0;
    }
    for (int k = 0; k < 4 && status == CS_OK; ++k) {
        status = cs_rows_read_f32(x, place / t->places * t->patches + c.patch[k], 1, scratch);
        for (int64_t j = 0; j < x->cols && status == CS_OK; ++j) {
            to[j] += (float)c.share[k] * scratch[j];
        }
    }
    return status;
}

static cs_status fit_pixels(const cs_patch_targets *t, const cs_rows *x, int64_t count,
                            const int64_t *place, cs_linear_probe_options o, cs_patch_head *head)
{
    CS_AUTO(cs_pool) pool = {0};
    float *row = cs_pool_take(&pool, (count + 1) * x->cols, sizeof *row);
    double *label = cs_pool_take(&pool, count, sizeof *label);
    int64_t *picture = cs_pool_take(&pool, count, sizeof *picture);
    cs_status status = pool.status;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        status = interpolate(t, x, place[i], row + count * x->cols, row + i * x->cols);
        label[i] = t->label[place[i]];
        picture[i] = place[i] / t->places;
    }
    const cs_rows pixels = cs_rows_of_f32(count, x->cols, row, x->name);
    o.unit = picture;
    if (status == CS_OK)
        status = cs_linear_probe_fit(&pixels, count, NULL, label, t->classes, &o, &head->label);
    return status;
}

static cs_status fit_boxes(const cs_patch_targets *t, const cs_rows *x, int64_t count,
                           const int64_t *place, cs_linear_probe_options o, cs_patch_head *head)
{
    const int64_t patches = t->images->count * t->patches;
    int64_t inside = 0;
    CS_AUTO(cs_pool) pool = {0};
    int64_t *in_box = cs_pool_take(&pool, cs_most(count, 1), sizeof *in_box);
    int64_t *picture = cs_pool_take(&pool, patches, sizeof *picture);
    cs_status status = pool.status;
    for (int64_t i = 0; i < patches && status == CS_OK; ++i) {
        picture[i] = i / t->patches;
    }
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        if (t->label[place[i]] > 0) {
            in_box[inside++] = place[i];
        }
    }
    o.unit = picture;
    if (status == CS_OK)
        status = cs_linear_probe_fit(x, count, place, t->label, t->classes, &o, &head->label);
    for (int s = 0; s < CS_BOX_SIDES && status == CS_OK; ++s) {
        status = cs_linear_probe_fit(x, inside, in_box, t->side[s], 0, &o, &head->side[s]);
        head->sides += status == CS_OK;
    }
    return status;
}

cs_status cs_patch_head_fit(const cs_patch_targets *t, const cs_rows *x, int64_t count,
                            const int64_t *place, const cs_linear_probe_options *options,
                            cs_patch_head *out)
{
    cs_patch_head head = {0};
    cs_status status = (t->task == CS_HEAD_SEGMENTATION ? fit_pixels : fit_boxes)(
        t, x, count, place, *options, &head);
    return CS_DELIVER(status, out, head, cs_patch_head_free);
}

/* --- what is said of patches ------------------------------------------------------------------ */

typedef struct {
    const cs_patch_targets *t;
    cs_pool pool;
    int64_t outputs;
    const int64_t *class_of;    /* outputs */
    double *score;              /* patches of all pictures x outputs */
    double *side[CS_BOX_SIDES]; /* of all pictures */
} said;

static cs_status say_targets(said *s)
{
    const cs_patch_targets *t = s->t;
    const int64_t k = t->classes, patches = t->images->count * t->patches, wide = t->images->width;
    int64_t *all = cs_pool_take(&s->pool, k, sizeof *all);
    s->outputs = k;
    s->score = cs_pool_take(&s->pool, patches * k, sizeof *s->score);
    if (s->pool.status != CS_OK) return s->pool.status;
    for (int64_t c = 0; c < k; ++c) {
        all[c] = c;
    }
    s->class_of = all;
    cs_fill(patches * k, 0, s->score);
    for (int64_t i = 0; i < t->images->count * t->places; ++i) {
        const int64_t place = i % t->places;
        const bool pixels = t->task == CS_HEAD_SEGMENTATION;
        const int64_t patch =
            pixels ? place / wide / t->patch * t->columns + place % wide / t->patch : place;
        s->score[(i / t->places * t->patches + patch) * k + (int64_t)t->label[i]] +=
            pixels ? 1.0 / (double)(t->patch * t->patch) : CERTAIN;
    }
    memcpy(s->side, t->side, sizeof s->side);
    return CS_OK;
}

static cs_status say(const cs_patch_head *head, const cs_rows *x, int threads, said *s)
{
    s->outputs = head->label.outputs;
    s->class_of = head->label.class_of;
    s->score = cs_pool_take(&s->pool, x->rows * s->outputs, sizeof *s->score);
    for (int k = 0; k < head->sides; ++k) {
        s->side[k] = cs_pool_take(&s->pool, x->rows, sizeof *s->side[k]);
    }
    cs_status status = s->pool.status;
    if (status == CS_OK) status = cs_linear_probe_scores(&head->label, x, threads, s->score);
    for (int k = 0; k < head->sides && status == CS_OK; ++k) {
        status = cs_linear_probe_predict(&head->side[k], x, threads, s->side[k]);
    }
    return status;
}

/* --- pixels ----------------------------------------------------------------------------------- */

static void paint(const said *s, int64_t picture, double *score, uint8_t *mask)
{
    const cs_patch_targets *t = s->t;
    const double *grid = s->score + picture * t->patches * s->outputs;
    for (int64_t pixel = 0; pixel < t->places; ++pixel) {
        const corners c = corners_of(t, pixel);
        int64_t best = 0;
        cs_fill(s->outputs, 0, score);
        for (int k = 0; k < 4; ++k) {
            cs_add_multiple(s->outputs, c.share[k], grid + c.patch[k] * s->outputs, score);
        }
        for (int64_t o = 1; o < s->outputs; ++o) {
            best = score[o] > score[best] ? o : best;
        }
        mask[pixel] = (uint8_t)s->class_of[best];
    }
}

static cs_status paint_all(const said *s, cs_patch_answer *a)
{
    const cs_images *m = s->t->images;
    const int64_t pixels = m->height * m->width;
    CS_AUTO_FREE double *score = cs_alloc(s->outputs, sizeof *score);
    a->mask = cs_alloc(m->count * pixels, 1);
    cs_status status = score && a->mask ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < m->count && status == CS_OK; ++i) {
        paint(s, i, score, a->mask + i * pixels);
    }
    return status;
}

/* --- detections ------------------------------------------------------------------------------- */

/* The box that a patch predicts, within the picture; false: it is empty. */
static bool box_of(const said *s, int64_t picture, int64_t place, cs_detection *d)
{
    const cs_patch_targets *t = s->t;
    const double high = (double)t->images->height, wide = (double)t->images->width;
    const int64_t at = picture * t->patches + place;
    double y = 0, x = 0;
    centre_of(t, place, &y, &x);
    d->top = fmin(fmax(y - s->side[0][at], 0), high);
    d->left = fmin(fmax(x - s->side[1][at], 0), wide);
    d->bottom = fmin(fmax(y + s->side[2][at], 0), high);
    d->right = fmin(fmax(x + s->side[3][at], 0), wide);
    return d->bottom > d->top && d->right > d->left;
}

/* Candidates of one class in a picture; a candidate that a better one covers is dropped. */
static cs_status add_best(int64_t count, const cs_detection *candidate, cs_scored *order,
                          int64_t *capacity, cs_patch_answer *a)
{
    const int64_t first = a->detections;
    qsort(order, (size_t)count, sizeof *order, cs_scored_compare);
    for (int64_t i = 0; i < count; ++i) {
        const cs_detection *d = &candidate[order[i].index];
        bool covered = false;
        for (int64_t k = first; k < a->detections && !covered; ++k) {
            covered = cs_detection_overlap(&a->detection[k], d) > MOST_OVERLAP;
        }
        cs_status status =
            cs_reserve(&a->detection, capacity, a->detections + 1, sizeof *a->detection);
        if (status != CS_OK) return status;
        if (!covered) {
            a->detection[a->detections++] = *d;
        }
    }
    return CS_OK;
}

/* Probabilities of the patches of a picture: patches x outputs, of the scores there. */
static void soften(const said *s, int64_t picture, double *p)
{
    const int64_t k = s->outputs;
    memcpy(p, s->score + picture * s->t->patches * k, (size_t)(s->t->patches * k) * sizeof *p);
    for (int64_t i = 0; i < s->t->patches; ++i, p += k) {
        double most = p[0];
        for (int64_t c = 1; c < k; ++c) {
            most = fmax(most, p[c]);
        }
        for (int64_t c = 0; c < k; ++c) {
            p[c] = exp(p[c] - most);
        }
        cs_divide(k, cs_total(k, p), p);
    }
}

static cs_status detect_all(const said *s, cs_patch_answer *a)
{
    const int64_t patches = s->t->patches, k = s->outputs;
    int64_t capacity = 0;
    CS_AUTO(cs_pool) pool = {0};
    double *p = cs_pool_take(&pool, patches * k, sizeof *p);
    cs_detection *candidate = cs_pool_take(&pool, patches, sizeof *candidate);
    cs_scored *order = cs_pool_take(&pool, patches, sizeof *order);
    cs_status status = pool.status;
    for (int64_t i = 0; i < s->t->images->count && status == CS_OK; ++i) {
        soften(s, i, p);
        for (int64_t c = 0; c < k && status == CS_OK; ++c) {
            int64_t count = 0;
            for (int64_t j = 0; j < patches && s->class_of[c] > 0; ++j) {
                cs_detection d = {i, (int32_t)s->class_of[c] - 1, 0, 0, 0, 0, p[j * k + c], false};
                if (d.score >= LEAST_SCORE && box_of(s, i, j, &d)) {
                    order[count] = (cs_scored){d.score, count};
                    candidate[count++] = d;
                }
            }
            status = add_best(count, candidate, order, &capacity, a);
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- */

cs_status cs_patch_head_answer(const cs_patch_targets *t, const cs_patch_head *head,
                               const cs_rows *x, int threads, cs_patch_answer *out)
{
    said s = {.t = t};
    cs_patch_answer a = {0};
    cs_status status = head ? say(head, x, threads, &s) : say_targets(&s);
    if (status == CS_OK)
        status = t->task == CS_HEAD_SEGMENTATION ? paint_all(&s, &a) : detect_all(&s, &a);
    cs_pool_free(&s.pool);
    return CS_DELIVER(status, out, a, cs_patch_answer_free);
}

void cs_patch_answer_free(cs_patch_answer *a)
{
    CS_FREE_FIELDS(a, mask, detection);
    *a = (cs_patch_answer){0};
}
