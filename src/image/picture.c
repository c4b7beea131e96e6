/* Which decoder a picture needs, what sizes are read, and the binary forms of Netpbm (pgm(5),
 * ppm(5)). Only the first picture of a Netpbm file is read. */
#include "image/picture.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/mem.h"
#include "io/file.h"

enum { MOST_SIDE = 65535, MOST_VALUES = 1 << 28 };

/* CS_ERR_INPUT for sizes that are invalid or beyond the limits, CS_ERR_MEMORY without enough
 * memory. */
static cs_status check_size(const char *name, int64_t height, int64_t width, int64_t channels)
{
    if (height < 1 || width < 1 || height > MOST_SIDE || width > MOST_SIDE ||
        height * width > MOST_VALUES / channels) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: a picture of %lld x %lld (1 to %d rows and columns and at most %d "
                       "values are supported)",
                       name, (long long)height, (long long)width, MOST_SIDE, MOST_VALUES);
    }
    return cs_mem_check(4.0 * (double)(height * width * channels), NULL,
                        "%s: decoding %lld x %lld pixels takes", name, (long long)height,
                        (long long)width);
}

void cs_picture_free(cs_picture *picture)
{
    cs_free(picture->pixel);
    *picture = (cs_picture){0};
}

/* --- PGM and PPM ------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    const uint8_t *bytes;
    int64_t size, at;
} pnm_text;

/* The next decimal of the header, behind white space and comments; one of at most 65535. */
static cs_status next_number(pnm_text *t, const char *what, int64_t *out)
{
    while (t->at < t->size && memchr(" \t\r\n\v\f#", t->bytes[t->at], 7)) {
        if (t->bytes[t->at] == '#') {
            const uint8_t *end = memchr(t->bytes + t->at, '\n', (size_t)(t->size - t->at));
            t->at = end ? end - t->bytes : t->size - 1;
        }
        t->at += 1;
    }
    const int64_t first = t->at;
    int64_t x = 0;
    while (t->at < t->size && t->bytes[t->at] >= '0' && t->bytes[t->at] <= '9' && x <= 65535) {
        x = 10 * x + (t->bytes[t->at++] - '0');
    }
    if (t->at == first || x < 1 || x > 65535) {
        return cs_fail(CS_ERR_INPUT, "%s: byte %lld: the %s is not a number from 1 to 65535",
                       t->name, (long long)first, what);
    }
    *out = x;
    return CS_OK;
}

static cs_status decode_pnm(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                            cs_picture *out)
{
    pnm_text t = {name, bytes, size, 2};
    cs_picture p = {.channels = bytes[1] == '6' ? 3 : 1};
    int64_t most = 0;
    cs_status status = next_number(&t, "width", &p.width);
    if (status == CS_OK) status = next_number(&t, "height", &p.height);
    if (status == CS_OK) status = next_number(&t, "largest value", &most);
    if (status == CS_OK) status = check_size(name, p.height, p.width, p.channels);
    if (status != CS_OK) return status;
    const int64_t values = p.height * p.width * p.channels, width = most > 255 ? 2 : 1;
    t.at += 1; /* one byte of white space, whatever it is */
    if (size - t.at < values * width) {
        return cs_fail(CS_ERR_INPUT, "%s: %lld bytes of pixels, but %lld x %lld pixels need %lld",
                       name, (long long)(size > t.at ? size - t.at : 0), (long long)p.height,
                       (long long)p.width, (long long)(values * width));
    }
    if (sizes_only) {
        *out = p;
        return CS_OK;
    }
    p.pixel = cs_alloc(values, 1);
    if (!p.pixel) return CS_ERR_MEMORY;
    const uint8_t *from = bytes + t.at;
    for (int64_t i = 0; i < values && status == CS_OK; ++i) {
        const int64_t v = width == 1 ? from[i] : from[2 * i] << 8 | from[2 * i + 1];
        if (v > most) {
            status = cs_fail(CS_ERR_INPUT, "%s: byte %lld: value %lld exceeds the maximum, %lld",
                             name, (long long)(t.at + width * i), (long long)v, (long long)most);
        }
        p.pixel[i] = (uint8_t)((2 * 255 * v + most) / (2 * most));
    }
    return CS_DELIVER(status, out, p, cs_picture_free);
}

/* --- JPEG ------------------------------------------------------------------------------------- */

/* JPEG by libjpeg-turbo, in its slow exact integer transform, whose bits are the same with and
 * without vector instructions. Errors leave through longjmp; all state is in a struct outside. What
 * libjpeg warns of (data that end too soon or are damaged, whose rest libjpeg fills with grey) is an
 * error here. A progressive file may have scans that each cost a pass over the picture: more than
 * MOST_SCANS are refused. */

