/* The result of a build: records in the order of key, column and class become CSR matrices.
 *
 * Integer sums are turned into doubles once an entry is complete: exactly when the whole matrix
 * holds fewer than 2^53 units, else with one rounding. Memory: the result, grown by half as needed,
 * and vocabulary x classes integers.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "cooc/builder_private.h"

void cs_cooc_free(cs_cooc *cooc)
{
    cs_labelled_free(&cooc->matrix);
    cs_free(cooc->key);
    cs_free(cooc->witness_sequence);
    cs_free(cooc->witness_ordinal);
    memset(cooc, 0, sizeof *cooc);
}

void cs_growing_free(cs_growing *g)
{
    cs_free(g->ptr);
    cs_free(g->col);
    cs_free(g->val);
    memset(g, 0, sizeof *g);
}

/* Makes *p hold `room` items of `size` bytes; leaves it as it was on failure. */
static cs_status widen(void *p, int64_t room, size_t size)
{
    void **at = p;
    void *more = cs_realloc(*at, room, size);
    if (!more) {
        return CS_ERR_MEMORY;
    }
    *at = more;
    return CS_OK;
}

cs_status cs_growing_room(cs_growing *g, int64_t more)
{
    if (g->room - g->nnz < more || !g->val) {
        int64_t room = g->room + g->room / 2 + 1024;
        room = room - g->nnz < more ? g->nnz + more : room;
        if (widen(&g->col, room, sizeof *g->col) != CS_OK ||
            widen(&g->val, room, sizeof *g->val) != CS_OK) {
            return CS_ERR_MEMORY;
        }
        g->room = room;
    }
    return CS_OK;
}

cs_status cs_growing_put(cs_growing *g, int32_t col, double val)
{
    if (g->nnz == g->room && cs_growing_room(g, 1) != CS_OK) {
        return CS_ERR_MEMORY;
    }
    assert(g->col && g->val);
    g->col[g->nnz] = col;
    g->val[g->nnz++] = val;
    return CS_OK;
}

cs_status cs_growing_end_row(cs_growing *g)
{
    if (g->rows + 1 >= g->row_room) {
        int64_t room = g->row_room + g->row_room / 2 + 1024;
        if (widen(&g->ptr, room, sizeof *g->ptr) != CS_OK) {
            return CS_ERR_MEMORY;
        }
        g->row_room = room;
    }
    g->ptr[0] = 0;
    g->ptr[++g->rows] = g->nnz;
    return CS_OK;
}

/* Gives the arrays away; what they have beyond their size was never touched and costs no memory. */
static cs_status growing_finish(cs_growing *g, int64_t cols, cs_csr *out)
{
    if (!g->ptr) {
        return cs_csr_init(out, 0, cols, 0);
    }
    if (!g->col && cs_growing_put(g, 0, 0) != CS_OK) { /* room, so that no pointer is NULL */
        return CS_ERR_MEMORY;
    }
    *out = (cs_csr){.rows = g->rows, .cols = cols, .ptr = g->ptr, .col = g->col, .val = g->val};
    memset(g, 0, sizeof *g);
    return CS_OK;
}

/* A copy of what `like` says of the matrix, empty; in_col: NULL for sums of its own. */
static cs_status new_assembler(const cs_assembler *like, int64_t *in_col, cs_assembler **out)
{
    cs_assembler *a = cs_calloc(1, sizeof *a);
    if (!a) {
        return CS_ERR_MEMORY;
    }
    *a = *like;
    a->borrows = in_col != NULL;
    a->in_row = cs_calloc(a->labels, sizeof *a->in_row);
    a->in_col = in_col ? in_col : cs_calloc(a->labels * a->cols, sizeof *a->in_col);
    if (!a->in_row || !a->in_col) {
        cs_assembler_free(&a);
        return CS_ERR_MEMORY;
    }
    *out = a;
    return CS_OK;
}

cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit, cs_assembler **out)
{
    const cs_assembler like = {
        .cols = corpus->vocab, .labels = corpus->labels, .exact = exact, .unit = unit};
    return new_assembler(&like, NULL, out);
}

cs_status cs_assembler_part(cs_assembler *whole, bool borrows, cs_assembler **out)
{
    const cs_assembler like = {
        .cols = whole->cols, .labels = whole->labels, .exact = whole->exact, .unit = whole->unit};
    return new_assembler(&like, borrows ? whole->in_col : NULL, out);
}

void cs_assembler_free(cs_assembler **assembler)
{
    cs_assembler *a = *assembler;
    if (!a) {
        return;
    }
    cs_growing_free(&a->matrix);
    cs_growing_free(&a->row_label);
    cs_free(a->key);
    cs_free(a->witness_sequence);
    cs_free(a->witness_ordinal);
    cs_free(a->in_row);
    if (!a->borrows) {
        cs_free(a->in_col);
    }
    cs_free(a);
    *assembler = NULL;
}

