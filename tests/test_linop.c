/* linop: every operator and composition is adjoint to its transpose. */
#include "linalg_support.h"

/* <A x, y> = <x, A^T y> for every pair of columns, and A X against `want` (rows x cols) if given.
 */
static void adjoint_pair(const cs_linop *op, const cs_dense *want)
{
    enum { K = 3 };
    AUTO_OK(cs_dense, x, cs_dense_init(&x, op->cols, K));
    AUTO_OK(cs_dense, y, cs_dense_init(&y, op->rows, K));
    AUTO_OK(cs_dense, ax, cs_dense_init(&ax, op->rows, K));
    AUTO_OK(cs_dense, aty, cs_dense_init(&aty, op->cols, K));
    AUTO_OK(cs_dense, left, cs_dense_init(&left, K, K));
    AUTO_OK(cs_dense, right, cs_dense_init(&right, K, K));
    AUTO_OK(cs_dense, product, cs_dense_init(&product, op->rows, K));
    fill_normal(&x, 20);
    fill_normal(&y, 21);
    for (int again = 0; again < 2; ++again) { /* scratch is reused the second time */
        OK(cs_linop_apply(op, false, &x, &ax));
        OK(cs_linop_apply(op, true, &y, &aty));
    }
    OK(cs_gemm(true, false, 1, &ax, &y, 0, &left));
    OK(cs_gemm(true, false, 1, &x, &aty, 0, &right));
    /* Sums of rows * cols < 1200 terms of size up to about 100. */
    assert_true(max_abs_difference(&left, &right) < 1200 * 100 * DBL_EPSILON);
    if (want) {
        OK(cs_gemm(false, false, 1, want, &x, 0, &product));
        assert_true(max_abs_difference(&product, &ax) < 1200 * 100 * DBL_EPSILON);
    }
}

/* Panels of eight columns stored row by row give what apply gives, to rounding. */
static void panels_agree(const cs_linop *op)
{
    cs_dense x, y, px, py, want;
    OK(cs_dense_init(&x, op->cols, CS_PANEL));
    OK(cs_dense_init(&y, op->rows, CS_PANEL));
    OK(cs_dense_init(&px, CS_PANEL, op->cols));
    OK(cs_dense_init(&py, CS_PANEL, op->rows));
    fill_normal(&px, 22);
    for (int turn = 0; turn < 2; ++turn) {
        cs_dense *in = turn ? &y : &x, *out = turn ? &x : &y, *pin = turn ? &py : &px,
                 *pout = turn ? &px : &py;
        for (int64_t i = 0; i < in->rows; ++i) {
            for (int64_t j = 0; j < CS_PANEL; ++j) {
                in->data[i + j * in->ld] = pin->data[j + i * pin->ld];
            }
        }
        OK(cs_linop_apply(op, turn, in, out));
        OK(cs_linop_panel(op, turn, pin->data, pout->data));
        OK(cs_dense_init(&want, CS_PANEL, out->rows));
        for (int64_t i = 0; i < out->rows; ++i) {
            for (int64_t j = 0; j < CS_PANEL; ++j) {
                want.data[j + i * want.ld] = out->data[i + j * out->ld];
            }
        }
        assert_true(max_abs_difference(&want, pout) < 1200 * 1000 * DBL_EPSILON);
        cs_dense_free(&want);
    }
    cs_dense_free(&x);
    cs_dense_free(&y);
    cs_dense_free(&px);
    cs_dense_free(&py);
}

/* The normal products against the two products one after the other. */
static void normals_agree(const cs_linop *op)
{
    const int64_t sides[2] = {op->cols, op->rows};
    const cs_linop back = cs_linop_transposed(op), *sided[2] = {op, &back};
    for (int turn = 0; turn < 2; ++turn) {
        cs_dense x, half, want, got;
        OK(cs_dense_init(&x, CS_PANEL, sides[turn]));
        OK(cs_dense_init(&half, CS_PANEL, sides[1 - turn]));
        OK(cs_dense_init(&want, CS_PANEL, sides[turn]));
        OK(cs_dense_init(&got, CS_PANEL, sides[turn]));
        fill_normal(&x, 24);
        fill_normal(&got, 25); /* nothing of it may be left */
        OK(cs_linop_panel(op, turn, x.data, half.data));
        OK(cs_linop_panel(op, !turn, half.data, want.data));
        double *work = cs_csr_panel_alloc(sided[turn]->work_size / CS_PANEL);
        assert_non_null(work);
        for (int again = 0; again < 2; ++again) { /* a buffer that has been used */
            OK(cs_linop_normal(sided[turn], x.data, got.data, work));
        }
        double scale = LARGEST(e, 0, CS_PANEL * sides[turn], fabs(want.data[e]));
        assert_true(max_abs_difference(&want, &got) < 1e4 * DBL_EPSILON * scale);
        cs_free_aligned(work);
        cs_dense *all[] = {&x, &half, &want, &got};
        for (size_t d = 0; d < sizeof all / sizeof *all; ++d) {
            cs_dense_free(all[d]);
        }
    }
}

