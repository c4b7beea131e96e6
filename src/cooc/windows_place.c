/* Groups of counted rows become the result: in the order of the groups, as soon as all before them
 * are there (windows.c).
 *
 * Whoever has counted a group places it, and those that waited for it. The place of a group is
 * chosen under the lock; the copy is made outside, so that several are made at once, except while
 * the result grows: nothing is copied into it then. Nobody ever waits: what cannot be placed now is
 * placed by the one that it waits for. The buffers of placed groups are filled again by the next
 * ones, so that the result is the only large memory written for the first time. */
#include "cooc/windows_private.h"

cs_status cs_window_part_begin(cs_window_counter *c, int64_t group, int64_t rows)
{
    cs_assembler **p = &c->part[group].rows;
    (void)pthread_mutex_lock(&c->lock);
    if (c->spares > 0) {
        *p = c->spare[--c->spares];
    }
    (void)pthread_mutex_unlock(&c->lock);
    cs_status status = *p ? CS_OK : cs_assembler_part(c->assembler, true, p);
    return status == CS_OK && (*p)->key_room < rows ? cs_assembler_key_room(*p, rows) : status;
}

/* Makes space for the part and, so that the result seldom moves, for the entries that all groups
 * will have if the others are like those already counted. */
static cs_status make_room(const cs_window_counter *c, const cs_assembler_size *part)
{
    const double placed = (double)(c->assembler->matrix.nnz + part->entries);
    const double all = (double)c->counted_entries * (double)c->groups / (double)c->counted;
    return cs_assembler_room(c->assembler, part, placed > 0 ? placed / all : 1);
}

cs_status cs_window_part_place(cs_window_counter *c, int64_t group)
{
    cs_status status = CS_OK;
    (void)pthread_mutex_lock(&c->lock);
    c->part[group].counted = true;
    ++c->counted;
    c->counted_entries += c->part[group].rows->matrix.nnz;
    while (c->placed < c->groups && c->part[c->placed].counted) {
        cs_window_part *p = &c->part[c->placed];
        const cs_assembler_size size = cs_assembler_size_of(p->rows);
        if (!cs_assembler_fits(c->assembler, &size)) {
            if (c->copying > 0) {
                break; /* the last worker to finish its copy continues */
            }
            status = make_room(c, &size);
            if (status != CS_OK) break;
        }
        const cs_assembler_size at = cs_assembler_give(c->assembler, &size);
        ++c->placed;
        ++c->copying;
        (void)pthread_mutex_unlock(&c->lock);
        cs_assembler_copy(c->assembler, &at, p->rows);
        (void)pthread_mutex_lock(&c->lock);
        --c->copying;
        cs_assembler_clear(p->rows);
        c->spare[c->spares++] = p->rows;
        *p = (cs_window_part){0};
    }
    (void)pthread_mutex_unlock(&c->lock);
    return status;
}
