/* analysis: effective ranks against closed forms, the numbers of docs/explanation/effective-rank.md, and the jackknife
 * by its definition. */
#include "analysis/measures/dimension.h"
#include "analysis/measures/effective_rank.h"
#include "io_support.h"
#include "linalg/tridiagonal.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

static const cs_rank_options plain = {.tau = 0.9, .eps = -1.0};

static float *normal_rows(int64_t n, int64_t d, double power, uint64_t index)
{
    cs_rng rng = cs_rng_at(13, CS_STREAM_TEST, index);
    ARRAY(float, x, (n * d), i, cs_rng_normal(&rng) * pow((double)(i % d + 1), -power / 2));
    return x;
}

static cs_gram blocks_of(const float *x, int64_t n, int64_t d, int64_t blocks,
                         const cs_gram_options *options)
{
    cs_gram g = {0};
    cs_rows rows = cs_rows_of_f32(n, d, x, "x");
    OK(cs_gram_init(d, blocks, options, &g));
    OK(cs_gram_add(&g, &rows, NULL, options));
    return g;
}

/* k equal values: every rank is k; rank_tau is tau k, rounded up and not. */
TEST(flat_spectra)
{
    double lambda[40] = {0}, v[CS_RANK_MEASURES];
    for (int k = 1; k <= 40; ++k) {
        lambda[k - 1] = 1e-9;
        cs_rank_measures(40, lambda, 1e-6, &plain, v);
        double n = k;
        assert_true(fabs(v[CS_RANK_ENTROPY] - n) <= 1e-12 * n);
        assert_true(fabs(v[CS_RANK_ENTROPY_SQUARED] - n) <= 1e-12 * n);
        assert_true(fabs(v[CS_RANK_PARTICIPATION] - n) <= 1e-12 * n);
        assert_true(fabs(v[CS_RANK_STABLE] - n) <= 1e-12 * n);
        assert_true(v[CS_RANK_NUMERICAL] == n);
        assert_true(fabs(v[CS_RANK_TAU_INTERPOLATED] - 0.9 * n) <= 1e-9);
        assert_true(v[CS_RANK_TAU] >= 0.9 * n - 1e-9 && v[CS_RANK_TAU] < 0.9 * n + 1);
        /* p_k = 1/k + eps for k terms and eps for the rest. */
        double p = 1 / n + 1e-7, want = exp(-n * p * log(p) - (40 - n) * 1e-7 * log(1e-7));
        assert_true(fabs(v[CS_RANK_RANKME] - want) <= 1e-11 * want);
    }
}

/* lambda_k = 1/k for d = 768: harmonic sums. */
TEST(harmonic_spectrum)
{
    enum { D = 768 };
    double lambda[D], v[CS_RANK_MEASURES], h = 0, squares = 0, root = 0;
    for (int k = 1; k <= D; ++k) {
        lambda[k - 1] = 1.0 / k;
        h += 1.0 / k;
        squares += 1.0 / k / k;
        root += 1 / sqrt(k);
    }
    double e1 = 0, e2 = 0, sum = 0;
    int rank = 0;
    for (int k = 1; k <= D; ++k) {
        e1 += 1 / sqrt(k) / root * (log(root) + 0.5 * log(k));
        e2 += 1.0 / k / h * (log(h) + log(k));
        sum += 1.0 / k;
        rank += sum < 0.9 * h;
    }
    cs_rank_measures(D, lambda, 1e-6, &plain, v);
    assert_true(v[CS_RANK_TAU] == rank + 1);
    assert_true(fabs(v[CS_RANK_ENTROPY] - exp(e1)) < 1e-9);
    assert_true(fabs(v[CS_RANK_ENTROPY_SQUARED] - exp(e2)) < 1e-9);
    assert_true(fabs(v[CS_RANK_PARTICIPATION] - h * h / squares) < 1e-10);
    assert_true(fabs(v[CS_RANK_STABLE] - h) < 1e-11);
    assert_true(fabs(v[CS_RANK_DECAY] - 1) < 1e-11);
}

