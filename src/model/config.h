/* The configuration of a model: sizes and choices, and their form as config.json.
 *
 * An architecture is a row of a table (model/arch.c) with its parts, the keys of its config.json
 * and the names of its tensors. All but `linear`, the single layer of pooled linear attention of
 * Theorem 4.3, have the arithmetic of the Hugging Face class of their name. Those whose row says
 * `trained` can also be trained here with every objective; the masks and rows differ
 * (model/network.h). The others are only read. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/graph.h"

/* Each architecture and its row, cs_arch_NAME (model/arch_private.h). */
#define CS_ARCHITECTURES(X)                                                                        \
    X(GPT2, gpt2)                                                                                  \
    X(ROBERTA_PRELAYERNORM, roberta_prelayernorm)                                                  \
    X(ROBERTA, roberta)                                                                            \
    X(BERT, bert)                                                                                  \
    X(LINEAR, linear)                                                                              \
    X(VIT, vit)                                                                                    \
    X(VIT_MAE, vit_mae)                                                                            \
    X(LLAMA, llama)                                                                                \
    X(MISTRAL, mistral)                                                                            \
    X(EUROBERT, eurobert)                                                                          \
    X(QWEN2, qwen2)                                                                                \
    X(QWEN3, qwen3)                                                                                \
    X(GPT_NEOX, gpt_neox)                                                                          \
    X(MODERNBERT, modernbert)                                                                      \
    X(MODERNBERT_DECODER, modernbert_decoder)                                                      \
    X(DISTILBERT, distilbert)                                                                      \
    X(ELECTRA, electra)                                                                            \
    X(ALBERT, albert)                                                                              \
    X(XLM_ROBERTA, xlm_roberta)                                                                    \
    X(CAMEMBERT, camembert)                                                                        \
    X(OPT, opt)                                                                                    \
    X(GEMMA2, gemma2)                                                                              \
    X(PHI, phi)                                                                                    \
    X(GPTJ, gptj)                                                                                  \
    X(BLOOM, bloom)                                                                                \
    X(T5, t5)                                                                                      \
    X(DEBERTA_V2, deberta_v2)

#define CS_ARCH_NUMBER(NAME, name) CS_ARCH_##NAME,
typedef enum { CS_ARCHITECTURES(CS_ARCH_NUMBER) CS_ARCH_COUNT } cs_arch;

enum { CS_MOST_LAYERS = 1 << 10, CS_MOST_OFFSETS = 16, CS_ORDER_ROOM = 4096 };

/* MAE-LM's decoder (its section 3 and Table 2). */
typedef enum {
    CS_DECODER_SELF,         /* bidirectional self-attention (the paper's choice) */
    CS_DECODER_SELF_CROSS,   /* and cross-attention to the encoder's output */
    CS_DECODER_CAUSAL_CROSS, /* causal self-attention over the shifted text, cross-attention:
                                predicts every token */
    CS_DECODER_CROSS,        /* cross-attention only, rows at the masked positions */
} cs_decoder_attention;

/* The state of a text that a classification head reads: of its first token (BERT's [CLS]), of its
 * last (GPT-2), or the mean over all. */
typedef enum { CS_READ_FIRST, CS_READ_LAST, CS_READ_MEAN } cs_readout;

/* Targets of loss rows: ids, by the logits of a vocabulary; the values of a real row; or these
 * standardised row by row (He et al. 2022, section 3; cs_row_normalise). */
typedef enum { CS_TARGET_IDS, CS_TARGET_PIXELS, CS_TARGET_NORMALISED } cs_target;

typedef struct {
    int64_t layers; /* 0: no decoder */
    int64_t width, heads, inner;
    cs_decoder_attention attention;
    /* layers of the form of the encoder with the same token table, with separate relative positions
     * (t5): its heads, units and head width are those of the encoder */
    bool stack;
    int32_t start; /* stack: the id that it reads before a text; -1: unknown */
    bool headless; /* stack: no output matrix, only states */
} cs_decoder_config;

/* Rotary positions (Su et al. 2021): frequencies theta^(-2i/n) of the n rotated columns, scaled for
 * lengths beyond those of training (model/rotary.h). */
