/* Settings that follow from an architecture, and the checks of a configuration. */
#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "base/range.h"
#include "image/patches.h"
#include "io/file.h"
#include "model/arch_private.h"

/* --- the choices of an architecture ----------------------------------------------------------- */

void cs_model_config_ids(cs_model_config *config, cs_special_ids ids)
{
    config->ids = ids;
    const cs_arch_row *row = cs_arch_row_of(config->arch);
    config->position.offset = row->behind_pad ? ids.pad + 1 : row->plain.position.offset;
}

void cs_model_config_default(cs_arch arch, cs_model_config *config)
{
    cs_model_config c = cs_arch_row_of(arch)->plain;
    c.arch = arch;
    c.shape.vocab = config->shape.vocab > 0 ? config->shape.vocab : c.shape.vocab;
    c.shape.positions = c.position.rotary.theta > 0 ? 0 : config->shape.positions;
    c.position.longest = c.position.rotary.theta > 0 ? config->shape.positions : 0;
    c.shape.width = config->shape.width;
    c.shape.layers = config->shape.layers;
    c.shape.heads = config->shape.heads;
    c.shape.inner = config->shape.inner;
    c.picture.height = config->picture.height;
    c.picture.width = config->picture.width;
    c.picture.patch = config->picture.patch;
    c.picture.channels = config->picture.channels;
    c.shape.real_width = config->shape.real_width;
    c.shape.extra_width = config->shape.extra_width;
    c.decoder = config->decoder;
    cs_model_config_ids(&c, c.ids);
    const cs_arch_row *row = cs_arch_row_of(arch);
    if (row->local_every > 0) {
        cs_model_config_local(&c, row->local_attention, row->local_every);
    }
    *config = c;
}

void cs_model_config_local(cs_model_config *config, int64_t attention, int64_t every)
{
    for (int64_t l = 0; l < config->shape.layers && l < CS_MOST_LAYERS; ++l) {
        const uint64_t bit = (uint64_t)1 << l % 64;
        config->attention.local[l / 64] =
            (config->attention.local[l / 64] & ~bit) | (l % every != 0 ? bit : 0);
    }
    config->attention.window = attention / 2 + (cs_arch_causal(config->arch) ? 0 : 1);
}

bool cs_decoder_projects(const cs_model_config *config)
{
    return config->decoder.width != config->shape.width || cs_arch_row_of(config->arch)->pictures;
}

int64_t cs_model_config_extra(const cs_model_config *config)
{
    return cs_arch_row_of(config->arch)->begins + config->picture.registers;
}

static const char *const TARGET[] = {
    [CS_TARGET_IDS] = "ids", [CS_TARGET_PIXELS] = "pixels", [CS_TARGET_NORMALISED] = "normalised"};

CS_NAMES(cs_target, "target", TARGET)

cs_status cs_model_config_pictures(cs_model_config *config)
{
    cs_model_config *c = config;
    const cs_range range[] = {
        {"picture height", (double)c->picture.height, 1, 65535},
        {"picture width", (double)c->picture.width, 1, 65535},
        {"patch", (double)c->picture.patch, 1, 65535},
        {"channels", (double)c->picture.channels, 1, 16},
        {"register tokens", (double)c->picture.registers, 0, CS_MOST_REGISTERS}};
    cs_status status = cs_ranges_check(sizeof range / sizeof *range, range);
    if (status != CS_OK) return status;
    if (c->picture.height % c->picture.patch != 0 || c->picture.width % c->picture.patch != 0) {
        return cs_fail(CS_ERR_USAGE, "patch size %lld does not divide pictures of %lld x %lld",
                       (long long)c->picture.patch, (long long)c->picture.height,
                       (long long)c->picture.width);
    }
    c->shape.positions =
        c->picture.height / c->picture.patch * (c->picture.width / c->picture.patch) +
        cs_model_config_extra(c);
    c->shape.real_width = c->picture.patch * c->picture.patch * c->picture.channels;
    return CS_OK;
}