TEST(spectra_at_the_edge)
{
    double v[CS_RANK_MEASURES];
    const double none[3] = {0}, one[1] = {2.5}, huge[2] = {1e300, 1e300};
    cs_rank_measures(3, none, 1e-6, &plain, v);
    assert_true(v[CS_RANK_TAU] == 0 && v[CS_RANK_ENTROPY] == 0 && isnan(v[CS_RANK_DECAY]));
    cs_rank_measures(1, one, 1e-6, &plain, v);
    assert_true(v[CS_RANK_TAU] == 1 && fabs(v[CS_RANK_TAU_INTERPOLATED] - 0.9) < 1e-15);
    cs_rank_measures(2, huge, 1e-6, &plain, v);
    assert_true(fabs(v[CS_RANK_PARTICIPATION] - 2) < 1e-14);
    cs_rank_options all = plain;
    all.tau = 1;
    cs_rank_measures(2, huge, 1e-6, &all, v);
    assert_true(v[CS_RANK_TAU] == 2);
}

/* The numbers of docs/explanation/effective-rank.md for 20000 x 768 with lambda_k = 1/k: sampling
 * leaves about the jackknife's error; five such errors are allowed. */
TEST(the_numbers_of_the_theory)
{
    enum { N = 20000, D = 768 };
    float *x = normal_rows(N, D, 1.0, 1);
    for (int wide = 0; wide < 2; ++wide) {
        const cs_gram_options options = {.wide = wide};
        CS_AUTO(cs_gram) g = blocks_of(x, N, D, 1, &options);
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &plain, &r));
        assert_true(fabs(r.value[CS_RANK_TAU] - 363) <= 3);
        assert_true(fabs(r.value[CS_RANK_ENTROPY] - 604.4) <= 1.5);
        assert_true(fabs(r.value[CS_RANK_ENTROPY_SQUARED] - 150.2) <= 4);
        assert_true(fabs(r.value[CS_RANK_PARTICIPATION] - 31.5) <= 1.5);
        assert_true(fabs(r.value[CS_RANK_STABLE] - 7.2) <= 0.3);
        assert_true(r.value[CS_RANK_NUMERICAL] == D && r.below == 0);
    }
}

/* Rank 3 in 50 columns: what is left of the others is rounding, and counts as 0. */
TEST(rounding_has_no_rank)
{
    enum { N = 400, D = 50, R = 3 };
    float *a = normal_rows(N, R, 0, 2), *b = normal_rows(R, D, 0, 3);
    double *y = test_zeros((int64_t)N * D, sizeof *y);
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < D; ++j) {
            for (int k = 0; k < R; ++k) {
                y[i * D + j] += (double)a[i * R + k] * (double)b[k * D + j];
            }
        }
    }
    for (int wide = 0; wide < 2; ++wide) {
        const cs_gram_options options = {.wide = wide, .threads = 1};
        cs_rows rows = cs_rows_of_f64(N, D, y, "y");
        AUTO_OK(cs_gram, g, cs_gram_init(D, 1, &options, &g));
        OK(cs_gram_add(&g, &rows, NULL, &options));
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &plain, &r));
        assert_true(r.value[CS_RANK_NUMERICAL] == R && r.value[CS_RANK_ENTROPY] <= R + 1e-9);
        assert_int_equal(r.below, D - R);
    }
}

TEST(fewer_rows_than_columns)
{
    enum { N = 12, D = 60 };
    float *x = normal_rows(N, D, 0, 4);
    const cs_gram_options options = {.wide = true, .threads = 1, .shift = true};
    CS_AUTO(cs_gram) g = blocks_of(x, N, D, 3, &options);
    cs_rank_options o = plain;
    o.jackknife = true;
    AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
    assert_int_equal(r.count, N);
    assert_true(r.value[CS_RANK_NUMERICAL] == N);
    cs_effective_rank_free(&r);
    o.centred = true; /* the mean takes one dimension */
    OK(cs_effective_rank_of(&g, &o, &r));
    assert_true(r.value[CS_RANK_NUMERICAL] == N - 1);
    assert_true(r.se[CS_RANK_STABLE] > 0 && isnan(r.se[CS_RANK_NUMERICAL]));
}

