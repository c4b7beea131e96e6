/* Jobs are made for some pieces at a time, sorted by length, computed in batches, and their losses
 * added up in that order; blocks of documents have sums of their own, from which every number here
 * is formed. Sums are double, losses float. */
#include "analysis/perplexity.h"

#include <math.h>
#include <string.h>

#include "analysis/jackknife.h"
#include "analysis/perplexity_private.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "text/sequences.h"

enum {
    USUAL_BATCH = 16,
    USUAL_LENGTH = 512,
    USUAL_BLOCKS = 20,
    LOGITS = 1 << 26,
    PIECES_AT_ONCE = 256
};

const char *cs_ask_name(cs_ask ask)
{
    static const char *const NAME[] = {"prefix", "append", "remaining", "pseudo"};
    return NAME[ask];
}

int cs_asks_of(cs_kind kind, cs_ask out[4])
{
    if (kind != CS_KIND_MASKED && kind != CS_KIND_MAE) {
        out[0] = CS_ASK_PREFIX;
        return 1;
    }
    out[0] = CS_ASK_APPEND;
    out[1] = CS_ASK_REMAINING;
    out[2] = CS_ASK_PSEUDO;
    return 3;
}

cs_status cs_unigram_of(const cs_corpus *corpus, int64_t vocab, double *nats)
{
    int64_t total = 0;
    for (int64_t v = 0; v < vocab; ++v) {
        nats[v] = 0;
    }
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
               : cs_fail(CS_ERR_INPUT, "no document to take a unigram from: all are held out");
}

static void beside_free(cs_beside *b)
{
    cs_free(b->nll_at);
    cs_free(b->se_at);
}

void cs_perplexity_free(cs_perplexity *p)
{
    cs_free(p->nll_at);
    cs_free(p->se_at);
    cs_free(p->tokens_at);
    beside_free(&p->reference);
    beside_free(&p->difference);
    memset(p, 0, sizeof *p);
}

typedef struct {
    cs_model *model;
    const cs_corpus *corpus;
    cs_perplexity_options options;
    cs_network network;
    cs_network_options sizes;
    cs_asker asker;
    cs_sequences sequences;
    int64_t text_length; /* most tokens of a piece */
    cs_ask_job *job;
    int32_t *order;
    int64_t jobs, room;
    int64_t pieces, last_document, documents;
    float *loss; /* loss rows */
    /* blocks x lengths: weighted losses, weights, weighted losses of the reference (NULL: none) */
    double *sum, *weight, *reference;
    double *bytes;      /* blocks: weighted bytes */
    int64_t *tokens_at; /* lengths: predicted, unweighted */
    int64_t bytes_seen; /* those of the predicted tokens */
} walk;

/* --- options ---------------------------------------------------------------------------------- */

static cs_status check_kind(const cs_perplexity_options *o, const cs_model_config *c)
{
    cs_ask ways[4];
    bool known = false;
    for (int i = 0, n = cs_asks_of(o->kind, ways); i < n; ++i) {
        known = known || ways[i] == o->ask;
    }
    bool causal_decoder = o->kind == CS_KIND_MAE && c->decoder.layers > 0 &&
                          c->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    bool begins =
        (o->kind == CS_KIND_CAUSAL && o->from_nothing && o->befores == 0) || causal_decoder;
    if (!known) {
        return cs_fail(CS_ERR_USAGE, "a %s model cannot be asked by %s", cs_kind_name(o->kind),
                       cs_ask_name(o->ask));
    }
    if (!(o->delta >= 0 && o->delta <= 1)) {
        return cs_fail(CS_ERR_USAGE, "share %g of masks in the encoder is not in [0, 1]", o->delta);
    }
    bool masks = o->kind == CS_KIND_MASKED || (o->kind == CS_KIND_MAE && o->delta > 0);
    if (masks && (c->mask_id < 0 || c->mask_id >= c->vocab)) {
        return cs_fail(CS_ERR_USAGE, "the model has no mask token");
    }
    if (begins && c->bos_id < 0) {
        return cs_fail(CS_ERR_USAGE, "the model has no begin token");
    }
    if (o->kind == CS_KIND_MAE && o->befores + o->afters > 0) {
        return cs_fail(CS_ERR_USAGE, "mae-lm models take no special tokens around a text");
    }
    return CS_OK;
}

