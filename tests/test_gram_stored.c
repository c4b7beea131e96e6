/* linalg/gram: stored blocks whose parts contradict each other, what merging adds up, the error
 * bound by its formula, and rows that leave the range. */
#include "io/npz.h"
#include "io_support.h"
#include "linalg/csr.h"
#include "linalg/density.h"
#include "linalg/gram.h"
#include "linalg/nearest.h"
#include "linalg/svd.h"
#include "linalg/top_pairs.h"

enum { D = 3, GROUPS = 2, N = 10 };

/* Ten rows in two groups: one of zeros, one whose square vanishes in float. */
static cs_gram ten_rows(const cs_gram_options *options)
{
    float *x = test_zeros((int64_t)N * D, sizeof *x);
    for (int i = 0; i < N * D; ++i) {
        x[i] = (float)(i * i % 7) - 2;
    }
    memset(x + 4 * D, 0, D * sizeof *x);
    memset(x + 5 * D, 0, D * sizeof *x);
    x[5 * D] = 1e-30F;
    cs_gram g = {0};
    cs_rows rows = cs_rows_of_f32(N, D, x, "x");
    OK(cs_gram_init(D, GROUPS, options, &g));
    OK(cs_gram_add(&g, &rows, NULL, options));
    return g;
}

/* Eight groups of one row, the last of length 100, the others of 1: a sum that leaves few of them out is
 * made from that over all, which is marked here; one that leaves half of them out is not, nor one that
 * leaves out what has most of the trace. */
TEST(few_groups_are_taken_away)
{
    enum { EACH = 8 };
    static const struct {
        cs_gram_range without;
        bool away;
    } cases[] = {{{0, 0}, true}, {{0, 1}, true}, {{5, 7}, true}, {{2, 6}, false}, {{7, 8}, false}};
    const cs_gram_options o = {.wide = true, .threads = 1};
    double x[EACH * D] = {0};
    for (int i = 0; i < EACH; ++i) {
        x[i * D + i % D] = i == EACH - 1 ? 100 : 1;
    }
    const cs_rows rows = cs_rows_of_f64(EACH, D, x, "x");
    AUTO_OK(cs_gram, g, cs_gram_init(D, EACH, &o, &g));
    OK(cs_gram_add(&g, &rows, NULL, &o));
    AUTO_OK(cs_gram_all, all, cs_gram_all_of(&g, &all));
    all.sum.data[1] += 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const cs_gram_range without[2] = {cases[c].without};
        int64_t n = 0;
        AUTO_OK(cs_dense, sum, cs_gram_without(&g, &all, without, false, &sum, &n));
        const double trace = (double)n + (without->end == EACH ? 0 : 9999);
        assert_int_equal(n, EACH - (without->end - without->from));
        assert_true(sum.data[1] == cases[c].away);
        assert_true(sum.data[0] + sum.data[1 + D] + sum.data[2 + 2 * D] == trace);
    }
}

TEST_IN_DIR(all_of_it_is_stored)
{
    const char *path = in_dir(state, "gram.npz");
    for (int form = 0; form < 8; ++form) {
        const cs_gram_options o = {
            .wide = form & 1, .normalise = form & 2, .shift = form & 4, .threads = 1};
        CS_AUTO(cs_gram) g = ten_rows(&o), r = {0};
        OK(cs_gram_write(&g, path));
        OK(cs_gram_read(path, &r));
        assert_true(r.wide == o.wide && r.normalise == o.normalise && r.shift == o.shift);
        assert_int_equal(r.cols, D);
        assert_int_equal(r.groups, GROUPS);
        assert_int_equal(r.total, N);
        assert_int_equal(r.seen, N);
        assert_int_equal(r.zeros, 1);
        assert_int_equal(r.vanished, o.wide || o.normalise || o.shift ? 0 : 1);
        assert_int_equal(r.heaviest, g.heaviest);
        assert_int_equal(r.slabs, g.slabs);
        assert_true(r.slabs > 0 && r.heaviest_square == g.heaviest_square && r.square == g.square);
        assert_memory_equal(r.rows, g.rows, GROUPS * sizeof *g.rows);
        assert_memory_equal(r.sum, g.sum, GROUPS * D * sizeof *g.sum);
        assert_memory_equal(r.origin, g.origin, D * sizeof *g.origin);
        assert_memory_equal(r.block, g.block, GROUPS * D * D * sizeof *g.block);
    }
}

