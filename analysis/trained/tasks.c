/* The tasks of a list: folders are scanned, and every file is read up to its first document. */
#include "analysis/trained/tasks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "image/image_sources.h"
#include "image/images.h"
#include "io/file.h"
#include "text/corpus.h"
#include "text/synthetic.h"

static const struct {
    const char *name;
    bool pair, regression;
    cs_metric look_ahead, mae_lm;
} glue[] = {
    {"cola", false, false, CS_METRIC_MATTHEWS, CS_METRIC_MATTHEWS},
    {"mrpc", true, false, CS_METRIC_F1, CS_METRIC_ACCURACY},
    {"qqp", true, false, CS_METRIC_F1, CS_METRIC_ACCURACY},
    {"stsb", true, true, CS_METRIC_PEARSON, CS_METRIC_SPEARMAN},
    {"sst2", false, false, CS_METRIC_ACCURACY, CS_METRIC_ACCURACY},
    {"mnli", true, false, CS_METRIC_ACCURACY, CS_METRIC_ACCURACY},
    {"qnli", true, false, CS_METRIC_ACCURACY, CS_METRIC_ACCURACY},
    {"rte", true, false, CS_METRIC_ACCURACY, CS_METRIC_ACCURACY},
    {"wnli", true, false, CS_METRIC_ACCURACY, CS_METRIC_ACCURACY},
};

/* --- the list ----------------------------------------------------------------------------------*/

/* Takes the text over; NULL: out of memory. */
static const char *keep(cs_pool *pool, char *text)
{
    char *kept = text ? cs_pool_take(pool, (int64_t)strlen(text) + 1, 1) : NULL;
    if (kept) {
        memcpy(kept, text, strlen(text) + 1);
    }
    cs_free(text);
    return kept;
}

static cs_status add_task(cs_task_list *list, const cs_labelled_task *task)
{
    for (int64_t i = 0; i < list->count; ++i) {
        if (strcmp(list->task[i].name, task->name) == 0) {
            return cs_fail(CS_ERR_USAGE, "two tasks are called %s: %s and %s", task->name,
                           list->task[i].train, task->train);
        }
    }
    cs_labelled_task *grown = cs_realloc(list->task, list->count + 1, sizeof *grown);
    if (!grown) return CS_ERR_MEMORY;
    list->task = grown;
    grown[list->count++] = *task;
    return CS_OK;
}

/* --- columns -----------------------------------------------------------------------------------*/

static cs_status take_first(void *to, const cs_document *document, bool held_out, bool *enough)
{
    bool *labelled = to;
    (void)held_out;
    *labelled = document->label != NULL;
    *enough = true;
    return CS_OK;
}

/* The columns of a source as a command reads them, of what is no file of columns zeros. CS_ERR_INPUT: it has
 * no labels. cola: it may be of four columns without names; pair: as it is in GLUE. */
static cs_status columns_of(const cs_task_list *list, const char *source, bool cola, bool pair,
                            cs_columns *out)
{
    cs_corpus_options options = list->reading;
    CS_AUTO(cs_corpus) about = {0};
    bool labelled = false;
    options.invalid = CS_INVALID_SKIP; /* whether it is UTF-8 is checked where it is read */
    options.pair_column = CS_PAIR_IF_NAMED;
    cs_status status = cs_corpus_visit(source, &options, take_first, &labelled, &about);
    *out = about.read;
    if (status == CS_OK && !labelled)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: no labels: a task is a labelled corpus (.tsv, .csv, .jsonl, a folder "
                         "per class)",
                         source);
    if (status == CS_OK && out->columns > 0 && out->headers == 0) {
        const bool four = cola && out->columns == 4;
        out->label = four ? 2 : 1;
        out->text = four ? 4 : 2;
        out->pair = pair ? 3 : 0;
    }
    return status;
}

static int glue_of(const char *name)
{
    char plain[64];
    size_t size = 0;
    for (const char *c = name; *c && size + 1 < sizeof plain; ++c) {
        if (isalnum((unsigned char)*c)) {
            plain[size++] = (char)tolower((unsigned char)*c);
        }
    }
    plain[size] = '\0';
    for (int i = 0; i < (int)(sizeof glue / sizeof *glue); ++i) {
        if (strncmp(plain, glue[i].name, strlen(glue[i].name)) == 0) {
            return i;
        }
    }
    return -1;
}

