/* Geometry of next-token prediction (Zhao and Thrampoulidis 2025): with a free vector for each
 * context, cross-entropy and vanishing weight decay, the centred logits have the singular vectors of
 * the support form, leading directions first.
 *
 *   f(H, W) = sum_x p(x) (log sum_y e^(L(x, y)) - sum_y P(y | x) L(x, y)) + decay/2 (|H|^2 + |W|^2)
 *
 * with logits L = H W^T for contexts x and tokens y, widths min(contexts, tokens). Logits are
 * centred over tokens; the support form is 1[seen] - (number of seen tokens of x) / V.
 *
 * At a minimum H^T H = W^T W: the derivatives give decay (H^T H - W^T W) = H^T g_H - g_W^T W = 0. So
 * W = V sqrt(S) R and H = U sqrt(S) R for the singular value decomposition of L and a rotation R.
 *
 * From a small start L is 0 to first order, so that dH/dt = A_c W and dW/dt = A_c^T H with
 *
 *   A_c(x, y) = a(x, y) - p(x) / V.
 *
 * What is learned first is thus the leading direction of A_c, which has the probabilities; the support
 * form has none. The two agree where all seen tokens of all contexts are equally likely.
 *
 * Minimised by L-BFGS, each weight decay from the result of the one before with noise added: what a
 * larger weight decay has set to 0 is a saddle point of a smaller one. Weight decay keeps the rank of
 * the logits low, and vectors beyond the rank are arbitrary, so t is chosen by gaps (largest_gap).
 * The smallest weight decays may end before the minimum. The error is therefore estimated by a second
 * start: spaces at an angle e have largest angles to a third that differ by at most e.
 * Limit: MOST_WORK. */
#include "analysis/theorems/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/similarity.h"
#include "analysis/theorems/form_spectrum.h"
#include "analysis/theorems/ntp_example.h"
#include "analysis/theorems/ntp_orthants.h"
#include "analysis/theorems/theorem_31.h"
#include "base/auto.h"
#include "base/ints.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/lbfgs.h"

enum { MOST_WORK = 1 << 20, MOST_ITERATIONS = 4000, DECAYS = 5, DEFAULT_FEATURES = 4 };
enum { STARTS = 2 };
enum { MEMORY = 20 }; /* pairs of vectors that L-BFGS keeps */
static const double DECAY[DECAYS] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
static const double GAP = 0.05;  /* of singular values that are distinguished, / sigma_1 */
static const double ZERO = 1e-6; /* of the norm of logits, and of singular values / sigma_1 */
static const double BALANCE = 1e-3;
static const double TOLERANCE = 1e-10; /* of the gradient (cs_lbfgs) */
static const double SMALL = 1e-9;      /* scale of the start */
static const double START = 0.1;       /* of what is added before each minimisation */
static const double EARLY = 1e-3;      /* norm of the logits at which early directions are read */
static const double RESOLVED = 1e-6;   /* radians */
static const double SAME = 0.01;       /* radians: nearer directions count as one */
/* of an iteration, for each multiply-add of one of its three products: measured on one core, 4.3e-10
 * with 300 contexts and tokens and 3.5e-10 with 600 */
static const double SECONDS_PER_WORK = 4e-10;

/* Results at one weight decay. `spread` is the largest angle between the right vectors of all starts. */
typedef struct {
    double loss, norm, cosine, left, right, imbalance, spread;
    int64_t rank, vectors;
} ntp_point;

/* The singular values of centred logits and the vectors that may be compared, as columns. */
typedef struct {
    cs_dense u, v;
    double *sigma;
} ntp_vectors;

