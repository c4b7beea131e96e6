/* cospec compare: the study of plots/compare.json, of the models that are given. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/study/compare.h"
#include "analysis/trained/tasks.h"
#include "base/auto.h"
#include "cli/argument_kind.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/study_job.h"
#include "io/file.h"
#include "io/json.h"
#include "model/model.h"

/* Documents that the steps need: the intrinsic dimension needs three when the jackknife leaves one out. */
enum { FEWEST = 4 };

typedef struct {
    cs_args *args;
    int64_t models, capacity, tasks, decoders;
    cs_compare_model *model;
    cs_compare_task *task;
    cs_task_list list;
    int64_t positions; /* of the model that has least */
    const char *sources;
    char *written; /* study.json */
} job;

/* A shell splits --read --limit 40 without quotes: 40 becomes an argument. "" where no option ends thus. */
static const char *quoting_hint(const job *j, const char *word)
{
    static const char *const option[] = {"read", "probe", "finetune"};
    const char *hint = "";
    for (size_t i = 0; i < sizeof option / sizeof *option && hint && !*hint; ++i) {
        const char *text = cs_args_text(j->args, option[i]);
        if (cs_args_given(j->args, option[i]) && text[0] == '-' && !text[strcspn(text, " =")])
            hint = cs_args_format(j->args, "; if it belongs to --%s, quote the value: --%s '%s %s'",
                                  option[i], option[i], text, word);
    }
    return hint ? hint : "";
}

/* A word of a command of the study. */
static cs_status check_word(const char *text)
{
    return cs_study_word_is_plain(text)
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "%s: expected a name without spaces, quotes, control characters, @ and $; "
                         "a symbolic link can give it one",
                         text);
}

/* The steps that the model supports, from its configuration, weights and tokenizer. */
static cs_status describe(job *j, const cs_model_text *t, cs_compare_model *m)
{
    const cs_model_config *c = &t->model.config;
    cs_special_tokens around = {0}, begun = {0};
    const int64_t length = cs_args_int_or(j->args, "max-length", 0);
    if (c->shape.positions > 0 && length > c->shape.positions)
        return cs_fail(CS_ERR_USAGE, "--max-length %lld exceeds the %lld positions of %s",
                       (long long)length, (long long)c->shape.positions, m->path);
    cs_status status = cs_model_text_around(t, "auto", &around);
    const bool masked = cs_kind_masks(t->kind.kind) || t->kind.kind == CS_KIND_MAE,
               head = (c->decoder.stack ? t->decoder && !c->decoder.headless : !c->head.absent) &&
                      c->head.classes == 0 && c->head.target == CS_TARGET_IDS,
               mute = t->decoder && !j->sources && around.befores + around.afters == 0,
               reads = !mute && (!cs_kind_masks(t->kind.kind) || c->ids.mask >= 0);
    m->arch = cs_arch_name(c->arch);
    m->kind = cs_kind_name(t->kind.kind);
    m->layers = cs_model_config_depth(c, t->decoder);
    m->width = c->shape.width;
    m->parameters = cs_params_trained(&t->model.params);
    j->positions = cs_model_config_length(c, j->positions);
    m->pooling = t->decoder || t->kind.attention == CS_ATTENTION_CAUSAL ? "last" : "mean";
    m->next = !head || !reads ? "" : masked && t->kind.kind != CS_KIND_HYBRID ? "append" : "prefix";
    m->pseudo = head && masked && reads;
    m->ask = m->pseudo ? cs_args_format(j->args, "--ask %s,pseudo --positions %" PRId64, m->next,
                                        cs_args_int(j->args, "positions"))
                       : "";
    m->draws = t->kind.attention == CS_ATTENTION_PLAN
                   ? cs_args_format(j->args, "--draws %" PRId64, cs_args_int(j->args, "draws"))
                   : "";
    if (status == CS_OK) status = cs_model_text_begun(t, "auto", &begun);
    m->shares = head && reads && t->kind.kind == CS_KIND_CAUSAL && !t->decoder &&
                t->kind.attention == CS_ATTENTION_CAUSAL && begun.befores == around.befores;
    m->masks = masked && reads;
    m->tunes = !t->decoder && cs_model_config_tunes(c) == CS_OK;
    cs_reason_clear();
    m->missing = cs_args_format(j->args, "%s%s%s",
                                m->next[0]     ? ""
                                : head && mute ? "; prediction (an empty source has no token)"
                                               : "; prediction (no head)",
                                m->tunes ? "" : "; fine-tuning (no gradient here)",
                                m->masks ? "" : "; mask-rank (no [MASK])");
    return m->ask && m->draws && m->missing ? status : CS_ERR_MEMORY;
}

