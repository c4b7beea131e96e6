/* The batch of the second pass is the first one's with other tokens and other loss rows. */
#include "train/detect.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"

cs_status cs_detector_open(cs_model *model, const cs_network_options *masked, double weight,
                           cs_detector *out)
{
    cs_network_options sizes = *masked;
    const int64_t most = sizes.predictions;
    if (model->params.backend->asynchronous) {
        return cs_fail(CS_ERR_USAGE, "replaced tokens are drawn on the CPU; give --device cpu");
    }
    sizes.detect = true;
    sizes.predictions = sizes.batch * sizes.length;
    out->weight = weight;
    cs_status status = cs_pass_open(model, &sizes, &out->pass);
    out->logits = cs_alloc(most * model->config.shape.vocab, sizeof *out->logits);
    out->u = cs_alloc(most, sizeof *out->u);
    out->drawn = cs_alloc(most, sizeof *out->drawn);
    return status == CS_OK && (!out->logits || !out->u || !out->drawn) ? CS_ERR_MEMORY : status;
}

void cs_detector_close(cs_detector *detector)
{
    cs_pass_close(&detector->pass);
    CS_FREE_FIELDS(detector, logits, u, drawn);
    *detector = (cs_detector){0};
}

int64_t cs_detector_rows(const cs_batch *masked)
{
    int64_t rows = 0;
    for (int64_t r = 0; r < masked->batch * masked->length; ++r) {
        rows += masked->token[r] >= 0;
    }
    return rows;
}

typedef struct {
    const cs_detector *detector;
    int64_t vocab;
} drawing;

/* The least token v with sum over 0..v of p > u. */
static cs_status draw_row(void *ctx, int64_t r)
{
    const drawing *d = ctx;
    const float *z = d->detector->logits + r * d->vocab;
    double most = (double)z[0], sum = 0, below = 0;
    int64_t v = 0;
    for (int64_t i = 1; i < d->vocab; ++i) {
        most = fmax(most, (double)z[i]);
    }
    for (int64_t i = 0; i < d->vocab; ++i) {
        sum += exp((double)z[i] - most);
    }
    for (; v + 1 < d->vocab; ++v) {
        below += exp((double)z[v] - most);
        if (below > d->detector->u[r] * sum) {
            break;
        }
    }
    d->detector->drawn[r] = (int32_t)v;
    return CS_OK;
}

cs_status cs_detector_draw(cs_detector *detector, const cs_batch *masked, const cs_pass *from,
                           cs_run_key key)
{
    cs_rng rng = cs_rng_at(key.seed, CS_STREAM_DETECT, (uint64_t)key.step << 16 | key.micro);
    drawing d = {detector, from->model->config.shape.vocab};
    for (int64_t r = 0; r < masked->events; ++r) {
        detector->u[r] = cs_rng_uniform(&rng);
    }
    cs_status status = cs_run_get_f32(from->run, from->network.loss.logits, detector->logits);
    return status == CS_OK ? cs_parallel(masked->events, 0, draw_row, &d) : status;
}

/* The masked batch with the drawn tokens; every row is a loss row. */
static cs_status fill_in(cs_detector *d, const cs_batch *masked)
{
    const int64_t rows = masked->batch * masked->length;
    cs_batch *batch = &d->pass.batch;
    cs_status status =
        cs_pass_begin(&d->pass, masked->batch, masked->length, cs_detector_rows(masked));
    if (status != CS_OK) return status;
    const size_t bytes = (size_t)rows * sizeof *batch->token;
    memcpy(batch->token, masked->token, bytes);
    memcpy(batch->position, masked->position, bytes);
    memcpy(batch->vis, masked->vis, bytes);
    memcpy(batch->lim, masked->lim, bytes);
    for (int64_t r = 0; r < masked->events; ++r) {
        batch->token[masked->loss.predict[r]] = d->drawn[r];
    }
    for (int64_t r = 0, event = 0; r < rows; ++r) {
        const bool was_masked = event < masked->events && masked->loss.predict[event] == r;
        const bool replaced = was_masked && masked->loss.target[event] != d->drawn[event];
        event += was_masked;
        if (masked->token[r] >= 0) {
            cs_batch_predict(batch, r, replaced, d->weight, 0, 0);
        }
    }
    return CS_OK;
}

cs_status cs_detector_step(cs_detector *detector, const cs_batch *masked, int64_t rows,
                           cs_run_key key, bool read)
{
    cs_pass *pass = &detector->pass;
    double loss = 0;
    cs_status status = fill_in(detector, masked);
    if (status == CS_OK) status = cs_pass_forward(pass, 1 / (double)rows, key);
    if (status == CS_OK && read) {
        status = cs_run_sum(pass->run, pass->network.loss.value, &loss);
        detector->loss += loss / detector->weight;
    }
    return status == CS_OK ? cs_run_backward(pass->run) : status;
}
