/* Shared by cpu_attention.c and cpu_places.c: one operation, and one sequence and head of it. */
#pragma once

#include "tensor/cpu_private.h"

enum { CS_CPU_BLOCK = 48 }; /* queries at a time */

typedef struct {
    const cs_run *run;
    const cs_op *op;
    const cs_op_attention *o;
    cs_cpu *cpu;
    cs_cpu_matrix q, k, v, table, lse, y, place_k, place_q;
    const int32_t *pos_q, *pos_k;
    float *table_part;  /* batch x heads x buckets: gradients of the table */
    float *place_part;  /* heads x 2 x vectors x width: gradients of vectors of distances */
    int32_t *bucket;    /* of distances -max_distance .. max_distance; NULL: computed */
    float *by_distance; /* heads x these distances: the biases; NULL: computed */
    int32_t *place;     /* of distances -farthest .. farthest: their vectors */
    int64_t width, blocks, farthest;
    int64_t wide;   /* width in whole vectors */
    int64_t places; /* vectors of distances; 0: none */
} cs_cpu_attend;

/* Scratch of a worker for one sequence and head. */
typedef struct {
    float *q, *k, *v, *dy;            /* gathered rows x wide; q times scale */
    float *k_by_key, *v_by_key;       /* packed B: steps are columns of the head (scores, P') */
    float *dk, *dv;                   /* keys x wide */
    float *p, *dp;                    /* BLOCK x keys */
    float *out;                       /* BLOCK x wide */
    float *places;                    /* packed B: vectors of the distances that occur */
    float *q_by_place, *k_by_place;   /* queries, keys x these distances */
    float *place_rows;                /* packed B: steps are these distances */
    float *dq_by_place, *dk_by_place; /* BLOCK, keys x these distances */
    float *keep;                      /* keys, in order of places, then of ranks */
    float *key_at;                    /* keys: scratch for their positions */
    float *slope;                     /* keys: derivatives of capped scores; NULL: not wanted */
    float *row;                       /* BLOCK: 1 / sum, or D */
    int64_t ld;                       /* of p and dp */
} cs_cpu_attend_scratch;

/* One sequence and head: its location, and its current block of queries. */
typedef struct {
    const cs_cpu_attend *t;
    int64_t sequence, head, col, key_col; /* first column of the head, of the keys it reads */
    cs_cpu_ranks ranks;
    cs_cpu_drop drop;
    cs_cpu_attend_scratch s;
    int64_t keys;                /* visible to any query */
    int32_t *key_at;             /* their positions */
    int64_t first_place, places; /* of the distances that occur */
    int64_t from, rows, seen;    /* of the block: sorted queries, keys visible to any of them */
} cs_cpu_head;

static inline int64_t cs_cpu_query_row(const cs_cpu_head *c, int64_t i)
{
    return c->sequence * c->t->q.length + c->ranks.query[i];
}

static inline int64_t cs_cpu_key_row(const cs_cpu_head *c, int64_t j)
{
    return c->sequence * c->t->k.length + c->ranks.key[j];
}

/* A product of few rows, by B in panels of `steps` steps, or, where steps is 0, by rows of whole
 * vectors, product.ldb apart. */
static inline void cs_cpu_head_product(const cs_cpu_head *c, int64_t steps, cs_cpu_small product)
{
    const cs_cpu_kernels *kernels = c->t->cpu->kernels;
    product.ldb = steps > 0 ? kernels->cols : product.ldb;
    product.b_panel = kernels->cols * cs_most(steps, 1);
    kernels->product(&product);
}

/* --- cpu_places.c: scores by vectors of distances ----------------------------------------------- */

/* The vector that a query has for a key at a distance before it. */
int64_t cs_cpu_place_of(const cs_cpu_attend *t, int64_t distance);
/* The distances of the current sequence, and the products with their vectors. */
void cs_cpu_places_open(cs_cpu_head *c);
/* Those of row i of the block and key j. */
float cs_cpu_places_score(const cs_cpu_head *c, int64_t i, int64_t j);

/* Backward of one head, whose parts of the gradients of vectors are in t->place_part. Begin: after
 * places_open. Block: dp of the block holds S', zero beyond the visible keys of a row, and out S'
 * k: q' / scale is completed there. End: dk is completed. */
void cs_cpu_places_begin(cs_cpu_head *c);
void cs_cpu_places_block(cs_cpu_head *c);
void cs_cpu_places_end(cs_cpu_head *c);
/* Adds the parts of all heads to the gradients, in the order of heads. */
void cs_cpu_places_gather(const cs_cpu_attend *t);