cs_status cs_model_order(const cs_model_config *config, int32_t **order)
{
    static const char *const known[] = {"random:", "hilbert", "squares:"};
    const cs_model_config *c = config;
    bool is = c->picture.order[0] >= '0' && c->picture.order[0] <= '9';
    *order = NULL;
    if (c->picture.order[0] == '\0') {
        return CS_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        is = is || strncmp(c->picture.order, known[i], strlen(known[i])) == 0;
    }
    return is ? cs_patch_order_named(c->picture.order, c->picture.height / c->picture.patch,
                                     c->picture.width / c->picture.patch, 0, order)
              : cs_fail(CS_ERR_USAGE,
                        "order \"%.100s\" of patches is not random:SEED, hilbert, squares:S or the "
                        "numbers of a file",
                        c->picture.order);
}

cs_status cs_model_set_order(const char *order, uint64_t seed, cs_model_config *config)
{
    cs_model_config *c = config;
    if (strcmp(order, "random") == 0) { /* the same for every picture */
        (void)snprintf(c->picture.order, sizeof c->picture.order, "random:%llu",
                       (unsigned long long)seed);
    } else if (strcmp(order, "hilbert") != 0 && strcmp(order, "raster") != 0 &&
               cs_path_exists(order)) {
        return cs_patch_order_file(order, c->picture.height / c->picture.patch,
                                   c->picture.width / c->picture.patch, CS_ORDER_SIZE,
                                   c->picture.order);
    } else {
        (void)snprintf(c->picture.order, sizeof c->picture.order, "%s",
                       strcmp(order, "raster") == 0 ? "" : order);
    }
    return CS_OK;
}

int64_t cs_model_config_depth(const cs_model_config *config, bool decoder)
{
    return decoder && config->decoder.stack ? config->decoder.layers : config->shape.layers;
}

int64_t cs_model_config_positions(const cs_model_config *config)
{
    return config->shape.positions > 0 || config->decoder.layers == 0 ? config->shape.positions
                                                                      : config->position.longest;
}

int64_t cs_model_config_length(const cs_model_config *config, int64_t most)
{
    const int64_t made =
        config->shape.positions > 0 ? config->shape.positions : config->position.longest;
    return made > 0 && (most == 0 || made < most) ? made : most;
}

int64_t cs_head_width(const cs_model_config *config)
{
    return config->shape.head_width > 0 ? config->shape.head_width
                                        : config->shape.width / config->shape.heads;
}

int64_t cs_key_width(const cs_model_config *config)
{
    return cs_head_width(config) *
           (config->shape.kv_heads > 0 ? config->shape.kv_heads : config->shape.heads);
}

bool cs_model_config_places(const cs_model_config *config)
{
    return config->shape.positions > 0 || config->position.relative_buckets > 0 ||
           config->position.rotary.theta > 0 || config->attention.window > 0 ||
           config->attention.alibi || config->position.distance_span > 0;
}

cs_status cs_model_config_tunes(const cs_model_config *config)
{
    if (config->arch == CS_ARCH_LINEAR) {
        return cs_fail(CS_ERR_USAGE, "architecture linear has no encoder to fine-tune");
    }
    return config->experts.count == 0
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "mixtures of experts are read, but not fine-tuned");
}

bool cs_layer_is_local(const cs_model_config *config, int64_t layer)
{
    return config->attention.local[layer / 64] >> layer % 64 & 1;
}

bool cs_layer_turns(const cs_model_config *config, int64_t layer)
{
    return !(config->position.unturned[layer / 64] >> layer % 64 & 1);
}

int64_t cs_distance_rows(const cs_model_config *config)
{
    return 2 * config->position.distance_span - (config->position.distance_odd ? 1 : 0);
}

int64_t cs_plane_buckets(const cs_model_config *config)
{
    const cs_model_picture *p = &config->picture;
    return (2 * (p->height / p->patch) - 1) * (2 * (p->width / p->patch) - 1) + 3;
}

/* --- classification --------------------------------------------------------------------------- */

cs_readout cs_readout_of(cs_arch arch)
{
    return cs_arch_causal(arch) ? CS_READ_LAST : CS_READ_FIRST;
}

