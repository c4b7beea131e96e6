/* The rows that each kind of model reads when a token is to be predicted. Attention masks are those
 * of training (src/train/batch.h): row i sees row j iff vis[j] <= lim[i]. */
#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "infer/document_pieces.h"
#include "infer/perplexity_private.h"
#include "plan/ratio.h"

int64_t cs_ask_first(const cs_perplexity_options *o)
{
    const bool each = o->ask == CS_ASK_PSEUDO && !cs_kind_shifts(o->kind);
    return each || o->from_nothing || o->decoder ? 0 : 1;
}

bool cs_ask_each(const cs_perplexity_options *o)
{
    return o->ask == CS_ASK_PREFIX ? o->kind == CS_KIND_TWO_STREAM && o->content
                                   : o->ask != CS_ASK_ELBO;
}

cs_rng cs_ask_rng(const cs_perplexity_options *o, const cs_score_job *job)
{
    const uint64_t piece = ((uint64_t)job->document << 20) + (uint64_t)job->place;
    return cs_rng_at(o->seed, CS_STREAM_PLAN, piece * (uint64_t)o->positions + (uint64_t)job->draw);
}

int64_t cs_ask_begins(const cs_perplexity_options *o)
{
    return cs_most(o->around.befores, cs_kind_shifts(o->kind) && o->from_nothing);
}

int64_t cs_score_extra_rows(const cs_perplexity_options *o)
{
    return (o->ask == CS_ASK_PREFIX ? o->around.befores : cs_ask_begins(o)) + o->around.afters;
}

cs_network_options cs_ask_sizes(const cs_perplexity_options *o, const cs_model_config *config,
                                int64_t batch, int64_t length)
{
    static const cs_form FORM[] = {
        [CS_KIND_CAUSAL] = CS_FORM_SINGLE,         [CS_KIND_MASKED] = CS_FORM_SINGLE,
        [CS_KIND_TWO_STREAM] = CS_FORM_TWO_STREAM, [CS_KIND_MAE] = CS_FORM_MAE,
        [CS_KIND_LINEAR] = CS_FORM_LINEAR,         [CS_KIND_MNTP] = CS_FORM_SINGLE,
        [CS_KIND_HYBRID] = CS_FORM_SINGLE};
    cs_network_options sizes = {.form = o->decoder ? CS_FORM_MAE : FORM[o->kind],
                                .loss = CS_LOSS_CROSS_ENTROPY,
                                .batch = batch,
                                .length = cs_most(length + cs_score_extra_rows(o), o->source_rows),
                                .predictions = cs_ask_each(o) ? batch : batch * length};
    const int64_t most = cs_model_config_positions(config);
    if (most > 0 && sizes.length > most) {
        sizes.length = most;
    }
    bool queries = sizes.form == CS_FORM_TWO_STREAM || sizes.form == CS_FORM_LINEAR;
    sizes.queries = queries ? sizes.length : 0;
    sizes.decoder_length = sizes.form == CS_FORM_MAE ? sizes.length : 0;
    return sizes;
}

/* The length that masks fill the piece to. */
static int64_t filled(const cs_perplexity_options *o, const cs_score_job *job)
{
    int64_t s = o->fill_length > job->n ? o->fill_length : job->n;
    return o->ask == CS_ASK_APPEND ? job->target + 1 : o->ask >= CS_ASK_PSEUDO ? job->n : s;
}