/* Chunks enough for several threads: the same bits for any number of them; where a column has too few
 * nonzeros, one product after the other, by a panel of the longer side. */
TEST(normal_products)
{
    enum { M = 3000, N = 50 };
    CS_AUTO(cs_csr) a = random_sparse(M, N, 0.3, 9), at = {0}, thin = {0};
    OK(cs_csr_transpose(&a, &at));
    assert_true(cs_csr_normal_work_size(&a) > 3 * N * CS_PANEL && !cs_csr_normal_pays(&at));
    AUTO_OK(cs_dense, x, cs_dense_init(&x, CS_PANEL, N));
    AUTO_OK(cs_dense, first, cs_dense_init(&first, CS_PANEL, N));
    AUTO_OK(cs_dense, y, cs_dense_init(&y, CS_PANEL, N));
    fill_normal(&x, 26);
    double *work = cs_csr_panel_alloc(cs_csr_normal_work_size(&a) / CS_PANEL);
    assert_non_null(work);
    for (int threads = 1; threads <= 5; ++threads) {
        cs_dense *to = threads == 1 ? &first : &y;
        OK(cs_csr_apply_normal(&a, x.data, to->data, work, threads));
        if (threads > 1) {
            assert_memory_equal(y.data, first.data, N * CS_PANEL * sizeof(double));
        }
    }
    cs_linop_csr_ctx ctx;
    cs_linop op = cs_linop_csr(&ctx, &a, &at, 2);
    double *half = cs_csr_panel_alloc(M);
    assert_non_null(half);
    OK(cs_linop_panel(&op, false, x.data, half));
    OK(cs_linop_panel(&op, true, half, y.data));
    double *half_too = cs_csr_panel_alloc(M);
    assert_non_null(half_too);
    AUTO_OK(cs_dense, y_too, cs_dense_init(&y_too, CS_PANEL, N));
    OK(cs_csr_apply_both(&a, x.data, half, half_too, y_too.data, work, 2));
    assert_memory_equal(half_too, half, M * CS_PANEL * sizeof(double));
    assert_memory_equal(y_too.data, first.data, N * CS_PANEL * sizeof(double)); /* in its order */
    cs_free_aligned(half_too);
    /* Sums of up to 1,000 terms of size up to about 100, of sums of 50. */
    assert_true(max_abs_difference(&first, &y) < 1000 * 100 * 50 * DBL_EPSILON);
    assert_int_equal(op.work_size_t, N * CS_PANEL);
    normals_agree(&op);
    thin = random_sparse(3000, 3000, 0.003, 10); /* 9 a column */
    assert_false(cs_csr_normal_pays(&thin));
    cs_free_aligned(half);
    cs_free_aligned(work);
}

/* Its own triplets taken out, three of them: A^T A - V diag(s^2) V^T. */
TEST(a_deflated_normal_product)
{
    enum { M = 40, N = 25, P = 3 };
    CS_AUTO(cs_csr) a = random_sparse(M, N, 0.2, 7), at = {0};
    double s[N];
    OK(cs_csr_transpose(&a, &at));
    AUTO_OK(cs_dense, copy, cs_csr_to_dense(&a, &copy));
    AUTO_OK(cs_dense, u, cs_dense_init(&u, M, N));
    AUTO_OK(cs_dense, vt, cs_dense_init(&vt, N, N));
    AUTO_OK(cs_dense, v, cs_dense_init(&v, N, P));
    OK(cs_dense_svd(&copy, s, &u, &vt));
    u.cols = P;
    for (int64_t j = 0; j < P; ++j) {
        for (int64_t i = 0; i < N; ++i) {
            v.data[i + j * v.ld] = vt.data[j + i * vt.ld];
        }
    }
    cs_linop_csr_ctx csr;
    cs_linop_deflated_ctx ctx;
    const cs_linop op = cs_linop_csr(&csr, &a, &at, 2);
    const cs_linop deflated = cs_linop_deflated(&ctx, &op, &u, s, &v, true);
    panels_agree(&deflated);
    normals_agree(&deflated);
    cs_linop turned = cs_linop_transposed(&deflated);
    normals_agree(&turned);
}

