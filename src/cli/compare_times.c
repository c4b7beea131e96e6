/* Estimates of the steps of a comparison. What a forward pass costs is measured on one batch of each model, and
 * of the linear algebra one eigendecomposition; a step costs as many passes and decompositions as it makes,
 * which follow from its options and from the numbers of documents and tokens. The factors were
 * fitted to runs on two cores; the total is meant to be within a factor of two, a single step
 * within a factor of five. */
#include "cli/study_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/ints.h"
#include "base/plugin.h"
#include "base/plural.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "infer/hidden_states.h"
#include "io/file.h"
#include "linalg/dense.h"
#include "train/texts.h"

enum {
    PIECES = 16,
    USUAL_PROBED = 512,
    USUAL_TUNED = 128,
    USUAL_FOLDS = 5,
    USUAL_SEEDS = 5,
    STARTS = 6,
    SIDE = 96
};

/* A run that writes results (tables, digests, atomic renames), one that draws a figure, and a matrix of
 * connectivity without its pairs, over a run that does nothing. */
static const double WRITING = 6.0, DRAWING = 16.0, NEAREST = 9.0;

/* In passes over a token, as one batch by itself takes, which is longer than one of many: a step of training; a
 * masked token's prediction, of each token of its text. */
static const double TRAINING = 2.0, PREDICTION = 1.0;

/* Evaluations of a fit of a probe, in multiply-adds of the features; seconds of a pair of documents with all
 * blocks, of connectivity, and of similarity over the width. */
static const double EVALUATIONS = 35.0, PAIR = 4e-8, SHAPE = 6e-10;

/* The cost of a task for one model, in tokens of passes, padded to the longest of a batch. */
typedef struct {
    double probed, tuned; /* tokens */
    double fits;          /* multiply-adds of a layer's probes, over the width */
} task_size;

typedef struct {
    double open, read; /* seconds: the model, the corpus */
    double pass;       /* seconds of a token */
    double documents, tokens, length;
    task_size *task;
} model_size;

typedef struct {
    const cs_model_comparison *of;
    const cs_study *study;
    int threads;
    double start; /* seconds of a run that does nothing */
    double cube;  /* seconds of an eigendecomposition, over the cube of its side */
    model_size *model;
    cs_pool pool;
} estimate;

/* --- what is measured -------------------------------------------------------------------------- */

static cs_status time_start(estimate *e)
{
    char self[PATH_MAX];
    int code = 0;
    cs_status status = cs_program_path(self);
    if (status != CS_OK) return status;
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere) return cs_fail(CS_ERR_IO, "/dev/null cannot be opened");
    const char *const argv[] = {self, "--version", NULL};
    const double from = cs_seconds();
    for (int i = 0; i < STARTS && status == CS_OK; ++i) {
        status = cs_child_run(&(cs_child){.argv = argv, .out = fileno(nowhere)}, &code);
    }
    e->start = (cs_seconds() - from) / STARTS;
    (void)fclose(nowhere);
    return status;
}

static cs_status time_cube(estimate *e)
{
    CS_AUTO(cs_dense) a = {0};
    double values[SIDE];
    cs_status status = cs_dense_init(&a, SIDE, SIDE);
    for (int64_t i = 0; i < SIDE * SIDE && status == CS_OK; ++i) {
        a.data[i] = (i / SIDE == i % SIDE ? SIDE : 0) + 1.0 / (double)(1 + i / SIDE + i % SIDE);
    }
    const double from = cs_seconds();
    if (status == CS_OK) status = cs_dense_eigh(&a, values, false);
    e->cube = (cs_seconds() - from) / ((double)SIDE * SIDE * SIDE);
    return status;
}

/* The options of a step, with its number of threads; of several tasks (words not NULL) with the
 * options of one in place of --tasks and the list. */
