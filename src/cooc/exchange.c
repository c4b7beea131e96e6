/* Records between the ranks of a build.
 *
 * Method: a rank's sums come sorted by key, so the parts of all owners follow each other in one
 * scratch file. Parts are exchanged pair by pair in pieces, and what arrives is a sorted run like
 * any other; the owner merges its runs, and the ranks send the result to rank 0 one after the
 * other, having merged at the same time.
 */
#include <string.h>

#include "base/mem.h"
#include "cooc/exchange_private.h"

enum { PIECE = 1 << 14 }; /* records of a message */

struct cs_exchange {
    cs_comm *comm;
    int64_t budget;
    cs_runs own, received, merged;
    cs_record *out, *in; /* PIECE each */
    int64_t held;        /* in `out`, not yet written */
    int64_t *count;      /* ranks: records of `own` for each */
    int64_t *all;        /* ranks x ranks: those of every rank */
};

cs_status cs_exchange_open(cs_comm *comm, const char *scratch, int64_t budget, cs_exchange **out)
{
    cs_exchange *x = cs_calloc(1, sizeof *x);
    if (!x) {
        return CS_ERR_MEMORY;
    }
    x->comm = comm;
    x->budget = budget;
    cs_runs_init(&x->own, scratch);
    cs_runs_init(&x->received, scratch);
    cs_runs_init(&x->merged, scratch);
    x->out = cs_alloc(PIECE, sizeof *x->out);
    x->in = cs_alloc(PIECE, sizeof *x->in);
    x->count = cs_calloc(comm->ranks, sizeof *x->count);
    x->all = cs_alloc((int64_t)comm->ranks * comm->ranks, sizeof *x->all);
    cs_status status = x->out && x->in && x->count && x->all ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_runs_begin(&x->own);
    if (status != CS_OK) {
        cs_exchange_free(&x);
        return status;
    }
    *out = x;
    return CS_OK;
}

void cs_exchange_free(cs_exchange **exchange)
{
    cs_exchange *x = *exchange;
    if (x) {
        cs_runs_free(&x->own);
        cs_runs_free(&x->received);
        cs_runs_free(&x->merged);
        cs_free(x->out);
        cs_free(x->in);
        cs_free(x->count);
        cs_free(x->all);
        cs_free(x);
    }
    *exchange = NULL;
}

static int owner(const cs_exchange *x, const cs_record *r)
{
    __extension__ typedef unsigned __int128 wide;
    return (int)((wide)r->key.high * (unsigned)x->comm->ranks >> 64);
}

static cs_status put(cs_exchange *x, cs_runs *to, const cs_record *record)
{
    cs_status status = CS_OK;
    if (record) {
        x->out[x->held++] = *record;
    }
    if (x->held == PIECE || (!record && x->held > 0)) { /* no record: the last ones */
        status = cs_runs_extend(to, x->out, x->held);
        x->held = 0;
    }
    return status;
}

cs_status cs_exchange_take(void *exchange, const cs_record *record)
{
    cs_exchange *x = exchange;
    ++x->count[owner(x, record)];
    return put(x, &x->own, record);
}

static cs_status take_merged(void *exchange, const cs_record *record)
{
    cs_exchange *x = exchange;
    return put(x, &x->merged, record);
}

static int64_t bytes_of(int64_t records)
{
    return records * (int64_t)sizeof(cs_record);
}

/* `out_count` records of `own` from `at` on go to one rank, while in_count arrive from another as a
 * run; a rank's own part is copied. */
static cs_status move_part(cs_exchange *x, int to, int64_t at, int64_t out_count, int from,
                           int64_t in_count)
{
    cs_status status = cs_runs_begin(&x->received);
    while (status == CS_OK && (out_count > 0 || in_count > 0)) {
        int64_t sends = out_count < PIECE ? out_count : PIECE;
        int64_t takes = in_count < PIECE ? in_count : PIECE;
        status = cs_runs_read(&x->own, at, sends, x->out);
        if (status != CS_OK) {
            break;
        }
        if (to == x->comm->rank) {
            memcpy(x->in, x->out, (size_t)bytes_of(takes));
        } else {
            x->comm->swap(x->comm, to, x->out, bytes_of(sends), from, x->in, bytes_of(takes));
        }
        status = cs_runs_extend(&x->received, x->in, takes);
        at += sends;
        out_count -= sends;
        in_count -= takes;
    }
    return status;
}

static cs_status exchange_parts(cs_exchange *x)
{
    const int ranks = x->comm->ranks, rank = x->comm->rank;
    cs_status status = put(x, &x->own, NULL);
    if (status != CS_OK) {
        return status;
    }
    cs_comm_gather_each(x->comm, (size_t)ranks * sizeof *x->count, x->count, x->all);
    for (int t = 0; t < ranks && status == CS_OK; ++t) {
        int to = (rank + t) % ranks, from = (rank - t + ranks) % ranks;
        int64_t at = 0;
        for (int r = 0; r < to; ++r) {
            at += x->count[r];
        }
        status = move_part(x, to, at, x->count[to], from, x->all[(int64_t)from * ranks + rank]);
    }
    return status;
}

/* The merged part of a rank goes to rank 0. */
static cs_status send_part(cs_exchange *x)
{
    cs_status status = cs_runs_begin(&x->merged);
    status = status ? status : cs_runs_merge(&x->received, x->budget, take_merged, x);
    status = status ? status : put(x, &x->merged, NULL);
    if (status != CS_OK) {
        return status;
    }
    int64_t left = x->merged.end;
    x->comm->swap(x->comm, 0, &left, (int64_t)sizeof left, -1, NULL, 0);
    for (int64_t at = 0; left > 0 && status == CS_OK;) {
        int64_t sends = left < PIECE ? left : PIECE;
        status = cs_runs_read(&x->merged, at, sends, x->out);
        if (status == CS_OK) {
            x->comm->swap(x->comm, 0, x->out, bytes_of(sends), -1, NULL, 0);
        }
        at += sends;
        left -= sends;
    }
    return status;
}

static cs_status take_parts(cs_exchange *x, cs_record_visit visit, void *ctx)
{
    cs_status status = cs_runs_merge(&x->received, x->budget, visit, ctx);
    for (int r = 1; r < x->comm->ranks && status == CS_OK; ++r) {
        int64_t left = 0;
        x->comm->swap(x->comm, -1, NULL, 0, r, &left, (int64_t)sizeof left);
        while (left > 0 && status == CS_OK) {
            int64_t takes = left < PIECE ? left : PIECE;
            x->comm->swap(x->comm, -1, NULL, 0, r, x->in, bytes_of(takes));
            for (int64_t i = 0; i < takes && status == CS_OK; ++i) {
                status = visit(ctx, &x->in[i]);
            }
            left -= takes;
        }
    }
    return status;
}

cs_status cs_exchange_finish(cs_exchange *x, cs_record_visit visit, void *ctx)
{
    cs_status status = exchange_parts(x);
    if (status == CS_OK) {
        status = x->comm->rank == 0 ? take_parts(x, visit, ctx) : send_part(x);
    }
    return status;
}
