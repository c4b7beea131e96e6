/* Viterbi's algorithm over the tokens that begin at each character (Kudo, Subword regularization,
 * ACL 2018). Of ways with equal scores the one found first stays, and a character that is no token
 * has a score of 10 below the lowest: both as in SentencePiece and the `tokenizers` package, sums
 * formed in the same order, so that ties fall alike. */
#include "text/unigram.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/unicode.h"

static const double UNKNOWN_PENALTY = 10.0;

struct cs_unigram_best {
    double score; /* of the best way that ends here */
    int64_t from; /* where its last token begins; -1: none ends here */
    int32_t token;
};

cs_status cs_unigram_init(cs_unigram *m, const cs_word_table *v)
{
    cs_status status = CS_OK;
    m->lowest = 0.0;
    bool any = false;
    for (int64_t w = 0; w < v->words && status == CS_OK; ++w) {
        int32_t there = 0;
        if (v->count[w] > 0) {
            m->lowest = !any || m->score[w] < m->lowest ? m->score[w] : m->lowest;
            any = true;
            status = cs_trie_put(&m->trie, v->text + v->start[w], v->start[w + 1] - v->start[w],
                                 (int32_t)w, &there);
        }
    }
    for (int b = 0; b < 256; ++b) {
        char name[8];
        (void)snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        m->byte[b] = cs_word_table_token(v, name, 6);
    }
    return status;
}

void cs_unigram_free(cs_unigram *m)
{
    cs_trie_free(&m->trie);
    cs_free(m->score);
    memset(m, 0, sizeof *m);
}

void cs_unigram_scratch_free(cs_unigram_scratch *s)
{
    CS_FREE_FIELDS(s, token, best);
    memset(s, 0, sizeof *s);
}

static void consider(struct cs_unigram_best *end, double score, int64_t from, int32_t token)
{
    if (end->from < 0 || score > end->score) {
        *end = (struct cs_unigram_best){score, from, token};
    }
}

/* best[0 .. size] of a text. */
static void search(const cs_unigram *m, const char *text, int64_t size,
                   struct cs_unigram_best *best)
{
    for (int64_t i = 0; i <= size; ++i) {
        best[i] = (struct cs_unigram_best){0.0, -1, 0};
    }
    for (int64_t at = 0; at < size;) {
        int32_t c = 0, node = 0;
        const int length = cs_char_at((const uint8_t *)text + at, &c);
        bool alone = false;
        for (int64_t i = at; i < size; ++i) {
            node = cs_trie_step(&m->trie, node, (uint8_t)text[i]);
            if (node < 0) {
                break;
            }
            const int32_t token = m->trie.value[node];
            if (token >= 0) {
                consider(&best[i + 1], m->score[token] + best[at].score, at, token);
                alone = alone || i + 1 == at + length;
            }
        }
        if (!alone) {
            consider(&best[at + length], m->lowest - UNKNOWN_PENALTY + best[at].score, at,
                     m->unknown);
        }
        at += length;
    }
}

/* The tokens of a run of unknown characters, last first. */
static void put_unknown(const cs_unigram *m, const cs_word_table *v, const char *text, int64_t size,
                        cs_unigram_scratch *s)
{
    const int32_t whole = cs_word_table_token(v, text, size);
    bool bytes = m->byte_fallback && whole < 0;
    for (int64_t i = 0; i < size && bytes; ++i) {
        bytes = m->byte[(uint8_t)text[i]] >= 0;
    }
    for (int64_t i = size - 1; i >= 0 && bytes; --i) {
        s->token[s->count++] = m->byte[(uint8_t)text[i]];
    }
    if (!bytes) {
        s->token[s->count++] = whole < 0 ? m->unknown : whole;
    }
}

static void reverse(int32_t *token, int64_t count)
{
    for (int64_t i = 0; i < count / 2; ++i) {
        const int32_t swap = token[i];
        token[i] = token[count - 1 - i];
        token[count - 1 - i] = swap;
    }
}

cs_status cs_unigram_apply(const cs_unigram *m, const cs_word_table *v, const char *text,
                           int64_t size, cs_unigram_scratch *s)
{
    cs_status status = cs_reserve(&s->token, &s->capacity, size + 1, sizeof *s->token);
    if (status == CS_OK)
        status = cs_reserve(&s->best, &s->best_capacity, size + 1, sizeof *s->best);
    if (status != CS_OK) return status;
    search(m, text, size, s->best);
    s->count = 0;
    for (int64_t end = size; end > 0;) {
        int64_t from = s->best[end].from;
        if (s->best[end].token != m->unknown) {
            s->token[s->count++] = s->best[end].token;
        } else {
            while (from > 0 && s->best[from].token == m->unknown) {
                from = s->best[from].from;
            }
            put_unknown(m, v, text + from, end - from, s);
        }
        end = from;
    }
    reverse(s->token, s->count);
    return CS_OK;
}
