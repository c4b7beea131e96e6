/* Corpora of synthetic languages: drawn documents, every text with its weight, and the
 * probabilities of documents in the language itself.
 *
 * All go through the forward algorithm: a(z) is the probability of the tokens so far together with
 * the state z that emits the next one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "text/corpus_builder_private.h"
#include "text/sequences.h"
#include "text/synthetic.h"

/* --- documents -------------------------------------------------------------------------------- */

static int64_t draw_from(cs_rng *rng, int64_t n, const double *p)
{
    double left = cs_rng_uniform(rng);
    int64_t last = 0; /* that is possible: rounding may leave a little */
    for (int64_t i = 0; i < n; ++i) {
        if (p[i] > 0) {
            last = i;
            if (left < p[i]) break;
            left -= p[i];
        }
    }
    return last;
}

void cs_synthetic_draw(const cs_synthetic *language, int64_t d, int64_t *label, int32_t *token)
{
    const int64_t h = language->states;
    cs_rng rng = cs_rng_at(language->sample, CS_STREAM_TEXT, (uint64_t)d);
    *label = draw_from(&rng, language->classes, language->weight);
    const double *next = language->next + *label * h * h,
                 *emit = language->emit + *label * h * language->words;
    int64_t state = draw_from(&rng, h, language->start + *label * h);
    for (int64_t i = 0; i < language->length; ++i) {
        token[i] = (int32_t)draw_from(&rng, language->words, emit + state * language->words);
        state = draw_from(&rng, h, next + state * h);
    }
}

/* Names of classes have equally many digits, so that byte order is theirs. */
static int label_of(const cs_synthetic *language, int64_t label, char out[24])
{
    char most[24];
    const int digits = snprintf(most, sizeof most, "%lld", (long long)language->classes - 1);
    return language->classes > 1 ? snprintf(out, 24, "%0*lld", digits, (long long)label) : 0;
}

/* Words one after the other, a blank between two; its size. */
static int64_t text_of(const cs_synthetic *language, const int32_t *token, char *text)
{
    char *at = text;
    for (int64_t i = 0; i < language->length; ++i) {
        cs_synthetic_word(token[i], at);
        at += strlen(at);
        *at++ = ' ';
    }
    return at - text - 1;
}

