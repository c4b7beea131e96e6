/* linalg/signed_gram: B'B - E'E + diag(d) against dense matrices; bits for any number of threads. */
#include "base/threads.h"
#include "io_support.h"
#include "linalg/signed_gram_private.h"
#include "linalg_support.h"

/* Non-negative; the few first columns are frequent where `skewed`. */
static cs_csr counts(int64_t rows, int64_t cols, double density, bool skewed, uint64_t index)
{
    cs_csr a = random_sparse(rows, cols, density, index), out = {0};
    cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, index);
    int64_t n = 0, most = cs_csr_nnz(&a) + rows * 12;
    int64_t *row = test_zeros(most, sizeof *row), *col = test_zeros(most, sizeof *col);
    double *val = test_zeros(most, sizeof *val);
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t e = a.ptr[r]; e < a.ptr[r + 1]; ++e) {
            row[n] = r;
            col[n] = a.col[e];
            val[n++] = fabs(a.val[e]);
        }
        for (int64_t j = 0; skewed && j < 12 && j < cols; ++j) {
            row[n] = r;
            col[n] = j;
            val[n++] = cs_rng_uniform(&rng);
        }
    }
    OK(cs_csr_from_triplets(rows, cols, n, row, col, val, &out));
    cs_csr_free(&a);
    return out;
}

static cs_signed_gram random_gram(int64_t cols, double density, bool skewed, uint64_t index)
{
    cs_signed_gram p = {.plus = counts(60, cols, density, skewed, index),
                        .minus = counts(25, cols, density, false, index + 100),
                        .diagonal = cs_calloc(cols, sizeof *p.diagonal)};
    cs_rng rng = cs_rng_at(10, CS_STREAM_TEST, index);
    assert_non_null(p.diagonal);
    for (int64_t j = 0; j < cols; ++j) {
        p.diagonal[j] = cs_rng_normal(&rng);
    }
    return p;
}

static void add_gram(const cs_csr *a, double sign, cs_dense *to)
{
    for (int64_t r = 0; r < a->rows; ++r) {
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            for (int64_t f = a->ptr[r]; f < a->ptr[r + 1]; ++f) {
                to->data[a->col[e] + a->col[f] * to->ld] += sign * a->val[e] * a->val[f];
            }
        }
    }
}

static cs_dense dense_of(const cs_signed_gram *p)
{
    cs_dense d = {0};
    OK(cs_dense_init(&d, p->plus.cols, p->plus.cols));
    add_gram(&p->plus, 1, &d);
    add_gram(&p->minus, -1, &d);
    for (int64_t j = 0; j < p->plus.cols; ++j) {
        d.data[j + j * d.ld] += p->diagonal[j];
    }
    return d;
}

TEST(what_is_freed_is_empty)
{
    CS_AUTO(cs_signed_gram) p = random_gram(5, 0.5, false, 1);
    cs_signed_gram_free(&p);
    assert_true(!p.plus.ptr && !p.minus.ptr && !p.diagonal);
    assert_int_equal(p.plus.cols, 0);
}

/* Sizes within an octet and beyond, rows that touch few columns (which are looked up one by one)
 * and frequent columns (whole vectors). Sums of some thousand terms: relative to the sum of moduli,
 * 1e-12 leaves three digits. */
