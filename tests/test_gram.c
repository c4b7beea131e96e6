/* linalg: Gram blocks of streamed rows against sums in long double, within the stated bound. */
#include "io/npy.h"
#include "io/npz.h"
#include "io_support.h"
#include "linalg/gram.h"
#include "linalg/tile_private.h"

/* n x d normal floats with column offsets. */
static float *normal_rows(int64_t n, int64_t d, float offset, uint64_t index)
{
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, index);
    ARRAY(float, x, (n * d), i, (float)cs_rng_normal(&rng) + offset * (float)(i % d % 3));
    return x;
}

typedef struct {
    const float *x;
    int64_t n, d;
    const int32_t *group;
    int32_t wanted; /* group, -2: all but -1 */
    bool normalise;
    const double *mean;
} sums;

/* sum x_i x_j and sum |x_i| |x_j| by the definition. */
static long double entry(const sums *s, int64_t i, int64_t j, long double *absolute)
{
    long double sum = 0, mass = 0;
    for (int64_t k = 0; k < s->n; ++k) {
        if (s->group && (s->wanted == -2 ? s->group[k] < 0 : s->group[k] != s->wanted)) {
            continue;
        }
        const float *x = s->x + k * s->d;
        long double square = 0;
        for (int64_t l = 0; s->normalise && l < s->d; ++l) {
            square += (long double)x[l] * x[l];
        }
        long double norm = s->normalise && square > 0 ? sqrtl(square) : 1;
        long double a = x[i] / norm - (s->mean ? s->mean[i] : 0);
        long double b = x[j] / norm - (s->mean ? s->mean[j] : 0);
        sum += a * b;
        mass += fabsl(a * b);
    }
    *absolute = mass;
    return sum;
}

/* A few columns against all. */
static void assert_gram(const cs_dense *g, const sums *s, double gamma, double slack)
{
    for (int64_t i = 0; i < s->d; i += 1 + s->d / 5) {
        for (int64_t j = 0; j < s->d; ++j) {
            long double mass, want = entry(s, i, j, &mass);
            double error = fabs((double)((long double)g->data[i + j * g->ld] - want));
            if (!(error <= gamma * (double)mass + slack)) {
                fail_msg("(%d, %d): %.17g, not %.17Lg: error %g above %g", (int)i, (int)j,
                         g->data[i + j * g->ld], want, error, gamma * (double)mass);
            }
            assert_true(g->data[i + j * g->ld] == g->data[j + i * g->ld]);
        }
    }
}

TEST(kernels_agree_with_the_definition)
{
    const cs_tile_kernels *const all[] = CS_SIMD_TABLES(cs_tile_kernels);
    int count = cs_simd_sets();
    enum { STEPS = 77, COLS = 13 };
    float *a = normal_rows(STEPS, CS_TILE, 0, 1), *b = normal_rows(STEPS, CS_TILE, 0, 2);
    for (int v = 0; v < count; ++v) {
        float tile[CS_TILE * CS_TILE], panel[STEPS * CS_TILE], sum[CS_TILE] = {0};
        float square[STEPS * CS_TILE_LANES] = {0};
        double wide[CS_TILE * CS_TILE];
        for (int i = 0; i < CS_TILE * CS_TILE; ++i) {
            wide[i] = tile[i] = 1.0F;
        }
        ARRAY(double, ad, (STEPS * CS_TILE), i, a[i]);
        ARRAY(double, bd, (STEPS * CS_TILE), i, b[i]);
        all[v]->product[0](STEPS, a, b, tile);
        all[v]->product[1](STEPS, ad, bd, wide);
        for (int i = 0; i < CS_TILE; ++i) {
            for (int j = 0; j < CS_TILE; ++j) {
                long double want = 1, mass = 1;
                want += SUM(k, 0, STEPS, ad[k * CS_TILE + i] * bd[k * CS_TILE + j]);
                mass += SUM(k, 0, STEPS, fabs(ad[k * CS_TILE + i] * bd[k * CS_TILE + j]));
                assert_true(fabsl(tile[i * CS_TILE + j] - want) <= (STEPS + 2) * 0x1p-24L * mass);
                assert_true(fabsl(wide[i * CS_TILE + j] - want) <= (STEPS + 2) * 0x1p-52L * mass);
            }
        }
        all[v]->pack[0](STEPS, COLS, a, CS_TILE, panel, sum, square);
        for (int k = 0; k < STEPS; ++k) {
            assert_each(i, 0, CS_TILE,
                        panel[k * CS_TILE + i] == (i < COLS ? a[k * CS_TILE + i] : 0.0F));
            double want =
                SUM(i, 0, CS_TILE, i < COLS ? ad[k * CS_TILE + i] * ad[k * CS_TILE + i] : 0);
            double total = SUM(l, 0, CS_TILE_LANES, (double)square[k * CS_TILE_LANES + l]);
            assert_true(fabs(total - want) <= 4 * FLT_EPSILON * want);
        }
        double to[CS_TILE * (CS_TILE + 3)] = {0};
        all[v]->widen(tile, to, CS_TILE + 3);
        all[v]->widen(tile, to, CS_TILE + 3);
        for (int i = 0; i < CS_TILE; ++i) {
            assert_each(j, 0, CS_TILE,
                        to[i * (CS_TILE + 3) + j] == 2.0 * (double)tile[i * CS_TILE + j]);
        }
    }
}

