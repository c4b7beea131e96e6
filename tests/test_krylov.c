/* The block solver's process, step by step, against what it says of itself: relations between A,
 * the bases and the projected matrix, and residuals of Ritz vectors. */
#include "linalg/space.h"
#include "linalg/svd_block_private.h"
#include "linalg_support.h"

enum { B = CS_BLOCK, ROWS = 90, COLS = 60 };

static csr_operator held;
static cs_dense dense; /* the same, entry by entry */
static cs_space space;

static void set_up(double density)
{
    operator_of(&held, random_sparse(ROWS, COLS, density, 77), 1);
    OK(cs_dense_init(&dense, ROWS, COLS));
    for (int64_t i = 0; i < ROWS; ++i) {
        for (int64_t e = held.a.ptr[i]; e < held.a.ptr[i + 1]; ++e) {
            dense.data[i + held.a.col[e] * dense.ld] = held.a.val[e];
        }
    }
    OK(cs_space_cpu(&held.op, 1, &space));
}

static void tear_down(void)
{
    cs_space_cpu_free(&space);
    cs_dense_free(&dense);
    operator_free(&held);
}

static cs_dense product(bool trans_a, const cs_dense *a, bool trans_b, const cs_dense *b)
{
    cs_dense c;
    OK(cs_dense_init(&c, trans_a ? a->cols : a->rows, trans_b ? b->rows : b->cols));
    OK(cs_gemm(trans_a, trans_b, 1, a, b, 0, &c));
    return c;
}

static cs_dense columns_of(const cs_basis *b, int64_t length)
{
    cs_dense x;
    OK(cs_dense_init(&x, length, b->panels * B));
    for (int64_t q = 0; q < b->panels; ++q) {
        OK(space.get(&space, b->panel[q], B, q * B, &x));
    }
    return x;
}

static cs_dense panel_of(const cs_panel *p, int64_t length)
{
    cs_dense x;
    OK(cs_dense_init(&x, length, B));
    OK(space.get(&space, p, B, 0, &x));
    return x;
}

/* y += x, which is freed. */
static void add_to(cs_dense *y, double factor, cs_dense x)
{
    assert_int_equal(y->rows, x.rows);
    assert_int_equal(y->cols, x.cols);
    for (int64_t e = 0; e < y->rows * y->cols; ++e) {
        y->data[e] += factor * x.data[e];
    }
    cs_dense_free(&x);
}

static double largest(const cs_dense *x)
{
    double most = LARGEST(e, 0, x->rows * x->cols, fabs(x->data[e]));
    return most;
}

/* The active columns are orthonormal, the others zero. */
static void is_basis(const cs_basis *b, int64_t length)
{
    CS_AUTO(cs_dense) x = columns_of(b, length), g = product(true, &x, false, &x);
    for (int64_t j = 0; j < g.cols; ++j) {
        for (int64_t i = 0; i < g.rows; ++i) {
            const bool one = i == j && j % B < b->active[j / B];
            assert_true(fabs(g.data[i + j * g.ld] - one) < 1e-13);
        }
    }
}

/* The next block is orthogonal to the basis, its active columns are orthonormal. */
static void next_is_apart(const cs_krylov *k)
{
    CS_AUTO(cs_dense) v = columns_of(&k->v, COLS), w = panel_of(k->next, COLS);
    CS_AUTO(cs_dense) vw = product(true, &v, false, &w), ww = product(true, &w, false, &w);
    assert_true(largest(&vw) < 1e-13);
    assert_each(e, 0, CS_SQUARE,
                fabs(ww.data[e] - (e % (B + 1) == 0 && e / B < k->next_active)) < 1e-13);
}

static cs_dense projected(const cs_krylov *k, int64_t rows, int64_t cols)
{
    cs_dense m;
    OK(cs_dense_init(&m, rows, cols));
    for (int64_t j = 0; j < cols; ++j) {
        memcpy(m.data + j * rows, k->m + j * k->ld, (size_t)rows * sizeof *m.data);
    }
    return m;
}

/* W r E^T, E the columns of the last panel of `panels`. */
static cs_dense coupling(const cs_krylov *k, int64_t panels)
{
    cs_dense out, w = panel_of(k->next, COLS);
    OK(cs_dense_init(&out, COLS, panels * B));
    for (int64_t j = 0; j < B; ++j) {
        for (int64_t i = 0; i < COLS * B; ++i) {
            out.data[i % COLS + ((panels - 1) * B + j) * COLS] +=
                w.data[i] * k->r[i / COLS * B + j];
        }
    }
    cs_dense_free(&w);
    return out;
}

