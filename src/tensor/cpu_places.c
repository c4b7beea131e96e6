/* Scores by vectors of distances (cs_op_attention): two products more, of all queries and of all
 * keys with the vectors of the distances that occur, from which each score picks its two.
 *
 *   score'[i, j] = S',  Q'[i, d] = sum of place_scale S'[i, j] over the keys j at distance d, K'[j, d]
 *   likewise over queries:   q' += Q' place_k,  place_k' += Q'^T q,  k' += K' place_q,
 *   place_q' += K'^T k.
 *
 * Every sequence of the batch adds to the same vectors: a head goes through them in order, and has
 * its own gradients, which are added in the order of heads. Heads alone run in parallel. */
#include <string.h>

#include "base/ints.h"
#include "tensor/cpu_heads_private.h"
#include "tensor/relative.h"

int64_t cs_cpu_place_of(const cs_cpu_attend *t, int64_t distance)
{
    const int64_t place =
        t->places / 2 + cs_log_bucket(distance, t->o->buckets, t->o->max_distance);
    return cs_least(cs_most(place, 0), t->places - 1);
}

/* First column of a head: a table has all heads' side by side, or one for all, or of each head
 * its place_q before its place_k. */
static int64_t column_of(const cs_cpu_attend *t, const cs_cpu_matrix *table, int64_t head)
{
    const int64_t w = t->width;
    return table->cols == w                 ? 0
           : table->cols == w * t->o->heads ? head * w
           : table == &t->place_q           ? 2 * head * w
                                            : (2 * head + 1) * w;
}

/* First vector of the current head. */
static const float *vectors(const cs_cpu_head *c, const cs_cpu_matrix *table)
{
    return table->x + c->first_place * table->ld + column_of(c->t, table, c->head);
}

/* All rows x with the vectors of the distances that occur. */
static void against_places(const cs_cpu_head *c, int64_t rows, const float *x,
                           const cs_cpu_matrix *table, float *out)
{
    const cs_cpu_kernels *kernels = c->t->cpu->kernels;
    const int64_t w = c->t->width;
    if (!table->x) return;
    cs_cpu_pack_b(kernels, c->places, w, vectors(c, table), table->ld, true, c->s.places);
    cs_cpu_head_product(c, w,
                        (cs_cpu_small){.m = rows,
                                       .n = c->places,
                                       .k = w,
                                       .a = x,
                                       .lda = c->t->wide,
                                       .a_along = true,
                                       .b = c->s.places,
                                       .c = out,
                                       .ldc = c->places});
}

void cs_cpu_places_open(cs_cpu_head *c)
{
    const cs_cpu_attend *t = c->t;
    int64_t least = INT64_MAX, most = INT64_MIN, first = INT64_MAX, last = INT64_MIN;
    for (int64_t i = 0; i < t->q.length; ++i) {
        const int64_t at = t->pos_q[cs_cpu_query_row(c, i)];
        least = cs_least(at, least);
        most = cs_most(at, most);
    }
    for (int64_t j = 0; j < c->keys; ++j) {
        const int64_t at = t->pos_k[cs_cpu_key_row(c, j)];
        first = cs_least(at, first);
        last = cs_most(at, last);
    }
    if (c->keys == 0) return;
    c->first_place = cs_cpu_place_of(t, least - last); /* the buckets rise with the distance */
    c->places = cs_cpu_place_of(t, most - first) + 1 - c->first_place;
    against_places(c, t->q.length, c->s.q, &t->place_k, c->s.q_by_place);
    against_places(c, c->keys, c->s.k, &t->place_q, c->s.k_by_place);
}

/* Of row i of the block and key j, among the distances that occur. */
static int64_t place_at(const cs_cpu_head *c, int64_t i, int64_t j)
{
    const cs_cpu_attend *t = c->t;
    const int64_t distance =
        (int64_t)t->pos_q[cs_cpu_query_row(c, c->from + i)] - t->pos_k[cs_cpu_key_row(c, j)];
    const bool near = distance >= -t->farthest && distance <= t->farthest;
    return (near ? t->place[distance] : cs_cpu_place_of(t, distance)) - c->first_place;
}

/* q by the vectors over q by the keys: s.q has the scale of the latter. */
static float ratio_of(const cs_cpu_attend *t)
{
    return (float)(t->o->place_scale / t->o->scale);
}

float cs_cpu_places_score(const cs_cpu_head *c, int64_t i, int64_t j)
{
    const cs_cpu_attend *t = c->t;
    const int64_t place = place_at(c, i, j);
    float sum = 0;
    if (t->place_k.x) sum += ratio_of(t) * c->s.q_by_place[(c->from + i) * c->places + place];
    if (t->place_q.x) sum += (float)t->o->place_scale * c->s.k_by_place[j * c->places + place];
    return sum;
}

