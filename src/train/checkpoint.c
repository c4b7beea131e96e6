/* A folder is renamed as one, so its files are of one step. The folder above is synced after the
 * rename and before an older checkpoint goes. Nothing of a checkpoint is used before every byte has
 * been compared with its hash. */
#include "train/checkpoint.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/run_id.h"
#include "io/safetensors.h"
#include "train/specials.h"
#include "train/updates.h"

#define INDEX "trainer.json"
#define FORMAT "cospec-training"

/* The files that the index has the digests of, where they exist; NULL-terminated. */
static const char *const files_of[] = {"model.safetensors",
                                       "config.json",
                                       "optimizer.safetensors",
                                       "tokenizer.json",
                                       "codes.safetensors",
                                       "preprocessor_config.json",
                                       NULL};

static const char prefix[] = "checkpoint-";
static const char partial[] = ".partial"; /* being written */
static const char leaving[] = ".old";     /* being removed */

char *cs_train_folder(const char *dir, int64_t step)
{
    return cs_format("%s/%s%lld", dir, prefix, (long long)step);
}

/* --- finding -----------------------------------------------------------------------------------*/

/* The step of "checkpoint-STEP<suffix>"; else -1, also where the program writes no such number. */
static int64_t step_of(const char *name, const char *suffix)
{
    char *end = NULL;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return -1;
    }
    const char *digits = name + sizeof prefix - 1;
    if (digits[0] < '0' || digits[0] > '9') {
        return -1;
    }
    errno = 0;
    long long step = strtoll(digits, &end, 10);
    bool plain = errno == 0 && (digits[0] != '0' || end == digits + 1);
    return plain && strcmp(end, suffix) == 0 ? (int64_t)step : -1;
}

typedef struct {
    int64_t count;
    int64_t *step;
} steps;

