/* The probe: documents of both splits, features, ridge, and the two baselines. */
#include "analysis/measures/spectral_probe.h"

#include <math.h>

#include "analysis/measures/ridge_private.h"
#include "analysis/measures/spectral_probe_private.h"
#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_sequences.h"
#include "cooc/store.h"

/* The documents of one split that have a label and a token. */
typedef struct {
    int64_t count;
    int64_t *document;
    int32_t *label;
} document_list;

static cs_status documents_of(const cs_corpus *corpus, bool held_out, cs_pool *pool,
                              document_list *out)
{
    document_list d = {.document = cs_pool_take(pool, corpus->documents, sizeof *d.document),
                       .label = cs_pool_take(pool, corpus->documents, sizeof *d.label)};
    if (!d.document || !d.label) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < corpus->documents; ++i) {
        bool test = corpus->held_out && corpus->held_out[i];
        if (test == held_out && corpus->label && corpus->label[i] >= 0 &&
            corpus->doc_ptr[i + 1] > corpus->doc_ptr[i]) {
            d.document[d.count] = i;
            d.label[d.count++] = corpus->label[i];
        }
    }
    if (d.count == 0) {
        return cs_fail(CS_ERR_INPUT, "corpus %s has no labelled documents in its %s split",
                       corpus->name ? corpus->name : "given", held_out ? "test" : "training");
    }
    *out = d;
    return CS_OK;
}

static cs_spectral_probe_score score_of(int64_t right, int64_t n)
{
    double p = (double)right / (double)n;
    return (cs_spectral_probe_score){
        .accuracy = p, .se = sqrt(p * (1 - p) / (double)n), .penalty = NAN, .loo = NAN};
}

static cs_status majority(const document_list *train, const document_list *test, int64_t classes,
                          cs_spectral_probe_score *out)
{
    int64_t *count = cs_calloc(classes, sizeof *count), right = 0;
    if (!count) return CS_ERR_MEMORY;
    int32_t most = 0;
    for (int64_t i = 0; i < train->count; ++i) {
        ++count[train->label[i]];
    }
    for (int32_t c = 1; c < classes; ++c) {
        most = count[c] > count[most] ? c : most;
    }
    for (int64_t i = 0; i < test->count; ++i) {
        right += test->label[i] == most;
    }
    *out = score_of(right, test->count);
    cs_free(count);
    return CS_OK;
}

/* log P(c) + sum_tokens log ((count(c, token) + 1) / (count(c) + V)). */
static cs_status naive_bayes(const cs_corpus *corpus, const document_list *train,
                             const document_list *test, cs_spectral_probe_score *out)
{
    const int64_t classes = corpus->labels, vocab = corpus->vocab;
    CS_AUTO(cs_pool) pool = {0};
    double *log_p = cs_pool_take(&pool, classes * vocab, sizeof *log_p);
    double *prior = cs_pool_take(&pool, classes, sizeof *prior);
    double *total = cs_pool_take(&pool, classes, sizeof *total);
    int64_t right = 0;
    cs_status status = pool.status;
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < train->count; ++i) {
        int64_t d = train->document[i], c = train->label[i];
        prior[c] += 1;
        for (int64_t p = corpus->doc_ptr[d]; p < corpus->doc_ptr[d + 1]; ++p) {
            log_p[corpus->token[p] * classes + c] += 1;
            total[c] += 1;
        }
    }
    for (int64_t i = 0; i < classes * vocab; ++i) {
        log_p[i] = log((log_p[i] + 1) / (total[i % classes] + (double)vocab));
    }
    for (int64_t i = 0; i < test->count; ++i) {
        int64_t d = test->document[i];
        int32_t best = 0;
        double most = -INFINITY;
        for (int32_t c = 0; c < classes; ++c) {
            double sum = log(prior[c] / (double)train->count); /* -inf for an unseen class */
            for (int64_t p = corpus->doc_ptr[d]; p < corpus->doc_ptr[d + 1]; ++p) {
                sum += log_p[corpus->token[p] * classes + c];
            }
            if (sum > most) {
                most = sum;
                best = c;
            }
        }
        right += best == test->label[i];
    }
    *out = score_of(right, test->count);
    return status;
}

