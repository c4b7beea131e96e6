/* Codes of patches: k-means against its own conditions and a known clustering; windows. */
#include "image/codes.h"
#include "io_support.h"

/* Four groups around the corners of a square, so far apart that k-means++ begins in each: their means
 * are the centres. Two centres in one group would leave another 100^2 away. */
TEST(separate_groups_are_found)
{
    enum { N = 400, W = 2 };
    float rows[N * W];
    double mean[4][W] = {{0}}, error = 0;
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    for (int i = 0; i < N * W; ++i) {
        const int group = i / W % 4;
        rows[i] = (float)(100.0 * (group >> i % W & 1) + cs_rng_normal(&rng));
        mean[group][i % W] += (double)rows[i] * 4 / N;
    }
    error += SUM(i, 0, N * W, pow((double)rows[i] - mean[i / W % 4][i % W], 2) / (N * W));
    for (uint64_t seed = 0; seed < 5; ++seed) {
        AUTO_OK(cs_codebook, book, cs_codebook_fit(rows, N, W, 4, seed, 2, &book));
        assert_true(fabs(book.error - error) < 1e-6);
        for (int g = 0; g < 4; ++g) {
            int32_t c = -1;
            OK(cs_codebook_assign(
                &book, (float[]){100.0F * (float)(g & 1), 100.0F * (float)(g >> 1)}, 1, 1, &c));
            assert_each(v, 0, W, fabs((double)book.centre[c * W + v] - mean[g][v]) < 1e-4);
        }
    }
}

/* Of centres that are as near, and of equal ones, the first; for any number of rows. */
TEST(the_first_of_equally_near_centres)
{
    enum { MOST = 19, W = 3 };
    float centre[] = {4, 0, 0, -1, 0, 0, 1, 0, 0, 1, 0, 0}, rows[MOST * W] = {0};
    const cs_codebook book = {.codes = 4, .width = W, .centre = centre};
    for (int i = 0; i < MOST; ++i) {
        rows[i * W] = i % 2 ? 0 : 1;
    }
    for (int count = 1; count <= MOST; ++count) {
        int32_t code[MOST];
        OK(cs_codebook_assign(&book, rows, count, 2, code));
        assert_each(i, 0, count, code[i] == (i % 2 ? 1 : 2));
    }
}

/* Where it stops, every row has its nearest centre and every centre is the mean of its rows; the same
 * bits for any number of threads; more codes, less error; as many codes as rows, none. */
TEST(lloyd_stops_where_nothing_moves)
{
    enum { N = 1500, W = 3 };
    cs_rng rng = cs_rng_at(2, CS_STREAM_TEST, 0);
    ARRAY(float, rows, (N * W), i, cs_rng_uniform(&rng));
    double last = 1;
    for (int64_t k = 2; k <= 32; k *= 4) {
        cs_codebook book[2] = {{0}};
        double sum[32][W] = {{0}}, error = 0;
        int size[32] = {0};
        for (int t = 0; t < 2; ++t) {
            OK(cs_codebook_fit(rows, N, W, k, 3, 1 + 2 * t, &book[t]));
        }
        assert_memory_equal(book[0].centre, book[1].centre, sizeof(float) * (size_t)(k * W));
        int32_t code[N];
        OK(cs_codebook_assign(&book[0], rows, N, 2, code));
        for (int i = 0; i < N; ++i) {
            double d[32];
            int32_t best = 0;
            for (int c = 0; c < k; ++c) {
                d[c] = 0;
                d[c] += SUM(v, 0, W,
                            pow((double)rows[i * W + v] - (double)book[0].centre[c * W + v], 2));
                best = d[c] < d[best] ? c : best;
            }
            assert_int_equal(code[i], best);
            error += d[best] / (N * W);
            size[best] += 1;
            for (int v = 0; v < W; ++v) {
                sum[best][v] += (double)rows[i * W + v];
            }
        }
        assert_true(book[0].iterations < 100);
        assert_each(i, 0, k * W,
                    fabs((double)book[0].centre[i] - sum[i / W][i % W] / size[i / W]) < 1e-6);
        assert_true(fabs(error - book[0].error) < 1e-12 && error < last);
        last = error;
        cs_codebook_free(&book[0]);
        cs_codebook_free(&book[1]);
    }
    cs_codebook book = {0};
    OK(cs_codebook_fit(rows, 40, W, 40, 0, 1, &book));
    assert_true(book.error < 1e-12);
    cs_codebook_free(&book);
    const float same[6] = {1, 2, 1, 2, 3, 4};
    assert_fails(cs_codebook_fit(same, 3, 2, 3, 0, 1, &book), CS_ERR_INPUT,
                 "3 codes requested, but only 2 distinct patches are available");
}

/* Two pictures of 3 x 4 patches of one pixel with three values: codes name the values. */
TEST(windows_are_laid_behind_one_another)
{
    enum { H = 3, W = 4 };
    static uint8_t pixel[2 * H * W] = {0,   100, 200, 0, 100, 100, 0,   0, 200, 200, 100, 0,
                                       200, 200, 0,   0, 0,   0,   100, 0, 0,   100, 200, 0},
                                 held_out[2];
    static int32_t label[2] = {-1, -1};
    static char name[] = "n";
    const cs_images m = {.name = name,
                         .path = name,
                         .count = 2,
                         .height = H,
                         .width = W,
                         .channels = 1,
                         .pixel = pixel,
                         .label = label,
                         .held_out = held_out};
    cs_codes *codes = NULL;
    cs_corpus all = {0}, windows = {0};
    OK(cs_codes_fit(&m, 1, 3, 0, 1, &codes));
    OK(cs_codes_corpus(codes, &m, NULL, 1, &all));
    assert_int_equal(all.tokens, 2 * H * W);
    assert_int_equal(all.vocab, 3);
    assert_each(i, 0, 2 * H * W,
                fabs((double)codes->book.centre[all.token[i]] * 255 - pixel[i]) < 1e-4);
    OK(cs_codes_corpus(codes, &m, "2x3", 1, &windows));
    assert_int_equal(windows.documents, 2);
    assert_int_equal(windows.doc_ptr[1], 2 * 2 * 6);
    assert_true(all.columns == W && all.window == H * W);
    assert_true(windows.columns == 3 && windows.window == 6);
    int k = 0;
    for (int i = 0; i < 2; ++i) {
        for (int y = 0; y < 2; ++y) {
            for (int x = 0; x < 2; ++x) {
                for (int p = 0; p < 6; ++p) {
                    assert_int_equal(windows.token[k++],
                                     all.token[i * H * W + (y + p / 3) * W + x + p % 3]);
                }
            }
        }
    }
    cs_corpus_free(&all);
    cs_corpus_free(&windows);
    static const char *const bad[] = {"2", "4x1", "0x1", "2x2x", "axb", ""};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; ++b) {
        assert_fails(cs_codes_corpus(codes, &m, bad[b], 1, &all), CS_ERR_USAGE,
                     "expected RxC within 3 x 4 patches");
    }
    cs_codes_free(&codes);
    assert_fails(cs_codes_fit(&m, 2, 3, 0, 1, &codes), CS_ERR_USAGE,
                 "patch size 2 does not divide");
}
