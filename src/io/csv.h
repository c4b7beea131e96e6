/* Records of CSV in memory (RFC 4180; LF or CR LF). Fields are unquoted in place. */
#pragma once

#include <stdint.h>

#include "base/status.h"

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
