/* Classification: one loss row a text, the readout and the head.
 *
 * Heads are those of transformers' ...ForSequenceClassification classes: gpt2 has a matrix without
 * bias over the last row; bert (its pooler) and roberta-* have drop, dense, tanh, drop, outputs
 * over the first, bert without the first dropout; vit has the outputs alone, of the class token.
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
    net->readout_lim = cs_graph_index(g, net->loss_rows, "readout lim");
    cs_attention_options o = {.vis = net->vis,
                              .lim = net->readout_lim,
                              .table = CS_NONE,
                              .pos_q = CS_NONE,
                              .pos_k = CS_NONE,
                              .heads = e->config->heads,
                              .scale = 1e-30};
    int q = cs_graph_gather(g, x, net->loss_rows, net->predict);
    return cs_graph_attention(g, q, cs_graph_add(g, CS_NONE, x, 0), x, &o);
}

static int drop(cs_emitter *e, int x)
{
    bool drops = e->options->training && e->config->dropout > 0;
    return drops ? cs_graph_add(e->graph, CS_NONE, x, e->config->dropout) : x;
}

void cs_emit_classifier(cs_emitter *e, int x)
{
    cs_network *net = e->net;
    cs_arch arch = e->config->arch;
    if (arch == CS_ARCH_GPT2) {
        net->features = x;
        net->logits = cs_graph_linear(e->graph, x, cs_emit_param(e, "", "classifier.output.weight"),
                                      CS_NONE, CS_ACT_NONE);
    } else if (cs_arch_row_of(arch)->pictures) {
        net->features = x;
        net->logits = cs_emit_linear(e, x, "", "classifier.output", CS_ACT_NONE);
    } else {
        x = arch == CS_ARCH_BERT ? x : drop(e, x);
        net->features = cs_emit_linear(e, x, "", "classifier.dense", CS_ACT_TANH);
        net->logits =
            cs_emit_linear(e, drop(e, net->features), "", "classifier.output", CS_ACT_NONE);
    }
    cs_graph_keep(e->graph, net->features);
    cs_graph_keep(e->graph, net->logits);
}
