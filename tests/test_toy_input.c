/* toy: plan files, bad input, failed allocations. */
#include "plan/plan_file.h"
#include "test.h"
#include "toy_support.h"

/* --- plans from files --- */

/* A random plan of length s in a random order: groups 0..K all in use. */
static void random_plan(cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length;
    plan->groups = 1 + cs_rng_below(rng, s - 1);
    for (int64_t i = 0; i < s; ++i) {
        plan->group[i] = (int32_t)(i <= plan->groups ? i : cs_rng_below(rng, plan->groups + 1));
    }
    cs_rng_shuffle(rng, s, plan->group);
    for (int64_t i = 0; i < s; ++i) {
        /* Some tokens are not predicted; the one of group K alone always is. */
        bool predicted = plan->group[i] == plan->groups || cs_rng_below(rng, 3) > 0;
        plan->weight[i] = plan->group[i] > 0 && predicted ? 0.25 + cs_rng_uniform(rng) : 0;
    }
}

static cs_plan_file random_file(uint64_t seed, int64_t s)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 1);
    cs_plan_file file = {.plans = 1 + cs_rng_below(&rng, 4)};
    file.path = cs_strdup("random");
    file.plan = cs_calloc(file.plans, sizeof *file.plan);
    file.probability = cs_calloc(file.plans, sizeof *file.probability);
    assert_true(file.path && file.plan && file.probability);
    double sum = 0;
    for (int64_t p = 0; p < file.plans; ++p) {
        OK(cs_plan_init(&file.plan[p], s));
        random_plan(&rng, &file.plan[p]);
        file.probability[p] = 0.1 + cs_rng_uniform(&rng);
        sum += file.probability[p];
    }
    for (int64_t p = 0; p < file.plans; ++p) {
        file.probability[p] /= sum;
    }
    return file;
}

/* ||Abar||_F^2 from the nonzeros of the full matrix. */
static double squared_norm(const cs_toy *toy)
{
    AUTO_OK(cs_labelled, m, cs_toy_matrix(toy, 0, &m));
    double *row = cs_alloc(m.a.rows, sizeof *row), *col = cs_alloc(m.a.cols, sizeof *col), sum = 0;
    assert_true(row && col);
    cs_csr_sums(&m.a, row, col);
    sum += SUM(
        i, 0, m.a.rows,
        SUM(e, m.a.ptr[i], m.a.ptr[i + 1], m.a.val[e] * m.a.val[e] / (row[i] * col[m.a.col[e]])));
    cs_free(row);
    cs_free(col);
    return sum;
}

TEST(random_plan_files_reduce)
{
    for (uint64_t seed = 0; seed < 60; ++seed) {
        int64_t s = 2 + (int64_t)(seed % 4);
        CS_AUTO(cs_plan_file) file = random_file(seed, s);
        cs_toy toy = {.objective = cs_objective_default(CS_OBJ_FILE),
                      .classes = 1 + (int64_t)(seed % 3),
                      .length = s,
                      .tokens = 2,
                      .given = seed % 5 == 4};
        toy.objective.file = &file;
        toy.objective.event_weight = seed % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, &toy),
                                 reduced = toy_run(cs_toy_reduce, &toy);
        expect_spectra_agree(&full, &reduced);
        assert_each(j, 0, full.values, full.sigma[j] > 0 && full.sigma[j] <= 1 + toy_agreement);
        assert_true(fabs(full.sigma[0] - 1) <= toy_agreement);
        assert_true(full.multiplicity[0] >= toy.classes);
        assert_true(fabs(squared_norm(&toy) - full.sum_sigma2) <= 1e-12 * full.sum_sigma2);
        cs_toy_spectrum none;
        assert_fails(cs_toy_closed(&toy, &none), CS_ERR_USAGE,
                     "no closed form is known for file(plan-file=random");
    }
}

/* --- bad input --- */

