/* Limit: train.json is taken at its word; a model that was changed afterwards keeps its kind. */
#include "analysis/model_kind.h"

#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"

static const char *const NAME[] = {[CS_KIND_CAUSAL] = "causal",
                                   [CS_KIND_MASKED] = "masked",
                                   [CS_KIND_TWO_STREAM] = "two-stream",
                                   [CS_KIND_MAE] = "mae-lm",
                                   [CS_KIND_LINEAR] = "linear"};

const char *cs_kind_name(cs_kind kind)
{
    return NAME[kind];
}

cs_status cs_kind_by_name(const char *name, cs_kind *out)
{
    for (int k = 0; k < CS_KINDS; ++k) {
        if (strcmp(name, NAME[k]) == 0) {
            *out = (cs_kind)k;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_USAGE,
                   "unknown kind of model '%s' (causal, masked, two-stream, mae-lm, linear)", name);
}

bool cs_kind_is_causal(cs_kind kind)
{
    return kind == CS_KIND_CAUSAL || kind == CS_KIND_TWO_STREAM;
}

void cs_model_config_specials(cs_model_config *config, const cs_tokenizer *tokenizer)
{
    const struct {
        int32_t *id;
        cs_token_role role;
    } special[] = {{&config->mask_id, CS_TOKEN_MASK},
                   {&config->bos_id, CS_TOKEN_BOS},
                   {&config->eos_id, CS_TOKEN_EOS}};
    for (size_t i = 0; i < sizeof special / sizeof *special; ++i) {
        int32_t id = cs_tokenizer_special(tokenizer, special[i].role);
        if (*special[i].id < 0 && id < config->vocab) {
            *special[i].id = id;
        }
    }
}

/* JSON of DIR/name; absent: NULL in *out where that is allowed. */
static cs_status read_json(const char *dir, const char *name, bool optional, json_t **out)
{
    char *path = cs_path_join(dir, name);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !(optional && !cs_path_exists(path))) {
        status = cs_json_read(path, out);
    }
    cs_free(path);
    return status;
}

static cs_status kind_of_objective(const char *dir, const char *objective, bool decoder,
                                   cs_kind *out)
{
    static const struct {
        const char *name;
        cs_kind kind;
    } known[] = {
        {"ar", CS_KIND_CAUSAL},
        {"masked", CS_KIND_MASKED},
        {"variable-masked", CS_KIND_MASKED},
        {"bernoulli-masked", CS_KIND_MASKED},
        {"diverse-ar", CS_KIND_TWO_STREAM},
        {"offset-ar", CS_KIND_TWO_STREAM},
        {"group-ar", CS_KIND_TWO_STREAM},
        {"permuted-ar", CS_KIND_TWO_STREAM},
        {"gvp", CS_KIND_TWO_STREAM},
        {"file", CS_KIND_TWO_STREAM},
    };
    size_t length = strcspn(objective, " ");
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strlen(known[i].name) == length && strncmp(objective, known[i].name, length) == 0) {
            *out = known[i].kind == CS_KIND_MASKED && decoder ? CS_KIND_MAE : known[i].kind;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "%s/train.json: unknown objective '%s'", dir, objective);
}

static bool is(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value && strcmp(value, text) == 0;
}

/* The record of a training run: its objective; its loss and shares stand among the options of
 * the manifest, where no loss means the objective's own. */
static cs_status take_record(const char *dir, const json_t *record, const json_t *manifest,
                             const cs_model_config *config, cs_model_kind *out)
{
    const char *objective = json_string_value(json_object_get(record, "objective"));
    const json_t *options = json_object_get(manifest, "options");
    if (!objective) {
        return cs_fail(CS_ERR_INPUT, "%s/train.json: no 'objective'", dir);
    }
    out->trained_here = true;
    out->from_nothing = strstr(objective, "empty-prefix=shared") != NULL;
    out->likelihood = json_is_string(json_object_get(options, "loss"))
                          ? !is(options, "loss", "spectral")
                          : !is(options, "objective", "linear");
    const json_t *factor = json_object_get(options, "spectral-factor");
    out->spectral_factor = json_is_number(factor) ? json_number_value(factor) : 2;
    const json_t *delta = json_object_get(options, "delta");
    out->delta = json_is_number(delta) ? json_number_value(delta) : 0;
    out->decoder_resets = json_is_true(json_object_get(options, "decoder-resets"));
    cs_kind kind = CS_KIND_CAUSAL;
    cs_status status = kind_of_objective(dir, objective, config->decoder.layers > 0, &kind);
    if (status == CS_OK && config->arch != CS_ARCH_LINEAR) {
        out->kind = kind;
    }
    return status;
}

cs_status cs_model_kind_read(const char *dir, const cs_model_config *config, cs_model_kind *out)
{
    json_t *json = NULL, *record = NULL, *manifest = NULL;
    cs_status status = read_json(dir, "config.json", false, &json);
    if (status == CS_OK && (status = read_json(dir, "train.json", true, &record)) == CS_OK &&
        record) {
        status = read_json(dir, "manifest.json", true, &manifest);
    }
    bool causal = config->arch == CS_ARCH_GPT2 || json_is_true(json_object_get(json, "is_decoder"));
    cs_model_kind made = {.kind = config->arch == CS_ARCH_LINEAR ? CS_KIND_LINEAR
                                  : config->query_vector         ? CS_KIND_TWO_STREAM
                                  : config->decoder.layers > 0   ? CS_KIND_MAE
                                  : causal                       ? CS_KIND_CAUSAL
                                                                 : CS_KIND_MASKED,
                          .likelihood = true,
                          .spectral_factor = 2};
    if (status == CS_OK && record) {
        status = take_record(dir, record, manifest, config, &made);
    }
    if (status == CS_OK) {
        *out = made;
    }
    json_decref(json);
    json_decref(record);
    json_decref(manifest);
    return status;
}
