/* Pieces are processed in windows of the corpus. Within a window they are sorted by length and
 * computed in batches, each into its own place of a buffer, and the buffer is passed on in the
 * order of the corpus. Windows and batches depend only on the options, and therefore so do the
 * shapes of matrix products and the bits.
 *
 * Pooling keeps one double vector per piece and layer; documents are assembled from their pieces as
 * the window is passed on, across windows if necessary.
 */
#include "infer/hidden_states.h"

#include <math.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "infer/document_pieces.h"
#include "infer/hidden_private.h"
#include "model/pass.h"
#include "plan/ratio.h"
#include "train/ahead.h"

enum {
    PIECES_IN_WINDOW = 64, /* batches */
    WINDOW_NUMBERS = 1 << 26,
    LOGITS = 1 << 26,
    PIECE_BITS = 20
};

/* A piece in the window. */
typedef struct {
    int64_t start, document; /* first token in the corpus */
    int32_t number;          /* piece of the document */
    int32_t tokens;          /* of the text */
    int32_t rows;            /* that the model reads: special ones, without dropped ones */
    int64_t first;           /* row in the window's buffers */
} piece;

typedef struct {
    cs_pool pool; /* of the window and the document under way */
    cs_model *model;
    const cs_corpus *corpus;
    cs_hidden_options options;
    cs_pass pass;
    cs_sequences sequences;
    int64_t width;
    /* window */
    int64_t capacity, pieces; /* pieces */
    int64_t row_capacity, rows;
    piece *piece;
    int32_t *order;
    cs_hidden_row *about; /* rows */
    int64_t planes;       /* cs_hidden_planes */
    float **state;        /* planes: rows x width; pooled: documents x width */
    float *scratch;       /* one layer of a batch */
    int32_t *rank;        /* rows of a piece */
    int64_t source;       /* rows of the longest source; 0: the encoder reads the pieces */
    double **pooled;      /* planes: pieces x width */
    double *once;         /* width: a pooled vector of one draw */
    /* where the vectors of the corpus are read when they are needed: of a batch, and of the next */
    cs_train_view view;
    cs_ahead ahead;
    cs_ahead_batch wanted;
    float *values; /* of the batch */
    float *loss;   /* of the tokens of a batch */
    bool one_row;  /* the network's top has only the row of each piece that is pooled */
    /* the document under way, pooled */
    int64_t document, document_rows;
    double *sum; /* planes x width */
} walk;

static cs_pooling pooling_of(const walk *w, int64_t plane)
{
    const cs_hidden_options *o = &w->options;
    return o->pooling == CS_POOL_EACH ? (cs_pooling)(CS_POOL_MEAN + plane / o->layers)
           : plane < o->layers        ? o->pooling
                                      : (cs_pooling)(CS_POOL_MEAN + plane - o->layers);
}

/* The place of a plane's layer. */
static int64_t layer_of(const walk *w, int64_t plane)
{
    const cs_hidden_options *o = &w->options;
    return o->pooling == CS_POOL_EACH || plane < o->layers ? plane % o->layers : o->layers - 1;
}

const char *cs_pooling_name(cs_pooling pooling)
{
    static const char *const name[] = {"none", "mean", "first", "last"};
    return name[pooling];
}

int64_t cs_hidden_planes(const cs_hidden_options *o)
{
    return o->pooling == CS_POOL_EACH ? o->layers * CS_POOLINGS
                                      : o->layers + (o->poolings ? CS_POOLINGS : 0);
}

/* --- pieces ------------------------------------------------------------------------------------*/

static int64_t masked_of(const cs_hidden_options *o, int64_t n)
{
    return o->mask_ratio > 0 && n > 1 ? cs_ratio_masked(o->mask_ratio, n) : 0;
}

static int64_t rows_of(const cs_hidden_options *o, int64_t n)
{
    return o->around.befores + n + o->around.afters - (o->drop_masked ? masked_of(o, n) : 0);
}

