/* The digests of files in manifests. A folder's manifest.json may be anything's (web pages and data
 * sets have one): what is not of our form is not a record, and what was of it once is damaged. */
#include "io/digests.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"

static const char manifest_name[] = "manifest.json", checkpoint_name[] = "trainer.json";

static bool has_file(const char *dir, const char *name)
{
    struct stat st;
    char path[PATH_MAX]; /* of no allocation, which may fail */
    const int length = snprintf(path, sizeof path, "%s/%s", dir, name);
    return length < (int)sizeof path && cs_path_exists(path) &&
           (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

/* Where a folder's digests are; NULL: nowhere. */
static const char *record_in(const char *dir)
{
    return has_file(dir, manifest_name)     ? manifest_name
           : has_file(dir, checkpoint_name) ? checkpoint_name
                                            : NULL;
}

static json_t *find(const json_t *outputs, const char *name)
{
    size_t i = 0;
    json_t *entry = NULL;
    json_array_foreach(outputs, i, entry)
    {
        const char *path = json_string_value(json_object_get(entry, "path"));
        if (path && strcmp(path, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

static cs_status put_file(json_t *outputs, const char *path, const char *name, int64_t bytes)
{
    char hex[65];
    const bool large = bytes > CS_DIGEST_LARGE;
    cs_status status = large ? cs_xxh3_file(path, hex) : cs_sha256_file(path, hex);
    if (status != CS_OK) return status;
    json_t *entry = json_pack("{s:s, s:I, s:s}", "path", name, "bytes", (json_int_t)bytes,
                              large ? "xxh3" : "sha256", hex);
    return json_array_append_new(outputs, entry) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for the digest of %s", path);
}

/* Calls itself: as deep as the folders of a result. NOLINTNEXTLINE(misc-no-recursion) */
cs_status cs_digest_put(json_t *outputs, const char *dir, const char *name)
{
    struct stat st;
    CS_AUTO_FREE char *path = cs_path_join(dir, name);
    char **inner = NULL;
    int64_t count = 0;
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK || find(outputs, name)) {
        /* nothing to record */
    } else if (lstat(path, &st) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    } else if (S_ISREG(st.st_mode)) {
        status = put_file(outputs, path, name, (int64_t)st.st_size);
    } else if (S_ISDIR(st.st_mode)) {
        status = cs_dir_names(path, &inner, &count);
        for (int64_t i = 0; i < count && status == CS_OK; ++i) {
            CS_AUTO_FREE char *below = cs_path_join(name, inner[i]);
            status = below ? cs_digest_put(outputs, dir, below) : CS_ERR_MEMORY;
        }
        cs_text_list_free(inner, count);
    }
    return status;
}

/* No JSON, but ours by how it begins, as far as it goes, or by a word of it; or no text at all, as a
 * file system leaves a file whose blocks were not written. */
static bool was_ours(const char *text, int64_t size)
{
    static const char opening[] = "{\n  \"command\": \"", word[] = "\"program_";
    const int64_t length = (int64_t)strlen(opening);
    return (size > 0 && text[0] == '\0') ||
           memcmp(text, opening, (size_t)(size < length ? size : length)) == 0 ||
           memmem(text, (size_t)size, word, strlen(word));
}

bool cs_digest_is_ours(const json_t *manifest)
{
    return json_is_string(json_object_get(manifest, "program_build_id")) ||
           json_is_string(
               json_object_get(manifest, "program_sha256")); /* before there were build ids */
}

cs_status cs_digest_is_whole(json_t *manifest, bool *whole)
{
    char hex[65];
    const char *own = json_string_value(json_object_get(manifest, "sha256"));
    cs_status status = own ? cs_digest_json(manifest, hex) : CS_OK;
    *whole = !own || status != CS_OK || strcmp(own, hex) == 0;
    return status;
}

/* "files" of a checkpoint of version 1 as outputs. */
static cs_status list_files(const json_t *checkpoint, json_t **outputs)
{
    const char *name = NULL;
    json_t *entry = NULL, *all = json_array();
    cs_status status = all ? CS_OK : CS_ERR_MEMORY;
    json_object_foreach(json_object_get(checkpoint, "files"), name, entry)
    {
        json_auto_t *copy = json_deep_copy(entry);
        if (status == CS_OK) status = cs_json_set(copy, "path", json_string(name));
        if (status == CS_OK && json_array_append(all, copy) != 0) status = CS_ERR_MEMORY;
    }
    *outputs = all;
    return status;
}

static cs_status read_record(const char *path, json_t **outputs)
{
    enum { MOST = 256 << 20 };
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    json_auto_t *manifest = NULL;
    bool whole = true;
    cs_status status = cs_file_read(path, MOST, &text, &size);
    if (status == CS_OK) {
        status = cs_json_parse(path, text, size, &manifest);
        whole = status != CS_ERR_INPUT || !was_ours(text, size);
    }
    const char *format = json_string_value(json_object_get(manifest, "format"));
    const bool checkpoint = format && strcmp(format, "cospec-training") == 0;
    json_t *listed = json_object_get(manifest, "outputs");
    if (status == CS_OK && (checkpoint || cs_digest_is_ours(manifest)))
        status = cs_digest_is_whole(manifest, &whole);
    if (status == CS_OK && whole && checkpoint && !listed) {
        status = list_files(manifest, outputs);
    } else if (status == CS_OK && whole) {
        *outputs = json_incref(listed);
    }
    if (status == CS_ERR_INPUT) {
        cs_reason_clear();
        status = CS_OK;
    }
    if (status == CS_OK && !whole)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: was changed or damaged after cospec wrote it, so the files of its "
                         "result cannot be checked; to read them unchecked, remove it",
                         path);
    return status;
}

cs_status cs_digest_record(const char *dir, json_t **outputs)
{
    const char *name = record_in(dir);
    CS_AUTO_FREE char *path = name ? cs_path_join(dir, name) : NULL;
    cs_status status = name && !path ? CS_ERR_MEMORY : CS_OK;
    *outputs = NULL;
    if (path) status = read_record(path, outputs);
    return status;
}

cs_status cs_digest_keep(json_t *outputs, const char *dir)
{
    size_t i = 0;
    json_t *entry = NULL;
    json_auto_t *before = NULL;
    cs_status status = cs_digest_record(dir, &before);
    if (status == CS_ERR_INPUT) { /* damaged: nothing of it is kept */
        cs_reason_clear();
        status = CS_OK;
    }
    json_array_foreach(before, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "path"));
        if (!name || find(outputs, name) || status != CS_OK) {
            continue;
        }
        CS_AUTO_FREE char *path = cs_path_join(dir, name);
        status = path ? CS_OK : CS_ERR_MEMORY;
        if (path && cs_path_exists(path))
            status = json_array_append(outputs, entry) == 0 ? CS_OK : CS_ERR_MEMORY;
    }
    return status;
}

/* Of a file in `dir` against its record in `outputs`. sha256 NULL: it is missing. */
static cs_status check_in(const json_t *outputs, const char *dir, const char *name,
                          const char *sha256)
{
    char hex[65];
    const json_t *entry = find(outputs, name);
    const char *now = sha256, *kind = "SHA-256";
    const char *was = json_string_value(json_object_get(entry, "sha256"));
    cs_status status = CS_OK;
    if (!sha256) {
        return entry ? cs_fail(CS_ERR_INPUT, "%s/%s: is missing, but %s/%s lists it", dir, name,
                               dir, record_in(dir))
                     : CS_OK;
    }
    if (!was && (was = json_string_value(json_object_get(entry, "xxh3")))) {
        CS_AUTO_FREE char *path = cs_path_join(dir, name);
        status = path ? cs_xxh3_file(path, hex) : CS_ERR_MEMORY;
        now = hex;
        kind = "XXH3";
    }
    if (status != CS_OK || !was || strcmp(was, now) == 0) return status;
    const char *record = record_in(dir);
    const bool checkpoint = record == checkpoint_name;
    return cs_fail(CS_ERR_INPUT,
                   "%s/%s: its %s is %s, but %s says %s: it was changed or damaged after cospec "
                   "wrote it. %s%s%s; to read it unchecked, remove %s",
                   dir, name, kind, now, record, was,
                   checkpoint ? "Another checkpoint may be intact" : "'cospec rerun ",
                   checkpoint ? "" : dir,
                   checkpoint ? "" : "/manifest.json -o NEW' creates it again", record);
}

/* cs_digest_record, at most once for each folder, in whichever thread. */
static cs_status cached_record(json_t *cache, const char *dir, json_t **outputs)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    json_t *known = json_object_get(cache, dir);
    *outputs = json_is_null(known) ? NULL : json_incref(known);
    cs_status status = known ? CS_OK : cs_digest_record(dir, outputs);
    if (status == CS_OK && cache && !known) /* a path need not be UTF-8 */
        (void)json_object_set_new_nocheck(cache, dir,
                                          *outputs ? json_incref(*outputs) : json_null());
    (void)pthread_mutex_unlock(&lock);
    return status;
}

/* Against the records of the folder that `path` is in and of those above. sha256 NULL: the file is not
 * there. listed (may be NULL): nothing is checked, but it becomes true where a record lists the file. */
static cs_status check_where(const char *path, const char *sha256, json_t *cache, bool *listed)
{
    CS_AUTO_FREE char *dir = cs_strdup(path);
    cs_status status = dir ? CS_OK : CS_ERR_MEMORY;
    for (int up = 0; up < CS_DIGEST_FOLDERS && status == CS_OK; ++up) {
        char *slash = strrchr(dir, '/');
        const char *name = path + (slash ? slash + 1 - dir : 0);
        if (slash) {
            *slash = '\0';
        }
        const char *in = !slash ? "." : *dir ? dir : "/";
        json_auto_t *outputs = NULL;
        status = cached_record(cache, in, &outputs);
        if (status == CS_OK && listed) *listed = *listed || find(outputs, name);
        if (status == CS_OK && !listed) status = check_in(outputs, in, name, sha256);
        if (!slash || !*dir) {
            break;
        }
    }
    return status;
}

/* sha256: of the file. cache: the records that were read before, by folder; NULL: each is read. */
static cs_status check(const char *path, const char *sha256, json_t *cache, bool *listed)
{
    struct stat st;
    char *target = NULL;
    cs_status status = check_where(path, sha256, cache, listed);
    if (status == CS_OK &&
        (lstat(path, &st) != 0 || (S_ISLNK(st.st_mode) && !(target = realpath(path, NULL)))))
        status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    if (status == CS_OK && target) status = check_where(target, sha256, cache, listed);
    free(target);
    return status;
}

cs_status cs_digest_lists(const char *path, bool *out)
{
    *out = false;
    return check(path, NULL, NULL, out);
}

cs_status cs_digest_check_file(const char *path)
{
    char hex[65];
    int64_t bytes = 0;
    return cs_path_exists(path) ? cs_path_sha256(path, NULL, hex, &bytes)
                                : check_where(path, NULL, NULL, NULL);
}

/* Tables of a result are verified when they are read; models and arrays are not. */
static bool is_table(const json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "path"));
    return name && json_object_get(entry, "sha256") &&
           (cs_has_suffix(name, ".csv") || cs_has_suffix(name, ".json") ||
            cs_has_suffix(name, ".svg"));
}