cs_model_config cs_model_config_classifier(const cs_model_config *config, int64_t classes,
                                           cs_readout readout)
{
    cs_model_config c = *config;
    c.head.classes = classes;
    c.head.readout = readout;
    c.head.transform = c.head.bias = c.attention.query_vector = c.attention.blind_queries =
        c.head.detector = c.head.cloze = c.head.spans = c.head.absent = false;
    c.head.tied = true;
    c.head.offsets = 0;
    c.decoder = (cs_decoder_config){0};
    c.head.target = CS_TARGET_IDS;
    c.arch = c.arch == CS_ARCH_VIT_MAE ? CS_ARCH_VIT : c.arch;
    return c;
}

/* The head of the class: of the language model or, with classes, of the sequence classifier. */
static bool usual_head(const cs_model_config *c, const cs_model_config *plain)
{
    const bool mean = cs_arch_row_of(c->arch)->pooling[0] && c->head.readout == CS_READ_MEAN;
    return c->head.classes > 0 ? mean || c->head.readout == cs_readout_of(c->arch)
                               : c->head.transform == plain->head.transform &&
                                     (c->head.bias == plain->head.bias ||
                                      cs_arch_has_key_at(c->arch, CS_AT(head.bias)));
}

/* Of what is read and fine-tuned here every part is of its class but the heads that the class may not
 * have. */
static bool exchangeable_as_read(const cs_model_config *config)
{
    const bool usual = config->head.spans ? !(config->position.rotary.theta > 0)
                                          : config->head.readout == cs_readout_of(config->arch),
               head = config->head.classes == 0 || (usual && !cs_arch_row_of(config->arch)->body);
    return head && !config->head.cloze && config->shape.real_width == 0 &&
           config->shape.extra_width == 0;
}

