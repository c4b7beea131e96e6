/* Groups of counted rows become the result: in the order of the groups, as soon as all before them
 * are there (windows.c).
 *
 * Whoever has counted a group places it, and those that waited for it. Where a group goes is
 * settled under the lock; the copy is made outside, so that several are made at once, but for the
 * moment in which the result grows: nothing is copied into it then. Nobody ever waits: what cannot
 * be placed now is placed by the one that stands in the way. The buffers of placed groups are
 * filled again by the next ones, so that the result is the only large memory written for the first
 * time.
 */
#include <string.h>

#include "base/mem.h"
#include "cooc/windows_private.h"

void cs_window_part_free(cs_window_part *p)
{
    cs_growing_free(&p->matrix);
    cs_growing_free(&p->row_label);
    cs_free(p->token);
    cs_free(p->witness_sequence);
    cs_free(p->witness_ordinal);
    memset(p, 0, sizeof *p);
}

cs_status cs_window_part_begin(cs_window_counter *c, int64_t group, int64_t rows)
{
    cs_window_part *p = &c->part[group];
    (void)pthread_mutex_lock(&c->lock);
    if (c->spares > 0) {
        *p = c->spare[--c->spares];
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (p->room < rows || !p->token) {
        cs_free(p->token);
        cs_free(p->witness_sequence);
        cs_free(p->witness_ordinal);
        p->room = rows;
        p->token = cs_alloc(rows, sizeof *p->token);
        p->witness_sequence = cs_alloc(rows, sizeof *p->witness_sequence);
        p->witness_ordinal = cs_alloc(rows, sizeof *p->witness_ordinal);
    }
    return p->token && p->witness_sequence && p->witness_ordinal ? CS_OK : CS_ERR_MEMORY;
}

/* Room for `more` entries and, so that the result seldom moves, for as many as all groups will have
 * if the others are like the ones that `counted` entries came from, and a fifth to spare: what is
 * never written costs no memory.
 *
 * Small pages, asked for a part at a time before it is copied: measured on a virtual machine, first
 * touch of small pages runs at 2.1 GB/s and at 2.7 when they are asked for together, whether or not
 * the host had taken the memory back; of large ones at 10.8 where it had not, but at 1.0 to 2.7
 * where it had, so that a process begun anew took longer with them. */
static cs_status make_room(const cs_window_counter *c, cs_growing *g, int64_t more, int64_t counted)
{
    int64_t all = (int64_t)(1.2 * (double)counted * (double)c->groups / (double)c->counted);
    return cs_growing_room(g, all - g->nnz > more ? all - g->nnz : more);
}

static bool fits(const cs_growing *g, int64_t more)
{
    return g->val && g->room - g->nnz >= more;
}

/* Copies `from` to where its rows and entries stand. */
static void copy(const cs_growing *from, int64_t row, int64_t entry, cs_growing *to)
{
    size_t nnz = (size_t)from->nnz;
    if (nnz > 0) {
        cs_mem_populate(to->col + entry, from->nnz * (int64_t)sizeof *to->col);
        cs_mem_populate(to->val + entry, from->nnz * (int64_t)sizeof *to->val);
        memcpy(to->col + entry, from->col, nnz * sizeof *to->col);
        memcpy(to->val + entry, from->val, nnz * sizeof *to->val);
    }
    for (int64_t i = 0; i < from->rows; ++i) {
        to->ptr[row + i + 1] = entry + from->ptr[i + 1];
    }
}

static void copy_part(cs_window_counter *c, const cs_window_part *p, int64_t row, int64_t entry,
                      int64_t label)
{
    cs_assembler *a = c->assembler;
    for (int64_t i = 0; i < p->matrix.rows; ++i) {
        a->key[row + i] = c->key[p->token[i]];
        a->witness_sequence[row + i] = p->witness_sequence[i];
        a->witness_ordinal[row + i] = p->witness_ordinal[i];
    }
    copy(&p->matrix, row, entry, &a->matrix);
    copy(&p->row_label, row, label, &a->row_label);
}

cs_status cs_window_part_place(cs_window_counter *c, int64_t group)
{
    cs_growing *m = &c->assembler->matrix, *l = &c->assembler->row_label;
    cs_status status = CS_OK;
    (void)pthread_mutex_lock(&c->lock);
    c->part[group].counted = true;
    ++c->counted;
    c->counted_entries += c->part[group].matrix.nnz;
    c->counted_labels += c->part[group].row_label.nnz;
    while (c->placed < c->groups && c->part[c->placed].counted) {
        cs_window_part *p = &c->part[c->placed];
        if (!fits(m, p->matrix.nnz) || !fits(l, p->row_label.nnz)) {
            if (c->copying > 0) {
                break; /* the last one to end its copy goes on from here */
            }
            status = make_room(c, m, p->matrix.nnz, c->counted_entries);
            status =
                status == CS_OK ? make_room(c, l, p->row_label.nnz, c->counted_labels) : status;
            if (status != CS_OK) {
                break;
            }
        }
        int64_t row = m->rows, entry = m->nnz, label = l->nnz;
        m->rows = l->rows += p->matrix.rows;
        m->nnz += p->matrix.nnz;
        l->nnz += p->row_label.nnz;
        ++c->placed;
        ++c->copying;
        (void)pthread_mutex_unlock(&c->lock);
        copy_part(c, p, row, entry, label);
        (void)pthread_mutex_lock(&c->lock);
        --c->copying;
        p->counted = false;
        p->matrix.rows = p->matrix.nnz = p->row_label.rows = p->row_label.nnz = 0;
        c->spare[c->spares++] = *p;
        memset(p, 0, sizeof *p);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return status;
}
