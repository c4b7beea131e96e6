/* The state of an interrupted build on disk. A build is a sum over blocks of sequences, so its
 * state is the sums over the finished blocks and the list of these blocks:
 * docs/reference/matrices.md. */
#pragma once

#include <jansson.h>

#include "cooc/build_private.h"
#include "cooc/collect_private.h"

/* The parts of a build that a checkpoint stores and restores; all borrowed. */
typedef struct {
    int64_t blocks;
    cs_block *block;              /* done, dropped */
    int64_t contributions, units; /* sums over the finished blocks */
    bool overflow;                /* of `units` */
    cs_runs *runs;
    int collectors; /* finished */
    cs_collector **collector;
    int64_t vocab, labels, first, sequences; /* limits of the members of records */
} cs_checkpoint_state;

/* The identity of a build (io/run_id.h): the options in the form of matrix.json, plans, and hashes of
 * the corpus. Builds with equal identities have the same blocks and units. */
cs_status cs_checkpoint_identity(const cs_corpus *corpus, const cs_cooc_options *options,
                                 double scale, int64_t blocks, json_t **out) CS_MUST_CHECK;

/* Writes `state` to the folder, which is created if needed; an existing checkpoint is replaced at
 * the end by one rename. After an interrupt it continues until cs_interrupt_late and then returns
 * CS_ERR_INTERRUPT, or completes without waiting for the disk if only that is left. CS_ERR_IO names
 * the file. */
cs_status cs_checkpoint_write(const char *dir, json_t *identity,
                              const cs_checkpoint_state *state) CS_MUST_CHECK;

typedef struct cs_checkpoint cs_checkpoint;

/* The checkpoint of the folder, *out = NULL if there is none. CS_ERR_USAGE names the first field
 * that differs from this build, or its version; CS_ERR_INPUT if it is damaged. */
cs_status cs_checkpoint_open(const char *dir, const json_t *identity,
                             cs_checkpoint **out) CS_MUST_CHECK;
void cs_checkpoint_close(cs_checkpoint **checkpoint);

/* Loads it into a build that has just begun: sums, finished blocks, runs (the collectors are
 * unchanged). The data are verified against the digest, the sizes of the build and the sum of the
 * units: CS_ERR_INPUT names the file. */
cs_status cs_checkpoint_load(const cs_checkpoint *checkpoint,
                             cs_checkpoint_state *state) CS_MUST_CHECK;
