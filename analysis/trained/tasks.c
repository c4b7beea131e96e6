/* The tasks of a list: folders are scanned, and of every file the first line alone is read. */
#include "analysis/trained/tasks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "image/prepare.h"
#include "io/file.h"
#include "io/parse.h"
#include "text/corpus.h"

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
            return cs_fail(CS_ERR_USAGE, "--tasks: two tasks are called %s: %s and %s", task->name,
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

typedef struct {
    int64_t columns;
    int64_t label, text, pair; /* 0: not named */
    bool score;
} header;

/* The column of that name in a line, in any case; 0: none. *count the columns. */
static int64_t column_named(const char *line, const char *name, int64_t *count)
{
    int64_t column = 0, found = 0;
    for (const char *at = line;; ++at) {
        const size_t size = strcspn(at, "\t");
        ++column;
        if (found == 0 && size == strlen(name) && strncasecmp(at, name, size) == 0) {
            found = column;
        }
        at += size;
        if (*at == '\0') break;
    }
    *count = column;
    return found;
}

static void read_header(const char *line, header *out)
{
    static const char *const labels[] = {"gold_label", "label", "is_duplicate", "quality", "score"};
    static const char *const texts[][2] = {{"sentence1", "sentence2"},
                                           {"question1", "question2"},
                                           {"#1 string", "#2 string"},
                                           {"premise", "hypothesis"},
                                           {"text1", "text2"},
                                           {"question", "sentence"},
                                           {"sentence", ""},
                                           {"text", ""},
                                           {"question", ""}};
    header h = {0};
    for (size_t i = 0; i < sizeof labels / sizeof *labels && h.label == 0; ++i) {
        h.label = column_named(line, labels[i], &h.columns);
        h.score = h.label > 0 && strcmp(labels[i], "score") == 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts && h.text == 0; ++i) {
        h.text = column_named(line, texts[i][0], &h.columns);
        h.pair = texts[i][1][0] ? column_named(line, texts[i][1], &h.columns) : 0;
        if (texts[i][1][0] && h.pair == 0) {
            h.text = 0;
        }
    }
    *out = h;
}

/* The first line without its end and byte order mark, in fresh memory. */
static cs_status first_line(const char *path, char **out)
{
    enum { MOST = 1 << 16 };
    int fd = -1;
    int64_t size = 0;
    char *line = cs_calloc(MOST + 1, 1);
    cs_status status = line ? cs_file_open(path, &fd, &size) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_file_read_at(fd, path, 0, size < MOST ? size : MOST, line);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status == CS_OK) {
        line[strcspn(line, "\r\n")] = '\0';
        if (strncmp(line, "\xef\xbb\xbf", 3) == 0) {
            memmove(line, line + 3, strlen(line + 3) + 1);
        }
        *out = line;
        return CS_OK;
    }
    cs_free(line);
    return status;
}

static const char *const unclear = "its first line names a label but no text: one of sentence, "
                                   "text, question, or a pair as sentence1, sentence2";

/* Columns of one side. cola: it may be of four columns without names; pair: as it stands in GLUE. */
static cs_status columns_of(const char *path, bool cola, bool pair, header *out)
{
    char *line = NULL;
    cs_status status = first_line(path, &line);
    if (status != CS_OK) return status;
    read_header(line, out);
    if (out->label > 0 && out->text == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: %s", path, unclear);
    } else if (out->label == 0) {
        const bool four = cola && out->columns == 4;
        out->label = four ? 2 : 1;
        out->text = four ? 4 : 2;
        out->pair = pair ? 3 : 0;
    }
    cs_free(line);
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
    const int known = glue_of(t->name);
    const bool cola = known == 0, pair = known >= 0 && glue[known].pair;
    header train = {0}, test = {0};
    if (!t->name || !t->train) return CS_ERR_MEMORY;
    cs_status status = columns_of(t->train, cola, pair, &train);
    if (status == CS_OK) status = t->test ? columns_of(t->test, cola, pair, &test) : CS_OK;
    if (status != CS_OK) return status;
    if (t->test && (train.text != test.text || train.pair != test.pair)) {
        return cs_fail(CS_ERR_INPUT, "%s: texts in columns %lld and %lld, in %s %lld and %lld",
                       t->test, (long long)test.text, (long long)test.pair, t->train,
                       (long long)train.text, (long long)train.pair);
    }
    t->label = train.label;
    t->test_label = t->test ? test.label : train.label;
    t->text = train.text;
    t->pair = train.pair;
    t->regression = train.score || (known >= 0 && glue[known].regression);
    t->look_ahead = known >= 0      ? glue[known].look_ahead
                    : t->regression ? CS_METRIC_PEARSON
                                    : CS_METRIC_ACCURACY;
    t->mae_lm = known >= 0      ? glue[known].mae_lm
                : t->regression ? CS_METRIC_SPEARMAN
                                : CS_METRIC_ACCURACY;
    return add_task(list, t);
}

