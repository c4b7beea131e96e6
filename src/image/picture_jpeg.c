/* JPEG by libjpeg-turbo, in its slow exact integer transform, whose bits are the same with and
 * without vector instructions. Errors leave through longjmp; all state is in a struct outside. What
 * libjpeg warns of (data that end too soon or are damaged, whose rest libjpeg fills with grey) is an
 * error here. A progressive file may have scans that each cost a pass over the picture: more than
 * MOST_SCANS are refused. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/mem.h"
#include "image/picture_private.h"

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

static void on_error(j_common_ptr jpeg)
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
static void on_message(j_common_ptr jpeg, int level)
{
    if (level < 0) {
        on_error(jpeg);
    }
}

static void on_progress(j_common_ptr jpeg)
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

static void decode(jpeg_work *w, const uint8_t *bytes, int64_t size, bool sizes_only)
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
    w->status = cs_picture_check(w->name, p->height, p->width, p->channels);
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
static void decode_or_jump(jpeg_work *w, const uint8_t *bytes, int64_t size, bool sizes_only)
{
    if (setjmp(w->out) == 0) {
        decode(w, bytes, size, sizes_only);
    }
}

cs_status cs_jpeg_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                         cs_picture *out)
{
    jpeg_work w = {.name = name};
    cs_picture made = {0};
    w.jpeg.err = jpeg_std_error(&w.errors);
    w.errors.error_exit = on_error;
    w.errors.emit_message = on_message;
    w.progress.progress_monitor = on_progress;
    w.jpeg.client_data = &w;
    decode_or_jump(&w, bytes, size, sizes_only);
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
