/* cospec finetune: a pretrained model taught a task of labelled texts, by the recipe of GLUE. */

#include "analysis/trained/finetune_runs.h"
#include "analysis/trained/span_runs.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/results.h"
#include "io/file.h"

/* --- results ---------------------------------------------------------------------------------- */

#define DIFFERENCES "against.metrics[] against.~first[]"
#define SCORE                                                                                      \
    "low=low|seed_interval.low high=high|seed_interval.high "                                      \
    "coverage=coverage|seed_interval.coverage constant se n=/n"
#define SEED "seed=~seed|^~of|/runs[#].seed"

/* Sets the command's result: finetune.json, finetune.csv (or standard output), predictions.csv.
 * reference: the run of --against, whose file may be NULL. */
static cs_status report_study(cs_args *args, const cs_finetune_task *task,
                              const cs_finetune_plan *plan, const cs_finetune_study *study,
                              const cs_reference *reference)
{
    static const cs_view view = {"metrics[].{.,of_seed[]} " DIFFERENCES,
                                 "model=/model layer=/~layer metric=name|^name "
                                 "definition=definition|^definition value=value|. " SCORE " " SEED},
                         blocks = {"metrics[].~left_out[]",
                                   "model=/model layer=/~layer seed=^~seed metric=^name block=# "
                                   "value=. partition=/~partition"};
    CS_AUTO(cs_table) predictions = {0};
    cs_status status = cs_finetune_record(task, plan, study, reference, cs_output_root(args),
                                          task->dir ? &predictions : NULL);
    if (status == CS_OK && task->dir) status = cs_output_predictions(args, &predictions);
    if (status == CS_OK) status = cs_output_csv(args, "finetune-blocks.csv", &blocks);
    return status == CS_OK ? cs_output_record(args, "finetune", &view) : status;
}

typedef struct {
    cs_model_text from;
    cs_finetune_task task;
    cs_finetune_plan plan;
    cs_reference reference;
    cs_corpus patches[2]; /* of pictures */
    cs_cloze cloze;
} session;

/* --- options -----------------------------------------------------------------------------------*/

static cs_status take_rates(const cs_args *args, cs_finetune_plan *p)
{
    cs_status status =
        cs_parse_real_list(cs_args_text(args, "lr"), "--lr", 1e-30, 1e30, &p->rates, &p->rate);
    for (int64_t i = 0; i < p->rates * p->rates && status == CS_OK; ++i) {
        const double a = p->rate[i / p->rates], b = p->rate[i % p->rates];
        if (i / p->rates < i % p->rates && !(a < b || a > b)) {
            status = cs_fail(CS_ERR_USAGE, "--lr contains %g twice", a);
        }
    }
    return status;
}

static cs_status take_options(cs_args *args, session *s)
{
    cs_finetune_options *o = &s->task.options;
    *o = cs_finetune_defaults();
    o->progress = cs_output_progress(args);
    CS_ARGS_FIELDS(args, o, log_every, CS_FINETUNE_SETTINGS);
    CS_ARGS_FIELDS(args, &o->adamw, weight_decay, clip);
    CS_ARGS_FIELDS(args, &s->plan, seeds, seed);
    CS_ARGS_FIELDS(args, &s->task, few, resume, save_model);
    s->task.fresh = cs_args_is(args, "init", "random");
    s->task.dir = cs_args_text(args, "output");
    if (s->task.save_model && !s->task.dir) {
        return cs_fail(CS_ERR_USAGE, "--save-model needs -o DIR");
    }
    if (s->plan.seed > UINT64_MAX - (uint64_t)s->plan.seeds) {
        return cs_fail(CS_ERR_USAGE, "--seed is too large for %lld seeds",
                       (long long)s->plan.seeds);
    }
    cs_status status = cs_schedule_by_name(cs_args_text(args, "schedule"), &o->schedule);
    return status == CS_OK ? take_rates(args, &s->plan) : status;
}

