/* The result of a build: records in the order of key, column and class become CSR matrices.
 *
 * Integer sums are turned into doubles once an entry is complete: exactly when the whole matrix
 * holds fewer than 2^53 units, else with one rounding. Memory: the result, grown by half as needed,
 * and vocabulary x classes integers. A result that is foreseen to pass its limit moves to scratch
 * files, whose space on the disk is allocated as the result grows; every part of it that is written
 * leaves memory again. */
#include <assert.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/assemble_private.h"
#include "io/file.h"

static void free_files(struct cs_cooc_files *f)
{
    for (int i = 0; f && i < CS_COOC_ARRAYS; ++i) {
        cs_scratch_free(&f->array[i]);
    }
    cs_free(f);
}

static void packed_free(cs_packed *p)
{
    CS_FREE_FIELDS(p, gap, byte, mark);
}

double cs_cooc_stored_mass(const cs_cooc *cooc)
{
    return cooc->exact ? cooc->unit : 1;
}

void cs_cooc_free(cs_cooc *cooc)
{
    cs_csr_free(&cooc->matrix.col_label);
    cs_corpus_free(&cooc->texts);
    if (cooc->files) { /* which hold all other arrays */
        free_files(cooc->files);
    } else {
        if (cooc->packed) packed_free(cooc->packed);
        cs_labelled_free(&cooc->matrix);
        CS_FREE_FIELDS(cooc, key, witness_sequence, witness_ordinal);
    }
    cs_free(cooc->packed);
    memset(cooc, 0, sizeof *cooc);
}

static double bytes_in(const struct cs_cooc_files *f)
{
    double bytes = 0;
    for (int i = 0; f && i < CS_COOC_ARRAYS; ++i) {
        bytes += (double)f->array[i].bytes;
    }
    return bytes;
}

static void growing_free(cs_growing *g)
{
    CS_FREE_FIELDS(g, ptr, col, val);
    memset(g, 0, sizeof *g);
}

/* Makes *p hold `capacity` items of `size` bytes; leaves it as it was on failure. */
static cs_status widen(void *p, int64_t capacity, size_t size)
{
    void **at = p;
    void *more = cs_realloc(*at, capacity, size);
    if (!more) return CS_ERR_MEMORY;
    *at = more;
    return CS_OK;
}

cs_status cs_growing_reserve(cs_growing *g, int64_t more)
{
    if (g->capacity - g->nnz < more || !g->val) {
        int64_t capacity = g->capacity + g->capacity / 2 + 1024;
        capacity = capacity - g->nnz < more ? g->nnz + more : capacity;
        if (widen(&g->col, capacity, sizeof *g->col) != CS_OK ||
            widen(&g->val, capacity, sizeof *g->val) != CS_OK) {
            return CS_ERR_MEMORY;
        }
        g->capacity = capacity;
    }
    return CS_OK;
}

static cs_status growing_put(cs_growing *g, int32_t col, double val)
{
    if (g->nnz == g->capacity && cs_growing_reserve(g, 1) != CS_OK) return CS_ERR_MEMORY;
    assert(g->col && g->val);
    g->col[g->nnz] = col;
    g->val[g->nnz++] = val;
    return CS_OK;
}

static cs_status growing_end_row(cs_growing *g)
{
    if (g->rows + 1 >= g->row_capacity) {
        int64_t capacity = g->row_capacity + g->row_capacity / 2 + 1024;
        if (widen(&g->ptr, capacity, sizeof *g->ptr) != CS_OK) return CS_ERR_MEMORY;
        g->row_capacity = capacity;
    }
    g->ptr[0] = 0;
    g->ptr[++g->rows] = g->nnz;
    return CS_OK;
}

/* Gives the arrays away; what they have beyond their size was never touched and costs no memory. */
static cs_status growing_finish(cs_growing *g, int64_t cols, bool packed, cs_csr *out)
{
    if (!g->ptr) {
        return cs_csr_init(out, 0, cols, 0);
    }
    if (!packed && !g->col &&
        growing_put(g, 0, 0) != CS_OK) { /* allocates, so that no pointer is NULL */
        return CS_ERR_MEMORY;
    }
    *out = (cs_csr){.rows = g->rows, .cols = cols, .ptr = g->ptr, .col = g->col, .val = g->val};
    memset(g, 0, sizeof *g);
    return CS_OK;
}

/* An empty assembler with the settings of `like`. It adds its sums to in_col, or keeps its own if
 * in_col is NULL. */
