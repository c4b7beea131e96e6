/* Sizes and memory of a decomposition over a group of processes that is not computed. */
#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/ranked.h"
#include "linalg/svd.h"

cs_status cs_ranked_estimate(const cs_shard *shard, const cs_spectrum_options *options,
                             cs_ranked_sizes *out)
{
    cs_comm *c = shard->comm;
    const cs_csr *a = &shard->a;
    const double n = (double)shard->width, nnz = (double)cs_csr_nnz(a), held = (double)a->rows;
    const int64_t k = options->k > 0 ? options->k : shard->width;
    const double slice = n / c->ranks, vectors = 8 * (double)k * (held + slice);
    CS_AUTO_FREE double *filled = cs_calloc(shard->width, sizeof *filled);
    if (!filled) return CS_ERR_MEMORY;
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        filled[a->col[e]] = 1;
    }
    out->moment4_cost = cs_ranked_gram_cost(c, a);
    /* While it is solved; with the results, their copy, which is freed but need not go back to the
     * system, and two panels for their residuals; with what the certificates take; and where rank 0
     * gathers the results. */
    double most = cs_svd_block_bytes(k, shard->width, options->solver_memory, held, slice);
    most = fmax(most, 2 * vectors + 16 * CS_PANEL * (held + slice));
    most =
        fmax(most, vectors + cs_ranked_certify_bytes(shard, options, k, held, out->moment4_cost));
    if (c->rank == 0 && !options->values_only) {
        most = fmax(most, vectors + 8 * (double)k * ((double)shard->length + n) + 24 * held);
    }
    const double bytes = 24 * nnz + 32 * held + 28 * n + 16 * CS_PANEL * n + most;
    double sums[2] = {nnz, held};
    cs_comm_sum(c, 2, sums);
    cs_comm_sum(c, shard->width, filled);
    out->nnz = (int64_t)sums[0];
    out->filled_rows = shard->transposed ? 0 : (int64_t)sums[1];
    out->rank_bytes = -(double)cs_comm_least(c, -(int64_t)bytes);
    for (int64_t j = 0; shard->transposed && j < shard->width; ++j) {
        out->filled_rows += filled[j] > 0;
    }
    return CS_OK;
}
