/* Theorem 4.1: statements from the measured curve. theorems.md.
 *
 *   E <= 2 p_max tail + 2 (1 + sigma_{t+1}^2) alpha~    sharpest
 *     <= 2 p_max tail + 4 alpha~
 *     <= 2 p_max tail + 8 alpha                         the paper's form: c_1 = 2 p_max, c_2 = 8
 *   E <= 2 alpha~ / (1 - sigma_{t+1}^2)                 spectral gap
 *
 * One statement a bound over all t. The verdict is the worst over t, but a t where the bound is
 * vacuous does not make the whole vacuous while another is informative. The sides are those of the
 * tightest t that has this verdict, one with E > 0 where there is one; the details count the t of
 * each verdict. Without convergence every claim on the triplets is INCONCLUSIVE.
 *
 * Soft labels: the same constants with Y = sqrt(P_C) pi, p_max = max_c sum_X P_C pi_c
 * >= ||Y^T Y||_2, and E against labels drawn from pi(X). For a wrong guess a and the likeliest
 * class b
 *
 *   1 - pi_a <= 2 ||g - pi||^2 + 2 (1 - ||pi||^2)
 *
 * follows, with x = pi_a and y = pi_b, from
 *
 *   (y - x)^2 + 2 (1 - x^2 - y (1 - x)) - (1 - x) = (1 - y)^2 + x (1 - x) >= 0,
 *
 * and 1 - ||pi||^2 is what alpha~ of soft labels holds beyond sum_j (1 - lambda_j) ||u_j^T Y||^2. A
 * tie costs at most 1 and obeys the same inequality, with equality at pi = (1/2, 1/2): that bound
 * can be attained.
 */
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "analysis/theorems/theorem_41_private.h"
#include "base/vector_ops.h"

/* The right sides at one t, with their numerical errors. */
typedef struct {
    double rhs, error;
} bound;

typedef bound (*bound_fn)(const cs_41_curve *c, int64_t t);

typedef struct {
    const char *id;
    cs_statement_form form;
    const char *text;
    size_t lhs; /* where a cs_41_curve has its values by t */
    bound_fn rhs;
} claim;

static double lhs_of(const cs_41_curve *c, const claim *k, int64_t t)
{
    double *const *at = (const void *)((const char *)c + k->lhs);
    return (*at)[t];
}

/* 2 p_max tail + factor alpha~: value and error. */
static bound tail_form(const cs_41_curve *c, int64_t t, double p_max, double factor, double alpha)
{
    double rhs = 2 * p_max * c->tail4[t] + factor * alpha;
    double error = 2 * p_max * c->tail4_error[t] + factor * c->labels.rounding * fmax(alpha, 0) +
                   c->perturbation[t] + 2 * CS_41_TIE * rhs + 8 * DBL_EPSILON * rhs;
    return (bound){rhs, error};
}

static bound sharp(const cs_41_curve *c, int64_t t)
{
    return tail_form(c, t, c->labels.p_max, 2 * (1 + c->next[t] * c->next[t]), c->labels.alpha_t);
}

static bound tilde(const cs_41_curve *c, int64_t t)
{
    return tail_form(c, t, c->labels.p_max, 4, c->labels.alpha_t);
}

static bound paper(const cs_41_curve *c, int64_t t)
{
    return tail_form(c, t, c->labels.p_max, 8, c->labels.alpha);
}

static bound soft_sharp(const cs_41_curve *c, int64_t t)
{
    return tail_form(c, t, c->labels.p_max_soft, 2 * (1 + c->next[t] * c->next[t]),
                     c->labels.alpha_t_soft);
}

static bound gap_form(const cs_41_curve *c, int64_t t)
{
    double next = c->next[t], gap = (1 - next) * (1 + next);
    double alpha = c->labels.alpha_t;
    if (!(gap > 1e-12)) { /* sigma_{t+1} = 1 to the accuracy of any solver */
        return (bound){INFINITY, 0};
    }
    double rhs = 2 * alpha / gap;
    double error = (2 * c->labels.rounding * alpha + c->perturbation[t] +
                    rhs * (c->perturbation[t] + 4 * DBL_EPSILON)) /
                       gap +
                   2 * CS_41_TIE * rhs;
    return (bound){rhs, error};
}

