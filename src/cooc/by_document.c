/* Sums over rows by (context, document).
 *
 * The sum of a few sparse rows is gathered in a dense vector, with a bit for each entry that is
 * touched, by which it is read out in order.
 */
#include "cooc/by_document.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/reals.h"
#include "base/threads.h"

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
    double *sum;         /* cols, zero between rows */
    uint64_t *bit;       /* of the entries that are touched */
    int64_t first, last; /* words of them; last < first: none */
} gatherer;

static gatherer gatherer_in(cs_pool *pool, int64_t cols)
{
    return (gatherer){.sum = cs_pool_take(pool, cols, sizeof(double)),
                      .bit = cs_pool_take(pool, cols / WORD + 1, sizeof(uint64_t)),
                      .first = INT64_MAX,
                      .last = -1};
}

static void gather(gatherer *g, const cs_csr *a, int64_t row)
{
    for (int64_t e = a->ptr[row]; e < a->ptr[row + 1]; ++e) {
        const int64_t col = a->col[e], word = col / WORD;
        g->sum[col] += a->val[e];
        g->bit[word] |= UINT64_C(1) << col % WORD;
        g->first = word < g->first ? word : g->first;
        g->last = word > g->last ? word : g->last;
    }
}

/* Appends what was gathered, times factor scale (NULL: 1) where that is not 0, as entries from `at`
 * on; returns their end. */
static int64_t put(gatherer *g, double factor, const double *scale, cs_csr *out, int64_t at)
{
    for (int64_t w = g->first; w <= g->last; ++w) {
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
    cs_pool pool = {0};
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
    cs_pool_free(&pool);
    return CS_DELIVER(status, out, sums, cs_csr_free);
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* What one context has of the chosen parts. */
typedef struct {
    int64_t groups, entries;
    double all;    /* documents that are not left out: n_X */
    double chosen; /* n_X */
    double pairs;  /* sum over pairs of different documents of n_d n_d' */
} context_size;

typedef struct {
    const cs_cooc *rows;
    const cs_context_index *index;
    const cs_pair_options *o;
    gatherer g;
    cs_signed_gram p;
} pairing;

static bool is_chosen(const cs_pair_options *o, uint8_t part)
{
    return part != CS_LEFT_OUT && (o->chosen >> part & 1);
}

static bool takes(const pairing *b, int64_t row)
{
    return is_chosen(b->o, b->o->part[b->index->document[row]]);
}

/* The pairs are added up group by group: a difference of squares would cancel where one holds nearly
 * all. */
static context_size size_of(const pairing *b, int64_t first, int64_t end)
{
    const cs_csr *a = &b->rows->matrix.a;
    const cs_pair_options *o = b->o;
    context_size s = {0};
    unsigned parts = 0;
    for (int64_t i = first; i < end; ++i) {
        const uint8_t part = o->part[b->index->document[i]];
        const double mass = part == CS_LEFT_OUT ? 0 : b->index->mass[i];
        s.all += mass;
        if (is_chosen(o, part)) {
            s.pairs += 2 * s.chosen * mass; /* where documents are groups */
            s.chosen += mass;
            s.entries += a->ptr[i + 1] - a->ptr[i];
            s.groups += o->between == CS_PAIRS_OF_DOCUMENTS || !(parts >> part & 1);
            parts |= 1U << part;
        }
    }
    return s;
}

static bool makes_pairs(const cs_pair_options *o, const context_size *s)
{
    return s->groups >= (o->least > 2 ? o->least : 2);
}

/* What was gathered, times root, as a row. */
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

static void put_context(pairing *b, int64_t first, int64_t end, double root)
{
    const cs_csr *a = &b->rows->matrix.a;
    const bool documents = b->o->between == CS_PAIRS_OF_DOCUMENTS;
    for (int64_t i = first; i < end; ++i) {
        if (takes(b, i)) {
            gather(&b->g, a, i);
        }
    }
    add_row(b, root);
    for (int64_t i = first; i < end && documents; ++i) {
        if (takes(b, i)) {
            take_row(b, put_row(b, i, root));
        }
    }
    for (uint8_t part = 0; b->o->chosen >> part && !documents; ++part) {
        for (int64_t i = first; i < end && (b->o->chosen >> part & 1); ++i) {
            if (b->o->part[b->index->document[i]] == part) {
                gather(&b->g, a, i);
            }
        }
        cs_csr *to = &b->p.minus;
        take_row(b, put(&b->g, root, b->o->scale, to, to->ptr[to->rows]));
    }
}

/* Room for the contexts of two groups, and the sums N, in the order of the rows. */
static cs_status make_room(pairing *b, double *all, double *chosen)
{
    const cs_csr *a = &b->rows->matrix.a;
    int64_t contexts = 0, groups = 0, entries = 0, check = 0, r = 0;
    cs_status status = CS_OK;
    for (int64_t c = 0; c <= b->index->shared && status == CS_OK; ++c) {
        const bool last = c == b->index->shared;
        for (const int64_t end = last ? a->rows : b->index->first[c]; r < end; ++r) { /* alone */
            const uint8_t part = b->o->part[b->index->document[r]];
            *all += part == CS_LEFT_OUT ? 0 : b->index->mass[r];
            *chosen += is_chosen(b->o, part) ? b->index->mass[r] : 0;
        }
        if (!last) {
            const context_size s = size_of(b, r, b->index->end[c]);
            const bool pairs = makes_pairs(b->o, &s);
            *all += s.all;
            *chosen += s.chosen;
            contexts += pairs;
            groups += pairs ? s.groups : 0;
            entries += pairs ? s.entries : 0;
            r = b->index->end[c];
        }
        status = check_at(r, &check);
    }
    if (status == CS_OK)
        status = cs_mem_check((double)entries * 24 + (double)(contexts + groups) * 8, NULL,
                              "pairs of tokens of one context in several documents take");
    if (status == CS_OK) status = cs_csr_init(&b->p.plus, contexts, a->cols, entries);
    if (status == CS_OK) status = cs_csr_init(&b->p.minus, groups, a->cols, entries);
    if (status == CS_OK) b->p.diagonal = cs_calloc(a->cols, sizeof *b->p.diagonal);
    b->p.plus.rows = b->p.minus.rows = 0; /* which grow */
    return status == CS_OK && !b->p.diagonal ? CS_ERR_MEMORY : status;
}

cs_status cs_pairs_of_contexts(const cs_cooc *rows, const cs_context_index *index,
                               const cs_pair_options *options, cs_signed_gram *out, double *seen)
{
    const bool documents = options->between == CS_PAIRS_OF_DOCUMENTS;
    pairing b = {.rows = rows, .index = index, .o = options};
    cs_pool pool = {0};
    double all = 0, chosen = 0, held = 0;
    cs_status status = make_room(&b, &all, &chosen);
    b.g = gatherer_in(&pool, rows->matrix.a.cols);
    status = status ? status : pool.status;
    int64_t check = 0;
    for (int64_t c = 0; c < index->shared && status == CS_OK; ++c) {
        const int64_t first = index->first[c], end = index->end[c];
        const context_size s = size_of(&b, first, end);
        if (makes_pairs(options, &s)) {
            held += documents ? s.chosen : s.all;
            put_context(
                &b, first, end,
                sqrt(documents ? s.chosen / (chosen * s.pairs) : options->weight / (s.all * all)));
        }
        status = check_at(end, &check);
    }
    cs_pool_free(&pool);
    if (status == CS_OK) {
        const double whole = documents ? chosen : all;
        *seen = whole > 0 ? held / whole : 0;
    }
    return CS_DELIVER(status, out, b.p, cs_signed_gram_free);
}
