/* linalg: the largest inner products against all of them, sorted. */
#include <stdlib.h>

#include "io_support.h"
#include "linalg/top_pairs.h"

static float *normal_rows(int64_t n, int64_t d, uint64_t index)
{
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, index);
    ARRAY(float, x, (n * d), i, cs_rng_normal(&rng));
    return x;
}

/* Small integers: all products are exact in float, and many tie. */
static float *whole_rows(int64_t n, int64_t d, uint64_t index)
{
    float *x = normal_rows(n, d, index);
    for (int64_t i = 0; i < n * d; ++i) {
        x[i] = roundf(x[i]);
    }
    return x;
}

static int in_order(const void *pa, const void *pb)
{
    const cs_pair *a = pa, *b = pb;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->i != b->i ? (a->i > b->i) - (a->i < b->i) : (a->j > b->j) - (a->j < b->j);
}

/* All pairs by the definition, sorted; NULL norms: inner products as they are. */
static cs_pair *all_pairs(const float *x, int64_t n, int64_t d, bool cosine, bool self,
                          int64_t *count)
{
    cs_pair *p = test_zeros(n * n, sizeof *p);
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = self ? i : i + 1; j < n; ++j) {
            double s = 0, a = 0, b = 0;
            for (int64_t k = 0; k < d; ++k) {
                s += (double)x[i * d + k] * (double)x[j * d + k];
                a += (double)x[i * d + k] * (double)x[i * d + k];
                b += (double)x[j * d + k] * (double)x[j * d + k];
            }
            s = cosine ? a > 0 && b > 0 ? s / sqrt(a * b) : 0 : s;
            p[at++] = (cs_pair){(float)s, (int32_t)i, (int32_t)j};
        }
    }
    qsort(p, (size_t)at, sizeof *p, in_order);
    *count = at;
    return p;
}

/* Exact products: the very pairs, ties included, for every K, size and number of threads. */
TEST(ties_are_in_order)
{
    static const int64_t size[][2] = {{1, 3}, {2, 1}, {31, 4}, {32, 7}, {130, 5}, {300, 3}};
    for (int c = 0; c < 6; ++c) {
        int64_t n = size[c][0], d = size[c][1];
        float *x = whole_rows(n, d, (uint64_t)c);
        cs_rows rows = cs_rows_of_f32(n, d, x, "x");
        for (int form = 0; form < 12; ++form) {
            bool self = form & 1;
            int64_t total, want[3] = {0, 17, 1000000};
            cs_pair *all = all_pairs(x, n, d, false, self, &total);
            cs_top_pairs_options options = {
                .count = want[form / 2 % 3], .self = self, .threads = 1 + form / 6};
            AUTO_OK(cs_top_pairs, top, cs_top_pairs_of(&rows, &options, &top));
            assert_int_equal(top.total, total);
            assert_int_equal(top.count, options.count < total ? options.count : total);
            assert_each(i, 0, top.count, in_order(&top.pair[i], &all[i]) == 0);
        }
    }
}

/* More pairs than the store holds, so that it is cut and bounds rise: n (n - 1) / 2 = 405,450 in a
 * store of 17,000. */
TEST(bounds_lose_nothing)
{
    const int64_t n = 901, d = 6;
    float *x = whole_rows(n, d, 7);
    cs_rows rows = cs_rows_of_f32(n, d, x, "x");
    int64_t total;
    cs_pair *all = all_pairs(x, n, d, false, false, &total);
    for (int threads = 1; threads <= 3; ++threads) {
        cs_top_pairs_options options = {.count = 700, .threads = threads};
        AUTO_OK(cs_top_pairs, top, cs_top_pairs_of(&rows, &options, &top));
        assert_each(i, 0, top.count, in_order(&top.pair[i], &all[i]) == 0);
    }
}

