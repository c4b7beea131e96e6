/* Tidy long tables as CSV (RFC 4180): one observation a row, a header of names, numbers with 17
 * digits. The same rows can be printed as an aligned text table for people.
 */
#ifndef CS_IO_TABLE_H
#define CS_IO_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef struct cs_table {
    int columns;
    char **name; /* columns */
    int64_t rows, room;
    char **cell; /* rows x columns, row-major, owned text */
} cs_table;

/* names: comma-separated ("objective,sigma,multiplicity"). */
cs_status cs_table_init(cs_table *table, const char *names) CS_MUST_CHECK;
void cs_table_free(cs_table *table);

/* Starts a row of empty cells. */
cs_status cs_table_row(cs_table *table) CS_MUST_CHECK;

/* Fill a cell of the current row by column name; an unknown name is a bug (assert). */
cs_status cs_table_text(cs_table *table, const char *column, const char *text) CS_MUST_CHECK;
cs_status cs_table_real(cs_table *table, const char *column,
                        double x) CS_MUST_CHECK; /* NaN: empty; inf: inf */
cs_status cs_table_int(cs_table *table, const char *column, int64_t x) CS_MUST_CHECK;

cs_status cs_table_write_csv(const cs_table *table, const char *path) CS_MUST_CHECK; /* atomic */
cs_status cs_table_print_csv(const cs_table *table, FILE *stream) CS_MUST_CHECK;
cs_status cs_table_print_text(const cs_table *table,
                              FILE *stream) CS_MUST_CHECK; /* aligned, numbers in %.6g */

/* Reads a CSV with a header (RFC 4180 quoting); errors name FILE:LINE. */
cs_status cs_table_read_csv(const char *path, cs_table *out) CS_MUST_CHECK;

/* Column number of a name, -1 if absent. */
int cs_table_column(const cs_table *table, const char *name);

#endif