typedef enum {
    CS_SCALING_NONE,
    CS_SCALING_LINEAR,
    CS_SCALING_DYNAMIC, /* none up to `original` positions; longer texts are refused */
    CS_SCALING_YARN,
    CS_SCALING_LLAMA3
} cs_rotary_scaling;

typedef struct {
    double theta; /* 0: no rotary positions */
    /* share of the columns of a head, from the first, that are rotated */
    double share;
    cs_rotary_scaling scaling;
    double factor, original; /* lengths, relative to the original one */
    double low, high;        /* llama3: low and high frequency factor; yarn: beta slow and fast */
    double attention;        /* factor of cosine and sine */
    bool whole;              /* yarn: bounds of the ramp are whole numbers */
} cs_rotary;

typedef struct {
    cs_arch arch;
    int64_t vocab;     /* rows of the token table, classes of the loss */
    int64_t positions; /* the longest sequence; 0: no table. The position table has position_offset
                          + positions rows. */
    int64_t width, layers, heads, inner;
    cs_activation act;
    bool post_norm;  /* norm after each residual sum (BERT, RoBERTa); else before each sublayer */
    bool embed_norm; /* norm of the embedding sum (roberta-*, bert) */
    bool head_transform; /* dense, gelu, norm before the output embedding (roberta-*, bert) */
    bool head_bias;      /* bias of the logits */
    /* outputs of a classification head, which replaces that of the language model: 1 for
     * regression, 0 none */
    int64_t classes;
    cs_readout readout;
    /* the head gives two numbers for every row: that an answer begins there and that it ends there
     * (train/spans.h); classes is 2 */
    bool spans;
    /* the classification head is that of the language model, for a token of each class
     * (train/cloze.h), at a position given by the text */
    bool cloze;
    bool bias; /* biases of linear layers and norms; Hugging Face classes need true */
    /* parts of an architecture. With `bias`: which layers have one. */
    bool qkv_bias, output_bias, mlp_bias, norm_bias, dense_bias;
    bool rms;           /* norms divide by the root mean square, without centring */
    bool gated;         /* mlp: act(a) b of two products a, b */
    bool parallel;      /* attention and mlp read the layer's input, not one the other's sum */
    bool one_norm;      /* parallel sublayers have one norm for both */
    bool sandwich;      /* the output of a sublayer has a separate norm */
    bool gain_from_one; /* files hold the gains of norms minus 1 */
    bool slopes;        /* attention decreases linearly with the distance (ALiBi) */
    int64_t place_span; /* attention adds products with vectors of 2 place_span distances; 0: no */
    int64_t place_buckets, place_most; /* cs_log_bucket */
    bool place_keys, place_queries;    /* vectors that queries are multiplied with, that keys are */
    /* computed by the matrices of content; else by separate ones */
    bool place_shared;
    bool place_norm;  /* of a table with a norm */
    bool place_table; /* vectors of distances are a table of each layer, one for all heads; longer
                         texts than place_span are refused */
    bool
        place_unscaled; /* products with them are not divided by the root of a head's width (albert) */
    bool headless;      /* no head of a language model: only states */
    bool first_plain; /* no norm before the first attention */
    bool head_norm;   /* norms of the queries and keys of each head */
    /* rotary: columns 2i, 2i + 1 are rotated together; else i, i + n / 2 */
    bool turn_pairs;
    int64_t kv_heads;   /* heads of keys and values, each read by heads / kv_heads; 0: heads */
    int64_t head_width; /* 0: width / heads */
    cs_rotary rotary, local_rotary; /* local_rotary.theta 0: local layers have `rotary` */
    /* rotary: the longest text that the model was made for, 0: unknown; rows of the decoder's
     * position table */
    int64_t longest;
    int64_t embed_width; /* of the tables, then projected to the width; 0: they have the width */
    int64_t groups;      /* groups of layers that share parameters; 0: none shared */
    double embed_scale;  /* of the sum of embeddings; 0: 1 */
    double head_scale;   /* of the input of the output matrix; 0: 1 */
    double score_width;  /* scores are divided by its root; 0: the width of a head */
    double score_cap, logit_cap; /* cap x becomes cap tanh(x / cap); 0: none */
    /* local layers attend to the rows closer than this; 0: none is local */
    int64_t window;
    uint64_t local[CS_MOST_LAYERS / 64]; /* bit l: layer l is local */
    cs_activation head_act;              /* of the head transform */
    bool tied;                           /* output embedding = token table */
    int64_t token_types;     /* rows of the token type table (all rows use type 0); 0: none */
    int64_t position_offset; /* row of the first position: pad_id + 1 in roberta-*, else 0; set by
                                cs_model_config_ids */
    double eps;              /* of the norms */
    double dropout, attention_dropout, embed_dropout;
    double init_range; /* standard deviation of initial weights */
    /* 0: no relative positions. Both sides have their buckets, whatever the masks are. */
    int64_t relative_buckets, relative_distance;
    /* values of a real vector that is read in place of an id, projected to the width; 0: rows are
     * only ids (for images: codes) */
    int64_t real_width;
    /* images: values of a vector of each that is projected and added to the class token (y_extra of
     * GVP, section 4.1); 0: none */
    int64_t extra_width;
    /* vit, vit_mae: sizes of the images, which determine positions and real_width
     * (cs_model_config_pictures) */
    int64_t image_height, image_width, patch, channels;
    char order
        [CS_ORDER_ROOM]; /* of the patches in their sequence (cs_model_order); "": along rows */
    /* positions are fixed sines and cosines of the position in the plane; else learned */
    bool waves;
    cs_target target;
    bool query_vector; /* two-stream models learn the start of the query stream */
    bool detector;     /* a second head predicts whether a token was replaced */
    /* tokens ahead that a row predicts, each by a separate last layer; that of the next token is
     * the layer of the model (Gloeckle et al. 2024); 0: none */
    int64_t offset_heads;
    /* two-stream: a query does not depend on the position that it fills */
    bool blind_queries;
    cs_decoder_config decoder;
    double pooling;                                  /* linear: power of 1/n, 0 sum, 2 mean */
    int32_t pad_id, bos_id, eos_id, mask_id, unk_id; /* -1: none */
} cs_model_config;

