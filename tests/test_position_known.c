/* A target position that is known with some probability, multi-token prediction, masked diffusion
 * and the floor of sum sigma^2: the toy model against matrices made here, content by content. */
#include "linalg/dense.h"
#include "plan_support.h"
#include "test.h"
#include "toy_support.h"

/* A joint distribution, row by row, of at most COLS targets; its singular values. */
enum { ROWS = 4096, COLS = 64 };

typedef struct {
    int rows, cols;
    double a[ROWS][COLS];
} joint;

static void values_of(const joint *j, double sigma[COLS])
{
    double row[ROWS] = {0}, col[COLS] = {0}, value[COLS];
    AUTO_OK(cs_dense, gram, cs_dense_init(&gram, j->cols, j->cols));
    for (int i = 0; i < j->rows; ++i) {
        for (int c = 0; c < j->cols; ++c) {
            row[i] += j->a[i][c];
            col[c] += j->a[i][c];
        }
    }
    for (int i = 0; i < j->rows; ++i) {
        for (int c = 0; c < j->cols; ++c) {
            for (int d = 0; d < j->cols && j->a[i][c] > 0; ++d) {
                gram.data[c + d * j->cols] +=
                    j->a[i][c] * j->a[i][d] / row[i] / sqrt(col[c] * col[d]);
            }
        }
    }
    OK(cs_dense_eigh(&gram, value, true));
    for (int c = 0; c < j->cols; ++c) {
        sigma[c] = sqrt(fmax(value[j->cols - 1 - c], 0));
    }
}

/* sigma^2 to 1e-13: roots of what is 0 are up to 1e-7. */
static void expect_values(const cs_toy_spectrum *s, const double *sigma, int count)
{
    int64_t at = 0, left = s->values > 0 ? s->multiplicity[0] : 0;
    for (int c = 0; c < count; ++c) {
        const double x = at < s->values ? s->sigma[at] : 0;
        assert_true(fabs(x * x - sigma[c] * sigma[c]) < 1e-13);
        if (--left == 0) {
            left = ++at < s->values ? s->multiplicity[at] : 0;
        }
    }
    assert_true(at >= s->values);
}

static int members(unsigned set)
{
    return __builtin_popcount(set);
}

/* m of s positions unmasked, uniformly; one of the n = s - m others is named, correct with
 * probability 1 - eps, each wrong one with eps / (n - 1). Classes of T tokens a position, all
 * different. */
static void noisy_masks(int r, int s, int tokens, int m, double eps, joint *j)
{
    const int n = s - m;
    memset(j, 0, sizeof *j);
    j->cols = r * s * tokens;
    for (unsigned set = 0; set < 1U << s; ++set) {
        int contents = 1;
        for (int i = 0; members(set) == m && i < m; ++i) {
            contents *= tokens;
        }
        for (int y = 0; members(set) == m && y < r; ++y) {
            for (int c = 0; c < contents; ++c) {
                for (int named = 0; named < s; ++named) {
                    for (int k = 0; k < s && !(set >> named & 1); ++k) {
                        const double p = k == named ? 1 - eps : eps / (n - 1);
                        for (int d = 0; d < tokens && !(set >> k & 1); ++d) {
                            j->a[j->rows][(y * s + k) * tokens + d] = p;
                        }
                    }
                    j->rows += !(set >> named & 1);
                    assert_true(j->rows < ROWS);
                }
            }
        }
    }
}

