/* Option groups of cospec train, its corpus and its tokenizer. Defaults and their sources: docs/reference/training-options.md. */
#include "cli/train_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/argument_kind.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"
#include "plan/parameter.h"
#include "train/specials.h"
#include "train/updates.h"

const cs_opt cs_group_train_objective[] = {
    CS_HEADING("Objective"),
    {"objective", 0, CS_OPT_NAME, CS_OBJECTIVE_NAMES_AND("|mae-lm|linear|multi-token"), NULL, 0, 0,
     "Pretraining objective: a name, NAME(PARAMETER=VALUE,...), a mixture mix:..., or a schedule "
     "(see above).",
     false},
    {0},
};

const cs_opt cs_group_train_task[] = {
    CS_HEADING("Masking and loss"),
    CS_REAL("keep", "P", "0", 0, 1, "Share of masked tokens left unchanged (BERT: 0.1)."),
    CS_REAL("random", "P", "0", 0, 1,
            "Share of masked tokens replaced by random ones (BERT: 0.1)."),
    CS_REAL("replaced-token", "WEIGHT", "0", 0, 1e6,
            "Replaced token detection (ELECTRA: 50): the model's own samples replace masked "
            "tokens, and a second head with this loss weight detects them."),
    CS_REAL("delta", "P", "0", 0, 1,
            "mae-lm: share of the [MASK]s that the encoder reads, 0 (MAE-LM) to 1 (masked)."),
    CS_FLAG("decoder-resets",
            "mae-lm: the decoder starts from its own mask vector where the encoder read a [MASK]."),
    CS_FLAG("misaligned", "mae-lm: encoder positions count only the tokens that are left."),
    CS_CHOICE("query-position", "on|off", NULL,
              "Train two streams whose queries know the position they fill (on) or do not (off). "
              "Default: on for objectives with queries; others have none."),
    CS_CHOICE("loss", "cross-entropy|spectral", NULL,
              "Loss. Default: cross-entropy; --objective linear: spectral."),
    CS_INT("spectral-factor", "1|2", "2", 1, 2,
           "Factor of the first term of the spectral loss: 1 as printed in LA Eq. 1, 2 as "
           "corrected."),
    {0},
};

const cs_opt cs_group_train_model[] = {
    CS_HEADING("Model"),
    CS_CHOICE("arch",
              "gpt2|roberta-prelayernorm|roberta|bert|llama|eurobert|modernbert|modernbert-decoder|"
              "linear|vit",
              NULL,
              "Architecture; any works with any objective. Default: gpt2, for masked objectives "
              "roberta-prelayernorm."),
    CS_CHOICE("preset", "1m|4m|small|base|cramming|large", "1m",
              "Layers x width: 4 x 128, 6 x 192, 6 x 256, 12 x 768, 16 x 768, 24 x 1024. vit "
              "without preset: 4 x 64. linear: the width only."),
    CS_INT("layers", "N", NULL, 1, 1024, "Number of layers, instead of the preset's."),
    CS_INT("width", "N", NULL, 1, 65536, "Width, instead of the preset's."),
    CS_INT("heads", "N", NULL, 1, 64, "Number of attention heads, instead of the preset's."),
    CS_INT("inner", "N", NULL, 1, 1 << 20,
           "Inner width. Default: 4 times the width; for gated layers (llama, eurobert, "
           "modernbert) 8/3 of it, with the same number of parameters."),
    CS_INT("positions", "N", NULL, 1, 1 << 24,
           "Rows of the position table, or for rotary positions the longest text in config.json. "
           "Default: --max-length."),
    CS_INT("kv-heads", "N", NULL, 1, 64,
           "llama, eurobert: number of heads of keys and values (grouped-query attention). "
           "Default: --heads."),
    CS_REAL("rope-theta", "X", NULL, 1.0001, 1e12,
            "Base of rotary positions. Default: 10000; modernbert: 160000, in local layers 10000."),
    CS_INT("local-attention", "N", "128", 2, 1 << 24,
           "modernbert: attention window of a local layer in tokens, half on each side."),
    CS_INT("global-every", "N", "3", 1, 1024,
           "modernbert: the first layer and every N-th after it see all tokens; the others are "
           "local."),
    CS_FLAG("post-norm", "Normalise after each sublayer, as BERT and RoBERTa do."),
    CS_FLAG("no-bias", "No biases in linear layers, norms and logits."),
    CS_FLAG("untied", "Use a separate output matrix instead of the token table."),
    CS_CHOICE("activation", "gelu|gelu-tanh|relu|silu", NULL,
              "Activation of the inner layers. Default: gelu; gpt2: gelu-tanh; llama, eurobert: "
              "silu."),
    CS_INT("relative-buckets", "N", "0", 0, 1 << 16,
           "Number of relative position buckets. 0: none (MAE-LM: 32)."),
    CS_INT("relative-distance", "N", "128", 1, 1 << 24,
           "Distance from which all positions share a bucket."),
    CS_REAL("dropout", "P", "0", 0, 0.99, "Dropout of embeddings, attention and sublayers."),
    CS_CHOICE("pooling", "sum|mean", "mean",
              "linear: whether the sum over pairs of tokens is divided by their number."),
    CS_TEXT("init-from", "DIR", NULL,
            "Start from the model in DIR (of cospec or Hugging Face) and use its tokenizer."),
    CS_HEADING("Decoder"),
    CS_INT("decoder-layers", "N", NULL, 1, 64,
           "Layers of a decoder for a masked objective. Default: none; mae-lm: a third of the "
           "encoder's."),
    CS_INT("decoder-width", "N", NULL, 1, 65536, "Width. Default: the encoder's."),
    CS_INT("decoder-heads", "N", NULL, 1, 64, "Attention heads. Default: the encoder's."),
    CS_CHOICE("decoder-attention", "self|self-cross|causal-cross|cross", "self",
              "What the decoder's layers attend to (MAE-LM, Table 2)."),
    CS_HEADING("Precision"),
    CS_CHOICE("precision", "auto|fp32|bf16", "auto",
              "Type of activations. auto: bf16 on a GPU, fp32 on the CPU. Parameters and moments "
              "are fp32."),
    CS_FLAG("search-products",
            "GPU, bf16: time cuBLASLt's algorithms and use the fastest. The result then varies in "
            "the last bits from run to run."),
    {0},
};

