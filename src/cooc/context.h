/* Contexts: what a conditioning set becomes as a row of the co-occurrence matrix, and with which
 * exact weight.
 *
 * An objective gives events (S, k); a context mode gives each event its row(s). The same for every
 * objective:
 *
 * - all: the whole conditioning set with positions and tokens; `given` adds k;
 * - nearest:n: the n conditioning positions nearest to the target (left first on ties), as (offset,
 *   token), padded with a boundary mark where fewer exist; `given` by construction;
 * - each:w: every conditioning token within w of the target is its own row, the event's weight
 *   shared equally among them; `given` adds the offset; an event with an empty window is dropped
 * and counted;
 * - document: the document; `given` adds k.
 *
 * Permutation-invariant objectives are never sampled under nearest and each. Order the positions
 * other than k by nearness, p_1, p_2, ...; with m = |S| of s, n of them with p_i the farthest are
 * the nearest with probability C(s-1-i, m-n) / C(s-1, m), and the window of W positions around k is
 * hit in c places with probability C(W, c) C(s-1-W, m-c) / C(s-1, m), each place getting (1 - P(c =
 * 0)) / W. theory.md 2.
 */
#ifndef CS_COOC_CONTEXT_H
#define CS_COOC_CONTEXT_H

#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "plan/objective.h"
#include "text/corpus.h"
#include "text/sequences.h"

typedef enum {
    CS_CONTEXT_ALL,
    CS_CONTEXT_NEAREST,
    CS_CONTEXT_EACH,
    CS_CONTEXT_DOCUMENT
} cs_context_mode;

typedef struct {
    cs_context_mode mode;
    int64_t n;  /* nearest: n, each: w; >= 1 */
    bool given; /* the target's position is part of the row; nearest: true by construction, whatever
                   stands here */
} cs_context;

/* "all", "nearest:2", "each:5", "document". given: nearest only. */
cs_status cs_context_parse(const char *text, cs_context *out) CS_MUST_CHECK;

/* One contribution to the matrix: row key, column, weight. */
typedef struct {
    cs_hash128 key;
    int32_t token;  /* column */
    int32_t target; /* k */
    double weight; /* share of the sequence's weight; a sequence's weights and dropped mass sum to 1
                      (under draws of plans with varying numbers of tokens: in expectation) */
    int64_t ordinal; /* names this contribution within its sequence (unique, with gaps): with the
                        sequence, a witness of the row */
    int64_t items;   /* (position or offset, token) pairs that make up the row in no particular
                        order, boundary marks as token -1 */
    const int32_t *position;
    const int32_t *content;
} cs_contribution;

typedef struct cs_context_plan cs_context_plan; /* tables per length, shared by threads */

enum { CS_CONTEXT_MAX_EVENTS = 1 << 20 };

typedef struct {
    const cs_objective *objective;
    cs_context context;
    int64_t draws; /* 0: exact; > 0: that many sampled plans a sequence (only where exact is out of
                      reach) */
    uint64_t seed;
    int64_t max_events; /* exact enumeration refuses more events a sequence, and nearest more
                           patterns a target; 0: 2^20. nearest also refuses more than 2^36 in all */
    double tail; /* nearest drops the far patterns that hold less than this share of an event; 0:
                    2^-50 */
} cs_context_options;

/* Prepares the tables for every length in `sequences`. CS_ERR_USAGE when exact enumeration is out
 * of reach ("all under masked at length 64 has 1.8e18 contexts: give --draws or --max-length";
 * "nearest:4 under masked at length 300 has more than 1.05e+06 contexts a target: give --tail 2e-14
 * or --max-length 72"). */
cs_status cs_context_prepare(const cs_sequences *sequences, const cs_context_options *options,
                             cs_context_plan **out) CS_MUST_CHECK;
void cs_context_plan_free(cs_context_plan **plan);

/* Least common denominator of all weights x predicted tokens over all lengths, 0 if none below 2^40
 * (then weights are rounded to fixed point by the builder). Under draws: the number of draws x
 * tokens a plan where integral. */
int64_t cs_context_denominator(const cs_context_plan *plan);

/* Expected number of predicted tokens of a sequence of this length: its weight under --weight
 * token. */
double cs_context_predicted(const cs_context_plan *plan, int64_t length);

/* Calls visit for every contribution of one sequence, in a fixed order; *dropped (may be NULL)
 * receives the share of weight that found no row (empty windows). Thread-safe: `plan` is read only.
 */
typedef cs_status (*cs_contribution_visit)(void *ctx, const cs_contribution *contribution);
cs_status cs_context_visit(const cs_context_plan *plan, const cs_corpus *corpus,
                           const cs_sequences *sequences, int64_t sequence,
                           cs_contribution_visit visit, void *ctx, double *dropped) CS_MUST_CHECK;

#endif