static cs_status new_assembler(const cs_assembler *like, int64_t *in_col, cs_assembler **out)
{
    cs_assembler *a = cs_calloc(1, sizeof *a);
    if (!a) return CS_ERR_MEMORY;
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

cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit, double limit,
                           const char *scratch, cs_assembler **out)
{
    const cs_assembler like = {.cols = corpus->vocab,
                               .labels = corpus->labels,
                               .exact = exact,
                               .unit = unit,
                               .limit = limit,
                               .scratch = scratch};
    return new_assembler(&like, NULL, out);
}

cs_status cs_assembler_part(cs_assembler *whole, bool borrows, cs_assembler **out)
{
    const cs_assembler like = {.cols = whole->cols,
                               .labels = whole->labels,
                               .exact = whole->exact,
                               .unit = whole->unit,
                               .raw = whole->raw || whole->packs,
                               .packs = whole->packs,
                               .packed.quantum = whole->packed.quantum};
    return new_assembler(&like, borrows ? whole->in_col : NULL, out);
}

void cs_assembler_free(cs_assembler **assembler)
{
    cs_assembler *a = *assembler;
    if (!a) {
        return;
    }
    if (a->files) {
        free_files(a->files);
    } else {
        growing_free(&a->matrix);
        growing_free(&a->row_label);
        packed_free(&a->packed);
        CS_FREE_FIELDS(a, key, witness_sequence, witness_ordinal);
    }
    cs_free(a->in_row);
    if (!a->borrows) {
        cs_free(a->in_col);
    }
    cs_free(a);
    *assembler = NULL;
}

double cs_assembler_mass(const cs_assembler *a, int64_t units)
{
    double bits;
    if (a->raw) {
        memcpy(&bits, &units, sizeof bits);
        return bits;
    }
    return a->exact ? (double)units : (double)units * a->unit;
}

cs_status cs_assembler_visit(const cs_assembler *a, int64_t first,
                             cs_status (*visit)(void *ctx, const cs_record *record), void *ctx)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < a->matrix.rows && status == CS_OK; ++i) {
        cs_record r = {.key = a->key[i],
                       .label = -1,
                       .sequence = first + a->witness_sequence[i],
                       .ordinal = a->witness_ordinal[i]};
        for (int64_t e = a->matrix.ptr[i]; e < a->matrix.ptr[i + 1] && status == CS_OK; ++e) {
            r.col = a->matrix.col[e];
            memcpy(&r.units, &a->matrix.val[e], sizeof r.units);
            status = visit(ctx, &r);
        }
        r.col = CS_CLASS_COL;
        const int64_t *ptr = a->row_label.ptr;
        for (int64_t e = ptr[i]; e < ptr[i + 1] && status == CS_OK; ++e) {
            r.label = a->row_label.col[e];
            memcpy(&r.units, &a->row_label.val[e], sizeof r.units);
            status = visit(ctx, &r);
        }
    }
    return status;
}

cs_status cs_assembler_end_row(cs_assembler *a)
{
    cs_status status = growing_end_row(&a->matrix);
    for (int64_t c = 0; c < a->labels && status == CS_OK; ++c) {
        if (a->in_row[c] != 0) {
            status = growing_put(&a->row_label, (int32_t)c, cs_assembler_mass(a, a->in_row[c]));
            a->in_row[c] = 0;
        }
    }
    return status == CS_OK ? growing_end_row(&a->row_label) : status;
}

cs_status cs_assembler_pack(cs_assembler *a, int64_t count, const int32_t *col, const double *units)
{
    cs_growing *m = &a->matrix;
    cs_status status = cs_packed_add(&a->packed, m->rows, m->nnz, count, col, units);
    if (status == CS_OK) m->nnz += count;
    return status;
}

cs_status cs_assembler_reserve_keys(cs_assembler *a, int64_t capacity)
{
    if (widen(&a->key, capacity, sizeof *a->key) != CS_OK ||
        widen(&a->witness_sequence, capacity, sizeof *a->witness_sequence) != CS_OK ||
        widen(&a->witness_ordinal, capacity, sizeof *a->witness_ordinal) != CS_OK) {
        return CS_ERR_MEMORY;
    }
    a->key_capacity = capacity;
    return CS_OK;
}

static cs_status begin_row(cs_assembler *a, const cs_record *r)
{
    int64_t row = a->matrix.rows;
    if (row == a->key_capacity && cs_assembler_reserve_keys(a, row + row / 2 + 1024) != CS_OK)
        return CS_ERR_MEMORY;
    a->key[row] = r->key;
    a->witness_sequence[row] = r->sequence;
    a->witness_ordinal[row] = r->ordinal;
    a->open = true;
    return CS_OK;
}

