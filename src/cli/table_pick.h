/* Rows of a result table, picked by words: where=COLUMN:VALUE (all of them), every=N and limit=N of
 * those that fit, columns=a,b. The report's directives and the claims share them. */
#ifndef CS_CLI_TABLE_PICK_H
#define CS_CLI_TABLE_PICK_H

#include <stdint.h>

#include "base/status.h"
#include "io/table.h"

enum { CS_PICK_FILTERS = 8 };

typedef struct {
    int filters;
    int column[CS_PICK_FILTERS];
    const char *value[CS_PICK_FILTERS]; /* borrowed from the words, as is `columns` */
    int64_t every, limit;
    char *columns; /* NULL: all */
} cs_pick;

/* The words are cut up. CS_ERR_INPUT names a word of another form, a column that `path` has not. */
cs_status cs_pick_parse(const cs_table *table, const char *path, int words, char **word,
                        cs_pick *out) CS_MUST_CHECK;

/* Whether a row fits every where=. */
bool cs_pick_takes(const cs_pick *pick, const cs_table *table, int64_t row);

/* The first row that fits. CS_ERR_INPUT when none does. */
cs_status cs_pick_first(const cs_pick *pick, const cs_table *table, const char *path,
                        int64_t *row) CS_MUST_CHECK;

#endif
