/* cospec generate: texts drawn from a model. */
#include "base/auto.h"
#include "infer/generate.h"

#include <string.h>

#include "base/ints.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "text/encoder.h"

/* The order of generation, for models that support any order and are not causal too. */
static cs_status take_order(const cs_args *args, cs_generate_options *o)
{
    const int order = cs_args_choice(args, "order");
    o->order = (cs_reveal)(order - 1);
    if (order == 0) {
        const bool any = o->kind != CS_KIND_HYBRID &&
                         cs_generate_check(o->kind, o->content, CS_REVEAL_RANDOM) == CS_OK;
        o->order = any ? CS_REVEAL_RANDOM : CS_REVEAL_LEFT;
        cs_reason_clear();
    }
    return cs_blame(cs_generate_check(o->kind, o->content, o->order), "--order %s",
                    cs_args_text(args, "order"));
}

static cs_status take_options(const cs_args *args, const cs_model_text *t, cs_encoder *prompt,
                              cs_generate_options *o)
{
    const char *text = cs_args_text(args, "prompt");
    *o = (cs_generate_options){.kind = t->kind.kind,
                               .content = t->kind.pretrained,
                               .from_nothing = t->kind.from_nothing,
                               .count = cs_args_int(args, "n"),
                               .top_p = cs_args_real(args, "top-p"),
                               .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, o, temperature, batch, seed);
    if (!t->kind.likelihood) {
        return cs_fail(CS_ERR_USAGE,
                       "%s was trained with the %s loss, so its outputs are not probabilities",
                       t->dir, cs_loss_name(t->kind.loss));
    }
    cs_status status = cs_model_text_has_tokenizer(t);
    if (status == CS_OK) status = take_order(args, o);
    if (status == CS_OK)
        status = cs_model_text_around(t, cs_args_text(args, "special"), &o->around);
    if (status != CS_OK) return status;
    const int64_t extra = cs_most(o->around.befores, o->from_nothing) + o->around.afters;
    cs_encoder_init(prompt, t->tokenizer);
    if (text) status = cs_encoder_encode(prompt, text, (int64_t)strlen(text), false);
    o->prompt = prompt->id;
    o->prompt_length = prompt->count;
    o->length = cs_model_config_length(&t->model.config, 32 + extra) - extra;
    CS_ARGS_FIELDS(args, o, length);
    return cs_blame(status, "--prompt");
}

static cs_status run_generate(cs_args *args)
{
    static const cs_view view = {"texts[]", "number=# text nll"};
    CS_AUTO(cs_model_text) t = {0};
    CS_AUTO(cs_encoder) prompt = {0};
    cs_generate_options o = {0};
    CS_AUTO(cs_generated) g = {0};
    cs_status status = cs_args_model_open(args, cs_args_positional(args, 0), &t);
    if (status == CS_OK) status = take_options(args, &t, &prompt, &o);
    if (status == CS_OK) status = cs_generate(&t.model, &o, &g);
    cs_item_text(cs_output_root(args), "model", t.dir);
    if (status == CS_OK) status = cs_generated_record(&g, &o, t.tokenizer, cs_output_root(args));
    return status == CS_OK ? cs_output_record(args, "generate", &view) : status;
}

static const cs_opt generate_options[] = {
    CS_TEXT("prompt", "TEXT", NULL,
            "Beginning of every text. Default: none, for masked models and for models that can "
            "predict a first token (--empty-prefix shared, or a begin token)."),
    CS_SPECIAL,
    CS_INT("n", "N", "1", 1, 1 << 24, "Number of texts."),
    CS_INT("length", "L", NULL, 1, 1 << 20,
           "Tokens of a text, with the prompt. Default: 32, or the model's positions."),
    CS_REAL("temperature", "T", "1", 0, 1e6,
            "Divide logits by T. 0: always take the most probable token."),
    CS_REAL("top-p", "P", "1", 1e-9, 1,
            "Draw among the smallest set of tokens whose probabilities reach P."),
    CS_CHOICE("order", "auto|left|random|confidence", "auto",
              "Order of drawing: left to right, random, or most confident first. Causal models "
              "draw from the left. auto: random if the model allows any order."),
    CS_INT("batch", "B", "64", 1, 65536, "Most texts per forward pass."),
    {0},
};

const cs_command cs_cmd_generate = {
    .name = "generate",
    .help = &cs_help_generate,
    .positional = "MODEL",
    .groups = (const cs_opt *const[]){generate_options, cs_group_roles, NULL},
    .run = run_generate,
    .files = "generate.json generate.csv",
    .without = "resume dry-run",
    .gpu = true,
    .shown = "number text nll",
};
