/* Rows: the architectures of BabyLM's winners, LTG-BERT (Samuel et al. 2023) and GPT-BERT (Charpentier
 * and Samuel 2024), which joins causal and masked training. No class of transformers has them; keys,
 * names and arithmetic are those of the code published with them (github.com/ltgoslo: ltg-bert,
 * babylm/train/model.py, and gpt-bert, pretraining/model.py and model_extra.py), and of the folders
 * whose own code wraps it, which name a class and often no model_type.
 *
 * Attention is DeBERTa's (arch_bert.c), distances through the matrices of queries and keys. Norms have
 * no gain, but those of distances and, in LTG-BERT, of what attention adds. In GPT-BERT the output of
 * the heads is gated and has a norm, and residual sums are mixed; files without gates or weights of the
 * mixture are models without them (fit_published of model_file.c).
 *
 * The code of NorBERT 3 and BNC-BERT (training/model.py of ltg-bert) splits the vectors of distances
 * head by head, that of BabyLM by halves. Their files have the same tensors and, except NorBERT's
 * class, the same names: cs_ltg_bert_split decides, or refuses a model. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "model/arch_private.h"

static const char BY_HEAD[] = "position_by_head";

static const cs_arch_key KEYS[] = {
    {"num_layers", CS_KEY_ALIAS, CS_AT(shape.layers), 0},
    {"max_position_embeddings", CS_KEY_COUNT, CS_AT(position.distance_most), 512},
    {"position_bucket_size", CS_KEY_COUNT, CS_AT(position.distance_span), 32},
    {"hidden_dropout_prob", CS_KEY_REAL, CS_AT(training.dropout), 0.1},
    {"attention_probs_dropout_prob", CS_KEY_REAL, CS_AT(training.attention_dropout), 0.1},
    {"pad_token_id", CS_KEY_ID, CS_AT(ids.pad), -1},
    {"bos_token_id", CS_KEY_ID, CS_AT(ids.bos), -1},
    {"eos_token_id", CS_KEY_ID, CS_AT(ids.eos), -1},
    {"mask_token_id", CS_KEY_ID, CS_AT(ids.mask), -1},
    {"is_decoder", CS_KEY_PAST, 0, 0}, /* cs_model_kind_read */
    {"output_all_encoded_layers", CS_KEY_PAST, 0, 0},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key GPT_KEYS[] = {
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-5},
    {NULL, CS_KEY_PAST, 0, 0},
};

static const cs_arch_key LTG_KEYS[] = {
    {"layer_norm_eps", CS_KEY_REAL, CS_AT(layer.eps), 1e-7},
    {BY_HEAD, CS_KEY_BOOL, CS_AT(position.distance_by_head), 0}, /* no class has it */
    {NULL, CS_KEY_PAST, 0, 0},
};

static cs_status babylm_read(const char *where, const json_t *json, cs_model_config *config)
{
    (void)where;
    (void)json;
    config->position.distance_buckets = config->position.distance_span;
    config->position.longest = config->position.distance_most;
    if (config->shape.heads > 0) {
        config->attention.score_width = 3 * (double)cs_head_width(config);
    }
    return CS_OK;
}

/* The module of the code that config.json names, "owner/name--modeling_ltgbert.LtgBertModel", as a
 * path in the directory; CS_ERR_MEMORY, or *out is NULL if there is none. */
static cs_status code_path(const char *dir, const json_t *json, char **out)
{
    const char *key, *module = NULL;
    json_t *value;
    json_object_foreach(json_object_get(json, "auto_map"), key, value)
    {
        const char *text = json_string_value(value);
        if (text && strncmp(key, "AutoModel", 9) == 0) module = text;
    }
    *out = NULL;
    if (!module) return CS_OK;
    const char *name = strstr(module, "--");
    name = name ? name + 2 : module;
    char file[128];
    const int size = snprintf(file, sizeof file, "%.*s.py", (int)strcspn(name, "."), name);
    if (size < 0 || size >= (int)sizeof file || strchr(file, '/')) return CS_OK;
    CS_AUTO_FREE char *path = cs_path_join(dir, file);
    if (!path) return CS_ERR_MEMORY;
    if (cs_path_exists(path)) {
        *out = path;
        path = NULL;
    }
    return CS_OK;
}

/* The statement of the code that splits the vectors of distances: known if exactly one of the two
 * forms occurs. */
static cs_status split_of_code(const char *path, bool *known, bool *by_head)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0, used = 0;
    cs_status status = cs_file_read_text(path, 1 << 22, &text, &size);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < size; ++i) {
        if (!isspace((unsigned char)text[i])) text[used++] = text[i];
    }
    text[used] = 0;
    const bool heads = strstr(text, "self.num_heads,2*self.head_size)") != NULL;
    const bool halves = strstr(text, "query_pos.view(") != NULL;
    *known = heads != halves;
    *by_head = heads;
    return CS_OK;
}