/* Values so close that all have their first bits in common: what a cut keeps is selected. */
TEST(close_values_are_selected)
{
    const int64_t n = 901;
    for (uint64_t seed = 0; seed < 3; ++seed) {
        cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 100 + seed);
        ARRAY(float, x, n, i, 1 + (float)cs_rng_below(&rng, 1024) * 0x1p-23F);
        cs_rows rows = cs_rows_of_f32(n, 1, x, "x");
        int64_t total;
        cs_pair *all = all_pairs(x, n, 1, false, false, &total);
        for (int64_t wanted = 1; wanted < 20000; wanted = 5 * wanted + 2) {
            cs_top_pairs_options options = {.count = wanted, .threads = 1 + (int)(wanted % 2)};
            AUTO_OK(cs_top_pairs, top, cs_top_pairs_of(&rows, &options, &top));
            assert_int_equal(top.count, wanted);
            assert_each(i, 0, top.count, in_order(&top.pair[i], &all[i]) == 0);
        }
    }
}

/* Three values alone, so that every bound ties with pairs that are wanted; rows of five steps. */
TEST(ties_at_a_bound_are_kept)
{
    enum { ROWS = 1100, COLS = 600 };
    ARRAY(float, x, (ROWS * COLS), i, i / COLS % 7 == 0 ? 2 : 1);
    cs_rows rows = cs_rows_of_f32(ROWS, COLS, x, "x");
    for (int64_t wanted = 1; wanted < 40000; wanted = 3 * wanted + 1) {
        cs_top_pairs_options options = {.count = wanted, .threads = 1 + (int)(wanted % 3)};
        int64_t at = 0;
        AUTO_OK(cs_top_pairs, top, cs_top_pairs_of(&rows, &options, &top));
        assert_int_equal(top.count, wanted);
        for (int value = 4; value >= 1; value /= 2) {
            for (int32_t i = 0; i < ROWS && at < wanted; ++i) {
                for (int32_t j = i + 1; j < ROWS && at < wanted; ++j) {
                    if ((i % 7 == 0 ? 2 : 1) * (j % 7 == 0 ? 2 : 1) == value) {
                        cs_pair want = {(float)(value * COLS), i, j};
                        assert_int_equal(in_order(&top.pair[at++], &want), 0);
                    }
                }
            }
        }
    }
}

/* Cosines: values within the bound, mean and quantiles of all pairs. */
TEST(cosines_mean_and_quantiles)
{
    const int64_t n = 260, d = 300;
    float *x = normal_rows(n, d, 11);
    for (int64_t k = 0; k < d; ++k) {
        x[5 * d + k] = 0;
        x[9 * d + k] = 1e15F * x[8 * d + k]; /* the same direction: the largest cosine, 1 */
    }
    cs_rows rows = cs_rows_of_f32(n, d, x, "x");
    const double quantile[] = {0, 0.001, 0.25, 0.5, 0.75, 0.999, 1};
    for (int self = 0; self < 2; ++self) {
        int64_t total;
        cs_pair *all = all_pairs(x, n, d, true, self, &total);
        cs_top_pairs_options options = {
            .count = 500, .cosine = true, .self = self, .quantiles = 7, .quantile = quantile};
        AUTO_OK(cs_top_pairs, top, cs_top_pairs_of(&rows, &options, &top));
        const double bound = (double)(d + 4) * 0x1p-24;
        double mean = SUM(i, 0, total, (double)all[i].value / (double)total);
        for (int64_t i = 0; i < top.count; ++i) { /* sorted lists differ by no more than entries */
            assert_true(fabs((double)top.pair[i].value - (double)all[i].value) <= bound);
        }
        if (!self) {
            assert_int_equal(top.pair[0].i, 8);
            assert_int_equal(top.pair[0].j, 9);
        }
        assert_true(fabs(top.mean - mean) <= 1e-7);
        assert_int_equal(top.zeros, 1);
        for (int q = 0; q < 7; ++q) {
            double want =
                (double)all[total - 1 - (int64_t)(quantile[q] * (double)(total - 1))].value;
            assert_true(fabs(top.quantile[q] - want) <= fabs(want) * 0x1p-11 + bound);
        }
    }
}

/* All pairs in one bin, floats that share their upper 20 bits: quantiles go from its one end to the
 * other, by their rank. */
