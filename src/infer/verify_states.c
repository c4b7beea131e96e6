/* One sequence a forward pass: references are small, and nothing then depends on the company that a
 * sequence keeps. */
#include "infer/verify_states.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "model/pass.h"

typedef struct {
    int64_t s;     /* of each of n sequences */
    int32_t *id;   /* n x s */
    uint8_t *real; /* n x s: no padding */
} rows_read;

typedef struct {
    cs_pool pool; /* of all arrays below */
    cs_model *model;
    cs_npz *reference;
    const cs_verify_options *options;
    int64_t n;
    rows_read text, decoded; /* what encoder and decoder read; decoded: of the decoder alone */
    float **ours;            /* layers + 2: rows x columns, the last of logits; NULL: not wanted */
} check;

/* The rows that are compared. */
static const rows_read *compared(const check *c)
{
    return c->options->decoder ? &c->decoded : &c->text;
}

static int64_t last_layer(const check *c)
{
    return c->options->decoder ? c->model->config.decoder.layers : c->model->config.shape.layers;
}

static int64_t layers(const check *c)
{
    return last_layer(c) + 2;
}

static const char *stack_of(const check *c)
{
    return c->options->decoder ? "decoder_" : "";
}

static int64_t columns(const check *c, int64_t layer)
{
    return layer == layers(c) - 1 ? c->model->config.shape.vocab : c->model->config.shape.width;
}

enum { NAME = 48 };

static void name_of(const check *c, int64_t layer, char name[NAME])
{
    if (layer == layers(c) - 1) {
        (void)snprintf(name, NAME, "%slogits", stack_of(c));
    } else {
        (void)snprintf(name, NAME, "%shidden_states_%lld", stack_of(c), (long long)layer);
    }
}

/* --- the reference ---------------------------------------------------------------------------- */

static cs_status read_mask(const check *c, const char *stack, rows_read *rows)
{
    CS_AUTO(cs_array) mask = {0};
    char name[NAME];
    (void)snprintf(name, NAME, "%sattention_mask", stack);
    if (!cs_npz_has(c->reference, name)) {
        return CS_OK;
    }
    cs_status status = cs_npz_read(c->reference, name, &mask);
    if (status == CS_OK && (mask.ndim != 2 || mask.shape[0] != c->n || mask.shape[1] != rows->s))
        status = cs_fail(CS_ERR_INPUT, "%s does not have the shape of %sinput_ids, %lld x %lld",
                         name, stack, (long long)c->n, (long long)rows->s);
    for (int64_t i = 0; status == CS_OK && i < c->n * rows->s; ++i) {
        double x = cs_array_f64(&mask, i);
        rows->real[i] = rows->real[i] && (x < 0 || x > 0);
    }
    return status;
}

static cs_status take_ids(check *c, const char *name, const cs_array *ids, rows_read *rows)
{
    int64_t vocab = c->model->config.shape.vocab, positions = c->model->config.shape.positions;
    if (ids->ndim != 2 || ids->size == 0) {
        return cs_fail(CS_ERR_INPUT, "%s is not a table of sequences", name);
    }
    if (c->n > 0 && ids->shape[0] != c->n) {
        return cs_fail(CS_ERR_INPUT, "%s has %lld sequences, but input_ids has %lld", name,
                       (long long)ids->shape[0], (long long)c->n);
    }
    c->n = ids->shape[0];
    rows->s = ids->shape[1];
    if (positions > 0 && rows->s > positions) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: sequences of %lld tokens are too long for a model of %lld positions",
                       name, (long long)rows->s, (long long)positions);
    }
    rows->id = cs_pool_take(&c->pool, ids->size, sizeof *rows->id);
    rows->real = cs_pool_take(&c->pool, ids->size, 1);
    cs_status status = c->pool.status;
    for (int64_t i = 0; status == CS_OK && i < ids->size; ++i) {
        int64_t id = 0;
        status = cs_array_i64(ids, i, &id);
        if (status == CS_OK && (id < -1 || id >= vocab))
            status = cs_fail(CS_ERR_INPUT, "%s[%lld, %lld] is %lld, not in 0..%lld", name,
                             (long long)(i / rows->s), (long long)(i % rows->s), (long long)id,
                             (long long)vocab - 1);
        rows->id[i] = (int32_t)id;
        rows->real[i] = id >= 0;
    }
    return status;
}

