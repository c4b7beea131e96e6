/* A directory of pictures: of directories, a class each, or of files. The first pass reads the
 * headers, so that sizes are compared, and memory is taken once, before anything is decoded; the
 * second decodes, a file an item of a parallel loop. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/images_private.h"
#include "image/picture.h"
#include "io/file.h"

enum { MOST_BYTES = 1 << 28 }; /* of one file */

typedef struct {
    char *path, *key; /* key: below the directory */
    int32_t label;
    char sha256[65];
} entry;

typedef struct {
    entry *file;
    int64_t files, capacity;
    int64_t height, width, channels; /* 0: no file so far */
    cs_images *out;
} listing;

/* --- the first pass --------------------------------------------------------------------------- */

/* Takes the file over, and reads its header. */
static cs_status add_file(listing *l, char *path, char *key, int32_t label)
{
    cs_status status = path && key
                           ? cs_reserve(&l->file, &l->capacity, l->files + 1, sizeof *l->file)
                           : CS_ERR_MEMORY;
    if (status != CS_OK) {
        cs_free(path);
        cs_free(key);
        return status;
    }
    entry *e = &l->file[l->files++];
    *e = (entry){.path = path, .key = key, .label = label};
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    cs_picture p = {0};
    status = cs_interrupt_check();
    if (status == CS_OK) status = cs_file_read(path, MOST_BYTES, &bytes, &size);
    if (status == CS_OK) status = cs_lfs_check(path, bytes, size);
    if (status == CS_OK) status = cs_picture_decode(path, bytes, size, true, &p);
    if (status == CS_OK) cs_sha256(bytes, (size_t)size, e->sha256);
    if (status == CS_OK && l->height && (p.height != l->height || p.width != l->width)) {
        status = cs_fail(
            CS_ERR_INPUT,
            "%s is %lld x %lld, but %s is %lld x %lld: all pictures must have the same size", path,
            (long long)p.height, (long long)p.width, l->file[0].path, (long long)l->height,
            (long long)l->width);
    }
    l->height = p.height;
    l->width = p.width;
    l->channels = p.channels > l->channels ? p.channels : l->channels;
    return status;
}

static cs_status add_class(listing *l, const char *path, const char *name)
{
    char **file = NULL;
    int64_t files = 0;
    cs_status status = cs_dir_names(path, &file, &files);
    if (status == CS_OK && files == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: this class has no pictures", path);
    for (int64_t i = 0; i < files && status == CS_OK; ++i) {
        status = add_file(l, cs_path_join(path, file[i]), cs_path_join(name, file[i]),
                          (int32_t)l->out->labels);
    }
    cs_text_list_free(file, files);
    if (status != CS_OK) return status;
    char **label = &l->out->label_name[l->out->labels];
    l->out->labels += (*label = cs_strdup(name)) != NULL;
    return *label ? CS_OK : CS_ERR_MEMORY;
}

static cs_status list(listing *l, const char *path, const cs_progress *progress)
{
    char **name = NULL;
    int64_t names = 0, classes = 0;
    cs_status status = cs_dir_names(path, &name, &names);
    if (status != CS_OK) return status;
    l->out->label_name = cs_calloc(names, sizeof *l->out->label_name);
    status = l->out->label_name ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < names && status == CS_OK; ++i) {
        CS_AUTO_FREE char *below = cs_path_join(path, name[i]);
        if (!below) {
            status = CS_ERR_MEMORY;
            break;
        }
        const bool is_class = cs_path_is_dir(below);
        classes += is_class;
        if (classes != 0 && classes != i + 1) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: \"%s\" is a %s and \"%s\" is not: expected one directory per "
                             "class, or only files",
                             path, name[i], is_class ? "directory" : "file", name[i - 1]);
        } else if (is_class) {
            status = add_class(l, below, name[i]);
        } else {
            status = add_file(l, cs_strdup(below), cs_strdup(name[i]), -1);
        }
        cs_progress_report(progress, "headers of pictures", i + 1, names);
    }
    cs_text_list_free(name, names);
    return status;
}

/* --- the second ------------------------------------------------------------------------------- */

