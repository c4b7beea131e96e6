/* The units that an occurrence adds to its neighbours under `unique`: numbers for the positions p -
 * reach .. p + reach that depend on p only near the ends of a run, and otherwise on p modulo the
 * stride (windows_unique.c).
 *
 * They are listed once for each length: of a run the s - 1 positions near its beginning, `stride`
 * in between, s - stride near its end; of a sequence that is no run one list for every p where R is
 * constant off its diagonal, else its own for each. Lists beyond the share of the budget, and those
 * of positions that both ends of a short run are near to, are made when they are met. */
#include <string.h>

#include "base/threads.h"
#include "cooc/windows_units_private.h"

enum { SHARE = 4 };

/* units[d + reach] of position p + d, for p of a sequence of `windows` windows. */
static cs_unit_sums make_units(const cs_windows_job *job, const cs_context_table *t,
                               int64_t windows, int64_t length, int64_t p, int64_t *units)
{
    const double scale = cs_unique_scale(job, t);
    const int64_t reach = t->reach;
    cs_unit_sums sums = {0};
    for (int64_t q = p - reach; q <= p + reach; ++q) {
        const bool inside = q >= 0 && q < length;
        const double weight = inside ? cs_context_pair_weight(job->plan, t, windows, p, q) : 0,
                     exact = weight * scale;
        const int64_t rounded = llrint(exact);
        units[q - p + reach] = rounded > 0 ? rounded : 0;
        sums.pairs += weight > 0;
        sums.mass += rounded > 0 ? rounded : 0;
        sums.lost += rounded > 0 ? 0 : exact;
    }
    return sums;
}

/* Lists that a table has: of runs s - 1 near the beginning, `stride` in between, s - stride near the
 * end; of a sequence alone one where they are all the same, else s. */
static int64_t lists_of(const cs_context_plan *plan, const cs_context_table *t, bool runs)
{
    const int64_t s = t->pairs.length;
    return runs ? (s == plan->window ? 2 * s - 1 : 0) : t->sum ? s : 1;
}

static double list_bytes(const cs_context_table *t, int64_t lists)
{
    return (double)lists * (2 * (double)t->reach + 4) * sizeof(int64_t);
}

/* The lists of a run that is long enough for `stride` positions far from both ends. */
static void fill_run(const cs_windows_job *job, const cs_context_table *t, cs_unit_lists *l)
{
    const int64_t s = t->pairs.length, stride = job->plan->stride, width = 2 * t->reach + 1;
    const int64_t windows = 2 * (s / stride) + 4, length = s + (windows - 1) * stride;
    for (int64_t i = 0; i < l->rows; ++i) {
        const int64_t p = i < s - 1 + stride ? i : length - 1 - (i - (s - 1 + stride));
        const cs_unit_sums sums = make_units(job, t, windows, length, p, l->units + i * width);
        l->mass[i] = sums.mass;
        l->pairs[i] = sums.pairs;
        l->lost[i] = sums.lost;
    }
}

static void fill_one(const cs_windows_job *job, const cs_context_table *t, cs_unit_lists *l)
{
    const int64_t s = t->pairs.length, width = 2 * t->reach + 1;
    for (int64_t i = 0; i < l->rows; ++i) {
        int64_t *units = l->units + i * width;
        const cs_unit_sums sums = make_units(job, t, 1, s, i, units);
        l->mass[i] = sums.mass;
        l->pairs[i] = sums.pairs;
        l->lost[i] = sums.lost;
        for (int64_t d = 1; l->rows == 1 && d <= t->reach; ++d) { /* of every position, not of 0 */
            units[t->reach - d] = units[t->reach + d];
        }
    }
}

typedef struct {
    cs_unique *u;
    bool runs;
} filling;

