/* cospec verify trained: small models trained on the toy model's sequences, held against theory.
 *
 *   linear   the blind linear architecture under the spectral loss, factors 2 and 1
 *   table    a free vector a context under the same loss and the same operations: what the loss
 *            asks for when no architecture stands in its way
 *   network  a small Transformer under cross-entropy, which knows which position it fills
 */
#ifndef CS_CLI_VERIFY_TRAINED_H
#define CS_CLI_VERIFY_TRAINED_H

#include "analysis/learned_factors.h"
#include "io/table.h"
#include "tensor/backend.h"
#include "text/corpus.h"
#include "text/tokenizer.h"

typedef struct {
    int64_t width; /* d; 0: the largest t <= 16 at a gap of the spectrum */
    int64_t steps; /* of each model */
    uint64_t seed;
    const cs_spectrum_options *solver;
} cs_trained_options;

/* Appends statements, and rows to the table (made when it is empty). CS_ERR_USAGE: a toy that no
 * model can be trained on (a class-tagged empty prefix, a given target), a width beyond the matrix;
 * CS_ERR_MEMORY: a toy too large. */
cs_status cs_verify_trained(const cs_toy *toy, const cs_trained_options *options,
                            cs_statements *out, cs_table *table) CS_MUST_CHECK;

/* --- shared by the two files of it -------------------------------------------------------------*/

typedef struct {
    const cs_toy *toy;
    const cs_trained_options *options;
    char *input;
    cs_toy_contexts contexts;
    cs_learned_target target;
    cs_corpus corpus; /* all sequences, or a sample of them */
    cs_tokenizer *tokenizer;
    cs_backend *backend;
    int64_t width;
} cs_trained;

/* Train and read f (contexts x d) and W (targets x d) of the model. */
cs_status cs_trained_linear(const cs_trained *t, double factor, cs_dense *f,
                            cs_dense *w) CS_MUST_CHECK;
cs_status cs_trained_table(const cs_trained *t, double factor, cs_dense *f,
                           cs_dense *w) CS_MUST_CHECK;

/* Trains a small Transformer and measures it on fresh sequences. */
cs_status cs_trained_network(const cs_trained *t, cs_learned_entropy *out) CS_MUST_CHECK;

/* Power of 1/n in the linear architecture: the mean keeps a constant the same for contexts of any
 * size, and the constant is the first singular function. */
#define CS_TRAINED_POOLING 2.0

#endif