static cs_status parse(const estimate *e, const cs_step *step, const char *words, cs_args **out)
{
    char threads[24], *argv[2 * CS_STEP_WORDS];
    CS_AUTO_FREE char *own = cs_strdup(words ? words : "");
    char *rest = own;
    const cs_command *command = NULL;
    int n = 0;
    cs_status status = own ? cs_command_by_name(step->word[0], &command) : CS_ERR_MEMORY;
    (void)snprintf(threads, sizeof threads, "%d", e->threads);
    for (int i = 1; i < step->words; ++i) {
        const bool list = words && strcmp(step->word[i], "--tasks") == 0;
        if (!list) argv[n++] = step->word[i];
        i += list;
    }
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        if (*word && n + 3 < (int)(sizeof argv / sizeof *argv)) argv[n++] = word;
    }
    argv[n++] = (char *)(uintptr_t) "--quiet";
    argv[n++] = (char *)(uintptr_t) "--threads";
    argv[n++] = threads;
    return status == CS_OK ? cs_args_parse(command, n, argv, out) : status;
}

static const cs_step *step_named(const cs_study *study, const char *name, const char *kind)
{
    const size_t length = strlen(name);
    for (int64_t i = 0; i < study->steps; ++i) {
        const char *step = study->step[i].name;
        if (strncmp(step, name, length) == 0 && step[length] == '.' &&
            strcmp(step + length + 1, kind) == 0)
            return &study->step[i];
    }
    return NULL;
}

/* Tokens of the documents that are kept, batches padded to their longest. */
static void count_tokens(const cs_model_text *t, const cs_hidden_options *o, model_size *m)
{
    const double most = (double)cs_most(1, o->max_length);
    double longest = 0;
    int64_t in_batch = 0;
    for (int64_t d = 0; d < t->corpus.documents; ++d) {
        if (!t->keep[d]) continue;
        double n = (double)(t->corpus.doc_ptr[d + 1] - t->corpus.doc_ptr[d] + o->around.befores +
                            o->around.afters);
        n = n > most ? most : n;
        longest = n > longest ? n : longest;
        if (++in_batch == PIECES) {
            m->tokens += longest * PIECES;
            in_batch = 0;
            longest = 0;
        }
        m->documents += 1;
    }
    m->tokens += longest * (double)in_batch;
    m->length = m->tokens / m->documents;
}

static cs_status drop_block(void *ctx, const cs_hidden_block *block)
{
    (void)ctx;
    (void)block;
    return CS_OK;
}

/* The pass of one batch, twice: the first allocates. */
static cs_status time_pass(cs_model_text *t, cs_hidden_options o, model_size *m)
{
    CS_AUTO_FREE uint8_t *keep = cs_calloc(t->corpus.documents, 1);
    model_size batch = {0};
    if (!keep) return CS_ERR_MEMORY;
    uint8_t *all = t->keep;
    for (int64_t d = 0, n = 0; d < t->corpus.documents && n < PIECES; ++d) {
        keep[d] = all[d];
        n += keep[d];
    }
    t->keep = keep;
    count_tokens(t, &o, &batch);
    o.keep = keep;
    o.progress = NULL;
    cs_status status = cs_hidden_states(&t->model, &t->corpus, &o, drop_block, NULL);
    const double from = cs_seconds();
    if (status == CS_OK) status = cs_hidden_states(&t->model, &t->corpus, &o, drop_block, NULL);
    m->pass = (cs_seconds() - from) / batch.tokens;
    t->keep = all;
    return status;
}

/* Tokens of the texts of one side, cut at `most`, and padded to the longest of a batch. */
static cs_status side_tokens(const cs_model_text *t, const cs_labelled_text *side, int64_t most,
                             double *out)
{
    CS_AUTO(cs_texts) texts = {0};
    const cs_texts_options o = {.max_length = most};
    cs_status status = cs_texts_encode(side, t->tokenizer, &o, &texts);
    for (int64_t i = 0; i < texts.count && status == CS_OK; i += PIECES) {
        int64_t longest = 0, j = i;
        for (; j < i + PIECES && j < texts.count; ++j) {
            longest = cs_most(longest, texts.start[j + 1] - texts.start[j]);
        }
        *out += (double)longest * (double)(j - i);
    }
    return status;
}

/* Examples that a run is taught with. */
static cs_status drawn(const cs_args *args, const cs_labelled_text *train, double *out)
{
    int64_t count = 0;
    CS_AUTO_FREE int64_t *index = NULL;
    cs_status status =
        cs_few_shot(cs_args_text(args, "few"), train, cs_args_seed(args), &count, &index);
    *out = (double)count;
    return status;
}

