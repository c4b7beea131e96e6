/* Patches as rows of real vectors, their orders, and pictures of patches. */
#include "image/patches.h"
#include "io_support.h"

TEST(hilbert_order_of_4_by_4)
{
    /* Hilbert's second curve, by hand, from the first corner along the first row. */
    static const int32_t wanted[16] = {0, 1, 5, 4, 8, 12, 13, 9, 10, 14, 15, 11, 7, 6, 2, 3};
    int32_t order[16];
    OK(cs_patch_order_make(CS_ORDER_HILBERT, 4, 4, 0, 0, order));
    assert_memory_equal(order, wanted, sizeof wanted);
}

TEST(orders_are_permutations)
{
    static const char *const name[] = {"raster",    "random",    "hilbert",
                                       "squares:1", "squares:2", "squares:99"};
    static const int size[][2] = {{1, 1}, {8, 8}, {7, 7}, {3, 10}, {14, 14}};
    for (size_t n = 0; n < sizeof name / sizeof *name; ++n) {
        for (size_t s = 0; s < sizeof size / sizeof *size; ++s) {
            const int rows = size[s][0], columns = size[s][1];
            CS_AUTO_FREE int32_t *order = NULL;
            uint8_t seen[196] = {0};
            OK(cs_patch_order_named(name[n], rows, columns, 4, &order));
            for (int k = 0; k < rows * columns; ++k) {
                assert_in_range(order[k], 0, rows * columns - 1);
                assert_int_equal(seen[order[k]]++, 0);
                if (n == 2 && rows == columns && rows == 8 && k > 0) { /* steps to a neighbour */
                    assert_int_equal(abs(order[k] / 8 - order[k - 1] / 8) +
                                         abs(order[k] % 8 - order[k - 1] % 8),
                                     1);
                }
            }
        }
    }
    int32_t squares[12];
    OK(cs_patch_order_make(CS_ORDER_SQUARES, 3, 4, 2, 0, squares));
    assert_memory_equal(squares, ((int32_t[]){0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 10, 11}),
                        sizeof squares);
    int32_t *order = NULL;
    assert_fails(cs_patch_order_named("spiral", 3, 4, 0, &order), CS_ERR_USAGE,
                 "order \"spiral\" is not");
    assert_fails(cs_patch_order_named("squares:0", 3, 4, 0, &order), CS_ERR_USAGE,
                 "expected squares:S");
    assert_fails(cs_patch_order_named("squares:2x", 3, 4, 0, &order), CS_ERR_USAGE,
                 "expected squares:S");
    assert_fails(cs_patch_order_named("raster", 0, 4, 0, &order), CS_ERR_USAGE, "0 x 4");
}

static void assert_file(const char *path, const char *text, int64_t columns, const char *want)
{
    char name[64];
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
    assert_fails(cs_patch_order_file(path, 2, columns, sizeof name, name), CS_ERR_INPUT, want);
}

/* A file becomes a list, which is a name of the order. */
TEST_IN_DIR(orders_of_files)
{
    const char *path = in_dir(state, "o.txt");
    char name[64];
    int32_t *order = NULL, *by_seed = NULL;
    assert_file(path, "2 0\n3,1\n", 3, "o.txt: an order of 4 patches, but pictures have 6");
    OK(cs_patch_order_file(path, 2, 2, sizeof name, name));
    assert_string_equal(name, "2,0,3,1");
    OK(cs_patch_order_named(name, 2, 2, 0, &order));
    assert_memory_equal(order, ((int32_t[]){2, 0, 3, 1}), sizeof(int32_t[4]));
    cs_free(order);
    assert_fails(cs_patch_order_file(path, 2, 2, 7, name), CS_ERR_INPUT, "about a thousand");
    assert_file(path, "2 0\n\n2 1\n", 2, "o.txt: line 3: patch 2 is listed twice, first at 1");
    assert_file(path, "2\n0 4 1\n", 2, "o.txt: line 2: patch 4 is not in 0..3");
    assert_file(path, "2 0 3x 1", 2, "o.txt: line 1: '3x' is not a patch");
    assert_fails(cs_patch_order_named("2,0,2,1", 2, 2, 0, &order), CS_ERR_INPUT,
                 "order: place 3: patch 2 is listed twice, first at 1");
    assert_fails(cs_patch_order_named("0,1,2", 2, 2, 0, &order), CS_ERR_INPUT,
                 "order: an order of 3 patches, but pictures have 4");
    OK(cs_patch_order_named("random", 4, 4, 9, &order));
    OK(cs_patch_order_named("random:9", 4, 4, 0, &by_seed));
    assert_memory_equal(order, by_seed, sizeof(int32_t[16]));
    cs_free(order);
    cs_free(by_seed);
    assert_fails(cs_patch_order_named("random:x", 4, 4, 0, &order), CS_ERR_USAGE,
                 "expected random:SEED");
}

TEST(patches_are_documents_of_real_vectors)
{
    enum { N = 2, H = 4, W = 6, C = 3, P = 2, T = 6, WIDE = P * P * C };
    static uint8_t held_out[N] = {0, 1};
    static int32_t label[N] = {1, -1}, code[N * T] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static char name[] = "n", dark[] = "dark", light[] = "light";
    char *label_name[2] = {dark, light};
    ARRAY(uint8_t, pixel, (N * H * W * C), i, i);
    const cs_images m = {.name = name,
                         .path = name,
                         .count = N,
                         .height = H,
                         .width = W,
                         .channels = C,
                         .pixel = pixel,
                         .label = label,
                         .labels = 2,
                         .label_name = label_name,
                         .held_out = held_out};
    const int32_t order[T] = {5, 3, 1, 0, 2, 4};
    for (int ordered = 0; ordered < 2; ++ordered) {
        AUTO_OK(cs_corpus, c,
                cs_images_patches(&m, P, ordered ? order : NULL, ordered ? code : NULL, 12, &c));
        assert_int_equal(c.documents, N);
        assert_int_equal(c.tokens, N * T);
        assert_int_equal(c.real_width, WIDE);
        assert_int_equal(c.vocab, ordered ? 12 : 1);
        assert_int_equal(c.label[0], 1);
        assert_int_equal(c.held_out[1], 1);
        assert_string_equal(c.label_name[0], "dark");
        for (int i = 0; i < N; ++i) {
            assert_int_equal(c.doc_ptr[i + 1], (i + 1) * T);
            for (int k = 0; k < T; ++k) {
                const int t = ordered ? order[k] : k, top = t / 3 * P, left = t % 3 * P;
                assert_int_equal(c.token[i * T + k], ordered ? i * T + t : 0);
                for (int v = 0; v < WIDE; ++v) {
                    const int y = top + v / C / P, x = left + v / C % P;
                    const double wanted = pixel[((i * H + y) * W + x) * C + v % C] / 255.0;
                    assert_true(fabs((double)c.real[(i * T + k) * WIDE + v] - (wanted)) <= 1e-7);
                }
            }
            float picture[H * W * C];
            cs_patches_join(c.real + i * T * WIDE, H, W, C, P, ordered ? order : NULL, picture);
            assert_each(v, 0, H * W * C,
                        fabs((double)picture[v] - (pixel[i * H * W * C + v] / 255.0)) <= 1e-7);
        }
    }
    cs_corpus c = {0};
    assert_fails(cs_images_patches(&m, 4, NULL, NULL, 0, &c), CS_ERR_USAGE,
                 "patch size 4 does not divide pictures of 4 x 6");
}
