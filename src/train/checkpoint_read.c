/* Reading a checkpoint: nothing of it is used before every byte has been held against its hash. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/checkpoint.h"
#include "train/checkpoint_private.h"

/* --- the index ---------------------------------------------------------------------------------*/

static cs_status check_digest(const char *path, json_t *index)
{
    char hex[65];
    json_t *own = json_object_get(index, "sha256");
    const char *recorded = json_string_value(own);
    const char *format = json_string_value(json_object_get(index, "format"));
    if (!recorded || !format || strcmp(format, CS_TRAIN_FORMAT) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: not of a training checkpoint", path);
    }
    if (json_integer_value(json_object_get(index, "version")) != CS_TRAIN_VERSION) {
        return cs_fail(CS_ERR_INPUT, "%s: version %lld, this program reads %d", path,
                       (long long)json_integer_value(json_object_get(index, "version")),
                       CS_TRAIN_VERSION);
    }
    json_incref(own);
    (void)json_object_del(index, "sha256");
    cs_status status = cs_train_digest(index, hex);
    if (status == CS_OK && strcmp(hex, recorded) != 0) {
        status =
            cs_fail(CS_ERR_INPUT, "%s: its SHA-256 is %s, recorded is %s", path, hex, recorded);
    }
    json_decref(own);
    return status;
}

static cs_status check_files(const char *folder, const json_t *files)
{
    cs_status status = CS_OK;
    for (int i = 0; cs_train_files[i] && status == CS_OK; ++i) {
        char hex[65];
        char *path = cs_path_join(folder, cs_train_files[i]);
        const char *recorded =
            json_string_value(json_object_get(json_object_get(files, cs_train_files[i]), "sha256"));
        if (!path) {
            status = CS_ERR_MEMORY;
        } else if (!cs_path_exists(path)) {
            status = cs_fail(CS_ERR_INPUT, "%s is missing", path);
        } else {
            status = cs_sha256_file(path, hex);
        }
        if (status == CS_OK && (!recorded || strcmp(hex, recorded) != 0)) {
            status = cs_fail(CS_ERR_INPUT, "%s: its SHA-256 is %s, recorded is %s", path, hex,
                             recorded ? recorded : "none");
        }
        cs_free(path);
    }
    return status;
}

/* A damaged checkpoint: says what can be done, and what that loses. */
static cs_status advise(cs_status damage, const char *dir, int64_t step)
{
    int64_t last = -1, before = -1;
    if (damage != CS_ERR_INPUT) {
        return damage;
    }
    char reason[768];
    (void)snprintf(reason, sizeof reason, "%s", cs_reason());
    cs_reason_clear();
    cs_status status = cs_train_last(dir, &last, &before);
    if (status != CS_OK) {
        cs_reason_clear();
    }
    if (before >= 0 && last == step) {
        return cs_fail(damage,
                       "%s. Remove %s/checkpoint-%lld to resume from checkpoint-%lld (%lld steps "
                       "are trained again)",
                       reason, dir, (long long)step, (long long)before, (long long)(step - before));
    }
    return cs_fail(damage, "%s. There is no checkpoint before it", reason);
}

/* A number, NaN for null. */
static double real_of(const json_t *index, const char *key)
{
    const json_t *value = json_object_get(index, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

cs_status cs_train_open(const char *dir, int64_t step, cs_train_state *state, json_t **run)
{
    json_t *index = NULL;
    char *folder = cs_train_folder(dir, step);
    char *path = folder ? cs_path_join(folder, CS_TRAIN_INDEX) : NULL;
    cs_status status = path ? cs_json_read(path, &index) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = check_digest(path, index);
    }
    if (status == CS_OK) {
        status = check_files(folder, json_object_get(index, "files"));
    }
    if (status == CS_OK) {
        *state = (cs_train_state){
            .step = json_integer_value(json_object_get(index, "step")),
            .tokens = json_integer_value(json_object_get(index, "tokens")),
            .skipped = json_integer_value(json_object_get(index, "skipped")),
            .bad = json_integer_value(json_object_get(index, "bad")),
            .loss = real_of(index, "loss"),
            .eval_loss = real_of(index, "eval_loss"),
        };
        *run = json_incref(json_object_get(index, "run"));
    }
    json_decref(index);
    cs_free(folder);
    cs_free(path);
    return advise(status, dir, step);
}

/* --- its model ---------------------------------------------------------------------------------*/

/* CS_ERR_USAGE names the first setting that differs. */
static cs_status match_objects(const char *where, const json_t *was, const json_t *now)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)now, key, value)
    {
        const json_t *before = json_object_get(was, key);
        if (json_equal(before, value)) {
            continue;
        }
        char *a = before ? json_dumps(before, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char *b = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        cs_status status = cs_fail(CS_ERR_USAGE, "%s is of a model with %s %s, not %s", where, key,
                                   a ? a : "unset", b ? b : "?");
        free(a);
        free(b);
        return status;
    }
    return CS_OK;
}

