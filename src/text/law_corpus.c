/* Corpora of laws: documents that are drawn, every text with its weight, and what the law itself says
 * of documents.
 *
 * All go through the forward algorithm: a(z) is the probability of the tokens so far together with the
 * state z that emits the next one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "text/corpus_builder_private.h"
#include "text/corpus_read_private.h"
#include "text/law.h"
#include "text/sequences.h"

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

void cs_law_draw(const cs_law *law, int64_t d, int64_t *label, int32_t *token)
{
    const int64_t h = law->states;
    cs_rng rng = cs_rng_at(law->sample, CS_STREAM_TEXT, (uint64_t)d);
    *label = draw_from(&rng, law->classes, law->weight);
    const double *next = law->next + *label * h * h, *emit = law->emit + *label * h * law->words;
    int64_t state = draw_from(&rng, h, law->start + *label * h);
    for (int64_t i = 0; i < law->length; ++i) {
        token[i] = (int32_t)draw_from(&rng, law->words, emit + state * law->words);
        state = draw_from(&rng, h, next + state * h);
    }
}

/* Names of classes have equally many digits, so that byte order is theirs. */
static int label_of(const cs_law *law, int64_t label, char out[24])
{
    char most[24];
    const int digits = snprintf(most, sizeof most, "%lld", (long long)law->classes - 1);
    return law->classes > 1 ? snprintf(out, 24, "%0*lld", digits, (long long)label) : 0;
}

/* Words one after the other, a blank between two; its size. */
static int64_t text_of(const cs_law *law, const int32_t *token, char *text)
{
    char *at = text;
    for (int64_t i = 0; i < law->length; ++i) {
        cs_law_word(token[i], at);
        at += strlen(at);
        *at++ = ' ';
    }
    return at - text - 1;
}

static cs_status add_documents(const cs_law *law, cs_corpus_builder *b)
{
    char label[24];
    cs_pool pool = {0};
    int32_t *token = cs_pool_take(&pool, law->length, sizeof *token);
    char *text = cs_pool_take(&pool, 8 * law->length + 16, 1);
    cs_status status = pool.status;
    for (int64_t d = 0; d < law->documents && status == CS_OK && !b->enough; ++d) {
        int64_t class = 0;
        cs_law_draw(law, d, &class, token);
        const cs_document document = {.text = text,
                                      .size = text_of(law, token, text),
                                      .label = label,
                                      .label_size = label_of(law, class, label)};
        status = cs_corpus_builder_add(b, &document);
        if (status == CS_OK && d % 1024 == 0) status = cs_interrupt_check();
    }
    cs_pool_free(&pool);
    return status;
}

cs_status cs_law_read(const char *source, const cs_corpus_options *resolved, cs_corpus *out)
{
    cs_law law = {0};
    cs_corpus_builder b;
    char word[16];
    int32_t number = 0;
    cs_corpus_builder_init(&b, resolved);
    cs_status status = cs_law_parse(source, &law);
    if (status == CS_OK)
        status = cs_mem_check(sizeof(int32_t) * (double)law.documents * (double)law.length,
                              "give fewer documents", "%lld documents of %lld tokens take",
                              (long long)law.documents, (long long)law.length);
    b.in_order = !resolved->encoder && resolved->splitter != CS_SPLITTER_CHAR;
    for (int64_t v = 0; v < law.words && b.in_order && status == CS_OK; ++v) {
        cs_law_word(v, word);
        status = cs_word_table_find(&b.words, word, (int64_t)strlen(word), &number);
    }
    if (status == CS_OK) status = add_documents(&law, &b);
    if (status == CS_OK) status = cs_blame(cs_corpus_builder_finish(&b, out), "%s", source);
    if (status == CS_OK) memcpy(out->sha256, law.sha256, sizeof out->sha256);
    cs_corpus_builder_free(&b);
    cs_law_free(&law);
    return status;
}

/* --- every text ------------------------------------------------------------------------------- */

/* Words that a state may emit, by word: those of word v are state[ptr[v]] .. with p[]. */
typedef struct {
    int64_t *ptr, *state;
    double *p;
} emissions;

