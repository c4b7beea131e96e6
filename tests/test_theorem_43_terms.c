/* Theorem 4.3's f and eta against brute force and the network's own forward pass. */
#include "analysis/theorems/theorem_43_private.h"
#include "model_support.h"
#include "theorem_43_support.h"

static void term(const cs_generation_bound_rows *r, int64_t u, int64_t v, int64_t w, double *g)
{
    int64_t e = r->width / r->heads;
    for (int64_t j = 0; j < r->width; ++j) {
        double a =
            SUM(i, j / e * e, j / e * e + e, r->q[u * r->width + i] * r->k[v * r->width + i]);
        g[j] = a * r->v[w * r->width + j];
    }
}

TEST(features_are_the_sums_of_their_terms)
{
    static const int32_t row[] = {0, 2, 3, 5};
    enum { D = 4, COUNT = 4 };
    for (uint64_t seed = 0; seed < 20; ++seed) {
        world w;
        double f[2 * D], g[D];
        make_text(&w, seed);
        AUTO_OK(cs_generation_bound_model, m,
                cs_generation_bound_model_random(VOCAB, D, seed % 2 ? 2 : 1, seed, &m));
        AUTO_OK(cs_generation_bound_rows, r,
                cs_generation_bound_rows_of(&m, w.token[0], LONGEST, &r));
        for (int p = 2; p <= 3; ++p) {
            double sum[D] = {0}, terms = 0;
            cs_generation_bound_features(&r, row, COUNT, p, f);
            for (int u = 0; u < COUNT; ++u) {
                for (int v = 0; v < COUNT; ++v) {
                    for (int x = p == 2 ? v : 0; x < (p == 2 ? v + 1 : COUNT); ++x) {
                        term(&r, row[u], row[v], row[x], g);
                        terms += 1;
                        for (int j = 0; j < D; ++j) {
                            sum[j] += g[j];
                        }
                    }
                }
            }
            assert_true(terms == pow(COUNT, p));
            assert_each(j, 0, D,
                        fabs(sum[j] / terms - f[j]) <= cs_generation_bound_gamma(200) * r.term);
        }
    }
}

static double brute_eta(const cs_generation_bound_rows *r, int p)
{
    double g[4], h[4], largest = 0;
    int64_t n = r->n, count = p == 2 ? n * n : n * n * n;
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            term(r, i % n, i / n % n, p == 2 ? i / n % n : i / n / n, g);
            term(r, j % n, j / n % n, p == 2 ? j / n % n : j / n / n, h);
            double square = SUM(c, 0, r->width, (g[c] - h[c]) * (g[c] - h[c]));
            largest = fmax(largest, square);
        }
    }
    return sqrt(largest);
}

TEST(eta_is_the_largest_difference)
{
    int upper = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        world w;
        make_text(&w, seed);
        AUTO_OK(cs_generation_bound_model, m,
                cs_generation_bound_model_random(VOCAB, 4, (int64_t)1 << seed % 3, seed, &m));
        AUTO_OK(cs_generation_bound_rows, r, cs_generation_bound_rows_of(&m, w.token[0], 5, &r));
        for (int p = 2; p <= 3; ++p) {
            cs_generation_bound_eta eta, bound;
            double truth = brute_eta(&r, p);
            OK(cs_generation_bound_eta_of(&r, p, 0, &eta));
            OK(cs_generation_bound_eta_of(&r, p, 1, &bound));
            assert_true(eta.exact && eta.low == eta.value);
            assert_true(fabs(eta.value - truth) <= eta.error);
            assert_true(eta.error < 1e-9 * truth);
            assert_true(bound.value + bound.error >= truth && bound.low - bound.error <= truth);
            assert_true(bound.exact == (m.heads == 1) || bound.low == bound.value);
            upper += !bound.exact;
        }
    }
    assert_true(upper > 0);
}

/* The network computes in float: q, k and v are sums of `width` products, then the features; every
 * factor errs by gamma of single precision, and 8 (width + n) operations cover them all. */
TEST(features_agree_with_the_network)
{
    enum { N = 5, D = 8 };
    for (uint64_t seed = 0; seed < 8; ++seed) {
        CS_AUTO(cs_backend) *backend = NULL;
        CS_AUTO(cs_model) model = {0};
        CS_AUTO(cs_network) net = {0};
        CS_AUTO(cs_run) *run = NULL;
        CS_AUTO(cs_generation_bound_model) m = {0};
        CS_AUTO(cs_generation_bound_rows) r = {0};
        static const int32_t token[N] = {3, 1, 4, 1, 5}, row[N] = {0, 1, 2, 3, 4};
        cs_model_config config = {.shape.vocab = VOCAB,
                                  .shape.width = D,
                                  .shape.layers = 1,
                                  .shape.heads = seed % 2 ? 2 : 1,
                                  .shape.positions = seed % 4 < 2 ? N : 0};
        cs_model_config_default(CS_ARCH_LINEAR, &config);
        config.head.pooling = 2;
        const cs_network_options wanted = {
            .form = CS_FORM_LINEAR, .batch = 1, .length = N, .queries = 1, .predictions = 1};
        double f[2 * D], got[D], absolute = 0;
        OK(cs_backend_cpu(1, &backend));
        OK(cs_model_init(&config, backend, false, &model));
        OK(cs_model_randomise(&model, seed));
        OK(cs_generation_bound_model_of(&model, &m));
        assert_int_equal(m.positions, config.shape.positions);
        OK(cs_generation_bound_rows_of(&m, token, N, &r));
        cs_generation_bound_features(&r, row, N, 2, f);
        OK(cs_network_build(&model, &wanted, &net));
        OK(cs_run_init(&net.graph, &model.params, &run));
        OK(cs_run_rows(run, net.rows, 1, N));
        OK(cs_run_rows(run, net.query.rows, 1, 1));
        OK(cs_run_rows(run, net.loss.rows, 1, 1));
        for (int i = 0; i < N; ++i) {
            cs_run_index(run, net.token)[i] = token[i];
            cs_run_index(run, net.vis)[i] = 0;
            if (net.position != CS_NONE) {
                cs_run_index(run, net.position)[i] = i;
            }
        }
        cs_run_index(run, net.query.lim)[0] = 0;
        cs_run_index(run, net.loss.predict)[0] = 0;
        OK(cs_run_upload(run, (cs_run_key){0}));
        OK(cs_run_forward(run));
        OK(cs_run_get(run, net.loss.features, got));
        /* Norms of x and of the projections bound what a term can be with all signs dropped. */
        double x = 0;
        for (int i = 0; i < N; ++i) {
            double square = 0;
            for (int j = 0; j < D; ++j) {
                double at = m.token[token[i] * D + j] + (m.position ? m.position[i * D + j] : 0);
                square += at * at;
            }
            x = fmax(x, square);
        }
        double w = SUM(j, 0, 3 * D * D, m.qkv[j] * m.qkv[j]);
        absolute = pow(x, 1.5) * pow(w, 1.5);
        assert_each(j, 0, D, fabs(got[j] - f[j]) <= 8 * (D + N) * (FLT_EPSILON / 2) * absolute);
        assert_true(8 * (D + N) * (FLT_EPSILON / 2) * absolute < 1); /* the tolerance says much */
    }
}