const cs_opt cs_group_train_pictures[] = {
    CS_HEADING("Images (vit)"),
    CS_CHOICE("target", "pixels|normalised|codes", "pixels",
              "What is predicted of a patch: its values, its normalised values (MAE) or its code "
              "(BEiT)."),
    CS_CHOICE("input", "pixels|codes", "pixels",
              "With --target codes: whether the model reads values or codes (iGPT, MAGE)."),
    CS_TEXT("order", "raster|random|hilbert|squares:S|FILE", "raster",
            "Order of the patches: row by row, one random order for all images, Hilbert curve, "
            "squares of S x S patches (RandSAC), or patch numbers in a text file."),
    CS_CHOICE("position-table", "sines|learned", "sines",
              "Positions in the plane: fixed sines and cosines (MAE), or learned (ViT). Default "
              "without a decoder: learned."),
    CS_REAL("least-area", "P", "1", 0.001, 1,
            "Random crops of at least this share of an image's area, with aspect ratios up to 4/3. "
            "1: no crops (MAE: 0.2)."),
    CS_SIZE("image-memory", "BYTES", "1G",
            "Hold the images of a directory in memory if they and their patches take at most this. "
            "Else threads decode them while the model trains, with the same result."),
    CS_EXTRA,
    CS_FLAG("flip", "Mirror images at random, if the mirror image has the same class."),
    {0},
};

