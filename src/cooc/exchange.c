/* Records between the ranks of a build.
 *
 * Method: a rank's sums come sorted by key, so the parts of all owners follow each other in one
 * scratch file. Parts are exchanged pair by pair in pieces, and what arrives is a sorted run like
 * any other. All owners merge their runs into rows of the matrix at the same time, as one process
 * does; rank 0 then has its own rows where they belong and receives those of the others, whose
 * sizes it knows, in their places. Only the pointers to rows have to be moved.
 */
#include <string.h>

#include "base/mem.h"
#include "cooc/exchange_private.h"

enum { PIECE = 1 << 14 }; /* records of a message */

struct cs_exchange {
    cs_comm *comm;
    int64_t budget;
    cs_runs own, received;
    cs_record *out, *in; /* PIECE each */
    int64_t held;        /* in `out`, not yet written */
    int64_t *count;      /* ranks: records of `own` for each */
    int64_t *all;        /* ranks x ranks: those of every rank */
};

cs_status cs_exchange_open(cs_comm *comm, const char *scratch, int64_t budget, cs_exchange **out)
{
    cs_exchange *x = cs_calloc(1, sizeof *x);
    if (!x) return CS_ERR_MEMORY;
    x->comm = comm;
    x->budget = budget;
    cs_runs_init(&x->own, scratch);
    cs_runs_init(&x->received, scratch);
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

static cs_status write_held(cs_exchange *x)
{
    cs_status status = x->held > 0 ? cs_runs_extend(&x->own, x->out, x->held) : CS_OK;
    x->held = 0;
    return status;
}

cs_status cs_exchange_take(void *exchange, const cs_record *record)
{
    cs_exchange *x = exchange;
    ++x->count[owner(x, record)];
    x->out[x->held++] = *record;
    return x->held == PIECE ? write_held(x) : CS_OK;
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
    cs_status status = write_held(x);
    if (status != CS_OK) return status;
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

/* --- rows to rank 0 --------------------------------------------------------------------------- */

typedef struct {
    int64_t rows, entries, labels, total;
} part_size;

typedef struct {
    void *data;
    int64_t bytes;
} array;

static array array_of(void *base, int64_t first, int64_t count, size_t size)
{
    const int64_t width = (int64_t)size;
    return (array){base && count > 0 ? (char *)base + first * width : NULL, count * width};
}

/* What `n` rows from `at` on are made of, and the class masses of columns. */
enum { ARRAYS = 10 };
static void list_arrays(const cs_assembler *a, const part_size *n, const cs_assembler_place *at,
                        int64_t *in_col, array *out)
{
    const cs_growing *m = &a->matrix, *l = &a->row_label;
    const array all[ARRAYS] = {
        array_of(a->key, at->row, n->rows, sizeof *a->key),
        array_of(a->witness_sequence, at->row, n->rows, sizeof *a->witness_sequence),
        array_of(a->witness_ordinal, at->row, n->rows, sizeof *a->witness_ordinal),
        array_of(m->ptr, at->row + 1, n->rows, sizeof *m->ptr),
        array_of(m->col, at->entry, n->entries, sizeof *m->col),
        array_of(m->val, at->entry, n->entries, sizeof *m->val),
        array_of(l->ptr, at->row + 1, n->rows, sizeof *l->ptr),
        array_of(l->col, at->label, n->labels, sizeof *l->col),
        array_of(l->val, at->label, n->labels, sizeof *l->val),
        array_of(in_col, 0, a->cols * a->labels, sizeof *in_col),
    };
    memcpy(out, all, sizeof all);
}

static void send_part(cs_exchange *x, const cs_assembler *part, const part_size *n)
{
    const cs_assembler_place begin = {0};
    array all[ARRAYS];
    list_arrays(part, n, &begin, part->in_col, all);
    for (int i = 0; i < ARRAYS; ++i) {
        x->comm->swap(x->comm, 0, all[i].data, all[i].bytes, -1, NULL, 0);
    }
}

/* What a rank has sent, behind what is there. */
static void take_part(cs_exchange *x, int rank, const part_size *n, int64_t *in_col,
                      cs_assembler *whole)
{
    const cs_assembler sizes = {.matrix = {.rows = n->rows, .nnz = n->entries},
                                .row_label = {.rows = n->rows, .nnz = n->labels}};
    const cs_assembler_place at = cs_assembler_give(whole, &sizes);
    array all[ARRAYS];
    list_arrays(whole, n, &at, in_col, all);
    for (int i = 0; i < ARRAYS; ++i) {
        x->comm->swap(x->comm, -1, NULL, 0, rank, all[i].data, all[i].bytes);
    }
    for (int64_t i = at.row + 1; i <= at.row + n->rows; ++i) {
        whole->matrix.ptr[i] += at.entry;
        whole->row_label.ptr[i] += at.label;
    }
    whole->total += n->total;
    for (int64_t i = 0; i < whole->cols * whole->labels; ++i) {
        whole->in_col[i] += in_col[i];
    }
    cs_assembler_let_go(whole, &at, &sizes);
}

static cs_status take_parts(cs_exchange *x, const part_size *size, cs_assembler *whole)
{
    cs_assembler others = {0};
    for (int r = 1; r < x->comm->ranks; ++r) {
        others.matrix.rows += size[r].rows;
        others.matrix.nnz += size[r].entries;
        others.row_label.nnz += size[r].labels;
    }
    others.row_label.rows = others.matrix.rows;
    int64_t *in_col = cs_alloc(whole->cols * whole->labels, sizeof *in_col);
    cs_status status = in_col ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !cs_assembler_fits(whole, &others))
        status = cs_assembler_room(whole, &others, 1);
    for (int r = 1; r < x->comm->ranks && status == CS_OK; ++r) {
        take_part(x, r, &size[r], in_col, whole);
    }
    cs_free(in_col);
    return status;
}

cs_status cs_exchange_finish(cs_exchange *x, int workers, cs_assembler *whole)
{
    const bool first = x->comm->rank == 0;
    const cs_sorted sorted = {.runs = &x->received, .budget = x->budget, .workers = workers};
    cs_assembler *part = NULL;
    part_size *size = cs_alloc(x->comm->ranks, sizeof *size);
    cs_status status = size ? exchange_parts(x) : CS_ERR_MEMORY;
    status = status || first ? status : cs_assembler_part(whole, false, &part);
    cs_assembler *mine = first ? whole : part;
    if (part) {
        part->limit = whole->limit;
        part->scratch = whole->scratch;
    }
    status = status ? status : cs_merge(&sorted, mine);
    if (status == CS_OK) {
        const part_size n = {mine->matrix.rows, mine->matrix.nnz, mine->row_label.nnz, mine->total};
        cs_comm_gather_each(x->comm, sizeof n, &n, size);
        if (first) {
            status = take_parts(x, size, whole);
        } else {
            send_part(x, mine, &n);
        }
    }
    cs_assembler_free(&part);
    cs_free(size);
    return status;
}