static cs_status end_entry(cs_assembler *a)
{
    return growing_put(&a->matrix, a->entry.col, cs_assembler_mass(a, a->entry.units));
}

cs_status cs_assembler_take(void *assembler, const cs_record *r)
{
    cs_assembler *a = assembler;
    if (r->col == CS_CLASS_COL) { /* follows the entries of its row */
        a->in_row[r->label] += r->units;
        return CS_OK;
    }
    bool same_row = a->open && cs_hash_compare(a->entry.key, r->key) == 0;
    bool same_entry = same_row && a->entry.col == r->col;
    cs_status status = CS_OK;
    if (a->open && !same_entry) {
        status = end_entry(a);
    }
    if (status == CS_OK && a->open && !same_row) status = cs_assembler_end_row(a);
    if (status == CS_OK && !same_row) status = begin_row(a, r);
    if (status != CS_OK) return status;
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
    status = status == CS_OK && a->open ? cs_assembler_end_row(a) : status;
    a->open = false;
    return status;
}

/* --- parts ------------------------------------------------------------------------------------ */

cs_assembler_size cs_assembler_size_of(const cs_assembler *a)
{
    const cs_packed *p = &a->packed;
    return (cs_assembler_size){a->matrix.rows, a->matrix.nnz, a->row_label.nnz,
                               p->gaps,        p->bytes,      p->marks};
}

static bool fits(const cs_growing *g, int64_t rows, int64_t entries)
{
    return g->ptr && g->capacity - g->nnz >= entries && g->row_capacity > g->rows + rows;
}

bool cs_assembler_fits(const cs_assembler *whole, const cs_assembler_size *more)
{
    const cs_packed *p = &whole->packed;
    return fits(&whole->matrix, more->rows, more->entries) &&
           p->gap_capacity - p->gaps >= more->gaps && p->byte_capacity - p->bytes >= more->bytes &&
           p->mark_capacity - p->marks >= more->marks &&
           fits(&whole->row_label, more->rows, more->labels) &&
           whole->key_capacity >= whole->matrix.rows + more->rows;
}

/* The capacity for an array that holds `have` items and takes `more`, when these are `share` of the
 * whole, with a small reserve. Unwritten capacity costs no memory, but space in a file. */
static int64_t foresee(int64_t have, int64_t more, double share)
{
    double all = 1.2 * (double)(have + more) / share;
    return (all < 0x1p62 ? (int64_t)all : have + more) + 1024;
}

void cs_assembler_list(cs_assembler *a, const cs_assembler_size *at, const cs_assembler_size *n,
                       cs_assembler_array out[CS_COOC_ARRAYS])
{
    cs_growing *m = &a->matrix, *l = &a->row_label;
    cs_packed *p = &a->packed;
    const bool packs = a->packs;
    const cs_assembler_array col = {&m->col, sizeof *m->col, at->entries, n->entries};
    const cs_assembler_array val = {&m->val, sizeof *m->val, at->entries, n->entries};
    const cs_assembler_array gap = {&p->gap, sizeof *p->gap, at->gaps, n->gaps};
    const cs_assembler_array byte = {&p->byte, sizeof *p->byte, at->bytes, n->bytes};
    const cs_assembler_array all[CS_COOC_ARRAYS] = {
        {&m->ptr, sizeof *m->ptr, at->rows + 1, n->rows},
        packs ? gap : col,
        packs ? byte : val,
        {&p->mark, sizeof *p->mark, at->marks, n->marks},
        {&l->ptr, sizeof *l->ptr, at->rows + 1, n->rows},
        {&l->col, sizeof *l->col, at->labels, n->labels},
        {&l->val, sizeof *l->val, at->labels, n->labels},
        {&a->key, sizeof *a->key, at->rows, n->rows},
        {&a->witness_sequence, sizeof *a->witness_sequence, at->rows, n->rows},
        {&a->witness_ordinal, sizeof *a->witness_ordinal, at->rows, n->rows},
    };
    memcpy(out, all, sizeof all);
}

static const cs_assembler_size BEGIN = {0};

