/* Lemma 2.1 with its premise and Theorem 2.2 as statements: on models whose tables and biases are
 * known, and on planted rows. */
#include "analysis/theorems/theorem_22.h"
#include "io_support.h"
#include "mask_rank_support.h"
#include "model_support.h"
#include "statement_support.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

TEST(statements)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED_RECIPE, "");
    cs_mask_rank_options o = model_options(false);
    AUTO_OK(cs_mask_rank, r, cs_mask_rank_of(&t.model, &t.corpus, &o, &r));
    AUTO_OK(cs_statements, list, cs_lemma_21(&t.model, &r, 9, "tiny", &list));
    assert_int_equal(list.count, 5);
    /* random tables: rank(P) = 9, rank(E) = d = 16 */
    const cs_statement *s = statement_of(&list, "2.1-premise", CS_PRINTED);
    assert_true(s->verdict == CS_FAIL && s->lhs == 9 && s->rhs == 0 && s->counterexample);
    s = statement_of(&list, "2.1", CS_PRINTED);
    /* rows of the first and last layers, just normed, have mean 0: d - 1 directions */
    assert_true(s->verdict == CS_PASS && s->lhs < s->rhs && s->rhs == 15);
    s = statement_of(&list, "2.1-effective", CS_PRINTED);
    near(s->lhs, r.layer[0].rank[CS_SET_MASK_ONLY].value[CS_RANK_TAU_INTERPOLATED], 0);
    double *high = r.layer[r.layers - 1].rank[CS_SET_MASK_ONLY].left_out;
    double *low = r.layer[0].rank[CS_SET_MASK_ONLY].left_out, difference[64];
    assert_true(r.blocks > 1 && r.blocks <= 64 && high && low);
    for (int64_t b = 0; b < r.blocks; ++b) {
        int64_t at = b * CS_RANK_MEASURES + CS_RANK_TAU_INTERPOLATED;
        difference[b] = high[at] - low[at];
    }
    near(s->error,
         cs_student_width(0.95, (double)(r.blocks - 1)) *
             cs_jackknife_error(r.blocks, difference, 1),
         0);
    assert_true(s->error > 0);
    s = statement_of(&list, "2.2-deficient", CS_PRINTED);
    assert_true(s->verdict == CS_PASS && s->lhs == 15 && s->rhs == 16);
    s = statement_of(&list, "2.2-containment", CS_PRINTED); /* the [MASK] rows have mean 0 too */
    assert_true(s->verdict == CS_INCONCLUSIVE && detail_of(s, "layer") != 1);
    cs_statements_free(&list);
    cs_mask_rank_free(&r);
    /* with biases after these norms every layer has d directions, and the claim is false */
    const char *const bias[] = {"embed.norm.bias", "final_norm.bias"};
    const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int k = 0; k < 2; ++k) {
        OK(cs_params_set(&t.model.params, cs_params_find(&t.model.params, bias[k]), CS_PARAM_VALUE,
                         ones));
    }
    OK(cs_mask_rank_of(&t.model, &t.corpus, &o, &r));
    OK(cs_lemma_21(&t.model, &r, 9, "biased", &list));
    s = statement_of(&list, "2.2-deficient", CS_PRINTED);
    assert_true(s->verdict == CS_FAIL && s->counterexample);
    s = statement_of(&list, "2.2-containment", CS_PRINTED);
    assert_true(s->verdict == CS_FAIL && strstr(s->counterexample, "all of R^16"));
    cs_statements_free(&list);
    cs_mask_rank_free(&r);
    /* a table of tokens in half of the space, positions in the other: the premise holds */
    const char *const table[] = {"embed.token", "embed.position"};
    for (int k = 0; k < 2; ++k) {
        int64_t number = cs_params_find(&t.model.params, table[k]);
        const cs_param *p = &t.model.params.param[number];
        float *x = test_zeros(p->rows * p->cols, sizeof *x);
        OK(cs_params_get(&t.model.params, number, CS_PARAM_VALUE, x));
        for (int64_t i = 0; i < p->rows * p->cols; ++i) {
            x[i] = (i % 16 < 12) == (k == 0) ? x[i] : 0;
        }
        OK(cs_params_set(&t.model.params, number, CS_PARAM_VALUE, x));
    }
    OK(cs_mask_rank_of(&t.model, &t.corpus, &o, &r));
    OK(cs_lemma_21(&t.model, &r, 9, "split", &list));
    s = statement_of(&list, "2.1-premise", CS_PRINTED);
    assert_true(s->verdict == CS_PASS && s->lhs == 4 && s->rhs == 4);
}

/* Planted: real rows in 4 of 8 directions, [MASK]s outside. Both claims of Theorem 2.2 hold. */
TEST(statements_of_planted_rows)
{
    CS_AUTO_BY(free_training, training) t = make_training(&MASKED_RECIPE, "");
    CS_AUTO_FREE planted *p = plant();
    cs_mask_rank_options o = options_of(false);
    axes(p, 5, 2);
    AUTO_OK(cs_mask_rank, r, study(p, p, &o, &r));
    AUTO_OK(cs_statements, list, cs_lemma_21(&t.model, &r, 9, "planted", &list));
    const cs_statement *s = statement_of(&list, "2.2-deficient", CS_PRINTED);
    assert_true(s->verdict == CS_PASS && s->lhs == 4 && s->rhs == 8);
    s = statement_of(&list, "2.2-containment", CS_PRINTED);
    assert_true(s->verdict == CS_PASS && fabs(s->rhs - 1) < 1e-12);
    cs_statements_free(&list);
    cs_mask_rank_free(&r);
    /* inside: whether something sticks out is not distinguishable from rounding, and is not claimed */
    memset(p->state, 0, sizeof p->state);
    axes(p, 1, 2);
    OK(study(p, p, &o, &r));
    OK(cs_lemma_21(&t.model, &r, 9, "planted", &list));
    assert_int_equal(statement_of(&list, "2.2-containment", CS_PRINTED)->verdict, CS_INCONCLUSIVE);
}

static training held;
static const cs_mask_rank *studied;

static cs_status lemma_once(const char *path)
{
    (void)path;
    CS_AUTO(cs_statements) list = {0};
    cs_status status = cs_lemma_21(&held.model, studied, 9, "tiny", &list);
    return status;
}

TEST(allocations)
{
    held = make_training(&MASKED_RECIPE, "");
    cs_mask_rank_options o = model_options(false);
    AUTO_OK(cs_mask_rank, r, cs_mask_rank_of(&held.model, &held.corpus, &o, &r));
    studied = &r;
    fail_each_allocation(lemma_once, "");
    free_training(&held);
}
