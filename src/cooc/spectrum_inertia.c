/* The inertia certificate: how many singular values exceed tau, by Sylvester's law.
 *
 * At least k. With Abar V = U S + R, ||U^T U - I|| <= d_u, ||V^T V - I|| <= d_v and ||R||_F <= rho
 * (the root of the sum of the squared residuals), ||Abar V c|| >= (sqrt(1 - d_u) sigma_j - rho)
 * ||c|| and ||V c|| <= sqrt(1 + d_v) ||c|| for every c of the first j entries: the j-th singular
 * value of Abar is at least
 *
 *   low_j = (sqrt(1 - d_u) sigma_j - rho) / sqrt(1 + d_v).
 *
 * At most k. L D L^T of G - tau^2 I, G the Gram matrix of each component's smaller side, counts the
 * positive eigenvalues of a matrix within E of it (linalg/inertia.h; the sums in G add (t + 4) eps
 * || |Abar| ||^2, t the longest of them): between the numbers of sigma^2 above tau^2 + E and above
 * tau^2 - E. Where low_k^2 is not large against E, [0 B; B^T 0] - tau I takes its place: E is then
 * relative to sigma_1 and not to its square, on matrices of the order of both sides together.
 *
 * tau is low_k less twice the E expected (of all triplets: the least tau that the count
 * distinguishes from 0), and once counted, low_k must exceed the upper end by the E that came out;
 * otherwise tau moves away by twice that. When more than k values exceed tau, a second count just
 * above those that equal sigma_k distinguishes a cut through equal values from a missed one.
 *
 * The reduced matrix is Abar itself, or has its singular values to the tolerance of the lumping
 * (1e-13 relative in every entry, rows and then columns): CS_LUMPED || |Abar| || for all of it.
 *
 * How far the vectors of a spectrum are from orthonormal.
 *
 * Method. Vectors of different components have no entry in common; those of one component are
 * gathered and multiplied, COLUMNS by COLUMNS. Where a vector reaches over several components, all
 * are multiplied with all. What rounding may hide of an inner product of n terms, n u, is added. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum_stages_private.h"
#include "linalg/inertia.h"

enum { COLUMNS = 32 };

/* ||Q^T Q - I||_F^2, with what rounding may hide. */
static cs_status square_departure(const cs_dense *q, double *square)
{
    CS_AUTO(cs_dense) g = {0};
    int64_t k = q->cols;
    cs_status status = cs_dense_init(&g, cs_least(k, COLUMNS), k);
    double hidden = (double)q->rows * DBL_EPSILON / 2 * (double)k;
    *square = hidden * hidden;
    for (int64_t first = 0; status == CS_OK && first < k; first += COLUMNS) {
        int64_t width = cs_least(k - first, COLUMNS);
        cs_dense left = {q->rows, width, q->ld, q->data + first * q->ld};
        cs_dense rest = {q->rows, k - first, q->ld, left.data};
        cs_dense part = {width, k - first, g.ld, g.data};
        status = cs_interrupt_check();
        if (status == CS_OK) status = cs_gemm(true, false, 1, &left, &rest, 0, &part);
        for (int64_t j = 0; status == CS_OK && j < part.cols; ++j) {
            for (int64_t i = 0; i < width; ++i) { /* what is not in the square counts twice */
                double x = part.data[i + j * part.ld] - (i == j);
                *square += (j < width ? 1 : 2) * x * x;
            }
        }
    }
    return status;
}

/* Columns j with block[j] == b, the rows of its members only. */
static cs_status gather(const cs_dense *x, const int64_t *block, int64_t b,
                        const cs_reduction_side *s, cs_dense *out)
{
    const int64_t *list = s->list + s->list_start[b];
    int64_t members = s->list_start[b + 1] - s->list_start[b], count = 0, at = 0;
    for (int64_t j = 0; j < x->cols; ++j) {
        count += block[j] == b;
    }
    cs_status status = cs_dense_init(out, members, count);
    for (int64_t j = 0; status == CS_OK && j < x->cols; ++j) {
        for (int64_t m = 0; block[j] == b && m < members; ++m) {
            out->data[m + at * out->ld] = x->data[list[m] + j * x->ld];
        }
        at += block[j] == b;
    }
    return status;
}

