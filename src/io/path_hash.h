/* The identity of an input: a file, or a directory with all that is below it. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* SHA-256 of a file; of a directory: of the list of its files' names and hashes, in byte order;
 * *bytes: of all. A file of a result must be as its manifest.json records it (digests.h): else
 * CS_ERR_INPUT. CS_ERR_IO names what cannot be read, CS_ERR_INPUT folders too deep and links back to a
 * folder above. */
cs_status cs_path_sha256(const char *path, char hex[65], int64_t *bytes) CS_MUST_CHECK;
