/* Shared by the files of the context module: tables for each length, the walker that visits one
 * sequence, and the events that it passes to the context modes.
 *
 * A contribution is made in two steps. A *source* (context_walk.c) lists the events (S, k) of one
 * sequence: those of the exact distribution, or of sampled plans. A *mode* (cs_context_kind) turns
 * an event into rows. The invariant part of a distribution (pairs.h) skips the source if its mode
 * sums over all S in closed form, target by target. */
#pragma once

#include <stdio.h>

#include "base/mem.h"
#include "cooc/context.h"
#include "plan/pairs.h"
#include "plan/plan.h"

/* Tables of one length. Contributions of a sequence are numbered outer x inner + j: `outer` numbers
 * the steps of the walk: draws, or listed events and then the targets of an invariant part; `inner`
 * bounds the contributions of one step. */
typedef struct {
    cs_pairs pairs;
    double predicted;
    int64_t outer, inner;
    double contributions; /* upper bound for one sequence */
    int64_t denominator;  /* weight x predicted x denominator is an integer; 0: none known */
    int64_t document_denominator; /* the same for weight x document_denominator */
    double draw_weight;           /* draws: expected sum of the weights of a plan, x draws */
    double *factor;               /* draws: factors for uniform target weights, or NULL */
    cs_plan_sampler sampler;      /* draws */

    /* nearest, invariant part: weights of one pattern of conditioning positions */
    int64_t ranks;    /* patterns reach to the position of this nearness rank (1-based) */
    double *pattern;  /* ranks + 1: n positions taken, the farthest of rank i */
    double *padded;   /* n: all m < n conditioning positions, anywhere */
    int64_t patterns; /* for one target; 0: no such weights */
    double tail;      /* weight of one target that lies beyond `ranks` */

    /* nearest in the plane (context_table.c): [k s + r] is the position of rank r around k, [k s + p]
     * the rank of p; NULL: distance in the sequence */
    uint16_t *near_position, *near_rank;

    /* unique: R (plan/kernel.h) is `on` on its diagonal and `off` off it, or sum + lost at [e s + k]
     * is R_{k, k + e} + R_{k - stride, k - stride + e} + ...; 0 for e > reach */
    int64_t reach;
    double on, off;
    double *sum, *lost; /* lost NULL: no windows overlap */

    /* each, invariant part: for a target whose window has W positions */
    double *place;  /* 2w + 1: weight of one place; where pairs count, [d] at distance d */
    double *missed; /* 2w + 1: weight of the empty window; where pairs count, 0 */
    cs_pool pool;   /* of all arrays but pattern, factor and the sampler's */
} cs_context_table;

struct cs_context_plan {
    cs_objective objective;
    cs_context context;
    const struct cs_context_kind *kind; /* of its mode */
    int64_t draws;
    uint64_t seed;
    int64_t max_events;
    double max_patterns; /* nearest, invariant part: for one target */
    double tail;
    bool listed;
    /* unique: longer sequences are series of windows; else INT64_MAX, 0 */
    int64_t window, stride;
    int64_t longest;   /* window */
    int32_t *table_of; /* longest + 1: index of a length's table, -1 if the length does not occur */
    int64_t tables;
    cs_context_table *table;
    int64_t hash_capacity; /* capacity for item hashes of a walker */
    bool near; /* nearest, invariant part: a walker keeps positions in order of nearness */
    int64_t set_capacity; /* capacity for positions of an explicit set in a walker */
};

/* One event (S, k) of the current sequence. S is a prefix, or the positions below `limit` in
 * `rank`. */
typedef struct {
    int64_t target;
    double weight;
    int64_t ordinal; /* of its first contribution */
    int64_t prefix;  /* |S| of a prefix, -1 otherwise */
    const int32_t *rank;
    int32_t limit;
    int64_t size;   /* |S| */
    cs_hash128 sum; /* under `all`: sum of the items' hashes */
    const int32_t *position, *content;
} cs_context_event;

/* The walk through one sequence, with scratch space that is reused. */
typedef struct {
    const cs_context_plan *plan;
    const cs_corpus *corpus;
    cs_contribution_visit visit;
    void *ctx;
    /* current sequence */
    const cs_context_table *table;
    const int32_t *token;
    int64_t length, document, sequence;
    double dropped;
    /* scratch */
    cs_hash128 *hash;
    int32_t *near_offset, *near_token; /* hash_capacity: by nearness rank */
    int32_t *rank, *position, *content;
    int32_t *row_position, *row_content; /* of one row of nearest or each */
    int64_t *chosen;                     /* nearest: ranks of the current pattern */
    cs_hash128 *partial;                 /* nearest: sums of the first 0, 1, ... of their hashes */
    cs_plan sample;
    cs_pool pool; /* of the scratch but the sample */
} cs_context_walker;

