/* Lists of labelled tasks: labelled corpora (text/corpus.h), and folders of tasks in the layouts of
 * GLUE, of .tsv, .csv or .jsonl, each also with .gz.
 *
 *   FOLDER/train.tsv        with dev.tsv, or dev_matched.tsv and dev_mismatched.tsv, which are two
 *                           tasks of one training side (MNLI: NAME-m, NAME-mm), or test.tsv
 *   FOLDER/NAME/train.tsv   the same, of several tasks
 *   FOLDER/NAME.train.tsv   with NAME.dev.tsv or NAME.test.tsv
 *
 * Without a test side, the held-out documents of the training side are used. Columns are those
 * named by a header line (text/columns_private.h). A file without one has label, text, and for
 * GLUE's tasks of pairs a second text; CoLA with four columns has source, label, mark, text. GLUE's
 * tasks are recognised by the beginning of their names (cola, sst2, mrpc, stsb, qqp, mnli, qnli,
 * rte, wnli; letters and digits, in any case). Their test.tsv, which has no labels, is not read. */
#pragma once

#include "base/mem.h"
#include "stats/metrics.h"
#include "text/corpus.h"

typedef struct {
    const char *name;
    const char *train, *test;  /* test NULL: held out from train */
    bool named;                /* a named corpus, or a synthetic language: not a file */
    bool pictures;             /* of pictures */
    int64_t label, text, pair; /* columns from 1; pair 0: single texts; 0: no file of columns */
    int64_t test_label;        /* of the test side (MNLI: another) */
    bool regression;
    cs_metric look_ahead, mae_lm; /* metrics of LA's Table 2 and MAE-LM's Table 1 */
} cs_labelled_task;

typedef struct {
    cs_pool pool;
    cs_corpus_options reading; /* borrows its texts while the list is built */
    int64_t count;
    cs_labelled_task *task; /* those of a folder by byte order of their names */
} cs_task_list;

/* list: sources separated by commas. reading (NULL: the defaults): format of their files.
 * CS_ERR_INPUT names a source that is not a corpus or has no labels, a folder without tasks, a file
 * whose columns are unclear or differ on the two sides; CS_ERR_USAGE a corpus without labels, a
 * name of two tasks. */
cs_status cs_tasks_find(const char *list, const cs_corpus_options *reading,
                        cs_task_list *out) CS_MUST_CHECK;
void cs_tasks_free(cs_task_list *list);

/* The options of columns and --regression with which a command reads the task, each after a blank,
 * in fresh memory; NULL without memory. */
char *cs_task_columns(const cs_labelled_task *task) CS_MUST_CHECK;
