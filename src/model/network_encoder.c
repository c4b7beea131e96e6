/* The encoder: content rows start from vectors of tokens, types and positions, real rows and extra
 * vectors, and go through the layers (network_layers.c). */
#include "model/network_private.h"

/* --- embeddings ------------------------------------------------------------------------------- */

int cs_emit_embedded(cs_emitter *e, int x)
{
    const cs_model_config *c = e->config;
    if (c->layer.embed_norm) {
        x = cs_graph_layer_norm(e->graph, x, CS_NONE, 0, cs_emit_norm(e, "", "embed.norm", x),
                                NULL);
    }
    if (e->options->training && c->training.embed_dropout > 0) {
        x = cs_graph_add(e->graph, CS_NONE, x, c->training.embed_dropout);
    }
    return x;
}

/* Real rows, projected; zero where a row is of an id: of pictures, whose projection has a bias, through
 * a copy of the real rows alone. CS_NONE in models of ids alone. */
static int emit_real(cs_emitter *e)
{
    cs_network *net = e->net;
    if (e->config->shape.real_width == 0) {
        return CS_NONE;
    }
    net->real.values = cs_graph_input(e->graph, net->rows, e->config->shape.real_width, "real");
    net->real.row = cs_graph_index(e->graph, net->rows, "real row");
    int x = cs_graph_embed(e->graph, CS_NONE, net->rows, 1, &net->real.values, &net->real.row);
    x = cs_emit_linear(e, x, "", "embed.real", CS_ACT_NONE);
    return cs_emit_bias(e, "", "embed.real.bias") == CS_NONE
               ? x
               : cs_graph_gather(e->graph, x, net->rows, net->real.row);
}

/* The extra vector of a sequence, projected, at the row that reads it; x (CS_NONE: none) elsewhere. */
static int emit_extra(cs_emitter *e, int x)
{
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    if (e->config->shape.extra_width == 0) {
        return x;
    }
    net->extra.rows = cs_graph_rows(g, e->options->batch, 1);
    net->extra.values = cs_graph_input(g, net->extra.rows, e->config->shape.extra_width, "extra");
    net->extra.number = cs_graph_index(g, net->extra.rows, "extra number");
    net->extra.row = cs_graph_index(g, net->rows, "extra row");
    int y = cs_graph_embed(g, CS_NONE, net->extra.rows, 1, &net->extra.values, &net->extra.number);
    y = cs_graph_gather(g, cs_emit_linear(e, y, "", "embed.extra", CS_ACT_NONE), net->rows,
                        net->extra.row);
    return x == CS_NONE ? y : cs_graph_add(g, x, y, 0);
}

/* The vectors of the distances that occur (cs_batch_places), before the matrices of the layers. */
static void emit_places(cs_emitter *e)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    if (c->position.distance_span == 0 || c->position.distance_table ||
        !(c->position.distance_keys || c->position.distance_queries)) {
        return;
    }
    net->distance.rows = cs_graph_rows(g, 1, cs_distance_rows(c));
    net->distance.row = cs_graph_index(g, net->distance.rows, "place");
    net->distance_buckets = c->position.distance_buckets;
    net->distance_most = c->position.distance_most;
    int table = cs_emit_param(e, "", "places.table");
    e->places = cs_graph_embed(g, CS_NONE, net->distance.rows, 1, &table, &net->distance.row);
    if (c->position.distance_norm) {
        e->places = cs_graph_layer_norm(g, e->places, CS_NONE, 0,
                                        cs_emit_norm(e, "", "places.norm", e->places), NULL);
    }
}

/* The vectors of tokens with token dropout, which is part of inference too. */
static int emit_kept(cs_emitter *e, int table)
{
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    net->kept.rows = cs_graph_rows(g, e->options->batch, 1);
    net->kept.values = cs_graph_input(g, net->kept.rows, e->config->shape.width, "kept");
    net->kept.row = cs_graph_index(g, net->rows, "kept row");
    net->kept_share = e->config->scale.kept;
    net->mask = e->config->ids.mask;
    const int x = cs_graph_embed(g, CS_NONE, net->rows, 1, &table, &net->token);
    const int factor = cs_graph_embed(g, CS_NONE, net->rows, 1, &net->kept.values, &net->kept.row);
    return cs_graph_gate(g, x, factor, CS_ACT_NONE, 1, 1);
}

