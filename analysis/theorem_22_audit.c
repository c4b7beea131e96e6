/* Theorem 2.2's contraction on random layers, and the layers on which what is printed fails.
 *
 * A random layer: n in 2..8 real rows and m in 1..4 [MASK] rows of width d in 1..6; H_R = 1 c^T +
 * s N, rows of U normal and shifted to sum to 1, weights normal times 10^[-1.5, 1], so that delta
 * runs from 1e-4, where the bounds are cubic, to hundreds, where softmax picks one row. */
#include <math.h>
#include <stdlib.h>

#include "analysis/theorem_22.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/json.h"

enum { DEFAULT_TRIALS = 2000, MOST_ROWS = 8, MOST_MASKS = 4, MOST_WIDTH = 6, LAYERS = 50 };

static const char *const bound_text[] = {
    [CS_22_TIGHT] = "||H_R' - 1 h'^T||_{2,inf} <= 2 tanh(delta/4) ||U||_inf ||R||_{2,inf} "
                    "||W^VO||_2 (one attention layer, no residual path, U 1 = 1)",
    [CS_22_CUBIC] = "||H_R' - 1 h'^T||_{2,inf} <= ||W^QK||_2 ||W^VO||_2 ||U||_inf^2 "
                    "||R||_{2,inf}^3 (one attention layer, no residual path, U 1 = 1)",
    [CS_22_PRINTED] = "||R'||_{1,inf} <= 4 eps ||R||_{1,inf}^3, eps = ||W^QK||_1 "
                      "||W^VO||_{1,inf} ||U||_inf (1 + ||U||_inf) (appendix A)",
};

/* A layer with its memory. */
typedef struct {
    cs_dense h, u, wqk, wvo;
} small_layer;

static void free_layer(small_layer *l)
{
    cs_dense_free(&l->h);
    cs_dense_free(&l->u);
    cs_dense_free(&l->wqk);
    cs_dense_free(&l->wvo);
}

