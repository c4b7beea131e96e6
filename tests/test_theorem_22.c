/* Theorem 2.2 of MAE-LM: the corrected bounds on thousands of random layers, where they are sharp,
 * the printed one's counterexamples to the digit, violations that are planted, a model's own heads,
 * what is refused. */
#include "analysis/theorems/theorem_22.h"
#include "io_support.h"
#include "model_support.h"
#include "statement_support.h"
#include "train_support.h"

TEST(corrected_bounds_hold)
{
    for (uint64_t seed = 0; seed < 5; ++seed) {
        AUTO_OK(cs_statements, list, cs_theorem_22(0, seed, &list));
        assert_int_equal(list.count, 8);
        for (int64_t i = 0; i < list.count; ++i) {
            const cs_statement *s = &list.item[i];
            bool holds = s->form == CS_CORRECTED || strcmp(s->id, "2.2") == 0;
            assert_int_equal(s->verdict, holds ? CS_PASS : CS_FAIL);
            assert_true(holds == !s->counterexample);
            /* A bound on the error is of use only when it is small. */
            assert_true(s->error < 1e-6 * fmax(fabs(s->lhs), fabs(s->rhs)));
        }
        const char *sentence =
            "e can rescale the vector norm of each row in H_M so that U has a row sum of one";
        assert_non_null(strstr(statement_of(&list, "2.2-u1", CS_PRINTED)->text, sentence));
        assert_non_null(strstr(statement_of(&list, "2.2-u1-norm", CS_PRINTED)->text, sentence));
        assert_true(statement_of(&list, "2.2-u1-norm", CS_PRINTED)->rhs == -1);
        assert_true(statement_of(&list, "2.2-sharp", CS_CORRECTED)->example);
        const cs_statement *tight = statement_of(&list, "2.2", CS_CORRECTED);
        assert_false(tight->example);
        assert_true(detail_of(tight, "evaluated") == 2000);
        double least = detail_of(tight, "least_looseness");
        assert_true(least > 1 && least < 1.5);
    }
}

/* Same seed, same bits. */
TEST(seeds_reproduce)
{
    AUTO_OK(cs_statements, a, cs_theorem_22(50, 3, &a));
    AUTO_OK(cs_statements, b, cs_theorem_22(50, 3, &b));
    AUTO_OK(cs_statements, c, cs_theorem_22(50, 4, &c));
    assert_memory_equal(&a.item[0].lhs, &b.item[0].lhs, sizeof(double));
    assert_true(memcmp(&a.item[0].lhs, &c.item[0].lhs, sizeof(double)) != 0);
}

/* --- single layers ------------------------------------------------------------------------------
 */

/* Width 1. */
typedef struct {
    double h[4], u[8], wqk, wvo;
    int64_t n, m;
} scalar;

static cs_22_sides sides_of(const scalar *s, const double *key)
{
    scalar x = *s;
    const cs_dense h = {x.n, 1, x.n, x.h}, u = {x.m, x.n, x.m, x.u}, qk = {1, 1, 1, &x.wqk},
                   vo = {1, 1, 1, &x.wvo};
    cs_22_sides out;
    OK(cs_22_evaluate(&(cs_22_layer){.h = &h, .u = &u, .wqk = &qk, .wvo = &vo, .key = key}, &out));
    return out;
}

/* H_R = h +- r with h = -r/2, U = I, W^QK = w: delta = 2 w r^2, and the row h + r attains 2 r
 * tanh(w r^2 / 2) |W^VO|. */
TEST(bound_is_attained)
{
    for (int i = 0; i < 40; ++i) {
        double r = 0.3 + 0.05 * i, w = 0.2 + 0.1 * i, v = i % 2 ? -1.5 : 2;
        scalar s = {{r / 2, -1.5 * r}, {1, 0, 0, 1}, w, v, 2, 2};
        cs_22_sides got = sides_of(&s, NULL);
        double want = 2 * r * tanh(w * r * r / 2) * fabs(v);
        assert_true(fabs(got.delta - 2 * w * r * r) <= 1e-13 * got.delta);
        assert_true(fabs(got.lhs - want) <= got.error && fabs(got.tight - want) <= got.error);
        assert_true(got.cubic >= got.tight && got.tight <= got.trivial && got.u_sum == 0);
        assert_true(got.error < 1e-11);
    }
}

