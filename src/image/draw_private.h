/* Functions that draw the named corpora. *packages: the Debian packages whose versions the bytes
 * depend on, separated by spaces, in fresh memory. *out belongs to the caller, who frees it in
 * every case. */
#pragma once

#include "image/images.h"

enum { CS_DRAWN_SIDE = 32 };

/* variant "": glyphs; else the part after "glyphs-". */
cs_status cs_glyphs_draw(const char *variant, cs_images *out, char **packages) CS_MUST_CHECK;
cs_status cs_emoji_draw(cs_images *out, char **packages) CS_MUST_CHECK;
cs_status cs_scenes_draw(cs_images *out) CS_MUST_CHECK;
cs_status cs_field_draw(cs_images *out) CS_MUST_CHECK;

/* Appends a copy of a name to a list. */
cs_status cs_name_add(const char *name, char ***list, int64_t *count) CS_MUST_CHECK;
