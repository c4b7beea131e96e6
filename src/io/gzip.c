/* Gzip by zlib, recognised by the file's first bytes. The size that the trailer claims is not
 * believed: memory doubles as the data come, up to half of the free memory. */
#include "io/gzip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"

enum { GZIP_ALONE = 16 }; /* of inflateInit2: no zlib format */

static int64_t most_bytes(void)
{
    int64_t free_now = cs_mem_available();
    return free_now > 0 ? free_now / 2 : INT64_MAX / 2;
}

static cs_status grow(char **bytes, int64_t *capacity, const char *path)
{
    const int64_t most = most_bytes();
    if (*capacity >= most) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: decompresses to more than %lld bytes, half of the free memory", path,
                       (long long)most);
    }
    int64_t larger = *capacity < most / 2 ? 2 * *capacity : most;
    char *grown = cs_realloc(*bytes, larger + 1, 1);
    if (!grown) return CS_ERR_MEMORY;
    *bytes = grown;
    *capacity = larger;
    return CS_OK;
}

static bool begins(const void *at, int64_t size)
{
    return size >= 2 && memcmp(at, "\x1F\x8B", 2) == 0;
}

/* Tapes and some programs fill a file up with zeros, which the program gzip ignores too. */
static bool only_zeros(const char *at, int64_t size)
{
    return size == 0 || (at[0] == 0 && memcmp(at, at + 1, (size_t)size - 1) == 0);
}

/* Another member or padding may follow a member, and nothing else. */
static cs_status junk(const char *path, int64_t offset)
{
    return cs_fail(CS_ERR_INPUT,
                   "%s: damaged gzip (offset %lld: neither gzip nor only zeros follow the data)",
                   path, (long long)offset);
}

/* All members of the file, one after the other. */
static cs_status inflate_all(const char *path, z_stream *z, const char *packed, int64_t size,
                             char **bytes, int64_t *capacity, int64_t *length)
{
    int64_t taken = 0;
    bool within = true; /* a member: its end is seen, not that of the file */
    cs_status status = CS_OK;
    while ((taken < size || within) && status == CS_OK) {
        const int64_t step = size - taken < 1 << 30 ? size - taken : 1 << 30;
        if (*length == *capacity) status = grow(bytes, capacity, path);
        if (status != CS_OK) break;
        const int64_t space = *capacity - *length < 1 << 30 ? *capacity - *length : 1 << 30;
        z->next_in = (z_const Bytef *)(packed + taken);
        z->avail_in = (uInt)step;
        z->next_out = (Bytef *)(*bytes + *length);
        z->avail_out = (uInt)space;
        int code = inflate(z, Z_NO_FLUSH);
        taken += step - z->avail_in;
        *length += space - z->avail_out;
        within = code != Z_STREAM_END;
        if (!within && only_zeros(packed + taken, size - taken)) break;
        if (!within && !begins(packed + taken, size - taken)) return junk(path, taken);
        if (!within) code = inflateReset(z);
        if (code == Z_MEM_ERROR) return cs_fail(CS_ERR_MEMORY, "%s: out of memory", path);
        if (code != Z_OK) {
            status = cs_fail(CS_ERR_INPUT, "%s: damaged gzip (%s)", path,
                             code == Z_BUF_ERROR ? "it ends early"
                             : z->msg            ? z->msg
                                                 : "not gzip");
        }
    }
    return status;
}

static cs_status unpack(const char *path, char **held, int64_t *size)
{
    z_stream z = {0};
    char *bytes = NULL;
    int64_t capacity = *size < 1 << 20 ? 1 << 20 : *size, length = 0;
    if (inflateInit2(&z, MAX_WBITS + GZIP_ALONE) != Z_OK) {
        return cs_fail(CS_ERR_MEMORY, "%s: out of memory", path);
    }
    bytes = cs_alloc(capacity + 1, 1);
    cs_status status =
        bytes ? inflate_all(path, &z, *held, *size, &bytes, &capacity, &length) : CS_ERR_MEMORY;
    (void)inflateEnd(&z);
    if (status != CS_OK) {
        cs_free(bytes);
        return status;
    }
    bytes[length] = '\0';
    cs_free(*held);
    *held = bytes;
    *size = length;
    return CS_OK;
}

cs_status cs_file_unpacked(const char *path, char **out, int64_t *size, char sha256[65],
                           bool *later)
{
    char *bytes = NULL;
    cs_status status = cs_file_read(path, most_bytes(), &bytes, size);
    if (status == CS_OK) status = cs_lfs_check(path, bytes, *size);
    if (status != CS_OK) return CS_DELIVER(status, out, bytes, cs_drop);
    const bool packed = begins(bytes, *size);
    if (later && !packed && *size > 0) {
        *later = true;
        sha256[0] = '\0';
    } else {
        cs_sha256(bytes, (size_t)*size, sha256);
    }
    if (packed) status = unpack(path, &bytes, size);
    return CS_DELIVER(status, out, bytes, cs_drop);
}

/* --- in pieces --- */

typedef struct {
    char *path;
    int fd;
    z_stream z;
    int64_t offset; /* bytes that were read from the file */
    bool within;    /* a member */
    bool ended;
    unsigned char held[1 << 16]; /* read and not decompressed, from z.next_in on */
} packed_file;

/* errno of a failed read: that of the system, or for bad data CS_DAMAGED_GZIP. */
static ssize_t damaged(const packed_file *p, const char *why)
{
    (void)cs_fail(CS_ERR_INPUT, "%s: damaged gzip (%s)", p->path, why);
    errno = CS_DAMAGED_GZIP;
    return -1;
}

