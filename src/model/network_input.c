/* Arrays of padding, rows written over it, and the way into the index and input tensors of a run.
 * Tensors that a network does not have (positions without a table, targets without a loss) are
 * passed by. */
#include "model/network_input.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "tensor/relative.h"

/* --- arrays, filled with padding --- */

typedef enum {
    OF_CONTENT,
    OF_QUERIES,
    OF_DECODER,
    OF_LOSS,
    OF_TEXTS,
    OF_TYPES,
    OF_REAL,
    OF_EXTRA,
    OF_EXTRA_ROWS
} rows_of;

#define AT(array) offsetof(cs_batch, array), offsetof(cs_network, array)

/* Every array of ids: where it is, which tensor takes it, which rows it has, what padding holds. */
static const struct {
    size_t at, tensor;
    rows_of rows;
    int32_t padding;
} PART[] = {
    {AT(token), OF_CONTENT, -1},
    {AT(position), OF_CONTENT, -1},
    {AT(vis), OF_CONTENT, INT32_MAX},
    {AT(lim), OF_CONTENT, -1},
    {AT(real.row), OF_REAL, -1},
    {AT(extra.number), OF_EXTRA, -1},
    {AT(extra.row), OF_EXTRA_ROWS, -1},
    {AT(type), OF_TYPES, -1},
    {AT(query.position), OF_QUERIES, -1},
    {AT(query.lim), OF_QUERIES, -1},
    {AT(decoder.from), OF_DECODER, -1},
    {AT(decoder.token), OF_DECODER, -1},
    {AT(decoder.position), OF_DECODER, -1},
    {AT(decoder.vis), OF_DECODER, INT32_MAX},
    {AT(decoder.lim), OF_DECODER, -1},
    {AT(decoder.cross_lim), OF_DECODER, -1},
    {AT(loss.predict), OF_LOSS, -1},
    {AT(loss.target), OF_LOSS, -1},
    {AT(loss.readout_lim), OF_TEXTS, -1},
};

enum { PARTS = sizeof PART / sizeof *PART };

static int32_t **array_of(cs_batch *batch, size_t at)
{
    return (int32_t **)(void *)((char *)batch + at);
}

static int64_t rows_in(const cs_batch *batch, rows_of rows, bool classify)
{
    switch (rows) {
    case OF_CONTENT:
        return batch->batch * batch->length;
    case OF_QUERIES:
        return batch->batch * batch->queries;
    case OF_DECODER:
        return batch->batch * batch->decoder_length;
    case OF_REAL:
        return batch->real.width > 0 ? batch->batch * batch->length : 0;
    case OF_EXTRA:
        return batch->extra.width > 0 ? batch->batch : 0;
    case OF_EXTRA_ROWS:
        return batch->extra.width > 0 ? batch->batch * batch->length : 0;
    case OF_LOSS:
        return batch->predictions;
    case OF_TEXTS:
        return classify ? batch->predictions : 0;
    default:
        return classify ? batch->batch * batch->length : 0;
    }
}

