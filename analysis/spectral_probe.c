/* The probe: documents of both splits, features, ridge, and the two baselines. */
#include "analysis/spectral_probe.h"

#include <math.h>

#include "analysis/ridge.h"
#include "analysis/spectral_features.h"
#include "base/mem.h"
#include "io/json.h"

/* The documents of one split that have a label and a token. */
typedef struct {
    int64_t count;
    int64_t *document;
    int32_t *label;
} documents;

static void documents_free(documents *d)
{
    cs_free(d->document);
    cs_free(d->label);
}

static cs_status documents_of(const cs_corpus *corpus, bool held_out, documents *out)
{
    documents d = {.document = cs_alloc(corpus->documents, sizeof *d.document),
                   .label = cs_alloc(corpus->documents, sizeof *d.label)};
    if (!d.document || !d.label) {
        documents_free(&d);
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < corpus->documents; ++i) {
        bool test = corpus->held_out && corpus->held_out[i];
        if (test == held_out && corpus->label && corpus->label[i] >= 0 &&
            corpus->doc_ptr[i + 1] > corpus->doc_ptr[i]) {
            d.document[d.count] = i;
            d.label[d.count++] = corpus->label[i];
        }
    }
    if (d.count == 0) {
        documents_free(&d);
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
    if (!count) {
        return CS_ERR_MEMORY;
    }
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
    double *log_p = cs_calloc(classes * vocab, sizeof *log_p);
    double *prior = cs_calloc(classes, sizeof *prior), *total = cs_calloc(classes, sizeof *total);
    int64_t right = 0;
    cs_status status = log_p && prior && total ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK) {
        goto done;
    }
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
    cs_free(log_p);
    cs_free(prior);
    cs_free(total);
    return status;
}