bool cs_model_config_exchangeable(const cs_model_config *config)
{
    cs_model_config plain = {0};
    if (!cs_arch_row_of(config->arch)->trained) {
        return exchangeable_as_read(config);
    }
    cs_model_config_default(config->arch, &plain);
    const bool pictures = cs_arch_row_of(config->arch)->pictures,
               square = config->picture.height == config->picture.width;
    return config->arch != CS_ARCH_LINEAR && !config->head.cloze &&
           !(config->head.spans && config->position.rotary.theta > 0) &&
           config->layer.post_norm == plain.layer.post_norm &&
           config->layer.embed_norm == plain.layer.embed_norm && usual_head(config, &plain) &&
           config->layer.bias && (config->shape.token_types > 0) == (plain.shape.token_types > 0) &&
           (config->shape.positions > 0 || config->position.distance_table) !=
               (config->position.rotary.theta > 0) &&
           config->position.relative_buckets == 0 && config->shape.extra_width == 0 &&
           (pictures ? square && config->shape.real_width > 0 && config->picture.order[0] == '\0' &&
                           (config->arch == CS_ARCH_VIT || config->head.target != CS_TARGET_IDS)
                     : config->shape.real_width == 0);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Checks that say with *at which member is wrong. Sizes whose products stay far inside int64_t. */
static cs_status ranges(const cs_model_config *c, size_t *at)
{
    const bool linear = c->arch == CS_ARCH_LINEAR, decoder = c->decoder.layers > 0;
    const double below_one = 1 - 1e-9, positive = 1e-300;
    const struct {
        size_t at;
        cs_range range;
    } row[] = {
        {CS_AT(shape.vocab), {"vocabulary", (double)c->shape.vocab, 1, 1 << 24}},
        {CS_AT(shape.positions), {"positions", (double)c->shape.positions, 0, 1 << 24}},
        {CS_AT(position.longest), {"longest text", (double)c->position.longest, 0, INT32_MAX}},
        {CS_AT(shape.width), {"width", (double)c->shape.width, 1, 1 << 16}},
        {CS_AT(shape.layers), {"layers", (double)c->shape.layers, 1, CS_MOST_LAYERS}},
        {CS_AT(shape.heads), {"heads", (double)c->shape.heads, 1, 1024}},
        {CS_AT(shape.real_width), {"width of real rows", (double)c->shape.real_width, 0, 1 << 20}},
        {CS_AT(shape.extra_width),
         {"width of extra vectors", (double)c->shape.extra_width, 0, 1 << 20}},
        {CS_AT(shape.token_types), {"token types", (double)c->shape.token_types, 0, 1 << 10}},
        {CS_AT(head.offsets), {"offset heads", (double)c->head.offsets, 0, CS_MOST_OFFSETS}},
        {CS_AT(head.classes), {"classes", (double)c->head.classes, 0, 1 << 20}},
        {CS_AT(shape.inner), {"inner width", linear ? 1 : (double)c->shape.inner, 1, 1 << 20}},
        {CS_AT(decoder.layers), {"decoder layers", (double)c->decoder.layers, 0, 64}},
        {CS_AT(decoder.width),
         {"decoder width", decoder ? (double)c->decoder.width : 1, 1, 1 << 16}},
        {CS_AT(decoder.heads), {"decoder heads", decoder ? (double)c->decoder.heads : 1, 1, 1024}},
        {CS_AT(decoder.inner),
         {"decoder inner width", decoder ? (double)c->decoder.inner : 1, 1, 1 << 20}},
        {CS_AT(training.dropout), {"dropout", c->training.dropout, 0, below_one}},
        {CS_AT(training.attention_dropout),
         {"attention dropout", c->training.attention_dropout, 0, below_one}},
        {CS_AT(training.embed_dropout),
         {"embedding dropout", c->training.embed_dropout, 0, below_one}},
        {CS_AT(layer.eps), {"norm epsilon", c->layer.eps, positive, below_one}},
        {CS_AT(training.init_range), {"initial range", c->training.init_range, positive, 100}},
        {CS_AT(ids.pad), {"padding token", c->ids.pad, -1, (double)c->shape.vocab - 1}},
        {CS_AT(decoder.start),
         {"decoder's start token", c->decoder.start, -1, (double)c->shape.vocab - 1}},
        {CS_AT(ids.bos), {"start token", c->ids.bos, -1, (double)c->shape.vocab - 1}},
        {CS_AT(ids.eos), {"end token", c->ids.eos, -1, (double)c->shape.vocab - 1}},
        {CS_AT(ids.mask), {"mask token", c->ids.mask, -1, (double)c->shape.vocab - 1}},
        {CS_AT(ids.unk), {"unknown token", c->ids.unk, -1, (double)c->shape.vocab - 1}},
        {CS_AT(head.pooling), {"pooling power", linear ? c->head.pooling : 0, 0, 4}},
    };
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof row / sizeof *row && status == CS_OK; ++i) {
        *at = row[i].at;
        status = cs_ranges_check(1, &row[i].range);
    }
    if (status != CS_OK) return status;
    *at = CS_AT(shape.heads);
    if (c->shape.head_width == 0 && c->shape.width % c->shape.heads != 0)
        status = cs_fail(CS_ERR_USAGE, "%lld heads do not divide width %lld",
                         (long long)c->shape.heads, (long long)c->shape.width);
    if (status != CS_OK) return status;
    *at = CS_AT(decoder.heads);
    if (decoder && !c->decoder.stack && c->decoder.width % c->decoder.heads != 0)
        status = cs_fail(CS_ERR_USAGE, "%lld decoder heads do not divide width %lld",
                         (long long)c->decoder.heads, (long long)c->decoder.width);
    return status;
}

static cs_status relative(const cs_model_config *c, size_t *at)
{
    int64_t n = c->position.relative_buckets;
    *at = CS_AT(position.relative_buckets);
    if (n != 0 && (n < 4 || n > 1 << 16 || n % 2 != 0)) {
        return cs_fail(CS_ERR_USAGE, "relative buckets %lld are not an even number in 4..65536",
                       (long long)n);
    }
    *at = CS_AT(position.relative_distance);
    if (c->position.relative_distance == 0 && cs_arch_row_of(c->arch)->pictures &&
        c->picture.patch > 0 && n == cs_plane_buckets(c)) {
        return CS_OK;
    }
    if (n != 0 &&
        (c->position.relative_distance <= n / 4 || c->position.relative_distance > 1 << 24)) {
        return cs_fail(
            CS_ERR_USAGE,
            "relative distance %lld does not exceed the %lld exact distances of %lld buckets",
            (long long)c->position.relative_distance, (long long)(n / 4), (long long)n);
    }
    return CS_OK;
}

