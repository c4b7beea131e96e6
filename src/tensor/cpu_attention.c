/* Softmax attention by rank masks, one item of work per sequence and head.
 *
 * Keys are gathered in the order of their ranks and queries in the order of how many they see
 * (cpu_ranks.c), so a block of queries meets a prefix of the keys: products run over that prefix
 * alone and the mask is a length. Backward forms the scores again from the kept log sum exp, as in
 * FlashAttention (Dao et al. 2022), whole rows at a time: a block's scores are CS_CPU_BLOCK x keys floats.
 *
 *   P = exp(scale q k' - lse), A = keep P, D = y' . y,
 *   v' = A^T y', S' = P (keep (y' v^T) - D), q' = scale S' k, k' = scale S'^T q,
 *   table' = sums of S'; of a capped score S' times 1 - tanh^2.
 *
 * Scores by vectors of distances: cpu_places.c.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/threads.h"
#include "tensor/cpu_heads_private.h"
#include "tensor/relative.h"

enum {
    SLACK = 64,
    SAME_SET = 256 /* rows of scores at this distance in floats evict each other from the cache */
};

static int64_t take_buffer(float **at, float **field, int64_t items)
{
    items = (items + SLACK + 15) / 16 * 16;
    if (at) {
        *field = *at;
        *at += items;
    }
    return items;
}

/* Lays the scratch out from `base`; NULL: only counts. */
static int64_t lay_out(const cs_cpu_attend *t, float *base, bool backward, cs_cpu_attend_scratch *s)
{
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t lq = t->q.length, lk = t->k.length, w = t->width, wide = t->wide;
    float *next = base, **at = base ? &next : NULL;
    int64_t items = 0;
    s->ld = (lk + 15) / 16 * 16 + 16;
    s->ld += s->ld % SAME_SET == 0 ? 16 : 0;
    items += take_buffer(at, &s->q, lq * wide);
    items += take_buffer(at, &s->k, lk * wide);
    items += take_buffer(at, &s->v, lk * wide);
    items += take_buffer(at, &s->k_by_key, cs_cpu_packed_b(kernels, lk, w));
    items += take_buffer(at, &s->p, CS_CPU_BLOCK * s->ld);
    items += take_buffer(at, &s->out, CS_CPU_BLOCK * wide);
    items += take_buffer(at, &s->keep, 2 * lk);
    items += take_buffer(at, &s->key_at, lk);
    items += take_buffer(at, &s->row, CS_CPU_BLOCK);
    if (t->places > 0) {
        items += take_buffer(at, &s->places, cs_cpu_packed_b(kernels, t->places, w));
        items += take_buffer(at, &s->q_by_place, lq * t->places);
        items += take_buffer(at, &s->k_by_place, lk * t->places);
    }
    if (t->places > 0 && backward) {
        items += take_buffer(at, &s->place_rows, cs_cpu_packed_b(kernels, w, t->places));
        items += take_buffer(at, &s->dq_by_place, CS_CPU_BLOCK * t->places);
        items += take_buffer(at, &s->dk_by_place, lk * t->places);
    }
    if (backward) {
        items += take_buffer(at, &s->dy, lq * wide);
        items += take_buffer(at, &s->v_by_key, cs_cpu_packed_b(kernels, lk, w));
        items += take_buffer(at, &s->dk, lk * wide);
        items += take_buffer(at, &s->dv, lk * wide);
        items += take_buffer(at, &s->dp, CS_CPU_BLOCK * s->ld);
        if (t->o->cap > 0) items += take_buffer(at, &s->slope, lk);
    }
    return items;
}

static bool has_lookup(const cs_cpu_attend *t)
{
    return t->table.x && !t->o->slopes && t->o->max_distance > t->table.rows &&
           t->o->max_distance < 1 << 16;
}

