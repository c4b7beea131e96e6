/** \file
 * Context modes: the row (or rows) of the co-occurrence matrix to which an event (S, k) of an
 * objective belongs, with exact weights.
 *
 * - all: the whole conditioning set with positions and tokens; `given` adds k.
 * - nearest:n: the n conditioning positions nearest to the target (left first on ties) as (offset,
 *   token), padded with a boundary mark if fewer exist; `given` by construction.
 * - nearest:n\@c: the same in the plane. A sequence consists of rows of c positions (patches of an
 *   image), distance is Euclidean, ties go to the smaller position, and an offset has a row and a
 *   column.
 * - each:w: every conditioning token within w of the target is a row, and they share the weight of
 *   the event equally; `given` adds the offset. An event with an empty window is dropped and
 *   counted.
 * - each:w:flat, each:w:linear and each:w:harmonic: the same rows, but the event counts f(d) times
 *   for a token at distance d, however many others there are: f(d) = 1, (w - d + 1) / w or 1 / d.
 *   These are counts of pairs as of word-vector tools; no event is dropped.
 * - document: the document; `given` adds k.
 * - unique: every conditioning set of every sequence is a separate row, and none is stored. The
 *   matrix is the Gram form (cs_csr.gram) over tokens, computed exactly from pair counts
 *   (docs/explanation/refinement-and-kernel.md). With `given` every singular value is 1.
 *
 * Permutation-invariant objectives are never sampled under nearest and each. With the positions
 * other than k ordered by distance as p_1, p_2, ..., and m = |S| of s,
 *
 * \f[ P(n \text{ positions with } p_i \text{ the farthest are the nearest}) = \binom{s-1-i}{m-n} \Big/ \binom{s-1}{m}, \f]
 * \f[ P(c \text{ of the } W \text{ positions of the window are in } S) = \binom{W}{c} \binom{s-1-W}{m-c} \Big/ \binom{s-1}{m}, \f]
 *
 * and each position of the window has the share (1 - P(c = 0)) / W. docs/explanation/spectra.md,
 * "Context modes". Source: ours.
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "plan/objective.h"
#include "text/corpus.h"
#include "text/sequences.h"

/** Calls MODE(ID, name, alias, number, row) for each mode: its name, another name, "" or ":" and
 * the letter of its number, and the content of a row.
 */
#define CS_CONTEXT_MODES(MODE)                                                                     \
    MODE(ALL, all, "full", "", "the conditioning set")                                             \
    MODE(NEAREST, nearest, "closest", ":N", "its N positions nearest the target")                  \
    MODE(EACH, each, "window", ":W", "each position within W")                                     \
    MODE(DOCUMENT, document, "doc", "", "the document")                                            \
    MODE(UNIQUE, unique, "limit", "", "no row repeats, and none is made")

/** \cond INTERNAL */
#define CS_CONTEXT_MODE(mode, name, alias, number, what) CS_CONTEXT_##mode,
/** \endcond */

/** A context mode: a CS_CONTEXT_... for each row of CS_CONTEXT_MODES. */
typedef enum { CS_CONTEXT_MODES(CS_CONTEXT_MODE) } cs_context_mode;
#undef CS_CONTEXT_MODE

/** Names by mode; NULL after the last. */
extern const char *const cs_context_names[];

/** Calls PAIRS(ID, name) for each way in which `each` counts a pair of positions. */
#define CS_CONTEXT_PAIRS(PAIRS)                                                                    \
    PAIRS(SHARED, "")                                                                              \
    PAIRS(FLAT, "flat")                                                                            \
    PAIRS(LINEAR, "linear")                                                                        \
    PAIRS(HARMONIC, "harmonic")

/** \cond INTERNAL */
#define CS_CONTEXT_PAIR(pairs, name) CS_PAIRS_##pairs,
/** \endcond */

/** How `each` counts a pair of positions: SHARED divides the weight of an event among the positions
 * of its window, the others multiply it by f(d).
 */
typedef enum { CS_CONTEXT_PAIRS(CS_CONTEXT_PAIR) } cs_context_pairs;
#undef CS_CONTEXT_PAIR

/** A context mode with its parameters. */
typedef struct {
    /** The mode. */
    cs_context_mode mode;
    /** nearest: n; each: w; at least 1. */
    int64_t n;
    /** The position of the target is part of the row. Ignored by nearest, where it always is. */
    bool given;
    /** nearest: positions in a row of the plane; 0: distance in the sequence. */
    int64_t columns;
    /** each: how pairs of positions count. */
    cs_context_pairs pairs;
} cs_context;

/** A context mode from "all", "nearest:2", "nearest:2@3", "each:5", "each:5:linear", "document" or
 * "unique". `given` is set for nearest only.
 *
 * \retval CS_ERR_USAGE unknown; suggests the most similar name
 */
