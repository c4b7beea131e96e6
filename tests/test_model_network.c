/* model: which operations networks are made of: where dropout is and with which rate, which
 * attention has relative positions, the activation of the head. Rates are distinguished by
 * case_config's three values. */
#include "backend_ref.h"
#include "model_support.h"

static void open_case(const model_case *what, bool training, model_world *world)
{
    cs_model_config config = case_config(what, true);
    cs_network_options options = case_options(what, training);
    world_open(world, cs_backend_ref, &config, &options);
}

static const char *name_of(const cs_network *net, cs_operand operand)
{
    return net->graph.tensor[operand.tensor].name;
}

static bool of_decoder(const cs_network *net, cs_operand gain)
{
    return strncmp(name_of(net, gain), "decoder.", 8) == 0;
}

static bool at_rows(const cs_network *net, cs_operand x, int rows)
{
    return rows != CS_NONE && net->graph.tensor[x.tensor].row_set == rows;
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* Sums of a stream with dropout: two a layer of the encoder. Of two streams both run, the content
 * not through its last layer; each offset has a last layer. */
static int64_t expected_sums(const cs_model_config *c, cs_form form)
{
    switch (form) {
    case CS_FORM_LINEAR:
        return 0;
    case CS_FORM_TWO_STREAM:
        return 2 * (c->shape.layers + c->shape.layers - 1);
    default:
        return 2 * (c->shape.layers + (c->head.offsets > 0 ? c->head.offsets - 1 : 0));
    }
}

static void check_dropout(const model_case *what, bool training)
{
    CS_AUTO_BY(world_close, model_world) w = {0};
    open_case(what, training, &w);
    const cs_model_config *c = &w.model.config;
    const cs_network *net = &w.net;
    int64_t embedded = 0, sums = 0;
    for (int64_t i = 0; i < net->graph.ops; ++i) {
        const cs_op *op = &net->graph.op[i];
        double p = 0, want = 0;
        if (op->kind == CS_OP_ADD && c->shape.extra_width > 0 && op->add.a.tensor != CS_NONE) {
            p = op->add.p; /* vectors of patches and of pictures: 0 */
        } else if (op->kind == CS_OP_ADD && c->head.offsets > 0 && op->add.a.tensor != CS_NONE) {
            const bool trunk =
                c->shape.layers > 1 && sums == 2 * (c->shape.layers - 1) - 1; /* else heads */
            p = op->add.p;
            want = trunk ? c->training.dropout : 0;
            sums += trunk;
        } else if (op->kind == CS_OP_ADD) {
            assert_int_equal(op->add.a.tensor, CS_NONE); /* other sums are taken by norms */
            p = op->add.p;
            want = c->training.embed_dropout;
            ++embedded;
        } else if (op->kind == CS_OP_LAYER_NORM) {
            bool drops =
                op->layer_norm.r.tensor != CS_NONE && !of_decoder(net, op->layer_norm.gain);
            p = op->layer_norm.p;
            want = drops ? c->training.dropout : 0;
            sums += drops;
        } else if (op->kind == CS_OP_ATTENTION) {
            p = op->attention.p;
            want = at_rows(net, op->attention.q, net->decoder.rows) ? 0
                                                                    : c->training.attention_dropout;
        }
        if (p != (training ? want : 0)) {
            fail_msg("%s, operation %lld: dropout %g, not %g", what->name, (long long)i, p, want);
        }
    }
    bool linear = what->form == CS_FORM_LINEAR;
    assert_true(linear || (c->training.dropout > 0 && c->training.attention_dropout > 0 &&
                           c->training.embed_dropout > 0));
    assert_int_equal(embedded, !training || linear ? 0 : what->form == CS_FORM_TWO_STREAM ? 2 : 1);
    assert_int_equal(sums, expected_sums(c, what->form));
}

/* After embeddings, in attention and in the sums of the encoder; none in the decoder of MAE-LM (its
 * appendix C), none without training. */
TEST(test_dropout)
{
    for (const model_case *what = model_cases; what->name; ++what) {
        check_dropout(what, true);
        check_dropout(what, false);
    }
}

/* --- relative positions ----------------------------------------------------------------------- */

/* Attention of the encoder, the query stream's with the positions that queries fill, blind ones
 * without; the decoder has absolute positions only (MAE-LM, appendix C). */
TEST(test_relative)
{
    int64_t relative = 0, queries = 0;
    for (const model_case *what = model_cases; what->name; ++what) {
        CS_AUTO_BY(world_close, model_world) w = {0};
        open_case(what, true, &w);
        const cs_network *net = &w.net;
        for (int64_t i = 0; i < net->graph.ops; ++i) {
            const cs_op_attention *o = &net->graph.op[i].attention;
            if (net->graph.op[i].kind != CS_OP_ATTENTION) {
                continue;
            }
            bool query = at_rows(net, o->q, net->query.rows);
            if (w.model.config.position.relative_buckets == 0 ||
                at_rows(net, o->q, net->decoder.rows) ||
                (query && w.model.config.attention.blind_queries)) {
                assert_int_equal(o->table.tensor, CS_NONE);
                continue;
            }
            if (o->table.tensor == CS_NONE) {
                fail_msg("%s, operation %lld: no relative positions", what->name, (long long)i);
            }
            assert_string_equal(name_of(net, o->table), "relative.table");
            assert_int_equal(o->pos_q, query ? net->query.position : net->position);
            assert_int_equal(o->pos_k, net->position);
            assert_int_equal(o->max_distance, w.model.config.position.relative_distance);
            assert_true(o->bidirectional);
            ++relative;
            queries += query;
        }
    }
    assert_true(queries > 0 && relative > queries);
}

/* --- the head --------------------------------------------------------------------------------- */

/* transformers: BertPredictionHeadTransform has config.hidden_act, RobertaLMHead gelu by name. */
TEST(test_head)
{
    const cs_arch arch[] = {CS_ARCH_BERT, CS_ARCH_ROBERTA, CS_ARCH_ROBERTA_PRELAYERNORM};
    const cs_activation act[] = {CS_ACT_RELU, CS_ACT_GELU_TANH, CS_ACT_GELU_ERF};
    for (int k = 0; k < 9; ++k) {
        const model_case what = {"head", CS_FORM_SINGLE, arch[k / 3], CS_LOSS_NONE, NULL};
        cs_model_config config = case_config(&what, false);
        cs_network_options options = case_options(&what, false);
        CS_AUTO_BY(world_close, model_world) w = {0};
        int64_t heads = 0, inner = 0;
        config.layer.activation = act[k % 3];
        world_open(&w, cs_backend_ref, &config, &options);
        for (int64_t i = 0; i < w.net.graph.ops; ++i) {
            const cs_op_linear *o = &w.net.graph.op[i].linear;
            if (w.net.graph.op[i].kind != CS_OP_LINEAR) {
                continue;
            }
            const char *name = name_of(&w.net, o->w);
            cs_activation want = CS_ACT_NONE;
            if (strcmp(name, "head.dense.weight") == 0) {
                want = k / 3 == 0 ? config.layer.activation : CS_ACT_GELU_ERF;
                ++heads;
            } else if (strstr(name, "mlp.in.weight")) {
                want = config.layer.activation;
                ++inner;
            }
            if (o->act != want) {
                fail_msg("%s of %s: activation %d, not %d", name, cs_arch_name(arch[k / 3]), o->act,
                         want);
            }
        }
        assert_int_equal(heads, 1);
        assert_int_equal(inner, config.shape.layers);
    }
}
