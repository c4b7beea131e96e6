/* One sequence a forward pass: references are small, and nothing then depends on the company that a
 * sequence keeps. */
#include "infer/verify_states.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/pass.h"

typedef struct {
    cs_pool pool; /* of all arrays below */
    cs_model *model;
    cs_npz *reference;
    const cs_verify_options *options;
    int64_t n, s;
    int32_t *id;   /* n x s */
    uint8_t *real; /* n x s: no padding */
    float **ours;  /* layers + 2: n x s x columns, the last of logits; NULL: not wanted */
} check;

static int64_t layers(const check *c)
{
    return c->model->config.layers + 2;
}

static int64_t columns(const check *c, int64_t layer)
{
    return layer == layers(c) - 1 ? c->model->config.vocab : c->model->config.width;
}

enum { NAME = 48 };

static void name_of(const check *c, int64_t layer, char name[NAME])
{
    if (layer == layers(c) - 1) {
        (void)snprintf(name, NAME, "logits");
    } else {
        (void)snprintf(name, NAME, "hidden_states_%lld", (long long)layer);
    }
}

/* --- the reference ---------------------------------------------------------------------------- */

static cs_status read_mask(check *c)
{
    cs_array mask = {0};
    if (!cs_npz_has(c->reference, "attention_mask")) {
        return CS_OK;
    }
    cs_status status = cs_npz_read(c->reference, "attention_mask", &mask);
    if (status == CS_OK && (mask.ndim != 2 || mask.shape[0] != c->n || mask.shape[1] != c->s))
        status =
            cs_fail(CS_ERR_INPUT, "attention_mask is not of the shape of input_ids, %lld x %lld",
                    (long long)c->n, (long long)c->s);
    for (int64_t i = 0; status == CS_OK && i < c->n * c->s; ++i) {
        double x = cs_array_f64(&mask, i);
        c->real[i] = c->real[i] && (x < 0 || x > 0);
    }
    cs_array_free(&mask);
    return status;
}

static cs_status take_ids(check *c, const cs_array *ids)
{
    int64_t vocab = c->model->config.vocab, positions = c->model->config.positions;
    if (ids->ndim != 2 || ids->size == 0) {
        return cs_fail(CS_ERR_INPUT, "input_ids is not a table of sequences");
    }
    c->n = ids->shape[0];
    c->s = ids->shape[1];
    if (positions > 0 && c->s > positions) {
        return cs_fail(CS_ERR_INPUT, "input_ids: sequences of %lld in a model of %lld positions",
                       (long long)c->s, (long long)positions);
    }
    c->id = cs_pool_take(&c->pool, ids->size, sizeof *c->id);
    c->real = cs_pool_take(&c->pool, ids->size, 1);
    cs_status status = c->pool.status;
    for (int64_t i = 0; status == CS_OK && i < ids->size; ++i) {
        int64_t id = 0;
        status = cs_array_i64(ids, i, &id);
        if (status == CS_OK && (id < -1 || id >= vocab))
            status = cs_fail(CS_ERR_INPUT, "input_ids[%lld, %lld] is %lld, not in 0..%lld",
                             (long long)(i / c->s), (long long)(i % c->s), (long long)id,
                             (long long)vocab - 1);
        c->id[i] = (int32_t)id;
        c->real[i] = id >= 0;
    }
    return status;
}

static cs_status read_ids(check *c)
{
    cs_array ids = {0};
    cs_status status = cs_npz_read(c->reference, "input_ids", &ids);
    if (status == CS_OK && (status = take_ids(c, &ids)) == CS_OK) status = read_mask(c);
    cs_array_free(&ids);
    return status;
}

/* Layers that the model does not have would stay unread: hidden_states_L.npy with L beyond N. */
static cs_status refuse_others(const check *c)
{
    static const char prefix[] = "hidden_states_", suffix[] = ".npy";
    for (int64_t i = 0; i < cs_npz_count(c->reference); ++i) {
        const char *name = cs_npz_member(c->reference, i);
        char *end = NULL;
        if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
            continue;
        }
        long long layer = strtoll(name + sizeof prefix - 1, &end, 10);
        if (strcmp(end, suffix) == 0 && (layer < 0 || layer > c->model->config.layers)) {
            return cs_fail(CS_ERR_INPUT, "the reference has %.*s, and the model %lld layers",
                           (int)(end - name), name, (long long)c->model->config.layers);
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
            c->ours[l] = cs_pool_take(&c->pool, c->n * c->s * columns(c, l), sizeof(float));
        }
    }
    if (c->pool.status != CS_OK) return c->pool.status;
    return any ? CS_OK : cs_fail(CS_ERR_INPUT, "the reference has no hidden_states_L, no logits");
}

/* --- ours ------------------------------------------------------------------------------------- */

