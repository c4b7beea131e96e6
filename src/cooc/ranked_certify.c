/* Certificates of a spectrum whose vectors are shared out: what they take of the matrix is found
 * over the ranks, and decided as in one process.
 *
 * sum sigma^4 = ||Abar^T Abar||_F^2 exactly: the Gram matrix of the smaller side is a sum over the
 * ranks, so its squares can be taken only after the sum. A block of its rows at a time, lower
 * triangle, every rank adds its part, the ranks sum, and each squares its slice.
 *
 * The inertia certificate over a group: it factors matrices of the order of a component, which only
 * one process that has the whole of Abar can make. Where the memory of rank 0 allows that, the
 * parts are brought there, and what one process would do is done there while the others wait.
 *
 * Whether every component of a matrix that came normalised has a singular value 1.
 *
 * Method. Components have no common entries, so one vector carries a Lanczos run on A^T A for each
 * of them, with inner products by component. Started from positive entries, which no largest
 * singular vector of a non-negative matrix is orthogonal to, the largest eigenvalue of the
 * tridiagonal matrix T_j climbs to sigma_1^2 from below. By Sylvester's law it has reached t when
 * the recurrence of the pivots of T_j - t I,
 *
 *   d_1 = alpha_1 - t,   d_j = alpha_j - t - beta_{j-1}^2 / d_{j-1},
 *
 * leaves the negative numbers; so nothing of T is kept. Lost orthogonality repeats eigenvalues and
 * makes none (Paige, Linear Algebra Appl. 34, 1980).
 *
 * Limits: a component that has not reached it within STEPS products counts as one without: values
 * that crowd just below 1 - 1e-9 can need more. */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated_private.h"
#include "cooc/moments.h"
#include "cooc/ranked.h"
#include "cooc/reduce.h"

enum { STEPS = 300 };
static const double LEAST = 1 - 1e-9; /* singular value */

typedef struct {
    cs_ranked *r;
    double *now, *before, *next;    /* slice */
    double *left;                   /* held */
    double *along, *square, *pivot; /* by component: alpha, beta^2, d */
    bool *reached;
    int64_t left_over; /* components that have not */
} run;

/* out[c] = <x, y> over the columns of component c. */
static void inner_products(const run *l, const double *x, const double *y, double *out)
{
    const int64_t *part = l->r->short_part + l->r->first;
    memset(out, 0, (size_t)l->r->components * sizeof *out);
    for (int64_t i = 0; i < l->r->slice; ++i) {
        if (part[i] >= 0) {
            out[part[i]] += x[i] * y[i];
        }
    }
    cs_comm_sum(l->r->comm, l->r->components, out);
}

/* `next` becomes the unit vectors of the components that go on; false: one of them has come to its
 * end below. */
static bool normalise(run *l)
{
    const int64_t *part = l->r->short_part + l->r->first;
    const double end = ldexp(1e-28, -4 * l->r->exponent);
    for (int64_t c = 0; c < l->r->components; ++c) {
        if (!l->reached[c] && !(l->square[c] > end)) {
            return false;
        }
    }
    for (int64_t i = 0; i < l->r->slice; ++i) {
        bool goes_on = part[i] >= 0 && !l->reached[part[i]];
        l->next[i] = goes_on ? l->next[i] / sqrt(l->square[part[i]]) : 0;
    }
    return true;
}

/* One step of all runs; `square` is the last beta^2, 0 at first. */
static cs_status step(run *l)
{
    const int64_t *part = l->r->short_part + l->r->first;
    const double least = ldexp(LEAST * LEAST, -2 * l->r->exponent);
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) status = cs_ranked_forward(l->r, 1, l->now, l->left);
    if (status == CS_OK) status = cs_ranked_backward(l->r, 1, l->left, l->next);
    if (status != CS_OK) return status;
    inner_products(l, l->now, l->next, l->along);
    for (int64_t c = 0; c < l->r->components; ++c) {
        if (!l->reached[c]) {
            double from = l->square[c] > 0 ? l->square[c] / l->pivot[c] : 0;
            l->pivot[c] = l->along[c] - least - from;
            l->reached[c] = !(l->pivot[c] < 0);
            l->left_over -= l->reached[c];
        }
    }
    for (int64_t i = 0; i < l->r->slice; ++i) {
        if (part[i] >= 0) {
            double beta = sqrt(l->square[part[i]]);
            l->next[i] -= l->along[part[i]] * l->now[i] + beta * l->before[i];
        }
    }
    inner_products(l, l->next, l->next, l->square);
    return CS_OK;
}

