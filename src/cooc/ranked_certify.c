/* Certificates of a spectrum whose vectors are shared out: what they take of the matrix is found
 * over the ranks, and decided as in one process. Inertia is in ranked_inertia.c.
 *
 * sum sigma^4 = ||Abar^T Abar||_F^2 exactly: the Gram matrix of the smaller side is a sum over the
 * ranks, so its squares can be taken only after the sum. A block of its rows at a time, lower
 * triangle, every rank adds its part, the ranks sum, and each squares its slice.
 */
#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated_private.h"
#include "cooc/moments.h"
#include "cooc/ranked.h"

enum { BLOCK_ENTRIES = 1 << 21 };

/* Multiply-adds of the lower triangle. */
static cs_status gram_cost(cs_ranked *r, double *out)
{
    *out = 0;
    for (int64_t i = 0; i < r->held; ++i) {
        double d = (double)(r->a.ptr[i + 1] - r->a.ptr[i]);
        *out += d * (d + 1) / 2;
    }
    return cs_comm_sum(r->comm, 1, out);
}

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

static cs_status exact4(cs_ranked *r, const cs_progress *progress, double *out)
{
    double sum = 0, lost = 0;
    const int64_t capacity = BLOCK_ENTRIES > r->width ? BLOCK_ENTRIES : r->width;
    cs_pool pool = {0};
    double *part = cs_pool_take(&pool, capacity, sizeof *part);
    double *mine = cs_pool_take(&pool, capacity, sizeof *mine);
    cs_status status = pool.status;
    for (int64_t first = 0, count = 0; first < r->width && status == CS_OK; first += count) {
        int64_t begin = 0, entries = 0;
        count = BLOCK_ENTRIES / r->width > 0 ? BLOCK_ENTRIES / r->width : 1;
        count = count < r->width - first ? count : r->width - first;
        gram_job g = {.r = r, .first = first, .stride = first + count, .part = part};
        status = cs_parallel(count, r->threads, gram_row, &g);
        if (status == CS_OK) status = cs_comm_scatter_sum(r->comm, count * g.stride, 1, part, mine);
        cs_comm_slice(r->comm, r->comm->rank, count * g.stride, &begin, &entries);
        for (int64_t e = 0; e < entries && status == CS_OK; ++e) {
            int64_t j = first + (begin + e) / g.stride, l = (begin + e) % g.stride;
            cs_add_compensated(&sum, &lost, (l < j ? 2 : 1) * mine[e] * mine[e]);
        }
        cs_progress_report(progress, "fourth moment", first + count, r->width);
    }
    *out = sum + lost;
    cs_pool_free(&pool);
    return status ? status : cs_comm_sum(r->comm, 1, out);
}

/* --- estimate --------------------------------------------------------------------------------- */

static cs_status estimate4(cs_ranked *r, const cs_spectrum_options *o, const cs_dense *v,
                           cs_spectrum *s)
{
    const cs_moment4_operator a = {
        .op = &r->op, .comm = r->comm, .cols = r->width, .nnz = (double)r->nnz};
    const cs_moment4_sampling sampling = {.samples = CS_MOMENT4_SAMPLES,
                                          .sketch = CS_MOMENT4_SKETCH,
                                          .seed = o->seed,
                                          .threads = o->threads,
                                          .v = v,
                                          .sigma = s->sigma,
                                          .progress = o->progress};
    return cs_moment4_estimate_over(&a, &sampling, &s->moments.sum4);
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
    cs_status status = cs_comm_sum(r->comm, 1, &s->moments.sum_sigma2);
    if (status == CS_OK && options->moment4) {
        status = gram_cost(r, &s->moments.sum_sigma4_cost);
        double numbers = (double)r->width * (double)r->width / 2, sum = 0;
        double cost = fmax(s->moments.sum_sigma4_cost, numbers);
        if (status == CS_OK && !cs_moment4_exact(options, facts, cost, s))
            status = estimate4(r, options, v, s);
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
    double *column = cs_alloc(r->width, sizeof *column);
    cs_status status = column ? CS_OK : CS_ERR_MEMORY;
    int64_t most = 0;
    for (int64_t i = 0; i < r->held; ++i) {
        most = r->a.ptr[i + 1] - r->a.ptr[i] > most ? r->a.ptr[i + 1] - r->a.ptr[i] : most;
    }
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        column[j] = (double)(r->at.ptr[j + 1] - r->at.ptr[j]);
    }
    if (status == CS_OK) status = cs_comm_sum(r->comm, r->width, column);
    if (status == CS_OK) status = cs_comm_least(r->comm, -most, out);
    *out = -*out;
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        *out = cs_most(*out, (int64_t)column[j]);
    }
    cs_free(column);
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
        status = cs_ranked_perron(r, s->sigma[0], &facts->perron);
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
