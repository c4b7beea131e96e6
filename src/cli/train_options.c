/* Option groups of cospec train. Defaults and their sources: docs/training.md. */
#include "cli/train_options.h"

#include <string.h>

#include "cli/groups.h"
#include "cli/output.h"

#define GROUP_END                                                                                  \
    {                                                                                              \
        NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false                                        \
    }

const cs_opt cs_group_train_task[] = {
    {"objective", 0, CS_OPT_CHOICE,
     "ar|masked|variable-masked|bernoulli-masked|diverse-ar|offset-ar|group-ar|permuted-ar|gvp|"
     "file|mae-lm|linear",
     NULL, 0, 0,
     "The pretraining objective; mae-lm: masked with a decoder; linear: --arch linear under masked "
     "with the spectral loss.",
     false},
    {"event-weight", 0, CS_OPT_CHOICE, "token|mask", "token", 0, 0,
     "Whether every predicted token counts once, or every mask (its tokens share it).", false},
    {"empty-prefix", 0, CS_OPT_CHOICE, "none|shared", "none", 0, 0,
     "Whether the first token is predicted too, from nothing.", false},
    {"offset-weights", 0, CS_OPT_TEXT, "uniform:T|power:A|mix:L", NULL, 0, 0,
     "offset-ar: weight of the token at distance d: equal up to T, d^-A, or L on the next token "
     "and (1-L) spread evenly. Default: uniform:2.",
     false},
    {"segmentation", 0, CS_OPT_CHOICE, "fixed|random|mixed", NULL, 0, 0,
     "gvp: how the K groups are cut. Default: mixed.", false},
    {"plan-file", 0, CS_OPT_TEXT, "FILE", NULL, 0, 0,
     "file: JSON with group plans and their probabilities (docs/formats.md, Plan files).", false},
    {"keep", 0, CS_OPT_REAL, "P", "0", 0, 1, "Share of masked tokens left as they are (BERT: 0.1).",
     false},
    {"random", 0, CS_OPT_REAL, "P", "0", 0, 1,
     "Share of masked tokens replaced by random ones (BERT: 0.1).", false},
    {"delta", 0, CS_OPT_REAL, "P", "0", 0, 1,
     "mae-lm: share of the [MASK]s that the encoder reads, 0 (MAE-LM) to 1 (masked).", false},
    {"decoder-resets", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "mae-lm: where the encoder read a [MASK] the decoder starts from its own mask vector.", false},
    {"misaligned", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "mae-lm: encoder positions count the tokens that are left.", false},
    {"loss", 0, CS_OPT_CHOICE, "cross-entropy|spectral", NULL, 0, 0,
     "The loss. Default: cross-entropy; --objective linear: spectral.", false},
    {"spectral-factor", 0, CS_OPT_INT, "1|2", "2", 1, 2,
     "Factor of the spectral loss's first term: 1 as printed in LA Eq. 1, 2 as corrected.", false},
    GROUP_END,
};