static void fill(const check *c, int64_t sequence, cs_batch *batch)
{
    const cs_model_config *config = &c->model->config;
    int32_t before = 0; /* tokens that are not padding so far */
    for (int64_t i = 0; i < c->s; ++i) {
        int64_t at = sequence * c->s + i;
        bool pad = c->id[at] < 0 || c->id[at] == config->pad_id;
        bool counts = config->position_offset > 0;
        int32_t place = !counts ? (int32_t)i : pad ? -1 : before;
        int32_t rank = c->options->causal ? (int32_t)i : 0;
        before += !pad;
        if (c->real[at]) {
            cs_batch_content(batch, config, 0, i, c->id[at], place, rank);
        }
        if (batch->predictions > 0) {
            cs_batch_predict(batch, i, -1, 0, 0, i);
        }
    }
}

static cs_status run_sequence(const check *c, cs_pass *pass, int64_t sequence)
{
    const cs_network *net = &pass->network;
    int64_t last = c->model->config.layers;
    cs_status status = cs_pass_begin(pass, 1, c->s, pass->sizes.predictions);
    if (status == CS_OK) {
        fill(c, sequence, &pass->batch);
        status = cs_pass_forward(pass, 1, (cs_run_key){0});
    }
    for (int64_t l = 0; l < layers(c) && status == CS_OK; ++l) {
        bool head = l > last;
        if (c->ours[l] && head == (net->logits != CS_NONE)) {
            int tensor = head                            ? net->logits
                         : l == last && !c->options->raw ? net->top
                                                         : net->hidden[l];
            status =
                cs_run_get_f32(pass->run, tensor, c->ours[l] + sequence * c->s * columns(c, l));
        }
    }
    return status;
}

static cs_status run_all(const check *c, bool head)
{
    cs_pass pass = {0};
    const cs_network_options sizes = {.form = CS_FORM_SINGLE,
                                      .keep_hidden = !head,
                                      .batch = 1,
                                      .length = c->s,
                                      .predictions = head ? c->s : 0};
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
    int64_t most = config->width > config->inner ? config->width : config->inner;
    most = most > c->s ? most : c->s;
    const double angles = config->rotary.theta > 0 ? (double)c->s : 0;
    return (8 * sqrt((double)most) + angles) * (double)(layer + 1) * 0x1p-24 * scale;
}

static void measure(const check *c, int64_t layer, const cs_array *theirs, cs_state_difference *out)
{
    int64_t d = columns(c, layer), items = 0;
    double sum = 0, squares = 0, max = 0, scale = 0;
    for (int64_t i = 0; i < theirs->size; ++i) {
        if (!c->real[i / d]) {
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
    if (a->ndim == 3 && a->shape[0] == c->n && a->shape[1] == c->s &&
        a->shape[2] == columns(c, layer)) {
        return CS_OK;
    }
    shape_text(a, shape, sizeof shape);
    return cs_fail(CS_ERR_INPUT, "%s is of shape %s, not %lld x %lld x %lld", name,
                   a->ndim > 0 ? shape : "()", (long long)c->n, (long long)c->s,
                   (long long)columns(c, layer));
}

/* Of rows that are no padding: the others are not compared. */
static cs_status check_finite(const check *c, int64_t layer, const char *name, const cs_array *a)
{
    const int64_t d = columns(c, layer);
    for (int64_t i = 0; i < a->size; ++i) {
        const int64_t row = i / d;
        const bool theirs = !isfinite(cs_array_f64(a, i));
        if (c->real[row] && (theirs || !isfinite(c->ours[layer][i]))) {
            return cs_fail(CS_ERR_INPUT, "%s%s[%lld,%lld,%lld] is %g", theirs ? "" : "our ", name,
                           (long long)(row / c->s), (long long)(row % c->s), (long long)(i % d),
                           theirs ? cs_array_f64(a, i) : (double)c->ours[layer][i]);
        }
    }
    return CS_OK;
}

static cs_status compare(const check *c, int64_t layer, cs_state_difference *out)
{
    char name[NAME];
    cs_array theirs = {0};
    name_of(c, layer, name);
    cs_status status = cs_npz_read(c->reference, name, &theirs);
    if (status == CS_OK) status = check_shape(c, layer, name, &theirs);
    if (status == CS_OK && cs_dtype_size(theirs.dtype) == 0)
        status = cs_fail(CS_ERR_INPUT, "%s is text", name);
    if (status == CS_OK && (status = check_finite(c, layer, name, &theirs)) == CS_OK)
        measure(c, layer, &theirs, out);
    cs_array_free(&theirs);
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
        (status = read_ids(&c)) != CS_OK || (status = refuse_others(&c)) != CS_OK ||
        (status = want_layers(&c)) != CS_OK) {
        goto done;
    }
    for (int64_t l = 0; l <= model->config.layers; ++l) {
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