static cs_status add_model(job *j, cs_compare_model m)
{
    CS_AUTO(cs_model_text) t = {0};
    if (!cs_study_name_is_good(m.name)) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: expected NAME=MODEL with a name of letters, digits, '.', '_' and '-'",
                       m.name);
    }
    for (int64_t i = 0; i < j->models; ++i) {
        const cs_compare_model *o = &j->model[i];
        if (strcmp(o->name, m.name) == 0 ||
            (strcmp(o->path, m.path) == 0 && o->decoder == m.decoder)) {
            return cs_fail(CS_ERR_USAGE, "%s (%s) is given twice; NAME=MODEL distinguishes models",
                           m.name, m.path);
        }
    }
    cs_status status = check_word(m.path);
    if (status == CS_OK) status = cs_args_model_open(j->args, m.path, &t);
    if (status == CS_OK) status = cs_model_text_has_states(&t);
    if (status == CS_OK) status = cs_model_text_has_tokenizer(&t);
    if (status == CS_OK && m.decoder) status = cs_model_text_decoder(&t);
    if (status == CS_OK) status = describe(j, &t, &m);
    if (status == CS_OK)
        status = cs_reserve(&j->model, &j->capacity, j->models + 1, sizeof *j->model);
    if (status == CS_OK) j->model[j->models++] = m;
    j->decoders += m.decoder;
    return status;
}

/* A folder of checkpoints. */
static cs_status add_series(job *j, const cs_compare_model *whole)
{
    CS_AUTO(cs_checkpoints) all = {0};
    cs_status status = cs_checkpoints_of(whole->path, &all);
    if (status == CS_OK && all.count == 0)
        status =
            cs_fail(CS_ERR_INPUT, "%s: not a model directory and not a directory of checkpoints",
                    whole->path);
    for (int64_t i = 0; i < all.count && status == CS_OK; ++i) {
        const int64_t step = all.at[i].step;
        cs_compare_model m = {.path = cs_args_format(j->args, "%s", all.at[i].path),
                              .series = whole->name,
                              .decoder = whole->decoder,
                              .last = i + 1 == all.count,
                              .step = cs_args_format(j->args, "%" PRId64, step),
                              .name = cs_args_format(j->args, "%s-%" PRId64, whole->name, step)};
        status = m.path && m.step && m.name ? add_model(j, m) : CS_ERR_MEMORY;
    }
    return status;
}

/* MODEL:decoder is the second stack of t5. */
static cs_status add_argument(job *j, const char *text)
{
    static const char second[] = ":decoder";
    cs_compare_model m = {.series = "", .step = "", .last = true};
    cs_status status = cs_args_named_model(j->args, text, &m.name, &m.path);
    if (status != CS_OK) return status;
    if (cs_has_suffix(m.path, second) && !cs_path_is_dir(m.path)) {
        m.decoder = true;
        if (!strchr(text, '='))
            m.name = cs_args_format(j->args, "%.*s-decoder",
                                    (int)(strlen(m.name) + 1 - sizeof second), m.name);
        m.path = cs_args_format(j->args, "%.*s", (int)(strlen(m.path) + 1 - sizeof second), m.path);
    }
    const char *config = m.path && m.name ? cs_args_join(j->args, m.path, "config.json") : NULL;
    if (!config) return CS_ERR_MEMORY;
    bool there = false;
    status = cs_path_find(m.path, &there);
    if (status != CS_OK) return status;
    if (!cs_path_is_dir(m.path))
        return cs_fail(CS_ERR_INPUT, "%s: not a model directory%s", m.path,
                       quoting_hint(j, m.path));
    if (cs_path_exists(config)) return add_model(j, m);
    status = cs_model_refuse_adapter(m.path);
    return status == CS_OK ? add_series(j, &m) : status;
}