/* One count at a time is made to contradict the others, or is at its end and does not. */
TEST_IN_DIR(counts_that_contradict_each_other_are_refused)
{
    const char *path = in_dir(state, "gram.npz");
    static const struct {
        int64_t rows[2], total, zeros, vanished, heaviest, seen, slabs;
        const char *part; /* NULL: accepted */
    } cases[] = {
        {{4, 6}, 10, 3, 7, 11, 12, 0, NULL},
        {{0, 10}, 10, 0, 0, -1, 10, 0, NULL},
        {{4, 5}, 10, 0, 0, 0, 12, 1, "contradict"},
        {{4, 6}, 10, 0, 0, 0, 9, 1, "contradict"},
        {{4, 6}, 10, 0, 0, 12, 12, 1, "contradict"},
        {{4, 6}, 10, -1, 0, 0, 12, 1, "contradict"},
        {{4, 6}, 10, 0, -1, 0, 12, 1, "contradict"},
        {{4, 6}, 10, 4, 7, 0, 12, 1, "contradict"},
        {{4, 6}, 10, 0, 0, 0, 12, -1, "contradict"},
        {{-1, 11}, 10, 0, 0, 0, 12, 1, "group 0 has -1 rows, but all groups together have 10"},
        {{4, 7}, 10, 0, 0, 0, 12, 1, "group 1 has 7 rows, but all groups together have 10"},
        {{11, -1}, 10, 0, 0, 0, 12, 1, "group 0 has 11 rows, but all groups together have 10"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const cs_gram_options o = {.threads = 1};
        cs_gram g = ten_rows(&o), r = {0};
        memcpy(g.rows, cases[c].rows, sizeof cases[c].rows);
        g.total = cases[c].total;
        g.zeros = cases[c].zeros;
        g.vanished = cases[c].vanished;
        g.heaviest = cases[c].heaviest;
        g.seen = cases[c].seen;
        g.slabs = cases[c].slabs;
        OK(cs_gram_write(&g, path));
        if (cases[c].part) {
            assert_fails(cs_gram_read(path, &r), CS_ERR_INPUT, cases[c].part);
            assert_null(r.block);
        } else {
            OK(cs_gram_read(path, &r));
            cs_gram_free(&r);
        }
        cs_gram_free(&g);
    }
}

/* Each member once of another type, of another size, and with a number that is none. */
TEST_IN_DIR(members_are_checked)
{
    const char *path = in_dir(state, "gram.npz");
    static const struct {
        const char *name;
        int64_t size;
        bool real;
    } member[] = {{"block", GROUPS * D * D, true},
                  {"sum", GROUPS * D, true},
                  {"rows", GROUPS, false},
                  {"origin", D, true},
                  {"counts", 9, false},
                  {"squares", 2, true}};
    enum { MEMBERS = sizeof member / sizeof *member };
    static const double zero[GROUPS * D * D + 1];
    static const int64_t none[32] = {[2] = -1}; /* no heaviest row */
    for (int bad = -1; bad < MEMBERS; ++bad) {
        for (int way = 0; way < 3; ++way) {
            cs_npz_writer *w = NULL;
            cs_gram g = {0};
            char part[96];
            double data[MEMBERS][GROUPS * D * D + 1];
            OK(cs_npz_create(path, &w));
            for (int m = 0; m < MEMBERS; ++m) {
                const int64_t size = member[m].size + (m == bad && way == 1);
                double *x = data[m]; /* read when the file is completed */
                memcpy(x, zero, sizeof zero);
                if (m == bad && way == 2) x[size - 1] = INFINITY;
                const bool real = member[m].real != (m == bad && way == 0);
                const bool flat = strcmp(member[m].name, "sum") != 0 || (m == bad && way == 1);
                OK(cs_npz_add(
                    w, member[m].name, real ? CS_F64 : CS_I64, flat ? 1 : 2,
                    flat ? &size : (int64_t[]){GROUPS, D},
                    real
                        ? x
                        : (const void *)(strcmp(member[m].name, "counts") == 0 ? none : none + 3)));
            }
            OK(cs_npz_commit(&w));
            if (bad < 0 || (way == 2 && !member[bad].real)) {
                OK(cs_gram_read(path, &g));
                cs_gram_free(&g);
                continue;
            }
            if (way == 2) {
                (void)snprintf(part, sizeof part, "member %s.npy: item %lld is not finite",
                               member[bad].name, (long long)member[bad].size - 1);
            } else if (way == 1 && strcmp(member[bad].name, "sum") == 0) {
                (void)snprintf(part, sizeof part, "member sum.npy has 1 dimension, not 2");
            } else {
                (void)snprintf(part, sizeof part, "member %s.npy: %lld items or a wrong type",
                               member[bad].name, (long long)member[bad].size + way);
            }
            assert_fails(cs_gram_read(path, &g), CS_ERR_INPUT, part);
        }
    }
}

TEST(merging_adds_up_what_was_counted)
{
    for (int shift = 0; shift < 2; ++shift) {
        const cs_gram_options o = {.shift = shift, .threads = 1};
        CS_AUTO(cs_gram) a = ten_rows(&o), b = ten_rows(&o), empty = {0};
        const int64_t heaviest = a.heaviest, slabs = a.slabs;
        OK(cs_gram_init(D, GROUPS, &o, &empty));
        OK(cs_gram_merge(&empty, &a)); /* what is empty takes the other's shift, and its bits */
        assert_memory_equal(empty.block, a.block, GROUPS * D * D * sizeof *a.block);
        assert_memory_equal(empty.sum, a.sum, GROUPS * D * sizeof *a.sum);
        assert_memory_equal(empty.origin, a.origin, D * sizeof *a.origin);
        assert_int_equal(empty.heaviest, heaviest);
        assert_int_equal(empty.slabs, slabs + 1);
        b.heaviest_square *= 2;
        OK(cs_gram_merge(&a, &b));
        assert_int_equal(a.total, 2 * N);
        assert_int_equal(a.seen, 2 * N);
        assert_int_equal(a.zeros, 2);
        assert_int_equal(a.vanished, 2 * b.vanished);
        assert_int_equal(a.slabs, 2 * slabs + 1); /* one sum more a group */
        assert_int_equal(a.rows[0] + a.rows[1], 2 * N);
        assert_int_equal(a.rows[1], 2 * b.rows[1]);
        assert_int_equal(a.heaviest, N + heaviest);
        assert_true(a.heaviest_square == b.heaviest_square && a.square == 2 * b.square);
        assert_each(e, 0, GROUPS * D, a.sum[e] == 2 * b.sum[e]);
        b.heaviest_square = a.heaviest_square; /* as heavy: the first stays */
        OK(cs_gram_merge(&a, &b));
        assert_int_equal(a.heaviest, N + heaviest);
    }
    for (int odd = 0; odd < 5; ++odd) {
        const cs_gram_options o = {.threads = 1};
        const cs_gram_options other = {.wide = odd == 0, .normalise = odd == 1, .shift = odd == 2};
        AUTO_OK(cs_gram, a, cs_gram_init(D, GROUPS, &o, &a));
        AUTO_OK(cs_gram, b, cs_gram_init(D + (odd == 3), GROUPS + (odd == 4), &other, &b));
        assert_fails(cs_gram_merge(&a, &b), CS_ERR_USAGE, "cannot be merged with 3 columns in 2");
        if (odd < 3) {
            cs_rows none = cs_rows_of_f32(0, D, NULL, "none");
            assert_fails(cs_gram_add(&a, &none, NULL, &other), CS_ERR_USAGE, "options as the");
        }
    }
}

/* e / (1 - e) with e as gram.h says; at a size where each term shows in the last digits. */
TEST(the_bound_is_its_formula)
{
    for (int form = 0; form < 8; ++form) {
        const bool wide = form & 1, normalise = form & 2, centred = form & 4;
        cs_gram g = {.wide = wide, .normalise = normalise, .slabs = 1000, .groups = 37, .cols = 91};
        const long double u = wide ? 0x1p-53L : 0x1p-24L, v = 0x1p-53L;
        long double e = 162 * u + 1037 * v;
        e += normalise ? 97 * v : 0;
        e += centred ? 2 * (128 * u + 32037 * v) + 4 * v : 0;
        const double want = (double)(e / (1 - e));
        assert_true(fabs(cs_gram_gamma(&g, centred) - want) <= 8 * DBL_EPSILON * want);
    }
    const cs_gram_options o = {.threads = 1};
    CS_AUTO(cs_gram) g = ten_rows(&o);
    double trace[GROUPS] = {0};
    for (int b = 0; b < GROUPS; ++b) {
        trace[b] += SUM(i, 0, D, g.block[(b * D + i) * D + i]);
    }
    const cs_gram_range first[2] = {{0, 1}, {2, 2}}, second[2] = {{1, 1}, {1, 2}};
    const double gamma = cs_gram_gamma(&g, true);
    assert_true(trace[0] > 0 && trace[1] > 0 && trace[0] != trace[1]);
    assert_true(cs_gram_floor(&g, NULL, true) == gamma * (trace[0] + trace[1]));
    assert_true(cs_gram_floor(&g, first, true) == gamma * trace[1]);
    assert_true(cs_gram_floor(&g, second, true) == gamma * trace[0]);
}

TEST(sizes_have_ends)
{
    const cs_gram_options o = {.threads = 1};
    CS_AUTO(cs_gram) g = {0};
    static const int64_t bad[][2] = {
        {0, 1}, {1, 0}, {-1, 1}, {1, -1}, {(int64_t)INT32_MAX + 1, 1}, {1, (int64_t)INT32_MAX + 1}};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; ++b) {
        assert_fails(cs_gram_init(bad[b][0], bad[b][1], &o, &g), CS_ERR_USAGE,
                     "invalid Gram matrix");
    }
    assert_fails(cs_gram_init(INT32_MAX, 1, &o, &g), CS_ERR_MEMORY,
                 "1 Gram blocks of 2147483647 columns are too many");
    OK(cs_gram_init(1, 1, &o, &g));
    assert_int_equal(g.heaviest, -1);
    assert_true(g.heaviest_square < 0);
    int64_t rows = -1;
    AUTO_OK(cs_dense, total,
            cs_gram_total(&g, NULL, true, &total, &rows)); /* of no rows: no mean to take off */
    assert_int_equal(rows, 0);
    assert_true(total.data[0] == 0);
}

