/* Writing, finding and removing checkpoints. Reading them: checkpoint_read.c.
 *
 * A folder is renamed as one, so its files are of one step. The folder above is synced after the
 * rename and before an older checkpoint goes. */
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

#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/checkpoint_private.h"

const char *const cs_train_files[] = {"model.safetensors", "config.json", "tokenizer.json",
                                      "optimizer.safetensors", NULL};

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

static int descending(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Steps of the folders checkpoint-STEP<suffix>, the last first. */
static cs_status list(const char *dir, const char *suffix, steps *out)
{
    steps found = {0};
    cs_status status = CS_OK;
    DIR *d = opendir(dir);
    if (!d && errno != ENOENT) {
        return cs_fail(CS_ERR_IO, "%s: cannot read: %s", dir, strerror(errno));
    }
    for (struct dirent *entry; d && status == CS_OK && (entry = readdir(d));) {
        int64_t step = step_of(entry->d_name, suffix);
        if (step < 0) {
            continue;
        }
        int64_t *grown = cs_realloc(found.step, found.count + 1, sizeof *grown);
        status = grown ? CS_OK : CS_ERR_MEMORY;
        if (grown) {
            found.step = grown;
            found.step[found.count++] = step;
        }
    }
    if (d) {
        (void)closedir(d);
    }
    if (found.count > 1) {
        qsort(found.step, (size_t)found.count, sizeof *found.step, descending);
    }
    *out = found;
    return status;
}

cs_status cs_train_last(const char *dir, int64_t *last, int64_t *before)
{
    steps found = {0};
    cs_status status = list(dir, "", &found);
    for (int64_t i = 0; i < found.count && status == CS_OK; ++i) {
        char *folder = cs_train_folder(dir, found.step[i]);
        char *index = folder ? cs_path_join(folder, CS_TRAIN_INDEX) : NULL;
        if (!index) {
            status = CS_ERR_MEMORY;
        } else if (!cs_path_exists(index)) {
            status = cs_fail(CS_ERR_INPUT, "%s is missing: %s is no checkpoint; remove the folder",
                             index, folder);
        }
        cs_free(index);
        cs_free(folder);
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
    for (int i = -1; status == CS_OK && (i < 0 || cs_train_files[i]); ++i) {
        char *path = cs_path_join(folder, i < 0 ? CS_TRAIN_INDEX : cs_train_files[i]);
        if (!path) {
            status = CS_ERR_MEMORY;
        } else if (unlink(path) != 0 && errno != ENOENT) {
            status = cs_fail(CS_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
        }
        cs_free(path);
    }
    if (status == CS_OK) {
        (void)rmdir(folder);
    }
    return status;
}

/* The folder takes another name first: a kill must not leave a checkpoint that lacks files. Where
 * one of that name holds files that are not ours, it goes without. */
static cs_status remove_finished(const char *folder)
{
    char *old = cs_format("%s%s", folder, leaving);
    cs_status status = old ? remove_own(old) : CS_ERR_MEMORY;
    if (status == CS_OK && rename(folder, old) == 0) {
        status = remove_own(old);
    } else if (status == CS_OK && (errno == ENOTEMPTY || errno == EEXIST)) {
        status = remove_own(folder);
    } else if (status == CS_OK && errno != ENOENT) {
        status = cs_fail(CS_ERR_IO, "%s: cannot rename to %s: %s", folder, old, strerror(errno));
    }
    cs_free(old);
    return status;
}

/* What an unfinished one holds was never read by anyone. */
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

static cs_status remove_named(const char *dir, int64_t step, const char *suffix)
{
    char *folder = cs_format("%s/%s%lld%s", dir, prefix, (long long)step, suffix);
    cs_status status = folder ? CS_OK : CS_ERR_MEMORY;
    if (folder && suffix == partial) {
        remove_unfinished(folder);
    } else if (folder) {
        status = suffix == leaving ? remove_own(folder) : remove_finished(folder);
    }
    cs_free(folder);
    return status;
}

cs_status cs_train_prune(const char *dir, int64_t keep)
{
    assert(keep >= 0);
    const char *const suffix[] = {leaving, partial, ""}; /* removal leaves none of the first */
    cs_status status = CS_OK;
    for (int kind = 0; kind < 3 && status == CS_OK; ++kind) {
        steps found = {0};
        status = list(dir, suffix[kind], &found);
        for (int64_t i = kind == 2 ? keep : 0; i < found.count && status == CS_OK; ++i) {
            status = remove_named(dir, found.step[i], suffix[kind]);
        }
        cs_free(found.step);
    }
    return status;
}

/* --- writing -----------------------------------------------------------------------------------*/

int64_t cs_train_most_items(const cs_params *params)
{
    int64_t most = 1;
    for (int64_t i = 0; i < params->count; ++i) {
        int64_t n = params->param[i].rows * params->param[i].cols;
        most = n > most ? n : most;
    }
    return most;
}

cs_status cs_train_finite(const cs_params *params, int64_t step)
{
    float *buffer = cs_alloc(cs_train_most_items(params), sizeof *buffer);
    cs_status status = buffer ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        const cs_param *p = &params->param[i];
        status = cs_params_get(params, i, CS_PARAM_VALUE, buffer);
        for (int64_t k = 0; k < p->rows * p->cols && status == CS_OK; ++k) {
            if (isfinite(buffer[k])) {
                continue;
            }
            status = step > 0
                         ? cs_fail(CS_ERR_CONVERGE, "after step %lld parameter %s has the value %g",
                                   (long long)step, p->name, (double)buffer[k])
                         : cs_fail(CS_ERR_INPUT,
                                   "parameter %s of the model to be trained has the value %g",
                                   p->name, (double)buffer[k]);
        }
    }
    cs_free(buffer);
    return status;
}

static cs_status put_moments(const cs_params *params, float *buffer, cs_safetensors_writer *writer)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < 2 * params->count && status == CS_OK; ++i) {
        int64_t number = i / 2, items = params->param[number].rows * params->param[number].cols;
        status = cs_params_get(params, number, i % 2 == 0 ? CS_PARAM_M : CS_PARAM_V, buffer);
        if (status == CS_OK) {
            status = cs_safetensors_writer_put(writer, buffer, items * (int64_t)sizeof *buffer);
        }
    }
    return status;
}

