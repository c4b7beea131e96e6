/* The table of architectures: one row each, so that the files of src/model do not test for names.
 */
#pragma once

#include <stddef.h>

#include "model/config.h"
#include "tensor/params.h"

/* A key of config.json and the member that it sets, from `absent` if the key is missing (NAN: it is
 * required). A null counts as missing; for an id it means none, and of a list of ids the first is
 * used (the others end generated texts). */
typedef enum {
    CS_KEY_BOOL,
    CS_KEY_INT,
    CS_KEY_ID,
    CS_KEY_REAL,
    CS_KEY_COUNT,        /* a whole number above 0 */
    CS_KEY_INT_OR_NONE,  /* the same; null: 0 */
    CS_KEY_POSITIVE,     /* a real above 0 */
    CS_KEY_REAL_OR_NONE, /* the same; null: 0 */
    CS_KEY_ACT,          /* the name of an activation, no null; absent: the row's */
    /* sets nothing: a value other than `absent`, a truth value or number, is refused */
    CS_KEY_ONLY,
    /* another name of a whole number, after the first in its list, and never written */
    CS_KEY_ALIAS,
    /* names, separated by spaces, of ignored keys, which do not affect hidden states */
    CS_KEY_PAST,
} cs_key_kind;

typedef struct {
    const char *key;
    cs_key_kind kind;
    size_t at; /* of the member in cs_model_config */
    double absent;
} cs_arch_key;

/* Our name of a parameter without its last word, and theirs. "N": the number of the layer, a second one
 * that of the expert. Theirs
 * may begin with '/' (without the prefix of the class), '^' (columns of the file are our rows), '%'
 * (its rows are grouped by head of keys: its queries, key, value), '=' (it is the whole name, of a tensor
 * of 1 x rows x columns), '#' (a convolution: rows x channels x patch x patch), '!' (it is the whole
 * name, of a matrix or vector), '~' (the second half of its rows is our first), '@' (heads x columns of a head), in this order;
 * {a,b,c}: one tensor for each part of our rows. */
typedef struct {
    const char *ours, *theirs;
} cs_arch_tensor;

enum { CS_ARCH_LISTS = 4 };

/* The class of NorBERT 3, an LTG-BERT. */
#define CS_NORBERT "Norbert"

/* The classification head of the class, over the state that it reads. */
typedef enum {
    CS_SCORE_TANH,    /* drop, dense, tanh, drop, outputs */
    CS_SCORE_GELU,    /* the same with gelu */
    CS_SCORE_POOLER,  /* dense, tanh, drop, outputs */
    CS_SCORE_CONTEXT, /* the same with the head's activation */
    CS_SCORE_RELU,    /* the same with relu */
    CS_SCORE_NORM,    /* dense, the head's activation, norm, drop, outputs */
    /* the same, with a bias of the outputs if the dense layer has one */
    CS_SCORE_NORMED,
    CS_SCORE_DENSE, /* dense, gelu, outputs */
    CS_SCORE_BARE,  /* outputs, without bias */
    CS_SCORE_BIAS   /* outputs */
} cs_score;

typedef struct {
    const char *name;         /* model_type */
    const char *class, *head; /* "GPT2", "LMHeadModel" */
    const char *other_class;  /* read as `class`, of rows with own_code; NULL: none */
    const char *causal_head;  /* if config.json has is_decoder; NULL: `head` */
    const char *body;         /* of the class without a head, if no class has heads of classes */
    const char *prefix;       /* of tensors: "transformer."; files of the bare model lack it */
    /* trained and written here, in every form; else only read and fine-tuned */
    bool trained;
    bool causal;       /* for the next token */
    bool behind_pad;   /* positions start after that of the padding token */
    bool head_follows; /* the activation of the head is that of the layers */
    bool shifts;       /* masked rows predict the token after theirs (mntp) */
    /* Its files carry their own code: no class of transformers, and often no model_type. */
    bool own_code;
    bool states_alone; /* without the tensors of its head the model predicts no tokens */
    /* prefixes of names of tensors that do not affect states; NULL: no more */
    const char *past[4];
    bool pictures; /* reads patches after `begins` tokens, by 2-d positions */
    int64_t begins;
    bool plain_patches; /* their projection has no bias */
    bool keyless;       /* keys have no bias, of queries, keys and values */
    /* Names of the tokens of pictures: class, mask, distillation; NULL: none; "!": of one row, no box. */
    const char *token[3];
    bool places; /* reads position_embedding_type; else positions are absolute */
    /* classifier_pooling: its name for the first token, and the default without such a key; "mean"
     * is the mean. NULL: always the same state */
    const char *pooling[2];
    bool drop_embed; /* dropout of embeddings: as of the layers */
    /* rope_scaling concerns the layers that are not local alone */
    bool scales_full;
    cs_score score;
    /* of a new model: cs_model_config_local; 0: no local layers */
    int64_t local_attention, local_every;
    cs_model_config plain; /* its choices */
    /* Settings beyond the lists (NULL: none): from the whole file, after the keys. */
    cs_status (*read)(const char *where, const json_t *json, cs_model_config *config);
    void (*write)(const cs_model_config *config, json_t *json, cs_status *status);
    const cs_arch_key *keys[CS_ARCH_LISTS];       /* NULL: no more; each ends with a NULL key */
    const cs_arch_tensor *tensors[CS_ARCH_LISTS]; /* likewise */
} cs_arch_row;

#define CS_ARCH_ROW(NAME, name) extern const cs_arch_row cs_arch_##name;
CS_ARCHITECTURES(CS_ARCH_ROW)

