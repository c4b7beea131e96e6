
#include "model_support.h"

#include "backend_ref.h"
#include "base/hash.h"
#include "model/network_input.h"

static cs_status cpu_one(cs_backend **out)
{
    return cs_backend_cpu(1, out);
}

static cs_status cpu_two(cs_backend **out)
{
    return cs_backend_cpu(2, out);
}

const backend_open model_backends[] = {cs_backend_ref, cpu_one, cpu_two, NULL};

/* --- configurations ---------------------------------------------------------------------------- */

enum { VOCAB = 11, POSITIONS = 9 };

cs_model_config case_config(const model_case *what, bool drops)
{
    cs_model_config c = {.shape.vocab = VOCAB,
                         .shape.positions = POSITIONS,
                         .shape.width = 8,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 10};
    if (what->form == CS_FORM_MAE) {
        c.decoder = (cs_decoder_config){
            .layers = 1, .width = 8, .heads = 2, .inner = 9, .attention = CS_DECODER_SELF};
    }
    cs_model_config_default(what->arch, &c);
    c.attention.query_vector = what->form == CS_FORM_TWO_STREAM;
    if (what->form == CS_FORM_LINEAR) {
        c.shape.layers = 1;
    } else if (drops) {
        c.training.dropout = 0.25;
        c.training.attention_dropout = 0.125;
        c.training.embed_dropout = 0.1;
    }
    if (what->adjust) {
        what->adjust(&c);
    }
    return c;
}

static bool same_rotary(const cs_rotary *a, const cs_rotary *b)
{
    return a->theta == b->theta && a->share == b->share && a->scaling == b->scaling &&
           a->factor == b->factor && a->original == b->original && a->low == b->low &&
           a->high == b->high && a->attention == b->attention && a->whole == b->whole;
}

bool same_parts(const cs_model_config *a, const cs_model_config *b)
{
    const bool widths = a->shape.kv_heads == b->shape.kv_heads &&
                        a->shape.head_width == b->shape.head_width &&
                        a->shape.inner == b->shape.inner &&
                        a->position.longest == b->position.longest,
               local =
                   a->attention.window == b->attention.window &&
                   memcmp(a->attention.local, b->attention.local, sizeof a->attention.local) == 0,
               acts = a->layer.activation == b->layer.activation &&
                      a->head.activation == b->head.activation && a->layer.gated == b->layer.gated,
               biases = a->layer.qkv_bias == b->layer.qkv_bias &&
                        a->layer.output_bias == b->layer.output_bias &&
                        a->layer.mlp_bias == b->layer.mlp_bias &&
                        a->layer.norm_bias == b->layer.norm_bias &&
                        a->layer.dense_bias == b->layer.dense_bias && a->head.bias == b->head.bias,
               rest = a->layer.rms == b->layer.rms && a->layer.eps == b->layer.eps &&
                      a->head.tied == b->head.tied && a->layer.entry == b->layer.entry &&
                      a->head.cloze == b->head.cloze && a->head.transform == b->head.transform;
    return widths && local && acts && biases && rest;
}

bool same_positions(const cs_model_config *a, const cs_model_config *b)
{
    return a->shape.positions == b->shape.positions &&
           same_rotary(&a->position.rotary, &b->position.rotary) &&
           same_rotary(&a->position.local_rotary, &b->position.local_rotary);
}

cs_network_options case_options(const model_case *what, bool training)
{
    const cs_model_config config = case_config(what, false);
    bool classify = config.head.classes > 0;
    return (cs_network_options){.form = what->form,
                                .loss = what->loss,
                                .spectral_factor = 2,
                                .training = training,
                                .classify = classify,
                                .offsets = config.head.offsets,
                                .batch = 2,
                                .length = 5,
                                .queries = 4,
                                .decoder_length = 6,
                                .predictions = classify ? 2 : 7};
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void fill_parameters(cs_model *model)
{
    for (int64_t i = 0; i < model->params.count; ++i) {
        const cs_param *p = &model->params.param[i];
        int64_t n = p->rows * p->cols;
        size_t length = strlen(p->name);
        bool gain = length > 5 && strcmp(p->name + length - 5, ".gain") == 0;
        CS_AUTO_FREE double *value = cs_alloc(n, sizeof *value);
        assert_non_null(value);
        cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, cs_hash(p->name, length, 0).low);
        for (int64_t k = 0; k < n; ++k) {
            value[k] = (gain ? 1 : 0) + 0.4 * cs_rng_normal(&rng);
        }
        OK(cs_params_set64(&model->params, i, CS_PARAM_VALUE, value));
    }
}