cs_status cs_ltg_bert_split(const char *dir, const char *where, const json_t *json,
                            cs_model_config *config)
{
    const json_t *own = json_object_get(json, BY_HEAD);
    const char *class =
        json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    if ((own && !json_is_null(own)) || config->shape.heads == 1) return CS_OK;
    CS_AUTO_FREE char *path = NULL;
    bool known = false, *by_head = &config->position.distance_by_head;
    cs_status status = code_path(dir, json, &path);
    if (status == CS_OK && path) status = split_of_code(path, &known, by_head);
    if (status != CS_OK || known) return status;
    *by_head = class && cs_class_begins(class, CS_NORBERT);
    return *by_head ? CS_OK
                    : cs_fail(CS_ERR_INPUT,
                              "%s: the split of the vectors of distances is unknown: add the file "
                              "of the model's code (modeling_ltgbert.py, named by auto_map), or "
                              "'%s': false for a model of BabyLM, true for NorBERT 3 or BNC-BERT",
                              where, BY_HEAD);
}

static const cs_arch_tensor SHARED[] = {
    {"embed.token", "embedding.word_embedding"},
    {"places", "!embedding.relative_embedding"},
    {"places.norm", "embedding.relative_layer_norm"},
    {"head.dense", "classifier.nonlinearity.1"},
    {"head", "classifier.nonlinearity.5"},
    {"output", "classifier.nonlinearity.5"},
    /* of the wrapper of BabyLM's baselines */
    {"head.dense", "/lm_head.nonlinearity.1"},
    {"head", "/lm_head.nonlinearity.5"},
    {"output", "/lm_head.nonlinearity.5"},
    {NULL, NULL},
};

#define LAYER "transformer.layers.N."
static const cs_arch_tensor LTG_TENSORS[] = {
    {"layer.N.attention.qkv", LAYER "attention.{in_proj_qk,in_proj_v}"},
    {"layer.N.attention.output", LAYER "attention.out_proj"},
    {"layer.N.attention.post", LAYER "attention.post_layer_norm"},
    {"layer.N.mlp.in", "~" LAYER "mlp.mlp.1"},
    {"layer.N.mlp.out", LAYER "mlp.mlp.4"},
    {NULL, NULL},
};

#define GPT_NAMES(body)                                                                            \
    {"layer.N.attention.output", body "attention_layers.N.out_proj"},                              \
        {"layer.N.attention.mix", "!" body "dwa_modules.alphas.N"},                                \
        {"layer.N.mlp.mix", "!" body "dwa_modules.alphas.N"},                                      \
        {"layer.N.mlp.in", "~" body "mlp_layers.N.mlp.1"},                                         \
    {                                                                                              \
        "layer.N.mlp.out", body "mlp_layers.N.mlp.4"                                               \
    }
static const cs_arch_tensor GPT_TENSORS[] = {
    {"layer.N.attention.qkv", "transformer.attention_layers.N.{in_proj_qk,in_proj_vg}"},
    GPT_NAMES("transformer."),
    {"layer.N.attention.qkv", "attention_layers.N.{in_proj_qk,in_proj_vg}"},
    GPT_NAMES(""),
    {"layer.N.attention.qkv", "transformer.attention_layers.N.{in_proj_qk,in_proj_v}"},
    {"layer.N.attention.qkv", "attention_layers.N.{in_proj_qk,in_proj_v}"},
    {NULL, NULL},
};

#define BABYLM                                                                                     \
    .head = "ForMaskedLM", .causal_head = "ForCausalLM", .body = "Model", .prefix = "model.",      \
    .own_code = true, .score = CS_SCORE_DENSE, .drop_embed = true, .read = babylm_read
#define BABYLM_PLAIN                                                                               \
    CS_ARCH_USUAL, CS_ARCH_NO_IDS,                                                                 \
        .layer.eps = 1e-5, .layer.bias = true, .layer.qkv_bias = true, .layer.output_bias = true,  \
        .layer.norm_bias = true, .layer.dense_bias = true, .layer.activation = CS_ACT_GELU_TANH,   \
        .layer.gated = true, .layer.inner_norm = true, .layer.no_gain = true,                      \
        .layer.embed_norm = true, .head.norm = true, .head.transform = true,                       \
        .head.activation = CS_ACT_GELU_ERF, .head.bias = true, .head.tied = true,                  \
        .position.distance_keys = true, .position.distance_queries = true,                         \
        .position.distance_shared = true, .position.distance_norm = true,                          \
        .position.distance_odd = true

const cs_arch_row cs_arch_gpt_bert = {
    BABYLM,
    .name = "gpt_bert",
    .class = "GPTBERT",
    .shifts = true,
    .plain = {BABYLM_PLAIN, .layer.mixed = true, .attention.gated = true,
              .attention.inner_norm = true},
    .keys = {cs_arch_sizes, KEYS, GPT_KEYS},
    .tensors = {SHARED, GPT_TENSORS},
};

const cs_arch_row cs_arch_ltg_bert = {
    BABYLM,
    .name = "ltg-bert",
    .class = "LtgBert",
    .other_class = CS_NORBERT,
    .plain = {BABYLM_PLAIN, .layer.sandwich = true},
    .keys = {cs_arch_sizes, KEYS, LTG_KEYS},
    .tensors = {SHARED, LTG_TENSORS},
};
