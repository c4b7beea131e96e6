/* Architectures and sizes, and what a sound configuration is.
 *
 * Sizes of the presets: GPT-2 small (Radford et al. 2019) and MAE-LM base have 12 x 768, cramming
 * (Geiping and Goldstein 2023; LA section 5.1) 16 x 768, MAE-LM large++ 24 x 1024; the smaller ones
 * are ours, for a CPU. The choices of each architecture are those of the Hugging Face class of its
 * name. Dropout is 0 unless asked for, as in cramming.
 */
#include "model/config.h"

#include "base/names.h"
#include "base/range.h"

/* --- names ------------------------------------------------------------------------------------ */

static const char *const ARCH[] = {[CS_ARCH_GPT2] = "gpt2",
                                   [CS_ARCH_ROBERTA_PRELAYERNORM] = "roberta-prelayernorm",
                                   [CS_ARCH_ROBERTA] = "roberta",
                                   [CS_ARCH_BERT] = "bert",
                                   [CS_ARCH_LINEAR] = "linear"};

const char *cs_arch_name(cs_arch arch)
{
    return ARCH[arch];
}

cs_status cs_arch_by_name(const char *name, cs_arch *out)
{
    return CS_NAME_AMONG("architecture", name, ARCH, out);
}

/* --- presets ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t layers, width, heads, positions;
} PRESET[] = {
    {"1m", 4, 128, 4, 128},         /* 0.8M parameters beside the token table */
    {"4m", 6, 192, 6, 128},         /* 2.7M */
    {"small", 6, 256, 4, 512},      /* 4.7M */
    {"base", 12, 768, 12, 512},     /* 85M */
    {"cramming", 16, 768, 12, 512}, /* 113M */
    {"large", 24, 1024, 16, 512}    /* 302M */
};

cs_status cs_model_preset(const char *name, cs_model_config *config)
{
    int i = 0;
    cs_status status = CS_ROW_NAMED("model size", name, PRESET, &i);
    if (status != CS_OK) return status;
    config->layers = PRESET[i].layers;
    config->width = PRESET[i].width;
    config->heads = PRESET[i].heads;
    config->positions = PRESET[i].positions;
    config->inner = 4 * config->width;
    return CS_OK;
}

/* --- the choices of an architecture ----------------------------------------------------------- */

void cs_model_config_ids(cs_model_config *config, cs_special_ids ids)
{
    config->pad_id = ids.pad;
    config->bos_id = ids.bos;
    config->eos_id = ids.eos;
    config->mask_id = ids.mask;
    config->unk_id = ids.unk;
    bool behind = config->arch == CS_ARCH_ROBERTA || config->arch == CS_ARCH_ROBERTA_PRELAYERNORM;
    config->position_offset = behind ? ids.pad + 1 : 0;
}

void cs_model_config_default(cs_arch arch, cs_model_config *config)
{
    cs_model_config c = {.arch = arch,
                         .vocab = config->vocab,
                         .positions = config->positions,
                         .width = config->width,
                         .layers = config->layers,
                         .heads = config->heads,
                         .inner = config->inner,
                         .decoder = config->decoder,
                         .act = CS_ACT_GELU_ERF,
                         .bias = true,
                         .tied = true,
                         .eps = 1e-5,
                         .init_range = 0.02,
                         .pooling = 2};
    cs_special_ids ids = {-1, -1, -1, -1, -1};
    switch (arch) {
    case CS_ARCH_GPT2:
        c.act = CS_ACT_GELU_TANH;
        break;
    case CS_ARCH_ROBERTA:
    case CS_ARCH_ROBERTA_PRELAYERNORM:
        c.token_types = 1;
        ids = (cs_special_ids){.pad = 1, .bos = 0, .eos = 2, .mask = -1, .unk = -1};
        break;
    case CS_ARCH_BERT:
        c.token_types = 2;
        c.eps = 1e-12;
        ids.pad = 0;
        break;
    case CS_ARCH_LINEAR:
        c.bias = c.tied = false;
        break;
    case CS_ARCH_COUNT:
        break;
    }
    c.post_norm = arch == CS_ARCH_ROBERTA || arch == CS_ARCH_BERT;
    c.embed_norm = c.head_transform = c.head_bias = c.token_types > 0;
    cs_model_config_ids(&c, ids);
    *config = c;
}

