/* QWEM (Karkada et al. 2025): a model with the embeddings W of word2vec's kind, trained from a small
 * start, learns the eigenvectors of M* with positive eigenvalues one at a time, in the order of the
 * eigenvalues. M* is the form `qwem` of symmetric counts.
 *
 * Assumptions of the paper: every pair has the same weight in the loss, so that the loss is
 * ||M* - W W^T||_F^2 / 4; training is gradient flow. The closed form is printed for a start that
 * is aligned with the eigenvectors; qwem_flow.h has one for every start.
 *
 * Sides. The flow is integrated from M* and W_0; eigenvalues and eigenvectors come from the
 * certified spectrum. Every path is integrated twice, the second time with half the step; the
 * difference bounds the error of the second, whose order is four. Rounding and the residuals of
 * the eigenvectors grow with the embeddings, by sqrt(lambda_1 / s).
 *
 * Limit: MOST_TOKENS tokens, since M* is dense. */
#include "analysis/theorems/registry.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/theorems/form_spectrum.h"
#include "analysis/theorems/theorem_qwem_private.h"
#include "base/auto.h"
#include "base/ints.h"
#include "base/rng.h"
#include "base/vector_ops.h"

enum { MOST_TOKENS = 1024, DEFAULT_FEATURES = 4, EXAMPLE = 8, TRIED = 12 };
static const double START = 1e-4;  /* s in units of lambda_d */
static const double LENGTH = 15;   /* of a path, in units of 1 / lambda_d */
static const double GAP = 0.01;    /* least lambda_d - lambda_(d+1), in units of lambda_1 */
static const double SMALLEST = 64; /* largest lambda_1 / lambda_d */
static const double FINEST = 0.1;  /* largest step, in units of 1 / lambda_1 */
static const double DISTANCE = 0.01;

static void cs_qwem_audit_free(cs_qwem_audit *q)
{
    cs_pool_free(&q->pool);
}

/* --- the matrix ------------------------------------------------------------------------------- */

static cs_status dense_form(const cs_csr *a, cs_qwem_audit *q)
{
    CS_AUTO(cs_csr) whole = {0};
    CS_AUTO(cs_matrix_form) *form = NULL;
    const int64_t *column = q->options->row_column;
    cs_status status = cs_matrix_form_parse("qwem", &form);
    if (status == CS_OK) status = cs_matrix_form_whole(form, a, &whole);
    q->m = cs_dense_in(&q->pool, a->cols, a->cols);
    if (status == CS_OK) status = q->pool.status;
    for (int64_t i = 0; status == CS_OK && i < whole.rows; ++i) {
        const int64_t row = column ? column[i] : i;
        for (int64_t e = whole.ptr[i]; e < whole.ptr[i + 1]; ++e) {
            q->m.data[row + whole.col[e] * q->m.ld] = whole.val[e];
        }
    }
    return status;
}

typedef struct {
    double value;
    int64_t index;
} eigen;

static int larger_value(const void *x, const void *y)
{
    const eigen *a = x, *b = y;
    return CS_ORDER(b->value, a->value);
}

/* Eigenvalues with their signs, descending, and vectors in this order. */
static cs_status sort_eigenvalues(const cs_spectrum *s, cs_qwem_audit *q)
{
    q->vectors = cs_dense_in(&q->pool, s->v.rows, s->k);
    q->lambda = cs_pool_take(&q->pool, s->k, sizeof *q->lambda);
    eigen *order = cs_pool_take(&q->pool, s->k, sizeof *order);
    if (q->pool.status != CS_OK) return q->pool.status;
    for (int64_t j = 0; j < s->k; ++j) {
        order[j] = (eigen){s->eigenvalue[j], j};
    }
    qsort(order, (size_t)s->k, sizeof *order, larger_value);
    for (int64_t j = 0; j < s->k; ++j) {
        const cs_dense from = cs_dense_columns(&s->v, order[j].index, 1);
        cs_dense to = cs_dense_columns(&q->vectors, j, 1);
        cs_dense_copy(&from, &to);
        q->lambda[j] = order[j].value;
    }
    q->residual = cs_largest(s->k, s->residual);
    return CS_OK;
}

/* The eigenvalue after the first d, with the value 0 of vectors that the spectrum does not have. */
static double next_value(const cs_qwem_audit *q, int64_t d)
{
    const double known = d < q->vectors.cols ? q->lambda[d] : -INFINITY;
    return q->vectors.cols < q->m.rows ? fmax(known, 0) : known;
}

