/* `each:w` without offsets, counted row by row: inverted positions and one dense accumulator.
 *
 * A row is a context token, and what a target k gives to each place of its window is one number,
 * the same for all places. So the sequences are laid out as one stream with w empty cells between
 * them; for each token the stream is visited at its occurrences only, and the
 * units of the w cells to the right (and to the left, unless S is a prefix) are added into one
 * dense row that stays in the cache, from which its columns come in
 * order (windows_rows.c). No record is ever written, hashed or sorted. Rows are handed to workers in
 * groups of about equal mass, whose buffers stay in the cache as well; each group's rows come out
 * in order of their keys, and are placed behind those of the groups before.
 *
 * Memory: 12 bytes a cell and 32 a sequence for the stream, and 8 a position of each length, which
 * must fit in the budget; the result; and a group's rows a worker, with those of groups that wait while another counts a token of many occurrences.
 *
 * A target's units depend on the length of its sequence and its position there, and nothing else:
 * they are found once a length. And all targets of a window have the same ones, except near the
 * ends of a sequence: so a length notes the stretch in which an occurrence adds one number of units
 * 2w (or w) times, and the units of single positions are read elsewhere only. The stream itself is
 * 4 bytes a cell, for it is read at every place of every window.
 *
 * Where pairs count (each:w:linear), units depend on the distance instead of the target: one list of
 * w numbers a length. */
#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

/* Units of all lengths, with their margins. */
static int64_t positions(const cs_windows_job *job)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < job->plan->tables; ++i) {
        sum += job->plan->table[i].pairs.length + 2 * job->options->context.n;
    }
    return sum;
}

/* Bytes of the stream and its inversion. */
static double stream_bytes(const cs_windows_job *job, int64_t *cells)
{
    *cells = job->options->context.n;
    for (int64_t i = 0; i < job->sequences->count; ++i) {
        *cells += job->sequences->length[i] + job->options->context.n;
    }
    return (double)*cells * (sizeof(int32_t) + sizeof(cs_window_place)) +
           (double)job->sequences->count * sizeof(cs_window_span) +
           (double)positions(job) * sizeof(int64_t);
}

/* --- units ------------------------------------------------------------------------------------ */

/* The number of places of target k at length s. */
static int64_t places_of(const cs_window_counter *c, int64_t s, int64_t k)
{
    int64_t before = k < c->width ? k : c->width;
    int64_t after = s - 1 - k < c->width ? s - 1 - k : c->width;
    return c->left ? before + after : before;
}

/* The weight of a sequence, in units of the weights of its table. */
static double weight_of(const cs_window_counter *c, const cs_context_table *t)
{
    return c->job->options->weight_by_document ? 1 : t->predicted;
}

/* Weighs targets from..to-1 of a length: adds to *l, and writes units unless `units` is NULL.
 * Mirrors `walk` and `emit` of the builder term by term, so that what is dropped is the same
 * double. */
static void weigh(const cs_window_counter *c, const cs_context_table *t, int64_t from, int64_t to,
                  int64_t *units, cs_window_length *l)
{
    double scale = weight_of(c, t) * c->job->scale;
    for (int64_t a = from; a < to; ++a) {
        int64_t k = c->left ? a : t->pairs.target[a], sum;
        int64_t places = places_of(c, t->pairs.length, k);
        double weight = c->left ? t->place[places] : t->pairs.weight[a];
        l->missed += c->left ? t->missed[places] : places > 0 ? 0 : weight;
        if (!(weight > 0) || places == 0) {
            continue;
        }
        double exact = (c->left ? weight : weight / (double)places) * scale;
        int64_t rounded = llrint(exact);
        l->contributions += places;
        for (int64_t j = 0; rounded <= 0 && j < places; ++j) {
            l->lost += exact;
        }
        if (rounded > 0) {
            l->overflow |= __builtin_mul_overflow(rounded, places, &sum) ||
                           __builtin_add_overflow(l->mass, sum, &l->mass);
            if (units) {
                units[k] = rounded;
            }
        }
    }
}

/* The number of pairs of a target in from..to-1 and a context token at this distance. */
static int64_t pairs_at(const cs_window_counter *c, int64_t s, int64_t distance, int64_t from,
                        int64_t to)
{
    int64_t before = cs_most(to - cs_most(from, distance), 0);
    return before + (c->left ? cs_most(cs_least(to, s - distance) - from, 0) : 0);
}

