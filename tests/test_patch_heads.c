/* Heads on patches: their scores against numpy and pycocotools (tests/oracle/picture_scores_oracle.py) and
 * by hand, what is made of the scores of patches, fits of what is linear, units held out together. */
#include "analysis/vision/average_precision.h"
#include "analysis/vision/patch_heads.h"
#include "analysis/vision/patch_runs.h"
#include "analysis/vision/picture_features.h"
#include "io_support.h"
#include "vit_support.h"

/* The oracle's numbers have 15 digits, and sums of a hundred quotients err by less than 1e-14. */
static const double EXACT = 1e-13;

/* The generator of the oracle. */
static int below(uint32_t *x, int n)
{
    *x = (1103515245U * *x + 12345U) & 0x7fffffffU;
    return (int)(*x >> 8) % n;
}

/* --- scores --- */

TEST(intersection_over_union)
{
    enum { N = 400, K = 6 };
    static const double wanted[K] = {0.525641025641026, 0.724137931034483, 0.775,
                                     0.784615384615385, 0.790697674418605, NAN};
    uint8_t truth[N], said[N];
    int64_t confusion[K * K] = {0};
    double each[K];
    uint32_t lots = 3;
    for (int i = 0; i < N; ++i) {
        truth[i] = (uint8_t)below(&lots, 5);
        said[i] = below(&lots, 4) == 0 ? 0 : truth[i];
    }
    int64_t right = COUNT(i, 0, N, said[i] == truth[i]);
    cs_confusion_add(K, N, truth, said, confusion);
    assert_near(cs_mean_iou(K, confusion, each), 0.7200184031419, EXACT);
    assert_each(c, 0, 5, fabs(each[c] - wanted[c]) <= EXACT);
    assert_true(isnan(each[5])); /* neither there nor said to be */
    assert_near(cs_pixel_accuracy(K, confusion), (double)right / N, EXACT);
    const int64_t nothing[4] = {0};
    assert_true(isnan(cs_mean_iou(2, nothing, NULL)) && isnan(cs_pixel_accuracy(2, nothing)));
}

/* Boxes of pictures without pixels. */
typedef struct {
    cs_images images;
    int64_t ptr[13];
    cs_box box[64];
    cs_detection found[128];
    int64_t count;
} boxes;

static cs_box draw_box(uint32_t *lots)
{
    const int top = below(lots, 20), left = below(lots, 20);
    const int bottom = top + 4 + below(lots, 9);
    return (cs_box){0, top, left, bottom, left + 4 + below(lots, 9)};
}

static void add_found(boxes *b, int64_t picture, int label, int score, const cs_box *at)
{
    b->found[b->count++] = (cs_detection){picture,    label,     at->top,       at->left,
                                          at->bottom, at->right, (double)score, false};
}

static boxes *draw_boxes(void)
{
    boxes *b = test_zeros(1, sizeof *b);
    uint32_t lots = 7;
    for (int64_t i = 0; i < 12; ++i) {
        const int count = 1 + below(&lots, 3);
        b->ptr[i + 1] = b->ptr[i];
        for (int k = 0; k < count; ++k) {
            const int label = below(&lots, 3);
            cs_box *to = &b->box[b->ptr[i + 1]++];
            *to = draw_box(&lots);
            to->label = label;
        }
        for (int64_t k = b->ptr[i]; k < b->ptr[i + 1]; ++k) {
            cs_box at = b->box[k];
            int32_t *side[] = {&at.top, &at.left, &at.bottom, &at.right};
            for (int s = 0; s < 4; ++s) {
                *side[s] += below(&lots, 3);
            }
            const int label = below(&lots, 4) ? at.label : (at.label + 1) % 3;
            add_found(b, i, label, 4096 * below(&lots, 256) + (int)b->count, &at);
        }
        for (int k = below(&lots, 3); k > 0; --k) {
            const int label = below(&lots, 3), score = 4096 * below(&lots, 256) + (int)b->count;
            const cs_box at = draw_box(&lots);
            add_found(b, i, label, score, &at);
        }
    }
    b->images = (cs_images){.count = 12, .box_ptr = b->ptr, .box = b->box};
    return b;
}

