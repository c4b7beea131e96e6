/* A directory of images (image/image_files_private.h). The first pass reads the headers, so that
 * sizes are compared, and memory is taken once, before anything is decoded; the second decodes, now
 * or when images are read. A file is an item of a parallel loop. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/image_stream_private.h"
#include "image/images_private.h"
#include "image/picture.h"
#include "io/file.h"

/* --- the first pass --------------------------------------------------------------------------- */

/* Reads the header of a file, and its digest. */
static cs_status read_header(void *ctx, int64_t i)
{
    cs_image_file *file = &((cs_image_stream *)ctx)->files.file[i];
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    cs_picture p = {0};
    cs_status status = cs_file_read(file->path, CS_IMAGE_FILE_MOST, &bytes, &size);
    if (status == CS_OK) status = cs_lfs_check(file->path, bytes, size);
    if (status == CS_OK) status = cs_picture_decode(file->path, bytes, size, true, &p);
    if (status == CS_OK) cs_sha256(bytes, (size_t)size, file->sha256);
    file->height = p.height;
    file->width = p.width;
    file->channels = p.channels;
    return status;
}

static cs_status read_headers(cs_image_stream *s, int threads, cs_images *out)
{
    cs_status status = cs_parallel(s->files.files, threads, read_header, s);
    const cs_image_file *first = s->files.file;
    out->file_height = first->height;
    out->file_width = first->width;
    for (int64_t i = 0; i < s->files.files && status == CS_OK; ++i) {
        const cs_image_file *file = &first[i];
        cs_image_sizes sizes;
        status = cs_image_stream_sizes(s, file, &sizes);
        if (i == 0) {
            s->height = sizes.crop_height;
            s->width = sizes.crop_width;
        }
        s->channels = file->channels > s->channels ? file->channels : s->channels;
        if (file->height != first->height || file->width != first->width)
            out->file_height = out->file_width = 0;
        if (status == CS_OK && (sizes.crop_height != s->height || sizes.crop_width != s->width))
            status = cs_fail(CS_ERR_INPUT,
                             "%s is %lld x %lld, but %s is %lld x %lld: all pictures must have the "
                             "same size; give --size and --crop",
                             file->path, (long long)sizes.crop_height, (long long)sizes.crop_width,
                             first->path, (long long)s->height, (long long)s->width);
    }
    if (s->processor.rgb && s->fit.channels == 3) s->channels = 3;
    return status;
}

/* --- the second ------------------------------------------------------------------------------- */

typedef struct {
    const cs_image_stream *stream;
    uint8_t *pixel;
} decoding;

static cs_status decode_file(void *ctx, int64_t i)
{
    const decoding *d = ctx;
    const cs_image_stream *s = d->stream;
    return cs_image_stream_read(s, i, d->pixel + i * s->height * s->width * s->channels);
}

/* Labels, sides of the split, and the digest of all files. */
static cs_status describe(const cs_image_stream *s, const cs_images_options *options,
                          cs_images *out)
{
    CS_AUTO(cs_pool) memory = {0};
    size_t capacity = 1, length = 0;
    for (int64_t i = 0; i < s->files.files; ++i) {
        capacity += 64 + 3 + strlen(s->files.file[i].key);
    }
    char *text = cs_pool_take(&memory, (int64_t)capacity, 1);
    if (!text) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->files.files; ++i) {
        const cs_image_file *e = &s->files.file[i];
        out->label[i] = e->label;
        out->held_out[i] =
            e->side == CS_SIDE_HASHED
                ? cs_hash_below(e->key, strlen(e->key), options->seed, options->test_share)
                : e->side == CS_SIDE_TEST;
        length += (size_t)snprintf(text + length, capacity - length, "%s  %s\n", e->sha256, e->key);
    }
    cs_sha256(text, length, out->sha256);
    const cs_processor *p = &s->processor;
    char about[256];
    const int size = snprintf(about, sizeof about, "%s %lld %lld %lld %d %d %d %lld %lld %lld",
                              out->sha256, (long long)s->height, (long long)s->width,
                              (long long)s->channels, p->resize, p->crop, (int)p->filter,
                              (long long)p->shortest, (long long)p->height, (long long)p->width);
    cs_sha256(about, (size_t)size, out->content_sha256);
    return CS_OK;
}

/* Moves what concerns all files. */
static void hand_over(cs_image_files *files, cs_images *out)
{
    out->label_name = files->label_name;
    out->labels = files->labels;
    out->skipped = files->skipped;
    out->skipped_name = files->skipped_name;
    out->unread = files->unread;
    files->label_name = NULL;
    files->labels = 0;
    files->skipped_name = files->unread = NULL;
}

cs_status cs_images_read_directory(const char *path, const cs_images_options *options,
                                   cs_images *out)
{
    cs_image_stream *s = cs_calloc(1, sizeof *s);
    cs_status status = s ? cs_image_files_list(path, options->progress, &s->files) : CS_ERR_MEMORY;
    if (status == CS_OK && options->fit) {
        s->fit = *options->fit;
        s->processor = *s->fit.processor;
        s->processor.json = NULL; /* the caller's */
        s->fit.processor = &s->processor;
        out->fitted = true;
    }
    if (status == CS_OK) status = read_headers(s, options->threads, out);
    if (status == CS_OK) {
        const int64_t n = s->files.files;
        const double bytes = (1.0 + sizeof(float)) * (double)n * (double)s->height *
                             (double)s->width * (double)s->channels;
        const bool later = options->most_bytes > 0 && bytes > (double)options->most_bytes;
        status = later ? cs_images_allocate_labels(path, n, s->height, s->width, s->channels, out)
                       : cs_images_allocate(path, n, s->height, s->width, s->channels, out);
        decoding d = {s, out->pixel};
        if (status == CS_OK && !later) status = cs_parallel(n, options->threads, decode_file, &d);
        if (status == CS_OK) status = describe(s, options, out);
        if (status == CS_OK) hand_over(&s->files, out);
        if (status == CS_OK && later) {
            out->stream = s;
            s = NULL;
        }
    }
    cs_image_stream_free(&s);
    return status;
}