/* FAIL before INCONCLUSIVE, undecided before attained, before what holds. */
static int severity(const cs_statement *s)
{
    static const int of[] = {[CS_VACUOUS] = 0,
                             [CS_PASS] = 1,
                             [CS_INCONCLUSIVE] = 3,
                             [CS_UNSPECIFIED] = 3,
                             [CS_FAIL] = 4};
    return of[s->verdict] - s->attained;
}

/* The error of E is the rounding of a sum of masses; E = 0 is exact, no right side is negative. */
static double total_error(const cs_41_curve *c, double lhs, bound b)
{
    return lhs == 0 ? 0 : b.error + c->labels.rounding * lhs;
}

/* The worst of a claim's t, and their verdicts together. */
typedef struct {
    int64_t at;          /* shown: t - 1 */
    int64_t informative; /* the first t - 1 whose right side is below the trivial bound, or -1 */
    int64_t number[CS_UNSPECIFIED + 1]; /* of t with each verdict */
} tally;

static void describe(const cs_41_curve *c, const tally *n, cs_statement *s)
{
    const int64_t at = n->at;
    const cs_41_labels *l = &c->labels;
    cs_statement_int(s, "t", at + 1);
    cs_statement_int(s, "t_max", c->t_max);
    cs_statement_int(s, "t_pass", n->number[CS_PASS]);
    cs_statement_int(s, "t_vacuous", n->number[CS_VACUOUS]);
    cs_statement_int(s, "t_fail", n->number[CS_FAIL]);
    cs_statement_int(s, "t_inconclusive", n->number[CS_INCONCLUSIVE]);
    cs_statement_detail(s, "first_informative_t",
                        n->informative < 0 ? json_null() : json_integer(n->informative + 1));
    cs_statement_int(s, "rotations", c->rotations.rotations);
    const cs_detail number[] = {{"alpha", l->alpha},
                                {"alpha_tilde", l->alpha_t},
                                {"p_max", l->p_max},
                                {"tail_sigma4", c->tail4[at]},
                                {"tail_error", c->tail4_error[at]},
                                {"sigma_next", c->next[at]},
                                {"tie_tolerance", CS_41_TIE}};
    cs_statement_reals(s, sizeof number / sizeof *number, number);
    cs_statement_detail(s, "tail_source", json_string(c->source));
}

static void assume(const cs_41_curve *c, const cs_spectrum *spectrum, cs_statement *s)
{
    const double largest = cs_largest(c->t_max, spectrum->residual);
    cs_statement_assume(s,
                        "every context of positive mass has a label (value: mass without a label, "
                        "put in a separate class)",
                        c->labels.unlabelled == 0, c->labels.unlabelled);
    cs_statement_assume(s, "the triplets converged (value: largest residual)",
                        spectrum->solution.converged, largest);
    cs_statement_assume(s, "U has orthonormal columns (value: ||U^T U - I||_F)", c->defect <= 1e-8,
                        c->defect);
}

/* One claim over all t, by the rules above. */
static void evaluate_claim(const cs_41_curve *c, const cs_spectrum *spectrum, const claim *k,
                           const char *input, cs_statements *out)
{
    tally n = {.informative = -1};
    int worst = -1;
    double least = INFINITY;
    cs_statement *s = cs_statements_add(out, k->id, k->form, CS_RELATION_AT_MOST, k->text, input);
    if (!s) {
        return;
    }
    s->trivial = 1 - c->labels.p_max;
    for (int64_t t = 0; t < c->t_max; ++t) {
        bound b = k->rhs(c, t);
        double lhs = lhs_of(c, k, t);
        cs_statement_evaluate(s, lhs, b.rhs, total_error(c, lhs, b));
        ++n.number[s->verdict];
        int now = 2 * severity(s) + (lhs > 0);
        double margin = cs_statement_margin(s);
        if (now > worst || (now == worst && margin < least)) {
            worst = now;
            least = margin;
            n.at = t;
        }
        n.informative = n.informative < 0 && b.rhs < s->trivial ? t : n.informative;
    }
    bound b = k->rhs(c, n.at);
    double lhs = lhs_of(c, k, n.at);
    cs_statement_evaluate(s, lhs, b.rhs, total_error(c, lhs, b));
    assume(c, spectrum, s);
    describe(c, &n, s);
    cs_statement_counterexample(s, "t = %lld: E = %.12g > %.12g", (long long)n.at + 1, lhs, b.rhs);
    if (!spectrum->solution.converged) {
        cs_statement_withhold(s);
    }
}

