/* Context `unique`, counted row by row: the pairs of a token's occurrences in one dense accumulator
 * (windows_count.c, context_unique.c).
 *
 * An occurrence at position p of a run adds a list of units for the positions around it
 * (windows_units.c) to the columns of their tokens.
 *
 * Where R is constant off its diagonal and no windows overlap, a sequence adds off times c c^T, c its
 * numbers of each token: sequences become lists of their different tokens with these numbers, and a
 * pair of tokens costs one addition, however often it occurs.
 *
 * The text itself is read, not copied. The places of each token, 8 bytes an occurrence, are listed
 * for as many tokens at a time as the budget holds: one more pass over the text each time.
 */
#include <string.h>

#include "base/ints.h"
#include "base/threads.h"
#include "cooc/windows_units_private.h"

enum {
    SPARSE = 12,
    AHEAD = 16,
    CACHE_LINE = 64,
    TYPES_PAY = 48,        /* mean length from which lists of different tokens pay */
    PLACES_LEAST = 1 << 17 /* bytes */
};

/* --- lists of different tokens ---------------------------------------------------------------- */

static double types_bytes(const cs_windows_job *job)
{
    return 2 * sizeof(int32_t) * (double)job->corpus->tokens +
           sizeof(int64_t) * (double)job->sequences->count;
}

/* Bytes of everything except places and types. */
static double other_bytes(const cs_windows_job *job)
{
    const double units = (2 * (double)cs_unique_reach(job->plan) + 1) * sizeof(int64_t);
    return cs_unit_lists_bytes(job) + units * job->workers + cs_window_row_bytes(job);
}

/* Whether sequences are to be lists of their different tokens, and may. */
static bool takes_types(const cs_windows_job *job)
{
    const cs_context_plan *plan = job->plan;
    bool constant = plan->window == INT64_MAX && !plan->context.given;
    for (int64_t i = 0; i < plan->tables && constant; ++i) {
        constant = !plan->table[i].sum;
    }
    return constant && job->corpus->tokens / TYPES_PAY >= job->sequences->count &&
           types_bytes(job) + other_bytes(job) + PLACES_LEAST <= (double)job->budget;
}

bool cs_window_unique_applies(const cs_windows_job *job)
{
    return job->corpus->tokens < UINT32_MAX && job->sequences->count < UINT32_MAX &&
           other_bytes(job) + PLACES_LEAST <= (double)job->budget;
}

/* Numbers of the different tokens of a sequence into y->row, themselves into y->touched. */
static int64_t count_types(const cs_window_counter *c, int64_t sequence, cs_window_tally *y)
{
    const cs_sequences *s = c->job->sequences;
    const int32_t *token = c->job->corpus->token + s->start[sequence];
    int64_t types = 0;
    for (int64_t p = 0; p < s->length[sequence]; ++p) {
        if (y->row[token[p]]++ == 0) {
            y->touched[types++] = token[p];
        }
    }
    return types;
}

/* Counts the types of each sequence of a share; writes them once they have been allocated. */
static cs_status type_share(void *ctx, int64_t item)
{
    cs_unique *u = ctx;
    cs_window_tally *y = &u->c->tally[item];
    for (int64_t i = cs_window_first(u->c, item); i < cs_window_first(u->c, item + 1); ++i) {
        const int64_t types = count_types(u->c, i, y);
        if (!u->type) {
            u->begin[i + 1] = types;
        }
        for (int64_t j = 0; j < types; ++j) {
            if (u->type) {
                u->type[u->begin[i] + j] = y->touched[j];
                u->times[u->begin[i] + j] = (int32_t)y->row[y->touched[j]];
            }
            y->row[y->touched[j]] = 0;
        }
    }
    return CS_OK;
}

static cs_status make_types(cs_unique *u)
{
    const int64_t sequences = u->c->job->sequences->count;
    const int workers = u->c->job->workers;
    u->begin = cs_pool_take(&u->c->pool, sequences + 1, sizeof *u->begin);
    if (!u->begin) return CS_ERR_MEMORY;
    cs_status status = cs_parallel(workers, workers, type_share, u);
    cs_starts(sequences, u->begin);
    int32_t *type = cs_pool_take(&u->c->pool, u->begin[sequences], sizeof *type);
    u->times = cs_pool_take(&u->c->pool, u->begin[sequences], sizeof *u->times);
    u->type = type;
    if (status == CS_OK) status = u->c->pool.status;
    return status ? status : cs_parallel(workers, workers, type_share, u);
}

