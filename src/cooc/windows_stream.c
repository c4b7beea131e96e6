/* The stream that rows are counted from (windows.c): tokens with w empty cells between sequences,
 * the units of each target, and the places of each token.
 *
 * Tokens stand by themselves, 4 bytes a cell, for they are read at every place of every window. All
 * targets of a window have the same units, except near the ends of a sequence: so a sequence notes
 * the stretch in which an occurrence adds one number of units 2w (or w) times, and the units of the
 * single cells are read elsewhere only.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

double cs_window_stream_bytes(const cs_windows_job *job, int64_t *cells)
{
    *cells = job->options->context.n;
    for (int64_t i = 0; i < job->sequences->count; ++i) {
        *cells += job->sequences->length[i] + job->options->context.n;
    }
    return (double)*cells * (sizeof(int32_t) + sizeof(int64_t) + sizeof(cs_window_place)) +
           (double)job->sequences->count * sizeof(cs_window_span);
}

static int64_t first_sequence(const cs_window_counter *c, int64_t share)
{
    return c->job->sequences->count * share / c->job->workers;
}

/* --- cells and places ------------------------------------------------------------------------- */

/* Writes a share of the sequences into the stream and counts their tokens in its tally's row. */
static cs_status lay_share(void *ctx, int64_t item, int worker)
{
    (void)worker;
    cs_window_counter *c = ctx;
    const cs_sequences *s = c->job->sequences;
    int64_t *count = c->tally[item].row, from = first_sequence(c, item);
    for (int64_t i = from; i < first_sequence(c, item + 1); ++i) {
        const int32_t *token = c->job->corpus->token + s->start[i];
        int32_t *cell = c->token + c->span[i].first;
        for (int64_t p = 0; p < s->length[i]; ++p) {
            cell[p] = token[p];
            ++count[token[p]];
        }
        for (int64_t p = 0; p < c->width; ++p) {
            cell[s->length[i] + p] = (int32_t)c->vocab;
        }
    }
    return CS_OK;
}

/* Lists the places of a share by token; its tally's row tells where each token's begin, and is left
 * empty. */
static cs_status invert_share(void *ctx, int64_t item, int worker)
{
    (void)worker;
    cs_window_counter *c = ctx;
    const cs_sequences *s = c->job->sequences;
    int64_t *next = c->tally[item].row, from = first_sequence(c, item);
    for (int64_t i = from; i < first_sequence(c, item + 1); ++i) {
        uint32_t first = c->span[i].first;
        const int32_t *token = c->token + first;
        for (int32_t p = 0; p < s->length[i]; ++p) {
            c->at[next[token[p]]++] = (cs_window_place){first + (uint32_t)p, (uint32_t)i};
        }
    }
    memset(next, 0, (size_t)c->vocab * sizeof *next);
    return CS_OK;
}

static cs_status lay_out(cs_window_counter *c)
{
    const cs_windows_job *job = c->job;
    const cs_sequences *s = job->sequences;
    (void)cs_window_stream_bytes(job, &c->cells);
    c->token = cs_alloc(c->cells, sizeof *c->token);
    c->units = cs_calloc(c->cells, sizeof *c->units);
    c->span = cs_alloc(s->count, sizeof *c->span);
    c->ptr = cs_alloc(c->vocab + 1, sizeof *c->ptr);
    c->at = cs_alloc(c->cells, sizeof *c->at);
    if (!c->token || !c->units || !c->span || !c->ptr || !c->at) {
        return CS_ERR_MEMORY;
    }
    cs_mem_large_pages(c->token, c->cells * (int64_t)sizeof *c->token);
    cs_mem_large_pages(c->units, c->cells * (int64_t)sizeof *c->units);
    cs_mem_large_pages(c->at, c->cells * (int64_t)sizeof *c->at);
    int64_t first = c->width;
    for (int64_t p = 0; p < first; ++p) {
        c->token[p] = (int32_t)c->vocab;
    }
    for (int64_t i = 0; i < s->count; ++i) {
        int32_t label = c->labels > 0 ? job->corpus->label[s->document[i]] : -1;
        c->span[i] = (cs_window_span){.first = (uint32_t)first, .label = label};
        first += s->length[i] + c->width;
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

/* --- units ------------------------------------------------------------------------------------ */

/* The number of places of target k at length s. */
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
    const int64_t s = job->sequences->length[i];
    const cs_context_table *t = cs_context_table_of(job->plan, s);
    double sequence = job->options->weight_by_document ? 1 : t->predicted;
    double scale = sequence * job->scale, missed = 0, lost = 0;
    /* of the last target, whose like most others are */
    double weight = -1, exact = 0;
    int64_t places = -1, units = 0;
    bool labelled = c->span[i].label >= 0 && c->span[i].label < c->labels;
    for (int64_t a = from; a < to; ++a) {
        int64_t k = c->left ? a : t->pairs.target[a];
        int64_t now = places_of(c, s, k), sum;
        double its = c->left ? t->place[now] : t->pairs.weight[a];
        if (now != places || its != weight) {
            places = now;
            weight = its;
            exact = (c->left || places == 0 ? weight : weight / (double)places) * scale;
            units = llrint(exact);
        }
        missed += c->left ? t->missed[places] : places > 0 ? 0 : weight;
        if (!(weight > 0) || places == 0) {
            continue;
        }
        y->contributions += places;
        if (units <= 0) {
            for (int64_t j = 0; j < places; ++j) {
                lost += exact;
            }
            continue;
        }
        c->units[c->span[i].first + k] = units;
        y->overflow |= __builtin_mul_overflow(units, places, &sum) ||
                       __builtin_add_overflow(y->units, sum, &y->units);
        if (labelled) {
            y->in_col[c->token[c->span[i].first + k] * c->labels + c->span[i].label] +=
                units * places;
        }
    }
    *dropped += missed * sequence + lost / job->scale;
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

/* The longest stretch of occurrences whose windows, taken with the occurrence itself, hold one
 * number of units, and not 0. */
static void find_span(const cs_window_counter *c, int64_t length, cs_window_span *span)
{
    const int64_t *units = c->units + span->first;
    int64_t before = c->left ? c->width : 0, run = -before; /* units are the same from `run` to j */
    int64_t from = 0, to = 0;
    for (int64_t j = 1 - before; j < length + c->width; ++j) {
        run = units[j] == units[j - 1] ? run : j;
        int64_t p = j - c->width, first = run + before > 0 ? run + before : 0;
        if (p >= first && p + 1 - first > to - from && units[j] > 0) {
            from = first;
            to = p + 1;
        }
    }
    span->from = span->first + (uint32_t)from;
    span->to = span->first + (uint32_t)to;
    span->units = units[from];
}

static cs_status span_share(void *ctx, int64_t item, int worker)
{
    (void)worker;
    cs_window_counter *c = ctx;
    for (int64_t i = first_sequence(c, item); i < first_sequence(c, item + 1); ++i) {
        find_span(c, c->job->sequences->length[i], &c->span[i]);
    }
    return CS_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

cs_status cs_window_stream_make(cs_window_counter *c)
{
    cs_status status = lay_out(c);
    if (status == CS_OK) {
        status = cs_parallel(c->job->blocks, c->job->workers, weigh_block, c);
    }
    return status == CS_OK ? cs_parallel(c->job->workers, c->job->workers, span_share, c) : status;
}

void cs_window_stream_free(cs_window_counter *c)
{
    cs_free(c->token);
    cs_free(c->units);
    cs_free(c->span);
    cs_free(c->ptr);
    cs_free(c->at);
}