TEST(keys_keep_the_order_of_floats)
{
    const float x[] = {-INFINITY, -3, -1e-40F, -0.0F, 0, 1e-40F, 1, 1.5F, INFINITY};
    assert_each(i, 0, 9, cs_tile_value(cs_tile_key(x[i])) == x[i]);
    assert_each(i, 0, 9, i == 0 || cs_tile_key(x[i - 1]) < cs_tile_key(x[i]));
}

/* Sizes around those of panels, blocks, runs and slabs. */
TEST(error_is_within_its_bound)
{
    static const int64_t size[][2] = {{1, 1},   {3, 40},   {255, 33},  {257, 130},
                                      {513, 5}, {600, 64}, {4500, 17}, {300, 545}};
    for (int c = 0; c < 8; ++c) {
        int64_t n = size[c][0], d = size[c][1], rows;
        float *x = normal_rows(n, d, 0.5F, (uint64_t)c);
        for (int wide = 0; wide < 2; ++wide) {
            cs_gram_options options = {.wide = wide, .threads = 2};
            cs_rows source = cs_rows_of_f32(n, d, x, "x");
            sums s = {.x = x, .n = n, .d = d};
            AUTO_OK(cs_gram, g, cs_gram_init(d, 1, &options, &g));
            OK(cs_gram_add(&g, &source, NULL, &options));
            AUTO_OK(cs_dense, total, cs_gram_total(&g, NULL, false, &total, &rows));
            assert_int_equal(rows, n);
            assert_gram(&total, &s, cs_gram_gamma(&g, false), 0);
        }
    }
}

/* Whole numbers: every product and sum is exact. */
static void assert_exact(int64_t n, int64_t d)
{
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 77);
    ARRAY(float, x, (n * d), i, (float)(cs_rng_below(&rng, 5)) - 2.0F);
    cs_gram_options options = {.threads = 2};
    cs_rows source = cs_rows_of_f32(n, d, x, "x");
    AUTO_OK(cs_gram, g, cs_gram_init(d, 1, &options, &g));
    OK(cs_gram_add(&g, &source, NULL, &options));
    assert_true(g.slabs == (n + 4095) / 4096);
    for (int64_t i = 0; i < d; i += 17) {
        for (int64_t j = i; j < d; j += 13) {
            double want = SUM(k, 0, n, (double)x[k * d + i] * (double)x[k * d + j]);
            assert_true(g.block[i * d + j] == want);
        }
    }
}

/* Beyond two chunks of one slab, and a chunk of several. */
TEST(chunks_and_slabs_follow_each_other)
{
    assert_exact(9001, 545);
    assert_exact(13001, 40);
}

/* Rows made to round one way: the bound holds, and half of it would not. Ones and then squares
 * of a little less than half a unit of the sum: in a run, among runs, among slabs. */
TEST(bound_is_met_by_the_worst)
{
    enum { RUN = 128, SLAB = 32 * RUN };
    for (int wide = 0; wide < 2; ++wide) {
        const int64_t n = wide ? 400 * SLAB : SLAB;
        const double unit = wide ? 0x1p-53 : 0x1p-24;
        double *x = test_zeros(n, sizeof *x);
        long double want = 0;
        for (int64_t k = 0; k < n; ++k) {
            bool lost = wide ? k % SLAB == 0 : k < RUN || k % RUN == 0;
            x[k] = k == 0 ? 1 : lost ? (double)(float)sqrt(0.98 * unit) : 0;
            want += (long double)x[k] * x[k];
        }
        cs_gram_options options = {.wide = wide, .threads = 2};
        cs_rows source = cs_rows_of_f64(n, 1, x, "x");
        AUTO_OK(cs_gram, g, cs_gram_init(1, 1, &options, &g));
        OK(cs_gram_add(&g, &source, NULL, &options));
        const double error = fabs((double)((long double)g.block[0] - want));
        assert_true(error <= cs_gram_gamma(&g, false) * (double)want);
        assert_true(error > cs_gram_gamma(&g, false) * (double)want / 2);
    }
}

