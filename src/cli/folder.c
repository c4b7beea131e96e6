/* The folder of -o: who may write there, and which files.
 *
 * One run at a time, by a lock file that is removed with the run. An existing file belongs to
 * another run, and is refused, unless --force or --resume says otherwise; manifest.json of an
 * earlier run of this program gives way without, and so do the files that a killed run had
 * finished, as the lock file that it leaves records them.
 * Nothing is written through a symbolic link below DIR; DIR itself may be one.
 *
 * A file written by a run is distinguished from one that was there before by inode and time of
 * change (a removed file's inode may be given out again). Limits: what a killed program leaves
 * stays until the next run; file systems without flock(2) have no lock. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/args.h"
#include "cli/output.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/lock.h"

static const char lock_name[] = CS_LOCK_NAME;

/* inode 0: no file. A file that cannot be examined may be the user's, so that nothing can be written
 * in its place. */
static cs_status look(cs_opt_output *output)
{
    struct stat st;
    bool there = true;
    const bool found = lstat(output->path, &st) == 0;
    output->inode = found ? (uint64_t)st.st_ino : 0;
    output->changed = found ? st.st_ctim : (struct timespec){0};
    return found ? CS_OK : cs_path_find(output->path, &there);
}

cs_status cs_output_begin(cs_args *args, const char *path)
{
    cs_opt_output *grown = cs_realloc(args->output, args->outputs + 1, sizeof *grown);
    if (!grown) return CS_ERR_MEMORY;
    args->output = grown;
    cs_opt_output output = {.path = cs_args_keep(args, cs_strdup(path))};
    if (!output.path) return CS_ERR_MEMORY;
    const cs_status status = look(&output);
    if (status == CS_OK) args->output[args->outputs++] = output;
    return status;
}

void cs_output_discard(cs_args *args)
{
    bool replaced = false;
    for (int i = 0; i < args->outputs; ++i) {
        const cs_opt_output *before = &args->output[i];
        cs_opt_output now = {.path = before->path};
        if (look(&now) != CS_OK)
            cs_reason_clear(); /* inode 0, so that unlink fails or removes ours */
        if (now.inode != before->inode || now.changed.tv_sec != before->changed.tv_sec ||
            now.changed.tv_nsec != before->changed.tv_nsec) {
            (void)unlink(now.path);
            replaced = replaced || before->inode != 0;
        }
    }
    const char *dir = replaced && !args->started ? cs_args_text(args, "output") : NULL;
    const char *manifest = dir ? cs_args_join(args, dir, "manifest.json") : NULL;
    if (manifest) {
        (void)unlink(manifest);
    }
}

/* --- the lock --------------------------------------------------------------------------------- */

/* The record of a killed run in the lock file, NULL where there was none. */
static cs_status read_left(cs_args *args)
{
    enum { MOST = 1 << 20 };
    const char *text = cs_args_keep(args, cs_calloc(MOST + 1, 1));
    if (!text) return CS_ERR_MEMORY;
    args->folder.left = pread(args->folder.lock, (char *)text, MOST, 0) > 0 ? text : NULL;
    return CS_OK;
}

static bool was_left(const cs_args *args, const char *file, const char *path)
{
    struct stat st;
    return args->folder.left && lstat(path, &st) == 0 &&
           cs_lock_recorded(args->folder.left, file, &st);
}

/* Makes the folder and locks it, once. */
static cs_status open_folder(cs_args *args, const char *dir)
{
    if (args->folder.lock_path) {
        return CS_OK;
    }
    args->folder.made = !cs_path_exists(dir);
    cs_status status = cs_dir_make(dir);
    const char *path = status == CS_OK ? cs_args_join(args, dir, lock_name) : NULL;
    if (status == CS_OK) status = path ? cs_dir_lock(dir, true, &args->folder.lock) : CS_ERR_MEMORY;
    args->folder.lock_path = status == CS_OK ? path : NULL;
    return status == CS_OK ? read_left(args) : status;
}

void cs_output_release(cs_args *args)
{
    const char *dir = cs_args_text(args, "output");
    if (args->folder.lock_path) {
        if (!args->folder.left || args->outputs > 0) { /* else nothing has come in its place */
            (void)unlink(args->folder.lock_path);
        }
        (void)close(args->folder.lock);
    }
    if (args->folder.made) {
        (void)rmdir(dir); /* where nothing was written */
    }
    args->folder.lock_path = NULL;
}

/* --- folders of other runs ---------------------------------------------------------------------- */

bool cs_output_foreign_lock(const cs_args *args, const char *path)
{
    const char *own = args->folder.lock_path ? cs_args_text(args, "output") : NULL;
    const size_t length = own ? strlen(own) : 0;
    const bool within = own && strncmp(path, own, length) == 0 && strchr("/", path[length]);
    return !within && cs_lock_held(path);
}