void cs_ask_measure(const cs_perplexity_options *o, const cs_model_config *config,
                    cs_score_job *job)
{
    int64_t rows = cs_score_extra_rows(o);
    switch (o->kind) {
    case CS_KIND_CAUSAL:
    case CS_KIND_HYBRID: /* causal: the last token is only predicted */
        rows = o->decoder                ? cs_most(rows + job->n, o->source_rows)
               : o->ask == CS_ASK_PREFIX ? cs_ask_begins(o) + job->n - 1
                                         : rows + filled(o, job);
        break;
    case CS_KIND_TWO_STREAM:
    case CS_KIND_LINEAR:
        rows = o->around.befores + (cs_ask_each(o) ? job->target : job->n);
        break;
    case CS_KIND_MASKED:
    case CS_KIND_MNTP:
        rows += filled(o, job);
        break;
    default:
        rows += filled(o, job);
        rows = config->decoder.attention == CS_DECODER_CROSS && rows < job->n ? job->n : rows;
        break;
    }
    job->rows = (int32_t)(rows > 1 ? rows : 1);
    job->loss_rows = o->ask == CS_ASK_ELBO ? job->masked
                     : cs_ask_each(o)      ? 1
                                           : job->n - (int32_t)cs_ask_first(o);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A job on its way into sequence b of a batch. */
typedef struct {
    const cs_perplexity_options *options;
    const cs_model_config *config;
    const cs_score_job *job;
    int32_t number;
    int64_t b;
    cs_batch *batch;
    cs_text_rows text; /* the piece with the ids before it */
} filler;

/* [MASK] in row i, at its place. */
static void mask(const filler *f, int64_t i)
{
    cs_text_row_shown(&f->text, i, -1, f->config->ids.mask, i, 0);
}

/* The piece with a begin token, where its first token is predicted from nothing. */
static cs_text_rows begun(const filler *f)
{
    cs_text_rows text = f->text;
    text.befores = cs_ask_begins(f->options);
    text.before = f->options->around.befores == 0 ? &f->config->ids.bos : text.before;
    return text;
}

/* The next loss row reads row `top` and predicts a token of the job. */
static void ask(const filler *f, int64_t top, int64_t target)
{
    cs_batch_predict(f->batch, top, f->job->token[target], 1, f->number, target);
}

/* The class token of pictures is of the first group that training shows, and sees it. */
static void join_first(const filler *f)
{
    if (cs_model_config_extra(f->config) > 0) {
        f->batch->lim[f->b * f->batch->length] += (int32_t)cs_ask_first(f->options);
    }
}

static void fill_causal(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    const cs_text_rows text = begun(f);
    const int64_t before = text.befores, row = f->b * f->batch->length;
    cs_text_rows_fill(&text, before + f->job->n - 1, true);
    join_first(f);
    for (int64_t t = cs_ask_first(o); t < f->job->n; ++t) {
        ask(f, row + before + t - 1, t);
    }
}

/* Queries at the positions of the tokens that they predict; linear attention reads no position. */
static void fill_queries(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    int64_t before = o->around.befores, q = f->b * f->batch->queries;
    cs_text_rows_fill(&f->text, before + f->job->n, true);
    join_first(f);
    for (int64_t t = cs_ask_first(o); t < f->job->n; ++t, ++q) {
        cs_batch_query(f->batch, q, cs_batch_position(f->config, before + t),
                       (int32_t)(before + t - 1));
        ask(f, q, t);
    }
}

/* The prefix of one token under the chosen masks, and a query that sees all of it. */
static cs_status fill_prefix(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    const cs_score_job *job = f->job;
    const int64_t n = o->around.befores + job->target;
    const uint64_t piece = ((uint64_t)job->document << 20) + (uint64_t)(job->place + job->target);
    CS_AUTO_FREE int32_t *rank = cs_alloc(n + 1, sizeof *rank);
    cs_status status =
        rank ? cs_content_ranks(o->content, piece, job->draw, n, rank) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        cs_text_row(&f->text, i, i, i, rank[i]);
    }
    const int64_t q = f->b * f->batch->queries;
    cs_batch_query(f->batch, q, cs_batch_position(f->config, n), INT32_MAX - 1);
    ask(f, q, job->target);
    return status;
}

/* Whether token t of the piece is shown when the job's target is predicted. */
static bool shown(const filler *f, int64_t t)
{
    return f->options->ask == CS_ASK_PSEUDO ? t != f->job->target : t < f->job->target;
}

static void fill_masked(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    cs_text_rows text = begun(f);
    const int64_t before = text.befores, s = filled(o, f->job);
    const int64_t top = f->b * f->batch->length + before + f->job->target;
    text.tokens = s; /* [MASK] beyond those of the piece */
    ask(f, top - cs_kind_shifts(o->kind), f->job->target);
    for (int64_t i = 0; i < before + s + o->around.afters; ++i) {
        if (i < before || i >= before + s || shown(f, i - before)) {
            cs_text_row(&text, i, i, i, 0);
        } else {
            mask(f, i);
        }
    }
}