static cs_status resolve(const cs_model *model, const cs_corpus *corpus, cs_perplexity_options *o)
{
    const cs_model_config *c = &model->config;
    cs_status status = check_kind(o, c);
    if (status != CS_OK) {
        return status;
    }
    bool table = c->positions > 0 && c->positions < USUAL_LENGTH;
    o->max_length = o->max_length != 0 ? o->max_length : table ? c->positions : USUAL_LENGTH;
    o->batch = o->batch == 0 ? USUAL_BATCH : o->batch;
    o->blocks = o->blocks == 0 ? USUAL_BLOCKS : o->blocks;
    o->blocks = o->blocks < corpus->documents ? o->blocks : corpus->documents;
    int64_t most = c->positions > 0 ? c->positions : 1 << 20;
    if (o->max_length < 1 || o->max_length > most) {
        return cs_fail(CS_ERR_USAGE, "length %lld is not in 1..%lld, the positions of the model",
                       (long long)o->max_length, (long long)most);
    }
    if (o->befores + o->afters >= o->max_length) {
        return cs_fail(CS_ERR_USAGE, "%lld special tokens leave no room in a length of %lld",
                       (long long)(o->befores + o->afters), (long long)o->max_length);
    }
    if (o->fill_length < 0 || o->fill_length > o->max_length - o->befores - o->afters) {
        return cs_fail(CS_ERR_USAGE, "masks up to length %lld, not in 0..%lld",
                       (long long)o->fill_length,
                       (long long)(o->max_length - o->befores - o->afters));
    }
    if (o->batch < 1 || o->batch > 1 << 16 || o->blocks < 1 || o->positions < 0) {
        return cs_fail(CS_ERR_USAGE, "batch %lld, blocks %lld or positions %lld out of range",
                       (long long)o->batch, (long long)o->blocks, (long long)o->positions);
    }
    return CS_OK;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static cs_status check_tokens(const walk *w, int64_t document, const int32_t *token, int64_t n)
{
    int64_t vocab = w->model->config.vocab;
    for (int64_t i = 0; i < n; ++i) {
        if (token[i] < 0 || token[i] >= vocab) {
            return cs_fail(CS_ERR_INPUT,
                           "document %lld: token %d at place %lld is not in 0..%lld, the "
                           "vocabulary of the model",
                           (long long)document, token[i],
                           (long long)(token + i - w->corpus->token - w->corpus->doc_ptr[document]),
                           (long long)vocab - 1);
        }
    }
    return CS_OK;
}

/* The jobs of a piece: one, or one a predicted token (all, or some by selection sampling: each then
 * has the weight left / wanted). */
static void add_jobs(walk *w, int64_t sequence)
{
    const cs_perplexity_options *o = &w->options;
    const cs_sequences *s = &w->sequences;
    int64_t document = s->document[sequence], first = cs_ask_first(o);
    cs_ask_job job = {.token = w->corpus->token + s->start[sequence],
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
    if (o->ask == CS_ASK_PREFIX) {
        cs_ask_measure(o, &w->model->config, &job);
        w->job[w->jobs++] = job;
        return;
    }
    job.weight = (double)left / (double)wanted;
    cs_rng rng = cs_rng_at(o->seed, CS_STREAM_PLAN, (uint64_t)sequence);
    for (int64_t t = first; t < job.n; ++t, --left) {
        if (cs_rng_below(&rng, left) < wanted) {
            --wanted;
            job.target = (int32_t)t;
            cs_ask_measure(o, &w->model->config, &job);
            w->job[w->jobs++] = job;
        }
    }
}

/* By falling number of rows, equal ones in the order of the corpus. */
static cs_status sort_jobs(walk *w)
{
    int64_t most = w->sizes.length;
    int32_t *start = cs_calloc(most + 2, sizeof *start);
    if (!start) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < w->jobs; ++i) {
        ++start[most - w->job[i].rows + 1];
    }
    for (int64_t r = 0; r <= most; ++r) {
        start[r + 1] += start[r];
    }
    for (int64_t i = 0; i < w->jobs; ++i) {
        w->order[start[most - w->job[i].rows]++] = (int32_t)i;
    }
    cs_free(start);
    return CS_OK;
}

/* --- a batch ---------------------------------------------------------------------------------- */

static cs_status add_losses(walk *w)
{
    const cs_perplexity_options *o = &w->options;
    for (int64_t r = 0; r < w->asker.loss_rows; ++r) {
        const cs_ask_job *job = &w->job[w->asker.row[r].job];
        int32_t target = w->asker.row[r].target;
        if (!isfinite(w->loss[r])) {
            return cs_fail(CS_ERR_INPUT, "document %lld, place %lld: the log-probability is %s",
                           (long long)job->document, (long long)(job->place + target),
                           isnan(w->loss[r]) ? "not a number" : "infinite");
        }
        cs_rng rng = cs_rng_at(o->seed, CS_STREAM_SPLIT, (uint64_t)job->document);
        int64_t block = cs_rng_below(&rng, o->blocks);
        int64_t bytes = o->token_bytes ? o->token_bytes[job->token[target]] : 0;
        w->sum[block * w->text_length + target] += job->weight * (double)w->loss[r];
        w->weight[block * w->text_length + target] += job->weight;
        if (o->reference) {
            w->reference[block * w->text_length + target] +=
                job->weight * o->reference[job->token[target]];
        }
        w->bytes[block] += job->weight * (double)bytes;
        w->tokens_at[target] += 1;
        w->bytes_seen += bytes;
    }
    return CS_OK;
}

static cs_status run_batch(walk *w, const int32_t *order, int64_t count)
{
    bool fixed = w->model->params.backend->asynchronous; /* replays one shape */
    int64_t length = w->job[order[0]].rows, losses = 0, batch = count;
    for (int64_t b = 0; b < count; ++b) {
        losses += w->job[order[b]].loss_rows;
    }
    if (fixed) {
        length = w->sizes.length;
        losses = w->sizes.predictions;
        batch = w->sizes.batch;
    }
    cs_status status = cs_ask_fill(&w->asker, w->job, order, count, batch, length, losses);
    if (status == CS_OK && (status = cs_run_upload(w->asker.run, (cs_run_key){0})) == CS_OK &&
        (status = cs_run_forward(w->asker.run)) == CS_OK &&
        (status = cs_run_get_f32(w->asker.run, w->network.loss, w->loss)) == CS_OK) {
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
            status =
                check_tokens(w, s->document[at], w->corpus->token + s->start[at], s->length[at]);
            if (status == CS_OK) {
                add_jobs(w, at);
            }
        }
        if (status == CS_OK) {
            status = sort_jobs(w);
        }
        for (int64_t i = 0; i < w->jobs && status == CS_OK; i += w->sizes.batch) {
            int64_t rest = w->jobs - i;
            if ((status = cs_interrupt_check()) == CS_OK) {
                status = run_batch(w, w->order + i, rest < w->sizes.batch ? rest : w->sizes.batch);
            }
        }
        cs_progress_report(w->options.progress, "pieces", at, s->count);
    }
    return status;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The ratio of the sums of blocks, and its jackknife error over those with something below. room:
 * a number a block. */
static double ratio(int64_t blocks, const double *above, const double *below, double *room,
                    double *se)
{
    double a = 0, b = 0;
    int64_t used = 0;
    for (int64_t i = 0; i < blocks; ++i) {
        a += above[i];
        b += below[i];
    }
    for (int64_t i = 0; i < blocks; ++i) {
        if (below[i] > 0) {
            room[used++] = (a - above[i]) / (b - below[i]);
        }
    }
    *se = cs_jackknife_error(used, room, 1);
    return b > 0 ? a / b : (double)NAN;
}

/* Of weighted losses `sum` less those of `less` (NULL: none), over all tokens and by length. room:
 * three numbers a block. */
static cs_status fill_beside(const walk *w, const double *sum, const double *less, double *room,
                             cs_beside *out)
{
    int64_t blocks = w->options.blocks, lengths = w->text_length;
    double *above = room, *below = room + blocks;
    out->nll_at = cs_alloc(lengths, sizeof *out->nll_at);
    out->se_at = cs_alloc(lengths, sizeof *out->se_at);
    if (!out->nll_at || !out->se_at) {
        return CS_ERR_MEMORY;
    }
    for (int64_t k = 0; k <= lengths; ++k) { /* the last one: all lengths */
        for (int64_t b = 0; b < blocks; ++b) {
            above[b] = below[b] = 0;
            for (int64_t i = k < lengths ? k : 0; i < (k < lengths ? k + 1 : lengths); ++i) {
                int64_t at = b * lengths + i;
                above[b] += sum[at] - (less ? less[at] : 0);
                below[b] += w->weight[at];
            }
        }
        double se, mean = ratio(blocks, above, below, room + 2 * blocks, &se);
        *(k < lengths ? &out->nll_at[k] : &out->nll) = mean;
        *(k < lengths ? &out->se_at[k] : &out->se) = se;
    }
    return CS_OK;
}

/* The reference and the difference; NaN over all where there is none. */
static cs_status compare_reference(const walk *w, double *room, cs_perplexity *p)
{
    p->reference.nll = p->reference.se = p->difference.nll = p->difference.se = (double)NAN;
    cs_status status = CS_OK;
    if (w->reference &&
        (status = fill_beside(w, w->reference, NULL, room, &p->reference)) == CS_OK) {
        status = fill_beside(w, w->sum, w->reference, room, &p->difference);
    }
    return status;
}

static cs_status finish(const walk *w, cs_perplexity *out)
{
    int64_t blocks = w->options.blocks, lengths = w->text_length;
    double *above = cs_calloc(4 * blocks, sizeof *above), *below = NULL, *bytes = NULL;
    double *room = NULL;
    cs_perplexity p = {.documents = w->documents,
                       .pieces = w->pieces,
                       .bytes = w->bytes_seen,
                       .lengths = lengths,
                       .nll_at = cs_alloc(lengths, sizeof(double)),
                       .se_at = cs_alloc(lengths, sizeof(double)),
                       .tokens_at = cs_calloc(lengths, sizeof(int64_t))};
    if (!above || !p.nll_at || !p.se_at || !p.tokens_at) {
        cs_perplexity_free(&p);
        cs_free(above);
        return CS_ERR_MEMORY;
    }
    below = above + blocks;
    bytes = below + blocks;
    room = bytes + blocks;
    for (int64_t k = 0; k < lengths; ++k) {
        for (int64_t b = 0; b < blocks; ++b) {
            above[b] = w->sum[b * lengths + k];
            below[b] = w->weight[b * lengths + k];
        }
        p.tokens_at[k] = w->tokens_at[k];
        p.tokens += w->tokens_at[k];
        p.nll_at[k] = ratio(blocks, above, below, room, &p.se_at[k]);
    }
    for (int64_t b = 0; b < blocks; ++b) {
        above[b] = below[b] = 0;
        bytes[b] = w->bytes[b] * log(2.0);
        for (int64_t k = 0; k < lengths; ++k) {
            above[b] += w->sum[b * lengths + k];
            below[b] += w->weight[b * lengths + k];
        }
        p.blocks += below[b] > 0;
    }
    p.nll = ratio(blocks, above, below, room, &p.se);
    p.bits_per_byte = ratio(blocks, above, bytes, room, &p.bits_se);
    cs_status status = compare_reference(w, above, &p);
    cs_free(above);
    if (status != CS_OK) {
        cs_perplexity_free(&p);
        return status;
    }
    *out = p;
    return CS_OK;
}

/* --- setting up ------------------------------------------------------------------------------- */

static cs_status cut(walk *w)
{
    const cs_corpus *corpus = w->corpus;
    cs_sequences *s = &w->sequences;
    int64_t kept = 0;
    cs_status status = cs_sequences_of(corpus, w->text_length, 0, 1, s, NULL);
    for (int64_t i = 0; status == CS_OK && i < s->count; ++i) {
        if (!w->options.keep || w->options.keep[s->document[i]]) {
            s->start[kept] = s->start[i];
            s->length[kept] = s->length[i];
            s->document[kept++] = s->document[i];
        }
    }
    s->count = kept;
    return status;
}

static cs_status prepare(walk *w)
{
    const cs_perplexity_options *o = &w->options;
    const cs_model_config *c = &w->model->config;
    int64_t length = w->text_length, batch = o->batch;
    bool each = o->ask != CS_ASK_PREFIX;
    while (batch > 1 && batch * (each ? 1 : length) > LOGITS / c->vocab) {
        batch /= 2;
    }
    w->sizes = cs_ask_sizes(o, c, batch, length);
    w->room = PIECES_AT_ONCE * (each ? length : 1);
    cs_status status = cs_network_build(w->model, &w->sizes, &w->network);
    if (status == CS_OK) {
        status = cs_run_init(&w->network.graph, &w->model->params, &w->asker.run);
    }
    w->job = cs_alloc(w->room, sizeof *w->job);
    w->order = cs_alloc(w->room, sizeof *w->order);
    w->loss = cs_alloc(w->sizes.predictions, sizeof *w->loss);
    w->asker.row = cs_alloc(w->sizes.predictions, sizeof *w->asker.row);
    w->sum = cs_calloc(o->blocks * length, sizeof *w->sum);
    w->weight = cs_calloc(o->blocks * length, sizeof *w->weight);
    w->bytes = cs_calloc(o->blocks, sizeof *w->bytes);
    w->tokens_at = cs_calloc(length, sizeof *w->tokens_at);
    w->reference = o->reference ? cs_calloc(o->blocks * length, sizeof *w->reference) : NULL;
    bool ok = w->job && w->order && w->loss && w->asker.row && w->sum && w->weight && w->bytes &&
              w->tokens_at && (w->reference || !o->reference);
    w->asker.config = c;
    w->asker.options = o;
    w->asker.network = &w->network;
    return status == CS_OK && !ok ? CS_ERR_MEMORY : status;
}

cs_status cs_perplexity_of(cs_model *model, const cs_corpus *corpus,
                           const cs_perplexity_options *options, cs_perplexity *out)
{
    walk w = {.model = model, .corpus = corpus, .options = *options, .last_document = -1};
    cs_status status = resolve(model, corpus, &w.options);
    if (status != CS_OK) {
        return status;
    }
    w.text_length = w.options.max_length - w.options.befores - w.options.afters;
    if ((status = cut(&w)) == CS_OK && (status = prepare(&w)) == CS_OK &&
        (status = run_pieces(&w)) == CS_OK) {
        status = w.documents > 0
                     ? finish(&w, out)
                     : cs_fail(CS_ERR_INPUT, "nothing to predict: no piece of %d tokens or more",
                               2 - (int)w.options.from_nothing);
    }
    void *memory[] = {w.job,    w.order,     w.loss,  w.asker.row, w.sum,
                      w.weight, w.reference, w.bytes, w.tokens_at};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i) {
        cs_free(memory[i]);
    }
    cs_run_free(&w.asker.run);
    cs_network_free(&w.network);
    cs_sequences_free(&w.sequences);
    return status;
}