/* Any vectors: the normal product has a correction of rank two, on both sides. */
TEST(an_operator_minus_an_outer_product)
{
    enum { M = 40, N = 25 };
    CS_AUTO(cs_csr) a = random_sparse(M, N, 0.2, 7), at = {0};
    OK(cs_csr_transpose(&a, &at));
    AUTO_OK(cs_dense, dense, cs_csr_to_dense(&a, &dense));
    AUTO_OK(cs_dense, l, cs_dense_init(&l, M, 1));
    AUTO_OK(cs_dense, r, cs_dense_init(&r, N, 1));
    fill_normal(&l, 30);
    fill_normal(&r, 31);
    OK(cs_gemm(false, true, -1, &l, &r, 1, &dense));
    cs_linop_csr_ctx csr;
    const cs_linop op = cs_linop_csr(&csr, &a, &at, 2), back = cs_linop_transposed(&op);
    CS_AUTO(cs_linop_outer_ctx) ctx = {0}, back_ctx = {0};
    cs_linop outer = {0}, of_back = {0};
    OK(cs_linop_outer(&ctx, &op, l.data, r.data, &outer));
    OK(cs_linop_outer(&back_ctx, &back, r.data, l.data, &of_back));
    cs_linop turned = cs_linop_transposed(&outer), twice = cs_linop_transposed(&of_back);
    const cs_linop *const all[] = {&outer, &turned, &of_back, &twice};
    for (int i = 0; i < 4; ++i) {
        adjoint_pair(all[i], all[i]->rows == M ? &dense : NULL);
        panels_agree(all[i]);
        normals_agree(all[i]);
    }
    cs_linop bare = op;
    bare.normal = NULL;
    cs_linop_outer_ctx_free(&ctx);
    OK(cs_linop_outer(&ctx, &bare, l.data, r.data, &outer));
    assert_null(outer.normal);
}

TEST(operators_are_adjoint_to_their_transposes)
{
    enum { M = 40, N = 25, P = 4 };
    CS_AUTO(cs_csr) a = random_sparse(M, N, 0.2, 7), at = {0};
    OK(cs_csr_transpose(&a, &at));
    AUTO_OK(cs_dense, dense, cs_csr_to_dense(&a, &dense));
    AUTO_OK(cs_dense, u, cs_dense_init(&u, M, P));
    AUTO_OK(cs_dense, v, cs_dense_init(&v, N, P));
    fill_normal(&u, 8);
    fill_normal(&v, 9);
    ARRAY(double, s, P, l, l + 0.5);
    cs_linop_csr_ctx csr_ctx;
    cs_linop op = cs_linop_csr(&csr_ctx, &a, &at, 2);
    adjoint_pair(&op, &dense);
    cs_linop turned = cs_linop_transposed(&op);
    assert_int_equal(turned.rows, N);
    adjoint_pair(&turned, NULL);
    cs_linop back = cs_linop_transposed(&turned);
    adjoint_pair(&back, &dense);

    cs_linop_deflated_ctx deflated_ctx, deflated_turned_ctx;
    cs_linop deflated = cs_linop_deflated(&deflated_ctx, &op, &u, s, &v, false);
    for (int j = 0; j < N; ++j) {
        for (int i = 0; i < M; ++i) {
            for (int l = 0; l < P; ++l) {
                dense.data[i + j * M] -= u.data[i + l * M] * s[l] * v.data[j + l * N];
            }
        }
    }
    adjoint_pair(&deflated, &dense);
    cs_linop deflated_turned = cs_linop_deflated(&deflated_turned_ctx, &turned, &v, s, &u, false);
    cs_linop deflated_back = cs_linop_transposed(&deflated_turned);
    adjoint_pair(&deflated_back, &dense);

    panels_agree(&op);
    panels_agree(&turned);
    panels_agree(&deflated);
    normals_agree(&op);
    normals_agree(&turned);
    assert_null(deflated.normal); /* the triplets are not those of the deflated operator */
    cs_linop bare = op;
    bare.panel = NULL;
    deflated = cs_linop_deflated(&deflated_ctx, &bare, &u, s, &v, true);
    assert_null(deflated.panel); /* what it is made of has none */
    assert_null(deflated.normal);
}