const cs_opt cs_group_train_recipe[] = {
    CS_HEADING("Data and batches"),
    CS_INT("max-length", "L", "128", 1, 1 << 20, "Cut documents into pieces of at most L tokens."),
    CS_FLAG("pack",
            "Join documents, each with an end token, and cut blocks of L tokens. Default: one "
            "document per sequence."),
    CS_FLAG("by-length",
            "Batch sequences of similar length: less padding, but steps are no longer independent "
            "of length."),
    CS_INT("train-documents", "N", NULL, 1, INT32_MAX,
           "Text: train on only N documents, the same for every --seed and nested in N. The "
           "vocabulary comes from all documents."),
    CS_INT("batch", "N", "64", 1, 1 << 20, "Sequences per micro-batch (vit: 16)."),
    CS_INT("accumulate", "N", "1", 1, UINT16_MAX, "Micro-batches per step."),
    CS_INT("steps", "N", "1000", 0, UINT32_MAX,
           "Number of updates (vit: 7000). 0: the untrained network."),
    CS_REAL("epochs", "E", NULL, 1e-9, 1e9, "Passes over the text, instead of --steps."),
    CS_HEADING("Learning rate and optimiser"),
    CS_REAL("lr", "RATE", "1e-3", 0, 1e30, "Peak learning rate (vit: 2e-3)."),
    CS_CHOICE("schedule", "one-cycle|cosine|linear|constant", "one-cycle",
              "Learning rate schedule after the warm-up (vit: cosine)."),
    CS_INT("warmup", "N", NULL, 0, 1e12,
           "Warm-up steps. Default: half of all; cosine and linear: 8%; constant: 0."),
    CS_REAL("final-share", "P", "0", 0, 1, "Last learning rate divided by the peak."),
    CS_REAL("cool-down", "P", "0", 0, 1,
            "--schedule constant: share of the steps at the end in which the rate falls."),
    CS_TEXT("budgets", "N,N,...", NULL,
            "With --cool-down: also the models of runs of these numbers of steps, in DIR/budget-N. "
            "Each costs only its cool-down."),
    CS_REAL("beta1", "B", "0.9", 0, 0.999999999, "AdamW: beta_1."),
    CS_REAL("beta2", "B", "0.98", 0, 0.999999999, "AdamW: beta_2."),
    CS_REAL("adam-eps", "EPS", "1e-12", 0, 1, "AdamW: epsilon."),
    CS_REAL("weight-decay", "P", "0.01", 0, 1000,
            "Decoupled weight decay of matrices; biases and norms have none."),
    CS_REAL("clip", "NORM", "0.5", 0, 1e30, "Gradient clipping: largest norm. 0: none."),
    CS_HEADING("Logs and checkpoints"),
    CS_INT("log-every", "N", "10", 0, 1e12, "Steps between rows of log.csv."),
    CS_INT("eval-every", "N", "100", 0, 1e12,
           "Steps between evaluations on held-out documents (vit: 500)."),
    CS_INT("eval-batches", "N", "16", 0, 1e6, "Batches per evaluation."),
    CS_INT("save-every", "N", "500", 0, 1e12, "Steps between checkpoints."),
    CS_TEXT("keep-at", "N,N,...", NULL,
            "Steps whose checkpoints are kept as DIR/checkpoint-N. Of the others only the last two "
            "are kept."),
    CS_INT("bad-limit", "N", "20", 1, 1e12,
           "Stop after N consecutive steps with a gradient that is not finite."),
    CS_REAL("time-limit", "SECONDS", "0", 0, 1e9,
            "Stop with a checkpoint after this time. 0: no limit."),
    {0},
};

/* The recipe of pictures: small steps, many of them, of a network that takes the fewest processor
 * seconds to a given error of hidden patches (docs/results/training-runs.md). */
cs_status cs_args_picture_recipe(cs_args *args)
{
    static const struct {
        const char *name, *value;
    } usual[] = {{"layers", "4"},   {"width", "64"}, {"heads", "4"},         {"batch", "16"},
                 {"steps", "7000"}, {"lr", "2e-3"},  {"schedule", "cosine"}, {"eval-every", "500"}};
    const int first = cs_args_given(args, "preset") ? 3 : 0; /* which says the sizes */
    cs_status status = CS_OK;
    for (int i = first; i < (int)(sizeof usual / sizeof *usual) && status == CS_OK; ++i) {
        status = cs_args_suppose(args, usual[i].name, usual[i].value);
    }
    if (status == CS_OK && !cs_args_given(args, "decoder-layers"))
        status = cs_args_suppose(args, "position-table", "learned");
    return status;
}

/* --- task --------------------------------------------------------------------------------------*/

/* mae-lm, linear and multi-token name a model too: the first two are trained as masked, the last as
 * diverse-ar. */
static bool is_objective(const cs_args *args, const char *name)
{
    const char *given = cs_args_text(args, "objective");
    return given && strcmp(given, name) == 0;
}

int64_t cs_args_ahead(const cs_args *args, const cs_train_options *o)
{
    const int64_t phases = o->phases ? o->phases->ahead : 0;
    return is_objective(args, "multi-token") ? o->task.objective.t : phases;
}