static cs_status size_probe(const cs_model_text *t, cs_args *args, const cs_labelled_text side[2],
                            task_size *out)
{
    const int64_t length =
        cs_args_int_or(args, "max-length", cs_model_config_length(&t->model.config, USUAL_PROBED));
    const double folds = cs_args_given(args, "validation-share")
                             ? 1.0
                             : (double)cs_args_int_or(args, "folds", USUAL_FOLDS);
    const double seeds =
        (double)cs_args_int_or(args, "seeds", cs_args_is(args, "few", "all") ? 1 : USUAL_SEEDS);
    double train = 0, test = 0, examples = 0;
    cs_status status = side_tokens(t, &side[0], length, &train);
    if (status == CS_OK) status = side_tokens(t, &side[1], length, &test);
    if (status == CS_OK) status = drawn(args, &side[0], &examples);
    out->probed = train + test;
    out->fits =
        examples * (folds + 1.0) * EVALUATIONS * seeds * (double)cs_most(1, side[0].classes);
    return status;
}

/* Each rate is tried on nine tenths of a draw, and the chosen one on a draw of every seed. */
static cs_status size_tuning(const cs_model_text *t, cs_args *args, const cs_labelled_text side[2],
                             task_size *out)
{
    const int64_t length =
        cs_args_int_or(args, "max-length", cs_model_config_length(&t->model.config, USUAL_TUNED));
    const double epochs = (double)cs_args_int(args, "epochs"),
                 seeds = (double)cs_args_int(args, "seeds");
    double rates = 1.0, train = 0, test = 0, examples = 0;
    for (const char *c = cs_args_text(args, "lr"); *c; ++c) {
        rates += *c == ',';
    }
    cs_status status = side_tokens(t, &side[0], length, &train);
    if (status == CS_OK) status = side_tokens(t, &side[1], length, &test);
    if (status == CS_OK) status = drawn(args, &side[0], &examples);
    const double taught = examples * train / (double)side[0].count * epochs * TRAINING;
    out->tuned = (rates > 1.0 ? 0.9 * rates * taught : 0.0) + seeds * (taught + test);
    return status;
}

typedef cs_status size_fn(const cs_model_text *t, cs_args *args, const cs_labelled_text side[2],
                          task_size *out);

/* Sizes a task by the options of a step of `command` on it; a model may have no such step. */
static cs_status size_task(const estimate *e, const cs_model_text *t, const cs_step *step,
                           const char *words, size_fn *size, task_size *out)
{
    CS_AUTO(cs_args) *args = NULL;
    cs_labelled_text side[2] = {{0}};
    if (!step) return CS_OK;
    cs_status status = parse(e, step, words, &args);
    const int64_t limit = status == CS_OK ? cs_args_int_or(args, "limit", 0) : 0;
    if (status == CS_OK) status = cs_args_labelled(args, (int64_t[2]){limit, limit}, side);
    if (status == CS_OK) status = size(t, args, side, out);
    cs_labelled_text_free(&side[0]);
    cs_labelled_text_free(&side[1]);
    return status;
}

static cs_status size_model(estimate *e, const cs_compare_model *about, model_size *m)
{
    CS_AUTO(cs_args) *args = NULL;
    CS_AUTO(cs_model_text) t = {0};
    cs_hidden_options o = {0};
    const cs_step *step = step_named(e->study, about->name, "states");
    cs_status status = parse(e, step, NULL, &args);
    double from = cs_seconds();
    if (status == CS_OK) status = cs_args_model_open(args, about->path, &t);
    m->open = cs_seconds() - from;
    from = cs_seconds();
    if (status == CS_OK) status = cs_args_model_corpus(args, cs_args_positional(args, 1), &t);
    m->read = cs_seconds() - from;
    if (status == CS_OK) status = cs_args_hidden(args, &t, "layers", &o);
    o.pooling = CS_POOL_MEAN;
    if (status == CS_OK) {
        o.keep = t.keep;
        count_tokens(&t, &o, m);
        status = time_pass(&t, o, m);
    }
    m->task = cs_pool_take(&e->pool, e->of->tasks, sizeof *m->task);
    if (status == CS_OK) status = e->pool.status;
    for (int64_t k = 0; k < e->of->tasks && status == CS_OK; ++k) {
        const char *words = e->of->task[k].words;
        status = size_task(e, &t, step_named(e->study, about->name, "probe"), words, size_probe,
                           &m->task[k]);
        if (status == CS_OK)
            status = size_task(e, &t, step_named(e->study, about->name, "finetune"), words,
                               size_tuning, &m->task[k]);
    }
    return status;
}