static cs_status fill_new(int64_t count, int32_t value, int32_t **out)
{
    if (count == 0) {
        return CS_OK;
    }
    *out = cs_alloc(count, sizeof **out);
    for (int64_t i = 0; *out && i < count; ++i) {
        (*out)[i] = value;
    }
    return *out ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_batch_shape(const cs_network_options *sizes, const cs_model_config *config,
                         cs_batch *batch)
{
    cs_batch made = {.form = sizes->form,
                     .batch = sizes->batch,
                     .length = sizes->length,
                     .queries = sizes->queries,
                     .decoder_length = sizes->decoder_length,
                     .predictions = sizes->predictions,
                     .real.width = config->shape.real_width,
                     .extra.width = config->shape.extra_width};
    cs_status status = CS_OK;
    int64_t longest = made.length > made.queries ? made.length : made.queries;
    longest = longest > made.decoder_length ? longest : made.decoder_length;
    cs_batch_free(batch);
    if (longest > INT32_MAX / made.batch || made.predictions > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE,
                       "%" PRId64 " sequences of up to %" PRId64 " rows exceed %d rows", made.batch,
                       longest, INT32_MAX);
    }
    for (int i = 0; i < PARTS && status == CS_OK; ++i) {
        status = fill_new(rows_in(&made, PART[i].rows, sizes->classify), PART[i].padding,
                          array_of(&made, PART[i].at));
    }
    if (status == CS_OK) status = fill_new(made.predictions, -1, &made.loss.example);
    if (status == CS_OK) status = fill_new(made.predictions, -1, &made.loss.place);
    if (status == CS_OK) status = fill_new(made.predictions, 0, &made.loss.head);
    made.loss.weight =
        status == CS_OK ? cs_calloc(made.predictions, sizeof *made.loss.weight) : NULL;
    const int64_t reals = rows_in(&made, OF_REAL, false) * made.real.width;
    made.real.values =
        status == CS_OK && reals > 0 ? cs_calloc(reals, sizeof *made.real.values) : NULL;
    if (status == CS_OK && reals > 0 && !made.real.values) status = CS_ERR_MEMORY;
    const int64_t extras = made.batch * made.extra.width;
    made.extra.values =
        status == CS_OK && extras > 0 ? cs_calloc(extras, sizeof *made.extra.values) : NULL;
    if (status == CS_OK && extras > 0 && !made.extra.values) status = CS_ERR_MEMORY;
    made.loss.goal_width = sizes->classify                        ? config->head.classes
                           : config->head.target != CS_TARGET_IDS ? config->shape.real_width
                                                                  : 0;
    const int64_t goals = made.predictions * made.loss.goal_width;
    made.loss.goal = goals > 0 ? cs_calloc(goals, sizeof *made.loss.goal) : NULL;
    if (status == CS_OK && (!made.loss.weight || (goals > 0 && !made.loss.goal)))
        status = CS_ERR_MEMORY;
    return CS_DELIVER(status, batch, made, cs_batch_free);
}

void cs_batch_free(cs_batch *batch)
{
    for (int i = 0; i < PARTS; ++i) {
        cs_free(*array_of(batch, PART[i].at));
    }
    CS_FREE_FIELDS(batch, loss.example, loss.place, loss.head, loss.weight, loss.goal, real.values,
                   extra.values);
    memset(batch, 0, sizeof *batch);
}

/* --- rows --- */

int32_t cs_batch_position(const cs_model_config *config, int64_t place)
{
    const int64_t registers = config->picture.registers;
    if (registers > 0 && place > 0) {
        return place > registers ? (int32_t)(place - registers) : -1;
    }
    return cs_model_config_places(config) ? (int32_t)(place + config->position.offset) : -1;
}

void cs_batch_content(cs_batch *batch, const cs_model_config *config, int64_t b, int64_t i,
                      int32_t token, int64_t place, int32_t rank)
{
    int64_t row = b * batch->length + i;
    batch->token[row] = token;
    batch->position[row] = cs_batch_position(config, place);
    batch->vis[row] = batch->lim[row] = rank;
}

void cs_text_row_shown(const cs_text_rows *t, int64_t i, int64_t at, int32_t shown, int64_t place,
                       int32_t rank)
{
    cs_batch *x = t->batch;
    const int64_t k = at - t->befores, row = t->b * x->length + i;
    const bool real = t->real && k >= 0 && k < t->tokens && shown == t->token[k];
    cs_batch_content(x, t->config, t->b, i, real ? -1 : shown, place, rank);
    if (real) {
        x->real.row[row] = (int32_t)row;
        memcpy(x->real.values + row * x->real.width, t->real + k * x->real.width,
               (size_t)x->real.width * sizeof *t->real);
    }
    if (at == 0 && t->extra) {
        x->extra.number[t->b] = x->extra.row[row] = (int32_t)t->b;
        memcpy(x->extra.values + t->b * x->extra.width, t->extra,
               (size_t)x->extra.width * sizeof *t->extra);
    }
}

void cs_text_row(const cs_text_rows *t, int64_t i, int64_t at, int64_t place, int32_t rank)
{
    const int64_t k = at - t->befores;
    const int32_t id = k < 0           ? t->before[at]
                       : k < t->tokens ? t->token[k]
                                       : t->after[k - t->tokens];
    cs_text_row_shown(t, i, at, id, place, rank);
}