/* --- places ----------------------------------------------------------------------------------- */

/* The cells of a sequence: its tokens in the text, or its types. */
static int64_t first_cell(const cs_unique *u, int64_t sequence)
{
    return u->types ? u->begin[sequence] : u->c->job->sequences->start[sequence];
}

static int64_t end_cell(const cs_unique *u, int64_t sequence)
{
    const cs_sequences *s = u->c->job->sequences;
    return u->types ? u->begin[sequence + 1] : s->start[sequence] + s->length[sequence];
}

static const int32_t *cells_of(const cs_unique *u)
{
    return u->types ? u->type : u->c->job->corpus->token;
}

/* Occurrences of all tokens in a share. */
static cs_status count_share(void *ctx, int64_t item)
{
    const cs_unique *u = ctx;
    const int32_t *cell = cells_of(u);
    int64_t *count = u->c->tally[item].row;
    for (int64_t i = cs_window_first(u->c, item); i < cs_window_first(u->c, item + 1); ++i) {
        for (int64_t j = first_cell(u, i); j < end_cell(u, i); ++j) {
            ++count[cell[j]];
        }
    }
    return CS_OK;
}

/* Those of the rows begin[0]..begin[1]-1 into at[next - base ...]: rows are tokens. */
typedef struct {
    const cs_unique *u;
    int64_t begin, end;
} listing;

static cs_status list_share(void *ctx, int64_t item)
{
    const listing *l = ctx;
    const cs_unique *u = l->u;
    const int32_t *cell = cells_of(u);
    int64_t *next = u->c->tally[item].row;
    for (int64_t i = cs_window_first(u->c, item); i < cs_window_first(u->c, item + 1); ++i) {
        for (int64_t j = first_cell(u, i); j < end_cell(u, i); ++j) {
            if (cell[j] >= l->begin && cell[j] < l->end) {
                u->c->at[next[cell[j]]++ - u->base] = (cs_window_place){(uint32_t)j, (uint32_t)i};
            }
        }
    }
    return CS_OK;
}

static void clear_rows(const cs_window_counter *c)
{
    for (int i = 0; i < c->job->workers; ++i) {
        memset(c->tally[i].row, 0, (size_t)c->vocab * sizeof *c->tally[i].row);
    }
}