static cs_status classify(const cs_dense *x, const document_list *train, const cs_dense *y,
                          const document_list *test, int64_t classes, cs_spectral_probe_score *out)
{
    CS_AUTO(cs_ridge) ridge = {0};
    cs_status status = cs_ridge_fit(x, train->label, classes, &ridge);
    if (status != CS_OK) return status;
    int64_t right = 0;
    for (int64_t i = 0; i < test->count; ++i) {
        right += cs_ridge_predict(&ridge, y, i) == test->label[i];
    }
    *out = score_of(right, test->count);
    out->penalty = ridge.penalty;
    out->loo = ridge.loo;
    return CS_OK;
}

/* Features of the documents of one split, from their tokens or from their contexts. */
static cs_status features_of(const cs_spectral_source *source, bool contexts, cs_split split,
                             const document_list *d, cs_dense *out, cs_spectral_probe_result *r)
{
    return contexts
               ? cs_spectral_context_features(source, split, d->count, d->document, out,
                                              &r->unknown_contexts, &r->featureless)
               : cs_spectral_token_features(source, d->count, d->document, out, &r->unknown_tokens);
}

/* The unknown shares are those of the test documents, whose features are computed last. */
static cs_status by_features(const cs_spectral_source *source, bool contexts,
                             const document_list *train, const document_list *test,
                             cs_spectral_probe_result *r)
{
    CS_AUTO(cs_dense) x = {0}, y = {0};
    cs_status status = features_of(source, contexts, CS_SPLIT_TRAIN, train, &x, r);
    if (status == CS_OK) status = features_of(source, contexts, CS_SPLIT_TEST, test, &y, r);
    if (status == CS_OK)
        status = classify(&x, train, &y, test, r->classes, contexts ? &r->contexts : &r->tokens);
    return status;
}

static cs_status check_corpus(const cs_corpus *corpus, const cs_cooc_options *options,
                              const cs_cooc *cooc, const cs_spectrum *s, int64_t features)
{
    if (options->split != CS_SPLIT_TRAIN) {
        return cs_fail(CS_ERR_USAGE,
                       "the matrix was built from the %s documents, but a held-out probe needs "
                       "cooc --split train",
                       options->split == CS_SPLIT_TEST ? "test" : "training and test");
    }
    if (corpus->labels < 1) {
        return cs_fail(CS_ERR_INPUT, "corpus %s has no labels",
                       corpus->name ? corpus->name : "given");
    }
    if (s->input.rows != cooc->matrix.a.rows || s->input.cols != cooc->matrix.a.cols ||
        !s->input.row_mass || s->u.cols < s->k || s->v.cols < s->k || s->k < 1) {
        return cs_fail(CS_ERR_USAGE,
                       "the probe needs the spectrum of the %lld x %lld matrix with vectors and "
                       "marginals",
                       (long long)cooc->matrix.a.rows, (long long)cooc->matrix.a.cols);
    }
    if (features < 0 || features > s->k) {
        return cs_fail(CS_ERR_USAGE, "%lld features are not possible with %lld triplets",
                       (long long)features, (long long)s->k);
    }
    return CS_OK;
}

cs_status cs_spectral_probe(const cs_corpus *corpus, const cs_cooc_options *options,
                            const cs_cooc *cooc, const cs_spectrum *spectrum, int64_t features,
                            int threads, cs_spectral_probe_result *out)
{
    CS_AUTO(cs_pool) pool = {0};
    document_list train = {0}, test = {0};
    cs_spectral_probe_result r = {.features = features > 0 ? features : spectrum->k,
                                  .classes = corpus->labels};
    cs_spectral_source source = {corpus, options, cooc, spectrum, r.features, threads};
    cs_status status = check_corpus(corpus, options, cooc, spectrum, features);
    if (status == CS_OK) status = documents_of(corpus, false, &pool, &train);
    if (status == CS_OK) status = documents_of(corpus, true, &pool, &test);
    if (status == CS_OK) {
        r.train_documents = train.count;
        r.test_documents = test.count;
        status = majority(&train, &test, r.classes, &r.majority);
    }
    if (status == CS_OK) status = naive_bayes(corpus, &train, &test, &r.bayes);
    if (status == CS_OK) status = by_features(&source, false, &train, &test, &r);
    if (status == CS_OK) status = by_features(&source, true, &train, &test, &r);
    if (status == CS_OK) *out = r;
    return status;
}