static cs_status cut(const cs_corpus *corpus, const cs_hidden_options *o, cs_sequences *s)
{
    cs_status status = cs_pieces_of(corpus, o->keep, o->split,
                                    o->max_length - o->around.befores - o->around.afters, s);
    return status == CS_OK && s->count == 0
               ? cs_fail(CS_ERR_INPUT, "no document is left to compute hidden states of")
               : status;
}

cs_status cs_hidden_rows(const cs_model *model, const cs_corpus *corpus,
                         const cs_hidden_options *options, int64_t *out)
{
    cs_hidden_options o = *options;
    CS_AUTO(cs_sequences) s = {0};
    int64_t rows = 0;
    cs_status status = cs_hidden_resolve(model, &o);
    if (status == CS_OK) status = cut(corpus, &o, &s);
    for (int64_t i = 0; status == CS_OK && i < s.count; ++i) {
        bool first = i == 0 || s.document[i] != s.document[i - 1];
        rows += o.pooling == CS_POOL_NONE ? rows_of(&o, s.length[i]) : first;
    }
    *out = rows;
    return status;
}

/* Of all pieces of the corpus: what its random numbers are drawn by. */
static uint64_t number_of(const piece *p)
{
    return (uint64_t)p->document << PIECE_BITS | (uint64_t)p->number;
}

/* Describes the token of each row of a piece. */
static void describe(const walk *w, const piece *p)
{
    const cs_hidden_options *o = &w->options;
    const cs_replacement replacement =
        cs_replacement_of(&w->model->config, o->mask_keep, o->mask_random);
    cs_hidden_row *row = w->about + p->first;
    cs_rng rng = cs_rng_at(o->mask_seed, CS_STREAM_REPLACE, number_of(p));
    cs_rng show = cs_rng_at(o->mask_seed, CS_STREAM_SHOWN, number_of(p));
    int64_t tokens = p->tokens, left = masked_of(o, tokens);
    for (int64_t i = 0; i < o->around.befores + p->tokens + o->around.afters; ++i) {
        int64_t t = i - o->around.befores;
        bool text = t >= 0 && t < p->tokens;
        bool masked = text && cs_rng_selects(&rng, &tokens, &left);
        if (masked && o->drop_masked) {
            continue;
        }
        int32_t token = text    ? w->corpus->token[p->start + t]
                        : t < 0 ? o->around.before[i]
                                : o->around.after[t - p->tokens];
        *row++ = (cs_hidden_row){.document = p->document,
                                 .piece = p->number,
                                 .position = (int32_t)i,
                                 .token = token,
                                 .shown = masked ? cs_replacement_draw(&replacement, &show, token)
                                                 : token,
                                 .masked = masked,
                                 .special = !text};
    }
}

/* --- a batch -----------------------------------------------------------------------------------*/

/* The text that sequence b of a batch reads: the piece with the ids around it. */
static cs_text_rows text_of(walk *w, const piece *p, int64_t b)
{
    const cs_corpus *c = w->corpus;
    const cs_special_tokens *around = &w->options.around;
    return (cs_text_rows){.batch = &w->pass.batch,
                          .config = &w->model->config,
                          .b = b,
                          .before = around->before,
                          .befores = around->befores,
                          .after = around->after,
                          .token = c->token + p->start,
                          .tokens = p->tokens,
                          .real = c->vectors ? w->values + b * w->ahead.apart
                                  : c->real  ? c->real + p->start * c->real_width
                                             : NULL,
                          .extra = c->extra ? c->extra + p->document * c->extra_width : NULL};
}