/* Occurrences of each share into its tally's row; where each token's places begin, of all shares. */
static cs_status count_places(cs_unique *u)
{
    cs_window_counter *c = u->c;
    c->ptr = cs_pool_take(&c->pool, c->vocab + 1, sizeof *c->ptr);
    if (!c->ptr) return CS_ERR_MEMORY;
    cs_status status = cs_parallel(c->job->workers, c->job->workers, count_share, u);
    for (int64_t v = 0; v < c->vocab; ++v) {
        c->ptr[v + 1] = c->ptr[v];
        for (int i = 0; i < c->job->workers; ++i) {
            c->ptr[v + 1] += c->tally[i].row[v];
        }
    }
    clear_rows(c);
    return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void fetch(const int32_t *from, const int32_t *to)
{
    for (const char *line = (const char *)from; line < (const char *)to; line += CACHE_LINE) {
        __builtin_prefetch(line);
    }
}

static inline __attribute__((always_inline)) void fetch_place(const cs_unique *u,
                                                              cs_window_place at)
{
    if (u->types) {
        const int64_t first = u->begin[at.sequence], end = u->begin[at.sequence + 1];
        fetch(u->type + first, u->type + end);
        fetch(u->times + first, u->times + end);
    } else {
        const int32_t *here = u->c->job->corpus->token + at.cell;
        fetch(here - u->c->width / 2, here + u->c->width / 2);
    }
}

/* Adds `count` units to the columns of as many tokens; touched, if any: those met first are noted. */
static inline int64_t add_units(const int32_t *token, const int64_t *units, int64_t count,
                                int64_t *row, int32_t *touched, int64_t noted)
{
    if (!touched) {
        for (int64_t i = 0; i < count; ++i) {
            row[token[i]] += units[i];
        }
        return 0;
    }
    for (int64_t i = 0; i < count; ++i) {
        const int32_t v = token[i];
        touched[noted] = v;
        noted += (row[v] == 0) & (units[i] != 0);
        row[v] += units[i];
    }
    return noted;
}

/* Of one occurrence: its pairs, or a type's in a sequence of types. */
static int64_t add_pairs(const cs_unique *u, cs_window_place at, cs_window_tally *y,
                         int32_t *touched, int64_t noted, cs_unit_sums *sums)
{
    const cs_sequences *s = u->c->job->sequences;
    const int64_t length = s->length[at.sequence], p = at.cell - s->start[at.sequence];
    const int64_t reach = cs_context_table_of(u->plan, length)->reach;
    const int64_t from = p > reach ? p - reach : 0;
    const int64_t to = cs_least(p + reach, length - 1);
    const int64_t *units = cs_units_at(u, length, p, y, sums);
    return add_units(u->c->job->corpus->token + s->start[at.sequence] + from,
                     units + from - p + reach, to + 1 - from, y->row, touched, noted);
}

static int64_t add_types(const cs_unique *u, cs_window_place at, cs_window_tally *y,
                         int32_t *touched, int64_t noted, cs_unit_sums *sums)
{
    const int64_t length = u->c->job->sequences->length[at.sequence], times = u->times[at.cell];
    const int64_t first = u->begin[at.sequence], end = u->begin[at.sequence + 1];
    const int64_t reach = cs_context_table_of(u->plan, length)->reach;
    const int64_t *units = cs_units_at(u, length, 0, y, sums);
    const int64_t off = reach > 0 ? units[2 * reach] : 0, own = times * (units[reach] - off);
    const int64_t each = off * times;
    for (int64_t j = first; j < end && !touched; ++j) {
        y->row[u->type[j]] += each * u->times[j];
    }
    for (int64_t j = first; j < end && touched; ++j) {
        const int32_t v = u->type[j];
        touched[noted] = v;
        noted += (y->row[v] == 0) & (each != 0);
        y->row[v] += each * u->times[j];
    }
    if (touched) {
        touched[noted] = u->type[at.cell];
        noted += (y->row[u->type[at.cell]] == 0) & (own != 0);
    }
    y->row[u->type[at.cell]] += own;
    *sums = (cs_unit_sums){sums->mass * times, sums->pairs * times, sums->lost * (double)times};
    return noted;
}

/* The lowest ordinal of the pairs of position p, -1 if none has units. */
static int64_t first_ordinal(const cs_unique *u, int64_t length, int64_t p)
{
    const cs_context_table *t = cs_context_table_of(u->plan, length);
    const int64_t windows = cs_context_windows(u->plan, length);
    for (int64_t q = p > t->reach ? p - t->reach : 0; q < length && q <= p + t->reach; ++q) {
        const double weight = cs_context_pair_weight(u->plan, t, windows, p, q);
        if (llrint(weight * cs_unique_scale(u->c->job, t)) > 0) {
            return p * t->inner + q - p + t->reach;
        }
    }
    return -1;
}

static void find_witness(const cs_unique *u, int32_t token, int64_t *sequence, int64_t *ordinal)
{
    const cs_window_counter *c = u->c;
    const cs_sequences *s = c->job->sequences;
    *ordinal = -1;
    for (int64_t o = c->ptr[token]; o < c->ptr[token + 1] && *ordinal < 0; ++o) {
        const cs_window_place at = c->at[o - u->base];
        const int32_t *text = c->job->corpus->token + s->start[at.sequence];
        const int64_t length = s->length[at.sequence];
        *sequence = at.sequence;
        for (int64_t p = u->types ? 0 : at.cell - s->start[at.sequence]; p < length && *ordinal < 0;
             p = u->types ? p + 1 : length) {
            *ordinal = text[p] == token ? first_ordinal(u, length, p) : -1;
        }
    }
}

static cs_status end_row(const cs_unique *u, cs_assembler *p, int32_t token)
{
    const int64_t row = p->matrix.rows, labels = u->c->labels;
    p->key[row] = u->c->key[token];
    find_witness(u, token, &p->witness_sequence[row], &p->witness_ordinal[row]);
    for (int64_t l = 0; l < labels; ++l) { /* columns are rows */
        p->in_col[token * labels + l] += p->in_row[l];
    }
    return cs_assembler_end_row(p);
}

static cs_status count_row(const cs_unique *u, int64_t group, int32_t token, cs_window_tally *y,
                           cs_assembler *p)
{
    const cs_window_counter *c = u->c;
    const cs_sequences *s = c->job->sequences;
    const int64_t last = c->ptr[token + 1], held = p->matrix.nnz;
    const double cells = (double)(last - c->ptr[token]) * (double)(c->width + 1);
    int32_t *touched = cells < (double)c->vocab / SPARSE ? y->touched : NULL;
    int64_t noted = 0;
    for (int64_t o = c->ptr[token]; o < last; ++o) {
        const cs_window_place at = c->at[o - u->base];
        cs_unit_sums sums;
        if (o + AHEAD < last) {
            fetch_place(u, c->at[o + AHEAD - u->base]);
        }
        noted = u->types ? add_types(u, at, y, touched, noted, &sums)
                         : add_pairs(u, at, y, touched, noted, &sums);
        y->contributions += sums.pairs;
        y->overflow |= __builtin_add_overflow(y->units, sums.mass, &y->units);
        u->lost[group] += sums.lost;
        const int32_t label = c->labels > 0 ? c->job->corpus->label[s->document[at.sequence]] : -1;
        if (label >= 0 && label < c->labels) {
            p->in_row[label] += sums.mass;
        }
    }
    cs_status status = cs_window_put_row(c, y, p, touched != NULL, noted);
    return status == CS_OK && p->matrix.nnz > held ? end_row(u, p, token) : status;
}

static cs_status count_group(void *ctx, int64_t item, int worker)
{
    const cs_unique *u = ctx;
    cs_window_counter *c = u->c;
    const int64_t group = u->first_group + item, end = c->group[group + 1];
    cs_status status = cs_window_part_begin(c, group, end - c->group[group]);
    for (int64_t r = c->group[group]; r < end && status == CS_OK; ++r) {
        status = count_row(u, group, c->by_key[r], &c->tally[worker], c->part[group].rows);
    }
    return status == CS_OK ? cs_window_part_place(c, group) : status;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Lists the places of the groups first..end-1, and counts their rows. */
static cs_status count_pass(cs_unique *u, int64_t first, int64_t end)
{
    cs_window_counter *c = u->c;
    const listing l = {u, c->group[first], c->group[end]};
    u->first_group = first;
    u->base = c->ptr[l.begin];
    c->at = cs_alloc(c->ptr[l.end] - u->base, sizeof *c->at);
    if (!c->at) return CS_ERR_MEMORY;
    cs_mem_large_pages(c->at, (c->ptr[l.end] - u->base) * (int64_t)sizeof *c->at);
    cs_status status = cs_parallel(c->job->workers, c->job->workers, count_share, u);
    for (int64_t v = l.begin; v < l.end; ++v) {
        int64_t next = c->ptr[v];
        for (int i = 0; i < c->job->workers; ++i) {
            int64_t count = c->tally[i].row[v];
            c->tally[i].row[v] = next;
            next += count;
        }
    }
    if (status == CS_OK)
        status = cs_parallel(c->job->workers, c->job->workers, list_share, (void *)(uintptr_t)&l);
    clear_rows(c);
    if (status == CS_OK) status = cs_parallel_workers(end - first, c->job->workers, count_group, u);
    cs_free(c->at);
    c->at = NULL;
    return status;
}

cs_status cs_window_unique(cs_window_counter *c)
{
    const cs_windows_job *job = c->job;
    cs_unique u = {.c = c, .plan = job->plan, .types = takes_types(job)};
    const double left = (double)job->budget - other_bytes(job) - (u.types ? types_bytes(job) : 0);
    c->width = 2 * cs_unique_reach(job->plan);
    cs_status status = cs_unit_lists_make(&u);
    if (status == CS_OK && u.types) status = make_types(&u);
    if (status == CS_OK) status = count_places(&u);
    if (status == CS_OK) status = cs_window_order_rows(c);
    if (status == CS_OK) status = cs_window_group_rows(c);
    u.lost = cs_pool_take(&c->pool, c->groups, sizeof *u.lost);
    if (status == CS_OK) status = c->pool.status;
    for (int64_t first = 0, end; first < c->groups && status == CS_OK; first = end) {
        const int64_t base = c->ptr[c->group[first]];
        for (end = first + 1;
             end < c->groups &&
             (double)(c->ptr[c->group[end + 1]] - base) * sizeof(cs_window_place) <= left;
             ++end) {
        }
        cs_progress_report(job->options->progress, "rows", first, c->groups);
        status = count_pass(&u, first, end);
    }
    for (int64_t g = 0; g < c->groups && status == CS_OK; ++g) {
        cs_exact_add(&job->block[0].dropped, u.lost[g] / job->scale, job->exponent);
    }
    return status;
}
