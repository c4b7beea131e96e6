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
    bool without_end; /* the file lacks EOI */
    int orientation;
    cs_picture picture;
    uint8_t *inks; /* a row of CMYK; NULL: of other colours */
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

/* level -1: a warning; above: traces. A file that ends early gets an EOI by libjpeg, which warns
 * again if data are missing. Bytes before EOI are harmless too. */
static void jpeg_on_message(j_common_ptr jpeg, int level)
{
    jpeg_work *w = jpeg->client_data;
    const struct jpeg_error_mgr *said = jpeg->err;
    if (level >= 0) return;
    if (said->msg_code == JWRN_JPEG_EOF) {
        w->without_end = true;
    } else if (said->msg_code != JWRN_EXTRANEOUS_DATA || said->msg_parm.i[1] != JPEG_EOI) {
        jpeg_on_error(jpeg);
    }
}

/* Whether scans may be missing from a file without EOI: not if all bits of all coefficients of a
 * progressive file are there, or if its only scan is. */
static bool lacks_scans(const struct jpeg_decompress_struct *j)
{
    for (int c = 0; j->coef_bits && c < j->num_components; ++c) {
        for (int k = 0; k < DCTSIZE2; ++k) {
            if (j->coef_bits[c][k] != 0) return true;
        }
    }
    return !j->coef_bits && j->comps_in_scan < j->num_components;
}

static void jpeg_on_progress(j_common_ptr jpeg)
{
    jpeg_work *w = jpeg->client_data;
    if (w->jpeg.input_scan_number > MOST_SCANS) {
        w->status = cs_fail(CS_ERR_INPUT, "%s: more than %d scans", w->name, MOST_SCANS);
        longjmp(w->out, 1);
    }
}

static int orientation(const jpeg_work *w)
{
    int found = 1;
    for (jpeg_saved_marker_ptr m = w->jpeg.marker_list; m && found == 1; m = m->next) {
        found = cs_exif_orientation(m->data, m->data_length);
    }
    return found;
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
    w->orientation = orientation(w); /* the markers are freed with the last row */
    const bool cmyk = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
    *p = (cs_picture){.height = j->image_height,
                      .width = j->image_width,
                      .channels = j->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3};
    w->status = cs_picture_check_size(w->name, p->height, p->width, p->channels);
    if (w->status != CS_OK || sizes_only) return;
    j->out_color_space = p->channels == 1 ? JCS_GRAYSCALE : cmyk ? JCS_CMYK : JCS_RGB;
    j->dct_method = JDCT_ISLOW;
    p->pixel = cs_alloc(p->height * p->width * p->channels, 1);
    w->inks = cmyk ? cs_alloc(p->width, 4) : NULL;
    w->status = p->pixel && (w->inks || !cmyk) ? CS_OK : CS_ERR_MEMORY;
    if (w->status != CS_OK) return;
    (void)jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        uint8_t *to = p->pixel + (int64_t)j->output_scanline * p->width * p->channels;
        JSAMPROW row = cmyk ? w->inks : to;
        (void)jpeg_read_scanlines(j, &row, 1);
        if (cmyk) cs_picture_inks(row, p->width, 4, true, to); /* as all such files are */
    }
    const bool lacking = lacks_scans(j); /* known before the state is freed */
    (void)jpeg_finish_decompress(j);
    if (w->without_end && lacking)
        w->status = cs_fail(CS_ERR_INPUT, "%s: the file ends before its last scan", w->name);
}

/* A separate function, so that none of its variables changes between setjmp and longjmp. */
static void jpeg_decode_or_jump(jpeg_work *w, const uint8_t *bytes, int64_t size, bool sizes_only)
{
    if (setjmp(w->out) == 0) {
        jpeg_decode(w, bytes, size, sizes_only);
    }
}

cs_status cs_jpeg_decode(const char *name, const uint8_t *bytes, int64_t size, bool sizes_only,
                         cs_picture *out)
{
    jpeg_work w = {.name = name};
    w.jpeg.err = jpeg_std_error(&w.errors);
    w.errors.error_exit = jpeg_on_error;
    w.errors.emit_message = jpeg_on_message;
    w.progress.progress_monitor = jpeg_on_progress;
    w.jpeg.client_data = &w;
    jpeg_decode_or_jump(&w, bytes, size, sizes_only);
    if (w.status == CS_OK) w.status = cs_picture_turn(w.orientation, &w.picture);
    jpeg_destroy_decompress(&w.jpeg);
    cs_free(w.inks);
    return CS_DELIVER(w.status, out, w.picture, cs_picture_free);
}