static cs_status add_tasks(job *j)
{
    const char *list = cs_args_text(j->args, "tasks");
    cs_status status = list ? check_word(list) : CS_OK;
    if (status == CS_OK && list) status = cs_tasks_find(list, NULL, &j->list);
    j->task = cs_calloc(j->list.count, sizeof *j->task);
    if (!j->task) return CS_ERR_MEMORY;
    for (; j->tasks < j->list.count && status == CS_OK; ++j->tasks) {
        const cs_labelled_task *t = &j->list.task[j->tasks];
        status = check_word(t->train);
        if (status == CS_OK && t->test) status = check_word(t->test);
        if (status == CS_OK && !t->named) status = cs_output_input(j->args, t->train);
        if (status == CS_OK && !t->named && t->test) status = cs_output_input(j->args, t->test);
        const char *columns = cs_args_keep(j->args, cs_task_columns(t));
        j->task[j->tasks] = (cs_compare_task){
            t->name,
            columns ? cs_args_format(j->args, "%s%s%s%s", t->train, t->test ? " " : "",
                                     t->test ? t->test : "", columns)
                    : NULL,
            cs_metric_name(t->look_ahead)};
        if (!j->task[j->tasks].words) status = CS_ERR_MEMORY;
    }
    return status;
}

#define ONE_SEED "one fine-tuning seed: its variance is unknown"

/* Whether --finetune ends up with a single seed (the last --seeds counts): the variance of fine-tuning is
 * then unknown. */
static bool has_one_seed(const cs_args *args)
{
    static const char option[] = "--seeds";
    const char *text = cs_args_text(args, "finetune"), *value = "";
    for (const char *at = strstr(text, option); at; at = strstr(at + 1, option)) {
        value = at + strlen(option);
    }
    value += strspn(value, " =");
    return *value && strtol(value, NULL, 10) == 1;
}

/* The text of the unigram baseline, whose held-out documents are not counted: of NAME:test all would be held
 * out, so it is NAME:train. */
static const char *unigram_source(cs_args *args, const char *corpus)
{
    if (cs_path_exists(corpus)) return corpus;
    char *text = cs_strdup(""), *source = NULL;
    while (cs_corpus_next_source(&corpus, &source) == CS_OK && source) {
        const char *side = NULL;
        const cs_corpus_source *named = cs_corpus_named(source, &side);
        const bool test = named && side && strcmp(side, "test") == 0;
        cs_append(&text, "%s%s%s", text && *text ? "," : "", test ? named->name : source,
                  test ? ":train" : "");
        cs_free(source);
    }
    cs_free(source); /* an empty name, which the steps refuse */
    return cs_args_keep(args, text);
}

/* A mistyped option within --read etc. is no fault of a step of the study. */
static cs_status blame_option(const job *j, cs_status status)
{
    static const char *const option[] = {"read", "probe", "finetune"},
                             unknown[] = "unknown option ";
    const char *found = status == CS_OK ? NULL : strstr(cs_reason(), unknown);
    CS_AUTO_FREE char *reason = found ? cs_strdup(found) : NULL;
    for (size_t i = 0; i < sizeof option / sizeof *option && reason; ++i) {
        const char *name = reason + strlen(unknown), *text = cs_args_text(j->args, option[i]);
        if (cs_args_given(j->args, option[i]) &&
            memmem(text, strlen(text), name, strcspn(name, " "))) {
            cs_reason_clear();
            status = cs_fail(CS_ERR_USAGE, "--%s: %s", option[i], reason);
            break;
        }
    }
    return status;
}

