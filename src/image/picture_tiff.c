/* The first image of a TIFF by the RGBA interface of libtiff: 1, 2, 4, 8 and 16 bits, palettes, grey,
 * RGB and YCbCr, of its compressions. CMYK and CIELAB of 8 bits are converted here. Other kinds are
 * refused as libtiff says.
 *
 * libtiff is loaded when the first TIFF is read. It brings the library of C++ and others, which would
 * take a quarter of the time of every start of the program. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "image/picture_private.h"

/* --- the library ------------------------------------------------------------------------------ */

/* Before 4.5 (2022-12-13) errors have no place but the process, and are not reported. */
#if TIFFLIB_VERSION >= 20221213
#define LIBRARY "libtiff.so.6"
#define OPENING(F)                                                                                 \
    F(TIFFClientOpenExt)                                                                           \
    F(TIFFOpenOptionsAlloc)                                                                        \
    F(TIFFOpenOptionsFree)                                                                         \
    F(TIFFOpenOptionsSetErrorHandlerExtR)                                                          \
    F(TIFFOpenOptionsSetMaxSingleMemAlloc)                                                         \
    F(TIFFOpenOptionsSetWarningHandlerExtR)
#else
#define LIBRARY "libtiff.so.5"
#define OPENING(F) F(TIFFClientOpen) F(TIFFSetErrorHandler) F(TIFFSetWarningHandler)
#endif
#define FUNCTIONS(F)                                                                               \
    OPENING(F)                                                                                     \
    F(TIFFClose)                                                                                   \
    F(TIFFGetField)                                                                                \
    F(TIFFGetFieldDefaulted)                                                                       \
    F(TIFFIsTiled)                                                                                 \
    F(TIFFReadScanline)                                                                            \
    F(TIFFReadTile)                                                                                \
    F(TIFFRGBAImageBegin)                                                                          \
    F(TIFFRGBAImageEnd)                                                                            \
    F(TIFFRGBAImageGet)                                                                            \
    F(TIFFRGBAImageOK)                                                                             \
    F(TIFFScanlineSize)                                                                            \
    F(TIFFTileSize)

#define POINTER(name) __typeof__(name) *name;
static struct {
    FUNCTIONS(POINTER)
} lib;
static pthread_mutex_t lib_lock = PTHREAD_MUTEX_INITIALIZER;

/* The address of a function as a pointer to it, which C converts for data alone. */
static bool find(void *handle, const char *name, void *function)
{
    void *const found = dlsym(handle, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static cs_status load_library(const char *name)
{
    static bool loaded;
    (void)pthread_mutex_lock(&lib_lock);
    if (!loaded) {
        const bool linked = dlsym(RTLD_DEFAULT, "TIFFClose") != NULL; /* as in wheels */
        void *const handle = linked ? RTLD_DEFAULT : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        loaded = linked || handle;
#define FIND(function) loaded = loaded && find(handle, #function, &lib.function);
        FUNCTIONS(FIND)
    }
    const cs_status status =
        loaded ? CS_OK
               : cs_fail(CS_ERR_IO, "%s: reading a TIFF needs " LIBRARY ": %s", name, dlerror());
    (void)pthread_mutex_unlock(&lib_lock);
    return status;
}

/* --- bytes and messages ----------------------------------------------------------------------- */

typedef struct {
    const char *name;
    const uint8_t *bytes;
    int64_t size, at;
    bool ended;      /* bytes after the end were read */
    char said[1024]; /* the first error */
} tiff_work;

static tmsize_t on_read(thandle_t of, void *to, tmsize_t count)
{
    tiff_work *w = of;
    const int64_t n = cs_least(count, w->at < w->size ? w->size - w->at : 0);
    memcpy(to, w->bytes + w->at, (size_t)n);
    w->ended = w->ended || n < count;
    w->at += n;
    return n;
}

static tmsize_t on_write(thandle_t of, void *from, tmsize_t count)
{
    (void)of, (void)from, (void)count;
    return 0;
}

static toff_t on_seek(thandle_t of, toff_t to, int from)
{
    tiff_work *w = of;
    const int64_t base = from == SEEK_CUR ? w->at : from == SEEK_END ? w->size : 0;
    const int64_t at = base + (int64_t)to;
    if (at < 0 || at > INT32_MAX) return (toff_t)-1;
    w->at = at;
    return (toff_t)at;
}

static int on_close(thandle_t of)
{
    (void)of;
    return 0;
}

static toff_t on_size(thandle_t of)
{
    return (toff_t)((tiff_work *)of)->size;
}

#if TIFFLIB_VERSION >= 20221213
static int on_error(TIFF *tiff, void *of, const char *module, const char *format, va_list values)
{
    tiff_work *w = of;
    (void)tiff, (void)module;
    if (!w->said[0]) (void)vsnprintf(w->said, sizeof w->said, format, values);
    return 1;
}

static int on_warning(TIFF *tiff, void *of, const char *module, const char *format, va_list values)
{
    (void)tiff, (void)of, (void)module, (void)format, (void)values;
    return 1;
}

static TIFF *open_tiff(tiff_work *w)
{
    enum { MOST_TAKEN = 1 << 28 };
    TIFFOpenOptions *options = lib.TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    lib.TIFFOpenOptionsSetMaxSingleMemAlloc(options, MOST_TAKEN);
    lib.TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, w);
    lib.TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, w);
    TIFF *tiff = lib.TIFFClientOpenExt(w->name, "rm", w, on_read, on_write, on_seek, on_close,
                                       on_size, NULL, NULL, options);
    lib.TIFFOpenOptionsFree(options);
    return tiff;
}
#else
static TIFF *open_tiff(tiff_work *w)
{
    (void)lib.TIFFSetErrorHandler(NULL);
    (void)lib.TIFFSetWarningHandler(NULL);
    return lib.TIFFClientOpen(w->name, "rm", w, on_read, on_write, on_seek, on_close, on_size, NULL,
                              NULL);
}
#endif

