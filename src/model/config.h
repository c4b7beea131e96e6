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
    X(DEBERTA_V2, deberta_v2)                                                                      \
    X(GEMMA, gemma)                                                                                \
    X(GEMMA3_TEXT, gemma3_text)                                                                    \
    X(STARCODER2, starcoder2)                                                                      \
    X(STABLELM, stablelm)                                                                          \
    X(ARCEE, arcee)                                                                                \
    X(NEMOTRON, nemotron)                                                                          \
    X(OLMO, olmo)                                                                                  \
    X(OLMO2, olmo2)                                                                                \
    X(OLMO3, olmo3)                                                                                \
    X(EXAONE4, exaone4)                                                                            \
    X(SMOLLM3, smollm3)                                                                            \
    X(GRANITE, granite)                                                                            \
    X(COHERE, cohere)                                                                              \
    X(GLM4, glm4)                                                                                  \
    X(ERNIE4_5, ernie4_5)                                                                          \
    X(PHI3, phi3)                                                                                  \
    X(MT5, mt5)                                                                                    \
    X(UMT5, umt5)                                                                                  \
    X(GPT_BERT, gpt_bert)                                                                          \
    X(LTG_BERT, ltg_bert)                                                                          \
    X(MPNET, mpnet)                                                                                \
    X(NOMIC_BERT, nomic_bert)                                                                      \
    X(ESM, esm)                                                                                    \
    X(GPT_NEO, gpt_neo)                                                                            \
    X(GPT_BIGCODE, gpt_bigcode)                                                                    \
    X(FALCON, falcon)                                                                              \
    X(DEIT, deit)                                                                                  \
    X(IJEPA, ijepa)                                                                                \
    X(CLIP_VISION_MODEL, clip_vision_model)                                                        \
    X(SIGLIP_VISION_MODEL, siglip_vision_model)                                                    \
    X(DINOV2_WITH_REGISTERS, dinov2_with_registers)                                                \
    X(DINOV2, dinov2)                                                                              \
    X(BEIT, beit)                                                                                  \
    X(MIXTRAL, mixtral)                                                                            \
    X(QWEN3_MOE, qwen3_moe)

#define CS_ARCH_NUMBER(NAME, name) CS_ARCH_##NAME,
typedef enum { CS_ARCHITECTURES(CS_ARCH_NUMBER) CS_ARCH_COUNT } cs_arch;

enum { CS_MOST_REGISTERS = 16 };
enum { CS_MOST_LAYERS = 1 << 10, CS_MOST_OFFSETS = 16, CS_ORDER_SIZE = 4096, CS_MOST_PAIRS = 128 };

/* MAE-LM's decoder (its section 3 and Table 2). */
typedef enum {
    CS_DECODER_SELF,       /* bidirectional self-attention (the paper's choice) */
    CS_DECODER_SELF_CROSS, /* and cross-attention to the encoder's output */
    /* Causal self-attention over the shifted text, cross-attention: predicts every token. */
    CS_DECODER_CAUSAL_CROSS,
    CS_DECODER_CROSS, /* cross-attention only, rows at the masked positions */
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
    CS_SCALING_DYNAMIC, /* none up to `original` positions, then by the length of the text */
    CS_SCALING_YARN,
    CS_SCALING_LLAMA3,
    CS_SCALING_LONGROPE /* one factor a frequency up to `original` positions, then another */
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
    float stretch[2][CS_MOST_PAIRS]; /* longrope: divisors of the frequencies, short and long */
} cs_rotary;

/* Sizes. */
typedef struct {
    /* Rows of the token table, classes of the loss. */
    int64_t vocab;
    /* The longest sequence; 0: no table of positions. The table has position.offset + positions
     * rows. */
    int64_t positions;
    int64_t width, layers, heads, inner;
    /* Heads of keys and values, each read by heads / kv_heads; 0: heads. */
    int64_t kv_heads;
    /* 0: width / heads. */
    int64_t head_width;
    /* Width of the tables, then projected to `width`; 0: they have the width. */
    int64_t embed_width;
    /* Groups of layers that share parameters; 0: none shared. */
    int64_t groups;
    /* Rows of the token type table (all rows use type 0); 0: none. */
    int64_t token_types;
    /* Values of a real vector that is read in place of an id, projected to the width; 0: rows are
     * only ids (for images: codes). */
    int64_t real_width;
    /* Images: values of a vector of each that is projected and added to the class token (y_extra of
     * GVP, section 4.1); 0: none. */
    int64_t extra_width;
} cs_model_shape;

