/* JSON results (Jansson), with file and line in every parse error, and numbers that survive a round
 * trip.
 *
 * Reals are written with 17 significant digits and a '.', whatever the locale; NaN and infinities,
 * which JSON lacks, become null.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* A finite double, or null. Never NULL unless out of memory. */
json_t *cs_json_number(double x);

/* An array of numbers. NULL when out of memory. */
json_t *cs_json_numbers(int64_t n, const double *x);

/* A string; bytes that are not UTF-8 (a path may hold any) become '?'. NULL text: "". NULL when out
 * of memory. */
json_t *cs_json_text(const char *text);

/* As json_decref, for CS_DELIVER. */
void cs_json_free(json_t **value);

/* The value of the key of `length` bytes at `key`, borrowed; NULL: none. As json_object_getn of
 * Jansson 2.14, in time linear in the number of keys. */
const json_t *cs_json_member(const json_t *object, const char *key, size_t length);

/* Sets object[key] = value, stealing the value (as json_object_set_new); CS_ERR_MEMORY when value
 * is NULL. */
cs_status cs_json_set(json_t *object, const char *key, json_t *value) CS_MUST_CHECK;

/* The same in a row: *status receives the first failure, and stays what it was where it is one. */
void cs_json_put(cs_status *status, json_t *object, const char *key, json_t *value);

/* CS_ERR_MEMORY when an allocation for a JSON value failed since this was last asked, so that a
 * value lacks something; not when its reason has been cleared, which means that it was dealt with.
 * Writing asks it: the many json_array() of a large value need no check of their own. */
cs_status cs_json_check(void) CS_MUST_CHECK;

/* Reads a file of at most 256 MiB; CS_ERR_INPUT "FILE:LINE:COLUMN: text", also for a key given
 * twice. Any JSON value may be at the top. */
cs_status cs_json_read(const char *path, json_t **out) CS_MUST_CHECK;

/* The same for a text in memory; `name` is for messages. */
cs_status cs_json_parse(const char *name, const char *text, int64_t size,
                        json_t **out) CS_MUST_CHECK;

/* CS_ERR_INPUT for a value that is no object, or a key of it that is not among `known` (parted by
 * commas), with the nearest. */
cs_status cs_json_known(const json_t *object, const char *known) CS_MUST_CHECK;

/* The same, and its members: for each a letter of `kinds`, its key, and where it goes, borrowed. s const
 * char *, b int, l an array, m an object, o any value, json_t *; one that may be absent, whose place stays
 * as it is, has a '?' behind its letter. CS_ERR_INPUT names one that is missing or of another kind. */
cs_status cs_json_unpack(const json_t *object, const char *kinds, ...) CS_MUST_CHECK;

/* Takes the members of an object one after the other: the first that is missing or of another kind
 * is CS_ERR_INPUT "field 'PATHKEY' is missing or not KIND" in `status`, and what is taken after it
 * means nothing. */
typedef struct {
    const json_t *object;
    const char *path; /* before the keys in messages, "" or "corpus." */
    cs_status status;
} cs_json_reader;

int64_t cs_json_int(cs_json_reader *r, const char *key, int64_t least);
double cs_json_real(cs_json_reader *r, const char *key, bool null_too); /* null is NaN */
bool cs_json_flag(cs_json_reader *r, const char *key);
const char *cs_json_word(cs_json_reader *r, const char *key); /* never NULL */

/* The number of a text among names, which a NULL ends. */
int cs_json_name(cs_json_reader *r, const char *key, const char *const *names);

/* A reader of a member that is an object; its status goes back by hand. */
cs_json_reader cs_json_inner(cs_json_reader *r, const char *key, const char *path);

/* Fails as a reader does, for a value that is not what was `wanted`. */
void cs_json_refuse(cs_json_reader *r, const char *key, const char *wanted);

/* Writes pretty JSON atomically / to an open stream. CS_ERR_IO when the stream fails (what is still
 * in its buffer is seen by the caller's close), CS_ERR_MEMORY when memory is short or a value holds
 * itself. */
cs_status cs_json_write(const char *path, const json_t *value) CS_MUST_CHECK;
cs_status cs_json_print(FILE *stream, const json_t *value) CS_MUST_CHECK;