static cs_status add_documents(const cs_synthetic *language, cs_corpus_builder *b)
{
    char label[24];
    CS_AUTO(cs_pool) pool = {0};
    int32_t *token = cs_pool_take(&pool, language->length, sizeof *token);
    char *text = cs_pool_take(&pool, 8 * language->length + 16, 1);
    cs_status status = pool.status;
    for (int64_t d = 0; d < language->documents && status == CS_OK && !b->enough; ++d) {
        int64_t class = 0;
        cs_synthetic_draw(language, d, &class, token);
        const cs_document document = {.text = text,
                                      .size = text_of(language, token, text),
                                      .label = label,
                                      .label_size = label_of(language, class, label)};
        status = cs_corpus_builder_add(b, &document);
        if (status == CS_OK) status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_synthetic_read(const char *source, const cs_corpus_options *resolved, cs_corpus *out)
{
    CS_AUTO(cs_synthetic) language = {0};
    CS_AUTO(cs_corpus_builder) b = {0};
    char word[16];
    int32_t number = 0;
    cs_corpus_builder_init(&b, resolved);
    cs_status status = cs_synthetic_parse(source, &language);
    if (status == CS_OK)
        status =
            cs_mem_check(sizeof(int32_t) * (double)language.documents * (double)language.length,
                         "give fewer documents", "%lld documents of %lld tokens take",
                         (long long)language.documents, (long long)language.length);
    b.in_order = !resolved->encoder && resolved->splitter != CS_SPLITTER_CHAR;
    for (int64_t v = 0; v < language.words && b.in_order && status == CS_OK; ++v) {
        cs_synthetic_word(v, word);
        status = cs_word_table_find(&b.words, word, (int64_t)strlen(word), &number);
    }
    if (status == CS_OK) status = add_documents(&language, &b);
    if (status == CS_OK) status = cs_blame(cs_corpus_builder_finish(&b, out), "%s", source);
    if (status == CS_OK) memcpy(out->sha256, language.sha256, sizeof out->sha256);
    return status;
}

void cs_synthetic_step(int64_t states, const double *a, const double *next, double *out)
{
    memset(out, 0, (size_t)states * sizeof *out);
    for (int64_t i = 0; i < states; ++i) {
        for (int64_t j = 0; j < states && a[i] > 0; ++j) {
            out[j] += a[i] * next[i * states + j];
        }
    }
}

/* The mean distribution of the state where sequences of this length begin. */
static cs_status start_of(const cs_synthetic *language, int64_t label, const cs_sequences *s,
                          int32_t length, double *at, double *further, double *out)
{
    const int64_t h = language->states;
    cs_status status = CS_OK;
    int64_t found = 0;
    memcpy(at, language->start + label * h, (size_t)h * sizeof *at);
    memset(out, 0, (size_t)h * sizeof *out);
    for (int64_t i = 0, place = 0; i < s->count && status == CS_OK; ++i) {
        for (; place < s->start[i] && status == CS_OK; ++place) {
            cs_synthetic_step(h, at, language->next + label * h * h, further);
            memcpy(at, further, (size_t)h * sizeof *at);
            status = cs_interrupt_check();
        }
        for (int64_t z = 0; z < h && s->length[i] == length; ++z) {
            out[z] = (out[z] * (double)found + at[z]) / (double)(found + 1);
        }
        found += s->length[i] == length;
    }
    return status;
}

/* The different lengths of the sequences of a document, and how many have each: two at most. */
typedef struct {
    int32_t length[2];
    int64_t count[2];
    int lengths;
} cut;

static cs_status cut_of(const cs_synthetic *language, int64_t max_length, int64_t stride,
                        cs_sequences *s, cut *out)
{
    int64_t ptr[] = {0, language->length};
    const cs_corpus document = {.documents = 1, .tokens = language->length, .doc_ptr = ptr};
    cs_status status = cs_sequences_of(&document, max_length, stride, s);
    for (int64_t i = 0; i < s->count && status == CS_OK; ++i) {
        int k = 0;
        while (k < out->lengths && out->length[k] != s->length[i]) {
            ++k;
        }
        out->length[k] = s->length[i];
        out->lengths = k == out->lengths ? k + 1 : out->lengths;
        out->count[k] += 1;
    }
    return status;
}

/* Words and classes, and the capacity for a document of each class and length. */
static cs_status begin_frame(const cs_synthetic *language, const char *source, const cut *c,
                             cs_corpus *out)
{
    char name[24];
    const int64_t documents = language->classes * c->lengths;
    cs_status status = cs_corpus_allocate(
        documents, language->classes * ((int64_t)c->length[0] + c->length[1]), out);
    if (status != CS_OK) return status;
    out->vocab = language->words + 1;
    out->labels = language->classes > 1 ? language->classes : 0;
    out->weight = cs_alloc(documents, sizeof *out->weight);
    out->population = cs_calloc(1, sizeof *out->population);
    out->word = cs_calloc(out->vocab, sizeof *out->word);
    out->label_name = cs_calloc(out->labels, sizeof *out->label_name);
    out->name = cs_strdup(source);
    out->path = cs_strdup(source);
    memcpy(out->sha256, language->sha256, sizeof out->sha256);
    if (!out->weight || !out->population || !out->word || !out->label_name || !out->name ||
        !out->path) {
        return CS_ERR_MEMORY;
    }
    out->population->start = cs_alloc(documents * language->states, sizeof *out->population->start);
    bool whole = out->population->start != NULL;
    for (int64_t v = 0; v < out->vocab && whole; ++v) {
        cs_synthetic_word(v - (v > 0), name);
        whole = (out->word[v] = cs_strdup(v > 0 ? name : "<unk>")) != NULL;
    }
    for (int64_t l = 0; l < out->labels && whole; ++l) {
        (void)label_of(language, l, name);
        whole = (out->label_name[l] = cs_strdup(name)) != NULL;
    }
    return whole ? CS_OK : CS_ERR_MEMORY;
}

/* A document of class `label`, whose tokens are the numbers of their places. */
static void add_frame(const cs_synthetic *language, int64_t label, int32_t length, double share,
                      cs_corpus *c)
{
    for (int32_t i = 0; i < length; ++i) {
        c->token[c->tokens++] = i;
    }
    c->label[c->documents] = language->classes > 1 ? (int32_t)label : -1;
    c->held_out[c->documents] = 0;
    c->weight[c->documents] = language->weight[label] * share;
    c->doc_ptr[++c->documents] = c->tokens;
}

cs_status cs_synthetic_population_of(const char *source, int64_t max_length, int64_t stride,
                                     cs_corpus *out)
{
    CS_AUTO(cs_synthetic) language = {0};
    cs_corpus made = {0};
    CS_AUTO(cs_sequences) s = {0};
    CS_AUTO(cs_pool) pool = {0};
    cut c = {0};
    cs_status status = cs_synthetic_parse(source, &language);
    if (status == CS_OK) status = cut_of(&language, max_length, stride, &s, &c);
    if (status == CS_OK) status = begin_frame(&language, source, &c, &made);
    double *at = cs_pool_take(&pool, language.states, sizeof *at),
           *further = cs_pool_take(&pool, language.states, sizeof *further);
    status = status ? status : pool.status;
    for (int64_t i = 0; i < language.classes * c.lengths && status == CS_OK; ++i) {
        const int64_t label = i / c.lengths, k = i % c.lengths;
        status = start_of(&language, label, &s, c.length[k], at, further,
                          made.population->start + i * language.states);
        add_frame(&language, label, c.length[k], (double)c.count[k] / (double)s.count, &made);
    }
    if (status == CS_OK) {
        made.population->language = language;
        language = (cs_synthetic){0};
    }
    return CS_DELIVER(status, out, made, cs_corpus_free);
}

/* --- probabilities of documents in the language ----------------------------------------------- */

bool cs_synthetic_generates(const cs_synthetic *language, const cs_corpus *corpus)
{
    bool same = corpus->word && corpus->vocab == language->words + 1 && !corpus->real;
    for (int64_t v = 0; v < language->words && same; ++v) {
        char word[16];
        cs_synthetic_word(v, word);
        same = strcmp(corpus->word[v + 1], word) == 0;
    }
    return same;
}

/* a: (class, state) that emits the next token, given those before; the probability of this one. */
static double read_token(const cs_synthetic *language, int64_t word, double *a, double *further)
{
    const int64_t h = language->states, all = language->classes * h;
    for (int64_t i = 0; i < all; ++i) {
        a[i] *= language->emit[i * language->words + word];
    }
    const double p = cs_to_one(all, a);
    for (int64_t c = 0; c < language->classes; ++c) {
        cs_synthetic_step(h, a + c * h, language->next + c * h * h, further + c * h);
    }
    memcpy(a, further, (size_t)all * sizeof *a);
    return p;
}

static cs_status score_document(const cs_synthetic *language, const cs_corpus *corpus, int64_t d,
                                double *a, double *further, cs_synthetic_score *score)
{
    cs_status status = CS_OK;
    const int64_t first = corpus->doc_ptr[d], h = language->states;
    double most = 0;
    int64_t best = 0;
    for (int64_t i = 0; i < language->classes * h; ++i) {
        a[i] = language->weight[i / h] * language->start[i];
    }
    for (int64_t i = first; i < corpus->doc_ptr[d + 1] && status == CS_OK; ++i) {
        const double nats = -log(read_token(language, corpus->token[i] - 1, a, further));
        *(i == first ? &score->first : &score->next) += nats;
        status = cs_interrupt_check();
    }
    for (int64_t c = 0; c < language->classes; ++c) {
        double p = 0;
        for (int64_t z = 0; z < h; ++z) {
            p += a[c * h + z];
        }
        best = p > most ? c : best;
        most = fmax(most, p);
    }
    score->documents += 1;
    score->tokens += corpus->doc_ptr[d + 1] - first;
    score->bayes_error += language->classes > 1 && best != corpus->label[d];
    score->bayes_risk += language->classes > 1 ? 1 - most : 0;
    return status;
}

cs_status cs_synthetic_score_of(const cs_synthetic *language, const cs_corpus *corpus,
                                bool held_out, cs_synthetic_score *out)
{
    cs_synthetic_score score = {0};
    CS_AUTO(cs_pool) pool = {0};
    double *a = cs_pool_take(&pool, language->classes * language->states, sizeof *a),
           *further = cs_pool_take(&pool, language->classes * language->states, sizeof *further);
    cs_status status = pool.status;
    if (status == CS_OK &&
        (!cs_synthetic_generates(language, corpus) || corpus->unknown_tokens > 0))
        status = cs_fail(CS_ERR_INPUT, "%s: its words are not those of the synthetic language",
                         corpus->name);
    for (int64_t d = 0; d < corpus->documents && status == CS_OK; ++d) {
        if ((corpus->held_out[d] != 0) == held_out) {
            status = score_document(language, corpus, d, a, further, &score);
        }
    }
    const double n = (double)score.documents;
    score.first /= n;
    score.next /= (double)score.tokens - n;
    score.bayes_error /= n;
    score.bayes_risk /= n;
    if (status == CS_OK) *out = score;
    return status;
}
