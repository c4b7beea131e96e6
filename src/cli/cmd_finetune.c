/* cospec finetune: a pretrained model taught a task of labelled texts, by the recipe of GLUE. */
#include <string.h>

#include "analysis/model_kind.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/finetune_report.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"

typedef struct {
    cs_finetune_task task;
    cs_metric_list metrics;
    double *rate;
    int64_t rates, seeds;
    uint64_t seed;
    cs_finetune_trial *trial; /* rates, where there are several */
    cs_finetune_run *run;     /* seeds */
    double chosen;
    cs_rival rival;
} session;

/* --- options -----------------------------------------------------------------------------------*/

static bool chosen(const cs_args *args, const char *option, const char *value)
{
    return strcmp(cs_args_text(args, option), value) == 0;
}

static cs_status take_rates(const cs_args *args, session *s)
{
    const char *at = cs_args_text(args, "lr");
    cs_status status = CS_OK;
    for (bool more = true; more && status == CS_OK;) {
        size_t length = strcspn(at, ",");
        char *text = cs_format("%.*s", (int)length, at);
        double *grown = cs_realloc(s->rate, s->rates + 1, sizeof *grown);
        if (!text || !grown) {
            status = CS_ERR_MEMORY;
        }
        s->rate = grown ? grown : s->rate;
        if (status == CS_OK) {
            status = cs_parse_real(text, "lr", 1e-30, 1e30, &s->rate[s->rates]);
        }
        for (int64_t i = 0; i < s->rates && status == CS_OK; ++i) {
            if (!(s->rate[i] < s->rate[s->rates] || s->rate[i] > s->rate[s->rates])) {
                status = cs_fail(CS_ERR_USAGE, "--lr names %g twice", s->rate[i]);
            }
        }
        ++s->rates;
        cs_free(text);
        more = at[length] == ',';
        at += length + more;
    }
    return status;
}

static cs_status take_options(cs_args *args, session *s)
{
    cs_finetune_options *o = &s->task.options;
    *o = cs_finetune_defaults();
    o->epochs = cs_args_int(args, "epochs");
    o->batch = cs_args_int(args, "batch");
    o->warmup = cs_args_real(args, "warmup");
    o->adamw.weight_decay = cs_args_real(args, "weight-decay");
    o->adamw.clip = cs_args_real(args, "clip");
    o->log_every = cs_args_int(args, "log-every");
    o->progress = cs_output_progress(args);
    s->seeds = cs_args_int(args, "seeds");
    s->seed = cs_args_seed(args);
    s->task.few = cs_args_text(args, "few");
    s->task.fresh = chosen(args, "init", "random");
    s->task.dir = cs_args_text(args, "output");
    s->task.resume = cs_args_flag(args, "resume");
    s->task.save_model = cs_args_flag(args, "save-model");
    if (s->task.save_model && !s->task.dir) {
        return cs_fail(CS_ERR_USAGE, "--save-model needs -o DIR");
    }
    if (s->seed > UINT64_MAX - (uint64_t)s->seeds) {
        return cs_fail(CS_ERR_USAGE, "--seed is too large for %lld seeds", (long long)s->seeds);
    }
    cs_status status = cs_schedule_by_name(cs_args_text(args, "schedule"), &o->schedule);
    return status == CS_OK ? take_rates(args, s) : status;
}

/* --- the task ----------------------------------------------------------------------------------*/

static cs_status read_side(cs_args *args, const char *source, int64_t limit,
                           const cs_labelled_text *classes_of, cs_finetune_side *side)
{
    const cs_labelled_options options = {
        .label_column = cs_args_given(args, "label-column") ? cs_args_int(args, "label-column") : 0,
        .text_column = cs_args_given(args, "text-column") ? cs_args_int(args, "text-column") : 0,
        .pair_column = cs_args_given(args, "pair-column") ? cs_args_int(args, "pair-column") : 0,
        .regression = cs_args_flag(args, "regression"),
        .limit = limit};
    side->source = source;
    cs_status status = cs_labelled_text_read(source, &options, classes_of, &side->text);
    return status == CS_OK ? cs_output_input(args, side->text.path) : status;
}