/* The printed bound leaves c_1 and c_2 open: the least c = c_1 = c_2 that would do here. */
static void unspecified(const cs_41_curve *c, const cs_spectrum *spectrum, bool fourth,
                        const char *text, const char *input, cs_statements *out)
{
    const double *tail = fourth ? c->tail4 : c->tail2;
    const char *id = fourth ? "4.1" : "4.1-text";
    double least = 0, base = NAN;
    int64_t at = 0;
    cs_statement *s = cs_statements_add(out, id, CS_PRINTED, CS_RELATION_AT_MOST, text, input);
    if (!s) {
        return;
    }
    for (int64_t t = 0; t < c->t_max; ++t) {
        double side = tail[t] + c->labels.alpha;
        double need = c->worst[t] > 0 ? c->worst[t] / side : 0; /* infinite when side = 0 */
        if (t == 0 || need > least) {
            least = need;
            base = side;
            at = t;
        }
    }
    s->trivial = 1 - c->labels.p_max;
    cs_statement_evaluate(s, c->worst[at], isinf(least) ? 0 : least * base, 0);
    if (isinf(least)) { /* no constants can help: the verdict is that of E <= 0 */
        cs_statement_counterexample(s, "t = %lld: tail = alpha = 0 but E = %.12g",
                                    (long long)at + 1, c->worst[at]);
    } else {
        s->verdict = CS_UNSPECIFIED;
    }
    if (!spectrum->solution.converged) {
        cs_statement_withhold(s);
    }
    cs_statement_real(s, "least_c", least);
    cs_statement_int(s, "t", at + 1);
}

/* alpha and alpha~ are sums of their own: where they meet, rounding has the sign of their
 * difference, and the statement is attained. */
static void labelling_errors(const cs_41_curve *c, const char *input, cs_statements *out)
{
    const cs_41_labels *l = &c->labels;
    const double error = l->alpha == 0 ? 0 : 2 * l->rounding * l->alpha;
    const cs_claim alphas[] = {
        {"4.1-alpha-lower", CS_CORRECTED, CS_RELATION_AT_MOST,
         "alpha <= alpha~ for y(X+) the most probable label", input, l->alpha, l->alpha_t,
         l->alpha == 0 ? 0 : l->rounding * (l->alpha + l->alpha_t)},
        {"4.1-alpha-upper", CS_CORRECTED, CS_RELATION_AT_MOST, "alpha~ <= alpha (2 - alpha)", input,
         l->alpha_t, l->alpha * (2 - l->alpha), error},
        {"4.1-alpha", CS_PRINTED, CS_RELATION_AT_MOST, "alpha~ <= 2 alpha", input, l->alpha_t,
         2 * l->alpha, error},
    };
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; ++i) {
        cs_statement *s = cs_statements_claim(out, &alphas[i]);
        if (i == 0 && s) {
            s->trivial = l->alpha == 0 ? 0 : NAN; /* alpha~ >= 0 is known of any labels */
            cs_statement_evaluate(s, s->lhs, s->rhs, s->error);
            cs_statement_real(s, "alpha_tilde", l->alpha_t);
        }
    }
}

/* sum_j (1 - lambda_j) ||u_j^T Y||^2 = 1 - sum_j lambda_j ||u_j^T Y||^2 = alpha~ over all j. */
static void identity(const cs_41_curve *c, const char *input, cs_statements *out)
{
    int64_t last = c->t_max - 1;
    cs_statements_claim(out, &(cs_claim){"4.1-identity", CS_CORRECTED, CS_RELATION_EQUAL,
                                         "alpha~ = 1 - sum_j lambda_j ||u_j^T Y||^2 over all j",
                                         input, c->labels.alpha_t, 1 - c->explained[last],
                                         c->perturbation[last] + 4 * c->labels.rounding});
}