TEST(average_precision_as_coco_has_it)
{
    static const double wanted[] = {0.192204934779192, 0.137713771377138, 0.301630163016302};
    boxes *b = draw_boxes();
    double each[3];
    assert_true(b->ptr[12] == 29 && b->count == 39);
    OK(cs_detections_match(&b->images, b->count, b->found));
    assert_near(cs_average_precision(3, &b->images, b->count, b->found, NULL, 0, each),
                0.210516289724211, EXACT);
    assert_each(c, 0, 3, fabs(each[c] - wanted[c]) <= EXACT);
    ARRAY(int32_t, block, 12, i, i == 5 ? 1 : 0);
    assert_near(cs_average_precision(3, &b->images, b->count, b->found, block, 1, NULL),
                0.209218540901709, EXACT);
    assert_near(cs_average_precision(4, &b->images, b->count, b->found, NULL, 0, (double[4]){0}),
                0.210516289724211, EXACT); /* a class without boxes does not count */
}

/* Of two boxes the best detection hits one, the second hits it again, which is a miss, the third hits the
 * other: precision 1 up to recall 1/2, then 2/3. At an overlap of 1/2 a box is hit, below it is not. */
TEST(average_precision_by_hand)
{
    int64_t ptr[] = {0, 2};
    cs_box box[] = {{0, 0, 0, 4, 4}, {0, 0, 10, 4, 14}};
    const cs_images m = {.count = 1, .box_ptr = ptr, .box = box};
    cs_detection d[] = {{0, 0, 0, 10, 4, 12, 0.7, false}, /* overlap 8 / 16 */
                        {0, 0, 0, 0, 4, 4, 0.8, false},
                        {0, 0, 0, 0, 4, 3, 0.9, false}};
    OK(cs_detections_match(&m, 3, d));
    assert_true(d[0].score == 0.9 && d[0].hit && !d[1].hit && d[2].hit);
    assert_near(cs_average_precision(1, &m, 3, d, NULL, 0, NULL), (51 + 50 * 2.0 / 3) / 101, EXACT);
    d[2].right = 11.9;
    OK(cs_detections_match(&m, 3, d));
    assert_near(cs_average_precision(1, &m, 3, d, NULL, 0, NULL), 51.0 / 101, EXACT);
    assert_near(cs_average_precision(1, &m, 0, d, NULL, 0, NULL), 0, 0);
    assert_true(isnan(cs_average_precision(1, &m, 3, d, (int32_t[]){4}, 4, NULL)));
}

/* --- from patches to pixels and boxes --- */

/* Three outputs that are the three features. */
static cs_linear_probe identity(int64_t outputs, double *work, int64_t *classes)
{
    double *mean = work, *scale = mean + 3, *weight = scale + 3;
    for (int64_t j = 0; j < 3; ++j) {
        mean[j] = 0;
        scale[j] = 1;
        for (int64_t c = 0; c < outputs; ++c) {
            weight[j * outputs + c] = j == c;
        }
        classes[j] = j;
    }
    return (cs_linear_probe){.features = 3,
                             .outputs = outputs,
                             .mean = mean,
                             .scale = scale,
                             .weight = weight,
                             .intercept = weight + 9,
                             .class_of = classes,
                             .value_scale = 1};
}

static cs_images pixels_of(int64_t height, int64_t width, uint8_t *mask)
{
    static char *names[] = {"a", "b"};
    return (cs_images){.name = "drawn",
                       .count = 1,
                       .height = height,
                       .width = width,
                       .channels = 1,
                       .labels = 2,
                       .label_name = names,
                       .mask = mask};
}