static cs_status run_all(run *l, bool *all)
{
    const int64_t *part = l->r->short_part + l->r->first;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < l->r->slice; ++i) {
        l->next[i] = part[i] >= 0;
    }
    l->left_over = l->r->components;
    inner_products(l, l->next, l->next, l->square);
    *all = normalise(l);
    memset(l->square, 0, (size_t)l->r->components * sizeof *l->square);
    for (int j = 0; status == CS_OK && *all && l->left_over > 0; ++j) {
        double *oldest = l->before;
        l->before = l->now;
        l->now = l->next;
        l->next = oldest;
        status = step(l);
        *all = status == CS_OK && j + 1 < STEPS && normalise(l);
    }
    *all = *all && l->left_over == 0;
    return status;
}

/* Whether the largest singular value of every component of a normalised input is 1 to 1e-9;
 * `largest` is the largest of all. False with a negative entry, and if it is not reached within 300
 * products. Collective; all ranks receive the same. Memory: 3 slices, `held` and 3 values a
 * component. CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
static cs_status ranked_perron(cs_ranked *r, double largest, bool *out)
{
    double negative = 0; /* ranks that have such an entry */
    cs_status status = CS_OK;
    *out = fabs(ldexp(largest, r->exponent) - 1) <= 1 - LEAST;
    if (*out) {
        negative = cs_csr_entries_of(&r->a).negative;
        cs_comm_sum(r->comm, 1, &negative);
    }
    *out = *out && negative == 0;
    if (status != CS_OK || !*out || r->components == 1) return status;
    CS_AUTO(cs_pool) pool = {0};
    run l = {.r = r,
             .now = cs_pool_take(&pool, r->slice, sizeof *l.now),
             .before = cs_pool_take(&pool, r->slice, sizeof *l.before),
             .next = cs_pool_take(&pool, r->slice, sizeof *l.next),
             .left = cs_pool_take(&pool, r->held, sizeof *l.left),
             .along = cs_pool_take(&pool, r->components, sizeof *l.along),
             .square = cs_pool_take(&pool, r->components, sizeof *l.square),
             .pivot = cs_pool_take(&pool, r->components, sizeof *l.pivot),
             .reached = cs_pool_take(&pool, r->components, sizeof *l.reached)};
    return pool.status ? pool.status : run_all(&l, out);
}

typedef struct {
    int64_t rows, nnz;
} part_size;

/* Allocates, on rank 0, the whole matrix and the largest part. */
static cs_status make_space(cs_comm *c, const part_size *size, const cs_ranked *r, cs_csr *whole,
                            cs_csr *part)
{
    part_size sum = {0}, most = {0};
    for (int p = 0; p < c->ranks; ++p) {
        sum.nnz += size[p].nnz;
        most.rows = cs_most(most.rows, size[p].rows);
        most.nnz = cs_most(most.nnz, size[p].nnz);
    }
    cs_status status = c->rank == 0 ? cs_csr_init(whole, r->length, r->width, sum.nnz) : CS_OK;
    status = status || c->rank > 0 ? status : cs_csr_init(part, most.rows, r->width, most.nnz);
    return cs_comm_agree(c, status);
}

/* The lengths of a rank's rows, then, once `whole->ptr` is known, their entries. index: the places
 * of the `rows` rows. */
static void place_lengths(int64_t rows, const int64_t *index, const cs_csr *part, cs_csr *whole)
{
    for (int64_t i = 0; i < rows; ++i) {
        whole->ptr[index[i] + 1] = part->ptr[i + 1] - part->ptr[i];
    }
}

static void place_entries(int64_t rows, const int64_t *index, const cs_csr *part, cs_csr *whole)
{
    for (int64_t i = 0, from = 0; i < rows; ++i) {
        int64_t to = whole->ptr[index[i]], n = whole->ptr[index[i] + 1] - to;
        memcpy(whole->col + to, part->col + from, (size_t)n * sizeof *whole->col);
        memcpy(whole->val + to, part->val + from, (size_t)n * sizeof *whole->val);
        from += n;
    }
}

