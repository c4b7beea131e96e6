/* Reachability through rank masks. */
#include "batch_support.h"
#include "plan_support.h"

const int32_t batch_text[PLACES] = {5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};

cs_model_config batch_config(cs_form form)
{
    cs_model_config config = {.shape.vocab = VOCAB,
                              .shape.positions = PLACES,
                              .shape.width = 8,
                              .shape.layers = 2,
                              .shape.heads = 2,
                              .shape.inner = 12,
                              .layer.activation = CS_ACT_GELU_TANH,
                              .layer.bias = true,
                              .head.tied = true,
                              .layer.eps = 1e-5,
                              .training.init_range = 0.3,
                              .ids.pad = PAD,
                              .ids.bos = BOS,
                              .ids.eos = EOS,
                              .ids.mask = MASK,
                              .ids.unk = UNK};
    if (form == CS_FORM_LINEAR) {
        config.arch = CS_ARCH_LINEAR;
        config.shape.layers = 1;
        config.shape.heads = 1;
        config.head.pooling = 2;
        config.layer.bias = config.head.tied = false;
    } else if (form == CS_FORM_MAE) {
        config.arch = CS_ARCH_ROBERTA_PRELAYERNORM;
        config.position.offset = PAD + 1;
        config.decoder = (cs_decoder_config){.layers = 2, .width = 8, .heads = 2, .inner = 12};
    } else {
        config.attention.query_vector = form == CS_FORM_TWO_STREAM;
    }
    return config;
}

cs_task batch_task(const char *spec)
{
    return (cs_task){.objective = plan_objective(spec)};
}

cs_form batch_form_of(const cs_task *task)
{
    const cs_objective_reading reads = cs_objective_reads(&task->objective);
    const bool single = reads == CS_ROWS_SHIFTED || reads == CS_ROWS_MASKED;
    return single ? CS_FORM_SINGLE : CS_FORM_TWO_STREAM;
}

static uint64_t place_of(int32_t token)
{
    return token >= TEXT && token < TEXT + PLACES ? UINT64_C(1) << (token - TEXT) : 0;
}

/* Adds to what each of n rows knows all that the rows it sees know, until nothing changes. */
static void spread(int64_t n, const int32_t *vis, const int32_t *lim, uint64_t *known)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < n; ++j) {
                if (vis[j] <= lim[i] && (known[j] & ~known[i])) {
                    known[i] |= known[j];
                    changed = true;
                }
            }
        }
    }
}

static uint64_t seen(int64_t n, const int32_t *vis, int32_t lim, const uint64_t *known)
{
    uint64_t all = 0;
    for (int64_t j = 0; j < n; ++j) {
        all |= vis[j] <= lim ? known[j] : 0;
    }
    return all;
}

static uint64_t decoder_sees(const cs_batch *batch, const cs_model_config *config, int64_t b,
                             int64_t row, const uint64_t *encoder)
{
    uint64_t known[PLACES];
    int64_t n = batch->decoder_length, base = b * n;
    cs_decoder_attention attention = config->decoder.attention;
    assert_true(n <= PLACES);
    for (int64_t i = 0; i < n; ++i) {
        int32_t from = batch->decoder.from[base + i], token = batch->decoder.token[base + i];
        known[i] = attention == CS_DECODER_CAUSAL_CROSS ? place_of(token) : 0;
        if (from >= 0) {
            assert_int_equal(from / batch->length, b);
            known[i] |= encoder[from % batch->length];
        }
        if (attention != CS_DECODER_SELF) {
            known[i] |= seen(batch->length, batch->vis + b * batch->length,
                             batch->decoder.cross_lim[base + i], encoder);
        }
    }
    if (attention != CS_DECODER_CROSS) {
        spread(n, batch->decoder.vis + base, batch->decoder.lim + base, known);
    }
    return known[row];
}

uint64_t batch_sees(const cs_batch *batch, const cs_model_config *config, int64_t r)
{
    uint64_t known[PLACES];
    int64_t rows = batch->form == CS_FORM_SINGLE ? batch->length
                   : batch->form == CS_FORM_MAE  ? batch->decoder_length
                                                 : batch->queries;
    int64_t b = batch->loss.predict[r] / rows, row = batch->loss.predict[r] % rows;
    int64_t base = b * batch->length;
    assert_true(batch->length <= PLACES);
    assert_int_equal(batch->loss.example[r], b);
    for (int64_t i = 0; i < batch->length; ++i) {
        known[i] = place_of(batch->token[base + i]);
    }
    if (batch->form != CS_FORM_LINEAR) { /* one layer: keys know themselves alone */
        spread(batch->length, batch->vis + base, batch->lim + base, known);
    }
    if (batch->form == CS_FORM_SINGLE) {
        return known[row];
    }
    if (batch->form == CS_FORM_MAE) {
        return decoder_sees(batch, config, b, row, known);
    }
    return seen(batch->length, batch->vis + base, batch->query.lim[b * rows + row], known);
}