/* Leaving out block b by building the matrix without its rows. */
TEST(jackknife_by_its_definition)
{
    enum { N = 300, D = 20, B = 6 };
    float *x = normal_rows(N, D, 1.5, 5);
    const cs_gram_options options = {.wide = true, .threads = 2};
    cs_rank_options o = plain;
    o.jackknife = true;
    o.every_block = true;
    o.decay_first = 2;
    CS_AUTO(cs_gram) g = blocks_of(x, N, D, B, &options);
    cs_effective_rank r = {0}, part = {0};
    OK(cs_effective_rank_of(&g, &o, &r));
    double theta[B][CS_RANK_MEASURES];
    for (int b = 0; b < B; ++b) {
        ARRAY(int32_t, group, N, k, k / (N / B) == b ? -1 : 0);
        cs_rows rows = cs_rows_of_f32(N, D, x, "x");
        AUTO_OK(cs_gram, one, cs_gram_init(D, 1, &options, &one));
        OK(cs_gram_add(&one, &rows, group, &options));
        OK(cs_effective_rank_of(&one, &o, &part));
        memcpy(theta[b], part.value, sizeof theta[b]);
        assert_true(isnan(part.se[CS_RANK_STABLE]));
        cs_effective_rank_free(&part);
    }
    for (int m = 0; m < CS_RANK_OF_SPECTRUM; ++m) {
        int from = m == CS_RANK_TAU ? CS_RANK_TAU_INTERPOLATED : m;
        double mean = SUM(b, 0, B, theta[b][from] / B);
        double sum = SUM(b, 0, B, (theta[b][from] - mean) * (theta[b][from] - mean));
        if (m != CS_RANK_NUMERICAL) {
            assert_true(fabs(r.se[m] - sqrt(sum * (B - 1) / B)) <= 1e-9);
        }
    }
    /* The curve: the first rows alone. */
    assert_int_equal(r.points, B);
    assert_int_equal(r.point[B - 1].rows, N);
    for (int b = 1; b < B; ++b) {
        CS_AUTO(cs_gram) first = blocks_of(x, N / B * b, D, 1, &options);
        OK(cs_effective_rank_of(&first, &o, &part));
        assert_int_equal(r.point[b - 1].rows, N / B * b);
        assert_true(fabs(r.point[b - 1].value[CS_RANK_ENTROPY] - part.value[CS_RANK_ENTROPY]) <
                    1e-9);
        cs_effective_rank_free(&part);
    }
    cs_effective_rank_free(&r);
}

/* One row of norm 1e4 among 2000, or an offset, rules the spectrum, and is seen. */
TEST(outliers_are_seen)
{
    enum { N = 2000, D = 32 };
    float *x = normal_rows(N, D, 0, 6);
    for (int form = 0; form < 4; ++form) {
        const cs_gram_options options = {.normalise = form == 1, .shift = form == 3, .threads = 1};
        cs_rank_options o = plain;
        o.centred = form == 3;
        for (int j = 0; j < D; ++j) {
            x[77 * D + j] *= form == 0 ? 1e3F : form == 2 ? 1e-3F : 1;
        }
        for (int64_t i = 0; i < (int64_t)N * D && form == 2; ++i) {
            x[i] += 10;
        }
        CS_AUTO(cs_gram) g = blocks_of(x, N, D, 1, &options);
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
        bool one = form == 0 || form == 2; /* taken out by --row-norm, by --center */
        assert_true((r.first_share > 0.5) == one);
        assert_true(one ? r.value[CS_RANK_TAU] == 1 : r.value[CS_RANK_TAU] > 25);
        if (form == 0) {
            assert_int_equal(r.heaviest, 77);
            assert_true(r.heaviest_share > 0.99);
        }
    }
}