/* Moves what there is from memory to files. */
static cs_status move_to_files(cs_assembler *a)
{
    const cs_assembler_size have = cs_assembler_size_of(a);
    cs_assembler_array list[CS_COOC_ARRAYS];
    cs_assembler_list(a, &BEGIN, &have, list);
    struct cs_cooc_files *f = cs_calloc(1, sizeof *f);
    cs_status status = f ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < CS_COOC_ARRAYS && status == CS_OK; ++i) {
        void *const *at = list[i].at;
        int64_t bytes = (list[i].first + list[i].count) * (int64_t)list[i].size;
        status = *at && bytes > 0 ? cs_scratch_grow(&f->array[i], a->scratch, bytes) : CS_OK;
        if (status == CS_OK && f->array[i].at) {
            memcpy(f->array[i].at, *at, (size_t)bytes);
            cs_scratch_let_go(&f->array[i], 0, bytes);
        }
    }
    if (status != CS_OK) {
        free_files(f);
        return status;
    }
    for (int i = 0; i < CS_COOC_ARRAYS; ++i) {
        void **at = list[i].at;
        cs_free(*at);
        *at = f->array[i].at;
    }
    a->files = f;
    return CS_OK;
}

cs_status cs_assembler_reserve(cs_assembler *whole, const cs_assembler_size *more, double share)
{
    const cs_assembler_size have = cs_assembler_size_of(whole);
    const cs_assembler_size foreseen = {
        .rows = foresee(have.rows, more->rows, share),
        .entries = foresee(have.entries, more->entries, share),
        .labels = foresee(have.labels, more->labels, share),
        .gaps = foresee(have.gaps, more->gaps, share),
        .bytes = foresee(have.bytes, more->bytes, share),
        .marks = whole->packs ? foresee(have.marks, more->marks, share) : 0};
    cs_assembler_array list[CS_COOC_ARRAYS];
    double bytes = 0;
    cs_assembler_list(whole, &BEGIN, &foreseen, list);
    for (int i = 0; i < CS_COOC_ARRAYS; ++i) {
        bytes += (double)(list[i].first + list[i].count) * (double)list[i].size;
    }
    cs_status status = CS_OK;
    const bool moves = !whole->files && whole->limit > 0 && bytes > whole->limit;
    if (moves || whole->files) {
        status =
            cs_disk_check(cs_scratch_dir(whole->scratch), bytes - bytes_in(whole->files),
                          "give --scratch DIR on a larger disk, or a larger --memory or --tail",
                          "the arrays of the matrix");
    }
    if (status == CS_OK && moves) {
        status = move_to_files(whole);
    }
    for (int i = 0; i < CS_COOC_ARRAYS && status == CS_OK; ++i) {
        const cs_assembler_array *k = &list[i];
        const int64_t items = k->first + k->count;
        if (items == 0) continue;
        if (whole->files) {
            cs_scratch_memory *file = &whole->files->array[i];
            status = cs_scratch_grow(file, whole->scratch, items * (int64_t)k->size);
            *(void **)k->at = file->at;
        } else {
            status = widen(k->at, items, k->size);
            /* These are given back while they are written (packed.c). The others have small pages, which
             * are quicker where a host has taken memory back. */
            if (status == CS_OK && (k->at == &whole->packed.gap || k->at == &whole->packed.byte))
                cs_mem_large_pages(*(void **)k->at, items * (int64_t)k->size);
        }
    }
    if (status == CS_OK) {
        cs_growing *m = &whole->matrix, *l = &whole->row_label;
        m->row_capacity = l->row_capacity = foreseen.rows + 1;
        m->capacity = foreseen.entries;
        l->capacity = foreseen.labels;
        whole->key_capacity = foreseen.rows;
        whole->packed.gap_capacity = foreseen.gaps;
        whole->packed.byte_capacity = foreseen.bytes;
        whole->packed.mark_capacity = foreseen.marks;
        m->ptr[0] = l->ptr[0] = 0;
    }
    return status;
}

cs_assembler_size cs_assembler_give(cs_assembler *whole, const cs_assembler_size *more)
{
    const cs_assembler_size at = cs_assembler_size_of(whole);
    whole->matrix.rows += more->rows;
    whole->row_label.rows += more->rows;
    whole->matrix.nnz += more->entries;
    whole->row_label.nnz += more->labels;
    whole->packed.gaps += more->gaps;
    whole->packed.bytes += more->bytes;
    whole->packed.marks += more->marks;
    return at;
}

/* Copies into the result, whose pages there are written for the first time: they are populated a part
 * at a time, which is quicker than one by one where they are small. */
static void put(const cs_assembler_array *to, const cs_assembler_array *from)
{
    const int64_t bytes = from->count * (int64_t)from->size;
    if (bytes > 0) {
        char *place = *(char **)to->at + (size_t)to->first * to->size;
        cs_mem_populate(place, bytes);
        memcpy(place, *(char **)from->at + (size_t)from->first * from->size, (size_t)bytes);
    }
}

