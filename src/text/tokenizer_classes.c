/* Special tokens that a folder's tokenizer has by its class, where no file of the folder lists them,
 * and the steps that keys of tokenizer_config.json switch (tokenizer_class_steps.c).
 * The class and its tokens are those of AutoTokenizer of transformers 5.24;
 * tests/oracle/tokenizer_classes_oracle.py compares each row.
 *
 * Limits: all other steps stay those of tokenizer.json. Classes without a row
 * add no tokens, as do those that transformers writes in Python. */
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "io/json.h"
#include "text/tokenizer_private.h"

/* Types of models for which the class in a file does not count; that of qwen2 is always Qwen2. */
static const char generic_models[] = "stablelm nemotron olmo2 olmo3 granite glm4 ernie4_5 phi3 "
                                     "gpt_bigcode mistral umt5 modernbert modernbert-decoder";

const cs_named_token cs_named_tokens[CS_NAMED_TOKENS] = {
    {"bos_token", CS_TOKEN_BOS},  {"eos_token", CS_TOKEN_EOS}, {"unk_token", CS_TOKEN_UNK},
    {"sep_token", CS_TOKEN_EOS},  {"pad_token", CS_TOKEN_PAD}, {"cls_token", CS_TOKEN_BOS},
    {"mask_token", CS_TOKEN_MASK}};

/* Tokens in order: begin, end, unknown, separator, padding, class, mask. */
#define ROBERTA_TOKENS                                                                             \
    {                                                                                              \
        "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"                                   \
    }
#define DEBERTA_TOKENS                                                                             \
    {                                                                                              \
        "[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"                             \
    }
#define GPT2_END "<|endoftext|>"

static const cs_tokenizer_class classes[] = {
    {.names = "Albert",
     .models = "albert",
     .token = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     .prefix = CS_PREFIX_ALWAYS,
     .letters = CS_LETTERS_ALBERT,
     .lower = true,
     .surrounds = true},
    {.names = "Barthez", .token = ROBERTA_TOKENS, .spaced_mask = true, .prefix = CS_PREFIX_ALWAYS},
    {.names = "Bert DistilBert Electra MobileBert SqueezeBert Lxmert LayoutLM",
     .models = "bert distilbert electra nomic_bert",
     .token = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
     .letters = CS_LETTERS_BERT,
     .lower = true,
     .surrounds = true},
    {.names = "ConvBert",
     .token = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
     .surrounds = true,
     .given_cuts = true},
    {.names = "FNet",
     .token = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     .given_cuts = true},
    {.names = "CLIP",
     .token = {"<|startoftext|>", GPT2_END, GPT2_END, NULL, GPT2_END},
     .surrounds = true},
    {.names = "Camembert",
     .models = "camembert",
     .token = ROBERTA_TOKENS,
     .spaced_mask = true,
     .special_mask = true,
     .extra = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"},
     .prefix = CS_PREFIX_ALWAYS,
     .surrounds = true},
    {.names = "Cohere",
     .models = "cohere",
     .token = {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>", "<CLS>",
               "<MASK_TOKEN>"},
     .plain_defaults = true,
     .prefix = CS_PREFIX_BYTES},
    {.names = "Deberta", .token = DEBERTA_TOKENS, .prefix = CS_PREFIX_BYTES, .surrounds = true},
    {.names = "DebertaV2",
     .models = "deberta-v2",
     .token = DEBERTA_TOKENS,
     .prefix = CS_PREFIX_FIRST,
     .letters = CS_LETTERS_FIRST,
     .surrounds = true},
    {.names = "GPT2 CodeGen",
     .models = "gpt2 starcoder2 gpt_neo gptj opt phi",
     .token = {GPT2_END, GPT2_END, GPT2_END},
     .prefix = CS_PREFIX_BYTES},
    {.names = "GPTNeoX",
     .models = "gpt_neox olmo",
     .token = {GPT2_END, GPT2_END, GPT2_END, NULL, "<|padding|>"},
     .prefix = CS_PREFIX_BYTES},
    {.names = "Gemma",
     .models = "gemma gemma2 gemma3_text",
     .token = {"<bos>", "<eos>", "<unk>", NULL, "<pad>", NULL, "<mask>"},
     .given_cuts = true},
    {.names = "Herbert",
     .token = {NULL, NULL, "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     .surrounds = true},
    {.names = "Llama Phi3", .token = {"<s>", "</s>", "<unk>"}, .prefix = CS_PREFIX_LLAMA},
    {.names = "MPNet",
     .models = "mpnet",
     .token = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
     .normalized = true,
     .spaced_mask = true,
     .letters = CS_LETTERS_BERT,
     .lower = true,
     .surrounds = true},
    {.names = "OpenAIGPT", .token = {NULL, NULL, "<unk>"}},
    {.names = "Qwen2",
     .models = "qwen2 qwen3",
     .token = {NULL, GPT2_END, GPT2_END, NULL, GPT2_END},
     .plain = true,
     .prefix = CS_PREFIX_BYTES},
    {.names = "Qwen3_5",
     .token = {NULL, GPT2_END, GPT2_END, NULL, GPT2_END},
     .prefix = CS_PREFIX_BYTES},
    {.names = "Roberta Bart LED Mvp Longformer",
     .models = "roberta roberta-prelayernorm",
     .token = ROBERTA_TOKENS,
     .prefix = CS_PREFIX_BYTES,
     .surrounds = true},
    {.names = "XLMRoberta",
     .models = "xlm-roberta",
     .token = ROBERTA_TOKENS,
     .prefix = CS_PREFIX_ALWAYS,
     .surrounds = true},
    {.names = "T5",
     .models = "t5 mt5",
     .token = {NULL, "</s>", "<unk>", NULL, "<pad>"},
     .sentinels = 100,
     .surrounds = true},
    {.names = "XLNet",
     .token = {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"},
     .spaced_mask = true,
     .extra = {"<eop>", "<eod>"},
     .letters = CS_LETTERS_LATER,
     .surrounds = true},
};

static const cs_tokenizer_class *find(const char *name, bool model)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i) {
        if (cs_listed(model ? classes[i].models : classes[i].names, name)) return &classes[i];
    }
    return NULL;
}

/* Whether a step of tokenizer.json has bytes, at any depth. */
static cs_status is_byte_level(const json_t *root, bool *is)
{
    static const char *const parts[] = {"normalizer", "pre_tokenizer", "post_processor", "decoder"};
    *is = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !*is; ++i) {
        const json_t *part = json_object_get(root, parts[i]);
        char *text = part ? json_dumps(part, JSON_ENCODE_ANY) : NULL;
        if (part && !text) return CS_ERR_MEMORY;
        *is = text && strstr(text, "\"ByteLevel\"");
        cs_free(text);
    }
    return CS_OK;
}