/* The last phase stands for all where a model is made. */
static cs_status set_phases(const cs_args *args, cs_phases *phases, cs_train_options *o)
{
    cs_status status = CS_OK;
    for (int i = 0; i < CS_PARAMETERS_ALL && status == CS_OK; ++i) {
        status = cs_args_refuse(
            args, cs_parameter_table(i)->name,
            "belongs to its phase, as NAME(PARAMETER=VALUE), if --objective is a schedule");
    }
    if (status == CS_OK) status = cs_phases_read(cs_args_text(args, "objective"), phases);
    if (status != CS_OK) return status;
    o->phases = phases;
    o->task.objective = phases->objective[phases->count - 1];
    return CS_OK;
}

static cs_status set_task(const cs_args *args, cs_plan_file *file, cs_phases *phases,
                          cs_train_options *o)
{
    cs_task *task = &o->task;
    const char *spec = cs_args_text(args, "objective");
    if (!spec) {
        return cs_fail(CS_ERR_USAGE, "train needs --objective NAME");
    }
    const char *name = is_objective(args, "multi-token")                              ? "diverse-ar"
                       : is_objective(args, "mae-lm") || is_objective(args, "linear") ? "masked"
                                                                                      : spec;
    cs_status status = cs_phases_are(spec)
                           ? set_phases(args, phases, o)
                           : cs_args_trained_objective(args, name, file, &task->objective);
    if (status == CS_OK && cs_args_ahead(args, o) > 0)
        status = cs_args_refuse(args, "query-position",
                                "does not apply to multi-token, whose heads use one stream");
    task->two_stream = cs_args_given(args, "query-position");
    CS_ARGS_FIELDS(args, task, CS_TASK_SETTINGS);
    return status;
}

static cs_loss loss_of(const cs_args *args)
{
    const char *loss = cs_args_text(args, "loss");
    bool spectral = loss ? strcmp(loss, "spectral") == 0 : is_objective(args, "linear");
    const bool values = cs_args_is(args, "arch", "vit") && !cs_args_is(args, "target", "codes");
    return spectral          ? CS_LOSS_SPECTRAL
           : !loss && values ? CS_LOSS_SQUARED_ERROR
                             : CS_LOSS_CROSS_ENTROPY;
}

cs_status cs_args_train(const cs_args *args, cs_plan_file *file, cs_phases *phases,
                        cs_train_options *out)
{
    cs_train_options o = cs_train_defaults();
    cs_status status = set_task(args, file, phases, &o);
    if (status == CS_OK)
        status = cs_schedule_by_name(cs_args_text(args, "schedule"), &o.rate.schedule);
    if (status == CS_OK && cs_args_given(args, "steps") && cs_args_given(args, "epochs"))
        status = cs_fail(CS_ERR_USAGE, "--steps and --epochs exclude each other");
    if (status != CS_OK) return status;
    o.loss = loss_of(args);
    if (o.loss != CS_LOSS_SPECTRAL && cs_args_given(args, "spectral-factor")) {
        return cs_fail(CS_ERR_USAGE, "--spectral-factor needs --loss spectral");
    }
    o.spectral_factor = (double)cs_args_int(args, "spectral-factor");
    o.data.length = cs_args_int(args, "max-length");
    o.rate.learning_rate = cs_args_real(args, "lr");
    o.rate.warmup = cs_args_int_or(args, "warmup", -1);
    CS_TRAIN_SETTINGS(CS_ARGS_FIELDS, args, &o);
    CS_ARGS_FIELDS(args, &o, seed, bad_limit, time_limit);
    CS_ARGS_FIELDS(args, &o.intervals, log_every, eval_every, save_every, eval_batches);
    o.dir = cs_args_text(args, "output");
    o.start.resume = cs_args_flag(args, "resume") && !cs_args_flag(args, "force");
    o.progress = cs_output_progress(args);
    *out = o;
    return CS_OK;
}

/* --- model -------------------------------------------------------------------------------------*/

static void set_sizes(const cs_args *args, const cs_train_options *options, bool linear,
                      cs_model_config *c)
{
    if (linear) {
        c->shape.layers = c->shape.heads = 1;
    }
    c->shape.positions = options->data.length;
    CS_ARGS_FIELDS(args, &c->shape, layers, width, heads, positions);
}

