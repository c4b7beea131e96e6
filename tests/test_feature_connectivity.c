/* analysis: similarity of pairs of features in closed form, the jackknife by its definition, which
 * rows are taken. */
#include "analysis/measures/feature_connectivity.h"
#include "io_support.h"

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static double quantile_of(const cs_feature_connectivity *c, int which)
{
    return c->value[CS_FEATURE_QUANTILES + which];
}

/* Rows e_i: no pair is alike; with self-pairs n of them are 1. */
TEST(orthonormal_rows)
{
    enum { N = 40 };
    static double x[N * N];
    for (int i = 0; i < N; ++i) {
        x[i * N + i] = 1 + i;
    }
    cs_rows rows = cs_rows_of_f64(N, N, x, "x");
    for (int self = 0; self < 2; ++self) {
        cs_feature_options o = {
            .pairs = N + 1 + 4, .cosine = true, .self = self, .blocks = 5, .threads = 2};
        AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
        assert_int_equal(c.total, self ? N * (N + 1) / 2 : N * (N - 1) / 2);
        assert_int_equal(c.pairs, N + 5);
        assert_int_equal(c.blocks, 5);
        /* K = 45: 40 ones and 5 zeros; all of the sums are of whole numbers. */
        assert_true(near(c.value[CS_FEATURE_TOP_MEAN], self ? 40.0 / 45 : 0, 1e-15));
        assert_true(c.value[CS_FEATURE_TOP_LEAST] == 0);
        assert_true(near(c.value[CS_FEATURE_MEAN], self ? 2.0 / (N + 1) : 0, 1e-12));
        assert_true(near(c.mean_share, 1.0 / N, 1e-12));
        assert_true(near(quantile_of(&c, 4), 0, 1e-30)); /* of the bin that 0 is in */
        assert_true(c.top[0] == (float)self && c.top[44] == 0);
        if (!self) { /* the same without any block */
            assert_each(m, 0, CS_FEATURE_MEASURES, c.se[m] <= 1e-12);
        }
    }
}

/* Equal rows: cosines 1, inner products |x|^2; without their mean nothing is left. */
TEST(equal_rows)
{
    enum { N = 9, D = 4 };
    double x[N * D];
    for (int i = 0; i < N * D; ++i) {
        x[i] = 2 * (i % D); /* |x|^2 = 56 */
    }
    cs_rows rows = cs_rows_of_f64(N, D, x, "x");
    cs_feature_options o = {.pairs = 10, .cosine = true, .blocks = 3};
    const double unit = (D + 4) * 0x1p-24;
    AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
    assert_true(near(c.value[CS_FEATURE_TOP_MEAN], 1, unit));
    assert_true(near(c.value[CS_FEATURE_MEAN], 1, unit) && near(c.mean_share, 1, unit));
    assert_true(quantile_of(&c, 0) <= c.value[CS_FEATURE_TOP_LEAST]); /* not beyond what is */
    assert_true(near(quantile_of(&c, 0), 1, unit + 0x1p-11));
    cs_feature_connectivity_free(&c);
    o.cosine = false;
    OK(cs_feature_connectivity_of(&rows, &o, &c));
    assert_true(c.value[CS_FEATURE_TOP_MEAN] == 56 && c.value[CS_FEATURE_TOP_LEAST] == 56);
    assert_true(near(c.value[CS_FEATURE_MEAN], 56, 1e-12) && near(c.mean_share, 1, 1e-12));
    cs_feature_connectivity_free(&c);
    o = (cs_feature_options){.pairs = 10, .cosine = true, .centred = true};
    OK(cs_feature_connectivity_of(&rows, &o, &c));
    assert_int_equal(c.zeros, N);
    assert_true(c.value[CS_FEATURE_TOP_MEAN] == 0 && isnan(c.mean_share));
    assert_true(isnan(c.se[CS_FEATURE_MEAN]) && c.blocks == 0);
}

