/* The identity of an input: a file, or a directory with all its content. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

/* SHA-256 of a file, or for a directory that of the list of the names and hashes of its files in
 * byte order; *bytes receives their total size. A file of a result must match its manifest.json
 * (digests.h), else CS_ERR_INPUT. CS_ERR_IO names a path that cannot be read, CS_ERR_INPUT folders
 * nested too deeply and links back to a parent folder. cache: of cs_digest_check. */
cs_status cs_path_sha256(const char *path, json_t *cache, char hex[65],
                         int64_t *bytes) CS_MUST_CHECK;
