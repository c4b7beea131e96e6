/* WebP by libwebp; of an animation the first image, as it is shown. */
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "base/auto.h"
#include "base/mem.h"
#include "image/picture_private.h"

static int orientation_of(const uint8_t *bytes, int64_t size)
{
    const WebPData data = {bytes, (size_t)size};
    WebPDemuxer *demux = WebPDemux(&data);
    WebPChunkIterator chunk;
    int found = 1;
    if (demux && WebPDemuxGetChunk(demux, "EXIF", 1, &chunk)) {
        found = cs_exif_orientation(chunk.chunk.bytes, (int64_t)chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    WebPDemuxDelete(demux);
    return found;
}

static void flatten_all(const uint8_t *rgba, cs_picture *p)
{
    for (int64_t y = 0; y < p->height; ++y) {
        cs_picture_flatten(rgba + y * p->width * 4, p->width, 3, p->pixel + y * p->width * 3);
    }
}

static bool read_animated(const uint8_t *bytes, int64_t size, cs_picture *p)
{
    const WebPData data = {bytes, (size_t)size};
    WebPAnimDecoderOptions options;
    uint8_t *rgba = NULL;
    int time = 0;
    if (!WebPAnimDecoderOptionsInit(&options)) return false;
    options.color_mode = MODE_RGBA;
    WebPAnimDecoder *decoder = WebPAnimDecoderNew(&data, &options);
    const bool read = decoder && WebPAnimDecoderGetNext(decoder, &rgba, &time);
    if (read) flatten_all(rgba, p);
    WebPAnimDecoderDelete(decoder);
    return read;
}

cs_status cs_webp_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                         cs_picture *out)
{
    WebPBitstreamFeatures f;
    const size_t length = (size_t)size;
    if (WebPGetFeatures(bytes, length, &f) != VP8_STATUS_OK) {
        return cs_fail(CS_ERR_INPUT, "%s: the header of a WebP is damaged", name);
    }
    cs_picture p = {.height = f.height, .width = f.width, .channels = 3};
    const int orientation = orientation_of(bytes, size);
    const int64_t wide = p.width * (f.has_alpha ? 4 : 3);
    /* an animation is held as two canvases */
    cs_status status =
        cs_picture_check_size(name, p.height, p.width, f.has_animation ? 12 : 3 + f.has_alpha);
    CS_AUTO_FREE uint8_t *rgba = NULL;
    if (status == CS_OK && !sizes_only) {
        p.pixel = cs_alloc(p.height * p.width * 3, 1);
        rgba = f.has_alpha && !f.has_animation ? cs_alloc(p.height * wide, 1) : NULL;
        const bool taken = p.pixel && (rgba || !f.has_alpha || f.has_animation);
        const size_t room = (size_t)(p.height * wide);
        status = taken ? CS_OK : CS_ERR_MEMORY;
        const bool read =
            taken && (f.has_animation ? read_animated(bytes, size, &p)
                      : rgba ? WebPDecodeRGBAInto(bytes, length, rgba, room, (int)wide) != NULL
                             : WebPDecodeRGBInto(bytes, length, p.pixel, room, (int)wide) != NULL);
        if (status == CS_OK && !read)
            status = cs_fail(CS_ERR_INPUT, "%s: the file is damaged or ends early", name);
        if (status == CS_OK && rgba) flatten_all(rgba, &p);
    }
    if (status == CS_OK) status = cs_picture_turn(orientation, &p);
    return CS_DELIVER(status, out, p, cs_picture_free);
}
