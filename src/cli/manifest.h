/* Shared by output.c and manifest.c. */
#pragma once

#include "base/status.h"
#include "cli/opt.h"

/* Prints the stored result <name> of DIR (-o) in the requested form. */
cs_status cs_output_again(cs_args *args, const char *name) CS_MUST_CHECK;