/* The same bits for any number of threads, and whether rows are taken in place or copied. */
TEST(bits_do_not_depend_on_threads)
{
    const int64_t n = 5000, d = 150;
    float *x = normal_rows(n, d, 0.1F, 9);
    int32_t *all = test_zeros(n, sizeof *all);
    cs_rows source = cs_rows_of_f32(n, d, x, "x");
    CS_AUTO(cs_gram) first = {0};
    for (int form = 0; form < 6; ++form) {
        cs_gram_options options = {.threads = 1 + form % 3};
        cs_gram g = {0};
        OK(cs_gram_init(d, 1, &options, &g));
        OK(cs_gram_add(&g, &source, form < 3 ? NULL : all, &options));
        if (form == 0) {
            first = g;
        } else {
            assert_memory_equal(g.block, first.block, (size_t)(d * d) * sizeof *g.block);
            assert_memory_equal(g.sum, first.sum, (size_t)d * sizeof *g.sum);
            cs_gram_free(&g);
        }
    }
}

TEST(groups_are_apart_and_add_up)
{
    const int64_t n = 700, d = 37;
    float *x = normal_rows(n, d, 2.0F, 4);
    CS_AUTO_FREE int32_t *group = cs_alloc(n, sizeof *group);
    for (int64_t k = 0; k < n; ++k) {
        group[k] = (int32_t)((k / 3 * 7) % 4) - 1; /* -1: left out */
    }
    cs_gram_options options = {.threads = 2};
    cs_rows source = cs_rows_of_f32(n, d, x, "x");
    int64_t rows;
    AUTO_OK(cs_gram, g, cs_gram_init(d, 3, &options, &g));
    OK(cs_gram_add(&g, &source, group, &options));
    for (int32_t k = -1; k < 3; ++k) {
        CS_AUTO(cs_dense) total = {0}; /* a group, or all */
        sums s = {.x = x, .n = n, .d = d, .group = group, .wanted = k < 0 ? -2 : k};
        const cs_gram_range others[2] = {{0, k}, {k + 1, 3}};
        OK(cs_gram_total(&g, k < 0 ? NULL : others, false, &total, &rows));
        assert_gram(&total, &s, cs_gram_gamma(&g, false), 0);
    }
    /* All but group 1, by leaving it out. */
    int64_t kept, counts[2] = {g.rows[0], g.rows[2]};
    AUTO_OK(cs_dense, without,
            cs_gram_total(&g, (cs_gram_range[2]){{1, 2}}, false, &without, &kept));
    assert_int_equal(kept, counts[0] + counts[1]);
    for (int64_t k = 0; k < n; ++k) {
        group[k] = group[k] == 1 ? -1 : group[k];
    }
    sums s = {.x = x, .n = n, .d = d, .group = group, .wanted = -2};
    assert_gram(&without, &s, cs_gram_gamma(&g, false), 0);
    group[5] = 3;
    assert_fails(cs_gram_add(&g, &source, group, &options), CS_ERR_INPUT,
                 "row 5 has group 3, but there are 3");
}

/* Doubles are shifted before they are rounded to floats. */
TEST(doubles_are_shifted_as_doubles)
{
    enum { ROWS = 5000, COLS = 3 };
    double *x = test_zeros(ROWS * COLS, sizeof *x), mean[COLS] = {0}, square = 0;
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 78);
    for (int64_t i = 0; i < ROWS * COLS; ++i) {
        x[i] = 1000 + 1e-3 * cs_rng_normal(&rng);
        mean[i % COLS] += x[i] / ROWS;
    }
    cs_gram_options options = {.shift = true, .threads = 2};
    cs_rows source = cs_rows_of_f64(ROWS, COLS, x, "x");
    int64_t rows;
    AUTO_OK(cs_gram, g, cs_gram_init(COLS, 1, &options, &g));
    OK(cs_gram_add(&g, &source, NULL, &options));
    AUTO_OK(cs_dense, total, cs_gram_total(&g, NULL, true, &total, &rows));
    square += SUM(k, 0, ROWS, (x[k * COLS] - mean[0]) * (x[k * COLS] - mean[0]));
    assert_true(fabs(total.data[0] - square) <= cs_gram_floor(&g, NULL, true));
}

