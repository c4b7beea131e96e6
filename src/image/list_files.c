/* Lists the image files of a folder. Each folder is read once; a file is opened only if its name
 * does not end as that of an image. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <utf8proc.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/image_files_private.h"
#include "image/picture.h"
#include "io/file.h"

enum { MOST_DEPTH = 8, MOST_OPENED = 64 };

static const struct {
    const char *name;
    cs_image_side side;
    bool last; /* only if no other held-out side is there */
} SPLIT[] = {{"train", CS_SIDE_TRAIN, false},     {"training", CS_SIDE_TRAIN, false},
             {"val", CS_SIDE_TEST, false},        {"valid", CS_SIDE_TEST, false},
             {"validation", CS_SIDE_TEST, false}, {"test", CS_SIDE_TEST, true},
             {"testing", CS_SIDE_TEST, true}};
enum { SPLITS = sizeof SPLIT / sizeof *SPLIT };

/* Endings that no text file has, so that an error of such a file is reported. */
static bool is_named_picture(const char *path)
{
    static const char *const suffix[] = {".png", ".jpg", ".jpeg", ".pgm",  ".ppm",
                                         ".gif", ".bmp", ".tif",  ".tiff", ".webp"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof suffix / sizeof *suffix; ++i) {
        if (strcasecmp(dot, suffix[i]) == 0) {
            return true;
        }
    }
    return false;
}

static cs_status begins_as_picture(const char *path, bool *is)
{
    uint8_t begin[16] = {0};
    int64_t size = 0;
    cs_status status = cs_file_head(path, begin, sizeof begin, &size);
    *is = status == CS_OK && cs_picture_is(begin, size);
    return status;
}

void cs_image_files_free(cs_image_files *files)
{
    for (int64_t i = 0; i < files->files; ++i) {
        CS_FREE_FIELDS(&files->file[i], path, key);
    }
    cs_text_list_free(files->label_name, files->labels);
    CS_FREE_FIELDS(files, file, skipped_name, unread);
    *files = (cs_image_files){0};
}

/* --- a folder and those below it --------------------------------------------------------------- */

typedef struct {
    int32_t label;
    cs_image_side side;
    int depth;
} place;

static cs_status add_file(cs_image_files *l, const char *path, const char *key, place at)
{
    bool is = is_named_picture(path);
    cs_status status = is ? CS_OK : begins_as_picture(path, &is);
    if (status != CS_OK) return status;
    if (!is) {
        l->skipped_name = l->skipped == 0 ? cs_strdup(path) : l->skipped_name;
        l->skipped += 1;
        return l->skipped_name ? CS_OK : CS_ERR_MEMORY;
    }
    status = cs_reserve(&l->file, &l->capacity, l->files + 1, sizeof *l->file);
    if (status != CS_OK) return status;
    cs_image_file *file = &l->file[l->files++];
    *file = (cs_image_file){
        .path = cs_strdup(path), .key = cs_strdup(key), .label = at.label, .side = at.side};
    return file->path && file->key ? CS_OK : CS_ERR_MEMORY;
}

/* Calls itself: at most MOST_DEPTH deep. NOLINTNEXTLINE(misc-no-recursion) */
static cs_status add_folder(cs_image_files *l, const char *path, const char *key, place at)
{
    char **name = NULL;
    int64_t names = 0;
    if (at.depth > MOST_DEPTH) {
        return cs_fail(CS_ERR_INPUT, "%s: folders of images are at most %d deep", path, MOST_DEPTH);
    }
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) status = cs_dir_names(path, &name, &names);
    for (int64_t i = 0; i < names && status == CS_OK; ++i) {
        CS_AUTO_FREE char *below = cs_path_join(path, name[i]), *inner = cs_path_join(key, name[i]);
        if (!below || !inner) {
            status = CS_ERR_MEMORY;
        } else if (cs_path_is_dir(below)) {
            status = add_folder(l, below, inner, (place){at.label, at.side, at.depth + 1});
        } else {
            status = add_file(l, below, inner, at);
        }
    }
    cs_text_list_free(name, names);
    return status;
}