TEST(traces_and_products_are_those_of_dense_matrices)
{
    static const struct {
        int64_t cols;
        double density;
        bool skewed;
    } size[] = {
        {1, 1, false}, {5, 0.5, false}, {16, 0.4, true}, {83, 0.1, true}, {3001, 0.001, false}};
    for (uint64_t i = 0; i < sizeof size / sizeof *size; ++i) {
        const int64_t n = size[i].cols;
        /* Two that are so sparse have nothing in common: one with itself. */
        const uint64_t other_one = size[i].density < 0.01 ? i : i + 50;
        CS_AUTO(cs_signed_gram) p = random_gram(n, size[i].density, size[i].skewed, i),
                                q = random_gram(n, size[i].density, size[i].skewed, other_one);
        CS_AUTO(cs_dense) dp = dense_of(&p), dq = dense_of(&q);
        double *f = test_zeros(n, sizeof *f), plain = 0, scaled = 0, size1 = 0, size2 = 0;
        double trace = 0, weighted = 0, got[2], other[2];
        cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, i);
        for (int64_t j = 0; j < n; ++j) {
            f[j] = j % 5 == 3 ? 0 : cs_rng_uniform(&rng);
            trace += dp.data[j + j * dp.ld];
            weighted += f[j] * dp.data[j + j * dp.ld];
        }
        for (int64_t e = 0; e < n * n; ++e) {
            const int64_t u = e % n, v = e / n;
            const double x = dp.data[u + v * dp.ld] * dq.data[u + v * dq.ld];
            plain += x;
            scaled += f[u] * f[v] * x;
            size1 += fabs(x);
            size2 += fabs(f[u] * f[v] * x);
        }
        assert_true(fabs(cs_signed_gram_trace(&p, NULL) - trace) <= 1e-12 * size1 + 1e-12);
        assert_true(fabs(cs_signed_gram_trace(&p, f) - weighted) <= 1e-12 * size1 + 1e-12);
        OK(cs_signed_gram_inner(&p, &q, f, 1, &got[0], &got[1]));
        assert_true(fabs(got[0] - plain) <= 1e-12 * size1);
        assert_true(fabs(got[1] - scaled) <= 1e-12 * size2);
        OK(cs_signed_gram_inner(&p, &q, f, 3, &other[0], &other[1]));
        assert_memory_equal(got, other, sizeof got);
        OK(cs_signed_gram_inner(&p, &q, NULL, 2, &other[0], NULL));
        assert_true(other[0] == got[0]);
    }
}

/* A guess that is right for another matrix, in which what are copies here is one value or small: its
 * vectors are eigenvectors here too, so that their Krylov space has no copy but what noise brings. */
TEST(a_guess_hides_no_copies)
{
    enum { COLS = 2000, WANTED = 8 }; /* beyond what a dense solver takes */
    CS_AUTO(cs_signed_gram) p = {.diagonal = cs_calloc(COLS, sizeof *p.diagonal)};
    OK(cs_csr_init(&p.plus, 0, COLS, 0));
    OK(cs_csr_init(&p.minus, 0, COLS, 0));
    AUTO_OK(cs_dense, guess, cs_dense_init(&guess, COLS, WANTED));
    for (int64_t j = 0; j < WANTED; ++j) {
        guess.data[j + j * guess.ld] = 1;
    }
    for (int64_t v = 0; v < COLS; ++v) {
        p.diagonal[v] = 0.3 * (double)(COLS - v) / COLS;
    }
    p.diagonal[5] = p.diagonal[1300] = p.diagonal[1301] = 1;
    for (int64_t v = 700; v < 712; ++v) { /* more than a block has columns */
        p.diagonal[v] = 0.5;
    }
    for (int guessed = 0; guessed < 2; ++guessed) {
        const cs_signed_gram_options o = {
            .seed = 3, .threads = 2, .start = guessed ? &guess : NULL};
        double values[WANTED];
        OK(cs_signed_gram_leading(&p, WANTED, &o, values, NULL));
        assert_each(j, 0, WANTED, fabs(values[j] - (j < 3 ? 1 : 0.5)) <= 1e-9);
    }
}

/* Many rows of one and two entries on few columns, equal ones among them; entries of 0 and such as have
 * no square. */
