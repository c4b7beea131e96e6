/* A build that is being counted: its blocks, and the workers that collect their contributions. */
#pragma once

#include "cooc/build_checkpoint_private.h"
#include "cooc/context_private.h"
#include "cooc/synthetic_spread_private.h"

typedef struct {
    int64_t sequence, document; /* -1: not part of the row */
    int64_t of, sequences;      /* population: the current sequence, and their number */
    double scale;               /* units per unit of weight */
    /* The last weight and its units, exact and rounded: most contributions weigh as the one
     * before. */
    double weight, exact;
    int64_t weighed;
    double lost;        /* units that rounded to nothing */
    const double *keep; /* of the build */
    int64_t contributions, units;
    bool overflow;
    int32_t label;
    cs_collector *collector;
} cs_build_emitter;

typedef struct {
    cs_context_walker walker;
    cs_synthetic_spreader spreader;
    cs_collector collector;
    cs_build_emitter emitter;
} cs_build_worker;

typedef struct cs_build {
    const cs_cooc_prepared *of;
    cs_synthetic_spread language; /* of a population */
    bool exact;
    double scale; /* units per predicted token (or document) */
    int exponent; /* of sums of dropped weight */
    int64_t blocks, capacity;
    cs_block *block;
    double *keep;    /* probability that subsampling keeps each token; NULL: no subsampling */
    double expected; /* contributions: an upper bound, except for draws */
    cs_build_worker *worker;
    cs_cut *cut;  /* workers: what their collectors hold at the merge */
    cs_pool pool; /* of these two */
    cs_runs runs;
    cs_build_resources may_use;
    pthread_mutex_t lock; /* guards `done`, `whole` and the listener */
    int64_t done;
    int64_t elsewhere; /* blocks that other ranks count, which are among those done */
    bool whole;        /* every block is wholly in the sums, or not at all */
    double due;   /* cs_seconds of the next checkpoint, for which blocks that have not begun wait */
    int64_t kept; /* blocks of the last one */
    int64_t resumed; /* contributions of the one that was taken up */
    bool collects;   /* the general method with collectors, the only one that writes checkpoints */
    json_t *identity;
    cs_checkpoint *checkpoint; /* to go on from */
} cs_build;

/* Computes `keep`; collective where each rank has a part of the corpus. */
cs_status cs_build_subsample(cs_build *b) CS_MUST_CHECK;

/* Sequences of few contributions share a block, one of many is cut by its outer items. */
cs_status cs_build_cut_blocks(cs_build *b) CS_MUST_CHECK;

/* Where all ranks have the whole corpus, the blocks that others count are done for this one. */
void cs_build_deal_blocks(cs_build *b);

/* Workers with their walkers and collectors; stop accepts a build without them. */
cs_status cs_build_start_workers(cs_build *b) CS_MUST_CHECK;
void cs_build_stop_workers(cs_build *b);

/* Block `item` of the build `ctx`, by a worker: an item of a parallel loop. */
cs_status cs_build_run_block(void *ctx, int64_t item, int number) CS_MUST_CHECK;

/* Every worker may have begun a block that is not done. Called with the lock held. */
void cs_build_expect_runs(cs_build *b);
