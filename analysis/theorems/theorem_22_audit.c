/* Theorem 2.2's contraction on random layers, and the layers on which what is printed fails.
 *
 * A random layer: n in 2..8 real rows and m in 1..4 [MASK] rows of width d in 1..6;
 * H_R = 1 c^T + s N, rows of U normal and shifted to sum to 1, weights normal times 10^[-1.5, 1],
 * so that delta runs from 1e-4, where the bounds are cubic, to hundreds, where softmax picks one
 * row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/theorems/registry.h"
#include "analysis/theorems/theorem_22.h"
#include "base/auto.h"
#include "base/rng.h"
#include "base/sort.h"

enum { DEFAULT_TRIALS = 2000, MOST_ROWS = 8, MOST_MASKS = 4, MOST_WIDTH = 6, LAYERS = 50 };

static const char *const bound_text[] = {
    [CS_22_TIGHT] = "||H_R' - 1 h'^T||_{2,inf} <= 2 tanh(delta/4) ||U||_inf ||R||_{2,inf} "
                    "||W^VO||_2 (one attention layer, no residual path, U 1 = 1)",
    [CS_22_CUBIC] = "||H_R' - 1 h'^T||_{2,inf} <= ||W^QK||_2 ||W^VO||_2 ||U||_inf^2 "
                    "||R||_{2,inf}^3 (one attention layer, no residual path, U 1 = 1)",
    [CS_22_PRINTED] = "||R'||_{1,inf} <= 4 eps ||R||_{1,inf}^3, eps = ||W^QK||_1 "
                      "||W^VO||_{1,inf} ||U||_inf (1 + ||U||_inf) (appendix A)",
};

/* A layer in its own memory, with square weights of width d. */
typedef struct {
    cs_pool pool;
    cs_dense h, u, wqk, wvo;
} small_layer;

static void small_layer_free(small_layer *l)
{
    cs_pool_free(&l->pool);
}

/* Zero. */
static cs_status make_layer(int64_t n, int64_t m, int64_t d, small_layer *l)
{
    l->h = cs_dense_in(&l->pool, n, d);
    l->u = cs_dense_in(&l->pool, m, n);
    l->wqk = cs_dense_in(&l->pool, d, d);
    l->wvo = cs_dense_in(&l->pool, d, d);
    return l->pool.status;
}

/* next: receives H_R'; NULL: not wanted. */
static cs_status evaluate(const small_layer *l, cs_dense *next, cs_22_sides *out)
{
    const cs_22_layer layer = {
        .h = &l->h, .u = &l->u, .wqk = &l->wqk, .wvo = &l->wvo, .next = next};
    return cs_22_evaluate(&layer, out);
}

static void fill_normal(cs_dense *a, double scale, cs_rng *rng)
{
    for (int64_t j = 0; j < a->cols; ++j) {
        for (int64_t i = 0; i < a->rows; ++i) {
            a->data[i + j * a->ld] = scale * cs_rng_normal(rng);
        }
    }
}

static double scale_of(cs_rng *rng, double low, double high)
{
    return pow(10, low + (high - low) * cs_rng_uniform(rng));
}

static cs_status random_sides(uint64_t seed, int64_t trial, cs_22_sides *out)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_AUDIT, (uint64_t)trial);
    CS_AUTO(small_layer) l = {0};
    int64_t n = 2 + cs_rng_below(&rng, MOST_ROWS - 1), m = 1 + cs_rng_below(&rng, MOST_MASKS);
    int64_t d = 1 + cs_rng_below(&rng, MOST_WIDTH);
    cs_status status = make_layer(n, m, d, &l);
    if (status != CS_OK) return status;
    fill_normal(&l.h, scale_of(&rng, -1, 0.5), &rng);
    for (int64_t j = 0; j < d; ++j) {
        double c = cs_rng_normal(&rng);
        for (int64_t i = 0; i < n; ++i) {
            l.h.data[i + j * l.h.ld] += c;
        }
    }
    fill_normal(&l.u, scale_of(&rng, -1, 0.5), &rng);
    for (int64_t i = 0; i < m; ++i) {
        double rest = 1;
        for (int64_t j = 0; j < n; ++j) {
            rest -= l.u.data[i + j * l.u.ld];
        }
        for (int64_t j = 0; j < n; ++j) {
            l.u.data[i + j * l.u.ld] += rest / (double)n;
        }
    }
    fill_normal(&l.wqk, scale_of(&rng, -1.5, 1), &rng);
    fill_normal(&l.wvo, scale_of(&rng, -1.5, 1), &rng);
    return evaluate(&l, NULL, out);
}