static cs_status write_moments(const char *path, const cs_params *params, float *buffer)
{
    cs_safetensors_writer *writer = NULL;
    int64_t count = 2 * params->count;
    cs_safetensors_entry *entry = cs_calloc(count, sizeof *entry);
    char **name = cs_calloc(count, sizeof *name);
    cs_status status = entry && name ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const cs_param *p = &params->param[i / 2];
        name[i] = cs_format("%s.%s", i % 2 == 0 ? "m" : "v", p->name);
        entry[i] = (cs_safetensors_entry){
            .name = name[i], .dtype = CS_ST_F32, .ndim = 2, .shape = {p->rows, p->cols}};
        status = name[i] ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        status = cs_safetensors_writer_open(path, count, entry, 0, NULL, &writer);
    }
    if (status == CS_OK) {
        status = put_moments(params, buffer, writer);
    }
    if (status == CS_OK) {
        status = cs_safetensors_writer_commit(&writer);
    }
    cs_safetensors_writer_abort(&writer);
    for (int64_t i = 0; name && i < count; ++i) {
        cs_free(name[i]);
    }
    cs_free(name);
    cs_free(entry);
    return status;
}

/* {"model.safetensors": {"bytes", "sha256"}, ...} */
static cs_status hash_files(const char *folder, json_t *files)
{
    cs_status status = CS_OK;
    for (int i = 0; cs_train_files[i] && status == CS_OK; ++i) {
        struct stat st = {0};
        char hex[65] = "";
        char *path = cs_path_join(folder, cs_train_files[i]);
        status = path ? cs_sha256_file(path, hex) : CS_ERR_MEMORY;
        if (status == CS_OK && stat(path, &st) != 0) {
            status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
        }
        if (status == CS_OK) {
            status = cs_json_set(
                files, cs_train_files[i],
                json_pack("{s:I, s:s}", "bytes", (json_int_t)st.st_size, "sha256", hex));
        }
        cs_free(path);
    }
    return status;
}

