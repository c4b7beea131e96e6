/* All texts of a batch are at the same step, so that a pass has rows of one length; each has its
 * own generator. A pass rereads what is revealed: no keys and values are kept. */
#include "infer/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/range.h"
#include "base/rng.h"
#include "base/threads.h"
#include "model/pass.h"

enum { LOGITS = 1 << 26, HIDDEN = -1 };

typedef struct {
    double share;
    int32_t id;
} choice;

typedef struct {
    cs_model *model;
    cs_generate_options options;
    bool causal, shifts; /* rows are those of the prefix alone; row i predicts i + 1 */
    int64_t begins;      /* ids before a text */
    int64_t ends;        /* and behind it */
    cs_generated *out;
    cs_pass pass;
    cs_pool pool;
    float *logits;  /* loss rows x vocab */
    int32_t *rank;  /* batch x length: when a token was revealed, HIDDEN: not yet */
    int32_t *order; /* batch x drawn, of random order */
    cs_rng *rng;    /* batch */
    choice *choice; /* vocab */
} drawing;

void cs_generated_free(cs_generated *g)
{
    cs_pool_free(&g->pool);
    *g = (cs_generated){0};
}

/* --- checks ------------------------------------------------------------------------------------ */

cs_status cs_generate_check(cs_kind kind, cs_attention content, cs_reveal order)
{
    if (kind == CS_KIND_LINEAR || kind == CS_KIND_MAE) {
        return cs_fail(CS_ERR_USAGE, "%s models cannot generate text", cs_kind_name(kind));
    }
    const bool left =
        kind == CS_KIND_CAUSAL || (kind == CS_KIND_TWO_STREAM && content == CS_ATTENTION_CAUSAL);
    return !left || order == CS_REVEAL_LEFT
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "a %s model with causal attention generates only from left to right",
                         cs_kind_name(kind));
}

static cs_status check_model(const drawing *d)
{
    const cs_generate_options *o = &d->options;
    const cs_model_config *c = &d->model->config;
    const bool masks = !d->causal && o->kind != CS_KIND_TWO_STREAM;
    if (c->picture.patch > 0 || c->shape.real_width > 0 || c->head.absent || c->head.classes > 0) {
        return cs_fail(CS_ERR_USAGE, "the model does not predict text tokens");
    }
    if (masks && (c->ids.mask < 0 || c->ids.mask >= c->shape.vocab)) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has no mask token; --mask-token names that of a tokenizer");
    }
    if (d->begins > o->around.befores && (c->ids.bos < 0 || c->ids.bos >= c->shape.vocab)) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has no begin token; --bos-token names that of a tokenizer");
    }
    if (o->kind == CS_KIND_TWO_STREAM && d->begins + d->ends > 0) {
        return cs_fail(CS_ERR_USAGE,
                       "two-stream models do not support special tokens around a text");
    }
    if (o->kind == CS_KIND_TWO_STREAM && c->attention.blind_queries) {
        return cs_fail(CS_ERR_USAGE, "blind queries do not know the target position");
    }
    if (o->prompt_length + d->begins == 0 && (d->shifts || o->kind == CS_KIND_TWO_STREAM) &&
        !o->from_nothing) {
        return cs_fail(
            CS_ERR_USAGE,
            "the model was not trained to predict the first token without context; give a prompt");
    }
    return CS_OK;
}