/* --- classes ----------------------------------------------------------------------------------- */

/* A name as UTF-8: names of files may be any bytes, but labels are written as text. */
static char *label_of(const char *name)
{
    char *made = cs_strdup("");
    const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)name;
    while (made && *at) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t size = utf8proc_iterate(at, -1, &c);
        if (size > 0) {
            cs_append(&made, "%.*s", (int)size, (const char *)at);
        } else {
            cs_append(&made, "\\x%02X", *at);
        }
        at += size > 0 ? size : 1;
    }
    return made;
}

static cs_status find_class(cs_image_files *l, const char *path, const char *name,
                            cs_image_side side, int32_t *out)
{
    CS_AUTO_FREE char *label = label_of(name);
    if (!label) return CS_ERR_MEMORY;
    for (*out = 0; *out < l->labels; ++*out) {
        if (strcmp(l->label_name[*out], label) == 0) {
            return CS_OK;
        }
    }
    if (side == CS_SIDE_TEST) {
        return cs_fail(CS_ERR_INPUT, "%s: the training side has no class of this name", path);
    }
    char **grown = cs_realloc(l->label_name, l->labels + 1, sizeof *grown);
    if (!grown) return CS_ERR_MEMORY;
    l->label_name = grown;
    grown[l->labels++] = label;
    label = NULL;
    return CS_OK;
}

static cs_status add_class(cs_image_files *l, const char *path, const char *key, const char *name,
                           cs_image_side side)
{
    const int64_t before = l->files;
    int32_t label = 0;
    cs_status status = find_class(l, path, name, side, &label);
    if (status == CS_OK) status = add_folder(l, path, key, (place){label, side, 2});
    return status == CS_OK && l->files == before
               ? cs_fail(CS_ERR_INPUT, "%s: this class has no pictures", path)
               : status;
}

/* A folder of classes, or of images without classes. key "": the whole source. */
static cs_status add_classes(cs_image_files *l, const char *path, const char *key,
                             cs_image_side side, const cs_progress *progress)
{
    char **name = NULL;
    int64_t names = 0, last = -1;
    bool last_is_class = false;
    cs_status status = cs_dir_names(path, &name, &names);
    for (int64_t i = 0; i < names && status == CS_OK; ++i) {
        CS_AUTO_FREE char *below = cs_path_join(path, name[i]),
                          *inner = key[0] ? cs_path_join(key, name[i]) : cs_strdup(name[i]);
        if (!below || !inner) {
            status = CS_ERR_MEMORY;
            break;
        }
        const bool is_class = cs_path_is_dir(below);
        const int64_t before = l->files;
        status = is_class ? add_class(l, below, inner, name[i], side)
                          : add_file(l, below, inner, (place){-1, side, 1});
        if (status == CS_OK && l->files > before) {
            if (last >= 0 && last_is_class != is_class)
                status = cs_fail(CS_ERR_INPUT,
                                 "%s: \"%s\" is a %s and \"%s\" is not: expected one directory per "
                                 "class, or only files",
                                 path, name[i], is_class ? "directory" : "file", name[last]);
            last = i;
            last_is_class = is_class;
        }
        cs_progress_report(progress, "names of images", i + 1, names);
    }
    cs_text_list_free(name, names);
    return status;
}

/* --- the split --------------------------------------------------------------------------------- */

/* The row of SPLIT of a name, -1: none. */
static int split_of(const char *name)
{
    for (int k = 0; k < SPLITS; ++k) {
        if (strcasecmp(name, SPLIT[k].name) == 0) {
            return k;
        }
    }
    return -1;
}

/* Whether all folders are sides of a split, one of them the training side; plain: whether one of
 * the others is a validation side, so that a test side is not read. */