/* A mask of the job's number of tokens; all sets of this size have the same probability. */
static void fill_elbo(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    const int64_t before = o->around.befores, row = f->b * f->batch->length;
    cs_rng rng = cs_ask_rng(o, f->job);
    (void)cs_rng_uniform(&rng);
    int64_t left = f->job->n, wanted = f->job->masked;
    for (int64_t i = 0; i < before + f->job->n + o->around.afters; ++i) {
        if (i >= before && left > 0 && cs_rng_selects(&rng, &left, &wanted)) {
            mask(f, i);
            ask(f, row + i, i - before);
        } else {
            cs_text_row(&f->text, i, i, i, 0);
        }
    }
}

/* The encoder of two stacks reads the source or the piece, the decoder the piece shifted right. */
static void fill_decoder(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    cs_text_rows text = f->text;
    if (o->sources) text.tokens = cs_source_of(o->sources, f->job->document, &text.token);
    cs_text_rows_fill(&text, text.befores + text.tokens + o->around.afters, false);
    for (int64_t t = 0; t < f->job->n; ++t) {
        const int32_t before = t > 0 ? f->job->token[t - 1] : f->config->decoder.start;
        ask(f, cs_batch_decoder(f->batch, f->config, f->b, t, t, -1, before), t);
    }
}

/* The encoder reads what is shown, and [MASK] at the first masked places where it was trained with
 * some; rows of the decoder by its kind. The class token is part of both. */
static void fill_mae(const filler *f)
{
    const cs_perplexity_options *o = f->options;
    cs_decoder_attention attention = f->config->decoder.attention;
    cs_mae_rows rows = {.text = f->text};
    int64_t s = filled(o, f->job), target = f->job->target;
    const int64_t extra = o->around.befores, first = f->b * f->batch->decoder_length;
    int64_t kept = cs_ratio_round(o->delta, o->ask == CS_ASK_PSEUDO ? 1 : s - target);
    for (int64_t i = 0; i < extra; ++i) {
        (void)cs_mae_row(&rows, i, o->around.before[i], i, false, attention != CS_DECODER_CROSS);
    }
    for (int64_t t = 0; t < s; ++t) {
        bool taken = shown(f, t), stays = !taken && kept > 0;
        bool beyond = attention == CS_DECODER_CAUSAL_CROSS && t > target;
        kept -= stays;
        (void)cs_mae_row(&rows, extra + t,
                         taken   ? f->job->token[t]
                         : stays ? f->config->ids.mask
                                 : -1,
                         extra + t, stays && o->decoder_resets,
                         attention != CS_DECODER_CROSS && !beyond);
    }
    ask(f,
        attention == CS_DECODER_CROSS ? cs_mae_row(&rows, extra + target, -1, 0, false, true)
                                      : first + extra + target,
        target);
}

cs_status cs_ask_fill(const cs_perplexity_options *o, const cs_model_config *config,
                      const cs_score_job *job, int32_t number, int64_t b, cs_batch *batch)
{
    static void (*const FILL[])(const filler *) = {
        [CS_KIND_CAUSAL] = fill_causal,      [CS_KIND_MASKED] = fill_masked,
        [CS_KIND_TWO_STREAM] = fill_queries, [CS_KIND_MAE] = fill_mae,
        [CS_KIND_LINEAR] = fill_queries,     [CS_KIND_MNTP] = fill_masked,
        [CS_KIND_HYBRID] = fill_masked};
    const filler f = {.options = o,
                      .config = config,
                      .job = job,
                      .number = number,
                      .b = b,
                      .batch = batch,
                      .text = {.batch = batch,
                               .config = config,
                               .b = b,
                               .before = o->around.before,
                               .befores = o->around.befores,
                               .after = o->around.after,
                               .token = job->token,
                               .tokens = job->n,
                               .real = job->real,
                               .extra = job->extra}};
    if (o->kind == CS_KIND_TWO_STREAM && cs_ask_each(o)) {
        return fill_prefix(&f);
    }
    if (o->ask == CS_ASK_ELBO) {
        fill_elbo(&f);
        return CS_OK;
    }
    if (o->decoder) {
        fill_decoder(&f);
        return CS_OK;
    }
    FILL[o->ask == CS_ASK_PREFIX && o->kind == CS_KIND_HYBRID ? CS_KIND_CAUSAL : o->kind](&f);
    return CS_OK;
}