void cs_text_rows_fill(const cs_text_rows *t, int64_t rows, bool causal)
{
    for (int64_t i = 0; i < rows; ++i) {
        cs_text_row(t, i, i, i, causal ? (int32_t)i : 0);
    }
}

cs_replacement cs_replacement_of(const cs_model_config *config, double keep, double random)
{
    const int32_t id[CS_SPECIALS] = {config->ids.pad, config->ids.bos, config->ids.eos,
                                     config->ids.mask, config->ids.unk};
    cs_replacement r = {
        .keep = keep, .random = random, .mask = config->ids.mask, .vocab = config->shape.vocab};
    for (int i = 0; i < CS_SPECIALS; ++i) {
        int at = 0;
        while (at < r.specials && r.special[at] < id[i]) {
            ++at;
        }
        if (id[i] < 0 || id[i] >= config->shape.vocab ||
            (at < r.specials && r.special[at] == id[i])) {
            continue;
        }
        for (int k = r.specials++; k > at; --k) {
            r.special[k] = r.special[k - 1];
        }
        r.special[at] = id[i];
    }
    return r;
}

cs_status cs_replacement_check(const cs_replacement *r)
{
    return r->random > 0 && r->vocab <= r->specials
               ? cs_fail(CS_ERR_USAGE, "a vocabulary of %" PRId64 " contains only special tokens",
                         r->vocab)
               : CS_OK;
}

int32_t cs_replacement_draw(const cs_replacement *r, cs_rng *rng, int32_t token)
{
    const double u = r->keep + r->random > 0 ? cs_rng_uniform(rng) : 1;
    if (u < r->keep) {
        return token;
    }
    if (!(u < r->keep + r->random)) {
        return r->mask;
    }
    int64_t drawn = cs_rng_below(rng, r->vocab - r->specials);
    for (int i = 0; i < r->specials; ++i) {
        drawn += drawn >= r->special[i];
    }
    return (int32_t)drawn;
}

void cs_batch_query(cs_batch *batch, int64_t row, int32_t position, int32_t lim)
{
    batch->query.position[row] = position;
    batch->query.lim[row] = lim;
}

int64_t cs_batch_decoder(cs_batch *batch, const cs_model_config *config, int64_t b, int64_t i,
                         int64_t place, int64_t from, int32_t token)
{
    bool causal = config->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    int64_t row = b * batch->decoder_length + i;
    batch->decoder.from[row] = causal ? -1 : (int32_t)from;
    batch->decoder.token[row] = causal ? token : from < 0 ? 0 : -1;
    batch->decoder.position[row] = cs_batch_position(config, place);
    batch->decoder.vis[row] = batch->decoder.lim[row] = causal ? (int32_t)place : 0;
    batch->decoder.cross_lim[row] = 0;
    return row;
}

int64_t cs_mae_row(cs_mae_rows *m, int64_t at, int32_t shown, int64_t place, bool reset,
                   bool decodes)
{
    const cs_text_rows *t = &m->text;
    const int64_t k = at - t->befores, row = t->b * t->batch->length + m->encoded;
    const bool crosses = t->config->decoder.attention == CS_DECODER_CROSS;
    const int32_t before = k < 0 ? -1 : k == 0 ? t->config->ids.bos : t->token[k - 1];
    if (shown >= 0) cs_text_row_shown(t, m->encoded++, at, shown, place, 0);
    return decodes ? cs_batch_decoder(t->batch, t->config, t->b, m->decoded++, at,
                                      shown < 0 || reset || crosses ? -1 : row, before)
                   : -1;
}

void cs_batch_predict(cs_batch *batch, int64_t top, int32_t target, double weight, int64_t example,
                      int64_t place)
{
    int64_t r = batch->events++;
    batch->loss.predict[r] = (int32_t)top;
    batch->loss.target[r] = target;
    batch->loss.weight[r] = weight;
    batch->loss.weight_sum +=
        weight * (double)(batch->loss.goal_width > 0 ? batch->loss.goal_width : 1);
    batch->loss.example[r] = (int32_t)example;
    batch->loss.place[r] = (int32_t)place;
}

