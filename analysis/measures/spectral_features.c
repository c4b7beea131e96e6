/* Features of documents, by tokens and by contexts. A table of the features of each token (or row), stored
 * row by row, so that a contribution reads one stretch of memory. Documents are independent items:
 * the same bits for any number of threads.
 */
#include "analysis/measures/spectral_features_private.h"

#include <math.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_sequences.h"
#include "cooc/store.h"

typedef struct {
    cs_pool pool; /* of the table, known, total and first */
    const cs_spectral_source *source;
    const double *table; /* columns or rows x features */
    const int64_t *document;
    cs_dense *out;
    double *known, *total; /* documents: mass of known and of all contexts (tokens) */
    const cs_context_plan *plan;
    const cs_sequences *sequences;
    int64_t *first; /* corpus documents + 1: sequences of a document */
} feature_work;

typedef struct {
    const feature_work *work;
    double *sum; /* features */
    double weight, known, total;
} visit_state;

/* vectors[i, j] * scale[j] / sqrt(mass[i]), row by row; rows of no mass are 0. */
static cs_status take_table(feature_work *w, const cs_dense *vectors, const double *mass,
                            const double *sigma)
{
    const int64_t features = w->source->features;
    double *table = cs_pool_take(&w->pool, vectors->rows * features, sizeof *table);
    if (!table) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < features; ++j) {
        double scale = sigma ? 1 / sigma[j] : 1;
        for (int64_t i = 0; i < vectors->rows; ++i) {
            if (mass[i] > 0) {
                table[i * features + j] =
                    scale * vectors->data[i + j * vectors->ld] / sqrt(mass[i]);
            }
        }
    }
    w->table = table;
    return CS_OK;
}

static cs_status token_item(void *ctx, int64_t item)
{
    const feature_work *w = ctx;
    const cs_corpus *corpus = w->source->corpus;
    int64_t k = w->source->features, d = w->document[item];
    double length = (double)(corpus->doc_ptr[d + 1] - corpus->doc_ptr[d]);
    double *row = w->out->data + item;
    for (int64_t p = corpus->doc_ptr[d]; p < corpus->doc_ptr[d + 1]; ++p) {
        int32_t token = corpus->token[p];
        w->total[item] += 1;
        if (token >= w->source->spectrum->cols || !(w->source->spectrum->col_mass[token] > 0)) {
            continue;
        }
        w->known[item] += 1;
        for (int64_t j = 0; j < k; ++j) {
            row[j * w->out->ld] += w->table[token * k + j] / length;
        }
    }
    return CS_OK;
}

static cs_status add_context(void *ctx, const cs_contribution *c)
{
    visit_state *s = ctx;
    const feature_work *w = s->work;
    int64_t k = w->source->features, row = cs_cooc_row_of(w->source->cooc, c->key);
    double weight = s->weight * c->weight;
    s->total += weight;
    if (row < 0 || !(w->source->spectrum->row_mass[row] > 0)) {
        return CS_OK;
    }
    s->known += weight;
    for (int64_t j = 0; j < k; ++j) {
        s->sum[j] += weight * w->table[row * k + j];
    }
    return CS_OK;
}

static cs_status context_item(void *ctx, int64_t item)
{
    const feature_work *w = ctx;
    int64_t k = w->source->features, d = w->document[item];
    visit_state state = {.work = w, .sum = cs_calloc(k, sizeof *state.sum)};
    cs_status status = state.sum ? CS_OK : CS_ERR_MEMORY;
    for (int64_t s = w->first[d]; status == CS_OK && s < w->first[d + 1]; ++s) {
        state.weight = w->source->options->weight_by_document
                           ? 1
                           : cs_context_predicted(w->plan, w->sequences->length[s]);
        status = cs_context_visit(w->plan, w->source->corpus, w->sequences, s, add_context, &state,
                                  NULL);
    }
    for (int64_t j = 0; status == CS_OK && j < k; ++j) {
        w->out->data[item + j * w->out->ld] = state.known > 0 ? state.sum[j] / state.known : NAN;
    }
    w->known[item] = state.known;
    w->total[item] = state.total;
    cs_free(state.sum);
    return status;
}

/* Runs the items and sums what they knew. */
static cs_status run(feature_work *w, int64_t documents, cs_item_fn item, double *unknown,
                     int64_t *featureless)
{
    CS_POOL_FIELDS(&w->pool, documents, w, known, total);
    cs_status status = w->pool.status;
    if (status == CS_OK) status = cs_dense_init(w->out, documents, w->source->features);
    if (status == CS_OK) status = cs_parallel(documents, w->source->threads, item, w);
    double known = 0, total = 0;
    int64_t without = 0;
    for (int64_t i = 0; status == CS_OK && i < documents; ++i) {
        known += w->known[i];
        total += w->total[i];
        without += !(w->known[i] > 0);
    }
    *unknown = total > 0 ? fmax(0, 1 - known / total) : 1;
    if (featureless) {
        *featureless = without;
    }
    if (status != CS_OK) cs_dense_free(w->out);
    return status;
}

cs_status cs_spectral_token_features(const cs_spectral_source *source, int64_t documents,
                                     const int64_t *document, cs_dense *out, double *unknown)
{
    const cs_spectrum *s = source->spectrum;
    feature_work work = {.source = source, .document = document, .out = out};
    cs_status status = take_table(&work, &s->v, s->col_mass, s->sigma);
    if (status == CS_OK) status = run(&work, documents, token_item, unknown, NULL);
    cs_pool_free(&work.pool);
    return status;
}

/* first[d] .. first[d + 1] - 1: the sequences of document d; sequences come in document order. */
static cs_status by_document(feature_work *w)
{
    const int64_t documents = w->source->corpus->documents;
    w->first = cs_pool_take(&w->pool, documents + 1, sizeof *w->first);
    if (!w->first) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < w->sequences->count; ++i) {
        ++w->first[w->sequences->document[i] + 1];
    }
    cs_starts(documents, w->first);
    return CS_OK;
}

cs_status cs_spectral_context_features(const cs_spectral_source *source, cs_split split,
                                       int64_t documents, const int64_t *document, cs_dense *out,
                                       double *unknown, int64_t *featureless)
{
    const cs_spectrum *s = source->spectrum;
    cs_cooc_options options = *source->options;
    options.split = split;
    cs_cooc_prepared p = {0}; /* documents too short for the objective are NaN */
    feature_work work = {
        .source = source, .document = document, .out = out, .sequences = &p.sequences};
    cs_status status = cs_cooc_prepare(source->corpus, &options, &p);
    if (status == CS_OK) status = cs_cooc_plan(&p);
    work.plan = p.plan;
    if (status == CS_OK) status = by_document(&work);
    if (status == CS_OK) status = take_table(&work, &s->u, s->row_mass, NULL);
    if (status == CS_OK) status = run(&work, documents, context_item, unknown, featureless);
    cs_pool_free(&work.pool);
    cs_cooc_prepared_free(&p);
    return status;
}