TEST(a_noisy_position_is_one_that_is_known_in_part)
{
    static joint j;
    double sigma[COLS];
    for (int s = 3; s <= 5; ++s) {
        for (int m = 1; m <= s - 2; ++m) {
            for (int i = 0; i < 10; ++i) {
                const int n = s - m, r = 1 + i % 2, tokens = 1 + i % 3 % 2;
                const double eps = 0.09 * i * (n - 1) / n, theta = 1 - eps * n / (n - 1);
                const double blind = (double)m / ((s - m) * (s - 1));
                cs_toy toy = toy_of("masked:unmasked=1", r, s, tokens);
                toy.objective.unmasked_lo = toy.objective.unmasked_hi = m;
                toy.given = i == 0;
                toy.position_known = i == 0 ? 0 : theta;
                noisy_masks(r, s, tokens, m, eps, &j);
                values_of(&j, sigma);
                for (int way = 0; way < 3; ++way) {
                    static const toy_method method[] = {toy_enumerate, cs_toy_reduce,
                                                        cs_toy_closed};
                    CS_AUTO(cs_toy_spectrum) spectrum = toy_run(method[way], &toy);
                    expect_values(&spectrum, sigma, r * s * tokens);
                }
                const double rest = 1 - (1 - theta * theta) * (1 - blind);
                assert_true(fabs(sigma[r] * sigma[r] - rest) < 1e-13);
            }
        }
    }
}

/* Any objective: where P(. | S) is not uniform the draw follows it. */
TEST(every_method_of_a_known_position_agrees)
{
    const double theta[] = {0.01, 0.5, 0.93};
    int formulas = 0;
    for (int p = 0; p < plan_spec_count(); ++p) {
        for (int variant = 0; variant < 6; ++variant) {
            cs_toy toy = toy_of(plan_spec(p), 2, 4, 1 + variant % 2);
            toy.objective.empty_prefix = variant % 2 ? CS_PREFIX_CLASS : CS_PREFIX_NONE;
            toy.position_known = theta[variant / 2];
            if (plan_exists(&toy.objective, 4)) {
                CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, &toy),
                                         reduced = toy_run(cs_toy_reduce, &toy), formula = {0};
                expect_spectra_agree(&full, &reduced);
                if (cs_toy_closed(&toy, &formula) == CS_OK) {
                    expect_spectra_agree(&full, &formula);
                    ++formulas;
                }
                cs_reason_clear();
            }
        }
    }
    assert_true(formulas > 60);
}

TEST(indistinguishable_values_are_refused)
{
    cs_toy_spectrum s;
    cs_toy toy = toy_of("ar", 2, 4, 2);
    toy.position_known = 1;
    assert_fails(cs_toy_enumerate(&toy, 0, &s), CS_ERR_USAGE, "probability 1 not in [0, 1)");
    toy.position_known = -0.5;
    assert_fails(cs_toy_reduce(&toy, &s), CS_ERR_USAGE, "probability -0.5 not in");
    toy.position_known = NAN;
    assert_fails(cs_toy_closed(&toy, &s), CS_ERR_USAGE, "not in [0, 1)");
    toy.position_known = 0.5;
    toy.given = true;
    assert_fails(cs_toy_reduce(&toy, &s), CS_ERR_USAGE, "cannot be combined with given position");
    toy.given = false;
    toy.objective.empty_prefix = CS_PREFIX_SHARED;
    assert_fails(cs_toy_reduce(&toy, &s), CS_ERR_USAGE,
                 "cannot be combined with shared empty text");
}

/* Head d of a prefix of i tokens predicts token i + d of the t that follow, each counted once: the
 * row is (prefix, d). One head for all: the row is the prefix. */
static void multi_token(int s, int t, int tokens, bool heads, joint *j)
{
    memset(j, 0, sizeof *j);
    j->cols = 2 * (s - 1) * tokens;
    for (int y = 0; y < 2; ++y) {
        for (int i = 1, contents = tokens; i < s; ++i, contents *= tokens) {
            for (int c = 0; c < contents; ++c) {
                for (int d = 0; d < t && i + d < s; ++d) {
                    j->rows += heads && d > 0;
                    for (int x = 0; x < tokens; ++x) {
                        j->a[j->rows][(y * (s - 1) + i + d - 1) * tokens + x] = 1.0 / contents;
                    }
                }
                ++j->rows;
            }
        }
    }
}

TEST(multi_token_prediction_is_the_given_end_of_diverse_ar)
{
    static joint j;
    double sigma[COLS], blind[COLS];
    for (int t = 1; t <= 4; ++t) {
        cs_toy toy = toy_of("diverse-ar:t=1", 2, 5, 2);
        toy.objective.t = t;
        toy.given = true;
        multi_token(5, t, 2, true, &j);
        values_of(&j, sigma);
        CS_AUTO(cs_toy_spectrum) s = toy_run(toy_enumerate, &toy);
        expect_values(&s, sigma, j.cols);
        assert_true(s.values == 1 && s.rank == 8);
        multi_token(5, t, 2, false, &j);
        values_of(&j, blind);
        assert_true(t == 1 || blind[2] < 0.99); /* one head for all is not */
    }
}

