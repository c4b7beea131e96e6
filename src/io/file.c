/* Atomic replacement: write a temporary file, fsync, rename (POSIX rename is atomic within a file
 * system, so the temporary file is in the destination's own directory).
 *
 * Limits: what a killed process leaves of a file (".partial") is removed by the next write of that
 * file, which recognises a dead writer by its process id: writers of one file on two machines, or
 * in two containers, are not to share a folder. */
#include "io/file.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "io/lock.h"

enum { PARTIAL_TRIES = 1000, READ_STEP = 1 << 16 };

static cs_status io_error(const char *path, const char *what)
{
    const int code = errno;
    cs_hint hint = {0};
    return cs_fail(CS_ERR_IO, "%s: %s: %s%s", path, what, strerror(code),
                   code == ENOENT ? cs_path_hint(path, &hint) : "");
}

/* Refuses a destination that a rename would destroy though it is no file of ours to replace. A link
 * is not followed: who made it decides where the bytes would go. */
static cs_status check_destination(const char *path)
{
    struct stat st;
    if (path[0] == '\0') {
        return cs_fail(CS_ERR_IO, "cannot write a file with an empty name");
    }
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? CS_OK : io_error(path, "cannot write");
    }
    if (S_ISDIR(st.st_mode)) {
        return cs_fail(CS_ERR_IO, "%s: is a directory, not a file to write", path);
    }
    if (S_ISLNK(st.st_mode)) {
        return cs_fail(CS_ERR_IO, "%s: is a symbolic link, which is not followed", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return cs_fail(CS_ERR_IO, "%s: is a device or pipe, which renaming would replace", path);
    }
    return CS_OK;
}

/* The process in "<base>.<pid>-<n>.partial", 0 where the name has another form. */
static pid_t partial_writer(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || name[length] != '.' ||
        !isdigit((unsigned char)name[length + 1])) {
        return 0;
    }
    char *end = NULL;
    errno = 0;
    long pid = strtol(name + length + 1, &end, 10);
    if (errno != 0 || pid > INT32_MAX || *end != '-' || !isdigit((unsigned char)end[1])) {
        return 0;
    }
    end += 1 + strspn(end + 1, "0123456789");
    return strcmp(end, ".partial") == 0 ? (pid_t)pid : 0;
}

cs_status cs_partials_sweep(const char *path, bool locked)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    CS_AUTO_FREE char *dir = cs_path_folder(path);
    if (!dir) return CS_ERR_MEMORY;
    DIR *list = opendir(dir);
    for (struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
        pid_t writer = partial_writer(e->d_name, base);
        if (writer > 0 && (locked || (kill(writer, 0) != 0 && errno == ESRCH))) {
            (void)unlinkat(dirfd(list), e->d_name, 0);
        }
    }
    if (list) {
        (void)closedir(list);
    }
    return CS_OK;
}

/* Creates "<path>.<pid>-<n>.partial" with the user's mask; O_EXCL keeps two writers apart. */
static cs_status create_partial(const char *path, char **partial, int *fd)
{
    for (int n = 0; n < PARTIAL_TRIES; ++n) {
        char *name = cs_format("%s.%ld-%d.partial", path, (long)getpid(), n);
        if (!name) return CS_ERR_MEMORY;
        *fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0) {
            *partial = name;
            return CS_OK;
        }
        cs_free(name);
        if (errno != EEXIST) {
            return io_error(path, "cannot write");
        }
    }
    return cs_fail(CS_ERR_IO,
                   "%s: its folder already has %d partial files of the same name; remove them",
                   path, PARTIAL_TRIES);
}