TEST(bad_toys_are_named)
{
    const struct {
        const char *spec;
        int64_t classes, length, tokens;
        const char *reason;
    } cases[] = {
        {"ar", 0, 4, 2, "toy model: classes 0 not in 1.."},
        {"ar", 2, 0, 2, "toy model: length 0 not in 1.."},
        {"ar", 2, 4, -1, "toy model: tokens -1 not in 1.."},
        {"ar", (int64_t)1 << 40, 4, 2, "classes 1099511627776"},
        {"ar", 2, 1, 2, "ar needs length >= 2, got 1"},
        {"masked:unmasked=4", 2, 4, 2, "masked with 4 unmasked needs length >= 5, got 4"},
        {"gvp:segmentation=fixed,groups=4", 2, 4, 2, "gvp with 4 groups needs length >= 5"},
    };
    const toy_method methods[] = {toy_enumerate, cs_toy_reduce, cs_toy_closed};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_toy toy = toy_of(cases[i].spec, cases[i].classes, cases[i].length, cases[i].tokens);
        for (int n = 0; n < 3; ++n) {
            cs_toy_spectrum out = {0};
            assert_int_equal(methods[n](&toy, &out), CS_ERR_USAGE);
            assert_null(out.sigma);
            expect_reason(cases[i].reason);
        }
    }
    cs_toy toy = toy_of("group-ar:t=2", 2, 2001, 2);
    cs_toy_spectrum out = {0};
    assert_fails(cs_toy_reduce(&toy, &out), CS_ERR_USAGE,
                 "length 2001 exceeds 2000, the limit for a fixed order");
    toy = toy_of("diverse-ar:t=2", 2, 5000000, 2);
    assert_fails(cs_toy_closed(&toy, &out), CS_ERR_USAGE, "length 5000000 exceeds");
    toy = toy_of("diverse-ar:t=3", 2, 9, 2);
    assert_fails(cs_toy_closed(&toy, &out), CS_ERR_USAGE,
                 "no closed form is known for diverse-ar(t=3) at length 9");
    toy.literal = true;
    assert_fails(cs_toy_closed(&toy, &out), CS_ERR_USAGE, "literal token sets");
}

TEST(astronomic_enumerations_are_refused)
{
    cs_labelled m;
    cs_toy_spectrum out;
    double rows, cols, nnz;
    cs_toy toy = toy_of("masked:mask-ratio=0.15", 1000000, 1000000, 50000);
    OK(cs_toy_size(&toy, &rows, &cols, &nnz));
    assert_true(isinf(rows) && isinf(nnz) && cols == 5e16);
    assert_fails(cs_toy_matrix(&toy, 0, &m), CS_ERR_MEMORY,
                 "needs inf rows, 5e+16 columns and inf nonzeros; the limit is 134217728");
    toy = toy_of("ar", 2, 40, 2);
    assert_int_equal(cs_toy_enumerate(&toy, 0, &out), CS_ERR_MEMORY);
    /* rows 2 (2 + 4 + ... + 2^39), two targets a row. */
    expect_reason("needs 2199023255548 rows, 156 columns and 4398046511096 nonzeros");
    toy = toy_of("ar", 2, 5, 2);
    assert_fails(cs_toy_enumerate(&toy, 119, &out), CS_ERR_MEMORY,
                 "60 rows, 16 columns and 120 nonzeros; the limit is 119");
    OK(cs_toy_enumerate(&toy, 120, &out));
    cs_toy_spectrum_free(&out);
    toy = toy_of("ar", 1000, 3, 20); /* 40,000 columns: too many for a full spectrum */
    assert_fails(cs_toy_enumerate(&toy, 0, &out), CS_ERR_MEMORY,
                 "is too large for a full spectrum");
}

TEST(failed_allocations_are_reported)
{
    const char *const specs[] = {"group-ar:t=2,empty-prefix=shared", "masked:unmasked=2",
                                 "gvp:segmentation=mixed,groups=2", "diverse-ar:t=2"};
    const toy_method methods[] = {toy_enumerate, cs_toy_reduce, cs_toy_closed};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        for (int n = 0; n < 3; ++n) {
            cs_toy toy = toy_of(specs[i], 2, 4, 2);
            CS_AUTO(cs_toy_spectrum) out = {0};
            if (methods[n](&toy, &out) == CS_OK) {
                EACH_ALLOCATION_FAILS(at) {
                    CS_AUTO(cs_toy_spectrum) next = {0};
                    if (out_of_memory(methods[n](&toy, &next))) assert_null(next.sigma);
                }
            }
            cs_reason_clear();
        }
    }
}