static cs_status read_ids(check *c, const char *stack, rows_read *rows)
{
    CS_AUTO(cs_array) ids = {0};
    char name[NAME];
    (void)snprintf(name, NAME, "%sinput_ids", stack);
    cs_status status = cs_npz_read(c->reference, name, &ids);
    if (status == CS_OK && (status = take_ids(c, name, &ids, rows)) == CS_OK)
        status = read_mask(c, stack, rows);
    return status;
}

/* The text behind the start token, its last token left out. */
static cs_status shift_right(check *c)
{
    const int32_t start = c->model->config.decoder.start;
    const rows_read *from = &c->text;
    rows_read *to = &c->decoded;
    if (start < 0) {
        return cs_fail(CS_ERR_USAGE, "the reference has no decoder_input_ids, and config.json has "
                                     "no decoder_start_token_id");
    }
    to->s = from->s;
    to->id = cs_pool_take(&c->pool, c->n * to->s, sizeof *to->id);
    to->real = cs_pool_take(&c->pool, c->n * to->s, 1);
    for (int64_t i = 0; c->pool.status == CS_OK && i < c->n * to->s; ++i) {
        to->id[i] = i % to->s == 0 ? start : from->id[i - 1];
        to->real[i] = i % to->s == 0 || from->real[i - 1];
    }
    return c->pool.status;
}

static cs_status read_decoded(check *c)
{
    if (!c->options->decoder) {
        return CS_OK;
    }
    if (!c->model->config.decoder.stack) {
        return cs_fail(CS_ERR_USAGE, "the model (%s) has no second stack",
                       cs_arch_name(c->model->config.arch));
    }
    return cs_npz_has(c->reference, "decoder_input_ids") ? read_ids(c, "decoder_", &c->decoded)
                                                         : shift_right(c);
}

/* Layers that the model does not have would stay unread: hidden_states_L.npy with L beyond N. */
static cs_status refuse_others(const check *c)
{
    static const char suffix[] = ".npy";
    char prefix[NAME];
    const int length = snprintf(prefix, NAME, "%shidden_states_", stack_of(c));
    for (int64_t i = 0; i < cs_npz_count(c->reference); ++i) {
        const char *name = cs_npz_member(c->reference, i);
        char *end = NULL;
        if (strncmp(name, prefix, (size_t)length) != 0) {
            continue;
        }
        long long layer = strtoll(name + length, &end, 10);
        if (strcmp(end, suffix) == 0 && (layer < 0 || layer > last_layer(c))) {
            return cs_fail(CS_ERR_INPUT,
                           "the reference has %.*s, but the model has only %lld layers",
                           (int)(end - name), name, (long long)last_layer(c));
        }
    }
    return CS_OK;
}

/* Which layers the reference has, with memory for ours. */
static cs_status want_layers(check *c)
{
    char name[NAME];
    bool any = false;
    c->ours = cs_pool_take(&c->pool, layers(c), sizeof(float *));
    for (int64_t l = 0; c->ours && l < layers(c); ++l) {
        name_of(c, l, name);
        if (cs_npz_has(c->reference, name)) {
            any = true;
            c->ours[l] =
                cs_pool_take(&c->pool, c->n * compared(c)->s * columns(c, l), sizeof(float));
        }
    }
    if (c->pool.status != CS_OK) return c->pool.status;
    return any ? CS_OK
               : cs_fail(CS_ERR_INPUT, "the reference has neither %shidden_states_L nor %slogits",
                         stack_of(c), stack_of(c));
}

/* --- ours ------------------------------------------------------------------------------------- */

