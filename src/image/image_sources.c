/* Sources of images: the corpora known by name, drawn, written and checked against data/SOURCES.tsv,
 * and the readers of files and directories. */
#include "image/image_sources.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "image/field.h"
#include "image/image_files_private.h"
#include "image/images_private.h"
#include "io/file.h"
#include "io/gzip.h"
#include "io/npy.h"
#include "io/prepared.h"
#include "text/synthetic.h"

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

static cs_status file_of(const char *name, char **out)
{
    int number = 0;
    cs_status status = CS_ROW_NAMED("corpus", name, source_table, &number);
    if (status != CS_OK) return status;
    *out = cs_format("%s.npz", name);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static cs_status images_prepared_path(const char *name, char **out)
{
    CS_AUTO_FREE char *file = NULL;
    cs_status status = file_of(name, &file);
    return status == CS_OK ? cs_prepared_path(file, out) : status;
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

static cs_images_drawer *drawer_of(const char *name)
{
    static const struct {
        const char *name;
        cs_images_drawer *draw;
    } known[] = {{"emoji", cs_emoji_draw}, {"scenes", cs_scenes_draw}, {"field", cs_field_draw}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].draw;
        }
    }
    return cs_glyphs_draw;
}

static cs_status draw(const void *of, const char *target, char **packages)
{
    const cs_corpus_source *source = of;
    CS_AUTO(cs_images) m = {0};
    CS_AUTO_FREE char *names = NULL;
    const char *dash = strchr(source->name, '-');
    cs_status status = drawer_of(source->name)(dash ? dash + 1 : "", &m, &names);
    if (status == CS_OK) status = cs_images_write(target, &m);
    if (status == CS_OK && names) {
        status = versions(names, packages);
    } else if (status == CS_OK) {
        *packages = cs_strdup("none");
        status = *packages ? CS_OK : CS_ERR_MEMORY;
    }
    return status;
}

cs_status cs_images_prepare(const char *name, bool force, char **note)
{
    CS_AUTO_FREE char *file = NULL;
    cs_status status = file_of(name, &file);
    const cs_prepared what = {name, file, draw, cs_images_named(name)};
    return status == CS_OK ? cs_prepare(&what, force, note) : status;
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
    static const char *const languages[] = {"markov:", "hmm:", "grammar:", "field:"};
    cs_hint hint = {0};
    CS_AUTO_FREE char *all = names_of_all(strchr(source, '/') ? "" : source, &hint);
    for (size_t i = 0; i < sizeof languages / sizeof *languages; ++i) {
        cs_hint_consider(source, languages[i], &hint);
    }
    cs_status status = all ? cs_fail(CS_ERR_INPUT,
                                     "%s: no such file, no named corpus (%s) and no synthetic "
                                     "corpus (markov:..., hmm:..., grammar:..., field:...)%s",
                                     source, all, cs_path_hint(source, &hint))
                           : CS_ERR_MEMORY;
    return status;
}

cs_status cs_source_path(const char *name, char **out)
{
    return cs_images_named(name) ? images_prepared_path(name, out)
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
    CS_AUTO_FREE char *all = names_of_all(name, &hint);
    cs_status status = all ? cs_fail(CS_ERR_USAGE, "unknown corpus '%s' (%s)%s", name, all,
                                     cs_hint_text("", &hint))
                           : CS_ERR_MEMORY;
    return status;
}

/* --- files and directories -------------------------------------------------------------------- */

static cs_status is_cifar_directory(const char *path, bool *is)
{
    CS_AUTO_FREE char *batch = cs_path_join(path, "test_batch.bin");
    *is = batch && cs_path_exists(batch);
    return batch ? CS_OK : CS_ERR_MEMORY;
}

/* A file of IDX; one of damaged gzip by its name. */
static cs_status begins_as_idx(const char *path, bool *is)
{
    uint8_t first[4] = {0};
    int64_t size = 0;
    *is = false;
    if (cs_npy_named(path) || !cs_path_exists(path)) return CS_OK;
    cs_status status = cs_stream_head(path, first, sizeof first, &size);
    *is = size == sizeof first ? cs_idx_is(first) : cs_has_suffix(path, "-ubyte.gz");
    return status;
}