/* Clusters of a and b rows in orthogonal directions: a (a - 1) / 2 + b (b - 1) / 2 pairs are 1. */
TEST(two_clusters)
{
    enum { A = 12, B = 20, N = A + B, ONES = A * (A - 1) / 2 + B * (B - 1) / 2 };
    double x[N * 3] = {0};
    for (int i = 0; i < N; ++i) {
        x[3 * i + (i < A ? 0 : 2)] = i + 1;
    }
    cs_rows rows = cs_rows_of_f64(N, 3, x, "x");
    const int64_t total = N * (N - 1) / 2;
    for (int more = 0; more <= 60; more += 30) {
        cs_feature_options o = {.pairs = ONES + more, .cosine = true};
        AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
        assert_int_equal(c.total, total);
        assert_true(near(c.value[CS_FEATURE_TOP_MEAN], (double)ONES / (ONES + more), 1e-15));
        assert_true(c.value[CS_FEATURE_TOP_LEAST] == (more == 0));
        assert_true(near(c.value[CS_FEATURE_MEAN], (double)ONES / (double)total, 1e-12));
        /* Zeros are 240 of 496: the lower quartile is 0, the upper 1. */
        assert_true(near(quantile_of(&c, 3), 0, 1e-30) && near(quantile_of(&c, 5), 1, 0x1p-11));
    }
    /* Unit rows of equal clusters, without their mean: +-(1, -1) / 2, cosines 1 and -1. */
    for (int i = 0; i < N; ++i) {
        x[3 * i] = i % 2;
        x[3 * i + 2] = 1 - i % 2;
    }
    cs_feature_options o = {.pairs = 1000, .cosine = true, .centred = true};
    AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
    assert_int_equal(c.pairs, total);
    /* 240 pairs within, 256 between; all pairs: both means are one. */
    assert_true(near(c.value[CS_FEATURE_TOP_MEAN], -16.0 / 496, 1e-7));
    assert_true(near(c.value[CS_FEATURE_MEAN], -16.0 / 496, 1e-7));
    assert_true(near(c.mean_share, 0, 1e-12) && near(c.value[CS_FEATURE_TOP_LEAST], -1, 1e-6));
}

/* --- the jackknife by its definition ---------------------------------------------------------- */

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Of the rows of groups other than `without` (-1: all), in double: means of the K largest and of
 * all, the K-th largest, the median. K = round(share pairs). */
static void plainly(const double *x, int64_t n, int64_t d, int without, const cs_feature_options *o,
                    double share, double value[4])
{
    double *y = test_zeros(n * d, sizeof *y), *s = test_zeros(n * n, sizeof *s);
    int64_t m = 0, pairs = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (o->group[i] != without) {
            memcpy(y + m++ * d, x + i * d, (size_t)d * sizeof *y);
        }
    }
    for (int64_t k = 0; k < d && o->centred; ++k) {
        double mean = SUM(i, 0, m, y[i * d + k] / (double)m);
        for (int64_t i = 0; i < m; ++i) {
            y[i * d + k] -= mean;
        }
    }
    double sum = 0, top = 0;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = o->self ? i : i + 1; j < m; ++j) {
            double ab = SUM(k, 0, d, y[i * d + k] * y[j * d + k]);
            double aa = SUM(k, 0, d, y[i * d + k] * y[i * d + k]);
            double bb = SUM(k, 0, d, y[j * d + k] * y[j * d + k]);
            s[pairs] = o->cosine ? ab / sqrt(aa * bb) : ab;
            sum += s[pairs++];
        }
    }
    qsort(s, (size_t)pairs, sizeof *s, falling);
    int64_t kept = (int64_t)llround(share * (double)pairs);
    top += SUM(i, 0, kept, s[i]);
    value[0] = top / (double)kept;
    value[1] = s[kept - 1];
    value[2] = sum / (double)pairs;
    value[3] = s[pairs - 1 - (int64_t)(0.5 * (double)(pairs - 1))];
}

/* Groups of 20, 20 and 40 rows under 3 blocks: each is a block, in whatever order they are dealt
 * (the middles of their rows fall into different thirds). */