/* Shapes of the parts that an architecture may have. */
static cs_status parts(const cs_model_config *c, size_t *at)
{
    const int64_t keys = c->shape.kv_heads > 0 ? c->shape.kv_heads : c->shape.heads,
                  width = cs_head_width(c);
    const cs_rotary *rotary[] = {&c->position.rotary, &c->position.local_rotary};
    *at = CS_AT(shape.kv_heads);
    if (c->shape.kv_heads < 0 || c->shape.heads % keys != 0) {
        return cs_fail(CS_ERR_USAGE, "%lld heads are not a multiple of %lld key-value heads",
                       (long long)c->shape.heads, (long long)c->shape.kv_heads);
    }
    *at = c->shape.embed_width < 0 || c->shape.embed_width > 1 << 16 ? CS_AT(shape.embed_width)
                                                                     : CS_AT(shape.groups);
    if (c->shape.embed_width < 0 || c->shape.embed_width > 1 << 16 || c->shape.groups < 0 ||
        c->shape.groups > c->shape.layers) {
        return cs_fail(CS_ERR_USAGE,
                       "invalid: embeddings of width %lld, %lld groups of %lld layers",
                       (long long)c->shape.embed_width, (long long)c->shape.groups,
                       (long long)c->shape.layers);
    }
    *at = CS_AT(position.distance_span);
    if (c->position.distance_span < 0 || c->position.distance_span > 1 << 16 ||
        c->position.distance_buckets < 0 ||
        (c->position.distance_buckets > 0 &&
         (c->position.distance_buckets < 4 ||
          c->position.distance_most <= c->position.distance_buckets / 2 + 1))) {
        return cs_fail(
            CS_ERR_USAGE, "invalid relative positions: span %lld, %lld buckets up to %lld",
            (long long)c->position.distance_span, (long long)c->position.distance_buckets,
            (long long)c->position.distance_most);
    }
    const cs_decoder_config *d = &c->decoder;
    if (d->stack && (d->width != c->shape.width || d->heads != c->shape.heads ||
                     d->inner != c->shape.inner || d->attention != CS_DECODER_CAUSAL_CROSS)) {
        return cs_fail(
            CS_ERR_USAGE,
            "the decoder is a full stack, but its layers differ from those of the encoder");
    }
    *at = CS_AT(shape.head_width);
    if (c->shape.head_width < 0 || c->shape.head_width > 1 << 16) {
        return cs_fail(CS_ERR_USAGE, "head width %lld is not in [0, 65536]",
                       (long long)c->shape.head_width);
    }
    *at = CS_AT(attention.window);
    if (c->attention.window < 0 || c->attention.window > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "window %lld is not in [0, 2^31)",
                       (long long)c->attention.window);
    }
    *at = CS_AT(position.rotary);
    for (int i = 0; i < 2; ++i) {
        const double columns = floor((double)width * rotary[i]->share);
        if (rotary[i]->theta > 0 && (!(rotary[i]->theta > 1) || columns < 2 ||
                                     columns > (double)width || fmod(columns, 2) > 0)) {
            return cs_fail(CS_ERR_USAGE,
                           "rotary positions of base %g on a fraction %g of the %lld columns of a "
                           "head: the columns must be even in number",
                           rotary[i]->theta, columns, (long long)width);
        }
    }
    return CS_OK;
}

