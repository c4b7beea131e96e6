/* Sums over the spectrum of a matrix that is dealt out.
 *
 * sum sigma^4 = ||Abar^T Abar||_F^2 exactly: the Gram matrix of the smaller side is a sum over the
 * ranks, so its squares can be taken only after the sum. A block of its rows at a time, lower
 * triangle, every rank adds its part, the ranks sum, and each squares its slice.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated.h"
#include "cooc/moments.h"
#include "mpi/ranked.h"

enum { BLOCK_ENTRIES = 1 << 21 };

static cs_status sum_squares(cs_ranked *r, double *out)
{
    double sum = 0, lost = 0;
    for (int64_t e = 0; e < cs_csr_nnz(&r->a); ++e) {
        cs_add_compensated(&sum, &lost, r->a.val[e] * r->a.val[e]);
    }
    *out = sum + lost;
    return cs_comm_sum(r->comm, 1, out);
}

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
static cs_status gram_row(void *ctx, int64_t item, int worker)
{
    (void)worker;
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
    double *part = cs_alloc(BLOCK_ENTRIES > r->width ? BLOCK_ENTRIES : r->width, sizeof *part);
    double *mine = cs_alloc((BLOCK_ENTRIES > r->width ? BLOCK_ENTRIES : r->width), sizeof *mine);
    cs_status status = part && mine ? CS_OK : CS_ERR_MEMORY;
    for (int64_t first = 0, count = 0; first < r->width && status == CS_OK; first += count) {
        int64_t begin = 0, entries = 0;
        count = BLOCK_ENTRIES / r->width > 0 ? BLOCK_ENTRIES / r->width : 1;
        count = count < r->width - first ? count : r->width - first;
        gram_job g = {.r = r, .first = first, .stride = first + count, .part = part};
        status = cs_parallel(count, r->threads, gram_row, &g);
        status = status ? status : cs_comm_scatter_sum(r->comm, count * g.stride, 1, part, mine);
        cs_comm_slice(r->comm, r->comm->rank, count * g.stride, &begin, &entries);
        for (int64_t e = 0; e < entries && status == CS_OK; ++e) {
            int64_t j = first + (begin + e) / g.stride, l = (begin + e) % g.stride;
            cs_add_compensated(&sum, &lost, (l < j ? 2 : 1) * mine[e] * mine[e]);
        }
        cs_progress_report(progress, "fourth moment", first + count, r->width);
    }
    *out = sum + lost;
    cs_free(part);
    cs_free(mine);
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
    return cs_moment4_estimate_over(&a, &sampling, &s->sum4);
}

cs_status cs_ranked_moments(cs_ranked *r, const cs_spectrum_options *options, const cs_dense *v,
                            cs_spectrum *s)
{
    double numbers = (double)r->width * (double)r->width / 2;
    double budget = options->moment4_budget > 0 ? options->moment4_budget : CS_MOMENT4_BUDGET;
    bool deflated = r->deflated;
    r->deflated = false; /* sums are of Abar itself */
    s->sum4 = cs_sum4_exact(NAN, 0);
    cs_status status = sum_squares(r, &s->sum_sigma2);
    if (status == CS_OK && options->moment4) {
        status = gram_cost(r, &s->sum_sigma4_cost);
        bool exact = s->sum_sigma4_cost <= budget && numbers <= budget;
        double sum = 0;
        status = status  ? status
                 : exact ? exact4(r, options->progress, &sum)
                         : estimate4(r, options, v, s);
        s->sum4 = exact ? cs_sum4_exact(sum, s->sum_sigma4_cost) : s->sum4;
    }
    s->sum_sigma4 = s->sum4.value;
    s->sum_sigma4_error = s->sum4.error;
    r->deflated = deflated;
    return status;
}