/* d: the largest number of at most --features eigenvalues with a gap after them. */
static cs_status choose_width(cs_qwem_audit *q)
{
    const int64_t wanted = q->options->features > 0 ? q->options->features : DEFAULT_FEATURES;
    const int64_t most = cs_least(cs_least(wanted, q->vectors.cols), q->m.rows - 1);
    int64_t d = 0;
    for (int64_t t = 1; t <= most && q->lambda[t - 1] * SMALLEST >= q->lambda[0]; ++t) {
        d = q->lambda[t - 1] > 0 && q->lambda[t - 1] - next_value(q, t) >= GAP * q->lambda[0] ? t
                                                                                              : d;
    }
    if (d == 0) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: no gap after one of the first %lld positive eigenvalues of M*; give "
                       "more --features",
                       q->name, (long long)wanted);
    }
    q->next = next_value(q, d);
    q->gap = q->lambda[d - 1] - q->next;
    for (int64_t k = 0; k + 1 < d; ++k) {
        const double gap = q->lambda[k] - q->lambda[k + 1];
        q->gap = gap > CS_QWEM_EQUAL * q->lambda[0] ? fmin(q->gap, gap) : q->gap;
    }
    q->s = START * q->lambda[d - 1];
    q->problem = (cs_qwem_problem){
        .m = &q->m,
        .vectors = &q->vectors,
        .lambda = q->lambda,
        .width = d,
        .samples = (int64_t)ceil(LENGTH * q->lambda[0] / q->lambda[d - 1]),
        .interval = 1 / q->lambda[0],
    };
    const double modulus = fmax(q->lambda[0], -q->lambda[q->vectors.cols - 1]);
    q->steps = (int64_t)ceil(fmax(1 / FINEST, modulus / q->lambda[0]));
    return CS_OK;
}

static cs_status prepare(const cs_csr *a, cs_qwem_audit *q)
{
    CS_AUTO(cs_spectrum) spectrum = {0};
    if (a->cols > MOST_TOKENS) {
        return cs_fail(CS_ERR_INPUT,
                       "%s has %lld tokens; verify qwem takes at most %d (cospec cooc --vocab)",
                       q->name, (long long)a->cols, MOST_TOKENS);
    }
    cs_status status = cs_form_spectrum(a, "qwem", 0, true, q->options, &spectrum);
    if (status == CS_OK && !spectrum.eigenvalue)
        status = cs_fail(CS_ERR_INPUT,
                         "%s is not symmetric: QWEM counts pairs in both directions (cospec cooc "
                         "--objective masked --context each:W:linear)",
                         q->name);
    if (status == CS_OK) status = sort_eigenvalues(&spectrum, q);
    if (status == CS_OK) status = dense_form(a, q);
    return status == CS_OK ? choose_width(q) : status;
}

/* --- the paths -------------------------------------------------------------------------------- */

static double largest_difference(const cs_qwem_audit *q, const double *x, const double *y)
{
    double most = 0;
    for (int64_t i = 0; i < (q->problem.samples + 1) * q->problem.width; ++i) {
        most = fmax(most, fabs(x[i] - y[i]));
    }
    return most;
}

/* A path with half the step of `coarse`, and the error of its shares. */
static cs_status integrate(cs_qwem_audit *q, const cs_dense *start, cs_qwem_path *out,
                           double *error)
{
    const double lambda = q->lambda[0];
    cs_status status = cs_qwem_flow(&q->problem, start, q->steps, &q->coarse);
    if (status == CS_OK) status = cs_qwem_flow(&q->problem, start, 2 * q->steps, out);
    if (status == CS_OK)
        *error = largest_difference(q, q->coarse.share, out->share) +
                 8 * lambda * sqrt(lambda / q->s) *
                     ((double)q->m.rows * DBL_EPSILON + q->residual / q->gap);
    return status;
}

/* The largest start s / lambda_d of 1e-4, 1e-8, ... from which the modes come in order, by the closed
 * form; NaN: none that was tried. */
static cs_status ordered_start(const cs_qwem_audit *q, const cs_dense *start, double *out)
{
    const double lambda = q->lambda[q->problem.width - 1];
    cs_status status = CS_OK;
    *out = NAN;
    for (int i = 1; i <= TRIED && isnan(*out) && status == CS_OK; ++i) {
        CS_AUTO(cs_pool) pool = {0};
        cs_qwem_problem p = q->problem;
        const double factor = pow(START, i - 1);
        p.samples += (int64_t)ceil(-log(factor) * q->lambda[0] / (2 * lambda));
        cs_dense smaller = cs_dense_copy_in(&pool, start);
        cs_qwem_path path = cs_qwem_path_in(&pool, &p);
        status = pool.status;
        for (int64_t j = 0; j < p.width && status == CS_OK; ++j) {
            cs_divide(smaller.rows, 1 / sqrt(factor), smaller.data + j * smaller.ld);
        }
        if (status == CS_OK) status = cs_qwem_solution(&p, &smaller, &path);
        const cs_qwem_pair pair =
            status == CS_OK ? cs_qwem_nearest(&p, path.share) : (cs_qwem_pair){0};
        if (status == CS_OK && (pair.first < 0 || pair.before < pair.after)) *out = START * factor;
    }
    return status;
}

