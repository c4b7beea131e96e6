/* --html FILE: a page for a browser. */
#pragma once

#include <jansson.h>

#include "cli/opt.h"

/* Before the work, if --html is given: FILE can be written, and does not exist, or is an earlier page
 * and --force is given. */
cs_status cs_page_claim(cs_args *args) CS_MUST_CHECK;

/* Writes FILE from the template plots/<name>.html (io/page.h), and says so. */
cs_status cs_page_put(cs_args *args, const char *name, const json_t *data) CS_MUST_CHECK;