static cs_status read_texts(cs_args *args, session *s)
{
    const char *train = cs_args_positional(args, 1), *test = cs_args_positional(args, 2);
    int64_t limit = cs_args_given(args, "limit") ? cs_args_int(args, "limit") : 0;
    int64_t test_limit = cs_args_given(args, "test-limit") ? cs_args_int(args, "test-limit") : 0;
    cs_status status = read_side(args, train, limit, NULL, &s->task.train);
    if (status == CS_OK && s->task.train.text.classes == 1) {
        status = cs_fail(CS_ERR_INPUT, "%s: one class alone, '%s': nothing to learn",
                         s->task.train.text.path, s->task.train.text.class_name[0]);
    }
    if (status == CS_OK) {
        status = read_side(args, test, test_limit, &s->task.train.text, &s->task.test);
    }
    if (status == CS_OK) {
        status = cs_metric_list_parse(cs_args_text(args, "metric"), s->task.train.text.classes,
                                      &s->metrics);
    }
    if (status == CS_OK && (status = cs_rival_open(args, &s->rival)) == CS_OK) {
        const cs_judge judge = cs_finetune_judge(&s->task, &s->metrics, s->seeds, s->seed);
        status = cs_rival_check(&s->rival, &judge,
                                CS_FINETUNE_LAYER); /* before the work, not after it */
    }
    return status;
}

static cs_status open_model(cs_args *args, session *s)
{
    cs_model_text *from = &s->task.from;
    const char *dir = cs_args_positional(args, 0);
    cs_status status = cs_args_model_open(args, dir, from);
    if (status == CS_OK && from->model.config.arch == CS_ARCH_LINEAR) {
        status = cs_fail(CS_ERR_USAGE, "%s: architecture linear has no encoder to fine-tune", dir);
    }
    if (status == CS_OK && !from->tokenizer) {
        status = cs_fail(CS_ERR_INPUT, "%s/tokenizer.json: not there, and texts need it", dir);
    }
    if (status == CS_OK && cs_tokenizer_vocab(from->tokenizer) > from->model.config.vocab) {
        status = cs_fail(CS_ERR_INPUT, "%s: the tokenizer has %lld tokens, the model %lld", dir,
                         (long long)cs_tokenizer_vocab(from->tokenizer),
                         (long long)from->model.config.vocab);
    }
    return status;
}

static cs_status take_readout(const cs_args *args, session *s, cs_readout *out)
{
    const char *pooling = cs_args_text(args, "pooling");
    s->task.options.causal = chosen(args, "attention", "auto")
                                 ? cs_kind_is_causal(s->task.from.kind.kind)
                                 : chosen(args, "attention", "causal");
    *out = s->task.options.causal ? CS_READ_LAST : CS_READ_FIRST;
    for (int r = CS_READ_FIRST; r <= CS_READ_MEAN; ++r) {
        if (strcmp(pooling, cs_readout_name((cs_readout)r)) == 0) {
            *out = (cs_readout)r;
        }
    }
    return s->task.options.causal && *out == CS_READ_FIRST
               ? cs_fail(CS_ERR_USAGE, "--pooling first: the first token of a causal model sees "
                                       "nothing of the text behind it")
               : CS_OK;
}

static cs_status encode_side(const session *s, const cs_texts_options *o, cs_finetune_side *side)
{
    return cs_texts_encode(&side->text, s->task.from.tokenizer, o, &side->ids);
}

static void note_truncated(const cs_args *args, const cs_finetune_side *side, int64_t length)
{
    if (side->ids.truncated > 0) {
        cs_output_note(args, "%s: %lld of %lld texts are cut to %lld tokens", side->source,
                       (long long)side->ids.truncated, (long long)side->ids.count,
                       (long long)length);
    }
}

