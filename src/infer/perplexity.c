/* Jobs are made for some pieces at a time, sorted by length, computed in batches, and their losses
 * added up in that order; blocks of documents have sums of their own, from which every number here
 * is formed. Sums are double, losses float. */
#include "infer/perplexity.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "infer/document_pieces.h"
#include "infer/perplexity_private.h"
#include "stats/jackknife.h"
#include "train/ahead.h"

enum { USUAL_BLOCKS = 20, USUAL_MASKS = 4, LOGITS = 1 << 26, PIECES_AT_ONCE = 256 };

const char *cs_ask_name(cs_ask ask)
{
    static const char *const NAME[] = {"prefix", "append", "remaining", "pseudo", "elbo"};
    return NAME[ask];
}

int cs_asks_of(cs_kind kind, cs_ask out[CS_ASKS])
{
    const bool masks = kind == CS_KIND_MASKED || kind == CS_KIND_MAE || kind == CS_KIND_MNTP;
    int count = 0;
    if (!masks) out[count++] = CS_ASK_PREFIX;
    for (cs_ask ask = CS_ASK_APPEND; (masks || kind == CS_KIND_HYBRID) && ask < CS_ASK_ELBO;
         ++ask) {
        out[count++] = ask;
    }
    if (kind == CS_KIND_MASKED) out[count++] = CS_ASK_ELBO;
    return count;
}

cs_status cs_unigram_of(const cs_corpus *corpus, int64_t vocab, double *nats)
{
    int64_t total = 0;
    cs_fill(vocab, 0, nats);
    for (int64_t d = 0; d < corpus->documents; ++d) {
        for (int64_t i = corpus->doc_ptr[d]; !corpus->held_out[d] && i < corpus->doc_ptr[d + 1];
             ++i) {
            int32_t v = corpus->token[i];
            if (v < 0 || v >= vocab) {
                return cs_fail(CS_ERR_INPUT, "document %lld: token %d is not in 0..%lld",
                               (long long)d, v, (long long)vocab - 1);
            }
            nats[v] += 1;
            total += 1;
        }
    }
    for (int64_t v = 0; v < vocab; ++v) {
        nats[v] = log((double)(total + vocab)) - log(nats[v] + 1);
    }
    return total > 0
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "no document for the unigram baseline: all are held out");
}

static void means_free(cs_score_means *b)
{
    CS_FREE_FIELDS(b, nll_at, se_at, left_out);
}

void cs_perplexity_free(cs_perplexity *p)
{
    CS_FREE_FIELDS(p, nll_at, se_at, left_out, bits_left_out, tokens_at);
    means_free(&p->reference);
    means_free(&p->difference);
    memset(p, 0, sizeof *p);
}

typedef struct {
    cs_pool pool; /* of all arrays below */
    cs_model *model;
    const cs_corpus *corpus;
    cs_perplexity_options options;
    cs_pass pass;
    cs_sequences sequences;
    int64_t text_length; /* most tokens of a piece */
    cs_score_job *job;
    int32_t *order;
    int64_t jobs, capacity;
    int64_t pieces, last_document, documents;
    float *loss; /* loss rows */
    /* blocks x lengths: weighted losses, weights, weighted losses of the reference (NULL: none) */
    double *sum, *weight, *reference;
    double *bytes;      /* blocks: weighted bytes */
    int64_t *tokens_at; /* lengths: predicted, unweighted */
    int64_t bytes_seen; /* those of the predicted tokens */
    /* where the vectors of the corpus are read when they are needed: of a batch, and of the next */
    cs_train_view view;
    cs_ahead ahead;
    cs_ahead_batch wanted;
} walk;

/* --- options ---------------------------------------------------------------------------------- */