typedef struct {
    cs_pool pool;
    cs_31_problem a;
    cs_spectrum support;
    const char *name;
    int64_t n, v, d;
    int64_t most, t;               /* vectors that the support form allows to compare; compared */
    cs_dense joint, centred, form; /* a, A_c and the support form */
    cs_dense logits, work, u, vt;
    double *x, *gradient, *sigma, decay;
    /* angles of the first direction, their larger difference between two starts, and the angle of the
     * leading direction of a - p / V to those of the support form */
    double early_form, early_support, early_error, apart;
    ntp_point point[DECAYS]; /* from the first start */
    ntp_vectors leading[STARTS][DECAYS];
    cs_status status; /* of the last evaluation */
} ntp;

static void ntp_free(ntp *q)
{
    cs_31_problem_free(&q->a);
    cs_spectrum_free(&q->support);
    cs_pool_free(&q->pool);
}

/* --- the model -------------------------------------------------------------------------------- */

/* H and W in an array of variables. */
static void factors(const ntp *q, double *x, cs_dense *h, cs_dense *w)
{
    *h = (cs_dense){q->n, q->d, q->n, x};
    *w = (cs_dense){q->v, q->d, q->v, x + q->n * q->d};
}

/* work = p softmax(L) - a; returns the cross-entropy. */
static double softmax_rows(ntp *q)
{
    double loss = 0;
    for (int64_t i = 0; i < q->n; ++i) {
        const double p = q->a.root_row[i] * q->a.root_row[i];
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < q->v; ++j) {
            most = fmax(most, q->logits.data[i + j * q->n]);
        }
        for (int64_t j = 0; j < q->v; ++j) {
            q->work.data[i + j * q->n] = exp(q->logits.data[i + j * q->n] - most);
            sum += q->work.data[i + j * q->n];
        }
        loss += p * (most + log(sum));
        for (int64_t j = 0; j < q->v; ++j) {
            const double joint = q->joint.data[i + j * q->n];
            loss -= joint * q->logits.data[i + j * q->n];
            q->work.data[i + j * q->n] = p * q->work.data[i + j * q->n] / sum - joint;
        }
    }
    return loss;
}

/* f and its gradient. */
static double evaluate(ntp *q, double *x, double *gradient, double *cross_entropy)
{
    cs_dense h, w, gh, gw;
    const int64_t all = (q->n + q->v) * q->d;
    factors(q, x, &h, &w);
    factors(q, gradient, &gh, &gw);
    cs_status status = cs_gemm(false, true, 1, &h, &w, 0, &q->logits);
    *cross_entropy = softmax_rows(q);
    memcpy(gradient, x, (size_t)all * sizeof *x);
    if (status == CS_OK) status = cs_gemm(false, false, 1, &q->work, &w, q->decay, &gh);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &q->work, &h, q->decay, &gw);
    if (q->status == CS_OK) q->status = status;
    return *cross_entropy + q->decay / 2 * cs_inner(all, x, x);
}

/* x is that of ctx. */
static cs_status on_evaluate(void *ctx, int64_t n, const double *x, double *f, double *gradient)
{
    ntp *q = ctx;
    double loss = 0;
    (void)n, (void)x;
    *f = evaluate(q, q->x, gradient, &loss);
    return q->status;
}

static cs_status minimise(ntp *q)
{
    return cs_lbfgs_minimise(&(cs_lbfgs){.evaluate = on_evaluate,
                                         .ctx = q,
                                         .n = (q->n + q->v) * q->d,
                                         .memory = MEMORY,
                                         .max_iterations = MOST_ITERATIONS,
                                         .tolerance = TOLERANCE},
                             q->x);
}

/* --- measures --------------------------------------------------------------------------------- */

/* Centres the logits over tokens. */
static void centre(ntp *q)
{
    for (int64_t i = 0; i < q->n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < q->v; ++j) {
            sum += q->logits.data[i + j * q->n];
        }
        for (int64_t j = 0; j < q->v; ++j) {
            q->logits.data[i + j * q->n] -= sum / (double)q->v;
        }
    }
}

/* Singular vectors of a matrix of contexts and tokens, into u, vt and sigma. */
static cs_status decompose(ntp *q, const cs_dense *a)
{
    cs_dense_copy(a, &q->work);
    return cs_dense_svd(&q->work, q->sigma, &q->u, &q->vt);
}