/* --- statements --------------------------------------------------------------------------------
 */

/* Left and right side of one of the three bounds. */
static void pick(const cs_22_sides *s, cs_22_bound which, double *lhs, double *rhs, double *error)
{
    *lhs = which == CS_22_PRINTED ? s->printed_lhs : s->lhs;
    *rhs = which == CS_22_PRINTED ? s->printed_rhs : which == CS_22_CUBIC ? s->cubic : s->tight;
    *error = which == CS_22_PRINTED ? s->printed_error : s->error;
}

cs_status cs_22_bounds(const cs_22_sides *sides, int64_t count, cs_22_bound which,
                       const char *input, int64_t *worst, cs_statements *out)
{
    double lhs, rhs, error;
    CS_AUTO_FREE double *loose = cs_alloc(count, sizeof *loose);
    if (!loose) return CS_ERR_MEMORY;
    int64_t contracting = 0, vacuous = 0, finite = 0;
    cs_claim_state most = CS_CLAIM_STATE_HOLDS;
    double largest = -INFINITY;
    *worst = 0;
    for (int64_t i = 0; i < count; ++i) {
        pick(&sides[i], which, &lhs, &rhs, &error);
        /* Where the right side is no better than the trivial bound, nothing is at stake. */
        bool idle = which != CS_22_PRINTED && rhs >= sides[i].trivial && lhs + error <= rhs;
        const cs_claim_state now = cs_claim_state_of(lhs, rhs, error);
        const double share = idle ? -1 : lhs + error > 0 ? (lhs + error) / rhs : 0;
        vacuous += idle;
        if (now < most || (now == most && now != CS_CLAIM_STATE_UNKNOWN && share > largest)) {
            *worst = i;
            most = now;
            largest = share;
        }
        if (now != CS_CLAIM_STATE_UNKNOWN) {
            loose[finite++] = lhs > 0 ? rhs / lhs : (double)INFINITY;
        }
        contracting += sides[i].contraction < 1;
    }
    qsort(loose, (size_t)finite, sizeof *loose, cs_ascending);
    const cs_22_sides *w = &sides[*worst];
    pick(w, which, &lhs, &rhs, &error);
    cs_statement *s = cs_statements_add(out, which == CS_22_CUBIC ? "2.2-cubic" : "2.2",
                                        which == CS_22_PRINTED ? CS_PRINTED : CS_CORRECTED,
                                        CS_RELATION_AT_MOST, bound_text[which], input);
    if (s) s->trivial = which == CS_22_PRINTED ? NAN : w->trivial;
    cs_statement_evaluate(s, lhs, rhs, error);
    if (most == CS_CLAIM_STATE_UNKNOWN) {
        cs_statement_withhold(s);
    }
    cs_statement_assume(s, "U 1 = 1 (value: largest |(U 1)_i - 1|)", w->u_sum < 1e-9, w->u_sum);
    const cs_detail detail[] = {{"evaluated", (double)count},
                                {"least_looseness", finite > 0 ? loose[0] : (double)NAN},
                                {"median_looseness", finite > 0 ? loose[finite / 2] : (double)NAN},
                                {"delta", w->delta},
                                {"u_norm", w->u_norm},
                                {"four_eps_residual_squared", w->contraction},
                                {"where_the_printed_bound_contracts", (double)contracting},
                                {"vacuous", (double)vacuous},
                                {"not_finite", (double)(count - finite)}};
    cs_statement_reals(s, sizeof detail / sizeof *detail, detail);
    cs_statement_counterexample(s, "layer %lld: %.17g > %.17g", (long long)*worst, lhs, rhs);
    return cs_statements_status(out);
}

