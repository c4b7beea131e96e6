/* Theorem 3.1 (LA Eq. 1, A.1): the spectral loss is a matrix factorisation.
 *
 *   L_b(f, W) = -b E_{(X,X+)} f(X).W_{X+} + E_{X, X-} (f(X).W_{X-})^2
 *   F[X] = sqrt(P_C(X)) f(X),  W'[X+] = sqrt(P_G(X+)) W_{X+}
 *
 *   printed     L_1 = ||Abar - F W'^T||^2 + const             false: a factor 2 is dropped
 *   corrected   L_2 = ||Abar - F W'^T||^2 - ||Abar||^2        every f, W
 *               L_1 = ||Abar/2 - F W'^T||^2 - ||Abar||^2 / 4
 *               min L_2 = -(sigma_1^2 + ... + sigma_t^2)      Eckart-Young
 *
 * Both sides of a pair and their numerical error come from theorem_31_sides.c; this file has
 * the statements.
 */
#include "analysis/theorems/theorem_31.h"
#include "base/auto.h"

#include <float.h>
#include <math.h>

enum { DEFAULT_FEATURES = 4, DEFAULT_TRIALS = 5 };

static double loss(const cs_31_evaluation *e, double factor)
{
    return -factor * e->first + e->second;
}

/* The printed equality claims one constant: the pair of trials whose constants differ most. */
static void printed(const cs_31_problem *p, int64_t trials, const cs_31_evaluation *e,
                    const char *input, uint64_t seed, cs_statements *out)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 1; i < trials; ++i) {
        double c = loss(&e[i], 1) - e[i].norm;
        low = c < loss(&e[low], 1) - e[low].norm ? i : low;
        high = c > loss(&e[high], 1) - e[high].norm ? i : high;
    }
    const double lhs = loss(&e[high], 1) - e[high].norm, rhs = loss(&e[low], 1) - e[low].norm;
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"3.1", CS_PRINTED, CS_RELATION_EQUAL,
                         "L_SL(f, W) = -E[f.W+] + E[(f.W-)^2] = ||Abar - F W'^T||^2 + const: the "
                         "same constant for all f, W (lhs and rhs: the constants of two pairs)",
                         input, lhs, rhs,
                         e[high].loss_error + e[high].norm_error + e[low].loss_error +
                             e[low].norm_error});
    cs_statement_assume(s, "A is non-negative with positive sum", true, p->abar2);
    cs_statement_int(s, "trials", trials);
    cs_statement_detail(
        s, "norm", json_string(cs_31_entry_by_entry(p) ? "entry by entry" : "nonzeros + Gram"));
    cs_statement_counterexample(
        s,
        "f, W of trial %lld: L - ||.||^2 = %.12g; of trial %lld: %.12g (standard normal, seed "
        "%llu); the difference is E[f.W+] of the one minus that of the other, %.12g",
        (long long)high, lhs, (long long)low, rhs, (unsigned long long)seed,
        e[high].first - e[low].first);
}

/* L_2 = ||Abar - F W'^T||^2 - ||Abar||^2, or (half) L_1 = ||Abar/2 - F W'^T||^2 - ||Abar||^2 / 4,
 * at the trial with the smallest margin. */
static void corrected(const cs_31_problem *p, int64_t trials, const cs_31_evaluation *e, bool half,
                      const char *input, cs_statements *out)
{
    cs_31_sides worst = {0};
    int64_t at = 0;
    for (int64_t i = 0; i < trials; ++i) {
        double constant = half ? p->abar2 / 4 : p->abar2;
        cs_31_sides now = {.lhs = loss(&e[i], half ? 1 : 2),
                           .rhs = (half ? e[i].norm_half : e[i].norm) - constant,
                           .error = e[i].loss_error + e[i].norm_error + 8 * DBL_EPSILON * constant};
        if (i == 0 ||
            fabs(now.lhs - now.rhs) - now.error > fabs(worst.lhs - worst.rhs) - worst.error) {
            worst = now;
            at = i;
        }
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){
                 half ? "3.1-half" : "3.1", CS_CORRECTED, CS_RELATION_EQUAL,
                 half ? "-E[f.W+] + E[(f.W-)^2] = ||Abar/2 - F W'^T||^2 - ||Abar||^2 / 4 for "
                        "all f, W"
                      : "-2 E[f.W+] + E[(f.W-)^2] = ||Abar - F W'^T||^2 - ||Abar||^2 for all f, W",
                 input, worst.lhs, worst.rhs, worst.error});
    cs_statement_int(s, "trials", trials);
    cs_statement_int(s, "worst_trial", at);
    cs_statement_real(s, "norm2_abar", p->abar2);
    cs_statement_counterexample(s, "trial %lld: %.17g against %.17g", (long long)at, worst.lhs,
                                worst.rhs);
}