static cs_status check_drawing(const drawing *d)
{
    const cs_generate_options *o = &d->options;
    const cs_model_config *c = &d->model->config;
    cs_status status = cs_generate_check(o->kind, o->content, o->order);
    if (status == CS_OK) status = check_model(d);
    if (status != CS_OK) return status;
    if (o->prompt_length > 0 && o->length <= o->prompt_length) {
        return cs_fail(CS_ERR_USAGE,
                       "a text of %lld tokens with a prompt of %lld leaves nothing to generate",
                       (long long)o->length, (long long)o->prompt_length);
    }
    if (o->count < 1 || o->batch < 1 || o->length < 1 || o->prompt_length < 0) {
        return cs_fail(
            CS_ERR_USAGE,
            "out of range: %lld texts of %lld tokens after a prompt of %lld, %lld per batch",
            (long long)o->count, (long long)o->length, (long long)o->prompt_length,
            (long long)o->batch);
    }
    if (c->shape.positions > 0 && o->length + d->begins + d->ends > c->shape.positions) {
        return cs_fail(CS_ERR_USAGE, "length %lld%s exceeds the %lld positions of the model",
                       (long long)o->length,
                       o->around.befores + d->ends > 0 ? " and the special tokens around it"
                       : d->begins > 0                 ? " and a begin token"
                                                       : "",
                       (long long)c->shape.positions);
    }
    if (!(o->temperature >= 0 && isfinite(o->temperature)) || !(o->top_p > 0 && o->top_p <= 1)) {
        return cs_fail(CS_ERR_USAGE, "temperature %g or top-p %g is out of range", o->temperature,
                       o->top_p);
    }
    for (int64_t i = 0; i < o->prompt_length; ++i) {
        if (o->prompt[i] < 0 || o->prompt[i] >= c->shape.vocab) {
            return cs_fail(CS_ERR_INPUT,
                           "token %d at position %lld of the prompt is not in 0..%lld",
                           o->prompt[i], (long long)i, (long long)c->shape.vocab - 1);
        }
    }
    return CS_OK;
}

/* --- rows -------------------------------------------------------------------------------------- */

/* The next loss row is of place k of text b. What it predicts is not known: any token will do. */
static void ask(drawing *d, int64_t b, int64_t k, int64_t top)
{
    cs_batch_predict(&d->pass.batch, top, 0, 1, b, k);
}

/* `rows` places of text b, with the ids around them. */
static cs_text_rows text_of(drawing *d, int64_t b, int64_t rows)
{
    const cs_special_tokens *around = &d->options.around;
    return (cs_text_rows){.batch = &d->pass.batch,
                          .config = &d->model->config,
                          .b = b,
                          .before =
                              around->befores > 0 ? around->before : &d->model->config.ids.bos,
                          .befores = d->begins,
                          .after = around->after,
                          .token = d->out->token + b * d->options.length,
                          .tokens = rows};
}

/* One stream: all rows, with [MASK] for hidden ones. */
static void fill_rows(drawing *d, int64_t b, int64_t rows)
{
    const cs_text_rows text = text_of(d, b, rows);
    cs_text_rows_fill(&text, d->begins + rows + d->ends, d->causal);
    for (int64_t k = 0; k < rows; ++k) {
        if (d->rank[b * d->options.length + k] == HIDDEN)
            d->pass.batch.token[b * d->pass.batch.length + d->begins + k] =
                d->model->config.ids.mask;
    }
}

/* Content rows of what is revealed; by plans a row sees those revealed up to it. */
static void fill_content(drawing *d, int64_t b)
{
    const int64_t length = d->options.length;
    const cs_text_rows text = text_of(d, b, length);
    const cs_attention sees = d->options.content;
    for (int64_t k = 0, i = 0; k < length; ++k) {
        const int32_t rank = d->rank[b * length + k];
        if (rank != HIDDEN) {
            cs_text_row(&text, i++, d->begins + k, k,
                        sees == CS_ATTENTION_PLAN     ? rank
                        : sees == CS_ATTENTION_CAUSAL ? (int32_t)k
                                                      : 0);
        }
    }
}