static cs_status first_position(const cs_model_config *c, size_t *at)
{
    *at = CS_AT(ids.pad);
    const cs_arch_row *row = cs_arch_row_of(c->arch);
    if (row->behind_pad && c->ids.pad < 0) {
        return cs_fail(CS_ERR_USAGE,
                       "%s needs a padding token, because its positions start after it; "
                       "--pad-token names that of a tokenizer, pad_token_id of config.json its id",
                       cs_arch_name(c->arch));
    }
    int64_t offset = row->behind_pad ? c->ids.pad + 1 : row->plain.position.offset;
    if (c->position.offset != offset) {
        return cs_fail(CS_ERR_USAGE, "positions of %s start at row %lld, not %lld",
                       cs_arch_name(c->arch), (long long)offset, (long long)c->position.offset);
    }
    return CS_OK;
}

/* Sizes of pictures and what follows from them. */
static cs_status pictures(const cs_model_config *c)
{
    const int64_t decoder = c->decoder.layers > 0 ? c->decoder.width : 4;
    cs_model_config sizes = *c;
    if (!cs_arch_row_of(c->arch)->pictures) {
        return c->head.target == CS_TARGET_IDS && !c->picture.sinusoidal &&
                       c->picture.order[0] == '\0' && c->shape.extra_width == 0
                   ? CS_OK
                   : cs_fail(CS_ERR_USAGE, "architecture %s predicts ids, not pixel values",
                             cs_arch_name(c->arch));
    }
    cs_status status = cs_model_config_pictures(&sizes);
    if (status != CS_OK) return status;
    const bool of_codes = c->shape.real_width == 0 && c->head.target == CS_TARGET_IDS;
    if (c->shape.positions != sizes.shape.positions ||
        (!of_codes && c->shape.real_width != sizes.shape.real_width)) {
        return cs_fail(
            CS_ERR_USAGE,
            "%lld positions of %lld values do not match pictures with %lld patches of %lld values",
            (long long)c->shape.positions, (long long)c->shape.real_width,
            (long long)sizes.shape.positions, (long long)sizes.shape.real_width);
    }
    if (c->picture.sinusoidal && (c->shape.width % 4 != 0 || decoder % 4 != 0)) {
        return cs_fail(
            CS_ERR_USAGE,
            "two-dimensional sine positions need a width that is a multiple of 4, not %lld",
            (long long)(c->shape.width % 4 != 0 ? c->shape.width : decoder));
    }
    CS_AUTO_FREE int32_t *order = NULL;
    status = cs_model_order(c, &order);
    if (status != CS_OK) return status;
    if ((c->arch == CS_ARCH_VIT_MAE) != (c->decoder.layers > 0)) {
        return cs_fail(CS_ERR_USAGE, "architecture %s %s a decoder", cs_arch_name(c->arch),
                       c->arch == CS_ARCH_VIT ? "cannot have" : "needs");
    }
    return c->head.target == CS_TARGET_IDS || !c->head.absent
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "the model predicts values, but it has no head");
}

/* A classifier predicts no tokens. */
static cs_status classifier(const cs_model_config *c)
{
    if ((unsigned)c->head.readout > CS_READ_MEAN) {
        return cs_fail(CS_ERR_USAGE, "unknown readout number %d", (int)c->head.readout);
    }
    if (c->head.spans &&
        (c->head.classes != 2 || c->head.cloze || cs_arch_row_of(c->arch)->pictures)) {
        return cs_fail(CS_ERR_USAGE, "a span head has 2 outputs, not %lld, and reads text",
                       (long long)c->head.classes);
    }
    const char *extra = c->head.classes == 0                  ? NULL
                        : c->head.transform && !c->head.cloze ? "head transform"
                        : c->head.bias                        ? "bias of the logits"
                        : !c->head.tied                       ? "separate output matrix"
                        : c->attention.query_vector           ? "query vector"
                        : c->head.detector                    ? "detector of replaced tokens"
                        : c->head.offsets > 0                 ? "heads for offsets"
                        : c->decoder.layers > 0               ? "decoder"
                        : c->head.target != CS_TARGET_IDS     ? "head that predicts values"
                                                              : NULL;
    return extra ? cs_fail(CS_ERR_USAGE, "a classification head cannot be combined with %s", extra)
                 : CS_OK;
}