/* --- the task ----------------------------------------------------------------------------------*/

static bool of_pictures(const session *s)
{
    return s->from.model.config.picture.patch > 0;
}

static cs_status read_texts(cs_args *args, session *s)
{
    cs_labelled_text side[2] = {{0}};
    s->task.train.source = cs_args_positional(args, 1);
    s->task.test.source = cs_args_positional(args, cs_args_positionals(args) - 1);
    const int64_t limit[2] = {cs_args_int_or(args, "limit", 0),
                              cs_args_int_or(args, "test-limit", 0)};
    cs_status status = of_pictures(s)
                           ? cs_args_labelled_patches(args, &s->from.model, limit, side, s->patches)
                           : cs_args_labelled(args, limit, side);
    s->task.train.text = side[0];
    s->task.test.text = side[1];
    if (status == CS_OK)
        status = cs_args_metrics(args, s->task.train.text.classes, &s->plan.metrics);
    if (status == CS_OK && (status = cs_args_against(args, &s->reference)) == CS_OK) {
        const cs_scoring scoring = cs_finetune_scoring(&s->task, &s->plan);
        status = cs_reference_check(&s->reference, &scoring,
                                    CS_FINETUNE_LAYER); /* before the work, not after it */
    }
    return status;
}

static cs_status open_model(cs_args *args, session *s)
{
    cs_model_text *from = &s->from;
    const char *dir = cs_args_positional(args, 0);
    cs_status status = cs_args_model_open(args, dir, from);
    if (status == CS_OK) status = cs_blame(cs_model_config_tunes(&from->model.config), "%s", dir);
    if (status == CS_OK && !of_pictures(s)) status = cs_model_text_has_tokenizer(from);
    if (status == CS_OK && from->tokenizer &&
        cs_tokenizer_vocab(from->tokenizer) > from->model.config.shape.vocab)
        status = cs_fail(CS_ERR_INPUT, "%s: the tokenizer has %lld tokens, but the model has %lld",
                         dir, (long long)cs_tokenizer_vocab(from->tokenizer),
                         (long long)from->model.config.shape.vocab);
    s->task.name = dir;
    s->task.from = &from->model;
    s->task.kind = &from->kind;
    s->task.tokenizer = from->tokenizer;
    s->task.backend = from->backend;
    return status;
}

static cs_status take_readout(const cs_args *args, session *s, cs_readout *out)
{
    const int pooling = cs_args_choice(args, "pooling");
    cs_content_masks *masks = &s->task.options.masks;
    cs_status status = cs_args_attention(args, &s->from, masks);
    if (status != CS_OK) return status;
    const bool causal = masks->attention == CS_ATTENTION_CAUSAL;
    *out = causal                                  ? CS_READ_LAST
           : masks->attention == CS_ATTENTION_PLAN ? CS_READ_MEAN
                                                   : CS_READ_FIRST;
    if (pooling > 0) {
        *out = (cs_readout)(pooling - 1);
    }
    return causal && *out == CS_READ_FIRST
               ? cs_fail(CS_ERR_USAGE, "--pooling first: the first token of a causal model does "
                                       "not see the text; give another pooling")
               : CS_OK;
}