/* The first `count` right vectors as columns. */
static cs_dense right_vectors(const ntp *q, int64_t count, cs_pool *pool)
{
    cs_dense v = cs_dense_in(pool, q->v, count);
    for (int64_t k = 0; v.data && k < count; ++k) {
        for (int64_t j = 0; j < q->v; ++j) {
            v.data[j + k * v.ld] = q->vt.data[k + j * q->vt.ld];
        }
    }
    return v;
}

static cs_status largest_angle(const cs_dense *a, const cs_dense *b, double *out)
{
    const int64_t count = cs_least(a->cols, b->cols);
    CS_AUTO_FREE double *angle = cs_alloc(count, sizeof *angle);
    cs_status status = angle ? cs_principal_angles(a, b, angle) : CS_ERR_MEMORY;
    if (status == CS_OK) *out = angle[count - 1];
    return status;
}

/* Centres the logits at q->x and measures them; keeps their vectors. */
static cs_status measure(ntp *q, ntp_point *out, ntp_vectors *keep)
{
    cs_dense h, w;
    CS_AUTO(cs_pool) pool = {0};
    evaluate(q, q->x, q->gradient, &out->loss);
    factors(q, q->x, &h, &w);
    centre(q);
    out->norm = sqrt(cs_dense_squares(&q->logits));
    out->cosine = cs_inner(q->n * q->v, q->logits.data, q->form.data) /
                  (out->norm * sqrt(cs_dense_squares(&q->form)));
    cs_dense gram_h = cs_dense_in(&pool, q->d, q->d), gram_w = cs_dense_in(&pool, q->d, q->d);
    cs_status status = q->status != CS_OK ? q->status : decompose(q, &q->logits);
    keep->u = cs_dense_in(&q->pool, q->n, q->most);
    keep->v = right_vectors(q, q->most, &q->pool);
    keep->sigma = cs_pool_take(&q->pool, q->d, sizeof *keep->sigma);
    if (status == CS_OK) status = pool.status != CS_OK ? pool.status : q->pool.status;
    if (status == CS_OK) status = cs_gemm(true, false, 1, &w, &w, 0, &gram_w);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &h, &h, 0, &gram_h);
    if (status != CS_OK) return status;
    const cs_dense u = cs_dense_columns(&q->u, 0, q->most);
    cs_dense_copy(&u, &keep->u);
    memcpy(keep->sigma, q->sigma, (size_t)q->d * sizeof *q->sigma);
    out->rank = 0;
    while (out->norm > ZERO && out->rank < q->d && q->sigma[out->rank] > ZERO * q->sigma[0]) {
        ++out->rank;
    }
    const double size = sqrt(cs_dense_squares(&gram_w));
    cs_add_multiple(q->d * q->d, -1, gram_h.data, gram_w.data);
    out->imbalance = sqrt(cs_dense_squares(&gram_w)) / size;
    return CS_OK;
}

/* Whether the k-th of n descending singular values is followed by a gap. */
static bool has_gap(const double *sigma, int64_t n, int64_t k)
{
    return sigma[k - 1] - (k < n ? sigma[k] : 0) >= GAP * sigma[0];
}

/* The largest t of at most `most` with a gap after it in the support form, and from the first `starts`
 * starts in the logits at the largest and at the smallest weight decay; 0: none. */
static int64_t largest_gap(const ntp *q, int64_t most, int starts)
{
    int64_t t = 0;
    for (int64_t k = 1; k <= most; ++k) {
        bool gap = has_gap(q->support.sigma, q->support.k, k);
        for (int i = 0; i < starts; ++i) {
            gap = gap && has_gap(q->leading[i][0].sigma, q->d, k) &&
                  has_gap(q->leading[i][DECAYS - 1].sigma, q->d, k);
        }
        t = gap ? k : t;
    }
    return t;
}

