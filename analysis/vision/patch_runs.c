/* Blocks of the jackknife consist of whole pictures: patches of one are no independent examples. */
#include "analysis/vision/patch_runs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/vision/average_precision.h"
#include "base/auto.h"
#include "base/ints.h"
#include "base/rng.h"
#include "stats/jackknife.h"

/* --- predictions for test images -------------------------------------------------------------- */

/* Boxes are drawn as lines of one pixel of the picture, cut at its edges. */

enum { SHOWN = 12, RGB = 3 };

static const char *const COLUMNS[] = {
    [CS_HEAD_SEGMENTATION] = "layer,seed,picture,class,pixels,predicted,both,iou",
    [CS_HEAD_DETECTION] = "layer,seed,picture,class,score,top,left,bottom,right,overlap,hit"};

void cs_patch_predictions_free(cs_patch_predictions *p)
{
    cs_table_free(&p->table);
    cs_picture_free(&p->cells.picture);
    *p = (cs_patch_predictions){0};
}

/* --- the sheet -------------------------------------------------------------------------------- */

static int64_t picture_at(const cs_patch_predictions *p, int64_t row)
{
    return row * p->test->images->count / p->shown;
}

static void draw_picture(int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row), scale = p->cells.scale;
    for (int64_t y = 0; y < m->height * scale; ++y) {
        for (int64_t x = 0; x < m->width * scale; ++x) {
            const uint8_t *from =
                m->pixel + ((i * m->height + y / scale) * m->width + x / scale) * m->channels;
            uint8_t *to = cs_cells_at(&p->cells, row, p->columns, y, x);
            for (int64_t c = 0; c < RGB; ++c) {
                to[c] = from[m->channels == 1 ? 0 : c];
            }
        }
    }
}

static void draw_mask(const uint8_t *mask, int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row), scale = p->cells.scale;
    for (int64_t y = 0; y < m->height * scale; ++y) {
        for (int64_t x = 0; x < m->width * scale; ++x) {
            cs_class_colour(mask[(i * m->height + y / scale) * m->width + x / scale],
                            cs_cells_at(&p->cells, row, p->columns, y, x));
        }
    }
}

static void draw_box(const cs_detection *d, int64_t row, cs_patch_predictions *p)
{
    const int64_t scale = p->cells.scale, height = p->cells.height * scale,
                  width = p->cells.width * scale, top = llround(d->top * (double)scale),
                  left = llround(d->left * (double)scale),
                  bottom = llround(d->bottom * (double)scale) - 1,
                  right = llround(d->right * (double)scale) - 1;
    for (int64_t y = cs_most(top, 0); y <= cs_least(bottom, height - 1); ++y) {
        for (int64_t x = cs_most(left, 0); x <= cs_least(right, width - 1); ++x) {
            if (y < top + scale || y > bottom - scale || x < left + scale || x > right - scale) {
                cs_class_colour(1 + d->label, cs_cells_at(&p->cells, row, p->columns, y, x));
            }
        }
    }
}

static void draw_truth(int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row);
    if (p->test->task == CS_HEAD_SEGMENTATION) {
        draw_mask(m->mask, row, p);
        return;
    }
    draw_picture(row, p);
    for (int64_t b = m->box_ptr[i]; b < m->box_ptr[i + 1]; ++b) {
        const cs_box *box = &m->box[b];
        draw_box(&(cs_detection){.label = box->label,
                                 .top = box->top,
                                 .left = box->left,
                                 .bottom = box->bottom,
                                 .right = box->right},
                 row, p);
    }
}

/* As many detections as there are boxes: they are sorted by score. */
static void draw_answer(const cs_patch_answer *a, int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row);
    if (p->test->task == CS_HEAD_SEGMENTATION) {
        draw_mask(a->mask, row, p);
        return;
    }
    int64_t left = m->box_ptr[i + 1] - m->box_ptr[i];
    draw_picture(row, p);
    for (int64_t d = 0; d < a->detections && left > 0; ++d) {
        if (a->detection[d].picture == i) {
            draw_box(&a->detection[d], row, p);
            left -= 1;
        }
    }
}