TEST(scores_of_pixels_are_interpolated)
{
    uint8_t mask[12 * 16] = {0};
    double work[32] = {0};
    int64_t classes[3], count[3] = {0}, weighted = 0;
    uint32_t lots = 11;
    ARRAY(float, grid, 36, i, below(&lots, 1000));
    const cs_images m = pixels_of(12, 16, mask);
    const cs_rows x = cs_rows_of_f32(12, 3, grid, "x");
    const cs_patch_head head = {.label = identity(3, work, classes)};
    AUTO_OK(cs_patch_targets, t, cs_patch_targets_of(&m, 4, CS_HEAD_SEGMENTATION, &t));
    AUTO_OK(cs_patch_answer, a, cs_patch_head_answer(&t, &head, &x, 1, &a));
    for (int i = 0; i < 12 * 16; ++i) {
        count[a.mask[i]] += 1;
        weighted += i * a.mask[i];
    }
    assert_true(count[0] == 79 && count[1] == 66 && count[2] == 47 && weighted == 18267);
}

/* A picture of 8 x 8 in patches of 2: a large box of class 0, in it a small one of class 1. */
static cs_images nested(int64_t *ptr, cs_box *box)
{
    cs_images m = pixels_of(8, 8, NULL);
    ptr[0] = 0;
    ptr[1] = 2;
    box[0] = (cs_box){0, 0, 0, 8, 6};
    box[1] = (cs_box){1, 2, 2, 6, 5};
    m.box_ptr = ptr;
    m.box = box;
    return m;
}

TEST(patches_learn_the_smallest_box)
{
    static const double label[16] = {1, 1, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0};
    int64_t ptr[2];
    cs_box box[2];
    const cs_images m = nested(ptr, box);
    cs_patch_targets t = {0};
    CS_AUTO(cs_patch_answer) a = {0};
    OK(cs_patch_targets_of(&m, 2, CS_HEAD_DETECTION, &t));
    assert_each(k, 0, 16, t.label[k] == label[k]);
    /* Centre (5, 3), row 2, column 1, of the small box; (1, 5) of the large one. */
    assert_near(t.side[0][9], 3, 0);
    assert_near(t.side[1][9], 1, 0);
    assert_near(t.side[2][9], 1, 0);
    assert_near(t.side[3][9], 2, 0);
    assert_near(t.side[0][2], 1, 0);
    assert_near(t.side[3][2], 1, 0);
    OK(cs_patch_head_answer(&t, NULL, NULL, 1, &a)); /* of equal boxes one is left */
    assert_int_equal(a.detections, 2);
    OK(cs_detections_match(&m, a.detections, a.detection));
    assert_near(cs_average_precision(2, &m, a.detections, a.detection, NULL, 0, NULL), 1, 0);
    cs_patch_targets_free(&t);
    const cs_images bare = pixels_of(8, 8, NULL);
    assert_fails(cs_patch_targets_of(&bare, 2, CS_HEAD_DETECTION, &t), CS_ERR_INPUT,
                 "drawn: the pictures have no boxes");
    assert_fails(cs_patch_targets_of(&bare, 2, CS_HEAD_SEGMENTATION, &t), CS_ERR_INPUT,
                 "have no pixel masks");
    assert_fails(cs_patch_targets_of(&m, 3, CS_HEAD_DETECTION, &t), CS_ERR_USAGE,
                 "patch size 3 does not divide");
}

/* Scores log(p): patch 5 says .8 of class 1, its neighbour .7 with a box that overlaps it by 2 / 3, and .04,
 * which is too little; patch 15 says .1 of both, a box beyond the picture. */