static void record_score(const cs_spectral_probe_score *s, cs_item *in, const char *key)
{
    cs_item *score = cs_item_object(in, key);
    CS_ITEM_FIELDS(score, s, accuracy, se, penalty);
    cs_item_real(score, "leave_one_out", s->loo);
}

static void record_row(cs_item *rows, const char *model, const char *metric, double value,
                       double se, int64_t n)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_item_text(row, "model", model);
    cs_item_text(row, "metric", metric);
    cs_item_real(row, "value", value);
    cs_item_real(row, "se", se);
    cs_item_int(row, "n", n);
}

const cs_view cs_spectral_probe_view = {"probe.~rows[]", "model metric value se n"};

void cs_spectral_probe_record(const cs_spectral_probe_result *r, cs_item *root)
{
    const struct {
        const char *key, *model;
        const cs_spectral_probe_score *score;
    } each[] = {{"majority", "majority", &r->majority},
                {"naive_bayes", "naive-bayes", &r->bayes},
                {"tokens", "spectral-tokens", &r->tokens},
                {"contexts", "spectral-contexts", &r->contexts}};
    const int64_t train = r->train_documents, test = r->test_documents;
    cs_item *probe = cs_item_object(root, "probe");
    CS_ITEM_FIELDS(probe, r, features, classes);
    cs_item_int(probe, "train_documents", train);
    cs_item_int(probe, "test_documents", test);
    for (int i = 0; i < 4; ++i) {
        record_score(each[i].score, probe, each[i].key);
    }
    CS_ITEM_FIELDS(probe, r, unknown_tokens, unknown_contexts);
    cs_item_int(probe, "documents_without_known_context", r->featureless);
    cs_item *rows = cs_item_array(probe, "~rows");
    for (int i = 0; i < 4; ++i) {
        record_row(rows, each[i].model, "accuracy", each[i].score->accuracy, each[i].score->se,
                   test);
    }
    for (int i = 2; i < 4; ++i) {
        record_row(rows, each[i].model, "penalty", each[i].score->penalty, NAN, train);
    }
    record_row(rows, "spectral-tokens", "unknown_share", r->unknown_tokens, NAN, test);
    record_row(rows, "spectral-contexts", "unknown_share", r->unknown_contexts, NAN, test);
    record_row(rows, "spectral-contexts", "documents_without_known_context", (double)r->featureless,
               NAN, test);
}

/* --- features of documents --------------------------------------------------------------------- */

/* By tokens and by contexts. A table of the features of each token (or row), stored row by row, so
 * that a contribution reads one stretch of memory. Documents are independent items: the same bits
 * for any number of threads. */

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
        if (token >= w->source->spectrum->input.cols ||
            !(w->source->spectrum->input.col_mass[token] > 0)) {
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
    if (row < 0 || !(w->source->spectrum->input.row_mass[row] > 0)) {
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
static cs_status run_features(feature_work *w, int64_t documents, cs_item_fn item, double *unknown,
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
    cs_status status = take_table(&work, &s->v, s->input.col_mass, s->sigma);
    if (status == CS_OK) status = run_features(&work, documents, token_item, unknown, NULL);
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
    CS_AUTO(cs_cooc_prepared) p = {0}; /* documents too short for the objective are NaN */
    feature_work work = {
        .source = source, .document = document, .out = out, .sequences = &p.sequences};
    cs_status status = cs_cooc_prepare(source->corpus, &options, &p);
    if (status == CS_OK) status = cs_cooc_plan(&p);
    work.plan = p.plan;
    if (status == CS_OK) status = by_document(&work);
    if (status == CS_OK) status = take_table(&work, &s->u, s->input.row_mass, NULL);
    if (status == CS_OK)
        status = run_features(&work, documents, context_item, unknown, featureless);
    cs_pool_free(&work.pool);
    return status;
}
