/* Learned factors against the SVD: the optimum put in by hand is recognised, anything else is
 * above it, and the angles stay under what the excess allows. */
#include "analysis/trained/learned_modes.h"
#include "statement_support.h"

static cs_toy toy_of(cs_objective_kind kind)
{
    cs_toy toy = {.objective = cs_objective_default(kind), .classes = 3, .length = 4, .tokens = 2};
    toy.objective.unmasked_lo = toy.objective.unmasked_hi = 2;
    toy.objective.t = 2;
    return toy;
}

typedef struct {
    cs_toy_contexts contexts;
    cs_learned_target target;
} world;

/* f = U_d / sqrt(P_C), W = (b/2) V_d Sigma_d / sqrt(P_G): what the loss should find, up to an
 * invertible d x d matrix. */
static cs_status optimum(const cs_learned_target *target, int64_t width, double factor, cs_dense *f,
                         cs_dense *w)
{
    const cs_spectrum *s = &target->spectrum;
    const cs_31_problem *p = &target->problem;
    cs_status status = cs_dense_init(f, p->a.rows, width);
    if (status == CS_OK) status = cs_dense_init(w, p->a.cols, width);
    for (int64_t j = 0; status == CS_OK && j < width && j < s->k; ++j) {
        for (int64_t i = 0; i < f->rows; ++i) {
            f->data[i + j * f->ld] = s->u.data[i + j * s->u.ld] / p->root_row[i];
        }
        for (int64_t i = 0; i < w->rows; ++i) {
            w->data[i + j * w->ld] =
                factor / 2 * s->sigma[j] * s->v.data[i + j * s->v.ld] / p->root_col[i];
        }
    }
    if (status != CS_OK) {
        cs_dense_free(f);
        cs_dense_free(w);
    }
    return status;
}

static void open_world(const cs_toy *toy, world *w)
{
    OK(cs_toy_contexts_of(toy, 1 << 15, &w->contexts));
    OK(cs_learned_target_of(&w->contexts.a, NULL, &w->target));
}

static void close_world(world *w)
{
    cs_toy_contexts_free(&w->contexts);
    cs_learned_target_free(&w->target);
}

/* --- contexts ----------------------------------------------------------------------------------*/

/* The toy model's own matrix, which shares no code with the enumeration here: sizes and spectrum.
 */
TEST(contexts_are_the_rows_of_the_toy_matrix)
{
    for (int i = 0; i < 6; ++i) {
        cs_toy toy = toy_of((cs_objective_kind[]){CS_OBJ_AR, CS_OBJ_MASKED, CS_OBJ_DIVERSE_AR,
                                                  CS_OBJ_PERMUTED_AR, CS_OBJ_MASKED, CS_OBJ_AR}[i]);
        toy.literal = i == 4;
        toy.objective.empty_prefix = i == 5 ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
        CS_AUTO_BY(close_world, world) w = {0};
        cs_spectrum_options all = {0};
        open_world(&toy, &w);
        AUTO_OK(cs_labelled, m, cs_toy_matrix(&toy, 0, &m));
        AUTO_OK(cs_spectrum, other, cs_spectrum_of(&m.a, &all, &other));
        const cs_spectrum *s = &w.target.spectrum;
        assert_int_equal(w.contexts.a.rows, m.a.rows);
        assert_int_equal(w.contexts.a.cols, m.a.cols);
        assert_int_equal(cs_csr_nnz(&w.contexts.a), cs_csr_nnz(&m.a));
        assert_int_equal(s->k, other.k);
        assert_each(j, 0, s->k, fabs(s->sigma[j] - other.sigma[j]) < 1e-10);
    }
}

/* Each context's tokens ascend, are in range, and no two contexts are equal. */
TEST(contexts_have_their_tokens)
{
    cs_toy toy = toy_of(CS_OBJ_PERMUTED_AR);
    toy.literal = true;
    CS_AUTO_BY(close_world, world) w = {0};
    open_world(&toy, &w);
    const cs_toy_contexts *c = &w.contexts;
    assert_int_equal(c->vocab, 24);
    assert_int_equal(c->longest, 3);
    for (int64_t x = 0; x < c->a.rows; ++x) {
        int64_t n = c->ptr[x + 1] - c->ptr[x];
        for (int64_t i = c->ptr[x]; i < c->ptr[x + 1]; ++i) {
            assert_in_range(c->token[i], 0, 23);
            assert_true(i == c->ptr[x] || c->token[i] / 6 > c->token[i - 1] / 6);
        }
        assert_each(
            y, 0, x,
            !(c->ptr[y + 1] - c->ptr[y] == n && memcmp(c->token + c->ptr[x], c->token + c->ptr[y],
                                                       (size_t)n * sizeof *c->token) == 0));
    }
}