TEST(quantiles_within_a_bin)
{
    enum { ROWS = 30, TOTAL = ROWS * (ROWS - 1) / 2 };
    static const double wanted[] = {0, 0.25, 0.5, 1};
    float x[2 * ROWS];
    for (int sign = -1; sign < 2; sign += 2) {
        for (int i = 0; i < ROWS;
             ++i) { /* inner products 1 - 0, or 0 - 1 in pairs of unlike rows */
            x[2 * i] = 1;
            x[2 * i + 1] = 0;
        }
        cs_rows rows = cs_rows_of_f32(ROWS, 2, x, "x");
        const cs_top_pairs_options o = {.count = 3, .quantiles = 4, .quantile = wanted};
        if (sign < 0) { /* one pair, of product -1 */
            x[2] = -1;
            rows.rows = 2;
        }
        AUTO_OK(cs_top_pairs, t, cs_top_pairs_of(&rows, &o, &t));
        const double end = sign * (1 + 4095 * 0x1p-23);
        for (int q = 0; q < 4; ++q) {
            const double rank = floor(wanted[q] * (TOTAL - 1));
            const double want = sign > 0 ? 1 + rank / (TOTAL - 1) * (end - 1) : 0.5 * (end - 1);
            assert_true(fabs(t.quantile[q] - want) < 1e-15);
        }
        assert_int_equal(t.count, sign > 0 ? 3 : 1);
        assert_true(t.pair[0].value == (float)sign);
    }
}

TEST(same_bits_for_any_threads)
{
    const int64_t n = 700, d = 70;
    float *x = normal_rows(n, d, 13);
    cs_rows rows = cs_rows_of_f32(n, d, x, "x");
    const double half = 0.5;
    CS_AUTO(cs_top_pairs) first = {0};
    for (int threads = 1; threads <= 4; ++threads) {
        cs_top_pairs_options options = {
            .count = 3000, .quantiles = 1, .quantile = &half, .threads = threads};
        AUTO_OK(cs_top_pairs, top, cs_top_pairs_of(&rows, &options, &top));
        if (threads == 1) {
            first = top;
            top = (cs_top_pairs){0};
            continue;
        }
        assert_memory_equal(top.pair, first.pair, (size_t)top.count * sizeof *top.pair);
        assert_true(top.mean == first.mean && top.quantile[0] == first.quantile[0]);
    }
}

TEST(bad_input_is_named)
{
    float *x = normal_rows(50, 8, 17);
    cs_rows rows = cs_rows_of_f32(50, 8, x, "states.npy");
    const double outside = 1.5;
    cs_top_pairs_options options = {.count = -1, .threads = 2};
    cs_top_pairs top = {0};
    assert_fails(cs_top_pairs_of(&rows, &options, &top), CS_ERR_USAGE, "number of pairs, -1");
    options = (cs_top_pairs_options){.quantiles = 1, .quantile = &outside};
    assert_fails(cs_top_pairs_of(&rows, &options, &top), CS_ERR_USAGE, "quantile 1.5");
    options = (cs_top_pairs_options){.count = 3};
    x[40 * 8 + 3] = NAN;
    assert_fails(cs_top_pairs_of(&rows, &options, &top), CS_ERR_INPUT,
                 "states.npy: row 40, column 3: value nan");
    x[40 * 8 + 3] = 1e30F;
    assert_fails(cs_top_pairs_of(&rows, &options, &top), CS_ERR_INPUT, "row 40: its squares");
    rows.rows = 3000000000;
    assert_fails(cs_top_pairs_of(&rows, &options, &top), CS_ERR_INPUT, "3000000000 rows");
}

static cs_status some_pairs(const char *path)
{
    (void)path;
    float x[40 * 3];
    for (int i = 0; i < 120; ++i) {
        x[i] = (float)(i * 7 % 11);
    }
    cs_rows rows = cs_rows_of_f32(40, 3, x, "x");
    cs_top_pairs_options options = {.count = 10, .threads = 1};
    CS_AUTO(cs_top_pairs) top = {0};
    cs_status status = cs_top_pairs_of(&rows, &options, &top);
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(some_pairs, "");
}