/* Sizes scratch, sorts the masks, tabulates the buckets of relative positions. */
static cs_status open_attention(const cs_run *run, const cs_op *op, bool backward, cs_cpu_attend *t)
{
    const cs_op_attention *o = &op->attention;
    *t = (cs_cpu_attend){.run = run,
                         .op = op,
                         .o = o,
                         .cpu = cs_cpu_of(run),
                         .q = cs_cpu_operand(run, o->q),
                         .k = cs_cpu_operand(run, o->k),
                         .v = cs_cpu_operand(run, o->v),
                         .table = cs_cpu_operand(run, o->table),
                         .lse = cs_cpu_tensor(run, o->lse),
                         .y = cs_cpu_tensor(run, o->y),
                         .place_k = cs_cpu_operand(run, o->place_k),
                         .place_q = cs_cpu_operand(run, o->place_q)};
    t->width = t->q.cols / o->heads;
    t->wide = cs_cpu_wide(t->cpu->kernels, t->width);
    t->places = cs_most(t->place_k.rows, t->place_q.rows);
    t->blocks = (t->q.length + CS_CPU_BLOCK - 1) / CS_CPU_BLOCK;
    cs_cpu_attend_scratch s;
    cs_status status = cs_cpu_local(t->cpu, lay_out(t, NULL, backward, &s));
    const int64_t distances = has_lookup(t) ? 2 * o->max_distance + 1 : 0;
    const int64_t lookup = (1 + o->heads) * distances; /* buckets, then biases by head */
    t->farthest = t->places > 0 ? cs_most(t->q.length, t->k.length) : 0;
    const int64_t places = t->places > 0 ? 2 * t->farthest + 1 : 0;
    const int64_t vectors = backward ? 2 * o->heads * t->places * t->width : 0;
    const int64_t parts = t->table.grad ? t->q.batch * o->heads * t->table.rows : 0;
    t->pos_q = cs_run_ints(run, o->pos_q);
    t->pos_k = cs_run_ints(run, o->pos_k);
    if (status == CS_OK && (t->table.x || places > 0)) {
        status = cs_cpu_partial(t->cpu, parts + lookup + places + vectors + 1);
        t->table_part = t->cpu->partial;
    }
    if (status == CS_OK && distances > 0) {
        t->bucket = (int32_t *)(void *)(t->cpu->partial + parts) + o->max_distance;
        for (int64_t d = -o->max_distance; d <= o->max_distance; ++d) {
            t->bucket[d] = cs_relative_bucket(d, t->table.rows, o->max_distance, o->bidirectional);
        }
        t->by_distance = t->cpu->partial + parts + distances;
        for (int64_t i = 0; i < o->heads * distances; ++i) {
            const int64_t bucket = t->bucket[i % distances - o->max_distance];
            t->by_distance[i] = t->table.x[bucket * t->table.ld + i / distances];
        }
    }
    if (status == CS_OK && places > 0) {
        t->place = (int32_t *)(void *)(t->cpu->partial + parts + lookup) + t->farthest;
        for (int64_t d = -t->farthest; d <= t->farthest; ++d) {
            t->place[d] = (int32_t)cs_cpu_place_of(t, d);
        }
        t->place_part = t->cpu->partial + parts + lookup + places;
    }
    return status == CS_OK ? cs_cpu_rank(run, o->vis, o->lim) : status;
}

/* Bucket of a distance. Farther than max_distance is as max_distance. */
static inline int64_t bucket_of(const cs_cpu_attend *t, int64_t distance)
{
    const int64_t most = t->o->max_distance;
    if (!t->bucket) {
        return cs_relative_bucket(distance, t->table.rows, most, t->o->bidirectional);
    }
    distance = distance > most ? most : distance < -most ? -most : distance;
    return t->bucket[distance];
}

/* Of queries or of keys, in the order of ranks. */
static void gather(const cs_cpu_head *c, int64_t n, bool keys, float scale,
                   const cs_cpu_matrix *from, const float *x, float *to)
{
    const float *first = x + c->sequence * from->length * from->ld + (keys ? c->key_col : c->col);
    c->t->cpu->kernels->gather(n, c->t->width, keys ? c->ranks.key : c->ranks.query, scale, first,
                               from->ld, to);
}

