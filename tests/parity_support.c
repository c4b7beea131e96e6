/* Cases of tests/parity_support.h. What a description leaves out has its neutral value: 0, no
 * array. */
#include "parity_support.h"

#include "backend_ref.h"
#include "base/auto.h"
#include "base/mem.h"
#include "io/json.h"
#include "plan/spec.h"

double parity_value(uint32_t salt, const char *name, int64_t i)
{
    uint32_t h = 2166136261U ^ salt; /* FNV-1a over the name, then the place */
    size_t length = strlen(name);
    for (size_t c = 0; c < length; ++c) {
        h = (h ^ (unsigned char)name[c]) * 16777619U;
    }
    h += (uint32_t)i * 2654435761U;
    h = (h ^ (h >> 15)) * 2246822519U;
    h = (h ^ (h >> 13)) * 3266489917U;
    h ^= h >> 16;
    double x = ((double)(h & 2047U) - 1023.5) / 2048;
    return length > 5 && strcmp(name + length - 5, ".gain") == 0 ? 1 + x : x;
}

cs_status parity_backend(const char *name, cs_backend **out)
{
    if (strcmp(name, "ref64") == 0) {
        return cs_backend_ref64(out);
    }
    if (strcmp(name, "ref") == 0) {
        return cs_backend_ref(out);
    }
    return strcmp(name, "cpu") == 0 ? cs_backend_cpu(0, out)
                                    : cs_fail(CS_ERR_USAGE, "no backend '%s'", name);
}

/* --- model ------------------------------------------------------------------------------------ */