static cs_status fill_rows(walk *w, const piece *p, int64_t b, int64_t draw)
{
    cs_text_rows text = text_of(w, p, b);
    cs_status status = cs_content_ranks(&w->options.masks, number_of(p), draw, p->rows, w->rank);
    for (int64_t i = 0; i < p->rows && status == CS_OK; ++i) {
        const cs_hidden_row *about = w->about + p->first + i;
        if (w->source == 0) {
            cs_text_row_shown(&text, i, about->position, about->shown, about->position, w->rank[i]);
        }
        if (w->options.decoder) {
            (void)cs_batch_decoder(&w->pass.batch, &w->model->config, b, i, i, -1,
                                   i == 0 ? w->model->config.decoder.start : about[-1].shown);
        }
    }
    if (status == CS_OK && w->source > 0) { /* which the encoder reads in place of the piece */
        text.tokens = cs_source_of(w->options.sources, p->document, &text.token);
        cs_text_rows_fill(&text, text.befores + text.tokens + w->options.around.afters, false);
    }
    return status;
}

/* The row of a piece that is pooled, where it is one. */
static int64_t pooled_row(cs_pooling pooling, const piece *p)
{
    return pooling == CS_POOL_LAST ? p->rows - 1 : 0;
}

/* Rows of a piece added to its pooled vector: the mean over the draws so far. */
static void pool_piece(const walk *w, int64_t plane, const piece *p, const float *rows,
                       int64_t draw)
{
    const cs_pooling pooling = pooling_of(w, plane);
    const int64_t d = w->width;
    double *sum = w->pooled[plane] + (p - w->piece) * d, *all = draw == 0 ? sum : w->once;
    int64_t from = w->one_row ? 0 : pooled_row(pooling, p);
    int64_t to = w->one_row || pooling == CS_POOL_FIRST ? 1 : p->rows;
    cs_fill(d, 0, all);
    for (int64_t i = from; i < to; ++i) {
        for (int64_t j = 0; j < d; ++j) {
            all[j] += (double)rows[i * d + j];
        }
    }
    for (int64_t j = 0; draw > 0 && j < d; ++j) {
        sum[j] += (all[j] - sum[j]) / (double)(draw + 1);
    }
}

/* Rows of a piece into its place, or its pooled vectors. */
static cs_status keep_piece(const walk *w, int64_t l, const piece *p, const float *rows,
                            int64_t draw)
{
    const cs_hidden_options *o = &w->options;
    const int64_t d = w->width, first = w->one_row ? pooled_row(o->pooling, p) : 0;
    for (int64_t i = 0; i < (w->one_row ? 1 : p->rows) * d; ++i) {
        if (!isfinite(rows[i])) {
            const cs_hidden_row *row = w->about + p->first + first + i / d;
            return cs_fail(CS_ERR_INPUT,
                           "layer %lld, document %lld, piece %d, position %d: a state is %s",
                           (long long)o->layer[l], (long long)row->document, row->piece,
                           row->position, isnan(rows[i]) ? "not a number" : "infinite");
        }
    }
    for (int64_t plane = l; plane < w->planes && o->pooling != CS_POOL_NONE; ++plane) {
        if (layer_of(w, plane) == l) pool_piece(w, plane, p, rows, draw);
    }
    float *state = w->state[l] + p->first * d;
    for (int64_t i = 0; i < p->rows * d && o->pooling == CS_POOL_NONE; ++i) {
        state[i] = draw == 0 ? rows[i] : state[i] + (rows[i] - state[i]) / (float)(draw + 1);
    }
    return CS_OK;
}

static int tensor_of(const walk *w, int64_t layer)
{
    const int64_t last = cs_model_config_depth(&w->model->config, w->options.decoder);
    bool top = layer == last && !w->options.raw;
    return top ? w->pass.network.top : w->pass.network.hidden[layer];
}

/* The tokens of a piece with a row before them, as loss rows. */
static int64_t predicted(const walk *w, const piece *p)
{
    return w->options.losses ? p->tokens - (w->options.around.befores == 0) : w->one_row;
}

static void predict(walk *w, int64_t b, int32_t number)
{
    const piece *p = &w->piece[number];
    const int64_t row = b * w->pass.batch.length;
    for (int64_t t = p->tokens - predicted(w, p); w->options.losses && t < p->tokens; ++t) {
        cs_batch_predict(&w->pass.batch, row + w->options.around.befores + t - 1,
                         w->corpus->token[p->start + t], 1, number, t);
    }
    if (w->one_row)
        cs_batch_predict(&w->pass.batch, row + pooled_row(w->options.pooling, p), -1, 0, 0, 0);
}