/* Disjoint: ln T, and ln(r T) on the empty prefix, which is one of s prefixes. Literal, r = 2,
 * T = 2, offsets {0, 1} and {1, 3}: a prefix of one token is 0, 3 (class known) or 1 (both, half of
 * the time); then the next token is 0 or 3 with 1/4 each, 1 with 1/2. */
TEST(least_cross_entropy)
{
    cs_toy toy = toy_of(CS_OBJ_MASKED);
    AUTO_OK(cs_toy_contexts, c, cs_toy_contexts_of(&toy, 1 << 15, &c));
    assert_true(fabs(c.cross_entropy - log(2)) < 1e-12);
    cs_toy_contexts_free(&c);
    toy = toy_of(CS_OBJ_AR);
    toy.objective.empty_prefix = CS_PREFIX_SHARED;
    OK(cs_toy_contexts_of(&toy, 1 << 15, &c));
    assert_true(fabs(c.cross_entropy - (log(6) + 3 * log(2)) / 4) < 1e-12);
    cs_toy_contexts_free(&c);
    toy = (cs_toy){.objective = cs_objective_default(CS_OBJ_AR),
                   .classes = 2,
                   .length = 2,
                   .tokens = 2,
                   .literal = true};
    OK(cs_toy_contexts_of(&toy, 1 << 15, &c));
    assert_true(fabs(c.cross_entropy - (0.5 * log(2) + 0.5 * 1.5 * log(2))) < 1e-12);
}

TEST(sequences_are_those_of_the_model)
{
    cs_toy toy = toy_of(CS_OBJ_AR);
    int32_t token[4];
    assert_true(cs_toy_sequences(&toy) == 48);
    cs_toy_sequence(&toy, 47, token); /* class 2, all digits 1: offset 5 of each position's 6 */
    assert_each(i, 0, 4, token[i] == 6 * i + 5);
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    for (int n = 0; n < 100; ++n) {
        cs_toy_sequence_draw(&toy, &rng, token);
        for (int i = 0; i < 4; ++i) { /* one class */
            assert_int_equal(token[i] / 6, i);
            assert_int_equal(token[i] % 6 / 2, token[0] / 2);
        }
    }
}

TEST(what_has_no_contexts)
{
    cs_toy_contexts c = {0};
    cs_toy toy = toy_of(CS_OBJ_AR);
    toy.given = true;
    assert_int_equal(cs_toy_contexts_of(&toy, 1 << 15, &c), CS_ERR_USAGE);
    toy.given = false;
    toy.objective.empty_prefix = CS_PREFIX_CLASS;
    assert_int_equal(cs_toy_contexts_of(&toy, 1 << 15, &c), CS_ERR_USAGE);
    toy.objective.empty_prefix = CS_PREFIX_NONE;
    assert_fails(cs_toy_contexts_of(&toy, 10, &c), CS_ERR_MEMORY, "the limit is 10");
}

/* --- factors -----------------------------------------------------------------------------------*/

/* f B and W B^-T with B = diag(2, 1/2, 2, ...): the product stays. */
static void stretch(cs_dense *f, cs_dense *w)
{
    for (int64_t j = 0; j < f->cols; ++j) {
        double by = j % 2 == 0 ? 2 : 0.5;
        for (int64_t i = 0; i < f->rows; ++i) {
            f->data[i + j * f->ld] *= by;
        }
        for (int64_t i = 0; i < w->rows; ++i) {
            w->data[i + j * w->ld] /= by;
        }
    }
}

