/* The texts become a corpus of token ids, the second ones of pairs after the first ones; its pooled
 * states are put in place as they come. */
#include "infer/text_features.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "text/encoder.h"

typedef struct {
    int64_t count, width, columns;
    float *out;
} collector;

int64_t cs_text_features_width(const cs_model *model, const cs_labelled_text *texts)
{
    return model->config.shape.width * (texts->pair ? 4 : 1);
}

static cs_status add_text(const cs_labelled_text *texts, int64_t i, const char *text,
                          cs_encoder *encoder, int64_t *capacity, cs_corpus *corpus)
{
    cs_status status = cs_encoder_encode(encoder, text, (int64_t)strlen(text), false);
    int32_t unknown = cs_tokenizer_special(encoder->tokenizer, CS_TOKEN_UNK);
    const int32_t *id = encoder->count > 0 ? encoder->id : &unknown;
    int64_t count = encoder->count > 0 ? encoder->count : 1;
    if (status == CS_OK && *id < 0)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: example %lld, \"%.60s\", has no tokens, and the tokenizer has no "
                         "unknown token; --unk-token names one",
                         texts->path, (long long)i, text);
    if (status == CS_OK)
        status =
            cs_reserve(&corpus->token, capacity, corpus->tokens + count, sizeof *corpus->token);
    if (status == CS_OK) {
        memcpy(corpus->token + corpus->tokens, id, (size_t)count * sizeof *id);
        corpus->tokens += count;
        corpus->doc_ptr[++corpus->documents] = corpus->tokens;
    }
    return status;
}

static cs_status make_corpus(const cs_labelled_text *texts, const cs_tokenizer *tokenizer,
                             cs_corpus *corpus)
{
    const int64_t all = texts->count * (texts->pair ? 2 : 1);
    CS_AUTO(cs_encoder) encoder = {0};
    int64_t capacity = 0;
    cs_encoder_init(&encoder, tokenizer);
    corpus->doc_ptr = cs_calloc(all + 1, sizeof *corpus->doc_ptr);
    corpus->label = cs_calloc(all, sizeof *corpus->label);
    corpus->held_out = cs_calloc(all, sizeof *corpus->held_out);
    cs_status status = corpus->doc_ptr && corpus->label && corpus->held_out ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < all && status == CS_OK; ++i) {
        const int64_t example = i % texts->count;
        const char *text = i < texts->count ? texts->text[example] : texts->pair[example];
        status = add_text(texts, example, text, &encoder, &capacity, corpus);
    }
    corpus->vocab = cs_tokenizer_vocab(tokenizer);
    return status;
}

/* Row i of a pair: u first; v when it comes, with what is made of both. */
static cs_status take_block(void *ctx, const cs_hidden_block *block)
{
    const collector *c = ctx;
    const int64_t w = c->width;
    for (int64_t l = 0; l < block->layers; ++l) {
        for (int64_t r = 0; r < block->rows; ++r) {
            const int64_t document = block->about[r].document, example = document % c->count;
            const float *state = block->state[l] + r * w;
            float *u = c->out + (l * c->count + example) * c->columns;
            if (document < c->count) {
                memcpy(u, state, (size_t)w * sizeof *u);
                continue;
            }
            for (int64_t j = 0; j < w; ++j) {
                u[w + j] = state[j];
                u[2 * w + j] = fabsf(u[j] - state[j]);
                u[3 * w + j] = u[j] * state[j];
            }
        }
    }
    return CS_OK;
}

/* Pooled states of a corpus of documents, or of pairs of them. */
static cs_status collect(cs_model *model, const cs_corpus *corpus, const cs_hidden_options *options,
                         collector *c)
{
    cs_hidden_options hidden = *options;
    hidden.keep = NULL;
    c->out = cs_alloc(cs_hidden_planes(options) * c->count * c->columns, sizeof *c->out);
    return c->out ? cs_hidden_states(model, corpus, &hidden, take_block, c) : CS_ERR_MEMORY;
}

static cs_status check_features(const collector *c, const cs_hidden_options *options)
{
    const int64_t layers = cs_hidden_planes(options);
    const double bytes = 4.0 * (double)c->count * (double)c->columns * (double)layers;
    if (options->pooling == CS_POOL_NONE || options->pooling == CS_POOL_EACH) {
        return cs_fail(CS_ERR_USAGE, "features of a text need exactly one pooling");
    }
    return cs_mem_check(bytes, "give fewer layers or texts",
                        "%lld texts, %lld layers of %lld columns take", (long long)c->count,
                        (long long)layers, (long long)c->columns);
}

