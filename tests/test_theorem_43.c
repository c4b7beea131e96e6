/* Theorem 4.3: closed forms, the bounds on random models by the hundred, that a broken eta is found
 * out, and that nothing passes by overflow. f and eta are in test_theorem_43_terms.c. */
#include "analysis/theorems/theorem_43_private.h"
#include "base/threads.h"
#include "model_support.h"
#include "statement_support.h"
#include "theorem_43_support.h"

/* --- the audit ---------------------------------------------------------------------------------*/

static void audit(const cs_generation_bound_model *m, const cs_generation_bound_text *text,
                  const cs_generation_bound_options *o, cs_generation_bound_audit *a,
                  cs_statements *list)
{
    OK(cs_generation_bound_audit_of(m, text, o, a));
    if (list) {
        OK(cs_generation_bound_state(m, a, "test", list));
    }
}

/* x = 1 everywhere: z(X) = |X|^p (1, -2); tokens 0 only, X_- by (1/4, 3/4). */
TEST(equal_tokens)
{
    static const double value[] = {1, 1}, w[] = {1, -2}, negative[] = {1, 3};
    static const int32_t token[5] = {0};
    const int32_t *const start[] = {token};
    const int64_t length = 5;
    const cs_generation_bound_text text = {.count = 1, .token = start, .length = &length};
    const cs_generation_bound_options o = {.unmasked = 3, .negative = negative};
    CS_AUTO(cs_generation_bound_audit) a = {0};
    CS_AUTO(cs_statements) list = {0};
    AUTO_OK(cs_generation_bound_model, m, cs_generation_bound_scalar(2, value, w, &m));
    assert_true(fabs(m.norm - sqrt(5)) <= m.norm_error && m.norm_error < 1e-13);
    audit(&m, &text, &o, &a, &list);
    assert_int_equal(a.alike, 1);
    assert_int_equal(a.uncovered, 1);
    assert_int_equal(a.enumerated, 1);
    for (int p = 2; p <= 3; ++p) {
        const cs_generation_bound_form *f = &a.form[p - 2];
        double gen = 0, first = 0, second = 0, n = pow(3, p);
        for (int k = 2; k <= 4; ++k) {
            double c = pow(k - 1, p);
            gen += (-c + c * c * 13 / 4) / 3;
            first += (n - c) * (n - c) / (c * c) / 6;
            second += (n - c) / 6;
        }
        assert_true(f->eta.value == 0 && f->eta.error == 0 && f->eta.exact);
        assert_true(fabs(f->sums.gen - gen) <= f->sums.error);
        assert_true(fabs(f->first - first) < 1e-10 && fabs(f->second - second) < 1e-10);
        assert_true(fabs(f->delta.seen - (-n + 4 * n * n)) <= f->delta.error);
        assert_true(fabs(f->delta.literal - 9 * n * n) < 1e-9);
        assert_true(fabs(f->norm.high - n * sqrt(5)) <= f->norm.error);
        assert_true(fabs(f->norm.low - sqrt(5)) <= f->norm.error);
        assert_true(f->delta.seen <= f->delta.bound * (1 + 1e-12));
        assert_int_equal(f->worst.sharp.count, 0);
        assert_true(fabs(f->means.gen - (-1 + 13.0 / 4)) < 1e-12);
    }
    assert_false(cs_statements_failed(&list));
}

TEST(examples_have_the_numbers_of_the_theory)
{
    AUTO_OK(cs_statements, list, cs_generation_bound_examples(&list));
    assert_each(i, 0, list.count, list.item[i].example);
    const cs_statement *full = statement_of(&list, "4.3-example", CS_PRINTED);
    assert_non_null(strstr(full->text, "the full sum, k = 2 and 3"));
    static const struct {
        const char *id;
        cs_statement_form form;
        int nth;
        double lhs, rhs;
        cs_verdict verdict;
    } known[] = {
        {"4.3-example-term", CS_PRINTED, 0, 500.0 / 7, 13.25 + 125.0 / 7, CS_FAIL},
        {"4.3-example", CS_PRINTED, 0, 250.0 / 7, 13.25 + 125.0 / 7, CS_FAIL},
        {"4.3-example-two-index", CS_PRINTED, 0, 25.0 / 3, 3.25 + 25.0 / 6, CS_FAIL},
        {"4.3-example-triangle", CS_PRINTED, 0, 0.5, 0.3125, CS_FAIL},
        {"4.3-example-triangle", CS_CORRECTED, 0, 0.5, 0.625, CS_PASS},
        {"4.3-example-epsilon", CS_PRINTED, 0, 361, 49, CS_FAIL},
        {"4.3-example-epsilon", CS_CORRECTED, 0, 19, 49, CS_PASS},
        {"4.3-example-delta", CS_PRINTED, 0, 0.5, 0.25, CS_FAIL},
        {"4.3-example-unit-norm", CS_PRINTED, 0, 8, 1, CS_FAIL},
        {"4.3-example-first-prefix", CS_PRINTED, 0, -1, INFINITY, CS_VACUOUS},
        {"4.3-example-order", CS_PRINTED, 0, 0, -1, CS_FAIL},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        const cs_statement *s = nth_statement_of(&list, known[i].id, known[i].form, known[i].nth);
        assert_true(fabs(s->lhs - known[i].lhs) < 1e-9);
        assert_true(s->rhs == known[i].rhs || fabs(s->rhs - known[i].rhs) < 1e-9);
        assert_int_equal(s->verdict, known[i].verdict);
    }
    assert_int_equal(list.count, sizeof known / sizeof *known);
}