TEST(definitions_say_what_was_done)
{
    float x[12] = {1, 2, 3, 4, 0, 1, 5, 2, 2, 7, 1, 0};
    const cs_gram_options options = {.wide = true, .normalise = true, .shift = true, .threads = 1};
    cs_rank_options o = {.tau = 0.95, .eps = 1e-5, .centred = true, .tolerance = 0.25};
    CS_AUTO(cs_gram) g = blocks_of(x, 4, 3, 1, &options);
    cs_effective_rank r = {0};
    OK(cs_effective_rank_of(&g, &o, &r));
    static const char *const part[CS_RANK_MEASURES] = {
        ">= 0.95 sum",    "linear between",          "p = sigma /", "p = sigma^2 /",
        "eps = 1e-05",    "/ sum sigma^4",           "/ sigma_1^2", "> 0.25 sigma_1",
        "from k = 11 on", "B theta - (B - 1) mean_b"};
    for (int m = 0; m < CS_RANK_MEASURES; ++m) {
        CS_AUTO_FREE char *text =
            cs_rank_definition((cs_rank_measure)m, &o, &g, &r, &r.point[r.points - 1]);
        assert_non_null(strstr(text, part[m]));
        assert_non_null(strstr(text, "centred, rows divided by their norms, 4 rows"));
    }
    cs_effective_rank_free(&r);
    o.tau = 0;
    assert_fails(cs_effective_rank_of(&g, &o, &r), CS_ERR_USAGE, "tau 0 is not in (0, 1]");
    o.tau = 0.9;
    o.tolerance = 1;
    assert_fails(cs_effective_rank_of(&g, &o, &r), CS_ERR_USAGE, "tolerance 1");
    cs_gram_free(&g);
    g = blocks_of(x, 1, 3, 1, &options);
    o.tolerance = 0;
    assert_fails(cs_effective_rank_of(&g, &o, &r), CS_ERR_INPUT,
                 "1 row: too few for an effective rank");
}

/* Rows whose spectra are hard for what a replicate is made by: clusters, a rank of 5, blocks of a row or
 * two, one direction or one block that dominates, fewer rows than columns. */
enum { HARD = 6 };

static float *hard_rows(int form, int64_t n, int64_t d)
{
    float *x = normal_rows(n, d, form == 3 ? 1 : 0, 40 + (uint64_t)form);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < d; ++j) {
            float *at = &x[i * d + j];
            if (form == 0) *at = (float)(j % 3 + 1) * (*at + (j == i % d ? 50.0F : 0));
            if (form == 1 && j >= 5) *at = x[i * d + j % 5] * (float)(1 + j % 2);
            if (form == 3) *at += 1e3F;
            if (form == 4 && i < n / 10) *at *= 1e7F;
        }
    }
    return x;
}

/* Taken away from the sum over all or added up, an eigenvalue stays within the floor of those that are
 * left: for every block and every pair of blocks, by the full eigenproblem of what is added up. A
 * difference of what a block dominates would not be. */
TEST(what_is_taken_away_keeps_the_floor)
{
    enum { D = 70, B = 10 };
    for (int form = 0; form < HARD; ++form) {
        const int64_t n = form == 2 ? 15 : form == 5 ? 40 : 900;
        const bool centred = form == 3;
        float *x = hard_rows(form, n, D);
        CS_AUTO(cs_gram) g =
            blocks_of(x, n, D, B, &(cs_gram_options){.wide = true, .shift = centred});
        AUTO_OK(cs_gram_all, all, cs_gram_all_of(&g, &all));
        for (int i = 0; i < B; ++i) {
            for (int j = 0; j <= i; ++j) {
                const cs_gram_range without[2] = {{i, i + 1}, {j, j + 1}};
                const double floor = cs_gram_floor(&g, without, centred);
                double got[D], want[D];
                int64_t rows = 0, same = 0;
                AUTO_OK(cs_dense, away, cs_gram_without(&g, &all, without, centred, &away, &rows));
                AUTO_OK(cs_dense, added, cs_gram_total(&g, without, centred, &added, &same));
                assert_true(rows == same &&
                            floor == cs_gram_floor_without(&g, &all, without, centred));
                OK(cs_symmetric_values(&away, got));
                OK(cs_dense_eigh(&added, want, true));
                assert_each(k, 0, D, fabs(got[k] - want[k]) <= floor);
            }
        }
    }
}

