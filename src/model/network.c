/* Embeddings, the single-stream form, the head and its loss; which form a model is built in.
 *
 * The arithmetic without dropout is that of the Hugging Face class of the architecture
 * (model/config.h): order of sums, places of norms, activations.
 */
#include "model/network.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/arch_private.h"
#include "model/network_private.h"

const char *cs_loss_name(cs_loss loss)
{
    static const char *const NAME[] = {[CS_LOSS_NONE] = "none",
                                       [CS_LOSS_CROSS_ENTROPY] = "cross-entropy",
                                       [CS_LOSS_SPECTRAL] = "spectral",
                                       [CS_LOSS_SOFT_CROSS_ENTROPY] = "soft-cross-entropy",
                                       [CS_LOSS_SQUARED_ERROR] = "squared-error"};
    return NAME[loss];
}

/* --- linear form ------------------------------------------------------------------------------ */

/* The single layer of Theorem 4.3: pooled linear attention over the tokens that a row sees.
 *
 * f(i) = n^-p sum_u sum_v (q_u . k_v) v_v over the n tokens seen, z = f W^T. No norm, no bias, no
 * residual: the network is the theorem's model. Without positions it is blind: f depends on the
 * set of tokens alone. The printed form sums three free token indices; here key and value index
 * are one, as in Q K^T V.
 */

static int emit_linear(cs_emitter *e)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    int64_t d = c->shape.width;
    int x = cs_emit_content(e);
    net->query.rows = cs_graph_rows(g, e->options->batch, e->options->queries);
    net->query.lim = cs_graph_index(g, net->query.rows, "query lim");
    int qkv = cs_emit_linear(e, x, "layer.0.", "attention.qkv", CS_ACT_NONE);
    cs_attention_options o = {
        .vis = net->vis, .lim = net->query.lim, .heads = c->shape.heads, .power = c->head.pooling};
    int pooled =
        cs_graph_linear_attention(g, cs_graph_cols(g, qkv, 0, d), cs_graph_cols(g, qkv, d, d),
                                  cs_graph_cols(g, qkv, 2 * d, d), &o);
    if (e->options->keep_hidden) { /* what there is of layers: tokens, then rows */
        cs_emit_hidden(e, 0, x);
        cs_emit_hidden(e, 1, pooled);
    }
    return cs_graph_gather(g, pooled, net->loss.rows, net->loss.predict);
}

/* --- classification --------------------------------------------------------------------------- */

/* Classification: one loss row a text, the readout and the head.
 *
 * Heads are those of transformers' ...ForSequenceClassification classes (cs_score): gpt2, llama and other
 * decoders have a matrix without bias over the last row; roberta and its kind drop, dense, tanh, drop,
 * outputs over the first, electra with gelu, bert and albert (their poolers) without the first dropout,
 * deberta-v2 so with gelu, distilbert with relu; modernbert dense, activation, norm, drop, outputs over the
 * first, its decoder over the last; eurobert dense, gelu, outputs; vit the outputs alone, of the class
 * token. A cloze has the head of the language model, with the rows of some tokens (train/cloze.h). Spans
 * have that of ...ForQuestionAnswering: two outputs of every row of the text.
 *
 * The mean over the rows of a text is attention of one query with scores of zero: the scale is so
 * small that every exponential is 1 to the last bit for any finite score. The query is the row that
 * `predict` names, and keys are a copy of the values, as the gradients of keys and values lie
 * apart.
 */

static int emit_mean(cs_emitter *e)
{
    cs_graph *g = e->graph;
    cs_network *net = e->net;
    int x = cs_emit_final(e, cs_emit_encoder(e, false), "final_norm");
    net->loss.readout_lim = cs_graph_index(g, net->loss.rows, "readout lim");
    cs_attention_options o = {.vis = net->vis,
                              .lim = net->loss.readout_lim,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = e->config->shape.heads,
                              .scale = 1e-30};
    int q = cs_graph_gather(g, x, net->loss.rows, net->loss.predict);
    return cs_graph_attention(g, q, cs_graph_add(g, CS_NONE, x, 0), x, &o);
}

/* The transform before the output matrix of the language model's head; x itself without. */
static int transform(cs_emitter *e, int x)
{
    const cs_model_config *c = e->config;
    if (c->head.norm) {
        x = cs_graph_layer_norm(e->graph, x, CS_NONE, 0, cs_emit_norm(e, "", "final_norm", x),
                                NULL);
    }
    if (c->head.transform) {
        cs_activation act =
            cs_arch_row_of(c->arch)->head_follows ? c->layer.activation : c->head.activation;
        x = cs_emit_linear(e, x, "", "head.dense", act);
        x = cs_graph_layer_norm(e->graph, x, CS_NONE, 0, cs_emit_norm(e, "", "head.norm", x), NULL);
    }
    return x;
}