/* --- folders -----------------------------------------------------------------------------------*/

/* FOLDER/BASE + ending where there is such a file, else NULL. */
static const char *file_at(cs_pool *pool, const char *folder, const char *base, const char *ending)
{
    const char *path = keep(pool, cs_format("%s/%s%s", folder, base, ending));
    return path && cs_path_exists(path) && !cs_path_is_dir(path) ? path : NULL;
}

static cs_status add_glue_folder(cs_task_list *list, const char *folder, const char *name)
{
    static const char *const sides[][2] = {
        {"/dev.tsv", ""}, {"/dev_matched.tsv", "-m"}, {"/dev_mismatched.tsv", "-mm"}};
    const char *train = file_at(&list->pool, folder, name, "/train.tsv");
    bool any = false;
    cs_status status = CS_OK;
    for (int i = 0; i < 3 && train && status == CS_OK; ++i) {
        cs_labelled_task t = {.train = train,
                              .test = file_at(&list->pool, folder, name, sides[i][0])};
        if (t.test) {
            any = true;
            t.name = keep(&list->pool, cs_format("%s%s", name, sides[i][1]));
            status = add_files(list, &t);
        }
    }
    if (train && !any && status == CS_OK) {
        cs_labelled_task t = {.train = train, .name = keep(&list->pool, cs_strdup(name))};
        status = add_files(list, &t);
    }
    return status;
}

static cs_status add_flat(cs_task_list *list, const char *folder, const char *file)
{
    char *name = cs_format("%.*s", (int)(strlen(file) - strlen(".train.tsv")), file);
    if (!name) return CS_ERR_MEMORY;
    cs_labelled_task t = {.train = file_at(&list->pool, folder, name, ".train.tsv"),
                          .test = file_at(&list->pool, folder, name, ".dev.tsv")};
    t.test = t.test ? t.test : file_at(&list->pool, folder, name, ".test.tsv");
    t.name = keep(&list->pool, name);
    return t.train ? add_files(list, &t) : CS_OK; /* a folder of that name is none */
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static cs_status add_folder(cs_task_list *list, const char *folder)
{
    struct dirent **entry = NULL;
    const int64_t before = list->count;
    const int count = scandir(folder, &entry, is_visible, by_bytes);
    if (count < 0) {
        return cs_fail(errno == ENOMEM ? CS_ERR_MEMORY : CS_ERR_IO, "%s: %s", folder,
                       strerror(errno));
    }
    cs_status status = CS_OK;
    for (int i = 0; i < count; ++i) {
        const char *name = entry[i]->d_name;
        if (status == CS_OK) {
            status = cs_has_suffix(name, ".train.tsv") ? add_flat(list, folder, name)
                                                       : add_glue_folder(list, folder, name);
        }
        free(entry[i]);
    }
    free(entry);
    if (status == CS_OK) status = list->pool.status;
    if (status == CS_OK && list->count == before)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: no task: neither NAME/train.tsv nor NAME.train.tsv is there", folder);
    return status;
}

static cs_status add_name(void *to, const char *name)
{
    cs_task_list *list = to;
    const cs_corpus_source *text = cs_corpus_named(name, NULL);
    const cs_corpus_source *known = text ? text : cs_images_named(name);
    if (!known) {
        return cs_path_is_dir(name) ? add_folder(list, name)
                                    : cs_fail(CS_ERR_INPUT,
                                              "--tasks: %s is neither a folder nor a corpus known "
                                              "by name (cospec data list)",
                                              name);
    }
    if (!known->labelled) {
        return cs_fail(CS_ERR_USAGE, "--tasks: the corpus %s has no labels", name);
    }
    const cs_labelled_task t = {.name = known->name,
                                .train = known->name,
                                .test = known->name,
                                .named = true,
                                .pictures = !text,
                                .look_ahead = CS_METRIC_ACCURACY,
                                .mae_lm = CS_METRIC_ACCURACY};
    return add_task(list, &t);
}

cs_status cs_tasks_find(const char *list, cs_task_list *out)
{
    cs_task_list found = {0};
    cs_status status = cs_parse_each(list, add_name, &found);
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

char *cs_task_words(const cs_labelled_task *t)
{
    char *words = cs_format("%s%s%s", t->train, t->test ? " " : "", t->test ? t->test : "");
    if (t->label > 0) cs_append(&words, " --label-column %" PRId64, t->label);
    if (t->test_label > 0 && t->test)
        cs_append(&words, " --test-label-column %" PRId64, t->test_label);
    if (t->text > 0) cs_append(&words, " --text-column %" PRId64, t->text);
    if (t->pair > 0) cs_append(&words, " --pair-column %" PRId64, t->pair);
    if (t->regression) cs_append(&words, " --regression");
    return words;
}
