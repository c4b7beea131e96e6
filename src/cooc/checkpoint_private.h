/* The state of an interrupted build on disk. A build is a sum over blocks of sequences, so the sums
 * over the blocks that are finished, and which these are, say all: docs/reference/matrices.md.
 */
#pragma once

#include <jansson.h>

#include "cooc/build_private.h"
#include "cooc/collect_private.h"

/* The parts of a build that a checkpoint keeps and gives back; all borrowed. */
typedef struct {
    int64_t blocks;
    cs_block *block;              /* done, dropped */
    int64_t contributions, units; /* sums over the finished blocks */
    bool overflow;                /* of `units` */
    cs_runs *runs;
    int collectors; /* finished */
    cs_collector **collector;
    int64_t vocab, labels, sequences; /* what records may name */
} cs_checkpoint_state;

/* What a build is of: objective (with its plans), context, every other option that the result
 * depends on, and the corpus (sizes, hashes of tokens, classes and split), field by field. Two
 * builds of equal identity cut the same blocks and count in the same units. */
cs_status cs_checkpoint_identity(const cs_corpus *corpus, const cs_cooc_options *options,
                                 double scale, int64_t blocks, json_t **out) CS_MUST_CHECK;

/* Writes `state` to the folder, which is made when it is not there; a checkpoint that is there
 * is replaced at the end by one rename. Ends late after an interrupt (cs_interrupt_late) with
 * CS_ERR_INTERRUPT, or, where only the disk is waited for, without waiting. CS_ERR_IO names the file. */
cs_status cs_checkpoint_write(const char *dir, const json_t *identity,
                              const cs_checkpoint_state *state) CS_MUST_CHECK;

typedef struct cs_checkpoint cs_checkpoint;

/* The checkpoint of the folder, *out = NULL when there is none. CS_ERR_USAGE names the first field
 * in which it is of another build; CS_ERR_INPUT when it is damaged. */
cs_status cs_checkpoint_open(const char *dir, json_t *identity, cs_checkpoint **out) CS_MUST_CHECK;
void cs_checkpoint_close(cs_checkpoint **checkpoint);

/* Loads it into a build that has just begun: sums, finished blocks, runs (the collectors stay as
 * they are). What is read is held against its digest, the sizes of the build and the sum of the
 * units: CS_ERR_INPUT names the file. */
cs_status cs_checkpoint_load(const cs_checkpoint *checkpoint,
                             cs_checkpoint_state *state) CS_MUST_CHECK;

/* --- what writing and reading share ----------------------------------------------------------- */

enum { CS_CHECKPOINT_VERSION = 1, CS_CHECKPOINT_PIECE = 1 << 20, CS_CHECKPOINT_DIGEST = 33 };

#define CS_CHECKPOINT_FORMAT "cospec build checkpoint"
#define CS_CHECKPOINT_INDEX "checkpoint.json"
extern const char *const cs_checkpoint_records[2];

/* The file of records begins so. */
typedef struct {
    int64_t runs, blocks, contributions, units, overflow;
} cs_checkpoint_header;

/* The digest of a file goes from one piece to the next; as 32 hex digits. */
cs_hash128 cs_checkpoint_chain(cs_hash128 before, const void *bytes, size_t size);
void cs_checkpoint_digest(cs_hash128 digest, char text[CS_CHECKPOINT_DIGEST]);