static void fill_rows(const check *c, int64_t sequence, cs_batch *batch)
{
    const cs_model_config *config = &c->model->config;
    const rows_read *text = &c->text, *decoded = &c->decoded;
    const cs_text_rows rows = {.batch = batch,
                               .config = config,
                               .token = text->id + sequence * text->s,
                               .tokens = text->s};
    int32_t before = 0; /* tokens that are not padding so far */
    for (int64_t i = 0; i < text->s; ++i) {
        int64_t at = sequence * text->s + i;
        bool pad = text->id[at] < 0 || text->id[at] == config->ids.pad;
        bool counts = config->position.offset > 0;
        int32_t place = !counts ? (int32_t)i : pad ? -1 : before;
        int32_t rank = c->options->causal ? (int32_t)i : 0;
        before += !pad;
        if (text->real[at]) {
            cs_text_row(&rows, i, i, place, rank);
        }
    }
    for (int64_t i = 0; i < decoded->s; ++i) {
        if (decoded->real[sequence * decoded->s + i]) {
            (void)cs_batch_decoder(batch, config, 0, i, i, -1,
                                   decoded->id[sequence * decoded->s + i]);
        }
    }
    for (int64_t i = 0; i < batch->predictions; ++i) {
        cs_batch_predict(batch, i, -1, 0, 0, i);
    }
}

static cs_status run_sequence(const check *c, cs_pass *pass, int64_t sequence)
{
    const cs_network *net = &pass->network;
    int64_t last = last_layer(c);
    cs_status status = cs_batch_shape(&pass->sizes, &c->model->config, &pass->batch);
    if (status == CS_OK) {
        fill_rows(c, sequence, &pass->batch);
        status = cs_pass_forward(pass, 1, (cs_run_key){0});
    }
    for (int64_t l = 0; l < layers(c) && status == CS_OK; ++l) {
        bool head = l > last;
        if (c->ours[l] && head == (net->loss.logits != CS_NONE)) {
            int tensor = head                            ? net->loss.logits
                         : l == last && !c->options->raw ? net->top
                                                         : net->hidden[l];
            status = cs_run_get_f32(pass->run, tensor,
                                    c->ours[l] + sequence * compared(c)->s * columns(c, l));
        }
    }
    return status;
}

static cs_status run_all(const check *c, bool head)
{
    cs_pass pass = {0};
    const cs_network_options sizes = {.form = c->options->decoder ? CS_FORM_MAE : CS_FORM_SINGLE,
                                      .keep_hidden = !head,
                                      .batch = 1,
                                      .length = c->text.s,
                                      .decoder_length = c->decoded.s,
                                      .predictions = head ? compared(c)->s : 0};
    cs_status status = cs_pass_open(c->model, &sizes, &pass);
    for (int64_t i = 0; i < c->n && status == CS_OK; ++i) {
        status = run_sequence(c, &pass, i);
    }
    cs_pass_close(&pass);
    return status;
}

/* --- the comparison --------------------------------------------------------------------------- */

static double usual_tolerance(const check *c, int64_t layer, double scale)
{
    const cs_model_config *config = &c->model->config;
    int64_t most =
        config->shape.width > config->shape.inner ? config->shape.width : config->shape.inner;
    most = cs_most(most, cs_most(c->text.s, c->decoded.s));
    const double angles = config->position.rotary.theta > 0 ? (double)c->text.s : 0;
    const double depth = c->options->decoder
                             ? (double)config->shape.layers + 1 + 1.5 * (double)(layer + 1)
                             : (double)(layer + 1);
    return (8 * sqrt((double)most) + angles) * depth * 0x1p-24 * scale;
}

static void measure(const check *c, int64_t layer, const cs_array *theirs, cs_state_difference *out)
{
    int64_t d = columns(c, layer), items = 0;
    double sum = 0, squares = 0, max = 0, scale = 0;
    for (int64_t i = 0; i < theirs->size; ++i) {
        if (!compared(c)->real[i / d]) {
            continue;
        }
        double y = cs_array_f64(theirs, i), x = (double)c->ours[layer][i] - y;
        max = fmax(max, fabs(x));
        scale = fmax(scale, fabs(y));
        sum += x;
        squares += x * x;
        ++items;
    }
    double n = items > 0 ? (double)items : 1, mean = sum / n;
    double wanted = c->options->tolerance;
    out->layer = layer;
    out->items = items;
    out->max = max;
    out->mean = mean;
    out->sd = sqrt(fmax(0, squares / n - mean * mean));
    out->scale = scale;
    out->tolerance = wanted > 0 ? wanted : usual_tolerance(c, layer, scale);
    out->ok = max <= out->tolerance;
}

