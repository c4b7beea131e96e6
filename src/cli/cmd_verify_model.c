/* cospec verify-model: compares our hidden states with those of another program. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "infer/verify_states.h"

static cs_status report(cs_args *args, const cs_model_text *t, const cs_state_difference *d,
                        int64_t last, int count)
{
    static const cs_view view = {"layers[]",
                                 "layer items max mean sd scale tolerance verdict=~verdict"};
    cs_item *root = cs_output_root(args);
    bool ok = true;
    cs_item_text(root, "model", t->dir);
    cs_item_text(root, "reference", cs_args_positional(args, 1));
    cs_item_text(root, "arch", cs_arch_name(t->model.config.arch));
    cs_item *layers = cs_item_array(root, "layers");
    for (int i = 0; i < count; ++i) {
        char number[32];
        (void)snprintf(number, sizeof number, "%lld", (long long)d[i].layer);
        cs_item *layer = cs_item_object(layers, NULL);
        cs_item_text(layer, "layer", d[i].layer > last ? "logits" : number);
        CS_ITEM_FIELDS(layer, &d[i], items, max, mean, sd, scale, tolerance, ok);
        cs_item_text(layer, "~verdict", d[i].ok ? "PASS" : "FAIL");
        ok = ok && d[i].ok;
    }
    cs_item_flag(root, "ok", ok);
    cs_status status = cs_output_record(args, "verify-model", &view);
    if (status == CS_OK && !ok) cs_output_refuted(args);
    return status;
}

static cs_status run_verify_model(cs_args *args)
{
    CS_AUTO(cs_model_text) t = {0};
    cs_npz *reference = NULL;
    int count = 0;
    cs_status status = CS_OK;
    const char *path = cs_args_positional(args, 1), *attention = cs_args_text(args, "attention");
    if ((status = cs_args_model_open(args, cs_args_positional(args, 0), &t)) != CS_OK ||
        (status = cs_model_text_has_states(&t)) != CS_OK ||
        (status = cs_output_input(args, path)) != CS_OK ||
        (status = cs_npz_open(path, 0, &reference)) != CS_OK) {
        return status;
    }
    const cs_verify_options options = {
        .decoder = t.decoder,
        .causal = strcmp(attention, "auto") == 0 ? t.kind.attention != CS_ATTENTION_BIDIRECTIONAL
                                                 : strcmp(attention, "causal") == 0,
        .raw = cs_args_is(args, "final-norm", "no"),
        .tolerance = cs_args_real_or(args, "tol", 0)};
    const int64_t last = cs_model_config_depth(&t.model.config, t.decoder);
    CS_AUTO_FREE cs_state_difference *d = cs_calloc(last + 2, sizeof *d);
    status = d ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_blame(cs_verify_states(&t.model, reference, &options, d, &count), "%s", path);
    if (status == CS_OK) status = report(args, &t, d, last, count);
    cs_npz_close(reference);
    return status;
}

static const cs_opt verify_model_options[] = {
    CS_REAL("tol", "T", NULL, 1e-300, 1e300,
            "Largest absolute difference that passes. Default: 8 (l + 1) sqrt(max(width, inner, "
            "length)) 2^-24 of the largest state of layer l."),
    CS_CHOICE("final-norm", "hf|yes|no", "hf",
              "Whether the final norm applies to the last layer of the reference, as in "
              "transformers 5. no: roberta-prelayernorm of transformers 4."),
    CS_CHOICE("attention", "auto|causal|bidirectional", "auto",
              "Attention mask. auto: as in the model's training."),
    {0},
};

const cs_command cs_cmd_verify_model = {
    .name = "verify-model",
    .help = &cs_help_verify_model,
    .positional = "DIR REFERENCE.npz",
    .groups = (const cs_opt *const[]){verify_model_options, cs_group_stack, NULL},
    .run = run_verify_model,
    .files = "verify-model.json verify-model.csv",
    .without = "dry-run resume seed",
    .gpu = true,
    .shown = "layer max mean tolerance verdict",
};
