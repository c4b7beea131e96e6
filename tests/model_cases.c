/* Models and forms of networks that the tests of src/model go through. */
#include "model_support.h"

static void with_post_norm(cs_model_config *c)
{
    c->layer.post_norm = true;
}

static void with_relative(cs_model_config *c)
{
    c->position.relative_buckets = 8;
    c->position.relative_distance = 4;
}

static void post_norm_relative(cs_model_config *c)
{
    with_post_norm(c);
    with_relative(c);
}

static void without_bias(cs_model_config *c)
{
    c->layer.bias = false;
    c->head.tied = false;
}

static void without_positions(cs_model_config *c)
{
    c->shape.positions = 0;
    with_relative(c);
}

static void of_real_rows(cs_model_config *c)
{
    c->shape.real_width = REAL_WIDTH;
}

/* 8 patches of one pixel, by a vocabulary that the tests draw from. */
static void of_patches(cs_model_config *c)
{
    c->picture.height = 2;
    c->picture.width = 4;
    c->picture.patch = 1;
    c->picture.channels = REAL_WIDTH;
    c->head.target = CS_TARGET_PIXELS;
    OK(cs_model_config_pictures(c));
}

static void of_patches_by_waves(cs_model_config *c)
{
    of_patches(c);
    c->head.target = CS_TARGET_NORMALISED;
    c->picture.sinusoidal = true;
}

static void of_patches_for_codes(cs_model_config *c)
{
    of_patches(c);
    c->head.target = CS_TARGET_IDS;
}

static void of_patches_another_width(cs_model_config *c)
{
    of_patches_by_waves(c);
    c->decoder.width = 12;
    c->decoder.heads = 3;
    c->decoder.inner = 14;
}

static void of_patches_ahead(cs_model_config *c)
{
    of_patches(c);
    c->head.offsets = 3;
}

static void of_patches_with_extra(cs_model_config *c)
{
    of_patches(c);
    c->shape.extra_width = EXTRA_WIDTH;
}

static void of_ids_with_extra(cs_model_config *c)
{
    of_patches_for_codes(c);
    c->shape.real_width = 0;
    c->shape.extra_width = EXTRA_WIDTH;
}

static void classified_patches(cs_model_config *c)
{
    of_patches(c);
    c->picture.height = c->picture.width = 3;
    OK(cs_model_config_pictures(c));
    *c = cs_model_config_classifier(c, 3, CS_READ_FIRST);
}

static void classified_patches_by_mean(cs_model_config *c)
{
    of_patches_by_waves(c);
    *c = cs_model_config_classifier(c, 3, CS_READ_MEAN);
}

/* Four heads of queries on two of keys, heads of other widths than width / heads. */
static void grouped(cs_model_config *c)
{
    c->shape.heads = 4;
    c->shape.kv_heads = 2;
    c->shape.head_width = 4;
    c->head.tied = false;
}

static void blind_grouped(cs_model_config *c)
{
    grouped(c);
    c->attention.blind_queries = true;
}

/* The second layer sees two rows on each side, or one before. */
static void local(cs_model_config *c)
{
    cs_model_config_local(c, 4, 2);
}

static void local_with_biases(cs_model_config *c)
{
    local(c);
    c->layer.norm_bias = c->layer.qkv_bias = c->layer.output_bias = c->layer.mlp_bias =
        c->layer.dense_bias = true;
    c->layer.activation = CS_ACT_SILU;
    c->head.activation = CS_ACT_RELU;
}

static void blind_local(cs_model_config *c)
{
    local(c);
    c->attention.blind_queries = true;
}

static void local_cross(cs_model_config *c)
{
    local(c);
    c->decoder.attention = CS_DECODER_SELF_CROSS;
}

static void one_layer(cs_model_config *c)
{
    c->shape.layers = 1;
}

static void self_cross(cs_model_config *c)
{
    c->decoder.attention = CS_DECODER_SELF_CROSS;
    with_relative(c);
}

static void causal_cross(cs_model_config *c)
{
    c->decoder.attention = CS_DECODER_CAUSAL_CROSS;
}

static void cross_only(cs_model_config *c)
{
    c->decoder.attention = CS_DECODER_CROSS;
    c->decoder.layers = 2;
}

static void other_width(cs_model_config *c)
{
    c->decoder.width = 12;
    c->decoder.heads = 3;
    c->decoder.inner = 14;
}

static void blind(cs_model_config *c)
{
    c->attention.blind_queries = true;
}

static void blind_relative(cs_model_config *c)
{
    c->attention.blind_queries = true;
    with_relative(c);
}