/* Sizes of all kinds; no corrected statement may be anything but true. */
TEST(random_models_obey_the_bounds)
{
    int64_t cases = 0, printed = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
        world w;
        CS_AUTO(cs_generation_bound_audit) a = {0};
        CS_AUTO(cs_statements) list = {0};
        cs_generation_bound_options o = {
            .mask_ratio = 0.2 + 0.15 * (double)(seed % 5), .masks = 3, .seed = seed};
        make_text(&w, seed);
        AUTO_OK(cs_generation_bound_model, m,
                cs_generation_bound_model_random(VOCAB, 4, (int64_t)1 << seed % 3, seed, &m));
        audit(&m, &w.text, &o, &a, &list);
        for (int64_t i = 0; i < list.count; ++i) {
            const cs_statement *s = &list.item[i];
            if (s->form == CS_CORRECTED && s->verdict != CS_PASS && s->verdict != CS_VACUOUS &&
                !s->attained) {
                fail_msg("seed %d: %s is %s: %.17g against %.17g", (int)seed, s->id,
                         cs_verdict_name(s->verdict), s->lhs, s->rhs);
            }
            printed += s->form == CS_PRINTED && s->verdict == CS_FAIL;
        }
        for (int p = 0; p < 2; ++p) {
            cases += a.form[p].worst.sharp.count;
            assert_true(a.form[p].worst.sharp.count == 0 || a.form[p].tightness.largest <= 1);
            assert_int_equal(a.form[p].exact, a.sequences);
        }
    }
    assert_true(cases > 10000);
    assert_true(printed > 1000); /* unit norms, the triangle, eps_k: false nearly everywhere */
}

/* q_b = k_b = 0 and v_a = v_b: of all terms of p = 2 only g(a, a) = 1 is not 0, and the bound is
 * attained: 1 - 1/4 on both sides. Half of eta must fail. */
TEST(a_broken_eta_fails)
{
    static const double table[] = {1, 0, 0, 1};
    static const double qkv[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};
    static const int32_t token[] = {0, 1, 1};
    const int32_t *const start[] = {token};
    const int64_t length = 3;
    const cs_generation_bound_text text = {.count = 1, .token = start, .length = &length};
    CS_AUTO(cs_generation_bound_model) m = {.vocab = 2, .width = 2, .heads = 1, .pooling = 2};
    m.token = cs_pool_take(&m.pool, 4, sizeof(double));
    m.qkv = cs_pool_take(&m.pool, 12, sizeof(double));
    m.w = cs_dense_in(&m.pool, 2, 2);
    OK(m.pool.status);
    memcpy(m.token, table, sizeof table);
    memcpy(m.qkv, qkv, sizeof qkv);
    m.w.data[0] = 1;
    OK(cs_generation_bound_model_measure(&m));
    for (int broken = 0; broken < 2; ++broken) {
        CS_AUTO(cs_generation_bound_audit) a = {0};
        CS_AUTO(cs_statements) list = {0};
        const cs_generation_bound_options o = {.unmasked = 2, .eta_scale = broken ? 0.5 : 1};
        audit(&m, &text, &o, &a, &list);
        const cs_statement *s = statement_of(&list, "4.3-sharp-p2", CS_CORRECTED);
        assert_true(fabs(s->lhs - 0.75) < 1e-15);
        assert_true(fabs(s->rhs - (broken ? 0.375 : 0.75)) < 1e-14);
        if (broken) {
            assert_int_equal(s->verdict, CS_FAIL);
            assert_non_null(s->counterexample);
            assert_true(cs_statements_failed(&list));
            s = statement_of(&list, "4.3-epsilon-p2", CS_CORRECTED);
            assert_int_equal(s->verdict, CS_FAIL);
        } else {
            assert_true(s->verdict == CS_PASS || s->attained);
        }
    }
}