static cs_status fill_table(void *ctx, int64_t item)
{
    const filling *f = ctx;
    const cs_windows_job *job = f->u->c->job;
    cs_unit_lists *l = (f->runs ? f->u->run : f->u->one) + item;
    if (l->rows > 0) {
        (f->runs ? fill_run : fill_one)(job, &job->plan->table[item], l);
    }
    return CS_OK;
}

/* The lists that are kept, within their share of the budget; out: NULL, or where to store them. */
static double keep_lists(const cs_windows_job *job, bool runs, double bytes, cs_pool *pool,
                         cs_unit_lists *out)
{
    const double most = ((double)job->budget - cs_window_row_bytes(job)) / SHARE;
    for (int64_t i = job->plan->tables - 1; i >= 0; --i) {
        const cs_context_table *t = &job->plan->table[i];
        const int64_t lists = lists_of(job->plan, t, runs);
        const double more = list_bytes(t, lists);
        if (lists == 0 || bytes + more > most) {
            continue;
        }
        bytes += more;
        if (out) {
            out[i] = (cs_unit_lists){
                .rows = lists,
                .units = cs_pool_take(pool, lists * (2 * t->reach + 1), sizeof(int64_t)),
                .mass = cs_pool_take(pool, lists, sizeof(int64_t)),
                .pairs = cs_pool_take(pool, lists, sizeof(int64_t)),
                .lost = cs_pool_take(pool, lists, sizeof(double))};
        }
    }
    return bytes;
}

double cs_unit_lists_bytes(const cs_windows_job *job)
{
    return keep_lists(job, false, keep_lists(job, true, 0, NULL, NULL), NULL, NULL);
}

int64_t cs_unique_reach(const cs_context_plan *plan)
{
    int64_t reach = 0;
    for (int64_t i = 0; i < plan->tables; ++i) {
        reach = plan->table[i].reach > reach ? plan->table[i].reach : reach;
    }
    return reach;
}

cs_status cs_unit_lists_make(cs_unique *u)
{
    const cs_windows_job *job = u->c->job;
    const int64_t tables = u->plan->tables, width = 2 * cs_unique_reach(u->plan) + 1;
    CS_POOL_FIELDS(&u->c->pool, tables, u, run, one);
    if (u->c->pool.status != CS_OK) return u->c->pool.status;
    (void)keep_lists(job, false, keep_lists(job, true, 0, &u->c->pool, u->run), &u->c->pool,
                     u->one);
    for (int i = 0; i < job->workers; ++i) {
        u->c->tally[i].around = cs_pool_take(&u->c->pool, width, sizeof(int64_t));
    }
    filling of_run = {u, true}, of_one = {u, false};
    cs_status status = u->c->pool.status;
    if (status == CS_OK) status = cs_parallel(tables, job->workers, fill_table, &of_run);
    return status ? status : cs_parallel(tables, job->workers, fill_table, &of_one);
}

const int64_t *cs_units_at(const cs_unique *u, int64_t length, int64_t p, cs_window_tally *y,
                           cs_unit_sums *sums)
{
    const cs_context_plan *plan = u->plan;
    const cs_context_table *t = cs_context_table_of(plan, length);
    const int64_t s = t->pairs.length, table = t - plan->table;
    const bool runs = length > s;
    const cs_unit_lists *l = runs ? &u->run[table] : &u->one[table];
    int64_t i = l->rows > 1 ? p : 0;
    if (runs && p >= length - s + plan->stride) { /* the end is near */
        i = p >= s - 1 ? s - 1 + plan->stride + (length - 1 - p) : -1;
    } else if (runs && p >= s - 1) {
        i = s - 1 + (p - (s - 1)) % plan->stride;
    }
    if (l->rows == 0 || i < 0) {
        *sums = make_units(u->c->job, t, cs_context_windows(plan, length), length, p, y->around);
        return y->around;
    }
    *sums = (cs_unit_sums){l->mass[i], l->pairs[i], l->lost[i]};
    return l->units + i * (2 * t->reach + 1);
}