/* The logits of the language model's head as the architecture caps them. */
static int capped(cs_emitter *e, int logits)
{
    const double cap = e->config->head.logit_cap;
    return cap > 0 ? cs_graph_gate(e->graph, logits, CS_NONE, CS_ACT_TANH, 1 / cap, cap) : logits;
}

static int drop(cs_emitter *e, int x)
{
    bool drops = e->options->training && e->config->training.dropout > 0;
    return drops ? cs_graph_add(e->graph, CS_NONE, x, e->config->training.dropout) : x;
}

static void emit_classifier(cs_emitter *e, int x)
{
    cs_network *net = e->net;
    const cs_model_config *c = e->config;
    const cs_score score = cs_arch_row_of(c->arch)->score;
    if (c->head.spans) {
        net->loss.features = x;
        net->loss.logits = cs_emit_linear(e, x, "", "span.output", CS_ACT_NONE);
        cs_graph_keep(e->graph, net->loss.logits);
        return;
    }
    if (c->head.cloze) {
        x = transform(e, x);
    } else if (score <= CS_SCORE_RELU) {
        const cs_activation act[] = {CS_ACT_TANH, CS_ACT_GELU_ERF, CS_ACT_TANH, c->head.activation,
                                     CS_ACT_RELU};
        x = score <= CS_SCORE_GELU ? drop(e, x) : x;
        x = cs_emit_linear(e, x, "", "classifier.dense", act[score]);
    } else if (score == CS_SCORE_NORM || score == CS_SCORE_NORMED) {
        x = cs_emit_linear(e, x, "", "classifier.dense", c->head.activation);
        x = cs_graph_layer_norm(e->graph, x, CS_NONE, 0, cs_emit_norm(e, "", "classifier.norm", x),
                                NULL);
    }
    if (score == CS_SCORE_DENSE && !c->head.cloze) {
        x = cs_emit_linear(e, x, "", "classifier.dense", CS_ACT_GELU_ERF);
    }
    net->loss.features = x;
    x = score <= CS_SCORE_NORMED && !c->head.cloze ? drop(e, x) : x;
    net->loss.logits = cs_emit_linear(e, x, "", "classifier.output", CS_ACT_NONE);
    net->loss.logits = c->head.cloze ? capped(e, net->loss.logits) : net->loss.logits;
    cs_graph_keep(e->graph, net->loss.features);
    cs_graph_keep(e->graph, net->loss.logits);
}

/* --- single form ------------------------------------------------------------------------------ */

/* Multi-token prediction (Gloeckle et al. 2024): all layers except the last are a trunk, and each
 * offset has its own last layer on it; the next token has the model's last layer. Final norm and
 * output matrix are shared. A loss row reads the layer of its offset. */
static int emit_offsets(cs_emitter *e)
{
    const int64_t last = e->config->shape.layers - 1;
    cs_network *net = e->net;
    cs_stream trunk = cs_emit_layers(e, last, false);
    int x = CS_NONE;
    trunk = (cs_stream){cs_emit_sum(e, trunk), CS_NONE};
    for (int64_t k = 0; k < e->options->offsets; ++k) {
        char prefix[CS_PREFIX_SIZE];
        const cs_layer layer = cs_emit_encoder_layer(e, last, prefix);
        cs_stream stream = trunk;
        int entry;
        if (k > 0) {
            (void)snprintf(prefix, sizeof prefix, "offset.%lld.", (long long)k + 1);
        }
        cs_emit_layer(e, &layer, &stream, &entry);
        const int y = cs_graph_gather(e->graph, cs_emit_final(e, stream, "final_norm"),
                                      net->loss.rows, net->loss.offset_predict[k]);
        x = k == 0 ? y : cs_graph_add(e->graph, x, y, 0);
    }
    return x;
}

