/* Corpora of images known by name: records, scenes against their masks, fields against their
 * covariance, and the prepared files. */
#include "image/field.h"
#include "image/image_sources.h"
#include "image/images.h"
#include "image/scenes.h"
#include "io/file.h"
#include "io/share.h"
#include "io_support.h"

TEST(sources_are_recorded)
{
    int count = 0;
    const cs_corpus_source *s = cs_images_sources(&count);
    CS_AUTO_FREE char *path = NULL, *text = NULL;
    int64_t size = 0;
    OK(cs_share_path("data/SOURCES.tsv", &path));
    OK(cs_file_read(path, 1 << 20, &text, &size));
    for (int i = 0; i < count; ++i) {
        CS_AUTO_FREE char *start = cs_format("\n%s\t", s[i].name);
        CS_AUTO_FREE char *end = cs_format("\t%s\t%s\n", s[i].licence, s[i].summary);
        const char *line = strstr(text, start);
        assert_non_null(line);
        assert_ptr_equal(strchr(line + 1, '\n') + 1, strstr(line, end) + strlen(end));
        bool are = false;
        OK(cs_images_are(s[i].name, &are));
        assert_true(are);
        assert_ptr_equal(cs_images_named(s[i].name), &s[i]);
    }
    assert_null(cs_images_named("glyph"));
    assert_fails(cs_images_prepare("glyphs-runic", false, NULL), CS_ERR_USAGE,
                 "unknown corpus 'glyphs-runic'");
}

/* Pixels of a class in a box; *edges: how many of its four sides have one. */
static int seen_in(const uint8_t *mask, cs_box b, int *edges)
{
    int seen = 0, side[4] = {0};
    for (int y = b.top; y < b.bottom; ++y) {
        for (int x = b.left; x < b.right; ++x) {
            if (mask[y * CS_SCENE_SIDE + x] == b.label + 1) {
                seen += 1;
                side[0] |= y == b.top;
                side[1] |= y == b.bottom - 1;
                side[2] |= x == b.left;
                side[3] |= x == b.right - 1;
            }
        }
    }
    *edges = side[0] + side[1] + side[2] + side[3];
    return seen;
}

TEST(scenes_have_exact_masks_and_boxes)
{
    enum { PIXELS = CS_SCENE_SIDE * CS_SCENE_SIDE };
    uint8_t pixel[2][3 * PIXELS], mask[2][PIXELS];
    cs_box box[2][CS_SCENE_SHAPES];
    int32_t label[2];
    int count[CS_SCENE_SHAPES + 1] = {0}, classes[CS_SCENE_CLASSES] = {0}, discs = 0;
    for (int64_t i = 0; i < 600; ++i) {
        const int n = cs_scene_draw(7, i, pixel[0], mask[0], box[0], &label[0]);
        assert_in_range(n, 1, CS_SCENE_SHAPES);
        count[n] += 1;
        classes[label[0]] += 1;
        /* The same again; another seed is another scene. */
        assert_int_equal(cs_scene_draw(7, i, pixel[1], mask[1], box[1], &label[1]), n);
        assert_memory_equal(pixel[0], pixel[1], sizeof pixel[0]);
        assert_memory_equal(mask[0], mask[1], PIXELS);
        (void)cs_scene_draw(8, i, pixel[1], mask[1], box[1], &label[1]);
        assert_true(memcmp(pixel[0], pixel[1], sizeof pixel[0]) != 0);
        /* Every side of a box touches its shape, what is outside all boxes is background. */
        uint8_t rest[PIXELS];
        memcpy(rest, mask[0], PIXELS);
        bool labelled = false;
        for (int b = 0; b < n; ++b) {
            int edges = 0;
            const int seen = seen_in(mask[0], box[0][b], &edges);
            const int height = box[0][b].bottom - box[0][b].top,
                      width = box[0][b].right - box[0][b].left;
            assert_int_equal(edges, 4);
            labelled |= box[0][b].label == label[0];
            if (n == 1 &&
                label[0] == 0) { /* a disc fills pi / 4 of its square, give or take its rim */
                assert_in_range(abs(height - width), 0, 1);
                assert_true(fabs(seen / (double)(height * width) - M_PI / 4) < 0.08);
                discs += 1;
            }
            for (int y = box[0][b].top; y < box[0][b].bottom; ++y) {
                memset(rest + y * CS_SCENE_SIDE + box[0][b].left, 0, (size_t)width);
            }
        }
        assert_true(labelled);
        assert_each(p, 0, PIXELS, rest[p] == 0);
    }
    assert_true(discs > 3);
    for (int n = 1; n <= CS_SCENE_SHAPES; ++n) {
        assert_true(count[n] > 30);
    }
    assert_each(c, 0, CS_SCENE_CLASSES, classes[c] > 30); /* of 75: 5 sd are 41 */
}

/* Sums of products over N samples have mean N c and variance N (1 + c^2) (Isserlis). */
TEST(fields_have_the_stated_covariance)
{
    enum { H = 4, W = 5, N = 4000 };
    static double sum[H * W][H * W];
    double x[H * W], mean[H * W] = {0};
    for (int64_t i = 0; i < N; ++i) {
        cs_field_sample(3, i, 0.7, H, W, x);
        for (int a = 0; a < H * W; ++a) {
            mean[a] += x[a];
            for (int b = 0; b < H * W; ++b) {
                sum[a][b] += x[a] * x[b];
            }
        }
    }
    for (int a = 0; a < H * W; ++a) {
        assert_true(fabs(mean[a]) < 5 * sqrt(N));
        for (int b = 0; b < H * W; ++b) {
            const double c = cs_field_covariance(0.7, W, a, b);
            assert_true(fabs(sum[a][b] - N * c) < 5 * sqrt(N * (1 + c * c)));
        }
    }
    /* Three places to the right and one down: 0.7^4. */
    assert_true(fabs(cs_field_covariance(0.7, W, 1, 9) - (0.2401)) <= 1e-15);
}

