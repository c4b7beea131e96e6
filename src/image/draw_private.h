/* What draws a corpus that is known by name. *packages: the names of Debian packages whose versions
 * its bytes depend on, separated by blanks, in fresh memory. *out is the caller's, to be freed
 * whatever happens. */
#pragma once

#include "image/images.h"

enum { CS_DRAWN_SIDE = 32 };

/* variant "": glyphs; else what follows "glyphs-". */
cs_status cs_glyphs_draw(const char *variant, cs_images *out, char **packages) CS_MUST_CHECK;
cs_status cs_emoji_draw(cs_images *out, char **packages) CS_MUST_CHECK;
cs_status cs_scenes_draw(cs_images *out) CS_MUST_CHECK;
cs_status cs_field_draw(cs_images *out) CS_MUST_CHECK;

/* Adds a copy of a name to a list that grows. */
cs_status cs_name_add(const char *name, char ***list, int64_t *count) CS_MUST_CHECK;