static int emit_single(cs_emitter *e)
{
    const cs_network_options *o = e->options;
    if (o->classify && e->config->head.readout == CS_READ_MEAN && !e->config->head.spans) {
        return emit_mean(e);
    }
    if (o->offsets > 1) {
        return emit_offsets(e);
    }
    if (o->classify && e->config->head.spans) { /* of all rows */
        return cs_emit_final(e, cs_emit_encoder(e, false), "final_norm");
    }
    const bool narrow = o->predictions > 0 && !o->keep_hidden && !e->config->layer.mixed;
    cs_stream stream = cs_emit_encoder(e, narrow);
    if (o->predictions == 0 || o->keep_hidden) {
        e->net->top = cs_emit_final(e, stream, "final_norm");
        cs_graph_keep(e->graph, e->net->top);
        return o->predictions == 0 ? CS_NONE
                                   : cs_graph_gather(e->graph, e->net->top, e->net->loss.rows,
                                                     e->net->loss.predict);
    }
    if (!narrow) {
        stream.x = cs_graph_gather(e->graph, stream.x, e->net->loss.rows, e->net->loss.predict);
    }
    const int x = cs_emit_final(e, stream, "final_norm");
    if (!o->headless) return x;
    e->net->top = x;
    cs_graph_keep(e->graph, x);
    return CS_NONE;
}

/* --- head and loss ---------------------------------------------------------------------------- */

/* Rows that the loss reads, and what they predict. */
static void loss_rows(cs_emitter *e)
{
    const cs_network_options *o = e->options;
    cs_network *net = e->net;
    if (o->predictions == 0) {
        return;
    }
    net->loss.rows = o->classify ? cs_graph_rows(e->graph, o->batch, 1)
                                 : cs_graph_rows(e->graph, 1, o->predictions);
    for (int64_t k = 0; k < o->offsets && o->offsets > 1; ++k) {
        net->loss.offset_predict[k] = cs_graph_index(e->graph, net->loss.rows, "predict");
    }
    if (o->offsets <= 1) {
        net->loss.predict = cs_graph_index(e->graph, net->loss.rows, "predict");
    }
    if (o->loss == CS_LOSS_SQUARED_ERROR || o->loss == CS_LOSS_SOFT_CROSS_ENTROPY) {
        net->loss.goal = cs_graph_input(
            e->graph, net->loss.rows,
            o->classify ? e->config->head.classes : e->config->shape.real_width, "goal");
    } else if (o->loss != CS_LOSS_NONE) {
        net->loss.target = cs_graph_index(e->graph, net->loss.rows, "target");
    }
    if (o->loss != CS_LOSS_NONE) {
        net->loss.weight = cs_graph_input(e->graph, net->loss.rows, 1, "weight");
    }
    if (o->loss == CS_LOSS_SPECTRAL) {
        net->loss.mass = cs_graph_input(e->graph, CS_NONE, e->config->shape.vocab, "mass");
    }
}

/* The values of the rows in `x`. */
static void values(cs_emitter *e, int x)
{
    e->net->loss.features = x;
    e->net->loss.logits = cs_emit_linear(e, x, "", "pixel", CS_ACT_NONE);
    cs_graph_keep(e->graph, e->net->loss.features);
    cs_graph_keep(e->graph, e->net->loss.logits);
}

/* Logits of the rows in `x`: dense, gelu, norm where the architecture has them, then the output
 * matrix. */
static void head(cs_emitter *e, int x)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    x = transform(e, x);
    bool bias = c->head.bias && e->options->loss != CS_LOSS_SPECTRAL;
    if (c->head.scale > 0) {
        x = cs_graph_gate(e->graph, x, CS_NONE, CS_ACT_NONE, 1, c->head.scale);
    }
    net->loss.features = x;
    net->loss.logits = cs_graph_linear(
        e->graph, x, cs_emit_param(e, "", c->head.tied ? "embed.token" : "output.weight"),
        bias ? cs_emit_param(e, "", "head.bias") : CS_NONE, CS_ACT_NONE);
    net->loss.logits = capped(e, net->loss.logits);
    cs_graph_keep(e->graph, net->loss.features);
    cs_graph_keep(e->graph, net->loss.logits);
}

/* Whether a token was replaced, of the rows in `x`. */
static void detector(cs_emitter *e, int x)
{
    e->net->loss.features = x;
    e->net->loss.logits = cs_emit_linear(e, x, "", "detect", CS_ACT_NONE);
    cs_graph_keep(e->graph, e->net->loss.features);
    cs_graph_keep(e->graph, e->net->loss.logits);
}

