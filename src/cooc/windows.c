/* `each:w` without offsets, counted row by row: inverted positions and one dense accumulator.
 *
 * A row is a context token, and what a target k gives to each place of its window is one number,
 * the same for all places. So the sequences are laid out as one stream of (token, units, class)
 * with w empty cells between them; for each token the stream is visited at its occurrences only,
 * and the units of the w cells to the right (and to the left, unless S is a prefix) are added into
 * one dense row that stays in the cache. No record is ever written, hashed or sorted. Rows are
 * handed to workers in groups of about equal mass; each group's rows come out in order of their
 * keys, and are placed behind those of the groups before (windows_place.c).
 *
 * Memory: 16 bytes a cell and 4 a token for the stream, which must fit in the budget; the result;
 * and a group's rows a worker.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

enum { GROUPS = 256 };

static int64_t stream_cells(const cs_windows_job *job)
{
    int64_t cells = job->options->context.n;
    for (int64_t i = 0; i < job->sequences->count; ++i) {
        cells += job->sequences->length[i] + job->options->context.n;
    }
    return cells;
}

bool cs_windows_apply(const cs_windows_job *job)
{
    const cs_cooc_options *o = job->options;
    bool invariant = cs_objective_table(o->objective.kind)->permutation_invariant;
    if (o->context.mode != CS_CONTEXT_EACH || o->context.given || o->draws > 0 ||
        (!invariant && o->objective.kind != CS_OBJ_AR)) {
        return false;
    }
    int64_t cells = stream_cells(job);
    double bytes = (double)cells * (sizeof(cs_window_cell) + sizeof(uint32_t)) +
                   (double)job->sequences->count * sizeof(int64_t) +
                   (double)job->corpus->vocab * 40 * (job->workers + 1);
    return cells < UINT32_MAX && bytes <= (double)job->budget;
}

/* --- the stream ------------------------------------------------------------------------------- */

static int64_t first_sequence(const cs_window_counter *c, int64_t share)
{
    return c->job->sequences->count * share / c->job->workers;
}

/* Writes a share of the sequences into the stream and counts their tokens in its tally's row. */
static cs_status lay_share(void *ctx, int64_t item, int worker)
{
    (void)worker;
    cs_window_counter *c = ctx;
    const cs_windows_job *job = c->job;
    const cs_sequences *s = job->sequences;
    int64_t *count = c->tally[item].row, from = first_sequence(c, item);
    for (int64_t i = from; i < first_sequence(c, item + 1); ++i) {
        const int32_t *token = job->corpus->token + s->start[i];
        int32_t label = c->labels > 0 ? job->corpus->label[s->document[i]] : -1;
        cs_window_cell *cell = c->cell + c->first[i];
        for (int64_t p = 0; p < s->length[i]; ++p) {
            cell[p] = (cs_window_cell){.token = token[p], .label = label};
            ++count[token[p]];
        }
    }
    return CS_OK;
}

/* Lists the cells of a share by token; its tally's row tells where each token's begin, and is left
 * empty. */
static cs_status invert_share(void *ctx, int64_t item, int worker)
{
    (void)worker;
    cs_window_counter *c = ctx;
    const cs_sequences *s = c->job->sequences;
    int64_t *next = c->tally[item].row, from = first_sequence(c, item);
    for (int64_t i = from; i < first_sequence(c, item + 1); ++i) {
        const int32_t *token = c->job->corpus->token + s->start[i];
        for (int64_t p = 0; p < s->length[i]; ++p) {
            c->at[next[token[p]]++] = (uint32_t)(c->first[i] + p);
        }
    }
    memset(next, 0, (size_t)c->vocab * sizeof *next);
    return CS_OK;
}

/* The stream and its inversion, a share of the sequences a worker. */
static cs_status lay_out(cs_window_counter *c)
{
    const cs_windows_job *job = c->job;
    const cs_sequences *s = job->sequences;
    c->cells = stream_cells(job);
    c->cell = cs_calloc(c->cells, sizeof *c->cell);
    c->first = cs_alloc(s->count + 1, sizeof *c->first);
    c->ptr = cs_alloc(c->vocab + 1, sizeof *c->ptr);
    c->at = cs_alloc(c->cells, sizeof *c->at);
    if (!c->cell || !c->first || !c->ptr || !c->at) {
        return CS_ERR_MEMORY;
    }
    cs_mem_large_pages(c->cell, c->cells * (int64_t)sizeof *c->cell);
    cs_mem_large_pages(c->at, c->cells * (int64_t)sizeof *c->at);
    c->first[0] = c->width;
    for (int64_t i = 0; i < s->count; ++i) {
        c->first[i + 1] = c->first[i] + s->length[i] + c->width;
    }
    cs_status status = cs_parallel(job->workers, job->workers, lay_share, c);
    if (status != CS_OK) {
        return status;
    }
    int64_t sum = 0;
    for (int64_t v = 0; v < c->vocab; ++v) {
        c->ptr[v] = sum;
        for (int w = 0; w < job->workers; ++w) {
            int64_t count = c->tally[w].row[v];
            c->tally[w].row[v] = sum;
            sum += count;
        }
    }
    c->ptr[c->vocab] = sum;
    return cs_parallel(job->workers, job->workers, invert_share, c);
}