/* A norm that is not finite divides nothing. */
TEST(rows_whose_squares_overflow_are_not_normalised)
{
    double x[] = {1, 2, 1e200, 3};
    const cs_gram_options o = {.normalise = true, .threads = 1};
    cs_rows rows = cs_rows_of_f64(2, 2, x, "x.npy");
    AUTO_OK(cs_gram, g, cs_gram_init(2, 1, &o, &g));
    assert_fails(cs_gram_add(&g, &rows, NULL, &o), CS_ERR_INPUT, "x.npy: row 1");
}

/* Squares within the range whose differences leave it: only the shift shows it. */
TEST(rows_that_a_shift_takes_out_of_range_are_named)
{
    for (int wide = 0; wide < 2; ++wide) {
        const double big = sqrt(wide ? DBL_MAX * 0x1p-128 : (double)FLT_MAX * 0x1p-13) * 0.9;
        double x[2 * 130] = {0};
        for (int i = 0; i < 128; ++i) { /* the rows that the shift is the mean of */
            x[2 * i] = big;
        }
        x[2 * 128] = big;
        cs_gram_options o = {.wide = wide, .shift = true, .threads = 1};
        cs_rows rows = cs_rows_of_f64(130, 2, x, "x.npy");
        AUTO_OK(cs_gram, g, cs_gram_init(2, 1, &o, &g));
        OK(cs_gram_add(&g, &rows, NULL, &o));
        cs_gram_free(&g);
        x[2 * 129] = -big;
        OK(cs_gram_init(2, 1, &o, &g));
        assert_fails(cs_gram_add(&g, &rows, NULL, &o), CS_ERR_INPUT,
                     wide ? "x.npy: row 129: its squares exceed the range of double"
                          : "x.npy: row 129: its squares exceed the range of single");
    }
}

