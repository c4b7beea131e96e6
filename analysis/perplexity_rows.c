/* What each kind of model reads when it is asked for a token. Rank masks are those of training
 * (src/train/batch.h): row i sees row j iff vis[j] <= lim[i]. */
#include <math.h>

#include "analysis/perplexity_private.h"

int64_t cs_ask_first(const cs_perplexity_options *o)
{
    return o->ask == CS_ASK_PSEUDO || o->from_nothing ? 0 : 1;
}

static bool one_pass(cs_kind kind)
{
    return kind == CS_KIND_CAUSAL || kind == CS_KIND_TWO_STREAM || kind == CS_KIND_LINEAR;
}

/* A begin token before a piece that has no other before it. */
static int64_t begins(const cs_perplexity_options *o)
{
    return o->kind == CS_KIND_CAUSAL && o->from_nothing && o->befores == 0 ? 1 : o->befores;
}

cs_network_options cs_ask_sizes(const cs_perplexity_options *o, const cs_model_config *config,
                                int64_t batch, int64_t length)
{
    static const cs_form FORM[] = {[CS_KIND_CAUSAL] = CS_FORM_SINGLE,
                                   [CS_KIND_MASKED] = CS_FORM_SINGLE,
                                   [CS_KIND_TWO_STREAM] = CS_FORM_TWO_STREAM,
                                   [CS_KIND_MAE] = CS_FORM_MAE,
                                   [CS_KIND_LINEAR] = CS_FORM_LINEAR};
    cs_network_options sizes = {.form = FORM[o->kind],
                                .loss = CS_LOSS_CROSS_ENTROPY,
                                .batch = batch,
                                .length = length + o->befores + o->afters,
                                .predictions = one_pass(o->kind) ? batch * length : batch};
    if (config->positions > 0 && sizes.length > config->positions) {
        sizes.length = config->positions;
    }
    sizes.queries = sizes.length;
    sizes.decoder_length = sizes.length;
    return sizes;
}

/* The length that masks fill the piece to. */
static int64_t filled(const cs_perplexity_options *o, const cs_ask_job *job)
{
    int64_t s = o->fill_length > job->n ? o->fill_length : job->n;
    return o->ask == CS_ASK_APPEND ? job->target + 1 : o->ask == CS_ASK_PSEUDO ? job->n : s;
}

void cs_ask_measure(const cs_perplexity_options *o, const cs_model_config *config, cs_ask_job *job)
{
    int64_t rows = o->befores + o->afters;
    switch (o->kind) {
    case CS_KIND_CAUSAL: /* the last token is only predicted */
        rows = begins(o) + job->n - 1;
        break;
    case CS_KIND_TWO_STREAM:
    case CS_KIND_LINEAR:
        rows = o->befores + job->n;
        break;
    case CS_KIND_MASKED:
        rows += filled(o, job);
        break;
    default:
        rows = filled(o, job);
        rows = config->decoder.attention == CS_DECODER_CROSS && rows < job->n ? job->n : rows;
        break;
    }
    job->rows = (int32_t)(rows > 1 ? rows : 1);
    job->loss_rows = one_pass(o->kind) ? job->n - (int32_t)cs_ask_first(o) : 1;
}

/* --- setting index tensors -------------------------------------------------------------------- */

static void set(const cs_asker *a, int tensor, int64_t r, int64_t value)
{
    if (tensor != CS_NONE) {
        cs_run_index(a->run, tensor)[r] = (int32_t)value;
    }
}

static void set_position(const cs_asker *a, int tensor, int64_t r, int64_t place)
{
    set(a, tensor, r, place + a->config->position_offset);
}

static void content(const cs_asker *a, int64_t r, int32_t token, int64_t place, int64_t rank)
{
    const cs_network *n = a->network;
    set(a, n->token, r, token);
    set_position(a, n->position, r, place);
    set(a, n->vis, r, rank);
    set(a, n->lim, r, rank);
}

/* The next loss row reads row `top` and predicts a token of the job. */
static void ask(cs_asker *a, const cs_ask_job *job, int32_t number, int64_t top, int64_t target)
{
    int64_t r = a->loss_rows++;
    set(a, a->network->predict, r, top);
    set(a, a->network->target, r, job->token[target]);
    cs_run_input(a->run, a->network->weight, r, 0, 1.0);
    a->row[r] = (cs_ask_row){number, (int32_t)target};
}

static void pad(const cs_asker *a, const int tensor[], const int64_t value[], int tensors,
                int64_t rows)
{
    for (int t = 0; t < tensors; ++t) {
        for (int64_t r = 0; tensor[t] != CS_NONE && r < rows; ++r) {
            cs_run_index(a->run, tensor[t])[r] = (int32_t)value[t];
        }
    }
}

