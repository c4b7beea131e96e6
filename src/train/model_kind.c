/* Limit: the record is trusted; a model that was changed afterwards keeps its kind. */
#include "train/model_kind.h"

#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "plan/spec.h"
#include "train/specials.h"

static const char *const NAME[] = {
    [CS_KIND_CAUSAL] = "causal", [CS_KIND_MASKED] = "masked", [CS_KIND_TWO_STREAM] = "two-stream",
    [CS_KIND_MAE] = "mae-lm",    [CS_KIND_LINEAR] = "linear", [CS_KIND_MNTP] = "mntp",
    [CS_KIND_HYBRID] = "hybrid"};

CS_NAMES(cs_kind, "kind of model", NAME)

bool cs_kind_masks(cs_kind kind)
{
    return kind == CS_KIND_MASKED || kind == CS_KIND_MNTP || kind == CS_KIND_HYBRID;
}

bool cs_kind_shifts(cs_kind kind)
{
    return kind == CS_KIND_CAUSAL || kind == CS_KIND_MNTP || kind == CS_KIND_HYBRID;
}

void cs_model_config_specials(cs_model_config *config, const cs_tokenizer *tokenizer)
{
    cs_special_ids ids = cs_special_ids_of(tokenizer);
    ids.pad = ids.unk = -1;
    cs_model_config_complete(config, ids);
    cs_model_config_given(config, tokenizer);
}

/* JSON of DIR/name; NULL if it is absent. */
static cs_status read_json(const char *dir, const char *name, json_t **out)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, name);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) status = cs_json_read(path, out);
    return status;
}

/* --- of a run under way --- */

/* The objective in one word and, of a file of plans, its path apart. */
static cs_status set_objective(const cs_objective *objective, cs_model_kind *kind)
{
    cs_objective plain = *objective;
    bool file = objective->file && objective->file->path;
    plain.file = file ? NULL : objective->file;
    plain.kind = file ? CS_OBJ_FILE : objective->kind;
    kind->trained_here = true;
    kind->from_nothing = objective->empty_prefix == CS_PREFIX_SHARED;
    kind->spec = cs_objective_describe(&plain);
    kind->plan_path = file ? cs_strdup(objective->file->path) : NULL;
    if (objective->file && objective->file->inputs > 0) {
        kind->mixture = json_incref(cs_plan_file_parts(objective->file));
    }
    return kind->spec && (kind->plan_path || !file) ? CS_OK : CS_ERR_MEMORY;
}

cs_attention cs_kind_attention(cs_kind kind, const cs_objective_row *objective)
{
    const bool heads = kind == CS_KIND_CAUSAL && objective == cs_objective_table(CS_OBJ_DIVERSE_AR),
               causal = !objective || heads || objective->reads == CS_ROWS_PREFIXES ||
                        objective == cs_objective_table(CS_OBJ_AR);
    const bool masks = objective && objective->reads == CS_ROWS_MASKED;
    return (kind != CS_KIND_TWO_STREAM && kind != CS_KIND_CAUSAL) || masks
               ? CS_ATTENTION_BIDIRECTIONAL
           : causal ? CS_ATTENTION_CAUSAL
                    : CS_ATTENTION_PLAN;
}

cs_status cs_model_kind_of(const cs_task *task, const cs_model_config *config, cs_loss loss,
                           double spectral_factor, cs_model_kind *out)
{
    static const cs_kind KIND[] = {[CS_FORM_SINGLE] = CS_KIND_MASKED,
                                   [CS_FORM_TWO_STREAM] = CS_KIND_TWO_STREAM,
                                   [CS_FORM_MAE] = CS_KIND_MAE,
                                   [CS_FORM_LINEAR] = CS_KIND_LINEAR};
    const cs_form form = cs_form_of(task, config);
    const cs_objective_row *row = cs_objective_table(task->objective.kind);
    const bool next =
        form == CS_FORM_SINGLE && cs_objective_reads(&task->objective) != CS_ROWS_MASKED;
    static const cs_kind NEXT[] = {[CS_MASKS_NONE] = CS_KIND_CAUSAL,
                                   [CS_MASKS_SOME] = CS_KIND_HYBRID,
                                   [CS_MASKS_ALL] = CS_KIND_MNTP};
    cs_model_kind made = {.kind = next ? NEXT[cs_objective_masks(&task->objective)] : KIND[form],
                          .query_position = cs_task_query_position(task, config),
                          .loss = loss,
                          .likelihood = loss == CS_LOSS_CROSS_ENTROPY,
                          .spectral_factor = spectral_factor,
                          .delta = task->delta,
                          .decoder_resets = task->decoder_resets};
    made.pretrained = made.attention = cs_kind_attention(made.kind, row);
    cs_status status = set_objective(&task->objective, &made);
    return CS_DELIVER(status, out, made, cs_model_kind_free);
}

