/* Shared by output.c, manifest.c and cmd_rerun.c. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "cli/opt.h"

/* Makes the stored result <name> of DIR (-o) what is printed, in the form asked for. */
cs_status cs_output_again(cs_args *args, const char *name) CS_MUST_CHECK;

/* The first input of the manifest whose hash is another now: "PATH: its SHA-256 was X and is Y" in
 * fresh memory; NULL when there is none. CS_ERR_IO when one cannot be read. */
cs_status cs_manifest_changed_input(const json_t *manifest, char **change) CS_MUST_CHECK;