/* The angles of the leading t vectors at weight decay `at`: to those of the support form, and between
 * the starts. */
static cs_status compare(ntp *q, int at)
{
    ntp_point *out = &q->point[at];
    out->vectors = q->t;
    out->left = out->right = out->spread = NAN;
    if (q->t == 0) return CS_OK;
    const cs_dense form_u = cs_dense_columns(&q->support.u, 0, q->t);
    const cs_dense form_v = cs_dense_columns(&q->support.v, 0, q->t);
    const cs_dense left = cs_dense_columns(&q->leading[0][at].u, 0, q->t);
    const cs_dense right = cs_dense_columns(&q->leading[0][at].v, 0, q->t);
    const cs_dense other = cs_dense_columns(&q->leading[1][at].v, 0, q->t);
    cs_status status = largest_angle(&left, &form_u, &out->left);
    if (status == CS_OK) status = largest_angle(&right, &form_v, &out->right);
    return status == CS_OK ? largest_angle(&right, &other, &out->spread) : status;
}

/* Adds normal entries of size `scale`, different for each stream, to what is there (keep) or to 0. */
static void disturb(ntp *q, uint64_t seed, uint64_t stream, bool keep, double scale)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_AUDIT, stream);
    for (int64_t i = 0; i < (q->n + q->v) * q->d; ++i) {
        q->x[i] = (keep ? q->x[i] : 0) + scale * cs_rng_normal(&rng);
    }
}

/* The angle of a vector to the leading singular vectors within GAP of the first. */
static cs_status angle_to_first(const cs_dense *x, const cs_dense *vectors, const double *sigma,
                                double *out)
{
    int64_t count = 1;
    while (count < vectors->cols && sigma[count] > (1 - GAP) * sigma[0]) {
        ++count;
    }
    const cs_dense first = cs_dense_columns(vectors, 0, count);
    return largest_angle(x, &first, out);
}

/* Follows the gradient without weight decay from a small start to logits of norm EARLY; the angles of
 * the first direction. */
static cs_status early_direction(ntp *q, uint64_t seed, uint64_t stream, double *to_form,
                                 double *to_support)
{
    CS_AUTO(cs_pool) pool = {0};
    const int64_t all = (q->n + q->v) * q->d;
    double loss = 0, norm = 0;
    cs_status status = decompose(q, &q->centred);
    const double step = 0.05 / q->sigma[0];
    double *sigma = cs_pool_take(&pool, q->d, sizeof *sigma);
    const cs_dense form = right_vectors(q, q->d, &pool);
    if (status == CS_OK) status = pool.status;
    if (status != CS_OK) return status;
    memcpy(sigma, q->sigma, (size_t)q->d * sizeof *sigma);
    disturb(q, seed, stream, false, SMALL);
    q->decay = 0;
    for (int i = 0; norm < EARLY && i < MOST_ITERATIONS && q->status == CS_OK; ++i) {
        evaluate(q, q->x, q->gradient, &loss);
        norm = sqrt(cs_dense_squares(&q->logits));
        cs_add_multiple(all, -step, q->gradient, q->x);
    }
    centre(q);
    status = q->status != CS_OK ? q->status : decompose(q, &q->logits);
    const cs_dense first = right_vectors(q, 1, &pool);
    if (status == CS_OK) status = pool.status;
    const cs_dense leading = cs_dense_columns(&form, 0, 1);
    if (status == CS_OK)
        status = angle_to_first(&leading, &q->support.v, q->support.sigma, &q->apart);
    if (status == CS_OK) status = angle_to_first(&first, &form, sigma, to_form);
    return status == CS_OK ? angle_to_first(&first, &q->support.v, q->support.sigma, to_support)
                           : status;
}