/* libtiff reports the end of a file as "Read error at scanline 4294967295" or "FILE: Can not read". */
static cs_status refuse(const tiff_work *w)
{
    const size_t length = strlen(w->name);
    const char *said = w->said;
    if (strncmp(said, w->name, length) == 0 && strncmp(said + length, ": ", 2) == 0)
        said += length + 2;
    const bool early =
        w->ended && (!said[0] || strstr(said, "Read error") || strstr(said, "Can not read"));
    return cs_fail(CS_ERR_INPUT, "%s: %s", w->name,
                   early     ? "the file ends early"
                   : said[0] ? said
                             : "a TIFF that cannot be read");
}

/* The image as it is stored, over white. Its colours are multiplied by their alpha. */
static cs_status read_pixels(tiff_work *w, TIFF *tiff, cs_picture *p)
{
    TIFFRGBAImage image;
    char why[1024] = "";
    CS_AUTO_FREE uint32_t *raster = cs_alloc(p->height * p->width, sizeof *raster);
    p->pixel = cs_alloc(p->height * p->width * p->channels, 1);
    if (!raster || !p->pixel) return CS_ERR_MEMORY;
    if (!lib.TIFFRGBAImageBegin(&image, tiff, 1, why)) {
        return cs_fail(CS_ERR_INPUT, "%s: %s", w->name, why);
    }
    image.req_orientation = image.orientation; /* turned below */
    const bool read =
        lib.TIFFRGBAImageGet(&image, raster, (uint32_t)p->width, (uint32_t)p->height) != 0;
    lib.TIFFRGBAImageEnd(&image);
    if (!read || w->said[0]) return refuse(w);
    for (int64_t i = 0; i < p->height * p->width; ++i) {
        const uint32_t x = raster[i];
        const uint32_t white = 255 - TIFFGetA(x);
        const uint32_t rgb[] = {TIFFGetR(x) + white, TIFFGetG(x) + white, TIFFGetB(x) + white};
        for (int64_t c = 0; c < p->channels; ++c) {
            p->pixel[i * p->channels + c] = (uint8_t)(rgb[c] < 255 ? rgb[c] : 255);
        }
    }
    return CS_OK;
}

/* --- colours that libtiff converts otherwise, or not ------------------------------------------ */

/* The samples as they are stored, of all rows. */
static cs_status read_samples(const tiff_work *w, TIFF *tiff, const cs_picture *p, int64_t samples,
                              uint8_t *to)
{
    const int64_t line = p->width * samples;
    if (!lib.TIFFIsTiled(tiff)) {
        if (lib.TIFFScanlineSize(tiff) != line) return refuse(w);
        for (int64_t y = 0; y < p->height; ++y) {
            if (lib.TIFFReadScanline(tiff, to + y * line, (uint32_t)y, 0) < 0) return refuse(w);
        }
        return w->said[0] ? refuse(w) : CS_OK;
    }
    uint32_t height = 0, width = 0;
    const int64_t size = lib.TIFFTileSize(tiff);
    if (!lib.TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height) ||
        !lib.TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width) || height == 0 || width == 0 ||
        size != (int64_t)height * width * samples)
        return refuse(w);
    CS_AUTO_FREE uint8_t *tile = cs_alloc(size, 1);
    if (!tile) return CS_ERR_MEMORY;
    for (int64_t top = 0; top < p->height; top += height) {
        for (int64_t left = 0; left < p->width; left += width) {
            const int64_t rows = cs_least(height, p->height - top),
                          bytes = cs_least(width, p->width - left) * samples;
            if (lib.TIFFReadTile(tiff, tile, (uint32_t)left, (uint32_t)top, 0, 0) < 0)
                return refuse(w);
            for (int64_t y = 0; y < rows; ++y) {
                memcpy(to + (top + y) * line + left * samples, tile + y * width * samples,
                       (size_t)bytes);
            }
        }
    }
    return w->said[0] ? refuse(w) : CS_OK;
}