static void fill_curve(const cs_41_curve *c, const cs_spectrum *spectrum, const char *input,
                       cs_item *curve)
{
    for (int64_t t = 0; t < c->t_max; ++t) {
        const cs_detail cell[] = {{"sigma", spectrum->sigma[t]},
                                  {"sigma_next", c->next[t]},
                                  {"tail_sigma4", c->tail4[t]},
                                  {"tail_error", c->tail4_error[t]},
                                  {"error", c->error[t]},
                                  {"error_rotation_mean", c->rotations.mean[t]},
                                  {"error_rotation_worst", c->rotations.worst[t]},
                                  {"bound_sharp", sharp(c, t).rhs},
                                  {"bound_alpha_tilde", tilde(c, t).rhs},
                                  {"bound_alpha", paper(c, t).rhs},
                                  {"bound_gap", gap_form(c, t).rhs},
                                  {"trivial", 1 - c->labels.p_max},
                                  {"alpha", c->labels.alpha},
                                  {"alpha_tilde", c->labels.alpha_t},
                                  {"p_max", c->labels.p_max},
                                  {"error_documents", c->documents[t]},
                                  {"bound_documents", sharp(c, t).rhs + c->labels.noise},
                                  {"error_soft", c->soft[t]},
                                  {"bound_soft", soft_sharp(c, t).rhs},
                                  {"label_noise", c->labels.noise},
                                  {"error_unweighted", c->unweighted ? c->unweighted[t] : NAN}};
        cs_item *row = cs_item_object(curve, NULL);
        cs_item_text(row, "input", input);
        cs_item_int(row, "t", t + 1);
        for (size_t i = 0; i < sizeof cell / sizeof *cell; ++i) {
            cs_item_real(row, cell[i].key, cell[i].value);
        }
    }
}

static const claim alike = {
    "4.1-unweighted", CS_PRINTED,
    "the sharp bound if the least squares weighs every context alike (the paper names no weights)",
    offsetof(cs_41_curve, unweighted), sharp};

void cs_41_weighting(const cs_41_curve *c, const cs_spectrum *spectrum, const char *input,
                     cs_statements *out)
{
    static const claim by_mass = {"4.1-unweighted", CS_CORRECTED,
                                  "the sharp bound if the least squares weighs a context by P_C",
                                  offsetof(cs_41_curve, worst), sharp};
    if (c->unweighted) evaluate_claim(c, spectrum, &alike, input, out);
    evaluate_claim(c, spectrum, &by_mass, input, out);
}

void cs_41_statements(const cs_41_curve *c, const cs_spectrum *spectrum, const char *input,
                      cs_statements *out, cs_item *curve)
{
    static const claim claims[] = {
        {"4.1", CS_CORRECTED,
         "E(t) <= 2 p_max sum_{j>t} sigma_j^4 + 8 alpha for every t (c_1 = 2 p_max, c_2 = 8)",
         offsetof(cs_41_curve, worst), paper},
        {"4.1-tilde", CS_CORRECTED, "E(t) <= 2 p_max sum_{j>t} sigma_j^4 + 4 alpha~ for every t",
         offsetof(cs_41_curve, worst), tilde},
        {"4.1-sharp", CS_CORRECTED,
         "E(t) <= 2 p_max sum_{j>t} sigma_j^4 + 2 (1 + sigma_{t+1}^2) alpha~ for every t",
         offsetof(cs_41_curve, worst), sharp},
        {"4.1-gap", CS_CORRECTED, "E(t) <= 2 alpha~ / (1 - sigma_{t+1}^2) for every t",
         offsetof(cs_41_curve, worst), gap_form},
    };
    static const claim noisy[] = {
        {"4.1-documents", CS_CORRECTED,
         "E_doc(t) - label noise <= sharp bound: guesses for y(X) against the documents' own "
         "labels",
         offsetof(cs_41_curve, excess), sharp},
        {"4.1-soft", CS_CORRECTED,
         "E_soft(t) <= 2 p_max sum_{j>t} sigma_j^4 + 2 (1 + sigma_{t+1}^2) alpha~ with soft labels "
         "pi(X) throughout",
         offsetof(cs_41_curve, soft), soft_sharp},
    };
    unspecified(c, spectrum, true,
                "E(t) <= c_1 sum_{j>t} sigma_j^4 + c_2 alpha, sigma_j the singular value, c_1 and "
                "c_2 not given (rhs: with the least c_1 = c_2 that does)",
                input, out);
    unspecified(c, spectrum, false,
                "the same with sigma_j^2 the singular value, as the text says: the tail is then "
                "sum_{j>t} of its squares",
                input, out);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; ++i) {
        evaluate_claim(c, spectrum, &claims[i], input, out);
    }
    for (size_t i = 0; c->labels.noise > 0 && i < sizeof noisy / sizeof *noisy; ++i) {
        evaluate_claim(c, spectrum, &noisy[i], input, out);
    }
    if (c->unweighted) evaluate_claim(c, spectrum, &alike, input, out);
    labelling_errors(c, input, out);
    if (c->full && c->t_max == spectrum->k) identity(c, input, out);
    fill_curve(c, spectrum, input, curve);
}
