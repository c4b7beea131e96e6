/* The walk of the exact fourth moment through the graph of a matrix; private to moments*.c.
 *
 * Rows and columns are the vertices of a bipartite graph, entries its edges. The order of the walk
 * (moments_exact.c) is given by one key for each vertex: on each side vertices are ranked by
 * falling degree, keys fall with the rank, and between two sides the larger key comes first, a
 * column on ties. */
#pragma once

#include "cooc/moments.h"

enum { CS_WALK_PANEL = 8 };

typedef struct {
    int64_t n;
    /* the first 8 panels ranks are processed in groups of eight, the others singly */
    int64_t panels;
    int64_t *degree; /* by vertex */
    int64_t *vertex; /* by rank */
    int32_t *rank;   /* by vertex */
    int64_t *key;    /* by rank */
} cs_walk_side;

typedef struct {
    cs_walk_side row, col;
    bool from_rows, from_cols; /* sides on which walks begin */
    cs_moment4_cost cost;
    cs_pool pool;
} cs_walk_plan;

/* sum of squares of the entries, compensated. */
double cs_square_norm(const cs_csr *a);

/* Ranks, keys and cost of the cheapest of three orders, in memory of p->pool, also after a failure.
 * CS_ERR_INPUT if a side does not fit int32, CS_ERR_MEMORY. */
cs_status cs_walk_plan_of(const cs_csr *a, cs_walk_plan *p) CS_MUST_CHECK;

static inline int64_t cs_walk_groups(const cs_walk_side *s)
{
    return s->n - (CS_WALK_PANEL - 1) * s->panels;
}

static inline int64_t cs_walk_group(const cs_walk_side *s, int64_t rank)
{
    bool panel = rank < CS_WALK_PANEL * s->panels;
    return panel ? rank / CS_WALK_PANEL : rank - (CS_WALK_PANEL - 1) * s->panels;
}

static inline int64_t cs_walk_first(const cs_walk_side *s, int64_t group)
{
    return group < s->panels ? group * CS_WALK_PANEL : group + (CS_WALK_PANEL - 1) * s->panels;
}