/* Every measure without each block, against the full eigenproblem of the others' sum: to 1e-9, and to what
 * a shift by the floor makes of it where a direction dominates. */
TEST(replicates_by_full_eigenproblems)
{
    enum { D = 70, B = 10 };
    cs_rank_options o = plain;
    o.jackknife = true;
    o.tolerance = 1e-5;
    for (int form = 0; form < HARD; ++form) {
        const int64_t n = form == 2 ? 15 : form == 5 ? 40 : 900;
        float *x = hard_rows(form, n, D);
        CS_AUTO(cs_gram) g = blocks_of(x, n, D, B, &(cs_gram_options){.wide = true});
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
        for (int b = 0; b < B; ++b) {
            const cs_gram_range without[2] = {{b, b + 1}};
            double ascending[D], lambda[D], raised[D], want[CS_RANK_MEASURES],
                far[CS_RANK_MEASURES];
            int64_t rows = 0;
            AUTO_OK(cs_dense, sum, cs_gram_total(&g, without, false, &sum, &rows));
            OK(cs_dense_eigh(&sum, ascending, true));
            const int64_t count = rows < D ? rows : D;
            for (int64_t k = 0; k < count; ++k) {
                const double value = ascending[D - 1 - k];
                const double floor = cs_gram_floor(&g, without, false);
                lambda[k] = value > floor ? value : 0;
                raised[k] = value > floor ? value + floor : 0;
            }
            cs_rank_measures(count, lambda, o.tolerance, &o, want);
            cs_rank_measures(count, raised, o.tolerance, &o, far);
            for (int m = 0; m < CS_RANK_OF_SPECTRUM; ++m) {
                const double got = r.left_out[b * CS_RANK_MEASURES + m];
                const double margin = 1e-9 * fmax(1, fabs(want[m])) + fabs(far[m] - want[m]);
                assert_true(isnan(want[m]) ? isnan(got) : fabs(got - want[m]) <= margin);
            }
        }
    }
}

/* Single precision: every eigenvalue of a replicate within a few units of the Frobenius norm, far below the
 * floor, and standard errors as by full eigenproblems in double. */
TEST(replicates_in_single_precision)
{
    enum { D = 70, B = 10 };
    cs_rank_options o = plain;
    o.jackknife = true;
    for (int form = 0; form < HARD; ++form) {
        const int64_t n = form == 2 ? 15 : form == 5 ? 40 : 900;
        float *x = hard_rows(form, n, D);
        CS_AUTO(cs_gram) g = blocks_of(x, n, D, B, &(cs_gram_options){0});
        double theta[B];
        for (int b = 0; b < B; ++b) {
            const cs_gram_range without[2] = {{b, b + 1}};
            double got[D], want[D], lambda[D], v[CS_RANK_MEASURES];
            int64_t rows = 0;
            AUTO_OK(cs_dense, sum, cs_gram_total(&g, without, false, &sum, &rows));
            OK(cs_symmetric_values_single(&sum, got));
            const double unit = 0x1p-24 * sqrt(cs_dense_squares(&sum));
            OK(cs_dense_eigh(&sum, want, true));
            assert_each(k, 0, D, fabs(got[k] - want[k]) <= 8 * unit);
            const double floor = cs_gram_floor(&g, without, false);
            const int64_t count = rows < D ? rows : D;
            for (int64_t k = 0; k < count; ++k) {
                lambda[k] = want[D - 1 - k] > floor ? want[D - 1 - k] : 0;
            }
            cs_rank_measures(count, lambda, 1e-3, &o, v);
            theta[b] = v[CS_RANK_TAU_INTERPOLATED];
        }
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
        const double se = cs_jackknife_error(B, theta, 1);
        assert_true(fabs(r.se[CS_RANK_TAU] - se) <= 1e-4 * se + 1e-6);
    }
}