/* length x width on rank 0, nothing elsewhere. Collective; all return the same. */
static cs_status gather_matrix(const cs_ranked *r, const int64_t *index, cs_csr *whole)
{
    cs_comm *c = r->comm;
    const part_size mine = {r->a.rows, cs_csr_nnz(&r->a)};
    CS_AUTO(cs_csr) part = {0};
    CS_AUTO(cs_pool) pool = {0};
    int64_t *place = NULL;
    part_size *size = cs_pool_take(&pool, c->ranks, sizeof *size);
    cs_status status = cs_comm_agree(c, pool.status);
    if (status == CS_OK) {
        cs_comm_gather_each(c, sizeof mine, &mine, size);
        status = make_space(c, size, r, whole, &part);
    }
    if (status == CS_OK) {
        place = cs_pool_take(&pool, part.rows, sizeof *place);
        status = cs_comm_agree(c, pool.status);
    }
    for (int p = 0; status == CS_OK && p < c->ranks; ++p) {
        cs_comm_bring(c, p, index, place, size[p].rows * (int64_t)sizeof *place);
        cs_comm_bring(c, p, r->a.ptr, part.ptr, (size[p].rows + 1) * (int64_t)sizeof *part.ptr);
        if (c->rank == 0) {
            place_lengths(size[p].rows, place, &part, whole);
        }
    }
    if (status == CS_OK && c->rank == 0) cs_starts(whole->rows, whole->ptr);
    for (int p = 0; status == CS_OK && p < c->ranks; ++p) {
        cs_comm_bring(c, p, index, place, size[p].rows * (int64_t)sizeof *place);
        cs_comm_bring(c, p, r->a.col, part.col, size[p].nnz * (int64_t)sizeof *part.col);
        cs_comm_bring(c, p, r->a.val, part.val, size[p].nnz * (int64_t)sizeof *part.val);
        if (c->rank == 0) {
            place_entries(size[p].rows, place, &part, whole);
        }
    }
    return status;
}

bool cs_ranked_has_memory(const cs_ranked *r, cs_spectrum *s)
{
    cs_comm *c = r->comm;
    double sides = (double)r->length + (double)r->width, half = (double)cs_mem_available() / 2;
    double bytes =
        cs_inertia_bytes(sides, (double)r->nnz) + 24 * (double)r->nnz + 16 * (double)s->k * sides;
    bool fits = half <= 0 || bytes <= half; /* rank 0 decides */
    if (!fits) {
        cs_certificate_why(&s->cert.inertia, CS_CERT_NOT_RUN,
                           "rank 0 would have to store the whole matrix and its vectors, %.3g GB, "
                           "above half of its free memory, %.3g GB",
                           bytes / 1e9, half / 1e9);
    }
    cs_comm_spread(c, &fits, sizeof fits);
    cs_comm_spread(c, &s->cert.inertia, sizeof s->cert.inertia);
    return fits;
}

cs_status cs_ranked_inertia(const cs_ranked *r, const cs_shard *shard,
                            const cs_spectrum_options *options, const cs_certificate_facts *facts,
                            cs_spectrum *s)
{
    cs_comm *c = r->comm;
    cs_csr whole = {0}, turned = {0};
    cs_status status = gather_matrix(r, shard->index, &whole);
    if (status != CS_OK) {
        cs_csr_free(&whole);
        return status;
    }
    if (c->rank == 0 && shard->transposed) {
        status = cs_csr_transpose(&whole, &turned);
        cs_csr_free(&whole);
        whole = turned;
    }
    if (c->rank == 0 && status == CS_OK) status = cs_certificate_inertia(&whole, options, facts, s);
    cs_csr_free(&whole);
    status = cs_comm_agree(c, status);
    if (status == CS_OK) cs_comm_spread(c, &s->cert.inertia, sizeof s->cert.inertia);
    return status;
}

enum { BLOCK_ENTRIES = 1 << 20 };

/* --- exact ------------------------------------------------------------------------------------ */

typedef struct {
    const cs_ranked *r;
    int64_t first, stride; /* rows first.. of the Gram matrix, `stride` entries each */
    double *part;
} gram_job;

