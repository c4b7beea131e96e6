/* Sums over rows by (context, document).
 *
 * The sum of a few sparse rows is gathered in a dense vector, with a bit for each entry that is
 * touched, by which it is read out in order.
 */
#include "cooc/by_document.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"

enum { CHECKED = 1 << 16, WORD = 64 };

static bool same_context(const cs_hash128 *a, const cs_hash128 *b)
{
    return a->high == b->high && ((a->low ^ b->low) >> 32) == 0;
}

int64_t cs_next_context(const cs_cooc *rows, int64_t row)
{
    int64_t next = row + 1;
    while (next < rows->matrix.a.rows && same_context(&rows->key[row], &rows->key[next])) {
        ++next;
    }
    return next;
}

static uint8_t part_of(const cs_cooc *rows, const uint8_t *part, int64_t row)
{
    return part[cs_row_document(&rows->key[row])];
}

void cs_context_index_free(cs_context_index *index)
{
    CS_FREE_FIELDS(index, mass, document, first, end);
    *index = (cs_context_index){0};
}

cs_status cs_context_index_of(const cs_cooc *rows, cs_context_index *out)
{
    const cs_csr *a = &rows->matrix.a;
    cs_context_index index = {.mass = cs_alloc(a->rows, sizeof *index.mass),
                              .document = cs_alloc(a->rows, sizeof *index.document)};
    cs_status status = index.mass && index.document ? CS_OK : CS_ERR_MEMORY;
    for (int64_t r = 0; r < a->rows && status == CS_OK; ++r) {
        index.mass[r] = cs_total(a->ptr[r + 1] - a->ptr[r], a->val + a->ptr[r]);
        index.document[r] = (uint32_t)cs_row_document(&rows->key[r]);
        index.shared += r > 0 && same_context(&rows->key[r - 1], &rows->key[r]) &&
                        (r == 1 || !same_context(&rows->key[r - 2], &rows->key[r]));
    }
    if (status == CS_OK) {
        index.first = cs_alloc(index.shared, sizeof *index.first);
        index.end = cs_alloc(index.shared, sizeof *index.end);
        status = index.first && index.end ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t r = 0, end, c = 0; r < a->rows && status == CS_OK; r = end) {
        end = cs_next_context(rows, r);
        if (end - r > 1) {
            index.first[c] = r;
            index.end[c++] = end;
        }
    }
    return CS_DELIVER(status, out, index, cs_context_index_free);
}

/* --- sums of rows ----------------------------------------------------------------------------- */

typedef struct {
    double *sum; /* cols, zero between rows */
    /* Bits of the entries that are touched and of the words of `bit` that are not 0, and the first and
     * the last word of these; last < first: none. */
    uint64_t *bit, *word;
    int64_t first, last;
} gatherer;

static gatherer gatherer_in(cs_pool *pool, int64_t cols)
{
    return (gatherer){.sum = cs_pool_take(pool, cols, sizeof(double)),
                      .bit = cs_pool_take(pool, cols / WORD + 1, sizeof(uint64_t)),
                      .word = cs_pool_take(pool, cols / WORD / WORD + 1, sizeof(uint64_t)),
                      .first = INT64_MAX,
                      .last = -1};
}

static void gather(gatherer *g, const cs_csr *a, int64_t row)
{
    const int64_t begin = a->ptr[row], end = a->ptr[row + 1];
    if (begin == end) {
        return;
    }
    const int64_t first = a->col[begin] / WORD / WORD, last = a->col[end - 1] / WORD / WORD;
    g->first = first < g->first ? first : g->first; /* columns ascend */
    g->last = last > g->last ? last : g->last;
    for (int64_t e = begin; e < end; ++e) {
        const int64_t col = a->col[e], word = col / WORD;
        g->sum[col] += a->val[e];
        g->bit[word] |= UINT64_C(1) << col % WORD;
        g->word[word / WORD] |= UINT64_C(1) << word % WORD;
    }
}

/* Appends what was gathered, times factor scale (NULL: 1) where that is not 0, as entries from `at`
 * on; returns their end. */
static int64_t put(gatherer *g, double factor, const double *scale, cs_csr *out, int64_t at)
{
    for (int64_t u = g->first; u <= g->last; ++u) {
        for (uint64_t words = g->word[u]; words; words &= words - 1) {
            const int64_t w = u * WORD + __builtin_ctzll(words);
            for (uint64_t bits = g->bit[w]; bits; bits &= bits - 1) {
                const int64_t col = w * WORD + __builtin_ctzll(bits);
                const double s = factor * (scale ? scale[col] : 1);
                if (s > 0) {
                    out->col[at] = (int32_t)col;
                    out->val[at++] = s * g->sum[col];
                }
                g->sum[col] = 0;
            }
            g->bit[w] = 0;
        }
        g->word[u] = 0;
    }
    g->first = INT64_MAX;
    g->last = -1;
    return at;
}

/* Interrupts are seen now and then. */
static cs_status check_at(int64_t row, int64_t *next)
{
    if (row < *next) {
        return CS_OK;
    }
    *next = row + CHECKED;
    return cs_interrupt_check();
}

