/* The files that come with the program: scripts that prepare corpora (data/), figures and the
 * report's text (plots/).
 *
 * Looked for under $COSPEC_SHARE, then ../share/cospec from the folder of the program or of
 * libcospec.so, then the source tree it was built from.
 */
#pragma once

#include "base/status.h"

/* The path of a shared file ("plots/style.gp") in fresh memory; CS_ERR_IO names the places where it
 * was looked for. */
cs_status cs_share_path(const char *relative, char **out) CS_MUST_CHECK;