/* --- classification --------------------------------------------------------------------------- */

cs_readout cs_readout_of(cs_arch arch)
{
    return arch == CS_ARCH_GPT2 ? CS_READ_LAST : CS_READ_FIRST;
}

cs_model_config cs_model_config_classifier(const cs_model_config *config, int64_t classes,
                                           cs_readout readout)
{
    cs_model_config c = *config;
    c.classes = classes;
    c.readout = readout;
    c.head_transform = c.head_bias = c.query_vector = c.blind_queries = false;
    c.tied = true;
    c.decoder = (cs_decoder_config){0};
    return c;
}

/* The head of the class: of the language model or, with classes, of the sequence classifier. */
static bool usual_head(const cs_model_config *c, const cs_model_config *plain)
{
    return c->classes > 0
               ? c->readout == cs_readout_of(c->arch)
               : c->head_transform == plain->head_transform && c->head_bias == plain->head_bias;
}

bool cs_model_config_exchangeable(const cs_model_config *config)
{
    cs_model_config plain = {0};
    cs_model_config_default(config->arch, &plain);
    return config->arch != CS_ARCH_LINEAR && config->post_norm == plain.post_norm &&
           config->embed_norm == plain.embed_norm && usual_head(config, &plain) && config->bias &&
           (config->token_types > 0) == (plain.token_types > 0) && config->positions > 0 &&
           config->relative_buckets == 0 && config->real_width == 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Sizes whose products stay far inside int64_t. */
static cs_status ranges(const cs_model_config *c)
{
    const bool linear = c->arch == CS_ARCH_LINEAR, decoder = c->decoder.layers > 0;
    const double below_one = 1 - 1e-9, positive = 1e-300;
    const cs_range range[] = {
        {"vocabulary", (double)c->vocab, 1, 1 << 24},
        {"positions", (double)c->positions, 0, 1 << 24},
        {"width", (double)c->width, 1, 1 << 16},
        {"layers", (double)c->layers, 1, 1 << 10},
        {"heads", (double)c->heads, 1, 64},
        {"width of real rows", (double)c->real_width, 0, 1 << 20},
        {"token types", (double)c->token_types, 0, 1 << 10},
        {"classes", (double)c->classes, 0, 1 << 20},
        {"inner width", linear ? 1 : (double)c->inner, 1, 1 << 20},
        {"decoder layers", (double)c->decoder.layers, 0, 64},
        {"decoder width", decoder ? (double)c->decoder.width : 1, 1, 1 << 16},
        {"decoder heads", decoder ? (double)c->decoder.heads : 1, 1, 64},
        {"decoder inner width", decoder ? (double)c->decoder.inner : 1, 1, 1 << 20},
        {"dropout", c->dropout, 0, below_one},
        {"attention dropout", c->attention_dropout, 0, below_one},
        {"embedding dropout", c->embed_dropout, 0, below_one},
        {"norm epsilon", c->eps, positive, below_one},
        {"initial range", c->init_range, positive, 100},
        {"padding token", c->pad_id, -1, (double)c->vocab - 1},
        {"start token", c->bos_id, -1, (double)c->vocab - 1},
        {"end token", c->eos_id, -1, (double)c->vocab - 1},
        {"mask token", c->mask_id, -1, (double)c->vocab - 1},
        {"unknown token", c->unk_id, -1, (double)c->vocab - 1},
        {"pooling power", linear ? c->pooling : 0, 0, 4},
    };
    cs_status status = cs_ranges_check(sizeof range / sizeof *range, range);
    if (status == CS_OK && c->width % c->heads != 0)
        status = cs_fail(CS_ERR_USAGE, "heads %lld do not divide width %lld", (long long)c->heads,
                         (long long)c->width);
    if (status == CS_OK && decoder && c->decoder.width % c->decoder.heads != 0)
        status = cs_fail(CS_ERR_USAGE, "decoder heads %lld do not divide width %lld",
                         (long long)c->decoder.heads, (long long)c->decoder.width);
    return status;
}

static cs_status relative(const cs_model_config *c)
{
    int64_t n = c->relative_buckets;
    if (n != 0 && (n < 4 || n > 1 << 16 || n % 2 != 0)) {
        return cs_fail(CS_ERR_USAGE, "relative buckets %lld not an even number in 4 .. 65536",
                       (long long)n);
    }
    if (n != 0 && (c->relative_distance <= n / 4 || c->relative_distance > 1 << 24)) {
        return cs_fail(CS_ERR_USAGE,
                       "relative distance %lld not above the %lld exact distances of %lld buckets",
                       (long long)c->relative_distance, (long long)(n / 4), (long long)n);
    }
    return CS_OK;
}

static cs_status first_position(const cs_model_config *c)
{
    bool behind = c->arch == CS_ARCH_ROBERTA || c->arch == CS_ARCH_ROBERTA_PRELAYERNORM;
    if (behind && c->pad_id < 0) {
        return cs_fail(CS_ERR_USAGE, "%s needs a padding token: its positions start behind it",
                       cs_arch_name(c->arch));
    }
    int64_t offset = behind ? c->pad_id + 1 : 0;
    if (c->position_offset != offset) {
        return cs_fail(CS_ERR_USAGE, "positions of %s start at row %lld, not %lld",
                       cs_arch_name(c->arch), (long long)offset, (long long)c->position_offset);
    }
    return CS_OK;
}

/* A classifier predicts no tokens. */
static cs_status classifier(const cs_model_config *c)
{
    if ((unsigned)c->readout > CS_READ_MEAN) {
        return cs_fail(CS_ERR_USAGE, "no readout has number %d", (int)c->readout);
    }
    const char *extra = c->classes == 0         ? NULL
                        : c->head_transform     ? "head transform"
                        : c->head_bias          ? "bias of the logits"
                        : !c->tied              ? "output matrix of its own"
                        : c->query_vector       ? "query vector"
                        : c->decoder.layers > 0 ? "decoder"
                                                : NULL;
    return extra ? cs_fail(CS_ERR_USAGE, "a classification head goes with no %s", extra) : CS_OK;
}

/* What the single layer of Theorem 4.3 has not. */
static cs_status plain_linear(const cs_model_config *c)
{
    if (c->arch != CS_ARCH_LINEAR) {
        return CS_OK;
    }
    if (c->layers != 1) {
        return cs_fail(CS_ERR_USAGE, "architecture linear has 1 layer, not %lld",
                       (long long)c->layers);
    }
    const char *extra = c->tied                   ? "tied output"
                        : c->bias                 ? "biases"
                        : c->head_bias            ? "bias of the logits"
                        : c->head_transform       ? "head transform"
                        : c->embed_norm           ? "norm of embeddings"
                        : c->post_norm            ? "norms"
                        : c->token_types > 0      ? "token types"
                        : c->relative_buckets > 0 ? "relative positions"
                        : c->classes > 0          ? "classification head"
                        : c->query_vector         ? "query vector"
                        : c->decoder.layers > 0   ? "decoder"
                        : c->dropout > 0 || c->attention_dropout > 0 || c->embed_dropout > 0
                            ? "dropout"
                            : NULL;
    return extra ? cs_fail(CS_ERR_USAGE, "architecture linear has no %s", extra) : CS_OK;
}

cs_status cs_model_config_check(const cs_model_config *config)
{
    if ((unsigned)config->arch >= CS_ARCH_COUNT) {
        return cs_fail(CS_ERR_USAGE, "no architecture has number %d", (int)config->arch);
    }
    if ((unsigned)config->act > CS_ACT_TANH) {
        return cs_fail(CS_ERR_USAGE, "no activation has number %d", (int)config->act);
    }
    if ((unsigned)config->decoder.attention > CS_DECODER_CROSS) {
        return cs_fail(CS_ERR_USAGE, "no decoder attention has number %d",
                       (int)config->decoder.attention);
    }
    if (config->blind_queries && !config->query_vector) {
        return cs_fail(CS_ERR_USAGE, "blind queries in a model without a query vector");
    }
    cs_status (*check[])(const cs_model_config *) = {ranges, relative, first_position, classifier,
                                                     plain_linear};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof check / sizeof *check && status == CS_OK; ++i) {
        status = check[i](config);
    }
    return status;
}

cs_status cs_model_config_reads(const cs_model_config *config, int64_t real_width)
{
    return config->real_width == real_width
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "rows of %lld real values for a model that reads %lld (0: ids)",
                         (long long)real_width, (long long)config->real_width);
}