/* "5 x 20 x 31" */
static void shape_text(const cs_array *a, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int d = 0; d < a->ndim && at < size; ++d) {
        int n =
            snprintf(text + at, size - at, "%s%lld", d > 0 ? " x " : "", (long long)a->shape[d]);
        at += n > 0 ? (size_t)n : size;
    }
}

static cs_status check_shape(const check *c, int64_t layer, const char *name, const cs_array *a)
{
    char shape[256];
    if (a->ndim == 3 && a->shape[0] == c->n && a->shape[1] == compared(c)->s &&
        a->shape[2] == columns(c, layer)) {
        return CS_OK;
    }
    shape_text(a, shape, sizeof shape);
    return cs_fail(CS_ERR_INPUT, "%s has shape %s, not %lld x %lld x %lld", name,
                   a->ndim > 0 ? shape : "()", (long long)c->n, (long long)compared(c)->s,
                   (long long)columns(c, layer));
}

/* Of rows that are no padding: the others are not compared. */
static cs_status check_finite(const check *c, int64_t layer, const char *name, const cs_array *a)
{
    const int64_t d = columns(c, layer);
    for (int64_t i = 0; i < a->size; ++i) {
        const int64_t row = i / d;
        const bool theirs = !isfinite(cs_array_f64(a, i));
        if (compared(c)->real[row] && (theirs || !isfinite(c->ours[layer][i]))) {
            return cs_fail(CS_ERR_INPUT, "%s%s[%lld,%lld,%lld] is not finite: %g",
                           theirs ? "" : "our ", name, (long long)(row / compared(c)->s),
                           (long long)(row % compared(c)->s), (long long)(i % d),
                           theirs ? cs_array_f64(a, i) : (double)c->ours[layer][i]);
        }
    }
    return CS_OK;
}

static cs_status compare(const check *c, int64_t layer, cs_state_difference *out)
{
    char name[NAME];
    CS_AUTO(cs_array) theirs = {0};
    name_of(c, layer, name);
    cs_status status = cs_npz_read(c->reference, name, &theirs);
    if (status == CS_OK) status = check_shape(c, layer, name, &theirs);
    if (status == CS_OK && cs_dtype_size(theirs.dtype) == 0)
        status = cs_fail(CS_ERR_INPUT, "%s contains text, not numbers", name);
    if (status == CS_OK && (status = check_finite(c, layer, name, &theirs)) == CS_OK)
        measure(c, layer, &theirs, out);
    return status;
}

cs_status cs_verify_states(cs_model *model, cs_npz *reference, const cs_verify_options *options,
                           cs_state_difference *out, int *count)
{
    check c = {.model = model, .reference = reference, .options = options};
    bool states = false;
    cs_status status;
    *count = 0;
    if (model->config.arch == CS_ARCH_LINEAR) {
        return cs_fail(CS_ERR_USAGE, "architecture linear has no hidden states");
    }
    if ((status = cs_model_config_reads(&model->config, 0)) != CS_OK ||
        (status = read_ids(&c, "", &c.text)) != CS_OK || (status = read_decoded(&c)) != CS_OK ||
        (status = refuse_others(&c)) != CS_OK || (status = want_layers(&c)) != CS_OK) {
        goto done;
    }
    for (int64_t l = 0; l <= last_layer(&c); ++l) {
        states = states || c.ours[l];
    }
    if (states) {
        status = run_all(&c, false);
    }
    if (status == CS_OK && c.ours[layers(&c) - 1]) status = run_all(&c, true);
    for (int64_t l = 0; l < layers(&c) && status == CS_OK; ++l) {
        if (c.ours[l]) {
            status = compare(&c, l, &out[*count]);
            *count += status == CS_OK;
        }
    }
done:
    cs_pool_free(&c.pool);
    return status;
}
