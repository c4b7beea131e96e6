/* Labelled tasks by a list: whatever is a labelled corpus (text/corpus.h), and folders of tasks in the layouts
 * of GLUE, of .tsv, .csv or .jsonl, each with .gz behind it too.
 *
 *   FOLDER/train.tsv        with dev.tsv, or dev_matched.tsv and dev_mismatched.tsv, which are two
 *                           tasks of one training side (MNLI: NAME-m, NAME-mm), or test.tsv
 *   FOLDER/NAME/train.tsv   the same, of several tasks
 *   FOLDER/NAME.train.tsv   with NAME.dev.tsv or NAME.test.tsv
 *
 * Without a test side the documents of the training side that are held out are it. Columns are those
 * that a header line names (text/columns_private.h). A file without one has label, text, and of GLUE's tasks of
 * pairs a second text; CoLA of four columns has them as source, label, mark, text. GLUE's tasks are known by
 * the beginning of their names (cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli; of letters and
 * digits, in any case). Their test.tsv, which has no labels, is not read.
 */
#pragma once

#include "base/mem.h"
#include "stats/metrics.h"
#include "text/corpus.h"

typedef struct {
    const char *name;
    const char *train, *test;  /* test NULL: held out of train */
    bool named;                /* a corpus known by name, or a synthetic language: no file */
    bool pictures;             /* of pictures */
    int64_t label, text, pair; /* columns from 1; pair 0: single texts; 0: no file of columns */
    int64_t test_label;        /* of the test side (MNLI: another) */
    bool regression;
    cs_metric look_ahead, mae_lm; /* what LA's Table 2 and MAE-LM's Table 1 score it by */
} cs_labelled_task;

typedef struct {
    cs_pool pool;
    cs_corpus_options reading; /* borrows its texts while the list is made */
    int64_t count;
    cs_labelled_task *task; /* those of a folder by byte order of their names */
} cs_task_list;

/* list: sources separated by commas. reading (NULL: the defaults): what their files hold. CS_ERR_INPUT names
 * what is no corpus, has no labels, a folder without tasks, a file whose columns are not clear or differ
 * on the two sides; CS_ERR_USAGE a corpus without labels, a name that two tasks have. */
cs_status cs_tasks_find(const char *list, const cs_corpus_options *reading,
                        cs_task_list *out) CS_MUST_CHECK;
void cs_tasks_free(cs_task_list *list);

/* "TRAIN [TEST]" and the options of columns and --regression with which a command reads the task, in
 * fresh memory; NULL: none. */
char *cs_task_words(const cs_labelled_task *task) CS_MUST_CHECK;