/* From two starts, which agree where the starts are small enough. */
static cs_status early_directions(ntp *q, uint64_t seed)
{
    enum { FIRST = 1, SECOND = 1000 }; /* streams */
    double form = 0, support = 0;
    cs_status status = early_direction(q, seed, FIRST, &q->early_form, &q->early_support);
    if (status == CS_OK) status = early_direction(q, seed, SECOND, &form, &support);
    q->early_error = fmax(fabs(form - q->early_form), fabs(support - q->early_support));
    return status;
}

/* --- the problem ------------------------------------------------------------------------------ */

static void fill_matrices(ntp *q)
{
    for (int64_t i = 0; i < q->n; ++i) {
        const double p = q->a.root_row[i] * q->a.root_row[i];
        const double seen = (double)(q->a.a.ptr[i + 1] - q->a.a.ptr[i]);
        for (int64_t j = 0; j < q->v; ++j) {
            q->centred.data[i + j * q->n] = -p / (double)q->v;
            q->form.data[i + j * q->n] = -seen / (double)q->v;
        }
        for (int64_t e = q->a.a.ptr[i]; e < q->a.a.ptr[i + 1]; ++e) {
            const int64_t at = i + q->a.a.col[e] * q->n;
            q->joint.data[at] = q->a.a.val[e];
            q->centred.data[at] += q->a.a.val[e];
            q->form.data[at] += 1;
        }
    }
}

static cs_status prepare(const cs_csr *a, const cs_theorem_input *in, ntp *q)
{
    cs_status status = cs_31_problem_of(a, &q->a);
    if (status != CS_OK) return status;
    q->n = q->a.a.rows;
    q->v = q->a.a.cols;
    q->d = cs_least(q->n, q->v);
    /* of full support the form is 0, and has no spectrum */
    if (q->a.a.ptr[q->n] < q->n * q->v)
        status = cs_form_spectrum(&q->a.a, "support", 0, false, in, &q->support);
    if (status != CS_OK) return status;
    q->most = largest_gap(
        q, cs_least(q->support.k, in->features > 0 ? in->features : DEFAULT_FEATURES), 0);
    cs_dense *const matrix[] = {&q->joint, &q->centred, &q->form, &q->logits, &q->work};
    for (int i = 0; i < 5; ++i) {
        *matrix[i] = cs_dense_in(&q->pool, q->n, q->v);
    }
    q->u = cs_dense_in(&q->pool, q->n, q->d);
    q->vt = cs_dense_in(&q->pool, q->d, q->v);
    q->sigma = cs_pool_take(&q->pool, q->d, sizeof *q->sigma);
    q->x = cs_pool_take(&q->pool, (q->n + q->v) * q->d, sizeof *q->x);
    q->gradient = cs_pool_take(&q->pool, (q->n + q->v) * q->d, sizeof *q->gradient);
    if (q->pool.status == CS_OK) fill_matrices(q);
    return q->pool.status;
}

/* --- statements ------------------------------------------------------------------------------- */

static void state_support(const ntp *q, cs_statements *out)
{
    const ntp_point *first = &q->point[0], *last = &q->point[DECAYS - 1];
    cs_statement *s = cs_statements_claim(
        out,
        &(cs_claim){"ntp-support", CS_PRINTED, CS_RELATION_AT_MOST,
                    "free contexts, cross-entropy, weight decay -> 0: the leading t right "
                    "singular vectors of the centred logits come nearer to those of the support "
                    "form: largest principal angle at decay 1e-6 <= at 1e-2 (radians)",
                    q->name, last->right, first->right, last->spread + first->spread + RESOLVED});
    cs_statement_assume(
        s,
        "at some t >= 1 the support form and the logits at both weight decays have a "
        "gap of .05 sigma_1 after sigma_t; the largest such t is compared",
        q->t > 0, (double)q->t);
    cs_statement_reals(s, 5,
                       (cs_detail[]){{"vectors", (double)q->t},
                                     {"support_vectors", (double)q->most},
                                     {"rank", (double)first->rank},
                                     {"cosine", last->cosine},
                                     {"left_angle", last->left}});
    s = cs_statements_claim(
        out, &(cs_claim){"ntp-balanced", CS_PRINTED, CS_RELATION_AT_MOST,
                         "W = V sqrt(S) R and H = U sqrt(S) R: ||W^T W - H^T H|| / ||W^T W|| is at "
                         "most .001 at weight decay 1e-4",
                         q->name, q->point[2].imbalance, BALANCE, 1e-9});
    /* training that is cut short disproves nothing */
    if (s && s->verdict == CS_FAIL) cs_statement_withhold(s);
}