cs_status cs_contexts_of(const cs_cooc *rows, const uint8_t *part, cs_csr *out)
{
    const cs_csr *a = &rows->matrix.a;
    cs_csr sums = {0};
    CS_AUTO(cs_pool) pool = {0};
    int64_t contexts = 0, entries = 0, check = 0;
    cs_status status = CS_OK;
    for (int64_t r = 0, end; r < a->rows && status == CS_OK; r = end) {
        bool any = false;
        end = cs_next_context(rows, r);
        for (int64_t i = r; i < end; ++i) {
            const bool kept = part_of(rows, part, i) != CS_LEFT_OUT;
            any = any || kept;
            entries += kept ? a->ptr[i + 1] - a->ptr[i] : 0;
        }
        contexts += any;
        status = check_at(r, &check);
    }
    if (status == CS_OK)
        status = cs_mem_check((double)entries * 12 + (double)contexts * 8, NULL,
                              "a matrix of %lld contexts takes", (long long)contexts);
    if (status == CS_OK) status = cs_csr_init(&sums, contexts, a->cols, entries);
    gatherer g = gatherer_in(&pool, a->cols);
    status = status ? status : pool.status;
    int64_t context = 0, at = 0;
    for (int64_t r = 0, end; r < a->rows && status == CS_OK; r = end) {
        bool any = false;
        end = cs_next_context(rows, r);
        for (int64_t i = r; i < end; ++i) {
            if (part_of(rows, part, i) != CS_LEFT_OUT) {
                gather(&g, a, i);
                any = true;
            }
        }
        if (any) {
            at = put(&g, 1, NULL, &sums, at);
            sums.ptr[++context] = at;
        }
    }
    return CS_DELIVER(status, out, sums, cs_csr_free);
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* The sums of one context over the chosen parts. */
typedef struct {
    int64_t groups, entries, rows;
    double all;    /* documents that are not left out: n_X */
    double chosen; /* n_X */
    double pairs;  /* sum over pairs of different documents of n_d n_d' */
} context_size;

/* A context that makes pairs. */
typedef struct {
    double mass, pairs; /* those of its size; mass: chosen, or of parts all */
    int64_t end;        /* of its rows among those that are taken */
} paired;

typedef struct {
    const cs_cooc *rows;
    const cs_context_index *index;
    const cs_pair_options *o;
    int64_t takes[CS_LEFT_OUT + 1]; /* by part, 0 or 1: its documents make pairs */
    int64_t *taken;                 /* rows of these in contexts that make pairs */
    paired *context;
    int64_t contexts;
    gatherer g;
    cs_signed_gram p;
} pairing;

/* Puts the rows that are taken at `taken`. Half of them are, at random: sums with zeros cost less
 * than guesses. The pairs are added up group by group: a difference of squares would cancel where one
 * holds nearly all. */
static context_size size_of(const pairing *b, int64_t first, int64_t end, int64_t *taken)
{
    const cs_csr *a = &b->rows->matrix.a;
    const cs_pair_options *o = b->o;
    context_size s = {0};
    unsigned parts = 0;
    for (int64_t i = first; i < end; ++i) {
        const uint8_t part = o->part[b->index->document[i]];
        const int64_t takes = b->takes[part];
        const double mass = b->index->mass[i], of_it = (double)takes * mass;
        s.all += (double)(part != CS_LEFT_OUT) * mass;
        s.pairs += 2 * s.chosen * of_it; /* where documents are groups */
        s.chosen += of_it;
        s.entries += (a->ptr[i + 1] - a->ptr[i]) * takes;
        taken[s.rows] = i;
        s.rows += takes;
        parts |= (unsigned)takes << part % 32;
    }
    s.groups = o->between == CS_PAIRS_OF_DOCUMENTS ? s.rows : __builtin_popcount(parts);
    return s;
}

static bool makes_pairs(const cs_pair_options *o, const context_size *s)
{
    return s->groups >= (o->least > 2 ? o->least : 2);
}

/* Appends the gathered sums, times root, as a row. */
static void add_row(pairing *b, double root)
{
    cs_csr *a = &b->p.plus;
    const int64_t end = put(&b->g, root, b->o->scale, a, a->ptr[a->rows]);
    a->ptr[++a->rows] = end;
}

/* The row that was put behind those that are subtracted: of one entry, all there is is on the
 * diagonal. */
static void take_row(pairing *b, int64_t end)
{
    cs_csr *a = &b->p.minus;
    const int64_t begin = a->ptr[a->rows];
    if (end - begin > 1) {
        a->ptr[++a->rows] = end;
    } else if (end > begin) {
        b->p.diagonal[a->col[begin]] -= a->val[begin] * a->val[begin];
    }
}

/* A document's row as it is, with the factors of put(). */
static int64_t put_row(pairing *b, int64_t row, double root)
{
    const cs_csr *a = &b->rows->matrix.a;
    cs_csr *to = &b->p.minus;
    int64_t at = to->ptr[to->rows];
    for (int64_t e = a->ptr[row]; e < a->ptr[row + 1]; ++e) {
        const double s = root * b->o->scale[a->col[e]];
        if (s > 0) {
            to->col[at] = a->col[e];
            to->val[at++] = s * a->val[e];
        }
    }
    return at;
}

static void put_context(pairing *b, const int64_t *row, const int64_t *end, double root)
{
    const cs_csr *a = &b->rows->matrix.a;
    const bool documents = b->o->between == CS_PAIRS_OF_DOCUMENTS;
    for (const int64_t *i = row; i < end; ++i) {
        gather(&b->g, a, *i);
    }
    add_row(b, root);
    for (const int64_t *i = row; i < end && documents; ++i) {
        take_row(b, put_row(b, *i, root));
    }
    for (uint8_t part = 0; b->o->chosen >> part && !documents; ++part) {
        for (const int64_t *i = row; i < end && (b->o->chosen >> part & 1); ++i) {
            if (b->o->part[b->index->document[*i]] == part) {
                gather(&b->g, a, *i);
            }
        }
        cs_csr *to = &b->p.minus;
        take_row(b, put(&b->g, root, b->o->scale, to, to->ptr[to->rows]));
    }
}

/* Allocates for the contexts that make pairs and their sums, and adds up the sums N, in the order
 * of the rows. */
static cs_status make_space(pairing *b, double *all, double *chosen)
{
    const cs_csr *a = &b->rows->matrix.a;
    int64_t groups = 0, entries = 0, taken = 0, check = 0, r = 0;
    cs_status status = CS_OK;
    for (int64_t c = 0; c <= b->index->shared && status == CS_OK; ++c) {
        const bool last = c == b->index->shared;
        for (const int64_t end = last ? a->rows : b->index->first[c]; r < end; ++r) { /* alone */
            const uint8_t part = b->o->part[b->index->document[r]];
            *all += part == CS_LEFT_OUT ? 0 : b->index->mass[r];
            *chosen += b->takes[part] ? b->index->mass[r] : 0;
        }
        if (!last) {
            const context_size s = size_of(b, r, b->index->end[c], b->taken + taken);
            *all += s.all;
            *chosen += s.chosen;
            r = b->index->end[c];
            if (makes_pairs(b->o, &s)) {
                const double mass = b->o->between == CS_PAIRS_OF_DOCUMENTS ? s.chosen : s.all;
                groups += s.groups;
                entries += s.entries;
                taken += s.rows;
                b->context[b->contexts++] = (paired){mass, s.pairs, taken};
            }
        }
        status = check_at(r, &check);
    }
    if (status == CS_OK)
        status = cs_mem_check((double)entries * 24 + (double)(b->contexts + groups) * 8, NULL,
                              "pairs of tokens of one context in several documents take");
    if (status == CS_OK) status = cs_csr_init(&b->p.plus, b->contexts, a->cols, entries);
    if (status == CS_OK) status = cs_csr_init(&b->p.minus, groups, a->cols, entries);
    if (status == CS_OK) b->p.diagonal = cs_calloc(a->cols, sizeof *b->p.diagonal);
    b->p.plus.rows = b->p.minus.rows = 0; /* which grow */
    return status == CS_OK && !b->p.diagonal ? CS_ERR_MEMORY : status;
}

/* Rows of the contexts of two documents, and one more, which size_of() may touch. */
static int64_t rows_shared(const cs_context_index *index)
{
    int64_t rows = 1;
    for (int64_t c = 0; c < index->shared; ++c) {
        rows += index->end[c] - index->first[c];
    }
    return rows;
}

cs_status cs_pairs_of_contexts(const cs_cooc *rows, const cs_context_index *index,
                               const cs_pair_options *options, cs_signed_gram *out, double *seen)
{
    const bool documents = options->between == CS_PAIRS_OF_DOCUMENTS;
    pairing b = {.rows = rows,
                 .index = index,
                 .o = options,
                 .taken = cs_alloc(rows_shared(index), sizeof *b.taken),
                 .context = cs_alloc(index->shared, sizeof *b.context)};
    CS_AUTO(cs_pool) pool = {0};
    double all = 0, chosen = 0, held = 0;
    for (unsigned part = 0; part < 32; ++part) {
        b.takes[part] = options->chosen >> part & 1;
    }
    cs_status status = b.taken && b.context ? make_space(&b, &all, &chosen) : CS_ERR_MEMORY;
    b.g = gatherer_in(&pool, rows->matrix.a.cols);
    status = status ? status : pool.status;
    int64_t check = 0, at = 0;
    for (int64_t c = 0; c < b.contexts && status == CS_OK; ++c) {
        const paired *s = &b.context[c];
        held += s->mass;
        put_context(
            &b, b.taken + at, b.taken + s->end,
            sqrt(documents ? s->mass / (chosen * s->pairs) : options->weight / (s->mass * all)));
        at = s->end;
        status = check_at(at, &check);
    }
    CS_FREE_FIELDS(&b, taken, context);
    if (status == CS_OK) {
        const double whole = documents ? chosen : all;
        *seen = whole > 0 ? held / whole : 0;
    }
    return CS_DELIVER(status, out, b.p, cs_signed_gram_free);
}