/* A preset: "1m", "4m", "small" (6 x 256), "base" (12 x 768, MAE-LM, GPT-2), "cramming" (16 x 768,
 * LA section 5.1), "large" (24 x 1024, MAE-LM large++). Fills sizes only; CS_ERR_USAGE lists the
 * names. */
cs_status cs_model_preset(const char *name, cs_model_config *config) CS_MUST_CHECK;

cs_status cs_arch_by_name(const char *name, cs_arch *out) CS_MUST_CHECK;
const char *cs_arch_name(cs_arch arch);

/* The choices of the architecture (everything except sizes and decoder; ids as in the class's own
 * config) into a zeroed or sized config. With rotary positions there is no table of them:
 * `positions` becomes `longest`. */
void cs_model_config_default(cs_arch arch, cs_model_config *config);

/* Layers that attend to half of `attention` rows on each side, in addition to the row itself (the
 * causal class counts it among them), except every `every`-th from the first on, which attend to
 * all (ModernBERT). */
void cs_model_config_local(cs_model_config *config, int64_t attention, int64_t every);

/* The same encoder under a classification head with this number of outputs: no head of a language
 * model, no decoder, no query vector. The readout of the architecture's own class is cs_readout_of.
 */
cs_model_config cs_model_config_classifier(const cs_model_config *config, int64_t classes,
                                           cs_readout readout);
cs_readout cs_readout_of(cs_arch arch);
const char *cs_readout_name(cs_readout readout); /* "first", "last", "mean" */

/* The special tokens of the current tokenizer (-1: none), and settings that follow from them:
 * positions of roberta-* start after the row of the padding token. */
typedef struct {
    int32_t pad, bos, eos, mask, unk;
} cs_special_ids;
void cs_model_config_ids(cs_model_config *config, cs_special_ids ids);

/* For images in patches: a position for each patch and one for the class token before them, real
 * rows of patch x patch x channels values. CS_ERR_USAGE: patches that do not divide the sizes. */
