/* The corpora of images known by name. They are drawn by this program, from Debian's fonts or from
 * nothing but a seed, and kept in the cache as NPZ; data/SOURCES.tsv has the checksums.
 *
 *   glyphs     the 62 letters and digits, regular sans-serif typefaces, white on black, 32 x 32,
 *              16 times each with seeded rotation, shear, scale and shift; held out by typeface
 *              (data/typefaces.tsv)
 *   glyphs-X   nine sets to transfer to, 4 times each: serif, mono, bold, italic, greek, cyrillic
 *              (other typefaces or characters), inverted, noisy (Gaussian, sd 40), rotated (up to
 *              45 degrees); the same typefaces are held out
 *   emoji      Noto Color Emoji of one code point, 32 x 32, over white; classes are the groups of
 *              Unicode's emoji-test.txt
 *   scenes     image/scenes.h
 *   field      image/field.h
 */
#pragma once

#include "base/status.h"
#include "image/images.h"
#include "text/corpus.h"

/* The rows have no script: `script` is NULL. */
const cs_corpus_source *cs_images_sources(int *count);
const cs_corpus_source *cs_images_named(const char *name); /* NULL: it names none */

/* Of any corpus known by name, of text or images; number i of them, NULL behind the last. */
const cs_corpus_source *cs_source_at(int i);
/* CS_ERR_INPUT of a source that is neither a file nor one of these nor a law, with the name that may
 * have been meant. */
cs_status cs_source_unknown(const char *source) CS_MUST_CHECK;
cs_status cs_source_path(const char *name, char **out) CS_MUST_CHECK;
cs_status cs_source_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;

/* As those of text (text/corpus.h). Cost: some seconds. CS_ERR_INPUT names a font that is missing
 * with its package. */
cs_status cs_images_prepared_path(const char *name, char **out) CS_MUST_CHECK;
cs_status cs_images_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;
