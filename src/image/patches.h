/* Patches: an image as a sequence of real vectors.
 *
 * Patch t of T = (height / P) (width / P), along rows of patches, is the vector of its P x P x
 * channels values (rows from the top, channels last), pixel / 255 or `value` of the corpus. A
 * corpus of patches is a corpus of documents of T positions whose vectors are read in place of ids
 * (text/corpus.h), so that plans, masks, batches and analyses treat it as any other. */
#pragma once

#include "image/images.h"
#include "image/picture.h"
#include "text/corpus.h"

/* Orders of the patches of a grid in their sequence. */
typedef enum {
    CS_ORDER_RASTER, /* along rows */
    CS_ORDER_RANDOM, /* one permutation for all images, by seed */
    /* along a Hilbert curve through the square of 2^k that contains the grid */
    CS_ORDER_HILBERT,
    CS_ORDER_SQUARES /* squares of S x S along rows, each along its rows */
} cs_patch_order;

/* order[k]: the patch at position k of the sequence, rows x columns of them. `side`: S of squares,
 * which may be cut off at the right and the bottom. CS_ERR_USAGE: an empty grid or S below 1. */
cs_status cs_patch_order_make(cs_patch_order kind, int64_t rows, int64_t columns, int64_t side,
                              uint64_t seed, int32_t *order) CS_MUST_CHECK;

/* "raster", "random", "random:SEED" (in place of `seed`), "hilbert", "squares:S", or the numbers of
 * all patches, separated by commas. *order: fresh memory. CS_ERR_USAGE for an unknown name;
 * CS_ERR_INPUT for a list that does not contain every patch once. */
cs_status cs_patch_order_named(const char *name, int64_t rows, int64_t columns, uint64_t seed,
                               int32_t **order) CS_MUST_CHECK;

/* Reads such a list, into `name` of `capacity` bytes, from a text file of the numbers, from 0 along
 * rows, separated by spaces, commas or line ends: position k of the sequence is the patch with
 * number k. CS_ERR_INPUT names file, line and value of a number that is not a patch or occurs
 * twice; too few numbers; more than fit (4096 bytes: 1041 patches). CS_ERR_IO. */
cs_status cs_patch_order_file(const char *path, int64_t rows, int64_t columns, int64_t capacity,
                              char *name) CS_MUST_CHECK;

/* The P x P x channels values of patch t of picture i, whose pixels are in memory. */
void cs_patch_read(const cs_images *images, int64_t i, int64_t patch, int64_t t, float *to);

/* Those of all patches of picture i, along rows. Several threads may read. CS_ERR_MEMORY; errors of
 * cs_images_read. */
cs_status cs_patches_read(const cs_images *images, int64_t i, int64_t patch,
                          float *to) CS_MUST_CHECK;

/* A document of `length` tokens, all 0, for each image, with its class and split. */
cs_status cs_images_documents(const cs_images *images, int64_t length, int64_t vocab,
                              cs_corpus *out) CS_MUST_CHECK;

/* CS_ERR_USAGE: the side of a patch does not divide the sizes of the images. */
cs_status cs_patch_check(const cs_images *images, int64_t patch) CS_MUST_CHECK;

/* Every image as a document of T ids, without vectors. id: count x T in 0..vocab-1 along rows.
 * order: as above, NULL: along rows. Classes and splits are those of the images. */
cs_status cs_images_ids(const cs_images *images, int64_t patch, const int32_t *order,
                        const int32_t *id, int64_t vocab, cs_corpus *out) CS_MUST_CHECK;

/* The same with the vectors of the patches, which are read in place of the ids; id NULL: all 0.
 * CS_ERR_MEMORY with the sizes. Memory: 4 bytes a value and 8 a patch. Of images that are decoded
 * when they are read there are no vectors: cs_patch_vectors reads them. */
cs_status cs_images_patches(const cs_images *images, int64_t patch, const int32_t *order,
                            const int32_t *id, int64_t vocab, cs_corpus *out) CS_MUST_CHECK;

/* The patches, along rows, of an image of height x width x channels values, which patch divides. */
void cs_patches_cut(const float *values, int64_t height, int64_t width, int64_t channels,
                    int64_t patch, float *to);

/* to: the vectors of the patches in the order of the sequence, from those along rows. */
void cs_patches_order(int64_t patches, int64_t values, const int32_t *order, const float *from,
                      float *to);

/* The reverse: the values of one document (T vectors in the order of the sequence) as an image of
 * height x width x channels values. */
void cs_patches_join(const float *vectors, int64_t height, int64_t width, int64_t channels,
                     int64_t patch, const int32_t *order, float *to);

/* Sheets: images of one size in rows and columns, small ones enlarged to about 64 pixels, with
 * white lines of two pixels between them and a heading above each column. */
typedef struct {
    cs_picture picture;
    int64_t height, width; /* of an image */
    int64_t scale;         /* pixels of the sheet for a pixel of an image, in each direction */
} cs_cells;

/* A white sheet; freed by cs_picture_free(&cells->picture). CS_ERR_MEMORY. */
cs_status cs_cells_make(int64_t rows, int64_t columns, const cs_picture *like,
                        cs_cells *out) CS_MUST_CHECK;

/* Pixel (y, x) of the sheet within a cell, counted from its corner: y < height scale. */
uint8_t *cs_cells_at(const cs_cells *cells, int64_t row, int64_t column, int64_t y, int64_t x);

/* Writes the text in capitals, as far as it fits the column: letters, digits, hyphens, spaces. */
void cs_cells_heading(cs_cells *cells, int64_t column, const char *text);

/* The colour of a class: 0 background, black; neighbours differ clearly. */
void cs_class_colour(int number, uint8_t rgb[3]);