/* The component that holds each column of x; whether all are held by one: false when a column
 * reaches over several, or is zero. home: scratch, a value a row. */
static bool blocks_of(const cs_dense *x, const cs_reduction_side *s, int64_t count, int64_t *home,
                      int64_t *block)
{
    bool apart = true;
    memset(home, 0xff, (size_t)x->rows * sizeof *home); /* -1 */
    for (int64_t b = 0; b < count; ++b) {
        for (int64_t m = s->list_start[b]; m < s->list_start[b + 1]; ++m) {
            home[s->list[m]] = b;
        }
    }
    for (int64_t j = 0; j < x->cols; ++j) {
        const double *column = x->data + j * x->ld;
        block[j] = -1;
        for (int64_t i = 0; i < x->rows && block[j] >= -1; ++i) {
            if (column[i] != 0) {
                block[j] = block[j] == -1 || block[j] == home[i] ? home[i] : -2;
            }
        }
        apart = apart && block[j] >= 0;
    }
    return apart;
}

/* ||X^T X - I||_F of one side: vectors of different components have no inner products. */
static cs_status departure_of(const cs_dense *x, const cs_reduction_side *s, int64_t count,
                              double *departure)
{
    double sum = 0, square = 0;
    CS_AUTO(cs_pool) pool = {0};
    int64_t *block = cs_pool_take(&pool, x->cols, sizeof *block);
    int64_t *home = cs_pool_take(&pool, x->rows, sizeof *home);
    cs_status status = pool.status;
    bool apart = status == CS_OK && count > 1 && blocks_of(x, s, count, home, block);
    if (status == CS_OK && !apart) status = square_departure(x, &sum);
    for (int64_t b = 0; status == CS_OK && apart && b < count; ++b) {
        CS_AUTO(cs_dense) part = {0};
        status = gather(x, block, b, s, &part);
        if (status == CS_OK) status = square_departure(&part, &square);
        sum += square;
    }
    *departure = sqrt(sum);
    return status;
}

cs_status cs_spectrum_departure(const cs_reduction *r, const cs_spectrum *s, double *departure)
{
    double left = 0, right = 0;
    cs_status status = departure_of(&s->u, &r->side[CS_LEFT], r->count, &left);
    if (status == CS_OK) status = departure_of(&s->v, &r->side[CS_RIGHT], r->count, &right);
    *departure = left >= right || isnan(left) ? left : right;
    return status;
}

enum { ATTEMPTS = 4 };
static const double USUAL_GROWTH = 32;

typedef struct {
    const cs_reduction *r;
    const cs_spectrum_options *options;
    bool augmented;
    double norm;      /* of |Abar|, a bound */
    double slack;     /* what lumping may have moved a singular value by */
    int64_t longest;  /* terms of a sum in a Gram matrix */
    int64_t order;    /* of the largest matrix */
    cs_dense work;    /* for it */
    double departure; /* ||X^T X - I||, the larger of both sides */
    double rho;       /* root of the sum of squared residuals */
    double worst;     /* residual */
} counting;

/* At least `above` singular values exceed `low`, at most `above` exceed `high`. */
typedef struct {
    int64_t above;
    double low, high;
    double error; /* of the matrix that was factored */
} tally;

/* --- matrices --------------------------------------------------------------------------------- */

static int64_t order_of(const cs_reduction *r, int64_t block, bool augmented)
{
    int64_t both = cs_block_size(r, CS_LEFT, block) + cs_block_size(r, CS_RIGHT, block);
    return augmented ? both : cs_block_rank(r, block);
}

/* The smaller side of a block. */
static cs_side smaller_side(const cs_reduction *r, int64_t block)
{
    bool rows = cs_block_size(r, CS_LEFT, block) <= cs_block_size(r, CS_RIGHT, block);
    return rows ? CS_LEFT : CS_RIGHT;
}

/* The smaller side of a block as rows of `line`, whose columns are rows of `other`. */
typedef struct {
    const cs_csr *line, *other;
    int64_t first; /* row of `line` where the block begins */
    /* (A - l r^T)^T (A - l r^T) = A^T A - z r^T - r z^T; NULL: no part of rank one */
    const double *z, *r;
    double shift;
    cs_dense *m;
} gram_job;