/* Parts that the single layer of Theorem 4.3 lacks. */
static cs_status plain_linear(const cs_model_config *c)
{
    if (c->arch != CS_ARCH_LINEAR) {
        return CS_OK;
    }
    if (c->shape.layers != 1) {
        return cs_fail(CS_ERR_USAGE, "architecture linear has 1 layer, not %lld",
                       (long long)c->shape.layers);
    }
    const char *extra = c->head.tied                       ? "tied output"
                        : c->layer.bias                    ? "biases"
                        : c->head.bias                     ? "bias of the logits"
                        : c->head.transform                ? "head transform"
                        : c->layer.embed_norm              ? "norm of embeddings"
                        : c->layer.post_norm               ? "norms"
                        : c->shape.token_types > 0         ? "token types"
                        : c->position.relative_buckets > 0 ? "relative positions"
                        : c->head.classes > 0              ? "classification head"
                        : c->attention.query_vector        ? "query vector"
                        : c->head.detector                 ? "detector of replaced tokens"
                        : c->head.offsets > 0              ? "heads for offsets"
                        : c->decoder.layers > 0            ? "decoder"
                        : c->training.dropout > 0 || c->training.attention_dropout > 0 ||
                                c->training.embed_dropout > 0
                            ? "dropout"
                            : NULL;
    return extra ? cs_fail(CS_ERR_USAGE, "architecture linear has no %s", extra) : CS_OK;
}

cs_status cs_model_config_check_at(const cs_model_config *config, size_t *at)
{
    *at = CS_AT(arch);
    if ((unsigned)config->arch >= CS_ARCH_COUNT) {
        return cs_fail(CS_ERR_USAGE, "unknown architecture number %d", (int)config->arch);
    }
    if ((unsigned)config->layer.activation > CS_ACT_QUICK_GELU) {
        return cs_fail(CS_ERR_USAGE, "unknown activation number %d", (int)config->layer.activation);
    }
    if ((unsigned)config->decoder.attention > CS_DECODER_CROSS) {
        return cs_fail(CS_ERR_USAGE, "unknown decoder attention number %d",
                       (int)config->decoder.attention);
    }
    if (config->attention.blind_queries && !config->attention.query_vector) {
        return cs_fail(CS_ERR_USAGE, "blind queries need a model with a query vector");
    }
    cs_status (*of_member[])(const cs_model_config *, size_t *) = {ranges, relative, parts,
                                                                   first_position};
    cs_status (*of_whole[])(const cs_model_config *) = {pictures, classifier, plain_linear};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof of_member / sizeof *of_member && status == CS_OK; ++i) {
        status = of_member[i](config, at);
    }
    if (status != CS_OK) return status;
    *at = CS_AT(arch);
    for (size_t i = 0; i < sizeof of_whole / sizeof *of_whole && status == CS_OK; ++i) {
        status = of_whole[i](config);
    }
    return status;
}

cs_status cs_model_config_check(const cs_model_config *config)
{
    size_t at = 0;
    return cs_model_config_check_at(config, &at);
}

cs_status cs_model_config_reads(const cs_model_config *config, int64_t real_width)
{
    return config->shape.real_width == real_width
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "rows have %lld real values, but the model reads %lld (0: ids)",
                         (long long)real_width, (long long)config->shape.real_width);
}

cs_status cs_model_config_sees(const cs_model_config *config, const char *name, int64_t height,
                               int64_t width, int64_t channels)
{
    const cs_model_config *c = config;
    if (!cs_arch_row_of(c->arch)->pictures) {
        return cs_fail(CS_ERR_USAGE, "%s: contains pictures, but the model (%s) reads ids", name,
                       cs_arch_name(c->arch));
    }
    return c->picture.height == height && c->picture.width == width &&
                   c->picture.channels == channels
               ? CS_OK
               : cs_fail(
                     CS_ERR_USAGE,
                     "%s: pictures are %lld x %lld x %lld, but the model reads %lld x %lld x %lld",
                     name, (long long)height, (long long)width, (long long)channels,
                     (long long)c->picture.height, (long long)c->picture.width,
                     (long long)c->picture.channels);
}