/* --- what follows ------------------------------------------------------------------------------ */

/* The model whose step it is: the one with the longest name before a dot; -1: of none alone. */
static int64_t model_of(const estimate *e, const cs_step *step)
{
    int64_t found = -1;
    size_t longest = 0;
    for (int64_t i = 0; i < e->of->models; ++i) {
        const size_t length = strlen(e->of->model[i].name);
        if (length > longest && step->name[length <= strlen(step->name) ? length : 0] == '.' &&
            strncmp(step->name, e->of->model[i].name, length) == 0) {
            found = i;
            longest = length;
        }
    }
    return found;
}

/* Matrices of states that it reads; *with: those behind --with. */
static double matrices(const cs_step *step, double *with)
{
    double count = 0.0;
    *with = 0.0;
    for (int i = 1; i < step->words; ++i) {
        const bool states = strstr(step->word[i], "/layer-") != NULL,
                   second = strcmp(step->word[i - 1], "--with") == 0;
        count += states && !second;
        *with += states && second;
    }
    return count;
}

static double number_after(const cs_step *step, const char *option, double absent)
{
    for (int i = 1; i + 1 < step->words; ++i) {
        if (strcmp(step->word[i], option) == 0) return strtod(step->word[i + 1], NULL);
    }
    return absent;
}

static bool has_word(const cs_step *step, const char *word)
{
    bool has = false;
    for (int i = 1; i < step->words; ++i) {
        has = has || strcmp(step->word[i], word) == 0;
    }
    return has;
}

/* Seconds of a step that reads matrices of states alone. */
static double of_states(const estimate *e, const cs_step *step, const cs_compare_model *about,
                        const model_size *m)
{
    double with = 0.0;
    const double count = matrices(step, &with), w = (double)about->width, d = m->documents,
                 blocks = number_after(step, "--blocks", number_after(step, "--jackknife", 20.0)),
                 cube = e->cube * w * w * w, cubes = (blocks + 1.0) * cube;
    return strcmp(step->word[0], "connectivity") == 0 ? count * (PAIR * d * d + NEAREST * e->start)
           : with > 0.0                               ? 2.0 * count * with * cubes
           : strcmp(step->word[0], "similarity") == 0
               ? count * (SHAPE * w * d * d + cubes)
               : count * cubes * (has_word(step, "--curve") ? 2.0 : 1.0);
}

static double of_tasks(const estimate *e, const cs_step *step, const cs_compare_model *about,
                       const model_size *m)
{
    const bool tunes = strcmp(step->word[0], "finetune") == 0;
    const double layers = (double)about->layers + 1.0 + CS_POOLINGS;
    double seconds = 0.0;
    for (int64_t k = 0; k < e->of->tasks; ++k) {
        const task_size *t = &m->task[k];
        seconds += WRITING * e->start + m->open;
        seconds += tunes ? t->tuned * m->pass
                         : t->probed * m->pass + layers * t->fits * (double)about->width * e->cube;
    }
    return seconds;
}

/* Passes over the corpus by perplexity: none where the pass of the states gave the losses; of masked models two
 * ways, each of some positions. */
static double passes(const cs_step *step, const model_size *m)
{
    const double positions = number_after(step, "--positions", 0.0);
    if (has_word(step, "--losses")) return 0.0;
    return positions > 0.0 ? PREDICTION * (positions < m->length ? positions : m->length) : 1.0;
}