/* --- backward ----------------------------------------------------------------------------------- */

static void pack_vectors(const cs_cpu_head *c, const cs_cpu_matrix *table)
{
    cs_cpu_pack_b(c->t->cpu->kernels, c->t->width, c->places, vectors(c, table), table->ld, false,
                  c->s.place_rows);
}

/* out (rows x width) += sums by distance x vectors, which are packed. */
static void through_places(const cs_cpu_head *c, int64_t rows, const float *by_place, float *out)
{
    const int64_t w = c->t->width;
    cs_cpu_head_product(c, c->places,
                        (cs_cpu_small){.m = rows,
                                       .n = w,
                                       .k = c->places,
                                       .a = by_place,
                                       .lda = c->places,
                                       .a_along = true,
                                       .b = c->s.place_rows,
                                       .c = out,
                                       .ldc = c->t->wide,
                                       .add = true});
}

/* The part of the head of table 0 (of queries) or 1 += (sums by distance)^T x. */
static void into_part(const cs_cpu_head *c, int table, int64_t rows, const float *by_place,
                      const float *x)
{
    const int64_t w = c->t->width, at = (2 * c->head + table) * c->t->places + c->first_place;
    cs_cpu_head_product(c, 0,
                        (cs_cpu_small){.m = c->places,
                                       .n = w,
                                       .k = rows,
                                       .a = by_place,
                                       .lda = c->places,
                                       .b = x,
                                       .ldb = c->t->wide,
                                       .c = c->t->place_part + at * w,
                                       .ldc = w,
                                       .add = true});
}

void cs_cpu_places_begin(cs_cpu_head *c)
{
    if (c->keys == 0) return;
    if (c->t->place_k.x) pack_vectors(c, &c->t->place_k);
    memset(c->s.dk_by_place, 0, (size_t)(c->keys * c->places) * sizeof *c->s.dk_by_place);
}

void cs_cpu_places_block(cs_cpu_head *c)
{
    const cs_cpu_attend *t = c->t;
    const float own = ratio_of(t), scale = (float)t->o->place_scale;
    if (c->keys == 0) return;
    memset(c->s.dq_by_place, 0, (size_t)(c->rows * c->places) * sizeof *c->s.dq_by_place);
    for (int64_t i = 0; i < c->rows; ++i) {
        const float *dp = c->s.dp + i * c->s.ld;
        for (int64_t j = 0; j < c->ranks.seen[c->from + i]; ++j) {
            const int64_t place = place_at(c, i, j);
            c->s.dq_by_place[i * c->places + place] += own * dp[j];
            c->s.dk_by_place[j * c->places + place] += scale * dp[j];
        }
    }
    if (t->place_k.x && t->q.grad) {
        through_places(c, c->rows, c->s.dq_by_place, c->s.out);
    }
    if (t->place_k.grad) {
        into_part(c, 0, c->rows, c->s.dq_by_place, c->s.q + c->from * t->wide);
    }
}

void cs_cpu_places_end(cs_cpu_head *c)
{
    const cs_cpu_attend *t = c->t;
    if (!t->place_q.x || c->keys == 0) return;
    pack_vectors(c, &t->place_q);
    for (int64_t from = 0; from < c->keys; from += CS_CPU_BLOCK) {
        const int64_t n = cs_least(c->keys - from, CS_CPU_BLOCK);
        const float *by_place = c->s.dk_by_place + from * c->places;
        if (t->k.grad) {
            through_places(c, n, by_place, c->s.dk + from * t->wide);
        }
        if (t->place_q.grad) {
            into_part(c, 1, n, by_place, c->s.k + from * t->wide);
        }
    }
}

void cs_cpu_places_gather(const cs_cpu_attend *t)
{
    const cs_cpu_matrix *const table[] = {&t->place_k, &t->place_q};
    const int64_t w = t->width;
    for (int n = 0; n < 2; ++n) {
        const cs_cpu_matrix *to = table[n];
        for (int64_t r = 0; to->grad && !to->add && r < t->places; ++r) {
            memset(to->grad + r * to->ld, 0, (size_t)to->cols * sizeof *to->grad);
        }
        for (int64_t h = 0; to->grad && h < t->o->heads; ++h) {
            const float *part = t->place_part + (2 * h + n) * t->places * w;
            float *at = to->grad + column_of(t, to, h);
            for (int64_t i = 0; i < t->places * w; ++i) {
                at[i / w * to->ld + i % w] += part[i];
            }
        }
    }
}