cs_status cs_outfile_open(const char *path, cs_outfile *out)
{
    cs_outfile f = {0};
    int fd = -1;
    cs_status status = check_destination(path);
    if (status == CS_OK) status = (f.path = cs_strdup(path)) ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_partials_sweep(f.path, false);
    if (status == CS_OK) status = create_partial(f.path, &f.partial, &fd);
    if (status == CS_OK && !(f.stream = fdopen(fd, "w+b"))) {
        status = io_error(path, "cannot write");
        (void)close(fd);
    }
    return CS_DELIVER(status, out, f, cs_outfile_abort);
}

static cs_status flush_to_disk(cs_outfile *file, bool synced)
{
    if (ferror(file->stream)) {
        /* The write that failed is long past, and errno with it. */
        return cs_fail(CS_ERR_IO, "%s: a write failed (disk full?)", file->path);
    }
    if (fflush(file->stream) != 0 || (synced && fsync(fileno(file->stream)) != 0)) {
        return io_error(file->path, "cannot write");
    }
    return CS_OK;
}

enum { STEP = 16 << 20, AHEAD = 4 * STEP }; /* what the disk has to do while it is waited for */

/* Adds the bytes of the file from `at` to `end` to its digest. */
static cs_status add_to_digest(const cs_outfile *file, off_t at, off_t end, cs_hasher *hasher)
{
    char buffer[READ_STEP];
    cs_status status = CS_OK;
    while (at < end && status == CS_OK) {
        const int64_t size = end - at < READ_STEP ? end - at : READ_STEP;
        status = cs_file_read_at(fileno(file->stream), file->path, at, size, buffer);
        if (status == CS_OK) cs_hasher_add(hasher, buffer, (size_t)size);
        at += size;
    }
    return status;
}

void cs_outfile_start_writing(cs_outfile *file, int64_t offset, int64_t size)
{
    const int64_t from = cs_most(offset, 0);
    (void)sync_file_range(fileno(file->stream), from, offset + size - from, SYNC_FILE_RANGE_WRITE);
}

cs_status cs_outfile_sync(cs_outfile *file, cs_status (*stop)(void))
{
    const int fd = fileno(file->stream);
    struct stat st;
    CS_AUTO(cs_hasher) hasher = {0};
    cs_status status = stop();
    if (ferror(file->stream)) {
        return CS_OK; /* commit says so */
    }
    if (fflush(file->stream) != 0 || fstat(fd, &st) != 0) {
        return io_error(file->path, "cannot write");
    }
    if (status == CS_OK) status = cs_hasher_make(0, &hasher);
    for (off_t at = 0; at < st.st_size + AHEAD && status == CS_OK; at += STEP) {
        const off_t end = at + STEP < st.st_size ? at + STEP : st.st_size;
        (void)sync_file_range(fd, at, STEP, SYNC_FILE_RANGE_WRITE);
        status = add_to_digest(file, at, end, &hasher);
        if (at >= AHEAD) (void)sync_file_range(fd, at - AHEAD, STEP, SYNC_FILE_RANGE_WAIT_BEFORE);
        if (status == CS_OK) status = stop();
    }
    if (status == CS_OK) cs_xxh3_remember(&st, &hasher);
    return cs_blame(status, "%s", file->path);
}

static cs_status commit(cs_outfile *file, bool synced)
{
    assert(file->stream);
    CS_AUTO_FREE char *dir = cs_path_folder(file->path);
    struct stat st;
    cs_status status = dir ? flush_to_disk(file, synced) : CS_ERR_MEMORY;
    if (status == CS_OK && fstat(fileno(file->stream), &st) != 0)
        status = io_error(file->path, "cannot write");
    if (fclose(file->stream) != 0 && status == CS_OK) status = io_error(file->path, "cannot write");
    file->stream = NULL;
    if (status == CS_OK) status = check_destination(file->path);
    if (status == CS_OK) cs_lock_record(file->path, &st);
    if (status == CS_OK && rename(file->partial, file->path) != 0)
        status = io_error(file->path, "cannot rename into place");
    if (status == CS_OK) {
        cs_free(file->partial);
        file->partial = NULL;
        status = synced ? cs_dir_sync(dir) : CS_OK;
    }
    cs_outfile_abort(file);
    return status;
}

