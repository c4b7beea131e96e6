/* The space of the block solver: its kernels by exact sums, its panels against dense products. */
#include "linalg/space.h"
#include "linalg/space_private.h"
#include "linalg/tile_private.h"
#include "linalg_support.h"

enum { B = CS_PANEL };

/* Entries of whole numbers: sums are exact, whatever their order. */
TEST(kernels_count_alike)
{
    enum { ROWS = 24, P = 3 };
    const cs_space_kernels *const all[] = CS_SIMD_TABLES(cs_space_kernels);
    int count = cs_simd_sets();
    assert_string_equal(all[0]->name, "base");
    double *panel[P], *w = cs_alloc_aligned(ROWS, B * sizeof *w), c[P * B * B], h[B * B],
                      to[16 * B];
    for (int q = 0; q < P; ++q) {
        panel[q] = cs_alloc_aligned(ROWS, B * sizeof **panel);
        for (int i = 0; i < ROWS * B; ++i) {
            panel[q][i] = (i * (q + 3)) % 17 - 8;
            w[i] = i * 5 % 13 - 6;
        }
    }
    for (int e = 0; e < P * B * B; ++e) {
        c[e] = e * 7 % 11 - 5;
    }
    for (int n = 0; n < count; ++n) {
        memset(h, 0, sizeof h);
        h[5] = 100;
        all[n]->gram(ROWS, panel[1], w, h);
        for (int l = 0; l < B; ++l) {
            for (int j = 0; j < B; ++j) {
                double want = l * B + j == 5 ? 100 : 0;
                want += SUM(i, 0, ROWS, panel[1][i * B + l] * w[i * B + j]);
                assert_true(h[l * B + j] == want);
            }
        }
        for (int keep = 0; keep < 2; ++keep) {
            memcpy(to, w, sizeof to);
            all[n]->combine(16, 8, P, panel, c, keep, to);
            for (int e = 0; e < 16 * B; ++e) {
                double want = keep ? w[e] : 0;
                want +=
                    SUM(q, 0, P,
                        SUM(l, 0, B, panel[q][(8 + e / B) * B + l] * c[(q * B + l) * B + e % B]));
                assert_true(to[e] == want);
            }
        }
    }
    for (int q = 0; q < P; ++q) {
        cs_free_aligned(panel[q]);
    }
    cs_free_aligned(w);
}

/* gram, combine and rotate against dense products, for lengths around the padding and the runs, and
 * more panels than are taken together. Sums of P * B terms of size 1: 2 (P B)^2 eps is 1e-11. */
TEST(panels_are_matrices)
{
    static const int64_t lengths[] = {1, 7, 8, 9, 1030, 3001};
    enum { P = 19, Q = 10 };
    for (size_t t = 0; t < sizeof lengths / sizeof *lengths; ++t) {
        int64_t n = lengths[t];
        CS_AUTO(cs_csr) a = random_sparse(n, n, 1.0 / (double)n, 3), at = {0};
        cs_linop_csr_ctx ctx;
        OK(cs_csr_transpose(&a, &at));
        const cs_linop op = cs_linop_csr(&ctx, &a, &at, 0);
        CS_AUTO_BY(cs_space_cpu_free, cs_space) s = {0};
        OK(cs_space_cpu(&op, 2, &s));
        cs_panel *p[P + 1];
        cs_dense v, w, h, c, want, got;
        OK(cs_dense_init(&v, n, P * B));
        OK(cs_dense_init(&w, n, B));
        OK(cs_dense_init(&h, P * B, B));
        OK(cs_dense_init(&c, P * B, Q * B));
        OK(cs_dense_init(&want, n, Q * B));
        OK(cs_dense_init(&got, n, Q * B));
        fill_normal(&v, 30);
        fill_normal(&w, 31);
        fill_normal(&c, 32);
        for (int q = 0; q <= P; ++q) {
            OK(s.create(&s, CS_RIGHT, &p[q]));
            OK(q < P ? s.put(&s, &v, (int64_t)q * B, B, p[q]) : s.put(&s, &w, 0, B, p[q]));
        }
        double squares[P * B * B], bound = 100 * sqrt((double)n) * (double)n * DBL_EPSILON;
        OK(s.gram(&s, P, p, p[P], squares));
        OK(cs_gemm(true, false, 1, &v, &w, 0, &h));
        for (int64_t i = 0; i < P * B; ++i) {
            for (int64_t j = 0; j < B; ++j) {
                assert_true(fabs(squares[i * B + j] - h.data[i + j * h.ld]) < bound);
                squares[i * B + j] = h.data[i + j * h.ld] = 0.01 * (double)(i - 2 * j);
            }
        }
        OK(s.combine(&s, P, p, squares, true, p[P]));
        OK(cs_gemm(false, false, 1, &v, &h, 1, &w));
        got.cols = B;
        OK(s.get(&s, p[P], B, 0, &got));
        assert_true(max_abs_difference(&got, &w) < 1e-11);
        OK(s.combine(&s, P, p, squares, false, p[P]));
        OK(cs_gemm(false, false, 1, &v, &h, 0, &w));
        OK(s.get(&s, p[P], B, 0, &got));
        assert_true(max_abs_difference(&got, &w) < 1e-11);
        OK(s.combine(&s, 0, NULL, NULL, false, p[P]));
        OK(s.get(&s, p[P], B, 0, &got));
        assert_each(i, 0, n * B, got.data[i] == 0);
        got.cols = Q * B;
        OK(s.rotate(&s, P, Q, p, &c));
        OK(cs_gemm(false, false, 1, &v, &c, 0, &want));
        for (int q = 0; q < Q; ++q) {
            OK(s.get(&s, p[q], B, (int64_t)q * B, &got));
        }
        assert_true(max_abs_difference(&got, &want) < 1e-11);
        for (int q = 0; q <= P; ++q) {
            s.destroy(p[q]);
        }
        cs_dense *all[] = {&v, &w, &h, &c, &want, &got};
        for (size_t d = 0; d < sizeof all / sizeof *all; ++d) {
            cs_dense_free(all[d]);
        }
    }
}
