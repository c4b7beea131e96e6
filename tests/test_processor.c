/* preprocessor_config.json: bytes of resized images are those of Pillow 12.3 (Image.resize of the
 * formula below, which tests/oracle/processor_parity.py compares at large); values are formulas. */
#include "corpus_support.h"
#include "image/processor.h"
#include "io_support.h"

enum { HIGH = 7, WIDE = 5 };

static void fill(uint8_t *a)
{
    for (int y = 0; y < HIGH; ++y) {
        for (int x = 0; x < WIDE; ++x) {
            a[y * WIDE + x] = (uint8_t)((37 * y + 59 * x + 11 * x * y * y) % 256);
        }
    }
}

TEST(resized_images_have_pillows_bytes)
{
    static const uint8_t
        small[CS_RESAMPLES][12] = {{37, 107, 247, 61, 111, 13, 73, 231, 185, 7, 163, 241},
                                   {40, 109, 174, 181, 104, 97, 105, 157, 175, 87, 99, 187},
                                   {50, 112, 166, 169, 105, 97, 109, 163, 165, 93, 103, 181},
                                   {40, 109, 173, 174, 105, 97, 104, 162, 174, 88, 100, 188},
                                   {19, 116, 212, 149, 111, 103, 95, 175, 204, 92, 107, 246},
                                   {35, 110, 182, 154, 108, 93, 101, 180, 184, 87, 106, 212}},
        large[CS_RESAMPLES][9] = {
            {0, 118, 236, 111, 171, 231, 185, 85, 241}, {0, 114, 249, 98, 99, 255, 209, 89, 255},
            {0, 118, 236, 95, 107, 231, 192, 89, 243},  {0, 116, 244, 96, 105, 255, 202, 87, 255},
            {0, 118, 236, 111, 171, 231, 185, 85, 241}, {0, 118, 236, 98, 118, 231, 186, 86, 241}};
    uint8_t a[HIGH * WIDE], b[8 * 7];
    fill(a);
    for (int f = 0; f < CS_RESAMPLES; ++f) {
        OK(cs_picture_resample(a, HIGH, WIDE, 1, (cs_resample)f, 3, 4, NULL, b));
        assert_memory_equal(b, small[f], sizeof small[f]);
        OK(cs_picture_resample(a, HIGH, WIDE, 1, (cs_resample)f, 8, 7, NULL, b));
        assert_each(i, 0, 9, b[i / 3 * 3 * 7 + i % 3 * 3] == large[f][i]);
        OK(cs_picture_resample(a, HIGH, WIDE, 1, (cs_resample)f, HIGH, WIDE, NULL, b));
        assert_memory_equal(a, b, sizeof a);
    }
}

TEST_IN_DIR(values_are_rescaled_and_normalised)
{
    CS_AUTO(cs_processor) p = {0};
    float x[6] = {0, 51.0F / 255, 1, 0.2F, 0.4F, 0.6F}, was[6];
    memcpy(was, x, sizeof x);
    cs_processor_apply(&p, 3, 6, x); /* no file */
    assert_memory_equal(was, x, sizeof x);
    OK(cs_processor_read(put(state, "p.json",
                             "{\"rescale_factor\": 0.01, \"image_mean\": [0.5, 0.25, 1], "
                             "\"image_std\": [0.5, 2, 0.1]}"),
                         NULL, 3, &p));
    cs_processor_apply(&p, 3, 6, x);
    const double mean[] = {0.5, 0.25, 1}, sd[] = {0.5, 2, 0.1};
    for (int i = 0; i < 6; ++i) {
        const double want = ((double)was[i] * 2.55 - mean[i % 3]) / sd[i % 3];
        assert_true(fabs((double)x[i] - want) < 1e-5);
    }
    cs_processor_undo(&p, 3, 6, x);
    assert_each(i, 0, 6, fabs((double)x[i] - (double)was[i]) < 1e-6);
}

/* Grey to colour, the shorter side to 10, then the centre. */
TEST_IN_DIR(images_are_resized_and_cropped)
{
    uint8_t pixel[2 * HIGH * WIDE], sized[14 * 10];
    CS_AUTO(cs_processor) p = {0};
    cs_images out = {0},
              m = {.name = (char[]){"m"}, .count = 2, .height = HIGH, .width = WIDE, .channels = 1};
    fill(pixel);
    fill(pixel + HIGH * WIDE);
    m.pixel = pixel;
    OK(cs_processor_read(put(state, "p.json",
                             "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": 10, "
                             "\"crop_size\": {\"height\": 6, \"width\": 8}}"),
                         NULL, 3, &p));
    assert_true(cs_processor_changes(&p, &m, 6, 8, 3));
    OK(cs_processor_images(&p, &m, 6, 8, 3, 1, &out));
    OK(cs_picture_resample(pixel, HIGH, WIDE, 1, CS_RESAMPLE_BICUBIC, 14, 10, NULL, sized));
    assert_true(out.height == 6 && out.width == 8 && out.channels == 3);
    for (int i = 0; i < 2 * 6 * 8 * 3; ++i) {
        const int at = i / 3 % 48;
        assert_int_equal(out.pixel[i], sized[(4 + at / 8) * 10 + 1 + at % 8]);
    }
    cs_free(out.pixel);
}