static cs_status check_each(const json_t *outputs, const char *dir, bool tables)
{
    size_t i = 0;
    json_t *entry = NULL;
    cs_status status = CS_OK;
    json_array_foreach(outputs, i, entry)
    {
        char hex[65] = "";
        const char *name = json_string_value(json_object_get(entry, "path"));
        if (!name || status != CS_OK || (tables && !is_table(entry))) {
            continue;
        }
        CS_AUTO_FREE char *path = cs_path_join(dir, name);
        status = path ? CS_OK : CS_ERR_MEMORY;
        const bool there = path && cs_path_exists(path);
        if (there && json_object_get(entry, "sha256")) status = cs_sha256_file(path, hex);
        if (path && status == CS_OK) status = check_in(outputs, dir, name, there ? hex : NULL);
    }
    return status;
}

static cs_status check_record(const char *dir, bool tables)
{
    json_auto_t *outputs = NULL;
    cs_status status = cs_digest_record(dir, &outputs);
    return status == CS_OK ? check_each(outputs, dir, tables) : status;
}

cs_status cs_digest_check_own(const char *path, json_t *record, const char *dir)
{
    bool whole = true;
    const json_t *outputs = json_object_get(record, "outputs");
    cs_status status = cs_digest_is_whole(record, &whole);
    if (status == CS_OK && (!whole || !outputs || !json_object_get(record, "sha256")))
        return cs_fail(CS_ERR_INPUT, "%s: was changed or damaged after cospec wrote it", path);
    return status == CS_OK ? check_each(outputs, dir, false) : status;
}