static void loss(cs_emitter *e)
{
    cs_network *net = e->net;
    int64_t classes = e->options->classify ? e->config->head.classes
                      : e->options->detect ? 2
                                           : e->config->shape.vocab;
    switch (e->options->loss) {
    case CS_LOSS_NONE:
        break;
    case CS_LOSS_CROSS_ENTROPY:
        net->loss.value = cs_graph_cross_entropy(e->graph, net->loss.logits, classes,
                                                 net->loss.target, net->loss.weight);
        break;
    case CS_LOSS_SPECTRAL:
        net->loss.value =
            cs_graph_spectral_loss(e->graph, net->loss.logits, classes, net->loss.target,
                                   net->loss.weight, net->loss.mass, e->options->spectral_factor);
        break;
    case CS_LOSS_SOFT_CROSS_ENTROPY:
        net->loss.value = cs_graph_soft_cross_entropy(e->graph, net->loss.logits, net->loss.goal,
                                                      net->loss.weight);
        break;
    case CS_LOSS_SQUARED_ERROR:
        net->loss.value =
            cs_graph_squared_error(e->graph, net->loss.logits, net->loss.goal, net->loss.weight);
        break;
    }
}

/* --- checks ----------------------------------------------------------------------------------- */

static cs_status check_sizes(const cs_model_config *c, const cs_network_options *o)
{
    const struct {
        const char *name;
        int64_t value;
        bool used;
    } size[] = {{"batch", o->batch, true},
                {"length", o->length, true},
                {"queries", o->queries, o->form == CS_FORM_TWO_STREAM || o->form == CS_FORM_LINEAR},
                {"decoder length", o->decoder_length, o->form == CS_FORM_MAE},
                {"predictions", o->predictions,
                 o->loss != CS_LOSS_NONE || o->training ||
                     (o->form != CS_FORM_SINGLE && !(c->decoder.stack && o->keep_hidden)) ||
                     o->predictions != 0}};
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i) {
        if (size[i].used && size[i].value < 1) {
            return cs_fail(CS_ERR_USAGE, "the network's %s %lld is not positive", size[i].name,
                           (long long)size[i].value);
        }
    }
    const bool dynamic = c->position.rotary.scaling == CS_SCALING_DYNAMIC;
    const bool other = o->form != CS_FORM_SINGLE || o->training;
    if (dynamic && other && (double)o->length > c->position.rotary.original) {
        return cs_fail(CS_ERR_USAGE,
                       "sequences of %lld tokens: dynamic rotary scaling above %g is not supported "
                       "in training",
                       (long long)o->length, c->position.rotary.original);
    }
    /* the code of such classes then has other buckets for all distances */
    const bool own = c->position.distance_odd && c->position.distance_most != 512;
    if (own && o->length > c->position.distance_most) {
        return cs_fail(CS_ERR_USAGE,
                       "sequences of %lld tokens are too long for a model of %lld positions",
                       (long long)o->length, (long long)c->position.distance_most);
    }
    if (c->position.distance_table && o->length > c->position.distance_span) {
        return cs_fail(CS_ERR_USAGE,
                       "sequences of %lld tokens are too long for a model of %lld distances",
                       (long long)o->length, (long long)c->position.distance_span);
    }
    if (c->shape.positions > 0 && o->length > c->shape.positions) {
        return cs_fail(CS_ERR_USAGE,
                       "sequences of %lld tokens are too long for a model of %lld positions",
                       (long long)o->length, (long long)c->shape.positions);
    }
    return CS_OK;
}

static cs_status check_classifier(const cs_model_config *c, const cs_network_options *o)
{
    cs_loss loss = c->head.classes == 1 ? CS_LOSS_SQUARED_ERROR : CS_LOSS_CROSS_ENTROPY;
    if (c->head.classes == 0) {
        return cs_fail(CS_ERR_USAGE, "the model has no classification head");
    }
    if (o->form != CS_FORM_SINGLE || o->keep_hidden) {
        return cs_fail(CS_ERR_USAGE, "a classification head needs the single form alone");
    }
    if (c->head.spans && o->loss != CS_LOSS_NONE) { /* over the rows of a text: train/finetune.h */
        return cs_fail(CS_ERR_USAGE, "a span head has no loss by rows");
    }
    const bool soft = o->loss == CS_LOSS_SOFT_CROSS_ENTROPY && c->head.classes > 1;
    if (o->loss != CS_LOSS_NONE && o->loss != loss && !soft) {
        return cs_fail(CS_ERR_USAGE, "a classification head of %lld outputs needs a different loss",
                       (long long)c->head.classes);
    }
    return o->predictions == o->batch
               ? check_sizes(c, o)
               : cs_fail(CS_ERR_USAGE, "%lld loss rows do not match %lld texts",
                         (long long)o->predictions, (long long)o->batch);
}