/* Absent keys have the values of the class that the file names, or else of the architecture. */
TEST_IN_DIR(absent_keys_have_the_values_of_the_class)
{
    static const struct {
        const char *text, *family;
        int64_t shortest, height, crop;
        cs_resample filter;
        bool rgb, crops;
        double mean;
    } of[] = {
        {"ViTImageProcessorPil", "beit", 0, 0, 0, CS_RESAMPLE_BILINEAR, false, false, 0.5},
        {"ViTFeatureExtractor", NULL, 0, 0, 0, CS_RESAMPLE_BILINEAR, false, false, 0.5},
        {"DeiTImageProcessorFast", NULL, 0, 256, 224, CS_RESAMPLE_BICUBIC, false, true, 0.5},
        {"BitImageProcessor", NULL, 224, 0, 224, CS_RESAMPLE_BICUBIC, true, true, 0.48145466},
        {"CLIPFeatureExtractor", NULL, 224, 0, 224, CS_RESAMPLE_BICUBIC, true, true, 0.48145466},
        {"SiglipImageProcessor", NULL, 0, 224, 0, CS_RESAMPLE_BICUBIC, true, false, 0.5},
        {"BeitImageProcessorFast", NULL, 0, 224, 224, CS_RESAMPLE_BICUBIC, false, false, 0.5},
        {NULL, "vit_mae", 0, 0, 0, CS_RESAMPLE_BILINEAR, false, false, 0.5},
        {NULL, "ijepa", 0, 0, 0, CS_RESAMPLE_BILINEAR, false, false, 0.5},
        {NULL, "dinov2_with_registers", 224, 0, 224, CS_RESAMPLE_BICUBIC, true, true, 0.48145466},
        {NULL, "siglip_vision_model", 0, 224, 0, CS_RESAMPLE_BICUBIC, true, false, 0.5},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        char text[128] = "{}";
        CS_AUTO(cs_processor) p = {0};
        if (of[i].text)
            (void)snprintf(text, sizeof text,
                           "{\"image_processor_type\": \"%s\", \"do_reduce_labels\": true}",
                           of[i].text);
        OK(cs_processor_read(put(state, "p.json", text), of[i].family, 3, &p));
        assert_int_equal(p.shortest, of[i].shortest);
        assert_int_equal(p.height, of[i].height);
        assert_int_equal(p.crop_height, of[i].crop);
        assert_int_equal(p.filter, of[i].filter);
        assert_true(p.rgb == of[i].rgb && p.crop == of[i].crops && p.resize && p.affine);
        assert_true(fabs((double)p.mean[0] - of[i].mean) < 1e-7);
    }
    /* one number: of SigLIP the shorter side, of BEiT both */
    CS_AUTO(cs_processor) edge = {0}, square = {0};
    OK(cs_processor_read(
        put(state, "p.json", "{\"image_processor_type\": \"SiglipImageProcessor\", \"size\": 9}"),
        NULL, 3, &edge));
    OK(cs_processor_read(put(state, "p.json", "{\"size\": 9}"), "beit", 3, &square));
    assert_true(edge.shortest == 9 && square.height == 9 && square.width == 9);
}

TEST_IN_DIR(other_steps_are_refused_by_name)
{
    static const test_refusal bad[] = {
        {"[]", "p.json: not an object"},
        {"{\"image_processor_type\": \"SwinImageProcessor\"}", "\"SwinImageProcessor\" is not"},
        {"{\"image_processor_type\": \"Siglip2ImageProcessor\"}",
         "\"Siglip2ImageProcessor\" is not"},
        {"{\"image_processor_type\": \"ViTImageProcessorSlow\"}",
         "\"ViTImageProcessorSlow\" is not"},
        {"{\"do_center_crop\": true}", "'do_center_crop' needs 'crop_size'"},
        {"{\"do_pad\": true}", "p.json: 'do_pad' is not supported"},
        {"{\"crop_pct\": 0.9}", "'crop_pct' is not supported"},
        {"{\"do_normalize\": 1}", "'do_normalize' is not true or false"},
        {"{\"image_mean\": [0, 0]}", "'image_mean' is not a number or 3 numbers"},
        {"{\"image_std\": 0}", "'image_std' is not above 0"},
        {"{\"rescale_factor\": \"1\"}", "'rescale_factor' is not a number"},
        {"{\"resample\": 6}", "'resample' is not a number of 0..5"},
        {"{\"size\": {\"longest_edge\": 8}}", "'size' is not supported"},
        {"{\"size\": {\"shortest_edge\": 8, \"longest_edge\": 9}}", "'size' is not supported"},
        {"{\"crop_size\": {\"shortest_edge\": 8}}", "'crop_size' has shortest_edge"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_processor p = {0};
        assert_fails(cs_processor_read(put(state, "p.json", bad[i].text), NULL, 3, &p),
                     CS_ERR_INPUT, bad[i].reason);
    }
    CS_AUTO(cs_processor) p = {0};
    OK(cs_processor_read(put(state, "p.json", "{\"do_pad\": false, \"processor_class\": \"x\"}"),
                         NULL, 3, &p));
}