TEST(fewer_rows_are_the_same_matrix)
{
    enum { COLS = 9, ROWS = 400 };
    for (int extreme = 0; extreme < 2; ++extreme) {
        CS_AUTO(cs_signed_gram) p = {.diagonal = cs_calloc(COLS, sizeof *p.diagonal)}, q = {0};
        cs_rng rng = cs_rng_at(19, CS_STREAM_TEST, (uint64_t)extreme);
        for (int side = 0; side < 2; ++side) {
            cs_csr *a = side ? &p.minus : &p.plus;
            OK(cs_csr_init(a, ROWS, COLS, 3 * ROWS));
            for (int64_t r = 0; r < ROWS; ++r) {
                const int64_t n = r % 4; /* from no entry to three */
                const int32_t first = (int32_t)cs_rng_below(&rng, COLS - 2);
                a->ptr[r + 1] = a->ptr[r] + n;
                for (int64_t i = 0; i < n; ++i) {
                    const bool odd = extreme && r % 20 == 6;
                    a->col[a->ptr[r] + i] = first + (int32_t)i;
                    a->val[a->ptr[r] + i] =
                        odd && i == 0 ? (r % 40 == 6 ? 0 : 0x1p-480) : cs_rng_uniform(&rng);
                }
            }
        }
        for (int v = 0; v < COLS; ++v) {
            p.diagonal[v] = v - 4;
        }
        OK(cs_signed_gram_compact(&p, &q));
        CS_AUTO(cs_dense) want = dense_of(&p), got = dense_of(&q);
        assert_each(e, 0, COLS * COLS, fabs(got.data[e] - want.data[e]) <= 1e-13 * ROWS);
        /* neighbours make COLS - 2 pairs of columns; rows with a 0 or without a square stay */
        const int64_t odd = extreme ? ROWS / 20 : 0;
        assert_true(q.plus.rows <= ROWS / 4 + COLS - 2 + odd && q.minus.rows > ROWS / 4);
    }
}

TEST(products_with_vectors)
{
    CS_AUTO(cs_signed_gram) p = random_gram(83, 0.1, true, 7);
    CS_AUTO(cs_dense) d = dense_of(&p), x = {0}, y = {0}, want = {0};
    OK(cs_dense_init(&x, 83, 11));
    OK(cs_dense_init(&y, 83, 11));
    OK(cs_dense_init(&want, 83, 11));
    fill_normal(&x, 5);
    OK(cs_signed_gram_apply(&p, &x, 2, &y));
    OK(cs_gemm(false, false, 1, &d, &x, 0, &want));
    assert_true(max_abs_difference(&y, &want) <= 1e-10); /* entries of some hundreds */
}

/* Small ones go to LAPACK, large ones to the block solver; negative eigenvalues of larger modulus
 * are left out. */
TEST(leading_eigenvalues)
{
    static const int64_t size[] = {3, 90, 1700};
    enum { K = 6 };
    for (uint64_t i = 0; i < sizeof size / sizeof *size; ++i) {
        const int64_t n = size[i];
        CS_AUTO(cs_signed_gram) p = random_gram(n, n > 1000 ? 0.01 : 0.3, true, i + 20);
        double values[K], again[K];
        p.diagonal[n - 1] = -1e4;
        CS_AUTO(cs_dense) d = dense_of(&p), v = {0}, pv = {0};
        double *all = test_zeros(n, sizeof *all);
        OK(cs_dense_eigh(&d, all, true));
        OK(cs_dense_init(&v, n, n < K ? n : K));
        OK(cs_dense_init(&pv, n, v.cols));
        const cs_signed_gram_options o = {.seed = 3, .threads = 2};
        OK(cs_signed_gram_leading(&p, K, &o, values, &v));
        OK(cs_signed_gram_apply(&p, &v, 1, &pv));
        double least;
        OK(cs_signed_gram_least(&p, &o, &least));
        assert_true(fabs(least - all[0]) <= 1e-8 * 1e4);
        assert_each(j, 0, K,
                    j < n ? fabs(values[j] - all[n - 1 - j]) <= 1e-8 * 1e4 : isnan(values[j]));
        for (int64_t e = 0; e < n * v.cols; ++e) { /* residuals, relative to the largest modulus */
            const int64_t r = e % n, j = e / n;
            assert_true(fabs(pv.data[r + j * pv.ld] - values[j] * v.data[r + j * v.ld]) <=
                        1e-8 * 1e4);
        }
        const cs_signed_gram_options warm = {.seed = 3, .threads = 1, .start = &v};
        OK(cs_signed_gram_leading(&p, K, &warm, again, NULL));
        assert_each(j, 0, v.cols, fabs(again[j] - values[j]) <= 1e-8 * 1e4);
    }
}