/* Lower triangle of columns item * COLUMNS .. of G - shift I: each entry summed in the order of the
 * line. */
static cs_status gram_columns(void *ctx, int64_t item)
{
    const gram_job *job = ctx;
    int64_t n = job->m->rows, end = cs_least((item + 1) * COLUMNS, n);
    for (int64_t j = item * COLUMNS; j < end; ++j) {
        double *column = job->m->data + j * job->m->ld;
        int64_t first = job->first, line = first + j;
        memset(column + j, 0, (size_t)(n - j) * sizeof *column);
        for (int64_t e = job->line->ptr[line]; e < job->line->ptr[line + 1]; ++e) {
            int64_t across = job->line->col[e], begin = job->other->ptr[across];
            for (int64_t f = job->other->ptr[across + 1];
                 f-- > begin && job->other->col[f] >= line;) {
                column[job->other->col[f] - first] += job->line->val[e] * job->other->val[f];
            }
        }
        for (int64_t i = j; job->z && i < n; ++i) {
            column[i] -= job->z[i] * job->r[j] + job->r[i] * job->z[j];
        }
        column[j] -= job->shift;
    }
    return CS_OK;
}

static cs_status fill_gram(const counting *c, int64_t block, double shift, cs_dense *m)
{
    const cs_reduction *r = c->r;
    cs_side side = smaller_side(r, block);
    gram_job job = {.line = side == CS_LEFT ? &r->a : &r->at,
                    .other = side == CS_LEFT ? &r->at : &r->a,
                    .first = r->side[side].start[block],
                    .shift = shift,
                    .m = m};
    cs_matrix_form_operator form = {0};
    cs_status status = CS_OK;
    if (r->term[side]) {
        status = cs_matrix_form_operator_open(&r->a, &r->at, r->term, c->options->threads, &form);
        job.z = form.outer.correction[side == CS_LEFT];
        job.r = r->term[side];
    }
    if (status == CS_OK)
        status =
            cs_parallel((m->rows + COLUMNS - 1) / COLUMNS, c->options->threads, gram_columns, &job);
    cs_matrix_form_operator_close(&form);
    return status;
}

