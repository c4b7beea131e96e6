/* Codes of patches: pictures as documents of token ids, which every analysis of text takes.
 *
 * A codebook is the centres of k-means (Lloyd, IEEE Trans. Inf. Theory 28, 1982) begun by k-means++
 * (Arthur and Vassilvitskii, SODA 2007), and the code of a patch the nearest centre, of equals the
 * first. It is fitted to at most 2^15 patches of the training side.
 */
#pragma once

#include "image/images.h"
#include "text/corpus.h"

typedef struct {
    int64_t codes, width;
    float *centre;      /* codes x width */
    double error;       /* mean squared distance a value of the rows to their centres */
    int64_t iterations; /* until no row changed its centre, at most 100 */
} cs_codebook;

/* rows: count x width. The seed fixes the start; bits do not depend on threads. A centre that loses
 * all rows takes the row furthest from its own. O(count codes width) an iteration. CS_ERR_INPUT:
 * fewer distinct rows than codes, with their number. */
cs_status cs_codebook_fit(const float *rows, int64_t count, int64_t width, int64_t codes,
                          uint64_t seed, int threads, cs_codebook *out) CS_MUST_CHECK;
void cs_codebook_free(cs_codebook *book);

/* The nearest centre of one row. */
int32_t cs_codebook_code(const cs_codebook *book, const float *row);

typedef struct {
    int64_t patch, codes; /* side of a patch in pixels; centres */
    /* "RxC": a document is the windows of R x C patches of a picture, one behind the other, each along
     * its rows (read them with max-length R C); NULL: all patches along rows */
    const char *window;
    uint64_t seed;
    int threads;
} cs_codes_options;

/* The codes of a corpus of images, a document a picture, with its classes and splits; ids are codes
 * and have no words. *book (NULL: not wanted) receives the codebook. CS_ERR_USAGE: patches that do
 * not divide the sizes, a window that is none or larger than the picture. */
cs_status cs_images_codes(const cs_images *images, const cs_codes_options *options,
                          cs_codebook *book, cs_corpus *out) CS_MUST_CHECK;