/* The next three tokens. */
static void ahead(cs_model_config *c)
{
    c->head.offsets = 3;
}

static void one_layer_ahead(cs_model_config *c)
{
    one_layer(c);
    c->attention.local[0] = 0;
    ahead(c);
}

static void local_ahead(cs_model_config *c)
{
    local(c);
    ahead(c);
}

static void sum_pooling(cs_model_config *c)
{
    c->head.pooling = 0;
    c->shape.positions = 0;
}

static void as_classifier(cs_model_config *c)
{
    *c = cs_model_config_classifier(c, 3, cs_readout_of(c->arch));
}

static void as_regression(cs_model_config *c)
{
    *c = cs_model_config_classifier(c, 1, cs_readout_of(c->arch));
}

static void of_the_mean(cs_model_config *c)
{
    *c = cs_model_config_classifier(c, 2, CS_READ_MEAN);
}

static void of_the_mean_regression(cs_model_config *c)
{
    *c = cs_model_config_classifier(c, 1, CS_READ_MEAN);
}

static void of_the_mean_relative(cs_model_config *c)
{
    of_the_mean_regression(c);
    with_relative(c);
}

/* Parts that present-day classes have, and each head in turn. */
static void of_gemma2(cs_model_config *c)
{
    grouped(c);
    c->head.tied = true;
    c->attention.score_cap = 2;
    c->attention.score_width = 5;
    c->head.logit_cap = 3;
    c->scale.embed = 3;
    local(c);
    as_classifier(c);
}

static void of_t5(cs_model_config *c)
{
    c->shape.positions = 0;
    c->head.absent = true;
    with_relative(c);
    c->layer.gated = true;
    c->layer.activation = CS_ACT_GELU_TANH; /* no kink that a difference could step over */
    of_the_mean(c);
}

static void of_albert(cs_model_config *c)
{
    c->shape.layers = 4;
    c->shape.groups = 2;
    c->shape.embed_width = 6;
    as_classifier(c);
}

static void of_electra(cs_model_config *c)
{
    c->head.absent = true;
    c->shape.embed_width = 6;
    as_classifier(c);
}

/* Distances that are distinguished to half of the buckets, then by the logarithm. */
static void of_distances(cs_model_config *c)
{
    c->shape.positions = 0;
    c->position.distance_span = c->position.distance_buckets = 4;
    c->position.distance_most = 8;
    c->position.distance_keys = c->position.distance_queries = true;
    c->attention.score_width = 3 * (double)cs_head_width(c);
    as_classifier(c);
}

static void of_distances_shared(cs_model_config *c)
{
    of_distances(c);
    c->position.distance_shared = c->position.distance_norm = true;
}

static void of_distances_by_head(cs_model_config *c)
{
    of_distances_shared(c);
    c->position.distance_by_head = true;
}

/* Token dropout. */
static void of_kept_tokens(cs_model_config *c)
{
    c->position.rotary = (cs_rotary){0};
    c->scale.kept = 0.88;
    c->ids.pad = 1;
    c->position.offset = 2;
    as_classifier(c);
}

static void of_distances_of_keys(cs_model_config *c)
{
    of_distances(c);
    c->position.distance_queries = false;
    c->position.distance_buckets = 0;
    c->position.distance_span = 2; /* fewer than there are */
}

static void relative_key(cs_model_config *c)
{
    c->position.distance_span = c->shape.positions;
    c->shape.positions = 0;
    c->position.distance_table = c->position.distance_keys = true;
    as_classifier(c);
}

static void relative_key_query(cs_model_config *c)
{
    relative_key(c);
    c->position.distance_queries = true;
}

static void of_albert_relative(cs_model_config *c)
{
    relative_key_query(c);
    of_albert(c);
}

/* Without a kink that a difference could step over. */
static void of_quick_gelu(cs_model_config *c)
{
    c->layer.activation = CS_ACT_QUICK_GELU;
    as_classifier(c);
}

static void of_factors(cs_model_config *c)
{
    c->scale.residual = 0.3;
    c->scale.embed = 2;
    as_classifier(c);
}

/* Gains of each head, and no rotary positions in the second layer. */
static void of_own_gains(cs_model_config *c)
{
    c->attention.head_norm = CS_HEAD_NORM_EACH;
    c->position.unturned[0] = 2;
    as_classifier(c);
}

static void of_part_of_a_head(cs_model_config *c)
{
    c->shape.width = 16; /* a quarter of 8 columns turns */
    as_classifier(c);
}