/* M = V^T A^T A V, or U^T A V; with `chain`, what a run of steps from one block says of A. */
static void relations_hold(const cs_krylov *k, bool chain)
{
    const int64_t n = k->v.panels * B;
    CS_AUTO(cs_dense) v = columns_of(&k->v, COLS), av = product(false, &dense, false, &v),
                      off = {0};
    is_basis(&k->v, COLS);
    next_is_apart(k);
    if (k->bidiagonal) {
        is_basis(&k->u, ROWS);
        CS_AUTO(cs_dense) u = columns_of(&k->u, ROWS), m = projected(k, n, n);
        off = product(true, &u, false, &av);
        add_to(&off, -1, projected(k, n, n));
        assert_true(largest(&off) < 1e-12);
        cs_dense_free(&off);
        off = product(false, &u, false, &m); /* A V = U M */
        cs_dense_free(&m);
        add_to(&off, -1, product(false, &dense, false, &v));
        assert_true(!chain || largest(&off) < 1e-12);
        cs_dense_free(&off);
        m = projected(k, n, n);
        off = product(true, &dense, false, &u); /* A^T U = V M^T + W r E^T */
        add_to(&off, -1, product(false, &v, true, &m));
        add_to(&off, -1, coupling(k, k->v.panels));
        assert_true(!chain || largest(&off) < 1e-12);
    } else {
        cs_dense nv = product(true, &dense, false, &av), m = projected(k, n, n);
        off = product(true, &v, false, &nv);
        add_to(&off, -1, projected(k, n, n));
        assert_true(largest(&off) < 1e-12);
        assert_each(i, 0, n * n, m.data[i] == m.data[i / n + i % n * n]);
        cs_dense_free(&off);
        off = product(false, &v, false, &m); /* A^T A V = V M + W r E^T */
        add_to(&off, 1, coupling(k, k->v.panels));
        add_to(&off, -1, nv);
        assert_true(!chain || largest(&off) < 1e-12);
        cs_dense_free(&m);
    }
}

/* Residuals of Ritz vectors are what is said, values descend. `chain` as above. */
static void ritz_are_right(const cs_krylov *k, int64_t first)
{
    AUTO_OK(cs_ritz, r, cs_krylov_ritz(k, first, &r));
    CS_AUTO(cs_dense) v = columns_of(&k->v, COLS), y = product(false, &v, false, &r.y);
    CS_AUTO(cs_dense) ay = product(false, &dense, false, &y),
                      ny = product(true, &dense, false, &ay);
    CS_AUTO(cs_dense) u = {0}, x = {0}, atx = {0};
    if (k->bidiagonal) {
        u = columns_of(&k->u, ROWS);
        x = product(false, &u, false, &r.x);
        atx = product(true, &dense, false, &x);
    }
    int64_t active = 0;
    for (int64_t q = first; q < k->v.panels; ++q) {
        active += k->v.active[q];
    }
    assert_int_equal(r.count, active);
    for (int64_t j = 0; j < r.count; ++j) {
        double sum = 0, left = 0, norm = 0;
        const double sigma = r.value[j];
        for (int64_t i = 0; i < COLS; ++i) {
            const double at = y.data[i + j * COLS];
            const double off = k->bidiagonal ? atx.data[i + j * COLS] - sigma * at
                                             : ny.data[i + j * COLS] - sigma * sigma * at;
            sum += off * off;
            norm += at * at;
        }
        for (int64_t i = 0; k->bidiagonal && i < ROWS; ++i) {
            const double off = ay.data[i + j * ROWS] - sigma * x.data[i + j * ROWS];
            left += off * off;
        }
        assert_true(fabs(norm - 1) < 1e-13 && sqrt(left) < 1e-12);
        assert_true(fabs(sqrt(sum) - r.estimate[j]) < 1e-12);
        assert_true(j == 0 || r.value[j] <= r.value[j - 1]);
    }
}

