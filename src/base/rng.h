/** \file
 * Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC 2011).
 *
 * A generator is a pure function of (seed, stream, index). No state is shared, so any thread may
 * draw the numbers of any item, and a seed reproduces the bits. `stream` names the purpose,
 * `index` the item (document, row, draw).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The purpose of a generator, which keeps numbers of different uses independent. */
typedef enum {
    /** Plans drawn for a sequence. */
    CS_STREAM_PLAN = 1,
    /** Start vectors of solvers. */
    CS_STREAM_SOLVER,
    /** Probes of certificates, Hutchinson vectors. */
    CS_STREAM_PROBE,
    /** Random rotations of degenerate singular spaces. */
    CS_STREAM_ROTATION,
    /** Random functions, weights and labellings of theorem audits. */
    CS_STREAM_AUDIT,
    /** Splits into training and test documents, blocks of documents. */
    CS_STREAM_SPLIT,
    /** Reserved for tests. */
    CS_STREAM_TEST,
    /** Initial parameters of networks. */
    CS_STREAM_INIT,
    /** The replacement of a masked token: itself, [MASK] or a random token. */
    CS_STREAM_REPLACE,
    /** The [MASK] tokens that stay in the encoder of MAE-LM. */
    CS_STREAM_KEPT,
    /** Order of training sequences in an epoch. */
    CS_STREAM_ORDER,
    /** Sequences of the toy model. */
    CS_STREAM_TOY,
    /** The few labelled examples of few-shot training. */
    CS_STREAM_FEW,
    /** Folds of a cross-validation. */
    CS_STREAM_FOLDS,
    /** Rows sampled from a matrix of features. */
    CS_STREAM_FEATURES,
    /** Tokens that an analysis shows in place of masked ones. */
    CS_STREAM_SHOWN,
    /** Rows of hidden states drawn for a comparison with the same number of others. */
    CS_STREAM_SAMPLE,
    /** Sign vectors of a spectral density. */
    CS_STREAM_DENSITY,
    /** Sign vectors that sketch the top of a spectrum. */
    CS_STREAM_SKETCH,
    /** Plans under which a trained model reads a text. */
    CS_STREAM_CONTENT,
    /** Tokens permuted over documents. */
    CS_STREAM_NULL,
    /** Probabilities of a synthetic language. */
    CS_STREAM_SYNTHETIC,
    /** Documents of a synthetic language. */
    CS_STREAM_TEXT,
    /** Images of a synthetic corpus. */
    CS_STREAM_IMAGE,
    /** Crops and flips of a training step. */
    CS_STREAM_AUGMENT,
    /** Resampled runs of a model. */
    CS_STREAM_RUNS,
    /** Replacements of masked tokens for replaced-token detection. */
    CS_STREAM_DETECT,
    /** Images on which a probe chooses its hidden states. */
    CS_STREAM_CHOICE,
    /** Predicted tokens kept by an objective with a share below 1. */
    CS_STREAM_SHARE,
} cs_stream;

/** A generator. It may be copied; one object must not be used by two threads at once. */
typedef struct cs_rng {
    /** \cond INTERNAL */
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4];
    int used;
    /** \endcond */

} cs_rng;

/** The generator of (seed, stream, index). */
cs_rng cs_rng_at(uint64_t seed, cs_stream stream, uint64_t index);

/** 64 uniform random bits. */
uint64_t cs_rng_u64(cs_rng *rng);

/** Uniform in [0, 1), a multiple of 2^-53. */
double cs_rng_uniform(cs_rng *rng);

/** Uniform integer in 0..n-1 without bias; n at least 1. */
int64_t cs_rng_below(cs_rng *rng, int64_t n);

/** Selection sampling (Knuth, TAOCP 2, 3.4.2, Algorithm S): whether the next of `*left` items is
 * among the `*wanted` drawn. Called once for each item; it decrements `*left`, and `*wanted` if
 * the item is drawn. Every subset is equally likely.
 */
static inline bool cs_rng_selects(cs_rng *rng, int64_t *left, int64_t *wanted)
{
    const bool selected = cs_rng_below(rng, (*left)--) < *wanted;
    *wanted -= selected;
    return selected;
}

/** Standard normal number (Box and Muller). */
double cs_rng_normal(cs_rng *rng);

/** Writes n independent signs, -1 or 1, to `values`. */
void cs_rng_signs(cs_rng *rng, int64_t n, double *values);

/** Permutes n values in place, uniformly (Fisher and Yates). */
void cs_rng_shuffle(cs_rng *rng, int64_t n, int32_t *values);

/** Writes a uniform permutation of 0..n-1 to `values`. */
void cs_rng_permutation(cs_rng *rng, int64_t n, int32_t *values);