/* Options that every step with a model takes: --device and the roles of tokens. */
static cs_status common_options(cs_args *args, const char **out)
{
    static const char *const name[] = {"device",    "mask-token", "pad-token",
                                       "unk-token", "bos-token",  "eos-token"};
    cs_status status = CS_OK;
    *out = "";
    for (size_t i = 0; i < sizeof name / sizeof *name && status == CS_OK; ++i) {
        if (!cs_args_given(args, name[i])) continue;
        const char *text = cs_args_text(args, name[i]);
        status = check_word(text);
        if (status == CS_OK && !(*out = cs_args_format(args, "%s --%s %s", *out, name[i], text)))
            status = CS_ERR_MEMORY;
    }
    return status;
}

static cs_status make_study(job *j, const char *corpus, json_t *json)
{
    static const char *const option[] = {"read", "probe", "finetune", "tasks"};
    const long long nearest = cs_args_int(j->args, "pairs");
    const char *common = "";
    json_t *variables = json_object_get(json, "variables");
    const cs_model_comparison c = {j->models, j->tasks, j->model, j->task, j->sources};
    const char *one_seed = has_one_seed(j->args) ? ONE_SEED : "";
    const char *unigram = unigram_source(j->args, corpus);
    cs_status status = unigram ? common_options(j->args, &common) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_json_set(variables, "corpus", json_string(corpus));
    if (status == CS_OK) status = cs_json_set(variables, "unigram", json_string(unigram));
    if (status == CS_OK) status = cs_json_set(variables, "one_seed", json_string(one_seed));
    if (status == CS_OK)
        status = cs_json_set(
            variables, "one_seed_note",
            json_sprintf("%s%s", *one_seed ? ", or after fine-tuning with " : "", one_seed));
    if (status == CS_OK) status = cs_json_set(variables, "nearest", json_sprintf("%lld", nearest));
    if (status == CS_OK)
        status = cs_json_set(
            variables, "length",
            json_sprintf("%lld", (long long)cs_args_int_or(j->args, "max-length", j->positions)));
    for (size_t i = 0; i < sizeof option / sizeof *option && status == CS_OK; ++i) {
        const char *text = cs_args_text(j->args, option[i]);
        if (i < 3) text = cs_args_format(j->args, "%s%s", text ? text : "", common);
        status = i < 3 && !text ? CS_ERR_MEMORY
                                : cs_json_set(variables, i == 3 ? "task_list" : option[i],
                                              json_string(text ? text : ""));
    }
    if (status == CS_OK) status = cs_compare_tables(&c, json);
    j->written = status == CS_OK ? json_dumps(json, JSON_INDENT(1)) : NULL;
    return status == CS_OK && !j->written ? CS_ERR_MEMORY : status;
}

/* Writes the study, for users who want to change it, and the table of models. */
static cs_status begin(cs_args *args, void *ctx)
{
    const job *j = ctx;
    const cs_model_comparison c = {j->models, j->tasks, j->model, j->task, j->sources};
    const char *study = NULL, *models = NULL;
    cs_status status = cs_output_path(args, "study.json", &study);
    if (status == CS_OK) status = cs_output_path(args, "models.csv", &models);
    if (status == CS_OK) status = cs_file_write(study, j->written, (int64_t)strlen(j->written));
    return status == CS_OK ? cs_compare_models_write(&c, models) : status;
}

/* Whether the documents that are kept (keep NULL: all) have the same tokens. */
static bool all_equal(const cs_corpus *c, const uint8_t *keep)
{
    int64_t first = -1;
    for (int64_t d = 0; d < c->documents; ++d) {
        const int64_t from = c->doc_ptr[d], length = c->doc_ptr[d + 1] - from;
        if (keep && !keep[d]) continue;
        if (first < 0) {
            first = d;
        } else if (length != c->doc_ptr[first + 1] - c->doc_ptr[first] || !c->token ||
                   memcmp(c->token + from, c->token + c->doc_ptr[first],
                          (size_t)length * sizeof *c->token) != 0) {
            return false;
        }
    }
    return first >= 0;
}

