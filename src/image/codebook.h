/* Codes of patches: images as documents of token ids, which every analysis of text accepts.
 *
 * A codebook is the centres of k-means (Lloyd, IEEE Trans. Inf. Theory 28, 1982), initialised by
 * k-means++ (Arthur and Vassilvitskii, SODA 2007); the code of a patch is the nearest centre, the
 * first on ties. It is fitted to at most 2^15 patches of the training side. */
#pragma once

#include "image/images.h"
#include "text/corpus.h"

typedef struct {
    int64_t codes, width;
    float *centre;      /* codes x width */
    double error;       /* mean squared distance of the rows to their centres, per value */
    int64_t iterations; /* until no row changes its centre, at most 100 */
} cs_codebook;

/* rows: count x width. The seed fixes the start; bits do not depend on threads. An empty centre
 * takes the row that is farthest from its centre. O(count codes width) an iteration. CS_ERR_INPUT:
 * fewer distinct rows than codes, with their number. */
cs_status cs_codebook_fit(const float *rows, int64_t count, int64_t width, int64_t codes,
                          uint64_t seed, int threads, cs_codebook *out) CS_MUST_CHECK;
void cs_codebook_free(cs_codebook *book);

/* The nearest centre of each row, the first one if several are. */
cs_status cs_codebook_assign(const cs_codebook *book, const float *rows, int64_t count, int threads,
                             int32_t *code) CS_MUST_CHECK;

/* The codebook of the patches of a corpus. CS_ERR_USAGE: the patch size does not divide the sizes.
 */
cs_status cs_codebook_of_images(const cs_images *images, int64_t patch, int64_t codes,
                                uint64_t seed, int threads, cs_codebook *out) CS_MUST_CHECK;

/* code: count x T, for the patches of each image along rows. The width of the codebook is that of a
 * patch. */
cs_status cs_codebook_encode(const cs_codebook *book, const cs_images *images, int64_t patch,
                             int threads, int32_t *code) CS_MUST_CHECK;

/* Codes (count x T, below `codes`) as text, a document for each image, with its classes and splits;
 * ids are codes and have no words. window "RxC": a document is the windows of R x C patches of an
 * image, one after another, each along its rows (read them with max-length R C); NULL: all patches
 * along rows. CS_ERR_USAGE: not a window, or larger than the image. */
cs_status cs_codes_windows(const cs_images *images, int64_t patch, const int32_t *code,
                           int64_t codes, const char *window, cs_corpus *out) CS_MUST_CHECK;
