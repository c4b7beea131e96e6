/* The named corpora of images. They are drawn by this program, from Debian's fonts or from a seed
 * alone, and kept in the cache as NPZ; data/SOURCES.tsv has the checksums.
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

/* All named corpora, of text and of images; number i of them, NULL after the last. */
const cs_corpus_source *cs_source_at(int i);
/* CS_ERR_INPUT for a source that is neither a file nor one of these nor a synthetic language, with
 * the most similar name. */
cs_status cs_source_unknown(const char *source) CS_MUST_CHECK;
cs_status cs_source_path(const char *name, char **out) CS_MUST_CHECK;
cs_status cs_source_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;

/* As those of text (text/corpus.h). Cost: some seconds. CS_ERR_INPUT names a missing font with its
 * package. */
cs_status cs_images_prepare(const char *name, bool force, char **note) CS_MUST_CHECK;
