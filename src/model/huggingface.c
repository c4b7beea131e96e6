/* One table: our name without its last word, theirs, and how the matrix lies there.
 * Source: the classes of transformers (version 5.23), by the names of their state_dict(). */
#include "model/huggingface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"

typedef enum { AS_OURS, TRANSPOSED, THREE } layout;

enum {
    GPT2 = 1 << CS_ARCH_GPT2,
    PRELAYERNORM = 1 << CS_ARCH_ROBERTA_PRELAYERNORM,
    BERT = 1 << CS_ARCH_BERT,
    POST = BERT | 1 << CS_ARCH_ROBERTA,
    ROBERTAS = PRELAYERNORM | 1 << CS_ARCH_ROBERTA,
    ENCODERS = ROBERTAS | BERT
};

/* The architectures that have a name. "N" in both names stands for the layer's number. Names that
 * begin with '/' do not take the class's prefix. */
static const struct {
    unsigned archs;
    layout layout;
    const char *ours, *theirs;
} TABLE[] = {
    {GPT2, AS_OURS, "embed.token", "wte"},
    {GPT2, AS_OURS, "embed.position", "wpe"},
    {GPT2, AS_OURS, "layer.N.attention.norm", "h.N.ln_1"},
    {GPT2, TRANSPOSED, "layer.N.attention.qkv", "h.N.attn.c_attn"},
    {GPT2, TRANSPOSED, "layer.N.attention.output", "h.N.attn.c_proj"},
    {GPT2, AS_OURS, "layer.N.mlp.norm", "h.N.ln_2"},
    {GPT2, TRANSPOSED, "layer.N.mlp.in", "h.N.mlp.c_fc"},
    {GPT2, TRANSPOSED, "layer.N.mlp.out", "h.N.mlp.c_proj"},
    {GPT2, AS_OURS, "final_norm", "ln_f"},
    {GPT2, AS_OURS, "output", "/lm_head"},
    {GPT2, AS_OURS, "classifier.output", "/score"},
    {ENCODERS, AS_OURS, "embed.token", "embeddings.word_embeddings"},
    {ENCODERS, AS_OURS, "embed.position", "embeddings.position_embeddings"},
    {ENCODERS, AS_OURS, "embed.type", "embeddings.token_type_embeddings"},
    {ENCODERS, AS_OURS, "embed.norm", "embeddings.LayerNorm"},
    {ENCODERS, THREE, "layer.N.attention.qkv", "encoder.layer.N.attention.self"},
    {ENCODERS, AS_OURS, "layer.N.attention.output", "encoder.layer.N.attention.output.dense"},
    {ENCODERS, AS_OURS, "layer.N.mlp.in", "encoder.layer.N.intermediate.dense"},
    {ENCODERS, AS_OURS, "layer.N.mlp.out", "encoder.layer.N.output.dense"},
    {POST, AS_OURS, "layer.N.attention.norm", "encoder.layer.N.attention.output.LayerNorm"},
    {POST, AS_OURS, "layer.N.mlp.norm", "encoder.layer.N.output.LayerNorm"},
    {PRELAYERNORM, AS_OURS, "layer.N.attention.norm", "encoder.layer.N.attention.LayerNorm"},
    {PRELAYERNORM, AS_OURS, "layer.N.mlp.norm", "encoder.layer.N.intermediate.LayerNorm"},
    {PRELAYERNORM, AS_OURS, "final_norm", "LayerNorm"},
    {ROBERTAS, AS_OURS, "head.dense", "/lm_head.dense"},
    {ROBERTAS, AS_OURS, "head.norm", "/lm_head.layer_norm"},
    {ROBERTAS, AS_OURS, "head", "/lm_head"},
    {ROBERTAS, AS_OURS, "output", "/lm_head.decoder"},
    {ROBERTAS, AS_OURS, "classifier.dense", "/classifier.dense"},
    {ROBERTAS, AS_OURS, "classifier.output", "/classifier.out_proj"},
    {BERT, AS_OURS, "head.dense", "/cls.predictions.transform.dense"},
    {BERT, AS_OURS, "head.norm", "/cls.predictions.transform.LayerNorm"},
    {BERT, AS_OURS, "head", "/cls.predictions"},
    {BERT, AS_OURS, "output", "/cls.predictions.decoder"},
    {BERT, AS_OURS, "classifier.dense", "pooler.dense"},
    {BERT, AS_OURS, "classifier.output", "/classifier"},
};

const char *cs_hf_prefix(cs_arch arch)
{
    static const char *const prefix[] = {[CS_ARCH_GPT2] = "transformer.",
                                         [CS_ARCH_ROBERTA_PRELAYERNORM] = "roberta_prelayernorm.",
                                         [CS_ARCH_ROBERTA] = "roberta.",
                                         [CS_ARCH_BERT] = "bert.",
                                         [CS_ARCH_LINEAR] = ""};
    return prefix[arch];
}