static cs_status check_headless(const cs_model_config *c, const cs_network_options *o)
{
    return o->form != CS_FORM_SINGLE || o->loss != CS_LOSS_NONE || o->classify || o->detect ||
                   o->offsets > 1 || o->training || o->keep_hidden || o->predictions < 1
               ? cs_fail(CS_ERR_USAGE, "states of some rows need the single form without a loss")
               : check_sizes(c, o);
}

static cs_status check_options(const cs_model_config *c, const cs_network_options *o)
{
    if ((c->arch == CS_ARCH_LINEAR) != (o->form == CS_FORM_LINEAR)) {
        return cs_fail(CS_ERR_USAGE, "architecture %s does not support this form of network",
                       cs_arch_name(c->arch));
    }
    if (o->headless) return check_headless(c, o);
    if (o->form == CS_FORM_TWO_STREAM || (o->form == CS_FORM_MAE && !c->decoder.stack) ||
        (o->training && !o->classify)) {
        cs_status status = cs_arch_trained(c->arch);
        if (status != CS_OK) return status;
    }
    if (o->form == CS_FORM_TWO_STREAM && !c->attention.query_vector) {
        return cs_fail(CS_ERR_USAGE, "the model has no query vector: it was not made for an "
                                     "objective with two-stream attention");
    }
    if (o->form == CS_FORM_MAE && c->decoder.layers == 0) {
        return cs_fail(CS_ERR_USAGE, "the model has no decoder");
    }
    if (c->decoder.stack && o->form == CS_FORM_SINGLE && o->predictions > 0) {
        return cs_fail(CS_ERR_USAGE, "the encoder of the model (%s) does not predict tokens",
                       cs_arch_name(c->arch));
    }
    if ((o->form == CS_FORM_MAE && c->decoder.stack ? c->decoder.headless : c->head.absent) &&
        o->predictions > 0) {
        return cs_fail(CS_ERR_USAGE, "the model (%s) has no head that predicts tokens",
                       cs_arch_name(c->arch));
    }
    if (c->head.classes > 0 && o->predictions > 0 && !o->classify) {
        return cs_fail(CS_ERR_USAGE,
                       "the model has a classification head: it predicts classes, not tokens");
    }
    if (o->classify) {
        return check_classifier(c, o);
    }
    if (o->loss == CS_LOSS_SOFT_CROSS_ENTROPY) {
        return cs_fail(CS_ERR_USAGE, "soft targets need a classification head");
    }
    if (o->detect && (!c->head.detector || o->form != CS_FORM_SINGLE)) {
        return cs_fail(CS_ERR_USAGE, "the model has no detector of replaced tokens");
    }
    if (o->offsets > 1 && (o->offsets > c->head.offsets || o->form != CS_FORM_SINGLE ||
                           o->keep_hidden || o->detect || o->predictions == 0)) {
        return cs_fail(CS_ERR_USAGE, "%lld offsets requested, but the model has heads for %lld",
                       (long long)o->offsets, (long long)c->head.offsets);
    }
    const bool of_values = c->head.target != CS_TARGET_IDS;
    if (o->loss != CS_LOSS_NONE && (o->loss == CS_LOSS_SQUARED_ERROR) != of_values) {
        return cs_fail(
            CS_ERR_USAGE, "%s",
            of_values
                ? "a model that predicts values needs the squared error"
                : "the squared error needs a classification head or a model that predicts values");
    }
    if (o->training && o->keep_hidden) {
        return cs_fail(CS_ERR_USAGE,
                       "hidden rows can be kept only in networks that are not trained");
    }
    if (o->loss == CS_LOSS_SPECTRAL && !(o->spectral_factor > 0)) {
        return cs_fail(CS_ERR_USAGE, "factor %g of the spectral loss is not positive",
                       o->spectral_factor);
    }
    return check_sizes(c, o);
}

/* Dropout distinguishes operations by ten bits (tensor/dropout.h). */
static cs_status check_dropout(const cs_model_config *c, const cs_network *net)
{
    bool drops = c->training.dropout > 0 || c->training.attention_dropout > 0 ||
                 c->training.embed_dropout > 0;
    if (net->options.training && drops && net->graph.ops > 1024) {
        return cs_fail(CS_ERR_USAGE,
                       "dropout supports at most 1024 operations; the network has %lld",
                       (long long)net->graph.ops);
    }
    return CS_OK;
}