/* "field:..." is cs_field_sample in steps of 2^-12, divided by hash. */
TEST(fields_of_any_size)
{
    cs_images m = {0};
    double x[36], rho = 0;
    OK(cs_images_load("field:side=6,correlation=0.5,fields=40,seed=3", NULL, &m));
    assert_int_equal(m.count, 40);
    assert_int_equal(m.height, 6);
    assert_int_equal(m.width, 6);
    assert_int_equal(m.labels, 0);
    assert_true(cs_field_is(&m, &rho));
    assert_true(fabs(rho - 0.5) <= 0);
    int64_t held = 0;
    for (int64_t i = 0; i < m.count; ++i) {
        held += m.held_out[i];
        cs_field_sample(3, i, 0.5, 6, 6, x);
        assert_each(p, 0, 36, fabs((double)m.value[i * 36 + p] - x[p]) <= 0x1p-13 + 0x1p-22);
    }
    assert_true(held > 0 && held < 20);
    cs_images_free(&m);
    assert_fails(cs_images_load("field:side=6,sides=2", NULL, &m), CS_ERR_USAGE, "'sides=2'");
    assert_fails(cs_images_load("field:side=6,", NULL, &m), CS_ERR_USAGE, "'' is not one of side=");
    assert_fails(cs_images_load("field:side=6,seed=1,side=8", NULL, &m), CS_ERR_USAGE,
                 "side is given twice, side=8 is the second");
    assert_fails(cs_images_load("field:correlation=1", NULL, &m), CS_ERR_USAGE, "not in [0, 1)");
    assert_fails(cs_images_load("field:fields=0", NULL, &m), CS_ERR_USAGE, "fields");
}

static void use_cache(void **state)
{
    assert_int_equal(setenv("COSPEC_CACHE", in_dir(state, ""), 1), 0);
}

TEST_IN_DIR(corpora_without_packages_have_the_recorded_bytes)
{
    static const char *const name[] = {"scenes", "field"};
    use_cache(state);
    for (int k = 0; k < 2; ++k) {
        CS_AUTO_FREE char *note = NULL;
        OK(cs_images_prepare(name[k], false, &note));
        assert_non_null(strstr(note, "prepared from none, SHA-256 as recorded"));
        AUTO_OK(cs_images, m, cs_images_load(name[k], NULL, &m));
        assert_int_equal(m.count, 8000);
        assert_string_equal(m.name, name[k]);
        assert_int_equal(m.mask != NULL, k == 0);
        assert_int_equal(m.value != NULL, k == 1);
    }
}

/* Typefaces are on one side each, and every one has every character as often. */
TEST_IN_DIR(glyphs_are_held_out_by_typeface)
{
    static const char *const name[] = {"glyphs-greek", "glyphs-serif"};
    use_cache(state);
    for (int k = 0; k < 2; ++k) {
        CS_AUTO_FREE char *note = NULL;
        const cs_status status = cs_images_prepare(name[k], false, &note);
        if (status == CS_ERR_INPUT && strstr(cs_reason(), "install fonts-")) {
            skip(); /* make deps was not run */
        }
        OK(status);
        assert_non_null(strstr(note, "prepared from fonts-"));
        AUTO_OK(cs_images, m, cs_images_load(name[k], NULL, &m));
        assert_int_equal(m.labels, k == 0 ? 48 : 62);
        assert_string_equal(m.label_name[47], k == 0 ? "\xCF\x89" : "l"); /* omega */
        int64_t *seen = test_zeros(m.groups * m.labels, sizeof *seen), side[2] = {0};
        int8_t *held_out = test_zeros(m.groups, 1);
        memset(held_out, -1, (size_t)m.groups);
        for (int64_t i = 0; i < m.count; ++i) {
            const int32_t g = m.group[i];
            assert_true(held_out[g] == -1 || held_out[g] == m.held_out[i]);
            held_out[g] = (int8_t)m.held_out[i];
            seen[g * m.labels + m.label[i]] += 1;
            int64_t ink = COUNT(p, 0, 32 * 32, m.pixel[i * 1024 + p] > 127);
            assert_in_range(ink, 4, 400);
        }
        for (int64_t g = 0; g < m.groups; ++g) {
            side[held_out[g]] += 1;
            assert_each(l, 0, m.labels, seen[g * m.labels + l] == 4);
        }
        assert_true(side[0] >= 5 && side[1] >= 2);
    }
}

TEST_IN_DIR(emoji_by_group)
{
    use_cache(state);
    CS_AUTO(cs_images) m = {0};
    const cs_status status = cs_images_load("emoji", NULL, &m);
    if (status == CS_ERR_INPUT && strstr(cs_reason(), "install ")) {
        skip(); /* make deps was not run */
    }
    OK(status);
    assert_true(m.count > 1000);
    assert_int_equal(m.channels, 3);
    assert_int_equal(m.labels, 9); /* the groups of UTS 51, less its components */
    assert_string_equal(m.label_name[0], "Smileys & Emotion");
    /* The first is U+1F600, a yellow face: more red and green than blue in the middle, white corners. */
    const uint8_t *middle = m.pixel + 3 * (10 * 32 + 16);
    assert_true(middle[0] > 200 && middle[1] > 150 && middle[2] < 120);
    assert_int_equal(m.pixel[0], 255);
}