/* A mean a thousand times the deviation: with the shift, centring costs no digits. */
TEST(centring_does_not_cancel)
{
    const int64_t n = 900, d = 20;
    float *x = normal_rows(n, d, 1000.0F, 5);
    double mean[20] = {0};
    for (int64_t i = 0; i < n * d; ++i) {
        mean[i % d] += (double)x[i] / (double)n;
    }
    cs_gram_options options = {.shift = true, .threads = 1};
    cs_rows source = cs_rows_of_f32(n, d, x, "x");
    int64_t rows;
    AUTO_OK(cs_gram, g, cs_gram_init(d, 4, &options, &g));
    OK(cs_gram_add(&g, &source, NULL, &options));
    AUTO_OK(cs_dense, total, cs_gram_total(&g, NULL, true, &total, &rows));
    sums s = {.x = x, .n = n, .d = d, .mean = mean};
    /* A shifted row is rounded to 2^-24 of 2000, near 1: n roundings of 2^-24 at most. */
    assert_gram(&total, &s, 2 * cs_gram_gamma(&g, false), (double)n * 2000.0 * 0x1p-23 * 1e-2);
    cs_dense_free(&total);
    /* Uncentred, the shift is put back. */
    OK(cs_gram_total(&g, NULL, false, &total, &rows));
    s.mean = NULL;
    assert_gram(&total, &s, cs_gram_gamma(&g, false), 0);
}

TEST(rows_can_be_normalised)
{
    const int64_t n = 300, d = 40;
    float *x = normal_rows(n, d, 0, 6);
    for (int64_t j = 0; j < d; ++j) {
        x[7 * d + j] = 0;
        x[11 * d + j] *= 1e12F;
    }
    cs_gram_options options = {.normalise = true, .threads = 2};
    cs_rows source = cs_rows_of_f32(n, d, x, "x");
    int64_t rows;
    AUTO_OK(cs_gram, g, cs_gram_init(d, 1, &options, &g));
    OK(cs_gram_add(&g, &source, NULL, &options));
    AUTO_OK(cs_dense, total, cs_gram_total(&g, NULL, false, &total, &rows));
    sums s = {.x = x, .n = n, .d = d, .normalise = true};
    assert_gram(&total, &s, cs_gram_gamma(&g, false), 0);
    double trace = SUM(j, 0, d, total.data[j + j * d]);
    assert_true(fabs(trace - (double)(n - 1)) <= cs_gram_gamma(&g, false) * (double)n);
    assert_int_equal(g.zeros, 1);
    assert_int_equal(g.heaviest, 11);
}

TEST_IN_DIR(shards_merge_and_are_stored)
{
    const int64_t n = 500, d = 35;
    const char *path = in_dir(state, "gram.npz");
    float *x = normal_rows(n, d, 1.0F, 7);
    x[450 * d] = 100.0F;
    for (int shift = 0; shift < 2; ++shift) {
        cs_gram_options options = {.shift = shift, .threads = 2};
        cs_gram g[3] = {{0}};
        int64_t rows;
        cs_rows part[2] = {cs_rows_of_f32(200, d, x, "a"),
                           cs_rows_of_f32(n - 200, d, x + 200 * d, "b")};
        for (int i = 0; i < 2; ++i) {
            OK(cs_gram_init(d, 2, &options, &g[i]));
            OK(cs_gram_add(&g[i], &part[i], NULL, &options));
        }
        OK(cs_gram_write(&g[0], path));
        OK(cs_gram_read(path, &g[2]));
        assert_memory_equal(g[2].block, g[0].block, (size_t)(2 * d * d) * sizeof *g[0].block);
        OK(cs_gram_merge(&g[2], &g[1]));
        AUTO_OK(cs_dense, total, cs_gram_total(&g[2], NULL, false, &total, &rows));
        assert_int_equal(rows, n);
        assert_int_equal(g[2].heaviest, 450);
        sums s = {.x = x, .n = n, .d = d};
        assert_gram(&total, &s, 2 * cs_gram_gamma(&g[2], false), 0);
        /* Going on with a stored object gives the bits of one that was not stored. */
        OK(cs_gram_add(&g[0], &part[1], NULL, &options));
        cs_gram_free(&g[2]);
        OK(cs_gram_read(path, &g[2]));
        OK(cs_gram_add(&g[2], &part[1], NULL, &options));
        assert_memory_equal(g[2].block, g[0].block, (size_t)(2 * d * d) * sizeof *g[0].block);
        assert_true(g[2].square == g[0].square && g[2].seen == g[0].seen);
        for (int i = 0; i < 3; ++i) {
            cs_gram_free(&g[i]);
        }
    }
}