/* The cloze of --template, where it is given: a model with [MASK] fills a gap, a causal one goes on. */
static cs_status take_cloze(const cs_args *args, session *s)
{
    const char *template = cs_args_text(args, "template");
    const cs_model_kind *kind = &s->from.kind;
    const bool causal = kind->kind == CS_KIND_CAUSAL;
    if (!template || !cs_args_given(args, "verbalisers")) {
        return template || cs_args_given(args, "verbalisers")
                   ? cs_fail(CS_ERR_USAGE, "--template and --verbalisers must be given together")
                   : CS_OK;
    }
    cs_status status =
        cs_args_refuse(args, "pooling regression", "cannot be combined with --template");
    if (status == CS_OK && of_pictures(s)) status = cs_fail(CS_ERR_USAGE, "--template needs texts");
    const int32_t mask = causal ? -1 : s->from.model.config.ids.mask;
    if (status == CS_OK && !causal && (mask < 0 || !cs_kind_masks(kind->kind)))
        status =
            cs_fail(CS_ERR_USAGE, "--template: %s (%s) has no mask token to fill%s", s->from.dir,
                    cs_kind_name(kind->kind),
                    cs_kind_masks(kind->kind) ? "; --mask-token names that of a tokenizer" : "");
    if (status == CS_OK)
        status = cs_cloze_read(template, cs_args_text(args, "verbalisers"), s->from.tokenizer,
                               &s->task.train.text, mask, &s->cloze);
    s->cloze.shifts = !causal && cs_kind_shifts(kind->kind);
    s->task.cloze = status == CS_OK ? &s->cloze : NULL;
    return status;
}

static void note_truncated(const cs_args *args, const cs_finetune_side *side, int64_t length)
{
    if (side->ids.truncated > 0) {
        cs_output_note(args, "%s: %lld of %lld texts are truncated to %lld tokens", side->source,
                       (long long)side->ids.truncated, (long long)side->ids.count,
                       (long long)length);
    }
}

/* --max-length, or what the model was made for up to `usual`. */
static cs_status take_length(const cs_args *args, const session *s, int64_t usual, int64_t *out)
{
    const int64_t positions = s->from.model.config.shape.positions;
    *out = cs_args_int_or(args, "max-length", cs_model_config_length(&s->from.model.config, usual));
    return positions > 0 && *out > positions
               ? cs_fail(CS_ERR_USAGE,
                         "--max-length %lld exceeds the positions of the model: %s has %lld",
                         (long long)*out, s->from.dir, (long long)positions)
               : CS_OK;
}

/* Texts as the model reads them, and the model's configuration with its head. */
static cs_status encode(cs_args *args, session *s)
{
    enum { USUAL_LENGTH = 128 };
    cs_finetune_task *t = &s->task;
    cs_special_tokens around = {0};
    cs_readout readout = CS_READ_FIRST;
    cs_texts_options o = {.token_types = s->from.model.config.shape.token_types};
    cs_status status = take_length(args, s, USUAL_LENGTH, &o.max_length);
    if (status == CS_OK) status = take_readout(args, s, &readout);
    if (status == CS_OK) status = take_cloze(args, s);
    if (status == CS_OK && cs_args_int(args, "epochs") == 0 && !t->cloze)
        status = cs_fail(CS_ERR_USAGE, "--epochs 0 needs --template: a new head knows nothing");
    readout = t->cloze ? CS_READ_LAST : readout;
    o.cloze = t->cloze;
    if (status == CS_OK)
        status = cs_model_text_begun(&s->from, cs_args_text(args, "special"), &around);
    const bool own = around.before == &s->from.model.config.ids.bos;
    o.special = around.befores + around.afters > 0 && !own;
    o.begin = readout == CS_READ_FIRST || own;
    cs_finetune_side *side[] = {&t->train, &t->test};
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        status = of_pictures(s)
                     ? cs_texts_of_rows(&s->patches[i], &side[i]->text,
                                        s->from.model.config.ids.bos, &side[i]->ids)
                     : cs_texts_encode(&side[i]->text, s->from.tokenizer, &o, &side[i]->ids);
    }
    if (status == CS_OK) {
        note_truncated(args, &t->train, o.max_length);
        note_truncated(args, &t->test, o.max_length);
        status = cs_finetune_config(&s->from.model.config, &t->train.ids, readout,
                                    cs_args_real(args, "dropout"), &t->config);
    }
    return status == CS_OK ? cs_finetune_task_identify(t) : status;
}

/* --- the command -------------------------------------------------------------------------------*/