/* This rank's part of one row, columns up to the diagonal. */
static cs_status gram_row(void *ctx, int64_t item)
{
    const gram_job *g = ctx;
    const cs_csr *a = &g->r->a, *at = &g->r->at;
    int64_t j = g->first + item;
    double *row = g->part + item * g->stride;
    memset(row, 0, (size_t)g->stride * sizeof *row);
    for (int64_t p = at->ptr[j]; p < at->ptr[j + 1]; ++p) {
        int64_t i = at->col[p];
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1] && a->col[e] <= j; ++e) {
            row[a->col[e]] += at->val[p] * a->val[e];
        }
    }
    return CS_OK;
}

/* Rows of a block of the Gram matrix. */
static int64_t block_rows(int64_t width)
{
    return cs_least(cs_most(BLOCK_ENTRIES / cs_most(width, 1), 1), width);
}

static cs_status exact4(cs_ranked *r, const cs_progress *progress, double *out)
{
    double sum = 0, lost = 0;
    const int64_t rows = block_rows(r->width), size = rows * r->width;
    CS_AUTO(cs_pool) pool = {0};
    double *part = cs_pool_take(&pool, size, sizeof *part);
    double *mine = cs_pool_take(&pool, size / r->comm->ranks + 1, sizeof *mine);
    cs_status status = pool.status;
    for (int64_t first = 0, count = 0; first < r->width && status == CS_OK; first += count) {
        int64_t begin = 0, entries = 0;
        count = cs_least(rows, r->width - first);
        gram_job g = {.r = r, .first = first, .stride = first + count, .part = part};
        status = cs_parallel(count, r->threads, gram_row, &g);
        if (status == CS_OK) cs_comm_scatter_sum(r->comm, count * g.stride, 1, part, mine);
        cs_comm_slice(r->comm, r->comm->rank, count * g.stride, &begin, &entries);
        for (int64_t e = 0; e < entries && status == CS_OK; ++e) {
            int64_t j = first + (begin + e) / g.stride, l = (begin + e) % g.stride;
            cs_add_compensated(&sum, &lost, (l < j ? 2 : 1) * mine[e] * mine[e]);
        }
        cs_progress_report(progress, "fourth moment", first + count, r->width);
    }
    *out = sum + lost;
    if (status == CS_OK) cs_comm_sum(r->comm, 1, out);
    return status;
}

/* --- estimate --------------------------------------------------------------------------------- */

static cs_moment4_sampling sampling_of(const cs_spectrum_options *o)
{
    return (cs_moment4_sampling){.samples = CS_MOMENT4_SAMPLES,
                                 .sketch = CS_MOMENT4_SKETCH,
                                 .seed = o->seed,
                                 .threads = o->threads,
                                 .progress = o->progress};
}

static cs_status estimate4(cs_ranked *r, const cs_spectrum_options *o, const cs_dense *v,
                           cs_spectrum *s)
{
    const cs_moment4_operator a = {
        .op = &r->op, .comm = r->comm, .cols = r->width, .nnz = (double)r->nnz};
    cs_moment4_sampling sampling = sampling_of(o);
    sampling.v = v;
    sampling.sigma = s->sigma;
    return cs_moment4_estimate_over(&a, &sampling, &s->moments.sum4);
}

/* Multiply-adds, or numbers of the Gram matrix of the smaller side, whichever are more. */
static double exact_cost(int64_t width, double gram_cost)
{
    return fmax(gram_cost, (double)width * (double)width / 2);
}

/* sum sigma^2 and, if the options ask for it, sum sigma^4. It is exact by blocks of the smaller
 * side's Gram matrix (width^2 / 2 numbers of a block are summed over the ranks), where neither its
 * multiply-adds nor these numbers pass the budget; else by cs_moment4_estimate_over with the known
 * triplets (s->sigma, `v` slice x k) taken out. */
static cs_status sum_moments(cs_ranked *r, const cs_spectrum_options *options,
                             const cs_certificate_facts *facts, const cs_dense *v, cs_spectrum *s)
{
    bool deflated = r->deflated;
    r->deflated = false; /* sums are of Abar itself */
    s->moments.sum4 = cs_sum4_exact(NAN, 0);
    s->moments.sum_sigma2 = cs_moment2(&r->a);
    cs_status status = CS_OK;
    cs_comm_sum(r->comm, 1, &s->moments.sum_sigma2);
    if (options->moment4) {
        s->moments.sum_sigma4_cost = cs_ranked_gram_cost(r->comm, &r->a);
        double cost = exact_cost(r->width, s->moments.sum_sigma4_cost), sum = 0;
        if (!cs_moment4_exact(options, facts, cost, s)) status = estimate4(r, options, v, s);
        if (status == CS_OK && cs_moment4_exact(options, facts, cost, s)) {
            status = exact4(r, options->progress, &sum);
            s->moments.sum4 = cs_sum4_exact(sum, s->moments.sum_sigma4_cost);
        }
    }
    s->moments.sum_sigma4 = s->moments.sum4.value;
    s->moments.sum_sigma4_error = s->moments.sum4.error;
    r->deflated = deflated;
    return status;
}