/* A case that overflows stays, whatever comes before and after but a failure. */
TEST(overflow_is_not_a_pass)
{
    const struct {
        double lhs, rhs, error;
    } odd[] = {{NAN, 1, 0}, {0, NAN, 0}, {0, INFINITY, 0}, {INFINITY, INFINITY, 0}, {0, 1, NAN}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
        cs_generation_bound_case worst = {0};
        CS_AUTO(cs_statements) list = {0};
        cs_generation_bound_keep(&worst, 0, 1, 0.1, 0, 2);
        cs_generation_bound_keep(&worst, 1, 1, 1e-12, 1, 2); /* attained */
        cs_generation_bound_keep(&worst, odd[i].lhs, odd[i].rhs, odd[i].error, 2, 3);
        cs_generation_bound_keep(&worst, 1, 1, 1e-12, 3, 2);
        cs_generation_bound_keep(&worst, 0, 1, 0.1, 4, 2);
        assert_true(worst.count == 5 && worst.sequence == 2 && worst.k == 3);
        cs_generation_bound_state_case(&worst, "4.3-sharp-p2", CS_CORRECTED, "sides", "test",
                                       &list);
        OK(cs_statements_status(&list));
        assert_int_equal(list.item[0].verdict, CS_INCONCLUSIVE);
        assert_non_null(cs_statements_inconclusive(&list));
        cs_generation_bound_keep(&worst, 2, 1, 0.1, 5, 2);
        assert_int_equal(worst.sequence, 5);
    }
    world w;
    cs_generation_bound_audit a = {0};
    const cs_generation_bound_options o = {.unmasked = 2};
    make_text(&w, 1);
    AUTO_OK(cs_generation_bound_model, m, cs_generation_bound_model_random(VOCAB, 4, 1, 1, &m));
    for (int64_t i = 0; i < 3 * m.width * m.width; ++i) {
        m.qkv[i] *= 1e60;
    }
    assert_fails(cs_generation_bound_audit_of(&m, &w.text, &o, &a), CS_ERR_INPUT,
                 "sequence 0: the bounds overflow: terms have norm up to");
}

/* More sets than there are give every set once; fewer are drawn, the same for a seed. */
TEST(sets_are_enumerated_or_drawn)
{
    world w;
    CS_AUTO(cs_generation_bound_audit) all = {0}, some = {0}, again = {0};
    make_text(&w, 5);
    AUTO_OK(cs_generation_bound_model, m, cs_generation_bound_model_random(VOCAB, 4, 1, 5, &m));
    const cs_generation_bound_text one = {.count = 1, .token = w.start, .length = w.length};
    cs_generation_bound_options o = {.unmasked = 3, .masks = 100, .seed = 9};
    audit(&m, &one, &o, &all, NULL);
    assert_int_equal(all.cases, 10 + 4 + 1); /* C(5, 2) + C(4, 1) + C(3, 0) */
    assert_int_equal(all.whole, 1);
    o.masks = 2;
    audit(&m, &one, &o, &some, NULL);
    audit(&m, &one, &o, &again, NULL);
    assert_int_equal(some.cases, 2 + 2 + 1);
    assert_true(some.form[0].means.rhs == again.form[0].means.rhs);
    assert_true(some.form[1].worst.sharp.lhs == again.form[1].worst.sharp.lhs);
    assert_true(some.form[0].means.rhs != all.form[0].means.rhs);
}

/* The double next to 0.29 times 50 is below 14.5: 15 are masked, as in training, and 35 lengths of
 * the unmasked text have one set each. */
TEST(ratios_are_those_of_training)
{
    CS_AUTO(cs_generation_bound_audit) a = {0};
    const int32_t token[50] = {0}, *start = token;
    const int64_t length = 50;
    AUTO_OK(cs_generation_bound_model, m, cs_generation_bound_model_random(VOCAB, 4, 1, 5, &m));
    const cs_generation_bound_text text = {.count = 1, .token = &start, .length = &length};
    const cs_generation_bound_options o = {.mask_ratio = 0.29, .masks = 1, .seed = 9};
    audit(&m, &text, &o, &a, NULL);
    assert_int_equal(a.cases, 35);
}

/* gap = misalignment^3 orders as misalignment does, in every block; a constant gap orders nothing.
 */