typedef struct {
    int64_t done[16], count;
} seen_progress;

static void note(void *ctx, const char *stage, int64_t done, int64_t total)
{
    seen_progress *p = ctx;
    assert_string_equal(stage, "rows");
    assert_int_equal(total, 9001);
    assert_true(p->count < 16);
    p->done[p->count++] = done;
}

/* Sums do not depend on where the columns of a block of the result end. */
TEST(widths_about_the_ends_of_blocks)
{
    static const int64_t width[] = {127, 128, 129, 130, 511, 512, 513, 514};
    enum { ROWS = 40 };
    for (size_t w = 0; w < sizeof width / sizeof *width; ++w) {
        const int64_t d = width[w];
        ARRAY(float, x, (ROWS * d), i, (float)(i * i % 11) - 5);
        const cs_gram_options o = {.threads = 2};
        cs_rows rows = cs_rows_of_f32(ROWS, d, x, "x");
        AUTO_OK(cs_gram, g, cs_gram_init(d, 1, &o, &g));
        OK(cs_gram_add(&g, &rows, NULL, &o));
        for (int64_t i = 0; i < d; i += 37) {
            for (int64_t j = i; j < d; ++j) {
                double sum = 0; /* of small integers: exact */
                sum += SUM(k, 0, ROWS, (double)x[k * d + i] * (double)x[k * d + j]);
                assert_true(g.block[i * d + j] == sum);
            }
        }
    }
    seen_progress seen = {0};
    const cs_progress progress = {note, &seen};
    const cs_gram_options o = {.threads = 1, .progress = &progress};
    float *x = test_zeros(9001 * 545, sizeof *x);
    cs_rows rows = cs_rows_of_f32(9001, 545, x, "x");
    AUTO_OK(cs_gram, g, cs_gram_init(545, 2, &o, &g));
    OK(cs_gram_add(&g, &rows, NULL, &o));
    /* A chunk is a multiple of 4,096 rows; groups of 4,501 and 4,500 rows have two each. */
    static const int64_t want[] = {4096, 4501, 4501 + 4096, 9001};
    assert_int_equal(seen.count, 4);
    assert_memory_equal(seen.done, want, sizeof want);
}