TEST(the_optimum_is_the_minimum)
{
    for (int i = 0; i < 4; ++i) {
        cs_toy toy = toy_of(i < 2 ? CS_OBJ_MASKED : CS_OBJ_DIVERSE_AR);
        double factor = i % 2 ? 1 : 2;
        int64_t width = i < 2 ? 3 : 6;
        CS_AUTO_BY(close_world, world) w = {0};
        CS_AUTO(cs_dense) f = {0}, o = {0};
        open_world(&toy, &w);
        OK(optimum(&w.target, width, factor, &f, &o));
        stretch(&f, &o);
        AUTO_OK(cs_learned, l, cs_learned_of(&w.target, &f, &o, factor, 1, &l));
        assert_int_equal(l.t, width);
        assert_true(l.error < 1e-10 && fabs(l.excess) <= l.error);
        assert_true(l.distance < 1e-12);
        assert_each(j, 0, l.t, l.left[j] < 1e-12 && l.right[j] < 1e-12);
        assert_true(l.left_range < 1e-24 && l.right_range < 1e-24);
        double sum = 0; /* masked: three ones; diverse-ar: three ones and 3 cos^2, theorem-4-2.md */
        sum += SUM(j, 0, width, w.target.spectrum.sigma[j] * w.target.spectrum.sigma[j]);
        assert_true(fabs(l.minimum + factor * factor / 4 * sum) < 1e-12);
        assert_true(i >= 2 || fabs(l.minimum + factor * factor / 4 * 3) < 1e-12);
    }
}

/* Every mode has the share 1 at the optimum and its part of the energy; half of W' has half of the
 * share and the same energy; a mode of equal values is not cut. */
TEST(modes_of_the_optimum)
{
    for (int i = 0; i < 4; ++i) {
        cs_toy toy = toy_of(i < 2 ? CS_OBJ_MASKED : CS_OBJ_DIVERSE_AR);
        const double factor = i % 2 ? 1 : 2;
        const int64_t width = i < 2 ? 3 : 6;
        CS_AUTO_BY(close_world, world) w = {0};
        CS_AUTO(cs_dense) f = {0}, o = {0};
        cs_learned_mode mode[64];
        int64_t count = 0;
        open_world(&toy, &w);
        assert_true(w.target.spectrum.k <= 64);
        OK(optimum(&w.target, width, factor, &f, &o));
        stretch(&f, &o);
        OK(cs_learned_modes_of(&w.target, &f, &o, factor, width, mode, &count));
        assert_int_equal(count, i < 2 ? 1 : 2); /* three ones, and three of another value */
        assert_each(k, 0, count, mode[k].count == 3 && fabs(mode[k].share - 1) < 1e-12);
        double square = SUM(k, 0, count, 3 * mode[k].sigma * mode[k].sigma);
        assert_each(k, 0, count,
                    fabs(mode[k].energy - 3 * mode[k].sigma * mode[k].sigma / square) < 1e-12);
        for (int64_t j = 0; j < o.rows * o.cols; ++j) {
            o.data[j] /= 2;
        }
        const double energy = mode[0].energy;
        OK(cs_learned_modes_of(&w.target, &f, &o, factor, 1, mode, &count));
        assert_true(count == 1 && mode[0].count == 3 && fabs(mode[0].share - 0.5) < 1e-12 &&
                    fabs(mode[0].energy - energy) < 1e-12);
    }
}

TEST(measured_steps)
{
    assert_true(cs_learned_step(1, 3000) && cs_learned_step(2999, 2999));
    assert_true(cs_learned_step(100, 3000) && !cs_learned_step(101, 3000));
    assert_int_equal((int)SUM(step, 101, 1001, cs_learned_step(step, 3000)), 10);
}

static void disturb(cs_dense *x, double by, cs_rng *rng)
{
    for (int64_t j = 0; j < x->cols; ++j) {
        for (int64_t i = 0; i < x->rows; ++i) {
            x->data[i + j * x->ld] += by * cs_rng_normal(rng);
        }
    }
}

/* Whatever the factors: above the minimum, and angles below the bound from the excess. Some bounds
 * must be of use, or the test shows nothing. */
