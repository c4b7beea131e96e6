/** \file
 * The record of a result: a tree of named values, built once, from which JSON, CSV and aligned
 * text are made.
 *
 * \code
 * cs_result *r = cs_result_new();
 * cs_item *root = cs_result_root(r);
 * cs_item_int(root, "n", rows);
 * cs_item *metrics = cs_item_array(root, "metrics");
 * cs_item *m = cs_item_object(metrics, NULL);
 * cs_item_text(m, "name", "rank_tau");
 * cs_item_real(m, "value", value);
 * status = cs_result_status(r);
 * \endcode
 *
 * The only possible failure is exhausted memory. The first failure is kept and later values are
 * dropped, so one check at the end suffices; every function accepts NULL for an item that could
 * not be made.
 *
 * NaN and infinities are null in JSON; in a table NaN is an empty cell and infinity "inf". A key
 * that begins with '~' appears in tables only.
 */
#pragma once

#include <jansson.h>

#include "base/foreach_macro.h"
#include "io/table.h"

/** A record. */
typedef struct cs_result cs_result;

/** A value in a record; it belongs to the record. */
typedef struct cs_item cs_item;

/** An empty record, NULL if memory is exhausted. Free it with cs_result_free. */
cs_result *cs_result_new(void) CS_MUST_CHECK;

/** Frees a record and sets the pointer to NULL. */
void cs_result_free(cs_result **held);

/** The outermost object; NULL for NULL. */
cs_item *cs_result_root(cs_result *result);

/** The first failure of the record.
 *
 * \retval CS_ERR_MEMORY a value is missing
 */
cs_status cs_result_status(const cs_result *result) CS_MUST_CHECK;

/** Adds a string, copied; NULL is null. For this function and those below: an object receives the
 * value under `key`, an array (`key` NULL) at its end, and a key that the object already has is a
 * bug (assert).
 */
void cs_item_text(cs_item *in, const char *key, const char *text);

/** Adds a text from cs_alloc and takes it over; NULL means that memory was exhausted. */
void cs_item_take(cs_item *in, const char *key, char *text);

/** Adds an integer. */
void cs_item_int(cs_item *in, const char *key, int64_t x);

/** Adds an integer; a negative one is null. */
void cs_item_count(cs_item *in, const char *key, int64_t x);

/** Adds a real. */
void cs_item_real(cs_item *in, const char *key, double x);

/** Adds a truth value. */
void cs_item_flag(cs_item *in, const char *key, bool x);

/** Adds null. */
void cs_item_null(cs_item *in, const char *key);

/** Adds an empty object and returns it. */
cs_item *cs_item_object(cs_item *in, const char *key);

/** Adds an empty array and returns it. */
cs_item *cs_item_array(cs_item *in, const char *key);

/** Adds members of the struct at `of`, each under its own name:
 * `CS_ITEM_FIELDS(item, spectrum, rows, cols, residual, solver)`.
 */
#define CS_ITEM_FIELDS(in, of, ...)                                                                \
    do {                                                                                           \
        CS_EACH(CS_ITEM_FIELD, in, of, __VA_ARGS__)                                                \
    } while (0)

/** \cond INTERNAL */
#define CS_ITEM_FIELD(in, of, name)                                                                \
    _Generic((of)->name,                                                                           \
        bool: cs_item_flag,                                                                        \
        double: cs_item_real,                                                                      \
        int: cs_item_int,                                                                          \
        int64_t: cs_item_int,                                                                      \
        char *: cs_item_text,                                                                      \
        const char *: cs_item_text)(in, #name, (of)->name);
/** \endcond */

/** Adds an array of n reals. */
void cs_item_reals(cs_item *in, const char *key, int64_t n, const double *x);

/** Adds an array of n integers. */
void cs_item_ints(cs_item *in, const char *key, int64_t n, const int64_t *x);

/** Adds a copy of a JSON value and releases the reference; NULL means that memory was exhausted.
 * Returns the new object or array.
 */
cs_item *cs_item_json(cs_item *in, const char *key, json_t *value);

/** How a record becomes a table.
 *
 * `rows` leads to the items that become rows: keys joined by '.', each array (or object, for its
 * members) followed by `[]`, as in `metrics[]` or `matrices[].metrics[]`; "" is the root as a
 * single row. An absent key gives no rows. Several paths, separated by spaces, follow one another.
 * `{A,B}` at the end of a path continues with A, then with B, from each place; '.' is that place
 * itself: `matrices[].{metrics[],baseline.metrics[]}`.
 *
 * `columns` are NAME or NAME=PATH, separated by spaces. A path begins at the row: KEY.KEY... A
 * leading '^' goes to the enclosing object, '/' to the root. `[#]` after a key takes the element
 * with the number of the row in its array (parallel arrays). '.' is the row itself where it is not
 * an object, '#' its number from 1. Of paths separated by '|' the first that exists counts; an
 * absent value is an empty cell.
 *
 * \code
 * {"sigma[]", "index=# sigma=. residual=/residual[#]"}
 * \endcode
 */
typedef struct {
    /** Paths of the rows. */
    const char *rows;
    /** Names and paths of the columns. */
    const char *columns;
} cs_view;

/** The record as JSON, a new reference.
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INPUT a text is not UTF-8; names its key
 */
cs_status cs_result_json(const cs_result *result, json_t **out) CS_MUST_CHECK;

/** The record as the table of a view. Free it with cs_table_free. A view that does not parse is a
 * bug (assert).
 */
cs_status cs_result_table(const cs_result *result, const cs_view *view,
                          cs_table *out) CS_MUST_CHECK;

/** Adds the table of a view to the JSON of the record, as "schema" (Table Schema: names and types
 * of columns) and "data" (an object for each row). `view` NULL: the scalar values of the root as
 * one row. pandas.read_json(path, orient="table") reads it.
 */
cs_status cs_result_add_table(const cs_result *result, const cs_view *view,
                              json_t *json) CS_MUST_CHECK;

/** Writes the table of a view as CSV (cs_table_write_csv). */
cs_status cs_result_write_csv(const cs_result *result, const cs_view *view,
                              const char *path) CS_MUST_CHECK;