TEST(jackknife_by_definition)
{
    enum { N = 80, D = 7, B = 3 };
    double x[N * D];
    int32_t group[N];
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    for (int i = 0; i < N; ++i) {
        group[i] = i % 4 < 2 ? 2 : 5 * (i % 4 - 2); /* numbers with gaps: 2, 0, 5 */
        for (int k = 0; k < D; ++k) {
            x[i * D + k] = cs_rng_normal(&rng) + 0.5 + (k == 0 ? 0.2 * group[i] : 0);
        }
    }
    cs_rows rows = cs_rows_of_f64(N, D, x, "x");
    for (int form = 0; form < 8; ++form) {
        cs_feature_options o = {.pairs = 500,
                                .cosine = form & 1,
                                .self = form & 2,
                                .centred = form & 4,
                                .group = group,
                                .blocks = B};
        const int measure[4] = {CS_FEATURE_TOP_MEAN, CS_FEATURE_TOP_LEAST, CS_FEATURE_MEAN,
                                CS_FEATURE_QUANTILES + 4};
        const int without[B] = {2, 0, 5};
        AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
        assert_int_equal(c.blocks, B);
        double whole[4], left[B][4], largest = 1;
        const double share = 500.0 / (double)c.total;
        plainly(x, N, D, -1, &o, share, whole);
        for (int b = 0; b < B; ++b) {
            plainly(x, N, D, without[b], &o, share, left[b]);
        }
        for (int i = 0; i < N && !o.cosine; ++i) {
            double square = SUM(k, 0, D, x[i * D + k] * x[i * D + k]);
            largest = fmax(largest, 4 * square); /* less a mean: at most twice the norm */
        }
        for (int m = 0; m < 4; ++m) {
            /* Rounding of an inner product (linalg/top_pairs.h; of the rows to float, of their
             * norms: 4 more); a bin of quantiles. The error of se: 2 e sqrt(B - 1). */
            double e = (D + 5) * 0x1p-24 * largest;
            e += m == 3 ? 0x1p-11 * fmax(fabs(whole[m]), fabs(c.value[measure[m]])) * 1.5 : 0;
            double mean = (left[0][m] + left[1][m] + left[2][m]) / B, square = 0;
            for (int b = 0; b < B; ++b) {
                square += (left[b][m] - mean) * (left[b][m] - mean);
                e = m == 3 ? fmax(e, 0x1p-11 * 1.5 * fabs(left[b][m])) : e;
            }
            assert_true(near(c.value[measure[m]], whole[m], e));
            assert_true(
                near(c.se[measure[m]], sqrt((B - 1.0) / B * square), 2 * e * sqrt(B - 1.0)));
        }
    }
}

/* A quantity of one row alone: K = all pairs with 2 rows left has no spread; where a block leaves
 * no pair there is no standard error. */
TEST(too_few_rows_for_errors)
{
    const double x[] = {1, 0, 1, 1};
    cs_rows rows = cs_rows_of_f64(2, 2, x, "x");
    cs_feature_options o = {.pairs = 5, .cosine = true, .blocks = 10};
    AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
    assert_int_equal(c.blocks, 2);
    assert_true(near(c.value[CS_FEATURE_TOP_MEAN], sqrt(0.5), 1e-6));
    assert_true(isnan(c.se[CS_FEATURE_TOP_MEAN]) && isnan(c.se[CS_FEATURE_MEAN]));
}

/* --- which rows ------------------------------------------------------------------------------- */

enum { MANY = 24, FEW = 6 };

/* Row i is (i + 1) e_i: inner products with themselves show which rows were taken. */
/* Returns a number that differs between sets. */
static uint64_t taken(uint64_t seed, const int32_t *group, int64_t want, int hits[MANY])
{
    static double x[MANY * MANY];
    for (int i = 0; i < MANY; ++i) {
        x[i * MANY + i] = i + 1;
    }
    cs_rows rows = cs_rows_of_f64(MANY, MANY, x, "x");
    cs_feature_options o = {
        .features = want, .pairs = want, .self = true, .group = group, .seed = seed, .threads = 1};
    AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
    const int64_t n = c.rows;
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        int row = (int)lround(sqrt((double)c.top[i])) - 1;
        assert_true(row >= 0 && (i == 0 || c.top[i] < c.top[i - 1]));
        assert_true(!group || group[row] >= 0);
        hits[row] += 1;
        sum = sum * MANY + (uint64_t)row;
    }
    assert_int_equal(n, want < MANY ? want : MANY);
    return sum;
}

TEST(rows_are_drawn_by_seed)
{
    enum { SEEDS = 200 };
    int hits[MANY] = {0}, ignored[MANY] = {0}, repeats = 0;
    uint64_t last = UINT64_MAX;
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        uint64_t set = taken(seed, NULL, FEW, hits);
        if (seed < 10) {
            assert_true(set == taken(seed, NULL, FEW, ignored));
        }
        repeats += set == last;
        last = set;
    }
    assert_int_equal(repeats, 0);
    /* Each with chance 1/4: 50 of 200, standard deviation 6.1; six of them. */
    assert_each(i, 0, MANY, hits[i] > 50 - 37 && hits[i] < 50 + 37);
    ARRAY(int32_t, group, MANY, i, i % 3 == 0 ? -1 : i);
    for (uint64_t seed = 0; seed < 20; ++seed) {
        (void)taken(seed, group, FEW, ignored); /* asserts that none is left out */
    }
    (void)taken(1, NULL, MANY, ignored); /* all of them */
}

