/* A model: its configuration and parameters, initialised or read from a checkpoint.
 *
 * Parameters have our own names ("layer.3.attention.qkv.weight"), O x I row-major with
 * rows = outputs; model/huggingface.c maps them to the names and transposes of Hugging Face
 * checkpoints. In roberta-* and bert, query, key and value matrices are joined to one 3d x d matrix
 * here.
 *
 * With d = width, f = inner, V = vocab and, in the decoder, e = its width, g = its inner; N counts
 * layers from 0, h the width of a head, q = heads h, k = kv_heads h. Names ending in .bias exist
 * where config.bias is set and, in layers and norms, qkv_bias, output_bias, mlp_bias, norm_bias.
 *
 *   embed.token                    V x d
 *   embed.real.weight              d x r                 real_width r: projects real rows
 *   embed.real.bias                1 x d                 vit: of patches alone
 *   embed.position                 (position_offset + positions) x d
 *   embed.type                     token_types x d
 *   embed.norm.gain .bias          1 x d                 embed_norm
 *   embed.project.weight .bias     d x e, 1 x d          embed_width e; tables, embed.norm, head and
 *                                                        output have e for d
 *   query.start                    1 x d                 query_vector
 *   relative.table                 relative_buckets x heads, one for all layers
 *   layer.N.attention.norm.gain .bias    1 x d           post_norm: of the sublayer's sum
 *   layer.N.attention.qkv.weight .bias   q + 2k x d, 1 x q + 2k  rows of q, then k, then v; gated: q
 *                                                        more
 *   layer.N.attention.inner.gain .bias   1 x q           inner_norm
 *   layer.N.attention.output.weight .bias  d x q, 1 x d
 *   layer.N.attention.post.gain, mlp.post.gain  1 x d    sandwich
 *   layer.N.attention.query_norm.gain, key_norm.gain  1 x h  head_norm; of all heads: 1 x q, 1 x k
 *   layer.N.relative.table               relative_buckets x heads  relative_tables, and decoder.layer.N
 *   layer.N.attention.mix, mlp.mix       1 x 2N + 2, 1 x 2N + 3  mixed; constant in training
 *   layer.N.mlp.norm.gain .bias    1 x d                 post_norm: of the sublayer's sum
 *   layer.N.mlp.in.weight .bias    f x d, 1 x f          gated: 2f rows, those activated first
 *   layer.N.mlp.inner.gain .bias   1 x f                 inner_norm
 *   layer.N.mlp.out.weight .bias   d x f, 1 x d
 *   final_norm.gain .bias          1 x d                 not post_norm
 *   norm.ones                      1 x max(d, f)         no_gain, in no file: norms have no others
 *   head.dense.weight .bias        d x d, 1 x d          head_transform
 *   head.norm.gain .bias           1 x d                 head_transform
 *   head.bias                      1 x V                 head_bias
 *   output.weight                  V x d                 not tied
 *   pixel.weight .bias             r x e, 1 x r          target: values; e the width of what it reads
 *   detect.weight .bias            2 x d, 1 x 2          detector: rows of "as it was", "replaced"
 *   offset.K.*                     as layer.L-1.*        offset_heads: of the K-th next token, K > 1
 *   span.output.weight .bias       2 x d, 1 x 2          spans, in place of the next three
 *   classifier.dense.weight .bias  d x d, 1 x d          classes; not gpt2, vit
 *   classifier.output.weight       C x d                 classes
 *   classifier.output.bias         1 x C                 classes; not gpt2
 *   rotary.frequency, rotary.local 1 x pairs that turn   of the configuration, in no file
 *   places.table                   2 place_span x d      vectors of distances; odd: a row less
 *   places.norm.gain .bias         1 x d                 place_norm
 *   layer.N.attention.place_key.weight .bias, place_query  q x d, 1 x q  not place_shared
 *   layer.N.attention.distance.weight    2 place_span - 1 x h  place_table
 *   alibi.slope                    1 x heads             slopes; likewise
 *   decoder.project.weight .bias   e x d, 1 x e          e != d or vit_mae: encoder's output to decoder
 *   decoder.mask                   1 x e                 not causal
 *   decoder.token                  V x e                 causal, but a stack, which reads embed.token
 *   decoder.position               (position_offset + positions) x e
 *   decoder.layer.N.attention. and .mlp.  as above, e for d, g for f; no attention in `cross`
 *   decoder.layer.N.cross.norm.gain .bias         1 x e       with cross-attention
 *   decoder.layer.N.cross.query.weight .bias      e x e, 1 x e
 *   decoder.layer.N.cross.kv.weight .bias         2e x e, 1 x 2e  rows of k, then v
 *   decoder.layer.N.cross.output.weight .bias     e x e, 1 x e; a stack: q for e in heads, no biases
 *   decoder.relative.table         relative_buckets x heads, one for all layers; a stack
 *   decoder.norm.gain .bias        1 x e                 not post_norm
 *   decoder.output.weight .bias    d x e, 1 x d          e != d, target ids: decoder's output to the head
 *
 * embed.token of vit and vit_mae: the class token, the mask token, then a row a code that is predicted.
 * With `waves` embed.position and decoder.position are fixed.
 *
 * `linear` has embed.token, embed.position, layer.0.attention.qkv.weight and output.weight alone.
 */