/* Steps of the folders checkpoint-STEP<suffix>, the last first. */
static cs_status list(const char *dir, const char *suffix, steps *out)
{
    struct dirent **entry = NULL;
    int entries = scandir(dir, &entry, NULL, versionsort); /* by numbers in the names */
    if (entries < 0 && errno != ENOENT) {
        return cs_fail(CS_ERR_IO, "%s: cannot read: %s", dir, strerror(errno));
    }
    out->step = cs_alloc(entries > 0 ? entries : 1, sizeof *out->step);
    cs_status status = out->step ? CS_OK : CS_ERR_MEMORY;
    for (int i = entries - 1; i >= 0; --i) {
        int64_t step = step_of(entry[i]->d_name, suffix);
        if (step >= 0 && entry[i]->d_type == DT_LNK) {
            status = cs_fail(CS_ERR_USAGE, "%s/%s is a symbolic link, which is not followed", dir,
                             entry[i]->d_name);
        } else if (step >= 0 && out->step) {
            out->step[out->count++] = step;
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

cs_status cs_train_kept(const char *dir, int64_t *count, int64_t **step)
{
    steps found = {0};
    cs_status status = list(dir, "", &found);
    for (int64_t i = 0; i < found.count / 2; ++i) {
        const int64_t last = found.step[i];
        found.step[i] = found.step[found.count - 1 - i];
        found.step[found.count - 1 - i] = last;
    }
    *count = found.count;
    return CS_DELIVER(status, step, found.step, cs_drop);
}

cs_status cs_train_last(const char *dir, int64_t *last, int64_t *before)
{
    steps found = {0};
    cs_status status = list(dir, "", &found);
    for (int64_t i = 0; i < found.count && status == CS_OK; ++i) {
        CS_AUTO_FREE char *folder = cs_train_folder(dir, found.step[i]);
        CS_AUTO_FREE char *index = folder ? cs_path_join(folder, INDEX) : NULL;
        if (!index) {
            status = CS_ERR_MEMORY;
        } else if (!cs_path_exists(index)) {
            status =
                cs_fail(CS_ERR_INPUT, "%s is missing: %s is not a checkpoint; remove the folder",
                        index, folder);
        }
    }
    *last = found.count > 0 ? found.step[0] : -1;
    *before = found.count > 1 ? found.step[1] : -1;
    cs_free(found.step);
    return status;
}

/* --- removing ----------------------------------------------------------------------------------*/

/* Removes our files. One that is not ours stays, and the folder with it. */
static cs_status remove_own(const char *folder)
{
    cs_status status = CS_OK;
    for (int i = -1; status == CS_OK && (i < 0 || files_of[i]); ++i) {
        CS_AUTO_FREE char *path = cs_path_join(folder, i < 0 ? INDEX : files_of[i]);
        if (!path) {
            status = CS_ERR_MEMORY;
        } else if (unlink(path) != 0 && errno != ENOENT) {
            status = cs_fail(CS_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
        }
    }
    if (status == CS_OK) (void)rmdir(folder);
    return status;
}

/* The folder takes another name first: a kill must not leave a checkpoint that lacks files. Where
 * one of that name holds files that are not ours, it goes without. */
static cs_status remove_finished(const char *folder)
{
    CS_AUTO_FREE char *old = cs_format("%s%s", folder, leaving);
    cs_status status = old ? remove_own(old) : CS_ERR_MEMORY;
    if (status == CS_OK && rename(folder, old) == 0) {
        status = remove_own(old);
    } else if (status == CS_OK && (errno == ENOTEMPTY || errno == EEXIST)) {
        status = remove_own(folder);
    } else if (status == CS_OK && errno != ENOENT) {
        status = cs_fail(CS_ERR_IO, "%s: cannot rename to %s: %s", folder, old, strerror(errno));
    }
    return status;
}

/* Removes an unfinished checkpoint, which nobody has read. */
static void remove_unfinished(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        (void)unlinkat(dirfd(d), entry->d_name, 0); /* "." and ".." refuse */
    }
    if (d) {
        (void)closedir(d);
        (void)rmdir(folder);
    }
}

/* A folder of that name without an index is not ours, unless it is empty. */
static cs_status check_own(const char *folder)
{
    CS_AUTO_FREE char *index = cs_path_join(folder, INDEX);
    cs_status status = index ? CS_OK : CS_ERR_MEMORY;
    if (index && !cs_path_exists(index) && rmdir(folder) != 0 && errno != ENOENT)
        status = cs_fail(CS_ERR_USAGE, "%s is not empty and not a checkpoint; remove it", folder);
    return status;
}

static cs_status remove_named(const char *dir, int64_t step, const char *suffix)
{
    CS_AUTO_FREE char *folder = cs_format("%s/%s%lld%s", dir, prefix, (long long)step, suffix);
    cs_status status = folder ? CS_OK : CS_ERR_MEMORY;
    if (folder && suffix == partial) {
        remove_unfinished(folder);
    } else if (folder) {
        status = suffix == leaving ? CS_OK : check_own(folder);
        if (status == CS_OK)
            status = suffix == leaving ? remove_own(folder) : remove_finished(folder);
    }
    return status;
}

bool cs_train_listed(const cs_train_steps *list, int64_t step)
{
    int64_t i = 0;
    while (list && i < list->count && list->step[i] != step) {
        ++i;
    }
    return list && i < list->count;
}

cs_status cs_train_prune(const char *dir, int64_t keep, const cs_train_steps *listed)
{
    assert(keep >= 0);
    const char *const suffix[] = {leaving, partial, ""}; /* removal leaves none of the first */
    cs_status status = CS_OK;
    for (int kind = 0; kind < 3 && status == CS_OK; ++kind) {
        steps found = {0};
        status = list(dir, suffix[kind], &found);
        for (int64_t i = 0, left = kind == 2 ? keep : 0; i < found.count && status == CS_OK; ++i) {
            bool stays = kind == 2 && cs_train_listed(listed, found.step[i]);
            if (!stays && left-- <= 0) status = remove_named(dir, found.step[i], suffix[kind]);
        }
        cs_free(found.step);
    }
    return status;
}

/* --- writing -----------------------------------------------------------------------------------*/

cs_status cs_train_finite(const cs_params *params, int64_t step)
{
    CS_AUTO_FREE float *buffer = cs_alloc(cs_params_most_items(params), sizeof *buffer);
    cs_status status = buffer ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        const cs_param *p = &params->param[i];
        status = cs_params_get(params, i, CS_PARAM_VALUE, buffer);
        for (int64_t k = 0; k < p->rows * p->cols && status == CS_OK; ++k) {
            if (isfinite(buffer[k])) {
                continue;
            }
            status =
                step > 0
                    ? cs_fail(CS_ERR_CONVERGE,
                              "after step %lld parameter %s has the value %g, which is not "
                              "finite" CS_TRY_RATE,
                              (long long)step, p->name, (double)buffer[k])
                    : cs_fail(CS_ERR_INPUT,
                              "parameter %s of the model to be trained has the value %g, which is "
                              "not finite",
                              p->name, (double)buffer[k]);
        }
    }
    return status;
}

static cs_status put_moments(const cs_params *params, float *buffer, cs_safetensors_writer *writer)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < 2 * params->count && status == CS_OK; ++i) {
        int64_t number = i / 2, items = params->param[number].rows * params->param[number].cols;
        status = cs_params_get(params, number, i % 2 == 0 ? CS_PARAM_M : CS_PARAM_V, buffer);
        if (status == CS_OK)
            status = cs_safetensors_writer_put(writer, buffer, items * (int64_t)sizeof *buffer);
    }
    return status;
}