TEST(same_bits_for_any_threads)
{
    enum { N = 300, D = 20 };
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 0);
    ARRAY(float, x, (N * D), i, cs_rng_normal(&rng));
    cs_rows rows = cs_rows_of_f32(N, D, x, "x");
    CS_AUTO(cs_feature_connectivity) first = {0};
    for (int threads = 1; threads <= 3; ++threads) {
        cs_feature_options o = {.features = 250,
                                .pairs = 777,
                                .cosine = true,
                                .centred = true,
                                .blocks = 4,
                                .seed = 9,
                                .threads = threads};
        AUTO_OK(cs_feature_connectivity, c, cs_feature_connectivity_of(&rows, &o, &c));
        if (threads == 1) {
            first = c;
            c = (cs_feature_connectivity){0};
            continue;
        }
        assert_memory_equal(c.value, first.value, sizeof c.value);
        assert_memory_equal(c.se, first.se, sizeof c.se);
        assert_memory_equal(c.top, first.top, (size_t)c.pairs * sizeof *c.top);
    }
    for (int m = 0; m < CS_FEATURE_MEASURES; ++m) { /* each is named and defined */
        cs_feature_options o = {.cosine = true, .centred = true};
        CS_AUTO_FREE char *text = cs_feature_definition(m, &o, &first);
        assert_non_null(text);
        assert_non_null(strstr(text, "cosines of pairs i < j of 250 rows less their mean"));
        assert_true(strlen(cs_feature_name(m)) > 0);
    }
}

TEST(bad_input_is_named)
{
    double x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    int32_t group[4] = {7, 7, 7, -1};
    cs_rows rows = cs_rows_of_f64(4, 3, x, "f.npy");
    cs_feature_connectivity c = {0};
    cs_feature_options o = {.pairs = 0};
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_USAGE,
                 "the number of pairs, 0, must be positive");
    o = (cs_feature_options){.pairs = 1, .features = -3};
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_USAGE, "number of features, -3");
    o = (cs_feature_options){.pairs = 1, .blocks = 1};
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_USAGE, "1 jackknife block:");
    o = (cs_feature_options){.pairs = 1, .blocks = 2, .group = group};
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_INPUT,
                 "f.npy: one block of the jackknife would contain all 3 rows");
    o = (cs_feature_options){.pairs = 1, .features = 1};
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_INPUT, "f.npy: 1 row: no pairs");
    memset(group, -1, sizeof group);
    o = (cs_feature_options){.pairs = 1, .self = true, .group = group};
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_INPUT,
                 "f.npy: 0 rows: no pairs");
    o = (cs_feature_options){.pairs = 1, .blocks = 2};
    x[7] = NAN;
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_INPUT,
                 "f.npy: row 2, column 1: value nan is not finite");
    x[7] = -INFINITY;
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_INPUT, "value -inf");
    x[7] = 1e25;
    assert_fails(cs_feature_connectivity_of(&rows, &o, &c), CS_ERR_INPUT,
                 "f.npy: row 2: its squares exceed");
}

static cs_status some_features(const char *path)
{
    (void)path;
    double x[60];
    int32_t group[20];
    for (int i = 0; i < 60; ++i) {
        x[i] = i * 7 % 23;
        group[i / 3] = i / 6;
    }
    cs_rows rows = cs_rows_of_f64(20, 3, x, "x");
    cs_feature_options o = {.features = 15,
                            .pairs = 12,
                            .cosine = true,
                            .centred = true,
                            .group = group,
                            .blocks = 3,
                            .threads = 1};
    CS_AUTO(cs_feature_connectivity) c = {0};
    CS_AUTO_FREE char *text = NULL;
    cs_status status = cs_feature_connectivity_of(&rows, &o, &c);
    if (status == CS_OK) {
        text = cs_feature_definition(0, &o, &c);
        status = text ? CS_OK : CS_ERR_MEMORY;
    }
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(some_features, "");
}