static void pad_all(cs_asker *a, int64_t batch, int64_t length, int64_t loss_rows)
{
    const cs_network *n = a->network;
    const int rows[] = {n->token,        n->position,       n->vis,
                        n->lim,          n->query_position, n->query_lim,
                        n->decoder_from, n->decoder_token,  n->decoder_position,
                        n->decoder_vis,  n->decoder_lim,    n->decoder_cross_lim};
    const int64_t nothing[] = {-1, -1, INT32_MAX, -1, -1, -1, -1, -1, -1, INT32_MAX, -1, -1};
    const int losses[] = {n->predict, n->target};
    pad(a, rows, nothing, 12, batch * length);
    pad(a, losses, nothing, 2, loss_rows);
    for (int64_t r = 0; r < loss_rows; ++r) {
        cs_run_input(a->run, n->weight, r, 0, 0.0);
        a->row[r] = (cs_ask_row){-1, -1};
    }
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void fill_causal(cs_asker *a, const cs_ask_job *job, int32_t number, int64_t row)
{
    const cs_perplexity_options *o = a->options;
    int64_t before = begins(o), first = cs_ask_first(o);
    for (int64_t i = 0; i < before + job->n - 1; ++i) {
        int32_t token = i >= before       ? job->token[i - before]
                        : o->befores == 0 ? a->config->bos_id
                                          : o->before[i];
        content(a, row + i, token, i, i);
    }
    for (int64_t t = first; t < job->n; ++t) {
        ask(a, job, number, row + before + t - 1, t);
    }
}

/* Queries at the positions of the tokens that they predict; linear attention reads no position. */
static void fill_queries(cs_asker *a, const cs_ask_job *job, int32_t number, int64_t row)
{
    const cs_perplexity_options *o = a->options;
    int64_t before = o->befores, q = row;
    for (int64_t i = 0; i < before + job->n; ++i) {
        content(a, row + i, i < before ? o->before[i] : job->token[i - before], i, i);
    }
    for (int64_t t = cs_ask_first(o); t < job->n; ++t, ++q) {
        set_position(a, a->network->query_position, q, before + t);
        set(a, a->network->query_lim, q, before + t - 1);
        ask(a, job, number, q, t);
    }
}

/* Whether token t of the piece is shown when `target` is asked for. */
static bool shown(const cs_perplexity_options *o, const cs_ask_job *job, int64_t t)
{
    return o->ask == CS_ASK_PSEUDO ? t != job->target : t < job->target;
}

static void fill_masked(cs_asker *a, const cs_ask_job *job, int32_t number, int64_t row)
{
    const cs_perplexity_options *o = a->options;
    int64_t s = filled(o, job), i = 0;
    for (int64_t b = 0; b < o->befores; ++b, ++i) {
        content(a, row + i, o->before[b], i, 0);
    }
    ask(a, job, number, row + i + job->target, job->target);
    for (int64_t t = 0; t < s; ++t, ++i) {
        content(a, row + i, shown(o, job, t) ? job->token[t] : a->config->mask_id, i, 0);
    }
    for (int64_t e = 0; e < o->afters; ++e, ++i) {
        content(a, row + i, o->after[e], i, 0);
    }
}

/* Decoder row r for place t, whose encoder row is `from` (-1: a mask vector). */
static void decoder_row(const cs_asker *a, const cs_ask_job *job, int64_t r, int64_t t,
                        int64_t from)
{
    const cs_network *n = a->network;
    bool causal = a->config->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    set(a, n->decoder_from, r, from);
    if (causal) {
        set(a, n->decoder_token, r, t > 0 ? job->token[t - 1] : a->config->bos_id);
    } else {
        set(a, n->decoder_token, r, from < 0 ? 0 : -1);
    }
    set_position(a, n->decoder_position, r, t);
    set(a, n->decoder_vis, r, causal ? t : 0);
    set(a, n->decoder_lim, r, causal ? t : 0);
    set(a, n->decoder_cross_lim, r, 0);
}

/* The encoder reads what is shown, and [MASK] at the first masked places where it was trained with
 * some; rows of the decoder by its kind. Here `row` serves encoder and decoder alike: both have the
 * same number of rows a sequence. */
static void fill_mae(cs_asker *a, const cs_ask_job *job, int32_t number, int64_t row)
{
    const cs_perplexity_options *o = a->options;
    cs_decoder_attention attention = a->config->decoder.attention;
    int64_t s = filled(o, job), encoded = 0, decoded = 0;
    int64_t masked = o->ask == CS_ASK_PSEUDO ? 1 : s - job->target;
    int64_t kept = llround(o->delta * (double)masked);
    for (int64_t t = 0; t < s; ++t) {
        bool taken = shown(o, job, t), stays = !taken && kept > 0;
        int64_t from = taken || (stays && !o->decoder_resets) ? row + encoded : -1;
        kept -= stays;
        if (taken || stays) {
            content(a, row + encoded++, taken ? job->token[t] : a->config->mask_id, t, 0);
        }
        bool beyond = attention == CS_DECODER_CAUSAL_CROSS && t > job->target;
        if (attention != CS_DECODER_CROSS && !beyond) {
            decoder_row(a, job, row + decoded++, t, from);
        }
    }
    if (attention == CS_DECODER_CROSS) {
        decoder_row(a, job, row, job->target, -1);
        ask(a, job, number, row, job->target);
        return;
    }
    ask(a, job, number, row + job->target, job->target);
}

cs_status cs_ask_fill(cs_asker *a, const cs_ask_job *job, const int32_t *order, int64_t count,
                      int64_t batch, int64_t length, int64_t loss_rows)
{
    static void (*const FILL[])(cs_asker *, const cs_ask_job *, int32_t,
                                int64_t) = {[CS_KIND_CAUSAL] = fill_causal,
                                            [CS_KIND_MASKED] = fill_masked,
                                            [CS_KIND_TWO_STREAM] = fill_queries,
                                            [CS_KIND_MAE] = fill_mae,
                                            [CS_KIND_LINEAR] = fill_queries};
    const cs_network *n = a->network;
    const int sets[] = {n->rows, n->query_rows, n->decoder_rows};
    cs_status status = cs_run_rows(a->run, n->loss_rows, 1, loss_rows);
    for (int i = 0; i < 3 && status == CS_OK; ++i) {
        if (sets[i] != CS_NONE) {
            status = cs_run_rows(a->run, sets[i], batch, length);
        }
    }
    if (status != CS_OK) {
        return status;
    }
    pad_all(a, batch, length, loss_rows);
    a->loss_rows = 0;
    for (int64_t b = 0; b < count; ++b) {
        FILL[a->options->kind](a, &job[order[b]], order[b], b * length);
    }
    return CS_OK;
}