static cs_status write_moments(const char *path, const cs_params *params, float *buffer)
{
    cs_safetensors_writer *writer = NULL;
    int64_t count = 2 * params->count;
    CS_AUTO_FREE cs_safetensors_entry *entry = cs_calloc(count, sizeof *entry);
    CS_AUTO_FREE char **name = cs_calloc(count, sizeof *name);
    cs_status status = entry && name ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const cs_param *p = &params->param[i / 2];
        name[i] = cs_format("%s.%s", i % 2 == 0 ? "m" : "v", p->name);
        entry[i] = (cs_safetensors_entry){
            .name = name[i], .dtype = CS_F32, .ndim = 2, .shape = {p->rows, p->cols}};
        status = name[i] ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = cs_safetensors_writer_open(path, count, entry, 0, NULL, &writer);
    if (status == CS_OK) status = put_moments(params, buffer, writer);
    if (status == CS_OK) status = cs_safetensors_writer_commit(&writer);
    cs_safetensors_writer_abort(&writer);
    for (int64_t i = 0; name && i < count; ++i) {
        cs_free(name[i]);
    }
    return status;
}

static cs_status write_index(const char *folder, const json_t *run, const cs_train_state *state)
{
    json_auto_t *index = cs_run_header(FORMAT), *outputs = json_array();
    CS_AUTO_FREE char *path = cs_path_join(folder, INDEX);
    cs_status status =
        index && outputs && path ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for a checkpoint");
    for (int i = 0; files_of[i] && status == CS_OK; ++i) {
        status = cs_digest_put(outputs, folder, files_of[i]);
    }
    cs_json_put(&status, index, "step", json_integer(state->step));
    cs_json_put(&status, index, "tokens", json_integer(state->tokens));
    cs_json_put(&status, index, "skipped", json_integer(state->skipped));
    cs_json_put(&status, index, "empty_steps", json_integer(state->empty_steps));
    cs_json_put(&status, index, "bad", json_integer(state->bad));
    cs_json_put(&status, index, "loss", cs_json_number(state->loss));
    cs_json_put(&status, index, "eval_loss", cs_json_number(state->eval_loss));
    cs_json_put(&status, index, "run", json_deep_copy(run));
    cs_json_put(&status, index, "outputs", json_incref(outputs));
    return status == CS_OK ? cs_digest_write(path, index) : status;
}

static cs_status write_all(const char *folder, const cs_model *model, const cs_tokenizer *tokenizer,
                           const json_t *run, const cs_train_state *state)
{
    CS_AUTO_FREE float *buffer = cs_alloc(cs_params_most_items(&model->params), sizeof *buffer);
    CS_AUTO_FREE char *words = cs_path_join(folder, "tokenizer.json");
    CS_AUTO_FREE char *moments = cs_path_join(folder, "optimizer.safetensors");
    cs_status status = buffer && words && moments ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_train_finite(&model->params, state->step)) == CS_OK &&
        (status = cs_dir_make(folder)) == CS_OK &&
        (status = cs_model_write(model, folder)) == CS_OK &&
        (!tokenizer || (status = cs_tokenizer_write(tokenizer, words)) == CS_OK) &&
        (status = write_moments(moments, &model->params, buffer)) == CS_OK) {
        status = write_index(folder, run, state);
    }
    return status;
}

cs_status cs_train_save(const char *dir, const cs_model *model, const cs_tokenizer *tokenizer,
                        const json_t *run, const cs_train_state *state)
{
    CS_AUTO_FREE char *folder = cs_train_folder(dir, state->step), *made = NULL;
    cs_status status = folder ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !(made = cs_format("%s%s", folder, partial))) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        remove_unfinished(made);
        status = write_all(made, model, tokenizer, run, state);
    }
    if (status == CS_OK) status = cs_dir_sync(made);
    /* One of the same step may be there from before a --force. */
    if (status == CS_OK) status = remove_finished(folder);
    if (status == CS_OK && rename(made, folder) != 0)
        status = cs_fail(CS_ERR_IO, "%s: cannot rename into place: %s", folder, strerror(errno));
    if (status == CS_OK) status = cs_dir_sync(dir);
    if (status != CS_OK && made) remove_unfinished(made);
    return status;
}