/* Bits do not depend on the number of threads. */
TEST(threads_do_not_bear_on_the_errors)
{
    enum { N = 600, D = 130, B = 12 };
    float *x = normal_rows(N, D, 1, 50);
    CS_AUTO(cs_gram) g = blocks_of(x, N, D, B, &(cs_gram_options){.wide = true});
    cs_rank_options o = plain;
    o.jackknife = true;
    CS_AUTO(cs_effective_rank) first = {0};
    for (int threads = 1; threads <= 4; ++threads) {
        o.threads = threads;
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, threads == 1 ? &first : &r));
        if (threads > 1) {
            assert_memory_equal(first.left_out, r.left_out, B * CS_RANK_MEASURES * sizeof(double));
            assert_memory_equal(first.part_out, r.part_out, (size_t)r.parts * sizeof(double));
            assert_memory_equal(first.se, r.se, sizeof r.se);
            assert_memory_equal(first.lambda, r.lambda, D * sizeof(double));
        }
    }
}

static cs_status whole(const char *path)
{
    (void)path;
    ARRAY(float, x, 60, i, i * 7 % 11);
    const cs_gram_options options = {.threads = 1};
    cs_rank_options o = plain;
    o.jackknife = true;
    o.threads = 1;
    cs_rows rows = cs_rows_of_f32(20, 3, x, "x");
    CS_AUTO(cs_gram) g = {0};
    CS_AUTO(cs_effective_rank) r = {0};
    cs_status status = cs_gram_init(3, 4, &options, &g);
    if (status == CS_OK && (status = cs_gram_add(&g, &rows, NULL, &options)) == CS_OK) {
        status = cs_effective_rank_of(&g, &o, &r);
    }
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(whole, "");
}

/* The interpolated rank_tau of the rows that are in neither part. */
static double rank_without(const float *x, int64_t n, int64_t d, const int *part, int i, int j)
{
    const cs_gram_options wide = {.wide = true};
    ARRAY(int32_t, group, n, k, part[k] == i || part[k] == j ? -1 : 0);
    cs_rows rows = cs_rows_of_f32(n, d, x, "x");
    AUTO_OK(cs_gram, g, cs_gram_init(d, 1, &wide, &g));
    OK(cs_gram_add(&g, &rows, group, &wide));
    AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &plain, &r));
    const double rank = r.value[CS_RANK_TAU_INTERPOLATED];
    assert_true(r.parts == 0 && isnan(r.value[CS_RANK_TAU_CORRECTED]));
    return rank;
}

/* The part of each row: blocks of equal numbers of rows in `parts` parts of consecutive blocks. */
static void part_of_rows(int64_t n, int blocks, int parts, int *part)
{
    for (int64_t k = 0; k < n; ++k) {
        const int block = (int)(k / (n / blocks));
        part[k] = 0;
        while ((part[k] + 1) * blocks / parts <= block) {
            ++part[k];
        }
    }
}

/* Parts i and j are a pair: any two of few parts, or neighbours on a circle. */
static bool paired(int parts, int i, int j)
{
    return parts <= 5 || abs(i - j) == 1 || abs(i - j) == parts - 1;
}

/* The replicates, the remaining bias and the error from matrices built without the rows of each part and
 * of each pair. For up to 5 parts the mean over pairs is that over all of them. */