const cs_arch_row *cs_arch_row_of(cs_arch arch);
/* Key and tensor i of its lists; NULL after the last. */
const cs_arch_key *cs_arch_key_at(cs_arch arch, int64_t i);
const cs_arch_tensor *cs_arch_tensor_at(cs_arch arch, int64_t i);
/* Whether its lists have this key. */
bool cs_arch_knows(cs_arch arch, const char *key);
/* The architecture with its own code whose class has this name, in any spelling; false: none. */
bool cs_arch_of_class(const char *class, cs_arch *out);
/* The row of a class of transformers by its whole name, such as "GPTNeoXForCausalLM". */
bool cs_arch_of_known_class(const char *class, cs_arch *out);
/* Whether the class's name begins with `start`, in any spelling. */
bool cs_class_begins(const char *class, const char *start);
/* Whether one of its keys sets the member at this place. */
bool cs_arch_has_key_at(cs_arch arch, size_t at);

/* cs_model_config_check, with the place of the wrong member; of `arch` if it is not a single one.
 */
cs_status cs_model_config_check_at(const cs_model_config *config, size_t *at) CS_MUST_CHECK;

/* The number of the value of a key, in *out; null: the default of a missing key. CS_ERR_INPUT: of
 * another kind, or out of its range. */
cs_status cs_config_value(const char *where, const cs_arch_key *f, const json_t *value,
                          double *out) CS_MUST_CHECK;
/* An activation by its name in config.json. CS_ERR_INPUT names the key and the value. */
cs_status cs_activation_read(const char *where, const char *key, const json_t *value,
                             cs_activation *out) CS_MUST_CHECK;
enum { CS_VALUE_TEXT = 64 };
/* A value as its file has it, truncated to the buffer. */
const char *cs_value_text(const json_t *value, char text[CS_VALUE_TEXT]);
/* Adds advice to the reason of a CS_ERR_INPUT that refuses a setting that a model may well have.
 * Returns `status`. */
cs_status cs_config_way_round(cs_status status) CS_MUST_CHECK;
/* CS_ERR_INPUT unless the value is `only` (a truth value or number), null or missing. */
cs_status cs_config_only(const char *where, const char *key, const json_t *value,
                         double only) CS_MUST_CHECK;
/* Whether rows of the class have the attention masks of the model according to `trained`, the
 * record of its training (NULL: there is none). Settings that the class needs for that go into
 * config.json. */
bool cs_config_sees_as_class(const cs_model_config *config, const json_t *trained, json_t *object,
                             cs_status *status);
/* The architecture of a config.json; ours: what is under "cospec", or NULL. */
cs_status cs_config_arch(const char *where, const json_t *json, const json_t *ours,
                         cs_arch *out) CS_MUST_CHECK;
/* CS_ERR_INPUT names a key with an unsupported setting of all classes, or quantised weights. */
cs_status cs_config_known(const char *where, const json_t *json, cs_arch arch) CS_MUST_CHECK;
/* CS_ERR_INPUT names a size beyond the lists of its architecture that contradicts the sizes read. */
cs_status cs_config_derived(const char *where, const json_t *json,
                            const cs_model_config *config) CS_MUST_CHECK;

/* Whether "architectures" has the head of another task: only the body of such a file is read. */
bool cs_config_other_head(const json_t *json);

/* How an LTG-BERT splits its vectors of distances (position.distance_by_head): its config.json, its
 * code in `dir` or its class says so. CS_ERR_INPUT if none does. */
cs_status cs_ltg_bert_split(const char *dir, const char *where, const json_t *json,
                            cs_model_config *config) CS_MUST_CHECK;

/* position_embedding_type, of rows with `places`. */
cs_status cs_places_read(const char *where, const json_t *json,
                         cs_model_config *config) CS_MUST_CHECK;

/* For rows: the place of a member, biases everywhere, the usual epsilon of a norm etc. */
#define CS_AT(member) offsetof(cs_model_config, member)
#define CS_ARCH_BIASES                                                                             \
    .layer.bias = true, .layer.qkv_bias = true, .layer.output_bias = true, .layer.mlp_bias = true, \
    .layer.norm_bias = true, .layer.dense_bias = true
#define CS_ARCH_USUAL .training.init_range = 0.02, .head.pooling = 2, .ids.mask = -1, .ids.unk = -1
#define CS_ARCH_NO_IDS .ids.pad = -1, .ids.bos = -1, .ids.eos = -1
/* Keys of the sizes that current classes share. */
extern const cs_arch_key cs_arch_sizes[];
/* Positions of a class token, which are zeros, and of the patches of an image: in each half of a
 * row of `width` columns sines and then cosines of the column (first half) or row (second) of the
 * patch, times 10000^(-i / n), i = 0 .. n - 1, n = width / 4 (the MAE code of He et al. 2022). */
cs_status cs_position_waves(const cs_model_config *config, int64_t width, float *out) CS_MUST_CHECK;
/* Files of a directory of images. */
#define CS_CODES_FILE "codes.safetensors"
#define CS_PROCESSOR_FILE "preprocessor_config.json"

/* The table of parameters of a model, into a zeroed one, without memory for their values. */
cs_status cs_model_table(const cs_model_config *config, cs_params *params) CS_MUST_CHECK;
/* Lists of one row that others have too. */
extern const cs_arch_key cs_arch_gpt2_keys[], cs_arch_encoder_keys[], cs_arch_llama_keys[];
extern const cs_arch_tensor cs_arch_encoder_tensors[], cs_arch_llama_tensors[];

/* Whether a linear layer joins encoder and decoder. */
bool cs_decoder_projects(const cs_model_config *config);

/* layer_types, a name for each layer, to config->local; *found: the key exists. */
cs_status cs_layer_types_read(const char *where, const json_t *json, bool *found,
                              cs_model_config *config) CS_MUST_CHECK;
