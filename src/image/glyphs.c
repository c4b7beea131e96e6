/* Characters in many typefaces, by FreeType.
 *
 * data/typefaces.tsv names the typefaces, the side of the split that each is on, and the files of
 * their regular, bold and italic faces. A face that lacks one character of the set is left out of
 * it. Outlines are taken unhinted at EM pixels an em; about a point on the vertical through the
 * middle of the glyph, a third of an em above the baseline, they are sheared, scaled and rotated,
 * and that point is put at the centre of the picture, moved by up to SHIFT. All of it is a function
 * of (set, number of the picture). */
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "base/rng.h"
#include "image/images_private.h"
#include "io/file.h"
#include "io/share.h"

enum { EM = 22, SIDE = CS_DRAWN_SIDE, COLUMNS = 7, MOST_FACES = 64 };

static const double TURN = 10, WIDE_TURN = 45, SHEAR = 0.15, SCALE = 0.12, SHIFT = 1.5, NOISE = 40;

typedef enum { PLAIN, INVERTED, NOISY, ROTATED } finish;
typedef enum { LATIN, GREEK, CYRILLIC } alphabet;

/* `column` of the table: 4 regular, 5 bold, 6 italic. */
typedef struct {
    const char *name, *styles;
    int column, draws;
    alphabet letters;
    finish how;
} variant;

static const variant variant_table[] = {
    {"", "sans", 4, 16, LATIN, PLAIN},
    {"serif", "serif", 4, 4, LATIN, PLAIN},
    {"mono", "mono", 4, 4, LATIN, PLAIN},
    {"bold", "sans", 5, 4, LATIN, PLAIN},
    {"italic", "sans serif", 6, 4, LATIN, PLAIN},
    {"greek", "sans serif mono", 4, 4, GREEK, PLAIN},
    {"cyrillic", "sans serif mono", 4, 4, CYRILLIC, PLAIN},
    {"inverted", "sans", 4, 4, LATIN, INVERTED},
    {"noisy", "sans", 4, 4, LATIN, NOISY},
    {"rotated", "sans", 4, 4, LATIN, ROTATED},
};

/* Ranges of code points, both ends included; 0 ends the list. */
static const uint32_t range_table[][10] = {
    [LATIN] = {'0', '9', 'A', 'Z', 'a', 'z'},
    [GREEK] = {0x391, 0x3A1, 0x3A3, 0x3A9, 0x3B1, 0x3C1, 0x3C3, 0x3C9},
    [CYRILLIC] = {0x410, 0x44F},
};

typedef struct {
    const variant *set;
    int number; /* of the set: its seed */
    uint32_t letter[80];
    int letters;
    FT_Library library;
    FT_Face face[MOST_FACES];
    uint8_t held_out[MOST_FACES];
    int faces;
    cs_images *out;
} painter;

/* Characters that are symmetric about the vertical, in most typefaces. */
static const char symmetric[] = "0 8 A H I M O T U V W X Y i l o v w x \xCE\x91 \xCE\x94 \xCE\x97 "
                                "\xCE\x98 \xCE\x99 \xCE\x9B \xCE\x9C \xCE\x9E \xCE\x9F \xCE\xA0 "
                                "\xCE\xA4 \xCE\xA5 \xCE\xA6 \xCE\xA7 \xCE\xA8 \xCE\xA9 \xCE\xBF "
                                "\xCF\x89 \xD0\x90 \xD0\x96 \xD0\x9C \xD0\x9D \xD0\x9E \xD0\x9F "
                                "\xD0\xA2 \xD0\xA4 \xD0\xA5 \xD0\xA8 \xD0\xB6 \xD0\xBC \xD0\xBD "
                                "\xD0\xBE \xD0\xBF \xD1\x82 \xD1\x84 \xD1\x85 \xD1\x88";