static cs_status run_paths(const cs_csr *a, cs_qwem_audit *q)
{
    const int64_t n = q->m.rows, d = q->problem.width;
    cs_qwem_path *const path[] = {&q->coarse, &q->aligned, &q->random, &q->solution};
    for (int i = 0; i < 4; ++i) {
        *path[i] = cs_qwem_path_in(&q->pool, &q->problem);
    }
    cs_dense start = cs_dense_in(&q->pool, n, d);
    if (q->pool.status != CS_OK) return q->pool.status;
    for (int64_t k = 0; k < d; ++k) {
        cs_add_multiple(n, sqrt(q->s), q->vectors.data + k * q->vectors.ld,
                        start.data + k * start.ld);
    }
    cs_status status = integrate(q, &start, &q->aligned, &q->aligned_error);
    cs_rng rng = cs_rng_at(q->options->seed, CS_STREAM_AUDIT, 0);
    for (int64_t i = 0; i < n * d; ++i) {
        start.data[i % n + i / n * start.ld] = sqrt(q->s / (double)d) * cs_rng_normal(&rng);
    }
    if (status == CS_OK) status = integrate(q, &start, &q->random, &q->random_error);
    if (status == CS_OK) status = cs_qwem_solution(&q->problem, &start, &q->solution);
    if (status == CS_OK) status = ordered_start(q, &start, &q->ordered);
    return status == CS_OK ? cs_qwem_trainings(a, &start, q) : status;
}

/* --- statements ------------------------------------------------------------------------------- */

static void state_sigmoid(const cs_qwem_audit *q, cs_statements *out)
{
    const int64_t d = q->problem.width;
    cs_claim claim = {.id = "qwem-sigmoid",
                      .form = CS_PRINTED,
                      .relation = CS_RELATION_EQUAL,
                      .text = "aligned start: v_k.X(t) v_k = lambda_k / (1 + (lambda_k / s - 1) "
                              "e^(-2 lambda_k t)) (the worst k and t)",
                      .input = q->name,
                      .error = q->aligned_error};
    double worst = -1;
    for (int64_t i = 0; i < (q->problem.samples + 1) * d; ++i) {
        const double t = (double)(i / d) * q->problem.interval;
        const double x = q->aligned.share[i], y = cs_qwem_sigmoid(q->lambda[i % d], q->s, t);
        if (fabs(x - y) > worst) {
            worst = fabs(x - y);
            claim.lhs = x;
            claim.rhs = y;
        }
    }
    cs_statement *s = cs_statements_claim(out, &claim);
    cs_statement_int(s, "width", d);
    cs_statement_real(s, "start", q->s);
}

static void state_solution(const cs_qwem_audit *q, cs_statements *out)
{
    cs_claim claim = {.id = "qwem-solution",
                      .form = CS_CORRECTED,
                      .relation = CS_RELATION_EQUAL,
                      .text =
                          "random start: X(t) = e^(Mt) W0 (I + W0^T K_t W0)^-1 W0^T e^(Mt), K_t "
                          "= int_0^t 2 e^(2Ms) ds (v_k.X v_k of the worst k and t)",
                      .input = q->name,
                      .error = q->random_error};
    double worst = -1;
    for (int64_t i = 0; i < (q->problem.samples + 1) * q->problem.width; ++i) {
        const double x = q->random.share[i], y = q->solution.share[i];
        if (fabs(x - y) > worst) {
            worst = fabs(x - y);
            claim.lhs = x;
            claim.rhs = y;
        }
    }
    cs_statements_claim(out, &claim);
}

static cs_statement *state_order(const cs_qwem_audit *q, const cs_qwem_path *path,
                                 double share_error, cs_statement_form form, const char *text,
                                 cs_statements *out)
{
    cs_claim claim = {.id = "qwem-order",
                      .form = form,
                      .relation = CS_RELATION_LESS,
                      .text = text,
                      .input = q->name};
    const cs_qwem_pair pair = cs_qwem_nearest(&q->problem, path->share);
    if (pair.first < 0) {
        return NULL;
    }
    claim.lhs = pair.before;
    claim.rhs = pair.after;
    /* the slope of a share at its half is lambda^2 / 2 */
    claim.error = pair.error + 8 * share_error / (q->lambda[pair.second] * q->lambda[pair.second]);
    cs_statement *s = cs_statements_claim(out, &claim);
    cs_statement_reals(s, 4,
                       (cs_detail[]){{"mode", (double)(pair.first + 1)},
                                     {"next_mode", (double)(pair.second + 1)},
                                     {"eigenvalue", q->lambda[pair.first]},
                                     {"next_eigenvalue", q->lambda[pair.second]}});
    return s;
}