static cs_status random_layers(int64_t trials, uint64_t seed, cs_statements *out)
{
    int64_t worst = 0;
    CS_AUTO_FREE cs_22_sides *sides = cs_calloc(trials, sizeof *sides);
    cs_status status = sides ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < trials && status == CS_OK; ++i) {
        status = random_sides(seed, i, &sides[i]);
    }
    for (int which = 0; which < 3 && status == CS_OK; ++which) {
        status = cs_22_bounds(sides, trials, (cs_22_bound)which, "random layers", &worst, out);
    }
    return status;
}

/* H_R of two rows of width 1, U of m rows (by columns), W = 1. */
static cs_status of_two(const double h[2], int64_t m, const double *u, cs_22_sides *out)
{
    CS_AUTO(small_layer) l = {0};
    cs_status status = make_layer(2, m, 1, &l);
    if (status != CS_OK) return status;
    memcpy(l.h.data, h, 2 * sizeof *h);
    memcpy(l.u.data, u, 2 * (size_t)m * sizeof *u);
    l.wqk.data[0] = l.wvo.data[0] = 1;
    return evaluate(&l, NULL, out);
}

/* Two rows of width 1 whose softmax weights are mirror images: H_R = (1/2, -3/2) = h +- 1 with
 * h = -1/2, U = I, W = 1. Then delta = 2, g = (-1/2, 1/2), and row 1 has q - p = (tanh(1/2),
 * -tanh(1/2)): both sides are 2 tanh(1/2). */
static cs_status sharp(cs_statements *out)
{
    cs_22_sides sides = {0};
    cs_status status = of_two((const double[]){0.5, -1.5}, 2, (const double[]){1, 0, 0, 1}, &sides);
    if (status == CS_OK) {
        cs_statement *s = cs_statements_claim(
            out, &(cs_claim){"2.2-sharp", CS_CORRECTED, CS_RELATION_EQUAL,
                             "the bound is attained: ||H_R' - 1 h'^T||_{2,inf} = 2 tanh(delta/4) "
                             "||U||_inf ||R||_{2,inf} ||W^VO||_2",
                             "H_R = H_M = (1/2, -3/2), U = I, W^QK = W^VO = 1", sides.lhs,
                             sides.tight, sides.error});
        cs_statement_real(s, "two_tanh_half", 2 * tanh(0.5));
    }
    return status;
}

/* H_M = U H_R with U 1 = -1. */
static cs_status without_sums(cs_statements *out)
{
    cs_22_sides sides = {0};
    cs_status status = of_two((const double[]){1.1, 0.9}, 1, (const double[]){-0.5, -0.5}, &sides);
    if (status == CS_OK) {
        cs_statement *s = cs_statements_claim(
            out, &(cs_claim){"2.2-u1", CS_PRINTED, CS_RELATION_AT_MOST,
                             "the same for any H_M = U H_R, since \"we can rescale the vector norm "
                             "of each row in H_M so that U has a row sum of one\" (appendix A)",
                             "H_R = (1.1, 0.9), H_M = -1, W^QK = W^VO = 1", sides.printed_lhs,
                             sides.printed_rhs, sides.printed_error});
        cs_statement_assume(s, "U 1 = 1 (value: largest |(U 1)_i - 1|)", sides.u_sum < 1e-9,
                            sides.u_sum);
        cs_statement_counterexample(s,
                                    "U = (-1/2, -1/2): ||R'||_{1,inf} = %.4g > %.4g; of two rows "
                                    "the mean is nearest in both norms, so no h' does better",
                                    sides.printed_lhs, sides.printed_rhs);
    }
    return status;
}

/* With H_R = I_2 there is one U, which is H_M: a row of norm c has c times the sum of its
 * direction, and one whose sum is not above 0 has it at no norm. */
static void rescaled(cs_statements *out)
{
    const double mask[2][2] = {{-1, 0}, {1, -1}};
    double least = INFINITY;
    for (int i = 0; i < 2; ++i) {
        least = fmin(least, mask[i][0] + mask[i][1]);
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"2.2-u1-norm", CS_PRINTED, CS_RELATION_LESS,
                         "\"We can rescale the vector norm of each row in H_M so that U has a row "
                         "sum of one\": 0 < every row sum of U (rhs: the least), which a norm "
                         "multiplies by a positive number",
                         "H_R = I_2, H_M = (-1, 0; 1, -1)", 0, least, 0});
    cs_statement_counterexample(
        s, "U = H_M has the row sums -1 and 0; no norm of (-1, 0) makes its sum 1");
}

