/* diffusion: its events against all plans and drawn ones, alone and mixed; its matrix is that of
 * permuted-ar, on the toy model and on a corpus (theorem-4-2.md). */
#include "batch_support.h"
#include "cooc/builder.h"
#include "mix_support.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "toy_support.h"

TEST(events_are_those_of_all_plans)
{
    cs_objective o = plan_objective("diffusion");
    plan_compare_variants(o, 0, (const double[]){7, 1});
}

/* The n masked tokens of a plan weigh s + 1 together: 1 / t in the mean over the ratios t that give
 * the mask. Midpoints of 10^5 ratios are within 1e-9 of the integrals of these polynomials. */
TEST(weights_are_the_mean_of_one_over_the_ratio)
{
    enum { S = 5, STEPS = 100000 };
    cs_objective o = plan_objective("diffusion");
    for (int n = 1; n < S; ++n) {
        double probability = 0, weighted = 0;
        for (int i = 0; i < STEPS; ++i) {
            double t = (i + 0.5) / STEPS, p = pow(t, n) * pow(1 - t, S - n);
            probability += p;
            weighted += p / t;
        }
        AUTO_OK(cs_plan, plan, cs_plan_init(&plan, S));
        for (uint64_t draw = 0, found = 0; !found; ++draw) {
            cs_rng rng = cs_rng_at(draw, CS_STREAM_TEST, 0);
            OK(cs_plan_sample(&o, &rng, &plan));
            int64_t masked = COUNT(i, 0, S, plan.group[i] > 0);
            for (int i = 0; i < S && masked == n; ++i) {
                found = 1;
                assert_true(plan.group[i] == 0 ||
                            fabs(plan.weight[i] - weighted / probability) < 1e-6);
            }
        }
    }
}

/* Golden, by brute force over all contents: r = 2, s = 4, T = 2, none, shared and class. */
TEST(its_toy_spectrum_is_that_of_permuted_ar)
{
    const double sigma[3][3] = {{1, 0.693888666488710818, 0},
                                {1, 0.866025403784438597, 0.600925212577331561},
                                {1, 0.600925212577331561, 0}};
    const int64_t times[3][3] = {{2, 6, 0}, {1, 1, 6}, {2, 6, 0}};
    for (int variant = 0; variant < 6; ++variant) {
        int prefix = variant / 2;
        cs_toy toy = {plan_objective("diffusion"), 2, 4, 2, false, false, 0};
        toy.objective.event_weight = (cs_event_weight)(variant % 2);
        toy.objective.empty_prefix = (cs_empty_prefix)prefix;
        AUTO_OK(cs_toy_spectrum, spectrum, cs_toy_reduce(&toy, &spectrum));
        assert_each(j, 0, spectrum.values, fabs(spectrum.sigma[j] - sigma[prefix][j]) < 1e-14);
        assert_each(j, 0, spectrum.values, spectrum.multiplicity[j] == times[prefix][j]);
        assert_true(spectrum.values == 3 || times[prefix][spectrum.values] == 0);
    }
}

static void build(const cs_corpus *corpus, const char *objective, const char *context, cs_cooc *out)
{
    cs_cooc_options o = {.objective = plan_objective(objective), .max_length = 4, .stride = 1};
    OK(cs_context_parse(context, &o.context));
    OK(cs_cooc_build(corpus, &o, out));
}

/* The same bits, since both have one distribution. */
TEST(its_matrix_of_a_corpus_is_that_of_permuted_ar)
{
    const char *const context[] = {"all", "nearest:2", "each:2"};
    const int64_t length[] = {4, 9, 6, 5, 7};
    CS_AUTO(cs_corpus) corpus = small_corpus(5, length, 6, 2, 1);
    for (int c = 0; c < 3; ++c) {
        CS_AUTO(cs_cooc) diffusion = {0}, permuted = {0};
        build(&corpus, "diffusion", context[c], &diffusion);
        build(&corpus, "permuted-ar", context[c], &permuted);
        const cs_csr *a = &diffusion.matrix.a, *b = &permuted.matrix.a;
        assert_int_equal(a->rows, b->rows);
        assert_int_equal(cs_csr_nnz(a), cs_csr_nnz(b));
        assert_memory_equal(a->ptr, b->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
        assert_memory_equal(a->col, b->col, (size_t)cs_csr_nnz(a) * sizeof *a->col);
        assert_memory_equal(a->val, b->val, (size_t)cs_csr_nnz(a) * sizeof *a->val);
    }
}

TEST(it_mixes)
{
    const char *const with[] = {"mix:1*diffusion+1*gvp(groups=2)",
                                "mix:0.2*group-ar(t=2)+0.5*diffusion+0.3*ar"};
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        plan_compare_variants(plan_held(with[i], &file), 3, (const double[]){7, 7});
        plan_compare_kernel(with[i]);
    }
    expect_reduction_exact("mix:1*offset-ar(offset-weights=power:1)+1*diffusion,empty-prefix=class",
                           2);
}

/* In one stream, alone and with other masks. */
TEST(a_network_reads_masks)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective mixed = plan_held("mix:1*masked(unmasked=1)+1*diffusion", &file);
    assert_int_equal(cs_objective_reads(&mixed), CS_ROWS_MASKED);
    for (int64_t step = 0; step < 20; ++step) {
        cs_task task = batch_task("ar");
        cs_model_config config = batch_config(CS_FORM_SINGLE);
        cs_example example = {.token = batch_text, .length = 6};
        task.objective = mixed;
        AUTO_OK(cs_batch, b,
                cs_batch_build(&(cs_batch_order){&task, &config, 5, step, NULL}, &example, 1, &b));
        assert_int_equal(b.form, CS_FORM_SINGLE);
        assert_true(b.loss.weight_sum >= 0);
    }
}
