/* Training of an image tokenizer: codes of patches with an encoder and a decoder (image/vq.h),
 * initialised by k-means.
 *
 *   loss = mean (x^ - x)^2 + beta mean (z - vector[c])^2    over values
 *
 * The gradient of the decoder by its input is passed to z unchanged (straight through); the second
 * term draws z to its vector (commitment, beta = 0.25). Vectors are moving means of the z that have
 * their code, not parameters (van den Oord et al. 2017, App. A.1): with n_c rows of code c in a
 * step, and s_c their sum,
 *   N_c <- g N_c + (1 - g) n_c,   M_c <- g M_c + (1 - g) s_c,   vector[c] = M_c / N_c,   g = 0.99,
 * from N_c = rows of a step / codes. A code with N_c below 1/10 takes the z of the step that is
 * farthest from its own vector, a different one for each (revived, as in image/codebook.h). */
#pragma once

#include "base/progress.h"
#include "image/codes.h"

typedef struct {
    int64_t patch, codes;
    int64_t width, layers, heads; /* of encoder and decoder */
    int64_t steps, batch;         /* pictures a step */
    double learning_rate;         /* AdamW; one-cycle over a tenth of warm-up and cosine */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
} cs_vq_options;

typedef struct {
    double error;    /* mean over the last tenth of the steps, for training images */
    int64_t revived; /* codes, counted each time */
} cs_vq_result;

/* Trains on the images that are not held out. The same bits for any number of threads.
 * CS_ERR_USAGE: an option out of range; CS_ERR_CONVERGE: a loss that is not finite;
 * CS_ERR_INTERRUPT between two steps. */
cs_status cs_vq_train(const cs_images *images, const cs_vq_options *options, cs_codes **out,
                      cs_vq_result *result) CS_MUST_CHECK;
