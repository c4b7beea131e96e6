/* The identity of a run: a JSON object of every setting that its results depend on, by name, and of
 * the digests of its inputs under "inputs". Two runs are the same if their objects are equal. A
 * checkpoint contains the object, and a run continues only from its own checkpoint. Settings that
 * change nothing in the results (threads, memory, intervals of logs) have no place in it. */
#pragma once

#include <jansson.h>

#include "base/status.h"

/* The version of the files of checkpoints. It rises when the settings of any run, their names, or the
 * files change their meaning. */
enum { CS_RUN_VERSION = 2 };

/* CS_ERR_USAGE names the first setting that differs, with both values: "WHERE belongs to a WHATkey 1,
 * not 2". Objects are compared member by member. CS_ERR_INPUT: a member of "inputs" differs. */
cs_status cs_run_same(const char *where, const char *what, const json_t *was,
                      const json_t *now) CS_MUST_CHECK;

/* The object that a file of a checkpoint begins with: its format, the version of the format and that
 * of the program. NULL if memory is exhausted. */
json_t *cs_run_header(const char *format) CS_MUST_CHECK;

/* CS_ERR_INPUT: the object is of another format. CS_ERR_USAGE: another version of the program wrote
 * it, and identities of runs have changed since. */
cs_status cs_run_header_check(const char *path, const json_t *index,
                              const char *format) CS_MUST_CHECK;
