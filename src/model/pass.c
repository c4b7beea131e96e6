#include "model/pass.h"

#include <string.h>

#include "base/ints.h"

cs_status cs_pass_open(cs_model *model, const cs_network_options *sizes, cs_pass *out)
{
    out->model = model;
    out->sizes = *sizes;
    out->fixed = model->params.backend->asynchronous;
    cs_status status = cs_network_build(model, sizes, &out->network);
    return status == CS_OK ? cs_run_init(&out->network.graph, &model->params, &out->run) : status;
}

void cs_pass_close(cs_pass *pass)
{
    cs_run_free(&pass->run);
    cs_network_free(&pass->network);
    cs_batch_free(&pass->batch);
    memset(pass, 0, sizeof *pass);
}

cs_status cs_pass_begin(cs_pass *pass, int64_t batch, int64_t length, int64_t predictions)
{
    cs_network_options now = pass->sizes;
    if (!pass->fixed) {
        now.batch = batch;
        now.length = length;
        now.queries = cs_least(length, now.queries);
        now.decoder_length = cs_least(length, now.decoder_length);
        now.predictions = predictions;
    }
    return cs_batch_shape(&now, &pass->model->config, &pass->batch);
}

cs_status cs_pass_forward(cs_pass *pass, double scale, cs_run_key key)
{
    cs_status status = cs_batch_load(&pass->batch, &pass->network, scale, NULL, key, pass->run);
    return status == CS_OK ? cs_run_forward(pass->run) : status;
}