/* Rows of I_4, each its own best match: softmax of 10 I keeps them apart, layer after layer. */
static cs_status no_collapse(cs_statements *out)
{
    enum { D = 4 };
    CS_AUTO(small_layer) l = {0};
    cs_22_sides sides = {0};
    double first = 0, contraction = 0;
    cs_dense next = cs_dense_in(&l.pool, D, D);
    cs_status status = make_layer(D, D, D, &l);
    for (int64_t i = 0; status == CS_OK && i < D; ++i) {
        l.h.data[i + i * l.h.ld] = l.u.data[i + i * l.u.ld] = l.wvo.data[i + i * l.wvo.ld] = 1;
        l.wqk.data[i + i * l.wqk.ld] = 10;
    }
    for (int layer = 0; status == CS_OK && layer < LAYERS; ++layer) {
        status = evaluate(&l, &next, &sides);
        first = layer == 0 ? sides.printed_residual : first;
        contraction = layer == 0 ? sides.contraction : contraction;
        cs_dense h = l.h; /* H_R' is the next H_R, and H_M' stays the same (U = I) */
        l.h = next;
        next = h;
    }
    if (status == CS_OK) {
        cs_statement *s = cs_statements_claim(
            out, &(cs_claim){"2.2-collapse", CS_PRINTED, CS_RELATION_AT_MOST,
                             "||R^l||_{1,inf} converges exponentially with l to 0: after 50 layers "
                             "at most half of ||R^0||_{1,inf}",
                             "H_R = H_M = I_4, W^QK = 10 I, W^VO = I", sides.printed_lhs, first / 2,
                             LAYERS * sides.printed_error});
        cs_statement_assume(s, "4 eps ||R^0||^2 < 1 (value: it)", contraction < 1, contraction);
        cs_statement_counterexample(
            s,
            "||R||_{1,inf} is %.4g before and %.4g after %d layers: the bound shrinks only where 4 "
            "eps ||R||^2 < 1, and here that is %.3g",
            first, sides.printed_lhs, LAYERS, contraction);
    }
    return status;
}

/* The step of the proof that leaves its range. */
static void exponential(cs_statements *out)
{
    const double x = 2;
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"2.2-exp", CS_PRINTED, CS_RELATION_AT_MOST,
                         "exp(x) <= 1 + 2x for x = F_ij - min_j F_ij, whatever the layer (appendix "
                         "A)",
                         "a row of F that ranges over 2", exp(x), 1 + 2 * x, 1e-14});
    cs_statement_counterexample(s, "exp(2) = %.4g > 5; it holds up to x = 1.256", exp(x));
}

cs_status cs_theorem_22(int64_t trials, uint64_t seed, cs_statements *out)
{
    cs_status status = random_layers(trials > 0 ? trials : DEFAULT_TRIALS, seed, out);
    const int64_t first = out->count;
    if (status == CS_OK) status = sharp(out);
    if (status == CS_OK) status = without_sums(out);
    if (status == CS_OK) {
        rescaled(out);
        status = no_collapse(out);
    }
    if (status == CS_OK) exponential(out);
    cs_statements_mark(out, first);
    return status == CS_OK ? cs_statements_status(out) : status;
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_22(0, in->seed, &report->statements);
}

const cs_theorem cs_entry_22 = {
    .id = "2.2",
    .about = "Theorem 2.2 is about attention layers",
    .paper = "MAE-LM",
    .printed_words = "an attention layer bounds a residual by its cube",
    .corrected_words = "a layer scales the residual by a bounded factor",
    .printed = "MAE-LM: ||R'||_{1,inf} <= 4 eps ||R||_{1,inf}^3 for one attention layer",
    .corrected = "||H_R' - 1 h'^T||_{2,inf} <= 2 tanh(delta/4) ||U||_inf ||R||_{2,inf} ||W^VO||_2, "
                 "where U 1 = 1",
    .run = {[CS_ON_NOTHING] = on_nothing}};
