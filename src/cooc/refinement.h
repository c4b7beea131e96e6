/* Which contexts refine which (refinement-and-kernel.md): whether the rows of one are a function of the rows of
 * another, found by going through all events of a corpus, whatever the contexts are called.
 *
 * An event e = (sequence, S, k) has under a context one row, or several with equal shares. A context
 * is coarser than another where the row of the other says which row, or which list of rows, an event
 * has in it: it is then a function, or a random garbling that does not look at the target, of the
 * finer one, and sigma_j(coarser) <= sigma_j(finer) for every j. Where both give every event as many
 * rows, in the order of their places, they are taken place by place.
 *
 * Rows are the keys of the builder; `unique` has those of `all` with the sequence.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "cooc/builder.h"

typedef struct {
    int64_t count;  /* contexts */
    int64_t events; /* (sequence, S, k) of the corpus */
    int64_t *rows;  /* count */
    double *least;  /* count: least weight of an event in a row, in predicted tokens or documents */
    bool *refines;  /* count x count: at coarse * count + fine */
    cs_pool pool;   /* of the arrays */
} cs_refinement;

void cs_refinement_free(cs_refinement *r);

/* Of the sequences that cs_cooc_build takes with these options, whose context is not looked at.
 * Every set is listed: time and memory O(count x contributions), 56 bytes each, refused with their
 * number beyond the memory that is free (CS_ERR_MEMORY) or above 2^20 events a sequence
 * (CS_ERR_USAGE). Errors of cs_cooc_check besides. */
cs_status cs_refinement_of(const cs_corpus *corpus, const cs_cooc_options *options, int64_t count,
                           const cs_context *context, cs_refinement *out) CS_MUST_CHECK;
