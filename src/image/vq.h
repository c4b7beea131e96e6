/* Encoder and decoder around a codebook of patches (van den Oord et al., Neural Discrete
 * Representation Learning, NeurIPS 2017), Transformers over the T patches of an image:
 *
 *   z = x + f(x),   c[t] = the nearest vector of z[t],   y[t] = vector[c[t]],   x^ = y + g(y)
 *
 * x: T x V values; f and g: V -> width, learned positions, `layers` blocks with norms before their
 * sublayers (attention of all patches to all, GELU, 4 width inside), a norm, width -> V. The last
 * matrices are initialised to zero: f = g = 0 is k-means of patches, where training starts
 * (analysis/vision/vq_train.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "io/safetensors.h"
#include "tensor/params.h"
#include "tensor/run.h"

typedef struct {
    int64_t patches, values;      /* T, V */
    int64_t width, layers, heads; /* of f and of g */
} cs_vq_sizes;

typedef struct {
    cs_vq_sizes sizes;
    cs_backend *backend; /* a separate one, of the CPU */
    cs_params params;
} cs_vq;

/* Zero parameters; training: with gradients and moments. CS_ERR_USAGE: heads that do not divide the
 * width, sizes out of range. */
cs_status cs_vq_init(const cs_vq_sizes *sizes, int threads, bool training,
                     cs_vq *out) CS_MUST_CHECK;
/* As a new model (model.h): normal of sd 0.02 by (seed, name), the last matrices zero. */
cs_status cs_vq_randomise(cs_vq *vq, uint64_t seed) CS_MUST_CHECK;
void cs_vq_free(cs_vq *vq); /* accepts a zeroed object */

/* A part of it in use on several images at once. */
typedef enum { CS_VQ_ENCODER, CS_VQ_DECODER, CS_VQ_BOTH } cs_vq_part;
typedef struct {
    cs_vq *vq; /* borrowed */
    cs_vq_part part;
    cs_graph graph;
    cs_run *run;
    /* tensors; CS_NONE: not of this part. x: the encoder's input and target; y: input of the
     * decoder, or (both) the addend that turns z into it, which takes no gradient: the
     * straight-through estimate. kept: a copy of z, whose squared distance from `to` is the
     * commitment. */
    int rows, row, place, vis, lim, x, y, z, made, weight, error, kept, to, pull, commitment;
} cs_vq_pass;

cs_status cs_vq_open(cs_vq *vq, cs_vq_part part, int64_t pictures, bool training,
                     cs_vq_pass *out) CS_MUST_CHECK;
void cs_vq_close(cs_vq_pass *pass); /* accepts a zeroed object */

/* Number of images of the next forward pass. Set inputs after it. */
cs_status cs_vq_begin(cs_vq_pass *pass, int64_t pictures) CS_MUST_CHECK;
/* pictures x T x V values into an input. */
void cs_vq_put(cs_vq_pass *pass, int input, int64_t pictures, const float *values);

/* z of patches, patches of vectors: pictures x T x V values; both may be one array. */
cs_status cs_vq_encode(cs_vq_pass *pass, int64_t pictures, const float *patches,
                       float *z) CS_MUST_CHECK;
cs_status cs_vq_decode(cs_vq_pass *pass, int64_t pictures, const float *vectors,
                       float *made) CS_MUST_CHECK;

/* Tensors of a file: the parameters with the prefixes "encoder." and "decoder.", and "sizes". */
int64_t cs_vq_entries(const cs_vq *vq, cs_safetensors_entry *entry); /* capacity params.count */
cs_status cs_vq_write(const cs_vq *vq, cs_safetensors_writer *writer) CS_MUST_CHECK;
cs_status cs_vq_read(const char *path, const cs_safetensors *file, cs_vq *vq) CS_MUST_CHECK;