/* Square weights of width d, zero. */
static cs_status make_layer(int64_t n, int64_t m, int64_t d, small_layer *l)
{
    cs_status status = cs_dense_init(&l->h, n, d);
    if (status == CS_OK && (status = cs_dense_init(&l->u, m, n)) == CS_OK &&
        (status = cs_dense_init(&l->wqk, d, d)) == CS_OK) {
        status = cs_dense_init(&l->wvo, d, d);
    }
    return status;
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
    small_layer l = {0};
    int64_t n = 2 + cs_rng_below(&rng, MOST_ROWS - 1), m = 1 + cs_rng_below(&rng, MOST_MASKS);
    int64_t d = 1 + cs_rng_below(&rng, MOST_WIDTH);
    cs_status status = make_layer(n, m, d, &l);
    if (status != CS_OK) {
        goto done;
    }
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
    status = evaluate(&l, NULL, out);
done:
    free_layer(&l);
    return status;
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

/* The margin of a layer: FAIL before a side that overflowed before INCONCLUSIVE before what holds,
 * and among its like the larger share of the right side first. */
typedef struct {
    int verdict; /* 0: fails; 1: a number is not finite; 2: undecided; 3: holds */
    double share;
} standing;

static standing stand(double lhs, double rhs, double error, bool idle)
{
    standing at = {.verdict = 1};
    if (isfinite(lhs) && isfinite(rhs) && isfinite(error)) {
        at.verdict = rhs - lhs < -error ? 0 : rhs - lhs < error ? 2 : 3;
        at.share = idle ? -1 : lhs + error > 0 ? (lhs + error) / rhs : 0;
    }
    return at;
}

static bool nearer(standing a, standing b)
{
    return a.verdict == b.verdict ? a.share > b.share : a.verdict < b.verdict;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cs_status cs_22_bounds(const cs_22_sides *sides, int64_t count, cs_22_bound which,
                       const char *input, int64_t *worst, cs_statements *out)
{
    double lhs, rhs, error, *loose = cs_alloc(count, sizeof *loose);
    if (!loose) {
        return CS_ERR_MEMORY;
    }
    int64_t contracting = 0, vacuous = 0, finite = 0;
    standing most = {.verdict = 3, .share = -INFINITY};
    *worst = 0;
    for (int64_t i = 0; i < count; ++i) {
        pick(&sides[i], which, &lhs, &rhs, &error);
        /* Where the right side is no better than the trivial bound, nothing is at stake. */
        bool idle = which != CS_22_PRINTED && rhs >= sides[i].trivial && lhs + error <= rhs;
        standing now = stand(lhs, rhs, error, idle);
        vacuous += idle;
        if (nearer(now, most)) {
            *worst = i;
            most = now;
        }
        if (now.verdict != 1) {
            loose[finite++] = lhs > 0 ? rhs / lhs : (double)INFINITY;
        }
        contracting += sides[i].contraction < 1;
    }
    qsort(loose, (size_t)finite, sizeof *loose, ascending);
    const cs_22_sides *w = &sides[*worst];
    pick(w, which, &lhs, &rhs, &error);
    cs_statement *s = cs_statements_add(out, which == CS_22_CUBIC ? "2.2-cubic" : "2.2",
                                        which == CS_22_PRINTED ? CS_PRINTED : CS_CORRECTED,
                                        CS_RELATION_AT_MOST, bound_text[which], input);
    cs_status status = s ? CS_OK : CS_ERR_MEMORY;
    if (s) {
        s->trivial = which == CS_22_PRINTED ? NAN : w->trivial;
        cs_statement_judge(s, lhs, rhs, error);
        if (most.verdict == 1) {
            cs_statement_withhold(s);
        }
        status = cs_statement_assume(s, "U 1 = 1 (value: largest |(U 1)_i - 1|)", w->u_sum < 1e-9,
                                     w->u_sum);
    }
    const double detail[] = {(double)count,
                             finite > 0 ? loose[0] : (double)NAN,
                             finite > 0 ? loose[finite / 2] : (double)NAN,
                             w->delta,
                             w->u_norm,
                             w->contraction,
                             (double)contracting,
                             (double)vacuous,
                             (double)(count - finite)};
    static const char *const key[] = {"evaluated",
                                      "least_looseness",
                                      "median_looseness",
                                      "delta",
                                      "u_norm",
                                      "four_eps_residual_squared",
                                      "where_the_printed_bound_contracts",
                                      "vacuous",
                                      "not_finite"};
    for (int k = 0; status == CS_OK && k < 9; ++k) {
        status = cs_statement_detail(s, key[k], cs_json_number(detail[k]));
    }
    if (status == CS_OK && s->verdict == CS_FAIL) {
        status = cs_statement_counterexample(s, "layer %lld: %.17g > %.17g", (long long)*worst, lhs,
                                             rhs);
    }
    cs_free(loose);
    return status;
}

static cs_status random_layers(const cs_theorem_22_options *o, cs_statements *out)
{
    int64_t trials = o->trials > 0 ? o->trials : DEFAULT_TRIALS, worst = 0;
    cs_22_sides *sides = cs_calloc(trials, sizeof *sides);
    cs_status status = sides ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < trials && status == CS_OK; ++i) {
        status = random_sides(o->seed, i, &sides[i]);
    }
    for (int which = 0; which < 3 && status == CS_OK; ++which) {
        status = cs_22_bounds(sides, trials, (cs_22_bound)which, "random layers", &worst, out);
    }
    cs_free(sides);
    return status;
}

/* Two rows of width 1 whose softmax weights are mirror images: H_R = (1/2, -3/2) = h +- 1 with h =
 * -1/2, U = I, W = 1. Then delta = 2, g = (-1/2, 1/2), and row 1 has q - p = (tanh(1/2),
 * -tanh(1/2)): both sides are 2 tanh(1/2). */
static cs_status sharp(cs_statements *out)
{
    small_layer l = {0};
    cs_22_sides sides = {0};
    cs_status status = make_layer(2, 2, 1, &l);
    if (status == CS_OK) {
        l.h.data[0] = 0.5;
        l.h.data[1] = -1.5;
        l.u.data[0] = l.u.data[1 + l.u.ld] = 1;
        l.wqk.data[0] = l.wvo.data[0] = 1;
        status = evaluate(&l, NULL, &sides);
    }
    cs_statement *s =
        status == CS_OK ? cs_statements_add(
                              out, "2.2-sharp", CS_CORRECTED, CS_RELATION_EQUAL,
                              "the bound is attained: ||H_R' - 1 h'^T||_{2,inf} = 2 tanh(delta/4) "
                              "||U||_inf ||R||_{2,inf} ||W^VO||_2",
                              "H_R = H_M = (1/2, -3/2), U = I, W^QK = W^VO = 1")
                        : NULL;
    if (s) {
        cs_statement_judge(s, sides.lhs, sides.tight, sides.error);
        status = s->verdict == CS_FAIL
                     ? cs_statement_counterexample(s, "%.17g and %.17g", s->lhs, s->rhs)
                     : cs_statement_detail(s, "two_tanh_half", cs_json_number(2 * tanh(0.5)));
    } else if (status == CS_OK) {
        status = CS_ERR_MEMORY;
    }
    free_layer(&l);
    return status;
}

/* H_M = U H_R with U 1 = -1: "without loss of generality" loses. */
static cs_status without_sums(cs_statements *out)
{
    small_layer l = {0};
    cs_22_sides sides = {0};
    cs_status status = make_layer(2, 1, 1, &l);
    if (status == CS_OK) {
        l.h.data[0] = 1.1;
        l.h.data[1] = 0.9;
        l.u.data[0] = l.u.data[l.u.ld] = -0.5;
        l.wqk.data[0] = l.wvo.data[0] = 1;
        status = evaluate(&l, NULL, &sides);
    }
    cs_statement *s = status == CS_OK
                          ? cs_statements_add(out, "2.2-u1", CS_PRINTED, CS_RELATION_AT_MOST,
                                              "the same without U 1 = 1, which the proof calls no "
                                              "loss of generality",
                                              "H_R = (1.1, 0.9), H_M = -1, W^QK = W^VO = 1")
                          : NULL;
    if (s) {
        cs_statement_judge(s, sides.printed_lhs, sides.printed_rhs, sides.printed_error);
        status = cs_statement_assume(s, "U 1 = 1 (value: largest |(U 1)_i - 1|)",
                                     sides.u_sum < 1e-9, sides.u_sum);
        if (status == CS_OK && s->verdict == CS_FAIL) {
            status = cs_statement_counterexample(
                s,
                "U = (-1/2, -1/2): ||R'||_{1,inf} = %.4g > %.4g; of two rows the mean is nearest "
                "in both norms, so no h' does better",
                s->lhs, s->rhs);
        }
    } else if (status == CS_OK) {
        status = CS_ERR_MEMORY;
    }
    free_layer(&l);
    return status;
}

/* Rows of I_4, each its own best match: softmax of 10 I keeps them apart, layer after layer. */
static cs_status no_collapse(cs_statements *out)
{
    enum { D = 4 };
    small_layer l = {0};
    cs_22_sides sides = {0};
    cs_dense next = {0};
    double first = 0, contraction = 0;
    cs_status status = make_layer(D, D, D, &l);
    if (status == CS_OK) {
        status = cs_dense_init(&next, D, D);
    }
    for (int64_t i = 0; status == CS_OK && i < D; ++i) {
        l.h.data[i + i * l.h.ld] = l.u.data[i + i * l.u.ld] = l.wvo.data[i + i * l.wvo.ld] = 1;
        l.wqk.data[i + i * l.wqk.ld] = 10;
    }
    for (int layer = 0; status == CS_OK && layer < LAYERS; ++layer) {
        status = evaluate(&l, &next, &sides);
        first = layer == 0 ? sides.printed_residual : first;
        contraction = layer == 0 ? sides.contraction : contraction;
        cs_dense h = l.h; /* H_R' is the next H_R, and H_M' beside it the same (U = I) */
        l.h = next;
        next = h;
    }
    cs_statement *s =
        status == CS_OK
            ? cs_statements_add(out, "2.2-collapse", CS_PRINTED, CS_RELATION_AT_MOST,
                                "||R^l||_{1,inf} converges exponentially with l to 0: after 50 "
                                "layers at most half of ||R^0||_{1,inf}",
                                "H_R = H_M = I_4, W^QK = 10 I, W^VO = I")
            : NULL;
    if (s) {
        cs_statement_judge(s, sides.printed_lhs, first / 2, LAYERS * sides.printed_error);
        status =
            cs_statement_assume(s, "4 eps ||R^0||^2 < 1 (value: it)", contraction < 1, contraction);
        if (status == CS_OK && s->verdict == CS_FAIL) {
            status = cs_statement_counterexample(
                s,
                "||R||_{1,inf} is %.4g before and %.4g after %d layers: the bound shrinks only "
                "where 4 eps ||R||^2 < 1, and here that is %.3g",
                first, s->lhs, LAYERS, contraction);
        }
    } else if (status == CS_OK) {
        status = CS_ERR_MEMORY;
    }
    cs_dense_free(&next);
    free_layer(&l);
    return status;
}

/* The step of the proof that leaves its range. */
static cs_status exponential(cs_statements *out)
{
    const double x = 2;
    cs_statement *s = cs_statements_add(
        out, "2.2-exp", CS_PRINTED, CS_RELATION_AT_MOST,
        "exp(x) <= 1 + 2x for x = F_ij - min_j F_ij, whatever the layer (appendix A)",
        "a row of F that ranges over 2");
    if (!s) {
        return CS_ERR_MEMORY;
    }
    cs_statement_judge(s, exp(x), 1 + 2 * x, 1e-14);
    return s->verdict == CS_FAIL ? cs_statement_counterexample(
                                       s, "exp(2) = %.4g > 5; it holds up to x = 1.256", exp(x))
                                 : CS_OK;
}

cs_status cs_theorem_22(const cs_theorem_22_options *options, cs_statements *out)
{
    cs_status status = random_layers(options, out);
    if (status == CS_OK && (status = sharp(out)) == CS_OK &&
        (status = without_sums(out)) == CS_OK && (status = no_collapse(out)) == CS_OK) {
        status = exponential(out);
    }
    return status;
}