static void open_piece(const cs_cpu_attend *t, int64_t item, int worker, bool backward,
                       cs_cpu_head *c)
{
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t w = t->width;
    *c = (cs_cpu_head){.t = t, .sequence = item / t->o->heads, .head = item % t->o->heads};
    c->col = c->head * w;
    c->key_col = c->head * t->o->kv_heads / t->o->heads * w;
    c->ranks = cs_cpu_ranks_of(t->run, t->o->vis, t->o->lim, c->sequence);
    c->drop = cs_cpu_drop_of(t->run, t->op, c->head, t->o->p);
    assert(c->ranks.seen); /* made by open_attention */
    c->keys = c->ranks.seen[t->q.length - 1];
    (void)lay_out(t, cs_cpu_local_of(t->cpu, worker), backward, &c->s);
    gather(c, t->q.length, false, (float)t->o->scale, &t->q, t->q.x, c->s.q);
    gather(c, c->keys, true, 1, &t->k, t->k.x, c->s.k);
    gather(c, c->keys, true, 1, &t->v, t->v.x, c->s.v);
    cs_cpu_pack_b(kernels, c->keys, w, c->s.k, t->wide, true, c->s.k_by_key);
    c->key_at = (int32_t *)(void *)c->s.key_at;
    for (int64_t j = 0; t->pos_k && j < c->keys; ++j) {
        c->key_at[j] = t->pos_k[cs_cpu_key_row(c, j)];
    }
    if (backward) {
        gather(c, t->q.length, false, 1, &t->y, t->y.grad, c->s.dy);
        cs_cpu_pack_b(kernels, c->keys, w, c->s.v, t->wide, true, c->s.v_by_key);
    }
}

static void open_block(cs_cpu_head *c, int64_t block)
{
    const int64_t length = c->t->q.length, blocks = c->t->blocks;
    c->from = block * length / blocks;
    c->rows = (block + 1) * length / blocks - c->from;
    c->seen = c->ranks.seen[c->from + c->rows - 1];
}

/* x[i] . y[j] of the block's rows x with the keys packed in y. */
static void against_keys(const cs_cpu_head *c, const float *x, const float *y, float *out)
{
    const int64_t w = c->t->width, wide = c->t->wide;
    cs_cpu_head_product(c, w,
                        (cs_cpu_small){.m = c->rows,
                                       .n = c->seen,
                                       .k = w,
                                       .a = x + c->from * wide,
                                       .lda = wide,
                                       .a_along = true,
                                       .b = y,
                                       .c = out,
                                       .ldc = c->s.ld});
}

/* out = x y: weights of the keys (CS_CPU_BLOCK x keys) with rows y of the keys. */
static void over_keys(const cs_cpu_head *c, const float *x, const float *y, float *out)
{
    cs_cpu_head_product(c, 0,
                        (cs_cpu_small){.m = c->rows,
                                       .n = c->t->width,
                                       .k = c->seen,
                                       .a = x,
                                       .lda = c->s.ld,
                                       .a_along = true,
                                       .b = y,
                                       .ldb = c->t->wide,
                                       .c = out,
                                       .ldc = c->t->wide});
}

/* out += x^T y: weights of the keys with the block's rows y. */
static void over_queries(const cs_cpu_head *c, const float *x, const float *y, float *out)
{
    cs_cpu_head_product(c, 0,
                        (cs_cpu_small){.m = c->seen,
                                       .n = c->t->width,
                                       .k = c->rows,
                                       .a = x,
                                       .lda = c->s.ld,
                                       .b = y + c->from * c->t->wide,
                                       .ldb = c->t->wide,
                                       .c = out,
                                       .ldc = c->t->wide,
                                       .add = true});
}