double cs_row_normalise(int64_t count, const float *from, double *mean, double *to)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += (double)from[i];
    }
    const double m = sum / (double)count;
    for (int64_t i = 0; i < count; ++i) {
        squares += ((double)from[i] - m) * ((double)from[i] - m);
    }
    const double sd = sqrt((count > 1 ? squares / (double)(count - 1) : 0) + 1e-6);
    for (int64_t i = 0; i < count; ++i) {
        to[i] = ((double)from[i] - m) / sd;
    }
    if (mean) {
        *mean = m;
    }
    return sd;
}

void cs_batch_values(cs_batch *batch, cs_target target, const float *values)
{
    const int64_t width = batch->loss.goal_width;
    double *goal = batch->loss.goal + (batch->events - 1) * width;
    if (target == CS_TARGET_NORMALISED) {
        (void)cs_row_normalise(width, values, NULL, goal);
        return;
    }
    for (int64_t j = 0; j < width; ++j) {
        goal[j] = (double)values[j];
    }
}

/* --- into a run --- */

static cs_status set_rows(const cs_batch *batch, const cs_network *n, cs_run *run)
{
    cs_status status = cs_run_rows(run, n->rows, batch->batch, batch->length);
    if (status == CS_OK && n->extra.rows != CS_NONE)
        status = cs_run_rows(run, n->extra.rows, batch->batch, 1);
    if (status == CS_OK && n->kept.rows != CS_NONE)
        status = cs_run_rows(run, n->kept.rows, batch->batch, 1);
    if (status == CS_OK && n->query.rows != CS_NONE)
        status = cs_run_rows(run, n->query.rows, batch->batch, batch->queries);
    if (status == CS_OK && n->decoder.rows != CS_NONE)
        status = cs_run_rows(run, n->decoder.rows, batch->batch, batch->decoder_length);
    if (status == CS_OK && n->loss.rows != CS_NONE) {
        bool texts = n->options.classify;
        status = cs_run_rows(run, n->loss.rows, texts ? batch->predictions : 1,
                             texts ? 1 : batch->predictions);
    }
    return status;
}

/* Rows beyond the last one of a sequence in which some array differs from padding. */
static void load_filled(const cs_batch *batch, const cs_network *n, cs_run *run)
{
    const struct {
        rows_of rows;
        int set;
        int64_t length;
    } all[] = {{OF_CONTENT, n->rows, batch->length},
               {OF_QUERIES, n->query.rows, batch->queries},
               {OF_DECODER, n->decoder.rows, batch->decoder_length}};
    for (size_t s = 0; s < sizeof all / sizeof *all; ++s) {
        for (int64_t b = 0; all[s].set != CS_NONE && b < batch->batch; ++b) {
            int64_t filled = 0;
            for (int i = 0; i < PARTS; ++i) {
                const int32_t *part =
                    *(int32_t *const *)(const void *)((const char *)batch + PART[i].at);
                int64_t end = all[s].length;
                if (PART[i].rows != all[s].rows || !part) continue;
                while (end > filled && part[b * all[s].length + end - 1] == PART[i].padding) {
                    --end;
                }
                filled = cs_most(filled, end);
            }
            cs_run_filled(run, all[s].set, b, filled);
        }
    }
}

cs_status cs_batch_places(const cs_network *network, int64_t rows, const int32_t *position,
                          cs_run *run)
{
    int64_t first = INT64_MAX, last = -1;
    if (network->distance.rows == CS_NONE) {
        return CS_OK;
    }
    for (int64_t r = 0; r < rows; ++r) {
        first = position[r] < 0 ? first : cs_least(first, position[r]);
        last = cs_most(last, position[r]);
    }
    const int64_t vectors = network->graph.row_set[network->distance.rows].length,
                  span = vectors / 2, most = last < 0 ? 0 : last - first,
                  far = cs_log_bucket(most, network->distance_buckets, network->distance_most);
    const int64_t side = cs_least(far, span), count = side < span ? 2 * side + 1 : vectors;
    cs_status status = cs_run_rows(run, network->distance.rows, 1, count);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_run_index(run, network->distance.row)[i] = (int32_t)(span - side + i);
    }
    return status;
}