/* Moves what is held to the front and reads on; 0: nothing more, -1: errno. */
static ssize_t hold_more(packed_file *p)
{
    ssize_t got = -1;
    memmove(p->held, p->z.next_in, p->z.avail_in);
    p->z.next_in = p->held;
    do {
        got = read(p->fd, p->held + p->z.avail_in, sizeof p->held - p->z.avail_in);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        p->offset += got;
        p->z.avail_in += (uInt)got;
    }
    return got;
}

/* Behind a member: begins the next, or ends the file; -1: errno. */
static ssize_t next_member(packed_file *p)
{
    while (!p->ended && !p->within) {
        const bool zeros = only_zeros((const char *)p->z.next_in, p->z.avail_in);
        if (begins(p->z.next_in, p->z.avail_in)) {
            p->within = true;
            return inflateReset(&p->z) == Z_OK ? 0 : damaged(p, "zlib failed");
        }
        if (zeros && p->z.avail_in > 1) { /* one may be of two bytes that are read apart */
            p->z.next_in += p->z.avail_in - 1;
            p->z.avail_in = 1;
        }
        const ssize_t got = zeros || p->z.avail_in < 2 ? hold_more(p) : 0;
        if (got < 0) return -1;
        if (got > 0) continue;
        if (!zeros) {
            (void)junk(p->path, p->offset - p->z.avail_in);
            errno = CS_DAMAGED_GZIP;
            return -1;
        }
        p->ended = true;
    }
    return 0;
}

static ssize_t read_packed(void *file, char *to, size_t size)
{
    packed_file *p = file;
    p->z.next_out = (Bytef *)to;
    p->z.avail_out = (uInt)(size < 1 << 30 ? size : 1 << 30);
    const uInt wanted = p->z.avail_out;
    while (p->z.avail_out == wanted && wanted > 0) {
        if (next_member(p) != 0) return -1;
        if (p->ended) return 0;
        const ssize_t got = p->z.avail_in == 0 ? hold_more(p) : 1;
        if (got < 0) return -1;
        const int code = inflate(&p->z, Z_NO_FLUSH);
        p->within = code != Z_STREAM_END;
        if (code == Z_MEM_ERROR) {
            errno = ENOMEM;
            return -1;
        }
        if (code == Z_BUF_ERROR && got == 0) return damaged(p, "it ends early");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return damaged(p, p->z.msg ? p->z.msg : "not gzip");
    }
    return (ssize_t)(wanted - p->z.avail_out);
}

static int close_packed(void *file)
{
    packed_file *p = file;
    (void)inflateEnd(&p->z);
    const int closed = close(p->fd);
    cs_free(p->path);
    cs_free(p);
    return closed;
}

/* *fd is taken over on success. */
static cs_status open_packed(const char *path, int *fd, FILE **out)
{
    packed_file *p = cs_calloc(1, sizeof *p);
    if (!p) return CS_ERR_MEMORY;
    p->path = cs_strdup(path);
    p->fd = *fd;
    p->within = true;
    p->z.next_in = p->held;
    if (!p->path || inflateInit2(&p->z, MAX_WBITS + GZIP_ALONE) != Z_OK) {
        cs_free(p->path);
        cs_free(p);
        return cs_fail(CS_ERR_MEMORY, "%s: out of memory", path);
    }
    *out =
        fopencookie(p, "rb", (cookie_io_functions_t){.read = read_packed, .close = close_packed});
    if (!*out) {
        p->fd = -1; /* the caller's */
        (void)close_packed(p);
        return cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    *fd = -1;
    return CS_OK;
}

cs_status cs_gzip_begins(int fd, const char *path, bool *is)
{
    unsigned char magic[2] = {0};
    ssize_t got = 1, held = 0;
    while (held < 2 && (got > 0 || (got < 0 && errno == EINTR))) {
        got = pread(fd, magic + held, sizeof magic - (size_t)held, held);
        held += got > 0 ? got : 0;
    }
    *is = begins(magic, held);
    return got >= 0 || errno == ESPIPE
               ? CS_OK
               : cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
}

cs_status cs_stream_open(const char *path, FILE **out)
{
    int fd = -1;
    int64_t bytes = 0;
    bool packed = false;
    *out = NULL;
    cs_status status = cs_file_open(path, &fd, &bytes);
    if (status == CS_OK) status = cs_gzip_begins(fd, path, &packed);
    if (status == CS_OK && packed) {
        status = open_packed(path, &fd, out);
    } else if (status == CS_OK) {
        *out = fdopen(fd, "rb");
        if (!*out) status = cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    if (!*out && fd >= 0) (void)close(fd);
    return status;
}

cs_status cs_stream_read(void *stream, void *out, int64_t want, int64_t *got)
{
    const cs_file_stream *s = stream;
    errno = 0;
    *got = (int64_t)fread(out, 1, (size_t)want, s->stream);
    return *got == want || !ferror(s->stream)
               ? CS_OK
               : cs_fail(errno == CS_DAMAGED_GZIP ? CS_ERR_INPUT : CS_ERR_IO, "%s: cannot read: %s",
                         s->path, strerror(errno));
}

cs_status cs_stream_head(const char *path, void *to, int64_t most, int64_t *size)
{
    FILE *stream = NULL;
    cs_status status = cs_file_head(path, to, 1, size);
    if (status != CS_OK || *size == 0) return status;
    status = cs_stream_open(path, &stream);
    if (status != CS_OK) return status;
    *size = (int64_t)fread(to, 1, (size_t)most, stream);
    const int code = errno;
    if (ferror(stream) && code == CS_DAMAGED_GZIP) {
        cs_reason_clear(); /* whoever reads all of it will report it */
    } else if (ferror(stream)) {
        status = cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(code));
    }
    (void)fclose(stream); /* opened for reading: nothing to lose */
    return status;
}