static double seconds_of(const estimate *e, const cs_step *step)
{
    const int64_t i = model_of(e, step);
    const char *command = step->word[0];
    const double run = WRITING * e->start;
    if (strcmp(command, "plot") == 0 || i < 0) return DRAWING * e->start;
    const cs_compare_model *about = &e->of->model[i];
    const model_size *m = &e->model[i];
    const double text = run + m->open + m->read, once = m->tokens * m->pass;
    if (strcmp(command, "features") == 0) return text + once;
    if (strcmp(command, "perplexity") == 0) return text + m->read + passes(step, m) * once;
    if (strcmp(command, "probe") == 0 || strcmp(command, "finetune") == 0)
        return run + m->open + of_tasks(e, step, about, m);
    if (strcmp(command, "mask-rank") == 0) {
        const double w = (double)about->width, blocks = number_after(step, "--blocks", 20.0) + 1.0,
                     sets = 5.0;
        return text + 2.0 * once + sets * 4.0 * e->cube * w * w * (blocks * w + m->tokens / 8.0);
    }
    return run + of_states(e, step, about, m);
}

/* The time of all, `jobs` at a time, each as soon as it can begin. */
static cs_status makespan(const cs_study *study, const double *seconds, int jobs, double *out)
{
    CS_AUTO_FREE bool *begun = cs_calloc(study->steps, sizeof *begun),
                      *done = cs_calloc(study->steps, sizeof *done);
    CS_AUTO_FREE double *end = cs_calloc(study->steps, sizeof *end);
    double now = 0.0;
    int running = 0;
    cs_status status = begun && done && end ? CS_OK : CS_ERR_MEMORY;
    for (int64_t left = study->steps; left > 0 && status == CS_OK;) {
        const int64_t next = running < jobs ? cs_study_ready(study, begun, done) : -1;
        if (next >= 0) {
            begun[next] = true;
            end[next] = now + seconds[next];
            ++running;
            continue;
        }
        int64_t first = -1;
        for (int64_t i = 0; i < study->steps; ++i) {
            if (begun[i] && !done[i] && (first < 0 || end[i] < end[first])) first = i;
        }
        done[first] = true;
        now = end[first];
        --running;
        --left;
    }
    *out = now;
    return status;
}

static void add_row(cs_item *rows, const char *step, double seconds, const char *command)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_item_text(row, "step", step);
    cs_item_real(row, "seconds", seconds < 10 ? round(8 * seconds) / 8 : round(seconds));
    cs_item_text(row, "command", command);
}

static cs_status put_rows(cs_args *args, const estimate *e, int jobs)
{
    static const cs_view view = {"steps[]", "step seconds command"};
    CS_AUTO_FREE double *seconds = cs_calloc(e->study->steps, sizeof *seconds);
    double all = 0.0;
    cs_item *rows = cs_item_array(cs_output_root(args), "steps");
    char line[96];
    int64_t left = 0;
    if (!seconds) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < e->study->steps; ++i) {
        const cs_step *step = &e->study->step[i];
        if (step->kept) continue;
        seconds[i] = seconds_of(e, step);
        add_row(rows, step->name, seconds[i], step->word[0]);
        ++left;
    }
    cs_status status = makespan(e->study, seconds, jobs, &all);
    (void)snprintf(line, sizeof line, "%lld of %lld steps, %d at a time", (long long)left,
                   (long long)e->study->steps, jobs);
    if (left == e->study->steps)
        (void)snprintf(line, sizeof line, "%lld steps, %d at a time", (long long)left, jobs);
    cs_plural_agree(line);
    add_row(rows, "total", all, line);
    cs_output_note(args, "estimates: the total is usually right within a factor of two on an idle "
                         "machine, a single step within a factor of five");
    return status == CS_OK ? cs_output_record(args, "times", &view) : status;
}

cs_status cs_compare_times(cs_args *args, const cs_model_comparison *models, const cs_study *study)
{
    estimate e = {.of = models, .study = study};
    const int at_once = cs_study_jobs((int)cs_args_int(args, "jobs"), &e.threads);
    e.model = cs_pool_take(&e.pool, models->models, sizeof *e.model);
    cs_status status = e.pool.status;
    if (status == CS_OK) status = time_start(&e);
    if (status == CS_OK) status = time_cube(&e);
    for (int64_t i = 0; i < models->models && status == CS_OK; ++i) {
        status = size_model(&e, &models->model[i], &e.model[i]);
    }
    if (status == CS_OK) status = put_rows(args, &e, at_once);
    cs_pool_free(&e.pool);
    return status;
}