static void emissions_of(const cs_law *law, const double *emit, cs_pool *pool, emissions *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < law->states * law->words; ++i) {
        count += emit[i] > 0;
    }
    out->ptr = cs_pool_take(pool, law->words + 1, sizeof *out->ptr);
    out->state = cs_pool_take(pool, count, sizeof *out->state);
    out->p = cs_pool_take(pool, count, sizeof *out->p);
    count = 0;
    for (int64_t v = 0; v < law->words && pool->status == CS_OK; ++v) {
        for (int64_t z = 0; z < law->states; ++z) {
            if (emit[z * law->words + v] > 0) {
                out->state[count] = z;
                out->p[count++] = emit[z * law->words + v];
            }
        }
        out->ptr[v + 1] = count;
    }
}

/* out = a next */
static void step(int64_t states, const double *a, const double *next, double *out)
{
    memset(out, 0, (size_t)states * sizeof *out);
    for (int64_t i = 0; i < states; ++i) {
        for (int64_t j = 0; j < states && a[i] > 0; ++j) {
            out[j] += a[i] * next[i * states + j];
        }
    }
}

/* The texts of one class and length. */
typedef struct {
    const cs_law *law;
    const double *next;
    emissions emit;
    int64_t label, length;
    double share;   /* of the sequences, times the class's weight */
    double *before; /* (length + 1) x states: a, the prefix at hand of each length */
    double *after;  /* states: a of its last token's state */
    int32_t *token;
} walk;

static void add_text(const walk *w, double p, cs_corpus *out)
{
    memcpy(out->token + out->tokens, w->token, (size_t)w->length * sizeof *out->token);
    out->label[out->documents] = w->law->classes > 1 ? (int32_t)w->label : -1;
    out->held_out[out->documents] = 0;
    out->weight[out->documents] = w->share * p;
    if (out->weight[out->documents] > 0) { /* and did not underflow */
        out->doc_ptr[++out->documents] = out->tokens += w->length;
    }
}

/* All texts in the order of their words: a counter whose digits are words, as long as the
 * prefix is possible. */
static cs_status walk_texts(walk *w, cs_corpus *out)
{
    const int64_t h = w->law->states;
    int64_t depth = 0;
    cs_status status = CS_OK;
    w->token[0] = 0; /* the last word tried at each place is one below: ids begin at 1 */
    while (depth >= 0 && status == CS_OK) {
        const double *a = w->before + depth * h;
        const int64_t v = w->token[depth]++;
        double p = 0;
        if (v == w->law->words) {
            --depth;
            continue;
        }
        memset(w->after, 0, (size_t)h * sizeof *w->after);
        for (int64_t e = w->emit.ptr[v]; e < w->emit.ptr[v + 1]; ++e) {
            w->after[w->emit.state[e]] = a[w->emit.state[e]] * w->emit.p[e];
            p += w->after[w->emit.state[e]];
        }
        if (p > 0 && depth + 1 == w->length) {
            add_text(w, p, out);
        } else if (p > 0) {
            step(h, w->after, w->next, w->before + (depth + 1) * h);
            w->token[++depth] = 0;
            status = depth < 3 ? cs_interrupt_check() : CS_OK;
        }
    }
    return status;
}

/* At most so many texts of a class: V^s, or the paths of states with the words that they emit. */
static double most_texts(const cs_law *law, int64_t label, int64_t length, double *paths,
                         double *further)
{
    const int64_t h = law->states;
    const double *next = law->next + label * h * h, *emit = law->emit + label * h * law->words;
    double sum = 0;
    for (int64_t z = 0; z < h; ++z) {
        paths[z] = 1;
    }
    for (int64_t k = 0; k < length; ++k) {
        sum = 0;
        for (int64_t z = 0; z < h; ++z) {
            double words = 0;
            for (int64_t v = 0; v < law->words; ++v) {
                words += emit[z * law->words + v] > 0;
            }
            paths[z] *= words;
            sum += paths[z];
        }
        for (int64_t j = 0; j < h; ++j) {
            further[j] = 0;
            for (int64_t i = 0; i < h; ++i) {
                further[j] += next[i * h + j] > 0 ? paths[i] : 0;
            }
        }
        memcpy(paths, further, (size_t)h * sizeof *paths);
    }
    return fmin(pow((double)law->words, (double)length), sum);
}