enum { MOST_SCANS = 100 };

typedef struct {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    jmp_buf out;
    const char *name;
    cs_status status;
    int turns;          /* turns_of its orientation */
    cs_picture picture; /* before it is turned */
} jpeg_work;

static void jpeg_on_error(j_common_ptr jpeg)
{
    jpeg_work *w = jpeg->client_data;
    char said[JMSG_LENGTH_MAX] = "";
    jpeg->err->format_message(jpeg, said);
    if (w->status == CS_OK) {
        w->status = w->jpeg.output_scanline > 0 ? cs_fail(CS_ERR_INPUT, "%s: row %u: %s", w->name,
                                                          w->jpeg.output_scanline, said)
                                                : cs_fail(CS_ERR_INPUT, "%s: %s", w->name, said);
    }
    longjmp(w->out, 1);
}

/* level -1: a warning; above: traces. */
static void jpeg_on_message(j_common_ptr jpeg, int level)
{
    if (level < 0) {
        jpeg_on_error(jpeg);
    }
}

static void jpeg_on_progress(j_common_ptr jpeg)
{
    jpeg_work *w = jpeg->client_data;
    if (w->jpeg.input_scan_number > MOST_SCANS) {
        w->status = cs_fail(CS_ERR_INPUT, "%s: more than %d scans", w->name, MOST_SCANS);
        longjmp(w->out, 1);
    }
}

/* The orientation of an EXIF block (TIFF 6.0; tag 0x0112), 1 where it has none that is in 1..8. */
static int orientation_of(const uint8_t *exif, int64_t size)
{
    enum { TIFF = 6, HEADER = 8, ENTRY = 12 };
    if (size < TIFF + HEADER || memcmp(exif, "Exif\0\0", TIFF) != 0) {
        return 1;
    }
    const uint8_t *tiff = exif + TIFF;
    const int64_t length = size - TIFF;
    const bool big = tiff[0] == 'M';
#define WORD(at) (big ? tiff[at] << 8 | tiff[(at) + 1] : tiff[(at) + 1] << 8 | tiff[at])
    const int64_t list = big ? (int64_t)WORD(4) << 16 | WORD(6) : (int64_t)WORD(6) << 16 | WORD(4);
    if (list > length - 2) {
        return 1;
    }
    const int64_t entries = WORD(list);
    for (int64_t at = list + 2; at < list + 2 + entries * ENTRY && at + ENTRY <= length;
         at += ENTRY) {
        const int value = WORD(at + 8);
        if (WORD(at) == 0x0112) {
            return value >= 1 && value <= 8 ? value : 1;
        }
    }
#undef WORD
    return 1;
}

static int orientation(const jpeg_work *w)
{
    int found = 1;
    for (jpeg_saved_marker_ptr m = w->jpeg.marker_list; m && found == 1; m = m->next) {
        found = orientation_of(m->data, m->data_length);
    }
    return found;
}

/* How a picture is to be shown whose file says orientation o: bit 0 of the code, mirrored left to
 * right; bit 1, upside down; bit 2, rows and columns exchanged, before both. */
static int turns_of(int o)
{
    static const uint8_t code[] = {0, 0, 1, 3, 2, 4, 5, 7, 6};
    return code[o];
}

static cs_status turn(const cs_picture *from, int turns, cs_picture *out)
{
    const bool across = (turns & 4) != 0;
    cs_picture p = {.height = across ? from->width : from->height,
                    .width = across ? from->height : from->width,
                    .channels = from->channels};
    p.pixel = cs_alloc(p.height * p.width * p.channels, 1);
    if (!p.pixel) return CS_ERR_MEMORY;
    for (int64_t y = 0; y < p.height; ++y) {
        for (int64_t x = 0; x < p.width; ++x) {
            const int64_t v = (turns & 2) ? p.height - 1 - y : y;
            const int64_t u = (turns & 1) ? p.width - 1 - x : x;
            const int64_t row = across ? u : v, column = across ? v : u;
            memcpy(p.pixel + (y * p.width + x) * p.channels,
                   from->pixel + (row * from->width + column) * p.channels, (size_t)p.channels);
        }
    }
    *out = p;
    return CS_OK;
}