const cs_opt cs_group_train_model[] = {
    {"arch", 0, CS_OPT_CHOICE, "gpt2|roberta-prelayernorm|roberta|bert|linear", NULL, 0, 0,
     "The architecture. Default: gpt2; roberta-prelayernorm for masked objectives. Any goes with "
     "any objective: a fair comparison fixes it.",
     false},
    {"preset", 0, CS_OPT_CHOICE, "1m|4m|small|base|cramming|large", "1m", 0, 0,
     "Layers, width and heads: 4 x 128, 6 x 192, 6 x 256, 12 x 768, 16 x 768, 24 x 1024. "
     "Of linear: the width alone.",
     false},
    {"layers", 0, CS_OPT_INT, "N", NULL, 1, 1024, "Instead of the preset's.", false},
    {"width", 0, CS_OPT_INT, "N", NULL, 1, 65536, "Instead of the preset's.", false},
    {"heads", 0, CS_OPT_INT, "N", NULL, 1, 64, "Instead of the preset's.", false},
    {"inner", 0, CS_OPT_INT, "N", NULL, 1, 1 << 20, "Inner width. Default: 4 times the width.",
     false},
    {"positions", 0, CS_OPT_INT, "N", NULL, 1, 1 << 24,
     "Rows of the position table. Default: --max-length.", false},
    {"post-norm", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "Norms after each sublayer, as in BERT and RoBERTa.", false},
    {"no-bias", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "No biases: in linear layers, in norms, of the logits.", false},
    {"untied", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "An output matrix of its own instead of the token table.", false},
    {"activation", 0, CS_OPT_CHOICE, "gelu|gelu-tanh|relu", NULL, 0, 0,
     "Between the two matrices of a layer. Default: gelu; gpt2: gelu-tanh.", false},
    {"relative-buckets", 0, CS_OPT_INT, "N", "0", 0, 1 << 16,
     "Relative position buckets, 0: none (MAE-LM: 32).", false},
    {"relative-distance", 0, CS_OPT_INT, "N", "128", 1, 1 << 24,
     "Distance from which on all positions share a bucket.", false},
    {"dropout", 0, CS_OPT_REAL, "P", "0", 0, 0.99, "Of embeddings, attention and sublayers.",
     false},
    {"decoder-layers", 0, CS_OPT_INT, "N", NULL, 1, 64,
     "A decoder of N layers under a masked objective. Default: none; mae-lm: a third of the "
     "encoder's.",
     false},
    {"decoder-width", 0, CS_OPT_INT, "N", NULL, 1, 65536, "Default: the encoder's.", false},
    {"decoder-heads", 0, CS_OPT_INT, "N", NULL, 1, 64, "Default: the encoder's.", false},
    {"decoder-attention", 0, CS_OPT_CHOICE, "self|self-cross|causal-cross|cross", "self", 0, 0,
     "What the decoder's layers attend to (MAE-LM, Table 2).", false},
    {"pooling", 0, CS_OPT_CHOICE, "sum|mean", "mean", 0, 0,
     "linear: whether the sum over pairs of tokens is divided by their number.", false},
    {"init-from", 0, CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "Start from the model in DIR (ours or Hugging Face's) instead of random values; its tokenizer "
     "is used.",
     false},
    {"precision", 0, CS_OPT_CHOICE, "fp32|bf16", "fp32", 0, 0,
     "Activations; bf16 needs a GPU. Parameters and moments are fp32.", false},
    GROUP_END,
};

const cs_opt cs_group_train_recipe[] = {
    {"max-length", 0, CS_OPT_INT, "L", "128", 1, 1 << 20,
     "Documents are cut into pieces of at most L tokens.", false},
    {"pack", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "Join documents, an end token after each, and cut into blocks of L; else one document a "
     "sequence.",
     false},
    {"by-length", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "Micro-batches of sequences of like lengths: less padding, but steps are no longer drawn "
     "independently of length.",
     false},
    {"batch", 0, CS_OPT_INT, "N", "64", 1, 1 << 20, "Sequences a micro-batch.", false},
    {"accumulate", 0, CS_OPT_INT, "N", "1", 1, UINT16_MAX, "Micro-batches a step.", false},
    {"steps", 0, CS_OPT_INT, "N", "1000", 1, UINT32_MAX, "Updates.", false},
    {"epochs", 0, CS_OPT_REAL, "E", NULL, 1e-9, 1e9, "Instead of --steps: passes over the text.",
     false},
    {"lr", 0, CS_OPT_REAL, "RATE", "1e-3", 0, 1e30, "Peak learning rate.", false},
    {"schedule", 0, CS_OPT_CHOICE, "one-cycle|cosine|linear|constant", "one-cycle", 0, 0,
     "The learning rate after the warm-up.", false},
    {"warmup", 0, CS_OPT_INT, "N", NULL, 0, 1e12,
     "Steps of rising rate. Default: half of all; cosine and linear: 8 %; constant: 0.", false},
    {"final-share", 0, CS_OPT_REAL, "P", "0", 0, 1, "The last learning rate over the peak.", false},
    {"beta1", 0, CS_OPT_REAL, "B", "0.9", 0, 0.999999999, "AdamW.", false},
    {"beta2", 0, CS_OPT_REAL, "B", "0.98", 0, 0.999999999, "AdamW.", false},
    {"adam-eps", 0, CS_OPT_REAL, "EPS", "1e-12", 0, 1, "AdamW.", false},
    {"weight-decay", 0, CS_OPT_REAL, "P", "0.01", 0, 1000,
     "Decoupled; on matrices, not on biases and norms.", false},
    {"clip", 0, CS_OPT_REAL, "NORM", "0.5", 0, 1e30, "Largest gradient norm, 0: any.", false},
    {"log-every", 0, CS_OPT_INT, "N", "10", 0, 1e12, "Steps between rows of log.csv.", false},
    {"eval-every", 0, CS_OPT_INT, "N", "100", 0, 1e12,
     "Steps between evaluations on held-out documents.", false},
    {"eval-batches", 0, CS_OPT_INT, "N", "16", 0, 1e6, "Batches of an evaluation.", false},
    {"save-every", 0, CS_OPT_INT, "N", "500", 0, 1e12, "Steps between checkpoints.", false},
    {"bad-limit", 0, CS_OPT_INT, "N", "20", 1, 1e12,
     "Stop after so many steps in a row whose gradient is not finite.", false},
    {"time-limit", 0, CS_OPT_REAL, "SECONDS", "0", 0, 1e9,
     "Stop with a checkpoint after so long; 0: no limit.", false},
    GROUP_END,
};