static cs_status put_letters(painter *p)
{
    const uint32_t *range = range_table[p->set->letters];
    cs_status status = CS_OK;
    for (; range[0] && status == CS_OK; range += 2) {
        for (uint32_t c = range[0]; c <= range[1] && status == CS_OK; ++c) {
            const char wide[] = {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 0x3F)), '\0'};
            const char narrow[] = {(char)c, '\0'};
            p->letter[p->letters++] = c;
            status = cs_name_add(c < 0x80 ? narrow : wide, &p->out->label_name, &p->out->labels);
        }
    }
    if (status != CS_OK) return status;
    p->out->mirror = cs_alloc(p->letters, 1);
    for (int l = 0; l < p->letters && p->out->mirror; ++l) {
        p->out->mirror[l] = cs_listed(symmetric, p->out->label_name[l]);
    }
    return p->out->mirror ? CS_OK : CS_ERR_MEMORY;
}

/* --- typefaces -------------------------------------------------------------------------------- */

/* Splits a line at its tabs, in place; false: it has not COLUMNS of them. */
static bool split(char *line, char *column[COLUMNS])
{
    int columns = 0;
    for (char *rest = line, *field = NULL; (field = strsep(&rest, "\t")) != NULL;) {
        if (columns == COLUMNS) {
            return false;
        }
        column[columns++] = field;
    }
    return columns == COLUMNS;
}

static bool has_letters(const painter *p, FT_Face face)
{
    for (int l = 0; l < p->letters; ++l) {
        if (FT_Get_Char_Index(face, p->letter[l]) == 0) {
            return false;
        }
    }
    return true;
}

/* Opens the face that the set wants of a typeface, where it has one with all letters. */
static cs_status add_typeface(painter *p, char *const column[COLUMNS], char **packages)
{
    const char *file = column[p->set->column];
    FT_Face face = NULL;
    if (!cs_listed(p->set->styles, column[1]) || strcmp(file, "-") == 0) {
        return CS_OK;
    }
    char *path = cs_format("/usr/share/fonts/%s", file), *longer = NULL;
    if (!path) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    if (!cs_path_exists(path)) {
        status = cs_fail(CS_ERR_INPUT, "install %s (%s not found)", column[3], path);
    } else if (p->faces == MOST_FACES) {
        status = cs_fail(CS_ERR_INPUT, "data/typefaces.tsv: more than %d typefaces", MOST_FACES);
    } else if (FT_New_Face(p->library, path, 0, &face) != 0 ||
               FT_Set_Pixel_Sizes(face, 0, EM) != 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: not a font that FreeType can read", path);
    }
    if (status == CS_OK && has_letters(p, face)) {
        longer = cs_listed(*packages, column[3]) ? cs_strdup(*packages)
                                                 : cs_format("%s %s", *packages, column[3]);
        status =
            longer ? cs_name_add(column[0], &p->out->group_name, &p->out->groups) : CS_ERR_MEMORY;
    }
    if (status == CS_OK && longer) {
        cs_free(*packages);
        *packages = longer;
        longer = NULL;
        p->held_out[p->faces] = strcmp(column[2], "test") == 0;
        p->face[p->faces++] = face;
    } else if (face) {
        (void)FT_Done_Face(face);
    }
    cs_free(longer);
    cs_free(path);
    return status;
}

static cs_status open_faces(painter *p, char **packages)
{
    CS_AUTO_FREE char *path = NULL, *text = NULL;
    int64_t size = 0, line = 0;
    cs_status status = cs_share_path("data/typefaces.tsv", &path);
    if (status == CS_OK) status = cs_file_read_text(path, 1 << 20, &text, &size);
    for (char *rest = text, *row = NULL; status == CS_OK && (row = strsep(&rest, "\n")) != NULL;) {
        char *column[COLUMNS];
        line += 1;
        if (line == 1 || row[0] == '\0') {
            continue;
        }
        status = split(row, column) ? add_typeface(p, column, packages)
                                    : cs_fail(CS_ERR_INPUT, "%s:%lld: expected %d columns", path,
                                              (long long)line, COLUMNS);
    }
    if (status == CS_OK && p->faces < 2)
        status = cs_fail(CS_ERR_INPUT, "%s: only %d typefaces have the characters of glyphs-%s",
                         path, p->faces, p->set->name);
    return status;
}

/* --- pictures --------------------------------------------------------------------------------- */

static double between(cs_rng *rng, double most)
{
    return most * (2.0 * cs_rng_uniform(rng) - 1.0);
}