/* "layer 3", "untrained". */
static void write_heading(const char *layer, cs_patch_predictions *p)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%s%s", isdigit((unsigned char)layer[0]) ? "layer " : "",
                   layer);
    cs_cells_heading(&p->cells, p->columns, text);
}

cs_status cs_patch_predictions_make(const cs_patch_targets *test, int64_t layers,
                                    cs_patch_predictions *out)
{
    const cs_images *m = test->images;
    cs_patch_predictions p = {.test = test, .shown = cs_least(SHOWN, m->count)};
    const cs_picture like = {.height = m->height, .width = m->width, .channels = RGB};
    cs_status status = cs_table_init(&p.table, COLUMNS[test->task]);
    if (status == CS_OK) status = cs_cells_make(p.shown, 2 + layers, &like, &p.cells);
    for (; p.columns < 2 && status == CS_OK; ++p.columns) {
        write_heading(p.columns == 0 ? "picture" : "truth", &p);
        for (int64_t row = 0; row < p.shown; ++row) {
            (p.columns == 0 ? draw_picture : draw_truth)(row, &p);
        }
    }
    return CS_DELIVER(status, out, p, cs_patch_predictions_free);
}

/* --- the table -------------------------------------------------------------------------------- */

static cs_status begin_row(const char *layer, uint64_t seed, int64_t picture, int64_t label,
                           cs_patch_predictions *p)
{
    cs_table *t = &p->table;
    cs_status status = cs_table_row(t);
    if (status == CS_OK) status = cs_table_text(t, "layer", layer);
    if (status == CS_OK) status = cs_table_int(t, "seed", (int64_t)seed);
    if (status == CS_OK) status = cs_table_int(t, "picture", picture);
    return status == CS_OK
               ? cs_table_text(t, "class",
                               label < 0 ? "background" : p->test->images->label_name[label])
               : status;
}

static cs_status add_masks(const char *layer, uint64_t seed, const cs_patch_answer *a,
                           cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t pixels = m->height * m->width, classes = p->test->classes;
    cs_table *t = &p->table;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < m->count && status == CS_OK; ++i) {
        int64_t true_ones[UINT8_MAX + 1] = {0}, said[UINT8_MAX + 1] = {0},
                                      both[UINT8_MAX + 1] = {0};
        for (int64_t k = i * pixels; k < (i + 1) * pixels; ++k) {
            true_ones[m->mask[k]] += 1;
            said[a->mask[k]] += 1;
            both[m->mask[k]] += m->mask[k] == a->mask[k];
        }
        for (int64_t c = 0; c < classes && status == CS_OK; ++c) {
            const int64_t any = true_ones[c] + said[c] - both[c];
            if (any == 0) {
                continue;
            }
            status = begin_row(layer, seed, i, c - 1, p);
            if (status == CS_OK) status = cs_table_int(t, "pixels", true_ones[c]);
            if (status == CS_OK) status = cs_table_int(t, "predicted", said[c]);
            if (status == CS_OK) status = cs_table_int(t, "both", both[c]);
            if (status == CS_OK) status = cs_table_real(t, "iou", (double)both[c] / (double)any);
        }
    }
    return status;
}

static double best_overlap(const cs_images *m, const cs_detection *d)
{
    double best = 0;
    for (int64_t b = m->box_ptr[d->picture]; b < m->box_ptr[d->picture + 1]; ++b) {
        const cs_box *box = &m->box[b];
        const cs_detection truth = {
            .top = box->top, .left = box->left, .bottom = box->bottom, .right = box->right};
        best = box->label == d->label ? fmax(best, cs_detection_overlap(d, &truth)) : best;
    }
    return best;
}

