/* Codes of patches: what the ids of a model of pictures stand for, and pictures as such a model reads
 * them.
 *
 * Ids from CS_FIRST_CODE on are codes, behind the class token and the mask token. The code of a patch
 * is the nearest of `codes` vectors (image/codes.h). A file of them, codes.safetensors beside the
 * weights of each model that reads or predicts codes, has one tensor, `vector`, codes x patch x patch x
 * channels: the values of each vector as a patch.
 */
#pragma once

#include "image/codes.h"
#include "model/model.h"

enum { CS_FIRST_CODE = 2 };

struct cs_codes {
    int64_t patch, channels;
    cs_codebook book;
    int owners;
};

/* k-means of the training side (cs_codebook_of_images). */
cs_status cs_codes_fit(const cs_images *images, int64_t patch, int64_t codes, uint64_t seed,
                       int threads, cs_codes **out) CS_MUST_CHECK;

/* One more owner of the same codes (NULL: none). */
cs_codes *cs_codes_share(cs_codes *codes);
void cs_codes_free(cs_codes **held);

cs_status cs_codes_write(const cs_codes *codes, const char *path) CS_MUST_CHECK;
/* CS_ERR_INPUT names the file: no such tensor, another shape, a value that is not finite. */
cs_status cs_codes_read(const char *path, cs_codes **out) CS_MUST_CHECK;

/* The codes of pictures as text, of windows or whole (cs_codes_windows). CS_ERR_USAGE: pictures that
 * such patches do not make. */
cs_status cs_codes_corpus(const cs_codes *codes, const cs_images *images, const char *window,
                          int threads, cs_corpus *out) CS_MUST_CHECK;

/* The values that ids of codes stand for, in their order: width of the codebook a place, fresh memory.
 * CS_ERR_INPUT: an id that is no code. */
cs_status cs_codes_values(const cs_codes *codes, const cs_corpus *corpus,
                          float **out) CS_MUST_CHECK;

/* Pictures as the model reads them: vectors of patches or, of width 0, ids; ids are codes where the
 * model has some, else all 0. CS_ERR_USAGE: pictures of other sizes, a model of codes without them. */
cs_status cs_model_pictures(const cs_model *model, const cs_images *images, int threads,
                            cs_corpus *out) CS_MUST_CHECK;