void world_open(model_world *world, backend_open open, const cs_model_config *config,
                const cs_network_options *options)
{
    memset(world, 0, sizeof *world);
    OK(open(&world->backend));
    OK(cs_model_init(config, world->backend, options->training, &world->model));
    fill_parameters(&world->model); /* mixtures of residual sums become constants of the network */
    OK(cs_network_build(&world->model, options, &world->net));
    OK(cs_run_init(&world->net.graph, &world->model.params, &world->run));
}

void world_close(model_world *world)
{
    cs_run_free(&world->run);
    cs_network_free(&world->net);
    cs_model_free(&world->model);
    cs_backend_free(&world->backend);
}

/* --- data ------------------------------------------------------------------------------------- */

static int32_t below(cs_rng *rng, int64_t n)
{
    return (int32_t)cs_rng_below(rng, n);
}

static void fill_decoder(model_data *d, const cs_model_config *c, cs_rng *rng)
{
    bool causal = c->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    bool cross = c->decoder.attention == CS_DECODER_CROSS;
    for (int64_t r = 0; r < d->batch * d->decoder_length; ++r) {
        int64_t b = r / d->decoder_length;
        bool encoded = !cross && !causal && below(rng, 2) == 0;
        d->decoder_from[r] = encoded ? (int32_t)(b * d->length) + below(rng, d->length) : -1;
        d->decoder_token[r] = causal ? below(rng, c->shape.vocab) : encoded ? -1 : 0;
        d->decoder_position[r] = (int32_t)(r % d->decoder_length + c->position.offset);
        d->decoder_vis[r] = below(rng, 4);
        d->decoder_lim[r] = below(rng, 5) - 1;
        d->decoder_cross_lim[r] = below(rng, 5) - 1;
    }
}

/* The inputs of classifiers: every text has a target; a limit of 0 or more, which rank 0 passes. */
static void fill_texts(model_data *d, const cs_model_config *c, uint64_t seed)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 2);
    for (int64_t r = 0; r < d->batch * d->length; ++r) {
        d->type[r] = c->shape.token_types > 0 ? below(&rng, c->shape.token_types) : 0;
    }
    for (int64_t p = 0; p < d->predictions && c->head.classes > 0; ++p) {
        d->predict[p] = (int32_t)(p * d->length) + below(&rng, d->length - 1);
        d->lim[d->predict[p]] = 2; /* sees some and not all */
        d->target[p] = below(&rng, c->head.classes);
        d->readout_lim[p] = below(&rng, 4);
        d->goal[p] = cs_rng_normal(&rng);
        d->weight[p] = 1 / (double)d->predictions;
    }
}

/* Every other row is one of real values, in place of its token. */
static void fill_real(model_data *d, const cs_model_config *c, uint64_t seed)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 3);
    for (int64_t r = 0; r < d->batch * d->length && c->shape.real_width > 0; ++r) {
        d->real_row[r] = r % 2 ? (int32_t)r : -1;
        d->token[r] = r % 2 ? -1 : d->token[r];
        for (int j = 0; j < REAL_WIDTH; ++j) {
            d->real[r][j] = cs_rng_normal(&rng);
        }
    }
    for (int64_t r = 0; r < d->batch * d->length; ++r) {
        const int64_t b = r / d->length;
        const bool reads = b + 1 < d->batch;
        d->extra_number[b] = reads ? (int32_t)b : -1;
        d->extra_row[r] = reads && r % 2 == 0 ? (int32_t)b : -1;
        d->extra[b][r % EXTRA_WIDTH] = cs_rng_normal(&rng);
    }
    for (int64_t i = 0; i < d->predictions * REAL_WIDTH && c->head.target != CS_TARGET_IDS; ++i) {
        d->goal[i] = cs_rng_normal(&rng);
    }
}

void data_fill(model_data *d, const model_world *world, uint64_t seed)
{
    const cs_model_config *c = &world->model.config;
    const cs_network_options *o = &world->net.options;
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 1);
    memset(d, 0, sizeof *d);
    d->batch = o->batch;
    d->length = o->length;
    d->queries = o->queries;
    d->decoder_length = o->decoder_length;
    d->predictions = o->predictions;
    for (int64_t r = 0; r < d->batch * d->length; ++r) {
        d->token[r] = below(&rng, c->shape.vocab);
        d->position[r] = (int32_t)(r % d->length + c->position.offset);
        d->vis[r] = below(&rng, 4);
        d->lim[r] = below(&rng, 5) - 1;
    }
    d->vis[d->batch * d->length - 1] = INT32_MAX;
    d->lim[d->batch * d->length - 1] = -1;
    for (int64_t r = 0; r < d->batch * d->queries; ++r) {
        d->query_position[r] = below(&rng, POSITIONS) + (int32_t)c->position.offset;
        d->query_lim[r] = below(&rng, 5) - 1;
    }
    fill_decoder(d, c, &rng);
    int64_t top = o->form == CS_FORM_SINGLE ? d->length
                  : o->form == CS_FORM_MAE  ? d->decoder_length
                                            : d->queries;
    double sum = 0;
    for (int64_t p = 0; p < d->predictions; ++p) {
        d->predict[p] = below(&rng, d->batch * top);
        d->head[p] = o->offsets > 1 ? (int32_t)(p / 2 % o->offsets) : 0;
        d->target[p] = p == d->predictions - 1 ? -1 : below(&rng, c->shape.vocab);
        d->weight[p] = 0.5 + cs_rng_uniform(&rng);
        sum += d->target[p] < 0 ? 0 : d->weight[p];
    }
    for (int64_t p = 0; p < d->predictions; ++p) {
        d->weight[p] /= sum;
    }
    fill_texts(d, c, seed);
    fill_real(d, c, seed);
    if (seed % 3 == 2) {
        d->predict[d->predictions - 1] = -1;
    }
}

