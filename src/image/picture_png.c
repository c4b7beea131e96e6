/* PNG by libpng. Its errors leave through longjmp, so what must be freed is in a struct that the
 * caller of setjmp owns, and the jump crosses libpng's frames only. Chunks that are not needed to
 * show the picture are skipped, so that no compressed text unpacks to more than the pixels. */
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "base/mem.h"
#include "image/picture_private.h"
#include "io/file.h"

typedef struct {
    const char *name;
    const uint8_t *bytes;
    int64_t size, at;
    int64_t rows; /* decoded (written) so far */
    cs_outfile *file;
    cs_status status;
    cs_picture picture;
    uint8_t *row; /* one of height x width x (channels + alpha) */
    png_structp png;
    png_infop info;
} png_work;

static void png_on_error(png_structp png, png_const_charp said)
{
    png_work *w = png_get_error_ptr(png);
    if (w->status == CS_OK) {
        w->status = w->rows > 0 ? cs_fail(CS_ERR_INPUT, "%s: row %lld: %s", w->name,
                                          (long long)w->rows, said)
                                : cs_fail(CS_ERR_INPUT, "%s: %s", w->name, said);
    }
    png_longjmp(png, 1);
}

/* Warnings concern ancillary chunks only, which are not shown. */
static void png_on_warning(png_structp png, png_const_charp said)
{
    (void)png;
    (void)said;
}

static void png_on_read(png_structp png, png_bytep to, png_size_t count)
{
    png_work *w = png_get_io_ptr(png);
    if (count > (size_t)(w->size - w->at)) {
        png_error(png, "the file ends early");
    }
    memcpy(to, w->bytes + w->at, count);
    w->at += (int64_t)count;
}

/* The orientation in the chunk eXIf, which may follow the pixels. */
static int orientation_of(const uint8_t *bytes, int64_t size)
{
    enum { SIGNATURE = 8, AROUND = 12 }; /* length, type and CRC of a chunk */
    for (int64_t at = SIGNATURE; at + AROUND <= size;) {
        const int64_t length = (int64_t)bytes[at] << 24 | (int64_t)bytes[at + 1] << 16 |
                               (int64_t)bytes[at + 2] << 8 | (int64_t)bytes[at + 3];
        if (length > size - at - AROUND) break;
        if (memcmp(bytes + at + 4, "eXIf", 4) == 0) {
            return cs_exif_orientation(bytes + at + 8, length);
        }
        at += AROUND + length;
    }
    return 1;
}

static void png_decode(png_work *w, bool sizes_only)
{
    cs_picture *p = &w->picture;
    png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* ours name the sizes */
    png_set_keep_unknown_chunks(w->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_read_fn(w->png, w, png_on_read);
    png_read_info(w->png, w->info);
    const int type = png_get_color_type(w->png, w->info);
    const bool clear =
        (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(w->png, w->info, PNG_INFO_tRNS) != 0;
    p->height = png_get_image_height(w->png, w->info);
    p->width = png_get_image_width(w->png, w->info);
    p->channels = (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    w->status = cs_picture_check_size(w->name, p->height, p->width, p->channels + clear);
    if (w->status != CS_OK || sizes_only) return;
    png_set_expand(w->png); /* palettes, bits below 8, transparent colours */
    png_set_scale_16(w->png);
    const int passes = png_set_interlace_handling(w->png);
    png_read_update_info(w->png, w->info);
    const int64_t wide = p->width * (p->channels + clear);
    p->pixel = cs_alloc(p->height * p->width * p->channels, 1);
    /* Interlaced rows are completed pass by pass, so all of them are kept with their alpha. */
    w->row = cs_alloc(passes > 1 ? p->height * wide : wide, 1);
    w->status = p->pixel && w->row ? CS_OK : CS_ERR_MEMORY;
    if (w->status != CS_OK) return;
    for (int pass = 0; pass < passes; ++pass) {
        for (w->rows = 0; w->rows < p->height; ++w->rows) {
            uint8_t *row = passes > 1 ? w->row + w->rows * wide : w->row;
            uint8_t *to = p->pixel + w->rows * p->width * p->channels;
            png_read_row(w->png, row, NULL);
            if (pass == passes - 1 && clear) {
                cs_picture_flatten(row, p->width, p->channels, to);
            } else if (pass == passes - 1) {
                memcpy(to, row, (size_t)wide);
            }
        }
    }
    png_read_end(w->png, NULL);
}

/* A separate function, so that none of its variables changes between setjmp and longjmp. */
static void png_decode_or_jump(png_work *w, bool sizes_only)
{
    if (setjmp(png_jmpbuf(w->png)) == 0) {
        png_decode(w, sizes_only);
    }
}

cs_status cs_png_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                        cs_picture *out)
{
    png_work w = {.name = name, .bytes = bytes, .size = size};
    w.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &w, png_on_error, png_on_warning);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info) {
        w.status = cs_fail(CS_ERR_MEMORY, "%s: out of memory", name);
    } else {
        png_decode_or_jump(&w, sizes_only);
    }
    png_destroy_read_struct(&w.png, &w.info, NULL);
    cs_free(w.row);
    if (w.status == CS_OK) w.status = cs_picture_turn(orientation_of(bytes, size), &w.picture);
    return CS_DELIVER(w.status, out, w.picture, cs_picture_free);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void png_on_write(png_structp png, png_bytep from, png_size_t count)
{
    png_work *w = png_get_io_ptr(png);
    w->status = cs_outfile_put(w->file, from, (int64_t)count);
    if (w->status != CS_OK) png_error(png, "");
}

static void png_on_flush(png_structp png)
{
    (void)png; /* the commit does */
}

static void png_encode_or_jump(png_work *w, const cs_picture *p)
{
    if (setjmp(png_jmpbuf(w->png)) != 0) {
        return;
    }
    png_set_write_fn(w->png, w, png_on_write, png_on_flush);
    png_set_IHDR(w->png, w->info, (png_uint_32)p->width, (png_uint_32)p->height, 8,
                 p->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (; w->rows < p->height; ++w->rows) {
        png_write_row(w->png, p->pixel + w->rows * p->width * p->channels);
    }
    png_write_end(w->png, NULL);
}

cs_status cs_png_write(const char *path, const cs_picture *picture)
{
    cs_outfile file = {0};
    png_work w = {.name = path, .file = &file};
    cs_status status =
        cs_picture_check_size(path, picture->height, picture->width, picture->channels);
    if (status == CS_ERR_INPUT) status = CS_ERR_USAGE;
    if (status == CS_OK) status = cs_outfile_open(path, &file);
    if (status != CS_OK) return status;
    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, png_on_error, png_on_warning);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info) {
        w.status = cs_fail(CS_ERR_MEMORY, "%s: out of memory", path);
    } else {
        png_encode_or_jump(&w, picture);
    }
    png_destroy_write_struct(&w.png, &w.info);
    if (w.status == CS_OK) return cs_outfile_commit(&file);
    cs_outfile_abort(&file);
    return w.status;
}