void cs_model_kind_free(cs_model_kind *kind)
{
    CS_FREE_FIELDS(kind, spec, plan_path);
    json_decref(kind->mixture);
    *kind = (cs_model_kind){0};
}

cs_status cs_model_kind_record(const cs_model_kind *kind, cs_attention attention, json_t **out)
{
    json_t *record =
        json_pack("{s:s, s:s?, s:s, s:s?, s:s?, s:s, s:o, s:o, s:b, s:O*}", "kind",
                  cs_kind_name(kind->kind), "query_position", kind->query_position, "attention",
                  cs_attention_name(attention), "objective", kind->spec, "plan_file",
                  kind->plan_path, "loss", cs_loss_name(kind->loss), "spectral_factor",
                  cs_json_number(kind->spectral_factor), "delta", cs_json_number(kind->delta),
                  "decoder_resets", (int)kind->decoder_resets, "mixture", kind->mixture);
    *out = record;
    return record ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for config.json");
}

/* --- of a directory --- */

static cs_status kind_name_of(const char *text, cs_objective_kind *out)
{
    CS_AUTO_FREE char *name = cs_format("%.*s", (int)strcspn(text, " :("), text);
    return name ? cs_objective_by_name(name, out) : CS_ERR_MEMORY;
}

/* An objective from its file, or from the mixture that was kept of it. */
static cs_status of_file(const cs_model_kind *kind, cs_plan_file *file, cs_objective *out)
{
    const char *path = kind->plan_path;
    cs_status status = CS_OK;
    *out = cs_objective_default(CS_OBJ_FILE);
    out->event_weight = strstr(kind->spec, "event-weight=mask") ? CS_EVENT_MASK : CS_EVENT_TOKEN;
    out->target_weight =
        strstr(kind->spec, "target-weight=uniform") ? CS_TARGETS_UNIFORM : CS_TARGETS_PLAN;
    out->empty_prefix = kind->from_nothing ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
    if (kind->mixture) status = cs_plan_file_mixture(kind->mixture, path, file);
    if (status == CS_OK) status = cs_objective_of_file(path ? path : "", file, out);
    if (status == CS_OK) status = cs_objective_complete(out, 0);
    return cs_blame(status, "the plans that the model was trained on");
}

cs_status cs_model_kind_objective(const cs_model_kind *kind, cs_plan_file *file, cs_objective *out)
{
    cs_objective_kind of = CS_OBJ_AR;
    if (!kind->spec) {
        return cs_fail(CS_ERR_USAGE, "the model does not record the plans it was trained on");
    }
    cs_status status = kind_name_of(kind->spec, &of);
    if (status == CS_OK && (of == CS_OBJ_FILE || kind->mixture)) return of_file(kind, file, out);
    return status == CS_OK ? cs_objective_parse_described(kind->spec, file, out) : status;
}

static bool is(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value && strcmp(value, text) == 0;
}

static double number(const json_t *object, const char *key, double absent)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : absent;
}

static cs_status keep_text(const json_t *object, const char *key, char **out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_string(value) ? cs_strdup(json_string_value(value)) : NULL;
    return json_is_string(value) && !*out ? CS_ERR_MEMORY : CS_OK;
}

static const char *query_position(cs_kind kind, bool blind)
{
    return kind != CS_KIND_TWO_STREAM ? NULL : blind ? "off" : "on";
}

/* The kind by config.json. */
static cs_status take_own(const json_t *own, cs_model_kind *out)
{
    const char *kind = json_string_value(json_object_get(own, "kind")),
               *attention = json_string_value(json_object_get(own, "attention"));
    cs_objective_kind known = CS_OBJ_AR;
    cs_status status = cs_kind_by_name(kind ? kind : "", &out->kind);
    if (status == CS_OK) status = cs_attention_by_name(attention ? attention : "", &out->attention);
    if (status == CS_OK) status = keep_text(own, "objective", &out->spec);
    if (status == CS_OK) status = keep_text(own, "plan_file", &out->plan_path);
    out->mixture = json_incref(json_object_get(own, "mixture"));
    if (status == CS_OK && out->spec) status = kind_name_of(out->spec, &known);
    out->pretrained = cs_kind_attention(out->kind, out->spec ? cs_objective_table(known) : NULL);
    out->trained_here = out->spec != NULL;
    out->from_nothing = out->spec && strstr(out->spec, "empty-prefix=shared") != NULL;
    out->query_position = query_position(out->kind, is(own, "query_position", "off"));
    out->loss = is(own, "loss", "spectral")        ? CS_LOSS_SPECTRAL
                : is(own, "loss", "squared-error") ? CS_LOSS_SQUARED_ERROR
                                                   : CS_LOSS_CROSS_ENTROPY;
    out->likelihood = out->loss == CS_LOSS_CROSS_ENTROPY;
    out->spectral_factor = number(own, "spectral_factor", 2);
    out->delta = number(own, "delta", 0);
    out->decoder_resets = json_is_true(json_object_get(own, "decoder_resets"));
    return status == CS_ERR_USAGE ? cs_blame(CS_ERR_INPUT, "'trained'") : status;
}