/* Norms before sublayers. */
typedef enum { CS_ENTRY_NORMS, CS_ENTRY_FIRST_PLAIN, CS_ENTRY_PLAIN } cs_entry;

/* Norms of queries and keys: of each head with one gain for all, of each head with its own, or of
 * all heads together. */
typedef enum {
    CS_HEAD_NORM_NONE,
    CS_HEAD_NORM_SHARED,
    CS_HEAD_NORM_EACH,
    CS_HEAD_NORM_WHOLE
} cs_head_norm;

/* The parts of a layer: norms, biases, and how its two sublayers are joined. */
typedef struct {
    cs_activation activation;
    /* The norm follows each residual sum (BERT, RoBERTa); else it precedes each sublayer. */
    bool post_norm;
    /* Norm of the embedding sum (roberta-*, bert). */
    bool embed_norm;
    /* Which sublayers have a norm before them. */
    cs_entry entry;
    /* Attention and mlp read the layer's input, not one the other's sum. */
    bool parallel;
    /* Parallel sublayers have one norm for both. */
    bool one_norm;
    /* The output of a sublayer has a separate norm. */
    bool sandwich;
    /* The hidden units of an mlp have a norm before its second matrix. */
    bool inner_norm;
    /* The input of each sublayer is a weighted sum of the embeddings and of all earlier residual
     * sums (DenseFormer: Pagliardini et al. 2024). */
    bool mixed;
    /* Norms divide by the root mean square, without centring. */
    bool rms;
    /* Norms have neither gain nor bias, except those of distances and of attention.post. */
    bool no_gain;
    /* Files hold the gains of norms minus 1. */
    bool gain_from_one;
    /* The mlp is act(a) b of two products a, b. */
    bool gated;
    /* Biases of linear layers and norms; Hugging Face classes need true. */
    bool bias;
    /* Parts of an architecture. With `bias`: which layers have one. */
    bool qkv_bias, output_bias, mlp_bias, norm_bias, dense_bias;
    /* Epsilon of the norms. */
    double eps;
} cs_model_layer;

/* Factors; 0: 1. */
typedef struct {
    double embed;    /* of the sum of embeddings */
    double residual; /* of what a sublayer adds to the residual stream */
    /* Token dropout (esm): vectors of tokens times this over the share of a text's tokens that are not
     * masked, and zero of masked ones; 0: none. */
    double kept;
    bool layer; /* files have factors of each column of it (layer scale), which join its matrix */
} cs_model_scale;

typedef struct {
    /* Scores decrease linearly with the distance (ALiBi). */
    bool alibi;
    /* Norms of the queries and keys. */
    cs_head_norm head_norm;
    /* The output of the heads is multiplied by gelu of a further product of their input. */
    bool gated;
    /* The output of the heads has a norm before the output matrix. */
    bool inner_norm;
    /* Scores are divided by its root; 0: the width of a head. */
    double score_width;
    /* A score x becomes score_cap tanh(x / score_cap); 0: none. */
    double score_cap;
    /* Local layers attend to the rows closer than this; 0: none is local. */
    int64_t window;
    /* Bit l: layer l is local. */
    uint64_t local[CS_MOST_LAYERS / 64];
    /* Two-stream: the start of the query stream is learned. */
    bool query_vector;
    /* Two-stream: a query does not depend on the position that it fills. */
    bool blind_queries;
} cs_model_attention;

/* Tables of relative positions: one for all layers, one of each layer, or both, whose sums the layers
 * have once a file is read. */
typedef enum { CS_RELATIVE_ONE, CS_RELATIVE_EACH, CS_RELATIVE_BOTH } cs_relative_tables;