static cs_status take_losses(walk *w)
{
    const cs_batch *b = &w->pass.batch;
    cs_status status = cs_run_get_f32(w->pass.run, w->pass.network.loss.value, w->loss);
    for (int64_t r = 0; r < b->events && status == CS_OK; ++r) {
        w->options.losses[w->piece[b->loss.example[r]].start + b->loss.place[r]] = w->loss[r];
    }
    return status;
}

/* Pieces order[first .. first + count - 1] under one draw of their masks. */
static cs_status compute_draw(walk *w, int64_t first, int64_t count, int64_t draw)
{
    const cs_hidden_options *o = &w->options;
    int64_t length = cs_most(1, w->source), predictions = o->losses != NULL;
    for (int64_t b = 0; b < count; ++b) {
        const piece *p = &w->piece[w->order[first + b]];
        length = cs_most(length, p->rows);
        predictions += predicted(w, p);
    }
    cs_status status = cs_pass_begin(&w->pass, count, length, predictions);
    for (int64_t b = 0; status == CS_OK && b < count; ++b) {
        status = fill_rows(w, &w->piece[w->order[first + b]], b, draw);
        predict(w, b, w->order[first + b]);
    }
    if (status == CS_OK) status = cs_pass_forward(&w->pass, 1, (cs_run_key){0});
    if (status == CS_OK && o->losses) status = take_losses(w);
    for (int64_t l = 0; status == CS_OK && l < o->layers; ++l) {
        status = cs_run_get_f32(w->pass.run, tensor_of(w, o->layer[l]), w->scratch);
        for (int64_t b = 0; status == CS_OK && b < count; ++b) {
            const int64_t row = b * (w->one_row ? 1 : w->pass.batch.length);
            status =
                keep_piece(w, l, &w->piece[w->order[first + b]], w->scratch + row * w->width, draw);
        }
    }
    return status;
}

static void list_pieces(const walk *w, int64_t first, int64_t count, cs_ahead_batch *to)
{
    to->count = count;
    for (int64_t b = 0; b < count; ++b) {
        to->first[b] = w->piece[w->order[first + b]].start;
        to->length[b] = w->piece[w->order[first + b]].tokens;
    }
}

/* The vectors of a batch; then those of the next of the window are begun. */
static cs_status read_vectors(walk *w, int64_t first, int64_t count)
{
    const int64_t next = cs_least(w->options.batch, w->pieces - first - count);
    list_pieces(w, first, count, &w->wanted);
    cs_status status = cs_ahead_take(&w->ahead, &w->wanted, &w->values);
    if (status != CS_OK || next == 0) return status;
    list_pieces(w, first + count, next, cs_ahead_next(&w->ahead));
    cs_ahead_start(&w->ahead);
    return CS_OK;
}

static cs_status compute_batch(walk *w, int64_t first, int64_t count)
{
    cs_status status = w->corpus->vectors ? read_vectors(w, first, count) : CS_OK;
    for (int64_t d = 0; d < cs_content_draws(&w->options.masks) && status == CS_OK; ++d) {
        status = cs_interrupt_check();
        if (status == CS_OK) status = compute_draw(w, first, count, d);
    }
    return status;
}

/* --- the window --------------------------------------------------------------------------------*/