static cs_status prepare(cs_args *args, session *s)
{
    cs_status status = take_options(args, s);
    if (status == CS_OK) status = cs_args_metrics_check(args);
    if (status == CS_OK)
        status = cs_output_claim(
            args, "finetune.json finetune.csv finetune-blocks.csv predictions.csv runs");
    if (status == CS_OK && (status = open_model(args, s)) == CS_OK &&
        (status = read_texts(args, s)) == CS_OK) {
        status = encode(args, s);
    }
    if (status == CS_OK && s->task.dir && (status = cs_dir_make(s->task.dir)) == CS_OK) {
        status = cs_output_start(args); /* finished runs outlive what ends this one */
    }
    return status;
}

/* --- spans -------------------------------------------------------------------------------------*/

static cs_status refuse_for_spans(const cs_args *args)
{
    static const char none[] = "cannot be combined with --head spans";
    cs_status status = cs_args_refuse(
        args, "tasks regression limit test-limit few pooling template verbalisers", none);
    if (status == CS_OK)
        status = cs_args_refuse(args, "extra against label-smoothing mixup resume pair pair-column",
                                none);
    return status == CS_OK && cs_args_positionals(args) != 3
               ? cs_fail(CS_ERR_USAGE,
                         "--head spans needs the arguments MODEL TRAIN.json TEST.json")
               : status;
}

static cs_status encode_spans(cs_args *args, session *s, cs_span_task *t)
{
    enum { USUAL_LENGTH = 384, USUAL_QUESTION = 64 };
    const cs_model_config *c = &s->from.model.config;
    cs_content_masks *masks = &t->run.options.masks;
    cs_special_tokens around = {0};
    cs_spans_options o = {.stride = cs_args_int(args, "stride"),
                          .max_question = USUAL_QUESTION,
                          .token_types = c->shape.token_types};
    cs_status status = take_length(args, s, USUAL_LENGTH, &o.max_length);
    if (status == CS_OK) status = cs_args_attention(args, &s->from, masks);
    if (status == CS_OK && masks->attention == CS_ATTENTION_PLAN)
        status = cs_fail(CS_ERR_USAGE, "--head spans needs --attention full or causal");
    if (status == CS_OK)
        status = cs_model_text_around(&s->from, cs_args_text(args, "special"), &around);
    o.special = around.befores + around.afters > 0;
    o.causal = masks->attention == CS_ATTENTION_CAUSAL;
    cs_squad *side[] = {&t->train, &t->test};
    cs_spans *ids[] = {&t->train_ids, &t->test_ids};
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const char *file = cs_args_positional(args, i + 1);
        status = cs_output_input(args, file);
        if (status == CS_OK) status = cs_squad_read(file, side[i]);
        if (status == CS_OK) status = cs_spans_encode(side[i], s->from.tokenizer, &o, ids[i]);
    }
    if (status == CS_OK)
        status = cs_finetune_config(c, &t->train_ids.texts, cs_readout_of(c->arch),
                                    cs_args_real(args, "dropout"), &t->run.config);
    return status;
}

static cs_status report_spans(cs_args *args, const cs_span_task *t)
{
    static const cs_view view = {
        "metrics[]",
        "model=/model layer=/~layer metric=name definition=definition value=value "
        "low=seed_interval.low high=seed_interval.high coverage=seed_interval.coverage se n=/n "
        "seed=/~seed"};
    cs_item *root = cs_output_root(args);
    cs_item_text(root, "model", t->run.name);
    cs_item_text(root, "train", t->train.path);
    cs_item_text(root, "test", t->test.path);
    cs_item_text(root, "task", "spans");
    cs_item_text(root, "init", t->run.fresh ? "random" : "pretrained");
    cs_item_flag(root, "causal", t->run.options.masks.attention == CS_ATTENTION_CAUSAL);
    cs_item_int(root, "n", t->test.questions);
    cs_item_int(root, "n_train", t->train.questions);
    cs_item_int(root, "windows_train", t->train_ids.texts.count);
    cs_item_int(root, "windows_test", t->test_ids.texts.count);
    cs_item_int(root, "unplaced", t->train_ids.unplaced);
    cs_item_real(root, "learning_rate", t->run.options.learning_rate);
    cs_item_text(root, "~layer", CS_FINETUNE_LAYER);
    cs_item_text(root, "~seed", "median");
    if (t->train_ids.unplaced > 0)
        cs_output_note(args, "%s: %lld answers are not tokens of the model", t->train.path,
                       (long long)t->train_ids.unplaced);
    cs_status status = cs_span_study(t, root);
    return status == CS_OK ? cs_output_record(args, "finetune", &view) : status;
}