static cs_status set_decoder(const cs_args *args, cs_model_config *c)
{
    bool mae = is_objective(args, "mae-lm");
    int64_t third = c->shape.layers / 3 > 0 ? c->shape.layers / 3 : 1;
    cs_decoder_config *d = &c->decoder;
    d->layers = cs_args_int_or(args, "decoder-layers", mae ? third : 0);
    if (d->layers == 0) {
        return cs_args_refuse(args, "decoder-width decoder-heads decoder-attention",
                              "needs --objective mae-lm or --decoder-layers");
    }
    d->width = cs_args_int_or(args, "decoder-width", c->shape.width);
    d->heads = cs_args_int_or(args, "decoder-heads", c->shape.heads);
    d->inner = 4 * d->width;
    d->attention = (cs_decoder_attention)cs_args_choice(args, "decoder-attention");
    return CS_OK;
}

/* `linear` has no bias, no tie and no activation to choose. */
static cs_status set_choices(const cs_args *args, cs_model_config *c)
{
    static const cs_activation act[] = {CS_ACT_GELU_ERF, CS_ACT_GELU_TANH, CS_ACT_RELU,
                                        CS_ACT_SILU};
    if (c->arch == CS_ARCH_LINEAR) {
        cs_status status =
            cs_args_refuse(args, "no-bias untied activation", "needs an --arch other than linear");
        if (status != CS_OK) return status;
    }
    if (cs_args_flag(args, "no-bias")) {
        c->layer.bias = c->layer.bias && c->position.rotary.theta > 0; /* whose layers have none */
        c->head.bias = false;
    }
    c->head.tied = (c->head.tied || c->position.rotary.theta > 0) && !cs_args_flag(args, "untied");
    if (cs_args_given(args, "activation")) {
        c->layer.activation = act[cs_args_choice(args, "activation")];
    }
    return CS_OK;
}

/* Sets rotary positions, grouped queries and local attention. */
static cs_status set_rotary(const cs_args *args, cs_model_config *c)
{
    const bool rotary = c->position.rotary.theta > 0, local = c->attention.window > 0;
    c->shape.inner = cs_args_int_or(
        args, "inner", c->layer.gated ? (c->shape.width + 2) / 3 * 8 : 4 * c->shape.width);
    cs_status status = rotary ? CS_OK
                              : cs_args_refuse(args, "rope-theta",
                                               "needs --arch llama, eurobert, modernbert or "
                                               "modernbert-decoder");
    if (status == CS_OK && !(rotary && !local))
        status = cs_args_refuse(args, "kv-heads", "needs --arch llama or eurobert");
    if (status == CS_OK && !local)
        status = cs_args_refuse(args, "local-attention global-every",
                                "needs --arch modernbert or modernbert-decoder");
    CS_ARGS_FIELDS(args, &c->shape, kv_heads);
    c->position.rotary.theta = cs_args_real_or(args, "rope-theta", c->position.rotary.theta);
    if (local)
        cs_model_config_local(c, cs_args_int(args, "local-attention"),
                              cs_args_int(args, "global-every"));
    return status;
}