/* --- task --------------------------------------------------------------------------------------*/

/* An objective as users name it, what it stands for, and what its parameters are where none are
 * given. */
typedef struct {
    const char *name, *objective, *arch;
    const char *const *defaults;
} kind;

static const char *const ratio15[] = {"mask-ratio", "0.15", NULL};
static const char *const ratio1530[] = {"mask-ratio", "0.15:0.3", NULL};
static const char *const ahead2[] = {"t", "2", NULL};
static const char *const uniform2[] = {"offset-weights", "uniform:2", NULL};
static const char *const mixed2[] = {"segmentation", "mixed", "groups", "2", NULL};

static const kind kinds[] = {
    {"ar", "ar", "gpt2", NULL},
    {"masked", "masked", "roberta-prelayernorm", ratio15},
    {"variable-masked", "variable-masked", "roberta-prelayernorm", ratio1530},
    {"bernoulli-masked", "bernoulli-masked", "roberta-prelayernorm", ratio15},
    {"diverse-ar", "diverse-ar", "gpt2", ahead2},
    {"offset-ar", "offset-ar", "gpt2", uniform2},
    {"group-ar", "group-ar", "gpt2", ahead2},
    {"permuted-ar", "permuted-ar", "gpt2", NULL},
    {"gvp", "gvp", "gpt2", mixed2},
    {"file", "file", "gpt2", NULL},
    {"mae-lm", "masked", "roberta-prelayernorm", ratio15},
    {"linear", "masked", "linear", ratio15},
};

static cs_status find_kind(const cs_args *args, const kind **out)
{
    const char *name = cs_args_text(args, "objective");
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i].name, name) == 0) {
            *out = &kinds[i];
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_USAGE, "train needs --objective NAME");
}

static cs_status set_task(const cs_args *args, cs_plan_file *file, cs_task *task)
{
    const kind *k = NULL;
    cs_status status = find_kind(args, &k);
    if (status == CS_OK) {
        /* --unmasked and --mask-ratio say the same thing. */
        bool counted = cs_args_given(args, "unmasked");
        status = cs_args_objective_named(args, k->objective, counted ? NULL : k->defaults, file,
                                         &task->objective);
    }
    task->keep = cs_args_real(args, "keep");
    task->random = cs_args_real(args, "random");
    task->delta = cs_args_real(args, "delta");
    task->decoder_resets = cs_args_flag(args, "decoder-resets");
    task->misaligned = cs_args_flag(args, "misaligned");
    return status;
}

static cs_loss loss_of(const cs_args *args)
{
    const char *loss = cs_args_text(args, "loss");
    bool spectral = loss ? strcmp(loss, "spectral") == 0
                         : strcmp(cs_args_text(args, "objective"), "linear") == 0;
    return spectral ? CS_LOSS_SPECTRAL : CS_LOSS_CROSS_ENTROPY;
}

