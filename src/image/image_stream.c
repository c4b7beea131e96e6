/* A file is read, decoded, resized and cropped by the thread that wants it. */
#include "image/image_stream_private.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "image/picture.h"
#include "io/file.h"

void cs_image_stream_free(cs_image_stream **stream)
{
    cs_image_stream *s = *stream;
    *stream = NULL;
    if (!s || s->owners-- > 0) return;
    cs_image_stream_free(&s->of);
    cs_image_files_free(&s->files);
    cs_free(s->at);
    cs_free(s);
}

cs_image_stream *cs_image_stream_share(cs_image_stream *stream)
{
    stream->owners += 1;
    return stream;
}

cs_status cs_image_stream_select(cs_image_stream *stream, const int64_t *at, int64_t count,
                                 cs_image_stream **out)
{
    cs_image_stream *made = cs_calloc(1, sizeof *made), *of = stream->of ? stream->of : stream;
    if (!made) return CS_ERR_MEMORY;
    made->at = cs_alloc(count, sizeof *made->at);
    for (int64_t i = 0; made->at && i < count; ++i) {
        made->at[i] = stream->of ? stream->at[at[i]] : at[i];
    }
    made->of = cs_image_stream_share(of);
    return CS_DELIVER(made->at ? CS_OK : CS_ERR_MEMORY, out, made, cs_image_stream_free);
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
    if (s->of) return cs_image_stream_read(s->of, s->at[i], to);
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