/* Lower triangle of [0 B; B^T 0] - shift I. */
static void fill_augmented(const cs_reduction *r, int64_t block, double shift, cs_dense *m)
{
    int64_t rows = cs_block_size(r, CS_LEFT, block);
    int64_t r0 = r->side[CS_LEFT].start[block], c0 = r->side[CS_RIGHT].start[block];
    for (int64_t j = 0; j < m->rows; ++j) {
        double *column = m->data + j * m->ld;
        memset(column + j, 0, (size_t)(m->rows - j) * sizeof *column);
        for (int64_t e = j < rows ? r->a.ptr[r0 + j] : 0; j < rows && e < r->a.ptr[r0 + j + 1];
             ++e) {
            column[rows + r->a.col[e] - c0] = r->a.val[e];
        }
        for (int64_t i = 0; r->term[CS_LEFT] && j < rows && i < m->rows - rows; ++i) {
            column[rows + i] -= r->term[CS_LEFT][j] * r->term[CS_RIGHT][i];
        }
        column[j] = -shift;
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

static cs_status count_above(counting *c, double tau, tally *out)
{
    tally t = {0};
    double shift = c->augmented ? tau : tau * tau;
    double sums =
        c->augmented ? 0 : ((double)c->longest + 4) * DBL_EPSILON * (c->norm * c->norm + shift);
    cs_status status = CS_OK;
    for (int64_t b = 0; status == CS_OK && b < c->r->count; ++b) {
        int64_t n = order_of(c->r, b, c->augmented), positive = 0;
        cs_dense m = {.rows = n, .cols = n, .ld = n, .data = c->work.data};
        double error = 0;
        cs_progress_report(c->options->progress, "inertia", b, c->r->count);
        status = cs_interrupt_check();
        if (status == CS_OK && c->augmented) {
            fill_augmented(c->r, b, shift, &m);
        } else if (status == CS_OK) {
            status = fill_gram(c, b, shift, &m);
        }
        if (status == CS_OK) status = cs_inertia(&m, &positive, &error);
        t.above += positive;
        t.error = fmax(t.error, error + sums);
    }
    double below = c->augmented ? tau - t.error : sqrt(fmax(0, shift - t.error));
    t.low = below - c->slack;
    t.high = (c->augmented ? tau + t.error : sqrt(shift + t.error)) + c->slack;
    *out = t;
    return status;
}

/* Where to count so that all within `error` of it lies above x (side 1) or below (side -1); at most
 * 0 where that is not distinguishable from 0. */
static double place(const counting *c, double x, double error, int side)
{
    double from = x + side * 2 * c->slack;
    if (c->augmented) {
        double tau = from + side * 2 * error;
        return tau > 2 * error + c->slack ? tau : 0;
    }
    double square = from > 0 ? from * from + side * 2 * error : 0;
    return square > 2 * error && sqrt(square - error) > c->slack ? sqrt(square) : 0;
}

static double expected_error(const counting *c)
{
    double size = c->augmented ? c->norm : c->norm * c->norm;
    double sums = c->augmented ? 0 : (double)c->longest + 4;
    return DBL_EPSILON * size * (sums + (2 * (double)c->order + 200) * USUAL_GROWTH);
}

/* The j-th singular value of Abar, from 1, is at least this. */
static double at_least(const counting *c, const cs_spectrum *s, int64_t j)
{
    return (sqrt(1 - c->departure) * s->sigma[j - 1] - c->rho) / sqrt(1 + c->departure);
}

/* A count below sigma_k; just below, or, when these are all values (`complete`), as near 0 and the
 * floor of what was computed as rounding lets it. out->high is infinite where it lets none. */
static cs_status count_below(counting *c, const cs_spectrum *s, bool complete, tally *out)
{
    double low = at_least(c, s, s->k), error = expected_error(c);
    cs_status status = CS_OK;
    *out = (tally){.high = INFINITY};
    for (int i = 0; i < ATTEMPTS && status == CS_OK; ++i) {
        double tau = place(c, low, error, -1);
        if (!(tau > 0)) {
            break;
        }
        double least = 2 * c->slack + (c->augmented ? 4 * error : sqrt(4 * error));
        tau = complete ? fmin(tau, fmax(least, 2 * s->solution.floor)) : tau;
        status = count_above(c, tau, out);
        if (out->high < low && out->low > 0) {
            return status;
        }
        error = 2 * out->error;
    }
    out->high = INFINITY;
    return status;
}

/* The number of returned values that a count of this error separates from sigma_k; *tau lies
 * between them and sigma_k. */
static int64_t above_cluster(const counting *c, const cs_spectrum *s, double error, double *tau)
{
    int64_t j = s->k - 1;
    for (;; --j) {
        *tau = place(c, s->sigma[j] + c->worst, error, 1);
        if (j == 0 || place(c, at_least(c, s, j), error, -1) >= *tau) {
            return j;
        }
    }
}

/* More values exceed the first tau than are known: are any missing above the last cluster? */
static cs_status count_cluster(counting *c, const tally *below, cs_spectrum *s)
{
    cs_certificate *out = &s->cert.inertia;
    double error = fmax(expected_error(c), 2 * below->error);
    cs_status status = CS_OK;
    for (int i = 0; i < ATTEMPTS && status == CS_OK; ++i) {
        double tau = 0;
        tally t;
        int64_t j = above_cluster(c, s, error, &tau);
        status = count_above(c, tau, &t);
        if (status != CS_OK) return status;
        bool apart = t.low > s->sigma[j] + c->worst && (j == 0 || t.high < at_least(c, s, j));
        if (apart && t.above != j) {
            out->value = (double)t.above;
            out->bound = (double)j;
            cs_certificate_why(
                out, CS_CERT_FAILED,
                "%lld singular values exceed %.9g, and %lld of the returned values do",
                (long long)t.above, cs_stage_value(s, t.low), (long long)j);
            return CS_OK;
        }
        if (apart) {
            out->reach = t.high;
            cs_certificate_why(
                out, CS_CERT_INCONCLUSIVE,
                "%lld singular values exceed %.9g: the last %lld of the %lld are not all values "
                "equal to sigma_k, but no larger value is missing; request %lld",
                (long long)below->above, cs_stage_value(s, below->low), (long long)(s->k - j),
                (long long)s->k, (long long)below->above);
            return CS_OK;
        }
        error = 2 * fmax(error, t.error);
    }
    cs_certificate_why(
        out, CS_CERT_INCONCLUSIVE,
        "more than %lld singular values exceed %.9g, and no gap above is wide enough for a count",
        (long long)s->k, cs_stage_value(s, below->low));
    return status;
}

/* --- limits ----------------------------------------------------------------------------------- */

/* Multiply-adds of one count. */
static double work_of(const cs_reduction *r, bool augmented)
{
    double work = 0;
    for (int64_t b = 0; b < r->count; ++b) {
        work += pow((double)order_of(r, b, augmented), 3) / 6;
        cs_side larger = smaller_side(r, b) == CS_LEFT ? CS_RIGHT : CS_LEFT;
        const cs_csr *across = larger == CS_RIGHT ? &r->at : &r->a;
        const int64_t *start = r->side[larger].start;
        for (int64_t i = start[b]; !augmented && i < start[b + 1]; ++i) {
            double n = (double)(across->ptr[i + 1] - across->ptr[i]);
            work += n * (n + 1) / 2;
        }
    }
    return work;
}

/* Whether the matrices are within the limits; the certificate says why not. */
static bool fits(counting *c, cs_certificate *out)
{
    const cs_reduction *r = c->r;
    int64_t largest = 0;
    for (int64_t b = 1; b < r->count; ++b) {
        bool larger = order_of(r, b, c->augmented) > order_of(r, largest, c->augmented);
        largest = larger ? b : largest;
    }
    c->order = order_of(r, largest, c->augmented);
    double bytes = 8 * (double)c->order * (double)c->order, work = work_of(r, c->augmented);
    double half = (double)cs_mem_available() / 2;
    if (c->order > CS_INERTIA_ORDER) {
        cs_certificate_why(out, CS_CERT_NOT_RUN,
                           "a component of %lld x %lld needs a matrix of order %lld (%.3g GB), "
                           "above the limit of %d",
                           (long long)cs_block_size(r, CS_LEFT, largest),
                           (long long)cs_block_size(r, CS_RIGHT, largest), (long long)c->order,
                           bytes / 1e9, CS_INERTIA_ORDER);
        return false;
    }
    if (work > CS_INERTIA_WORK) {
        cs_certificate_why(out, CS_CERT_NOT_RUN,
                           "a count needs %.2g multiply-adds, above the limit of %.2g", work,
                           CS_INERTIA_WORK);
        return false;
    }
    if (half > 0 && bytes > half) {
        cs_certificate_why(
            out, CS_CERT_NOT_RUN,
            "a matrix of order %lld needs %.3g GB, above half of the free memory, %.3g GB",
            (long long)c->order, bytes / 1e9, half / 1e9);
        return false;
    }
    return true;
}

static cs_status make_space(counting *c)
{
    cs_dense_free(&c->work);
    return cs_dense_init(&c->work, c->order, c->order);
}

static cs_status known_of(const cs_reduction *r, cs_spectrum *s, counting *c)
{
    double sum = 0;
    cs_status status = cs_spectrum_departure(r, s, &c->departure);
    s->solution.departure = c->departure;
    for (int64_t j = 0; j < s->k; ++j) {
        sum += s->residual[j] * s->residual[j];
        c->worst = s->residual[j] <= c->worst ? c->worst : s->residual[j];
    }
    c->rho = sqrt(sum);
    return status;
}

/* --- the certificate -------------------------------------------------------------------------- */

static cs_status count_values(counting *c, const cs_certificate_facts *facts, cs_spectrum *s)
{
    cs_certificate *out = &s->cert.inertia;
    tally t = {0};
    cs_status status = make_space(c);
    if (status == CS_OK) status = count_below(c, s, facts->complete, &t);
    cs_certificate larger = {0};
    if (status == CS_OK && !isfinite(t.high)) {
        c->augmented = true;
        if (fits(c, &larger)) {
            status = make_space(c);
            if (status == CS_OK) status = count_below(c, s, facts->complete, &t);
        }
    }
    if (status != CS_OK) return status;
    if (!isfinite(t.high)) {
        cs_certificate_why(out, CS_CERT_INCONCLUSIVE,
                           "rounding hides values below sigma_k = %.3g%s%s",
                           ldexp(s->sigma[s->k - 1], s->solution.exponent),
                           larger.why[0] ? "; without squares: " : "", larger.why);
        return CS_OK;
    }
    out->value = (double)t.above;
    out->reach = t.high;
    if (t.above == s->k) {
        out->state = CS_CERT_PASSED;
        return CS_OK;
    }
    out->reach = NAN;
    if (t.above < s->k || (facts->complete && t.low > s->solution.floor)) {
        cs_certificate_why(
            out, CS_CERT_FAILED, "%lld singular values exceed %.9g, and %lld were returned%s",
            (long long)t.above, ldexp(t.above < s->k ? t.high : t.low, s->solution.exponent),
            (long long)s->k, facts->complete ? " as all of them" : "");
        return CS_OK;
    }
    return count_cluster(c, &t, s);
}

static cs_status certify(counting *c, const cs_certificate_facts *facts, cs_spectrum *s)
{
    const cs_reduction *r = c->r;
    cs_certificate *out = &s->cert.inertia;
    cs_status status = known_of(r, s, c);
    if (status != CS_OK) return status;
    if (!(c->departure < 0.5)) {
        cs_certificate_why(out, CS_CERT_FAILED,
                           "the vectors are not orthonormal, by %.3g: these are not %lld values",
                           c->departure, (long long)s->k);
        return CS_OK;
    }
    if (s->k == facts->rank) {
        out->value = (double)facts->rank;
        out->reach = 0;
        cs_certificate_why(out, CS_CERT_PASSED,
                           "no count: the matrix has only %lld values, and all were computed",
                           (long long)facts->rank);
        return CS_OK;
    }
    status = cs_reduction_bound(r, &c->norm);
    c->slack = r->shared ? 0 : CS_LUMPED * c->norm;
    c->longest = facts->longest;
    return status ? status : count_values(c, facts, s);
}

cs_status cs_spectrum_inertia(const cs_system *system, const cs_spectrum_options *options,
                              const cs_certificate_facts *facts, cs_spectrum *s)
{
    counting c = {.r = &system->reduced, .options = options};
    cs_certificate *out = &s->cert.inertia;
    *out = (cs_certificate){.reach = NAN, .bound = (double)s->k};
    if (s->k == 0 || !s->u.data || !s->v.data) {
        cs_certificate_why(out, CS_CERT_NOT_RUN, "%s",
                           s->k == 0 ? "no triplet was computed"
                                     : "the vectors exceed half of the free memory");
        return CS_OK;
    }
    if (!fits(&c, out)) {
        return CS_OK;
    }
    cs_threads_blas_hold(true); /* its bits depend on its threads */
    cs_status status = certify(&c, facts, s);
    cs_threads_blas_hold(false);
    cs_dense_free(&c.work);
    return status;
}

double cs_inertia_bytes(double sides, double nnz)
{
    /* Four matrices; of each row and column its pointers, masses, component, place, list and lift,
     * and what the lumping takes for them and their entries while it works. */
    return 4 * 12 * nnz + 16 * nnz + 200 * sides;
}

cs_status cs_certificate_inertia(const cs_csr *abar, const cs_spectrum_options *options,
                                 const cs_certificate_facts *facts, cs_spectrum *s)
{
    cs_spectrum_options as_it_is = *options;
    CS_AUTO(cs_system) system = {0};
    as_it_is.normalised = true;
    cs_status status = cs_system_of(abar, &as_it_is, true, &system);
    if (status == CS_OK) {
        cs_certificate_facts here = cs_reduction_facts(&system.reduced);
        here.complete = facts->complete;
        status = cs_spectrum_inertia(&system, options, &here, s);
    }
    return status;
}