TEST(printed_counterexample)
{
    scalar s = {{1.1, 0.9}, {-0.5, -0.5}, 1, 1, 2, 1};
    cs_22_sides got = sides_of(&s, NULL);
    assert_true(fabs(got.printed_lhs - 0.0352) < 5e-5 && fabs(got.printed_rhs - 0.0226) < 5e-5);
    assert_true(fabs(got.printed_rhs - 8 * pow(0.02, 1.5)) < 1e-15 && got.u_sum == 2);
    /* With U 1 = 1 on the same real rows it holds. */
    s = (scalar){{1.1, 0.9}, {0.5, 0.5}, 1, 1, 2, 1};
    got = sides_of(&s, NULL);
    assert_true(got.printed_lhs < got.printed_rhs && got.lhs < got.tight && got.u_sum == 0);
}

/* A bias of the queries is a constant component of the rows that the weights read. */
TEST(query_bias)
{
    enum { N = 5, M = 3, D = 4, E = 3 };
    double h[N * (D + 1)], u[M * N], qk[D * D], vo[D * E], key[D],
        big[(D + 1) * (D + 1)] = {0}, wide[(D + 1) * E] = {0};
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    for (int i = 0; i < N * D; ++i) {
        h[i] = cs_rng_normal(&rng);
    }
    for (int i = 0; i < M * N; ++i) {
        u[i] = 1.0 / N + 0.4 * (i / M == 0 ? 1 : i / M == 1 ? -1 : 0);
    }
    for (int i = 0; i < N; ++i) {
        h[N * D + i] = 1;
    }
    for (int c = 0; c < D; ++c) {
        key[c] = big[D + c * (D + 1)] = cs_rng_normal(&rng);
        for (int r = 0; r < D; ++r) {
            qk[r + c * D] = big[r + c * (D + 1)] = cs_rng_normal(&rng);
        }
    }
    for (int c = 0; c < E; ++c) {
        for (int r = 0; r < D; ++r) {
            vo[r + c * D] = wide[r + c * (D + 1)] = cs_rng_normal(&rng);
        }
    }
    const cs_dense h1 = {N, D, N, h}, h2 = {N, D + 1, N, h}, u0 = {M, N, M, u};
    const cs_dense qk1 = {D, D, D, qk}, qk2 = {D + 1, D + 1, D + 1, big};
    const cs_dense vo1 = {D, E, D, vo}, vo2 = {D + 1, E, D + 1, wide};
    cs_22_sides a, b;
    OK(cs_22_evaluate(&(cs_22_layer){.h = &h1, .u = &u0, .wqk = &qk1, .wvo = &vo1, .key = key},
                      &a));
    OK(cs_22_evaluate(&(cs_22_layer){.h = &h2, .u = &u0, .wqk = &qk2, .wvo = &vo2}, &b));
    assert_true(fabs(a.lhs - b.lhs) <= a.error + b.error && fabs(a.tight - b.tight) <= a.error);
    assert_true(a.lhs < a.tight && a.error < 1e-9);
}

/* Violations of the bound are found: a layer without U 1 = 1, and a changed side. */
TEST(violations_are_caught)
{
    cs_22_sides sides[3];
    scalar s = {{0.5, -1}, {0.5, 0.5}, 1, 1, 2, 1};
    sides[0] = sides_of(&s, NULL);
    s.wqk = 0.3;
    sides[2] = sides_of(&s, NULL);
    s = (scalar){{1.1, 0.9}, {-0.5, -0.5}, 1, 1, 2, 1};
    sides[1] = sides_of(&s, NULL);
    int64_t worst = -1;
    AUTO_OK(cs_statements, list, cs_22_bounds(sides, 3, CS_22_TIGHT, "planted", &worst, &list));
    assert_int_equal(worst, 1);
    assert_int_equal(list.item[0].verdict, CS_FAIL);
    assert_true(
        json_is_false(json_object_get(json_array_get(list.item[0].assumptions, 0), "holds")));
    assert_true(cs_statements_failed(&list) && strstr(list.item[0].counterexample, "layer 1"));
    sides[1] = sides[0];
    OK(cs_22_bounds(sides, 3, CS_22_TIGHT, "sound", &worst, &list));
    assert_int_equal(list.item[1].verdict, CS_PASS);
    sides[2].lhs = sides[2].tight * (1 + 1e-9) + sides[2].error;
    OK(cs_22_bounds(sides, 3, CS_22_TIGHT, "tampered", &worst, &list));
    assert_true(worst == 2 && list.item[2].verdict == CS_FAIL);
    OK(cs_22_bounds(sides, 3, CS_22_CUBIC, "still below the cubic one", &worst, &list));
    assert_int_equal(list.item[3].verdict, CS_PASS);
}