static cs_status check_kind(const cs_perplexity_options *o, const cs_model_config *c)
{
    cs_ask ways[CS_ASKS];
    bool known = false;
    for (int i = 0, n = cs_asks_of(o->kind, ways); i < n; ++i) {
        known = known || ways[i] == o->ask;
    }
    bool causal_decoder = o->kind == CS_KIND_MAE && c->decoder.layers > 0 &&
                          c->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    bool begins = cs_ask_begins(o) > o->around.befores || causal_decoder;
    if (o->decoder && !c->decoder.stack) {
        return cs_fail(CS_ERR_USAGE, "the model (%s) has no second stack", cs_arch_name(c->arch));
    }
    if (o->decoder && (o->kind != CS_KIND_CAUSAL || c->decoder.start < 0)) {
        return cs_fail(CS_ERR_USAGE, "%s",
                       c->decoder.start < 0 ? "config.json has no decoder_start_token_id"
                                            : "a decoder can be evaluated only as a causal model");
    }
    if (c->decoder.stack && !o->decoder) {
        return cs_fail(
            CS_ERR_USAGE,
            "the encoder of the model (%s) does not predict tokens; evaluate its decoder",
            cs_arch_name(c->arch));
    }
    if (!known) {
        return cs_fail(CS_ERR_USAGE, "a %s model cannot be evaluated by %s", cs_kind_name(o->kind),
                       cs_ask_name(o->ask));
    }
    if (o->losses && (o->kind != CS_KIND_CAUSAL || o->decoder || begins)) {
        return cs_fail(CS_ERR_USAGE, "losses that are given need a causal model that does not "
                                     "predict the first token from a begin token");
    }
    if (o->content && o->kind != CS_KIND_TWO_STREAM) {
        return cs_fail(CS_ERR_USAGE, "content masks need a two-stream model");
    }
    if (!(o->delta >= 0 && o->delta <= 1)) {
        return cs_fail(CS_ERR_USAGE, "share %g of masks in the encoder is not in [0, 1]", o->delta);
    }
    bool masks = o->kind == CS_KIND_MAE ? o->delta > 0 : o->ask != CS_ASK_PREFIX;
    if (masks && (c->ids.mask < 0 || c->ids.mask >= c->shape.vocab)) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has no mask token; --mask-token names that of a tokenizer");
    }
    if (begins && c->ids.bos < 0) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has no begin token; --bos-token names that of a tokenizer");
    }
    if (o->kind == CS_KIND_MAE && o->around.befores + o->around.afters > cs_model_config_extra(c)) {
        return cs_fail(CS_ERR_USAGE, "mae-lm models do not support special tokens around a text");
    }
    return CS_OK;
}