TEST(curve_is_ordered)
{
    enum { K = 6, BLOCKS = 3 };
    double sums[BLOCKS][K][CS_BOUND_CURVE] = {0}, rho, se;
    cs_generation_bound_audit a = {.lengths = K, .blocks = BLOCKS, .curve = &sums[0][0][0]};
    int64_t blocks = 0;
    cs_result *result = cs_result_new();
    for (int b = 0; b < BLOCKS; ++b) {
        for (int k = 2; k < K; ++k) {
            sums[b][k][CS_BOUND_N] = b + 1;
            sums[b][k][CS_BOUND_MISALIGNMENT] = (b + 1) * (1.0 / k);
            sums[b][k][CS_BOUND_GAP] = (b + 1) * pow(k, -3);
        }
    }
    OK(cs_generation_bound_spearman(&a, &rho, &se, &blocks));
    assert_true(fabs(rho - 1) < 1e-15 && se < 1e-15);
    OK(cs_generation_bound_curve(&a, "m", false, rows_of(result)));
    AUTO_OK(cs_table, table, cs_result_table(result, &(cs_view){"rows[]", "n other_loss"}, &table));
    assert_int_equal(table.rows, K - 2);
    assert_string_equal(table.cell[cs_table_column(&table, "n")], "6");
    assert_string_equal(table.cell[cs_table_column(&table, "other_loss")], "");
    cs_result_free(&result);
    /* Block 2 reverses the ends: without it rho is 1, with it less. */
    sums[2][2][CS_BOUND_GAP] = -9;
    OK(cs_generation_bound_spearman(&a, &rho, &se, &blocks));
    assert_true(fabs(rho + 0.2) < 1e-12); /* ranks 4 3 2 1 against 1 4 3 2: 1 - 6 (9+1+1+1) / 60 */
    /* Without block 0 or 1: -0.2; without block 2: 1. se^2 = 2/3 (2 0.4^2 + 0.8^2). */
    assert_true(fabs(se - sqrt(2.0 / 3 * 0.96)) < 1e-12);
    assert_int_equal(blocks, BLOCKS);
    CS_AUTO(cs_statements) list = {0};
    OK(cs_generation_bound_state_order(&a, "test", NULL,
                                       &list)); /* Student's table, 2 degrees of freedom */
    assert_true(fabs(list.item[0].error / se - 0.95 * sqrt(2 / 0.0975)) < 1e-12);
    assert_non_null(strstr(list.item[0].text, "Student's 97.5% point at B - 1 degrees"));
    for (int b = 0; b < BLOCKS; ++b) {
        for (int k = 2; k < K; ++k) {
            sums[b][k][CS_BOUND_GAP] = 0;
        }
    }
    OK(cs_generation_bound_spearman(&a, &rho, &se, &blocks));
    assert_true(isnan(rho));
}

/* --- bad input ---------------------------------------------------------------------------------*/

static cs_model network_of(cs_arch arch, cs_backend *backend)
{
    cs_model model = {0};
    cs_model_config config = {.shape.vocab = VOCAB,
                              .shape.width = 4,
                              .shape.layers = 1,
                              .shape.heads = 1,
                              .shape.inner = 8,
                              .shape.positions = 5};
    cs_model_config_default(arch, &config);
    config.head.pooling = arch == CS_ARCH_LINEAR ? 2 : 0;
    OK(cs_model_init(&config, backend, false, &model));
    OK(cs_model_randomise(&model, 1));
    return model;
}

TEST(other_models_are_named)
{
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    CS_AUTO(cs_generation_bound_model) m = {0};
    CS_AUTO(cs_model) gpt = network_of(CS_ARCH_GPT2, backend);
    assert_fails(cs_generation_bound_model_of(&gpt, &m), CS_ERR_USAGE,
                 "architecture is gpt2, not linear");
    CS_AUTO(cs_model) linear = network_of(CS_ARCH_LINEAR, backend);
    static const char *const name[] = {"embed.token", "embed.position",
                                       "layer.0.attention.qkv.weight", "output.weight"};
    for (int i = 0; i < 4; ++i) {
        double x[64], y[64];
        int64_t p = cs_params_find(&linear.params, name[i]);
        OK(cs_params_get64(&linear.params, p, CS_PARAM_VALUE, x));
        memcpy(y, x, sizeof y);
        y[5] = i % 2 ? (double)NAN : (double)INFINITY;
        OK(cs_params_set64(&linear.params, p, CS_PARAM_VALUE, y));
        assert_fails(cs_generation_bound_model_of(&linear, &m), CS_ERR_INPUT,
                     i % 2 ? "row 1, column 1 is not a number" : "row 1, column 1 is infinite");
        OK(cs_params_set64(&linear.params, p, CS_PARAM_VALUE, x));
    }
    static const int32_t token[] = {0, 1, 2, 3, 4, 5};
    cs_generation_bound_rows r = {0};
    OK(cs_generation_bound_model_of(&linear, &m));
    assert_fails(cs_generation_bound_rows_of(&m, token, 6, &r), CS_ERR_INPUT,
                 "position 5 exceeds the 5 positions");
}