cs_status cs_tokenizer_class_of(const json_t *root, const json_t *config, const json_t *model,
                                const cs_tokenizer_class **out)
{
    const char *type = cs_json_string(model, "model_type"),
               *given = cs_json_string(config, "tokenizer_class");
    CS_AUTO_FREE char *name = cs_strdup(*given ? given : cs_json_string(model, "tokenizer_class"));
    *out = NULL;
    if (!name) return CS_ERR_MEMORY;
    static const char *const ends[] = {"Fast", "Tokenizer"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        if (cs_has_suffix(name, ends[i])) name[strlen(name) - strlen(ends[i])] = '\0';
    }
    bool bytes = false; /* the class Llama has none, so that the package does not use it for them */
    cs_status status = strcmp(name, "Llama") == 0 ? is_byte_level(root, &bytes) : CS_OK;
    if (strcmp(type, "qwen2") == 0) {
        *out = find(type, true);
    } else if (!bytes && !cs_listed(generic_models, type)) {
        *out = *name ? find(name, false) : find(type, true);
    }
    return status;
}

void cs_tokenizer_take_roles(cs_tokenizer *t, const json_t *config)
{
    bool taken[CS_TOKEN_ROLES] = {false};
    for (int i = 0; i < CS_NAMED_TOKENS; ++i) {
        const json_t *value = json_object_get(config, cs_named_tokens[i].name);
        const char *text =
            json_is_object(value) ? cs_json_string(value, "content") : json_string_value(value);
        const int32_t id = text ? cs_tokenizer_id(t, text) : -1;
        const cs_token_role role = cs_named_tokens[i].role;
        if (id >= 0 && !taken[role] && !(role == CS_TOKEN_UNK && t->unknown >= 0)) {
            t->role[role] = id;
            taken[role] = true;
        }
    }
}
