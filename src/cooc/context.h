/* Contexts: what a conditioning set becomes as a row of the co-occurrence matrix, and with which
 * exact weight.
 *
 * An objective gives events (S, k); a context mode gives each event its row(s). The same for every
 * objective:
 *
 *   all         the whole conditioning set with positions and tokens; `given` adds k
 *   nearest:n   the n conditioning positions nearest to the target (left first on ties), as
 *               (offset, token), padded with a boundary mark where fewer exist; `given` by
 *               construction
 *   nearest:n@c the same in the plane: a sequence lies along rows of c (patches of a picture),
 *               distance is Euclidean, ties go to the smaller position, and an offset is one of
 *               rows and columns. nearest:n@1 is nearest:n
 *   each:w      every conditioning token within w of the target is its own row, the event's weight
 *               shared equally among them; `given` adds the offset; an event with an empty window
 *               is dropped and counted
 *   document    the document; `given` adds k
 *   unique      every conditioning set of every sequence is a row of its own, and none is made: the
 *               matrix is the Gram form (cs_csr.gram), rows and columns tokens; `given` adds k, and
 *               every singular value is 1. Exact from pair counts (refinement-and-kernel.md)
 *
 * Permutation-invariant objectives are never sampled under nearest and each. Order the positions
 * other than k by nearness, p_1, p_2, ...; with m = |S| of s,
 *
 *   P(n positions with p_i the farthest are the nearest)        = C(s-1-i, m-n) / C(s-1, m)
 *   P(c of the W positions of the window around k are in S)     = C(W, c) C(s-1-W, m-c) / C(s-1, m)
 *
 * and each place of the window has the share (1 - P(c = 0)) / W. spectra.md, Context modes.
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "plan/objective.h"
#include "text/corpus.h"
#include "text/sequences.h"

/* The modes: name in code and in text, another word for it, "" or ":" and the letter of its number,
 * what makes a row. All else of a mode is one cs_context_kind (context_private.h) in
 * context_<name>.c. */
#define CS_CONTEXT_MODES(MODE)                                                                     \
    MODE(ALL, all, "full", "", "the conditioning set")                                             \
    MODE(NEAREST, nearest, "closest", ":N", "its N positions nearest the target")                  \
    MODE(EACH, each, "window", ":W", "each position within W")                                     \
    MODE(DOCUMENT, document, "doc", "", "the document")                                            \
    MODE(UNIQUE, unique, "limit", "", "no row repeats, and none is made")

#define CS_CONTEXT_MODE(mode, name, alias, number, what) CS_CONTEXT_##mode,
typedef enum { CS_CONTEXT_MODES(CS_CONTEXT_MODE) } cs_context_mode;
#undef CS_CONTEXT_MODE

extern const char *const cs_context_names[]; /* by mode; NULL after the last */

typedef struct {
    cs_context_mode mode;
    int64_t n;  /* nearest: n, each: w; >= 1 */
    bool given; /* the target's position is part of the row; nearest: true by construction, whatever
                   is given here */
    int64_t columns; /* nearest: of the plane in which distance is; 0: distance in the sequence */
} cs_context;

/* "all", "nearest:2", "nearest:2@3", "each:5", "document". given: nearest only. CS_ERR_USAGE with the nearest
 * known name. */
cs_status cs_context_parse(const char *text, cs_context *out) CS_MUST_CHECK;

/* The same text of a context; fresh memory, NULL when out of it. */
char *cs_context_describe(const cs_context *context) CS_MUST_CHECK;

/* Whether rows contain the target's position: as asked, or by construction. */
bool cs_context_given(const cs_context *context);

/* Whether distance may be in the plane: `nearest`. */
bool cs_context_plane(const cs_context *context);

/* Whether rows are tokens: then there are no more than columns. */
bool cs_context_rows_are_tokens(const cs_context *context);

/* Whether the matrix is a Gram form: `unique`. */
bool cs_context_gram(const cs_context *context);

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
    bool listed; /* every set of every event, also where a mode sums over sets in closed form */
    double tail; /* nearest drops the far patterns that hold less than this share of an event; 0:
                    2^-50 */
    int64_t window,
        stride; /* unique: a sequence of more than `window` tokens is a run of windows of
                               that length every `stride` tokens; 0: each is one */
} cs_context_options;

/* Prepares the tables for every length in `sequences`. CS_ERR_USAGE when exact enumeration is out
 * of reach ("all under masked at length 64 has 1.8e18 contexts: give --draws or --max-length";
 * "nearest:4 under masked at length 300 has more than 1.05e+06 contexts a target: give --tail 2e-14
 * or --max-length 72"). */
cs_status cs_context_prepare(const cs_sequences *sequences, const cs_context_options *options,
                             cs_context_plan **out) CS_MUST_CHECK;
void cs_context_plan_free(cs_context_plan **plan);

/* Least common denominator of all weights x predicted tokens (or, by document, of all weights) over
 * all lengths, 0 if none below 2^40 (then weights are rounded to fixed point by the builder). Under
 * draws: the number of draws x tokens a plan where integral. */
int64_t cs_context_denominator(const cs_context_plan *plan, bool by_document);

/* Expected number of predicted tokens of a sequence of this length: its weight under --weight
 * token. Of a run, that of one of its windows. */
double cs_context_predicted(const cs_context_plan *plan, int64_t length);

/* Windows of a sequence of this length: 1, unless it is a run. */
int64_t cs_context_windows(const cs_context_plan *plan, int64_t length);

/* Calls visit for every contribution of one sequence, in a fixed order; *dropped (may be NULL)
 * receives the share of weight that found no row (empty windows). Thread-safe: `plan` is read only.
 */
typedef cs_status (*cs_contribution_visit)(void *ctx, const cs_contribution *contribution);
cs_status cs_context_visit(const cs_context_plan *plan, const cs_corpus *corpus,
                           const cs_sequences *sequences, int64_t sequence,
                           cs_contribution_visit visit, void *ctx, double *dropped) CS_MUST_CHECK;