/* A training run of an older version: its objective in `record`, loss and shares among `options`,
 * where no loss means the objective's own. */
static cs_status take_record(const json_t *record, const json_t *options,
                             const cs_model_config *config, cs_model_kind *out)
{
    const char *objective = json_string_value(json_object_get(record, "objective"));
    cs_task task = {.delta = number(options, "delta", 0),
                    .decoder_resets = json_is_true(json_object_get(options, "decoder-resets"))};
    if (!objective) {
        return cs_fail(CS_ERR_INPUT, "'objective' is missing");
    }
    cs_status status = kind_name_of(objective, &task.objective.kind);
    if (status != CS_OK) {
        cs_reason_clear();
        return cs_fail(CS_ERR_INPUT, "unknown objective '%s'", objective);
    }
    bool likelihood = json_is_string(json_object_get(options, "loss"))
                          ? !is(options, "loss", "spectral")
                          : !is(options, "objective", "linear");
    status = cs_model_kind_of(&task, config, likelihood ? CS_LOSS_CROSS_ENTROPY : CS_LOSS_SPECTRAL,
                              number(options, "spectral-factor", 2), out);
    if (status == CS_OK) {
        cs_free(out->spec);
        out->spec = cs_strdup(objective);
        out->from_nothing = strstr(objective, "empty-prefix=shared") != NULL;
        status = out->spec ? keep_text(options, "plan-file", &out->plan_path) : CS_ERR_MEMORY;
    }
    return status;
}

/* No record: what the architecture is made for. */
static void take_architecture(const json_t *json, const cs_model_config *config, cs_model_kind *out)
{
    const char *class =
        json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    const bool shifts = cs_arch_shifts(config->arch),
               causal = cs_arch_causal(config->arch) ||
                        json_is_true(json_object_get(json, "is_decoder")) ||
                        (shifts && class && cs_has_suffix(class, "ForCausalLM"));
    out->kind = config->arch == CS_ARCH_LINEAR                         ? CS_KIND_LINEAR
                : config->attention.query_vector                       ? CS_KIND_TWO_STREAM
                : config->decoder.layers > 0 && !config->decoder.stack ? CS_KIND_MAE
                : causal                                               ? CS_KIND_CAUSAL
                : shifts                                               ? CS_KIND_MNTP
                                                                       : CS_KIND_MASKED;
    /* Of two streams whose plans are not known every prefix is at least something they show. */
    out->pretrained = out->attention = cs_kind_attention(out->kind, NULL);
    out->query_position = query_position(out->kind, config->attention.blind_queries);
    out->loss =
        config->head.target == CS_TARGET_IDS ? CS_LOSS_CROSS_ENTROPY : CS_LOSS_SQUARED_ERROR;
    out->likelihood = out->loss == CS_LOSS_CROSS_ENTROPY;
    out->spectral_factor = 2;
}

/* The record of a run in the folder of config.json: train.json, whose options are the manifest's,
 * or a checkpoint's trainer.json, which has both under "run". */
static cs_status take_neighbour(const char *dir, const cs_model_config *config, bool *there,
                                cs_model_kind *out)
{
    json_auto_t *train = NULL, *manifest = NULL, *trainer = NULL;
    cs_status status = read_json(dir, "train.json", &train);
    if (status == CS_OK && train) status = read_json(dir, "manifest.json", &manifest);
    if (status == CS_OK && !train) status = read_json(dir, "trainer.json", &trainer);
    const json_t *run = json_object_get(trainer, "run");
    *there = train || run;
    if (status == CS_OK && *there) {
        const json_t *options = train ? json_object_get(manifest, "options") : run;
        const char *name = train ? "train.json" : "trainer.json";
        status =
            cs_blame(take_record(train ? train : run, options, config, out), "%s/%s", dir, name);
        out->record = name;
        out->options = manifest ? "manifest.json" : NULL;
    }
    return status;
}

cs_status cs_model_kind_read(const char *dir, const cs_model *model, cs_model_kind *out)
{
    cs_model_kind made = {0};
    bool there = false;
    cs_status status = model->trained
                           ? cs_blame(take_own(model->trained, &made), "%s/config.json", dir)
                           : take_neighbour(dir, &model->config, &there, &made);
    if (status == CS_OK && !model->trained && !there)
        take_architecture(model->source, &model->config, &made);
    return CS_DELIVER(status, out, made, cs_model_kind_free);
}