/* Products of row i with the keys to scores: cap, relative positions, window. */
static void add_bias(const cs_cpu_head *c, int64_t i, float *score)
{
    const cs_cpu_attend *t = c->t;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t row = cs_cpu_query_row(c, c->from + i), seen = c->ranks.seen[c->from + i];
    const float cap = (float)t->o->cap;
    for (int64_t j = 0; t->places > 0 && j < seen; ++j) {
        score[j] += cs_cpu_places_score(c, i, j);
    }
    if (cap > 0) {
        kernels->scale(seen, 1 / cap, score, score);
        kernels->activate(CS_ACT_TANH, seen, score, score);
        for (int64_t j = 0; c->s.slope && j < seen; ++j) {
            c->s.slope[j] = 1 - score[j] * score[j];
        }
        kernels->scale(seen, cap, score, score);
    }
    const int64_t at = t->pos_q ? t->pos_q[row] : 0;
    for (int64_t j = 0; t->o->slopes && j < seen; ++j) {
        score[j] += (float)(c->key_at[j] - at) * t->table.x[c->head];
    }
    if (t->by_distance) {
        const int64_t most = t->o->max_distance, first = c->head * (2 * most + 1);
        kernels->add_by_distance(seen, t->by_distance + first + most, (int32_t)most, c->key_at,
                                 (int32_t)at, score);
    }
    for (int64_t j = 0; t->table.x && !t->o->slopes && !t->by_distance && j < seen; ++j) {
        score[j] += t->table.x[bucket_of(t, c->key_at[j] - at) * t->table.ld + c->head];
    }
    for (int64_t j = 0; t->o->window > 0 && j < seen; ++j) {
        const int64_t distance = c->key_at[j] - at;
        if (distance >= t->o->window || distance <= -t->o->window) {
            score[j] = -INFINITY;
        }
    }
}

/* Dropout's factors of row i of the block, in the order of ranks; NULL where nothing is dropped. */
static const float *keep_of(const cs_cpu_head *c, int64_t i)
{
    const int64_t length = c->t->k.length, seen = c->ranks.seen[c->from + i];
    if (!c->drop.drops) {
        return NULL;
    }
    cs_cpu_drop row = c->drop;
    row.row = (uint32_t)cs_cpu_query_row(c, c->from + i);
    c->t->cpu->kernels->drop(&row, length, c->s.keep);
    float *ranked = c->s.keep + length;
    for (int64_t j = 0; j < seen; ++j) {
        ranked[j] = c->s.keep[c->ranks.key[j]];
    }
    return ranked;
}

/* Zeros the part of a row that its block computes but the row does not see. */
static void zero_beyond(const cs_cpu_head *c, int64_t seen, float *row)
{
    if (seen < c->seen) {
        memset(row + seen, 0, (size_t)(c->seen - seen) * sizeof *row);
    }
}

/* --- forward ---------------------------------------------------------------------------------- */

static void softmax_row(const cs_cpu_head *c, int64_t i)
{
    const cs_cpu_kernels *kernels = c->t->cpu->kernels;
    const int64_t seen = c->ranks.seen[c->from + i];
    float *p = c->s.p + i * c->s.ld, lse = -INFINITY;
    c->s.row[i] = 0;
    if (seen > 0) {
        add_bias(c, i, p);
        float most = kernels->max(seen, p);
        most = most == -INFINITY ? 0 : most; /* nothing is within the window: zeros */
        float sum = kernels->exp_store(seen, most, p);
        lse = most + logf(sum);
        c->s.row[i] = sum > 0 ? 1 / sum : 0;
        const float *keep = keep_of(c, i);
        if (keep) {
            kernels->multiply(seen, keep, p);
        }
    }
    zero_beyond(c, seen, p);
    c->t->lse.x[cs_cpu_query_row(c, c->from + i) * c->t->lse.ld + c->head] = lse;
}