/* Texts as the model reads them, and the model's configuration with its head. */
static cs_status encode(cs_args *args, session *s)
{
    enum { USUAL_LENGTH = 128 };
    cs_finetune_task *t = &s->task;
    int64_t positions = t->from.model.config.positions;
    cs_around around = {0};
    cs_readout readout = CS_READ_FIRST;
    cs_texts_options o = {.token_types = t->from.model.config.token_types};
    o.max_length = cs_args_given(args, "max-length")           ? cs_args_int(args, "max-length")
                   : positions > 0 && positions < USUAL_LENGTH ? positions
                                                               : USUAL_LENGTH;
    if (positions > 0 && o.max_length > positions) {
        return cs_fail(CS_ERR_USAGE, "--max-length %lld: %s has %lld positions",
                       (long long)o.max_length, t->from.dir, (long long)positions);
    }
    cs_status status = take_readout(args, s, &readout);
    if (status == CS_OK) {
        status = cs_args_around(args, &t->from, &around);
    }
    o.special = around.befores + around.afters > 0;
    o.begin = readout == CS_READ_FIRST;
    if (status == CS_OK && (status = encode_side(s, &o, &t->train)) == CS_OK &&
        (status = encode_side(s, &o, &t->test)) == CS_OK) {
        note_truncated(args, &t->train, o.max_length);
        note_truncated(args, &t->test, o.max_length);
        status = cs_finetune_config(&t->from.model.config, &t->train.ids, readout,
                                    cs_args_real(args, "dropout"), &t->config);
    }
    return status == CS_OK ? cs_finetune_task_key(t) : status;
}

/* --- runs --------------------------------------------------------------------------------------*/

/* Errors are better when smaller, scores when larger. */
static bool better(cs_metric metric, const cs_finetune_trial *a, const cs_finetune_trial *b)
{
    double by = metric == CS_METRIC_MSE ? b->score - a->score : a->score - b->score;
    return by > 0 || (by >= 0 && a->loss < b->loss);
}

static cs_status try_rate(const session *s, const cs_finetune_split *split, int64_t i)
{
    const cs_labelled_text *t = &s->task.train.text;
    cs_finetune_run run = {0};
    double *truth = cs_alloc(split->helds, sizeof *truth);
    cs_status status =
        truth ? cs_finetune_trial_run(&s->task, split, s->rate[i], s->seed, &run) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < split->helds && status == CS_OK; ++k) {
        truth[k] = t->value[split->held[k]];
    }
    if (status == CS_OK) {
        s->trial[i].rate = s->rate[i];
        s->trial[i].loss = run.test_loss;
        status = cs_metric_of(s->metrics.metric[0], split->helds, truth, run.predicted, t->classes,
                              &s->trial[i].score);
    }
    cs_finetune_run_free(&run);
    cs_free(truth);
    return status;
}

/* The rate with the best score on training examples held out, of equal ones that with the smallest
 * loss there. */
static cs_status choose_rate(session *s)
{
    cs_finetune_split split = {0};
    s->chosen = s->rate[0];
    if (s->rates == 1) {
        return CS_OK;
    }
    s->trial = cs_calloc(s->rates, sizeof *s->trial);
    cs_status status = s->trial ? cs_finetune_split_of(&s->task, s->seed, &split) : CS_ERR_MEMORY;
    int64_t best = 0;
    for (int64_t i = 0; i < s->rates && status == CS_OK; ++i) {
        status = try_rate(s, &split, i);
        if (better(s->metrics.metric[0], &s->trial[i], &s->trial[best])) {
            best = i;
        }
    }
    s->chosen = s->rate[best];
    cs_finetune_split_free(&split);
    return status;
}

static cs_status make_runs(session *s)
{
    s->run = cs_calloc(s->seeds, sizeof *s->run);
    cs_status status = s->run ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->seeds && status == CS_OK; ++i) {
        status = cs_finetune_test_run(&s->task, s->chosen, s->seed + (uint64_t)i, &s->run[i]);
    }
    return status;
}

static cs_status claim(cs_args *args)
{
    static const char *const file[] = {"finetune.json", "predictions.csv", "runs"};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof file / sizeof *file && status == CS_OK; ++i) {
        status = cs_output_claim(args, file[i]);
    }
    return status;
}

static cs_status prepare(cs_args *args, session *s)
{
    cs_status status = take_options(args, s);
    if (status == CS_OK && s->task.dir) {
        status = claim(args);
    }
    if (status == CS_OK && (status = open_model(args, s)) == CS_OK &&
        (status = read_texts(args, s)) == CS_OK) {
        status = encode(args, s);
    }
    if (status == CS_OK && s->task.dir && (status = cs_dir_make(s->task.dir)) == CS_OK) {
        status = cs_output_start(args); /* finished runs outlive what ends this one */
    }
    return status;
}