/* The factor of token dropout of each sequence, and the rows that it multiplies. */
static void load_kept(const cs_batch *batch, const cs_network *network, cs_run *run)
{
    const int64_t width = network->graph.tensor[network->kept.values].cols;
    int32_t *row = cs_run_index(run, network->kept.row);
    for (int64_t b = 0; b < batch->batch; ++b) {
        int64_t tokens = 0, kept = 0;
        for (int64_t i = b * batch->length; i < (b + 1) * batch->length; ++i) {
            const bool is_kept = batch->token[i] >= 0 && batch->token[i] != network->mask;
            tokens += batch->token[i] >= 0;
            kept += is_kept;
            row[i] = is_kept ? (int32_t)b : -1;
        }
        const double factor = kept > 0 ? network->kept_share * (double)tokens / (double)kept : 0;
        for (int64_t j = 0; j < width; ++j) {
            cs_run_input(run, network->kept.values, b, j, factor);
        }
    }
}

/* Positions in a plane whose differences are those of columns and rows together, and of the class
 * token positions so far off that the differences are those of cs_relative_bucket's last buckets. */
static void load_plane(const cs_batch *batch, const cs_network *network, cs_run *run)
{
    const int64_t columns = network->plane_columns, most = network->plane_most;
    int32_t *query = cs_run_index(run, network->plane.query),
            *key = cs_run_index(run, network->plane.key);
    for (int64_t r = 0; r < batch->batch * batch->length; ++r) {
        const int64_t patch = batch->position[r] - 1,
                      at = most - patch / columns * (2 * columns - 1) - patch % columns;
        query[r] = (int32_t)(patch < 0 ? 2 * most + 1 : at);
        key[r] = (int32_t)(patch < 0 ? 3 * most + 2 : at);
    }
}

cs_status cs_batch_load(const cs_batch *batch, const cs_network *network, double scale,
                        const double *mass, cs_run_key key, cs_run *run)
{
    if (batch->form != network->options.form) {
        return cs_fail(CS_ERR_USAGE, "the batch has form %d, but the network has form %d",
                       (int)batch->form, (int)network->options.form);
    }
    if (network->loss.mass != CS_NONE && !mass) {
        return cs_fail(CS_ERR_USAGE, "the spectral loss needs the probabilities of the targets");
    }
    cs_status status = set_rows(batch, network, run);
    if (status == CS_OK)
        status = cs_batch_places(network, batch->batch * batch->length, batch->position, run);
    if (status != CS_OK) return status;
    for (int i = 0; i < PARTS; ++i) {
        int tensor = *(const int *)(const void *)((const char *)network + PART[i].tensor);
        const int32_t *from = *(int32_t *const *)(const void *)((const char *)batch + PART[i].at);
        if (tensor != CS_NONE && from) {
            memcpy(cs_run_index(run, tensor), from,
                   (size_t)rows_in(batch, PART[i].rows, true) * sizeof *from);
        }
    }
    for (int64_t k = 0; k < network->options.offsets && network->loss.predict == CS_NONE; ++k) {
        int32_t *to = cs_run_index(run, network->loss.offset_predict[k]);
        for (int64_t r = 0; r < batch->predictions; ++r) {
            to[r] = batch->loss.head[r] == k ? batch->loss.predict[r] : -1;
        }
    }
    for (int64_t r = 0; r < batch->predictions && network->loss.weight != CS_NONE; ++r) {
        cs_run_input(run, network->loss.weight, r, 0, batch->loss.weight[r] * scale);
    }
    for (int64_t r = 0; r < batch->predictions && network->loss.goal != CS_NONE; ++r) {
        cs_run_input_row(run, network->loss.goal, r, batch->loss.goal + r * batch->loss.goal_width);
    }
    for (int64_t r = 0; network->real.values != CS_NONE && r < batch->batch * batch->length; ++r) {
        cs_run_input_row_f32(run, network->real.values, r,
                             batch->real.values + r * batch->real.width);
    }
    for (int64_t b = 0; network->extra.values != CS_NONE && b < batch->batch; ++b) {
        cs_run_input_row_f32(run, network->extra.values, b,
                             batch->extra.values + b * batch->extra.width);
    }
    load_filled(batch, network, run);
    if (network->kept.values != CS_NONE) load_kept(batch, network, run);
    if (network->plane.query != CS_NONE) load_plane(batch, network, run);
    if (network->loss.mass != CS_NONE) {
        cs_run_input_row(run, network->loss.mass, 0, mass);
    }
    return cs_run_upload(run, key);
}