/* Which of the two directions is learned first; the error is the difference between two starts. */
static void state_order(const ntp *q, cs_statements *out)
{
    if (q->support.k == 0 || q->apart <= SAME) return; /* no direction, or the same one */
    cs_statement *s = cs_statements_claim(
        out,
        &(cs_claim){"ntp-order", CS_PRINTED, CS_RELATION_AT_MOST,
                    "small start: what is learned first is the leading direction of the support "
                    "form, not that of a - p / V (angles, radians)",
                    q->name, q->early_support, q->early_form, q->early_error + RESOLVED});
    cs_statement_real(s, "norm", EARLY);
    cs_statements_claim(out, &(cs_claim){"ntp-order", CS_CORRECTED, CS_RELATION_AT_MOST,
                                         "small start: it is that of a - p / V (angles, radians)",
                                         q->name, q->early_form, q->early_support,
                                         q->early_error + RESOLVED});
}

/* The cost of minimising: multiply-adds of one product, bytes of the matrices and of L-BFGS, and
 * seconds on one core if no weight decay converges early. */
typedef struct {
    double work, bytes, seconds;
} ntp_cost;

static ntp_cost cost_of(const cs_csr *a)
{
    const double n = (double)a->rows, v = (double)a->cols, d = fmin(n, v);
    const double work = n * v * d, variables = (n + v) * d;
    return (ntp_cost){work, 8 * (7 * n * v + 4 * d * d + (2 * MEMORY + 8) * variables),
                      STARTS * DECAYS * MOST_ITERATIONS * work * SECONDS_PER_WORK};
}

/* Whether the model can be minimised to high precision; if not, out says why. */
static bool can_minimise(const cs_csr *a, const char *name, char *out, size_t size)
{
    const ntp_cost cost = cost_of(a);
    const bool long_run = cost.seconds > 7200;
    if (cost.work <= MOST_WORK) return true;
    (void)snprintf(out, size,
                   "%s has %lld contexts and %lld tokens: minimising takes about %.2g GB and up to "
                   "%.2g %s on one core; verify ntp does so for at most about 100 of each "
                   "(cospec cooc --vocab 80)",
                   name, (long long)a->rows, (long long)a->cols, cost.bytes / 1e9,
                   cost.seconds / (long_run ? 3600 : 60), long_run ? "hours" : "minutes");
    return false;
}

/* Minimises at every weight decay from one start. */
static cs_status follow_decays(ntp *q, uint64_t seed, int start)
{
    cs_status status = CS_OK;
    for (int i = 0; i < DECAYS && status == CS_OK; ++i) {
        ntp_point point = {0};
        const uint64_t stream = (uint64_t)(start * DECAYS + i) + 1;
        disturb(q, seed, stream, i > 0, START);
        q->decay = DECAY[i];
        status = minimise(q);
        if (status == CS_OK) status = measure(q, &point, &q->leading[start][i]);
        if (start == 0) q->point[i] = point;
    }
    return status;
}