cs_status cs_digest_check_all(const char *dir)
{
    return check_record(dir, false);
}

cs_status cs_digest_check_tables(const char *dir)
{
    return check_record(dir, true);
}

cs_status cs_digest_json(json_t *object, char hex[65])
{
    json_t *own = json_incref(json_object_get(object, "sha256"));
    if (own) (void)json_object_del(object, "sha256");
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    cs_status status = cs_json_check(); /* Jansson may give a part of the text */
    if (status == CS_OK && !text) status = cs_fail(CS_ERR_MEMORY, "out of memory for a digest");
    if (status == CS_OK) cs_sha256(text, strlen(text), hex);
    free(text);
    return own && json_object_set_new(object, "sha256", own) != 0 && status == CS_OK
               ? cs_fail(CS_ERR_MEMORY, "out of memory for a digest")
               : status;
}

cs_status cs_digest_write(const char *path, json_t *record)
{
    char hex[65];
    cs_status status = cs_digest_json(record, hex);
    if (status == CS_OK) status = cs_json_set(record, "sha256", json_string(hex));
    return status == CS_OK ? cs_json_write(path, record) : status;
}

cs_status cs_digest_changed_input(const json_t *manifest, char **change)
{
    size_t i = 0;
    json_t *item = NULL;
    *change = NULL;
    json_array_foreach(json_object_get(manifest, "inputs"), i, item)
    {
        const char *path = json_string_value(json_object_get(item, "path"));
        const char *sha256 = json_string_value(json_object_get(item, "sha256"));
        char hex[65];
        int64_t bytes = 0;
        if (!path || !sha256) {
            return cs_fail(CS_ERR_INPUT, "the manifest's input %zu has no path or hash", i);
        }
        cs_status status = cs_path_sha256(path, NULL, hex, &bytes);
        if (status != CS_OK) return status;
        if (strcmp(hex, sha256) != 0) {
            *change = cs_format("%s: its SHA-256 was %s and is %s", path, sha256, hex);
            return *change ? CS_OK : CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

/* --- the identity of an input ------------------------------------------------------------------ */

/* A folder and those that it is in, up to the requested one. */
typedef struct folder {
    const struct folder *above;
    const char *path;
    json_t *record; /* of the digests of its files; NULL: none */
    dev_t device;
    ino_t inode;
} folder;

/* Calls list_directory: as deep as the folders, which list_tree bounds.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status list_tree(FILE *list, const char *path, const folder *in, int depth,
                           int64_t *bytes);

/* One line "<sha256>  <path below the root>" a file, in byte order of names. */
static cs_status list_directory(FILE *list, const folder *here, int depth, int64_t *bytes)
{
    const char *dir = here->path;
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, NULL, alphasort);
    if (count < 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", dir, strerror(errno));
    }
    cs_status status = CS_OK;
    for (int i = 0; i < count; ++i) {
        const char *name = entry[i]->d_name;
        if (status == CS_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            CS_AUTO_FREE char *path = cs_path_join(dir, name);
            (void)fprintf(list, "%d %s\n", depth, name);
            status = path ? list_tree(list, path, here, depth + 1, bytes) : CS_ERR_MEMORY;
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* A file against the records of its folder and of those above. */
static cs_status check_digest(const char *path, const folder *in, const char *sha256)
{
    cs_status status = CS_OK;
    for (int up = 0; in && up < CS_DIGEST_FOLDERS && status == CS_OK; ++up, in = in->above) {
        status = check_in(in->record, in->path, path + strlen(in->path) + 1, sha256);
    }
    return status;
}

static cs_status list_tree(FILE *list, const char *path, const folder *in, int depth,
                           int64_t *bytes)
{
    enum { DEEPEST = 64 };
    struct stat st;
    cs_status status = cs_interrupt_check();
    if (status != CS_OK) return status;
    if (lstat(path, &st) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    const bool link = S_ISLNK(st.st_mode);
    if (link && stat(path, &st) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        folder here = {in, path, NULL, st.st_dev, st.st_ino};
        for (const folder *f = in; f; f = f->above) {
            if (f->device == st.st_dev && f->inode == st.st_ino)
                return cs_fail(CS_ERR_INPUT, "%s: is a link back to %s, a folder that contains it",
                               path, f->path);
        }
        if (depth >= DEEPEST) {
            return cs_fail(CS_ERR_INPUT, "%s: nested more than %d folders deep", path, DEEPEST);
        }
        status = cs_digest_record(path, &here.record);
        if (status == CS_OK) status = list_directory(list, &here, depth, bytes);
        json_decref(here.record);
        return status;
    }
    if (!S_ISREG(st.st_mode)) {
        return CS_OK;
    }
    char hex[65];
    status = cs_sha256_file(path, hex);
    if (status == CS_OK) status = check_digest(path, in, hex);
    if (status == CS_OK && link) status = check(path, hex, NULL, NULL);
    if (status == CS_OK) {
        (void)fprintf(list, "%s\n", hex);
        *bytes += st.st_size;
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

/* Of the files of a pattern: the identity of their corpus (text/corpus_files.c). */
static cs_status pattern_sha256(const char *pattern, json_t *cache, char hex[65], int64_t *bytes)
{
    char **path = NULL;
    int64_t count = 0;
    cs_sha256_state list;
    cs_sha256_start(&list);
    cs_status status = cs_pattern_paths(pattern, &path, &count);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        char one[65];
        struct stat st;
        status = stat(path[i], &st) == 0 ? cs_sha256_file(path[i], one)
                                         : cs_fail(CS_ERR_IO, "%s: %s", path[i], strerror(errno));
        if (status == CS_OK) status = check(path[i], one, cache, NULL);
        if (status != CS_OK) break;
        *bytes += st.st_size;
        cs_sha256_add(&list, one, strlen(one));
        cs_sha256_add(&list, "  ", 2);
        cs_sha256_add(&list, path[i], strlen(path[i]));
        cs_sha256_add(&list, "\n", 1);
    }
    cs_sha256_value(&list, hex);
    cs_text_list_free(path, count);
    return status;
}

cs_status cs_path_sha256(const char *path, json_t *cache, char hex[65], int64_t *bytes)
{
    struct stat st;
    *bytes = 0;
    if (cs_path_is_pattern(path)) {
        return pattern_sha256(path, cache, hex, bytes);
    }
    if (stat(path, &st) != 0) {
        const int code = errno;
        return cs_fail(CS_ERR_IO, "%s: %s%s", path, strerror(code),
                       code == ENOENT ? cs_path_hint(path, &(cs_hint){0}) : "");
    }
    if (!S_ISDIR(st.st_mode)) {
        cs_status status = cs_sha256_file(path, hex);
        if (status == CS_OK) status = check(path, hex, cache, NULL);
        *bytes = status == CS_OK ? (int64_t)st.st_size : 0;
        return status;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    if (!list) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the file list of %s", path);
    }
    cs_status status = list_tree(list, path, NULL, 0, bytes);
    bool bad = ferror(list) != 0;
    bad = fclose(list) != 0 || bad;
    if (status == CS_OK && bad)
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the file list of %s", path);
    if (status == CS_OK) cs_sha256(text, size, hex);
    free(text);
    return status;
}