/* First target and number of places: of outer item `a` at length s. */
static int64_t target_of(const cs_window_counter *c, const cs_context_table *t, int64_t a)
{
    return c->left ? a : t->pairs.target[a];
}

static int64_t places_of(const cs_window_counter *c, int64_t s, int64_t k)
{
    int64_t before = k < c->width ? k : c->width;
    int64_t after = s - 1 - k < c->width ? s - 1 - k : c->width;
    return c->left ? before + after : before;
}

/* Units of targets from..to-1 of a sequence; mirrors `walk` and `emit` of the builder term by term,
 * so that what is dropped is the same double. */
static void weigh(cs_window_counter *c, cs_window_tally *y, int64_t i, int64_t from, int64_t to,
                  double *dropped)
{
    const cs_windows_job *job = c->job;
    int64_t s = job->sequences->length[i];
    const cs_context_table *t = cs_context_table_of(job->plan, s);
    double weight = job->options->weight_by_document ? 1 : t->predicted;
    double scale = weight * job->scale, missed = 0, lost = 0;
    cs_window_cell *first = c->cell + c->first[i];
    for (int64_t a = from; a < to; ++a) {
        int64_t k = target_of(c, t, a), places = places_of(c, s, k);
        double share = 0;
        if (c->left) {
            missed += t->missed[places];
            share = t->place[places];
        } else if (places > 0) {
            share = t->pairs.weight[a] / (double)places;
        } else {
            missed += t->pairs.weight[a];
        }
        if (!(share > 0) || places == 0) {
            continue;
        }
        double exact = share * scale;
        int64_t units = llrint(exact), sum;
        y->contributions += places;
        if (units <= 0) {
            for (int64_t j = 0; j < places; ++j) {
                lost += exact;
            }
            continue;
        }
        first[k].units = units;
        y->overflow |= __builtin_mul_overflow(units, places, &sum) ||
                       __builtin_add_overflow(y->units, sum, &y->units);
        if (first[k].label >= 0 && first[k].label < c->labels) {
            y->in_col[(int64_t)first[k].token * c->labels + first[k].label] += units * places;
        }
    }
    *dropped += missed * weight + lost / job->scale;
}

