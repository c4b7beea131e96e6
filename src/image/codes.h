/* Codes of patches: the meaning of the ids of an image model.
 *
 * Ids from CS_FIRST_CODE on are codes, after the class token and the mask token. The code of a
 * patch is the nearest of `codes` vectors (image/codebook.h) to its values or, for a trained
 * tokenizer, to the output of its encoder for it among the others of the image (image/vq.h). Their
 * file, codes.safetensors next to the weights of each model that reads or predicts codes, has the
 * tensor `vector`, codes x patch x patch x channels: the values of each vector as a patch. For a
 * trained tokenizer it also has its parameters and `sizes`: height and width of the images, width,
 * layers and heads. */
#pragma once

#include "image/codebook.h"
#include "image/vq.h"

enum { CS_FIRST_CODE = 2 };

typedef struct cs_codes {
    int64_t patch, channels;
    cs_codebook book;
    int64_t height, width; /* of pictures; 0: any */
    cs_vq *vq;             /* of the same; NULL: none */
    int owners;
} cs_codes;

/* k-means of the training side (cs_codebook_of_images). */
cs_status cs_codes_fit(const cs_images *images, int64_t patch, int64_t codes, uint64_t seed,
                       int threads, cs_codes **out) CS_MUST_CHECK;

/* Gives codes an encoder and a decoder (cs_vq_init). */
cs_status cs_codes_network(cs_codes *codes, const cs_vq_sizes *sizes, int threads,
                           bool training) CS_MUST_CHECK;

/* Another reference to the same codes (NULL: none). */
cs_codes *cs_codes_share(cs_codes *codes);
void cs_codes_free(cs_codes **held);

cs_status cs_codes_write(const cs_codes *codes, const char *path) CS_MUST_CHECK;
/* CS_ERR_INPUT names the file: no such tensor, another shape, a value that is not finite. */
cs_status cs_codes_read(const char *path, int threads, cs_codes **out) CS_MUST_CHECK;

/* Mean squared error per value of the images on one side of the corpus, coded and decoded, and the
 * number of codes used. CS_ERR_INPUT: there are none. */
typedef struct {
    double error;
    int64_t used, pictures;
} cs_codes_score;
cs_status cs_codes_compare(const cs_codes *codes, const cs_images *images, bool held_out,
                           int threads, cs_codes_score *out) CS_MUST_CHECK;

/* The codes of all patches along rows, count x T in fresh memory. CS_ERR_USAGE: images that cannot be
 * divided into such patches. */
cs_status cs_codes_encode(const cs_codes *codes, const cs_images *images, int threads,
                          int32_t **code) CS_MUST_CHECK;

/* The codes of images as text, of windows or whole (cs_codes_windows). CS_ERR_USAGE as
 * cs_codes_encode. */
cs_status cs_codes_corpus(const cs_codes *codes, const cs_images *images, const char *window,
                          int threads, cs_corpus *out) CS_MUST_CHECK;

/* The patches of ids, pictures x patches along rows, decoded image by image. out: the width of the
 * codebook for each patch. CS_ERR_INPUT: an id that is not a code. */
cs_status cs_codes_decode(const cs_codes *codes, int64_t pictures, int64_t patches,
                          const int32_t *id, float *out) CS_MUST_CHECK;

/* The same of a corpus, in fresh memory along rows. order: of the ids in a document, NULL along rows. */
cs_status cs_codes_values(const cs_codes *codes, const cs_corpus *corpus, const int32_t *order,
                          float **out) CS_MUST_CHECK;
