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
#include "model/arch_private.h"
#include "model/network_private.h"

int cs_emit_mean(cs_emitter *e)
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

static int drop(cs_emitter *e, int x)
{
    bool drops = e->options->training && e->config->training.dropout > 0;
    return drops ? cs_graph_add(e->graph, CS_NONE, x, e->config->training.dropout) : x;
}

void cs_emit_classifier(cs_emitter *e, int x)
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
        x = cs_emit_transform(e, x);
    } else if (score <= CS_SCORE_RELU) {
        const cs_activation act[] = {CS_ACT_TANH, CS_ACT_GELU_ERF, CS_ACT_TANH, c->head.activation,
                                     CS_ACT_RELU};
        x = score <= CS_SCORE_GELU ? drop(e, x) : x;
        x = cs_emit_linear(e, x, "", "classifier.dense", act[score]);
    } else if (score == CS_SCORE_NORM || score == CS_SCORE_NORMED) {
        x = cs_emit_linear(e, x, "", "classifier.dense", c->head.activation);
        x = cs_graph_layer_norm(e->graph, x, CS_NONE, 0,
                                (cs_norm){cs_emit_param(e, "", "classifier.norm.gain"),
                                          cs_emit_bias(e, "", "classifier.norm.bias"), c->layer.eps,
                                          c->layer.rms, 0},
                                NULL);
    }
    if (score == CS_SCORE_DENSE && !c->head.cloze) {
        x = cs_emit_linear(e, x, "", "classifier.dense", CS_ACT_GELU_ERF);
    }
    net->loss.features = x;
    x = score <= CS_SCORE_NORMED && !c->head.cloze ? drop(e, x) : x;
    net->loss.logits = cs_emit_linear(e, x, "", "classifier.output", CS_ACT_NONE);
    net->loss.logits = c->head.cloze ? cs_emit_capped(e, net->loss.logits) : net->loss.logits;
    cs_graph_keep(e->graph, net->loss.features);
    cs_graph_keep(e->graph, net->loss.logits);
}
