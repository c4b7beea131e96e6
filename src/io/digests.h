/* Digests of the files of a result, in the manifest.json of its folder:
 *
 *   "outputs": [{"path": "rank.csv", "bytes": 120, "sha256": "..."}, ...]
 *
 * Paths are relative to the folder. Above CS_DIGEST_LARGE bytes "xxh3" (XXH3-128) replaces
 * "sha256", which would take as long as writing. Commands that read a file of a result verify it
 * (cs_path_sha256). The record may be in the folder of the file or in the two folders above it,
 * also those of the target of a link; a file without a record passes. The "sha256" of the manifest
 * itself (cs_digest_json) detects an incomplete write. In a training checkpoint trainer.json takes the
 * place of the manifest. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

#define CS_DIGEST_LARGE ((int64_t)64 << 20)
enum { CS_DIGEST_FOLDERS = 3 }; /* folders whose manifest.json may record a file */

/* Records the file `name` in `dir`, or all files in a folder whose names do not begin with a dot.
 * Files that are already recorded, missing or not regular are skipped. CS_ERR_IO, CS_ERR_MEMORY,
 * CS_ERR_INTERRUPT. */
cs_status cs_digest_put(json_t *outputs, const char *dir, const char *name) CS_MUST_CHECK;

/* Adds records of the manifest.json in `dir` for files that still exist and are not in `outputs`:
 * those of another run into the same folder. */
cs_status cs_digest_keep(json_t *outputs, const char *dir) CS_MUST_CHECK;

/* CS_ERR_INPUT, with advice, if the file differs from its record or the record is damaged; a missing
 * file passes unless it is recorded. Reads O(1) other files, and the file itself. */
cs_status cs_digest_check_file(const char *path) CS_MUST_CHECK;

/* The same for every file that the manifest.json in `dir` records; a missing one is CS_ERR_INPUT.
 */
cs_status cs_digest_check_all(const char *dir) CS_MUST_CHECK;

/* The same for its .csv, .json and .svg files of at most CS_DIGEST_LARGE bytes: the part of a
 * result without models and arrays, in a fraction of the time. */
cs_status cs_digest_check_tables(const char *dir) CS_MUST_CHECK;

/* The same for every file of the "outputs" of a record that is not a manifest.json, and for the record
 * itself, which cs_digest_write has written to `path`. */
cs_status cs_digest_check_own(const char *path, json_t *record, const char *dir) CS_MUST_CHECK;

/* Whether it is a manifest that a command of this program, or of an earlier one, has written. */
bool cs_digest_is_ours(const json_t *manifest);

/* Whether the digest of a manifest itself is correct; older manifests have none. CS_ERR_MEMORY
 * only. */
cs_status cs_digest_is_whole(json_t *manifest, bool *whole) CS_MUST_CHECK;

/* The record in the manifest.json of a folder, for checks of many files; NULL: none. CS_ERR_MEMORY;
 * CS_ERR_IO if it cannot be read; CS_ERR_INPUT if it is damaged. */
cs_status cs_digest_record(const char *dir, json_t **outputs) CS_MUST_CHECK;

/* SHA-256 of a JSON object without its key "sha256", with sorted keys and no spaces. */
cs_status cs_digest_json(json_t *object, char hex[65]) CS_MUST_CHECK;

/* Sets this digest as the key "sha256" and writes the record. */
cs_status cs_digest_write(const char *path, json_t *record) CS_MUST_CHECK;

/* The first input of a manifest whose hash has changed: "PATH: its SHA-256 was X and is Y" in fresh
 * memory; NULL if there is none. CS_ERR_IO if an input cannot be read. */
cs_status cs_digest_changed_input(const json_t *manifest, char **change) CS_MUST_CHECK;

/* Whether a record lists the file, or the target of a link: reading it then verifies it. Errors as
 * cs_digest_record. */
cs_status cs_digest_lists(const char *path, bool *out) CS_MUST_CHECK;

/* SHA-256 of a file, or for a directory that of the list of the names and hashes of its files in
 * byte order, or for a pattern that of the lines "SHA-256  PATH" of its files in byte order; *bytes receives their total size. A file of a result must match its manifest.json,
 * else CS_ERR_INPUT. CS_ERR_IO names a path that cannot be read, CS_ERR_INPUT folders
 * nested too deeply and links back to a parent folder. */
cs_status cs_path_sha256(const char *path, json_t *cache, char hex[65],
                         int64_t *bytes) CS_MUST_CHECK;
