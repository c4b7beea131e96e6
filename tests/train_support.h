/* Tiny training runs for the tests of src/train. */
#pragma once

#include "model/model.h"
#include "test.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/model_kind.h"
#include "train/trainer.h"

typedef struct {
    cs_corpus corpus;
    cs_tokenizer *tokenizer;
    cs_backend *backend;
    cs_model model;
    cs_train_options options;
} training;

/* The parts of a run; zero: the default in brackets. */
typedef struct {
    cs_objective_kind kind;
    cs_arch arch;
    int64_t decoder_layers; /* [none] */
    int64_t width;          /* [16] */
    int64_t documents;      /* [20], of 3 to 9 tokens */
    bool distinct;          /* no token occurs twice, nothing is held out */
    int threads;            /* [1] */
    cs_loss loss;           /* [cross-entropy] */
    double replaced_token;  /* [no detector] */
    int64_t ahead;          /* diverse-ar: t, by heads of offsets [2, by queries] */
} recipe;

/* A freshly initialised model on a random corpus: 2 layers (linear: 1), 2 heads, 24 words, batches
 * of 4, 12 steps. Fails the test when it cannot be made. */
training make_training(const recipe *r, const char *dir);
void free_training(training *t);

/* Runs it; asserts CS_OK. */
cs_train_result trained(training *t);

/* All bytes of a file in fresh memory (cs_free). */
char *bytes_of(const char *path, int64_t *size);

/* Asserts that DIR/name is the same in two folders. */
void assert_same_file(const char *a, const char *b, const char *name);

/* cs_model_kind_read of a folder without weights. */
cs_status read_kind(const char *dir, const cs_model_config *config, cs_model_kind *out);
