/* Delete-block jackknife over documents (Quenouille 1949, Tukey 1958; blocks because documents, not
 * tokens, are independent). */
#include "analysis/connectivity.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"

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
        double mean = 0.0, square = 0.0;
        for (int64_t b = 0; b < blocks; ++b) {
            mean += left_out[b * count + j] / (double)blocks;
        }
        for (int64_t b = 0; b < blocks; ++b) {
            double d = left_out[b * count + j] - mean;
            square += d * d;
        }
        standard_error[j] = sqrt((double)(blocks - 1) / (double)blocks * square);
    }
    cs_free(left_out);
    return status;
}
