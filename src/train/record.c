/* The record of a run, held against that of the run to be resumed. */
#include "train/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/json.h"
#include "plan/plan_file.h"

/* XXH3 of the documents' tokens, bounds and split. */
static cs_status corpus_hash(const cs_corpus *corpus, char hex[33])
{
    cs_hasher hasher = {0};
    cs_status status = cs_hasher_make(0, &hasher);
    if (status == CS_OK) {
        cs_hasher_add(&hasher, corpus->token, (size_t)corpus->tokens * sizeof *corpus->token);
        cs_hasher_add(&hasher, corpus->doc_ptr,
                      (size_t)(corpus->documents + 1) * sizeof *corpus->doc_ptr);
        cs_hasher_add(&hasher, corpus->held_out, (size_t)corpus->documents);
        cs_hash_hex(cs_hasher_value(&hasher), hex);
    }
    cs_hasher_free(&hasher);
    return status;
}

typedef struct {
    const char *key;
    json_t *value;
} field;

/* Steals the values. */
static cs_status set_all(json_t *object, const field *fields, size_t count)
{
    cs_status status = CS_OK;
    for (size_t i = 0; i < count; ++i) {
        cs_status set = cs_json_set(object, fields[i].key, fields[i].value);
        status = status == CS_OK ? set : status;
    }
    return status;
}

static cs_status set_task(json_t *record, const cs_train_options *o)
{
    char *objective = cs_objective_describe(&o->task.objective), plan[65] = "";
    cs_status status = objective ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && o->task.objective.kind == CS_OBJ_FILE && o->task.objective.file->path) {
        status = cs_sha256_file(o->task.objective.file->path, plan);
    }
    const field fields[] = {
        {"objective", json_string(objective ? objective : "")},
        {"plan-file", json_string(plan)},
        {"loss", json_string(o->loss == CS_LOSS_SPECTRAL ? "spectral" : "cross-entropy")},
        {"spectral-factor", cs_json_number(o->spectral_factor)},
        {"keep", cs_json_number(o->task.keep)},
        {"random", cs_json_number(o->task.random)},
        {"delta", cs_json_number(o->task.delta)},
        {"decoder-resets", json_boolean(o->task.decoder_resets)},
        {"misaligned", json_boolean(o->task.misaligned)},
    };
    cs_status set = set_all(record, fields, sizeof fields / sizeof *fields);
    cs_free(objective);
    return status == CS_OK ? set : status;
}

static cs_status set_recipe(json_t *record, const cs_train_options *o, const cs_backend *backend)
{
    static const char *const precision[] = {
        [CS_REAL_F32] = "fp32", [CS_REAL_F64] = "fp64", [CS_REAL_BF16] = "bf16"};
    const field fields[] = {
        {"device", json_string(backend->name)},
        {"precision", json_string(precision[backend->activation])},
        {"steps", json_integer(o->steps)},
        {"batch", json_integer(o->batch)},
        {"accumulate", json_integer(o->accumulate)},
        {"max-length", json_integer(o->length)},
        {"pack", json_boolean(o->pack)},
        {"by-length", json_boolean(o->by_length)},
        {"schedule", json_string(cs_schedule_name(o->schedule))},
        {"lr", cs_json_number(o->learning_rate)},
        {"final-share", cs_json_number(o->final_share)},
        {"warmup", json_integer(o->warmup)},
        {"beta1", cs_json_number(o->beta1)},
        {"beta2", cs_json_number(o->beta2)},
        {"adam-eps", cs_json_number(o->adam_eps)},
        {"weight-decay", cs_json_number(o->weight_decay)},
        {"clip", cs_json_number(o->clip)},
        {"seed", json_integer((json_int_t)o->seed)},
    };
    return set_all(record, fields, sizeof fields / sizeof *fields);
}

cs_status cs_train_record(const cs_train_options *options, const cs_backend *backend,
                          const cs_corpus *corpus, json_t **out)
{
    char hex[33] = "";
    json_t *record = json_object();
    cs_status status = record ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the settings");
    if (status == CS_OK && (status = corpus_hash(corpus, hex)) == CS_OK &&
        (status = cs_json_set(record, "corpus", json_string(hex))) == CS_OK &&
        (status = set_task(record, options)) == CS_OK) {
        status = set_recipe(record, options, backend);
    }
    if (status != CS_OK) {
        json_decref(record);
        return status;
    }
    *out = record;
    return CS_OK;
}

static cs_status other_setting(const char *where, const char *key, const json_t *was,
                               const json_t *now)
{
    char *a = was ? json_dumps(was, JSON_ENCODE_ANY) : NULL;
    char *b = json_dumps(now, JSON_ENCODE_ANY);
    cs_status status = cs_fail(CS_ERR_USAGE, "%s is of a run with --%s %s, not %s", where, key,
                               a ? a : "unset", b ? b : "?");
    free(a);
    free(b);
    return status;
}

static cs_status match_steps(const char *where, const json_t *recorded, const json_t *now)
{
    json_int_t was = json_integer_value(json_object_get(recorded, "steps"));
    json_int_t is = json_integer_value(json_object_get(now, "steps"));
    const char *schedule = json_string_value(json_object_get(recorded, "schedule"));
    if (was == is || (is > was && schedule && strcmp(schedule, "constant") == 0)) {
        return CS_OK;
    }
    return cs_fail(CS_ERR_USAGE,
                   "%s is of a run with --steps %lld, not %lld: the learning rate of every step "
                   "depends on it (under --schedule constant steps may be added)",
                   where, (long long)was, (long long)is);
}

cs_status cs_train_record_match(const char *where, const json_t *recorded, const json_t *now)
{
    const char *key = NULL;
    json_t *value = NULL;
    const json_t *was = json_object_get(recorded, "corpus");
    if (!json_equal(was, json_object_get(now, "corpus"))) {
        return cs_fail(CS_ERR_INPUT,
                       "%s is of a run on other text: its tokens and split have XXH3 %s, these %s",
                       where, was ? json_string_value(was) : "none",
                       json_string_value(json_object_get(now, "corpus")));
    }
    cs_status status = match_steps(where, recorded, now);
    json_object_foreach((json_t *)now, key, value)
    {
        if (status == CS_OK && strcmp(key, "steps") != 0 &&
            !json_equal(json_object_get(recorded, key), value)) {
            status = other_setting(where, key, json_object_get(recorded, key), value);
        }
    }
    return status;
}