static cs_status attend(void *ctx, int64_t item, int worker)
{
    const cs_cpu_attend *t = ctx;
    const int64_t w = t->width;
    cs_cpu_head c;
    open_piece(t, item, worker, false, &c);
    if (t->places > 0) cs_cpu_places_open(&c);
    for (int64_t block = 0; block < t->blocks; ++block) {
        open_block(&c, block);
        against_keys(&c, c.s.q, c.s.k_by_key, c.s.p);
        for (int64_t i = 0; i < c.rows; ++i) {
            softmax_row(&c, i);
        }
        over_keys(&c, c.s.p, c.s.v, c.s.out);
        for (int64_t i = 0; i < c.rows; ++i) {
            float *y = t->y.x + cs_cpu_query_row(&c, c.from + i) * t->y.ld + c.col;
            if (c.ranks.seen[c.from + i] > 0) {
                t->cpu->kernels->scale(w, c.s.row[i], c.s.out + i * t->wide, y);
            } else {
                memset(y, 0, (size_t)w * sizeof *y);
            }
        }
    }
    return CS_OK;
}

cs_status cs_cpu_attention(const cs_run *run, const cs_op *op)
{
    cs_cpu_attend t;
    cs_status status = open_attention(run, op, false, &t);
    return status == CS_OK ? cs_parallel_workers(t.q.batch * t.o->heads, t.cpu->threads, attend, &t)
                           : status;
}

/* --- backward --------------------------------------------------------------------------------- */

/* Scores to P, or with dropout to A = keep P; dp to S'. */
static void softmax_row_back(const cs_cpu_head *c, int64_t i, float *table_part)
{
    const cs_cpu_attend *t = c->t;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t row = cs_cpu_query_row(c, c->from + i), seen = c->ranks.seen[c->from + i];
    float *p = c->s.p + i * c->s.ld, *dp = c->s.dp + i * c->s.ld;
    if (seen > 0) {
        const float lse = t->lse.x[row * t->lse.ld + c->head];
        add_bias(c, i, p);
        float mean = kernels->dot(t->width, t->y.x + row * t->y.ld + c->col,
                                  c->s.dy + (c->from + i) * t->wide);
        kernels->softmax_back(seen, lse == -INFINITY ? 0 : lse, /* as forward: zeros */
                              mean, keep_of(c, i), p, dp);
        for (int64_t j = 0; table_part && j < seen; ++j) {
            table_part[bucket_of(t, (int64_t)c->key_at[j] - t->pos_q[row])] += dp[j];
        }
        if (c->s.slope) {
            kernels->multiply(seen, c->s.slope, dp);
        }
    }
    zero_beyond(c, seen, p);
    zero_beyond(c, seen, dp);
}

/* Rows of a gradient; those that see nothing count as zeros. */
static void put_queries(const cs_cpu_head *c)
{
    const cs_cpu_attend *t = c->t;
    const cs_cpu_kernels *kernels = t->cpu->kernels;
    const int64_t wide = t->wide;
    kernels->scale(c->rows * wide, (float)t->o->scale, c->s.out, c->s.out);
    for (int64_t i = 0; i < c->rows && c->ranks.seen[c->from + i] == 0; ++i) {
        memset(c->s.out + i * wide, 0, (size_t)wide * sizeof *c->s.out);
    }
    kernels->scatter(c->rows, t->width, c->ranks.query + c->from, c->s.out,
                     t->q.grad + c->sequence * t->q.length * t->q.ld + c->col, t->q.ld, t->q.add);
}

static void put_keys(const cs_cpu_head *c, const float *from, const cs_cpu_matrix *to)
{
    const cs_cpu_kernels *kernels = c->t->cpu->kernels;
    float *first = to->grad + c->sequence * to->length * to->ld + c->key_col;
    kernels->scatter(c->keys, c->t->width, c->ranks.key, from, first, to->ld, to->add);
    for (int64_t j = c->keys; j < c->t->k.length && !to->add; ++j) {
        memset(first + c->ranks.key[j] * to->ld, 0, (size_t)c->t->width * sizeof *first);
    }
}

