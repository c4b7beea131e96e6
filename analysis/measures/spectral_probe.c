/* The probe: documents of both splits, features, ridge, and the two baselines. */
#include "analysis/measures/spectral_probe.h"

#include <math.h>

#include "analysis/measures/ridge_private.h"
#include "analysis/measures/spectral_features_private.h"
#include "base/mem.h"

/* The documents of one split that have a label and a token. */
typedef struct {
    int64_t count;
    int64_t *document;
    int32_t *label;
} documents;

static cs_status documents_of(const cs_corpus *corpus, bool held_out, cs_pool *pool, documents *out)
{
    documents d = {.document = cs_pool_take(pool, corpus->documents, sizeof *d.document),
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

static cs_status majority(const documents *train, const documents *test, int64_t classes,
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
static cs_status naive_bayes(const cs_corpus *corpus, const documents *train, const documents *test,
                             cs_spectral_probe_score *out)
{
    const int64_t classes = corpus->labels, vocab = corpus->vocab;
    cs_pool pool = {0};
    double *log_p = cs_pool_take(&pool, classes * vocab, sizeof *log_p);
    double *prior = cs_pool_take(&pool, classes, sizeof *prior);
    double *total = cs_pool_take(&pool, classes, sizeof *total);
    int64_t right = 0;
    cs_status status = pool.status;
    if (status != CS_OK) goto done;
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
done:
    cs_pool_free(&pool);
    return status;
}

static cs_status classify(const cs_dense *x, const documents *train, const cs_dense *y,
                          const documents *test, int64_t classes, cs_spectral_probe_score *out)
{
    cs_ridge ridge = {0};
    cs_status status = cs_ridge_fit(x, train->label, classes, &ridge);
    if (status != CS_OK) return status;
    int64_t right = 0;
    for (int64_t i = 0; i < test->count; ++i) {
        right += cs_ridge_predict(&ridge, y, i) == test->label[i];
    }
    *out = score_of(right, test->count);
    out->penalty = ridge.penalty;
    out->loo = ridge.loo;
    cs_ridge_free(&ridge);
    return CS_OK;
}

/* Features of the documents of one split, from their tokens or from their contexts. */
static cs_status features_of(const cs_spectral_source *source, bool contexts, cs_split split,
                             const documents *d, cs_dense *out, cs_spectral_probe_result *r)
{
    return contexts
               ? cs_spectral_context_features(source, split, d->count, d->document, out,
                                              &r->unknown_contexts, &r->featureless)
               : cs_spectral_token_features(source, d->count, d->document, out, &r->unknown_tokens);
}

/* The unknown shares are those of the test documents, whose features are computed last. */
static cs_status by_features(const cs_spectral_source *source, bool contexts,
                             const documents *train, const documents *test,
                             cs_spectral_probe_result *r)
{
    cs_dense x = {0}, y = {0};
    cs_status status = features_of(source, contexts, CS_SPLIT_TRAIN, train, &x, r);
    if (status == CS_OK) status = features_of(source, contexts, CS_SPLIT_TEST, test, &y, r);
    if (status == CS_OK)
        status = classify(&x, train, &y, test, r->classes, contexts ? &r->contexts : &r->tokens);
    cs_dense_free(&x);
    cs_dense_free(&y);
    return status;
}

static cs_status check(const cs_corpus *corpus, const cs_cooc_options *options, const cs_cooc *cooc,
                       const cs_spectrum *s, int64_t features)
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
    if (s->rows != cooc->matrix.a.rows || s->cols != cooc->matrix.a.cols || !s->row_mass ||
        s->u.cols < s->k || s->v.cols < s->k || s->k < 1) {
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
    cs_pool pool = {0};
    documents train = {0}, test = {0};
    cs_spectral_probe_result r = {.features = features > 0 ? features : spectrum->k,
                                  .classes = corpus->labels};
    cs_spectral_source source = {corpus, options, cooc, spectrum, r.features, threads};
    cs_status status = check(corpus, options, cooc, spectrum, features);
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
    cs_pool_free(&pool);
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