static cs_status fill(cs_model *model, uint32_t salt)
{
    for (int64_t p = 0; p < model->params.count; ++p) {
        const cs_param *param = &model->params.param[p];
        int64_t n = param->rows * param->cols;
        CS_AUTO_FREE double *value = cs_alloc(n, sizeof *value);
        if (!value) {
            return CS_ERR_MEMORY;
        }
        for (int64_t i = 0; i < n; ++i) {
            value[i] = parity_value(salt, param->name, i);
        }
        cs_status status = cs_params_set64(&model->params, p, CS_PARAM_VALUE, value);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

static cs_status open_model(const json_t *what, bool training, parity_world *w)
{
    const char *dir = json_string_value(json_object_get(what, "model"));
    if (dir) {
        return cs_model_read(dir, w->backend, training, &w->model);
    }
    cs_model_config config;
    cs_status status = cs_model_config_parse("case", json_object_get(what, "config"), &config);
    if (status == CS_OK) status = cs_model_init(&config, w->backend, training, &w->model);
    return status == CS_OK
               ? fill(&w->model, (uint32_t)json_integer_value(json_object_get(what, "salt")))
               : status;
}

/* --- batch ------------------------------------------------------------------------------------ */

static const char *const FORM[] = {[CS_FORM_SINGLE] = "single",
                                   [CS_FORM_TWO_STREAM] = "two-stream",
                                   [CS_FORM_MAE] = "mae",
                                   [CS_FORM_LINEAR] = "linear"};
static const char *const LOSS[] = {[CS_LOSS_NONE] = "none",
                                   [CS_LOSS_CROSS_ENTROPY] = "cross-entropy",
                                   [CS_LOSS_SPECTRAL] = "spectral"};

static cs_status choice(const json_t *what, const char *key, const char *const *name, int count,
                        int *out)
{
    const char *text = json_string_value(json_object_get(what, key));
    for (*out = 0; text && *out < count; ++*out) {
        if (strcmp(text, name[*out]) == 0) {
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "'%s' is '%s'", key, text ? text : "absent");
}

static int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The array of that name; *out stays NULL where n is 0. */
static cs_status ints(const json_t *object, const char *key, int64_t n, int32_t **out)
{
    const json_t *array = json_object_get(object, key);
    if ((int64_t)json_array_size(array) != n) {
        return cs_fail(CS_ERR_INPUT, "'%s' has %lld items, not %lld", key,
                       (long long)json_array_size(array), (long long)n);
    }
    if (n == 0) {
        return CS_OK;
    }
    *out = cs_alloc(n, sizeof **out);
    if (!*out) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; ++i) {
        (*out)[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    }
    return CS_OK;
}

static cs_status reals(const json_t *array, int64_t n, double **out)
{
    if ((int64_t)json_array_size(array) != n) {
        return cs_fail(CS_ERR_INPUT, "an array of %lld reals, not %lld",
                       (long long)json_array_size(array), (long long)n);
    }
    *out = cs_alloc(n, sizeof **out);
    for (int64_t i = 0; *out && i < n; ++i) {
        (*out)[i] = json_number_value(json_array_get(array, (size_t)i));
    }
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static cs_status given_batch(const json_t *object, cs_form form, cs_batch *b)
{
    b->form = form;
    b->batch = integer(object, "batch");
    b->length = integer(object, "length");
    b->queries = integer(object, "queries");
    b->decoder_length = integer(object, "decoder_length");
    b->predictions = integer(object, "predictions");
    int64_t rows = b->batch * b->length, queries = b->batch * b->queries;
    int64_t decoder = b->batch * b->decoder_length;
    const struct {
        const char *key;
        int64_t n;
        int32_t **to;
    } array[] = {{"token", rows, &b->token},
                 {"position", rows, &b->position},
                 {"vis", rows, &b->vis},
                 {"lim", rows, &b->lim},
                 {"query_position", form == CS_FORM_LINEAR ? 0 : queries, &b->query.position},
                 {"query_lim", queries, &b->query.lim},
                 {"decoder_from", decoder, &b->decoder.from},
                 {"decoder_token", decoder, &b->decoder.token},
                 {"decoder_position", decoder, &b->decoder.position},
                 {"decoder_vis", decoder, &b->decoder.vis},
                 {"decoder_lim", decoder, &b->decoder.lim},
                 {"decoder_cross_lim", decoder, &b->decoder.cross_lim},
                 {"predict", b->predictions, &b->loss.predict},
                 {"target", b->predictions, &b->loss.target}};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof array / sizeof *array && status == CS_OK; ++i) {
        status = ints(object, array[i].key, array[i].n, array[i].to);
    }
    b->loss.weight_sum = 1;
    return status == CS_OK
               ? reals(json_object_get(object, "weight"), b->predictions, &b->loss.weight)
               : status;
}

static cs_status build_batch(const json_t *what, const cs_task *task, const cs_model_config *config,
                             cs_batch *out)
{
    const json_t *list = json_object_get(what, "sequences");
    int64_t count = (int64_t)json_array_size(list);
    CS_AUTO_FREE int32_t **token = cs_calloc(count, sizeof *token);
    CS_AUTO_FREE cs_example *example = cs_calloc(count, sizeof *example);
    cs_status status = token && example ? CS_OK : CS_ERR_MEMORY;
    for (int64_t r = 0; r < count && status == CS_OK; ++r) {
        json_auto_t *one = json_pack("{sO}", "s", json_array_get(list, (size_t)r));
        int64_t length = (int64_t)json_array_size(json_object_get(one, "s"));
        status = ints(one, "s", length, &token[r]);
        example[r] = (cs_example){token[r], length, r, NULL, NULL};
    }
    if (status == CS_OK) {
        status = cs_batch_build(&(cs_batch_order){task, config, (uint64_t)integer(what, "seed"),
                                                  integer(what, "step"), NULL},
                                example, count, out);
    }
    for (int64_t r = 0; token && r < count; ++r) {
        cs_free(token[r]);
    }
    return status;
}

static cs_status make_batch(const json_t *what, const cs_model_config *config, cs_form form,
                            cs_batch *out)
{
    const char *spec = json_string_value(json_object_get(what, "objective"));
    if (!spec) {
        return given_batch(json_object_get(what, "batch"), form, out);
    }
    cs_task task = {.keep = number(what, "keep"),
                    .random = number(what, "random"),
                    .delta = number(what, "delta"),
                    .decoder_resets = json_is_true(json_object_get(what, "decoder_resets")),
                    .misaligned = json_is_true(json_object_get(what, "misaligned"))};
    cs_status status = cs_objective_parse(spec, &task.objective);
    return status == CS_OK ? build_batch(what, &task, config, out) : status;
}

/* --- worlds ----------------------------------------------------------------------------------- */

static cs_status load(const json_t *what, parity_world *w)
{
    CS_AUTO_FREE double *mass = NULL;
    const json_t *array = json_object_get(what, "mass");
    cs_status status = array ? reals(array, w->model.config.shape.vocab, &mass) : CS_OK;
    double scale = json_object_get(what, "objective") ? 1 / w->batch.loss.weight_sum : 1;
    if (status == CS_OK) {
        status = cs_batch_load(&w->batch, &w->net, scale, mass, (cs_run_key){0}, w->run);
    }
    return status;
}

/* In place: a run keeps the addresses of graph and parameters. */
static cs_status open_in(const json_t *what, parity_world *w)
{
    int form = 0, loss = 0;
    cs_status status = choice(what, "form", FORM, 4, &form);
    if (status == CS_OK) status = choice(what, "loss", LOSS, 3, &loss);
    bool none = loss == CS_LOSS_NONE;
    bool training = !none && !json_is_true(json_object_get(what, "evaluate"));
    if (status == CS_OK) status = open_model(what, training, w);
    if (status == CS_OK) status = make_batch(what, &w->model.config, (cs_form)form, &w->batch);
    if (status != CS_OK) return status;
    int64_t spare = integer(what, "spare");
    bool head = !none || json_is_true(json_object_get(what, "head"));
    cs_network_options options = {.form = (cs_form)form,
                                  .loss = (cs_loss)loss,
                                  .spectral_factor = number(what, "factor"),
                                  .training = training,
                                  .keep_hidden = none,
                                  .batch = w->batch.batch + spare,
                                  .length = w->batch.length + spare,
                                  .queries = w->batch.queries + spare,
                                  .decoder_length = w->batch.decoder_length + spare,
                                  .predictions = head ? w->batch.predictions + spare : 0};
    status = cs_network_build(&w->model, &options, &w->net);
    if (status == CS_OK) status = cs_run_init(&w->net.graph, &w->model.params, &w->run);
    return status == CS_OK ? load(what, w) : status;
}

cs_status parity_open(const json_t *what, cs_backend **backend, parity_world *out)
{
    memset(out, 0, sizeof *out);
    out->backend = *backend;
    *backend = NULL;
    cs_status status = open_in(what, out);
    if (status != CS_OK) parity_close(out);
    return status;
}

void parity_close(parity_world *world)
{
    cs_run_free(&world->run);
    cs_network_free(&world->net);
    cs_batch_free(&world->batch);
    cs_model_free(&world->model);
    cs_backend_free(&world->backend);
    memset(world, 0, sizeof *world);
}

cs_status parity_step(parity_world *world)
{
    bool training = world->net.options.training;
    cs_status status = training ? cs_params_zero_grad(&world->model.params) : CS_OK;
    if (status == CS_OK) status = cs_run_forward(world->run);
    return status == CS_OK && training ? cs_run_backward(world->run) : status;
}