static cs_status find_split(const char *path, char *const *name, int64_t names, bool *is,
                            bool *plain)
{
    int64_t sides[2] = {0}, others = 0;
    *plain = false;
    for (int64_t i = 0; i < names; ++i) {
        CS_AUTO_FREE char *below = cs_path_join(path, name[i]);
        if (!below) return CS_ERR_MEMORY;
        const int k = cs_path_is_dir(below) ? split_of(name[i]) : -1;
        others += k < 0 && cs_path_is_dir(below);
        sides[0] += k >= 0 && SPLIT[k].side == CS_SIDE_TRAIN;
        sides[1] += k >= 0 && SPLIT[k].side == CS_SIDE_TEST;
        *plain = *plain || (k >= 0 && SPLIT[k].side == CS_SIDE_TEST && !SPLIT[k].last);
    }
    *is = others == 0 && sides[0] == 1 && sides[1] > 0;
    return CS_OK;
}

/* The training side first, whose classes are those of all. */
static cs_status add_sides(cs_image_files *l, const char *path, char *const *name, int64_t names,
                           bool plain, const cs_progress *progress)
{
    cs_status status = CS_OK;
    for (int side = CS_SIDE_TRAIN; side <= CS_SIDE_TEST; ++side) {
        for (int64_t i = 0; i < names && status == CS_OK; ++i) {
            const int k = split_of(name[i]);
            CS_AUTO_FREE char *below = cs_path_join(path, name[i]);
            if (!below) return CS_ERR_MEMORY;
            if (k < 0 || (int)SPLIT[k].side != side || !cs_path_is_dir(below)) continue;
            if (!plain || !SPLIT[k].last) {
                status = add_classes(l, below, name[i], SPLIT[k].side, progress);
            } else if (!l->unread) {
                l->unread = below;
                below = NULL;
            }
        }
    }
    return status;
}

cs_status cs_image_files_list(const char *path, const cs_progress *progress, cs_image_files *out)
{
    cs_image_files made = {0};
    char **name = NULL;
    int64_t names = 0;
    bool split = false, plain = false;
    cs_status status = cs_dir_names(path, &name, &names);
    if (status == CS_OK) status = find_split(path, name, names, &split, &plain);
    if (status == CS_OK && split) {
        status = add_sides(&made, path, name, names, plain, progress);
    } else if (status == CS_OK) {
        status = add_classes(&made, path, "", CS_SIDE_HASHED, progress);
    }
    cs_text_list_free(name, names);
    if (status == CS_OK && made.files == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no image file", path);
    return CS_DELIVER(status, out, made, cs_image_files_free);
}

/* --- whether they are -------------------------------------------------------------------------- */

typedef struct {
    int64_t named;                 /* as images */
    int64_t opened, found, closed; /* of the others: opened, images of them, not opened */
} counts;

/* NOLINTNEXTLINE(misc-no-recursion) */
static cs_status count_files(const char *path, int depth, counts *c)
{
    char **name = NULL;
    int64_t names = 0;
    cs_status status = cs_dir_names(path, &name, &names);
    for (int64_t i = 0; i < names && status == CS_OK; ++i) {
        const bool named = is_named_picture(name[i]);
        CS_AUTO_FREE char *below = named ? NULL : cs_path_join(path, name[i]);
        if (!named && !below) {
            status = CS_ERR_MEMORY;
        } else if (named) {
            c->named += 1;
        } else if (cs_path_is_dir(below)) {
            status = depth < 4 ? count_files(below, depth + 1, c) : CS_OK;
        } else if (c->opened == MOST_OPENED) {
            c->closed += 1;
        } else {
            bool is = false;
            status = begins_as_picture(below, &is);
            c->opened += 1;
            c->found += is;
        }
    }
    cs_text_list_free(name, names);
    return status;
}

cs_status cs_image_files_are(const char *path, bool *are)
{
    counts c = {0};
    cs_status status = count_files(path, 0, &c);
    /* those that were not opened are as most of those that were */
    const int64_t unnamed = 2 * c.found > c.opened ? c.closed : 0;
    const int64_t images = c.named + c.found + unnamed;
    *are = status == CS_OK && 2 * images > c.named + c.opened + c.closed;
    return status;
}