double cs_assembler_mass(const cs_assembler *a, int64_t units)
{
    return a->exact ? (double)units : (double)units * a->unit;
}

static cs_status end_row(cs_assembler *a)
{
    cs_status status = cs_growing_end_row(&a->matrix);
    for (int64_t c = 0; c < a->labels && status == CS_OK; ++c) {
        if (a->in_row[c] != 0) {
            status = cs_growing_put(&a->row_label, (int32_t)c, cs_assembler_mass(a, a->in_row[c]));
            a->in_row[c] = 0;
        }
    }
    return status == CS_OK ? cs_growing_end_row(&a->row_label) : status;
}

/* Room for the keys and witnesses of `room` rows. */
static cs_status key_room(cs_assembler *a, int64_t room)
{
    if (widen(&a->key, room, sizeof *a->key) != CS_OK ||
        widen(&a->witness_sequence, room, sizeof *a->witness_sequence) != CS_OK ||
        widen(&a->witness_ordinal, room, sizeof *a->witness_ordinal) != CS_OK) {
        return CS_ERR_MEMORY;
    }
    a->key_room = room;
    return CS_OK;
}

static cs_status begin_row(cs_assembler *a, const cs_record *r)
{
    int64_t row = a->matrix.rows;
    if (row == a->key_room && key_room(a, row + row / 2 + 1024) != CS_OK) {
        return CS_ERR_MEMORY;
    }
    a->key[row] = r->key;
    a->witness_sequence[row] = r->sequence;
    a->witness_ordinal[row] = r->ordinal;
    a->open = true;
    return CS_OK;
}

static cs_status end_entry(cs_assembler *a)
{
    return cs_growing_put(&a->matrix, a->entry.col, cs_assembler_mass(a, a->entry.units));
}

cs_status cs_assembler_take(void *assembler, const cs_record *r)
{
    cs_assembler *a = assembler;
    bool same_row = a->open && cs_hash_compare(a->entry.key, r->key) == 0;
    bool same_entry = same_row && a->entry.col == r->col;
    cs_status status = CS_OK;
    if (a->open && !same_entry) {
        status = end_entry(a);
    }
    if (status == CS_OK && a->open && !same_row) {
        status = end_row(a);
    }
    if (status == CS_OK && !same_row) {
        status = begin_row(a, r);
    }
    if (status != CS_OK) {
        return status;
    }
    int64_t row = a->matrix.rows;
    if (r->sequence < a->witness_sequence[row] ||
        (r->sequence == a->witness_sequence[row] && r->ordinal < a->witness_ordinal[row])) {
        a->witness_sequence[row] = r->sequence;
        a->witness_ordinal[row] = r->ordinal;
    }
    int64_t before = same_entry ? a->entry.units : 0;
    a->entry = *r;
    a->entry.units += before;
    a->total += r->units;
    if (r->label >= 0 && r->label < a->labels) {
        a->in_row[r->label] += r->units;
        a->in_col[(int64_t)r->col * a->labels + r->label] += r->units;
    }
    return CS_OK;
}