static cs_status add_boxes(const char *layer, uint64_t seed, const cs_patch_answer *a,
                           cs_patch_predictions *p)
{
    cs_table *t = &p->table;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < a->detections && status == CS_OK; ++i) {
        const cs_detection *d = &a->detection[i];
        const struct {
            const char *name;
            double value;
        } cell[] = {{"score", d->score}, {"top", d->top},
                    {"left", d->left},   {"bottom", d->bottom},
                    {"right", d->right}, {"overlap", best_overlap(p->test->images, d)}};
        status = begin_row(layer, seed, d->picture, d->label, p);
        for (size_t c = 0; c < sizeof cell / sizeof *cell && status == CS_OK; ++c) {
            status = cs_table_real(t, cell[c].name, cell[c].value);
        }
        if (status == CS_OK) status = cs_table_int(t, "hit", d->hit);
    }
    return status;
}

/* draws: also as the next column of the sheet. Detections are matched. */
static cs_status patch_predictions_add(const char *layer, uint64_t seed, bool draws,
                                       const cs_patch_answer *a, cs_patch_predictions *p)
{
    if (draws) {
        write_heading(layer, p);
        for (int64_t row = 0; row < p->shown; ++row) {
            draw_answer(a, row, p);
        }
        p->columns += 1;
    }
    return (p->test->task == CS_HEAD_SEGMENTATION ? add_masks : add_boxes)(layer, seed, a, p);
}

enum { MOST_METRICS = 2 };

static const struct {
    const char *name, *definition;
} METRIC[][MOST_METRICS] = {
    {{"miou",
      "mean over the classes and background of the pixels that truth and prediction both have "
      "over those that either has"},
     {"pixel-accuracy", "share of pixels whose predicted class is the true one"}},
    {{"ap50",
      "mean over the classes and over recalls from 0 to 1 by 0.01 of the largest precision at "
      "that recall or more; a hit overlaps its box by 1/2 or more"},
     {NULL, NULL}}};

void cs_patch_study_free(cs_patch_study *s)
{
    cs_patch_targets_free(&s->train);
    cs_patch_targets_free(&s->test);
}

