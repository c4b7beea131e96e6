/* cospec verify-model: our hidden states beside those of another program. */
#include <string.h>

#include "analysis/verify_states.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "io/json.h"

static json_t *json_of(const cs_state_difference *d, const char *layer)
{
    return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:b}", "layer", layer, "items",
                     (json_int_t)d->items, "max", cs_json_number(d->max), "mean",
                     cs_json_number(d->mean), "sd", cs_json_number(d->sd), "scale",
                     cs_json_number(d->scale), "tolerance", cs_json_number(d->tolerance), "ok",
                     (int)d->ok);
}

static cs_status add_row(cs_table *table, const cs_state_difference *d, const char *layer)
{
    const struct {
        const char *name;
        double value;
    } column[] = {{"max", d->max},
                  {"mean", d->mean},
                  {"sd", d->sd},
                  {"scale", d->scale},
                  {"tolerance", d->tolerance}};
    cs_status status = cs_table_row(table);
    if (status == CS_OK && (status = cs_table_text(table, "layer", layer)) == CS_OK &&
        (status = cs_table_int(table, "items", d->items)) == CS_OK) {
        status = cs_table_text(table, "verdict", d->ok ? "PASS" : "FAIL");
    }
    for (size_t i = 0; i < sizeof column / sizeof *column && status == CS_OK; ++i) {
        status = cs_table_real(table, column[i].name, column[i].value);
    }
    return status;
}

static cs_status report(cs_args *args, const cs_model_text *t, const cs_state_difference *d,
                        int count)
{
    cs_table table = {0};
    bool ok = true;
    json_t *json = json_pack("{s:s, s:s, s:s, s:[]}", "model", t->dir, "reference",
                             cs_args_positional(args, 1), "arch",
                             cs_arch_name(t->model.config.arch), "layers");
    cs_status status =
        json ? cs_table_init(&table, "layer,items,max,mean,sd,scale,tolerance,verdict")
             : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (int i = 0; i < count && status == CS_OK; ++i) {
        bool logits = d[i].layer > t->model.config.layers;
        char *name = logits ? cs_strdup("logits") : cs_format("%lld", (long long)d[i].layer);
        ok = ok && d[i].ok;
        if (!name ||
            json_array_append_new(json_object_get(json, "layers"), json_of(&d[i], name)) != 0) {
            status = cs_fail(CS_ERR_MEMORY, "out of memory for the result");
        } else {
            status = add_row(&table, &d[i], name);
        }
        cs_free(name);
    }
    if (status == CS_OK && (status = cs_json_set(json, "ok", json_boolean(ok))) == CS_OK) {
        status = cs_output_result(args, "verify-model", json, &table);
    }
    if (status == CS_OK && !ok) {
        cs_output_refuted(args);
    }
    cs_table_free(&table);
    json_decref(json);
    return status;
}

static cs_status run_verify_model(cs_args *args)
{
    cs_model_text t = {0};
    cs_npz *reference = NULL;
    cs_state_difference *d = NULL;
    int count = 0;
    cs_status status = CS_OK;
    if (cs_args_positionals(args) != 2) {
        return cs_fail(CS_ERR_USAGE, "verify-model takes a directory and a REFERENCE.npz");
    }
    const char *path = cs_args_positional(args, 1), *attention = cs_args_text(args, "attention");
    if ((status = cs_args_model_open(args, cs_args_positional(args, 0), &t)) != CS_OK ||
        (status = cs_model_text_has_states(&t)) != CS_OK ||
        (status = cs_output_input(args, path)) != CS_OK ||
        (status = cs_npz_open(path, 0, &reference)) != CS_OK) {
        goto done;
    }
    const cs_verify_options options = {
        .causal = strcmp(attention, "auto") == 0 ? cs_kind_is_causal(t.kind.kind)
                                                 : strcmp(attention, "causal") == 0,
        .raw = strcmp(cs_args_text(args, "final-norm"), "no") == 0,
        .tolerance = cs_args_given(args, "tol") ? cs_args_real(args, "tol") : 0};
    d = cs_calloc(t.model.config.layers + 2, sizeof *d);
    status = d ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_blame(cs_verify_states(&t.model, reference, &options, d, &count), "%s", path);
    }
    if (status == CS_OK) {
        status = report(args, &t, d, count);
    }
done:
    cs_free(d);
    cs_npz_close(reference);
    cs_model_text_free(&t);
    return status;
}

static const cs_opt verify_model_options[] = {
    {.name = "tol",
     .kind = CS_OPT_REAL,
     .argument = "T",
     .low = 1e-300,
     .high = 1e300,
     .help = "Largest absolute difference that passes. Default, by layer l (logits: N + 1): "
             "8 (l + 1) sqrt(max(width, inner)) 2^-24 of the layer's largest state."},
    {.name = "final-norm",
     .kind = CS_OPT_CHOICE,
     .argument = "hf|yes|no",
     .fallback = "hf",
     .help = "Whether the reference's last layer came through the final norm, as in transformers "
             "5; no: roberta-prelayernorm of transformers 4."},
    {.name = "attention",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|causal|bidirectional",
     .fallback = "auto",
     .help = "Which rows a row sees. auto: as the model was trained."},
    {0},
};

const cs_command cs_cmd_verify_model = {
    .name = "verify-model",
    .summary = "Hidden states and logits of a model against those of another program",
    .description =
        "  cospec verify-model DIR REFERENCE.npz\n\n"
        "REFERENCE.npz holds input_ids (n x s; -1 or attention_mask 0: padding), hidden_states_0 "
        ".. hidden_states_N (n x s x width; some may be missing) and logits (n x s x vocabulary, "
        "optional), as tests/oracle/make_reference.py makes them with transformers. Printed are, "
        "layer by layer, the largest absolute difference, and the mean and standard deviation of "
        "the difference. Exit 1 when a layer is beyond its tolerance.\n\n"
        "The default tolerance is for float32: a row of layer l has passed about 8 l sums of at "
        "most m = max(width, inner) products, each rounded like a random walk, sqrt(m) 2^-24 of "
        "the largest state.",
    .positional = "DIR REFERENCE.npz",
    .groups = (const cs_opt *const[]){verify_model_options, NULL},
    .examples = "# a model of Hugging Face, and what transformers makes of it\n"
                "cospec verify-model gpt2-tiny gpt2-tiny/reference.npz",
    .run = run_verify_model,
    .without = "dry-run resume seed",
    .gpu = true,
};