/* A layer that overflows is neither lost nor passed: it makes the statement INCONCLUSIVE, unless
 * another one fails. */
TEST(overflow_is_not_a_pass)
{
    cs_22_sides sides[3];
    scalar s = {{0.5, -1}, {0.5, 0.5}, 1, 1, 2, 1};
    sides[0] = sides[2] = sides_of(&s, NULL);
    s = (scalar){{1e150, -1e150}, {0.5, 0.5}, 1e20, 1, 2, 1};
    sides[1] = sides_of(&s, NULL); /* infinite logits: softmax is not a number */
    assert_true(isnan(sides[1].lhs) && isinf(sides[1].cubic) && isnan(sides[1].printed_lhs));
    CS_AUTO(cs_statements) list = {0};
    int64_t worst;
    for (int which = 0; which < 3; ++which) {
        OK(cs_22_bounds(sides, 3, (cs_22_bound)which, "overflow", &worst, &list));
        const cs_statement *last = &list.item[which];
        assert_true(worst == 1 && last->verdict == CS_INCONCLUSIVE && !last->attained);
        assert_true(!last->counterexample && detail_of(last, "not_finite") == 1);
        assert_true(isfinite(detail_of(last, "median_looseness")));
    }
    assert_ptr_equal(cs_statements_inconclusive(&list), &list.item[0]);
    /* one side or the error alone */
    const double odd[] = {NAN, INFINITY};
    for (int k = 0; k < 6; ++k) {
        cs_22_sides bent = sides[0];
        *(k < 2 ? &bent.lhs : k < 4 ? &bent.tight : &bent.error) = odd[k % 2];
        sides[1] = bent;
        OK(cs_22_bounds(sides, 3, CS_22_TIGHT, "bent", &worst, &list));
        assert_true(worst == 1 && list.item[list.count - 1].verdict == CS_INCONCLUSIVE);
        OK(cs_22_bounds(&bent, 1, CS_22_TIGHT, "alone", &worst, &list));
        assert_true(worst == 0 && list.item[list.count - 1].verdict == CS_INCONCLUSIVE);
    }
    sides[2].lhs = sides[2].tight * 2 + sides[2].error;
    OK(cs_22_bounds(sides, 3, CS_22_TIGHT, "fails besides", &worst, &list));
    assert_true(worst == 2 && list.item[list.count - 1].verdict == CS_FAIL);
}

/* H_R' is handed out. */
TEST(next_rows)
{
    double h[] = {1, 3}, u[] = {1, 0, 0, 1}, qk = 0, vo = 2, out[2] = {0};
    const cs_dense hd = {2, 1, 2, h}, ud = {2, 2, 2, u}, qkd = {1, 1, 1, &qk}, vod = {1, 1, 1, &vo};
    cs_dense next = {2, 1, 2, out};
    cs_22_sides s;
    OK(cs_22_evaluate(&(cs_22_layer){.h = &hd, .u = &ud, .wqk = &qkd, .wvo = &vod, .next = &next},
                      &s));
    assert_true(fabs(out[0] - 4) < 1e-15 && fabs(out[1] - 4) < 1e-15); /* plain mean, doubled */
    assert_true(s.delta == 0 && s.tight == 0 && s.lhs <= s.error);
}

/* --- a model ------------------------------------------------------------------------------------
 */

