/* Corpora of images of one size, with a class, a split, and optional annotations.
 *
 * Sources: the corpora known by name (image/image_sources.h), or files of the user:
 *   IDX      unsigned bytes of 3 or 4 dimensions, as MNIST's (count, rows, columns[, channels]). If the
 *            name of the file contains "images", labels are read from the file in the same folder with
 *            "labels", and idx1 for idx3 or idx4, if it exists. Both may be compressed (.gz)
 *   CIFAR    FILE.bin of records of 3,073 bytes (class, then 32 x 32 of red, green and blue); a
 *            directory with data_batch_N.bin and test_batch.bin, which is the held-out side, and
 *            names of classes in batches.meta.txt
 *   NPY      uint8, count x height x width [x 1 or 3]; labels, integers from 0, in NAME.labels.npy
 *   NPZ      the members of a prepared corpus (docs/reference/image-corpora.md), all but `image` optional
 *   field:...     Gaussian fields, drawn as they are read (image/field.h)
 *   a directory   of directories, one for each class, of image files (image/picture.h); of such files,
 *            unlabelled; or train and val, or train and test, of either. Sorted by bytes; names that
 *            begin with a dot are ignored, and files that are no image are counted; all of one size;
 *            grey and colour together become colour
 *
 * Images are uint8 (image/picture.h). A corpus of real-valued images also has them in `value`; its
 * pixels show them. */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"

typedef struct {
    /* Share of held-out images, in [0, 1): by XXH3 of the path below the directory, or the number
     * in the file, under `seed`. < 0: 0.2. Ignored if the source has a split. */
    double test_share;
    uint64_t seed;
    int threads; /* of decoding; 0: cs_threads() */
    const cs_progress *progress;
    /* How images of a directory are resized and cropped (image/processor.h); NULL: not at all. */
    const struct cs_image_fit *fit;
    /* A directory of images whose pixels, or values if they become patches, take more bytes is not
     * decoded here: cs_images_read does it, and pixel is NULL. 0: decode it; 1: never. */
    int64_t most_bytes;
} cs_images_options;

/* An object in an image: its class and the rows top..bottom-1 and columns left..right-1 that it
 * covers. */
typedef struct {
    int32_t label, top, left, bottom, right;
} cs_box;

typedef struct {
    char *name, *path;
    char sha256[65]; /* of the file; of a directory: of the lines "SHA-256  path below it" */
    int64_t count, height, width, channels;
    uint8_t *pixel; /* count x height x width x channels */
    /* the same shape: the values that the pixels show; NULL: pixel / 255 */
    float *value;
    /* count x extra_width: an additional vector of each image; NULL: none */
    float *extra;
    int64_t extra_width;
    int32_t *label; /* count: class, -1: none */
    int64_t labels; /* classes, 0 when unlabelled */
    char **label_name;
    uint8_t *mirror;   /* labels: 1 where the mirror image is of the same class; NULL: of none */
    uint8_t *held_out; /* count: 1 in the test split */
    /* count: groups that are held out as a whole, such as a typeface; NULL: none */
    int32_t *group;
    int64_t groups;
    char **group_name;
    /* count x height x width: 0 background, else 1 + class; NULL: unknown */
    uint8_t *mask;
    /* count + 1: boxes box_ptr[i] .. box_ptr[i+1]-1 of image i; NULL: unknown */
    int64_t *box_ptr;
    cs_box *box;
    /* of a directory: files that are no image, and the first of them; NULL: none */
    int64_t skipped;
    char *skipped_name;
    char *unread; /* its folder of a second held-out side; NULL: none */
    /* Resized and cropped as they were read; sizes of the files before that, 0: various. */
    bool fitted;
    char content_sha256[65]; /* of a directory: of its files and the way they are fitted; else "" */
    int64_t file_height, file_width;
    /* The files of a directory that is not decoded, for cs_images_read; NULL: pixels are there. */
    struct cs_image_stream *stream;
} cs_images;

/* Whether a source is one of images: a known name, or a file or directory by its first bytes. Named
 * text corpora and synthetic languages have precedence. CS_ERR_IO: it cannot be examined. */
cs_status cs_images_are(const char *source, bool *are) CS_MUST_CHECK;

/* Reads a corpus; a named one is prepared first if needed. options may be NULL. Sizes are checked
 * before memory is allocated. CS_ERR_INPUT names file and place; CS_ERR_USAGE, CS_ERR_IO,
 * CS_ERR_MEMORY, CS_ERR_INTERRUPT. Cost: one pass; memory of the images and one file a thread. */
cs_status cs_images_load(const char *source, const cs_images_options *options,
                         cs_images *out) CS_MUST_CHECK;
void cs_images_free(cs_images *images);

/* The pixels of image i: height x width x channels bytes. Several threads may read. Errors of
 * cs_picture_decode if images are decoded now. */
cs_status cs_images_read(const cs_images *images, int64_t i, uint8_t *to) CS_MUST_CHECK;

/* The images of one side of a corpus, at most `limit` (0: all), with their classes, masks and
 * boxes, without their groups. side 0: not held out, 1: held out, -1: all. CS_ERR_INPUT: there is
 * none. */
cs_status cs_images_side(const cs_images *images, int side, int64_t limit,
                         cs_images *out) CS_MUST_CHECK;

/* Reads the extra vectors of the images, a row each, from a matrix (io/rows.h). CS_ERR_INPUT:
 * another number of rows, a number that is not finite; errors of cs_rows_open. */
cs_status cs_images_extra(const char *path, cs_images *images) CS_MUST_CHECK;

/* Writes NPZ in the form of prepared corpora (docs/reference/image-corpora.md); the bytes depend
 * only on the content. */
cs_status cs_images_write(const char *path, const cs_images *images) CS_MUST_CHECK;

/* Adds sizes, splits and classes to a record (cospec data stats). threads: 0: cs_threads(). Errors
 * of cs_images_read. */
cs_status cs_images_describe(const cs_images *images, int threads, cs_item *root) CS_MUST_CHECK;

/* Images of a corpus on one sheet: a row for each class (unlabelled: in order), `columns` of each,
 * drawn without replacement by seed, at most `rows` rows; masks next to images if there are any.
 * White if a class has fewer. CS_ERR_USAGE: rows or columns below 1. */
cs_status cs_images_sheet(const cs_images *images, int64_t rows, int64_t columns, uint64_t seed,
                          const char *path) CS_MUST_CHECK;
