/* Emoji: the colour bitmaps of Noto Color Emoji for characters of one code point (with or without
 * the variation selector), in the groups of Unicode's emoji-test.txt, averaged to 32 x 32 over
 * white. Sequences (flags, families, skin tones) need shaping and are passed over. Held out: a fifth
 * by a hash of the code point. */
#include <ft2build.h>
#include FT_FREETYPE_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "image/images_private.h"
#include "io/file.h"

enum { SIDE = CS_DRAWN_SIDE };

static const char font_path[] = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf";
static const char list_path[] = "/usr/share/unicode/emoji/emoji-test.txt";
static const double TEST_SHARE = 0.2;

typedef struct {
    uint32_t code;
    int32_t label;
} character;

typedef struct {
    character *item;
    int64_t items, capacity;
    FT_Library library;
    FT_Face face;
    cs_images *out;
} painter;

/* One line of the list: the head of a group, or "CODE [FE0F] ; fully-qualified # ...". */
static cs_status take_line(painter *p, const char *line)
{
    static const char group[] = "# group: ";
    if (strncmp(line, group, strlen(group)) == 0) {
        return cs_name_add(line + strlen(group), &p->out->label_name, &p->out->labels);
    }
    char *end = NULL;
    const uint32_t code = (uint32_t)strtoul(line, &end, 16);
    end += strspn(end, " ");
    if (strncmp(end, "FE0F", 4) == 0) {
        end += 4 + strspn(end + 4, " ");
    }
    if (end == line || strncmp(end, "; fully-qualified", 17) != 0 || p->out->labels == 0 ||
        FT_Get_Char_Index(p->face, code) == 0) {
        return CS_OK;
    }
    cs_status status = cs_reserve(&p->item, &p->capacity, p->items + 1, sizeof *p->item);
    if (status == CS_OK) p->item[p->items++] = (character){code, (int32_t)p->out->labels - 1};
    return status;
}

static cs_status read_list(painter *p)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read_text(list_path, 1 << 24, &text, &size);
    for (char *rest = text, *line = NULL;
         status == CS_OK && (line = strsep(&rest, "\n")) != NULL;) {
        status = take_line(p, line);
    }
    return status;
}

/* The mean of the premultiplied colours in [y, y + step) x [x, x + step), over white; outside the
 * bitmap there is nothing. bgra: height rows of `pitch` bytes. */
static void average(const FT_Bitmap *from, double y, double x, double step, uint8_t rgb[3])
{
    double sum[4] = {0};
    for (int64_t v = (int64_t)floor(y); (double)v < y + step; ++v) {
        for (int64_t u = (int64_t)floor(x); (double)u < x + step; ++u) {
            if (v < 0 || u < 0 || v >= from->rows || u >= from->width) {
                continue;
            }
            const double area = (fmin(y + step, (double)v + 1) - fmax(y, (double)v)) *
                                (fmin(x + step, (double)u + 1) - fmax(x, (double)u));
            for (int c = 0; c < 4; ++c) {
                sum[c] += area * from->buffer[v * from->pitch + 4 * u + c];
            }
        }
    }
    for (int c = 0; c < 3; ++c) {
        const double value = (sum[2 - c] - sum[3]) / (step * step) + 255.0;
        rgb[c] = (uint8_t)lround(fmin(fmax(value, 0.0), 255.0));
    }
}

static cs_status draw_one(painter *p, int64_t i)
{
    cs_images *m = p->out;
    const uint32_t code = p->item[i].code;
    if (FT_Load_Char(p->face, code, FT_LOAD_COLOR) != 0 ||
        p->face->glyph->bitmap.pixel_mode != FT_PIXEL_MODE_BGRA) {
        return cs_fail(CS_ERR_INPUT, "%s: the font has no colour bitmap of U+%04X", font_path,
                       code);
    }
    const FT_Bitmap *from = &p->face->glyph->bitmap;
    const double side = fmax(from->rows, from->width), step = side / SIDE;
    const double top = (from->rows - side) / 2, left = (from->width - side) / 2;
    for (int64_t y = 0; y < SIDE; ++y) {
        for (int64_t x = 0; x < SIDE; ++x) {
            average(from, top + (double)y * step, left + (double)x * step, step,
                    m->pixel + 3 * ((i * SIDE + y) * SIDE + x));
        }
    }
    m->label[i] = p->item[i].label;
    m->held_out[i] = cs_hash_below(&code, sizeof code, 0, TEST_SHARE);
    return CS_OK;
}

/* Classes without a character (components of others) go; mirror images are of the same group. */
static cs_status finish_classes(cs_images *m)
{
    int64_t kept = 0;
    for (int32_t l = 0; l < m->labels; ++l) {
        bool used = false;
        for (int64_t i = 0; i < m->count; ++i) {
            if (m->label[i] == l) {
                m->label[i] = (int32_t)kept;
                used = true;
            }
        }
        if (used) {
            m->label_name[kept++] = m->label_name[l];
        } else {
            cs_free(m->label_name[l]);
        }
    }
    m->labels = kept;
    m->mirror = cs_alloc(kept, 1);
    if (!m->mirror) return CS_ERR_MEMORY;
    memset(m->mirror, 1, (size_t)kept);
    return CS_OK;
}

cs_status cs_emoji_draw(const char *variant, cs_images *out, char **packages)
{
    (void)variant;
    painter p = {.out = out};
    cs_status status = CS_OK;
    if (!cs_path_exists(font_path)) {
        return cs_fail(CS_ERR_INPUT, "%s not found: install fonts-noto-color-emoji", font_path);
    }
    if (!cs_path_exists(list_path)) {
        return cs_fail(CS_ERR_INPUT, "%s not found: install unicode-data", list_path);
    }
    *packages = cs_strdup("fonts-noto-color-emoji unicode-data libfreetype6");
    if (!*packages) return CS_ERR_MEMORY;
    if (FT_Init_FreeType(&p.library) != 0) {
        return cs_fail(CS_ERR_MEMORY, "FreeType cannot be initialised");
    }
    if (FT_New_Face(p.library, font_path, 0, &p.face) != 0 || FT_Select_Size(p.face, 0) != 0) {
        status =
            cs_fail(CS_ERR_INPUT, "%s: not a font with bitmaps that FreeType can read", font_path);
    }
    if (status == CS_OK) status = read_list(&p);
    if (status == CS_OK) status = cs_images_allocate(list_path, p.items, SIDE, SIDE, 3, out);
    for (int64_t i = 0; i < p.items && status == CS_OK; ++i) {
        status = draw_one(&p, i);
    }
    if (status == CS_OK) status = finish_classes(out);
    (void)FT_Done_FreeType(p.library);
    cs_free(p.item);
    return status;
}