static void jpeg_decode(jpeg_work *w, const uint8_t *bytes, int64_t size, bool sizes_only)
{
    struct jpeg_decompress_struct *j = &w->jpeg;
    cs_picture *p = &w->picture;
    jpeg_create_decompress(j);
    j->progress = &w->progress;
    jpeg_save_markers(j, JPEG_APP0 + 1, 65535);
    jpeg_mem_src(j, bytes, (unsigned long)size);
    (void)jpeg_read_header(j, TRUE);
    w->turns = turns_of(orientation(w)); /* the markers are freed with the last row */
    if (j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK) {
        w->status = cs_fail(CS_ERR_INPUT,
                            "%s: CMYK colours are not supported; convert the picture to RGB first",
                            w->name);
        return;
    }
    *p = (cs_picture){.height = j->image_height,
                      .width = j->image_width,
                      .channels = j->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3};
    w->status = check_size(w->name, p->height, p->width, p->channels);
    if (w->status != CS_OK || sizes_only) return;
    j->out_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    j->dct_method = JDCT_ISLOW;
    p->pixel = cs_alloc(p->height * p->width * p->channels, 1);
    w->status = p->pixel ? CS_OK : CS_ERR_MEMORY;
    if (!p->pixel) return;
    (void)jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        JSAMPROW row = p->pixel + (int64_t)j->output_scanline * p->width * p->channels;
        (void)jpeg_read_scanlines(j, &row, 1);
    }
    (void)jpeg_finish_decompress(j);
}

/* A separate function, so that none of its variables changes between setjmp and longjmp. */
static void jpeg_decode_or_jump(jpeg_work *w, const uint8_t *bytes, int64_t size, bool sizes_only)
{
    if (setjmp(w->out) == 0) {
        jpeg_decode(w, bytes, size, sizes_only);
    }
}

static cs_status decode_jpeg(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                             cs_picture *out)
{
    jpeg_work w = {.name = name};
    cs_picture made = {0};
    w.jpeg.err = jpeg_std_error(&w.errors);
    w.errors.error_exit = jpeg_on_error;
    w.errors.emit_message = jpeg_on_message;
    w.progress.progress_monitor = jpeg_on_progress;
    w.jpeg.client_data = &w;
    jpeg_decode_or_jump(&w, bytes, size, sizes_only);
    if (w.status == CS_OK && sizes_only) {
        made = w.picture;
        made.height = (w.turns & 4) ? w.picture.width : w.picture.height;
        made.width = (w.turns & 4) ? w.picture.height : w.picture.width;
    } else if (w.status == CS_OK) {
        w.status = turn(&w.picture, w.turns, &made);
    }
    jpeg_destroy_decompress(&w.jpeg);
    cs_picture_free(&w.picture);
    return CS_DELIVER(w.status, out, made, cs_picture_free);
}

/* --- PNG -------------------------------------------------------------------------------------- */

/* PNG by libpng. Its errors leave through longjmp, so what must be freed is in a struct that the
 * caller of setjmp owns, and the jump crosses libpng's frames only. Chunks that are not needed to
 * show the picture are skipped, so that no compressed text unpacks to more than the pixels. */

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

/* Over white, in place; colour has `channels` values, alpha follows them. */
static void flatten(const uint8_t *row, int64_t width, int64_t channels, uint8_t *to)
{
    for (int64_t x = 0; x < width; ++x, row += channels + 1) {
        const int a = row[channels];
        for (int64_t c = 0; c < channels; ++c) {
            *to++ = (uint8_t)((row[c] * a + 255 * (255 - a) + 127) / 255);
        }
    }
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
    w->status = check_size(w->name, p->height, p->width, p->channels + clear);
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
                flatten(row, p->width, p->channels, to);
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

static cs_status decode_png(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
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
    cs_status status = check_size(path, picture->height, picture->width, picture->channels);
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

/* --- which one -------------------------------------------------------------------------------- */

typedef cs_status (*decoder)(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                             cs_picture *out);

static decoder decoder_of(const uint8_t *bytes, int64_t size)
{
    static const struct {
        const char *signature;
        int64_t length;
        decoder decode;
    } known[] = {{"\x89PNG\r\n\x1A\n", 8, decode_png},
                 {"\xFF\xD8\xFF", 3, decode_jpeg},
                 {"P5", 2, decode_pnm},
                 {"P6", 2, decode_pnm}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (size >= known[i].length &&
            memcmp(bytes, known[i].signature, (size_t)known[i].length) == 0) {
            return known[i].decode;
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
    const decoder decode = decoder_of(bytes, size);
    return decode ? decode(name, bytes, size, sizes_only, out)
                  : cs_fail(CS_ERR_INPUT, "%s: not a PNG, JPEG, binary PGM (P5) or PPM (P6) file",
                            name);
}