static void put(cs_run *run, int tensor, const int32_t *value, int64_t n)
{
    if (tensor != CS_NONE) {
        memcpy(cs_run_index(run, tensor), value, (size_t)n * sizeof *value);
    }
}

static void put_rows(cs_run *run, int row_set, int64_t batch, int64_t length)
{
    if (row_set != CS_NONE) {
        OK(cs_run_rows(run, row_set, batch, length));
    }
}

void world_load(model_world *world, const model_data *d)
{
    const cs_network *n = &world->net;
    cs_run *run = world->run;
    int64_t rows = d->batch * d->length, queries = d->batch * d->queries;
    int64_t decoder = d->batch * d->decoder_length;
    put_rows(run, n->rows, d->batch, d->length);
    put_rows(run, n->query.rows, d->batch, d->queries);
    put_rows(run, n->decoder.rows, d->batch, d->decoder_length);
    bool texts = n->options.classify;
    put_rows(run, n->loss.rows, texts ? d->predictions : 1, texts ? 1 : d->predictions);
    if (world->model.config.head.classes > 0) {
        put(run, n->type, d->type, rows);
    }
    put(run, n->loss.readout_lim, d->readout_lim, d->predictions);
    const int64_t values = texts ? 1 : REAL_WIDTH;
    for (int64_t i = 0; n->loss.goal != CS_NONE && i < d->predictions * values; ++i) {
        cs_run_input(run, n->loss.goal, i / values, i % values, d->goal[i]);
    }
    put(run, n->token, d->token, rows);
    put_rows(run, n->extra.rows, d->batch, 1);
    put(run, n->extra.number, d->extra_number, d->batch);
    put(run, n->extra.row, d->extra_row, rows);
    for (int64_t i = 0; n->extra.values != CS_NONE && i < d->batch * EXTRA_WIDTH; ++i) {
        cs_run_input(run, n->extra.values, i / EXTRA_WIDTH, i % EXTRA_WIDTH,
                     d->extra[i / EXTRA_WIDTH][i % EXTRA_WIDTH]);
    }
    put_rows(run, n->kept.rows, d->batch, 1);
    for (int64_t r = 0; n->kept.row != CS_NONE && r < rows; ++r) { /* every third is masked */
        const int64_t b = r / d->length, width = n->graph.tensor[n->kept.values].cols;
        cs_run_index(run, n->kept.row)[r] = d->token[r] < 0 || r % 3 == 0 ? -1 : (int32_t)b;
        for (int64_t j = 0; j < width; ++j) {
            cs_run_input(run, n->kept.values, b, j, 0.7 + (double)b);
        }
    }
    put(run, n->real.row, d->real_row, rows);
    for (int64_t i = 0; n->real.values != CS_NONE && i < rows * REAL_WIDTH; ++i) {
        cs_run_input(run, n->real.values, i / REAL_WIDTH, i % REAL_WIDTH,
                     d->real[i / REAL_WIDTH][i % REAL_WIDTH]);
    }
    put(run, n->position, d->position, rows);
    OK(cs_batch_places(n, rows, d->position, run));
    put(run, n->vis, d->vis, rows);
    put(run, n->lim, d->lim, rows);
    put(run, n->query.position, d->query_position, queries);
    put(run, n->query.lim, d->query_lim, queries);
    put(run, n->decoder.from, d->decoder_from, decoder);
    put(run, n->decoder.token, d->decoder_token, decoder);
    put(run, n->decoder.position, d->decoder_position, decoder);
    put(run, n->decoder.vis, d->decoder_vis, decoder);
    put(run, n->decoder.lim, d->decoder_lim, decoder);
    put(run, n->decoder.cross_lim, d->decoder_cross_lim, decoder);
    put(run, n->loss.predict, d->predict, d->predictions);
    for (int64_t k = 0; k < n->options.offsets && n->loss.predict == CS_NONE; ++k) {
        for (int64_t p = 0; p < d->predictions; ++p) {
            cs_run_index(run, n->loss.offset_predict[k])[p] = d->head[p] == k ? d->predict[p] : -1;
        }
    }
    put(run, n->loss.target, d->target, d->predictions);
    for (int64_t p = 0; n->loss.weight != CS_NONE && p < d->predictions; ++p) {
        cs_run_input(run, n->loss.weight, p, 0, d->weight[p]);
    }
    for (int64_t v = 0; n->loss.mass != CS_NONE && v < world->model.config.shape.vocab; ++v) {
        cs_run_input(run, n->loss.mass, 0, v, (double)(v + 1) / 66);
    }
    OK(cs_run_upload(run, (cs_run_key){.seed = 5, .step = 3, .micro = 1}));
}