/* Mixtures of experts (mixtral): in their layers a row goes through `chosen` of `count` gated mlps. */
typedef struct {
    int64_t count; /* 0: none */
    int64_t chosen;
    int64_t inner;
    /* The weights of those chosen sum to one. */
    bool normalised;
    /* Bit l: layer l has one mlp, of shape.inner units. */
    uint64_t single[CS_MOST_LAYERS / 64];
} cs_model_experts;

/* How positions enter in addition to their table. */
typedef struct {
    /* Row of the first position in the table: the id of the padding token + 1 in roberta-*, else 0;
     * set by cs_model_config_ids. */
    int64_t offset;
    /* local_rotary.theta 0: local layers have `rotary`. */
    cs_rotary rotary, local_rotary;
    /* Columns 2i, 2i + 1 are rotated together; else i, i + n / 2. */
    bool rotary_interleaved;
    /* Bit l: layer l has no rotary positions. */
    uint64_t unturned[CS_MOST_LAYERS / 64];
    /* Rotary: the longest text that the model was made for, 0: unknown; rows of the decoder's
     * position table. */
    int64_t longest;
    /* 0: no relative positions. Both sides have their buckets, whatever the masks are.
     * relative_distance 0: cs_plane_buckets, of positions in the plane of an image. */
    int64_t relative_buckets, relative_distance;
    cs_relative_tables relative_tables;
    /* DeBERTa: scores add products with vectors of 2 distance_span distances; 0: no. */
    int64_t distance_span;
    /* The table of vectors has no last row. */
    bool distance_odd;
    /* cs_log_bucket of a distance. */
    int64_t distance_buckets, distance_most;
    /* The vectors that queries are multiplied with, and those that keys are. */
    bool distance_keys, distance_queries;
    /* They are computed by the matrices of content; else by separate ones. */
    bool distance_shared;
    /* Such matrices give each head its vectors for queries, then for keys; else all heads have the
     * former before the latter. */
    bool distance_by_head;
    /* They come from a table with a norm. */
    bool distance_norm;
    /* They are a table of each layer, one for all heads; longer texts than distance_span are
     * refused. */
    bool distance_table;
    /* Products with them are not divided by the root of a head's width (albert). */
    bool distance_unscaled;
} cs_model_position;

typedef struct {
    /* No head of a language model: only states. */
    bool absent;
    /* The final norm is the head's: states are without it. */
    bool norm;
    /* Dense layer, activation and norm before the output embedding (roberta-*, bert). */
    bool transform;
    /* Activation of the transform. */
    cs_activation activation;
    /* Bias of the logits. */
    bool bias;
    /* The output embedding is the token table. */
    bool tied;
    /* Factor of the input of the output matrix; 0: 1. */
    double scale;
    /* A logit x becomes logit_cap tanh(x / logit_cap); 0: none. */
    double logit_cap;
    /* Outputs of a classification head, which replaces that of the language model: 1 for
     * regression, 0 none. */
    int64_t classes;
    cs_readout readout;
    /* The head gives two numbers for every row: that an answer begins there and that it ends there
     * (train/spans.h); classes is 2. */
    bool spans;
    /* The classification head is that of the language model, for a token of each class
     * (train/cloze.h), at a position given by the text. */
    bool cloze;
    cs_target target;
    /* A second head predicts whether a token was replaced. */
    bool detector;
    /* Tokens ahead that a row predicts, each by a separate last layer; that of the next token is
     * the layer of the model (Gloeckle et al. 2024); 0: none. */
    int64_t offsets;
    /* Linear: power of 1/n, 0 sum, 2 mean. */
    double pooling;
} cs_model_head;

/* vit, vit_mae: sizes of the images, which determine positions and real_width
 * (cs_model_config_pictures). */
typedef struct {
    int64_t height, width, patch, channels;
    /* Rows behind the class token that have no position; their ids are 2 and above. */
    int64_t registers;
    /* Order of the patches in their sequence (cs_model_order); "": along rows. */
    char order[CS_ORDER_SIZE];
    /* Positions are fixed sines and cosines of the position in the plane; else learned. */
    bool sinusoidal;
    /* There is no table of positions. */
    bool no_table;
} cs_model_picture;