cs_status cs_text_features(cs_model *model, const cs_tokenizer *tokenizer,
                           const cs_labelled_text *texts, const cs_hidden_options *options,
                           float **out)
{
    CS_AUTO(cs_corpus) corpus = {0};
    collector c = {texts->count, model->config.shape.width, cs_text_features_width(model, texts),
                   NULL};
    cs_status status = check_features(&c, options);
    if (status == CS_OK) status = make_corpus(texts, tokenizer, &corpus);
    if (status == CS_OK) status = cs_blame(collect(model, &corpus, options, &c), "%s", texts->path);
    return CS_DELIVER(status, out, c.out, cs_drop);
}

cs_status cs_document_features(cs_model *model, const cs_corpus *corpus,
                               const cs_hidden_options *options, float **out)
{
    collector c = {corpus->documents, model->config.shape.width, model->config.shape.width, NULL};
    cs_status status = check_features(&c, options);
    if (status == CS_OK) status = cs_blame(collect(model, corpus, options, &c), "%s", corpus->name);
    return CS_DELIVER(status, out, c.out, cs_drop);
}

/* Rows of patches. */
typedef struct {
    int64_t patches, width, rows; /* rows: of all pictures */
    int64_t before;               /* rows of a piece before its patches */
    int32_t *order;               /* NULL: along rows */
    float *out;
} plane;

static cs_status take_patches(void *ctx, const cs_hidden_block *block)
{
    const plane *p = ctx;
    for (int64_t r = 0; r < block->rows; ++r) {
        const cs_hidden_row *about = &block->about[r];
        const int64_t at = about->position - p->before;
        if (about->special) {
            continue;
        }
        const int64_t to = about->document * p->patches + (p->order ? p->order[at] : at);
        for (int64_t l = 0; l < block->layers; ++l) {
            memcpy(p->out + (l * p->rows + to) * p->width, block->state[l] + r * p->width,
                   (size_t)p->width * sizeof *p->out);
        }
    }
    return CS_OK;
}

cs_status cs_patch_features(cs_model *model, const cs_corpus *corpus,
                            const cs_hidden_options *options, float **out)
{
    cs_hidden_options o = *options;
    plane p = {.patches = corpus->doc_ptr[1],
               .width = model->config.shape.width,
               .rows = corpus->tokens,
               .before = options->around.befores};
    o.pooling = CS_POOL_NONE;
    o.max_length = model->config.shape.positions;
    o.keep = NULL;
    cs_status status = cs_mem_check(4.0 * (double)p.rows * (double)p.width * (double)o.layers,
                                    "give fewer layers or pictures",
                                    "%lld patches, %lld layers of %lld columns take",
                                    (long long)p.rows, (long long)o.layers, (long long)p.width);
    if (status == CS_OK) status = cs_model_order(&model->config, &p.order);
    p.out = status == CS_OK ? cs_alloc(o.layers * p.rows * p.width, sizeof *p.out) : NULL;
    if (status == CS_OK)
        status = p.out ? cs_hidden_states(model, corpus, &o, take_patches, &p) : CS_ERR_MEMORY;
    cs_free(p.order);
    return CS_DELIVER(cs_blame(status, "%s", corpus->name), out, p.out, cs_drop);
}

cs_status cs_text_frequencies(const cs_tokenizer *tokenizer, const cs_labelled_text *texts,
                              float **out)
{
    const int64_t vocab = cs_tokenizer_vocab(tokenizer);
    CS_AUTO(cs_corpus) corpus = {0};
    if (texts->pair) {
        return cs_fail(CS_ERR_USAGE, "a bag of words needs single texts, not pairs");
    }
    cs_status status =
        cs_mem_check(4.0 * (double)texts->count * (double)vocab, "give fewer texts",
                     "%lld texts, %lld tokens take", (long long)texts->count, (long long)vocab);
    if (status == CS_OK) status = make_corpus(texts, tokenizer, &corpus);
    float *share = status == CS_OK ? cs_calloc(texts->count * vocab, sizeof *share) : NULL;
    if (status == CS_OK && !share) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < texts->count && status == CS_OK; ++i) {
        const int64_t first = corpus.doc_ptr[i], end = corpus.doc_ptr[i + 1];
        for (int64_t k = first; k < end; ++k) {
            share[i * vocab + corpus.token[k]] += 1.0F / (float)(end - first);
        }
    }
    if (status == CS_OK) *out = share;
    return status;
}
