/* Delete-block jackknife over documents (Quenouille 1949, Tukey 1958; blocks because documents, not
 * tokens, are independent). */
#include "analysis/jackknife.h"

#include <math.h>

#include "analysis/connectivity.h"
#include "base/mem.h"
#include "base/rng.h"

double cs_jackknife_error(int64_t count, const double *theta, int64_t stride)
{
    double mean = 0.0, square = 0.0;
    for (int64_t b = 0; b < count; ++b) {
        mean += (theta[b * stride] - theta[0]) / (double)count;
    }
    for (int64_t b = 0; b < count; ++b) {
        double off = theta[b * stride] - theta[0] - mean;
        square += off * off;
    }
    return count > 1 && isfinite(mean) ? sqrt((double)(count - 1) / (double)count * square)
                                       : (double)NAN;
}

/* The corpus without the documents of one block. */
static cs_status without_block(const cs_corpus *corpus, int64_t blocks, uint64_t seed,
                               int64_t block, cs_corpus *out)
{
    uint8_t *keep = cs_alloc(corpus->documents, 1);
    if (!keep) {
        return CS_ERR_MEMORY;
    }
    for (int64_t d = 0; d < corpus->documents; ++d) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_SPLIT, (uint64_t)d);
        keep[d] = cs_rng_below(&rng, blocks) != block;
    }
    cs_status status = cs_corpus_select(corpus, keep, out);
    cs_free(keep);
    return status;
}

cs_status cs_jackknife(const cs_corpus *corpus, int64_t blocks, uint64_t seed,
                       const cs_corpus_metrics *metrics, double *value, double *standard_error)
{
    if (blocks < 2 || blocks > corpus->documents) {
        return cs_fail(CS_ERR_USAGE, "%lld jackknife blocks: want 2 to %lld (the documents)",
                       (long long)blocks, (long long)corpus->documents);
    }
    int64_t count = metrics->count;
    double *left_out = cs_alloc(blocks * count, sizeof *left_out);
    if (!left_out) {
        return CS_ERR_MEMORY;
    }
    cs_status status = value ? metrics->measure(metrics->ctx, corpus, value) : CS_OK;
    for (int64_t b = 0; b < blocks && status == CS_OK; ++b) {
        cs_corpus part = {0};
        if ((status = without_block(corpus, blocks, seed, b, &part)) == CS_OK) {
            status = metrics->measure(metrics->ctx, &part, left_out + b * count);
        }
        cs_corpus_free(&part);
    }
    for (int64_t j = 0; j < count && status == CS_OK; ++j) {
        standard_error[j] = cs_jackknife_error(blocks, left_out + j, count);
    }
    cs_free(left_out);
    return status;
}