static cs_status run_spans(cs_args *args)
{
    session s = {0};
    CS_AUTO(cs_span_task)
    t = {.longest = cs_args_int(args, "max-answer"),
         .threshold = cs_args_real(args, "null-threshold")};
    cs_status status = refuse_for_spans(args);
    if (status == CS_OK) status = take_options(args, &s);
    if (status == CS_OK && s.plan.rates != 1)
        status = cs_fail(CS_ERR_USAGE, "--head spans needs a single --lr");
    if (status == CS_OK) status = cs_output_claim(args, "finetune.json finetune.csv runs");
    if (status == CS_OK) status = open_model(args, &s);
    if (status == CS_OK) {
        t.run = s.task;
        t.run.options.learning_rate = s.plan.rate[0];
        t.seeds = s.plan.seeds;
        t.seed = s.plan.seed;
        status = encode_spans(args, &s, &t);
    }
    if (status == CS_OK && s.task.options.epochs == 0 && !s.from.model.config.head.spans)
        status = cs_fail(CS_ERR_USAGE, "--epochs 0: %s has no span head", s.from.dir);
    if (status == CS_OK) status = report_spans(args, &t);
    cs_free(s.plan.rate);
    cs_model_text_free(&s.from);
    return status;
}

static cs_status run_finetune(cs_args *args)
{
    if (cs_args_is(args, "head", "spans")) return run_spans(args);
    cs_status unfit =
        cs_args_refuse(args, "stride max-answer null-threshold", "needs --head spans");
    if (unfit != CS_OK) return unfit;
    if (cs_args_given(args, "tasks")) return cs_args_tasks(args);
    if (cs_args_positionals(args) < 2) {
        return cs_fail(CS_ERR_USAGE,
                       "an argument is missing: cospec finetune MODEL TRAIN [TEST], or "
                       "MODEL --tasks LIST");
    }
    session s = {0};
    CS_AUTO(cs_finetune_study) study = {0};
    cs_status status = prepare(args, &s);
    if (status == CS_OK) status = cs_finetune_study_of(&s.task, &s.plan, &study);
    if (status == CS_OK) status = report_study(args, &s.task, &s.plan, &study, &s.reference);
    cs_free(s.plan.rate);
    cs_cloze_free(&s.cloze);
    cs_reference_free(&s.reference);
    cs_finetune_task_free(&s.task);
    cs_corpus_free(&s.patches[0]);
    cs_corpus_free(&s.patches[1]);
    cs_model_text_free(&s.from);
    return status;
}