#pragma once

#include "base/status.h"
#include "image/images.h"
#include "image/processor.h"
#include "model/config.h"
#include "tensor/backend.h"
#include "tensor/params.h"
#include "text/corpus.h"

typedef struct cs_codes cs_codes; /* image/codes.h */

typedef struct cs_model {
    cs_model_config config;
    cs_params params;
    /* its training, in the form of train/model_kind.h: in config.json under "cospec"; NULL: unknown
     */
    json_t *trained;
    json_t *source;         /* config.json as read; NULL: none */
    cs_codes *codes;        /* of patches, which its ids represent; NULL: none */
    cs_processor processor; /* of images: preprocessor_config.json, if there is one */
} cs_model;

/* Table and memory of parameters, zero. training: also gradients and moments. */
cs_status cs_model_init(const cs_model_config *config, cs_backend *backend, bool training,
                        cs_model *out) CS_MUST_CHECK;
/* The same for inference, with the matrices streamed from `source`, which the model owns from now
 * on, also on failure. */
cs_status cs_model_init_streamed(const cs_model_config *config, cs_backend *backend,
                                 cs_params_source source, cs_model *out) CS_MUST_CHECK;
void cs_model_free(cs_model *model);

/* Initial values: ones for gains, zeros for biases, else normal with standard deviation init_range;
 * where norms come before the sublayers, their output matrices have it divided by sqrt(sublayers)
 * (GPT-2, section 2.3). `linear`, a product of three projections, starts from tables of standard
 * deviation 1 and projections of 1 / sqrt(d), so that features are of order one. A function of
 * (seed, parameter name, row, column), the same on every backend. */
cs_status cs_model_randomise(cs_model *model, uint64_t seed) CS_MUST_CHECK;

/* Copies to every parameter of `to` the value of the parameter of `from` with the same name and
 * shape, except those of a classification head: a task starts with a new head. The others get the
 * initial values of the seed. Also the config.json that it was read from. CS_ERR_MEMORY. */
cs_status cs_model_take_encoder(const cs_model *from, uint64_t seed, cs_model *to) CS_MUST_CHECK;

/* For a classification head that is the head of the language model (cs_model_config.cloze): copies
 * rows token[0 .. count - 1] of the output matrix and of its bias. CS_ERR_MEMORY. */
cs_status cs_model_take_tokens(const cs_model *from, int64_t count, const int32_t *token,
                               cs_model *to) CS_MUST_CHECK;

/* DIR/model.safetensors, DIR/config.json and, if it has codes, DIR/codes.safetensors; of a model of
 * images also DIR/preprocessor_config.json; in Hugging Face form (with extra names for our own parameters, prefix "cospec."). Writing is atomic file by
 * file. */
cs_status cs_model_write(const cs_model *model, const char *dir) CS_MUST_CHECK;

/* CS_ERR_INPUT for a directory with an adapter, whose weights are to be added to those of a model. */
cs_status cs_model_refuse_adapter(const char *dir) CS_MUST_CHECK;

/* Reads a directory written by cs_model_write or by Hugging Face (sharded too). CS_ERR_INPUT names
 * missing or extra tensors and shapes that do not fit. Heads that the class lacks (a bare
 * GPT2Model) are filled as tied.
 *
 * Weights that would take over half of free memory as floats, and are not trained, stay in the file:
 * each matrix is read from there and widened for each operation that needs it, on the CPU backend
 * alone. The second does that with weights of any size. States have the same bits. */
cs_status cs_model_read(const char *dir, cs_backend *backend, bool training,
                        cs_model *out) CS_MUST_CHECK;
cs_status cs_model_read_streamed(const char *dir, cs_backend *backend, cs_model *out) CS_MUST_CHECK;

/* How files of images become those of the model. */
cs_image_fit cs_model_image_fit(const cs_model *model);

/* Images as input of the model: vectors of patches or, for width 0, ids; ids are codes if the model
 * has some, else all 0. Of images that are decoded later (cs_images.stream) `real` is NULL.
 * CS_ERR_USAGE: images of other sizes, a model of codes without them. */
cs_status cs_model_pictures(const cs_model *model, const cs_images *images, int threads,
                            cs_corpus *out) CS_MUST_CHECK;