/* --- reading the index ---------------------------------------------------------------------------------*/

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
    if (status != CS_OK) cs_reason_clear();
    if (before >= 0 && last == step) {
        return cs_fail(damage,
                       "%s. Remove %s/checkpoint-%lld to resume from checkpoint-%lld (%lld steps "
                       "must be repeated)",
                       reason, dir, (long long)step, (long long)before, (long long)(step - before));
    }
    return cs_fail(damage, "%s. There is no earlier checkpoint", reason);
}

cs_status cs_train_open(const char *dir, int64_t step, cs_train_state *state, json_t **run)
{
    json_auto_t *index = NULL;
    CS_AUTO_FREE char *folder = cs_train_folder(dir, step);
    CS_AUTO_FREE char *path = folder ? cs_path_join(folder, INDEX) : NULL;
    cs_status status = path ? cs_json_read(path, &index) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_run_header_check(path, index, FORMAT);
    if (status == CS_OK) status = cs_digest_check_own(path, index, folder);
    if (status == CS_OK) {
        cs_json_reader r = {index, "", CS_OK};
        *state = (cs_train_state){
            .step = cs_json_int(&r, "step", 0),
            .tokens = cs_json_int(&r, "tokens", 0),
            .skipped = cs_json_int(&r, "skipped", 0),
            .bad = cs_json_int(&r, "bad", 0),
            .loss = cs_json_real(&r, "loss", true),
            .eval_loss = cs_json_real(&r, "eval_loss", true),
        };
        if (json_object_get(index, "empty_steps")) /* older checkpoints do not count them */
            state->empty_steps = cs_json_int(&r, "empty_steps", 0);
        *run = json_incref(json_object_get(index, "run"));
        status = cs_blame(r.status, "%s", path);
    }
    return advise(status, dir, step);
}

/* --- its model ---------------------------------------------------------------------------------*/

static cs_status match_tokenizer(const char *folder, const cs_tokenizer *tokenizer)
{
    CS_AUTO(cs_tokenizer) *saved = NULL;
    CS_AUTO_FREE char *path = cs_path_join(folder, "tokenizer.json");
    cs_status status = path ? cs_tokenizer_read(path, &saved) : CS_ERR_MEMORY;
    return status == CS_OK ? cs_tokenizer_match(path, saved, tokenizer) : status;
}

static cs_status read_moment(const cs_safetensors *file, const char *path, cs_params *params,
                             int64_t number, cs_param_block what, float *buffer)
{
    const cs_param *p = &params->param[number];
    CS_AUTO_FREE char *name = cs_format("%s.%s", what == CS_PARAM_M ? "m" : "v", p->name);
    if (!name) return CS_ERR_MEMORY;
    const cs_safetensors_entry *entry = cs_safetensors_find(file, name);
    cs_status status = CS_OK;
    if (!entry || entry->items != p->rows * p->cols) {
        status = cs_fail(CS_ERR_INPUT, "%s: %s is missing or does not have %lld x %lld items", path,
                         name, (long long)p->rows, (long long)p->cols);
    } else {
        status = cs_safetensors_read_f32(file, entry, 0, entry->items, buffer);
    }
    return status == CS_OK ? cs_params_set(params, number, what, buffer) : status;
}

/* Values of the model just read, whose parameters are those of the other as its configuration is the
 * same, and moments. */
static cs_status take_all(const char *folder, const cs_params *saved, cs_params *params)
{
    cs_safetensors *file = NULL;
    CS_AUTO_FREE float *buffer = cs_alloc(cs_params_most_items(params), sizeof *buffer);
    CS_AUTO_FREE char *path = cs_path_join(folder, "optimizer.safetensors");
    cs_status status = buffer && path ? cs_safetensors_open(path, &file) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        status = cs_params_get(saved, i, CS_PARAM_VALUE, buffer);
        if (status == CS_OK) status = cs_params_set(params, i, CS_PARAM_VALUE, buffer);
        if (status == CS_OK) status = read_moment(file, path, params, i, CS_PARAM_M, buffer);
        if (status == CS_OK) status = read_moment(file, path, params, i, CS_PARAM_V, buffer);
    }
    cs_safetensors_free(file);
    return status;
}

cs_status cs_train_restore(const char *dir, int64_t step, const cs_tokenizer *tokenizer,
                           cs_model *model)
{
    CS_AUTO(cs_model) saved = {0};
    CS_AUTO_FREE char *folder = cs_train_folder(dir, step);
    cs_status status = !folder     ? CS_ERR_MEMORY
                       : tokenizer ? match_tokenizer(folder, tokenizer)
                                   : CS_OK;
    if (status == CS_OK) status = cs_model_read(folder, model->params.backend, false, &saved);
    return status == CS_OK ? take_all(folder, &saved.params, &model->params) : status;
}