/* One head; its shares of the gradients of keys and values are added to what scratch holds. */
static void head_back(const cs_cpu_attend *t, int64_t item, int worker, bool first, cs_cpu_head *c)
{
    float *table_part = t->table.grad ? t->table_part + item * t->table.rows : NULL;
    open_piece(t, item, worker, true, c);
    if (first) {
        memset(c->s.dk, 0, (size_t)(c->keys * t->wide) * sizeof *c->s.dk);
        memset(c->s.dv, 0, (size_t)(c->keys * t->wide) * sizeof *c->s.dv);
    }
    if (table_part) {
        memset(table_part, 0, (size_t)t->table.rows * sizeof *table_part);
    }
    if (t->places > 0) {
        cs_cpu_places_open(c);
        cs_cpu_places_begin(c);
    }
    for (int64_t block = 0; block < t->blocks; ++block) {
        open_block(c, block);
        against_keys(c, c->s.q, c->s.k_by_key, c->s.p);
        against_keys(c, c->s.dy, c->s.v_by_key, c->s.dp);
        for (int64_t i = 0; i < c->rows; ++i) {
            softmax_row_back(c, i, table_part);
        }
        if (t->v.grad) {
            over_queries(c, c->s.p, c->s.dy, c->s.dv);
        }
        if (t->k.grad) {
            over_queries(c, c->s.dp, c->s.q, c->s.dk);
        }
        if (t->q.grad) {
            over_keys(c, c->s.dp, c->s.k, c->s.out);
        }
        if (t->places > 0) cs_cpu_places_block(c);
        if (t->q.grad) put_queries(c);
    }
    if (t->places > 0) cs_cpu_places_end(c);
}

/* The heads of a sequence that read one head of keys, in their order. */
static cs_status attend_back(void *ctx, int64_t item, int worker)
{
    const cs_cpu_attend *t = ctx;
    const int64_t share = t->o->heads / t->o->kv_heads;
    cs_cpu_head c = {0};
    for (int64_t h = 0; h < share; ++h) {
        head_back(t, item * share + h, worker, h == 0, &c);
    }
    if (t->k.grad) {
        put_keys(&c, c.s.dk, &t->k);
    }
    if (t->v.grad) {
        put_keys(&c, c.s.dv, &t->v);
    }
    return CS_OK;
}

/* The same in all sequences, in their order: heads with vectors of distances. */
static cs_status attend_back_by_head(void *ctx, int64_t item, int worker)
{
    const cs_cpu_attend *t = ctx;
    const int64_t share = t->o->heads / t->o->kv_heads * 2 * t->places * t->width;
    cs_status status = CS_OK;
    memset(t->place_part + item * share, 0, (size_t)share * sizeof *t->place_part);
    for (int64_t s = 0; s < t->q.batch && status == CS_OK; ++s) {
        status = attend_back(ctx, s * t->o->kv_heads + item, worker);
    }
    return status;
}

cs_status cs_cpu_attention_back(const cs_run *run, const cs_op *op)
{
    cs_cpu_attend t;
    cs_status status = open_attention(run, op, true, &t);
    if (status != CS_OK) return status;
    const int64_t items = t.q.batch * t.o->heads, buckets = t.table.rows;
    status = t.places > 0
                 ? cs_parallel_workers(t.o->kv_heads, t.cpu->threads, attend_back_by_head, &t)
                 : cs_parallel_workers(t.q.batch * t.o->kv_heads, t.cpu->threads, attend_back, &t);
    if (t.places > 0 && status == CS_OK) cs_cpu_places_gather(&t);
    for (int64_t i = 0; i < items && t.table.grad && status == CS_OK; ++i) {
        for (int64_t b = 0; b < buckets; ++b) {
            t.table.grad[b * t.table.ld + i % t.o->heads] += t.table_part[i * buckets + b];
        }
    }
    return status;
}