static void state_orders(const cs_qwem_audit *q, cs_statements *out)
{
    cs_statement *s = state_order(q, &q->random, q->random_error, CS_PRINTED,
                                  "random start, small: modes reach half of lambda_k in the order "
                                  "of lambda_k (times of the nearest two)",
                                  out);
    if (s && s->verdict == CS_FAIL)
        cs_statement_unspecify(s, "the start is small enough, for which the paper has no bound",
                               q->s / q->lambda[q->problem.width - 1]);
    cs_statement_real(s, "ordered_start", q->ordered);
    s = state_order(q, &q->aligned, q->aligned_error, CS_CORRECTED,
                    "aligned start with s < lambda_d / 4.6: the same", out);
    cs_statement_assume(s, "s < lambda_d / 4.6",
                        CS_QWEM_ORDERED * q->s < q->lambda[q->problem.width - 1], q->s);
}

/* Two values of M*, the one for v_1..v_d: then all angles fall at one rate. */
static bool one_rate(const cs_qwem_audit *q)
{
    const double slack = CS_QWEM_EQUAL * q->lambda[0], last = q->lambda[q->vectors.cols - 1];
    const double least = q->vectors.cols < q->m.rows ? fmin(last, 0) : last;
    return q->lambda[0] - q->lambda[q->problem.width - 1] <= slack && q->next - least <= slack;
}

static void state_subspace(const cs_qwem_audit *q, cs_statements *out)
{
    const double u = (double)q->m.rows * DBL_EPSILON,
                 rate = q->lambda[q->problem.width - 1] - q->next;
    cs_claim claim = {.id = "qwem-subspace",
                      .form = CS_CORRECTED,
                      .relation = one_rate(q) ? CS_RELATION_EQUAL : CS_RELATION_AT_MOST,
                      .text = "||tan angle(W(t), v_1..v_d)|| <= e^(-(lambda_d - lambda_(d+1)) t) "
                              "||tan angle(W(0), v_1..v_d)|| (the t with the largest ratio)",
                      .input = q->name};
    double worst = -1;
    for (int64_t t = 1; t <= q->problem.samples; ++t) {
        const double x = q->random.tangent[t];
        const double y = q->random.tangent[0] * exp(-rate * (double)t * q->problem.interval);
        /* condition of W at most sqrt(lambda_1 / s) */
        const double error =
            fabs(x - q->coarse.tangent[t]) + 16 * u * y +
            16 * (u * sqrt(q->lambda[0] / q->s) + q->residual / rate) * (1 + x * x);
        if (x / y > worst && (t == 1 || y > 4 * error)) { /* else rounding hides both sides */
            worst = x / y;
            claim.lhs = x;
            claim.rhs = y;
            claim.error = error;
        }
    }
    cs_statement *s = cs_statements_claim(out, &claim);
    cs_statement_reals(s, 2, (cs_detail[]){{"rate", rate}, {"ratio", worst}});
}