static void of_one_head(cs_model_config *c)
{
    c->shape.heads = 1;
    c->position.rotary.share = 0.25;
    as_classifier(c);
}

static void of_three_heads(cs_model_config *c)
{
    c->shape.heads = 3;
    c->shape.width = 9;
    as_classifier(c);
}

static void of_grouped_classes(cs_model_config *c)
{
    grouped(c);
    as_classifier(c);
}

#define CE CS_LOSS_CROSS_ENTROPY
#define SE CS_LOSS_SQUARED_ERROR

const model_case model_cases[] = {
    {"gpt2", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, NULL},
    {"gpt2, norm after", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, with_post_norm},
    {"gpt2, no bias, untied", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, without_bias},
    {"gpt2, one layer, spectral", CS_FORM_SINGLE, CS_ARCH_GPT2, CS_LOSS_SPECTRAL, one_layer},
    {"roberta-prelayernorm", CS_FORM_SINGLE, CS_ARCH_ROBERTA_PRELAYERNORM, CE, NULL},
    {"roberta-prelayernorm, relative", CS_FORM_SINGLE, CS_ARCH_ROBERTA_PRELAYERNORM, CE,
     with_relative},
    {"roberta", CS_FORM_SINGLE, CS_ARCH_ROBERTA, CE, NULL},
    {"bert, spectral", CS_FORM_SINGLE, CS_ARCH_BERT, CS_LOSS_SPECTRAL, NULL},
    {"gpt2, offsets", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, ahead},
    {"llama, offsets", CS_FORM_SINGLE, CS_ARCH_LLAMA, CE, ahead},
    {"modernbert-decoder, one layer, offsets", CS_FORM_SINGLE, CS_ARCH_MODERNBERT_DECODER, CE,
     one_layer_ahead},
    {"modernbert-decoder, local, offsets", CS_FORM_SINGLE, CS_ARCH_MODERNBERT_DECODER, CE,
     local_ahead},
    {"two-stream gpt2", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CE, NULL},
    {"two-stream gpt2, one layer", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CE, one_layer},
    {"two-stream gpt2, relative only", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CE, without_positions},
    {"two-stream gpt2, no bias", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CE, without_bias},
    {"two-stream roberta-prelayernorm, spectral", CS_FORM_TWO_STREAM, CS_ARCH_ROBERTA_PRELAYERNORM,
     CS_LOSS_SPECTRAL, NULL},
    {"two-stream roberta, relative", CS_FORM_TWO_STREAM, CS_ARCH_ROBERTA, CE, with_relative},
    {"two-stream bert", CS_FORM_TWO_STREAM, CS_ARCH_BERT, CE, NULL},
    {"two-stream gpt2, blind", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CE, blind},
    {"two-stream roberta, blind, relative", CS_FORM_TWO_STREAM, CS_ARCH_ROBERTA, CE,
     blind_relative},
    {"mae roberta-prelayernorm", CS_FORM_MAE, CS_ARCH_ROBERTA_PRELAYERNORM, CE, NULL},
    {"mae roberta, relative", CS_FORM_MAE, CS_ARCH_ROBERTA, CE, with_relative},
    {"mae gpt2, other width", CS_FORM_MAE, CS_ARCH_GPT2, CE, other_width},
    {"mae bert, other width", CS_FORM_MAE, CS_ARCH_BERT, CE, other_width},
    {"mae, self-cross, relative", CS_FORM_MAE, CS_ARCH_ROBERTA_PRELAYERNORM, CE, self_cross},
    {"mae, causal-cross", CS_FORM_MAE, CS_ARCH_ROBERTA_PRELAYERNORM, CE, causal_cross},
    {"mae, cross", CS_FORM_MAE, CS_ARCH_ROBERTA_PRELAYERNORM, CE, cross_only},
    {"mae bert, cross", CS_FORM_MAE, CS_ARCH_BERT, CE, cross_only},
    {"mae bert, self-cross", CS_FORM_MAE, CS_ARCH_BERT, CE, self_cross},
    {"gpt2, real rows", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, of_real_rows},
    {"two-stream bert, real rows", CS_FORM_TWO_STREAM, CS_ARCH_BERT, CE, of_real_rows},
    {"mae roberta, real rows", CS_FORM_MAE, CS_ARCH_ROBERTA, CE, of_real_rows},
    {"llama", CS_FORM_SINGLE, CS_ARCH_LLAMA, CE, NULL},
    {"llama, grouped queries, untied", CS_FORM_SINGLE, CS_ARCH_LLAMA, CE, grouped},
    {"llama, norm after, relative", CS_FORM_SINGLE, CS_ARCH_LLAMA, CE, post_norm_relative},
    {"eurobert, spectral", CS_FORM_SINGLE, CS_ARCH_EUROBERT, CS_LOSS_SPECTRAL, NULL},
    {"modernbert, local", CS_FORM_SINGLE, CS_ARCH_MODERNBERT, CE, local},
    {"modernbert-decoder, local, biases", CS_FORM_SINGLE, CS_ARCH_MODERNBERT_DECODER, CE,
     local_with_biases},
    {"two-stream llama, grouped", CS_FORM_TWO_STREAM, CS_ARCH_LLAMA, CE, grouped},
    {"two-stream llama, grouped, blind", CS_FORM_TWO_STREAM, CS_ARCH_LLAMA, CE, blind_grouped},
    {"two-stream modernbert, local", CS_FORM_TWO_STREAM, CS_ARCH_MODERNBERT, CE, local},
    {"two-stream modernbert, local, blind", CS_FORM_TWO_STREAM, CS_ARCH_MODERNBERT, CE,
     blind_local},
    {"mae llama, other width", CS_FORM_MAE, CS_ARCH_LLAMA, CE, other_width},
    {"mae modernbert, local, self-cross", CS_FORM_MAE, CS_ARCH_MODERNBERT, CE, local_cross},
    {"linear, real rows", CS_FORM_LINEAR, CS_ARCH_LINEAR, CE, of_real_rows},
    {"linear", CS_FORM_LINEAR, CS_ARCH_LINEAR, CE, NULL},
    {"linear, sum, blind, spectral", CS_FORM_LINEAR, CS_ARCH_LINEAR, CS_LOSS_SPECTRAL, sum_pooling},
    {"vit", CS_FORM_SINGLE, CS_ARCH_VIT, SE, of_patches},
    {"vit, waves, normalised", CS_FORM_SINGLE, CS_ARCH_VIT, SE, of_patches_by_waves},
    {"vit, codes", CS_FORM_SINGLE, CS_ARCH_VIT, CE, of_patches_for_codes},
    {"vit, offsets", CS_FORM_SINGLE, CS_ARCH_VIT, SE, of_patches_ahead},
    {"two-stream vit", CS_FORM_TWO_STREAM, CS_ARCH_VIT, SE, of_patches},
    {"vit, extra", CS_FORM_SINGLE, CS_ARCH_VIT, SE, of_patches_with_extra},
    {"two-stream vit, extra", CS_FORM_TWO_STREAM, CS_ARCH_VIT, SE, of_patches_with_extra},
    {"mae vit of codes, extra", CS_FORM_MAE, CS_ARCH_VIT_MAE, CE, of_ids_with_extra},
    {"mae vit", CS_FORM_MAE, CS_ARCH_VIT_MAE, SE, of_patches_by_waves},
    {"mae vit, other width", CS_FORM_MAE, CS_ARCH_VIT_MAE, SE, of_patches_another_width},
    {"mae vit, codes", CS_FORM_MAE, CS_ARCH_VIT_MAE, CE, of_patches_for_codes},
    {NULL, CS_FORM_SINGLE, CS_ARCH_GPT2, CE, NULL},
};