/* Columns `which` of the Ritz vectors are the basis from panel `first` on, before which it stays. */
static void keeps(cs_krylov *k, int64_t first, int64_t count, const int64_t *which)
{
    AUTO_OK(cs_ritz, r, cs_krylov_ritz(k, first, &r));
    CS_AUTO(cs_dense) v = columns_of(&k->v, COLS), y = product(false, &v, false, &r.y);
    OK(cs_krylov_keep(k, &r, first, count, which));
    assert_int_equal(k->v.panels, first + (count + B - 1) / B);
    assert_true(k->coupled);
    CS_AUTO(cs_dense) now = columns_of(&k->v, COLS);
    for (int64_t j = 0; j < k->v.panels * B; ++j) {
        const int64_t at = j - first * B;
        const double *want = at < 0       ? v.data + j * COLS
                             : at < count ? y.data + which[at] * COLS
                                          : NULL;
        assert_each(i, 0, COLS, fabs(now.data[i + j * COLS] - (want ? want[i] : 0)) < 1e-13);
        const double value = at >= 0 && at < count ? r.value[which[at]] : 0;
        for (int64_t i = 0; i < k->ld; ++i) {
            const double m = k->m[i + j * k->ld], square = k->bidiagonal ? value : value * value;
            assert_true(at < 0 || m == (i == j ? square : 0));
        }
    }
}

TEST(steps_locks_and_restarts)
{
    set_up(0.3);
    for (int bidiagonal = 0; bidiagonal < 2; ++bidiagonal) {
        cs_krylov k;
        OK(cs_krylov_open(&space, bidiagonal, 10, 5, &k));
        OK(cs_krylov_fresh(&k));
        assert_int_equal(k.next_active, B);
        for (int step = 1; step <= 4; ++step) {
            OK(cs_krylov_step(&k));
            assert_int_equal(k.v.panels, step);
            assert_int_equal(cs_basis_columns(&k.v), step * B);
            assert_int_equal(k.applications, step * 2 * B);
            relations_hold(&k, true);
            ritz_are_right(&k, 0);
        }
        /* Eleven vectors are kept, out of order: a panel and three columns. */
        static const int64_t some[] = {0, 2, 1, 3, 9, 4, 5, 7, 6, 18, 8};
        keeps(&k, 0, 11, some);
        assert_int_equal(k.v.active[0], B);
        assert_int_equal(k.v.active[1], 3);
        OK(cs_krylov_step(&k));
        relations_hold(&k, false);
        ritz_are_right(&k, 0);
        keeps(&k, 0, 11, some);
        OK(cs_krylov_fresh(&k));
        assert_each(e, 0, CS_SQUARE, k.r[e] == 0);
        OK(cs_krylov_step(&k));
        OK(cs_krylov_step(&k));
        relations_hold(&k, false);
        /* The first panel stays as it is, as if it had converged; two of the others. */
        static const int64_t two[] = {1, 0};
        keeps(&k, 1, 2, two);
        cs_krylov_free(&k);
        assert_true(k.space == NULL && k.m == NULL && k.v.panel == NULL);
    }
    tear_down();
}

/* 60 dimensions: seven panels of eight, and four columns more; then there is nothing left. */
TEST(a_space_comes_to_its_end)
{
    set_up(0.3);
    AUTO_OK(cs_krylov, k, cs_krylov_open(&space, false, 10, 6, &k));
    for (int block = 0; block < 8; ++block) {
        OK(cs_krylov_fresh(&k));
        assert_int_equal(k.blocks, block + 1);
        assert_int_equal(k.next_active, block < 7 ? B : 4);
        OK(cs_krylov_step(&k));
    }
    assert_int_equal(cs_basis_columns(&k.v), COLS);
    assert_int_equal(k.next_active, 0);
    ritz_are_right(&k, 0);
    OK(cs_krylov_fresh(&k));
    assert_int_equal(k.next_active, 0);
    cs_krylov_free(&k);

    /* By steps alone, from one block: the last brings what is left. */
    OK(cs_krylov_open(&space, true, 10, 6, &k));
    OK(cs_krylov_fresh(&k));
    for (int step = 0; step < 8; ++step) {
        OK(cs_krylov_step(&k));
    }
    assert_int_equal(cs_basis_columns(&k.v), COLS);
    assert_int_equal(k.next_active, 0);
    relations_hold(&k, true);
    ritz_are_right(&k, 0);
    cs_krylov_free(&k);
    tear_down();
}