cs_status cs_args_model(const cs_args *args, const cs_train_options *options, cs_model_config *out)
{
    cs_model_config c = {0};
    cs_arch arch = CS_ARCH_GPT2;
    const char *name = cs_args_text(args, "arch");
    cs_objective_reading reads = cs_objective_reads(&options->task.objective);
    const char *usual = is_objective(args, "linear") ? "linear"
                        : reads == CS_ROWS_MASKED    ? "roberta-prelayernorm"
                                                     : "gpt2";
    cs_status status = cs_arch_by_name(name ? name : usual, &arch);
    if (status == CS_OK) status = cs_model_preset(cs_args_text(args, "preset"), &c);
    if (status != CS_OK) return status;
    set_sizes(args, options, arch == CS_ARCH_LINEAR, &c);
    if ((status = set_decoder(args, &c)) != CS_OK) return status;
    arch = arch == CS_ARCH_VIT && c.decoder.layers > 0 ? CS_ARCH_VIT_MAE : arch;
    cs_model_config_default(arch, &c);
    if ((status = set_rotary(args, &c)) != CS_OK || (status = set_choices(args, &c)) != CS_OK) {
        return status;
    }
    c.layer.post_norm = c.layer.post_norm || cs_args_flag(args, "post-norm");
    CS_ARGS_FIELDS(args, &c.position, relative_buckets);
    c.position.relative_distance =
        c.position.relative_buckets > 0 ? cs_args_int(args, "relative-distance") : 0;
    c.training.dropout = c.training.attention_dropout = c.training.embed_dropout =
        cs_args_real(args, "dropout");
    c.head.pooling = cs_args_is(args, "pooling", "sum") ? 0 : 2;
    if (arch != CS_ARCH_LINEAR && cs_args_given(args, "pooling")) {
        return cs_fail(CS_ERR_USAGE, "--pooling needs --arch linear");
    }
    if (arch == CS_ARCH_LINEAR && cs_args_given(args, "inner")) {
        return cs_fail(CS_ERR_USAGE, "--inner: --arch linear has no inner layer");
    }
    if (c.position.relative_buckets == 0 && cs_args_given(args, "relative-distance")) {
        return cs_fail(CS_ERR_USAGE, "--relative-distance needs --relative-buckets");
    }
    c.head.offsets = cs_args_ahead(args, options);
    c.attention.query_vector = cs_form_of(&options->task, &c) == CS_FORM_TWO_STREAM;
    const int64_t begins =
        cs_args_given(args, "positions") ? 0 : cs_task_begins(&options->task, &c);
    *(c.position.rotary.theta > 0 ? &c.position.longest : &c.shape.positions) += begins;
    c.attention.blind_queries =
        c.attention.query_vector && cs_args_is(args, "query-position", "off");
    c.head.detector = options->replaced_token > 0;
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
            return cs_fail(
                CS_ERR_USAGE,
                "--%s needs --delta > 0, because otherwise the encoder reads no masked tokens",
                option[i]);
        }
    }
    if (task->decoder_resets && !takes_rows) {
        return cs_fail(CS_ERR_USAGE,
                       "--decoder-resets needs --decoder-attention self or self-cross: no "
                       "other decoder's rows start from the encoder's");
    }
    if (task->misaligned && task->delta >= 1) {
        return cs_fail(CS_ERR_USAGE, "--misaligned needs --delta below 1, because otherwise the "
                                     "encoder reads every position");
    }
    return CS_OK;
}

cs_status cs_args_refuse_model(const cs_args *args)
{
    for (const cs_opt *o = cs_group_train_model; o->name; ++o) {
        bool own = o->kind == CS_OPT_HEADING || strcmp(o->name, "init-from") == 0 ||
                   strcmp(o->name, "precision") == 0 || strcmp(o->name, "search-products") == 0;
        if (!own && cs_args_given(args, o->name)) {
            return cs_fail(CS_ERR_USAGE,
                           "--%s cannot be changed: the model of --init-from %s defines it",
                           o->name, cs_args_text(args, "init-from"));
        }
    }
    return CS_OK;
}

void cs_args_note_divergence(const cs_args *args, const cs_train_options *options, int64_t vocab,
                             const cs_train_result *trained)
{
    static const double OVER_FIRST = 0.1, OVER_UNIFORM = 0.05; /* beyond the noise of a batch */
    const double uniform =
                     options->loss == CS_LOSS_CROSS_ENTROPY && vocab > 0 ? log((double)vocab) : NAN,
                 loss = trained->loss, first = trained->first_loss,
                 least = isnan(trained->eval_loss) ? loss : fmin(loss, trained->eval_loss);
    char above[96];
    if (least > first + OVER_FIRST * fabs(first)) {
        (void)snprintf(above, sizeof above, "%.4g at the first step", first);
    } else if (least > (1 + OVER_UNIFORM) * uniform) {
        (void)snprintf(above, sizeof above, "the %.4g of a uniform guess", uniform);
    } else {
        if (trained->finished && trained->skipped > 0)
            cs_output_note(args,
                           "%lld of %lld steps were skipped, because their gradient was not "
                           "finite" CS_TRY_RATE,
                           (long long)trained->skipped, (long long)trained->step);
        return;
    }
    cs_output_note(args,
                   "training diverged: the loss ended at %.4g, above %s" CS_TRY_RATE
                   " (it was %g) or a longer --warmup",
                   loss, above, options->rate.learning_rate);
}

/* --- corpus ------------------------------------------------------------------------------------*/

/* Words for the ids of an .npy file. */
static cs_status name_numbers(const cs_args *args, cs_corpus *corpus)
{
    int64_t vocab = corpus->vocab;
    const char *text = cs_args_text(args, "vocab");
    cs_status status = CS_OK;
    if (cs_args_given(args, "vocab") && strcmp(text, "all") != 0) {
        status = cs_parse_int(text, "--vocab N|all", 1, INT32_MAX - 1, &vocab);
    }
    return status == CS_OK ? cs_corpus_name_numbers(corpus, vocab) : status;
}

