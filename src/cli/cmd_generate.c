/* cospec generate: texts drawn from a model. */
#include "infer/generate.h"

#include <string.h>

#include "base/ints.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "text/encoder.h"

/* Models that can take any order, but for those that are causal too. */
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
                       "%s was trained with the %s loss: its outputs are no probabilities", t->dir,
                       cs_loss_name(t->kind.loss));
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
    cs_model_text t = {0};
    cs_encoder prompt = {0};
    cs_generate_options o = {0};
    cs_generated g = {0};
    cs_status status = cs_args_model_open(args, cs_args_positional(args, 0), &t);
    if (status == CS_OK) status = take_options(args, &t, &prompt, &o);
    if (status == CS_OK) status = cs_generate(&t.model, &o, &g);
    cs_item_text(cs_output_root(args), "model", t.dir);
    if (status == CS_OK) status = cs_generated_record(&g, &o, t.tokenizer, cs_output_root(args));
    if (status == CS_OK) status = cs_output_record(args, "generate", &view);
    cs_generated_free(&g);
    cs_encoder_free(&prompt);
    cs_model_text_free(&t);
    return status;
}

static const cs_opt generate_options[] = {
    CS_TEXT("prompt", "TEXT", NULL,
            "What every text begins with. Default: nothing, of models that were trained to predict "
            "a first token (--empty-prefix shared), of masked ones and of those with a begin token "
            "of their own (--special)."),
    CS_SPECIAL,
    CS_INT("n", "N", "1", 1, 1 << 24, "Number of texts."),
    CS_INT("length", "L", NULL, 1, 1 << 20,
           "Tokens of a text, the prompt's included. Default: 32, or the model's positions."),
    CS_REAL("temperature", "T", "1", 0, 1e6,
            "What logits are divided by; 0: always the likeliest token."),
    CS_REAL("top-p", "P", "1", 1e-9, 1,
            "Draw among the fewest tokens whose probabilities reach P."),
    CS_CHOICE("order", "auto|left|random|confidence", "auto",
              "Which token is drawn next: the first, any, or the one whose likeliest token has the "
              "largest probability. Causal models draw from the left. auto: random where the model "
              "takes any order (not of hybrid ones)."),
    CS_INT("batch", "B", "64", 1, 65536, "Most texts a forward pass."),
    {0},
};

const cs_command cs_cmd_generate = {
    .name = "generate",
    .summary = "Texts drawn from causal, masked, two-stream and diffusion models",
    .description =
        "Tokens are drawn one at a time, each from what the model says of it given the prompt and "
        "those drawn before: in a causal model the next one; in a masked one (masked, diffusion, "
        "mntp) any one, the others still hidden being [MASK]; in two streams by a query at its "
        "place. So drawn, at temperature 1, texts have the model's own probabilities: nll is the "
        "sum of -log p over the tokens drawn, in the order in which they were (places in --json), "
        "as perplexity computes it for causal models. Special tokens may be drawn as others.\n\n"
        "Text number i is a function of --seed and i. DIR receives generate.json and generate.csv.",
    .positional = "MODEL",
    .groups = (const cs_opt *const[]){generate_options, NULL},
    .examples = "# a small causal model and a small diffusion model of verses of one's own\n"
                "cospec train --corpus verses.txt --objective ar --empty-prefix shared --steps 5 "
                "--width 32 --layers 2 --batch 8 -o ar\n"
                "cospec train --corpus verses.txt --objective diffusion --empty-prefix shared "
                "--steps 5 --width 32 --layers 2 --batch 8 -o diffusion\n"
                "cospec generate ar --n 3 --length 12\n"
                "cospec generate diffusion --length 12 --order confidence --top-p 0.9 -o drawn",
    .run = run_generate,
    .files = "generate.json generate.csv",
    .without = "resume dry-run",
    .gpu = true,
    .shown = "number text nll",
};