/* Whether `name`, up to `length`, is the pattern with N a number, which *number receives. */
static bool matches(const char *pattern, const char *name, size_t length, long *number)
{
    const char *end = name + length;
    for (; *pattern; ++pattern) {
        if (*pattern == 'N') {
            char *after;
            *number = strtol(name, &after, 10);
            if (after == name || after > end) {
                return false;
            }
            name = after;
        } else if (name == end || *name++ != *pattern) {
            return false;
        }
    }
    return name == end;
}

/* Writes their name: prefix, pattern with the number for N, then ".query" and the like, then the
 * last word. */
static void spell(const char *prefix, const char *pattern, long number, const char *part,
                  const char *last, cs_hf_piece *piece)
{
    bool outside = *pattern == '/';
    const char *n = strchr(pattern, 'N');
    while (n && (n[1] != '.' && n[1] != '\0')) { /* the N of LayerNorm is not a number */
        n = strchr(n + 1, 'N');
    }
    pattern += outside;
    if (n) {
        (void)snprintf(piece->name, sizeof piece->name, "%s%.*s%ld%s%s.%s", outside ? "" : prefix,
                       (int)(n - pattern), pattern, number, n + 1, part, last);
    } else {
        (void)snprintf(piece->name, sizeof piece->name, "%s%s%s.%s", outside ? "" : prefix, pattern,
                       part, last);
    }
}

/* "lm_head.bias" has a copy, "lm_head.decoder.bias". */
static int add_copy(const cs_hf_piece *bias, cs_hf_piece *copy)
{
    const char *dot = strrchr(bias->name, '.');
    *copy = *bias;
    copy->copy = true;
    (void)snprintf(copy->name, sizeof copy->name, "%.*s.decoder%s", (int)(dot - bias->name),
                   bias->name, dot);
    return 1;
}

int cs_hf_pieces(const cs_model_config *config, const cs_param *param,
                 cs_hf_piece piece[CS_HF_PIECES])
{
    static const char *const parts[] = {".query", ".key", ".value"};
    const char *dot = strrchr(param->name, '.');
    bool bias = strcmp(dot + 1, "bias") == 0, vector = bias || strcmp(dot + 1, "gain") == 0;
    /* The embedding tables are named without "weight" here. */
    size_t length = strncmp(param->name, "embed.", 6) == 0 && !strstr(param->name, "norm")
                        ? strlen(param->name)
                        : (size_t)(dot - param->name);
    size_t row = 0, rows = sizeof TABLE / sizeof *TABLE;
    long number = 0;
    while (row < rows && !(TABLE[row].archs >> config->arch & 1 &&
                           matches(TABLE[row].ours, param->name, length, &number))) {
        ++row;
    }
    if (row == rows) {
        piece[0] = (cs_hf_piece){.rows = param->rows, .cols = param->cols};
        (void)snprintf(piece[0].name, sizeof piece[0].name, "cospec.%s", param->name);
        return 1;
    }
    int count = TABLE[row].layout == THREE ? 3 : 1;
    int64_t share = (vector ? param->cols : param->rows) / count;
    for (int i = 0; i < count; ++i) {
        piece[i] = (cs_hf_piece){.transposed = TABLE[row].layout == TRANSPOSED && !vector,
                                 .vector = vector,
                                 .first = i * share,
                                 .rows = share,
                                 .cols = vector ? 1 : param->cols};
        spell(cs_hf_prefix(config->arch), TABLE[row].theirs, number, count == 3 ? parts[i] : "",
              bias ? "bias" : "weight", &piece[i]);
    }
    bool twice = !config->tied && strcmp(param->name, "head.bias") == 0;
    return count + (twice ? add_copy(&piece[0], &piece[1]) : 0);
}

bool cs_hf_ignored(const char *name, bool tied)
{
    static const char *const ends[] = {".attn.bias", ".attn.masked_bias", "embeddings.position_ids",
                                       "embeddings.token_type_ids"};
    static const char *const copies[] = {"lm_head.weight", "lm_head.decoder.weight",
                                         "lm_head.decoder.bias", "cls.predictions.decoder.weight",
                                         "cls.predictions.decoder.bias"};
    bool ignored = strstr(name, "pooler.") || strstr(name, "cls.seq_relationship.");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        ignored = ignored || cs_has_suffix(name, ends[i]);
    }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; ++i) {
        /* The bias of a decoder is a copy of the head's bias whether the matrix is tied or not. */
        ignored =
            ignored || (strcmp(name, copies[i]) == 0 && (tied || cs_has_suffix(name, ".bias")));
    }
    return ignored;
}