/* f* = U / sqrt(P_C), W* = V diag(sigma) / sqrt(P_G), plus `noise` times standard normals. */
static cs_status optimal_pair(const cs_31_problem *p, const cs_spectrum *spectrum, double noise,
                              uint64_t seed, uint64_t index, cs_dense *f, cs_dense *w)
{
    cs_status status = cs_dense_init(f, p->a.rows, spectrum->k);
    if (status == CS_OK) status = cs_dense_init(w, p->a.cols, spectrum->k);
    if (status != CS_OK) return status;
    cs_31_normal(seed, 2 * index, f);
    cs_31_normal(seed, 2 * index + 1, w);
    for (int64_t j = 0; j < spectrum->k; ++j) {
        for (int64_t i = 0; i < f->rows; ++i) {
            double *x = &f->data[i + j * f->ld];
            *x = noise * *x + spectrum->u.data[i + j * spectrum->u.ld] / p->root_row[i];
        }
        for (int64_t i = 0; i < w->rows; ++i) {
            double *x = &w->data[i + j * w->ld];
            *x = noise * *x +
                 spectrum->sigma[j] * spectrum->v.data[i + j * spectrum->v.ld] / p->root_col[i];
        }
    }
    return CS_OK;
}

/* Without all requested triplets, neither side is the one of the statement. */
static void converged(cs_statement *s, int64_t wanted, const cs_spectrum *spectrum)
{
    cs_statement_assume(s, "the triplets converged (value: their number)",
                        spectrum->solution.converged, (double)spectrum->k);
    if (!spectrum->solution.converged) {
        cs_statement_withhold(s);
        cs_statement_int(s, "t_wanted", wanted);
    }
}

enum { NOISES = 3 }; /* of the optimal pair: itself and two perturbations */

/* min L_2 = -(sigma_1^2 + ... + sigma_t^2) and its error, with pairs at and about it. */
typedef struct {
    double minimum, shift;
    int64_t wanted; /* triplets */
    cs_spectrum spectrum;
    cs_31_evaluation pair[NOISES];
} extremum;

/* The SVD attains it. */
static void attained(const extremum *m, const char *input, cs_statements *out)
{
    const double lhs = loss(&m->pair[0], 2);
    cs_statement *s = cs_statements_claim(
        out,
        &(cs_claim){"3.1-optimum", CS_CORRECTED, CS_RELATION_EQUAL,
                    "L_2(f*, W*) = -(sigma_1^2 + ... + sigma_t^2) for f* = U_t / sqrt(P_C), W* "
                    "= V_t Sigma_t / sqrt(P_G)",
                    input, lhs, m->minimum, m->pair[0].loss_error + m->shift});
    cs_statement_counterexample(s, "the SVD's own factors give %.17g", lhs);
    converged(s, m->wanted, &m->spectrum);
    cs_statement_int(s, "t", m->spectrum.k);
}

/* Nothing goes below it. */
static void least(const extremum *m, int64_t trials, const cs_31_evaluation *random,
                  const char *input, cs_statements *out)
{
    double low = INFINITY, error = 0; /* the optimum is one of the pairs: the claim is tight */
    for (int64_t i = 0; i < NOISES; ++i) {
        low = fmin(low, loss(&m->pair[i], 2));
        error = fmax(error, m->pair[i].loss_error);
    }
    for (int64_t i = 0; i < trials; ++i) {
        low = fmin(low, loss(&random[i], 2));
        error = fmax(error, random[i].loss_error);
        if (random[i].second > 0) { /* the best multiple of f */
            low = fmin(low, -random[i].first * random[i].first / random[i].second);
        }
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"3.1-minimum", CS_CORRECTED, CS_RELATION_EQUAL,
                         "min L_2(f, W) = -(sigma_1^2 + ... + sigma_t^2) over f, W with t columns "
                         "(lhs: the least of random pairs, their best multiples, (f*, W*) and its "
                         "perturbations)",
                         input, low, m->minimum, error + m->shift});
    cs_statement_counterexample(s, "a pair with L_2 = %.17g", low);
    cs_statement_int(s, "pairs", 2 * trials + NOISES);
    converged(s, m->wanted, &m->spectrum);
}