TEST(wrong_factors_are_above_it)
{
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    int useful = 0;
    for (int i = 0; i < 60; ++i) {
        cs_toy toy = toy_of(i % 2 ? CS_OBJ_MASKED : CS_OBJ_DIVERSE_AR);
        CS_AUTO_BY(close_world, world) w = {0};
        CS_AUTO(cs_dense) f = {0}, o = {0};
        int64_t width = 3 + i % 5;
        double factor = i % 3 ? 2 : 1;
        open_world(&toy, &w);
        OK(optimum(&w.target, width, factor, &f, &o));
        double by = pow(10, -3 + 0.06 * i);
        disturb(&f, by, &rng);
        disturb(&o, by, &rng);
        AUTO_OK(cs_learned, l, cs_learned_of(&w.target, &f, &o, factor, 1, &l));
        assert_true(l.t >= 3 && l.t <= width);
        assert_true(l.excess > l.error && l.distance > 0);
        assert_true(l.left[l.t - 1] > 1e-6);
        assert_true(l.left_range > 0 && l.left_range <= l.range_bound + l.range_error);
        assert_true(l.right_range > 0 && l.right_range <= l.range_bound + l.range_error);
        useful += l.range_bound < 0.1;
    }
    assert_true(useful >= 10);
}

TEST(bad_factors)
{
    cs_toy toy = toy_of(CS_OBJ_MASKED);
    CS_AUTO_BY(close_world, world) w = {0};
    CS_AUTO(cs_dense) f = {0}, o = {0};
    cs_learned l = {0};
    open_world(&toy, &w);
    OK(optimum(&w.target, 3, 2, &f, &o));
    assert_int_equal(cs_learned_of(&w.target, &o, &f, 2, 1, &l), CS_ERR_USAGE);
    assert_int_equal(cs_learned_of(&w.target, &f, &o, 0, 1, &l), CS_ERR_USAGE);
    f.data[5] = NAN;
    assert_int_equal(cs_learned_of(&w.target, &f, &o, 2, 1, &l), CS_ERR_INPUT);
    cs_reason_clear();
}

/* --- what linear attention can reach -----------------------------------------------------------*/

static cs_linear_reach reach_of(const cs_toy *toy, int64_t width, double *least)
{
    CS_AUTO_BY(close_world, world) w = {0};
    cs_linear_reach reach;
    open_world(toy, &w);
    OK(cs_linear_reach_of(&w.target, &w.contexts, width, 2, &reach));
    *least = 0;
    for (int64_t j = 0; j < width && j < w.target.spectrum.k; ++j) {
        *least -= w.target.spectrum.sigma[j] * w.target.spectrum.sigma[j];
    }
    return reach;
}

TEST(reach_of_linear_attention)
{
    static const cs_objective_kind holds[] = {CS_OBJ_AR, CS_OBJ_MASKED, CS_OBJ_DIVERSE_AR,
                                              CS_OBJ_GROUP_AR};
    double least;
    for (int i = 0; i < 4; ++i) {
        cs_toy toy = toy_of(holds[i]);
        for (int64_t width = 2; width < 10; ++width) {
            cs_linear_reach reach = reach_of(&toy, width, &least);
            assert_true(fabs(reach.uniform - least) < 1e-9 && fabs(reach.any - least) < 1e-9);
        }
    }
    cs_toy toy = toy_of(CS_OBJ_VARIABLE_MASKED); /* sizes 1 .. 3: no power of m is 1 / (s - m) */
    toy.objective.unmasked_lo = 1;
    toy.objective.unmasked_hi = 3;
    cs_linear_reach reach = reach_of(&toy, 12, &least);
    assert_true(least < reach.any - 0.1 && reach.any < reach.uniform - 0.1);
    /* Nothing but 0 on the empty prefix: its row of Abar, of norm 1, is out of reach. */
    toy = toy_of(CS_OBJ_AR);
    toy.objective.empty_prefix = CS_PREFIX_SHARED;
    reach = reach_of(&toy, 10, &least);
    assert_true(fabs(least + 10) < 1e-9 && fabs(reach.any + 9) < 1e-9);
}

/* --- statements --------------------------------------------------------------------------------*/