/* *length: tokens of a piece. */
static cs_status resolve(const cs_model *model, const cs_corpus *corpus, cs_perplexity_options *o,
                         int64_t *length)
{
    const cs_model_config *c = &model->config;
    cs_status status = check_kind(o, c);
    if (status != CS_OK) return status;
    status = cs_sources_check(o->sources, corpus, c->shape.vocab,
                              o->around.befores + o->around.afters, &o->source_rows);
    if (status != CS_OK) return status;
    o->from_nothing = o->from_nothing && !o->decoder; /* it has its own start token */
    o->blocks = o->blocks == 0 ? USUAL_BLOCKS : o->blocks;
    o->positions = o->ask == CS_ASK_ELBO && o->positions == 0 ? USUAL_MASKS : o->positions;
    o->blocks = o->blocks < corpus->documents ? o->blocks : corpus->documents;
    /* A begin token of the model does not shorten the requested length, so that models which read
     * it as one row more have the same pieces as those that read it in place of the last token. The
     * exception: it needs a row that the positions lack. */
    const int64_t around = o->around.befores + o->around.afters,
                  more = cs_score_extra_rows(o) - around,
                  rows = o->max_length > 0 ? cs_model_config_positions(c) : 1;
    status = cs_pieces_limits(c, around, &o->max_length, &o->batch);
    if (status != CS_OK) return status;
    *length = o->max_length - around - (rows > 0 && o->max_length + more > rows ? more : 0);
    if (*length < 1) {
        return cs_fail(CS_ERR_USAGE, "a begin token leaves no space for text in a length of %lld",
                       (long long)o->max_length);
    }
    if (o->fill_length < 0 || o->fill_length > *length) {
        return cs_fail(CS_ERR_USAGE, "the longest length with masks, %lld, is not in 0..%lld",
                       (long long)o->fill_length, (long long)*length);
    }
    if (o->blocks < 1 || o->positions < 0) {
        return cs_fail(CS_ERR_USAGE, "blocks %lld or positions %lld are out of range",
                       (long long)o->blocks, (long long)o->positions);
    }
    return CS_OK;
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* The masks of a piece with `most` tokens that may be masked: draw d of D masks n tokens, n uniform
 * in the stratum ((d, d + 1] / D) most, each with the weight most / n / D. */
static void add_masks(walk *w, cs_score_job job, int64_t most)
{
    const cs_perplexity_options *o = &w->options;
    for (job.draw = 0; job.draw < o->positions; ++job.draw) {
        cs_rng rng = cs_ask_rng(o, &job);
        const double u = ((double)job.draw + cs_rng_uniform(&rng)) / (double)o->positions;
        job.masked = (int32_t)cs_least(1 + (int64_t)(u * (double)most), most);
        job.weight = (double)most / job.masked / (double)o->positions;
        cs_ask_measure(o, &w->model->config, &job);
        w->job[w->jobs++] = job;
    }
}

/* The jobs of a piece: one, or one for each predicted token (all, or some that are drawn: each then
 * has the weight left / wanted). */
static void add_jobs(walk *w, int64_t sequence)
{
    const cs_perplexity_options *o = &w->options;
    const cs_sequences *s = &w->sequences;
    int64_t document = s->document[sequence], first = cs_ask_first(o);
    const float *real = w->corpus->real;
    cs_score_job job = {
        .token = w->corpus->token + s->start[sequence],
        .real = real ? real + s->start[sequence] * w->corpus->real_width : NULL,
        .extra = w->corpus->extra ? w->corpus->extra + document * w->corpus->extra_width : NULL,
        .start = s->start[sequence],
        .document = document,
        .place = s->start[sequence] - w->corpus->doc_ptr[document],
        .n = s->length[sequence],
        .target = -1,
        .weight = 1};
    int64_t left = job.n - first;
    int64_t wanted = o->positions > 0 && o->positions < left ? o->positions : left;
    if (left < 1 || (o->ask == CS_ASK_PSEUDO && job.n < 2)) {
        return;
    }
    w->pieces += 1;
    w->documents += document != w->last_document;
    w->last_document = document;
    if (o->ask == CS_ASK_ELBO) {
        add_masks(w, job, left);
        return;
    }
    if (!cs_ask_each(o)) {
        cs_ask_measure(o, &w->model->config, &job);
        w->job[w->jobs++] = job;
        return;
    }
    const int32_t draws = o->content ? (int32_t)cs_content_draws(o->content) : 1;
    job.weight = (double)left / (double)wanted / draws;
    cs_rng rng = cs_rng_at(o->seed, CS_STREAM_PLAN, (uint64_t)sequence);
    for (int64_t t = first; t < job.n; ++t) {
        if (cs_rng_selects(&rng, &left, &wanted)) {
            job.target = (int32_t)t;
            cs_ask_measure(o, &w->model->config, &job);
            for (job.draw = 0; job.draw < draws; ++job.draw) {
                w->job[w->jobs++] = job;
            }
        }
    }
}

/* --- a batch ---------------------------------------------------------------------------------- */

static cs_status add_loss(walk *w, const cs_score_job *job, int64_t target, float loss)
{
    const cs_perplexity_options *o = &w->options;
    if (!isfinite(loss)) {
        return cs_fail(CS_ERR_INPUT, "document %lld, position %lld: the log-probability is %s",
                       (long long)job->document, (long long)(job->place + target),
                       isnan(loss) ? "not a number" : "infinite");
    }
    cs_rng rng = cs_rng_at(o->seed, CS_STREAM_SPLIT, (uint64_t)job->document);
    int64_t block = cs_rng_below(&rng, o->blocks);
    int64_t bytes = o->token_bytes ? o->token_bytes[job->token[target]] : 0;
    w->sum[block * w->text_length + target] += job->weight * (double)loss;
    w->weight[block * w->text_length + target] += job->weight;
    if (o->reference) {
        w->reference[block * w->text_length + target] +=
            job->weight * o->reference[job->token[target]];
    }
    w->bytes[block] += job->weight * (double)bytes;
    const bool counts = job->draw == 0 || o->ask == CS_ASK_ELBO;
    w->tokens_at[target] += counts;
    w->bytes_seen += counts ? bytes : 0;
    return CS_OK;
}

static cs_status add_losses(walk *w)
{
    const cs_batch *b = &w->pass.batch;
    cs_status status = CS_OK;
    for (int64_t r = 0; r < b->events && status == CS_OK; ++r) {
        status = add_loss(w, &w->job[b->loss.example[r]], b->loss.place[r], w->loss[r]);
    }
    return status;
}

/* Those that are given, in the order of batches. */
static cs_status add_given(walk *w, const int32_t *order, int64_t count)
{
    cs_status status = CS_OK;
    for (int64_t b = 0; b < count; ++b) {
        const cs_score_job *job = &w->job[order[b]];
        for (int64_t t = cs_ask_first(&w->options); t < job->n && status == CS_OK; ++t) {
            const float loss = w->options.losses[job->start + t];
            status = isnan(loss)
                         ? cs_fail(CS_ERR_INPUT, "document %lld, position %lld: no loss is given",
                                   (long long)job->document, (long long)(job->place + t))
                         : add_loss(w, job, t, loss);
        }
    }
    return status;
}

/* The pieces of the jobs of a batch, those of jobs that follow one another once. */
static void list_pieces(const walk *w, const int32_t *order, int64_t count, cs_ahead_batch *to)
{
    to->count = 0;
    for (int64_t b = 0; b < count; ++b) {
        const cs_score_job *job = &w->job[order[b]];
        if (to->count > 0 && to->first[to->count - 1] == job->start) continue;
        to->first[to->count] = job->start;
        to->length[to->count++] = job->n;
    }
}

/* The vectors of a batch; then those of the next, of `rest` jobs behind it, are begun. */
static cs_status read_vectors(walk *w, const int32_t *order, int64_t count, int64_t rest)
{
    float *values = NULL;
    list_pieces(w, order, count, &w->wanted);
    cs_status status = cs_ahead_take(&w->ahead, &w->wanted, &values);
    for (int64_t b = 0, k = 0; b < count && status == CS_OK; ++b) {
        cs_score_job *job = &w->job[order[b]];
        k += job->start != w->wanted.first[k];
        job->real = values + k * w->ahead.apart;
    }
    if (status != CS_OK || rest == 0) return status;
    list_pieces(w, order + count, cs_least(rest, w->pass.sizes.batch), cs_ahead_next(&w->ahead));
    cs_ahead_start(&w->ahead);
    return CS_OK;
}

/* The first `count` jobs of an order of count + rest. */
static cs_status run_batch(walk *w, const int32_t *order, int64_t count, int64_t rest)
{
    int64_t losses = 0;
    if (w->options.losses) return add_given(w, order, count);
    for (int64_t b = 0; b < count; ++b) {
        losses += w->job[order[b]].loss_rows;
    }
    cs_status status = w->corpus->vectors ? read_vectors(w, order, count, rest) : CS_OK;
    if (status == CS_OK) status = cs_pass_begin(&w->pass, count, w->job[order[0]].rows, losses);
    for (int64_t b = 0; b < count && status == CS_OK; ++b) {
        status = cs_ask_fill(&w->options, &w->model->config, &w->job[order[b]], order[b], b,
                             &w->pass.batch);
    }
    if (status == CS_OK && (status = cs_pass_forward(&w->pass, 1, (cs_run_key){0})) == CS_OK &&
        (status = cs_run_get_f32(w->pass.run, w->pass.network.loss.value, w->loss)) == CS_OK) {
        status = add_losses(w);
    }
    return status;
}

static cs_status run_pieces(walk *w)
{
    const cs_sequences *s = &w->sequences;
    cs_status status = CS_OK;
    for (int64_t at = 0; at < s->count && status == CS_OK;) {
        w->jobs = 0;
        for (int64_t i = 0; i < PIECES_AT_ONCE && at < s->count && status == CS_OK; ++i, ++at) {
            status = cs_pieces_check(w->corpus, s, at, w->model->config.shape.vocab);
            if (status == CS_OK) add_jobs(w, at);
        }
        if (status == CS_OK)
            status = cs_order_by_rows(&w->job->rows, sizeof *w->job, w->jobs, w->pass.sizes.length,
                                      w->order);
        int64_t batch = w->pass.sizes.batch;
        for (int64_t i = 0; i < w->jobs && status == CS_OK; i += batch) {
            const int64_t count = cs_least(w->jobs - i, batch);
            if ((status = cs_interrupt_check()) == CS_OK) {
                status = run_batch(w, w->order + i, count, w->jobs - i - count);
            }
        }
        cs_progress_report(w->options.progress, "pieces", at, s->count);
    }
    return status;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The ratio of the sums of blocks, and its jackknife error over those with something below. work: a
 * number a block; left_out: NULL, or the ratios without each block, `stride` apart. */
static double ratio(int64_t blocks, const double *above, const double *below, double *work,
                    double *se, double *left_out, int64_t stride)
{
    double a = 0, b = 0;
    int64_t used = 0;
    for (int64_t i = 0; i < blocks; ++i) {
        a += above[i];
        b += below[i];
    }
    for (int64_t i = 0; i < blocks; ++i) {
        if (left_out) {
            left_out[i * stride] = below[i] > 0 ? (a - above[i]) / (b - below[i]) : (double)NAN;
        }
        if (below[i] > 0) {
            work[used++] = (a - above[i]) / (b - below[i]);
        }
    }
    *se = cs_jackknife_error(used, work, 1);
    return b > 0 ? a / b : (double)NAN;
}

/* Of weighted losses `sum` less those of `less` (NULL: none), over all tokens and by length. work:
 * three numbers a block. */
static cs_status fill_means(const walk *w, const double *sum, const double *less, double *work,
                            cs_score_means *out)
{
    int64_t blocks = w->options.blocks, lengths = w->text_length;
    double *above = work, *below = work + blocks;
    out->nll_at = cs_alloc(lengths, sizeof *out->nll_at);
    out->se_at = cs_alloc(lengths, sizeof *out->se_at);
    out->left_out = cs_alloc(blocks * (lengths + 1), sizeof *out->left_out);
    if (!out->nll_at || !out->se_at || !out->left_out) return CS_ERR_MEMORY;
    for (int64_t k = 0; k <= lengths; ++k) { /* the last one: all lengths */
        for (int64_t b = 0; b < blocks; ++b) {
            above[b] = below[b] = 0;
            for (int64_t i = k < lengths ? k : 0; i < (k < lengths ? k + 1 : lengths); ++i) {
                int64_t at = b * lengths + i;
                above[b] += sum[at] - (less ? less[at] : 0);
                below[b] += w->weight[at];
            }
        }
        double se, mean = ratio(blocks, above, below, work + 2 * blocks, &se, out->left_out + k,
                                lengths + 1);
        *(k < lengths ? &out->nll_at[k] : &out->nll) = mean;
        *(k < lengths ? &out->se_at[k] : &out->se) = se;
    }
    return CS_OK;
}

/* The reference and the difference; NaN over all where there is none. */
static cs_status compare_reference(const walk *w, double *work, cs_perplexity *p)
{
    p->reference.nll = p->reference.se = p->difference.nll = p->difference.se = (double)NAN;
    cs_status status = CS_OK;
    if (w->reference &&
        (status = fill_means(w, w->reference, NULL, work, &p->reference)) == CS_OK) {
        status = fill_means(w, w->sum, w->reference, work, &p->difference);
    }
    return status;
}

static cs_status finish(const walk *w, cs_perplexity *out)
{
    int64_t blocks = w->options.blocks, lengths = w->text_length;
    CS_AUTO_FREE double *work = cs_alloc(4 * blocks, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    double *above = work, *below = work + blocks;
    cs_score_means own = {0};
    cs_perplexity p = {.documents = w->documents,
                       .pieces = w->pieces,
                       .bytes = w->bytes_seen,
                       .lengths = lengths,
                       .dealt = blocks,
                       .bits_left_out = cs_alloc(blocks, sizeof *p.bits_left_out),
                       .tokens_at = cs_alloc(lengths, sizeof *p.tokens_at)};
    cs_status status =
        p.bits_left_out && p.tokens_at ? compare_reference(w, work, &p) : CS_ERR_MEMORY;
    if (status == CS_OK) status = fill_means(w, w->sum, NULL, work, &own);
    p.nll_at = own.nll_at;
    p.se_at = own.se_at;
    p.left_out = own.left_out;
    if (status != CS_OK) {
        cs_perplexity_free(&p);
        return status;
    }
    p.nll = own.nll;
    p.se = own.se;
    for (int64_t k = 0; k < lengths; ++k) {
        p.tokens_at[k] = w->tokens_at[k];
        p.tokens += w->tokens_at[k];
    }
    for (int64_t b = 0; b < blocks; ++b) { /* what was last filled is over all lengths */
        p.blocks += below[b] > 0;
        below[b] = w->bytes[b] * log(2.0);
    }
    p.bits_per_byte =
        ratio(blocks, above, below, work + 2 * blocks, &p.bits_se, p.bits_left_out, 1);
    *out = p;
    return CS_OK;
}

/* --- setting up ------------------------------------------------------------------------------- */

static cs_status prepare(walk *w)
{
    const cs_perplexity_options *o = &w->options;
    const cs_model_config *c = &w->model->config;
    int64_t length = w->text_length, batch = o->batch;
    bool each = cs_ask_each(o);
    while (batch > 1 && batch * (each ? 1 : length) > LOGITS / c->shape.vocab) {
        batch /= 2;
    }
    const cs_network_options sizes = cs_ask_sizes(o, c, batch, length);
    w->capacity = PIECES_AT_ONCE *
                  (each                    ? length
                   : o->ask == CS_ASK_ELBO ? o->positions
                                           : 1) *
                  (o->content ? cs_content_draws(o->content) : 1);
    w->pass.sizes = sizes;
    cs_status status = o->losses ? CS_OK : cs_pass_open(w->model, &sizes, &w->pass);
    CS_POOL_FIELDS(&w->pool, w->capacity, w, job, order);
    w->loss = cs_pool_take(&w->pool, sizes.predictions, sizeof *w->loss);
    CS_POOL_FIELDS(&w->pool, o->blocks * length, w, sum, weight);
    w->bytes = cs_pool_take(&w->pool, o->blocks, sizeof *w->bytes);
    w->tokens_at = cs_pool_take(&w->pool, length, sizeof *w->tokens_at);
    if (o->reference)
        w->reference = cs_pool_take(&w->pool, o->blocks * length, sizeof *w->reference);
    if (w->corpus->vectors) CS_POOL_FIELDS(&w->pool, sizes.batch, &w->wanted, first, length);
    if (status == CS_OK) status = w->pool.status;
    if (status != CS_OK || !w->corpus->vectors) return status;
    w->view = cs_ahead_view(w->corpus);
    return cs_ahead_open(&w->view, sizes.batch, length, w->corpus->real_width, &w->ahead);
}

cs_status cs_perplexity_of(cs_model *model, const cs_corpus *corpus,
                           const cs_perplexity_options *options, cs_perplexity *out)
{
    walk w = {.model = model, .corpus = corpus, .options = *options, .last_document = -1};
    cs_status status = resolve(model, corpus, &w.options, &w.text_length);
    if (status == CS_OK) status = cs_model_config_reads(&model->config, corpus->real_width);
    if (status != CS_OK) return status;
    if ((status = cs_pieces_of(corpus, w.options.keep, w.options.split, w.text_length,
                               &w.sequences)) == CS_OK &&
        (status = prepare(&w)) == CS_OK && (status = run_pieces(&w)) == CS_OK) {
        status = w.documents > 0
                     ? finish(&w, out)
                     : cs_fail(CS_ERR_INPUT, "nothing to predict: no piece has at least %d tokens",
                               2 - (int)w.options.from_nothing);
    }
    cs_ahead_close(&w.ahead);
    cs_pool_free(&w.pool);
    cs_pass_close(&w.pass);
    cs_sequences_free(&w.sequences);
    return status;
}