/* --- building --------------------------------------------------------------------------------- */

static void blank(const cs_network_options *options, cs_network *net)
{
    memset(net, 0, sizeof *net);
    net->options = *options;
    cs_graph_init(&net->graph, options->training);
    for (size_t at = offsetof(cs_network, rows); at <= offsetof(cs_network, top);
         at += sizeof(int)) {
        *(int *)(void *)((char *)net + at) = CS_NONE;
    }
}

static void emit(cs_emitter *e)
{
    static int (*const FORM[])(cs_emitter *) = {[CS_FORM_SINGLE] = emit_single,
                                                [CS_FORM_TWO_STREAM] = cs_emit_two_stream,
                                                [CS_FORM_MAE] = cs_emit_mae,
                                                [CS_FORM_LINEAR] = emit_linear};
    loss_rows(e);
    int x = FORM[e->options->form](e);
    if (e->options->predictions > 0 && !e->options->headless) {
        if (e->options->classify) {
            emit_classifier(e, x);
        } else if (e->options->detect) {
            detector(e, x);
        } else if (e->config->head.target != CS_TARGET_IDS) {
            values(e, x);
        } else {
            head(e, x);
        }
        loss(e);
    }
}

cs_status cs_network_build(const cs_model *model, const cs_network_options *options,
                           cs_network *out)
{
    cs_network net;
    blank(options, &net);
    cs_emitter e = {.model = model,
                    .config = &model->config,
                    .options = options,
                    .net = &net,
                    .places = CS_NONE,
                    .graph = &net.graph};
    cs_status status = check_options(&model->config, options);
    if (status == CS_OK && options->keep_hidden) {
        net.hiddens = (int)((cs_emit_keeps_decoder(&e) ? model->config.decoder.layers
                                                       : model->config.shape.layers) +
                            1);
        net.hidden = cs_alloc(net.hiddens, sizeof *net.hidden);
        status = net.hidden ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && model->config.layer.mixed) {
        e.sum = cs_alloc(2 * model->config.shape.layers + 1, sizeof *e.sum);
        status = e.sum ? CS_OK : CS_ERR_MEMORY;
    }
    e.param = status == CS_OK ? cs_alloc(model->params.count, sizeof *e.param) : NULL;
    if (status == CS_OK && !e.param) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t i = 0; i < model->params.count; ++i) {
            e.param[i] = CS_NONE;
        }
        emit(&e);
        status = cs_graph_finish(&net.graph);
    }
    if (status == CS_OK) status = check_dropout(&model->config, &net);
    cs_free(e.param);
    cs_free(e.sum);
    return CS_DELIVER(status, out, net, cs_network_free);
}

void cs_network_free(cs_network *network)
{
    cs_graph_free(&network->graph);
    cs_free(network->hidden);
    memset(network, 0, sizeof *network);
}

/* --- cost ------------------------------------------------------------------------------------- */

double cs_network_flops(const cs_network *network)
{
    const cs_graph *g = &network->graph;
    double sum = 0;
    for (int64_t i = 0; i < g->ops; ++i) {
        const cs_op *op = &g->op[i];
        if (op->kind == CS_OP_LINEAR) {
            const cs_tensor *x = &g->tensor[op->linear.x.tensor];
            sum += 2.0 * (double)x->rows * (double)x->cols * (double)g->tensor[op->linear.y].cols;
        } else if (op->kind == CS_OP_EXPERTS) { /* three matrices of each expert chosen */
            const cs_tensor *x = &g->tensor[op->experts.x.tensor];
            sum += 6.0 * (double)x->rows * (double)op->experts.chosen * (double)x->cols *
                   (double)g->tensor[op->experts.out.tensor].cols;
        } else if (op->kind == CS_OP_ATTENTION) { /* q k^T, then a v */
            const cs_tensor *q = &g->tensor[op->attention.q.tensor];
            const cs_tensor *k = &g->tensor[op->attention.k.tensor];
            sum += 4.0 * (double)q->rows * (double)g->row_set[k->row_set].length * (double)q->cols;
        } else if (op->kind == CS_OP_LINEAR_ATTENTION) { /* sum of q, dots with k, sum of v */
            const cs_tensor *k = &g->tensor[op->attention.k.tensor];
            const cs_tensor *y = &g->tensor[op->attention.y];
            sum += 5.0 * (double)y->rows * (double)g->row_set[k->row_set].length * (double)y->cols;
        }
    }
    return sum;
}
