/* Which decoder an image needs. */
#include "image/picture.h"

#include <stddef.h>

#include "image/picture_private.h"

/* The first bytes of files; a '?' stands for any. */
static const struct {
    const char *signature;
    int64_t length;
    cs_picture_decoder *decode;
} KNOWN[] = {{"\x89PNG\r\n\x1A\n", 8, cs_png_decode},
             {"\xFF\xD8\xFF", 3, cs_jpeg_decode},
             {"P5", 2, cs_pnm_decode},
             {"P6", 2, cs_pnm_decode},
             {"GIF87a", 6, cs_gif_decode},
             {"GIF89a", 6, cs_gif_decode},
             {"RIFF????WEBP", 12, cs_webp_decode},
             {"II*\0", 4, cs_tiff_decode},
             {"MM\0*", 4, cs_tiff_decode},
             {"II+\0", 4, cs_tiff_decode},
             {"MM\0+", 4, cs_tiff_decode},
             {"BM????\0\0\0\0", 10, cs_bmp_decode}};

static cs_picture_decoder *decoder_of(const uint8_t *bytes, int64_t size)
{
    for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; ++k) {
        bool same = size >= KNOWN[k].length;
        for (int64_t i = 0; i < KNOWN[k].length && same; ++i) {
            same = KNOWN[k].signature[i] == '?' || bytes[i] == (uint8_t)KNOWN[k].signature[i];
        }
        if (same) {
            return KNOWN[k].decode;
        }
    }
    return NULL;
}

bool cs_picture_is(const void *bytes, int64_t size)
{
    return decoder_of(bytes, size) != NULL;
}

cs_status cs_picture_decode(const char *name, const void *bytes, int64_t size, bool sizes_only,
                            cs_picture *out)
{
    cs_picture_decoder *decode = decoder_of(bytes, size);
    return decode ? decode(name, bytes, size, sizes_only, out)
                  : cs_fail(CS_ERR_INPUT,
                            "%s: not a PNG, JPEG, GIF, WebP, TIFF, BMP, binary PGM (P5) or PPM "
                            "(P6) file",
                            name);
}