/* The same where pairs count: units by distance. */
static void weigh_pairs(const cs_window_counter *c, const cs_context_table *t, int64_t from,
                        int64_t to, int64_t *units, cs_window_length *l)
{
    const double scale = weight_of(c, t) * c->job->scale;
    const int64_t s = t->pairs.length, first = c->left || from == to ? 0 : t->pairs.target[0];
    for (int64_t d = 1; d <= c->width && d < s; ++d) {
        const double weight =
            c->left ? t->place[d]
                    : t->pairs.weight[0] * cs_context_pair_count(&c->job->options->context, d);
        const double exact = weight * scale;
        const int64_t rounded = llrint(exact), pairs = pairs_at(c, s, d, first + from, first + to);
        int64_t sum;
        if (!(weight > 0) || pairs == 0) {
            continue;
        }
        l->contributions += pairs;
        l->lost += rounded > 0 ? 0 : exact * (double)pairs;
        l->overflow |= __builtin_mul_overflow(rounded, pairs, &sum) ||
                       __builtin_add_overflow(l->mass, sum, &l->mass);
        if (units) {
            units[d] = rounded;
        }
        if (units && c->job->keep) {
            l->weight[d] = weight;
            l->scale = scale;
        }
    }
}

/* The longest stretch of occurrences whose windows, taken with the occurrence itself, hold one
 * number of units, and not 0. */
static void find_stretch(const cs_window_counter *c, int64_t length, cs_window_length *l)
{
    const int64_t *units = l->units;
    int64_t before = c->left ? c->width : 0, run = -before; /* units are the same from `run` to j */
    for (int64_t j = 1 - before; j < length + c->width; ++j) {
        run = units[j] == units[j - 1] ? run : j;
        int64_t p = j - c->width, first = cs_most(run + before, 0);
        if (p >= first && p + 1 - first > l->to - l->from && units[j] > 0) {
            l->from = first;
            l->to = p + 1;
        }
    }
}

static cs_status weigh_length(void *ctx, int64_t item)
{
    cs_window_counter *c = ctx;
    const cs_context_table *t = &c->job->plan->table[item];
    if (c->pairs) {
        weigh_pairs(c, t, 0, t->outer, c->length[item].units, &c->length[item]);
    } else {
        weigh(c, t, 0, t->outer, c->length[item].units, &c->length[item]);
        find_stretch(c, t->pairs.length, &c->length[item]);
    }
    return CS_OK;
}

static cs_status weigh_lengths(cs_window_counter *c)
{
    const cs_context_plan *plan = c->job->plan;
    c->length = cs_pool_take(&c->pool, plan->tables, sizeof *c->length);
    c->units = cs_pool_take(&c->pool, positions(c->job), sizeof *c->units);
    if (c->pool.status != CS_OK) return c->pool.status;
    int64_t *next = c->units + c->width;
    for (int64_t i = 0; i < plan->tables; ++i) {
        c->length[i].units = next;
        next += plan->table[i].pairs.length + 2 * c->width;
        if (c->job->keep) {
            c->length[i].weight = cs_pool_take(&c->pool, c->width + 1, sizeof(double));
        }
    }
    if (c->pool.status != CS_OK) return c->pool.status;
    return cs_parallel(plan->tables, c->job->workers, weigh_length, c);
}

/* The dropped mass of a block, a sequence at a time. */
static cs_status drop_block(void *ctx, int64_t item)
{
    cs_window_counter *c = ctx;
    cs_block *b = &c->job->block[item];
    for (int64_t i = b->first; i < b->last; ++i) {
        const cs_context_table *t = cs_context_table_of(c->job->plan, c->job->sequences->length[i]);
        cs_window_length part = {0}, whole = *cs_window_length_of(c, i);
        if (b->to > 0) {
            (c->pairs ? weigh_pairs : weigh)(c, t, b->from, b->to, NULL, &part);
            whole = part;
        }
        cs_exact_add(&b->dropped, whole.missed * weight_of(c, t) + whole.lost / c->job->scale,
                     c->job->exponent);
    }
    return CS_OK;
}

/* --- cells and places ------------------------------------------------------------------------- */

/* Subsampling: the units that target k of sequence i gets from a context token at distance d on one
 * side, which is in the sequence. */
static int64_t kept_at(const cs_window_counter *c, int64_t i, int64_t k, int64_t d, int64_t side)
{
    const int32_t *token = c->token + c->span[i].first;
    const double *keep = c->job->keep;
    const int64_t p = k + side * d;
    return p >= 0 && p < c->job->sequences->length[i] && (c->left || side < 0)
               ? cs_window_kept(cs_window_length_of(c, i), d, keep[token[k]] * keep[token[p]])
               : 0;
}

