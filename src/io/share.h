/* Files that are part of the program: scripts that prepare corpora (data/), figures and the text of
 * the report (plots/).
 *
 * They are searched in $COSPEC_SHARE, then in ../share/cospec from the folder of the program or of
 * libcospec.so, then in the source tree of the build. */
#pragma once

#include "base/status.h"

/* The path of such a file ("plots/style.gp") in fresh memory; CS_ERR_IO names the places that were
 * searched. */
cs_status cs_share_path(const char *relative, char **out) CS_MUST_CHECK;