/* Freed objects are zeroed. */
TEST(what_is_freed_is_zero)
{
    static const char zero[1024];
    cs_top_pairs pairs;
    cs_gram gram;
    cs_svd svd;
    cs_csr csr;
    cs_dense dense;
    cs_nonempty_rows rows;
    cs_density density;
    memset(&pairs, 0, sizeof pairs);
    pairs.total = pairs.count = 3;
    pairs.mean = 1;
    cs_top_pairs_free(&pairs);
    assert_memory_equal(&pairs, zero, sizeof pairs);
    OK(cs_gram_init(2, 2, &(cs_gram_options){.wide = true}, &gram));
    cs_gram_free(&gram);
    assert_memory_equal(&gram, zero, sizeof gram);
    memset(&svd, 0, sizeof svd);
    svd.k = 3;
    svd.converged = true;
    cs_svd_free(&svd);
    assert_memory_equal(&svd, zero, sizeof svd);
    OK(cs_csr_init(&csr, 3, 4, 5));
    cs_csr_free(&csr);
    assert_memory_equal(&csr, zero, sizeof csr);
    OK(cs_dense_init(&dense, 3, 4));
    cs_dense_free(&dense);
    assert_memory_equal(&dense, zero, sizeof dense);
    rows = cs_nonempty_rows_all(7);
    cs_nonempty_rows_free(&rows);
    assert_memory_equal(&rows, zero, sizeof rows);
    memset(&density, 0, sizeof density);
    density.points = 4;
    cs_density_free(&density);
    assert_memory_equal(&density, zero, sizeof density);
}