/* The reverse of the cube root of CIELAB. */
static double cubed(double t)
{
    return t > 24.0 / 116 ? t * t * t : 108.0 / 841 * (t - 16.0 / 116);
}

/* CIELAB of the white D50, L of 0..255, a and b signed, as sRGB: to XYZ, by the inverse of the matrix of
 * the ICC profile of sRGB, clipped. */
static void lab_colours(const uint8_t *lab, int64_t count, int64_t step, uint8_t *to)
{
    static const double white[] = {0.9642, 1, 0.8249},
                        of_xyz[3][3] = {{3.13412098, -1.61739699, -0.49063481},
                                        {-0.97879773, 1.91628496, 0.03345635},
                                        {0.07198428, -0.22898649, 1.40538494}};
    for (int64_t i = 0; i < count; ++i, lab += step) {
        const double y = (lab[0] * (100.0 / 255) + 16) / 116, a = (int8_t)lab[1],
                     b = (int8_t)lab[2], f[] = {y + a / 500, y, y - b / 200};
        for (int c = 0; c < 3; ++c) {
            double x = 0;
            for (int k = 0; k < 3; ++k) {
                x += of_xyz[c][k] * white[k] * cubed(f[k]);
            }
            x = fmin(fmax(x, 0), 1);
            x = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
            *to++ = (uint8_t)lround(255 * x);
        }
    }
}

/* CMYK or CIELAB. */
static cs_status read_own(tiff_work *w, TIFF *tiff, bool inks, int64_t samples, bool sizes_only,
                          cs_picture *p)
{
    uint16_t bits = 1, planes = 1, set = INKSET_CMYK;
    (void)lib.TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    (void)lib.TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planes);
    (void)lib.TIFFGetFieldDefaulted(tiff, TIFFTAG_INKSET, &set);
    if (bits != 8 || planes != PLANARCONFIG_CONTIG || samples < (inks ? 4 : 3) || samples > 8 ||
        set != INKSET_CMYK) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %s is supported with 8 bits a channel, in one plane; convert the "
                       "picture to RGB first",
                       w->name, inks ? "CMYK" : "CIELAB");
    }
    if (sizes_only) return CS_OK;
    const int64_t count = p->height * p->width;
    CS_AUTO_FREE uint8_t *all = cs_alloc(count * samples, 1);
    p->pixel = cs_alloc(count * p->channels, 1);
    if (!all || !p->pixel) return CS_ERR_MEMORY;
    cs_status status = read_samples(w, tiff, p, samples, all);
    if (status == CS_OK && inks) {
        cs_picture_inks(all, count, samples, false, p->pixel);
    } else if (status == CS_OK) {
        lab_colours(all, count, samples, p->pixel);
    }
    return status;
}

static cs_status read_image(tiff_work *w, TIFF *tiff, bool sizes_only, cs_picture *p)
{
    uint32_t height = 0, width = 0;
    uint16_t colours = 0, samples = 1, orientation = 1;
    char why[1024] = "";
    if (!lib.TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) ||
        !lib.TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width)) {
        return cs_fail(CS_ERR_INPUT, "%s: a TIFF without height and width", w->name);
    }
    (void)lib.TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    (void)lib.TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
    (void)lib.TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &colours);
    const bool own = colours == PHOTOMETRIC_SEPARATED || colours == PHOTOMETRIC_CIELAB;
    const bool grey = colours == PHOTOMETRIC_MINISBLACK || colours == PHOTOMETRIC_MINISWHITE;
    *p = (cs_picture){.height = height, .width = width, .channels = grey && samples < 3 ? 1 : 3};
    cs_status status = cs_picture_check_size(w->name, p->height, p->width, 4);
    if (status == CS_OK && own) {
        status = read_own(w, tiff, colours == PHOTOMETRIC_SEPARATED, samples, sizes_only, p);
    } else {
        if (status == CS_OK && !lib.TIFFRGBAImageOK(tiff, why))
            status = cs_fail(CS_ERR_INPUT, "%s: %s", w->name, why);
        if (status == CS_OK && !sizes_only) status = read_pixels(w, tiff, p);
    }
    return status == CS_OK
               ? cs_picture_turn(orientation >= 1 && orientation <= 8 ? orientation : 1, p)
               : status;
}

cs_status cs_tiff_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                         cs_picture *out)
{
    tiff_work w = {.name = name, .bytes = bytes, .size = size};
    cs_picture p = {0};
    cs_status status = load_library(name);
    if (status != CS_OK) return status;
    TIFF *tiff = open_tiff(&w);
    status = tiff ? read_image(&w, tiff, sizes_only, &p) : refuse(&w);
    if (tiff) lib.TIFFClose(tiff);
    return CS_DELIVER(status, out, p, cs_picture_free);
}