static cs_status minimise_all(const cs_csr *a, const char *name, const cs_theorem_input *in,
                              cs_theorem_report *report)
{
    CS_AUTO(ntp) q = {.name = name};
    cs_status status = prepare(a, in, &q);
    if (status == CS_OK && q.support.k > 0) status = early_directions(&q, in->seed);
    for (int i = 0; i < STARTS && status == CS_OK; ++i) {
        status = follow_decays(&q, in->seed, i);
    }
    if (status == CS_OK) q.t = largest_gap(&q, cs_least(q.most, q.point[0].rank), STARTS);
    for (int i = 0; i < DECAYS && status == CS_OK; ++i) {
        status = compare(&q, i);
        if (status == CS_OK && report->rows) {
            cs_item *row = cs_item_object(report->rows, NULL);
            cs_item_text(row, "input", name);
            cs_item_real(row, "weight_decay", DECAY[i]);
            CS_ITEM_FIELDS(row, &q.point[i], loss, norm, cosine, left, right, imbalance);
            CS_ITEM_FIELDS(row, &q.point[i], rank, vectors, spread);
        }
    }
    if (status != CS_OK) return status;
    if (q.t == 0) {
        (void)snprintf(
            report->note, sizeof report->note, "%s: ntp-support is undetermined: %s", name,
            q.support.k == 0 ? "the support form is 0 everywhere"
            : q.most == 0    ? "no gap after the leading values of the support form"
                             : "no gap that the support form and the logits have in common");
    }
    state_support(&q, &report->statements);
    state_order(&q, &report->statements);
    return cs_statements_status(&report->statements);
}

/* A matrix that is too large for the minimisation may have labels for its orthants. */
static cs_status audit(const cs_labelled *m, const char *name, const cs_theorem_input *in,
                       cs_theorem_report *report)
{
    char why[256];
    const bool minimised = can_minimise(&m->a, name, why, sizeof why);
    if (!minimised && m->labels < 2) {
        return cs_fail(CS_ERR_INPUT, "%s, or compares orthants in a matrix of a labelled corpus",
                       why);
    }
    if (!minimised) {
        (void)snprintf(report->note, sizeof report->note, "%s. Only orthants are compared", why);
    }
    cs_status status = minimised ? minimise_all(&m->a, name, in, report) : CS_OK;
    if (status != CS_OK || m->labels < 2) return status;
    status =
        cs_ntp_orthants(m, name, in, in->features > 0 ? in->features : DEFAULT_FEATURES, report);
    return status == CS_OK ? cs_statements_status(&report->statements) : status;
}

static cs_status on_matrix(const cs_theorem_input *in, cs_theorem_report *report)
{
    return audit(in->matrix, in->name, in, report);
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    const int64_t first = report->statements.count;
    CS_AUTO(cs_labelled) m = {0};
    cs_status status = cs_ntp_example(&m);
    if (status == CS_OK) status = audit(&m, "12 contexts of 3 classes and 10 tokens", in, report);
    cs_statements_mark(&report->statements, first);
    return status;
}

const cs_theorem cs_entry_ntp = {
    .id = "ntp",
    .about = "verify ntp is about a matrix of contexts and tokens",
    .paper = "NTP",
    .printed_words = "logits come nearer to the support's directions",
    .corrected_words = "those of the probabilities are learned first",
    .printed = "free contexts, cross-entropy, weight decay -> 0: centred logits have the singular "
               "vectors of the support form, leading directions first",
    .corrected = "from a small start the leading direction of a - p / V is learned first",
    .part = {{"ntp-support", {"logits come nearer to the support's directions"}},
             {"ntp-balanced", {"both factors have the same Gram matrix"}},
             {"ntp-order",
              {"the support's leading direction is learned first",
               "that of the probabilities is learned first"}},
             {"ntp-orthants", {"orthants of the support are classes of tokens"}}},
    .apart = true,
    .run = {[CS_ON_MATRIX] = on_matrix, [CS_ON_NOTHING] = on_nothing},
    .file = "ntp.csv",
    .key = "~ntp",
    .view = {"~ntp[]", "input weight_decay loss norm cosine left right imbalance rank "
                       "vectors spread"},
    .course_file = "orthants.csv",
    .course_key = "~orthants",
    .course = {"~orthants[]", "input form directions orthants tokens classes ami p limit "
                              "detectable purity null_purity"}};
