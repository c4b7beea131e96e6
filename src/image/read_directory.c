/* A directory of pictures (image/image_files_private.h). The first pass reads the headers, so that
 * sizes are compared, and memory is taken once, before anything is decoded; the second decodes. A
 * file is an item of a parallel loop. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/image_files_private.h"
#include "image/images_private.h"
#include "image/picture.h"
#include "io/file.h"

enum { MOST_BYTES = 1 << 28 }; /* of one file */

typedef struct {
    cs_image_files files;
    int64_t height, width, channels;
    cs_images *out;
} listing;

/* --- the first pass --------------------------------------------------------------------------- */

/* Reads the header of a file, and its digest. */
static cs_status read_header(void *ctx, int64_t i)
{
    cs_image_file *file = &((listing *)ctx)->files.file[i];
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    cs_picture p = {0};
    cs_status status = cs_file_read(file->path, MOST_BYTES, &bytes, &size);
    if (status == CS_OK) status = cs_lfs_check(file->path, bytes, size);
    if (status == CS_OK) status = cs_picture_decode(file->path, bytes, size, true, &p);
    if (status == CS_OK) cs_sha256(bytes, (size_t)size, file->sha256);
    file->height = p.height;
    file->width = p.width;
    file->channels = p.channels;
    return status;
}

static cs_status read_headers(listing *l, int threads)
{
    cs_status status = cs_parallel(l->files.files, threads, read_header, l);
    const cs_image_file *first = l->files.file;
    l->height = first->height;
    l->width = first->width;
    for (int64_t i = 0; i < l->files.files && status == CS_OK; ++i) {
        const cs_image_file *file = &first[i];
        l->channels = file->channels > l->channels ? file->channels : l->channels;
        if (file->height != l->height || file->width != l->width)
            status = cs_fail(
                CS_ERR_INPUT,
                "%s is %lld x %lld, but %s is %lld x %lld: all pictures must have the same size",
                file->path, (long long)file->height, (long long)file->width, first->path,
                (long long)l->height, (long long)l->width);
    }
    return status;
}

/* --- the second ------------------------------------------------------------------------------- */

static cs_status decode_file(void *ctx, int64_t i)
{
    const listing *l = ctx;
    const cs_image_file *e = &l->files.file[i];
    const int64_t pixels = l->height * l->width, channels = l->channels;
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    CS_AUTO(cs_picture) p = {0};
    cs_status status = cs_file_read(e->path, MOST_BYTES, &bytes, &size);
    if (status == CS_OK) status = cs_picture_decode(e->path, bytes, size, false, &p);
    if (status == CS_OK && (p.height != l->height || p.width != l->width || p.channels > channels))
        status = cs_fail(CS_ERR_INPUT, "%s: changed while it was read", e->path);
    uint8_t *to = l->out->pixel + i * pixels * channels;
    for (int64_t v = 0; status == CS_OK && v < pixels * channels; ++v) {
        to[v] = p.pixel[p.channels == channels ? v : v / channels];
    }
    return status;
}

static cs_status decode_all(const char *path, listing *l, const cs_images_options *options)
{
    cs_images *out = l->out;
    cs_status status =
        cs_images_allocate(path, l->files.files, l->height, l->width, l->channels, out);
    if (status == CS_OK) status = cs_parallel(l->files.files, options->threads, decode_file, l);
    CS_AUTO(cs_pool) memory = {0};
    size_t capacity = 1, length = 0;
    for (int64_t i = 0; i < l->files.files; ++i) {
        capacity += 64 + 3 + strlen(l->files.file[i].key);
    }
    char *text = status == CS_OK ? cs_pool_take(&memory, (int64_t)capacity, 1) : NULL;
    if (status == CS_OK) status = memory.status;
    for (int64_t i = 0; status == CS_OK && i < l->files.files; ++i) {
        const cs_image_file *e = &l->files.file[i];
        out->label[i] = e->label;
        out->held_out[i] =
            e->side == CS_SIDE_HASHED
                ? cs_hash_below(e->key, strlen(e->key), options->seed, options->test_share)
                : e->side == CS_SIDE_TEST;
        length += (size_t)snprintf(text + length, capacity - length, "%s  %s\n", e->sha256, e->key);
    }
    if (status == CS_OK) cs_sha256(text, length, out->sha256);
    return status;
}

cs_status cs_images_read_directory(const char *path, const cs_images_options *options,
                                   cs_images *out)
{
    listing l = {.out = out};
    cs_status status = cs_image_files_list(path, options->progress, &l.files);
    if (status == CS_OK) status = read_headers(&l, options->threads);
    if (status == CS_OK) status = decode_all(path, &l, options);
    if (status == CS_OK) {
        out->label_name = l.files.label_name;
        out->labels = l.files.labels;
        out->skipped = l.files.skipped;
        out->skipped_name = l.files.skipped_name;
        out->unread = l.files.unread;
        l.files.label_name = NULL;
        l.files.labels = 0;
        l.files.skipped_name = l.files.unread = NULL;
    }
    cs_image_files_free(&l.files);
    return status;
}