/* More copies of an eigenvalue than a block has columns: P = 5 I + diag(d). */
TEST(copies_of_an_eigenvalue)
{
    enum { N = 1700, COPIES = 20, K = COPIES + 4, NEGATIVE = 100 };
    CS_AUTO(cs_signed_gram) p = {0};
    double values[K];
    OK(cs_csr_init(&p.plus, N, N, N));
    OK(cs_csr_init(&p.minus, 0, N, 0));
    assert_non_null(p.diagonal = cs_calloc(N, sizeof *p.diagonal));
    for (int64_t j = 0; j < N; ++j) {
        p.plus.ptr[j + 1] = j + 1;
        p.plus.col[j] = (int32_t)j;
        p.plus.val[j] = sqrt(5);
        p.diagonal[j] = (j < COPIES ? 3 : j < N - NEGATIVE ? 2 - (double)j / N : -4) - 5;
    }
    const cs_signed_gram_options o = {.seed = 3, .threads = 2};
    OK(cs_signed_gram_leading(&p, K, &o, values, NULL));
    for (int64_t j = 0; j < K; ++j) {
        const double want = j < COPIES ? 3 : 2 - (double)j / N;
        assert_true(fabs(values[j] - want) <= 1e-9 * 12); /* of 3 + c, c = 9 */
    }
}

static void interrupt(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)ctx;
    (void)stage;
    (void)done;
    (void)total;
    cs_interrupt_set();
}

static cs_status interrupted(const char *path)
{
    enum { K = 60 };
    double values[K];
    CS_AUTO(cs_signed_gram) p = random_gram(1700, 0.01, true, 22);
    const cs_progress progress = {interrupt, NULL};
    const cs_signed_gram_options o = {.seed = 3, .threads = 2, .progress = &progress};
    (void)path;
    cs_status status = cs_signed_gram_leading(&p, K, &o, values, NULL);
    return status;
}

/* An interrupted computation is not reported as unconverged. */
TEST(interrupts)
{
    assert_int_equal(in_child(interrupted, "", "interrupted"), CS_ERR_INTERRUPT);
}

static cs_status inner_with_itself(const cs_signed_gram *p)
{
    double plain, scaled;
    return cs_signed_gram_inner(p, p, p->diagonal, 1, &plain, &scaled);
}

static cs_status apply_once(const cs_signed_gram *p)
{
    double x[40] = {1}, y[40];
    const cs_dense in = {40, 1, 40, x};
    cs_dense out = {40, 1, 40, y};
    return cs_signed_gram_apply(p, &in, 1, &out);
}

static cs_status shift_once(const cs_signed_gram *p)
{
    CS_AUTO(cs_signed_gram_shift) shift = {0};
    cs_status status = cs_signed_gram_shift_of(p, 1, &shift);
    return status;
}

static cs_status leading_two(const cs_signed_gram *p)
{
    const cs_signed_gram_options o = {.seed = 3, .threads = 1};
    double values[2];
    return cs_signed_gram_leading(p, 2, &o, values, NULL);
}

static cs_status least_one(const cs_signed_gram *p)
{
    const cs_signed_gram_options o = {.seed = 3, .threads = 1};
    double value;
    return cs_signed_gram_least(p, &o, &value);
}

TEST(every_allocation_fails_in_turn)
{
    static cs_status (*const work[])(const cs_signed_gram *) = {inner_with_itself, apply_once,
                                                                shift_once, leading_two, least_one};
    CS_AUTO(cs_signed_gram) p = random_gram(40, 0.2, true, 3);
    for (size_t w = 0; w < sizeof work / sizeof *work; ++w) {
        int failures = 0;
        EACH_ALLOCATION_FAILS(n)
            failures += out_of_memory(work[w](&p));
        assert_true(failures >= 4);
    }
}
