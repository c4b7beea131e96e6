/* Counter-based random numbers (Philox 4x32-10, Salmon et al., SC 2011).
 *
 * A generator is a pure function of (seed, stream, index): no state is saved or shared, any thread
 * may draw the numbers of any document, and a seed reproduces bits. `stream` names the purpose (the
 * enum below), `index` the item (document, row, draw).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CS_STREAM_PLAN = 1, /* plans drawn for a sequence */
    CS_STREAM_SOLVER,   /* start vectors */
    CS_STREAM_PROBE,    /* certificate probes, Hutchinson vectors */
    CS_STREAM_ROTATION, /* random rotations of degenerate spaces */
    CS_STREAM_AUDIT,    /* random f, W of Theorem 3.1, random labellings */
    CS_STREAM_SPLIT,    /* train/test splits, document blocks */
    CS_STREAM_TEST,     /* tests only */
    CS_STREAM_INIT,     /* initial parameters; numbers above are kept, so it comes after TEST */
    CS_STREAM_REPLACE,  /* what replaces a masked token: itself, [MASK], a random one */
    CS_STREAM_KEPT,     /* which [MASK]s stay in the encoder of MAE-LM */
    CS_STREAM_ORDER,    /* the order of training sequences in an epoch */
    CS_STREAM_TOY,      /* sequences of the toy model */
    CS_STREAM_FEW,      /* the few labelled examples that a classifier is taught with */
    CS_STREAM_FOLDS,    /* folds of a cross-validation */
    CS_STREAM_FEATURES, /* rows taken from a matrix of features */
    CS_STREAM_SHOWN,    /* what an analysis shows for a masked token */
    CS_STREAM_SAMPLE,   /* rows of states drawn to compare with as many others */
    CS_STREAM_DENSITY,  /* sign vectors of a spectral density */
    CS_STREAM_SKETCH,   /* sign vectors that sketch the top of a spectrum */
    CS_STREAM_CONTENT,  /* plans under which a trained model reads a text */
    CS_STREAM_NULL,     /* tokens shuffled over documents */
    CS_STREAM_LAW,      /* rows of a law of text */
    CS_STREAM_TEXT,     /* documents of a law of text */
    CS_STREAM_IMAGE,    /* pictures of a corpus that is drawn */
    CS_STREAM_AUGMENT,  /* crops and flips of a training step */
    CS_STREAM_RUNS,     /* runs of a model drawn again */
    CS_STREAM_DETECT,   /* tokens that replace masked ones, for the detector */
    CS_STREAM_CHOICE,   /* pictures by which a probe chooses its states */
    CS_STREAM_SHARE,    /* predicted tokens that an objective with a share keeps */
} cs_stream;

typedef struct cs_rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4];
    int used; /* words of `block` already handed out */
} cs_rng;

cs_rng cs_rng_at(uint64_t seed, cs_stream stream, uint64_t index);
uint64_t cs_rng_u64(cs_rng *rng);

/* Uniform in [0, 1), 53 bits. */
double cs_rng_uniform(cs_rng *rng);

/* Uniform integer in 0..n-1, unbiased; n >= 1. */
int64_t cs_rng_below(cs_rng *rng, int64_t n);

/* Whether the next of *left items is one of the *wanted that are drawn, both counted down: asked of
 * each item in turn, every set is equally likely (Knuth, TAOCP 2, 3.4.2, Algorithm S). */
static inline bool cs_rng_selects(cs_rng *rng, int64_t *left, int64_t *wanted)
{
    const bool selected = cs_rng_below(rng, (*left)--) < *wanted;
    *wanted -= selected;
    return selected;
}

/* Standard normal (Box-Muller). */
double cs_rng_normal(cs_rng *rng);

/* n independent signs, -1 or 1. */
void cs_rng_signs(cs_rng *rng, int64_t n, double *values);

/* Uniform permutation of the n values in place (Fisher-Yates), and of 0 .. n-1. */
void cs_rng_shuffle(cs_rng *rng, int64_t n, int32_t *values);
void cs_rng_permutation(cs_rng *rng, int64_t n, int32_t *values);
