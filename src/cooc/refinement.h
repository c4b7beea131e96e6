/** \file
 * Refinement of contexts: the contexts that are functions of others, found by visiting all
 * events of a corpus (docs/explanation/refinement-and-kernel.md).
 *
 * An event (sequence, S, k) has one row under a context mode, or several with equal shares. A
 * context is coarser than another if the row of the other determines the row, or the list of rows,
 * of an event. It is then a function, or a random garbling that does not depend on the target, of
 * the finer one, and \f$\sigma_j(\mathrm{coarser}) \le \sigma_j(\mathrm{finer})\f$ for every j. If
 * both give every event the same number of rows, in the order of their positions, they are
 * compared position by position. Source: ours.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "cooc/builder.h"

/** The relation. Free it with cs_refinement_free. */
typedef struct {
    /** Number of contexts. */
    int64_t count;
    /** Number of events (sequence, S, k). */
    int64_t events;
    /** count: rows under each context. */
    int64_t *rows;
    /** count: least weight of an event in a row, in predicted tokens or documents. */
    double *least;
    /** count x count: at coarse * count + fine, whether the second refines the first. */
    bool *refines;
    /** Owns the arrays. */
    cs_pool pool;
} cs_refinement;

/** Frees the arrays; accepts a zeroed object. */
void cs_refinement_free(cs_refinement *r);

/** Compares contexts over the sequences that cs_cooc_build uses. Every set is listed: time and
 * memory O(count x contributions), 56 bytes each.
 *
 * \param options options of a build; their context is ignored
 * \param count number of contexts
 * \param context count contexts
 * \param out receives the relation
 * \retval CS_ERR_USAGE more than 2^20 events in a sequence, or as for cs_cooc_check
 * \retval CS_ERR_MEMORY more contributions than fit into free memory; names their number
 */
cs_status cs_refinement_of(const cs_corpus *corpus, const cs_cooc_options *options, int64_t count,
                           const cs_context *context, cs_refinement *out) CS_MUST_CHECK;