static void put_pointers(const cs_growing *from, int64_t row, int64_t entry, cs_growing *to)
{
    cs_mem_populate(to->ptr + row + 1, from->rows * (int64_t)sizeof *to->ptr);
    for (int64_t i = 0; i < from->rows; ++i) {
        to->ptr[row + i + 1] = entry + from->ptr[i + 1];
    }
}

static void put_marks(const cs_packed *from, const cs_assembler_size *at, cs_packed *to)
{
    for (int64_t i = 0; i < from->marks; ++i) {
        const cs_packed_mark *m = &from->mark[i];
        to->mark[at->marks + i] = (cs_packed_mark){at->rows + m->row, at->entries + m->entry,
                                                   at->gaps + m->gap, at->bytes + m->byte};
    }
}

void cs_assembler_let_go(cs_assembler *whole, const cs_assembler_size *at,
                         const cs_assembler_size *n)
{
    cs_assembler_array list[CS_COOC_ARRAYS];
    cs_assembler_list(whole, at, n, list);
    for (int i = 0; whole->files && i < CS_COOC_ARRAYS; ++i) {
        const int64_t size = (int64_t)list[i].size;
        cs_scratch_let_go(&whole->files->array[i], list[i].first * size, list[i].count * size);
    }
}

void cs_assembler_copy(cs_assembler *whole, const cs_assembler_size *at, cs_assembler *part)
{
    const cs_assembler_size n = cs_assembler_size_of(part);
    cs_assembler_array from[CS_COOC_ARRAYS], to[CS_COOC_ARRAYS];
    cs_assembler_list(part, &BEGIN, &n, from);
    cs_assembler_list(whole, at, &n, to);
    for (int i = 0; i < CS_COOC_ARRAYS; ++i) {
        if (from[i].at == &part->matrix.ptr) {
            put_pointers(&part->matrix, at->rows, at->entries, &whole->matrix);
        } else if (from[i].at == &part->row_label.ptr) {
            put_pointers(&part->row_label, at->rows, at->labels, &whole->row_label);
        } else if (from[i].at == &part->packed.mark) {
            put_marks(&part->packed, at, &whole->packed);
        } else {
            put(&to[i], &from[i]);
        }
    }
    cs_assembler_let_go(whole, at, &n);
}

void cs_assembler_clear(cs_assembler *part)
{
    part->matrix.rows = part->matrix.nnz = 0;
    part->row_label.rows = part->row_label.nnz = 0;
    part->packed.gaps = part->packed.bytes = part->packed.marks = 0;
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
    CS_AUTO_BY(growing_free, cs_growing) g = {0};
    cs_status status = CS_OK;
    for (int64_t j = 0; j < a->cols && status == CS_OK; ++j) {
        for (int64_t c = 0; c < a->labels && status == CS_OK; ++c) {
            int64_t units = a->in_col[j * a->labels + c];
            status = units ? growing_put(&g, (int32_t)c, cs_assembler_mass(a, units)) : CS_OK;
        }
        status = status == CS_OK ? growing_end_row(&g) : status;
    }
    return status == CS_OK ? growing_finish(&g, a->labels, false, out) : status;
}

/* Moves the packed entries. */
static cs_status take_packed(cs_assembler *a, cs_packed **out)
{
    *out = cs_alloc(1, sizeof **out);
    if (!*out) return CS_ERR_MEMORY;
    **out = a->packed;
    memset(&a->packed, 0, sizeof a->packed);
    return CS_OK;
}

cs_status cs_assembler_finish(cs_assembler *a, cs_cooc *out)
{
    cs_labelled m = {.labels = a->labels};
    cs_packed *packed = NULL;
    cs_status status = cs_assembler_close(a);
    status = status == CS_OK ? column_labels(a, &m.col_label) : status;
    status =
        status == CS_OK ? growing_finish(&a->row_label, a->labels, false, &m.row_label) : status;
    if (status == CS_OK && a->packs) status = take_packed(a, &packed);
    status = status == CS_OK ? growing_finish(&a->matrix, a->cols, a->packs, &m.a) : status;
    if (status != CS_OK) {
        cs_csr_free(&m.col_label);
        cs_csr_free(&m.row_label);
        return status;
    }
    out->matrix = m;
    out->packed = packed;
    out->files = a->files;
    out->key = a->key;
    out->witness_sequence = a->witness_sequence;
    out->witness_ordinal = a->witness_ordinal;
    out->exact = a->exact;
    out->unit = a->unit;
    out->mass = (double)a->total * a->unit;
    a->key = NULL;
    a->witness_sequence = NULL;
    a->witness_ordinal = NULL;
    a->files = NULL;
    return CS_OK;
}