/* An array of three dimensions or more: fewer are token ids. */
static cs_status is_npy_of_pictures(const char *path, bool *is)
{
    char head[256] = "";
    int64_t size = 0;
    cs_status status = cs_stream_head(path, head, sizeof head - 1, &size);
    for (int64_t i = 0; i < size; ++i) {
        head[i] = head[i] ? head[i] : ' '; /* the version has zeros */
    }
    const char *shape = strstr(head, "'shape': (");
    int commas = 0;
    for (const char *c = shape; c && *c && *c != ')'; ++c) {
        commas += *c == ',' && c[1] == ' ';
    }
    *is = commas >= 2;
    return status;
}

/* The first row whose ending a source has, and whose test it passes. */
static const struct {
    bool directory;
    const char *ending;
    cs_status (*is)(const char *path, bool *is); /* NULL: always */
    cs_images_reader *read;
} reader_table[] = {
    {true, "", is_cifar_directory, cs_cifar_read_directory},
    {true, "", cs_image_files_are, cs_images_read_directory},
    {false, ".npz", NULL, cs_images_read_npz},
    {false, ".bin", NULL, cs_cifar_read},
    {false, ".bin.gz", NULL, cs_cifar_read},
    {false, ".npy", is_npy_of_pictures, cs_images_read_npy},
    {false, ".npy.gz", is_npy_of_pictures, cs_images_read_npy},
    {false, "", begins_as_idx, cs_idx_read},
};

/* NULL: none. */
static cs_status reader_of(const char *path, cs_images_reader **out)
{
    *out = cs_field_named(path) ? cs_field_read : NULL;
    const bool directory = cs_path_is_dir(path);
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof reader_table / sizeof *reader_table && status == CS_OK && !*out;
         ++i) {
        bool is =
            reader_table[i].directory == directory && cs_has_suffix(path, reader_table[i].ending);
        if (is && reader_table[i].is) status = reader_table[i].is(path, &is);
        if (is && status == CS_OK) *out = reader_table[i].read;
    }
    return status;
}

cs_status cs_images_are(const char *source, bool *are)
{
    cs_images_reader *read = NULL;
    *are = false;
    if (cs_corpus_named(source, NULL) || cs_synthetic_named(source)) {
        return CS_OK;
    }
    const cs_status status = reader_of(source, &read);
    *are = cs_images_named(source) || read == cs_field_read || (read && cs_path_exists(source));
    return status;
}

/* Where a named corpus is, prepared now when it is not there; *path is the caller's. */
static cs_status ready(const char *name, char **path)
{
    cs_status status = images_prepared_path(name, path);
    return status == CS_OK && !cs_path_exists(*path) ? cs_images_prepare(name, false, NULL)
                                                     : status;
}

cs_status cs_images_load(const char *source, const cs_images_options *options, cs_images *out)
{
    cs_images made = {0};
    cs_images_reader *read = cs_images_read_npz;
    cs_images_options resolved = options ? *options : (cs_images_options){.test_share = -1};
    if (resolved.test_share < 0) {
        resolved.test_share = 0.2;
    }
    const bool named = cs_images_named(source) != NULL;
    CS_AUTO_FREE char *path = NULL;
    cs_status status =
        resolved.test_share < 1
            ? CS_OK
            : cs_fail(CS_ERR_USAGE, "test share %g is not below 1", resolved.test_share);
    if (status == CS_OK) status = named ? ready(source, &path) : reader_of(source, &read);
    if (status == CS_OK && !read)
        status = cs_fail(
            CS_ERR_INPUT,
            "%s: not pictures (expected IDX, CIFAR's .bin, .npy of 3 or 4 dimensions, .npz, or a "
            "directory of image files, of one directory per class, or of train and val)",
            source);
    if (status == CS_OK) status = read(named ? path : source, &resolved, &made);
    if (status == CS_OK) {
        const char *slash = strrchr(source, '/');
        made.name = cs_strdup(slash && slash[1] ? slash + 1 : source);
        made.path = named ? path : cs_strdup(source);
        path = NULL;
        status = made.name && made.path ? CS_OK : CS_ERR_MEMORY;
    }
    return CS_DELIVER(status, out, made, cs_images_free);
}