cs_status cs_model_config_pictures(cs_model_config *config) CS_MUST_CHECK;
/* order[k]: the patch, along rows, at position k of a sequence, fresh memory; NULL along rows. The
 * name is "random:SEED", "hilbert", "squares:S" or a list of all patches (image/patches.h), else
 * CS_ERR_USAGE. */
cs_status cs_model_order(const cs_model_config *config, int32_t **order) CS_MUST_CHECK;

/* The same for a new model, from the request: "raster", "random" (one order by seed), a text file
 * (cs_patch_order_file, with its errors), or a name as above, which is not checked. */
cs_status cs_model_set_order(const char *order, uint64_t seed,
                             cs_model_config *config) CS_MUST_CHECK;
/* Rows before the first of a sequence that represent none of its positions: the class token, 0 or
 * 1. */
int64_t cs_model_config_extra(const cs_model_config *config);
const char *cs_target_name(cs_target target); /* "ids", "pixels", "normalised" */
cs_status cs_target_by_name(const char *name, cs_target *out) CS_MUST_CHECK;

/* CS_ERR_USAGE names the value out of range ("heads 5 do not divide width 128"). */
cs_status cs_model_config_check(const cs_model_config *config) CS_MUST_CHECK;

/* CS_ERR_USAGE unless the model reads rows of this width (0: of ids). */
cs_status cs_model_config_reads(const cs_model_config *config, int64_t real_width) CS_MUST_CHECK;

/* CS_ERR_USAGE unless the model reads images of these sizes, which messages call `name`. */
cs_status cs_model_config_sees(const cs_model_config *config, const char *name, int64_t height,
                               int64_t width, int64_t channels) CS_MUST_CHECK;

/* Whether the Hugging Face class of the architecture has the same arithmetic: no setting beyond
 * what the class knows. */
bool cs_model_config_exchangeable(const cs_model_config *config);

/* Of the encoder or of its second stack; of a model of one stack, always its own. */
int64_t cs_model_config_depth(const cs_model_config *config, bool decoder);

/* The longest sequence that its tables of positions have rows for; 0: any. */
int64_t cs_model_config_positions(const cs_model_config *config);
/* The longest text that it was made for, at most `most` (0: any); `most` if it is unknown. */
int64_t cs_model_config_length(const cs_model_config *config, int64_t most);

/* Of each head, and of all keys. */
int64_t cs_head_width(const cs_model_config *config);
int64_t cs_key_width(const cs_model_config *config);
/* Whether a state depends on the position of its row: a table, relative or rotary positions, a
 * window. */
bool cs_model_config_places(const cs_model_config *config);
bool cs_layer_is_local(const cs_model_config *config, int64_t layer);
/* Whether the class of the architecture predicts the next token. */
bool cs_arch_causal(cs_arch arch);
/* CS_ERR_USAGE names an architecture that is read and not trained. */
cs_status cs_arch_trained(cs_arch arch) CS_MUST_CHECK;
/* CS_ERR_USAGE if it cannot be fine-tuned: without an encoder. */
cs_status cs_model_config_tunes(const cs_model_config *config) CS_MUST_CHECK;

/* config.json: the Hugging Face keys of the architecture; settings that these classes do not have
 * are under "cospec" ("trained" there is no setting: cs_model.trained). A model that no class
 * computes has model_type "cospec" and names its architecture under "cospec", so that no library
 * loads it as something else. Reading refuses unknown architectures, activations and settings by
 * name, values that would change the arithmetic (scale_attn_by_inverse_layer_idx, ...), and keys
 * that are neither in the list of the architecture nor in that of keys that do not affect states,
 * unless null, false or empty: a part is never ignored. NULL: no memory. */
json_t *cs_model_config_json(const cs_model_config *config) CS_MUST_CHECK;
/* The same with the record of its training, which goes under "cospec" (NULL: none): if its
 * attention is not that of the class, the model has is_decoder, if the class supports that, or
 * "cospec". source: for an architecture that is not trained here the config.json as read, which is
 * written with the current head, dropout and type; else NULL. */
json_t *cs_model_config_json_of(const cs_model_config *config, json_t *source,
                                json_t *trained) CS_MUST_CHECK;
cs_status cs_model_config_parse(const char *where, const json_t *json,
                                cs_model_config *out) CS_MUST_CHECK;
