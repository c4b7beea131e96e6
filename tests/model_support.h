/* Shared by the tests of src/model: tiny models of every architecture, networks of every form with
 * random attention masks, and the inputs that each loss row depends on. */
#pragma once

#include "model/network.h"
#include "tensor/run.h"
#include "test.h"

typedef cs_status (*backend_open)(cs_backend **out);
/* Every backend of this build that runs on a CPU in float; ends with NULL. */
extern const backend_open model_backends[];

/* --- cases ------------------------------------------------------------------------------------ */

/* A form of network on a model with its own settings. */
typedef struct {
    const char *name;
    cs_form form;
    cs_arch arch;
    cs_loss loss;
    void (*adjust)(cs_model_config *config); /* NULL: the architecture as it is */
} model_case;

/* All forms, architectures, norms, losses, relative positions, decoders; ends with a NULL name. */
extern const model_case model_cases[];
/* Classification heads of every architecture, readout and loss, likewise. */
extern const model_case classifier_cases[];
/* Of architectures that are read and fine-tuned, likewise. */
extern const model_case read_cases[];

/* Two layers of width 8 (decoder one layer of 8 or 12) on 11 tokens; dropout where `drops`. */
cs_model_config case_config(const model_case *what, bool drops);
/* Whether two configurations have the same parts: heads, windows, gates, biases. */
bool same_parts(const cs_model_config *a, const cs_model_config *b);
/* Table and rotary positions, number by number: what one that was parsed has of a scaling that it has not
 * is not what a fresh one has. */
bool same_positions(const cs_model_config *a, const cs_model_config *b);
/* 2 sequences of 5 tokens, 4 queries, 6 decoder rows, 7 loss rows (classifiers: 2). */
cs_network_options case_options(const model_case *what, bool training);

/* --- a network with memory and inputs --------------------------------------------------------- */

typedef struct {
    cs_backend *backend; /* owned */
    cs_model model;
    cs_network net;
    cs_run *run;
} model_world;

/* Values of all parameters are random of order one (gains about one), a function of the name. */
void world_open(model_world *world, backend_open open, const cs_model_config *config,
                const cs_network_options *options);
void world_close(model_world *world);

enum { DATA_ROWS = 64, REAL_WIDTH = 3, EXTRA_WIDTH = 5 };

/* Inputs of a batch, as the index tensors of a network, at present sizes. */
typedef struct {
    int64_t batch, length, queries, decoder_length, predictions;
    int32_t token[DATA_ROWS], position[DATA_ROWS], vis[DATA_ROWS], lim[DATA_ROWS];
    int32_t query_position[DATA_ROWS], query_lim[DATA_ROWS];
    int32_t decoder_from[DATA_ROWS], decoder_token[DATA_ROWS], decoder_position[DATA_ROWS];
    int32_t decoder_vis[DATA_ROWS], decoder_lim[DATA_ROWS], decoder_cross_lim[DATA_ROWS];
    int32_t predict[DATA_ROWS], target[DATA_ROWS];
    int32_t head[DATA_ROWS];                         /* heads of offsets: whose each loss row is */
    double weight[DATA_ROWS];                        /* sum 1 over rows with a target */
    int32_t type[DATA_ROWS], readout_lim[DATA_ROWS]; /* classifiers */
    double goal[DATA_ROWS * REAL_WIDTH];
    int32_t real_row[DATA_ROWS]; /* models of real rows: every other row is one */
    double real[DATA_ROWS][REAL_WIDTH];
    /* models of extra vectors: every other row of each sequence but the last reads its own */
    int32_t extra_number[DATA_ROWS], extra_row[DATA_ROWS];
    double extra[DATA_ROWS][EXTRA_WIDTH];
} model_data;

/* Random tokens, ranks 0..3 with limits -1..3 (rows that see nothing among them), one padded row;
 * the last loss row has no target and, for seeds 2 modulo 3, reads nothing. A function of the seed.
 */
void data_fill(model_data *data, const model_world *world, uint64_t seed);
/* Sizes of the data, at most those of the network, and inputs; dropout keyed by a constant. */
void world_load(model_world *world, const model_data *data);

/* Forward at the inputs that are loaded: the loss; logits (predictions x vocab) unless NULL. */
double world_loss(model_world *world);
void world_logits(model_world *world, float *logits);

/* Which tokens (bit = row in its sequence) the logits of loss row p of the data may depend on;
 * `decoder`: tokens of the causal decoder. The transitive closure over all layers. */
typedef struct {
    int64_t sequence;
    uint64_t content, decoder;
} dependence;
dependence data_dependence(const model_data *data, const model_world *world, int64_t p);