/* The words of the corpus itself, or the tokenizer of --tokenizer FILE.json; nothing goes around a
 * text, for training shows documents bare. */
static cs_status load_own(cs_args *args, cs_corpus *corpus, cs_tokenizer **tokenizer)
{
    cs_status status = cs_args_load_corpus(args, cs_args_text(args, "corpus"), corpus);
    bool file = cs_args_tokenizer_file(args), numbers = false;
    if (status == CS_OK && !file && !corpus->word) {
        numbers = true;
        status = name_numbers(args, corpus);
    }
    if (status == CS_OK && !file) status = cs_corpus_specials_first(corpus);
    if (status == CS_OK)
        status = numbers ? cs_tokenizer_of_corpus(corpus, CS_SPLITTER_WHITESPACE, tokenizer)
                         : cs_args_tokenizer(args, corpus, tokenizer);
    if (status == CS_OK) cs_tokenizer_drop_post(*tokenizer);
    return status;
}

/* Encoded by the tokenizer in the folder of a model. */
static cs_status load_by(cs_args *args, const char *from, cs_corpus *corpus,
                         cs_tokenizer **tokenizer)
{
    cs_corpus_options options = {0};
    cs_status status = cs_args_tokenizer_input(args, from);
    if (status == CS_OK) status = cs_args_read_tokenizer(args, from, true, tokenizer);
    if (status == CS_OK) status = cs_args_open_corpus(args, cs_args_text(args, "corpus"), &options);
    if (status == CS_OK) {
        options.encoder = *tokenizer;
        CS_ARGS_FIELDS(args, &options, min_tokens);
        status = cs_args_read_corpus(args, cs_args_text(args, "corpus"), &options, corpus);
    }
    return status;
}

/* The model's own tokenizer in place of one with the same tokens: what it puts around a text is the
 * model's. */
static cs_status take_same(const cs_args *args, const char *from, cs_tokenizer **tokenizer)
{
    cs_tokenizer *there = NULL;
    cs_status status = cs_args_read_tokenizer(args, from, true, &there);
    if (status == CS_OK) status = cs_tokenizer_match(from, there, *tokenizer);
    if (status == CS_OK) cs_tokenizer_free(tokenizer);
    return CS_DELIVER(status, tokenizer, there, cs_tokenizer_free);
}

void cs_args_keep_some(const cs_args *args, cs_corpus *corpus)
{
    enum { FEW = 8 };
    int64_t held = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        held += corpus->held_out[d] != 0;
    }
    if (held == 0 || held < corpus->documents || held > FEW || cs_args_given(args, "test-share")) {
        return;
    }
    memset(corpus->held_out, 0, (size_t)corpus->documents);
    cs_output_note(args, "no document would be left for training, so nothing is held out and there "
                         "is no evaluation");
}

cs_status cs_args_train_corpus(cs_args *args, cs_corpus *corpus, cs_tokenizer **tokenizer)
{
    const char *from = cs_args_text(args, "init-from");
    if (!cs_args_text(args, "corpus")) {
        return cs_fail(CS_ERR_USAGE, "train needs --corpus NAME|FILE|DIR");
    }
    const char *path = from ? cs_args_join(args, from, "tokenizer.json") : NULL;
    cs_status status = path || !from ? CS_OK : CS_ERR_MEMORY;
    if (path) status = cs_require_kind(args, CS_ERR_INPUT, from, CS_IS_MODEL);
    if (status == CS_OK && !from) {
        status = load_own(args, corpus, tokenizer);
    } else if (status == CS_OK && !cs_args_given(args, "tokenizer") &&
               !cs_args_given(args, "vocab")) {
        status = load_by(args, from, corpus, tokenizer);
    } else if (status == CS_OK) {
        status = load_own(args, corpus, tokenizer);
        if (status == CS_OK && cs_path_exists(path)) status = take_same(args, from, tokenizer);
    }
    if (status == CS_OK && cs_args_given(args, "train-documents")) {
        cs_corpus few = {0};
        status = cs_corpus_select_train(corpus, cs_args_int(args, "train-documents"), &few);
        cs_corpus_free(corpus);
        *corpus = few;
    }
    if (status == CS_OK) cs_args_keep_some(args, corpus);
    return status;
}