/* W_before = W r, and a direction no longer than `noise` is left out. */
TEST(dependent_columns_are_dropped)
{
    enum { RANK = 5 };
    set_up(0.3);
    cs_basis v = {0};
    cs_panel *w = NULL, *z = NULL;
    double h[2 * CS_SQUARE], r[CS_SQUARE], c[CS_SQUARE] = {0}, size = 0;
    int active = 0;
    OK(cs_basis_open(&space, CS_RIGHT, 2, &v));
    OK(space.create(&space, CS_RIGHT, &w));
    OK(cs_basis_random(&v, 1, 0, B, w, h, &active));
    cs_basis_append(&v, &w, active);
    assert_null(w);
    OK(space.create(&space, CS_RIGHT, &z));
    OK(space.create(&space, CS_RIGHT, &w));
    OK(cs_basis_random(&v, 1, 1, 3, z, h, &active));
    assert_int_equal(active, 3); /* as many as were wanted */
    OK(cs_basis_random(&v, 1, 1, B, z, h, &active));
    for (int l = 0; l < B; ++l) {
        for (int j = 0; j < B; ++j) {
            c[l * B + j] = (l < RANK ? 1 : 1e-9) * cos((l + 1) * (j + 2));
        }
    }
    static const double noise[] = {0, 1e-7, 1e-5};
    for (int t = 0; t < 3; ++t) {
        OK(space.combine(&space, 1, &z, c, false, w));
        CS_AUTO(cs_dense) before = panel_of(w, COLS);
        OK(cs_basis_project(&v, 0, w, h, &size));
        assert_true(size > 1 && size < 3);
        OK(cs_basis_orthonormalise(&v, noise[t], w, r, &active));
        assert_int_equal(active, t == 0 ? B : RANK);
        CS_AUTO(cs_dense) after = panel_of(w, COLS), own = product(true, &after, false, &after);
        CS_AUTO(cs_dense) first = columns_of(&v, COLS),
                          cross = product(true, &first, false, &after);
        assert_each(e, 0, CS_SQUARE,
                    fabs(own.data[e] - (e % (B + 1) == 0 && e / B < active)) < 1e-13);
        assert_each(e, 0, CS_SQUARE, r[e] == 0 || e / B < active);
        assert_true(largest(&cross) < 1e-13);
        for (int64_t e = 0; e < COLS * B; ++e) {
            double sum = SUM(l, 0, B, after.data[e % COLS + l * COLS] * r[l * B + e / COLS]);
            assert_true(fabs(sum - before.data[e]) < (t == 0 ? 1e-13 : 1e-7));
        }
    }
    space.destroy(w);
    space.destroy(z);
    cs_basis_free(&v);
    assert_true(v.space == NULL && v.capacity == 0 && v.panels == 0);
    tear_down();
}

/* The first block lies in the guess except for a thousandth of noise, none of it left out. */
TEST(a_guess_is_mixed_with_noise)
{
    enum { GUESSED = 20 };
    set_up(0.3);
    AUTO_OK(cs_krylov, k, cs_krylov_open(&space, false, 4, 5, &k));
    AUTO_OK(cs_dense, guess, cs_dense_init(&guess, COLS, GUESSED));
    for (int64_t j = 0; j < GUESSED; ++j) {
        guess.data[3 * j + j * COLS] =
            j == 7 ? 0 : 1e-8 * (double)(j + 1); /* lengths do not count */
    }
    OK(cs_krylov_first(&k, &guess));
    assert_int_equal(k.next_active, B);
    CS_AUTO(cs_dense) w = panel_of(k.next, COLS);
    assert_true(orthonormality(&w) < 1e-13);
    for (int64_t j = 0; j < GUESSED; ++j) { /* each vector has its part in the block */
        double part = SUM(c, 0, B, w.data[3 * j + c * COLS] * w.data[3 * j + c * COLS]);
        assert_true(j == 7 ? part < 1e-5 : part > 0.01);
    }
    double noise = SUM(e, 0, COLS * B, e % COLS % 3 != 0 ? w.data[e] * w.data[e] : 0);
    /* 40 entries a column of size 1e-3 / sqrt(60), under columns of about sqrt(19). */
    assert_true(sqrt(noise / B) > 1e-5 && sqrt(noise / B) < 1e-3);
    guess.data[5] = NAN;
    assert_fails(cs_krylov_first(&k, &guess), CS_ERR_INPUT, "start vector 0 has norm nan");
    cs_krylov_free(&k);
    tear_down();
}
