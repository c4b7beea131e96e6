/* A file is read, decoded, resized and cropped by the thread that wants it. */
#include "image/image_stream_private.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "image/picture.h"
#include "io/file.h"

void cs_image_stream_free(cs_image_stream **stream)
{
    if (!*stream) return;
    cs_image_files_free(&(*stream)->files);
    cs_free(*stream);
    *stream = NULL;
}

cs_status cs_image_stream_sizes(const cs_image_stream *s, const cs_image_file *file,
                                cs_image_sizes *out)
{
    *out = (cs_image_sizes){file->height, file->width, file->height, file->width};
    return s->fit.processor
               ? cs_image_fit_sizes(&s->fit, file->path, file->height, file->width, out)
               : CS_OK;
}

cs_status cs_image_stream_read(const cs_image_stream *s, int64_t i, uint8_t *to)
{
    const cs_image_file *file = &s->files.file[i];
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    CS_AUTO(cs_picture) p = {0};
    cs_image_sizes sizes;
    cs_status status = cs_file_read(file->path, CS_IMAGE_FILE_MOST, &bytes, &size);
    if (status == CS_OK) status = cs_picture_decode(file->path, bytes, size, false, &p);
    if (status == CS_OK &&
        (p.height != file->height || p.width != file->width || p.channels != file->channels))
        status = cs_fail(CS_ERR_INPUT, "%s: changed while it was read", file->path);
    if (status == CS_OK) status = cs_image_stream_sizes(s, file, &sizes);
    const int64_t values = s->height * s->width * s->channels,
                  copies = s->channels / file->channels;
    if (status == CS_OK && s->fit.processor) {
        status = cs_image_fit_pixels(&s->fit, p.pixel, p.height, p.width, p.channels, &sizes, to);
    } else if (status == CS_OK) {
        memcpy(to, p.pixel, (size_t)(values / copies));
    }
    for (int64_t v = values - 1; status == CS_OK && copies > 1 && v >= 0; --v) {
        to[v] = to[v / copies];
    }
    return status;
}