/* The class masses of the targets of one sequence. */
static void add_labelled(cs_window_counter *c, cs_window_tally *y, int64_t i)
{
    const int32_t *token = c->token + c->span[i].first;
    int64_t s = c->job->sequences->length[i];
    if (c->span[i].label < 0 || c->span[i].label >= c->labels) {
        return;
    }
    for (int64_t k = 0; k < s; ++k) {
        int64_t units = c->pairs ? 0 : c->span[i].cells[k] * places_of(c, s, k);
        for (int64_t d = 1; c->pairs && d <= c->width; ++d) {
            units += c->job->keep ? kept_at(c, i, k, d, -1) + kept_at(c, i, k, d, 1)
                                  : c->span[i].cells[d] * pairs_at(c, s, d, k, k + 1);
        }
        y->in_col[token[k] * c->labels + c->span[i].label] += units;
    }
}

/* Writes a share of the sequences into the stream, adds up their masses and counts their tokens in
 * its tally's row. */
static cs_status lay_share(void *ctx, int64_t item)
{
    cs_window_counter *c = ctx;
    cs_window_tally *y = &c->tally[item];
    const cs_sequences *s = c->job->sequences;
    int64_t from = cs_window_first(c, item);
    for (int64_t i = from; i < cs_window_first(c, item + 1); ++i) {
        const cs_window_length *l = cs_window_length_of(c, i);
        const int32_t *token = c->job->corpus->token + s->start[i];
        int32_t *cell = c->token + c->span[i].first;
        for (int64_t p = 0; p < s->length[i]; ++p) {
            cell[p] = token[p];
            ++y->row[token[p]];
        }
        for (int64_t p = 0; p < c->width; ++p) {
            cell[s->length[i] + p] = (int32_t)c->vocab;
        }
        y->contributions += l->contributions;
        y->overflow |= l->overflow || (!c->job->keep && /* else the rows add what they count */
                                       __builtin_add_overflow(y->units, l->mass, &y->units));
        add_labelled(c, y, i);
    }
    return CS_OK;
}

/* Lists the places of a share by token; its tally's row says where each token's begin, and is left
 * empty. */