static cs_status refuse_few(cs_args *args, const char *corpus, int64_t chosen, int64_t all)
{
    const char *read = cs_args_text(args, "read");
    return chosen == all
               ? cs_fail(CS_ERR_INPUT, "compare needs at least %d documents; %s has %" PRId64,
                         FEWEST, corpus, all)
               : cs_fail(CS_ERR_INPUT,
                         "compare needs at least %d documents; %s has %" PRId64
                         ", and --read '%s' selects %" PRId64 "%s",
                         FEWEST, corpus, all, read, chosen,
                         all < FEWEST ? "" : " (--read '--split all' reads all)");
}

/* The documents that the first step reads. */
static cs_status check_documents(cs_args *args, const cs_study *study, void *ctx)
{
    const job *j = ctx;
    const cs_step *states = &study->step[0];
    const char *corpus = cs_args_positional(args, cs_args_positionals(args) - 1);
    char *argv[CS_STEP_WORDS + 1];
    int n = 0;
    CS_AUTO(cs_args) *own = NULL;
    CS_AUTO(cs_model_text) t = {0};
    for (; n + 1 < states->words; ++n)
        argv[n] = states->word[n + 1];
    argv[n++] = (char *)(uintptr_t) "--quiet";
    cs_status status = CS_OK;
    if (status == CS_OK) status = cs_args_parse(&cs_cmd_features, n, argv, &own);
    if (status == CS_OK) status = cs_args_model_open(own, j->model[0].path, &t);
    if (status == CS_OK) status = cs_args_encode_corpus(own, corpus, &t, &t.corpus);
    if (status == CS_OK) {
        status = cs_model_text_choose(&t, cs_args_text(own, "split"),
                                      cs_args_int_or(own, "limit", INT64_MAX),
                                      cs_args_int_or(own, "limit-tokens", INT64_MAX));
        if (t.keep && t.documents < FEWEST)
            status = refuse_few(args, corpus, t.documents, t.corpus.documents);
        else if (status == CS_OK && all_equal(&t.corpus, t.keep))
            status = cs_fail(CS_ERR_INPUT,
                             "%s: all documents that the steps read are equal, so models cannot be "
                             "compared on them; give a corpus with different documents",
                             corpus);
    }
    return status;
}

/* --dry-run */
static cs_status times(cs_args *args, const cs_study *study, void *ctx)
{
    const job *j = ctx;
    const cs_model_comparison c = {j->models, j->tasks, j->model, j->task, j->sources};
    return cs_compare_times(args, &c, study);
}

