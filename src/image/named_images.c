/* The corpora of images known by name: drawn, written and checked against data/SOURCES.tsv. */
#include "image/named_images.h"

#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "image/draw_private.h"
#include "io/file.h"
#include "io/prepared.h"

#define FONTS "fonts-*, see data/typefaces.tsv"
#define FREE "various free, see the packages"
#define TRANSFER(name, what)                                                                       \
    {                                                                                              \
        "glyphs-" name, FONTS, NULL, FREE, "transfer set of glyphs: " what, true, true             \
    }

static const cs_corpus_source source_table[] = {
    {"glyphs", FONTS, NULL, FREE, "62 letters and digits of sans-serif typefaces, 32 x 32", true,
     true},
    TRANSFER("serif", "serif typefaces"),
    TRANSFER("mono", "monospaced typefaces"),
    TRANSFER("bold", "bold sans-serif typefaces"),
    TRANSFER("italic", "italic typefaces"),
    TRANSFER("greek", "48 Greek letters"),
    TRANSFER("cyrillic", "64 Cyrillic letters"),
    TRANSFER("inverted", "black on white"),
    TRANSFER("noisy", "with Gaussian noise"),
    TRANSFER("rotated", "rotated by up to 45 degrees"),
    {"emoji", "fonts-noto-color-emoji unicode-data", NULL, "OFL-1.1, Unicode",
     "colour emoji of one code point by group, 32 x 32", true, true},
    {"scenes", "none", NULL, "none", "1 to 4 textured shapes on clutter, masks and boxes, 32 x 32",
     true, true},
    {"field", "none", NULL, "none", "Gaussian random fields of known covariance, 32 x 32", false,
     true},
};

const cs_corpus_source *cs_images_sources(int *count)
{
    *count = (int)(sizeof source_table / sizeof source_table[0]);
    return source_table;
}

const cs_corpus_source *cs_images_named(const char *name)
{
    for (size_t i = 0; i < sizeof source_table / sizeof *source_table; ++i) {
        if (strcmp(name, source_table[i].name) == 0) {
            return &source_table[i];
        }
    }
    return NULL;
}

cs_status cs_name_add(const char *name, char ***list, int64_t *count)
{
    char **grown = cs_realloc(*list, *count + 1, sizeof **list);
    if (!grown) return CS_ERR_MEMORY;
    *list = grown;
    grown[*count] = cs_strdup(name);
    if (!grown[*count]) return CS_ERR_MEMORY;
    *count += 1;
    return CS_OK;
}

static cs_status file_of(const char *name, char **out)
{
    int number = 0;
    cs_status status = CS_ROW_NAMED("corpus", name, source_table, &number);
    if (status != CS_OK) return status;
    *out = cs_format("%s.npz", name);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_images_prepared_path(const char *name, char **out)
{
    char *file = NULL;
    cs_status status = file_of(name, &file);
    if (status == CS_OK) status = cs_prepared_path(file, out);
    cs_free(file);
    return status;
}

/* "name=version ..." of the packages as they are installed. */
static cs_status versions(const char *names, char **out)
{
    enum { MOST = 64 };
    const char *argv[MOST] = {"dpkg-query", "-W", "-f", "${Package}=${Version} "};
    int count = 4;
    char *copy = cs_strdup(names), *rest = NULL;
    if (!copy) return CS_ERR_MEMORY;
    for (char *name = strtok_r(copy, " ", &rest); name && count < MOST - 1;
         name = strtok_r(NULL, " ", &rest)) {
        argv[count++] = name;
    }
    cs_status status = cs_child_text("dpkg-query", argv, out);
    for (size_t end = status == CS_OK ? strlen(*out) : 0; end > 0 && (*out)[end - 1] == ' ';
         --end) {
        (*out)[end - 1] = '\0';
    }
    cs_free(copy);
    return status;
}

static cs_status draw(const void *of, const char *target, char **packages)
{
    static const char glyphs[] = "glyphs";
    const cs_corpus_source *source = of;
    cs_images m = {0};
    char *names = NULL;
    cs_status status;
    if (strncmp(source->name, glyphs, strlen(glyphs)) == 0) {
        const char *variant = source->name + strlen(glyphs);
        status = cs_glyphs_draw(*variant ? variant + 1 : variant, &m, &names);
    } else if (strcmp(source->name, "emoji") == 0) {
        status = cs_emoji_draw(&m, &names);
    } else {
        status = strcmp(source->name, "scenes") == 0 ? cs_scenes_draw(&m) : cs_field_draw(&m);
    }
    if (status == CS_OK) status = cs_images_write(target, &m);
    if (status == CS_OK && names) {
        status = versions(names, packages);
    } else if (status == CS_OK) {
        *packages = cs_strdup("none");
        status = *packages ? CS_OK : CS_ERR_MEMORY;
    }
    cs_free(names);
    cs_images_free(&m);
    return status;
}

cs_status cs_images_prepare(const char *name, bool force, char **note)
{
    char *file = NULL;
    cs_status status = file_of(name, &file);
    const cs_prepared what = {name, file, draw, cs_images_named(name)};
    if (status == CS_OK) status = cs_prepare(&what, force, note);
    cs_free(file);
    return status;
}

const cs_corpus_source *cs_source_at(int i)
{
    int texts = 0, images = 0;
    const cs_corpus_source *text = cs_corpus_sources(&texts), *image = cs_images_sources(&images);
    return i < texts ? &text[i] : i - texts < images ? &image[i - texts] : NULL;
}

/* Their names, without the sets of glyphs; of all of them the most alike is considered. */
static char *names_of_all(const char *source, cs_hint *hint)
{
    char *all = cs_strdup("");
    const cs_corpus_source *s = NULL;
    for (int i = 0; (s = cs_source_at(i)); ++i) {
        cs_hint_consider(source, s->name, hint);
        if (strncmp(s->name, "glyphs-", strlen("glyphs-")) != 0) {
            cs_append(&all, "%s%s", i > 0 ? ", " : "", s->name);
        }
    }
    return all;
}

cs_status cs_source_unknown(const char *source)
{
    static const char *const laws[] = {"markov:", "hmm:", "grammar:", "field:"};
    cs_hint hint = {0};
    char *all = names_of_all(strchr(source, '/') ? "" : source, &hint);
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        cs_hint_consider(source, laws[i], &hint);
    }
    cs_status status = all ? cs_fail(CS_ERR_INPUT,
                                     "%s: no such file, no named corpus (%s) and no synthetic "
                                     "corpus (markov:..., hmm:..., grammar:..., field:...)%s",
                                     source, all, cs_path_hint(source, &hint))
                           : CS_ERR_MEMORY;
    cs_free(all);
    return status;
}

cs_status cs_source_path(const char *name, char **out)
{
    return cs_images_named(name) ? cs_images_prepared_path(name, out)
                                 : cs_corpus_prepared_path(name, out);
}

cs_status cs_source_prepare(const char *name, bool force, char **note)
{
    if (cs_images_named(name)) {
        return cs_images_prepare(name, force, note);
    }
    if (cs_corpus_named(name, NULL)) {
        return cs_corpus_prepare(name, force, note);
    }
    cs_hint hint = {0};
    char *all = names_of_all(name, &hint);
    cs_status status = all ? cs_fail(CS_ERR_USAGE, "unknown corpus '%s' (%s)%s", name, all,
                                     cs_hint_text("", &hint))
                           : CS_ERR_MEMORY;
    cs_free(all);
    return status;
}
