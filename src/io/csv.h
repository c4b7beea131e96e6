/* Records of CSV in memory (RFC 4180; LF or CR LF), fields unquoted in place. */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    const char *path; /* for messages */
    char *at, *end;   /* unread text; a NUL is at `end` */
    int64_t line;     /* of `at`, from 1 */
    char **field; /* of the record that was read; they point into the text; the caller's to free */
    int fields;
    int64_t room;
} cs_csv;

/* Reads one record with its line end; at < end before. CS_ERR_INPUT names FILE:LINE: a quote that is
 * never closed, or in an unquoted field; text after a closing quote. */
cs_status cs_csv_record(cs_csv *r) CS_MUST_CHECK;