static const cs_opt finetune_options[] = {
    CS_HEADING("Task"),
    CS_EXTRA,
    CS_FLAG("regression", "Labels are numbers: one output, squared error."),
    CS_INT("limit", "N", NULL, 1, 1e15,
           "Use only the first N training lines, whatever their classes. For files sorted by class "
           "use --few."),
    CS_INT("test-limit", "N", NULL, 1, 1e15, "Use only the first N test examples."),
    CS_TEXT("few", "all|P%|N", "all",
            "Train on a share of each class, or on N of each (regression: in total). Every seed "
            "draws its own."),
    CS_TEXT("metric", "LIST", "auto",
            "Metrics: accuracy, f1, f1-macro, matthews, pearson, spearman, mse. The first one "
            "chooses the learning rate. auto: all that suit the task."),
    CS_CHOICE("init", "pretrained|random", "pretrained",
              "random: fresh parameters, the baseline without pretraining."),
    CS_CHOICE("pooling", "auto|first|last|mean", "auto",
              "What the head reads: the last layer's first or last row, or its mean. auto: last "
              "for causal attention, mean for attention by plans, else first."),
    CS_CHOICE("head", "class|spans", "class",
              "What is learned: labels, or answer spans in a context (files in SQuAD's format)."),
    CS_INT("stride", "N", "128", 1, 1 << 20,
           "--head spans: tokens from one window of a long context to the next."),
    CS_INT("max-answer", "N", "30", 1, 1 << 20, "--head spans: most tokens of an answer."),
    CS_REAL("null-threshold", "X", "0", -1e30, 1e30,
            "--head spans: predict no answer if its score exceeds the best answer's by more than "
            "X."),
    CS_TEXT("template", "TEXT", NULL,
            "Cloze task, as '{1} It was {mask}.': {1} and {2} are the texts, {mask} the word of "
            "the class. Causal models need {mask} at the end."),
    CS_TEXT("verbalisers", "CLASS=WORD,...", NULL,
            "--template: the word of each class, one token of the model. A blank before it "
            "counts."),
    CS_SPECIAL,
    CS_INT("max-length", "L", NULL, 1, 1 << 20,
           "Most tokens of a text or pair; the longer text is cut first. Default: the positions of "
           "the model, at most 128; --head spans: 384."),
    {0},
};

static const cs_opt recipe_options[] = {
    CS_HEADING("Training"),
    CS_INT("epochs", "N", "5", 0, 1e6,
           "Passes over the training examples. 0: no training (with --template: zero-shot)."),
    CS_INT("batch", "B", "16", 1, 65536, "Texts per step."),
    CS_TEXT("lr", "RATE[,RATE]...", "4e-5",
            "Peak learning rate. From several, the first seed chooses the best on a held-out 10% "
            "of the training examples."),
    CS_CHOICE("schedule", "cosine|linear|one-cycle|constant", "cosine",
              "Learning rate schedule after the warm-up."),
    CS_REAL("warmup", "P", "0.1", 0, 1, "Share of the steps in which the learning rate rises."),
    CS_REAL("dropout", "P", "0.1", 0, 0.99,
            "Dropout of embeddings, attention, residual sums and head."),
    CS_REAL("label-smoothing", "E", "0", 0, 0.999,
            "Classes: share of each target that is spread evenly over all classes."),
    CS_REAL("mixup", "A", "0", 0, 8,
            "Images: mix pairs of images and their targets with a share from Beta(A, A) (MAE: "
            "0.8)."),
    CS_REAL("weight-decay", "W", "0", 0, 1000, "Weight decay of matrices."),
    CS_REAL("clip", "NORM", "0", 0, 1e30, "Largest norm of a gradient. 0: no clipping."),
    CS_INT("seeds", "K", "5", 1, 1000,
           "Number of runs, with seeds --seed, --seed + 1, ... for head, order, dropout and "
           "--few."),
    CS_FLAG("save-model", "Keep the model of every run, in the format of Hugging Face's "
                          "...ForSequenceClassification."),
    CS_INT("log-every", "N", "10", 0, 1e12,
           "Steps between rows of a run's log.csv. 0: only the last row."),
    {0},
};

const cs_command cs_cmd_finetune = {
    .name = "finetune",
    .gpu = true,
    .help = &cs_help_finetune,
    .positional = "MODEL [TRAIN] [TEST]",
    .main = "few epochs lr batch seeds metric head max-length tasks output",
    .groups = (const cs_opt *const[]){finetune_options, cs_group_labelled, cs_group_roles,
                                      cs_group_attention, cs_group_against, recipe_options,
                                      cs_group_tasks, NULL},
    .run = run_finetune,
    .without = "dry-run metric",
    .continues = "against",
    .shown = "task seed metric value low high coverage constant se n",
    .metrics = "median,difference",
    .by = "seed",
};
