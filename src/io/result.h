/* The record of a result: a tree of named values, filled once, from which JSON, CSV and aligned
 * text follow.
 *
 *     cs_result *r = cs_result_new();
 *     cs_item *root = cs_result_root(r);
 *     cs_item_int(root, "n", rows);
 *     cs_item *metrics = cs_item_array(root, "metrics");
 *     cs_item *m = cs_item_object(metrics, NULL);
 *     cs_item_text(m, "name", "rank_tau");
 *     cs_item_real(m, "value", value);
 *     status = cs_result_status(r);
 *
 * The first failure stays (memory is all that can fail), and what is added after it is dropped: one
 * look at the end is enough. Every function takes NULL for an item that could not be made.
 *
 * Reals keep what JSON cannot say: NaN and infinities are null there, while a table has an empty
 * cell for NaN and "inf". A key that begins with '~' is for tables alone.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/each.h"
#include "base/status.h"
#include "io/table.h"

typedef struct cs_result cs_result;
typedef struct cs_item cs_item;

/* NULL when memory is exhausted. */
cs_result *cs_result_new(void) CS_MUST_CHECK;
void cs_result_free(cs_result **held);

/* The outermost object; NULL for NULL. */
cs_item *cs_result_root(cs_result *result);

/* CS_OK, or why something is missing. */
cs_status cs_result_status(const cs_result *result) CS_MUST_CHECK;

/* Add a value: to an object under `key`, to an array (key NULL) at its end. Texts and numbers are
 * copied; text NULL is null. A key that the object has is a bug (assert). */
void cs_item_text(cs_item *in, const char *key, const char *text);
/* Takes a text from cs_alloc over; NULL: out of memory. */
void cs_item_take(cs_item *in, const char *key, char *text);
void cs_item_int(cs_item *in, const char *key, int64_t x);
void cs_item_count(cs_item *in, const char *key, int64_t x); /* null below 0 */
void cs_item_real(cs_item *in, const char *key, double x);
void cs_item_flag(cs_item *in, const char *key, bool x);
void cs_item_null(cs_item *in, const char *key);
cs_item *cs_item_object(cs_item *in, const char *key);
cs_item *cs_item_array(cs_item *in, const char *key);

/* Members of the struct at `of`, each under its own name and as its type has it:
 *     CS_ITEM_FIELDS(item, spectrum, rows, cols, residual, solver) */
#define CS_ITEM_FIELDS(in, of, ...)                                                                \
    do {                                                                                           \
        CS_EACH(CS_ITEM_FIELD, in, of, __VA_ARGS__)                                                \
    } while (0)
#define CS_ITEM_FIELD(in, of, name)                                                                \
    _Generic((of)->name,                                                                           \
        bool: cs_item_flag,                                                                        \
        double: cs_item_real,                                                                      \
        int: cs_item_int,                                                                          \
        int64_t: cs_item_int,                                                                      \
        char *: cs_item_text,                                                                      \
        const char *: cs_item_text)(in, #name, (of)->name);

/* An array of n numbers at once. */
void cs_item_reals(cs_item *in, const char *key, int64_t n, const double *x);
void cs_item_ints(cs_item *in, const char *key, int64_t n, const int64_t *x);

/* A copy of a value that exists as JSON; takes the reference, NULL: out of memory. Returns what an
 * object or array became. */
cs_item *cs_item_json(cs_item *in, const char *key, json_t *value);

/* How a record becomes a table. `rows` leads to the items that are rows: keys joined by '.', each
 * array (or object, for its members that JSON has) followed by "[]": "metrics[]",
 * "matrices[].metrics[]"; "" for the root as the one row. An absent key gives no rows. Several,
 * parted by blanks, follow one another; "{A,B}" at the end of a path goes on with A, then with B,
 * from each place that led there, where '.' is that place itself:
 * "matrices[].{metrics[],baseline.metrics[]}".
 *
 * `columns` are NAME or NAME=PATH, parted by blanks. A path begins at the row: KEY.KEY...; each
 * leading '^' goes to the object around it, '/' to the root; "[#]" after a key takes the element
 * with the number of the row in its array (parallel arrays); '.' is the row itself where it is no
 * object, '#' its number from 1. Of paths parted by '|' the first that leads somewhere counts; what
 * is absent is an empty cell.
 *
 *     {"sigma[]", "index=# sigma=. residual=/residual[#]"}
 */
typedef struct {
    const char *rows, *columns;
} cs_view;

/* The record as JSON. CS_ERR_MEMORY; CS_ERR_INPUT: a text that is not UTF-8, by its key. */
cs_status cs_result_json(const cs_result *result, json_t **out) CS_MUST_CHECK;

/* The record as the table of a view. A view that does not parse is a bug (assert). */
cs_status cs_result_table(const cs_result *result, const cs_view *view,
                          cs_table *out) CS_MUST_CHECK;

/* Adds the table of a view to the record's JSON as "schema" (Table Schema: names and types of the
 * columns) and "data" (an object a row; view NULL: the single values of the root as one row), which pandas.read_json(path, orient="table") reads. */
cs_status cs_result_add_table(const cs_result *result, const cs_view *view,
                              json_t *json) CS_MUST_CHECK;

/* That table as a file (cs_table_write_csv). */
cs_status cs_result_write_csv(const cs_result *result, const cs_view *view,
                              const char *path) CS_MUST_CHECK;