/* Text b at step j: its place, or all hidden ones where confidence decides. */
static void fill_text(drawing *d, int64_t b, int64_t j)
{
    const cs_generate_options *o = &d->options;
    const int64_t prompt = o->prompt_length;
    const bool queries = o->kind == CS_KIND_TWO_STREAM;
    int64_t first = prompt + j, end = first + 1;
    if (o->order == CS_REVEAL_RANDOM) {
        first = prompt + d->order[b * d->out->drawn + j];
        end = first + 1;
    } else if (o->order == CS_REVEAL_CONFIDENCE) {
        first = prompt;
        end = o->length;
    }
    if (queries) {
        fill_content(d, b);
    } else {
        fill_rows(d, b, d->causal ? prompt + j : o->length);
    }
    for (int64_t k = first, q = b * d->pass.batch.queries; k < end; ++k) {
        if (d->rank[b * o->length + k] != HIDDEN) {
            continue;
        }
        if (queries) {
            cs_batch_query(&d->pass.batch, q, cs_batch_position(&d->model->config, k),
                           INT32_MAX - 1);
            ask(d, b, k, q++);
        } else {
            ask(d, b, k, b * d->pass.batch.length + d->begins + k - d->shifts);
        }
    }
}

/* --- a token ----------------------------------------------------------------------------------- */

static int falling(const void *x, const void *y)
{
    const choice *a = x, *b = y;
    return a->share != b->share ? (a->share < b->share ? 1 : -1)
                                : (a->id > b->id) - (a->id < b->id);
}

static int64_t likeliest(const float *z, int64_t vocab)
{
    int64_t best = 0;
    for (int64_t v = 1; v < vocab; ++v) {
        best = z[v] > z[best] ? v : best;
    }
    return best;
}

/* log sum_v exp(z_v / temperature) less the largest term's. */
static double log_sum(const float *z, int64_t vocab, double temperature)
{
    const double most = (double)z[likeliest(z, vocab)];
    double sum = 0;
    for (int64_t v = 0; v < vocab; ++v) {
        sum += exp(((double)z[v] - most) / temperature);
    }
    return log(sum);
}

static int32_t draw(drawing *d, const float *z, cs_rng *rng)
{
    const cs_generate_options *o = &d->options;
    const int64_t vocab = d->model->config.shape.vocab, best = likeliest(z, vocab);
    if (o->temperature == 0) {
        return (int32_t)best;
    }
    const double sum = exp(log_sum(z, vocab, o->temperature));
    double whole = 0, below = 0;
    int64_t kept = vocab;
    for (int64_t v = 0; v < vocab; ++v) {
        d->choice[v] =
            (choice){exp(((double)z[v] - (double)z[best]) / o->temperature) / sum, (int32_t)v};
    }
    if (o->top_p < 1) {
        qsort(d->choice, (size_t)vocab, sizeof *d->choice, falling);
        for (kept = 0; kept < vocab && whole < o->top_p; ++kept) {
            whole += d->choice[kept].share;
        }
    }
    const double u = cs_rng_uniform(rng) * (o->top_p < 1 ? whole : 1);
    int64_t at = 0;
    for (; at + 1 < kept && (below += d->choice[at].share) <= u; ++at) {
    }
    return d->choice[at].id;
}

/* Of the loss rows of a text, which follow one another, the one to reveal. */
static int64_t choose(const drawing *d, int64_t first, int64_t end)
{
    const int64_t vocab = d->model->config.shape.vocab;
    int64_t best = first;
    double least = INFINITY;
    for (int64_t r = first; r < end; ++r) { /* -log of the largest probability */
        const double log_most = log_sum(d->logits + r * vocab, vocab, 1);
        best = log_most < least ? r : best;
        least = log_most < least ? log_most : least;
    }
    return best;
}