static cs_status match_config(const char *folder, const cs_model_config *saved,
                              const cs_model_config *present)
{
    json_t *was = cs_model_config_json(saved), *now = cs_model_config_json(present);
    cs_status status = was && now ? match_objects(folder, was, now) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = match_objects(folder, now, was);
    }
    json_decref(was);
    json_decref(now);
    return status;
}

cs_status cs_tokenizer_match(const char *where, const cs_tokenizer *a, const cs_tokenizer *b)
{
    int64_t n = cs_tokenizer_vocab(a), m = cs_tokenizer_vocab(b);
    for (int32_t id = 0; id < n && id < m; ++id) {
        const char *x = cs_tokenizer_token(a, id), *y = cs_tokenizer_token(b, id);
        if (strcmp(x, y) != 0) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: the tokenizer does not match: token %d is '%s' there and '%s' here",
                           where, id, x, y);
        }
    }
    if (n != m) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: the tokenizer does not match: %lld tokens there and %lld here", where,
                       (long long)n, (long long)m);
    }
    return CS_OK;
}

static cs_status match_tokenizer(const char *folder, const cs_tokenizer *tokenizer)
{
    cs_tokenizer *saved = NULL;
    char *path = cs_path_join(folder, "tokenizer.json");
    cs_status status = path ? cs_tokenizer_read(path, &saved) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_tokenizer_match(path, saved, tokenizer);
    }
    cs_tokenizer_free(&saved);
    cs_free(path);
    return status;
}

/* The values of a model just read, by name. */
static cs_status copy_values(const cs_params *from, cs_params *to, float *buffer)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < to->count && status == CS_OK; ++i) {
        int64_t j = cs_params_find(from, to->param[i].name);
        status = j < 0 ? cs_fail(CS_ERR_INPUT, "parameter %s is missing", to->param[i].name)
                       : cs_params_get(from, j, CS_PARAM_VALUE, buffer);
        if (status == CS_OK) {
            status = cs_params_set(to, i, CS_PARAM_VALUE, buffer);
        }
    }
    return status;
}

static cs_status read_moment(const cs_safetensors *file, const char *path, cs_params *params,
                             int64_t number, cs_param_block what, float *buffer)
{
    const cs_param *p = &params->param[number];
    char *name = cs_format("%s.%s", what == CS_PARAM_M ? "m" : "v", p->name);
    if (!name) {
        return CS_ERR_MEMORY;
    }
    const cs_safetensors_entry *entry = cs_safetensors_find(file, name);
    cs_status status = CS_OK;
    if (!entry || entry->items != p->rows * p->cols) {
        status = cs_fail(CS_ERR_INPUT, "%s: %s is missing or not of %lld x %lld items", path, name,
                         (long long)p->rows, (long long)p->cols);
    } else {
        status = cs_safetensors_read_f32(file, entry, 0, entry->items, buffer);
    }
    if (status == CS_OK) {
        status = cs_params_set(params, number, what, buffer);
    }
    cs_free(name);
    return status;
}

static cs_status read_moments(const char *folder, cs_params *params, float *buffer)
{
    cs_safetensors *file = NULL;
    char *path = cs_path_join(folder, "optimizer.safetensors");
    cs_status status = path ? cs_safetensors_open(path, &file) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < 2 * params->count && status == CS_OK; ++i) {
        status =
            read_moment(file, path, params, i / 2, i % 2 == 0 ? CS_PARAM_M : CS_PARAM_V, buffer);
    }
    cs_safetensors_free(file);
    cs_free(path);
    return status;
}

cs_status cs_train_restore(const char *dir, int64_t step, const cs_tokenizer *tokenizer,
                           cs_model *model)
{
    cs_model saved = {0};
    char *folder = cs_train_folder(dir, step);
    float *buffer = cs_alloc(cs_train_most_items(&model->params), sizeof *buffer);
    cs_status status = folder && buffer ? match_tokenizer(folder, tokenizer) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_model_read(folder, model->params.backend, false, &saved);
    }
    if (status == CS_OK) {
        status = match_config(folder, &saved.config, &model->config);
    }
    if (status == CS_OK) {
        status = copy_values(&saved.params, &model->params, buffer);
    }
    if (status == CS_OK) {
        status = read_moments(folder, &model->params, buffer);
    }
    cs_model_free(&saved);
    cs_free(buffer);
    cs_free(folder);
    return status;
}
