/** \file
 * JSON (Jansson) with file and line in every parse error, and with numbers that survive a round
 * trip.
 *
 * Reals are written with 17 significant digits and a '.', whatever the locale. NaN and infinities,
 * which JSON lacks, become null. Values follow the reference counts of Jansson: free a result with
 * json_decref.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/** A finite real, or null. NULL if memory is exhausted. */
json_t *cs_json_number(double x);

/** An array of n reals. NULL if memory is exhausted. */
json_t *cs_json_numbers(int64_t n, const double *x);

/** A string; bytes that are not UTF-8 (a path may hold any) become '?', and NULL becomes "". NULL
 * if memory is exhausted.
 */
json_t *cs_json_text(const char *text);

/** json_decref of `*value`, for CS_DELIVER. */
void cs_json_free(json_t **value);

/** The value of a key of `length` bytes, borrowed; NULL if there is none. As json_object_getn of
 * Jansson 2.14; time linear in the number of keys.
 */
const json_t *cs_json_member(const json_t *object, const char *key, size_t length);

/** Sets object[key] and takes over the reference to `value`.
 *
 * \retval CS_ERR_MEMORY `value` is NULL, or allocation failed
 */
cs_status cs_json_set(json_t *object, const char *key, json_t *value) CS_MUST_CHECK;

/** As cs_json_set for several calls in a row: `*status` receives the first failure and keeps it. */
void cs_json_put(cs_status *status, json_t *object, const char *key, json_t *value);

/** \retval CS_ERR_MEMORY an allocation for a JSON value has failed since the last call, so some
 *     value is incomplete. A failure whose reason was cleared does not count. Writing a value
 *     checks this, so that building one needs no checks.
 */
cs_status cs_json_check(void) CS_MUST_CHECK;

/** Reads a file of at most 256 MiB. Any JSON value may be at the top.
 *
 * \param out receives a new reference
 * \retval CS_ERR_INPUT "FILE:LINE:COLUMN: text"; also for a key that occurs twice
 * \retval CS_ERR_IO the file cannot be read
 */
cs_status cs_json_read(const char *path, json_t **out) CS_MUST_CHECK;

/** As cs_json_read, with every integer as a real, for files whose integers may exceed 64 bits. */
cs_status cs_json_read_reals(const char *path, json_t **out) CS_MUST_CHECK;

/** As cs_json_read for `size` bytes in memory; `name` stands for the file in messages. */
cs_status cs_json_parse(const char *name, const char *text, int64_t size,
                        json_t **out) CS_MUST_CHECK;

/** As cs_json_parse, for a text that begins at line `first` of the file `name`. */
cs_status cs_json_parse_line(const char *name, int64_t first, const char *text, int64_t size,
                             json_t **out) CS_MUST_CHECK;

/** Refuses unknown keys.
 *
 * \param known the allowed keys, separated by commas
 * \retval CS_ERR_INPUT not an object, or a key that is not allowed, with the most similar allowed
 *     one
 */
cs_status cs_json_known(const json_t *object, const char *known) CS_MUST_CHECK;

/** As cs_json_known, and reads the members. For each member pass its key and the address that
 * receives its value, borrowed.
 *
 * \param kinds a letter for each member: s const char *, b int, l an array, m an object, o any
 *     value (json_t *). A '?' after the letter marks an optional member, whose address is left
 *     unchanged if it is absent
 * \retval CS_ERR_INPUT a member is missing, unknown or of another kind
 */
cs_status cs_json_unpack(const json_t *object, const char *kinds, ...) CS_MUST_CHECK;

/** Reads the members of an object one by one. The first that is missing or of another kind sets
 * `status` to CS_ERR_INPUT ("field 'PATHKEY' is missing or not KIND"); values read after it are
 * meaningless.
 */
typedef struct {
    /** Borrowed. */
    const json_t *object;
    /** Text before the keys in messages: "" or "corpus.". */
    const char *path;
    /** The first failure. */
    cs_status status;
} cs_json_reader;

/** An integer that is at least `least`. */
int64_t cs_json_int(cs_json_reader *r, const char *key, int64_t least);

/** A real; with `null_too`, null is read as NaN. */
double cs_json_real(cs_json_reader *r, const char *key, bool null_too);

/** A truth value. */
bool cs_json_flag(cs_json_reader *r, const char *key);

/** A string, borrowed from the object; never NULL. */
const char *cs_json_word(cs_json_reader *r, const char *key);

/** The text of a member of an object; "" if it is missing or no text. */
const char *cs_json_string(const json_t *object, const char *key);

/** The index of a string among `names`, which ends with NULL. */
int cs_json_name(cs_json_reader *r, const char *key, const char *const *names);

/** A reader of the member `key`, which is an object. Copy its status back yourself. */
cs_json_reader cs_json_inner(cs_json_reader *r, const char *key, const char *path);

/** Sets the failure of the reader: the value of `key` is not `wanted`. */
void cs_json_refuse(cs_json_reader *r, const char *key, const char *wanted);

/** Writes indented JSON to a file, atomically.
 *
 * \retval CS_ERR_IO the file cannot be written
 * \retval CS_ERR_MEMORY memory is exhausted, or a value contains itself
 */
cs_status cs_json_write(const char *path, const json_t *value) CS_MUST_CHECK;

/** As cs_json_write to an open stream. Errors of data that remain in the buffer of the stream
 * appear when the caller closes it.
 */
cs_status cs_json_print(FILE *stream, const json_t *value) CS_MUST_CHECK;
