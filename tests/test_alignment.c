/* Alignment of objectives with a task: its sums against all events of all plans one by one, and its score against a
 * case known by hand. tests/oracle/align_oracle.py compares scores with numpy. */
#include "analysis/measures/alignment.h"
#include "plan/position_weights.h"
#include "plan_support.h"
#include "test.h"

enum { WIDTH = 4 };

/* S0 and S1 of rows h (s x WIDTH) by all events: weights are those of all plans, normalised. */
static void sums_by_events(const cs_objective *o, int64_t s, const float *h, double *s0, double *s1,
                           double *given)
{
    static plan_tally t;
    memset(&t, 0, sizeof t);
    OK(cs_plan_enumerate(o, s, 1 << 20, plan_tally_add, &t));
    plan_normalise(t.table);
    *given = 0;
    for (unsigned mask = 0; mask < 1u << s; ++mask) {
        double b[WIDTH] = {0};
        for (int64_t i = 0; i < s; ++i) {
            for (int j = 0; mask >> i & 1 && j < WIDTH; ++j) {
                b[j] += (double)h[i * WIDTH + j];
            }
        }
        for (int64_t k = 0; k < s; ++k) {
            const double w = t.table[mask * PLAN_LONGEST + (unsigned)k];
            *given += w * __builtin_popcount(mask);
            for (int i = 0; i < WIDTH; ++i) {
                for (int j = 0; j < WIDTH; ++j) {
                    s0[i + j * WIDTH] += w * b[i] * b[j];
                    s1[i + j * WIDTH] += w * b[i] * (double)h[k * WIDTH + j];
                }
            }
        }
    }
}

static void assert_same(const cs_dense *a, const double *b, double scale)
{
    assert_each(i, 0, WIDTH * WIDTH,
                fabs(a->data[i] - scale * b[i]) < 1e-12 * (1 + fabs(scale * b[i])));
}

/* Tokens of a random text as ids and as their one-hot rows; then rows of any numbers. */
static void compare(const cs_objective *o, int64_t s, cs_rng *rng)
{
    int32_t token[PLAN_LONGEST];
    float h[PLAN_LONGEST * WIDTH] = {0}, random[PLAN_LONGEST * WIDTH];
    double s0[WIDTH * WIDTH] = {0}, s1[WIDTH * WIDTH] = {0}, given = 0;
    for (int64_t i = 0; i < s; ++i) {
        token[i] = (int32_t)cs_rng_below(rng, WIDTH);
        h[i * WIDTH + token[i]] = 1;
    }
    for (int64_t i = 0; i < s * WIDTH; ++i) {
        random[i] = (float)(cs_rng_uniform(rng) - 0.5);
    }
    AUTO_OK(cs_alignment, a, cs_alignment_open(o, WIDTH, 2, &a));
    AUTO_OK(cs_alignment, b, cs_alignment_open(o, WIDTH, 2, &b));
    AUTO_OK(cs_alignment, c, cs_alignment_open(o, WIDTH, 2, &c));
    OK(cs_alignment_add_tokens(&a, token, s));
    OK(cs_alignment_add_rows(&b, h, s));
    OK(cs_alignment_add_rows(&c, random, s));
    sums_by_events(o, s, h, s0, s1, &given);
    assert_true(a.sequences == 1 && fabs(a.given - a.weight * given) < 1e-12 * (1 + a.weight));
    assert_same(&a.between, s0, a.weight);
    assert_same(&a.across, s1, a.weight);
    assert_same(&b.between, s0, b.weight);
    assert_same(&b.across, s1, b.weight);
    memset(s0, 0, sizeof s0);
    memset(s1, 0, sizeof s1);
    sums_by_events(o, s, random, s0, s1, &given);
    assert_same(&c.between, s0, c.weight);
    assert_same(&c.across, s1, c.weight);
}

TEST(sums_by_all_events)
{
    int compared = 0;
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective o = plan_objective(plan_spec(i));
        for (int64_t s = 2; s <= PLAN_LONGEST; ++s) {
            for (int mask = 0; mask < 2; ++mask) {
                o.event_weight = mask ? CS_EVENT_MASK : CS_EVENT_TOKEN;
                if (plan_exists(&o, s)) {
                    compare(&o, s, &rng);
                    ++compared;
                }
            }
        }
    }
    assert_true(compared > 150);
}

TEST(sums_of_mixtures)
{
    static const char *const specs[] = {
        "mix:0.5*ar+0.5*masked(mask-ratio=0.5)",
        "mix:0.2*group-ar(t=2)+0.5*bernoulli-masked(mask-ratio=0.5)+0.3*prefix-lm"};
    cs_rng rng = cs_rng_at(2, CS_STREAM_TEST, 0);
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_objective o = plan_held(specs[i], &file);
        compare(&o, 6, &rng);
    }
}

