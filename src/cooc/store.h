/* A built matrix as a self-contained directory:
 *
 * - matrix.npz: scipy CSR; int64 units when exact, else float64;
 * - matrix.json: sidecar with objective, context, weights, unit, sums, corpus;
 * - rows.npz: key (rows x 2 uint64: high, low), witness_sequence, witness_ordinal;
 * - row_labels.npz, col_labels.npz: scipy CSR class masses (absent when unlabelled);
 * - corpus.npz: token, doc_ptr, label, held_out; vocab.txt: a word a line (absent without words;
 * line ends and backslashes inside a word as \n, \r, \\);
 * - plan.json: the plans, when the objective came from a file; matrix.mtx when asked for.
 *
 * With it a row's text, a held-out document's contexts and every audit are at hand without the
 * corpus' source.
 */
#pragma once

#include "base/status.h"
#include "cooc/builder.h"
#include "io/json.h"

typedef struct {
    cs_corpus corpus;
    cs_cooc_options options; /* as built; options.objective.file points into `plan_file` when the
                                objective came from one */
    struct cs_plan_file *plan_file;
    cs_cooc cooc;
    cs_sequences sequences; /* of the build, which witnesses count */
    json_t *sidecar;
} cs_cooc_store;

/* Writes all files, matrix.json last, so that its presence means the rest is complete. mtx: also
 * matrix.mtx. Refuses a directory that holds a matrix.json unless force. */
cs_status cs_cooc_write(const char *dir, const cs_corpus *corpus, const cs_cooc_options *options,
                        const cs_cooc *cooc, bool mtx, bool force) CS_MUST_CHECK;

/* Names of the files that it may write, matrix.json first; NULL after the last. */
const char *cs_cooc_file(int index);

cs_status cs_cooc_read(const char *dir, cs_cooc_store *out) CS_MUST_CHECK;
void cs_cooc_store_free(cs_cooc_store *store);

/* The matrix.json of a directory alone, in the form of docs/reference/matrices.md whatever its version. */
cs_status cs_cooc_sidecar(const char *dir, json_t **out) CS_MUST_CHECK;

/* The row's text in the manner of its context mode; fresh memory.
 *
 *   all       "the _ of", _ an unknown position (_*9: nine of them); given adds the target's
 *             1-based position, "the _ of [2]"; "(empty)" or "(empty: class)"
 *   nearest   "of[-3] * the", * the target, offsets where other positions are between; # a
 *             boundary mark
 *   each      "the", given "the[+2]"
 *   document  "document 12", given "document 12 [2]"
 *
 * Costs a walk of one event or target of one sequence, and its length's tables. */
cs_status cs_cooc_row_text(const cs_cooc_store *store, int64_t row, char **out) CS_MUST_CHECK;

/* The row with this key, -1 if there is none. Rows ascend by key. */
int64_t cs_cooc_row_of(const cs_cooc *cooc, cs_hash128 key);