/* Fills in columns and metrics of a task with its files, and adds it. */
static cs_status add_files(cs_task_list *list, cs_labelled_task *t)
{
    const int known = t->name ? glue_of(t->name) : -1;
    const bool cola = known == 0, pair = known >= 0 && glue[known].pair;
    cs_columns train = {0}, test = {0};
    if (!t->name || !t->train) return CS_ERR_MEMORY;
    cs_status status = columns_of(list, t->train, cola, pair, &train);
    if (status == CS_OK) status = t->test ? columns_of(list, t->test, cola, pair, &test) : CS_OK;
    if (status != CS_OK) return status;
    if (t->test && train.columns > 0 && test.columns > 0 &&
        (train.text != test.text || train.pair != test.pair)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: texts are in columns %lld and %lld, but in %s in columns %lld and %lld",
                       t->test, (long long)test.text, (long long)test.pair, t->train,
                       (long long)train.text, (long long)train.pair);
    }
    t->label = train.label;
    t->test_label = t->test ? test.label : train.label;
    t->text = train.text;
    t->pair = train.pair;
    t->regression = train.numbers || (known >= 0 && glue[known].regression);
    t->look_ahead = known >= 0      ? glue[known].look_ahead
                    : t->regression ? CS_METRIC_PEARSON
                                    : CS_METRIC_ACCURACY;
    t->mae_lm = known >= 0      ? glue[known].mae_lm
                : t->regression ? CS_METRIC_SPEARMAN
                                : CS_METRIC_ACCURACY;
    return add_task(list, t);
}

/* --- folders -----------------------------------------------------------------------------------*/

static const char *const endings[] = {".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz", ".jsonl.gz"};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* FOLDER/BASE with one of the endings, where there is such a file, else NULL. */
static const char *file_at(cs_pool *pool, const char *folder, const char *base)
{
    for (int i = 0; i < ENDINGS; ++i) {
        const char *path = keep(pool, cs_format("%s/%s%s", folder, base, endings[i]));
        if (path && cs_path_exists(path) && !cs_path_is_dir(path)) return path;
    }
    return NULL;
}

/* The task of a folder with train.tsv. Its test side is dev.tsv, or test.tsv but of GLUE, whose test.tsv
 * has no labels. */
static cs_status add_task_folder(cs_task_list *list, const char *folder, const char *name)
{
    static const char *const sides[][2] = {
        {"dev", ""}, {"dev_matched", "-m"}, {"dev_mismatched", "-mm"}};
    const char *train = file_at(&list->pool, folder, "train");
    bool any = false;
    cs_status status = CS_OK;
    for (int i = 0; i < 3 && train && status == CS_OK; ++i) {
        cs_labelled_task t = {.train = train, .test = file_at(&list->pool, folder, sides[i][0])};
        if (t.test) {
            any = true;
            t.name = keep(&list->pool, cs_format("%s%s", name, sides[i][1]));
            status = add_files(list, &t);
        }
    }
    if (train && !any && status == CS_OK) {
        cs_labelled_task t = {.train = train, .name = keep(&list->pool, cs_strdup(name))};
        t.test = glue_of(name) < 0 ? file_at(&list->pool, folder, "test") : NULL;
        status = add_files(list, &t);
    }
    return status;
}

/* Of FOLDER/NAME.train.tsv; other files are none. */
static cs_status add_flat(cs_task_list *list, const char *folder, const char *file)
{
    const char *mark = strstr(file, ".train.");
    bool is = false;
    for (int i = 0; mark && i < ENDINGS; ++i) {
        is = is || strcmp(mark + strlen(".train"), endings[i]) == 0;
    }
    if (!is) return CS_OK;
    const char *name = keep(&list->pool, cs_format("%.*s", (int)(mark - file), file)),
               *base[] = {"train", "dev", "test"}, *path[3] = {NULL};
    for (int i = 0; i < 3 && name; ++i) {
        const char *side = keep(&list->pool, cs_format("%s.%s", name, base[i]));
        path[i] = side ? file_at(&list->pool, folder, side) : NULL;
    }
    cs_labelled_task t = {.name = name, .train = path[0], .test = path[1] ? path[1] : path[2]};
    return t.train ? add_files(list, &t) : list->pool.status; /* a folder of that name is none */
}

/* The name of a task, which becomes a folder's name: the last part of its source, without
 * endings. */
static const char *name_of(cs_task_list *list, const char *source, bool path)
{
    char *whole = path ? realpath(source, NULL) : NULL; /* of "." too */
    const char *text = whole ? whole : source, *slash = path ? strrchr(text, '/') : NULL;
    char *name = cs_strdup(slash ? slash + 1 : text);
    static const char *const known[] = {".gz", ".tsv", ".csv", ".jsonl", ".ndjson", ".txt"};
    free(whole);
    for (size_t i = 0; path && name && i < sizeof known / sizeof *known; ++i) {
        const size_t size = strlen(known[i]);
        if (cs_has_suffix(name, known[i]) && strlen(name) > size) name[strlen(name) - size] = '\0';
    }
    for (char *c = name; c && *c; ++c) {
        *c = isalnum((unsigned char)*c) || strchr("._-", *c) ? *c : '-';
    }
    return keep(&list->pool, name);
}

/* A file, a folder of classes, or a synthetic language: its documents that are held out are the test side. */
static cs_status add_source(cs_task_list *list, const char *source, bool path)
{
    cs_labelled_task t = {.name = name_of(list, source, path),
                          .train = keep(&list->pool, cs_strdup(source)),
                          .named = !path};
    return add_files(list, &t);
}