double world_loss(model_world *world)
{
    double sum = 0;
    OK(cs_run_forward(world->run));
    OK(cs_run_sum(world->run, world->net.loss.value, &sum));
    return sum;
}

void world_logits(model_world *world, float *logits)
{
    OK(cs_run_forward(world->run));
    OK(cs_run_get_f32(world->run, world->net.loss.logits, logits));
}

/* --- dependence ------------------------------------------------------------------------------- */

/* Grows the sets of all rows of one sequence until nothing changes: row i gets those of every row
 * that it sees. */
static void close_over(int64_t rows, const int32_t *vis, const int32_t *lim, uint64_t *set,
                       uint64_t *other)
{
    for (int64_t pass = 0; pass < rows; ++pass) {
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < rows; ++j) {
                if (vis[j] <= lim[i]) {
                    set[i] |= set[j];
                    other[i] |= other[j];
                }
            }
        }
    }
}

/* The content rows that a limit shows. */
static uint64_t shown(int64_t rows, const int32_t *vis, int32_t lim, const uint64_t *set)
{
    uint64_t seen = 0;
    for (int64_t j = 0; j < rows; ++j) {
        seen |= vis[j] <= lim ? set[j] : 0;
    }
    return seen;
}

/* Of decoder row r, from the closed sets of the content rows of its sequence. */
static dependence decoder_dependence(const model_data *d, const cs_model_config *c, int64_t r,
                                     const uint64_t *content)
{
    int64_t n = d->decoder_length, b = r / n;
    uint64_t set[DATA_ROWS] = {0}, token[DATA_ROWS] = {0};
    bool causal = c->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    for (int64_t i = 0; i < n; ++i) {
        int64_t at = b * n + i;
        bool from = c->decoder.attention <= CS_DECODER_SELF_CROSS && d->decoder_from[at] >= 0;
        set[i] = from ? content[d->decoder_from[at] - b * d->length] : 0;
        token[i] = causal ? 1ULL << i : 0;
        if (c->decoder.attention != CS_DECODER_SELF) {
            set[i] |= shown(d->length, d->vis + b * d->length, d->decoder_cross_lim[at], content);
        }
    }
    if (c->decoder.attention != CS_DECODER_CROSS) {
        close_over(n, d->decoder_vis + b * n, d->decoder_lim + b * n, set, token);
    }
    return (dependence){b, set[r % n], token[r % n]};
}

dependence data_dependence(const model_data *d, const model_world *world, int64_t p)
{
    cs_form form = world->net.options.form;
    int64_t r = d->predict[p];
    int64_t top = form == CS_FORM_SINGLE ? d->length
                  : form == CS_FORM_MAE  ? d->decoder_length
                                         : d->queries;
    bool mean = world->net.loss.readout_lim != CS_NONE; /* the mean over the query's text */
    if (r < 0 && !mean) {
        return (dependence){0, 0, 0};
    }
    int64_t b = mean ? p : r / top;
    const int32_t *vis = d->vis + b * d->length, *lim = d->lim + b * d->length;
    uint64_t content[DATA_ROWS] = {0}, none[DATA_ROWS] = {0};
    for (int64_t i = 0; i < d->length; ++i) {
        content[i] = 1ULL << i;
    }
    if (form != CS_FORM_LINEAR) {
        close_over(d->length, vis, lim, content, none);
    }
    if (mean) {
        return (dependence){b, shown(d->length, vis, d->readout_lim[p], content), 0};
    }
    switch (form) {
    case CS_FORM_SINGLE:
        return (dependence){b, content[r % top], 0};
    case CS_FORM_MAE:
        return decoder_dependence(d, &world->model.config, r, content);
    case CS_FORM_TWO_STREAM:
    case CS_FORM_LINEAR:
        break;
    }
    return (dependence){b, shown(d->length, vis, d->query_lim[r], content), 0};
}