TEST(better_boxes_cover_worse_ones)
{
    int64_t ptr[2], classes[3];
    cs_box box[2];
    float x[16 * 3];
    double work[32] = {0};
    const cs_images m = nested(ptr, box);
    for (int k = 0; k < 16; ++k) {
        const float p[3] = {k == 5    ? 0.16F
                            : k == 6  ? 0.26F
                            : k == 15 ? 0.8F
                                      : 0.98F,
                            k == 5    ? 0.8F
                            : k == 6  ? 0.7F
                            : k == 15 ? 0.1F
                                      : 0.01F,
                            k == 5 || k == 6 ? 0.04F
                            : k == 15        ? 0.1F
                                             : 0.01F};
        for (int c = 0; c < 3; ++c) {
            x[3 * k + c] = logf(p[c]);
        }
    }
    CS_AUTO(cs_patch_answer) a = {0};
    cs_patch_head head = {.label = identity(3, work, classes), .sides = 4};
    AUTO_OK(cs_patch_targets, t, cs_patch_targets_of(&m, 2, CS_HEAD_DETECTION, &t));
    for (int s = 0; s < 4;
         ++s) { /* always 2: patch 5 rows 1..5, columns 1..5, patch 6 columns 3..7 */
        head.side[s] = (cs_linear_probe){.features = 3,
                                         .outputs = 1,
                                         .mean = work,
                                         .scale = work, /* zeros: no feature counts */
                                         .weight = work,
                                         .intercept = work,
                                         .value_mean = 2,
                                         .value_scale = 1};
    }
    const cs_rows rows = cs_rows_of_f32(16, 3, x, "x");
    OK(cs_patch_head_answer(&t, &head, &rows, 1, &a));
    assert_int_equal(a.detections, 4); /* patches 5, 6 and twice 15: overlaps of 1 / 3 stay */
    assert_near(a.detection[0].score, 0.8, 1e-7);
    assert_near(a.detection[0].top, 1, 0);
    assert_near(a.detection[1].left, 3, 0);
    assert_near(a.detection[2].bottom, 8, 0);
    assert_true(a.detection[2].label == 0 && a.detection[3].label == 1);
    cs_patch_answer_free(&a);
    for (int s = 1; s < 4; s += 2) { /* wide boxes: 5 has columns 0..7, 6 has 0..8 */
        head.side[s].value_mean = 4;
    }
    OK(cs_patch_head_answer(&t, &head, &rows, 1, &a));
    assert_int_equal(a.detections, 3); /* 28 of 32 pixels are both's */
}

/* --- fits --- */

enum { MANY = 40 };

/* Pictures of 8 x 8 in patches of 2, each patch of one class or, for boxes, one box a picture. */
static cs_images draw_pictures(uint8_t *mask, int64_t *ptr, cs_box *box)
{
    cs_images m = pixels_of(8, 8, mask);
    uint32_t lots = 5;
    m.count = MANY;
    m.box_ptr = ptr;
    m.box = box;
    for (int64_t i = 0; i < MANY; ++i) {
        for (int k = 0; k < 16; ++k) {
            const uint8_t class = (uint8_t)below(&lots, 3);
            for (int j = 0; j < 4; ++j) {
                mask[i * 64 + (k / 4 * 2 + j / 2) * 8 + k % 4 * 2 + j % 2] = class;
            }
        }
        const int top = below(&lots, 4), left = below(&lots, 4), label = below(&lots, 2);
        ptr[i + 1] = i + 1;
        box[i] = (cs_box){label, top, left, top + 4, left + 4};
    }
    return m;
}

static cs_patch_study study_of(const cs_images side[2], cs_patch_task task)
{
    cs_patch_study s = {.few = "all", .most = 1 << 20, .seeds = 1, .seed = 3};
    s.fit.threads = 1;
    OK(cs_patch_study_targets(side, 2, task, &s));
    return s;
}

/* The record of a layer; the caller's to give back (json_decref). */
static json_t *layer_of(const cs_patch_study *s, const cs_rows *x)
{
    CS_AUTO(cs_result) *result = cs_result_new();
    json_t *made = NULL;
    int64_t unconverged = 0;
    OK(cs_patch_layer_record(s, "last", x, x, cs_result_root(result), &unconverged));
    assert_int_equal(unconverged, 0);
    OK(cs_result_json(result, &made));
    return made;
}

/* "value" or "se" of metric `i` of what is under the key (NULL: of the layer). */
static double metric_of(const json_t *layer, const char *key, size_t i, const char *what)
{
    const json_t *of = key ? json_object_get(layer, key) : layer;
    return json_number_value(
        json_object_get(json_array_get(json_object_get(of, "metrics"), i), what));
}

/* The own patch has 9 / 16 of every pixel's interpolation, so that the classes of patches are those of
 * their pixels. The error of an accuracy over pictures of one size is that of a mean. */