/* A folder that is a task, or one of tasks, or one of classes. */
static cs_status add_folder(cs_task_list *list, const char *folder)
{
    char **entry = NULL;
    int64_t count = 0;
    const int64_t before = list->count;
    if (file_at(&list->pool, folder, "train")) {
        const char *name = name_of(list, folder, true);
        return name ? add_task_folder(list, folder, name) : CS_ERR_MEMORY;
    }
    cs_status status = cs_dir_names(folder, &entry, &count);
    bool classes = count > 0;
    for (int64_t i = 0; i < count; ++i) {
        const char *name = entry[i], *below = keep(&list->pool, cs_format("%s/%s", folder, name));
        const bool within = below && cs_path_is_dir(below);
        classes = classes && within;
        if (status == CS_OK)
            status = !below   ? CS_ERR_MEMORY
                     : within ? add_task_folder(list, below, name)
                              : add_flat(list, folder, name);
    }
    cs_text_list_free(entry, count);
    if (status == CS_OK) status = list->pool.status;
    if (status != CS_OK || list->count > before) return status;
    return classes ? add_source(list, folder, true)
                   : cs_fail(CS_ERR_INPUT,
                             "%s: no task: there is no train.tsv, NAME/train.tsv or "
                             "NAME.train.tsv (.csv, .jsonl), and no folder per class",
                             folder);
}

static cs_status add_named(cs_task_list *list, const cs_corpus_source *known, bool pictures)
{
    if (!known->labelled) {
        return cs_fail(CS_ERR_USAGE, "the corpus %s has no labels", known->name);
    }
    const cs_labelled_task t = {.name = known->name,
                                .train = known->name,
                                .test = known->name,
                                .named = true,
                                .pictures = pictures,
                                .look_ahead = CS_METRIC_ACCURACY,
                                .mae_lm = CS_METRIC_ACCURACY};
    return add_task(list, &t);
}

static cs_status add_pictures(cs_task_list *list, const char *source)
{
    const cs_labelled_task t = {.name = name_of(list, source, true),
                                .train = keep(&list->pool, cs_strdup(source)),
                                .pictures = true,
                                .look_ahead = CS_METRIC_ACCURACY,
                                .mae_lm = CS_METRIC_ACCURACY};
    return t.name && t.train ? add_task(list, &t) : CS_ERR_MEMORY;
}

/* Adds a source of the kinds that a corpus may have, or a folder of tasks. */
static cs_status add_one(cs_task_list *list, const char *source)
{
    const char *side = NULL;
    const cs_corpus_source *text = cs_corpus_named(source, &side), *known = cs_images_named(source);
    if (text && side) {
        return cs_fail(CS_ERR_USAGE, "%s is one side: a task has both (%s)", source, text->name);
    }
    if (text || known) return add_named(list, text ? text : known, !text);
    bool pictures = false;
    cs_status status = cs_images_are(source, &pictures);
    if (status != CS_OK || pictures) return status == CS_OK ? add_pictures(list, source) : status;
    if (cs_synthetic_named(source)) return add_source(list, source, false);
    if (cs_path_is_dir(source)) return add_folder(list, source);
    return cs_path_exists(source) ? add_source(list, source, true) : cs_source_unknown(source);
}

cs_status cs_tasks_find(const char *list, const cs_corpus_options *reading, cs_task_list *out)
{
    cs_task_list found = {.reading = reading ? *reading : (cs_corpus_options){.test_share = -1}};
    char *source = NULL;
    cs_status status = cs_corpus_next_source(&list, &source);
    if (status == CS_OK && !source) status = cs_fail(CS_ERR_USAGE, "the list is empty");
    while (status == CS_OK && source) {
        status = add_one(&found, source);
        cs_free(source);
        source = NULL;
        if (status == CS_OK) status = cs_corpus_next_source(&list, &source);
    }
    cs_free(source);
    status = cs_blame(status, "--tasks");
    if (status == CS_OK) {
        *out = found;
    } else {
        cs_tasks_free(&found);
    }
    return status;
}

void cs_tasks_free(cs_task_list *list)
{
    cs_pool_free(&list->pool);
    cs_free(list->task);
    *list = (cs_task_list){0};
}

char *cs_task_columns(const cs_labelled_task *t)
{
    char *words = cs_strdup("");
    if (t->label > 0) cs_append(&words, " --label-column %" PRId64, t->label);
    if (t->test_label > 0 && t->test)
        cs_append(&words, " --test-label-column %" PRId64, t->test_label);
    if (t->text > 0) cs_append(&words, " --text-column %" PRId64, t->text);
    if (t->pair > 0) cs_append(&words, " --pair-column %" PRId64, t->pair);
    if (t->regression) cs_append(&words, " --regression");
    return words;
}