cs_status cs_context_parse(const char *text, cs_context *out) CS_MUST_CHECK;

/** The text of a context mode, as cs_context_parse reads it. Free it with cs_free; NULL if memory
 * is exhausted.
 */
char *cs_context_describe(const cs_context *context) CS_MUST_CHECK;

/** Whether rows contain the position of the target, by option or by construction. */
bool cs_context_given(const cs_context *context);

/** Whether distance may be in the plane: nearest. */
bool cs_context_plane(const cs_context *context);

/** Whether rows are tokens, so that there are no more rows than columns. */
bool cs_context_rows_are_tokens(const cs_context *context);

/** Whether the matrix is a Gram form: unique. */
bool cs_context_gram(const cs_context *context);

/** f(d) for a distance d in 1..n of a context `each` that counts pairs. */
double cs_context_pair_count(const cs_context *context, int64_t distance);

/** The largest sum of the weights of one event: 1, or 2 f(1) + ... + 2 f(n). */
double cs_context_event_mass(const cs_context *context);

/** One contribution to the matrix; valid during the call of the visitor. */
typedef struct {
    /** Key of the row. */
    cs_hash128 key;
    /** Column. */
    int32_t token;
    /** Position k of the target. */
    int32_t target;
    /** Share of the weight of the sequence. Unless pairs are counted, weights and dropped mass of a
     * sequence sum to 1 (in expectation if plans with varying numbers of tokens are drawn).
     */
    double weight;
    /** Identifies the contribution within its sequence; unique, with gaps. */
    int64_t ordinal;
    /** Number of (position or offset, token) pairs of the row, in no particular order. */
    int64_t items;
    /** items positions or offsets. */
    const int32_t *position;
    /** items tokens; boundary marks are -1. */
    const int32_t *content;
} cs_contribution;

/** Tables for each length; read-only once made, so threads may share them. */
typedef struct cs_context_plan cs_context_plan;

enum {
    /** Default of cs_context_options.max_events. */
    CS_CONTEXT_MAX_EVENTS = 1 << 20,
};

/** Options of cs_context_prepare. */
typedef struct {
    /** The objective; borrowed. */
    const cs_objective *objective;
    /** The context mode. */
    cs_context context;
    /** 0: exact; otherwise this number of sampled plans for each sequence, only where the exact
     * weights are too large.
     */
    int64_t draws;
    /** Seed of the draws. */
    uint64_t seed;
    /** Exact enumeration refuses more events for a sequence, and nearest more patterns for a
     * target; 0: 2^20. nearest also refuses more than 2^36 in total.
     */
    int64_t max_events;
    /** List every set of every event, also where a mode sums over sets in closed form. */
    bool listed;
    /** nearest: patterns of far positions with less than this share of an event are dropped; 0:
     * 2^-50.
     */
    double tail;
    /** unique: a sequence of more tokens is a series of windows of this length; 0: each sequence is
     * one window.
     */
    int64_t window;
    /** unique: tokens between the starts of two windows. */
    int64_t stride;
} cs_context_options;

/** Computes the tables for every length in `sequences`. Free them with cs_context_plan_free.
 *
 * \retval CS_ERR_USAGE exact enumeration is too large: "all under masked at length 64 has 1.8e18
 *     contexts: give --draws or --max-length"
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_context_prepare(const cs_sequences *sequences, const cs_context_options *options,
                             cs_context_plan **out) CS_MUST_CHECK;

/** Frees the tables and sets the pointer to NULL. */
void cs_context_plan_free(cs_context_plan **plan);

/** Least common denominator of all weights x predicted tokens (by_document: of all weights) over
 * all lengths; 0 if there is none below 2^40, and weights become fixed point. With draws: draws x
 * tokens of a plan if that is an integer.
 */
int64_t cs_context_denominator(const cs_context_plan *plan, bool by_document);

/** Expected number of predicted tokens of a sequence of this length; of a series of windows, that
 * of one window.
 */
double cs_context_predicted(const cs_context_plan *plan, int64_t length);

/** Number of windows of a sequence of this length: 1 unless it is a series. */
int64_t cs_context_windows(const cs_context_plan *plan, int64_t length);

/** Receives a contribution. */
typedef cs_status (*cs_contribution_visit)(void *ctx, const cs_contribution *contribution);

/** Calls `visit` for every contribution of a sequence in a fixed order. Thread-safe. A failure of
 * `visit` ends the visit and is returned.
 *
 * \param plan the tables
 * \param sequence number of the sequence
 * \param visit receives the contributions
 * \param ctx first argument of `visit`
 * \param dropped receives the share of weight without a row (empty windows); may be NULL
 */
cs_status cs_context_visit(const cs_context_plan *plan, const cs_corpus *corpus,
                           const cs_sequences *sequences, int64_t sequence,
                           cs_contribution_visit visit, void *ctx, double *dropped) CS_MUST_CHECK;