TEST(bad_texts_and_options_are_named)
{
    world w;
    cs_generation_bound_audit a = {0};
    make_text(&w, 1);
    AUTO_OK(cs_generation_bound_model, m, cs_generation_bound_model_random(VOCAB, 4, 1, 1, &m));
    AUTO_OK(cs_generation_bound_model, other,
            cs_generation_bound_model_random(VOCAB + 1, 4, 1, 1, &other));
    w.length[1] = 1;
    w.length[2] = 0;
    cs_generation_bound_options o = {.mask_ratio = 0.5};
    audit(&m, &w.text, &o, &a, NULL);
    assert_int_equal(a.sequences, 1);
    assert_int_equal(a.excluded, 2);
    assert_int_equal(a.uncovered, 7 - 1 - 3); /* N = 7 - round(3.5) */
    cs_generation_bound_audit_free(&a);
    w.length[0] = 1;
    assert_fails(cs_generation_bound_audit_of(&m, &w.text, &o, &a), CS_ERR_INPUT,
                 "no sequence has at least 2 tokens");
    w.length[0] = 4;
    o.unmasked = 4;
    assert_fails(cs_generation_bound_audit_of(&m, &w.text, &o, &a), CS_ERR_INPUT,
                 "no sequence has at least 5 tokens");
    o.unmasked = 2;
    w.token[0][3] = VOCAB;
    assert_fails(cs_generation_bound_audit_of(&m, &w.text, &o, &a), CS_ERR_INPUT,
                 "sequence 0: token 6 at position 3 is not in 0..5");
    w.token[0][3] = 0;
    const struct {
        cs_generation_bound_options o;
        const char *reason;
    } bad[] = {{{.mask_ratio = 1}, "mask ratio 1"},
               {{.mask_ratio = (double)NAN}, "mask ratio"},
               {{.unmasked = -1}, "unmasked -1"},
               {{.unmasked = 2, .masks = -1}, "masks -1"},
               {{.unmasked = 2, .last = 1}, "last k 1"},
               {{.unmasked = 2, .against = &other}, "the other model has 7 tokens"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_generation_bound_audit_of(&m, &w.text, &bad[i].o, &a), CS_ERR_USAGE,
                     bad[i].reason);
    }
}

static cs_status everything(void)
{
    world w;
    CS_AUTO(cs_generation_bound_model) m = {0}, other = {0};
    CS_AUTO(cs_generation_bound_audit) a = {0};
    CS_AUTO(cs_statements) list = {0};
    CS_AUTO(cs_result) *result = cs_result_new();
    const cs_generation_bound_options o = {.unmasked = 2, .masks = 2, .against = &other};
    make_text(&w, 2);
    cs_status status = cs_generation_bound_model_random(VOCAB, 4, 2, 2, &m);
    if (status == CS_OK &&
        (status = cs_generation_bound_model_random(VOCAB, 6, 1, 3, &other)) == CS_OK &&
        (status = cs_generation_bound_audit_of(&m, &w.text, &o, &a)) == CS_OK &&
        (status = cs_generation_bound_state(&m, &a, "test", &list)) == CS_OK &&
        (status = cs_generation_bound_state_order(&a, "test", "other", &list)) == CS_OK &&
        (status = cs_generation_bound_curve(&a, "m", true, rows_of(result))) == CS_OK) {
        status = cs_generation_bound_examples(&list);
    }
    if (status == CS_OK) status = cs_result_status(result);
    return status;
}

TEST(failed_allocations_are_reported)
{
    int failures = 0;
    OK(everything());
    EACH_ALLOCATION_FAILS(n)
        failures += out_of_memory(everything());
    assert_true(failures > 100);
}

/* The flag stays: last of all. */
TEST(an_interrupt_ends_it)
{
    world w;
    cs_generation_bound_audit a = {0};
    const cs_generation_bound_options o = {.unmasked = 2};
    make_text(&w, 1);
    AUTO_OK(cs_generation_bound_model, m, cs_generation_bound_model_random(VOCAB, 4, 1, 1, &m));
    cs_interrupt_set();
    assert_int_equal(cs_generation_bound_audit_of(&m, &w.text, &o, &a), CS_ERR_INTERRUPT);
}