/* Settings that only training reads. */
typedef struct {
    double dropout, attention_dropout, embed_dropout;
    /* Standard deviation of initial weights. */
    double init_range;
} cs_model_training;

/* The special tokens of a tokenizer; -1: none. */
typedef struct {
    int32_t pad, bos, eos, mask, unk;
} cs_special_ids;

typedef struct {
    cs_arch arch;
    cs_model_shape shape;
    cs_model_layer layer;
    cs_model_scale scale;
    cs_model_attention attention;
    cs_model_position position;
    cs_model_experts experts;
    cs_model_head head;
    cs_model_picture picture;
    cs_model_training training;
    cs_decoder_config decoder;
    cs_special_ids ids;
} cs_model_config;

/* A preset: "1m", "4m", "small" (6 x 256), "base" (12 x 768, MAE-LM, GPT-2), "cramming" (16 x 768,
 * LA section 5.1), "large" (24 x 1024, MAE-LM large++). Fills sizes only; CS_ERR_USAGE lists the
 * names. */
cs_status cs_model_preset(const char *name, cs_model_config *config) CS_MUST_CHECK;

cs_status cs_arch_by_name(const char *name, cs_arch *out) CS_MUST_CHECK;
/* Whether masked rows of the class predict the token after theirs. */
bool cs_arch_shifts(cs_arch arch);
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

/* Takes the special tokens of the current tokenizer, and sets what follows from them: positions of
 * roberta-* start after the row of the padding token. */
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
/* Rows before the first of a sequence that represent no patch: the class token and that of
 * distillation (deit) or registers. Their ids are 0, 2, 3, ... */
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
/* Whether a layer has rotary positions, if the model has them. */
bool cs_layer_turns(const cs_model_config *config, int64_t layer);
/* Whether a layer has a mixture of experts. */
bool cs_layer_mixes(const cs_model_config *config, int64_t layer);
/* Rows of the table of distances. */
int64_t cs_distance_rows(const cs_model_config *config);
/* Relative positions in the plane of an image of h x w patches (BEiT): (2 h - 1) (2 w - 1)
 * differences, and 3 of a class token: from it, to it, to itself. */
int64_t cs_plane_buckets(const cs_model_config *config);
/* Whether the class of the architecture predicts the next token. */
bool cs_arch_causal(cs_arch arch);
/* CS_ERR_USAGE names an architecture that is read and not trained. */
cs_status cs_arch_trained(cs_arch arch) CS_MUST_CHECK;
/* CS_ERR_USAGE if it cannot be fine-tuned: without an encoder, or with experts. */
cs_status cs_model_config_tunes(const cs_model_config *config) CS_MUST_CHECK;

/* config.json: the Hugging Face keys of the architecture; settings that these classes do not have
 * are under "cospec" ("trained" there is no setting: cs_model.trained). A model that no class
 * computes has model_type "cospec" and names its architecture under "cospec", so that no library
 * loads it as something else. Reading refuses unknown architectures, activations and settings by
 * name, values that would change the arithmetic (scale_attn_by_inverse_layer_idx, ...), and
 * quantised weights. Keys that the class of the architecture does not read are ignored
 * (cs_config_unread). NULL: no memory. */
json_t *cs_model_config_json(const cs_model_config *config) CS_MUST_CHECK;
/* The same with the record of its training, which goes under "cospec" (NULL: none): if its
 * attention is not that of the class, the model has is_decoder, if the class supports that, or
 * "cospec". source: for an architecture that is not trained here the config.json as read, which is
 * written with the current head, dropout and type; else NULL. */
json_t *cs_model_config_json_of(const cs_model_config *config, json_t *source,
                                json_t *trained) CS_MUST_CHECK;
cs_status cs_model_config_parse(const char *where, const json_t *json,
                                cs_model_config *out) CS_MUST_CHECK;
/* The part of a config.json that a model of images is: vision_config of clip and siglip, whose text
 * tower is not read; else the whole. Borrowed. */
json_t *cs_config_of_images(json_t *json);
/* The keys of a config.json that its architecture does not read, "A, B", allocated; NULL: none. */
cs_status cs_config_unread(const json_t *json, cs_arch arch, char **names) CS_MUST_CHECK;