cs_status cs_assembler_close(cs_assembler *a)
{
    cs_status status = a->open ? end_entry(a) : CS_OK;
    status = status == CS_OK && a->open ? end_row(a) : status;
    a->open = false;
    return status;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool fits(const cs_growing *g, const cs_growing *more)
{
    return g->val && g->room - g->nnz >= more->nnz && g->row_room > g->rows + more->rows;
}

bool cs_assembler_fits(const cs_assembler *whole, const cs_assembler *part)
{
    return fits(&whole->matrix, &part->matrix) && fits(&whole->row_label, &part->row_label) &&
           whole->key_room >= whole->matrix.rows + part->matrix.rows;
}

/* Where an array is large, large pages: each fault takes 4 KiB else. A small one would waste most
 * of its last page. */
static void prefer_large_pages(void *p, int64_t bytes)
{
    if (bytes >= INT64_C(1) << 24) {
        cs_mem_large_pages(p, bytes);
    }
}

/* What has room for `have` and must take `more`: the whole, foreseen from a share of it, and a
 * little to spare. What is never written costs no memory. */
static int64_t foresee(int64_t have, int64_t more, double share)
{
    double all = 1.2 * (double)(have + more) / share;
    return (all < 0x1p62 ? (int64_t)all : have + more) + 1024;
}

static cs_status grow(cs_growing *g, const cs_growing *more, double share)
{
    int64_t rows = foresee(g->rows, more->rows, share);
    if (widen(&g->ptr, rows + 1, sizeof *g->ptr) != CS_OK) {
        return CS_ERR_MEMORY;
    }
    g->row_room = rows + 1;
    g->ptr[0] = 0;
    cs_status status = cs_growing_room(g, foresee(g->nnz, more->nnz, share) - g->nnz);
    if (status == CS_OK) {
        prefer_large_pages(g->ptr, g->row_room * (int64_t)sizeof *g->ptr);
        prefer_large_pages(g->col, g->room * (int64_t)sizeof *g->col);
        prefer_large_pages(g->val, g->room * (int64_t)sizeof *g->val);
    }
    return status;
}

cs_status cs_assembler_room(cs_assembler *whole, const cs_assembler *part, double share)
{
    cs_status status = grow(&whole->matrix, &part->matrix, share);
    status = status == CS_OK ? grow(&whole->row_label, &part->row_label, share) : status;
    if (status == CS_OK) {
        status = key_room(whole, foresee(whole->matrix.rows, part->matrix.rows, share));
    }
    if (status == CS_OK) {
        prefer_large_pages(whole->key, whole->key_room * (int64_t)sizeof *whole->key);
        prefer_large_pages(whole->witness_sequence, whole->key_room * (int64_t)sizeof(int64_t));
        prefer_large_pages(whole->witness_ordinal, whole->key_room * (int64_t)sizeof(int64_t));
    }
    return status;
}

cs_assembler_place cs_assembler_give(cs_assembler *whole, const cs_assembler *part)
{
    const cs_assembler_place at = {whole->matrix.rows, whole->matrix.nnz, whole->row_label.nnz};
    whole->matrix.rows += part->matrix.rows;
    whole->row_label.rows += part->matrix.rows;
    whole->matrix.nnz += part->matrix.nnz;
    whole->row_label.nnz += part->row_label.nnz;
    return at;
}

static void copy(const cs_growing *from, int64_t row, int64_t entry, cs_growing *to)
{
    if (from->nnz > 0) {
        memcpy(to->col + entry, from->col, (size_t)from->nnz * sizeof *to->col);
        memcpy(to->val + entry, from->val, (size_t)from->nnz * sizeof *to->val);
    }
    for (int64_t i = 0; i < from->rows; ++i) {
        to->ptr[row + i + 1] = entry + from->ptr[i + 1];
    }
}

void cs_assembler_copy(cs_assembler *whole, const cs_assembler_place *at, const cs_assembler *part)
{
    size_t rows = (size_t)part->matrix.rows;
    if (rows > 0) {
        memcpy(whole->key + at->row, part->key, rows * sizeof *part->key);
        memcpy(whole->witness_sequence + at->row, part->witness_sequence, rows * sizeof(int64_t));
        memcpy(whole->witness_ordinal + at->row, part->witness_ordinal, rows * sizeof(int64_t));
    }
    copy(&part->matrix, at->row, at->entry, &whole->matrix);
    copy(&part->row_label, at->row, at->label, &whole->row_label);
}

void cs_assembler_clear(cs_assembler *part)
{
    part->matrix.rows = part->matrix.nnz = 0;
    part->row_label.rows = part->row_label.nnz = 0;
}

void cs_assembler_add_sums(cs_assembler *whole, const cs_assembler *part)
{
    whole->total += part->total;
    for (int64_t i = 0; i < part->cols * part->labels && !part->borrows; ++i) {
        whole->in_col[i] += part->in_col[i];
    }
}

/* --- the result ------------------------------------------------------------------------------- */

static cs_status column_labels(const cs_assembler *a, cs_csr *out)
{
    cs_growing g = {0};
    cs_status status = CS_OK;
    for (int64_t j = 0; j < a->cols && status == CS_OK; ++j) {
        for (int64_t c = 0; c < a->labels && status == CS_OK; ++c) {
            int64_t units = a->in_col[j * a->labels + c];
            status = units ? cs_growing_put(&g, (int32_t)c, cs_assembler_mass(a, units)) : CS_OK;
        }
        status = status == CS_OK ? cs_growing_end_row(&g) : status;
    }
    if (status == CS_OK) {
        status = growing_finish(&g, a->labels, out);
    }
    cs_growing_free(&g);
    return status;
}

cs_status cs_assembler_finish(cs_assembler *a, cs_cooc *out)
{
    cs_labelled m = {.labels = a->labels};
    cs_status status = cs_assembler_close(a);
    status = status == CS_OK ? column_labels(a, &m.col_label) : status;
    status = status == CS_OK ? growing_finish(&a->row_label, a->labels, &m.row_label) : status;
    status = status == CS_OK ? growing_finish(&a->matrix, a->cols, &m.a) : status;
    if (status != CS_OK) {
        cs_csr_free(&m.col_label);
        cs_csr_free(&m.row_label);
        return status;
    }
    out->matrix = m;
    out->key = a->key;
    out->witness_sequence = a->witness_sequence;
    out->witness_ordinal = a->witness_ordinal;
    out->exact = a->exact;
    out->unit = a->unit;
    out->mass = (double)a->total * a->unit;
    a->key = NULL;
    a->witness_sequence = NULL;
    a->witness_ordinal = NULL;
    return CS_OK;
}