cs_status cs_outfile_commit(cs_outfile *file)
{
    return commit(file, true);
}

cs_status cs_outfile_commit_unsynced(cs_outfile *file)
{
    return commit(file, false);
}

void cs_outfile_abort(cs_outfile *file)
{
    if (file->stream) {
        (void)fclose(file->stream); /* its bytes are thrown away */
    }
    if (file->partial) {
        (void)unlink(file->partial);
    }
    CS_FREE_FIELDS(file, partial, path);
    *file = (cs_outfile){0};
}

cs_status cs_outfile_put(cs_outfile *file, const void *bytes, int64_t size)
{
    return size == 0 || fwrite(bytes, 1, (size_t)size, file->stream) == (size_t)size
               ? CS_OK
               : io_error(file->path, "cannot write");
}

cs_status cs_outfile_put_at(cs_outfile *file, const void *bytes, int64_t size, int64_t offset)
{
    const int fd = fileno(file->stream);
    const char *from = bytes;
    const int64_t end = offset + size;
    for (int64_t at = offset; at < end;) {
        const ssize_t wrote = pwrite(fd, from, (size_t)(end - at), at);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return io_error(file->path, "cannot write");
        }
        from += wrote;
        at += wrote;
    }
    return CS_OK;
}

cs_status cs_file_write(const char *path, const void *bytes, int64_t size)
{
    cs_outfile f = {0};
    if (size < 0) {
        return cs_fail(CS_ERR_USAGE, "%s: cannot write %lld bytes", path, (long long)size);
    }
    cs_status status = cs_outfile_open(path, &f);
    if (status != CS_OK) return status;
    status = cs_outfile_put(&f, bytes, size);
    if (status == CS_OK) status = cs_outfile_commit(&f);
    cs_outfile_abort(&f);
    return status;
}

/* Reads to the end of the stream into a buffer that starts with `capacity` bytes and doubles. */
static cs_status read_all(FILE *f, const char *path, int64_t limit, int64_t capacity, char **out,
                          int64_t *size)
{
    int64_t used = 0;
    char *text = cs_alloc(capacity + 1, 1);
    if (!text) return CS_ERR_MEMORY;
    cs_mem_large_pages(text, capacity);
    for (;;) {
        used += (int64_t)fread(text + used, 1, (size_t)(capacity - used), f);
        int next = used == capacity ? getc(f) : EOF; /* a buffer exactly full: is there more? */
        if (ferror(f)) {
            cs_status status = io_error(path, "cannot read");
            cs_free(text);
            return status;
        }
        if (next == EOF) {
            break;
        }
        if (used == limit) {
            cs_free(text);
            return cs_fail(CS_ERR_INPUT, "%s: larger than the limit of %lld bytes", path,
                           (long long)limit);
        }
        capacity = capacity > limit / 2 - READ_STEP ? limit : 2 * capacity + READ_STEP;
        char *grown = cs_realloc(text, capacity + 1, 1);
        if (!grown) {
            cs_free(text);
            return CS_ERR_MEMORY;
        }
        text = grown;
        text[used++] = (char)next;
    }
    text[used] = '\0';
    *out = text;
    *size = used;
    return CS_OK;
}

cs_status cs_file_open_any(const char *path, int *fd, int64_t *size)
{
    struct stat st;
    *fd = -1;
    if (lstat(path, &st) != 0) {
        return io_error(path, "cannot read");
    }
    if (S_ISFIFO(st.st_mode)) {
        return cs_fail(CS_ERR_IO, "%s: is a pipe, but a regular file is needed", path);
    }
    /* a blocking open would wait for a writer for ever */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fcntl(*fd, F_SETFL, 0) != 0 || fstat(*fd, &st) != 0) {
        return io_error(path, "cannot read");
    }
    *size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    return S_ISDIR(st.st_mode) ? cs_fail(CS_ERR_IO, "%s: is a directory, not a file to read", path)
                               : CS_OK;
}