static cs_status run_finetune(cs_args *args)
{
    session s = {0};
    cs_status status = prepare(args, &s);
    if (status == CS_OK && (status = choose_rate(&s)) == CS_OK) {
        status = make_runs(&s);
    }
    if (status == CS_OK) {
        const cs_finetune_results results = {.task = &s.task,
                                             .metrics = &s.metrics,
                                             .run = s.run,
                                             .runs = s.seeds,
                                             .trial = s.trial,
                                             .trials = s.trial ? s.rates : 0,
                                             .rival = &s.rival};
        status = cs_finetune_report(args, &results);
    }
    for (int64_t i = 0; s.run && i < s.seeds; ++i) {
        cs_finetune_run_free(&s.run[i]);
    }
    cs_free(s.run);
    cs_free(s.trial);
    cs_free(s.rate);
    cs_rival_free(&s.rival);
    cs_finetune_task_free(&s.task);
    return status;
}

static const cs_opt finetune_options[] = {
    {.name = "label-column",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1000,
     .help = "Column of the label, from 1. Default: 1."},
    {.name = "text-column",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1000,
     .help = "Column of the text. Default: 2."},
    {.name = "pair-column",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1000,
     .help = "Column of the second text of a pair. Default: single texts."},
    {.name = "regression",
     .kind = CS_OPT_FLAG,
     .help = "Labels are numbers to be predicted: one output, squared error."},
    {.name = "limit",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1e15,
     .help = "The first N training lines only, whatever their classes: of what is sorted by class, "
             "--few draws from every one."},
    {.name = "test-limit",
     .kind = CS_OPT_INT,
     .argument = "N",
     .low = 1,
     .high = 1e15,
     .help = "The first N test examples only."},
    {.name = "few",
     .kind = CS_OPT_TEXT,
     .argument = "all|P%|N",
     .fallback = "all",
     .help = "Train on a share of each class, or on N of each (regression: of all): every seed "
             "draws its own."},
    {.name = "metric",
     .kind = CS_OPT_TEXT,
     .argument = "LIST",
     .fallback = "auto",
     .help = "Of accuracy, f1, f1-macro, matthews, pearson, spearman, mse, parted by commas; a "
             "learning rate is chosen by the first. auto: all that go with the task (f1 with two "
             "classes)."},
    {.name = "init",
     .kind = CS_OPT_CHOICE,
     .argument = "pretrained|random",
     .fallback = "pretrained",
     .help = "random: the same architecture with fresh parameters, the baseline that shows what "
             "pretraining gave."},
    {.name = "pooling",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|first|last|mean",
     .fallback = "auto",
     .help = "What the head reads of the last layer: the first token's state, the last one's, or "
             "the mean over all. auto: last where attention is causal, else first."},
    {.name = "attention",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|causal|full",
     .fallback = "auto",
     .help = "Whether a token sees those behind it. auto: as the model was trained."},
    {.name = "special",
     .kind = CS_OPT_CHOICE,
     .argument = "auto|yes|no",
     .fallback = "auto",
     .help = "Put the tokenizer's special tokens around a text. auto: for masked models that "
             "cospec train did not make; elsewhere a begin token stands before it with --pooling "
             "first, and an end token parts a pair."},
    {.name = "max-length",
     .kind = CS_OPT_INT,
     .argument = "L",
     .low = 1,
     .high = 1 << 20,
     .help = "Most tokens of a text or pair; longer ones are cut at the end, the longer of a pair "
             "first. Default: the positions of the model, at most 128."},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};