cs_status cs_args_train(const cs_args *args, cs_plan_file *file, cs_train_options *out)
{
    cs_train_options o = cs_train_defaults();
    cs_status status = set_task(args, file, &o.task);
    if (status == CS_OK) {
        status = cs_schedule_by_name(cs_args_text(args, "schedule"), &o.schedule);
    }
    if (status == CS_OK && cs_args_given(args, "steps") && cs_args_given(args, "epochs")) {
        status = cs_fail(CS_ERR_USAGE, "--steps and --epochs are given together");
    }
    if (status != CS_OK) {
        return status;
    }
    o.loss = loss_of(args);
    if (o.loss != CS_LOSS_SPECTRAL && cs_args_given(args, "spectral-factor")) {
        return cs_fail(CS_ERR_USAGE, "--spectral-factor goes with --loss spectral");
    }
    o.spectral_factor = (double)cs_args_int(args, "spectral-factor");
    o.steps = cs_args_int(args, "steps");
    o.batch = cs_args_int(args, "batch");
    o.accumulate = cs_args_int(args, "accumulate");
    o.length = cs_args_int(args, "max-length");
    o.pack = cs_args_flag(args, "pack");
    o.by_length = cs_args_flag(args, "by-length");
    o.learning_rate = cs_args_real(args, "lr");
    o.final_share = cs_args_real(args, "final-share");
    o.warmup = cs_args_given(args, "warmup") ? cs_args_int(args, "warmup") : -1;
    o.beta1 = cs_args_real(args, "beta1");
    o.beta2 = cs_args_real(args, "beta2");
    o.adam_eps = cs_args_real(args, "adam-eps");
    o.weight_decay = cs_args_real(args, "weight-decay");
    o.clip = cs_args_real(args, "clip");
    o.seed = cs_args_seed(args);
    o.log_every = cs_args_int(args, "log-every");
    o.eval_every = cs_args_int(args, "eval-every");
    o.save_every = cs_args_int(args, "save-every");
    o.eval_batches = cs_args_int(args, "eval-batches");
    o.bad_limit = cs_args_int(args, "bad-limit");
    o.time_limit = cs_args_real(args, "time-limit");
    o.dir = cs_args_text(args, "output");
    o.resume = cs_args_flag(args, "resume") && !cs_args_flag(args, "force");
    o.progress = cs_output_progress(args);
    *out = o;
    return CS_OK;
}

/* --- model -------------------------------------------------------------------------------------*/

static int64_t given_or(const cs_args *args, const char *name, int64_t fallback)
{
    return cs_args_given(args, name) ? cs_args_int(args, name) : fallback;
}

static void set_sizes(const cs_args *args, const cs_train_options *options, bool linear,
                      cs_model_config *c)
{
    c->layers = given_or(args, "layers", linear ? 1 : c->layers);
    c->width = given_or(args, "width", c->width);
    c->heads = given_or(args, "heads", linear ? 1 : c->heads);
    c->inner = given_or(args, "inner", 4 * c->width);
    c->positions = given_or(args, "positions", options->length);
}