cs_status cs_train_digest(json_t *index, char hex[65])
{
    char *text = json_dumps(index, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    if (!text) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for a checkpoint");
    }
    cs_sha256(text, strlen(text), hex);
    free(text);
    return CS_OK;
}

static cs_status write_index(const char *folder, const json_t *run, const cs_train_state *state)
{
    char hex[65];
    json_t *files = json_object();
    char *path = cs_path_join(folder, CS_TRAIN_INDEX);
    cs_status status = files && path ? hash_files(folder, files) : CS_ERR_MEMORY;
    json_t *copy = status == CS_OK ? json_deep_copy(run) : NULL;
    json_t *index =
        copy ? json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:O}", "format",
                         CS_TRAIN_FORMAT, "version", CS_TRAIN_VERSION, "step",
                         (json_int_t)state->step, "tokens", (json_int_t)state->tokens, "skipped",
                         (json_int_t)state->skipped, "bad", (json_int_t)state->bad, "loss",
                         cs_json_number(state->loss), "eval_loss", cs_json_number(state->eval_loss),
                         "run", copy, "files", files)
             : NULL;
    if (status == CS_OK && !index) {
        status = cs_fail(CS_ERR_MEMORY, "out of memory for a checkpoint");
    }
    if (status == CS_OK) {
        status = cs_train_digest(index, hex);
    }
    if (status == CS_OK) {
        status = cs_json_set(index, "sha256", json_string(hex));
    }
    if (status == CS_OK) {
        status = cs_json_write(path, index);
    }
    json_decref(index);
    json_decref(files);
    cs_free(path);
    return status;
}

static cs_status write_all(const char *folder, const cs_model *model, const cs_tokenizer *tokenizer,
                           const json_t *run, const cs_train_state *state)
{
    float *buffer = cs_alloc(cs_train_most_items(&model->params), sizeof *buffer);
    char *words = cs_path_join(folder, "tokenizer.json");
    char *moments = cs_path_join(folder, "optimizer.safetensors");
    cs_status status = buffer && words && moments ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && (status = cs_train_finite(&model->params, state->step)) == CS_OK &&
        (status = cs_dir_make(folder)) == CS_OK &&
        (status = cs_model_write(model, folder)) == CS_OK &&
        (status = cs_tokenizer_write(tokenizer, words)) == CS_OK &&
        (status = write_moments(moments, &model->params, buffer)) == CS_OK) {
        status = write_index(folder, run, state);
    }
    cs_free(buffer);
    cs_free(words);
    cs_free(moments);
    return status;
}

static cs_status sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    int code = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok ? CS_OK : cs_fail(CS_ERR_IO, "%s: cannot sync: %s", dir, strerror(code));
}

cs_status cs_train_save(const char *dir, const cs_model *model, const cs_tokenizer *tokenizer,
                        const json_t *run, const cs_train_state *state)
{
    char *folder = cs_train_folder(dir, state->step), *made = NULL;
    cs_status status = folder ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !(made = cs_format("%s%s", folder, partial))) {
        status = CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        remove_unfinished(made);
        status = write_all(made, model, tokenizer, run, state);
    }
    if (status == CS_OK) {
        status = sync_folder(made);
    }
    if (status == CS_OK) {
        status = remove_finished(folder); /* one of the same step, from before a --force */
    }
    if (status == CS_OK && rename(made, folder) != 0) {
        status = cs_fail(CS_ERR_IO, "%s: cannot rename into place: %s", folder, strerror(errno));
    }
    if (status == CS_OK) {
        status = sync_folder(dir);
    }
    if (status != CS_OK && made) {
        remove_unfinished(made);
    }
    cs_free(folder);
    cs_free(made);
    return status;
}