const model_case classifier_cases[] = {
    {"classifier gpt2", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, as_classifier},
    {"classifier roberta-prelayernorm", CS_FORM_SINGLE, CS_ARCH_ROBERTA_PRELAYERNORM, CE,
     as_classifier},
    {"classifier roberta", CS_FORM_SINGLE, CS_ARCH_ROBERTA, CE, as_classifier},
    {"classifier bert", CS_FORM_SINGLE, CS_ARCH_BERT, CE, as_classifier},
    {"regression gpt2", CS_FORM_SINGLE, CS_ARCH_GPT2, SE, as_regression},
    {"regression bert", CS_FORM_SINGLE, CS_ARCH_BERT, SE, as_regression},
    {"classifier gpt2, mean", CS_FORM_SINGLE, CS_ARCH_GPT2, CE, of_the_mean},
    {"classifier bert, mean", CS_FORM_SINGLE, CS_ARCH_BERT, CE, of_the_mean},
    {"regression roberta-prelayernorm, mean, relative", CS_FORM_SINGLE,
     CS_ARCH_ROBERTA_PRELAYERNORM, SE, of_the_mean_relative},
    {"classifier llama", CS_FORM_SINGLE, CS_ARCH_LLAMA, CE, as_classifier},
    {"classifier eurobert", CS_FORM_SINGLE, CS_ARCH_EUROBERT, CE, as_classifier},
    {"classifier eurobert, mean", CS_FORM_SINGLE, CS_ARCH_EUROBERT, CE, of_the_mean},
    {"classifier modernbert, mean", CS_FORM_SINGLE, CS_ARCH_MODERNBERT, CE, of_the_mean},
    {"classifier modernbert", CS_FORM_SINGLE, CS_ARCH_MODERNBERT, CE, as_classifier},
    {"regression modernbert-decoder, mean", CS_FORM_SINGLE, CS_ARCH_MODERNBERT_DECODER, SE,
     of_the_mean_regression},
    {"classifier vit", CS_FORM_SINGLE, CS_ARCH_VIT, CE, classified_patches},
    {"classifier vit, mean", CS_FORM_SINGLE, CS_ARCH_VIT, CE, classified_patches_by_mean},
    {NULL, CS_FORM_SINGLE, CS_ARCH_GPT2, CE, NULL},
};