TEST_IN_DIR(stored_blocks_are_checked)
{
    const char *path = in_dir(state, "gram.npz");
    cs_npz_writer *w = NULL;
    cs_gram g = {0};
    const double sum[6] = {0};
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add(w, "sum", CS_F64, 2, (int64_t[]){2, 3}, sum));
    OK(cs_npz_commit(&w));
    assert_fails(cs_gram_read(path, &g), CS_ERR_INPUT, "no member 'counts.npy'");
    OK(cs_npy_write(path, CS_F64, 1, (int64_t[]){6}, sum));
    assert_fails(cs_gram_read(path, &g), CS_ERR_INPUT, "not an NPZ");
}

TEST(bad_values_are_named)
{
    const int64_t n = 600, d = 33;
    float *x = normal_rows(n, d, 0, 8);
    cs_gram_options options = {.threads = 2};
    cs_rows source = cs_rows_of_f32(n, d, x, "states.npy");
    for (int c = 0; c < 3; ++c) {
        x[513 * d + 32] = c == 0 ? NAN : c == 1 ? -INFINITY : 1e30F;
        x[540 * d + 1] = NAN; /* the first is named, whatever the threads */
        AUTO_OK(cs_gram, g, cs_gram_init(d, 1, &options, &g));
        assert_fails(cs_gram_add(&g, &source, NULL, &options), CS_ERR_INPUT,
                     c == 0   ? "states.npy: row 513, column 32: value nan is not finite"
                     : c == 1 ? "row 513, column 32: value -inf"
                              : "row 513: its squares exceed the range of single");
    }
    x[540 * d + 1] = 0;
    x[513 * d + 32] = 3e17F; /* its square is a float, that of 4,096 such rows is none */
    AUTO_OK(cs_gram, sum, cs_gram_init(d, 1, &options, &sum));
    assert_fails(cs_gram_add(&sum, &source, NULL, &options), CS_ERR_INPUT,
                 "row 513: its squares exceed the range of single");
    cs_gram_free(&sum);
    for (int64_t j = 0; j < d; ++j) {
        x[513 * d + j] = j == 3 ? 1e-25F : 0;
        x[514 * d + j] = 0;
    }
    OK(cs_gram_init(d, 1, &options, &sum));
    OK(cs_gram_add(&sum, &source, NULL, &options));
    assert_int_equal(sum.zeros, 1);
    assert_int_equal(sum.vanished, 1);
    x[513 * d + 32] = 1e30F;
    options.wide = true;
    cs_gram g = {0};
    OK(cs_gram_init(d, 1, &options, &g));
    OK(cs_gram_add(&g, &source, NULL, &options)); /* 1e30 squared is a double */
    cs_rows narrow = cs_rows_of_f32(n, d - 1, x, "b.npy");
    assert_fails(cs_gram_add(&g, &narrow, NULL, &options), CS_ERR_INPUT,
                 "b.npy: has 32 columns, not 33");
    cs_gram_free(&g);
    assert_fails(cs_gram_init(0, 1, &options, &g), CS_ERR_USAGE, "0 columns");
    assert_fails(cs_gram_init(INT32_MAX, 8, &options, &g), CS_ERR_MEMORY, "2147483647 columns");
}

enum { N = 70, D = 6 };

static cs_status whole_way(const char *path)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) r = {0};
    CS_AUTO(cs_gram) g = {0};
    CS_AUTO(cs_dense) total = {0};
    int64_t n;
    int32_t group[N] = {0};
    cs_gram_options options = {.threads = 1, .shift = true};
    cs_status status = cs_rows_open(path, &r);
    if (status == CS_OK && (status = cs_gram_init(D, 2, &options, &g)) == CS_OK &&
        (status = cs_gram_add(&g, &r, group, &options)) == CS_OK) {
        status = cs_gram_total(&g, NULL, true, &total, &n);
    }
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    ARRAY(double, y, (N * D), i, i % 23 - 7);
    OK(cs_npy_write(in_dir(state, "d.npy"), CS_F64, 2, (int64_t[]){N, D}, y));
    fail_each_allocation(whole_way, in_dir(state, "d.npy"));
}
