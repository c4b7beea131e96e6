/* One table an architecture: our name without its last word, theirs, and how the matrix lies there.
 * Source: the classes of transformers (version 5.23), by the names of their state_dict(). */
#include "model/huggingface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"

typedef enum { AS_OURS, TRANSPOSED, THREE } layout;

/* "N" in both names stands for the layer's number. Names that begin with '/' do not take the
 * class's prefix. */
typedef struct {
    const char *ours, *theirs;
    layout layout;
} name_row;

static const name_row gpt2[] = {
    {"embed.token", "wte", AS_OURS},
    {"embed.position", "wpe", AS_OURS},
    {"layer.N.attention.norm", "h.N.ln_1", AS_OURS},
    {"layer.N.attention.qkv", "h.N.attn.c_attn", TRANSPOSED},
    {"layer.N.attention.output", "h.N.attn.c_proj", TRANSPOSED},
    {"layer.N.mlp.norm", "h.N.ln_2", AS_OURS},
    {"layer.N.mlp.in", "h.N.mlp.c_fc", TRANSPOSED},
    {"layer.N.mlp.out", "h.N.mlp.c_proj", TRANSPOSED},
    {"final_norm", "ln_f", AS_OURS},
    {"output", "/lm_head", AS_OURS},
    {"classifier.output", "/score", AS_OURS},
    {NULL, NULL, AS_OURS},
};

#define ROBERTA_EMBEDDINGS                                                                         \
    {"embed.token", "embeddings.word_embeddings", AS_OURS},                                        \
        {"embed.position", "embeddings.position_embeddings", AS_OURS},                             \
        {"embed.type", "embeddings.token_type_embeddings", AS_OURS},                               \
        {"embed.norm", "embeddings.LayerNorm", AS_OURS},                                           \
        {"layer.N.attention.qkv", "encoder.layer.N.attention.self", THREE},                        \
        {"layer.N.attention.output", "encoder.layer.N.attention.output.dense", AS_OURS},           \
        {"layer.N.mlp.in", "encoder.layer.N.intermediate.dense", AS_OURS},                         \
    {                                                                                              \
        "layer.N.mlp.out", "encoder.layer.N.output.dense", AS_OURS                                 \
    }
#define POST_NORMS                                                                                 \
    {"layer.N.attention.norm", "encoder.layer.N.attention.output.LayerNorm", AS_OURS},             \
    {                                                                                              \
        "layer.N.mlp.norm", "encoder.layer.N.output.LayerNorm", AS_OURS                            \
    }
#define ROBERTA_HEAD                                                                               \
    {"head.dense", "/lm_head.dense", AS_OURS}, {"head.norm", "/lm_head.layer_norm", AS_OURS},      \
        {"head", "/lm_head", AS_OURS}, {"output", "/lm_head.decoder", AS_OURS},                    \
        {"classifier.dense", "/classifier.dense", AS_OURS},                                        \
    {                                                                                              \
        "classifier.output", "/classifier.out_proj", AS_OURS                                       \
    }

static const name_row roberta_prelayernorm[] = {
    ROBERTA_EMBEDDINGS,
    {"layer.N.attention.norm", "encoder.layer.N.attention.LayerNorm", AS_OURS},
    {"layer.N.mlp.norm", "encoder.layer.N.intermediate.LayerNorm", AS_OURS},
    {"final_norm", "LayerNorm", AS_OURS},
    ROBERTA_HEAD,
    {NULL, NULL, AS_OURS},
};

static const name_row roberta[] = {
    ROBERTA_EMBEDDINGS, POST_NORMS, ROBERTA_HEAD, {NULL, NULL, AS_OURS}};

static const name_row bert[] = {
    ROBERTA_EMBEDDINGS,
    POST_NORMS,
    {"head.dense", "/cls.predictions.transform.dense", AS_OURS},
    {"head.norm", "/cls.predictions.transform.LayerNorm", AS_OURS},
    {"head", "/cls.predictions", AS_OURS},
    {"output", "/cls.predictions.decoder", AS_OURS},
    {"classifier.dense", "pooler.dense", AS_OURS},
    {"classifier.output", "/classifier", AS_OURS},
    {NULL, NULL, AS_OURS},
};

static const name_row ours_alone[] = {{NULL, NULL, AS_OURS}};

static const struct {
    const char *prefix;
    const name_row *table;
} classes[CS_ARCH_COUNT] = {
    [CS_ARCH_GPT2] = {"transformer.", gpt2},
    [CS_ARCH_ROBERTA_PRELAYERNORM] = {"roberta_prelayernorm.", roberta_prelayernorm},
    [CS_ARCH_ROBERTA] = {"roberta.", roberta},
    [CS_ARCH_BERT] = {"bert.", bert},
    [CS_ARCH_LINEAR] = {"", ours_alone},
};

const char *cs_hf_prefix(cs_arch arch)
{
    return classes[arch].prefix;
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

/* "lm_head.bias" stands beside "lm_head.decoder.bias". */
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
    cs_arch arch = config->arch;
    static const char *const parts[] = {".query", ".key", ".value"};
    const char *dot = strrchr(param->name, '.');
    const char *last = strcmp(dot + 1, "bias") == 0 ? "bias" : "weight";
    /* The embedding tables are named without "weight" here. */
    size_t length = strncmp(param->name, "embed.", 6) == 0 && !strstr(param->name, "norm")
                        ? strlen(param->name)
                        : (size_t)(dot - param->name);
    for (const name_row *row = classes[arch].table; row->ours; ++row) {
        long number = 0;
        if (!matches(row->ours, param->name, length, &number)) {
            continue;
        }
        bool vector = strcmp(dot + 1, "bias") == 0 || strcmp(dot + 1, "gain") == 0;
        int count = row->layout == THREE ? 3 : 1;
        int64_t share = (vector ? param->cols : param->rows) / count;
        for (int i = 0; i < count; ++i) {
            spell(classes[arch].prefix, row->theirs, number, count == 3 ? parts[i] : "", last,
                  &piece[i]);
            piece[i].transposed = row->layout == TRANSPOSED && !vector;
            piece[i].vector = vector;
            piece[i].copy = false;
            piece[i].first = i * share;
            piece[i].rows = share;
            piece[i].cols = vector ? 1 : param->cols;
        }
        bool twice = !config->tied && strcmp(param->name, "head.bias") == 0;
        return count + (twice ? add_copy(&piece[0], &piece[1]) : 0);
    }
    piece[0] = (cs_hf_piece){.rows = param->rows, .cols = param->cols};
    (void)snprintf(piece[0].name, sizeof piece[0].name, "cospec.%s", param->name);
    return 1;
}

bool cs_hf_ignored(const char *name, bool tied)
{
    static const char *const ends[] = {".attn.bias", ".attn.masked_bias", "embeddings.position_ids",
                                       "embeddings.token_type_ids"};
    static const char *const parts[] = {"pooler.", "cls.seq_relationship."};
    static const char *const copies[] = {"lm_head.weight", "lm_head.decoder.weight",
                                         "lm_head.decoder.bias", "cls.predictions.decoder.weight",
                                         "cls.predictions.decoder.bias"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        if (cs_has_suffix(name, ends[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        if (strstr(name, parts[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; ++i) {
        /* The bias of a decoder is a copy of the head's bias whether the matrix is tied or not. */
        if (strcmp(name, copies[i]) == 0 && (tied || cs_has_suffix(name, ".bias"))) {
            return true;
        }
    }
    return false;
}
