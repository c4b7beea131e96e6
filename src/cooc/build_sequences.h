/* The sequences that a build reads, for callers that visit the same contexts again. */
#pragma once

#include "cooc/builder.h"
#include "text/sequences.h"

/* Whether a document is in the split. */
bool cs_cooc_in_split(const cs_corpus *corpus, cs_split split, int64_t document);

/* The sequences that the options select: of the documents of the split, at lengths where the
 * objective exists; *skipped: those of the split at other lengths. CS_ERR_INPUT if none is left,
 * with the length needed. O(tokens / stride + documents). */
cs_status cs_cooc_sequences(const cs_corpus *corpus, const cs_cooc_options *options,
                            cs_sequences *out, int64_t *skipped) CS_MUST_CHECK;

/* Under `unique` a sequence is the series of all overlapping windows of a document: their number.
 */
int64_t cs_cooc_windows(const cs_cooc_options *options, const cs_sequences *sequences);

/* *uncovered of the *tokens of the split's documents are in no sequence of the build: the ends of
 * documents that no window reaches (sequences.h), and sequences of lengths where the objective does
 * not exist. Cost and errors as above. */
cs_status cs_cooc_uncovered(const cs_corpus *corpus, const cs_cooc_options *options,
                            int64_t *uncovered, int64_t *tokens) CS_MUST_CHECK;

/* Number of sequences of the build whose length makes the objective clamp its mask ratio
 * (cs_objective_clamps), the longest such length, and the objective or part that is clamped.
 * Sequences need not be listed. */
int64_t cs_cooc_clamped(const cs_corpus *corpus, const cs_cooc_options *options, int64_t *longest,
                        cs_objective *of_longest);

/* The share of masked tokens over all sequences of at least two tokens under an objective (of the
 * build, or a part of its mixture), for the lower and the higher end of its mask ratio, since the
 * ratio is rounded to whole tokens in each sequence. False if it has no mask ratio or there is no
 * such sequence. */
bool cs_cooc_masked(const cs_corpus *corpus, const cs_cooc_options *options,
                    const cs_objective *objective, double share[2]);

/* For a corpus of images: sequences are windows unless max_length says otherwise, and a context
 * that uses distance gets their plane unless it has one (with columns 1, distance is that in the
 * sequence). CS_ERR_USAGE: max_length and stride cut sequences across windows, or in the plane not
 * into whole rows. Other corpora are unchanged. O(sequences). */
cs_status cs_cooc_in_plane(const cs_corpus *corpus, cs_cooc_options *options) CS_MUST_CHECK;

/* The context options of a build; borrows its objective. */
cs_context_options cs_cooc_context_options(const cs_cooc_options *options);