/* Takes up sequences from *at on. */
static cs_status fill_window(walk *w, int64_t *at)
{
    const cs_sequences *s = &w->sequences;
    const cs_hidden_options *o = &w->options;
    const int64_t most =
        o->max_length - o->around.befores - o->around.afters; /* tokens of a piece */
    cs_status status = CS_OK;
    w->pieces = w->rows = 0;
    for (; *at < s->count && w->pieces < w->capacity && status == CS_OK; ++*at) {
        int64_t i = *at, offset = s->start[i] - w->corpus->doc_ptr[s->document[i]];
        piece *p = &w->piece[w->pieces++];
        *p = (piece){.start = s->start[i],
                     .document = s->document[i],
                     .number = (int32_t)(offset / most),
                     .tokens = s->length[i],
                     .rows = (int32_t)rows_of(o, s->length[i]),
                     .first = w->rows};
        w->rows += p->rows;
        if ((status = cs_pieces_check(w->corpus, s, i, w->model->config.shape.vocab)) == CS_OK) {
            describe(w, p);
        }
    }
    return status;
}

static void end_document(walk *w, int64_t *done)
{
    for (int64_t l = 0; l < w->planes; ++l) {
        double count = pooling_of(w, l) == CS_POOL_MEAN ? (double)w->document_rows : 1;
        for (int64_t j = 0; j < w->width; ++j) {
            w->state[l][*done * w->width + j] = (float)(w->sum[l * w->width + j] / count);
        }
    }
    w->about[(*done)++] = (cs_hidden_row){.document = w->document};
    w->document = -1;
}

/* Adds a piece to the document under way. */
static void add_piece(walk *w, const piece *p)
{
    bool fresh = w->document < 0;
    if (fresh) {
        w->document = p->document;
        w->document_rows = 0;
    }
    w->document_rows += p->rows;
    for (int64_t i = 0; i < w->planes * w->width; ++i) {
        const cs_pooling pooling = pooling_of(w, i / w->width);
        double x = w->pooled[i / w->width][(p - w->piece) * w->width + i % w->width];
        if (fresh || pooling == CS_POOL_LAST) {
            w->sum[i] = x;
        } else if (pooling == CS_POOL_MEAN) {
            w->sum[i] += x;
        }
    }
}

/* Hands the window on: its rows, or the documents that end in it. The rows' descriptions have been
 * used, so those of documents take their place. */
static cs_status hand_on(walk *w, bool last, cs_hidden_visit visit, void *ctx)
{
    int64_t rows = w->rows;
    if (w->options.pooling != CS_POOL_NONE) {
        rows = 0;
        for (int64_t i = 0; i < w->pieces; ++i) {
            if (w->document >= 0 && w->document != w->piece[i].document) {
                end_document(w, &rows);
            }
            add_piece(w, &w->piece[i]);
        }
        if (last) {
            end_document(w, &rows);
        }
    }
    const cs_hidden_block block = {.rows = rows,
                                   .layers = w->planes,
                                   .width = w->width,
                                   .state = (const float *const *)w->state,
                                   .about = w->about};
    return rows > 0 ? visit(ctx, &block) : CS_OK;
}

static cs_status walk_windows(walk *w, cs_hidden_visit visit, void *ctx)
{
    cs_status status = CS_OK;
    for (int64_t at = 0; at < w->sequences.count && status == CS_OK;) {
        status = fill_window(w, &at);
        if (status == CS_OK)
            status = cs_order_by_rows(&w->piece->rows, sizeof *w->piece, w->pieces,
                                      w->options.max_length, w->order);
        for (int64_t i = 0; i < w->pieces && status == CS_OK; i += w->options.batch) {
            int64_t rest = w->pieces - i;
            status = compute_batch(w, i, rest < w->options.batch ? rest : w->options.batch);
        }
        if (status == CS_OK) status = hand_on(w, at == w->sequences.count, visit, ctx);
        cs_progress_report(w->options.progress, "pieces", at, w->sequences.count);
    }
    return status;
}

/* --- setting up --------------------------------------------------------------------------------*/