TEST(diffusion_has_the_closed_form_of_permuted_ar)
{
    for (int variant = 0; variant < 12; ++variant) {
        cs_toy toy = toy_of("diffusion", 1 + variant / 6, 5, 2), other;
        toy.objective.event_weight = (cs_event_weight)(variant % 2);
        toy.objective.empty_prefix = (cs_empty_prefix)(variant / 2 % 3);
        other = cs_toy_with(&toy, CS_OBJ_PERMUTED_AR, toy.objective.empty_prefix);
        CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, &toy),
                                 closed = toy_run(cs_toy_closed, &toy),
                                 permuted = toy_run(toy_enumerate, &other);
        expect_spectra_agree(&full, &closed);
        expect_spectra_agree(&full, &permuted);
    }
}

/* From the table of all plans, S by S. */
static double floor_by_hand(const cs_objective *o, int64_t s, bool *met)
{
    static plan_tally t;
    double target[PLAN_LONGEST] = {0}, floor = 0;
    memset(&t, 0, sizeof t);
    OK(cs_plan_enumerate(o, s, 1 << 20, plan_tally_add, &t));
    plan_normalise(t.table);
    for (int c = 0; c < PLAN_CELLS; ++c) {
        target[c % PLAN_LONGEST] += t.table[c];
    }
    *met = true;
    for (unsigned set = 0; set < 1U << s; ++set) {
        double w = SUM(k, 0, s, t.table[set * PLAN_LONGEST + (unsigned)k]);
        double inside = SUM(k, 0, s, set >> k & 1 ? target[k] : 0);
        floor += w > 0 ? w / (1 - inside) : 0;
        for (int k = 0; k < s && w > 0; ++k) {
            const double share = t.table[set * PLAN_LONGEST + (unsigned)k] / w;
            const double want = set >> k & 1 ? 0 : target[k] / (1 - inside);
            *met = *met && fabs(share - want) < 1e-9;
        }
    }
    return floor;
}

TEST(sum_of_squares_is_above_its_floor)
{
    static const char *const more[] = {"mix:1*ar+1*masked(unmasked=2)",
                                       "mix:0.2*group-ar(t=2)+0.8*permuted-ar",
                                       "mix:1*masked(unmasked=1)+3*gvp(groups=2)"};
    const int specs = plan_spec_count();
    int met = 0, above = 0;
    for (int p = 0; p < 3 * (specs + 3); ++p) {
        CS_AUTO(cs_plan_file) file = {0};
        const int64_t s = 3 + p % 3;
        cs_toy toy = {.classes = 2, .length = s, .tokens = 1};
        toy.objective = p / 3 < specs ? plan_objective(plan_spec(p / 3))
                                      : plan_held(more[p / 3 - specs], &file);
        if (plan_exists(&toy.objective, s)) {
            bool is = false, want = false;
            double floor = 0, by_hand = floor_by_hand(&toy.objective, s, &want);
            OK(cs_toy_floor(&toy, &floor, &is));
            CS_AUTO(cs_toy_spectrum) full = toy_run(toy_enumerate, &toy);
            const double sum = full.sum_sigma2 / 2;
            assert_true(fabs(floor - by_hand) < 1e-13 * by_hand && is == want);
            assert_true(is ? fabs(sum - floor) < 1e-12 : sum > floor + 1e-6);
            met += is;
            above += !is;
        }
    }
    assert_true(met > 30 && above > 30);
    cs_toy toy = toy_of("ar", 1, 3, 1);
    double floor;
    bool is;
    toy.objective.empty_prefix = CS_PREFIX_CLASS;
    assert_fails(cs_toy_floor(&toy, &floor, &is), CS_ERR_USAGE, "nonempty");
}
