/* A batch into the index and input tensors of a run. Tensors that a network does not have
 * (positions without a table, targets without a loss) are passed by. */
#include <inttypes.h>
#include <string.h>

#include "train/batch.h"

static void copy(cs_run *run, int tensor, const int32_t *from, int64_t count)
{
    if (tensor != CS_NONE && from) {
        memcpy(cs_run_index(run, tensor), from, (size_t)count * sizeof *from);
    }
}

static cs_status set_rows(const cs_batch *batch, const cs_network *n, cs_run *run)
{
    cs_status status = cs_run_rows(run, n->rows, batch->batch, batch->length);
    if (status == CS_OK && n->query_rows != CS_NONE) {
        status = cs_run_rows(run, n->query_rows, batch->batch, batch->queries);
    }
    if (status == CS_OK && n->decoder_rows != CS_NONE) {
        status = cs_run_rows(run, n->decoder_rows, batch->batch, batch->decoder_length);
    }
    if (status == CS_OK && n->loss_rows != CS_NONE) {
        bool texts = n->options.classify;
        status = cs_run_rows(run, n->loss_rows, texts ? batch->predictions : 1,
                             texts ? 1 : batch->predictions);
    }
    return status;
}

static void copy_indices(const cs_batch *batch, const cs_network *n, cs_run *run)
{
    int64_t rows = batch->batch * batch->length, queries = batch->batch * batch->queries;
    int64_t decoder = batch->batch * batch->decoder_length;
    copy(run, n->token, batch->token, rows);
    copy(run, n->position, batch->position, rows);
    copy(run, n->vis, batch->vis, rows);
    copy(run, n->lim, batch->lim, rows);
    copy(run, n->type, batch->type, rows);
    copy(run, n->readout_lim, batch->readout_lim, batch->predictions);
    copy(run, n->query_position, batch->query_position, queries);
    copy(run, n->query_lim, batch->query_lim, queries);
    copy(run, n->decoder_from, batch->decoder_from, decoder);
    copy(run, n->decoder_token, batch->decoder_token, decoder);
    copy(run, n->decoder_position, batch->decoder_position, decoder);
    copy(run, n->decoder_vis, batch->decoder_vis, decoder);
    copy(run, n->decoder_lim, batch->decoder_lim, decoder);
    copy(run, n->decoder_cross_lim, batch->decoder_cross_lim, decoder);
    copy(run, n->predict, batch->predict, batch->predictions);
    copy(run, n->target, batch->target, batch->predictions);
}

cs_status cs_batch_load(const cs_batch *batch, const cs_network *network, double scale,
                        const double *mass, cs_run_key key, cs_run *run)
{
    if (batch->form != network->options.form) {
        return cs_fail(CS_ERR_USAGE, "a batch of form %d for a network of form %d",
                       (int)batch->form, (int)network->options.form);
    }
    if (network->mass != CS_NONE && !mass) {
        return cs_fail(CS_ERR_USAGE, "the spectral loss needs the masses of the targets");
    }
    cs_status status = set_rows(batch, network, run);
    if (status != CS_OK) {
        return status;
    }
    copy_indices(batch, network, run);
    for (int64_t r = 0; r < batch->predictions && network->weight != CS_NONE; ++r) {
        cs_run_input(run, network->weight, r, 0, batch->weight[r] * scale);
    }
    for (int64_t r = 0; r < batch->predictions && network->goal != CS_NONE; ++r) {
        cs_run_input(run, network->goal, r, 0, batch->goal[r]);
    }
    int64_t classes = network->mass == CS_NONE ? 0 : network->graph.tensor[network->mass].cols;
    for (int64_t j = 0; j < classes; ++j) {
        cs_run_input(run, network->mass, 0, j, mass[j]);
    }
    return cs_run_upload(run, key);
}