static cs_status invert_share(void *ctx, int64_t item)
{
    cs_window_counter *c = ctx;
    const cs_sequences *s = c->job->sequences;
    int64_t *next = c->tally[item].row, from = cs_window_first(c, item);
    for (int64_t i = from; i < cs_window_first(c, item + 1); ++i) {
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
    (void)stream_bytes(job, &c->cells);
    c->token = cs_pool_take(&c->pool, c->cells, sizeof *c->token);
    c->span = cs_pool_take(&c->pool, s->count, sizeof *c->span);
    c->ptr = cs_pool_take(&c->pool, c->vocab + 1, sizeof *c->ptr);
    c->at = cs_pool_take(&c->pool, c->cells, sizeof *c->at);
    if (c->pool.status != CS_OK) return c->pool.status;
    cs_mem_large_pages(c->token, c->cells * (int64_t)sizeof *c->token);
    cs_mem_large_pages(c->at, c->cells * (int64_t)sizeof *c->at);
    int64_t first = c->width;
    for (int64_t p = 0; p < first; ++p) {
        c->token[p] = (int32_t)c->vocab;
    }
    for (int64_t i = 0; i < s->count; ++i) {
        const cs_window_length *l = cs_window_length_of(c, i);
        c->span[i] =
            (cs_window_span){.first = (uint32_t)first,
                             .from = (uint32_t)(first + l->from),
                             .to = (uint32_t)(first + l->to),
                             .label = c->labels > 0 ? job->corpus->label[s->document[i]] : -1,
                             .units = l->units[l->from],
                             .cells = l->units};
        first += s->length[i] + c->width;
    }
    cs_status status = cs_parallel(job->workers, job->workers, lay_share, c);
    if (status != CS_OK) return status;
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

/* --- the whole -------------------------------------------------------------------------------- */

static cs_status make_stream(cs_window_counter *c)
{
    cs_status status = weigh_lengths(c);
    if (status == CS_OK) status = lay_out(c);
    return status == CS_OK ? cs_parallel(c->job->blocks, c->job->workers, drop_block, c) : status;
}

/* Whether the targets of each length that is listed have one weight. */
static bool even_targets(const cs_context_plan *plan)
{
    bool even = true;
    for (int64_t i = 0; i < plan->tables; ++i) {
        const cs_pairs *p = &plan->table[i].pairs;
        for (int64_t a = 1; a < p->events; ++a) {
            even = even && p->weight[a] == p->weight[0] && p->target[a] == p->target[a - 1] + 1;
        }
    }
    return even;
}

/* Subsampling: whether no pair rounds to nothing, of the two rarest to be kept and the farthest. */
static bool pairs_count(const cs_windows_job *job)
{
    const cs_cooc_options *o = job->options;
    double least = 1, units = INFINITY;
    for (int64_t v = 0; job->keep && v < job->corpus->vocab; ++v) {
        least = fmin(least, job->keep[v]);
    }
    for (int64_t i = 0; i < job->plan->tables; ++i) {
        const cs_context_table *t = &job->plan->table[i];
        const double scale = (o->weight_by_document ? 1 : t->predicted) * job->scale;
        const double weight = t->pairs.events > 0   ? t->pairs.weight[0]
                              : t->pairs.length > 1 ? t->place[1]
                                                    : INFINITY;
        units = fmin(units, weight * cs_context_pair_count(&o->context, o->context.n) * scale);
    }
    return !job->keep || units * least * least >= 1;
}

bool cs_windows_apply(const cs_windows_job *job, double *bytes)
{
    const cs_cooc_options *o = job->options;
    *bytes = 0;
    if (job->corpus->weight) {
        return false;
    }
    if (cs_context_gram(&o->context)) {
        return cs_window_unique_applies(job);
    }
    bool invariant = cs_objective_shape(&o->objective) == CS_PAIRS_INVARIANT;
    if (!cs_context_rows_are_tokens(&o->context) || o->draws > 0 || o->by_document ||
        (!invariant && o->objective.kind != CS_OBJ_AR)) {
        return false;
    }
    if (o->context.pairs && !(even_targets(job->plan) && pairs_count(job))) {
        return false;
    }
    int64_t cells;
    const double need = stream_bytes(job, &cells) + cs_window_row_bytes(job);
    const bool fits = need <= (double)job->budget;
    *bytes = fits || cells >= UINT32_MAX ? 0 : need;
    return cells < UINT32_MAX && fits;
}

static cs_status start_tallies(cs_window_counter *c)
{
    int64_t words = CS_WINDOW_WORDS(c->vocab);
    c->tally = cs_pool_take(&c->pool, c->job->workers, sizeof *c->tally);
    for (int i = 0; c->tally && i < c->job->workers; ++i) {
        c->tally[i] = (cs_window_tally){
            .in_col = cs_pool_take(&c->pool, c->vocab * c->labels, sizeof(int64_t)),
            .row = cs_pool_take(&c->pool, 64 * words, sizeof(int64_t)),
            .touched = cs_pool_take(&c->pool, c->vocab + 1, sizeof(int32_t)),
            .bits = cs_pool_take(&c->pool, words, sizeof(uint64_t)),
            .used = cs_pool_take(&c->pool, words, sizeof(uint8_t)),
            .word = cs_pool_take(&c->pool, words + CS_WINDOW_SLACK, sizeof(int32_t)),
            .col = cs_pool_take(&c->pool, c->vocab + CS_WINDOW_SLACK, sizeof(int32_t)),
            .val = cs_pool_take(&c->pool, c->vocab + CS_WINDOW_SLACK, sizeof(double))};
    }
    return c->pool.status;
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
    for (int64_t g = 0; c->part && g < CS_WINDOW_GROUPS; ++g) {
        cs_assembler_free(&c->part[g].rows);
    }
    for (int64_t i = 0; i < c->spares; ++i) {
        cs_assembler_free(&c->spare[i]);
    }
    cs_pool_free(&c->pool);
    (void)pthread_mutex_destroy(&c->lock);
}

/* The units that most places of a window add to an entry; where pairs count, the farthest ones. */
static int64_t quantum_of(const cs_window_counter *c)
{
    const int64_t units = c->job->sequences->count == 0 ? 0
                          : c->pairs                    ? c->span[0].cells[c->width]
                                                        : c->span[0].units;
    return cs_most(units, 1);
}

static cs_status count_windows(cs_window_counter *c)
{
    cs_status status = make_stream(c);
    if (status == CS_OK) c->assembler->packed.quantum = quantum_of(c);
    if (status == CS_OK) status = cs_window_order_rows(c);
    if (status == CS_OK) status = cs_window_group_rows(c);
    if (status == CS_OK) {
        cs_progress_report(c->job->options->progress, "rows", 0, 0);
        status = cs_parallel_workers(CS_WINDOW_GROUPS, c->job->workers, cs_window_group, c);
    }
    return status;
}

cs_status cs_windows_count(const cs_windows_job *job, cs_assembler *assembler,
                           int64_t *contributions)
{
    cs_window_counter c = {.job = job,
                           .width = job->options->context.n,
                           .left = job->options->objective.kind != CS_OBJ_AR,
                           .pairs = job->options->context.pairs != CS_PAIRS_SHARED,
                           .vocab = job->corpus->vocab,
                           .labels = job->corpus->labels,
                           .assembler = assembler,
                           .lock = PTHREAD_MUTEX_INITIALIZER};
    cs_progress_report(job->options->progress, "stream", 0, 0);
    cs_status status = start_tallies(&c);
    if (status == CS_OK) status = job->plan->kind->gram ? cs_window_unique(&c) : count_windows(&c);
    if (status == CS_OK) status = add_tallies(&c, contributions);
    release(&c);
    return status;
}
