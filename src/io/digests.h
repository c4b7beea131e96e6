/* Digests of a result's files, in the manifest.json of its folder:
 *
 *   "outputs": [{"path": "rank.csv", "bytes": 120, "sha256": "..."}, ...]
 *
 * path below the folder; above CS_DIGEST_LARGE bytes "xxh3" (XXH3-128) stands in place of "sha256",
 * which would take as long as writing. What reads a file of a result as an input has it checked
 * (cs_path_sha256), and a file that no manifest.json of its folder, or of the two above, records
 * passes; through a link also where the link leads. The manifest's own "sha256" (cs_digest_json) says
 * whether it is whole. In a checkpoint of training, trainer.json has its place, with "files".
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

#define CS_DIGEST_LARGE ((int64_t)64 << 20)
enum { CS_DIGEST_FOLDERS = 3 }; /* whose manifest.json may have a file */

/* Records the file `name` below `dir`, or of a folder all files in it whose names begin with no dot;
 * what is recorded already, not there or no regular file is passed over. CS_ERR_IO, CS_ERR_MEMORY,
 * CS_ERR_INTERRUPT. */
cs_status cs_digest_put(json_t *outputs, const char *dir, const char *name) CS_MUST_CHECK;

/* Takes over what the manifest.json in `dir` records of files that are still there and that
 * `outputs` does not have: those of another run into the same folder. */
cs_status cs_digest_keep(json_t *outputs, const char *dir) CS_MUST_CHECK;

/* CS_ERR_INPUT, with what to do, where the file is not the one that was recorded or the record is
 * damaged. sha256: of the file. O(1) files read, but for the file itself where it is large. */
cs_status cs_digest_check(const char *path, const char *sha256) CS_MUST_CHECK;

/* The same of a file whose digest is not known; one that is not there passes where nothing records it. */
cs_status cs_digest_check_file(const char *path) CS_MUST_CHECK;

/* The same of every file that the manifest.json in `dir` records; CS_ERR_INPUT also where one is
 * missing. */
cs_status cs_digest_check_all(const char *dir) CS_MUST_CHECK;

/* The same of its .csv, .json and .svg files of at most CS_DIGEST_LARGE bytes alone: what is read of a
 * result without its models and arrays, in a fraction of the time. */
cs_status cs_digest_check_tables(const char *dir) CS_MUST_CHECK;

/* The same of every file of `outputs`, a record that is not in a manifest.json. */
cs_status cs_digest_check_each(const json_t *outputs, const char *dir) CS_MUST_CHECK;

/* Whether a manifest's own digest is right; older ones have none. CS_ERR_MEMORY is all that can fail. */
cs_status cs_digest_is_whole(json_t *manifest, bool *whole) CS_MUST_CHECK;

/* What the manifest.json in a folder records, for many checks of files there; NULL: nothing.
 * CS_ERR_MEMORY; CS_ERR_IO where it cannot be read; CS_ERR_INPUT where it is damaged. sha256 NULL: the
 * file is not there. */
cs_status cs_digest_record(const char *dir, json_t **outputs) CS_MUST_CHECK;
cs_status cs_digest_check_in(const json_t *outputs, const char *dir, const char *name,
                             const char *sha256) CS_MUST_CHECK;

/* SHA-256 of a JSON object without its own key "sha256", keys sorted, without blanks. */
cs_status cs_digest_json(json_t *object, char hex[65]) CS_MUST_CHECK;

/* The first input of a manifest whose hash is another now: "PATH: its SHA-256 was X and is Y" in
 * fresh memory; NULL when there is none. CS_ERR_IO when one cannot be read. */
cs_status cs_digest_changed_input(const json_t *manifest, char **change) CS_MUST_CHECK;