static cs_status classify(const cs_dense *x, const documents *train, const cs_dense *y,
                          const documents *test, int64_t classes, cs_spectral_probe_score *out)
{
    cs_ridge ridge = {0};
    cs_status status = cs_ridge_fit(x, train->label, classes, &ridge);
    if (status != CS_OK) {
        return status;
    }
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

static cs_status by_tokens(const cs_spectral_source *source, const documents *train,
                           const documents *test, cs_spectral_probe_result *r)
{
    cs_dense x = {0}, y = {0};
    double unused;
    cs_status status =
        cs_spectral_token_features(source, train->count, train->document, &x, &unused);
    if (status == CS_OK) {
        status =
            cs_spectral_token_features(source, test->count, test->document, &y, &r->unknown_tokens);
    }
    if (status == CS_OK) {
        status = classify(&x, train, &y, test, r->classes, &r->tokens);
    }
    cs_dense_free(&x);
    cs_dense_free(&y);
    return status;
}

static cs_status by_contexts(const cs_spectral_source *source, const documents *train,
                             const documents *test, cs_spectral_probe_result *r)
{
    cs_dense x = {0}, y = {0};
    double unused;
    int64_t none;
    cs_status status = cs_spectral_context_features(source, CS_SPLIT_TRAIN, train->count,
                                                    train->document, &x, &unused, &none);
    if (status == CS_OK) {
        status = cs_spectral_context_features(source, CS_SPLIT_TEST, test->count, test->document,
                                              &y, &r->unknown_contexts, &r->featureless);
    }
    if (status == CS_OK) {
        status = classify(&x, train, &y, test, r->classes, &r->contexts);
    }
    cs_dense_free(&x);
    cs_dense_free(&y);
    return status;
}

static cs_status check(const cs_corpus *corpus, const cs_cooc_options *options, const cs_cooc *cooc,
                       const cs_spectrum *s, int64_t features)
{
    if (options->split != CS_SPLIT_TRAIN) {
        return cs_fail(CS_ERR_USAGE,
                       "the matrix was built from the %s documents: a held-out probe "
                       "needs --split train",
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
        return cs_fail(CS_ERR_USAGE, "%lld features of %lld triplets", (long long)features,
                       (long long)s->k);
    }
    return CS_OK;
}

cs_status cs_spectral_probe(const cs_corpus *corpus, const cs_cooc_options *options,
                            const cs_cooc *cooc, const cs_spectrum *spectrum, int64_t features,
                            int threads, cs_spectral_probe_result *out)
{
    documents train = {0}, test = {0};
    cs_spectral_probe_result r = {.features = features > 0 ? features : spectrum->k,
                                  .classes = corpus->labels};
    cs_spectral_source source = {corpus, options, cooc, spectrum, r.features, threads};
    cs_status status = check(corpus, options, cooc, spectrum, features);
    if (status == CS_OK) {
        status = documents_of(corpus, false, &train);
    }
    if (status == CS_OK) {
        status = documents_of(corpus, true, &test);
    }
    if (status == CS_OK) {
        r.train_documents = train.count;
        r.test_documents = test.count;
        status = majority(&train, &test, r.classes, &r.majority);
    }
    if (status == CS_OK) {
        status = naive_bayes(corpus, &train, &test, &r.bayes);
    }
    if (status == CS_OK) {
        status = by_tokens(&source, &train, &test, &r);
    }
    if (status == CS_OK) {
        status = by_contexts(&source, &train, &test, &r);
    }
    documents_free(&train);
    documents_free(&test);
    if (status == CS_OK) {
        *out = r;
    }
    return status;
}

static json_t *score_json(const cs_spectral_probe_score *s)
{
    json_t *object = json_object();
    bool ok = object && cs_json_set(object, "accuracy", cs_json_number(s->accuracy)) == CS_OK &&
              cs_json_set(object, "se", cs_json_number(s->se)) == CS_OK &&
              cs_json_set(object, "penalty", cs_json_number(s->penalty)) == CS_OK &&
              cs_json_set(object, "leave_one_out", cs_json_number(s->loo)) == CS_OK;
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *cs_spectral_probe_json(const cs_spectral_probe_result *r)
{
    json_t *o = json_object();
    bool ok =
        o && cs_json_set(o, "features", json_integer(r->features)) == CS_OK &&
        cs_json_set(o, "classes", json_integer(r->classes)) == CS_OK &&
        cs_json_set(o, "train_documents", json_integer(r->train_documents)) == CS_OK &&
        cs_json_set(o, "test_documents", json_integer(r->test_documents)) == CS_OK &&
        cs_json_set(o, "majority", score_json(&r->majority)) == CS_OK &&
        cs_json_set(o, "naive_bayes", score_json(&r->bayes)) == CS_OK &&
        cs_json_set(o, "tokens", score_json(&r->tokens)) == CS_OK &&
        cs_json_set(o, "contexts", score_json(&r->contexts)) == CS_OK &&
        cs_json_set(o, "unknown_tokens", cs_json_number(r->unknown_tokens)) == CS_OK &&
        cs_json_set(o, "unknown_contexts", cs_json_number(r->unknown_contexts)) == CS_OK &&
        cs_json_set(o, "documents_without_known_context", json_integer(r->featureless)) == CS_OK;
    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}

cs_status cs_spectral_probe_table(const cs_spectral_probe_result *r, cs_table *out)
{
    const struct {
        const char *model, *metric;
        double value, se;
        int64_t n;
    } row[] = {
        {"majority", "accuracy", r->majority.accuracy, r->majority.se, r->test_documents},
        {"naive-bayes", "accuracy", r->bayes.accuracy, r->bayes.se, r->test_documents},
        {"spectral-tokens", "accuracy", r->tokens.accuracy, r->tokens.se, r->test_documents},
        {"spectral-contexts", "accuracy", r->contexts.accuracy, r->contexts.se, r->test_documents},
        {"spectral-tokens", "penalty", r->tokens.penalty, NAN, r->train_documents},
        {"spectral-contexts", "penalty", r->contexts.penalty, NAN, r->train_documents},
        {"spectral-tokens", "unknown_share", r->unknown_tokens, NAN, r->test_documents},
        {"spectral-contexts", "unknown_share", r->unknown_contexts, NAN, r->test_documents},
        {"spectral-contexts", "documents_without_known_context", (double)r->featureless, NAN,
         r->test_documents},
    };
    cs_table table = {0};
    cs_status status = cs_table_init(&table, "model,metric,value,se,n");
    for (size_t i = 0; status == CS_OK && i < sizeof row / sizeof *row; ++i) {
        status = cs_table_row(&table);
        if (status == CS_OK) {
            status = cs_table_text(&table, "model", row[i].model);
        }
        if (status == CS_OK) {
            status = cs_table_text(&table, "metric", row[i].metric);
        }
        if (status == CS_OK) {
            status = cs_table_real(&table, "value", row[i].value);
        }
        if (status == CS_OK) {
            status = cs_table_real(&table, "se", row[i].se);
        }
        if (status == CS_OK) {
            status = cs_table_int(&table, "n", row[i].n);
        }
    }
    if (status != CS_OK) {
        cs_table_free(&table);
        return status;
    }
    *out = table;
    return CS_OK;
}
