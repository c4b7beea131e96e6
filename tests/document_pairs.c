#include "document_pairs.h"

#include "cooc/build_sequences.h"
#include "test.h"

typedef struct {
    document_events events;
    int64_t capacity, document;
    double weight;
} collecting;

static cs_status collect(void *ctx, const cs_contribution *c)
{
    collecting *t = ctx;
    document_events *e = &t->events;
    assert_true(e->count < t->capacity);
    e->key[e->count] = c->key;
    e->document[e->count] = t->document;
    e->token[e->count] = c->token;
    e->weight[e->count++] = c->weight * t->weight;
    return CS_OK;
}

document_events events_of(const cs_corpus *corpus, const cs_cooc_options *options)
{
    const cs_context_options context = cs_cooc_context_options(options);
    int64_t skipped = 0;
    collecting t = {.capacity = 1 << 18};
    t.events.key = test_zeros(t.capacity, sizeof *t.events.key);
    t.events.document = test_zeros(t.capacity, sizeof *t.events.document);
    t.events.token = test_zeros(t.capacity, sizeof *t.events.token);
    t.events.weight = test_zeros(t.capacity, sizeof *t.events.weight);
    AUTO_OK(cs_sequences, sequences, cs_cooc_sequences(corpus, options, &sequences, &skipped));
    AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &context, &plan));
    for (int64_t i = 0; i < sequences.count; ++i) {
        t.document = sequences.document[i];
        t.weight =
            options->weight_by_document ? 1 : cs_context_predicted(plan, sequences.length[i]);
        OK(cs_context_visit(plan, corpus, &sequences, i, collect, &t, NULL));
    }
    return t.events;
}

typedef struct {
    const document_events *e;
    const cs_pair_options *o;
} pairing;

static bool counted(const pairing *p, int64_t i)
{
    const uint8_t part = p->o->part[p->e->document[i]];
    return part != CS_LEFT_OUT && (p->o->chosen >> part & 1);
}

static bool two_groups(const pairing *p, int64_t i, int64_t j)
{
    const int64_t di = p->e->document[i], dj = p->e->document[j];
    return p->o->between == CS_PAIRS_OF_DOCUMENTS ? di != dj : p->o->part[di] != p->o->part[dj];
}

static bool same(const document_events *e, int64_t i, int64_t j)
{
    return cs_hash_compare(e->key[i], e->key[j]) == 0;
}

double pairs_by_events(const document_events *events, const cs_pair_options *options, int64_t vocab,
                       double *out)
{
    const pairing p = {events, options};
    const document_events *e = events;
    const bool documents = options->between == CS_PAIRS_OF_DOCUMENTS;
    double total = 0, seen = 0;
    int64_t groups = 0, last = -1; /* of the context of i: events come by document */
    memset(out, 0, (size_t)(vocab * vocab) * sizeof *out);
    for (int64_t i = 0; i < e->count; ++i) {
        const bool kept = options->part[e->document[i]] != CS_LEFT_OUT;
        total += (documents ? counted(&p, i) : kept) ? e->weight[i] : 0;
    }
    for (int64_t i = 0; i < e->count; ++i) {
        double n = 0, all = 0, pairs = 0; /* of the context of i */
        groups = 0;
        last = -1;
        for (int64_t j = 0; j < e->count && counted(&p, i); ++j) {
            if (!same(e, i, j)) {
                continue;
            }
            all += options->part[e->document[j]] != CS_LEFT_OUT ? e->weight[j] : 0;
            n += counted(&p, j) ? e->weight[j] : 0;
            groups += counted(&p, j) && e->document[j] != last;
            last = counted(&p, j) ? e->document[j] : last;
            for (int64_t k = 0; k < e->count && counted(&p, j); ++k) {
                const bool pair = same(e, i, k) && counted(&p, k) && two_groups(&p, j, k);
                pairs += pair ? e->weight[j] * e->weight[k] : 0;
            }
        }
        pairs = groups < options->least ? 0 : pairs;
        seen += pairs > 0 ? e->weight[i] : 0;
        for (int64_t j = 0; j < e->count && pairs > 0; ++j) {
            if (same(e, i, j) && counted(&p, j) && two_groups(&p, i, j)) {
                const int32_t u = e->token[i], v = e->token[j];
                const double w = documents ? n / (total * pairs) : options->weight / (all * total);
                out[u * vocab + v] +=
                    options->scale[u] * options->scale[v] * w * e->weight[i] * e->weight[j];
            }
        }
    }
    return seen / total;
}