static cs_status reveal(drawing *d, int64_t text, int64_t count, int64_t j)
{
    const cs_batch *batch = &d->pass.batch;
    const int64_t vocab = d->model->config.shape.vocab, length = d->options.length;
    for (int64_t b = 0, r = 0; b < count; ++b) {
        const int64_t first = r;
        while (r < batch->events && batch->loss.example[r] == b) {
            ++r;
        }
        const int64_t row = choose(d, first, r), k = batch->loss.place[row];
        const float *z = d->logits + row * vocab;
        for (int64_t v = 0; v < vocab; ++v) {
            if (!isfinite(z[v])) {
                return cs_fail(CS_ERR_INPUT, "text %lld, position %lld: a logit is not finite",
                               (long long)(text + b), (long long)k);
            }
        }
        const int32_t token = draw(d, z, &d->rng[b]);
        d->out->token[b * length + k] = token;
        d->out->place[b * d->out->drawn + j] = (int32_t)k;
        d->out->nll[b] += log_sum(z, vocab, 1) + (double)z[likeliest(z, vocab)] - (double)z[token];
        d->rank[b * length + k] = (int32_t)(j + 1);
    }
    return CS_OK;
}

/* --- batches ----------------------------------------------------------------------------------- */

/* Loss rows of a text at step j. */
static int64_t asked(const drawing *d, int64_t j)
{
    return d->options.order == CS_REVEAL_CONFIDENCE ? d->out->drawn - j : 1;
}

static cs_status draw_batch(drawing *d, int64_t text, int64_t count)
{
    const cs_generate_options *o = &d->options;
    const int64_t length = o->length, drawn = d->out->drawn;
    cs_status status = CS_OK;
    for (int64_t b = 0; b < count; ++b) {
        d->rng[b] = cs_rng_at(o->seed, CS_STREAM_TEXT, (uint64_t)(text + b));
        cs_rng_permutation(&d->rng[b], drawn, d->order + b * drawn);
        for (int64_t k = 0; k < length; ++k) {
            const bool given = k < o->prompt_length;
            d->out->token[b * length + k] = given ? o->prompt[k] : 0;
            d->rank[b * length + k] = given ? 0 : HIDDEN;
        }
    }
    for (int64_t j = 0; j < drawn && status == CS_OK; ++j) {
        const int64_t most =
            d->causal || o->kind == CS_KIND_TWO_STREAM ? o->prompt_length + j : length;
        status = cs_interrupt_check();
        if (status == CS_OK)
            status =
                cs_pass_begin(&d->pass, count, cs_most(d->begins + most + d->ends, asked(d, j)),
                              count * asked(d, j));
        for (int64_t b = 0; b < count && status == CS_OK; ++b) {
            fill_text(d, b, j);
        }
        if (status == CS_OK) status = cs_pass_forward(&d->pass, 1, (cs_run_key){0});
        if (status == CS_OK)
            status = cs_run_get_f32(d->pass.run, d->pass.network.loss.logits, d->logits);
        if (status == CS_OK) status = reveal(d, text, count, j);
    }
    return status;
}

static cs_status prepare(drawing *d)
{
    cs_generate_options *o = &d->options;
    const cs_model_config *c = &d->model->config;
    cs_generated *g = d->out;
    const int64_t rows = asked(d, 0);
    o->batch = cs_least(o->batch, o->count);
    while (o->batch > 1 && o->batch * rows > LOGITS / c->shape.vocab) {
        o->batch /= 2;
    }
    const bool queries = o->kind == CS_KIND_TWO_STREAM;
    const cs_network_options sizes = {.form = queries ? CS_FORM_TWO_STREAM : CS_FORM_SINGLE,
                                      .loss = CS_LOSS_CROSS_ENTROPY,
                                      .batch = o->batch,
                                      .length = o->length + d->begins + d->ends,
                                      .queries = queries ? o->length : 0,
                                      .predictions = o->batch * rows};
    cs_status status = cs_pass_open(d->model, &sizes, &d->pass);
    if (status != CS_OK) return status;
    CS_POOL_FIELDS(&d->pool, o->batch * o->length, d, rank);
    CS_POOL_FIELDS(&d->pool, o->batch * g->drawn, d, order);
    CS_POOL_FIELDS(&d->pool, o->batch * rows * c->shape.vocab, d, logits);
    CS_POOL_FIELDS(&d->pool, o->batch, d, rng);
    CS_POOL_FIELDS(&d->pool, c->shape.vocab, d, choice);
    return d->pool.status;
}