static cs_status compare(job *j, cs_study_job *s)
{
    cs_args *args = j->args;
    const int models = cs_args_positionals(args) - 1;
    const char *corpus = cs_args_positional(args, models);
    json_auto_t *json = NULL;
    const char *dir = cs_args_given(args, "output") ? cs_args_text(args, "output") : "DIR";
    cs_status status = cs_args_given(args, "output") || cs_args_flag(args, "dry-run")
                           ? check_word(corpus)
                           : cs_fail(CS_ERR_USAGE, "compare needs -o DIR");
    if (status == CS_OK && !cs_args_flag(args, "dry-run"))
        status = cs_args_refuse(args, "json csv", "needs --dry-run; tables are files of -o DIR");
    if (status == CS_OK && cs_path_kind_of(corpus) == CS_IS_ABSENT && !strchr(corpus, ':'))
        status = cs_fail(CS_ERR_INPUT, "%s: no such file and no corpus of this name%s", corpus,
                         quoting_hint(j, corpus));
    if (status == CS_OK && cs_path_exists(corpus)) status = cs_output_input(args, corpus);
    if (status == CS_OK && j->sources) status = check_word(j->sources);
    for (int i = 0; i < models && status == CS_OK; ++i) {
        status = add_argument(j, cs_args_positional(args, i));
    }
    if (status == CS_OK && j->models < 2)
        status = cs_fail(CS_ERR_USAGE,
                         "only one model is given; compare needs two or more, or checkpoints");
    if (status == CS_OK && j->decoders == 0)
        status = cs_args_refuse(args, "sources", "needs a MODEL:decoder");
    if (status == CS_OK) status = add_tasks(j);
    if (status == CS_OK) status = cs_args_shared(args, NULL, "plots/compare.json", &s->steps);
    if (status == CS_OK) status = cs_args_shared(args, NULL, "plots/compare.html", &s->template);
    if (status == CS_OK) status = cs_json_read(s->steps, &json);
    if (status == CS_OK) status = make_study(j, corpus, json);
    if (status == CS_OK)
        status = cs_blame(cs_study_of(&json, dir, NULL, &s->study), "%s", s->steps);
    if (status == CS_OK)
        status = cs_blame(cs_claims_read(&s->study, NULL, &s->claims), "%s", s->steps);
    for (int64_t i = 0; i < j->models; ++i)
        s->series = s->series || !j->model[i].last;
    return status == CS_OK ? blame_option(j, cs_study_job_run(args, s)) : status;
}

static cs_status run(cs_args *args)
{
    job j = {.args = args, .positions = 128, .sources = cs_args_text(args, "sources")};
    CS_AUTO(cs_study_job)
    s = {.compares = true, .begin = begin, .check = check_documents, .times = times, .ctx = &j};
    cs_status status = compare(&j, &s);
    cs_tasks_free(&j.list);
    CS_FREE_FIELDS(&j, model, task);
    free(j.written);
    return status;
}

static const cs_opt compare_options[] = {
    CS_TEXT("tasks", "LIST", NULL,
            "Labelled tasks for probes and fine-tuning: corpora and folders, as for cospec probe "
            "--tasks."),
    CS_TEXT("read", "OPTIONS", "--split test --limit 400",
            "Options of every command that reads CORPUS (cospec features --help-all), as "
            "'--split all'."),
    CS_INT("max-length", "L", NULL, 2, 1 << 20,
           "Most tokens of a document, special tokens included. Default: 128, or the fewest "
           "positions of any model."),
    CS_TEXT("sources", "CORPUS", NULL,
            "Texts that the encoder of a MODEL:decoder reads with each document. Default: the "
            "document, and nothing where its tokens are predicted."),
    CS_INT("pairs", "K", "250", 1, 1000000000,
           "Number of pairs of documents for the surrogate of connectivity."),
    CS_INT("positions", "N", "2", 1, 1000000,
           "Tokens of a piece that masked models predict, each in its own pass."),
    CS_INT("draws", "N", "2", 1, 100000,
           "Plans drawn for each text of a model that reads by drawn plans, as prefix-lm: states "
           "are means over them. Errors of their measures include the draws."),
    CS_TEXT("probe", "OPTIONS",
            "--few 20% --seeds 1 --validation-share 0.2 --penalties 1,0.1,0.01,1e-3",
            "Options of cospec probe."),
    CS_TEXT("finetune", "OPTIONS", "--few 10% --seeds 3 --epochs 3 --lr 4e-5,4e-4",
            "Options of cospec finetune. Small models need a larger --lr."),
    {0},
};

const cs_command cs_cmd_compare = {
    .name = "compare",
    .help = &cs_help_compare,
    .positional = "[NAME=]MODEL[:decoder]... CORPUS",
    .groups = (const cs_opt *const[]){compare_options, cs_group_roles, cs_group_study_job, NULL},
    .run = run,
    .without = "seed all",
    .continues = "mask-token pad-token unk-token bos-token eos-token arguments max-length tasks "
                 "read sources pairs positions draws probe finetune "
                 "any-version jobs",
    .whole = cs_study_check_tables,
};