cs_status cs_context_walker_init(cs_context_walker *w, const cs_context_plan *plan,
                                 const cs_corpus *corpus, cs_contribution_visit visit,
                                 void *ctx) CS_MUST_CHECK;
void cs_context_walker_free(cs_context_walker *w);

/* Visits the outer steps first..last-1 of a sequence that starts at `token`; `sequence` selects its
 * random stream. Adds dropped weight to w->dropped. */
cs_status cs_context_walk(cs_context_walker *w, int64_t sequence, int64_t start, int64_t length,
                          int64_t document, int64_t first, int64_t last) CS_MUST_CHECK;

/* The table of a length that occurs in the plan; for a series, that of its windows. */
const cs_context_table *cs_context_table_of(const cs_context_plan *plan, int64_t length);

/* Number of steps of a walk through a sequence of this length, and upper bound of its
 * contributions. */
int64_t cs_context_outer(const cs_context_plan *plan, int64_t length);
double cs_context_contributions(const cs_context_plan *plan, int64_t length);

/* unique: for positions p and q of a series of windows, the sum of R over the windows that contain
 * both. */
double cs_context_pair_weight(const cs_context_plan *plan, const cs_context_table *t,
                              int64_t windows, int64_t p, int64_t q);

/* The number of the first contribution of target k of the invariant part. */
static inline int64_t cs_context_ordinal(const cs_context_table *t, int64_t k)
{
    return (t->pairs.events + k) * t->inner;
}

/* Joins denominators of two sets of lengths (cs_context_denominator); -1: of no length. */
int64_t cs_context_denominators(int64_t a, int64_t b);

/* Collects weights that are integers over `scale`. */
typedef struct {
    double scale;
    int64_t divisor; /* gcd of the integers so far */
    bool ok;
} cs_divisors;

void cs_divisors_take(cs_divisors *d, double weight);

/* One of the (position or offset, token) pairs of a row. */
typedef struct {
    int32_t position, token;
} cs_context_item;

/* A context mode. `invariant`: functions for the invariant part of a distribution. */
typedef struct cs_context_kind {
    bool given; /* rows contain the target's position by construction */
    /* A row is the whole set: events carry their items and the sum of the items' hashes, and every
     * set is listed. */
    bool whole;
    bool tokens; /* rows without the target's position are tokens */
    bool gram;   /* the matrix is a Gram form, counted by `walk` */
    bool plane;  /* distance may be in the plane */
    bool pairs;  /* may count pairs of positions */

    /* Number of rows of one event at length s, its set `one_sided` or not; NULL: one. */
    int64_t (*places)(const cs_context_plan *plan, int64_t s, bool one_sided);
    cs_status (*event)(cs_context_walker *w, const cs_context_event *e);

    /* gram: in place of events, visits the positions first..last-1 of a sequence, whose tables
     * `table` makes; weights have no denominator. */
    cs_status (*walk)(cs_context_walker *w, int64_t first, int64_t last);

    /* invariant: fills the weights of the table (NULL: there are none); visits all of them; visits
     * the rows of the targets first..last-1. All NULL if `whole`. */
    cs_status (*table)(const cs_context_plan *plan, cs_context_table *t);
    void (*weights)(const cs_context_plan *plan, const cs_context_table *t, cs_divisors *d);
    cs_status (*targets)(cs_context_walker *w, int64_t first, int64_t last);

    /* Writes the text of a row of a contribution, with its items in order of position. */
    void (*text)(const cs_context_walker *w, const cs_contribution *c, const cs_context_item *item,
                 FILE *to);
} cs_context_kind;

#define CS_CONTEXT_KIND(mode, name, alias, number, what)                                           \
    extern const cs_context_kind cs_context_##name;
CS_CONTEXT_MODES(CS_CONTEXT_KIND)
#undef CS_CONTEXT_KIND

const cs_context_kind *cs_context_kind_of(cs_context_mode mode);

/* context_table.c: the order by distance in the plane at one length, if the context has a plane.
 * CS_ERR_USAGE names a length that is too large; CS_ERR_MEMORY before anything is allocated. */
cs_status cs_context_plane_check(const cs_context_plan *plan) CS_MUST_CHECK;

/* For texts of rows: the word of a token, after `separator`; " [k]" if the position of the target
 * is part of a row without offsets. */
void cs_context_put_word(const cs_context_walker *w, const char *separator, int32_t token,
                         FILE *to);
void cs_context_put_target(const cs_context_walker *w, const cs_contribution *c, FILE *to);

/* The tables of one length, from its pair distribution. */
cs_status cs_context_table_init(const cs_context_plan *plan, int64_t length,
                                cs_context_table *t) CS_MUST_CHECK;
void cs_context_table_free(cs_context_table *t);