cs_status cs_generate(cs_model *model, const cs_generate_options *options, cs_generated *out)
{
    const cs_kind kind = options->kind;
    const bool hybrid = kind == CS_KIND_HYBRID;
    cs_generated g = {.count = options->count, .length = options->length};
    cs_generated here = {.length = g.length};
    drawing d = {.model = model, .options = *options, .out = &here};
    d.causal = kind == CS_KIND_CAUSAL || (hybrid && options->order == CS_REVEAL_LEFT);
    d.shifts = cs_kind_shifts(kind);
    d.begins = cs_most(options->around.befores, d.shifts && options->from_nothing);
    d.ends = d.causal ? 0 : options->around.afters;
    cs_status status = check_drawing(&d);
    if (status != CS_OK) return status;
    g.drawn = here.drawn = g.length - options->prompt_length;
    CS_POOL_FIELDS(&g.pool, g.count * g.length, &g, token);
    CS_POOL_FIELDS(&g.pool, g.count * g.drawn, &g, place);
    CS_POOL_FIELDS(&g.pool, g.count, &g, nll);
    status = g.pool.status == CS_OK ? prepare(&d) : g.pool.status;
    for (int64_t at = 0; at < g.count && status == CS_OK; at += d.options.batch) {
        here.token = g.token + at * g.length;
        here.place = g.place + at * g.drawn;
        here.nll = g.nll + at;
        status = draw_batch(&d, at, cs_least(g.count - at, d.options.batch));
        cs_progress_report(options->progress, "texts", at, g.count);
    }
    cs_pool_free(&d.pool);
    cs_pass_close(&d.pass);
    return CS_DELIVER(status, out, g, cs_generated_free);
}

/* --- record ----------------------------------------------------------------------------------- */

cs_status cs_generated_record(const cs_generated *g, const cs_generate_options *options,
                              const cs_tokenizer *tokenizer, cs_item *root)
{
    static const char *const order[] = {"left", "random", "confidence"};
    cs_status status = CS_OK;
    cs_item_text(root, "kind", cs_kind_name(options->kind));
    cs_item_text(root, "order", order[options->order]);
    CS_ITEM_FIELDS(root, options, temperature, top_p, length);
    cs_item_int(root, "prompt_tokens", options->prompt_length);
    int64_t unfilled = 0;
    for (int64_t i = 0; i < options->prompt_length; ++i) {
        unfilled += cs_kind_masks(options->kind) &&
                    options->prompt[i] == cs_tokenizer_special(tokenizer, CS_TOKEN_MASK);
    }
    if (unfilled > 0) {
        cs_item_take(cs_item_array(root, "warnings"), NULL,
                     cs_format("the prompt keeps its %lld mask tokens; tokens are "
                               "generated after the prompt",
                               (long long)unfilled));
    }
    cs_item *texts = cs_item_array(root, "texts");
    for (int64_t i = 0; i < g->count && status == CS_OK; ++i) {
        cs_item *item = cs_item_object(texts, NULL);
        const int32_t *token = g->token + i * g->length, *place = g->place + i * g->drawn;
        char *text = NULL;
        int64_t size = 0;
        status = cs_tokenizer_decode(tokenizer, token, g->length, false, &text, &size);
        cs_item_take(item, "text", text);
        cs_item_real(item, "nll", g->nll[i]);
        cs_item *tokens = cs_item_array(item, "tokens"), *places = cs_item_array(item, "places");
        for (int64_t k = 0; k < g->length; ++k) {
            cs_item_int(tokens, NULL, token[k]);
        }
        for (int64_t j = 0; j < g->drawn; ++j) {
            cs_item_int(places, NULL, place[j]);
        }
    }
    return status;
}