static cs_status allocate(walk *w)
{
    const cs_hidden_options *o = &w->options;
    bool pooled = o->pooling != CS_POOL_NONE;
    int64_t length = o->max_length, d = w->width;
    w->planes = cs_hidden_planes(o);
    int64_t numbers = (pooled ? 1 : length) * d * w->planes;
    w->capacity = o->batch * PIECES_IN_WINDOW;
    while (w->capacity > o->batch && w->capacity * numbers > WINDOW_NUMBERS) {
        w->capacity -= o->batch;
    }
    w->row_capacity = w->capacity * length;
    CS_POOL_FIELDS(&w->pool, w->capacity, w, piece, order);
    w->about = cs_pool_take(&w->pool, w->row_capacity + 1, sizeof *w->about);
    w->scratch =
        cs_pool_take(&w->pool, o->batch * cs_most(length, w->source) * d, sizeof *w->scratch);
    w->rank = cs_pool_take(&w->pool, length, sizeof *w->rank);
    w->loss = cs_pool_take(&w->pool, w->pass.sizes.predictions, sizeof *w->loss);
    CS_POOL_FIELDS(&w->pool, w->planes, w, state, pooled);
    w->once = cs_pool_take(&w->pool, d, sizeof *w->once);
    w->sum = cs_pool_take(&w->pool, w->planes * d, sizeof *w->sum);
    for (int64_t l = 0; w->sum && l < w->planes; ++l) {
        w->state[l] = cs_pool_take(&w->pool, (pooled ? w->capacity + 1 : w->row_capacity) * d,
                                   sizeof **w->state);
        w->pooled[l] = cs_pool_take(&w->pool, pooled ? w->capacity * d : 0, sizeof **w->pooled);
    }
    if (w->pool.status != CS_OK || !w->corpus->vectors) return w->pool.status;
    w->view = cs_ahead_view(w->corpus);
    CS_POOL_FIELDS(&w->pool, o->batch, &w->wanted, first, length);
    return w->pool.status == CS_OK
               ? cs_ahead_open(&w->view, o->batch, length, w->corpus->real_width, &w->ahead)
               : w->pool.status;
}

cs_status cs_hidden_states(cs_model *model, const cs_corpus *corpus,
                           const cs_hidden_options *options, cs_hidden_visit visit, void *ctx)
{
    walk w = {.model = model,
              .corpus = corpus,
              .options = *options,
              .width = model->config.shape.width,
              .document = -1};
    cs_hidden_options *o = &w.options;
    cs_status status = cs_hidden_resolve(model, o);
    if (status == CS_OK) status = cs_model_config_reads(&model->config, corpus->real_width);
    if (status == CS_OK)
        status = cs_sources_check(o->sources, corpus, model->config.shape.vocab,
                                  o->around.befores + o->around.afters, &w.source);
    if (status != CS_OK) return status;
    const int64_t rows = cs_most(o->max_length, w.source);
    while (o->losses && o->batch > 1 && o->batch * rows > LOGITS / model->config.shape.vocab) {
        o->batch /= 2;
    }
    w.one_row = !o->losses && !o->decoder && !o->raw && !o->poolings && o->layers == 1 &&
                o->layer[0] == cs_model_config_depth(&model->config, false) &&
                (o->pooling == CS_POOL_FIRST || o->pooling == CS_POOL_LAST);
    const cs_network_options sizes = {.form = o->decoder ? CS_FORM_MAE : CS_FORM_SINGLE,
                                      .keep_hidden = !w.one_row,
                                      .headless = w.one_row,
                                      .loss = o->losses ? CS_LOSS_CROSS_ENTROPY : CS_LOSS_NONE,
                                      .predictions = o->losses   ? o->batch * rows + 1
                                                     : w.one_row ? o->batch
                                                                 : 0,
                                      .batch = o->batch,
                                      .length = rows,
                                      .decoder_length = o->decoder ? rows : 0};
    if ((status = cut(corpus, o, &w.sequences)) == CS_OK &&
        (status = cs_pass_open(model, &sizes, &w.pass)) == CS_OK &&
        (status = allocate(&w)) == CS_OK) {
        status = walk_windows(&w, visit, ctx);
    }
    cs_ahead_close(&w.ahead);
    cs_pool_free(&w.pool);
    cs_pass_close(&w.pass);
    cs_sequences_free(&w.sequences);
    return status;
}
