/* The sequences that a build reads, for callers that visit the same contexts again. */
#pragma once

#include "cooc/builder.h"
#include "io/result.h"
#include "text/sequences.h"

/* Whether a document is in the split. */
bool cs_cooc_in_split(const cs_corpus *corpus, cs_split split, int64_t document);

/* The sequences that the options select: of the documents of the split, at lengths where the
 * objective exists; *skipped (NULL: not wanted): those of the split at other lengths. CS_ERR_INPUT
 * if none is left, with the length needed. O(tokens / stride + documents). */
cs_status cs_cooc_sequences(const cs_corpus *corpus, const cs_cooc_options *options,
                            cs_sequences *out, int64_t *skipped) CS_MUST_CHECK;

/* Under `unique` a sequence is the series of all overlapping windows of a document: their number.
 */
int64_t cs_cooc_windows(const cs_cooc_options *options, const cs_sequences *sequences);

/* The inputs of a build: made once, and passed to notes, estimate, build and record. The plan
 * borrows the options, so a struct with a plan must not move. */
typedef struct {
    const cs_corpus *corpus; /* borrowed */
    cs_cooc_options options; /* may change before the plan is made */
    cs_sequences sequences;
    int64_t skipped; /* sequences of the split at lengths where the objective does not exist */
    /* of the documents of the split; of these in no sequence: the ends of documents that no window
     * reaches (sequences.h), and sequences that are skipped */
    int64_t tokens, uncovered;
    cs_context_plan *plan;   /* NULL: not made yet */
    struct cs_build *counts; /* of a build with a checkpoint: what the matrix was counted from */
} cs_cooc_prepared;

/* Cuts the sequences. Cost and errors of cs_cooc_sequences. */
cs_status cs_cooc_prepare(const cs_corpus *corpus, const cs_cooc_options *options,
                          cs_cooc_prepared *out) CS_MUST_CHECK;
/* Makes the plan if there is none. Errors of cs_context_prepare. */
cs_status cs_cooc_plan(cs_cooc_prepared *prepared) CS_MUST_CHECK;
/* Another number of draws, which needs another plan. */
void cs_cooc_set_draws(cs_cooc_prepared *prepared, int64_t draws);
void cs_cooc_prepared_free(cs_cooc_prepared *prepared);

/* cs_cooc_build of what is prepared. */
cs_status cs_cooc_build_prepared(cs_cooc_prepared *prepared, cs_cooc *out) CS_MUST_CHECK;

/* An interrupt after a build that has a checkpoint, as while the matrix is written, becomes one of
 * the build, which leaves its checkpoint; another status stays. */
cs_status cs_cooc_built(cs_cooc_prepared *prepared, cs_status status) CS_MUST_CHECK;

/* cs_cooc_estimate of what is prepared. */
cs_status cs_cooc_estimate_prepared(cs_cooc_prepared *prepared, cs_cooc_size *out) CS_MUST_CHECK;

/* The memory_budget, in bytes, at which the build would count row by row, several times faster
 * than by sorted records, if only that is missing; else *bytes is 0. */
cs_status cs_cooc_lacking(cs_cooc_prepared *prepared, double *bytes) CS_MUST_CHECK;

/* Whether the exact weights of every context can be computed, so that draws would only add noise.
 * Draws and the budget are ignored. O(tables). */
cs_status cs_cooc_enumerable(const cs_cooc_prepared *prepared, bool *out) CS_MUST_CHECK;

/* Checks the disk space for the files of a build before the build: CS_ERR_IO if `dir` lacks space
 * for the smallest size that they can have. Space of an older matrix in `dir` counts as free.
 * Walks the contributions (a tenth of the time of the build, seconds at most) only where the
 * largest possible size does not fit. */
cs_status cs_cooc_check_disk(cs_cooc_prepared *prepared, const char *dir) CS_MUST_CHECK;

/* The least tail of 1e-6, ..., 1e-1 for which the matrix has at most a tenth of the size `whole`,
 * and its size; *tail is 0 if there is none. */
cs_status cs_cooc_smaller_tail(const cs_cooc_prepared *prepared, const cs_cooc_size *whole,
                               double *tail, cs_cooc_size *size) CS_MUST_CHECK;

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

/* The members of cooc.json: options, counts and sizes. source: the name of the corpus as given. */
void cs_cooc_record(const char *source, const cs_cooc_prepared *prepared, const cs_cooc *cooc,
                    cs_item *item);