static void check_corrected(int blocks, int parts)
{
    enum { D = 20, MOST = 12 };
    const int64_t n = 20 * blocks;
    float *x = normal_rows(n, D, 1, 3);
    int *part = test_zeros(n, sizeof *part);
    part_of_rows(n, blocks, parts, part);
    cs_rank_options o = plain;
    o.jackknife = true;
    CS_AUTO(cs_gram) g = blocks_of(x, n, D, blocks, &(cs_gram_options){.wide = true});
    AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
    assert_int_equal(r.parts, parts);
    double one[MOST], two[MOST], c[MOST], change[MOST * MOST], all = 0;
    const double whole = rank_without(x, n, D, part, -1, -1), p = parts;
    int pairs = 0;
    for (int i = 0; i < parts; ++i) {
        one[i] = rank_without(x, n, D, part, i, i);
    }
    const double mean_one = SUM(i, 0, parts, one[i] / p);
    for (int i = 0; i < parts; ++i) {
        double near = 0;
        int others = 0;
        for (int j = 0; j < parts; ++j) {
            if (j != i && paired(parts, i, j)) {
                const double d = rank_without(x, n, D, part, i, j) - one[i] - one[j] + whole;
                near += d;
                ++others;
                if (i < j) change[pairs++] = d;
            }
        }
        two[i] = one[i] + (p * mean_one - one[i]) / (p - 1) - whole + near / others;
        c[i] = (p - 1) * one[i] - (p - 2) * two[i];
        if (parts <= 5) { /* the mean over all pairs itself */
            all = SUM(j, 0, parts, j == i ? 0 : rank_without(x, n, D, part, i, j) / (p - 1));
            assert_true(fabs(two[i] - all) <= 1e-9);
        }
    }
    /* At 1, 1 - 1/P and 1 - 2/P of the rows: what a + b / n + c / n^2 through them has at 1 / n = 0. */
    const double mean_two = SUM(i, 0, parts, two[i] / p);
    const double second =
        (p * p * whole - 2 * (p - 1) * (p - 1) * mean_one) / 2 + (p - 2) * (p - 2) * mean_two / 2;
    assert_true(fabs(r.unclipped + r.bias_left - second) <= 1e-7);
    const double mean_c = SUM(i, 0, parts, c[i] / p), m = 2.0 * pairs / p;
    const double raw = SUM(i, 0, parts, (p - 1) / p * (c[i] - mean_c) * (c[i] - mean_c));
    const double mean_d = SUM(k, 0, pairs, change[k] / pairs);
    const double s2 = SUM(k, 0, pairs, (change[k] - mean_d) * (change[k] - mean_d) / (pairs - 1.0));
    const double v = (p - 1) * pow(p - 2, 3) / p * (1 / m - 1 / (p - 1)) * s2;
    const double plain_square = r.se[CS_RANK_TAU] * r.se[CS_RANK_TAU];
    const double kept = fmax(raw - v, fmin(raw, plain_square));
    assert_true(parts <= 5 ? fabs(v) <= 1e-12 * raw : v > 0.01 * raw);
    assert_each(i, 0, parts,
                fabs(r.part_out[i] - mean_c - sqrt(kept / raw) * (c[i] - mean_c)) <= 1e-8);
    assert_true(fabs(r.se[CS_RANK_TAU_CORRECTED] - sqrt(kept + r.bias_left * r.bias_left)) <= 1e-8);
}

/* All pairs, of an odd and an even number of parts, parts that are blocks, and 12 blocks in 10 parts, the
 * fifth and the tenth of two. */
TEST(the_corrected_rank_has_an_error_of_its_own)
{
    enum { N = 240, D = 20 };
    check_corrected(3, 3);
    check_corrected(4, 4);
    check_corrected(5, 5);
    check_corrected(7, 7);
    check_corrected(9, 9);
    check_corrected(10, 10);
    check_corrected(12, 10);
    cs_rank_options o = plain;
    o.jackknife = true;
    float *x = normal_rows(N, D, 1, 3);
    CS_AUTO(cs_gram) g = {0};
    CS_AUTO(cs_effective_rank) r = {0};
    g = blocks_of(x, N, D, 2, &(cs_gram_options){.wide = true}); /* two parts leave no pair */
    OK(cs_effective_rank_of(&g, &o, &r));
    assert_true(isfinite(r.value[CS_RANK_TAU_CORRECTED]) && isnan(r.se[CS_RANK_TAU_CORRECTED]));
}