static const cs_opt recipe_options[] = {
    {.name = "epochs",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "5",
     .low = 1,
     .high = 1e6,
     .help = "Passes over the training examples."},
    {.name = "batch",
     .kind = CS_OPT_INT,
     .argument = "B",
     .fallback = "16",
     .low = 1,
     .high = 65536,
     .help = "Texts a step."},
    {.name = "lr",
     .kind = CS_OPT_TEXT,
     .argument = "RATE[,RATE]...",
     .fallback = "4e-5",
     .help = "Peak learning rate. Of several the best is chosen with the first seed on 10 % of "
             "each class of the training examples, held out for that; the test side has no part."},
    {.name = "schedule",
     .kind = CS_OPT_CHOICE,
     .argument = "cosine|linear|one-cycle|constant",
     .fallback = "cosine",
     .help = "Course of the learning rate after the warm-up."},
    {.name = "warmup",
     .kind = CS_OPT_REAL,
     .argument = "P",
     .fallback = "0.1",
     .low = 0,
     .high = 1,
     .help = "Share of the steps in which the learning rate rises."},
    {.name = "dropout",
     .kind = CS_OPT_REAL,
     .argument = "P",
     .fallback = "0.1",
     .low = 0,
     .high = 0.99,
     .help = "In embeddings, attention, residual sums and the head."},
    {.name = "weight-decay",
     .kind = CS_OPT_REAL,
     .argument = "W",
     .fallback = "0",
     .low = 0,
     .high = 1000,
     .help = "Of matrices."},
    {.name = "clip",
     .kind = CS_OPT_REAL,
     .argument = "NORM",
     .fallback = "0",
     .low = 0,
     .high = 1e30,
     .help = "Largest norm of a gradient; 0: any."},
    {.name = "seeds",
     .kind = CS_OPT_INT,
     .argument = "K",
     .fallback = "5",
     .low = 1,
     .high = 1000,
     .help = "Runs, with the seeds --seed, --seed + 1, ...: head, order, dropout, draw of --few."},
    {.name = "save-model",
     .kind = CS_OPT_FLAG,
     .help = "Keep every run's model, in the form of Hugging Face's ...ForSequenceClassification."},
    {.name = "log-every",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "10",
     .low = 0,
     .high = 1e12,
     .help = "Steps between two rows of a run's log.csv; 0: the last alone."},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};

static const cs_opt *const finetune_groups[] = {finetune_options, cs_group_against, recipe_options,
                                                NULL};

const cs_command cs_cmd_finetune = {
    .name = "finetune",
    .gpu = true,
    .summary = "Fine-tune a model on labelled texts: GLUE's recipe, medians over seeds",
    .description =
        "MODEL is a directory of cospec train or of Hugging Face (gpt2, bert, roberta, "
        "roberta-prelayernorm). TRAIN and TEST are FILE.tsv, an example a line: label, text and, "
        "with --pair-column, a second text; or a prepared corpus with labels and a split of its "
        "own (wordnet wordnet).\n\n"
        "A fresh head is put on the encoder (of two-stream models the content stream, of MAE-LM's "
        "the encoder) and everything is trained, once for every seed. A metric's value is the "
        "median over seeds. Two sources of error are told apart: low and high are the order "
        "statistics that cover the median over seeds with the coverage stated (five seeds: least "
        "and largest, 0.9375); se is the standard error of one run's score over other test "
        "examples (delete-block jackknife, the median of the seeds' errors). constant is the score "
        "of the commonest training class "
        "(mean value), which reads nothing.\n\n"
        "The recipe is that of Geiping and Goldstein (2023) for GLUE, which LA 5.1 follows: 5 "
        "epochs, batches of 16, peak 4e-5, warm-up over a tenth, cosine; docs/training.md has all "
        "defaults with their sources. Small models want a larger --lr (1e-4 to 1e-3).\n\n"
        "With -o DIR every run leaves DIR/runs/lr-RATE-seed-N (log.csv, run.json, with "
        "--save-model the model) as soon as it is done, and the same command with --resume makes "
        "those that are missing. DIR receives finetune.csv, finetune.json and "
        "predictions.csv (layer, example, truth, the prediction of each seed), which --against of "
        "another run, here or in cospec probe, compares with example by example: the k-th seed of "
        "one run with the k-th of the other, rows of finetune.csv whose seed is difference. "
        "--resume takes another --against without a new run.",
    .positional = "MODEL TRAIN TEST",
    .groups = finetune_groups,
    .examples =
        "# a small model of verses; then a task, one example a line: label, text\n"
        "cospec train --corpus verses.txt --objective masked --steps 20 --width 32 --layers 2 "
        "--batch 8 -o masked\n"
        "cospec finetune masked labelled.tsv labelled.tsv --epochs 2 --lr 1e-3 --seeds 2 -o task\n"
        "# what the same architecture learns without pretraining, from 4 examples of each class\n"
        "cospec finetune masked labelled.tsv labelled.tsv --init random --few 4 --epochs 2 "
        "--lr 1e-3,1e-4 --seeds 2\n"
        "# from all of them, compared with the pretrained model on the same test examples\n"
        "cospec finetune masked labelled.tsv labelled.tsv --init random --epochs 2 --lr 1e-3 "
        "--seeds 2 --against task/predictions.csv",
    .run = run_finetune,
    .without = "dry-run",
    .continues = "against",
};