/* --- certificates ----------------------------------------------------------------------------- */

/* Most entries of a row or a column, of all. */
static cs_status longest_line(cs_ranked *r, int64_t *out)
{
    CS_AUTO_FREE double *column = cs_alloc(r->width, sizeof *column);
    cs_status status = column ? CS_OK : CS_ERR_MEMORY;
    int64_t most = 0;
    for (int64_t i = 0; i < r->held; ++i) {
        most = r->a.ptr[i + 1] - r->a.ptr[i] > most ? r->a.ptr[i + 1] - r->a.ptr[i] : most;
    }
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        column[j] = (double)(r->at.ptr[j + 1] - r->at.ptr[j]);
    }
    if (status == CS_OK) cs_comm_sum(r->comm, r->width, column);
    if (status == CS_OK) *out = -cs_comm_least(r->comm, -most);
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        *out = cs_most(*out, (int64_t)column[j]);
    }
    return status;
}

cs_status cs_ranked_certify(cs_ranked *r, const cs_spectrum_options *o, cs_certificate_facts *facts,
                            cs_spectrum *s)
{
    cs_ranked_space space = {0};
    bool deflated = r->deflated;
    *facts =
        (cs_certificate_facts){.complete = s->rank >= 0, .perron = !o->normalised, .rank = r->rank};
    s->cert.probe_failure = 1;
    cs_status status = longest_line(r, &facts->longest);
    if (status == CS_OK) status = sum_moments(r, o, facts, &s->v, s);
    if (status == CS_OK && o->normalised && !o->no_reduction && s->k > 0)
        status = ranked_perron(r, s->sigma[0], &facts->perron);
    facts->probed =
        status == CS_OK && (o->certify & CS_CERTIFY_PROBE) && !facts->complete && s->k > 0;
    if (status == CS_OK && facts->probed) {
        r->deflated = false;
        status = cs_ranked_space_open(r, &space);
        status =
            status ? status : cs_svd_probe_space(&space.space, &s->v, 0, o->seed, &facts->probe);
        s->cert.probe_failure = status == CS_OK ? facts->probe.failure : 1;
        cs_space_cpu_free(&space.here);
        facts->probe.reach = CS_PROBE_RATIO * facts->probe.value;
    }
    r->deflated = deflated;
    if (status == CS_OK) cs_certificates_of(o, facts, s);
    return status;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Where few multiply-adds are used sparingly the sum is estimated, and then exact if it decides. */
static double moments_bytes(const cs_shard *shard, const cs_spectrum_options *o, int64_t k,
                            double held, double cost)
{
    const int64_t n = shard->width;
    const int ranks = shard->comm->ranks;
    const bool exact = cs_moment4_affordable(o, cost);
    const cs_moment4_sampling sampling = sampling_of(o);
    double bytes = 0;
    if (exact) {
        bytes = sizeof(double) * (double)block_rows(n) * (double)n * (1 + 1.0 / ranks);
    }
    if (!exact || (o->moment4_sparing && cost > CS_MOMENT4_CHEAP)) {
        bytes = fmax(bytes, cs_moment4_estimate_bytes(&sampling, n, k, held, (double)n / ranks));
    }
    return bytes;
}

double cs_ranked_certify_bytes(const cs_shard *shard, const cs_spectrum_options *o, int64_t k,
                               double held, double cost)
{
    const int64_t n = shard->width;
    double bytes = 0;
    if (o->moment4) {
        bytes = moments_bytes(shard, o, k, held, exact_cost(n, cost));
    }
    if ((o->certify & CS_CERTIFY_PROBE) && k < n) { /* else all triplets are known */
        bytes = fmax(bytes, cs_svd_probe_bytes(k, n, held, (double)n / shard->comm->ranks));
    }
    return bytes;
}