/* The mean law of the state where sequences of this length begin. */
static void start_of(const cs_law *law, int64_t label, const cs_sequences *s, int32_t length,
                     double *at, double *further, double *out)
{
    const int64_t h = law->states;
    int64_t found = 0;
    memcpy(at, law->start + label * h, (size_t)h * sizeof *at);
    memset(out, 0, (size_t)h * sizeof *out);
    for (int64_t i = 0, place = 0; i < s->count; ++i) {
        for (; place < s->start[i]; ++place) {
            step(h, at, law->next + label * h * h, further);
            memcpy(at, further, (size_t)h * sizeof *at);
        }
        for (int64_t z = 0; z < h && s->length[i] == length; ++z) {
            out[z] = (out[z] * (double)found + at[z]) / (double)(found + 1);
        }
        found += s->length[i] == length;
    }
}

/* The different lengths of the sequences of a document, and how many have each: two at most. */
typedef struct {
    int32_t length[2];
    int64_t count[2];
    int lengths;
} cut;

static cs_status cut_of(const cs_law *law, int64_t max_length, int64_t stride, cs_sequences *s,
                        cut *out)
{
    int64_t ptr[] = {0, law->length};
    const cs_corpus document = {.documents = 1, .tokens = law->length, .doc_ptr = ptr};
    cs_status status = cs_sequences_of(&document, max_length, stride, 1, s, NULL);
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

/* Room for all texts, and their vocabulary and classes. */
static cs_status begin_texts(const cs_law *law, const char *source, const cut *c, cs_pool *pool,
                             cs_corpus *out)
{
    enum { BYTES = 41 }; /* a text beside its tokens, its sequence included */
    double texts = 0, tokens = 0, *paths = cs_pool_take(pool, law->states, sizeof *paths),
           *further = cs_pool_take(pool, law->states, sizeof *further);
    char name[24];
    cs_status status = pool->status;
    for (int64_t l = 0; l < law->classes && status == CS_OK; ++l) {
        for (int k = 0; k < c->lengths; ++k) {
            const double most = most_texts(law, l, c->length[k], paths, further);
            texts += most;
            tokens += most * c->length[k];
        }
    }
    if (status == CS_OK)
        status = cs_mem_check(BYTES * texts + sizeof(int32_t) * tokens,
                              "give a smaller --max-length with --stride 1, or fewer words",
                              "%s: all %.4g texts of %d tokens take", source, texts, c->length[0]);
    if (status == CS_OK) status = cs_corpus_allocate((int64_t)texts, (int64_t)tokens, out);
    if (status != CS_OK) return status;
    out->vocab = law->words + 1;
    out->labels = law->classes > 1 ? law->classes : 0;
    out->weight = cs_alloc((int64_t)texts, sizeof *out->weight);
    out->word = cs_calloc(out->vocab, sizeof *out->word);
    out->label_name = cs_calloc(out->labels, sizeof *out->label_name);
    out->name = cs_strdup(source);
    out->path = cs_strdup(source);
    memcpy(out->sha256, law->sha256, sizeof out->sha256);
    bool whole = out->weight && out->word && out->label_name && out->name && out->path;
    for (int64_t v = 0; v < out->vocab && whole; ++v) {
        cs_law_word(v - 1, name);
        whole = (out->word[v] = cs_strdup(v > 0 ? name : "<unk>")) != NULL;
    }
    for (int64_t l = 0; l < out->labels && whole; ++l) {
        (void)label_of(law, l, name);
        whole = (out->label_name[l] = cs_strdup(name)) != NULL;
    }
    return whole ? CS_OK : CS_ERR_MEMORY;
}

static cs_status add_class(const cs_law *law, int64_t label, const cs_sequences *s, const cut *c,
                           cs_corpus *out)
{
    const int64_t h = law->states;
    cs_status status = CS_OK;
    for (int k = 0; k < c->lengths && status == CS_OK; ++k) {
        cs_pool pool = {0};
        walk w = {.law = law,
                  .next = law->next + label * h * h,
                  .label = label,
                  .length = c->length[k],
                  .share = law->weight[label] * (double)c->count[k] / (double)s->count,
                  .before = cs_pool_take(&pool, (c->length[k] + 1) * h, sizeof *w.before),
                  .after = cs_pool_take(&pool, h, sizeof *w.after),
                  .token = cs_pool_take(&pool, c->length[k] + 1, sizeof *w.token)};
        double *at = cs_pool_take(&pool, h, sizeof *at);
        emissions_of(law, law->emit + label * h * law->words, &pool, &w.emit);
        status = pool.status;
        if (status == CS_OK) {
            start_of(law, label, s, c->length[k], at, w.after, w.before);
            status = walk_texts(&w, out);
        }
        cs_pool_free(&pool);
    }
    return status;
}

cs_status cs_law_texts(const cs_law *law, const char *source, int64_t max_length, int64_t stride,
                       cs_corpus *out)
{
    cs_corpus made = {0};
    cs_sequences s = {0};
    cs_pool pool = {0};
    cut c = {0};
    cs_status status = cut_of(law, max_length, stride, &s, &c);
    if (status == CS_OK) status = begin_texts(law, source, &c, &pool, &made);
    for (int64_t l = 0; l < law->classes && status == CS_OK; ++l) {
        status = add_class(law, l, &s, &c, &made);
    }
    cs_sequences_free(&s);
    cs_pool_free(&pool);
    return CS_DELIVER(status, out, made, cs_corpus_free);
}

/* --- what the law says of documents ----------------------------------------------------------- */

bool cs_law_speaks(const cs_law *law, const cs_corpus *corpus)
{
    bool same = corpus->word && corpus->vocab == law->words + 1 && !corpus->real;
    for (int64_t v = 0; v < law->words && same; ++v) {
        char word[16];
        cs_law_word(v, word);
        same = strcmp(corpus->word[v + 1], word) == 0;
    }
    return same;
}

/* a: (class, state) that emits the next token, given those before; the probability of this one. */
static double read_token(const cs_law *law, int64_t word, double *a, double *further)
{
    const int64_t h = law->states, all = law->classes * h;
    double p = 0;
    for (int64_t i = 0; i < all; ++i) {
        a[i] *= law->emit[i * law->words + word];
        p += a[i];
    }
    for (int64_t i = 0; i < all; ++i) {
        a[i] /= p;
    }
    for (int64_t c = 0; c < law->classes; ++c) {
        step(h, a + c * h, law->next + c * h * h, further + c * h);
    }
    memcpy(a, further, (size_t)all * sizeof *a);
    return p;
}

static void score_document(const cs_law *law, const cs_corpus *corpus, int64_t d, double *a,
                           double *further, cs_law_score *score)
{
    const int64_t first = corpus->doc_ptr[d], h = law->states;
    double most = 0;
    int64_t best = 0;
    for (int64_t i = 0; i < law->classes * h; ++i) {
        a[i] = law->weight[i / h] * law->start[i];
    }
    for (int64_t i = first; i < corpus->doc_ptr[d + 1]; ++i) {
        const double nats = -log(read_token(law, corpus->token[i] - 1, a, further));
        *(i == first ? &score->first : &score->next) += nats;
    }
    for (int64_t c = 0; c < law->classes; ++c) {
        double p = 0;
        for (int64_t z = 0; z < h; ++z) {
            p += a[c * h + z];
        }
        best = p > most ? c : best;
        most = fmax(most, p);
    }
    score->documents += 1;
    score->tokens += corpus->doc_ptr[d + 1] - first;
    score->bayes_error += law->classes > 1 && best != corpus->label[d];
    score->bayes_risk += law->classes > 1 ? 1 - most : 0;
}

cs_status cs_law_score_of(const cs_law *law, const cs_corpus *corpus, bool held_out,
                          cs_law_score *out)
{
    cs_law_score score = {0};
    cs_pool pool = {0};
    double *a = cs_pool_take(&pool, law->classes * law->states, sizeof *a),
           *further = cs_pool_take(&pool, law->classes * law->states, sizeof *further);
    cs_status status = pool.status;
    if (status == CS_OK && (!cs_law_speaks(law, corpus) || corpus->unknown_tokens > 0))
        status = cs_fail(CS_ERR_INPUT, "%s: its words are not those of the law", corpus->name);
    for (int64_t d = 0; d < corpus->documents && status == CS_OK; ++d) {
        if ((corpus->held_out[d] != 0) == held_out) {
            score_document(law, corpus, d, a, further, &score);
            if (d % 64 == 0) status = cs_interrupt_check();
        }
    }
    const double n = (double)score.documents;
    score.first /= n;
    score.next /= (double)score.tokens - n;
    score.bayes_error /= n;
    score.bayes_risk /= n;
    if (status == CS_OK) *out = score;
    cs_pool_free(&pool);
    return status;
}