const model_case read_cases[] = {
    {"mistral", CS_FORM_SINGLE, CS_ARCH_MISTRAL, CE, of_grouped_classes},
    {"qwen2", CS_FORM_SINGLE, CS_ARCH_QWEN2, CE, as_classifier},
    {"qwen3", CS_FORM_SINGLE, CS_ARCH_QWEN3, CE, of_grouped_classes},
    {"gpt_neox", CS_FORM_SINGLE, CS_ARCH_GPT_NEOX, CE, of_one_head},
    {"distilbert", CS_FORM_SINGLE, CS_ARCH_DISTILBERT, CE, as_classifier},
    {"electra", CS_FORM_SINGLE, CS_ARCH_ELECTRA, CE, of_electra},
    {"albert", CS_FORM_SINGLE, CS_ARCH_ALBERT, CE, of_albert},
    {"opt", CS_FORM_SINGLE, CS_ARCH_OPT, CE, as_classifier},
    {"gemma2", CS_FORM_SINGLE, CS_ARCH_GEMMA2, CE, of_gemma2},
    {"phi", CS_FORM_SINGLE, CS_ARCH_PHI, SE, as_regression},
    {"gptj", CS_FORM_SINGLE, CS_ARCH_GPTJ, CE, of_one_head},
    {"bloom", CS_FORM_SINGLE, CS_ARCH_BLOOM, CE, of_three_heads},
    {"t5", CS_FORM_SINGLE, CS_ARCH_T5, CE, of_t5},
    {"deberta-v2", CS_FORM_SINGLE, CS_ARCH_DEBERTA_V2, CE, of_distances},
    {"deberta-v2, shared, normed", CS_FORM_SINGLE, CS_ARCH_DEBERTA_V2, CE, of_distances_shared},
    {"deberta-v2, c2p", CS_FORM_SINGLE, CS_ARCH_DEBERTA_V2, CE, of_distances_of_keys},
    {"gpt_bert", CS_FORM_SINGLE, CS_ARCH_GPT_BERT, CE, of_distances_shared},
    {"ltg-bert", CS_FORM_SINGLE, CS_ARCH_LTG_BERT, CE, of_distances_shared},
    {"ltg-bert, by head", CS_FORM_SINGLE, CS_ARCH_LTG_BERT, CE, of_distances_by_head},
    {"esm", CS_FORM_SINGLE, CS_ARCH_ESM, CE, of_kept_tokens},
    {"olmo", CS_FORM_SINGLE, CS_ARCH_OLMO, CE, as_classifier},
    {"olmo2", CS_FORM_SINGLE, CS_ARCH_OLMO2, CE, of_grouped_classes},
    {"cohere", CS_FORM_SINGLE, CS_ARCH_COHERE, CE, of_own_gains},
    {"granite", CS_FORM_SINGLE, CS_ARCH_GRANITE, CE, of_factors},
    {"arcee", CS_FORM_SINGLE, CS_ARCH_ARCEE, CE, of_quick_gelu},
    {"stablelm", CS_FORM_SINGLE, CS_ARCH_STABLELM, CE, of_part_of_a_head},
    {"bert, relative_key", CS_FORM_SINGLE, CS_ARCH_BERT, CE, relative_key},
    {"roberta, relative_key_query", CS_FORM_SINGLE, CS_ARCH_ROBERTA, CE, relative_key_query},
    {"albert, relative_key_query", CS_FORM_SINGLE, CS_ARCH_ALBERT, CE, of_albert_relative},
    {NULL, CS_FORM_SINGLE, CS_ARCH_GPT2, CE, NULL},
};
