/* The record that the page of `cospec inspect --html` shows (plots/inspect.html): spectrum, ends of
 * singular vectors, word vectors, of one matrix or of two.
 *
 * The parts have limits in bytes, so that a page stays below 5 MB for a matrix of any size:
 *
 * - vectors with ends: as many as fit
 * - coordinates of tokens and of contexts, relative to the largest of the token: three digits of
 *   base64 each where all fit, else two, of the heaviest that fit
 * - a text: its first characters */
#pragma once

#include "cooc/spectrum.h"
#include "cooc/store.h"
#include "io/result.h"

typedef struct {
    const cs_cooc_store *store;
    const cs_spectrum *spectrum;
    int64_t first, end; /* the vectors, from 0, of word vectors sigma_j v_j */
    int64_t top;        /* most lines of each end of a vector */
    int64_t share;      /* of the limits: 1, or 2 where two matrices are on a page */
} cs_inspect_page;

/* Adds "rows", "cols", "nonzeros", "components", "rank", "first", "end", "sigma", "eigenvalue" if
 * the spectrum has them, "residual", "certificates", "contexts", "tokens", "vectors". Of a Gram form
 * "contexts" is null. */
cs_status cs_inspect_page_record(const cs_inspect_page *page, cs_item *root) CS_MUST_CHECK;