int cs_emit_content(cs_emitter *e)
{
    const cs_model_config *c = e->config;
    cs_network *net = e->net;
    cs_graph *g = e->graph;
    net->rows = cs_graph_rows(g, e->options->batch, e->options->length);
    net->token = cs_graph_index(g, net->rows, "token");
    net->vis = cs_graph_index(g, net->rows, "vis");
    if (cs_model_config_places(c)) {
        net->position = cs_graph_index(g, net->rows, "position");
    }
    if (c->position.relative_buckets > 0 && c->position.relative_distance == 0) {
        net->plane.query = cs_graph_index(g, net->rows, "plane query");
        net->plane.key = cs_graph_index(g, net->rows, "plane key");
        net->plane_columns = c->picture.width / c->picture.patch;
        net->plane_most = (c->position.relative_buckets - 4) / 2;
    }
    emit_places(e);
    int table[CS_EMBED_TABLES], index[CS_EMBED_TABLES], tables = 0;
    table[tables] = cs_emit_param(e, "", "embed.token");
    int x = emit_extra(e, emit_real(e));
    if (c->scale.kept > 0) {
        x = emit_kept(e, table[0]);
    } else {
        index[tables++] = net->token;
    }
    if (c->shape.token_types > 0) {
        net->type = cs_graph_index(g, net->rows, "type");
        table[tables] = cs_emit_param(e, "", "embed.type");
        index[tables++] = net->type;
    }
    if (c->shape.positions > 0 && !c->picture.no_table) {
        table[tables] = cs_emit_param(e, "", "embed.position");
        index[tables++] = net->position;
    }
    if (tables > 0) x = cs_graph_embed(g, x, net->rows, tables, table, index);
    if (c->scale.embed > 0) {
        x = cs_graph_gate(g, x, CS_NONE, CS_ACT_NONE, 1, c->scale.embed);
    }
    x = cs_emit_embedded(e, x);
    return c->shape.embed_width > 0 ? cs_emit_linear(e, x, "", "embed.project", CS_ACT_NONE) : x;
}

/* --- the encoder ------------------------------------------------------------------------------ */

bool cs_emit_keeps_decoder(const cs_emitter *e)
{
    return e->options->keep_hidden && e->options->form == CS_FORM_MAE && e->config->decoder.stack;
}

void cs_emit_hidden(cs_emitter *e, int64_t layer, int rows)
{
    if (e->options->keep_hidden && e->decoder == cs_emit_keeps_decoder(e)) {
        e->net->hidden[layer] = rows;
        cs_graph_keep(e->graph, rows);
    }
}

/* Layer l, whose name goes into the buffer. */
cs_layer cs_emit_encoder_layer(cs_emitter *e, int64_t l, char prefix[CS_PREFIX_SIZE])
{
    return (cs_layer){.prefix = cs_emit_prefix(e, l, prefix),
                      .number = l,
                      .width = e->config->shape.width,
                      .attention = cs_emit_masks(e, l, e->net->lim, e->net->position)};
}

/* Content rows through the first `layers` layers. */
cs_stream cs_emit_layers(cs_emitter *e, int64_t layers, bool narrow)
{
    cs_stream stream = {cs_emit_content(e), CS_NONE};
    e->net->lim = cs_graph_index(e->graph, e->net->rows, "lim");
    if (e->config->layer.mixed) e->sum[e->sums++] = stream.x;
    for (int64_t l = 0; l < layers; ++l) {
        char prefix[CS_PREFIX_SIZE];
        cs_layer layer = cs_emit_encoder_layer(e, l, prefix);
        layer.narrow = narrow && l == layers - 1;
        int entry;
        cs_emit_layer(e, &layer, &stream, &entry);
        cs_emit_hidden(e, l, entry);
    }
    return stream;
}

cs_stream cs_emit_encoder(cs_emitter *e, bool narrow)
{
    const int64_t layers = e->config->shape.layers;
    cs_stream stream = cs_emit_layers(e, layers, narrow);
    if (e->options->keep_hidden) {
        stream = (cs_stream){cs_emit_sum(e, stream), CS_NONE};
        cs_emit_hidden(e, layers, stream.x);
    }
    return stream;
}
