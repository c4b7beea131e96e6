/* The first image of a GIF by giflib, on the canvas of the file. What it does not cover, and what is
 * transparent, is white. */
#include <gif_lib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "image/picture_private.h"

typedef struct {
    const uint8_t *bytes;
    int64_t size, at;
} gif_bytes;

static int on_read(GifFileType *gif, GifByteType *to, int count)
{
    gif_bytes *from = gif->UserData;
    const int n = (int)cs_least(count, from->size - from->at);
    memcpy(to, from->bytes + from->at, (size_t)n);
    from->at += n;
    return n;
}

static const char *error_text(int error)
{
    const char *said = GifErrorString(error);
    return error == D_GIF_ERR_READ_FAILED || error == D_GIF_ERR_EOF_TOO_SOON ? "the file ends early"
           : said                                                            ? said
                  : "not a GIF that can be read";
}

static cs_status refuse(const char *name, const GifFileType *gif, int error)
{
    return cs_fail(CS_ERR_INPUT, "%s: %s", name, error_text(gif ? gif->Error : error));
}

/* Up to the description of the first image. *clear: the transparent colour, or
 * NO_TRANSPARENT_COLOR. */
static cs_status find_image(const char *name, GifFileType *gif, int *clear)
{
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    *clear = NO_TRANSPARENT_COLOR;
    for (;;) {
        if (DGifGetRecordType(gif, &type) != GIF_OK) return refuse(name, gif, 0);
        if (type == TERMINATE_RECORD_TYPE) {
            return cs_fail(CS_ERR_INPUT, "%s: a GIF without an image", name);
        }
        if (type == IMAGE_DESC_RECORD_TYPE) {
            return DGifGetImageDesc(gif) == GIF_OK ? CS_OK : refuse(name, gif, 0);
        }
        int code = 0;
        GifByteType *block = NULL;
        if (DGifGetExtension(gif, &code, &block) != GIF_OK) return refuse(name, gif, 0);
        while (block) {
            GraphicsControlBlock control;
            if (code == GRAPHICS_EXT_FUNC_CODE &&
                DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
                *clear = control.TransparentColor;
            }
            if (DGifGetExtensionNext(gif, &block) != GIF_OK) return refuse(name, gif, 0);
        }
    }
}

/* Row k of the file is row `at` of the image: interlaced files have every eighth row first. */
static int64_t row_at(int64_t k, int64_t height, bool interlaced)
{
    static const int64_t first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4 && interlaced; ++pass) {
        const int64_t rows = (height - first[pass] + step[pass] - 1) / step[pass];
        if (k < rows) return first[pass] + k * step[pass];
        k -= rows > 0 ? rows : 0;
    }
    return k;
}

static cs_status read_rows(const char *name, GifFileType *gif, int clear, cs_picture *p)
{
    const GifImageDesc *d = &gif->Image;
    const ColorMapObject *map = d->ColorMap ? d->ColorMap : gif->SColorMap;
    if (!map) return cs_fail(CS_ERR_INPUT, "%s: a GIF without colours", name);
    CS_AUTO_FREE GifPixelType *line = cs_alloc(d->Width, sizeof *line);
    p->pixel = cs_alloc(p->height * p->width * 3, 1);
    if (!line || !p->pixel) return CS_ERR_MEMORY;
    memset(p->pixel, 255, (size_t)(p->height * p->width * 3));
    for (int64_t k = 0; k < d->Height; ++k) {
        const int64_t y = d->Top + row_at(k, d->Height, d->Interlace);
        if (DGifGetLine(gif, line, d->Width) != GIF_OK) {
            return cs_fail(CS_ERR_INPUT, "%s: row %lld: %s", name, (long long)y,
                           error_text(gif->Error));
        }
        for (int64_t x = 0; x < d->Width && y < p->height; ++x) {
            if (line[x] == clear || d->Left + x >= p->width) continue;
            if (line[x] >= map->ColorCount) {
                return cs_fail(CS_ERR_INPUT, "%s: row %lld: colour %d, but the palette has %d",
                               name, (long long)y, line[x], map->ColorCount);
            }
            const GifColorType c = map->Colors[line[x]];
            uint8_t *to = p->pixel + (y * p->width + d->Left + x) * 3;
            to[0] = c.Red;
            to[1] = c.Green;
            to[2] = c.Blue;
        }
    }
    return CS_OK;
}

cs_status cs_gif_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                        cs_picture *out)
{
    gif_bytes from = {bytes, size, 0};
    cs_picture p = {.channels = 3};
    int error = 0, clear = 0;
    GifFileType *gif = DGifOpen(&from, on_read, &error);
    if (!gif) return refuse(name, NULL, error);
    cs_status status = find_image(name, gif, &clear);
    const GifImageDesc *d = &gif->Image;
    p.height = cs_most(gif->SHeight, status == CS_OK ? d->Top + d->Height : 0);
    p.width = cs_most(gif->SWidth, status == CS_OK ? d->Left + d->Width : 0);
    if (status == CS_OK) status = cs_picture_check_size(name, p.height, p.width, p.channels);
    if (status == CS_OK && (d->Height < 1 || d->Width < 1))
        status = cs_fail(CS_ERR_INPUT, "%s: the first image of a GIF is empty", name);
    if (status == CS_OK && !sizes_only) status = read_rows(name, gif, clear, &p);
    (void)DGifCloseFile(gif, &error); /* opened for reading: nothing to lose */
    return CS_DELIVER(status, out, p, cs_picture_free);
}