cs_status cs_output_blame_writer(const cs_args *args, cs_status status)
{
    const char *busy = NULL;
    for (int i = 0; i < args->inputs; ++i) {
        const cs_opt_input *in = &args->input[i];
        if (in->being_written || cs_output_foreign_lock(args, in->path)) busy = in->path;
    }
    for (int i = 0; i < cs_args_positionals(args); ++i) {
        const char *path = cs_args_positional(args, i);
        if (cs_output_foreign_lock(args, path)) busy = path;
    }
    if (!busy || (status != CS_ERR_INPUT && status != CS_ERR_IO)) return status;
    const char *end = cs_path_is_dir(busy) ? busy + strlen(busy) : strrchr(busy, '/');
    CS_AUTO_FREE char *folder = cs_format("%.*s", end ? (int)(end - busy) : 0, busy);
    if (!folder || !strstr(cs_reason(), folder)) return status; /* it failed for another reason */
    cs_reason_clear();
    return cs_fail(CS_ERR_IO,
                   "%s: another run is writing to this folder, and not all of its files belong "
                   "together yet; try again when it has ended",
                   *folder ? folder : ".");
}

/* --- claims ----------------------------------------------------------------------------------- */

static bool begun(const cs_args *args, const char *path)
{
    for (int i = 0; i < args->outputs; ++i) {
        if (strcmp(args->output[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* *own: `path` is a manifest of this program, which the next run's replaces. */
static cs_status is_manifest(const char *path, bool *own)
{
    json_auto_t *json = NULL;
    int fd = -1;
    int64_t size = 0;
    cs_status status = cs_file_open(path, &fd, &size);
    if (status == CS_OK) status = cs_json_read(path, &json);
    *own = status == CS_OK && cs_digest_is_ours(json);
    if (fd >= 0) (void)close(fd);
    if (status != CS_ERR_INPUT) { /* one that cannot be read may be ours */
        return status;
    }
    cs_reason_clear();
    return CS_OK;
}

/* Refuses a link at `path` or between it and the folder, whose name has `root` bytes. */
static cs_status refuse_links(char *path, size_t root)
{
    cs_status status = CS_OK;
    for (char *end = path + root; *end && status == CS_OK;) {
        end += 1 + strcspn(end + 1, "/");
        char held = *end;
        *end = '\0';
        status = cs_link_refuse(path);
        *end = held;
    }
    return status;
}

static cs_status check_place(const cs_args *args, const char *file, char *path, size_t root)
{
    bool there = false;
    cs_status status = refuse_links(path, root);
    if (status == CS_OK) status = cs_path_find(path, &there);
    bool ours = !there || cs_args_flag(args, "force") || args->folder.resumes ||
                begun(args, path) || was_left(args, file, path);
    if (status == CS_OK && !ours && strcmp(file, "manifest.json") == 0) {
        status = is_manifest(path, &ours);
    }
    if (status != CS_OK || ours) {
        return status;
    }
    return cs_fail(CS_ERR_USAGE, "%s exists; give --force to overwrite it", path);
}

static cs_status claim_file(cs_args *args, const char *dir, const char *file)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, file);
    return path ? check_place(args, file, path, strlen(dir)) : CS_ERR_MEMORY;
}

static cs_status claim_folder(cs_args *args, const char *dir)
{
    struct stat st;
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode)) {
        return cs_fail(CS_ERR_USAGE, "-o %s: not a directory", dir);
    }
    return cs_args_flag(args, "dry-run") ? CS_OK : open_folder(args, dir);
}

cs_status cs_output_claim(cs_args *args, const char *files)
{
    const char *dir = cs_args_text(args, "output");
    if (!dir) {
        return CS_OK;
    }
    cs_status status = claim_folder(args, dir);
    for (const char *p = files; *p && status == CS_OK; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        const char *file = cs_args_format(args, "%.*s", (int)length, p);
        status = file ? claim_file(args, dir, file) : CS_ERR_MEMORY;
        if (status == CS_OK) status = cs_words_take(&args->claimed, cs_strdup(file));
        p += length;
    }
    return status == CS_OK ? claim_file(args, dir, "manifest.json") : status;
}

cs_status cs_output_into(cs_args *args, const char *dir)
{
    cs_opt_value *v = cs_args_find(args, "output", strlen("output"));
    v->given = cs_words_take(&v->text, cs_strdup(dir)) == CS_OK;
    return v->given ? CS_OK : CS_ERR_MEMORY;
}

void cs_output_takes_over(cs_args *args)
{
    args->folder.resumes = true;
}

cs_status cs_output_path(cs_args *args, const char *file, const char **out)
{
    const char *dir = cs_args_text(args, "output");
    if (!dir) {
        return cs_fail(CS_ERR_USAGE, "%s needs -o DIR", cs_args_command(args)->name);
    }
    cs_status status = claim_folder(args, dir);
    if (status == CS_OK) status = claim_file(args, dir, file);
    const char *path = status == CS_OK ? cs_args_join(args, dir, file) : NULL;
    if (status == CS_OK) status = path ? cs_output_begin(args, path) : CS_ERR_MEMORY;
    if (status == CS_OK && out) *out = args->output[args->outputs - 1].path;
    return status;
}
