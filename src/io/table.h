/** \file
 * Tables in memory and as CSV (RFC 4180): a header of names, one observation a row, numbers with
 * 17 significant digits and a '.' whatever the locale. Lines end in LF, so that awk and gnuplot
 * read them; the reader accepts CRLF too.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/** A table of text. */
typedef struct cs_table {
    /** Number of columns. */
    int columns;
    /** `columns` names. */
    char **name;
    /** Number of rows. */
    int64_t rows;
    /** Capacity in rows. */
    int64_t capacity;
    /** rows x columns texts, row-major, owned, never NULL. */
    char **cell;
} cs_table;

/** An empty table. Free it with cs_table_free.
 *
 * \param table receives the table
 * \param names names of the columns, separated by commas
 * \retval CS_ERR_USAGE a name is empty or occurs twice
 */
cs_status cs_table_init(cs_table *table, const char *names) CS_MUST_CHECK;

/** Frees the table; accepts a zeroed object. */
void cs_table_free(cs_table *table);

/** Appends a row of empty cells, which becomes the current row. Amortised O(columns). */
cs_status cs_table_row(cs_table *table) CS_MUST_CHECK;

/** Sets a cell of the current row by the name of its column; an unknown name is a bug (assert). The
 * text is copied. */
cs_status cs_table_text(cs_table *table, const char *column, const char *text) CS_MUST_CHECK;

/** As cs_table_text for a real. NaN is an empty cell, infinity "inf". */
cs_status cs_table_real(cs_table *table, const char *column, double x) CS_MUST_CHECK;

/** As cs_table_text for an integer. */
cs_status cs_table_int(cs_table *table, const char *column, int64_t x) CS_MUST_CHECK;

/** Whether a spreadsheet would take a text for a formula: after any apostrophes it begins with = +
 * - @, TAB or CR, has more characters, and is not a number. CSV then has one more apostrophe
 * before it, which reading removes.
 */
bool cs_table_formula(const char *text);

/** Writes one field of a CSV row, without the comma. */
void cs_csv_field(FILE *stream, const char *text);

/** Writes the table as CSV, atomically.
 *
 * \retval CS_ERR_IO the file cannot be written
 */
cs_status cs_table_write_csv(const cs_table *table, const char *path) CS_MUST_CHECK;

/** As cs_table_write_csv to an open stream. Errors of data that remain in its buffer appear when
 * the caller closes it.
 */
cs_status cs_table_print_csv(const cs_table *table, FILE *stream) CS_MUST_CHECK;

/** Writes an aligned table for reading: numbers in %.6g and aligned right, text padded by code
 * points.
 */
cs_status cs_table_print_text(const cs_table *table, FILE *stream) CS_MUST_CHECK;

/** Reads a CSV of at most 1 GiB with a header. A byte order mark is skipped.
 *
 * \retval CS_ERR_INPUT a row with another number of fields than the header, an open or misplaced
 *     quote, a column named twice, or a NUL byte; names FILE:LINE
 * \retval CS_ERR_IO the file cannot be read
 */
cs_status cs_table_read_csv(const char *path, cs_table *out) CS_MUST_CHECK;

/** Number of the column with this name, -1 if there is none. O(columns). */
int cs_table_column(const cs_table *table, const char *name);

/** \cond INTERNAL */
/* --- records of CSV in memory (RFC 4180; LF or CR LF); fields are unquoted in place --- */

typedef struct {
    const char *path; /* for messages */
    char *at, *end;   /* unread text; *end is a NUL */
    int64_t line;     /* number of the line at `at`, from 1 */
    /* fields of the last record, which point into the text; the caller frees the array */
    char **field;
    int fields;
    int64_t capacity;
} cs_csv;

/* Reads one record with its line end; requires at < end. CS_ERR_INPUT names FILE:LINE: a quote that
 * is never closed or is in an unquoted field; text after a closing quote. */
cs_status cs_csv_record(cs_csv *r) CS_MUST_CHECK;
/** \endcond */