cs_status cs_patch_study_targets(const cs_images side[2], int64_t patch, cs_patch_task task,
                                 cs_patch_study *s)
{
    const cs_images *train = &side[0], *test = &side[1];
    bool same = train->labels == test->labels;
    for (int64_t c = 0; c < train->labels && same; ++c) {
        same = strcmp(train->label_name[c], test->label_name[c]) == 0;
    }
    if (!same) {
        return cs_fail(CS_ERR_INPUT, "%s: its classes differ from those of %s", test->name,
                       train->name);
    }
    cs_status status = cs_patch_targets_of(train, patch, task, &s->train);
    if (status == CS_OK) status = cs_patch_targets_of(test, patch, task, &s->test);
    if (status == CS_OK && task == CS_HEAD_DETECTION && test->box_ptr[test->count] == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no test picture has a box", test->name);
    return status;
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Scores of some seeds, being made. */
typedef struct {
    cs_pool pool;
    const cs_patch_targets *test;
    int64_t seeds, blocks, capacity;
    int32_t *block;                /* of each picture */
    int64_t *confusion;            /* blocks + 2: of each, of all, of all without one */
    double *scratch[MOST_METRICS]; /* of cs_seed_score_made */
    double *by_class;              /* seeds x classes; NaN: no score */
} scorer;

static cs_status scorer_make(const cs_patch_study *s, int64_t seeds, scorer *out)
{
    const cs_patch_targets *t = &s->test;
    const int64_t n = t->images->count, k = t->classes;
    scorer c = {.test = t, .seeds = seeds, .blocks = cs_metric_blocks(n)};
    c.block = cs_pool_take(&c.pool, n, sizeof *c.block);
    c.confusion = cs_pool_take(&c.pool, (c.blocks + 2) * k * k, sizeof *c.confusion);
    c.by_class = cs_pool_take(&c.pool, seeds * k, sizeof *c.by_class);
    for (int m = 0; m < MOST_METRICS; ++m) {
        c.scratch[m] =
            cs_pool_take(&c.pool, cs_seed_score_work_size(seeds, n), sizeof *c.scratch[m]);
    }
    cs_status status = c.pool.status;
    if (status == CS_OK) status = cs_metric_deal(n, c.blocks, s->seed, c.block);
    *out = c;
    return status;
}

static double *left_out_of(const scorer *c, int metric, int64_t seed)
{
    return c->scratch[metric] + 2 * c->seeds + seed * c->blocks;
}

static void score_masks(scorer *c, int64_t seed, const cs_patch_answer *a)
{
    const cs_images *m = c->test->images;
    const int64_t k = c->test->classes, cells = k * k, pixels = m->height * m->width;
    int64_t *all = c->confusion + c->blocks * cells, *rest = all + cells;
    memset(c->confusion, 0, (size_t)((c->blocks + 1) * cells) * sizeof *all);
    for (int64_t i = 0; i < m->count; ++i) {
        const uint8_t *truth = m->mask + i * pixels, *said = a->mask + i * pixels;
        cs_confusion_add(k, pixels, truth, said, all);
        cs_confusion_add(k, pixels, truth, said, c->confusion + c->block[i] * cells);
    }
    c->scratch[0][seed] = cs_mean_iou(k, all, c->by_class + seed * k);
    c->scratch[1][seed] = cs_pixel_accuracy(k, all);
    for (int64_t b = 0; b < c->blocks && c->blocks > 1; ++b) {
        for (int64_t j = 0; j < cells; ++j) {
            rest[j] = all[j] - c->confusion[b * cells + j];
        }
        left_out_of(c, 0, seed)[b] = cs_mean_iou(k, rest, NULL);
        left_out_of(c, 1, seed)[b] = cs_pixel_accuracy(k, rest);
    }
}

static cs_status score_boxes(scorer *c, int64_t seed, cs_patch_answer *a)
{
    const cs_images *m = c->test->images;
    const int64_t k = c->test->classes;
    double *each = c->by_class + seed * k;
    cs_status status = cs_detections_match(m, a->detections, a->detection);
    if (status != CS_OK) return status;
    each[0] = (double)NAN;
    c->scratch[0][seed] =
        cs_average_precision(k - 1, m, a->detections, a->detection, NULL, 0, each + 1);
    for (int64_t b = 0; b < c->blocks && c->blocks > 1; ++b) {
        left_out_of(c, 0, seed)[b] =
            cs_average_precision(k - 1, m, a->detections, a->detection, c->block, b, NULL);
    }
    return CS_OK;
}

static cs_status score_answer(scorer *c, int64_t seed, cs_patch_answer *a)
{
    cs_status status = CS_OK;
    if (c->test->task == CS_HEAD_SEGMENTATION) {
        score_masks(c, seed, a);
    } else {
        status = score_boxes(c, seed, a);
    }
    for (int m = 0; m < MOST_METRICS && status == CS_OK; ++m) {
        c->scratch[m][c->seeds + seed] =
            cs_jackknife_error(c->blocks > 1 ? c->blocks : 0, left_out_of(c, m, seed), 1);
    }
    return status;
}

static cs_status add_scores(scorer *c, cs_item *in)
{
    const int64_t k = c->test->classes;
    cs_item *list = cs_item_array(in, "metrics");
    cs_status status = CS_OK;
    for (int m = 0; m < MOST_METRICS && METRIC[c->test->task][m].name && status == CS_OK; ++m) {
        cs_seed_score v = {0};
        /* Without an error, as where one block has all boxes, nothing is said of blocks. */
        const bool error = !isnan(c->scratch[m][c->seeds]);
        status = cs_seed_score_made(c->seeds, error ? c->blocks : 0, c->scratch[m], &v);
        cs_seed_score_add(list, METRIC[c->test->task][m].name, METRIC[c->test->task][m].definition,
                          &v);
    }
    cs_item *classes = cs_item_array(in, "by_class");
    double *of_seeds = c->scratch[0]; /* which are in the record */
    for (int64_t j = 0; j < k && status == CS_OK; ++j) {
        cs_seed_summary over = {0};
        bool there = true;
        for (int64_t r = 0; r < c->seeds; ++r) {
            of_seeds[r] = c->by_class[r * k + j];
            there = there && !isnan(of_seeds[r]);
        }
        status = there ? cs_seed_summary_of(c->seeds, of_seeds, &over) : CS_OK;
        cs_item *item = there ? cs_item_object(classes, NULL) : NULL;
        cs_item_text(item, "class", j > 0 ? c->test->images->label_name[j - 1] : "background");
        cs_item_real(item, "value", over.median);
    }
    return status;
}

/* Probes that need no seed. */
static cs_status add_one(const cs_patch_study *s, const char *key, const char *probe,
                         cs_patch_answer *a, cs_item *item)
{
    scorer c = {0};
    cs_item *to = cs_item_object(item, key);
    cs_status status = scorer_make(s, 1, &c);
    cs_item_text(to, "~probe", probe);
    if (status == CS_OK) status = score_answer(&c, 0, a);
    if (status == CS_OK) status = add_scores(&c, to);
    cs_pool_free(&c.pool);
    return status;
}

static cs_status add_constant(const cs_patch_study *s, cs_item *item)
{
    const cs_images *train = s->train.images, *test = s->test.images;
    const int64_t pixels = train->height * train->width;
    int64_t count[UINT8_MAX + 1] = {0}, best = 0;
    CS_AUTO(cs_patch_answer) a = {.mask = cs_alloc(test->count * pixels, 1)};
    if (!a.mask) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < train->count * pixels; ++i) {
        count[train->mask[i]] += 1;
    }
    for (int64_t c = 1; c < s->train.classes; ++c) {
        best = count[c] > count[best] ? c : best;
    }
    memset(a.mask, (int)best, (size_t)(test->count * pixels));
    return add_one(s, "baseline", "majority", &a, item);
}

static cs_status add_targets(const cs_patch_study *s, cs_item *item)
{
    CS_AUTO(cs_patch_answer) a = {0};
    cs_status status = cs_patch_head_answer(&s->test, NULL, NULL, 0, &a);
    return status == CS_OK ? add_one(s, "targets", "targets", &a, item) : status;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Training places of a seed: of the pictures drawn, all or `most`. */
static cs_status draw(const cs_patch_study *s, uint64_t seed, int64_t *pictures, int64_t *count,
                      int64_t **row)
{
    const int64_t t = s->train.places;
    const cs_labelled_text examples = {.count = s->train.images->count};
    CS_AUTO_FREE int64_t *picture = NULL;
    cs_status status = cs_blame(cs_few_shot(s->few, &examples, seed, pictures, &picture), "%s",
                                s->train.images->name);
    int64_t left = status == CS_OK ? *pictures * t : 0, wanted = cs_least(s->most, left);
    int64_t *made = cs_alloc(cs_most(wanted, 1), sizeof *made);
    cs_rng rng = cs_rng_at(seed, CS_STREAM_FEATURES, 0);
    if (status == CS_OK && !made) status = CS_ERR_MEMORY;
    *count = 0;
    for (int64_t k = 0; status == CS_OK && wanted > 0; ++k) {
        if (cs_rng_selects(&rng, &left, &wanted)) {
            made[(*count)++] = picture[k / t] * t + k % t;
        }
    }
    return CS_DELIVER(status, row, made, cs_drop);
}

/* The regressions of a head together: the most iterations, the largest gradient. */
typedef struct {
    double penalty, gradient_norm, train_accuracy;
    int64_t n, pictures, iterations;
    bool converged;
} run_of_head;

static run_of_head sum_up(const cs_patch_head *h)
{
    run_of_head r = {.penalty = h->label.step[h->label.chosen].penalty,
                     .train_accuracy = h->label.train_accuracy,
                     .converged = true};
    for (int k = 0; k < 1 + h->sides; ++k) {
        const cs_linear_probe *p = k == 0 ? &h->label : &h->side[k - 1];
        r.gradient_norm = fmax(r.gradient_norm, p->gradient);
        r.iterations = cs_most(r.iterations, p->iterations);
        r.converged = r.converged && p->converged;
    }
    return r;
}

static cs_status run_seed(const cs_patch_study *s, const char *layer, int64_t seed,
                          const cs_rows *train, const cs_rows *test, scorer *c, run_of_head *out)
{
    cs_linear_probe_options fit = s->fit;
    CS_AUTO(cs_patch_head) head = {0};
    CS_AUTO(cs_patch_answer) a = {0};
    int64_t pictures = 0, count = 0, *row = NULL;
    fit.seed = s->seed + (uint64_t)seed;
    cs_status status = draw(s, fit.seed, &pictures, &count, &row);
    if (status == CS_OK) status = cs_patch_head_fit(&s->train, train, count, row, &fit, &head);
    if (status == CS_OK) status = cs_patch_head_answer(&s->test, &head, test, fit.threads, &a);
    if (status == CS_OK) status = score_answer(c, seed, &a);
    if (status == CS_OK && s->kept)
        status = patch_predictions_add(layer, fit.seed, seed == 0, &a, s->kept);
    if (status == CS_OK) {
        *out = sum_up(&head);
        out->n = count;
        out->pictures = pictures;
    }
    cs_free(row);
    return status;
}

static void add_run(const run_of_head *run, uint64_t seed, cs_item *list)
{
    cs_item *item = cs_item_object(list, NULL);
    cs_item_int(item, "seed", (int64_t)seed);
    CS_ITEM_FIELDS(item, run, n, pictures, penalty, gradient_norm, iterations, converged,
                   train_accuracy);
}

cs_status cs_patch_layer_record(const cs_patch_study *s, const char *layer, const cs_rows *train,
                                const cs_rows *test, cs_item *item, int64_t *unconverged)
{
    scorer c = {0};
    run_of_head whole = {.converged = true};
    cs_seed_summary penalties = {0};
    cs_item_text(item, "layer", layer);
    cs_item *runs = cs_item_array(item, "runs");
    cs_status status = scorer_make(s, s->seeds, &c);
    double *penalty = cs_pool_take(&c.pool, s->seeds, sizeof *penalty);
    if (status == CS_OK) status = c.pool.status;
    for (int64_t r = 0; r < s->seeds && status == CS_OK; ++r) {
        run_of_head run = {0};
        status = run_seed(s, layer, r, train, test, &c, &run);
        if (status == CS_OK) {
            add_run(&run, s->seed + (uint64_t)r, runs);
            whole.n = r == 0 ? run.n : whole.n;
            penalty[r] = run.penalty;
            whole.gradient_norm = fmax(whole.gradient_norm, run.gradient_norm);
            whole.iterations = cs_most(whole.iterations, run.iterations);
            whole.converged = whole.converged && run.converged;
            *unconverged += !run.converged;
        }
    }
    if (status == CS_OK) status = cs_seed_summary_of(s->seeds, penalty, &penalties);
    if (status == CS_OK) {
        whole.penalty = penalties.median;
        CS_ITEM_FIELDS(item, &whole, n, penalty, gradient_norm, iterations, converged);
        cs_item_int(item, "n_test", s->test.images->count);
        cs_item_int(item, "d", train->cols);
        cs_item_int(item, "classes", s->test.classes);
        CS_ITEM_FIELDS(item, s, few, seeds);
        cs_item_text(item, "~probe", "linear");
        status = add_scores(&c, item);
    }
    if (status == CS_OK && s->test.task == CS_HEAD_SEGMENTATION) status = add_constant(s, item);
    if (status == CS_OK) status = add_targets(s, item);
    cs_pool_free(&c.pool);
    return status;
}