static const recipe MASKED = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM};

TEST(heads_of_a_model)
{
    static const cs_arch arch[] = {CS_ARCH_ROBERTA_PRELAYERNORM, CS_ARCH_ROBERTA};
    for (int a = 0; a < 2; ++a) {
        const recipe r = {.kind = CS_OBJ_MASKED, .arch = arch[a]};
        CS_AUTO_BY(free_training, training) t = make_training(&r, "");
        const cs_hidden_options hidden = {.mask_ratio = 0.3, .mask_seed = 2};
        CS_AUTO(cs_statements) one = {0}, three = {0};
        bool done = false;
        for (int threads = 1; threads <= 3; threads += 2) {
            const cs_22_model_options o = {.hidden = &hidden, .pieces = 3, .threads = threads};
            OK(cs_theorem_22_model(&t.model, &t.corpus, "tiny", &o, threads == 1 ? &one : &three,
                                   &done));
            assert_true(done);
        }
        assert_int_equal(one.count, 2 * t.model.config.shape.layers);
        for (int64_t i = 0; i < one.count; ++i) {
            const cs_statement *s = &one.item[i];
            assert_int_equal(s->verdict, CS_PASS);
            assert_true(detail_of(s, "evaluated") == 6 && s->lhs > 0);
            assert_memory_equal(&s->lhs, &three.item[i].lhs, sizeof s->lhs);
            assert_memory_equal(&s->rhs, &three.item[i].rhs, sizeof s->rhs);
            assert_true(json_is_true(json_object_get(json_array_get(s->assumptions, 0), "holds")));
        }
    }
}

TEST(no_form_no_statement)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED, "");
    cs_hidden_options hidden = {.mask_ratio = 0.3};
    const cs_22_model_options o = {.hidden = &hidden};
    cs_statements list = {0};
    bool done = true;
    t.model.config.position.relative_buckets = 8;
    OK(cs_theorem_22_model(&t.model, &t.corpus, "relative", &o, &list, &done));
    assert_true(!done && list.count == 0);
    t.model.config.position.relative_buckets = 0;
    hidden.mask_keep = 1; /* no [MASK] is left */
    OK(cs_theorem_22_model(&t.model, &t.corpus, "plain", &o, &list, &done));
    assert_true(!done && list.count == 0);
}

/* --- errors -------------------------------------------------------------------------------------
 */

TEST(bad_layers)
{
    double x[4] = {1, 2, 3, 4}, nan = NAN;
    const cs_dense h = {2, 1, 2, x}, u = {1, 2, 1, x}, w = {1, 1, 1, x}, bad = {1, 1, 1, &nan};
    cs_22_sides s;
    assert_fails(cs_22_evaluate(&(cs_22_layer){.h = &h, .u = &w, .wqk = &w, .wvo = &w}, &s),
                 CS_ERR_USAGE, "U 1 x 1");
    assert_fails(cs_22_evaluate(&(cs_22_layer){.h = &h, .u = &u, .wqk = &u, .wvo = &w}, &s),
                 CS_ERR_USAGE, "W^QK 1 x 2");
    assert_fails(cs_22_evaluate(&(cs_22_layer){.h = &h, .u = &u, .wqk = &bad, .wvo = &w}, &s),
                 CS_ERR_INPUT, "layer has a value that is not finite");
}

static cs_status audit_once(const char *path)
{
    (void)path;
    CS_AUTO(cs_statements) list = {0};
    cs_status status = cs_theorem_22(2, 0, &list);
    return status;
}

static training held;

static cs_status heads_once(const char *path)
{
    (void)path;
    CS_AUTO(cs_statements) list = {0};
    const cs_hidden_options hidden = {.mask_ratio = 0.3};
    const cs_22_model_options o = {.hidden = &hidden, .pieces = 1, .threads = 1};
    bool done;
    cs_status status = cs_theorem_22_model(&held.model, &held.corpus, "tiny", &o, &list, &done);
    return status;
}

TEST(allocations)
{
    fail_each_allocation(audit_once, "");
    held = make_training(&MASKED, "");
    fail_each_allocation(heads_once, "");
    free_training(&held);
}