/* Of few rows, or with one that outweighs the rest, it comes out where no population's is. */
TEST(the_corrected_rank_stays_in_its_range)
{
    enum { N = 12, D = 4, SAMPLES = 20 };
    cs_rank_options o = plain;
    o.jackknife = true;
    int above = 0, below = 0;
    for (int i = 0; i < 2 * SAMPLES; ++i) {
        float *x = normal_rows(N, D, 0, (uint64_t)i);
        x[0] *= i < SAMPLES ? 1 : 1e3F;
        CS_AUTO(cs_gram) g = blocks_of(x, N, D, 6, &(cs_gram_options){.wide = true});
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
        const double value = r.value[CS_RANK_TAU_CORRECTED];
        above += r.unclipped > 0.9 * D;
        below += r.unclipped < 0.9;
        assert_true(value == fmin(fmax(r.unclipped, 0.9), 0.9 * D));
    }
    assert_true(above > 0 && below >= SAMPLES);
}

/* The coverage of nominal 95 % confidence intervals in 100 samples of Gaussian rows with covariance
 * diag(1/k): the plain rank's is too low, that of the corrected with its own error enough, which is
 * larger than the plain one. P(Bin(100, 0.95) < 86) < 2e-4. The table of
 * docs/explanation/effective-rank.md is by tests/bench/rank_coverage.py. */
static void covers(int d, int64_t n, uint64_t seed)
{
    enum { B = 10, SAMPLES = 100, LEAST = 86 };
    double lambda[64], v[CS_RANK_MEASURES], own = 0, plain_se = 0;
    const cs_gram_options wide = {.wide = true};
    cs_rank_options o = plain;
    int covered = 0, plainly = 0;
    for (int k = 0; k < d; ++k) {
        lambda[k] = 1.0 / (k + 1);
    }
    cs_rank_measures(d, lambda, 1e-6, &plain, v);
    assert_true(isnan(v[CS_RANK_TAU_CORRECTED])); /* of a spectrum alone there is none */
    const double truth = v[CS_RANK_TAU_INTERPOLATED];
    o.jackknife = true;
    for (uint64_t i = 0; i < SAMPLES; ++i) {
        float *x = normal_rows(n, d, 1, seed + i);
        CS_AUTO(cs_gram) g = blocks_of(x, n, d, B, &wide);
        AUTO_OK(cs_effective_rank, r, cs_effective_rank_of(&g, &o, &r));
        double plug_in = r.value[CS_RANK_TAU_INTERPOLATED];
        double mean = SUM(b, 0, B, r.left_out[b * CS_RANK_MEASURES + CS_RANK_TAU_INTERPOLATED] / B);
        assert_true(fabs(r.unclipped - (B * plug_in - (B - 1) * mean)) <= 1e-9);
        covered += fabs(r.value[CS_RANK_TAU_CORRECTED] - truth) <=
                   cs_student_width(0.95, (double)(r.parts - 1)) * r.se[CS_RANK_TAU_CORRECTED];
        plainly += fabs(plug_in - truth) <= cs_student_width(0.95, B - 1) * r.se[CS_RANK_TAU];
        own += r.se[CS_RANK_TAU_CORRECTED] / SAMPLES;
        plain_se += r.se[CS_RANK_TAU] / SAMPLES;
    }
    assert_true(covered >= LEAST && plainly < LEAST);
    assert_true(own > 1.15 * plain_se && own < 3 * plain_se);
}

TEST(corrected_rank_covers_the_population)
{
    covers(16, 400, 0);
    covers(48, 200, 1000); /* where half an error of bias is left */
}