static void state_limit(const cs_qwem_audit *q, cs_statements *out)
{
    double square = 0;
    for (int64_t k = 0; k < q->problem.width; ++k) {
        square += q->lambda[k] * q->lambda[k];
    }
    const double size = sqrt(square);
    cs_statement *s = cs_statements_claim(
        out,
        &(cs_claim){"qwem-limit", CS_PRINTED, CS_RELATION_AT_MOST,
                    "random start: ||W W^T - sum_(k<=d) lambda_k v_k v_k^T|| / ||sum|| at t = "
                    "15 / lambda_d is at most .01",
                    q->name, q->random.distance / size, DISTANCE, 1e-7 + q->random_error / size});
    const double rate = q->lambda[q->problem.width - 1] - q->next;
    cs_statement_reals(
        s, 2,
        (cs_detail[]){{"time", (double)q->problem.samples * q->problem.interval},
                      {"time_needed", log(fmax(1, q->random.tangent[0] / DISTANCE)) / rate}});
    /* too short a path disproves nothing */
    if (s && s->verdict == CS_FAIL) cs_statement_withhold(s);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Shares of their eigenvalues that a mode, or all, have at a time: of the last sample up to it. */
static double learned_at(const cs_qwem_audit *q, double time, int64_t first, int64_t last)
{
    const double most = (double)q->problem.samples;
    const int64_t t = (int64_t)fmin(time / q->problem.interval, most);
    double sum = 0;
    for (int64_t k = first; k < last; ++k) {
        sum += q->random.share[t * q->problem.width + k] / q->lambda[k];
    }
    return sum;
}

static void add_rows(const cs_qwem_audit *q, cs_item *rows)
{
    const int64_t d = q->problem.width;
    for (int64_t k = 0; rows && k < d; ++k) {
        cs_item *row = cs_item_object(rows, NULL);
        const double time = cs_qwem_half(&q->problem, q->random.share, k);
        cs_item_text(row, "input", q->name);
        cs_item_int(row, "mode", k + 1);
        cs_item_real(row, "eigenvalue", q->lambda[k]);
        cs_item_real(row, "aligned", cs_qwem_half(&q->problem, q->aligned.share, k));
        cs_item_real(row, "closed_form", cs_qwem_half_time(q->lambda[k], q->s));
        cs_item_real(row, "random", isfinite(time) ? time : NAN);
        cs_item_real(row, "learned", learned_at(q, time, 0, d));
        cs_item_real(row, "next_share", k + 1 < d ? learned_at(q, time, k + 1, k + 2) : NAN);
        cs_qwem_add_trainings(q, k, row);
    }
}

static cs_status audit(const cs_csr *a, const char *name, const cs_theorem_input *in,
                       cs_theorem_report *report)
{
    CS_AUTO(cs_qwem_audit) q = {.options = in, .name = name};
    cs_status status = prepare(a, &q);
    if (status == CS_OK) status = run_paths(a, &q);
    if (status != CS_OK) return status;
    state_sigmoid(&q, &report->statements);
    state_orders(&q, &report->statements);
    state_limit(&q, &report->statements);
    state_solution(&q, &report->statements);
    state_subspace(&q, &report->statements);
    cs_qwem_state_trainings(&q, &report->statements);
    add_rows(&q, report->rows);
    return cs_statements_status(&report->statements);
}

static cs_status on_matrix(const cs_theorem_input *in, cs_theorem_report *report)
{
    return audit(&in->matrix->a, in->name, in, report);
}

/* Counts 1 / (1 + (i - j)^2) of the tokens of a line. */
static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    const int64_t first = report->statements.count;
    CS_AUTO(cs_csr) a = {0};
    cs_theorem_input own = *in;
    own.row_column = NULL;
    cs_status status = cs_csr_init(&a, EXAMPLE, EXAMPLE, (int64_t)EXAMPLE * EXAMPLE);
    for (int i = 0; status == CS_OK && i < EXAMPLE; ++i) {
        a.ptr[i + 1] = (int64_t)(i + 1) * EXAMPLE;
        for (int j = 0; j < EXAMPLE; ++j) {
            a.col[i * EXAMPLE + j] = j;
            a.val[i * EXAMPLE + j] = 1.0 / (1 + (i - j) * (i - j));
        }
    }
    if (status == CS_OK)
        status = audit(&a, "8 tokens of a line, counts 1 / (1 + (i - j)^2)", &own, report);
    cs_statements_mark(&report->statements, first);
    return status;
}

const cs_theorem cs_entry_qwem = {
    .id = "qwem",
    .about = "verify qwem is about symmetric counts of words",
    .paper = "QWEM",
    .printed_words = "eigenvectors of M* are learned, the largest first",
    .corrected_words = "the flow has a closed form from every start",
    .printed = "dW/dt = (M* - W W^T) W from a small start: W W^T -> sum_(k<=d) lambda_k v_k v_k^T, "
               "modes in the order of lambda_k; aligned start: sigmoids",
    .corrected = "X(t) = e^(Mt) W0 (I + W0^T K_t W0)^-1 W0^T e^(Mt); ||tan angle(W(t), v_1..v_d)|| "
                 "<= e^(-(lambda_d - lambda_(d+1)) t) ||tan angle(W(0), v_1..v_d)||",
    .apart = true,
    .run = {[CS_ON_MATRIX] = on_matrix, [CS_ON_NOTHING] = on_nothing},
    .file = "qwem.csv",
    .key = "~qwem",
    .view = {"~qwem[]", "input mode eigenvalue aligned closed_form random learned next_share full "
                        "uniform counts skip_gram=skip-gram"},
    .course_file = "order.csv",
    .course = {"~qwem[].~course[]",
               "input=^input model step time mode=^mode sigma=^eigenvalue share"}};