TEST(verdicts)
{
    double near = 0.01, far = 0.2;
    cs_learned l = {.width = 2,
                    .t = 1,
                    .factor = 2,
                    .loss = -1.4,
                    .minimum = -1.5,
                    .excess = 0.1,
                    .error = 1e-12,
                    .left = &near,
                    .right = &near,
                    .left_range = 0.01,
                    .right_range = 0.01,
                    .range_bound = 0.2,
                    .range_error = 1e-12};
    cs_linear_reach whole = {-1.5, -1.5}, part = {-1.2, -1.3};
    AUTO_OK(cs_statements, list, cs_learned_state(&l, "m", "toy", &whole, 0.05, &list));
    assert_int_equal(list.count, 3);
    assert_each(i, 0, list.count, list.item[i].verdict == CS_PASS);
    cs_statements_free(&list);
    l.right = &far; /* too little training is no refutation */
    OK(cs_learned_state(&l, "m", "toy", NULL, 0.05, &list));
    assert_int_equal(statement_of(&list, "trained-angle", CS_CORRECTED)->verdict, CS_INCONCLUSIVE);
    assert_false(cs_statements_failed(&list));
    cs_statements_free(&list);
    OK(cs_learned_state(&l, "m", "toy", &part, 0.05, &list));
    assert_int_equal(statement_of(&list, "trained-angle", CS_CORRECTED)->verdict, CS_UNSPECIFIED);
    assert_int_equal(statement_of(&list, "trained-reach", CS_CORRECTED)->verdict,
                     CS_FAIL); /* below what can be */
    cs_statements_free(&list);
    l.left_range = 0.3; /* more than the excess allows */
    l.loss = -1.6;
    OK(cs_learned_state(&l, "m", "toy", NULL, 0.05, &list));
    assert_int_equal(statement_of(&list, "trained-range", CS_CORRECTED)->verdict, CS_FAIL);
    assert_int_equal(statement_of(&list, "trained-minimum", CS_CORRECTED)->verdict, CS_FAIL);
}

TEST(entropy_verdicts)
{
    const struct {
        double loss;
        cs_verdict bound, excess;
    } want[] = {{0.70, CS_PASS, CS_PASS}, {0.8, CS_PASS, CS_INCONCLUSIVE}, {0.6, CS_FAIL, CS_PASS}};
    for (int i = 0; i < 3; ++i) {
        cs_learned_entropy e = {.loss = want[i].loss, .se = 0.001, .optimum = log(2)};
        AUTO_OK(cs_statements, list, cs_learned_entropy_state(&e, "m", "toy", 0.005, &list));
        assert_int_equal(statement_of(&list, "trained-entropy", CS_CORRECTED)->verdict,
                         want[i].bound);
        assert_int_equal(statement_of(&list, "trained-entropy-excess", CS_CORRECTED)->verdict,
                         want[i].excess);
    }
}

/* --- memory ------------------------------------------------------------------------------------*/

static cs_status everything(const cs_toy *toy)
{
    CS_AUTO_BY(close_world, world) w = {0};
    CS_AUTO(cs_dense) f = {0}, o = {0};
    CS_AUTO(cs_learned) l = {0};
    cs_linear_reach reach;
    CS_AUTO(cs_statements) list = {0};
    cs_status status = cs_toy_contexts_of(toy, 1 << 15, &w.contexts);
    if (status == CS_OK &&
        (status = cs_learned_target_of(&w.contexts.a, NULL, &w.target)) == CS_OK &&
        (status = optimum(&w.target, 2, 2, &f, &o)) == CS_OK &&
        (status = cs_learned_of(&w.target, &f, &o, 2, 1, &l)) == CS_OK &&
        (status = cs_linear_reach_of(&w.target, &w.contexts, 2, 2, &reach)) == CS_OK) {
        status = cs_learned_state(&l, "m", "toy", &reach, 0.05, &list);
    }
    return status;
}

TEST(every_allocation_fails_once)
{
    cs_toy toy = toy_of(CS_OBJ_AR);
    toy.classes = 2;
    toy.length = 3;
    OK(everything(&toy));
    int64_t n = 0;
    cs_status status = CS_ERR_MEMORY;
    while (status == CS_ERR_MEMORY) {
        (void)cs_mem_fail_at(++n);
        status = everything(&toy);
        (void)cs_mem_fail_at(0);
        cs_reason_clear();
    }
    OK(status);
    assert_true(n > 50);
}