TEST(linear_segmentations_are_found)
{
    uint8_t *mask = test_zeros(MANY * 64, 1);
    int64_t ptr[MANY + 1] = {0};
    cs_box box[MANY];
    const cs_images m = draw_pictures(mask, ptr, box), side[] = {m, m};
    float *x = test_zeros((int64_t)MANY * 16 * 3, sizeof *x);
    double mean = 0, square = 0;
    for (int64_t k = 0; k < (int64_t)MANY * 16; ++k) {
        x[3 * k + mask[k / 16 * 64 + k % 16 / 4 * 16 + k % 4 * 2]] = 1;
    }
    const cs_rows rows = cs_rows_of_f32((int64_t)MANY * 16, 3, x, "x"),
                  blind = cs_rows_of_f32((int64_t)MANY * 16, 1, x, "x");
    CS_AUTO(cs_patch_study) s = study_of(side, CS_HEAD_SEGMENTATION);
    json_auto_t *layer = layer_of(&s, &rows);
    assert_near(metric_of(layer, NULL, 0, "value"), 1, 0);
    assert_near(metric_of(layer, NULL, 1, "value"), 1, 0);
    assert_near(metric_of(layer, "targets", 0, "value"), 1, 0);
    assert_int_equal(json_array_size(json_object_get(layer, "by_class")), 3);
    int64_t count[3] = {0}, best = 0;
    for (int i = 0; i < MANY * 64; ++i) {
        count[mask[i]] += 1;
    }
    for (int c = 1; c < 3; ++c) {
        best = count[c] > count[best] ? c : best;
    }
    for (int64_t i = 0; i < MANY; ++i) {
        double share = SUM(k, 0, 64, mask[i * 64 + k] == best ? 1.0 / 64 : 0);
        mean += share / MANY;
        square += share * share;
    }
    assert_near(metric_of(layer, "baseline", 1, "value"), mean, EXACT);
    assert_near(metric_of(layer, "baseline", 1, "se"),
                sqrt((square - MANY * mean * mean) / (MANY - 1) / MANY), EXACT);
    assert_near(metric_of(layer, "baseline", 0, "value"), mean / 3, EXACT);
    json_decref(layer);
    layer = layer_of(&s, &blind); /* one of nine numbers, misplaced */
    assert_true(metric_of(layer, NULL, 0, "value") < 0.6);
}

TEST(linear_boxes_are_found)
{
    uint8_t *mask = test_zeros(MANY * 64, 1);
    int64_t ptr[MANY + 1] = {0};
    cs_box box[MANY];
    const cs_images m = draw_pictures(mask, ptr, box), side[] = {m, m};
    float *x = test_zeros((int64_t)MANY * 16 * 6, sizeof *x);
    CS_AUTO(cs_patch_study) s = study_of(side, CS_HEAD_DETECTION);
    for (int64_t k = 0; k < (int64_t)MANY * 16; ++k) {
        for (int c = 1; c < 3; ++c) {
            x[6 * k + c - 1] = s.train.label[k] == c;
        }
        for (int d = 0; d < 4; ++d) {
            x[6 * k + 2 + d] = (float)s.train.side[d][k];
        }
    }
    const cs_rows rows = cs_rows_of_f32((int64_t)MANY * 16, 6, x, "x");
    json_auto_t *layer = layer_of(&s, &rows);
    assert_near(metric_of(layer, NULL, 0, "value"), 1, 0);
    json_decref(layer);
    for (int64_t k = 0; k < (int64_t)MANY * 16; ++k) {
        x[6 * k] = x[6 * k + 1] = 0; /* the classes are no longer distinguishable */
    }
    layer = layer_of(&s, &rows);
    assert_true(metric_of(layer, NULL, 0, "value") < 0.9);
    s.few = "41";
    CS_AUTO(cs_result) *result = cs_result_new();
    int64_t unconverged = 0;
    assert_fails(
        cs_patch_layer_record(&s, "last", &rows, &rows, cs_result_root(result), &unconverged),
        CS_ERR_INPUT, "drawn: 41 examples requested, but there are only 40");
}