static FT_Fixed fixed(double x)
{
    return lround(x * 65536.0);
}

static cs_status draw_letter(painter *p, int face, int letter, int64_t i)
{
    cs_rng rng = cs_rng_at((uint64_t)p->number, CS_STREAM_IMAGE, (uint64_t)i);
    const double turn = between(&rng, p->set->how == ROTATED ? WIDE_TURN : TURN) * M_PI / 180.0;
    const double shear = between(&rng, SHEAR), scale = 1.0 + between(&rng, SCALE);
    const double x = SIDE / 2.0 + between(&rng, SHIFT), y = SIDE / 2.0 + between(&rng, SHIFT);
    const FT_Matrix matrix = {.xx = fixed(scale * cos(turn)),
                              .xy = fixed(scale * (shear * cos(turn) - sin(turn))),
                              .yx = fixed(scale * sin(turn)),
                              .yy = fixed(scale * (shear * sin(turn) + cos(turn)))};
    uint8_t *to = p->out->pixel + i * SIDE * SIDE;
    FT_Bitmap bitmap = {.rows = SIDE,
                        .width = SIDE,
                        .pitch = SIDE,
                        .buffer = to,
                        .num_grays = 256,
                        .pixel_mode = FT_PIXEL_MODE_GRAY};
    FT_Outline *outline = &p->face[face]->glyph->outline;
    FT_BBox box;
    memset(to, 0, SIDE * SIDE);
    if (FT_Load_Char(p->face[face], p->letter[letter], FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP) !=
        0) {
        return cs_fail(CS_ERR_INPUT, "%s: FreeType cannot load U+%04X", p->out->group_name[face],
                       p->letter[letter]);
    }
    FT_Outline_Get_CBox(outline, &box);
    FT_Outline_Translate(outline, -(box.xMin + box.xMax) / 2, -EM * 64 / 3);
    FT_Outline_Transform(outline, &matrix);
    FT_Outline_Translate(outline, lround(64 * x), lround(64 * y));
    if (FT_Outline_Get_Bitmap(p->library, outline, &bitmap) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: FreeType cannot draw U+%04X", p->out->group_name[face],
                       p->letter[letter]);
    }
    for (int v = 0; v < SIDE * SIDE && p->set->how != PLAIN; ++v) {
        const double noise = p->set->how == NOISY ? NOISE * cs_rng_normal(&rng) : 0.0;
        to[v] = p->set->how == INVERTED ? (uint8_t)(255 - to[v])
                                        : (uint8_t)lround(fmin(fmax(to[v] + noise, 0.0), 255.0));
    }
    return CS_OK;
}

static cs_status draw_all(painter *p)
{
    cs_images *m = p->out;
    const int64_t count = (int64_t)p->faces * p->letters * p->set->draws;
    cs_status status = cs_images_allocate("glyphs", count, SIDE, SIDE, 1, m);
    m->group = status == CS_OK ? cs_alloc(count, sizeof *m->group) : NULL;
    if (status == CS_OK && !m->group) status = CS_ERR_MEMORY;
    int64_t i = 0;
    for (int f = 0; f < p->faces; ++f) {
        for (int l = 0; l < p->letters * p->set->draws && status == CS_OK; ++l, ++i) {
            m->group[i] = f;
            m->held_out[i] = p->held_out[f];
            m->label[i] = l / p->set->draws;
            status = draw_letter(p, f, m->label[i], i);
        }
    }
    return status;
}

cs_status cs_glyphs_draw(const char *name, cs_images *out, char **packages)
{
    painter p = {.out = out};
    cs_status status = CS_ROW_NAMED("set of glyphs", name, variant_table, &p.number);
    if (status != CS_OK) return status;
    p.set = &variant_table[p.number];
    *packages = cs_strdup("libfreetype6");
    status = *packages ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && FT_Init_FreeType(&p.library) != 0)
        status = cs_fail(CS_ERR_MEMORY, "FreeType cannot be initialised");
    if (status != CS_OK) return status;
    status = put_letters(&p);
    if (status == CS_OK) status = open_faces(&p, packages);
    if (status == CS_OK) status = draw_all(&p);
    (void)FT_Done_FreeType(p.library); /* the faces too */
    return status;
}
