/* Files of a directory as images of one size, each decoded when it is read. */
#pragma once

#include "image/image_files_private.h"
#include "image/processor.h"

enum { CS_IMAGE_FILE_MOST = 1 << 28 }; /* bytes of one file */

typedef struct cs_image_stream {
    cs_image_files files;
    cs_processor processor; /* its geometry, if fit.processor is not NULL */
    cs_image_fit fit;
    int64_t height, width, channels; /* of all images */
    int64_t owners;                  /* in addition to the first */
    /* A selection has no files: image i is image at[i] of another stream. */
    struct cs_image_stream *of;
    int64_t *at;
} cs_image_stream;

void cs_image_stream_free(cs_image_stream **stream);
cs_image_stream *cs_image_stream_share(cs_image_stream *stream);

/* The images at[0 .. count - 1] of a stream, whose files are shared. CS_ERR_MEMORY. */
cs_status cs_image_stream_select(cs_image_stream *stream, const int64_t *at, int64_t count,
                                 cs_image_stream **out) CS_MUST_CHECK;

/* The sizes of an image after resize and crop. */
cs_status cs_image_stream_sizes(const cs_image_stream *s, const cs_image_file *file,
                                cs_image_sizes *out) CS_MUST_CHECK;

/* The pixels of image i. Errors of cs_picture_decode; CS_ERR_INPUT: the file has other sizes now. */
cs_status cs_image_stream_read(const cs_image_stream *stream, int64_t i, uint8_t *to) CS_MUST_CHECK;