cs_status cs_file_read(const char *path, int64_t limit, char **out, int64_t *size)
{
    int fd = -1;
    int64_t there = -1;
    FILE *f = NULL;
    if (limit < 0 || limit == INT64_MAX) {
        return cs_fail(CS_ERR_USAGE, "%s: invalid limit of %lld bytes", path, (long long)limit);
    }
    cs_status status = cs_file_open_any(path, &fd, &there);
    if (status == CS_OK && !(f = fdopen(fd, "rb"))) status = io_error(path, "cannot read");
    if (status == CS_OK && there > limit)
        status = cs_fail(CS_ERR_INPUT, "%s: %lld bytes, more than the limit of %lld", path,
                         (long long)there, (long long)limit);
    if (status == CS_OK) {
        /* One byte more than the size, so that an unchanged file ends within the buffer. */
        const int64_t capacity = there >= 0 ? there + 1 : READ_STEP;
        status = read_all(f, path, limit, capacity < limit ? capacity : limit, out, size);
    }
    if (f) {
        (void)fclose(f); /* opened for reading: nothing to lose */
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

cs_status cs_file_head(const char *path, void *head, int64_t most, int64_t *got)
{
    int fd = -1;
    int64_t size = 0;
    struct stat st;
    *got = 0;
    cs_status status = cs_file_open(path, &fd, &size);
    if (status == CS_OK) {
        *got = size < most ? size : most;
        status = cs_file_read_at(fd, path, 0, *got, head);
    } else if (stat(path, &st) == 0 ? !S_ISREG(st.st_mode) : !cs_path_exists(path)) {
        cs_reason_clear();
        status = CS_OK;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

cs_status cs_file_open(const char *path, int *fd, int64_t *size)
{
    struct stat st;
    *fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer is refused too */
    if (*fd < 0 || fstat(*fd, &st) != 0) {
        return io_error(path, "cannot read");
    }
    *size = st.st_size;
    return S_ISREG(st.st_mode) ? CS_OK : cs_fail(CS_ERR_IO, "%s: not a regular file", path);
}

cs_status cs_file_read_at(int fd, const char *path, int64_t offset, int64_t size, void *out)
{
    char *at = out;
    while (size > 0) {
        ssize_t got = pread(fd, at, (size_t)size, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return io_error(path, "cannot read");
        }
        if (got == 0) {
            return cs_fail(CS_ERR_IO, "%s: ends at byte %lld; it was truncated after it was opened",
                           path, (long long)offset);
        }
        at += got;
        offset += got;
        size -= got;
    }
    return CS_OK;
}

cs_status cs_file_read_text(const char *path, int64_t limit, char **out, int64_t *size)
{
    char *text = NULL;
    cs_status status = cs_file_read(path, limit, &text, size);
    if (status == CS_OK) status = cs_text_check(path, text, *size);
    return CS_DELIVER(status, out, text, cs_drop);
}

cs_status cs_text_check(const char *name, const char *text, int64_t size)
{
    const char *nul = size > 0 ? memchr(text, '\0', (size_t)size) : NULL;
    if (!nul) {
        return CS_OK;
    }
    long long line = 1;
    for (const char *p = text; p < nul; ++p) {
        line += *p == '\n';
    }
    return cs_fail(CS_ERR_INPUT, "%s:%lld: a NUL byte: not a text file", name, line);
}

cs_status cs_lfs_check(const char *name, const void *bytes, int64_t size)
{
    static const char mark[] = "version https://git-lfs";
    const size_t length = sizeof mark - 1;
    if (size >= (int64_t)length && memcmp(bytes, mark, length) == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: is a Git LFS pointer; fetch the data with 'git lfs pull'",
                       name);
    }
    return CS_OK;
}
