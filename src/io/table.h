/* Tidy long tables as CSV (RFC 4180): one observation a row, a header of names, numbers with 17
 * digits and a '.', whatever the locale. Lines end in LF, not the CRLF of the RFC, so that awk and
 * gnuplot read them; the reader takes both. The same rows can be printed as an aligned text table
 * for people.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef struct cs_table {
    int columns;
    char **name; /* columns */
    int64_t rows, room;
    char **cell; /* rows x columns, row-major, owned text, never NULL ("" when empty) */
} cs_table;

/* names: comma-separated ("objective,sigma,multiplicity"). CS_ERR_USAGE when a name is empty or
 * given twice. */
cs_status cs_table_init(cs_table *table, const char *names) CS_MUST_CHECK;
void cs_table_free(cs_table *table);

/* Starts a row of empty cells. Amortised O(columns). */
cs_status cs_table_row(cs_table *table) CS_MUST_CHECK;

/* Fills a cell of the current row. */
cs_status cs_table_put(cs_table *table, int column, const char *text) CS_MUST_CHECK;

/* The same by column name; an unknown name is a bug (assert). */
cs_status cs_table_text(cs_table *table, const char *column, const char *text) CS_MUST_CHECK;
cs_status cs_table_real(cs_table *table, const char *column,
                        double x) CS_MUST_CHECK; /* NaN: empty; inf: inf */
cs_status cs_table_int(cs_table *table, const char *column, int64_t x) CS_MUST_CHECK;

/* Whether a spreadsheet would take a text for a formula: it begins, perhaps after apostrophes, with
 * = + - @ TAB or CR, more follows, and it is no number. Where it does, CSV has one apostrophe more
 * before it, which reading takes away. */
bool cs_table_formula(const char *text);

/* One field of a row as CSV has it, without the comma. */
void cs_csv_field(FILE *stream, const char *text);

/* Write all rows: CS_ERR_IO when the file or stream fails (what is still in a stream's buffer is
 * seen by the caller's close). Printing as text pads by code points and sets columns of numbers
 * right. */
cs_status cs_table_write_csv(const cs_table *table, const char *path) CS_MUST_CHECK; /* atomic */
cs_status cs_table_print_csv(const cs_table *table, FILE *stream) CS_MUST_CHECK;
cs_status cs_table_print_text(const cs_table *table,
                              FILE *stream) CS_MUST_CHECK; /* aligned, numbers in %.6g */

/* Reads a CSV of at most 1 GiB with a header (RFC 4180 quoting; LF or CRLF; a byte order mark is
 * skipped). CS_ERR_INPUT names FILE:LINE: a row whose fields are not as many as the header's, a
 * quote left open or misplaced, a column named twice, a NUL byte. */
cs_status cs_table_read_csv(const char *path, cs_table *out) CS_MUST_CHECK;

/* Column number of a name, -1 if absent; O(columns). */
int cs_table_column(const cs_table *table, const char *name);