/* Two words, each followed by itself: the words a a and b b, three times as often a. One-hot features, ar:
 * S0 = diag(3/4, 1/4) = S1, so that the eigenvalues of (S1 S1^T, S0) are 3/4 and 1/4 and V of rank 1 is a. Classes by
 * word: Sxy = Sxx = S0 too, so that U of rank 1 is a, of rank 2 both with lengths 1 / sqrt(3/4) and 1 / sqrt(1/4). */
TEST(score_by_hand)
{
    static const int32_t a[] = {0, 0}, b[] = {1, 1};
    const double x[] = {1, 0}, y[] = {0, 1};
    cs_objective o = plan_objective("ar");
    cs_alignment_score score;
    AUTO_OK(cs_alignment, sums, cs_alignment_open(&o, 2, 2, &sums));
    for (int i = 0; i < 4; ++i) {
        OK(cs_alignment_add_tokens(&sums, i < 3 ? a : b, 2));
        cs_alignment_add_document(&sums, i < 3 ? x : y, i < 3 ? 0 : 1);
    }
    OK(cs_alignment_add_tokens(&sums, a, 1)); /* too short for ar */
    assert_true(sums.skipped == 1 && sums.sequences == 4 && sums.documents == 4);
    OK(cs_alignment_score_of(&sums, 1, 1, &score));
    assert_true(fabs(score.score - 1) < 1e-14 && score.directions == 2);
    assert_true(fabs(score.last - 1) < 1e-14 && fabs(score.next - 1. / 3) < 1e-14);
    assert_true(fabs(score.context_tokens - 1) < 1e-14);
    OK(cs_alignment_score_of(&sums, 1, 2, &score)); /* (4/3) / (4/3 + 4) */
    assert_true(fabs(score.score - 0.25) < 1e-14);
    OK(cs_alignment_score_of(&sums, 2, 2, &score));
    assert_true(fabs(score.score - 1) < 1e-14 && score.next == 0);
    assert_fails(
        cs_alignment_score_of(&sums, 3, 1, &score), CS_ERR_INPUT,
        "3 directions of the objective are needed, but there are 2; lower -k, or leave it out");
    OK(cs_alignment_score_of(&sums, 0, 0, &score)); /* as many as there are; classes less one */
    assert_true(score.rank == 2 && score.task_rank == 1 && score.next == 0);
}

/* Defaults of a feature that never occurs and of classes that share their only word: one direction of the task. */
TEST(defaults_are_what_exists)
{
    static const int32_t text[] = {0, 1, 0};
    const double x[] = {1, 0, 0};
    cs_objective o = plan_objective("ar");
    cs_alignment_score score;
    AUTO_OK(cs_alignment, sums, cs_alignment_open(&o, 3, 3, &sums));
    OK(cs_alignment_add_tokens(&sums, text, 3));
    assert_fails(cs_alignment_score_of(&sums, 0, 0, &score), CS_ERR_INPUT,
                 "no direction of the task has a positive eigenvalue"); /* no documents */
    for (int c = 0; c < 3; ++c) {
        cs_alignment_add_document(&sums, x, c);
    }
    OK(cs_alignment_score_of(&sums, 0, 0, &score));
    assert_true(score.rank == 2 && score.task_rank == 1 && fabs(score.score - 1) < 1e-14);
    assert_fails(cs_alignment_score_of(&sums, 0, 2, &score), CS_ERR_INPUT,
                 "but there are 1; lower --task-rank, or leave it out");
}

/* The mask ratio is a ridge: for m of s tokens unmasked, S1 / m and the diagonal of S0 / m do not depend on m, and the
 * rest of S0 / m has the factor (m - 1) / (s - 2), s - 2 being the others of a target's context. */
TEST(mask_ratio_is_a_ridge)
{
    enum { S = 8 };
    double both[S * S], from[S * S];
    for (int64_t m = 1; m < S; ++m) {
        cs_objective o = cs_objective_default(CS_OBJ_MASKED);
        o.unmasked_lo = o.unmasked_hi = m;
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&o, S, &pairs));
        OK(cs_position_weights(&pairs, both, from));
        for (int i = 0; i < S * S; ++i) {
            const bool same = i % S == i / S;
            const double w0 = same ? (double)m / S : (double)(m * (m - 1)) / (S * (S - 1));
            const double w1 = same ? 0 : (double)m / (S * (S - 1));
            assert_true(fabs(both[i] - w0) < 1e-14 && fabs(from[i] - w1) < 1e-14);
        }
    }
}
