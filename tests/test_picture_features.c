/* States of pictures as features: patches in the plane whatever the order of the sequence, means of cells.
 */
#include "analysis/vision/picture_features.h"
#include "vit_support.h"

/* The states of a network of all patches to all are those of the patches in the plane whatever the order
 * of its sequence. Floats are summed in another order. */
TEST(features_are_of_the_plane)
{
    CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[0], 1, NULL);
    CS_AUTO(cs_images) m = make_pictures();
    const int64_t layer[] = {0, 2};
    float *made[2] = {NULL, NULL};
    for (int o = 0; o < 2; ++o) {
        cs_model_config c = t.model.config;
        c.picture.sinusoidal = true;
        (void)snprintf(c.picture.order, sizeof c.picture.order, "%s", o ? "hilbert" : "");
        AUTO_OK(cs_model, model, cs_model_init(&c, t.backend, false, &model));
        OK(cs_model_randomise(&model, 4));
        AUTO_OK(cs_corpus, patches, cs_model_pictures(&model, &m, 1, &patches));
        const cs_hidden_options h = {.layer = layer,
                                     .layers = 2,
                                     .masks = {.attention = CS_ATTENTION_BIDIRECTIONAL},
                                     .around = {.before = &c.ids.bos, .befores = 1}};
        OK(cs_patch_features(&model, &patches, &h, &made[o]));
    }
    assert_each(i, 0, 2 * PICTURES * PATCHES * 16, fabs(made[0][i] - made[1][i]) <= 1e-5);
    bool moved = ANY(i, 0, 2 * PICTURES * PATCHES * 16,
                     made[0][i] != made[0][(i + 16) % (PICTURES * PATCHES * 16)]);
    assert_true(moved);
    cs_free(made[0]);
    cs_free(made[1]);
}

/* Cells of 6 x 5 patches, which 4 does not divide: a patch is of the cell that has its upper left corner,
 * as quarters of the sides part the plane. Means of at most 4 floats in double, rounded once. */
TEST(features_of_cells)
{
    enum { ROWS = 6, COLUMNS = 5, COUNT = 12, WIDTH = 16, CELLS = 16, LAYERS = 2 };
    CS_AUTO_BY(free_training, training) t = make_picture_training(&picture_forms[0], 1, NULL);
    CS_AUTO(cs_images) m = make_pictures(); /* 1,536 pixels; these have 1,440 */
    m.count = COUNT;
    m.height = ROWS * PATCH;
    m.width = COLUMNS * PATCH;
    cs_model_config c = {.shape.width = WIDTH,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 32,
                         .picture.height = m.height,
                         .picture.width = m.width,
                         .picture.patch = PATCH,
                         .picture.channels = 1};
    cs_model_config_default(CS_ARCH_VIT, &c);
    OK(cs_model_config_pictures(&c));
    const int64_t layer[LAYERS] = {0, 2};
    const cs_hidden_options h = {.layer = layer,
                                 .layers = LAYERS,
                                 .masks = {.attention = CS_ATTENTION_BIDIRECTIONAL},
                                 .around = {.before = &c.ids.bos, .befores = 1}};
    CS_AUTO_FREE float *each = NULL, *cells = NULL;
    AUTO_OK(cs_model, model, cs_model_init(&c, t.backend, false, &model));
    OK(cs_model_randomise(&model, 4));
    AUTO_OK(cs_corpus, patches, cs_model_pictures(&model, &m, 1, &patches));
    assert_int_equal(cs_picture_width(&c, CS_PICTURE_CELLS), CELLS * WIDTH);
    assert_int_equal(cs_picture_width(&c, CS_PICTURE_PATCHES), ROWS * COLUMNS * WIDTH);
    OK(cs_picture_features(&model, &patches, &h, CS_PICTURE_PATCHES, &each));
    OK(cs_picture_features(&model, &patches, &h, CS_PICTURE_CELLS, &cells));
    for (int i = 0; i < LAYERS * COUNT; ++i) {
        for (int j = 0; j < CELLS * WIDTH; ++j) {
            const double top = j / WIDTH / 4 * 0.25, left = j / WIDTH % 4 * 0.25;
            double sum = 0;
            int count = 0;
            for (int at = 0; at < ROWS * COLUMNS; ++at) {
                const double y = (double)(at / COLUMNS) / ROWS,
                             x = (double)(at % COLUMNS) / COLUMNS;
                if (y >= top && y < top + 0.25 && x >= left && x < left + 0.25) {
                    sum += (double)each[(i * ROWS * COLUMNS + at) * WIDTH + j % WIDTH];
                    ++count;
                }
            }
            assert_true(count > 0 && count <= 4);
            assert_near(cells[i * CELLS * WIDTH + j], sum / count,
                        1e-6 * fmax(1, fabs(sum / count)));
        }
    }
}