/* Eckart-Young. */
static cs_status optimum(const cs_31_problem *p, int64_t features, int64_t trials,
                         const cs_31_evaluation *random, const char *input,
                         const cs_theorem_input *o, cs_statements *out)
{
    static const double noise[NOISES] = {0, 1e-2, 1e-1};
    extremum m = {0};
    int64_t side = p->a.rows < p->a.cols ? p->a.rows : p->a.cols;
    cs_spectrum_options so = {.seed = o->seed, .threads = o->threads};
    if (o->spectrum) {
        so = *o->spectrum;
    }
    so.k = m.wanted = features < side ? features : side;
    so.normalised = so.values_only = so.moment4 = false; /* p->a is a joint distribution */
    cs_status status = cs_spectrum_of(&p->a, &so, &m.spectrum);
    for (int i = 0; status == CS_OK && i < NOISES; ++i) {
        CS_AUTO(cs_dense) f = {0}, w = {0};
        status = optimal_pair(p, &m.spectrum, noise[i], o->seed, (uint64_t)(trials + i), &f, &w);
        if (status == CS_OK) status = cs_31_evaluate(p, &f, &w, o->threads, &m.pair[i]);
    }
    /* A triplet with residual r moves sigma^2 by at most 2 sigma r + r^2 and L_2 by as much. */
    for (int64_t j = 0; status == CS_OK && j < m.spectrum.k; ++j) {
        double sigma = m.spectrum.sigma[j], residual = m.spectrum.residual[j];
        m.minimum -= sigma * sigma;
        m.shift += 4 * residual * (sigma + residual);
    }
    if (status == CS_OK) {
        attained(&m, input, out);
        least(&m, trials, random, input, out);
    }
    cs_spectrum_free(&m.spectrum);
    return status;
}

static cs_status random_pairs(const cs_31_problem *p, int64_t features, int64_t trials,
                              const cs_theorem_input *o, cs_31_evaluation *e)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_dense f = cs_dense_in(&pool, p->a.rows, features);
    cs_dense w = cs_dense_in(&pool, p->a.cols, features);
    cs_status status = pool.status;
    for (int64_t i = 0; status == CS_OK && i < trials; ++i) {
        cs_31_normal(o->seed, 2 * (uint64_t)i, &f);
        cs_31_normal(o->seed, 2 * (uint64_t)i + 1, &w);
        status = cs_31_evaluate(p, &f, &w, o->threads, &e[i]);
    }
    return status;
}

cs_status cs_theorem_31(const cs_csr *a, const char *input, const cs_theorem_input *options,
                        cs_statements *out)
{
    int64_t features = options->features > 0 ? options->features : DEFAULT_FEATURES;
    /* One pair has one constant: the printed claim needs two to be tested. */
    int64_t trials = options->trials > 0 ? options->trials : DEFAULT_TRIALS;
    trials = trials < 2 ? 2 : trials;
    CS_AUTO(cs_31_problem) p = {0};
    CS_AUTO_FREE cs_31_evaluation *e = NULL;
    bool symmetric = false;
    cs_status status = cs_31_problem_of(a, &p);
    if (status != CS_OK) return status;
    e = cs_alloc(trials, sizeof *e);
    status = e ? random_pairs(&p, features, trials, options, e) : CS_ERR_MEMORY;
    const int64_t first = out->count;
    if (status == CS_OK) {
        printed(&p, trials, e, input, options->seed, out);
        corrected(&p, trials, e, false, input, out);
        corrected(&p, trials, e, true, input, out);
        status = optimum(&p, features, trials, e, input, options, out);
    }
    if (status == CS_OK) status = cs_31_symmetric(&p, input, options, out, &symmetric);
    if (status == CS_OK) status = cs_statements_status(out);
    if (status == CS_OK && !symmetric) {
        cs_statement_detail(&out->item[first], "eq7",
                            json_string("not evaluated: P_T has too many entries"));
        status = cs_statements_status(out);
    }
    return status;
}

static cs_status on_matrix(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_31(&in->matrix->a, in->name, in, &report->statements);
}

static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    CS_AUTO(cs_labelled) m = {0};
    CS_AUTO_FREE char *name = cs_toy_describe(in->toy);
    cs_status status = name ? cs_toy_matrix(in->toy, CS_THEOREM_TOY_ENTRIES, &m) : CS_ERR_MEMORY;
    cs_theorem_input whole = *in;
    whole.matrix = &m;
    whole.name = name;
    return status == CS_OK ? on_matrix(&whole, report) : status;
}

const cs_theorem cs_entry_31 = {
    .id = "3.1",
    .about = "Theorem 3.1 is about a matrix",
    .paper = "LA",
    .printed_words = "the spectral loss is a factorization of Abar",
    .corrected_words = "it is one if the positive-pair term is doubled",
    .printed = "L_SL(f, W) = -E[f.W+] + E[(f.W-)^2] = ||Abar - F W'^T||^2 + const",
    .corrected = "-2 E[f.W+] + E[(f.W-)^2] = ||Abar - F W'^T||^2 - ||Abar||^2",
    .run = {[CS_ON_TOY] = on_toy, [CS_ON_MATRIX] = on_matrix}};