static cs_status decode_file(void *ctx, int64_t i)
{
    const listing *l = ctx;
    const entry *e = &l->file[i];
    const int64_t pixels = l->height * l->width, channels = l->channels;
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    CS_AUTO(cs_picture) p = {0};
    cs_status status = cs_file_read(e->path, MOST_BYTES, &bytes, &size);
    if (status == CS_OK) status = cs_picture_decode(e->path, bytes, size, false, &p);
    if (status == CS_OK && (p.height != l->height || p.width != l->width || p.channels > channels))
        status = cs_fail(CS_ERR_INPUT, "%s: changed while it was read", e->path);
    uint8_t *to = l->out->pixel + i * pixels * channels;
    for (int64_t v = 0; status == CS_OK && v < pixels * channels; ++v) {
        to[v] = p.pixel[p.channels == channels ? v : v / channels];
    }
    return status;
}

static cs_status decode_all(const char *path, listing *l, const cs_images_options *options)
{
    cs_images *out = l->out;
    cs_status status = cs_images_allocate(path, l->files, l->height, l->width, l->channels, out);
    if (status == CS_OK) status = cs_parallel(l->files, options->threads, decode_file, l);
    CS_AUTO(cs_pool) memory = {0};
    size_t capacity = 1, length = 0;
    for (int64_t i = 0; i < l->files; ++i) {
        capacity += 64 + 3 + strlen(l->file[i].key);
    }
    char *text = status == CS_OK ? cs_pool_take(&memory, (int64_t)capacity, 1) : NULL;
    if (status == CS_OK) status = memory.status;
    for (int64_t i = 0; status == CS_OK && i < l->files; ++i) {
        const entry *e = &l->file[i];
        out->label[i] = e->label;
        out->held_out[i] =
            cs_hash_below(e->key, strlen(e->key), options->seed, options->test_share);
        length += (size_t)snprintf(text + length, capacity - length, "%s  %s\n", e->sha256, e->key);
    }
    if (status == CS_OK) cs_sha256(text, length, out->sha256);
    return status;
}

cs_status cs_images_read_directory(const char *path, const cs_images_options *options,
                                   cs_images *out)
{
    listing l = {.out = out};
    cs_status status = list(&l, path, options->progress);
    if (status == CS_OK) status = decode_all(path, &l, options);
    for (int64_t i = 0; i < l.files; ++i) {
        cs_free(l.file[i].path);
        cs_free(l.file[i].key);
    }
    cs_free(l.file);
    return status;
}

/* The first entry of a folder, in fresh memory; NULL: it is empty. */
static cs_status first_in(const char *path, char **out)
{
    char **name = NULL;
    int64_t names = 0;
    cs_status status = cs_dir_names(path, &name, &names);
    *out = status == CS_OK && names > 0 ? cs_path_join(path, name[0]) : NULL;
    cs_text_list_free(name, names);
    return status == CS_OK && names > 0 && !*out ? CS_ERR_MEMORY : status;
}

/* The first file below, no deeper than a class. */
static cs_status first_file(const char *path, char **out)
{
    CS_AUTO_FREE char *folder = NULL;
    cs_status status = first_in(path, out);
    if (*out && cs_path_is_dir(*out)) {
        folder = *out;
        status = first_in(folder, out);
    }
    return status;
}

/* Endings that no text file has, so that an error of such a file is reported. */
static bool is_named_picture(const char *path)
{
    static const char *const suffix[] = {".png", ".jpg", ".jpeg", ".pgm", ".ppm"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof suffix / sizeof *suffix; ++i) {
        if (strcasecmp(dot, suffix[i]) == 0) {
            return true;
        }
    }
    return false;
}

cs_status cs_images_directory_is(const char *path, bool *is)
{
    uint8_t begin[8] = {0};
    CS_AUTO_FREE char *name = NULL;
    cs_status status = first_file(path, &name);
    const int64_t size = name ? cs_file_head(name, begin, sizeof begin) : 0;
    *is = cs_picture_is(begin, size) || (name && is_named_picture(name));
    return status;
}