/* --- keys ------------------------------------------------------------------------------------
 *
 * The key of a row is the sum, modulo 2^128, of one XXH3-128 hash for each of its items (where,
 * token), plus one for the position of the target if it is part of the row. A sum does not depend
 * on order and is updated for a longer prefix, so a document of n tokens costs n hashes under `ar`,
 * and a context has the same key under every objective. Two different sets of items differ in at
 * least one item, whose hash is nearly uniform over 2^128 values and independent of the others, so
 * the two sums agree with probability 2^-128: N rows collide with probability below N^2 / 2^129,
 * 1.5e-21 for a billion. (An adversary could choose items whose sums collide; corpora do not.) */
enum {
    CS_KEY_ITEM = 1,
    CS_KEY_TARGET,
    CS_KEY_BOUNDARY,
    CS_KEY_EMPTY,
    CS_KEY_DOCUMENT,
    CS_KEY_SEQUENCE
};

/* XXH3 combines the seed with inputs of 16 bytes only by an addition and an exclusive or, so seeds
 * that differ in low bits coincide with small numbers that differ in the same bits: item (8, 5)
 * under seed 1 had the hash of (0, 0) under seed 4. Seeds are therefore far apart, out of reach of
 * positions and tokens below 2^48. */
static inline cs_hash128 cs_key_of(uint64_t kind, int64_t where, int64_t what)
{
    return cs_hash_words((uint64_t)where, (uint64_t)what, kind * UINT64_C(0x9e3779b97f4a7c15));
}

static inline cs_hash128 cs_key_add(cs_hash128 a, cs_hash128 b)
{
    uint64_t low = a.low + b.low;
    return (cs_hash128){.high = a.high + b.high + (low < a.low), .low = low};
}

/* Key of the empty conditioning set: one for all documents, or one a class. */
static inline cs_hash128 cs_key_empty(const cs_context_walker *w)
{
    int64_t tag = 0;
    if (w->plan->objective.empty_prefix == CS_PREFIX_CLASS && w->corpus->label) {
        tag = 1 + (int64_t)w->corpus->label[w->document];
    }
    return cs_key_of(CS_KEY_EMPTY, 0, tag);
}

/* The key with the position of the target, if that is part of the row. */
static inline cs_hash128 cs_key_given(const cs_context_walker *w, cs_hash128 key, int64_t target)
{
    return w->plan->context.given ? cs_key_add(key, cs_key_of(CS_KEY_TARGET, target, 0)) : key;
}

/* A key of the token alone, ascending with the token and spread over all keys, so that rows are in
 * the order of the columns. */
static inline cs_hash128 cs_key_in_order(int64_t token, int64_t vocab)
{
    cs_hash128 key = cs_key_of(CS_KEY_ITEM, 0, token);
    key.high = UINT64_MAX / (uint64_t)vocab * (uint64_t)token;
    return key;
}

/* A contribution to the row of `items` items in w->row_position and w->row_content. */
static inline cs_contribution cs_contribution_of(const cs_context_walker *w, int64_t target,
                                                 cs_hash128 key, double weight, int64_t ordinal,
                                                 int64_t items)
{
    return (cs_contribution){.key = key,
                             .token = w->token[target],
                             .target = (int32_t)target,
                             .weight = weight,
                             .ordinal = ordinal,
                             .items = items,
                             .position = w->row_position,
                             .content = w->row_content};
}

/* Position of distance rank r = 1, 2, ... around target k of a sequence of s: k-1, k+1, k-2, ...
 * until one side ends, then the rest of the other; in the plane by its table. */
static inline int64_t cs_near_position(const cs_context_table *t, int64_t k, int64_t r)
{
    const int64_t s = t->pairs.length;
    if (t->near_position) {
        return t->near_position[k * s + r];
    }
    int64_t right = s - 1 - k;
    int64_t both = 2 * (k < right ? k : right);
    if (r <= both) {
        return r % 2 ? k - (r + 1) / 2 : k + r / 2;
    }
    int64_t distance = r - both / 2;
    return k > right ? k - distance : k + distance;
}

/* Offset of position p from target k, as used in keys. In a plane of C columns p - k would be that
 * of (0, 2) and of (1, 2 - C); it is dy (2C - 1) + dx with |dx| < C, which ascends with the
 * positions. */
static inline int64_t cs_near_offset(const cs_context *c, int64_t k, int64_t p)
{
    const int64_t columns = c->columns;
    return columns > 1 ? (p / columns - k / columns) * (2 * columns - 1) + p % columns - k % columns
                       : p - k;
}

/* Rows and columns of such an offset in a plane. */
static inline void cs_near_steps(const cs_context *c, int64_t offset, int64_t *down,
                                 int64_t *across)
{
    const int64_t width = 2 * c->columns - 1, most = c->columns - 1;
    *down = (offset < -most ? offset - most : offset + most) / width;
    *across = offset - *down * width;
}
