/* Shared by the files that emit networks. */
#pragma once

#include "model/network.h"

/* A network being emitted. Failures are kept in the graph, as its emitters do. */
typedef struct {
    const cs_model *model;
    const cs_model_config *config;
    const cs_network_options *options;
    cs_network *net;
    cs_graph *graph; /* of net */
    int *param;      /* tensor of each parameter of the model, CS_NONE: not used yet */
    bool decoder;    /* in the decoder: no dropout */
    int places;      /* vectors of distances, before the layers' matrices */
} cs_emitter;

/* Whether the rows of the decoder are kept readable, and not those of the encoder. */
bool cs_emit_keeps_decoder(const cs_emitter *e);

/* The tensor of parameter "<prefix><name>", one tensor however often it is requested. */
int cs_emit_param(cs_emitter *e, const char *prefix, const char *name);
/* For a bias: CS_NONE if the model has none. */
int cs_emit_bias(cs_emitter *e, const char *prefix, const char *name);

/* y = act(x w^T + b) with parameters "<prefix><name>.weight" and ".bias". */
int cs_emit_linear(cs_emitter *e, int x, const char *prefix, const char *name, cs_activation act);

/* A residual stream: its rows are x + drop(r), where r (CS_NONE: nothing) is still to be added: the
 * next norm does both. */
typedef struct {
    int x, r;
} cs_stream;

/* The input of a sublayer from the stream, and the stream afterwards. Norm before the sublayer: the
 * normalised sum, and in `stream` the sum. Norm after it: the stream itself. */
int cs_emit_enter(cs_emitter *e, cs_stream *stream, const char *prefix, const char *name);
/* Adds the output of the sublayer, through its norm if that comes after. */
void cs_emit_leave(cs_emitter *e, cs_stream *stream, const char *prefix, const char *name,
                   int made);

/* The stream's rows, summed; at the loss rows if it is not there yet. */
int cs_emit_sum(cs_emitter *e, cs_stream stream);
/* The final norm ("final_norm" or "decoder.norm"); the stream itself if norms come after sublayers.
 */
int cs_emit_final(cs_emitter *e, cs_stream stream, const char *name);

/* Restricts the result of attention and the stream to the loss rows. */
void cs_emit_narrow(cs_emitter *e, cs_stream *stream, int *made);

/* The sublayers of a layer. narrow: the last attention below the loss, see cs_emit_narrow. entry
 * (may be NULL): the input stream of the layer, summed. */
typedef struct {
    const char *prefix; /* "layer.3." */
    int64_t number, width;
    cs_attention_options attention;
    bool narrow;
} cs_layer;
int cs_emit_enter_attention(cs_emitter *e, const cs_layer *layer, cs_stream *stream);
void cs_emit_attention(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int *entry);
void cs_emit_mlp(cs_emitter *e, const cs_layer *layer, cs_stream *stream);
/* Both sublayers, sequential or parallel. */
void cs_emit_layer(cs_emitter *e, const cs_layer *layer, cs_stream *stream, int *entry);

/* Columns of the queries of all heads of a layer, and of its keys, by its stack. */
int64_t cs_emit_key_width(const cs_emitter *e, const cs_layer *layer);

/* Queries, keys and values of the content rows `in`, with the norm of each head and rotation if the
 * architecture has them; q CS_NONE without `queries`. And queries of other rows at `position`
 * (CS_NONE: nowhere). */
typedef struct {
    int q, k, v;
} cs_projections;
cs_projections cs_emit_project(cs_emitter *e, const cs_layer *layer, int in, bool queries);
int cs_emit_queries(cs_emitter *e, const cs_layer *layer, int in, int position);

/* Options of self-attention in layer `number` of the encoder, for rows at `position` (CS_NONE:
 * nowhere) with limits `lim`. */
cs_attention_options cs_emit_masks(cs_emitter *e, int64_t number, int lim, int position);

/* "layer.3." or "decoder.layer.3." into a buffer: for a layer that shares its parameters that of
 * its group. */
enum { CS_PREFIX_SIZE = 64 };
const char *cs_emit_prefix(cs_emitter *e, int64_t layer, char buffer[CS_PREFIX_SIZE]);

/* Content rows with their index tensors, embedded, with norm and dropout of embeddings. */
int cs_emit_content(cs_emitter *e);
/* The norm and dropout of an embedding sum. */
int cs_emit_embedded(cs_emitter *e, int x);
/* Keeps the rows of the stream after `layer` layers readable if requested. */
void cs_emit_hidden(cs_emitter *e, int64_t layer, int rows);

/* Each form: emits rows up to the input of the head at loss rows (CS_NONE without loss rows). */
int cs_emit_two_stream(cs_emitter *e);
int cs_emit_mae(cs_emitter *e);
/* Layer l of the encoder, and the stream after its first `layers` layers. */
cs_layer cs_emit_encoder_layer(cs_emitter *e, int64_t l, char prefix[CS_PREFIX_SIZE]);
cs_stream cs_emit_layers(cs_emitter *e, int64_t layers, bool narrow);
/* The encoder of single and mae: the stream after its last layer, narrowed if requested. */
cs_stream cs_emit_encoder(cs_emitter *e, bool narrow);
