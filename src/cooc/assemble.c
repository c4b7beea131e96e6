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

cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit, cs_assembler **out)
{
    cs_assembler *a = cs_calloc(1, sizeof *a);
    if (!a) {
        return CS_ERR_MEMORY;
    }
    a->cols = corpus->vocab;
    a->labels = corpus->labels;
    a->exact = exact;
    a->unit = unit;
    a->in_row = cs_calloc(a->labels, sizeof *a->in_row);
    a->in_col = cs_calloc(a->labels * a->cols, sizeof *a->in_col);
    if (!a->in_row || !a->in_col) {
        cs_assembler_free(&a);
        return CS_ERR_MEMORY;
    }
    *out = a;
    return CS_OK;
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
    cs_free(a->in_col);
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

static cs_status begin_row(cs_assembler *a, const cs_record *r)
{
    int64_t row = a->matrix.rows;
    if (row == a->key_room) {
        int64_t room = row + row / 2 + 1024;
        if (widen(&a->key, room, sizeof *a->key) != CS_OK ||
            widen(&a->witness_sequence, room, sizeof *a->witness_sequence) != CS_OK ||
            widen(&a->witness_ordinal, room, sizeof *a->witness_ordinal) != CS_OK) {
            return CS_ERR_MEMORY;
        }
        a->key_room = room;
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
    cs_status status = CS_OK;
    if (a->open) {
        status = end_entry(a);
        status = status == CS_OK ? end_row(a) : status;
    }
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
