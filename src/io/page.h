/* A self-contained page from a template of plots/ and the data that its script shows.
 *
 * Slots of the template: {{head}} is plots/page-head.html, {{shared}} is plots/page.js, {{data}} is the
 * data as JSON in ASCII, without <, > and &, and {{hash}}, in the content policy, is the SHA-256 of
 * the only script, so that a browser runs no other. */
#pragma once

#include <jansson.h>

#include "base/status.h"

/* Writes the page of the template plots/<name>.html to `path`, atomically. */
cs_status cs_page_write(const char *name, const json_t *data, const char *path) CS_MUST_CHECK;