static cs_status weigh_block(void *ctx, int64_t item, int worker)
{
    cs_window_counter *c = ctx;
    cs_block *b = &c->job->block[item];
    if (b->to > 0) {
        weigh(c, &c->tally[worker], b->first, b->from, b->to, &b->dropped);
        return CS_OK;
    }
    for (int64_t i = b->first; i < b->last; ++i) {
        int64_t outer = cs_context_table_of(c->job->plan, c->job->sequences->length[i])->outer;
        weigh(c, &c->tally[worker], i, 0, outer, &b->dropped);
    }
    return CS_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

typedef struct {
    cs_hash128 key;
    int32_t token;
} keyed;

static int by_key(const void *x, const void *y)
{
    return cs_hash_compare(((const keyed *)x)->key, ((const keyed *)y)->key);
}

/* Orders tokens by key and cuts them into groups of about equal numbers of occurrences. */
static cs_status group_rows(cs_window_counter *c)
{
    keyed *k = cs_alloc(c->vocab, sizeof *k);
    c->by_key = cs_alloc(c->vocab, sizeof *c->by_key);
    c->key = cs_alloc(c->vocab, sizeof *c->key);
    c->group = cs_alloc(GROUPS + 1, sizeof *c->group);
    c->part = cs_calloc(GROUPS, sizeof *c->part);
    c->spare = cs_alloc(GROUPS, sizeof *c->spare);
    if (!k || !c->by_key || !c->key || !c->group || !c->part || !c->spare) {
        cs_free(k);
        return CS_ERR_MEMORY;
    }
    for (int64_t v = 0; v < c->vocab; ++v) {
        c->key[v] = cs_key_of(CS_KEY_ITEM, 0, v);
        k[v] = (keyed){c->key[v], (int32_t)v};
    }
    qsort(k, (size_t)c->vocab, sizeof *k, by_key);
    int64_t group = 0, held = 0, all = c->ptr[c->vocab];
    c->group[0] = 0;
    for (int64_t r = 0; r < c->vocab; ++r) {
        c->by_key[r] = k[r].token;
        held += c->ptr[k[r].token + 1] - c->ptr[k[r].token];
        while (group + 1 < GROUPS && (double)held * GROUPS >= (double)all * (double)(group + 1)) {
            c->group[++group] = r + 1;
        }
    }
    while (group < GROUPS) {
        c->group[++group] = c->vocab;
    }
    c->groups = GROUPS;
    cs_free(k);
    return CS_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Room for all rows in the result, whose entries come as the groups do. */
static cs_status start_result(cs_window_counter *c)
{
    cs_assembler *a = c->assembler;
    a->key_room = c->vocab;
    a->key = cs_alloc(c->vocab, sizeof *a->key);
    a->witness_sequence = cs_alloc(c->vocab, sizeof *a->witness_sequence);
    a->witness_ordinal = cs_alloc(c->vocab, sizeof *a->witness_ordinal);
    a->matrix.row_room = a->row_label.row_room = c->vocab + 1;
    a->matrix.ptr = cs_calloc(c->vocab + 1, sizeof *a->matrix.ptr);
    a->row_label.ptr = cs_calloc(c->vocab + 1, sizeof *a->row_label.ptr);
    bool ok =
        a->key && a->witness_sequence && a->witness_ordinal && a->matrix.ptr && a->row_label.ptr;
    return ok ? CS_OK : CS_ERR_MEMORY;
}

static cs_status start_tallies(cs_window_counter *c)
{
    int64_t lines = c->vocab / CS_WINDOW_LINE + 1;
    c->tally = cs_calloc(c->job->workers, sizeof *c->tally);
    for (int i = 0; c->tally && i < c->job->workers; ++i) {
        cs_window_tally *y = &c->tally[i];
        y->in_col = cs_calloc(c->vocab * c->labels, sizeof *y->in_col);
        y->row = cs_calloc(c->vocab, sizeof *y->row);
        y->in_row = cs_calloc(c->labels, sizeof *y->in_row);
        y->touched = cs_alloc(c->vocab + 1, sizeof *y->touched);
        y->bits = cs_calloc(lines * CS_WINDOW_LINE / 64, sizeof *y->bits);
        y->lines = cs_calloc(lines, sizeof *y->lines);
        if (!y->in_col || !y->row || !y->in_row || !y->touched || !y->bits || !y->lines) {
            return CS_ERR_MEMORY;
        }
    }
    return c->tally ? CS_OK : CS_ERR_MEMORY;
}

static cs_status add_tallies(cs_window_counter *c, int64_t *contributions)
{
    bool overflow = false;
    for (int i = 0; i < c->job->workers; ++i) {
        const cs_window_tally *y = &c->tally[i];
        *contributions += y->contributions;
        overflow |= y->overflow ||
                    __builtin_add_overflow(c->assembler->total, y->units, &c->assembler->total);
        for (int64_t j = 0; j < c->vocab * c->labels; ++j) {
            c->assembler->in_col[j] += y->in_col[j];
        }
    }
    return overflow ? cs_fail(CS_ERR_INPUT, "the mass of the windows overflows") : CS_OK;
}

static void release(cs_window_counter *c)
{
    for (int64_t g = 0; c->part && g < GROUPS; ++g) {
        cs_window_part_free(&c->part[g]);
    }
    for (int64_t i = 0; i < c->spares; ++i) {
        cs_window_part_free(&c->spare[i]);
    }
    for (int i = 0; c->tally && i < c->job->workers; ++i) {
        cs_free(c->tally[i].in_col);
        cs_free(c->tally[i].row);
        cs_free(c->tally[i].in_row);
        cs_free(c->tally[i].touched);
        cs_free(c->tally[i].bits);
        cs_free(c->tally[i].lines);
    }
    cs_free(c->part);
    cs_free(c->spare);
    cs_free(c->tally);
    cs_free(c->cell);
    cs_free(c->first);
    cs_free(c->ptr);
    cs_free(c->at);
    cs_free(c->by_key);
    cs_free(c->key);
    cs_free(c->group);
    (void)pthread_mutex_destroy(&c->lock);
}

cs_status cs_windows_count(const cs_windows_job *job, cs_assembler *assembler,
                           int64_t *contributions)
{
    cs_window_counter c = {.job = job,
                           .width = job->options->context.n,
                           .left = job->options->objective.kind != CS_OBJ_AR,
                           .vocab = job->corpus->vocab,
                           .labels = job->corpus->labels,
                           .assembler = assembler,
                           .lock = PTHREAD_MUTEX_INITIALIZER};
    cs_progress_report(job->options->progress, "stream", 0, 0);
    cs_status status = start_tallies(&c);
    if (status == CS_OK) {
        status = lay_out(&c);
    }
    if (status == CS_OK) {
        status = cs_parallel(job->blocks, job->workers, weigh_block, &c);
    }
    if (status == CS_OK) {
        status = add_tallies(&c, contributions);
    }
    if (status == CS_OK) {
        status = group_rows(&c);
    }
    if (status == CS_OK) {
        status = start_result(&c);
    }
    if (status == CS_OK) {
        cs_progress_report(job->options->progress, "rows", 0, 0);
        status = cs_parallel(GROUPS, job->workers, cs_window_group, &c);
    }
    release(&c);
    return status;
}