static cs_status box_layer(const char *unused)
{
    static uint8_t mask[MANY * 64];
    static float x[MANY * 16];
    int64_t ptr[MANY + 1] = {0}, unconverged = 0;
    cs_box box[MANY];
    const cs_images m = draw_pictures(mask, ptr, box), side[] = {m, m};
    const double penalty = 1;
    CS_AUTO(cs_patch_study) s = {.few = "20", .most = 200, .seeds = 1};
    s.fit = (cs_linear_probe_options){.threads = 1, .penalties = 1, .penalty = &penalty};
    (void)unused;
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_status status = result ? CS_OK : CS_ERR_MEMORY;
    for (int k = 0; k < MANY * 16; ++k) {
        x[k] = (float)(k % 7);
    }
    const cs_rows rows = cs_rows_of_f32((int64_t)MANY * 16, 1, x, "x");
    if (status == CS_OK) status = cs_patch_study_targets(side, 2, CS_HEAD_DETECTION, &s);
    if (status == CS_OK)
        status =
            cs_patch_layer_record(&s, "last", &rows, &rows, cs_result_root(result), &unconverged);
    if (status == CS_OK) status = cs_result_status(result);
    return status;
}

TEST(every_allocation_fails_in_turn)
{
    fail_each_allocation(box_layer, NULL);
}

/* Features that name the unit and nothing else, whose labels are its own: with rows of it on both sides
 * the smallest penalty is best, with units held out whole nothing is learned and the largest is. */
TEST(units_are_held_out_together)
{
    enum { UNITS = 30, EACH = 6, N = UNITS * EACH };
    double *x = test_zeros((int64_t)N * UNITS, sizeof *x), y[N];
    int64_t unit[N];
    cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, 0);
    for (int i = 0; i < N; ++i) {
        unit[i] = i % UNITS;
        y[i] = i < UNITS ? (double)(cs_rng_u64(&rng) & 1) : y[i - UNITS];
        x[i * UNITS + i % UNITS] = 1;
    }
    const cs_rows rows = cs_rows_of_f64(N, UNITS, x, "x");
    cs_linear_probe_options o = {.threads = 1};
    for (int share = 0; share < 2; ++share) {
        o.share = share ? 0.3 : 0;
        for (int whole = 0; whole < 2; ++whole) {
            o.unit = whole ? unit : NULL;
            AUTO_OK(cs_linear_probe, p, cs_linear_probe_fit(&rows, N, NULL, y, 2, &o, &p));
            const double held = p.step[p.chosen].held_out;
            assert_true(whole ? p.chosen == 0 && held > 0.6
                              : p.chosen == p.steps - 1 && held < 0.05);
        }
    }
}

/* --- sides of a corpus --- */

TEST(sides_keep_masks_and_boxes)
{
    uint8_t *mask = test_zeros(MANY * 64, 1), *pixel = test_zeros(MANY * 64, 1),
            *held = test_zeros(MANY, 1);
    int64_t ptr[MANY + 1] = {0};
    int32_t *label = test_zeros(MANY, sizeof *label);
    cs_box box[MANY];
    cs_images m = draw_pictures(mask, ptr, box), part = {0};
    m.path = m.name;
    m.pixel = pixel;
    m.label = label;
    m.held_out = held;
    for (int i = 0; i < MANY; ++i) {
        held[i] = i % 3 == 1;
        label[i] = i % 2;
        pixel[i * 64] = (uint8_t)i;
    }
    OK(cs_images_side(&m, 1, 5, &part));
    assert_true(part.count == 5 && part.labels == 2 && part.box_ptr[5] == 5);
    for (int k = 0; k < 5; ++k) {
        const int i = 3 * k + 1;
        assert_int_equal(part.pixel[k * 64], i);
        assert_int_equal(part.label[k], i % 2);
        assert_memory_equal(part.mask + k * 64, mask + i * 64, 64);
        assert_memory_equal(&part.box[k], &box[i], sizeof box[i]);
    }
    cs_images_free(&part);
    OK(cs_images_side(&m, 0, 0, &part));
    assert_int_equal(part.count, 27);
    cs_images_free(&part);
    OK(cs_images_side(&m, -1, 0, &part));
    assert_int_equal(part.count, MANY);
    cs_images_free(&part);
    memset(held, 0, MANY);
    assert_fails(cs_images_side(&m, 1, 0, &part), CS_ERR_INPUT, "drawn: no picture is in the test");
}