static cs_status set_decoder(const cs_args *args, cs_model_config *c)
{
    static const char *const names[] = {"self", "self-cross", "causal-cross", "cross"};
    static const char *const needs[] = {"decoder-width", "decoder-heads", "decoder-attention"};
    bool mae = strcmp(cs_args_text(args, "objective"), "mae-lm") == 0;
    int64_t third = c->layers / 3 > 0 ? c->layers / 3 : 1;
    cs_decoder_config *d = &c->decoder;
    d->layers = given_or(args, "decoder-layers", mae ? third : 0);
    for (size_t i = 0; d->layers == 0 && i < sizeof needs / sizeof *needs; ++i) {
        if (cs_args_given(args, needs[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s goes with --objective mae-lm or --decoder-layers",
                           needs[i]);
        }
    }
    if (d->layers == 0) {
        return CS_OK;
    }
    d->width = given_or(args, "decoder-width", c->width);
    d->heads = given_or(args, "decoder-heads", c->heads);
    d->inner = 4 * d->width;
    for (int i = 0; i < 4; ++i) {
        if (strcmp(cs_args_text(args, "decoder-attention"), names[i]) == 0) {
            d->attention = (cs_decoder_attention)i;
        }
    }
    return CS_OK;
}

/* `linear` has no bias, no tie and no activation to choose. */
static cs_status set_choices(const cs_args *args, cs_model_config *c)
{
    static const char *const names[] = {"no-bias", "untied", "activation"};
    static const struct {
        const char *name;
        cs_activation act;
    } acts[] = {{"gelu", CS_ACT_GELU_ERF}, {"gelu-tanh", CS_ACT_GELU_TANH}, {"relu", CS_ACT_RELU}};
    for (size_t i = 0; c->arch == CS_ARCH_LINEAR && i < sizeof names / sizeof *names; ++i) {
        if (cs_args_given(args, names[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s goes with any --arch but linear", names[i]);
        }
    }
    if (cs_args_flag(args, "no-bias")) {
        c->bias = c->head_bias = false;
    }
    c->tied = c->tied && !cs_args_flag(args, "untied");
    for (size_t i = 0; cs_args_given(args, "activation") && i < sizeof acts / sizeof *acts; ++i) {
        if (strcmp(cs_args_text(args, "activation"), acts[i].name) == 0) {
            c->act = acts[i].act;
        }
    }
    return CS_OK;
}

cs_status cs_args_model(const cs_args *args, const cs_train_options *options, cs_model_config *out)
{
    cs_model_config c = {0};
    cs_arch arch = CS_ARCH_GPT2;
    const kind *k = NULL;
    const char *name = cs_args_text(args, "arch");
    cs_status status = find_kind(args, &k);
    if (status == CS_OK) {
        status = cs_arch_by_name(name ? name : k->arch, &arch);
    }
    if (status == CS_OK) {
        status = cs_model_preset(cs_args_text(args, "preset"), &c);
    }
    if (status != CS_OK) {
        return status;
    }
    set_sizes(args, options, arch == CS_ARCH_LINEAR, &c);
    if ((status = set_decoder(args, &c)) != CS_OK) {
        return status;
    }
    cs_model_config_default(arch, &c);
    if ((status = set_choices(args, &c)) != CS_OK) {
        return status;
    }
    c.post_norm = c.post_norm || cs_args_flag(args, "post-norm");
    c.relative_buckets = cs_args_int(args, "relative-buckets");
    c.relative_distance = c.relative_buckets > 0 ? cs_args_int(args, "relative-distance") : 0;
    c.dropout = c.attention_dropout = c.embed_dropout = cs_args_real(args, "dropout");
    c.pooling = strcmp(cs_args_text(args, "pooling"), "sum") == 0 ? 0 : 2;
    if (arch != CS_ARCH_LINEAR && cs_args_given(args, "pooling")) {
        return cs_fail(CS_ERR_USAGE, "--pooling goes with --arch linear");
    }
    if (arch == CS_ARCH_LINEAR && cs_args_given(args, "inner")) {
        return cs_fail(CS_ERR_USAGE, "--inner: --arch linear has no inner layer");
    }
    if (c.relative_buckets == 0 && cs_args_given(args, "relative-distance")) {
        return cs_fail(CS_ERR_USAGE, "--relative-distance goes with --relative-buckets");
    }
    c.query_vector = cs_form_of(&options->task, &c) == CS_FORM_TWO_STREAM;
    *out = c;
    return CS_OK;
}

cs_status cs_args_check_decoder(const cs_task *task, const cs_model_config *config)
{
    static const char *const option[] = {"keep", "random", "decoder-resets"};
    const double asked[] = {task->keep, task->random, task->decoder_resets ? 1 : 0};
    bool takes_rows = config->decoder.attention == CS_DECODER_SELF ||
                      config->decoder.attention == CS_DECODER_SELF_CROSS;
    if (config->decoder.layers == 0) {
        return CS_OK; /* cs_task_check refuses what needs a decoder */
    }
    for (size_t i = 0; i < sizeof option / sizeof *option; ++i) {
        if (asked[i] > 0 && !(task->delta > 0)) {
            return cs_fail(CS_ERR_USAGE,
                           "--%s needs --delta > 0: the encoder reads none of the masked tokens",
                           option[i]);
        }
    }
    if (task->decoder_resets && !takes_rows) {
        return cs_fail(CS_ERR_USAGE,
                       "--decoder-resets goes with --decoder-attention self or self-cross: no "
                       "other decoder's rows start from the encoder's");
    }
    if (task->misaligned && task->delta >= 1) {
        return cs_fail(CS_ERR_USAGE, "--misaligned needs --delta below 1: the encoder reads every "
                                     "position, so that none moves");
    }
    return CS_OK;
}

cs_status cs_args_refuse_model(const cs_args *args)
{
    for (const cs_opt *o = cs_group_train_model; o->name; ++o) {
        bool own = strcmp(o->name, "init-from") == 0 || strcmp(o->name, "precision") == 0;
        if (!own && cs_args_given(args, o->name)) {
            return cs_fail(CS_ERR_USAGE, "--%s: the model of --init-from %s has its own", o->name,
                           cs_args_text(args, "init-from"));
        }
    }
    return CS_OK;
}
